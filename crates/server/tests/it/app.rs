//! A server on a port of its own, and clients that speak to it over TCP.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use holdfast_domain::Moment;
use holdfast_engine::{
    admission::{
        RateLimiter,
        hoarding::{self, Hoarding},
        waiting_room::{self, Rooms, store::FileStore},
    },
    clock::{Clock, ManualClock},
    ledger::{
        Ledger, Role,
        embedded::{self, EmbeddedLedger, Storage},
    },
    outbox::live_map::{self, LiveMap},
    payments::{
        self, Payments,
        provider::SecretText,
        stripe::{self, Stripe},
    },
    pipeline::{self, Pipeline},
};
use holdfast_server::{Checkout, Limits, Parts, PaymentDesk, RateLimits, Settings, TrustedProxies};
use holdfast_stripe_simulator::{Pace, Simulator};
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request, StatusCode, client::conn::http1};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

pub(crate) const ADMIN_KEY: &str = "the-first-key-of-all";

pub(crate) struct TestApp {
    pub address: SocketAddr,
    pub clock: Arc<ManualClock>,
    pub ledger: Arc<EmbeddedLedger>,
    pub rooms: Arc<Rooms>,
    pub shutdown: CancellationToken,
    pub server: JoinHandle<()>,
    pub bank: Option<Simulator>,
}

/// What a test may want otherwise.
#[derive(Default)]
pub(crate) struct Setup {
    pub limits: Limits,
    pub pipeline: pipeline::Limits,
    /// Whether payments are taken, by a simulated provider, and on which page.
    pub paid: Option<Checkout>,
    /// How long a hold that is being paid outlives its expiry, if not as usual.
    pub pin_s: Option<u32>,
    pub rates: RateLimits,
    /// Tests that play many addresses trust their own header.
    pub proxies: TrustedProxies,
    pub hoarding: hoarding::Settings,
    /// How long a hold is kept for whoever leaves its page, if not as usual.
    pub leave_keep: Option<Duration>,
    pub lab: Option<Arc<dyn holdfast_server::lab::Lab>>,
}

/// A provider whose time is the test's, and the desk that asks it.
async fn desk(
    pipeline: &Arc<Pipeline>,
    clock: &Arc<ManualClock>,
    checkout: Checkout,
    pin_s: Option<u32>,
) -> (Simulator, PaymentDesk) {
    let pace = Pace::Told { from_ms: clock.now().ms() };
    let settings = holdfast_stripe_simulator::Settings { pace, ..Default::default() };
    let bank = Simulator::start(([127, 0, 0, 1], 0).into(), settings).await.unwrap();
    let secret = |text: &str| SecretText::new(text);
    let settings = stripe::Settings { url: bank.url(), ..stripe::Settings::new(secret(bank.secret_key())) };
    let settings = stripe::Settings {
        timeout: Duration::from_millis(500),
        retries: 1,
        backoff: Duration::from_millis(1),
        ..settings
    };
    let stripe = Arc::new(Stripe::new(settings).unwrap());
    let mut settings = payments::Settings::default();
    settings.terms.pin_s = pin_s.unwrap_or(settings.terms.pin_s);
    let payments = Payments::new(pipeline.clone(), stripe, clock.clone(), settings);
    let webhook_secrets = vec![secret("whsec_of_last_year"), secret(bank.webhook_secret())];
    (bank, PaymentDesk { payments, webhook_secrets, checkout })
}

