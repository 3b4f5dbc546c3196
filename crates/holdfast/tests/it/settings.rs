use std::process::Stdio;

use crate::support::{done, file, folder, holdfast, run};

#[test]
fn flags_beat_variables_beat_the_file() {
    let folder = folder();
    let path = file(&folder, "holdfast.toml", "max_page = 1\nmax_lag = 3\n");
    let wrong = run(&["config", "--config", &path]).expect(2);
    assert!(wrong.err.contains("holdfast.toml:2: there is no setting \"max_lag\""), "{}", wrong.err);

    let path = file(&folder, "holdfast.toml", "max_batch = 0\nmax_lag = 3\nthreads = [1]\n");
    let wrong = run(&["serve", "--config", &path, "--deadline", "5"]).expect(2).err;
    for part in
        ["4 settings are wrong", "max_batch = \"0\"", "max_lag", "threads must be", "deadline = \"5\""]
    {
        assert!(wrong.contains(part), "{wrong}");
    }

    let path = file(&folder, "holdfast.toml", "max_page = 1\nmax_batch = 1\nthreads = 1\n");
    let mut command = holdfast(&["config", "--json", "--config", &path, "--threads", "3"]);
    command
        .env("HOLDFAST_THREADS", "2")
        .env("HOLDFAST_MAX_BATCH", "2")
        .env("HOLDFAST_ADMIN_KEY", "secret-word");
    let shown = done(command.output().unwrap()).expect(0);
    let settings = &shown.json()["settings"];
    assert_eq!(settings["threads"]["from"], "--threads");
    assert_eq!(
        (settings["max_batch"]["value"].as_str(), settings["max_batch"]["from"].as_str()),
        (Some("2"), Some("HOLDFAST_MAX_BATCH"))
    );
    assert!(settings["max_page"]["from"].as_str().unwrap().ends_with("holdfast.toml:1"));
    assert_eq!(settings["deadline"]["from"], "default");
    assert!(!shown.out.contains("secret-word"), "a secret is never shown");
}

#[test]
fn the_default_file_is_a_file_that_works() {
    let folder = folder();
    let default = run(&["config", "--default"]).expect(0).out;
    let path = file(&folder, "holdfast.toml", &default);
    run(&["config", "--config", &path]).expect(0);
}

#[test]
fn all_faults_are_reported_together_with_what_to_do() {
    let wrong = run(&["serve", "--listen", "nowhere", "--max-batch", "0", "--deadline", "5"]).expect(2);
    for part in ["listen = \"nowhere\" (--listen)", "max_batch = \"0\"", "deadline = \"5\"", "next:"] {
        assert!(wrong.err.contains(part), "{}", wrong.err);
    }
}

#[test]
fn a_public_address_without_a_key_is_refused_with_the_reason() {
    let refused = run(&["serve", "--listen", "0.0.0.0:0"]).expect(2);
    assert!(refused.err.contains("can be reached from other machines"), "{}", refused.err);
    assert!(refused.err.contains("HOLDFAST_ADMIN_KEY"), "{}", refused.err);
}

#[test]
fn a_command_that_serves_nobody_does_not_mind_a_public_address() {
    let folder = folder();
    let data = folder.path().display().to_string();
    let mut command = holdfast(&["export", "offers", "--data", &data]);
    done(command.env("HOLDFAST_LISTEN", "0.0.0.0:8080").output().unwrap()).expect(0);
}

#[test]
fn whoever_reads_only_the_beginning_ends_the_program_quietly() {
    let mut child =
        holdfast(&["config", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = done(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ended.err, "");
}

#[test]
fn strategies_that_cannot_serve_are_refused_with_the_reason() {
    let refused = |arguments: &[&str]| run(&[&["serve"], arguments].concat()).expect(2).err;
    let ledger = ["--ledger", "postgres://u:secret@127.0.0.1:1/db"];
    for (arguments, reason) in [
        (&["--strategy", "naive"][..], "both get the seat"),
        (&["--strategy", "cas"], "needs --ledger"),
        (&["--strategy", "lua"], "needs --gate"),
        (&[ledger[0], ledger[1], "--strategy", "writer"], "writer needs --data"),
        (&[ledger[0], ledger[1], "--strategy", "lua"], "needs --gate redis://"),
        (&[ledger[0], ledger[1], "--data", "d"], "not both"),
        (&["--ledger", ""], "postgres://"),
    ] {
        let told = refused(arguments);
        assert!(told.contains(reason) && told.contains("next:"), "{arguments:?}: {told}");
        assert!(!told.contains("secret"), "{told}");
    }
}

#[test]
fn the_password_of_an_address_is_never_shown() {
    let ledger = "postgres://u:hunter2@127.0.0.1:1/db";
    let shown = run(&["config", "--ledger", ledger]).expect(0).out;
    assert!(shown.contains("postgres://u:********@127.0.0.1:1/db") && !shown.contains("hunter2"), "{shown}");
    let shown = run(&["config", "--json", "--ledger", ledger]).expect(0);
    assert!(!shown.out.contains("hunter2"), "{}", shown.out);
    assert_eq!(shown.json()["settings"]["strategy"]["value"], "batched");
    let listen = ["--listen", "127.0.0.1:0", "--log", "trace", "--pg-wait", "500ms"];
    let failed = run(&[&["serve", "--ledger", ledger], &listen[..]].concat()).expect(3);
    assert!(failed.err.contains("PostgreSQL does not answer within 500ms"), "{}", failed.err);
    assert!(!failed.err.contains("hunter2"), "{}", failed.err);
}
