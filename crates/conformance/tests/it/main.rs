//! The proof, in one binary: stories, random sequences, concurrent histories, seeded bugs and crashes.

mod sequences;
mod size;
mod stories;
