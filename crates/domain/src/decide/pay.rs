//! Paying: what the provider's word means for a booking. The compensation table stands in `honour`.
//!
//! Everything here is monotone: whatever is reported twice, late or out of order finds the payment where it already
//! is or beyond, and changes nothing. So any number of drivers may work on one payment.

use super::{Decision, Displaced, Subject, live, owned, owned_booking, place};
use crate::{
    command::{Actor, Command},
    event::{Event, PaymentBegun, PaymentEvent},
    hold::{Booking, BookingState, Hold},
    ids::{BookingId, HoldId},
    money::{Currency, Money},
    payment::{
        IntentId, MAX_PIN_S, PayTerms, Payment, PaymentMethod, PaymentOutcome, PaymentState, Reason,
        RefundOutcome, Resolution, last_call,
    },
    refusal::Refusal,
    state::State,
    text::Invalid,
    time::Moment,
};

pub(super) fn pay(state: &State, command: &Command, actor: &Actor, now: Moment) -> Result<Decision, Refusal> {
    if let Command::BeginPayment { booking, hold, method, terms } = command {
        return begin(state, *booking, *hold, method.clone(), *terms, actor, now);
    }
    let id = command.of_payment().expect("all others are about a payment");
    let case = Case::of(state, owned_booking(state, id, actor)?, now)?;
    let events = match command {
        Command::NoteIntent { intent, due_at, .. } => case.note_intent(intent, *due_at),
        Command::SettlePayment { intent, outcome, due_at, .. } => {
            case.settle(intent.as_ref(), outcome, *due_at)
        }
        Command::NoteRefund { outcome, due_at, .. } => case.note_refund(outcome, *due_at),
        Command::DeferPayment { due_at, .. } => case.defer(*due_at),
        Command::ResolvePayment { how, .. } => case.resolve(*how)?,
        _ => unreachable!("of_payment knows them all"),
    };
    let of_booking = |event| event_of(id, event);
    Ok(Subject::Booking(id).with(events.into_iter().map(of_booking).collect()))
}

/// What a report about a payment brings about, in order.
enum Step {
    Payment(PaymentEvent),
    Other(Event),
}

impl From<PaymentEvent> for Step {
    fn from(event: PaymentEvent) -> Self {
        Self::Payment(event)
    }
}

fn event_of(booking: BookingId, step: Step) -> Event {
    match step {
        Step::Payment(event) => Event::Payment { booking, event },
        Step::Other(event) => event,
    }
}

fn begin(
    state: &State,
    booking: BookingId,
    id: HoldId,
    method: Option<PaymentMethod>,
    terms: PayTerms,
    actor: &Actor,
    now: Moment,
) -> Result<Decision, Refusal> {
    let hold = owned(state, id, actor, now)?;
    if hold.amount == Money::ZERO {
        return Err(Invalid::new("payment.provider", "must be \"none\": there is nothing to pay").into());
    }
    live(hold, now)?;
    let expires_at = with_grace(state, hold, terms, now);
    let pinned_until = expires_at.plus_s(terms.pin_s.min(MAX_PIN_S));
    let last_call = last_call(now, expires_at, pinned_until);
    let due_at = before_it_is_let_go(now.plus_s(terms.look_s), last_call, now);
    let begun = PaymentBegun { booking, hold: id, method, expires_at, pinned_until, due_at };
    Ok(Subject::Booking(booking).with(vec![Event::PaymentBegun(begun.into())]))
}

/// The first payment may move the hold's end, and never brings it closer.
fn with_grace(state: &State, hold: &Hold, terms: PayTerms, now: Moment) -> Moment {
    let ttls = hold.lines.iter().map(|line| state.offers[&line.offer].offer().def().hold_ttl_s);
    let grace_s = ttls.min().expect("a hold has lines").min(terms.grace_s);
    if hold.payments == 0 { hold.own_end().max(now.plus_s(grace_s)) } else { hold.own_end() }
}

/// A hold is not let go before somebody has asked the provider once more.
fn before_it_is_let_go(due_at: Moment, last_call: Moment, now: Moment) -> Moment {
    if now < last_call { due_at.min(last_call) } else { due_at }
}

/// Of a booking that is cancelled: what was captured is to be given back.
pub(super) fn refund_if_paid(booking: &Booking, now: Moment) -> Option<Event> {
    let paid = booking.payment.as_ref().is_some_and(|payment| payment.state == PaymentState::Succeeded);
    let event = PaymentEvent::RefundBegun { due_at: now };
    paid.then_some(Event::Payment { booking: booking.id, event })
}

/// A booking, its payment, and the moment at which something is heard of it.
struct Case<'a> {
    state: &'a State,
    booking: &'a Booking,
    payment: &'a Payment,
    now: Moment,
}

impl<'a> Case<'a> {
    fn of(state: &'a State, booking: &'a Booking, now: Moment) -> Result<Self, Refusal> {
        let none = || Invalid::new("booking", "must be one that is paid for through a provider");
        let payment = booking.payment.as_deref().ok_or_else(none)?;
        Ok(Self { state, booking, payment, now })
    }

