//! How much somebody may hold without ever buying.
//!
//! A hold costs nothing, so whoever holds what they do not want takes it from everybody else: a second account that
//! keeps the middle seats busy until only the good ones are left for the first. Counted here, by session and by address
//! and for each offer: the units of holds that were placed within the window, or are still held, and have not been
//! confirmed. A confirm gives back; a release or an expiry within the window does not, or else the same seats could be
//! held and dropped for ever.
//!
//! ```text
//! reserve ─► ledger ─► held: counts until it is confirmed, or the window has passed and the hold has ended
//!        │         └─► anything else: given back at once
//!        └─► too much: the ledger is asked what it would have said, and nothing new is had
//! ```
//! An address may have a share of an offer and no more: six hundred seats are few in a stadium and all of a small hall.
//!
//! A retry with the same idempotency key counts once, and is never refused for what its first try took. Shared through
//! Redis where there is one; else, and while it is away, each node counts what it saw itself.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
    time::Duration,
};

use holdfast_domain::{Ask, BookingState, Hold, HoldId, Limit, Moment, OfferDef, OfferId, Pick};
use parking_lot::Mutex;
use redis::Script;
use sha2::{Digest, Sha256};

use super::{Visitor, fading::Fading, rate_limit::hex};
use crate::{
    clock::Clock,
    gate::{Quota, redis::SharedRedis},
    ledger::{IdempotencyKey, LedgerError, OfferView, Outcome, Reply},
    pipeline::SubmitError,
};

static RESERVE: LazyLock<Script> =
    LazyLock::new(|| Script::new(concat!(include_str!("hoard_time.lua"), include_str!("hoard.lua"))));
static COUNT_UNTIL: LazyLock<Script> =
    LazyLock::new(|| Script::new(concat!(include_str!("hoard_time.lua"), include_str!("hoard_until.lua"))));

#[derive(Debug, Clone)]
pub struct Settings {
    /// How long an unconfirmed hold counts against whoever placed it, at least: while it lasts it counts too.
    pub window: Duration,
    /// Units of one offer that one session may have unconfirmed; 0 for no limit.
    pub per_holder: u32,
    /// The same for all sessions that speak from one address; 0 for no limit, whatever the share.
    pub per_address: u32,
    /// The most of an offer that one address may have unconfirmed, in percent of its capacity; 0 for any. Never less
    /// than one person may buy, nor than [`FEWEST_PER_ADDRESS`]. Calendars have no capacity to have a share of.
    pub share_per_address: u32,
    /// Claimers that a node remembers by itself.
    pub remembered: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(600),
            per_holder: 60,
            per_address: 600,
            share_per_address: 10,
            remembered: 100_000,
        }
    }
}

/// However small the offer, an address may have this many units: a school and a family of six meet in one network.
pub const FEWEST_PER_ADDRESS: u32 = 20;

/// How long an offer counts as large as it was. The organiser may make it larger; then a share of it is, soon.
const SIZE_KEPT_MS: i64 = 60_000;

/// How much there is of an offer, and of that for one person.
#[derive(Debug, Clone, Copy)]
struct Size {
    capacity: u64,
    limit_per_holder: Option<u32>,
    learnt: Moment,
}

#[derive(Debug)]
pub struct Hoarding {
    settings: Settings,
    clock: Arc<dyn Clock>,
    shared: Option<SharedRedis>,
    local: Mutex<Local>,
    sizes: Mutex<HashMap<OfferId, Size>>,
}

/// Somebody, as far as one offer is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Claimer([u8; 12]);

impl Claimer {
    fn of(kind: &str, who: &str, offer: &OfferId) -> Self {
        let mut hash = Sha256::new();
        for part in [kind, who, offer.as_str()] {
            hash.update(part);
            hash.update([0]);
        }
        Self(hash.finalize()[..12].try_into().expect("a digest is longer"))
    }

    fn key(self) -> String {
        format!("hf:hoard:until:{{{}}}", hex(&self.0))
    }
}

/// One claim against one limit.
#[derive(Debug, Clone, Copy)]
struct Charge {
    claimer: Claimer,
    policy: &'static str,
    limit: u32,
    units: u32,
}

/// What a request set aside before the ledger was asked; [`Hoarding::settle`] decides whether it stays.
#[derive(Debug)]
pub struct Reserved {
    hold: HoldId,
    /// The claim's name: of its idempotency key, so that a retry is the same claim, or of its hold.
    name: String,
    /// Those that were not there before.
    fresh: Vec<Charge>,
    /// Those that another copy of the same request has set aside.
    again: Vec<Charge>,
}

