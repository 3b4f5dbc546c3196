//! What the searches and claims that run in the writer's thread cost, in nanoseconds a call:
//! `cargo run --release -p holdfast-domain --example measure`. A measurement to read, not a test.

use std::{hint::black_box, sync::Arc, time::Instant};

use holdfast_domain::{
    Actor, Ask, Command, Currency, Decision, Event, HoldId, HolderId, InventoryDef, Moment, Money, Offer,
    OfferDef, OfferId, Pick, Refusal, State, UnitNo, apply, decide,
    schedule::{Calendar, CalendarDef, HoursDef, Service},
    seat_plan::{RowDef, SeatPlan, SectionDef},
    seating::{Vacancy, alternatives, best},
};

fn main() {
    for (name, rows, seats) in [("20,480 seats", 160, 128), ("1,000,000 seats", 10_000, 100)] {
        println!("{name}");
        let mut hall = Hall::new(rows, seats);
        seating(&hall, "all free");
        hall.fill(|unit| unit % 7 < 5);
        seating(&hall, "5 of 7 taken");
        hall.fill(|unit| unit % 2 == 0);
        seating(&hall, "no two side by side");
        let last = hall.plan.seats() - 1;
        hall.fill(|unit| unit != last);
        seating(&hall, "one left, at the far end");
        hall.fill(|_| true);
        seating(&hall, "sold out");
    }
    schedule();
    deciding();
}

fn seating(hall: &Hall, what: &str) {
    let one = time(|| alternatives(&hall.plan, hall, black_box(&[40]), 3));
    let pair = time(|| alternatives(&hall.plan, hall, black_box(&[40, 41]), 3));
    let best_one = time(|| best(&hall.plan, hall, black_box(1), None));
    let best_four = time(|| best(&hall.plan, hall, black_box(4), None));
    println!(
        "  {what:<26} instead of 1: {one:>9} ns   of 2: {pair:>9} ns   best 1: {best_one:>9} ns   best 4: {best_four:>9} ns"
    );
}

fn schedule() {
    let days = ["mon", "tue", "wed", "thu", "fri"].map(String::from).into();
    let mut def = CalendarDef {
        timezone: "Europe/Berlin".into(),
        grid_minutes: 15,
        hours: vec![HoursDef { days, from: "09:00".into(), to: "17:00".into() }],
        closed: vec![],
        capacity: 1,
        services: vec![Service {
            key: "consult".into(),
            minutes: 30,
            buffer_before_minutes: 0,
            buffer_after_minutes: 15,
            price: Money::ZERO,
        }],
        cut: None,
    };
    let calendar = Calendar::new(&mut def).expect("a sound calendar");
    let monday = Moment::from_s(1_794_816_000);
    let around = calendar.span(0, monday).expect("a start").unit;
    let span = time(|| calendar.span(0, black_box(monday)));
    let near = time(|| calendar.nearest_starts(0, black_box(around), Moment::MIN, 3, &|_| None));
    let none = time(|| {
        calendar.nearest_starts(0, black_box(around), Moment::MIN, 3, &|cells| {
            Some(cells.start - 40..cells.end + 40)
        })
    });
    let key = time(|| calendar.key(black_box(around)));
    println!("calendar\n  span {span} ns   nearest of many {near} ns   of none {none} ns   key {key} ns");
}

/// One hold at a time on a stadium: lost, won and written into the state, given back.
fn deciding() {
    let rows = (0..160).map(|at| RowDef::new(format!("R{at}"), 128));
    let (name, category) = ("Stand", "A");
    let inventory = InventoryDef::Seats(vec![SectionDef::new(name, category, Money::ZERO, rows)]);
    let mut sale = Sale::new(inventory);
    println!("deciding on 20,480 seats");
    (0..10_000).for_each(|n| sale.win(n * 2));
    let lost = time(|| sale.decide(black_box(40)));
    let won = time(|| sale.decide(black_box(41)));
    let mut next = 0;
    let folded = time(|| {
        next = (next + 1) % 10_000;
        sale.win(next * 2 + 1);
        sale.give_back(next * 2 + 1);
    });
    sale.now = sale.now.plus_s(600);
    (10_000..10_010).for_each(|n| sale.win(n * 2));
    let lost_overdue = time(|| sale.decide(black_box(20_000)));
    println!(
        "  lost {lost} ns   lost, 10,000 expired unswept {lost_overdue} ns   won {won} ns   placed and released {folded} ns"
    );
}