    /// The first name is the one that counts: a second one is a payment that nobody asked for.
    fn note_intent(&self, intent: &IntentId, due_at: Moment) -> Vec<Step> {
        let is_news = self.payment.intent.is_none() && self.payment.state.is_in_flight();
        is_news.then(|| self.noted(intent, due_at)).into_iter().collect()
    }

    fn noted(&self, intent: &IntentId, due_at: Moment) -> Step {
        PaymentEvent::IntentNoted { intent: intent.clone(), due_at: self.look_at(due_at) }.into()
    }

    fn settle(&self, intent: Option<&IntentId>, outcome: &PaymentOutcome, due_at: Moment) -> Vec<Step> {
        let is_ours = match (intent, &self.payment.intent) {
            (Some(said), Some(known)) => said == known,
            _ => true,
        };
        let steps = match outcome {
            PaymentOutcome::Succeeded { .. } if !is_ours => self.paid_twice(intent),
            _ if !is_ours => Vec::new(),
            PaymentOutcome::Succeeded { amount, currency } => self.succeeded(*amount, *currency),
            PaymentOutcome::Declined { reason } => self.failed(reason.clone()),
            PaymentOutcome::Canceled => self.failed(Reason::new("the payment was called off")),
            PaymentOutcome::Doubtful { why } => self.doubtful(why.clone()),
            PaymentOutcome::RequiresAction => self.moved(PaymentState::RequiresPayment, due_at),
            PaymentOutcome::Processing => self.moved(PaymentState::Processing, due_at),
            PaymentOutcome::Authorized => self.moved(PaymentState::Authorized, due_at),
        };
        match (intent, &self.payment.intent) {
            // Money that comes in after all must be found again, to be given back.
            (Some(intent), None) if self.payment.state.is_in_flight() || !steps.is_empty() => {
                [self.noted(intent, due_at)].into_iter().chain(steps).collect()
            }
            _ => steps,
        }
    }

    /// Only ever on: what arrives late is old news.
    fn moved(&self, to: PaymentState, due_at: Moment) -> Vec<Step> {
        match self.payment.state.is_in_flight() && self.payment.state < to {
            true => vec![PaymentEvent::Moved { to, due_at: self.look_at(due_at) }.into()],
            false => Vec::new(),
        }
    }

    fn failed(&self, why: Reason) -> Vec<Step> {
        if !self.payment.state.is_in_flight() {
            return Vec::new();
        }
        let mut steps = vec![PaymentEvent::Failed { why: why.clone() }.into()];
        if self.booking.state == BookingState::Pending {
            steps.push(PaymentEvent::BookingFailed { why }.into());
        }
        steps
    }

    fn doubtful(&self, why: Reason) -> Vec<Step> {
        match self.payment.state.is_in_flight() {
            true => self.parked(self.payment.captured, why),
            false => Vec::new(),
        }
    }

    fn parked(&self, captured: Money, why: Reason) -> Vec<Step> {
        vec![PaymentEvent::Parked { captured, why }.into()]
    }

    /// A payment that nobody asked for has come in: never decided by a machine.
    fn paid_twice(&self, intent: Option<&IntentId>) -> Vec<Step> {
        if self.payment.state == PaymentState::Manual {
            return Vec::new();
        }
        let intent = intent.map_or("?", IntentId::as_str);
        self.parked(self.payment.captured, Reason::new(&format!("another payment was captured: {intent}")))
    }

    fn succeeded(&self, amount: Money, currency: Currency) -> Vec<Step> {
        let can_be_news = self.payment.state.is_in_flight() || self.payment.state == PaymentState::Failed;
        if !can_be_news {
            return Vec::new();
        }
        if (amount, currency) != (self.booking.amount, self.booking.currency) {
            return self.wrong_amount(amount, currency);
        }
        self.paid()
    }

    fn wrong_amount(&self, amount: Money, currency: Currency) -> Vec<Step> {
        let (paid, price) = (currency.show(amount), self.booking.currency.show(self.booking.amount));
        let captured = if currency == self.booking.currency { amount } else { Money::ZERO };
        self.parked(captured, Reason::new(&format!("{paid} was captured, the price is {price}")))
    }

    /// The price has come in.
    fn paid(&self) -> Vec<Step> {
        let mut steps = vec![PaymentEvent::Captured { amount: self.booking.amount }.into()];
        steps.extend(match self.booking.state {
            BookingState::Pending => self.honour(),
            BookingState::Confirmed => Vec::new(),
            // Whoever heard no keeps that answer, and the money goes back.
            BookingState::Cancelled { .. } | BookingState::Failed { .. } => self.give_back(),
        });
        steps
    }

