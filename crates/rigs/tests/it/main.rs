//! Every rig is started for real, used, hurt and ended.

mod groups;
mod orphans;
mod pgbouncer;
mod postgres;
mod proxy;
mod redis;

use std::{fs, path::Path};

/// Whoever stands in a folder, found without the rigs' help.
fn processes_in(folder: &Path) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .count()
}

/// Waits for something that another process brings about; the test's own time limit is the runner's.
fn until(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if happened() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what}: not within half a minute");
}
