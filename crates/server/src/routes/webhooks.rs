//! Webhooks: what the payment provider tells us by itself. A hint, checked and answered at once; then the payment is
//! looked at, as the worker would do a little later.

use axum::{
    extract::{Request, State},
    response::Response,
};
use holdfast_domain::BookingId;
use holdfast_engine::payments::stripe::webhook;
use tracing::{debug, warn};

use crate::{
    app::{Shared, json},
    body,
    problem::Problem,
};

/// The longest event; Stripe's are a few kilobytes.
const MOST_BYTES: usize = 512 * 1024;

/// Hear from Stripe.
///
/// Stripe signs what it sends (`Stripe-Signature`, over the raw body). Events that concern no booking are
/// acknowledged and forgotten.
#[utoipa::path(post, path = "/v1/webhooks/stripe", tag = "Payments", operation_id = "receiveStripeEvent",
    params(("Stripe-Signature" = String, Header, description = "`t=…,v1=…`, not older than 300 seconds.")),
    request_body(content_type = "application/json", description = "An event, as Stripe sends it."),
    responses((status = 200, description = "Heard.")))]
pub(crate) async fn stripe(State(app): State<Shared>, request: Request) -> Result<Response, Problem> {
    let Some(desk) = &app.desk else {
        return Err(Problem::invalid("No payment provider is configured on this server."));
    };
    let (parts, body) = request.into_parts();
    let signature = parts.headers.get("stripe-signature").and_then(|value| value.to_str().ok());
    let signature = signature.unwrap_or_default().to_owned();
    let body = body::read(body, MOST_BYTES).await?;
    let hint = webhook::recognise(&signature, &body, &desk.webhook_secrets, app.clock.now())
        .map_err(|fault| Problem::invalid(fault.to_string()))?;
    let news = desk.is_news(&hint.event);
    debug!(event = %hint.event, kind = %hint.kind, news, "the payment provider sent an event");
    if let (Some(booking), true) = (hint.booking, news) {
        follow(&app, booking, hint.event);
    }
    Ok(json(bytes::Bytes::from_static(br#"{"received":true}"#)))
}

/// Looks at the payment, after the answer. What is not looked at here is looked at by the worker when it is due.
fn follow(app: &Shared, booking: BookingId, event: String) {
    let Some(desk) = &app.desk else { return };
    let Ok(permit) = desk.following.clone().try_acquire_owned() else { return };
    let app = app.clone();
    tokio::spawn(async move {
        let Some(desk) = &app.desk else { return };
        if let Err(fault) = desk.payments.hear(booking).await {
            warn!(%booking, %fault, "a webhook could not be followed up; the payment stays due");
            desk.forget(&event);
        }
        drop(permit);
    });
}
