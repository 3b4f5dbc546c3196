//! Several nodes on one PostgreSQL: to everybody who buys they are one shop.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde_json::{Value, json};

use crate::support::{Answer, Server, ask, database, run};

fn nodes(count: usize, ledger: &str) -> Vec<Server> {
    // At once: they migrate at the same time.
    thread::scope(|scope| {
        let starting: Vec<_> = (0..count).map(|_| scope.spawn(|| Server::on_ledger(ledger))).collect();
        starting.into_iter().map(|node| node.join().unwrap()).collect()
    })
}

/// Asks `count` times, from as many threads as there are `hands`; how often each answer came.
fn rush(count: usize, hands: usize, attempt: impl Fn(usize) -> Answer + Sync) -> BTreeMap<String, usize> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut seen = BTreeMap::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return seen;
            }
            *seen.entry(word(&attempt(number))).or_insert(0) += 1;
        }
    };
    let seen: Vec<BTreeMap<String, usize>> = thread::scope(|scope| {
        let hands: Vec<_> = (0..hands).map(|_| scope.spawn(work)).collect();
        hands.into_iter().map(|hand| hand.join().unwrap()).collect()
    });
    seen.into_iter().flatten().fold(BTreeMap::new(), |mut all, (word, times)| {
        *all.entry(word).or_insert(0) += times;
        all
    })
}

fn word(answer: &Answer) -> String {
    match answer.status {
        200 | 201 => "yes".into(),
        status => format!("{status} {}", answer.json()["code"].as_str().unwrap_or_default()),
    }
}

fn book(node: &Server, hold: &Value, key: &str) -> Answer {
    let body = json!({"hold": hold["id"], "payment": {"provider": "none"}});
    node.post("/v1/bookings", &[("idempotency-key", key)], &body)
}

fn bookings(node: &Server, offer: &str) -> usize {
    let (mut count, mut path) = (0, format!("/v1/bookings?offer={offer}&limit=100"));
    loop {
        let page = node.get(&path).json();
        count += page["data"].as_array().unwrap().len();
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/bookings?offer={offer}&limit=100&after={next}"),
            None => return count,
        }
    }
}

#[test]
fn six_hundred_buyers_of_one_seat_on_three_nodes_make_one_owner() {
    let nodes = nodes(3, &database("one_seat"));
    nodes[0].post("/v1/offers", &[], &hall(20)).expect(201);
    let seen = rush(600, 60, |buyer| nodes[buyer % 3].hold(&format!("buyer-{buyer}"), "A-7"));
    assert_eq!(seen, BTreeMap::from([("yes".into(), 1), ("409 unit_taken".into(), 599)]));
}

#[test]
fn three_thousand_attempts_on_five_hundred_sell_five_hundred() {
    let ledger = database("hot_stock");
    let nodes = nodes(3, &ledger);
    let fest = json!({"id": "fest", "name": "Fest", "kind": "stock", "currency": "EUR",
        "stock": {"lines": [{"key": "GA", "capacity": 500, "price": 3000}]}});
    nodes[0].post("/v1/offers", &[], &fest).expect(201);
    let seen = rush(3000, 60, |buyer| {
        let line = json!({"offer": "fest", "unit": "GA", "qty": 1});
        let body = json!({"holder": format!("buyer-{buyer}"), "lines": [line]});
        let held = nodes[buyer % 3].post("/v1/holds", &[], &body);
        match held.status {
            // Whoever has a hold pays at another node.
            201 => book(&nodes[(buyer + 1) % 3], &held.json(), &format!("pay-{buyer}")),
            _ => held,
        }
    });
    assert_eq!(seen, BTreeMap::from([("yes".into(), 500), ("409 sold_out".into(), 2500)]));
    assert_eq!(bookings(&nodes[2], "fest"), 500);
    let counts = &nodes[1].get("/v1/offers/fest/availability").json()["counts"];
    assert_eq!((counts["booked"].as_u64(), counts["available"].as_u64()), (Some(500), Some(0)));
    run(&["verify", "--ledger", &ledger]).expect(0);
}

