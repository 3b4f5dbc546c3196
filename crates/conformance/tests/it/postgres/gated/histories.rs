//! Concurrent histories before three nodes, each behind a gate, judged by the lab's checker: a gate may make a no
//! quicker, and nothing that a customer is told may be other than it would be without it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use holdfast_checker::{
    Anomaly, Call, Evidence, History, Operation, Outcome, Violation,
    history::{Answer, HoldRef, Micros, Reason},
    judge,
};
use holdfast_conformance::{
    gated::Gated,
    histories::{
        Recorder, Stage,
        threads::{Crowd, FastClock},
        tolerate_the_slowest_commit,
    },
};
use holdfast_engine::{
    gate::redis::{Settings, Strategy},
    ledger::{Ledger, postgres::Time},
};
use holdfast_rigs::Sentinel;

use super::{claiming, gated_nodes, servers::Servers, unhurried};
use crate::{
    histories::{check_entries, journal},
    postgres::house::{House, settings_with},
    size::{seed, setting},
};

pub(super) const CUSTOMERS: u32 = 12;
/// From the reading of the clock to the commit, on a busy machine.
const COMMITTED_WITHIN_US: i64 = 200_000;
const SPEED: u32 = 2;
/// A hold lasts a second: long enough for many to expire.
const LONGER_THAN_HOLDS: Duration = Duration::from_secs(4);

/// Three nodes behind gates, and customers who go from one to the next.
pub(super) struct Sale {
    pub(super) crowd: Crowd,
    pub(super) nodes: Vec<Arc<Gated>>,
    database: String,
}

/// Whose time it is: one that runs fast, so that a short run sees many holds expire, or PostgreSQL's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Fast,
    PostgreSql,
}

impl Sale {
    pub(super) fn open(
        house: &House,
        gate: Strategy,
        addresses: &str,
        whose: Whose,
        gates: Settings,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = Arc::new(runtime.expect("a runtime"));
        let stage = Arc::new(Stage::new());
        let (clock, tolerance_us) = match whose {
            Whose::Fast => (FastClock::new(SPEED), i64::from(SPEED) * COMMITTED_WITHIN_US),
            Whose::PostgreSql => (FastClock::of_the_wall(), COMMITTED_WITHIN_US),
        };
        let clock = Arc::new(clock);
        let recorder = Arc::new(Recorder::new(Arc::clone(&stage), tolerance_us));
        let database = format!("sale_behind_{gate}");
        let mut books = settings_with(&house.emptied(&database), claiming(gate), recorder.render());
        if whose == Whose::Fast {
            books.time = Time::Given(Arc::clone(&clock) as _);
        }
        let nodes = runtime.block_on(gated_nodes(books, 3, gate, addresses, gates));
        let ledgers = nodes.iter().map(|node| Arc::clone(node) as Arc<dyn Ledger>).collect();
        let crowd = Crowd { nodes: ledgers, clock, stage, recorder, runtime };
        crowd.open();
        Self { crowd, nodes, database }
    }

    /// What came of it, if it can be true of a shop that sells each thing once, journal and all.
    pub(super) fn judged(&self, house: &House, what: &str, seed: u64) -> History {
        self.judged_but_for(house, what, seed, &[])
    }

    /// The same, but that while these lasted something may have been refused that was just given back. A node that
    /// cannot tell Redis of an end begins a new epoch instead, and the others hear of it at their next look.
    pub(super) fn judged_but_for(
        &self,
        house: &House,
        what: &str,
        seed: u64,
        troubles: &[(Micros, Micros)],
    ) -> History {
        let mut whole = self.crowd.history().expect("the ending");
        tolerate_the_slowest_commit(&mut whole);
        let (history, stale) = without_stale_refusals(whole.clone(), troubles);
        let verdict = judge(&history, Evidence::ALL);
        let said = self.nodes[0].said();
        let (refused, busy) = (said.refused(), said.busy());
        println!(
            "{what}: {verdict}; {refused} refused at the gate, {stale} of them out of date, {busy} busy"
        );
        if !verdict.is_valid() {
            let kept = std::env::temp_dir().join(format!("holdfast-{}-{seed}.json", self.database));
            std::fs::write(&kept, whole.to_json()).expect("the history is kept");
            panic!("{what}, kept in {}: {}", kept.display(), verdict.tell(&history));
        }
        let mut records = journal(self.crowd.ledger(), &self.crowd.runtime);
        let on_stage = |id: &str| self.crowd.stage.offers.iter().any(|offer| offer.id().as_str() == id);
        records.retain(|record| record.offer.as_deref().is_none_or(on_stage));
        check_entries(&records, &history);
        let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
        assert_eq!(house.one(&self.database, deadlocks), "0", "{what}: everybody locks in one order");
        assert!(stale * 100 < whole.operations.len(), "{what}: {stale} refusals were out of date");
        whole
    }

