//! How an answer is worded in a story: one code, and facts by name.

use std::{collections::BTreeMap, fmt};

use holdfast_domain::{
    Conflict, Hold, InTheWay, Limit, Line, Moment, Offer, OfferId, Refusal, Relaxed, UnitState,
};
use holdfast_engine::ledger::{BookingView, HoldView, LedgerError, Outcome, Reply};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub code: String,
    pub facts: BTreeMap<&'static str, String>,
    /// A yes; a line of a story that expects nothing in particular expects one.
    pub yes: bool,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code)?;
        self.facts.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// Names units the way the story does: with their offer only where there are several.
#[derive(Debug, Clone, Copy)]
pub(super) struct Naming {
    pub(super) several_offers: bool,
    pub(super) now: Moment,
}

impl Words {
    pub(super) fn yes(code: impl Into<String>) -> Self {
        Self { code: code.into(), facts: BTreeMap::new(), yes: true }
    }

    fn no(code: impl Into<String>) -> Self {
        Self { yes: false, ..Self::yes(code) }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        let value = value.to_string();
        if !value.is_empty() {
            self.facts.insert(name, value);
        }
        self
    }
}

impl Naming {
    pub(super) fn reply(&self, reply: &Result<Reply, LedgerError>) -> Words {
        match reply {
            Ok(Reply::Done(outcome)) => self.outcome(outcome),
            Ok(Reply::Refused(refusal)) => self.refusal(refusal),
            Ok(Reply::Replayed(_)) => Words::yes("replayed"),
            Ok(Reply::Open { .. }) => Words::yes("open"),
            Ok(Reply::KeyReused) => Words::no("idempotency_key_reused"),
            Err(LedgerError::Overloaded) => Words::no("overloaded"),
            Err(LedgerError::Unavailable(why)) => Words::no("unavailable").with("why", why),
            Err(LedgerError::OutcomeUnknown(why)) => Words::no("outcome_unknown").with("why", why),
            Err(LedgerError::Invalid(fault)) => Words::no("invalid_request").with("field", &fault.field),
        }
    }

    fn outcome(&self, outcome: &Outcome) -> Words {
        match outcome {
            Outcome::OfferCreated(_) => Words::yes("created"),
            Outcome::OfferAmended(_) => Words::yes("amended"),
            Outcome::Blocked(_) => Words::yes("blocked"),
            Outcome::Unblocked(_) => Words::yes("unblocked"),
            Outcome::Held { hold, again } => {
                self.about_hold("held", hold).with("again", if *again { "yes" } else { "" })
            }
            Outcome::Extended(hold) => self.about_hold("extended", hold),
            Outcome::Released(hold) => self.about_hold("released", hold),
            Outcome::Left(hold) => self.about_hold("left", hold),
            Outcome::Returned(hold) => self.about_hold("returned", hold),
            Outcome::Confirmed(booking) => self.about_booking("confirmed", booking),
            Outcome::Cancelled(booking) => self.about_booking("cancelled", booking),
            Outcome::PaymentBegun(booking) => self.about_booking("begun", booking),
            Outcome::Payment { booking, changed: true } => self.booking(booking),
            Outcome::Payment { booking, changed: false } => self.about_booking("unchanged", booking),
            Outcome::Tidied { expired } => Words::yes("tidied").with("expired", expired),
        }
    }

    pub(super) fn hold(&self, view: &HoldView) -> Words {
        self.about_hold(view.hold.status(self.now), view)
    }

    pub(super) fn booking(&self, view: &BookingView) -> Words {
        self.about_booking(view.booking.state.as_str(), view)
    }

    fn about_hold(&self, code: &str, view: &HoldView) -> Words {
        let Hold { holder, lines, amount, currency, expires_at, extensions, relaxed, .. } = &view.hold;
        Words::yes(code)
            .with("holder", holder)
            .with("lines", self.lines(lines, &|line| view.offer_of(line)))
            .with("amount", amount.minor())
            .with("currency", currency)
            .with("ttl", span(expires_at.ms_since(self.now)))
            .with("extensions", extensions)
            .with("relaxed", joined(",", relaxed.iter().map(|relaxed| relaxation(*relaxed))))
            .with("state", view.hold.status(self.now))
    }

