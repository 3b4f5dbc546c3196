//! One look: what the provider says of a payment now, as a command to the ledger.
//!
//! Nothing is decided here beyond what to ask next. An answer that was lost is asked for again with the same key; a
//! failure that the provider has filed under its key is asked about with the next one, after looking at the object.

use holdfast_domain::{
    BookingState, Command, Currency, IntentId, Money, Payment, PaymentOutcome, PaymentState, Reason,
    RefundOutcome, payment::last_call,
};

use super::{Payments, Report};
use crate::{
    ledger::{BookingView, HoldView},
    payments::provider::{
        Intent, IntentStatus, NewIntent, ProviderError, Refund, RefundStatus, Step, StepKey,
    },
};

/// How many keys a step may use up in one look. Each is one filed failure of the provider's.
const KEYS_A_STEP: u32 = 4;
/// How many refunds may fail for good before a person must look.
const MOST_FAILED_REFUNDS: usize = 3;

/// A booking with its payment, looked at.
struct Case<'a> {
    view: &'a BookingView,
    payment: &'a Payment,
    payments: &'a Payments,
}

impl Payments {
    pub(super) async fn look(&self, view: &BookingView) -> Report {
        let Some(payment) = view.booking.payment.as_deref() else { return self.rest(view) };
        let case = Case { view, payment, payments: self };
        match payment.state {
            PaymentState::Refunding => case.look_at_refund().await,
            state if state.is_in_flight() => case.look_at_payment().await,
            _ => self.rest(view),
        }
    }

    /// News of a payment that was thought to be at rest, if there are any.
    pub(super) async fn look_at_rest(&self, view: &BookingView) -> Option<Report> {
        let payment = view.booking.payment.as_deref()?;
        let intent = payment.intent.as_ref()?;
        let case = Case { view, payment, payments: self };
        match payment.state {
            PaymentState::Refunded => {
                let refunds = self.provider.refunds(intent).await.ok()?;
                let failed = |refund: &Refund| refund.status == RefundStatus::Failed;
                let why = || Reason::new("the refund succeeded, and has failed since");
                let came_back = !refunds.is_empty() && refunds.iter().all(failed);
                came_back.then(|| case.note_refund(RefundOutcome::Abandoned { why: why() }))
            }
            PaymentState::Failed => {
                let found = self.provider.retrieve(intent).await.ok()?;
                (found.status == IntentStatus::Succeeded).then(|| case.seen(intent, found))
            }
            _ => None,
        }
    }

    /// There is nothing to look at; to whoever waits for an answer the booking as it is.
    fn rest(&self, view: &BookingView) -> Report {
        let command = Command::DeferPayment { booking: view.booking.id, due_at: self.clock.now() };
        Report { command, answers: true, secret: None, goes_on: false, fault: None }
    }
}

