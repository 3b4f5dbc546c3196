use std::{thread, time::Duration};

use holdfast_rigs::{Program, Redis, RigError, missing};

use crate::until;

fn text(server: &Redis, words: &[&str]) -> Option<String> {
    server.ask(words).unwrap().text().map(str::to_owned)
}

#[test]
fn it_answers_and_keeps_nothing() {
    assert_eq!(missing(Program::REDIS), []);
    let mut server = Redis::start().unwrap();
    assert_eq!(text(&server, &["PING"]).as_deref(), Some("PONG"));
    server.ask(&["SET", "seat", "taken"]).unwrap();
    assert_eq!(text(&server, &["GET", "seat"]).as_deref(), Some("taken"));
    let address = server.address();
    server.kill().unwrap();
    assert!(matches!(server.ask(&["PING"]), Err(RigError::Io { .. })));
    server.start_again().unwrap();
    assert_eq!(server.address(), address);
    assert_eq!(text(&server, &["GET", "seat"]), None);
}

#[test]
fn a_persistent_one_remembers_until_told_to_forget() {
    let mut server = Redis::options().persistent().start().unwrap();
    server.ask(&["SET", "seat", "taken"]).unwrap();
    server.kill().unwrap();
    server.start_again().unwrap();
    assert_eq!(text(&server, &["GET", "seat"]).as_deref(), Some("taken"));
    server.stop().unwrap();
    server.start_again_empty().unwrap();
    assert_eq!(text(&server, &["GET", "seat"]), None);
}

#[test]
fn paused_it_is_silent_and_resumed_it_answers_what_was_asked_meanwhile() {
    let server = Redis::start().unwrap();
    server.pause().unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(|| text(&server, &["PING"]));
        thread::sleep(Duration::from_millis(200));
        assert!(!asked.is_finished());
        server.resume().unwrap();
        assert_eq!(asked.join().unwrap().as_deref(), Some("PONG"));
    });
}

#[test]
fn a_setting_changes_while_it_runs() {
    let server = Redis::start().unwrap();
    server.config_set("maxmemory", "1").unwrap();
    let refused = server.ask(&["SET", "seat", "taken"]).unwrap_err();
    assert!(refused.to_string().contains("OOM"), "{refused}");
}

#[test]
fn a_replica_follows_its_master_and_leaves_it() {
    let (master, replica) = (Redis::start().unwrap(), Redis::start().unwrap());
    assert_ne!(master.address(), replica.address());
    replica.replica_of(&master).unwrap();
    master.ask(&["SET", "seat", "taken"]).unwrap();
    until("the write arrives", || text(&replica, &["GET", "seat"]).is_some());
    let refused = replica.ask(&["SET", "seat", "free"]).unwrap_err();
    assert!(refused.to_string().contains("READONLY"), "{refused}");
    replica.replica_of_none().unwrap();
    replica.ask(&["SET", "seat", "free"]).unwrap();
}

#[test]
fn one_that_cannot_start_says_what_its_log_says() {
    let failed = Redis::options().setting("maxmemory-policy", "whim").start().unwrap_err();
    assert!(failed.to_string().contains("maxmemory-policy"), "{failed}");
}
