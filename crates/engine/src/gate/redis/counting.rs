//! The gates that count: `lua`, `decr` and `bitmap`. They share the slate and this walk; each has its own judge.
//!
//! ```text
//! ask ─► wish ─► judge, one trip an offer ─┬─ pass: noted on the slate, so that others wait a moment
//!                                          ├─ wait: others are on their way with it; asked again, then passed
//!                                          ├─ full ─► key answered before? ─► refusal, or now and then a check
//!                                          └─ anything else: aside, the ledger is asked
//! settle ─► what was committed is chalked up, what has ended is wiped out
//! ```
//! A no leans on committed claims only. Whatever goes wrong on the way in is a pass; whatever goes wrong on the way out
//! either costs only speed (a claim not chalked up) or ends the epoch (an end not wiped out).

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::future::join_all;
use holdfast_domain::{
    Booking, BookingId, BookingState, Command, Hold, HoldId, HoldState, Kind, Line, OfferId, Refusal,
};
use metrics::Counter;
use parking_lot::Mutex;
use redis::Script;
use tokio::time::Instant;

use super::{
    Parts,
    epoch::Epochs,
    rebuild::{Rebuilds, Why},
    server::{Aside, Server},
    settings::Settings,
    slate::Slate,
    trips::{Answer, Route, Trips},
};
use crate::{
    gate::{
        Claim, Gate, GateBooks, MustHear, Note, Pass, Verdict, in_time,
        wish::{Part, Wish, Wishes},
        wording::Wording,
    },
    ledger::{BookingView, HoldView, Ledger, LedgerError, Outcome, Reply, Request},
    mint,
};

/// Who judges, and what.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) script: &'static str,
    /// Whether it looks at offers of this kind at all.
    pub(super) covers: fn(Kind) -> bool,
    pub(super) with_bits: bool,
}

#[derive(Debug)]
pub(super) struct Counting {
    covers: fn(Kind) -> bool,
    with_bits: bool,
    trips: Arc<Trips>,
    server: Arc<Server>,
    epochs: Arc<Epochs>,
    rebuilds: Arc<Rebuilds>,
    ledger: Arc<dyn Ledger>,
    books: Arc<dyn GateBooks>,
    wishes: Wishes,
    wording: Wording,
    settings: Settings,
    refusals: AtomicU64,
    checked_at: Mutex<Option<Instant>>,
    /// Found once: looking it up by its name costs as much as wording the refusal.
    refused: OnceLock<Counter>,
}

/// What this request has on slates.
#[derive(Debug)]
pub(crate) struct Passing {
    hold: HoldId,
    offers: Vec<OfferId>,
    /// It would have been refused, and is asked to see whether that was right.
    doubted: bool,
}

/// What a request may end or change, so that a slate would go on refusing what is free.
#[derive(Debug)]
pub(crate) enum Ending {
    Hold(HoldId),
    Booking(BookingId),
    Offer(OfferId),
}

enum Judged {
    Pass,
    /// Not a matter for this gate, or not one it can judge alone.
    Unjudged,
    Waited,
    Aside(Aside),
    Refuse(Refusal),
}

impl Counting {
    pub(super) fn open(judge: &Judge, server: Arc<Server>, settings: Settings, parts: Parts) -> Self {
        let Parts { ledger, books, clock } = parts;
        let epochs = Arc::new(Epochs::watch(Arc::clone(&books), Arc::clone(&server), &settings));
        let rebuilds = Rebuilds::new(
            Arc::clone(&server),
            Arc::clone(&epochs),
            Arc::clone(&books),
            settings.clone(),
            judge.with_bits,
        );
        let rebuilds = Arc::new(rebuilds);
        let trips = Trips::new(Route {
            judge: Script::new(judge.script),
            with_bits: judge.with_bits,
            server: Arc::clone(&server),
            epochs: Arc::clone(&epochs),
            rebuilds: Arc::clone(&rebuilds),
            clock: Arc::clone(&clock),
            settings: settings.clone(),
        });
        Self {
            covers: judge.covers,
            with_bits: judge.with_bits,
            trips: Arc::new(trips),
            server,
            epochs,
            rebuilds,
            books,
            wishes: Wishes::new(Arc::clone(&ledger), settings.offer_believed),
            wording: Wording::new(Arc::clone(&ledger), clock),
            ledger,
            settings,
            refusals: AtomicU64::new(0),
            checked_at: Mutex::default(),
            refused: OnceLock::new(),
        }
    }

