//! One node on books in PostgreSQL: what it keeps, how it starts and how it bears losing the database.

use std::{
    io::{BufRead, BufReader},
    process::{ChildStderr, Command, Stdio},
};

use holdfast_rigs::{Postgres, Program};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{KEY, Server, ask, database, holdfast, postgres, run};

#[test]
fn what_was_sold_is_there_after_a_restart() {
    let ledger = database("restart");
    let server = Server::on_ledger(&ledger).with_hall();
    let held = server.hold("alice", "A-1").json();
    let body = json!({"hold": held["id"], "payment": {"provider": "none"}});
    let booked = server.post("/v1/bookings", &[("idempotency-key", "once")], &body);
    assert_eq!(booked.status, 201, "{}", booked.body);
    assert_eq!(server.stop(Signal::TERM), (0, String::new()));

    let server = Server::on_ledger(&ledger);
    let again = server.post("/v1/bookings", &[("idempotency-key", "once")], &body);
    assert_eq!((again.status, &again.body), (201, &booked.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(server.hold("bob", "A-1").json()["conflicts"][0]["state"], "booked");
    assert_eq!(server.get("/v1/bookings?offer=hall").json()["data"].as_array().unwrap().len(), 1);
    // Beside the running node.
    let clean = run(&["verify", "--ledger", &ledger, "--json"]).expect(0).json();
    assert_eq!((clean["ok"].as_bool(), clean["entries"].as_u64()), (Some(true), Some(3)), "{clean}");
}

/// The backup that the documentation tells of, word for word.
#[test]
fn a_dump_has_the_books_and_what_is_restored_verifies() {
    const DUMP: &str = "pg_dump --format=custom --file=holdfast.dump postgres://…/holdfast";
    const RESTORE: &str =
        "pg_restore --exit-on-error --no-owner --dbname=postgres://…/restored holdfast.dump";
    let documented = include_str!("../../../../docs/operations.md");
    let (from, to, folder) = (database("dumped"), database("restored"), crate::support::folder());
    let follow = |program: Program, line: &str| {
        assert!(documented.contains(line), "{line}");
        let line = line.replace("postgres://…/holdfast", &from).replace("postgres://…/restored", &to);
        let mut command = Command::new(program.find().unwrap());
        let done = command.args(line.split(' ').skip(1)).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let server = Server::on_ledger(&from).with_hall();
    let held = server.hold("alice", "A-1").json();
    let body = json!({"hold": held["id"], "payment": {"provider": "none"}});
    assert_eq!(server.post("/v1/bookings", &[("idempotency-key", "once")], &body).status, 201);
    follow(Program::PgDump, DUMP);
    follow(Program::PgRestore, RESTORE);

    let clean = run(&["verify", "--ledger", &to, "--json"]).expect(0).json();
    assert_eq!((clean["ok"].as_bool(), clean["entries"].as_u64()), (Some(true), Some(3)), "{clean}");
    let migrated = run(&["migrate", "--ledger", &to]).expect(0).out;
    assert!(migrated.contains("up to date"), "{migrated}");
    let restored = Server::on_ledger(&to);
    assert_eq!(restored.hold("bob", "A-1").json()["conflicts"][0]["state"], "booked");
    assert_eq!(restored.hold("bob", "A-2").status, 201);
}

#[test]
fn verify_names_what_somebody_changed_by_hand() {
    let (postgres, ledger) = (postgres(), database("changed"));
    let server = Server::on_ledger(&ledger).with_hall();
    (1..=5).for_each(|seat| assert_eq!(server.hold("alice", &format!("A-{seat}")).status, 201));
    postgres.ask("changed", "UPDATE holdfast.journal SET entry = '\\x00' WHERE link = 2").unwrap();
    let broken = run(&["verify", "--ledger", &ledger, "--json"]).expect(1).json();
    assert!(broken["ok"] == false && !broken["broken"].as_array().unwrap().is_empty(), "{broken}");
}

#[test]
fn a_killed_node_loses_nothing_acknowledged() {
    let ledger = database("killed");
    let server = Server::on_ledger(&ledger).with_hall();
    let held = server.hold("alice", "A-1").json();
    drop(server);
    let server = Server::on_ledger(&ledger);
    let found = server.get(&format!("/v1/holds/{}", held["id"].as_str().unwrap()));
    assert_eq!((found.status, found.json()["state"].as_str()), (200, Some("active")));
}

#[test]
fn migrate_brings_the_schema_up_to_date_once() {
    let ledger = database("migrate");
    let migrate = ["migrate", "--ledger", &ledger, "--json"];
    let many = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| run(&migrate).expect(0).json())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
    });
    let applied: Vec<_> = many.iter().filter(|run| !run["applied"].as_array().unwrap().is_empty()).collect();
    assert_eq!(applied.len(), 1, "the others waited and found nothing to do: {many:?}");
    assert!(run(&migrate[..3]).expect(0).out.contains("up to date"));
    let folder = run(&["migrate", "--data", "d"]).expect(2);
    assert!(folder.err.contains("--ledger postgres://"), "{}", folder.err);
}

