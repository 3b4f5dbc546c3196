//! Payments before a crowd, on one process and on three nodes: one key has one payment and one answer, and one payment
//! is looked at by one driver at a time. (What each report means is told by the stories.)

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::future::join_all;
use holdfast_conformance::{live::embedded_without_sweep, story_start};
use holdfast_domain::{BookingId, BookingState, Command, Moment, PaymentState};
use holdfast_engine::{
    clock::ManualClock,
    ledger::{
        Answer, BookingFilter, Ledger, Outcome, PageRequest, Reply, Request, Wording, embedded::Storage,
    },
    strategy::Claiming,
};

use crate::postgres::{
    goods::{ask, ask_as, hall, held, key, paid, pay, place, report, request, seat, sell},
    house::{House, nodes, settings},
};

type Nodes = Vec<Arc<dyn Ledger>>;

const LEASE: Duration = Duration::from_secs(600);

fn one_process() -> Nodes {
    let clock = Arc::new(ManualClock::at(story_start()));
    vec![Arc::new(embedded_without_sweep(&Storage::Memory, &clock).expect("the ledger opens"))]
}

async fn three_nodes(house: &House, claiming: Claiming) -> Nodes {
    let nodes = nodes(settings(&house.emptied("books"), claiming), 3).await;
    nodes.into_iter().map(|node| node as Arc<dyn Ledger>).collect()
}

/// Begins the payment of a seat; returns the booking.
async fn begin(node: &dyn Ledger, name: &str) -> BookingId {
    let reply = ask(node, place("alice", vec![seat(name)])).await.expect("an answer");
    let begun = ask_as(node, name, pay(held(&reply).expect("a free seat"))).await.expect("an answer");
    let Reply::Done(Outcome::PaymentBegun(view)) = begun else { panic!("{begun:?}") };
    view.booking.id
}

async fn one_key_begins_one_payment(nodes: &Nodes) {
    sell(&*nodes[0], hall(600)).await;
    let reply = ask(&*nodes[0], place("alice", vec![seat("A-1")])).await.expect("an answer");
    let hold = held(&reply).expect("a free seat");
    let asks = (0..200).map(|at| {
        let node = Arc::clone(&nodes[at % nodes.len()]);
        async move { ask_as(&*node, "k", pay(hold)).await.expect("an answer") }
    });
    let replies = join_all(asks).await;
    let begun: Vec<_> = replies
        .iter()
        .filter_map(|reply| match reply {
            Reply::Done(Outcome::PaymentBegun(view)) => Some(view.booking.id),
            _ => None,
        })
        .collect();
    assert_eq!(begun.len(), 1, "one payment");
    let open = Reply::Open { booking: begun[0] };
    assert_eq!(replies.iter().filter(|reply| **reply == open).count(), 199, "{replies:?}");
    let page = PageRequest { after: None, limit: 10 };
    assert_eq!(nodes[0].bookings(BookingFilter::default(), page).await.expect("a list").data.len(), 1);
    ask(&*nodes[0], report(begun[0], paid())).await.expect("an answer");
}

/// Each with words of its own: the first ones are everybody's.
async fn the_first_words_are_everybodys(nodes: &Nodes) {
    let booking = begin(&*nodes[0], "A-2").await;
    let asks = (0..60).map(|at| {
        let node = Arc::clone(&nodes[at % nodes.len()]);
        async move {
            let own = Answer { status: 201, body: format!("secret-{at}").into() };
            let words = own.clone();
            let wording = Some(Wording(Arc::new(move |_| words.clone())));
            let closing = Request { wording, ..request(report(booking, paid()), Some(key("A-2"))) };
            (own, node.execute(closing).await.expect("an answer"))
        }
    });
    let replies = join_all(asks).await;
    let first: Vec<_> = replies.iter().filter(|(_, reply)| matches!(reply, Reply::Done(_))).collect();
    assert_eq!(first.len(), 1, "one gave the key its words");
    let words = Reply::Replayed(first[0].0.clone());
    assert_eq!(replies.iter().filter(|(_, reply)| *reply == words).count(), 59);
    for node in nodes {
        let again = ask_as(&**node, "A-2", report(booking, paid())).await.expect("an answer");
        assert_eq!(again, words);
        let view = node.booking(booking).await.expect("a read").expect("it is there");
        assert_eq!(view.booking.state, BookingState::Confirmed);
        assert!(!format!("{view:?}").contains("secret"), "the words are kept under the key alone");
    }
}

async fn each_payment_has_one_driver(nodes: &Nodes) {
    let mut due = BTreeSet::new();
    for seat in ["B-1", "B-2", "B-3", "B-4", "B-5"] {
        due.insert(begin(&*nodes[0], seat).await);
    }
    let drivers = (0..9).map(|at| {
        let node = Arc::clone(&nodes[at % nodes.len()]);
        async move { node.payments_due(2, LEASE).await.expect("work") }
    });
    let handed_out: Vec<BookingId> =
        join_all(drivers).await.into_iter().flatten().map(|view| view.booking.id).collect();
    assert_eq!(handed_out.len(), due.len(), "each once");
    assert_eq!(handed_out.iter().copied().collect::<BTreeSet<_>>(), due);
    assert_eq!(nodes[0].payments_due(9, LEASE).await.expect("work"), []);
    // Whatever is written down about a payment ends the lease on it.
    let again = Command::DeferPayment { booking: handed_out[0], due_at: Moment::from_ms(1) };
    ask(&*nodes[0], again).await.expect("an answer");
    let last = nodes.last().expect("a node").payments_due(9, LEASE).await.expect("work");
    assert_eq!(last.iter().map(|view| view.booking.id).collect::<Vec<_>>(), [handed_out[0]]);
}

async fn the_operator_finds_what_waits_for_a_person(nodes: &Nodes) {
    let booking = begin(&*nodes[0], "C-1").await;
    let abandon = Command::NoteRefund {
        booking,
        outcome: holdfast_domain::RefundOutcome::Abandoned { why: holdfast_domain::Reason::new("closed") },
        due_at: Moment::from_ms(0),
    };
    for command in [report(booking, paid()), Command::Cancel { booking }, abandon] {
        ask(&*nodes[0], command).await.expect("an answer");
    }
    let filter = BookingFilter { payment: Some(PaymentState::Manual), ..BookingFilter::default() };
    let page = PageRequest { after: None, limit: 10 };
    let found = nodes[0].bookings(filter, page).await.expect("a list");
    assert_eq!(found.data.iter().map(|view| view.booking.id).collect::<Vec<_>>(), [booking]);
}

async fn all_of_it(nodes: &Nodes) {
    one_key_begins_one_payment(nodes).await;
    the_first_words_are_everybodys(nodes).await;
    each_payment_has_one_driver(nodes).await;
    the_operator_finds_what_waits_for_a_person(nodes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_one_payment_one_answer_one_driver() {
    all_of_it(&one_process()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_one_payment_one_answer_one_driver_on_three_nodes() {
    let house = House::quick();
    for claiming in [Claiming::Batched, Claiming::Pessimistic, Claiming::Unique] {
        all_of_it(&three_nodes(&house, claiming).await).await;
        println!("{claiming:?}: one key, one payment, one answer, one driver");
    }
}
