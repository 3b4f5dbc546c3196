//! Private servers for tests, the lab and the bench: PostgreSQL and Redis that are started for one purpose, hurt as
//! that purpose needs, and gone afterwards.
//!
//! ```text
//! Postgres ─┐
//! Redis     ├─ Server: a child process ─ Folder: all it writes ─ Keeper: ends it when we cannot
//! PgBouncer ┘
//! FaultProxy: stands before any of them and misbehaves on request
//! ```
//!
//! A rig listens on 127.0.0.1 only, on a port of its own that it keeps for life, so that a client's address stays
//! good through kills and restarts. Everything it writes lies in one folder, and every process of it stands in that
//! folder: that is how all of them are found, also those whose parent has died. Dropping a rig ends its processes and
//! removes its folder; when the process that owns it is killed, the rig's [`keeper`] does the same.
//!
//! Starting, stopping and asking block: from async code use `spawn_blocking`. Only [`FaultProxy`] is async.
//!
//! Needs Linux (`/proc`), a POSIX shell and the servers' programs; [`missing`] says which are not there.
//! Deliberately absent: containers, servers that are already running, and every other crate of this workspace.

mod account;
mod error;
mod folder;
mod keeper;
mod patience;
mod pgbouncer;
mod port;
mod postgres;
mod program;
mod proxy;
mod redis;
mod server;
mod tls;

pub use error::RigError;
pub use pgbouncer::{PgBouncer, PgBouncerOptions};
pub use postgres::{Postgres, PostgresOptions};
pub use program::{Missing, Program, missing};
pub use proxy::{Counts, FaultProxy, Loss, Mode};
pub use redis::{Redis, RedisCluster, RedisOptions, Reply, Sentinel};
pub use tls::Tls;

/// What everything here comes to.
pub type Result<T, E = RigError> = std::result::Result<T, E>;
