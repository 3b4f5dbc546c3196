//! The store at the end against what was acknowledged: nothing lost, nothing added, the sums right.

use std::collections::HashMap;

use super::{
    Anomaly, Violation,
    answers::same_claims,
    lives::{Life, Lives},
};
use crate::history::{Claim, Ending, History, HoldRef, Kept, KeptBooking, KeptHold, KeptState};

pub(super) fn check(history: &History, lives: &Lives<'_>) -> Vec<Violation> {
    let Some(ending) = &history.ending else { return Vec::new() };
    let mut violations = Vec::new();
    let kept_holds: HashMap<HoldRef, &KeptHold> = ending.holds.iter().map(|kept| (kept.hold, kept)).collect();
    let kept_bookings: HashMap<HoldRef, &KeptBooking> =
        ending.bookings.iter().map(|kept| (kept.hold, kept)).collect();
    for (hold, life) in (0..).zip(&lives.all) {
        violations.extend(lost_booking(hold, life, kept_bookings.get(&hold).copied()));
        violations.extend(lost_hold(history, ending, hold, life, kept_holds.get(&hold).copied()));
    }
    violations.extend(ending.bookings.iter().filter_map(|kept| phantom_booking(lives, kept)));
    violations.extend(ending.holds.iter().filter_map(|kept| phantom_hold(lives, kept)));
    violations.extend(wrong_sums(history, ending));
    violations
}

fn lost_booking(hold: HoldRef, life: &Life<'_>, kept: Option<&KeptBooking>) -> Option<Violation> {
    let confirmed = life.confirmed()?;
    let shown = vec![life.placing.as_ref()?.act.op, confirmed.op];
    let Some(kept) = kept else {
        let what = format!("the booking of h{hold} was acknowledged and is not there");
        return Some(Violation::new(Anomaly::LostBooking, what, shown));
    };
    if kept.cancelled && life.cancels.is_empty() {
        let what = format!("the booking of h{hold} is cancelled, and nobody did");
        return Some(Violation::new(Anomaly::LostBooking, what, shown));
    }
    let cancelled = life.cancels.iter().find(|act| act.acknowledged());
    cancelled.filter(|_| !kept.cancelled).map(|act| {
        let what = format!("the booking of h{hold} was cancelled and is still there");
        Violation::new(Anomaly::LostRelease, what, vec![confirmed.op, act.op])
    })
}

fn lost_hold(
    history: &History,
    ending: &Ending,
    hold: HoldRef,
    life: &Life<'_>,
    kept: Option<&KeptHold>,
) -> Option<Violation> {
    let placing = life.placing.as_ref().filter(|placing| placing.act.acknowledged())?;
    let untouched = life.releases.is_empty() && life.confirms.is_empty();
    let alive = life.last_known_expiry()? > ending.at + history.tolerance_us;
    let active = kept.is_some_and(|kept| kept.state == KeptState::Active);
    if untouched && alive && !active {
        let what = format!("h{hold} was acknowledged, has not ended and is not there");
        return Some(Violation::new(Anomaly::LostHold, what, vec![placing.act.op]));
    }
    let expiry = placing.expires_at.unwrap_or(0);
    let released = life.releases.iter().find(|act| act.acknowledged() && act.end < expiry);
    released.filter(|_| active).map(|act| {
        let what = format!("h{hold} was released and still claims its units");
        Violation::new(Anomaly::LostRelease, what, vec![placing.act.op, act.op])
    })
}

fn phantom_booking(lives: &Lives<'_>, kept: &KeptBooking) -> Option<Violation> {
    let life = lives.get(kept.hold).filter(|life| life.placing.is_some() && !life.confirms.is_empty());
    let Some(life) = life else {
        let what = format!("booking {} of h{} is there, and nobody was told so", kept.booking, kept.hold);
        return Some(Violation::new(Anomaly::PhantomBooking, what, vec![]));
    };
    other_lines(life, kept.hold, &kept.claims)
}

fn phantom_hold(lives: &Lives<'_>, kept: &KeptHold) -> Option<Violation> {
    let Some(life) = lives.get(kept.hold).filter(|life| life.placing.is_some()) else {
        let what = format!("h{} is there, and nobody was told so", kept.hold);
        return Some(Violation::new(Anomaly::PhantomHold, what, vec![]));
    };
    other_lines(life, kept.hold, &kept.claims)
}

fn other_lines(life: &Life<'_>, hold: HoldRef, kept: &[Claim]) -> Option<Violation> {
    let placing = life.placing.as_ref()?;
    (!placing.claims.is_empty() && !same_claims(placing.claims, kept)).then(|| {
        let what = format!("h{hold} is kept with other lines than it was placed with");
        Violation::new(Anomaly::PartialHold, what, vec![placing.act.op])
    })
}

fn wrong_sums(history: &History, ending: &Ending) -> Option<Violation> {
    let mut sums = vec![(0u64, 0u64); history.units.len()];
    let claiming = ending.holds.iter().filter(|kept| kept.state == KeptState::Active);
    for claim in claiming.flat_map(|kept| &kept.claims) {
        sums[claim.unit as usize].0 += u64::from(claim.qty);
    }
    for claim in ending.bookings.iter().filter(|kept| !kept.cancelled).flat_map(|kept| &kept.claims) {
        sums[claim.unit as usize].1 += u64::from(claim.qty);
    }
    let over = |(at, (held, booked)): (usize, &(u64, u64))| {
        let info = &history.units[at];
        (held + booked > u64::from(info.capacity))
            .then(|| format!("{} has {held} held and {booked} booked of {}", info.name, info.capacity))
    };
    if let Some(what) = sums.iter().enumerate().find_map(over) {
        return Some(Violation::new(Anomaly::Oversell, what, vec![]));
    }
    let differs = |(at, (kept, sum)): (usize, (&Kept, &(u64, u64)))| {
        ((u64::from(kept.held), u64::from(kept.booked)) != *sum).then(|| {
            let name = &history.units[at].name;
            format!(
                "{name} counts {} held, {} booked; its rows say {} and {}",
                kept.held, kept.booked, sum.0, sum.1
            )
        })
    };
    let what = ending.units.iter().zip(&sums).enumerate().find_map(differs)?;
    Some(Violation::new(Anomaly::WrongSums, what, vec![]))
}
