//! Places among the requests under way: how many are worked on at once, and who still finds room when there is none.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much it matters that a request is heard when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Heard whatever happens: how we are, and money that has moved.
    Vital,
    /// Somebody books what they hold. Has places that nobody else is given.
    Urgent,
    Ordinary,
}

#[derive(Debug)]
pub(crate) struct Places {
    open: Arc<Semaphore>,
    /// For what is urgent, once the open ones are taken.
    kept: Arc<Semaphore>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        let kept = (most / 16).clamp(1, 256);
        Self { open: Arc::new(Semaphore::new(most)), kept: Arc::new(Semaphore::new(kept)) }
    }

    fn find(&self, rank: Rank) -> Option<OwnedSemaphorePermit> {
        let open = Arc::clone(&self.open).try_acquire_owned().ok();
        open.or_else(|| match rank {
            Rank::Urgent => Arc::clone(&self.kept).try_acquire_owned().ok(),
            Rank::Vital | Rank::Ordinary => None,
        })
    }

    /// A place for a request of this rank, if there is one.
    pub(crate) fn take(self: &Arc<Self>, rank: Rank) -> Option<Place> {
        let found = self.find(rank);
        (found.is_some() || rank == Rank::Vital)
            .then(|| Place(Arc::new(Taken { places: Arc::clone(self), rank, permit: Mutex::new(found) })))
    }
}

/// A request's place. Whoever is slow to send a body has none meanwhile: the number of connections bounds them, and they
/// keep nobody else waiting.
#[derive(Debug, Clone)]
pub(crate) struct Place(Arc<Taken>);

#[derive(Debug)]
struct Taken {
    places: Arc<Places>,
    rank: Rank,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Place {
    pub(crate) fn let_go(&self) {
        drop(self.0.permit.lock().take());
    }

    /// Whether there is a place again.
    pub(crate) fn take_again(&self) -> bool {
        let Taken { places, rank, permit } = &*self.0;
        let mut permit = permit.lock();
        if permit.is_none() {
            *permit = places.find(*rank);
        }
        permit.is_some() || *rank == Rank::Vital
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.0.permit.lock().is_some() || self.0.rank == Rank::Vital
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_lets_go_makes_room_and_may_find_none_later() {
        let places = Arc::new(Places::new(1));
        let slow = places.take(Rank::Ordinary).unwrap();
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
}
