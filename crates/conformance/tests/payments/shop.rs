//! A shop with a simulated provider: one seat, buyers, and a clock that both sides share.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use holdfast_conformance::{
    live::{embedded_without_sweep, patiently},
    story_start,
};
use holdfast_domain::{
    Actor, Ask, BookingId, BookingState, Command, Currency, HoldId, HolderId, InventoryDef, Moment, Money,
    Offer, OfferDef, OfferId, PayTerms, PaymentMethod, PaymentState, Pick, StockLine,
};
use holdfast_engine::{
    clock::{Clock, ManualClock},
    ledger::{Answer, BookingView, IdempotencyKey, Ledger, Outcome, Reply, Request, embedded::Storage},
    mint,
    payments::{
        Answered, Beginning, Payments, Settings, Words,
        provider::{Provider, SecretText},
        stripe::{self, Stripe, webhook},
    },
    pipeline::{Limits, Pipeline},
};
use holdfast_stripe_simulator::{Delivery, Pace, Simulator};

use crate::crash::{Careless, Fuse, Mortal};

pub(crate) const PRICE: u64 = 4500;
pub(crate) const TTL_S: u32 = 600;
pub(crate) const PIN_S: u32 = 300;

pub(crate) struct Shop {
    pub ledger: Arc<dyn Ledger>,
    pub clock: Arc<ManualClock>,
    pub bank: Simulator,
    stripe: Arc<dyn Provider>,
    /// The server, until it dies; then another one.
    pub payments: Arc<Payments>,
    pub fuse: Arc<Fuse>,
}

impl Shop {
    pub(crate) async fn embedded() -> Self {
        let clock = Arc::new(ManualClock::at(story_start()));
        let ledger = embedded_without_sweep(&Storage::Memory, &clock).expect("the ledger opens");
        Self::on(Arc::new(ledger), clock).await
    }

    pub(crate) async fn postgres(name: &str) -> Self {
        let clock = Arc::new(ManualClock::at(story_start()));
        let ledger = crate::postgres::books(name, &clock).await;
        Self::on(ledger, clock).await
    }

    async fn on(ledger: Arc<dyn Ledger>, clock: Arc<ManualClock>) -> Self {
        let pace = Pace::Told { from_ms: clock.now().ms() };
        let settings = holdfast_stripe_simulator::Settings { pace, ..Default::default() };
        let bank = Simulator::start(([127, 0, 0, 1], 0).into(), settings).await.expect("a port");
        let settings = stripe::Settings {
            url: bank.url(),
            timeout: Duration::from_millis(250),
            retries: 1,
            backoff: Duration::from_millis(1),
            ..stripe::Settings::new(SecretText::new(bank.secret_key()))
        };
        let stripe: Arc<dyn Provider> = Arc::new(Stripe::new(settings).expect("a client"));
        let fuse = Fuse::never();
        let payments = server(&ledger, &stripe, &clock, &fuse);
        Self { ledger, clock, bank, stripe, payments, fuse }
    }

    /// From now on the shop asks its provider the careless way.
    pub(crate) fn careless(mut self) -> Self {
        self.stripe = Arc::new(Careless(Arc::clone(&self.stripe)));
        self
    }

    /// The server that was is gone with all it remembered; another one begins, and dies after so many edges.
    pub(crate) fn restart(&mut self, fuse: Arc<Fuse>) {
        self.payments = server(&self.ledger, &self.stripe, &self.clock, &fuse);
        self.fuse = fuse;
    }

    pub(crate) fn pass(&self, seconds: u32) {
        self.clock.advance_ms(i64::from(seconds) * 1000);
        self.bank.advance(Duration::from_secs(seconds.into()));
    }

    async fn execute(&self, command: Command) -> Reply {
        let actor = Actor::Key("test".into());
        let request = Request { command, actor, key: None, wording: None, deadline: patiently() };
        self.ledger.execute(request).await.expect("the ledger answers")
    }

