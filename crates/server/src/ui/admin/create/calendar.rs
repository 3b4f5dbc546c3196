//! A calendar: when it is open, and what can be booked in it.

use serde_json::{Value, json};

use super::{
    super::Form,
    draft::{Terms, number, typed},
};
use crate::problem::Problem;

const MOST_SERVICES: usize = 100;

pub(super) struct CalendarDraft {
    pub timezone: String,
    pub grid_minutes: String,
    pub capacity: String,
    pub days: Vec<DayDraft>,
    pub closed: String,
    pub services: Vec<ServiceDraft>,
}

/// A day of the week, with its opening hours as typed; none where it is closed.
pub(super) struct DayDraft {
    pub key: &'static str,
    pub name: &'static str,
    pub from: String,
    pub to: String,
}

/// As typed.
#[derive(Default)]
pub(super) struct ServiceDraft {
    pub key: String,
    pub minutes: String,
    pub before: String,
    pub after: String,
    pub price: String,
}

const WEEK: [(&str, &str); 7] = [
    ("mon", "Monday"),
    ("tue", "Tuesday"),
    ("wed", "Wednesday"),
    ("thu", "Thursday"),
    ("fri", "Friday"),
    ("sat", "Saturday"),
    ("sun", "Sunday"),
];

impl CalendarDraft {
    pub(super) fn of(form: &Form) -> Self {
        let fresh = form.one("services").is_none();
        let count = form.one("services").and_then(|text| text.parse().ok()).unwrap_or(1);
        let day = |(key, name): (&'static str, &'static str)| {
            let usual = |text: &'static str| if fresh && !matches!(key, "sat" | "sun") { text } else { "" };
            let from = typed(form, &format!("from_{key}"), usual("09:00"));
            DayDraft { key, name, from, to: typed(form, &format!("to_{key}"), usual("17:00")) }
        };
        let service = |at: usize| {
            let usual = |text: &'static str| if fresh && at == 0 { text } else { "" };
            let field = |name: &str, text| typed(form, &format!("{name}_{at}"), usual(text));
            ServiceDraft {
                key: field("service", "consult"),
                minutes: field("minutes", "30"),
                before: field("before", ""),
                after: field("after", "15"),
                price: field("price", "80.00"),
            }
        };
        Self {
            timezone: typed(form, "timezone", "Europe/Berlin"),
            grid_minutes: typed(form, "grid_minutes", "15"),
            capacity: typed(form, "capacity", "1"),
            days: WEEK.into_iter().map(day).collect(),
            closed: typed(form, "closed", ""),
            services: (0..usize::clamp(count, 1, MOST_SERVICES)).map(service).collect(),
        }
    }

    pub(super) fn grow(&mut self) {
        if self.services.len() < MOST_SERVICES {
            self.services.push(ServiceDraft::default());
        }
    }

    pub(super) fn json(&self, terms: &Terms) -> Result<Value, Problem> {
        let open = self.days.iter().filter(|day| !day.from.is_empty() || !day.to.is_empty());
        let hours: Vec<Value> =
            open.map(|day| json!({"days": [day.key], "from": day.from, "to": day.to})).collect();
        let services = self.services.iter().filter(|service| !service.key.is_empty());
        let services = services.map(|service| service.json(terms)).collect::<Result<Vec<_>, _>>()?;
        let closed: Vec<&str> = self.closed.split_ascii_whitespace().collect();
        Ok(json!({"timezone": self.timezone, "grid_minutes": number("The grid", &self.grid_minutes)?,
            "capacity": number("How many at once", &self.capacity)?, "hours": hours, "closed": closed,
            "services": services}))
    }
}

impl ServiceDraft {
    fn json(&self, terms: &Terms) -> Result<Value, Problem> {
        let minutes = |what: &str, text: &str| match text {
            "" => Ok(0),
            text => number(&format!("{what} of {}", self.key), text),
        };
        Ok(json!({"key": self.key, "minutes": minutes("The length", &self.minutes)?,
            "buffer_before_minutes": minutes("The time before", &self.before)?,
            "buffer_after_minutes": minutes("The time after", &self.after)?, "price": terms.price(&self.price)?}))
    }
}
