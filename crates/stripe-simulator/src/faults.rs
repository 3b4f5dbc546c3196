//! Faults on request: what goes wrong with the next call of a kind, or with every call.

use std::{collections::VecDeque, time::Duration};

/// A call by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    CreateIntent,
    ConfirmIntent,
    CaptureIntent,
    CancelIntent,
    CreateRefund,
    /// Everything that only looks.
    Read,
}

impl Operation {
    pub const ALL: [Self; 6] = [
        Self::CreateIntent,
        Self::ConfirmIntent,
        Self::CaptureIntent,
        Self::CancelIntent,
        Self::CreateRefund,
        Self::Read,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CreateIntent => "create_intent",
            Self::ConfirmIntent => "confirm_intent",
            Self::CaptureIntent => "capture_intent",
            Self::CancelIntent => "cancel_intent",
            Self::CreateRefund => "create_refund",
            Self::Read => "read",
        }
    }
}

/// What goes wrong. "Before" has no effect; "after" has its whole effect, which the caller does not hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 429, nothing done.
    RateLimited,
    /// 500, nothing done and nothing kept: the same key may be tried again.
    ErrorUnkept,
    /// 500, nothing done, and the key keeps the 500.
    ErrorBefore,
    /// 500 after the work was done, and the key keeps the 500.
    ErrorAfter,
    /// No answer, nothing done.
    HangBefore,
    /// No answer, all done.
    HangAfter,
    /// The connection closes, nothing done.
    DropBefore,
    /// The connection closes, all done.
    DropAfter,
    /// An answer, late.
    Slow(Duration),
}

impl Fault {
    /// How long [`Fault::Slow`] is unless said.
    const SLOW: Duration = Duration::from_millis(500);

    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "rate_limited" => Self::RateLimited,
            "error_unkept" => Self::ErrorUnkept,
            "error_before" => Self::ErrorBefore,
            "error_after" => Self::ErrorAfter,
            "hang_before" => Self::HangBefore,
            "hang_after" => Self::HangAfter,
            "drop_before" => Self::DropBefore,
            "drop_after" => Self::DropAfter,
            "slow" => Self::Slow(Self::SLOW),
            _ => return None,
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    scripted: VecDeque<(Option<Operation>, Fault)>,
    standing: Option<Fault>,
}

impl Faults {
    pub(crate) fn next(&mut self, on: Option<Operation>, fault: Fault) {
        self.scripted.push_back((on, fault));
    }

    pub(crate) fn always(&mut self, fault: Option<Fault>) {
        self.standing = fault;
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// What is to go wrong with a call of this kind, now.
    pub(crate) fn strike(&mut self, operation: Operation) -> Option<Fault> {
        let meant = |(on, _): &(Option<Operation>, Fault)| on.is_none_or(|on| on == operation);
        match self.scripted.iter().position(meant) {
            Some(at) => self.scripted.remove(at).map(|(_, fault)| fault),
            None => self.standing,
        }
    }
}
