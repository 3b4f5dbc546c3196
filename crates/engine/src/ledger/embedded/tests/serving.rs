//! A sale as the port shows it: commands, reads, lists, changes.

use holdfast_domain::{Command, UnitState, Version};

use super::bench::{Bench, booking_id, confirm, hold_id, key, offer_id, place, seat};
use crate::ledger::{
    BookingFilter, JournalFilter, Ledger, Order, Outcome, PageRequest, Reply, Role, StoredKey,
    embedded::{EmbeddedLedger, Limits, Settings, Storage, StoreError, keys},
};

const ALL: PageRequest = PageRequest { after: None, limit: 100 };

#[tokio::test]
async fn a_seat_is_sold_once() {
    let bench = Bench::memory().open_for_sale().await;
    assert!(matches!(bench.done(place(1, "alice", vec![seat(1)])).await, Outcome::Held { again: false, .. }));
    assert!(matches!(bench.done(place(2, "alice", vec![seat(1)])).await, Outcome::Held { again: true, .. }));
    assert_eq!(bench.refused(place(3, "bob", vec![seat(1)])).await, "unit_taken");
    assert!(matches!(bench.done(confirm(1, 1)).await, Outcome::Confirmed(_)));
    assert_eq!(bench.refused(confirm(2, 1)).await, "already_booked");
    assert!(matches!(bench.done(Command::Cancel { booking: booking_id(1) }).await, Outcome::Cancelled(_)));
    assert!(matches!(bench.done(place(4, "bob", vec![seat(1)])).await, Outcome::Held { .. }));
}

#[tokio::test]
async fn reads_show_what_is_committed() {
    let bench = Bench::memory().open_for_sale().await;
    bench.done(place(1, "alice", vec![seat(1), seat(2)])).await;
    bench.done(confirm(1, 1)).await;
    let ledger = &bench.ledger;
    let offers = ledger.offers(None, 1).await.unwrap();
    assert_eq!((offers.data.len(), offers.next.as_deref()), (1, Some("hall")));
    let rest = ledger.offers(Some(offer_id("hall")), 10).await.unwrap();
    assert_eq!((rest.data[0].offer.id().as_str(), rest.next), ("fest", None));
    assert_eq!(ledger.offer(&offer_id("hall")).await.unwrap().unwrap().counts.booked, 2);
    assert!(ledger.offer(&offer_id("none")).await.unwrap().is_none());
    let snapshot = ledger.snapshot(&offer_id("hall"), None).await.unwrap().unwrap();
    assert_eq!((snapshot.version, snapshot.counts.available), (Version(4), 18));
    assert_eq!(ledger.hold(hold_id(1)).await.unwrap().unwrap().hold.status(snapshot.as_of), "booked");
    assert_eq!(ledger.booking(booking_id(1)).await.unwrap().unwrap().booking.lines.len(), 2);
    assert!(ledger.booking(booking_id(2)).await.unwrap().is_none());
}

