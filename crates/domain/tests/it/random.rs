//! Random sales: every invariant holds after every command, and no answer depends on the sweep.

use holdfast_domain::{
    BookingId, Command, Currency, Decision, Event, HoldId, IntentId, Moment, Money, PayTerms, PaymentOutcome,
    Reason, RefundOutcome, Refusal, Resolution,
};
use proptest::prelude::*;

use crate::sale::{Sale, TTL_S, at, best, calendar, hall, id, slot, stock, taken, unit};

#[derive(Debug, Clone)]
enum Step {
    Seats { who: u8, first: u32, count: u32 },
    Best { who: u8, qty: u32, category: Option<bool> },
    Stock { who: u8, qty: u32 },
    Slot { who: u8, quarter: i64, long: bool },
    Mixed { who: u8, seat: u32, qty: u32, quarter: i64 },
    Extend(prop::sample::Index),
    Release(prop::sample::Index),
    Leave(prop::sample::Index, u32),
    Return(prop::sample::Index),
    Confirm(prop::sample::Index),
    Cancel(prop::sample::Index),
    Pay(prop::sample::Index),
    Say(prop::sample::Index, Said),
    Block(u32),
    Unblock(u32),
    Tidy(usize),
    Tick(i64),
}

/// What is reported of a payment, rightly or wrongly.
#[derive(Debug, Clone, Copy)]
enum Said {
    Intent,
    Processing,
    Authorized,
    Succeeded,
    WrongAmount,
    OtherIntent,
    Declined,
    Canceled,
    Doubtful,
    Refunded,
    RefundPending,
    RefundAbandoned,
    Deferred,
    Resolved(Resolution),
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        1 => Just(Said::Intent),
        1 => Just(Said::Processing),
        1 => Just(Said::Authorized),
        4 => Just(Said::Succeeded),
        1 => Just(Said::WrongAmount),
        1 => Just(Said::OtherIntent),
        2 => Just(Said::Declined),
        1 => Just(Said::Canceled),
        1 => Just(Said::Doubtful),
        2 => Just(Said::Refunded),
        1 => Just(Said::RefundPending),
        1 => Just(Said::RefundAbandoned),
        1 => Just(Said::Deferred),
        1 => Just(Said::Resolved(Resolution::Retry)),
        1 => Just(Said::Resolved(Resolution::Refunded)),
        1 => Just(Said::Resolved(Resolution::Paid)),
    ]
}

