//! Every mistake shows its own failure, and naive shows it whatever the seed. On private servers.

use std::sync::Arc;

use holdfast_checker::{Anomaly, Verdict, judge};
use holdfast_rigs::{Postgres, Redis};

use super::{Counter, Naive, Place, Way, every};
use crate::{crowd, schedule::Schedule, shop::Shop};

struct Servers {
    postgres: Postgres,
    redis: Redis,
}

impl Servers {
    fn start() -> Self {
        let postgres = Postgres::options().setting("fsync", "off").start().expect("a private PostgreSQL");
        Self { postgres, redis: Redis::start().expect("a private Redis") }
    }

    async fn judged(&self, way: Arc<dyn Way>, run: u32, schedule: &Schedule) -> (Verdict, Option<String>) {
        let (url, redis) = (self.postgres.url(), self.redis.url());
        let place =
            Place { url: &url, redis: Some(&redis), authority: None, name: format!("{}_{run}", way.name()) };
        let evidence = way.evidence(schedule.buyers.len() as u32);
        let counter = Arc::new(Counter::open(way, &place, schedule).await.expect("a shop"));
        let served = crowd::serve(Arc::clone(&counter) as _, schedule, crowd::NO_HURRY).await;
        let recorded = served.expect("a history");
        let verdict = judge(&recorded.history, evidence);
        println!("{} {run}: {}", place.name, verdict.tell(&recorded.history));
        (verdict, counter.saved_by())
    }
}

/// What each of them must be caught at; nothing, where something else saves it.
fn telltale(name: &str) -> Option<Anomaly> {
    match name {
        "naive_with_constraint" => None,
        "decr_without_compensation" => Some(Anomaly::FalseRefusal),
        "expiry_by_sweeper_only" => Some(Anomaly::LateConfirm),
        _ => Some(Anomaly::DoubleSale),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mistake_shows_its_own_failure() {
    let servers = Servers::start();
    for way in every() {
        let way: Arc<dyn Way> = way.into();
        let schedule = way.schedule(20, 7);
        let name = way.name();
        let (verdict, saved_by) = servers.judged(way, 0, &schedule).await;
        match telltale(name) {
            Some(anomaly) => assert!(verdict.shows(anomaly), "{name}: {verdict}"),
            None => assert!(verdict.is_valid() && saved_by.is_some(), "{name}: {verdict}, {saved_by:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn naive_sells_the_seat_twice_in_nineteen_of_twenty_runs_or_more() {
    let servers = Servers::start();
    let mut broken = 0;
    for seed in 0..20 {
        let schedule = Naive.schedule(50, seed);
        let (verdict, _) = servers.judged(Arc::new(Naive), seed as u32, &schedule).await;
        broken += u32::from(verdict.shows(Anomaly::DoubleSale));
    }
    println!("naive sold the seat twice in {broken} of 20 runs");
    assert!(broken >= 19, "only {broken} of 20");
}
