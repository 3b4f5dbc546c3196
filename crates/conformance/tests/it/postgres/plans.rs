//! What a request costs does not grow with the books: on tables of tens of thousands of rows PostgreSQL writes down how
//! it came by the rows of every statement, and none may have read a table through.

use std::{collections::BTreeSet, fs, time::Duration};

use holdfast_domain::{BookingId, HoldId, OfferId, PaymentState};
use holdfast_engine::{
    ledger::{
        BookingFilter, BookingView, JournalFilter, JournalRecord, Ledger, Order, Outcome, PageRequest, Reply,
        postgres::PostgresLedger,
    },
    strategy::Claiming,
};

use holdfast_rigs::Postgres;

use super::{
    goods::{ask, ask_as, confirm, counted, held, now, paid, pay, place, report, sell, unit},
    house::{House, nodes, settings},
};

const DATABASE: &str = "books";
const GROWING: [&str; 5] = ["journal", "holds", "bookings", "answers", "claims"];

/// A long sale, made of a short one: alice's entries, bob's hold, booking and payment, carol's entry of two offers.
const FILL: &str = "
    INSERT INTO holdfast.journal (chain, link, at, actor, kind, offer_id, offers, before, version, hold_id, booking_id,
                                  entry, hash)
    SELECT chain, link + n, at, actor, kind, offer_id, offers, before, version,
           overlay(hold_id placing lpad(n::text, 8, '0') from 24),
           overlay(booking_id placing lpad(n::text, 8, '0') from 22), entry, hash
    FROM holdfast.journal CROSS JOIN generate_series(1, 15000) n
    WHERE hold_id = (SELECT id FROM holdfast.holds WHERE holder = 'alice');
    INSERT INTO holdfast.journal (chain, link, at, actor, kind, offer_id, offers, before, version, hold_id, entry, hash)
    SELECT chain, link + n, at, actor, kind, offer_id, '{fest,zoo}', before, version,
           overlay(hold_id placing lpad(n::text, 8, '0') from 24), entry, hash
    FROM holdfast.journal CROSS JOIN generate_series(1, 2500) n
    WHERE kind = 'hold_placed' AND hold_id = (SELECT id FROM holdfast.holds WHERE holder = 'carol');
    INSERT INTO holdfast.holds (offer_id, id, holder, state, amount, currency, expires_at, ended_at, booking_id, version,
                                body)
    SELECT offer_id, overlay(id placing lpad(n::text, 8, '0') from 24), 'h' || n % 300, state, amount, currency,
           expires_at, ended_at - interval '3 days', booking_id, version, body
    FROM holdfast.holds CROSS JOIN generate_series(1, 20000) n WHERE holder = 'bob';
    INSERT INTO holdfast.bookings (offer_id, id, hold_id, holder, state, amount, currency, created_at, version, offers,
                                   body)
    SELECT offer_id, overlay(id placing lpad(n::text, 8, '0') from 22),
           overlay(hold_id placing lpad(n::text, 8, '0') from 24), 'h' || n % 300, state, amount, currency,
           created_at - interval '3 days', version, offers, body
    FROM holdfast.bookings CROSS JOIN generate_series(1, 20000) n WHERE holder = 'bob';
    INSERT INTO holdfast.payments (offer_id, booking_id, provider, state, intent, captured)
    SELECT offer_id, overlay(booking_id placing lpad(n::text, 8, '0') from 22), provider,
           CASE n % 1000 WHEN 0 THEN 'manual' ELSE 'succeeded' END, 'pi_' || n, captured
    FROM holdfast.payments CROSS JOIN generate_series(1, 20000) n WHERE state = 'succeeded';
    INSERT INTO holdfast.claims
    SELECT offer_id, unit_no, overlay(hold_id placing lpad(n::text, 8, '0') from 24), qty, exclusive, booked
    FROM holdfast.claims CROSS JOIN generate_series(1, 20000) n
    WHERE hold_id = (SELECT id FROM holdfast.holds WHERE holder = 'bob');
    INSERT INTO holdfast.answers (key, fingerprint, status, body, at)
    SELECT sha256(n::text::bytea), sha256('x'), 201, '{}', now() - n * interval '5 seconds'
    FROM generate_series(1, 30000) n;
    ANALYZE";

