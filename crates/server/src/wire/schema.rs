//! The bounds of the texts and numbers on the wire, for the OpenAPI document only. Each type here has no values:
//! fields name it with `#[schema(value_type = …)]`, and the domain's own checks stay the ones that count.

use std::borrow::Cow;

use holdfast_domain::{money, offer};
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        KnownFormat, ObjectBuilder, RefOr, SchemaFormat, Type,
        schema::{Schema, SchemaType},
    },
};

/// Characters that hide or reorder what is read; the domain refuses them in every text.
const HIDDEN: &str = "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\
                      \\ufeff\\ufff9-\\ufffb\u{e0000}-\u{e007f}";
const SPACES: &str = " \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";

macro_rules! documented {
    ($($(#[$doc:meta])* $name:ident = $schema:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.build().into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )*};
}

documented! {
    /// The id of an offer.
    OfferId = text("The public name of an offer.").pattern(Some("^[a-z0-9-]{1,64}$")).examples([json!("hall")]);
    /// The id of a hold.
    HoldId = text("A hold's id.").pattern(Some("^hold_[0-7][0-9a-hjkmnp-tv-z]{25}$"));
    /// The id of a booking.
    BookingId = text("A booking's id.").pattern(Some("^bk_[0-7][0-9a-hjkmnp-tv-z]{25}$"));
    /// Who claims.
    Holder = visible("Who claims: an opaque string of visible characters.", 128).examples([json!("alice")]);
    /// The public key of a unit.
    UnitKey = visible("A seat `A-12`, a stock line `GA`, the cell of time `2026-11-16T08:00Z`.", 64)
        .examples([json!("A-12")]);
    /// A point in the history.
    Version = text("A point in the history, as in `availability`.").pattern(Some("^1\\.[0-9]{1,20}$"))
        .examples([json!("1.42")]);
    /// An instant.
    Time = text("An instant, RFC 3339 with an offset; the server answers in UTC with milliseconds.")
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .examples([json!("2026-11-15T18:00:00.000Z")]);
    /// A day of a calendar.
    Day = text("A day of the calendar's own time zone.")
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date))).examples([json!("2026-11-16")]);
    /// A time of day.
    TimeOfDay = text("A time of day, `HH:MM`; `24:00` ends a day.").pattern(Some("^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$"))
        .examples([json!("09:00")]);
    /// An amount of money.
    Money = integer("Minor units of the currency: `4500` is €45.00.", 0, money::MAX_AMOUNT).examples([json!(4500)]);
    /// A number of units.
    Quantity = integer("How many.", 1, u64::from(u32::MAX)).examples([json!(2)]);
    /// A per-holder limit.
    HolderLimit = integer("The most one holder may hold and book; null for no limit.", 1, u64::from(u32::MAX));
    /// A number counted by the server.
    Count = integer("A number of units.", 0, u64::MAX);
    /// A time to live.
    Ttl = integer("How long a hold lasts, in seconds.", 1, u64::from(offer::MAX_TTL_S)).examples([json!(600)]);
    /// A stock line's capacity.
    Capacity = integer("How many there are to sell.", 1, 1_000_000_000).examples([json!(500)]);
    /// A row's length.
    RowLength = integer("Seats in the row, numbered from 1.", 1, 10_000).examples([json!(20)]);
    /// A currency.
    Currency = text("An ISO 4217 code.").pattern(Some("^[A-Z]{3}$")).examples([json!("EUR")]);
    /// The name of an offer.
    OfferName = name("What people read.", 200).examples([json!("Night at the Hall")]);
    /// The name of a section.
    SectionName = name("What people read.", 100).examples([json!("Stalls")]);
    /// A price category.
    Category = name("A price category.", 64).examples([json!("A")]);
    /// The name of a row.
    RowName = visible("Unique in the offer: seat 12 of row A is `A-12`.", 32).examples([json!("A")]);
    /// The key of a stock line or a service.
    Key = visible("Unique in the offer.", 64).examples([json!("GA")]);
    /// Where the problem's code is explained.
    ProblemType = text("A page of this server that explains the code.").examples([json!("/problems/unit_taken")]);
}

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).description(Some(description))
}

fn visible(description: &str, max: usize) -> ObjectBuilder {
    text(description)
        .min_length(Some(1))
        .max_length(Some(max))
        .pattern(Some(format!("^[^{HIDDEN}{SPACES}]+$")))
}

fn name(description: &str, max: usize) -> ObjectBuilder {
    let (edge, inner) = (format!("[^{HIDDEN}{SPACES}]"), format!("[^{HIDDEN}]"));
    let pattern = format!("^{edge}({inner}*{edge})?$");
    text(description).min_length(Some(1)).max_length(Some(max)).pattern(Some(pattern))
}

fn integer(description: &str, least: u64, most: u64) -> ObjectBuilder {
    let number = |n: u64| Some(utoipa::Number::from(n as usize));
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Integer))
        .description(Some(description))
        .minimum(number(least))
        .maximum(number(most))
}
