//! Verification: the whole journal from its first entry, and everything that claims to follow from it.
//!
//! Reads one consistent view of the file, beside a running server or without one, and changes nothing. Checks the
//! file itself, the hash chain, that the entries fit each other, the invariants of the state they add up to, the
//! tables as far as they have come, the checkpoints and the answers; and names each thing that is broken.

mod tables;

use std::{
    collections::HashSet,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use holdfast_domain::{Moment, State, apply, invariants};
use rusqlite::Connection;

use super::{
    answers,
    checkpoint::{self, Header},
    error::StoreError,
    journal::{Link, Replay},
    store::Place,
    tables::projected,
};

/// What was looked at, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    pub entries: u64,
    pub offers: usize,
    pub holds: usize,
    pub bookings: usize,
    pub answers: usize,
    pub checkpoints: usize,
    /// How many entries the tables show; the rest follows while a server runs.
    pub shown: u64,
    pub broken: Vec<Broken>,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.broken.is_empty()
    }

    pub(in crate::ledger) fn breaks(&mut self, what: &'static str, detail: impl fmt::Display) {
        // The first of many faults tell the story; the rest would bury it.
        if self.broken.len() < MAX_BROKEN {
            self.broken.push(Broken { what, detail: detail.to_string() });
        }
    }
}

/// One broken thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which promise: an invariant by its number, or a part of the file.
    pub what: &'static str,
    pub detail: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.detail)
    }
}

const MAX_BROKEN: usize = 100;

/// Checks the books in `dir`. An error means that they are not there or cannot be reached; damage is a finding.
pub fn verify(dir: &Path) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let found = Place::existing(dir)?.reader().and_then(|connection| check(&connection, &mut report));
    match found {
        Ok(()) => Ok(report),
        Err(fault) => match fault.damage() {
            Some(what) => {
                report.breaks("file", what);
                Ok(report)
            }
            None => Err(fault),
        },
    }
}

/// Writes down what is found, up to where there is no reading on.
fn check(connection: &Connection, report: &mut Report) -> Result<(), StoreError> {
    let doing = StoreError::while_("reading the books");
    // One transaction, one view: a running server goes on writing meanwhile.
    connection.execute_batch("BEGIN").map_err(doing)?;
    let mut check = Check::open(connection, report).map_err(doing)?;
    check.file().map_err(doing)?;
    check.journal();
    check.state();
    check.answers()
}

struct Check<'a> {
    from: &'a Connection,
    report: &'a mut Report,
    state: State,
    /// Where the tables stand.
    shown: Link,
    /// The oldest last, to be taken off as the fold passes them.
    checkpoints: Vec<Header>,
}

impl<'a> Check<'a> {
    fn open(from: &'a Connection, report: &'a mut Report) -> rusqlite::Result<Self> {
        let (shown, checkpoints) = (projected(from)?, checkpoint::headers(from)?);
        (report.shown, report.checkpoints) = (shown.seq, checkpoints.len());
        Ok(Self { from, report, state: State::default(), shown, checkpoints })
    }

    /// SQLite's own opinion of the file.
    fn file(&mut self) -> rusqlite::Result<()> {
        let mut check = self.from.prepare("PRAGMA quick_check(10)")?;
        let faults: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        faults.iter().filter(|fault| *fault != "ok").for_each(|fault| self.report.breaks("file", fault));
        Ok(())
    }

    /// Folds the journal from its beginning, looking in on the tables and checkpoints where they stand.
    fn journal(&mut self) {
        let mut replay = Replay::new(self.from, Link::GENESIS);
        loop {
            let next = catch_unwind(AssertUnwindSafe(|| {
                replay.next(|entry, hash| {
                    apply(&mut self.state, &entry.event, entry.at);
                    let at = Link { seq: entry.seq, hash };
                    if at.seq <= self.shown.seq {
                        tables::check_entry(self.from, &self.state, &entry, hash, self.report);
                    }
                    self.look_in(at);
                })
            }));
            match next {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => break,
                Ok(Err(why)) => return self.report.breaks("I11", why),
                Err(_) => {
                    let seq = self.state.version().0;
                    return self
                        .report
                        .breaks("I11", format_args!("entry {seq} does not fit the ones before it"));
                }
            }
        }
        self.report.entries = replay.at().seq;
        if self.shown.seq > replay.at().seq {
            self.report.breaks(
                "tables",
                format_args!("they show {} entries, there are {}", self.shown.seq, replay.at().seq),
            );
        }
        for header in std::mem::take(&mut self.checkpoints) {
            self.report
                .breaks("checkpoint", format_args!("{} is of an entry that is not there", header.link.seq));
        }
    }

    fn look_in(&mut self, at: Link) {
        if at.seq == self.shown.seq {
            if at.hash != self.shown.hash {
                self.report.breaks("tables", "they follow another journal than this one");
            }
            tables::check_all(self.from, &self.state, self.report);
        }
        if self.checkpoints.last().is_some_and(|header| header.link.seq == at.seq) {
            let header = self.checkpoints.pop().expect("it is there");
            self.checkpoint(&header, at);
        }
    }

    /// A checkpoint has every offer, booking and active hold; ended holds it may have forgotten.
    fn checkpoint(&mut self, header: &Header, at: Link) {
        let seq = at.seq;
        let loaded = catch_unwind(AssertUnwindSafe(|| header.load(self.from)?.finish()));
        let Ok(Ok(books)) = loaded else {
            let why = loaded.map_or("it does not add up".to_owned(), |why| {
                why.err().map_or_else(String::new, |e| e.to_string())
            });
            return self.report.breaks("checkpoint", format_args!("{seq}: {why}"));
        };
        if header.link.hash != at.hash {
            self.report.breaks("checkpoint", format_args!("{seq} follows another journal than this one"));
        }
        let (kept, folded) = (books.state.parts(), self.state.parts());
        if (&kept.version, &kept.offers, &kept.bookings)
            != (&folded.version, &folded.offers, &folded.bookings)
        {
            self.report
                .breaks("checkpoint", format_args!("{seq}: offers or bookings differ from the journal"));
        }
        let same = |hold: &&holdfast_domain::Hold| self.state.hold(hold.id, Moment::MIN) == Some(hold);
        let missing = |hold: &&holdfast_domain::Hold| {
            hold.is_open() && books.state.hold(hold.id, Moment::MIN).is_none()
        };
        let differing = kept.holds.iter().filter(|hold| !same(hold)).count();
        let missing = folded.holds.iter().filter(missing).count();
        if differing + missing > 0 {
            let what = format!("{seq}: {differing} holds differ from the journal, {missing} are missing");
            self.report.breaks("checkpoint", what);
        }
    }

    fn state(&mut self) {
        self.report.offers = self.state.offers().count();
        self.report.holds = self.state.holds().count();
        self.report.bookings = self.state.bookings().count();
        for broken in invariants::check(&self.state) {
            self.report.breaks(broken.invariant, broken.what);
        }
    }

    /// No key has two answers, and none was given for what has not happened.
    fn answers(&mut self) -> Result<(), StoreError> {
        let mut keys = HashSet::new();
        let head = self.report.entries;
        let report = &mut *self.report;
        answers::each(self.from, |kept| {
            report.answers += 1;
            if kept.seq > head {
                report.breaks(
                    "answers",
                    format_args!("key {:?} speaks of entry {}, which is not there", kept.key, kept.seq),
                );
            }
            if !kept.is_open() && !keys.insert((kept.scope.clone(), kept.key.clone())) {
                report.breaks("I6", format_args!("key {:?} has two answers", kept.key));
            }
        })
    }
}
