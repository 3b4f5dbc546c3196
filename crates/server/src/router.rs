//! Every route, on one page.

use axum::{
    Router,
    routing::{get, post},
};
use tower_http::compression::CompressionLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouterExt},
    routes,
};

use crate::{
    app::Shared,
    assets, openapi, problem,
    routes::{
        availability, bookings, docs, health, holds, journal, map, no_such_method, no_such_route, offers,
        room, webhooks,
    },
    ui,
};

fn routes() -> OpenApiRouter<Shared> {
    // Only what can be large is compressed: for the rest it would cost more than it saves.
    let large = CompressionLayer::new;
    OpenApiRouter::with_openapi(openapi::skeleton())
        .routes(routes!(offers::list, offers::create).layer(large()))
        .routes(routes!(offers::read, offers::amend).layer(large()))
        .routes(routes!(offers::block))
        .routes(routes!(offers::unblock))
        .routes(routes!(availability::read).layer(large()))
        .routes(routes!(map::layout).layer(large()))
        .routes(routes!(map::status).layer(large()))
        .routes(routes!(map::stream))
        .routes(routes!(room::read, room::plan))
        .routes(routes!(room::pause))
        .routes(routes!(room::resume))
        .routes(routes!(room::fail_open))
        .routes(routes!(room::join))
        .routes(routes!(room::me, room::leave))
        .routes(routes!(room::stream))
        .routes(routes!(room::pass))
        .routes(routes!(holds::place))
        .routes(routes!(holds::read, holds::release))
        .routes(routes!(holds::extend))
        .routes(routes!(bookings::create))
        .routes(routes!(bookings::list).layer(large()))
        .routes(routes!(bookings::read))
        .routes(routes!(bookings::cancel))
        .routes(routes!(bookings::resolve_payment))
        .routes(routes!(webhooks::stripe))
        .routes(routes!(journal::read).layer(large()))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics).layer(large()))
        .routes(routes!(docs::openapi).layer(large()))
        .routes(routes!(docs::reference).layer(large()))
        .routes(routes!(problem::page::index))
        .routes(routes!(problem::page::read))
        .routes(routes!(assets::read).layer(large()))
        .merge(pages())
        .merge(organisers_pages())
}

/// For people, and not in the document: their forms are no contract.
fn pages() -> OpenApiRouter<Shared> {
    let large = CompressionLayer::new;
    OpenApiRouter::new()
        .route("/", get(ui::shop::list).layer(large()))
        .route("/o/{offer}", get(ui::offer::read).layer(large()))
        .route("/o/{offer}/queue", get(ui::queue::read).post(ui::queue::join))
        .route("/o/{offer}/queue/leave", post(ui::queue::leave))
        .route("/o/{offer}/hold", post(ui::place::hold))
        .route("/holds/{id}", get(ui::hold::read))
        .route("/holds/{id}/extend", post(ui::hold::extend))
        .route("/holds/{id}/release", post(ui::hold::release))
        .route("/holds/{id}/leave", post(ui::hold::leave))
        .route("/holds/{id}/return", post(ui::hold::come_back))
        .route("/holds/{id}/book", post(ui::checkout::book))
        .route("/bookings", get(ui::bookings::list).layer(large()))
        .route("/bookings/{id}", get(ui::booking::read))
        .route("/bookings/{id}/calendar.ics", get(ui::booking::calendar))
        .route("/bookings/{id}/cancel", post(ui::booking::cancel))
        .merge(lab())
}

/// Answered with 404 unless the server was given a lab.
fn lab() -> OpenApiRouter<Shared> {
    let large = CompressionLayer::new;
    OpenApiRouter::new()
        .route("/lab", get(ui::lab::front).layer(large()))
        .route("/lab/run", post(ui::lab::run))
        .route("/lab/races", post(ui::lab::keep_race))
        .route("/lab/races/{id}", get(ui::lab::race).layer(large()))
        .route("/lab/reports", post(ui::lab::keep_report))
        .route("/lab/reports/{id}", get(ui::lab::report).layer(large()))
}

/// The same, for whoever has shown an administrator's key.
fn organisers_pages() -> OpenApiRouter<Shared> {
    use ui::admin::{booking, bookings, change, create, frame, journal, offer, offers, room, sign_in, units};
    let large = CompressionLayer::new;
    OpenApiRouter::new()
        .route("/admin", get(offers::list).layer(large()))
        .route("/admin/figures", get(offers::figures).layer(large()))
        .route("/admin/sign-in", post(sign_in::enter))
        .route("/admin/sign-out", post(sign_in::leave))
        .route("/admin/new/{kind}", get(create::begin).post(create::send).layer(large()))
        .route("/admin/new/{kind}/preview", post(create::preview).layer(large()))
        .route("/admin/offers/{offer}", get(offer::read).layer(large()))
        .route("/admin/offers/{offer}/figures", get(offer::figures).layer(large()))
        .route("/admin/offers/{offer}/units", post(units::pick))
        .route("/admin/offers/{offer}/change", post(change::change))
        .route("/admin/offers/{offer}/room", get(room::read).post(room::control))
        .route("/admin/bookings", get(bookings::find).layer(large()))
        .route("/admin/bookings/{id}", get(booking::read).layer(large()))
        .route("/admin/bookings/{id}/cancel", post(booking::cancel))
        .route("/admin/bookings/{id}/payment", post(booking::settle))
        .route("/admin/payments", get(frame::payments))
        .route("/admin/journal", get(journal::read).layer(large()))
}

pub(crate) fn router(app: Shared) -> Router {
    let (router, _) = routes().split_for_parts();
    router.fallback(no_such_route).method_not_allowed_fallback(no_such_method).with_state(app)
}

/// The paths and shapes of the routes above, before [`openapi`] adds what they have in common.
pub(crate) fn documented() -> OpenApi {
    routes().into_openapi()
}
