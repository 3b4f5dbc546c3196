//! One history for each wrong, and for each right that looks like it.

use holdfast_checker::{
    Anomaly, Call, Claim, Doubt, Evidence, History, Outcome, Verdict,
    history::{Answer, Ending, Kept, KeptBooking, KeptHold, KeptState, Reason},
    judge,
};

use crate::scene::{OTHER, SEAT, STOCK, Scene, held, seat};

#[test]
fn a_plain_sale_is_valid() {
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .refused(20..30, 2, SEAT)
        .confirm(40..50, 1)
        .refused(60..70, 3, SEAT)
        .read(80..90, SEAT, 0, 1)
        .cancel(100..110, 1)
        .held(120..130, 4, SEAT, 2000)
        .is_valid();
}

#[test]
fn a_seat_booked_twice_is_a_double_sale() {
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .held(5..15, 2, SEAT, 1000)
        .confirm(20..30, 1)
        .confirm(25..35, 2)
        .shows(Anomaly::DoubleSale, &[0, 1, 2, 3]);
}

#[test]
fn a_unit_given_away_under_a_living_hold_is_stolen() {
    Scene::new().held(0..10, 1, SEAT, 1000).held(20..30, 2, SEAT, 1000).shows(Anomaly::StolenHold, &[0, 1]);
}

#[test]
fn a_unit_taken_after_expiry_is_not() {
    Scene::new().held(0..10, 1, SEAT, 1000).held(995..1000, 2, SEAT, 2000).is_valid();
    Scene::new().held(0..10, 1, SEAT, 1000).held(990..999, 2, SEAT, 2000).shows(Anomaly::StolenHold, &[0, 1]);
}

#[test]
fn clocks_that_may_differ_are_given_the_benefit_of_the_doubt() {
    let early = Scene::new().held(0..10, 1, SEAT, 1000).held(990..997, 2, SEAT, 2000);
    early.shows(Anomaly::StolenHold, &[0, 1]);
    early.tolerance(5).is_valid();
}

#[test]
fn stock_beyond_its_capacity_is_oversold() {
    let two = &[Claim { unit: STOCK, qty: 2 }];
    let scene = Scene::new().hold(0..10, 1, two, held(1, 1, two, 1000)).hold(
        0..10,
        2,
        &[seat(STOCK)],
        held(2, 2, &[seat(STOCK)], 1000),
    );
    scene.is_valid();
    let scene = scene.hold(5..15, 3, &[seat(STOCK)], held(3, 3, &[seat(STOCK)], 1000));
    scene.shows(Anomaly::Oversell, &[0, 1, 2]);
}

#[test]
fn a_confirm_at_the_expiry_is_late() {
    Scene::new().held(0..10, 1, SEAT, 1000).confirm(1000..1010, 1).shows(Anomaly::LateConfirm, &[0, 1]);
    Scene::new().held(0..10, 1, SEAT, 1000).confirm(999..1010, 1).is_valid();
    Scene::new().held(0..10, 1, SEAT, 1000).extend(900..910, 1, 1900).confirm(1000..1010, 1).is_valid();
}

#[test]
fn an_extension_at_the_expiry_is_late() {
    Scene::new().held(0..10, 1, SEAT, 1000).extend(1000..1010, 1, 2000).shows(Anomaly::LateExtend, &[0, 1]);
    Scene::new().held(0..10, 1, SEAT, 1000).extend(999..1010, 1, 1999).extend(1500..1510, 1, 2500).is_valid();
}

#[test]
fn a_hold_called_expired_too_soon_was_cut_short() {
    let refused =
        |during| Scene::new().held(0..10, 1, SEAT, 1000).confirm_refused(during, 1, Reason::Expired);
    refused(980..999).shows(Anomaly::EarlyExpiry, &[0, 1]);
    refused(980..1000).is_valid();
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .extend(500..510, 1, 1500)
        .confirm_refused(1100..1110, 1, Reason::Expired)
        .shows(Anomaly::EarlyExpiry, &[0, 2]);
}

