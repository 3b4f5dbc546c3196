//! One batch: commands decided one after another in memory, then one commit for all of them.
//!
//! ```text
//! decide ─► yes: apply, draft the entries ──────────────┐
//!        ─► no, leaning on a yes of this batch ─────────┤─► one row, COMMIT ─► answer
//!        ─► no otherwise: answered at once, no disk     ┘
//! ```
//! A "no" that leans on something not yet durable must wait: if the commit failed, that "no" would have been
//! given because of something that never happened.

use holdfast_domain::{Actor, BookingId, Command, Decision, Moment, Refusal, Version, absorb, decide};
use tokio::sync::oneshot;

use super::{
    answers::{self, Found, Fresh},
    error::StoreError,
    journal::Draft,
    lanes::Job,
    live::Live,
};
use crate::{
    clock::Clock,
    ledger::{
        Change, IdempotencyKey, LedgerError, Outcome, Render, Reply, Request, changes::Touched,
        closes_key_of, views::outcome,
    },
};

type Asker = oneshot::Sender<Result<Reply, LedgerError>>;

/// An answer that waits for the commit.
#[derive(Debug)]
struct Deferred {
    to: Asker,
    reply: Reply,
    /// It speaks of an effect of this batch, so a commit of unknown fate makes it unknown too.
    effect: bool,
}

/// A decision, and whether its answer may go out before the commit.
struct Verdict {
    reply: Reply,
    effect: bool,
    waits: bool,
}

pub(super) struct Batch<'a> {
    live: &'a mut Live,
    clock: &'a dyn Clock,
    render: &'a Render,
    /// The state's version at the last commit: anything newer is not durable yet.
    durable: Version,
    draft: Draft,
    fresh: Fresh,
    /// A transaction is open. It begins with the first key to be looked up, so that all lookups share one view,
    /// and is otherwise as short as the writing.
    begun: bool,
    refusals: Refusals,
    touched: Option<Touched>,
    deferred: Vec<Deferred>,
}

/// The commit failed. Nobody was acknowledged, and memory must be thrown away.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) why: StoreError,
    /// The commit may have reached the disk all the same.
    unknown: bool,
    deferred: Vec<Deferred>,
}

