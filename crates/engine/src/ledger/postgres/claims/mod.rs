//! Claiming unit by unit: the ways that the world knows, one file each.
//!
//! ```text
//! decide on the copy ─► BEGIN, share the offers, lock holders and holds ─► Claim::before
//!   ─► versions, clock, key's answer ─► follow the journal if behind ─► decide again, exactly
//!   ─► Claim::take ─► number the entries in the offers' rows ─► write, COMMIT ─► answer
//! ```
//! A [`Claim`] says how the units themselves are come by; everything else is the same for all. Whoever loses (the
//! guard did not hold, somebody else committed first) rolls back and begins again with a level copy, a bounded
//! number of times.
//!
//! What concerns a whole offer (making, amending, blocking, sweeping) goes through [`batch`](super::batch), which
//! takes the offer for itself; here it is shared, so the two never interleave.

mod atomic;
mod cas;
mod pessimistic;
mod queue;
mod unique;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use holdfast_domain::{
    Command, HoldId, HolderId, Moment, Offer, OfferId, Refusal, State, Subject, Version, decide,
};
use tokio_postgres::types::Type;

use super::{
    Books,
    answers::{Given, Kept, Words, digest},
    batch::{key_of, know_the_look, lock_key, refused, versions_then_answers},
    chains::Chain,
    effects::{Effects, UnitKey},
    replica::Replica,
    rows,
    session::{Session, Sql, Trouble},
    start::Start,
    write::{self, Done},
};
use crate::{
    ledger::{
        BookingView, HoldView, LedgerError, Outcome, Reply, Request,
        changes::Touched,
        embedded::{instant_now, lanes::is_urgent},
        views::{of_booking, offers_of, outcome},
    },
    mint,
    strategy::Claiming,
};

pub(super) use queue::Queues;

/// How the units of a hold are come by.
#[async_trait]
pub(super) trait Claim: Send + Sync + fmt::Debug {
    /// Before the decision: locks or reads the rows of the units that it will be about.
    async fn before(&self, session: &Session, units: &BTreeSet<UnitKey>) -> Result<Seen, Trouble>;

    /// After the decision: takes them, or finds that somebody else was quicker.
    async fn take(&self, session: &Session, effects: &Effects, seen: &Seen) -> Result<Done, Trouble>;
}

/// The fences of the units as they were before the decision.
#[derive(Debug, Default)]
pub(super) struct Seen(pub(super) BTreeMap<UnitKey, i64>);

pub(super) fn by(claiming: Claiming) -> Option<Arc<dyn Claim>> {
    match claiming {
        Claiming::Batched => None,
        Claiming::Pessimistic => Some(Arc::new(pessimistic::Pessimistic)),
        Claiming::Atomic | Claiming::Queue => Some(Arc::new(atomic::Atomic)),
        Claiming::Cas => Some(Arc::new(cas::Cas)),
        Claiming::Unique => Some(Arc::new(unique::Unique)),
    }
}

/// Whether a command is claimed unit by unit.
pub(super) const fn is_by_unit(command: &Command) -> bool {
    match command {
        Command::PlaceHold { .. }
        | Command::RecallHold { .. }
        | Command::ExtendHold { .. }
        | Command::ReleaseHold { .. }
        | Command::LeaveHold { .. }
        | Command::ReturnToHold { .. }
        | Command::Confirm { .. }
        | Command::Cancel { .. } => true,
        Command::CreateOffer { .. }
        | Command::AmendOffer { .. }
        | Command::Block { .. }
        | Command::Unblock { .. }
        | Command::Tidy { .. }
        // Whoever drives a payment may have to take units again that others claim one by one.
        | Command::BeginPayment { .. }
        | Command::NoteIntent { .. }
        | Command::SettlePayment { .. }
        | Command::NoteRefund { .. }
        | Command::DeferPayment { .. }
        | Command::ResolvePayment { .. } => false,
    }
}

const LOCK_HOLDS: Sql = Sql {
    text: "SELECT h.id FROM holdfast.holds h
           JOIN unnest($1::text[], $2::text[]) AS t(offer_id, id) ON h.offer_id = t.offer_id AND h.id = t.id
           ORDER BY h.offer_id, h.id FOR UPDATE OF h",
    types: &[Type::TEXT_ARRAY, Type::TEXT_ARRAY],
};
/// Not `FOR UPDATE`: whoever made a row for a calendar's cell has a share in the offer's key already, and two who both
/// have would wait for each other.
const NUMBER: Sql = Sql {
    text: "SELECT id, version FROM holdfast.offers WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
    types: &[Type::TEXT_ARRAY],
};

