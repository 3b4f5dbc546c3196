//! Histories made by hand, one line an operation.

use std::ops::Range;

use holdfast_checker::{
    Claim, Evidence, History, Operation, Outcome, Verdict,
    history::{Answer, Call, Ending, Micros, Reason, UnitInfo},
    judge,
};

/// Unit 0, the seat, has capacity 1; unit 1, the stock line, has 3; unit 2 is another seat.
pub(crate) const SEAT: u32 = 0;
pub(crate) const STOCK: u32 = 1;
pub(crate) const OTHER: u32 = 2;

#[derive(Default)]
pub(crate) struct Scene(History);

pub(crate) const fn seat(unit: u32) -> Claim {
    Claim { unit, qty: 1 }
}

pub(crate) fn held(hold: u32, holder: u32, claims: &[Claim], expires_at: Micros) -> Outcome {
    Outcome::Ok(Answer::Held { hold, holder, claims: claims.to_vec(), expires_at, again: false })
}

pub(crate) fn taken(unit: u32) -> Outcome {
    Outcome::Fail(Reason::Taken(vec![unit]))
}

impl Scene {
    pub(crate) fn new() -> Self {
        let unit = |name: &str, capacity| UnitInfo { name: name.to_owned(), capacity };
        Self(History {
            units: vec![unit("seat", 1), unit("stock", 3), unit("other", 1)],
            ..History::default()
        })
    }

    pub(crate) fn op(mut self, during: Range<Micros>, call: Call, outcome: Outcome) -> Self {
        let process = self.0.operations.len() as u32;
        let (start, end) = (during.start, during.end);
        self.0.operations.push(Operation { process, start, end, call, outcome, version: None });
        self
    }

    /// Holder and hold share a number; the hold is the caller's to name.
    pub(crate) fn hold(self, during: Range<Micros>, hold: u32, claims: &[Claim], outcome: Outcome) -> Self {
        let call = Call::Hold { holder: hold, claims: claims.to_vec(), key: None, hold: Some(hold) };
        self.op(during, call, outcome)
    }

    /// A yes to a hold on one seat.
    pub(crate) fn held(self, during: Range<Micros>, hold: u32, unit: u32, expires_at: Micros) -> Self {
        self.hold(during, hold, &[seat(unit)], held(hold, hold, &[seat(unit)], expires_at))
    }

    pub(crate) fn refused(self, during: Range<Micros>, hold: u32, unit: u32) -> Self {
        self.hold(during, hold, &[seat(unit)], taken(unit))
    }

    pub(crate) fn confirm(self, during: Range<Micros>, hold: u32) -> Self {
        let outcome = Outcome::Ok(Answer::Confirmed { booking: hold, holder: hold });
        self.op(during, Call::Confirm { hold, key: None }, outcome)
    }

    pub(crate) fn confirm_refused(self, during: Range<Micros>, hold: u32, reason: Reason) -> Self {
        self.op(during, Call::Confirm { hold, key: None }, Outcome::Fail(reason))
    }

    pub(crate) fn release(self, during: Range<Micros>, hold: u32) -> Self {
        self.op(during, Call::Release { hold }, Outcome::Ok(Answer::Released))
    }

    pub(crate) fn cancel(self, during: Range<Micros>, hold: u32) -> Self {
        self.op(during, Call::Cancel { hold }, Outcome::Ok(Answer::Cancelled))
    }

    pub(crate) fn extend(self, during: Range<Micros>, hold: u32, expires_at: Micros) -> Self {
        self.op(during, Call::Extend { hold }, Outcome::Ok(Answer::Extended { expires_at }))
    }

    pub(crate) fn read(self, during: Range<Micros>, unit: u32, held: u32, booked: u32) -> Self {
        self.op(during, Call::Read { unit }, Outcome::Ok(Answer::Seen { held, booked }))
    }

    pub(crate) fn ending(mut self, ending: Ending) -> Self {
        self.0.ending = Some(ending);
        self
    }

    pub(crate) fn tolerance(mut self, tolerance_us: Micros) -> Self {
        self.0.tolerance_us = tolerance_us;
        self
    }

    pub(crate) fn into_history(self) -> History {
        self.0
    }

    pub(crate) fn judge(&self) -> Verdict {
        // What is judged is what a file would say.
        let history = History::from_json(&self.0.to_json()).expect("its own JSON");
        assert_eq!(history, self.0);
        judge(&history, Evidence::NONE)
    }

    #[track_caller]
    pub(crate) fn is_valid(&self) {
        let verdict = self.judge();
        assert!(verdict.is_valid(), "{}", verdict.tell(&self.0));
    }

    /// INVALID for that reason, shown by exactly those operations.
    #[track_caller]
    pub(crate) fn shows(&self, anomaly: holdfast_checker::Anomaly, operations: &[usize]) {
        let verdict = self.judge();
        let told = verdict.tell(&self.0);
        let Some(violation) = verdict.violations().iter().find(|violation| violation.anomaly == anomaly)
        else {
            panic!("{told}");
        };
        assert_eq!(violation.operations, operations, "{told}");
    }
}
