//! What it costs to have two thousand people watch the map, and how small the map is on the wire.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Plan,
    callers::Inventory,
    child::Server,
    interrupted,
    report::{Figure, Series, Target, Unit, per_second},
    scale::cycles,
};
use crate::{
    failure::Failure,
    http::{self, Connection, Request, api::Api},
    load::take_turns,
    term,
};

pub(super) async fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let server = Server::start(&plan.data("live-map"))?;
    let watched = Arc::new(Inventory::new("watched", 1, 1024, 20));
    let quiet = Arc::new(Inventory::new("quiet", 1, 1024, 20));
    let mut api = server.api();
    for offer in watched.bodies().chain(quiet.bodies()).chain(Inventory::new("compact", 1, 1000, 20).bodies())
    {
        api.post::<Value>("/v1/offers", &offer).await?;
    }
    let compact = compact_status(&mut api).await?;
    let viewers = Viewers::come(&server.target, plan.viewers).await?;
    let cycles = |among| cycles(plan, &server, among);
    let mut workers = [cycles(&quiet).await?, cycles(&watched).await?];
    let bar = term::progress(plan.rounds.stretches(workers.len()), "2,000 viewers");
    let tallies = take_turns(&mut workers, plan.rounds, &bar).await.map_err(interrupted)?;
    bar.finish_and_clear();
    let seen = viewers.leave()?;
    let quiet = Series { name: "hold and release, unwatched", status: 201, rounds: &tallies[0] };
    let watched = Series { name: "hold and release, watched", status: 201, rounds: &tallies[1] };
    Ok(vec![viewers_figure(plan, &watched, &quiet, seen), compact])
}

fn viewers_figure(plan: &Plan, watched: &Series<'_>, quiet: &Series<'_>, seen: Seen) -> Figure {
    let cost = (1.0 - watched.ratio_to(quiet)) * 100.0;
    // Viewers who saw nothing cost nothing, and prove nothing.
    let value = if seen.frames == 0 { f64::NAN } else { cost.max(0.0) };
    Figure {
        name: "cost of 2,000 live-map viewers",
        value,
        unit: Unit::Percent,
        target: Target::AtMost(30.0),
        note: format!(
            "{} of {}; viewers read {} frames, {}",
            per_second(watched.rate()),
            per_second(quiet.rate()),
            term::thousands(seen.frames),
            term::size(seen.bytes)
        ),
        raw: json!({"watched": watched.to_json(), "quiet": quiet.to_json(), "viewers": plan.viewers,
            "frames": seen.frames, "bytes": seen.bytes}),
    }
}

/// People who watch, on a thread of their own.
struct Viewers {
    leave: CancellationToken,
    frames: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    thread: thread::JoinHandle<()>,
}

struct Seen {
    frames: u64,
    bytes: u64,
}

impl Viewers {
    /// Returns when all of them are watching.
    async fn come(target: &http::Target, count: usize) -> Result<Self, Failure> {
        let (leave, frames, bytes) = (CancellationToken::new(), Arc::default(), Arc::default());
        let crowd = Crowd {
            stream: Request::get(target, "/v1/offers/watched0/map/stream", &[]),
            target: target.clone(),
            leave: leave.clone(),
            frames: Arc::clone(&frames),
            bytes: Arc::clone(&bytes),
        };
        let (ready, all_watching) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime
                .expect("the operating system gives a thread its event queue")
                .block_on(crowd.watch(count, ready));
        });
        let lost = || std::io::Error::other("the viewers' thread ended early");
        all_watching.await.map_err(|_| interrupted(lost()))?.map_err(interrupted)?;
        Ok(Self { leave, frames, bytes, thread })
    }

    fn leave(self) -> Result<Seen, Failure> {
        self.leave.cancel();
        let panicked = |_| interrupted(std::io::Error::other("the viewers' thread panicked"));
        self.thread.join().map_err(panicked)?;
        Ok(Seen { frames: self.frames.load(Relaxed), bytes: self.bytes.load(Relaxed) })
    }
}