/// Carries out one request, however often that takes within bounds.
pub(super) async fn execute(
    books: &Books,
    claim: &dyn Claim,
    request: &Request,
    start: &Start,
) -> Result<Reply, LedgerError> {
    // Only a new hold competes for units; whatever concerns an existing one has its rows to itself.
    let claim = match request.command {
        Command::PlaceHold { .. } => claim,
        _ => &pessimistic::Pessimistic,
    };
    for attempt in 0..books.limits.attempts {
        if request.deadline <= instant_now() {
            return Err(LedgerError::Overloaded);
        }
        match attempt_once(books, claim, request, start).await {
            Ok(Some(reply)) => return Ok(reply),
            Ok(None) => {}
            Err(Trouble::Lost(why)) => {
                metrics::counter!("holdfast_ledger_retries_total").increment(1);
                tracing::trace!(%why, attempt, "lost a race and tries again");
                pause(attempt).await;
            }
            Err(trouble) => {
                books.condition.met(&trouble);
                return Err(trouble.into());
            }
        }
        books.feed.level().await?;
    }
    Err(LedgerError::Overloaded)
}

/// A little longer every time, and never the same for two who lost to each other.
pub(super) async fn pause(attempt: u32) {
    let most = Duration::from_millis(2 << attempt.min(5));
    tokio::time::sleep(mint::wait_between(Duration::ZERO, most)).await;
}

/// What a decision would touch, as far as the copy knows.
#[derive(Debug)]
struct Plan {
    offers: BTreeSet<OfferId>,
    holders: BTreeSet<(OfferId, HolderId)>,
    holds: BTreeSet<(OfferId, HoldId)>,
    units: BTreeSet<UnitKey>,
    effects: Effects,
}

impl Plan {
    /// The plan, or `None` where the copy refuses.
    fn of(state: &State, request: &Request, now: Moment) -> Option<Self> {
        let decision = decide(state, &request.command, &request.actor, now).ok()?;
        let effects = Effects::of(state, &decision.events, &request.actor, now);
        let mut offers = super::batch::concerned(state, &request.command, now);
        offers.extend(effects.offers.keys().cloned());
        Some(Self {
            holders: holders(&request.command),
            offers,
            holds: effects.older_holds(),
            units: effects.units.keys().cloned().collect(),
            effects,
        })
    }

    /// Whether everything that these effects touch has been locked by this plan.
    fn covers(&self, effects: &Effects) -> bool {
        effects.offers.keys().all(|offer| self.offers.contains(offer))
            && effects.units.keys().all(|unit| self.units.contains(unit))
            && effects.older_holds().is_subset(&self.holds)
    }
}

/// The holder, in each offer that it wants something of. What it has there is decided upon by one at a time: the sum that a
/// limit is about, and whether it has exactly this already. Of stock there is enough for both of two who are one, so the
/// units alone would not tell.
fn holders(command: &Command) -> BTreeSet<(OfferId, HolderId)> {
    let Command::PlaceHold { holder, asks, .. } = command else { return BTreeSet::new() };
    asks.iter().map(|ask| (ask.offer.clone(), holder.clone())).collect()
}

/// One attempt; `None` when the plan did not cover what the last look decided.
async fn attempt_once(
    books: &Books,
    claim: &dyn Claim,
    request: &Request,
    start: &Start,
) -> Result<Option<Reply>, Trouble> {
    let plan = {
        let copy = books.loaded().await?;
        Plan::of(&copy.state, request, copy.about_now(&books.time))
    };
    let Some(plan) = plan else { return refuse(books, request).await };
    books.condition.takes_writes()?;
    let mut session = session_for(books, request).await?;
    know_the_look(&session).await?;
    let began = instant_now();
    let seen = lock(&mut session, claim, &plan).await?;
    metrics::histogram!("holdfast_ledger_lock_wait_seconds").record(began.elapsed().as_secs_f64());
    let decided = match last_look(books, &session, request, &plan).await? {
        Look::Decided(decided) => *decided,
        Look::Answered(reply) => {
            session.roll_back().await;
            return Ok(Some(reply));
        }
        Look::Refused { refusal, copy_is_ahead: false } => {
            session.roll_back().await;
            return Ok(Some(refused(refusal)));
        }
        Look::Refused { refusal, copy_is_ahead: true } => {
            // Others wait for what is locked, and for this nobody need keep it.
            session.give_up().await?;
            return answered_or(&session, request, refusal).await.map(Some);
        }
        Look::NotCovered => {
            session.roll_back().await;
            return Ok(None);
        }
    };
    commit(books, session, claim, (request, start), &seen, decided).await.map(Some)
}

