//! The live map: committed changes of seats, coalesced into frames that any number of viewers share.
//!
//! ```text
//! ledger.changes() ─► hub ─► one frame per offer and interval ─► every viewer of that offer
//! ```
//! The hub keeps, for each offer that is being watched, the changes of the recent past. The first change after
//! a quiet moment goes out at once; those that follow within the interval are joined into one frame, encoded
//! once and shared, so a thousand viewers cost a thousand small writes and not a thousand encodings. The interval
//! grows with the number of viewers: the map is advisory, the ledger decides.
//!
//! A viewer who names the version it has seen gets exactly what came after it. Where that is no longer known
//! (too old, or from another history) it is told to start again from a snapshot. So is everybody when a ledger read its
//! books anew: changes follow each other, and one that does not begin where the last one ended shows that some are
//! missing.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use holdfast_domain::{OfferId, UnitNo, UnitState, Version};
use parking_lot::Mutex;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::Instant,
};

use crate::ledger::{Change, Ledger, LedgerError, Snapshot};

#[derive(Debug, Clone)]
pub struct Settings {
    /// At most one frame an offer in this time …
    pub interval: Duration,
    /// … plus this much for every thousand viewers.
    pub interval_per_thousand: Duration,
    /// Changes of units remembered for each watched offer, for those who come back.
    pub remembered: usize,
    /// Frames a viewer may lag behind before it is told to start again.
    pub lag: usize,
    /// How long an offer that nobody watches any more is still followed, for those who come back.
    pub linger: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            interval_per_thousand: Duration::from_millis(200),
            remembered: 65_536,
            lag: 64,
            linger: Duration::from_secs(300),
        }
    }
}

/// What a viewer is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Changes that lead from a version to version `id`, as the JSON object that goes on the wire.
    Delta { from: Version, id: Version, json: Bytes },
    /// What the viewer has cannot be brought forward: take a new snapshot, at this version or later.
    Reset { version: Version },
}

#[derive(Debug)]
pub struct LiveMap {
    ledger: Arc<dyn Ledger>,
    watched: Mutex<HashMap<OfferId, Watched>>,
    settings: Settings,
}

/// An offer that somebody looks at, or looked at a moment ago.
#[derive(Debug)]
struct Watched {
    frames: broadcast::Sender<Frame>,
    history: History,
    /// The version that the last frame led to.
    sent: Version,
    /// No frame before this instant.
    next_frame: Instant,
    last_viewed: Instant,
}

impl LiveMap {
    pub fn new(ledger: Arc<dyn Ledger>, settings: Settings) -> Arc<Self> {
        Arc::new(Self { ledger, watched: Mutex::default(), settings })
    }

    /// Follows the ledger until it ends. Spawn this once.
    pub async fn run(self: Arc<Self>) {
        let mut changes = self.ledger.changes();
        loop {
            let next_frame = self.send_due(Instant::now());
            tokio::select! {
                received = changes.recv() => match received {
                    Ok(batch) => self.remember(&batch),
                    Err(RecvError::Lagged(_)) => self.start_again(),
                    Err(RecvError::Closed) => return,
                },
                () = until(next_frame) => {}
            }
        }
    }

    /// Frames of the offer from version `seen` on, or from now on; `None` when there is no such offer.
    pub async fn subscribe(
        self: &Arc<Self>,
        offer: &OfferId,
        seen: Option<Version>,
    ) -> Result<Option<Subscription>, LedgerError> {
        // Watch first, then ask the version: what happens in between is then in the history.
        let frames = self.watch(offer);
        let Some(view) = self.ledger.offer(offer).await? else {
            self.watched.lock().remove(offer);
            return Ok(None);
        };
        let mut watched = self.watched.lock();
        let at = watched.entry(offer.clone()).or_insert_with(|| Watched::new(&self.settings));
        at.starts_by(view.version);
        let first = seen.and_then(|seen| at.catch_up(seen, view.version));
        let seen = match &first {
            Some(Frame::Delta { id, .. }) => Some(*id),
            Some(Frame::Reset { .. }) => None,
            // No seat has changed since: the next frame leads on from what it has.
            None => seen,
        };
        Ok(Some(Subscription { hub: Arc::clone(self), offer: offer.clone(), first, frames, seen }))
    }

