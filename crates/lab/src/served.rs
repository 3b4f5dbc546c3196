//! A strategy as a shop that is asked over HTTP: `holdfast serve` as processes of its own, one or more nodes on the same
//! books, that can be killed and started again in the middle of a sale.
//!
//! ```text
//! buyers ─► http ─► node 0: a process ─┐
//!                   node 1: a process ─┴─ the same folder or database
//! ```
//! The server names holds and bookings, so a visit's requests share one number, and what the server calls by another name
//! gets another. A request that could not be sent had no effect; one without an answer may have had.

mod names;
mod words;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _};
use holdfast_checker::{
    Outcome,
    history::{Answer, Ending, HoldRef, Kept, KeptBooking, KeptHold, Reason},
};
use holdfast_engine::{mint, strategy::Strategy};
use hyper::Method;
use parking_lot::{Mutex, RwLock};
use serde_json::json;

use self::{
    names::Names,
    words::{Availability, Booking, Entry, Hold, List, Problem, Row, SeatState},
};
use crate::{
    http::{self, Ask, Lost, Reply},
    process::ServerProcess,
    report::model::Phase,
    schedule::{Goods, Schedule},
    scratch::Mark,
    shop::{AskAbout, AskHold, Shop, ShopError, Steps, Told},
    watch::Watch,
};

/// Holds looked up at once, for the ending.
const LOOKS_AT_ONCE: usize = 16;
/// How often the books are read until they stand still.
const LOOKS: u32 = 20;

/// How a node is started, each time.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub program: PathBuf,
    /// The arguments of `serve` that say where the books and the gate are.
    pub args: Vec<OsString>,
    pub admin_key: String,
    /// Where the errors of the processes go.
    pub log: PathBuf,
}

impl Recipe {
    pub(crate) fn new(program: &Path, folder: &Path, strategy: Strategy, books: &[(&str, OsString)]) -> Self {
        let mut args: Vec<OsString> = vec!["--strategy".into(), strategy.as_str().into()];
        for (flag, value) in books {
            args.extend([(*flag).into(), value.clone()]);
        }
        let admin_key = format!("lab-{:032x}", mint::random_bits());
        Self { program: program.to_owned(), args, admin_key, log: folder.join("log") }
    }

    async fn start(&self) -> Result<ServerProcess, ShopError> {
        let recipe = self.clone();
        let starting = tokio::task::spawn_blocking(move || {
            let log = fs::OpenOptions::new().create(true).append(true).open(&recipe.log)?;
            ServerProcess::start(&recipe.program, &recipe.args, &recipe.admin_key, Stdio::from(log))
        });
        let started = starting.await.map_err(ShopError::of)?;
        started.map_err(|fault| ShopError(format!("a server did not start: {fault}{}", self.last_words())))
    }

    /// What the processes wrote last, to explain a failure.
    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .map(|line| format!("; {line}"))
            .unwrap_or_default()
    }
}

#[derive(Debug)]
struct Node {
    process: Mutex<Option<ServerProcess>>,
    /// Of the process that runs, or ran last.
    address: RwLock<String>,
}

impl Node {
    async fn start(recipe: &Recipe) -> Result<Self, ShopError> {
        let process = recipe.start().await?;
        let address = RwLock::new(address_of(&process));
        Ok(Self { process: Mutex::new(Some(process)), address })
    }

    fn address(&self) -> String {
        self.address.read().clone()
    }
}

fn address_of(process: &ServerProcess) -> String {
    process.url().trim_start_matches("http://").to_owned()
}

#[derive(Debug)]
pub(crate) struct Served {
    recipe: Recipe,
    offer: String,
    nodes: Vec<Node>,
    holds: Mutex<Names>,
    bookings: Mutex<Names>,
}

impl Served {
    /// Starts the nodes and puts the goods of the schedule on sale.
    pub(crate) async fn open(
        recipe: Recipe,
        nodes: usize,
        mark: Mark,
        schedule: &Schedule,
    ) -> Result<Arc<Self>, ShopError> {
        let Goods::Seats(seats) = schedule.goods else {
            return Err(ShopError("servers are asked for seats only".to_owned()));
        };
        let mut started = Vec::new();
        for _ in 0..nodes {
            started.push(Node::start(&recipe).await?);
        }
        let offer = format!("lab-{:016x}", mark.nonce());
        let (holds, bookings) = Default::default();
        let shop = Self { recipe, offer, nodes: started, holds, bookings };
        let offer = json!({"id": shop.offer, "name": "The lab's", "kind": "seats", "currency": "EUR",
            "hold_ttl_s": schedule.hold_ttl_s, "seats": {"sections": [{"name": "Hall", "category": "std",
            "price": 1000, "rows": [{"name": "A", "seats": seats}]}]}});
        match shop.post(0, "/v1/offers", None, offer).await {
            Ok(reply) if reply.status == 201 => Ok(Arc::new(shop)),
            other => Err(ShopError(format!("the sale could not be opened: {other:?}"))),
        }
    }

