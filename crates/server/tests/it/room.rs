//! The waiting room over HTTP: joining, waiting, being let in, and those who try without.

use std::time::Duration;

use holdfast_domain::OfferId;
use holdfast_engine::admission::Rate;
use holdfast_server::RateLimits;
use serde_json::{Value, json};

use crate::{
    app::{Answer, Client, Setup, TestApp, fest, hall, seat},
    map::Events,
    payments::{deliver, until_state},
};

const ROOM: &str = "/v1/offers/hall/room";
const TICKETS: &str = "/v1/offers/hall/room/tickets";
const ME: &str = "/v1/offers/hall/room/me";
const PASS: &str = "/v1/offers/hall/room/pass";

/// A hall with a room before it.
async fn with_room(plan: Value) -> TestApp {
    let app = TestApp::with_hall().await;
    app.admin().put(ROOM, plan).await.expect(200);
    app
}

fn fifo(max_active: u32) -> Value {
    json!({"method": "fifo", "max_active": max_active, "session_s": 300})
}

async fn turn(app: &TestApp) {
    app.rooms.turn(&OfferId::new("hall").unwrap()).await.unwrap();
}

fn lines(unit: &str) -> Value {
    json!({"lines": [{"offer": "hall", "unit": unit}]})
}

async fn join(browser: &Client) -> Value {
    browser.post(TICKETS, json!({})).await.expect(201).json()
}

fn text(page: &Answer) -> String {
    String::from_utf8_lossy(&page.body).into_owned()
}

async fn state(browser: &Client) -> Value {
    browser.get(ME).await.expect(200).json()["state"].clone()
}

#[tokio::test]
async fn a_browser_queues_and_a_key_does_not() {
    let app = with_room(fifo(1)).await;
    let alice = app.client();
    let refused = alice.post("/v1/holds", lines("A-1")).await.expect_problem(429, "queue_required");
    assert_eq!(refused.json()["join_url"], TICKETS);
    assert!(refused.headers.contains_key("retry-after"));
    app.seller().await.post("/v1/holds", seat("bob", "A-2")).await.expect(201);
    alice.get("/v1/offers/hall/availability").await.expect(200);

    let joined = join(&alice).await;
    assert_eq!((&joined["number"], &joined["ahead"]), (&json!(1), &json!(0)));
    turn(&app).await;
    assert_eq!(state(&alice).await, "ready");
    alice.post("/v1/holds", lines("A-1")).await.expect_problem(429, "queue_required");
    let inside = alice.post(PASS, json!({})).await.expect(200).json();
    assert_eq!(inside["state"], "admitted");
    let hold = alice.hold(lines("A-1")).await;

    let bob = app.client();
    assert_eq!(join(&bob).await["number"], 2);
    turn(&app).await;
    assert_eq!(state(&bob).await, "waiting", "one inside at once");
    bob.post(PASS, json!({})).await.expect_problem(429, "queue_required");

    alice.book(&hold, "k").await.expect(201);
    assert_eq!(state(&alice).await, "ended", "who has bought makes room");
    turn(&app).await;
    assert_eq!(state(&bob).await, "ready");
    alice.post("/v1/holds", lines("A-3")).await.expect_problem(429, "queue_required");
}

/// A paid hall with a room for one, alice inside with a hold, and bob next.
async fn one_inside_who_pays() -> (TestApp, Client, Client, String) {
    let app = TestApp::with_paid_hall().await;
    app.admin().put(ROOM, fifo(1)).await.expect(200);
    let (alice, bob) = (app.client(), app.client());
    join(&alice).await;
    turn(&app).await;
    alice.post(PASS, json!({})).await.expect(200);
    let hold = alice.hold(lines("A-1")).await;
    join(&bob).await;
    turn(&app).await;
    assert_eq!(state(&bob).await, "waiting");
    (app, alice, bob, hold)
}

