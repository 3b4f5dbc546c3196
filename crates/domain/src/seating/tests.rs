//! Examples to read, then random plans against an oracle that tries every choice.

mod examples;
mod oracle;

use super::*;
use crate::{
    money::Money,
    seat_plan::{RowDef, SectionDef},
};

/// A plan and what is free in it, drawn: `.` is a free seat, `x` a taken one; a line per row, front first,
/// beginning with the name of its section, which is also its category.
struct Drawing {
    plan: SeatPlan,
    free: Vec<bool>,
}

impl Drawing {
    fn new(drawing: &str) -> Self {
        let lines = drawing.lines().map(str::trim).filter(|line| !line.is_empty());
        let rows: Vec<(String, Vec<bool>)> = lines
            .map(|line| {
                let (section, seats) = line.split_once(' ').expect("a section and its seats");
                (section.to_owned(), seats.chars().filter(|c| *c != ' ').map(|c| c == '.').collect())
            })
            .collect();
        Self::of(&rows)
    }

    fn of(rows: &[(String, Vec<bool>)]) -> Self {
        let mut sections: Vec<SectionDef> = Vec::new();
        for (at, (section, seats)) in rows.iter().enumerate() {
            if sections.last().is_none_or(|last| last.name != *section) {
                let (name, category) = (section.clone(), section.clone());
                sections.push(SectionDef::new(name, category, Money::ZERO, []));
            }
            let name = char::from(b'A' + at as u8).to_string();
            let seats = seats.len() as u32;
            sections.last_mut().expect("just pushed").rows.push(RowDef::new(name, seats));
        }
        let free = rows.iter().flat_map(|(_, seats)| seats.iter().copied()).collect();
        Self { plan: SeatPlan::new(&mut sections).expect("a sound plan"), free }
    }

    fn keys(&self, units: &[UnitNo]) -> String {
        units.iter().map(|&unit| self.plan.key(unit)).collect::<Vec<_>>().join(" ")
    }

    fn best(&self, qty: u32) -> (String, Vec<Relaxed>) {
        let best = best(&self.plan, self, qty, None).expect("enough seats");
        (self.keys(&best.units), best.relaxed)
    }

    fn alternatives(&self, wanted: &[&str]) -> Vec<String> {
        let wanted: Vec<_> = wanted.iter().map(|key| self.plan.find(key).expect("a seat")).collect();
        alternatives(&self.plan, self, &wanted, 3).iter().map(|group| self.keys(group)).collect()
    }
}

impl Vacancy for Drawing {
    fn is_free(&self, unit: UnitNo) -> bool {
        self.free[unit as usize]
    }

    fn free_in_row(&self, row: usize) -> u32 {
        self.plan.rows()[row].units().filter(|&unit| self.is_free(unit)).count() as u32
    }

    fn widest_in_row(&self, row: usize) -> u32 {
        self.free_in_row(row)
    }

    fn free(&self) -> u64 {
        self.free.iter().filter(|&&free| free).count() as u64
    }
}

impl std::fmt::Debug for Drawing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for row in self.plan.rows() {
            let seats = row.units().map(|unit| if self.is_free(unit) { '.' } else { 'x' });
            writeln!(f, "{} {}", self.plan.section_of(row.first).name, seats.collect::<String>())?;
        }
        Ok(())
    }
}
