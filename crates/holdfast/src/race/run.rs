//! The race itself: the course, the start and the finish.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use holdfast_domain::schedule::parse_date;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::{Heard, Listed, Winner, availability_path, offers, picture};
use crate::{
    failure::Failure,
    http::{
        Connection, Request,
        api::{Api, Problem},
        escaped,
    },
    load::stopwatch,
    machine,
    server_args::Access,
    term,
};

/// How long a buyer waits for an answer before calling it unknown and asking again.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often an unknown answer is asked for again, with the same key.
const SECOND_ASKS: usize = 3;
/// Files this process needs for itself, beside one a connection.
const SPARE_FILES: u64 = 32;

/// The one unit that everybody wants.
#[derive(Debug, Clone)]
pub struct Course {
    pub offer: String,
    pub unit: String,
    state: String,
    /// The line of a hold that asks for it.
    line: Value,
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.unit, self.offer)
    }
}

#[derive(Debug, Deserialize)]
struct Availability {
    #[serde(default)]
    units: Vec<Unit>,
    #[serde(default)]
    starts: Vec<Unit>,
}

#[derive(Debug, Clone, Deserialize)]
struct Unit {
    unit: String,
    state: String,
    /// Of an appointment: what begins there, and when.
    #[serde(default)]
    service: Option<String>,
    #[serde(default)]
    start: Option<String>,
}

/// How much of its units an offer has. Of a seat there is one.
#[derive(Debug, Deserialize)]
struct Plan {
    #[serde(default)]
    stock: Stock,
    slots: Option<Calendar>,
}

#[derive(Debug, Default, Deserialize)]
struct Stock {
    lines: Vec<StockLine>,
}

#[derive(Debug, Deserialize)]
struct StockLine {
    key: String,
    capacity: u64,
}

#[derive(Debug, Deserialize)]
struct Calendar {
    capacity: u64,
}

impl Course {
    pub async fn choose(api: &mut Api, offer: Option<&str>, unit: Option<&str>) -> Result<Self, Failure> {
        let listed = offers(api).await?;
        let offer = match offer {
            Some(id) => {
                listed.iter().find(|offer| offer.id == id).ok_or_else(|| unknown_offer(id, &listed))?
            }
            None => default_offer(&listed)?,
        };
        let mut units = on_sale(api, offer, unit).await?.into_iter();
        let found = match unit {
            Some(key) => units.find(|unit| unit.unit == key).ok_or_else(|| unknown_unit(&offer.id, key))?,
            // The last free one: the best are for people, and a demo's own buyers stay away from the back rows.
            None => units.rfind(|unit| unit.state == "available").ok_or_else(|| none_free(&offer.id))?,
        };
        must_be_one(api, offer, &found.unit).await?;
        Ok(Self::over(offer, found))
    }

    fn over(offer: &Listed, unit: Unit) -> Self {
        let line = match (&unit.service, &unit.start) {
            (Some(service), Some(start)) => json!({"offer": offer.id, "service": service, "start": start}),
            _ => json!({"offer": offer.id, "unit": unit.unit}),
        };
        Self { offer: offer.id.clone(), unit: unit.unit, state: unit.state, line }
    }

    /// Before the race, as far as anybody could tell.
    pub fn was_free(&self) -> bool {
        self.state == "available"
    }

    pub fn why_nobody(&self) -> String {
        match self.state.as_str() {
            "available" => "look at the refusals above, and at the journal of this unit".into(),
            state => {
                format!("{} was {state} before the race began; choose a free one with --unit", self.unit)
            }
        }
    }
}

