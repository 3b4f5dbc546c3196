//! PostgreSQL: whether it is there, keeps what it promises, and has room for us.

use std::time::Duration;

use holdfast_engine::ledger::postgres::{
    Connecting,
    inspect::{self, LongTransaction, Seen, Unreached, Whose},
};

use super::{Finding, clocks, manual_payments};
use crate::{node, settings::without_password, term};

const OLDEST: i32 = 140_000;
const SLOW_ROUND_TRIP: Duration = Duration::from_millis(5);
const SLOW_COMMIT: Duration = Duration::from_millis(20);

const TLS_ADVICE: &str = "let sslmode in --ledger say how much is checked, sslrootcert who vouches for the server, and the \
                          host be called as its certificate has it";

/// `batches` of a node may be under way at once.
pub(super) fn all(connecting: &Connecting, batches: usize) -> Vec<Finding> {
    const CHECK: &str = "PostgreSQL";
    let place = without_password(&connecting.url);
    let seen = match node::short_runtime() {
        Ok(runtime) => runtime.block_on(inspect::look(connecting)),
        Err(fault) => return vec![Finding::ill(CHECK, fault.to_string(), "look at the limits of this user")],
    };
    match seen {
        Ok(seen) => {
            let mut findings = vec![Finding::well(CHECK, place)];
            findings.extend(judge(&seen, connecting.most(batches)));
            findings
        }
        Err(fault) => {
            let advice = match fault {
                Unreached::Insecure(_) => TLS_ADVICE,
                Unreached::NotThere(_) | Unreached::Address(_) => {
                    "start it, or correct --ledger or HOLDFAST_LEDGER"
                }
                Unreached::TurnedAway(_) => {
                    "correct user, password and database in --ledger or HOLDFAST_LEDGER"
                }
            };
            vec![Finding::ill(CHECK, format!("{place}: {fault}"), advice)]
        }
    }
}

fn judge(seen: &Seen, ours: usize) -> Vec<Finding> {
    let mut findings = vec![
        version(seen),
        Finding::well("encryption", seen.encryption.to_string()),
        writes(seen),
        must_be_on("fsync", &seen.fsync, "a power cut may lose or break what was sold"),
        must_be_on(
            "full_page_writes",
            &seen.full_page_writes,
            "a crash may tear pages that nothing can mend",
        ),
        synchronous_commit(&seen.synchronous_commit),
        isolation(&seen.isolation),
        encoding(&seen.encoding),
        connections(seen, ours as i64),
        round_trip(seen.round_trip),
    ];
    if !seen.follows_another {
        findings.push(commit(seen.commit));
    }
    let harm = "holds end by PostgreSQL's clock, and logs that disagree help nobody";
    findings.extend([
        clocks("clocks", seen.clock_ahead_ms, "PostgreSQL's clock", harm),
        schema(seen),
        long_transactions(&seen.long_transactions),
    ]);
    findings.extend(seen.manual_payments.map(manual_payments));
    findings
}

fn version(seen: &Seen) -> Finding {
    match seen.version_number {
        OLDEST.. => Finding::well("version", &seen.version),
        _ => Finding::ill("version", &seen.version, "upgrade PostgreSQL to 14 or newer"),
    }
}

fn writes(seen: &Seen) -> Finding {
    match seen.follows_another {
        false => Finding::well("takes writes", "yes"),
        true => Finding::ill("takes writes", "no, it follows another server", "name the primary in --ledger"),
    }
}

fn must_be_on(check: &'static str, value: &str, harm: &str) -> Finding {
    match value {
        "on" => Finding::well(check, value),
        _ => Finding::ill(check, value, format!("set {check} = on in postgresql.conf: without it {harm}")),
    }
}

fn synchronous_commit(value: &str) -> Finding {
    const CHECK: &str = "synchronous_commit";
    match value {
        "off" => Finding::ill(
            CHECK,
            value,
            "set synchronous_commit = on: without it a crash loses sales that buyers were told of",
        ),
        _ => Finding::well(CHECK, value),
    }
}

fn isolation(value: &str) -> Finding {
    const CHECK: &str = "isolation";
    match value {
        "read committed" => Finding::well(CHECK, value),
        _ => Finding::doubtful(
            CHECK,
            value,
            "set default_transaction_isolation = 'read committed' for this role: nothing here needs more, and \
             stricter ones make transactions fail that would have succeeded",
        ),
    }
}

