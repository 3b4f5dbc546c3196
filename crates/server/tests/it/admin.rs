//! The organiser's pages, as a browser without scripts meets them.

use holdfast_domain::{Actor, Command, Moment};
use holdfast_engine::{
    clock::Clock,
    ledger::{Ledger, Request, Role},
};
use hyper::Method;
use serde_json::json;

use crate::app::{ADMIN_KEY, Answer, Client, TestApp, dr_lee, fest, hall, seat};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn post(client: &Client, path: &str, fields: &str) -> Answer {
    client.send(Method::POST, path, &[FORM], fields.to_owned()).await
}

/// A browser that is signed in.
async fn organiser(app: &TestApp) -> Client {
    let client = app.client();
    post(&client, "/admin/sign-in", &format!("api_key={ADMIN_KEY}&next=/admin")).await.expect(303);
    client
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "a deadline that nothing here reaches")]
fn far() -> std::time::Instant {
    std::time::Instant::now() + std::time::Duration::from_secs(60)
}

#[track_caller]
fn shows(answer: &Answer, words: &[&str]) {
    let text = text(answer);
    for words in words {
        assert!(text.contains(words), "{words:?} is not on the page:\n{text}");
    }
}

/// Where a form led.
#[track_caller]
fn place(answer: Answer) -> String {
    answer.expect(303).header("location").to_owned()
}

#[tokio::test]
async fn a_key_opens_the_pages_and_is_not_in_the_cookie() {
    let app = TestApp::with_hall().await;
    let client = app.client();
    shows(&client.get("/admin").await.expect(200), &["type=\"password\""]);
    let asked = client.get("/admin/offers/hall?section=0").await.expect(401);
    shows(&asked, &["type=\"password\"", "value=\"/admin/offers/hall?section=0\""]);
    assert_eq!(asked.header("cache-control"), "no-store");
    let fields = format!("api_key=+{ADMIN_KEY}&next=%2Fadmin%2Foffers%2Fhall%3Fsection%3D0");
    let welcome = post(&client, "/admin/sign-in", &fields).await.expect(303);
    assert_eq!(welcome.header("location"), "/admin/offers/hall?section=0");
    let cookie = welcome.header("set-cookie").to_owned();
    assert!(!cookie.contains(ADMIN_KEY), "{cookie}");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/admin"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let list = client.get("/admin").await.expect(200);
    shows(&list, &["Night at the Hall", "<b>20</b> free"]);
    let policy = list.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!text(&list).contains("style="));

    let left = post(&client, "/admin/sign-out", "").await.expect(303);
    assert!(left.header("set-cookie").contains("Max-Age=0"));
    client.get("/admin/journal").await.expect(401);
}

#[tokio::test]
async fn only_an_administrators_key_will_do() {
    let app = TestApp::with_hall().await;
    let client = app.client();
    shows(&post(&client, "/admin/sign-in", "api_key=hf_aaaaaaaaaaaa_b").await.expect(401), &["No such key"]);
    shows(&post(&client, "/admin/sign-in", "").await.expect(401), &["No such key"]);
    let (key, stored) = holdfast_server::mint_key(Role::Seller, app.clock.now());
    app.ledger.add_key(stored).await.unwrap();
    shows(&post(&client, "/admin/sign-in", &format!("api_key={key}")).await.expect(401), &["seller"]);
    client.get("/admin/journal").await.expect(401);
    // An API key is for the API: pages act for whoever is signed in.
    app.admin().get("/admin/journal").await.expect(401);
}

#[tokio::test]
async fn a_session_ends_with_its_time_and_with_its_key() {
    let app = TestApp::with_hall().await;
    let (key, mut stored) = holdfast_server::mint_key(Role::Admin, app.clock.now());
    stored.revoked_at = Some(app.clock.now().plus_ms(3 * 3_600_000));
    app.ledger.add_key(stored).await.unwrap();
    let client = app.client();
    post(&client, "/admin/sign-in", &format!("api_key={key}")).await.expect(303);
    for minutes in [50, 50, 50] {
        app.clock.advance_ms(minutes * 60_000);
        client.get("/admin").await.expect(200);
    }
    app.clock.advance_ms(40 * 60_000);
    client.get("/admin/journal").await.expect(401);

    let idle = organiser(&app).await;
    app.clock.advance_ms(61 * 60_000);
    idle.get("/admin/journal").await.expect(401);
}