#[test]
fn one_hold_becomes_one_booking() {
    let second = Outcome::Ok(Answer::Confirmed { booking: 9, holder: 1 });
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .confirm(20..30, 1)
        .op(40..50, Call::Confirm { hold: 1, key: None }, second)
        .shows(Anomaly::BookedTwice, &[1, 2]);
}

#[test]
fn nobody_is_refused_what_nobody_has() {
    Scene::new().refused(0..10, 1, SEAT).shows(Anomaly::FalseRefusal, &[0]);
    Scene::new().held(20..30, 1, SEAT, 1000).refused(0..10, 2, SEAT).shows(Anomaly::FalseRefusal, &[1]);
    Scene::new().held(5..30, 1, SEAT, 1000).refused(0..10, 2, SEAT).is_valid();
    // Expired, swept or not, a hold is no reason.
    Scene::new().held(0..10, 1, SEAT, 1000).refused(1001..1010, 2, SEAT).shows(Anomaly::FalseRefusal, &[1]);
    // What was released is no reason either, unless the release had not arrived.
    let released = Scene::new().held(0..10, 1, SEAT, 1000).release(20..30, 1);
    released.refused(31..40, 2, SEAT).shows(Anomaly::FalseRefusal, &[2]);
}

#[test]
fn an_unanswered_hold_may_be_in_the_way_and_may_not() {
    let unanswered = || Scene::new().hold(0..10, 1, &[seat(SEAT)], Outcome::Unknown);
    unanswered().refused(500..510, 2, SEAT).is_valid();
    unanswered().held(500..510, 2, SEAT, 2000).is_valid();
    unanswered().confirm(500..510, 1).refused(600..610, 2, SEAT).is_valid();
    // Once it has been seen to exist it cannot be walked over.
    unanswered().confirm(500..510, 1).held(600..610, 2, SEAT, 2000).shows(Anomaly::StolenHold, &[0, 1, 2]);
}

#[test]
fn an_unanswered_hold_on_the_best_leaves_a_doubt() {
    let best = |outcome| Scene::new().hold(0..10, 1, &[], outcome);
    best(held(1, 1, &[seat(OTHER)], 1000)).refused(20..30, 2, SEAT).shows(Anomaly::FalseRefusal, &[1]);
    let verdict = best(Outcome::Unknown).refused(20..30, 2, SEAT).judge();
    assert!(
        matches!(&verdict, Verdict::Unknown(doubts, _) if *doubts == [Doubt::UnknownClaims]),
        "{verdict}"
    );
    let there = Ending { at: 500, holds: vec![kept_hold(1)], ..Ending::default() };
    best(Outcome::Unknown).refused(20..30, 2, SEAT).ending(there).is_valid();
}

#[test]
fn an_unanswered_confirm_may_have_happened() {
    let unanswered = || {
        Scene::new().held(0..10, 1, SEAT, 1000).op(
            20..30,
            Call::Confirm { hold: 1, key: None },
            Outcome::Unknown,
        )
    };
    unanswered().refused(5000..5010, 2, SEAT).is_valid();
    unanswered().held(5000..5010, 2, SEAT, 9000).is_valid();
    unanswered().confirm_refused(40..50, 1, Reason::AlreadyBooked).is_valid();
    unanswered()
        .confirm_refused(40..50, 1, Reason::AlreadyBooked)
        .held(5000..5010, 2, SEAT, 9000)
        .shows(Anomaly::NotLinearizable, &[0, 2, 3]);
}

