//! The room's rules, one by one.

use super::{at, plan};
use crate::admission::waiting_room::{
    Entry, Method, Mode, Order, Place, Plan, Room, RoomState, Standing, TicketState,
};

fn room(plan: Plan, tickets: u32) -> Room {
    let mut room = Room::new(plan, [1; 32], at(0));
    for _ in 0..tickets {
        room.join(u32::MAX);
    }
    room
}

fn all(tickets: u32) -> Vec<Place> {
    (1..=tickets).collect()
}

fn enter(room: &mut Room, place: Place, s: i64) {
    assert!(matches!(room.enter(place, at(s)), Entry::Inside { .. }), "{place}");
}

#[test]
fn who_is_away_is_passed_over_and_keeps_the_place() {
    let mut room = room(plan(Method::Fifo, 2), 5);
    assert_eq!(room.turn(&[2, 3, 4, 5], None, at(1)), [2, 3]);
    enter(&mut room, 2, 1);
    enter(&mut room, 3, 1);
    room.leave(2);
    assert_eq!(room.turn(&[1, 4, 5], None, at(2)), [1], "back, and first again");
    let standing = Standing::of(&room, &Order::ByNumber, 4, at(2));
    assert_eq!((standing.ahead, standing.state), (Some(0), TicketState::Waiting));
}

#[test]
fn who_was_called_and_did_not_come_makes_room() {
    let mut room = room(plan(Method::Fifo, 1), 3);
    assert_eq!(room.turn(&all(3), None, at(1)), [1]);
    assert_eq!(room.turn(&[2, 3], None, at(20)), [0; 0], "it has a while to come");
    assert_eq!(room.turn(&[2, 3], None, at(21)), [2]);
    assert_eq!(room.enter(1, at(21)), Entry::NotYet);
    enter(&mut room, 2, 22);
    room.leave(2);
    assert_eq!(room.turn(&[1, 3], None, at(23)), [1], "and is called again before those behind");
}

/// Three who ask how far it is and never come in, and everything that is left to sell is three.
#[test]
fn who_lets_every_call_pass_keeps_nobody_out_for_long() {
    let mut room = room(plan(Method::Fifo, 10), 5);
    for call in 0..3 {
        let s = 1 + 20 * call;
        assert_eq!(room.turn(&all(5), Some(3), at(s)), [1, 2, 3], "call {call}");
        room = Room::unfold(&room.keep()).unwrap();
    }
    assert_eq!(room.turn(&all(5), Some(3), at(61)), [4, 5]);
    assert_eq!(room.enter(1, at(62)), Entry::Used);
    assert_eq!(Standing::of(&room, &Order::ByNumber, 1, at(62)).state, TicketState::Ended, "and joins again");
}

#[test]
fn nobody_misses_a_call_into_a_room_that_lets_nobody_in() {
    let mut room = room(plan(Method::Fifo, 1), 2);
    for s in [0, 100, 200, 300] {
        room.mode = Mode::Running;
        assert_eq!(room.turn(&all(2), Some(5), at(s)), [1]);
        room.mode = Mode::Paused;
        room.turn(&all(2), Some(5), at(s + 50));
    }
}

#[test]
fn a_room_that_was_kept_before_calls_were_counted_is_read() {
    let mut room = room(plan(Method::Fifo, 1), 3);
    let before = room.keep();
    assert!(!before.doc.contains("missed"), "{}", before.doc);
    room.turn(&all(3), None, at(1));
    room.turn(&all(3), None, at(21));
    let after = room.keep();
    assert!(after.doc.contains("missed"), "{}", after.doc);
    assert_eq!(Room::unfold(&after), Some(room));
    assert!(Room::unfold(&before).is_some());
}

