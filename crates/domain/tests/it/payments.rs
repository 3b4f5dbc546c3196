//! Paying: every cell of the compensation table, and news that is late, old or repeated.

use holdfast_domain::{
    BookingId, BookingState, Command, Currency, Event, HoldId, IntentId, Moment, Money, PayTerms, Payment,
    PaymentMethod, PaymentOutcome, PaymentState, Reason, RefundOutcome, Refusal, Resolution,
    payment::last_call,
};

use crate::sale::{Sale, TTL_S, hall, id, seats};

const TERMS: PayTerms = PayTerms { pin_s: 120, grace_s: 60, look_s: 10 };

/// A hall of two, a hold of alice on A-1, and the payment of it begun.
fn paying() -> (Sale, HoldId, BookingId) {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[2])]));
    let hold = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    let booking = sale.begin(hold).unwrap();
    (sale, hold, booking)
}

impl Sale {
    fn begin(&mut self, hold: HoldId) -> Result<BookingId, Refusal> {
        let booking = BookingId::from_bits(1000 + self.state.bookings().count() as u128);
        let method = Some(PaymentMethod::new("pm_card_visa").unwrap());
        self.tell(Command::BeginPayment { booking, hold, method, terms: TERMS }).map(|_| booking)
    }

    /// Reports; returns the kinds of what that changed.
    fn hear(&mut self, booking: BookingId, outcome: PaymentOutcome) -> Vec<&'static str> {
        let intent = Some(IntentId::new("pi_1").unwrap());
        let due_at = self.now.plus_s(30);
        let heard = self.tell(Command::SettlePayment { booking, intent, outcome, due_at }).unwrap();
        heard.events.iter().map(Event::kind).filter(|kind| *kind != "payment_intent_noted").collect()
    }

    fn refund(&mut self, booking: BookingId, outcome: RefundOutcome) -> Vec<&'static str> {
        let due_at = self.now.plus_s(30);
        let heard = self.tell(Command::NoteRefund { booking, outcome, due_at }).unwrap();
        heard.events.iter().map(Event::kind).collect()
    }

    fn resolve(&mut self, booking: BookingId, how: Resolution) -> Result<Vec<&'static str>, Refusal> {
        let resolved = self.tell(Command::ResolvePayment { booking, how })?;
        Ok(resolved.events.iter().map(Event::kind).collect())
    }

    fn payment(&self, booking: BookingId) -> &Payment {
        self.state.booking(booking).unwrap().payment.as_deref().unwrap()
    }

    /// The booking's state, its payment's, and what is kept of the money.
    fn stands(&self, booking: BookingId) -> (&'static str, &'static str, u64) {
        let (of, payment) = (self.state.booking(booking).unwrap(), self.payment(booking));
        let kept = payment.captured.minor() - payment.refunded.minor();
        (of.state.as_str(), payment.state.as_str(), kept)
    }

    fn status(&self, hold: HoldId) -> &'static str {
        self.get(hold).status(self.now)
    }
}

fn paid() -> PaymentOutcome {
    PaymentOutcome::Succeeded { amount: Money::new(4500).unwrap(), currency: Currency::new("EUR").unwrap() }
}

fn declined() -> PaymentOutcome {
    PaymentOutcome::Declined { reason: Reason::new("insufficient_funds") }
}

#[test]
fn paid_while_the_hold_lives_it_is_confirmed() {
    let (mut sale, hold, booking) = paying();
    assert_eq!((sale.status(hold), sale.stands(booking)), ("paying", ("pending", "requires_payment", 0)));
    assert_eq!(sale.hear(booking, paid()), ["payment_captured", "booking_confirmed"]);
    assert_eq!((sale.status(hold), sale.stands(booking)), ("booked", ("confirmed", "succeeded", 4500)));
    assert_eq!(sale.state.next_payment_due(), None);
}

#[test]
fn a_hold_that_is_being_paid_outlives_its_expiry_by_the_pin() {
    let (mut sale, hold, booking) = paying();
    sale.tick_ms(i64::from(TTL_S + TERMS.pin_s) * 1000 - 1);
    assert_eq!(sale.status(hold), "paying");
    assert!(sale.hold("bob", seats("hall", &["A-1"])).is_err());
    assert_eq!(sale.clone().hear(booking, paid()), ["payment_captured", "booking_confirmed"]);
    sale.tick_ms(1);
    assert_eq!(sale.status(hold), "expired");
    assert!(sale.hold("bob", seats("hall", &["A-1"])).is_ok());
}

