use rustix::process::Signal;

use crate::support::{Server, folder, run, text};

#[test]
fn clean_books_are_said_to_be_clean() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    server.hold("alice", "A-1");
    server.stop(Signal::TERM);
    let clean = run(&["verify", "--data", text(folder.path()), "--json"]).expect(0).json();
    assert_eq!((clean["ok"].as_bool(), clean["entries"].as_u64()), (Some(true), Some(2)));
}

#[test]
fn a_changed_entry_breaks_the_chain() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    (1..=20).for_each(|seat| assert_eq!(server.hold("alice", &format!("A-{seat}")).status, 201));
    server.stop(Signal::TERM);
    let books = rusqlite::Connection::open(folder.path().join("holdfast.db")).unwrap();
    let changed = books
        .execute("UPDATE batches SET payload = zeroblob(length(payload)) WHERE first_seq = 2", [])
        .unwrap();
    assert_eq!(changed, 1);
    drop(books);
    let broken = run(&["verify", "--data", text(folder.path())]).expect(1);
    assert!(broken.out.contains("2"), "{}", broken.out);
    let broken = run(&["verify", "--data", text(folder.path()), "--json"]).expect(1).json();
    assert_eq!(broken["ok"], false);
    assert!(!broken["broken"].as_array().unwrap().is_empty());
}

#[test]
fn no_books_are_no_clean_books() {
    let folder = folder();
    run(&["verify", "--data", text(&folder.path().join("nowhere"))]).expect(3);
}
