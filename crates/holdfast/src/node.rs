//! One Holdfast server put together: the ledger on its storage, the pipeline before it, the live map behind it and
//! HTTP around them. `serve` and `demo` run one for others; `import` and `export` run one for themselves when they
//! are pointed at a folder, so that there is one way in whoever asks.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
};

use holdfast_engine::{
    clock::{Clock, SystemClock},
    ledger::{
        Ledger, Role,
        embedded::{self, EmbeddedLedger, Storage, StoreError},
    },
    mint,
    outbox::live_map::LiveMap,
    pipeline::Pipeline,
};
use holdfast_server::{Parts, mint_key, render};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{failure::Failure, settings::Settings};

/// A server ready to listen, with its books open.
#[derive(Debug)]
pub struct Node {
    ledger: Arc<EmbeddedLedger>,
    clock: Arc<dyn Clock>,
    parts: Parts,
}

impl Node {
    /// Opens the books in the settings' folder. Blocks while they load.
    pub fn on_disk(settings: &Settings) -> Result<Self, Failure> {
        Self::open(Storage::Dir(settings.data.clone()), settings, || session_secret(&settings.data))
    }

    /// Opens empty books that are gone with the process.
    pub fn in_memory(settings: &Settings) -> Result<Self, Failure> {
        Self::open(Storage::Memory, settings, || Ok(random_secret()))
    }

    fn open(
        storage: Storage,
        settings: &Settings,
        secret: impl FnOnce() -> io::Result<[u8; 32]>,
    ) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let books = embedded::Settings {
            limits: settings.ledger.clone(),
            ..embedded::Settings::new(storage, clock.clone(), Arc::new(render))
        };
        let ledger = Arc::new(EmbeddedLedger::open(books).map_err(|fault| cannot_open(&fault))?);
        // Only now is the folder ours, and the secret in it.
        let secret = secret().map_err(|fault| cannot_keep_secret(settings, fault))?;
        let pipeline = Arc::new(Pipeline::new(ledger.clone(), settings.pipeline.clone()));
        let live_map = LiveMap::new(ledger.clone(), settings.live_map.clone());
        let parts = Parts { pipeline, live_map, clock: clock.clone(), settings: settings.for_server(secret) };
        Ok(Self { ledger, clock, parts })
    }

    /// A fresh API key, known to the ledger from now on.
    pub async fn add_key(&self, role: Role) -> Result<String, Failure> {
        let (key, stored) = mint_key(role, self.clock.now());
        self.ledger.add_key(stored).await.map_err(|fault| {
            Failure::broken("the key could not be written down", "run `holdfast doctor`").because(fault)
        })?;
        Ok(key)
    }

    /// Serves until `shutdown` is cancelled, then finishes what is under way and closes the books.
    pub async fn run(self, listener: TcpListener, shutdown: CancellationToken) {
        holdfast_server::run(listener, self.parts, shutdown).await;
        self.ledger.shutdown().await;
    }
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

fn cannot_keep_secret(settings: &Settings, fault: io::Error) -> Failure {
    let what = format!("the session secret in {} cannot be read or made", settings.data.display());
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
