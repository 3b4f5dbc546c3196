//! A seat plan: sections of rows of numbered seats, and the arithmetic between a seat's name and its number.
//!
//! Seats are numbered row after row in the order of the definition, so a plan of a million seats stores its
//! rows and nothing per seat. Row names are unique in an offer: `A-12` is row `A`, seat 12.

use std::collections::HashMap;

use crate::{
    money::Money,
    offer::{MAX_UNITS, UnitNo},
    text::{self, Invalid},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionDef {
    pub name: String,
    pub category: String,
    pub price: Money,
    pub rows: Vec<RowDef>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDef {
    pub name: String,
    pub seats: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SeatPlan {
    sections: Vec<Section>,
    rows: Vec<Row>,
    row_by_name: HashMap<String, u32>,
    seats: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    pub name: String,
    pub category: String,
    pub price: Money,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: String,
    /// Index into [`SeatPlan::sections`].
    pub section: u32,
    /// The number of its seat 1.
    pub first: UnitNo,
    pub seats: u32,
}

impl Row {
    pub fn units(&self) -> std::ops::Range<UnitNo> {
        self.first..self.first + self.seats
    }
}

impl SeatPlan {
    /// Checks the sections, normalises their texts in place, and numbers the seats.
    pub fn new(defs: &mut [SectionDef]) -> Result<Self, Invalid> {
        let mut plan = Self { sections: Vec::new(), rows: Vec::new(), row_by_name: HashMap::new(), seats: 0 };
        for (at, section) in defs.iter_mut().enumerate() {
            plan.add_section(section).map_err(|fault| fault.within(format_args!("seats.sections[{at}]")))?;
        }
        match plan.seats {
            0 => Err(Invalid::new("seats.sections", "must have at least one seat")),
            _ => Ok(plan),
        }
    }

    fn add_section(&mut self, def: &mut SectionDef) -> Result<(), Invalid> {
        def.name = text::line("name", &def.name, 100)?;
        def.category = text::line("category", &def.category, 64)?;
        self.sections.push(Section {
            name: def.name.clone(),
            category: def.category.clone(),
            price: def.price,
        });
        for (at, row) in def.rows.iter_mut().enumerate() {
            self.add_row(row).map_err(|fault| fault.within(format_args!("rows[{at}]")))?;
        }
        Ok(())
    }

    fn add_row(&mut self, def: &mut RowDef) -> Result<(), Invalid> {
        def.name = text::visible("name", &def.name, 32)?;
        if def.seats == 0 || def.seats > 10_000 {
            return Err(Invalid::new("seats", "must be 1 to 10000"));
        }
        if self.row_by_name.insert(def.name.clone(), self.rows.len() as u32).is_some() {
            return Err(Invalid::new("name", format!("row {} stands twice in this offer", def.name)));
        }
        let section = self.sections.len() as u32 - 1;
        self.rows.push(Row { name: def.name.clone(), section, first: self.seats, seats: def.seats });
        self.seats += def.seats;
        match self.seats {
            0..=MAX_UNITS => Ok(()),
            _ => Err(Invalid::new("seats", format!("an offer has at most {MAX_UNITS} units"))),
        }
    }

    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn seats(&self) -> u32 {
        self.seats
    }

    pub fn find(&self, key: &str) -> Option<UnitNo> {
        let (name, number) = key.rsplit_once('-')?;
        let row = &self.rows[*self.row_by_name.get(name)? as usize];
        // "A-01" and "A-+1" are other spellings of one seat, and a seat has one name.
        if !number.bytes().all(|c| c.is_ascii_digit()) || number.starts_with('0') {
            return None;
        }
        let number: u32 = number.parse().ok()?;
        (number <= row.seats).then(|| row.first + number - 1)
    }

    pub fn key(&self, unit: UnitNo) -> String {
        let row = self.row_of(unit);
        format!("{}-{}", row.name, unit - row.first + 1)
    }

    /// The index of the row a seat stands in.
    pub fn row_index(&self, unit: UnitNo) -> usize {
        self.rows.partition_point(|row| row.first <= unit) - 1
    }

    pub fn row_of(&self, unit: UnitNo) -> &Row {
        &self.rows[self.row_index(unit)]
    }

    pub fn section_of(&self, unit: UnitNo) -> &Section {
        &self.sections[self.row_of(unit).section as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rows: &[(&str, u32)]) -> Result<SeatPlan, Invalid> {
        let rows = rows.iter().map(|&(name, seats)| RowDef { name: name.into(), seats }).collect();
        SeatPlan::new(&mut [SectionDef {
            name: "Stalls".into(),
            category: "A".into(),
            price: Money::ZERO,
            rows,
        }])
    }

    #[test]
    fn every_seat_is_found_by_its_own_key() {
        let plan = plan(&[("A", 3), ("B-2", 20), ("Ä", 1)]).unwrap();
        for unit in 0..plan.seats() {
            assert_eq!(plan.find(&plan.key(unit)), Some(unit));
        }
        assert_eq!(plan.key(3), "B-2-1");
    }

    #[test]
    fn a_seat_has_one_spelling() {
        let plan = plan(&[("A", 20)]).unwrap();
        for other in ["A-0", "A-21", "A-01", "A-+1", "A-", "A", "B-1", "a-1", "A-4294967297", "A-1 "] {
            assert_eq!(plan.find(other), None, "{other}");
        }
    }

    #[test]
    fn refuses_plans_that_name_a_seat_twice_or_none() {
        assert!(plan(&[("A", 3), ("A", 3)]).is_err());
        assert!(plan(&[("A", 0)]).is_err());
        assert!(plan(&[]).is_err());
        assert_eq!(plan(&[("A", 3), ("", 3)]).unwrap_err().field, "seats.sections[0].rows[1].name");
    }
}