struct Sale {
    state: State,
    now: Moment,
}

impl Sale {
    fn new(inventory: InventoryDef) -> Self {
        let def = OfferDef {
            id: OfferId::new("stadium").expect("a name"),
            name: "Stadium".into(),
            currency: Currency::new("EUR").expect("a currency"),
            hold_ttl_s: 600,
            limit_per_holder: Some(6),
            opens_at: None,
            closes_at: None,
            inventory,
        };
        let offer = Arc::new(Offer::new(def).expect("a sound offer"));
        let mut sale = Self { state: State::default(), now: Moment::from_s(1_794_816_000) };
        sale.fold(&[Event::OfferCreated { offer }]);
        sale
    }

    fn fold(&mut self, events: &[Event]) {
        events.iter().for_each(|event| apply(&mut self.state, event, self.now));
    }

    fn decide(&self, seat: u32) -> Result<Decision, Refusal> {
        let holder = HolderId::new(&format!("buyer-{seat}")).expect("a name");
        let pick = Pick::Unit { key: format!("R{}-{}", seat / 128, seat % 128 + 1), qty: 1 };
        let asks = vec![Ask { offer: OfferId::new("stadium").expect("a name"), pick }];
        let command = Command::PlaceHold { hold: HoldId::from_bits(seat.into()), holder, asks };
        decide(&self.state, &command, &Actor::System, self.now)
    }

    fn win(&mut self, seat: u32) {
        let decision = self.decide(seat).expect("a free seat");
        self.fold(&decision.events);
    }

    fn give_back(&mut self, seat: u32) {
        self.fold(&[Event::HoldReleased { hold: HoldId::from_bits(seat.into()) }]);
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn time<T>(mut call: impl FnMut() -> T) -> u128 {
    let mut calls = 1;
    loop {
        let begun = Instant::now();
        (0..calls).for_each(|_| drop(black_box(call())));
        let took = begun.elapsed();
        if took.as_millis() >= 50 {
            return took.as_nanos() / calls;
        }
        calls *= 2;
    }
}

struct Hall {
    plan: SeatPlan,
    taken: Vec<bool>,
    free_in_row: Vec<u32>,
    widest_in_row: Vec<u32>,
    free: u64,
}

impl Hall {
    fn new(rows: u32, seats: u32) -> Self {
        let rows = (0..rows).map(|at| RowDef::new(format!("R{at}"), seats));
        let (name, category) = ("Stand", "A");
        let mut sections = [SectionDef::new(name, category, Money::ZERO, rows)];
        let plan = SeatPlan::new(&mut sections).expect("a sound plan");
        let mut hall = Self { plan, taken: vec![], free_in_row: vec![], widest_in_row: vec![], free: 0 };
        hall.fill(|_| false);
        hall
    }

    fn fill(&mut self, taken: impl Fn(UnitNo) -> bool) {
        self.taken = (0..self.plan.seats()).map(taken).collect();
        let free_in =
            |units: std::ops::Range<UnitNo>| units.filter(|&unit| !self.taken[unit as usize]).count();
        self.free_in_row = self.plan.rows().iter().map(|row| free_in(row.units()) as u32).collect();
        let widest_in = |units: std::ops::Range<UnitNo>| {
            let seats = &self.taken[units.start as usize..units.end as usize];
            seats.split(|&taken| taken).map(<[bool]>::len).max().unwrap_or(0)
        };
        self.widest_in_row = self.plan.rows().iter().map(|row| widest_in(row.units()) as u32).collect();
        self.free = self.free_in_row.iter().map(|&free| u64::from(free)).sum();
    }
}

impl Vacancy for Hall {
    fn is_free(&self, unit: UnitNo) -> bool {
        !self.taken[unit as usize]
    }

    fn free_in_row(&self, row: usize) -> u32 {
        self.free_in_row[row]
    }

    fn widest_in_row(&self, row: usize) -> u32 {
        self.widest_in_row[row]
    }

    fn free(&self) -> u64 {
        self.free
    }
}
