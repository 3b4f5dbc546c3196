//! Files that only their owner may read: they tell who bought what, and who waits.

use std::{fs::OpenOptions, path::Path};

/// Makes the file, empty, where it is not there yet. SQLite gives its log and its index the mode of the file they belong
/// to. Where it cannot be made nothing is said here: whoever opens it next hears why.
pub(crate) fn make(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(path));
}
