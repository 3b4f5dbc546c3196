//! What a booking costs in round trips and flushes: a strategy's scenarios once more, with relays on the wires.

use std::sync::Arc;

use holdfast_engine::strategy::{GateNeed, Strategy};

use crate::{
    Scenario, crowd,
    figures::Figures,
    house::{House, Site, Stall},
    meters::{self, Relay},
    schedule::{Schedule, Size},
    servers::Servers,
    shop::ShopError,
};

#[derive(Debug)]
pub(crate) struct Counted {
    pub scenario: Scenario,
    pub round_trips_per_booking: Option<f64>,
    pub fsyncs_per_booking: Option<f64>,
}

/// As many buyers as show what going together saves.
const BUYERS: u32 = 20;
const SIZE: Size = Size { visits: 4, rate_per_s: 1.0, open_for: std::time::Duration::ZERO };
/// Whoever is slower is counted for what came about.
const WITHIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Counts on our own servers; elsewhere nothing is counted. The embedded store has no wire: no trips, and nobody who
/// counts its flushes.
pub(crate) async fn count(
    strategy: Strategy,
    scenarios: &[Scenario],
    seed: u64,
    servers: &mut Servers,
) -> Result<Vec<Counted>, ShopError> {
    if strategy.claiming().is_none() {
        let none = |scenario: &Scenario| Counted {
            scenario: *scenario,
            round_trips_per_booking: Some(0.0),
            fsyncs_per_booking: None,
        };
        return Ok(scenarios.iter().map(none).collect());
    }
    let fsyncs = flushes(strategy, seed, servers).await?;
    let wires = Wires::lay(strategy, servers).await?;
    let house = Arc::new(House::open(strategy, &wires.site).await?);
    let mut counted = Vec::new();
    for scenario in scenarios {
        // Once without counting, so that every connection is there.
        book(&house, *scenario, seed).await?;
        let before = wires.trips();
        let figures = book(&house, *scenario, seed).await?;
        let trips = wires.trips() - before;
        counted.push(Counted {
            scenario: *scenario,
            round_trips_per_booking: figures.per_booking(trips as f64),
            fsyncs_per_booking: fsyncs.filter(|_| *scenario == Scenario::Uncontended),
        });
    }
    Ok(counted)
}

async fn book(house: &Arc<House>, scenario: Scenario, seed: u64) -> Result<Figures, ShopError> {
    let schedule = Schedule::of(scenario, BUYERS, seed, SIZE);
    let stall = Stall::open(house, schedule.goods, schedule.hold_ttl_s).await?;
    let recorded = crowd::serve(Arc::new(stall), &schedule, WITHIN).await?;
    Ok(Figures::of(&recorded.history))
}

/// Flushes for a booking where nobody is in the way, counted when everybody has gone: the opening of the sale is among
/// them.
async fn flushes(strategy: Strategy, seed: u64, servers: &mut Servers) -> Result<Option<f64>, ShopError> {
    let urls = servers.books().await?;
    let site = Site {
        postgres: urls.clone(),
        gate: servers.gate(strategy),
        gate_settings: servers.gate_settings(),
        ..Site::default()
    };
    // Makes the tables, which is not to be counted.
    drop(House::open(strategy, &site).await?);
    let server = servers.postgres.as_ref().map_err(|why| ShopError(why.clone()))?.databases.server();
    let database = database_of(&urls[0]);
    let before = meters::flushes(server, database).await;
    let house = Arc::new(House::open(strategy, &site).await?);
    let figures = book(&house, Scenario::Uncontended, seed).await?;
    drop(house);
    let after = meters::flushes(server, database).await;
    let flushed = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(flushed.and_then(|flushed| figures.per_booking(flushed as f64)))
}

fn database_of(url: &str) -> &str {
    let path = url.split('?').next().unwrap_or(url);
    path.rsplit('/').next().unwrap_or(path)
}

/// Relays before PostgreSQL and before every Redis, and a site that leads through them.
struct Wires {
    relays: Vec<Relay>,
    site: Site,
}

impl Wires {
    async fn lay(strategy: Strategy, servers: &mut Servers) -> Result<Self, ShopError> {
        let urls = servers.books().await?;
        let not_ours = || ShopError("trips are counted on private servers only".to_owned());
        let postgres = servers.postgres.as_ref().ok().and_then(|server| server.rig.clone());
        let postgres = postgres.ok_or_else(not_ours)?;
        let before_books = Relay::before(postgres.address()).await.map_err(ShopError::of)?;
        let through = postgres.url_through(before_books.address(), database_of(&urls[0]));
        let mut relays = vec![before_books];
        let mut gates = Vec::new();
        if let (GateNeed::Must(_), Ok(redis)) = (strategy.gate(), &servers.redis) {
            let many = if strategy == Strategy::Redlock { redis.rigs.len() } else { 1 };
            for rig in redis.rigs.iter().take(many) {
                let relay = Relay::before(rig.address()).await.map_err(ShopError::of)?;
                gates.push(format!("redis://{}", relay.address()));
                relays.push(relay);
            }
        }
        let gate = (!gates.is_empty()).then(|| gates.join(","));
        let site = Site { postgres: vec![through; urls.len()], gate, ..Site::default() };
        Ok(Self { relays, site })
    }

    fn trips(&self) -> u64 {
        self.relays.iter().map(Relay::trips).sum()
    }
}