/// What was there long before the sale, as far as a node that is open notices: entries of the first transaction there was,
/// and nobody tells PostgreSQL how much there is now.
const FILL_QUIETLY: &str = "
    INSERT INTO holdfast.journal (xid, chain, link, at, actor, kind, offer_id, offers, before, version, hold_id, entry, hash)
    SELECT 1, chain, link + n, at, actor, kind, offer_id, offers, before, version,
           overlay(hold_id placing lpad(n::text, 8, '0') from 24), entry, hash
    FROM holdfast.journal CROSS JOIN generate_series(1, 15000) n
    WHERE kind = 'hold_placed' AND hold_id = (SELECT id FROM holdfast.holds WHERE holder = 'alice');
    INSERT INTO holdfast.holds (offer_id, id, holder, state, amount, currency, expires_at, ended_at, version, body)
    SELECT offer_id, overlay(id placing lpad(n::text, 8, '0') from 24), holder, 'released', amount, currency, expires_at,
           now() - interval '3 days', version, body
    FROM holdfast.holds CROSS JOIN generate_series(1, 15000) n WHERE holder = 'dave';
    INSERT INTO holdfast.answers (key, fingerprint, status, body, at)
    SELECT sha256(n::text::bytea), sha256('x'), 201, '{}', now() FROM generate_series(1, 15000) n";

/// From here on every statement's plan is written down, with what it came to.
const TELL: &str = "
    ALTER DATABASE books SET session_preload_libraries = 'auto_explain';
    ALTER DATABASE books SET auto_explain.log_min_duration = 0;
    ALTER DATABASE books SET auto_explain.log_analyze = on;
    ALTER DATABASE books SET auto_explain.log_timing = off";

async fn placed(node: &PostgresLedger, holder: &str, units: &[(&str, &str)]) -> HoldId {
    let asks = units.iter().map(|(offer, key)| unit(offer, key, 1)).collect();
    let reply = ask_as(node, &format!("{holder} places"), place(holder, asks)).await.expect("an answer");
    held(&reply).unwrap_or_else(|| panic!("{holder}: {reply:?}"))
}

async fn booked(node: &PostgresLedger, hold: HoldId) -> BookingId {
    match ask(node, confirm(hold)).await {
        Ok(Reply::Done(Outcome::Confirmed(view))) => view.booking.id,
        other => panic!("{hold} is not booked: {other:?}"),
    }
}

async fn paying(node: &PostgresLedger, hold: HoldId) -> BookingId {
    match ask(node, pay(hold)).await {
        Ok(Reply::Done(Outcome::PaymentBegun(view))) => view.booking.id,
        other => panic!("{hold} is not being paid: {other:?}"),
    }
}

/// The whole of a list, and how many pages it took.
async fn entries(node: &PostgresLedger, filter: JournalFilter) -> (Vec<JournalRecord>, usize) {
    let (mut told, mut after) = (Vec::new(), None);
    for pages in 1.. {
        let page = node.journal(filter.clone(), PageRequest { after, limit: 50 }).await.expect("a page");
        told.extend(page.data);
        after = page.next;
        if after.is_none() {
            return (told, pages);
        }
    }
    unreachable!("every list ends")
}

async fn bookings(node: &PostgresLedger, filter: BookingFilter) -> Vec<BookingView> {
    let (mut told, mut after) = (Vec::new(), None);
    loop {
        let page = node.bookings(filter.clone(), PageRequest { after, limit: 50 }).await.expect("a page");
        told.extend(page.data);
        after = page.next;
        if after.is_none() {
            return told;
        }
    }
}

fn kinds(told: &[JournalRecord]) -> Vec<&str> {
    told.iter().map(|record| record.kind.as_str()).collect()
}

fn offer(id: &str) -> Option<OfferId> {
    Some(OfferId::new(id).expect("an id"))
}

/// Who was there before the books became long.
struct Sale {
    alice: (HoldId, BookingId),
    carol: (HoldId, BookingId),
    dave: HoldId,
    erin: HoldId,
}

