//! What is on sale: an offer, checked whole when it is made and trusted ever after.
//!
//! Seats, slots and stock are one model. An offer has units, numbered densely from 0 in the order of its
//! definition (seats, stock) or by time (slots); a unit has a capacity; a hold claims quantities of units.
//! The three kinds differ only in how a unit is named, priced and found.

use std::{collections::HashSet, fmt};

use crate::{
    ids::OfferId,
    money::{Currency, Money},
    schedule::{Calendar, CalendarDef},
    seat_plan::{SeatPlan, SectionDef},
    text::{self, Invalid},
    time::Moment,
};

/// A unit's number within its offer. For slots it counts grid cells since 1970, so it is never dense there.
pub type UnitNo = u32;

pub const MAX_UNITS: u32 = 1_000_000;
pub const MAX_TTL_S: u32 = 30 * 24 * 3600;

/// The definition of an offer as it arrives: plain and unchecked. [`Offer::new`] checks all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferDef {
    pub id: OfferId,
    pub name: String,
    pub currency: Currency,
    pub hold_ttl_s: u32,
    pub limit_per_holder: Option<u32>,
    pub opens_at: Option<Moment>,
    pub closes_at: Option<Moment>,
    pub inventory: InventoryDef,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InventoryDef {
    Seats(Vec<SectionDef>),
    Stock(Vec<StockLine>),
    Slots(CalendarDef),
}

/// A counted line of stock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockLine {
    pub key: String,
    pub capacity: u32,
    pub price: Money,
}

/// A checked offer. Its units and prices never change meaning; [`Amendment`]s make a new one.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    def: OfferDef,
    inventory: Inventory,
}

/// The definition, made ready to answer questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Inventory {
    Seats(SeatPlan),
    Stock(Vec<StockLine>),
    Slots(Calendar),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Seats,
    Stock,
    Slots,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seats => "seats",
            Self::Stock => "stock",
            Self::Slots => "slots",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Offer {
    pub fn new(mut def: OfferDef) -> Result<Self, Invalid> {
        def.name = text::line("name", &def.name, 200)?;
        check_ttl(def.hold_ttl_s)?;
        check_limit(def.limit_per_holder)?;
        check_window(def.opens_at, def.closes_at)?;
        let inventory = match &mut def.inventory {
            InventoryDef::Seats(sections) => Inventory::Seats(SeatPlan::new(sections)?),
            InventoryDef::Stock(lines) => Inventory::Stock(checked_stock(lines)?),
            InventoryDef::Slots(calendar) => Inventory::Slots(Calendar::new(calendar)?),
        };
        Ok(Self { def, inventory })
    }

    pub fn def(&self) -> &OfferDef {
        &self.def
    }

    pub fn id(&self) -> &OfferId {
        &self.def.id
    }

    pub fn currency(&self) -> Currency {
        self.def.currency
    }

    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    pub fn kind(&self) -> Kind {
        match self.inventory {
            Inventory::Seats(_) => Kind::Seats,
            Inventory::Stock(_) => Kind::Stock,
            Inventory::Slots(_) => Kind::Slots,
        }
    }

    /// Open from `opens_at` on and until just before `closes_at`.
    pub fn on_sale(&self, now: Moment) -> bool {
        self.def.opens_at.is_none_or(|opens| opens <= now)
            && self.def.closes_at.is_none_or(|closes| now < closes)
    }

    /// How many units are numbered from 0; slots are numbered by time and have none.
    pub fn dense_units(&self) -> u32 {
        match &self.inventory {
            Inventory::Seats(plan) => plan.seats(),
            Inventory::Stock(lines) => lines.len() as u32,
            Inventory::Slots(_) => 0,
        }
    }

    pub fn capacity(&self, unit: UnitNo) -> u32 {
        match &self.inventory {
            Inventory::Seats(_) => 1,
            Inventory::Stock(lines) => lines[unit as usize].capacity,
            Inventory::Slots(calendar) => calendar.capacity(),
        }
    }

    /// The unit of that public key, if this offer has it. Any grid cell is a unit of a calendar, open or not.
    pub fn find(&self, key: &str) -> Option<UnitNo> {
        match &self.inventory {
            Inventory::Seats(plan) => plan.find(key),
            Inventory::Stock(lines) => lines.iter().position(|line| line.key == key).map(|at| at as u32),
            Inventory::Slots(calendar) => calendar.find(key),
        }
    }

    /// The public key of a unit: `A-12`, `GA`, `2026-11-16T08:00Z`.
    pub fn key(&self, unit: UnitNo) -> String {
        match &self.inventory {
            Inventory::Seats(plan) => plan.key(unit),
            Inventory::Stock(lines) => lines[unit as usize].key.clone(),
            Inventory::Slots(calendar) => calendar.key(unit),
        }
    }

    /// What one of a unit costs; slots are priced by service, not by cell.
    pub fn price(&self, unit: UnitNo) -> Option<Money> {
        match &self.inventory {
            Inventory::Seats(plan) => Some(plan.section_of(unit).price),
            Inventory::Stock(lines) => Some(lines[unit as usize].price),
            Inventory::Slots(_) => None,
        }
    }

    pub fn category(&self, unit: UnitNo) -> Option<&str> {
        match &self.inventory {
            Inventory::Seats(plan) => Some(&plan.section_of(unit).category),
            _ => None,
        }
    }

    /// This offer with the amendment's changes, checked like a new one.
    pub fn amended(&self, amendment: &Amendment) -> Result<Self, Invalid> {
        let mut def = self.def.clone();
        amendment.write_into(&mut def)?;
        Self::new(def)
    }
}

