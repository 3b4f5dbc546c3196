//! One Holdfast server put together: the ledger on its storage, the pipeline before it, the live map behind it and
//! HTTP around them. `serve` and `demo` run one for others; `import` and `export` run one for themselves when they
//! are pointed at the books, so that there is one way in whoever asks.

mod arrival;
mod lab;

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
};

use holdfast_engine::{
    admission::{
        RateLimiter,
        hoarding::Hoarding,
        waiting_room::{
            Rooms,
            store::{CannotKeep, FileStore, RoomStore},
        },
    },
    clock::{Clock, SystemClock},
    gate::{Gate, redis},
    ledger::{
        Ledger, LedgerError, Role,
        embedded::{self, EmbeddedLedger, Storage, StoreError},
        postgres::{self, Connecting, PostgresLedger},
    },
    mint,
    outbox::live_map::LiveMap,
    payments::{Payments, stripe::Stripe},
    pipeline::Pipeline,
};
use holdfast_server::{Parts, PaymentDesk, mint_key, render};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::lab::ShownLab;
use crate::{
    failure::Failure,
    settings::{self, Books, Settings},
};

/// A server ready to listen, with its books open.
#[derive(Debug)]
pub struct Node {
    opened: Opened,
    clock: Arc<dyn Clock>,
    parts: Parts,
}

/// Books that are open, to be closed in the end.
#[derive(Debug, Clone)]
enum Opened {
    Embedded(Arc<EmbeddedLedger>),
    Postgres(Arc<PostgresLedger>),
}

impl Opened {
    fn ledger(&self) -> Arc<dyn Ledger> {
        match self {
            Self::Embedded(ledger) => ledger.clone(),
            Self::Postgres(ledger) => ledger.clone(),
        }
    }

    /// The clock by which holds end here.
    async fn clock(&self) -> Arc<dyn Clock> {
        match self {
            Self::Embedded(_) => Arc::new(SystemClock::new()),
            Self::Postgres(ledger) => ledger.clock().await,
        }
    }

    /// What stands before these books. Redis need not be there yet: until it is, the ledger is asked.
    fn gate(&self, settings: &Settings, clock: &Arc<dyn Clock>) -> Result<Option<Arc<dyn Gate>>, Failure> {
        let (Self::Postgres(books), Some(gate)) = (self, &settings.gate) else { return Ok(None) };
        let parts = redis::Parts { ledger: books.clone(), books: books.clone(), clock: Arc::clone(clock) };
        let opened = redis::open(gate.strategy, &gate.addresses, gate.settings.clone(), parts);
        opened.map(Some).map_err(|fault| unusable_gate(settings, fault))
    }
}

impl Node {
    /// Opens the books that the settings name; waits a while for a PostgreSQL that is not there yet. Blocks while
    /// books in a folder load.
    pub async fn open(settings: &Settings) -> Result<Self, Failure> {
        match &settings.books {
            Books::Folder(folder) => {
                let opened = embedded(Storage::Dir(folder.clone()), settings)?;
                // Only now is the folder ours, and the secret in it.
                let secret = session_secret(folder).map_err(|fault| cannot_keep_secret(folder, fault))?;
                let rooms = FileStore::open(folder).map_err(|fault| cannot_keep_rooms(&fault))?;
                Self::around(opened, settings, secret, Arc::new(rooms)).await
            }
            Books::Postgres(connecting) => {
                arrival::wait_for(connecting, settings.pg_wait).await?;
                let books = shared(connecting, settings).await.map_err(|fault| cannot_share(&fault))?;
                let secret = postgres::secrets::session(connecting, random_secret()).await;
                let secret = secret.map_err(|fault| cannot_share(&fault))?;
                Self::around(Opened::Postgres(books.clone()), settings, secret, books).await
            }
        }
    }

    /// Opens empty books that are gone with the process.
    pub async fn in_memory(settings: &Settings) -> Result<Self, Failure> {
        let rooms = Arc::new(FileStore::in_memory());
        Self::around(embedded(Storage::Memory, settings)?, settings, random_secret(), rooms).await
    }

