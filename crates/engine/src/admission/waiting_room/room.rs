//! The room itself, as a pure machine: a state, an input, a time, and what comes of it.
//!
//! ```text
//!            join              turn                 enter              leave, time is up
//! (nobody) ──────► waiting ─────────────► called ──────────► inside ──────────────────► used up
//!                     ▲                     │ did not come in time
//!                     └─────────────────────┘ keeps its place, but for the third time: used up
//! ```
//! Two numbers say almost everything about a crowd of any size: how many tickets were issued, and the highest place
//! that was called so far. Beyond them only those who are called or inside are kept, at most `max_active` of them, one bit
//! a ticket for those who have been inside, for a ticket admits once, and two for the calls that it let pass: whoever is
//! there and does not come in keeps others out while they are called.
//!
//! A turn is told who is there (`present`, in the order of their places) and calls the first of them for whom there is
//! room. Whoever is not there is passed over, and stands at the front again the moment they are back.
//!
//! Deliberately absent: clocks, dice, tokens, people's names, and the lottery's arithmetic (`order`): the room speaks of
//! places, and a place is a place however it was drawn.

use std::collections::BTreeMap;

use holdfast_domain::Moment;
use serde::{Deserialize, Serialize};

use super::{bits::Bits, order};

/// A place in the queue, from 1.
pub type Place = u32;
/// A ticket's number, from 1, in the order of joining.
pub type Number = u32;

/// How people are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// In the order they joined.
    Fifo,
    /// Those who joined before the opening in an order drawn by lot; whoever comes later behind them.
    Lottery,
    /// Everybody, at once.
    Passthrough,
    /// Nobody.
    Reject,
}

/// What the organiser wants of the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub method: Method,
    /// People inside at once.
    pub max_active: u32,
    pub admit_per_minute: Option<u32>,
    /// How long one may stay inside.
    pub session_s: u32,
    pub opens_at_ms: Option<i64>,
    /// For everybody who waits.
    pub message: Option<String>,
}

/// What the organiser did to a room that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Running,
    /// Nobody new is called; whoever is inside stays.
    Paused,
    /// The room is out of the way.
    FailOpen,
}

/// What the room is like for whoever comes to it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomState {
    /// Not in the way of anybody.
    Off,
    Scheduled,
    Open,
    Paused,
    SoldOut,
    /// Nobody is let in.
    Closed,
    FailOpen,
}

impl RoomState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Scheduled => "scheduled",
            Self::Open => "open",
            Self::Paused => "paused",
            Self::SoldOut => "sold_out",
            Self::Closed => "closed",
            Self::FailOpen => "fail_open",
        }
    }

    /// Whether holds go through without a pass.
    pub const fn lets_everybody_in(self) -> bool {
        matches!(self, Self::Off | Self::FailOpen)
    }
}

/// The lot: its hash is published before anybody joins, it itself after the draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lottery {
    pub seed: [u8; 32],
    /// How many tickets were in the draw, once it has been.
    pub drawn: Option<u32>,
    drawn_ms: i64,
}

impl Lottery {
    pub fn commitment(&self) -> [u8; 32] {
        order::commitment(&self.seed)
    }
}

/// Somebody who was called, or is inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    pub until: Moment,
    pub entered: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// Tickets of another run of this room are void.
    pub run: u32,
    pub plan: Plan,
    pub mode: Mode,
    pub issued: u32,
    /// The highest place that was ever called.
    pub serving: Place,
    pub lottery: Option<Lottery>,
    /// What can still be sold, as of the last turn; `None` where it is not counted.
    pub sellable: Option<u64>,
    /// People let in, ever.
    pub admitted: u64,
    /// Places passed in a thousand minutes, at the pace of lately. Whole numbers are kept exactly.
    drain: u64,
    /// Millionths of calls that the rate allows now.
    allowance: i64,
    turned_ms: i64,
    /// Since when the drain is being measured anew, and from which place.
    measured: (i64, Place),
    /// Calls that were missed, one bit each. Rows of versions that did not count them have none.
    #[serde(default, skip_serializing_if = "Bits::is_empty")]
    missed: Bits,
    #[serde(skip)]
    visits: BTreeMap<Place, Visit>,
    #[serde(skip)]
    used: Bits,
}

