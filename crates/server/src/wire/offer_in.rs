//! What an organiser sends: a new offer, a change to one, units to take off sale. Parsed once into the domain's
//! own definitions, which check everything else.

use std::{borrow::Cow, sync::Arc};

use holdfast_domain::{
    Amendment, Currency, InventoryDef, Moment, Money, Offer, OfferDef, OfferId, StockLine, schedule,
    seat_plan, text::Invalid,
};
use holdfast_engine::mint;
use serde::Deserialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, OneOfBuilder, Ref, RefOr, Type,
        schema::{AdditionalProperties, Schema, SchemaType},
    },
};

use super::{
    given, key,
    offer::{Hours, Kind, Row, Seats, Section, Service, Slots, Stock, StockEntry},
    schema, time,
};
use crate::problem::Problem;

/// How long a hold lasts when an offer does not say.
const DEFAULT_TTL_S: u32 = 600;

/// Something to put on sale. Exactly the inventory of its kind is given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewOffer {
    #[serde(default)]
    id: Option<String>,
    name: String,
    kind: Kind,
    currency: String,
    #[serde(default)]
    hold_ttl_s: Option<u32>,
    #[serde(default)]
    limit_per_holder: Option<u32>,
    #[serde(default)]
    opens_at: Option<String>,
    #[serde(default)]
    closes_at: Option<String>,
    #[serde(default)]
    seats: Option<Seats>,
    #[serde(default)]
    stock: Option<Stock>,
    #[serde(default)]
    slots: Option<Slots>,
}

impl NewOffer {
    pub(crate) fn offer(self) -> Result<Arc<Offer>, Problem> {
        let inventory = self.inventory()?;
        let id = match &self.id {
            Some(id) => OfferId::new(id)?,
            None => readable_id(&self.name),
        };
        let def = OfferDef {
            id,
            name: self.name,
            currency: Currency::new(&self.currency)?,
            hold_ttl_s: self.hold_ttl_s.unwrap_or(DEFAULT_TTL_S),
            limit_per_holder: self.limit_per_holder,
            opens_at: moment("opens_at", self.opens_at.as_deref())?,
            closes_at: moment("closes_at", self.closes_at.as_deref())?,
            inventory,
        };
        Ok(Arc::new(Offer::new(def)?))
    }

    fn inventory(&self) -> Result<InventoryDef, Problem> {
        match (self.kind, &self.seats, &self.stock, &self.slots) {
            (Kind::Seats, Some(seats), None, None) => seats.def(),
            (Kind::Stock, None, Some(stock), None) => stock.def(),
            (Kind::Slots, None, None, Some(slots)) => slots.def(),
            (kind, ..) => {
                let kind = kind.as_str();
                Err(Problem::invalid(format!(
                    "kind: an offer of {kind} has \"{kind}\" and neither of the others"
                )))
            }
        }
    }
}

impl Seats {
    fn def(&self) -> Result<InventoryDef, Problem> {
        let section = |(at, section): (usize, &Section)| {
            let outer = format_args!("seats.sections[{at}]");
            Ok(seat_plan::SectionDef {
                name: section.name.clone(),
                category: section.category.clone(),
                price: money(section.price, outer)?,
                rows: section.rows.iter().map(Row::def).collect(),
                shape: section.shape().map_err(|fault| fault.within(outer))?,
            })
        };
        let sections = self.sections.iter().enumerate().map(section).collect::<Result<_, Problem>>()?;
        Ok(InventoryDef::Seats(sections))
    }
}

impl Section {
    fn shape(&self) -> Result<seat_plan::Shape, Invalid> {
        let at = match (self.x, self.y) {
            (Some(x), Some(y)) => Some(seat_plan::Point { x, y }),
            (None, None) => None,
            (Some(_), None) => return Err(Invalid::new("y", "must be there where x is")),
            (None, Some(_)) => return Err(Invalid::new("x", "must be there where y is")),
        };
        let (angle, curve) = (self.angle.unwrap_or_default(), self.curve.unwrap_or_default());
        Ok(seat_plan::Shape { at, angle, curve })
    }
}

impl Row {
    fn def(&self) -> seat_plan::RowDef {
        seat_plan::RowDef { name: self.name.clone(), seats: self.seats, gaps: self.gaps.clone() }
    }
}

impl Stock {
    fn def(&self) -> Result<InventoryDef, Problem> {
        let entry = |(at, entry): (usize, &StockEntry)| {
            let price = money(entry.price, format_args!("stock.lines[{at}]"))?;
            Ok(StockLine { key: entry.key.clone(), capacity: entry.capacity, price })
        };
        let lines = self.lines.iter().enumerate().map(entry).collect::<Result<_, Problem>>()?;
        Ok(InventoryDef::Stock(lines))
    }
}

impl Slots {
    fn def(&self) -> Result<InventoryDef, Problem> {
        let hours = |hours: &Hours| schedule::HoursDef {
            days: hours.days.clone(),
            from: hours.from.clone(),
            to: hours.to.clone(),
        };
        let service = |(at, service): (usize, &Service)| {
            Ok(schedule::Service {
                key: service.key.clone(),
                minutes: service.minutes,
                buffer_before_minutes: service.buffer_before_minutes,
                buffer_after_minutes: service.buffer_after_minutes,
                price: money(service.price, format_args!("slots.services[{at}]"))?,
            })
        };
        Ok(InventoryDef::Slots(schedule::CalendarDef {
            timezone: self.timezone.clone(),
            grid_minutes: self.grid_minutes,
            hours: self.hours.iter().map(hours).collect(),
            closed: self.closed.clone(),
            capacity: self.capacity,
            services: self.services.iter().enumerate().map(service).collect::<Result<_, Problem>>()?,
            cut: None,
        }))
    }
}