    async fn around(
        opened: Opened,
        settings: &Settings,
        secret: [u8; 32],
        rooms: Arc<dyn RoomStore>,
    ) -> Result<Self, Failure> {
        let clock = opened.clock().await;
        let ledger = opened.ledger();
        let redis = settings.shared_redis(&clock).map_err(|fault| unusable_gate(settings, fault))?;
        let limiter = Arc::new(RateLimiter::new(redis.clone(), settings.admission.remembered));
        let hoarding = Hoarding::new(settings.admission.hoarding.clone(), Arc::clone(&clock), redis);
        let rooms = Rooms::open(
            rooms,
            Arc::clone(&ledger),
            Arc::clone(&clock),
            secret,
            settings.admission.rooms.clone(),
        );
        let rooms = rooms.await.map_err(|fault| cannot_share(&fault))?;
        let pipeline = Pipeline::new(Arc::clone(&ledger), settings.pipeline.clone());
        let pipeline = pipeline.with_hoarding(Arc::new(hoarding)).with_rooms(Arc::clone(&rooms));
        let pipeline = Arc::new(match opened.gate(settings, &clock)? {
            Some(gate) => pipeline.with_gate(gate),
            None => pipeline,
        });
        let live_map = LiveMap::new(ledger, settings.live_map.clone());
        let payments =
            settings.payments.as_ref().map(|payments| desk(payments, &pipeline, &clock)).transpose()?;
        let lab = settings.lab.clone().map(|limits| Arc::new(ShownLab::new(limits, clock.clone())) as _);
        let settings = settings.for_server(secret);
        let parts =
            Parts { pipeline, live_map, clock: clock.clone(), limiter, rooms, payments, lab, settings };
        Ok(Self { opened, clock, parts })
    }

    /// With a lab in which visitors may run a race.
    #[must_use]
    pub fn with_races_on_request(mut self, limits: holdfast_lab::shelf::Limits) -> Self {
        self.parts.lab = Some(Arc::new(ShownLab::new(limits, self.clock.clone()).with_races_on_request()));
        self
    }

    /// A fresh API key, known to the ledger from now on.
    pub async fn add_key(&self, role: Role) -> Result<String, Failure> {
        let (key, stored) = mint_key(role, self.clock.now());
        self.opened.ledger().add_key(stored).await.map_err(|fault| {
            Failure::broken("the key could not be written down", "run `holdfast doctor`").because(fault)
        })?;
        Ok(key)
    }

    /// Serves until `shutdown` is cancelled, then finishes what is under way and closes the books.
    pub async fn run(self, listener: TcpListener, shutdown: CancellationToken) {
        let desk = self.parts.payments.clone();
        let worker = desk.map(|desk| tokio::spawn(desk.payments.work()));
        holdfast_server::run(listener, self.parts, shutdown).await;
        // What it was doing stays due, here or on another node.
        worker.iter().for_each(tokio::task::JoinHandle::abort);
        match self.opened {
            Opened::Embedded(ledger) => ledger.shutdown().await,
            // Everything acknowledged is committed, and what is left to do other nodes do too.
            Opened::Postgres(ledger) => drop(ledger),
        }
    }
}

fn unusable_gate(settings: &Settings, fault: redis::OpenError) -> Failure {
    let gate = settings.gate.as_ref().map(ToString::to_string).unwrap_or_default();
    let what = format!("the gate {gate} cannot be used");
    Failure::usage(what, "correct --gate or HOLDFAST_GATE, or choose another --strategy").because(fault)
}

/// Where payments are taken, looked after and heard of.
fn desk(
    settings: &settings::Payments,
    pipeline: &Arc<Pipeline>,
    clock: &Arc<dyn Clock>,
) -> Result<PaymentDesk, Failure> {
    let stripe = Stripe::new(settings.stripe.clone()).map_err(|fault| {
        Failure::broken("payments cannot be set up", "look at the machine's certificates for HTTPS")
            .because(fault)
    })?;
    let (pipeline, clock) = (Arc::clone(pipeline), Arc::clone(clock));
    let payments = Payments::new(pipeline, Arc::new(stripe), clock, settings.saga.clone());
    let (webhook_secrets, checkout) = (settings.webhook_secrets.clone(), settings.checkout.clone());
    Ok(PaymentDesk { payments, webhook_secrets, checkout })
}

