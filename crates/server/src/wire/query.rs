//! Query strings. Like bodies: unknown and repeated fields are refused. An empty value is no value, so that
//! `?offer=&holder=` asks for everything.

use axum::{extract::Query, http::Uri};
use holdfast_domain::{HolderId, OfferId, PaymentState, text};
use holdfast_engine::ledger::{BookingFilter, JournalFilter, PageRequest};
use serde::{Deserialize, de::DeserializeOwned};
use utoipa::IntoParams;

use crate::problem::Problem;

pub(crate) const DEFAULT_LIMIT: usize = 50;
pub(crate) const MAX_LIMIT: usize = 500;

pub(crate) fn parse<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    Query::try_from_uri(uri).map(|Query(query)| query).map_err(|fault| {
        Problem::invalid(format!("query: {}", fault.body_text().chars().take(300).collect::<String>()))
    })
}

pub(super) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// How many at once. Whoever asks for more than there are in a page gets a page, and its `next`.
fn limit(asked: &Option<String>) -> Result<usize, Problem> {
    let Some(text) = given(asked) else { return Ok(DEFAULT_LIMIT) };
    match text.parse::<i32>() {
        Ok(limit @ 1..) => Ok(MAX_LIMIT.min(limit as usize)),
        _ => Err(Problem::invalid(format!("limit: must be a number from 1; at most {MAX_LIMIT} are given"))),
    }
}

/// The place in a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OffersQuery {
    /// The `next` of the page before.
    #[param(pattern = "^[a-z0-9-]{0,64}$")]
    after: Option<String>,
    /// How many at once, of which at most 500 are given.
    #[param(value_type = Option<u32>, minimum = 1, default = 50)]
    limit: Option<String>,
}

impl OffersQuery {
    /// As a page for people reads it: whoever links to a page adds to its address (`utm_source`, `fbclid`), and what it does
    /// not know it leaves alone.
    pub(crate) fn of_page(uri: &Uri) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Known {
            after: Option<String>,
            limit: Option<String>,
        }
        parse(uri).map(|Known { after, limit }| Self { after, limit })
    }

    pub(crate) fn page(&self) -> Result<(Option<OfferId>, usize), Problem> {
        let token =
            |text| OfferId::new(text).map_err(|_| Problem::invalid("after: is not the next of any page"));
        Ok((given(&self.after).map(token).transpose()?, limit(&self.limit)?))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BookingsQuery {
    /// Only bookings with a line of this offer.
    #[param(pattern = "^[a-z0-9-]{0,64}$")]
    offer: Option<String>,
    /// Only bookings with a line on this unit; needs `offer`.
    #[param(max_length = 64)]
    unit: Option<String>,
    /// Only bookings of this holder.
    #[param(max_length = 128)]
    holder: Option<String>,
    /// Only bookings whose payment stands there.
    #[param(value_type = Option<super::booking::PaymentState>)]
    payment: Option<String>,
    /// The `next` of the page before.
    #[param(pattern = "^[0-9]{0,18}$")]
    after: Option<String>,
    /// How many at once, of which at most 500 are given.
    #[param(value_type = Option<u32>, minimum = 1, default = 50)]
    limit: Option<String>,
}

impl BookingsQuery {
    pub(crate) fn request(self) -> Result<(BookingFilter, PageRequest), Problem> {
        if given(&self.unit).is_some() && given(&self.offer).is_none() {
            return Err(Problem::invalid("unit: needs offer"));
        }
        let filter = BookingFilter {
            offer: given(&self.offer).map(offer_id).transpose()?,
            unit: given(&self.unit).map(|unit| text::visible("unit", unit, 64)).transpose()?,
            holder: given(&self.holder).map(HolderId::new).transpose()?,
            payment: given(&self.payment).map(payment_state).transpose()?,
            ..BookingFilter::default()
        };
        Ok((filter, page(self.after, &self.limit)?))
    }
}

fn payment_state(name: &str) -> Result<PaymentState, Problem> {
    PaymentState::named(name).ok_or_else(|| Problem::invalid("payment: is no state of a provider's payment"))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JournalQuery {
    /// Only entries that concern this offer.
    #[param(pattern = "^[a-z0-9-]{0,64}$")]
    offer: Option<String>,
    /// Only entries that concern this unit; needs `offer`.
    #[param(max_length = 64)]
    unit: Option<String>,
    /// Only entries that concern this hold.
    #[param(pattern = "^(hold_[0-7][0-9a-hjkmnp-tv-z]{25})?$")]
    hold: Option<String>,
    /// Only entries that concern this booking.
    #[param(pattern = "^(bk_[0-7][0-9a-hjkmnp-tv-z]{25})?$")]
    booking: Option<String>,
    /// The `next` of the page before.
    #[param(pattern = "^[0-9]{0,18}$")]
    after: Option<String>,
    /// How many at once, of which at most 500 are given.
    #[param(value_type = Option<u32>, minimum = 1, default = 50)]
    limit: Option<String>,
}

impl JournalQuery {
    pub(crate) fn request(self) -> Result<(JournalFilter, PageRequest), Problem> {
        let not_an_id = |field: &str| Problem::invalid(format!("{field}: is not an id"));
        let hold = given(&self.hold).map(|text| text.parse().map_err(|_| not_an_id("hold")));
        let booking = given(&self.booking).map(|text| text.parse().map_err(|_| not_an_id("booking")));
        let filter = JournalFilter {
            offer: given(&self.offer).map(offer_id).transpose()?,
            unit: given(&self.unit).map(|unit| text::visible("unit", unit, 64)).transpose()?,
            hold: hold.transpose()?,
            booking: booking.transpose()?,
            ..JournalFilter::default()
        };
        Ok((filter, page(self.after, &self.limit)?))
    }
}

fn offer_id(text: &str) -> Result<OfferId, Problem> {
    OfferId::new(text).map_err(|fault| Problem::invalid(format!("offer: {}", fault.rule)))
}

fn page(after: Option<String>, asked: &Option<String>) -> Result<PageRequest, Problem> {
    Ok(PageRequest { after: after.filter(|text| !text.is_empty()), limit: limit(asked)? })
}
