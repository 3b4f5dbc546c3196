//! Every route on one page, and the walk of a call: who asks, what is to go wrong, was it asked before, do it.

use std::future::pending;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{HeaderMap, Method, Response, header, http::request::Parts};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    account::{self, Account, Confirming, Intent, NewIntent, NewRefund, Refund, fresh},
    answer::{Answer, Refused},
    cards::{Card, Charge},
    control, events,
    faults::{Fault, Operation},
    form::Form,
    idempotency,
    serve::Dropped,
    simulator::Bench,
};

/// A call, told from its method and path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Call {
    CreateIntent,
    ListIntents,
    SearchIntents,
    Intent(String),
    Confirm(String),
    Capture(String),
    Cancel(String),
    CreateRefund,
    ListRefunds,
    Refund(String),
    Charge(String),
    ListEvents,
    Event(String),
}

fn route(method: &Method, path: &str) -> Option<Call> {
    let parts: Vec<&str> = path.strip_prefix("/v1/")?.split('/').collect();
    Some(match (method.as_str(), parts.as_slice()) {
        ("POST", ["payment_intents"]) => Call::CreateIntent,
        ("GET", ["payment_intents"]) => Call::ListIntents,
        ("GET", ["payment_intents", "search"]) => Call::SearchIntents,
        ("GET", ["payment_intents", id]) => Call::Intent((*id).to_owned()),
        ("POST", ["payment_intents", id, "confirm"]) => Call::Confirm((*id).to_owned()),
        ("POST", ["payment_intents", id, "capture"]) => Call::Capture((*id).to_owned()),
        ("POST", ["payment_intents", id, "cancel"]) => Call::Cancel((*id).to_owned()),
        ("POST", ["refunds"]) => Call::CreateRefund,
        ("GET", ["refunds"]) => Call::ListRefunds,
        ("GET", ["refunds", id]) => Call::Refund((*id).to_owned()),
        ("GET", ["charges", id]) => Call::Charge((*id).to_owned()),
        ("GET", ["events"]) => Call::ListEvents,
        ("GET", ["events", id]) => Call::Event((*id).to_owned()),
        _ => return None,
    })
}

