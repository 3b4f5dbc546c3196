//! Payments in the file: the tables for people, open keys, and books from before there were payments.

use std::path::Path;

use holdfast_domain::{
    Command, Currency, IntentId, Money, PayTerms, PaymentMethod, PaymentOutcome, PaymentState, Reason,
    RefundOutcome,
};
use rusqlite::Connection;

use super::bench::{Bench, booking_id, confirm, hold_id, key, place, seat};
use crate::ledger::{
    BookingFilter, BookingView, JournalFilter, Ledger, PageRequest, Reply,
    codec::{Writer, decode_parts},
    embedded::{Limits, Storage, verify},
};

fn pay(booking: u128, hold: u128) -> Command {
    let terms = PayTerms { pin_s: 120, grace_s: 60, look_s: 10 };
    let method = Some(PaymentMethod::new("pm_card_visa").unwrap());
    Command::BeginPayment { booking: booking_id(booking), hold: hold_id(hold), method, terms }
}

fn report(booking: u128, outcome: PaymentOutcome) -> Command {
    let (booking, intent) = (booking_id(booking), Some(IntentId::new(&format!("pi_{booking}")).unwrap()));
    Command::SettlePayment { booking, intent, outcome, due_at: super::bench::T0.plus_s(3600) }
}

fn paid() -> PaymentOutcome {
    PaymentOutcome::Succeeded { amount: Money::new(4500).unwrap(), currency: Currency::new("EUR").unwrap() }
}

fn declined() -> PaymentOutcome {
    PaymentOutcome::Declined { reason: Reason::new("insufficient_funds") }
}

fn refund(booking: u128, outcome: RefundOutcome) -> Command {
    Command::NoteRefund { booking: booking_id(booking), outcome, due_at: super::bench::T0.plus_s(3600) }
}

/// Every way that a payment can go, some of them to the end.
async fn all_ways(bench: &Bench) {
    for n in 1..=9 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
        bench.try_send(pay(n, n), Some(key(&format!("k{n}"), 1))).await.unwrap();
    }
    bench.try_send(report(1, paid()), Some(key("k1", 1))).await.unwrap();
    bench.try_send(report(2, declined()), Some(key("k2", 1))).await.unwrap();
    bench.done(report(3, PaymentOutcome::Processing)).await;
    bench.done(report(4, PaymentOutcome::Doubtful { why: Reason::new("odd") })).await;
    bench.done(Command::Cancel { booking: booking_id(5) }).await;
    bench.done(report(6, paid())).await;
    bench.done(Command::Cancel { booking: booking_id(6) }).await;
    bench.done(refund(6, RefundOutcome::Pending)).await;
    bench.done(refund(6, RefundOutcome::Succeeded)).await;
    bench.clock.advance_ms(720_000);
    // Of the holds that ran out, one is taken again for its booking and one is gone.
    bench.done(report(7, paid())).await;
    bench.done(place(20, "bob", vec![seat(8)])).await;
    bench.done(report(8, paid())).await;
}

async fn every_booking(bench: &Bench) -> Vec<BookingView> {
    let page = PageRequest { after: None, limit: 100 };
    bench.ledger.bookings(BookingFilter::default(), page).await.unwrap().data
}

#[tokio::test]
async fn the_tables_show_every_payment_and_a_restart_forgets_none() {
    let dir = tempfile::tempdir().unwrap();
    let books = || Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default());
    let bench = books().open_for_sale().await;
    all_ways(&bench).await;
    let before = every_booking(&bench).await;
    let states: Vec<_> =
        before.iter().map(|view| (view.booking.state.as_str(), view.booking.payment_state())).collect();
    assert_eq!(
        states,
        [
            ("confirmed", "succeeded"),
            ("failed", "failed"),
            ("pending", "processing"),
            ("pending", "manual"),
            ("cancelled", "requires_payment"),
            ("cancelled", "refunded"),
            ("confirmed", "succeeded"),
            ("failed", "refunding"),
            ("pending", "requires_payment"),
        ]
    );
    bench.ledger.shutdown().await;
    drop(bench);
    let report = verify(dir.path()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let bench = books();
    bench.clock.advance_ms(720_000);
    let after = every_booking(&bench).await;
    assert!(before.iter().zip(&after).all(|(before, after)| before.booking == after.booking));
    let filter = JournalFilter { booking: Some(booking_id(6)), ..JournalFilter::default() };
    let entries = bench.ledger.journal(filter, PageRequest { after: None, limit: 100 }).await.unwrap().data;
    let kinds: Vec<_> = entries.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "payment_begun",
            "payment_intent_noted",
            "payment_captured",
            "booking_confirmed",
            "booking_cancelled",
            "refund_begun",
            "payment_deferred",
            "payment_refunded"
        ]
    );
    let manual = BookingFilter { payment: Some(PaymentState::Manual), ..BookingFilter::default() };
    let found = bench.ledger.bookings(manual, PageRequest { after: None, limit: 100 }).await.unwrap().data;
    assert_eq!(found.iter().map(|view| view.booking.id).collect::<Vec<_>>(), [booking_id(4)]);
    assert_eq!(bench.ledger.payments_parked().await.unwrap(), 1);
    for (name, expected) in [("k1", "replayed"), ("k2", "replayed"), ("k3", "open"), ("k9", "open")] {
        let said = match bench.try_send(pay(100, 1), Some(key(name, 1))).await.unwrap() {
            Reply::Replayed(_) => "replayed",
            Reply::Open { .. } => "open",
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(said, expected, "{name}");
    }
}

