use crate::support::{Server, folder, run, text};

#[test]
fn a_healthy_folder_is_well_and_its_owner_named() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let report =
        run(&["doctor", "--json", "--listen", "127.0.0.1:0", "--data", text(folder.path())]).expect(0).json();
    let found = |check: &str| {
        let findings = report["findings"].as_array().unwrap();
        let finding =
            findings.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check}"));
        finding["found"].as_str().unwrap().to_owned()
    };
    assert_eq!(found("in use by"), format!("process {}", server.pid()));
    assert_eq!(found("books"), "1 journal entry");
    for check in [
        "writable",
        "free space",
        "filesystem",
        "fsync latency",
        "SQLite",
        "clock",
        "open files",
        "write-ahead log",
    ] {
        found(check);
    }
}

#[test]
fn a_file_in_the_folders_place_is_ill() {
    let folder = folder();
    let path = crate::support::file(&folder, "data", "");
    let report = run(&["doctor", "--listen", "127.0.0.1:0", "--data", &path]).expect(1);
    assert!(report.out.contains("is a file") && report.out.contains("→"), "{}", report.out);
}