#[test]
fn keys_are_kept_in_the_ledger() {
    let ledger = database("keys");
    let create = ["keys", "create", "--role", "admin", "--ledger", &ledger, "--json"];
    let made = run(&create).expect(0).json();
    let server = Server::on_ledger(&ledger);
    let bearer = format!("Bearer {}", made["key"].as_str().unwrap());
    let journal =
        |server: &Server| ask(&server.url, "GET", "/v1/journal", &[("authorization", &bearer)], "").status;
    assert_eq!(journal(&server), 200);
    let listed = run(&["keys", "list", "--ledger", &ledger, "--json"]).expect(0).json();
    assert_eq!(listed["data"][0]["prefix"], made["prefix"]);
    run(&["keys", "revoke", made["prefix"].as_str().unwrap(), "--ledger", &ledger]).expect(0);
    assert_eq!(journal(&Server::on_ledger(&ledger)), 401, "a node that never knew it");
}

#[test]
fn offers_are_exported_from_one_ledger_and_imported_into_another() {
    let (from, to) = (database("export_from"), database("export_to"));
    let server = Server::on_ledger(&from).with_hall();
    let exported = run(&["export", "offers", "--ledger", &from]).expect(0).out;
    let file = crate::support::folder();
    let path = crate::support::file(&file, "offers.json", &exported);
    run(&["import", &path, "--ledger", &to]).expect(0);
    let moved = Server::on_ledger(&to);
    let units = |server: &Server| server.get("/v1/offers/hall/availability").json()["units"].clone();
    assert_eq!(units(&moved), units(&server));
}

#[test]
fn a_node_waits_for_a_database_that_is_not_there_yet() {
    let mut postgres = Postgres::start().unwrap();
    postgres.stop().unwrap();
    let mut serve = holdfast(&["serve", "--listen", "127.0.0.1:0", "--ledger", &postgres.url()]);
    let mut child =
        serve.env("HOLDFAST_ADMIN_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = Log::of(child.stderr.take().unwrap());
    log.wait_for("PostgreSQL is not there yet");
    postgres.start_again().unwrap();
    log.wait_for("PostgreSQL is there");
    let ready = log.wait_for("ready");
    for part in ["ledger=postgres://", "strategy=batched", "gate"] {
        assert!(ready.contains(part), "{ready}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_wrong_database_is_not_waited_for() {
    let ledger = database("right").replace("/right", "/wrong");
    let refused = run(&["serve", "--listen", "127.0.0.1:0", "--ledger", &ledger]).expect(3);
    assert!(refused.err.contains("\"wrong\" does not exist"), "{}", refused.err);
    assert!(refused.err.contains("next: correct user, password and database"), "{}", refused.err);
}

#[test]
fn a_lost_database_is_said_and_its_return_is_used() {
    let mut postgres = Postgres::start().unwrap();
    let mut serve =
        holdfast(&["serve", "--listen", "127.0.0.1:0", "--log", "info", "--ledger", &postgres.url()]);
    let (server, errors) = Server::start_with_log(&mut serve);
    let mut log = Log::of(errors);
    let server = server.with_hall();
    let held = server.hold("alice", "A-1").json();

    postgres.kill().unwrap();
    log.wait_for("PostgreSQL is out of reach");
    let ready = server.get("/readyz");
    assert_eq!((ready.status, ready.json()["ready"].as_bool()), (503, Some(false)), "{}", ready.body);
    assert_eq!(server.get("/livez").status, 200);
    let refused = server.hold("bob", "A-2");
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.header("retry-after").is_some());

    postgres.start_again().unwrap();
    log.wait_for("PostgreSQL is back");
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(server.hold("bob", "A-2").status, 201);
    let found = server.get(&format!("/v1/holds/{}", held["id"].as_str().unwrap()));
    assert_eq!((found.status, found.json()["state"].as_str()), (200, Some("active")));
}

/// What a server says on standard error. Everything is read, so that it never waits to be heard.
struct Log(BufReader<ChildStderr>);

impl Log {
    fn of(errors: ChildStderr) -> Self {
        Self(BufReader::new(errors))
    }

    /// Waits for the line that says so.
    #[track_caller]
    fn wait_for(&mut self, words: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).expect("it writes UTF-8");
            assert!(read > 0, "it ended without saying {words:?}: {all}");
            if line.contains(words) {
                return line;
            }
            all += &line;
        }
    }
}