#[tokio::test]
async fn the_journal_speaks_in_names() {
    let bench = Bench::memory().open_for_sale().await;
    bench.done(place(1, "alice", vec![seat(1), seat(2)])).await;
    bench.done(confirm(1, 1)).await;
    bench.done(Command::Cancel { booking: booking_id(1) }).await;
    let page = bench.ledger.journal(JournalFilter::default(), ALL).await.unwrap();
    let told: Vec<_> = page
        .data
        .iter()
        .map(|record| (record.seq, &record.kind[..], record.before.as_deref(), record.after.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            (1, "offer_created", None, Some("on_sale")),
            (2, "offer_created", None, Some("on_sale")),
            (3, "hold_placed", Some("available"), Some("held")),
            (4, "booking_confirmed", Some("held"), Some("booked")),
            (5, "booking_cancelled", Some("booked"), Some("available")),
        ]
    );
    assert_eq!(page.data[2].units, ["A-1", "A-2"]);
    assert_eq!(page.data[2].offer.as_deref(), Some("hall"));
    assert_eq!(page.data[3].hold, Some(hold_id(1).to_string()));
    assert_eq!(page.data[4].booking, Some(booking_id(1).to_string()));

    let seqs = async |filter| -> Vec<u64> {
        let page = bench.ledger.journal(filter, ALL).await.unwrap();
        page.data.iter().map(|record| record.seq).collect()
    };
    let by = JournalFilter::default;
    assert_eq!(seqs(JournalFilter { offer: Some(offer_id("hall")), ..by() }).await, [1, 3, 4, 5]);
    assert_eq!(seqs(JournalFilter { unit: Some("A-2".into()), ..by() }).await, [3, 4, 5]);
    assert_eq!(seqs(JournalFilter { hold: Some(hold_id(1)), ..by() }).await, [3, 4, 5]);
    assert_eq!(seqs(JournalFilter { booking: Some(booking_id(1)), ..by() }).await, [4, 5]);
    assert_eq!(seqs(JournalFilter { booking: Some(booking_id(9)), ..by() }).await, [0; 0]);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let bench = Bench::memory().open_for_sale().await;
    for n in 1..=5 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
        bench.done(confirm(n, n)).await;
    }
    let alice = BookingFilter {
        offer: Some(offer_id("hall")),
        holder: Some(holdfast_domain::HolderId::new("alice").unwrap()),
        ..BookingFilter::default()
    };
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = bench.ledger.bookings(alice.clone(), PageRequest { after, limit: 2 }).await.unwrap();
        seen.extend(page.data.iter().map(|view| view.booking.id));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, (1..=5).map(booking_id).collect::<Vec<_>>());
    let nonsense = PageRequest { after: Some("x".into()), limit: 2 };
    assert!(bench.ledger.bookings(BookingFilter::default(), nonsense).await.is_err());
}

#[tokio::test]
async fn lists_are_read_from_the_newest_and_back_again() {
    let bench = Bench::memory().open_for_sale().await;
    for n in 1..=5 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
        bench.done(confirm(n, n)).await;
    }
    let offer = Some(offer_id("hall"));
    let list = async |order, after, limit| {
        let filter = BookingFilter { offer: offer.clone(), order, ..BookingFilter::default() };
        let page = bench.ledger.bookings(filter, PageRequest { after, limit }).await.unwrap();
        (page.data.iter().map(|view| view.booking.id).collect::<Vec<_>>(), page.next)
    };
    let (newest, gap) = list(Order::NewestFirst, None, 2).await;
    assert_eq!(newest, [booking_id(5), booking_id(4)]);
    let (earlier, _) = list(Order::NewestFirst, gap.clone(), 9).await;
    assert_eq!(earlier, [3, 2, 1].map(booking_id));
    assert_eq!(list(Order::OldestFirst, gap, 9).await, ([4, 5].map(booking_id).to_vec(), None));

    for filter in [
        JournalFilter::default(),
        JournalFilter { offer: offer.clone(), ..JournalFilter::default() },
        JournalFilter { offer: offer.clone(), unit: Some("A-5".into()), ..JournalFilter::default() },
    ] {
        let filter = JournalFilter { order: Order::NewestFirst, ..filter };
        let page = bench.ledger.journal(filter, PageRequest { after: None, limit: 2 }).await.unwrap();
        assert_eq!(page.data.iter().map(|record| record.seq).collect::<Vec<_>>(), [12, 11]);
    }
}

#[tokio::test]
async fn a_units_bookings_are_found_among_all_its_holds() {
    let bench = Bench::memory().open_for_sale().await;
    bench.done(place(1, "alice", vec![seat(1), seat(2)])).await;
    bench.done(confirm(1, 1)).await;
    bench.done(Command::Cancel { booking: booking_id(1) }).await;
    bench.done(place(2, "bob", vec![seat(1)])).await;
    bench.done(Command::ReleaseHold { hold: hold_id(2) }).await;
    bench.done(place(3, "carol", vec![seat(1)])).await;
    bench.done(confirm(3, 3)).await;
    let of = async |unit: &str| {
        let (offer, order) = (Some(offer_id("hall")), Order::NewestFirst);
        let filter = BookingFilter { offer, unit: Some(unit.into()), order, ..BookingFilter::default() };
        let page = bench.ledger.bookings(filter, ALL).await.unwrap();
        page.data.iter().map(|view| view.booking.id).collect::<Vec<_>>()
    };
    assert_eq!(of("A-1").await, [booking_id(3), booking_id(1)]);
    assert_eq!(of("A-2").await, [booking_id(1)]);
    assert_eq!(of("A-3").await, []);
}

