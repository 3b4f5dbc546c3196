//! The journal in plain words.
//!
//! An entry says what changed; who it was about stands in the hold or the booking that it names, as long as the books
//! remember them (an ended hold for a day, a booking for good).

use std::collections::HashMap;

use holdfast_domain::{BookingId, HoldId, Moment};
use holdfast_engine::ledger::JournalRecord;

use super::super::words;
use crate::{app::App, problem::Problem};

/// One entry, told.
pub(super) struct Told {
    pub seq: u64,
    pub at: Moment,
    pub when: String,
    /// The offer and units concerned, where the page is not about them anyway.
    pub what: String,
    pub words: String,
    pub by: String,
    pub booking: Option<String>,
    pub hash: String,
}

/// Who the holds and bookings of some entries belong to.
#[derive(Default)]
pub(super) struct People(HashMap<String, Person>);

#[derive(Clone)]
pub(super) struct Person {
    pub holder: String,
    /// When the hold ends, or ended, if it is still known.
    pub until: Option<Moment>,
}

impl People {
    pub(super) async fn of(app: &App, records: &[JournalRecord]) -> Result<Self, Problem> {
        let mut people = Self::default();
        for record in records {
            let (Some(id), booking) = (&record.hold, &record.booking) else { continue };
            if people.0.get(id).is_none_or(|person| person.holder.is_empty()) {
                let person = find(app, id, booking.as_deref()).await?;
                people.0.insert(id.clone(), person);
            }
        }
        Ok(people)
    }

    pub(super) fn holder(&self, hold: Option<&String>) -> String {
        let known = hold.and_then(|hold| self.0.get(hold)).map(|person| person.holder.clone());
        known.filter(|holder| !holder.is_empty()).unwrap_or_else(|| "somebody".to_owned())
    }

    pub(super) fn until(&self, hold: Option<&String>) -> Option<Moment> {
        hold.and_then(|hold| self.0.get(hold)).and_then(|person| person.until)
    }
}

/// The hold is asked first: it also knows when it ends. What neither knows has no name.
async fn find(app: &App, hold: &str, booking: Option<&str>) -> Result<Person, Problem> {
    let mut person = Person { holder: String::new(), until: None };
    if let Ok(id) = hold.parse::<HoldId>()
        && let Some(view) = app.ledger().hold(id).await?
    {
        person = Person { holder: view.hold.holder.to_string(), until: Some(view.hold.ends_at()) };
    } else if let Some(Ok(id)) = booking.map(str::parse::<BookingId>)
        && let Some(view) = app.ledger().booking(id).await?
    {
        person.holder = view.booking.holder.to_string();
    }
    Ok(person)
}

impl Told {
    pub(super) fn of(record: &JournalRecord, people: &People) -> Self {
        Self {
            seq: record.seq,
            at: record.at,
            when: words::to_the_second(record.at),
            what: String::new(),
            words: sentence(record, people),
            by: by(&record.actor),
            booking: record.booking.clone(),
            hash: record.hash.chars().take(12).collect(),
        }
    }
}

impl Told {
    /// The same, for a page that is about more than one thing.
    pub(super) fn naming(record: &JournalRecord, people: &People) -> Self {
        Self { what: what(record), ..Self::of(record, people) }
    }
}

/// `hall and 7 more:`.
fn what(record: &JournalRecord) -> String {
    const NAMED: usize = 6;
    let Some(offer) = &record.offer else { return String::new() };
    let named: Vec<&str> = record.units.iter().take(NAMED).map(String::as_str).collect();
    let more = match record.units.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{offer} {}{more}", named.join(", ")).trim_end().to_owned() + ":"
}

/// Who did it, as people would say.
fn by(actor: &str) -> String {
    match actor.split_once(':') {
        Some(("key", "bootstrap")) => "the first key".to_owned(),
        Some(("key", prefix)) => format!("key {prefix}"),
        Some(("session", _)) => "the buyer".to_owned(),
        _ => "Holdfast".to_owned(),
    }
}

fn sentence(record: &JournalRecord, people: &People) -> String {
    let holder = people.holder(record.hold.as_ref());
    let after = record.after.as_deref().unwrap_or_default();
    match record.kind.as_str() {
        "offer_created" => "Put on sale.".to_owned(),
        "offer_amended" => "The offer was changed.".to_owned(),
        "units_blocked" => "Taken off sale.".to_owned(),
        "units_unblocked" => "Put back on sale.".to_owned(),
        "hold_placed" => match people.until(record.hold.as_ref()) {
            Some(until) => format!("Held for {holder}, until {}.", words::to_the_second(until)),
            None => format!("Held for {holder}."),
        },
        "hold_extended" => format!("{holder} was given more time."),
        "hold_left" => format!("{holder} left the page. Kept for a little while."),
        "hold_returned" => format!("{holder} came back, and has what is left of the time."),
        "hold_released" => format!("{holder} gave it back. Free again."),
        "hold_expired" => format!("The time of {holder} was up. Free again."),
        "booking_confirmed" => format!("Booked by {holder}."),
        "booking_cancelled" => format!("The booking of {holder} was cancelled. Free again."),
        "booking_failed" => format!("The booking of {holder} came to nothing."),
        "booking_retaken" => format!("Paid late by {holder} and still free: booked after all."),
        "payment_begun" => format!("{holder} began to pay. Kept for them meanwhile."),
        "payment_intent_noted" => "The card provider knows of the payment.".to_owned(),
        "payment_moved" => format!("The payment is now: {}.", after.replace('_', " ")),
        "payment_deferred" => "The card provider was asked, and had nothing new to say.".to_owned(),
        "payment_captured" => format!("{holder} has paid."),
        "payment_failed" => format!("{holder} was not charged."),
        "refund_begun" => format!("{holder} is being paid back."),
        "payment_refunded" => format!("{holder} was paid back."),
        "payment_parked" => "The payment needs a person.".to_owned(),
        other => format!("{}.", other.replace('_', " ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: &str, hold: Option<&str>) -> JournalRecord {
        JournalRecord {
            seq: 1,
            at: Moment::from_s(0),
            actor: "key:bootstrap".into(),
            kind: kind.into(),
            offer: None,
            units: vec![],
            hold: hold.map(str::to_owned),
            booking: None,
            before: None,
            after: None,
            hash: "0123456789abcdef".into(),
        }
    }

    #[test]
    fn an_entry_names_whoever_is_still_known() {
        let mut people = People::default();
        let alice = Person { holder: "alice".into(), until: Some(Moment::from_s(60)) };
        people.0.insert("hold_1".into(), alice);
        let told = |kind, hold| Told::of(&record(kind, hold), &people);
        assert_eq!(told("booking_confirmed", Some("hold_1")).words, "Booked by alice.");
        assert_eq!(told("hold_released", Some("hold_2")).words, "somebody gave it back. Free again.");
        assert!(told("hold_placed", Some("hold_1")).words.contains("00:01:00"));
        assert_eq!(
            (told("units_blocked", None).by.as_str(), told("x_y", None).words.as_str()),
            ("the first key", "x y.")
        );
    }
}
