//! The proof, in one binary: stories, random sequences, concurrent histories, seeded bugs and crashes.

#[path = "../common/certificates.rs"]
mod certificates;
mod crashes;
mod histories;
mod payments;
mod postgres;
mod postgres_verify;
mod seeded_bugs;
mod sequences;
mod size;
mod stalls;
mod stories;
