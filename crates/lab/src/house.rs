//! A strategy as a shop: the engine's own pipeline, gate and ledger, opened as a server opens them.
//!
//! A [`House`] is the nodes of one strategy on one set of books; a [`Stall`] is one run in it, an offer of its own. Nothing
//! of the engine is imitated or switched here: what the lab sees is what the server would have answered.

use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _};
use holdfast_checker::{
    Outcome,
    history::{
        Answer, Claim, Ending, HoldRef, HolderRef, Kept, KeptBooking, KeptHold, KeptState, Micros, Reason,
    },
};
use holdfast_domain::{
    Actor, Ask, BookingId, BookingState, Command, Currency, HoldId, HolderId, InventoryDef, Line, Money,
    Offer, OfferDef, OfferId, Pick, StockLine, Unit,
    seat_plan::{RowDef, SectionDef},
};
use holdfast_engine::{
    clock::SystemClock,
    gate::redis,
    ledger::{
        Answer as Words, BookingFilter, IdempotencyKey, Ledger, LedgerError, Outcome as Came, PageRequest,
        Render, Reply, SnapshotUnits,
        embedded::{self, EmbeddedLedger, Storage},
        postgres::{self, PostgresLedger},
    },
    pipeline::{Limits, Pipeline, SubmitError},
    strategy::{GateNeed, Strategy},
};

use crate::{
    report::model::Phase,
    schedule::Goods,
    scratch::Mark,
    shop::{AskAbout, AskHold, Shop, ShopError, Steps, Told},
    told,
    watch::Watch,
};

/// Nodes of one strategy, before the same books.
#[derive(Debug)]
pub(crate) struct House {
    nodes: Vec<Pipeline>,
    mark: Mark,
}

/// Where a strategy's books and gate are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Site {
    /// A folder for the embedded ledger.
    pub folder: Option<std::path::PathBuf>,
    /// One address of the same PostgreSQL database for each node.
    pub postgres: Vec<String>,
    /// What `--gate` would say, where the strategy has a gate.
    pub gate: Option<String>,
    /// Bounds of the gate other than the usual.
    pub gate_settings: redis::Settings,
    pub mark: Mark,
}

impl House {
    pub(crate) async fn open(strategy: Strategy, site: &Site) -> Result<Self, ShopError> {
        let nodes = match strategy.claiming() {
            None => vec![embedded_node(site)?],
            Some(_) => {
                let opening = site.postgres.iter().map(|url| postgres_node(strategy, url, site));
                futures::future::try_join_all(opening).await?
            }
        };
        Ok(Self { nodes, mark: site.mark })
    }

    fn node(&self, buyer: u32) -> &Pipeline {
        &self.nodes[buyer as usize % self.nodes.len()]
    }

    /// The node that is asked about the ending: one that nothing was done to.
    fn last(&self) -> &dyn Ledger {
        &**self.nodes[self.nodes.len() - 1].ledger()
    }
}

fn embedded_node(site: &Site) -> Result<Pipeline, ShopError> {
    let folder = site.folder.clone().ok_or_else(|| ShopError("a folder for the books is missing".into()))?;
    let settings = embedded::Settings::new(Storage::Dir(folder), Arc::new(SystemClock::new()), render());
    let ledger = EmbeddedLedger::open(settings).map_err(ShopError::of)?;
    Ok(Pipeline::new(Arc::new(ledger), Limits::default()))
}

async fn postgres_node(strategy: Strategy, url: &str, site: &Site) -> Result<Pipeline, ShopError> {
    let mut settings = postgres::Settings::new(url, render());
    settings.claiming = strategy.claiming().unwrap_or(settings.claiming);
    let books = Arc::new(PostgresLedger::open(settings).await.map_err(ShopError::of)?);
    let pipeline = Pipeline::new(books.clone(), Limits::default());
    let (GateNeed::Must(name), Some(addresses)) = (strategy.gate(), &site.gate) else { return Ok(pipeline) };
    let gate = name.parse().map_err(|no: redis::OpenError| ShopError::of(no))?;
    let parts = redis::Parts { ledger: books.clone(), clock: books.clock().await, books };
    let gate = redis::open(gate, addresses, site.gate_settings.clone(), parts).map_err(ShopError::of)?;
    Ok(pipeline.with_gate(gate))
}

/// One run in a house: an offer of its own, under a name nobody had before.
#[derive(Debug)]
pub(crate) struct Stall {
    house: Arc<House>,
    offer: Arc<Offer>,
    /// Keeps this run's numbers apart from every other run's.
    nonce: u64,
}

impl Stall {
    pub(crate) async fn open(house: &Arc<House>, goods: Goods, hold_ttl_s: u32) -> Result<Self, ShopError> {
        let nonce = house.mark.nonce();
        let offer = Arc::new(Offer::new(offer(nonce, goods, hold_ttl_s)).map_err(ShopError::of)?);
        let stall = Self { house: Arc::clone(house), offer, nonce };
        let made = stall.submit(0, Command::CreateOffer { offer: Arc::clone(&stall.offer) }, None).await;
        match made {
            Ok(Reply::Done(_)) => Ok(stall),
            other => Err(ShopError(format!("the sale could not be opened: {other:?}"))),
        }
    }

