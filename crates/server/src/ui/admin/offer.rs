//! One offer: its figures as they move, its units to block, and what can be changed about it.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{Currency, HoldState, Inventory, Money, Offer, OfferId, StockLine, Unit};
use holdfast_engine::ledger::{BookingFilter, HoldView, OfferView, PageRequest, Snapshot, SnapshotUnits};

use super::{
    super::words,
    Form, Notice,
    bookings::in_a_list,
    change::Settings,
    figures::{self, Counted, Selling},
    frame::Frame,
    room::{PlanFields, RoomPart},
    shown,
    units::{SeatGrid, StockRow},
};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::Problem,
    routes::{InOffer, Of},
};

/// A calendar's bookings are added up one by one, no more than this many.
const MOST_ADDED_UP: usize = 5_000;

#[derive(Template)]
#[template(path = "admin/offer.html")]
pub(super) struct OfferPage {
    frame: Frame,
    id: String,
    name: String,
    kind: &'static str,
    figures: FiguresPart,
    room: RoomPart,
    plan: PlanFields,
    seats: Option<SeatGrid>,
    stock: Vec<StockRow>,
    calendar: Option<CalendarForm>,
    settings: Settings,
}

/// Times to take off sale, by the clocks of the place; what was typed stays until it is done.
struct CalendarForm {
    zone: String,
    day: String,
    from: String,
    to: String,
}

/// The part that keeps itself up to date.
#[derive(Template)]
#[template(path = "admin/offer_part.html")]
struct FiguresPart {
    id: String,
    selling: Selling,
    counted: Counted,
    takings: Takings,
    /// The lines of a stock, where it has several: together they are what is counted above.
    lines: Vec<LineFigures>,
    ending: Vec<EndingHold>,
    version: String,
}

/// One line of a stock and its figures.
struct LineFigures {
    key: String,
    capacity: String,
    blocked: bool,
    figures: Vec<figures::Figure>,
}

impl LineFigures {
    fn all(snapshot: &Snapshot) -> Vec<Self> {
        let (Inventory::Stock(lines), SnapshotUnits::Dense(units)) =
            (snapshot.offer.inventory(), &snapshot.units)
        else {
            return Vec::new();
        };
        let line = |(line, unit): (&StockLine, &Unit)| Self {
            key: line.key.clone(),
            capacity: words::count(line.capacity.into()),
            blocked: unit.blocked,
            figures: figures::of(unit.counts(line.capacity)),
        };
        lines.iter().zip(units.iter()).map(line).filter(|_| lines.len() > 1).collect()
    }
}

/// A hold that runs out soon.
struct EndingHold {
    holder: String,
    units: String,
    left: String,
    paying: bool,
}

/// How many of those that run out next are shown.
const SHOWN_ENDING: usize = 6;

impl EndingHold {
    fn of(view: &HoldView, offer: &OfferId) -> Self {
        let hold = &view.hold;
        let lines = hold.lines.iter().filter(|line| line.offer == *offer);
        let units: Vec<String> = lines.map(|line| in_a_list(line, view.offer_of(line))).collect();
        Self {
            holder: hold.holder.to_string(),
            units: units.join(", "),
            left: words::minutes_and_seconds(hold.ends_at().ms_since(view.at)),
            paying: matches!(hold.state, HoldState::Paying { .. }),
        }
    }
}

/// What the booked units cost together. Prices never change, so that is what they were sold for.
struct Takings {
    amount: String,
    /// There is more than was added up.
    at_least: bool,
}

impl Takings {
    async fn of(app: &App, offer: &Offer, snapshot: &Snapshot) -> Result<Self, Problem> {
        let sum = match &snapshot.units {
            SnapshotUnits::Dense(units) => {
                let each = (0..)
                    .zip(units.iter())
                    .map(|(unit, at)| u64::from(at.booked) * offer.price(unit).map_or(0, Money::minor));
                (each.sum(), false)
            }
            SnapshotUnits::Cells(_) => calendars_takings(app, offer.id()).await?,
        };
        Ok(Self { amount: total(sum.0, offer.currency()), at_least: sum.1 })
    }
}

/// The sum of an offer may be more than any price may be.
fn total(minor: u64, currency: Currency) -> String {
    let most = Money::new(holdfast_domain::money::MAX_AMOUNT).unwrap_or(Money::ZERO);
    words::sum(Money::new(minor).unwrap_or(most), currency)
}

/// A calendar's prices are its services', so its bookings must be looked at.
async fn calendars_takings(app: &App, offer: &OfferId) -> Result<(u64, bool), Problem> {
    let filter = BookingFilter { offer: Some(offer.clone()), ..BookingFilter::default() };
    let (mut sum, mut seen, mut after) = (0, 0, None);
    while seen < MOST_ADDED_UP {
        let page = app.ledger().bookings(filter.clone(), PageRequest { after, limit: 500 }).await?;
        let confirmed = page.data.iter().filter(|view| view.booking.state.as_str() == "confirmed");
        let lines = confirmed.flat_map(|view| view.booking.lines.iter()).filter(|line| line.offer == *offer);
        sum += lines.map(|line| line.price.minor() * u64::from(line.qty)).sum::<u64>();
        (seen, after) = (seen + page.data.len(), page.next);
        if after.is_none() {
            return Ok((sum, false));
        }
    }
    Ok((sum, true))
}

