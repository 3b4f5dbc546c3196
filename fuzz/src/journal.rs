//! The books as bytes: what a disk, a backup or a torn write may hand to the reader.

use holdfast_engine::ledger::codec::{Interner, decode_entry, decode_parts, encode_entry, encode_parts};

/// An entry that can be read means the same when written and read again.
pub(crate) fn entry(data: &[u8]) {
    let Ok(entry) = decode_entry(data, &mut Interner::default()) else { return };
    let mut again = Vec::new();
    encode_entry(&mut again, entry.seq, entry.at, &entry.actor, &entry.event);
    assert_eq!(decode_entry(&again, &mut Interner::default()).as_ref(), Ok(&entry));
}

pub(crate) fn checkpoint(data: &[u8]) {
    let Ok(parts) = decode_parts(data) else { return };
    assert_eq!(decode_parts(&encode_parts(&parts)).as_ref(), Ok(&parts));
}
