//! Real threads against a real ledger, on a clock that runs fast so that holds of a second expire many times over.

use std::{
    sync::{Arc, Mutex, OnceLock},
    thread,
    time::{Duration, Instant},
};

use holdfast_checker::{
    History,
    history::{Ending, Kept, KeptHold, KeptState, Micros, UnitRef},
};
use holdfast_domain::{Moment, Offer, Version};
use holdfast_engine::{
    clock::Clock,
    ledger::{
        BookingFilter, BookingView, HoldView, Ledger, LedgerError, PageRequest, Reply, Request, SnapshotUnits,
    },
};
use tokio::runtime::Runtime;

use super::{Customer, Recorder, Stage, customer::Next, recorder::During};
use crate::{live::patiently, story_start, subject::Asked};

/// Real time, sped up. The ledger reads it in milliseconds, the recorder in microseconds: the same clock.
#[derive(Debug)]
pub struct FastClock {
    began: Instant,
    from: Moment,
    speed: u32,
    /// Others show the same time, and go on when this one is stopped: so it does not stop.
    of_the_wall: bool,
    /// Where it stands, once it has been stopped.
    stopped: OnceLock<Micros>,
}

impl FastClock {
    #[expect(clippy::disallowed_methods, reason = "a clock has to read one")]
    pub fn new(speed: u32) -> Self {
        Self {
            began: Instant::now(),
            from: story_start(),
            speed,
            of_the_wall: false,
            stopped: OnceLock::new(),
        }
    }

    /// Shows the time that other clocks show too, PostgreSQL's for instance.
    #[expect(clippy::disallowed_methods, reason = "a clock has to read one")]
    pub fn of_the_wall() -> Self {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let from = Moment::from_ms(since_1970.expect("it is later than 1970").as_millis() as i64);
        Self { from, of_the_wall: true, ..Self::new(1) }
    }

    /// Goes on from where another stopped.
    pub fn after(earlier: &Self) -> Self {
        Self { from: earlier.now().plus_ms(1), ..Self::new(earlier.speed) }
    }

    pub fn now_us(&self) -> Micros {
        self.stopped.get().copied().unwrap_or_else(|| self.running_us())
    }

    /// Stands still from now on, so that the books can come to rest.
    pub fn stop(&self) {
        if self.of_the_wall {
            return;
        }
        self.stopped.get_or_init(|| self.running_us());
    }

    fn running_us(&self) -> Micros {
        let passed = self.began.elapsed().as_nanos() * u128::from(self.speed) / 1000;
        self.from.ms() * 1000 + passed as Micros
    }
}

impl Clock for FastClock {
    fn now(&self) -> Moment {
        Moment::from_ms(self.now_us().div_euclid(1000))
    }
}

/// How many times over the questions may be asked to fill the time.
const MOST: usize = 30;

/// A ledger with customers in front of it.
#[derive(Debug)]
pub struct Crowd {
    /// The nodes of one ledger. A customer asks one after the other, so that what is begun on one goes on on the next.
    pub nodes: Vec<Arc<dyn Ledger>>,
    pub clock: Arc<FastClock>,
    pub stage: Arc<Stage>,
    pub recorder: Arc<Recorder>,
    pub runtime: Arc<Runtime>,
}

impl Crowd {
    /// Opens the sale.
    pub fn open(&self) {
        for command in self.stage.commands() {
            let reply = self.execute(&*self.nodes[0], Asked::by_key(command));
            assert!(matches!(reply, Ok(Reply::Done(_))), "{reply:?}");
        }
    }

    /// Each customer asks `questions` things, one after the other; all at once.
    pub fn run(&self, customers: u32, questions: usize, seed: u64) {
        self.run_for(Duration::ZERO, customers, questions, seed);
    }

    /// The same, and goes on until so much of the clock's time has passed: a quick machine must not be done before
    /// the first hold expires. Bounded all the same.
    pub fn run_for(&self, least: Duration, customers: u32, questions: usize, seed: u64) {
        let until = self.clock.now_us() + least.as_micros() as Micros;
        let goes_on = |at: usize| at < questions || (at < questions * MOST && self.clock.now_us() < until);
        self.serve_all(customers, seed, &goes_on);
    }

    /// The same, for as long as `goes_on` says so.
    pub fn run_while(&self, customers: u32, seed: u64, goes_on: &(dyn Fn() -> bool + Sync)) {
        self.serve_all(customers, seed, &|_| goes_on());
    }

