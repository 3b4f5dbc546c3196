//! Many requests, one transaction: the `batched` way of claiming, and the way of everything that concerns a whole
//! offer.
//!
//! ```text
//! lock the offers ─► read their versions, the clock, the keys' answers ─► follow, if the copy is behind
//!   ─► decide one after another on the copy ─► write all rows and COMMIT, in one breath ─► answer
//! ```
//! What has run out in the offers that are locked anyway is written down along with it, a little each time: in a rush the
//! sweep finds them busy.
//!
//! The copy is changed before the commit, and kept from all readers until it is through; should the commit fail,
//! the copy is thrown away and loaded anew. Nobody is answered before.

use std::collections::BTreeSet;

use futures::TryFutureExt as _;
use holdfast_domain::{
    Actor, Command, Decision, Event, Hold, Moment, OfferId, Refusal, State, Version, decide,
};
use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;

use super::{
    Books, Writable,
    answers::{Digested, FIND, Given, Kept, Words, digest},
    effects::Effects,
    lanes::Turn,
    replica::Replica,
    rows::offers_of,
    session::{Session, Sql, Trouble},
    upkeep, write,
};
use crate::ledger::{
    Outcome, Render, Reply, Request, changes::Touched, closes_key_of, embedded::instant_now, opens_key,
    views::outcome,
};

const LOOK: Sql = Sql {
    text: "SELECT holdfast.ms(clock_timestamp()), array_agg(id), array_agg(version),
                  current_setting('transaction_read_only') = 'on'
           FROM holdfast.offers WHERE id = ANY($1)",
    types: &[Type::TEXT_ARRAY],
};
const TRY_LOCK: Sql = Sql {
    text: "SELECT key FROM unnest($1::bigint[]) key WHERE pg_try_advisory_xact_lock(key)",
    types: &[Type::INT8_ARRAY],
};

/// For each that is written down along with a batch, how many that have run out are looked at: most may lie in other
/// offers.
const LOOKED_AT: usize = 16;

/// How to come by the offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Wait for whoever has them.
    Wait,
    /// Leave out those that somebody else is busy with.
    Skip,
}

/// What became of one request in a batch.
#[derive(Debug)]
pub(super) enum Settled {
    Answered(Reply),
    /// It touches offers that were not locked, such as those of an expired hold that is in its way.
    Again(BTreeSet<OfferId>),
}

/// The offers that a request names itself; `None` where only the copy can tell.
pub(super) fn named(command: &Command) -> Option<BTreeSet<OfferId>> {
    match command {
        Command::CreateOffer { offer } => Some([offer.id().clone()].into()),
        Command::AmendOffer { offer, .. } | Command::Block { offer, .. } | Command::Unblock { offer, .. } => {
            Some([offer.clone()].into())
        }
        Command::PlaceHold { asks, .. } | Command::RecallHold { asks, .. } => {
            Some(asks.iter().map(|ask| ask.offer.clone()).collect())
        }
        _ => None,
    }
}

/// The offers that a request is about, as far as the copy knows.
pub(super) fn concerned(state: &State, command: &Command, now: Moment) -> BTreeSet<OfferId> {
    let of_hold = |id| state.hold(id, Moment::MIN).map(|hold| offers_of(&hold.lines)).unwrap_or_default();
    match command {
        Command::ExtendHold { hold }
        | Command::ReleaseHold { hold }
        | Command::LeaveHold { hold, .. }
        | Command::ReturnToHold { hold }
        | Command::Confirm { hold, .. }
        | Command::BeginPayment { hold, .. } => of_hold(*hold).into_iter().collect(),
        Command::Cancel { booking }
        | Command::NoteIntent { booking, .. }
        | Command::SettlePayment { booking, .. }
        | Command::NoteRefund { booking, .. }
        | Command::DeferPayment { booking, .. }
        | Command::ResolvePayment { booking, .. } => {
            state.booking(*booking).map(|of| offers_of(&of.lines)).unwrap_or_default().into_iter().collect()
        }
        Command::Tidy { .. } => decide(state, command, &Actor::System, now)
            .map(|tidy| Effects::of(state, &tidy.events, &Actor::System, now).offers.into_keys().collect())
            .unwrap_or_default(),
        Command::CreateOffer { .. }
        | Command::AmendOffer { .. }
        | Command::Block { .. }
        | Command::Unblock { .. }
        | Command::PlaceHold { .. }
        | Command::RecallHold { .. } => named(command).unwrap_or_default(),
    }
}

