//! Telling a story to a subject, line by line.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
};

use holdfast_domain::{Actor, Ask, BookingId, Command, HoldId, HolderId, Limit, Moment, OfferId, Pick};
use holdfast_engine::ledger::{
    Answer, Cells, IdempotencyKey, LedgerError, Outcome, Render, Reply, SnapshotUnits,
};

use super::{
    Fault,
    offers::{self, span_ms},
    parse::{Expected, Step},
    pay,
    words::{self, Naming, Words},
};
use crate::subject::{Asked, Subject, render};

pub(super) fn run(steps: &[Step], subject: &mut dyn Subject) -> Result<(), Fault> {
    let mut teller = Teller::new(subject);
    for step in steps {
        let answered = teller.tell(step)?;
        compare(step, answered.as_ref())?;
    }
    Ok(())
}

fn compare(step: &Step, answered: Option<&Words>) -> Result<(), Fault> {
    let wrong = |expected: &dyn std::fmt::Display| {
        let answered = answered.map_or("nothing".to_owned(), Words::to_string);
        Err(Fault::at(step, format!("expected {expected}\nanswered {answered}")))
    };
    match (&step.expected, answered) {
        (None, Some(words)) if !words.yes => wrong(&"a yes"),
        (None, _) => Ok(()),
        (Some(expected), Some(words)) if as_expected(expected, words) => Ok(()),
        (Some(_), _) => wrong(&step.text.split_once("->").map_or("", |(_, expected)| expected.trim())),
    }
}

fn as_expected(expected: &Expected, words: &Words) -> bool {
    let fact = |name: &str| words.facts.get(name).map_or("none", String::as_str);
    expected.code == words.code && expected.facts.iter().all(|(name, value)| fact(name) == value)
}

struct Teller<'s> {
    subject: &'s mut dyn Subject,
    offers: Vec<OfferId>,
    holds: HashMap<String, HoldId>,
    /// A booking goes by the name of its hold.
    bookings: HashMap<String, BookingId>,
    /// The words that each key was first answered with.
    first_answers: HashMap<(String, String), Answer>,
    render: Render,
    minted: u128,
}

impl<'s> Teller<'s> {
    fn new(subject: &'s mut dyn Subject) -> Self {
        let (holds, bookings, first_answers) = Default::default();
        Self { subject, offers: Vec::new(), holds, bookings, first_answers, render: render(), minted: 0 }
    }

    fn tell(&mut self, step: &Step) -> Result<Option<Words>, Fault> {
        match step.verb.as_str() {
            "tick" => {
                let span = step.word(0, "how long")?;
                let ms = span_ms(span).ok_or_else(|| Fault::at(step, "not a span of time"))?;
                self.subject.tick(ms);
                Ok(None)
            }
            "at" => {
                let at = instant(step, step.word(0, "the instant")?)?;
                self.subject.tick(at.ms_since(self.subject.now()));
                Ok(None)
            }
            "restart" => {
                self.subject.restart().map_err(|error| Fault::at(step, error.to_string()))?;
                Ok(None)
            }
            "unit" => self.unit(step).map(Some),
            "counts" => self.counts(step).map(Some),
            "show" => self.show(step).map(Some),
            "journal" => self.journal(step).map(Some),
            _ => self.ask(step).map(Some),
        }
    }

    fn naming(&self) -> Naming {
        Naming { several_offers: self.offers.len() > 1, now: self.subject.now() }
    }

    /// A line that is put to the subject as a command.
    fn ask(&mut self, step: &Step) -> Result<Words, Fault> {
        let command = match self.command(step)? {
            Ok(command) => command,
            Err(invalid) => return Ok(self.naming().reply(&Err(LedgerError::Invalid(invalid)))),
        };
        let key = step.option("key").map(|key| named_key(step, key));
        let ask = Asked { command: command.clone(), actor: actor(step)?, key: key.clone() };
        let reply = self.subject.execute(ask);
        self.remember(step, &command, &reply);
        if let Some(key) = key {
            self.check_replay(step, key, &reply)?;
        }
        Ok(self.naming().reply(&reply))
    }