impl Call {
    fn operation(&self) -> Operation {
        match self {
            Self::CreateIntent => Operation::CreateIntent,
            Self::Confirm(_) => Operation::ConfirmIntent,
            Self::Capture(_) => Operation::CaptureIntent,
            Self::Cancel(_) => Operation::CancelIntent,
            Self::CreateRefund => Operation::CreateRefund,
            _ => Operation::Read,
        }
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Merchant,
    /// With the publishable key: may do what the intent's client secret allows.
    Browser,
}

pub(crate) async fn answer(
    bench: &Bench,
    head: &Parts,
    body: &[u8],
) -> Result<Response<Full<Bytes>>, Dropped> {
    let path = head.uri.path();
    if let Some(order) = path.strip_prefix("/_simulator/") {
        return Ok(written(control::answer(bench, &head.method, order, body), head, false));
    }
    let Some(caller) = authenticate(bench, &head.headers) else {
        return Ok(written(Refused::unauthenticated().into(), head, false));
    };
    let Some(call) = route(&head.method, path) else {
        return Ok(written(Refused::no_such_route(head.method.as_str(), path).into(), head, false));
    };
    let fault = bench.faults.lock().strike(call.operation());
    match fault {
        Some(Fault::HangBefore) => pending().await,
        Some(Fault::DropBefore) => return Err(Dropped),
        Some(Fault::RateLimited) => return Ok(written(Refused::too_many().into(), head, false)),
        Some(Fault::ErrorUnkept) => return Ok(written(Refused::broken(false).into(), head, false)),
        _ => {}
    }
    let encoded =
        if head.method == Method::POST { body } else { head.uri.query().unwrap_or_default().as_bytes() };
    let form = Form::parse(encoded);
    let key = head.headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let key = key.filter(|_| head.method == Method::POST);
    let earlier = match key {
        Some(key) => {
            let request = idempotency::Request { path: path.to_owned(), form: form.clone() };
            match bench.keys.lock().begin(key, &request) {
                Ok(earlier) => earlier,
                Err(refused) => return Ok(written(refused.into(), head, false)),
            }
        }
        None => None,
    };
    let replayed = earlier.is_some();
    let (answer, card) = match earlier {
        Some(answer) => (answer, None),
        None => perform(bench, &call, &form, caller, fault),
    };
    if let Some(wait) = slowness(fault, card) {
        sleep(wait).await;
    }
    if let Some(key) = key.filter(|_| !replayed) {
        bench.keys.lock().end(key, &answer);
    }
    let hangs = card.is_some_and(|card| card.charge == Charge::HangsAfterCommit);
    match fault {
        Some(Fault::DropAfter) => Err(Dropped),
        Some(Fault::HangAfter) => pending().await,
        _ if hangs => pending().await,
        _ => Ok(written(answer, head, replayed)),
    }
}

fn slowness(fault: Option<Fault>, card: Option<&Card>) -> Option<std::time::Duration> {
    match (fault, card.map(|card| card.charge)) {
        (Some(Fault::Slow(wait)), _) | (_, Some(Charge::Slow(wait))) => Some(wait),
        _ => None,
    }
}

fn authenticate(bench: &Bench, headers: &HeaderMap) -> Option<Caller> {
    let sent = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let is = |key: &str| sent == format!("Bearer {key}");
    match () {
        () if is(&bench.secret_key) => Some(Caller::Merchant),
        () if is(&bench.publishable_key) => Some(Caller::Browser),
        () => None,
    }
}

/// Does the work, unless a fault stands before it; with the card it was done with, where there is one.
fn perform(
    bench: &Bench,
    call: &Call,
    form: &Form,
    caller: Caller,
    fault: Option<Fault>,
) -> (Answer, Option<&'static Card>) {
    if fault == Some(Fault::ErrorBefore) {
        return (Refused::broken(true).into(), None);
    }
    let done = bench.with_account(|account, now_ms| {
        allow(account, call, form, caller).and_then(|()| work(account, call, form, caller, now_ms))
    });
    let (answer, card) = match done {
        Ok((body, card)) => (Answer::ok(body), card),
        Err(refused) => (refused.into(), None),
    };
    match fault {
        Some(Fault::ErrorAfter) => (Refused::broken(true).into(), card),
        _ => (answer, card),
    }
}

/// A browser may look at and confirm the intent whose secret it has, and nothing else.
fn allow(account: &Account, call: &Call, form: &Form, caller: Caller) -> Result<(), Refused> {
    match (caller, call) {
        (Caller::Merchant, _) => Ok(()),
        (Caller::Browser, Call::Intent(id) | Call::Confirm(id)) => match account.intent(id) {
            Ok(intent) if form.text("client_secret") == Some(&intent.client_secret) => Ok(()),
            _ => Err(Refused::no_such("payment_intent", "intent", id)),
        },
        (Caller::Browser, _) => Err(Refused::unauthenticated()),
    }
}

/// What the call did, and the card it charged.
type Done = (Value, Option<&'static Card>);

fn work(
    account: &mut Account,
    call: &Call,
    form: &Form,
    caller: Caller,
    now_ms: i64,
) -> Result<Done, Refused> {
    let mut card = None;
    let intent = match call {
        Call::CreateIntent => {
            let new = new_intent(form)?;
            let confirm = form.flag("confirm")?;
            let id = account.create_intent(new, now_ms)?;
            if confirm {
                card = Some(account.confirm_intent(&id, confirming(form, caller), now_ms)?);
            }
            id
        }
        Call::Confirm(id) => {
            form.only(&["payment_method", "return_url", "client_secret", "off_session", "use_stripe_sdk"])?;
            card = Some(account.confirm_intent(id, confirming(form, caller), now_ms)?);
            id.clone()
        }
        Call::Capture(id) => {
            form.only(&["amount_to_capture", "metadata"])?;
            account.capture_intent(id, form.amount("amount_to_capture")?, now_ms)?;
            id.clone()
        }
        Call::Cancel(id) => {
            form.only(&["cancellation_reason"])?;
            account.cancel_intent(id, form.text("cancellation_reason").map(str::to_owned), now_ms)?;
            id.clone()
        }
        Call::CreateRefund => {
            let id = account.create_refund(new_refund(form)?, now_ms)?;
            return Ok((account.refund(&id)?.json(), None));
        }
        look => return Ok((read(account, look, form)?, None)),
    };
    Ok((show_intent(account, &intent, form)?, card))
}

fn read(account: &Account, call: &Call, form: &Form) -> Result<Value, Refused> {
    match call {
        Call::Intent(id) => show_intent(account, id, form),
        Call::Refund(id) => account.refund(id).map(Refund::json),
        Call::Charge(id) => account.charge(id).map(account::Charge::json),
        Call::Event(id) => account.event(id).cloned(),
        Call::ListEvents => {
            let kind = form.text("type");
            let found = account.events().filter(|event| kind.is_none_or(|kind| event["type"] == kind));
            list("/v1/events", found.cloned(), form)
        }
        Call::ListRefunds => {
            let found = account.refunds(form.text("payment_intent"));
            list("/v1/refunds", found.map(Refund::json), form)
        }
        Call::SearchIntents => {
            let (name, value) = metadata_query(form.required("query")?)?;
            let found = account.intents().rev().filter(|intent| intent.metadata.get(&name) == Some(&value));
            let mut page = list("/v1/payment_intents/search", found.map(Intent::json), form)?;
            page["object"] = "search_result".into();
            page["next_page"] = Value::Null;
            Ok(page)
        }
        _ => list("/v1/payment_intents", account.intents().rev().map(Intent::json), form),
    }
}

fn show_intent(account: &Account, id: &str, form: &Form) -> Result<Value, Refused> {
    let mut intent = account.intent(id)?.json();
    if form.list_has("expand", "latest_charge")
        && let Some(charge) = intent["latest_charge"].as_str()
    {
        intent["latest_charge"] = account.charge(charge)?.json();
    }
    Ok(intent)
}

fn list(url: &str, found: impl Iterator<Item = Value>, form: &Form) -> Result<Value, Refused> {
    let limit = form.limit()?;
    let after = form.text("starting_after");
    let mut found: Vec<Value> = found.collect();
    if let Some(after) = after {
        let at = found.iter().position(|object| object["id"] == after);
        found.drain(..at.map_or(found.len(), |at| at + 1));
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    Ok(json!({"object": "list", "url": url, "has_more": has_more, "data": found}))
}

/// `metadata['booking']:'bk_1'`, the one kind of query that is understood.
fn metadata_query(query: &str) -> Result<(String, String), Refused> {
    let unquoted = query.replace('"', "'");
    let parts: Vec<&str> = unquoted.split('\'').collect();
    match parts.as_slice() {
        ["metadata[", name, "]:", value, ""] => Ok(((*name).to_owned(), (*value).to_owned())),
        _ => Err(Refused::invalid("query", "Only metadata['name']:'value' can be searched for here.")),
    }
}

fn new_intent(form: &Form) -> Result<NewIntent, Refused> {
    form.only(&[
        "amount",
        "currency",
        "payment_method",
        "payment_method_types",
        "automatic_payment_methods",
        "capture_method",
        "confirm",
        "description",
        "metadata",
        "off_session",
        "receipt_email",
        "return_url",
        "statement_descriptor_suffix",
    ])?;
    let currency = form.required("currency")?.to_ascii_lowercase();
    if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Err(Refused::invalid("currency", format!("Invalid currency: {currency}")));
    }
    let manual_capture = match form.text("capture_method") {
        None | Some("automatic" | "automatic_async") => false,
        Some("manual") => true,
        Some(_) => return Err(Refused::invalid("capture_method", "Invalid capture_method")),
    };
    let types_named = !form.map("payment_method_types").is_empty();
    let redirects = form.text("automatic_payment_methods[allow_redirects]") != Some("never");
    Ok(NewIntent {
        amount: form.amount("amount")?.ok_or_else(|| Refused::missing("amount"))?,
        currency,
        payment_method: form.text("payment_method").map(str::to_owned),
        metadata: form.map("metadata"),
        manual_capture,
        redirects: redirects && !types_named,
        description: form.text("description").map(str::to_owned),
    })
}

fn confirming(form: &Form, caller: Caller) -> Confirming {
    Confirming {
        payment_method: form.text("payment_method").map(str::to_owned),
        returns: caller == Caller::Browser || form.text("return_url").is_some(),
    }
}

fn new_refund(form: &Form) -> Result<NewRefund, Refused> {
    form.only(&["payment_intent", "amount", "reason", "metadata"])?;
    Ok(NewRefund {
        intent: form.required("payment_intent")?.to_owned(),
        amount: form.amount("amount")?,
        reason: form.text("reason").map(str::to_owned),
        metadata: form.map("metadata"),
    })
}

fn written(answer: Answer, head: &Parts, replayed: bool) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{:#}", answer.body))));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    let request_id = fresh("req", 14).parse().expect("letters and digits");
    headers.insert("request-id", request_id);
    let version = head.headers.get("stripe-version").cloned();
    let pinned = header::HeaderValue::from_static(events::API_VERSION);
    headers.insert("stripe-version", version.unwrap_or(pinned));
    if let Some(key) = head.headers.get("idempotency-key") {
        headers.insert("idempotency-key", key.clone());
    }
    if replayed {
        headers.insert("idempotent-replayed", header::HeaderValue::from_static("true"));
    }
    response
}