/// The number under which an offer is locked.
pub(super) fn lock_key(offer: &OfferId) -> i64 {
    key_of(&[offer.as_str()])
}

/// 64 bits of a hash: two names may share a number, and then merely wait for each other.
pub(super) fn key_of(names: &[&str]) -> i64 {
    let hash = Sha256::digest(names.join("\0"));
    i64::from_be_bytes(hash[..8].try_into().expect("a hash has eight bytes"))
}

/// A no, counted.
pub(super) fn refused(refusal: Refusal) -> Reply {
    metrics::counter!("holdfast_refusals_total", "code" => refusal.code()).increment(1);
    Reply::Refused(refusal)
}

/// Decides these requests in one transaction that holds `offers`, and writes what they come to. The copy shows what was
/// decided from then on, and is kept from everybody else until that is committed.
pub(super) async fn settle(
    books: &Books,
    requests: &[&Request],
    mut offers: BTreeSet<OfferId>,
    patience: Patience,
    turn: &mut Turn,
) -> Result<Vec<Settled>, Trouble> {
    books.condition.takes_writes()?;
    let mut session = books.sessions.settling().await?;
    let began = instant_now();
    let keys: Vec<Option<Digested>> =
        requests.iter().map(|request| request.key.as_ref().map(digest)).collect();
    let wanted: Vec<Digested> = keys.iter().flatten().copied().collect();
    let (versions, clock, mut given) = lock(&mut session, &mut offers, patience, &wanted).await?;
    metrics::histogram!("holdfast_ledger_lock_wait_seconds").record(began.elapsed().as_secs_f64());
    let mut copy = books.writable().await?;
    bring_level(books, &session, &mut copy, &versions).await?;
    copy.recent_answers().for_each(|kept| given.recall(kept));
    let now = copy.hear(&books.time, clock);
    let batch = Batch {
        books,
        locked: &offers,
        now,
        given,
        effects: Effects::default(),
        kept: Vec::new(),
        touched: Touched::default(),
    };
    copy.mark_uncommitted();
    let (settled, decided) = batch.decide_all(&mut copy, requests, &keys);
    if decided.is_nothing() {
        copy.mark_committed();
        drop(copy);
        session.roll_back().await;
        return Ok(settled);
    }
    commit(books, &mut session, &mut copy, decided, turn).await?;
    metrics::histogram!("holdfast_ledger_batch_seconds").record(began.elapsed().as_secs_f64());
    Ok(settled)
}

/// Has the copy follow the journal up to these versions, which are those of the offers that are locked.
async fn bring_level(
    books: &Books,
    session: &Session,
    copy: &mut Writable<'_>,
    versions: &[(String, Version)],
) -> Result<(), Trouble> {
    if copy.is_level_with(versions) {
        return Ok(());
    }
    let unseen = Replica::unseen(session, copy.horizon(), &books.chains).await?;
    books.follow_with(copy, &unseen)?;
    books.discard_unless(copy.is_level_with(versions), copy)
}

/// Writes what was decided and commits it. From then on what the copy shows is true, and is announced.
async fn commit(
    books: &Books,
    session: &mut Session,
    copy: &mut Writable<'_>,
    decided: Decided,
    turn: &mut Turn,
) -> Result<(), Trouble> {
    let Decided { effects, kept, touched, now } = decided;
    metrics::histogram!("holdfast_ledger_batch_entries").record(effects.entries.len() as f64);
    let pass_on = || drop(turn.take());
    let chain = write::all_and_commit(session, &effects, &kept, books.chains.take(), now, pass_on).await?;
    books.chains.applied(chain, effects.entries.len());
    books.chains.put_back(chain);
    copy.mark_committed();
    copy.remember(kept, books.limits.batches);
    books.announce(touched.changes(&copy.state));
    Ok(())
}

/// The versions of the offers, PostgreSQL's clock, and the answers given before.
type Looked = (Vec<(String, Version)>, Moment, Given);

