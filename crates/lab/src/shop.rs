//! The port to whatever sells: a strategy of the engine or a mistake, asked alike, and answering in the checker's
//! words. One shop is one run: it knows one assortment and is empty in the beginning.

use std::fmt;

use async_trait::async_trait;
use holdfast_checker::{
    Outcome,
    history::{Claim, Ending, HoldRef, HolderRef, Micros},
};

use crate::{
    report::model::{Phase, Span},
    watch::Watch,
};

#[async_trait]
pub(crate) trait Shop: Send + Sync + fmt::Debug {
    async fn hold(&self, ask: &AskHold, steps: &mut Steps) -> Told;
    async fn confirm(&self, ask: &AskAbout, steps: &mut Steps) -> Told;
    async fn release(&self, ask: &AskAbout, steps: &mut Steps) -> Told;

    /// What is in the store when everybody has gone: of each hold that was asked for, and every booking.
    async fn ending(&self, asked: &[HoldRef], watch: &Watch) -> Result<Ending, ShopError>;

    /// Whether holds get their names from the shop, however often they are asked for, and not from the request.
    fn names_holds(&self) -> bool {
        false
    }

    /// Who refused a double sale that the shop itself would have made.
    fn saved_by(&self) -> Option<String> {
        None
    }
}

/// What a buyer was told, and the journal's number in it where it has one.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub outcome: Outcome,
    pub version: Option<u64>,
}

impl From<Outcome> for Told {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, version: None }
    }
}

impl AskHold {
    /// The same, unit by unit in one order.
    pub(crate) fn sorted(&self) -> Self {
        let mut ask = self.clone();
        ask.claims.sort_unstable();
        ask
    }
}

/// A shop that cannot even be opened or looked into. A buyer never meets this: to a buyer, no answer is an outcome.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ShopError(pub(crate) String);

impl ShopError {
    pub(crate) fn of(fault: impl fmt::Display) -> Self {
        Self(fault.to_string())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct AskHold {
    /// Which buyer asks, to be sent to one node or another.
    pub buyer: u32,
    pub holder: HolderRef,
    pub hold: HoldRef,
    pub claims: Vec<Claim>,
    pub key: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AskAbout {
    pub buyer: u32,
    pub holder: HolderRef,
    pub hold: HoldRef,
    /// Of a confirmation that may be sent again.
    pub key: Option<u32>,
}

/// What a buyer's request went through, step by step, as far as it can be seen.
#[derive(Debug)]
pub(crate) struct Steps {
    watch: Watch,
    pub(crate) spans: Vec<(Phase, Micros, Micros)>,
}

impl Steps {
    pub(crate) fn new(watch: Watch) -> Self {
        Self { watch, spans: Vec::new() }
    }

    pub(crate) async fn during<T>(&mut self, phase: Phase, work: impl Future<Output = T>) -> T {
        let start = self.watch.now_us();
        let came = work.await;
        self.spans.push((phase, start, self.watch.now_us()));
        came
    }

    /// The steps on a scale that begins at `zero`.
    pub(crate) fn spans_from(&self, zero: Micros) -> Vec<Span> {
        let since = |at: Micros| (at - zero).max(0) as u64;
        let span = |&(phase, start, end): &(Phase, Micros, Micros)| Span {
            phase,
            start_us: since(start),
            end_us: since(end),
        };
        self.spans.iter().map(span).collect()
    }
}
