//! Ten times as many as the server can serve, none of whom waits as told: what is still sold, what the rest hear, and
//! what they cost.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    Plan,
    callers::{Cycle, Inventory},
    child::Server,
    interrupted,
    report::{Figure, Series, Target, Unit, per_second},
};
use crate::{
    failure::Failure,
    load::{Crew, Tally, Worker, take_turns},
    term,
};

/// How much more than there is room for.
const TIMES: u64 = 10;
/// What somebody may hear who is too many: sold, gone, slow down, busy.
const EXPECTED: [u16; 6] = [200, 201, 204, 409, 429, 503];

pub(super) async fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let data = plan.data("overload");
    let room = plan.connections.to_string();
    // Room for everybody of the one crew; of the other, for one in ten.
    let server = Server::start_with(&[
        "--max-in-flight".as_ref(),
        room.as_ref(),
        "--data".as_ref(),
        data.as_os_str(),
    ])?;
    let among = Arc::new(Inventory::new("rush", 1, 1_000, 100));
    let mut api = server.api();
    for offer in among.bodies() {
        api.post::<Value>("/v1/offers", &offer).await?;
    }
    let mut workers: [Box<dyn Worker>; 2] = [
        crew(&server, &among, plan.connections).await?,
        crew(&server, &among, plan.connections * TIMES).await?,
    ];
    let before = server.resident()?;
    let bar = term::progress(plan.rounds.stretches(workers.len()), "ten times too many");
    let tallies = take_turns(&mut workers, plan.rounds, &bar).await.map_err(interrupted)?;
    bar.finish_and_clear();
    let after = server.resident()?;
    Ok(vec![goodput(&tallies), answers(&tallies[1]), memory(before, after, plan.connections * TIMES)])
}

async fn crew(server: &Server, among: &Arc<Inventory>, size: u64) -> Result<Box<dyn Worker>, Failure> {
    let callers = (0..size).map(|number| Box::new(Cycle::new(server, among, number, size)) as _);
    Ok(Box::new(Crew::assemble(&server.target, server.pid(), callers).await.map_err(interrupted)?))
}

fn goodput(tallies: &[Vec<Tally>]) -> Figure {
    let peak =
        Series { name: "holds, as many callers as there is room for", status: 201, rounds: &tallies[0] };
    let rush = Series { name: "holds, ten times as many", status: 201, rounds: &tallies[1] };
    Figure {
        name: "goodput: 10 × load / peak",
        value: rush.ratio_to(&peak),
        unit: Unit::Ratio,
        target: Target::AtLeast(0.90),
        note: format!("{} of {}", per_second(rush.rate()), per_second(peak.rate())),
        raw: json!({"one": rush.to_json(), "other": peak.to_json()}),
    }
}

fn answers(rounds: &[Tally]) -> Figure {
    let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
    for (status, count) in rounds.iter().flat_map(|tally| &tally.statuses) {
        *statuses.entry(*status).or_default() += count;
    }
    let odd: u64 =
        statuses.iter().filter(|(status, _)| !EXPECTED.contains(status)).map(|(_, count)| count).sum();
    let lost: u64 = rounds.iter().map(|tally| tally.lost).sum();
    let shed = statuses.get(&503).copied().unwrap_or_default();
    Figure {
        name: "answers other than 2xx, 409, 429, 503",
        value: (odd + lost) as f64,
        unit: Unit::Times,
        target: Target::AtMost(0.0),
        note: format!(
            "{} of {} were told to come back",
            term::thousands(shed),
            term::thousands(statuses.values().sum())
        ),
        raw: json!({"statuses": statuses, "lost": lost}),
    }
}

fn memory(before: u64, after: u64, callers: u64) -> Figure {
    Figure {
        name: "memory per caller too many",
        value: after.saturating_sub(before) as f64 / callers as f64,
        unit: Unit::Bytes,
        target: Target::AtMost(65_536.0),
        note: format!(
            "{} to {} with {} callers",
            term::size(before),
            term::size(after),
            term::thousands(callers)
        ),
        raw: json!({"resident_before": before, "resident_after": after, "callers": callers}),
    }
}