/// Read after the locks are held, in statements of their own: what a statement sees was settled when it began, and
/// the clock is read after the waiting is over. The answers are read last, so that whatever led to these versions has its
/// answer among them; for that both statements must be [known](Session::know) before.
pub(super) async fn versions_then_answers(
    session: &Session,
    offers: &BTreeSet<OfferId>,
    keys: &[Digested],
) -> Result<Looked, Trouble> {
    let names: Vec<&str> = offers.iter().map(OfferId::as_str).collect();
    let named: super::session::Args<'_> = &[&names];
    let (looked, given) = futures::try_join!(session.rows(&LOOK, named), Given::find(session, keys))?;
    let looked = looked.first().ok_or_else(|| Trouble::Down("PostgreSQL tells no time".into()))?;
    if looked.get(3) {
        // Noticed by a write, it would cost the copy on which that was decided.
        return Err(Trouble::Unwritable("PostgreSQL is read-only".into()));
    }
    let ids: Option<Vec<String>> = looked.get(1);
    let versions: Option<Vec<i64>> = looked.get(2);
    let versions = versions.into_iter().flatten().map(|version| Version(version as u64));
    let versions = ids.into_iter().flatten().zip(versions).collect();
    Ok((versions, Moment::from_ms(looked.get(0)), given))
}

/// Has both statements of the look arrive in the order in which they are sent.
pub(super) async fn know_the_look(session: &Session) -> Result<(), Trouble> {
    session.know(&[(LOOK.text, LOOK.types), (FIND.text, FIND.types)]).await
}

/// Takes these locks, one after another in the order given.
fn locking(keys: &BTreeSet<i64>) -> String {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    format!("SELECT pg_advisory_xact_lock(key) FROM unnest('{{{}}}'::bigint[]) key", keys.join(","))
}

/// Begins, takes the offers and looks.
async fn lock(
    session: &mut Session,
    offers: &mut BTreeSet<OfferId>,
    patience: Patience,
    wanted: &[Digested],
) -> Result<Looked, Trouble> {
    let keys: BTreeSet<i64> = offers.iter().map(lock_key).collect();
    know_the_look(session).await?;
    match patience {
        Patience::Wait => {
            session.begins();
            let begin = session.beginning_with(&locking(&keys));
            // In one breath: whoever is polled first is sent first, and PostgreSQL answers in order.
            let looked = versions_then_answers(session, offers, wanted);
            let locked = session.run(&begin).map_err(Trouble::while_locking);
            futures::try_join!(locked, looked).map(|((), looked)| looked)
        }
        Patience::Skip => {
            session.begin().await?;
            let keys: Vec<i64> = keys.into_iter().collect();
            let had = session.rows(&TRY_LOCK, &[&keys]).await?;
            let had: BTreeSet<i64> = had.iter().map(|row| row.get(0)).collect();
            offers.retain(|offer| had.contains(&lock_key(offer)));
            versions_then_answers(session, offers, wanted).await
        }
    }
}

/// What becomes of a request's key.
#[derive(Debug, Clone, Copy)]
enum Keeping {
    Answers,
    Opens,
    Closes,
}

impl Keeping {
    fn words(self, outcome: &Outcome, render: &Render) -> Words {
        match (self, outcome) {
            (Self::Opens, Outcome::PaymentBegun(view)) => Words::Open(view.booking.id),
            (Self::Closes, _) => Words::Closing(render(outcome)),
            _ => Words::Answer(render(outcome)),
        }
    }
}

/// What this command does to its key, for which `given` was found: nothing, where there is nothing to close.
fn keeping(command: &Command, given: Option<&Reply>) -> Option<Keeping> {
    match (closes_key_of(command), given) {
        (Some(booking), Some(Reply::Open { booking: opened })) if *opened == booking => Some(Keeping::Closes),
        (Some(_), _) => None,
        (None, _) if opens_key(command) => Some(Keeping::Opens),
        (None, _) => Some(Keeping::Answers),
    }
}

impl Settled {
    /// Who reports of a payment whose key was closed before hears those words.
    fn after(self, given: Option<Reply>) -> Self {
        match (self, given) {
            (Self::Answered(Reply::Done(_)), Some(words @ Reply::Replayed(_))) => Self::Answered(words),
            (settled, _) => settled,
        }
    }
}

/// The decisions of one transaction, while they are being made.
struct Batch<'a> {
    books: &'a Books,
    locked: &'a BTreeSet<OfferId>,
    now: Moment,
    given: Given,
    effects: Effects,
    kept: Vec<Kept>,
    touched: Touched,
}

