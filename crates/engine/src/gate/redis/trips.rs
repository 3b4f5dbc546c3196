//! Trips to a slate: all who ask about an offer at the same moment ask in one script.
//!
//! ```text
//! ask ─┐
//! ask ─┼─► next trip ─► under way ─► each its answer, as if asked one after another
//! ask ─┘      ▲ sets out when the one before it is back
//! ```
//! A trip to Redis costs about the same for forty questions as for one. Nobody shares a look that began before the
//! question came: whoever comes while a trip is under way goes with the next. So every answer tells of a moment between
//! the question and the answer.
//!
//! Names cost more than anything else there: each is written, sent, read and looked up. While trips come back with
//! nothing but "taken", a crowd therefore sets out without them and asks whose it is; whoever that is, is put to the
//! ledger. Where that cannot be said, they are asked by name after all.
//!
//! A trip belongs to none of those who ask. Whoever gives up leaves the others where they are, and a pass that nobody
//! waits for any more is given back.

use std::{collections::HashMap, iter::repeat_n, sync::Arc};

use holdfast_domain::{HoldId, OfferId, UnitState};
use parking_lot::Mutex;
use redis::Script;
use tokio::{sync::oneshot, time::Instant};

use super::{
    epoch::Epochs,
    rebuild::{Rebuilds, Why},
    server::{Aside, Server},
    settings::Settings,
    slate::{Glance, Look, Slate},
};
use crate::{
    clock::Clock,
    gate::{
        Claim,
        wording::{Full, FullUnit, Hindrance},
    },
};

/// Units asked for in one trip, or a single wish of more: few enough that the script is over in a millisecond or two.
const MOST_UNITS: usize = 512;

/// From so many on it is worth asking without names, at the risk of having to ask twice.
const CROWD: usize = 8;

/// After so many trips by name it is tried without again: what was in the way may be over.
const BY_NAME: u32 = 64;

/// Turns of the runtime for which a trip waits at most until more have come.
const TURNS: usize = 16;

/// Offers remembered at a time.
const MOST_OFFERS: usize = 4096;

/// How the last trip to an offer came back, if everybody in it wanted what others have.
#[derive(Debug, Clone, Copy)]
struct InVain {
    askers: usize,
    /// Trips still to be made by name, for names were needed: holders have a limit, many share a unit, or something ended.
    by_name: u32,
}

/// What the judge says of one claim.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Pass,
    /// Not one that the judge can decide alone.
    Unjudged,
    Wait,
    Hindered(Hindrance),
}

/// What a trip needs, beside who goes.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) judge: Script,
    pub(super) with_bits: bool,
    pub(super) server: Arc<Server>,
    pub(super) epochs: Arc<Epochs>,
    pub(super) rebuilds: Arc<Rebuilds>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Settings,
}

#[derive(Debug)]
pub(super) struct Trips {
    route: Route,
    /// Who goes with the next trip, by offer; an offer is here while a trip of it is under way.
    waiting: Mutex<HashMap<OfferId, Vec<Asker>>>,
    /// Offers whose last trip came back with nothing but "taken".
    in_vain: Mutex<HashMap<OfferId, InVain>>,
}

#[derive(Debug)]
struct Asker {
    claim: Claim,
    came: Instant,
    told: oneshot::Sender<Result<Answer, Aside>>,
}

impl Asker {
    /// The hold it asked for comes back where nobody waits for the answer any more.
    fn hear(self, told: Result<Answer, Aside>) -> Option<HoldId> {
        self.told.send(told).is_err().then_some(self.claim.hold)
    }
}

impl Trips {
    pub(super) fn new(route: Route) -> Self {
        Self { route, waiting: Mutex::default(), in_vain: Mutex::default() }
    }

    /// What the judge says of this claim at some moment from now on. Takes three timeouts at most: one until a trip sets
    /// out, which is looked at when it does, and those of the trip, which may have to ask twice.
    pub(super) async fn ask(self: &Arc<Self>, offer: &OfferId, claim: Claim) -> Result<Answer, Aside> {
        let (told, answer) = oneshot::channel();
        self.join(offer, Asker { claim, came: Instant::now(), told });
        answer.await.unwrap_or(Err(Aside::OutOfReach))
    }

