//! The shop's pages without any script: what a browser with scripts turned off reads and submits.

use std::time::Duration;

use holdfast_engine::admission::Rate;
use holdfast_server::{Checkout, RateLimits};
use hyper::Method;
use serde_json::json;

use crate::{
    app::{Answer, Client, Setup, TestApp, dr_lee, fest, hall, seat},
    payments::{deliver, until_state},
};

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// The first value of a hidden field of that name after `from`.
#[track_caller]
fn hidden(page: &str, from: &str, name: &str) -> String {
    let form = page.split(from).nth(1).unwrap_or_else(|| panic!("no {from} in {page}"));
    let mark = format!("name=\"{name}\" value=\"");
    form.split(&mark)
        .nth(1)
        .unwrap_or_else(|| panic!("no {name} after {from}"))
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

fn place(answer: &Answer) -> String {
    answer.header("location").to_owned()
}

/// Holds seats of the hall through the form, and returns where that led.
async fn hold(browser: &Client, units: &[&str]) -> String {
    let page = text(&browser.get("/o/hall").await.expect(200));
    let key = hidden(&page, "seat-form", "key");
    let mut fields = vec![("key", key.as_str())];
    fields.extend(units.iter().map(|unit| ("unit", *unit)));
    place(&browser.submit("/o/hall/hold", &fields).await.expect(303))
}

#[tokio::test]
async fn what_others_add_to_an_address_is_left_alone() {
    let app = TestApp::with_hall().await;
    for path in ["/?utm_source=mail&fbclid=x", "/?after=&limit=1&gclid=x"] {
        assert!(text(&app.client().get(path).await.expect(200)).contains("Night at the Hall"), "{path}");
    }
    app.client().get("/v1/offers?utm_source=mail").await.expect_problem(400, "invalid_request");
}

#[tokio::test]
async fn a_whole_purchase_without_a_script() {
    let app = TestApp::with_paid_hall().await;
    let browser = app.client();
    let shop = browser.get("/").await.expect(200);
    assert!(shop.header("set-cookie").contains("holdfast_session="), "the first page gives a session");
    assert!(text(&shop).contains("href=\"/o/hall\"") && text(&shop).contains("€45.00"), "{}", text(&shop));

    let hold = hold(&browser, &["A-4", "A-5"]).await;
    let page = text(&browser.get(&hold).await.expect(200));
    assert!(page.contains("Row A, seat 4") && page.contains("€90.00") && page.contains("10:00"), "{page}");
    assert!(text(&browser.get("/").await).contains("You are holding"), "a second tab finds it again");

    let book = format!("{hold}/book");
    let fields = [("key", hidden(&page, &book, "key")), ("payment_method", "pm_card_visa".into())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let booking = place(&browser.submit(&book, &fields).await.expect(303));
    assert_eq!(
        place(&browser.submit(&book, &fields).await.expect(303)),
        booking,
        "submitting twice books once"
    );
    assert_eq!(app.bank().money().captured, 9_000);

    let ticket = text(&browser.get(&booking).await.expect(200));
    assert!(
        ticket.contains("You're booked") && ticket.contains("class=\"qr\"") && ticket.contains("Paid"),
        "{ticket}"
    );
    assert_eq!(place(&browser.get(&hold).await.expect(303)), booking, "the hold's page leads to the booking");

    let cancel = format!("{booking}/cancel");
    let key = hidden(&ticket, &cancel, "key");
    assert_eq!(place(&browser.submit(&cancel, &[("key", &key)]).await.expect(303)), booking);
    assert!(text(&browser.get(&booking).await).contains("Cancelled"));
}

/// Books a seat of the hall where nothing is charged, and returns where that led.
async fn book(browser: &Client, unit: &str) -> String {
    let hold = hold(browser, &[unit]).await;
    let book = format!("{hold}/book");
    let key = hidden(&text(&browser.get(&hold).await), &book, "key");
    place(&browser.submit(&book, &[("key", &key)]).await.expect(303))
}

#[tokio::test]
async fn a_session_lasts_as_long_as_browsers_allow_and_its_own_pages_begin_it_anew() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    let four_hundred_days = format!("Max-Age={}", 400 * 24 * 3600);
    let lasts = |answer: &Answer| {
        let cookies = answer.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
        let sessions: Vec<_> = cookies.filter(|cookie| cookie.starts_with("holdfast_session=")).collect();
        assert!(sessions.len() < 2, "{sessions:?}");
        sessions.first().is_some_and(|cookie| cookie.contains(&four_hundred_days))
    };
    assert!(lasts(&browser.get("/").await));
    assert!(!lasts(&browser.get("/").await), "what everybody loads says it once");
    let hold = hold(&browser, &["A-1"]).await;
    assert!(lasts(&browser.get(&hold).await));
    let booking = book(&browser, "A-2").await;
    for own in [booking.as_str(), "/bookings"] {
        assert!(lasts(&browser.get(own).await.expect(200)), "{own}");
    }
}

#[tokio::test]
async fn a_booking_is_found_again_by_whoever_closed_its_page() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    assert!(text(&browser.get("/bookings").await.expect(200)).contains("There are none yet"));
    let (first, second) = (book(&browser, "A-1").await, book(&browser, "B-2").await);
    let page = text(&browser.get("/bookings").await.expect(200));
    let at = |booking: &str| page.find(&format!("href=\"{booking}\"")).unwrap_or_else(|| panic!("{page}"));
    assert!(at(&second) < at(&first), "the latest first");
    assert!(page.contains("Row B, seat 2, Stalls") && page.contains("€45.00"), "{page}");
    assert!(text(&browser.get("/").await).contains("href=\"/bookings\""), "every page leads there");
    let stranger = app.client();
    stranger.get("/").await;
    assert!(text(&stranger.get("/bookings").await.expect(200)).contains("There are none yet"));
}

