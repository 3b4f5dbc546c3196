//! Settings: where they come from, what they may be, and what is in force.
//!
//! ```text
//! flags > HOLDFAST_* variables > TOML file > defaults ─► Raw ─► Settings
//!                  sources.rs, by the table in table.rs        check.rs
//! ```
//! Every setting has one name, spelt `max_in_flight` in the file, `--max-in-flight` as a flag and
//! `HOLDFAST_MAX_IN_FLIGHT` as a variable. Raw text becomes checked settings once, at start, and all faults are
//! reported together; after that nothing reads the environment again.

mod address;
mod admission;
mod books;
mod check;
mod gate;
mod payments;
mod sources;
mod spec;
mod table;

pub use address::without_password;
pub use admission::Admission;
pub use books::Books;
pub use check::{LogFormat, Settings};
pub use gate::Gate;
pub use payments::Payments;
pub use sources::{BooksArgs, Flags, Raw};
pub use spec::Spec;
pub use table::SPECS;

use crate::failure::Failure;

/// A value that cannot be used: which setting, where it was said, and the rule it breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub at: String,
    pub rule: String,
}

impl From<Vec<Fault>> for Failure {
    fn from(faults: Vec<Fault>) -> Self {
        let lines: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.at, fault.rule)).collect();
        let what = match lines.as_slice() {
            [only] => only.clone(),
            _ => format!("{} settings are wrong\n  {}", lines.len(), lines.join("\n  ")),
        };
        Self::usage(what, "correct it, or run `holdfast config` to see every setting and where it comes from")
    }
}