#[test]
fn a_key_answers_for_its_first_question() {
    let call = |key| Call::Hold { holder: 1, claims: vec![seat(SEAT)], key: Some(key), hold: None };
    let yes = |hold| held(hold, 1, &[seat(SEAT)], 1000);
    // The reply was lost; the retry, after somebody else's refusal, found that it had happened.
    Scene::new()
        .op(0..10, call(7), Outcome::Unknown)
        .refused(20..30, 2, SEAT)
        .op(40..50, call(7), yes(1))
        .is_valid();
    Scene::new().op(0..10, call(7), yes(1)).op(5000..5010, call(7), yes(1)).is_valid();
    let (first, second) = (&[seat(SEAT)], &[seat(OTHER)]);
    let other = Call::Hold { holder: 1, claims: second.to_vec(), key: Some(7), hold: None };
    Scene::new()
        .op(0..10, call(7), held(1, 1, first, 1000))
        .op(20..30, other, held(2, 1, second, 1000))
        .shows(Anomaly::KeyTwice, &[0, 1]);
}

#[test]
fn an_answer_goes_to_the_one_who_asked() {
    let call = Call::Hold { holder: 1, claims: vec![seat(SEAT)], key: None, hold: None };
    Scene::new().op(0..10, call, held(3, 2, &[seat(SEAT)], 1000)).shows(Anomaly::CrossedAnswer, &[0]);
    let booked_for_another = Outcome::Ok(Answer::Confirmed { booking: 1, holder: 2 });
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .op(20..30, Call::Confirm { hold: 1, key: None }, booked_for_another)
        .shows(Anomaly::CrossedAnswer, &[0, 1]);
}

#[test]
fn a_hold_has_all_its_lines() {
    let both = &[seat(SEAT), seat(OTHER)];
    Scene::new().hold(0..10, 1, both, held(1, 1, both, 1000)).is_valid();
    Scene::new().hold(0..10, 1, both, held(1, 1, &both[..1], 1000)).shows(Anomaly::PartialHold, &[0]);
    // The lines that a refused hold took all the same show as refusals of others.
    Scene::new()
        .held(0..10, 1, OTHER, 1000)
        .hold(20..30, 2, both, crate::scene::taken(OTHER))
        .refused(40..50, 3, SEAT)
        .shows(Anomaly::FalseRefusal, &[2]);
}

#[test]
fn what_was_acknowledged_is_known_later() {
    let unknown =
        |during| Scene::new().held(0..10, 1, SEAT, 1000).confirm_refused(during, 1, Reason::UnknownHold);
    unknown(20..30).shows(Anomaly::LostHold, &[0, 1]);
    unknown(5..30).is_valid();
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .confirm_refused(20..30, 1, Reason::Released)
        .shows(Anomaly::LostHold, &[0, 1]);
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .confirm_refused(20..30, 1, Reason::AlreadyBooked)
        .shows(Anomaly::PhantomBooking, &[0, 1]);
    Scene::new().confirm(20..30, 1).shows(Anomaly::PhantomBooking, &[0]);
}

#[test]
fn a_release_that_was_acknowledged_happened() {
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .release(20..30, 1)
        .confirm(40..50, 1)
        .shows(Anomaly::LostRelease, &[0, 1, 2]);
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .release(20..45, 1)
        .confirm_refused(40..50, 1, Reason::Released)
        .is_valid();
}

#[test]
fn a_read_shows_what_was_acknowledged_before_it() {
    let booked = || Scene::new().held(0..10, 1, SEAT, 1000).confirm(20..30, 1);
    booked().read(31..40, SEAT, 0, 1).is_valid();
    booked().read(25..40, SEAT, 1, 0).is_valid();
    booked().read(31..40, SEAT, 0, 0).shows(Anomaly::StaleRead, &[1, 2]);
    Scene::new().read(0..10, SEAT, 0, 1).shows(Anomaly::StaleRead, &[0]);
    // Held is held: a read that misses a living hold has no place in any order.
    Scene::new().held(0..10, 1, SEAT, 1000).read(20..30, SEAT, 0, 0).shows(Anomaly::NotLinearizable, &[0, 1]);
    // An expired hold may still be shown, or not.
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .read(2000..2010, SEAT, 0, 0)
        .read(2000..2010, SEAT, 1, 0)
        .is_valid();
}

