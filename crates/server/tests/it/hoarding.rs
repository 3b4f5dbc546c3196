//! Those who ask too often, and those who hold what they do not buy.

use std::time::Duration;

use holdfast_engine::admission::{Rate, hoarding};
use holdfast_server::{RateLimits, TrustedProxies};
use serde_json::{Value, json};

use crate::app::{Client, Setup, TestApp, hall};

/// A server behind a proxy of ours, which the test plays: its header says where a client is.
fn behind_a_proxy() -> Setup {
    let networks = vec!["127.0.0.0/8".parse().unwrap()];
    Setup { proxies: TrustedProxies::Within(networks), ..Setup::default() }
}

async fn hall_with(setup: Setup) -> TestApp {
    let app = TestApp::with(setup).await;
    app.admin().post("/v1/offers", hall()).await.expect(201);
    app
}

fn at(app: &TestApp, address: &str) -> Client {
    app.client().with("x-forwarded-for", address)
}

fn seat(unit: &str) -> Value {
    json!({"lines": [{"offer": "hall", "unit": unit}]})
}

fn seats() -> impl Iterator<Item = String> + Clone {
    ["A", "B"].into_iter().flat_map(|row| (1..=10).map(move |seat| format!("{row}-{seat}")))
}

/// The trick: one account buys, a second one holds every seat that the first does not want, so that only the good ones
/// are left for it. Within the limit of the second account the house stays open to everybody.
#[tokio::test]
async fn a_second_account_cannot_keep_the_seats_one_does_not_want() {
    let hoarding = hoarding::Settings { per_holder: 4, ..Default::default() };
    let app = hall_with(Setup { hoarding, ..behind_a_proxy() }).await;
    let second = at(&app, "203.0.113.7");
    let mut taken = 0;
    for unit in seats().skip(2) {
        let answer = second.post("/v1/holds", seat(&unit)).await;
        match answer.status.as_u16() {
            201 => taken += 1,
            _ => {
                let refused = answer.expect_problem(429, "rate_limited");
                assert_eq!(refused.header("ratelimit-policy"), "\"unconfirmed-by-holder\";q=4;w=600");
                assert_eq!(refused.header("ratelimit"), "\"unconfirmed-by-holder\";r=0;t=600");
                assert_eq!(refused.header("retry-after"), "600");
            }
        }
    }
    assert_eq!(taken, 4, "of the eighteen it wanted out of the way");
    at(&app, "198.51.100.1").post("/v1/holds", seat("B-9")).await.expect(201);
}

#[tokio::test]
async fn letting_go_and_holding_again_is_no_way_around() {
    let hoarding = hoarding::Settings { per_holder: 3, ..Default::default() };
    let app = hall_with(Setup { hoarding, ..behind_a_proxy() }).await;
    let one = at(&app, "203.0.113.7");
    for unit in ["A-1", "A-2", "A-3"] {
        let hold = one.hold(seat(unit)).await;
        one.delete(&format!("/v1/holds/{hold}")).await.expect(204);
    }
    one.post("/v1/holds", seat("A-4")).await.expect_problem(429, "rate_limited");
    app.clock.advance_ms(600_000);
    one.post("/v1/holds", seat("A-4")).await.expect(201);
}

/// Held on and on, by extending it, it is as much out of everybody's reach as on the first day.
#[tokio::test]
async fn extending_is_no_way_around() {
    let hoarding = hoarding::Settings { per_holder: 3, ..Default::default() };
    let app = hall_with(Setup { hoarding, ..behind_a_proxy() }).await;
    let one = at(&app, "203.0.113.7");
    let hold = one.hold(json!({"lines": [{"offer": "hall", "best": {"qty": 3}}]})).await;
    app.clock.advance_ms(500_000);
    one.post(&format!("/v1/holds/{hold}/extend"), json!({})).await.expect(200);
    app.clock.advance_ms(200_000);
    let refused = one.post("/v1/holds", seat("B-10")).await.expect_problem(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), "400");
    app.clock.advance_ms(400_000);
    one.post("/v1/holds", seat("B-10")).await.expect(201);
}

