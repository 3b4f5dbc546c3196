//! Driving a payment: look at the provider, report what was seen, again until it rests or must wait.
//!
//! A step is at most one change at the provider and exactly one command to the ledger. A crash between any two leaves
//! due work, and whoever takes that up asks the provider with the same keys. Callers: the request that begins a
//! payment, a webhook, and the worker over due payments.

mod look;

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use holdfast_domain::{
    Actor, BookingId, Command, HoldId, IntentId, Moment, PayTerms, PaymentMethod, PaymentState,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::provider::{Provider, ProviderError, SecretText};
use crate::{
    clock::Clock,
    ledger::{Answer, BookingView, IdempotencyKey, LedgerError, Outcome, Reply, Wording},
    mint,
    pipeline::{Pipeline, SubmitError},
};

#[derive(Debug, Clone)]
pub struct Settings {
    pub terms: PayTerms,
    /// How long until a payment that moved nowhere is looked at again; twice as long each time.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// How often a refund is tried before a person must look.
    pub refund_tries: u32,
    /// How often due payments are looked for.
    pub poll: Duration,
    /// Payments that one node drives by itself at once.
    pub at_once: usize,
    /// For how long other nodes leave a payment alone that one has taken up.
    pub lease: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            terms: PayTerms { pin_s: 300, grace_s: 120, look_s: 60 },
            first_wait: Duration::from_secs(2),
            longest_wait: Duration::from_secs(600),
            refund_tries: 24,
            poll: Duration::from_secs(1),
            at_once: 16,
            lease: Duration::from_secs(60),
        }
    }
}

/// A request to pay for a hold.
#[derive(Debug)]
pub struct Beginning {
    pub hold: HoldId,
    /// To be charged by the server; without one the buyer's browser pays.
    pub method: Option<PaymentMethod>,
    pub actor: Actor,
    pub key: IdempotencyKey,
    pub words: Words,
}

/// How a booking is worded, with the secret that its answer alone may carry.
#[derive(Clone)]
pub struct Words(pub Arc<WordWithSecret>);

pub type WordWithSecret = dyn Fn(&Outcome, Option<&SecretText>) -> Answer + Send + Sync;

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Words")
    }
}

/// What a request to pay comes to.
#[derive(Debug)]
pub enum Answered {
    /// These words are kept under the key.
    Fresh(Answer),
    /// Refused, answered before or used for something else: as the ledger said.
    Otherwise(Reply),
    /// Another request with the same key is at it.
    InFlight,
    /// Nothing can be said yet; the same key finds out.
    NoAnswer { why: String, retry_after: Duration },
}

/// Drives the payments of one node.
#[derive(Debug)]
pub struct Payments {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Settings,
    /// Bookings whose first answer a request of this node is working on.
    answering: Mutex<HashSet<BookingId>>,
    /// Somebody should look for due payments now.
    pub(super) nudged: Notify,
}

/// What one look at the provider leads to.
#[derive(Debug)]
struct Report {
    command: Command,
    /// Whether the request that began the payment can be answered with this.
    answers: bool,
    /// For the buyer's browser, to pay this intent.
    secret: Option<(IntentId, SecretText)>,
    /// There is more to do at once.
    goes_on: bool,
    /// What kept the look from seeing anything.
    fault: Option<ProviderError>,
}

/// A key to close and the words to close it with.
#[derive(Debug, Clone)]
struct Closing {
    key: IdempotencyKey,
    words: Words,
}

/// More steps in a row than any payment needs; what is left is due work.
const MOST_STEPS: usize = 6;
const RETRY_UNANSWERED: Duration = Duration::from_secs(2);

impl Payments {
    pub fn new(
        pipeline: Arc<Pipeline>,
        provider: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Arc<Self> {
        let (answering, nudged) = (Mutex::default(), Notify::new());
        Arc::new(Self { pipeline, provider, clock, settings, answering, nudged })
    }

    /// Begins to pay for a hold, or goes on where an earlier request with the same key stopped, up to an answer.
    pub async fn begin(&self, beginning: Beginning) -> Result<Answered, SubmitError> {
        let Beginning { hold, method, actor, key, words } = beginning;
        let booking = mint::booking_id();
        // Before the commit, so that nobody who finds the key open takes the payment for an orphan.
        let mine = self.claim(booking);
        let command = Command::BeginPayment { booking, hold, method, terms: self.settings.terms };
        let reply = self.pipeline.submit(command, actor, Some(key.clone())).await?;
        let closing = Closing { key, words };
        match reply {
            Reply::Done(Outcome::PaymentBegun(_)) => self.answer(booking, &closing).await,
            Reply::Open { booking } => match self.claim(booking) {
                Some(_adopted) => self.answer(booking, &closing).await,
                None => Ok(Answered::InFlight),
            },
            other => {
                drop(mine);
                Ok(Answered::Otherwise(other))
            }
        }
    }

    fn claim(&self, booking: BookingId) -> Option<Claim<'_>> {
        // A claim that was not made must not be dropped: that would end another's.
        let is_mine = self.answering.lock().insert(booking);
        is_mine.then(|| Claim { payments: self, booking })
    }

