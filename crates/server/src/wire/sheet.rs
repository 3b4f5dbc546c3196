//! Seat plans and stock lists as people keep them in spreadsheets.
//!
//! ```text
//! section,category,price,row,seats,gaps,curve     key,capacity,price
//! Stalls,A,45.00,A,20,5 15,40                     GA,500,30.00
//! ```
//! A plan may say more: after which seats of a row the aisles are (`gaps`), and how a section lies on the map (`x`, `y`,
//! `angle`, `curve`), which is said on any of its lines and holds for all of them.
//!
//! Prices are written as people write them, `45` or `45.00`; a column named `price_minor` has them as whole numbers of
//! minor units instead, `4500`, as the API has them and as `holdfast export` writes them.
//!
//! The heading says which of the two it is, and whether commas, semicolons or tabs stand between the columns, which may be
//! in any order. Every line is checked by the domain's
//! own rules, and every fault is reported with the line it stands on.

use std::collections::HashMap;

use csv::{ReaderBuilder, StringRecord, Trim};
use holdfast_domain::{
    Money, StockLine,
    seat_plan::{MAX_DISTANCE, Point, RowDef, SeatPlan, SectionDef, Shape},
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
/// What a plan may say besides: of a row, and of a section.
const GAPS: &str = "gaps";
const SHAPE: [&str; 4] = ["x", "y", "angle", "curve"];
const STOCK: [&str; 3] = ["key", "capacity", "price"];
/// Instead of `price`: in minor units.
const PRICE_MINOR: &str = "price_minor";

/// Reads a sheet whole, or says everything that is wrong with it. Its currency has so many decimals.
pub fn parse_sheet(bytes: &[u8], decimals: usize) -> Result<Sheet, Vec<SheetFault>> {
    let bytes = ending_lines_once(bytes);
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .comment(Some(b'#'))
        .delimiter(between_columns(&bytes))
        .from_reader(&*bytes);
    let headings = reader.headers().map_err(|fault| vec![unreadable(&fault, &bytes)])?.clone();
    let (columns, in_minor) = columns(&headings)?;
    let mut sheet = match columns {
        Columns::Seats { at, gaps, shape } => Reading::Seats(Plan { at, gaps, shape, ..Plan::default() }),
        Columns::Stock(at) => Reading::Stock(Lines { at, ..Lines::default() }),
    };
    let prices = Prices { decimals, in_minor };
    let mut faults = Vec::new();
    for record in reader.into_records() {
        let fault = match record {
            Ok(record) => sheet.read(&record, line_of(record.position(), &bytes), prices).err(),
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

/// What stands between the columns: of comma, semicolon and tab the one that the heading has most of. Spreadsheets of
/// countries that write 45,00 use semicolons, and what is copied out of one has tabs.
fn between_columns(bytes: &[u8]) -> u8 {
    let mut lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
    let heading = lines.next().unwrap_or_default();
    let many = |mark: u8| heading.iter().filter(|&&byte| byte == mark).count();
    // The last of equals wins: where there is none of them, the comma.
    [b'\t', b';', b','].into_iter().max_by_key(|&mark| many(mark)).unwrap_or(b',')
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
    Seats { at: [usize; 5], gaps: Option<usize>, shape: [Option<usize>; 4] },
    Stock([usize; 3]),
}

/// Where each column stands and whether prices are in minor units, or which are missing.
fn columns(headings: &StringRecord) -> Result<(Columns, bool), Vec<SheetFault>> {
    // Excel begins a UTF-8 file with a mark that is no part of the first heading.
    let found: Vec<String> =
        headings.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_ascii_lowercase()).collect();
    let in_minor = found.iter().any(|heading| heading == PRICE_MINOR);
    let at = |name: &&str| {
        let name = if in_minor && *name == "price" { PRICE_MINOR } else { name };
        found.iter().position(|heading| heading == name)
    };
    let stranger = |known: &[&str]| found.iter().find(|heading| !known.contains(&heading.as_str())).cloned();
    let looks_like_stock = at(&"capacity").is_some();
    let (needed, known): (&[&str], Vec<&str>) = match looks_like_stock {
        true => (&STOCK, STOCK.to_vec()),
        false => (&SEATS, [&SEATS[..], &[GAPS], &SHAPE].concat()),
    };
    let fault = |what: String| Err(vec![SheetFault { line: 1, what }]);
    if in_minor && found.iter().any(|heading| heading == "price") {
        return fault(format!("there is a column price and a column {PRICE_MINOR}; keep one of them"));
    }
    if let Some(stranger) = stranger(&known).filter(|name| name != PRICE_MINOR) {
        return fault(format!("there is no column {stranger:?}; the columns are {}", known.join(", ")));
    }
    let missing: Vec<&str> = needed.iter().filter(|name| at(name).is_none()).copied().collect();
    if !missing.is_empty() {
        return fault(format!(
            "the heading must name {}; missing: {}",
            needed.join(", "),
            missing.join(", ")
        ));
    }
    let place = |name: &str| at(&name).expect("none is missing");
    let columns = match looks_like_stock {
        true => Columns::Stock(STOCK.map(place)),
        false => Columns::Seats { at: SEATS.map(place), gaps: at(&GAPS), shape: SHAPE.map(|name| at(&name)) },
    };
    Ok((columns, in_minor))
}

enum Reading {
    Seats(Plan),
    Stock(Lines),
}

#[derive(Default)]
struct Plan {
    at: [usize; 5],
    gaps: Option<usize>,
    shape: [Option<usize>; 4],
    sections: Vec<SectionDef>,
    /// What each section said of its place, in the order of [`SHAPE`].
    places: Vec<[Option<i32>; 4]>,
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
    fn read(&mut self, record: &StringRecord, line: u64, prices: Prices) -> Result<(), SheetFault> {
        let read = match self {
            Self::Seats(plan) => plan.read(record, line, prices),
            Self::Stock(lines) => lines.read(record, line, prices),
        };
        read.map_err(|what| SheetFault { line, what })
    }

    fn done(self) -> Result<Sheet, Vec<SheetFault>> {
        let empty = || vec![SheetFault { line: 1, what: "there is nothing below the heading".into() }];
        match self {
            Self::Seats(plan) if !plan.sections.is_empty() => Ok(Sheet::Seats(plan.placed())),
            Self::Stock(lines) if !lines.lines.is_empty() => Ok(Sheet::Stock(lines.lines)),
            _ => Err(empty()),
        }
    }
}

impl Plan {
    fn read(&mut self, record: &StringRecord, line: u64, prices: Prices) -> Result<(), String> {
        let [name, category, price, row, seats] = self.at.map(|at| record[at].to_owned());
        let gaps = gaps(self.gaps.map_or("", |at| &record[at]))?;
        let place = self.place(record)?;
        let row = RowDef { gaps, ..RowDef::new(row, number("seats", &seats)?) };
        let section = SectionDef::new(name, category, prices.read(&price)?, [row.clone()]);
        // A plan of this row alone meets every rule that is about one row.
        let alone = SectionDef { shape: shape(place, 0), ..section.clone() };
        SeatPlan::new(&mut [alone]).map_err(|fault| in_sheet_words(&fault))?;
        if let Some(first) = self.rows.insert(row.name.clone(), line) {
            return Err(format!(
                "row {} stands on line {first} already; row names are unique in an offer",
                row.name
            ));
        }
        match self.sections.iter().position(|known| known.name == section.name) {
            None => {
                self.sections.push(section);
                self.places.push(place);
            }
            Some(at) => self.join(at, section, place, prices)?,
        }
        Ok(())
    }

    /// What the line says of its section's place.
    fn place(&self, record: &StringRecord) -> Result<[Option<i32>; 4], String> {
        let mut place = [None; 4];
        for ((said, at), field) in place.iter_mut().zip(self.shape).zip(SHAPE) {
            let Some(text) = at.map(|at| &record[at]).filter(|text| !text.is_empty()) else { continue };
            let whole = text.parse().map_err(|_| format!("{field} must be a whole number, not {text:?}"))?;
            *said = Some(whole);
        }
        Ok(place)
    }

    /// One more row of a section, if the line agrees with those before.
    fn join(
        &mut self,
        at: usize,
        more: SectionDef,
        place: [Option<i32>; 4],
        prices: Prices,
    ) -> Result<(), String> {
        let (known, said) = (&mut self.sections[at], &mut self.places[at]);
        let name = &known.name;
        if (&known.category, known.price) != (&more.category, more.price) {
            let (category, price) = (&known.category, prices.show(known.price));
            return Err(format!(
                "section {name} has category {category} and price {price} on the lines before"
            ));
        }
        for ((said, now), field) in said.iter_mut().zip(place).zip(SHAPE) {
            match (*said, now) {
                (Some(before), Some(now)) if before != now => {
                    return Err(format!("section {name} has {field} {before} on the lines before"));
                }
                _ => *said = said.or(now),
            }
        }
        known.rows.extend(more.rows);
        Ok(())
    }

    /// The sections where they lie. As soon as one says so, the others lie one behind the other.
    fn placed(mut self) -> Vec<SectionDef> {
        if self.places.iter().flatten().any(Option::is_some) {
            let mut back = 0;
            for (section, &place) in self.sections.iter_mut().zip(&self.places) {
                section.shape = shape(place, back);
                back += section.rows.len() as i32 * 6 / 5 + 3;
            }
        }
        self.sections
    }
}

/// How a section lies that says so much of it, where nothing is said so far back.
fn shape([x, y, angle, curve]: [Option<i32>; 4], back: i32) -> Shape {
    let at = Point { x: x.unwrap_or(0), y: y.unwrap_or(back.min(MAX_DISTANCE)) };
    Shape { at: Some(at), angle: angle.unwrap_or(0), curve: curve.unwrap_or(0) }
}

/// `5 15`: the seats after which there is an aisle.
fn gaps(text: &str) -> Result<Vec<u32>, String> {
    let parts = text.split([' ', ',', ';']).filter(|part| !part.is_empty());
    let mut gaps = parts.map(|part| number("gaps", part)).collect::<Result<Vec<_>, _>>()?;
    gaps.sort_unstable();
    gaps.dedup();
    Ok(gaps)
}

impl Lines {
    fn read(&mut self, record: &StringRecord, line: u64, prices: Prices) -> Result<(), String> {
        let [key, capacity, price] = self.at.map(|at| record[at].to_owned());
        let key = text::visible("key", &key, 64).map_err(|fault| in_sheet_words(&fault))?;
        let capacity = number("capacity", &capacity)?;
        if capacity == 0 || capacity > 1_000_000_000 {
            return Err("capacity must be 1 to 1000000000".into());
        }
        if let Some(first) = self.keys.insert(key.clone(), line) {
            return Err(format!("key {key} stands on line {first} already"));
        }
        self.lines.push(StockLine { key, capacity, price: prices.read(&price)? });
        Ok(())
    }
}

fn number(field: &str, text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{field} must be a whole number, not {text:?}"))
}

/// How the prices of a sheet are written.
#[derive(Clone, Copy)]
struct Prices {
    decimals: usize,
    in_minor: bool,
}

impl Prices {
    fn read(self, text: &str) -> Result<Money, String> {
        let minor = if self.in_minor { text.parse().ok() } else { minor_units(text, self.decimals) };
        let minor: u64 = minor.ok_or_else(|| self.like(text))?;
        Money::new(minor).map_err(|fault| fault.to_string().replacen(':', "", 1))
    }

    /// A price as the sheet would write it.
    fn show(self, price: Money) -> String {
        let minor = price.minor();
        if self.in_minor || self.decimals == 0 {
            return minor.to_string();
        }
        let digits = format!("{minor:0>width$}", width = self.decimals + 1);
        let (whole, part) = digits.split_at(digits.len() - self.decimals);
        format!("{whole}.{part}")
    }

    fn like(self, text: &str) -> String {
        match self.decimals {
            decimals @ 1.. if !self.in_minor => {
                format!("price must be written like 45 or 45.{:0<decimals$}, not {text:?}", "")
            }
            _ => format!("price must be a whole number, not {text:?}"),
        }
    }
}

/// `45`, `45.00` and `45,00` in minor units; `None` for what is no such sum.
pub(crate) fn minor_units(text: &str, decimals: usize) -> Option<u64> {
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || part.len() > decimals || !(part.is_empty() || digits(part)) {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok()
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
        parse_sheet(text.as_bytes(), 2)
            .unwrap_err()
            .iter()
            .map(|fault| format!("{}: {}", fault.line, fault.what))
            .collect()
    }

    #[test]
    fn a_plan_is_read_in_any_order_of_columns() {
        let sheet = parse_sheet(b"\xef\xbb\xbfRow,Seats,Section,Category,Price\nA,20,Stalls,A,45\n# a note\nB,18,Stalls,A,45.00\nC,4,Box,B,9\n", 2);
        let Ok(Sheet::Seats(sections)) = sheet else { panic!("{sheet:?}") };
        let rows: Vec<usize> = sections.iter().map(|section| section.rows.len()).collect();
        assert_eq!((sections.len(), rows), (2, vec![2, 1]));
    }

    #[test]
    fn stock_is_told_apart_by_its_heading() {
        let Ok(Sheet::Stock(lines)) = parse_sheet(b"key,capacity,price\nGA,500,30\nVIP,20,90\n", 2) else {
            panic!()
        };
        assert_eq!(lines[1].key, "VIP");
    }

    #[test]
    fn every_fault_names_its_line() {
        let text = "section,category,price,row,seats\n\
            Stalls,A,45,A,20\n\
            Stalls,A,45,B,0\n\
            Stalls,A,45.000,C,20\n\
            Stalls,A,45,A,20\n\
            Stalls,B,45,D,20\n\
            ,A,45,E,20\n\
            Stalls,A,45,F F,20\n\
            Stalls,A,45,G,twenty\n\
            Stalls,A\n";
        assert_eq!(
            faults(text),
            [
                "3: seats must be 1 to 10000",
                "4: price must be written like 45 or 45.00, not \"45.000\"",
                "5: row A stands on line 2 already; row names are unique in an offer",
                "6: section Stalls has category A and price 45.00 on the lines before",
                "7: section must be 1 to 100 characters",
                "8: row must not contain spaces",
                "9: seats must be a whole number, not \"twenty\"",
                "10: has 2 fields, the heading has 5",
            ]
        );
    }

    #[test]
    fn a_plan_says_where_its_aisles_are_and_how_it_lies() {
        let text = "section,category,price,row,seats,gaps,x,y,angle,curve\n\
            Stalls,A,45.00,A,20,15 5,,,,40\n\
            Stalls,A,45.00,B,20,,,,,\n\
            Left,B,29.50,L,4,,-12,3,20,\n";
        let Ok(Sheet::Seats(sections)) = parse_sheet(text.as_bytes(), 2) else { panic!() };
        let [stalls, left] = &sections[..] else { panic!("{sections:?}") };
        assert_eq!((&stalls.rows[0].gaps[..], &stalls.rows[1].gaps[..]), (&[5, 15][..], &[][..]));
        let at = |x, y| Some(Point { x, y });
        assert_eq!(stalls.shape, Shape { at: at(0, 0), angle: 0, curve: 40 });
        assert_eq!(left.shape, Shape { at: at(-12, 3), angle: 20, curve: 0 });
        assert_eq!((stalls.price.minor(), left.price.minor()), (4500, 2950));
        let wrong = text.replace("L,4,,", "L,4,4,").replace("B,20,,,,,", "B,20,,,,,30");
        assert_eq!(
            faults(&wrong),
            [
                "3: section Stalls has curve 40 on the lines before",
                "4: gaps must be at most 64 seats of the row, in order and before its last",
            ]
        );
    }

    #[test]
    fn prices_are_read_as_people_write_them_unless_the_column_says_minor() {
        let prices = |column: &str, prices: &[&str], decimals| {
            let lines = prices.iter().enumerate().map(|(at, price)| format!("K{at},5,\"{price}\"\n"));
            let text = format!("key,capacity,{column}\n{}", lines.collect::<String>());
            match parse_sheet(text.as_bytes(), decimals) {
                Ok(Sheet::Stock(lines)) => {
                    Ok(lines.iter().map(|line| line.price.minor()).collect::<Vec<_>>())
                }
                Ok(Sheet::Seats(_)) => unreachable!("it is stock"),
                Err(faults) => Err(faults[0].what.clone()),
            }
        };
        assert_eq!(prices("price", &["0", "45.00", "29,5", "45"], 2).unwrap(), [0, 4500, 2950, 4500]);
        assert_eq!(prices("price_minor", &["0", "4500", "45"], 2).unwrap(), [0, 4500, 45]);
        assert_eq!(prices("price", &["4500"], 0).unwrap(), [4500]);
        assert_eq!(
            prices("price", &["4.500"], 2).unwrap_err(),
            "price must be written like 45 or 45.00, not \"4.500\""
        );
        let whole = "price must be a whole number, not \"1.5\"";
        assert_eq!(prices("price", &["1.5"], 0).unwrap_err(), whole);
        assert_eq!(prices("price_minor", &["1.5"], 2).unwrap_err(), whole);
        assert_eq!(
            prices("price,price_minor", &["45\",\"4500"], 2).unwrap_err(),
            "there is a column price and a column price_minor; keep one of them"
        );
    }

    #[test]
    fn columns_stand_apart_by_commas_semicolons_or_tabs() {
        let read = |text: &str| match parse_sheet(text.as_bytes(), 2) {
            Ok(Sheet::Stock(lines)) => lines.iter().map(|line| line.price.minor()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(read("key,capacity,price\nGA,5,45.00\n"), [4500]);
        assert_eq!(read("# from abroad\nkey;capacity;price\nGA;5;45,00\n"), [4500]);
        assert_eq!(read("key\tcapacity\tprice\nGA\t5\t45\n"), [4500]);
    }

    #[test]
    fn lines_are_counted_as_people_see_them() {
        let text = "key,capacity,price\nGA,5,1\n\nVIP,none,1\n";
        assert_eq!(faults(text), ["4: capacity must be a whole number, not \"none\""]);
        assert_eq!(faults(&text.replace('\n', "\r\n")), faults(text));
    }

    #[test]
    fn a_heading_that_is_none_is_refused_first() {
        assert_eq!(faults("Stalls,A,45,A,20\n").len(), 1);
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
