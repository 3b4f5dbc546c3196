//! Time as the engine sees it. The only place that reads the machine's clocks.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, Instant, SystemTime},
};

use holdfast_domain::Moment;

pub trait Clock: Send + Sync + fmt::Debug {
    /// What time it is. Never goes back while the process lives.
    fn now(&self) -> Moment;
}

/// The wall clock as read once at start, carried forward by the monotonic one: a jump of the machine's clock
/// under a running sale neither ends holds early nor keeps them alive.
#[derive(Debug)]
pub struct SystemClock {
    started_at: Moment,
    started: Instant,
}

impl SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine for the time")]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { started_at: Moment::from_ms(wall.as_millis() as i64), started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        self.started_at.plus_ms(self.started.elapsed().as_millis() as i64)
    }
}

/// A clock that stands still until told otherwise, for tests and replays.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(now: Moment) -> Self {
        Self(AtomicI64::new(now.ms()))
    }

    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        Moment::from_ms(self.0.load(Ordering::SeqCst))
    }
}