#[tokio::test]
async fn what_is_claimed_on_the_map_is_in_the_basket() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    browser.get("/").await;
    let lines = |unit: &str| json!({"lines": [{"offer": "hall", "unit": unit}]});
    browser.post_keyed("/v1/holds", "k1", lines("A-1")).await.expect(201);
    let unheard = browser.only_cookie("holdfast_session");
    browser.post("/v1/holds", lines("A-2")).await.expect(201);
    let shop = text(&browser.get("/").await);
    assert!(shop.contains("Row A, seat 1") && shop.contains("Row A, seat 2"), "{shop}");
    assert!(unheard.post_keyed("/v1/holds", "k1", lines("A-1")).await.expect(201).is_replayed());
    assert!(text(&unheard.get("/").await).contains("Row A, seat 1"), "an answer that was lost on the way");
    let sold = app.admin().post("/v1/holds", seat("alice", "B-1")).await.expect(201);
    assert!(sold.headers.get("set-cookie").is_none(), "a key is no browser");
}

/// Begins a payment of a seat that waits for the buyer's card.
async fn begin_payment(browser: &Client, unit: &str) -> (String, serde_json::Value) {
    let hold = hold(browser, &[unit]).await;
    let id = hold.strip_prefix("/holds/").unwrap();
    let body = json!({"hold": id, "payment": {"provider": "stripe"}});
    let booking = browser.post_keyed("/v1/bookings", unit, body).await.expect(201).json();
    (hold, booking)
}