async fn ending(app: &App, offer: &OfferId) -> Result<Vec<EndingHold>, Problem> {
    let holds = app.ledger().holds_ending(offer, SHOWN_ENDING).await?;
    Ok(holds.iter().map(|view| EndingHold::of(view, offer)).collect())
}

impl FiguresPart {
    async fn of(app: &App, view: &OfferView, snapshot: &Snapshot) -> Result<Self, Problem> {
        Ok(Self {
            id: view.offer.id().to_string(),
            selling: Selling::of(view, app.clock.now()),
            counted: Counted::of(app, view).await?,
            takings: Takings::of(app, &view.offer, snapshot).await?,
            lines: LineFigures::all(snapshot),
            ending: ending(app, view.offer.id()).await?,
            version: view.version.to_string(),
        })
    }
}

impl OfferPage {
    pub(super) async fn load(
        app: &App,
        id: &OfferId,
        query: &Form,
        notice: Option<Notice>,
    ) -> Result<Self, Problem> {
        let (view, snapshot) = look(app, id).await?;
        let (mut seats, mut stock, mut calendar) = (None, Vec::new(), None);
        match view.offer.inventory() {
            Inventory::Seats(plan) => seats = Some(SeatGrid::of(plan, &snapshot, query)),
            Inventory::Stock(lines) => stock = StockRow::all(lines, &snapshot, view.offer.currency(), query),
            Inventory::Slots(slots) => {
                let today = figures::today(slots, app.clock.now()).to_string();
                let field = |name: &str, usual: &str| query.one(name).unwrap_or(usual).to_owned();
                let (from, to) = (field("from", ""), field("to", ""));
                let zone = slots.timezone().to_owned();
                calendar = Some(CalendarForm { zone, day: field("day", &today), from, to });
            }
        }
        let board = app.rooms.board(id).await?;
        Ok(Self {
            frame: Frame::around(app, notice).await,
            room: RoomPart::of(id, board.as_ref()),
            plan: PlanFields::of(board.as_ref()),
            id: id.to_string(),
            name: view.offer.def().name.clone(),
            kind: words::kind(view.offer.kind()),
            figures: FiguresPart::of(app, &view, &snapshot).await?,
            seats,
            stock,
            calendar,
            settings: Settings::of(view.offer.def()),
        })
    }
}

async fn look(app: &App, id: &OfferId) -> Result<(OfferView, Snapshot), Problem> {
    let unknown = || Problem::unknown_offer(id.as_str());
    let view = app.ledger().offer(id).await?.ok_or_else(unknown)?;
    // Of a calendar only its bookings are counted here, so none of its cells are needed.
    let snapshot = app.ledger().snapshot(id, Some(0..0)).await?.ok_or_else(unknown)?;
    Ok((view, snapshot))
}

/// `GET /admin/offers/{offer}`.
pub(crate) async fn read(
    State(app): State<Shared>,
    organiser: Organiser,
    Of(id): InOffer,
    uri: Uri,
) -> Result<Response, Problem> {
    let query = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let notice = done(&query);
    shown(&organiser, &OfferPage::load(&app, &id, &query, notice).await?)
}

/// What a form that led here says it has done.
fn done(query: &Form) -> Option<Notice> {
    let units = query.one("units").and_then(|units| units.parse().ok()).unwrap_or(0);
    let left = query.one("left").and_then(|left| left.parse().ok()).unwrap_or(0);
    let stay = match left {
        0 => String::new(),
        left => format!(" {} held or booked and stayed so.", words::are(left)),
    };
    match query.one("done")? {
        "created" => Some(Notice::good("It is on sale.")),
        "blocked" => Some(Notice::good(format!("{} off sale.{stay}", words::are(units)))),
        "unblocked" => Some(Notice::good(format!("{} back on sale.", words::are(units)))),
        "changed" => Some(Notice::good("Changed.")),
        "begun" => {
            Some(Notice::good("There is a waiting room now: people are let in in the order they come."))
        }
        "paused" => Some(Notice::good("The room is paused: nobody new is let in.")),
        "resumed" => Some(Notice::good("The room goes on.")),
        "opened" => Some(Notice::good("The room is open to all: nobody needs to queue.")),
        "planned" => Some(Notice::good("The room is set.")),
        _ => None,
    }
}

/// `GET /admin/offers/{offer}/figures`.
pub(crate) async fn figures(
    State(app): State<Shared>,
    _organiser: Organiser,
    Of(id): InOffer,
) -> Result<Response, Problem> {
    let (view, snapshot) = look(&app, &id).await?;
    super::super::page(&FiguresPart::of(&app, &view, &snapshot).await?)
}