#[tokio::test]
async fn another_sites_page_can_neither_sign_in_nor_post() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    for (path, fields) in [
        ("/admin/sign-in", format!("api_key={ADMIN_KEY}")),
        ("/admin/sign-out", String::new()),
        ("/admin/offers/hall/units", "unit=A-1&do=block".to_owned()),
        ("/admin/new/stock", "do=create".to_owned()),
    ] {
        for origin in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
            client.send(Method::POST, path, &[FORM, origin], fields.clone()).await.expect(403);
        }
    }
    client
        .send(Method::POST, "/admin/offers/hall/units", &[("content-type", "text/plain")], "do=block")
        .await
        .expect(415);
    let counts = app.admin().get("/v1/offers/hall").await.json()["counts"].clone();
    assert_eq!(counts["blocked"], 0);
    // Whoever is not signed in is told so, whatever they send.
    let stranger = post(&app.client(), "/admin/offers/hall/units", "unit=A-1&do=block").await.expect(401);
    shows(&stranger, &["Your session has ended"]);
}

#[tokio::test]
async fn seats_are_taken_off_sale_and_put_back() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    app.admin().hold(seat("alice", "A-3")).await;
    let page = client.get("/admin/offers/hall").await.expect(200);
    shows(&page, &["value=\"A-3\" aria-label=\"A-3, held\" disabled", "aria-label=\"A-4, free\""]);

    let led = place(
        post(&client, "/admin/offers/hall/units", "do=block&unit=A-1&names=B-1..B-3+B-7&section=0").await,
    );
    shows(
        &client.get(led.split('#').next().unwrap()).await.expect(200),
        &["5 are off sale", "aria-label=\"B-2, off sale\""],
    );
    let led = place(post(&client, "/admin/offers/hall/units", "do=block&row=A").await);
    shows(&client.get(&led).await, &["8 are off sale. One is held or booked and stayed so."]);
    let led = place(post(&client, "/admin/offers/hall/units", "do=unblock&row=A&row=B").await);
    shows(&client.get(&led).await, &["13 are back on sale"]);

    let taken = post(&client, "/admin/offers/hall/units", "do=block&unit=A-3&unit=A-4").await.expect(409);
    shows(&taken, &["In the way: A-3."]);
    shows(&post(&client, "/admin/offers/hall/units", "do=block").await.expect(400), &["Pick at least one"]);
    post(&client, "/admin/offers/hall/units", "do=block&names=Z-1").await.expect(404);
    post(&client, "/admin/offers/hall/units", "do=block&names=B-9..A-1").await.expect(400);
    assert_eq!(app.admin().get("/v1/offers/hall").await.json()["counts"]["blocked"], 0);
    client.get("/admin/offers/nothing").await.expect(404);
}

#[tokio::test]
async fn figures_are_drawn_again_for_organisers_only() {
    let app = TestApp::with_paid_hall().await;
    let client = organiser(&app).await;
    let hold = app.admin().hold(seat("alice", "A-3")).await;
    app.admin().book(&hold, "k-1").await.expect(201);
    let part = client.get("/admin/offers/hall/figures").await.expect(200);
    shows(&part, &["<live-part", "€45.00", "<dd>19</dd>"]);
    shows(&client.get("/admin/figures").await.expect(200), &["<b>1</b> booked"]);
    app.admin().hold(seat("carol", "B-9")).await;
    app.clock.advance_ms(60_000);
    shows(&client.get("/admin/offers/hall/figures").await, &["run out next", "carol", "9:00"]);
    app.client().get("/admin/offers/hall/figures").await.expect(401);
    app.client().get("/admin/figures").await.expect(401);
}