#[test]
fn a_visit_ends_and_a_ticket_with_it() {
    let mut room = room(plan(Method::Fifo, 1), 2);
    room.turn(&all(2), None, at(0));
    enter(&mut room, 1, 1);
    assert!(room.admits(1, at(300)) && !room.admits(1, at(301)), "to the last millisecond");
    assert_eq!(room.turn(&[1, 2], None, at(301)), [2]);
    assert_eq!(room.enter(1, at(302)), Entry::Used);
    assert_eq!(Standing::of(&room, &Order::ByNumber, 1, at(302)).state, TicketState::Ended);
}

#[test]
fn nobody_is_let_in_for_what_cannot_be_sold() {
    let mut room = room(plan(Method::Fifo, 10), 20);
    assert_eq!(room.turn(&all(20), Some(3), at(1)), [1, 2, 3]);
    assert_eq!(room.turn(&all(20), Some(0), at(2)), [0; 0]);
    assert_eq!(room.state(at(2)), RoomState::SoldOut);
    assert_eq!(Standing::of(&room, &Order::ByNumber, 9, at(2)).state, TicketState::SoldOut);
    enter(&mut room, 1, 2);
    assert_eq!(Standing::of(&room, &Order::ByNumber, 1, at(3)).state, TicketState::Admitted, "may finish");
    assert_eq!(room.turn(&all(20), Some(4), at(3)), [4], "something came back");
}

#[test]
fn how_many_are_ahead_never_rises_whatever_the_room_goes_through() {
    let mut room = room(plan(Method::Fifo, 2), 20);
    let told = |room: &Room, s| Standing::of(room, &Order::ByNumber, 9, at(s));
    let mut least = told(&room, 0).ahead.unwrap();
    let mut states = Vec::new();
    // Called, sold out, something came back, paused, closed, and on again.
    for (s, left) in [(1, Some(5)), (2, Some(0)), (3, Some(5)), (4, Some(5)), (5, Some(5)), (30, Some(5))] {
        room.mode = if s == 4 { Mode::Paused } else { Mode::Running };
        room.plan.method = if s == 5 { Method::Reject } else { Method::Fifo };
        room.turn(&all(20), left, at(s));
        let now = told(&room, s);
        assert!(now.ahead.unwrap() <= least, "at {s}: {now:?} after {least}");
        least = now.ahead.unwrap();
        states.push((now.state, now.room));
    }
    assert_eq!(
        states,
        [
            (TicketState::Waiting, RoomState::Open),
            (TicketState::SoldOut, RoomState::SoldOut),
            (TicketState::Waiting, RoomState::Open),
            (TicketState::Waiting, RoomState::Paused),
            (TicketState::Closed, RoomState::Closed),
            (TicketState::Waiting, RoomState::Open),
        ]
    );
    assert!(least > 0, "they were ahead all the while");
}

#[test]
fn no_more_a_minute_than_planned() {
    let slowly = Plan { admit_per_minute: Some(30), ..plan(Method::Fifo, 1_000) };
    let mut room = room(slowly, 500);
    let called: usize = (1..=120).map(|s| room.turn(&all(500), None, at(s)).len()).sum();
    assert!((59..=61).contains(&called), "{called} in two minutes");
    room.turn(&[], None, at(1_000));
    assert!(room.turn(&all(500), None, at(1_001)).len() <= 2, "a quiet time is not followed by a rush");
}

#[test]
fn paused_is_paused_and_open_is_open() {
    let mut room = room(plan(Method::Fifo, 5), 5);
    room.turn(&[1], None, at(1));
    enter(&mut room, 1, 1);
    room.mode = Mode::Paused;
    assert_eq!(room.turn(&all(5), None, at(2)), [0; 0]);
    assert!(room.admits(1, at(2)), "whoever is inside stays");
    assert_eq!(Standing::of(&room, &Order::ByNumber, 2, at(2)).eta_s, None, "nobody can tell");
    room.mode = Mode::FailOpen;
    assert!(room.state(at(3)).lets_everybody_in());
    room.mode = Mode::Running;
    assert_eq!(room.turn(&all(5), None, at(4)), [2, 3, 4, 5]);
}

