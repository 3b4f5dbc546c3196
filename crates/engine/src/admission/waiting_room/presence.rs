//! Who is there: a note of everybody who asked lately how far it is, with the time until which that counts as being
//! there. Each node keeps its own; nothing of it needs to survive.

use std::collections::BTreeMap;

use holdfast_domain::Moment;

use super::{order::Order, room::Place};

/// Those near the front ask every two or three seconds: after so long, whoever of them is there has.
pub(super) const WARM_UP_MS: i64 = 7_000;

#[derive(Debug)]
pub struct Presence {
    seen: BTreeMap<Place, Moment>,
    most: usize,
    /// Before then many may be there who have not said so.
    warm_at: Moment,
}

impl Presence {
    /// Remembers at most so many.
    pub const fn new(most: usize) -> Self {
        Self { seen: BTreeMap::new(), most, warm_at: Moment::MIN }
    }

    pub fn seen(&mut self, place: Place, until: Moment) {
        if self.seen.len() >= self.most && !self.seen.contains_key(&place) {
            // The last in the queue can be forgotten: they will have asked again before it matters.
            let last = self.seen.last_key_value().map_or(0, |(&last, _)| last);
            if last <= place {
                return;
            }
            self.seen.remove(&last);
        }
        self.seen.insert(place, until);
    }

    pub fn gone(&mut self, place: Place) {
        self.seen.remove(&place);
    }

    /// A node that has just started waits until whoever is there has had time to say so: else the first to ask would be
    /// let in before those who stand in front of them.
    pub const fn wait_until(&mut self, warm_at: Moment) {
        self.warm_at = warm_at;
    }

    /// Whether somebody may be called by what is known here. What is known counts at other nodes before: who has asked is
    /// there.
    pub fn is_warm(&self, now: Moment) -> bool {
        self.warm_at <= now
    }

    /// The lots are drawn: those who were known by their numbers have places now.
    pub fn draw(&mut self, order: &Order) {
        let numbers = std::mem::take(&mut self.seen);
        self.seen =
            numbers.into_iter().filter_map(|(number, until)| Some((order.place(number)?, until))).collect();
    }

    /// Nobody is there any more: another run has begun.
    pub fn clear(&mut self) {
        self.seen.clear();
    }

    pub fn len(&self) -> usize {
        self.seen.len()
    }

    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Whether anybody is there. Where nobody is, those who were are forgotten.
    pub fn has_anybody(&mut self, now: Moment) -> bool {
        let anybody = self.seen.values().any(|until| now < *until);
        if !anybody {
            self.seen.clear();
        }
        anybody
    }

    /// The first `most` of those who are there and wait.
    pub fn front(&mut self, most: usize, now: Moment, waits: impl Fn(Place) -> bool) -> Vec<Place> {
        let (mut front, mut gone) = (Vec::new(), Vec::new());
        for (&place, &until) in &self.seen {
            if front.len() >= most {
                break;
            }
            if until <= now || !waits(place) {
                gone.push(place);
            } else {
                front.push(place);
            }
        }
        for place in gone {
            self.seen.remove(&place);
        }
        front
    }
}