    async fn answer(&self, booking: BookingId, closing: &Closing) -> Result<Answered, SubmitError> {
        for _ in 0..MOST_STEPS {
            let view = self.view(booking).await?;
            let report = self.look(&view).await;
            let wait = report.fault.as_ref().and_then(ProviderError::retry_after);
            let fault = report.fault.clone();
            let closes = report.answers.then_some(closing);
            let reply = self.report(report, closes).await?;
            if closes.is_some() {
                return Ok(match reply {
                    Said::Words(answer) => Answered::Fresh(answer),
                    Said::Otherwise(reply) => Answered::Otherwise(reply),
                });
            }
            if let Some(fault) = fault {
                let retry_after = wait.unwrap_or(RETRY_UNANSWERED);
                return Ok(Answered::NoAnswer { why: fault.to_string(), retry_after });
            }
        }
        let why = "the payment takes more steps than it should".to_owned();
        Ok(Answered::NoAnswer { why, retry_after: RETRY_UNANSWERED })
    }

    /// Looks after a payment for nobody in particular, until it rests or must wait.
    pub async fn drive(&self, booking: BookingId) -> Result<(), SubmitError> {
        for _ in 0..MOST_STEPS {
            let view = match self.pipeline.ledger().booking(booking).await? {
                Some(view) if has_work(&view) => view,
                _ => return Ok(()),
            };
            let report = self.look(&view).await;
            let goes_on = report.goes_on;
            self.report(report, None).await?;
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Follows up a hint that something moved: like [`drive`](Self::drive), and what is at rest is looked at too. A
    /// refund may have come back, and somebody may have paid what was given up.
    pub async fn hear(&self, booking: BookingId) -> Result<(), SubmitError> {
        let Some(view) = self.pipeline.ledger().booking(booking).await? else { return Ok(()) };
        if let Some(report) = self.look_at_rest(&view).await {
            self.report(report, None).await?;
        }
        self.drive(booking).await
    }

    /// The worker looks for due payments at once instead of at its next round.
    pub fn nudge(&self) {
        self.nudged.notify_one();
    }

    async fn view(&self, booking: BookingId) -> Result<BookingView, LedgerError> {
        let view = self.pipeline.ledger().booking(booking).await?;
        view.ok_or_else(|| LedgerError::OutcomeUnknown(format!("{booking} is not to be found").into()))
    }

    /// Has the ledger write down what was seen; with a key, the words of the answer too.
    async fn report(&self, report: Report, closing: Option<&Closing>) -> Result<Said, SubmitError> {
        note_fault(&report);
        let Report { command, secret, .. } = report;
        let words = closing.map(|Closing { words, .. }| {
            let words = words.clone();
            Wording(Arc::new(move |outcome: &Outcome| words.0(outcome, fitting(outcome, secret.as_ref()))))
        });
        let key = closing.map(|closing| closing.key.clone());
        let reply = self.pipeline.report(command, key, words.clone()).await?;
        note_outcome(&reply);
        Ok(match (reply, words) {
            (Reply::Done(outcome), Some(Wording(words))) => Said::Words(words(&outcome)),
            (reply, _) => Said::Otherwise(reply),
        })
    }

    /// When to look again at a payment that moved nowhere `attempts` times.
    fn next_look(&self, attempts: u32) -> Moment {
        let wait = self.settings.first_wait.saturating_mul(2_u32.saturating_pow(attempts.min(20)));
        self.clock.now().plus_ms(wait.min(self.settings.longest_wait).as_millis() as i64)
    }
}

enum Said {
    Words(Answer),
    Otherwise(Reply),
}

/// Held while a request works on the first answer of a booking.
struct Claim<'a> {
    payments: &'a Payments,
    booking: BookingId,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.payments.answering.lock().remove(&self.booking);
    }
}

/// The secret, if it is that of the intent in the books: nobody shall pay another one.
fn fitting<'a>(outcome: &Outcome, secret: Option<&'a (IntentId, SecretText)>) -> Option<&'a SecretText> {
    let (Outcome::PaymentBegun(view) | Outcome::Payment { booking: view, .. }) = outcome else { return None };
    let known = view.booking.payment.as_ref().and_then(|payment| payment.intent.as_ref());
    secret.filter(|(intent, _)| known == Some(intent)).map(|(_, secret)| secret)
}

pub(super) fn has_work(view: &BookingView) -> bool {
    view.booking.payment.as_ref().is_some_and(|payment| payment.state.has_work())
}

fn note_fault(report: &Report) {
    let Some(fault) = &report.fault else { return };
    let kind = match fault {
        ProviderError::Declined(_) => "declined",
        ProviderError::NotDone { .. } => "not_done",
        ProviderError::Refused { .. } => "refused",
        ProviderError::Unknown { .. } => "unknown",
    };
    metrics::counter!("holdfast_payment_provider_faults_total", "kind" => kind).increment(1);
    if let Some(booking) = report.command.of_payment() {
        info!(%booking, %fault, "the payment provider left a question open");
    }
}

fn note_outcome(reply: &Reply) {
    let Reply::Done(Outcome::Payment { booking: view, changed: true }) = reply else { return };
    let Some(payment) = view.booking.payment.as_deref() else { return };
    metrics::counter!("holdfast_payments_total", "state" => payment.state.as_str()).increment(1);
    if payment.state == PaymentState::Manual {
        let why = payment.why.as_ref().map_or("", |why| why.as_str());
        warn!(booking = %view.booking.id, why, "a payment needs a person: holdfast payments list");
    }
}