/// What a committed batch did.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) entries: u64,
    pub(super) changes: Vec<Change>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        live: &'a mut Live,
        clock: &'a dyn Clock,
        render: &'a Render,
        somebody_listens: bool,
    ) -> Self {
        Self {
            clock,
            render,
            durable: live.books.state.version(),
            draft: Draft::after(live.books.head),
            fresh: Fresh::default(),
            begun: false,
            refusals: Refusals::default(),
            touched: somebody_listens.then(Touched::default),
            deferred: Vec::new(),
            live,
        }
    }

    /// Decides one command. On an error the batch is lost: call [`Batch::abandon`].
    pub(super) fn execute(&mut self, job: Job) -> Result<(), StoreError> {
        let Job { request, reply: to } = job;
        match self.verdict(request) {
            Ok(Verdict { reply, waits: false, .. }) => drop(to.send(Ok(reply))),
            Ok(Verdict { reply, effect, waits: true }) => self.deferred.push(Deferred { to, reply, effect }),
            Err(why) => {
                drop(to.send(Err(unavailable(&why))));
                return Err(why);
            }
        }
        Ok(())
    }

    fn verdict(&mut self, mut request: Request) -> Result<Verdict, StoreError> {
        let mut keyed = None;
        if let Some(key) = request.key.take() {
            let digest = answers::digest(&key.scope, &key.key);
            let found = self.answered(digest, &key)?;
            if let Some(booking) = closes_key_of(&request.command) {
                return Ok(self.close(&request, booking, digest, key, found));
            }
            match found {
                Some(Found { reply, durable }) => {
                    return Ok(Verdict { reply, effect: !durable, waits: !durable });
                }
                None => keyed = Some((digest, key)),
            }
        }
        let now = self.now();
        match decide(&self.live.books.state, &request.command, &request.actor, now) {
            Err(refusal) => Ok(self.refuse(&request.command, refusal)),
            Ok(decision) => Ok(self.accept(&request, keyed, decision, now)),
        }
    }

    fn refuse(&mut self, command: &Command, refusal: Refusal) -> Verdict {
        self.refusals.count(refusal.code());
        let waits = self.leans_on_this_batch(command);
        Verdict { reply: Reply::Refused(refusal), effect: false, waits }
    }

    /// Reports something of a payment and gives its open key these words; who comes second reports all the same, and
    /// hears the first one's words.
    fn close(
        &mut self,
        request: &Request,
        booking: BookingId,
        digest: i64,
        key: IdempotencyKey,
        found: Option<Found>,
    ) -> Verdict {
        let now = self.now();
        let decision = match decide(&self.live.books.state, &request.command, &request.actor, now) {
            Err(refusal) => return self.refuse(&request.command, refusal),
            Ok(decision) => decision,
        };
        match found {
            Some(Found { reply: Reply::Open { booking: opened }, .. }) if opened == booking => {
                self.accept(request, Some((digest, key)), decision, now)
            }
            Some(Found { reply: reply @ Reply::Replayed(_), durable }) => {
                let accepted = self.accept(request, None, decision, now);
                let effect = accepted.effect || !durable;
                Verdict { reply, effect, waits: accepted.waits || effect }
            }
            _ => self.accept(request, None, decision, now),
        }
    }

    fn answered(&mut self, digest: i64, key: &IdempotencyKey) -> Result<Option<Found>, StoreError> {
        self.begin()?;
        self.live.answers.find(&self.live.connection, &self.fresh, digest, key)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if !self.begun {
            let begun = self.live.connection.execute_batch("BEGIN IMMEDIATE");
            begun.map_err(StoreError::while_("beginning to write"))?;
            self.begun = true;
        }
        Ok(())
    }

    fn accept(
        &mut self,
        request: &Request,
        keyed: Option<(i64, IdempotencyKey)>,
        decision: Decision,
        now: Moment,
    ) -> Verdict {
        let events = decision.events.len();
        self.record(decision.events, &request.actor, now);
        let outcome = outcome(&self.live.books.state, &request.command, decision.subject, events, now);
        let effect = events > 0 || keyed.is_some();
        let waits = effect || self.leans_on_this_batch(&request.command);
        if let Some((digest, key)) = keyed {
            let words = match &outcome {
                Outcome::PaymentBegun(view) => answers::open(view.booking.id),
                _ => request.render(self.render)(&outcome),
            };
            self.fresh.keep(digest, key, words, now, self.live.books.state.version().0);
        }
        Verdict { reply: Reply::Done(outcome), effect, waits }
    }

    fn record(&mut self, events: Vec<holdfast_domain::Event>, actor: &Actor, at: Moment) {
        for event in events {
            self.draft.append(at, actor, &event);
            if let Some(touched) = &mut self.touched {
                touched.note(&self.live.books.state, &event);
            }
            absorb(&mut self.live.books.state, event, at);
            self.live.books.last_at = at;
        }
    }

    /// Writes down the expiry of holds whose time has come, at most `limit`.
    pub(super) fn tidy(&mut self, limit: usize) -> usize {
        let now = self.now();
        if self.live.books.state.next_due().is_none_or(|due| due > now) {
            return 0;
        }
        let tidy = decide(&self.live.books.state, &Command::Tidy { limit }, &Actor::System, now);
        let events = tidy.map(|decision| decision.events).unwrap_or_default();
        let expired = events.len();
        self.record(events, &Actor::System, now);
        expired
    }

    fn now(&self) -> Moment {
        self.clock.now().max(self.live.books.last_at)
    }

    /// Whether the answer to `command` looked at anything that this batch has changed.
    fn leans_on_this_batch(&self, command: &Command) -> bool {
        let state = &self.live.books.state;
        let fresh = |version: Version| version > self.durable;
        let fresh_offer = |id| state.offer(id).is_some_and(|offer| fresh(offer.version()));
        match command {
            Command::CreateOffer { offer } => fresh_offer(offer.id()),
            Command::AmendOffer { offer, .. }
            | Command::Block { offer, .. }
            | Command::Unblock { offer, .. } => fresh_offer(offer),
            Command::PlaceHold { asks, .. } | Command::RecallHold { asks, .. } => {
                asks.iter().any(|ask| fresh_offer(&ask.offer))
            }
            Command::ExtendHold { hold }
            | Command::ReleaseHold { hold }
            | Command::LeaveHold { hold, .. }
            | Command::ReturnToHold { hold }
            | Command::Confirm { hold, .. }
            | Command::BeginPayment { hold, .. } => {
                state.hold(*hold, Moment::MIN).is_some_and(|hold| fresh(hold.version))
            }
            Command::Cancel { booking }
            | Command::NoteIntent { booking, .. }
            | Command::SettlePayment { booking, .. }
            | Command::NoteRefund { booking, .. }
            | Command::DeferPayment { booking, .. }
            | Command::ResolvePayment { booking, .. } => {
                state.booking(*booking).is_some_and(|booking| fresh(booking.version))
            }
            Command::Tidy { .. } => false,
        }
    }

    /// Makes the batch durable and answers everybody who waited for that.
    pub(super) fn commit(mut self) -> Result<Done, Failed> {
        self.refusals.report();
        let entries = self.draft.len();
        let row = match self.write() {
            Ok(row) => row,
            Err(why) => return Err(self.failed(why, false)),
        };
        if self.begun
            && let Err(why) = self.live.connection.execute_batch("COMMIT")
        {
            return Err(self.failed(StoreError::while_("committing")(why), true));
        }
        if let Some(row) = row {
            self.live.answers.keep(row, &self.fresh);
        }
        self.live.books.head = self.draft.head();
        for Deferred { to, reply, .. } in self.deferred {
            drop(to.send(Ok(reply)));
        }
        let changes = self.touched.map(|touched| touched.changes(&self.live.books.state)).unwrap_or_default();
        Ok(Done { entries, changes })
    }

    /// Everything but the commit; returns the row of the answers, if there are any.
    fn write(&mut self) -> Result<Option<i64>, StoreError> {
        let doing = StoreError::while_("writing the journal");
        if self.draft.len() > 0 {
            self.begin()?;
            self.draft.write(&self.live.connection).map_err(doing)?;
        }
        (!self.fresh.is_empty()).then(|| self.fresh.write(&self.live.connection)).transpose().map_err(doing)
    }

    /// Gives the batch up before its commit was tried.
    pub(super) fn abandon(self, why: StoreError) -> Failed {
        self.failed(why, false)
    }

    fn failed(self, why: StoreError, unknown: bool) -> Failed {
        Failed { why, unknown, deferred: self.deferred }
    }
}

/// How often each refusal was given in a batch: counted here, reported once.
#[derive(Debug, Default)]
struct Refusals(Vec<(&'static str, u64)>);

impl Refusals {
    fn count(&mut self, code: &'static str) {
        match self.0.iter_mut().find(|(known, _)| *known == code) {
            Some((_, times)) => *times += 1,
            None => self.0.push((code, 1)),
        }
    }

    fn report(&self) {
        for &(code, times) in &self.0 {
            metrics::counter!("holdfast_refusals_total", "code" => code).increment(times);
        }
    }
}

impl Failed {
    /// Tells everybody who waited, and hands on the reason.
    pub(super) fn answer_all(self) -> StoreError {
        for Deferred { to, effect, .. } in self.deferred {
            let error = if self.unknown && effect { unknown(&self.why) } else { unavailable(&self.why) };
            drop(to.send(Err(error)));
        }
        self.why
    }
}

pub(super) fn unavailable(why: &StoreError) -> LedgerError {
    LedgerError::Unavailable(why.to_string().into())
}

fn unknown(why: &StoreError) -> LedgerError {
    LedgerError::OutcomeUnknown(why.to_string().into())
}