fn check_ttl(hold_ttl_s: u32) -> Result<(), Invalid> {
    match hold_ttl_s {
        1..=MAX_TTL_S => Ok(()),
        _ => Err(Invalid::new("hold_ttl_s", format!("must be 1 to {MAX_TTL_S}"))),
    }
}

fn check_limit(limit: Option<u32>) -> Result<(), Invalid> {
    match limit {
        Some(0) => Err(Invalid::new("limit_per_holder", "must be at least 1, or null for no limit")),
        _ => Ok(()),
    }
}

fn check_window(opens_at: Option<Moment>, closes_at: Option<Moment>) -> Result<(), Invalid> {
    match (opens_at, closes_at) {
        (Some(opens), Some(closes)) if closes <= opens => {
            Err(Invalid::new("closes_at", "must be after opens_at"))
        }
        _ => Ok(()),
    }
}

fn checked_stock(lines: &mut [StockLine]) -> Result<Vec<StockLine>, Invalid> {
    if lines.is_empty() || lines.len() > 10_000 {
        return Err(Invalid::new("stock.lines", "must have 1 to 10000 lines"));
    }
    let mut seen = HashSet::new();
    for (at, line) in lines.iter_mut().enumerate() {
        let within = |fault: Invalid| fault.within(format_args!("stock.lines[{at}]"));
        line.key = text::visible("key", &line.key, 64).map_err(within)?;
        if line.capacity == 0 || line.capacity > 1_000_000_000 {
            return Err(within(Invalid::new("capacity", "must be 1 to 1000000000")));
        }
        if !seen.insert(line.key.clone()) {
            return Err(within(Invalid::new("key", "stands twice in this offer")));
        }
    }
    Ok(lines.to_vec())
}

/// Changes to an offer that leave its units what they are. `None` leaves a field alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Amendment {
    pub name: Option<String>,
    pub hold_ttl_s: Option<u32>,
    pub limit_per_holder: Option<Option<u32>>,
    pub opens_at: Option<Option<Moment>>,
    pub closes_at: Option<Option<Moment>>,
    /// New capacities of stock lines, by key.
    pub capacities: Vec<(String, u32)>,
    /// The closed days of a calendar, as `YYYY-MM-DD`: the whole new list.
    pub closed: Option<Vec<String>>,
}

impl Amendment {
    fn write_into(&self, def: &mut OfferDef) -> Result<(), Invalid> {
        if let Some(name) = &self.name {
            def.name.clone_from(name);
        }
        def.hold_ttl_s = self.hold_ttl_s.unwrap_or(def.hold_ttl_s);
        def.limit_per_holder = self.limit_per_holder.unwrap_or(def.limit_per_holder);
        def.opens_at = self.opens_at.unwrap_or(def.opens_at);
        def.closes_at = self.closes_at.unwrap_or(def.closes_at);
        for (key, capacity) in &self.capacities {
            let InventoryDef::Stock(lines) = &mut def.inventory else {
                return Err(Invalid::new("stock", "only an offer of stock has lines"));
            };
            let unknown = || Invalid::new("stock.lines", format!("there is no line {key:?}"));
            lines.iter_mut().find(|line| line.key == *key).ok_or_else(unknown)?.capacity = *capacity;
        }
        if let Some(closed) = &self.closed {
            let InventoryDef::Slots(calendar) = &mut def.inventory else {
                return Err(Invalid::new("slots", "only an offer of slots has closed days"));
            };
            calendar.closed.clone_from(closed);
        }
        Ok(())
    }
}
