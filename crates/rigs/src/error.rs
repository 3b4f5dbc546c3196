//! What can go wrong with a rig, in words that say what to do about it.

use std::{io, time::Duration};

use crate::program::Missing;

/// A rig did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    #[error("{0}")]
    Missing(#[from] Missing),
    #[error("{doing}: {source}")]
    Io { doing: String, source: io::Error },
    #[error("{doing} failed: {said}")]
    Failed { doing: String, said: String },
    #[error("{what}: not within {waited:?}; last lines of its log:\n{log}")]
    Late { what: String, waited: Duration, log: String },
    #[error("{server} ended instead of starting; last lines of its log:\n{log}")]
    Ended { server: String, log: String },
    #[error("{server} is not running")]
    NotRunning { server: String },
    #[error("{command}: the server answered {said}")]
    Refused { command: String, said: String },
}

impl RigError {
    /// For `map_err`: an I/O error with what it interrupted.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
