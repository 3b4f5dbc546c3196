//! The queue before the batches: two bounded lanes, the urgent one first.
//!
//! Whoever already has something at stake (confirm, extend, release, cancel) goes before whoever wants something.
//! While one batch commits, the next one fills up: the slower PostgreSQL is, the larger the batches become.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use holdfast_domain::{OfferId, decide};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::{
    Books,
    answers::{Given, digest},
    batch::{Patience, Settled},
    session::Trouble,
};
use crate::ledger::{
    LedgerError, Reply, Request,
    embedded::{instant_now, lanes::is_urgent},
};

/// A request and where its answer goes.
#[derive(Debug)]
pub(super) struct Job {
    request: Request,
    to: oneshot::Sender<Result<Reply, LedgerError>>,
}

#[derive(Debug, Clone)]
pub(super) struct Lanes {
    urgent: mpsc::Sender<Job>,
    ordinary: mpsc::Sender<Job>,
}

/// Where the jobs arrive; one worker at a time takes a batch.
#[derive(Debug)]
pub(super) struct Waiting {
    urgent: mpsc::Receiver<Job>,
    ordinary: mpsc::Receiver<Job>,
}

impl Lanes {
    pub(super) fn new(bound: usize) -> (Self, Waiting) {
        let (urgent, urgent_jobs) = mpsc::channel(bound);
        let (ordinary, ordinary_jobs) = mpsc::channel(bound);
        (Self { urgent, ordinary }, Waiting { urgent: urgent_jobs, ordinary: ordinary_jobs })
    }

    pub(super) async fn submit(&self, request: Request) -> Result<Reply, LedgerError> {
        let (to, answer) = oneshot::channel();
        let lane = if is_urgent(&request.command) { &self.urgent } else { &self.ordinary };
        lane.try_send(Job { request, to }).map_err(|full| match full {
            mpsc::error::TrySendError::Full(_) => LedgerError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => {
                LedgerError::Unavailable("the ledger is shutting down".into())
            }
        })?;
        let lost = || LedgerError::OutcomeUnknown("the ledger stopped while this was under way".into());
        answer.await.unwrap_or_else(|_| Err(lost()))
    }
}

impl Waiting {
    /// The next batch: at least one job, at most `max`. `None` once both lanes are closed and empty.
    async fn next(&mut self, max: usize) -> Option<Vec<Job>> {
        let first = tokio::select! {
            biased;
            Some(job) = self.urgent.recv() => job,
            Some(job) = self.ordinary.recv() => job,
            else => return None,
        };
        let mut jobs = vec![first];
        while jobs.len() < max {
            match self.urgent.try_recv().or_else(|_| self.ordinary.try_recv()) {
                Ok(job) => jobs.push(job),
                Err(_) => break,
            }
        }
        Some(jobs)
    }
}

/// Takes batches and settles them, until the lanes are closed and empty.
pub(super) async fn work(books: Arc<Books>, waiting: Arc<Mutex<Waiting>>, max_batch: usize) {
    loop {
        let jobs = waiting.lock().await.next(max_batch).await;
        let Some(jobs) = jobs else { return };
        serve(&books, jobs).await;
    }
}

async fn serve(books: &Books, jobs: Vec<Job>) {
    let now = instant_now();
    let (jobs, late): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.request.deadline > now);
    late.into_iter().for_each(|job| drop(job.to.send(Err(LedgerError::Overloaded))));
    // Whoever asked and left before work began wants nothing done.
    let mut jobs: Vec<Job> = jobs.into_iter().filter(|job| !job.to.is_closed()).collect();
    jobs = second_look(books, jobs).await;
    let (mut attempts, mut also) = (0, BTreeSet::new());
    while !jobs.is_empty() {
        attempts += 1;
        match attempt(books, &jobs, &also).await {
            Ok(settled) => jobs = answer(jobs, settled, &mut also),
            Err(Trouble::Lost(why)) if attempts < books.limits.attempts => {
                metrics::counter!("holdfast_ledger_retries_total").increment(1);
                tracing::debug!(%why, attempts, "a batch lost a race and is decided again");
                let pause = Duration::from_millis(
                    u64::from(crate::mint::random_bits() as u8 % 8) * u64::from(attempts),
                );
                tokio::time::sleep(pause).await;
            }
            Err(trouble) => {
                books.tell_health(Some(&trouble));
                let error = LedgerError::from(trouble);
                return jobs.into_iter().for_each(|job| drop(job.to.send(Err(error.clone()))));
            }
        }
        if attempts >= 2 * books.limits.attempts {
            return jobs.into_iter().for_each(|job| drop(job.to.send(Err(LedgerError::Overloaded))));
        }
    }
}

