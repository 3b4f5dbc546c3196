use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::{done, folder, holdfast};

/// A running demo, with what it printed.
struct Demo {
    child: Child,
    text: String,
    out: BufReader<std::process::ChildStdout>,
    /// Where it leaves its hint.
    runtime: TempDir,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        let runtime = folder();
        let mut command = holdfast(&[&["demo"], arguments].concat());
        let mut child =
            command.env("XDG_RUNTIME_DIR", runtime.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("Ctrl-C") {
            assert!(out.read_line(&mut text).unwrap() > 0, "it ended early: {text}");
        }
        Self { child, text, out, runtime }
    }

    fn curl_line(&self) -> String {
        let lines: Vec<&str> =
            self.text.lines().map(str::trim).filter(|line| line.starts_with("curl ")).collect();
        assert_eq!(lines.len(), 1, "there is one line to paste: {}", self.text);
        lines[0].to_owned()
    }

    fn race(&self, arguments: &[&str]) -> crate::support::Done {
        let mut command = holdfast(&[&["race"], arguments].concat());
        done(command.env("XDG_RUNTIME_DIR", self.runtime.path()).output().unwrap())
    }

    fn stop(mut self) -> (i32, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut more = String::new();
        self.out.read_to_string(&mut more).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), more)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Pastes a line into a shell; what curl printed, or nothing where this machine has no curl.
fn paste(line: &str) -> Option<String> {
    let output = Command::new("sh").args(["-c", &line.replacen("curl ", "curl -sS ", 1)]).output().ok()?;
    (output.status.code() != Some(127)).then(|| String::from_utf8(output.stdout).unwrap())
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn the_printed_line_does_what_the_text_beside_it_says() {
    let demo = Demo::start(&["--listen", "127.0.0.1:0"]);
    let line = demo.curl_line();
    let Some(first) = paste(&line) else { return eprintln!("no curl here: not checked") };
    let again = paste(&line).unwrap();
    let other = paste(&line.replace("first-try", "another-try")).unwrap();
    assert!(first.starts_with("HTTP/1.1 201"), "{first}");
    assert_eq!(body(&first), body(&again));
    assert!(again.to_ascii_lowercase().contains("idempotency-replayed: true"), "{again}");
    assert!(
        other.starts_with("HTTP/1.1 409") && other.contains("unit_taken") && other.contains("alternatives"),
        "{other}"
    );
}

#[test]
fn a_race_beside_it_needs_no_flags_and_it_stops_in_order() {
    let demo = Demo::start(&["--listen", "127.0.0.1:0"]);
    let result = demo.race(&["--buyers", "300", "--json"]).expect(0).json();
    assert_eq!((result["offer"].as_str(), result["won"].as_u64()), (Some("hall"), Some(1)));
    assert_eq!((result["refused"].as_u64(), result["double_bookings"].as_u64()), (Some(299), Some(0)));
    let hint = demo.runtime.path().join("holdfast/demo.json");
    assert!(hint.exists());
    let (code, more) = demo.stop();
    assert_eq!(code, 0);
    assert!(more.contains("Closed."), "{more}");
    assert!(!hint.exists(), "it takes its key with it");
}

#[test]
fn every_address_it_prints_is_there() {
    let demo = Demo::start(&["--listen", "127.0.0.1:0", "--buyers", "0"]);
    let urls = demo
        .text
        .split_whitespace()
        .filter(|word| word.starts_with("http://") && !word.ends_with("/v1/holds"));
    for url in urls.filter(|url| !url.ends_with("/stream")) {
        let rest = url.strip_prefix("http://").unwrap();
        let Some((host, path)) = rest.split_once('/') else { continue };
        let answer = crate::support::ask(&format!("http://{host}"), "GET", &format!("/{path}"), &[], "");
        assert!(matches!(answer.status, 200..400), "{url}: {}", answer.status);
    }
}