#[tokio::test]
async fn an_offer_is_drawn_up_looked_at_and_put_on_sale() {
    let app = TestApp::embedded().await;
    let client = organiser(&app).await;
    shows(&client.get("/admin/new/seats").await.expect(200), &["<svg class=\"hall", "160 seats"]);
    client.get("/admin/new/bananas").await.expect(404);
    let section = "section_0=Stalls&category_0=A&price_0=45,50&first_row_0=A&rows_0=2&seats_0=10&more_0=2&aisles_0=10+4";
    let common = format!("key=k1&name=Big+Night&id=big&currency=EUR&hold_ttl_s=300&sections=1&{section}");
    let more = post(&client, "/admin/new/seats", &format!("{common}&do=more")).await.expect(200);
    shows(&more, &["Section 2", "name=\"first_row_1\" value=\"C\"", "22 seats", "value=\"Big Night\""]);
    shows(
        &post(&client, "/admin/new/seats/preview", &common).await.expect(200),
        &["data-preview-part", "€45.50"],
    );

    let led = place(post(&client, "/admin/new/seats", &format!("{common}&do=create")).await);
    assert_eq!(led, "/admin/offers/big?done=created");
    let again = place(post(&client, "/admin/new/seats", &format!("{common}&do=create")).await);
    assert_eq!(again, led, "sending twice is sending once");
    let offer = app.admin().get("/v1/offers/big").await.expect(200).json();
    assert_eq!(offer["seats"]["sections"][0]["rows"][1], json!({"name": "B", "seats": 12, "gaps": [4, 10]}));
    assert_eq!((&offer["seats"]["sections"][0]["price"], &offer["hold_ttl_s"]), (&json!(4550), &json!(300)));

    let other = common.replace("key=k1", "key=k2");
    shows(
        &post(&client, "/admin/new/seats", &format!("{other}&do=create")).await.expect(409),
        &["An offer with this id exists"],
    );
    let wrong = other.replace("id=big", "id=bad").replace("price_0=45,50", "price_0=cheap");
    let page = post(&client, "/admin/new/seats", &format!("{wrong}&do=create")).await.expect(400);
    shows(&page, &["must be written like 45.00", "value=\"cheap\"", "value=\"Big Night\""]);
    app.admin().get("/v1/offers/bad").await.expect(404);
}

#[tokio::test]
async fn a_section_without_a_name_is_not_left_out() {
    let app = TestApp::embedded().await;
    let client = organiser(&app).await;
    let plan = "key=k1&name=Hall&id=hall2&currency=EUR&sections=2&section_0=Stalls&category_0=A&price_0=45&first_row_0=A\
                &rows_0=2&seats_0=10&section_1=&category_1=&price_1=45&first_row_1=C&rows_1=2&seats_1=10&do=create";
    let page = post(&client, "/admin/new/seats", plan).await.expect(400);
    shows(&page, &["Section 2: give it a name and a category, or remove it."]);
    app.admin().get("/v1/offers/hall2").await.expect(404);
    let empty = plan.replace("first_row_1=C&rows_1=2&seats_1=10", "first_row_1=&rows_1=&seats_1=");
    place(post(&client, "/admin/new/seats", &empty).await);
}

#[tokio::test]
async fn a_sheet_is_pasted_and_every_fault_names_its_line() {
    let app = TestApp::embedded().await;
    let client = organiser(&app).await;
    let sheet = "section%2Ccategory%2Cprice%2Crow%2Cseats%0D%0AStalls%2CA%2C45%2CA%2C20%0D%0ABox%2CB%2C9%2CB%2C4%0D%0A";
    let common = "key=k1&name=Sheet&id=sheet&currency=EUR";
    shows(
        &post(&client, "/admin/new/csv", &format!("{common}&sheet={sheet}&do=preview")).await.expect(200),
        &["24 seats", "Box", "€45.00", "€9.00"],
    );
    let wrong = sheet.replace("2C20", "2Ctwenty").replace("B%2C4", "B%2Cfour");
    let page =
        post(&client, "/admin/new/csv", &format!("{common}&sheet={wrong}&do=create")).await.expect(400);
    shows(&page, &["<li>Line 2: seats must be a whole number", "<li>Line 3: seats must be a whole number"]);
    assert_eq!(text(&page).matches("Line 2:").count(), 1, "a fault is told once");
    let led = place(post(&client, "/admin/new/csv", &format!("{common}&sheet={sheet}&do=create")).await);
    assert_eq!(led, "/admin/offers/sheet?done=created");
    assert_eq!(app.admin().get("/v1/offers/sheet").await.json()["counts"]["capacity"], 24);
    let stock = "key%3Bcapacity%3Bprice_minor%0AGA%3B500%3B3000%0A";
    let led = place(
        post(
            &client,
            "/admin/new/csv",
            &format!("key=k2&name=Drop&id=drop&currency=EUR&sheet={stock}&do=create"),
        )
        .await,
    );
    shows(&client.get(&led).await.expect(200), &["It is on sale.", "Capacity of GA", "€30.00"]);
}

