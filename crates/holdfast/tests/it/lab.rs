//! The lab: who breaks and who holds, with figures that anybody can recompute.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;

use crate::support::run;

const EVERY: [&str; 4] = ["one_seat", "uncontended", "hot_stock", "multi_seat"];
const STRATEGIES: [&str; 14] = [
    "naive",
    "writer",
    "batched",
    "pessimistic",
    "atomic",
    "cas",
    "unique",
    "bitmap",
    "lock",
    "redlock",
    "decr",
    "lua",
    "layered",
    "queue",
];

fn number(run: &Value, figure: &str) -> u64 {
    run[figure].as_u64().unwrap_or_else(|| panic!("{figure} of {run}"))
}

/// Naive sells the seat twice, every mistake shows, everybody else has one winner; and a script that shares nothing with
/// the lab comes to the same figures from the histories.
#[test]
fn naive_breaks_and_every_strategy_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (json, html, histories) = (path("lab.json"), path("lab.html"), path("histories"));
    let done = run(&[
        "lab",
        "--quick",
        "--buyers",
        "50",
        "--seed",
        "7",
        "--json",
        &json,
        "--html",
        &html,
        "--histories",
        &histories,
    ]);
    let done = done.expect(0);
    let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((report["seed"].as_u64(), report["skipped"].as_array().unwrap().len()), (Some(7), 0));
    one_row_each(&report);
    for row in report["runs"].as_array().unwrap() {
        must_be_as_expected(row, &done.out);
    }
    assert!(fs::read_to_string(&html).unwrap().contains("double_sale"));
    recomputed(&json, &histories);
    rechecked(Path::new(&histories));
}

fn one_row_each(report: &Value) {
    let mut rows: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for row in report["runs"].as_array().unwrap() {
        *rows.entry((row["strategy"].as_str().unwrap(), row["scenario"].as_str().unwrap())).or_default() += 1;
    }
    for strategy in STRATEGIES {
        for scenario in EVERY {
            assert_eq!(rows.get(&(strategy, scenario)), Some(&1), "{strategy} {scenario}");
        }
    }
}

fn must_be_as_expected(row: &Value, shown: &str) {
    let (kind, scenario) = (row["kind"].as_str().unwrap(), row["scenario"].as_str().unwrap());
    match (row["strategy"].as_str().unwrap(), kind) {
        ("naive", _) if scenario == "one_seat" => assert!(number(row, "violations") > 0, "{row}"),
        ("naive", _) => {}
        ("naive_with_constraint", _) => {
            assert!(number(row, "violations") == 0 && row["saved_by"].is_string(), "{row}");
        }
        (_, "mistake") => assert!(number(row, "violations") > 0, "{row}"),
        _ => {
            assert_eq!(
                (number(row, "violations"), row["verdict"].as_str()),
                (0, Some("valid")),
                "{shown}\n{row}"
            );
            assert!(scenario != "one_seat" || number(row, "won") == 1, "{row}");
        }
    }
}

fn recomputed(json: &str, histories: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/recompute.py");
    let said = Command::new("python3").arg(script).args([json, histories]).output().unwrap();
    let said = (said.status.success(), String::from_utf8_lossy(&said.stdout).into_owned());
    assert!(said.0, "{}", said.1);
}

/// A history on disk is judged as it was in the run.
fn rechecked(histories: &Path) {
    let file = |name: &str| histories.join(name).to_str().unwrap().to_owned();
    let naive = run(&["lab", "check", &file("naive-one_seat-50.json")]);
    assert!(naive.code == 1 && naive.out.contains("DoubleSale"), "{}", naive.out);
    let batched = run(&["lab", "check", "--json", &file("batched-one_seat-50.json")]).expect(0);
    assert_eq!(batched.json()["verdict"], "valid");
}

#[test]
fn what_is_no_strategy_and_what_is_no_history_is_said() {
    let done = run(&["lab", "--strategies", "hope"]).expect(2);
    assert!(done.err.contains("there is no strategy \"hope\""), "{}", done.err);
    let done = run(&["lab", "check", "/proc/self/status"]).expect(2);
    assert!(done.err.contains("is no history"), "{}", done.err);
}
