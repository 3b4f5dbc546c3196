//! PostgreSQL with every gate before it, each with the way of claiming of the strategy of that name, on private
//! servers: the same suite, crowds before three nodes, Redis hurt in the middle of a sale, and bugs that must be seen.

mod crowd;
mod faults;
mod forger;
mod histories;
mod seeded_bugs;
mod servers;
mod suite;

use std::{sync::Arc, time::Duration};

use holdfast_conformance::gated::{Before, Gated, Said};
use holdfast_engine::{
    clock::Clock,
    gate::redis::{RateSettings, Settings, Strategy},
    ledger::postgres::{self, Time},
    strategy::{self, Claiming},
};

use super::house::nodes;

/// How the strategy of this gate's name claims.
fn claiming(gate: Strategy) -> Claiming {
    let strategy: strategy::Strategy = gate.as_str().parse().expect("a strategy by the gate's name");
    strategy.claiming().expect("a way of claiming in PostgreSQL")
}

/// As in production, except that nobody here asks too often: `layered` is shown to count in the gates' own tests.
fn as_usual() -> Settings {
    let rate = RateSettings { burst: 1_000_000, per_second: 1_000_000, ..RateSettings::default() };
    Settings { rate, ..Settings::default() }
}

/// The same on a machine that may be busy: an answer that is late there must not look like a Redis in trouble, whose
/// refusals may be out of date for a moment.
fn unhurried() -> Settings {
    Settings { timeout: Duration::from_millis(500), ..as_usual() }
}

/// As exact as questions one after the other can judge: nobody's clock is apart, nothing is checked on the side, and
/// a busy machine does not look like a broken Redis.
fn exact() -> Settings {
    Settings {
        watch_every: Duration::from_millis(50),
        clock_slack: Duration::ZERO,
        check_one_in: 0,
        offer_believed: Duration::ZERO,
        ..unhurried()
    }
}

/// Nodes of one cluster, each with a gate of its own on the same Redis; their words are counted together.
async fn gated_nodes(
    books: postgres::Settings,
    count: usize,
    gate: Strategy,
    addresses: &str,
    settings: Settings,
) -> Vec<Arc<Gated>> {
    let given = match &books.time {
        Time::Given(clock) => Some(Arc::clone(clock)),
        _ => None,
    };
    let said = Arc::new(Said::default());
    let behind_a_gate = async |node: Arc<postgres::PostgresLedger>| {
        let clock: Arc<dyn Clock> = match &given {
            Some(clock) => Arc::clone(clock),
            None => node.clock().await,
        };
        let (addresses, settings) = (addresses.to_owned(), settings.clone());
        let said = Arc::clone(&said);
        let before = Before { strategy: gate, addresses, settings, clock, awake: None, said };
        Arc::new(Gated::open(node, before).expect("the gate opens"))
    };
    futures::future::join_all(nodes(books, count).await.into_iter().map(behind_a_gate)).await
}