#[tokio::test]
async fn a_holds_entries_are_found_however_many_others_its_offer_has() {
    let bench = Bench::memory().open_for_sale().await;
    for n in 1..=9 {
        bench.done(place(n, "alice", vec![seat(n as u32)])).await;
    }
    let filter =
        JournalFilter { offer: Some(offer_id("hall")), hold: Some(hold_id(9)), ..JournalFilter::default() };
    let page = bench.ledger.journal(filter, PageRequest { after: None, limit: 2 }).await.unwrap();
    assert_eq!(page.data.iter().map(|record| record.kind.as_str()).collect::<Vec<_>>(), ["hold_placed"]);
}

#[tokio::test]
async fn a_key_hears_the_same_words_again() {
    let bench = Bench::memory().open_for_sale().await;
    let send = |n, body| bench.try_send(place(n, "alice", vec![seat(1)]), Some(key("k", body)));
    assert!(matches!(send(1, 7).await.unwrap(), Reply::Done(_)));
    let Reply::Replayed(first) = send(2, 7).await.unwrap() else { panic!("replayed") };
    let Reply::Replayed(second) = send(3, 7).await.unwrap() else { panic!("replayed") };
    assert_eq!(first, second);
    assert_eq!(send(4, 8).await.unwrap(), Reply::KeyReused);
}

#[tokio::test]
async fn changes_follow_each_other_without_a_gap() {
    let bench = Bench::memory().open_for_sale().await;
    let mut changes = bench.ledger.changes();
    bench.done(place(1, "alice", vec![seat(1)])).await;
    bench.done(Command::ExtendHold { hold: hold_id(1) }).await;
    bench.done(Command::ReleaseHold { hold: hold_id(1) }).await;
    let mut at = Version(1);
    let mut units = Vec::new();
    for _ in 0..3 {
        let change = changes.recv().await.unwrap()[0].clone();
        assert_eq!(change.from, at);
        at = change.to;
        units.extend(change.units);
    }
    assert_eq!(units, [(0, UnitState::Held), (0, UnitState::Held), (0, UnitState::Available)]);
}

#[tokio::test]
async fn what_was_sold_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let storage = || Storage::Dir(dir.path().to_owned());
    let bench = Bench::with(storage(), Limits::default()).open_for_sale().await;
    bench.done(place(1, "alice", vec![seat(1)])).await;
    bench.done(confirm(1, 1)).await;
    bench.ledger.shutdown().await;
    drop(bench);
    let bench = Bench::with(storage(), Limits::default());
    assert_eq!(bench.refused(place(2, "bob", vec![seat(1)])).await, "unit_taken");
    assert_eq!(bench.ledger.journal(JournalFilter::default(), ALL).await.unwrap().data.len(), 4);
}

#[tokio::test]
async fn a_folder_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default());
    let again =
        Settings::new(Storage::Dir(dir.path().to_owned()), bench.clock.clone(), super::bench::render());
    let refused = EmbeddedLedger::open(again).unwrap_err();
    assert!(
        matches!(refused, StoreError::InUse { owner: Some(pid), .. } if pid == std::process::id()),
        "{refused}"
    );
}

#[tokio::test]
async fn keys_can_be_made_beside_a_running_server() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default());
    let made = StoredKey {
        prefix: "hf_1".into(),
        hash: [3; 32],
        role: Role::Seller,
        created_at: super::bench::T0,
        revoked_at: None,
    };
    assert_eq!(bench.ledger.find_key("hf_1").await.unwrap(), None);
    keys::add(dir.path(), &made).unwrap();
    assert_eq!(bench.ledger.find_key("hf_1").await.unwrap(), Some(made.clone()));
    let admin = StoredKey { prefix: "hf_2".into(), role: Role::Admin, ..made.clone() };
    bench.ledger.add_key(admin.clone()).await.unwrap();
    assert_eq!(keys::list(dir.path()).unwrap(), [made, admin]);
    assert!(keys::revoke(dir.path(), "hf_2", super::bench::T0).unwrap());
    assert!(bench.ledger.find_key("hf_2").await.unwrap().unwrap().revoked_at.is_some());
}