fn money(minor: u64, outer: impl std::fmt::Display) -> Result<Money, Problem> {
    Ok(Money::new(minor).map_err(|fault| fault.within(outer))?)
}

fn moment(field: &str, text: Option<&str>) -> Result<Option<Moment>, Problem> {
    let parse = |text| time::instant(text).map_err(|fault| Invalid::new(field, fault.rule()).into());
    text.map(parse).transpose()
}

/// An id that says what it is, `night-at-the-hall-k3x9q2`, for organisers who do not choose one.
fn readable_id(name: &str) -> OfferId {
    const SUFFIX: usize = 6;
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
        if slug.len() >= 48 {
            break;
        }
    }
    let random = mint::hold_id().to_string();
    let suffix = &random[random.len() - SUFFIX..];
    let slug = slug.trim_end_matches('-');
    let id = if slug.is_empty() { format!("offer-{suffix}") } else { format!("{slug}-{suffix}") };
    OfferId::new(&id).expect("a slug has only the characters of an id")
}

/// Changes to an offer that leave its units what they are. A field left out stays as it is.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub(crate) struct AmendOffer {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schema::OfferName>, nullable = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schema::Ttl>, nullable = false)]
    hold_ttl_s: Option<u32>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schema::HolderLimit>)]
    limit_per_holder: Option<Option<u32>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schema::Time>)]
    opens_at: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schema::Time>)]
    closes_at: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    stock: Option<AmendStock>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    slots: Option<AmendSlots>,
}

/// New capacities of stock lines.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmendStock {
    #[schema(min_items = 1, max_items = 10000)]
    lines: Vec<AmendLine>,
}

/// The new capacity of a stock line.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmendLine {
    #[schema(value_type = schema::Key)]
    key: String,
    #[schema(value_type = schema::Capacity)]
    capacity: u32,
}

/// The new closed days of a calendar: the whole list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmendSlots {
    #[schema(value_type = Vec<schema::Day>)]
    closed: Vec<String>,
}

impl AmendOffer {
    pub(crate) fn amendment(self) -> Result<Amendment, Problem> {
        let time =
            |field, text: Option<Option<String>>| text.map(|text| moment(field, text.as_deref())).transpose();
        let lines = self.stock.into_iter().flat_map(|stock| stock.lines);
        let amendment = Amendment {
            name: self.name,
            hold_ttl_s: self.hold_ttl_s,
            limit_per_holder: self.limit_per_holder,
            opens_at: time("opens_at", self.opens_at)?,
            closes_at: time("closes_at", self.closes_at)?,
            capacities: lines.map(|line| (key(&line.key), line.capacity)).collect(),
            closed: self.slots.map(|slots| slots.closed),
        };
        match amendment == Amendment::default() {
            true => Err(Problem::invalid("The body must name at least one field to change.")),
            false => Ok(amendment),
        }
    }
}

/// Units by key, to take off sale or put back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnitList {
    #[schema(value_type = Vec<schema::UnitKey>, min_items = 1)]
    units: Vec<String>,
}

impl UnitList {
    pub(crate) fn units(self) -> Result<Vec<String>, Problem> {
        match self.units.is_empty() {
            true => Err(Problem::invalid("units: must name at least one unit")),
            false => Ok(self.units.iter().map(|unit| key(unit)).collect()),
        }
    }
}

/// The three shapes of a new offer, told apart by `kind`.
impl PartialSchema for NewOffer {
    fn schema() -> RefOr<Schema> {
        let kinds = [("seats", "Seats"), ("stock", "Stock"), ("slots", "Slots")];
        kinds
            .into_iter()
            .fold(OneOfBuilder::new(), |one_of, (kind, shape)| one_of.item(shape_of(kind, shape)))
            .into()
    }
}

impl ToSchema for NewOffer {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("NewOffer")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add_schema::<Seats>(schemas);
        add_schema::<Stock>(schemas);
        add_schema::<Slots>(schemas);
    }
}

fn add_schema<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

fn shape_of(kind: &str, shape: &str) -> ObjectBuilder {
    let kind_alone = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind]));
    let or_null = |schema: RefOr<Schema>| OneOfBuilder::new().item(null()).item(schema);
    ObjectBuilder::new()
        .title(Some(format!("An offer of {kind}")))
        .property("id", or_null(schema::OfferId::schema()))
        .property("name", schema::OfferName::schema())
        .property("kind", kind_alone)
        .property("currency", schema::Currency::schema())
        .property("hold_ttl_s", or_null(schema::Ttl::schema()))
        .property("limit_per_holder", or_null(schema::HolderLimit::schema()))
        .property("opens_at", or_null(schema::Time::schema()))
        .property("closes_at", or_null(schema::Time::schema()))
        .property(kind, Ref::from_schema_name(shape))
        .required("name")
        .required("kind")
        .required("currency")
        .required(kind)
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

fn null() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minted_ids_are_readable() {
        let id = readable_id("Night at the Hall: Käse & Wein!").to_string();
        assert!(id.starts_with("night-at-the-hall-k-se-wein-"), "{id}");
        assert!(readable_id("東京").as_str().starts_with("offer-"));
        assert!(readable_id(&"x".repeat(200)).as_str().len() <= 64);
    }

    #[test]
    fn null_is_not_the_same_as_absent() {
        let amend = |json| serde_json::from_str::<AmendOffer>(json);
        assert_eq!(amend(r#"{"opens_at":null}"#).unwrap().opens_at, Some(None));
        assert_eq!(amend("{}").unwrap().opens_at, None);
        assert!(amend(r#"{"name":null}"#).is_err());
    }
}
