//! Who drives which payment. One process keeps these books, so its memory is enough: after a crash nobody drives
//! anything, and everything that is due is handed out anew.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use holdfast_domain::{BookingId, Moment};

use super::instant_now;
use crate::ledger::BookingView;

/// What is handed out: a booking, for the moment at which it was due, and until when nobody else is given it. Whatever
/// is written down about a payment moves that moment, and with it the lease is over.
#[derive(Debug, Default)]
pub(super) struct Leases(HashMap<BookingId, (Option<Moment>, Instant)>);

impl Leases {
    /// How many of those that are due may be somebody's already.
    pub(super) fn count(&mut self) -> usize {
        let now = instant_now();
        self.0.retain(|_, (_, until)| now < *until);
        self.0.len()
    }

    /// Of those that are due, the first `limit` that nobody drives: leased from now on.
    pub(super) fn take(
        &mut self,
        mut due: Vec<BookingView>,
        limit: usize,
        lease: Duration,
    ) -> Vec<BookingView> {
        due.retain(|view| !self.is_driven(view));
        due.truncate(limit);
        let until = instant_now() + lease;
        self.0.extend(due.iter().map(|view| (view.booking.id, (view.booking.payment_due(), until))));
        due
    }

    fn is_driven(&self, view: &BookingView) -> bool {
        self.0.get(&view.booking.id).is_some_and(|(due_at, _)| *due_at == view.booking.payment_due())
    }
}