/// More than somebody may have unconfirmed.
#[derive(Debug)]
pub struct Excess {
    pub policy: &'static str,
    pub over: Limit,
    /// When there is room for it. `None` where this alone is more than anybody may have: no wait would help.
    pub quota: Option<Quota>,
}

#[derive(Debug)]
struct Local {
    /// Of each claimer, what ceases to count first before the rest.
    claimed: Fading<Claimer, Moment, Vec<Claimed>>,
    /// What each hold counts as, for as long as it does.
    holds: Fading<HoldId, Moment, Counted>,
}

#[derive(Debug)]
struct Counted {
    name: String,
    charges: Vec<(Claimer, u32)>,
    /// Until then in any case.
    window_ends: Moment,
}

#[derive(Debug)]
struct Claimed {
    until: Moment,
    name: String,
    units: u32,
}

/// Whether a charge was accepted.
enum Charged {
    Fresh,
    /// Counted before, under the same name.
    Again,
    /// There is no room to remember it.
    Uncounted,
    NotBefore(Duration),
}

impl Hoarding {
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, redis: Option<SharedRedis>) -> Self {
        let (claimed, holds) = (Fading::new(settings.remembered), Fading::new(settings.remembered));
        let local = Mutex::new(Local { claimed, holds });
        Self { settings, clock, shared: redis, local, sizes: Mutex::default() }
    }

    /// Whether [`Hoarding::learn`] should hear of the offer before somebody at an address asks for some of it.
    pub fn must_learn(&self, offer: &OfferId, visitor: &Visitor) -> bool {
        let Settings { per_address, share_per_address, .. } = self.settings;
        let has_share = per_address > 0 && share_per_address > 0 && visitor.address.is_some();
        let now = self.clock.now();
        let is_fresh = |size: &Size| now.ms_since(size.learnt) < SIZE_KEPT_MS;
        has_share && !self.sizes.lock().get(offer).is_some_and(is_fresh)
    }

    pub fn learn(&self, view: &OfferView) {
        let OfferDef { id, limit_per_holder, .. } = view.offer.def();
        let (capacity, limit_per_holder) = (view.counts.capacity, *limit_per_holder);
        let size = Size { capacity, limit_per_holder, learnt: self.clock.now() };
        let mut sizes = self.sizes.lock();
        if sizes.len() >= self.settings.remembered {
            sizes.clear();
        }
        sizes.insert(id.clone(), size);
    }

    /// How many units of the offer one address may have unconfirmed. Of an offer that nobody could read, as many as of
    /// any: the ledger has the last word.
    fn address_limit(&self, offer: &OfferId) -> u32 {
        let Settings { per_address, share_per_address, .. } = self.settings;
        let size = self.sizes.lock().get(offer).copied().filter(|size| size.capacity > 0);
        let (Some(size), true) = (size, per_address > 0 && share_per_address > 0) else { return per_address };
        let share = size.capacity.saturating_mul(share_per_address.into()) / 100;
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        let fewest = size.limit_per_holder.unwrap_or(0).max(FEWEST_PER_ADDRESS);
        per_address.min(share.max(fewest))
    }

    /// Counts what is asked for against whoever asks, all of it or nothing.
    pub async fn reserve(
        &self,
        hold: HoldId,
        asks: &[Ask],
        key: Option<&IdempotencyKey>,
        visitor: &Visitor,
    ) -> Result<Reserved, Excess> {
        let charges = self.charges(asks, visitor);
        if let Some((offer, charge)) = charges.iter().find(|(_, charge)| charge.units > charge.limit) {
            return Err(self.excess(offer, *charge, None));
        }
        let name = name_of(hold, key);
        let mut reserved = Reserved { hold, name, fresh: Vec::new(), again: Vec::new() };
        for (offer, charge) in charges {
            match self.charge(&reserved.name, charge).await {
                Charged::Fresh => reserved.fresh.push(charge),
                Charged::Again => reserved.again.push(charge),
                Charged::Uncounted => {}
                Charged::NotBefore(retry_after) => {
                    self.give_back(&reserved).await;
                    return Err(self.excess(offer, charge, Some(retry_after)));
                }
            }
        }
        Ok(reserved)
    }

    fn excess(&self, offer: &OfferId, charge: Charge, retry_after: Option<Duration>) -> Excess {
        let Charge { policy, limit, units: asked, .. } = charge;
        let window = self.settings.window;
        Excess {
            policy,
            over: Limit::Unconfirmed { offer: offer.clone(), limit, asked },
            quota: retry_after.map(|retry_after| Quota { policy, burst: limit, window, retry_after }),
        }
    }

    fn charges<'a>(&self, asks: &'a [Ask], visitor: &Visitor) -> Vec<(&'a OfferId, Charge)> {
        let mut wanted: BTreeMap<&OfferId, u32> = BTreeMap::new();
        for ask in asks {
            let units = match ask.pick {
                Pick::Unit { qty, .. } | Pick::Best { qty, .. } => qty,
                Pick::Slot { .. } => 1,
            };
            let sum = wanted.entry(&ask.offer).or_default();
            *sum = sum.saturating_add(units);
        }
        let address = visitor.address.map(|address| address.to_string());
        let mut charges = Vec::new();
        for (offer, units) in wanted {
            let mut charge = |policy, who: &str, limit| {
                if limit > 0 {
                    let claimer = Claimer::of(policy, who, offer);
                    charges.push((offer, Charge { claimer, policy, limit, units }));
                }
            };
            charge("unconfirmed-by-holder", visitor.holder.as_str(), self.settings.per_holder);
            if let Some(address) = &address {
                charge("unconfirmed-by-address", address, self.address_limit(offer));
            }
        }
        charges
    }

    async fn charge(&self, name: &str, charge: Charge) -> Charged {
        if let Some(redis) = &self.shared {
            let mut reserve = RESERVE.prepare_invoke();
            let window = self.settings.window.as_millis() as u64;
            reserve.key(charge.claimer.key()).arg(name).arg(charge.units).arg(charge.limit).arg(window);
            match redis.invoke::<i64>(&reserve).await {
                Ok(-1) => return Charged::Again,
                Ok(0) => return Charged::Fresh,
                Ok(wait) => return Charged::NotBefore(Duration::from_millis(wait.max(1) as u64)),
                Err(_) => {}
            }
        }
        let now = self.clock.now();
        self.local.lock().charge(name, charge, &self.settings, now)
    }

    /// After the ledger: a new hold counts from now on, everything else is given back.
    pub async fn settle(&self, reserved: Reserved, said: &Result<Reply, SubmitError>) {
        match said {
            Ok(Reply::Done(Outcome::Held { hold, again: false })) if hold.hold.id == reserved.hold => {
                self.remember(reserved, &hold.hold).await;
            }
            // It may have happened. Then it counts until the window has passed, and no longer.
            Err(SubmitError::Ledger(LedgerError::OutcomeUnknown(_))) => {}
            // Another copy of the request has the hold, and what is set aside for it is that one's, whichever of them was
            // first to set it aside. (The key of what was bought long ago, used once more, counts for a window.)
            Ok(Reply::Open { .. }) => {}
            Ok(Reply::Replayed(answer)) if answer.status < 300 => {}
            _ => self.give_back(&reserved).await,
        }
    }

    async fn remember(&self, reserved: Reserved, hold: &Hold) {
        let Reserved { name, fresh, again, .. } = reserved;
        for charge in &again {
            // The copy that set it aside was refused, perhaps, and has given it back.
            self.charge(&name, *charge).await;
        }
        let now = self.clock.now();
        let window_ends = now.plus_ms(self.settings.window.as_millis() as i64);
        let charges = fresh.iter().chain(&again).map(|charge| (charge.claimer, charge.units)).collect();
        let counted = Counted { name, charges, window_ends };
        if let Some(redis) = &self.shared {
            let mut set = redis::cmd("SET");
            let lasts_ms = ms_until(counted.until(hold), now);
            set.arg(key_of(hold.id)).arg(counted.text()).arg("PX").arg(lasts_ms);
            // Without it a confirm gives nothing back, and the window passes all the same.
            drop(redis.run::<redis::Value>(&set).await);
        }
        if counted.until(hold) > window_ends {
            self.count_until(&counted, counted.until(hold)).await;
        }
        let mut local = self.local.lock();
        if local.holds.has_room(now) {
            local.holds.keep(hold.id, counted.until(hold), counted);
        }
    }

    async fn give_back(&self, reserved: &Reserved) {
        for charge in &reserved.fresh {
            self.forget(&charge.claimer.key(), &member(charge.units, &reserved.name)).await;
            self.local.lock().forget(charge.claimer, &reserved.name);
        }
    }

    async fn forget(&self, key: &str, member: &str) {
        let Some(redis) = &self.shared else { return };
        let mut remove = redis::cmd("ZREM");
        remove.arg(key).arg(member);
        drop(redis.run::<redis::Value>(&remove).await);
    }

    /// Bought: whoever held it is no hoarder. Held for longer, or no longer: it counts for as long.
    pub async fn heard(&self, said: &Result<Reply, SubmitError>) {
        match said {
            Ok(Reply::Done(Outcome::Confirmed(view) | Outcome::Payment { booking: view, .. }))
                if view.booking.state == BookingState::Confirmed =>
            {
                self.confirmed(view.booking.hold).await;
            }
            Ok(Reply::Done(Outcome::Extended(view) | Outcome::Released(view))) => {
                self.ends_otherwise(&view.hold).await;
            }
            _ => {}
        }
    }

    /// Whether anything may be counted of this hold: what another node placed is known to Redis only.
    pub fn counts(&self, hold: HoldId) -> bool {
        self.shared.is_some() || self.local.lock().holds.end_of(&hold).is_some()
    }

    async fn confirmed(&self, hold: HoldId) {
        let known = self.local.lock().holds.remove(&hold);
        match (known, &self.shared) {
            (Some(Counted { name, charges, .. }), _) => {
                for (claimer, units) in charges {
                    self.local.lock().forget(claimer, &name);
                    self.forget(&claimer.key(), &member(units, &name)).await;
                }
            }
            (None, Some(redis)) => self.confirmed_elsewhere(redis, hold).await,
            (None, None) => {}
        }
    }

    /// The hold lasts longer than it did, or less long, and counts for as long.
    pub async fn ends_otherwise(&self, hold: &Hold) {
        let known = self.local.lock().holds.remove(&hold.id);
        match (known, &self.shared) {
            (Some(counted), _) => {
                let until = counted.until(hold);
                self.count_until(&counted, until).await;
                self.keep_noted(hold.id, until).await;
                self.local.lock().holds.keep(hold.id, until, counted);
            }
            (None, Some(redis)) => self.ends_otherwise_elsewhere(redis, hold).await,
            (None, None) => {}
        }
    }

    /// What is counted of this hold counts until then.
    async fn count_until(&self, counted: &Counted, until: Moment) {
        for &(claimer, units) in &counted.charges {
            self.local.lock().count_until(claimer, &counted.name, until);
            self.shared_until(&claimer.key(), &member(units, &counted.name), until).await;
        }
    }

    async fn shared_until(&self, key: &str, member: &str, until: Moment) {
        let Some(redis) = &self.shared else { return };
        let mut count = COUNT_UNTIL.prepare_invoke();
        count.key(key).arg(member).arg(ms_until(until, self.clock.now()));
        drop(redis.invoke::<redis::Value>(&count).await);
    }

    /// For the other nodes: what this hold counts as is known for as long as it counts.
    async fn keep_noted(&self, hold: HoldId, until: Moment) {
        let Some(redis) = &self.shared else { return };
        let mut expire = redis::cmd("PEXPIRE");
        expire.arg(key_of(hold)).arg(ms_until(until, self.clock.now()));
        drop(redis.run::<redis::Value>(&expire).await);
    }

    /// Another node placed it.
    async fn confirmed_elsewhere(&self, redis: &SharedRedis, hold: HoldId) {
        let mut take = redis::cmd("GETDEL");
        take.arg(key_of(hold));
        let noted = redis.run::<Option<String>>(&take).await.ok().flatten().unwrap_or_default();
        for (key, member) in charges_in(&noted) {
            self.forget(key, member).await;
        }
    }

    async fn ends_otherwise_elsewhere(&self, redis: &SharedRedis, hold: &Hold) {
        let mut read = redis::cmd("GET");
        read.arg(key_of(hold.id));
        let noted = redis.run::<Option<String>>(&read).await.ok().flatten().unwrap_or_default();
        let Some(window_ends) = window_in(&noted) else { return };
        let until = later_of(window_ends, hold);
        for (key, member) in charges_in(&noted) {
            self.shared_until(key, member, until).await;
        }
        self.keep_noted(hold.id, until).await;
    }
}

