//! Which place a ticket has.
//!
//! First come, first served: its number. By lot: the tickets that were in the draw are sorted by
//! `HMAC-SHA256(seed, number)`, and whoever joined later stands behind them in the order of joining. The seed is drawn
//! before anybody joins; `SHA-256(seed)` is published at once and the seed after the draw, so anybody can compute the
//! whole order again (`holdfast room verify`), and nobody can have changed it since. Whoever can read the store could know
//! the seed before the draw; nobody else is told.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::room::{Number, Place, Room};

/// What is published before the draw.
pub fn commitment(seed: &[u8; 32]) -> [u8; 32] {
    Sha256::digest(seed).into()
}

/// A ticket's lot: the smaller, the further in front.
fn lot(seed: &[u8; 32], number: Number) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(seed).expect("any length of key will do");
    mac.update(number.to_string().as_bytes());
    mac.finalize().into_bytes().into()
}

/// The order of one run of a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    ByNumber,
    /// Nobody has a place yet.
    Undrawn,
    /// The place of each ticket in the draw, by number.
    Drawn(Vec<Place>),
}

impl Order {
    /// The lottery with this seed among tickets 1 to `drawn`.
    pub fn draw(seed: &[u8; 32], drawn: u32) -> Self {
        let mut lots: Vec<_> = (1..=drawn).map(|number| (lot(seed, number), number)).collect();
        lots.sort_unstable();
        let mut places = vec![0; drawn as usize];
        for (place, (_, number)) in (1..).zip(lots) {
            places[number as usize - 1] = place;
        }
        Self::Drawn(places)
    }

    pub fn of(room: &Room) -> Self {
        match &room.lottery {
            None => Self::ByNumber,
            Some(lottery) => match lottery.drawn {
                None => Self::Undrawn,
                Some(drawn) => Self::draw(&lottery.seed, drawn),
            },
        }
    }

    /// Whether this is the order of that room, as it is now.
    pub fn is_of(&self, room: &Room) -> bool {
        match (self, room.lottery.as_ref().map(|lottery| lottery.drawn)) {
            (Self::ByNumber, None) | (Self::Undrawn, Some(None)) => true,
            (Self::Drawn(places), Some(Some(drawn))) => places.len() == drawn as usize,
            _ => false,
        }
    }

    pub fn place(&self, number: Number) -> Option<Place> {
        match self {
            Self::ByNumber => Some(number),
            Self::Undrawn => None,
            Self::Drawn(places) => {
                Some(places.get(number.checked_sub(1)? as usize).copied().unwrap_or(number))
            }
        }
    }
}
