//! A seat plan or a stock list pasted from a spreadsheet: the sheet that `holdfast import` reads.

use serde_json::{Value, json};

use super::super::Form;
use crate::{
    problem::Problem,
    wire::{Sheet, offer, parse_sheet},
};

/// How many faults are told at once; a sheet exported wrongly has the same one on every line.
const TOLD: usize = 8;

pub(super) struct SheetDraft {
    pub text: String,
}

const EXAMPLE: &str =
    "section,category,price,row,seats\nStalls,A,4500,A,20\nStalls,A,4500,B,20\nBalcony,B,2900,C,16\n";

impl SheetDraft {
    pub(super) fn of(form: &Form) -> Self {
        Self { text: form.one("sheet").unwrap_or(EXAMPLE).to_owned() }
    }

    pub(super) fn json(&self) -> Result<(&'static str, Value), Problem> {
        let sheet = parse_sheet(self.text.as_bytes()).map_err(|faults| {
            let told: Vec<String> = faults
                .iter()
                .take(TOLD)
                .map(|fault| format!("Line {}: {}.", fault.line, fault.what))
                .collect();
            let more = match faults.len().saturating_sub(TOLD) {
                0 => String::new(),
                more => format!(" And {more} more."),
            };
            Problem::invalid(told.join(" ") + &more)
        })?;
        Ok(match sheet {
            Sheet::Seats(sections) => ("seats", json!(offer::Seats::of(&sections))),
            Sheet::Stock(lines) => ("stock", json!(offer::Stock::of(&lines))),
        })
    }
}
