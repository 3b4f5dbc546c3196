//! The rows that show payments. What an entry changes is written as a change of the row: the state in memory may be
//! ahead of the entry that is being shown.

use holdfast_domain::{BookingId, PaymentBegun, PaymentEvent, PaymentState};
use rusqlite::Connection;

use super::rows::execute;

/// The booking's own row is there already.
pub(super) fn begin(
    to: &Connection,
    seq: u64,
    hold_seq: Option<u64>,
    begun: &PaymentBegun,
) -> rusqlite::Result<()> {
    let booking = begun.booking.to_string();
    execute(
        to,
        "UPDATE holds SET state = 'paying', paying = ?2, pinned_ms = ?3, expires_ms = ?4, returns_ms = NULL,
             payments = min(payments + 1, 255)
         WHERE seq = ?1",
        (hold_seq, &booking, begun.pinned_until.ms(), begun.expires_at.ms()),
    )?;
    let method = begun.method.as_ref().map(|method| method.as_str());
    execute(
        to,
        "INSERT INTO payments (booking_seq, booking, provider, state, method, due_ms)
         VALUES (?1, ?2, 'stripe', 'requires_payment', ?3, ?4)",
        (seq, booking, method, begun.due_at.ms()),
    )
}

/// A booking that waited for its money and has it.
pub(super) fn confirm(to: &Connection, seq: u64, booking: BookingId) -> rusqlite::Result<()> {
    let booking = booking.to_string();
    note_entry(to, &booking, seq)?;
    execute(to, "UPDATE bookings SET state = 'confirmed' WHERE id = ?1", [booking])
}

pub(super) fn cancel(
    to: &Connection,
    booking: BookingId,
    hold_seq: Option<u64>,
    at_ms: i64,
) -> rusqlite::Result<()> {
    let booking = booking.to_string();
    unpin(to, &booking, hold_seq, "released", at_ms)?;
    let sql = "UPDATE payments SET due_ms = ?2
               WHERE booking = ?1 AND state IN ('requires_payment', 'processing', 'authorized')";
    execute(to, sql, (booking, at_ms))
}

pub(super) fn follow(
    to: &Connection,
    seq: u64,
    at_ms: i64,
    booking: BookingId,
    hold_seq: Option<u64>,
    event: &PaymentEvent,
) -> rusqlite::Result<()> {
    let id = &booking.to_string();
    note_entry(to, id, seq)?;
    match event {
        PaymentEvent::IntentNoted { intent, due_at } => {
            let sql = "UPDATE payments SET intent = ?2, due_ms = ?3 WHERE booking = ?1";
            execute(to, sql, (id, intent.as_str(), due_at.ms()))
        }
        PaymentEvent::Moved { to: state, due_at } => enter(to, id, *state, Some(due_at.ms())),
        PaymentEvent::Deferred { due_at } => {
            let sql = "UPDATE payments SET attempts = attempts + 1, due_ms = ?2 WHERE booking = ?1";
            execute(to, sql, (id, due_at.ms()))
        }
        PaymentEvent::Captured { amount } => {
            execute(to, "UPDATE payments SET captured = ?2 WHERE booking = ?1", (id, amount.minor()))?;
            enter(to, id, PaymentState::Succeeded, None)
        }
        PaymentEvent::Failed { why } => {
            explain(to, id, why.as_str())?;
            enter(to, id, PaymentState::Failed, None)
        }
        PaymentEvent::BookingFailed { why } => {
            explain(to, id, why.as_str())?;
            unpin(to, id, hold_seq, "active", at_ms)?;
            execute(to, "UPDATE bookings SET state = 'failed', failed_ms = ?2 WHERE id = ?1", (id, at_ms))
        }
        PaymentEvent::Retaken => execute(to, "UPDATE bookings SET state = 'confirmed' WHERE id = ?1", [id]),
        PaymentEvent::RefundBegun { due_at } => enter(to, id, PaymentState::Refunding, Some(due_at.ms())),
        PaymentEvent::Refunded => {
            execute(to, "UPDATE payments SET refunded = captured WHERE booking = ?1", [id])?;
            enter(to, id, PaymentState::Refunded, None)
        }
        PaymentEvent::Parked { captured, why } => {
            execute(
                to,
                "UPDATE payments SET captured = ?2, refunded = 0 WHERE booking = ?1",
                (id, captured.minor()),
            )?;
            explain(to, id, why.as_str())?;
            enter(to, id, PaymentState::Manual, None)
        }
    }
}

fn note_entry(to: &Connection, booking: &str, seq: u64) -> rusqlite::Result<()> {
    execute(to, "INSERT INTO payment_entries VALUES (?1, ?2)", (booking, seq))
}

fn enter(to: &Connection, booking: &str, state: PaymentState, due_ms: Option<i64>) -> rusqlite::Result<()> {
    let sql = "UPDATE payments SET state = ?2, due_ms = ?3, attempts = 0 WHERE booking = ?1";
    execute(to, sql, (booking, state.as_str(), due_ms))
}

fn explain(to: &Connection, booking: &str, why: &str) -> rusqlite::Result<()> {
    execute(to, "UPDATE payments SET why = ?2 WHERE booking = ?1", (booking, why))
}

/// The hold is no longer kept for this booking, if it was; where the pin had run out, it ended there.
fn unpin(
    to: &Connection,
    booking: &str,
    hold_seq: Option<u64>,
    becomes: &str,
    at_ms: i64,
) -> rusqlite::Result<()> {
    execute(
        to,
        "UPDATE holds SET state = iif(pinned_ms <= ?4, 'expired', ?3),
             ended_ms = iif(pinned_ms <= ?4 OR ?3 <> 'active', ?4, NULL),
             expires_ms = iif(pinned_ms <= ?4, pinned_ms, expires_ms), paying = NULL, pinned_ms = NULL
         WHERE seq = ?1 AND paying = ?2",
        (hold_seq, booking, becomes, at_ms),
    )
}
