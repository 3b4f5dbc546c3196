//! Waiting with an end. Servers tell nobody when they are ready, so they are asked again and again, for a bounded
//! time.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Long enough for a busy machine, short enough that nobody wonders.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Between two questions: most servers are ready at once, and the others should not be kept busy with answering.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Asks until there is an answer; `None` when the time is up.
#[expect(clippy::disallowed_methods, reason = "only bounds how long a test server is waited for")]
pub(crate) fn poll<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if begun.elapsed() >= limit {
            return None;
        }
        thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 3 / 2);
    }
}
