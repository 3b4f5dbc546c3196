//! What a request wants, in the terms of a gate: numbers of units and quantities, offer by offer.
//!
//! A gate judges only what it understands whole. A request that no state of the sale could make right, an unknown name
//! or a wrong shape, has no wish: the ledger words that refusal.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant as Deadline},
};

use holdfast_domain::{
    Ask, Command, HoldId, HolderId, Inventory, Kind, Line, Money, Offer, OfferId, Pick, UnitNo, Version,
    decide::named_line,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Claim, in_time};
use crate::ledger::{Ledger, Request};

/// The most units a gate looks at in one request; larger ones are few, and the ledger's.
const MOST_UNITS: usize = 1024;

/// Offers remembered at a time; a shop with more asks more often.
const MOST_OFFERS: usize = 4096;

#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) hold: HoldId,
    pub(crate) holder: HolderId,
    /// By offer, in the order in which the request names them.
    pub(crate) parts: Vec<Part>,
    /// Until when anybody waits for it.
    pub(crate) deadline: Deadline,
}

/// What is wanted of one offer.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) offer: Arc<Offer>,
    /// None where the request leaves some of the choice to us: its seats are judged together, by the ledger.
    pub(crate) lines: Vec<Line>,
    /// Where in the request each of the lines stands.
    places: Vec<usize>,
    /// What it adds to the holder's stake.
    pub(crate) stake: u64,
}

impl Part {
    pub(crate) fn id(&self) -> &OfferId {
        self.offer.id()
    }

    /// Where in the request the line stands that wants this unit.
    pub(crate) fn place_of(&self, unit: UnitNo) -> Option<usize> {
        let at = self.lines.iter().position(|line| line.units().any(|claimed| claimed == unit))?;
        self.places.get(at).copied()
    }

    pub(crate) fn units(&self) -> impl Iterator<Item = (UnitNo, u32)> {
        self.lines.iter().flat_map(|line| line.units().map(|unit| (unit, line.qty)))
    }

    fn names_a_unit_twice(&self) -> bool {
        if self.lines.len() < 2 {
            return false;
        }
        let mut lines: Vec<_> = self.lines.iter().collect();
        lines.sort_unstable_by_key(|line| line.first);
        lines.windows(2).any(|two| two[0].overlaps(two[1]))
    }
}

impl Wish {
    fn new(
        hold: HoldId,
        holder: HolderId,
        asks: &[Ask],
        offers: &[Arc<Offer>],
        deadline: Deadline,
    ) -> Option<Self> {
        let mut wish = Self { hold, holder, parts: Vec::with_capacity(1), deadline };
        let currency = offers.first()?.currency();
        let open_choice = asks.iter().any(|ask| matches!(ask.pick, Pick::Best { .. }));
        for (place, (ask, offer)) in asks.iter().zip(offers).enumerate() {
            let line = named_line(offer, ask).ok()?;
            let qty = line.as_ref().map_or_else(|| best_qty(ask), |line| line.qty);
            let seat_by_number = offer.kind() == Kind::Seats && line.is_some();
            if qty == 0
                || (seat_by_number && qty != 1)
                || offer.currency() != currency
                || !has_category(offer, ask)
            {
                return None;
            }
            let part = wish.part(offer);
            part.stake += u64::from(qty);
            part.places.extend(line.is_some().then_some(place));
            part.lines.extend(line);
        }
        // A sum that nobody could charge is the ledger's to refuse, whatever else stands in the way.
        let mut lines = wish.parts.iter().flat_map(|part| &part.lines);
        lines.try_fold(Money::ZERO, |sum, line| sum.plus(line.price.times(line.qty)?))?;
        let too_much = wish.parts.iter().flat_map(Part::units).nth(MOST_UNITS).is_some();
        if too_much || wish.parts.iter().any(Part::names_a_unit_twice) {
            return None;
        }
        if open_choice {
            wish.parts.iter_mut().for_each(|part| part.lines.clear());
        }
        Some(wish)
    }

    /// What is wanted of one part, as the claim that it would be.
    pub(crate) fn claim(&self, part: &Part) -> Claim {
        Claim {
            hold: self.hold,
            holder: self.holder.clone(),
            units: part.units().collect(),
            stake: part.stake,
            until: None,
            version: Version::default(),
        }
    }

    fn part(&mut self, offer: &Arc<Offer>) -> &mut Part {
        let at = self.parts.iter().position(|part| part.id() == offer.id()).unwrap_or_else(|| {
            self.parts.push(Part {
                offer: Arc::clone(offer),
                lines: Vec::with_capacity(1),
                places: Vec::with_capacity(1),
                stake: 0,
            });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }
}

fn has_category(offer: &Offer, ask: &Ask) -> bool {
    match (&ask.pick, offer.inventory()) {
        (Pick::Best { category: Some(wanted), .. }, Inventory::Seats(plan)) => {
            plan.sections().iter().any(|section| section.category == *wanted)
        }
        _ => true,
    }
}

fn best_qty(ask: &Ask) -> u32 {
    match ask.pick {
        Pick::Best { qty, .. } => qty,
        _ => 0,
    }
}

/// Reads wishes, remembering the shape of offers for a moment: units never change their numbers.
#[derive(Debug)]
pub(crate) struct Wishes {
    ledger: Arc<dyn Ledger>,
    believed: Duration,
    offers: Mutex<HashMap<OfferId, (Arc<Offer>, Instant)>>,
}

impl Wishes {
    pub(crate) fn new(ledger: Arc<dyn Ledger>, believed: Duration) -> Self {
        Self { ledger, believed, offers: Mutex::default() }
    }

    /// The wish of a request for a hold; none in time is none.
    pub(crate) async fn read(&self, request: &Request) -> Option<Wish> {
        let Command::PlaceHold { hold, holder, asks } = &request.command else { return None };
        let mut offers = Vec::with_capacity(asks.len());
        for ask in asks {
            offers.push(self.offer(&ask.offer, request.deadline).await?);
        }
        Wish::new(*hold, holder.clone(), asks, &offers, request.deadline)
    }

    async fn offer(&self, id: &OfferId, deadline: Deadline) -> Option<Arc<Offer>> {
        let fresh = |at: &Instant| at.elapsed() < self.believed;
        let known =
            self.offers.lock().get(id).filter(|(_, at)| fresh(at)).map(|(offer, _)| Arc::clone(offer));
        if known.is_some() {
            return known;
        }
        let offer = in_time(deadline, self.ledger.offer(id)).await?.ok()??.offer;
        let mut offers = self.offers.lock();
        if offers.len() >= MOST_OFFERS {
            offers.clear();
        }
        offers.insert(id.clone(), (Arc::clone(&offer), Instant::now()));
        Some(offer)
    }
}
