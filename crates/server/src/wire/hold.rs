//! Holds on the wire.

use std::borrow::Cow;

use holdfast_domain::{
    Ask, HoldId, HolderId, Line as DomainLine, Moment, Offer, OfferId, Pick, Relaxed, text,
};
use holdfast_engine::{ledger::HoldView, mint};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Shown, Text, given, key, schema,
    time::{self, NotAnInstant},
};
use crate::problem::Problem;

/// The id of a hold that was written down before.
pub(crate) fn id_in(body: &[u8]) -> Option<HoldId> {
    #[derive(Deserialize)]
    struct Known<'a> {
        id: &'a str,
    }
    serde_json::from_slice::<Known<'_>>(body).ok()?.id.parse().ok()
}

/// The most lines a hold may have.
pub(crate) const MAX_LINES: usize = 100;

/// What to hold. Lines may span offers; all are taken or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceHold<'a> {
    /// Who the hold is for; null for a guest, who is given a name of their own by each request. Required with an
    /// API key; refused without one: a browser holds for itself.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schema(value_type = Option<schema::Holder>)]
    pub holder: Option<Named<'a>>,
    #[serde(borrow)]
    #[schema(value_type = Vec<LineShape>, min_items = 1, max_items = 100)]
    pub lines: Vec<AskedLine<'a>>,
}

/// The body's holder: a name, or `None` for a guest.
#[derive(Debug, Deserialize)]
pub(crate) struct Named<'a>(#[serde(borrow)] Option<Text<'a>>);

/// One line as it arrives; [`AskedLine::ask`] finds out which of the three shapes it has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedLine<'a> {
    #[serde(borrow)]
    offer: Cow<'a, str>,
    #[serde(borrow, default)]
    unit: Option<Text<'a>>,
    #[serde(default)]
    qty: Option<u32>,
    #[serde(default)]
    best: Option<Best>,
    #[serde(borrow, default)]
    service: Option<Text<'a>>,
    #[serde(borrow, default)]
    start: Option<Text<'a>>,
}

/// The best seats there are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Best {
    #[schema(value_type = schema::Quantity)]
    qty: u32,
    /// Only seats of this category.
    #[serde(default)]
    #[schema(value_type = Option<schema::Category>)]
    category: Option<String>,
}

impl PlaceHold<'_> {
    pub(crate) fn asks(self) -> Result<Vec<Ask>, Problem> {
        if self.lines.is_empty() || self.lines.len() > MAX_LINES {
            return Err(Problem::invalid(format!("lines: must be 1 to {MAX_LINES}")));
        }
        self.lines.into_iter().enumerate().map(|(at, line)| line.ask(at)).collect()
    }
}

impl AskedLine<'_> {
    fn ask(self, at: usize) -> Result<Ask, Problem> {
        // What cannot be an offer's name is one that does not exist.
        let offer = OfferId::new(&self.offer).map_err(|_| Problem::unknown_offer(&self.offer));
        let pick = match self {
            Self { unit: Some(unit), qty, best: None, service: None, start: None, .. } => {
                Pick::Unit { key: key(&unit.0), qty: qty.unwrap_or(1) }
            }
            Self { best: Some(best), unit: None, qty: None, service: None, start: None, .. } => {
                best.pick().map_err(|fault| fault.within(format_args!("lines[{at}].best")))?
            }
            Self {
                service: Some(service), start: Some(start), unit: None, qty: None, best: None, ..
            } => Pick::Slot {
                service: key(&service.0),
                start: time::instant(&start.0).map_err(NotAnInstant::rule),
            },
            _ => {
                return Err(Problem::invalid(format!(
                    "lines[{at}]: must have \"unit\" (and perhaps \"qty\"), or \"best\", or \"service\" and \"start\""
                )));
            }
        };
        Ok(Ask { offer: offer?, pick })
    }
}

impl Best {
    fn pick(self) -> Result<Pick, text::Invalid> {
        let category = self.category.map(|category| text::line("category", &category, 64)).transpose()?;
        Ok(Pick::Best { qty: self.qty, category })
    }
}

/// Whom a hold is for: the body's holder for a key, the session itself for a browser.
pub(crate) fn holder(named: Option<&Named<'_>>, session: Option<&HolderId>) -> Result<HolderId, Problem> {
    match (named, session) {
        (Some(Named(Some(name))), None) => Ok(HolderId::new(&name.0)?),
        (Some(Named(None)), None) => Ok(guest()),
        (None, Some(session)) => Ok(session.clone()),
        (None, None) => Err(Problem::invalid(
            "holder: must name who the hold is for when an API key is used, or be null for a guest",
        )),
        (Some(_), Some(_)) => {
            Err(Problem::invalid("holder: must be left out without an API key: a browser holds for itself"))
        }
    }
}