    fn slate<'a>(&'a self, offer: &'a OfferId) -> Slate<'a> {
        Slate { server: &self.server, offer, with_bits: self.with_bits }
    }

    /// Asks every part's judge, again while others are on their way with what is wanted.
    async fn judge(&self, wish: &Wish) -> Judged {
        let mut give_up = None;
        loop {
            let answers = match self.ask_judges(wish).await {
                Ok(answers) => answers,
                Err(aside) => return Judged::Aside(aside),
            };
            if answers.iter().any(|answer| matches!(answer, Answer::Unjudged)) {
                return Judged::Unjudged;
            }
            let waits = answers.iter().any(|answer| matches!(answer, Answer::Wait));
            let noted = |answer: &Answer| matches!(answer, Answer::Pass);
            let noted: Vec<_> = wish
                .parts
                .iter()
                .zip(&answers)
                .filter(|(_, answer)| noted(answer))
                .map(|(part, _)| part)
                .collect();
            let hindrances: Vec<_> = answers.into_iter().map(Answer::hindrance).collect();
            if hindrances.iter().any(Option::is_some) {
                self.give_back(wish.hold, &noted).await;
                let refusal = self.wording.refusal(wish, &hindrances).await;
                return refusal.map_or(Judged::Unjudged, Judged::Refuse);
            }
            if !waits {
                return Judged::Pass;
            }
            // Nothing is kept while waiting, so that two who want each other's units do not wait for each other.
            self.give_back(wish.hold, &noted).await;
            let now = Instant::now();
            if now >= *give_up.get_or_insert(now + self.settings.pass_wait) {
                return Judged::Waited;
            }
            let a_moment = mint::wait_between(Duration::from_millis(2), Duration::from_millis(8));
            Box::pin(tokio::time::sleep(a_moment)).await;
        }
    }

    async fn ask_judges(&self, wish: &Wish) -> Result<Vec<Answer>, Aside> {
        if let [only] = &wish.parts[..] {
            return Ok(vec![self.ask_judge(wish, only).await?]);
        }
        let asked = wish.parts.iter().map(|part| self.ask_judge(wish, part));
        join_all(asked).await.into_iter().collect()
    }

    async fn ask_judge(&self, wish: &Wish, part: &Part) -> Result<Answer, Aside> {
        if !(self.covers)(part.offer.kind()) {
            return Ok(Answer::Unjudged);
        }
        self.trips.ask(part.id(), wish.claim(part)).await
    }

    async fn give_back(&self, hold: HoldId, noted: &[&Part]) {
        join_all(noted.iter().map(|part| self.drop_pass(part.id(), hold))).await;
    }

    /// A pass that cannot be given back runs out by itself, and refuses nobody until then.
    async fn drop_pass(&self, offer: &OfferId, hold: HoldId) {
        let _ = self.slate(offer).give_back(&[hold]).await;
    }

    /// Whether the ledger may have an answer to this request's key already, which a refusal would hide.
    async fn may_be_answered(&self, request: &Request) -> bool {
        match &request.key {
            Some(key) => {
                let answered = in_time(request.deadline, self.books.answered(key)).await;
                answered.is_none_or(|answered| answered.unwrap_or(true))
            }
            None => false,
        }
    }

    fn is_checked(&self) -> bool {
        let Settings { check_one_in, check_gap, .. } = self.settings;
        if check_one_in == 0 || !self.refusals.fetch_add(1, Ordering::Relaxed).is_multiple_of(check_one_in) {
            return false;
        }
        let mut checked_at = self.checked_at.lock();
        let due = checked_at.is_none_or(|at| at.elapsed() >= check_gap);
        if due {
            *checked_at = Some(Instant::now());
        }
        due
    }

