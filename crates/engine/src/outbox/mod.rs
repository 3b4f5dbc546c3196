//! What follows the journal: consumers of committed changes. Nothing here can change an answer.

pub mod live_map;
