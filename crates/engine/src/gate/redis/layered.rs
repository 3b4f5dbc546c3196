//! `layered`: first a limit on how often one holder may ask, then the `lua` judge.

use std::sync::Arc;

use async_trait::async_trait;
use holdfast_domain::Command;

use super::{
    Parts, SharedRedis,
    counting::{Counting, count},
    lua,
    server::Server,
    settings::Settings,
};
use crate::{
    admission::{Rate, RateLimiter},
    gate::{Gate, MustHear, Pass, Verdict},
    ledger::{LedgerError, Reply, Request},
};

#[derive(Debug)]
pub(super) struct Layered {
    limiter: RateLimiter,
    rate: Rate,
    judged: Counting,
}

impl Layered {
    pub(super) fn open(server: Server, settings: Settings, parts: Parts) -> Self {
        let server = Arc::new(server);
        let limiter = RateLimiter::new(Some(SharedRedis(Arc::clone(&server))), settings.rate.local_holders);
        let rate = settings.rate.rate();
        Self { limiter, rate, judged: Counting::open(&lua::JUDGE, server, settings, parts) }
    }
}

#[async_trait]
impl Gate for Layered {
    async fn ask(&self, request: &Request) -> Verdict {
        if let Command::PlaceHold { holder, .. } = &request.command
            && let Err(quota) = self.limiter.admit("holds", &self.rate, holder.as_str()).await
        {
            count("too_many");
            return Verdict::TooMany(quota);
        }
        self.judged.ask(request).await
    }

    async fn settle(&self, pass: Pass, said: &Result<Reply, LedgerError>) {
        self.judged.settle(pass, said).await;
    }

    fn must_hear(&self) -> MustHear {
        self.judged.must_hear()
    }

    fn degraded(&self) -> Vec<String> {
        self.judged.degraded()
    }
}
