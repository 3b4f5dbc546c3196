//! Every target on stable: its seeds, then mutations of them.

use std::{fs, panic, path::Path};

use holdfast_fuzz::{TARGETS, Target, mutate::Mutations};

/// Mutations of each target's seeds; `HOLDFAST_TEST_MUTATIONS` asks for more.
fn mutations() -> usize {
    std::env::var("HOLDFAST_TEST_MUTATIONS").ok().and_then(|many| many.parse().ok()).unwrap_or(10_000)
}

fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target.name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|fault| panic!("{}: {fault}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn rehearse(target: &Target, input: &[u8]) {
    if panic::catch_unwind(|| (target.run)(input)).is_err() {
        panic!("{} fails on {:?}", target.name, input.escape_ascii().to_string());
    }
}

#[test]
fn no_target_fails_on_its_seeds_or_near_them() {
    for (at, target) in TARGETS.iter().enumerate() {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{} has no seed", target.name);
        seeds.iter().for_each(|seed| rehearse(target, seed));
        Mutations::new(&seeds, at as u64 + 1).take(mutations()).for_each(|input| rehearse(target, &input));
    }
}

#[test]
fn every_target_is_one_that_cargo_fuzz_finds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    for Target { name, .. } in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name} has no [[bin]]");
        let wrapper = fs::read_to_string(root.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(wrapper.contains(&format!("run(\"{name}\", data)")), "{name}'s wrapper runs something else");
    }
    let wrappers = fs::read_dir(root.join("fuzz_targets")).unwrap().count();
    assert_eq!(wrappers, TARGETS.len(), "a wrapper without a target");
}