#[tokio::test]
async fn stock_and_calendars_are_put_on_sale_and_changed() {
    let app = TestApp::embedded().await;
    let client = organiser(&app).await;
    let stock =
        "key=k1&name=Festival&id=fest&currency=EUR&lines=2&key_0=GA&capacity_0=5&price_0=30&key_1=&do=create";
    place(post(&client, "/admin/new/stock", stock).await);
    let led = place(post(&client, "/admin/offers/fest/change", "line=GA&capacity=7").await);
    shows(&client.get(&led).await, &["Changed.", "value=\"7\""]);
    let line = json!({"offer": "fest", "unit": "GA", "qty": 4});
    let seller = app.seller().await;
    seller.hold(json!({"holder": "carol", "lines": [line]})).await;
    let page = post(&client, "/admin/offers/fest/change", "line=GA&capacity=3").await.expect(409);
    shows(&page, &["GA: 4 are held or booked; capacity cannot go below that.", "value=\"3\""]);
    shows(&client.get("/admin/offers/fest").await, &["Take off sale"]);
    place(post(&client, "/admin/offers/fest/units", "do=block&unit=GA").await);
    shows(&client.get("/admin/offers/fest").await, &["Put back on sale"]);

    shows(&client.get("/admin/new/slots").await.expect(200), &["Europe/Berlin", "every 15 minutes"]);
    let slots = "key=k2&name=Dr+Lee&id=dr-lee&currency=EUR&timezone=Europe/Berlin&grid_minutes=15&capacity=1&services=1\
                 &from_mon=09:00&to_mon=17:00&service_0=consult&minutes_0=30&after_0=15&price_0=80&closed=&do=create";
    let led = place(post(&client, "/admin/new/slots", slots).await);
    shows(&client.get(&led).await.expect(200), &["Closed days", "Europe/Berlin"]);
    let terms = "name=Doctor+Lee&hold_ttl_s=120&limit_per_holder=2&opens_at=2026-11-01T00:00&calendar=1&closed=2026-12-25";
    place(post(&client, "/admin/offers/dr-lee/change", terms).await);
    let offer = app.admin().get("/v1/offers/dr-lee").await.json();
    assert_eq!((&offer["name"], &offer["limit_per_holder"]), (&json!("Doctor Lee"), &json!(2)));
    assert_eq!(
        (&offer["slots"]["closed"], &offer["opens_at"]),
        (&json!(["2026-12-25"]), &json!("2026-11-01T00:00:00.000Z"))
    );
    let wrong = post(&client, "/admin/offers/dr-lee/change", "name=X&hold_ttl_s=soon").await.expect(400);
    shows(&wrong, &["hold_ttl_s: must be a whole number"]);
    place(
        post(&client, "/admin/offers/dr-lee/units", "do=block&names=2026-11-16T08:00Z..2026-11-16T08:45Z")
            .await,
    );
}

#[tokio::test]
async fn hours_of_a_calendar_are_taken_off_sale_by_its_own_clocks() {
    let app = TestApp::embedded().await;
    let client = organiser(&app).await;
    let slots = "key=k2&name=Dr+Lee&id=dr-lee&currency=EUR&timezone=Europe/Berlin&grid_minutes=15&capacity=1&services=1\
                 &from_mon=09:00&to_mon=17:00&service_0=consult&minutes_0=30&price_0=80&closed=&do=create";
    place(post(&client, "/admin/new/slots", slots).await);
    let start = "2026-11-16T11:00:00+01:00";
    let line = json!({"offer": "dr-lee", "service": "consult", "start": start});
    app.admin().hold(json!({"holder": "alice", "lines": [line]})).await;
    let units = "/admin/offers/dr-lee/units";
    let done = place(post(&client, units, "do=block&day=2026-11-16&from=10:00&to=12:00").await);
    assert!(done.contains("done=blocked&units=6&left=2"), "{done}");
    shows(&client.get(&done).await, &["6 are off sale.", "2 are held or booked"]);
    let monday = "/v1/offers/dr-lee/availability?from=2026-11-16&to=2026-11-16";
    let counts = app.admin().get(monday).await.json()["counts"].clone();
    assert_eq!(counts, json!({"capacity": 32, "available": 24, "held": 2, "booked": 0, "blocked": 6}));
    let done = place(post(&client, units, "do=unblock&day=2026-11-16&from=&to=").await);
    assert!(done.contains("done=unblocked&units=6"), "{done}");

    for (form, words) in [
        ("day=2026-11-17", "Nothing is open then."),
        ("day=2026-11-16&from=12:00&to=10:00", "The hours must end after they begin."),
        ("day=soon", "The day must be a date"),
    ] {
        shows(&post(&client, units, &format!("do=block&{form}")).await.expect(400), &[words]);
    }
    // Whichever day it is, one of the seven is a Monday.
    shows(&client.get("/admin/offers/dr-lee").await, &["Today and the six days after it", "<dd>32</dd>"]);
    shows(&client.get("/admin").await, &["in times of 15 minutes"]);
}