fn encoding(value: &str) -> Finding {
    const CHECK: &str = "encoding";
    let advice = "make a database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0";
    match value {
        "UTF8" => Finding::well(CHECK, value),
        // It takes whatever it is given, and knows no letter of it.
        "SQL_ASCII" => Finding::doubtful(CHECK, value, advice),
        _ => Finding::ill(CHECK, value, format!("{advice}: this one has no room for every name")),
    }
}

fn connections(seen: &Seen, ours: i64) -> Finding {
    const CHECK: &str = "connections";
    let allowed = i64::from(seen.max_connections);
    let found = format!("{allowed} allowed, {} in use, {ours} for each node", seen.connections);
    let advice = "raise max_connections, lower pg_connections, or put a pooler in between";
    match allowed {
        _ if ours > allowed => Finding::ill(CHECK, found, advice),
        _ if 2 * ours > allowed => {
            Finding::doubtful(CHECK, found, format!("a second node will not fit: {advice}"))
        }
        _ => Finding::well(CHECK, found),
    }
}

fn round_trip(took: Duration) -> Finding {
    const CHECK: &str = "round trip";
    let shown = term::latency(took.as_micros() as u64);
    match took > SLOW_ROUND_TRIP {
        false => Finding::well(CHECK, shown),
        true => Finding::doubtful(
            CHECK,
            shown,
            "a sale takes several of these: run the nodes near PostgreSQL, in the same zone",
        ),
    }
}

fn commit(took: Duration) -> Finding {
    const CHECK: &str = "commit";
    let shown = term::latency(took.as_micros() as u64);
    match took > SLOW_COMMIT {
        false => Finding::well(CHECK, shown),
        true => Finding::doubtful(
            CHECK,
            shown,
            "every sale waits for this; a faster disk for the log, or a nearer standby, helps most",
        ),
    }
}

fn schema(seen: &Seen) -> Finding {
    const CHECK: &str = "schema";
    match seen.schema {
        None => {
            Finding::doubtful(CHECK, "none yet", "`holdfast migrate` makes it, and so does `holdfast serve`")
        }
        Some(version) if version < seen.newest_schema => Finding::doubtful(
            CHECK,
            format!("version {version}, this program knows {}", seen.newest_schema),
            "`holdfast migrate` brings it up to date, and so does `holdfast serve`; older nodes keep working",
        ),
        Some(version) => Finding::well(CHECK, format!("version {version}, up to date")),
    }
}

fn long_transactions(open: &[LongTransaction]) -> Finding {
    const CHECK: &str = "long transactions";
    let Some(oldest) = open.first() else { return Finding::well(CHECK, "none") };
    let (whose, end) = match &oldest.whose {
        Whose::Process { pid, program } => {
            let program = if program.is_empty() { "unnamed" } else { program };
            (format!("process {pid} ({program})"), format!("SELECT pg_terminate_backend({pid})"))
        }
        Whose::Prepared { name, database } => (
            format!("prepared transaction {name} in the database {database}"),
            format!("ROLLBACK PREPARED '{}', in that database", name.replace('\'', "''")),
        ),
    };
    Finding::doubtful(
        CHECK,
        format!("{}, the oldest for {} s: {whose}", open.len(), oldest.age_s),
        format!("end what should not be there ({end}): meanwhile nothing can be tidied away"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn what_loses_sales_is_ill_and_what_slows_them_doubtful() {
        assert_eq!(must_be_on("fsync", "off", "").health, Health::Ill);
        assert_eq!(synchronous_commit("off").health, Health::Ill);
        assert_eq!(synchronous_commit("remote_apply").health, Health::Well);
        assert_eq!(isolation("serializable").health, Health::Doubtful);
        assert_eq!(commit(2 * SLOW_COMMIT).health, Health::Doubtful);
        assert_eq!(encoding("LATIN1").health, Health::Ill);
        assert_eq!(encoding("SQL_ASCII").health, Health::Doubtful);
    }

    #[test]
    fn a_prepared_transaction_that_nobody_ends_is_named() {
        let whose = Whose::Prepared { name: "it's".into(), database: "shop".into() };
        let found = long_transactions(&[LongTransaction { whose, age_s: 7200 }]);
        assert_eq!(found.health, Health::Doubtful);
        assert_eq!(found.found, "1, the oldest for 7200 s: prepared transaction it's in the database shop");
        assert!(found.advice.contains("ROLLBACK PREPARED 'it''s', in that database"), "{}", found.advice);
    }
}
