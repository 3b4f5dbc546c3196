//! `holdfast stripe-simulator`: a card provider that looks like Stripe, on this machine, until it is told to stop.

use std::{io::Write, net::SocketAddr, time::Duration};

use clap::Args;
use holdfast_stripe_simulator::{CARDS, Deliveries, Settings, Simulator};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    failure::{Exit, Failure},
    stop,
    term::Term,
};

/// Run a card provider that looks like Stripe, to test a shop against: no money moves, no network is needed
#[derive(Debug, Args)]
#[command(
    after_help = "Point Stripe's own libraries or HOLDFAST_STRIPE_URL at it. Beside the API it has a desk for faults:\n\n  \
    POST /_simulator/faults {\"fault\":\"drop_after\",\"on\":\"confirm_intent\"}   the next such call loses its answer\n  \
    POST /_simulator/outage {\"fault\":\"error_unkept\"}                        every call fails, until {\"fault\":null}\n  \
    POST /_simulator/advance {\"seconds\":60}                                 moves its time forward\n  \
    POST /_simulator/authenticate {\"intent\":\"pi_…\",\"succeeds\":true}         passes 3-D Secure\n  \
    GET  /_simulator/money                                                  what was taken and given back\n\n\
    Faults: rate_limited, error_unkept, error_before, error_after, hang_before, hang_after, drop_before, drop_after, slow. \
    Ctrl-C or SIGTERM stops it."
)]
pub struct SimulatorArgs {
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:12111")]
    listen: SocketAddr,
    /// Where to post webhooks, such as http://127.0.0.1:8080/v1/webhooks/stripe; none are sent without it
    #[arg(long, value_name = "URL")]
    webhook_url: Option<String>,
    /// The API key to expect; made up unless given
    #[arg(long, value_name = "KEY")]
    secret_key: Option<String>,
    /// The secret that signs webhooks; made up unless given
    #[arg(long, value_name = "SECRET")]
    webhook_secret: Option<String>,
    /// How often to send each webhook
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=10))]
    copies: u8,
    /// How many milliseconds each webhook waits before it is sent
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay_ms: u64,
    /// Send webhooks that wait together in reverse
    #[arg(long)]
    reorder: bool,
    /// Print one line of JSON instead of a page
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &SimulatorArgs) -> Result<Exit, Failure> {
    if args.webhook_url.as_ref().is_some_and(|url| !url.starts_with("http://")) {
        return Err(Failure::usage(
            "webhooks go over plain HTTP, to this machine or near it",
            "give --webhook-url an address that begins with http://",
        ));
    }
    crate::node::short_runtime()?.block_on(serve(args))
}

async fn serve(args: &SimulatorArgs) -> Result<Exit, Failure> {
    let simulator = Simulator::start(args.listen, settings(args)).await.map_err(|fault| {
        let next = "choose another address with --listen, or stop what has it; port 0 picks a free one";
        Failure::unreachable(format!("cannot listen on {}", args.listen), next).because(fault)
    })?;
    let shutdown = CancellationToken::new();
    let stopped = tokio::spawn(stop::on_signal(shutdown.clone()));
    let text = if args.json { line(&simulator) } else { page(&simulator, args) };
    let mut out = std::io::stdout().lock();
    // Nobody has to listen: a closed pipe is no reason not to serve.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    drop(out);
    shutdown.cancelled().await;
    stopped.abort();
    Ok(Exit::Done)
}

fn settings(args: &SimulatorArgs) -> Settings {
    Settings {
        secret_key: args.secret_key.clone(),
        webhook_secret: args.webhook_secret.clone(),
        webhooks: Deliveries {
            url: args.webhook_url.clone(),
            copies: args.copies.into(),
            delay: Duration::from_millis(args.delay_ms),
            reordered: args.reorder,
            ..Deliveries::default()
        },
        ..Settings::default()
    }
}

fn line(simulator: &Simulator) -> String {
    json!({
        "url": simulator.url(), "secret_key": simulator.secret_key(),
        "publishable_key": simulator.publishable_key(), "webhook_secret": simulator.webhook_secret(),
    })
    .to_string()
}

fn page(simulator: &Simulator, args: &SimulatorArgs) -> String {
    let term = Term::stdout();
    let mut lines = vec![
        format!(
            "\n  {}  {}",
            term.bold("Stripe, simulated"),
            term.dim("no money moves; gone when you stop it")
        ),
        format!("\n    HOLDFAST_STRIPE_URL={}", simulator.url()),
        format!("    HOLDFAST_STRIPE_SECRET_KEY={}", simulator.secret_key()),
        format!("    HOLDFAST_STRIPE_WEBHOOK_SECRET={}", simulator.webhook_secret()),
    ];
    lines.push(match &args.webhook_url {
        Some(url) => format!("\n  Webhooks go to {url}"),
        None => format!("\n  {}", term.dim("No webhooks are sent: give --webhook-url to get them.")),
    });
    lines.push(format!("\n  {}", term.bold("Cards")));
    lines.extend(
        CARDS.iter().map(|card| format!("    {:<46} {}", term.accent(card.name), term.dim(card.does))),
    );
    lines.push(format!("\n  {}", term.bold("Paste this: a payment that succeeds")));
    lines.push(format!(
        "    curl {}/v1/payment_intents -H 'Authorization: Bearer {}' -d amount=4500 -d currency=eur \
         -d 'payment_method_types[]=card' -d payment_method=pm_card_visa -d confirm=true",
        simulator.url(),
        simulator.secret_key()
    ));
    lines.push(format!("\n  {}\n", term.dim("Ctrl-C stops it.")));
    lines.join("\n")
}