    /// The compensation table, for a payment that succeeded: the hold lives, or its units are free, or they are gone.
    fn honour(&self) -> Vec<Step> {
        let Booking { id: booking, hold, .. } = *self.booking;
        if self.pinned().is_some_and(|hold| hold.is_live(self.now)) {
            return vec![Step::Other(Event::BookingConfirmed { booking, hold })];
        }
        match self.room() {
            Ok(displaced) => {
                let mut steps: Vec<Step> = displaced.events().into_iter().map(Step::Other).collect();
                steps.push(PaymentEvent::Retaken.into());
                steps
            }
            Err(why) => {
                let mut steps = vec![PaymentEvent::BookingFailed { why }.into()];
                steps.extend(self.give_back());
                steps
            }
        }
    }

    fn give_back(&self) -> Vec<Step> {
        vec![PaymentEvent::RefundBegun { due_at: self.now }.into()]
    }

    /// The hold, while it is kept for this booking; its time may be up.
    fn pinned(&self) -> Option<&'a Hold> {
        let hold = self.state.holds.get(&self.booking.hold).map(Box::as_ref);
        hold.filter(|hold| hold.is_paid_by(self.booking.id))
    }

    /// Whether all the lines can be had anew, as by anybody who asks now; or what stands in the way.
    fn room(&self) -> Result<Displaced, Reason> {
        let mut displaced = Displaced::default();
        if let Some(hold) = self.pinned() {
            displaced.end(hold.id);
        }
        for line in self.booking.lines.iter() {
            let offer = &self.state.offers[&line.offer];
            for unit in line.units() {
                if !displaced.make_room(offer, unit, line.qty, self.now) {
                    let key = offer.offer().key(unit);
                    let why = format!("paid after the hold had ended, when {}/{key} was gone", line.offer);
                    return Err(Reason::new(&why));
                }
            }
            if !place::is_within_limit(self.state, self.booking, offer, self.now) {
                let why = format!("paid after the hold had ended, with the limit of {} reached", line.offer);
                return Err(Reason::new(&why));
            }
        }
        Ok(displaced)
    }

    fn note_refund(&self, outcome: &RefundOutcome, due_at: Moment) -> Vec<Step> {
        match (self.payment.state, outcome) {
            (PaymentState::Refunding, _) => {}
            // A bank may send a refund back, days later.
            (PaymentState::Refunded, RefundOutcome::Abandoned { why }) => {
                return self.parked(self.payment.captured, why.clone());
            }
            _ => return Vec::new(),
        }
        match outcome {
            RefundOutcome::Succeeded => vec![PaymentEvent::Refunded.into()],
            RefundOutcome::Pending => self.defer(due_at),
            RefundOutcome::Abandoned { why } => self.parked(self.payment.captured, why.clone()),
        }
    }

    fn defer(&self, due_at: Moment) -> Vec<Step> {
        match self.payment.state.has_work() {
            true => vec![PaymentEvent::Deferred { due_at: self.look_at(due_at) }.into()],
            false => Vec::new(),
        }
    }

    fn resolve(&self, how: Resolution) -> Result<Vec<Step>, Refusal> {
        let is_manual = self.payment.state == PaymentState::Manual;
        let owed = self.payment.captured > self.payment.refunded;
        let over = matches!(self.booking.state, BookingState::Cancelled { .. } | BookingState::Failed { .. });
        match how {
            Resolution::Retry if self.payment.state.has_work() => Ok(self.defer(self.now)),
            Resolution::Retry if is_manual && owed && over => Ok(self.give_back()),
            Resolution::Retry if is_manual && owed && self.booking.state == BookingState::Pending => {
                let why = self.payment.why.clone().unwrap_or_else(|| Reason::new("given back"));
                let mut steps = vec![PaymentEvent::BookingFailed { why }.into()];
                steps.extend(self.give_back());
                Ok(steps)
            }
            Resolution::Refunded if is_manual && self.booking.state != BookingState::Confirmed => {
                Ok(self.given_back_by_hand())
            }
            Resolution::Paid if is_manual && !over => Ok(self.paid()),
            _ => {
                let (booking, payment) = (self.booking.state.as_str(), self.payment.state.as_str());
                let rule = format!("cannot be said of a booking that is {booking} with a payment {payment}");
                Err(Invalid::new("how", rule).into())
            }
        }
    }

    fn given_back_by_hand(&self) -> Vec<Step> {
        let why = self.payment.why.clone().unwrap_or_else(|| Reason::new("given back by hand"));
        let mut steps: Vec<Step> = vec![match self.payment.captured {
            Money::ZERO => PaymentEvent::Failed { why: why.clone() }.into(),
            _ => PaymentEvent::Refunded.into(),
        }];
        if self.booking.state == BookingState::Pending {
            steps.push(PaymentEvent::BookingFailed { why }.into());
        }
        steps
    }

    fn look_at(&self, due_at: Moment) -> Moment {
        match self.pinned() {
            Some(hold) => {
                let last_call = last_call(self.booking.created_at, hold.expires_at, hold.ends_at());
                before_it_is_let_go(due_at, last_call, self.now)
            }
            None => due_at,
        }
    }
}
