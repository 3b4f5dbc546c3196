//! Three nodes on one database, and more people than there are things.

use std::sync::Arc;

use holdfast_engine::{
    ledger::{BookingFilter, JournalFilter, Ledger, LedgerError, Outcome, PageRequest, Reply},
    strategy::Claiming,
};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    EVERY_WAY,
    goods::{
        ask, ask_as, confirm, fest, hall, held, insist, key, now, place, refused, request, seat, sell, ticket,
    },
    house::{House, insistent, nodes, settings},
};
use crate::size::setting;

const DATABASE: &str = "books";
/// Requests under way at once, over all nodes.
const AT_ONCE: usize = 96;

pub(super) type Nodes = Vec<Arc<dyn Ledger>>;

async fn three(house: &House, claiming: Claiming) -> Nodes {
    let nodes = nodes(insistent(settings(&house.emptied(DATABASE), claiming)), 3).await;
    nodes.into_iter().map(|node| node as Arc<dyn Ledger>).collect()
}

/// Everybody holds and, having got it, confirms, each on the next node. How many were booked, refused, and sent away.
pub(super) async fn rush(
    nodes: &Nodes,
    buyers: usize,
    wish: fn(usize) -> holdfast_domain::Ask,
) -> (usize, usize, u32) {
    let gate = Arc::new(Semaphore::new(AT_ONCE));
    let mut rush = JoinSet::new();
    for buyer in 0..buyers {
        let (gate, nodes) = (Arc::clone(&gate), nodes.clone());
        rush.spawn(async move {
            let _turn = gate.acquire().await.expect("never closed");
            let (node, next) = (&nodes[buyer % 3], &nodes[(buyer + 1) % 3]);
            let (reply, busy) = insist(&**node, place(&format!("buyer-{buyer}"), vec![wish(buyer)])).await;
            let Some(hold) = held(&reply) else {
                assert!(matches!(refused(&reply), Some("unit_taken" | "sold_out")), "{reply:?}");
                return (false, busy);
            };
            let (reply, more) = insist(&**next, confirm(hold)).await;
            assert!(matches!(reply, Reply::Done(Outcome::Confirmed(_))), "{reply:?}");
            (true, busy + more)
        });
    }
    let told = rush.join_all().await;
    let booked = told.iter().filter(|(booked, _)| *booked).count();
    (booked, told.len() - booked, told.iter().map(|(_, busy)| busy).sum())
}

pub(super) async fn bookings(node: &dyn Ledger) -> usize {
    let page = PageRequest { after: None, limit: 1000 };
    node.bookings(BookingFilter::default(), page).await.expect("bookings").data.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_hundred_buyers_of_one_seat_on_three_nodes() {
    let house = House::quick();
    for claiming in EVERY_WAY {
        let nodes = three(&house, claiming).await;
        sell(&*nodes[0], hall(600)).await;
        let began = now();
        let (booked, refused, busy) = rush(&nodes, 600, |_| seat("A-1")).await;
        println!("{claiming:?}: {booked} booked, {refused} refused, {busy} sent away, {:?}", began.elapsed());
        assert_eq!((booked, refused), (1, 599), "{claiming:?}");
        assert_eq!(bookings(&*nodes[2]).await, 1);
    }
}

/// Stock 500 and 3,000 attempts at full size; a fifth of both by default, except for the way that is the default.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_attempts_than_stock_on_three_nodes_sell_all_of_it_and_no_more() {
    let house = House::quick();
    for claiming in EVERY_WAY {
        // Whoever compares and swaps one hot line mostly loses: that it stays right is soon seen.
        let usual = match claiming {
            Claiming::Batched => 500,
            Claiming::Cas => 20,
            _ => 100,
        };
        let stock = setting("HOLDFAST_TEST_STOCK", usual) as usize;
        let nodes = three(&house, claiming).await;
        sell(&*nodes[0], fest(stock as u32, 600)).await;
        let began = now();
        let (booked, refused, busy) = rush(&nodes, 6 * stock, |_| ticket()).await;
        println!("{claiming:?}: {booked} booked, {refused} refused, {busy} sent away, {:?}", began.elapsed());
        assert_eq!((booked, refused), (stock, 5 * stock), "{claiming:?}");
        let sums = "SELECT held || ' ' || booked || ' ' || capacity FROM holdfast.units";
        assert_eq!(house.one(DATABASE, sums), format!("0 {stock} {stock}"), "{claiming:?}");
    }
}