impl Counted {
    /// The window's end, or the hold's where that is later.
    fn until(&self, hold: &Hold) -> Moment {
        later_of(self.window_ends, hold)
    }

    /// As it is noted for other nodes: when the window ends, then the charges.
    fn text(&self) -> String {
        let mut text = self.window_ends.ms().to_string();
        for &(claimer, units) in &self.charges {
            text.push_str(&format!(" {}={}", claimer.key(), member(units, &self.name)));
        }
        text
    }
}

fn later_of(window_ends: Moment, hold: &Hold) -> Moment {
    if hold.is_open() { window_ends.max(hold.ends_at()) } else { window_ends }
}

fn window_in(noted: &str) -> Option<Moment> {
    noted.split(' ').next()?.parse().ok().map(Moment::from_ms)
}

fn charges_in(noted: &str) -> impl Iterator<Item = (&str, &str)> {
    noted.split(' ').filter_map(|charge| charge.split_once('='))
}

/// A charge as the claimer's sorted set has it.
fn member(units: u32, name: &str) -> String {
    format!("{units}:{name}")
}

/// At least one: nothing can be kept for no time.
fn ms_until(until: Moment, now: Moment) -> i64 {
    until.ms_since(now).max(1)
}

fn key_of(hold: HoldId) -> String {
    format!("hf:hoard:of:{hold}")
}

