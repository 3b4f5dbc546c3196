//! The race on the spot: naive against the writer, over in a blink, for a page with a button.
//!
//! `naive` runs on a toy store of this file's own, in memory, that takes about a millisecond to answer as a database
//! across the room would; it reads, thinks, and writes, and nothing keeps others out in between. `writer` is the
//! embedded ledger as the server runs it, in memory. Both have the same buyers with the same pauses. What real
//! PostgreSQL and Redis servers do is not shown here: that is what `holdfast lab` is for.

use std::{sync::Arc, time::Duration};

use holdfast_domain::{
    Actor, Ask, Command, Currency, HolderId, InventoryDef, Money, Offer, OfferDef, OfferId, Pick,
    seat_plan::{RowDef, SectionDef},
};
use holdfast_engine::{
    clock::SystemClock,
    ledger::{
        Answer, LedgerError, Outcome as Done, Reply,
        embedded::{EmbeddedLedger, Settings, Storage, StoreError},
    },
    mint,
    pipeline::{Limits, Pipeline, SubmitError},
};
use parking_lot::Mutex;
use tokio::{
    sync::Barrier,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    Dice,
    race::{Course, Entrant, judged},
    report::model::{Lane, Outcome, Phase, Race, Span},
};

const SCENARIO: &str = "one_seat";
const UNIT: &str = "A-1";
/// One question to the toy store.
const ROUND_TRIP: Duration = Duration::from_millis(1);

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("the ledger for the race does not open")]
    Open(#[from] StoreError),
    #[error("the ledger for the race does not answer")]
    Submit(#[from] SubmitError),
    #[error("a buyer did not come back")]
    Lost,
}

impl From<LedgerError> for Fault {
    fn from(fault: LedgerError) -> Self {
        Self::Submit(fault.into())
    }
}

/// The same race twice, first without and then with a ledger.
pub async fn race(buyers: u32, seed: u64) -> Result<Vec<Race>, Fault> {
    let naive = run(Shop::Naive(Arc::default()), buyers, seed).await?;
    let ledger = open()?;
    let pipeline = Arc::new(Pipeline::new(Arc::clone(&ledger) as _, Limits::default()));
    pipeline.submit(Command::CreateOffer { offer: offer() }, Actor::System, None).await?;
    let writer = run(Shop::Writer(pipeline), buyers, seed).await;
    ledger.shutdown().await;
    Ok(vec![naive, writer?])
}

async fn run(shop: Shop, buyers: u32, seed: u64) -> Result<Race, Fault> {
    let line = Arc::new(Barrier::new(buyers as usize + 1));
    let mut running = JoinSet::new();
    for number in 1..=buyers {
        let buyer = Buyer { number, seed, shop: shop.clone() };
        let line = Arc::clone(&line);
        running.spawn(async move {
            line.wait().await;
            buyer.run().await
        });
    }
    // Whoever is let go first may be ahead of this; a lane then begins at nought.
    let go = Instant::now();
    line.wait().await;
    let mut entrants = Vec::with_capacity(buyers as usize);
    while let Some(came) = running.join_next().await {
        entrants.push(came.map_err(|_| Fault::Lost)??.lane(go));
    }
    let course = Course {
        strategy: shop.name().to_owned(),
        scenario: SCENARIO.to_owned(),
        seed,
        unit: UNIT.to_owned(),
        capacity: 1,
        sells: true,
    };
    Ok(judged(course, entrants))
}

/// Where the buyers go.
#[derive(Debug, Clone)]
enum Shop {
    Naive(Arc<Toy>),
    Writer(Arc<Pipeline>),
}

impl Shop {
    const fn name(&self) -> &'static str {
        match self {
            Self::Naive(_) => "naive",
            Self::Writer(_) => "writer",
        }
    }
}

/// Bookings of one seat, and nobody who checks them.
#[derive(Debug, Default)]
struct Toy {
    sold_to: Mutex<Vec<u32>>,
}

impl Toy {
    async fn is_free(&self) -> bool {
        sleep(ROUND_TRIP).await;
        self.sold_to.lock().is_empty()
    }

    async fn sell_to(&self, buyer: u32) {
        sleep(ROUND_TRIP).await;
        self.sold_to.lock().push(buyer);
    }
}

struct Buyer {
    number: u32,
    seed: u64,
    shop: Shop,
}

/// What a buyer did, by the clock.
struct Diary {
    buyer: String,
    phases: Vec<(Phase, Instant, Instant)>,
    outcome: Outcome,
    words: &'static str,
}

impl Diary {
    async fn note<T>(&mut self, phase: Phase, doing: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let came = doing.await;
        self.phases.push((phase, began, Instant::now()));
        came
    }

