//! What buyers do, by name. A scenario says what is on sale, what everybody wants, and what a run must have seen to
//! prove anything; the [`schedule`](crate::schedule) makes the requests from it.

use std::fmt;

use holdfast_checker::Evidence;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scenario {
    /// One seat, and everybody wants it at the same moment.
    OneSeat,
    /// A seat for everybody, one after the other: what a strategy costs when nobody is in the way.
    Uncontended,
    /// One line of stock, and at least half of those who come leave without.
    HotStock,
    /// Two or three seats of a small ring each, named in opposing orders.
    MultiSeat,
    /// A hold, a pause, a payment; some leave without a word and some come back too late.
    HoldThinkPay,
    /// Everybody sends the same request, with the same key, several times at once.
    RetryStorm,
    /// As `Uncontended`, but requests come at a rate, whether answered or not.
    OpenUncontended,
}

impl Scenario {
    /// Those that every strategy runs at every number of buyers.
    pub const EVERY: &[Self] = &[Self::OneSeat, Self::Uncontended, Self::HotStock, Self::MultiSeat];

    /// Those that take their time or ask for one size only.
    pub const ONCE: &[Self] = &[Self::OpenUncontended, Self::RetryStorm, Self::HoldThinkPay];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneSeat => "one_seat",
            Self::Uncontended => "uncontended",
            Self::HotStock => "hot_stock",
            Self::MultiSeat => "multi_seat",
            Self::HoldThinkPay => "hold_think_pay",
            Self::RetryStorm => "retry_storm",
            Self::OpenUncontended => "open_uncontended",
        }
    }

    /// What a run must have seen: without it a promise was not put to the test. Stock, too, must have run out under
    /// somebody: to be told that there is too much to do is no word about the stock.
    pub(crate) fn evidence(self, buyers: u32) -> Evidence {
        let contended = match self {
            Self::OneSeat | Self::MultiSeat | Self::HoldThinkPay => buyers > 1,
            Self::HotStock => true,
            Self::Uncontended | Self::RetryStorm | Self::OpenUncontended => false,
        };
        Evidence { win: true, conflict: contended, expiry: self == Self::HoldThinkPay }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