async fn session_for(books: &Books, request: &Request) -> Result<Session, Trouble> {
    match is_urgent(&request.command) {
        true => books.sessions.urgent().await,
        false => books.sessions.ordinary().await,
    }
}

/// A no from a copy that is known to be level, or the words that the key was given before.
async fn refuse(books: &Books, request: &Request) -> Result<Option<Reply>, Trouble> {
    books.feed.level().await?;
    let refusal = {
        let copy = books.loaded().await?;
        decide(&copy.state, &request.command, &request.actor, copy.about_now(&books.time)).err()
    };
    let Some(refusal) = refusal else { return Ok(None) };
    // Most who lose have no key, and would queue for a connection that they have no use for.
    if request.key.is_none() {
        return Ok(Some(refused(refusal)));
    }
    let session = session_for(books, request).await?;
    answered_or(&session, request, refusal).await.map(Some)
}

/// A no, unless the key was answered before. Looked up after the decision: what the copy shows was committed together with
/// the words for its key, so whoever is refused because of their own request hears what that was told.
async fn answered_or(session: &Session, request: &Request, refusal: Refusal) -> Result<Reply, Trouble> {
    let Some(key) = &request.key else { return Ok(refused(refusal)) };
    let digest = digest(key);
    let given = Given::find(session, &[digest]).await?;
    Ok(given.reply(&digest, key).unwrap_or_else(|| refused(refusal)))
}

/// Everything that is locked before the decision, in the order that all keep.
async fn lock(session: &mut Session, claim: &dyn Claim, plan: &Plan) -> Result<Seen, Trouble> {
    let offers: BTreeSet<i64> = plan.offers.iter().map(lock_key).collect();
    let holders: BTreeSet<i64> =
        plan.holders.iter().map(|(offer, holder)| key_of(&[offer.as_str(), holder.as_str()])).collect();
    let shared = offers.iter().map(|key| format!("SELECT pg_advisory_xact_lock_shared({key})"));
    let alone = holders.iter().map(|key| format!("SELECT pg_advisory_xact_lock({key})"));
    session.begin_with(&shared.chain(alone).collect::<Vec<_>>().join("; ")).await?;
    if !plan.holds.is_empty() {
        let offers: Vec<_> = plan.holds.iter().map(|(offer, _)| offer.as_str()).collect();
        let ids: Vec<_> = plan.holds.iter().map(|(_, hold)| hold.to_string()).collect();
        session.rows(&LOCK_HOLDS, &[&offers, &ids]).await?;
    }
    write::cells(session, &plan.effects).await?;
    claim.before(session, &plan.units).await
}

/// What the last look came to.
enum Look {
    Answered(Reply),
    Refused {
        refusal: Refusal,
        /// The copy has followed entries that were committed after the key was looked up, its own perhaps among them.
        copy_is_ahead: bool,
    },
    NotCovered,
    Decided(Box<Decided>),
}

/// A yes that has yet to be taken.
struct Decided {
    effects: Effects,
    subject: Subject,
    /// What the answer says of something that did not change.
    unchanged: Option<Outcome>,
    /// The offers that give the answer's lines their names.
    offers: Vec<Arc<Offer>>,
    now: Moment,
}

/// Decides with the locks held, on a copy that has followed everything committed before them.
async fn last_look(
    books: &Books,
    session: &Session,
    request: &Request,
    plan: &Plan,
) -> Result<Look, Trouble> {
    let key = request.key.as_ref().map(|key| (digest(key), key));
    let wanted: Vec<_> = key.iter().map(|(digest, _)| *digest).collect();
    let (versions, clock, given) = versions_then_answers(session, &plan.offers, &wanted).await?;
    if let Some(reply) = key.and_then(|(digest, key)| given.reply(&digest, key)) {
        return Ok(Look::Answered(reply));
    }
    let is_level =
        |copy: &Replica| versions.iter().all(|(offer, version)| copy.version_of(offer) >= *version);
    if !is_level(&*books.loaded().await?) {
        let horizon = books.loaded().await?.horizon().clone();
        let unseen = Replica::unseen(session, &horizon, &books.chains).await?;
        books.follow(&unseen).await?;
    }
    let copy = books.loaded().await?;
    let now = copy.exactly(&books.time, clock);
    let state = &copy.state;
    let decision = match decide(state, &request.command, &request.actor, now) {
        Ok(decision) => decision,
        Err(refusal) => {
            return Ok(Look::Refused { refusal, copy_is_ahead: !copy.is_level_with(&versions) });
        }
    };
    let effects = Effects::of(state, &decision.events, &request.actor, now);
    if !plan.covers(&effects) {
        return Ok(Look::NotCovered);
    }
    let subject = decision.subject;
    let unchanged = effects.is_empty().then(|| outcome(state, &request.command, subject.clone(), 0, now));
    if let (Some(same), None) = (&unchanged, &request.key) {
        return Ok(Look::Answered(Reply::Done(same.clone())));
    }
    let lines = match &subject {
        Subject::Hold(id) => effects.holds.get(id).map(|hold| &hold.lines),
        Subject::Booking(id) => effects.bookings.get(id).map(|booking| &booking.lines),
        Subject::Offer(_) | Subject::Nothing => None,
    };
    let offers = lines.map(|lines| offers_of(state, lines)).unwrap_or_default();
    Ok(Look::Decided(Box::new(Decided { effects, subject, unchanged, offers, now })))
}

