//! Waiting with an end. Servers tell nobody when they are ready, so they are asked again and again, for a bounded
//! time.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Long enough for a busy machine, short enough that nobody wonders.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(5);

/// Asks until there is an answer; `None` when the time is up.
#[expect(clippy::disallowed_methods, reason = "only bounds how long a test server is waited for")]
pub(crate) fn poll<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if begun.elapsed() >= limit {
            return None;
        }
        thread::sleep(PAUSE);
    }
}