    fn about_booking(&self, code: &str, view: &BookingView) -> Words {
        let booking = &view.booking;
        Words::yes(code)
            .with("holder", &booking.holder)
            .with("lines", self.lines(&booking.lines, &|line| view.offer_of(line)))
            .with("amount", booking.amount.minor())
            .with("currency", booking.currency)
            .with("payment", booking.payment_state())
            .with("kept", booking.payment.as_ref().map_or(0, |of| of.captured.minor() - of.refunded.minor()))
            .with("due", booking.payment_due().map_or(String::new(), |at| self.counted_from_now(at)))
            .with("attempts", booking.payment.as_ref().map_or(0, |of| of.attempts))
    }

    fn lines<'a>(
        &self,
        lines: &'a [Line],
        offer_of: &dyn Fn(&'a Line) -> &'a std::sync::Arc<Offer>,
    ) -> String {
        joined(",", lines.iter().map(|line| self.line(line, offer_of(line))))
    }

    fn line(&self, line: &Line, offer: &Offer) -> String {
        let unit = self.unit(offer.id(), &offer.key(line.unit));
        match line.qty {
            1 => unit,
            qty => format!("{unit}*{qty}"),
        }
    }

    fn unit(&self, offer: &OfferId, key: &str) -> String {
        match self.several_offers {
            true => format!("{offer}/{key}"),
            false => key.to_owned(),
        }
    }

    fn refusal(&self, refusal: &Refusal) -> Words {
        let words = Words::no(refusal.code());
        match refusal {
            Refusal::UnknownOffer { offer } | Refusal::OfferExists { offer } => words.with("offer", offer),
            Refusal::UnknownUnit { offer, unit } => words.with("unit", self.unit(offer, unit)),
            Refusal::UnknownHold
            | Refusal::UnknownBooking
            | Refusal::HoldReleased
            | Refusal::HoldExpired
            | Refusal::AlreadyBooked { .. }
            | Refusal::NotCancellable { .. } => words,
            Refusal::InvalidTime { offer, .. } => words.with("offer", offer),
            Refusal::Invalid(fault) => words.with("field", &fault.field),
            Refusal::NotOnSale { offer, opens_at, closes_at } => words
                .with("offer", offer)
                .with("opens", opens_at.map_or(String::new(), |at| self.counted_from_now(at)))
                .with("closes", closes_at.map_or(String::new(), |at| self.counted_from_now(at))),
            Refusal::LimitReached(Limit::PerHolder { offer, limit, used, asked }) => {
                words.with("offer", offer).with("limit", limit).with("used", used).with("asked", asked)
            }
            Refusal::LimitReached(Limit::Unconfirmed { offer, limit, asked }) => {
                words.with("offer", offer).with("unconfirmed", limit).with("asked", asked)
            }
            Refusal::LimitReached(Limit::Extensions { limit }) => words.with("extensions", limit),
            Refusal::UnitBlocked(conflict) | Refusal::UnitTaken(conflict) => self.conflict(words, conflict),
            Refusal::SoldOut { offer, conflicts } => {
                words.with("offer", offer).with("conflicts", self.in_the_way(conflicts))
            }
        }
    }

    fn conflict(&self, words: Words, conflict: &Conflict) -> Words {
        let groups = conflict.alternatives.iter().map(|group| group.join("+"));
        words
            .with("conflicts", self.in_the_way(&conflict.conflicts))
            .with("alternatives", joined(",", groups))
    }

    fn in_the_way(&self, conflicts: &[InTheWay]) -> String {
        let named = |at: &InTheWay| format!("{}:{}", self.unit(&at.offer, &at.unit), at.state.as_str());
        joined(",", conflicts.iter().map(named))
    }

    fn counted_from_now(&self, at: Moment) -> String {
        match at.ms_since(self.now) {
            ms if ms < 0 => format!("-{}", span(-ms)),
            ms => format!("+{}", span(ms)),
        }
    }
}

pub(super) fn state(state: UnitState) -> Words {
    Words::yes(state.as_str())
}

fn relaxation(relaxed: Relaxed) -> String {
    match relaxed {
        Relaxed::Orphan => "orphan",
        Relaxed::SplitRows => "split_rows",
        Relaxed::Scattered => "scattered",
    }
    .to_owned()
}

fn joined(separator: &str, parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

/// `600s`, or `1500ms` where seconds do not do.
fn span(ms: i64) -> String {
    if ms % 1000 == 0 { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}