    pub(super) fn rows(&self, house: &House, sql: &str) -> String {
        house.one(&self.database, sql)
    }
}

/// An epoch begins when a node could not tell Redis of an end, and until the others hear of it they may refuse what is
/// free. On a busy machine that happens without any trouble of our making: a command takes longer than it may.
pub(super) const NOTE_EPOCHS: &str = "CREATE TABLE epochs_begun (at timestamptz DEFAULT clock_timestamp());
    CREATE FUNCTION note_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO epochs_begun DEFAULT VALUES; RETURN NULL; END $$;
    CREATE TRIGGER note_epoch AFTER UPDATE ON holdfast.gate_epoch EXECUTE FUNCTION note_epoch();
    SELECT 'noted'";
const EPOCHS_BEGUN: &str =
    "SELECT coalesce(string_agg((extract(epoch FROM at) * 1e6)::bigint::text, ' '), '') FROM epochs_begun";
/// From what was lost to the epoch that follows, and from there until every node has looked.
const BEFORE_AN_EPOCH: Micros = 1_000_000;
const AFTER_AN_EPOCH: Micros = 1_500_000;

pub(super) fn epochs(sale: &Sale, house: &House) -> Vec<(Micros, Micros)> {
    let begun = sale.rows(house, EPOCHS_BEGUN);
    let begun = begun.split_whitespace().map(|at| at.parse::<Micros>().expect("microseconds"));
    begun.map(|at| (at - BEFORE_AN_EPOCH, at + AFTER_AN_EPOCH)).collect()
}

/// What somebody was giving back while this was refused. The books have it before the gate hears of it, and the gate before
/// the answer: who gave it back cannot be refused it, but who read of it meanwhile can.
fn is_being_given_back(history: &History, refused: &Operation) -> bool {
    let Outcome::Fail(Reason::Taken(units)) = &refused.outcome else { return false };
    let claims_some = |held: HoldRef| {
        history.operations.iter().any(|operation| {
            matches!(&operation.outcome, Outcome::Ok(Answer::Held { hold, claims, .. })
                if *hold == held && claims.iter().any(|claim| units.contains(&claim.unit)))
        })
    };
    history.operations.iter().any(|operation| {
        let under_way = operation.end >= refused.start && operation.start <= refused.end;
        under_way
            && matches!(operation.call, Call::Release { hold } | Call::Cancel { hold } if claims_some(hold))
    })
}

/// Takes out, one after the other, the refusals that were false and came while there was trouble, or that only a read
/// shows to be false which was ahead of the gate.
pub(super) fn without_stale_refusals(
    mut history: History,
    troubles: &[(Micros, Micros)],
) -> (History, usize) {
    let mut taken_out = 0;
    loop {
        let verdict = judge(&history, Evidence::NONE);
        let in_trouble = |operation: &Operation| {
            troubles.iter().any(|(from, to)| operation.end >= *from && operation.start <= *to)
        };
        let is_stale = |wrong: &Violation, at: usize| {
            let operation = &history.operations[at];
            let is_refusal = matches!(operation.outcome, Outcome::Fail(Reason::Taken(_)));
            match wrong.anomaly {
                Anomaly::FalseRefusal => is_refusal && in_trouble(operation),
                // One that only the reads around it give away is told as an order that does not exist.
                Anomaly::NotLinearizable => {
                    is_refusal && (in_trouble(operation) || is_being_given_back(&history, operation))
                }
                _ => false,
            }
        };
        let wrongs = verdict.violations().iter();
        let mut stale: Vec<usize> = wrongs
            .flat_map(|wrong| wrong.operations.iter().copied().filter(|&at| is_stale(wrong, at)))
            .collect();
        stale.sort_unstable();
        stale.dedup();
        if stale.is_empty() {
            return (history, taken_out);
        }
        taken_out += stale.len();
        for at in stale.into_iter().rev() {
            history.operations.remove(at);
        }
    }
}