    /// Whoever reads the seats by this may follow them from there: what happens from before the reading on is
    /// remembered, for as long as for a viewer who went away.
    pub async fn snapshot(&self, offer: &OfferId) -> Result<Option<Snapshot>, LedgerError> {
        let now = Instant::now();
        let was_watched = {
            let mut watched = self.watched.lock();
            let known = watched.get_mut(offer).map(|at| at.last_viewed = now).is_some();
            watched.entry(offer.clone()).or_insert_with(|| Watched::new(&self.settings));
            known
        };
        let read = self.ledger.snapshot(offer, None).await;
        let mut watched = self.watched.lock();
        match &read {
            Ok(Some(snapshot)) => {
                if let Some(at) = watched.get_mut(offer) {
                    at.starts_by(snapshot.version);
                }
            }
            // Nothing to follow, and nothing to keep for those who make up names.
            _ if !was_watched => {
                watched.retain(|id, at| id != offer || at.frames.receiver_count() > 0);
            }
            _ => {}
        }
        drop(watched);
        read
    }

    fn watch(&self, offer: &OfferId) -> broadcast::Receiver<Frame> {
        let mut watched = self.watched.lock();
        watched.entry(offer.clone()).or_insert_with(|| Watched::new(&self.settings)).frames.subscribe()
    }

    /// The frame for a viewer whose place lies within the one that everybody else was sent.
    fn delta(&self, offer: &OfferId, from: Version, to: Version) -> Option<Frame> {
        self.watched.lock().get(offer)?.history.delta(from, to)
    }

    fn remember(&self, batch: &[Change]) {
        let mut watched = self.watched.lock();
        for change in batch {
            if let Some(at) = watched.get_mut(&change.offer) {
                at.hear(change, self.settings.remembered);
            }
        }
    }

    /// Changes were missed, so nothing remembered can be trusted to be whole.
    fn start_again(&self) {
        for at in self.watched.lock().values_mut() {
            at.starts_again(at.history.latest());
            at.history = History::default();
        }
    }

    /// Sends the frames whose time has come; says when the next one is due.
    fn send_due(&self, now: Instant) -> Option<Instant> {
        let mut watched = self.watched.lock();
        watched.retain(|_, at| at.is_wanted(now, self.settings.linger));
        let mut next = None::<Instant>;
        for at in watched.values_mut().filter(|at| at.history.pending_since(at.sent)) {
            if at.next_frame <= now {
                at.send(now + self.interval(at.frames.receiver_count()));
            } else {
                next = Some(next.map_or(at.next_frame, |next| next.min(at.next_frame)));
            }
        }
        next
    }

    fn interval(&self, viewers: usize) -> Duration {
        self.settings.interval + self.settings.interval_per_thousand * (viewers / 100) as u32 / 10
    }
}

impl Watched {
    fn new(settings: &Settings) -> Self {
        let (frames, _) = broadcast::channel(settings.lag);
        let now = Instant::now();
        Self { frames, history: History::default(), sent: Version(0), next_frame: now, last_viewed: now }
    }

    fn is_wanted(&mut self, now: Instant, linger: Duration) -> bool {
        if self.frames.receiver_count() > 0 {
            self.last_viewed = now;
        }
        now < self.last_viewed + linger
    }

    /// The offer is known to have been at `version` when watching began.
    fn starts_by(&mut self, version: Version) {
        if self.history.is_unwritten() {
            self.history.since = version;
            self.sent = self.sent.max(version);
        }
    }

    fn hear(&mut self, change: &Change, remembered: usize) {
        self.starts_by(change.from);
        if !self.history.is_continued_by(change) {
            self.starts_again(change.to);
        } else if !change.only_stands() {
            self.history.push(change, remembered);
        }
    }

    /// Nothing leads from what was told before to this version: everybody takes a new snapshot.
    fn starts_again(&mut self, version: Version) {
        self.history = History { since: version, ..History::default() };
        self.sent = version;
        let _ = self.frames.send(Frame::Reset { version });
    }

    fn send(&mut self, next_frame: Instant) {
        if let Some(frame) = self.history.delta(self.sent, self.history.latest()) {
            let _ = self.frames.send(frame);
        }
        self.sent = self.history.latest();
        self.next_frame = next_frame;
    }

    /// What a viewer who has seen `seen` must hear before the frames that follow `sent`. It may have seen more
    /// than was sent, from a snapshot, but no more than the `present`.
    fn catch_up(&self, seen: Version, present: Version) -> Option<Frame> {
        if seen > present.max(self.history.latest()) {
            return Some(Frame::Reset { version: self.sent });
        }
        self.history.delta(seen, self.sent)
    }
}

