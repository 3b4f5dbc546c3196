//! What is held or booked, line by line, in words.

use holdfast_domain::{Currency, Inventory, Line, Offer};

use super::words;

/// One line of a hold or a booking.
pub(super) struct LineWords {
    pub offer: String,
    pub name: String,
    pub what: String,
    /// Where and when it is, if there is more to say.
    pub more: Option<String>,
    pub qty: u32,
    pub sum: String,
    /// What a form names it by, to ask for it again.
    pub again: Again,
}

/// The fields with which a line is asked for again.
pub(super) enum Again {
    Unit { unit: String, qty: u32 },
    Slot { service: String, start: String },
}

impl LineWords {
    pub(super) fn of(line: &Line, offer: &Offer, currency: Currency) -> Self {
        let (what, more) = described(line, offer);
        let sum = line.price.times(line.qty).unwrap_or(line.price);
        Self {
            offer: offer.id().to_string(),
            name: offer.def().name.clone(),
            what,
            more,
            qty: line.qty,
            sum: words::money(sum, currency),
            again: again(line, offer),
        }
    }
}

fn described(line: &Line, offer: &Offer) -> (String, Option<String>) {
    match offer.inventory() {
        Inventory::Seats(plan) => {
            let row = plan.row_of(line.unit);
            let section = plan.section_of(line.unit);
            let seat = format!("Row {}, seat {}", row.name, line.unit - row.first + 1);
            (seat, Some(section.name.clone()))
        }
        Inventory::Stock(lines) => (lines[line.unit as usize].key.clone(), None),
        Inventory::Slots(calendar) => {
            let service = line.service.and_then(|at| calendar.services().get(usize::from(at)));
            let what = service.map(|service| format!("{}, {} minutes", service.key, service.minutes));
            let start = words::day_and_time(calendar, calendar.begins(line.unit));
            let when = format!("{start} ({})", calendar.timezone());
            (what.unwrap_or_default(), Some(when))
        }
    }
}

fn again(line: &Line, offer: &Offer) -> Again {
    match (offer.inventory(), line.service) {
        (Inventory::Slots(calendar), Some(at)) => {
            let service = calendar.services().get(usize::from(at)).map(|service| service.key.clone());
            let start = calendar.local(calendar.begins(line.unit)).to_string();
            Again::Slot { service: service.unwrap_or_default(), start }
        }
        _ => Again::Unit { unit: offer.key(line.unit), qty: line.qty },
    }
}
