//! Where the books are, how units are claimed in them, and what stands in front of them: three settings that must
//! fit together.

use std::{fmt, path::PathBuf, time::Duration};

use holdfast_engine::{
    ledger::postgres::{self, Connecting, inspect},
    strategy::{GateNeed, Strategy},
};

use super::{
    Fault, Raw,
    address::without_password,
    check::{DAY, HOUR, MANY, MS, Reader},
};

/// Where the books are.
#[derive(Clone)]
pub enum Books {
    /// In this folder, and one process at a time has them.
    Folder(PathBuf),
    /// In this PostgreSQL, and any number of nodes has them.
    Postgres(Connecting),
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Postgres(connecting) => f.write_str(&without_password(&connecting.url)),
        }
    }
}

impl fmt::Debug for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may carry a password.
        write!(f, "Books({self})")
    }
}

impl Books {
    /// Checks as much as a command needs that only works on the books.
    pub fn check(raw: &Raw) -> Result<Self, Vec<Fault>> {
        let mut read = Reader::of(raw);
        let books = read.books();
        read.done(books)
    }
}

impl Reader<'_> {
    pub(super) fn books(&mut self) -> Books {
        let Some(url) = self.given("ledger") else { return Books::Folder(self.text("data").into()) };
        if self.given("data").is_some() {
            self.fault(
                "ledger",
                "the books are in one place: give --ledger for PostgreSQL or --data for a folder, not both",
            );
        }
        if let Err(rule) = inspect::address(&url) {
            self.fault("ledger", rule);
        }
        Books::Postgres(Connecting {
            connections: self.count("pg_connections", 2..=10_000),
            urgent_connections: self.count("pg_urgent_connections", 1..=10_000),
            connect_timeout: self.duration("pg_connect_timeout", MS..=HOUR),
            statement_timeout: self.duration("pg_statement_timeout", MS..=HOUR),
            lock_timeout: self.duration("pg_lock_timeout", MS..=HOUR),
            idle_timeout: self.duration("pg_idle_timeout", MS..=HOUR),
            prepared_statements: match self.one_of("pg_prepared_statements", &["auto", "true", "false"]) {
                "auto" => None,
                said => Some(said == "true"),
            },
            url,
        })
    }

    pub(super) fn postgres(&mut self) -> postgres::Limits {
        postgres::Limits {
            max_batch: self.count("max_batch", 1..=100_000),
            batches: self.count("pg_batches", 1..=1_000),
            queue: self.count("pg_queue", 1..=MANY),
            attempts: self.count("pg_attempts", 1..=1_000) as u32,
            workers_per_offer: self.count("pg_workers_per_offer", 1..=10_000),
            queue_per_offer: self.count("pg_queue_per_offer", 1..=MANY),
            follow_every: self.duration("pg_follow_every", MS..=HOUR),
            max_read_age: self.duration("pg_max_read_age", MS..=HOUR),
            read_patience: self.duration("pg_read_patience", MS..=HOUR),
            tidy_every: Some(self.duration("pg_tidy_every", Duration::ZERO..=DAY))
                .filter(|every| !every.is_zero()),
            tidy_slice: self.count("pg_tidy_slice", 1..=MANY),
            answers_kept: self.duration("answers_kept", HOUR..=365 * DAY),
            change_backlog: self.count("change_backlog", 1..=MANY),
            max_page: self.count("max_page", 1..=100_000),
        }
    }

    /// The strategy, which must fit the books and the gate.
    pub(super) fn strategy(&mut self, books: &Books) -> Strategy {
        let name = self.text("strategy");
        let strategy = match name.parse() {
            Ok(strategy) => strategy,
            Err(no) => {
                if !name.is_empty() {
                    self.fault("strategy", holdfast_engine::strategy::NoStrategy::to_string(&no));
                }
                return Strategy::Writer;
            }
        };
        self.must_fit_books(strategy, books);
        self.must_fit_gate(strategy);
        strategy
    }

    fn must_fit_books(&mut self, strategy: Strategy, books: &Books) {
        match (books, strategy.claiming()) {
            (Books::Folder(_), Some(_)) => self.fault(
                "strategy",
                format!(
                    "{strategy} claims in PostgreSQL and needs --ledger postgres://…; in a folder there is writer"
                ),
            ),
            (Books::Postgres(_), None) => self.fault(
                "strategy",
                "writer needs --data: it is the one writer of a folder; with --ledger leave --strategy out, or \
                 name one that claims in PostgreSQL",
            ),
            _ => {}
        }
    }

    fn must_fit_gate(&mut self, strategy: Strategy) {
        if matches!(strategy.gate(), GateNeed::Must(_)) && self.given("gate").is_none() {
            let rule = format!(
                "{strategy} asks a gate in Redis before PostgreSQL and needs --gate redis://…; without Redis use batched"
            );
            self.fault("strategy", rule);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::check::tests::check;

    const LEDGER: (&str, &str) = ("ledger", "postgres://u:secret@h/db");

    #[track_caller]
    fn refused(given: &[(&'static str, &str)]) -> String {
        let faults = check(given).unwrap_err();
        let told: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.at, fault.rule)).collect();
        let told = told.join("\n");
        assert!(!told.contains("secret"), "{told}");
        told
    }

    #[test]
    fn each_kind_of_books_has_its_strategy() {
        assert_eq!(check(&[]).unwrap().strategy.as_str(), "writer");
        assert_eq!(check(&[LEDGER]).unwrap().strategy.as_str(), "batched");
        assert_eq!(check(&[LEDGER, ("strategy", "cas")]).unwrap().strategy.as_str(), "cas");
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_the_reason() {
        assert!(refused(&[LEDGER, ("strategy", "writer")]).contains("writer needs --data"));
        assert!(refused(&[LEDGER, ("data", "d")]).contains("not both"));
        assert!(refused(&[LEDGER, ("strategy", "lua")]).contains("lua asks a gate in Redis"));
        assert!(refused(&[("strategy", "cas")]).contains("needs --ledger"));
        assert!(refused(&[("strategy", "naive")]).contains("both get the seat"));
        assert!(refused(&[LEDGER, ("strategy", "best")]).contains("there is no strategy"));
        assert!(refused(&[("ledger", "")]).contains("postgres://"));
        assert!(refused(&[("ledger", "mysql://u:secret@h/db")]).contains("postgres://"));
        assert!(refused(&[("ledger", "postgres://u:secret@h/db?sslmode=on")]).contains("no sslmode \"on\""));
        assert!(check(&[("ledger", "postgres://u:secret@h/db?sslmode=require")]).is_ok());
    }

    #[test]
    fn a_password_is_shown_by_nothing() {
        let settings = check(&[LEDGER]).unwrap();
        assert_eq!(settings.books.to_string(), "postgres://u:********@h/db");
        assert!(!format!("{settings:?}").contains("secret"), "{settings:?}");
    }
}
