//! What the tests need beyond Rust, found or installed: through the system's package manager where that is
//! allowed, with a clear message where it is not.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::steps::{run, target};

/// A program the tests use, and the Debian package that brings it.
struct Tool {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { program: "strace", package: "strace", why: "kills the store at every single write" },
    Tool { program: "python3", package: "python3", why: "runs the schema-driven test of the HTTP API" },
];

/// Pinned, so that a run today and a run next year ask the same questions.
const SCHEMATHESIS: &str = "schemathesis==4.*";

/// Installs the tools that are missing.
pub(crate) fn tools() -> Result<()> {
    let missing: Vec<&Tool> = TOOLS.iter().filter(|tool| !on_path(tool.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        eprintln!("{} is missing: it {}", tool.program, tool.why);
    }
    install(&missing.iter().map(|tool| tool.package).collect::<Vec<_>>())
}

/// The schema-driven tester, in a private environment below `target/`.
pub(crate) fn schemathesis() -> Result<PathBuf> {
    let home = target().join("tools/schemathesis");
    let program = home.join("bin/schemathesis");
    if program.exists() {
        return Ok(program);
    }
    let venv = || Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home).output();
    if !venv().is_ok_and(|made| made.status.success()) {
        // Debian ships Python without the module that makes environments.
        install(&["python3-venv"])?;
        let made = venv().context("python3 could not be started")?;
        if !made.status.success() {
            bail!("python3 -m venv failed: {}", String::from_utf8_lossy(&made.stderr));
        }
    }
    let mut pip = Command::new(home.join("bin/pip"));
    run(
        "installing schemathesis",
        pip.args(["install", "--quiet", "--disable-pip-version-check", SCHEMATHESIS]),
    )?;
    Ok(program)
}

fn install(packages: &[&str]) -> Result<()> {
    let by_hand = format!("install them by hand: apt-get install {}", packages.join(" "));
    if !on_path("apt-get") {
        bail!("{} needed, and there is no apt-get here; {by_hand}", packages.join(", "));
    }
    let Some(prefix) = as_root() else {
        bail!("{} needed, and this user may not install packages; {by_hand}", packages.join(", "));
    };
    let apt = |arguments: &[&str]| {
        let mut words = prefix.iter().copied().chain(["apt-get"]);
        let mut command = Command::new(words.next().expect("apt-get at least"));
        command.args(words).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run("package lists", apt(&["update", "--quiet"]))?;
    run("packages", apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], packages].concat()))
        .context(by_hand)
}

/// How to become root: not at all when already so, by `sudo` when it asks no password.
fn as_root() -> Option<&'static [&'static str]> {
    let succeeds = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        Some(&[])
    } else if succeeds("sudo", &["-n", "true"]) {
        Some(&["sudo", "-n"])
    } else {
        None
    }
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
