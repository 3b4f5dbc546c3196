//! The simulator's time: the machine's, moved forward on request, or one that stands still between requests.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, Instant, SystemTime},
};

/// How the simulator's time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// With the machine's clock. What is due happens by itself.
    Real,
    /// Only by [`Simulator::advance`](crate::Simulator::advance), from this moment on (milliseconds since 1970).
    Told { from_ms: i64 },
}

#[derive(Debug)]
pub(crate) struct Time {
    started_ms: i64,
    /// `None` when time passes only as told.
    started: Option<Instant>,
    skipped_ms: AtomicI64,
}

impl Time {
    #[expect(clippy::disallowed_methods, reason = "the simulator's one look at the machine's clocks")]
    pub(crate) fn new(pace: Pace) -> Self {
        let wall = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let (started_ms, started) = match pace {
            Pace::Real => (wall().as_millis() as i64, Some(Instant::now())),
            Pace::Told { from_ms } => (from_ms, None),
        };
        Self { started_ms, started, skipped_ms: AtomicI64::new(0) }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        let passed = self.started.map_or(0, |started| started.elapsed().as_millis() as i64);
        self.started_ms + passed + self.skipped_ms.load(Ordering::SeqCst)
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.skipped_ms.fetch_add(by.as_millis() as i64, Ordering::SeqCst);
    }

    /// Whether what is due must wait for somebody to move the clock.
    pub(crate) fn is_told(&self) -> bool {
        self.started.is_none()
    }
}