    async fn report(&self, fact: Fact<'_>) {
        let slate = self.slate(fact.offer());
        match fact {
            // Not knowing of a claim costs a question to the ledger, no more.
            Fact::Claimed(offer, ref claim) => {
                if slate.keep(claim).await.is_err() {
                    self.rebuilds.fell_behind(offer);
                }
            }
            Fact::Shortened(_, ref claim) => self.must_arrive(slate.keep(claim).await.ok()),
            Fact::Ended(_, hold) => {
                self.must_arrive(slate.end(hold, self.settings.end_remembered).await.ok())
            }
            Fact::Changed(_) => self.must_arrive(slate.forget().await.ok()),
        }
    }

    /// What has become of a hold, by the books: it may have ended, be somebody's for another while, or be booked.
    async fn report_as_it_is(&self, hold: HoldId) {
        let hold = match self.ledger.hold(hold).await {
            Ok(Some(HoldView { hold, .. })) => hold,
            // It ended so long ago that no slate is as old.
            Ok(None) => return,
            Err(_) => return self.must_arrive(None),
        };
        let facts = match hold.state {
            HoldState::Active => held(&hold, Fact::Shortened),
            HoldState::Released { .. } | HoldState::Expired { .. } => ended(&hold.lines, hold.id),
            HoldState::Paying { .. } | HoldState::Booked { .. } => Vec::new(),
        };
        join_all(facts.into_iter().map(|fact| self.report(fact))).await;
    }

    /// The same for a booking.
    async fn report_booking_as_it_is(&self, booking: BookingId) {
        let booking = match self.ledger.booking(booking).await {
            Ok(Some(BookingView { booking, .. })) => booking,
            Ok(None) => return,
            Err(_) => return self.must_arrive(None),
        };
        let facts = match booking.state {
            BookingState::Cancelled { .. } => ended(&booking.lines, booking.hold),
            BookingState::Confirmed => booked(&booking),
            BookingState::Failed { .. } => return self.report_as_it_is(booking.hold).await,
            BookingState::Pending => Vec::new(),
        };
        join_all(facts.into_iter().map(|fact| self.report(fact))).await;
    }

    /// It was done before, perhaps on a node that died before it could say so: nobody else will.
    async fn report_again(&self, ending: Ending) {
        match ending {
            Ending::Hold(hold) => self.report_as_it_is(hold).await,
            Ending::Booking(booking) => self.report_booking_as_it_is(booking).await,
            Ending::Offer(offer) => self.report(Fact::Changed(&offer)).await,
        }
    }

    fn must_arrive(&self, reported: Option<()>) {
        if reported.is_none() {
            metrics::counter!("holdfast_gate_lost_reports_total").increment(1);
            self.epochs.lost_a_report();
        }
    }

    fn was_right(&self, passing: &Passing, said: &Result<Reply, LedgerError>) {
        if !passing.doubted {
            return;
        }
        metrics::counter!("holdfast_gate_checked_refusals_total").increment(1);
        if let Ok(Reply::Done(Outcome::Held { again: false, .. })) = said {
            metrics::counter!("holdfast_gate_false_refusals_total").increment(1);
            tracing::warn!(offers = ?passing.offers, "the gate would have refused what the ledger gave");
            passing.offers.iter().for_each(|offer| self.rebuilds.want(offer, Why::Doubted));
        }
    }

    /// Gives back what was noted for the hold that was asked for, unless the report of it did.
    async fn unnote(&self, passing: &Passing, said: &Result<Reply, LedgerError>) {
        let placed = match said {
            Ok(Reply::Done(Outcome::Held { hold, .. })) => Some(hold.hold.id),
            _ => None,
        };
        // Of one that was to be refused nothing is noted.
        if !passing.doubted && placed != Some(passing.hold) {
            join_all(passing.offers.iter().map(|offer| self.drop_pass(offer, passing.hold))).await;
        }
    }
}

