//! Finding bookings: by id, by holder, by offer, by how their payment stands.

use askama::Template;
use axum::{extract, http::Uri, response::Response};
use holdfast_domain::{BookingId, BookingState, HoldId, HoldState, HolderId, OfferId, PaymentState};
use holdfast_engine::ledger::{BookingFilter, BookingView, PageRequest};

use super::{super::words, Form, Notice, go, refused, shown};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::Problem,
};

const SHOWN_AT_ONCE: usize = 50;

#[derive(Template)]
#[template(path = "admin/bookings.html")]
struct BookingsPage {
    notice: Option<Notice>,
    asked: Asked,
    payments: Vec<PaymentChoice>,
    bookings: Vec<BookingRow>,
    /// The address of the next page.
    next: Option<String>,
}

/// What was asked for, as it was typed.
#[derive(Default)]
struct Asked {
    q: String,
    offer: String,
    payment: String,
    after: Option<String>,
}

struct PaymentChoice {
    name: &'static str,
    words: &'static str,
    chosen: bool,
}

/// A booking as a list shows it.
struct BookingRow {
    id: String,
    holder: String,
    what: String,
    amount: String,
    state: Standing,
    payment: Standing,
    at: String,
}

/// A state in a word, with the tone it has.
pub(super) struct Standing {
    pub tone: &'static str,
    pub word: &'static str,
}

impl Standing {
    pub(super) const fn of_booking(state: BookingState) -> Self {
        match state {
            BookingState::Pending => Self { tone: "held", word: "Being paid" },
            BookingState::Confirmed => Self { tone: "good", word: "Confirmed" },
            BookingState::Cancelled { .. } => Self { tone: "", word: "Cancelled" },
            BookingState::Failed { .. } => Self { tone: "bad", word: "Failed" },
        }
    }

    pub(super) fn of_payment(state: Option<PaymentState>) -> Self {
        let tone = match state {
            None | Some(PaymentState::Refunded) => "",
            Some(PaymentState::Succeeded) => "good",
            Some(PaymentState::Failed | PaymentState::Manual) => "bad",
            Some(_) => "held",
        };
        Self { tone, word: state.map_or("Not paid here", payment_words) }
    }
}

const fn payment_words(state: PaymentState) -> &'static str {
    match state {
        PaymentState::RequiresPayment => "Waiting for the buyer",
        PaymentState::Processing => "Being processed",
        PaymentState::Authorized => "Authorised",
        PaymentState::Succeeded => "Paid",
        PaymentState::Refunding => "Being refunded",
        PaymentState::Refunded => "Refunded",
        PaymentState::Failed => "Not paid",
        PaymentState::Manual => "Needs a person",
    }
}

/// `Night at the Hall: · Festival: 2 × GA`.
pub(super) fn what(view: &BookingView) -> String {
    let per_offer = view.offers.iter().map(|offer| {
        let lines = view.booking.lines.iter().filter(|line| line.offer == *offer.id());
        let units = lines.map(|line| match line.qty {
            1 => offer.key(line.unit),
            many => format!("{many} × {}", offer.key(line.unit)),
        });
        format!("{}: {}", offer.def().name, units.collect::<Vec<_>>().join(", "))
    });
    per_offer.collect::<Vec<_>>().join(" · ")
}

impl BookingRow {
    fn of(view: &BookingView) -> Self {
        let booking = &view.booking;
        Self {
            id: booking.id.to_string(),
            holder: booking.holder.to_string(),
            what: what(view),
            amount: words::money(booking.amount, booking.currency),
            state: Standing::of_booking(booking.state),
            payment: Standing::of_payment(booking.payment.as_ref().map(|payment| payment.state)),
            at: words::in_utc(booking.created_at),
        }
    }
}

impl Asked {
    fn of(uri: &Uri) -> Self {
        let form = Form::parse(uri.query().unwrap_or_default().as_bytes());
        let text = |name: &str| form.one(name).unwrap_or_default().trim().to_owned();
        Self {
            q: text("q"),
            offer: text("offer"),
            payment: text("payment"),
            after: form.one("after").map(str::to_owned),
        }
    }

    fn filter(&self) -> Result<BookingFilter, Problem> {
        let given = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
        let holder = given(&self.q).map(|name| HolderId::new(&name)).transpose();
        let payment = given(&self.payment).map(|name| {
            PaymentState::named(&name).ok_or_else(|| Problem::invalid("There is no such state of a payment."))
        });
        Ok(BookingFilter {
            offer: given(&self.offer).map(|id| OfferId::new(&id)).transpose()?,
            holder: holder?,
            payment: payment.transpose()?,
            ..BookingFilter::default()
        })
    }

    /// The address of the page after this one.
    fn page(&self, after: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("q", &*self.q), ("offer", &self.offer), ("payment", &self.payment)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        format!("/admin/bookings?{}", query.append_pair("after", after).finish())
    }

    fn payments(&self) -> Vec<PaymentChoice> {
        let choice = |state: PaymentState| PaymentChoice {
            name: state.as_str(),
            words: payment_words(state),
            chosen: state.as_str() == self.payment,
        };
        PaymentState::ALL.into_iter().map(choice).collect()
    }
}

/// `GET /admin/bookings`.
pub(crate) async fn find(
    extract::State(app): extract::State<Shared>,
    organiser: Organiser,
    uri: Uri,
) -> Result<Response, Problem> {
    let asked = Asked::of(&uri);
    if let Some(id) = named(&app, &asked.q).await? {
        return go(&format!("/admin/bookings/{id}"));
    }
    match list(&app, &asked).await {
        Ok((bookings, next)) => {
            let payments = asked.payments();
            shown(&organiser, &BookingsPage { notice: None, asked, payments, bookings, next })
        }
        Err(problem) if super::is_ours_to_say(&problem) => {
            let (notice, payments) = (Some(Notice::of(&problem)), asked.payments());
            let page = BookingsPage { notice, asked, payments, bookings: Vec::new(), next: None };
            refused(&organiser, &problem, &page)
        }
        Err(problem) => Err(problem),
    }
}

async fn list(app: &App, asked: &Asked) -> Result<(Vec<BookingRow>, Option<String>), Problem> {
    let page = PageRequest { after: asked.after.clone(), limit: SHOWN_AT_ONCE };
    let page = app.ledger().bookings(asked.filter()?, page).await?;
    let next = page.next.map(|after| asked.page(&after));
    Ok((page.data.iter().map(BookingRow::of).collect(), next))
}

/// The booking whose id was typed, or whose hold's.
async fn named(app: &App, typed: &str) -> Result<Option<BookingId>, Problem> {
    if let Ok(id) = typed.parse::<BookingId>() {
        return Ok(app.ledger().booking(id).await?.map(|_| id));
    }
    let Ok(hold) = typed.parse::<HoldId>() else { return Ok(None) };
    Ok(app.ledger().hold(hold).await?.and_then(|view| match view.hold.state {
        HoldState::Booked { booking } | HoldState::Paying { booking, .. } => Some(booking),
        HoldState::Active | HoldState::Released { .. } | HoldState::Expired { .. } => None,
    }))
}