#[test]
fn paid_after_the_hold_was_lost_the_units_are_taken_again_if_they_are_free() {
    for swept in [false, true] {
        let (mut sale, hold, booking) = paying();
        sale.tick_ms(i64::from(TTL_S + TERMS.pin_s) * 1000);
        if swept {
            sale.tell(Command::Tidy { limit: 10 }).unwrap();
        }
        let expected: &[_] = match swept {
            true => &["payment_captured", "booking_retaken"],
            false => &["payment_captured", "hold_expired", "booking_retaken"],
        };
        assert_eq!(sale.hear(booking, paid()), expected);
        assert_eq!((sale.status(hold), sale.stands(booking)), ("expired", ("confirmed", "succeeded", 4500)));
        assert!(sale.hold("bob", seats("hall", &["A-1"])).is_err());
        sale.tell(Command::Cancel { booking }).unwrap();
        assert!(sale.hold("bob", seats("hall", &["A-1"])).is_ok());
    }
}

#[test]
fn paid_after_the_units_were_taken_it_fails_and_the_money_goes_back() {
    let (mut sale, _, booking) = paying();
    sale.tick_ms(i64::from(TTL_S + TERMS.pin_s) * 1000);
    sale.hold("bob", seats("hall", &["A-1"])).unwrap();
    assert_eq!(sale.hear(booking, paid()), ["payment_captured", "booking_failed", "refund_begun"]);
    assert_eq!(sale.stands(booking), ("failed", "refunding", 4500));
    assert_eq!(
        sale.payment(booking).why.as_ref().unwrap().as_str(),
        "paid after the hold had ended, when hall/A-1 was gone"
    );
    assert_eq!(sale.state.payments_due(sale.now).count(), 1);
    assert_eq!(sale.refund(booking, RefundOutcome::Succeeded), ["payment_refunded"]);
    assert_eq!(sale.stands(booking), ("failed", "refunded", 0));
    assert_eq!(sale.tell(Command::Cancel { booking }), Err(Refusal::NotCancellable { booking }));
}

#[test]
fn paid_late_it_keeps_the_limit_of_the_offer() {
    let mut limited = hall("hall", &[("A", &[4])]);
    limited.limit_per_holder = Some(2);
    let mut sale = Sale::new().with(limited);
    let hold = sale.hold("alice", seats("hall", &["A-1", "A-2"])).unwrap();
    let booking = sale.begin(hold).unwrap();
    sale.tick_ms(i64::from(TTL_S + TERMS.pin_s) * 1000);
    sale.hold("alice", seats("hall", &["A-3"])).unwrap();
    let both = PaymentOutcome::Succeeded {
        amount: Money::new(9000).unwrap(),
        currency: Currency::new("EUR").unwrap(),
    };
    assert_eq!(sale.hear(booking, both), ["payment_captured", "booking_failed", "refund_begun"]);
}

#[test]
fn declined_the_hold_survives_for_another_try() {
    let (mut sale, hold, booking) = paying();
    sale.tick_ms(1000);
    assert_eq!(sale.hear(booking, declined()), ["payment_failed", "booking_failed"]);
    assert_eq!((sale.status(hold), sale.stands(booking)), ("active", ("failed", "failed", 0)));
    assert_eq!(sale.get(hold).expires_at, sale.now.plus_ms(i64::from(TTL_S) * 1000 - 1000));
    let again = sale.begin(hold).unwrap();
    assert_eq!(sale.hear(again, paid()), ["payment_captured", "booking_confirmed"]);
    assert_eq!(sale.stands(booking), ("failed", "failed", 0));
}

#[test]
fn a_decline_in_the_pins_time_leaves_nothing_of_the_hold() {
    let (mut sale, hold, booking) = paying();
    sale.tick_ms(i64::from(TTL_S) * 1000);
    sale.hear(booking, declined());
    assert_eq!(sale.status(hold), "expired");
}

#[test]
fn unknown_it_stays_pending_and_is_asked_about_again() {
    let (mut sale, hold, booking) = paying();
    for attempt in 1..=3 {
        let due_at = sale.now.plus_s(20);
        sale.tell(Command::DeferPayment { booking, due_at }).unwrap();
        assert_eq!((sale.payment(booking).attempts, sale.payment(booking).due_at), (attempt, Some(due_at)));
        sale.tick_ms(20_000);
        assert_eq!(sale.state.payments_due(sale.now).map(|due| due.id).collect::<Vec<_>>(), [booking]);
    }
    assert_eq!((sale.status(hold), sale.stands(booking)), ("paying", ("pending", "requires_payment", 0)));
}