async fn sale(node: &PostgresLedger) -> Sale {
    sell(node, counted("fest", &[("GA", 1_000_000), ("VIP", 10)], 600)).await;
    sell(node, counted("more", &[("X", 10)], 600)).await;
    let alice = placed(node, "alice", &[("fest", "GA")]).await;
    let alice = (alice, booked(node, alice).await);
    let bob = placed(node, "bob", &[("fest", "GA")]).await;
    let bob = paying(node, bob).await;
    let reply = ask(node, report(bob, paid())).await;
    assert!(matches!(reply, Ok(Reply::Done(_))), "{reply:?}");
    // Filed under `more`, whose line comes first; its entries under `fest`, whose name does.
    let carol = placed(node, "carol", &[("more", "X"), ("fest", "VIP")]).await;
    let carol = (carol, booked(node, carol).await);
    let dave = placed(node, "dave", &[("fest", "VIP")]).await;
    let erin = placed(node, "erin", &[("fest", "GA")]).await;
    paying(node, erin).await;
    Sale { alice, carol, dave, erin }
}

/// The same lists from their other end: the newest of each, and the whole of the short ones.
async fn reads_from_the_newest(node: &PostgresLedger, sale: &Sale) {
    let order = Order::NewestFirst;
    let by = || JournalFilter { order, ..JournalFilter::default() };
    let (told, _) = entries(node, JournalFilter { offer: offer("more"), ..by() }).await;
    assert_eq!(kinds(&told), ["booking_confirmed", "hold_placed", "offer_created"]);
    let (told, _) = entries(node, JournalFilter { hold: Some(sale.carol.0), ..by() }).await;
    assert_eq!(kinds(&told), ["booking_confirmed", "hold_placed"]);
    let (told, _) = entries(node, JournalFilter { booking: Some(sale.alice.1), ..by() }).await;
    assert_eq!(kinds(&told), ["booking_confirmed"]);
    let vip = || Some("VIP".to_owned());
    let page = || PageRequest { after: None, limit: 50 };
    for filter in [by(), JournalFilter { offer: offer("fest"), ..by() }] {
        let told = node.journal(filter, page()).await.expect("a page").data;
        assert!(told.len() == 50 && told.is_sorted_by(|one, next| one.seq > next.seq));
    }
    node.journal(JournalFilter { offer: offer("fest"), unit: vip(), ..by() }, page()).await.expect("a page");

    let by = || BookingFilter { order, ..BookingFilter::default() };
    let holder = Some(holdfast_domain::HolderId::new("h7").expect("a holder"));
    let manual = Some(PaymentState::Manual);
    assert_eq!(bookings(node, BookingFilter { holder, ..by() }).await.len(), 67);
    assert_eq!(bookings(node, BookingFilter { payment: manual, ..by() }).await.len(), 20);
    assert_eq!(node.payments_parked().await.expect("a count"), 20);
    for filter in [by(), BookingFilter { offer: offer("fest"), ..by() }] {
        let page = node.bookings(filter, page()).await.expect("a page");
        assert!(page.data.len() == 50 && page.next.is_some());
    }
    // carol has the only one, long ago: a page looks so far back, and the next one goes on.
    let found = bookings(node, BookingFilter { offer: offer("fest"), unit: vip(), ..by() }).await;
    assert_eq!(found.iter().map(|view| view.booking.id).collect::<Vec<_>>(), [sale.carol.1]);
}

