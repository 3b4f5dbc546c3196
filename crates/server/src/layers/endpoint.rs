//! Which route a path belongs to, for metrics and logs: told from the path alone, before and without the router.

use axum::http::Method;
use holdfast_engine::admission::Rank;

macro_rules! endpoints {
    ($($variant:ident $template:literal;)*) => {
        /// A route by its template. `Other` is what no route has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Endpoint { $($variant,)* Other }

        impl Endpoint {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)* Self::Other];

            pub(crate) const fn template(self) -> &'static str {
                match self { $(Self::$variant => $template,)* Self::Other => "other" }
            }
        }
    };
}

endpoints! {
    Offers "/v1/offers";
    Offer "/v1/offers/{offer}";
    Block "/v1/offers/{offer}/block";
    Unblock "/v1/offers/{offer}/unblock";
    Availability "/v1/offers/{offer}/availability";
    Map "/v1/offers/{offer}/map";
    MapStatus "/v1/offers/{offer}/map/status";
    MapStream "/v1/offers/{offer}/map/stream";
    Room "/v1/offers/{offer}/room";
    RoomPause "/v1/offers/{offer}/room/pause";
    RoomResume "/v1/offers/{offer}/room/resume";
    RoomFailOpen "/v1/offers/{offer}/room/fail-open";
    RoomTickets "/v1/offers/{offer}/room/tickets";
    RoomMe "/v1/offers/{offer}/room/me";
    RoomMeStream "/v1/offers/{offer}/room/me/stream";
    RoomPass "/v1/offers/{offer}/room/pass";
    Holds "/v1/holds";
    Hold "/v1/holds/{id}";
    Extend "/v1/holds/{id}/extend";
    Bookings "/v1/bookings";
    Booking "/v1/bookings/{id}";
    Cancel "/v1/bookings/{id}/cancel";
    Payment "/v1/bookings/{id}/payment";
    StripeWebhook "/v1/webhooks/stripe";
    Journal "/v1/journal";
    Livez "/livez";
    Readyz "/readyz";
    Metrics "/metrics";
    OpenApi "/openapi.json";
    Docs "/docs";
    Problems "/problems";
    ProblemPage "/problems/{code}";
    Asset "/assets/{name}";
    Lab "/lab";
    LabRun "/lab/run";
    LabRaces "/lab/races";
    LabRace "/lab/races/{id}";
    LabReports "/lab/reports";
    LabReport "/lab/reports/{id}";
    Shop "/";
    OfferPage "/o/{offer}";
    QueuePage "/o/{offer}/queue";
    QueueLeave "/o/{offer}/queue/leave";
    OfferHold "/o/{offer}/hold";
    HoldPage "/holds/{id}";
    HoldForm "/holds/{id}/{form}";
    BookingPage "/bookings/{id}";
    BookingForm "/bookings/{id}/cancel";
    Admin "/admin";
    AdminPage "/admin/{page}";
}

