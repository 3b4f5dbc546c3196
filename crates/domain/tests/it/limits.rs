use holdfast_domain::{Command, Limit, OfferDef, Refusal};

use crate::sale::{Sale, TTL_S, best, hall, id, seats, stock, unit};

fn limited(limit: u32, def: OfferDef) -> OfferDef {
    OfferDef { limit_per_holder: Some(limit), ..def }
}

fn refusal(limit: u32, used: u64, asked: u64) -> Refusal {
    Refusal::LimitReached(Limit::PerHolder { offer: id("hall"), limit, used, asked })
}

#[test]
fn a_limit_counts_holds_and_bookings_until_they_are_given_back() {
    let mut sale = Sale::new().with(limited(3, hall("hall", &[("A", &[9])])));
    let booked = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    let booking = sale.confirm(booked).unwrap();
    let held = sale.hold("alice", seats("hall", &["A-2"])).unwrap();
    assert_eq!(sale.hold("alice", vec![best("hall", 2, None)]), Err(refusal(3, 2, 2)));
    assert!(sale.hold("bob", vec![best("hall", 3, None)]).is_ok(), "another's limit is another's");
    sale.tell(Command::ReleaseHold { hold: held }).unwrap();
    assert!(sale.hold("alice", vec![best("hall", 2, None)]).is_ok());
    sale.tell(Command::Cancel { booking }).unwrap();
    assert!(sale.hold("alice", vec![best("hall", 1, None)]).is_ok());
}

#[test]
fn a_hold_that_ran_out_does_not_count_swept_or_not() {
    let mut sale = Sale::new().with(limited(2, hall("hall", &[("A", &[9])])));
    sale.hold("alice", seats("hall", &["A-1", "A-2"])).unwrap();
    sale.tick_ms(i64::from(TTL_S) * 1000 - 1);
    assert_eq!(sale.hold("alice", seats("hall", &["A-3"])), Err(refusal(2, 2, 1)));
    sale.tick_ms(1);
    assert!(sale.hold("alice", seats("hall", &["A-3", "A-4"])).is_ok());
    assert_eq!(sale.hold("alice", seats("hall", &["A-5"])), Err(refusal(2, 2, 1)));
}

#[test]
fn several_lines_of_one_offer_count_together() {
    let mut sale = Sale::new().with(limited(3, hall("hall", &[("A", &[9])])));
    let asks = vec![unit("hall", "A-1", 1), best("hall", 3, None)];
    assert_eq!(sale.hold("alice", asks), Err(refusal(3, 0, 4)));
}

#[test]
fn asking_again_for_the_same_is_no_second_hold_even_at_the_limit() {
    let mut sale = Sale::new().with(limited(2, hall("hall", &[("A", &[9])])));
    let first = sale.hold("alice", seats("hall", &["A-1", "A-2"])).unwrap();
    let ends = sale.get(first).expires_at;
    sale.tick_ms(1000);
    assert_eq!(sale.hold("alice", seats("hall", &["A-2", "A-1"])), Ok(first), "in whichever order");
    assert_eq!(sale.get(first).expires_at, ends);
    assert!(sale.hold("alice", seats("hall", &["A-1"])).is_err(), "a part of it is another wish");
    assert!(sale.hold("bob", seats("hall", &["A-1", "A-2"])).is_err());
}

#[test]
fn a_box_office_with_very_many_holds_finds_its_own_again() {
    let mut sale = Sale::new().with(limited(200, stock("hall", 1_000, 1)));
    let quantities = 1..=15;
    let holds: Vec<_> =
        quantities.clone().map(|qty| sale.hold("office", vec![unit("hall", "GA", qty)]).unwrap()).collect();
    for (qty, hold) in quantities.zip(holds) {
        assert_eq!(sale.hold("office", vec![unit("hall", "GA", qty)]), Ok(hold));
    }
    assert_eq!(sale.hold("office", vec![unit("hall", "GA", 81)]), Err(refusal(200, 120, 81)));
}
