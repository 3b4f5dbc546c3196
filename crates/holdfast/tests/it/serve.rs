use rustix::process::Signal;
use serde_json::json;

use crate::support::{Server, ask, folder, run, text};

#[test]
fn a_hold_is_made_replayed_and_refused_to_the_next() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let body = json!({"holder": "alice", "lines": [{"offer": "hall", "unit": "A-12"}]});
    let key = [("idempotency-key", "once")];
    let first = server.post("/v1/holds", &key, &body);
    let again = server.post("/v1/holds", &key, &body);
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.body, again.body);
    assert_eq!(
        (first.header("idempotency-replayed"), again.header("idempotency-replayed")),
        (None, Some("true"))
    );
    let refused = server.hold("bob", "A-12");
    assert_eq!((refused.status, refused.json()["code"].as_str()), (409, Some("unit_taken")));
    assert!(!refused.json()["alternatives"].as_array().unwrap().is_empty());
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let held = server.hold("alice", "A-1").json();
    drop(server);
    let server = Server::on(folder.path());
    let found = server.get(&format!("/v1/holds/{}", held["id"].as_str().unwrap()));
    assert_eq!((found.status, found.json()["state"].as_str()), (200, Some("active")));
}

#[test]
fn a_second_process_on_the_folder_is_refused() {
    let folder = folder();
    let server = Server::on(folder.path());
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", text(folder.path())]).expect(3);
    assert!(second.err.contains(&format!("process {}", server.pid())), "{}", second.err);
    assert!(second.err.contains("next:"), "{}", second.err);
}

#[test]
fn a_taken_port_is_named() {
    let (one, other) = (folder(), folder());
    let server = Server::on(one.path());
    let address = server.url.strip_prefix("http://").unwrap();
    let refused = run(&["serve", "--listen", address, "--data", text(other.path())]).expect(3);
    assert!(refused.err.contains(address) && refused.err.contains("--listen"), "{}", refused.err);
}

#[test]
fn both_signals_stop_it_in_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = folder();
        let server = Server::on(folder.path()).with_hall();
        server.hold("alice", "A-1");
        // Its address was the one line it had to say on standard output.
        assert_eq!(server.stop(signal), (0, String::new()));
    }
}

#[test]
fn visitors_keep_what_they_hold_over_a_restart() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let body = json!({"lines": [{"offer": "hall", "unit": "A-3"}]}).to_string();
    let held = ask(&server.url, "POST", "/v1/holds", &[], &body);
    assert_eq!(held.status, 201, "{}", held.body);
    let cookie = held.header("set-cookie").unwrap().split(';').next().unwrap();
    let path = format!("/v1/holds/{}", held.json()["id"].as_str().unwrap());
    assert_eq!(server.stop(Signal::TERM).0, 0);
    let server = Server::on(folder.path());
    assert_eq!(ask(&server.url, "GET", &path, &[("cookie", cookie)], "").status, 200);
    assert_eq!(ask(&server.url, "GET", &path, &[], "").status, 404, "a stranger sees nothing");
}
