//! Who drives which payment. One process keeps these books, so its memory is enough: after a crash nobody drives
//! anything, and everything that is due is handed out anew.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use holdfast_domain::{BookingId, Moment};
use parking_lot::Mutex;

use super::instant_now;
use crate::ledger::BookingView;

/// What is handed out: a booking, for the moment at which it was due, and until when nobody else is given it. Whatever
/// is written down about a payment moves that moment, and with it the lease is over.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<HashMap<BookingId, (Option<Moment>, Instant)>>);

impl Leases {
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Of those that are due, the first `limit` that nobody drives: leased from now on.
    pub(super) fn take(&self, due: Vec<BookingView>, limit: usize, lease: Duration) -> Vec<BookingView> {
        let now = instant_now();
        let mut leases = self.0.lock();
        leases.retain(|_, (_, until)| now < *until);
        let driven = |view: &BookingView, leases: &HashMap<_, (Option<Moment>, Instant)>| {
            leases.get(&view.booking.id).is_some_and(|(due_at, _)| *due_at == view.booking.payment_due())
        };
        let mut taken = Vec::new();
        for view in due {
            if taken.len() < limit && !driven(&view, &leases) {
                leases.insert(view.booking.id, (view.booking.payment_due(), now + lease));
                taken.push(view);
            }
        }
        taken
    }
}
