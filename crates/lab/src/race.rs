//! A race for one unit as its buyers saw it, judged and ready to be drawn.
//!
//! What each buyer heard becomes a history, the checker reads it, and what it finds becomes bands in the picture.
//! Nothing here decides whether a race went well. Called by whoever runs a race and wants its picture.

use holdfast_checker::{
    Anomaly, Call, Claim, Evidence, History, Operation, Outcome as Told, Violation as Found,
    history::{Answer, Micros, Reason, UnitInfo},
    judge,
};

use crate::{
    lanes::snake,
    report::model::{Lane, Outcome, Owner, Race, Violation},
};

/// Lanes beyond these are counted, not drawn: nobody could tell them apart.
pub const MOST_LANES: usize = 1000;

/// Claims of a race outlive it.
const NEVER: Micros = Micros::MAX / 4;

/// What the race was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    pub strategy: String,
    pub scenario: String,
    pub seed: u64,
    pub unit: String,
    pub capacity: u32,
    /// Whether winning is a booking, or a hold that may become one.
    pub sells: bool,
}

/// One buyer's way through it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entrant {
    pub lane: Lane,
    /// Of one who was refused: because the unit was gone, and not for load or limits.
    pub for_the_unit: bool,
}

/// The race with what the checker found in it.
pub fn judged(course: Course, entrants: Vec<Entrant>) -> Race {
    let end_us = entrants.iter().map(|entrant| entrant.lane.end_us).max().unwrap_or_default();
    let (history, actor_of) = history(&course, &entrants);
    let verdict = judge(&history, Evidence::NONE);
    let owners = owners(&entrants);
    let bands = verdict.violations().iter().map(|found| {
        let actors: Vec<&Lane> = found.operations.iter().map(|&at| &entrants[actor_of[at]].lane).collect();
        band(&course, found, &actors, &owners, end_us)
    });
    let violations = bands.collect();
    let buyers = u32::try_from(entrants.len()).unwrap_or(u32::MAX);
    let Course { strategy, scenario, seed, unit, .. } = course;
    Race { strategy, scenario, buyers, seed, unit, lanes: drawn(entrants), owners, violations }
}

/// What the buyers asked and heard, and which of them each operation belongs to.
fn history(course: &Course, entrants: &[Entrant]) -> (History, Vec<usize>) {
    let unit = UnitInfo { name: course.unit.clone(), capacity: course.capacity };
    let mut history = History { units: vec![unit], ..History::default() };
    let mut actor_of = Vec::with_capacity(entrants.len());
    for (at, entrant) in entrants.iter().enumerate() {
        let operations = operations(course, u32::try_from(at).unwrap_or(u32::MAX), entrant);
        actor_of.extend(operations.iter().map(|_| at));
        history.operations.extend(operations);
    }
    (history, actor_of)
}

fn operations(course: &Course, number: u32, entrant: &Entrant) -> Vec<Operation> {
    let claims = vec![Claim { unit: 0, qty: 1 }];
    let (start, end) = (micros(entrant.lane.start_us), micros(entrant.lane.end_us));
    let operation =
        |start, call, outcome| Operation { process: number, start, end, call, outcome, version: None };
    let call = Call::Hold { holder: number, claims: claims.clone(), key: None, hold: Some(number) };
    let held = Answer::Held { hold: number, holder: number, claims, expires_at: NEVER, again: false };
    match entrant.lane.outcome {
        Outcome::Won => {
            let mut told = vec![operation(start, call, Told::Ok(held))];
            if course.sells {
                let sold = Answer::Confirmed { booking: number, holder: number };
                told.push(operation(end, Call::Confirm { hold: number, key: None }, Told::Ok(sold)));
            }
            told
        }
        Outcome::Refused => {
            let reason = if entrant.for_the_unit {
                Reason::Taken(vec![0])
            } else {
                Reason::Other(entrant.lane.words.clone())
            };
            vec![operation(start, call, Told::Fail(reason))]
        }
        Outcome::Unknown => vec![operation(start, call, Told::Unknown)],
    }
}

fn micros(us: u64) -> Micros {
    Micros::try_from(us).unwrap_or(NEVER)
}

/// Everybody who was told that it is theirs, from the moment they heard it.
fn owners(entrants: &[Entrant]) -> Vec<Owner> {
    let won = entrants.iter().map(|entrant| &entrant.lane).filter(|lane| lane.outcome == Outcome::Won);
    let mut owners: Vec<Owner> =
        won.map(|lane| Owner { holder: lane.buyer.clone(), from_us: lane.end_us, to_us: None }).collect();
    owners.sort_by_key(|owner| owner.from_us);
    owners
}