/// Everybody wants the same four things, half of them in the opposite order, and gives them back. How many holds
/// there were, and how many were sent away.
pub(super) async fn oppose(house: &House, database: &str, nodes: &Nodes) -> (u32, u32) {
    sell(&*nodes[0], hall(600)).await;
    sell(&*nodes[0], fest(1000, 600)).await;
    let mut rush = JoinSet::new();
    for buyer in 0..90 {
        let node = Arc::clone(&nodes[buyer % 3]);
        rush.spawn(async move {
            let mut asks = vec![seat("A-1"), seat("A-2"), ticket(), seat("B-7")];
            if buyer % 2 == 0 {
                asks.reverse();
            }
            let (mut held_it, mut sent_away) = (0, 0);
            for _ in 0..3 {
                match ask(&*node, place(&format!("buyer-{buyer}"), asks.clone())).await {
                    Ok(reply) => {
                        if let Some(hold) = held(&reply) {
                            held_it += 1;
                            let release = holdfast_domain::Command::ReleaseHold { hold };
                            ask(&*node, release).await.expect("no error");
                        }
                    }
                    Err(LedgerError::Overloaded) => sent_away += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            (held_it, sent_away)
        });
    }
    let told = rush.join_all().await;
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(house.one(database, deadlocks), "0");
    assert_eq!(house.one(database, "SELECT sum(held) FROM holdfast.units"), "0");
    told.iter().fold((0, 0), |sums, told| (sums.0 + told.0, sums.1 + told.1))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposing_orders_on_three_nodes_neither_deadlock_nor_fail() {
    let house = House::quick();
    for claiming in EVERY_WAY {
        let nodes = three(&house, claiming).await;
        let (holds, sent_away) = oppose(&house, DATABASE, &nodes).await;
        println!("{claiming:?}: {holds} of 270 held all four");
        assert!(holds > 0, "{claiming:?}");
        assert_eq!(sent_away, 0, "{claiming:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_on_three_nodes_at_once_has_one_effect_and_one_answer() {
    let house = House::quick();
    for claiming in EVERY_WAY {
        let nodes = three(&house, claiming).await;
        sell(&*nodes[0], hall(600)).await;
        for round in 0..10 {
            let name = format!("round-{round}");
            let seats = vec![seat(&format!("A-{}", round + 1)), seat(&format!("B-{}", round + 1))];
            let asks = nodes.iter().map(|node| ask_as(&**node, &name, place("alice", seats.clone())));
            let replies = futures::future::join_all(asks).await;
            let words = |reply: &Reply| match reply {
                Reply::Done(outcome) => (holdfast_conformance::subject::render())(outcome),
                Reply::Replayed(answer) => answer.clone(),
                other => panic!("{claiming:?}: {other:?}"),
            };
            let replies: Vec<Reply> = replies.into_iter().map(|reply| reply.expect("an answer")).collect();
            let done = replies.iter().filter(|reply| matches!(reply, Reply::Done(_))).count();
            assert_eq!(done, 1, "{claiming:?}: {replies:?}");
            assert!(replies.iter().all(|reply| words(reply) == words(&replies[0])), "{replies:?}");
        }
        let page = PageRequest { after: None, limit: 1000 };
        let journal = nodes[1].journal(JournalFilter::default(), page).await.expect("the journal");
        let placed = journal.data.iter().filter(|record| record.kind == "hold_placed").count();
        assert_eq!(placed, 10, "{claiming:?}");
    }
}

/// And what one node has done, every other shows at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_of_one_node_is_confirmed_cancelled_and_seen_on_others() {
    let house = House::quick();
    for claiming in EVERY_WAY {
        let nodes = three(&house, claiming).await;
        sell(&*nodes[0], hall(600)).await;
        for round in 1..=5 {
            let wish = vec![seat(&format!("A-{round}"))];
            let reply = ask(&*nodes[0], place("alice", wish.clone())).await.expect("an answer");
            let hold = held(&reply).expect("a free seat");
            assert!(nodes[1].hold(hold).await.expect("a read").is_some(), "{claiming:?}");
            let reply = ask(&*nodes[1], confirm(hold)).await.expect("an answer");
            let Reply::Done(Outcome::Confirmed(view)) = reply else { panic!("{claiming:?}: {reply:?}") };
            let booking = view.booking.id;
            assert!(nodes[2].booking(booking).await.expect("a read").is_some(), "{claiming:?}");
            let reply = ask(&*nodes[0], place("bob", wish.clone())).await.expect("an answer");
            assert_eq!(refused(&reply), Some("unit_taken"), "{claiming:?}");
            let cancel = holdfast_domain::Command::Cancel { booking };
            ask(&*nodes[2], cancel).await.expect("an answer");
            let reply = ask(&*nodes[0], place("bob", wish)).await.expect("an answer");
            assert!(held(&reply).is_some(), "{claiming:?}: {reply:?}");
        }
    }
}

/// Whoever sells a ticket waits for this.
const KEEP_TICKETS: &str = "BEGIN; SELECT 1 FROM holdfast.units WHERE offer_id = 'fest' FOR UPDATE";
const BOTH_WAIT: &str = "SELECT count(*) = 2 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// A double click that two nodes hear, without keys or with one each: there is enough for two holds, and it is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_two_nodes_at_once_for_the_same_has_one_hold() {
    let house = House::quick();
    for claiming in EVERY_WAY {
        let url = house.emptied(DATABASE);
        let mut settings = settings(&url, claiming);
        settings.limits.tidy_every = None;
        let nodes = nodes(settings, 2).await;
        sell(&*nodes[0], fest(100, 600)).await;
        let (keeper, connection) =
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("a connection");
        tokio::spawn(connection);
        for (holder, with_keys) in [("alice", false), ("bob", true)] {
            keeper.batch_execute(KEEP_TICKETS).await.expect("the tickets are kept");
            let ask = |node: usize| {
                let (ledger, place) = (Arc::clone(&nodes[node]), place(holder, vec![ticket()]));
                let key = with_keys.then(|| key(&format!("of node {node}")));
                async move { ledger.execute(request(place, key)).await }
            };
            let asked = [tokio::spawn(ask(0)), tokio::spawn(ask(1))];
            while house.one(DATABASE, BOTH_WAIT) != "t" {
                tokio::task::yield_now().await;
            }
            keeper.batch_execute("ROLLBACK").await.expect("the tickets are free");
            let told = futures::future::try_join_all(asked).await.expect("no panic");
            let holds: Vec<_> =
                told.iter().map(|told| held(told.as_ref().expect("an answer")).expect("a hold")).collect();
            assert_eq!(holds[0], holds[1], "{claiming:?}, {holder}");
        }
        assert_eq!(house.one(DATABASE, "SELECT sum(held) FROM holdfast.units"), "2", "{claiming:?}");
    }
}
