//! `bitmap`: one `GETBIT` a unit before anything else; only a bit that is set is worth a second look.

use super::{counting::Judge, slate};

pub(super) const JUDGE: Judge = Judge { script: slate::BITMAP, covers: |_| true, with_bits: true };
