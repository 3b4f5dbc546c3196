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
use tokio::time::Instant;

use crate::{
    Scenario,
    budget::Budget,
    crowd::{self, Recorded},
    faults::{self, Fault},
    figures::{self, Figures},
    house::{House, Site, Stall},
    lanes::{self, Title},
    meters,
    mistakes::{Counter, Naive, Place, Way},
    options::Options,
    report::model::{self, ContentionPoint, Kind, Report, Run, Skipped, Verdict},
    row::{Cost, Plan, pictured, run_of},
    schedule::Schedule,
    scratch::Folder,
    servers::Servers,
    shop::{Shop, ShopError},
    trips,
};

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
    #[error("told to stop")]
    Stopped,
}

/// Runs everything that was asked for and can be run here, or until `stop` comes. Either way nothing is left behind.
pub async fn run(
    options: &Options,
    progress: &dyn Progress,
    stop: impl Future<Output = ()>,
) -> Result<Report, LabError> {
    let begun = Instant::now();
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
    let mut lab = Lab::new(options, progress, report, begun + options.within, &servers);
    progress.begins(lab.steps());
    let done = tokio::select! {
        done = lab.everything(&mut servers) => done,
        () = stop => Err(LabError::Stopped),
    };
    servers.leave().await;
    // Ending servers blocks, and takes its time.
    let _ = tokio::task::spawn_blocking(move || drop(servers)).await;
    lab.report.took_s = figures::rounded(begun.elapsed().as_secs_f64());
    done.map(|()| lab.report)
}

/// How long a mistake's row takes, and the counting of what a strategy costs.
const MISTAKE_TAKES: Duration = Duration::from_secs(2);
const COSTS_TAKE: Duration = Duration::from_secs(5);

struct Lab<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
    report: Report,
    /// Where the processes of our servers stand, if all of them are ours.
    own_folders: Option<Vec<PathBuf>>,
    budget: Budget,
}

/// How many of what there will be.
struct Counts {
    rows: usize,
    mistakes: usize,
    costs: usize,
    faults: usize,
}

impl<'a> Lab<'a> {
    fn new(
        options: &'a Options,
        progress: &'a dyn Progress,
        report: Report,
        ends: Instant,
        servers: &Servers,
    ) -> Self {
        let own_folders = servers.own_folders();
        let budget = Budget::until(ends, 0, Duration::ZERO);
        let mut lab = Self { options, progress, report, own_folders, budget };
        let Counts { rows, mistakes, costs, faults } = lab.counts();
        let fixed =
            MISTAKE_TAKES * mistakes as u32 + COSTS_TAKE * costs as u32 + faults::TAKES * faults as u32;
        lab.budget = Budget::until(ends, rows as u32, fixed);
        lab
    }

    fn counts(&self) -> Counts {
        let strategies =
            Strategy::ALL.iter().filter(|strategy| self.options.wants(strategy.as_str())).count();
        let naive = usize::from(self.options.wants("naive"));
        Counts {
            rows: naive * self.options.every().len()
                + strategies * (self.options.every().len() + self.options.once().len()),
            mistakes: self.options.mistakes().len(),
            costs: if self.options.counts_costs() { strategies } else { 0 },
            faults: self.options.faults().len(),
        }
    }

    fn steps(&self) -> u64 {
        let Counts { rows, mistakes, costs, faults } = self.counts();
        (rows + mistakes + costs + faults) as u64
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
        let runs = [self.options.every(), self.options.once()].concat();
        if runs.is_empty() {
            return Ok(());
        }
        let opened = match servers.lack(strategy) {
            Some(why) => Err(ShopError(why)),
            None => open_house(strategy, servers).await,
        };
        let (house, _folder) = match opened {
            Ok(opened) => opened,
            Err(why) => {
                self.skip_all(strategy, &runs, &why);
                return Ok(());
            }
        };
        for (scenario, buyers) in runs {
            let plan = self.plan(strategy.as_str(), Kind::Strategy, scenario, buyers);
            let stall = Stall::open(&house, plan.schedule.goods, plan.schedule.hold_ttl_s).await;
            let within = self.budget.row();
            self.one(plan, stall.map(|stall| Arc::new(stall) as _), within).await?;
        }
        drop(house);
        if self.options.counts_costs() {
            self.costs(strategy, servers).await;
        }
        Ok(())
    }

    fn skip_all(&mut self, strategy: Strategy, runs: &[(Scenario, u32)], why: &ShopError) {
        for (scenario, buyers) in runs {
            // What is not used is there for the others.
            self.budget.row();
            self.progress.step(&format!("{strategy} {scenario} {buyers}: not run"));
            self.skip(strategy.as_str(), scenario.as_str(), why);
        }
        if self.options.counts_costs() {
            self.budget.begin_fixed(COSTS_TAKE);
            self.progress.step(&format!("{strategy}: not run"));
        }
    }

