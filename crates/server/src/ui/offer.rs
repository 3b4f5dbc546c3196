//! The page of one offer: what it is, and the form of its kind.

use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{Inventory, Moment};
use holdfast_engine::{admission::waiting_room::Denied, ledger::OfferView};

use super::{
    Form, Visitor, own_page,
    seats::SeatsPage,
    shop::{Left, Price, Sale},
    slots::SlotsPage,
    stock::StockPage,
    words,
};
use crate::{
    app::{App, Shared},
    problem::Problem,
    routes::{InOffer, Of},
};

/// What stands above every kind of offer.
pub(super) struct Head {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    pub price: Price,
    pub sale: Sale,
    pub left: Option<Left>,
    pub hold_for: String,
    pub limit: Option<u32>,
    /// The form came back empty.
    pub nothing_chosen: bool,
    pub door: Door,
}

/// Whether a waiting room stands between this visitor and what is on sale. Said before they choose, so that nobody
/// learns of it by a refusal.
pub(super) enum Door {
    Open,
    /// Let in, until then.
    Inside {
        until: String,
        at: String,
    },
    /// Has to queue first.
    Queue,
    /// Nobody is let in.
    Closed,
}

impl Door {
    async fn of(app: &App, view: &OfferView, visitor: &Visitor) -> Self {
        let caller = visitor.caller();
        match app.rooms.admit(view.offer.id(), visitor.holder(), caller.tokens()).await {
            Ok(None) => Self::Open,
            Ok(Some(pass)) => Self::Inside { until: words::in_utc(pass.until), at: pass.until.to_string() },
            Err(Denied::Closed) => Self::Closed,
            // A room that cannot be read keeps nobody from looking.
            Err(Denied::Ledger(_)) => Self::Open,
            Err(_) => Self::Queue,
        }
    }
}

impl Head {
    fn of(view: &OfferView, now: Moment, query: &Form, door: Door) -> Self {
        let def = view.offer.def();
        Self {
            id: def.id.to_string(),
            name: def.name.clone(),
            kind: words::kind(view.offer.kind()),
            price: Price::of(&view.offer),
            sale: Sale::of(view, now),
            left: Left::of(view),
            hold_for: words::seconds(def.hold_ttl_s),
            limit: def.limit_per_holder,
            nothing_chosen: query.one("nothing").is_some(),
            door,
        }
    }

    /// Whether asking for something makes sense.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.sale, Sale::Open | Sale::SoldOut)
    }
}

/// `GET /o/{offer}`.
pub(crate) async fn read(
    State(app): State<Shared>,
    Of(id): InOffer,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Problem> {
    let unknown = || Problem::unknown_offer(id.as_str());
    let query = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let view = app.ledger().offer(&id).await?.ok_or_else(unknown)?;
    let offer = &view.offer;
    let door = Door::of(&app, &view, &visitor).await;
    let head = Head::of(&view, app.clock.now(), &query, door);
    match offer.inventory() {
        Inventory::Seats(plan) => {
            let snapshot = app.ledger().snapshot(&id, None).await?.ok_or_else(unknown)?;
            let page = SeatsPage::of(head, offer, plan, &snapshot, &query, visitor.basket());
            own_page(&visitor, &page)
        }
        Inventory::Stock(lines) => {
            let snapshot = app.ledger().snapshot(&id, None).await?.ok_or_else(unknown)?;
            own_page(&visitor, &StockPage::of(head, offer, lines, &snapshot))
        }
        Inventory::Slots(calendar) => {
            own_page(&visitor, &SlotsPage::of(&app, head, offer, calendar, &query).await?)
        }
    }
}
