//! `holdfast export`: offers, bookings and the journal, out of a server or a folder, as JSON or CSV.
//!
//! Pages are written as they arrive, so a journal of millions costs no more memory than one page of it.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use crate::{
    failure::{Exit, Failure},
    http::{api::Api, escaped},
    place::PlaceArgs,
    term,
};

/// Write out offers, bookings or the journal, as JSON or CSV
#[derive(Debug, Args)]
#[command(after_help = "`holdfast import` reads what `export offers` writes.")]
pub struct ExportArgs {
    what: What,
    /// Only what concerns this offer
    #[arg(long)]
    offer: Option<String>,
    #[arg(long, default_value = "json")]
    format: Format,
    /// The file to write; without it, standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Offers,
    Bookings,
    Journal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
    Csv,
}

impl What {
    fn path(self, offer: Option<&str>) -> String {
        let route = match self {
            Self::Offers => "/v1/offers",
            Self::Bookings => "/v1/bookings",
            Self::Journal => "/v1/journal",
        };
        match offer {
            Some(offer) if self != Self::Offers => format!("{route}?offer={}", escaped(offer)),
            _ => route.to_owned(),
        }
    }

    /// The columns of a CSV file of these; an offer's are those of the sheet that `import` reads.
    fn columns(self, item: &Value) -> &'static [&'static str] {
        match self {
            Self::Offers if item["kind"] == "stock" => &["key", "capacity", "price_minor"],
            Self::Offers if is_drawn(item) => {
                &["section", "category", "price_minor", "row", "seats", "gaps", "x", "y", "angle", "curve"]
            }
            Self::Offers => &["section", "category", "price_minor", "row", "seats"],
            Self::Bookings => &[
                "id",
                "hold",
                "holder",
                "state",
                "offer",
                "unit",
                "qty",
                "price",
                "amount",
                "currency",
                "created_at",
            ],
            Self::Journal => &[
                "seq", "at", "actor", "kind", "offer", "units", "hold", "booking", "before", "after", "hash",
            ],
        }
    }
}

pub fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    if args.what == What::Offers && args.format == Format::Csv && args.offer.is_none() {
        let what = "a CSV sheet holds the plan of one offer";
        return Err(Failure::usage(what, "name it with --offer, or write all of them with --format json"));
    }
    args.place.must_exist()?;
    let out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create(path).map_err(|fault| {
            Failure::usage(format!("{} cannot be written", path.display()), "choose another --output")
                .because(fault)
        })?),
        None => Box::new(io::stdout()),
    };
    let mut sink = Sink::new(args.what, args.format, BufWriter::new(out));
    args.place.work(async |api| export(api, args, &mut sink).await)?;
    let count = sink.finish().map_err(cannot_write)?;
    if let Some(path) = &args.output {
        eprintln!("{} written to {}", term::thousands(count), path.display());
    }
    Ok(Exit::Done)
}

async fn export(api: &mut Api, args: &ExportArgs, sink: &mut Sink<impl Write>) -> Result<(), Failure> {
    if let (What::Offers, Some(id)) = (args.what, &args.offer) {
        return write_offer(api, id, args.format, sink).await;
    }
    let path = args.what.path(args.offer.as_deref());
    let spinner = term::spinner("reading");
    let mut after = None;
    loop {
        let (items, next) = api.page::<Value>(&path, after.as_deref()).await?;
        for item in items {
            match (args.what, item["id"].as_str()) {
                // The list leaves out what can be large: the plans.
                (What::Offers, Some(id)) => write_offer(api, id, args.format, sink).await?,
                _ => sink.write(item).map_err(cannot_write)?,
            }
        }
        spinner.set_message(format!("{} read", term::thousands(sink.count)));
        match next {
            Some(next) => after = Some(next),
            None => break spinner.finish_and_clear(),
        }
    }
    Ok(())
}

async fn write_offer(
    api: &mut Api,
    id: &str,
    format: Format,
    sink: &mut Sink<impl Write>,
) -> Result<(), Failure> {
    let offer: Value = api.get(&format!("/v1/offers/{}", escaped(id))).await?;
    if format == Format::Csv && offer["kind"] == "slots" {
        let what = format!("{id} is a calendar, which is no sheet of lines");
        return Err(Failure::usage(what, "write it with --format json"));
    }
    sink.write(offer).map_err(cannot_write)
}

fn cannot_write(fault: io::Error) -> Failure {
    Failure::broken("the output cannot be written", "check the space left, or what reads the pipe")
        .because(fault)
}

/// Where items go, in the chosen format.
struct Sink<W: Write> {
    what: What,
    count: u64,
    form: Form<W>,
}

enum Form<W: Write> {
    Json(W),
    Csv(Box<csv::Writer<W>>),
}

impl<W: Write> Sink<W> {
    fn new(what: What, format: Format, out: W) -> Self {
        let form = match format {
            Format::Json => Form::Json(out),
            Format::Csv => Form::Csv(Box::new(csv::Writer::from_writer(out))),
        };
        Self { what, count: 0, form }
    }

