//! How far it is: what one who waits is told, worked out from the room and their place alone.

use holdfast_domain::Moment;

use super::{
    order::Order,
    room::{Number, Place, Room, RoomState},
};

/// Where somebody with a ticket stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub state: TicketState,
    /// What the room is like: who waits wants to know that it is paused.
    pub room: RoomState,
    pub number: Number,
    /// `None` before the draw.
    pub place: Option<Place>,
    /// People who come before; never more than it was, whatever the room has been through meanwhile. `None` before the
    /// draw.
    pub ahead: Option<u32>,
    /// Seconds, from and to; `None` where nobody can tell.
    pub eta_s: Option<(u32, u32)>,
    /// When to ask again. Who has not asked for more than twice as long counts as gone until they do.
    pub retry_after_ms: u32,
    /// Until when one who is inside may stay, or one who was called must come.
    pub until: Option<Moment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketState {
    Waiting,
    /// Called: a pass can be had now.
    Ready,
    /// Inside.
    Admitted,
    /// Has been inside, has left, or let every call pass.
    Ended,
    /// There is no queue: go ahead.
    Open,
    SoldOut,
    /// Nobody is let in.
    Closed,
}

impl TicketState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Admitted => "admitted",
            Self::Ended => "ended",
            Self::Open => "open",
            Self::SoldOut => "sold_out",
            Self::Closed => "closed",
        }
    }
}

const SOONEST_MS: u32 = 2_000;
const LATEST_MS: u32 = 30_000;

impl Standing {
    pub fn of(room: &Room, order: &Order, number: Number, now: Moment) -> Self {
        let place = order.place(number);
        let state = state_of(room, place, now);
        let ahead = place.map(|place| match state {
            // Nobody moves up while nothing is left or nobody is let in, and nobody falls back when it goes on.
            TicketState::Waiting | TicketState::SoldOut | TicketState::Closed => {
                place.saturating_sub(room.serving + 1)
            }
            TicketState::Ready | TicketState::Admitted | TicketState::Ended | TicketState::Open => 0,
        });
        let eta_s = eta(room, ahead, state, now);
        let retry_after_ms = match state {
            TicketState::Waiting => pace(room, number, eta_s, now),
            TicketState::Ready => SOONEST_MS,
            _ => LATEST_MS,
        };
        let until = place.and_then(|place| room.visit(place)).map(|visit| visit.until);
        Self { state, room: room.state(now), number, place, ahead, eta_s, retry_after_ms, until }
    }

    /// What they are known by among those who are there: their place, or their number while there are no places yet.
    pub fn presence(&self) -> Place {
        self.place.unwrap_or(self.number)
    }

    /// Until when having asked now counts as being there.
    pub fn present_until(&self, now: Moment) -> Moment {
        now.plus_ms(2 * i64::from(self.retry_after_ms) + 5_000)
    }
}

fn state_of(room: &Room, place: Option<Place>, now: Moment) -> TicketState {
    let visit = place.and_then(|place| room.visit(place)).filter(|visit| now < visit.until);
    match room.state(now) {
        RoomState::Off | RoomState::FailOpen => return TicketState::Open,
        // Whoever is inside may finish, also when the last unit is on its way.
        _ if visit.is_some_and(|visit| visit.entered) => return TicketState::Admitted,
        _ if place.is_some_and(|place| room.is_used(place)) => return TicketState::Ended,
        RoomState::SoldOut => return TicketState::SoldOut,
        RoomState::Closed => return TicketState::Closed,
        RoomState::Scheduled | RoomState::Open | RoomState::Paused => {}
    }
    match place.and_then(|place| room.visit(place)) {
        Some(visit) if visit.entered => TicketState::Ended,
        Some(visit) if now < visit.until => TicketState::Ready,
        _ => TicketState::Waiting,
    }
}

/// A range, because nobody knows how long people stay: from half as quick again as lately to half as quick.
fn eta(room: &Room, ahead: Option<u32>, state: TicketState, now: Moment) -> Option<(u32, u32)> {
    match state {
        TicketState::Waiting => {}
        TicketState::Ready | TicketState::Admitted | TicketState::Open => return Some((0, 0)),
        _ => return None,
    }
    if room.state(now) == RoomState::Paused || room.drain_per_minute() < 0.01 {
        return None;
    }
    let opening_s = until_opening_ms(room, now) as f64 / 1000.0;
    let waits_for = (ahead? + 1).saturating_sub(room.next_at_once());
    let minutes = f64::from(waits_for) / room.drain_per_minute();
    let seconds = |factor: f64| (opening_s + minutes * 60.0 * factor).ceil() as u32;
    Some((seconds(0.66), seconds(2.0)))
}

fn until_opening_ms(room: &Room, now: Moment) -> i64 {
    room.plan.opens_at_ms.map_or(0, |opens| (opens - now.ms()).max(0))
}

/// The nearer the turn, the more often it is worth asking. Spread a little, so that a crowd does not ask as one.
fn pace(room: &Room, number: Number, eta_s: Option<(u32, u32)>, now: Moment) -> u32 {
    let opening_ms = until_opening_ms(room, now).min(i64::from(LATEST_MS) * 4) as u32;
    let soonest_ms = eta_s.map_or(LATEST_MS, |(from, _)| from.saturating_mul(1000));
    let wait_ms = (soonest_ms.max(opening_ms) / 4).clamp(SOONEST_MS, LATEST_MS - LATEST_MS / 4);
    wait_ms + (number.wrapping_mul(2_654_435_761) >> 16) % (wait_ms / 4)
}