fn name_of(hold: HoldId, key: Option<&IdempotencyKey>) -> String {
    match key {
        None => hold.to_string(),
        Some(key) => {
            let mut hash = Sha256::new();
            hash.update(&key.scope);
            hash.update([0]);
            hash.update(&key.key);
            hash.update(key.fingerprint);
            hex(&hash.finalize()[..12])
        }
    }
}

impl Local {
    fn charge(&mut self, name: &str, charge: Charge, settings: &Settings, now: Moment) -> Charged {
        let mut claimed = match self.claimed.remove(&charge.claimer) {
            Some(claimed) => claimed,
            None if self.claimed.has_room(now) => Vec::new(),
            // More claimers than a node may remember: the newest go uncounted, and the ledger bounds itself.
            None => return Charged::Uncounted,
        };
        let charged = add(&mut claimed, name, charge, settings.window, now);
        self.put_back(charge.claimer, claimed);
        charged
    }

    fn forget(&mut self, claimer: Claimer, name: &str) {
        if let Some(mut claimed) = self.claimed.remove(&claimer) {
            claimed.retain(|one| one.name != name);
            self.put_back(claimer, claimed);
        }
    }

    fn count_until(&mut self, claimer: Claimer, name: &str, until: Moment) {
        if let Some(mut claimed) = self.claimed.remove(&claimer) {
            if let Some(at) = claimed.iter().position(|one| one.name == name) {
                let one = claimed.remove(at);
                insert(&mut claimed, Claimed { until, ..one });
            }
            self.put_back(claimer, claimed);
        }
    }