#[tokio::test]
async fn a_booking_is_found_cancelled_and_paid_back() {
    let app = TestApp::with_paid_hall().await;
    let client = organiser(&app).await;
    let hold = app.admin().hold(seat("alice", "A-3")).await;
    let body = json!({"hold": hold, "payment": {"provider": "stripe", "payment_method": "pm_card_visa"}});
    let id = app.admin().post_keyed("/v1/bookings", "k-1", body).await.expect(201).json()["id"]
        .as_str()
        .unwrap()
        .to_owned();

    for query in ["q=alice", "offer=hall", "payment=succeeded", ""] {
        shows(
            &client.get(&format!("/admin/bookings?{query}")).await.expect(200),
            &[&id, "Night at the Hall: A-3", "Paid"],
        );
    }
    assert_eq!(place(client.get(&format!("/admin/bookings?q={id}")).await), format!("/admin/bookings/{id}"));
    assert_eq!(
        place(client.get(&format!("/admin/bookings?q={hold}")).await),
        format!("/admin/bookings/{id}")
    );
    shows(&client.get("/admin/bookings?q=bob").await.expect(200), &["Nothing found"]);
    shows(&client.get("/admin/bookings?payment=manual").await.expect(200), &["None."]);
    client.get("/admin/bookings?offer=No!").await.expect(400);
    client.get("/admin/bookings?payment=odd").await.expect(400);

    let address = format!("/admin/bookings/{id}");
    shows(
        &client.get(&address).await.expect(200),
        &["Cancel and refund €45.00", "Booked by alice.", "alice has paid."],
    );
    let led = place(post(&client, &format!("{address}/cancel"), "").await);
    shows(&client.get(&led).await, &["Cancelled. Its units are free again"]);
    assert_eq!(app.admin().get("/v1/offers/hall").await.json()["counts"]["available"], 20);
    place(post(&client, &format!("{address}/cancel"), "").await);
    client.get("/admin/bookings/bk_nothing").await.expect(404);
    let nonsense = post(&client, &format!("{address}/payment"), "how=magic").await;
    nonsense.expect(400);
}

#[tokio::test]
async fn a_payment_that_needs_a_person_is_listed_and_settled() {
    let app = TestApp::with_paid_hall().await;
    let client = organiser(&app).await;
    let hold = app.admin().hold(seat("alice", "A-3")).await;
    let body = json!({"hold": hold, "payment": {"provider": "stripe"}});
    let id = app.admin().post_keyed("/v1/bookings", "k-1", body).await.expect(201).json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let why = holdfast_domain::Reason::new("the amount is another");
    let outcome = holdfast_domain::PaymentOutcome::Doubtful { why };
    let booking = id.parse().unwrap();
    let settle = Command::SettlePayment { booking, intent: None, outcome, due_at: Moment::MAX };
    let request =
        Request { command: settle, actor: Actor::System, key: None, wording: None, deadline: far() };
    app.ledger.execute(request).await.unwrap();
    shows(&client.get("/admin/bookings?payment=manual").await.expect(200), &[&id, "Needs a person"]);
    // Whichever page somebody looks at, it says so.
    let waiting = "<span class=\"count\">1<span class=\"visually-hidden\"> waiting for a person";
    for path in ["/admin", "/admin/journal", "/admin/new/seats", "/admin/offers/hall", "/admin/payments"] {
        shows(&client.get(path).await.expect(200), &[waiting]);
    }
    app.client().get("/admin/payments").await.expect(401);
    let address = format!("/admin/bookings/{id}");
    shows(&client.get(&address).await, &["say what became of the money", "the amount is another"]);
    place(post(&client, &format!("{address}/payment"), "how=refunded").await);
    let settled = client.get("/admin/bookings?payment=manual").await.expect(200);
    shows(&settled, &["None."]);
    assert!(!text(&settled).contains("class=\"count\""), "nothing waits");
}

/// The address that a link of that name leads to.
#[track_caller]
fn link(page: &Answer, name: &str) -> String {
    let text = text(page);
    let before = text.split(&format!(">{name}</a>")).next().filter(|before| before.len() < text.len());
    let link = before.and_then(|before| before.rsplit("href=\"").next()).expect("a link of that name");
    link.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&")
}