    fn write(&mut self, item: Value) -> io::Result<()> {
        match &mut self.form {
            Form::Json(out) => {
                out.write_all(if self.count == 0 { b"[\n" } else { b",\n" })?;
                serde_json::to_writer(out, &importable(self.what, item))?;
            }
            Form::Csv(out) => {
                let columns = self.what.columns(&item);
                if self.count == 0 {
                    out.write_record(columns)?;
                }
                for row in rows(self.what, &item) {
                    out.write_record(columns.iter().map(|column| cell(&row, column)))?;
                }
            }
        }
        self.count += 1;
        Ok(())
    }

    fn finish(self) -> io::Result<u64> {
        match self.form {
            Form::Json(mut out) => {
                out.write_all(if self.count == 0 { b"[]\n" } else { b"\n]\n" })?;
                out.flush()?;
            }
            Form::Csv(mut out) => {
                if self.count == 0 {
                    out.write_record(self.what.columns(&Value::Null))?;
                }
                out.flush()?;
            }
        }
        Ok(self.count)
    }
}

/// An offer without what only a living one has, so that it can be put on sale again elsewhere.
fn importable(what: What, mut item: Value) -> Value {
    const OF_AN_OFFER: &[&str] = &[
        "id",
        "name",
        "kind",
        "currency",
        "hold_ttl_s",
        "limit_per_holder",
        "opens_at",
        "closes_at",
        "seats",
        "stock",
        "slots",
    ];
    if let (What::Offers, Some(fields)) = (what, item.as_object_mut()) {
        fields.retain(|field, value| OF_AN_OFFER.contains(&field.as_str()) && !value.is_null());
    }
    item
}

type Row = Map<String, Value>;

/// One row an item, or one for each of its parts: the lines of a booking or of stock, the rows of a seat plan.
fn rows(what: What, item: &Value) -> Vec<Row> {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match what {
        What::Journal => vec![fields(item)],
        What::Bookings => {
            let lines = list(&item["lines"]);
            lines.iter().map(|line| fields(item).into_iter().chain(fields(line)).collect()).collect()
        }
        What::Offers if item["kind"] == "stock" => {
            let in_minor = |line: &Value| {
                let price = ("price_minor".to_owned(), line["price"].clone());
                fields(line).into_iter().chain([price]).collect()
            };
            list(&item["stock"]["lines"]).iter().map(in_minor).collect()
        }
        What::Offers => list(&item["seats"]["sections"]).iter().flat_map(plan_rows).collect(),
    }
}

/// Whether a plan says where its aisles are or how its sections lie.
fn is_drawn(offer: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&offer["seats"]["sections"]).iter().any(|section| {
        let is_placed = ["x", "y", "angle", "curve"].iter().any(|field| !section[*field].is_null());
        is_placed || list(&section["rows"]).iter().any(|row| !list(&row["gaps"]).is_empty())
    })
}

fn plan_rows(section: &Value) -> Vec<Row> {
    let row = |row: &Value| {
        let fields = [
            ("section", &section["name"]),
            ("category", &section["category"]),
            ("price_minor", &section["price"]),
            ("row", &row["name"]),
            ("seats", &row["seats"]),
            ("gaps", &row["gaps"]),
            ("x", &section["x"]),
            ("y", &section["y"]),
            ("angle", &section["angle"]),
            ("curve", &section["curve"]),
        ];
        fields.map(|(name, value)| (name.to_owned(), value.clone())).into_iter().collect()
    };
    section["rows"].as_array().into_iter().flatten().map(row).collect()
}

fn cell(row: &Row, column: &str) -> String {
    match row.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            items.iter().map(text).collect::<Vec<_>>().join(" ")
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(what: What, format: Format, items: &[Value]) -> String {
        let mut out = Vec::new();
        let mut sink = Sink::new(what, format, &mut out);
        items.iter().for_each(|item| sink.write(item.clone()).unwrap());
        sink.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_booking_is_one_row_a_line() {
        let booking = json!({"id": "bk_1", "hold": "hold_1", "holder": "a,b", "state": "confirmed", "amount": 7,
            "currency": "EUR", "created_at": "t", "lines": [{"offer": "hall", "unit": "A-1", "qty": 1, "price": 3},
            {"offer": "hall", "unit": "A-2", "qty": 1, "price": 4}]});
        let text = written(What::Bookings, Format::Csv, &[booking]);
        assert_eq!(text.lines().nth(2).unwrap(), "bk_1,hold_1,\"a,b\",confirmed,hall,A-2,1,4,7,EUR,t");
    }

    #[test]
    fn exported_offers_can_be_imported() {
        let offer = json!({"id": "hall", "version": "1.2", "counts": {}, "opens_at": null, "kind": "stock"});
        let text = written(What::Offers, Format::Json, &[offer]);
        assert_eq!(text, "[\n{\"id\":\"hall\",\"kind\":\"stock\"}\n]\n");
    }

    #[test]
    fn a_plan_is_written_as_the_sheet_that_import_reads() {
        let offer = json!({"id": "hall", "kind": "seats", "seats": {"sections": [
            {"name": "Stalls", "category": "A", "price": 4500, "rows": [{"name": "A", "seats": 20}]}]}});
        let text = written(What::Offers, Format::Csv, &[offer]);
        assert_eq!(text, "section,category,price_minor,row,seats\nStalls,A,4500,A,20\n");
    }

    #[test]
    fn nothing_is_still_a_document() {
        assert_eq!(written(What::Journal, Format::Json, &[]), "[]\n");
        assert_eq!(written(What::Journal, Format::Csv, &[]).lines().count(), 1);
    }
}
