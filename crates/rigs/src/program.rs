//! Where the servers' programs are, and what to install where they are not.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
};

use crate::Result;

/// A program that a rig needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Initdb,
    Postgres,
    Psql,
    PgDump,
    PgRestore,
    Pgbench,
    RedisServer,
    PgBouncer,
}

/// A program that is not installed, and what would bring it. Its text is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub program: Program,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, package) = (self.program.name(), self.program.package());
        write!(
            f,
            "{name} is not installed; the Debian package {package} brings it: apt-get install {package}"
        )
    }
}

impl std::error::Error for Missing {}

/// What is not installed of these. Whoever skips something says why with this.
pub fn missing(programs: &[Program]) -> Vec<Missing> {
    programs.iter().filter_map(|program| program.find().err()).collect()
}

impl Program {
    /// What [`crate::Postgres`] needs.
    pub const POSTGRES: &[Self] = &[Self::Initdb, Self::Postgres, Self::Psql];
    /// What [`crate::Redis`], a cluster of them and sentinels need.
    pub const REDIS: &[Self] = &[Self::RedisServer];

    /// Where it is: on the path, else where Debian keeps PostgreSQL's programs, the newest version first.
    pub fn find(self) -> Result<PathBuf, Missing> {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .chain(postgresql_versions())
            // An ordinary user's path may not lead to where daemons lie.
            .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
            .map(|folder| folder.join(self.name()))
            .find(|program| program.is_file())
            .ok_or(Missing { program: self })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Initdb => "initdb",
            Self::Postgres => "postgres",
            Self::Psql => "psql",
            Self::PgDump => "pg_dump",
            Self::PgRestore => "pg_restore",
            Self::Pgbench => "pgbench",
            Self::RedisServer => "redis-server",
            Self::PgBouncer => "pgbouncer",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Initdb | Self::Postgres => "postgresql",
            Self::Psql | Self::PgDump | Self::PgRestore => "postgresql-client",
            Self::Pgbench => "postgresql-contrib",
            Self::RedisServer => "redis-server",
            Self::PgBouncer => "pgbouncer",
        }
    }
}

/// The folders of programs below `/usr/lib/postgresql`, newest first.
fn postgresql_versions() -> Vec<PathBuf> {
    let entries = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> =
        entries.filter_map(|entry| Some((version(&entry.path())?, entry.path().join("bin")))).collect();
    versions.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

fn version(folder: &Path) -> Option<u32> {
    folder.file_name()?.to_str()?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_words() {
        let missing = Missing { program: Program::RedisServer };
        assert_eq!(
            missing.to_string(),
            "redis-server is not installed; the Debian package redis-server brings it: apt-get install redis-server"
        );
    }
}