/// What became of somebody who wants in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Inside {
        until: Moment,
    },
    /// Not called yet, or not any more.
    NotYet,
    /// Has been inside before.
    Used,
}

/// How long somebody who was called has to come.
const CALL_MS: i64 = 20_000;
/// How often somebody is called. Who misses one call was away for a moment, or had been told to ask again later than it
/// lasted; who misses three does not mean to come.
const CALLS: u32 = 3;
/// In the unit of the allowance.
const ONE_CALL: i64 = 1_000_000;
/// From the draw of a lottery to the first call.
const SETTLE_MS: i64 = 4_000;
/// The drain is an average over about this long.
const DRAIN_OVER_MS: i64 = 60_000;
const DRAIN_STEP_MS: i64 = 1_000;

impl Room {
    pub fn new(plan: Plan, seed: [u8; 32], now: Moment) -> Self {
        let mut room = Self {
            run: 1,
            mode: Mode::Running,
            issued: 0,
            serving: 0,
            lottery: None,
            sellable: None,
            admitted: 0,
            drain: 0,
            allowance: 0,
            turned_ms: now.ms(),
            measured: (now.ms(), 0),
            missed: Bits::default(),
            visits: BTreeMap::new(),
            used: Bits::default(),
            plan,
        };
        room.begin(seed);
        room
    }

    fn begin(&mut self, seed: [u8; 32]) {
        self.lottery =
            (self.plan.method == Method::Lottery).then_some(Lottery { seed, drawn: None, drawn_ms: 0 });
        self.drain = self.expected_drain();
        self.allowance = ONE_CALL;
    }

    /// Before anything was measured: what the plan allows.
    fn expected_drain(&self) -> u64 {
        let by_stay = u64::from(self.plan.max_active) * 60_000 / u64::from(self.plan.session_s.max(1));
        self.plan.admit_per_minute.map_or(by_stay, |most| by_stay.min(u64::from(most) * 1000))
    }

    /// Places passed a minute, lately.
    pub fn drain_per_minute(&self) -> f64 {
        self.drain as f64 / 1000.0
    }

    /// Another plan. The queue stays as it is, unless its order would be another one: that is a new run, and tickets
    /// from before are void.
    pub fn replan(&mut self, plan: Plan, seed: [u8; 32], now: Moment) {
        // What was kept while there was no queue counts: a lot is not drawn among those who were told "first come".
        let reordered = match plan.method {
            Method::Fifo => self.lottery.is_some(),
            Method::Lottery => self.lottery.is_none(),
            Method::Passthrough | Method::Reject => false,
        };
        let has_opened =
            self.serving > 0 || self.lottery.as_ref().is_some_and(|lottery| lottery.drawn.is_some());
        let next_sale =
            has_opened && plan.opens_at_ms != self.plan.opens_at_ms && plan.opens_at_ms > Some(now.ms());
        if reordered || next_sale {
            let run = self.run + 1;
            *self = Self { run, mode: self.mode, admitted: self.admitted, ..Self::new(plan, seed, now) };
        } else {
            self.plan = plan;
        }
    }

    pub fn state(&self, now: Moment) -> RoomState {
        match (self.mode, self.plan.method) {
            (Mode::FailOpen, _) => RoomState::FailOpen,
            (_, Method::Passthrough) => RoomState::Off,
            (_, Method::Reject) => RoomState::Closed,
            _ if self.sellable == Some(0) => RoomState::SoldOut,
            (Mode::Paused, _) => RoomState::Paused,
            _ if self.plan.opens_at_ms.is_some_and(|opens| now.ms() < opens) => RoomState::Scheduled,
            _ => RoomState::Open,
        }
    }

    /// The next ticket; none beyond `most`.
    pub fn join(&mut self, most: u32) -> Option<Number> {
        (self.issued < most).then(|| {
            self.issued += 1;
            self.issued
        })
    }

