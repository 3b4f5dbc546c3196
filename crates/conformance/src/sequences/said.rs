//! What is reported of payments in random sequences.

use holdfast_domain::{
    BookingId, Command, Currency, IntentId, Moment, Money, PaymentOutcome, Reason, RefundOutcome, Resolution,
};
use holdfast_engine::ledger::IdempotencyKey;
use proptest::prelude::*;

/// What is reported of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Intent,
    RequiresAction,
    Processing,
    Authorized,
    Succeeded,
    WrongAmount,
    OtherPayment,
    Declined,
    Canceled,
    Doubtful,
    Refunded,
    RefundPending,
    RefundAbandoned,
    Nothing { again_in_s: u8 },
    Resolved(Resolution),
}

/// A booking that a sequence has made.
#[derive(Debug, Clone)]
pub(super) struct Booked {
    pub(super) id: BookingId,
    pub(super) price: Money,
    /// The key that began its payment.
    pub(super) key: Option<IdempotencyKey>,
}

pub(super) fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        2 => Just(Said::Intent),
        1 => Just(Said::RequiresAction),
        2 => Just(Said::Processing),
        1 => Just(Said::Authorized),
        8 => Just(Said::Succeeded),
        1 => Just(Said::WrongAmount),
        1 => Just(Said::OtherPayment),
        3 => Just(Said::Declined),
        1 => Just(Said::Canceled),
        1 => Just(Said::Doubtful),
        3 => Just(Said::Refunded),
        1 => Just(Said::RefundPending),
        1 => Just(Said::RefundAbandoned),
        2 => any::<u8>().prop_map(|again_in_s| Said::Nothing { again_in_s }),
        1 => Just(Said::Resolved(Resolution::Retry)),
        1 => Just(Said::Resolved(Resolution::Refunded)),
        1 => Just(Said::Resolved(Resolution::Paid)),
    ]
}

impl Said {
    pub(super) fn command(self, booking: BookingId, price: Money, now: Moment) -> Command {
        let due_at = now.plus_s(30);
        let because = || Reason::new("because");
        let intent = |sort: &str| IntentId::new(&format!("{sort}_{booking}")).expect("a name");
        let currency = Currency::new("EUR").expect("a currency");
        let settle = |sort: &str, outcome| Command::SettlePayment {
            booking,
            intent: Some(intent(sort)),
            outcome,
            due_at,
        };
        let succeeded = |amount| PaymentOutcome::Succeeded { amount, currency };
        let wrong = Money::new(price.minor() + 1).expect("a small price");
        let refund = |outcome| Command::NoteRefund { booking, outcome, due_at };
        match self {
            Self::Intent => Command::NoteIntent { booking, intent: intent("pi"), due_at },
            Self::RequiresAction => settle("pi", PaymentOutcome::RequiresAction),
            Self::Processing => settle("pi", PaymentOutcome::Processing),
            Self::Authorized => settle("pi", PaymentOutcome::Authorized),
            Self::Succeeded => settle("pi", succeeded(price)),
            Self::WrongAmount => settle("pi", succeeded(wrong)),
            Self::OtherPayment => settle("other", succeeded(price)),
            Self::Declined => settle("pi", PaymentOutcome::Declined { reason: because() }),
            Self::Canceled => settle("pi", PaymentOutcome::Canceled),
            Self::Doubtful => settle("pi", PaymentOutcome::Doubtful { why: because() }),
            Self::Refunded => refund(RefundOutcome::Succeeded),
            Self::RefundPending => refund(RefundOutcome::Pending),
            Self::RefundAbandoned => refund(RefundOutcome::Abandoned { why: because() }),
            Self::Nothing { again_in_s } => {
                Command::DeferPayment { booking, due_at: now.plus_s(again_in_s.into()) }
            }
            Self::Resolved(how) => Command::ResolvePayment { booking, how },
        }
    }
}
