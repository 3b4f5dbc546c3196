//! The checks, one function each, in the order in which a person would want to hear of them.

use std::{
    fs::{self, File, TryLockError},
    net::{SocketAddr, TcpListener},
    path::Path,
    time::Duration,
};

use holdfast_domain::Moment;
use holdfast_engine::{
    clock::{Clock, SystemClock},
    payments::stripe::Stripe,
};
use rusqlite::{Connection, OpenFlags};

use super::{Finding, gate, ledger, manual_payments};
use crate::{
    machine, node,
    settings::{Books, Payments, Settings},
    term,
};

/// The books and their lock, as the embedded ledger names them.
const BOOKS: &str = "holdfast.db";
const LOCK: &str = "holdfast.lock";

const LITTLE_SPACE: u64 = 100_000_000;
const SOME_SPACE: u64 = 1_000_000_000;
const SLOW_SYNC: Duration = Duration::from_millis(20);
const LARGE_WAL: u64 = 256_000_000;
/// Entries by which the tables for people may be behind before somebody should ask why.
const LARGE_LAG: i64 = 100_000;
/// No sale in these books is older than the program.
const EARLIEST: Moment = Moment::from_s(1_767_225_600);

pub(super) fn all(settings: &Settings, strangers: &[String]) -> Vec<Finding> {
    let mut findings = match &settings.books {
        Books::Folder(folder) => in_folder(folder),
        Books::Postgres(connecting) => ledger::all(connecting, settings.postgres.batches),
    };
    findings.extend(settings.gate.iter().flat_map(gate::all));
    findings.push(payments(settings));
    findings.extend(settings.payments.as_ref().and_then(provider));
    findings.extend([clock(), open_files(settings), listen(settings.listen)]);
    findings.extend(strangers.iter().map(|name| stranger(name)));
    findings
}

fn in_folder(folder: &Path) -> Vec<Finding> {
    let mut findings = vec![folder_exists(folder)];
    if folder.is_dir() {
        findings.extend([
            writable(folder),
            free_space(folder),
            filesystem(folder),
            sync_latency(folder),
            owner(folder),
        ]);
        findings.extend(books(folder));
    }
    findings.push(sqlite());
    findings
}

fn folder_exists(folder: &Path) -> Finding {
    let shown = folder.display();
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Finding::well("data folder", shown.to_string()),
        Ok(_) => Finding::ill("data folder", format!("{shown} is a file"), "name a folder with --data"),
        Err(_) => Finding::doubtful(
            "data folder",
            format!("{shown} does not exist"),
            "`holdfast serve` makes it; if you expected one here, check --data and where you are",
        ),
    }
}

fn writable(folder: &Path) -> Finding {
    let probe = folder.join(format!(".holdfast-probe-{}", std::process::id()));
    match File::create_new(&probe).and_then(|_| fs::remove_file(&probe)) {
        Ok(()) => Finding::well("writable", "yes"),
        Err(fault) => {
            Finding::ill("writable", format!("no: {fault}"), "give the user that serves write access to it")
        }
    }
}

fn free_space(folder: &Path) -> Finding {
    const CHECK: &str = "free space";
    match machine::free_space(folder) {
        Ok(bytes) if bytes < LITTLE_SPACE => {
            Finding::ill(CHECK, term::size(bytes), "free some: without space nothing can be sold")
        }
        Ok(bytes) if bytes < SOME_SPACE => Finding::doubtful(
            CHECK,
            term::size(bytes),
            "a busy sale writes about 1 GB for every two million holds",
        ),
        Ok(bytes) => Finding::well(CHECK, term::size(bytes)),
        Err(fault) => Finding::doubtful(CHECK, format!("cannot tell: {fault}"), "check the disk by hand"),
    }
}

fn filesystem(folder: &Path) -> Finding {
    const CHECK: &str = "filesystem";
    match machine::filesystem(folder) {
        Some(kind) if machine::is_network(&kind) => Finding::ill(
            CHECK,
            kind,
            "move the folder to a local disk: SQLite's log is not safe over a network",
        ),
        Some(kind) if machine::is_memory(&kind) => Finding::ill(
            CHECK,
            kind,
            "move the folder to a disk: this one forgets everything at the next boot",
        ),
        Some(kind) => Finding::well(CHECK, kind),
        None => Finding::doubtful(CHECK, "unknown", "make sure that it is a local disk"),
    }
}