#[tokio::test]
async fn fifty_accounts_at_one_address_have_its_share_and_no_more() {
    let hoarding = hoarding::Settings { per_holder: 4, per_address: 6, ..Default::default() };
    let app = hall_with(Setup { hoarding, ..behind_a_proxy() }).await;
    let mut taken = 0;
    for (account, unit) in (0..50).zip(seats().cycle()) {
        let address = format!("2001:db8:0:7::{account:x}");
        let answer = at(&app, &address).post("/v1/holds", seat(&unit)).await;
        taken += usize::from(answer.status == 201);
        assert!([201, 409, 429].contains(&answer.status.as_u16()), "{answer:?}");
    }
    assert_eq!(taken, 6, "fifty accounts in one /64");
    for buyer in 0..14 {
        let honest = at(&app, &format!("198.51.100.{buyer}"));
        let best = json!({"lines": [{"offer": "hall", "best": {"qty": 1}}]});
        let hold = honest.hold(best).await;
        honest.book(&hold, "k").await.expect(201);
    }
}

/// As many seats as the demo's hall has, sold to six a head, with the settings that everybody has who sets nothing.
#[tokio::test]
async fn by_default_an_address_cannot_take_a_small_hall() {
    let app = TestApp::with(behind_a_proxy()).await;
    let rows: Vec<Value> = "ABCDEFGH".chars().map(|row| json!({"name": row, "seats": 20})).collect();
    let sections = json!([{"name": "Stalls", "category": "A", "price": 4500, "rows": rows}]);
    let offer = json!({"id": "hall", "name": "Hall", "kind": "seats", "currency": "EUR", "hold_ttl_s": 600,
        "limit_per_holder": 6, "seats": {"sections": sections}});
    app.admin().post("/v1/offers", offer).await.expect(201);
    let best = |qty: u32| json!({"lines": [{"offer": "hall", "best": {"qty": qty}}]});
    let mut taken = 0;
    for _ in 0..50 {
        let session = at(&app, "203.0.113.7");
        for qty in [6, 1] {
            let answer = session.post("/v1/holds", best(qty)).await;
            match answer.status.as_u16() {
                201 => taken += qty,
                409 => drop(answer.expect_problem(409, "limit_reached")),
                _ => {
                    let refused = answer.expect_problem(429, "rate_limited");
                    assert_eq!(refused.header("ratelimit-policy"), "\"unconfirmed-by-address\";q=20;w=600");
                }
            }
        }
    }
    assert_eq!(taken, 20, "of 160: a tenth is 16, and 20 in any case");
    at(&app, "198.51.100.1").post("/v1/holds", best(6)).await.expect(201);

    // Whoever shares that address can buy again when the hoarder's time is over, and goes on while they do buy.
    app.clock.advance_ms(600_000);
    for buyer in 0..8 {
        let honest = at(&app, "203.0.113.7");
        let hold = honest.hold(best(6)).await;
        honest.book(&hold, &format!("k{buyer}")).await.expect(201);
    }
}

#[tokio::test]
async fn whoever_buys_is_no_hoarder() {
    let hoarding = hoarding::Settings { per_holder: 2, per_address: 2, ..Default::default() };
    let app = hall_with(Setup { hoarding, ..behind_a_proxy() }).await;
    let family = at(&app, "203.0.113.7");
    for (round, unit) in seats().enumerate() {
        let hold = family.hold(seat(&unit)).await;
        family.book(&hold, &format!("k{round}")).await.expect(201);
    }
}

