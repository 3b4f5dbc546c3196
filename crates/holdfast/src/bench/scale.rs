//! A million units: what they cost in speed and in memory.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Plan,
    callers::{Cycle, Inventory},
    child::Server,
    interrupted,
    report::{Figure, Series, Target, Unit, per_second},
    speed::crew,
};
use crate::{
    failure::Failure,
    load::{Worker, take_turns},
    term,
};

pub(super) async fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let small = Server::start(&plan.data("small"))?;
    let large = Server::start(&plan.data("large"))?;
    let few = Arc::new(Inventory::new("few", 1, 10, 100));
    let many = Arc::new(Inventory::new("many", 200, 50, 100));
    put_on_sale(&small, &few).await?;
    let before = large.resident()?;
    put_on_sale(&large, &many).await?;
    let after = large.resident()?;

    let cycles =
        |server, among| move |number| Box::new(Cycle::new(server, among, number, plan.connections)) as _;
    let mut workers: [Box<dyn Worker>; 2] = [
        Box::new(small.alone(crew(plan, &small, cycles(&small, &few)).await?)?),
        Box::new(large.alone(crew(plan, &large, cycles(&large, &many)).await?)?),
    ];
    let bar = term::progress(plan.rounds.stretches(workers.len()), "a million units");
    let tallies = take_turns(&mut workers, plan.rounds, &bar).await.map_err(interrupted)?;
    bar.finish_and_clear();
    let few_rounds = Series { name: "hold and release among 1,000 units", status: 201, rounds: &tallies[0] };
    let many_rounds =
        Series { name: "hold and release among 1,000,000 units", status: 201, rounds: &tallies[1] };
    Ok(vec![rate_figure(&many_rounds, &few_rounds), memory_figure(before, after, many.units())])
}

/// Connections that hold and release, each among seats of its own.
pub(super) async fn cycles(
    plan: &Plan,
    server: &Server,
    among: &Arc<Inventory>,
) -> Result<Box<dyn Worker>, Failure> {
    crew(plan, server, |number| Box::new(Cycle::new(server, among, number, plan.connections))).await
}

async fn put_on_sale(server: &Server, inventory: &Inventory) -> Result<(), Failure> {
    let mut api = server.api();
    let bar = term::progress(inventory.offers.into(), "putting on sale");
    for offer in inventory.bodies() {
        api.post::<Value>("/v1/offers", &offer).await?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn rate_figure(many: &Series<'_>, few: &Series<'_>) -> Figure {
    Figure {
        name: "holds: 1,000,000 units / 1,000",
        value: many.ratio_to(few),
        unit: Unit::Ratio,
        target: Target::AtLeast(0.85),
        note: format!("{} of {}", per_second(many.rate()), per_second(few.rate())),
        raw: json!({"one": many.to_json(), "other": few.to_json()}),
    }
}

fn memory_figure(before: u64, after: u64, units: u64) -> Figure {
    Figure {
        name: "memory per unit",
        value: after.saturating_sub(before) as f64 / units as f64,
        unit: Unit::Bytes,
        target: Target::AtMost(64.0),
        note: format!("{} to {} for {} units", term::size(before), term::size(after), term::thousands(units)),
        raw: json!({"resident_before": before, "resident_after": after, "units": units}),
    }
}
