//! Events: what happened to an object, with the object as it was then.

use serde_json::{Value, json};

use crate::account::fresh;

/// The version whose shapes the simulator's objects have.
pub(crate) const API_VERSION: &str = "2024-06-20";

pub(crate) fn event(kind: &str, object: Value, created_s: i64) -> Value {
    json!({
        "id": fresh("evt", 24), "object": "event", "api_version": API_VERSION, "created": created_s,
        "data": {"object": object}, "livemode": false, "pending_webhooks": 1,
        "request": {"id": null, "idempotency_key": null}, "type": kind,
    })
}
