//! The picture of a race: every buyer a lane, from what they heard and when. Written to a file, or handed to the
//! server's lab where it has one.

use std::{fs, path::Path, time::Duration};

use holdfast_engine::clock::{Clock, SystemClock};
use holdfast_lab::{
    race::{self, Entrant, judged},
    report::{
        Report, html,
        model::{Lane, Outcome as Drawn, Phase, Race, Span},
    },
    shelf::just_now,
};
use serde::Deserialize;

use super::run::{Course, Outcome};
use crate::{failure::Failure, http::api::Api};

/// One buyer's lane. From outside a server shows one thing: how long it took to answer.
pub(super) fn entrant(holder: &str, outcome: &Outcome, start: Duration, end: Duration) -> Entrant {
    let us = |at: Duration| u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
    let (start_us, end_us) = (us(start), us(end));
    let (drawn, words, for_the_unit) = match outcome {
        Outcome::Won(winner) => (Drawn::Won, winner.hold.clone(), false),
        Outcome::Refused(code) => {
            (Drawn::Refused, code.clone(), matches!(code.as_str(), "unit_taken" | "sold_out"))
        }
        Outcome::Unknown => (Drawn::Unknown, "no answer, even on asking again".to_owned(), false),
        Outcome::Error(what) => (Drawn::Refused, what.clone(), false),
    };
    // `racer-7-…`: the end is the same for all of this race.
    let buyer = holder.rsplit_once('-').map_or(holder, |(buyer, _)| buyer).to_owned();
    let phases = vec![Span { phase: Phase::Ask, start_us, end_us }];
    Entrant { lane: Lane { buyer, outcome: drawn, start_us, end_us, phases, words }, for_the_unit }
}

pub(super) fn drawn(course: &Course, mut entrants: Vec<Entrant>) -> Race {
    if !course.was_free() {
        // Somebody had it before, whom the checker does not see: being refused it is no violation.
        entrants.iter_mut().for_each(|entrant| entrant.for_the_unit = false);
    }
    let course = race::Course {
        strategy: "this server".to_owned(),
        scenario: "one_unit".to_owned(),
        seed: 0,
        unit: format!("{} of {}", course.unit, course.offer),
        capacity: 1,
        sells: false,
    };
    judged(course, entrants)
}

pub(super) fn write(path: &Path, race: &Race) -> Result<(), Failure> {
    let now = SystemClock::new().now().to_string();
    let report = Report { races: vec![race.clone()], ..just_now(&now) };
    fs::write(path, html(&report)).map_err(|fault| {
        let what = format!("the picture {} cannot be written", path.display());
        Failure::usage(what, "name a file in a folder that may be written to").because(fault)
    })
}

/// The address of the picture in the server's lab; `None` where it has none, or the key may not post there.
pub(super) async fn post(api: &mut Api, race: &Race) -> Option<String> {
    #[derive(Deserialize)]
    struct Kept {
        url: String,
    }
    let Kept { url } = api.post("/lab/races", race).await.ok()?;
    Some(format!("{}{url}", api.target))
}