fn sync_latency(folder: &Path) -> Finding {
    const CHECK: &str = "fsync latency";
    match machine::fsync_latency(folder) {
        Ok(took) => {
            let shown = term::latency(took.as_micros() as u64);
            match took {
                // A disk cannot; something between here and it is not waiting.
                _ if took < Duration::from_micros(5) => Finding::doubtful(
                    CHECK,
                    format!("{shown}, faster than any disk"),
                    "check that the disk is not set to ignore flushes; if it is, a power cut loses sales",
                ),
                _ if took > SLOW_SYNC => Finding::doubtful(
                    CHECK,
                    shown,
                    "every answer waits for this; a faster disk, or one with power-loss protection, helps most",
                ),
                _ => Finding::well(CHECK, shown),
            }
        }
        Err(fault) => Finding::ill(CHECK, format!("failed: {fault}"), "check the disk and the system's log"),
    }
}

/// Who has the folder. Trying the lock takes it for no longer than it takes to say so.
fn owner(folder: &Path) -> Finding {
    const CHECK: &str = "in use by";
    let path = folder.join(LOCK);
    let Ok(file) = File::open(&path) else { return Finding::well(CHECK, "nobody yet") };
    match file.try_lock() {
        Ok(()) => Finding::well(CHECK, "nobody"),
        Err(TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&path).unwrap_or_default();
            Finding::well(CHECK, format!("process {}", pid.trim()))
        }
        Err(TryLockError::Error(fault)) => {
            Finding::ill(CHECK, format!("cannot lock: {fault}"), "use a filesystem that has locks")
        }
    }
}

/// What the books themselves show, read beside whoever writes them.
fn books(folder: &Path) -> Vec<Finding> {
    let path = folder.join(BOOKS);
    if !path.exists() {
        return vec![Finding::well("books", "none yet")];
    }
    let opened = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    match opened.and_then(|books| read_books(&books)) {
        Ok(mut findings) => {
            findings.push(wal(folder));
            findings
        }
        Err(fault) => {
            vec![Finding::ill("books", format!("cannot be read: {fault}"), "run `holdfast verify`")]
        }
    }
}