fn show(house: &House, gate: Strategy, servers: &Servers, seed: u64) -> Sale {
    let operations = setting("HOLDFAST_TEST_OPERATIONS", 8_000).div_ceil(10) as usize;
    let sale = Sale::open(house, gate, &servers.addresses(), Whose::Fast, unhurried());
    sale.crowd.run_for(LONGER_THAN_HOLDS, CUSTOMERS, operations / CUSTOMERS as usize, seed);
    sale.judged(house, &format!("{gate} on {servers:?}"), seed);
    assert!(servers.scripts_run() > 100, "{gate}: a gate that does nothing is no gate");
    sale
}

#[test]
fn three_nodes_behind_every_gate_are_linearizable() {
    let (house, seed) = (House::quick(), seed("histories behind gates"));
    for gate in Strategy::ALL {
        show(&house, *gate, &Servers::for_gate(*gate), seed);
    }
}

#[test]
fn three_nodes_on_a_cluster_are_linearizable() {
    let (house, seed) = (House::quick(), seed("a history on a Cluster"));
    for gate in [Strategy::Lua, Strategy::Lock] {
        show(&house, gate, &Servers::cluster(), seed);
    }
}

/// Refusals to see before another master takes over, and afterwards: until every node has long moved there.
const REFUSED_BEFORE: u64 = 20;
const REFUSED_AFTER: u64 = 200;

/// A sale in the middle of which another master takes the place of the one there is.
fn across_a_failover(what: &str, take_over: impl FnOnce(&mut Sentinel)) {
    let (house, seed) = (House::quick(), seed(what));
    let servers = Servers::sentinel();
    let sale = Sale::open(&house, Strategy::Lua, &servers.addresses(), Whose::PostgreSql, unhurried());
    sale.rows(&house, NOTE_EPOCHS);
    let over = AtomicBool::new(false);
    let refused = || sale.nodes[0].said().refused();
    let until_refused_again = |times| {
        let before = refused();
        while refused() < before + times {
            thread::sleep(Duration::from_millis(5));
        }
    };
    let until_asked = |scripts: u64| {
        while servers.scripts_run() < scripts {
            thread::sleep(Duration::from_millis(5));
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| sale.crowd.run_while(CUSTOMERS, seed, &|| !over.load(Ordering::Relaxed)));
        until_refused_again(REFUSED_BEFORE);
        let Servers::Sentinel(group) = &servers else { unreachable!("it is one") };
        take_over(&mut group.lock());
        until_asked(servers.scripts_run() + 100);
        until_refused_again(REFUSED_AFTER);
        over.store(true, Ordering::Relaxed);
    });
    // What ends while there is no master, or is told to the old one, the new one does not hear of. The node that could
    // not say it, or moves, begins an epoch, and the others may refuse it for as long as it takes them to hear of that.
    let unheard = epochs(&sale, &house);
    assert!(!unheard.is_empty(), "{what}: a node that moves begins an epoch");
    sale.judged_but_for(&house, what, seed, &unheard);
}

/// The master dies in the middle of the sale, and a replica takes its place.
#[test]
fn across_a_sentinel_failover_they_are_linearizable() {
    across_a_failover("lua across a Sentinel failover", |group| {
        let (old, new) = group.kill_master().expect("a successor");
        assert_ne!(old, new);
    });
}

/// An operator orders it. The old master lives, and for a while says yes to whoever has not heard of the new one.
#[test]
fn across_a_planned_failover_they_are_linearizable() {
    across_a_failover("lua across a planned failover", |group| {
        group.failover().expect("a successor");
    });
}
