//! `decr`: counted stock, taken first and put back when it was too much. Seats and slots go to the ledger unjudged.

use holdfast_domain::Kind;

use super::{counting::Judge, slate};

pub(super) const JUDGE: Judge =
    Judge { script: slate::DECR, covers: |kind| kind == Kind::Stock, with_bits: false };
