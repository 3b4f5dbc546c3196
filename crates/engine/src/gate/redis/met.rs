//! The connection there is, and which life of the servers it leads to.
//!
//! ```text
//! nobody ──► met, in a life that nobody knows yet ──► met and seen
//!   ▲                   │ cut                            │ cut
//!   └───────────────────┴────────────────────────────────┘
//! ```
//! A life belongs to the connection it was seen through: what is said of one that is gone says nothing of the next,
//! which may lead to another server. Until that one was seen, no slate there can be believed.
//!
//! Leaving one life for another is a move. What the servers that were left had acknowledged last, the others may never
//! have heard of.

use std::sync::Arc;

/// Who is spoken to now.
#[derive(Debug)]
pub(super) struct Met<L> {
    now: Option<Meeting<L>>,
    /// Connections so far, so that each has a number.
    links: u64,
    /// The life that was seen last, also when the connection to it is gone.
    last: Option<Arc<str>>,
    moves: u64,
}

#[derive(Debug)]
struct Meeting<L> {
    number: u64,
    link: L,
    life: Option<Arc<str>>,
}

impl<L: Clone> Met<L> {
    pub(super) const fn nobody() -> Self {
        Self { now: None, links: 0, last: None, moves: 0 }
    }

    pub(super) fn is_nobody(&self) -> bool {
        self.now.is_none()
    }

    /// A new connection; its number.
    pub(super) fn meet(&mut self, link: L) -> u64 {
        self.links += 1;
        self.now = Some(Meeting { number: self.links, link, life: None });
        self.links
    }

    /// The connection and its number.
    pub(super) fn link(&self) -> Option<(u64, L)> {
        self.now.as_ref().map(|now| (now.number, now.link.clone()))
    }

    pub(super) fn life(&self) -> Option<Arc<str>> {
        self.now.as_ref()?.life.clone()
    }

    /// How often one life was left for another.
    pub(super) const fn moves(&self) -> u64 {
        self.moves
    }

    /// The life that this connection leads to. False where it is gone: then nobody knows where the next one leads.
    pub(super) fn seen(&mut self, number: u64, life: Arc<str>) -> bool {
        let Some(now) = self.now.as_mut().filter(|now| now.number == number) else { return false };
        if self.last.as_ref().is_some_and(|last| *last != life) {
            self.moves += 1;
        }
        self.last = Some(Arc::clone(&life));
        now.life = Some(life);
        true
    }

    /// False where this connection was gone already, whoever has taken its place.
    pub(super) fn cut(&mut self, number: u64) -> bool {
        self.now.take_if(|now| now.number == number).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_of_the_connection_it_was_seen_through() {
        let mut met = Met::nobody();
        let first = met.meet("first");
        assert_eq!(met.life(), None, "nobody has looked yet");
        assert!(met.seen(first, "a".into()));
        assert_eq!(met.life().as_deref(), Some("a"));
        assert!(met.cut(first));
        assert!(met.is_nobody() && met.life().is_none());
        assert!(!met.seen(first, "a".into()), "a look that was under way when it was cut");
        let second = met.meet("second");
        assert!(!met.seen(first, "a".into()) && met.life().is_none(), "not the first one's");
        assert!(met.seen(second, "b".into()));
        assert_eq!(met.life().as_deref(), Some("b"));
    }

    #[test]
    fn a_life_that_follows_another_is_a_move_and_the_first_one_is_none() {
        let mut met = Met::nobody();
        let mut moves_after = |life: &str, is_cut: bool| {
            let number = met.link().map_or_else(|| met.meet(()), |(number, ())| number);
            assert!(met.seen(number, life.into()));
            if is_cut {
                met.cut(number);
            }
            met.moves()
        };
        assert_eq!(moves_after("a", false), 0, "nobody was left");
        assert_eq!(moves_after("a", true), 0, "the same as ever");
        assert_eq!(moves_after("a", true), 0, "the same through another connection");
        assert_eq!(moves_after("b", false), 1);
        assert_eq!(moves_after("a", false), 2, "through the same connection, as in a Cluster");
    }

    #[test]
    fn a_straggler_of_an_old_connection_does_not_cut_the_new_one() {
        let mut met = Met::nobody();
        let first = met.meet("first");
        assert!(met.cut(first) && !met.cut(first));
        let second = met.meet("second");
        assert!(!met.cut(first));
        assert_eq!(met.link(), Some((second, "second")));
    }
}