    /// Goes with the next trip, which sets out at once where none is under way.
    fn join(self: &Arc<Self>, offer: &OfferId, asker: Asker) {
        let mut waiting = self.waiting.lock();
        if let Some(line) = waiting.get_mut(offer) {
            return line.push(asker);
        }
        waiting.insert(offer.clone(), vec![asker]);
        tokio::spawn(Arc::clone(self).travel(offer.clone()));
    }

    async fn travel(self: Arc<Self>, offer: OfferId) {
        loop {
            let last = self.in_vain.lock().get(&offer).copied();
            self.gather(&offer, last.map_or(0, |last| last.askers)).await;
            let Some(askers) = self.next(&offer) else { return };
            let by_name = last.map_or(0, |last| last.by_name);
            let nameless = askers.len() >= CROWD && last.is_some() && by_name == 0;
            let mut back = self.route.go(&offer, askers, nameless).await;
            if let Some(back) = &mut back {
                back.by_name = back.by_name.max(by_name.saturating_sub(1));
            }
            self.remember(&offer, back);
        }
    }

    /// Whoever can ask in this turn of the runtime comes along. Those who asked in vain will ask again as soon as they
    /// have heard it: it is worth a few turns more to let half of as many gather, for every trip has its price.
    async fn gather(&self, offer: &OfferId, last: usize) {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
            if self.waiting.lock().get(offer).is_none_or(|line| line.len() >= last / 2) {
                return;
            }
        }
    }

    fn remember(&self, offer: &OfferId, back: Option<InVain>) {
        let mut offers = self.in_vain.lock();
        match (back, offers.get_mut(offer)) {
            (None, _) => {
                offers.remove(offer);
            }
            (Some(back), Some(last)) => *last = back,
            (Some(back), None) => {
                if offers.len() >= MOST_OFFERS {
                    offers.clear();
                }
                offers.insert(offer.clone(), back);
            }
        }
    }

    /// Who goes now: those who came first. When nobody waits, whoever asks next sets out anew.
    fn next(&self, offer: &OfferId) -> Option<Vec<Asker>> {
        let mut waiting = self.waiting.lock();
        let line = waiting.get_mut(offer)?;
        line.retain(|asker| !asker.told.is_closed());
        let late = line.partition_point(|asker| asker.came.elapsed() >= self.route.settings.timeout);
        line.drain(..late).for_each(|asker| {
            asker.hear(Err(Aside::TimedOut));
        });
        if line.is_empty() {
            waiting.remove(offer);
            return None;
        }
        let mut units = 0;
        let full = |asker: &Asker| {
            units += asker.claim.units.len().max(1);
            units > MOST_UNITS
        };
        let fit = line.iter().position(full).unwrap_or(line.len()).max(1);
        Some(line.drain(..fit).collect())
    }
}

impl Route {
    /// How it came back, if everybody wanted what others have.
    async fn go(&self, offer: &OfferId, mut askers: Vec<Asker>, nameless: bool) -> Option<InVain> {
        // Those who want the same stand together, in the order in which they came.
        askers.sort_by(|one, other| one.claim.wants().cmp(&other.claim.wants()));
        let (answers, by_name) = match self.look(offer, &askers, nameless).await {
            Ok(seen) => seen,
            Err(aside) => {
                askers.into_iter().for_each(|asker| {
                    asker.hear(Err(aside));
                });
                return None;
            }
        };
        let in_vain = answers.iter().all(Answer::is_taken);
        let by_name = if nameless && by_name { BY_NAME } else { 0 };
        let back = InVain { askers: askers.len(), by_name };
        let mut unheard = Vec::new();
        for (asker, answer) in askers.into_iter().zip(answers) {
            let noted = matches!(answer, Answer::Pass);
            unheard.extend(asker.hear(Ok(answer)).filter(|_| noted));
        }
        if !unheard.is_empty() {
            // What cannot be given back runs out by itself, and refuses nobody until then.
            let _ = self.slate(offer).give_back(&unheard).await;
        }
        in_vain.then_some(back)
    }

    fn slate<'a>(&'a self, offer: &'a OfferId) -> Slate<'a> {
        Slate { server: &self.server, offer, with_bits: self.with_bits }
    }

