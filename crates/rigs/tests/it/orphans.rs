//! A test that is killed leaves no server behind, whatever state the server was in.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::{processes_in, until};

/// A process that owns a PostgreSQL and a Redis, and their folders.
fn owner(arguments: &[&str]) -> (Child, Vec<PathBuf>) {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_rig"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok);
    let folders: Vec<PathBuf> = lines
        .take_while(|line| !line.starts_with("ready"))
        .filter_map(|line| Some(line.split_once(" in ")?.1.into()))
        .collect();
    assert_eq!(folders.len(), 2, "the owner started both");
    assert!(folders.iter().all(|folder| processes_in(folder) > 0));
    (owner, folders)
}

fn a_killed_owner_of(arguments: &[&str]) {
    let (mut owner, folders) = owner(arguments);
    owner.kill().unwrap();
    owner.wait().unwrap();
    for folder in folders {
        until("the folder is gone", || !folder.exists());
        assert_eq!(processes_in(&folder), 0);
    }
}

#[test]
fn a_killed_owner_leaves_no_server_and_no_folder() {
    a_killed_owner_of(&[]);
}

#[test]
fn a_killed_owner_leaves_no_paused_server() {
    a_killed_owner_of(&["--pause"]);
}

#[test]
fn an_owner_that_ends_by_itself_has_cleaned_up() {
    let (mut owner, folders) = owner(&[]);
    drop(owner.stdin.take());
    assert!(owner.wait().unwrap().success());
    for folder in folders {
        assert_eq!(processes_in(&folder), 0);
        assert!(!folder.exists());
    }
}
