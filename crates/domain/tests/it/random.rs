//! Random sales: every invariant holds after every command, and no answer depends on the sweep.

use holdfast_domain::{BookingId, Command, Decision, Event, HoldId, Refusal};
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
    Confirm(prop::sample::Index),
    Cancel(prop::sample::Index),
    Block(u32),
    Unblock(u32),
    Tidy(usize),
    Tick(i64),
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
        2 => any::<prop::sample::Index>().prop_map(Step::Confirm),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
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
            Step::Confirm(nth) => {
                let booking = BookingId::from_bits(self.bookings.len() as u128);
                Command::Confirm { booking, hold: hold_of(nth, &self.holds)? }
            }
            Step::Cancel(nth) => {
                let bookings = &self.bookings;
                Command::Cancel { booking: *bookings.get(nth.index(bookings.len().max(1)))? }
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
                    Event::BookingConfirmed { booking, .. } => self.bookings.push(booking),
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