    fn command(&mut self, step: &Step) -> Result<Result<Command, holdfast_domain::Invalid>, Fault> {
        Ok(Ok(match step.verb.as_str() {
            "offer" => {
                let offer = match offers::offer(step, self.subject.now())? {
                    Ok(offer) => offer,
                    Err(invalid) => return Ok(Err(invalid)),
                };
                if !self.offers.contains(offer.id()) {
                    self.offers.push(offer.id().clone());
                }
                Command::CreateOffer { offer: Arc::new(offer) }
            }
            "amend" => Command::AmendOffer {
                offer: offer_id(step, step.word(0, "the offer")?)?,
                amendment: offers::amendment(step, self.subject.now())?,
            },
            "block" => self.units(step).map(|(offer, units)| Command::Block { offer, units })?,
            "unblock" => self.units(step).map(|(offer, units)| Command::Unblock { offer, units })?,
            "hold" => Command::PlaceHold {
                hold: HoldId::from_bits(self.mint()),
                holder: holder(step, step.word(1, "the holder")?)?,
                asks: self.items(step)?,
            },
            "recall" => Command::RecallHold {
                holder: holder(step, step.word(1, "the holder")?)?,
                asks: self.items(step)?,
                over: self.unconfirmed(step)?,
            },
            "extend" => Command::ExtendHold { hold: self.hold_named(step)? },
            "release" => Command::ReleaseHold { hold: self.hold_named(step)? },
            "leave" => {
                Command::LeaveHold { hold: self.hold_named(step)?, keep_s: pay::seconds(step, "keep", 60)? }
            }
            "return" => Command::ReturnToHold { hold: self.hold_named(step)? },
            "confirm" => {
                Command::Confirm { booking: BookingId::from_bits(self.mint()), hold: self.hold_named(step)? }
            }
            "pay" => pay::begin(step, BookingId::from_bits(self.mint()), self.hold_named(step)?)?,
            "said" | "refund" | "defer" | "resolve" => {
                pay::report(step, self.booking_named(step)?, self.subject.now())?
            }
            "cancel" => Command::Cancel { booking: self.booking_named(step)? },
            "tidy" => {
                Command::Tidy { limit: step.words.first().and_then(|n| n.parse().ok()).unwrap_or(1000) }
            }
            verb => return Err(Fault::at(step, format!("no such verb: {verb}"))),
        }))
    }

    /// `over=2`: the limit that anything new would break.
    fn unconfirmed(&self, step: &Step) -> Result<Option<Limit>, Fault> {
        let Some(limit) = step.option("over") else { return Ok(None) };
        let limit = limit.parse().map_err(|_| Fault::at(step, "not a limit"))?;
        let offer = self.offers.last().cloned().ok_or_else(|| Fault::at(step, "no offer yet"))?;
        Ok(Some(Limit::Unconfirmed { offer, limit, asked: step.words.len() as u32 - 2 }))
    }

    fn mint(&mut self) -> u128 {
        self.minted += 1;
        self.minted
    }

    /// Later lines speak of what this one made by its name.
    fn remember(&mut self, step: &Step, command: &Command, reply: &Result<Reply, LedgerError>) {
        let Some(name) = step.words.first() else { return };
        match (command, reply) {
            (_, Ok(Reply::Done(Outcome::Held { hold, .. }))) => {
                self.holds.insert(name.clone(), hold.hold.id);
            }
            (Command::PlaceHold { hold, .. }, _) => {
                // Refused: the name stands for a hold that is not there, unless an earlier one bears it.
                self.holds.entry(name.clone()).or_insert(*hold);
            }
            (_, Ok(Reply::Done(Outcome::Confirmed(view) | Outcome::PaymentBegun(view)))) => {
                self.bookings.insert(name.clone(), view.booking.id);
            }
            _ => {}
        }
    }