#[test]
fn before_a_hold_is_let_go_somebody_asks_once_more() {
    let (mut sale, _, booking) = paying();
    let far = sale.now.plus_s(100_000);
    sale.tell(Command::DeferPayment { booking, due_at: far }).unwrap();
    let last_call = sale.now.plus_s(TTL_S + TERMS.pin_s).plus_ms(-5_000);
    assert_eq!(sale.payment(booking).due_at, Some(last_call));
    sale.now = last_call;
    sale.tell(Command::DeferPayment { booking, due_at: far }).unwrap();
    assert_eq!(sale.payment(booking).due_at, Some(far));
}

/// The last call takes a fifth of the pin at most; without a pin, of all the time there is.
#[test]
fn a_short_pin_is_not_eaten_up_by_the_last_call() {
    for (pin_s, before_ms) in [(0, 5_000), (1, 200), (2, 400), (25, 5_000), (300, 5_000)] {
        let begun = Moment::from_s(1_000);
        let expires_at = begun.plus_s(TTL_S);
        let pinned_until = expires_at.plus_s(pin_s);
        assert_eq!(last_call(begun, expires_at, pinned_until), pinned_until.plus_ms(-before_ms), "{pin_s} s");
    }
    let begun = Moment::from_s(1_000);
    assert_eq!(last_call(begun, begun.plus_s(2), begun.plus_s(2)), begun.plus_ms(1_600));
}

#[test]
fn a_refund_that_fails_is_tried_again_and_then_left_to_a_person() {
    let (mut sale, _, booking) = paying();
    sale.hear(booking, paid());
    sale.tell(Command::Cancel { booking }).unwrap();
    assert_eq!(sale.stands(booking), ("cancelled", "refunding", 4500));
    assert!(sale.hold("bob", seats("hall", &["A-1"])).is_ok(), "the units are free at once");
    assert_eq!(sale.refund(booking, RefundOutcome::Pending), ["payment_deferred"]);
    let why = Reason::new("the card is closed");
    assert_eq!(sale.refund(booking, RefundOutcome::Abandoned { why }), ["payment_parked"]);
    assert_eq!((sale.stands(booking), sale.payment(booking).due_at), (("cancelled", "manual", 4500), None));
    assert_eq!(sale.resolve(booking, Resolution::Retry).unwrap(), ["refund_begun"]);
    assert_eq!(sale.refund(booking, RefundOutcome::Succeeded), ["payment_refunded"]);
    assert_eq!(sale.stands(booking), ("cancelled", "refunded", 0));
}

#[test]
fn the_wrong_amount_or_currency_is_left_to_a_person() {
    let wrong = |minor, code| PaymentOutcome::Succeeded {
        amount: Money::new(minor).unwrap(),
        currency: Currency::new(code).unwrap(),
    };
    for (outcome, kept) in [(wrong(4499, "EUR"), 4499), (wrong(4500, "USD"), 0)] {
        let (mut sale, _, booking) = paying();
        assert_eq!(sale.hear(booking, outcome), ["payment_parked"]);
        assert_eq!(sale.stands(booking), ("pending", "manual", kept));
        let mut by_hand = sale.clone();
        by_hand.resolve(booking, Resolution::Refunded).unwrap();
        assert_eq!(by_hand.stands(booking).0, "failed");
        sale.resolve(booking, Resolution::Paid).unwrap();
        assert_eq!(sale.stands(booking), ("confirmed", "succeeded", 4500));
    }
}

#[test]
fn old_and_repeated_news_change_nothing() {
    let (mut sale, _, booking) = paying();
    assert_eq!(sale.hear(booking, PaymentOutcome::Processing), ["payment_moved"]);
    let nothing: [&str; 0] = [];
    for old in [PaymentOutcome::Processing, PaymentOutcome::RequiresAction] {
        assert_eq!(sale.hear(booking, old), nothing);
    }
    sale.hear(booking, paid());
    for old in
        [paid(), declined(), PaymentOutcome::Processing, PaymentOutcome::Canceled, PaymentOutcome::Authorized]
    {
        assert_eq!(sale.hear(booking, old), nothing);
    }
    assert_eq!(sale.refund(booking, RefundOutcome::Succeeded), nothing);
    assert_eq!(sale.stands(booking), ("confirmed", "succeeded", 4500));
}