/// What can be raced for. Of a calendar that is what can begin, on the days around the unit where one is named: a day
/// there may be another one on the clocks of the place.
async fn on_sale(api: &mut Api, offer: &Listed, unit: Option<&str>) -> Result<Vec<Unit>, Failure> {
    let mut path = availability_path(&offer.id);
    if offer.kind != "slots" {
        return Ok(api.get::<Availability>(&path).await?.units);
    }
    if let Some(key) = unit {
        let named = || unknown_unit(&offer.id, key);
        let day = key.get(..10).and_then(parse_date).ok_or_else(named)?;
        let (from, to) = day.yesterday().and_then(|from| Ok((from, day.tomorrow()?))).map_err(|_| named())?;
        path = format!("{path}?from={from}&to={to}");
    }
    let mut starts = api.get::<Availability>(&path).await?.starts;
    // Of several services that can begin there, one that is free.
    starts.sort_by_key(|start| start.state != "available");
    Ok(starts)
}

/// Where there is more than one of a unit more than one may win, and a race would show nothing.
async fn must_be_one(api: &mut Api, offer: &Listed, unit: &str) -> Result<(), Failure> {
    if offer.kind == "seats" {
        return Ok(());
    }
    let plan: Plan = api.get(&format!("/v1/offers/{}", escaped(&offer.id))).await?;
    let of_line = plan.stock.lines.iter().find(|line| line.key == unit).map(|line| line.capacity);
    let (capacity, pieces) = match &plan.slots {
        Some(calendar) => (calendar.capacity, "places"),
        None => (of_line.unwrap_or(1), "pieces"),
    };
    if capacity <= 1 {
        return Ok(());
    }
    let what =
        format!("{unit} has {} {pieces}; a race needs a unit of capacity 1", term::thousands(capacity));
    Err(Failure::usage(what, "name a seat, or a unit of which there is one, with --offer and --unit"))
}

fn unknown_offer(id: &str, listed: &[Listed]) -> Failure {
    let ids: Vec<&str> = listed.iter().map(|offer| offer.id.as_str()).collect();
    Failure::usage(format!("the server has no offer {id:?}"), format!("choose one of {}", ids.join(", ")))
}

fn default_offer(listed: &[Listed]) -> Result<&Listed, Failure> {
    let hall = listed.iter().find(|offer| offer.id == "hall");
    hall.or_else(|| listed.iter().find(|offer| offer.kind == "seats")).ok_or_else(|| {
        Failure::usage(
            "the server has no seats to race for",
            "name an offer and a unit with --offer and --unit",
        )
    })
}

fn unknown_unit(offer: &str, unit: &str) -> Failure {
    let next = format!("GET {} lists its units", availability_path(offer));
    Failure::usage(format!("{offer} has no unit {unit:?}"), next)
}

fn none_free(offer: &str) -> Failure {
    Failure::usage(format!("nothing of {offer} is free"), "wait for holds to expire, or name another --offer")
}

/// Lets all buyers go at once and gathers what they heard.
pub async fn race(access: &Access, course: &Course, buyers: u32) -> Result<Heard, Failure> {
    enough_files(buyers)?;
    let started = format!("{:x}", holdfast_engine::mint::random_bits());
    let bar = term::progress(buyers.into(), "buyers at the line");
    let mut ready = Vec::with_capacity(buyers as usize);
    for number in 1..=buyers {
        let connection = Connection::open(&access.target).await.map_err(|fault| {
            let what = format!("the server at {} took only {} connections", access.target, number - 1);
            Failure::unreachable(what, "raise its max_connections, or race with fewer --buyers")
                .because(fault)
        })?;
        ready.push(Buyer::new(access, course, &started, number, connection));
        bar.inc(1);
    }
    bar.finish_and_clear();
    shuffle(&mut ready);
    let line = Arc::new(Barrier::new(ready.len()));
    let go = stopwatch();
    let buyers: Vec<_> = ready.into_iter().map(|buyer| tokio::spawn(buyer.run(line.clone(), go))).collect();
    let mut heard = Heard::default();
    for buyer in buyers {
        heard.note(buyer.await.expect("a buyer does not panic"));
    }
    heard.elapsed_ms = go.elapsed().as_millis() as u64;
    Ok(heard)
}

/// Whoever stands first at the line is first over it; where one stands should be luck.
fn shuffle<T>(items: &mut [T]) {
    for at in (1..items.len()).rev() {
        items.swap(at, (holdfast_engine::mint::random_bits() % (at as u128 + 1)) as usize);
    }
}