async fn commit(
    books: &Books,
    mut session: Session,
    claim: &dyn Claim,
    (request, start): (&Request, &Start),
    seen: &Seen,
    decided: Decided,
) -> Result<Reply, Trouble> {
    let Decided { mut effects, subject, unchanged, offers, now } = decided;
    let done = claim.take(&session, &effects, seen).await?;
    number(&session, &mut effects).await?;
    let outcome = unchanged.unwrap_or_else(|| told(&effects, &request.command, &subject, offers, now));
    let keep = |key: &crate::ledger::IdempotencyKey| Kept {
        key: digest(key),
        fingerprint: key.fingerprint,
        words: Words::Answer(request.render(&books.render)(&outcome)),
    };
    let kept: Vec<Kept> = request.key.iter().map(keep).collect();
    let chain = write::rows(&session, &effects, &kept, books.chains.take(), now, done).await?;
    // Up to here, whoever leaves takes the connection along and with it all that was written.
    if !start.begin() {
        return Err(Trouble::lost("nobody waits for it any more"));
    }
    write::commit(&mut session).await?;
    drop(session);
    if let Err(trouble) = books.applied(&effects, chain).await {
        // It is committed, whatever becomes of the copy: the next who needs the copy loads it anew.
        tracing::warn!(%trouble, "the copy of the books could not follow its own entry");
    }
    books.chains.put_back(chain);
    Ok(Reply::Done(outcome))
}

/// Takes the offers' rows, last of all, and with them the numbers of the entries.
async fn number(session: &Session, effects: &mut Effects) -> Result<(), Trouble> {
    let names: Vec<String> = effects.offers.keys().map(ToString::to_string).collect();
    if names.is_empty() {
        return Ok(());
    }
    let found = session.rows(&NUMBER, &[&names]).await?;
    let at: BTreeMap<&str, Version> = found.iter().map(|row| (row.get(0), rows::version(row, 1))).collect();
    let versions =
        effects.offers.keys().map(|id| (id.clone(), at.get(id.as_str()).copied().unwrap_or_default()));
    let versions = versions.collect();
    effects.renumber(versions);
    Ok(())
}

/// What came of it, told from the effects: the copy has not followed them yet.
fn told(
    effects: &Effects,
    command: &Command,
    subject: &Subject,
    offers: Vec<Arc<Offer>>,
    at: Moment,
) -> Outcome {
    match subject {
        Subject::Booking(id) => {
            let view = BookingView { booking: effects.bookings[id].clone(), offers, at };
            of_booking(command, view, effects.entries.len())
        }
        Subject::Hold(id) => {
            let hold = HoldView { hold: effects.holds[id].clone(), offers, at };
            match command {
                Command::ExtendHold { .. } => Outcome::Extended(hold),
                Command::ReleaseHold { .. } => Outcome::Released(hold),
                Command::LeaveHold { .. } => Outcome::Left(hold),
                Command::ReturnToHold { .. } => Outcome::Returned(hold),
                _ => Outcome::Held { hold, again: false },
            }
        }
        Subject::Offer(_) | Subject::Nothing => unreachable!("offers are changed by batches"),
    }
}

impl Books {
    /// Applies entries of our own that just committed, if it is their turn; otherwise the journal brings them.
    async fn applied(&self, effects: &Effects, chain: Chain) -> Result<(), Trouble> {
        let mut copy = self.writable().await?;
        let (mut touched, mut its_turn) = (Touched::default(), true);
        copy.mark_uncommitted();
        for entry in &effects.entries {
            let mut before = entry.offers.iter().zip(&entry.before);
            if !before.all(|(offer, before)| copy.version_of(offer.as_str()) == *before) {
                its_turn = false;
                break;
            }
            copy.apply(&entry.event, entry.at, entry.version, &mut touched);
        }
        copy.mark_committed();
        if its_turn {
            self.chains.applied(chain, effects.entries.len());
        }
        let changes = touched.changes(&copy.state);
        self.announce(changes);
        Ok(())
    }
}
