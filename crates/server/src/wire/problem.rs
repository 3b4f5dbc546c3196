//! Problems on the wire (RFC 9457).

use std::cell::RefCell;

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
    // Last, so that the rest can be written before it is known.
    request_id: &'a str,
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

/// What `request_id` reads when nothing is written there yet, up to the end of the text.
const UNSIGNED: &[u8] = b"\"}";

pub(crate) fn problem_json(problem: &Problem, request_id: &str) -> Bytes {
    let words = if problem.more().conflicts().is_empty() { words(problem) } else { words_again(problem) };
    let before = words.strip_suffix(UNSIGNED).expect("the id is the last of the fields");
    // An id is plain letters and digits, and needs no escape.
    [before, request_id.as_bytes(), UNSIGNED].concat().into()
}

/// The words for everybody whom the same stands in the way of. On a hot seat thousands in a row are told the same, and to
/// write it each time would cost a tenth of what a refusal does.
fn words_again(problem: &Problem) -> Bytes {
    thread_local! {
        static LAST: RefCell<Option<(Problem, Bytes)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((told, words)) if told == problem => words.clone(),
        _ => last.insert((problem.clone(), words(problem))).1.clone(),
    })
}

/// All that is said but whose request it was.
fn words(problem: &Problem) -> Bytes {
    let more = problem.more();
    super::json(&ProblemShape {
        r#type: problem.code.page(),
        title: problem.code.title(),
        status: problem.code.status().as_u16(),
        detail: &problem.detail,
        code: problem.code.as_str(),
        conflicts: more.conflicts(),
        alternatives: more.alternatives(),
        booking: more.booking.map(Shown),
        retry_after_ms: more.retry_after.map(|wait| wait.as_millis() as u64),
        join_url: more.join_url.as_deref(),
        request_id: "",
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holdfast_domain::{Conflict, OfferId, Refusal, UnitState};
    use serde_json::Value;

    use super::*;

    fn taken(unit: &str) -> Problem {
        let offer = OfferId::new("hall").unwrap();
        let conflicts = vec![InTheWay { offer, unit: unit.to_owned(), state: UnitState::Held }];
        Refusal::UnitTaken(Arc::new(Conflict { conflicts, alternatives: vec![] })).into()
    }

    #[test]
    fn whoever_is_told_the_same_is_told_it_under_their_own_id() {
        let tell = |problem: &Problem, id: &str| -> Value {
            serde_json::from_slice(&problem_json(problem, id)).unwrap()
        };
        let (one, other) = (taken("A-1"), taken("A-2"));
        for (problem, id, unit) in
            [(&one, "r1", "A-1"), (&one, "r2", "A-1"), (&other, "r3", "A-2"), (&one, "r4", "A-1")]
        {
            let told = tell(problem, id);
            assert_eq!((&told["request_id"], &told["conflicts"][0]["unit"]), (&id.into(), &unit.into()));
        }
        assert_eq!(tell(&Problem::overloaded(), "r5")["request_id"], "r5");
    }
}
