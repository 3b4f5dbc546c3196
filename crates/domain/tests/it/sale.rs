//! A sale to play with: a state, a clock, and commands in few words. Every change is followed by a check of all
//! invariants.

use std::sync::Arc;

use holdfast_domain::{
    Actor, Ask, BookingId, Command, Currency, Decision, Event, Hold, HoldId, HolderId, InventoryDef, Moment,
    Money, Offer, OfferDef, OfferId, Pick, Refusal, State, StockLine, Subject, apply, decide,
    invariants::check,
    schedule::{CalendarDef, HoursDef, Service},
    seat_plan::{RowDef, SectionDef},
};

pub(crate) const TTL_S: u32 = 600;

#[derive(Debug, Clone)]
pub(crate) struct Sale {
    pub(crate) state: State,
    pub(crate) now: Moment,
    minted: u128,
}

impl Sale {
    /// On Monday 2026-11-16 at 07:00 in Berlin.
    pub(crate) fn new() -> Self {
        Self { state: State::default(), now: at("2026-11-16T07:00:00+01:00"), minted: 0 }
    }

    pub(crate) fn with(mut self, def: OfferDef) -> Self {
        let offer = Arc::new(Offer::new(def).expect("a sound offer"));
        self.tell(Command::CreateOffer { offer }).expect("a new offer");
        self
    }

    pub(crate) fn tick_ms(&mut self, ms: i64) {
        self.now = self.now.plus_ms(ms);
    }

    pub(crate) fn decide(&self, command: &Command) -> Result<Decision, Refusal> {
        decide(&self.state, command, &Actor::Key("test".into()), self.now)
    }

    /// Decides and applies.
    pub(crate) fn tell(&mut self, command: Command) -> Result<Decision, Refusal> {
        let decision = self.decide(&command)?;
        for event in &decision.events {
            apply(&mut self.state, event, self.now);
        }
        assert_eq!(check(&self.state), [], "after {command:?}");
        Ok(decision)
    }

    fn mint(&mut self) -> u128 {
        self.minted += 1;
        self.minted
    }

    pub(crate) fn placing(&mut self, who: &str, asks: Vec<Ask>) -> Command {
        Command::PlaceHold { hold: HoldId::from_bits(self.mint()), holder: holder(who), asks }
    }

    pub(crate) fn hold(&mut self, who: &str, asks: Vec<Ask>) -> Result<HoldId, Refusal> {
        let command = self.placing(who, asks);
        match self.tell(command)?.subject {
            Subject::Hold(id) => Ok(id),
            other => panic!("a hold was asked for, not {other:?}"),
        }
    }

    pub(crate) fn confirm(&mut self, hold: HoldId) -> Result<BookingId, Refusal> {
        let booking = BookingId::from_bits(self.mint());
        self.tell(Command::Confirm { booking, hold }).map(|_| booking)
    }

    pub(crate) fn get(&self, hold: HoldId) -> &Hold {
        self.state.hold(hold, self.now).expect("a known hold")
    }

    /// The keys of what a hold claims, in order of its lines.
    pub(crate) fn keys(&self, hold: HoldId) -> Vec<String> {
        let key =
            |line: &holdfast_domain::Line| self.state.offer(&line.offer).unwrap().offer().key(line.unit);
        self.get(hold).lines.iter().map(key).collect()
    }
}

pub(crate) fn at(instant: &str) -> Moment {
    Moment::from_ms(instant.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

pub(crate) fn id(name: &str) -> OfferId {
    OfferId::new(name).unwrap()
}

pub(crate) fn holder(name: &str) -> HolderId {
    HolderId::new(name).unwrap()
}

pub(crate) fn unit(offer: &str, key: &str, qty: u32) -> Ask {
    Ask { offer: id(offer), pick: Pick::Unit { key: key.into(), qty } }
}

pub(crate) fn seats(offer: &str, keys: &[&str]) -> Vec<Ask> {
    keys.iter().map(|key| unit(offer, key, 1)).collect()
}

pub(crate) fn best(offer: &str, qty: u32, category: Option<&str>) -> Ask {
    Ask { offer: id(offer), pick: Pick::Best { qty, category: category.map(String::from) } }
}

pub(crate) fn slot(offer: &str, service: &str, start: Moment) -> Ask {
    Ask { offer: id(offer), pick: Pick::Slot { service: service.into(), start: Ok(start) } }
}

fn offer(name: &str, inventory: InventoryDef) -> OfferDef {
    OfferDef {
        id: id(name),
        name: name.into(),
        currency: Currency::new("EUR").unwrap(),
        hold_ttl_s: TTL_S,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory,
    }
}

/// Sections of category and rows, each row as many seats: `&[("A", &[8, 8])]`. Rows are named A, B, …
pub(crate) fn hall(name: &str, sections: &[(&str, &[u32])]) -> OfferDef {
    let mut names = 'A'..='Z';
    let mut section = |category: &str, rows: &[u32]| {
        let rows = rows.iter().map(|&seats| RowDef::new(names.next().unwrap(), seats));
        SectionDef::new(category, category, Money::new(4500).unwrap(), rows)
    };
    let sections = sections.iter().map(|(category, rows)| section(category, rows)).collect();
    offer(name, InventoryDef::Seats(sections))
}

pub(crate) fn stock(name: &str, capacity: u32, price: u64) -> OfferDef {
    let line = StockLine { key: "GA".into(), capacity, price: Money::new(price).unwrap() };
    offer(name, InventoryDef::Stock(vec![line]))
}

/// Open all week 09:00–17:00 in Berlin on a grid of 15 minutes.
pub(crate) fn calendar(name: &str, capacity: u32, services: &[(&str, u32, u32, u32)]) -> OfferDef {
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].map(String::from).into();
    let service =
        |&(key, buffer_before_minutes, minutes, buffer_after_minutes): &(&str, u32, u32, u32)| Service {
            key: key.into(),
            minutes,
            buffer_before_minutes,
            buffer_after_minutes,
            price: Money::new(8000).unwrap(),
        };
    offer(
        name,
        InventoryDef::Slots(CalendarDef {
            timezone: "Europe/Berlin".into(),
            grid_minutes: 15,
            hours: vec![HoursDef { days, from: "09:00".into(), to: "17:00".into() }],
            closed: vec![],
            capacity,
            services: services.iter().map(service).collect(),
            cut: None,
        }),
    )
}

/// What a decision to hold would take, by unit.
pub(crate) fn taken(decision: &Decision) -> Vec<u32> {
    let placed = decision.events.iter().find_map(|event| match event {
        Event::HoldPlaced(placed) => Some(placed),
        _ => None,
    });
    placed.map_or_else(Vec::new, |placed| placed.lines.iter().map(|line| line.unit).collect())
}