fn enough_files(buyers: u32) -> Result<(), Failure> {
    match machine::open_files() {
        Some(limit) if limit < u64::from(buyers) + SPARE_FILES => {
            let what =
                format!("{buyers} buyers need as many connections, and this process may open {limit} files");
            Err(Failure::usage(
                what,
                format!("run `ulimit -n {}` first, or race with fewer --buyers", buyers + 1000),
            ))
        }
        _ => Ok(()),
    }
}

struct Buyer {
    holder: String,
    request: Request,
    connection: Connection,
    access: Access,
}

/// What became of one buyer, by the clock of the race.
struct Ran {
    holder: String,
    outcome: Outcome,
    start: Duration,
    /// Until the first answer, or until patience ended.
    took: Duration,
    end: Duration,
}

pub(super) enum Outcome {
    Won(Winner),
    Refused(String),
    Unknown,
    Error(String),
}

impl Buyer {
    fn new(access: &Access, course: &Course, race: &str, number: u32, connection: Connection) -> Self {
        let holder = format!("racer-{number}-{race}");
        // Without a key every buyer is a browser of its own: no cookie yet, so the server gives each a session.
        let body = match access.key {
            Some(_) => json!({"holder": holder, "lines": [course.line]}),
            None => json!({"lines": [course.line]}),
        }
        .to_string();
        let bearer = format!("Bearer {}", access.key.as_deref().unwrap_or_default());
        let mut headers = vec![("idempotency-key", holder.as_str())];
        if access.key.is_some() {
            headers.push(("authorization", &bearer));
        }
        let request = Request::with_body("POST", &access.target, "/v1/holds", &headers, body.as_bytes());
        Self { holder, request, connection, access: access.clone() }
    }

    async fn run(mut self, line: Arc<Barrier>, go: Instant) -> Ran {
        line.wait().await;
        let sent = stopwatch();
        let mut outcome = self.ask().await;
        let took = sent.elapsed();
        for _ in 0..SECOND_ASKS {
            if !matches!(outcome, Outcome::Unknown) {
                break;
            }
            // The key is the same, so this asks what became of the first try rather than trying again.
            if let Ok(connection) = Connection::open(&self.access.target).await {
                self.connection = connection;
                outcome = self.ask().await;
            }
        }
        let (start, end) = (sent.duration_since(go), go.elapsed());
        Ran { holder: self.holder, outcome, start, took, end }
    }

    async fn ask(&mut self) -> Outcome {
        match tokio::time::timeout(PATIENCE, self.connection.exchange(self.request.as_bytes())).await {
            Ok(Ok(response)) => read(response.status, response.body, &self.holder),
            Ok(Err(_)) | Err(_) => Outcome::Unknown,
        }
    }
}

fn read(status: u16, body: &[u8], holder: &str) -> Outcome {
    #[derive(Deserialize)]
    struct Held {
        id: String,
    }
    let problem = || serde_json::from_slice::<Problem>(body);
    match (status, serde_json::from_slice::<Held>(body)) {
        (200 | 201, Ok(held)) => Outcome::Won(Winner { holder: holder.to_owned(), hold: held.id }),
        (409, _) => problem().map_or(Outcome::Error("409".into()), |problem| Outcome::Refused(problem.code)),
        (503, _) if problem().is_ok_and(|problem| problem.code == "outcome_unknown") => Outcome::Unknown,
        _ => Outcome::Error(
            problem().map_or(status.to_string(), |problem| format!("{status} {}", problem.code)),
        ),
    }
}

impl Heard {
    fn note(&mut self, ran: Ran) {
        self.latency.record(ran.took);
        self.entrants.push(picture::entrant(&ran.holder, &ran.outcome, ran.start, ran.end));
        match ran.outcome {
            Outcome::Won(winner) => self.winners.push(winner),
            Outcome::Refused(code) => *self.refused.entry(code).or_default() += 1,
            Outcome::Unknown => self.unknown += 1,
            Outcome::Error(what) => *self.errors.entry(what).or_default() += 1,
        }
    }
}
