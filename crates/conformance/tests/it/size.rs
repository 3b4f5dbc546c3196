//! How much a run does, and from which seed: smaller by default than what `docs/testing.md` calls the full size.

/// A whole number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number, not {text:?}")),
        Err(_) => default,
    }
}

/// The seed of this run, printed so that a failure can be had again.
pub(crate) fn seed(test: &str) -> u64 {
    let fresh = holdfast_engine::mint::random_bits() as u64;
    let seed = setting("HOLDFAST_TEST_SEED", fresh);
    println!("{test}: to have this run again, set HOLDFAST_TEST_SEED={seed}");
    seed
}
