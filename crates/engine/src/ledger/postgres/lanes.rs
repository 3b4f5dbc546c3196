//! The queue before the batches: two bounded lanes, the urgent one first.
//!
//! Whoever already has something at stake (confirm, extend, release, cancel) goes before whoever wants something.
//! While one batch is written, the next one fills up: the slower PostgreSQL is, the larger the batches become. A
//! worker takes its batch no sooner than it could do something with it: the batch before must have sent its COMMIT,
//! for until then both would want the copy, and whoever asks meanwhile can still come along.

use std::{collections::BTreeSet, fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use holdfast_domain::{OfferId, Refusal, decide};
use metrics::Gauge;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{
    Books,
    answers::{Given, digest},
    batch::{Patience, Settled, named, refused},
    claims::pause,
    session::Trouble,
    start::Start,
};
use crate::ledger::{
    IdempotencyKey, LedgerError, Reply, Request, closes_key_of,
    embedded::{instant_now, lanes::is_urgent},
};

/// A request and where its answer goes.
#[derive(Debug)]
pub(super) struct Job {
    request: Request,
    start: Start,
    to: oneshot::Sender<Result<Reply, LedgerError>>,
}

impl Job {
    /// Its key, where the words that were given to it before are its answer. What is reported of a payment is decided
    /// whatever its key was answered.
    fn replayable_key(&self) -> Option<&IdempotencyKey> {
        self.request.key.as_ref().filter(|_| closes_key_of(&self.request.command).is_none())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Lanes {
    urgent: Lane<mpsc::Sender<Job>>,
    ordinary: Lane<mpsc::Sender<Job>>,
}

/// The way back into the lanes. It keeps none of them open.
#[derive(Debug, Clone)]
pub(super) struct Back {
    urgent: Lane<mpsc::WeakSender<Job>>,
    ordinary: Lane<mpsc::WeakSender<Job>>,
}

/// Where the jobs arrive; one worker at a time takes a batch.
#[derive(Debug)]
pub(super) struct Waiting {
    urgent: Lane<mpsc::Receiver<Job>>,
    ordinary: Lane<mpsc::Receiver<Job>>,
}

/// One end of a lane, and how many stand in it.
#[derive(Clone)]
struct Lane<End> {
    end: End,
    waiting: Gauge,
}

impl<End> fmt::Debug for Lane<End> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").finish_non_exhaustive()
    }
}

fn lane(name: &'static str, bound: usize) -> (Lane<mpsc::Sender<Job>>, Lane<mpsc::Receiver<Job>>) {
    let (jobs, arriving) = mpsc::channel(bound);
    let waiting = metrics::gauge!("holdfast_ledger_queue", "lane" => name);
    (Lane { end: jobs, waiting: waiting.clone() }, Lane { end: arriving, waiting })
}

impl Lane<mpsc::Sender<Job>> {
    fn send(&self, job: Job) -> Result<(), LedgerError> {
        self.end.try_send(job).map_err(|full| match full {
            mpsc::error::TrySendError::Full(_) => LedgerError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => {
                LedgerError::Unavailable("the ledger is shutting down".into())
            }
        })?;
        self.waiting.increment(1.0);
        Ok(())
    }
}

impl Lane<mpsc::WeakSender<Job>> {
    fn put(&self, job: Job) {
        let put = match self.end.upgrade() {
            Some(jobs) => jobs.try_send(job).map_err(mpsc::error::TrySendError::into_inner),
            None => Err(job),
        };
        match put {
            Ok(()) => self.waiting.increment(1.0),
            Err(job) => fail(vec![job], &LedgerError::Overloaded),
        }
    }
}

impl Back {
    /// Nothing of these jobs was done: they wait as if nobody had taken them.
    fn put(&self, jobs: Vec<Job>) {
        for job in jobs {
            job.start.put_back();
            let lane = if is_urgent(&job.request.command) { &self.urgent } else { &self.ordinary };
            lane.put(job);
        }
    }
}

impl Lane<mpsc::Receiver<Job>> {
    async fn next(&mut self) -> Option<Job> {
        let job = self.end.recv().await?;
        self.waiting.decrement(1.0);
        Some(job)
    }

    fn next_now(&mut self) -> Option<Job> {
        let job = self.end.try_recv().ok()?;
        self.waiting.decrement(1.0);
        Some(job)
    }
}

impl Lanes {
    pub(super) fn new(bound: usize) -> (Self, Waiting) {
        let (urgent, urgent_jobs) = lane("urgent", bound);
        let (ordinary, ordinary_jobs) = lane("ordinary", bound);
        (Self { urgent, ordinary }, Waiting { urgent: urgent_jobs, ordinary: ordinary_jobs })
    }

    pub(super) fn back(&self) -> Back {
        let weak = |lane: &Lane<mpsc::Sender<Job>>| Lane {
            end: lane.end.downgrade(),
            waiting: lane.waiting.clone(),
        };
        Back { urgent: weak(&self.urgent), ordinary: weak(&self.ordinary) }
    }

    pub(super) async fn submit(&self, request: Request, start: Start) -> Result<Reply, LedgerError> {
        let (to, answer) = oneshot::channel();
        let lane = if is_urgent(&request.command) { &self.urgent } else { &self.ordinary };
        lane.send(Job { request, start, to })?;
        let lost = || LedgerError::OutcomeUnknown("the ledger stopped while this was under way".into());
        answer.await.unwrap_or_else(|_| Err(lost()))
    }
}

/// The right to take the next batch, passed on by dropping it.
pub(super) type Turn = Option<OwnedSemaphorePermit>;

/// How long a worker waits for its turn. A batch that takes longer waits for somebody else's lock on its offers, which
/// may not concern the next one.
const TURN_PATIENCE: Duration = Duration::from_millis(25);

impl Waiting {
    /// The next batch: at least one job, at most `max`. `None` once both lanes are closed and empty.
    async fn next(&mut self, max: usize, turns: &Arc<Semaphore>) -> Option<(Vec<Job>, Turn)> {
        let first = tokio::select! {
            biased;
            Some(job) = self.urgent.next() => job,
            Some(job) = self.ordinary.next() => job,
            else => return None,
        };
        let turn = tokio::time::timeout(TURN_PATIENCE, Arc::clone(turns).acquire_owned()).await;
        let mut jobs = vec![first];
        while jobs.len() < max {
            match self.urgent.next_now().or_else(|| self.ordinary.next_now()) {
                Some(job) => jobs.push(job),
                None => break,
            }
        }
        Some((jobs, turn.ok().and_then(Result::ok)))
    }
}

/// Takes batches and settles them, until the lanes are closed and empty.
pub(super) async fn work(books: Arc<Books>, waiting: Arc<Mutex<Waiting>>, back: Back, turns: Arc<Semaphore>) {
    let max_batch = books.limits.max_batch;
    loop {
        let batch = waiting.lock().await.next(max_batch, &turns).await;
        let Some((jobs, turn)) = batch else { return };
        // A command that panics takes its batch with it, whose askers hear that the outcome is unknown; the copy it
        // may have changed is thrown away. Nobody else notices.
        if AssertUnwindSafe(serve(&books, jobs, &back, turn)).catch_unwind().await.is_err() {
            tracing::error!("a batch panicked, and was given up");
        }
    }
}

async fn serve(books: &Books, jobs: Vec<Job>, back: &Back, turn: Turn) {
    let mut jobs = second_look(books, wanted(jobs)).await;
    // From here on they are carried out, but for those who were told meanwhile that nothing happened.
    jobs.retain(|job| job.start.begin());
    carry_out(books, jobs, back, turn).await;
}

/// Tries until all are answered. An offer that somebody else keeps is waited for once; then the others are settled without
/// it, and whoever needs it goes back to the end of the lane: those behind may need other offers.
async fn carry_out(books: &Books, mut jobs: Vec<Job>, back: &Back, mut turn: Turn) {
    let (mut attempts, mut also, mut patience) = (0, BTreeSet::new(), Patience::Wait);
    while !jobs.is_empty() {
        attempts += 1;
        match attempt(books, &jobs, &also, patience, &mut turn).await {
            Ok(settled) => {
                jobs = answer(jobs, settled, &mut also);
                if patience == Patience::Skip {
                    return back.put(jobs);
                }
            }
            Err(Trouble::Busy(why)) if patience == Patience::Wait => {
                metrics::counter!("holdfast_ledger_retries_total").increment(1);
                tracing::warn!(%why, "an offer is kept by somebody else; the others are settled without it");
                (jobs, patience) = (wanted(jobs), Patience::Skip);
            }
            Err(Trouble::Lost(why)) if attempts < books.limits.attempts => {
                metrics::counter!("holdfast_ledger_retries_total").increment(1);
                tracing::debug!(%why, attempts, "a batch lost a race and is decided again");
                pause(attempts).await;
                jobs = wanted(jobs);
            }
            Err(trouble) => {
                books.condition.met(&trouble);
                return fail(jobs, &trouble.into());
            }
        }
        if attempts >= 2 * books.limits.attempts {
            return fail(jobs, &LedgerError::Overloaded);
        }
    }
}

/// Those that somebody still waits for. Ask before anything of them can take effect, or after all of it was rolled back:
/// who is late hears that nothing happened, and whoever left wants nothing done.
fn wanted(jobs: Vec<Job>) -> Vec<Job> {
    let now = instant_now();
    let (mut jobs, late): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.request.deadline > now);
    fail(late, &LedgerError::Overloaded);
    jobs.retain(|job| !job.to.is_closed());
    jobs
}

