//! Scenarios side by side: each works a short stretch in every round, so that what disturbs one disturbs all.

use std::{io, time::Duration};

use futures::future::BoxFuture;
use indicatif::ProgressBar;

use super::Tally;

/// Whatever can work for a stretch and count what it did: a [`Crew`](super::Crew), or what it is compared with.
pub trait Worker: Send {
    fn work(&mut self, stretch: Duration) -> BoxFuture<'_, io::Result<Tally>>;
}

#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// Uncounted rounds first, while caches and pools fill.
    pub warm_up: usize,
    pub counted: usize,
    pub stretch: Duration,
}

impl Rounds {
    /// How many stretches that is for so many workers.
    pub fn stretches(&self, workers: usize) -> u64 {
        ((self.warm_up + self.counted) * workers) as u64
    }
}

/// Lets the workers take turns. The answer has, for each of them, its tally of every counted round.
pub async fn take_turns(
    workers: &mut [Box<dyn Worker>],
    rounds: Rounds,
    progress: &ProgressBar,
) -> io::Result<Vec<Vec<Tally>>> {
    let mut tallies = vec![Vec::new(); workers.len()];
    for round in 0..rounds.warm_up + rounds.counted {
        for (worker, tallies) in workers.iter_mut().zip(&mut tallies) {
            let tally = worker.work(rounds.stretch).await?;
            progress.inc(1);
            if round >= rounds.warm_up {
                tallies.push(tally);
            }
        }
    }
    Ok(tallies)
}