/// One viewer's place in the stream.
#[derive(Debug)]
pub struct Subscription {
    hub: Arc<LiveMap>,
    offer: OfferId,
    first: Option<Frame>,
    frames: broadcast::Receiver<Frame>,
    /// The version that this viewer has, once `first` is delivered. It is for the viewer to know where it begins anew,
    /// or begins at all: it is sent what everybody is.
    seen: Option<Version>,
}

impl Subscription {
    /// The next frame; `None` when the map is closed.
    pub async fn next(&mut self) -> Option<Frame> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let frame = match self.frames.recv().await {
                Ok(Frame::Delta { id, .. }) if self.seen.is_some_and(|seen| id <= seen) => continue,
                Ok(frame) => self.led_on_to(frame),
                Err(RecvError::Lagged(_)) => Frame::Reset { version: self.seen.unwrap_or_default() },
                Err(RecvError::Closed) => return None,
            };
            self.seen = match &frame {
                Frame::Delta { id, .. } => Some(*id),
                Frame::Reset { .. } => None,
            };
            return Some(frame);
        }
    }

    /// The frame as it follows what this viewer has.
    fn led_on_to(&self, frame: Frame) -> Frame {
        match (frame, self.seen) {
            (Frame::Delta { from, id, json }, Some(seen)) if from != seen => {
                self.hub.delta(&self.offer, seen, id).unwrap_or(Frame::Delta { from, id, json })
            }
            (frame, _) => frame,
        }
    }
}

/// The changes of one offer in the recent past, oldest first.
#[derive(Debug, Default)]
struct History {
    /// Everything after this version is in `changes`.
    since: Version,
    changes: VecDeque<Step>,
    units: usize,
}

/// One batch's changes: from the version before it to the one after.
#[derive(Debug)]
struct Step {
    from: Version,
    to: Version,
    units: Vec<(UnitNo, UnitState)>,
}

impl History {
    fn latest(&self) -> Version {
        self.changes.back().map_or(self.since, |step| step.to)
    }

    fn pending_since(&self, sent: Version) -> bool {
        self.latest() > sent
    }

    fn is_unwritten(&self) -> bool {
        self.since == Version(0) && self.changes.is_empty()
    }

    /// Whether it leads on from what is known. It may begin earlier: what was read meanwhile is told as well.
    fn is_continued_by(&self, change: &Change) -> bool {
        if change.only_stands() { change.to == self.latest() } else { change.from <= self.latest() }
    }

    fn push(&mut self, change: &Change, remembered: usize) {
        self.units += change.units.len();
        self.changes.push_back(Step { from: change.from, to: change.to, units: change.units.clone() });
        while self.units > remembered {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.units -= oldest.units.len();
            self.since = oldest.to;
        }
    }

    /// One frame that leads from `from` to `to`, if a unit changed. Changes say what a unit *is*, so a step that began
    /// before `from` may be told again without harm.
    fn delta(&self, from: Version, to: Version) -> Option<Frame> {
        if from < self.since {
            return Some(Frame::Reset { version: to });
        }
        let steps = self.changes.iter().filter(|step| step.to > from && step.from < to);
        let mut units = BTreeMap::new();
        for step in steps {
            units.extend(step.units.iter().copied());
        }
        let json = format!(r#"{{"from":"{from}","to":"{to}","d":"{}"}}"#, encode(&units));
        (!units.is_empty()).then(|| Frame::Delta { from, id: to, json: json.into() })
    }
}

/// Changes in one short string: for each state its letter and the units as numbers or ranges,
/// `a3h12-15,40b7`: 3 is available, 12 to 15 and 40 are held, 7 is booked. `x` is blocked.
fn encode(units: &BTreeMap<UnitNo, UnitState>) -> String {
    let mut text = String::new();
    for state in [UnitState::Available, UnitState::Held, UnitState::Booked, UnitState::Blocked] {
        let those = units.iter().filter(|&(_, &its)| its == state).map(|(&unit, _)| unit);
        let ranges = ranges(those);
        if !ranges.is_empty() {
            text.push(letter(state));
            text.push_str(&ranges.join(","));
        }
    }
    text
}

const fn letter(state: UnitState) -> char {
    match state {
        UnitState::Available => 'a',
        UnitState::Held => 'h',
        UnitState::Booked => 'b',
        UnitState::Blocked => 'x',
    }
}

fn ranges(units: impl Iterator<Item = UnitNo>) -> Vec<String> {
    let mut runs: Vec<(UnitNo, UnitNo)> = Vec::new();
    for unit in units {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == unit => *end = unit,
            _ => runs.push((unit, unit)),
        }
    }
    let show = |(first, last): (UnitNo, UnitNo)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.into_iter().map(show).collect()
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UnitState::{Available, Booked, Held};

