//! `verify` on PostgreSQL: clean books are clean, and every way of tampering is named.

use holdfast_conformance::{live::Live, story::Story, story_start};
use holdfast_engine::{
    ledger::{
        embedded::verify::Report,
        postgres::{Connecting, verify},
    },
    strategy::Claiming,
};
use holdfast_rigs::Postgres;

/// Seats, stock and slots; holds that were extended, released, taken over, booked and cancelled.
const SALE: &str = "
offer hall seats A:4 limit=3
offer fest stock GA:5
hold h1 alice hall/A-1 hall/A-2
hold h2 bob fest/GA*2
extend h1
confirm h1
release h2
hold h3 carol hall/A-3
tick 601s
hold h4 dave hall/A-3
cancel h1
hold h5 eve hall/A-1
hold h6 frank hall/A-2
pay h5
pay h6
said h5 succeeded
said h6 processing
";

fn books() -> (Postgres, String) {
    let server = Postgres::options().setting("fsync", "off").start().expect("a private PostgreSQL");
    let url = server.create_database("books").expect("a database");
    let mut ledger = Live::postgres(url.clone(), Claiming::Batched, story_start());
    Story::parse("sale.story", SALE).expect("a story").run(&mut ledger).expect("the sale");
    (server, url)
}

fn verified(url: &str) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(verify(&Connecting::to(url))).expect("a report")
}

#[test]
fn clean_books_are_clean_and_tampering_is_named() {
    let (server, url) = books();
    let report = verified(&url);
    assert!(report.is_clean(), "{:?}", report.broken);
    assert!(report.entries >= 10 && report.holds == 6 && report.bookings == 3, "{report:?}");

    let tamperings = [
        ("I11", "UPDATE holdfast.journal SET entry = entry || '\\x00' WHERE seq = 4"),
        ("I11", "UPDATE holdfast.journal SET hash = sha256('other') WHERE seq = 5"),
        ("I11", "DELETE FROM holdfast.journal WHERE seq = 6"),
        ("I11", "UPDATE holdfast.holds SET holder = 'mallory' WHERE holder = 'dave'"),
        ("I3", "UPDATE holdfast.units SET held = 1 WHERE offer_id = 'fest'"),
        ("I1", "DELETE FROM holdfast.claims WHERE offer_id = 'hall'"),
        ("I4", "DELETE FROM holdfast.bookings WHERE state = 'cancelled'"),
        ("I4", "UPDATE holdfast.payments SET captured = captured + 1 WHERE state = 'succeeded'"),
        ("I4", "UPDATE holdfast.payments SET due_at = due_at + interval '1 hour' WHERE state = 'processing'"),
        ("I4", "DELETE FROM holdfast.payments WHERE state = 'succeeded'"),
        (
            "I11",
            "UPDATE holdfast.holds SET pinned_until = pinned_until + interval '1 hour' WHERE state = 'paying'",
        ),
    ];
    for (at, (what, sql)) in tamperings.into_iter().enumerate() {
        let copy = format!("tampered{at}");
        server.ask("postgres", &format!("CREATE DATABASE {copy} TEMPLATE books")).expect("a copy");
        server.ask(&copy, sql).expect("the tampering");
        let report = verified(&server.url_for(&copy));
        assert!(report.broken.iter().any(|broken| broken.what == what), "{sql}: {:?}", report.broken);
    }
}