    async fn submit(
        &self,
        buyer: u32,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> Result<Reply, LedgerError> {
        let said = self.house.node(buyer).submit(command, Actor::Key(Arc::from("lab")), key).await;
        said.map_err(|error| match error {
            SubmitError::Ledger(error) => error,
            // A 429: nothing happened, and somebody may try again.
            SubmitError::TooMany(_) => LedgerError::Overloaded,
        })
    }

    fn told(&self, ask: Option<&AskHold>, reply: &Result<Reply, LedgerError>) -> Told {
        let version = match reply {
            Ok(Reply::Done(came)) => told::version(came),
            _ => None,
        };
        let answer = match reply {
            Ok(Reply::Done(came)) => self.answer(came),
            Ok(Reply::Replayed(words)) => replayed(ask, words),
            _ => None,
        };
        let unit = |at: &holdfast_domain::InTheWay| self.offer.find(&at.unit);
        let outcome = match answer {
            Some(answer) => Outcome::Ok(answer),
            None => told::reason(reply, unit),
        };
        Told { outcome, version }
    }

    fn answer(&self, came: &Came) -> Option<Answer> {
        match came {
            Came::Held { hold, again } => Some(Answer::Held {
                hold: hold_ref(hold.hold.id.bits()),
                holder: holder_ref(&hold.hold.holder)?,
                claims: claims(&hold.hold.lines),
                expires_at: hold.hold.expires_at.ms() * 1000,
                again: *again,
            }),
            Came::Confirmed(view) => Some(Answer::Confirmed {
                booking: hold_ref(view.booking.id.bits()),
                holder: holder_ref(&view.booking.holder)?,
            }),
            Came::Released(_) => Some(Answer::Released),
            _ => None,
        }
    }

    fn bits(&self, hold: HoldRef) -> u128 {
        (u128::from(self.nonce) << 64) | (u128::from(hold) + 1)
    }

    fn key(&self, key: Option<u32>, holder: HolderRef) -> Option<IdempotencyKey> {
        let fingerprint = [holder as u8; 32];
        let key = format!("visit-{}", key?);
        Some(IdempotencyKey { scope: format!("lab-{:x}", self.nonce), key, fingerprint })
    }

    /// Many at once: a look at the books that others wait for too costs them nothing.
    async fn kept_holds(&self, asked: &[HoldRef]) -> Result<Vec<KeptHold>, LedgerError> {
        let look = |hold: HoldRef| self.kept_hold(hold);
        let looks = futures::stream::iter(asked.iter().copied().map(look)).buffered(LOOKS_AT_ONCE);
        let kept: Vec<Option<KeptHold>> = looks.try_collect().await?;
        Ok(kept.into_iter().flatten().collect())
    }

    async fn kept_hold(&self, hold: HoldRef) -> Result<Option<KeptHold>, LedgerError> {
        let view = self.house.last().hold(HoldId::from_bits(self.bits(hold))).await?;
        Ok(view.map(|view| KeptHold {
            hold,
            claims: claims(&view.hold.lines),
            expires_at: view.hold.expires_at.ms() * 1000,
            state: told::kept_state(&view.hold.state),
        }))
    }

    async fn kept_bookings(&self) -> Result<Vec<KeptBooking>, LedgerError> {
        let filter = BookingFilter { offer: Some(self.offer.id().clone()), ..BookingFilter::default() };
        let (mut kept, mut after) = (Vec::new(), None);
        loop {
            let request = PageRequest { after, limit: 1000 };
            let page = self.house.last().bookings(filter.clone(), request).await?;
            kept.extend(page.data.iter().map(|view| KeptBooking {
                booking: hold_ref(view.booking.id.bits()),
                hold: hold_ref(view.booking.hold.bits()),
                claims: claims(&view.booking.lines),
                cancelled: view.booking.state != BookingState::Confirmed,
            }));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(kept),
            }
        }
    }

    /// The store's own sums.
    async fn kept_units(&self) -> Result<Vec<Kept>, LedgerError> {
        let snapshot = self.house.last().snapshot(self.offer.id(), None).await?;
        let Some(SnapshotUnits::Dense(units)) = snapshot.map(|snapshot| snapshot.units) else {
            return Ok(Vec::new());
        };
        Ok(units.iter().map(|unit: &Unit| Kept { held: unit.held, booked: unit.booked }).collect())
    }

    async fn read_ending(&self, asked: &[HoldRef], watch: &Watch) -> Result<Ending, LedgerError> {
        let holds = self.kept_holds(asked).await?;
        let bookings = self.kept_bookings().await?;
        let units = self.kept_units().await?;
        Ok(Ending { at: watch.now_us(), holds, bookings, units })
    }
}

