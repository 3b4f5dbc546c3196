//! Small random plans, every possible choice tried.

use proptest::prelude::*;

use super::*;

/// Rows of up to nine seats in up to three sections, mostly taken or mostly free.
fn drawings() -> impl Strategy<Value = Drawing> {
    let row = (1..=9usize, 0.1..0.9f64)
        .prop_flat_map(|(seats, density)| prop::collection::vec(prop::bool::weighted(density), seats));
    prop::collection::vec((0..3usize, row), 1..7).prop_map(|mut rows| {
        rows.sort_by_key(|(section, _)| *section);
        let rows: Vec<_> =
            rows.into_iter().map(|(section, seats)| (["S", "T", "U"][section].to_owned(), seats)).collect();
        Drawing::of(&rows)
    })
}

/// Twice the way from the row's centre, and the row, of a block's middle.
fn place(hall: &Drawing, first: UnitNo, qty: u32) -> (i64, i64) {
    let row = hall.plan.row_index(first);
    let seats = &hall.plan.rows()[row];
    (2 * i64::from(first - seats.first) + i64::from(qty) - i64::from(seats.seats), row as i64)
}

fn distance((x, row): (i64, i64), (to_x, to_row): (i64, i64)) -> i64 {
    (x - to_x).pow(2) + 16 * (row - to_row).pow(2)
}

/// Every free block of `qty` seats side by side, by its first seat.
fn blocks(hall: &Drawing, qty: u32) -> Vec<UnitNo> {
    let rows = hall.plan.rows().iter();
    rows.filter(|row| row.seats >= qty)
        .flat_map(|row| row.first..=row.first + row.seats - qty)
        .filter(|&first| (first..first + qty).all(|unit| hall.free[unit as usize]))
        .collect()
}

/// Whether some seat is free and alone after the choice that was not so before.
fn strands(hall: &Drawing, units: &[UnitNo]) -> bool {
    let mut after = hall.free.clone();
    units.iter().for_each(|&unit| after[unit as usize] = false);
    let alone = |free: &[bool], row: &crate::seat_plan::Row, unit: UnitNo| {
        let beside = |other: UnitNo| row.units().contains(&other) && free[other as usize];
        free[unit as usize] && !beside(unit.wrapping_sub(1)) && !beside(unit + 1)
    };
    hall.plan
        .rows()
        .iter()
        .any(|row| row.units().any(|unit| alone(&after, row, unit) && !alone(&hall.free, row, unit)))
}

/// The widths of the widest free run of each row; the fewest consecutive rows of one section that hold `qty`.
fn fewest_rows(hall: &Drawing, qty: u32) -> Option<(usize, usize)> {
    let rows = hall.plan.rows();
    let widest = |row: usize| {
        let seats: Vec<bool> = rows[row].units().map(|unit| hall.free[unit as usize]).collect();
        seats.split(|free| !free).map(<[bool]>::len).max().unwrap_or(0)
    };
    let windows = (0..rows.len()).flat_map(|from| (from + 1..=rows.len()).map(move |to| (to - from, from)));
    windows
        .filter(|&(len, from)| {
            let window = from..from + len;
            window.clone().all(|row| rows[row].section == rows[from].section && widest(row) > 0)
                && window.map(widest).sum::<usize>() >= qty as usize
        })
        .min()
}

/// The choice is free, distinct, sorted, and of the category.
fn sound(hall: &Drawing, units: &[UnitNo], qty: u32, category: Option<&str>) -> bool {
    units.len() == qty as usize
        && units.windows(2).all(|two| two[0] < two[1])
        && units.iter().all(|&unit| hall.free[unit as usize])
        && category.is_none_or(|name| units.iter().all(|&unit| hall.plan.section_of(unit).category == name))
}

/// The plan as seen by someone who wants a category: everything else taken.
fn only(hall: &Drawing, category: Option<&str>) -> Drawing {
    let wanted =
        |unit: usize| category.is_none_or(|name| hall.plan.section_of(unit as UnitNo).category == name);
    let free = hall.free.iter().enumerate().map(|(unit, free)| *free && wanted(unit)).collect();
    Drawing { plan: hall.plan.clone(), free }
}

