//! The queue before the writer: three bounded lanes, served in order of how much it costs to make them wait.
//!
//! ```text
//! urgent    confirm, pay, extend, release, cancel  somebody already has something at stake
//! ordinary  hold, and what organisers do
//! reads
//! ```
//! Where many ask at once, the writer waits a moment for as many as came last time: a commit costs the same for
//! forty as for four, and so does waking up. One who asks alone never waits for others.
//!
//! A full lane refuses at once. The writer takes a round at a time: commands by lane, and reads beside them, so
//! that a rush of commands makes reads slower but never silent.

use std::{collections::VecDeque, time::Duration};

use holdfast_domain::Command;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::reads::Read;
use crate::ledger::{LedgerError, Reply, Request};

/// A command and where its answer goes.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Result<Reply, LedgerError>>,
}

#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) commands: Vec<Job>,
    pub(super) reads: Vec<Read>,
}

impl Round {
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.reads.is_empty()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) urgent: usize,
    pub(super) ordinary: usize,
    pub(super) reads: usize,
    /// How long a round may wait for company.
    pub(super) gather: Duration,
}

#[derive(Debug)]
pub(super) struct Lanes {
    bounds: Bounds,
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    urgent: VecDeque<Job>,
    ordinary: VecDeque<Job>,
    reads: VecDeque<Read>,
    closed: bool,
    /// How many came last time.
    expected: usize,
    /// How many must wait before the writer is woken.
    wanted: usize,
}

impl Waiting {
    fn len(&self) -> usize {
        self.urgent.len() + self.ordinary.len() + self.reads.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Lanes {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, waiting: Mutex::default(), arrived: Condvar::new() }
    }

    pub(super) fn submit(&self, job: Job) -> Result<(), LedgerError> {
        self.push(|waiting| match is_urgent(&job.request.command) {
            true => push_bounded(&mut waiting.urgent, self.bounds.urgent, job),
            false => push_bounded(&mut waiting.ordinary, self.bounds.ordinary, job),
        })
    }

    pub(super) fn read(&self, read: Read) -> Result<(), LedgerError> {
        self.push(|waiting| push_bounded(&mut waiting.reads, self.bounds.reads, read))
    }

    fn push(&self, push: impl FnOnce(&mut Waiting) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(LedgerError::Unavailable("the ledger is shutting down".into()));
        }
        push(&mut waiting)?;
        let enough = waiting.len() >= waiting.wanted;
        drop(waiting);
        if enough {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// The next round: what is there, or what arrives within `patience`; empty when nothing does. `None` once
    /// the lanes are closed and everything in them has been taken.
    pub(super) fn next(&self, max: usize, patience: Duration) -> Option<Round> {
        let mut waiting = self.waiting.lock();
        self.wait_for(&mut waiting, 1, patience);
        if waiting.is_empty() && waiting.closed {
            return None;
        }
        if !waiting.is_empty() {
            let company = waiting.expected.min(max);
            self.wait_for(&mut waiting, company, self.bounds.gather);
        }
        waiting.expected = waiting.len();
        let urgent = waiting.urgent.len().min(max);
        let ordinary = waiting.ordinary.len().min(max - urgent);
        let reads = waiting.reads.len().min(max);
        let mut commands: Vec<Job> = waiting.urgent.drain(..urgent).collect();
        commands.extend(waiting.ordinary.drain(..ordinary));
        Some(Round { commands, reads: waiting.reads.drain(..reads).collect() })
    }

    /// Waits until so many are there, for a while at most.
    fn wait_for(&self, waiting: &mut MutexGuard<'_, Waiting>, wanted: usize, patience: Duration) {
        waiting.wanted = wanted;
        self.arrived.wait_while_for(waiting, |waiting| waiting.len() < wanted && !waiting.closed, patience);
        waiting.wanted = 0;
    }

    /// Nothing new is taken in; what waits is still served.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.arrived.notify_all();
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// How many wait: urgent, ordinary, reads.
    pub(super) fn depths(&self) -> [usize; 3] {
        let waiting = self.waiting.lock();
        [waiting.urgent.len(), waiting.ordinary.len(), waiting.reads.len()]
    }
}

fn push_bounded<T>(lane: &mut VecDeque<T>, bound: usize, item: T) -> Result<(), LedgerError> {
    if lane.len() >= bound {
        return Err(LedgerError::Overloaded);
    }
    lane.push_back(item);
    Ok(())
}

/// Whether somebody already has something at stake.
pub(crate) const fn is_urgent(command: &Command) -> bool {
    match command {
        Command::Confirm { .. }
        | Command::ExtendHold { .. }
        | Command::ReleaseHold { .. }
        | Command::LeaveHold { .. }
        | Command::ReturnToHold { .. }
        | Command::Cancel { .. }
        | Command::BeginPayment { .. }
        | Command::NoteIntent { .. }
        | Command::SettlePayment { .. }
        | Command::NoteRefund { .. }
        | Command::DeferPayment { .. }
        | Command::ResolvePayment { .. } => true,
        Command::CreateOffer { .. }
        | Command::AmendOffer { .. }
        | Command::Block { .. }
        | Command::Unblock { .. }
        | Command::PlaceHold { .. }
        | Command::RecallHold { .. }
        | Command::Tidy { .. } => false,
    }
}