#[tokio::test]
async fn who_has_paid_by_card_makes_room() {
    let (app, alice, bob, hold) = one_inside_who_pays().await;
    let card =
        |method: &str| json!({"hold": hold, "payment": {"provider": "stripe", "payment_method": method}});
    alice.post_keyed("/v1/bookings", "k1", card("pm_card_visa_chargeDeclined")).await.expect(402);
    assert_eq!(state(&alice).await, "admitted", "a declined card is no purchase");
    alice.post_keyed("/v1/bookings", "k2", card("pm_card_visa")).await.expect(201);
    assert_eq!(state(&alice).await, "ended");
    turn(&app).await;
    assert_eq!(state(&bob).await, "ready");
}

#[tokio::test]
async fn who_has_paid_on_the_page_makes_room() {
    let (app, alice, bob, hold) = one_inside_who_pays().await;
    let fields = [("key", "form1"), ("payment_method", "pm_card_visa")];
    alice.submit(&format!("/holds/{hold}/book"), &fields).await.expect(303);
    assert_eq!(state(&alice).await, "ended");
    turn(&app).await;
    assert_eq!(state(&bob).await, "ready");
}

#[tokio::test]
async fn a_payment_that_the_bank_tells_of_makes_room() {
    let (app, alice, bob, hold) = one_inside_who_pays().await;
    let paying = json!({"hold": hold, "payment": {"provider": "stripe"}});
    let booking = alice.post_keyed("/v1/bookings", "k", paying).await.expect(201).json();
    assert_eq!((&booking["state"], state(&alice).await), (&json!("pending"), json!("admitted")));
    assert!(app.bank().pay(booking["payment"]["intent"].as_str().unwrap(), "pm_card_visa"));
    for delivery in app.bank().take_webhooks() {
        deliver(&app, delivery).await;
    }
    until_state(&app, &booking, "confirmed").await;
    // The room hears of it a moment after the books.
    while state(&alice).await != "ended" {
        tokio::task::yield_now().await;
    }
    turn(&app).await;
    assert_eq!(state(&bob).await, "ready");
}

#[tokio::test]
async fn who_buys_while_they_wait_goes_on_waiting() {
    let app = TestApp::with_hall().await;
    let [alice, bob] = [app.client(), app.client()];
    let hold = alice.hold(lines("A-1")).await;
    app.admin().put(ROOM, fifo(1)).await.expect(200);
    join(&bob).await;
    join(&alice).await;
    turn(&app).await;
    bob.post(PASS, json!({})).await.expect(200);
    alice.book(&hold, "k").await.expect(201);
    assert_eq!(state(&alice).await, "waiting");
    bob.delete(ME).await.expect(204);
    turn(&app).await;
    assert_eq!(state(&alice).await, "ready");
}

#[tokio::test]
async fn leaving_and_joining_before_the_draw_gives_the_same_number() {
    let app =
        with_room(json!({"method": "lottery", "max_active": 1, "opens_at": "2026-11-15T18:05:00Z"})).await;
    let alice = app.client();
    let ticket = join(&alice).await["ticket"].clone();
    for browser in [session_of(&alice), alice.only_cookie("holdfast_session")] {
        browser.delete(ME).await.expect(204);
        assert_eq!(browser.post(TICKETS, json!({})).await.expect(200).json()["ticket"], ticket);
    }
    alice.delete(ME).await.expect(204);
    assert_eq!(alice.post(TICKETS, json!({})).await.expect(200).json()["ticket"], ticket);
    assert_eq!(app.client().get(ROOM).await.json()["issued"], 1);
}

#[tokio::test]
async fn joining_twice_is_joining_once() {
    let app = with_room(fifo(1)).await;
    let alice = app.client();
    let first = join(&alice).await;
    let again = alice.post(TICKETS, json!({})).await.expect(200).json();
    assert_eq!(first["ticket"], again["ticket"]);
    let room = app.client().get(ROOM).await.expect(200);
    assert_eq!(room.header("cache-control"), "public, max-age=1");
    assert_eq!((&room.json()["issued"], &room.json()["state"]), (&json!(1), &json!("open")));
    assert_eq!(room.body, alice.get(ROOM).await.body, "the same bytes for everybody");
}

