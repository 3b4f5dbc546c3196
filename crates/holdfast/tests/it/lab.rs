//! The lab: who breaks and who holds, with figures that anybody can recompute.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use holdfast_rigs::{Postgres, Redis, Reply};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{done, folder, holdfast, run, text};

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
    let svg = path("lab.svg");
    let done = run(&[
        "lab",
        "--quick",
        "--within",
        "600",
        "--buyers",
        "50",
        "--seed",
        "7",
        "--json",
        &json,
        "--html",
        &html,
        "--svg",
        &svg,
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
    assert!(fs::read_to_string(&svg).unwrap().contains("owners of one seat"));
    recomputed(&json, &histories);
    rechecked(Path::new(&histories));
}

fn report(json: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap()
}

/// Killed in the middle of a sale and started again on the same books, a server has lost nothing and sold nothing twice,
/// and what had no answer is settled by its key.
#[test]
fn a_server_killed_in_the_middle_loses_nothing() {
    let folder = folder();
    let (json, histories) = (folder.path().join("lab.json"), folder.path().join("histories"));
    let scenario = "fault_server_killed";
    run(&["lab", "--scenarios", scenario, "--json", text(&json), "--histories", text(&histories)]).expect(0);
    let report = report(&json);
    assert!(report["skipped"].as_array().unwrap().is_empty(), "{}", report["skipped"]);
    for strategy in ["writer", "batched", "lock", "lua"] {
        let named = |row: &&Value| row["strategy"] == strategy;
        let row = report["runs"].as_array().unwrap().iter().find(named).unwrap();
        assert_eq!(row["verdict"], "valid", "{row}");
        let fault = report["faults"].as_array().unwrap().iter().find(named).unwrap();
        let sold = |during: &dyn Fn(u64) -> bool| -> u64 {
            let bins = fault["bins"].as_array().unwrap().iter();
            bins.filter(|bin| during(number(bin, "at_ms"))).map(|bin| number(bin, "won")).sum()
        };
        let (from, to) = (number(fault, "from_ms"), number(fault, "to_ms"));
        assert!(sold(&|at| at < from) > 0 && sold(&|at| at > to) > 0, "it sold before and after: {fault}");
    }
    let in_doubt: u64 = report["runs"].as_array().unwrap().iter().map(|row| number(row, "unknown")).sum();
    assert!(in_doubt > 0, "nobody was in the middle of anything: {}", report["runs"]);
    recomputed(text(&json), text(&histories));
}

/// A path on which everything is found but Redis: what needs it says so, and the rest runs.
#[test]
fn without_redis_it_runs_what_it_can() {
    let folder = folder();
    let (programs, json) = (folder.path().join("programs"), folder.path().join("lab.json"));
    fs::create_dir(&programs).unwrap();
    for place in env::split_paths(&env::var_os("PATH").unwrap()) {
        for program in fs::read_dir(place).into_iter().flatten().flatten() {
            if !program.file_name().to_string_lossy().starts_with("redis") {
                // Whatever comes first on the path counts.
                let _ = symlink(program.path(), programs.join(program.file_name()));
            }
        }
    }
    let asked =
        ["lab", "--quick", "--strategies", "naive,writer,batched,lua,redlock,del_without_owner_check"];
    let mut command = holdfast(&asked);
    command.args(["--buyers", "5", "--json", text(&json)]).env("PATH", &programs);
    done(command.output().unwrap()).expect(0);
    let report = report(&json);
    let names = |of: &str| -> BTreeSet<&str> {
        report[of].as_array().unwrap().iter().map(|row| row["strategy"].as_str().unwrap()).collect()
    };
    assert_eq!(names("runs"), BTreeSet::from(["naive", "writer", "batched"]));
    assert_eq!(names("skipped"), BTreeSet::from(["lua", "redlock", "del_without_owner_check"]));
    for skipped in report["skipped"].as_array().unwrap() {
        assert!(skipped["why"].as_str().unwrap().starts_with("redis-server is not installed"), "{skipped}");
    }
    let skipped = |scenario: &str| {
        let rows = report["skipped"].as_array().unwrap().iter();
        rows.filter(|row| row["strategy"] == "lua" && row["scenario"] == scenario).count()
    };
    assert!(EVERY.iter().all(|scenario| skipped(scenario) == 1), "a reason a row: {}", report["skipped"]);
}

/// On servers of somebody else: nothing is broken on purpose, and nothing is left.
#[test]
fn on_servers_that_are_named_it_leaves_nothing() {
    let redis = Redis::start().unwrap();
    let folder = folder();
    let json = folder.path().join("lab.json");
    assert_eq!(redis.ask(&["SET", "hf:{somebody}:else", "1"]).unwrap(), Reply::Status("OK".to_owned()));
    let postgres = Postgres::start().unwrap();
    let databases = || postgres.ask("postgres", "SELECT datname FROM pg_database ORDER BY datname").unwrap();
    let before = databases();
    let strategies = "batched,lua,layered,lock,redlock,lock_released_before_commit,decr_without_compensation";
    let (ledger, gate) = (postgres.url(), redis.url());
    let mut command = holdfast(&["lab", "--quick", "--strategies", strategies, "--buyers", "5", "--json"]);
    let scenarios = "one_seat,hot_stock,mistakes,fault_server_killed,fault_redis_flushed";
    command.arg(&json).args(["--ledger", &ledger, "--gate", &gate, "--scenarios", scenarios]);
    done(command.output().unwrap()).expect(0);
    let report = report(&json);
    let ran = |strategy: &str, scenario: &str| {
        let rows = report["runs"].as_array().unwrap().iter();
        rows.filter(|row| row["strategy"] == strategy && row["scenario"] == scenario).count() == 1
    };
    assert!(ran("lock", "one_seat") && ran("lua", "hot_stock") && ran("lua", "fault_server_killed"));
    assert!(ran("redlock", "one_seat") && ran("redlock", "hot_stock"), "on servers of its own");
    assert!(!ran("lua", "fault_redis_flushed"), "somebody else's servers are not broken");
    assert_eq!(databases(), before);
    let Reply::Array(left) = redis.ask(&["KEYS", "*"]).unwrap() else { panic!("KEYS answers with a list") };
    for key in left {
        let Reply::Bulk(key) = key else { panic!("a key is text") };
        let key = String::from_utf8(key).unwrap();
        // What remembers a rate or that somebody is there ends within seconds.
        let ends_soon = match redis.ask(&["PTTL", &key]).unwrap() {
            Reply::Integer(ms) => (0..=60_000).contains(&ms) || ms == -2,
            other => panic!("{other:?}"),
        };
        assert!(ends_soon || key == "hf:{somebody}:else", "{key} is left");
    }
}

/// Told to stop in the middle, it clears away what it made and says so with its exit code.
#[test]
fn an_interrupted_run_leaves_nothing() {
    let postgres = Postgres::start().unwrap();
    let made = "SELECT datname FROM pg_database WHERE datname LIKE 'holdfast_scratch_%'";
    let scratch = || postgres.ask("postgres", made).unwrap();
    let ledger = postgres.url();
    let mut command = holdfast(&["lab", "--strategies", "batched", "--scenarios", "hold_think_pay"]);
    command.args(["--ledger", &ledger]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut lab = command.spawn().unwrap();
    while scratch().is_empty() {
        assert_eq!(lab.try_wait().unwrap(), None, "it ended by itself");
    }
    kill_process(Pid::from_child(&lab), Signal::INT).unwrap();
    assert_eq!(lab.wait().unwrap().code(), Some(130));
    assert!(scratch().is_empty());
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
    let done = run(&["lab", "--scenarios", "doomsday"]).expect(2);
    assert!(done.err.contains("there is no scenario \"doomsday\""), "{}", done.err);
    assert!(done.err.contains("mistake_one_seat"), "what the table prints can be asked for: {}", done.err);
    let done = run(&["lab", "check", "/proc/self/status"]).expect(2);
    assert!(done.err.contains("is no history"), "{}", done.err);
}

/// A script can tell the three verdicts apart; the fourth answer is that there is nothing to judge.
#[test]
fn every_verdict_has_an_exit_code() {
    let folder = folder();
    let check = |name: &str, operations: &str| {
        let path = folder.path().join(name);
        let units = r#"[{"name":"A-1","capacity":1}]"#;
        fs::write(&path, format!(r#"{{"units":{units},"operations":[{operations}]}}"#)).unwrap();
        run(&["lab", "check", "--json", text(&path)])
    };
    let held = |hold: u32| {
        let (claims, expires) = (r#"[{"unit":0,"qty":1}]"#, 600_000_000);
        let call = format!(r#"{{"hold":{{"holder":{hold},"claims":{claims},"hold":{hold}}}}}"#);
        let answer = format!(r#"{{"hold":{hold},"holder":{hold},"claims":{claims},"expires_at":{expires}}}"#);
        format!(
            r#"{{"process":{hold},"start":0,"end":10,"call":{call},"outcome":{{"ok":{{"held":{answer}}}}}}}"#
        )
    };
    assert_eq!(check("valid", &held(1)).expect(0).json()["verdict"], "valid");
    let twice = format!("{},{}", held(1), held(2));
    assert_eq!(check("invalid", &twice).expect(1).json()["verdict"], "invalid");
    assert_eq!(check("nothing", "").expect(6).json()["verdict"], "unknown");
}