#[async_trait]
impl Gate for Counting {
    async fn ask(&self, request: &Request) -> Verdict {
        if !matches!(request.command, Command::PlaceHold { .. }) {
            return Verdict::Pass(Pass(may_end(&request.command).map_or(Note::Nothing, Note::MayEnd)));
        }
        let Some(wish) = self.wishes.read(request).await else {
            return passed("unjudged", Pass::freely());
        };
        let passing = |doubted| {
            let offers = wish.parts.iter().map(|part| part.id().clone()).collect();
            Pass(Note::Passing(Passing { hold: wish.hold, offers, doubted }))
        };
        match self.judge(&wish).await {
            Judged::Pass => passed("pass", passing(false)),
            // Some of it may be noted, and a script that timed out may note it yet.
            Judged::Unjudged => passed("unjudged", passing(false)),
            Judged::Aside(aside) => {
                metrics::counter!("holdfast_gate_aside_total", "reason" => aside.reason()).increment(1);
                // Of several offers another may have been reached.
                let reached = !matches!(aside, Aside::OutOfReach | Aside::EpochUnknown);
                let touched = reached || wish.parts.len() > 1;
                passed("aside", if touched { passing(false) } else { Pass::freely() })
            }
            Judged::Waited => passed("waited", Pass::freely()),
            Judged::Refuse(_) if self.may_be_answered(request).await => passed("answered", Pass::freely()),
            Judged::Refuse(_) if self.is_checked() => passed("checked", passing(true)),
            Judged::Refuse(refusal) => {
                self.refused.get_or_init(|| asked("refuse")).increment(1);
                Verdict::Refuse(refusal)
            }
        }
    }

    async fn settle(&self, Pass(note): Pass, said: &Result<Reply, LedgerError>) {
        join_all(facts(said).into_iter().map(|fact| self.report(fact))).await;
        if let Some(hold) = unpinned(said) {
            self.report_as_it_is(hold).await;
        }
        match note {
            Note::Passing(passing) => {
                self.was_right(&passing, said);
                self.unnote(&passing, said).await;
            }
            Note::MayEnd(ending) => match said {
                // It may have been committed, and nobody here will hear of it.
                Err(LedgerError::OutcomeUnknown(_)) => self.must_arrive(None),
                Ok(Reply::Replayed(_)) => self.report_again(ending).await,
                _ => {}
            },
            Note::Nothing | Note::Locked(_) => {}
        }
    }

    fn must_hear(&self) -> MustHear {
        MustHear::Commits
    }

    fn degraded(&self) -> Vec<String> {
        super::out_of_reach(&self.server).into_iter().collect()
    }
}

pub(super) fn passed(verdict: &'static str, pass: Pass) -> Verdict {
    count(verdict);
    Verdict::Pass(pass)
}

pub(super) fn count(verdict: &'static str) {
    asked(verdict).increment(1);
}

fn asked(verdict: &'static str) -> Counter {
    metrics::counter!("holdfast_gate_asked_total", "verdict" => verdict)
}

