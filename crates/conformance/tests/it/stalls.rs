//! How long the machine itself stood still, so that what is promised within two seconds is not measured against that.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crate::postgres::goods::now;

const NAP: Duration = Duration::from_millis(10);

/// A thread that does nothing but sleep, and notes how late it wakes. Ends with this.
#[derive(Debug)]
pub(crate) struct Stalls(Arc<AtomicU64>);

impl Stalls {
    pub(crate) fn watch() -> Self {
        let longest = Arc::new(AtomicU64::new(0));
        let noted = Arc::downgrade(&longest);
        thread::spawn(move || sleep_on(&noted));
        Self(longest)
    }

    /// The longest so far, in one piece.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

fn sleep_on(noted: &Weak<AtomicU64>) {
    while let Some(longest) = noted.upgrade() {
        let began = now();
        thread::sleep(NAP);
        let late = began.elapsed().saturating_sub(NAP);
        longest.fetch_max(late.as_micros() as u64, Ordering::Relaxed);
    }
}