/// What a batch came to, yet to be written.
struct Decided {
    effects: Effects,
    kept: Vec<Kept>,
    touched: Touched,
    now: Moment,
}

impl Decided {
    fn is_nothing(&self) -> bool {
        self.effects.is_empty() && self.kept.is_empty()
    }
}

impl Batch<'_> {
    /// One request after another, and then what has run out.
    fn decide_all(
        mut self,
        copy: &mut Replica,
        requests: &[&Request],
        keys: &[Option<Digested>],
    ) -> (Vec<Settled>, Decided) {
        let asked = requests.iter().zip(keys);
        let settled = asked.map(|(request, key)| self.decide(copy, request, key.as_ref())).collect();
        let slice = self.books.limits.tidy_slice;
        // Those who wait are not kept for long.
        self.sweep_along(copy, if requests.is_empty() { slice } else { slice.div_ceil(8) });
        let Self { effects, kept, touched, now, .. } = self;
        (settled, Decided { effects, kept, touched, now })
    }

    fn decide(&mut self, copy: &mut Replica, request: &Request, key: Option<&Digested>) -> Settled {
        let given = key.zip(request.key.as_ref()).and_then(|(digest, key)| self.given.reply(digest, key));
        let closes = closes_key_of(&request.command);
        if let (Some(reply), None) = (&given, closes) {
            return Settled::Answered(reply.clone());
        }
        let missing = self.not_locked(concerned(&copy.state, &request.command, self.now));
        if !missing.is_empty() && !matches!(request.command, Command::Tidy { .. }) {
            return Settled::Again(missing);
        }
        match decide(&copy.state, &request.command, &request.actor, self.now) {
            Err(refusal) => Settled::Answered(refused(refusal)),
            Ok(decision) => self
                .accept(copy, request, key.zip(keeping(&request.command, given.as_ref())), decision)
                .after(given.filter(|_| closes.is_some())),
        }
    }

    fn not_locked(&self, offers: BTreeSet<OfferId>) -> BTreeSet<OfferId> {
        offers.into_iter().filter(|offer| !self.locked.contains(offer)).collect()
    }

    fn accept(
        &mut self,
        copy: &mut Replica,
        request: &Request,
        keeping: Option<(&Digested, Keeping)>,
        mut decision: Decision,
    ) -> Settled {
        let touched = |event: &Event| self.effects.offers_touched(&copy.state, event).into_iter().collect();
        let missing = |event: &Event| self.not_locked(touched(event));
        if let Command::Tidy { .. } = request.command {
            decision.events.retain(|event| missing(event).is_empty());
        }
        let missing: BTreeSet<OfferId> = decision.events.iter().flat_map(missing).collect();
        if !missing.is_empty() {
            return Settled::Again(missing);
        }
        self.apply(copy, &decision.events, &request.actor);
        let events = decision.events.len();
        let outcome = outcome(&copy.state, &request.command, decision.subject, events, self.now);
        if let (Some((digest, keeping)), Some(key)) = (keeping, &request.key) {
            let words = keeping.words(&outcome, request.render(&self.books.render));
            let kept = Kept { key: *digest, fingerprint: key.fingerprint, words };
            self.given.add(kept.clone());
            self.kept.push(kept);
        }
        Settled::Answered(Reply::Done(outcome))
    }

    fn apply(&mut self, copy: &mut Replica, events: &[Event], actor: &Actor) {
        for event in events {
            let version = self.effects.add(&copy.state, event, actor, self.now);
            copy.apply(event, self.now, version, &mut self.touched);
        }
    }

    /// Writes down what has run out in these offers, the requests having had their turn.
    fn sweep_along(&mut self, copy: &mut Replica, limit: usize) {
        if self.books.limits.tidy_every.is_none() {
            return;
        }
        let is_locked = |hold: &&Hold| hold.lines.iter().all(|line| self.locked.contains(&line.offer));
        let overdue = upkeep::overdue(&copy.state, self.now).take(LOOKED_AT * limit).filter(is_locked);
        let ended: Vec<_> = overdue.take(limit).map(|hold| Event::HoldExpired { hold: hold.id }).collect();
        self.apply(copy, &ended, &Actor::System);
    }
}