    /// A replay must be the first answer, byte for byte.
    fn check_replay(
        &mut self,
        step: &Step,
        key: IdempotencyKey,
        reply: &Result<Reply, LedgerError>,
    ) -> Result<(), Fault> {
        let name = (key.scope, key.key);
        match reply {
            // Opened: the words come later.
            Ok(Reply::Done(Outcome::PaymentBegun(_))) => Ok(()),
            Ok(Reply::Done(outcome)) => {
                let words = (self.render)(outcome);
                match self.first_answers.insert(name, words) {
                    None => Ok(()),
                    Some(_) => Err(Fault::at(step, "the key had an answer already, and was decided again")),
                }
            }
            Ok(Reply::Replayed(answer)) => match self.first_answers.get(&name) {
                Some(first) if first == answer => Ok(()),
                first => {
                    Err(Fault::at(step, format!("replayed other words\nfirst {first:?}\nnow {answer:?}")))
                }
            },
            _ => Ok(()),
        }
    }

    fn hold_named(&self, step: &Step) -> Result<HoldId, Fault> {
        let name = step.word(0, "the hold")?;
        // A name nobody has used is an id nobody has seen.
        Ok(self.holds.get(name).copied().unwrap_or(HoldId::from_bits(u128::MAX)))
    }

    fn booking_named(&self, step: &Step) -> Result<BookingId, Fault> {
        let name = step.word(0, "the booking")?;
        Ok(self.bookings.get(name).copied().unwrap_or(BookingId::from_bits(u128::MAX)))
    }

    /// `hall/A-1` in full, `A-1` of the last offer named.
    fn of_offer<'t>(&self, step: &Step, item: &'t str) -> Result<(OfferId, &'t str), Fault> {
        match item.split_once('/') {
            Some((offer, rest)) => Ok((offer_id(step, offer)?, rest)),
            None => match self.offers.last() {
                Some(offer) => Ok((offer.clone(), item)),
                None => Err(Fault::at(step, "no offer yet")),
            },
        }
    }

    fn units(&self, step: &Step) -> Result<(OfferId, Vec<String>), Fault> {
        let (offer, _) = self.of_offer(step, step.word(0, "the units")?)?;
        let key = |item: &String| self.of_offer(step, item).map(|(_, key)| key.to_owned());
        Ok((offer, step.words.iter().map(key).collect::<Result<_, _>>()?))
    }

    fn items(&self, step: &Step) -> Result<Vec<Ask>, Fault> {
        let item = |item: &String| {
            let (offer, wanted) = self.of_offer(step, item)?;
            Ok(Ask { offer, pick: pick(step, wanted)? })
        };
        step.words[2..].iter().map(item).collect()
    }

    fn unit(&mut self, step: &Step) -> Result<Words, Fault> {
        let (id, key) = self.of_offer(step, step.word(0, "the unit")?)?;
        let failed = |error: LedgerError| Fault::at(step, error.to_string());
        let Some(view) = self.subject.offer(&id).map_err(failed)? else {
            return Err(Fault::at(step, "there is no such offer"));
        };
        let unit = view.offer.find(key).ok_or_else(|| Fault::at(step, "there is no such unit"))?;
        let cells: Option<Cells> = (view.offer.dense_units() == 0).then_some(unit..unit + 1);
        let snapshot = self.subject.snapshot(&id, cells).map_err(failed)?;
        let at = match snapshot.map(|snapshot| snapshot.units) {
            Some(SnapshotUnits::Dense(units)) => units[unit as usize],
            Some(SnapshotUnits::Cells(cells)) => cells.first().map(|(_, at)| *at).unwrap_or_default(),
            None => return Err(Fault::at(step, "the offer has no snapshot")),
        };
        let capacity = view.offer.capacity(unit);
        Ok(words::state(at.state(capacity))
            .with("remaining", at.remaining(capacity))
            .with("held", at.held)
            .with("booked", at.booked))
    }

    fn counts(&mut self, step: &Step) -> Result<Words, Fault> {
        let id = match step.words.first() {
            Some(id) => offer_id(step, id)?,
            None => self.offers.last().cloned().ok_or_else(|| Fault::at(step, "no offer yet"))?,
        };
        let view = self.subject.offer(&id).map_err(|error| Fault::at(step, error.to_string()))?;
        let counts = view.ok_or_else(|| Fault::at(step, "there is no such offer"))?.counts;
        Ok(Words::yes("counts")
            .with("capacity", counts.capacity)
            .with("available", counts.available)
            .with("held", counts.held)
            .with("booked", counts.booked)
            .with("blocked", counts.blocked))
    }

    fn show(&mut self, step: &Step) -> Result<Words, Fault> {
        let name = step.word(1, "the name of the hold")?;
        let named = Step { words: vec![name.to_owned()], ..step.clone() };
        let failed = |error: LedgerError| Fault::at(step, error.to_string());
        let nothing = || Words::yes("nothing");
        let naming = self.naming();
        match step.word(0, "hold or booking")? {
            "hold" => {
                let view = self.subject.hold(self.hold_named(&named)?).map_err(failed)?;
                Ok(view.map_or_else(nothing, |view| naming.hold(&view)))
            }
            "booking" => {
                let view = self.subject.booking(self.booking_named(&named)?).map_err(failed)?;
                Ok(view.map_or_else(nothing, |view| naming.booking(&view)))
            }
            other => Err(Fault::at(step, format!("neither hold nor booking: {other}"))),
        }
    }

    fn journal(&mut self, step: &Step) -> Result<Words, Fault> {
        let kinds = self.subject.journal().map_err(|error| Fault::at(step, error.to_string()))?;
        Ok(Words::yes(kinds.join(",")))
    }
}

