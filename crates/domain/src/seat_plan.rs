//! A seat plan: sections of rows of numbered seats, and the arithmetic between a seat's name and its number.
//!
//! Seats are numbered row after row in the order of the definition, so a plan of a million seats stores its
//! rows and nothing per seat. Row names are unique in an offer: `A-12` is row `A`, seat 12.
//!
//! A plan may say how it lies on the map: where a section is, how its rows bend, after which seats there is an aisle.
//! That is for the eye. Nothing is decided by it, and a plan without it is drawn as people would expect.

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
    pub shape: Shape,
}

impl SectionDef {
    /// A section that leaves it to others where it lies.
    pub fn new(
        name: impl Into<String>,
        category: impl Into<String>,
        price: Money,
        rows: impl IntoIterator<Item = RowDef>,
    ) -> Self {
        let (name, category, rows) = (name.into(), category.into(), rows.into_iter().collect());
        Self { name, category, price, rows, shape: Shape::default() }
    }

    /// Whether it says anything about the map.
    pub fn is_drawn(&self) -> bool {
        self.shape != Shape::default() || self.rows.iter().any(|row| !row.gaps.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDef {
    pub name: String,
    pub seats: u32,
    /// The seats after which there is an aisle, in order.
    pub gaps: Vec<u32>,
}

impl RowDef {
    /// A row without aisles.
    pub fn new(name: impl Into<String>, seats: u32) -> Self {
        Self { name: name.into(), seats, gaps: Vec::new() }
    }
}

/// How a section lies on the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Where the middle of its front row is.
    pub at: Option<Point>,
    /// Degrees by which it is turned clockwise; at 0 it looks up, and its later rows lie below its first.
    pub angle: i32,
    /// Degrees of the arc that its front row makes around what it looks at; 0 is straight.
    pub curve: i32,
}

/// A place on the map, in widths of a seat, rightwards and downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    pub x: i32,
    pub y: i32,
}

/// The farthest that a section may lie from the middle of the map.
pub const MAX_DISTANCE: i32 = 10_000;
/// The most that a section may be turned or bent.
pub const MAX_DEGREES: i32 = 180;
/// The most aisles through one row.
pub const MAX_GAPS: usize = 64;

impl Shape {
    fn check(&self) -> Result<(), Invalid> {
        let Point { x, y } = self.at.unwrap_or(Point { x: 0, y: 0 });
        let bounds = [
            ("x", x, MAX_DISTANCE),
            ("y", y, MAX_DISTANCE),
            ("angle", self.angle, MAX_DEGREES),
            ("curve", self.curve, MAX_DEGREES),
        ];
        match bounds.into_iter().find(|&(_, value, most)| !(-most..=most).contains(&value)) {
            Some((field, _, most)) => Err(Invalid::new(field, format!("must be -{most} to {most}"))),
            None => Ok(()),
        }
    }
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
    pub shape: Shape,
    /// How many, in all of its rows.
    pub seats: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: String,
    /// Index into [`SeatPlan::sections`].
    pub section: u32,
    /// The number of its seat 1.
    pub first: UnitNo,
    pub seats: u32,
    pub gaps: Vec<u32>,
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
        def.shape.check()?;
        self.sections.push(Section {
            name: def.name.clone(),
            category: def.category.clone(),
            price: def.price,
            shape: def.shape,
            seats: 0,
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
        check_gaps(&def.gaps, def.seats)?;
        if self.row_by_name.insert(def.name.clone(), self.rows.len() as u32).is_some() {
            return Err(Invalid::new("name", format!("row {} stands twice in this offer", def.name)));
        }
        let section = self.sections.len() as u32 - 1;
        self.rows.push(Row {
            name: def.name.clone(),
            section,
            first: self.seats,
            seats: def.seats,
            gaps: def.gaps.clone(),
        });
        self.sections[section as usize].seats += def.seats;
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

    /// How many seats there are of a category, or of all where none is named.
    pub fn seats_of(&self, category: Option<&str>) -> u32 {
        let wanted = |section: &&Section| category.is_none_or(|category| section.category == category);
        self.sections.iter().filter(wanted).map(|section| section.seats).sum()
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

fn check_gaps(gaps: &[u32], seats: u32) -> Result<(), Invalid> {
    let within = gaps.iter().all(|&gap| (1..seats).contains(&gap));
    match gaps.len() <= MAX_GAPS && within && gaps.is_sorted_by(|one, next| one < next) {
        true => Ok(()),
        false => Err(Invalid::new(
            "gaps",
            format!("must be at most {MAX_GAPS} seats of the row, in order and before its last"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rows: &[(&str, u32)]) -> Result<SeatPlan, Invalid> {
        let rows = rows.iter().map(|&(name, seats)| RowDef::new(name, seats));
        SeatPlan::new(&mut [SectionDef::new("Stalls", "A", Money::ZERO, rows)])
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

    #[test]
    fn an_aisle_lies_between_two_seats_of_its_row() {
        let plan = |gaps: &[u32]| {
            let row = RowDef { gaps: gaps.to_vec(), ..RowDef::new("A", 4) };
            SeatPlan::new(&mut [SectionDef::new("Stalls", "A", Money::ZERO, [row])])
        };
        assert_eq!(plan(&[1, 3]).unwrap().rows()[0].gaps, [1, 3]);
        for wrong in [&[0][..], &[4], &[2, 2], &[3, 1]] {
            assert_eq!(plan(wrong).unwrap_err().field, "seats.sections[0].rows[0].gaps", "{wrong:?}");
        }
    }

    #[test]
    fn a_section_lies_on_the_map_or_nowhere() {
        let plan = |shape: Shape| {
            let def = SectionDef::new("Stalls", "A", Money::ZERO, [RowDef::new("A", 4)]);
            SeatPlan::new(&mut [SectionDef { shape, ..def }])
        };
        let shape = Shape { at: Some(Point { x: -10_000, y: 7 }), angle: 180, curve: -180 };
        assert_eq!(plan(shape).unwrap().sections()[0].shape, shape);
        assert_eq!(plan(Shape { angle: 181, ..shape }).unwrap_err().field, "seats.sections[0].angle");
        let far = Shape { at: Some(Point { x: 0, y: i32::MIN }), ..shape };
        assert_eq!(plan(far).unwrap_err().field, "seats.sections[0].y");
    }
}
