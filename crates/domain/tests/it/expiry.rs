use holdfast_domain::{BookingId, Command, Event, Limit, PayTerms, Refusal};

use crate::sale::{Sale, TTL_S, hall, id, seats, stock, unit};

const TTL_MS: i64 = TTL_S as i64 * 1000;

#[test]
fn a_hold_lives_to_the_last_millisecond_and_not_one_longer() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4])]));
    let hold = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    sale.tick_ms(TTL_MS - 1);
    let mut in_time = sale.clone();
    assert!(in_time.confirm(hold).is_ok());
    assert!(sale.hold("bob", seats("hall", &["A-1"])).is_err());
    sale.tick_ms(1);
    assert_eq!(sale.confirm(hold), Err(Refusal::HoldExpired));
    assert_eq!(sale.tell(Command::ExtendHold { hold }), Err(Refusal::HoldExpired));
    assert!(sale.hold("bob", seats("hall", &["A-1"])).is_ok());
}

#[test]
fn taking_over_writes_down_the_expiry_first() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4])]));
    let old = sale.hold("alice", seats("hall", &["A-1", "A-2"])).unwrap();
    sale.tick_ms(TTL_MS);
    let command = sale.placing("bob", seats("hall", &["A-2"]));
    let decision = sale.tell(command).unwrap();
    assert_eq!(decision.events[0], Event::HoldExpired { hold: old });
    assert_eq!(decision.events.len(), 2);
    assert!(sale.hold("carol", seats("hall", &["A-1"])).is_ok(), "the whole hold has ended");
}

#[test]
fn extending_is_from_now_and_three_times_at_most() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4])]));
    let hold = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    for _ in 0..3 {
        sale.tick_ms(TTL_MS - 1);
        sale.tell(Command::ExtendHold { hold }).unwrap();
        assert_eq!(sale.get(hold).expires_at, sale.now.plus_ms(TTL_MS));
    }
    let refused = sale.tell(Command::ExtendHold { hold });
    assert_eq!(refused, Err(Refusal::LimitReached(Limit::Extensions { limit: 3 })));
}

#[test]
fn leaving_shortens_a_hold_and_coming_back_gives_back_what_is_left() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4])]));
    let hold = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    let own_end = sale.get(hold).expires_at;
    sale.tell(Command::LeaveHold { hold, keep_s: 60 }).unwrap();
    assert_eq!((sale.get(hold).expires_at, sale.get(hold).own_end()), (sale.now.plus_s(60), own_end));
    sale.tick_ms(59_999);
    assert!(sale.hold("bob", seats("hall", &["A-1"])).is_err(), "kept for whoever comes back");
    let again = sale.tell(Command::LeaveHold { hold, keep_s: 60 }).unwrap();
    assert!(again.events.is_empty(), "leaving again gains nothing");
    let mut gone = sale.clone();
    sale.tell(Command::ReturnToHold { hold }).unwrap();
    assert_eq!((sale.get(hold).expires_at, sale.get(hold).returns_to), (own_end, None));
    assert!(sale.tell(Command::ReturnToHold { hold }).unwrap().events.is_empty(), "there already");
    gone.tick_ms(1);
    assert_eq!(gone.tell(Command::ReturnToHold { hold }), Err(Refusal::HoldExpired));
    assert!(gone.hold("bob", seats("hall", &["A-1"])).is_ok());
}

#[test]
fn leaving_never_gives_time_and_whoever_does_something_is_there() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4])]));
    let hold = sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    let own_end = sale.get(hold).expires_at;
    assert!(sale.tell(Command::LeaveHold { hold, keep_s: TTL_S }).unwrap().events.is_empty());
    sale.tell(Command::LeaveHold { hold, keep_s: 1 }).unwrap();
    let mut extended = sale.clone();
    extended.tell(Command::ExtendHold { hold }).unwrap();
    assert_eq!((extended.get(hold).expires_at, extended.get(hold).returns_to), (own_end, None));
    let mut paying = sale.clone();
    let terms = PayTerms { pin_s: 120, grace_s: 0, look_s: 10 };
    let booking = BookingId::from_bits(7);
    paying.tell(Command::BeginPayment { booking, hold, method: None, terms }).unwrap();
    assert_eq!((paying.get(hold).expires_at, paying.get(hold).returns_to), (own_end, None));
    let leaving = paying.tell(Command::LeaveHold { hold, keep_s: 1 }).unwrap();
    assert!(leaving.events.is_empty(), "whoever pays may be sent to the bank's page");
    assert!(sale.confirm(hold).is_ok(), "and a hold that was left is a hold");
    assert!(sale.tell(Command::LeaveHold { hold, keep_s: 1 }).unwrap().events.is_empty());
}

#[test]
fn a_hold_over_several_offers_ends_with_the_shortest_of_them() {
    let mut short = stock("fest", 5, 3000);
    short.hold_ttl_s = 60;
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4])])).with(short);
    let hold = sale.hold("alice", vec![unit("hall", "A-1", 1), unit("fest", "GA", 2)]).unwrap();
    assert_eq!(sale.get(hold).expires_at, sale.now.plus_s(60));
    sale.tick_ms(60_000);
    assert!(sale.hold("bob", vec![unit("fest", "GA", 5), unit("hall", "A-1", 1)]).is_ok());
}

#[test]
fn what_is_said_to_be_in_the_way_does_not_depend_on_the_sweep() {
    let mut sale = Sale::new().with(stock("fest", 5, 3000));
    sale.hold("alice", vec![unit("fest", "GA", 3)]).unwrap();
    sale.tick_ms(TTL_MS / 2);
    sale.hold("bob", vec![unit("fest", "GA", 2)]).unwrap();
    sale.tick_ms(TTL_MS / 2);
    let unswept = sale.hold("carol", vec![unit("fest", "GA", 4)]);
    sale.tell(Command::Tidy { limit: 10 }).unwrap();
    assert_eq!(unswept, sale.hold("carol", vec![unit("fest", "GA", 4)]));
    assert!(matches!(unswept, Err(Refusal::SoldOut { .. })));
}

#[test]
fn blocking_takes_over_what_ran_out_and_refuses_what_lives() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[4])]));
    sale.hold("alice", seats("hall", &["A-1"])).unwrap();
    let block = Command::Block { offer: id("hall"), units: vec!["A-1".into()] };
    assert!(matches!(sale.tell(block.clone()), Err(Refusal::UnitTaken(_))));
    sale.tick_ms(TTL_MS);
    sale.tell(block).unwrap();
    assert!(matches!(sale.hold("bob", seats("hall", &["A-1"])), Err(Refusal::UnitBlocked(_))));
    sale.tell(Command::Unblock { offer: id("hall"), units: vec!["A-1".into()] }).unwrap();
    assert!(sale.hold("bob", seats("hall", &["A-1"])).is_ok());
}

#[test]
fn walking_over_a_crowd_of_expired_holds_is_linear() {
    let mut sale = Sale::new().with(stock("fest", 20_000, 1));
    // Without a check of every invariant each time: this test is about a crowd.
    for n in 0..20_000 {
        let command = sale.placing(&format!("buyer-{n}"), vec![unit("fest", "GA", 1)]);
        let decision = sale.decide(&command).unwrap();
        decision.events.iter().for_each(|event| holdfast_domain::apply(&mut sale.state, event, sale.now));
    }
    sale.tick_ms(TTL_MS);
    let command = sale.placing("late", vec![unit("fest", "GA", 20_000)]);
    assert_eq!(sale.decide(&command).unwrap().events.len(), 20_001);
}
