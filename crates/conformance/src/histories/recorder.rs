//! From questions and replies to a history. Everything a ledger names is numbered in the order it is first heard of.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex},
};

use holdfast_checker::{
    Call, History, Operation, Outcome,
    history::{Answer, Ending, Kept, KeptBooking, KeptHold, Micros, Reason, UnitRef},
};
use holdfast_domain::{BookingId, Command, HoldId, HolderId};
use holdfast_engine::ledger::{
    Answer as Words, BookingView, HoldView, LedgerError, Outcome as Came, Render, Reply,
};

use super::Stage;
use crate::subject::Asked;

#[derive(Debug)]
pub struct Recorder {
    stage: Arc<Stage>,
    tolerance_us: Micros,
    inner: Mutex<Inner>,
    /// What each keyed answer said, by the number that stands in its words.
    worded: Arc<Mutex<Vec<Came>>>,
}

#[derive(Debug, Default)]
struct Inner {
    operations: Vec<Operation>,
    holds: Numbers<HoldId>,
    bookings: Numbers<BookingId>,
    holders: Numbers<HolderId>,
    keys: Numbers<(String, String)>,
    /// Which hold a booking was asked for.
    hold_of: HashMap<BookingId, HoldId>,
    /// Confirms that were answered with a booking.
    booked: usize,
}

#[derive(Debug)]
struct Numbers<T>(HashMap<T, u32>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash> Numbers<T> {
    fn of(&mut self, thing: T) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(thing).or_insert(next)
    }
}

/// When a question was asked and when its answer had arrived.
#[derive(Debug, Clone, Copy)]
pub struct During {
    pub start: Micros,
    pub end: Micros,
}

impl Recorder {
    pub fn new(stage: Arc<Stage>, tolerance_us: Micros) -> Self {
        Self { stage, tolerance_us, inner: Mutex::default(), worded: Arc::default() }
    }

    /// The words of keyed answers: a number under which the outcome is found again when they are replayed.
    pub fn render(&self) -> Render {
        let worded = Arc::clone(&self.worded);
        Arc::new(move |outcome| {
            let mut worded = worded.lock().expect("nobody panicked");
            worded.push(outcome.clone());
            Words { status: 200, body: (worded.len() - 1).to_string().into() }
        })
    }

    /// The outcome that replayed words stand for.
    pub fn replayed(&self, reply: &Result<Reply, LedgerError>) -> Option<Came> {
        let Ok(Reply::Replayed(words)) = reply else { return None };
        let number: usize = std::str::from_utf8(&words.body).ok()?.parse().ok()?;
        self.worded.lock().expect("nobody panicked").get(number).cloned()
    }

    pub fn record(&self, process: u32, ask: &Asked, during: During, reply: &Result<Reply, LedgerError>) {
        let replayed = self.replayed(reply);
        let mut inner = self.inner.lock().expect("nobody panicked");
        let Some(call) = inner.call(&self.stage, ask) else { return };
        let came = match reply {
            Ok(Reply::Done(came)) => Some(came),
            _ => replayed.as_ref(),
        };
        let outcome = match came {
            Some(came) => inner.outcome(&self.stage, came),
            None => self.refused(reply),
        };
        let During { start, end } = during;
        let version = came.and_then(holdfast_lab::version);
        inner.operations.push(Operation { process, start, end, call, outcome, version });
    }

    pub fn record_read(&self, process: u32, unit: UnitRef, during: During, seen: Option<(u32, u32)>) {
        let outcome =
            seen.map_or(Outcome::Unknown, |(held, booked)| Outcome::Ok(Answer::Seen { held, booked }));
        let During { start, end } = during;
        let mut inner = self.inner.lock().expect("nobody panicked");
        inner.operations.push(Operation {
            process,
            start,
            end,
            call: Call::Read { unit },
            outcome,
            version: None,
        });
    }

    fn refused(&self, reply: &Result<Reply, LedgerError>) -> Outcome {
        holdfast_lab::reason(reply, |at| {
            let unit = self.stage.offer(&at.offer).find(&at.unit)?;
            self.stage.number(&at.offer, unit)
        })
    }