fn read_books(books: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let (last_seq, last_at): (i64, Option<i64>) = books.query_row(
        "SELECT coalesce(max(last_seq), 0), (SELECT at_ms FROM batches ORDER BY first_seq DESC LIMIT 1) FROM batches",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let projected: i64 = books.query_row(
        "SELECT coalesce((SELECT value FROM meta WHERE name = 'projected_seq'), 0)",
        [],
        |row| row.get(0),
    )?;
    // Books of an earlier version have no such table until a server has opened them.
    let manual =
        books.query_row("SELECT count(*) FROM payments WHERE state = 'manual'", [], |row| row.get(0));
    let entries = term::count(last_seq.unsigned_abs(), "journal entry", "journal entries");
    let mut findings = vec![
        Finding::well("books", entries),
        last_entry(last_at.map(Moment::from_ms)),
        lag(last_seq - projected),
    ];
    findings.extend(manual.ok().map(manual_payments));
    Ok(findings)
}

/// A clock behind the journal would make holds outlive their time.
fn last_entry(at: Option<Moment>) -> Finding {
    const CHECK: &str = "last entry";
    let now = SystemClock::new().now();
    match at {
        None => Finding::well(CHECK, "none yet"),
        Some(at) if at > now.plus_s(1) => Finding::ill(
            CHECK,
            format!("{at}, later than now ({now})"),
            "the clock was set back: correct it before selling, or holds live longer than they should",
        ),
        Some(at) => Finding::well(CHECK, at.to_string()),
    }
}

fn lag(entries: i64) -> Finding {
    const CHECK: &str = "tables behind by";
    let shown = term::count(entries.max(0).unsigned_abs(), "entry", "entries");
    match entries {
        LARGE_LAG.. => Finding::doubtful(CHECK, shown, "lists and the journal are slow until they catch up"),
        _ => Finding::well(CHECK, shown),
    }
}

fn wal(folder: &Path) -> Finding {
    const CHECK: &str = "write-ahead log";
    let bytes = fs::metadata(folder.join(format!("{BOOKS}-wal"))).map_or(0, |found| found.len());
    match bytes {
        LARGE_WAL.. => Finding::doubtful(
            CHECK,
            term::size(bytes),
            "something reads the books for a long time and keeps it from shrinking; end that, or restart the server",
        ),
        _ => Finding::well(CHECK, term::size(bytes)),
    }
}

fn payments(settings: &Settings) -> Finding {
    const CHECK: &str = "payments";
    match &settings.payments {
        None => Finding::well(CHECK, "none are taken; HOLDFAST_STRIPE_SECRET_KEY would change that"),
        Some(payments) if payments.webhook_secrets.is_empty() => Finding::doubtful(
            CHECK,
            format!("through {}, without webhooks", payments.stripe.url),
            "set HOLDFAST_STRIPE_WEBHOOK_SECRET: until then a payment is noticed only when it is next looked at",
        ),
        Some(payments) => Finding::well(CHECK, format!("through {}", payments.stripe.url)),
    }
}

/// Whether Stripe is there. No key is sent: whether it is the right one, the first payment shows.
fn provider(payments: &Payments) -> Option<Finding> {
    const CHECK: &str = "Stripe";
    let url = &payments.stripe.url;
    // What cannot be set up was refused with the settings.
    let stripe = Stripe::new(payments.stripe.clone()).ok()?;
    Some(match node::short_runtime().ok()?.block_on(stripe.answers()) {
        Ok(()) => Finding::well(CHECK, "answers"),
        Err(fault) => Finding::doubtful(
            CHECK,
            format!("nobody answers at {url}: {fault}"),
            "correct HOLDFAST_STRIPE_URL, or let this machine out to it: until then no card can be charged",
        ),
    })
}

fn sqlite() -> Finding {
    const CHECK: &str = "SQLite";
    match rusqlite::version_number() {
        ..3_051_003 => {
            Finding::ill(CHECK, rusqlite::version(), "build with 3.51.3 or newer: older ones can corrupt")
        }
        _ => Finding::well(CHECK, rusqlite::version()),
    }
}

fn clock() -> Finding {
    let now = SystemClock::new().now();
    match now < EARLIEST {
        true => Finding::ill(
            "clock",
            now.to_string(),
            "set the clock: it shows a time before this program existed",
        ),
        false => Finding::well("clock", now.to_string()),
    }
}

fn open_files(settings: &Settings) -> Finding {
    const CHECK: &str = "open files";
    // The books, the log, the listener and what the runtime keeps, beside one a connection.
    let needed = settings.server.max_connections as u64 + 64;
    match machine::open_files() {
        Some(limit) if limit < needed => Finding::doubtful(
            CHECK,
            format!(
                "{} allowed, {} needed for max_connections",
                term::thousands(limit),
                term::thousands(needed)
            ),
            format!(
                "raise the limit (ulimit -n {needed}, or LimitNOFILE in a unit file), or lower max_connections"
            ),
        ),
        Some(limit) => Finding::well(CHECK, format!("{} allowed", term::thousands(limit))),
        None => Finding::well(CHECK, "no limit"),
    }
}

fn listen(address: SocketAddr) -> Finding {
    const CHECK: &str = "address";
    match TcpListener::bind(address) {
        Ok(_) => Finding::well(CHECK, format!("{address} is free")),
        Err(fault) => Finding::doubtful(
            CHECK,
            format!("{address} cannot be listened on: {fault}"),
            "if that is your own server, all is well; otherwise choose another with --listen",
        ),
    }
}

fn stranger(name: &str) -> Finding {
    let advice = "correct its spelling or remove it; `holdfast config` lists every setting";
    Finding::doubtful("variables", format!("{name} looks like a setting and is none"), advice)
}
