//! `lua`: stock, limit per holder and seat state, in one script that runs as one step.

use super::{counting::Judge, slate};

pub(super) const JUDGE: Judge = Judge { script: slate::LUA, covers: |_| true, with_bits: false };
