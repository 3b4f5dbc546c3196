//! Ends a rig when its owner cannot: a test that is killed runs no destructor. The keeper is a small shell script
//! that waits on a pipe whose other end only the owner holds. The kernel closes that end however the owner dies; then
//! the keeper kills everyone who stands in the rig's folder and removes it. An owner that cleaned up itself says so.
//!
//! The kernel's parent-death signal would not do: it is bound to the thread that started the server, so the end of a
//! test's thread would end a server that others still use; and it reaches neither orphans nor stopped children.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{Result, RigError};

/// `$1` is the folder, `$2` the signal that comes before the kill, so that the server takes with it what is not in
/// the folder.
const SCRIPT: &str = r#"
read -r word && [ "$word" = done ] && exit 0
cd /
here() {
    ls -ld /proc/[0-9]*/cwd 2>/dev/null | while read -r line; do
        case "$line" in
        *"/cwd -> $1" | *"/cwd -> $1/"* | *"/cwd -> $1 (deleted)")
            pid=${line##*/proc/}
            echo "${pid%%/cwd*}"
            ;;
        esac
    done
}
kill -s "$2" $(here "$1") 2>/dev/null
kill -s CONT $(here "$1") 2>/dev/null
tries=0
while left=$(here "$1"); [ -n "$left" ] && [ $tries -lt 100 ]; do
    [ $tries -lt 10 ] || kill -s KILL $left 2>/dev/null
    tries=$((tries + 1))
    sleep 0.1
done
rm -rf "$1"
"#;

#[derive(Debug)]
pub(crate) struct Keeper {
    shell: Child,
}

impl Keeper {
    /// Started before the server, so that there is no moment without it.
    pub(crate) fn of(folder: &Path, farewell: &str) -> Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "keeper"])
            .arg(folder)
            .arg(farewell)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its own group: an interrupt from the keyboard ends the owner, and then this must still run.
            .process_group(0)
            .spawn()
            .map_err(RigError::io("starting the shell that ends the server with its owner"))?;
        Ok(Self { shell })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.shell.stdin.take() {
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.shell.wait();
    }
}
