use std::time::Duration;

use holdfast_engine::ledger::postgres::{
    Connecting,
    inspect::{Whose, transactions},
};
use holdfast_rigs::{Postgres, Redis};
use serde_json::Value;

use crate::support::{Server, database, folder, run, text};

/// How it stands with a check, and what was found.
fn finding(report: &Value, check: &str) -> (String, String) {
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no {check}: {report:#}"));
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    (text("health"), text("found"))
}

#[test]
fn a_healthy_postgresql_and_redis_are_well() {
    let (ledger, redis) = (database("doctor"), Redis::start().unwrap());
    let doctor = || {
        let servers = ["--ledger", &ledger, "--gate", &redis.url()];
        run(&[&["doctor", "--json", "--listen", "127.0.0.1:0"], &servers[..]].concat()).expect(0).json()
    };
    assert_eq!(finding(&doctor(), "schema").1, "none yet");
    run(&["migrate", "--ledger", &ledger]).expect(0);
    let report = doctor();
    for check in [
        "PostgreSQL",
        "version",
        "encryption",
        "takes writes",
        "fsync",
        "full_page_writes",
        "synchronous_commit",
        "isolation",
        "connections",
        "clocks",
        "schema",
        "Redis",
        "Redis encryption",
        "Redis role",
        "Redis memory",
        "Redis persistence",
        "Redis clock",
    ] {
        assert_eq!(finding(&report, check).0, "well", "{check}: {report:#}");
    }
    for measured in ["round trip", "commit", "Redis round trip", "long transactions"] {
        finding(&report, measured);
    }
}

#[test]
fn settings_that_lose_sales_are_ill_and_said_how_to_change() {
    let settings = [
        ("fsync", "off"),
        ("full_page_writes", "off"),
        ("synchronous_commit", "off"),
        ("default_transaction_isolation", "serializable"),
        ("max_connections", "20"),
    ];
    let postgres = settings.iter().fold(Postgres::options(), |all, (name, value)| all.setting(name, value));
    let postgres = postgres.start().unwrap();
    let redis = Redis::options().setting("maxmemory-policy", "allkeys-lru").start().unwrap();
    let servers = ["--ledger", &postgres.url(), "--gate", &redis.url()];
    let report =
        run(&[&["doctor", "--json", "--listen", "127.0.0.1:0"], &servers[..]].concat()).expect(1).json();
    for (check, health) in [
        ("fsync", "ill"),
        ("full_page_writes", "ill"),
        ("synchronous_commit", "ill"),
        ("isolation", "doubtful"),
        ("connections", "ill"),
        ("Redis memory", "doubtful"),
    ] {
        assert_eq!(finding(&report, check).0, health, "{check}: {report:#}");
    }
}

/// It belongs to nobody who could be asked to end it, and holds back what may be tidied away like any that is open.
#[test]
fn a_prepared_transaction_is_seen() {
    let postgres = Postgres::options().setting("max_prepared_transactions", "2").start().unwrap();
    postgres.ask("postgres", "BEGIN; CREATE TABLE left_open (); PREPARE TRANSACTION 'left'").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = |age| runtime.block_on(transactions(&Connecting::to(postgres.url()), age)).unwrap();
    let left = Whose::Prepared { name: "left".into(), database: "postgres".into() };
    assert!(open(Duration::ZERO).iter().any(|open| open.whose == left));
    assert!(open(Duration::from_secs(3600)).is_empty(), "not for an hour yet");
    postgres.ask("postgres", "ROLLBACK PREPARED 'left'").unwrap();
    assert!(open(Duration::ZERO).iter().all(|open| open.whose != left));
}

#[test]
fn servers_that_do_not_answer_are_said_without_their_passwords() {
    let servers = ["--ledger", "postgres://u:secret@127.0.0.1:1/db", "--gate", "redis://:secret@127.0.0.1:1"];
    let report = run(&[&["doctor", "--listen", "127.0.0.1:0"], &servers[..]].concat()).expect(1).out;
    assert!(report.contains("postgres://u:********@127.0.0.1:1/db"), "{report}");
    assert!(report.contains("does not answer") && !report.contains("secret"), "{report}");
}

#[test]
fn a_healthy_folder_is_well_and_its_owner_named() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let report =
        run(&["doctor", "--json", "--listen", "127.0.0.1:0", "--data", text(folder.path())]).expect(0).json();
    let found = |check: &str| {
        let findings = report["findings"].as_array().unwrap();
        let finding =
            findings.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check}"));
        finding["found"].as_str().unwrap().to_owned()
    };
    assert_eq!(found("in use by"), format!("process {}", server.pid()));
    assert_eq!(found("books"), "1 journal entry");
    for check in [
        "writable",
        "free space",
        "filesystem",
        "fsync latency",
        "SQLite",
        "clock",
        "open files",
        "write-ahead log",
    ] {
        found(check);
    }
}

#[test]
fn warnings_are_counted_and_a_stripe_that_is_not_there_is_one() {
    let folder = folder();
    let here = ["doctor", "--listen", "127.0.0.1:0", "--data", text(folder.path())];
    let stripe = ["--stripe-url", "http://127.0.0.1:1", "--stripe-secret-key", "sk_test_1"];
    let report = run(&[&here[..], &stripe].concat()).expect(0).out;
    assert!(report.contains("nobody answers at http://127.0.0.1:1"), "{report}");
    let last = report.trim_end().lines().last().unwrap();
    assert!(last.starts_with("  nothing is broken, ") && last.ends_with("warnings"), "{report}");
}

#[test]
fn a_file_in_the_folders_place_is_ill() {
    let folder = folder();
    let path = crate::support::file(&folder, "data", "");
    let report = run(&["doctor", "--listen", "127.0.0.1:0", "--data", &path]).expect(1);
    assert!(report.out.contains("is a file") && report.out.contains("→"), "{}", report.out);
}
