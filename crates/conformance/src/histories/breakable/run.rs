//! Customers before the breakable writer, on virtual time: one seed, one history.
//!
//! ```text
//! customer ─start─► travels ─► desk: decides ─► commit ─► travels ─► end
//!                               │                  └ may fail: "nothing happened"
//!                               └ may crash: no answer, and nobody knows
//! ```

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    sync::Arc,
};

use holdfast_checker::{
    History,
    history::{Kept, Micros, UnitRef},
};
use holdfast_domain::Moment;
use holdfast_engine::ledger::{LedgerError, Reply};

use super::{
    Bug,
    desk::{Desk, is_yes},
};
use crate::{
    histories::{Customer, Dice, Recorder, Stage, customer::Next, recorder::During},
    story_start,
    subject::Asked,
};

const CUSTOMERS: u32 = 24;
const COMMIT_EVERY_MS: i64 = 8;
const SWEEP_EVERY_MS: i64 = 2_504;
const COPY_EVERY_MS: i64 = 60;

/// A question under way to the desk or waiting there.
#[derive(Debug)]
struct Waiting {
    customer: usize,
    start: Moment,
    question: Next,
    /// Decided, but not to be heard of before the commit.
    reply: Option<Reply>,
}

/// How a commit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commit {
    Well,
    /// Nothing was written, and everybody hears so.
    Fails,
    /// The process dies before it writes.
    CrashBefore,
    /// The process dies after it has written.
    CrashAfter,
}

struct Run {
    bug: Option<Bug>,
    stage: Arc<Stage>,
    recorder: Recorder,
    dice: Dice,
    /// One, unless the bug is that there are two.
    desks: Vec<Desk>,
    customers: Vec<Customer>,
    /// Questions by the moment they reach the desk.
    travelling: BinaryHeap<Reverse<(Moment, usize)>>,
    under_way: BTreeMap<usize, Waiting>,
    waiting: Vec<Waiting>,
    now: Moment,
    recorded: usize,
}

/// The history of a run with that bug, or with none.
pub fn run(bug: Option<Bug>, operations: usize, seed: u64) -> History {
    let mut run = Run::new(bug, seed);
    run.open();
    while run.recorded < operations {
        run.step();
    }
    run.finish()
}