/// What a commit means for one offer's slate.
#[derive(Debug)]
enum Fact<'a> {
    Claimed(&'a OfferId, Claim),
    /// It ends sooner than was said.
    Shortened(&'a OfferId, Claim),
    Ended(&'a OfferId, HoldId),
    /// The offer itself: its limit, its capacities, what is blocked.
    Changed(&'a OfferId),
}

impl Fact<'_> {
    fn offer(&self) -> &OfferId {
        match self {
            Self::Claimed(offer, _)
            | Self::Shortened(offer, _)
            | Self::Ended(offer, _)
            | Self::Changed(offer) => offer,
        }
    }
}

fn facts(said: &Result<Reply, LedgerError>) -> Vec<Fact<'_>> {
    let Ok(Reply::Done(outcome)) = said else { return Vec::new() };
    match outcome {
        Outcome::Held { hold: view, .. } | Outcome::Extended(view) => held(&view.hold, Fact::Claimed),
        // Unless it has become a booking meanwhile.
        Outcome::Left(view) if view.hold.state == HoldState::Active => held(&view.hold, Fact::Shortened),
        Outcome::Returned(view) if view.hold.state == HoldState::Active => held(&view.hold, Fact::Claimed),
        Outcome::Left(_) | Outcome::Returned(_) => Vec::new(),
        Outcome::Confirmed(view) => booked(&view.booking),
        Outcome::Released(view) => ended(&view.hold.lines, view.hold.id),
        Outcome::Cancelled(view) => ended(&view.booking.lines, view.booking.hold),
        Outcome::OfferAmended(view) | Outcome::Blocked(view) | Outcome::Unblocked(view) => {
            vec![Fact::Changed(view.offer.id())]
        }
        Outcome::Payment { booking: view, .. } if view.booking.state == BookingState::Confirmed => {
            booked(&view.booking)
        }
        // A hold that is being paid may outlive what was noted of it; from then on it is for the ledger to say no.
        Outcome::PaymentBegun(_) | Outcome::Payment { .. } => Vec::new(),
        Outcome::OfferCreated(_) | Outcome::Tidied { .. } => Vec::new(),
    }
}

/// The hold that is no longer pinned by a payment. A slate built meanwhile has it for as long as it was, and it ends
/// sooner again.
fn unpinned(said: &Result<Reply, LedgerError>) -> Option<HoldId> {
    match said {
        Ok(Reply::Done(Outcome::Payment { booking: BookingView { booking, .. }, changed: true })) => {
            matches!(booking.state, BookingState::Failed { .. }).then_some(booking.hold)
        }
        _ => None,
    }
}

/// Where the command may make room that a slate would go on refusing, if nobody told it.
fn may_end(command: &Command) -> Option<Ending> {
    match command {
        Command::AmendOffer { offer, .. } | Command::Block { offer, .. } | Command::Unblock { offer, .. } => {
            Some(Ending::Offer(offer.clone()))
        }
        Command::ReleaseHold { hold } | Command::LeaveHold { hold, .. } => Some(Ending::Hold(*hold)),
        Command::Cancel { booking }
        | Command::SettlePayment { booking, .. }
        | Command::NoteRefund { booking, .. }
        | Command::ResolvePayment { booking, .. } => Some(Ending::Booking(*booking)),
        Command::CreateOffer { .. }
        | Command::PlaceHold { .. }
        | Command::RecallHold { .. }
        | Command::ExtendHold { .. }
        | Command::ReturnToHold { .. }
        | Command::Confirm { .. }
        | Command::BeginPayment { .. }
        | Command::NoteIntent { .. }
        | Command::DeferPayment { .. }
        | Command::Tidy { .. } => None,
    }
}

fn held<'a>(hold: &'a Hold, fact: fn(&'a OfferId, Claim) -> Fact<'a>) -> Vec<Fact<'a>> {
    let Hold { id, holder, lines, expires_at, version, .. } = hold;
    let claim = |offer| Claim::of(lines, offer, *id, holder, Some(*expires_at), *version);
    offers_of(lines).map(|offer| fact(offer, claim(offer))).collect()
}

fn booked(booking: &Booking) -> Vec<Fact<'_>> {
    let Booking { hold, holder, lines, version, .. } = booking;
    let claim = |offer| Claim::of(lines, offer, *hold, holder, None, *version);
    offers_of(lines).map(|offer| Fact::Claimed(offer, claim(offer))).collect()
}

fn ended(lines: &[Line], hold: HoldId) -> Vec<Fact<'_>> {
    offers_of(lines).map(|offer| Fact::Ended(offer, hold)).collect()
}

/// Each offer of the lines once.
fn offers_of(lines: &[Line]) -> impl Iterator<Item = &OfferId> {
    let first = |at: usize| !lines[..at].iter().any(|earlier| earlier.offer == lines[at].offer);
    lines.iter().enumerate().filter(move |(at, _)| first(*at)).map(|(_, line)| &line.offer)
}