/// Where in time something wrong is to be seen. Too many owners: from the one too many on, and with all of them,
/// though the checker needs only two to prove it.
fn band(course: &Course, found: &Found, actors: &[&Lane], owners: &[Owner], end_us: u64) -> Violation {
    let kind = snake(&format!("{:?}", found.anomaly));
    let words = found.what.clone();
    let unit = course.unit.clone();
    let crowded = matches!(found.anomaly, Anomaly::DoubleSale | Anomaly::StolenHold | Anomaly::Oversell);
    match owners.get(course.capacity as usize).filter(|_| crowded) {
        Some(one_too_many) => {
            let holders: Vec<String> = owners.iter().map(|owner| owner.holder.clone()).collect();
            let words = format!("{unit} has {} owners: {}", holders.len(), listed(&holders));
            Violation { kind, unit, holders, from_us: one_too_many.from_us, to_us: end_us, words }
        }
        None => Violation {
            kind,
            unit,
            holders: actors.iter().map(|lane| lane.buyer.clone()).collect(),
            from_us: actors.iter().map(|lane| lane.start_us).min().unwrap_or_default(),
            to_us: actors.iter().map(|lane| lane.end_us).max().unwrap_or(end_us),
            words,
        },
    }
}

/// The first few by name, the rest by number.
fn listed(names: &[String]) -> String {
    const NAMED: usize = 3;
    let first = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The lanes to draw: winners and those without an answer first, then as many of the refused as there is room for,
/// evenly chosen.
fn drawn(entrants: Vec<Entrant>) -> Vec<Lane> {
    let lanes = entrants.into_iter().map(|entrant| entrant.lane);
    let (mut told_no, mut lanes): (Vec<Lane>, Vec<Lane>) =
        lanes.partition(|lane| lane.outcome == Outcome::Refused);
    lanes.truncate(MOST_LANES);
    let room = MOST_LANES - lanes.len();
    if told_no.len() > room {
        let all = told_no.len();
        let mut at = 0;
        told_no.retain(|_| {
            at += 1;
            at * room / all != (at - 1) * room / all
        });
    }
    lanes.append(&mut told_no);
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course() -> Course {
        let (strategy, scenario, unit) = ("naive".into(), "one_seat".into(), "A-1".into());
        Course { strategy, scenario, seed: 1, unit, capacity: 1, sells: true }
    }

    fn entrant(number: u64, outcome: Outcome) -> Entrant {
        let (buyer, words) = (format!("buyer-{number}"), String::new());
        let lane = Lane { buyer, outcome, start_us: number, end_us: 100 + number, phases: vec![], words };
        Entrant { lane, for_the_unit: true }
    }

    #[test]
    fn a_seat_with_three_owners_is_a_band_from_the_second_on() {
        let outcomes = [Outcome::Won, Outcome::Refused, Outcome::Won, Outcome::Won];
        let race = judged(course(), (0..).zip(outcomes).map(|(at, outcome)| entrant(at, outcome)).collect());
        assert_eq!(race.owners.len(), 3);
        let [band] = race.violations.as_slice() else { panic!("{:?}", race.violations) };
        assert_eq!((band.kind.as_str(), band.from_us, band.to_us), ("double_sale", 102, 103));
        assert_eq!(band.holders, ["buyer-0", "buyer-2", "buyer-3"]);
    }

    #[test]
    fn one_winner_is_no_violation_and_no_winner_is_a_false_refusal() {
        let race = judged(course(), vec![entrant(0, Outcome::Won), entrant(1, Outcome::Refused)]);
        assert_eq!(race.violations, []);
        let race = judged(course(), vec![entrant(0, Outcome::Refused), entrant(1, Outcome::Refused)]);
        assert_eq!(race.violations[0].kind, "false_refusal");
        let overloaded = Entrant { for_the_unit: false, ..entrant(0, Outcome::Refused) };
        assert_eq!(judged(course(), vec![overloaded]).violations, [], "a no that says nothing of the unit");
    }

    #[test]
    fn of_many_lanes_the_winners_are_kept() {
        let refused = (0..5000).map(|number| entrant(number, Outcome::Refused));
        let race = judged(course(), refused.chain([entrant(5000, Outcome::Won)]).collect());
        assert_eq!((race.buyers, race.lanes.len()), (5001, MOST_LANES));
        assert_eq!(race.lanes[0].outcome, Outcome::Won);
    }
}