impl TestApp {
    pub(crate) async fn embedded() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with_limits(limits: Limits) -> Self {
        Self::with(Setup { limits, ..Setup::default() }).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        // 2026-11-15T18:00:00Z, a Sunday.
        let clock = Arc::new(ManualClock::at(Moment::from_s(1_794_765_600)));
        let settings =
            embedded::Settings::new(Storage::Memory, clock.clone(), Arc::new(holdfast_server::render));
        let ledger = Arc::new(EmbeddedLedger::open(settings).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let usual = Settings::new([7; 32]).with_admin_key(ADMIN_KEY);
        let settings = Settings {
            limits: setup.limits,
            rates: setup.rates,
            proxies: setup.proxies,
            leave_keep: setup.leave_keep.unwrap_or(usual.leave_keep),
            ..usual
        };
        let port: Arc<dyn Ledger> = ledger.clone();
        let hoarding = Arc::new(Hoarding::new(setup.hoarding, clock.clone(), None));
        let store = Arc::new(FileStore::in_memory());
        let rooms =
            Rooms::open(store, port.clone(), clock.clone(), [7; 32], waiting_room::Settings::default());
        let rooms = rooms.await.unwrap();
        let pipeline = Pipeline::new(port.clone(), setup.pipeline).with_hoarding(hoarding);
        let pipeline = Arc::new(pipeline.with_rooms(rooms.clone()));
        let (bank, payments) = match setup.paid {
            Some(checkout) => Some(desk(&pipeline, &clock, checkout, setup.pin_s).await),
            None => None,
        }
        .unzip();
        let parts = Parts {
            rooms: rooms.clone(),
            limiter: Arc::new(RateLimiter::new(None, 10_000)),
            payments,
            lab: setup.lab,
            pipeline,
            live_map: LiveMap::new(port, live_map::Settings::default()),
            clock: clock.clone(),
            settings,
        };
        let shutdown = CancellationToken::new();
        let server = tokio::spawn(holdfast_server::run(listener, parts, shutdown.clone()));
        Self { address, clock, ledger, rooms, shutdown, server, bank }
    }

    pub(crate) fn client(&self) -> Client {
        Client { address: self.address, headers: Vec::new(), cookies: Mutex::default() }
    }

    pub(crate) fn admin(&self) -> Client {
        self.client().with("authorization", &format!("Bearer {ADMIN_KEY}"))
    }

    pub(crate) async fn seller(&self) -> Client {
        let (key, stored) = holdfast_server::mint_key(Role::Seller, self.clock.now());
        self.ledger.add_key(stored).await.unwrap();
        self.client().with("authorization", &format!("Bearer {key}"))
    }

    /// The same hall, where one can pay.
    pub(crate) async fn with_paid_hall() -> Self {
        let app = Self::with(Setup { paid: Some(Checkout::TestCards), ..Setup::default() }).await;
        app.admin().post("/v1/offers", hall()).await.expect(201);
        app
    }

    pub(crate) fn bank(&self) -> &Simulator {
        self.bank.as_ref().expect("a shop where one can pay")
    }

    /// A hall of two rows of ten, on sale.
    pub(crate) async fn with_hall() -> Self {
        let app = Self::embedded().await;
        app.admin().post("/v1/offers", hall()).await.expect(201);
        app
    }

    pub(crate) async fn with_offer(offer: Value) -> Self {
        let app = Self::embedded().await;
        app.admin().post("/v1/offers", offer).await.expect(201);
        app
    }
}

pub(crate) fn hall() -> Value {
    json!({"id": "hall", "name": "Night at the Hall", "kind": "seats", "currency": "EUR", "hold_ttl_s": 600,
        "seats": {"sections": [{"name": "Stalls", "category": "A", "price": 4500,
            "rows": [{"name": "A", "seats": 10}, {"name": "B", "seats": 10}]}]}})
}

pub(crate) fn fest() -> Value {
    json!({"id": "fest", "name": "Festival", "kind": "stock", "currency": "EUR",
        "stock": {"lines": [{"key": "GA", "capacity": 5, "price": 3000}]}})
}

pub(crate) fn dr_lee() -> Value {
    json!({"id": "dr-lee", "name": "Dr Lee", "kind": "slots", "currency": "EUR", "slots": {
        "timezone": "Europe/Berlin", "grid_minutes": 15,
        "hours": [{"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "17:00"}],
        "closed": ["2026-12-25"], "capacity": 1,
        "services": [{"key": "consult", "minutes": 30, "buffer_after_minutes": 15, "price": 8000}]}})
}

pub(crate) fn seat(holder: &str, unit: &str) -> Value {
    json!({"holder": holder, "lines": [{"offer": "hall", "unit": unit}]})
}

/// Sends requests, each on a connection of its own; keeps the cookies it is given, like a browser.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
    /// By name.
    cookies: Mutex<BTreeMap<String, String>>,
}

impl Client {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same browser with none of its cookies but this one.
    pub(crate) fn only_cookie(&self, name: &str) -> Self {
        let cookies = self.cookies.lock().clone().into_iter().filter(|(kept, _)| kept == name).collect();
        Self { address: self.address, headers: self.headers.clone(), cookies: Mutex::new(cookies) }
    }

    pub(crate) fn cookie_line(&self) -> String {
        let pairs: Vec<_> =
            self.cookies.lock().iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("cookie: {}\r\n", pairs.join("; "))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn get_with(&self, path: &str, header: (&str, &str)) -> Answer {
        self.send(Method::GET, path, &[header], "").await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, &[JSON], body.to_string()).await
    }

    /// A form with nothing in it but its button.
    pub(crate) async fn post_form(&self, path: &str) -> Answer {
        self.send(Method::POST, path, &[("content-type", "application/x-www-form-urlencoded")], "").await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, &[JSON], body.to_string()).await
    }

    /// Submits a form, as a page does.
    pub(crate) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        self.send(Method::POST, path, &[form, ("accept", "text/html")], body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, &[JSON], body.to_string()).await
    }

    pub(crate) async fn post_keyed(&self, path: &str, key: &str, body: Value) -> Answer {
        self.send(Method::POST, path, &[JSON, ("idempotency-key", key)], body.to_string()).await
    }

    /// A hold's id, however it was placed.
    pub(crate) async fn hold(&self, body: Value) -> String {
        self.post("/v1/holds", body).await.expect(201).json()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn book(&self, hold: &str, key: &str) -> Answer {
        let body = json!({"hold": hold, "payment": {"provider": "none"}});
        self.post_keyed("/v1/bookings", key, body).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request =
            Request::builder().method(method).uri(path).header("host", self.address.to_string());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &*self.cookies.lock() {
            request = request.header("cookie", format!("{name}={value}"));
        }
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request.body(Full::new(body.into())).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        connection.abort();
        for cookie in parts.headers.get_all("set-cookie") {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.lock().insert(name.to_owned(), value.to_owned());
        }
        Answer { status: parts.status, headers: parts.headers, body }
    }
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Expects a whole problem of that status and code.
    #[track_caller]
    pub(crate) fn expect_problem(self, status: u16, code: &str) -> Self {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), "application/problem+json");
        let problem = answer.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("/problems/{code}"));
        assert_eq!(problem["request_id"], answer.header("x-request-id"));
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
        answer
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let text = || String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|fault| panic!("{fault}: {}", text()))
    }

    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).to_str().unwrap()
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.headers.get("idempotency-replayed").is_some_and(|value| value == "true")
    }
}
