//! Every story and the random sequences, told to PostgreSQL with a gate before it. Questions come one after the other
//! and each waits until the gate is awake, so that it is the gate that says no, and it must say what the model says.

use std::{sync::Arc, thread};

use holdfast_conformance::{
    gated::{Before, Gated, IsWhole, Said},
    live::{Live, postgres_without_sweep},
    sequences::Pair,
    story_start,
};
use holdfast_engine::gate::redis::Strategy;

use super::{claiming, exact, servers::Servers};
use crate::{
    postgres::house::House,
    sequences::run,
    size::{seed, setting},
    stories::tell_all,
};

/// A gate on its servers, and what it said in all the lives that were opened.
struct Subject {
    gate: Strategy,
    servers: Arc<Servers>,
    said: Arc<Said>,
}

impl Subject {
    fn new(gate: Strategy, servers: Servers) -> Self {
        Self { gate, servers: Arc::new(servers), said: Arc::default() }
    }

    /// Books in which nothing has happened yet, behind a gate that remembers nothing.
    fn live(&self, url: String) -> Live {
        self.servers.forget();
        let (gate, servers, said) = (self.gate, Arc::clone(&self.servers), Arc::clone(&self.said));
        Live::open_awake(
            story_start(),
            Box::new(move |runtime, clock| {
                let books = postgres_without_sweep(&url, claiming(gate), Some(true), runtime, clock)?;
                let looked_at = Arc::clone(&servers);
                let awake: IsWhole = Arc::new(move |offer| looked_at.is_whole(offer));
                let before = Before {
                    strategy: gate,
                    addresses: servers.addresses(),
                    settings: exact(),
                    clock: clock.clone(),
                    awake: Some(awake),
                    said: Arc::clone(&said),
                };
                let _inside = runtime.enter();
                Ok(Box::new(Gated::open(Arc::new(books), before).expect("the gate opens")))
            }),
        )
    }

    fn tell_every_story(&self, house: &House) {
        let name = self.database();
        tell_all(|| Box::new(self.live(house.emptied(&name))));
        self.must_have_been_there("every story");
    }

    fn play(&self, house: &House, seed: u64, sequences: u64) {
        let name = self.database();
        let told = run(seed, sequences, true, || Pair::behind_a_gate(self.live(house.emptied(&name))));
        let seen = told.unwrap_or_else(|difference| panic!("{}: {difference}", self.gate));
        self.must_have_been_there(&format!("{sequences} sequences, no difference: {seen:?}"));
    }

    fn database(&self) -> String {
        format!("behind_{}", self.gate)
    }

    /// A gate that said and did nothing is no gate.
    fn must_have_been_there(&self, what: &str) {
        let (refused, scripts) = (self.said.refused(), self.servers.scripts_run());
        println!("{} on {:?}: {what}; {refused} refusals, {scripts} scripts", self.gate, self.servers);
        let least = match self.gate {
            Strategy::Lock | Strategy::Redlock => 0,
            Strategy::Decr => 1,
            _ => 3,
        };
        assert!(refused >= least, "{} refused {refused} times, which proves nothing", self.gate);
        assert!(scripts > 100, "{} ran {scripts} scripts, which proves nothing", self.gate);
    }
}

/// Half of the gates on each of two threads: most of the time goes by waiting for servers.
fn with_every_gate(show: impl Fn(Strategy) + Sync) {
    let show = &show;
    let (some, others) = Strategy::ALL.split_at(3);
    thread::scope(|scope| {
        for gates in [some, others] {
            scope.spawn(move || gates.iter().copied().for_each(show));
        }
    });
}

fn sequences() -> u64 {
    setting("HOLDFAST_TEST_SEQUENCES", 5_000).div_ceil(100)
}

#[test]
fn every_story_is_told_behind_every_gate() {
    let house = House::quick();
    with_every_gate(|gate| Subject::new(gate, Servers::for_gate(gate)).tell_every_story(&house));
}

#[test]
fn model_and_postgresql_agree_on_random_sequences_behind_every_gate() {
    let (house, seed) = (House::quick(), seed("random sequences behind gates"));
    with_every_gate(|gate| Subject::new(gate, Servers::for_gate(gate)).play(&house, seed, sequences()));
}

/// Slates of several offers lie on several masters.
#[test]
fn on_a_cluster_of_three_masters_the_suite_is_the_same() {
    let (house, seed) = (House::quick(), seed("random sequences on a Cluster"));
    let lua = Subject::new(Strategy::Lua, Servers::cluster());
    lua.tell_every_story(&house);
    lua.play(&house, seed, sequences());
}

#[test]
fn behind_sentinels_the_suite_is_the_same() {
    let (house, seed) = (House::quick(), seed("random sequences behind Sentinels"));
    let lua = Subject::new(Strategy::Lua, Servers::sentinel());
    lua.tell_every_story(&house);
    lua.play(&house, seed, sequences());
}