    /// Puts one of a thing on sale.
    pub(crate) async fn offer(&self, id: &str) {
        let offer = Offer::new(OfferDef {
            id: OfferId::new(id).expect("a name"),
            name: id.to_owned(),
            currency: Currency::new("EUR").expect("a currency"),
            hold_ttl_s: TTL_S,
            limit_per_holder: None,
            opens_at: None,
            closes_at: None,
            inventory: InventoryDef::Stock(vec![StockLine {
                key: "GA".into(),
                capacity: 1,
                price: Money::new(PRICE).expect("a price"),
            }]),
        });
        let created = self.execute(Command::CreateOffer { offer: Arc::new(offer.expect("an offer")) }).await;
        assert!(matches!(created, Reply::Done(_)), "{created:?}");
    }

    /// Tries to hold it.
    pub(crate) async fn hold(&self, offer: &str, holder: &str) -> Option<HoldId> {
        let hold = mint::hold_id();
        let ask = Ask {
            offer: OfferId::new(offer).expect("a name"),
            pick: Pick::Unit { key: "GA".into(), qty: 1 },
        };
        let holder = HolderId::new(holder).expect("a holder");
        match self.execute(Command::PlaceHold { hold, holder, asks: vec![ask] }).await {
            Reply::Done(_) => Some(hold),
            _ => None,
        }
    }

    pub(crate) async fn confirm_unpaid(&self, hold: HoldId) -> bool {
        let command = Command::Confirm { booking: mint::booking_id(), hold };
        matches!(self.execute(command).await, Reply::Done(_))
    }

    pub(crate) async fn cancel(&self, booking: BookingId) -> bool {
        matches!(self.execute(Command::Cancel { booking }).await, Reply::Done(_))
    }

    /// Asks to pay for the hold; `None` when the server died of it.
    pub(crate) async fn pay(&self, hold: HoldId, method: Option<&str>, key: &str) -> Option<Paid> {
        let beginning = Beginning {
            hold,
            method: method.map(|method| PaymentMethod::new(method).expect("a method")),
            actor: Actor::Key("test".into()),
            key: IdempotencyKey { scope: "test".into(), key: key.to_owned(), fingerprint: [0; 32] },
            words: words(),
        };
        let begun = self.fuse.survive(self.payments.begin(beginning)).await?;
        Some(match begun {
            Ok(Answered::Fresh(answer)) => Paid::Answer(answer.body),
            Ok(Answered::Otherwise(Reply::Replayed(answer))) => Paid::Answer(answer.body),
            Ok(Answered::Otherwise(other)) => Paid::Refused(format!("{other:?}")),
            Ok(Answered::InFlight | Answered::NoAnswer { .. }) | Err(_) => Paid::Nothing,
        })
    }

    /// The worker's round; `false` when the server died of it.
    pub(crate) async fn round(&self) -> bool {
        self.fuse.survive(self.payments.round()).await.is_some()
    }

    /// Hands a webhook to the server as the route does; `false` when the server died of it.
    pub(crate) async fn deliver(&self, delivery: &Delivery) -> bool {
        let secrets = [SecretText::new(self.bank.webhook_secret())];
        let hint = webhook::recognise(&delivery.signature, &delivery.body, &secrets, self.clock.now());
        let booking = hint.expect("the bank signs what it sends").booking.expect("all that it sends is ours");
        self.fuse.survive(self.payments.hear(booking)).await.is_some()
    }

    /// The same for one that may have been on its way for long; the provider signs anew each time it sends.
    pub(crate) async fn deliver_late(&self, delivery: &Delivery) -> bool {
        let at_s = self.clock.now().ms() / 1000;
        let signature = holdfast_stripe_simulator::sign(self.bank.webhook_secret(), &delivery.body, at_s);
        self.deliver(&Delivery { signature, ..delivery.clone() }).await
    }