    /// Kills node 0 without a word, as a power cut would, and starts it again on the same books.
    pub(crate) async fn kill_and_start_again(&self) -> Result<(), ShopError> {
        let node = &self.nodes[0];
        let process = node.process.lock().take();
        if let Some(process) = process {
            tokio::task::spawn_blocking(|| process.kill()).await.map_err(ShopError::of)?;
        }
        let process = self.recipe.start().await?;
        *node.address.write() = address_of(&process);
        *node.process.lock() = Some(process);
        Ok(())
    }

    async fn send(
        &self,
        node: usize,
        method: Method,
        path: &str,
        idempotency_key: Option<String>,
        body: Option<serde_json::Value>,
    ) -> Result<Reply, Lost> {
        let address = self.nodes[node % self.nodes.len()].address();
        let admin_key = &self.recipe.admin_key;
        http::ask(&address, Ask { method, path, admin_key, idempotency_key, body }).await
    }

    async fn post(
        &self,
        buyer: u32,
        path: &str,
        key: Option<String>,
        body: serde_json::Value,
    ) -> Result<Reply, Lost> {
        self.send(buyer as usize, Method::POST, path, key, Some(body)).await
    }

    /// From the last node: the one that nothing was done to, where there is more than one.
    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, ShopError> {
        let reply = self.send(self.nodes.len() - 1, Method::GET, path, None, None).await;
        let found = reply.as_ref().ok().filter(|reply| reply.status == 200).and_then(Reply::json);
        let last_words = || self.recipe.last_words();
        found.ok_or_else(|| ShopError(format!("the books cannot be read: {path}: {reply:?}{}", last_words())))
    }

    async fn every<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, ShopError> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let query = format!("{path}?offer={}&limit=500&after={after}", self.offer);
            let page: List<T> = self.get(&query).await?;
            all.extend(page.data);
            match page.next {
                Some(next) => after = next,
                None => return Ok(all),
            }
        }
    }

    fn held(&self, hold: &Hold, again: bool) -> Option<Answer> {
        let holder = words::holder_ref(&hold.holder)?;
        Some(Answer::Held {
            hold: self.holds.lock().number(&hold.id, holder)?,
            holder,
            claims: words::claims(&hold.lines)?,
            expires_at: words::micros(&hold.expires_at)?,
            again,
        })
    }

    /// Every hold that the journal tells of, whether anybody was told of it or not.
    async fn kept_holds(&self) -> Result<Vec<KeptHold>, ShopError> {
        let entries: Vec<Entry> = self.every("/v1/journal").await?;
        let mut ids: Vec<String> = entries.into_iter().filter_map(|entry| entry.hold).collect();
        ids.sort_unstable();
        ids.dedup();
        let looks = ids.into_iter().map(|id| async move {
            let hold: Hold = self.get(&format!("/v1/holds/{id}")).await?;
            self.kept_hold(&hold).ok_or_else(|| ShopError(format!("a hold cannot be read: {hold:?}")))
        });
        futures::stream::iter(looks).buffered(LOOKS_AT_ONCE).try_collect().await
    }

    fn kept_hold(&self, hold: &Hold) -> Option<KeptHold> {
        let holder = words::holder_ref(&hold.holder)?;
        Some(KeptHold {
            hold: self.holds.lock().number(&hold.id, holder)?,
            claims: words::claims(&hold.lines)?,
            expires_at: words::micros(&hold.expires_at)?,
            state: words::kept_state(&hold.state)?,
        })
    }

    async fn kept_bookings(&self) -> Result<Vec<KeptBooking>, ShopError> {
        let bookings: Vec<Booking> = self.every("/v1/bookings").await?;
        let kept = |booking: &Booking| {
            let hold = self.holds.lock().number(&booking.hold, words::holder_ref(&booking.holder)?)?;
            Some(KeptBooking {
                booking: self.booking(booking, hold)?,
                hold,
                claims: words::claims(&booking.lines)?,
                cancelled: booking.state != "confirmed",
            })
        };
        let kept = bookings.iter().map(|booking| {
            kept(booking).ok_or_else(|| ShopError(format!("a booking cannot be read: {booking:?}")))
        });
        kept.collect()
    }

    fn booking(&self, booking: &Booking, hold: HoldRef) -> Option<u32> {
        let mut bookings = self.bookings.lock();
        bookings.may_use(hold, hold);
        bookings.number(&booking.id, hold)
    }
}

