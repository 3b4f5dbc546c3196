//! Time as a history has it: microseconds of the wall clock, carried forward by the monotonic one, as the ledgers'
//! own clocks are.

use std::time::{Duration, Instant, SystemTime};

use holdfast_checker::history::Micros;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    wall_us: Micros,
    started: Instant,
}

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "a history is measured; no decision depends on this clock")]
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { wall_us: wall.as_micros() as Micros, started: Instant::now() }
    }

    pub(crate) fn now_us(&self) -> Micros {
        self.wall_us + self.started.elapsed().as_micros() as Micros
    }
}
