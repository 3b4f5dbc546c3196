//! Several lines in one hold: all or none, over seats, stock and slots together.

use holdfast_domain::{Command, Currency, Refusal, UnitState};

use crate::sale::{Sale, at, calendar, hall, id, seats, slot, stock, unit};

fn everything() -> Sale {
    Sale::new().with(hall("hall", &[("A", &[4])])).with(stock("fest", 3, 3000)).with(calendar(
        "dr-lee",
        1,
        &[("consult", 0, 30, 15)],
    ))
}

#[test]
fn seats_stock_and_slots_in_one_hold_are_all_had_or_none() {
    let start = at("2026-11-16T09:00:00+01:00");
    let mut sale = everything();
    let asks = vec![unit("hall", "A-1", 1), unit("fest", "GA", 2), slot("dr-lee", "consult", start)];
    let hold = sale.hold("alice", asks).unwrap();
    assert_eq!(sale.keys(hold), ["A-1", "GA", "2026-11-16T08:00Z"]);
    assert_eq!(sale.get(hold).amount.minor(), 4500 + 6000 + 8000);

    let before = sale.state.clone();
    let asks = vec![unit("hall", "A-2", 1), unit("fest", "GA", 1), slot("dr-lee", "consult", start)];
    assert!(matches!(sale.hold("bob", asks), Err(Refusal::UnitTaken(_))));
    assert_eq!(sale.state, before, "nothing of it was taken");

    sale.tell(Command::ReleaseHold { hold }).unwrap();
    let asks = vec![unit("hall", "A-1", 1), unit("fest", "GA", 3), slot("dr-lee", "consult", start)];
    assert!(sale.hold("bob", asks).is_ok());
}

#[test]
fn alternatives_are_for_the_seat_that_was_missed() {
    let mut sale = everything();
    sale.hold("alice", vec![unit("fest", "GA", 3), unit("hall", "A-1", 1)]).unwrap();
    // The sold-out stock comes first in the request; a taken seat takes precedence over it.
    let refused = sale.hold("bob", vec![unit("fest", "GA", 1), unit("hall", "A-1", 1)]);
    let Err(Refusal::UnitTaken(conflict)) = refused else { panic!("{refused:?}") };
    let [in_the_way] = &conflict.conflicts[..] else { panic!("{conflict:?}") };
    assert_eq!((in_the_way.unit.as_str(), in_the_way.state), ("A-1", UnitState::Held));
    assert_eq!(conflict.alternatives, [["A-2"], ["A-3"], ["A-4"]]);
}

#[test]
fn a_unit_is_named_once_however_far_apart_the_lines_are() {
    let mut sale = everything();
    let asks =
        vec![unit("hall", "A-1", 1), unit("fest", "GA", 1), unit("hall", "A-2", 1), unit("hall", "A-1", 1)];
    assert!(matches!(sale.hold("alice", asks), Err(Refusal::Invalid(_))));
    let overlapping = ["2026-11-16T09:00:00+01:00", "2026-11-16T09:30:00+01:00"];
    let asks = overlapping.map(|start| slot("dr-lee", "consult", at(start))).into();
    assert!(matches!(sale.hold("alice", asks), Err(Refusal::Invalid(_))), "their buffers meet");
}

#[test]
fn a_sum_that_cannot_be_charged_is_refused_not_wrapped() {
    let mut sale = Sale::new().with(stock("dear", 1_000_000_000, 999_999_999_999));
    assert!(sale.hold("alice", vec![unit("dear", "GA", 1)]).is_ok());
    for qty in [2, 20_000_000, 999_999_999] {
        let refused = sale.hold("bob", vec![unit("dear", "GA", qty)]);
        assert!(matches!(refused, Err(Refusal::Invalid(_))), "{qty}: {refused:?}");
    }
    let refused = sale.hold("bob", vec![unit("dear", "GA", u32::MAX)]);
    assert!(matches!(refused, Err(Refusal::SoldOut { .. })), "more than there is: {refused:?}");
}

#[test]
fn one_hold_has_one_currency() {
    let mut yen = stock("tokyo", 5, 3000);
    yen.currency = Currency::new("JPY").unwrap();
    let mut sale = everything().with(yen);
    let refused = sale.hold("alice", vec![unit("hall", "A-1", 1), unit("tokyo", "GA", 1)]);
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
}

#[test]
fn a_cancelled_booking_frees_its_units_at_once_and_once() {
    let mut sale = everything();
    let hold = sale.hold("alice", vec![unit("hall", "A-1", 1), unit("fest", "GA", 3)]).unwrap();
    let booking = sale.confirm(hold).unwrap();
    assert_eq!(sale.confirm(hold), Err(Refusal::AlreadyBooked { booking }));
    assert_eq!(sale.tell(Command::Cancel { booking }).unwrap().events.len(), 1);
    assert_eq!(sale.tell(Command::Cancel { booking }).unwrap().events.len(), 0);
    assert!(sale.hold("bob", vec![unit("hall", "A-1", 1), unit("fest", "GA", 3)]).is_ok());
}

#[test]
fn a_blocked_unit_is_said_to_be_blocked_before_another_is_said_to_be_taken() {
    let mut sale = everything();
    sale.hold("alice", vec![unit("hall", "A-1", 1)]).unwrap();
    sale.tell(Command::Block { offer: id("hall"), units: vec!["A-2".into()] }).unwrap();
    let refused = sale.hold("bob", vec![unit("hall", "A-1", 1), unit("hall", "A-2", 1)]);
    let Err(Refusal::UnitBlocked(conflict)) = refused else { panic!("{refused:?}") };
    assert_eq!(conflict.conflicts.len(), 1);
    assert_eq!(conflict.alternatives, [["A-3", "A-4"]]);
}

/// Of an offer its own claims can be told without a look at all others.
#[test]
fn an_offer_knows_its_own_holds_and_bookings() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[8])])).with(stock("fest", 10, 1));
    let both = |seat: &str| [seats("hall", &[seat]), vec![unit("fest", "GA", 2)]].concat();
    let held = sale.hold("alice", both("A-1")).unwrap();
    let released = sale.hold("bob", both("A-2")).unwrap();
    sale.tell(Command::ReleaseHold { hold: released }).unwrap();
    let only_hall = sale.hold("carol", seats("hall", &["A-3", "A-4"])).unwrap();
    let booked = sale.confirm(only_hall).unwrap();
    let cancelled = sale.hold("dave", both("A-5")).unwrap();
    let cancelled = sale.confirm(cancelled).unwrap();
    sale.tell(Command::Cancel { booking: cancelled }).unwrap();
    let claims_of = |name: &str| {
        let at = sale.state.offer(&id(name)).unwrap();
        let holds: Vec<_> = sale.state.holds_of(at).map(|hold| hold.id).collect();
        (holds, sale.state.bookings_of(at).map(|booking| booking.id).collect::<Vec<_>>())
    };
    assert_eq!(claims_of("hall"), (vec![held], vec![booked]));
    assert_eq!(claims_of("fest"), (vec![held], vec![]));
}
