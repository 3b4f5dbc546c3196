//! kill -9: what was acknowledged is there, what was not is wholly there or not at all, and the same key says which.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use holdfast_conformance::crash::{self, Kind, Step};
use holdfast_domain::{BookingState, HoldState};
use holdfast_engine::ledger::{
    Ledger, Reply,
    embedded::{EmbeddedLedger, verify},
};
use tempfile::TempDir;

use crate::size::{seed, setting};

const CHILD: &str = env!("CARGO_BIN_EXE_crash-child");
/// Lives that one folder sees before a fresh one begins.
const LIVES_A_FOLDER: u32 = 50;

/// What a life said before it ended.
#[derive(Debug, Default)]
struct Said {
    begun: BTreeSet<Step>,
    granted: BTreeSet<Step>,
    refused: BTreeSet<Step>,
    done: bool,
}

impl Said {
    /// Listens until `enough` answers were heard (then kills) or the child ends.
    fn by(mut child: Child, enough: usize) -> Self {
        let mut said = Self::default();
        let mut answers = 0;
        for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
            let line = line.expect("text");
            match line.split_once(' ') {
                Some(("?", step)) => drop(said.begun.insert(step.parse().unwrap())),
                Some(("!", step)) => drop(said.granted.insert(step.parse().unwrap())),
                Some(("-", step)) => drop(said.refused.insert(step.parse().unwrap())),
                _ => said.done |= line == "done",
            }
            answers += usize::from(!line.starts_with('?'));
            if answers == enough {
                child.kill().expect("it can be killed");
            }
        }
        child.wait().expect("it ended");
        said
    }

    fn unknown(&self) -> impl Iterator<Item = Step> {
        self.begun.iter().filter(|step| !self.granted.contains(step) && !self.refused.contains(step)).copied()
    }
}

fn child(dir: &Path, life: u32, buyers: u32, turns: u32) -> Child {
    let arguments = [life, buyers, turns].map(|number| number.to_string());
    let mut command = Command::new(CHILD);
    command.arg(dir).args(arguments).stdout(Stdio::piped()).spawn().expect("crash-child starts")
}

/// Checks the books as a start would find them; `Err` says what is wrong.
fn judge(dir: &Path, said: &Said) -> Result<(), String> {
    let report = verify(dir).map_err(|fault| fault.to_string())?;
    if !report.is_clean() {
        return Err(format!("verify: {:?}", report.broken));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ledger = crash::open(dir).await.map_err(|fault| fault.to_string())?;
        for step in &said.granted {
            there(&ledger, *step)
                .await?
                .then_some(())
                .ok_or(format!("{step} was acknowledged and is lost"))?;
            let again = ledger.execute(step.request()).await.map_err(|fault| fault.to_string())?;
            matches!(again, Reply::Replayed(_))
                .then_some(())
                .ok_or(format!("{step}: its key says {again:?}"))?;
        }
        for step in said.unknown() {
            let happened = there(&ledger, step).await?;
            let again = ledger.execute(step.request()).await.map_err(|fault| fault.to_string())?;
            if happened != matches!(again, Reply::Replayed(_)) {
                return Err(format!("{step} happened: {happened}, but its key says {again:?}"));
            }
        }
        Ok(())
    })
}

/// Whether a step's effect is in the books, whole.
async fn there(ledger: &EmbeddedLedger, step: Step) -> Result<bool, String> {
    let hold = ledger.hold(step.hold()).await.map_err(|fault| fault.to_string())?;
    let booking = ledger.booking(step.booking()).await.map_err(|fault| fault.to_string())?;
    if let Some(hold) = &hold
        && hold.hold.lines.len() != 2
    {
        return Err(format!("{step}: half a hold"));
    }
    let booked = booking.is_some_and(|booking| booking.booking.state == BookingState::Confirmed);
    let hold_says = hold.as_ref().is_some_and(|hold| matches!(hold.hold.state, HoldState::Booked { .. }));
    if booked != hold_says {
        return Err(format!("{step}: hold and booking disagree"));
    }
    Ok(if step.kind == Kind::Hold { hold.is_some() } else { booked })
}

/// A small generator is enough to choose moments; the seed makes them the same moments again.
fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *random >> 33
}

#[test]
fn killed_at_random_it_loses_nothing_acknowledged() {
    let cycles = setting("HOLDFAST_TEST_CRASHES", 60) as u32;
    let mut random = seed("killed_at_random_it_loses_nothing_acknowledged");
    let mut dir = TempDir::new().unwrap();
    let (mut granted, mut unknown, mut refused) = (0, 0, 0);
    for life in 0..cycles {
        if life % LIVES_A_FOLDER == 0 {
            dir = TempDir::new().unwrap();
        }
        let enough = 1 + next(&mut random) as usize % 400;
        let said = Said::by(child(dir.path(), life, 16, u32::MAX), enough);
        if let Err(wrong) = judge(dir.path(), &said) {
            panic!(
                "life {life}, killed after {enough} answers: {wrong}; books kept in {}",
                dir.keep().display()
            );
        }
        granted += said.granted.len();
        refused += said.refused.len();
        unknown += said.unknown().count();
    }
    println!(
        "{cycles} kills: {granted} acknowledged, 0 lost; {refused} refused; {unknown} unknown, all resolved"
    );
    assert!(
        granted > 0 && unknown > 0 && refused > 0,
        "a run that saw no win, no loss or no unknown proves nothing"
    );
}

/// Every write and every flush of one hold and one confirm, each time ended at another of them.
#[test]
fn killed_at_every_write_it_is_before_or_after_never_between() {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    assert!(traced.is_ok_and(|status| status.success()), "strace is needed: cargo xtask test installs it");
    let prepared = TempDir::new().unwrap();
    assert!(Said::by(child(prepared.path(), 0, 1, 3), usize::MAX).done);
    let mut points = 0;
    for call in ["pwrite64", "fdatasync", "fsync", "ftruncate"] {
        for at in 1.. {
            let dir = copy_of(prepared.path());
            let mut strace = Command::new("strace");
            strace.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
            strace.args(["-e", &format!("inject={call}:signal=SIGKILL:when={at}"), CHILD]);
            let child = strace.arg(dir.path()).args(["1", "1", "1"]).stdout(Stdio::piped()).spawn().unwrap();
            let said = Said::by(child, usize::MAX);
            judge(dir.path(), &said).unwrap_or_else(|wrong| panic!("killed at {call} number {at}: {wrong}"));
            if said.done {
                break;
            }
            points += 1;
        }
    }
    println!("{points} points, each before or after");
    assert!(points >= 8, "only {points} points: the flow was not reached");
}

fn copy_of(dir: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}
