//! The control desk, for those who are not written in Rust: `/_simulator/…`, JSON in and out, no key needed.
//!
//! | call | what it does |
//! |---|---|
//! | `POST /_simulator/faults` `{"fault":"drop_after","on":"confirm_intent"}` | the next such call goes wrong |
//! | `POST /_simulator/outage` `{"fault":"error_unkept"}` | every call goes wrong, until `{"fault":null}` |
//! | `POST /_simulator/advance` `{"seconds":60}` | moves time forward |
//! | `POST /_simulator/authenticate` `{"intent":"pi_…","succeeds":true}` | the cardholder passes 3-D Secure, or not |
//! | `GET /_simulator/money` | what was captured and refunded, in all |

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Refused},
    faults::{Fault, Operation},
    simulator::Bench,
};

pub(crate) fn answer(bench: &Bench, method: &Method, order: &str, body: &[u8]) -> Answer {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let done = match (method.as_str(), order) {
        ("POST", "faults") => script(bench, &said),
        ("POST", "outage") => outage(bench, &said),
        ("POST", "advance") => advance(bench, &said),
        ("POST", "authenticate") => authenticate(bench, &said),
        ("GET", "money") => Ok(money(bench)),
        _ => Err(Refused::no_such_route(method.as_str(), order)),
    };
    match done {
        Ok(body) => Answer { status: StatusCode::OK, body, kept: false },
        Err(refused) => refused.into(),
    }
}

fn fault(said: &Value) -> Result<Fault, Refused> {
    let named = said["fault"].as_str().and_then(Fault::named);
    named.ok_or_else(|| {
        Refused::invalid(
            "fault",
            "One of rate_limited, error_unkept, error_before, error_after, hang_before, hang_after, drop_before, \
             drop_after, slow",
        )
    })
}

fn script(bench: &Bench, said: &Value) -> Result<Value, Refused> {
    let on = match said["on"].as_str() {
        None => None,
        Some(name) => {
            let meant = Operation::ALL.into_iter().find(|operation| operation.as_str() == name);
            let known = Operation::ALL.map(Operation::as_str).join(", ");
            Some(meant.ok_or_else(|| Refused::invalid("on", format!("One of {known}")))?)
        }
    };
    bench.faults.lock().next(on, fault(said)?);
    Ok(json!({"scripted": true}))
}

fn outage(bench: &Bench, said: &Value) -> Result<Value, Refused> {
    let standing = if said["fault"].is_null() { None } else { Some(fault(said)?) };
    bench.faults.lock().always(standing);
    Ok(json!({"outage": standing.is_some()}))
}

fn advance(bench: &Bench, said: &Value) -> Result<Value, Refused> {
    let seconds = said["seconds"].as_u64();
    let seconds = seconds.ok_or_else(|| Refused::invalid("seconds", "A whole number of seconds"))?;
    bench.time.advance(std::time::Duration::from_secs(seconds));
    bench.with_account(|_, now_ms| Ok(json!({"now": now_ms / 1000})))
}

fn authenticate(bench: &Bench, said: &Value) -> Result<Value, Refused> {
    let intent = said["intent"].as_str().ok_or_else(|| Refused::missing("intent"))?;
    let succeeds = said["succeeds"].as_bool().unwrap_or(true);
    bench.with_account(|account, now_ms| {
        account.authenticate(intent, succeeds, now_ms)?;
        account.intent(intent).map(crate::account::Intent::json)
    })
}

fn money(bench: &Bench) -> Value {
    let money = bench.account.lock().money(|_| true);
    json!({
        "captured": money.captured, "refunded": money.refunded, "kept": money.kept(),
        "captures": money.captures, "intents": money.intents,
    })
}
