//! The draw: everybody can compute it, and nobody is favoured.

use sha2::{Digest, Sha256};

use super::{at, plan};
use crate::admission::waiting_room::{Method, Mode, Order, Plan, Room, order};

fn seed(n: u32) -> [u8; 32] {
    Sha256::digest(n.to_be_bytes()).into()
}

#[test]
fn places_are_a_permutation_and_late_comers_stand_behind() {
    let order = Order::draw(&seed(1), 1_000);
    let mut places: Vec<_> = (1..=1_000).map(|number| order.place(number).unwrap()).collect();
    assert_ne!(places, (1..=1_000).collect::<Vec<_>>());
    places.sort_unstable();
    assert_eq!(places, (1..=1_000).collect::<Vec<_>>());
    assert_eq!(order.place(1_001), Some(1_001));
    assert_eq!(order.place(0), None);
}

#[test]
fn the_commitment_is_published_before_and_fits_the_seed_after() {
    let mut room = Room::new(plan(Method::Lottery, 10), seed(7), at(0));
    let before = room.lottery.clone().unwrap();
    assert_eq!((before.drawn, Order::of(&room)), (None, Order::Undrawn));
    for _ in 0..20 {
        room.join(100).unwrap();
    }
    room.turn(&[], None, at(1));
    let after = room.lottery.clone().unwrap();
    assert_eq!(after.drawn, Some(20));
    assert_eq!(order::commitment(&after.seed), before.commitment());
    assert_eq!(Order::of(&room), Order::draw(&seed(7), 20));
    room.join(100).unwrap();
    room.turn(&[], None, at(2));
    assert_eq!(room.lottery.unwrap().drawn, Some(20), "the draw is over");
}

/// Paused or sold out, it opens when it was said to, and whoever joins afterwards stands behind.
#[test]
fn the_lots_are_drawn_at_the_opening_whatever_the_room_is_like() {
    let opens = Plan { opens_at_ms: Some(at(60).ms()), ..plan(Method::Lottery, 10) };
    for (mode, left) in [(Mode::Paused, Some(5)), (Mode::FailOpen, Some(5)), (Mode::Running, Some(0))] {
        let mut room = Room::new(opens.clone(), seed(7), at(0));
        room.mode = mode;
        room.join(100).unwrap();
        room.turn(&[], left, at(59));
        assert_eq!(room.lottery.as_ref().unwrap().drawn, None, "{mode:?}: not yet");
        assert!(room.is_to_be_drawn(at(60)));
        room.turn(&[], left, at(60));
        room.join(100).unwrap();
        room.turn(&[], left, at(61));
        assert_eq!(room.lottery.unwrap().drawn, Some(1), "{mode:?}");
    }
}

/// Chi-square on a table of tenths: who joined in which tenth, and got a place in which tenth. With 81 degrees of freedom
/// a fair draw stays below 126.1 with 99.9 % certainty. The seeds are fixed, so the answer is too.
#[test]
fn joining_early_or_late_is_worth_nothing() {
    const TICKETS: u32 = 500;
    const DRAWS: u32 = 400;
    let mut table = [[0_u32; 10]; 10];
    for draw in 0..DRAWS {
        let order = Order::draw(&seed(draw), TICKETS);
        for number in 1..=TICKETS {
            let tenth = |at: u32| ((at - 1) * 10 / TICKETS) as usize;
            table[tenth(number)][tenth(order.place(number).unwrap())] += 1;
        }
    }
    let expected = f64::from(TICKETS * DRAWS) / 100.0;
    let off = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
    let chi_square: f64 = table.iter().flatten().map(off).sum();
    println!("chi-square {chi_square:.1} with 81 degrees of freedom");
    assert!(chi_square < 126.1, "{chi_square}");
    assert!(chi_square > 45.8, "{chi_square}: too even to be a draw");
}
