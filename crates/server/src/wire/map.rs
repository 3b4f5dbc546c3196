//! The live map on the wire: a layout that never changes, and the states of its seats at two bits each.

use base64::{Engine, prelude::BASE64_STANDARD};
use holdfast_domain::{Moment, Offer, Unit, UnitState, seat_plan::SeatPlan};
use holdfast_engine::ledger::Snapshot;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};

use super::{Shown, offer::unless_zero, schema};
use crate::problem::Problem;

/// Asking for the layout by its hash makes the answer immutable.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MapQuery {
    /// The layout's hash, as in `map/status`.
    #[param(pattern = "^[0-9a-f]{32}$")]
    v: Option<String>,
}

impl MapQuery {
    /// The hash that was asked for; an older layout's is as good as none.
    pub(crate) fn hash(self) -> Result<Option<String>, Problem> {
        let is_hash =
            |text: &String| text.len() == 32 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        match self.v {
            Some(text) if !is_hash(&text) => {
                Err(Problem::invalid("v: must be a layout's hash, as in map/status"))
            }
            asked => Ok(asked),
        }
    }
}

/// Where the seats are. Seat `n` of a row has the number `first + n - 1`, its place in `map/status`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MapLayout<'a> {
    #[schema(value_type = schema::OfferId)]
    offer: &'a str,
    #[schema(value_type = schema::Currency)]
    currency: &'a str,
    /// How many seats there are.
    seats: u32,
    categories: Vec<MapCategory<'a>>,
    sections: Vec<MapSection<'a>>,
}

/// A price category.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MapCategory<'a> {
    #[schema(value_type = schema::Category)]
    name: &'a str,
    /// What its seats cost, lowest first.
    #[schema(value_type = Vec<schema::Money>)]
    prices: Vec<u64>,
    seats: u32,
}

/// Rows of one category and price.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MapSection<'a> {
    #[schema(value_type = schema::SectionName)]
    name: &'a str,
    #[schema(value_type = schema::Category)]
    category: &'a str,
    #[schema(value_type = schema::Money)]
    price: u64,
    rows: Vec<MapRow<'a>>,
    /// As in the offer's seat plan, where the organiser drew it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    x: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    y: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    angle: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    curve: Option<i32>,
}

/// A row of seats.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MapRow<'a> {
    #[schema(value_type = schema::RowName)]
    name: &'a str,
    /// The number of its seat 1.
    first: u32,
    seats: u32,
    /// The seats after which there is an aisle, in order.
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    #[schema(required = false)]
    gaps: &'a [u32],
}

impl<'a> MapLayout<'a> {
    pub(crate) fn of(offer: &'a Offer, plan: &'a SeatPlan) -> Self {
        let mut sections: Vec<_> = plan.sections().iter().map(MapSection::of).collect();
        let mut categories: Vec<MapCategory<'a>> = Vec::new();
        for row in plan.rows() {
            let section = &plan.sections()[row.section as usize];
            sections[row.section as usize].rows.push(MapRow {
                name: &row.name,
                first: row.first,
                seats: row.seats,
                gaps: &row.gaps,
            });
            let known = categories.iter().position(|category| category.name == section.category);
            let at = known.unwrap_or_else(|| {
                categories.push(MapCategory { name: &section.category, prices: vec![], seats: 0 });
                categories.len() - 1
            });
            categories[at].seats += row.seats;
            if let Err(place) = categories[at].prices.binary_search(&section.price.minor()) {
                categories[at].prices.insert(place, section.price.minor());
            }
        }
        let def = offer.def();
        Self {
            offer: def.id.as_str(),
            currency: def.currency.code(),
            seats: plan.seats(),
            categories,
            sections,
        }
    }
}

impl<'a> MapSection<'a> {
    fn of(section: &'a holdfast_domain::seat_plan::Section) -> Self {
        Self {
            name: &section.name,
            category: &section.category,
            price: section.price.minor(),
            rows: vec![],
            x: section.shape.at.map(|at| at.x),
            y: section.shape.at.map(|at| at.y),
            angle: unless_zero(section.shape.angle),
            curve: unless_zero(section.shape.curve),
        }
    }
}

/// The name of a layout: the first half of its content's hash, in hexadecimal.
pub(crate) fn hash(layout: &[u8]) -> String {
    Sha256::digest(layout)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The states of all seats at one version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MapStatus<'a> {
    #[schema(value_type = schema::OfferId)]
    offer: &'a str,
    #[schema(value_type = schema::Version)]
    version: Shown<holdfast_domain::Version>,
    #[schema(value_type = schema::Time)]
    as_of: Shown<Moment>,
    /// The hash of the layout that these states belong to: `map?v=…`.
    map: String,
    seats: usize,
    /// Base64 of two bits a seat, four seats a byte from the lowest bits up: 0 available, 1 held, 2 booked,
    /// 3 blocked.
    #[schema(content_encoding = "base64")]
    states: String,
}

impl<'a> MapStatus<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot, units: &[Unit], map: String) -> Self {
        Self {
            offer: snapshot.offer.id().as_str(),
            version: Shown(snapshot.version),
            as_of: Shown(snapshot.as_of),
            map,
            seats: units.len(),
            states: BASE64_STANDARD.encode(packed(units)),
        }
    }
}

/// One event of `map/stream`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the events of a stream to the OpenAPI document")]
pub(crate) struct MapEvent {
    /// The version that it leads to.
    #[schema(value_type = schema::Version)]
    id: String,
    /// `reset` when the viewer must read `map/status` again; a delta has no name.
    #[schema(nullable = false)]
    event: Option<String>,
    /// An object in JSON: `from`, `to` and `d` of a delta, `version` of a reset.
    data: String,
}

fn packed(units: &[Unit]) -> Vec<u8> {
    let byte = |four: &[Unit]| four.iter().rev().fold(0, |byte, unit| byte << 2 | bits(unit.state(1)));
    units.chunks(4).map(byte).collect()
}

const fn bits(state: UnitState) -> u8 {
    match state {
        UnitState::Available => 0,
        UnitState::Held => 1,
        UnitState::Booked => 2,
        UnitState::Blocked => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_seats_a_byte_from_the_lowest_bits_up() {
        let held = Unit { held: 1, ..Unit::default() };
        let booked = Unit { booked: 1, ..Unit::default() };
        let blocked = Unit { blocked: true, ..Unit::default() };
        assert_eq!(packed(&[held, Unit::default(), booked, blocked, held]), [0b11_10_00_01, 0b01]);
    }
}