impl Case<'_> {
    async fn look_at_payment(&self) -> Report {
        let last_call = self.is_last_call().await;
        match &self.payment.intent {
            // No money is taken before the intent is written down: one that is not was never paid.
            None if last_call => self.settle(None, PaymentOutcome::Canceled),
            None => self.create().await,
            Some(intent) if last_call => self.call_off(intent).await,
            Some(intent) if self.is_fresh() => self.confirm(intent).await,
            Some(intent) => match self.payments.provider.retrieve(intent).await {
                Ok(found) => self.reported(intent, found).await,
                Err(fault) => self.defer(fault),
            },
        }
    }

    /// The server charges it and has not tried yet, as far as the books know.
    fn is_fresh(&self) -> bool {
        self.payment.method.is_some()
            && self.payment.state == PaymentState::RequiresPayment
            && self.payment.attempts == 0
    }

    /// Whether its units are about to be let go, or were: then nothing may be taken for them any more.
    async fn is_last_call(&self) -> bool {
        if self.view.booking.state != BookingState::Pending {
            return true;
        }
        let now = self.payments.clock.now();
        match self.payments.pipeline.ledger().hold(self.view.booking.hold).await {
            Ok(Some(HoldView { hold, .. })) if hold.is_paid_by(self.view.booking.id) => {
                // Nobody could have paid what was never looked at: while the hold lives there is a first time.
                let is_first = self.payment.intent.is_none() && self.payment.attempts == 0;
                let begun = self.view.booking.created_at;
                let ends_at = hold.ends_at();
                now >= if is_first { ends_at } else { last_call(begun, hold.expires_at, ends_at) }
            }
            Ok(_) => true,
            // A ledger that cannot tell will not take the report either.
            Err(_) => false,
        }
    }

    async fn create(&self) -> Report {
        let booking = &self.view.booking;
        let new = NewIntent {
            booking: booking.id,
            hold: booking.hold,
            amount: booking.amount,
            currency: booking.currency,
            payment_method: self.payment.method.as_ref().map(|method| method.as_str().into()),
        };
        let mut last = None;
        for attempt in 0..KEYS_A_STEP {
            match self.payments.provider.create(&new, self.key(Step::Create, attempt)).await {
                Ok(intent) => return self.created(intent),
                // An intent that nobody heard of takes no money: another one may be made.
                Err(fault @ ProviderError::Unknown { filed: true, .. }) => last = Some(fault),
                Err(fault) => return self.not_created(fault),
            }
        }
        self.not_created(last.expect("at least one key was tried"))
    }

    fn created(&self, intent: Intent) -> Report {
        let by_server = self.payment.method.is_some();
        let due_at = match by_server {
            // Whoever created it confirms it next; somebody else does if they are gone.
            true => self.payments.clock.now().plus_s(self.payments.settings.terms.look_s),
            false => self.payments.next_look(0),
        };
        let Intent { id: intent, client_secret, .. } = intent;
        let secret = client_secret.map(|secret| (intent.clone(), secret));
        let command = Command::NoteIntent { booking: self.view.booking.id, intent, due_at };
        Report { command, answers: !by_server, secret, goes_on: by_server, fault: None }
    }

    fn not_created(&self, fault: ProviderError) -> Report {
        // A buyer's browser cannot pay without the secret: it must ask again, with the same key.
        let answers = self.payment.method.is_some();
        Report { answers, ..self.failed(None, fault) }
    }

    async fn confirm(&self, intent: &IntentId) -> Report {
        for attempt in 0..KEYS_A_STEP {
            match self.payments.provider.confirm(intent, self.key(Step::Confirm, attempt)).await {
                Ok(found) => return self.seen(intent, found),
                Err(ProviderError::Unknown { .. }) => {}
                Err(fault) => return self.failed(Some(intent), fault),
            }
            // Whatever became of that, the intent knows.
            match self.payments.provider.retrieve(intent).await {
                Ok(found) if found.status == IntentStatus::RequiresConfirmation => {}
                Ok(found) => return self.seen(intent, found),
                Err(fault) => return self.defer(fault),
            }
        }
        self.defer(ProviderError::unknown("confirming fails again and again"))
    }

    /// Ends the intent, so that nobody can pay it any more; unless somebody has.
    async fn call_off(&self, intent: &IntentId) -> Report {
        let mut last = ProviderError::unknown("cancelling fails again and again");
        for attempt in 0..KEYS_A_STEP {
            match self.payments.provider.cancel(intent, self.key(Step::Cancel, attempt)).await {
                Ok(found) => return self.seen(intent, found),
                Err(ProviderError::Unknown { .. } | ProviderError::Refused { .. }) => {}
                Err(fault) => return self.defer(fault),
            }
            match self.payments.provider.retrieve(intent).await {
                Ok(found) if is_open(found.status) => {}
                Ok(found) => return self.seen(intent, found),
                Err(fault) => {
                    last = fault;
                    break;
                }
            }
        }
        self.defer(last)
    }

    /// What a look at the intent leads to, where that may be another question.
    async fn reported(&self, intent: &IntentId, found: Intent) -> Report {
        match found.status {
            IntentStatus::RequiresConfirmation if self.payment.method.is_some() => self.confirm(intent).await,
            IntentStatus::Authorized => {
                let key = self.key(Step::Capture, 0);
                match self.payments.provider.capture(intent, key).await {
                    Ok(captured) => self.seen(intent, captured),
                    Err(fault) => self.failed(Some(intent), fault),
                }
            }
            // The buyer may have the secret of an intent whose card was declined: it must not be paid later.
            IntentStatus::RequiresMethod if self.is_declined(&found) => {
                let report = self.call_off(intent).await;
                match report.fault {
                    None if matches!(
                        &report.command,
                        Command::SettlePayment { outcome: PaymentOutcome::Canceled, .. }
                    ) =>
                    {
                        self.seen(intent, found)
                    }
                    _ => report,
                }
            }
            _ => self.seen(intent, found),
        }
    }

    fn is_declined(&self, found: &Intent) -> bool {
        self.payment.method.is_some() && found.decline.is_some()
    }

    /// The intent as it is, for the books.
    fn seen(&self, intent: &IntentId, found: Intent) -> Report {
        let outcome = match found.status {
            IntentStatus::Succeeded => succeeded(&found),
            IntentStatus::Canceled => PaymentOutcome::Canceled,
            IntentStatus::Authorized => PaymentOutcome::Authorized,
            IntentStatus::Processing if self.payment.state != PaymentState::Processing => {
                PaymentOutcome::Processing
            }
            IntentStatus::RequiresMethod if self.is_declined(&found) => {
                let why = found.decline.as_ref().map_or("", |decline| decline.message.as_str());
                PaymentOutcome::Declined { reason: Reason::new(why) }
            }
            _ => {
                let secret = found.client_secret.map(|secret| (intent.clone(), secret));
                return Report { secret, ..self.wait() };
            }
        };
        self.settle(Some(intent), outcome)
    }

    /// A question that was answered with a no, or not.
    fn failed(&self, intent: Option<&IntentId>, fault: ProviderError) -> Report {
        let reason = match &fault {
            ProviderError::Declined(decline) => Reason::new(&decline.message),
            ProviderError::Refused { why } => Reason::new(why),
            ProviderError::NotDone { .. } | ProviderError::Unknown { .. } => return self.defer(fault),
        };
        self.settle(intent, PaymentOutcome::Declined { reason })
    }

    async fn look_at_refund(&self) -> Report {
        let Some(intent) = &self.payment.intent else {
            let why = Reason::new("there is money to give back and no payment to give it back from");
            return self.note_refund(RefundOutcome::Abandoned { why });
        };
        // The first time there is nothing to look at: the key keeps it from being done twice. Later there may be a refund
        // that failed after it had succeeded, of which its key does not know.
        if self.payment.attempts == 0 && self.payment.why.is_none() {
            let key = self.key(Step::Refund, 0);
            if let Ok(refund) = self.payments.provider.refund(intent, self.view.booking.id, key).await {
                return self.refunded(&refund);
            }
        }
        let refunds = match self.payments.provider.refunds(intent).await {
            Ok(refunds) => refunds,
            Err(fault) => return self.refund_failed(fault),
        };
        let of = |status| refunds.iter().filter(move |refund| refund.status == status);
        let returned: u64 = of(RefundStatus::Succeeded).map(|refund| refund.amount).sum();
        if returned >= self.payment.captured.minor() {
            return self.note_refund(RefundOutcome::Succeeded);
        }
        if of(RefundStatus::Pending).next().is_some() {
            return self.note_refund(RefundOutcome::Pending);
        }
        let failed = of(RefundStatus::Failed).count();
        if failed >= MOST_FAILED_REFUNDS {
            let why = format!("{failed} refunds have failed");
            return self.note_refund(RefundOutcome::Abandoned { why: Reason::new(&why) });
        }
        self.refund(intent, failed as u32).await
    }

    /// Asks for a refund: with the same key until that one has failed.
    async fn refund(&self, intent: &IntentId, failed: u32) -> Report {
        let mut last = ProviderError::unknown("refunding fails again and again");
        for attempt in 0..KEYS_A_STEP {
            let key = self.key(Step::Refund, failed * KEYS_A_STEP + attempt);
            match self.payments.provider.refund(intent, self.view.booking.id, key).await {
                Ok(refund) => return self.refunded(&refund),
                Err(fault @ ProviderError::Unknown { filed: true, .. }) => last = fault,
                Err(fault) => return self.refund_failed(fault),
            }
        }
        self.refund_failed(last)
    }

    /// What was asked for, as it is now.
    fn refunded(&self, refund: &Refund) -> Report {
        self.note_refund(match refund.status {
            RefundStatus::Succeeded => RefundOutcome::Succeeded,
            RefundStatus::Pending | RefundStatus::Failed => RefundOutcome::Pending,
        })
    }

    fn refund_failed(&self, fault: ProviderError) -> Report {
        if self.payment.attempts >= self.payments.settings.refund_tries {
            let why = Reason::new(&format!("the refund was tried {} times: {fault}", self.payment.attempts));
            return self.note_refund(RefundOutcome::Abandoned { why });
        }
        self.defer(fault)
    }

    fn key(&self, step: Step, attempt: u32) -> StepKey {
        StepKey { booking: self.view.booking.id, step, attempt }
    }

    fn settle(&self, intent: Option<&IntentId>, outcome: PaymentOutcome) -> Report {
        let due_at = self.payments.next_look(0);
        self.says(Command::SettlePayment {
            booking: self.view.booking.id,
            intent: intent.cloned(),
            outcome,
            due_at,
        })
    }

    fn note_refund(&self, outcome: RefundOutcome) -> Report {
        let due_at = self.payments.next_look(self.payment.attempts);
        self.says(Command::NoteRefund { booking: self.view.booking.id, outcome, due_at })
    }

    /// Seen, and nothing new.
    fn wait(&self) -> Report {
        let due_at = self.payments.next_look(self.payment.attempts);
        self.says(Command::DeferPayment { booking: self.view.booking.id, due_at })
    }

    /// Not seen.
    fn defer(&self, fault: ProviderError) -> Report {
        Report { fault: Some(fault), ..self.wait() }
    }

    fn says(&self, command: Command) -> Report {
        Report { command, answers: true, secret: None, goes_on: false, fault: None }
    }
}

/// Nobody has paid it, and somebody still could.
const fn is_open(status: IntentStatus) -> bool {
    matches!(
        status,
        IntentStatus::RequiresMethod | IntentStatus::RequiresConfirmation | IntentStatus::RequiresAction
    )
}

fn succeeded(found: &Intent) -> PaymentOutcome {
    match (Money::new(found.received), Currency::new(&found.currency)) {
        (Ok(amount), Ok(currency)) => PaymentOutcome::Succeeded { amount, currency },
        _ => {
            let why = format!("{} of {} was captured", found.received, found.currency);
            PaymentOutcome::Doubtful { why: Reason::new(&why) }
        }
    }
}
