//! Offers on the wire: the shapes that organisers send and everyone reads.

use holdfast_domain::{
    Counts as DomainCounts, Inventory, InventoryDef, Moment, Offer as DomainOffer, StockLine, schedule,
    seat_plan,
};
use holdfast_engine::ledger::OfferView;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Shown, schema};

/// What sort of thing is sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Seats,
    Stock,
    Slots,
}

/// A seat plan: unit key = row name + `-` + seat number from 1.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seats {
    #[schema(min_items = 1)]
    pub(super) sections: Vec<Section>,
}

/// Rows of one category and price.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Section {
    #[schema(value_type = schema::SectionName)]
    pub(super) name: String,
    #[schema(value_type = schema::Category)]
    pub(super) category: String,
    #[schema(value_type = schema::Money)]
    pub(super) price: u64,
    #[schema(min_items = 1)]
    pub(super) rows: Vec<Row>,
    /// Where on the map the middle of its front row is, in widths of a seat rightwards; goes with `y`. Places count
    /// when every section has one. Nothing is decided by how a plan is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = -10000, maximum = 10000)]
    pub(super) x: Option<i32>,
    /// The same downwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = -10000, maximum = 10000)]
    pub(super) y: Option<i32>,
    /// Degrees by which it is turned clockwise; at 0 it looks up, and its later rows lie below its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = -180, maximum = 180)]
    pub(super) angle: Option<i32>,
    /// Degrees of the arc that its front row makes around what it looks at; 0 is straight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = -180, maximum = 180)]
    pub(super) curve: Option<i32>,
}

/// A row of seats.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    #[schema(value_type = schema::RowName)]
    pub(super) name: String,
    #[schema(value_type = schema::RowLength)]
    pub(super) seats: u32,
    /// The seats after which there is an aisle, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64, required = false)]
    pub(super) gaps: Vec<u32>,
}

/// Counted stock.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stock {
    #[schema(min_items = 1, max_items = 10000)]
    pub(super) lines: Vec<StockEntry>,
}

/// A line of stock.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StockEntry {
    #[schema(value_type = schema::Key)]
    pub(super) key: String,
    #[schema(value_type = schema::Capacity)]
    pub(super) capacity: u32,
    #[schema(value_type = schema::Money)]
    pub(super) price: u64,
}

/// A calendar of services.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slots {
    /// An IANA time zone.
    #[schema(example = "Europe/Berlin")]
    pub(super) timezone: String,
    /// Starts lie on this grid.
    #[schema(minimum = 1, maximum = 1440)]
    pub(super) grid_minutes: u32,
    #[schema(min_items = 1)]
    pub(super) hours: Vec<Hours>,
    /// Days without opening hours.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Day>)]
    pub(super) closed: Vec<String>,
    /// How many can be served at once.
    #[serde(default = "one")]
    #[schema(minimum = 1)]
    pub(super) capacity: u32,
    #[schema(min_items = 1)]
    pub(super) services: Vec<Service>,
}

const fn one() -> u32 {
    1
}

/// Opening hours on some days of the week.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hours {
    #[schema(value_type = Vec<Weekday>, min_items = 1)]
    pub(super) days: Vec<String>,
    #[schema(value_type = schema::TimeOfDay)]
    pub(super) from: String,
    #[schema(value_type = schema::TimeOfDay)]
    pub(super) to: String,
}

/// A day of the week.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "lists the values of a field to the OpenAPI document")]
pub(crate) enum Weekday {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// Something that can be booked for a time. A claim covers every grid cell of service and buffers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Service {
    #[schema(value_type = schema::Key)]
    pub(super) key: String,
    #[schema(minimum = 1)]
    pub(super) minutes: u32,
    #[serde(default)]
    #[schema(minimum = 0)]
    pub(super) buffer_before_minutes: u32,
    #[serde(default)]
    #[schema(minimum = 0)]
    pub(super) buffer_after_minutes: u32,
    #[schema(value_type = schema::Money)]
    pub(super) price: u64,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Seats => "seats",
            Self::Stock => "stock",
            Self::Slots => "slots",
        }
    }
}

/// Something on sale, without the definition of its units.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OfferSummary<'a> {
    #[schema(value_type = schema::OfferId)]
    id: &'a str,
    #[schema(value_type = schema::OfferName)]
    name: &'a str,
    #[schema(value_type = Kind)]
    kind: &'static str,
    #[schema(value_type = schema::Currency)]
    currency: &'a str,
    #[schema(value_type = schema::Ttl)]
    hold_ttl_s: u32,
    #[schema(value_type = Option<schema::HolderLimit>)]
    limit_per_holder: Option<u32>,
    #[schema(value_type = Option<schema::Time>)]
    opens_at: Option<Shown<Moment>>,
    #[schema(value_type = Option<schema::Time>)]
    closes_at: Option<Shown<Moment>>,
    #[schema(value_type = schema::Time)]
    created_at: Shown<Moment>,
    #[schema(value_type = schema::Version)]
    version: Shown<holdfast_domain::Version>,
    /// Of seats and stock; a calendar is counted by range, in `availability`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    counts: Option<Counts>,
}