impl Endpoint {
    pub(crate) fn of(path: &str) -> Self {
        let mut segments = path.split('/').skip(1);
        let mut next = || segments.next();
        match (next(), next(), next(), next(), next(), next()) {
            (Some("v1"), Some("holds"), None, ..) => Self::Holds,
            (Some("v1"), Some("holds"), Some(_), None, ..) => Self::Hold,
            (Some("v1"), Some("holds"), Some(_), Some("extend"), None, _) => Self::Extend,
            (Some("v1"), Some("bookings"), None, ..) => Self::Bookings,
            (Some("v1"), Some("bookings"), Some(_), None, ..) => Self::Booking,
            (Some("v1"), Some("bookings"), Some(_), Some("cancel"), None, _) => Self::Cancel,
            (Some("v1"), Some("bookings"), Some(_), Some("payment"), None, _) => Self::Payment,
            (Some("v1"), Some("webhooks"), Some("stripe"), None, ..) => Self::StripeWebhook,
            (Some("v1"), Some("offers"), None, ..) => Self::Offers,
            (Some("v1"), Some("offers"), Some(_), None, ..) => Self::Offer,
            (Some("v1"), Some("offers"), Some(_), Some(part), rest, None) => Self::of_offer(part, rest),
            (Some("v1"), Some("offers"), Some(_), Some("room"), Some("me"), Some("stream")) => {
                Self::RoomMeStream
            }
            (Some("v1"), Some("journal"), None, ..) => Self::Journal,
            (Some("livez"), None, ..) => Self::Livez,
            (Some("readyz"), None, ..) => Self::Readyz,
            (Some("metrics"), None, ..) => Self::Metrics,
            (Some("openapi.json"), None, ..) => Self::OpenApi,
            (Some("docs"), None, ..) => Self::Docs,
            (Some("problems"), None, ..) => Self::Problems,
            (Some("problems"), Some(_), None, ..) => Self::ProblemPage,
            (Some("assets"), Some(_), None, ..) => Self::Asset,
            (Some("lab"), part, id, None, ..) => Self::of_lab(part, id),
            (Some(""), None, ..) => Self::Shop,
            (Some("o"), Some(_), None, ..) => Self::OfferPage,
            (Some("o"), Some(_), Some("queue"), None, ..) => Self::QueuePage,
            (Some("o"), Some(_), Some("queue"), Some("leave"), None, _) => Self::QueueLeave,
            (Some("o"), Some(_), Some("hold"), None, ..) => Self::OfferHold,
            (Some("holds"), Some(_), None, ..) => Self::HoldPage,
            (Some("holds"), Some(_), Some(_), None, ..) => Self::HoldForm,
            (Some("bookings"), Some(_), None, ..) => Self::BookingPage,
            (Some("bookings"), Some(_), Some("cancel"), None, ..) => Self::BookingForm,
            (Some("admin"), None, ..) => Self::Admin,
            (Some("admin"), Some(_), ..) => Self::AdminPage,
            _ => Self::Other,
        }
    }

    fn of_offer(part: &str, rest: Option<&str>) -> Self {
        match (part, rest) {
            ("block", None) => Self::Block,
            ("unblock", None) => Self::Unblock,
            ("availability", None) => Self::Availability,
            ("room", None) => Self::Room,
            ("room", Some("pause")) => Self::RoomPause,
            ("room", Some("resume")) => Self::RoomResume,
            ("room", Some("fail-open")) => Self::RoomFailOpen,
            ("room", Some("tickets")) => Self::RoomTickets,
            ("room", Some("me")) => Self::RoomMe,
            ("room", Some("pass")) => Self::RoomPass,
            ("map", None) => Self::Map,
            ("map", Some("status")) => Self::MapStatus,
            ("map", Some("stream")) => Self::MapStream,
            _ => Self::Other,
        }
    }

    fn of_lab(part: Option<&str>, id: Option<&str>) -> Self {
        match (part, id) {
            (None, None) => Self::Lab,
            (Some("run"), None) => Self::LabRun,
            (Some("races"), None) => Self::LabRaces,
            (Some("races"), Some(_)) => Self::LabRace,
            (Some("reports"), None) => Self::LabReports,
            (Some("reports"), Some(_)) => Self::LabReport,
            _ => Self::Other,
        }
    }

    /// Where a key says who is calling.
    pub(crate) fn is_api(self) -> bool {
        self.template().starts_with("/v1/")
    }

    /// What is heard when not everything can be.
    pub(crate) fn rank(self, method: &Method) -> Rank {
        match self {
            // Whoever asks how we are must hear it most of all when we are busy; a webhook is about money that has moved.
            Self::Livez | Self::Readyz | Self::Metrics | Self::StripeWebhook => Rank::Vital,
            _ if method.is_safe() => Rank::Read,
            // Whoever has something already, and books it, keeps it or gives it back, goes before those who want something.
            Self::Hold
            | Self::Extend
            | Self::HoldForm
            | Self::Bookings
            | Self::Cancel
            | Self::BookingForm
            | Self::Payment => Rank::Urgent,
            _ => Rank::Ordinary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_its_own_endpoint() {
        for endpoint in Endpoint::ALL {
            let path = endpoint.template().replace(['{', '}'], "");
            assert_eq!(Endpoint::of(&path), *endpoint, "{path}");
        }
        for path in
            ["", "/v1", "/v1/holds/a/b", "/v1/holds/a/extend/b", "/v1/offers/a/map/status/b", "/livez/"]
        {
            assert_eq!(Endpoint::of(path), Endpoint::Other, "{path}");
        }
    }

    #[test]
    fn every_documented_route_has_its_own_endpoint() {
        for path in crate::openapi::document().paths.paths.keys() {
            assert_eq!(Endpoint::of(path).template(), path, "name it in endpoints! and Endpoint::of");
        }
    }
}
