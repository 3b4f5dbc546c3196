//! `holdfast payments`: payments that wait for somebody, and an operator's word on them.

use clap::{Args, Subcommand, ValueEnum, builder::PossibleValuesParser};
use holdfast_domain::PaymentState;
use serde_json::{Value, json};

use crate::{
    failure::{Exit, Failure},
    http::{api::Api, escaped},
    place::PlaceArgs,
    term::Term,
};

/// List payments, look at one again, or say what became of one that needs a person
#[derive(Debug, Args)]
#[command(
    after_help = "A payment is `manual` when the machine must not decide: the wrong amount came in, or a refund failed \
    for good. Look at it in Stripe's dashboard by its intent, then say what is true with `resolve`."
)]
pub struct PaymentsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List bookings by the state of their payment
    List {
        /// Which ones
        #[arg(long, default_value = "manual", value_parser = PossibleValuesParser::new(PaymentState::ALL.map(PaymentState::as_str)))]
        state: String,
        #[command(flatten)]
        common: Common,
    },
    /// Have the server look at a payment now; money that is owed is given back
    Retry {
        /// The booking
        booking: String,
        #[command(flatten)]
        common: Common,
    },
    /// Say what became of a payment that is `manual`
    Resolve {
        /// The booking
        booking: String,
        /// `paid`: the price was paid in full; `refunded`: the money was given back, or never taken
        #[arg(long)]
        how: How,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Clone, Args)]
struct Common {
    #[command(flatten)]
    place: PlaceArgs,
    /// For machines
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum How {
    Paid,
    Refunded,
}

impl How {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Refunded => "refunded",
        }
    }
}

impl PaymentsArgs {
    pub fn wants_json(&self) -> bool {
        self.common().json
    }

    fn common(&self) -> &Common {
        match &self.action {
            Action::List { common, .. } | Action::Retry { common, .. } | Action::Resolve { common, .. } => {
                common
            }
        }
    }
}

pub fn run(args: &PaymentsArgs) -> Result<Exit, Failure> {
    let common = args.common();
    common.place.must_exist()?;
    common.place.work(async |api| match &args.action {
        Action::List { state, .. } => list(api, state, common.json).await,
        Action::Retry { booking, .. } => resolve(api, booking, "retry", common.json).await,
        Action::Resolve { booking, how, .. } => resolve(api, booking, how.as_str(), common.json).await,
    })
}

async fn list(api: &mut Api, state: &str, json: bool) -> Result<Exit, Failure> {
    let bookings: Vec<Value> = api.list(&format!("/v1/bookings?payment={state}")).await?;
    if json {
        println!("{:#}", json!({"data": bookings}));
        return Ok(Exit::Done);
    }
    let term = Term::stdout();
    if bookings.is_empty() {
        println!("  {}", term.good(format!("no payment is {state}")));
        return Ok(Exit::Done);
    }
    let mut table = term.table(&["Booking", "State", "Amount", "Intent", "Why"]);
    for booking in &bookings {
        let text = |value: &Value| value.as_str().unwrap_or("–").to_owned();
        let amount = format!("{} {}", booking["amount"], text(&booking["currency"]));
        let payment = &booking["payment"];
        let row = [
            text(&booking["id"]),
            text(&booking["state"]),
            amount,
            text(&payment["intent"]),
            text(&payment["reason"]),
        ];
        table.add_row(row);
    }
    println!("{table}");
    Ok(Exit::Done)
}

async fn resolve(api: &mut Api, booking: &str, how: &str, json: bool) -> Result<Exit, Failure> {
    let path = format!("/v1/bookings/{}/payment", escaped(booking));
    let after: Value = api.post(&path, &json!({ "how": how })).await?;
    match json {
        true => println!("{after:#}"),
        false => {
            let said = |value: &Value| value.as_str().unwrap_or("–").to_owned();
            let (state, payment) = (said(&after["state"]), said(&after["payment"]["state"]));
            println!("  {} {booking} is {state}, its payment {payment}", Term::stdout().good("✓"));
        }
    }
    Ok(Exit::Done)
}