/// Something on sale, with the definition of its units.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Offer<'a> {
    #[serde(flatten)]
    summary: OfferSummary<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    seats: Option<Seats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stock: Option<Stock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    slots: Option<Slots>,
}

/// Always available + held + booked + blocked = capacity.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Counts {
    #[schema(value_type = schema::Count)]
    capacity: u64,
    #[schema(value_type = schema::Count)]
    available: u64,
    #[schema(value_type = schema::Count)]
    held: u64,
    #[schema(value_type = schema::Count)]
    booked: u64,
    #[schema(value_type = schema::Count)]
    blocked: u64,
}

impl From<DomainCounts> for Counts {
    fn from(counts: DomainCounts) -> Self {
        let DomainCounts { capacity, available, held, booked, blocked } = counts;
        Self { capacity, available, held, booked, blocked }
    }
}

impl<'a> OfferSummary<'a> {
    pub(crate) fn of(view: &'a OfferView) -> Self {
        let def = view.offer.def();
        let dense = !matches!(view.offer.inventory(), Inventory::Slots(_));
        Self {
            id: def.id.as_str(),
            name: &def.name,
            kind: view.offer.kind().as_str(),
            currency: def.currency.code(),
            hold_ttl_s: def.hold_ttl_s,
            limit_per_holder: def.limit_per_holder,
            opens_at: def.opens_at.map(Shown),
            closes_at: def.closes_at.map(Shown),
            created_at: Shown(view.created_at),
            version: Shown(view.version),
            counts: dense.then(|| view.counts.into()),
        }
    }
}

impl<'a> Offer<'a> {
    pub(crate) fn of(view: &'a OfferView) -> Self {
        let mut offer = Self { summary: OfferSummary::of(view), seats: None, stock: None, slots: None };
        match &view.offer.def().inventory {
            InventoryDef::Seats(sections) => offer.seats = Some(Seats::of(sections)),
            InventoryDef::Stock(lines) => offer.stock = Some(Stock::of(lines)),
            InventoryDef::Slots(calendar) => offer.slots = Some(Slots::of(calendar)),
        }
        offer
    }
}

impl Seats {
    pub(crate) fn of(sections: &[seat_plan::SectionDef]) -> Self {
        let row = |row: &seat_plan::RowDef| Row {
            name: row.name.clone(),
            seats: row.seats,
            gaps: row.gaps.clone(),
        };
        let section = |section: &seat_plan::SectionDef| Section {
            name: section.name.clone(),
            category: section.category.clone(),
            price: section.price.minor(),
            rows: section.rows.iter().map(row).collect(),
            x: section.shape.at.map(|at| at.x),
            y: section.shape.at.map(|at| at.y),
            angle: unless_zero(section.shape.angle),
            curve: unless_zero(section.shape.curve),
        };
        Self { sections: sections.iter().map(section).collect() }
    }
}

/// Degrees that say something.
pub(super) fn unless_zero(degrees: i32) -> Option<i32> {
    (degrees != 0).then_some(degrees)
}

impl Stock {
    pub(crate) fn of(lines: &[StockLine]) -> Self {
        let entry = |line: &StockLine| StockEntry {
            key: line.key.clone(),
            capacity: line.capacity,
            price: line.price.minor(),
        };
        Self { lines: lines.iter().map(entry).collect() }
    }
}

impl Slots {
    fn of(calendar: &schedule::CalendarDef) -> Self {
        let hours = |hours: &schedule::HoursDef| Hours {
            days: hours.days.clone(),
            from: hours.from.clone(),
            to: hours.to.clone(),
        };
        let service = |service: &schedule::Service| Service {
            key: service.key.clone(),
            minutes: service.minutes,
            buffer_before_minutes: service.buffer_before_minutes,
            buffer_after_minutes: service.buffer_after_minutes,
            price: service.price.minor(),
        };
        Self {
            timezone: calendar.timezone.clone(),
            grid_minutes: calendar.grid_minutes,
            hours: calendar.hours.iter().map(hours).collect(),
            closed: calendar.closed.clone(),
            capacity: calendar.capacity,
            services: calendar.services.iter().map(service).collect(),
        }
    }
}

/// The key of a calendar's service, by its index.
pub(crate) fn service_key(offer: &DomainOffer, at: u16) -> Option<&str> {
    match offer.inventory() {
        Inventory::Slots(calendar) => {
            calendar.services().get(usize::from(at)).map(|service| service.key.as_str())
        }
        _ => None,
    }
}