impl Run {
    fn new(bug: Option<Bug>, seed: u64) -> Self {
        let stage = Arc::new(Stage::new());
        let recorder = Recorder::new(Arc::clone(&stage), 0);
        let writers = if bug == Some(Bug::LetsTwoWritersIn) { 2 } else { 1 };
        let start = story_start();
        let customers = (0..CUSTOMERS).map(|at| Customer::new(at, Arc::clone(&stage), seed)).collect();
        Self {
            desks: (0..writers).map(|_| Desk::new(bug, recorder.render(), start)).collect(),
            bug,
            stage,
            recorder,
            dice: Dice::from_seed(seed),
            customers,
            travelling: BinaryHeap::new(),
            under_way: BTreeMap::new(),
            waiting: Vec::new(),
            now: start,
            recorded: 0,
        }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn open(&mut self) {
        for desk in &mut self.desks {
            for command in self.stage.commands() {
                desk.ask(&Asked::by_key(command), self.now);
            }
            desk.commit();
            desk.refresh_copy();
        }
        (0..self.customers.len()).for_each(|customer| self.send(customer, self.now));
    }

    /// The next question of a customer sets out.
    fn send(&mut self, customer: usize, start: Moment) {
        let question = self.customers[customer].next_question();
        let arrives = start.plus_ms(1 + self.dice.below(8) as i64);
        self.under_way.insert(customer, Waiting { customer, start, question, reply: None });
        self.travelling.push(Reverse((arrives, customer)));
    }

    /// One millisecond.
    fn step(&mut self) {
        self.now = self.now.plus_ms(1);
        while let Some(&Reverse((arrives, customer))) = self.travelling.peek()
            && arrives <= self.now
        {
            self.travelling.pop();
            let waiting = self.under_way.remove(&customer).expect("a customer has one question at a time");
            self.arrive(waiting);
        }
        let ms = self.now.ms_since(story_start());
        if ms % SWEEP_EVERY_MS == 0 {
            self.desks.iter_mut().for_each(|desk| desk.sweep(self.now));
        }
        if ms % COMMIT_EVERY_MS == 0 {
            let how = self.fate();
            self.commit(how);
        }
        if ms % COPY_EVERY_MS == 0 {
            self.desks.iter_mut().for_each(Desk::refresh_copy);
        }
    }

    fn fate(&mut self) -> Commit {
        match self.dice.below(40) {
            0..=4 => Commit::Fails,
            5 => Commit::CrashBefore,
            6 => Commit::CrashAfter,
            _ => Commit::Well,
        }
    }

    fn arrive(&mut self, mut waiting: Waiting) {
        if let Next::Ask(ask) = &waiting.question {
            let desk = waiting.customer % self.desks.len();
            let reply = self.desks[desk].ask(ask, self.now);
            let at_once = match self.bug {
                Some(Bug::AnswersBeforeTheCommit) => is_yes(&reply),
                Some(Bug::RefusesOnAnUnwrittenYes) => matches!(reply, Reply::Refused(_)),
                _ => false,
            };
            if at_once {
                return self.answer(waiting, Ok(reply));
            }
            waiting.reply = Some(reply);
        }
        self.waiting.push(waiting);
    }

    fn commit(&mut self, how: Commit) {
        if matches!(how, Commit::Well | Commit::CrashAfter) {
            self.desks.iter_mut().for_each(Desk::commit);
        }
        if how != Commit::Well {
            self.desks.iter_mut().for_each(Desk::reload);
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        if self.has(Bug::SwapsAnswers) {
            swap_two(&mut waiting);
        }
        for waiting in waiting {
            match how {
                Commit::Well => self.tell(waiting),
                Commit::Fails => {
                    self.answer(waiting, Err(LedgerError::Unavailable("the write failed".into())))
                }
                Commit::CrashBefore | Commit::CrashAfter => {
                    self.answer(waiting, Err(LedgerError::OutcomeUnknown("the process died".into())));
                }
            }
        }
    }

    /// After a commit: what was decided, or what the unit looks like now.
    fn tell(&mut self, mut waiting: Waiting) {
        match (&waiting.question, waiting.reply.take()) {
            (Next::Ask(_), Some(reply)) => self.answer(waiting, Ok(reply)),
            (Next::Read(unit), _) => {
                let unit = *unit;
                let seen = self.kept(waiting.customer % self.desks.len(), unit);
                self.heard_read(&waiting, unit, Some((seen.held, seen.booked)));
            }
            (Next::Ask(_), None) => unreachable!("a question that waits for the commit was decided"),
        }
    }

    fn kept(&self, desk: usize, unit: UnitRef) -> Kept {
        let (offer, unit) = &self.stage.places[unit as usize];
        let at = self.desks[desk].read(offer, *unit);
        Kept { held: at.held, booked: at.booked }
    }

    fn answer(&mut self, waiting: Waiting, reply: Result<Reply, LedgerError>) {
        let customer = waiting.customer;
        let ask = match waiting.question.clone() {
            Next::Ask(ask) => ask,
            Next::Read(unit) => return self.heard_read(&waiting, unit, None),
        };
        let during = self.travels_back(&waiting);
        self.recorder.record(self.customers[customer].process, &ask, during, &reply);
        let replayed = self.recorder.replayed(&reply);
        self.customers[customer].hear(*ask, &reply, replayed.as_ref());
        self.go_on(customer, during);
    }

    fn heard_read(&mut self, waiting: &Waiting, unit: UnitRef, seen: Option<(u32, u32)>) {
        let during = self.travels_back(waiting);
        self.recorder.record_read(self.customers[waiting.customer].process, unit, during, seen);
        self.go_on(waiting.customer, during);
    }

    fn travels_back(&mut self, waiting: &Waiting) -> During {
        let end = self.now.plus_ms(self.dice.below(8) as i64);
        During { start: micros(waiting.start), end: micros(end) }
    }

    fn go_on(&mut self, customer: usize, during: During) {
        self.recorded += 1;
        let pause = self.customers[customer].thinks_ms();
        self.send(customer, Moment::from_ms(during.end / 1000).plus_ms(pause));
    }

    /// Whatever is still under way is never answered; then the books are read.
    fn finish(mut self) -> History {
        self.desks.iter_mut().for_each(Desk::commit);
        let unanswered = std::mem::take(&mut self.waiting);
        for waiting in unanswered {
            if let Next::Ask(ask) = &waiting.question {
                let during = During { start: micros(waiting.start), end: micros(self.now) };
                let reply = Err(LedgerError::OutcomeUnknown("the run is over".into()));
                self.recorder.record(self.customers[waiting.customer].process, ask, during, &reply);
            }
        }
        let holds: Vec<_> = self.desks.iter().flat_map(|desk| desk.holds(self.now)).collect();
        let bookings: Vec<_> = self.desks.iter().flat_map(|desk| desk.bookings(self.now)).collect();
        let units = match self.desks.len() {
            1 => (0..self.stage.places.len() as UnitRef).map(|unit| self.kept(0, unit)).collect(),
            _ => Vec::new(),
        };
        let ending = self.recorder.ending(micros(self.now), &holds, &bookings, units);
        self.recorder.history(Some(ending))
    }
}

/// The first two answers to questions of one sort change places.
fn swap_two(waiting: &mut [Waiting]) {
    let held = |waiting: &Waiting| {
        matches!(
            waiting.reply,
            Some(Reply::Done(holdfast_engine::ledger::Outcome::Held { again: false, .. }))
        )
    };
    let mut those = (0..waiting.len()).filter(|&at| held(&waiting[at]));
    if let (Some(one), Some(other)) = (those.next(), those.next()) {
        let reply = waiting[one].reply.take();
        waiting[one].reply = std::mem::replace(&mut waiting[other].reply, reply);
    }
}

fn micros(at: Moment) -> Micros {
    at.ms() * 1000
}
