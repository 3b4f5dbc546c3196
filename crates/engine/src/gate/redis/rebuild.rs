//! Building slates from the books: after Redis lost its memory, in a new epoch, and now and then in any case.
//!
//! ```text
//! begin: take the lease ─► read the books ─► load what lives ─► finish: takes the old one's place
//!          └─ from here on, facts that nodes report are written to the old slate and to the new one
//! ```
//! The old slate is believed until then: what is renewed as a matter of routine steps aside for nobody. Only one that
//! refused what the ledger then gave is believed no more from the beginning on.
//!
//! Nothing falls between: what was committed before the books are read is in them, what is committed later is reported,
//! and a report of an end is remembered, so that loading the older news cannot undo it. One node builds an offer at a
//! time; a builder that slept through its lease finds another's name on the slate and can write no more.

use std::{collections::HashMap, sync::Arc, time::Duration};

use holdfast_domain::{Inventory, Kind, OfferId};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::Instant};

use super::{
    epoch::Epochs,
    server::{Aside, Server},
    settings::Settings,
    slate::{About, Build, Slate},
};
use crate::{
    gate::{Claim, GateBooks, OfferClaims},
    mint,
};

/// Units sent at a time, those of a claim together: few enough that a script is over in a millisecond or two.
const CHUNK: usize = 512;
/// How soon a rebuild that came to nothing may be tried again.
const RETRY: Duration = Duration::from_millis(100);
/// A slate is not rebuilt on a doubt when it is younger than this.
const DOUBT: Duration = Duration::from_secs(1);
/// Offers remembered at a time.
const MOST_OFFERS: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It is not there, or of another epoch. Whoever builds it, builds it for all nodes.
    Unready,
    /// It refused what the ledger then gave.
    Doubted,
    /// The same, a while ago. It was too young to be rebuilt on a doubt, and nobody has built another since.
    StillDoubted,
    /// It lacks a claim of this node's, and may lack it also when somebody else has just built it.
    Behind,
    /// It has been believed for long enough.
    Old,
}

/// What came of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Built {
    /// The slate is whole, and new.
    Whole,
    /// Somebody else has seen to what was wanted, not long ago.
    ByAnother,
    Not,
}

/// How it stands with one offer on this node.
#[derive(Debug, Clone, Copy)]
struct OfferRebuild {
    building: bool,
    /// The slate lacks a claim that this node could not chalk up.
    behind: bool,
    not_before: Instant,
    renew_at: Instant,
    renew_for: Why,
}

#[derive(Debug)]
pub(super) struct Rebuilds {
    server: Arc<Server>,
    epochs: Arc<Epochs>,
    books: Arc<dyn GateBooks>,
    settings: Settings,
    with_bits: bool,
    rebuilds: Mutex<HashMap<OfferId, OfferRebuild>>,
    at_once: Semaphore,
}

impl Rebuilds {
    pub(super) fn new(
        server: Arc<Server>,
        epochs: Arc<Epochs>,
        books: Arc<dyn GateBooks>,
        settings: Settings,
        with_bits: bool,
    ) -> Self {
        let at_once = Semaphore::new(settings.rebuilds_at_once);
        Self { server, epochs, books, settings, with_bits, rebuilds: Mutex::default(), at_once }
    }

    /// A claim could not be chalked up: the slate says yes where it should say no, until it is built anew.
    pub(super) fn fell_behind(&self, offer: &OfferId) {
        self.of(offer, |rebuild| rebuild.behind = true);
    }

    /// The slate was believed: should it be?
    pub(super) fn used(self: &Arc<Self>, offer: &OfferId) {
        let OfferRebuild { behind, renew_at, renew_for, .. } = self.of(offer, |rebuild| *rebuild);
        if behind {
            self.want(offer, Why::Behind);
        } else if renew_at <= Instant::now() {
            self.want(offer, renew_for);
        }
    }

    /// Builds the slate in the background, unless that is under way or was tried a moment ago.
    pub(super) fn want(self: &Arc<Self>, offer: &OfferId, why: Why) {
        let now = Instant::now();
        let mine = self.of(offer, |rebuild| {
            let mine = !rebuild.building && rebuild.not_before <= now;
            rebuild.building |= mine;
            // What cannot be chalked up from now on is another matter.
            rebuild.behind &= !mine;
            mine
        });
        if !mine {
            return;
        }
        let (this, offer) = (Arc::clone(self), offer.clone());
        tokio::spawn(async move {
            let built = this.build(&offer, why).await.unwrap_or(Built::Not);
            let now = Instant::now();
            let pause = if built == Built::Not { RETRY } else { Duration::ZERO };
            let renew_every = this.settings.renew_every;
            let (renew_in, renew_for) = match (built, why) {
                // Whether the doubt is older than what another has just built, nobody knows.
                (Built::ByAnother, Why::Doubted) => (DOUBT, Why::StillDoubted),
                // Another's is up to half as old as a slate may become.
                (Built::ByAnother, _) => (renew_every / 2, Why::Old),
                (Built::Whole | Built::Not, _) => (renew_every, Why::Old),
            };
            this.of(&offer, |rebuild| {
                // What is not there at all is wanted again by whoever asks next.
                let behind = rebuild.behind || (built == Built::Not && why != Why::Unready);
                let (not_before, renew_at) = (now + pause, now + renew_in);
                *rebuild = OfferRebuild { building: false, behind, not_before, renew_at, renew_for };
            });
        });
    }

