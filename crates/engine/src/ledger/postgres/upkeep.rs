//! Tidying: writing down which holds have expired, and forgetting ended holds and keys' answers that are too old to be
//! asked for.
//!
//! What anybody is told does not depend on it, for a hold's expiry is compared with the time of each decision. Nor does it
//! make anybody wait: the sweep leaves out offers that somebody is busy with, and the batches that are busy with them write
//! down some of their expiries along the way.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use holdfast_domain::{Hold, Moment, OfferId, State};

use super::{
    Books, answers, batch::Patience, own_thread::unless_it_panics, rows::offers_of, session::Trouble,
};
use crate::{ledger::embedded::instant_now, mint};

/// Ended holds or answers forgotten at once: few enough that nobody waits long for the copy.
const FORGET_SLICE: usize = 1_000;
const FORGET_EVERY: u32 = 120;
/// Without a sweep, how often to look for answers to forget.
const QUIET: Duration = Duration::from_secs(1);
/// From the end of a hold to the sweep that writes it down, at least: nobody waits for it, and what runs out together is
/// swept together.
const SOONEST: Duration = Duration::from_millis(50);

/// How often the pause after a sweep that failed is doubled, at most …
const MOST_DOUBLED: u32 = 6;
/// … and how long it becomes: once whatever was wrong is over, nothing that has expired stays unwritten for much longer.
const LONGEST_AFTER_FAILURE: Duration = Duration::from_secs(4);

pub(super) async fn run(books: Arc<Books>) {
    let mut forgotten_at = instant_now();
    let (mut failures, mut left) = (0_u32, BTreeSet::new());
    loop {
        let pause = books.limits.tidy_every.unwrap_or(QUIET);
        let wait = match books.limits.tidy_every {
            Some(_) if failures == 0 => pause.min(until_due(&books).await.unwrap_or(pause)).max(SOONEST),
            _ => pause_after(failures, pause),
        };
        // A different moment on every node, so that they do not all sweep the same holds.
        let later = SOONEST.min(wait / 2);
        tokio::time::sleep(mint::wait_between(wait, wait + later)).await;
        if books.limits.tidy_every.is_some() {
            let tidied = unless_it_panics(tidy(&books, &mut left)).await;
            failures = if tidied.is_err() { failures.saturating_add(1) } else { 0 };
            if let Err(trouble) = tidied {
                books.condition.met(&trouble);
                tracing::debug!(%trouble, failures, "the sweep will try again");
            }
        }
        if forgotten_at.elapsed() >= pause * FORGET_EVERY {
            forgotten_at = instant_now();
            if let Err(trouble) = unless_it_panics(forget(&books)).await {
                tracing::debug!(%trouble, "old answers are forgotten another time");
            }
        }
    }
}

/// The pause after so many sweeps in a row that failed: longer each time, for each may have cost the copy. A pause that is
/// long by itself is cut short too, for what that sweep should have written down is due.
fn pause_after(failures: u32, pause: Duration) -> Duration {
    let doubled = pause.min(LONGEST_AFTER_FAILURE) * (1 << failures.min(MOST_DOUBLED));
    doubled.min(LONGEST_AFTER_FAILURE)
}

/// How long until the next hold that this node knows of runs out. One that is placed meanwhile runs out later than the
/// sweep pauses, and is seen before.
async fn until_due(books: &Books) -> Option<Duration> {
    let copy = books.loaded().await.ok()?;
    let due = copy.state.next_due()?;
    let left_ms = due.ms_since(copy.about_now(&books.time));
    Some(Duration::from_millis(left_ms.max(0) as u64) + SOONEST)
}

/// What has run out and is not written down, the longest ago first.
pub(super) fn overdue(state: &State, now: Moment) -> impl Iterator<Item = &Hold> {
    state.holds_by_end().take_while(move |hold| !hold.is_live(now))
}

/// Writes a slice of it down. Offers that somebody was busy with are `left` out of the next slice: they may have more than
/// a slice themselves, and the others would never have their turn.
async fn tidy(books: &Books, left: &mut BTreeSet<OfferId>) -> Result<(), Trouble> {
    let offers = overdue_offers(books, left).await?;
    left.clear();
    if offers.is_empty() {
        return Ok(());
    }
    // A batch of no requests: what it does is sweep along.
    books.settle(&[], offers.clone(), Patience::Skip, &mut None).await?;
    let copy = books.loaded().await?;
    let still = overdue(&copy.state, copy.about_now(&books.time)).take(books.limits.tidy_slice);
    left.extend(still.flat_map(|hold| offers_of(&hold.lines)).filter(|offer| offers.contains(offer)));
    Ok(())
}

/// The offers of the next slice.
async fn overdue_offers(books: &Books, left: &BTreeSet<OfferId>) -> Result<BTreeSet<OfferId>, Trouble> {
    let copy = books.loaded().await?;
    let overdue = overdue(&copy.state, copy.about_now(&books.time));
    let offers = overdue.map(|hold| offers_of(&hold.lines));
    let meant = offers.filter(|offers| !offers.iter().any(|offer| left.contains(offer)));
    Ok(meant.take(books.limits.tidy_slice).flatten().collect())
}

async fn forget(books: &Books) -> Result<(), Trouble> {
    let now = books.loaded().await?.about_now(&books.time);
    in_slices(|| async move { Ok(books.writable().await?.state.forget(now, FORGET_SLICE)) }).await?;
    let before = now.plus_ms(-(books.limits.answers_kept.as_millis() as i64)).ms();
    let session = &books.sessions.ordinary().await?;
    let some = FORGET_SLICE as i64;
    in_slices(|| async move { Ok(answers::forget(session, before, some).await? as usize) }).await
}

/// Forgets slice by slice until one is not full: however much has ended, none of it is left for the next time, or more
/// would end each time than is forgotten. Between two slices whoever waits for what they lock has it.
async fn in_slices<F>(mut slice: impl FnMut() -> F) -> Result<(), Trouble>
where
    F: Future<Output = Result<usize, Trouble>>,
{
    while slice().await? == FORGET_SLICE {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[test]
    fn however_often_a_sweep_failed_the_next_one_comes_soon() {
        let (usual, day) = (Duration::from_millis(500), Duration::from_secs(24 * 3600));
        assert_eq!(pause_after(1, usual), Duration::from_secs(1));
        for (failures, pause) in [(4, usual), (u32::MAX, usual), (1, day), (u32::MAX, day)] {
            assert_eq!(pause_after(failures, pause), LONGEST_AFTER_FAILURE);
        }
        assert!(pause_after(6, Duration::from_millis(5)) < Duration::from_secs(1));
    }

    #[tokio::test]
    async fn whatever_has_ended_is_forgotten_in_slices() {
        for ended in [0, 1, FORGET_SLICE, 3 * FORGET_SLICE + 500] {
            let (mut left, mut slices) = (ended, 0);
            let forgotten = in_slices(|| {
                let some = left.min(FORGET_SLICE);
                left -= some;
                slices += 1;
                ready(Ok(some))
            });
            forgotten.await.unwrap();
            assert_eq!((left, slices), (0, ended / FORGET_SLICE + 1));
        }
    }
}
