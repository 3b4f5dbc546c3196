//! Webhooks: what the payment provider tells us by itself. A hint, checked and answered at once; then the payment is
//! looked at, as the worker would do a little later.

use axum::{
    extract::{Request, State},
    response::Response,
};
use holdfast_engine::{
    ledger::{BookingFilter, PageRequest},
    payments::stripe::webhook::{self, Hint},
    pipeline::SubmitError,
};
use tracing::{debug, warn};

use crate::{
    app::{App, Shared, json},
    body,
    payments::Desk,
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
    // What has no name cannot be told from what came before.
    let news = hint.event.is_empty() || desk.is_news(&hint.event);
    debug!(event = %hint.event, kind = %hint.kind, news, "the payment provider sent an event");
    if news && (hint.booking.is_some() || hint.intent.is_some()) {
        follow(&app, hint);
    }
    Ok(json(bytes::Bytes::from_static(br#"{"received":true}"#)))
}

/// Looks at the payment, after the answer. What is not looked at here is looked at by the worker when it is due.
fn follow(app: &Shared, hint: Hint) {
    let Some(desk) = &app.desk else { return };
    let Ok(permit) = desk.following.clone().try_acquire_owned() else { return };
    let app = app.clone();
    tokio::spawn(async move {
        let Some(desk) = &app.desk else { return };
        if let Err(fault) = hear(&app, desk, &hint).await {
            warn!(event = %hint.event, %fault, "a webhook could not be followed up; the payment stays due");
            desk.forget(&hint.event);
        }
        drop(permit);
    });
}

async fn hear(app: &App, desk: &Desk, hint: &Hint) -> Result<(), SubmitError> {
    match (hint.booking, &hint.intent) {
        (Some(booking), _) => desk.payments.hear(booking).await,
        (None, Some(intent)) => {
            let filter = BookingFilter { intent: Some(intent.clone()), ..BookingFilter::default() };
            let found = app.ledger().bookings(filter, PageRequest { after: None, limit: 1 }).await?;
            match found.data.first() {
                Some(view) => desk.payments.hear(view.booking.id).await,
                None => Ok(()),
            }
        }
        (None, None) => Ok(()),
    }
}