fn fail(jobs: Vec<Job>, error: &LedgerError) {
    jobs.into_iter().for_each(|job| drop(job.to.send(Err(error.clone()))));
}

/// Answers what the copy refuses, once the copy is known to be level, without anybody's locks. The rest goes on.
async fn second_look(books: &Books, jobs: Vec<Job>) -> Vec<Job> {
    let (mut willing, doubtful) = match first_look(books, jobs).await {
        Ok(sorted) => sorted,
        Err((jobs, trouble)) => {
            fail(jobs, &trouble.into());
            return Vec::new();
        }
    };
    if !doubtful.is_empty() {
        match look_again(books, doubtful).await {
            Ok(after_all) => willing.extend(after_all),
            Err((doubtful, trouble)) => fail(doubtful, &trouble.into()),
        }
    }
    willing
}

/// Jobs that could not be looked at, and why.
type LookFailed = (Vec<Job>, Trouble);

/// Sorts by what the copy thinks of them as it is. While the batch before still has the copy, whoever names its offers
/// joins the next batch unseen: that one locks those offers and looks whether the copy is level with them. Whoever names
/// a hold or a booking waits: a copy that has not heard of it cannot say which offers to look at.
async fn first_look(books: &Books, jobs: Vec<Job>) -> Result<(Vec<Job>, Vec<Job>), LookFailed> {
    let all_named = || jobs.iter().all(|job| named(&job.request.command).is_some());
    if books.copy.try_read().is_err() && all_named() {
        return Ok((jobs, Vec::new()));
    }
    let copy = match books.loaded().await {
        Ok(copy) => copy,
        Err(trouble) => return Err((jobs, trouble)),
    };
    let now = copy.about_now(&books.time);
    let likely = |job: &Job| decide(&copy.state, &job.request.command, &job.request.actor, now).is_ok();
    Ok(jobs.into_iter().partition(likely))
}