#[tokio::test]
async fn the_newest_bookings_and_entries_come_first() {
    let mut offer = fest();
    offer["stock"]["lines"][0]["capacity"] = json!(100);
    let app = TestApp::with_offer(offer).await;
    let client = organiser(&app).await;
    for n in 1..=60 {
        let line = json!({"offer": "fest", "unit": "GA", "qty": 1});
        let hold = app.admin().hold(json!({"holder": format!("buyer-{n:02}"), "lines": [line]})).await;
        app.admin().book(&hold, &format!("k-{n}")).await.expect(201);
    }
    let rows = |page: &Answer| text(page).matches("data-head=\"Booking\"").count();
    let newest = client.get("/admin/bookings?offer=fest").await.expect(200);
    shows(&newest, &["buyer-60", "buyer-11"]);
    assert_eq!(rows(&newest), 50);
    let earlier = client.get(&link(&newest, "Earlier")).await.expect(200);
    shows(&earlier, &["buyer-10", "buyer-01"]);
    assert_eq!(rows(&earlier), 10);
    let again = client.get(&link(&earlier, "Newer")).await.expect(200);
    shows(&again, &["buyer-60", "buyer-11"]);
    let api = app.admin().get("/v1/bookings?limit=1").await.json();
    assert_eq!(api["data"][0]["holder"], "buyer-01", "the API keeps its order");

    let journal = client.get("/admin/journal").await.expect(200);
    shows(&journal, &["Booked by buyer-60.", "Booked by buyer-36."]);
    assert!(!text(&journal).contains("Put on sale."));
    let first = client.get(&link(&journal, "Earlier")).await.expect(200);
    shows(&client.get(&link(&first, "Earlier")).await.expect(200), &["Put on sale.", "Newest"]);
}

#[tokio::test]
async fn a_seats_bookings_are_found_with_the_one_that_has_it() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    let mut ids = Vec::new();
    for (n, holder) in ["alice", "bob"].into_iter().enumerate() {
        let hold = app.admin().hold(seat(holder, "A-3")).await;
        let booking = app.admin().book(&hold, &format!("k-{n}")).await.expect(201).json();
        ids.push(booking["id"].as_str().unwrap().to_owned());
        if holder == "alice" {
            app.admin().post(&format!("/v1/bookings/{}/cancel", ids[0]), json!({})).await.expect(200);
        }
    }
    let page = client.get("/admin/bookings?offer=hall&unit=A-3").await.expect(200);
    shows(&page, &["<b>A-3</b> at Night at the Hall is booked.", "has it now", "had it before"]);
    let text = text(&page);
    assert!(text.find(&ids[1]) < text.find(&ids[0]), "the newest first");
    shows(&client.get("/admin/bookings?offer=hall&unit=A-4").await.expect(200), &["Nobody has ever booked"]);
    shows(&client.get("/admin/bookings?unit=A-4").await.expect(400), &["Say which offer"]);
    client.get("/admin/bookings?offer=hall&unit=Z-9").await.expect(404);

    let found = app.admin().get("/v1/bookings?offer=hall&unit=A-3").await.expect(200).json();
    let found: Vec<_> = found["data"].as_array().unwrap().iter().map(|booking| &booking["id"]).collect();
    assert_eq!(found, [&json!(ids[0]), &json!(ids[1])]);
    app.admin().get("/v1/bookings?unit=A-3").await.expect_problem(400, "invalid_request");
}

#[tokio::test]
async fn an_appointment_reads_as_its_buyer_reads_it() {
    let app = TestApp::with_offer(dr_lee()).await;
    let client = organiser(&app).await;
    let line = json!({"offer": "dr-lee", "service": "consult", "start": "2026-11-16T09:00:00+01:00"});
    let hold = app.admin().hold(json!({"holder": "alice", "lines": [line]})).await;
    shows(&client.get("/admin/offers/dr-lee").await, &["Mon 16 Nov 2026, 09:00, Consult, 30 min"]);
    let id = app.admin().book(&hold, "k").await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let whole = "Mon 16 Nov 2026, 09:00, Consult, 30 min · Europe/Berlin, UTC+01:00";
    shows(&client.get("/admin/bookings").await, &[whole]);
    let parts = ["Consult, 30 min · Europe/Berlin", "Mon 16 Nov 2026, 09:00"];
    shows(&client.get(&format!("/admin/bookings/{id}")).await, &parts);
    let story = client.get("/admin/journal?offer=dr-lee&unit=2026-11-16T08:00Z").await.expect(200);
    shows(&story, &["<h1>Mon 16 Nov 2026, 09:00 (Europe/Berlin)"]);
}

