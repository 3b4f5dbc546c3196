//! What a draft would put on sale, before it is.

use askama::Template;
use holdfast_domain::{InventoryDef, Offer};

use super::{super::super::words, drawing::Drawing};
use crate::problem::Problem;

/// Drawn with the page, and again whenever somebody types.
#[derive(Template)]
#[template(path = "admin/preview.html")]
pub(super) struct PreviewPart {
    /// What is still wrong.
    faults: Vec<String>,
    drawing: Option<Drawing>,
    rows: Vec<PreviewRow>,
    total: String,
}

struct PreviewRow {
    name: String,
    what: String,
    price: String,
}

impl PreviewPart {
    pub(super) fn of(made: Result<&Offer, Option<&Problem>>) -> Self {
        match made {
            Ok(offer) => Self::drawn(offer),
            Err(problem) => {
                let faults =
                    problem.map_or("", |problem| &*problem.detail).lines().map(str::to_owned).collect();
                Self { faults, drawing: None, rows: Vec::new(), total: String::new() }
            }
        }
    }

    fn drawn(offer: &Offer) -> Self {
        let money = |price| words::money(price, offer.currency());
        let (rows, total, drawing) = match &offer.def().inventory {
            InventoryDef::Seats(sections) => {
                let row = |section: &holdfast_domain::seat_plan::SectionDef| {
                    let seats = section.rows.iter().map(|row| u64::from(row.seats)).sum();
                    let rows = words::plural(section.rows.len() as u64, "row");
                    let what =
                        format!("{} in {rows} · category {}", words::plural(seats, "seat"), section.category);
                    PreviewRow { name: section.name.clone(), what, price: money(section.price) }
                };
                let total = words::plural(offer.dense_units().into(), "seat");
                (sections.iter().map(row).collect(), total, Some(Drawing::of(sections)))
            }
            InventoryDef::Stock(lines) => {
                let row = |line: &holdfast_domain::StockLine| PreviewRow {
                    name: line.key.clone(),
                    what: format!("{} to sell", words::count(line.capacity.into())),
                    price: money(line.price),
                };
                let sum = lines.iter().map(|line| u64::from(line.capacity)).sum();
                (lines.iter().map(row).collect(), format!("{} in all", words::count(sum)), None)
            }
            InventoryDef::Slots(calendar) => {
                let row = |service: &holdfast_domain::schedule::Service| PreviewRow {
                    name: service.key.clone(),
                    what: format!("{} minutes", service.minutes),
                    price: money(service.price),
                };
                let total = format!("every {} minutes, in {}", calendar.grid_minutes, calendar.timezone);
                (calendar.services.iter().map(row).collect(), total, None)
            }
        };
        Self { faults: Vec::new(), drawing, rows, total }
    }
}
