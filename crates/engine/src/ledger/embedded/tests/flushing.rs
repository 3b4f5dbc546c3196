//! The disk refuses to flush. `strace` makes the system call fail in a process of its own.

use std::{
    path::Path,
    process::{Command as Program, Stdio},
};

use super::bench::{Bench, hold_id, place, seat};
use crate::ledger::{
    Ledger, LedgerError, Reply,
    embedded::{Limits, Storage, verify},
};

const DIR: &str = "HOLDFAST_TEST_DIR";

/// Not a test of its own: the test below runs it in a process whose disk fails after a while. Prints what it was
/// promised.
#[tokio::test]
async fn seller() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let bench = Bench::with(Storage::Dir(dir.into()), Limits::default()).open_for_sale().await;
    for n in 1..=20 {
        match bench.try_send(place(n, "alice", vec![seat(n as u32)]), None).await {
            Ok(Reply::Done(_)) => println!("sold {n}"),
            Ok(other) => println!("surprised by {other:?}"),
            Err(LedgerError::OutcomeUnknown(_)) => println!("unknown {n}"),
            Err(LedgerError::Unavailable(_)) => println!("unavailable {n}"),
            Err(other) => println!("surprised by {other:?}"),
        }
    }
    // No goodbye: the process dies with its disk.
    std::process::exit(0);
}

fn sell_on_a_failing_disk(dir: &Path) -> String {
    let tests = std::env::current_exe().expect("this program");
    let seller = Program::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"])
        .args(["-e", "inject=fsync,fdatasync:error=EIO:when=14+"])
        .arg(tests)
        .args(["--exact", "--nocapture", "ledger::embedded::tests::flushing::seller"])
        .env(DIR, dir)
        .stderr(Stdio::null())
        .output()
        .expect("strace runs");
    String::from_utf8_lossy(&seller.stdout).into_owned()
}

fn numbers(told: &str, word: &str) -> Vec<u128> {
    told.lines().filter_map(|line| line.split(word).nth(1)?.trim().parse().ok()).collect()
}

#[tokio::test]
async fn a_failed_flush_is_never_a_yes_and_loses_none() {
    if Program::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: strace is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let told = sell_on_a_failing_disk(dir.path());
    let (sold, unknown) = (numbers(&told, "sold "), numbers(&told, "unknown "));
    assert!(!sold.is_empty() && !unknown.is_empty() && !told.contains("surprised"), "{told}");
    // Once the disk has failed, nobody is told yes.
    assert!(sold.iter().all(|n| *n < unknown[0]), "{told}");
    let report = verify(dir.path()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default());
    for n in sold {
        assert!(bench.ledger.hold(hold_id(n)).await.unwrap().is_some(), "{n} was promised\n{told}");
    }
}
