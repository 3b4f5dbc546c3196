//! One unit that somebody asked about by name: what it is called, and how it stands.

use holdfast_domain::{Inventory, Offer, OfferId, UnitNo, UnitState};
use holdfast_engine::ledger::{OfferView, SnapshotUnits};

use super::super::words;
use crate::{
    app::App,
    problem::{Code, Problem},
};

pub(super) struct UnitNow {
    pub offer: OfferView,
    pub unit: UnitNo,
    pub key: String,
    pub state: UnitState,
}

impl UnitNow {
    pub(super) async fn find(app: &App, id: &OfferId, key: &str) -> Result<Self, Problem> {
        let offer = app.ledger().offer(id).await?.ok_or_else(|| Problem::unknown_offer(id.as_str()))?;
        let unknown = || Problem::new(Code::UnknownUnit, format!("{id} has no unit {key:?}."));
        let unit = offer.offer.find(key).ok_or_else(unknown)?;
        let state = state_of(app, &offer.offer, unit).await?;
        Ok(Self { offer, unit, key: key.to_owned(), state })
    }

    /// Whether only one can have it at a time.
    pub(super) fn is_undivided(&self) -> bool {
        self.offer.offer.capacity(self.unit) == 1
    }

    /// As people call it: a time by the clocks of its place, anything else by its key.
    pub(super) fn words(&self) -> String {
        match self.offer.offer.inventory() {
            Inventory::Slots(calendar) => {
                let start = words::day_and_time(calendar, calendar.begins(self.unit));
                format!("{start} ({})", calendar.timezone())
            }
            Inventory::Seats(_) | Inventory::Stock(_) => self.key.clone(),
        }
    }
}

async fn state_of(app: &App, offer: &Offer, unit: UnitNo) -> Result<UnitState, Problem> {
    let unknown = || Problem::unknown_offer(offer.id().as_str());
    let snapshot = app.ledger().snapshot(offer.id(), Some(unit..unit + 1)).await?.ok_or_else(unknown)?;
    let at = match &snapshot.units {
        SnapshotUnits::Dense(units) => units[unit as usize],
        SnapshotUnits::Cells(cells) => cells.first().map(|&(_, unit)| unit).unwrap_or_default(),
    };
    Ok(at.state(offer.capacity(unit)))
}
