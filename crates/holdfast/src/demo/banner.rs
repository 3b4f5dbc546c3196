//! What the demo says: where to look, what to paste, and how the shop is doing.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use holdfast_stripe_simulator::Simulator;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{buyers::Traffic, offers::CURL_SEAT};
use crate::{
    http::Target,
    term::{self, Term, thousands},
};

/// The idempotency key in the curl line. Its holder is a guest, so another key is another buyer.
const INTENTION: &str = "first-try";

pub(super) fn print(target: &Target, key: &str, bank: &Simulator, taken: Option<SocketAddr>) {
    let term = Term::stdout();
    println!("\n  {}  {}", term.bold("Holdfast"), term.dim("a shop in memory; it is gone when you stop it"));
    if let Some(taken) = taken {
        println!("  {}", term.warn(format!("{taken} is taken, so this one listens on {target}")));
    }
    let heading = |text: &str| println!("\n  {}", term.bold(text));
    let place = |path: &str, what: &str| {
        println!("    {:<58} {}", term.accent(format!("{target}{path}")), term.dim(what));
    };
    heading("Look");
    place("/", "the shop");
    place("/o/stadium", "a stadium of 20,480 seats, while people buy them");
    place("/o/hall", "a hall of 160, to choose seats from");
    place("/o/dr-lee", "a calendar in Berlin, in your time zone too");
    place("/o/flash", "a flash sale of 500");
    place("/admin", "the organiser's side: sign in with the key below");
    place("/docs", "the API, with every call to try");
    place("/readyz", "whether all is well; /metrics for Prometheus");
    heading("Key (admin)");
    println!("    {key}");
    heading("Paste this: 201, seat A-12 of the hall is yours for ten minutes");
    println!("    {}", curl(target, key));
    println!("\n    {}", term.dim("Again: the same bytes, with Idempotency-Replayed: true."));
    println!("    {}", term.dim("With another Idempotency-Key: 409 unit_taken, and seats to take instead."));
    heading("Pay for it by card, in play money: 201, confirmed and charged");
    println!("    POST /v1/bookings  {}", pay());
    let declined = "pm_card_chargeDeclinedInsufficientFunds";
    println!("\n    {}", term.dim(format!("With {declined}: 402, and the hold is still yours.")));
    let money = term.accent(format!("{}/_simulator/money", bank.url()));
    println!("    {money} {}", term.dim("what the simulated bank has taken and given back"));
    heading("Let a thousand people want one seat");
    println!("    holdfast race --buyers 1000");
    place("/lab", "its picture, and a race that sells one seat again and again");
    println!("\n  {}\n", term.dim("Ctrl-C stops it."));
}

fn curl(target: &Target, key: &str) -> String {
    let body = json!({"holder": null, "lines": [{"offer": "hall", "unit": CURL_SEAT}]});
    format!(
        "curl -i -X POST {target}/v1/holds -H 'Authorization: Bearer {key}' -H 'Idempotency-Key: {INTENTION}' \
         -H 'Content-Type: application/json' -d '{body}'"
    )
}

/// What to post, with the hold's id in its place.
fn pay() -> serde_json::Value {
    json!({"hold": "hold_…", "payment": {"provider": "stripe", "payment_method": "pm_card_visa"}})
}

/// Keeps one line up to date on a terminal until the demo ends.
pub(super) async fn follow(traffic: &Arc<Traffic>, shutdown: &CancellationToken) {
    let spinner = term::spinner("the doors are open");
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    while shutdown.run_until_cancelled(tick.tick()).await.is_some() {
        spinner.set_message(figures(traffic));
    }
    spinner.finish_and_clear();
}

fn figures(traffic: &Traffic) -> String {
    let count = |counter: &std::sync::atomic::AtomicU64| thousands(counter.load(Relaxed));
    format!(
        "live buyers: {} held · {} booked · {} refused · {} cancelled",
        count(&traffic.held),
        count(&traffic.booked),
        count(&traffic.refused),
        count(&traffic.cancelled)
    )
}

pub(super) fn farewell(traffic: &Traffic) {
    let term = Term::stdout();
    println!("  {} {}\n", term.good("Closed."), term.dim(figures(traffic)));
}