#[tokio::test]
async fn a_hold_is_told_again_after_the_visit_has_ended() {
    let app = with_room(fifo(5)).await;
    let alice = app.client();
    join(&alice).await;
    turn(&app).await;
    alice.post(PASS, json!({})).await.expect(200);
    let held = alice.post_keyed("/v1/holds", "k", lines("A-1")).await.expect(201);
    alice.delete(ME).await.expect(204);
    let again = alice.post_keyed("/v1/holds", "k", lines("A-1")).await.expect(201);
    assert!(again.is_replayed() && again.body == held.body);
    let other = alice.post_keyed("/v1/holds", "k", lines("A-2")).await;
    other.expect_problem(422, "idempotency_key_reused");
    let new = alice.post_keyed("/v1/holds", "k2", lines("A-2")).await;
    new.expect_problem(429, "queue_required");
}

#[tokio::test]
async fn a_rooms_posts_honour_their_keys() {
    let app = with_room(fifo(5)).await;
    let admin = app.admin();
    let paused = admin.post_keyed(&format!("{ROOM}/pause"), "p", json!({})).await.expect(200);
    admin.post(&format!("{ROOM}/resume"), json!({})).await.expect(200);
    let again = admin.post_keyed(&format!("{ROOM}/pause"), "p", json!({})).await.expect(200);
    assert!(again.is_replayed() && again.body == paused.body, "and nothing is paused");
    assert_eq!(app.client().get(ROOM).await.json()["state"], "open");
    for (path, body) in [("resume", json!({})), ("fail-open", json!({})), ("pause", json!({"for": "ever"}))] {
        let other = admin.post_keyed(&format!("{ROOM}/{path}"), "p", body).await;
        other.expect_problem(422, "idempotency_key_reused");
    }

    let alice = app.client();
    alice.get("/").await.expect(200);
    let joined = alice.post_keyed(TICKETS, "t", json!({})).await.expect(201);
    turn(&app).await;
    // The answer was lost, and the ticket with it.
    let bare = session_of(&alice);
    let again = bare.post_keyed(TICKETS, "t", json!({})).await.expect(201);
    assert!(again.is_replayed() && again.body == joined.body);
    bare.post_keyed(PASS, "t", json!({})).await.expect_problem(422, "idempotency_key_reused");
    let entered = bare.post_keyed(PASS, "e", json!({})).await.expect(200);
    let again = bare.post_keyed(PASS, "e", json!({})).await.expect(200);
    assert!(again.is_replayed() && again.body == entered.body);
    bare.post("/v1/holds", lines("A-1")).await.expect(201);
    assert_eq!(app.client().get(ROOM).await.json()["issued"], 1);
}

#[tokio::test]
async fn forged_and_shared_tokens_are_refused() {
    let app = with_room(fifo(5)).await;
    let alice = app.client();
    let ticket = join(&alice).await["ticket"].as_str().unwrap().to_owned();
    turn(&app).await;
    let pass = alice.post(PASS, json!({})).await.expect(200).json()["pass"].as_str().unwrap().to_owned();

    for token in [ticket.as_str(), &ticket.replace(".1.1.", ".1.2."), "t.hall.1.1.AAAA", "", "nonsense"] {
        let thief = app.client().with("queue-token", token);
        thief.get(ME).await.expect_problem(429, "queue_required");
        thief.post(PASS, json!({})).await.expect_problem(429, "queue_required");
    }
    for token in [pass.as_str(), &pass.replace("hall", "annex"), ticket.as_str()] {
        let thief = app.client().with("queue-token", token);
        thief.post("/v1/holds", lines("A-1")).await.expect_problem(429, "queue_required");
    }
    alice.post("/v1/holds", lines("A-1")).await.expect(201);
}

/// A client of the same session that keeps no tokens.
fn session_of(browser: &Client) -> Client {
    browser.only_cookie("holdfast_session")
}

#[tokio::test]
async fn the_header_will_do_instead_of_a_cookie() {
    let app = with_room(fifo(5)).await;
    let alice = app.client();
    let ticket = join(&alice).await["ticket"].as_str().unwrap().to_owned();
    turn(&app).await;
    let bare = session_of(&alice).with("queue-token", &ticket);
    let pass = bare.post(PASS, json!({})).await.expect(200).json()["pass"].as_str().unwrap().to_owned();
    let held = session_of(&alice).with("queue-token", &pass).post("/v1/holds", lines("A-1")).await;
    held.expect(201);
}

