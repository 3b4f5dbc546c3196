//! How the books are written down: compact, versioned, deterministic bytes.
//!
//! The same value always gives the same bytes, because the hash chain is over them. Integers are varints, texts
//! carry their length, every sum type its tag. The reader trusts nothing: whatever the bytes, it returns a value
//! of the domain or a typed fault, and it never reserves more memory than the input could fill.
//!
//! An encoding never changes its meaning. A new shape gets a new version byte (entries, checkpoints) or a new
//! tag, and the old ones stay readable.

mod domain;
mod entry;
mod parts;
mod payment;
mod wire;

pub use domain::Interner;
pub use entry::{decode_entry, encode_entry};
pub use parts::{decode_each_part, decode_parts, encode_parts};
pub use wire::{Malformed, Reader, Writer};
