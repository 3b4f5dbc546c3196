//! What is on sale in a history, and the numbers by which the history knows it.

use std::{collections::HashMap, sync::Arc};

use holdfast_checker::{
    Claim,
    history::{UnitInfo, UnitRef},
};
use holdfast_domain::{
    Ask, Command, Currency, InventoryDef, Line, Money, Offer, OfferDef, OfferId, Pick, StockLine, UnitNo,
    schedule::{CalendarDef, HoursDef, Service},
    seat_plan::{RowDef, SectionDef},
};

use super::Dice;
use crate::story_start;

/// A row of seats, two lines of stock and two hours of somebody's time; holds last a second.
#[derive(Debug)]
pub struct Stage {
    pub offers: Vec<Arc<Offer>>,
    /// The offer and unit of each number.
    pub places: Vec<(OfferId, UnitNo)>,
    numbers: HashMap<(OfferId, UnitNo), UnitRef>,
}

const SEATS: u32 = 16;
const CELLS: u32 = 8;

impl Stage {
    pub fn new() -> Self {
        let price = Money::new(1000).expect("a small price");
        let rows = [RowDef::new("A", SEATS)];
        let section = SectionDef::new("Hall", "std", price, rows);
        let stock = |key: &str, capacity| StockLine { key: key.to_owned(), capacity, price };
        let calendar = CalendarDef {
            timezone: "UTC".to_owned(),
            grid_minutes: 15,
            hours: vec![HoursDef {
                days: vec!["mon".to_owned()],
                from: "08:00".to_owned(),
                to: "10:00".to_owned(),
            }],
            closed: vec![],
            capacity: 1,
            services: vec![Service {
                key: "visit".to_owned(),
                minutes: 30,
                buffer_before_minutes: 0,
                buffer_after_minutes: 0,
                price,
            }],
            cut: None,
        };
        let offers = vec![
            offer("hall", InventoryDef::Seats(vec![section])),
            offer("fest", InventoryDef::Stock(vec![stock("GA", 8), stock("VIP", 3)])),
            offer("visits", InventoryDef::Slots(calendar)),
        ];
        let first = offers[2].find("2026-11-16T08:00Z").expect("a cell of the calendar");
        let units: [std::ops::Range<UnitNo>; 3] = [0..SEATS, 0..2, first..first + CELLS];
        let places: Vec<_> = offers
            .iter()
            .zip(units)
            .flat_map(|(offer, units)| units.map(|unit| (offer.id().clone(), unit)))
            .collect();
        let numbers = places.iter().cloned().zip(0..).collect();
        Self { offers, places, numbers }
    }

    pub fn commands(&self) -> impl Iterator<Item = Command> {
        self.offers.iter().map(|offer| Command::CreateOffer { offer: Arc::clone(offer) })
    }

    pub fn units(&self) -> Vec<UnitInfo> {
        let info = |(id, unit): &(OfferId, UnitNo)| {
            let offer = self.offer(id);
            UnitInfo { name: format!("{id}/{}", offer.key(*unit)), capacity: offer.capacity(*unit) }
        };
        self.places.iter().map(info).collect()
    }

    pub fn offer(&self, id: &OfferId) -> &Offer {
        self.offers.iter().find(|offer| offer.id() == id).expect("an offer of this stage")
    }

    /// The number of a unit; `None` for a cell beyond the stage's two hours.
    pub fn number(&self, offer: &OfferId, unit: UnitNo) -> Option<UnitRef> {
        self.numbers.get(&(offer.clone(), unit)).copied()
    }

    pub fn claims(&self, lines: &[Line]) -> Vec<Claim> {
        let claims = lines.iter().flat_map(|line| line.units().map(move |unit| (line, unit)));
        claims
            .filter_map(|(line, unit)| Some(Claim { unit: self.number(&line.offer, unit)?, qty: line.qty }))
            .collect()
    }

    /// What the asks would claim, where they name it.
    pub fn asked(&self, asks: &[Ask]) -> Vec<Claim> {
        asks.iter().flat_map(|ask| self.asked_by(ask)).collect()
    }

    fn asked_by(&self, ask: &Ask) -> Vec<Claim> {
        let offer = self.offer(&ask.offer);
        match &ask.pick {
            Pick::Unit { key, qty } => {
                let unit = offer.find(key).and_then(|unit| self.number(&ask.offer, unit));
                unit.map(|unit| Claim { unit, qty: *qty }).into_iter().collect()
            }
            Pick::Slot { start: Ok(start), .. } => {
                let first = start.ms_since(story_start().plus_s(14 * 3600)) / (15 * 60 * 1000);
                let first = self.places.len() as u32 - CELLS + first as u32;
                (first..first + 2).map(|unit| Claim { unit, qty: 1 }).collect()
            }
            Pick::Best { .. } | Pick::Slot { .. } => Vec::new(),
        }
    }

    /// One to three lines, each of another thing; now and then the best there is.
    pub fn wish(&self, dice: &mut Dice) -> Vec<Ask> {
        let [hall, fest, visits] = [0, 1, 2].map(|at| self.offers[at].id().clone());
        let seat =
            |at: u32| Ask { offer: hall.clone(), pick: Pick::Unit { key: format!("A-{}", at + 1), qty: 1 } };
        let at = dice.below(SEATS.into()) as u32;
        match dice.below(10) {
            0..=3 => vec![seat(at)],
            4 => vec![seat(at), seat((at + 1) % SEATS), seat((at + 2) % SEATS)],
            5 => vec![Ask { offer: hall, pick: Pick::Best { qty: 2, category: None } }],
            6 | 7 => vec![self.stock(&fest, dice)],
            8 => vec![self.visit(&visits, dice)],
            _ => vec![seat(at), self.stock(&fest, dice), self.visit(&visits, dice)],
        }
    }

    fn stock(&self, fest: &OfferId, dice: &mut Dice) -> Ask {
        let (key, qty) = [("GA", 1), ("GA", 2), ("VIP", 1)][dice.below(3) as usize];
        Ask { offer: fest.clone(), pick: Pick::Unit { key: key.to_owned(), qty } }
    }

    fn visit(&self, visits: &OfferId, dice: &mut Dice) -> Ask {
        let start = story_start().plus_s(14 * 3600 + dice.below(u64::from(CELLS) - 1) as u32 * 900);
        Ask { offer: visits.clone(), pick: Pick::Slot { service: "visit".to_owned(), start: Ok(start) } }
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

fn offer(id: &str, inventory: InventoryDef) -> Arc<Offer> {
    let def = OfferDef {
        id: OfferId::new(id).expect("a valid id"),
        name: id.to_owned(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s: 1,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory,
    };
    Arc::new(Offer::new(def).expect("a valid offer"))
}
