//! PostgreSQL and Redis: every strategy on the servers that are given, beside `pgbench` on the same one.
//!
//! Each server of ours works in a database of its own, made for the occasion and dropped afterwards, so that none
//! follows another's journal.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use holdfast_engine::gate::redis::{
    Authority,
    inspect::{self, Look},
};
use serde_json::{Value, json};

use super::{
    Group, Plan,
    callers::{FreshHolds, HotStock, Inventory, Same, TakenSeat},
    child::Server,
    interrupted,
    pgbench::{PgBench, UPDATED},
    report::{Figure, Series, Target, Unit, per_second},
    scratch_databases::Databases,
    speed::crew,
};
use crate::{
    failure::Failure,
    http::Request,
    load::{Rounds, Tally, Worker, take_turns},
    term,
};

/// The servers to measure on.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    pub(super) ledger: String,
    pub(super) gate: Option<Gate>,
}

#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) addresses: String,
    pub(super) authority: Option<PathBuf>,
}

/// Those that need no Redis, those that need one, and the one that needs a majority of several.
const UNGATED: [&str; 6] = ["batched", "pessimistic", "atomic", "cas", "unique", "queue"];
const GATED: [&str; 5] = ["lua", "decr", "bitmap", "lock", "layered"];
const BY_MAJORITY: [&str; 1] = ["redlock"];

/// How long a Redis may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

impl Servers {
    /// Every strategy that these servers can run, and the gate it stands behind.
    async fn strategies(&self) -> Vec<(&'static str, Option<&Gate>)> {
        let mut all: Vec<_> = UNGATED.map(|name| (name, None)).into();
        if let Some(gate) = &self.gate {
            all.extend(GATED.map(|name| (name, Some(gate))));
            if are_independent(gate).await {
                all.extend(BY_MAJORITY.map(|name| (name, Some(gate))));
            }
        }
        all
    }
}

/// Whether these are enough servers for a majority, each by itself: the members of a Cluster are not.
async fn are_independent(gate: &Gate) -> bool {
    let authority = gate.authority.as_deref().and_then(|path| Authority::read(path).ok());
    let looks = inspect::look(&gate.addresses, authority.as_ref(), PATIENCE).await.unwrap_or_default();
    let alone = |look: &Look| look.seen.as_ref().is_ok_and(|seen| seen.mode == "standalone");
    looks.len() >= 3 && looks.iter().all(alone)
}

pub(super) async fn measure(
    plan: &Plan,
    servers: &Servers,
    groups: &[Group],
) -> Result<Vec<Figure>, Failure> {
    let mut databases = Databases::on(&servers.ledger).await?;
    let measured = in_databases(plan, servers, groups, &mut databases).await;
    databases.drop_all().await;
    measured
}

async fn in_databases(
    plan: &Plan,
    servers: &Servers,
    groups: &[Group],
    databases: &mut Databases,
) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for group in groups {
        match (group, &servers.gate) {
            (Group::Refusals, Some(gate)) => figures.push(refusals(plan, gate, databases).await?),
            (Group::Strategies, _) => figures.extend(every_strategy(plan, servers, databases).await?),
            (Group::Speed, _) => {
                figures.extend(beside_pgbench(plan, databases).await?);
                figures.push(hot_stock(plan, databases).await?);
            }
            _ => {}
        }
    }
    Ok(figures)
}

async fn start(databases: &mut Databases, strategy: &str, gate: Option<&Gate>) -> Result<Server, Failure> {
    let url = databases.fresh().await?;
    let mut args = vec!["--ledger", url.as_str(), "--strategy", strategy];
    if let Some(gate) = gate {
        args.extend(["--gate", &gate.addresses]);
        let authority = gate.authority.as_deref().and_then(Path::to_str);
        args.extend(authority.into_iter().flat_map(|path| ["--gate-ca", path]));
    }
    Server::start_with(&args)
}

async fn on_sale(server: &Server, inventory: &Inventory) -> Result<(), Failure> {
    let mut api = server.api();
    for offer in inventory.bodies() {
        api.post::<Value>("/v1/offers", &offer).await?;
    }
    Ok(())
}

/// Durable holds over HTTP beside a guarded update of one row, both on the same PostgreSQL.
async fn beside_pgbench(plan: &Plan, databases: &mut Databases) -> Result<Vec<Figure>, Failure> {
    let server = start(databases, "batched", None).await?;
    let seats = Arc::new(Inventory::new("seats", 10, 1_000, 100));
    on_sale(&server, &seats).await?;
    let pgbench = PgBench::prepare(&databases.fresh().await?, plan).await?;
    let livez = Same(Request::get(&server.target, "/livez", &[]));
    let mut workers: Vec<Box<dyn Worker>> = vec![
        Box::new(pgbench),
        crew(plan, &server, |_| Box::new(FreshHolds::new(&server, &seats))).await?,
        crew(plan, &server, |_| Box::new(livez.clone())).await?,
    ];
    let tallies = turns(plan, &mut workers, "pgbench and batched").await?;
    let pgbench = Series { name: "pgbench, one guarded UPDATE", status: UPDATED, rounds: &tallies[0] };
    let holds = Series { name: "durable holds, batched", status: 201, rounds: &tallies[1] };
    let livez = Series { name: "GET /livez", status: 200, rounds: &tallies[2] };
    Ok(vec![
        compared("batched holds / pgbench UPDATE", &holds, &pgbench, Unit::Times, Target::AtLeast(1.5)),
        compared("batched holds / livez", &holds, &livez, Unit::Ratio, Target::None),
    ])
}

