//! Checkpoints: the state at one point of the journal, so that a start need not fold it from the beginning.
//!
//! ```text
//! due ─► folding: a thread of its own, from the last checkpoint, beside the sale
//!             └─► writing: the image in chunks, one per slice of upkeep ─► complete ─► older ones removed
//! ```
//! A checkpoint is a shortcut, never the truth: one that is damaged or does not fit the journal is passed over.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use holdfast_domain::{Fold, Moment, Part, Parts, Version};
use rusqlite::{Connection, OptionalExtension, Row};
use sha2::{Digest, Sha256};

use super::{
    error::StoreError,
    instant_now,
    journal::{Hash, Link},
    recovery::{Reading, recover_until},
    store::Place,
};
use crate::ledger::codec::{self, Malformed};

/// Small enough to be written between two commands.
const CHUNK: usize = 256 * 1024;
/// Complete checkpoints kept, so that a damaged one has a predecessor.
const KEPT: i64 = 2;
/// Chunks of old checkpoints removed at a time.
const REMOVED_AT_ONCE: i64 = 4;

/// A checkpoint ready to be written.
#[derive(Debug)]
pub(super) struct Image {
    link: Link,
    at: Moment,
    bytes: Vec<u8>,
    digest: Hash,
}

impl Image {
    pub(super) fn of(parts: &Parts, link: Link, at: Moment) -> Self {
        let bytes = codec::encode_parts(parts);
        Self { link, at, digest: Sha256::digest(&bytes).into(), bytes }
    }

    fn chunks(&self) -> usize {
        self.bytes.len().div_ceil(CHUNK)
    }

    /// Writes chunk `n` in the open transaction, and with the last one declares the checkpoint complete.
    fn write_chunk(&self, to: &Connection, n: usize) -> rusqlite::Result<()> {
        let chunk = &self.bytes[n * CHUNK..((n + 1) * CHUNK).min(self.bytes.len())];
        to.prepare_cached("INSERT OR REPLACE INTO checkpoint_chunks VALUES (?1, ?2, ?3)")?.execute((
            self.link.seq,
            n,
            chunk,
        ))?;
        if n + 1 == self.chunks() {
            to.prepare_cached("INSERT OR REPLACE INTO checkpoints VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute((self.link.seq, self.link.hash, self.at.ms(), self.chunks(), self.digest))?;
        }
        Ok(())
    }

    /// All of it, in the open transaction.
    pub(super) fn write(&self, to: &Connection) -> rusqlite::Result<()> {
        (0..self.chunks()).try_for_each(|n| self.write_chunk(to, n))
    }
}

/// The making of checkpoints while a sale is on.
#[derive(Debug)]
pub(super) struct Checkpoints {
    place: Place,
    /// Entries from one checkpoint to the next; `None` for no checkpoints.
    every: Option<u64>,
    /// Where the last one was begun.
    last: u64,
    work: Work,
}

#[derive(Debug)]
enum Work {
    None,
    Folding(Folding),
    Writing {
        image: Image,
        next: usize,
    },
    /// Removing what the newest checkpoint has made superfluous.
    Removing,
}

impl Checkpoints {
    pub(super) fn new(place: &Place, every: Option<u64>, last: u64) -> Self {
        let every = every.filter(|_| place.is_file());
        Self { place: place.clone(), every, last, work: Work::Removing }
    }

    /// Whether there is something to write.
    pub(super) fn has_work(&self) -> bool {
        match &self.work {
            Work::None => false,
            Work::Folding(folding) => folding.thread.as_ref().is_none_or(JoinHandle::is_finished),
            Work::Writing { .. } | Work::Removing => true,
        }
    }

    /// Whether it has been long enough since the last one.
    pub(super) fn is_due(&self, head: Link, entries: u64) -> bool {
        self.every.is_some() && head.seq - self.last >= entries
    }

    /// Begins one when it is due. Costs the writer a thread's start.
    pub(super) fn begin_if_due(&mut self, head: Link) {
        if let (Work::None, Some(every)) = (&self.work, self.every)
            && self.is_due(head, every)
        {
            self.last = head.seq;
            self.work = Folding::begin(self.place.clone(), head.seq).map_or(Work::None, Work::Folding);
        }
    }

