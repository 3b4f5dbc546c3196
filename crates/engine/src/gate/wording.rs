//! The words of a gate's no: the same typed [`Refusal`] that the ledger would give, in the same order of precedence.
//!
//! Alternatives come from the node's own snapshot of the offer, and are remembered for a moment: on a hot seat a
//! thousand losers are told the same.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{Arc, OnceLock},
    time::Duration,
};

use holdfast_domain::{
    Conflict, InTheWay, Inventory, Kind, Limit, Moment, Offer, OfferId, Refusal, Unit, UnitNo, UnitState,
    schedule::Calendar,
    seat_plan::SeatPlan,
    seating::{self, Vacancy},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    in_time,
    wish::{Part, Wish},
};
use crate::{
    clock::Clock,
    ledger::{Ledger, Snapshot, SnapshotUnits},
};

const MAX_ALTERNATIVES: usize = 3;
const REMEMBERED: Duration = Duration::from_millis(250);
const MOST_REMEMBERED: usize = 1024;
/// How many cells of a calendar around the wanted one are looked at: two weeks of quarter hours.
const CELLS_AROUND: u32 = 14 * 96;

/// What a judge found in the way of one part of a wish.
#[derive(Debug, Clone)]
pub(crate) enum Hindrance {
    Limit { limit: u32, used: u64 },
    Full(Arc<Full>),
}

/// Units that cannot be had, found in one look by all who want the same.
#[derive(Debug)]
pub(crate) struct Full {
    pub(crate) units: Vec<FullUnit>,
    /// Chosen by the first of them, where it is the same for all.
    words: OnceLock<Refusal>,
}