/// `best:2@stalls`, `consult@2026-11-16T09:00+01:00`, `consult@never`, `GA*2`, `A-1`.
fn pick(step: &Step, wanted: &str) -> Result<Pick, Fault> {
    let number = |text: &str| text.parse().map_err(|_| Fault::at(step, format!("not a number: {text}")));
    if let Some(best) = wanted.strip_prefix("best:") {
        let (qty, category) =
            best.split_once('@').map_or((best, None), |(qty, of)| (qty, Some(of.to_owned())));
        return Ok(Pick::Best { qty: number(qty)?, category });
    }
    if let Some((service, start)) = wanted.split_once('@') {
        let start = if start == "never" { Err("must be a time") } else { Ok(instant(step, start)?) };
        return Ok(Pick::Slot { service: service.to_owned(), start });
    }
    let (key, qty) = wanted.split_once('*').unwrap_or((wanted, "1"));
    Ok(Pick::Unit { key: key.to_owned(), qty: number(qty)? })
}

fn instant(step: &Step, text: &str) -> Result<Moment, Fault> {
    let instant: jiff::Timestamp =
        text.parse().map_err(|_| Fault::at(step, format!("no instant: {text}")))?;
    Ok(Moment::from_ms(instant.as_millisecond()))
}

fn offer_id(step: &Step, text: &str) -> Result<OfferId, Fault> {
    OfferId::new(text).map_err(|fault| Fault::at(step, fault.to_string()))
}

fn holder(step: &Step, text: &str) -> Result<HolderId, Fault> {
    HolderId::new(text).map_err(|fault| Fault::at(step, fault.to_string()))
}

/// `by=bob` is bob's browser session; without it an API key asks.
fn actor(step: &Step) -> Result<Actor, Fault> {
    match step.option("by") {
        Some(session) => holder(step, session).map(Actor::Session),
        None => Ok(Actor::Key(Arc::from("test"))),
    }
}

/// `key=k1`, or `key=shop2:k1` where it matters whose key it is. What stands on the line is the request.
fn named_key(step: &Step, key: &str) -> IdempotencyKey {
    let (scope, name) = key.split_once(':').unwrap_or(("test", key));
    let mut fingerprint = [0; 32];
    let mut hasher = DefaultHasher::new();
    match step.verb.as_str() {
        // Who reports of a payment may speak for the request that began it.
        "said" | "refund" | "defer" | "resolve" => ("pay", &step.words[..1]).hash(&mut hasher),
        verb => (verb, &step.words[..]).hash(&mut hasher),
    }
    fingerprint[..8].copy_from_slice(&hasher.finish().to_le_bytes());
    IdempotencyKey { scope: scope.to_owned(), key: name.to_owned(), fingerprint }
}