/// One line of stock that everybody wants.
async fn hot_stock(plan: &Plan, databases: &mut Databases) -> Result<Figure, Failure> {
    let (batched, pessimistic) =
        (start(databases, "batched", None).await?, start(databases, "pessimistic", None).await?);
    for server in [&batched, &pessimistic] {
        server.api().post::<Value>("/v1/offers", &HotStock::offer()).await?;
    }
    let mut workers = vec![
        crew(plan, &batched, |number| Box::new(HotStock::new(&batched, number))).await?,
        crew(plan, &pessimistic, |number| Box::new(HotStock::new(&pessimistic, number))).await?,
    ];
    let tallies = turns(plan, &mut workers, "hot stock").await?;
    let batched = Series { name: "hot stock, batched", status: 201, rounds: &tallies[0] };
    let pessimistic = Series { name: "hot stock, pessimistic", status: 201, rounds: &tallies[1] };
    Ok(compared(
        "hot stock: batched / pessimistic",
        &batched,
        &pessimistic,
        Unit::Times,
        Target::AtLeast(10.0),
    ))
}

/// A seat that is gone, asked for again and again, with the gate in front.
async fn refusals(plan: &Plan, gate: &Gate, databases: &mut Databases) -> Result<Figure, Failure> {
    let server = start(databases, "batched", Some(gate)).await?;
    let taken = Arc::new(Inventory::new("taken", 1, 1, 100));
    on_sale(&server, &taken).await?;
    let hold = json!({"holder": "first", "lines": [{"offer": "taken0", "unit": "r0-1"}]});
    server.api().post::<Value>("/v1/holds", &hold).await?;
    let livez = Same(Request::get(&server.target, "/livez", &[]));
    let mut workers = vec![
        crew(plan, &server, |_| Box::new(livez.clone())).await?,
        crew(plan, &server, |number| Box::new(TakenSeat::new(&server, &taken, number))).await?,
    ];
    // The two are near each other, and a machine that others use is not the same for two seconds.
    let rounds = Rounds { counted: plan.rounds.counted * 2, ..plan.rounds };
    let tallies = turns(&Plan { rounds, ..plan.clone() }, &mut workers, "refusals").await?;
    let livez = Series { name: "GET /livez", status: 200, rounds: &tallies[0] };
    let refusals = Series { name: "refusals on a hot seat, gated", status: 409, rounds: &tallies[1] };
    Ok(compared("gated refusals / livez", &refusals, &livez, Unit::Ratio, Target::AtLeast(0.7)))
}

/// Goodput and p99 of each, one after another on seats that nobody else wants.
async fn every_strategy(
    plan: &Plan,
    servers: &Servers,
    databases: &mut Databases,
) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for (strategy, gate) in servers.strategies().await {
        let server = start(databases, strategy, gate).await?;
        // More than the fastest of them sells while it is measured.
        let seats = Arc::new(Inventory::new("seats", 10, 500, 100));
        on_sale(&server, &seats).await?;
        let mut workers = vec![crew(plan, &server, |_| Box::new(FreshHolds::new(&server, &seats))).await?];
        let tallies = turns(plan, &mut workers, strategy).await?;
        let holds = Series { name: strategy, status: 201, rounds: &tallies[0] };
        let summary = holds.latency().summary();
        let (p50, p99) = (term::latency(summary.p50_us), term::latency(summary.p99_us));
        figures.push(Figure {
            name: strategy,
            value: holds.rate(),
            unit: Unit::PerSecond,
            target: Target::None,
            note: format!("durable holds over 10 offers · p50 {p50}, p99 {p99}"),
            raw: holds.to_json(),
        });
    }
    Ok(figures)
}

async fn turns(
    plan: &Plan,
    workers: &mut [Box<dyn Worker>],
    what: &'static str,
) -> Result<Vec<Vec<Tally>>, Failure> {
    let bar = term::progress(plan.rounds.stretches(workers.len()), what);
    let tallies = take_turns(workers, plan.rounds, &bar).await.map_err(interrupted)?;
    bar.finish_and_clear();
    Ok(tallies)
}

fn compared(name: &'static str, one: &Series<'_>, other: &Series<'_>, unit: Unit, target: Target) -> Figure {
    let summary = one.latency().summary();
    let note = format!(
        "{} of {} · p50 {}, p99 {}",
        per_second(one.rate()),
        per_second(other.rate()),
        term::latency(summary.p50_us),
        term::latency(summary.p99_us)
    );
    let raw = json!({"one": one.to_json(), "other": other.to_json()});
    Figure { name, value: one.ratio_to(other), unit, target, note, raw }
}