/// What a reply that is no yes amounts to.
fn no(reply: &Result<Reply, Lost>) -> Outcome {
    let problem = match reply {
        Err(Lost::NotSent) => return Outcome::Fail(Reason::Other("unavailable".to_owned())),
        Err(Lost::NoAnswer) => return Outcome::Unknown,
        Ok(reply) => reply.json::<Problem>(),
    };
    problem.map_or(Outcome::Unknown, |problem| problem.outcome())
}

#[async_trait]
impl Shop for Served {
    fn names_holds(&self) -> bool {
        true
    }

    async fn hold(&self, ask: &AskHold, steps: &mut Steps) -> Told {
        self.holds.lock().may_use(ask.holder, ask.hold);
        let line = |unit: u32| json!({"offer": self.offer, "unit": words::seat(unit)});
        let lines: Vec<_> = ask.claims.iter().map(|claim| line(claim.unit)).collect();
        let body = json!({"holder": words::holder(ask.holder), "lines": lines});
        let key = ask.key.map(|key| format!("visit-{key}"));
        let reply = steps.during(Phase::Ask, self.post(ask.buyer, "/v1/holds", key, body)).await;
        let held = match &reply {
            Ok(reply @ Reply { status: 200 | 201, .. }) => {
                reply.json().and_then(|hold| self.held(&hold, reply.status == 200))
            }
            _ => None,
        };
        held.map_or_else(|| no(&reply), Outcome::Ok).into()
    }

    async fn confirm(&self, ask: &AskAbout, steps: &mut Steps) -> Told {
        let Some(id) = self.holds.lock().name(ask.hold) else {
            return Outcome::Fail(Reason::UnknownHold).into();
        };
        let body = json!({"hold": id, "payment": {"provider": "none"}});
        let key = format!("visit-{}", ask.key.unwrap_or(ask.holder));
        let asking = self.post(ask.buyer, "/v1/bookings", Some(key), body);
        let reply = steps.during(Phase::Commit, asking).await;
        let confirmed = match &reply {
            Ok(reply @ Reply { status: 200 | 201, .. }) => reply.json().and_then(|booking: Booking| {
                let holder = words::holder_ref(&booking.holder)?;
                Some(Answer::Confirmed { booking: self.booking(&booking, ask.hold)?, holder })
            }),
            _ => None,
        };
        confirmed.map_or_else(|| no(&reply), Outcome::Ok).into()
    }

    async fn release(&self, ask: &AskAbout, steps: &mut Steps) -> Told {
        let Some(id) = self.holds.lock().name(ask.hold) else {
            return Outcome::Fail(Reason::UnknownHold).into();
        };
        let path = format!("/v1/holds/{id}");
        let asking = self.send(ask.buyer as usize, Method::DELETE, &path, None, None);
        let reply = steps.during(Phase::Write, asking).await;
        match &reply {
            Ok(reply) if reply.status == 204 => Outcome::Ok(Answer::Released).into(),
            reply => no(reply).into(),
        }
    }

    /// Read page by page, so a reading counts only if nothing changed meanwhile. Holds of a long sale outlive the run.
    async fn ending(&self, _asked: &[HoldRef], watch: &Watch) -> Result<Ending, ShopError> {
        let seats = format!("/v1/offers/{}/availability", self.offer);
        for _ in 0..LOOKS {
            let before: Availability = self.get(&seats).await?;
            let (holds, bookings) = (self.kept_holds().await?, self.kept_bookings().await?);
            let after: Availability = self.get(&seats).await?;
            if before.version == after.version {
                let units = after.units.iter().map(Row::kept).collect();
                return Ok(Ending { at: watch.now_us(), holds, bookings, units });
            }
        }
        Err(ShopError("the books did not come to rest".into()))
    }
}

impl Row {
    fn kept(&self) -> Kept {
        let (held, booked) = (self.state == SeatState::Held, self.state == SeatState::Booked);
        Kept { held: held.into(), booked: booked.into() }
    }
}
