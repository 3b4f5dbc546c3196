//! What every draft has: a name and the terms of the sale; and how typed text becomes figures.

use std::sync::Arc;

use holdfast_domain::{Currency, Offer};
use serde_json::{Value, json};

use super::super::{Form, change};
use crate::{
    problem::Problem,
    wire::{minor_units, offer_in::NewOffer},
};

/// As typed.
pub(super) struct Terms {
    pub name: String,
    pub id: String,
    pub currency: String,
    pub hold_ttl_s: String,
    pub limit_per_holder: String,
    pub opens_at: String,
    pub closes_at: String,
    times: Result<[Option<String>; 2], Problem>,
}

/// The text of a field, or what stands in it before anybody typed.
pub(super) fn typed(form: &Form, name: &str, usual: &str) -> String {
    form.one(name).unwrap_or(usual).trim().to_owned()
}

impl Terms {
    pub(super) fn of(form: &Form) -> Self {
        let moment = |field| change::moment_in(form, field).map(|at| at.map(|at| at.to_string()));
        let times = moment("opens_at").and_then(|opens| Ok([opens, moment("closes_at")?]));
        Self {
            name: typed(form, "name", ""),
            id: typed(form, "id", ""),
            currency: typed(form, "currency", "EUR").to_uppercase(),
            hold_ttl_s: typed(form, "hold_ttl_s", "600"),
            limit_per_holder: typed(form, "limit_per_holder", ""),
            opens_at: typed(form, "opens_at", ""),
            closes_at: typed(form, "closes_at", ""),
            times,
        }
    }

    pub(super) fn currency(&self) -> Result<Currency, Problem> {
        Ok(Currency::new(&self.currency)?)
    }

    /// A price as people write it, in minor units.
    pub(super) fn price(&self, text: &str) -> Result<u64, Problem> {
        let decimals = self.currency()?.decimals();
        minor_units(text, decimals).ok_or_else(|| {
            let example = if decimals == 0 { "4500" } else { "45.00" };
            Problem::invalid(format!("The price {text:?} must be written like {example}."))
        })
    }

    /// The offer of these terms, by the rules of the API.
    pub(super) fn offer(&self, kind: &'static str, inventory: Value) -> Result<Arc<Offer>, Problem> {
        let given = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
        let [opens_at, closes_at] = self.times.clone()?;
        let whole = |field: &str, text: &str| match text {
            "" => Ok(Value::Null),
            text => number(field, text).map(Value::from),
        };
        // A draft without a name can be looked at all the same.
        let name = if self.name.is_empty() { "(no name yet)" } else { &self.name };
        let body = json!({"id": given(&self.id), "name": name, "kind": kind, "currency": self.currency,
            "hold_ttl_s": whole("A hold's time", &self.hold_ttl_s)?,
            "limit_per_holder": whole("The limit for one holder", &self.limit_per_holder)?,
            "opens_at": opens_at, "closes_at": closes_at, kind: inventory});
        let new: NewOffer =
            serde_json::from_value(body).map_err(|fault| Problem::invalid(fault.to_string()))?;
        new.offer().map_err(in_words)
    }
}

pub(super) fn number(what: &str, text: &str) -> Result<u32, Problem> {
    text.trim().parse().map_err(|_| Problem::invalid(format!("{what} must be a whole number.")))
}

/// The API names a field by its path; a form has sections, lines and services, counted from 1.
fn in_words(problem: Problem) -> Problem {
    let mut words = problem.detail.to_string();
    // What a form has only one of is named as the form names it.
    for (path, field) in [
        ("slots.timezone:", "Time zone:"),
        ("slots.grid_minutes:", "Starts every … minutes:"),
        ("slots.capacity:", "Places per slot:"),
        ("slots.services:", "Services:"),
        ("slots.closed", "Closed days"),
        ("slots.hours", "Opening hours"),
        ("seats.sections:", "Sections:"),
        ("stock.lines:", "Lines:"),
        ("limit_per_holder:", "One holder may have:"),
        ("hold_ttl_s:", "A hold lasts:"),
    ] {
        if let Some(rest) = words.strip_prefix(path) {
            return Problem::new(problem.code, format!("{field}{}", without_index(rest)));
        }
    }
    for (path, word) in [
        ("seats.sections[", "section "),
        ("stock.lines[", "line "),
        ("slots.services[", "service "),
        ("rows[", "row "),
    ] {
        words = counted_from_one(&words, path, word);
    }
    Problem::new(problem.code, words)
}

/// What follows the name of a list, without the number of the thing in it: the words after it say which one it is.
fn without_index(rest: &str) -> String {
    match rest.starts_with('[') {
        true => rest.split_once(':').map_or_else(|| rest.to_owned(), |(_, words)| format!(":{words}")),
        false => rest.to_owned(),
    }
}

fn counted_from_one(text: &str, path: &str, word: &str) -> String {
    let Some((before, rest)) = text.split_once(path) else { return text.to_owned() };
    let Some((index, after)) = rest.split_once(']') else { return text.to_owned() };
    let number = index.parse::<usize>().map_or(0, |index| index + 1);
    format!(
        "{before}{word}{number}{}",
        after.strip_prefix('.').map_or_else(|| after.to_owned(), |after| format!(", {after}"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_as_people_write_them() {
        for (text, decimals, minor) in [
            ("45", 2, 4500),
            ("45.5", 2, 4550),
            ("45,00", 2, 4500),
            ("0", 2, 0),
            ("4500", 0, 4500),
            ("4.500", 3, 4500),
        ] {
            assert_eq!(minor_units(text, decimals), Some(minor), "{text}");
        }
        for (text, decimals) in [
            ("", 2),
            ("-1", 2),
            ("4.500", 2),
            ("1.5", 0),
            ("€5", 2),
            ("1 000", 2),
            (".5", 2),
            ("99999999999999999999", 2),
        ] {
            assert_eq!(minor_units(text, decimals), None, "{text}");
        }
    }

    #[test]
    fn a_fault_is_found_on_the_form() {
        let fault =
            in_words(Problem::invalid("seats.sections[0].rows[1].name: row A stands twice in this offer"));
        assert_eq!(fault.detail, "section 1, row 2, name: row A stands twice in this offer");
        let fault = in_words(Problem::invalid("slots.timezone: is not a time zone"));
        assert_eq!(fault.detail, "Time zone: is not a time zone");
        let fault = in_words(Problem::invalid("slots.hours[2].from: must be a time"));
        assert_eq!(fault.detail, "Opening hours: must be a time");
    }
}