    /// What everybody is told, and whether they had to be asked by name. Epoch and time are those of the moment when
    /// the trip sets out: after everybody in it has asked.
    async fn look(
        &self,
        offer: &OfferId,
        askers: &[Asker],
        nameless: bool,
    ) -> Result<(Vec<Answer>, bool), Aside> {
        let mark = self.epochs.mark()?;
        let now = self.clock.now().plus_ms(self.settings.clock_slack.as_millis() as i64);
        let at = Look { mark: &mark, now };
        let claims: Vec<_> = askers.iter().map(|asker| &asker.claim).collect();
        let wishes: Vec<_> = claims.chunk_by(|one, next| one.wants() == next.wants()).collect();
        let slate = self.slate(offer);
        let known = if nameless { glance(slate, at, &wishes).await? } else { None };
        let by_name = known.is_none();
        let answers = match known {
            Some(answers) => Some(answers),
            None => self.by_name(slate, at, &wishes).await?,
        };
        metrics::histogram!("holdfast_gate_trip_size").record(askers.len() as f64);
        match answers.filter(|answers| answers.len() == askers.len()) {
            Some(answers) => {
                self.rebuilds.used(offer);
                Ok((answers, by_name))
            }
            None => {
                self.rebuilds.want(offer, Why::Unready);
                Err(Aside::Unready)
            }
        }
    }

    async fn by_name(
        &self,
        slate: Slate<'_>,
        at: Look<'_>,
        wishes: &[&[&Claim]],
    ) -> Result<Option<Vec<Answer>>, Aside> {
        let said = slate.ask(&self.judge, at, self.settings.pass_live, wishes).await?;
        let askers = wishes.iter().map(|alike| alike.len()).sum();
        // Never more of them than there are askers, whatever Redis says.
        let run = |(alike, said): (usize, Vec<i64>)| Some(repeat_n(Answer::read(&said)?, alike.min(askers)));
        let runs = said.into_iter().map(run).collect::<Option<Vec<_>>>();
        Ok(runs.map(|runs| runs.into_iter().flatten().collect()))
    }
}

/// What everybody is told, if that can be said without asking them for their names.
async fn glance(slate: Slate<'_>, at: Look<'_>, wishes: &[&[&Claim]]) -> Result<Option<Vec<Answer>>, Aside> {
    let seen = slate.glance(at, wishes).await?;
    let answer = |(alike, (said, whose)): (&&[&Claim], Glance)| {
        let taken = Answer::read(&said).filter(Answer::is_taken)?;
        let own = |claim: &Claim| whose.iter().any(|owner| owner == claim.holder.as_str());
        let told = |claim: &&Claim| if own(claim) { Answer::Unjudged } else { taken.clone() };
        Some(alike.iter().map(told).collect::<Vec<_>>())
    };
    let answers: Option<Vec<_>> = wishes.iter().zip(seen).map(answer).collect();
    Ok(answers.map(|answers| answers.concat()))
}

/// What a judge answers, as `slate.lua` numbers it. There is also 3: the slate is not to be believed.
const PASS: i64 = 0;
const UNJUDGED: i64 = 1;
const WAIT: i64 = 2;
const LIMIT: i64 = 4;
const FULL: i64 = 5;

impl Answer {
    /// `None` when the slate is not to be believed.
    fn read(said: &[i64]) -> Option<Self> {
        match *said {
            [PASS] => Some(Self::Pass),
            [UNJUDGED] => Some(Self::Unjudged),
            [WAIT] => Some(Self::Wait),
            [LIMIT, limit, used] => {
                Some(Self::Hindered(Hindrance::Limit { limit: limit as u32, used: used as u64 }))
            }
            [FULL, ref full @ ..] => {
                let unit =
                    |at: &[i64]| FullUnit { unit: at[0] as u32, blocked: at[1] == 1, state: state(at[2]) };
                let units = full.chunks_exact(3).map(unit).collect();
                Some(Self::Hindered(Hindrance::Full(Arc::new(Full::new(units)))))
            }
            _ => None,
        }
    }

    fn is_taken(&self) -> bool {
        matches!(self, Self::Hindered(Hindrance::Full(_)))
    }

    pub(super) fn hindrance(self) -> Option<Hindrance> {
        match self {
            Self::Hindered(hindrance) => Some(hindrance),
            _ => None,
        }
    }
}

const fn state(number: i64) -> UnitState {
    match number {
        0 => UnitState::Available,
        1 => UnitState::Held,
        2 => UnitState::Booked,
        _ => UnitState::Blocked,
    }
}
