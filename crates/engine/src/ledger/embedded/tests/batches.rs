//! One batch, step by step: who is answered when, and what a failed commit means to whom.

use holdfast_domain::{Command, Moment};
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::bench::{T0, confirm, hall, hold_id, key, place, render, request, seat, stock};
use crate::{
    clock::ManualClock,
    ledger::{
        IdempotencyKey, LedgerError, Reply,
        embedded::{
            Limits,
            batch::Batch,
            lanes::Job,
            live::Live,
            store::{Place, Storage},
        },
    },
};

type Answer = oneshot::Receiver<Result<Reply, LedgerError>>;

struct Books {
    live: Live,
    clock: ManualClock,
    render: crate::ledger::Render,
}

impl Books {
    fn open() -> Self {
        let (place, _) = Place::claim(&Storage::Memory).unwrap();
        let live = Live::load(&place, &Limits::default()).unwrap();
        let mut books = Self { live, clock: ManualClock::at(T0), render: render() };
        let mut batch = books.batch();
        for offer in [hall("hall", 20), stock("fest", 500)] {
            drop(ask(&mut batch, Command::CreateOffer { offer }, None));
        }
        batch.commit().unwrap();
        books
    }

    fn batch(&mut self) -> Batch<'_> {
        Batch::new(&mut self.live, &self.clock, &self.render, false)
    }

    fn sql(&self, sql: &str) {
        self.live.connection.execute_batch(sql).unwrap();
    }

    fn entries_on_disk(&self) -> u64 {
        let sql = "SELECT coalesce(max(last_seq), 0) FROM batches";
        self.live.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

fn ask(batch: &mut Batch<'_>, command: Command, key: Option<IdempotencyKey>) -> Answer {
    let (reply, answer) = oneshot::channel();
    batch.execute(Job { request: request(command, key), reply }).unwrap();
    answer
}

fn waits(answer: &mut Answer) -> bool {
    matches!(answer.try_recv(), Err(TryRecvError::Empty))
}

fn code(answer: &mut Answer) -> &'static str {
    match answer.try_recv().expect("answered").expect("decided") {
        Reply::Done(_) => "done",
        Reply::Refused(refusal) => refusal.code(),
        Reply::Replayed(_) => "replayed",
        Reply::Open { .. } => "open",
        Reply::KeyReused => "key_reused",
    }
}

/// Makes the next commits fail at the very last step.
const BREAK_COMMITS: &str = "
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER orphan AFTER INSERT ON batches BEGIN INSERT INTO child VALUES (1); END;";

#[test]
fn a_yes_waits_for_the_disk() {
    let mut books = Books::open();
    let mut batch = books.batch();
    let mut won = ask(&mut batch, place(1, "alice", vec![seat(1)]), None);
    assert!(waits(&mut won));
    batch.commit().unwrap();
    assert_eq!(code(&mut won), "done");
    assert_eq!(books.entries_on_disk(), 3);
}

#[test]
fn a_no_that_leans_on_this_batch_waits_with_it() {
    let mut books = Books::open();
    let mut batch = books.batch();
    drop(ask(&mut batch, place(1, "alice", vec![seat(1)]), None));
    let mut lost = ask(&mut batch, place(2, "bob", vec![seat(1)]), None);
    let mut again = ask(&mut batch, place(3, "alice", vec![seat(1)]), None);
    drop(ask(&mut batch, confirm(1, 1), None));
    let mut late = ask(&mut batch, confirm(2, 1), None);
    assert!(waits(&mut lost) && waits(&mut again) && waits(&mut late));
    batch.commit().unwrap();
    assert_eq!(
        [code(&mut lost), code(&mut again), code(&mut late)],
        ["unit_taken", "done", "already_booked"]
    );
}

#[test]
fn any_other_no_is_answered_at_once_and_costs_no_disk() {
    let mut books = Books::open();
    let mut batch = books.batch();
    drop(ask(&mut batch, place(1, "alice", vec![seat(1)]), None));
    batch.commit().unwrap();
    let mut batch = books.batch();
    let mut lost = ask(&mut batch, place(2, "bob", vec![seat(1)]), None);
    assert_eq!(code(&mut lost), "unit_taken");
    // A yes on one offer is nothing to somebody who asks for another.
    let ga = holdfast_domain::Pick::Unit { key: "GA".into(), qty: 1 };
    let fest = holdfast_domain::Ask { offer: super::bench::offer_id("fest"), pick: ga };
    drop(ask(&mut batch, place(3, "carol", vec![fest]), None));
    let mut lost = ask(&mut batch, place(4, "bob", vec![seat(1)]), None);
    assert_eq!(code(&mut lost), "unit_taken");
}

#[test]
fn one_key_twice_in_one_batch_has_one_effect() {
    let mut books = Books::open();
    let mut batch = books.batch();
    let mut first = ask(&mut batch, place(1, "alice", vec![seat(1)]), Some(key("k", 1)));
    let mut retry = ask(&mut batch, place(2, "alice", vec![seat(1)]), Some(key("k", 1)));
    let mut other = ask(&mut batch, place(3, "alice", vec![seat(2)]), Some(key("k", 2)));
    assert!(waits(&mut first) && waits(&mut retry) && waits(&mut other));
    batch.commit().unwrap();
    assert_eq!([code(&mut first), code(&mut retry), code(&mut other)], ["done", "replayed", "key_reused"]);
    assert_eq!(books.entries_on_disk(), 3);
}

