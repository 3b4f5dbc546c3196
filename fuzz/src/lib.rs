//! Every parser of outside input, as a function of bytes.
//!
//! A target must not panic, whatever the bytes, and checks what the parser promises: that a name has one
//! spelling, that what was accepted is accepted again and means the same. `cargo fuzz` drives the targets by
//! coverage (`fuzz_targets/`, one line each, nightly toolchain); `tests/rehearsal.rs` runs the same functions on
//! stable over the seeds and a few thousand mutations of them, so that no target rots between campaigns.
//!
//! To add one: a function here, an entry in [`TARGETS`], its line in `fuzz_targets/`, its `[[bin]]`, and at least
//! one seed in `seeds/<name>/` that reaches the accepting side of the parser.

mod import;
mod journal;
pub mod mutate;
mod names;
mod offers;

use holdfast_server::fuzzing;

#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "names", run: names::names },
    Target { name: "text", run: names::text },
    Target { name: "seat_keys", run: offers::seat_keys },
    Target { name: "seat_plan", run: offers::seat_plan },
    Target { name: "calendar", run: offers::calendar },
    Target { name: "cell_keys", run: offers::cell_keys },
    Target { name: "journal_entry", run: journal::entry },
    Target { name: "checkpoint", run: journal::checkpoint },
    Target { name: "hold_body", run: fuzzing::hold },
    Target { name: "offer_body", run: fuzzing::new_offer },
    Target { name: "amend_body", run: fuzzing::amend },
    Target { name: "booking_body", run: fuzzing::booking },
    Target { name: "query", run: fuzzing::queries },
    Target { name: "instant", run: fuzzing::instant },
    Target { name: "header", run: fuzzing::headers },
    Target { name: "offers_file", run: import::offers_file },
    Target { name: "sheet", run: import::sheet },
];

/// Runs a target by its name.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    (target.run)(data);
}

/// The input as text. Bytes that are none are somebody else's to refuse.
fn as_text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