/// Somebody whose name nobody needs to know.
fn guest() -> HolderId {
    let name = format!("guest_{:032x}", mint::random_bits());
    HolderId::new(&name).expect("letters and digits are visible")
}

/// One line of a hold: a named unit, the best seats, or a service at a time.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = HoldLine)]
#[expect(dead_code, reason = "describes AskedLine to the OpenAPI document")]
pub(crate) enum LineShape {
    Unit(UnitLine),
    Best(BestLine),
    Slot(SlotLine),
}

/// That seat, or that many of a stock line.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes AskedLine to the OpenAPI document")]
pub(crate) struct UnitLine {
    #[schema(value_type = schema::OfferId)]
    offer: String,
    #[schema(value_type = schema::UnitKey)]
    unit: String,
    /// Of a stock line; a seat is always one.
    #[schema(value_type = Option<schema::Quantity>)]
    qty: Option<u32>,
}

/// The best seats there are.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes AskedLine to the OpenAPI document")]
pub(crate) struct BestLine {
    #[schema(value_type = schema::OfferId)]
    offer: String,
    best: Best,
}

/// A service at an instant.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes AskedLine to the OpenAPI document")]
pub(crate) struct SlotLine {
    #[schema(value_type = schema::OfferId)]
    offer: String,
    #[schema(value_type = schema::Key)]
    service: String,
    /// Carries an offset, so a DST fold is told apart.
    #[schema(value_type = schema::Time)]
    start: String,
}

/// A temporary claim on one or more units.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Hold<'a> {
    #[schema(value_type = schema::HoldId)]
    id: Shown<holdfast_domain::HoldId>,
    #[schema(value_type = schema::Holder)]
    holder: &'a str,
    #[schema(value_type = HoldState)]
    state: &'static str,
    lines: Vec<Line<'a>>,
    #[schema(value_type = schema::Money)]
    amount: u64,
    #[schema(value_type = schema::Currency)]
    currency: &'a str,
    #[schema(value_type = schema::Time)]
    expires_at: Shown<Moment>,
    /// By the server's clock, at the moment of the answer.
    #[schema(minimum = 0)]
    expires_in_ms: i64,
    /// How often it was extended, of three times.
    #[schema(minimum = 0, maximum = 3)]
    extensions: u8,
    /// What the search for the best seats gave up: `orphan`, `split_rows`, `scattered`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relaxed: Vec<&'static str>,
    #[schema(value_type = schema::Version)]
    version: Shown<holdfast_domain::Version>,
}

/// Where a hold stands, as of the answer.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "lists the values of a field to the OpenAPI document")]
pub(crate) enum HoldState {
    Active,
    Paying,
    Booked,
    Released,
    Expired,
}

/// One thing claimed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClaimedLine)]
pub(crate) struct Line<'a> {
    #[schema(value_type = schema::OfferId)]
    offer: &'a str,
    #[schema(value_type = schema::UnitKey)]
    unit: String,
    #[schema(value_type = schema::Quantity)]
    qty: u32,
    /// For one of it.
    #[schema(value_type = schema::Money)]
    price: u64,
    /// Of a slot: the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Key>, nullable = false)]
    service: Option<&'a str>,
}

impl<'a> Hold<'a> {
    pub(crate) fn of(view: &'a HoldView) -> Self {
        let hold = &view.hold;
        let left_ms = if hold.is_live(view.at) { hold.expires_at.ms_since(view.at).max(0) } else { 0 };
        Self {
            id: Shown(hold.id),
            holder: hold.holder.as_str(),
            state: hold.status(view.at),
            lines: hold.lines.iter().map(|line| Line::of(line, view.offer_of(line))).collect(),
            amount: hold.amount.minor(),
            currency: hold.currency.code(),
            expires_at: Shown(hold.expires_at),
            expires_in_ms: left_ms,
            extensions: hold.extensions,
            relaxed: hold.relaxed.iter().map(|&relaxed| relaxed_name(relaxed)).collect(),
            version: Shown(hold.version),
        }
    }
}

impl<'a> Line<'a> {
    pub(crate) fn of(line: &'a DomainLine, offer: &'a Offer) -> Self {
        Self {
            offer: line.offer.as_str(),
            unit: offer.key(line.unit),
            qty: line.qty,
            price: line.price.minor(),
            service: line.service.and_then(|at| super::offer::service_key(offer, at)),
        }
    }
}

const fn relaxed_name(relaxed: Relaxed) -> &'static str {
    match relaxed {
        Relaxed::Orphan => "orphan",
        Relaxed::SplitRows => "split_rows",
        Relaxed::Scattered => "scattered",
    }
}