#[test]
fn reads_may_not_run_backwards() {
    // While the confirm runs one read sees it and a later one does not.
    Scene::new()
        .held(0..10, 1, SEAT, 1000)
        .confirm(20..100, 1)
        .read(30..40, SEAT, 0, 1)
        .read(50..60, SEAT, 1, 0)
        .shows(Anomaly::NotLinearizable, &[2, 3]);
}

#[test]
fn versions_follow_real_time() {
    let mut history: History = History::from_json(
        r#"{"units":[{"name":"seat","capacity":1}],"operations":[
            {"process":0,"start":0,"end":10,"version":7,"call":{"hold":{"holder":1,"claims":[{"unit":0,"qty":1}]}},
             "outcome":{"ok":{"held":{"hold":1,"holder":1,"claims":[{"unit":0,"qty":1}],"expires_at":100}}}},
            {"process":0,"start":200,"end":210,"version":6,"call":{"hold":{"holder":2,"claims":[{"unit":0,"qty":1}]}},
             "outcome":{"ok":{"held":{"hold":2,"holder":2,"claims":[{"unit":0,"qty":1}],"expires_at":300}}}}]}"#,
    )
    .unwrap();
    assert!(judge(&history, Evidence::NONE).shows(Anomaly::VersionDisorder));
    history.operations[1].version = Some(8);
    assert!(judge(&history, Evidence::NONE).is_valid());
}

fn kept_hold(hold: u32) -> KeptHold {
    KeptHold { hold, claims: vec![seat(SEAT)], expires_at: 1000, state: KeptState::Active }
}

fn kept_booking(hold: u32, cancelled: bool) -> KeptBooking {
    KeptBooking { booking: hold, hold, claims: vec![seat(SEAT)], cancelled }
}

#[test]
fn what_was_acknowledged_is_there_at_the_end() {
    let empty = |at| Ending { at, ..Ending::default() };
    let hold = || Scene::new().held(0..10, 1, SEAT, 1000);
    hold().ending(empty(500)).shows(Anomaly::LostHold, &[0]);
    hold().ending(empty(1000)).is_valid();
    hold().ending(Ending { at: 500, holds: vec![kept_hold(1)], ..Ending::default() }).is_valid();
    hold().confirm(20..30, 1).ending(empty(500)).shows(Anomaly::LostBooking, &[0, 1]);
    let booked =
        |cancelled| Ending { at: 500, bookings: vec![kept_booking(1, cancelled)], ..Ending::default() };
    hold().confirm(20..30, 1).ending(booked(false)).is_valid();
    hold().confirm(20..30, 1).ending(booked(true)).shows(Anomaly::LostBooking, &[0, 1]);
    hold().confirm(20..30, 1).cancel(40..50, 1).ending(booked(true)).is_valid();
    hold().confirm(20..30, 1).cancel(40..50, 1).ending(booked(false)).shows(Anomaly::LostRelease, &[1, 2]);
    let still_held = || Ending { at: 500, holds: vec![kept_hold(1)], ..Ending::default() };
    hold().release(20..30, 1).ending(still_held()).shows(Anomaly::LostRelease, &[0, 1]);
}

#[test]
fn the_store_says_what_became_of_the_unanswered() {
    let unanswered = || Scene::new().hold(0..10, 1, &[seat(SEAT)], Outcome::Unknown);
    let absent = || Ending { at: 500, ..Ending::default() };
    let there = || Ending { at: 500, holds: vec![kept_hold(1)], ..Ending::default() };
    unanswered().refused(20..30, 2, SEAT).ending(there()).is_valid();
    unanswered().refused(20..30, 2, SEAT).ending(absent()).shows(Anomaly::FalseRefusal, &[1]);
    // Once it is known to be there, it is known when it ends.
    let later = |at| Ending { at, holds: vec![kept_hold(1)], ..Ending::default() };
    unanswered().refused(1001..1010, 2, SEAT).ending(later(2000)).shows(Anomaly::FalseRefusal, &[1]);
}

