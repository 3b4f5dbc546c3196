use std::{fs, os::unix::fs::PermissionsExt, process::Command, thread, time::Duration};

use holdfast_rigs::{Postgres, Program, RigError, missing};

use crate::{processes_in, until};

fn one(server: &Postgres, sql: &str) -> String {
    server.ask("postgres", sql).unwrap()[0][0].clone().unwrap()
}

#[test]
fn it_starts_durable_and_answers_its_own_client() {
    assert_eq!(missing(Program::POSTGRES), []);
    let server = Postgres::options().setting("max_connections", "42").start().unwrap();
    assert_eq!(one(&server, "SHOW fsync"), "on");
    assert_eq!(one(&server, "SHOW max_connections"), "42");
    let url = server.create_database("a \"shop\"").unwrap();
    assert_eq!(url, format!("postgres://postgres@{}/a \"shop\"", server.address()));
    let psql = Program::Psql.find().unwrap();
    let port = server.address().port().to_string();
    for host in ["127.0.0.1".into(), server.folder().display().to_string()] {
        let said = Command::new(&psql)
            .args(["-h", &host, "-p", &port, "-U", "postgres", "-d", "a \"shop\"", "-Atc", "SELECT 6 * 7"])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "42", "{said:?}");
    }
}

#[test]
fn killed_it_is_gone_whole_and_comes_back_with_what_was_committed() {
    let mut server = Postgres::start().unwrap();
    let folder = server.folder().to_owned();
    one(&server, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7) RETURNING n");
    let address = server.address();
    for round in 0..3 {
        assert!(processes_in(&folder) > 3, "a server and its helpers");
        server.kill().unwrap();
        assert_eq!(processes_in(&folder), 0);
        assert!(matches!(server.kill(), Err(RigError::NotRunning { .. })));
        server.start_again().unwrap();
        assert_eq!(server.address(), address, "round {round}");
        assert_eq!(one(&server, "SELECT n FROM kept"), "7");
    }
    server.restart().unwrap();
    assert_eq!(one(&server, "SELECT n FROM kept"), "7");
    assert!(matches!(server.start_again(), Err(RigError::Failed { .. })), "it is running");
}

#[test]
fn paused_it_is_silent_and_resumed_it_answers_what_was_asked_meanwhile() {
    let server = Postgres::start().unwrap();
    server.pause().unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(|| one(&server, "SELECT 1"));
        // The kernel accepts the connection; nobody behind it says anything.
        thread::sleep(Duration::from_millis(200));
        assert!(!asked.is_finished());
        server.resume().unwrap();
        assert_eq!(asked.join().unwrap(), "1");
    });
}

#[test]
fn a_paused_one_can_be_killed_stopped_and_dropped() {
    let mut server = Postgres::start().unwrap();
    server.pause().unwrap();
    server.stop().unwrap();
    server.start_again().unwrap();
    server.pause().unwrap();
    server.kill().unwrap();
    server.start_again().unwrap();
    server.pause().unwrap();
    let folder = server.folder().to_owned();
    drop(server);
    assert_eq!(processes_in(&folder), 0);
    assert!(!folder.exists());
}

#[test]
fn two_at_once_do_not_know_of_each_other() {
    let (one_server, other) = (Postgres::start().unwrap(), Postgres::start().unwrap());
    assert_ne!(one_server.address(), other.address());
    one_server.create_database("mine").unwrap();
    assert!(matches!(other.ask("mine", "SELECT 1"), Err(RigError::Refused { .. })));
}

#[test]
fn a_setting_changes_while_it_runs() {
    let server = Postgres::start().unwrap();
    server.set("fsync", "off").unwrap();
    until("fsync is off", || one(&server, "SHOW fsync") == "off");
}

#[test]
fn one_that_cannot_start_says_what_its_log_says() {
    let failed = Postgres::options().setting("shared_buffers", "many").start().unwrap_err();
    assert!(failed.to_string().contains("invalid value for parameter \"shared_buffers\""), "{failed}");
}

#[test]
fn its_folder_can_be_elsewhere() {
    let elsewhere = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    // The server may run as somebody else, who must get there.
    fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let server = Postgres::options().within(elsewhere.path()).start().unwrap();
    assert!(server.folder().starts_with(elsewhere.path()));
}