#[tokio::test]
async fn a_long_story_is_told_in_parts() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    for n in 1..=60 {
        let hold = app.admin().hold(seat(&format!("buyer-{n:02}"), "A-3")).await;
        app.admin().delete(&format!("/v1/holds/{hold}")).await.expect(204);
        app.clock.advance_ms(10_000);
    }
    let newest = client.get("/admin/journal?offer=hall&unit=A-3&at=2026-11-15T18:00:00").await.expect(200);
    shows(&newest, &["buyer-60", "Held for buyer-11", "is not among the entries shown here"]);
    assert!(!text(&newest).contains("buyer-10"));
    let earlier = client.get(&link(&newest, "Earlier")).await.expect(200);
    shows(&earlier, &["buyer-10", "buyer-01", "a newer entry", "A-3 was free"]);
}

#[tokio::test]
async fn a_stranger_hears_who_may_ask_before_what_there_is() {
    let app = TestApp::with_hall().await;
    for path in [
        "/admin/bookings/nonsense/cancel",
        "/admin/bookings/nonsense/payment",
        "/admin/offers/NO!/units",
        "/admin/offers/NO!/change",
        "/admin/offers/NO!/room",
    ] {
        post(&app.client(), path, "").await.expect(401);
        post(&organiser(&app).await, path, "").await.expect(404);
    }
}

#[tokio::test]
async fn every_line_of_a_stock_has_live_figures() {
    let mut offer = fest();
    offer["stock"]["lines"] =
        json!([{"key": "GA", "capacity": 500, "price": 3000}, {"key": "VIP", "capacity": 20, "price": 9000}]);
    let app = TestApp::with_offer(offer).await;
    let client = organiser(&app).await;
    let line = json!({"offer": "fest", "unit": "VIP", "qty": 3});
    app.admin().hold(json!({"holder": "alice", "lines": [line]})).await;
    let part = client.get("/admin/offers/fest/figures").await.expect(200);
    shows(&part, &["unit=VIP", "<b>3</b> held", "<b>17</b> free", "<b>500</b> free"]);
}

#[tokio::test]
async fn a_seats_story_says_who_had_it_and_what_stood_in_the_way() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    app.clock.advance_ms(60_000);
    app.admin().hold(seat("alice", "A-3")).await;
    app.clock.advance_ms(700_000);
    let hold = app.admin().hold(seat("bob", "A-3")).await;
    app.clock.advance_ms(1_000);
    app.admin().book(&hold, "k-1").await.expect(201);

    let page = client.get("/admin/journal?offer=hall&unit=A-3").await.expect(200);
    shows(
        &page,
        &[
            "Who had it",
            "Held for alice",
            "The time of alice was up",
            "Booked by bob.",
            "Someone else has it",
        ],
    );
    // 18:01 she took it, for ten minutes; it ended then, although it was written down when he came.
    let then = client.get("/admin/journal?offer=hall&unit=A-3&at=2026-11-15T18:05:00").await.expect(200);
    shows(&then, &["A-3 was held by alice", "heard “Someone else has it”"]);
    let then = client.get("/admin/journal?offer=hall&unit=A-3&at=2026-11-15T18:12").await.expect(200);
    shows(&then, &["A-3 was free. Whoever asked first got it."]);
    shows(
        &client.get("/admin/journal?offer=hall&unit=A-3&at=2026-11-15T17:00:00").await,
        &["no such offer yet"],
    );
    shows(
        &client.get("/admin/journal?offer=hall&unit=A-4").await.expect(200),
        &["Nothing has happened to it yet."],
    );
    shows(&client.get("/admin/journal").await.expect(200), &["Put on sale."]);
    client.get("/admin/journal?offer=hall&unit=Z-9").await.expect(404);
    client.get("/admin/journal?unit=A-1").await.expect(400);
    client.get("/admin/journal?offer=hall&unit=A-3&at=noon").await.expect(400);
}

