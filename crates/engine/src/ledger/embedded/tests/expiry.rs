//! The tidying sweep: bounded, beside the sale, and never needed for an answer.

use holdfast_domain::{Actor, Command, Pick, State, absorb, decide, hold::MEMORY_MS};

use super::bench::{Bench, T0, confirm, hold_id, offer_id, place, seat, stock};
use crate::ledger::{
    JournalFilter, Ledger, Outcome, PageRequest,
    embedded::{
        Limits, Storage,
        live::Live,
        store::Place,
        upkeep::{Between, Upkeep},
    },
};

fn some_stock(qty: u32) -> holdfast_domain::Ask {
    holdfast_domain::Ask { offer: offer_id("drop"), pick: Pick::Unit { key: "GA".into(), qty } }
}

#[tokio::test]
async fn a_crowd_that_expires_together_does_not_stop_the_sale() {
    const CROWD: u128 = 3000;
    let limits = Limits { tidy_slice: 10, idle_tidy_slice: 10, ..Limits::default() };
    let bench = Bench::with(Storage::Memory, limits).open_for_sale().await;
    bench.done(Command::CreateOffer { offer: stock("drop", 10_000) }).await;
    for n in 0..CROWD {
        bench.done(place(n, &format!("buyer-{n}"), vec![some_stock(1)])).await;
    }
    bench.clock.advance_ms(600_000);
    let Outcome::Held { hold, .. } = bench.done(place(CROWD, "alice", vec![seat(1)])).await else {
        panic!("held")
    };
    // A few slices of the crowd at most stood between the clock's jump and her hold: an idle moment is one.
    let swept_before = hold.hold.version.0 - (3 + CROWD as u64 + 1);
    assert!(swept_before <= CROWD as u64 / 10, "{swept_before} were swept before her");
    assert_eq!(bench.refused(confirm(1, 1)).await, "hold_expired");
    // Reads bring the sweep along, a slice each, until nothing is left of it.
    let mut reads = 0;
    while bench.ledger.offer(&offer_id("drop")).await.unwrap().unwrap().counts.held > 0 {
        reads += 1;
    }
    assert!(reads <= CROWD / 10, "{reads} reads");
    assert_eq!(bench.ledger.offer(&offer_id("drop")).await.unwrap().unwrap().counts.available, 10_000);
}

#[tokio::test]
async fn an_idle_ledger_sweeps_by_itself() {
    let clock = std::sync::Arc::new(crate::clock::SystemClock::new());
    let settings = crate::ledger::embedded::Settings::new(Storage::Memory, clock, super::bench::render());
    let ledger = crate::ledger::embedded::EmbeddedLedger::open(settings).unwrap();
    let mut changes = ledger.changes();
    let short = Command::AmendOffer {
        offer: offer_id("hall"),
        amendment: holdfast_domain::Amendment { hold_ttl_s: Some(1), ..Default::default() },
    };
    for command in [
        Command::CreateOffer { offer: super::bench::hall("hall", 5) },
        short,
        place(1, "alice", vec![seat(1)]),
    ] {
        ledger.execute(super::bench::request(command, None)).await.unwrap();
    }
    let seat_states = async |changes: &mut tokio::sync::broadcast::Receiver<_>| loop {
        let batch: std::sync::Arc<[crate::ledger::Change]> = changes.recv().await.unwrap();
        if let Some((_, state)) = batch.iter().flat_map(|change| &change.units).next() {
            return state.as_str();
        }
    };
    assert_eq!(seat_states(&mut changes).await, "held");
    assert_eq!(seat_states(&mut changes).await, "available");
    let page = PageRequest { after: None, limit: 10 };
    let by_hold = JournalFilter { hold: Some(hold_id(1)), ..JournalFilter::default() };
    let kinds: Vec<_> =
        ledger.journal(by_hold, page).await.unwrap().data.into_iter().map(|r| r.kind).collect();
    assert_eq!(kinds, ["hold_placed", "hold_expired"]);
}

/// So many holds, released as soon as they were placed.
fn released(state: &mut State, count: u128) {
    let offered = Command::CreateOffer { offer: stock("drop", 1) };
    let released = |n| [place(n, "alice", vec![some_stock(1)]), Command::ReleaseHold { hold: hold_id(n) }];
    for command in [offered].into_iter().chain((1..=count).flat_map(released)) {
        let decision = decide(state, &command, &Actor::System, T0).unwrap();
        decision.events.into_iter().for_each(|event| absorb(state, event, T0));
    }
}

#[test]
fn ended_holds_are_forgotten_as_fast_as_they_end() {
    let (place, _ours) = Place::claim(&Storage::Memory).unwrap();
    let mut live = Live::load(&place, &Limits::default()).unwrap();
    released(&mut live.books.state, 2_000);
    let kept = |live: &Live| live.books.state.parts().holds.len();
    let mut upkeep = Upkeep::new(Limits::default(), &place, &live);
    let mut slice = |live: &mut Live, written| {
        let now = T0.plus_ms(MEMORY_MS);
        upkeep.slice(live, &Between { written, idle: true, now, busy: &|| false }).unwrap();
        upkeep.patience(live, true)
    };
    slice(&mut live, 1_200);
    assert_eq!(kept(&live), 800, "as many as a batch may have ended");
    // With nothing else to do it goes on until none is left, and not once a minute.
    while slice(&mut live, 0).is_zero() {}
    assert_eq!(kept(&live), 0);
}
