//! The server as a process of its own: the real program on a free port, unaware of whatever this shell has set for
//! another. Started by the lab, which kills it in the middle of a sale, and by the bench, which measures it.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A running server; ends with this value.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    /// Runs `program serve` with these arguments and waits until it says where it listens. `key` is its admin's, `log`
    /// where its errors go. Blocks.
    pub fn start(program: &Path, args: &[impl AsRef<OsStr>], key: &str, log: Stdio) -> io::Result<Self> {
        let mut command = Command::new(program);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HOLDFAST_"))
        {
            command.env_remove(name);
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]).args(args);
        command.env("HOLDFAST_ADMIN_KEY", key).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn()?;
        match first_line(&mut child).and_then(|line| announced(&line)) {
            Ok(url) => Ok(Self { child, url }),
            Err(fault) => {
                end(&mut child);
                Err(fault)
            }
        }
    }

    /// `http://` and where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn child(&self) -> &Child {
        &self.child
    }

    /// As a power cut would: no goodbye.
    pub fn kill(mut self) {
        end(&mut self.child);
    }

    /// Waits until it has ended by itself, as after a signal.
    pub fn wait(mut self) -> io::Result<()> {
        self.child.wait().map(drop)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn first_line(child: &mut Child) -> io::Result<String> {
    let stdout = child.stdout.take().ok_or_else(|| io::Error::other("its output is not connected"))?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    Ok(line)
}

fn announced(line: &str) -> io::Result<String> {
    let url = line.trim().strip_prefix("listening on ").filter(|url| url.starts_with("http://"));
    url.map(str::to_owned)
        .ok_or_else(|| io::Error::other(format!("instead of its address it said {:?}", line.trim())))
}

fn end(child: &mut Child) {
    // It may have ended by itself; either way it is gone afterwards.
    let _ = child.kill();
    let _ = child.wait();
}
