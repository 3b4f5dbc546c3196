//! Three nodes on one PostgreSQL and one Redis, and more people than there are things: what `nodes` shows of every way
//! of claiming, shown of every gate, and of `lua` before every way of claiming.

use std::sync::Arc;

use holdfast_conformance::gated::Gated;
use holdfast_engine::{gate::redis::Strategy, ledger::Ledger, strategy::Claiming};

use super::{as_usual, claiming, gated_nodes, servers::Servers};
use crate::{
    postgres::{
        EVERY_WAY,
        goods::{fest, hall, now, seat, sell, ticket},
        house::{House, insistent, settings},
        nodes::{Nodes, bookings, oppose, rush},
    },
    size::setting,
};

const DATABASE: &str = "books";

/// Every gate with its own way of claiming, and `lua`, which may stand before any, before the others.
fn every_pair() -> impl Iterator<Item = (Strategy, Claiming)> {
    let named = Strategy::ALL.iter().map(|gate| (*gate, claiming(*gate)));
    named.chain(EVERY_WAY.into_iter().filter(|way| *way != Claiming::Atomic).map(|way| (Strategy::Lua, way)))
}

async fn three(house: &House, gate: Strategy, way: Claiming, servers: &Servers) -> (Nodes, Vec<Arc<Gated>>) {
    let books = insistent(settings(&house.emptied(DATABASE), way));
    let gated = gated_nodes(books, 3, gate, &servers.addresses(), as_usual()).await;
    (gated.iter().map(|node| Arc::clone(node) as Arc<dyn Ledger>).collect(), gated)
}

fn servers(gate: Strategy) -> Servers {
    tokio::task::block_in_place(|| Servers::for_gate(gate))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_hundred_buyers_of_one_seat_behind_every_gate() {
    let house = House::quick();
    for (gate, way) in every_pair() {
        let servers = servers(gate);
        let (nodes, gated) = three(&house, gate, way, &servers).await;
        sell(&*nodes[0], hall(600)).await;
        let began = now();
        let (booked, refused, busy) = rush(&nodes, 600, |_| seat("A-1")).await;
        let said = gated[0].said();
        println!(
            "{gate} and {way:?}: {booked} booked, {refused} refused ({} at the gate), {busy} sent away, {:?}",
            said.refused(),
            began.elapsed()
        );
        assert_eq!((booked, refused), (1, 599), "{gate} and {way:?}");
        assert_eq!(bookings(&*nodes[2]).await, 1);
        assert!(servers.scripts_run() > 0, "{gate}: a gate that does nothing is no gate");
    }
}

/// Stock 500 and 3,000 attempts for the default strategy behind `lua`; as much for all others at full size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_attempts_than_stock_behind_every_gate_sell_all_of_it_and_no_more() {
    let house = House::quick();
    for (gate, way) in every_pair() {
        let usual = match way {
            Claiming::Batched => 500,
            Claiming::Cas => 20,
            _ => 60,
        };
        let stock = setting("HOLDFAST_TEST_STOCK", usual) as usize;
        let servers = servers(gate);
        let (nodes, gated) = three(&house, gate, way, &servers).await;
        sell(&*nodes[0], fest(stock as u32, 600)).await;
        let began = now();
        let (booked, refused, busy) = rush(&nodes, 6 * stock, |_| ticket()).await;
        let said = gated[0].said();
        println!(
            "{gate} and {way:?}: {booked} of {stock} booked, {refused} refused ({} at the gate), {busy} sent away, {:?}",
            said.refused(),
            began.elapsed()
        );
        assert_eq!((booked, refused), (stock, 5 * stock), "{gate} and {way:?}");
        let sums = "SELECT held || ' ' || booked || ' ' || capacity FROM holdfast.units";
        assert_eq!(house.one(DATABASE, sums), format!("0 {stock} {stock}"), "{gate} and {way:?}");
    }
}

/// Everybody wants the same four things, half of them in the opposite order. Nobody waits in a circle: with locks,
/// whoever is sent away was one of too many, and the ledger itself never fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposing_orders_behind_every_gate_neither_deadlock_nor_fail() {
    let house = House::quick();
    for (gate, way) in every_pair() {
        let servers = servers(gate);
        let (nodes, gated) = three(&house, gate, way, &servers).await;
        let (holds, sent_away) = oppose(&house, DATABASE, &nodes).await;
        let busy = gated[0].said().busy();
        println!("{gate} and {way:?}: {holds} of 270 held all four, {sent_away} sent away");
        assert!(holds > 0, "{gate} and {way:?}");
        assert_eq!(u64::from(sent_away), busy, "{gate} and {way:?}: only the gate sends away");
        assert!(matches!(gate, Strategy::Lock | Strategy::Redlock) || busy == 0, "{gate} and {way:?}");
    }
}