#[async_trait]
impl Shop for Stall {
    async fn hold(&self, ask: &AskHold, steps: &mut Steps) -> Told {
        let pick = |claim: &Claim| Ask {
            offer: self.offer.id().clone(),
            pick: Pick::Unit { key: self.offer.key(claim.unit), qty: claim.qty },
        };
        let command = Command::PlaceHold {
            hold: HoldId::from_bits(self.bits(ask.hold)),
            holder: holder(ask.holder),
            asks: ask.claims.iter().map(pick).collect(),
        };
        let reply =
            steps.during(Phase::Ask, self.submit(ask.buyer, command, self.key(ask.key, ask.holder))).await;
        self.told(Some(ask), &reply)
    }

    async fn confirm(&self, ask: &AskAbout, steps: &mut Steps) -> Told {
        let bits = self.bits(ask.hold);
        let command = Command::Confirm { booking: BookingId::from_bits(bits), hold: HoldId::from_bits(bits) };
        let key = self.key(ask.key, ask.holder);
        let reply = steps.during(Phase::Commit, self.submit(ask.buyer, command, key)).await;
        self.told(None, &reply)
    }

    async fn release(&self, ask: &AskAbout, steps: &mut Steps) -> Told {
        let command = Command::ReleaseHold { hold: HoldId::from_bits(self.bits(ask.hold)) };
        let reply = steps.during(Phase::Write, self.submit(ask.buyer, command, None)).await;
        match &reply {
            // To release what has expired is no mistake and changes nothing.
            Ok(Reply::Done(Came::Released(view))) if view.hold.status(view.at) == "expired" => {
                Outcome::Fail(Reason::Expired).into()
            }
            reply => self.told(None, reply),
        }
    }

    /// Holds, bookings and sums are read one after the other, so a reading counts only if the books stood still: every
    /// expiry written down, and nothing changed meanwhile.
    async fn ending(&self, asked: &[HoldRef], watch: &Watch) -> Result<Ending, ShopError> {
        let books = self.house.last();
        let version = || async {
            let view = books.offer(self.offer.id()).await.map_err(ShopError::of)?;
            Ok(view.map(|view| view.version))
        };
        for _ in 0..LOOKS {
            let before = version().await?;
            let ending = self.read_ending(asked, watch).await.map_err(ShopError::of)?;
            let swept = |kept: &KeptHold| kept.state != KeptState::Active || kept.expires_at > ending.at;
            if ending.holds.iter().all(swept) && before == version().await? {
                return Ok(ending);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(ShopError("the books did not come to rest".into()))
    }
}

/// How often the books are looked at until they stand still, and how long apart: together longer than a hold of the
/// shortest kind and a sweep.
const LOOKS: u32 = 200;
const LOOKS_AT_ONCE: usize = 64;
const BETWEEN_LOOKS: std::time::Duration = std::time::Duration::from_millis(25);

fn offer(nonce: u64, goods: Goods, hold_ttl_s: u32) -> OfferDef {
    let price = Money::new(1000).expect("a small price");
    let inventory = match goods {
        Goods::Seats(seats) => {
            InventoryDef::Seats(vec![SectionDef::new("Hall", "std", price, [RowDef::new("A", seats)])])
        }
        Goods::Stock(capacity) => {
            InventoryDef::Stock(vec![StockLine { key: "GA".to_owned(), capacity, price }])
        }
    };
    OfferDef {
        id: OfferId::new(&format!("lab-{nonce:016x}")).expect("a valid id"),
        name: "The lab's".to_owned(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory,
    }
}

fn holder(number: HolderRef) -> HolderId {
    HolderId::new(&format!("buyer-{number}")).expect("a valid holder")
}

fn holder_ref(holder: &HolderId) -> Option<HolderRef> {
    holder.as_str().strip_prefix("buyer-")?.parse().ok()
}

fn hold_ref(bits: u128) -> HoldRef {
    (bits as u64 - 1) as HoldRef
}

fn claims(lines: &[Line]) -> Vec<Claim> {
    lines.iter().map(|line| Claim { unit: line.unit, qty: line.qty }).collect()
}

/// The words of keyed answers: enough to know the answer again when they are replayed.
fn render() -> Render {
    Arc::new(|came| {
        let body = match came {
            Came::Held { hold, .. } => {
                let (hold, id) = (&hold.hold, hold_ref(hold.hold.id.bits()));
                format!("{id} {} {}", hold.holder.as_str(), hold.expires_at.ms())
            }
            Came::Confirmed(view) => {
                format!("{} {}", hold_ref(view.booking.id.bits()), view.booking.holder.as_str())
            }
            _ => String::new(),
        };
        Words { status: 200, body: body.into() }
    })
}

/// The answer in these words; `ask` is the hold that was asked for, if one was.
fn replayed(ask: Option<&AskHold>, words: &Words) -> Option<Answer> {
    let text = std::str::from_utf8(&words.body).ok()?;
    let mut words = text.split(' ');
    let number = words.next()?.parse().ok()?;
    let holder = words.next()?.strip_prefix("buyer-")?.parse().ok()?;
    let Some(ask) = ask else { return Some(Answer::Confirmed { booking: number, holder }) };
    let expires_at = words.next()?.parse::<Micros>().ok()? * 1000;
    Some(Answer::Held { hold: number, holder, claims: ask.claims.clone(), expires_at, again: false })
}