    fn ends(mut self, outcome: Outcome, words: &'static str) -> Self {
        (self.outcome, self.words) = (outcome, words);
        self
    }

    fn lane(self, go: Instant) -> Entrant {
        let us =
            |at: Instant| u64::try_from(at.saturating_duration_since(go).as_micros()).unwrap_or(u64::MAX);
        let span =
            |(phase, from, to): (Phase, Instant, Instant)| Span { phase, start_us: us(from), end_us: us(to) };
        let phases: Vec<Span> = self.phases.into_iter().map(span).collect();
        let lane = Lane {
            buyer: self.buyer,
            outcome: self.outcome,
            start_us: phases.first().map_or(0, |span| span.start_us),
            end_us: phases.last().map_or(0, |span| span.end_us),
            phases,
            words: self.words.to_owned(),
        };
        Entrant { lane, for_the_unit: true }
    }
}

impl Buyer {
    async fn run(self) -> Result<Diary, Fault> {
        let diary = Diary {
            buyer: format!("buyer-{}", self.number),
            phases: Vec::new(),
            outcome: Outcome::Unknown,
            words: "",
        };
        sleep(self.pause(1, 0, 4)).await;
        match &self.shop {
            Shop::Naive(toy) => Ok(self.read_then_write(toy, diary).await),
            Shop::Writer(pipeline) => self.hold_then_book(pipeline, diary).await,
        }
    }

    async fn read_then_write(&self, toy: &Toy, mut diary: Diary) -> Diary {
        if !diary.note(Phase::Read, toy.is_free()).await {
            return diary.ends(Outcome::Refused, "read: it is taken");
        }
        diary.note(Phase::Think, sleep(self.thinking())).await;
        diary.note(Phase::Write, toy.sell_to(self.number)).await;
        diary.ends(Outcome::Won, "read: it is free; wrote: booked")
    }

    async fn hold_then_book(&self, pipeline: &Pipeline, mut diary: Diary) -> Result<Diary, Fault> {
        let hold = mint::hold_id();
        let pick = Pick::Unit { key: UNIT.to_owned(), qty: 1 };
        let asks = vec![Ask { offer: offer().id().clone(), pick }];
        let holder = HolderId::new(&diary.buyer).expect("a plain name");
        let place = Command::PlaceHold { hold, holder, asks };
        match diary.note(Phase::Ask, pipeline.submit(place, Actor::System, None)).await? {
            Reply::Done(Done::Held { .. }) => {}
            Reply::Refused(_) => return Ok(diary.ends(Outcome::Refused, "asked for a hold: it is taken")),
            _ => return Err(Fault::Lost),
        }
        diary.note(Phase::Think, sleep(self.thinking())).await;
        let confirm = Command::Confirm { booking: mint::booking_id(), hold };
        match diary.note(Phase::Commit, pipeline.submit(confirm, Actor::System, None)).await? {
            Reply::Done(Done::Confirmed(_)) => Ok(diary.ends(Outcome::Won, "held it, thought, booked it")),
            _ => Err(Fault::Lost),
        }
    }

    fn thinking(&self) -> Duration {
        self.pause(2, 3, 15)
    }

    /// The same pause for the same buyer of the same seed, in whole milliseconds.
    fn pause(&self, which: u64, least: u64, most: u64) -> Duration {
        let mut dice = Dice::from_seed(self.seed ^ (u64::from(self.number) << 32) ^ which);
        Duration::from_millis(least + dice.below(most - least + 1))
    }
}

fn open() -> Result<Arc<EmbeddedLedger>, StoreError> {
    // Nobody reads the words of an answer here, and no key keeps them.
    let wordless = |_: &Done| Answer { status: 200, body: bytes::Bytes::new() };
    let clock = Arc::new(SystemClock::new());
    EmbeddedLedger::open(Settings::new(Storage::Memory, clock, Arc::new(wordless))).map(Arc::new)
}

fn offer() -> Arc<Offer> {
    let section = SectionDef::new("Stalls", "A", Money::ZERO, [RowDef::new("A", 1)]);
    let def = OfferDef {
        id: OfferId::new("spot").expect("a plain name"),
        name: "One seat".into(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s: 60,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory: InventoryDef::Seats(vec![section]),
    };
    Arc::new(Offer::new(def).expect("one seat can be sold"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn naive_sells_the_seat_again_and_the_writer_once() {
        let races = race(20, 7).await.unwrap();
        let [naive, writer] = races.as_slice() else { panic!("{races:?}") };
        assert!(naive.owners.len() > 1, "{:?}", naive.owners);
        assert_eq!(naive.violations[0].kind, "double_sale");
        assert_eq!((writer.owners.len(), writer.violations.len()), (1, 0));
        assert_eq!((writer.lanes.len(), writer.strategy.as_str()), (20, "writer"));
    }
}
