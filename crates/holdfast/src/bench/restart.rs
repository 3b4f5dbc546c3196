//! How soon a server with a long journal sells again: after a kill, and after an orderly stop.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    Plan,
    callers::{FreshHolds, Inventory},
    child::Server,
    interrupted,
    report::{Figure, Target, Unit, median},
    speed::crew,
};
use crate::{failure::Failure, term};

/// Restarts of each sort; the middle one counts.
const TIMES: usize = 3;

pub(super) async fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let folder = plan.data("restart");
    let mut server = Server::start(&folder)?;
    let events = fill(plan, &server).await?;
    let (mut killed, mut stopped) = (Vec::new(), Vec::new());
    let bar = term::progress(2 * TIMES as u64, "restarting");
    for _ in 0..TIMES {
        server.kill();
        server = ready_again(&folder, &mut killed).await?;
        bar.inc(1);
    }
    for _ in 0..TIMES {
        server.stop()?;
        server = ready_again(&folder, &mut stopped).await?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let name =
        if plan.events < 1_000_000 { "restart after a kill (short journal)" } else { "restart after a kill" };
    Ok(vec![Figure {
        name,
        value: median(killed.clone()),
        unit: Unit::Seconds,
        target: Target::AtMost(2.0),
        note: format!("{} events; after a stop {:.2} s", term::thousands(events), median(stopped.clone())),
        raw: json!({"events": events, "killed_s": killed, "stopped_s": stopped}),
    }])
}

/// Sells until the journal is long enough.
async fn fill(plan: &Plan, server: &Server) -> Result<u64, Failure> {
    // Twice as many seats as entries: a seat asked for is not always an entry, and none may be asked for twice.
    let offers = (plan.events * 2).div_ceil(1_000_000) as u32;
    let seats = Arc::new(Inventory::new("long", offers, 10_000, 100));
    let mut api = server.api();
    for offer in seats.bodies() {
        api.post::<Value>("/v1/offers", &offer).await?;
    }
    let mut crew = crew(plan, server, |_| Box::new(FreshHolds::new(server, &seats))).await?;
    let bar = term::progress(plan.events, "writing the journal");
    let mut events = u64::from(offers);
    while events < plan.events {
        let held = crew.work(Duration::from_millis(500)).await.map_err(interrupted)?.with_status(201);
        if held == 0 {
            return Err(interrupted(std::io::Error::other("the server sells nothing any more")));
        }
        events += held;
        bar.set_position(events.min(plan.events));
    }
    bar.finish_and_clear();
    Ok(events)
}

async fn ready_again(folder: &std::path::Path, times: &mut Vec<f64>) -> Result<Server, Failure> {
    let server = Server::start(folder)?;
    let asked = crate::load::stopwatch();
    server.api().get::<Value>("/readyz").await?;
    times.push((server.started_in + asked.elapsed()).as_secs_f64());
    Ok(server)
}
