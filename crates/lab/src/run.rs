//! A whole run of the lab: every strategy in every scenario, then the mistakes, each judged and put into the report.
//!
//! Strategies take their turns one after the other, so that none is measured while another works. Each has a house of its
//! own (a fresh database or folder) for all its scenarios.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use holdfast_checker::{History, judge};
use holdfast_engine::strategy::Strategy;

use crate::{
    Scenario,
    crowd::{self, Recorded},
    faults::{self, Fault},
    figures::Figures,
    house::{House, Site, Stall},
    lanes::{self, Title},
    meters,
    mistakes::{self, Counter, Naive, Place, Way},
    report::model::{self, ContentionPoint, Kind, Report, Skipped, Verdict},
    row::{Cost, Plan, pictured, run_of},
    schedule::{Schedule, Size},
    scratch::Folder,
    servers::Servers,
    shop::{Shop, ShopError},
    trips,
};

/// What to run, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// A PostgreSQL to use; without it a private one, where there is one to start.
    pub ledger: Option<String>,
    pub gate: Option<String>,
    /// As [`Options::names`] has them; empty for all.
    pub strategies: Vec<String>,
    pub buyers: Vec<u32>,
    pub seed: u64,
    pub quick: bool,
    /// Requests a second of the open loop.
    pub rate_per_s: f64,
    /// Where every history is kept as JSON.
    pub histories: Option<PathBuf>,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.strategies.is_empty() || self.strategies.iter().any(|wanted| wanted == name)
    }

    /// About two hundred purchases where nobody is in the way, or one for each who comes.
    fn size(&self, buyers: u32) -> Size {
        let (purchases, open_for) = if self.quick { (1, 300) } else { (200, 1500) };
        let visits = (purchases / buyers).clamp(1, 20);
        Size { visits, rate_per_s: self.rate_per_s, open_for: Duration::from_millis(open_for) }
    }

    /// At which size what runs once is run.
    fn middle(&self) -> u32 {
        let mut buyers = self.buyers.clone();
        buyers.sort_unstable();
        buyers.get(buyers.len().saturating_sub(1) / 2).copied().unwrap_or(20).min(50)
    }

    /// Everything that `strategies` may name.
    pub fn names() -> Vec<&'static str> {
        let strategies = Strategy::ALL.iter().map(|strategy| strategy.as_str());
        let mistakes: Vec<_> = mistakes::every().iter().map(|way| way.name()).collect();
        ["naive"].into_iter().chain(strategies).chain(mistakes).collect()
    }
}

/// Told what goes on, for whoever waits.
pub trait Progress: Send + Sync {
    /// How many steps there will be.
    fn begins(&self, steps: u64);
    fn step(&self, what: &str);
}

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A server that was named cannot be used.
    #[error("{0}")]
    Server(String),
    #[error("{path} cannot be written")]
    File { path: PathBuf, source: std::io::Error },
}

/// Runs everything that was asked for and can be run here.
pub async fn run(options: &Options, progress: &dyn Progress) -> Result<Report, LabError> {
    let mut servers = Servers::find(options).await.map_err(|fault| LabError::Server(fault.to_string()))?;
    let report = Report {
        seed: options.seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        quick: options.quick,
        servers: model::Servers {
            postgres: servers.postgres.as_ref().ok().map(|server| server.version.clone()),
            redis: servers.redis.as_ref().ok().map(|servers| servers.version.clone()),
        },
        ..Report::default()
    };
    let own_folders = servers.own_folders();
    let mut lab = Lab { options, progress, report, own_folders };
    progress.begins(lab.steps());
    let done = lab.everything(&mut servers).await;
    servers.leave().await;
    done.map(|()| lab.report)
}

struct Lab<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
    report: Report,
    /// Where the processes of our servers stand, if all of them are ours.
    own_folders: Option<Vec<PathBuf>>,
}

