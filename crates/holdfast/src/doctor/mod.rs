//! `holdfast doctor`: what would hurt, before it hurts.
//!
//! Each check looks at one thing and gives a [`Finding`]: what is so, whether that is well, and what to change if
//! not. Checks only look; they leave the folder as they found it and may run beside a server.

mod checks;
mod gate;
mod ledger;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::{
    failure::{Exit, Failure},
    settings::{Flags, Settings},
    term::{self, Term},
};

/// Look for what is wrong with the machine, the settings, the books and the gate, and say what to change
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// For machines
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    settings: Flags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Well,
    /// Works, and could work better.
    Doubtful,
    /// Does not work, or will not keep its promises.
    Ill,
}

#[derive(Debug, Clone, Serialize)]
struct Finding {
    check: &'static str,
    /// Which of several, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    of: String,
    health: Health,
    found: String,
    /// What to change; empty where all is well.
    advice: String,
}

impl Finding {
    fn well(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, of: String::new(), health: Health::Well, found: found.into(), advice: String::new() }
    }

    fn doubtful(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            check,
            of: String::new(),
            health: Health::Doubtful,
            found: found.into(),
            advice: advice.into(),
        }
    }

    fn ill(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { check, of: String::new(), health: Health::Ill, found: found.into(), advice: advice.into() }
    }
}

/// By how much clocks may be apart before somebody should ask why, and before nothing can be trusted.
const CLOCKS_APART_MS: i64 = 100;
const CLOCKS_FAR_APART_MS: i64 = 2_000;

fn clocks(check: &'static str, ahead_ms: i64, of_whom: &str, harm: &str) -> Finding {
    let found = match ahead_ms {
        0.. => format!("{of_whom} is {ahead_ms} ms ahead of ours"),
        _ => format!("{of_whom} is {} ms behind ours", -ahead_ms),
    };
    let advice = format!("let both machines follow NTP: {harm}");
    match ahead_ms.abs() {
        CLOCKS_FAR_APART_MS.. => Finding::ill(check, found, advice),
        apart if apart > CLOCKS_APART_MS => Finding::doubtful(check, found, advice),
        _ => Finding::well(check, found),
    }
}

/// Payments about which the machine must not decide.
fn manual_payments(count: i64) -> Finding {
    const CHECK: &str = "manual payments";
    match count {
        ..1 => Finding::well(CHECK, "none"),
        _ => Finding::doubtful(
            CHECK,
            format!("{count} wait for a person"),
            "`holdfast payments list` shows which and why; docs/payments.md says what to do",
        ),
    }
}

pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let raw = args.settings.gather()?;
    let settings = Settings::check(&raw)?;
    let findings = checks::all(&settings, &raw.strangers);
    let ill = findings.iter().filter(|finding| finding.health == Health::Ill).count();
    match args.json {
        true => println!("{:#}", json!({"ok": ill == 0, "findings": findings})),
        false => show(&findings, ill),
    }
    Ok(if ill == 0 { Exit::Done } else { Exit::CheckFailed })
}

fn show(findings: &[Finding], ill: usize) {
    let term = Term::stdout();
    println!();
    for finding in findings {
        let mark = match finding.health {
            Health::Well => term.good("✓"),
            Health::Doubtful => term.warn("!"),
            Health::Ill => term.bad("✗"),
        };
        let of = if finding.of.is_empty() { String::new() } else { format!("{}: ", finding.of) };
        println!("  {mark} {:<18} {of}{}", finding.check, finding.found);
        if !finding.advice.is_empty() {
            println!("    {:<18} {} {}", "", term.accent("→"), finding.advice);
        }
    }
    let doubtful = findings.iter().filter(|finding| finding.health == Health::Doubtful).count();
    let verdict = match (ill, doubtful) {
        (0, 0) => term.good("nothing is wrong"),
        (0, _) => {
            term.warn(format!("nothing is broken, {}", term::count(doubtful as u64, "warning", "warnings")))
        }
        (1, _) => term.bad("one thing is wrong"),
        _ => term.bad(format!("{ill} things are wrong")),
    };
    println!("\n  {verdict}\n");
}
