//! A seat plan or a stock list pasted from a spreadsheet: the sheet that `holdfast import` reads.

use serde_json::{Value, json};

use super::{super::Form, draft::Terms};
use crate::{
    problem::Problem,
    wire::{Sheet, offer, parse_sheet},
};

/// How many faults are told at once; a sheet exported wrongly has the same one on every line.
const TOLD: usize = 8;

pub(super) struct SheetDraft {
    pub text: String,
}

const EXAMPLE: &str = "section,category,price,row,seats,gaps,curve\nStalls,A,45.00,A,20,5 15,40\nStalls,A,45.00,B,20,5 15,\nBalcony,B,29.00,C,16,,\n";

impl SheetDraft {
    pub(super) fn of(form: &Form) -> Self {
        Self { text: form.one("sheet").unwrap_or(EXAMPLE).to_owned() }
    }

    pub(super) fn json(&self, terms: &Terms) -> Result<(&'static str, Value), Problem> {
        let decimals = terms.currency()?.decimals();
        let sheet = parse_sheet(self.text.as_bytes(), decimals).map_err(|faults| {
            let mut told: Vec<String> = faults
                .iter()
                .take(TOLD)
                .map(|fault| format!("Line {}: {}.", fault.line, fault.what))
                .collect();
            match faults.len().saturating_sub(TOLD) {
                0 => {}
                more => told.push(format!("And {more} more.")),
            }
            Problem::invalid(told.join("\n"))
        })?;
        Ok(match sheet {
            Sheet::Seats(sections) => ("seats", json!(offer::Seats::of(&sections))),
            Sheet::Stock(lines) => ("stock", json!(offer::Stock::of(&lines))),
        })
    }
}
