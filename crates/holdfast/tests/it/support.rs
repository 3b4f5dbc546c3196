//! Running the program: once to its end, or as a server for as long as a test needs it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio},
    sync::OnceLock,
};

use holdfast_rigs::Postgres;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The program, unaware of whatever this shell has set.
pub(crate) fn holdfast(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HOLDFAST_")) {
        command.env_remove(name);
    }
    // Tests must find no demo but their own.
    command.env("XDG_RUNTIME_DIR", "/dev/null").env("NO_COLOR", "1").stdin(Stdio::null()).args(arguments);
    command
}

pub(crate) struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub(crate) fn done(output: Output) -> Done {
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    Done { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Done {
    done(holdfast(arguments).output().expect("the program starts"))
}

impl Done {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|fault| panic!("{fault}: {}{}", self.out, self.err))
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

pub(crate) const KEY: &str = "an-admin-key-for-tests";

/// A server on a free port; killed with this value unless it was stopped before.
pub(crate) struct Server {
    child: Child,
    pub url: String,
    out: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn on(folder: &Path) -> Self {
        Self::start(holdfast(&["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data"]).arg(folder))
    }

    /// A node on books in PostgreSQL.
    pub(crate) fn on_ledger(url: &str) -> Self {
        Self::start(&mut holdfast(&["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--ledger", url]))
    }

    /// Starts `command` and waits until it says where it listens.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child =
            command.env("HOLDFAST_ADMIN_KEY", KEY).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("its output is ours"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says where it listens");
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("it said {line:?}"));
        Self { url: url.to_owned(), child, out }
    }

    /// The same with what it says on standard error, which somebody must read.
    pub(crate) fn start_with_log(command: &mut Command) -> (Self, ChildStderr) {
        let mut server = Self::start(command.stderr(Stdio::piped()));
        let errors = server.child.stderr.take().expect("it was asked for");
        (server, errors)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop and waits until it has; its exit code and what else it wrote to standard output.
    pub(crate) fn stop(mut self, signal: Signal) -> (i32, String) {
        kill_process(Pid::from_child(&self.child), signal).expect("it lives");
        let mut more = String::new();
        self.out.read_to_string(&mut more).expect("it writes UTF-8");
        (self.child.wait().expect("it ends").code().unwrap_or(-1), more)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        ask(&self.url, "GET", path, &[("authorization", &format!("Bearer {KEY}"))], "")
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let bearer = format!("Bearer {KEY}");
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend(headers);
        ask(&self.url, "POST", path, &all, &body.to_string())
    }

    pub(crate) fn hold(&self, holder: &str, unit: &str) -> Answer {
        let body = serde_json::json!({"holder": holder, "lines": [{"offer": "hall", "unit": unit}]});
        self.post("/v1/holds", &[], &body)
    }

    /// Puts a hall of one row of 20 on sale.
    pub(crate) fn with_hall(self) -> Self {
        let hall = serde_json::json!({"id": "hall", "name": "Hall", "kind": "seats", "currency": "EUR", "seats":
            {"sections": [{"name": "Stalls", "category": "A", "price": 4500, "rows": [{"name": "A", "seats": 20}]}]}});
        assert_eq!(self.post("/v1/offers", &[], &hall).status, 201);
        self
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Answer {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|fault| panic!("{fault}: {}", self.body))
    }

    /// What a browser would keep, as it would send it.
    pub(crate) fn cookies(&self) -> String {
        let set = self.head.lines().filter_map(|line| line.split_once(": "));
        let set = set.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        set.filter_map(|(_, cookie)| cookie.split(';').next()).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named =
            |line: &'_ str| line.split_once(": ").is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        self.head
            .lines()
            .find(|line| named(line))
            .and_then(|line| line.split_once(": "))
            .map(|(_, value)| value)
    }
}

/// One request on a connection of its own.
pub(crate) fn ask(url: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let authority = url.strip_prefix("http://").expect("an http address");
    let mut stream = TcpStream::connect(authority).expect("it listens");
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n");
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    if !body.is_empty() {
        head += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// The PostgreSQL that all tests of this run share; it ends with this process.
pub(crate) fn postgres() -> &'static Postgres {
    static POSTGRES: OnceLock<Postgres> = OnceLock::new();
    POSTGRES.get_or_init(|| Postgres::start().expect("PostgreSQL starts"))
}

/// A new database in it.
pub(crate) fn database(name: &str) -> String {
    postgres().create_database(name).expect("the name is new")
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A file of that name and text.
pub(crate) fn file(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("it can be written");
    path.to_str().expect("its path is text").to_owned()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("its path is text")
}