/// Answers what the copy refuses, once the copy is known to be level, without anybody's locks. The rest goes on.
async fn second_look(books: &Books, jobs: Vec<Job>) -> Vec<Job> {
    let Ok((willing, doubtful)) = first_look(books, jobs).await else { return Vec::new() };
    if doubtful.is_empty() {
        return willing;
    }
    let keys: Vec<_> = doubtful.iter().filter_map(|job| job.request.key.as_ref().map(digest)).collect();
    let given = async {
        let session = books.sessions.ordinary().await?;
        Given::find(&session, &keys).await
    };
    let looked = async { if keys.is_empty() { Ok(Given::default()) } else { given.await } };
    // The keys are looked up after the copy is level, so that an effect that is seen has its answer found.
    let given = match books.feed.level().await {
        Ok(()) => looked.await,
        Err(trouble) => Err(trouble),
    };
    let given = match given {
        Ok(given) => given,
        Err(trouble) => {
            let error = LedgerError::from(trouble);
            doubtful.into_iter().for_each(|job| drop(job.to.send(Err(error.clone()))));
            return willing;
        }
    };
    let mut jobs = willing;
    let Ok(copy) = books.loaded().await else {
        let error = LedgerError::Unavailable("the copy of the books is being loaded".into());
        doubtful.into_iter().for_each(|job| drop(job.to.send(Err(error.clone()))));
        return jobs;
    };
    let now = copy.about_now(&books.time);
    for job in doubtful {
        let Request { command, actor, key, .. } = &job.request;
        if let Some(reply) = key.as_ref().and_then(|key| given.reply(&digest(key), key)) {
            drop(job.to.send(Ok(reply)));
        } else {
            match decide(&copy.state, command, actor, now) {
                Ok(_) => jobs.push(job),
                Err(refusal) => {
                    metrics::counter!("holdfast_refusals_total", "code" => refusal.code()).increment(1);
                    drop(job.to.send(Ok(Reply::Refused(refusal))));
                }
            }
        }
    }
    jobs
}

/// Sorts by what the copy thinks of them as it is.
async fn first_look(books: &Books, jobs: Vec<Job>) -> Result<(Vec<Job>, Vec<Job>), ()> {
    match books.loaded().await {
        Ok(copy) => {
            let now = copy.about_now(&books.time);
            let likely =
                |job: &Job| decide(&copy.state, &job.request.command, &job.request.actor, now).is_ok();
            Ok(jobs.into_iter().partition(likely))
        }
        Err(trouble) => {
            let error = LedgerError::from(trouble);
            jobs.into_iter().for_each(|job| drop(job.to.send(Err(error.clone()))));
            Err(())
        }
    }
}

async fn attempt(books: &Books, jobs: &[Job], also: &BTreeSet<OfferId>) -> Result<Vec<Settled>, Trouble> {
    let requests: Vec<&Request> = jobs.iter().map(|job| &job.request).collect();
    books.settle(&requests, also.clone(), Patience::Wait).await
}

/// Answers those that are settled and returns the others, noting what they need besides.
fn answer(jobs: Vec<Job>, settled: Vec<Settled>, also: &mut BTreeSet<OfferId>) -> Vec<Job> {
    let mut again = Vec::new();
    for (job, settled) in jobs.into_iter().zip(settled) {
        match settled {
            Settled::Answered(reply) => drop(job.to.send(Ok(reply))),
            Settled::Again(offers) => {
                also.extend(offers);
                again.push(job);
            }
        }
    }
    again
}