#[tokio::test]
async fn whoever_paid_too_late_is_not_told_that_nothing_was_charged() {
    let setup = Setup { paid: Some(Checkout::TestCards), pin_s: Some(2), ..Setup::default() };
    let app = TestApp::with(setup).await;
    let mut brief = hall();
    brief["hold_ttl_s"] = json!(2);
    app.admin().post("/v1/offers", brief).await.expect(201);
    let browser = app.client();
    let (hold, booking) = begin_payment(&browser, "A-1").await;
    app.clock.advance_ms(5_000);
    app.admin().post("/v1/holds", seat("bob", "A-1")).await.expect(201);
    assert!(app.bank().pay(booking["payment"]["intent"].as_str().unwrap(), "pm_card_visa"));
    for delivery in app.bank().take_webhooks() {
        deliver(&app, delivery).await;
    }
    until_state(&app, &booking, "failed").await;
    let id = booking["id"].as_str().unwrap();
    let page = text(&browser.get(&format!("/bookings/{id}")).await.expect(200));
    assert!(page.contains("came in after your time was up") && page.contains("back to you"), "{page}");
    assert!(!page.contains("hall/A-1"), "in words for people");
    for path in [hold.clone(), format!("{hold}?declined={id}")] {
        let page = text(&browser.get(&path).await.expect(200));
        assert!(page.contains("Time is up") && !page.contains("charged"), "{page}");
    }
}

#[tokio::test]
async fn a_payment_that_waits_for_a_card_leads_back_to_the_form() {
    let checkout = Checkout::StripeElement { publishable_key: "pk_test_1".into() };
    let app = TestApp::with(Setup { paid: Some(checkout), ..Setup::default() }).await;
    app.admin().post("/v1/offers", hall()).await.expect(201);
    let browser = app.client();
    let (hold, booking) = begin_payment(&browser, "A-1").await;
    let path = format!("/bookings/{}", booking["id"].as_str().unwrap());
    for failed in ["", "?redirect_status=failed"] {
        let page = text(&browser.get(&format!("{path}{failed}")).await.expect(200));
        assert!(page.contains("Not paid yet") && page.contains(&format!("href=\"{hold}\"")), "{page}");
    }
    let paid = text(&browser.get(&format!("{path}?redirect_status=succeeded")).await.expect(200));
    assert!(paid.contains("One moment") && !paid.contains("Not paid yet"), "{paid}");
}

#[tokio::test]
async fn leaving_shortens_a_hold_and_opening_a_page_gives_back_its_time() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    let hold = hold(&browser, &["A-4"]).await;
    let left = async || {
        let read = browser.get(&format!("/v1{hold}")).await.expect(200).json();
        read["expires_in_ms"].as_i64().unwrap()
    };
    let (leave, come_back) = (format!("{hold}/leave"), format!("{hold}/return"));
    for path in [&leave, &come_back] {
        app.client().post_form(path).await.expect(404);
        app.admin().post_form(path).await.expect(404);
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    browser.send(Method::POST, &leave, &[form, ("sec-fetch-site", "cross-site")], "").await.expect(403);
    assert_eq!(left().await, 600_000, "nobody else can leave it");
    browser.post_form(&leave).await.expect(204);
    assert_eq!(left().await, 60_000);
    app.clock.advance_ms(59_000);
    assert!(text(&browser.get(&hold).await.expect(200)).contains("9:01"), "what was left of ten minutes");
    browser.post_form(&leave).await.expect(204);
    assert_eq!(left().await, 60_000);
    browser.post_form(&come_back).await.expect(204);
    assert_eq!(left().await, 541_000);
    browser.post_form(&leave).await.expect(204);
    assert!(text(&browser.get("/").await.expect(200)).contains("9:01"), "the shop's front page will do");
    browser.post_form(&leave).await.expect(204);
    app.clock.advance_ms(60_000);
    assert!(text(&browser.get(&hold).await.expect(200)).contains("Time is up"));
    browser.post_form(&leave).await.expect(409);
    browser.post_form(&come_back).await.expect(204);
    assert!(text(&browser.get(&hold).await.expect(200)).contains("Time is up"), "too late");
}

