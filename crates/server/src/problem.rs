//! Problems: what the server answers when the answer is not what was asked for (RFC 9457).
//!
//! A handler returns a [`Problem`] as a value. It travels out of the router inside the response's extensions and
//! is written down once, in [`layers`](crate::layers), where the request's id is known: the words for the caller
//! go into the body, the words for the operator into the log. Neither ever holds the other's.

mod code;
pub(crate) mod page;

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
pub(crate) use code::Code;
pub use code::explained;
use holdfast_domain::{BookingId, Conflict, InTheWay, Invalid, Limit, OfferId, Refusal};
use holdfast_engine::{
    admission::waiting_room::Denied, gate::Quota, ledger::LedgerError, pipeline::SubmitError,
};

use crate::{assets, ui};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub code: Code,
    /// For the caller: what exactly, this time.
    pub detail: Cow<'static, str>,
    /// What only some problems have, out of the way of those that have not.
    more: Option<Box<More>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct More {
    conflict: Option<Arc<Conflict>>,
    /// The booking that stands in the way.
    pub booking: Option<BookingId>,
    pub retry_after: Option<Duration>,
    /// How often the caller may ask.
    pub quota: Option<Quota>,
    /// Where to queue.
    pub join_url: Option<String>,
    /// For the operator; never sent.
    pub log: Option<String>,
}

static NO_MORE: More =
    More { conflict: None, booking: None, retry_after: None, quota: None, join_url: None, log: None };

impl More {
    /// The units in the way.
    pub(crate) fn conflicts(&self) -> &[InTheWay] {
        self.conflict.as_ref().map_or(&[], |conflict| &conflict.conflicts)
    }

    /// What could be had instead, in groups.
    pub(crate) fn alternatives(&self) -> &[Vec<String>] {
        self.conflict.as_ref().map_or(&[], |conflict| &conflict.alternatives)
    }
}

/// How long to wait before asking again, by what is wrong.
const RETRY_OVERLOADED: Duration = Duration::from_secs(1);
const RETRY_UNAVAILABLE: Duration = Duration::from_secs(5);

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), more: None }
    }

    pub(crate) fn invalid(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, detail)
    }

    pub(crate) fn overloaded() -> Self {
        Self::new(Code::Overloaded, "The server has more requests than it can take.")
            .retry_after(RETRY_OVERLOADED)
    }

    /// Another request with the same key is at work on the answer.
    pub(crate) fn in_flight() -> Self {
        Self::new(Code::IdempotencyInFlight, "The payment that this Idempotency-Key began has no answer yet.")
            .retry_after(RETRY_OVERLOADED)
    }

    pub(crate) fn no_provider() -> Self {
        Self::invalid("payment.provider: is not configured on this server; \"none\" is the one there is")
    }

    /// The payment provider could not be asked, or did not answer. `why` is for the operator.
    pub(crate) fn unpaid(why: String, retry_after: Duration) -> Self {
        let detail = "The payment provider does not answer. Ask again with the same Idempotency-Key.";
        Self::new(Code::OutcomeUnknown, detail).retry_after(retry_after).with(|more| more.log = Some(why))
    }

    /// The same words for an id that never was, one that is no id, and another's.
    pub(crate) fn unknown_hold() -> Self {
        Refusal::UnknownHold.into()
    }

    pub(crate) fn unknown_booking() -> Self {
        Refusal::UnknownBooking.into()
    }

    pub(crate) fn unknown_offer(name: &str) -> Self {
        let name: String = name.chars().take(64).collect();
        Self::new(Code::UnknownOffer, format!("There is no offer {name:?}."))
    }

    /// 429: it is you. The policy's name says what there was too much of.
    pub(crate) fn too_many(quota: Quota) -> Self {
        let detail = match quota.policy {
            "unconfirmed-by-holder" => "This session holds as much as it may without booking any of it.",
            "unconfirmed-by-address" => {
                "Those at this address hold as much as they may without booking any of it."
            }
            "address" => "Too many requests come from this address.",
            "key" => "This key asks too often.",
            _ => "This holder asks too often.",
        };
        Self::new(Code::RateLimited, detail)
            .retry_after(quota.retry_after)
            .with(|more| more.quota = Some(quota))
    }

    /// What a waiting room says to somebody who is not inside.
    pub(crate) fn denied(offer: &OfferId, denied: Denied) -> Self {
        let (detail, wait_ms) = match denied {
            Denied::Ledger(error) => return error.into(),
            Denied::NotYet(standing) => ("It is not your turn yet.", standing.retry_after_ms),
            Denied::NoTicket => (
                "There is a queue for this offer, and no ticket or pass of yours came along. Each counts only \
                     together with the session cookie that it was given with.",
                1_000,
            ),
            Denied::Ended => ("This visit is over. Join again for another one.", 1_000),
            Denied::Closed => ("Nobody is let in at the moment.", 30_000),
            Denied::Full => ("The queue takes nobody any more.", 30_000),
        };
        Self::new(Code::QueueRequired, detail)
            .retry_after(Duration::from_millis(wait_ms.into()))
            .with(|more| more.join_url = Some(format!("/v1/offers/{offer}/room/tickets")))
    }

    /// A fault of ours: `log` says to the operator what the caller need not know.
    pub(crate) fn internal(detail: &'static str, log: String) -> Self {
        Self::new(Code::Internal, detail).with(|more| more.log = Some(log))
    }

    pub(crate) fn more(&self) -> &More {
        self.more.as_deref().unwrap_or(&NO_MORE)
    }

    #[must_use]
    fn with(mut self, add: impl FnOnce(&mut More)) -> Self {
        add(self.more.get_or_insert_default());
        self
    }

    #[must_use]
    fn retry_after(self, wait: Duration) -> Self {
        self.with(|more| more.retry_after = Some(wait))
    }

    #[must_use]
    fn with_conflict(self, conflict: Arc<Conflict>) -> Self {
        self.with(|more| more.conflict = Some(conflict))
    }
}