fn check_best(hall: &Drawing, qty: u32, category: Option<&str>) -> Result<(), TestCaseError> {
    let found = best(&hall.plan, hall, qty, category);
    let hall = &only(hall, category);
    let Some(Best { units, relaxed }) = found else {
        prop_assert!(hall.free() < u64::from(qty));
        return Ok(());
    };
    prop_assert!(sound(hall, &units, qty, category), "{units:?}");
    let focus = (0, -1);
    let all = blocks(hall, qty);
    let units_of = |first: UnitNo| (first..first + qty).collect::<Vec<_>>();
    let unspoilt: Vec<_> = all.iter().copied().filter(|&first| !strands(hall, &units_of(first))).collect();
    let nearest = |of: &[UnitNo]| {
        of.iter()
            .copied()
            .min_by_key(|&first| (distance(place(hall, first, qty), focus), first))
            .map(units_of)
    };
    let expected = match (unspoilt.is_empty(), all.is_empty()) {
        (false, _) => (nearest(&unspoilt), vec![]),
        (true, false) => (nearest(&all), vec![Relaxed::Orphan]),
        (true, true) => (None, relaxed.clone()),
    };
    if let Some(expected_units) = expected.0 {
        prop_assert_eq!((units, relaxed), (expected_units, expected.1));
        return Ok(());
    }
    prop_assert_eq!(relaxed.contains(&Relaxed::Orphan), strands(hall, &units));
    match fewest_rows(hall, qty) {
        Some((len, from)) => check_split(hall, &units, &relaxed, from..from + len),
        None => check_scattered(hall, &units, &relaxed, focus),
    }
}

/// One block in each of the fewest rows.
fn check_split(
    hall: &Drawing,
    units: &[UnitNo],
    relaxed: &[Relaxed],
    rows: std::ops::Range<usize>,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(relaxed.last(), Some(&Relaxed::SplitRows));
    for row in rows {
        let seats = hall.plan.rows()[row].units();
        let here: Vec<_> = units.iter().copied().filter(|unit| seats.contains(unit)).collect();
        prop_assert!(!here.is_empty() && here.windows(2).all(|two| two[0] + 1 == two[1]));
    }
    Ok(())
}

/// No seat left free is nearer than one that was chosen.
fn check_scattered(
    hall: &Drawing,
    units: &[UnitNo],
    relaxed: &[Relaxed],
    focus: (i64, i64),
) -> Result<(), TestCaseError> {
    prop_assert_eq!(relaxed.last(), Some(&Relaxed::Scattered));
    let cost = |unit: UnitNo| distance(place(hall, unit, 1), focus);
    let furthest = units.iter().map(|&unit| cost(unit)).max().unwrap_or(0);
    let left = (0..hall.plan.seats()).filter(|unit| hall.free[*unit as usize] && !units.contains(unit));
    prop_assert!(left.into_iter().all(|unit| cost(unit) >= furthest));
    Ok(())
}

fn check_alternatives(hall: &Drawing, wanted: &[UnitNo], max: usize) -> Result<(), TestCaseError> {
    let qty = wanted.len() as u32;
    let groups = alternatives(&hall.plan, hall, wanted, max);
    prop_assert!(groups.len() <= max);
    prop_assert_eq!(groups.is_empty(), hall.free() == 0);
    let size = u64::from(qty).min(hall.free()) as u32;
    prop_assert!(groups.iter().all(|group| sound(hall, group, size, None)));
    let mut seats: Vec<_> = groups.concat();
    seats.sort_unstable();
    prop_assert!(seats.windows(2).all(|two| two[0] < two[1]), "a seat in two groups");

    // The blocks nearest to the wanted seats, one after another, each out of what the earlier ones left.
    let row = hall.plan.row_of(wanted[0]);
    let in_row = || wanted.iter().filter(|unit| row.units().contains(unit));
    let (low, high) = (*in_row().min().unwrap(), *in_row().max().unwrap());
    let point = place(hall, low, high - low + 1);
    let mut left = Drawing { plan: hall.plan.clone(), free: hall.free.clone() };
    let mut expected = Vec::new();
    while expected.len() < max {
        let key = |first: &UnitNo| {
            let at = place(hall, *first, qty);
            (distance(at, point), (at.1 - point.1).abs(), *first)
        };
        let Some(first) = blocks(&left, qty).into_iter().min_by_key(key) else { break };
        (first..first + qty).for_each(|unit| left.free[unit as usize] = false);
        expected.push((first..first + qty).collect::<Vec<_>>());
    }
    if !expected.is_empty() {
        prop_assert_eq!(groups, expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_best_seats_are_the_best(hall in drawings(), qty in 1..8u32, category in 0..4usize) {
        check_best(&hall, qty, [None, Some("S"), Some("T"), Some("U")][category])?;
    }

    #[test]
    fn alternatives_are_the_nearest(hall in drawings(), at in any::<prop::sample::Index>(), qty in 1..4u32, max in 1..4usize) {
        let first = at.index(hall.plan.seats() as usize) as UnitNo;
        let wanted: Vec<_> = (first..hall.plan.seats().min(first + qty)).collect();
        check_alternatives(&hall, &wanted, max)?;
    }
}