impl Said {
    fn command(self, booking: BookingId, price: Option<Money>, now: Moment) -> Command {
        let due_at = now.plus_s(30);
        let reason = || Reason::new("because");
        let intent = |name: &str| IntentId::new(&format!("{name}-{booking}")).expect("a name");
        let euros = Currency::new("EUR").expect("a currency");
        let wrong = Money::new(price.map_or(1, |price| price.minor() + 1)).expect("little");
        let settle = |name: &str, outcome| Command::SettlePayment {
            booking,
            intent: Some(intent(name)),
            outcome,
            due_at,
        };
        let paid = PaymentOutcome::Succeeded { amount: price.unwrap_or_default(), currency: euros };
        let refund = |outcome| Command::NoteRefund { booking, outcome, due_at };
        match self {
            Self::Intent => Command::NoteIntent { booking, intent: intent("pi"), due_at },
            Self::Processing => settle("pi", PaymentOutcome::Processing),
            Self::Authorized => settle("pi", PaymentOutcome::Authorized),
            Self::Succeeded => settle("pi", paid),
            Self::WrongAmount => settle("pi", PaymentOutcome::Succeeded { amount: wrong, currency: euros }),
            Self::OtherIntent => settle("other", paid),
            Self::Declined => settle("pi", PaymentOutcome::Declined { reason: reason() }),
            Self::Canceled => settle("pi", PaymentOutcome::Canceled),
            Self::Doubtful => settle("pi", PaymentOutcome::Doubtful { why: reason() }),
            Self::Refunded => refund(RefundOutcome::Succeeded),
            Self::RefundPending => refund(RefundOutcome::Pending),
            Self::RefundAbandoned => refund(RefundOutcome::Abandoned { why: reason() }),
            Self::Deferred => Command::DeferPayment { booking, due_at },
            Self::Resolved(how) => Command::ResolvePayment { booking, how },
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..4u8;
    prop_oneof![
        4 => (who.clone(), 1..13u32, 1..4u32).prop_map(|(who, first, count)| Step::Seats { who, first, count }),
        4 => (who.clone(), 1..6u32, any::<Option<bool>>())
            .prop_map(|(who, qty, category)| Step::Best { who, qty, category }),
        3 => (who.clone(), 1..4u32).prop_map(|(who, qty)| Step::Stock { who, qty }),
        3 => (who.clone(), 0..6i64, any::<bool>())
            .prop_map(|(who, quarter, long)| Step::Slot { who, quarter, long }),
        2 => (who, 1..13u32, 1..3u32, 0..6i64)
            .prop_map(|(who, seat, qty, quarter)| Step::Mixed { who, seat, qty, quarter }),
        1 => any::<prop::sample::Index>().prop_map(Step::Extend),
        2 => any::<prop::sample::Index>().prop_map(Step::Release),
        2 => (any::<prop::sample::Index>(), 0..TTL_S * 2).prop_map(|(nth, keep_s)| Step::Leave(nth, keep_s)),
        2 => any::<prop::sample::Index>().prop_map(Step::Return),
        2 => any::<prop::sample::Index>().prop_map(Step::Confirm),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        3 => any::<prop::sample::Index>().prop_map(Step::Pay),
        8 => (any::<prop::sample::Index>(), said()).prop_map(|(nth, said)| Step::Say(nth, said)),
        1 => (1..13u32).prop_map(Step::Block),
        1 => (1..13u32).prop_map(Step::Unblock),
        1 => (0..4usize).prop_map(Step::Tidy),
        4 => (1..i64::from(TTL_S) * 700).prop_map(Step::Tick),
    ]
}

/// Twelve seats in three rows of two sections, five of stock, a calendar for two at a time.
fn sale() -> Sale {
    let mut limited = stock("fest", 5, 3000);
    limited.limit_per_holder = Some(3);
    limited.hold_ttl_s = TTL_S / 2;
    Sale::new().with(hall("hall", &[("A", &[5, 4]), ("B", &[3])])).with(limited).with(calendar(
        "dr-lee",
        2,
        &[("brief", 0, 15, 0), ("long", 15, 30, 15)],
    ))
}

fn seat_key(number: u32) -> String {
    match number {
        1..=5 => format!("A-{number}"),
        6..=9 => format!("B-{}", number - 5),
        _ => format!("C-{}", number - 9),
    }
}

#[derive(Debug)]
struct Run {
    sale: Sale,
    holds: Vec<HoldId>,
    bookings: Vec<BookingId>,
}

impl Run {
    fn command(&mut self, step: &Step) -> Option<Command> {
        let start = |quarter: i64| at("2026-11-16T10:00:00+01:00").plus_ms(quarter * 15 * 60_000);
        let name = |who: &u8| format!("holder-{who}");
        let hold_of = |nth: &prop::sample::Index, holds: &[HoldId]| {
            (!holds.is_empty()).then(|| holds[nth.index(holds.len())])
        };
        Some(match step {
            Step::Seats { who, first, count } => {
                let keys = (*first..first + count).filter(|&number| number <= 12).map(seat_key);
                let asks = keys.map(|key| unit("hall", &key, 1)).collect();
                self.sale.placing(&name(who), asks)
            }
            Step::Best { who, qty, category } => {
                let category = category.map(|a| if a { "A" } else { "B" });
                self.sale.placing(&name(who), vec![best("hall", *qty, category)])
            }
            Step::Stock { who, qty } => self.sale.placing(&name(who), vec![unit("fest", "GA", *qty)]),
            Step::Slot { who, quarter, long } => {
                let service = if *long { "long" } else { "brief" };
                self.sale.placing(&name(who), vec![slot("dr-lee", service, start(*quarter))])
            }
            Step::Mixed { who, seat, qty, quarter } => {
                let asks = vec![
                    unit("hall", &seat_key(*seat), 1),
                    unit("fest", "GA", *qty),
                    slot("dr-lee", "brief", start(*quarter)),
                ];
                self.sale.placing(&name(who), asks)
            }
            Step::Extend(nth) => Command::ExtendHold { hold: hold_of(nth, &self.holds)? },
            Step::Release(nth) => Command::ReleaseHold { hold: hold_of(nth, &self.holds)? },
            Step::Leave(nth, keep_s) => {
                Command::LeaveHold { hold: hold_of(nth, &self.holds)?, keep_s: *keep_s }
            }
            Step::Return(nth) => Command::ReturnToHold { hold: hold_of(nth, &self.holds)? },
            Step::Confirm(nth) => {
                let booking = BookingId::from_bits(self.bookings.len() as u128);
                Command::Confirm { booking, hold: hold_of(nth, &self.holds)? }
            }
            Step::Cancel(nth) => {
                let bookings = &self.bookings;
                Command::Cancel { booking: *bookings.get(nth.index(bookings.len().max(1)))? }
            }
            Step::Pay(nth) => {
                let booking = BookingId::from_bits(self.bookings.len() as u128);
                let terms = PayTerms { pin_s: 120, grace_s: 60, look_s: 30 };
                Command::BeginPayment { booking, hold: hold_of(nth, &self.holds)?, method: None, terms }
            }
            Step::Say(nth, said) => {
                let booking = *self.bookings.get(nth.index(self.bookings.len().max(1)))?;
                said.command(booking, self.sale.state.booking(booking).map(|of| of.amount), self.sale.now)
            }
            Step::Block(seat) => Command::Block { offer: id("hall"), units: vec![seat_key(*seat)] },
            Step::Unblock(seat) => Command::Unblock { offer: id("hall"), units: vec![seat_key(*seat)] },
            Step::Tidy(limit) => Command::Tidy { limit: *limit },
            Step::Tick(_) => return None,
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        if let Step::Tick(ms) = step {
            self.sale.tick_ms(*ms);
        }
        let Some(command) = self.command(step) else { return Ok(()) };
        if !matches!(command, Command::Tidy { .. }) {
            let mut swept = self.sale.clone();
            swept.tell(Command::Tidy { limit: usize::MAX }).expect("tidying is always possible");
            prop_assert_eq!(gist(self.sale.decide(&command)), gist(swept.decide(&command)));
        }
        if let Ok(decision) = self.sale.tell(command) {
            for event in decision.events {
                match event {
                    Event::HoldPlaced(placed) => self.holds.push(placed.hold),
                    Event::BookingConfirmed { booking, .. } if !self.bookings.contains(&booking) => {
                        self.bookings.push(booking);
                    }
                    Event::PaymentBegun(begun) => self.bookings.push(begun.booking),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// An answer without the expiries it wrote down on the way.
fn gist(answer: Result<Decision, Refusal>) -> Result<(Vec<u32>, usize), Refusal> {
    let other = |event: &&Event| !matches!(event, Event::HoldExpired { .. });
    answer.map(|decision| (taken(&decision), decision.events.iter().filter(other).count()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_invariant_holds_and_no_answer_waits_for_the_sweep(steps in prop::collection::vec(step(), 1..80)) {
        let mut run = Run { sale: sale(), holds: vec![], bookings: vec![] };
        for step in &steps {
            run.step(step)?;
        }
    }
}