impl From<Refusal> for Problem {
    /// The one place where a refusal meets HTTP.
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownOffer { offer } => Self::unknown_offer(offer.as_str()),
            Refusal::UnknownUnit { offer, unit } => {
                Self::new(Code::UnknownUnit, format!("{offer} has no unit or service {unit:?}."))
            }
            Refusal::UnknownHold => Self::new(Code::UnknownHold, "There is no such hold."),
            Refusal::UnknownBooking => Self::new(Code::UnknownBooking, "There is no such booking."),
            Refusal::InvalidTime { offer, detail } => {
                Self::new(Code::InvalidTime, format!("{offer}: {detail}"))
            }
            Refusal::Invalid(fault) => fault.into(),
            Refusal::OfferExists { offer } => {
                Self::new(Code::OfferExists, format!("There already is an offer {offer}."))
            }
            Refusal::HoldReleased => Self::new(Code::HoldReleased, "This hold was released."),
            Refusal::HoldExpired => Self::new(Code::HoldExpired, "This hold has expired."),
            Refusal::AlreadyBooked { booking } => {
                let detail = format!("This hold became booking {booking}.");
                Self::new(Code::AlreadyBooked, detail).with(|more| more.booking = Some(booking))
            }
            Refusal::NotCancellable { booking } => {
                Self::new(Code::NotCancellable, format!("Booking {booking} cannot be cancelled."))
            }
            Refusal::NotOnSale { offer, opens_at, closes_at } => {
                let mut detail = format!("{offer} is not on sale now");
                opens_at.iter().for_each(|at| detail += &format!("; the sale opens at {at}"));
                closes_at.iter().for_each(|at| detail += &format!("; the sale closes at {at}"));
                Self::new(Code::NotOnSale, detail + ".")
            }
            Refusal::LimitReached(limit) => Self::new(Code::LimitReached, limit_detail(&limit)),
            Refusal::UnitBlocked(conflict) => {
                Self::new(Code::UnitBlocked, "The organiser has taken it off sale.").with_conflict(conflict)
            }
            Refusal::UnitTaken(conflict) => {
                Self::new(Code::UnitTaken, "Someone else holds or has booked it.").with_conflict(conflict)
            }
            Refusal::SoldOut { offer, conflicts } => {
                Self::new(Code::SoldOut, format!("Not enough of {offer} is left for this request."))
                    .with_conflict(Arc::new(Conflict { conflicts, alternatives: Vec::new() }))
            }
        }
    }
}

fn limit_detail(limit: &Limit) -> String {
    match limit {
        Limit::PerHolder { offer, limit, used, asked } => {
            format!(
                "You can have up to {limit} of {offer} and already have {used}; {asked} more were asked for."
            )
        }
        Limit::Extensions { limit } => format!("A hold can be extended {limit} times."),
        Limit::Unconfirmed { offer, limit, asked } => format!(
            "At most {limit} of {offer} can be held at a time without being booked, and {asked} were asked for at once. \
             Ask for fewer, and book them before the next."
        ),
    }
}

impl From<Invalid> for Problem {
    fn from(fault: Invalid) -> Self {
        Self::invalid(fault.to_string())
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        let problem = match &error {
            LedgerError::Invalid(fault) => return fault.clone().into(),
            LedgerError::Overloaded => return Self::overloaded(),
            LedgerError::Unavailable(_) => {
                Self::new(Code::Unavailable, "The ledger is out of reach. Nothing was changed.")
                    .retry_after(RETRY_UNAVAILABLE)
            }
            LedgerError::OutcomeUnknown(_) => {
                Self::new(Code::OutcomeUnknown, "Ask again with the same Idempotency-Key to find out.")
                    .retry_after(RETRY_OVERLOADED)
            }
        };
        problem.with(|more| more.log = Some(error.to_string()))
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Ledger(error) => error.into(),
            SubmitError::TooMany(quota) => Self::too_many(quota),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.detail)
    }
}