    /// The next slice of work, in the open transaction. Returns what the work is once that is committed.
    pub(super) fn slice(&mut self, to: &Connection) -> Result<Step, StoreError> {
        let doing = StoreError::while_("writing a checkpoint");
        match &mut self.work {
            Work::None => Ok(Step::Done),
            Work::Folding(folding) => Ok(Step::Write(folding.finish()?)),
            Work::Writing { image, next } => {
                image.write_chunk(to, *next).map_err(doing)?;
                Ok(if *next + 1 == image.chunks() { Step::Remove } else { Step::NextChunk })
            }
            Work::Removing => match remove_old(to).map_err(doing)? {
                0 => Ok(Step::Done),
                _ => Ok(Step::Remove),
            },
        }
    }

    /// The slice was committed.
    pub(super) fn committed(&mut self, step: Step) {
        match step {
            Step::Write(image) => self.work = Work::Writing { image, next: 0 },
            Step::NextChunk => {
                if let Work::Writing { next, .. } = &mut self.work {
                    *next += 1;
                }
            }
            Step::Remove => self.work = Work::Removing,
            Step::Done => self.work = Work::None,
        }
    }

    /// Gives up the one being made; the next is made when it is due.
    pub(super) fn give_up(&mut self) {
        self.work = Work::None;
    }
}

/// What follows a committed slice.
#[derive(Debug)]
pub(super) enum Step {
    Write(Image),
    NextChunk,
    Remove,
    Done,
}

/// A fold of the journal on a thread of its own.
#[derive(Debug)]
struct Folding {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Image, StoreError>>>,
}

impl Folding {
    fn begin(place: Place, until: u64) -> Option<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut pace = Pace::new();
        let fold = move || {
            let reading = recover_until(&place.reader()?, |at| {
                pace.keep();
                at.seq >= until || stopped.load(Ordering::Relaxed)
            })?;
            Ok(Image::of(&reading.fold.parts(reading.last_at), reading.head, reading.last_at))
        };
        let thread = std::thread::Builder::new().name("ledger-checkpoint".into()).spawn(fold);
        if let Err(error) = &thread {
            tracing::warn!(%error, "no thread for a checkpoint");
        }
        thread.ok().map(|thread| Self { stop, thread: Some(thread) })
    }

    fn finish(&mut self) -> Result<Image, StoreError> {
        let thread = self.thread.take().ok_or_else(|| StoreError::Corrupt("a checkpoint was lost".into()))?;
        thread.join().unwrap_or_else(|_| Err(StoreError::Corrupt("folding the journal failed".into())))
    }
}

impl Drop for Folding {
    /// Nobody wants the image any more; do not leave a thread reading the file behind.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            drop(thread.join());
        }
    }
}

/// A pace that leaves the processors to the sale: work a little, rest longer.
struct Pace {
    since: Instant,
}

impl Pace {
    const WORK: Duration = Duration::from_millis(10);
    /// Rest per work: folding takes a fifth of one processor.
    const REST: u32 = 4;

    fn new() -> Self {
        Self { since: instant_now() }
    }

    fn keep(&mut self) {
        let worked = self.since.elapsed();
        if worked >= Self::WORK {
            std::thread::park_timeout(worked * Self::REST);
            self.since = instant_now();
        }
    }
}

/// A complete checkpoint, as its row describes it.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) link: Link,
    at: Moment,
    chunks: usize,
    digest: Hash,
}

/// Every complete checkpoint, the newest first.
pub(super) fn headers(from: &Connection) -> rusqlite::Result<Vec<Header>> {
    let mut select =
        from.prepare("SELECT seq, hash, at_ms, chunks, digest FROM checkpoints ORDER BY seq DESC")?;
    select.query_map([], header)?.collect()
}

/// The last entry that the newest checkpoint covers.
pub(super) fn newest(from: &Connection) -> rusqlite::Result<u64> {
    from.query_row("SELECT coalesce(max(seq), 0) FROM checkpoints", [], |row| row.get(0))
}