struct Crowd {
    target: http::Target,
    stream: Request,
    leave: CancellationToken,
    frames: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl Crowd {
    async fn watch(self, count: usize, ready: oneshot::Sender<std::io::Result<()>>) {
        let mut watching = Vec::with_capacity(count);
        let mut opened = Ok(());
        for _ in 0..count {
            match self.open().await {
                Ok(connection) => watching.push(connection),
                Err(fault) => {
                    opened = Err(fault);
                    break;
                }
            }
        }
        // Whoever waits for this may have given up; then the viewers leave at once.
        if ready.send(opened).is_err() {
            return;
        }
        let tasks: Vec<_> = watching
            .into_iter()
            .map(|connection| {
                let (frames, bytes) = (self.frames.clone(), self.bytes.clone());
                tokio::spawn(self.leave.clone().run_until_cancelled_owned(read_on(connection, frames, bytes)))
            })
            .collect();
        for task in tasks {
            let _ = task.await;
        }
    }

    async fn open(&self) -> std::io::Result<Connection> {
        let mut connection = Connection::open(&self.target).await?;
        match connection.open_stream(self.stream.as_bytes()).await? {
            200 => Ok(connection),
            status => Err(std::io::Error::other(format!("the stream of the map answered {status}"))),
        }
    }
}

/// Reads like a browser would, and throws it away.
async fn read_on(mut connection: Connection, frames: Arc<AtomicU64>, bytes: Arc<AtomicU64>) {
    while let Ok(Some(read)) = connection.next_bytes().await {
        bytes.fetch_add(read.len() as u64, Relaxed);
        frames.fetch_add(read.windows(4).filter(|window| window == b"\nid:").count() as u64, Relaxed);
    }
}

/// The compact status of 20,000 seats in a mix of states that compresses badly.
async fn compact_status(api: &mut Api) -> Result<Figure, Failure> {
    const PATH: &str = "/v1/offers/compact0/map/status";
    scatter_states(api).await?;
    let mut sizes = Vec::new();
    for coding in ["gzip", "br", "identity"] {
        let answer = api.call("GET", PATH, &[("accept-encoding", coding)], None).await?;
        if answer.status != 200 {
            return Err(api.refusal(PATH, &answer));
        }
        sizes.push((coding, answer.body.len()));
    }
    let listed: Vec<String> =
        sizes.iter().map(|(coding, bytes)| format!("{coding} {}", term::size(*bytes as u64))).collect();
    Ok(Figure {
        name: "compact status of 20,000 seats, gzip",
        value: sizes[0].1 as f64,
        unit: Unit::Bytes,
        target: Target::AtMost(8_000.0),
        note: format!("{}, states scattered at random", listed.join(", ")),
        raw: sizes.into_iter().map(|(coding, bytes)| json!({"coding": coding, "bytes": bytes})).collect(),
    })
}

/// About a quarter each of available, held, booked and blocked, as if by dice.
async fn scatter_states(api: &mut Api) -> Result<(), Failure> {
    let (mut blocked, mut held, mut booked) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..20_000u64 {
        let unit = format!("r{}-{}", at / 20, at % 20 + 1);
        match scattered(at) & 3 {
            0 => blocked.push(unit),
            1 => held.push(unit),
            2 => booked.push(unit),
            _ => {}
        }
    }
    api.post::<Value>("/v1/offers/compact0/block", &json!({"units": blocked})).await?;
    for units in held.chunks(50) {
        hold(api, units).await?;
    }
    for units in booked.chunks(50) {
        let id = hold(api, units).await?;
        let body = json!({"hold": id, "payment": {"provider": "none"}}).to_string();
        let answer =
            api.call("POST", "/v1/bookings", &[("idempotency-key", &id)], Some(body.as_bytes())).await?;
        if answer.status != 201 {
            return Err(api.refusal("/v1/bookings", &answer));
        }
    }
    Ok(())
}

/// The same scatter every time, with no pattern for a compressor to find (the finaliser of SplitMix64).
fn scattered(at: u64) -> u64 {
    let mixed = (at ^ at >> 30).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

async fn hold(api: &mut Api, units: &[String]) -> Result<String, Failure> {
    let lines: Vec<Value> = units.iter().map(|unit| json!({"offer": "compact0", "unit": unit})).collect();
    let held: Value = api.post("/v1/holds", &json!({"holder": "someone", "lines": lines})).await?;
    Ok(held["id"].as_str().unwrap_or_default().to_owned())
}