    /// Calls the first of those who are there, as far as there is room for them.
    pub fn turn(&mut self, present: &[Place], sellable: Option<u64>, now: Moment) -> Vec<Place> {
        self.sellable = sellable;
        self.end_visits(now);
        self.grow_allowance(now);
        self.draw(now);
        if self.state(now) != RoomState::Open {
            return Vec::new();
        }
        if self.is_settling(now) {
            return Vec::new();
        }
        let called = self.call(present, now);
        // While nobody waits there is nothing to measure, and nothing to write down.
        if !present.is_empty() {
            self.measure(now);
        }
        called
    }

    /// Whether the lots are to be drawn, be anybody there or not, and be the room paused or sold out.
    pub fn is_to_be_drawn(&self, now: Moment) -> bool {
        let undrawn = self.lottery.as_ref().is_some_and(|lottery| lottery.drawn.is_none());
        let opens = self.plan.opens_at_ms;
        undrawn && self.plan.method == Method::Lottery && opens.is_none_or(|opens| opens <= now.ms())
    }

    /// With the opening, or the first change after it: who is in the draw is settled. To be asked for before anybody joins.
    pub fn draw(&mut self, now: Moment) {
        let (issued, is_time) = (self.issued, self.is_to_be_drawn(now));
        if let Some(lottery) = self.lottery.as_mut().filter(|_| is_time) {
            lottery.drawn = Some(issued);
            lottery.drawn_ms = now.ms();
        }
    }

    /// After the draw every node must first hear of it and say who of its visitors is in front.
    fn is_settling(&self, now: Moment) -> bool {
        self.lottery.as_ref().is_some_and(|lottery| now.ms() < lottery.drawn_ms + SETTLE_MS)
    }

    fn call(&mut self, present: &[Place], now: Moment) -> Vec<Place> {
        let room = self.vacant();
        let allowed =
            self.plan.admit_per_minute.map_or(usize::MAX, |_| (self.allowance / ONE_CALL).max(0) as usize);
        let waiting =
            |place: &Place| *place <= self.issued && self.visit(*place).is_none() && !self.used.has(*place);
        let called: Vec<Place> = present.iter().copied().filter(waiting).take(room.min(allowed)).collect();
        for &place in &called {
            self.visits.insert(place, Visit { until: now.plus_ms(CALL_MS), entered: false });
            self.serving = self.serving.max(place);
        }
        if self.plan.admit_per_minute.is_some() && !called.is_empty() {
            self.allowance -= called.len() as i64 * ONE_CALL;
            self.turned_ms = now.ms().max(self.turned_ms);
        }
        called
    }

    /// How many more there is room for.
    fn vacant(&self) -> usize {
        let most = self.sellable.map_or(self.plan.max_active, |left| {
            self.plan.max_active.min(u32::try_from(left).unwrap_or(u32::MAX))
        });
        (most as usize).saturating_sub(self.visits.len())
    }

    /// How many of those who wait need not wait for anybody to leave: all for whom there is room, unless a rate slows
    /// them down. At the opening that is the whole first roomful.
    pub fn next_at_once(&self) -> u32 {
        self.plan.admit_per_minute.map_or_else(|| self.vacant() as u32, |_| 0)
    }

    fn grow_allowance(&mut self, now: Moment) {
        let Some(per_minute) = self.plan.admit_per_minute else { return };
        let grown_in = |ms: i64| i64::from(per_minute) * ONE_CALL / 60_000 * ms;
        // Two seconds' worth at most, so that a quiet time is not followed by a rush.
        let most = grown_in(2_000).max(ONE_CALL);
        if self.allowance < most {
            let passed_ms = (now.ms() - self.turned_ms).clamp(0, 60_000);
            self.allowance = (self.allowance + grown_in(passed_ms)).min(most);
            self.turned_ms = now.ms().max(self.turned_ms);
        }
    }

    fn measure(&mut self, now: Moment) {
        let (since, from) = self.measured;
        let passed_ms = now.ms() - since;
        if passed_ms < DRAIN_STEP_MS {
            return;
        }
        let lately = i128::from(self.serving - from) * 60_000_000 / i128::from(passed_ms);
        // What is older than a minute hardly counts.
        let weight = i128::from(passed_ms.min(DRAIN_OVER_MS));
        let drain = i128::from(self.drain);
        self.drain = (drain + (lately - drain) * weight / i128::from(DRAIN_OVER_MS)).max(0) as u64;
        self.measured = (now.ms(), self.serving);
    }

