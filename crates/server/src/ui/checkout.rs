//! Turning a hold into a booking: for nothing, with a test card, or through Stripe's own form.

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::Response,
};
use holdfast_domain::{
    BookingId, Command, Hold, HoldId, HoldState, Money, Payment, PaymentMethod, PaymentState,
};
use holdfast_engine::{
    ledger::HoldView,
    mint,
    payments::{Answered, Beginning},
};

use super::{Posted, hold, led};
use crate::{
    app::{App, Shared},
    payments::{Checkout, Desk},
    problem::Problem,
    routes::{Of, OfHold},
};

/// How a hold can be paid on its page.
pub(super) enum Way {
    /// Nothing is charged here.
    Confirm {
        free: bool,
    },
    TestCards {
        cards: &'static [TestCard],
    },
    StripeElement(CardForm),
    /// Cards are charged, but not by these pages.
    Elsewhere,
}

/// What Stripe's own form is made with.
pub(super) struct CardForm {
    pub publishable_key: String,
    pub minor: u64,
    pub currency: String,
    /// The key of the booking that it begins, the same on every page of the hold until that has come to an end.
    pub intention: String,
}

/// A card that moves nobody's money. The names are Stripe's for its test mode.
pub(super) struct TestCard {
    pub method: &'static str,
    pub name: &'static str,
    pub does: &'static str,
}

const TEST_CARDS: &[TestCard] = &[
    TestCard { method: "pm_card_visa", name: "Visa ···· 4242", does: "is charged" },
    TestCard { method: "pm_card_mastercard", name: "Mastercard ···· 4444", does: "is charged" },
    TestCard { method: "pm_card_visa_chargeDeclined", name: "Visa ···· 0002", does: "is declined" },
    TestCard {
        method: "pm_card_chargeDeclinedInsufficientFunds",
        name: "Visa ···· 9995",
        does: "is declined: not enough money",
    },
];

/// What Stripe's form needs, and only the page that shows it.
const WITH_STRIPE: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self' https://js.stripe.com; \
     img-src 'self' data: https://*.stripe.com; connect-src 'self' https://api.stripe.com; \
     frame-src https://js.stripe.com https://hooks.stripe.com; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

impl Way {
    pub(super) fn of(app: &App, view: &HoldView) -> Self {
        let free = view.hold.amount == Money::ZERO;
        match app.desk.as_ref().map(|desk| &desk.checkout) {
            None => Self::Confirm { free },
            Some(_) if free => Self::Confirm { free },
            Some(Checkout::TestCards) => Self::TestCards { cards: TEST_CARDS },
            Some(Checkout::Elsewhere) => Self::Elsewhere,
            Some(Checkout::StripeElement { publishable_key }) => Self::StripeElement(CardForm {
                publishable_key: publishable_key.clone(),
                minor: view.hold.amount.minor(),
                currency: view.hold.currency.code().to_ascii_lowercase(),
                intention: intention(&view.hold),
            }),
        }
    }

    /// Opens the page's policy as far as this way needs it.
    pub(super) fn allow(&self, response: &mut Response) {
        if matches!(self, Self::StripeElement(_)) {
            allow_stripe(response);
        }
    }
}

pub(super) fn allow_stripe(response: &mut Response) {
    let policy = HeaderValue::from_static(WITH_STRIPE);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
}

/// Counts the payments of a hold: the one under way, or else the next.
fn intention(hold: &Hold) -> String {
    let under_way = matches!(hold.state, HoldState::Paying { .. });
    format!("pay-{}-{}", hold.id, hold.payments.saturating_sub(u8::from(under_way)))
}

/// How a payment that was begun can be gone on with: through Stripe's form, for as long as no card was charged. Asked
/// with the same key, the server answers with what that form needs, as it did at first.
pub(super) async fn go_on(
    app: &App,
    view: &HoldView,
    booking: BookingId,
) -> Result<Option<CardForm>, Problem> {
    let Way::StripeElement(card_form) = Way::of(app, view) else { return Ok(None) };
    let begun = app.ledger().booking(booking).await?;
    let payment = begun.and_then(|begun| begun.booking.payment);
    Ok(payment.is_some_and(|payment| waits_for_card(app, &payment)).then_some(card_form))
}

/// Whether a payment that was begun waits for the buyer's card, in Stripe's form. Where the server was given the card,
/// nobody waits for another one.
pub(super) fn waits_for_card(app: &App, payment: &Payment) -> bool {
    let in_a_form =
        app.desk.as_ref().is_some_and(|desk| matches!(desk.checkout, Checkout::StripeElement { .. }));
    in_a_form && payment.state == PaymentState::RequiresPayment && payment.method.is_none()
}

/// `POST /holds/{id}/book`: with `payment_method` where a card is charged.
pub(crate) async fn book(
    State(app): State<Shared>,
    Of(id): OfHold,
    posted: Posted,
) -> Result<Response, Problem> {
    let view = posted.visitor.own_hold(&app, id).await?;
    let led = match (Way::of(&app, &view), &app.desk) {
        (Way::Confirm { .. }, _) => {
            let command = Command::Confirm { booking: mint::booking_id(), hold: id };
            led::submit(&app, &posted, command).await?
        }
        (Way::TestCards { .. }, Some(desk)) => charge(&app, desk, &posted, id).await?,
        _ => return Err(Problem::invalid("Cards are not taken by this page.")),
    };
    hold::back(&posted, id, led)
}

async fn charge(app: &App, desk: &Desk, posted: &Posted, hold: HoldId) -> Result<led::Led, Problem> {
    let Some(method) = posted.form.one("payment_method") else {
        return Ok(Ok(format!("/holds/{hold}")));
    };
    let beginning = Beginning {
        hold,
        method: Some(PaymentMethod::new(method)?),
        actor: posted.visitor.actor(),
        key: posted.intention()?,
        words: led::words(),
    };
    match desk.begin(beginning).await? {
        Answered::Fresh(answer) => Ok(Ok(led::place_in(&answer))),
        Answered::Otherwise(reply) => led::said(reply),
        // The page of the booking waits for what becomes of it.
        Answered::InFlight | Answered::NoAnswer { .. } => under_way(app, posted, hold).await.map(Ok),
    }
}

/// Where to wait for a payment that has no answer yet.
async fn under_way(app: &App, posted: &Posted, hold: HoldId) -> Result<String, Problem> {
    match posted.visitor.own_hold(app, hold).await?.hold.state {
        HoldState::Paying { booking, .. } | HoldState::Booked { booking } => {
            Ok(format!("/bookings/{booking}"))
        }
        _ => Ok(format!("/holds/{hold}")),
    }
}
