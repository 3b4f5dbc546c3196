//! The OpenAPI document: the routes' own words, and what all of them have in common.
//!
//! Handlers describe their parameters and successes where they stand. What can go wrong is told here, once, by
//! code: the statuses and pages come from [`Code`], so the document cannot say other than the server does.

use std::collections::BTreeMap;

use utoipa::{
    Modify, OpenApi as _,
    openapi::{
        Components, ContentBuilder, HeaderBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Required,
        ResponseBuilder, Type,
        link::LinkBuilder,
        path::{Operation, ParameterBuilder, ParameterIn},
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};

use crate::{problem::Code, router, wire};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Holdfast",
        description = "Sells each thing once: seats, appointment slots and counted stock behind one contract.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "Offers", description = "What is on sale, and what of it can be had."),
        (name = "Live map", description = "The seats of an offer, as they change."),
        (name = "Waiting room", description = "Fair queues before a sale."),
        (name = "Holds", description = "Temporary claims, all or nothing, with an expiry."),
        (name = "Bookings", description = "Holds made permanent."),
        (name = "Payments", description = "What the payment provider tells us, and an operator's word."),
        (name = "Journal", description = "The append-only record of every change."),
        (name = "Operations", description = "How the server is."),
        (name = "Pages", description = "For people."),
    ),
    components(schemas(wire::ProblemShape<'_>)),
    modifiers(&SecuritySchemes)
)]
struct Skeleton;

struct SecuritySchemes;

impl Modify for SecuritySchemes {
    fn modify(&self, document: &mut OpenApi) {
        let key = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
            "An API key with the role `admin` (everything) or `seller` (holds and bookings).",
        ));
        let session = ApiKeyValue::with_description(
            "holdfast_session",
            "A browser's signed session; given with the first hold. It reaches only what it holds itself.",
        );
        let components = document.components.get_or_insert_with(Components::new);
        components.add_security_scheme(KEY, SecurityScheme::Http(key.build()));
        components.add_security_scheme(SESSION, SecurityScheme::ApiKey(ApiKey::Cookie(session)));
    }
}

const KEY: &str = "key";
const SESSION: &str = "session";

/// Where the routes are gathered.
pub(crate) fn skeleton() -> OpenApi {
    Skeleton::openapi()
}

/// The whole document.
pub(crate) fn document() -> OpenApi {
    let mut document = router::documented();
    for item in document.paths.paths.values_mut() {
        let reads = [&mut item.get].into_iter().flatten().map(|operation| (operation, false));
        let writes = [&mut item.put, &mut item.post, &mut item.patch, &mut item.delete].into_iter().flatten();
        for (operation, may_change) in reads.chain(writes.map(|operation| (operation, true))) {
            complete(operation, may_change);
        }
        if let Some(post) = &mut item.post {
            add_idempotency_key(post);
            add_links(post);
        }
    }
    document
}

/// The document as it is served and checked in.
pub fn json() -> String {
    let mut text = document().to_pretty_json().expect("the document is plain data");
    text.push('\n');
    text
}

fn complete(operation: &mut Operation, may_change: bool) {
    let id = operation.operation_id.clone().unwrap_or_default();
    operation.security = Some(security(&id));
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    let mut codes: Vec<Code> = EVERYWHERE.to_vec();
    codes.extend(specific(&id));
    if may_change {
        codes.extend(WRITES);
    }
    codes.sort_unstable();
    codes.dedup();
    for code in codes {
        by_status.entry(code.status().as_u16()).or_default().push(code);
    }
    for (status, codes) in by_status {
        let documented = operation.responses.responses.entry(status.to_string());
        documented.or_insert_with(|| problem_response(&codes));
    }
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            response
                .headers
                .insert("X-Request-Id".into(), header("The request's id, also in the log.").into());
        }
    }
}

fn header(description: &str) -> utoipa::openapi::Header {
    let text = ObjectBuilder::new().schema_type(Type::String);
    HeaderBuilder::new().schema(Some(text)).description(Some(description)).build()
}

fn problem_response(codes: &[Code]) -> RefOr<utoipa::openapi::Response> {
    let words: Vec<_> = codes.iter().map(|code| format!("`{}`: {}.", code.as_str(), code.title())).collect();
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let mut response =
        ResponseBuilder::new().description(words.join(" ")).content("application/problem+json", content);
    if codes.iter().any(|code| code.status().as_u16() == 503 || code.status().as_u16() == 429) {
        response = response.header("Retry-After", header("Seconds to wait before asking again."));
    }
    if codes.contains(&Code::MethodNotAllowed) {
        response = response.header("Allow", header("The methods that this address takes."));
    }
    response.build().into()
}

fn add_idempotency_key(post: &mut Operation) {
    let required = post.operation_id.as_deref() == Some("createBooking");
    let key = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[!-~]{1,255}$"));
    let parameter = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(if required { Required::True } else { Required::False })
        .schema(Some(key))
        .description(Some("Your name for one intention: the same key with the same request has one effect."));
    post.parameters.get_or_insert_default().push(parameter.build().into());
    let replayed = header("`true` when these are the words of an earlier answer to the same key.");
    for (status, response) in &mut post.responses.responses {
        if let (true, RefOr::T(response)) = (status.starts_with('2'), response) {
            response.headers.insert("Idempotency-Replayed".into(), replayed.clone().into());
        }
    }
}