async fn reads_the_journal(node: &PostgresLedger, sale: &Sale) {
    let by = JournalFilter::default;
    let (told, _) = entries(node, JournalFilter { booking: Some(sale.alice.1), ..by() }).await;
    assert_eq!(kinds(&told), ["booking_confirmed"]);
    for hold in [sale.alice.0, sale.carol.0] {
        let (told, _) = entries(node, JournalFilter { hold: Some(hold), ..by() }).await;
        assert_eq!(kinds(&told), ["hold_placed", "booking_confirmed"]);
    }
    let (told, _) = entries(node, JournalFilter { hold: Some(HoldId::from_bits(1)), ..by() }).await;
    assert_eq!(kinds(&told), [""; 0]);
    let (told, _) = entries(node, JournalFilter { offer: offer("more"), ..by() }).await;
    assert_eq!(kinds(&told), ["offer_created", "hold_placed", "booking_confirmed"]);
    let (told, _) =
        entries(node, JournalFilter { offer: offer("more"), hold: Some(sale.dave), ..by() }).await;
    assert_eq!(kinds(&told), [""; 0]);
    // A unit is looked for entry by entry: a page gives up after a while, and the next one goes on.
    let unit = Some("VIP".to_owned());
    let (told, pages) = entries(node, JournalFilter { offer: offer("fest"), unit, ..by() }).await;
    let holds: BTreeSet<_> = told.iter().filter_map(|record| record.hold.as_deref()).collect();
    assert!(holds.contains(sale.dave.to_string().as_str()) && pages > 1, "{pages} pages: {holds:?}");
    let page = PageRequest { after: None, limit: 50 };
    assert_eq!(
        node.journal(JournalFilter { offer: offer("fest"), ..by() }, page.clone()).await.unwrap().data.len(),
        50
    );
    assert_eq!(node.journal(by(), page).await.unwrap().data.len(), 50);
}

async fn finds_bookings(node: &PostgresLedger, sale: &Sale) {
    let by = BookingFilter::default;
    let holder = |name: &str| Some(holdfast_domain::HolderId::new(name).expect("a holder"));
    let intent = |name: &str| Some(holdfast_domain::IntentId::new(name).expect("an intent"));
    let (manual, succeeded) = (Some(PaymentState::Manual), Some(PaymentState::Succeeded));
    assert_eq!(bookings(node, BookingFilter { holder: holder("h7"), ..by() }).await.len(), 67);
    assert_eq!(bookings(node, BookingFilter { payment: manual, ..by() }).await.len(), 20);
    assert_eq!(bookings(node, BookingFilter { intent: intent("pi_7"), ..by() }).await.len(), 1);
    let found = bookings(node, BookingFilter { offer: offer("more"), ..by() }).await;
    assert_eq!(found.iter().map(|view| view.booking.id).collect::<Vec<_>>(), [sale.carol.1]);
    let of_both = BookingFilter { offer: offer("fest"), holder: holder("carol"), ..by() };
    assert_eq!(bookings(node, of_both).await.len(), 1);
    let paid = BookingFilter { payment: succeeded, holder: holder("h0"), ..by() };
    assert_eq!(bookings(node, paid).await.len(), 60);
    for filter in
        [BookingFilter { offer: offer("fest"), ..by() }, BookingFilter { payment: succeeded, ..by() }, by()]
    {
        let page = node.bookings(filter, PageRequest { after: None, limit: 50 }).await.expect("a page");
        assert!(page.data.len() == 50 && page.next.is_some());
    }
}

/// Everything that buyers do and timers.
async fn sells(node: &PostgresLedger, round: &str) {
    for holder in ["frank", "grace"] {
        let hold = placed(node, &format!("{holder}-{round}"), &[("fest", "GA")]).await;
        ask(node, holdfast_domain::Command::ExtendHold { hold }).await.expect("an answer");
        let booking = booked(node, hold).await;
        let (told, _) = entries(node, JournalFilter { hold: Some(hold), ..JournalFilter::default() }).await;
        assert_eq!(kinds(&told), ["hold_placed", "hold_extended", "booking_confirmed"]);
        ask(node, holdfast_domain::Command::Cancel { booking }).await.expect("an answer");
    }
    let hold = placed(node, &format!("heidi-{round}"), &[("fest", "GA")]).await;
    let booking = paying(node, hold).await;
    node.payments_due(10, Duration::from_secs(1)).await.expect("payments");
    ask(node, report(booking, paid())).await.expect("an answer");
    let hold = placed(node, &format!("ivan-{round}"), &[("fest", "GA")]).await;
    ask(node, holdfast_domain::Command::ReleaseHold { hold }).await.expect("an answer");
}

