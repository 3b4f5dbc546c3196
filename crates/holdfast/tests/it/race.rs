use crate::support::{KEY, Server, folder, holdfast, run};

#[test]
fn exactly_one_of_two_hundred_wins() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let race = ["race", "--url", &server.url, "--key", KEY, "--buyers", "200", "--json"];
    let result = run(&race).expect(0).json();
    assert_eq!((result["won"].as_u64(), result["refused"].as_u64()), (Some(1), Some(199)));
    assert_eq!((result["unknown"].as_u64(), result["errors"].as_u64()), (Some(0), Some(0)));
    assert_eq!((result["double_bookings"].as_u64(), result["ok"].as_bool()), (Some(0), Some(true)));
    assert_eq!(result["unit"], "A-20", "without --unit the last free seat is raced for");
    let seat = server.get("/v1/offers/hall/availability").json()["units"][19]["state"].clone();
    assert_eq!(seat, "held");
}

#[test]
fn nobody_wins_a_seat_that_is_taken() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    server.hold("alice", "A-1");
    let race =
        ["race", "--url", &server.url, "--key", KEY, "--offer", "hall", "--unit", "A-1", "--buyers", "20"];
    let result = run(&race).expect(1);
    assert!(result.out.contains("nobody won") && result.out.contains("was held before"), "{}", result.out);
    let lab = server.get("/lab").body;
    assert!(lab.contains("taken before the race") && !lab.contains("sold wrongly"), "{lab}");
}

#[test]
fn a_race_is_for_one_piece() {
    let folder = folder();
    let server = Server::on(folder.path());
    let mugs = serde_json::json!({"id": "mugs", "name": "Mugs", "kind": "stock", "currency": "EUR", "stock":
        {"lines": [{"key": "mug", "capacity": 100, "price": 900}, {"key": "signed", "capacity": 1, "price": 9000}]}});
    assert_eq!(server.post("/v1/offers", &[], &mugs).status, 201);
    let race = |unit: &str| {
        let race =
            ["race", "--url", &server.url, "--key", KEY, "--offer", "mugs", "--buyers", "20", "--unit"];
        run(&[&race[..], &[unit]].concat())
    };
    let refused = race("mug").expect(2);
    assert!(refused.err.contains("mug has 100 pieces; a race needs a unit of capacity 1"), "{}", refused.err);
    assert_eq!(server.get("/v1/offers/mugs/availability").json()["units"][0]["remaining"], 100);
    assert!(race("signed").expect(0).out.contains("checked from the journal of this unit, 1 entry"));
}

#[test]
fn a_slot_is_raced_by_its_start() {
    let folder = folder();
    let server = Server::on(folder.path());
    // Two services and a place far from Greenwich, where the day of a unit is often another one.
    let calendar = serde_json::json!({"id": "dr-lee", "name": "Dr Lee", "kind": "slots", "currency": "EUR", "slots": {
        "timezone": "Pacific/Auckland", "grid_minutes": 15, "capacity": 1,
        "hours": [{"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "09:00", "to": "17:00"}],
        "services": [{"key": "check", "minutes": 15, "price": 4000},
            {"key": "consult", "minutes": 30, "buffer_after_minutes": 15, "price": 8000}]}});
    assert_eq!(server.post("/v1/offers", &[], &calendar).status, 201);
    let path = "/v1/offers/dr-lee/availability?from=2027-03-01&to=2027-03-01";
    let starts = server.get(path).json()["starts"].clone();
    let race = |more: &[&str]| {
        let race =
            ["race", "--url", &server.url, "--key", KEY, "--offer", "dr-lee", "--buyers", "20", "--json"];
        run(&[&race, more].concat())
    };
    let unit = starts[0]["unit"].as_str().unwrap();
    assert!(unit.starts_with("2027-02-28"), "{unit}");
    let result = race(&["--unit", unit]).expect(0).json();
    assert_eq!((result["won"].as_u64(), result["refused"].as_u64()), (Some(1), Some(19)), "{result}");
    assert_eq!((&result["double_bookings"], &result["unit"]), (&0.into(), &unit.into()));
    assert_eq!(server.get(path).json()["starts"][0]["state"], "held");
    assert_eq!(race(&[]).expect(0).json()["won"], 1, "without --unit a free start is chosen");
    assert!(race(&["--unit", "2027-03-01T08:00Z"]).expect(2).err.contains("no unit"));
    assert!(race(&["--unit", "noon"]).expect(2).err.contains("no unit"));
}

#[test]
fn a_race_leaves_its_picture_in_a_file_and_in_the_lab() {
    let folder = folder();
    let serve = |lab| {
        let flags = ["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--lab", lab, "--data"];
        Server::start(holdfast(&flags).arg(folder.path()))
    };
    let server = serve("false").with_hall();
    assert_eq!(server.get("/lab").status, 404);
    let file = folder.path().join("race.html");
    let race = |more: &[&str]| {
        let race = ["race", "--url", &server.url, "--key", KEY, "--buyers", "20", "--json"];
        run(&[&race, more].concat()).expect(0).json()
    };
    let result = race(&["--html", crate::support::text(&file)]);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.contains("racer-20") && page.matches("\"refused\"").count() == 19, "{page}");
    assert!(result["picture"].is_null(), "this server has no lab");
    drop(server);

    let server = Server::on(folder.path());
    let result =
        run(&["race", "--url", &server.url, "--key", KEY, "--buyers", "20", "--json"]).expect(0).json();
    let link = result["picture"].as_str().unwrap();
    let picture = server.get(link.strip_prefix(&server.url).unwrap()).body;
    assert!(picture.contains("racer-20") && picture.contains("href=\"/lab\""), "{picture}");
    assert!(server.get("/lab").body.contains("20 buyers"));
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let race = |arguments: &[&str]| run(&[&["race", "--url", &server.url, "--key", KEY], arguments].concat());
    assert!(race(&["--offer", "opera"]).expect(2).err.contains("choose one of hall"));
    assert!(race(&["--offer", "hall", "--unit", "Z-1"]).expect(2).err.contains("no unit"));
    let nobody = run(&["race", "--url", "http://127.0.0.1:1"]).expect(3);
    assert!(nobody.err.contains("holdfast demo"), "{}", nobody.err);
    assert!(run(&["race", "--url", "https://a"]).expect(2).err.contains("https"));
}

#[test]
fn without_a_key_that_may_read_the_journal_nothing_is_claimed_about_it() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let data = crate::support::text(folder.path());
    let seller = run(&["keys", "create", "--role", "seller", "--data", data]).expect(0).out;
    let race = ["race", "--url", &server.url, "--key", seller.trim(), "--buyers", "5", "--json"];
    assert!(run(&race).expect(0).json()["double_bookings"].is_null());
}
