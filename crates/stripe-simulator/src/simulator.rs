//! A running simulator, and the handle by which a test scripts it and counts the money.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::Uri;
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    account::{Account, Confirming, Money, fresh},
    faults::{Fault, Faults, Operation},
    idempotency::Keys,
    serve,
    time::{Pace, Time},
    webhooks::{Deliveries, Delivery, Outgoing},
};

#[derive(Debug, Clone)]
pub struct Settings {
    /// The key that may do everything; made up unless given.
    pub secret_key: Option<String>,
    /// The secret that signs webhooks; made up unless given.
    pub webhook_secret: Option<String>,
    pub webhooks: Deliveries,
    pub pace: Pace,
}

impl Default for Settings {
    fn default() -> Self {
        Self { secret_key: None, webhook_secret: None, webhooks: Deliveries::default(), pace: Pace::Real }
    }
}

/// A simulator that listens until this is dropped.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    bench: Arc<Bench>,
    closing: CancellationToken,
}

/// What every connection shares.
#[derive(Debug)]
pub(crate) struct Bench {
    pub account: Mutex<Account>,
    pub keys: Mutex<Keys>,
    pub faults: Mutex<Faults>,
    pub time: Arc<Time>,
    pub outgoing: Arc<Outgoing>,
    pub secret_key: String,
    pub publishable_key: String,
    pub webhook_secret: String,
    /// Something may be due sooner than it was.
    due_changed: Notify,
}

impl Bench {
    /// Works on the account as of now, and sends what that caused.
    pub(crate) fn with_account<T>(&self, work: impl FnOnce(&mut Account, i64) -> T) -> T {
        let result = self.as_of_now(work);
        self.due_changed.notify_one();
        result
    }

    fn as_of_now<T>(&self, work: impl FnOnce(&mut Account, i64) -> T) -> T {
        let now_ms = self.time.now_ms();
        let mut account = self.account.lock();
        account.catch_up(now_ms);
        let result = work(&mut account, now_ms);
        // Within the lock, so that events leave in the order they happened.
        self.outgoing.add(account.take_unsent());
        result
    }

    /// Lets happen what is due, when it is.
    async fn keep_time(self: Arc<Self>) {
        loop {
            let wait = self.as_of_now(|account, now_ms| account.next_due_ms().map(|due| due - now_ms));
            let changed = self.due_changed.notified();
            match wait {
                Some(ms) => tokio::select! {
                    () = changed => {},
                    () = sleep(Duration::from_millis(ms.max(1).unsigned_abs())) => {},
                },
                None => changed.await,
            }
        }
    }
}

impl Simulator {
    /// Listens on the address (port 0 picks a free one). Must be called within a Tokio runtime.
    pub async fn start(address: SocketAddr, settings: Settings) -> io::Result<Self> {
        let url = settings.webhooks.url.as_deref().map(str::parse::<Uri>).transpose();
        let url = url.map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
        let listener = TcpListener::bind(address).await?;
        let webhook_secret = settings.webhook_secret.unwrap_or_else(|| fresh("whsec", 32));
        let bench = Arc::new(Bench {
            account: Mutex::default(),
            keys: Mutex::default(),
            faults: Mutex::default(),
            time: Arc::new(Time::new(settings.pace)),
            outgoing: Arc::new(Outgoing::new(webhook_secret.clone())),
            secret_key: settings.secret_key.unwrap_or_else(|| fresh("sk_test", 24)),
            publishable_key: fresh("pk_test", 24),
            webhook_secret,
            due_changed: Notify::new(),
        });
        let closing = CancellationToken::new();
        let address = listener.local_addr()?;
        if let Some(url) = url {
            let (outgoing, time) = (Arc::clone(&bench.outgoing), Arc::clone(&bench.time));
            tokio::spawn(outgoing.deliver(settings.webhooks, url, time, closing.clone()));
        }
        if !bench.time.is_told() {
            let (bench, closing) = (Arc::clone(&bench), closing.clone());
            tokio::spawn(async move {
                tokio::select! { () = closing.cancelled() => {}, () = bench.keep_time() => {} }
            });
        }
        tokio::spawn(serve::run(listener, Arc::clone(&bench), closing.clone()));
        Ok(Self { address, bench, closing })
    }

    /// Where the API is: `/v1/…` comes after it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn secret_key(&self) -> &str {
        &self.bench.secret_key
    }

    /// What a browser may know: enough to confirm an intent whose client secret it has.
    pub fn publishable_key(&self) -> &str {
        &self.bench.publishable_key
    }

    pub fn webhook_secret(&self) -> &str {
        &self.bench.webhook_secret
    }

    /// The next call of this kind, or of any, goes wrong. Several wait in order.
    pub fn next(&self, on: Option<Operation>, fault: Fault) {
        self.bench.faults.lock().next(on, fault);
    }

    /// Every call goes wrong from now on; `None` heals it.
    pub fn always(&self, fault: Option<Fault>) {
        self.bench.faults.lock().always(fault);
    }

    /// Forgets all faults that were scripted.
    pub fn heal(&self) {
        self.bench.faults.lock().clear();
    }

    /// Moves time forward; what became due has happened when this returns.
    pub fn advance(&self, by: Duration) {
        self.bench.time.advance(by);
        self.bench.with_account(|_, _| ());
    }

    /// Webhooks that have no address to go to.
    pub fn take_webhooks(&self) -> Vec<Delivery> {
        self.bench.outgoing.take(self.bench.time.now_ms())
    }

    /// What a buyer's browser does with an intent's client secret: pays with a card. `false` when that is refused.
    pub fn pay(&self, intent: &str, payment_method: &str) -> bool {
        let payment_method = Some(payment_method.to_owned());
        self.bench.with_account(|account, now_ms| {
            account.confirm_intent(intent, Confirming { payment_method, returns: true }, now_ms).is_ok()
        })
    }

    /// The cardholder does what the bank asks, or fails to. `false` when nothing was asked.
    pub fn authenticate(&self, intent: &str, succeeds: bool) -> bool {
        self.bench.with_account(|account, now_ms| account.authenticate(intent, succeeds, now_ms).is_ok())
    }

    /// The money of all intents.
    pub fn money(&self) -> Money {
        self.bench.account.lock().money(|_| true)
    }

    pub fn money_of_intent(&self, id: &str) -> Money {
        self.bench.account.lock().money(|intent| intent.id == id)
    }

    /// The money of all intents whose metadata say so.
    pub fn money_of_metadata(&self, name: &str, value: &str) -> Money {
        self.bench
            .account
            .lock()
            .money(|intent| intent.metadata.get(name).is_some_and(|found| found == value))
    }

    /// The ids and statuses of all intents whose metadata say so, in the order they were made.
    pub fn intents_of_metadata(&self, name: &str, value: &str) -> Vec<(String, &'static str)> {
        let account = self.bench.account.lock();
        let meant = account.intents().filter(|intent| intent.metadata.get(name).is_some_and(|v| v == value));
        meant.map(|intent| (intent.id.clone(), intent.status.as_str())).collect()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}