    /// Round trips and flushes, counted in runs of their own and put into the rows they belong to.
    async fn costs(&mut self, strategy: Strategy, servers: &mut Servers) {
        self.budget.begin_fixed(COSTS_TAKE);
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
    async fn faults(&mut self, servers: &mut Servers) -> Result<(), LabError> {
        let (seed, program) = (self.options.seed, self.options.program.as_deref());
        for (fault, strategy) in self.options.faults() {
            self.budget.begin_fixed(faults::TAKES);
            self.progress.step(&format!("{strategy} {}", fault.as_str()));
            let lacks = match &self.own_folders {
                None if fault.breaks_servers() => {
                    Some("only private servers are broken on purpose".to_owned())
                }
                _ => servers.lack(strategy),
            };
            let suffered = match lacks {
                Some(why) => Err(ShopError(why)),
                None => faults::suffer(fault, strategy, seed, servers, program).await,
            };
            match suffered {
                Ok(suffered) => self.suffered(fault, strategy, suffered)?,
                Err(why) => self.skip(strategy.as_str(), fault.as_str(), &why),
            }
        }
        Ok(())
    }

    fn suffered(
        &mut self,
        fault: Fault,
        strategy: Strategy,
        suffered: faults::Suffered,
    ) -> Result<(), LabError> {
        let schedule = fault.schedule(self.options.seed);
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
        let runs = self.options.every();
        if !self.options.wants("naive") || runs.is_empty() {
            return Ok(());
        }
        let database = servers.books().await;
        for (scenario, buyers) in runs {
            let plan = self.plan("naive", Kind::Naive, scenario, buyers);
            let counter = self.counter(Arc::new(Naive), &plan, &database, servers).await;
            let within = self.budget.row();
            self.one(plan, counter, within).await?;
        }
        Ok(())
    }

    async fn mistakes(&mut self, servers: &mut Servers) -> Result<(), LabError> {
        let wanted = self.options.mistakes();
        if wanted.is_empty() {
            return Ok(());
        }
        let database = servers.books().await;
        for way in wanted {
            let way: Arc<dyn Way> = way.into();
            let buyers = self.options.middle();
            let kind = if way.name().starts_with("naive") { Kind::Naive } else { Kind::Mistake };
            let plan = Plan {
                name: way.name().to_owned(),
                kind,
                scenario: way.row(),
                buyers,
                evidence: way.evidence(buyers),
                schedule: way.schedule(buyers, self.options.seed),
            };
            let counter = self.counter(way, &plan, &database, servers).await;
            self.budget.begin_fixed(MISTAKE_TAKES);
            self.one(plan, counter, crowd::NO_HURRY).await?;
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
        let authority = servers.redis.as_ref().ok().and_then(|redis| redis.authority());
        let place = Place { url, redis, authority, name: format!("lab_{:016x}", servers.mark.nonce()) };
        Ok(Arc::new(Counter::open(way, &place, &plan.schedule).await?))
    }

    /// One run: everybody in, everything judged, one row in the report.
    async fn one(
        &mut self,
        plan: Plan,
        shop: Result<Arc<dyn Shop>, ShopError>,
        within: Duration,
    ) -> Result<(), LabError> {
        let bound = match within {
            crowd::NO_HURRY => String::new(),
            within => format!(" (at most {:.1} s)", within.as_secs_f64()),
        };
        self.progress.step(&format!("{} {} {}{bound}", plan.name, plan.scenario, plan.buyers));
        let before = self.cpu_time();
        let served = match shop {
            Ok(shop) => {
                crowd::serve(Arc::clone(&shop), &plan.schedule, within).await.map(|came| (shop, came))
            }
            Err(why) => Err(why),
        };
        match served {
            Ok((shop, recorded)) => {
                let spent = self.cpu_time().zip(before).map(|(after, before)| after.saturating_sub(before));
                // The kernel counts in ticks: what took less than one was not measured.
                let cpu_ms = spent.filter(|spent| !spent.is_zero()).map(|spent| spent.as_secs_f64() * 1000.0);
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
        let row = Run { cut: recorded.cut, ..run_of(plan, cost, history, &verdict, &figures) };
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
    let mut site = Site {
        gate: servers.gate(strategy),
        gate_settings: servers.gate_settings(),
        mark: servers.mark,
        ..Site::default()
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Mark;

    struct Steps(parking_lot::Mutex<(u64, u64)>);

    impl Progress for Steps {
        fn begins(&self, steps: u64) {
            self.0.lock().0 = steps;
        }

        fn step(&self, _what: &str) {
            self.0.lock().1 += 1;
        }
    }

    /// What needs no server runs; every other row says what is missing, and the progress comes to its end.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn without_any_server_the_embedded_ledger_runs_and_the_rest_says_why() {
        let options = Options {
            ledger: None,
            gate: None,
            gate_ca: None,
            strategies: Vec::new(),
            scenarios: Vec::new(),
            buyers: vec![5],
            seed: 7,
            quick: true,
            rate_per_s: 100.0,
            histories: None,
            program: None,
            within: Duration::from_secs(60),
        };
        let mut servers = Servers {
            postgres: Err("postgres is not installed".to_owned()),
            redis: Err("redis-server is not installed".to_owned()),
            apart: Ok(Vec::new()),
            mark: Mark::new(),
        };
        let progress = Steps(parking_lot::Mutex::default());
        let ends = Instant::now() + options.within;
        let mut lab = Lab::new(&options, &progress, Report::default(), ends, &servers);
        progress.begins(lab.steps());
        lab.everything(&mut servers).await.unwrap();
        let Report { runs, skipped, .. } = &lab.report;
        assert!(runs.iter().all(|run| run.strategy == "writer" && run.verdict == Verdict::Valid), "{runs:?}");
        assert_eq!(runs.len(), Scenario::EVERY.len() + 2);
        for name in Options::names().into_iter().filter(|name| *name != "writer") {
            let why = skipped.iter().filter(|row| row.strategy == name).map(|row| row.why.as_str());
            let why: Vec<_> = why.collect();
            assert!(
                !why.is_empty() && why.iter().all(|why| *why == "postgres is not installed"),
                "{name}: {why:?}"
            );
        }
        let (expected, made) = *progress.0.lock();
        assert_eq!(expected, made);
    }
}