/// Answers those that a level copy refuses, and returns the others.
async fn look_again(books: &Books, jobs: Vec<Job>) -> Result<Vec<Job>, LookFailed> {
    let judged = match judge(books, &jobs).await {
        Ok(judged) => judged,
        Err(trouble) => return Err((jobs, trouble)),
    };
    let (mut willing, mut unwilling) = (Vec::new(), Vec::new());
    for (job, refusal) in jobs.into_iter().zip(judged) {
        match refusal {
            None => willing.push(job),
            Some(refusal) => unwilling.push((job, refusal)),
        }
    }
    let given = match answers_of(books, &unwilling).await {
        Ok(given) => given,
        Err(trouble) => {
            willing.extend(unwilling.into_iter().map(|(job, _)| job));
            return Err((willing, trouble));
        }
    };
    for (job, refusal) in unwilling {
        let told = job.replayable_key().and_then(|key| given.reply(&digest(key), key));
        drop(job.to.send(Ok(told.unwrap_or_else(|| refused(refusal)))));
    }
    Ok(willing)
}

/// What a level copy has against each of them.
async fn judge(books: &Books, jobs: &[Job]) -> Result<Vec<Option<Refusal>>, Trouble> {
    books.feed.level().await?;
    let copy = books.loaded().await?;
    let now = copy.about_now(&books.time);
    let against = |job: &Job| decide(&copy.state, &job.request.command, &job.request.actor, now).err();
    Ok(jobs.iter().map(against).collect())
}

/// The words that were given to their keys. Looked up after they were judged, so that whoever is refused because of an
/// effect of their own key has its answer found.
async fn answers_of(books: &Books, jobs: &[(Job, Refusal)]) -> Result<Given, Trouble> {
    let keys: Vec<_> = jobs.iter().filter_map(|(job, _)| job.replayable_key().map(digest)).collect();
    match keys.is_empty() {
        true => Ok(Given::default()),
        false => Given::find(&books.sessions.settling().await?, &keys).await,
    }
}

async fn attempt(
    books: &Books,
    jobs: &[Job],
    also: &BTreeSet<OfferId>,
    patience: Patience,
    turn: &mut Turn,
) -> Result<Vec<Settled>, Trouble> {
    let requests: Vec<&Request> = jobs.iter().map(|job| &job.request).collect();
    books.settle(&requests, also.clone(), patience, turn).await
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
