//! Seat plans and stock lists as people keep them in spreadsheets.
//!
//! ```text
//! section,category,price,row,seats          key,capacity,price
//! Stalls,A,4500,A,20                        GA,500,3000
//! ```
//! The heading says which of the two it is; columns may stand in any order. Every line is checked by the domain's
//! own rules, and every fault is reported with the line it stands on.

use std::collections::HashMap;

use csv::{ReaderBuilder, StringRecord, Trim};
use holdfast_domain::{
    Money, StockLine,
    seat_plan::{RowDef, SeatPlan, SectionDef},
    text::{self, Invalid},
};

/// What is wrong with a line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetFault {
    pub line: u64,
    pub what: String,
}

/// What a sheet has on it.
#[derive(Debug, Clone, PartialEq)]
pub enum Sheet {
    Seats(Vec<SectionDef>),
    Stock(Vec<StockLine>),
}

const SEATS: [&str; 5] = ["section", "category", "price", "row", "seats"];
const STOCK: [&str; 3] = ["key", "capacity", "price"];

/// Reads a sheet whole, or says everything that is wrong with it.
pub fn parse_sheet(bytes: &[u8]) -> Result<Sheet, Vec<SheetFault>> {
    let bytes = ending_lines_once(bytes);
    let mut reader = ReaderBuilder::new().trim(Trim::All).comment(Some(b'#')).from_reader(&*bytes);
    let headings = reader.headers().map_err(|fault| vec![unreadable(&fault, &bytes)])?.clone();
    let mut sheet = match columns(&headings)? {
        Columns::Seats(at) => Reading::Seats(Plan { at, ..Plan::default() }),
        Columns::Stock(at) => Reading::Stock(Lines { at, ..Lines::default() }),
    };
    let mut faults = Vec::new();
    for record in reader.into_records() {
        let fault = match record {
            Ok(record) => sheet.read(&record, line_of(record.position(), &bytes)).err(),
            Err(fault) => Some(unreadable(&fault, &bytes)),
        };
        faults.extend(fault);
    }
    if faults.is_empty() { sheet.done() } else { Err(faults) }
}

/// Sheets from Windows, and whatever a browser sends, end a line with two characters, and the reader then counts the line
/// too late: a fault must stand on the line that people see it on.
fn ending_lines_once(bytes: &[u8]) -> Vec<u8> {
    let next = bytes.iter().skip(1).copied().map(Some).chain([None]);
    let kept = bytes.iter().copied().zip(next).filter(|&pair| pair != (b'\r', Some(b'\n')));
    kept.map(|(byte, _)| byte).collect()
}

/// The reader's place is where the record before ended; empty lines may lie between.
fn line_of(position: Option<&csv::Position>, bytes: &[u8]) -> u64 {
    let Some(position) = position else { return 1 };
    let rest = bytes.iter().skip(position.byte() as usize);
    position.line() + rest.take_while(|byte| **byte == b'\n').count() as u64
}

fn unreadable(fault: &csv::Error, bytes: &[u8]) -> SheetFault {
    let line = line_of(fault.position(), bytes);
    let what = match fault.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("has {len} fields, the heading has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8 text; save the sheet as CSV UTF-8".to_owned(),
        _ => fault.to_string(),
    };
    SheetFault { line, what }
}

enum Columns {
    Seats([usize; 5]),
    Stock([usize; 3]),
}