    /// Those whose time is up. Who was inside has had their turn; who was called and did not come keeps their place, if that
    /// was not the last call. A call into a room that lets nobody in is none.
    fn end_visits(&mut self, now: Moment) {
        let could_come = self.state(now) == RoomState::Open;
        let over: Vec<_> = self.visits.extract_if(.., |_, visit| visit.until <= now).collect();
        for (place, visit) in over {
            if visit.entered || (could_come && self.misses_the_last_call(place)) {
                self.used.set(place);
            }
        }
    }

    /// Notes that a call was missed, unless it was the last one.
    fn misses_the_last_call(&mut self, place: Place) -> bool {
        let notes = place * (CALLS - 1)..(place + 1) * (CALLS - 1);
        match notes.into_iter().find(|note| !self.missed.has(*note)) {
            Some(note) => {
                self.missed.set(note);
                false
            }
            None => true,
        }
    }

    /// In. Whoever is in already is told the same again.
    pub fn enter(&mut self, place: Place, now: Moment) -> Entry {
        if self.used.has(place) {
            return Entry::Used;
        }
        let session_ms = i64::from(self.plan.session_s) * 1000;
        match self.visits.get_mut(&place) {
            Some(visit) if visit.until <= now && visit.entered => Entry::Used,
            Some(visit) if visit.until <= now => Entry::NotYet,
            Some(visit) if visit.entered => Entry::Inside { until: visit.until },
            Some(visit) => {
                *visit = Visit { until: now.plus_ms(session_ms), entered: true };
                self.admitted += 1;
                Entry::Inside { until: visit.until }
            }
            None => Entry::NotYet,
        }
    }

    /// Out, for good.
    pub fn leave(&mut self, place: Place) {
        self.visits.remove(&place);
        if place <= self.issued {
            self.used.set(place);
        }
    }

    pub fn visit(&self, place: Place) -> Option<Visit> {
        self.visits.get(&place).copied()
    }

    pub fn is_used(&self, place: Place) -> bool {
        self.used.has(place)
    }

    /// Whether a place has had its turn, or was given up: it is good for nothing any more.
    pub fn is_over(&self, place: Place, now: Moment) -> bool {
        self.used.has(place) || self.visit(place).is_some_and(|visit| visit.entered && visit.until <= now)
    }

    /// Whether somebody with this place may hold now.
    pub fn admits(&self, place: Place, now: Moment) -> bool {
        self.visit(place).is_some_and(|visit| visit.entered && now < visit.until)
    }

    /// People called or inside.
    pub fn active(&self) -> usize {
        self.visits.len()
    }

    pub fn inside(&self, now: Moment) -> usize {
        self.visits.values().filter(|visit| visit.entered && now < visit.until).count()
    }
}

/// A room as it is kept: what a person can read, and two blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub doc: String,
    /// Thirteen bytes each: place, end, whether entered.
    pub visits: Vec<u8>,
    pub used: Vec<u8>,
}

impl Room {
    pub fn keep(&self) -> Kept {
        let doc = serde_json::to_string(self).expect("a room has text keys and finite numbers");
        let mut visits = Vec::with_capacity(self.visits.len() * 13);
        for (place, visit) in &self.visits {
            visits.extend_from_slice(&place.to_be_bytes());
            visits.extend_from_slice(&visit.until.ms().to_be_bytes());
            visits.push(u8::from(visit.entered));
        }
        Kept { doc, visits, used: self.used.to_bytes() }
    }

    /// The room that was kept; `None` for what is none.
    pub fn unfold(kept: &Kept) -> Option<Self> {
        let mut room: Self = serde_json::from_str(&kept.doc).ok()?;
        let (visits, rest) = kept.visits.as_chunks::<13>();
        if !rest.is_empty() {
            return None;
        }
        for visit in visits {
            let (place, rest) = visit.split_first_chunk::<4>()?;
            let (until, entered) = rest.split_first_chunk::<8>()?;
            let until = Moment::from_ms(i64::from_be_bytes(*until));
            room.visits.insert(u32::from_be_bytes(*place), Visit { until, entered: entered == [1] });
        }
        room.used = Bits::from_bytes(&kept.used);
        Some(room)
    }
}
