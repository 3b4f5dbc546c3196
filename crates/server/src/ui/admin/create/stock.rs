//! Counted stock, line by line.

use serde_json::{Value, json};

use super::{
    super::Form,
    draft::{Terms, number, typed},
};
use crate::problem::Problem;

const MOST_LINES: usize = 500;

pub(super) struct StockDraft {
    pub lines: Vec<LineDraft>,
}

/// As typed.
#[derive(Default)]
pub(super) struct LineDraft {
    pub key: String,
    pub capacity: String,
    pub price: String,
}

impl StockDraft {
    pub(super) fn of(form: &Form) -> Self {
        let count = form.one("lines").and_then(|text| text.parse().ok()).unwrap_or(2);
        let line = |at: usize| {
            let usual = |text: &'static str| if at == 0 && form.one("lines").is_none() { text } else { "" };
            LineDraft {
                key: typed(form, &format!("key_{at}"), usual("GA")),
                capacity: typed(form, &format!("capacity_{at}"), usual("500")),
                price: typed(form, &format!("price_{at}"), usual("30.00")),
            }
        };
        Self { lines: (0..usize::clamp(count, 1, MOST_LINES)).map(line).collect() }
    }

    pub(super) fn grow(&mut self) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(LineDraft::default());
        }
    }

    pub(super) fn json(&self, terms: &Terms) -> Result<Value, Problem> {
        let filled = self.lines.iter().filter(|line| !line.key.is_empty());
        let lines = filled.map(|line| {
            let capacity = number(&format!("The capacity of {}", line.key), &line.capacity)?;
            Ok(json!({"key": line.key, "capacity": capacity, "price": terms.price(&line.price)?}))
        });
        Ok(json!({"lines": lines.collect::<Result<Vec<_>, Problem>>()?}))
    }
}
