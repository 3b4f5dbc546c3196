//! What each command does, step by step. A step that fails ends the run and says which one it was.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::setup;

pub(crate) fn test() -> Result<()> {
    setup::tools()?;
    run("tests", cargo(&["test", "--workspace"]).envs(same_dice()))?;
    // The tests had the program built. Asking for it again would build it without what only tests need of the crates
    // beneath it, and that takes minutes.
    stripe_library()?;
    pages(&[])?;
    api_by_schema()
}

/// The dice of every run, unless somebody has chosen others: what is to pass here passed where it was written. `soak` rolls
/// anew each time.
fn same_dice() -> impl Iterator<Item = (&'static str, &'static str)> {
    let dice = [("HOLDFAST_TEST_SEED", "20261117"), ("PROPTEST_RNG_SEED", "20261117")];
    dice.into_iter().filter(|(name, _)| std::env::var_os(name).is_none())
}

fn program() -> PathBuf {
    target().join("debug/holdfast")
}

fn build_program() -> Result<()> {
    run("program", &mut cargo(&["build", "--package", "holdfast"]))
}

/// Real pages in a real browser: every file of `browser/`, or those that are named (`cargo xtask browser map`).
pub(crate) fn browser(names: &[String]) -> Result<()> {
    build_program()?;
    pages(names)
}

fn pages(names: &[String]) -> Result<()> {
    let tools = setup::browser_tools()?;
    let command = &mut Command::new("node");
    command
        .current_dir(root())
        // One file after the other: each has a server and a browser, and some of them measure. Each test has a limit of
        // its own (`openHouse`); this one ends a file that hangs around them.
        .args(["--test", "--test-concurrency=1", "--test-timeout=900000", "--test-reporter=spec"])
        .args(browser_files(names)?)
        .env("HOLDFAST_TEST_TOOLS", tools)
        .env("HOLDFAST_TEST_PROGRAM", program());
    run("pages in the browser", command)
}

/// The pictures of every page in `docs/screenshots`, taken anew; words name looks and parts of names.
pub(crate) fn pictures(words: &[String]) -> Result<()> {
    let tools = setup::browser_tools()?;
    build_program()?;
    let command = &mut Command::new("node");
    command
        .arg(root().join("browser/pictures/take.mjs"))
        .args(words)
        .env("HOLDFAST_TEST_TOOLS", tools)
        .env("HOLDFAST_TEST_PROGRAM", program());
    run("pictures of the pages", command)
}

fn browser_files(names: &[String]) -> Result<Vec<PathBuf>> {
    let folder = root().join("browser");
    if !names.is_empty() {
        return Ok(names.iter().map(|name| folder.join(name).with_extension("mjs")).collect());
    }
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "mjs"));
    files.sort();
    Ok(files)
}

/// Code that nobody here wrote must take the simulator for Stripe.
pub(crate) fn stripe() -> Result<()> {
    build_program()?;
    stripe_library()
}

fn stripe_library() -> Result<()> {
    let library = setup::stripe_for_node()?;
    let test = root().join("crates/stripe-simulator/tests/sdk.mjs");
    let command = &mut Command::new("node");
    command.arg(test).arg(library).arg(program());
    run("Stripe's library for Node against the simulator", command)
}

/// The proofs at the size their claims are made at.
pub(crate) fn soak() -> Result<()> {
    setup::tools()?;
    let full_size = [("HOLDFAST_TEST_SEQUENCES", "100000"), ("HOLDFAST_TEST_CRASHES", "1000")];
    run(
        "proofs at full size",
        cargo(&["test", "--release", "--package", "holdfast-conformance"]).envs(full_size),
    )
}

pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    run("bench", cargo(&["run", "--release", "--package", "holdfast", "--", "bench"]).args(arguments))
}

/// A tester that knows nothing but `/openapi.json` tries to surprise a real server.
pub(crate) fn api() -> Result<()> {
    build_program()?;
    api_by_schema()
}

fn api_by_schema() -> Result<()> {
    let schemathesis = setup::schemathesis()?;
    let server = Server::start()?;
    let report = target().join("schemathesis");
    let command = &mut Command::new(schemathesis);
    // It leaves notes for its next run where it stands.
    command
        .current_dir(target())
        .args(["run", &format!("{}/openapi.json", server.url)])
        .args(["--header", &format!("Authorization: Bearer {}", server.key)])
        // A well-formed request may still be refused: a seat is taken, a hold unknown. Everything else is checked.
        .args([
            "--checks",
            "all",
            "--exclude-checks",
            "positive_data_acceptance",
            "--max-examples",
            "40",
            "--seed",
            "7",
            "--workers",
            "1",
        ])
        .args(["--exclude-path-regex", "/map/stream$"])
        .args(["--no-color", "--report-dir"])
        .arg(report);
    run("schema-driven test of the API", command)
}

/// A private demo on a free port, ended when dropped.
struct Server {
    child: Child,
    url: String,
    key: String,
    /// Kept open: a server that cannot say anything any more might stop.
    _output: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> Result<Self> {
        let mut child = Command::new(program())
            .args(["demo", "--listen", "127.0.0.1:0", "--buyers", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .context("the server did not start")?;
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let (mut url, mut key) = (None, None);
        for line in output.by_ref().lines().map_while(Result::ok) {
            let address = line.split_whitespace().find_map(|word| word.strip_suffix("/docs"));
            url = url.or(address.map(str::to_owned));
            key = key.or(line.split_whitespace().find(|word| word.starts_with("hf_")).map(str::to_owned));
            if url.is_some() && key.is_some() {
                break;
            }
        }
        match (url, key) {
            (Some(url), Some(key)) => Ok(Self { child, url, key, _output: output }),
            _ => bail!("the server ended before it said where it listens"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    // What cargo tells this program of itself would make build scripts, and all that follows from them, run again.
    let of_this_program = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars().filter(|(name, _)| of_this_program(name)) {
        command.env_remove(name);
    }
    command
}

/// Runs one step, with a headline before it and its name in the failure.
pub(crate) fn run(step: &str, mut command: impl std::borrow::BorrowMut<Command>) -> Result<()> {
    eprintln!("\n── {step}");
    let status = command.borrow_mut().status().with_context(|| format!("{step}: could not be started"))?;
    if !status.success() {
        bail!("{step} failed ({status})");
    }
    Ok(())
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
