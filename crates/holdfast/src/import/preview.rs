//! What an import is about to put on sale, or has put on sale, for people and machines.

use holdfast_domain::{
    Inventory, InventoryDef, Offer, StockLine,
    seat_plan::{Point, RowDef, SectionDef, Shape},
};
use serde_json::{Value, json};

use super::Checked;
use crate::term::{Term, number, thousands};

pub(super) fn section(section: &SectionDef) -> Value {
    let row = |row: &RowDef| match row.gaps.is_empty() {
        true => json!({"name": row.name, "seats": row.seats}),
        false => json!({"name": row.name, "seats": row.seats, "gaps": row.gaps}),
    };
    let rows: Vec<Value> = section.rows.iter().map(row).collect();
    let mut body = json!({"name": section.name, "category": section.category, "price": section.price.minor(), "rows": rows});
    let Shape { at, angle, curve } = section.shape;
    if let Some(Point { x, y }) = at {
        for (field, value) in [("x", x), ("y", y), ("angle", angle), ("curve", curve)] {
            body[field] = value.into();
        }
    }
    body
}

pub(super) fn stock_line(line: &StockLine) -> Value {
    json!({"key": line.key, "capacity": line.capacity, "price": line.price.minor()})
}

pub(super) fn show(offers: &[Checked], json: bool) {
    if json {
        let described: Vec<Value> = offers.iter().map(|checked| summary(&checked.offer)).collect();
        println!("{:#}", json!({"dry_run": true, "offers": described}));
        return;
    }
    let term = Term::stdout();
    for Checked { offer, .. } in offers {
        println!("\n  {} {}", term.bold(offer.id().as_str()), term.dim(&offer.def().name));
        match &offer.def().inventory {
            InventoryDef::Seats(sections) => show_sections(&term, offer, sections),
            InventoryDef::Stock(lines) => show_stock(&term, offer, lines),
            InventoryDef::Slots(calendar) => {
                println!("  a calendar in {}, every {} minutes", calendar.timezone, calendar.grid_minutes);
            }
        }
    }
    println!("\n  {}\n", term.dim("Only looked; nothing was put on sale. Run it again without --dry-run."));
}

fn show_sections(term: &Term, offer: &Offer, sections: &[SectionDef]) {
    let mut table = term.table(&["Section", "Category", "Price", "Rows", "Seats"]);
    for section in sections {
        let seats: u64 = section.rows.iter().map(|row| u64::from(row.seats)).sum();
        table.add_row([
            section.name.as_str().into(),
            section.category.as_str().into(),
            number(offer.currency().show(section.price)),
            number(section.rows.len()),
            number(thousands(seats)),
        ]);
    }
    println!("{table}\n  {} seats", thousands(capacity(offer)));
}

fn show_stock(term: &Term, offer: &Offer, lines: &[StockLine]) {
    let mut table = term.table(&["Line", "Capacity", "Price"]);
    for line in lines {
        let price = number(offer.currency().show(line.price));
        table.add_row([line.key.as_str().into(), number(thousands(line.capacity.into())), price]);
    }
    println!("{table}");
}

pub(super) fn created(offers: &[Checked], json: bool) {
    if json {
        let described: Vec<Value> = offers.iter().map(|checked| summary(&checked.offer)).collect();
        println!("{:#}", json!({"created": described}));
        return;
    }
    let term = Term::stdout();
    for Checked { offer, .. } in offers {
        let what = match offer.inventory() {
            Inventory::Slots(_) => "a calendar".to_owned(),
            _ => format!("{} {}", thousands(capacity(offer)), offer.kind()),
        };
        println!("{} {} is on sale: {what}", term.good("✓"), offer.id());
    }
}

fn capacity(offer: &Offer) -> u64 {
    (0..offer.dense_units()).map(|unit| u64::from(offer.capacity(unit))).sum()
}

fn summary(offer: &Offer) -> Value {
    json!({"id": offer.id().as_str(), "name": offer.def().name, "kind": offer.kind().as_str(),
        "currency": offer.currency().code(), "units": offer.dense_units(), "capacity": capacity(offer)})
}