    /// Time passes and the worker works until nothing is due; whether it came to rest.
    pub(crate) async fn rest(&self, booking: BookingId) -> bool {
        for _ in 0..60 {
            assert!(self.round().await, "the fuse was taken out");
            for delivery in self.bank.take_webhooks() {
                assert!(self.deliver(&delivery).await);
            }
            match self.booking(booking).await {
                Some(view)
                    if view.booking.payment.as_ref().is_some_and(|payment| payment.state.has_work()) => {}
                _ => return true,
            }
            self.pass(120);
        }
        false
    }

    pub(crate) async fn booking(&self, id: BookingId) -> Option<BookingView> {
        self.ledger.booking(id).await.expect("the ledger answers")
    }

    /// What stands in the books, what the bank says, and whether the two agree.
    pub(crate) async fn account(&self, booking: BookingId) -> Account {
        let view = self.booking(booking).await.expect("the booking exists");
        let payment = view.booking.payment.as_deref().expect("it is paid for").clone();
        let money = self.bank.money_of_metadata("booking", &booking.to_string());
        Account { state: view.booking.state, payment: payment.state, money, due_at: payment.due_at }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Paid {
    Answer(Bytes),
    Refused(String),
    /// The server could not say.
    Nothing,
}

impl Paid {
    pub(crate) fn booking(&self) -> Option<BookingId> {
        let Self::Answer(words) = self else { return None };
        std::str::from_utf8(words).ok()?.split(' ').next()?.parse().ok()
    }

    /// What lets a browser pay.
    pub(crate) fn secret(&self) -> Option<&str> {
        let Self::Answer(words) = self else { return None };
        std::str::from_utf8(words).ok()?.split(' ').nth(1)
    }
}

#[derive(Debug)]
pub(crate) struct Account {
    pub state: BookingState,
    pub payment: PaymentState,
    pub money: holdfast_stripe_simulator::Money,
    pub due_at: Option<Moment>,
}

impl Account {
    /// At rest: captured − refunded = the price if confirmed, else nothing, or a person must look.
    pub(crate) fn check(&self) {
        assert!(self.money.captures <= 1, "charged twice: {self:?}");
        assert!(!self.payment.has_work() && self.due_at.is_none(), "not at rest: {self:?}");
        let owed = match self.state {
            BookingState::Confirmed => PRICE as i64,
            _ => 0,
        };
        assert!(self.money.kept() == owed || self.payment == PaymentState::Manual, "money is off: {self:?}");
    }
}

fn server(
    ledger: &Arc<dyn Ledger>,
    stripe: &Arc<dyn Provider>,
    clock: &Arc<ManualClock>,
    fuse: &Arc<Fuse>,
) -> Arc<Payments> {
    let provider: Arc<dyn Provider> =
        Arc::new(Mortal::<dyn Provider> { inner: Arc::clone(stripe), fuse: Arc::clone(fuse) });
    let ledger: Arc<dyn Ledger> =
        Arc::new(Mortal::<dyn Ledger> { inner: Arc::clone(ledger), fuse: Arc::clone(fuse) });
    let settings = Settings {
        terms: PayTerms { pin_s: PIN_S, grace_s: 120, look_s: 30 },
        // Leases are of the machine's time, and here hours pass in a moment.
        lease: Duration::ZERO,
        refund_tries: 6,
        longest_wait: Duration::from_secs(300),
        ..Settings::default()
    };
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    Payments::new(Arc::new(Pipeline::new(ledger, Limits::default())), provider, clock, settings)
}

/// The id first, then the secret, then everything else, so that a replay that differs in anything is seen.
fn words() -> Words {
    Words(Arc::new(|outcome, secret| {
        let view = match outcome {
            Outcome::PaymentBegun(view) | Outcome::Payment { booking: view, .. } => view,
            other => panic!("not about a payment: {other:?}"),
        };
        let secret = secret.map_or("-", SecretText::reveal);
        let words = format!("{} {secret} {:?} {}", view.booking.id, view.booking, view.at);
        Answer { status: 201, body: words.into() }
    }))
}
