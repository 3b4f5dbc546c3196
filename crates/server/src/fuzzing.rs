//! Every parser of a request, as a function of bytes: a door for the fuzz targets, behind a feature that no
//! product build has. Each checks what its parser promises and panics where that is broken.

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use holdfast_domain::{Amendment, Offer, OfferDef, Pick};

use crate::{
    auth::{self, Sessions},
    idempotency,
    settings::Secret,
    wire::{
        self,
        availability::AvailabilityQuery,
        booking::ConfirmHold,
        hold::{MAX_LINES, PlaceHold},
        map::MapQuery,
        offer_in::{AmendOffer, NewOffer, UnitList},
        query::{self, BookingsQuery, JournalQuery, OffersQuery},
        time,
    },
};

/// `POST /v1/holds`
pub fn hold(body: &[u8]) {
    let Ok(asked) = wire::parse::<PlaceHold<'_>>(body) else { return };
    let Ok(asks) = asked.asks() else { return };
    assert!((1..=MAX_LINES).contains(&asks.len()));
    for ask in &asks {
        if let Pick::Unit { key, .. } | Pick::Slot { service: key, .. } = &ask.pick {
            assert!(key.chars().count() <= 66, "as long as a key, or cut");
        }
    }
}

/// `POST /v1/offers`: an offer that is accepted is accepted again as it was written down.
pub fn new_offer(body: &[u8]) {
    let Ok(offer) = wire::parse::<NewOffer>(body).and_then(NewOffer::offer) else { return };
    let def: OfferDef = offer.def().clone();
    assert_eq!(Offer::new(def).as_ref(), Ok(&*offer));
}

/// `PATCH /v1/offers/{offer}` and the bodies of block and unblock.
pub fn amend(body: &[u8]) {
    if let Ok(amendment) = wire::parse::<AmendOffer>(body).and_then(AmendOffer::amendment) {
        assert_ne!(amendment, Amendment::default());
    }
    if let Ok(units) = wire::parse::<UnitList>(body).and_then(UnitList::units) {
        assert!(!units.is_empty());
    }
}

/// `POST /v1/bookings`
pub fn booking(body: &[u8]) {
    let Ok(asked) = wire::parse::<ConfirmHold<'_>>(body) else { return };
    if let Ok(hold) = asked.hold() {
        assert_eq!(hold.to_string().parse(), Ok(hold));
    }
}

/// Every query string there is.
pub fn queries(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(uri) = format!("/v1/any?{text}").parse::<Uri>() else { return };
    if let Ok((_, limit)) = query::parse::<OffersQuery>(&uri).and_then(|query| query.page()) {
        assert!((1..=query::MAX_LIMIT).contains(&limit));
    }
    if let Ok((_, page)) = query::parse::<BookingsQuery>(&uri).and_then(BookingsQuery::request) {
        assert!((1..=query::MAX_LIMIT).contains(&page.limit));
    }
    if let Ok((_, page)) = query::parse::<JournalQuery>(&uri).and_then(JournalQuery::request) {
        assert!((1..=query::MAX_LIMIT).contains(&page.limit));
    }
    let _advisory = (query::parse::<AvailabilityQuery>(&uri), query::parse::<MapQuery>(&uri));
}

/// A time with an offset: read again from its own text, it is the same instant.
pub fn instant(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(at) = time::instant(text) {
        assert_eq!(time::instant(&at.to_string()), Ok(at));
    }
}

/// Headers that carry meaning: a cookie that this server did not sign names nobody.
pub fn headers(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let with = |name: &str| {
        let name: header::HeaderName = name.parse().expect("a header's name");
        HeaderMap::from_iter([(name, value.clone())])
    };
    if let Ok(Some(key)) = idempotency::of(&with("idempotency-key")) {
        assert!((1..=255).contains(&key.len()));
    }
    let sessions = Sessions::new(Secret([7; 32]), false);
    assert_eq!(sessions.read(&with("cookie")), None);
    let _own = auth::origin::is_our_own(&with("origin"), &["https://tickets.example".into()]);
}