    fn change(from: u64, to: u64, units: &[(UnitNo, UnitState)]) -> Change {
        let offer = OfferId::new("hall").unwrap();
        Change { offer, from: Version(from), to: Version(to), units: units.to_vec() }
    }

    fn delta(history: &History, from: u64, to: u64) -> String {
        match history.delta(Version(from), Version(to)) {
            Some(Frame::Delta { json, .. }) => String::from_utf8(json.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn history() -> History {
        let mut history = History { since: Version(1), ..History::default() };
        history.push(&change(1, 2, &[(12, Held), (13, Held)]), 100);
        history.push(&change(2, 5, &[(14, Held), (40, Held), (3, Booked)]), 100);
        history.push(&change(5, 6, &[(12, Available)]), 100);
        history
    }

    #[test]
    fn a_frame_joins_changes_and_the_last_word_counts() {
        assert_eq!(delta(&history(), 1, 6), r#"{"from":"1.1","to":"1.6","d":"a12h13-14,40b3"}"#);
        assert_eq!(delta(&history(), 5, 6), r#"{"from":"1.5","to":"1.6","d":"a12"}"#);
    }

    #[test]
    fn what_is_forgotten_moves_the_beginning() {
        let mut history = history();
        assert_eq!(history.since, Version(1));
        history.push(&change(6, 7, &[(1, Held)]), 3);
        assert_eq!((history.since, history.latest()), (Version(5), Version(7)));
    }

    fn stands(at: u64) -> Change {
        Change::stands(OfferId::new("hall").unwrap(), Version(at))
    }

    /// What viewers are sent after these changes, if anything.
    fn frame(watched: &mut Watched, changes: &[Change], remembered: usize) -> Option<Frame> {
        let mut frames = watched.frames.subscribe();
        changes.iter().for_each(|change| watched.hear(change, remembered));
        if watched.history.pending_since(watched.sent) {
            watched.send(Instant::now());
        }
        frames.try_recv().ok()
    }

    #[tokio::test]
    async fn where_changes_are_missing_everybody_starts_again() {
        let mut watched = Watched::new(&Settings::default());
        let mut after = |change| frame(&mut watched, &[change], 100);
        let reset = |version| Some(Frame::Reset { version: Version(version) });
        assert!(matches!(after(change(1, 2, &[(1, Held)])), Some(Frame::Delta { from: Version(1), .. })));
        assert_eq!(after(change(4, 5, &[(2, Held)])), reset(5));
        assert_eq!(after(stands(5)), None, "the books were read anew, and nothing had happened");
        assert!(matches!(after(change(5, 6, &[(1, Booked)])), Some(Frame::Delta { from: Version(5), .. })));
        assert_eq!(after(stands(8)), reset(8));
        assert_eq!(after(stands(7)), reset(7), "a failover lost the end of the books");
        assert!(matches!(after(change(7, 8, &[(1, Held)])), Some(Frame::Delta { from: Version(7), .. })));
    }

    #[tokio::test]
    async fn a_change_larger_than_what_is_remembered_makes_everybody_start_again() {
        let mut watched = Watched::new(&Settings::default());
        let large = change(1, 2, &[(1, Held), (2, Held), (3, Held)]);
        assert_eq!(frame(&mut watched, &[large], 2), Some(Frame::Reset { version: Version(2) }));
    }

    #[test]
    fn resuming_says_what_was_missed_or_that_it_is_too_late() {
        let mut watched = Watched::new(&Settings::default());
        watched.history = history();
        watched.sent = Version(6);
        let catch_up = |seen| watched.catch_up(Version(seen), Version(7));
        assert!(matches!(catch_up(2), Some(Frame::Delta { from: Version(2), id: Version(6), .. })));
        assert_eq!(catch_up(6), None);
        assert_eq!(catch_up(7), None, "a snapshot may be ahead of the frames");
        assert_eq!(catch_up(0), Some(Frame::Reset { version: Version(6) }));
        assert_eq!(catch_up(9), Some(Frame::Reset { version: Version(6) }));
    }
}
