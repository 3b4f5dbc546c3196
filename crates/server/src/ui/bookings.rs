//! The visitor's bookings: how a ticket is found again when its page was closed. Its own page, so that the front of the
//! shop, which everybody loads, asks the books for nobody's.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::PaymentState;
use holdfast_engine::ledger::{BookingFilter, BookingView, Order, PageRequest};

use super::{Form, Visitor, booking::Stands, lines::LineWords, own_page, words};
use crate::{
    app::{App, Shared},
    problem::Problem,
};

/// More than a person books; whoever has more turns the page.
const SHOWN: usize = 50;
/// Lines of a booking that are named before the rest is counted.
const LINES_NAMED: usize = 2;

#[derive(Template)]
#[template(path = "bookings.html")]
struct BookingsPage {
    /// The latest first.
    bookings: Vec<Card>,
    /// Where those are that were made before.
    earlier: Option<String>,
}

struct Card {
    id: String,
    name: String,
    what: String,
    stands: Stands,
    total: String,
    made: String,
    made_at: String,
}

/// `GET /bookings`.
pub(crate) async fn list(State(app): State<Shared>, visitor: Visitor, uri: Uri) -> Result<Response, Problem> {
    let query = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let page = match visitor.is_new() {
        true => BookingsPage { bookings: Vec::new(), earlier: None },
        false => BookingsPage::of(&app, &visitor, query.one("after")).await?,
    };
    let mut response = own_page(&visitor, &page)?;
    visitor.renew(&app, &mut response);
    Ok(response)
}

impl BookingsPage {
    async fn of(app: &App, visitor: &Visitor, after: Option<&str>) -> Result<Self, Problem> {
        let (holder, order) = (Some(visitor.holder().clone()), Order::NewestFirst);
        let filter = BookingFilter { holder, order, ..BookingFilter::default() };
        let page = PageRequest { after: after.map(str::to_owned), limit: SHOWN };
        let found = app.ledger().bookings(filter, page).await?;
        let told = found.data.iter().filter(|view| !was_only_declined(view));
        Ok(Self { bookings: told.map(|view| Card::of(app, view)).collect(), earlier: found.next })
    }
}

/// A card that the bank refused left no booking, as people see it.
fn was_only_declined(view: &BookingView) -> bool {
    view.booking.payment.as_ref().is_some_and(|payment| payment.state == PaymentState::Failed)
}

impl Card {
    fn of(app: &App, view: &BookingView) -> Self {
        let booking = &view.booking;
        let line = |line| LineWords::of(line, view.offer_of(line), booking.currency);
        let lines: Vec<LineWords> = booking.lines.iter().map(line).collect();
        Self {
            id: booking.id.to_string(),
            name: lines.first().map(|line| line.name.clone()).unwrap_or_default(),
            what: in_short(&lines),
            stands: Stands::of(app, booking),
            total: words::money(booking.amount, booking.currency),
            made: words::in_utc(booking.created_at),
            made_at: booking.created_at.to_string(),
        }
    }
}

/// `Row A, seat 4, Stalls · Row A, seat 5, Stalls · 3 more`; of an appointment, when it is and what.
fn in_short(lines: &[LineWords]) -> String {
    let named = lines.iter().take(LINES_NAMED).map(|line| {
        let more = line.more.as_ref().map(|more| format!(", {more}")).unwrap_or_default();
        match line.qty {
            1 => format!("{}{more}", line.what),
            qty => format!("{qty} × {}{more}", line.what),
        }
    });
    let more = lines.len().saturating_sub(LINES_NAMED);
    let rest = (more > 0).then(|| format!("{} more", words::count(more as u64)));
    named.chain(rest).collect::<Vec<_>>().join(" · ")
}
