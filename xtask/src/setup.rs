//! What the tests need beyond Rust, found or installed: through the system's package manager where that is
//! allowed, with a clear message where it is not.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::steps::{run, target};

/// A program the tests use, and the Debian package that brings it.
struct Tool {
    program: &'static str,
    package: &'static str,
    why: &'static str,
    /// What the package starts on its own as soon as it is installed.
    service: Option<&'static str>,
}

const TOOLS: &[Tool] = &[
    Tool {
        program: "strace",
        package: "strace",
        why: "kills the store at every single write",
        service: None,
    },
    Tool {
        program: "python3",
        package: "python3",
        why: "runs the schema-driven test of the HTTP API",
        service: None,
    },
    Tool {
        program: "initdb",
        package: "postgresql",
        why: "makes the private PostgreSQL servers of the tests",
        service: Some("postgresql"),
    },
    Tool {
        program: "pgbench",
        package: "postgresql-contrib",
        why: "is what the speed on PostgreSQL is compared with",
        service: None,
    },
    // Sentinels too: `redis-server --sentinel` is one, whatever else a system packages apart.
    Tool {
        program: "redis-server",
        package: "redis-server",
        why: "is the private Redis of the tests",
        service: Some("redis-server"),
    },
    Tool {
        program: "pgbouncer",
        package: "pgbouncer",
        why: "stands between the tests and PostgreSQL at least once",
        service: Some("pgbouncer"),
    },
    Tool {
        program: "node",
        package: "nodejs",
        why: "runs the browser tests, and Stripe's own library against the simulator",
        service: None,
    },
    Tool { program: "npm", package: "npm", why: "fetches what those two need", service: None },
    Tool {
        program: "chromium",
        package: "chromium",
        why: "is the browser of the browser tests",
        service: None,
    },
];

/// Pinned, so that a run today and a run next year ask the same questions.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

/// Stripe's library for Node, of the version that the test was written against.
const STRIPE_FOR_NODE: &str = "stripe@23.1.0";

/// What drives the browser, and what judges how accessible its pages are.
const BROWSER_TOOLS: [(&str, &str); 2] = [("playwright-core", "1.65.0"), ("axe-core", "4.14.0")];

/// Installs the tools that are missing.
pub(crate) fn tools() -> Result<()> {
    let missing: Vec<&Tool> = TOOLS.iter().filter(|tool| !installed(tool.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        eprintln!("{} is missing: it {}", tool.program, tool.why);
    }
    if missing.iter().any(|tool| tool.package == "postgresql") {
        no_system_cluster();
    }
    install(&missing.iter().map(|tool| tool.package).collect::<Vec<_>>())?;
    missing.iter().filter_map(|tool| tool.service).for_each(end_service);
    match missing.iter().find(|tool| !installed(tool.program)) {
        Some(tool) => bail!("the package {} is installed but brought no {}", tool.package, tool.program),
        None => Ok(()),
    }
}

/// Debian's PostgreSQL package makes a database of its own and starts it with the machine. The tests need only the
/// programs, so it is told not to, unless this machine has an opinion already. Someone who wants that database later
/// runs `pg_createcluster`.
fn no_system_cluster() {
    let settings = Path::new("/etc/postgresql-common/createcluster.conf");
    let Some(prefix) = as_root().filter(|_| on_path("apt-get") && !settings.exists()) else {
        return;
    };
    // A failure costs an idle server, not the tests.
    let script = format!(
        "mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' > {}",
        settings.display()
    );
    let _ = rooted(prefix, "sh").args(["-c", &script]).status();
}

/// Debian starts a service the moment it is installed. The program was not here before, so nobody relies on the
/// service: what the tests did not need must not go on running.
fn end_service(service: &str) {
    let Some(prefix) = as_root() else {
        return;
    };
    let mut end = if Path::new("/run/systemd/system").exists() {
        let mut systemctl = rooted(prefix, "systemctl");
        systemctl.args(["disable", "--now", service]);
        systemctl
    } else {
        let mut init = rooted(prefix, "service");
        init.args([service, "stop"]);
        init
    };
    if !end.output().is_ok_and(|ended| ended.status.success()) {
        eprintln!("the service {service} may have been started by its package; it is not needed");
    }
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
    insist(
        "installing schemathesis",
        pip.args(["install", "--quiet", "--disable-pip-version-check", SCHEMATHESIS]),
    )?;
    Ok(program)
}

/// Stripe's library for Node, in a folder of its own below `target/`.
pub(crate) fn stripe_for_node() -> Result<PathBuf> {
    let home = target().join("tools/stripe-node");
    if !home.join("node_modules/stripe/package.json").exists() {
        npm_install("Stripe's library for Node", &home, &[STRIPE_FOR_NODE.to_owned()])?;
    }
    Ok(home)
}

/// What the browser tests are made with. The browser itself is the system's: nothing of the kind is downloaded.
pub(crate) fn browser_tools() -> Result<PathBuf> {
    let home = target().join("tools/browser");
    let present = |(name, version): &(&str, &str)| {
        let manifest = std::fs::read_to_string(home.join(format!("node_modules/{name}/package.json")));
        manifest.is_ok_and(|text| text.contains(&format!("\"version\": \"{version}\"")))
    };
    if !BROWSER_TOOLS.iter().all(present) {
        let packages = BROWSER_TOOLS.map(|(name, version)| format!("{name}@{version}"));
        npm_install("what drives the browser", &home, &packages)?;
    }
    Ok(home)
}

fn npm_install(what: &str, home: &Path, packages: &[String]) -> Result<()> {
    std::fs::create_dir_all(home)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(home);
    insist(&format!("installing {what}"), npm.args(packages))
}

/// Runs a step that fetches something, again if it fails: a network may have a bad moment.
fn insist(step: &str, command: &mut Command) -> Result<()> {
    const TRIES: u32 = 3;
    const PAUSE: Duration = Duration::from_secs(5);
    for _ in 1..TRIES {
        match run(step, &mut *command) {
            Ok(()) => return Ok(()),
            Err(fault) => eprintln!("{fault:#}; once more in {} s", PAUSE.as_secs()),
        }
        std::thread::sleep(PAUSE);
    }
    run(step, command)
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
        // Through `env`, because sudo does not pass the environment on.
        let mut command = rooted(prefix, "env");
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(arguments);
        command
    };
    insist("package lists", &mut apt(&["update", "--quiet"]))?;
    insist(
        "packages",
        &mut apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], packages].concat()),
    )
    .context(by_hand)
}

/// A command with the words before it that make it root's.
fn rooted(prefix: &[&str], program: &str) -> Command {
    let mut words = prefix.iter().copied().chain([program]);
    let mut command = Command::new(words.next().expect("the program at least"));
    command.args(words);
    command
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

/// Debian keeps the programs of PostgreSQL's server off the path, in a folder per version, and those of daemons where
/// an ordinary user's path may not lead.
fn installed(program: &str) -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let of_versions = versions.map(|version| version.path().join("bin"));
    let mut folders = of_versions.chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    on_path(program) || folders.any(|folder| folder.join(program).is_file())
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
