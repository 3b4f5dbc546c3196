//! `holdfast import`: puts seat plans, stock lists and whole offers on sale.
//!
//! A file is read whole and checked whole by the rules the server itself applies, so that either everything in it
//! can be put on sale or nothing is tried; every fault names the file and line it stands on.

mod preview;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use holdfast_domain::{Currency, Offer};
use holdfast_server::{OfferFault, Sheet, check_offers, parse_sheet};
use serde_json::{Value, json};

use crate::{
    failure::{Exit, Failure},
    http::api::Api,
    place::PlaceArgs,
    term,
};

/// Put offers on sale from a CSV seat plan, a CSV stock list, or JSON
#[derive(Debug, Args)]
#[command(
    after_help = "A CSV seat plan has the columns section, category, price, row, seats; a stock list has key, \
    capacity, price:\n\n  \
    section,category,price,row,seats\n  \
    Stalls,A,45.00,A,20\n\n  \
    key,capacity,price\n  \
    mug,100,9.00\n\n\
    A plan may also have gaps (the seats of a row after which there is an aisle: 5 15) and x, y, angle, \
    curve of a section. Prices are written like 45 or 45.00; a column price_minor instead of price has them in \
    minor units: 4500. Commas, semicolons or tabs stand between the columns. JSON is one offer as POST /v1/offers takes it, or a \
    list of them, as `holdfast export offers` writes it."
)]
pub struct ImportArgs {
    /// The file
    file: PathBuf,
    /// What the file is; without it, what its name ends in
    #[arg(long)]
    format: Option<Format>,
    /// The offer's id (CSV)
    #[arg(long)]
    offer: Option<String>,
    /// The offer's name (CSV); without it the id
    #[arg(long)]
    name: Option<String>,
    /// The currency of the prices (CSV)
    #[arg(long, default_value = "EUR")]
    currency: String,
    /// How long a hold lasts, in seconds (CSV)
    #[arg(long, default_value_t = 600)]
    hold_ttl_s: u32,
    /// How many one holder may have, held and booked (CSV)
    #[arg(long)]
    limit_per_holder: Option<u32>,
    /// Check the file and show what would be put on sale, and do no more
    #[arg(long)]
    dry_run: bool,
    /// For machines
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Json,
}

/// An offer as it will be sent, and as the domain understands it.
struct Checked {
    body: Value,
    offer: Arc<Offer>,
}

pub fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let bytes = fs::read(&args.file).map_err(|fault| {
        Failure::usage(format!("{} cannot be read", args.file.display()), "check the path").because(fault)
    })?;
    let offers = match args.format()? {
        Format::Csv => from_csv(args, &bytes)?,
        Format::Json => from_json(&args.file, &bytes)?,
    };
    if args.dry_run {
        preview::show(&offers, args.json);
        return Ok(Exit::Done);
    }
    args.place.work(async |api| create(api, &offers).await)?;
    preview::created(&offers, args.json);
    Ok(Exit::Done)
}

impl ImportArgs {
    fn format(&self) -> Result<Format, Failure> {
        let ending = self.file.extension().map(|ending| ending.to_ascii_lowercase());
        let by_name = match ending.as_ref().and_then(|ending| ending.to_str()) {
            Some("csv") => Some(Format::Csv),
            Some("json") => Some(Format::Json),
            _ => None,
        };
        self.format.or(by_name).ok_or_else(|| {
            let what = format!("{} ends in neither .csv nor .json", self.file.display());
            Failure::usage(what, "say what it is with --format csv or --format json")
        })
    }
}

fn from_csv(args: &ImportArgs, bytes: &[u8]) -> Result<Vec<Checked>, Failure> {
    let Some(id) = &args.offer else {
        return Err(Failure::usage(
            "a CSV file does not say which offer it is",
            "name it with --offer, as in --offer hall",
        ));
    };
    // A currency that is none is told with the other flags.
    let decimals = Currency::new(&args.currency).map_or(2, |currency| currency.decimals());
    let sheet = parse_sheet(bytes, decimals).map_err(|faults| {
        let lines =
            faults.into_iter().map(|fault| format!("{}:{}: {}", args.file.display(), fault.line, fault.what));
        faulty(lines.collect())
    })?;
    let (kind, inventory) = match &sheet {
        Sheet::Seats(sections) => {
            ("seats", json!({"sections": sections.iter().map(preview::section).collect::<Vec<_>>()}))
        }
        Sheet::Stock(lines) => {
            ("stock", json!({"lines": lines.iter().map(preview::stock_line).collect::<Vec<_>>()}))
        }
    };
    let body = json!({"id": id, "name": args.name.as_ref().unwrap_or(id), "kind": kind, "currency": args.currency,
        "hold_ttl_s": args.hold_ttl_s, "limit_per_holder": args.limit_per_holder, kind: inventory});
    // What is left to find now comes from the flags, not from a line of the file.
    let flag = |what: String| Failure::usage(what, "correct the flag, or see `holdfast import --help`");
    let offers = check_offers(body.to_string().as_bytes())
        .map_err(|faults| flag(faults.iter().map(words).collect()))?;
    Ok(offers.into_iter().map(|offer| Checked { body: body.clone(), offer }).collect())
}

fn from_json(file: &Path, bytes: &[u8]) -> Result<Vec<Checked>, Failure> {
    let shown = file.display();
    let offers = check_offers(bytes).map_err(|faults| {
        let placed = |fault: &OfferFault| match fault {
            OfferFault::Shape { line, column, what } => format!("{shown}:{line}:{column}: {what}"),
            OfferFault::Rule { number, what } => format!("{shown}: offer {number}: {what}"),
        };
        faulty(faults.iter().map(placed).collect())
    })?;
    let unreadable = |fault: serde_json::Error| faulty(vec![format!("{shown}: {fault}")]);
    let bodies = match serde_json::from_slice(bytes).map_err(unreadable)? {
        Value::Array(bodies) => bodies,
        body => vec![body],
    };
    Ok(bodies.into_iter().zip(offers).map(|(body, offer)| Checked { body, offer }).collect())
}

fn words(fault: &OfferFault) -> String {
    let (OfferFault::Shape { what, .. } | OfferFault::Rule { what, .. }) = fault;
    what.trim_end_matches('.').to_owned()
}

/// How many faults are shown; a file exported wrongly has the same one on every line.
const SHOWN: usize = 20;

fn faulty(mut faults: Vec<String>) -> Failure {
    let more = faults.len().saturating_sub(SHOWN);
    faults.truncate(SHOWN);
    if more > 0 {
        faults.push(format!("… and {more} more"));
    }
    Failure::usage(faults.join("\n  "), "correct the file and try again; nothing was put on sale")
}

async fn create(api: &mut Api, offers: &[Checked]) -> Result<(), Failure> {
    let bar = term::progress(offers.len() as u64, "putting on sale");
    for Checked { body, .. } in offers {
        api.post::<Value>("/v1/offers", body).await?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}
