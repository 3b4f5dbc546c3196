//! Finding bookings: by id, by holder, by offer, by one of its units, by how their payment stands. The newest come first.

use askama::Template;
use axum::{extract, http::Uri, response::Response};
use holdfast_domain::{
    BookingId, BookingState, HoldId, HoldState, HolderId, Kind, Line, Offer, OfferId, PaymentState,
    UnitState, text,
};
use holdfast_engine::ledger::{BookingFilter, BookingView, OfferView};

use super::{
    super::{lines::LineWords, words},
    Form, Notice,
    frame::Frame,
    go,
    paging::{Place, Turned, Ways, turn},
    refused, shown, spans,
    unit::UnitNow,
};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::Problem,
};

const SHOWN_AT_ONCE: usize = 50;

#[derive(Template)]
#[template(path = "admin/bookings.html")]
struct BookingsPage {
    frame: Frame,
    asked: Asked,
    offers: Vec<OfferChoice>,
    payments: Vec<PaymentChoice>,
    found: Found,
}

#[derive(Default)]
struct Found {
    /// The unit whose bookings these are, if one was asked for.
    unit: Option<UnitWords>,
    bookings: Vec<BookingRow>,
    ways: Ways,
}

/// A unit, and who has it.
struct UnitWords {
    name: String,
    offer: String,
    offer_name: String,
    key: String,
    /// `is booked`, `is free`.
    now: &'static str,
    /// The booking that has it and its holder, where only one can.
    has_it: Option<(String, String)>,
    /// Somebody has it by a booking that is not among these.
    is_further_back: bool,
}

/// What was asked for, as it was typed.
#[derive(Default)]
struct Asked {
    q: String,
    offer: String,
    unit: String,
    payment: String,
    place: Place,
}

/// An offer to choose by its name, here and in the journal.
pub(super) struct OfferChoice {
    pub id: String,
    pub name: String,
    pub chosen: bool,
}

/// So many offers are listed by name; one beyond them that was asked for is listed too.
const OFFERS_LISTED: usize = 500;

impl OfferChoice {
    pub(super) async fn all(app: &App, asked: &str) -> Vec<Self> {
        // Bookings can be found without the list, too.
        let page = app.ledger().offers(None, OFFERS_LISTED).await;
        let listed = page.map(|page| page.data).unwrap_or_default();
        let choice = |view: &OfferView| {
            let def = view.offer.def();
            Self { id: def.id.to_string(), name: def.name.clone(), chosen: def.id.as_str() == asked }
        };
        let mut all: Vec<Self> = listed.iter().map(choice).collect();
        if !asked.is_empty() && !all.iter().any(|choice| choice.chosen) {
            all.push(Self { id: asked.to_owned(), name: asked.to_owned(), chosen: true });
        }
        all
    }
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
    /// What it has to do with the unit that was asked for.
    share: &'static str,
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
        let units: Vec<String> = lines.map(|line| in_a_list(line, offer)).collect();
        format!("{}: {}", offer.def().name, units.join(", "))
    });
    per_offer.collect::<Vec<_>>().join(" · ")
}

/// A line among others: a seat and a stock line by the key that organisers know, an appointment as its buyer reads it.
pub(super) fn in_a_list(line: &Line, offer: &Offer) -> String {
    let name = match offer.kind() {
        Kind::Seats | Kind::Stock => offer.key(line.unit),
        Kind::Slots => {
            let LineWords { what, more, .. } = LineWords::of(line, offer, offer.currency());
            [Some(what), more].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    };
    if line.qty == 1 { name } else { format!("{} × {name}", line.qty) }
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
            share: match booking.state {
                BookingState::Confirmed => "has it now",
                BookingState::Pending => "has it while it is being paid",
                BookingState::Cancelled { .. } => "had it before",
                BookingState::Failed { .. } => "did not get it",
            },
        }
    }
}

impl UnitWords {
    fn of(unit: &UnitNow, page: &Turned<BookingView>) -> Self {
        let has_it = |view: &&BookingView| {
            matches!(view.booking.state, BookingState::Confirmed | BookingState::Pending)
        };
        let found = page.data.iter().find(has_it).filter(|_| unit.is_undivided());
        Self {
            name: unit.words(),
            offer: unit.offer.offer.id().to_string(),
            offer_name: unit.offer.offer.def().name.clone(),
            key: unit.key.clone(),
            now: spans::word(unit.state),
            is_further_back: unit.state == UnitState::Booked
                && page.earlier.is_some()
                && !page.data.iter().any(|view| has_it(&view)),
            has_it: found.map(|view| (view.booking.id.to_string(), view.booking.holder.to_string())),
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
            unit: text("unit"),
            payment: text("payment"),
            place: Place::of(&form),
        }
    }

    fn filter(&self) -> Result<BookingFilter, Problem> {
        let given = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
        if self.offer.is_empty() && !self.unit.is_empty() {
            return Err(Problem::invalid("Say which offer the unit is of."));
        }
        let holder = given(&self.q).map(|name| HolderId::new(&name)).transpose();
        let payment = given(&self.payment).map(|name| {
            PaymentState::named(&name).ok_or_else(|| Problem::invalid("There is no such state of a payment."))
        });
        Ok(BookingFilter {
            offer: given(&self.offer).map(|id| OfferId::new(&id)).transpose()?,
            unit: given(&self.unit).map(|unit| text::visible("unit", &unit, 64)).transpose()?,
            holder: holder?,
            payment: payment.transpose()?,
            ..BookingFilter::default()
        })
    }

    /// What was asked, to be asked again of another page.
    fn fields(&self) -> [(&str, &str); 4] {
        [("q", &self.q), ("offer", &self.offer), ("unit", &self.unit), ("payment", &self.payment)]
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
        Ok(found) => shown(&organiser, &BookingsPage::of(&app, asked, found, None).await),
        Err(problem) if super::is_ours_to_say(&problem) => {
            let notice = Some(Notice::of(&problem));
            let page = BookingsPage::of(&app, asked, Found::default(), notice).await;
            refused(&organiser, &problem, &page)
        }
        Err(problem) => Err(problem),
    }
}

impl BookingsPage {
    async fn of(app: &App, asked: Asked, found: Found, notice: Option<Notice>) -> Self {
        let payments = asked.payments();
        let offers = OfferChoice::all(app, &asked.offer).await;
        Self { frame: Frame::around(app, notice).await, asked, offers, payments, found }
    }
}

async fn list(app: &App, asked: &Asked) -> Result<Found, Problem> {
    let filter = asked.filter()?;
    let unit = match (&filter.offer, &filter.unit) {
        (Some(offer), Some(unit)) => Some(UnitNow::find(app, offer, unit).await?),
        _ => None,
    };
    let page = turn(&asked.place, SHOWN_AT_ONCE, |order, page| {
        app.ledger().bookings(BookingFilter { order, ..filter.clone() }, page)
    });
    let page = page.await?;
    Ok(Found {
        unit: unit.map(|unit| UnitWords::of(&unit, &page)),
        bookings: page.data.iter().map(BookingRow::of).collect(),
        ways: Ways::around(&page, "/admin/bookings", &asked.fields()),
    })
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
