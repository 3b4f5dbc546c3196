//! Whose ticket is which: one a session, for as long as it is good.
//!
//! A token says by itself what it is, so that nobody need be remembered who waits; but whoever threw theirs away must not
//! be given another beside it, or else the patient would have as many lots in a draw as they like. So the store keeps the
//! number that each session was given last, beside the room and changed with it, and all nodes look there.

use std::collections::{BTreeSet, HashMap};

use holdfast_domain::HolderId;
use sha2::{Digest, Sha256};

use super::token::Ticket;

/// Who was given a ticket, without their name: sixteen bytes of its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bearer(pub [u8; 16]);

impl Bearer {
    pub fn of(holder: &HolderId) -> Self {
        let hash: [u8; 32] = Sha256::digest(holder.as_str()).into();
        let (half, _) = hash.split_first_chunk().expect("thirty-two are more than sixteen");
        Self(*half)
    }
}

/// The tickets of those whom a change of a room is about.
#[derive(Debug, Default)]
pub struct Tickets {
    known: HashMap<Bearer, Ticket>,
    given: BTreeSet<Bearer>,
}

impl Tickets {
    pub fn new(known: impl IntoIterator<Item = (Bearer, Ticket)>) -> Self {
        Self { known: known.into_iter().collect(), given: BTreeSet::new() }
    }

    /// The one that they were given last, in whichever run.
    pub fn of(&self, bearer: Bearer) -> Option<Ticket> {
        self.known.get(&bearer).copied()
    }

    pub fn give(&mut self, bearer: Bearer, ticket: Ticket) {
        self.known.insert(bearer, ticket);
        self.given.insert(bearer);
    }

    /// What there is to keep.
    pub fn given(&self) -> impl Iterator<Item = (Bearer, Ticket)> {
        self.given.iter().map(|bearer| (*bearer, self.known[bearer]))
    }
}
