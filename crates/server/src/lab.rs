//! The port to a lab, for servers that are given one. The server shows what the lab has and knows nothing of races:
//! pictures come as finished pages with the policy they need, and what is posted is handed on unread.

use std::fmt;

use async_trait::async_trait;

/// What a server asks of a lab.
#[async_trait]
pub trait Lab: fmt::Debug + Send + Sync {
    /// What there is to see.
    fn shelf(&self) -> Shelf;

    fn picture(&self, of: Kind, id: &str) -> Option<Picture>;

    /// Keeps what somebody recorded, as JSON, and says under which id; or what is wrong with it.
    fn keep(&self, of: Kind, json: &[u8]) -> Result<String, String>;

    /// Runs a race now and keeps it.
    async fn race(&self) -> Result<String, NoRace>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Race,
    Report,
}

/// Newest first.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    pub races: Vec<Label>,
    pub reports: Vec<Label>,
    /// Whether visitors may run a race.
    pub races_on_request: bool,
}

#[derive(Debug, Clone)]
pub struct Label {
    pub id: String,
    /// RFC 3339.
    pub at: String,
    pub title: String,
    pub came: Came,
}

/// What a race came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    Well,
    /// More have it than there are of it.
    SoldWrongly,
    /// Nobody could get it.
    TakenBefore,
}

/// A whole page.
#[derive(Debug, Clone)]
pub struct Picture {
    pub html: String,
    /// The content security policy under which it works.
    pub policy: String,
}

#[derive(Debug)]
pub enum NoRace {
    /// This lab runs none for visitors.
    NotHere,
    /// One is under way.
    Busy,
    Failed(String),
}
