//! A seat plan drawn up section by section: so many rows from this one on, so many seats in each.

use serde_json::{Value, json};

use super::{
    super::Form,
    draft::{Terms, number, typed},
};
use crate::problem::Problem;

const MOST_SECTIONS: usize = 200;
const MOST_ROWS: u32 = 500;

pub(super) struct PlanDraft {
    pub sections: Vec<SectionDraft>,
}

/// As typed.
#[derive(Default)]
pub(super) struct SectionDraft {
    pub name: String,
    pub category: String,
    pub price: String,
    /// The name of the first row; the others follow it.
    pub first_row: String,
    pub rows: String,
    pub seats: String,
    /// How many more seats each row has than the one before it.
    pub more: String,
    /// The seats after which there is an aisle.
    pub aisles: String,
    pub curve: String,
    pub angle: String,
    pub x: String,
    pub y: String,
}

impl PlanDraft {
    pub(super) fn of(form: &Form) -> Self {
        let count = form.one("sections").and_then(|text| text.parse().ok()).unwrap_or(1);
        Self {
            sections: (0..usize::clamp(count, 1, MOST_SECTIONS))
                .map(|at| SectionDraft::of(form, at))
                .collect(),
        }
    }

    /// One more, that follows the last.
    pub(super) fn grow(&mut self) {
        if self.sections.len() < MOST_SECTIONS {
            let next = self.sections.last().map(SectionDraft::next);
            self.sections.extend(next);
        }
    }

    /// One less; the last one stays.
    pub(super) fn remove(&mut self, at: usize) {
        if self.sections.len() > 1 && at < self.sections.len() {
            self.sections.remove(at);
        }
    }

    pub(super) fn json(&self, terms: &Terms) -> Result<Value, Problem> {
        let filled = || self.sections.iter().filter(|section| !section.is_empty());
        // Places count when every section has one: as soon as one is drawn, the others lie one behind the other.
        let drawn = filled().any(SectionDraft::is_drawn);
        let (mut sections, mut back) = (Vec::new(), 0);
        for (at, section) in (1..).zip(&self.sections).filter(|(_, section)| !section.is_empty()) {
            let within = |problem: Problem| Problem::invalid(format!("Section {at}: {}", problem.detail));
            section.is_named().map_err(within)?;
            let mut json = section.json(terms).map_err(within)?;
            if drawn {
                section.place(&mut json, back).map_err(within)?;
            }
            back += section.depth();
            sections.push(json);
        }
        Ok(json!({"sections": sections}))
    }
}

impl SectionDraft {
    fn of(form: &Form, at: usize) -> Self {
        // The first section of an empty form shows what is meant; a form that came back shows what was typed.
        let usual = |text: &'static str| if at == 0 && form.one("sections").is_none() { text } else { "" };
        let field = |name: &str, text| typed(form, &format!("{name}_{at}"), usual(text));
        Self {
            name: field("section", "Stalls"),
            category: field("category", "A"),
            price: field("price", "45.00"),
            first_row: field("first_row", "A"),
            rows: field("rows", "8"),
            seats: field("seats", "20"),
            more: field("more", ""),
            aisles: field("aisles", ""),
            curve: field("curve", ""),
            angle: field("angle", ""),
            x: field("x", ""),
            y: field("y", ""),
        }
    }

    fn next(&self) -> Self {
        let rows = self.rows.parse().unwrap_or(1);
        Self {
            name: String::new(),
            category: String::new(),
            price: self.price.clone(),
            first_row: row_names(&self.first_row).nth(rows).unwrap_or_default(),
            rows: self.rows.clone(),
            seats: self.seats.clone(),
            more: self.more.clone(),
            aisles: self.aisles.clone(),
            curve: self.curve.clone(),
            ..Self::default()
        }
    }

    /// A section with nothing in it was never filled in.
    fn is_empty(&self) -> bool {
        [&self.name, &self.category, &self.first_row, &self.rows, &self.seats]
            .iter()
            .all(|text| text.is_empty())
    }

    /// One more section comes with the rows of the last; it is not left out because its name is still to come.
    fn is_named(&self) -> Result<(), Problem> {
        match (self.name.is_empty(), self.category.is_empty()) {
            (false, false) => Ok(()),
            (true, true) => Err(Problem::invalid("give it a name and a category, or remove it.")),
            (true, false) => Err(Problem::invalid("give it a name, or remove it.")),
            (false, true) => Err(Problem::invalid("give it a category.")),
        }
    }

    /// Whether it says where it lies.
    fn is_drawn(&self) -> bool {
        [&self.curve, &self.angle, &self.x, &self.y].iter().any(|text| !text.is_empty())
    }