    /// How many confirms were answered with a booking so far.
    pub fn booked(&self) -> usize {
        self.inner.lock().expect("nobody panicked").booked
    }

    /// Every hold and booking that anybody has heard of.
    pub fn known(&self) -> (Vec<HoldId>, Vec<BookingId>) {
        let inner = self.inner.lock().expect("nobody panicked");
        (inner.holds.0.keys().copied().collect(), inner.bookings.0.keys().copied().collect())
    }

    /// The store at the end: holds, bookings, and the sums it keeps itself.
    pub fn ending(
        &self,
        at: Micros,
        holds: &[HoldView],
        bookings: &[BookingView],
        units: Vec<Kept>,
    ) -> Ending {
        let mut inner = self.inner.lock().expect("nobody panicked");
        let holds = holds.iter().map(|view| KeptHold {
            hold: inner.holds.of(view.hold.id),
            claims: self.stage.claims(&view.hold.lines),
            expires_at: view.hold.expires_at.ms() * 1000,
            state: holdfast_lab::kept_state(&view.hold.state),
        });
        let holds = holds.collect();
        let bookings = bookings.iter().map(|view| KeptBooking {
            booking: inner.bookings.of(view.booking.id),
            hold: inner.holds.of(view.booking.hold),
            claims: self.stage.claims(&view.booking.lines),
            cancelled: view.booking.state != holdfast_domain::BookingState::Confirmed,
        });
        Ending { at, bookings: bookings.collect(), holds, units }
    }

    pub fn history(&self, ending: Option<Ending>) -> History {
        let mut operations = self.inner.lock().expect("nobody panicked").operations.clone();
        operations.sort_by_key(|operation| (operation.start, operation.end));
        History { tolerance_us: self.tolerance_us, units: self.stage.units(), operations, ending }
    }
}

impl Inner {
    fn call(&mut self, stage: &Stage, ask: &Asked) -> Option<Call> {
        let key = ask.key.as_ref().map(|key| self.keys.of((key.scope.clone(), key.key.clone())));
        Some(match &ask.command {
            Command::PlaceHold { hold, holder, asks } => {
                let claims = stage.asked(asks);
                let hold = Some(self.holds.of(*hold));
                Call::Hold { holder: self.holders.of(holder.clone()), claims, key, hold }
            }
            Command::ExtendHold { hold } => Call::Extend { hold: self.holds.of(*hold) },
            Command::ReleaseHold { hold } => Call::Release { hold: self.holds.of(*hold) },
            Command::Confirm { booking, hold } => {
                self.hold_of.insert(*booking, *hold);
                Call::Confirm { hold: self.holds.of(*hold), key }
            }
            Command::Cancel { booking } => {
                let hold = *self.hold_of.get(booking)?;
                Call::Cancel { hold: self.holds.of(hold) }
            }
            _ => return None,
        })
    }

    fn outcome(&mut self, stage: &Stage, came: &Came) -> Outcome {
        Outcome::Ok(match came {
            // To release what has expired, swept or not, is no mistake and changes nothing.
            Came::Released(view) if view.hold.status(view.at) == "expired" => {
                return Outcome::Fail(Reason::Expired);
            }
            Came::Held { hold, again } => Answer::Held {
                hold: self.holds.of(hold.hold.id),
                holder: self.holders.of(hold.hold.holder.clone()),
                claims: stage.claims(&hold.hold.lines),
                expires_at: hold.hold.expires_at.ms() * 1000,
                again: *again,
            },
            Came::Extended(view) => Answer::Extended { expires_at: view.hold.expires_at.ms() * 1000 },
            Came::Released(_) => Answer::Released,
            Came::Confirmed(view) => {
                self.booked += 1;
                Answer::Confirmed {
                    booking: self.bookings.of(view.booking.id),
                    holder: self.holders.of(view.booking.holder.clone()),
                }
            }
            Came::Cancelled(_) => Answer::Cancelled,
            _ => return Outcome::Unknown,
        })
    }
}