/// The statements that read a table through, or most of one along an index.
fn walks(log: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for plan in log.split("  plan:\n").skip(1) {
        let lines: Vec<&str> = plan.lines().take_while(|line| line.starts_with('\t')).collect();
        let begins = lines.iter().position(|line| line.contains("(cost=")).expect("a plan");
        let statement = lines[..begins].join(" ");
        // A load reads all bookings, which the copy keeps with the holds they were, and what is claimed now.
        let is_load = |table: &str| match table {
            "bookings" => {
                ["LEFT JOIN holdfast.payments p ON", "AS booked"].iter().any(|of| statement.contains(of))
            }
            "claims" => statement.contains("WHERE NOT booked"),
            _ => false,
        };
        let mut table = "";
        for line in &lines[begins..] {
            if line.contains("(cost=") {
                table =
                    line.split(" on ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("");
            }
            let through = line.contains("Seq Scan on ");
            let removed = line.trim().strip_prefix("Rows Removed by Filter: ");
            let along = removed.and_then(|rows| rows.parse::<u64>().ok()).is_some_and(|rows| rows > 1_000);
            if (through || along) && GROWING.contains(&table) && !is_load(table) {
                found.insert(format!("{table}: {statement}\n{}", lines[begins..].join("\n")));
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_and_no_timer_reads_a_table_through() {
    let house = House::quick();
    let mut settings = settings(&house.emptied(DATABASE), Claiming::Batched);
    settings.limits.tidy_every = Some(Duration::from_millis(5));
    let node = nodes(settings.clone(), 1).await.remove(0);
    let sale = sale(&node).await;
    drop(node);
    house.server.ask(DATABASE, FILL).expect("long books");
    house.server.ask(DATABASE, TELL).expect("plans");
    for mode in ["auto", "force_generic_plan"] {
        house
            .server
            .ask(DATABASE, &format!("ALTER DATABASE books SET plan_cache_mode = {mode}"))
            .expect("a mode");
        let node = nodes(settings.clone(), 1).await.remove(0);
        for hold in [sale.dave, sale.erin] {
            let known = node.hold(hold).await.expect("an answer").expect("an open hold is loaded");
            assert!(known.hold.is_open());
        }
        sells(&node, mode).await;
        reads_the_journal(&node, &sale).await;
        reads_from_the_newest(&node, &sale).await;
        finds_bookings(&node, &sale).await;
    }
    let (log, began) = (|| fs::read_to_string(house.server.log()).expect("a log"), now());
    let node = nodes(settings, 1).await.remove(0);
    while !log().contains("DELETE FROM holdfast.answers") {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody forgets answers");
        node.offer(&OfferId::new("more").expect("an id")).await.expect("an answer");
    }
    let (log, walks) = (log(), walks(&log()));
    assert!(log.contains("Index Scan using journal_of_several"), "the log tells no plans");
    assert!(walks.is_empty(), "{}", walks.into_iter().collect::<Vec<_>>().join("\n\n"));
}

/// PostgreSQL keeps its plans, and learns late that a table has grown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_from_the_first_day_do_not_read_long_books_through() {
    let house = House::on(
        Postgres::options()
            .setting("fsync", "off")
            .setting("autovacuum", "off")
            .start()
            .expect("a private PostgreSQL"),
    );
    let url = house.emptied(DATABASE);
    house.server.ask(DATABASE, TELL).expect("plans");
    let settings = settings(&url, Claiming::Batched);
    let node = nodes(settings.clone(), 1).await.remove(0);
    let other = nodes(settings, 1).await.remove(0);
    sale(&node).await;
    for round in 0..3 {
        sells(&node, &format!("early-{round}")).await;
        sells(&other, &format!("there-{round}")).await;
    }
    house.server.ask(DATABASE, FILL_QUIETLY).expect("long books");
    let log = || fs::read_to_string(house.server.log()).expect("a log");
    let before = log().len();
    for round in 0..3 {
        sells(&node, &format!("late-{round}")).await;
        sells(&other, &format!("there-late-{round}")).await;
    }
    let log = log().split_off(before);
    let walks = walks(&log);
    assert!(log.contains("Index Scan using journal_by_xid"), "the log tells no plans");
    assert!(walks.is_empty(), "{}", walks.into_iter().collect::<Vec<_>>().join("\n\n"));
}
