//! Calendars: random services at random times never overlap beyond capacity, and nothing else is refused.

use holdfast_domain::{HoldId, Moment, Refusal};
use proptest::prelude::*;

use crate::sale::{Sale, TTL_S, at, calendar, slot};

const SERVICES: [(&str, u32, u32, u32); 4] =
    [("brief", 0, 15, 0), ("consult", 0, 30, 15), ("odd", 5, 40, 10), ("long", 30, 120, 30)];

#[test]
fn alternatives_are_the_nearest_free_starts_and_not_in_the_past() {
    let mut sale = Sale::new().with(calendar("dr-lee", 1, &SERVICES));
    let nine = at("2026-11-16T09:00:00+01:00");
    sale.hold("alice", vec![slot("dr-lee", "consult", nine)]).unwrap();
    let Err(Refusal::UnitTaken(conflict)) = sale.hold("bob", vec![slot("dr-lee", "consult", nine)]) else {
        panic!()
    };
    let keys: Vec<_> = conflict.conflicts.iter().map(|conflict| conflict.unit.as_str()).collect();
    assert_eq!(keys, ["2026-11-16T08:00Z", "2026-11-16T08:15Z", "2026-11-16T08:30Z"]);
    // Yesterday's last start is nearer than nothing, but over.
    assert_eq!(conflict.alternatives, [["2026-11-16T08:45Z"], ["2026-11-16T09:00Z"], ["2026-11-16T09:15Z"]]);
}

/// What a hold claims in minutes, whole steps of the grid around the service.
#[derive(Debug, Clone, Copy)]
struct Claimed {
    hold: HoldId,
    from: i64,
    to: i64,
    until: Moment,
}

fn claimed(service: usize, start: Moment) -> (i64, i64) {
    let (_, before, minutes, after) = SERVICES[service];
    let up = |minutes: u32| i64::from(minutes.div_ceil(15) * 15);
    let start = start.ms() / 60_000;
    (start - up(before), start + up(minutes + after))
}

/// How many claims cover the fullest minute between `from` and `to`.
fn fullest(claims: &[Claimed], from: i64, to: i64, now: Moment) -> usize {
    let covers =
        |claim: &&Claimed, minute: i64| (claim.from..claim.to).contains(&minute) && now < claim.until;
    (from..to).map(|minute| claims.iter().filter(|claim| covers(claim, minute)).count()).max().unwrap_or(0)
}

#[derive(Debug, Clone)]
enum Step {
    Hold { service: usize, quarter: i64 },
    Release { nth: prop::sample::Index },
    Book { nth: prop::sample::Index },
    Tick { ms: i64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Quarters from 08:00 to 18:00 in Berlin on one day: some outside the hours.
    let hold = (0..SERVICES.len(), 0..40i64).prop_map(|(service, quarter)| Step::Hold { service, quarter });
    let release = any::<prop::sample::Index>().prop_map(|nth| Step::Release { nth });
    let book = any::<prop::sample::Index>().prop_map(|nth| Step::Book { nth });
    let tick = (1..i64::from(TTL_S) * 400).prop_map(|ms| Step::Tick { ms });
    prop::collection::vec(prop_oneof![8 => hold, 1 => release, 1 => book, 2 => tick], 1..60)
}

fn run(capacity: u32, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut sale = Sale::new().with(calendar("dr-lee", capacity, &SERVICES));
    let eight = at("2026-11-18T08:00:00+01:00");
    let mut claims: Vec<Claimed> = Vec::new();
    for (buyer, step) in steps.into_iter().enumerate() {
        match step {
            Step::Tick { ms } => sale.tick_ms(ms),
            Step::Release { nth } if !claims.is_empty() => {
                let hold = claims[nth.index(claims.len())].hold;
                if sale.tell(holdfast_domain::Command::ReleaseHold { hold }).is_ok() {
                    claims.retain(|claim| claim.hold != hold);
                }
            }
            Step::Book { nth } if !claims.is_empty() => {
                let at = nth.index(claims.len());
                if sale.confirm(claims[at].hold).is_ok() {
                    prop_assert!(sale.now < claims[at].until);
                    claims[at].until = Moment::MAX;
                }
            }
            Step::Release { .. } | Step::Book { .. } => {}
            Step::Hold { service, quarter } => {
                let start = eight.plus_ms(quarter * 15 * 60_000);
                let (key, _, minutes, _) = SERVICES[service];
                let (from, to) = claimed(service, start);
                let open = quarter >= 4 && quarter * 15 + i64::from(minutes) <= 9 * 60;
                let room = fullest(&claims, from, to, sale.now) < capacity as usize;
                let answer = sale.hold(&format!("buyer-{buyer}"), vec![slot("dr-lee", key, start)]);
                match answer {
                    Ok(hold) => {
                        prop_assert!(open && room);
                        claims.push(Claimed { hold, from, to, until: sale.get(hold).expires_at });
                    }
                    Err(Refusal::InvalidTime { .. }) => prop_assert!(!open),
                    Err(Refusal::UnitTaken(_)) => prop_assert!(open && !room),
                    Err(other) => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn services_never_overlap_beyond_capacity_and_nothing_else_is_refused(capacity in 1..4u32, steps in steps()) {
        run(capacity, steps)?;
    }
}