#[test]
fn before_the_opening_nobody_is_called() {
    let later = Plan { opens_at_ms: Some(at(60).ms()), ..plan(Method::Fifo, 5) };
    let mut room = room(later, 5);
    assert_eq!(room.turn(&all(5), None, at(59)), [0; 0]);
    assert_eq!(room.state(at(59)), RoomState::Scheduled);
    assert_eq!(room.turn(&all(5), None, at(60)), all(5));
}

#[test]
fn the_first_roomful_is_told_that_it_goes_in_with_the_opening() {
    let opens = Plan { opens_at_ms: Some(at(60).ms()), ..plan(Method::Fifo, 100) };
    let eta = |room: &Room, number| Standing::of(room, &Order::ByNumber, number, at(50)).eta_s.unwrap();
    let room_of_all = room(opens.clone(), 1_000);
    assert_eq!(eta(&room_of_all, 100), (10, 10), "there is room for them");
    assert!(eta(&room_of_all, 101).1 > 10, "and for nobody else");
    let often = Standing::of(&room_of_all, &Order::ByNumber, 100, at(50)).retry_after_ms;
    assert!(often < 4_000, "so they ask in time to hear that they are called: {often}");
    let slowly = room(Plan { admit_per_minute: Some(60), ..opens }, 1_000);
    assert!(eta(&slowly, 100).1 > 100, "unless a rate slows them down");
}

#[test]
fn a_change_of_plan_keeps_the_queue_unless_its_order_changes() {
    let mut room = room(plan(Method::Fifo, 1), 5);
    room.turn(&all(5), None, at(1));
    room.replan(plan(Method::Fifo, 3), [2; 32], at(2));
    assert_eq!((room.run, room.issued), (1, 5));
    assert_eq!(room.turn(&all(5), None, at(2)), [2, 3]);
    room.replan(plan(Method::Passthrough, 3), [2; 32], at(3));
    room.replan(plan(Method::Fifo, 3), [2; 32], at(4));
    assert_eq!((room.run, room.issued), (1, 5));
    let by_lot = Plan { opens_at_ms: Some(at(90).ms()), ..plan(Method::Lottery, 3) };
    room.replan(by_lot, [2; 32], at(5));
    assert_eq!((room.run, room.issued, room.active()), (2, 0, 0));
}

#[test]
fn a_queue_that_is_first_come_is_not_drawn_by_lot_whatever_was_planned_before() {
    let opening = |method| Plan { opens_at_ms: Some(at(90).ms()), ..plan(method, 3) };
    let mut room = room(opening(Method::Lottery), 5);
    room.replan(plan(Method::Passthrough, 3), [2; 32], at(1));
    room.replan(opening(Method::Fifo), [3; 32], at(2));
    assert_eq!((room.run, room.issued, room.lottery.is_some()), (2, 0, false));
    room.replan(plan(Method::Reject, 3), [4; 32], at(3));
    room.replan(opening(Method::Lottery), [5; 32], at(4));
    assert_eq!((room.run, room.lottery.is_some()), (3, true));
}

#[test]
fn a_room_is_kept_whole() {
    let mut room = room(Plan { message: Some("soon".into()), ..plan(Method::Lottery, 3) }, 9);
    room.turn(&all(9), Some(7), at(1));
    assert_eq!(room.turn(&all(9), Some(7), at(4)), [0; 0], "a draw has to settle");
    room.turn(&all(9), Some(7), at(5));
    enter(&mut room, 1, 5);
    enter(&mut room, 2, 5);
    room.leave(2);
    let kept = room.keep();
    assert_eq!(Room::unfold(&kept), Some(room));
    let torn = crate::admission::waiting_room::Kept { visits: vec![0; 5], ..kept };
    assert_eq!(Room::unfold(&torn), None);
}