#[tokio::test]
async fn a_visit_ends_by_leaving_or_by_its_time() {
    let app = with_room(fifo(5)).await;
    let (alice, bob) = (app.client(), app.client());
    for browser in [&alice, &bob] {
        join(browser).await;
    }
    turn(&app).await;
    for browser in [&alice, &bob] {
        browser.post(PASS, json!({})).await.expect(200);
    }
    app.clock.advance_ms(299_999);
    bob.post("/v1/holds", lines("A-1")).await.expect(201);
    alice.delete(ME).await.expect(204);
    alice.delete(ME).await.expect(204);
    alice.post("/v1/holds", lines("A-2")).await.expect_problem(429, "queue_required");
    app.clock.advance_ms(1);
    bob.post("/v1/holds", lines("A-2")).await.expect_problem(429, "queue_required");
    assert_eq!(join(&bob).await["number"], 3, "and may join again, at the end");
}

#[tokio::test]
async fn the_organiser_pauses_resumes_and_opens_to_all() {
    let app = with_room(fifo(5)).await;
    let (admin, alice) = (app.admin(), app.client());
    let set = async |what: &str| admin.post(&format!("{ROOM}/{what}"), json!({})).await.expect(200).json();
    assert_eq!(set("pause").await["state"], "paused");
    join(&alice).await;
    turn(&app).await;
    assert_eq!(state(&alice).await, "waiting");
    assert_eq!(set("fail-open").await["state"], "fail_open");
    assert_eq!(state(&alice).await, "open");
    app.client().post("/v1/holds", lines("A-1")).await.expect(201);
    assert_eq!(set("resume").await["state"], "open");
    app.client().post("/v1/holds", lines("A-2")).await.expect_problem(429, "queue_required");
    turn(&app).await;
    assert_eq!(state(&alice).await, "ready", "the queue was kept");
    app.client().post(&format!("{ROOM}/pause"), json!({})).await.expect_problem(401, "unauthenticated");
    app.seller().await.put(ROOM, fifo(1)).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn nobody_queues_for_what_is_sold_out() {
    let app = with_room(fifo(50)).await;
    let seller = app.seller().await;
    for row in ["A", "B"] {
        for number in 1..=10 {
            let hold = seller.hold(seat("bob", &format!("{row}-{number}"))).await;
            seller.book(&hold, &hold).await.expect(201);
        }
    }
    turn(&app).await;
    assert_eq!(app.client().get(ROOM).await.json()["state"], "sold_out");
    let alice = app.client();
    assert_eq!(join(&alice).await["state"], "sold_out");
    alice.post(PASS, json!({})).await.expect_problem(429, "queue_required");
}

#[tokio::test]
async fn a_pause_is_told_to_those_who_wait() {
    let app = with_room(fifo(1)).await;
    let (alice, bob) = (app.client(), app.client());
    join(&alice).await;
    turn(&app).await;
    alice.post(PASS, json!({})).await.expect(200);
    let joined = join(&bob).await;
    assert_eq!((&joined["state"], &joined["room"]), (&json!("waiting"), &json!("open")));
    assert!(joined["eta_s"].is_array(), "{joined}");
    let mut events = Events::at(&app, &format!("{ME}/stream"), &bob.cookie_line()).await;
    let mut told = async || serde_json::from_str::<Value>(&events.until("data: ").await).unwrap();
    assert_eq!(told().await["room"], "open");
    app.admin().post(&format!("{ROOM}/pause"), json!({})).await.expect(200);
    let paused = loop {
        let now = told().await;
        if now["room"] == "paused" {
            break now;
        }
    };
    assert_eq!((&paused["state"], &paused["eta_s"]), (&json!("waiting"), &Value::Null), "nobody can tell");
    let shown = text(&bob.get("/o/hall/queue").await.expect(200));
    assert!(shown.contains("data-scene=\"paused\""), "{shown}");
    assert!(shown.contains("<div data-when=\"paused\"><h2>The queue is paused</h2>"), "{shown}");
    app.admin().post(&format!("{ROOM}/resume"), json!({})).await.expect(200);
    while told().await["room"] != "open" {}
    app.admin().post(&format!("{ROOM}/fail-open"), json!({})).await.expect(200);
    assert_eq!(bob.get(ME).await.expect(200).json()["room"], Value::Null, "there is no queue");
}

#[tokio::test]
async fn the_queue_page_counts_only_for_those_who_wait() {
    let app = with_room(fifo(1)).await;
    let [alice, bob, carol] = [app.client(), app.client(), app.client()];
    for browser in [&alice, &bob, &carol] {
        join(browser).await;
    }
    turn(&app).await;
    let page = async |browser: &Client| text(&browser.get("/o/hall/queue").await.expect(200));
    let line = "<div data-part=\"line\">";
    let shown = page(&carol).await;
    assert!(shown.contains(line) && shown.contains("<strong data-part=\"ahead\">1</strong>"), "{shown}");
    assert!(shown.contains("person is</span> ahead of you"), "{shown}");
    let seller = app.seller().await;
    for row in ["A", "B"] {
        for number in 1..=10 {
            let hold = seller.hold(seat("dave", &format!("{row}-{number}"))).await;
            seller.book(&hold, &hold).await.expect(201);
        }
    }
    turn(&app).await;
    let shown = page(&carol).await;
    assert!(!shown.contains(line) && shown.contains("<div data-when=\"sold_out\">"), "{shown}");
    assert_eq!(carol.get(ME).await.expect(200).json()["ahead"], 1, "nobody has moved");
    let late = page(&app.client()).await;
    assert!(late.contains("Everything is sold.") && late.contains("Join the queue"), "{late}");
    app.admin().put(ROOM, json!({"method": "reject"})).await.expect(200);
    let shown = page(&carol).await;
    assert!(!shown.contains(line) && shown.contains("<div data-when=\"closed\">"), "{shown}");
    let late = page(&app.client()).await;
    assert!(late.contains("The doors are closed") && !late.contains("Join the queue"), "{late}");
}

#[tokio::test]
async fn a_lottery_shows_its_hand_after_the_draw() {
    let opens = json!({"method": "lottery", "max_active": 1, "opens_at": "2026-11-15T18:05:00Z"});
    let app = with_room(opens).await;
    let browsers: Vec<_> = (0..5).map(|_| app.client()).collect();
    for browser in &browsers {
        let joined = join(browser).await;
        assert_eq!((&joined["place"], &joined["ahead"]), (&Value::Null, &Value::Null));
    }
    let before = app.client().get(ROOM).await.json();
    assert_eq!((&before["state"], &before["lottery"]["seed"]), (&json!("scheduled"), &Value::Null));
    app.clock.advance_ms(300_000);
    turn(&app).await;
    let after = app.client().get(ROOM).await.json();
    assert_eq!(after["lottery"]["commitment"], before["lottery"]["commitment"]);
    assert_eq!((&after["lottery"]["tickets"], after["lottery"]["seed"].is_string()), (&json!(5), true));
    let mut places = Vec::new();
    for browser in &browsers {
        places.push(browser.get(ME).await.expect(200).json()["place"].as_u64().unwrap());
    }
    places.sort_unstable();
    assert_eq!(places, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_lottery_that_has_opened_can_be_tuned_and_keeps_its_queue() {
    let lottery = |max_active: u32, opens_at: &str| json!({"method": "lottery", "max_active": max_active, "opens_at": opens_at});
    let app = with_room(lottery(1, "2026-11-15T18:05:00Z")).await;
    join(&app.client()).await;
    app.clock.advance_ms(400_000);
    turn(&app).await;
    let tuned = app.admin().put(ROOM, lottery(7, "2026-11-15T19:05:00+01:00")).await.expect(200).json();
    assert_eq!((&tuned["max_active"], &tuned["issued"], &tuned["run"]), (&json!(7), &json!(1), &json!(1)));
    let other = lottery(7, "2026-11-15T18:06:00Z");
    app.admin().put(ROOM, other).await.expect_problem(400, "invalid_request");
}

/// Sessions are cheap, and a ticket is a lot in the draw.
#[tokio::test]
async fn an_address_gets_so_many_new_tickets_and_keeps_those_it_has() {
    let few = Some(Rate { burst: 2, window: Duration::from_secs(3600) });
    let rates = RateLimits { tickets_per_address: few, ..RateLimits::default() };
    let app = TestApp::with(Setup { rates, ..Setup::default() }).await;
    app.admin().post("/v1/offers", hall()).await.expect(201);
    app.admin().put(ROOM, fifo(1)).await.expect(200);
    let (alice, bob, carol) = (app.client(), app.client(), app.client());
    join(&alice).await;
    join(&bob).await;
    let refused = carol.post(TICKETS, json!({})).await.expect_problem(429, "rate_limited");
    assert_eq!(refused.header("ratelimit-policy"), "\"tickets\";q=2;w=3600");
    carol.submit("/o/hall/queue", &[]).await.expect(429);
    alice.post(TICKETS, json!({})).await.expect(200);
}

#[tokio::test]
async fn the_stream_tells_when_it_is_ones_turn() {
    let app = with_room(fifo(1)).await;
    let (alice, bob) = (app.client(), app.client());
    join(&alice).await;
    turn(&app).await;
    alice.post(PASS, json!({})).await.expect(200);
    join(&bob).await;
    let mut events = Events::at(&app, &format!("{ME}/stream"), &bob.cookie_line()).await;
    let mut told = async || serde_json::from_str::<Value>(&events.until("data: ").await).unwrap();
    assert_eq!(told().await["state"], "waiting");
    alice.delete(ME).await.expect(204);
    while told().await["state"] != "ready" {}
}

#[tokio::test]
async fn plans_are_checked() {
    let app = TestApp::with_offer(fest()).await;
    let (admin, room) = (app.admin(), "/v1/offers/fest/room");
    assert_eq!(app.client().get(room).await.expect(200).json()["state"], "off");
    for wrong in [
        json!({}),
        json!({"method": "raffle"}),
        json!({"method": "fifo", "max_active": 0}),
        json!({"method": "fifo", "session_s": 0}),
        json!({"method": "fifo", "admit_per_minute": 0}),
        json!({"method": "fifo", "opens_at": "tomorrow"}),
        json!({"method": "lottery"}),
        json!({"method": "lottery", "opens_at": "2020-01-01T00:00:00Z"}),
        json!({"method": "fifo", "colour": "red"}),
        json!({"method": "fifo", "message": "\u{202e}evil"}),
    ] {
        admin.put(room, wrong.clone()).await.expect_problem(400, "invalid_request");
    }
    admin.put("/v1/offers/nope/room", fifo(1)).await.expect_problem(404, "unknown_offer");
    app.client().get("/v1/offers/nope/room").await.expect_problem(404, "unknown_offer");
    assert_eq!(
        app.client().post("/v1/offers/fest/room/tickets", json!({})).await.expect(200).json()["state"],
        "open"
    );
    admin.put(room, json!({"method": "reject"})).await.expect(200);
    app.client().post("/v1/offers/fest/room/tickets", json!({})).await.expect_problem(429, "queue_required");
    let hold = json!({"lines": [{"offer": "fest", "unit": "GA", "qty": 1}]});
    app.client().post("/v1/holds", hold.clone()).await.expect_problem(429, "queue_required");
    admin.put(room, json!({"method": "passthrough"})).await.expect(200);
    app.client().post("/v1/holds", hold).await.expect(201);
}

#[tokio::test]
async fn the_offers_page_says_that_there_is_a_queue_and_until_when_one_is_inside() {
    let app = with_room(fifo(1)).await;
    let alice = app.client();
    let page = async |browser: &Client| text(&browser.get("/o/hall").await.expect(200));
    let outside = page(&alice).await;
    assert!(outside.contains("There is a queue.") && outside.contains("href=\"/o/hall/queue\""), "{outside}");
    join(&alice).await;
    turn(&app).await;
    assert!(page(&alice).await.contains("There is a queue."), "called is not inside yet");
    let until = alice.post(PASS, json!({})).await.expect(200).json()["until"].as_str().unwrap().to_owned();
    let inside = page(&alice).await;
    assert!(inside.contains("It is your turn.") && inside.contains(&until), "{inside}");
    assert!(!inside.contains("There is a queue."), "{inside}");
    app.clock.advance_ms(300_000);
    assert!(page(&alice).await.contains("There is a queue."), "the visit is over");
    app.admin().put(ROOM, json!({"method": "reject"})).await.expect(200);
    assert!(page(&app.client()).await.contains("Nobody is let in at the moment."));
    app.admin().put(ROOM, json!({"method": "passthrough"})).await.expect(200);
    let open = page(&alice).await;
    assert!(!open.contains("id=\"queue\""), "{open}");
}

#[tokio::test]
async fn the_queue_page_works_without_scripts() {
    let app = with_room(json!({"method": "fifo", "max_active": 1, "message": "Have your card ready"})).await;
    let (alice, bob) = (app.client(), app.client());
    let page = alice.get("/o/hall/queue").await.expect(200);
    let shown = text(&page);
    assert!(shown.contains("Join the queue") && shown.contains("Have your card ready"), "{shown}");
    for browser in [&alice, &bob] {
        let joined = browser.post_form("/o/hall/queue").await.expect(303);
        assert_eq!(joined.header("location"), "/o/hall/queue");
    }
    turn(&app).await;
    let led = alice.get("/o/hall/queue").await.expect(303);
    assert_eq!(led.header("location"), "/o/hall", "her turn: in, with the pass");
    alice.post("/v1/holds", lines("A-1")).await.expect(201);

    let waiting = bob.get("/o/hall/queue").await.expect(200);
    let shown = text(&waiting);
    assert!(shown.contains("<noscript><meta http-equiv=\"refresh\""), "{shown}");
    assert!(
        shown.contains("<strong data-part=\"ahead\">0</strong>") && shown.contains("queue-status"),
        "{shown}"
    );
    assert_eq!(waiting.header("cache-control"), "no-store");
    let left = bob.post_form("/o/hall/queue/leave").await.expect(303);
    assert_eq!(left.header("location"), "/o/hall/queue?left");
    let told = text(&bob.get("/o/hall/queue?left").await.expect(200));
    assert!(told.contains("You have left the queue."), "{told}");
    app.admin().put(ROOM, json!({"method": "passthrough"})).await.expect(200);
    assert_eq!(bob.get("/o/hall/queue").await.expect(303).header("location"), "/o/hall");
}

#[tokio::test]
async fn whoever_is_not_let_in_again_has_the_hold_that_is_theirs() {
    let app = with_room(fifo(1)).await;
    let alice = app.client();
    join(&alice).await;
    turn(&app).await;
    alice.post(PASS, json!({})).await.expect(200);
    let hold = alice.hold(lines("A-1")).await;
    alice.delete(ME).await.expect(204);
    alice.post("/v1/holds", lines("A-2")).await.expect_problem(429, "queue_required");
    let again = alice.post("/v1/holds", lines("A-1")).await.expect(200).json();
    assert_eq!(again["id"], hold);
    app.client().post("/v1/holds", lines("A-1")).await.expect_problem(429, "queue_required");
}

#[tokio::test]
async fn there_is_no_room_before_an_offer_that_does_not_exist() {
    let app = with_room(fifo(1)).await;
    let browser = app.client();
    let room = |part: &str| format!("/v1/offers/nonexistent/room{part}");
    for path in [room(""), room("/me"), room("/me/stream")] {
        browser.get(&path).await.expect_problem(404, "unknown_offer");
    }
    for path in [room("/pass"), room("/tickets")] {
        browser.post(&path, json!({})).await.expect_problem(404, "unknown_offer");
    }
    browser.delete(&room("/me")).await.expect_problem(404, "unknown_offer");
    // One without a queue has room for everybody.
    app.admin().post("/v1/offers", fest()).await.expect(201);
    browser.get("/v1/offers/fest/room/me").await.expect(200);
    browser.post("/v1/offers/fest/room/pass", json!({})).await.expect(200);
    browser.delete("/v1/offers/fest/room/me").await.expect(204);
}
