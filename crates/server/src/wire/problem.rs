//! Problems on the wire (RFC 9457).

use bytes::Bytes;
use holdfast_domain::{BookingId, InTheWay};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::{Shown, schema};
use crate::problem::Problem;

/// Why the answer is not what was asked for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemShape<'a> {
    #[schema(value_type = schema::ProblemType)]
    r#type: &'static str,
    title: &'static str,
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What exactly, this time.
    detail: &'a str,
    /// The machine-readable reason.
    code: &'static str,
    request_id: &'a str,
    /// The units in the way.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "conflicts")]
    #[schema(value_type = Option<Vec<Conflict<'_>>>, nullable = false)]
    conflicts: &'a [InTheWay],
    /// Groups of units that were free a moment ago, by key.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Option<Vec<Vec<schema::UnitKey>>>, nullable = false)]
    alternatives: &'a [Vec<String>],
    /// The booking that was made already.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::BookingId>, nullable = false)]
    booking: Option<Shown<BookingId>>,
    /// When to come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_after_ms: Option<u64>,
    /// Where to queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    join_url: Option<&'a str>,
}

/// A unit that stood in the way.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Conflict<'a> {
    #[schema(value_type = schema::OfferId)]
    offer: &'a str,
    #[schema(value_type = schema::UnitKey)]
    unit: &'a str,
    #[schema(value_type = super::availability::UnitState)]
    state: &'static str,
}

fn conflicts<S: Serializer>(conflicts: &[InTheWay], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(conflicts.iter().map(|at| Conflict {
        offer: at.offer.as_str(),
        unit: &at.unit,
        state: at.state.as_str(),
    }))
}

pub(crate) fn problem_json(problem: &Problem, request_id: &str) -> Bytes {
    let more = problem.more();
    super::json(&ProblemShape {
        r#type: problem.code.page(),
        title: problem.code.title(),
        status: problem.code.status().as_u16(),
        detail: &problem.detail,
        code: problem.code.as_str(),
        request_id,
        conflicts: more.conflicts(),
        alternatives: more.alternatives(),
        booking: more.booking.map(Shown),
        retry_after_ms: more.retry_after.map(|wait| wait.as_millis() as u64),
        join_url: more.join_url.as_deref(),
    })
}