impl Full {
    pub(crate) fn new(units: Vec<FullUnit>) -> Self {
        Self { units, words: OnceLock::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FullUnit {
    pub(crate) unit: UnitNo,
    /// Taken off sale by the organiser.
    pub(crate) blocked: bool,
    pub(crate) state: UnitState,
}

type Wanted = (OfferId, Vec<UnitNo>);

/// Groups of units by key, and when they were free.
type Found = (Vec<Vec<String>>, Instant);

#[derive(Debug)]
pub(crate) struct Wording {
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    remembered: Mutex<HashMap<Wanted, Found>>,
}

impl Wording {
    pub(crate) fn new(ledger: Arc<dyn Ledger>, clock: Arc<dyn Clock>) -> Self {
        Self { ledger, clock, remembered: Mutex::default() }
    }

    /// The refusal of a wish, given what is in the way of which part.
    pub(crate) async fn refusal(&self, wish: &Wish, hindrances: &[Option<Hindrance>]) -> Option<Refusal> {
        // Those who want the same seats are told the same. What else there is depends on more: slots on the service.
        let shared = match (&wish.parts[..], hindrances) {
            ([part], [Some(Hindrance::Full(full))]) if part.offer.kind() == Kind::Seats => Some(full),
            _ => None,
        };
        if let Some(words) = shared.and_then(|full| full.words.get()) {
            return Some(words.clone());
        }
        let words = self.choose(wish, hindrances).await?;
        Some(match shared {
            Some(full) => full.words.get_or_init(|| words).clone(),
            None => words,
        })
    }

    async fn choose(&self, wish: &Wish, hindrances: &[Option<Hindrance>]) -> Option<Refusal> {
        let parts = || wish.parts.iter().zip(hindrances);
        for (part, hindrance) in parts() {
            if let Some(Hindrance::Limit { limit, used }) = hindrance {
                let (offer, asked) = (part.id().clone(), part.stake);
                return Some(Refusal::LimitReached(Limit::PerHolder {
                    offer,
                    limit: *limit,
                    used: *used,
                    asked,
                }));
            }
        }
        let mut full: Vec<(&Part, FullUnit)> = parts()
            .filter_map(|(part, hindrance)| match hindrance {
                Some(Hindrance::Full(full)) => Some(full.units.iter().map(move |&unit| (part, unit))),
                _ => None,
            })
            .flatten()
            .collect();
        // As the request names them, whichever offers they belong to.
        full.sort_by_key(|(part, at)| part.place_of(at.unit));
        let counted = |part: &Part| part.offer.kind() == Kind::Stock;
        if let Some((missed, at)) = full.iter().find(|(_, at)| at.blocked) {
            let conflicts = in_the_way(full.iter().filter(|(_, at)| at.blocked));
            let alternatives = self.alternatives(wish, missed, at.unit).await;
            return Some(Refusal::UnitBlocked(Arc::new(Conflict { conflicts, alternatives })));
        }
        if let Some((missed, at)) = full.iter().find(|(part, _)| !counted(part)) {
            let conflicts = in_the_way(full.iter().filter(|(part, _)| !counted(part)));
            let alternatives = self.alternatives(wish, missed, at.unit).await;
            return Some(Refusal::UnitTaken(Arc::new(Conflict { conflicts, alternatives })));
        }
        let (first, _) = full.first()?;
        Some(Refusal::SoldOut { offer: first.id().clone(), conflicts: in_the_way(full.iter()) })
    }

    /// What was free a moment ago, as far as this node knows; nothing where it does not.
    async fn alternatives(&self, wish: &Wish, missed: &Part, at: UnitNo) -> Vec<Vec<String>> {
        let wanted: Vec<_> = missed.lines.iter().map(|line| line.unit).collect();
        let key = (missed.id().clone(), wanted);
        let known = self.remembered.lock().get(&key).filter(|(_, at)| at.elapsed() < REMEMBERED).cloned();
        if let Some((groups, _)) = known {
            return groups;
        }
        let cells = match missed.offer.inventory() {
            Inventory::Stock(_) => return Vec::new(),
            Inventory::Seats(_) => None,
            Inventory::Slots(_) => Some(at.saturating_sub(CELLS_AROUND)..at.saturating_add(CELLS_AROUND)),
        };
        let snapshot = in_time(wish.deadline, self.ledger.snapshot(missed.id(), cells)).await;
        let Some(Ok(Some(snapshot))) = snapshot else { return Vec::new() };
        let groups = groups(&missed.offer, &snapshot, missed, at, self.clock.now());
        let mut remembered = self.remembered.lock();
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(key, (groups.clone(), Instant::now()));
        groups
    }
}

fn in_the_way<'a>(full: impl Iterator<Item = &'a (&'a Part, FullUnit)>) -> Vec<InTheWay> {
    full.map(|(part, at)| InTheWay {
        offer: part.id().clone(),
        unit: part.offer.key(at.unit),
        state: at.state,
    })
    .collect()
}

fn groups(offer: &Offer, snapshot: &Snapshot, missed: &Part, at: UnitNo, now: Moment) -> Vec<Vec<String>> {
    match (offer.inventory(), &snapshot.units) {
        (Inventory::Seats(plan), SnapshotUnits::Dense(units)) => {
            let wanted: Vec<_> = missed.lines.iter().map(|line| line.unit).collect();
            let groups = seating::alternatives(plan, &Free { plan, units }, &wanted, MAX_ALTERNATIVES);
            groups.into_iter().map(|units| units.into_iter().map(|unit| offer.key(unit)).collect()).collect()
        }
        (Inventory::Slots(calendar), SnapshotUnits::Cells(cells)) => {
            starts(offer, calendar, cells, missed, at, now)
        }
        _ => Vec::new(),
    }
}

/// The free seats of a snapshot.
struct Free<'a> {
    plan: &'a SeatPlan,
    units: &'a [Unit],
}

impl Vacancy for Free<'_> {
    fn is_free(&self, unit: UnitNo) -> bool {
        self.units.get(unit as usize).is_some_and(|unit| unit.remaining(1) > 0)
    }

    fn free_in_row(&self, row: usize) -> u32 {
        self.plan.rows()[row].units().filter(|&unit| self.is_free(unit)).count() as u32
    }

    fn widest_in_row(&self, row: usize) -> u32 {
        self.free_in_row(row)
    }

    fn free(&self) -> u64 {
        self.units.iter().filter(|unit| unit.remaining(1) > 0).count() as u64
    }
}

fn starts(
    offer: &Offer,
    calendar: &Calendar,
    cells: &[(UnitNo, Unit)],
    missed: &Part,
    at: UnitNo,
    now: Moment,
) -> Vec<Vec<String>> {
    let line = missed.lines.iter().find(|line| line.units().any(|unit| unit == at));
    let Some((line, service)) = line.and_then(|line| Some((line, line.service?))) else { return Vec::new() };
    let taken = |unit: &Unit| unit.remaining(calendar.capacity()) == 0;
    let full: BTreeSet<_> = cells.iter().filter(|(_, unit)| taken(unit)).map(|&(at, _)| at).collect();
    let run = |range: Range<UnitNo>| {
        let first = *full.range(range).next()?;
        let start = (0..first).rev().take_while(|cell| full.contains(cell)).last().unwrap_or(first);
        let end = (first..).take_while(|cell| full.contains(cell)).last().unwrap_or(first);
        Some(start..end + 1)
    };
    let earliest = now.min(calendar.begins(line.unit));
    let starts = calendar.nearest_starts(service, line.unit, earliest, MAX_ALTERNATIVES, &run);
    starts.into_iter().map(|start| vec![offer.key(start.span.unit)]).collect()
}