impl IntoResponse for Problem {
    /// An answer without its words yet: `layers` writes them, with the request's id.
    fn into_response(self) -> Response {
        let mut response = Response::default();
        *response.status_mut() = self.code.status();
        response.extensions_mut().insert(self);
        response
    }
}

/// A promise that the outermost layer keeps: no problem leaves the server unwritten. People are shown a page, by where they
/// met it.
pub(crate) fn write_down(response: &mut Response, request_id: &str, met_at: Option<&str>) -> Option<Problem> {
    let problem = response.extensions_mut().remove::<Problem>()?;
    let headers = response.headers_mut();
    // The router measured the empty body of the answer that had no words yet.
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if let Some(wait) = problem.more().retry_after {
        // Whole seconds, rounded up: a client that waits as told must not come back too early.
        headers.insert(header::RETRY_AFTER, wait.as_millis().div_ceil(1000).to_string().parse().ok()?);
    }
    if let Some(quota) = problem.more().quota {
        let (policy, state) = rate_limit(quota);
        headers.insert("ratelimit-policy", policy.parse().ok()?);
        headers.insert("ratelimit", state.parse().ok()?);
    }
    if problem.code == Code::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    match met_at.and_then(|path| ui::fault::page(&problem, path, request_id)) {
        Some(page) => {
            headers.extend(assets::html("").headers().clone());
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            *response.body_mut() = page.into();
        }
        None => *response.body_mut() = crate::wire::problem_json(&problem, request_id).into(),
    }
    Some(problem)
}

/// The two headers of a used-up quota: what the policy is, and how it stands.
fn rate_limit(quota: Quota) -> (String, String) {
    let whole_s = |length: Duration| length.as_millis().div_ceil(1000).max(1);
    let Quota { policy: name, burst, window, retry_after } = quota;
    let policy = format!("\"{name}\";q={burst};w={}", whole_s(window));
    (policy, format!("\"{name}\";r=0;t={}", whole_s(retry_after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_code_of_the_same_name() {
        let offer = holdfast_domain::OfferId::new("hall").unwrap();
        let conflict = Arc::new(Conflict { conflicts: vec![], alternatives: vec![] });
        let booking = BookingId::from_bits(1);
        let refusals = [
            Refusal::UnknownOffer { offer: offer.clone() },
            Refusal::UnknownUnit { offer: offer.clone(), unit: "A-1".into() },
            Refusal::UnknownHold,
            Refusal::UnknownBooking,
            Refusal::InvalidTime { offer: offer.clone(), detail: "off the grid".into() },
            Refusal::Invalid(Invalid::new("qty", "must be at least 1")),
            Refusal::OfferExists { offer: offer.clone() },
            Refusal::HoldReleased,
            Refusal::HoldExpired,
            Refusal::AlreadyBooked { booking },
            Refusal::NotCancellable { booking },
            Refusal::NotOnSale { offer: offer.clone(), opens_at: None, closes_at: None },
            Refusal::LimitReached(Limit::Extensions { limit: 3 }),
            Refusal::UnitBlocked(conflict.clone()),
            Refusal::UnitTaken(conflict),
            Refusal::SoldOut { offer, conflicts: vec![] },
        ];
        for refusal in refusals {
            let code = refusal.code();
            assert_eq!(Problem::from(refusal).code.as_str(), code);
        }
    }

    #[test]
    fn a_used_up_quota_says_when_to_come_back() {
        let window = Duration::from_secs(2);
        let quota = Quota { policy: "holds", burst: 40, window, retry_after: Duration::from_millis(1200) };
        let mut response = Problem::from(SubmitError::TooMany(quota)).into_response();
        write_down(&mut response, "r-1", None);
        assert_eq!(response.status(), 429);
        let header = |name: &str| response.headers()[name].to_str().unwrap();
        assert_eq!(header("retry-after"), "2");
        assert_eq!(header("ratelimit-policy"), "\"holds\";q=40;w=2");
        assert_eq!(header("ratelimit"), "\"holds\";r=0;t=2");
    }

    #[test]
    fn names_are_unique_and_found() {
        for &code in Code::ALL {
            assert_eq!(Code::find(code.as_str()), Some(code));
            assert!(code.status().as_u16() >= 400);
        }
        assert_eq!(Code::find("nonsense"), None);
    }
}