    fn serve_all(&self, customers: u32, seed: u64, goes_on: &(dyn Fn(usize) -> bool + Sync)) {
        let all: Vec<_> = (0..customers).map(|at| Customer::new(at, Arc::clone(&self.stage), seed)).collect();
        let panicked = Mutex::new(None);
        thread::scope(|scope| {
            for customer in all {
                scope.spawn(|| {
                    if let Err(error) = self.serve(customer, goes_on) {
                        *panicked.lock().expect("nobody panicked") = Some(error);
                    }
                });
            }
        });
        if let Some(error) = panicked.into_inner().expect("nobody panicked") {
            panic!("the ledger did not answer: {error}");
        }
    }

    fn serve(&self, mut customer: Customer, goes_on: &dyn Fn(usize) -> bool) -> Result<(), LedgerError> {
        for at in (0..).take_while(|at| goes_on(*at)) {
            let node = &*self.nodes[(at + customer.process as usize) % self.nodes.len()];
            let start = self.clock.now_us();
            match customer.next_question() {
                Next::Read(unit) => {
                    let seen = self.kept(node, unit)?;
                    let seen = (seen.held, seen.booked);
                    let during = During { start, end: self.clock.now_us() };
                    self.recorder.record_read(customer.process, unit, during, Some(seen));
                }
                Next::Ask(ask) => {
                    let reply = self.execute(node, (*ask).clone());
                    let during = During { start, end: self.clock.now_us() };
                    self.recorder.record(customer.process, &ask, during, &reply);
                    let replayed = self.recorder.replayed(&reply);
                    customer.hear(*ask, &reply, replayed.as_ref());
                }
            }
        }
        Ok(())
    }

    fn execute(&self, node: &dyn Ledger, Asked { command, actor, key }: Asked) -> Result<Reply, LedgerError> {
        let request = Request { command, actor, key, wording: None, deadline: patiently() };
        self.runtime.block_on(node.execute(request))
    }

    /// The node that is asked about the ending.
    pub fn ledger(&self) -> &dyn Ledger {
        &*self.nodes[0]
    }

    fn kept(&self, node: &dyn Ledger, unit: UnitRef) -> Result<Kept, LedgerError> {
        let (offer, unit) = &self.stage.places[unit as usize];
        let calendar = self.stage.offer(offer).dense_units() == 0;
        let cells = calendar.then_some(*unit..*unit + 1);
        let snapshot = self.runtime.block_on(node.snapshot(offer, cells))?;
        let at = match snapshot.map(|snapshot| snapshot.units) {
            Some(SnapshotUnits::Dense(units)) => units[*unit as usize],
            Some(SnapshotUnits::Cells(cells)) => cells.first().map(|(_, at)| *at).unwrap_or_default(),
            None => holdfast_domain::Unit::default(),
        };
        Ok(Kept { held: at.held, booked: at.booked })
    }

    /// What the ledger keeps once everybody has left and the sweep has written down every expiry. Holds, bookings and
    /// units are read one after the other, so a reading counts only if nothing was written meanwhile.
    pub fn ending(&self) -> Result<Ending, LedgerError> {
        self.clock.stop();
        loop {
            let before = self.versions()?;
            let ending = self.reading()?;
            let swept = |kept: &KeptHold| kept.state != KeptState::Active || kept.expires_at > ending.at;
            if ending.holds.iter().all(swept) && before == self.versions()? {
                return Ok(ending);
            }
        }
    }

    fn versions(&self) -> Result<Vec<Option<Version>>, LedgerError> {
        let version = |offer: &Arc<Offer>| {
            let view = self.runtime.block_on(self.ledger().offer(offer.id()))?;
            Ok(view.map(|view| view.version))
        };
        self.stage.offers.iter().map(version).collect()
    }

    fn reading(&self) -> Result<Ending, LedgerError> {
        let (holds, _) = self.recorder.known();
        let holds = holds.into_iter().map(|id| self.runtime.block_on(self.ledger().hold(id)));
        let holds = holds.filter_map(Result::transpose).collect::<Result<Vec<HoldView>, _>>()?;
        let bookings = self.bookings()?;
        let units = (0..self.stage.places.len() as UnitRef).map(|unit| self.kept(self.ledger(), unit));
        let units = units.collect::<Result<Vec<_>, _>>()?;
        Ok(self.recorder.ending(self.clock.now_us(), &holds, &bookings, units))
    }

    /// Every booking there is, whether anybody was told of it or not.
    fn bookings(&self) -> Result<Vec<BookingView>, LedgerError> {
        let (mut bookings, mut after) = (Vec::new(), None);
        loop {
            let page = PageRequest { after, limit: 1000 };
            let page = self.runtime.block_on(self.ledger().bookings(BookingFilter::default(), page))?;
            bookings.extend(page.data);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(bookings),
            }
        }
    }

    pub fn history(&self) -> Result<History, LedgerError> {
        Ok(self.recorder.history(Some(self.ending()?)))
    }
}
