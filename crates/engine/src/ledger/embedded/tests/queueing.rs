//! The lanes: who is served first, and what happens when there is no room.

use std::time::Duration;

use holdfast_domain::Command;
use tokio::sync::oneshot;

use super::bench::{Bench, confirm, hold_id, place, request, seat};
use crate::ledger::{
    Ledger, LedgerError,
    embedded::lanes::{Bounds, Job, Lanes},
};

const ROOM: Bounds = Bounds { urgent: 2, ordinary: 2, reads: 2, gather: Duration::ZERO };

fn job(command: Command) -> Job {
    Job { request: request(command, None), reply: oneshot::channel().0 }
}

#[test]
fn who_has_something_at_stake_goes_first() {
    let lanes = Lanes::new(ROOM);
    lanes.submit(job(place(1, "alice", vec![seat(1)]))).unwrap();
    lanes.submit(job(place(2, "bob", vec![seat(2)]))).unwrap();
    lanes.submit(job(confirm(1, 1))).unwrap();
    lanes.submit(job(Command::ReleaseHold { hold: hold_id(9) })).unwrap();
    let round = lanes.next(3, Duration::ZERO).unwrap();
    let kinds: Vec<_> =
        round.commands.iter().map(|job| std::mem::discriminant(&job.request.command)).collect();
    let expected = [confirm(1, 1), Command::ReleaseHold { hold: hold_id(9) }, place(1, "alice", vec![])];
    assert_eq!(kinds, expected.each_ref().map(std::mem::discriminant));
    assert_eq!(lanes.depths(), [0, 1, 0]);
}

#[test]
fn a_full_lane_refuses_and_leaves_the_others_alone() {
    let lanes = Lanes::new(ROOM);
    let hold = |n| lanes.submit(job(place(n, "alice", vec![seat(1)])));
    assert!(hold(1).is_ok() && hold(2).is_ok());
    assert!(matches!(hold(3), Err(LedgerError::Overloaded)));
    assert!(lanes.submit(job(confirm(1, 1))).is_ok());
}

#[test]
fn closed_lanes_serve_what_waits_and_take_nothing_new() {
    let lanes = Lanes::new(ROOM);
    lanes.submit(job(confirm(1, 1))).unwrap();
    lanes.close();
    assert!(matches!(lanes.submit(job(confirm(2, 2))), Err(LedgerError::Unavailable(_))));
    assert_eq!(lanes.next(10, Duration::MAX).unwrap().commands.len(), 1);
    assert!(lanes.next(10, Duration::MAX).is_none());
}

#[test]
fn a_crowd_waits_for_its_like_and_one_alone_for_nobody() {
    let lanes = Lanes::new(Bounds { gather: Duration::from_secs(60), ..ROOM });
    let ask = |n| lanes.submit(job(confirm(n, n))).unwrap();
    let came = || lanes.next(10, Duration::MAX).unwrap().commands.len();
    ask(1);
    assert_eq!(came(), 1);
    ask(2);
    assert_eq!(came(), 1, "one came last time, so one is enough");
    ask(3);
    ask(4);
    assert_eq!(came(), 2);
    std::thread::scope(|scope| {
        let crowd = scope.spawn(came);
        ask(5);
        ask(6);
        assert_eq!(crowd.join().unwrap(), 2, "two came last time, so the first waits for the second");
    });
}

#[tokio::test]
async fn work_past_its_deadline_is_dropped_unstarted() {
    let bench = Bench::memory().open_for_sale().await;
    let mut late = request(place(1, "alice", vec![seat(1)]), None);
    late.deadline -= Duration::from_secs(120);
    assert!(matches!(bench.ledger.execute(late).await, Err(LedgerError::Overloaded)));
    assert!(bench.ledger.hold(hold_id(1)).await.unwrap().is_none());
}