#[tokio::test]
async fn a_refused_hold_and_a_retry_count_for_nothing() {
    let hoarding = hoarding::Settings { per_holder: 2, ..Default::default() };
    let app = hall_with(Setup { hoarding, ..behind_a_proxy() }).await;
    at(&app, "198.51.100.1").hold(seat("A-1")).await;
    let one = at(&app, "203.0.113.7");
    for _ in 0..5 {
        one.post("/v1/holds", seat("A-1")).await.expect_problem(409, "unit_taken");
    }
    one.post_keyed("/v1/holds", "k", json!({"lines": [{"offer": "hall", "best": {"qty": 2}}]}))
        .await
        .expect(201);
    let again =
        one.post_keyed("/v1/holds", "k", json!({"lines": [{"offer": "hall", "best": {"qty": 2}}]})).await;
    assert!(again.expect(201).is_replayed(), "at its limit, and still told what it has");
    one.post("/v1/holds", seat("B-10")).await.expect_problem(429, "rate_limited");
}

#[tokio::test]
async fn a_key_acts_for_many_and_is_not_counted() {
    let hoarding = hoarding::Settings { per_holder: 1, per_address: 1, ..Default::default() };
    let rate = Some(Rate { burst: 1, window: Duration::from_secs(60) });
    let rates = RateLimits { per_address: rate, per_holder: rate, ..RateLimits::default() };
    let app = hall_with(Setup { hoarding, rates, ..behind_a_proxy() }).await;
    let seller = app.seller().await;
    for unit in seats() {
        seller.post("/v1/holds", crate::app::seat("alice", &unit)).await.expect(201);
    }
}

#[tokio::test]
async fn one_who_asks_too_often_is_told_when_to_come_back() {
    let rate = Some(Rate { burst: 2, window: Duration::from_secs(120) });
    let rates = RateLimits { per_holder: rate, ..RateLimits::default() };
    let app = hall_with(Setup { rates, ..behind_a_proxy() }).await;
    let one = at(&app, "203.0.113.7");
    one.hold(seat("A-1")).await;
    one.hold(seat("A-2")).await;
    let refused = one.post("/v1/holds", seat("A-3")).await.expect_problem(429, "rate_limited");
    assert_eq!(refused.header("ratelimit-policy"), "\"holder\";q=2;w=120");
    assert_eq!(refused.header("retry-after"), "60");
    one.get("/v1/offers/hall/availability").await.expect(200);
    at(&app, "203.0.113.7").hold(seat("A-3")).await;
}

#[tokio::test]
async fn accounts_are_cheap_so_addresses_are_counted_too() {
    let rate = Some(Rate { burst: 3, window: Duration::from_secs(180) });
    let rates = RateLimits { per_address: rate, ..RateLimits::default() };
    let app = hall_with(Setup { rates, ..behind_a_proxy() }).await;
    let mut answers = Vec::new();
    for unit in seats().take(6) {
        answers.push(at(&app, "203.0.113.7").post("/v1/holds", seat(&unit)).await.status.as_u16());
    }
    assert_eq!(answers, [201, 201, 201, 429, 429, 429]);
    at(&app, "203.0.113.8").hold(seat("B-1")).await;
    let forged = at(&app, "1.2.3.4, 203.0.113.7").post("/v1/holds", seat("B-2")).await;
    forged.expect_problem(429, "rate_limited");
}

/// A hall and a stock line, and one browser that may have so many units unconfirmed.
async fn at_most(per_holder: u32) -> (TestApp, Client) {
    let hoarding = hoarding::Settings { per_holder, per_address: 0, ..Default::default() };
    let app = hall_with(Setup { hoarding, ..behind_a_proxy() }).await;
    app.admin().post("/v1/offers", crate::app::fest()).await.expect(201);
    let browser = at(&app, "203.0.113.7");
    (app, browser)
}

fn row(row: &str, seats: u32) -> Value {
    let line = |seat| json!({"offer": "hall", "unit": format!("{row}-{seat}")});
    json!({"lines": (1..=seats).map(line).collect::<Vec<_>>()})
}

