//! In quiet, a gate never refuses what the ledger would give, whatever came before, and words its no as the ledger does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use holdfast_conformance::{
    live::{Live, embedded_without_sweep},
    sequences::{Pair, a_move, without_hints},
    story_start,
};
use holdfast_domain::{BookingId, Command, HoldId, Kind, OfferId, decide::named_line};
use holdfast_engine::{
    gate::{
        Gate, Verdict,
        redis::{self, Parts, Settings, Strategy},
    },
    ledger::{
        BookingFilter, BookingView, Cells, Change, Health, HoldView, JournalFilter, JournalRecord, Ledger,
        LedgerError, OfferView, Page, PageRequest, Reply, Request, Snapshot, StoredKey,
        embedded::{EmbeddedLedger, Storage},
    },
};
use holdfast_rigs::Redis;
use proptest::{
    collection::vec,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use tokio::sync::broadcast;

use crate::shop::{Books, settings};

/// A ledger behind a gate; the gate's every no is put to the ledger as well.
#[derive(Debug)]
struct Gated {
    strategy: Strategy,
    ledger: Arc<EmbeddedLedger>,
    gate: Arc<dyn Gate>,
    books: Arc<Books>,
    redis: Arc<Redis>,
    refused: Arc<AtomicU64>,
}

impl Gated {
    /// Waits until the slates of these offers are whole, so that the gate judges.
    async fn awake(&self, request: &Request) {
        let Command::PlaceHold { asks, .. } = &request.command else { return };
        for ask in asks {
            let Ok(Some(view)) = self.ledger.offer(&ask.offer).await else { return };
            // What the gate cannot read, or does not look at, it will not judge.
            let covered = self.strategy != Strategy::Decr || view.offer.kind() == Kind::Stock;
            if !covered || named_line(&view.offer, ask).is_err() {
                return;
            }
        }
        for ask in asks {
            let slate = format!("hf:{{{}}}:slate", ask.offer);
            for _ in 0..200 {
                let whole = self.redis.ask(&["HEXISTS", &slate, "mark"]).expect("an answer");
                if whole.integer() == Some(1) {
                    break;
                }
                let alone = Command::PlaceHold {
                    hold: HoldId::from_bits(1),
                    holder: holdfast_domain::HolderId::new("waker").expect("a holder"),
                    asks: vec![ask.clone()],
                };
                if let Verdict::Pass(pass) =
                    self.gate.ask(&Request { command: alone, ..request.clone() }).await
                {
                    self.gate.settle(pass, &Err(LedgerError::Overloaded)).await;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

#[async_trait]
impl Ledger for Gated {
    async fn execute(&self, request: Request) -> Result<Reply, LedgerError> {
        self.awake(&request).await;
        let verdict = self.gate.ask(&request).await;
        let key = request.key.clone();
        let said = self.ledger.execute(request).await;
        if let (Some(key), Ok(Reply::Done(_))) = (key, &said) {
            self.books.answered.lock().insert(key.key);
        }
        match verdict {
            Verdict::Pass(pass) => self.gate.settle(pass, &said).await,
            Verdict::Refuse(refusal) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                let ledgers = without_hints(said.clone()?);
                let gates = without_hints(Reply::Refused(refusal));
                assert_eq!(gates, ledgers, "the gate's no, and what the ledger says");
            }
            other => panic!("in quiet nobody is turned away: {other:?}"),
        }
        said
    }
    async fn offer(&self, id: &OfferId) -> Result<Option<OfferView>, LedgerError> {
        self.ledger.offer(id).await
    }
    async fn offers(&self, after: Option<OfferId>, limit: usize) -> Result<Page<OfferView>, LedgerError> {
        self.ledger.offers(after, limit).await
    }
    async fn snapshot(&self, id: &OfferId, cells: Option<Cells>) -> Result<Option<Snapshot>, LedgerError> {
        self.ledger.snapshot(id, cells).await
    }
    async fn hold(&self, id: HoldId) -> Result<Option<HoldView>, LedgerError> {
        self.ledger.hold(id).await
    }
    async fn holds_ending(&self, offer: &OfferId, limit: usize) -> Result<Vec<HoldView>, LedgerError> {
        self.ledger.holds_ending(offer, limit).await
    }
    async fn booking(&self, id: BookingId) -> Result<Option<BookingView>, LedgerError> {
        self.ledger.booking(id).await
    }
    async fn bookings(&self, by: BookingFilter, page: PageRequest) -> Result<Page<BookingView>, LedgerError> {
        self.ledger.bookings(by, page).await
    }
    async fn payments_due(&self, limit: usize, lease: Duration) -> Result<Vec<BookingView>, LedgerError> {
        self.ledger.payments_due(limit, lease).await
    }

    async fn payments_parked(&self) -> Result<usize, LedgerError> {
        self.ledger.payments_parked().await
    }

    async fn journal(
        &self,
        by: JournalFilter,
        page: PageRequest,
    ) -> Result<Page<JournalRecord>, LedgerError> {
        self.ledger.journal(by, page).await
    }
    fn changes(&self) -> broadcast::Receiver<Arc<[Change]>> {
        self.ledger.changes()
    }
    async fn health(&self) -> Health {
        self.ledger.health().await
    }
    async fn find_key(&self, prefix: &str) -> Result<Option<StoredKey>, LedgerError> {
        self.ledger.find_key(prefix).await
    }
    async fn add_key(&self, key: StoredKey) -> Result<(), LedgerError> {
        self.ledger.add_key(key).await
    }
}

fn gated(strategy: Strategy, redis: &Arc<Redis>, refused: &Arc<AtomicU64>) -> Live {
    let (redis, refused) = (redis.clone(), refused.clone());
    Live::open(
        story_start(),
        Box::new(move |runtime, clock| {
            redis.ask(&["FLUSHALL"]).expect("it forgets");
            let ledger = Arc::new(embedded_without_sweep(&Storage::Memory, clock)?);
            let books = Arc::new(Books::of(ledger.clone()));
            let parts = Parts { ledger: ledger.clone(), books: books.clone(), clock: clock.clone() };
            let _inside = runtime.enter();
            let settings = Settings { offer_believed: Duration::ZERO, ..settings() };
            let gate = redis::open(strategy, &redis.url(), settings, parts).expect("the gate opens");
            Ok(Box::new(Gated {
                strategy,
                ledger,
                gate,
                books,
                redis: redis.clone(),
                refused: refused.clone(),
            }))
        }),
    )
}

#[test]
fn a_gate_never_refuses_what_the_ledger_would_give() {
    for strategy in [Strategy::Decr, Strategy::Bitmap, Strategy::Lua] {
        let redis = Arc::new(Redis::start().expect("a Redis"));
        let refused = Arc::new(AtomicU64::new(0));
        let seed: u64 =
            std::env::var("HOLDFAST_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
        println!("{strategy}: seed {seed}");
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let config =
            Config { cases: 100, failure_persistence: None, max_shrink_iters: 64, ..Config::default() };
        let told = TestRunner::new_with_rng(config, rng).run(&vec(a_move(false), 10..60), |moves| {
            let mut pair = Pair::on(gated(strategy, &redis, &refused));
            pair.play(&moves).map_err(|difference| TestCaseError::fail(difference.to_string()))
        });
        told.unwrap_or_else(|failure| panic!("{strategy}, seed {seed}: {failure}"));
        let refused = refused.load(Ordering::Relaxed);
        println!("{strategy}: {refused} refusals at the gate");
        assert!(refused > 10, "{strategy} refused {refused} times, which proves nothing");
    }
}
