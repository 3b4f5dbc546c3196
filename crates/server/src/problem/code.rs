//! Every code an answer can carry, with its status and the words that explain it: what it is called, what happened, and
//! what to do about it, once for whoever writes programs and once for whoever reads a page of the shop. The table of
//! `API.md`, as a type: a code without a status, a title or a page does not compile.

use axum::http::StatusCode;

macro_rules! codes {
    ($($variant:ident $name:literal $status:ident $title:literal $meaning:literal $remedy:literal $advice:literal;)*) => {
        /// The machine-readable reason of a problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) enum Code { $($variant,)* }

        impl Code {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The page that explains the code, which is also the problem's `type`.
            pub(crate) const fn page(self) -> &'static str {
                match self { $(Self::$variant => concat!("/problems/", $name),)* }
            }

            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            pub(crate) const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// What happened, for the page.
            pub(crate) const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// What to do next, for whoever writes programs.
            pub(crate) const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }

            /// What to do next, for whoever met it in the shop and knows nothing of requests.
            pub(crate) const fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice,)* }
            }
        }
    };
}

codes! {
    InvalidRequest "invalid_request" BAD_REQUEST
        "The request cannot be understood"
        "A field is missing, unknown, of the wrong type or out of bounds, or the body is not JSON. Nothing was changed."
        "The detail names the field and the rule it breaks. Correct it and send the request again."
        "Go back, load the page again and repeat it.";
    IdempotencyKeyRequired "idempotency_key_required" BAD_REQUEST
        "This request needs an Idempotency-Key"
        "A booking must be safe to send twice, so it carries a key of your choosing: 1 to 255 visible characters."
        "Choose one key per purchase, keep it across retries, and send it in the Idempotency-Key header."
        "Go back, load the page again and repeat it.";
    Unauthenticated "unauthenticated" UNAUTHORIZED
        "An API key is needed"
        "The request carries no API key, or one that is unknown or revoked."
        "Send Authorization: Bearer followed by a key. `holdfast keys create` makes one."
        "This page is for those who run the shop.";
    Forbidden "forbidden" FORBIDDEN
        "Not allowed"
        "The key's role does not reach this far, or a page of another site tried to post on a visitor's behalf."
        "Use a key with the role the operation asks for; browsers must post from the shop's own pages."
        "Go back to the shop and begin there: this cannot be done from another site's page.";
    PaymentDeclined "payment_declined" PAYMENT_REQUIRED
        "The payment was declined"
        "The card's bank said no. The hold is still yours until it expires."
        "Try again with another means of payment and a new Idempotency-Key."
        "Try another card. What you hold is still yours until its time is up.";
    NotFound "not_found" NOT_FOUND
        "There is nothing at this address"
        "No route of this server has that path, or the offer has nothing of that sort."
        "The reference at /docs lists every route."
        "The address may be mistyped, or what was here is gone.";
    UnknownOffer "unknown_offer" NOT_FOUND
        "There is no such offer"
        "No offer has that id."
        "GET /v1/offers lists what is on sale."
        "The address may be mistyped, or it is no longer on sale. The shop lists everything there is.";
    UnknownUnit "unknown_unit" NOT_FOUND
        "There is no such unit"
        "The offer exists, but has no seat, stock line or service of that name."
        "GET /v1/offers/{offer}/availability lists its units."
        "Go back and choose another one.";
    UnknownHold "unknown_hold" NOT_FOUND
        "There is no such hold"
        "No hold has that id, it ended more than a day ago, or it belongs to someone else."
        "Place a new hold. Where a browser made the hold, only the same browser can reach it."
        "It may have ended a while ago, or you held it in another browser: only that one can open it.";
    UnknownBooking "unknown_booking" NOT_FOUND
        "There is no such booking"
        "No booking has that id, or it belongs to someone else."
        "Where a browser made the booking, only the same browser can reach it."
        "You may have booked it in another browser: only that one can open it.";
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED
        "This address does not take that method"
        "The path exists, but not for this method."
        "The Allow header lists the methods it takes."
        "Go back to the shop and begin there.";
    RequestTimeout "request_timeout" REQUEST_TIMEOUT
        "The request took too long to arrive"
        "Headers and body must be complete 30 seconds after the first byte. Nothing was changed."
        "Send it again over a better connection."
        "Your connection may be slow. Try again.";
    UnitTaken "unit_taken" CONFLICT
        "Someone else has it"
        "At least one of the units asked for is held or booked. Nothing of the request was taken."
        "conflicts lists the units in the way; alternatives lists groups that were free a moment ago. A hold that is not booked comes free when it expires."
        "Choose another one. What is held and not booked comes free again.";
    SoldOut "sold_out" CONFLICT
        "Not enough is left"
        "Less is left than was asked for, or no seats satisfy the request for the best ones."
        "Ask for less, or come back: holds that are not booked come free when they expire."
        "Ask for fewer, or look again in a little while: holds run out and bookings are cancelled.";
    UnitBlocked "unit_blocked" CONFLICT
        "This unit is not for sale"
        "The organiser has taken at least one of the units off sale."
        "Choose another; alternatives lists groups that were free a moment ago."
        "Choose another one.";
    LimitReached "limit_reached" CONFLICT
        "A limit is reached"
        "The holder would have more of this offer than one holder may, counting what is held and booked; or asked for more at once than can be held without being booked; or the hold was extended as often as it may be."
        "Ask for less, or release another hold. A hold can be extended three times."
        "Ask for fewer, or give something back first.";
    NotOnSale "not_on_sale" CONFLICT
        "Not on sale now"
        "The offer's sale has not begun, or has ended."
        "The offer's opens_at and closes_at say when it is on sale."
        "Its page says when it is on sale.";
    HoldExpired "hold_expired" CONFLICT
        "The hold has expired"
        "Its time was up before the request was decided. The server's clock alone decides."
        "Place a new hold; the units may still be free."
        "Try to hold it again; it may still be free.";
    HoldReleased "hold_released" CONFLICT
        "The hold was released"
        "The units were given back before this request."
        "Place a new hold."
        "Try to hold it again; it may still be free.";
    AlreadyBooked "already_booked" CONFLICT
        "The hold is already booked"
        "A booking was made from this hold. A hold becomes at most one booking."
        "Read the booking named in the answer, or cancel it to free the units."
        "You will find it among your bookings.";
    OfferExists "offer_exists" CONFLICT
        "An offer with this id exists"
        "Offer ids are unique and never reused."
        "Choose another id, leave the id out to have one made, or PATCH the existing offer."
        "Choose another id.";
    IdempotencyInFlight "idempotency_in_flight" CONFLICT
        "The first request with this key is still running"
        "The same key arrived again before the first request was answered."
        "Wait as long as Retry-After says and send the same request again: it finds the first answer."
        "Your first try is still being dealt with. Wait a moment before you look again.";
    NotCancellable "not_cancellable" CONFLICT
        "The booking cannot be cancelled"
        "Its state does not allow a cancellation."
        "Read the booking to see its state."
        "Its page says how it stands.";
    PayloadTooLarge "payload_too_large" PAYLOAD_TOO_LARGE
        "The body is too large"
        "The body is longer than this route accepts. Nothing was changed."
        "Send less at once: a hold takes up to 100 lines."
        "Choose fewer at once.";
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE
        "The body must be JSON"
        "The Content-Type of the body is missing or not application/json."
        "Send Content-Type: application/json."
        "Go back, load the page again and repeat it.";
    IdempotencyKeyReused "idempotency_key_reused" UNPROCESSABLE_ENTITY
        "This key was used for another request"
        "The same Idempotency-Key came before with another body or another route. Nothing was changed."
        "Use a new key for a new intention, the same key only to repeat the very same request."
        "Go back, load the page again and repeat it.";
    InvalidTime "invalid_time" UNPROCESSABLE_ENTITY
        "The service cannot start then"
        "The start carries no offset, lies off the grid, outside the opening hours or on a closed day."
        "GET /v1/offers/{offer}/availability with from, to and service lists the starts there are."
        "Go back and choose another time.";
    RateLimited "rate_limited" TOO_MANY_REQUESTS
        "Too many requests from you"
        "This caller sent more than its share, or holds as much as it may without booking any of it. RateLimit-Policy names the limit."
        "Wait as long as Retry-After says. What is booked no longer counts."
        "Too much came from you, or from others on your network, in too short a time; or you hold as much as one person may without booking it. What you hold is still yours.";
    QueueRequired "queue_required" TOO_MANY_REQUESTS
        "Please queue first"
        "The offer has a waiting room, and this caller has no pass from it yet."
        "POST to join_url, ask `me` as often as it says, and exchange the ticket for a pass when it is your turn."
        "So many people want this that they are let in one after another. Join the queue; you can look around meanwhile.";
    Internal "internal_error" INTERNAL_SERVER_ERROR
        "Something went wrong here"
        "The server met a fault of its own. The same Idempotency-Key finds out whether the request had its effect."
        "Try again; if it persists, tell the operator the request id."
        "Try again. If it happens again, tell the organiser the number below.";
    Overloaded "overloaded" SERVICE_UNAVAILABLE
        "Too busy right now"
        "The server has more work than it can take. Nothing was changed."
        "Wait as long as Retry-After says and send the request again."
        "Very many people are here right now. What you hold is still yours; try again in a moment.";
    Unavailable "unavailable" SERVICE_UNAVAILABLE
        "The ledger is out of reach"
        "The books cannot be written or read at the moment. Nothing was changed."
        "Wait as long as Retry-After says and send the request again. /readyz says when it is back."
        "Nothing was changed, and what you hold is still yours. Try again in a moment.";
    OutcomeUnknown "outcome_unknown" SERVICE_UNAVAILABLE
        "It is not known whether this happened"
        "The answer of the ledger was lost. Either all of the request happened, or none of it."
        "Send the same request with the same Idempotency-Key: the answer says which."
        "Do not choose anew: look at the shop and at your bookings first, whether it is there.";
}

impl Code {
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

/// What a code means and what to do about it, as its page has it.
pub fn explained(code: &str) -> Option<String> {
    let code = Code::ALL.iter().find(|known| known.as_str() == code)?;
    Some(format!("{} {}", code.meaning(), code.remedy()))
}