#[tokio::test]
async fn whoever_is_at_their_limit_still_has_what_is_theirs() {
    let (_app, one) = at_most(4).await;
    let held = one.post("/v1/holds", row("A", 3)).await.expect(201).json();
    let again = one.post("/v1/holds", row("A", 3)).await.expect(200).json();
    assert_eq!((&again["id"], &again["expires_at"]), (&held["id"], &held["expires_at"]));
    one.post("/v1/holds", row("B", 3)).await.expect_problem(429, "rate_limited");
    let keyed = one.post_keyed("/v1/holds", "again", row("A", 3)).await.expect(200);
    assert_eq!(one.post_keyed("/v1/holds", "again", row("A", 3)).await.expect(200).body, keyed.body);
}

#[tokio::test]
async fn whoever_is_at_their_limit_hears_what_their_key_stands_for() {
    let (_app, one) = at_most(4).await;
    let first = one.post_keyed("/v1/holds", "k1", row("A", 3)).await.expect(201);
    one.book(first.json()["id"].as_str().unwrap(), "bought").await.expect(201);
    one.post("/v1/holds", row("B", 4)).await.expect(201);
    let again = one.post_keyed("/v1/holds", "k1", row("A", 3)).await.expect(201);
    assert!(again.is_replayed() && again.body == first.body);
    let reused = one.post_keyed("/v1/holds", "k1", row("A", 4)).await;
    reused.expect_problem(422, "idempotency_key_reused");
    one.post_keyed("/v1/holds", "k2", seat("B-9")).await.expect_problem(429, "rate_limited");
}

/// What cannot be had is refused for its own reason, and what nobody may have at once is not a matter of waiting.
#[tokio::test]
async fn more_than_the_limit_at_once_is_no_matter_of_waiting() {
    let (app, one) = at_most(6).await;
    let ask =
        |offer: &str, unit: &str, qty: u32| json!({"lines": [{"offer": offer, "unit": unit, "qty": qty}]});
    for (status, code, wish) in [
        (404, "unknown_offer", ask("nowhere", "GA", 7)),
        (404, "unknown_unit", ask("fest", "VIP", 7)),
        (409, "sold_out", ask("fest", "GA", 7)),
        (400, "invalid_request", ask("hall", "A-1", 7)),
        (409, "limit_reached", json!({"lines": [{"offer": "hall", "best": {"qty": 7}}]})),
    ] {
        let refused = one.post("/v1/holds", wish).await.expect_problem(status, code);
        assert!(!refused.headers.contains_key("retry-after"), "{refused:?}");
    }
    let detail = one.post("/v1/holds", row("A", 7)).await.expect_problem(409, "limit_reached").json();
    assert!(detail["detail"].as_str().unwrap().contains("At most 6 of hall"), "{detail}");
    app.admin().patch("/v1/offers/hall", json!({"limit_per_holder": 2})).await.expect(200);
    let detail = one.post("/v1/holds", row("A", 7)).await.expect_problem(409, "limit_reached").json();
    assert!(detail["detail"].as_str().unwrap().contains("You can have up to 2 of"), "{detail}");
    let left = app.client().get("/v1/offers/hall").await.expect(200).json();
    assert_eq!(left["counts"]["held"], 0, "and nothing was taken");
}

#[tokio::test]
async fn at_the_limit_too_what_cannot_be_had_is_refused_for_its_own_reason() {
    let (app, one) = at_most(2).await;
    at(&app, "198.51.100.1").hold(seat("B-1")).await;
    one.post("/v1/holds", row("A", 2)).await.expect(201);
    one.post("/v1/holds", seat("Z-1")).await.expect_problem(404, "unknown_unit");
    one.post("/v1/holds", seat("B-1")).await.expect_problem(409, "unit_taken");
    one.post("/v1/holds", seat("B-2")).await.expect_problem(429, "rate_limited");
}
