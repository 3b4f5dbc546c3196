use crate::support::{KEY, Server, done, file, folder, holdfast, run, text};

const PLAN: &str =
    "section,category,price_minor,row,seats\nStalls,A,4500,A,20\nStalls,A,4500,B,18\nBox,B,9000,X,4\n";

#[test]
fn a_plan_is_previewed_imported_and_exported_again() {
    let folder = folder();
    let server = Server::on(&folder.path().join("data"));
    let plan = file(&folder, "plan.csv", PLAN);
    let place = ["--url", &server.url, "--key", KEY];
    let import = ["import", &plan, "--offer", "opera", "--name", "At the opera"];
    let preview = run(&[&import[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(
        preview.contains("Stalls") && preview.contains("45.00 EUR") && preview.contains("42 seats"),
        "{preview}"
    );
    assert_eq!(server.get("/v1/offers/opera").status, 404, "a dry run puts nothing on sale");

    run(&[&import[..], &place].concat()).expect(0);
    let offer = server.get("/v1/offers/opera").json();
    assert_eq!(
        (offer["name"].as_str(), offer["counts"]["capacity"].as_u64()),
        (Some("At the opera"), Some(42))
    );
    let sheet = run(&[&["export", "offers", "--offer", "opera", "--format", "csv"], &place[..]].concat())
        .expect(0)
        .out;
    assert_eq!(sheet, PLAN);
    let twice = run(&[&import[..], &place].concat()).expect(4);
    assert!(twice.err.contains("offer_exists") && twice.err.contains("--offer"), "{}", twice.err);
}

#[test]
fn a_drawn_plan_comes_back_as_it_was() {
    let folder = folder();
    let data = folder.path().join("data");
    let drawn = "section,category,price_minor,row,seats,gaps,x,y,angle,curve\n\
        Stalls,A,4500,A,20,5 15,0,0,,40\nStalls,A,4500,B,20,,0,0,,40\nLeft,B,2950,L,4,,-12,3,20,\n";
    let as_people_write = drawn.replace("price_minor", "price").replace("4500", "45").replace("2950", "29.5");
    let plan = file(&folder, "plan.csv", &as_people_write);
    run(&["import", &plan, "--offer", "opera", "--data", text(&data)]).expect(0);
    let export = ["export", "offers", "--offer", "opera", "--format", "csv", "--data", text(&data)];
    assert_eq!(run(&export).expect(0).out, drawn);
}

#[test]
fn every_fault_is_reported_with_its_line() {
    let folder = folder();
    let text = "section,category,price,row,seats\nStalls,A,45,A,0\nStalls,A,cheap,B,20\nStalls,A,45,C\n";
    let plan = file(&folder, "plan.csv", text);
    let wrong = run(&["import", &plan, "--offer", "opera", "--dry-run"]).expect(2).err;
    for part in [
        "plan.csv:2: seats must be 1 to 10000",
        "plan.csv:3: price must be written like 45 or 45.00, not \"cheap\"",
        "plan.csv:4: has 4 fields",
    ] {
        assert!(wrong.contains(part), "{wrong}");
    }
    let plan = file(&folder, "plan.json", "{\n  \"id\": \"a\",\n  \"nane\": \"A\"\n}");
    let wrong = run(&["import", &plan, "--dry-run"]).expect(2).err;
    assert!(wrong.contains("plan.json:3:") && wrong.contains("nane"), "{wrong}");
    let wrong = run(&["import", &plan, "--offer", "opera", "--format", "csv"]).expect(2).err;
    assert!(wrong.contains("plan.json:1: there is no column \"{\""), "{wrong}");
}

#[test]
fn offers_travel_from_folder_to_folder_without_a_server() {
    let folder = folder();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    let plan = file(&folder, "stock.csv", "key,capacity,price\nGA,500,30\n");
    run(&["import", &plan, "--offer", "fest", "--data", text(&one)]).expect(0);
    let exported = folder.path().join("offers.json");
    run(&["export", "offers", "--data", text(&one), "--output", text(&exported)]).expect(0);
    run(&["import", text(&exported), "--data", text(&other), "--json"]).expect(0);
    let journal = run(&["export", "journal", "--data", text(&other)]).expect(0).json();
    assert_eq!(journal[0]["kind"], "offer_created");
    run(&["export", "offers", "--data", text(&folder.path().join("nowhere"))]).expect(3);
}

#[test]
fn a_flag_that_names_a_folder_beats_a_variable_that_names_a_server() {
    let folder = folder();
    let mut command = holdfast(&["export", "offers", "--data", text(folder.path())]);
    done(command.env("HOLDFAST_URL", "http://127.0.0.1:1").output().unwrap()).expect(0);
    let mut command = holdfast(&["export", "offers"]);
    let lost = done(command.env("HOLDFAST_URL", "http://127.0.0.1:1").output().unwrap()).expect(3);
    assert!(lost.err.contains("http://127.0.0.1:1"), "{}", lost.err);
    run(&["export", "offers", "--data", text(folder.path()), "--url", "http://127.0.0.1:1"]).expect(2);
}

#[cfg(unix)]
#[test]
fn only_their_owner_may_read_the_books() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let _server = Server::on(folder.path()).with_hall();
    for name in
        ["holdfast.db", "holdfast.db-wal", "holdfast.db-shm", "rooms.db", "rooms.db-wal", "rooms.db-shm"]
    {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_folder_that_is_served_is_not_touched_from_beside() {
    let folder = folder();
    let server = Server::on(folder.path());
    let refused = run(&["export", "offers", "--data", text(folder.path())]).expect(3);
    assert!(
        refused.err.contains(&server.pid().to_string()) && refused.err.contains("--url"),
        "{}",
        refused.err
    );
}