fn embedded(storage: Storage, settings: &Settings) -> Result<Opened, Failure> {
    let books = embedded::Settings {
        limits: settings.embedded.clone(),
        ..embedded::Settings::new(storage, Arc::new(SystemClock::new()), Arc::new(render))
    };
    let ledger = EmbeddedLedger::open(books).map_err(|fault| cannot_open(&fault))?;
    Ok(Opened::Embedded(Arc::new(ledger)))
}

async fn shared(connecting: &Connecting, settings: &Settings) -> Result<Arc<PostgresLedger>, LedgerError> {
    let new = postgres::Settings::new(&connecting.url, Arc::new(render));
    let books = postgres::Settings {
        connecting: connecting.clone(),
        claiming: settings.strategy.claiming().unwrap_or(new.claiming),
        limits: settings.postgres.clone(),
        ..new
    };
    Ok(Arc::new(PostgresLedger::open(books).await?))
}

/// The ledger's words end with what to do, after the last semicolon.
pub fn cannot_open(fault: &StoreError) -> Failure {
    let text = fault.to_string();
    let (what, next) = text.rsplit_once("; ").unwrap_or((&text, "run `holdfast doctor`"));
    match fault {
        StoreError::InUse { .. } => Failure::unreachable(
            what,
            "speak to the server that has it with --url, or stop that server first",
        ),
        StoreError::NoBooks { .. }
        | StoreError::Folder { .. }
        | StoreError::DiskFull { .. }
        | StoreError::Disk { .. }
        | StoreError::Busy => Failure::unreachable(what, next),
        _ => Failure::broken(what, next),
    }
}

/// For a command that asks something over the network and is done.
pub fn short_runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|fault| {
        Failure::broken("the operating system gives no timers", "look at the limits of this user")
            .because(fault)
    })
}

/// Does one thing with books in PostgreSQL, for a command that does not wait for them.
pub fn in_postgres<T>(
    connecting: &Connecting,
    work: impl Future<Output = Result<T, LedgerError>>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|fault| {
        Failure::broken("the operating system gives no timers", "look at the limits of this user")
            .because(fault)
    })?;
    runtime.block_on(async {
        arrival::ask_once(connecting).await?;
        work.await.map_err(|fault| cannot_share(&fault))
    })
}

/// What became of books in PostgreSQL, to whoever wanted something of them.
fn cannot_share(fault: &LedgerError) -> Failure {
    let next = "look at PostgreSQL's log, and at what `holdfast doctor --ledger …` finds";
    match fault {
        LedgerError::Invalid(_) => Failure::broken(fault.to_string(), next),
        _ => Failure::unreachable(fault.to_string(), next),
    }
}

fn cannot_keep_rooms(fault: &CannotKeep) -> Failure {
    let text = fault.to_string();
    let (what, next) = text.rsplit_once("; ").unwrap_or((&text, "run `holdfast doctor`"));
    Failure::broken(what, next)
}

fn cannot_keep_secret(folder: &Path, fault: io::Error) -> Failure {
    let what = format!("the session secret in {} cannot be read or made", folder.display());
    Failure::unreachable(what, "check that the folder may be written to: `holdfast doctor`").because(fault)
}

/// Signs browser sessions. Kept in the folder, so that visitors keep their seats over a restart.
fn session_secret(folder: &Path) -> io::Result<[u8; 32]> {
    let path = folder.join("session.secret");
    match fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} must have 32 bytes; remove it", path.display()),
            )
        }),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            let secret = random_secret();
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(&secret)?;
            file.sync_all()?;
            Ok(secret)
        }
        Err(fault) => Err(fault),
    }
}

fn random_secret() -> [u8; 32] {
    let mut secret = [0; 32];
    secret[..16].copy_from_slice(&mint::random_bits().to_le_bytes());
    secret[16..].copy_from_slice(&mint::random_bits().to_le_bytes());
    secret
}
