//! The strategies by name: each a pair of how the gate refuses and how the ledger claims.
//!
//! | name | gate | claim |
//! |---|---|---|
//! | `writer` | memory | one writer, group commit; the embedded default |
//! | `batched` | none, or `lua` | many requests, one transaction; the default on PostgreSQL |
//! | `pessimistic`, `atomic`, `cas`, `unique` | none, or `lua` | by that name, in `ledger::postgres::claims` |
//! | `bitmap` | `bitmap` | `unique` |
//! | `lock`, `redlock` | by that name | `cas`: the lock is never trusted, the unit's fence is |
//! | `decr`, `lua` | by that name | `atomic` |
//! | `layered` | a rate limit, then `lua` | `cas` |
//! | `queue` | none, or `lua`; then a line for each offer | `atomic` |
//!
//! `naive`, which reads and then writes, sells seats twice. The lab runs it; the server does not.

use std::{fmt, str::FromStr};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    Writer,
    Batched,
    Pessimistic,
    Atomic,
    Cas,
    Unique,
    Bitmap,
    Lock,
    Redlock,
    Decr,
    Lua,
    Layered,
    Queue,
}

/// How a PostgreSQL ledger comes by the units of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Claiming {
    Batched,
    Pessimistic,
    Atomic,
    Cas,
    Unique,
    Queue,
}

/// Whether a strategy stands behind a gate in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateNeed {
    Never,
    /// With `--gate`, the gate of that name.
    May(&'static str),
    Must(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoStrategy {
    #[error(
        "`naive` reads and then writes, so two buyers who read at the same moment both get the seat: only the lab runs it"
    )]
    Naive,
    #[error("there is no strategy {0:?}; there are {names}", names = Strategy::names())]
    Unknown(String),
}

impl Strategy {
    pub const ALL: &[Self] = &[
        Self::Writer,
        Self::Batched,
        Self::Pessimistic,
        Self::Atomic,
        Self::Cas,
        Self::Unique,
        Self::Bitmap,
        Self::Lock,
        Self::Redlock,
        Self::Decr,
        Self::Lua,
        Self::Layered,
        Self::Queue,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Writer => "writer",
            Self::Batched => "batched",
            Self::Pessimistic => "pessimistic",
            Self::Atomic => "atomic",
            Self::Cas => "cas",
            Self::Unique => "unique",
            Self::Bitmap => "bitmap",
            Self::Lock => "lock",
            Self::Redlock => "redlock",
            Self::Decr => "decr",
            Self::Lua => "lua",
            Self::Layered => "layered",
            Self::Queue => "queue",
        }
    }

    /// How it claims in PostgreSQL; `None` for the embedded one.
    pub const fn claiming(self) -> Option<Claiming> {
        match self {
            Self::Writer => None,
            Self::Batched => Some(Claiming::Batched),
            Self::Pessimistic => Some(Claiming::Pessimistic),
            Self::Atomic | Self::Decr | Self::Lua => Some(Claiming::Atomic),
            Self::Cas | Self::Lock | Self::Redlock | Self::Layered => Some(Claiming::Cas),
            Self::Unique | Self::Bitmap => Some(Claiming::Unique),
            Self::Queue => Some(Claiming::Queue),
        }
    }

    pub const fn gate(self) -> GateNeed {
        match self {
            Self::Writer => GateNeed::Never,
            Self::Batched | Self::Pessimistic | Self::Atomic | Self::Cas | Self::Unique | Self::Queue => {
                GateNeed::May("lua")
            }
            Self::Bitmap | Self::Lock | Self::Redlock | Self::Decr | Self::Lua | Self::Layered => {
                GateNeed::Must(self.as_str())
            }
        }
    }

    fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|strategy| strategy.as_str()).collect();
        names.join(", ")
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Strategy {
    type Err = NoStrategy;
    fn from_str(name: &str) -> Result<Self, NoStrategy> {
        let found = Self::ALL.iter().copied().find(|strategy| strategy.as_str() == name);
        found.ok_or_else(|| match name {
            "naive" => NoStrategy::Naive,
            other => NoStrategy::Unknown(other.to_owned()),
        })
    }
}
