//! What is drawn: fresh identifiers, 128 bits from the operating system's generator, in blocks so that a hold does not
//! cost a system call; and how long to wait, where many must not do so equally long.

use std::{cell::RefCell, time::Duration};

use holdfast_domain::{BookingId, HoldId};

const BLOCK: usize = 4096;

thread_local! {
    /// Bytes not handed out yet, taken from the end.
    static POOL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub fn hold_id() -> HoldId {
    HoldId::from_bits(random_bits())
}

pub fn booking_id() -> BookingId {
    BookingId::from_bits(random_bits())
}

/// Somewhere between the two.
pub fn wait_between(least: Duration, most: Duration) -> Duration {
    let span = most.saturating_sub(least).as_micros().max(1);
    least + Duration::from_micros((random_bits() % span) as u64)
}

/// 128 random bits.
pub fn random_bits() -> u128 {
    POOL.with_borrow_mut(|pool| {
        if pool.len() < 16 {
            pool.resize(BLOCK, 0);
            getrandom::fill(pool).expect("the operating system gives random bytes");
        }
        let rest = pool.len() - 16;
        let bits = u128::from_le_bytes(pool[rest..].try_into().expect("sixteen bytes"));
        pool.truncate(rest);
        bits
    })
}