#[tokio::test]
async fn leaving_changes_nothing_where_it_is_turned_off_or_paid_elsewhere() {
    let off = Setup { leave_keep: Some(Duration::ZERO), ..Setup::default() };
    let paid_elsewhere = Setup { paid: Some(Checkout::Elsewhere), ..Setup::default() };
    for setup in [off, paid_elsewhere] {
        let app = TestApp::with(setup).await;
        app.admin().post("/v1/offers", hall()).await.expect(201);
        let browser = app.client();
        let hold = hold(&browser, &["A-4"]).await;
        browser.post_form(&format!("{hold}/leave")).await.expect(204);
        let read = browser.get(&format!("/v1{hold}")).await.expect(200).json();
        assert_eq!(read["expires_in_ms"], 600_000);
        let page = text(&browser.get(&hold).await.expect(200));
        assert!(page.contains("10:00") && !page.contains("If you close this page"), "{page}");
    }
}

#[tokio::test]
async fn a_declined_card_leaves_the_hold_for_another() {
    let app = TestApp::with_paid_hall().await;
    let browser = app.client();
    let hold = hold(&browser, &["A-1"]).await;
    let book = format!("{hold}/book");
    let pay = async |page: &str, card: &str| {
        let key = hidden(page, &book, "key");
        place(&browser.submit(&book, &[("key", &key), ("payment_method", card)]).await.expect(303))
    };
    let page = text(&browser.get(&hold).await);
    let declined = pay(&page, "pm_card_chargeDeclinedInsufficientFunds").await;
    assert!(declined.starts_with(&format!("{hold}?declined=bk_")), "{declined}");
    let page = text(&browser.get(&declined).await.expect(200));
    assert!(page.contains("The card was not charged") && page.contains("Row A, seat 1"), "{page}");
    let booking = pay(&page, "pm_card_visa").await;
    assert!(text(&browser.get(&booking).await.expect(200)).contains("You're booked"));
}

#[tokio::test]
async fn who_comes_second_is_shown_what_to_have_instead() {
    let app = TestApp::with_hall().await;
    let (first, second) = (app.client(), app.client());
    hold(&first, &["A-5"]).await;
    let page = text(&second.get("/o/hall").await.expect(200));
    assert!(page.contains("value=\"A-5\" disabled"), "{page}");
    let key = hidden(&page, "seat-form", "key");
    let refused = second.submit("/o/hall/hold", &[("key", &key), ("unit", "A-5")]).await.expect(409);
    assert!(refused.header("content-type").starts_with("text/html"));
    let page = text(&refused);
    assert!(page.contains("Just taken") && page.contains("Row A, seat 5"), "{page}");
    let (key, unit) = (hidden(&page, "alternatives", "key"), hidden(&page, "alternatives", "unit"));
    let led = second.submit("/o/hall/hold", &[("key", &key), ("unit", &unit)]).await.expect(303);
    assert!(text(&second.get(&place(&led)).await.expect(200)).contains("Yours, for now"));
}

#[tokio::test]
async fn the_best_seats_asked_for_twice_are_held_once() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    let page = text(&browser.get("/o/hall").await);
    let key = hidden(&page, "best-form", "key");
    let fields = [("key", key.as_str()), ("best", "2"), ("category", "A")];
    let led = place(&browser.submit("/o/hall/hold", &fields).await.expect(303));
    assert_eq!(place(&browser.submit("/o/hall/hold", &fields).await.expect(303)), led);
    let other = place(&browser.submit("/o/hall/hold", &[("key", &key), ("best", "3")]).await.expect(303));
    assert_ne!(other, led, "the same page may be used again for another choice");
    let counts = app.client().get("/v1/offers/hall").await.json()["counts"].clone();
    assert_eq!(counts["held"], 5);
    assert_eq!(
        place(&browser.submit("/o/hall/hold", &[("key", &key)]).await.expect(303)),
        "/o/hall?nothing=chosen"
    );
}