/// Where to go on with what was just made: by its id, in that parameter.
fn add_links(post: &mut Operation) {
    let (parameter, operations): (_, &[&str]) = match post.operation_id.as_deref() {
        Some("createOffer") => (
            "offer",
            &[
                "getOffer",
                "amendOffer",
                "blockUnits",
                "unblockUnits",
                "getAvailability",
                "getMap",
                "getMapStatus",
            ],
        ),
        Some("placeHold") => ("id", &["getHold", "extendHold", "releaseHold"]),
        Some("createBooking") => ("id", &["getBooking", "cancelBooking"]),
        _ => return,
    };
    let Some(RefOr::T(made)) = post.responses.responses.get_mut("201") else { return };
    for operation in operations {
        let link = LinkBuilder::new().operation_id(*operation).parameter(parameter, "$response.body#/id");
        made.links.insert((*operation).to_owned(), link.build().into());
    }
}

/// What any request can meet.
const EVERYWHERE: [Code; 6] = [
    Code::MethodNotAllowed,
    Code::RequestTimeout,
    Code::RateLimited,
    Code::Internal,
    Code::Overloaded,
    Code::Unavailable,
];

/// What any request that may change something can meet.
const WRITES: [Code; 10] = [
    Code::InvalidRequest,
    Code::Unauthenticated,
    Code::Forbidden,
    Code::PayloadTooLarge,
    Code::UnsupportedMediaType,
    Code::IdempotencyKeyReused,
    Code::IdempotencyInFlight,
    Code::OutcomeUnknown,
    Code::NotFound,
    Code::Overloaded,
];

/// What one operation can meet besides.
fn specific(operation: &str) -> Vec<Code> {
    use Code::*;
    match operation {
        "createOffer" => vec![OfferExists],
        "listOffers" => vec![InvalidRequest],
        "getOffer" => vec![UnknownOffer],
        "amendOffer" => vec![UnknownOffer, UnitTaken],
        "blockUnits" | "unblockUnits" => vec![UnknownOffer, UnknownUnit, UnitTaken],
        "getAvailability" => vec![InvalidRequest, UnknownOffer, UnknownUnit],
        "getMap" | "getMapStatus" | "streamMap" => vec![InvalidRequest, UnknownOffer, NotFound],
        "planRoom" | "pauseRoom" | "resumeRoom" | "failOpenRoom" | "getRoom" => vec![UnknownOffer],
        "joinRoom" | "enterRoom" | "leaveRoom" => vec![UnknownOffer, QueueRequired],
        "getPlace" | "streamPlace" => vec![InvalidRequest, Unauthenticated, UnknownOffer, QueueRequired],
        "placeHold" => vec![
            QueueRequired,
            UnknownOffer,
            UnknownUnit,
            InvalidTime,
            NotOnSale,
            LimitReached,
            UnitBlocked,
            UnitTaken,
            SoldOut,
        ],
        "getHold" => vec![Unauthenticated, UnknownHold],
        "extendHold" => vec![UnknownHold, HoldReleased, HoldExpired, AlreadyBooked, LimitReached],
        "releaseHold" => vec![UnknownHold, AlreadyBooked],
        "createBooking" => {
            vec![
                IdempotencyKeyRequired,
                UnknownHold,
                HoldReleased,
                HoldExpired,
                AlreadyBooked,
                PaymentDeclined,
            ]
        }
        "listBookings" => vec![InvalidRequest, Unauthenticated, Forbidden],
        "getBooking" => vec![Unauthenticated, UnknownBooking],
        "cancelBooking" => vec![UnknownBooking, NotCancellable],
        "resolvePayment" => vec![UnknownBooking],
        "readJournal" => vec![InvalidRequest, Unauthenticated, Forbidden],
        "getProblem" | "getAsset" => vec![NotFound],
        _ => vec![],
    }
}

/// Which credentials an operation takes; several requirements are alternatives.
fn security(operation: &str) -> Vec<SecurityRequirement> {
    let key = || SecurityRequirement::new(KEY, [""; 0]);
    let session = || SecurityRequirement::new(SESSION, [""; 0]);
    match operation {
        "createOffer" | "amendOffer" | "blockUnits" | "unblockUnits" | "listBookings" | "readJournal"
        | "resolvePayment" | "planRoom" | "pauseRoom" | "resumeRoom" | "failOpenRoom" => {
            vec![key()]
        }
        // Without either, a browser that has nothing yet: it may begin, and finds nothing of anyone's.
        "placeHold" | "getHold" | "extendHold" | "releaseHold" | "createBooking" | "getBooking"
        | "cancelBooking" => {
            vec![key(), session(), SecurityRequirement::default()]
        }
        "joinRoom" | "getPlace" | "streamPlace" | "enterRoom" | "leaveRoom" => {
            vec![session(), SecurityRequirement::default()]
        }
        _ => vec![],
    }
}
