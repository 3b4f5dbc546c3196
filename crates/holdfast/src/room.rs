//! `holdfast room verify`: was the lottery of a waiting room drawn as it was promised?
//!
//! Needs nothing but what the room publishes to everybody, and computes the draw again from it.

use clap::{Args, Subcommand};
use holdfast_engine::admission::waiting_room::{Order, order};
use serde::Deserialize;
use serde_json::json;

use crate::{
    failure::{Exit, Failure},
    http::{api::Api, escaped},
    node::short_runtime,
    server_args::ServerArgs,
    term::{Term, thousands},
};

/// Verify the lottery of a waiting room
#[derive(Debug, Args)]
pub struct RoomArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Compute the draw again from what the room publishes; exits with 1 unless it is the one that was promised
    #[command(
        after_help = "Note the commitment before the draw and pass it here: then nobody, the organiser included, \
        can have chosen another seed since. With --ticket it says which place that ticket has."
    )]
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
struct VerifyArgs {
    /// The offer whose room it is
    #[arg(long)]
    offer: String,
    /// The commitment as it was published before the draw, in hexadecimal
    #[arg(long, value_name = "HEX")]
    commitment: Option<String>,
    /// The number of a ticket whose place to compute; may be given several times
    #[arg(long, value_name = "N")]
    ticket: Vec<u32>,
    #[command(flatten)]
    server: ServerArgs,
    /// For machines
    #[arg(long)]
    json: bool,
}

impl RoomArgs {
    pub const fn wants_json(&self) -> bool {
        let Action::Verify(args) = &self.action;
        args.json
    }
}

/// What everybody may know of a room, as far as this needs it.
#[derive(Debug, Deserialize)]
struct Published {
    issued: u32,
    lottery: Option<Draw>,
}

#[derive(Debug, Deserialize)]
struct Draw {
    commitment: String,
    seed: Option<String>,
    tickets: Option<u32>,
}

pub fn run(args: &RoomArgs) -> Result<Exit, Failure> {
    let Action::Verify(args) = &args.action;
    let access = args.server.access()?;
    // What everybody may see: no key is needed, and none is sent.
    let mut api = Api::new(access.target, None);
    let path = format!("/v1/offers/{}/room", escaped(&args.offer));
    let room: Published = short_runtime()?.block_on(api.get(&path))?;
    let found = judge(&room, args)?;
    match args.json {
        true => println!("{:#}", found.as_json(&args.offer)),
        false => found.show(&args.offer),
    }
    Ok(if found.faults.is_empty() { Exit::Done } else { Exit::CheckFailed })
}

/// What came of computing it again.
#[derive(Debug)]
struct Found {
    commitment: String,
    tickets: u32,
    /// Number and place.
    places: Vec<(u32, u32)>,
    faults: Vec<String>,
}

fn judge(room: &Published, args: &VerifyArgs) -> Result<Found, Failure> {
    let none = || {
        let what = format!("{} has no lottery", args.offer);
        Failure::usage(what, "name an offer whose waiting room lets people in by lot")
    };
    let draw = room.lottery.as_ref().ok_or_else(none)?;
    let (Some(seed), Some(tickets)) = (&draw.seed, draw.tickets) else {
        let what = format!("{} has not been drawn yet; its commitment is {}", args.offer, draw.commitment);
        return Err(Failure::usage(what, "note the commitment, and come back after the opening"));
    };
    let mut faults = Vec::new();
    if let Some(noted) =
        args.commitment.as_ref().filter(|noted| !noted.eq_ignore_ascii_case(&draw.commitment))
    {
        faults.push(format!("the commitment was {noted}, and is {} now", draw.commitment));
    }
    if tickets > room.issued {
        faults.push(format!("{tickets} tickets were in the draw, and only {} were given out", room.issued));
    }
    let seed = bytes(seed).unwrap_or_else(|| {
        faults.push("the seed is not 32 bytes in hexadecimal".into());
        [0; 32]
    });
    let computed = hex(&order::commitment(&seed));
    if computed != draw.commitment {
        faults.push(format!("the seed's SHA-256 is {computed}, and {} was promised", draw.commitment));
    }
    let order = Order::draw(&seed, tickets);
    let places = args.ticket.iter().filter_map(|&number| Some((number, order.place(number)?))).collect();
    Ok(Found { commitment: draw.commitment.clone(), tickets, places, faults })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == 64)?;
    let pairs: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    pairs.try_into().ok()
}

impl Found {
    fn as_json(&self, offer: &str) -> serde_json::Value {
        let place = |(number, place): &(u32, u32)| json!({"number": number, "place": place});
        json!({"ok": self.faults.is_empty(), "offer": offer, "commitment": self.commitment, "tickets": self.tickets,
            "places": self.places.iter().map(place).collect::<Vec<_>>(), "faults": self.faults})
    }

    fn show(&self, offer: &str) {
        let term = Term::stdout();
        println!("\n  {offer}: {} tickets in the draw", thousands(u64::from(self.tickets)));
        println!("  commitment {}", self.commitment);
        for (number, place) in &self.places {
            println!("  ticket {number} has place {}", term.bold(place.to_string()));
        }
        if self.faults.is_empty() {
            println!("\n  {}\n", term.good("✓ the draw is the one that was promised"));
        }
        for fault in &self.faults {
            println!("  {} {fault}", term.bad("✗"));
        }
        if !self.faults.is_empty() {
            println!("\n  {} keep what you have noted, and ask the organiser\n", term.accent("next:"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(commitment: Option<&str>) -> VerifyArgs {
        let server = ServerArgs { url: None, key: None };
        let commitment = commitment.map(str::to_owned);
        VerifyArgs { offer: "hall".into(), commitment, ticket: vec![1, 2, 3, 4], server, json: true }
    }

    fn published(seed: [u8; 32], commitment: String) -> Published {
        let lottery = Some(Draw { commitment, seed: Some(hex(&seed)), tickets: Some(3) });
        Published { issued: 4, lottery }
    }

    #[test]
    fn an_honest_draw_verifies() {
        let promised = hex(&order::commitment(&[7; 32]));
        let found = judge(&published([7; 32], promised.clone()), &args(Some(&promised))).unwrap();
        assert!(found.faults.is_empty(), "{found:?}");
        let mut places: Vec<_> = found.places.iter().map(|(_, place)| *place).collect();
        places.sort_unstable();
        assert_eq!(places, [1, 2, 3, 4]);
        assert_eq!(found.places[3], (4, 4), "who came after the draw stands behind it");
    }

    #[test]
    fn another_seed_or_commitment_is_found_out() {
        let promised = hex(&order::commitment(&[7; 32]));
        let found = judge(&published([8; 32], promised.clone()), &args(None)).unwrap();
        assert_eq!(found.faults.len(), 1, "another seed than promised");
        let other = hex(&order::commitment(&[8; 32]));
        let found = judge(&published([8; 32], other), &args(Some(&promised))).unwrap();
        assert_eq!(found.faults.len(), 1, "another promise than was noted");
    }

    #[test]
    fn before_the_draw_there_is_nothing_to_verify() {
        let lottery = Some(Draw { commitment: "ab".into(), seed: None, tickets: None });
        assert!(judge(&Published { issued: 4, lottery }, &args(None)).is_err());
        assert!(judge(&Published { issued: 4, lottery: None }, &args(None)).is_err());
    }
}
