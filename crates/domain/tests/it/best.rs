use holdfast_domain::{Refusal, Relaxed};

use crate::sale::{Sale, TTL_S, best, hall, seats, unit};

#[test]
fn best_available_is_part_of_the_atomic_hold() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[8, 8])]));
    let pair = sale.hold("alice", vec![best("hall", 2, None)]).unwrap();
    assert_eq!(sale.keys(pair), ["A-4", "A-5"]);
    let next = sale.hold("bob", vec![best("hall", 2, None)]).unwrap();
    assert_eq!(sale.keys(next), ["B-4", "B-5"], "the next row's middle is nearer than this row's side");
    assert_eq!(sale.get(next).amount.minor(), 9000);
}

#[test]
fn it_does_not_take_what_the_same_hold_names_or_has_chosen_already() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[5])]));
    let asks = vec![best("hall", 2, None), unit("hall", "A-3", 1), best("hall", 2, None)];
    let hold = sale.hold("alice", asks).unwrap();
    assert_eq!(sale.keys(hold), ["A-3", "A-1", "A-2", "A-4", "A-5"]);
}

#[test]
fn it_keeps_to_the_category_and_says_when_that_is_sold_out() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4]), ("B", &[4])]));
    let hold = sale.hold("alice", vec![best("hall", 4, Some("B"))]).unwrap();
    assert_eq!(sale.keys(hold), ["B-1", "B-2", "B-3", "B-4"]);
    let refused = sale.hold("bob", vec![best("hall", 1, Some("B"))]);
    assert!(matches!(refused, Err(Refusal::SoldOut { .. })), "{refused:?}");
    let refused = sale.hold("bob", vec![best("hall", 1, Some("C"))]);
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
}

#[test]
fn it_says_what_it_gave_up() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[3, 3])]));
    let pair = sale.hold("alice", vec![best("hall", 2, None)]).unwrap();
    assert_eq!(sale.get(pair).relaxed, [Relaxed::Orphan]);
    let group = sale.hold("bob", vec![best("hall", 4, None)]).unwrap();
    assert_eq!(sale.keys(group), ["A-3", "B-1", "B-2", "B-3"]);
    assert_eq!(sale.get(group).relaxed, [Relaxed::SplitRows]);
}

#[test]
fn seats_of_holds_that_ran_out_are_free_without_a_sweep() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[2])]));
    let late = sale.hold("alice", vec![best("hall", 2, None)]).unwrap();
    sale.tick_ms(i64::from(TTL_S) * 1000 - 1);
    assert!(sale.hold("bob", vec![best("hall", 1, None)]).is_err());
    sale.tick_ms(1);
    let taken = sale.hold("bob", vec![best("hall", 2, None)]).unwrap();
    assert_eq!(sale.keys(taken), ["A-1", "A-2"]);
    assert_eq!(sale.confirm(late), Err(Refusal::HoldExpired));
}

#[test]
fn more_expired_holds_than_can_be_listed_are_seen_all_the_same() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[50])]));
    for seat in 1..=50 {
        sale.hold("alice", seats("hall", &[&format!("A-{seat}")])).unwrap();
    }
    sale.tick_ms(i64::from(TTL_S) * 1000);
    let all = sale.hold("bob", vec![best("hall", 50, None)]).unwrap();
    assert_eq!(sale.keys(all).len(), 50);
}

#[test]
fn a_lost_seat_has_alternatives_while_any_seat_is_free() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[2]), ("B", &[1])]));
    sale.hold("alice", seats("hall", &["A-1", "A-2"])).unwrap();
    let Err(Refusal::UnitTaken(conflict)) = sale.hold("bob", seats("hall", &["A-1"])) else { panic!() };
    assert_eq!(conflict.alternatives, [["B-1"]]);
    sale.hold("carol", seats("hall", &["B-1"])).unwrap();
    let Err(Refusal::UnitTaken(conflict)) = sale.hold("bob", seats("hall", &["A-1"])) else { panic!() };
    assert_eq!(conflict.alternatives, [[""; 0]; 0]);
}

#[test]
fn an_absurd_quantity_is_refused_before_any_work() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[10_000])]));
    let refused = sale.hold("alice", vec![best("hall", 5_000, None)]);
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
    let refused = sale.hold("alice", vec![best("hall", u32::MAX, None), best("hall", u32::MAX, None)]);
    assert!(matches!(refused, Err(Refusal::SoldOut { .. })), "no hall has as many: {refused:?}");
}
