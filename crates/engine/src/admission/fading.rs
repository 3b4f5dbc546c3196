//! What is remembered for a while: each thing until its own end, and no more of them than were agreed upon.
//!
//! Kept in the order of their ends as well, so that a node which remembers as many callers as it may pays for one more
//! what it pays for the first: nobody looks through all of them.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

/// How many whose end has come are let go of for each that comes: more than one, so that they grow fewer.
const LET_GO_AT_ONCE: usize = 4;

#[derive(Debug)]
pub(super) struct Fading<K, T, V> {
    kept: HashMap<K, (T, V)>,
    by_end: BTreeSet<(T, K)>,
    most: usize,
}

impl<K: Copy + Ord + Hash, T: Copy + Ord, V> Fading<K, T, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: HashMap::new(), by_end: BTreeSet::new(), most }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn end_of(&self, key: &K) -> Option<T> {
        self.kept.get(key).map(|(end, _)| *end)
    }

    /// Whether one more can be remembered. Lets go of some whose end has come.
    pub(super) fn has_room(&mut self, now: T) -> bool {
        for _ in 0..LET_GO_AT_ONCE {
            let Some(&(end, key)) = self.by_end.first() else { break };
            if end > now {
                break;
            }
            self.remove(&key);
        }
        self.len() < self.most
    }

    /// Remembers it until then, in place of what was known of it.
    pub(super) fn keep(&mut self, key: K, end: T, value: V) {
        if let Some((before, _)) = self.kept.insert(key, (end, value)) {
            self.by_end.remove(&(before, key));
        }
        self.by_end.insert((end, key));
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (end, value) = self.kept.remove(key)?;
        self.by_end.remove(&(end, *key));
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_and_only_when_their_end_has_come() {
        let mut fading = Fading::new(3);
        for key in 0..3 {
            assert!(fading.has_room(0));
            fading.keep(key, 10 + key, ());
        }
        assert!(!fading.has_room(9), "as many as were agreed upon, and none is over");
        fading.keep(0, 20, ());
        assert!(fading.has_room(11), "the second is over; the first was kept for longer");
        assert_eq!([0, 1, 2].map(|key| fading.end_of(&key)), [Some(20), None, Some(12)]);
        fading.remove(&2);
        assert_eq!(fading.by_end.len(), fading.kept.len());
    }

    #[test]
    fn however_many_are_over_one_more_pays_for_a_few() {
        let mut fading = Fading::new(1_000);
        (0..1_000).for_each(|key| fading.keep(key, 1, ()));
        assert!(fading.has_room(2));
        assert_eq!(fading.kept.len(), 1_000 - LET_GO_AT_ONCE);
    }
}