#[test]
fn a_yes_that_changed_nothing_keeps_its_words_too() {
    let mut books = Books::open();
    let mut batch = books.batch();
    drop(ask(&mut batch, place(1, "alice", vec![seat(1)]), None));
    batch.commit().unwrap();
    let mut batch = books.batch();
    let mut again = ask(&mut batch, place(2, "alice", vec![seat(1)]), Some(key("k", 1)));
    assert!(waits(&mut again));
    batch.commit().unwrap();
    let mut batch = books.batch();
    drop(ask(&mut batch, Command::ReleaseHold { hold: hold_id(1) }, None));
    let mut retry = ask(&mut batch, place(3, "alice", vec![seat(1)]), Some(key("k", 1)));
    assert_eq!(code(&mut retry), "replayed");
}

#[test]
fn a_refusal_is_not_kept_under_its_key() {
    let mut books = Books::open();
    let mut batch = books.batch();
    drop(ask(&mut batch, place(1, "alice", vec![seat(1)]), None));
    batch.commit().unwrap();
    let mut batch = books.batch();
    let mut lost = ask(&mut batch, place(2, "bob", vec![seat(1)]), Some(key("k", 1)));
    assert_eq!(code(&mut lost), "unit_taken");
    drop(ask(&mut batch, Command::ReleaseHold { hold: hold_id(1) }, None));
    let mut retry = ask(&mut batch, place(3, "bob", vec![seat(1)]), Some(key("k", 1)));
    batch.commit().unwrap();
    assert_eq!(code(&mut retry), "done");
}

#[test]
fn answers_are_found_before_and_after_they_are_filed() {
    let mut books = Books::open();
    let mut batch = books.batch();
    drop(ask(&mut batch, place(1, "alice", vec![seat(1)]), Some(key("k", 1))));
    batch.commit().unwrap();
    for unfiled in [1, 0] {
        assert_eq!(books.live.answers.unfiled(), unfiled);
        let mut batch = books.batch();
        let mut retry = ask(&mut batch, place(2, "alice", vec![seat(1)]), Some(key("k", 1)));
        let mut reused = ask(&mut batch, place(3, "alice", vec![seat(1)]), Some(key("k", 2)));
        assert_eq!([code(&mut retry), code(&mut reused)], ["replayed", "key_reused"]);
        batch.commit().unwrap();
        if let Some(filed) = books.live.answers.file(&books.live.connection).unwrap() {
            books.live.answers.filed(&filed);
        }
    }
}

#[test]
fn when_nothing_can_be_written_nobody_has_won() {
    let mut books = Books::open();
    books.sql("PRAGMA query_only = on");
    let mut batch = books.batch();
    let mut won = ask(&mut batch, place(1, "alice", vec![seat(1)]), None);
    let mut lost = ask(&mut batch, place(2, "bob", vec![seat(1)]), None);
    batch.commit().unwrap_err().answer_all();
    assert!(matches!(won.try_recv().unwrap(), Err(LedgerError::Unavailable(_))));
    assert!(matches!(lost.try_recv().unwrap(), Err(LedgerError::Unavailable(_))));
}

#[test]
fn when_the_commit_itself_fails_the_outcome_is_unknown() {
    let mut books = Books::open();
    books.sql(BREAK_COMMITS);
    let mut batch = books.batch();
    let mut won = ask(&mut batch, place(1, "alice", vec![seat(1)]), Some(key("k", 1)));
    let mut retry = ask(&mut batch, place(2, "alice", vec![seat(1)]), Some(key("k", 1)));
    let mut lost = ask(&mut batch, place(3, "bob", vec![seat(1)]), None);
    batch.commit().unwrap_err().answer_all();
    assert!(matches!(won.try_recv().unwrap(), Err(LedgerError::OutcomeUnknown(_))));
    assert!(matches!(retry.try_recv().unwrap(), Err(LedgerError::OutcomeUnknown(_))));
    // Whoever lost has lost nothing: for them nothing happened either way.
    assert!(matches!(lost.try_recv().unwrap(), Err(LedgerError::Unavailable(_))));
}

#[test]
fn expiry_needs_no_sweep() {
    let mut books = Books::open();
    let mut batch = books.batch();
    drop(ask(&mut batch, place(1, "alice", vec![seat(1)]), None));
    batch.commit().unwrap();
    books.clock.advance_ms(599_999);
    let mut batch = books.batch();
    let mut early = ask(&mut batch, place(2, "bob", vec![seat(1)]), None);
    assert_eq!(code(&mut early), "unit_taken");
    books.clock.advance_ms(1);
    let mut batch = books.batch();
    let mut late = ask(&mut batch, confirm(1, 1), None);
    assert_eq!(code(&mut late), "hold_expired");
    let mut taken = ask(&mut batch, place(3, "bob", vec![seat(1)]), None);
    batch.commit().unwrap();
    assert_eq!(code(&mut taken), "done");
}

#[test]
fn time_in_the_books_never_goes_back() {
    let mut books = Books::open();
    books.clock.advance_ms(10_000);
    let mut batch = books.batch();
    drop(ask(&mut batch, place(1, "alice", vec![seat(1)]), None));
    batch.commit().unwrap();
    books.clock.advance_ms(-3_600_000);
    let mut batch = books.batch();
    drop(ask(&mut batch, place(2, "bob", vec![seat(2)]), None));
    batch.commit().unwrap();
    let expiry = |n| books.live.books.state.hold(hold_id(n), Moment::MIN).unwrap().expires_at;
    assert_eq!(expiry(1), expiry(2));
}