#[tokio::test]
async fn a_hold_is_extended_given_back_and_taken_again() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    let hold = hold(&browser, &["B-2"]).await;
    let page = text(&browser.get(&hold).await);
    let extend = format!("{hold}/extend");
    app.clock.advance_ms(300_000);
    let key = hidden(&page, &extend, "key");
    for _twice in 0..2 {
        assert_eq!(place(&browser.submit(&extend, &[("key", &key)]).await.expect(303)), hold);
    }
    let page = text(&browser.get(&hold).await);
    assert!(page.contains("data-left-ms=\"600000\"") && page.contains("2 more times"), "{page}");
    let release = format!("{hold}/release");
    browser.submit(&release, &[("key", &hidden(&page, &release, "key"))]).await.expect(303);
    let page = text(&browser.get(&hold).await.expect(200));
    assert!(page.contains("Given back"), "{page}");
    let (key, unit) = (hidden(&page, "/o/hall/hold", "key"), hidden(&page, "/o/hall/hold", "unit"));
    let again = place(&browser.submit("/o/hall/hold", &[("key", &key), ("unit", &unit)]).await.expect(303));
    assert_ne!(again, hold);
    app.clock.advance_ms(600_000);
    assert!(text(&browser.get(&again).await.expect(200)).contains("Time is up"));
}

#[tokio::test]
async fn stock_and_slots_are_held_through_their_forms() {
    let app = TestApp::with_offer(fest()).await;
    app.admin().post("/v1/offers", dr_lee()).await.expect(201);
    let browser = app.client();
    let page = text(&browser.get("/o/fest").await.expect(200));
    let key = hidden(&page, "card stock-line", "key");
    let led =
        browser.submit("/o/fest/hold", &[("key", &key), ("unit", "GA"), ("qty", "2")]).await.expect(303);
    assert!(text(&browser.get(&place(&led)).await).contains("× 2"));

    let week = "/o/dr-lee?service=consult&from=2026-11-16&tz=America/New_York";
    let page = text(&browser.get(week).await.expect(200));
    let named = "Monday 16 Nov, </span><span>09:00</span> <small class=\"theirs\">03:00</small>";
    assert!(page.contains(named), "{page}");
    let key = hidden(&page, "action=\"/o/dr-lee/hold\"", "key");
    let start = "2026-11-16T09:00:00+01:00";
    let fields = [("key", key.as_str()), ("service", "consult"), ("start", start)];
    let led = browser.submit("/o/dr-lee/hold", &fields).await.expect(303);
    let held = text(&browser.get(&place(&led)).await);
    assert!(held.contains("<strong>Mon 16 Nov 2026, 09:00</strong>"), "{held}");
    assert!(held.contains("Consult, 30 min · Europe/Berlin, UTC+01:00"), "{held}");
    let key = hidden(&held, "/book\"", "key");
    let led = browser.submit(&format!("{}/book", place(&led)), &[("key", &key)]).await.expect(303);
    let file = format!("{}/calendar.ics", place(&led));
    let calendar = browser.get(&file).await.expect(200);
    assert!(calendar.header("content-type").starts_with("text/calendar"));
    let calendar = text(&calendar);
    assert!(calendar.contains("DTSTART:20261116T080000Z\r\nDTEND:20261116T083000Z\r\n"), "{calendar}");
    app.client().get(&file).await.expect(404);
    assert!(!text(&browser.get(week).await).contains(start), "what is taken is not shown");
    let refused = app.client().submit("/o/dr-lee/hold", &fields).await.expect(409);
    assert!(text(&refused).contains("Have these instead") && text(&refused).contains("name=\"start\""));
}

