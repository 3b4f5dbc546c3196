//! Chains of hashes: each is written by one transaction at a time, so that writers never wait for each other's head.
//!
//! A node also knows how much of its own chains its copy has applied, and need not read that back from the journal.

use std::collections::HashMap;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Chains remembered as applied; forgetting one costs reading its entries again.
const MOST_REMEMBERED: usize = 1024;

/// A chain of hashes over the entries that one connection at a time writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    pub(super) id: i64,
    pub(super) link: i64,
    pub(super) hash: [u8; 32],
}

impl Chain {
    pub(super) fn fresh() -> Self {
        // 63 random bits: two chains with one name would be noticed by `verify`, and will not happen.
        let id = (crate::mint::random_bits() as u64 >> 1) as i64;
        Self { id, link: 0, hash: [0; 32] }
    }

    #[must_use]
    pub(super) fn then(self, entry: &[u8]) -> Self {
        let hash = Sha256::new().chain_update(self.hash).chain_update(entry).finalize();
        Self { id: self.id, link: self.link + 1, hash: hash.into() }
    }
}

/// The chains of this node.
#[derive(Debug, Default)]
pub(super) struct Chains(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Chains that nobody writes to just now.
    idle: Vec<Chain>,
    /// Of each chain, the last link up to which the copy has applied every entry.
    applied: HashMap<i64, i64>,
}

impl Chains {
    pub(super) fn take(&self) -> Chain {
        self.0.lock().idle.pop().unwrap_or_else(Chain::fresh)
    }

    /// Only after its transaction is known to be committed: one of unknown fate is left to rest. So is one that the copy has
    /// not applied up to its last link: with that gap, whatever is added to it is read back from the journal for good.
    pub(super) fn put_back(&self, chain: Chain) {
        let mut known = self.0.lock();
        if known.applied.get(&chain.id) == Some(&chain.link) {
            known.idle.push(chain);
        } else {
            known.applied.remove(&chain.id);
        }
    }

    /// Their heads may be gone from the books: whatever is written from now on begins chains of its own.
    pub(super) fn forget(&self) {
        *self.0.lock() = Known::default();
    }

    /// The copy has applied the last `entries` of this chain. Say so while the copy is still kept from others.
    pub(super) fn applied(&self, chain: Chain, entries: usize) {
        let mut known = self.0.lock();
        if known.applied.len() >= MOST_REMEMBERED {
            // Whoever went on with one of them would have a gap before its entries for good.
            *known = Known::default();
        }
        let before = chain.link - entries as i64;
        let upto = known.applied.entry(chain.id).or_insert(0);
        // With a gap before them they are read from the journal like everybody's.
        if *upto == before {
            *upto = chain.link;
        }
    }

    /// The names of the chains that were applied, and up to where.
    pub(super) fn seen(&self) -> (Vec<i64>, Vec<i64>) {
        self.0.lock().applied.iter().unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_goes_on_while_all_of_it_is_applied() {
        let chains = Chains::default();
        let first = chains.take().then(b"one").then(b"two");
        chains.applied(first, 2);
        chains.put_back(first);
        let second = chains.take().then(b"three");
        assert_eq!((second.id, second.link), (first.id, 3));
        // Somebody else's entry came in between, and this one is brought by the journal.
        chains.put_back(second);
        assert_eq!(chains.take().link, 0, "another one is begun");
        assert_eq!(chains.seen(), (vec![], vec![]), "and of this one all is read that is new");
    }

    #[test]
    fn a_chain_from_before_they_were_forgotten_is_not_gone_on_with() {
        let chains = Chains::default();
        let first = chains.take().then(b"one");
        chains.applied(first, 1);
        chains.put_back(first);
        let second = chains.take().then(b"two");
        chains.forget();
        chains.applied(second, 1);
        chains.put_back(second);
        assert_eq!(chains.take().link, 0);
    }
}