impl Lab<'_> {
    fn steps(&self) -> u64 {
        let strategies =
            Strategy::ALL.iter().filter(|strategy| self.options.wants(strategy.as_str())).count();
        let naive = usize::from(self.options.wants("naive"));
        let mistakes = mistakes::every().iter().filter(|way| self.options.wants(way.name())).count();
        let every = (strategies + naive) * Scenario::EVERY.len() * self.options.buyers.len();
        let costs = if self.options.quick { 0 } else { strategies };
        (every + strategies * self.once().len() + costs + mistakes + self.faults_wanted().len()) as u64
    }

    /// The scenarios of one size. In a hurry, those that wait for holds to expire are left out.
    fn once(&self) -> &'static [Scenario] {
        if self.options.quick { &Scenario::ONCE[..2] } else { Scenario::ONCE }
    }

    async fn everything(&mut self, servers: &mut Servers) -> Result<(), LabError> {
        self.naive(servers).await?;
        for strategy in Strategy::ALL.iter().copied() {
            if self.options.wants(strategy.as_str()) {
                self.strategy(strategy, servers).await?;
            }
        }
        self.mistakes(servers).await?;
        self.faults(servers).await
    }

    async fn strategy(&mut self, strategy: Strategy, servers: &mut Servers) -> Result<(), LabError> {
        let every = Scenario::EVERY
            .iter()
            .flat_map(|scenario| self.options.buyers.iter().map(move |buyers| (*scenario, *buyers)));
        let once = self.once().iter().map(|scenario| (*scenario, self.options.middle()));
        let runs: Vec<(Scenario, u32)> = every.chain(once).collect();
        let opened = match servers.lack(strategy) {
            Some(why) => Err(ShopError(why)),
            None => open_house(strategy, servers).await,
        };
        let (house, _folder) = match opened {
            Ok(opened) => opened,
            Err(why) => {
                runs.iter().for_each(|(scenario, _)| self.skip(strategy.as_str(), scenario.as_str(), &why));
                return Ok(());
            }
        };
        for (scenario, buyers) in runs {
            let plan = self.plan(strategy.as_str(), Kind::Strategy, scenario, buyers);
            let stall = Stall::open(&house, plan.schedule.goods, plan.schedule.hold_ttl_s).await;
            self.one(plan, stall.map(|stall| Arc::new(stall) as _)).await?;
        }
        drop(house);
        if !self.options.quick {
            self.costs(strategy, servers).await;
        }
        Ok(())
    }

    /// Round trips and flushes, counted in runs of their own and put into the rows they belong to.
    async fn costs(&mut self, strategy: Strategy, servers: &mut Servers) {
        self.progress.step(&format!("{strategy}: what a booking costs"));
        let counted = trips::count(strategy, Scenario::EVERY, self.options.seed, servers).await;
        let Ok(costs) = counted else { return };
        let mine = self.report.runs.iter_mut().filter(|run| run.strategy == strategy.as_str());
        for run in mine {
            let Some(cost) = costs.iter().find(|cost| cost.scenario.as_str() == run.scenario) else {
                continue;
            };
            run.round_trips_per_booking = cost.round_trips_per_booking;
            run.fsyncs_per_booking = cost.fsyncs_per_booking;
        }
    }

    /// What breaks in the middle of a sale. Servers that belong to somebody else are not broken.
    async fn faults(&mut self, servers: &Servers) -> Result<(), LabError> {
        for (fault, strategy) in self.faults_wanted() {
            self.progress.step(&format!("{strategy} {}", fault.as_str()));
            let lacks = match self.own_folders {
                None => Some("only private servers are broken on purpose".to_owned()),
                Some(_) => servers.lack(strategy),
            };
            let suffered = match lacks {
                Some(why) => Err(ShopError(why)),
                None => faults::suffer(fault, strategy, self.options.seed, servers).await,
            };
            match suffered {
                Ok(suffered) => self.suffered(fault, strategy, suffered)?,
                Err(why) => self.skip(strategy.as_str(), fault.as_str(), &why),
            }
        }
        Ok(())
    }

    /// In a hurry, none: each takes seconds.
    fn faults_wanted(&self) -> Vec<(Fault, Strategy)> {
        let of = |fault: Fault| fault.strategies().iter().map(move |strategy| (fault, *strategy));
        let all = Fault::ALL.iter().copied().flat_map(of);
        let wanted = |(_, strategy): &(Fault, Strategy)| self.options.wants(strategy.as_str());
        all.filter(|pair| !self.options.quick && wanted(pair)).collect()
    }

    fn suffered(
        &mut self,
        fault: Fault,
        strategy: Strategy,
        suffered: faults::Suffered,
    ) -> Result<(), LabError> {
        let schedule = faults::schedule(self.options.seed);
        let plan = Plan {
            name: strategy.as_str().to_owned(),
            kind: Kind::Strategy,
            scenario: fault.as_str().to_owned(),
            buyers: schedule.buyers.len() as u32,
            evidence: fault.evidence(),
            schedule,
        };
        let verdict = self.row(&plan, &suffered.recorded, &Cost::default())?;
        let faults::Suffered { from_ms, to_ms, bins, .. } = suffered;
        let (strategy, fault) = (plan.name, plan.scenario);
        self.report.faults.push(model::Fault { strategy, fault, from_ms, to_ms, verdict, bins });
        Ok(())
    }

    fn plan(&self, name: &str, kind: Kind, scenario: Scenario, buyers: u32) -> Plan {
        Plan {
            name: name.to_owned(),
            kind,
            scenario: scenario.as_str().to_owned(),
            buyers,
            evidence: scenario.evidence(buyers),
            schedule: Schedule::of(scenario, buyers, self.options.seed, self.options.size(buyers)),
        }
    }

    /// Naive, in the same scenarios as everybody.
    async fn naive(&mut self, servers: &mut Servers) -> Result<(), LabError> {
        if !self.options.wants("naive") {
            return Ok(());
        }
        let database = servers.books().await;
        for scenario in Scenario::EVERY {
            for buyers in &self.options.buyers {
                let plan = self.plan("naive", Kind::Naive, *scenario, *buyers);
                let counter = self.counter(Arc::new(Naive), &plan, &database, servers).await;
                self.one(plan, counter).await?;
            }
        }
        Ok(())
    }

    async fn mistakes(&mut self, servers: &mut Servers) -> Result<(), LabError> {
        let database = servers.books().await;
        let wanted = mistakes::every().into_iter().filter(|way| self.options.wants(way.name()));
        for way in wanted.collect::<Vec<_>>() {
            let way: Arc<dyn Way> = way.into();
            let buyers = self.options.middle();
            let kind = if way.name().starts_with("naive") { Kind::Naive } else { Kind::Mistake };
            let plan = Plan {
                name: way.name().to_owned(),
                kind,
                scenario: format!("mistake_{}", way.scenario()),
                buyers,
                evidence: way.evidence(buyers),
                schedule: way.schedule(buyers, self.options.seed),
            };
            let counter = self.counter(way, &plan, &database, servers).await;
            self.one(plan, counter).await?;
        }
        Ok(())
    }

    async fn counter(
        &self,
        way: Arc<dyn Way>,
        plan: &Plan,
        database: &Result<Vec<String>, ShopError>,
        servers: &Servers,
    ) -> Result<Arc<dyn Shop>, ShopError> {
        let url = &database.as_ref().map_err(|why| ShopError(why.to_string()))?[0];
        let redis = match (way.needs_redis(), &servers.redis) {
            (false, _) => None,
            (true, Err(why)) => return Err(ShopError(why.clone())),
            (true, Ok(redis)) => match redis.first() {
                Some(address) => Some(address),
                None => return Err(ShopError("this mistake needs a plain Redis".to_owned())),
            },
        };
        let nonce = holdfast_engine::mint::random_bits() as u64;
        let place = Place { url, redis, name: format!("lab_{nonce:016x}") };
        Ok(Arc::new(Counter::open(way, &place, &plan.schedule).await?))
    }

    /// One run: everybody in, everything judged, one row in the report.
    async fn one(&mut self, plan: Plan, shop: Result<Arc<dyn Shop>, ShopError>) -> Result<(), LabError> {
        self.progress.step(&format!("{} {} {}", plan.name, plan.scenario, plan.buyers));
        let before = self.cpu_time();
        let served = match shop {
            Ok(shop) => crowd::serve(Arc::clone(&shop), &plan.schedule).await.map(|came| (shop, came)),
            Err(why) => Err(why),
        };
        match served {
            Ok((shop, recorded)) => {
                let spent = self.cpu_time().zip(before).map(|(after, before)| after.saturating_sub(before));
                let cpu_ms = spent.map(|spent| spent.as_secs_f64() * 1000.0);
                self.row(&plan, &recorded, &Cost { cpu_ms, saved_by: shop.saved_by() }).map(drop)
            }
            Err(why) => {
                self.skip(&plan.name, &plan.scenario, &why);
                Ok(())
            }
        }
    }

    /// Of this process and of our own servers; servers that were named may do other things beside.
    fn cpu_time(&self) -> Option<Duration> {
        self.own_folders.as_ref().map(|folders| meters::cpu_time_of(folders))
    }

    fn row(&mut self, plan: &Plan, recorded: &Recorded, cost: &Cost) -> Result<Verdict, LabError> {
        let history = &recorded.history;
        self.keep(plan, history)?;
        let verdict = judge(history, plan.evidence);
        let figures = Figures::of(history);
        if pictured(plan, self.options.buyers.iter().copied().min().unwrap_or(0)) {
            let title = Title {
                strategy: &plan.name,
                scenario: &plan.scenario,
                buyers: plan.buyers,
                seed: self.options.seed,
            };
            self.report.races.push(lanes::race(title, recorded, &verdict));
        }
        if plan.scenario == Scenario::HotStock.as_str() {
            self.report.contention.push(ContentionPoint {
                strategy: plan.name.clone(),
                buyers: plan.buyers,
                goodput_per_s: figures.goodput_per_s,
            });
        }
        let row = run_of(plan, cost, history, &verdict, &figures);
        let said = row.verdict;
        self.report.runs.push(row);
        Ok(said)
    }

    fn keep(&self, plan: &Plan, history: &History) -> Result<(), LabError> {
        let Some(folder) = &self.options.histories else { return Ok(()) };
        let path = folder.join(format!("{}-{}-{}.json", plan.name, plan.scenario, plan.buyers));
        write(&path, &history.to_json())
    }

    fn skip(&mut self, strategy: &str, scenario: &str, why: &ShopError) {
        let skipped =
            Skipped { strategy: strategy.to_owned(), scenario: scenario.to_owned(), why: why.to_string() };
        if !self.report.skipped.contains(&skipped) {
            self.report.skipped.push(skipped);
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text).map_err(|source| LabError::File { path: path.to_owned(), source })
}

async fn open_house(
    strategy: Strategy,
    servers: &mut Servers,
) -> Result<(Arc<House>, Option<Folder>), ShopError> {
    let mut site = Site { gate: servers.gate(strategy), ..Site::default() };
    let mut folder = None;
    match strategy.claiming() {
        Some(_) => site.postgres = servers.books().await?,
        None => {
            let made = folder.insert(Folder::make().map_err(ShopError::of)?);
            site.folder = Some(made.path().join("books"));
        }
    }
    Ok((Arc::new(House::open(strategy, &site).await?), folder))
}