#[tokio::test]
async fn a_changed_payment_is_noticed() {
    for sql in [
        "UPDATE payments SET captured = captured + 1 WHERE state = 'succeeded'",
        "UPDATE payments SET why = 'other' WHERE state = 'failed'",
        "DELETE FROM payments WHERE state = 'manual'",
        "UPDATE bookings SET failed_ms = failed_ms + 1 WHERE state = 'failed'",
        "UPDATE holds SET pinned_ms = pinned_ms + 1 WHERE state = 'paying'",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
        all_ways(&bench).await;
        bench.done(place(30, "carol", vec![seat(15)])).await;
        bench.done(pay(30, 30)).await;
        bench.ledger.shutdown().await;
        drop(bench);
        let changed = file(dir.path()).execute(sql, []).unwrap();
        assert!(changed > 0, "{sql}");
        let report = verify(dir.path()).unwrap();
        assert!(report.broken.iter().any(|broken| broken.what == "tables"), "{sql}: {report:?}");
    }
}

fn file(dir: &Path) -> Connection {
    Connection::open(dir.join("holdfast.db")).unwrap()
}

#[tokio::test]
async fn books_from_before_there_were_payments_are_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let books = || Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default());
    let bench = books().open_for_sale().await;
    for n in 1..=3 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
    }
    bench.done(confirm(1, 1)).await;
    bench.done(confirm(2, 2)).await;
    bench.done(Command::Cancel { booking: booking_id(2) }).await;
    bench.ledger.shutdown().await;
    drop(bench);
    file(dir.path()).execute_batch(include_str!("format_3.sql")).unwrap();
    file(dir.path()).execute_batch(include_str!("format_1.sql")).unwrap();
    let bench = books();
    bench.done(pay(3, 3)).await;
    bench.done(report(3, paid())).await;
    bench.ledger.shutdown().await;
    let report = verify(dir.path()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.holds, report.bookings), (3, 3));
}

/// One hold that was booked and cancelled, as version 1 wrote it.
#[test]
fn a_checkpoint_from_before_there_were_payments_is_read() {
    let mut bytes = Vec::new();
    let mut to = Writer(&mut bytes);
    to.byte(1);
    to.uint(7u64);
    to.uint(0u64);
    let line = |to: &mut Writer<'_>| {
        to.uint(1u64);
        to.text("hall");
        (0..3).for_each(|n| to.uint(n as u64));
        to.flag(false);
    };
    // A hold.
    to.uint(1u64);
    to.bits128(5);
    to.text("alice");
    to.byte(1);
    to.bits128(6);
    line(&mut to);
    to.uint(4500u64);
    to.currency(Currency::new("EUR").unwrap());
    to.int(1000);
    to.byte(2);
    to.uint(0u64);
    to.uint(7u64);
    // Its booking.
    to.uint(1u64);
    to.bits128(6);
    to.bits128(5);
    to.text("alice");
    to.flag(true);
    to.int(2000);
    line(&mut to);
    to.uint(4500u64);
    to.currency(Currency::new("EUR").unwrap());
    to.int(1500);
    to.uint(7u64);
    let parts = decode_parts(&bytes).unwrap();
    assert_eq!((parts.holds[0].payments, parts.holds[0].extensions), (0, 2));
    assert_eq!((parts.bookings[0].state.as_str(), &parts.bookings[0].payment), ("cancelled", &None));
}
