//! Keeps the prose true and the structure straight: what ARCHITECTURE.md promises must be there.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

/// Every file of ours below a folder with one of the endings.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|fault| panic!("{}: {fault}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found
}

fn sources() -> Vec<(PathBuf, String)> {
    let paths = files("crates", &[".rs"]).into_iter().chain(files("xtask", &[".rs"]));
    paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The words of a text that stand between back-ticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn dependencies_point_one_way() {
    // Who may depend on which of our crates. Tests may reach further; the product may not.
    let allowed = BTreeMap::from([
        ("domain", &[][..]),
        ("engine", &["holdfast-domain"]),
        ("server", &["holdfast-domain", "holdfast-engine"]),
        ("checker", &[]),
        ("lab", &["holdfast-checker", "holdfast-domain", "holdfast-engine", "holdfast-rigs"]),
        ("rigs", &[]),
        ("stripe-simulator", &[]),
        (
            "conformance",
            &["holdfast-checker", "holdfast-domain", "holdfast-engine", "holdfast-lab", "holdfast-rigs"],
        ),
        (
            "holdfast",
            &[
                "holdfast-checker",
                "holdfast-domain",
                "holdfast-engine",
                "holdfast-lab",
                "holdfast-rigs",
                "holdfast-server",
                "holdfast-stripe-simulator",
            ],
        ),
    ]);
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        let manifest: toml::Table = read(&format!("crates/{name}/Cargo.toml")).parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap();
        for ours in dependencies.keys().filter(|key| key.starts_with("holdfast")) {
            let may = allowed.get(name.as_str()).unwrap_or_else(|| panic!("crates/{name} has no rule here"));
            assert!(may.contains(&ours.as_str()), "crates/{name} must not depend on {ours}");
        }
    }
}

#[test]
fn the_domain_stays_pure() {
    let manifest: toml::Table = read("crates/domain/Cargo.toml").parse().unwrap();
    let dependencies: Vec<_> = manifest["dependencies"].as_table().unwrap().keys().cloned().collect();
    let needed = ["foldhash", "jiff", "unicode-normalization"];
    assert_eq!(dependencies, needed, "the domain needs a quick hash, time zones and Unicode, no more");
    for path in files("crates/domain/src", &[".rs"]) {
        let text = fs::read_to_string(&path).unwrap();
        for impure in
            ["std::fs", "std::net", "std::thread", "SystemTime", "Instant::now", "async fn", "serde"]
        {
            assert!(!text.contains(impure), "{} mentions {impure}", path.display());
        }
    }
}

#[test]
fn every_path_in_the_architecture_exists() {
    let text = read("ARCHITECTURE.md");
    let paths: Vec<_> = quoted(&text)
        .filter(|word| {
            ["crates/", "docs/", "xtask/", "fuzz/", "browser/"].iter().any(|p| word.starts_with(p))
        })
        .collect();
    assert!(paths.len() > 20, "the code map names its modules by path");
    for path in paths {
        assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
}

/// The table of invariants: `| **I1** | what | `test_name` … |`.
#[test]
fn every_invariant_names_tests_that_exist() {
    let text = read("ARCHITECTURE.md");
    let sources = sources();
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| **I")).collect();
    assert!(rows.len() >= 10, "the table of invariants is there");
    for row in rows {
        let proof = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let tests: Vec<_> = quoted(proof).collect();
        assert!(!tests.is_empty(), "no test stands behind: {row}");
        for test in tests {
            let found = sources.iter().any(|(_, source)| source.contains(&format!("fn {test}(")));
            let story = root().join(format!("crates/conformance/stories/{test}")).exists();
            assert!(found || story, "{test} stands behind an invariant but exists nowhere: {row}");
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let documents = files("docs", &[".md"]).into_iter().chain(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)),
    );
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if target.is_empty() || target.starts_with("http") {
                continue;
            }
            let there = document.parent().unwrap().join(target);
            assert!(there.exists(), "{} links to {target}", document.display());
        }
    }
}

#[test]
fn decisions_are_numbered_without_gaps() {
    let mut names: Vec<_> = files("docs/decisions", &[".md"])
        .into_iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for (number, name) in (1..).zip(&names) {
        assert!(name.starts_with(&format!("{number:04}-")), "{name} should be number {number:04}");
    }
}

#[test]
fn nothing_is_left_half_done() {
    // Spelled apart, so that this file does not find itself.
    let marks = [["todo", "!("], ["unimplemented", "!("], ["#[ig", "nore"], ["dbg", "!("], ["FIX", "ME"]]
        .map(|p| p.concat());
    for (path, source) in sources() {
        for mark in &marks {
            assert!(!source.contains(mark.as_str()), "{} contains {mark}", path.display());
        }
        assert!(source.lines().count() <= 700, "{} has grown two ideas: split it", path.display());
    }
}