#[test]
fn nothing_else_is_there_at_the_end() {
    let refused = || Scene::new().held(0..10, 2, SEAT, 100).refused(20..30, 1, SEAT).release(40..50, 2);
    let hold = Ending { at: 500, holds: vec![kept_hold(1)], ..Ending::default() };
    refused().ending(hold).shows(Anomaly::PhantomHold, &[]);
    let booking = Ending { at: 500, bookings: vec![kept_booking(1, false)], ..Ending::default() };
    refused().ending(booking).shows(Anomaly::PhantomBooking, &[]);
    let both = &[seat(SEAT), seat(OTHER)];
    let half = Ending { at: 500, holds: vec![kept_hold(1)], ..Ending::default() };
    Scene::new().hold(0..10, 1, both, held(1, 1, both, 1000)).ending(half).shows(Anomaly::PartialHold, &[0]);
}

#[test]
fn the_stores_sums_are_the_sums_of_its_rows() {
    let ending = |held| Ending {
        at: 500,
        holds: vec![kept_hold(1)],
        bookings: vec![],
        units: vec![Kept { held, booked: 0 }, Kept::default(), Kept::default()],
    };
    Scene::new().held(0..10, 1, SEAT, 1000).ending(ending(1)).is_valid();
    Scene::new().held(0..10, 1, SEAT, 1000).ending(ending(2)).shows(Anomaly::WrongSums, &[]);
}

#[test]
fn the_counterexample_leaves_out_what_is_beside_the_point() {
    let mut scene = Scene::new().held(0..10, 1, SEAT, 100_000);
    for at in 0..200 {
        scene = scene.refused(20 + at * 10..25 + at * 10, 2 + at as u32, SEAT);
    }
    scene
        .read(5000..5010, SEAT, 0, 0)
        .refused(6000..6010, 500, SEAT)
        .shows(Anomaly::NotLinearizable, &[0, 201]);
}

#[test]
fn a_run_that_saw_nothing_proves_nothing() {
    let judged = |scene: Scene| {
        let history = History::from_json(&scene_json(scene)).unwrap();
        judge(&history, Evidence::ALL)
    };
    let all =
        Scene::new().held(0..10, 1, SEAT, 1000).refused(20..30, 2, SEAT).held(1001..1010, 3, SEAT, 2000);
    assert!(judged(all).is_valid());
    let no_expiry = judged(Scene::new().held(0..10, 1, SEAT, 1000).refused(20..30, 2, SEAT));
    assert!(
        matches!(&no_expiry, Verdict::Unknown(doubts, _) if *doubts == [Doubt::ProvesNothing(vec!["expiry"])])
    );
    assert!(no_expiry.to_string().contains("proves nothing: no expiry"));
    assert!(!judged(Scene::new()).is_valid());
}

fn scene_json(scene: Scene) -> String {
    scene.into_history().to_json()
}

#[test]
fn a_history_from_outside_is_checked_before_it_is_judged() {
    for bad in [
        "",
        "{}",
        r#"{"units":[],"operations":[{"process":0,"start":5,"end":4,"call":{"read":{"unit":0}},"outcome":"unknown"}]}"#,
        r#"{"units":[],"operations":[{"process":0,"start":5,"end":6,"call":{"read":{"unit":0}},"outcome":"unknown"}]}"#,
        r#"{"units":[],"operations":[{"process":0,"start":5,"end":6,"call":{"release":{"hold":4000000000}},"outcome":"unknown"}]}"#,
        r#"{"units":[],"operations":[],"ending":{"at":0,"holds":[{"hold":0,"claims":[{"unit":3,"qty":1}],"expires_at":0,"state":"active"}],"bookings":[]}}"#,
    ] {
        assert!(History::from_json(bad).is_err(), "{bad}");
    }
}
