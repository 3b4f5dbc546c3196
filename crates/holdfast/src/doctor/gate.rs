//! Redis: whether it is there, and set up for what a gate needs: an answer within milliseconds, and no forgetting of
//! single keys.

use std::time::Duration;

use holdfast_engine::gate::redis::{
    OpenError,
    inspect::{self, Look, Seen},
};

use super::{Finding, clocks};
use crate::{
    node,
    settings::{Gate, without_password},
    term,
};

/// The oldest that is looked after, and has every command that the gates use.
const OLDEST: u32 = 6;
/// A gate steps aside after `gate_timeout`; a round trip should be far from it.
const SLOW_PART: u32 = 5;

pub(super) fn all(gate: &Gate) -> Vec<Finding> {
    const CHECK: &str = "Redis";
    let looked = match node::short_runtime() {
        Ok(runtime) => runtime.block_on(look(gate)),
        Err(fault) => return vec![Finding::ill(CHECK, fault.to_string(), "look at the limits of this user")],
    };
    let place = without_password(&gate.addresses);
    match looked {
        Ok(looks) => looks.into_iter().flat_map(|look| judge(look, gate.settings.timeout)).collect(),
        Err(fault) => {
            vec![Finding::ill(CHECK, format!("{place}: {fault}"), "correct --gate or HOLDFAST_GATE")]
        }
    }
}

async fn look(gate: &Gate) -> Result<Vec<Look>, OpenError> {
    let Gate { addresses, settings, .. } = gate;
    inspect::look(addresses, settings.authority.as_ref(), settings.connect_timeout).await
}

fn judge(look: Look, timeout: Duration) -> Vec<Finding> {
    let findings = match &look.seen {
        // Bookings go on without it; that is what doubtful means.
        Err(fault) => vec![Finding::doubtful(
            "Redis",
            format!("does not answer: {fault}"),
            "start it, or correct --gate (or gate_ca, with rediss://); meanwhile every request asks PostgreSQL",
        )],
        Ok(seen) if seen.mode == "sentinel" => {
            vec![version(seen), encryption(seen), round_trip(seen, timeout)]
        }
        Ok(seen) => {
            let harm = "a gate forgets holds by this clock";
            let mut findings = vec![
                version(seen),
                encryption(seen),
                role(seen),
                eviction(seen),
                persistence(seen),
                round_trip(seen, timeout),
                clocks("Redis clock", seen.clock_ahead_ms, "its clock", harm),
            ];
            findings.extend(seen.cluster_state.as_deref().map(cluster));
            findings
        }
    };
    findings.into_iter().map(|finding| Finding { of: look.server.clone(), ..finding }).collect()
}

fn version(seen: &Seen) -> Finding {
    const CHECK: &str = "Redis";
    let major: u32 = seen.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    let found = format!("{} {}", seen.mode, seen.version);
    match major {
        OLDEST.. => Finding::well(CHECK, found),
        _ => Finding::doubtful(CHECK, found, "upgrade Redis to 6 or newer"),
    }
}

fn encryption(seen: &Seen) -> Finding {
    Finding::well("Redis encryption", seen.encryption.to_string())
}

fn role(seen: &Seen) -> Finding {
    const CHECK: &str = "Redis role";
    match (seen.role.as_str(), &seen.cluster_state) {
        // A Cluster sends every question to the right member by itself.
        ("master", _) | (_, Some(_)) => Finding::well(CHECK, &seen.role),
        _ => Finding::ill(
            CHECK,
            &seen.role,
            "a replica takes no writes: name the master, or use redis+sentinel://",
        ),
    }
}

fn eviction(seen: &Seen) -> Finding {
    const CHECK: &str = "Redis memory";
    let limit = match seen.max_memory {
        0 => "no limit".to_owned(),
        bytes => term::size(bytes),
    };
    let found = format!("{limit}, {}", seen.eviction);
    match seen.eviction.as_str() {
        "noeviction" | "" => Finding::well(CHECK, found),
        _ => Finding::doubtful(
            CHECK,
            found,
            "set maxmemory-policy noeviction: a gate that forgets single keys lets through what it should refuse, \
             and PostgreSQL pays for it",
        ),
    }
}

fn persistence(seen: &Seen) -> Finding {
    const CHECK: &str = "Redis persistence";
    let found = match (seen.append_only, seen.snapshots.is_empty()) {
        (true, _) => format!("append-only file, fsync {}", seen.append_fsync),
        (false, false) => "snapshots".to_owned(),
        (false, true) => "none, and none is needed: a gate is rebuilt from the books".to_owned(),
    };
    match seen.append_only && seen.append_fsync == "always" {
        false => Finding::well(CHECK, found),
        true => Finding::doubtful(
            CHECK,
            found,
            "set appendfsync everysec or no: a gate needs no durability, and every answer waits for the disk",
        ),
    }
}

fn round_trip(seen: &Seen, timeout: Duration) -> Finding {
    const CHECK: &str = "Redis round trip";
    let shown = term::latency(seen.round_trip.as_micros() as u64);
    match seen.round_trip > timeout / SLOW_PART {
        false => Finding::well(CHECK, shown),
        true => Finding::doubtful(
            CHECK,
            shown,
            "run it nearer to the nodes: the gate steps aside after gate_timeout",
        ),
    }
}

fn cluster(state: &str) -> Finding {
    const CHECK: &str = "Redis Cluster";
    match state {
        "ok" => Finding::well(CHECK, state),
        _ => Finding::ill(CHECK, state, "`redis-cli --cluster check` says which slots nobody serves"),
    }
}