/// Where each column stands, or which are missing.
fn columns(headings: &StringRecord) -> Result<Columns, Vec<SheetFault>> {
    // Excel begins a UTF-8 file with a mark that is no part of the first heading.
    let found: Vec<String> =
        headings.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_ascii_lowercase()).collect();
    let at = |name: &&str| found.iter().position(|heading| heading == name);
    let stranger = |known: &[&str]| found.iter().find(|heading| !known.contains(&heading.as_str())).cloned();
    let looks_like_stock = at(&"capacity").is_some();
    let known: &[&str] = if looks_like_stock { &STOCK } else { &SEATS };
    let fault = |what: String| Err(vec![SheetFault { line: 1, what }]);
    if let Some(stranger) = stranger(known) {
        return fault(format!("there is no column {stranger:?}; the columns are {}", known.join(", ")));
    }
    let missing: Vec<&str> = known.iter().filter(|name| at(name).is_none()).copied().collect();
    if !missing.is_empty() {
        return fault(format!("the heading must name {}; missing: {}", known.join(", "), missing.join(", ")));
    }
    let place = |name: &str| at(&name).expect("none is missing");
    Ok(match looks_like_stock {
        true => Columns::Stock(STOCK.map(place)),
        false => Columns::Seats(SEATS.map(place)),
    })
}

enum Reading {
    Seats(Plan),
    Stock(Lines),
}

#[derive(Default)]
struct Plan {
    at: [usize; 5],
    sections: Vec<SectionDef>,
    /// Where each row was first named.
    rows: HashMap<String, u64>,
}

#[derive(Default)]
struct Lines {
    at: [usize; 3],
    lines: Vec<StockLine>,
    keys: HashMap<String, u64>,
}

impl Reading {
    fn read(&mut self, record: &StringRecord, line: u64) -> Result<(), SheetFault> {
        let read = match self {
            Self::Seats(plan) => plan.read(record, line),
            Self::Stock(lines) => lines.read(record, line),
        };
        read.map_err(|what| SheetFault { line, what })
    }

    fn done(self) -> Result<Sheet, Vec<SheetFault>> {
        let empty = || vec![SheetFault { line: 1, what: "there is nothing below the heading".into() }];
        match self {
            Self::Seats(plan) if !plan.sections.is_empty() => Ok(Sheet::Seats(plan.sections)),
            Self::Stock(lines) if !lines.lines.is_empty() => Ok(Sheet::Stock(lines.lines)),
            _ => Err(empty()),
        }
    }
}

impl Plan {
    fn read(&mut self, record: &StringRecord, line: u64) -> Result<(), String> {
        let [name, category, price, row, seats] = self.at.map(|at| record[at].to_owned());
        let row = RowDef::new(row, number("seats", &seats)?);
        let section = SectionDef::new(name, category, money(&price)?, [row.clone()]);
        // A plan of this row alone meets every rule that is about one row.
        SeatPlan::new(&mut [section.clone()]).map_err(|fault| in_sheet_words(&fault))?;
        if let Some(first) = self.rows.insert(row.name.clone(), line) {
            return Err(format!(
                "row {} stands on line {first} already; row names are unique in an offer",
                row.name
            ));
        }
        match self.sections.iter_mut().find(|known| known.name == section.name) {
            None => self.sections.push(section),
            Some(known) if (&known.category, known.price) == (&section.category, section.price) => {
                known.rows.push(row)
            }
            Some(known) => {
                let (name, category, price) = (&known.name, &known.category, known.price.minor());
                return Err(format!(
                    "section {name} has category {category} and price {price} on the lines before"
                ));
            }
        }
        Ok(())
    }
}

impl Lines {
    fn read(&mut self, record: &StringRecord, line: u64) -> Result<(), String> {
        let [key, capacity, price] = self.at.map(|at| record[at].to_owned());
        let key = text::visible("key", &key, 64).map_err(|fault| in_sheet_words(&fault))?;
        let capacity = number("capacity", &capacity)?;
        if capacity == 0 || capacity > 1_000_000_000 {
            return Err("capacity must be 1 to 1000000000".into());
        }
        if let Some(first) = self.keys.insert(key.clone(), line) {
            return Err(format!("key {key} stands on line {first} already"));
        }
        self.lines.push(StockLine { key, capacity, price: money(&price)? });
        Ok(())
    }
}

fn number(field: &str, text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{field} must be a whole number, not {text:?}"))
}