    /// About how far the next section lies behind this one, in widths of a seat.
    fn depth(&self) -> i32 {
        let rows: i32 = self.rows.parse().unwrap_or(1);
        rows.clamp(1, MOST_ROWS as i32) * 6 / 5 + 3
    }

    fn json(&self, terms: &Terms) -> Result<Value, Problem> {
        let rows = number("The number of rows", &self.rows)?;
        if rows == 0 || rows > MOST_ROWS {
            return Err(Problem::invalid(format!(
                "A section has 1 to {MOST_ROWS} rows here; a sheet may have more."
            )));
        }
        let aisles = self.aisles()?;
        let rows = row_names(&self.first_row).take(rows as usize).zip(0..).map(|(name, behind)| {
            let seats = self.seats_in(behind)?;
            let gaps: Vec<u32> = aisles.iter().copied().filter(|&aisle| aisle < seats).collect();
            Ok(json!({"name": name, "seats": seats, "gaps": gaps}))
        });
        let rows = rows.collect::<Result<Vec<_>, Problem>>()?;
        let price = terms.price(&self.price)?;
        Ok(json!({"name": self.name, "category": self.category, "price": price, "rows": rows}))
    }

    /// Adds how it lies on the map.
    fn place(&self, json: &mut Value, back: i32) -> Result<(), Problem> {
        let fields =
            [("x", &self.x, 0), ("y", &self.y, back), ("angle", &self.angle, 0), ("curve", &self.curve, 0)];
        for (field, text, usual) in fields {
            let whole = || Problem::invalid(format!("{field}: must be a whole number."));
            let value: i32 = if text.is_empty() { usual } else { text.parse().map_err(|_| whole())? };
            json[field] = value.into();
        }
        Ok(())
    }

    fn aisles(&self) -> Result<Vec<u32>, Problem> {
        let texts = self.aisles.split([' ', ',', ';']).filter(|text| !text.is_empty());
        let mut aisles = texts.map(|text| number("An aisle", text)).collect::<Result<Vec<_>, _>>()?;
        aisles.sort_unstable();
        aisles.dedup();
        Ok(aisles)
    }

    /// The seats in a row so far behind the first.
    fn seats_in(&self, behind: i64) -> Result<u32, Problem> {
        let first = number("The number of seats", &self.seats)?;
        let more: i64 = match self.more.as_str() {
            "" => 0,
            text => {
                text.parse().map_err(|_| Problem::invalid("How many more seats: must be a whole number."))?
            }
        };
        let seats = i64::from(first).saturating_add(more.saturating_mul(behind));
        u32::try_from(seats).map_err(|_| Problem::invalid("A row would have no seats."))
    }
}

/// The names from the first one on: `A, B, … Z, AA, AB`, `1, 2, 3`, `B-9, B-10`. What cannot be counted on is numbered.
pub(super) fn row_names(first: &str) -> impl Iterator<Item = String> {
    let counts = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    let digits = first.bytes().rev().take_while(u8::is_ascii_digit).count();
    let letters = first.bytes().rev().take_while(u8::is_ascii_uppercase).count();
    let tail = if first.bytes().last().is_some_and(counts) { digits.max(letters) } else { 0 };
    let (stem, tail) = (first[..first.len() - tail].to_owned(), first[first.len() - tail..].to_owned());
    let start = match digits {
        0 => from_letters(&tail),
        _ => tail.parse().unwrap_or(1),
    };
    (start..).map(move |number| match (digits, tail.is_empty()) {
        (0, false) => format!("{stem}{}", letters_of(number)),
        _ => format!("{stem}{number}"),
    })
}

/// `A` is 1, `Z` is 26, `AA` is 27, as in a spreadsheet.
fn from_letters(text: &str) -> u64 {
    text.bytes().take(8).fold(0, |number, byte| number * 26 + u64::from(byte - b'A') + 1).max(1)
}

fn letters_of(mut number: u64) -> String {
    let mut letters = Vec::new();
    while number > 0 {
        number -= 1;
        letters.push(char::from(b'A' + (number % 26) as u8));
        number /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_from_the_first_on() {
        let names = |first: &str| row_names(first).take(3).collect::<Vec<_>>().join(" ");
        assert_eq!(names("A"), "A B C");
        assert_eq!(names("Y"), "Y Z AA");
        assert_eq!(names("9"), "9 10 11");
        assert_eq!(names("B-9"), "B-9 B-10 B-11");
        assert_eq!(names("Box A"), "Box A Box B Box C");
        assert_eq!(names("L"), "L M N");
        assert_eq!((names("box").as_str(), names("").as_str()), ("box1 box2 box3", "1 2 3"));
    }
}