fn header(row: &Row<'_>) -> rusqlite::Result<Header> {
    Ok(Header {
        link: Link { seq: row.get(0)?, hash: row.get(1)? },
        at: Moment::from_ms(row.get(2)?),
        chunks: row.get(3)?,
        digest: row.get(4)?,
    })
}

impl Header {
    /// The books as this checkpoint has them, if it is whole and fits the journal.
    pub(super) fn load(&self, from: &Connection) -> Result<Reading, StoreError> {
        let broken = |what: &dyn std::fmt::Display| {
            StoreError::Corrupt(format!("checkpoint {}: {what}", self.link.seq))
        };
        let doing = StoreError::while_("reading a checkpoint");
        if journal_hash(from, self.link.seq).map_err(doing)? != Some(self.link.hash) {
            return Err(broken(&"it does not fit the journal"));
        }
        let bytes = self.bytes(from).map_err(doing)?;
        let (parts, to_put) = mpsc::sync_channel(PARTS_AHEAD);
        let fold = thread::scope(|scope| {
            let decoder = scope.spawn(|| decode_all(&bytes, parts));
            if self.digest != *Sha256::digest(&bytes) {
                return Err(broken(&"its bytes are damaged"));
            }
            let mut fold = Fold::new();
            fold.expect_holds(bytes.len() / BYTES_A_HOLD);
            to_put.into_iter().flatten().for_each(|part| fold.put(part));
            let version = decoder.join().unwrap_or_else(|fault| resume_unwind(fault));
            fold.begin_at(version.map_err(|fault| broken(&fault))?);
            Ok(fold)
        })?;
        Ok(Reading { fold, head: self.link, last_at: self.at })
    }

    fn bytes(&self, from: &Connection) -> rusqlite::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.chunks.min(4096) * CHUNK);
        let mut select =
            from.prepare_cached("SELECT payload FROM checkpoint_chunks WHERE seq = ?1 AND n = ?2")?;
        for n in 0..self.chunks {
            let chunk: Option<Vec<u8>> = select.query_row((self.link.seq, n), |row| row.get(0)).optional()?;
            bytes.extend(chunk.unwrap_or_default());
        }
        Ok(bytes)
    }
}

/// About what a hold takes in an image; room for too many costs next to nothing.
const BYTES_A_HOLD: usize = 80;
/// Parts that are handed over at once, and how many such lots may wait.
const PARTS_A_LOT: usize = 512;
const PARTS_AHEAD: usize = 16;

/// Decodes beside whoever puts the parts together. Stops early when nobody does any more.
fn decode_all(bytes: &[u8], parts: SyncSender<Vec<Part>>) -> Result<Version, Malformed> {
    let mut lot = Vec::with_capacity(PARTS_A_LOT);
    let version = codec::decode_each_part(bytes, |part| {
        lot.push(part);
        if lot.len() == PARTS_A_LOT {
            // If nobody listens, the image was found damaged and nobody hears of the rest either.
            drop(parts.send(std::mem::replace(&mut lot, Vec::with_capacity(PARTS_A_LOT))));
        }
    })?;
    drop(parts.send(lot));
    Ok(version)
}

/// The chain's hash after the row that ends with entry `seq`.
fn journal_hash(from: &Connection, seq: u64) -> rusqlite::Result<Option<Hash>> {
    let sql = "SELECT hash FROM batches WHERE first_seq =
                   (SELECT max(first_seq) FROM batches WHERE first_seq <= ?1) AND last_seq = ?1";
    from.prepare_cached(sql)?.query_row([seq], |row| row.get(0)).optional()
}

/// Removes a few chunks of checkpoints beyond those kept, and of ones never completed; says how many.
fn remove_old(from: &Connection) -> rusqlite::Result<usize> {
    let kept = "(SELECT seq FROM checkpoints ORDER BY seq DESC LIMIT ?1)";
    from.execute(&format!("DELETE FROM checkpoints WHERE seq NOT IN {kept}"), [KEPT])?;
    let sql = format!(
        "DELETE FROM checkpoint_chunks WHERE rowid IN
             (SELECT rowid FROM checkpoint_chunks WHERE seq NOT IN {kept} LIMIT ?2)"
    );
    from.execute(&sql, [KEPT, REMOVED_AT_ONCE])
}
