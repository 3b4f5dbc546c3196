//! A long history folded at once is the history folded step by step.

use holdfast_domain::{BookingId, Command, Event, Fold, HoldId, Moment, State, apply, invariants::check};

use crate::sale::{Sale, hall, id, stock, unit};

/// Enough that the sums are made on two threads.
const BUYERS: u32 = 30_000;

/// Decides and applies, without a check of every invariant each time.
fn note(sale: &mut Sale, history: &mut Vec<(Event, Moment)>, command: &Command) {
    for event in sale.decide(command).expect("a sound command").events {
        apply(&mut sale.state, &event, sale.now);
        history.push((event, sale.now));
    }
}

#[test]
fn a_long_history_adds_up_at_once_as_step_by_step() {
    let mut sale = Sale::new().with(hall("hall", &[("A", &[400; 26])])).with(stock("fest", 2 * BUYERS, 1));
    let begun = sale.state.parts();
    let mut history = Vec::new();
    for n in 0..BUYERS {
        let row = char::from(b'A' + (n / 1200) as u8);
        let mut asks = vec![unit("fest", "GA", 1 + n / 20_000)];
        asks.extend((n % 3 == 0).then(|| unit("hall", &format!("{row}-{}", n / 3 % 400 + 1), 1)));
        let command = sale.placing(&format!("buyer-{}", n % 20_000), asks);
        note(&mut sale, &mut history, &command);
        sale.tick_ms(i64::from(n % 2));
        let Command::PlaceHold { hold, .. } = command else { unreachable!("a hold was placed") };
        let booking = BookingId::from_bits(u128::from(n));
        match n % 10 {
            0 => note(&mut sale, &mut history, &Command::ReleaseHold { hold }),
            1 => note(&mut sale, &mut history, &Command::Confirm { booking, hold }),
            2 => note(&mut sale, &mut history, &Command::ExtendHold { hold }),
            3 => {
                note(&mut sale, &mut history, &Command::Confirm { booking, hold });
                note(&mut sale, &mut history, &Command::Cancel { booking });
            }
            _ => {}
        }
    }
    let block = Command::Block { offer: id("hall"), units: vec!["Z-1".into()] };
    note(&mut sale, &mut history, &block);

    assert_eq!(check(&sale.state), [], "which sums up the parts at once");
    let mut fold = Fold::of(begun);
    history.into_iter().for_each(|(event, at)| fold.add(event, at));
    let folded = fold.finish();
    assert_eq!(folded.parts(), sale.state.parts());
    assert_eq!(folded, State::from_parts(sale.state.parts()));
    assert_eq!(check(&folded), []);
    assert!(folded.hold(HoldId::from_bits(1), sale.now).is_some());
}
