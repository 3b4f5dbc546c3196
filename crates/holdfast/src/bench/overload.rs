//! Ten times as many as the server can serve, none of whom waits as told: what is still sold, what the rest hear, and
//! what they cost.
//!
//! Two servers with the same room: one meets as many callers as it has room for, the other ten times as many. What a
//! sale leaves behind in memory (the books of it) is the same on both, so the difference is what the crowd costs.

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
    load::{Crew, Rounds, Tally, Worker, take_turns},
    term,
};

/// How much more than there is room for.
const TIMES: u64 = 10;
/// What somebody may hear who is too many: sold, gone, slow down, busy.
const EXPECTED: [u16; 6] = [200, 201, 204, 409, 429, 503];

pub(super) async fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let calm = Shop::open(plan, "calm").await?;
    let rush = Shop::open(plan, "rush").await?;
    let mut workers = [calm.crew(plan.connections).await?, rush.crew(plan.connections * TIMES).await?];
    let rounds = long(plan.rounds);
    let bar = term::progress(rounds.stretches(workers.len()), "ten times too many");
    let tallies = take_turns(&mut workers, rounds, &bar).await.map_err(interrupted)?;
    bar.finish_and_clear();
    let grown = [calm.grown(&tallies[0])?, rush.grown(&tallies[1])?];
    Ok(vec![goodput(&tallies), answers(&tallies[1]), memory(grown, plan.connections * (TIMES - 1))])
}

/// A server keeps those it sent away from asking again for one to four seconds: a stretch has to see them come back.
fn long(rounds: Rounds) -> Rounds {
    Rounds { warm_up: 1, stretch: rounds.stretch * 4, ..rounds }
}

/// A server with room for so many at once, and seats to sell.
struct Shop {
    server: Server,
    seats: Arc<Inventory>,
    /// Before anybody came.
    resident: u64,
}

impl Shop {
    async fn open(plan: &Plan, name: &'static str) -> Result<Self, Failure> {
        let (data, room) = (plan.data(name), plan.connections.to_string());
        let server = Server::start_with(&[
            "--max-in-flight".as_ref(),
            room.as_ref(),
            "--data".as_ref(),
            data.as_os_str(),
        ])?;
        let seats = Arc::new(Inventory::new(name, 1, 1_000, 100));
        let mut api = server.api();
        for offer in seats.bodies() {
            api.post::<Value>("/v1/offers", &offer).await?;
        }
        let resident = server.resident()?;
        Ok(Self { server, seats, resident })
    }

    async fn crew(&self, size: u64) -> Result<Box<dyn Worker>, Failure> {
        let caller = |number| Box::new(Cycle::new(&self.server, &self.seats, number, size)) as _;
        let crew = Crew::assemble(&self.server.target, self.server.pid(), (0..size).map(caller));
        Ok(Box::new(self.server.alone(Box::new(crew.await.map_err(interrupted)?))?))
    }

    fn grown(&self, rounds: &[Tally]) -> Result<Grown, Failure> {
        let sold = rounds.iter().map(|tally| tally.with_status(201)).sum();
        Ok(Grown { bytes: self.server.resident()?.saturating_sub(self.resident), sold })
    }
}

/// By how much a server grew, and what it sold meanwhile.
#[derive(Debug, Clone, Copy)]
struct Grown {
    bytes: u64,
    sold: u64,
}

impl Grown {
    /// What it would have grown by with as many sales as the other.
    fn had_it_sold(self, as_many: u64) -> f64 {
        self.bytes as f64 * as_many as f64 / self.sold.max(1) as f64
    }
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

fn memory([calm, rush]: [Grown; 2], too_many: u64) -> Figure {
    let by_sales = calm.had_it_sold(rush.sold);
    Figure {
        name: "memory per caller too many",
        value: (rush.bytes as f64 - by_sales).max(0.0) / too_many as f64,
        unit: Unit::Bytes,
        target: Target::AtMost(65_536.0),
        note: format!(
            "grew by {}; {} with as many sales and no rush",
            term::size(rush.bytes),
            term::size(by_sales as u64),
        ),
        raw: json!({
            "grown": rush.bytes, "sold": rush.sold, "callers_too_many": too_many,
            "grown_without_rush": calm.bytes, "sold_without_rush": calm.sold,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sold_is_not_blamed_on_the_crowd() {
        let calm = Grown { bytes: 1_000_000, sold: 1_000 };
        let crowd = |bytes| memory([calm, Grown { bytes, sold: 2_000 }], 10).value;
        assert!((crowd(2_000_000), crowd(2_500_000)) == (0.0, 50_000.0));
    }
}
