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

/// Whatever SQLite itself makes of the damage, it is damage: named, and no failure of the program.
#[test]
fn a_file_that_is_damaged_is_said_to_be_broken() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    (1..=20).for_each(|seat| assert_eq!(server.hold("alice", &format!("A-{seat}")).status, 201));
    server.stop(Signal::TERM);
    let file = folder.path().join("holdfast.db");
    let sound = std::fs::read(&file).unwrap();
    let with = |range: std::ops::Range<usize>, byte: u8| {
        let mut bytes = sound.clone();
        bytes[range].fill(byte);
        bytes
    };
    let len = sound.len();
    for (what, bytes) in [
        ("no header", with(0..100, 0)),
        ("no schema", with(100..4096, 0xff)),
        ("noise in the middle", with(len / 3..len / 2, 0xa5)),
        ("all pages but the first", with(4096..len, 0xff)),
        ("half", sound[..len / 2].to_vec()),
        ("a page and a bit", sound[..5000].to_vec()),
        ("nothing", vec![]),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let broken = run(&["verify", "--data", text(folder.path()), "--json"]).expect(1).json();
        assert_eq!(broken["ok"], false, "{what}");
        assert!(!broken["broken"].as_array().unwrap().is_empty(), "{what}: {broken}");
    }
}

#[test]
fn no_books_are_no_clean_books() {
    let folder = folder();
    run(&["verify", "--data", text(&folder.path().join("nowhere"))]).expect(3);
}
