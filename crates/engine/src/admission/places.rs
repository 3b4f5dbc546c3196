//! Places among what is under way: how much is worked on at once, and who still finds room when there is none.
//!
//! ```text
//! reads ─────────────────┤
//! holds ──────────────────────┤ most
//! bookings, whoever has something ┤
//! health, money that has moved ─────►
//! ```
//! All of them count; each rank is let in up to its own mark. So whoever has something at stake finds the last places
//! empty however many only want something. The server asks for a request, the pipeline for a command.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How much it matters to be heard when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// Heard whatever happens: how we are, and money that has moved.
    Vital,
    /// Somebody books, keeps or gives back what they have. Has places that nobody else is given.
    Urgent,
    Ordinary,
    /// Somebody looks. Leaves a few places to those who act.
    Read,
}

#[derive(Debug)]
pub struct Places {
    most: usize,
    taken: AtomicUsize,
}

impl Places {
    /// So many for everybody, and some beyond them for what is urgent.
    pub const fn new(most: usize) -> Self {
        Self { most, taken: AtomicUsize::new(0) }
    }

    /// Who finds a place of this rank sees fewer than so many taken.
    fn mark(&self, rank: Rank) -> usize {
        let kept = (self.most / 16).min(256);
        match rank {
            Rank::Vital => usize::MAX,
            Rank::Urgent => self.most.saturating_add(kept.max(1)),
            Rank::Ordinary => self.most,
            Rank::Read => self.most - kept,
        }
    }

    fn find(&self, rank: Rank) -> bool {
        let (mark, relaxed) = (self.mark(rank), Ordering::Relaxed);
        let one_more = |taken| (taken < mark).then_some(taken + 1);
        self.taken.fetch_update(relaxed, relaxed, one_more).is_ok()
    }

    /// A place of this rank, if there is one.
    pub fn take(self: &Arc<Self>, rank: Rank) -> Option<Place> {
        self.find(rank).then(|| Place { places: Arc::clone(self), rank, taken: true })
    }
}

/// A place that was found, and is another's when it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    rank: Rank,
    taken: bool,
}

impl Place {
    /// Somebody else's for now: whoever only waits keeps nobody else waiting.
    pub fn let_go(&mut self) {
        if std::mem::take(&mut self.taken) {
            self.places.taken.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether there is a place again.
    pub fn take_again(&mut self) -> bool {
        self.taken = self.taken || self.places.find(self.rank);
        self.taken
    }

    pub const fn is_taken(&self) -> bool {
        self.taken
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_lets_go_makes_room_and_may_find_none_later() {
        let places = Arc::new(Places::new(1));
        let mut slow = places.take(Rank::Ordinary).unwrap();
        assert!(places.take(Rank::Ordinary).is_none());
        slow.let_go();
        let quick = places.take(Rank::Ordinary).unwrap();
        assert!(!slow.take_again() && !slow.is_taken());
        drop(quick);
        assert!(slow.take_again() && slow.is_taken());
        assert!(places.take(Rank::Vital).is_some(), "place or not");
    }

    #[test]
    fn what_is_urgent_has_places_of_its_own() {
        let places = Arc::new(Places::new(1));
        let _hold = places.take(Rank::Ordinary).unwrap();
        let booking = places.take(Rank::Urgent).unwrap();
        assert!(places.take(Rank::Urgent).is_none(), "a few, not any number");
        drop(booking);
        assert!(places.take(Rank::Ordinary).is_none() && places.take(Rank::Urgent).is_some());
    }

    #[test]
    fn those_who_look_leave_room_for_those_who_act() {
        let places = Arc::new(Places::new(16));
        let looking: Vec<_> = std::iter::from_fn(|| places.take(Rank::Read)).collect();
        assert_eq!(looking.len(), 15);
        assert!(places.take(Rank::Ordinary).is_some());
    }
}