    /// Until the last of it no longer counts.
    fn put_back(&mut self, claimer: Claimer, claimed: Vec<Claimed>) {
        if let Some(last) = claimed.last() {
            self.claimed.keep(claimer, last.until, claimed);
        }
    }
}

fn insert(claimed: &mut Vec<Claimed>, one: Claimed) {
    let at = claimed.partition_point(|other| other.until <= one.until);
    claimed.insert(at, one);
}

/// Adds one claim to what somebody claimed before, if that is not too much.
fn add(claimed: &mut Vec<Claimed>, name: &str, charge: Charge, window: Duration, now: Moment) -> Charged {
    let Charge { limit, units, .. } = charge;
    let over = claimed.partition_point(|one| one.until <= now);
    claimed.drain(..over);
    if claimed.iter().any(|one| one.name == name) {
        return Charged::Again;
    }
    let mut total = claimed.iter().map(|one| u64::from(one.units)).sum::<u64>() + u64::from(units);
    if total <= u64::from(limit) {
        let until = now.plus_ms(window.as_millis() as i64);
        insert(claimed, Claimed { until, name: name.to_owned(), units });
        return Charged::Fresh;
    }
    for one in &*claimed {
        total -= u64::from(one.units);
        if total <= u64::from(limit) {
            return Charged::NotBefore(Duration::from_millis(ms_until(one.until, now) as u64));
        }
    }
    Charged::NotBefore(window)
}
