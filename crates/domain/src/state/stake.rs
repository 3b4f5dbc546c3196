//! What one holder has in one offer: for the limit per holder, and to find the holder's own hold again.

use std::collections::BTreeSet;

use crate::{hold::Line, ids::HoldId, offer::UnitNo};

/// A hold and the unit of one of its lines.
type Pair = (UnitNo, HoldId);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stake {
    pub(crate) held: u64,
    pub(crate) booked: u64,
    pub(crate) holds: Holds,
}

impl Stake {
    /// Adds a line of an active hold.
    pub(super) fn hold(&mut self, line: &Line, hold: HoldId) {
        self.held += u64::from(line.qty);
        self.holds.insert(line.unit, hold);
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Active holds, each once for every line it has in the offer, by the line's unit.
///
/// Almost every holder has one, and a million of those must stay small; a box office may be one holder with all
/// the holds there are, and must not become slow.
#[derive(Debug, Clone)]
pub(crate) enum Holds {
    One(Option<Pair>),
    /// Sorted.
    Few(Vec<Pair>),
    Many(BTreeSet<Pair>),
}

impl Holds {
    const FEW: usize = 64;

    pub(crate) fn insert(&mut self, unit: UnitNo, hold: HoldId) {
        match self {
            Self::One(one) => match *one {
                None => *one = Some((unit, hold)),
                Some(other) if other == (unit, hold) => {}
                Some(other) => {
                    let (first, second) = (other.min((unit, hold)), other.max((unit, hold)));
                    *self = Self::Few(vec![first, second]);
                }
            },
            Self::Few(few) if few.len() == Self::FEW => {
                *self = Self::Many(few.drain(..).chain([(unit, hold)]).collect());
            }
            Self::Few(few) => {
                if let Err(at) = few.binary_search(&(unit, hold)) {
                    few.insert(at, (unit, hold));
                }
            }
            Self::Many(many) => {
                many.insert((unit, hold));
            }
        }
    }

    pub(crate) fn remove(&mut self, unit: UnitNo, hold: HoldId) {
        match self {
            Self::One(one) => {
                one.take_if(|one| *one == (unit, hold));
            }
            Self::Few(few) => {
                if let Ok(at) = few.binary_search(&(unit, hold)) {
                    few.remove(at);
                }
            }
            Self::Many(many) => {
                many.remove(&(unit, hold));
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = HoldId> {
        self.pairs().map(|(_, hold)| hold)
    }

    /// The holds with a line on that unit.
    pub(crate) fn on(&self, unit: UnitNo) -> impl Iterator<Item = HoldId> {
        let (few, many) = self.parts();
        let few = &few[few.partition_point(|&(at, _)| at < unit)..];
        let few = few.iter().take_while(move |&&(at, _)| at == unit);
        let all = (unit, HoldId::from_bits(0))..=(unit, HoldId::from_bits(u128::MAX));
        few.chain(many.into_iter().flat_map(move |many| many.range(all.clone()))).map(|&(_, hold)| hold)
    }

    fn pairs(&self) -> impl Iterator<Item = Pair> {
        let (few, many) = self.parts();
        few.iter().chain(many.into_iter().flatten()).copied()
    }

    fn parts(&self) -> (&[Pair], Option<&BTreeSet<Pair>>) {
        match self {
            Self::One(one) => (one.as_slice(), None),
            Self::Few(few) => (few, None),
            Self::Many(many) => (&[], Some(many)),
        }
    }
}

impl Default for Holds {
    fn default() -> Self {
        Self::One(None)
    }
}

impl PartialEq for Holds {
    fn eq(&self, other: &Self) -> bool {
        self.pairs().eq(other.pairs())
    }
}

impl Eq for Holds {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_many_holds_answer_alike() {
        let mut holds = Holds::default();
        let pairs: Vec<_> =
            (0..200).map(|n| ((n * 7 % 5) as UnitNo, HoldId::from_bits(n * 31 % 199))).collect();
        for (at, &(unit, hold)) in pairs.iter().enumerate() {
            holds.insert(unit, hold);
            let known: BTreeSet<_> = pairs[..=at].iter().copied().collect();
            assert!(holds.pairs().eq(known.iter().copied()));
            let on_two: Vec<_> = known.iter().filter(|(unit, _)| *unit == 2).map(|&(_, hold)| hold).collect();
            assert_eq!(holds.on(2).collect::<Vec<_>>(), on_two);
        }
        pairs.iter().for_each(|&(unit, hold)| holds.remove(unit, hold));
        assert_eq!(holds, Holds::default());
    }
}
