//! Ports for rigs. A rig is killed and started again on its port, and its clients keep knocking while nobody listens.
//! On an ephemeral port (what binding to 0 gives) such a client may be handed the very port it knocks on as its own,
//! connect to itself, and keep the server from coming back. So ports are taken from below the ephemeral range.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{Result, RigError};

const LOWEST: u32 = 15_000;
const USUAL_EPHEMERAL: u32 = 32_768;

/// So that no two rigs of this process are given the same one; the process id keeps processes apart, mostly.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port nobody listened on a moment ago. Someone else may be quicker: whoever starts a server on it tries again.
pub(crate) fn free() -> Result<u16> {
    let span = first_ephemeral().saturating_sub(LOWEST);
    let offset = process::id().wrapping_mul(97);
    let candidates = (0..span).map(|_| {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        u16::try_from(LOWEST + offset.wrapping_add(step) % span).unwrap_or(0)
    });
    // Port 0 is the last resort where everything below is ephemeral or taken: whatever the system gives.
    candidates
        .chain([0])
        .find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?.local_addr().ok())
        .map(|address| address.port())
        .ok_or_else(|| RigError::Failed {
            doing: "looking for a free port".into(),
            said: "every port of 127.0.0.1 is taken".into(),
        })
}

fn first_ephemeral() -> u32 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(USUAL_EPHEMERAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_are_not_ephemeral() {
        let ports: std::collections::BTreeSet<_> = (0..50).map(|_| free().unwrap()).collect();
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| u32::from(*port) < first_ephemeral().max(LOWEST + 1)));
    }
}