#[tokio::test]
async fn the_room_is_set_paused_resumed_and_opened_with_a_click() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    shows(&client.get("/admin/offers/hall").await.expect(200), &["No room", "Everybody can hold at once."]);
    let fields = "do=plan&method=fifo&max_active=20&session_s=300&admit_per_minute=&opens_at=&message=Soon";
    let led = place(post(&client, "/admin/offers/hall/room", fields).await);
    shows(
        &client.get(led.split('#').next().unwrap()).await,
        &["The room is set.", "Pause the room", "value=\"20\""],
    );
    let state = async || app.admin().get("/v1/offers/hall/room").await.json()["state"].clone();
    assert_eq!(state().await, "open");
    for (button, expected) in
        [("pause", "paused"), ("resume", "open"), ("fail-open", "fail_open"), ("resume", "open")]
    {
        place(post(&client, "/admin/offers/hall/room", &format!("do={button}")).await);
        assert_eq!(state().await, expected);
    }
    shows(&client.get("/admin/offers/hall/room").await.expect(200), &["<live-part", "Open to all"]);
    let wrong = post(&client, "/admin/offers/hall/room", "do=plan&method=lottery").await.expect(400);
    shows(&wrong, &["a lottery needs one that is still to come"]);
    post(&client, "/admin/offers/hall/room", "do=plan&method=fifo&max_active=many").await.expect(400);
    post(&client, "/admin/offers/nothing/room", "do=pause").await.expect(404);
}

#[tokio::test]
async fn a_room_is_opened_with_one_click() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    shows(&client.get("/admin/offers/hall").await.expect(200), &["Open a waiting room"]);
    let led = place(post(&client, "/admin/offers/hall/room", "do=open").await);
    let page = client.get(led.split('#').next().unwrap()).await;
    shows(&page, &["There is a waiting room now", "Pause the room"]);
    assert!(!String::from_utf8_lossy(&page.body).contains("Open a waiting room"), "there is one");
    let room = app.admin().get("/v1/offers/hall/room").await.json();
    assert_eq!((&room["state"], &room["method"]), (&json!("open"), &json!("fifo")));
    assert_eq!((&room["max_active"], &room["session_s"]), (&json!(500), &json!(600)));
    // Once planned, the plan is kept over a time without.
    let plan = json!({"method": "passthrough", "max_active": 7, "session_s": 90});
    app.admin().put("/v1/offers/hall/room", plan).await.expect(200);
    place(post(&client, "/admin/offers/hall/room", "do=open").await);
    let room = app.admin().get("/v1/offers/hall/room").await.json();
    assert_eq!((&room["state"], &room["max_active"]), (&json!("open"), &json!(7)));
}

#[tokio::test]
async fn a_pause_can_be_seen_and_ended_when_nothing_is_left() {
    let app = TestApp::with_hall().await;
    let client = organiser(&app).await;
    place(post(&client, "/admin/offers/hall/room", "do=open").await);
    place(post(&client, "/admin/offers/hall/room", "do=pause").await);
    let units: Vec<_> = (1..=10).flat_map(|n| [format!("A-{n}"), format!("B-{n}")]).collect();
    app.admin().post("/v1/offers/hall/block", json!({"units": units})).await.expect(200);
    let hall = holdfast_domain::OfferId::new("hall").unwrap();
    app.rooms.turn(&hall).await.unwrap();
    let room = async || app.admin().get("/v1/offers/hall/room").await.json()["state"].clone();
    assert_eq!(room().await, "sold_out");
    let part = client.get("/admin/offers/hall/room").await.expect(200);
    shows(&part, &["Nothing left", "Paused", "paused as well", "Resume"]);
    place(post(&client, "/admin/offers/hall/room", "do=resume").await);
    let part = client.get("/admin/offers/hall/room").await.expect(200);
    assert!(!String::from_utf8_lossy(&part.body).contains("paused as well"));
    app.admin().post("/v1/offers/hall/unblock", json!({"units": units})).await.expect(200);
    app.rooms.turn(&hall).await.unwrap();
    assert_eq!(room().await, "open", "nobody is kept out by a pause that nobody saw");
}

#[tokio::test]
async fn what_people_typed_is_text_and_nothing_else() {
    let app = TestApp::embedded().await;
    let mut offer = hall();
    offer["name"] = json!("<script>alert(1)</script>");
    app.admin().post("/v1/offers", offer).await.expect(201);
    app.admin().post("/v1/offers", fest()).await.expect(201);
    let client = organiser(&app).await;
    let hold = app.admin().hold(seat("<b>\"mallory\"", "A-1")).await;
    let id = app.admin().book(&hold, "k").await.expect(201).json()["id"].as_str().unwrap().to_owned();
    for path in [
        "/admin",
        "/admin/offers/hall",
        "/admin/bookings",
        &format!("/admin/bookings/{id}"),
        "/admin/journal?offer=hall&unit=A-1",
    ] {
        let page = text(&client.get(path).await.expect(200));
        assert!(!page.contains("<script>alert") && !page.contains("<b>\"mallory"), "{path}");
    }
}
