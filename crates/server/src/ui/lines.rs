//! What is held or booked, line by line, in words.

use holdfast_domain::{Currency, Inventory, Line, Offer};

use super::words;

/// One line of a hold or a booking.
pub(super) struct LineWords {
    pub offer: String,
    pub name: String,
    pub what: String,
    /// Where and what it is, if there is more to say.
    pub more: Option<String>,
    /// When it begins, for the visitor's own clocks.
    pub at: Option<String>,
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
            at: begins(line, offer),
            qty: line.qty,
            sum: words::money(sum, currency),
            again: again(line, offer),
        }
    }
}

fn described(line: &Line, offer: &Offer) -> (String, Option<String>) {
    match offer.inventory() {
        Inventory::Seats(plan) => {
            let section = plan.section_of(line.unit);
            (words::seat(plan, line.unit), Some(section.name.clone()))
        }
        Inventory::Stock(lines) => (lines[line.unit as usize].key.clone(), None),
        Inventory::Slots(calendar) => {
            // When it is matters most; whose clocks show that is said with it.
            let begins = calendar.begins(line.unit);
            let zone = match calendar.twin(begins) {
                // The time says it already.
                Some(_) => calendar.timezone().to_owned(),
                None => {
                    format!("{}, {}", calendar.timezone(), words::offset(calendar.local(begins).offset_s))
                }
            };
            let service = line.service.and_then(|at| calendar.services().get(usize::from(at)));
            let what =
                service.map(|service| format!("{}, {} min", words::capital(&service.key), service.minutes));
            let more = [what, Some(zone)].into_iter().flatten().collect::<Vec<_>>().join(" · ");
            (words::day_and_time(calendar, begins), Some(more))
        }
    }
}

fn begins(line: &Line, offer: &Offer) -> Option<String> {
    match offer.inventory() {
        Inventory::Slots(calendar) => Some(calendar.begins(line.unit).to_string()),
        Inventory::Seats(_) | Inventory::Stock(_) => None,
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