fn money(text: &str) -> Result<Money, String> {
    let minor = text.parse::<u64>().map_err(|_| match text.contains(['.', ',']) {
        true => format!("price is in minor units: for {text} write {}", text.replace(['.', ','], "")),
        false => format!("price must be a whole number of minor units, not {text:?}"),
    })?;
    Money::new(minor).map_err(|fault| fault.to_string().replacen(':', "", 1))
}

/// The domain names a field by its path in the offer; in a sheet the column is enough.
fn in_sheet_words(fault: &Invalid) -> String {
    let column = match fault.field.rsplit('.').next().unwrap_or_default() {
        "name" if fault.field.contains("rows") => "row",
        "name" => "section",
        other => other,
    };
    format!("{column} {}", fault.rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        parse_sheet(text.as_bytes())
            .unwrap_err()
            .iter()
            .map(|fault| format!("{}: {}", fault.line, fault.what))
            .collect()
    }

    #[test]
    fn a_plan_is_read_in_any_order_of_columns() {
        let sheet = parse_sheet(b"\xef\xbb\xbfRow,Seats,Section,Category,Price\nA,20,Stalls,A,4500\n# a note\nB,18,Stalls,A,4500\nC,4,Box,B,900\n");
        let Ok(Sheet::Seats(sections)) = sheet else { panic!("{sheet:?}") };
        let rows: Vec<usize> = sections.iter().map(|section| section.rows.len()).collect();
        assert_eq!((sections.len(), rows), (2, vec![2, 1]));
    }

    #[test]
    fn stock_is_told_apart_by_its_heading() {
        let Ok(Sheet::Stock(lines)) = parse_sheet(b"key,capacity,price\nGA,500,3000\nVIP,20,9000\n") else {
            panic!()
        };
        assert_eq!(lines[1].key, "VIP");
    }

    #[test]
    fn every_fault_names_its_line() {
        let text = "section,category,price,row,seats\n\
            Stalls,A,4500,A,20\n\
            Stalls,A,4500,B,0\n\
            Stalls,A,45.00,C,20\n\
            Stalls,A,4500,A,20\n\
            Stalls,B,4500,D,20\n\
            ,A,4500,E,20\n\
            Stalls,A,4500,F F,20\n\
            Stalls,A,4500,G,twenty\n\
            Stalls,A\n";
        assert_eq!(
            faults(text),
            [
                "3: seats must be 1 to 10000",
                "4: price is in minor units: for 45.00 write 4500",
                "5: row A stands on line 2 already; row names are unique in an offer",
                "6: section Stalls has category A and price 4500 on the lines before",
                "7: section must be 1 to 100 characters",
                "8: row must not contain spaces",
                "9: seats must be a whole number, not \"twenty\"",
                "10: has 2 fields, the heading has 5",
            ]
        );
    }

    #[test]
    fn lines_are_counted_as_people_see_them() {
        let text = "key,capacity,price\nGA,5,1\n\nVIP,none,1\n";
        assert_eq!(faults(text), ["4: capacity must be a whole number, not \"none\""]);
        assert_eq!(faults(&text.replace('\n', "\r\n")), faults(text));
    }

    #[test]
    fn a_heading_that_is_none_is_refused_first() {
        assert_eq!(faults("Stalls,A,4500,A,20\n").len(), 1);
        assert_eq!(
            faults("section,category,price,row\n"),
            ["1: the heading must name section, category, price, row, seats; missing: seats"]
        );
        assert_eq!(faults("key,capacity,price\n"), ["1: there is nothing below the heading"]);
        assert_eq!(
            faults(""),
            [
                "1: the heading must name section, category, price, row, seats; missing: section, category, price, row, seats"
            ]
        );
        assert_eq!(
            faults("key,capacity,price\nGA,0,1\nGA,5,1\nGA,5,1\nx,5,99999999999999\n"),
            [
                "2: capacity must be 1 to 1000000000",
                "4: key GA stands on line 3 already",
                "5: price must not exceed 999999999999 minor units",
            ]
        );
    }
}
