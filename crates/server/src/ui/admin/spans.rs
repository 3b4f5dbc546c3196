//! A unit's history as spans of time: who had it, from when to when. For units that one person has at a time.

use holdfast_domain::{Moment, UnitState};
use holdfast_engine::ledger::JournalRecord;

use super::{super::words, story::People};
use crate::problem::Code;

/// A time during which nothing about the unit changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub state: UnitState,
    pub tone: &'static str,
    pub word: &'static str,
    pub holder: Option<String>,
    pub from: Moment,
    pub to: Option<Moment>,
    pub since: String,
    pub until: String,
    /// What anybody else who asked for it heard.
    pub hears: Option<Code>,
    pub booking: Option<String>,
    /// The entry that began it; 0 for the beginning.
    pub entry: u64,
}

pub(super) const fn word(state: UnitState) -> &'static str {
    match state {
        UnitState::Available => "free",
        UnitState::Held => "held",
        UnitState::Booked => "booked",
        UnitState::Blocked => "off sale",
    }
}

impl Span {
    fn begun(state: UnitState, from: Moment, entry: u64) -> Self {
        let (tone, hears) = match state {
            UnitState::Available => ("", None),
            UnitState::Held => ("held", Some(Code::UnitTaken)),
            UnitState::Booked => ("good", Some(Code::UnitTaken)),
            UnitState::Blocked => ("bad", Some(Code::UnitBlocked)),
        };
        let since = words::to_the_second(from);
        let (to, until) = (None, "now".to_owned());
        Self {
            state,
            tone,
            word: word(state),
            holder: None,
            from,
            to,
            since,
            until,
            hears,
            booking: None,
            entry,
        }
    }

    fn end(&mut self, to: Moment) {
        self.to = Some(to);
        self.until = words::to_the_second(to);
    }
}

/// What an entry makes of the unit; `None` where it leaves it as it is.
fn becomes(kind: &str) -> Option<UnitState> {
    match kind {
        "hold_placed" => Some(UnitState::Held),
        "booking_confirmed" | "booking_retaken" => Some(UnitState::Booked),
        "hold_released" | "hold_expired" | "booking_cancelled" | "units_unblocked" => {
            Some(UnitState::Available)
        }
        "units_blocked" => Some(UnitState::Blocked),
        _ => None,
    }
}

/// How much of a unit's story some entries are.
pub(super) struct Stretch {
    /// When it was first on sale, if these are the first entries: until then it was free.
    pub since: Option<Moment>,
    /// How it stands, if these are the last.
    pub now: Option<UnitState>,
}

/// The spans of that stretch, the first first and the last of them open. Where the books say otherwise than the last
/// entry, as when a hold has run out and nobody has written so yet, the books are right.
pub(super) fn of<'a>(
    stretch: Stretch,
    records: impl DoubleEndedIterator<Item = &'a JournalRecord> + Clone,
    people: &People,
) -> Vec<Span> {
    let since = stretch.since.map(|since| Span::begun(UnitState::Available, since, 0));
    let mut spans: Vec<Span> = since.into_iter().collect();
    for record in records.clone() {
        let Some(state) = becomes(&record.kind) else { continue };
        // A hold ends when its time is up, however long after that it is written down.
        let ended = people.until(record.hold.as_ref()).filter(|_| record.kind == "hold_expired");
        let mut span = Span::begun(state, ended.map_or(record.at, |at| at.min(record.at)), record.seq);
        if matches!(state, UnitState::Held | UnitState::Booked) {
            span.holder = Some(people.holder(record.hold.as_ref()));
            span.booking.clone_from(&record.booking);
        }
        follow(&mut spans, span);
    }
    let last = spans.last_mut();
    match (last, stretch.now) {
        (Some(last), None) => "a newer entry".clone_into(&mut last.until),
        (Some(last), Some(UnitState::Available)) if last.state == UnitState::Held => {
            let held = records.rev().find(|record| record.kind == "hold_placed");
            if let Some(end) = held.and_then(|record| people.until(record.hold.as_ref())) {
                follow(&mut spans, Span::begun(UnitState::Available, end, 0));
            }
        }
        _ => {}
    }
    spans
}

fn follow(spans: &mut Vec<Span>, span: Span) {
    if let Some(last) = spans.last_mut() {
        last.end(span.from);
    }
    spans.push(span);
}

/// The span that a moment lies in.
pub(super) fn at(spans: &[Span], at: Moment) -> Option<&Span> {
    spans.iter().rev().find(|span| span.from <= at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64, at: i64, kind: &str) -> JournalRecord {
        JournalRecord {
            seq,
            at: Moment::from_s(at),
            actor: "system".into(),
            kind: kind.into(),
            offer: None,
            units: vec![],
            hold: None,
            booking: None,
            before: None,
            after: None,
            hash: String::new(),
        }
    }

    #[test]
    fn spans_follow_each_other_and_say_what_others_heard() {
        let records = [
            record(2, 10, "hold_placed"),
            record(3, 15, "hold_extended"),
            record(4, 20, "booking_confirmed"),
            record(5, 30, "booking_cancelled"),
            record(6, 40, "units_blocked"),
        ];
        let whole = Stretch { since: Some(Moment::from_s(0)), now: Some(UnitState::Blocked) };
        let spans = of(whole, records.iter(), &People::default());
        let told: Vec<_> = spans.iter().map(|span| (span.word, span.from.ms() / 1000, span.hears)).collect();
        assert_eq!(
            told,
            [
                ("free", 0, None),
                ("held", 10, Some(Code::UnitTaken)),
                ("booked", 20, Some(Code::UnitTaken)),
                ("free", 30, None),
                ("off sale", 40, Some(Code::UnitBlocked)),
            ]
        );
        assert_eq!(at(&spans, Moment::from_s(19)).unwrap().word, "held");
        assert_eq!(at(&spans, Moment::from_s(20)).unwrap().word, "booked");
        assert!(spans[4].to.is_none() && spans[3].to == Some(Moment::from_s(40)));
    }

    #[test]
    fn a_part_of_a_story_claims_nothing_of_the_rest() {
        let records = [record(12, 10, "hold_placed"), record(13, 20, "hold_released")];
        let spans = of(Stretch { since: None, now: None }, records.iter(), &People::default());
        let told: Vec<_> = spans.iter().map(|span| (span.word, span.until.as_str())).collect();
        assert_eq!(told[1], ("free", "a newer entry"));
        assert!(told.len() == 2 && at(&spans, Moment::from_s(9)).is_none());
    }
}