    fn of<T>(&self, offer: &OfferId, change: impl FnOnce(&mut OfferRebuild) -> T) -> T {
        let mut rebuilds = self.rebuilds.lock();
        if rebuilds.len() >= MOST_OFFERS {
            rebuilds.retain(|_, rebuild| rebuild.building);
        }
        let now = Instant::now();
        // How old a slate is that this node has not used yet, nobody here knows: Redis is asked with the first use.
        change(rebuilds.entry(offer.clone()).or_insert(OfferRebuild {
            building: false,
            behind: false,
            not_before: now,
            renew_at: now,
            renew_for: Why::Old,
        }))
    }

    /// A slate of the present epoch that is younger than this is left as it is.
    fn youngest(&self, why: Why) -> Duration {
        match why {
            Why::Unready => self.settings.slate_kept,
            Why::Doubted | Why::StillDoubted => DOUBT,
            Why::Behind => Duration::ZERO,
            Why::Old => self.settings.renew_every / 2,
        }
    }

    async fn build(&self, offer: &OfferId, why: Why) -> Result<Built, Aside> {
        let Ok(_one_of_few) = self.at_once.acquire().await else { return Ok(Built::Not) };
        let began = Instant::now();
        let name = format!("{:032x}", mint::random_bits());
        // The mark is read before the books: what is built is at least as new as it says.
        let mark = self.epochs.mark()?;
        let build = Build { name: &name, mark: &mark };
        let slate = Slate { server: &self.server, offer, with_bits: self.with_bits };
        let is_doubted = why == Why::Doubted;
        let begun = slate.begin(build, self.settings.rebuild_lease, self.youngest(why), is_doubted).await;
        if begun == Ok(false) {
            let is_seen_to = matches!(why, Why::Doubted | Why::StillDoubted | Why::Old);
            return Ok(if is_seen_to { Built::ByAnother } else { Built::Not });
        }
        let built = match begun {
            Ok(_) => self.fill(slate, build).await,
            Err(aside) => Err(aside),
        };
        if built != Ok(true) {
            slate.abandon(build).await;
        }
        let whole = built?;
        let outcome = if whole { "whole" } else { "overtaken" };
        metrics::counter!("holdfast_gate_rebuilds_total", "outcome" => outcome).increment(1);
        metrics::histogram!("holdfast_gate_rebuild_seconds").record(began.elapsed().as_secs_f64());
        Ok(if whole { Built::Whole } else { Built::Not })
    }

    async fn fill(&self, slate: Slate<'_>, build: Build<'_>) -> Result<bool, Aside> {
        match self.books.live_claims(slate.offer).await {
            Ok(Some(claims)) => self.write(slate, build, claims).await,
            Ok(None) | Err(_) => Ok(false),
        }
    }

    async fn write(&self, slate: Slate<'_>, build: Build<'_>, books: OfferClaims) -> Result<bool, Aside> {
        let OfferClaims { offer, blocked, claims } = books;
        for some in loads(&claims) {
            if !slate.load(build, some).await? {
                return Ok(false);
            }
        }
        let capacities: Vec<_> = match offer.inventory() {
            Inventory::Stock(lines) => (0..).zip(lines.iter().map(|line| line.capacity)).collect(),
            Inventory::Seats(_) | Inventory::Slots(_) => Vec::new(),
        };
        for some in capacities.chunks(CHUNK) {
            if !slate.describe(build, some, &[]).await? {
                return Ok(false);
            }
        }
        for some in blocked.chunks(CHUNK) {
            if !slate.describe(build, &[], some).await? {
                return Ok(false);
            }
        }
        let def = offer.def();
        // Judges look at a clock that is as far ahead as clocks may be apart; this one must not be ahead of the ledger's.
        let apart_ms = 2 * self.settings.clock_slack.as_millis() as i64;
        let about = About {
            limit: def.limit_per_holder.unwrap_or(0),
            opens_at: def.opens_at.map(|at| at.plus_ms(apart_ms)),
            closes_at: def.closes_at,
            capacity: if offer.kind() == Kind::Stock { 0 } else { offer.capacity(0) },
        };
        slate.finish(build, about, self.settings.slate_kept).await
    }
}

/// The claims in loads of so many units; one that has more by itself is a load of its own.
fn loads(claims: &[Claim]) -> impl Iterator<Item = &[Claim]> {
    let mut rest = claims;
    std::iter::from_fn(move || {
        let mut units = 0;
        let fits = |claim: &&Claim| {
            units += claim.units.len().max(1);
            units <= CHUNK
        };
        let many = rest.iter().take_while(fits).count().max(1);
        let (load, behind) = rest.split_at_checked(many)?;
        rest = behind;
        Some(load)
    })
}

#[cfg(test)]
mod tests {
    use holdfast_domain::{HoldId, HolderId, Version};

    use super::*;

    fn claim_of(units: u32) -> Claim {
        let units = (0..units).map(|unit| (unit, 1)).collect();
        let (hold, holder) = (HoldId::from_bits(1), HolderId::new("alice").unwrap());
        Claim { hold, holder, units, stake: 1, until: None, version: Version(1) }
    }

    /// What Redis has to do for a load is counted in units, and it has 50 ms for it.
    #[test]
    fn a_load_has_so_many_units_however_few_claims_that_are() {
        let sizes = |units: &[u32]| -> Vec<usize> {
            let claims: Vec<_> = units.iter().copied().map(claim_of).collect();
            loads(&claims).map(<[Claim]>::len).collect()
        };
        assert_eq!(sizes(&[60; 20]), [8, 8, 4]);
        assert_eq!(sizes(&[1; 600]), [512, 88]);
        assert_eq!(sizes(&[1, 5_000, 512, 0]), [1, 1, 1, 1], "all of them, in their order");
        assert_eq!(sizes(&[]), [0; 0]);
    }
}
