//! Gates kept in Redis: a single server, a Cluster, or a master behind Sentinels.
//!
//! ```text
//! open(strategy, addresses, settings, parts)
//!   lua, decr, bitmap ─ counting ─┬─ trips     all who ask at the same moment ask together
//!   layered: a limit, then lua ───┼─ slate     what is claimed, one slate an offer
//!                                 ├─ epoch     whether that may be believed
//!                                 └─ rebuild   from the books, when not
//!   lock, redlock ─ quorum                     who works on a unit, on one server or on most of several
//!   all of them ─ server ─ breaker             each question has 50 ms, and nobody waits for more than three
//! ```
//! Redis is never trusted: emptied, stopped, read-only, failed over or full, it makes the gate step aside, and the
//! ledger is asked. Needs no Redis to open; it joins when Redis is there.

mod address;
mod bitmap;
mod breaker;
mod counting;
mod decr;
mod dial;
mod epoch;
mod herald;
pub mod inspect;
mod layered;
mod lock;
mod lua;
mod met;
mod quorum;
mod rebuild;
mod server;
mod settings;
mod slate;
mod trips;

use std::{fmt, str::FromStr, sync::Arc};

use ::redis::{Cmd, FromRedisValue, ScriptInvocation};
use address::Address;
use counting::Counting;
pub(crate) use counting::{Ending, Passing};
use herald::Herald;
use layered::Layered;
use lock::Lock;
pub(crate) use lock::Locked;
pub(crate) use server::Aside;
use server::Server;

pub use dial::{Authority, connect};
pub use settings::{LockSettings, RateSettings, Settings};

use super::{Gate, GateBooks};
use crate::{clock::Clock, ledger::Ledger};

/// How the gate refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    Lua,
    Decr,
    Bitmap,
    Layered,
    Lock,
    Redlock,
}

impl Strategy {
    pub const ALL: &[Self] = &[Self::Lua, Self::Decr, Self::Bitmap, Self::Layered, Self::Lock, Self::Redlock];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lua => "lua",
            Self::Decr => "decr",
            Self::Bitmap => "bitmap",
            Self::Layered => "layered",
            Self::Lock => "lock",
            Self::Redlock => "redlock",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Strategy {
    type Err = OpenError;
    fn from_str(name: &str) -> Result<Self, OpenError> {
        let found = Self::ALL.iter().copied().find(|strategy| strategy.as_str() == name);
        found.ok_or_else(|| OpenError::Strategy(name.to_owned()))
    }
}

/// What a gate stands before.
#[derive(Debug, Clone)]
pub struct Parts {
    pub ledger: Arc<dyn Ledger>,
    pub books: Arc<dyn GateBooks>,
    /// The clock by which holds end, as near as this node has it.
    pub clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("there is no gate {0:?}")]
    Strategy(String),
    #[error("{address:?} is no address of Redis: {why}")]
    Address { address: String, why: String },
    #[error(
        "a majority needs three independent servers or more, named with commas between them; {0} is named"
    )]
    TooFew(usize),
    #[error("the gate's settings cannot work: {}", .0.join("; "))]
    Settings(Vec<String>),
}

/// Opens the gate of that strategy on the servers that `addresses` names. Needs a Tokio runtime; needs no Redis yet.
pub fn open(
    strategy: Strategy,
    addresses: &str,
    settings: Settings,
    parts: Parts,
) -> Result<Arc<dyn Gate>, OpenError> {
    let faults = settings.faults();
    if !faults.is_empty() {
        return Err(OpenError::Settings(faults));
    }
    let address = Address::parse(addresses, settings.authority.as_ref())?;
    let keep = |address: Address| {
        let herald = Herald::of(address.name());
        Server::keep(address, &settings, Arc::clone(&parts.clock), Some(herald))
    };
    let judge = match strategy {
        Strategy::Lua => &lua::JUDGE,
        Strategy::Decr => &decr::JUDGE,
        Strategy::Bitmap => &bitmap::JUDGE,
        Strategy::Layered => {
            let server = keep(address);
            return Ok(Arc::new(Layered::open(server, settings, parts)));
        }
        Strategy::Lock => return Ok(Arc::new(Lock::open(vec![keep(address)], &settings, parts))),
        Strategy::Redlock => {
            let servers = majority(address)?.into_iter().map(keep).collect();
            return Ok(Arc::new(Lock::open(servers, &settings, parts)));
        }
    };
    let server = Arc::new(keep(address));
    Ok(Arc::new(Counting::open(judge, server, settings, parts)))
}

/// Whether that strategy can do with as many servers as are named, which can be told without asking any.
pub fn enough(strategy: Strategy, addresses: &str, authority: Option<&Authority>) -> Result<(), OpenError> {
    match strategy {
        Strategy::Redlock => majority(Address::parse(addresses, authority)?).map(drop),
        _ => Ok(()),
    }
}

/// Servers of which most are more than one, and one may fail.
fn majority(address: Address) -> Result<Vec<Address>, OpenError> {
    let apart = address.apart();
    if apart.len() < 3 { Err(OpenError::TooFew(apart.len())) } else { Ok(apart) }
}

/// A Redis that the nodes share for what is no gate: limits on how often and how much somebody may ask. As little trusted,
/// and as quickly left alone.
#[derive(Debug, Clone)]
pub struct SharedRedis(Arc<Server>);

impl SharedRedis {
    /// Begins to keep a connection of its own. Of several independent servers the first is used. Needs a Tokio runtime;
    /// needs no Redis yet.
    pub fn keep(
        addresses: &str,
        settings: &Settings,
        apart: bool,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let mut address = Address::parse(addresses, settings.authority.as_ref())?;
        if apart {
            address = address.apart().swap_remove(0);
        }
        Ok(Self(Arc::new(Server::keep(address, settings, clock, None))))
    }

    /// In a box, as below: every request could come by here and few do, and none should carry room for it.
    pub(crate) async fn invoke<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Aside> {
        Box::pin(self.0.invoke(call)).await
    }

    pub(crate) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Aside> {
        Box::pin(self.0.run(command)).await
    }
}

/// What an operator is told of a server that does not answer.
fn out_of_reach(server: &Server) -> Option<String> {
    let since = server.trouble_since()?;
    Some(format!("gate: Redis out of reach since {since}, bookings go on"))
}