#[test]
fn cancelled_while_it_is_paid_it_is_called_off_or_given_back() {
    for outcome in [PaymentOutcome::Canceled, paid()] {
        let (mut sale, hold, booking) = paying();
        sale.tell(Command::Cancel { booking }).unwrap();
        assert_eq!(
            (sale.status(hold), sale.stands(booking)),
            ("released", ("cancelled", "requires_payment", 0))
        );
        assert_eq!(sale.state.payments_due(sale.now).count(), 1, "to be called off now");
        assert!(sale.hold("bob", seats("hall", &["A-1"])).is_ok());
        sale.hear(booking, outcome.clone());
        let expected = if outcome == paid() { ("refunding", 4500) } else { ("failed", 0) };
        assert_eq!(sale.stands(booking), ("cancelled", expected.0, expected.1));
    }
}

#[test]
fn paid_after_a_decline_was_told_the_money_goes_back() {
    let (mut sale, hold, booking) = paying();
    sale.hear(booking, declined());
    assert_eq!(sale.hear(booking, paid()), ["payment_captured", "refund_begun"]);
    assert_eq!((sale.status(hold), sale.stands(booking)), ("active", ("failed", "refunding", 4500)));
}

#[test]
fn money_that_comes_in_after_all_can_be_found_again() {
    let (mut sale, _, booking) = paying();
    let (intent, due_at) = (None, sale.now);
    sale.tell(Command::SettlePayment { booking, intent, outcome: declined(), due_at }).unwrap();
    assert_eq!(sale.payment(booking).intent, None);
    sale.hear(booking, paid());
    assert_eq!(sale.payment(booking).intent, Some(IntentId::new("pi_1").unwrap()));
    assert_eq!(sale.stands(booking), ("failed", "refunding", 4500));
}

#[test]
fn a_second_payment_is_never_decided_by_a_machine() {
    let (mut sale, _, booking) = paying();
    sale.hear(booking, paid());
    let (intent, due_at) = (Some(IntentId::new("pi_2").unwrap()), sale.now);
    let other = |outcome| Command::SettlePayment { booking, intent: intent.clone(), outcome, due_at };
    assert_eq!(sale.tell(other(declined())).unwrap().events, []);
    sale.tell(other(paid())).unwrap();
    assert_eq!(sale.stands(booking), ("confirmed", "manual", 4500));
    assert_eq!(sale.resolve(booking, Resolution::Paid).unwrap(), ["payment_captured"]);
}

#[test]
fn the_first_payment_may_move_the_end_of_the_hold_and_only_the_first() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[2])]));
    let hold = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    sale.tick_ms(i64::from(TTL_S) * 1000 - 1000);
    let booking = sale.begin(hold).unwrap();
    assert_eq!(sale.get(hold).expires_at, sale.now.plus_s(TERMS.grace_s));
    sale.hear(booking, declined());
    sale.tick_ms(1000);
    let before = sale.get(hold).expires_at;
    sale.begin(hold).unwrap();
    assert_eq!(sale.get(hold).expires_at, before);
}

#[test]
fn a_hold_that_is_being_paid_is_not_for_anything_else() {
    let (mut sale, hold, booking) = paying();
    let taken = Err(Refusal::AlreadyBooked { booking });
    assert_eq!(sale.confirm(hold), taken);
    assert_eq!(sale.begin(hold), taken);
    for command in [Command::ExtendHold { hold }, Command::ReleaseHold { hold }] {
        assert_eq!(sale.tell(command).map(|_| booking), taken);
    }
    assert_eq!(sale.hold("alice", seats("hall", &["A-1"])), Ok(hold), "asking again gives the same one");
}

#[test]
fn what_is_free_is_not_paid_through_a_provider() {
    let mut free = hall("hall", &[("A", &[2])]);
    let holdfast_domain::InventoryDef::Seats(sections) = &mut free.inventory else { unreachable!() };
    sections[0].price = Money::ZERO;
    let mut sale = Sale::new().with(free);
    let hold = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    assert!(matches!(sale.begin(hold), Err(Refusal::Invalid(_))));
    let booking = sale.confirm(hold).unwrap();
    assert_eq!(sale.state.booking(booking).unwrap().state, BookingState::Confirmed);
    let due_at = sale.now;
    assert!(matches!(sale.tell(Command::DeferPayment { booking, due_at }), Err(Refusal::Invalid(_))));
    assert!(sale.state.offer(&id("hall")).is_some());
    assert!(PaymentState::ALL.iter().all(|state| PaymentState::named(state.as_str()) == Some(*state)));
}
