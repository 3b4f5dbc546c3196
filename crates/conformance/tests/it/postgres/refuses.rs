//! With the program's protection removed, PostgreSQL itself refuses: SQL written straight into the books.

use holdfast_domain::PaymentOutcome;
use holdfast_engine::{
    ledger::{Outcome, Reply},
    strategy::Claiming,
};

use super::{
    goods::{ask, ask_as, confirm, fest, hall, held, paid, pay, place, report, seat, sell},
    house::{House, nodes, settings},
};

const DATABASE: &str = "books";

/// Each statement, and the constraint that must refuse it.
const WRONGS: [(&str, &str); 19] = [
    (
        "INSERT INTO holdfast.claims (offer_id, unit_no, hold_id, qty, exclusive)
         VALUES ('hall', 0, 'somebody-else', 1, true)",
        "one_live_claim",
    ),
    ("UPDATE holdfast.units SET held = held + 1 WHERE offer_id = 'hall' AND unit_no = 0", "units_fit"),
    ("UPDATE holdfast.units SET held = 6, booked = 5 WHERE offer_id = 'fest'", "units_fit"),
    ("UPDATE holdfast.units SET capacity = 0 WHERE offer_id = 'hall' AND unit_no = 0", "units_fit"),
    ("UPDATE holdfast.units SET held = -1 WHERE offer_id = 'fest'", "units_held_check"),
    ("UPDATE holdfast.units SET booked = -1 WHERE offer_id = 'fest'", "units_booked_check"),
    (
        "INSERT INTO holdfast.bookings
             (offer_id, id, hold_id, holder, state, amount, currency, created_at, version, offers, body)
         SELECT offer_id, 'a-second-one', hold_id, holder, state, amount, currency, created_at, version, offers, body
         FROM holdfast.bookings",
        "one_booking",
    ),
    (
        "INSERT INTO holdfast.answers (key, fingerprint, status, body, at)
         VALUES ('k', 'f', 200, 'one', now()), ('k', 'f', 200, 'another', now())",
        "answers_pkey",
    ),
    ("UPDATE holdfast.claims SET qty = 0", "claims_qty_check"),
    ("UPDATE holdfast.payments SET refunded = captured + 1 WHERE state = 'processing'", "payments_sums"),
    ("UPDATE holdfast.payments SET refunded = -1 WHERE state = 'processing'", "payments_sums"),
    ("UPDATE holdfast.payments SET due_at = NULL WHERE state = 'processing'", "payments_check"),
    ("UPDATE holdfast.payments SET captured = 1 WHERE state = 'processing'", "payments_in_flight"),
    ("UPDATE holdfast.payments SET captured = 0 WHERE state = 'succeeded'", "payments_kept"),
    ("UPDATE holdfast.payments SET state = 'refunded' WHERE state = 'succeeded'", "payments_refunded"),
    ("UPDATE holdfast.payments SET state = 'gone' WHERE state = 'succeeded'", "payments_state_check"),
    ("UPDATE holdfast.payments SET intent = 'pi_1'", "one_intent"),
    ("UPDATE holdfast.holds SET pinned_until = NULL WHERE state = 'paying'", "holds_pinned_check"),
    ("UPDATE holdfast.answers SET booking_id = 'bk' WHERE status <> 0", "answers_open"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_itself_refuses_every_wrong() {
    let house = House::quick();
    let node = nodes(settings(&house.emptied(DATABASE), Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    sell(&*node, fest(10, 600)).await;
    let reply = ask(&*node, place("alice", vec![seat("A-1")])).await.expect("an answer");
    let hold = held(&reply).expect("a free seat");
    ask(&*node, confirm(hold)).await.expect("an answer");
    for (name, said) in [("A-2", PaymentOutcome::Processing), ("A-3", paid())] {
        let reply = ask(&*node, place("bob", vec![seat(name)])).await.expect("an answer");
        let begun = ask_as(&*node, name, pay(held(&reply).expect("a free seat"))).await.expect("an answer");
        let Reply::Done(Outcome::PaymentBegun(view)) = begun else { panic!("{begun:?}") };
        ask_as(&*node, name, report(view.booking.id, said)).await.expect("an answer");
    }
    for (wrong, constraint) in WRONGS {
        let refused = house.server.ask(DATABASE, wrong).expect_err(wrong).to_string();
        assert!(refused.contains(&format!("\"{constraint}\"")), "{wrong}: {refused}");
    }
    // The other way round: what is right goes through the same door.
    house
        .server
        .ask(DATABASE, "UPDATE holdfast.units SET held = 5, booked = 5 WHERE offer_id = 'fest'")
        .expect("what fits");
}

/// A batch is written and committed in one breath: nobody looks at what was written before it is committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_add_up_is_not_committed() {
    let house = House::quick();
    let node = nodes(settings(&house.emptied(DATABASE), Claiming::Batched), 1).await.remove(0);
    sell(&*node, hall(600)).await;
    house.server.ask(DATABASE, "DELETE FROM holdfast.units WHERE unit_no = 0").expect("a seat without a row");
    ask(&*node, place("alice", vec![seat("A-1")])).await.expect_err("its row is missing");
    let written = "SELECT (SELECT count(*) FROM holdfast.holds) + (SELECT count(*) FROM holdfast.claims)
                        + (SELECT count(*) FROM holdfast.journal WHERE kind = 'hold_placed')";
    assert_eq!(house.one(DATABASE, written), "0");
    let reply = ask(&*node, place("alice", vec![seat("A-2")])).await.expect("an answer");
    assert!(held(&reply).is_some(), "{reply:?}");
    assert_eq!(house.one(DATABASE, written), "3");
}
