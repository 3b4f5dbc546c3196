//! The load generator: a closed loop of N connections, each sending its next request when the last was answered.
//!
//! It runs on one thread of its own, because on a small machine it shares the cores with the server it measures:
//! every request costs one write, one read, and no allocation. Scenarios that are to be compared take turns in
//! short rounds ([`rounds`]), so that a noisy neighbour or a warming cache falls on all of them alike.
//!
//! It never judges the server: it counts answers by status and measures how long they took.

mod closed_loop;
mod latency;
mod rounds;

pub use closed_loop::{Caller, Crew, Tally};
pub use latency::{Latency, stopwatch};
pub use rounds::{Rounds, Worker, take_turns};

use std::{future::Future, thread};

/// Runs `work` on a thread of its own with a runtime of its own, away from whatever else this process does.
pub fn on_own_thread<T, F>(work: F) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("the operating system gives a thread its event queue").block_on(work)
    };
    match thread::spawn(run).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