/// Half of the orders name the seats forwards and half backwards, on different nodes: whoever locks in the order of
/// the asking waits for the other in a circle.
#[test]
fn orders_of_many_seats_in_opposite_order_neither_block_nor_fail() {
    let ledger = database("adversarial");
    let nodes = nodes(3, &ledger);
    for offer in ["hall", "annex"] {
        let mut plan = hall(20);
        plan["id"] = json!(offer);
        nodes[0].post("/v1/offers", &[], &plan).expect(201);
    }
    let seen = rush(600, 48, |buyer| {
        let (first, span) = (buyer * 7 % 17 + 1, 4);
        let seat = |number: usize| {
            let offer = if number.is_multiple_of(2) { "hall" } else { "annex" };
            json!({"offer": offer, "unit": format!("A-{number}")})
        };
        let mut lines: Vec<Value> = (first..first + span).map(seat).collect();
        if buyer.is_multiple_of(2) {
            lines.reverse();
        }
        let node = &nodes[buyer % 3];
        let held = node.post("/v1/holds", &[], &json!({"holder": format!("b-{buyer}"), "lines": lines}));
        // Whoever wins gives them back, at another node, so that there is something to fight for to the end.
        if held.status == 201 {
            let path = format!("/v1/holds/{}", held.json()["id"].as_str().unwrap());
            let bearer = format!("Bearer {}", crate::support::KEY);
            let gone = ask(&nodes[(buyer + 1) % 3].url, "DELETE", &path, &[("authorization", &bearer)], "");
            assert_eq!(gone.status, 204, "{}", gone.body);
        }
        held
    });
    assert!(seen.keys().all(|word| word == "yes" || word.starts_with("409 ")), "{seen:?}");
    assert!(seen.contains_key("yes"), "{seen:?}");
    for offer in ["hall", "annex"] {
        let counts = &nodes[2].get(&format!("/v1/offers/{offer}/availability")).json()["counts"];
        assert_eq!(counts["available"], 20, "everything was given back: {counts}");
    }
    run(&["verify", "--ledger", &ledger]).expect(0);
}

#[test]
fn a_key_used_on_two_nodes_at_once_books_once() {
    let nodes = nodes(2, &database("two_nodes_one_key"));
    nodes[0].post("/v1/offers", &[], &hall(20)).expect(201);
    for round in 1..=10 {
        let held = nodes[0].hold("alice", &format!("A-{round}")).json();
        let key = format!("pay-{round}");
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(|| book(&nodes[0], &held, &key));
            let other = scope.spawn(|| book(&nodes[1], &held, &key));
            (one.join().unwrap(), other.join().unwrap())
        });
        assert_eq!((one.status, other.status), (201, 201), "{} {}", one.body, other.body);
        assert_eq!(one.body, other.body);
        let replayed = [&one, &other].iter().filter(|a| a.header("idempotency-replayed").is_some()).count();
        assert_eq!(replayed, 1);
        assert_eq!(bookings(&nodes[1], "hall"), round);
    }
}

#[test]
fn a_visitor_is_the_same_to_every_node() {
    let nodes = nodes(2, &database("visitor"));
    nodes[0].post("/v1/offers", &[], &hall(20)).expect(201);
    let body = json!({"lines": [{"offer": "hall", "unit": "A-3"}]}).to_string();
    let held = ask(&nodes[0].url, "POST", "/v1/holds", &[], &body);
    assert_eq!(held.status, 201, "{}", held.body);
    let cookie = held.header("set-cookie").unwrap().split(';').next().unwrap();
    let path = format!("/v1/holds/{}", held.json()["id"].as_str().unwrap());
    assert_eq!(ask(&nodes[1].url, "GET", &path, &[("cookie", cookie)], "").status, 200);
    assert_eq!(ask(&nodes[1].url, "GET", &path, &[], "").status, 404, "a stranger sees nothing");
}

fn hall(seats: usize) -> Value {
    json!({"id": "hall", "name": "Hall", "kind": "seats", "currency": "EUR", "seats": {"sections":
        [{"name": "Stalls", "category": "A", "price": 4500, "rows": [{"name": "A", "seats": seats}]}]}})
}
