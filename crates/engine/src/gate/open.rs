//! No gate at all: every request goes on to the ledger.

use async_trait::async_trait;

use super::{Gate, MustHear, Pass, Verdict};
use crate::ledger::{LedgerError, Reply, Request};

#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

#[async_trait]
impl Gate for Open {
    async fn ask(&self, _: &Request) -> Verdict {
        Verdict::Pass(Pass::freely())
    }

    async fn settle(&self, _: Pass, _: &Result<Reply, LedgerError>) {}

    fn must_hear(&self) -> MustHear {
        MustHear::Nothing
    }

    fn degraded(&self) -> Vec<String> {
        Vec::new()
    }
}