#[tokio::test]
async fn a_night_on_which_clocks_go_back_shows_both_of_its_times() {
    let mut night = dr_lee();
    night["slots"]["hours"] = json!([{"days": ["sun"], "from": "01:00", "to": "05:00"}]);
    let app = TestApp::with_offer(night).await;
    let page = text(&app.client().get("/o/dr-lee?from=2027-10-31").await.expect(200));
    for which in ["first, UTC+02:00", "second, UTC+01:00"] {
        let named = format!("<span>02:30</span> <small class=\"repeat\">{which}</small>");
        assert!(page.contains(&named), "{page}");
    }
    let browser = app.client();
    let key = hidden(&page, "action=\"/o/dr-lee/hold\"", "key");
    let at = ["2027-10-31T02:30:00+02:00", "2027-10-31T02:30:00+01:00"];
    let ask = |start| [("key", key.as_str()), ("service", "consult"), ("start", start)];
    let led = place(&browser.submit("/o/dr-lee/hold", &ask(at[0])).await.expect(303));
    let held = text(&browser.get(&led).await);
    assert!(held.contains("<strong>Sun 31 Oct 2027, 02:30 UTC+02:00</strong>"), "{held}");
    let page = text(&browser.get("/o/dr-lee?from=2027-10-31").await);
    assert!(
        page.contains("second, UTC+01:00") && !page.contains(at[0]),
        "also when the first is taken: {page}"
    );
    let refused = text(&app.client().submit("/o/dr-lee/hold", &ask(at[0])).await.expect(409));
    assert!(refused.contains("02:30 UTC+02:00") && refused.contains("02:30 UTC+01:00"), "{refused}");
}

#[tokio::test]
async fn pages_are_each_visitors_own() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    let hold = hold(&browser, &["A-1"]).await;
    let stranger = app.client().with("accept", "text/html");
    let page = stranger.get(&hold).await.expect(404);
    assert!(page.header("content-type").starts_with("text/html"));
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    assert!(text(&page).contains(page.header("x-request-id")));
    stranger.submit(&format!("{hold}/release"), &[("key", "k")]).await.expect(404);
    browser.submit("/o/hall/hold", &[("unit", "A-2")]).await.expect(400);
    let foreign = app.client().with("sec-fetch-site", "cross-site");
    foreign.submit("/o/hall/hold", &[("key", "k"), ("unit", "A-2")]).await.expect(403);
    app.client().post("/o/hall/hold", hall()).await.expect(415);
    app.client().with("accept", "text/html").get("/nowhere").await.expect(404);
    app.client().with("accept", "text/html").get("/v1/nowhere").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn without_a_provider_a_hold_is_confirmed_for_nothing() {
    let app = TestApp::with_hall().await;
    let browser = app.client();
    let hold = hold(&browser, &["A-1"]).await;
    let book = format!("{hold}/book");
    let page = text(&browser.get(&hold).await);
    assert!(page.contains("Confirm the booking") && !page.contains("payment_method"), "{page}");
    let led = browser.submit(&book, &[("key", &hidden(&page, &book, "key"))]).await.expect(303);
    assert!(place(&led).starts_with("/bookings/bk_"));
}

#[tokio::test]
async fn a_seat_that_is_off_sale_went_to_nobody_quicker() {
    let app = TestApp::with_hall().await;
    app.admin().post("/v1/offers/hall/block", json!({"units": ["A-5"]})).await.expect(200);
    let browser = app.client();
    let key = hidden(&text(&browser.get("/o/hall").await), "seat-form", "key");
    let page = text(&browser.submit("/o/hall/hold", &[("key", &key), ("unit", "A-5")]).await.expect(409));
    assert!(page.contains("does not sell Row A, seat 5") && !page.contains("quicker"), "{page}");
}

#[tokio::test]
async fn a_fault_speaks_to_people_says_how_long_to_wait_and_leads_back() {
    let once = Rate { burst: 1, window: Duration::from_secs(60) };
    let rates = RateLimits { per_holder: Some(once), ..RateLimits::default() };
    let app = TestApp::with(Setup { rates, ..Setup::default() }).await;
    app.admin().post("/v1/offers", hall()).await.expect(201);
    let browser = app.client();
    hold(&browser, &["A-1"]).await;
    let page = text(&browser.submit("/o/hall/hold", &[("key", "k"), ("unit", "A-2")]).await.expect(429));
    assert!(page.contains("Try again in 60 seconds.") && page.contains("href=\"/o/hall\">Back"), "{page}");
    let missing = text(&browser.with("accept", "text/html").get("/o/nowhere").await.expect(404));
    for words in ["Retry-After", "GET /v1", "POST "] {
        assert!(!page.contains(words) && !missing.contains(words), "{words}");
    }
}
