//! Durable holds and refusals, against a server that answers without doing anything.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Plan,
    callers::{FreshHolds, Inventory, KeyedHolds, Same, TakenSeat},
    child::Server,
    instead::{CLAIMED, RowPerClaim},
    interrupted,
    report::{Figure, Series, Target, Unit, per_second},
};
use crate::{
    failure::Failure,
    http::Request,
    load::{Caller, Crew, Worker, take_turns},
    term,
};

pub(super) async fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let server = Server::start(&plan.data("speed"))?;
    let fresh = Arc::new(Inventory::new("fresh", 1, 10_000, 100));
    let keyed = Arc::new(Inventory::new("keyed", 1, 10_000, 100));
    let taken = Arc::new(Inventory::new("taken", 1, 1, 100));
    let mut api = server.api();
    for offer in fresh.bodies().chain(keyed.bodies()).chain(taken.bodies()) {
        api.post::<Value>("/v1/offers", &offer).await?;
    }
    let hold = json!({"holder": "first", "lines": [{"offer": "taken0", "unit": "r0-1"}]});
    api.post::<Value>("/v1/holds", &hold).await?;

    let paced = keeping_pace(plan)?;
    let steady = Arc::new(Inventory::new("steady", 1, 10_000, 100));
    paced.api().post::<Value>("/v1/offers", &steady.bodies().next()).await?;
    let livez = Same(Request::get(&server.target, "/livez", &[]));
    let mut workers: Vec<Box<dyn Worker>> = vec![
        crew(plan, &server, |_| Box::new(livez.clone())).await?,
        crew(plan, &server, |_| Box::new(FreshHolds::new(&server, &fresh))).await?,
        crew(plan, &server, |number| Box::new(TakenSeat::new(&server, &taken, number))).await?,
        crew(plan, &server, |_| Box::new(KeyedHolds::new(&server, &keyed))).await?,
        crew(plan, &paced, |_| Box::new(FreshHolds::new(&paced, &steady))).await?,
        Box::new(
            RowPerClaim::open(&plan.data("instead.db"))
                .map_err(std::io::Error::other)
                .map_err(interrupted)?,
        ),
    ];
    let bar = term::progress(plan.rounds.stretches(workers.len()), "speed");
    let tallies = take_turns(&mut workers, plan.rounds, &bar).await.map_err(interrupted)?;
    bar.finish_and_clear();
    Ok(figures(&tallies))
}

/// A server whose tables may hardly be behind, as after hours of selling as fast as it can: each hold then pays for its
/// rows there, instead of a quiet minute later.
fn keeping_pace(plan: &Plan) -> Result<Server, Failure> {
    let data = plan.data("paced");
    Server::start_with(&["--max-tables-lag".as_ref(), "1000".as_ref(), "--data".as_ref(), data.as_os_str()])
}

/// As many connections as planned, each with a caller of its own.
pub(super) async fn crew(
    plan: &Plan,
    server: &Server,
    caller: impl Fn(u64) -> Box<dyn Caller>,
) -> Result<Box<dyn Worker>, Failure> {
    let callers = (0..plan.connections).map(caller);
    Ok(Box::new(Crew::assemble(&server.target, server.pid(), callers).await.map_err(interrupted)?))
}

fn figures(tallies: &[Vec<crate::load::Tally>]) -> Vec<Figure> {
    let series = |at: usize, name, status| Series { name, status, rounds: &tallies[at] };
    let livez = series(0, "GET /livez", 200);
    let holds = series(1, "durable holds", 201);
    let refusals = series(2, "refusals on one taken seat", 409);
    let keyed = series(3, "durable holds with an idempotency key", 201);
    let steady = series(4, "durable holds, tables keeping pace", 201);
    let instead = series(5, "SQLite, one transaction a claim, in process", CLAIMED);
    let compared = |name, one: &Series<'_>, other: &Series<'_>, unit, target| {
        let note = format!(
            "{} of {} · p50 {}, p99 {}",
            per_second(one.rate()),
            per_second(other.rate()),
            term::latency(one.latency().summary().p50_us),
            term::latency(one.latency().summary().p99_us)
        );
        let raw = json!({"one": one.to_json(), "other": other.to_json()});
        Figure { name, value: one.ratio_to(other), unit, target, note, raw }
    };
    vec![
        compared("durable holds / livez", &holds, &livez, Unit::Ratio, Target::AtLeast(0.60)),
        compared("refusals / livez", &refusals, &livez, Unit::Ratio, Target::AtLeast(0.80)),
        compared("holds with a key / livez", &keyed, &livez, Unit::Ratio, Target::None),
        compared("holds for hours / holds", &steady, &holds, Unit::Ratio, Target::None),
        compared("holds / SQLite row a claim", &holds, &instead, Unit::Times, Target::None),
    ]
}
