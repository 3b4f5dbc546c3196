//! Waiting for a PostgreSQL that is not there yet: machines that start together do not start in order.

use std::time::Duration;

use holdfast_engine::ledger::postgres::{
    Connecting,
    inspect::{self, Unreached},
};
use tracing::{info, warn};

use crate::{failure::Failure, load::stopwatch, settings::without_password};

/// The pause after the first try; each one doubles, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Returns when PostgreSQL takes questions. What cannot heal by itself, such as a wrong password or
/// certificate, is not waited for.
pub async fn wait_for(connecting: &Connecting, patience: Duration) -> Result<(), Failure> {
    let began = stopwatch();
    let mut pause = FIRST_PAUSE;
    loop {
        let fault = match inspect::reach(connecting).await {
            Ok(()) => break,
            Err(fault) => fault,
        };
        if !matches!(fault, Unreached::NotThere(_)) || began.elapsed() + pause > patience {
            return Err(unreached(connecting, patience, fault));
        }
        if pause == FIRST_PAUSE {
            warn!(ledger = %without_password(&connecting.url), %fault, "PostgreSQL is not there yet; waiting up to {patience:?}");
        }
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(2 * pause);
    }
    if pause > FIRST_PAUSE {
        info!(after = ?began.elapsed(), "PostgreSQL is there");
    }
    Ok(())
}

/// Whether PostgreSQL takes questions now, for commands that do not wait.
pub async fn ask_once(connecting: &Connecting) -> Result<(), Failure> {
    inspect::reach(connecting).await.map_err(|fault| unreached(connecting, Duration::ZERO, fault))
}

fn unreached(connecting: &Connecting, patience: Duration, fault: Unreached) -> Failure {
    let ledger = without_password(&connecting.url);
    match fault {
        Unreached::TurnedAway(_) => {
            let what = format!("PostgreSQL turns us away at {ledger}");
            let next =
                "correct user, password and database in --ledger or HOLDFAST_LEDGER; the database must exist";
            Failure::unreachable(what, next).because(fault)
        }
        Unreached::Insecure(_) | Unreached::Address(_) => {
            let what = format!("there is no TLS as --ledger demands it at {ledger}");
            let next = "sslmode says how much is checked, sslrootcert who vouches for the server; docs/operations.md \
                        has both";
            Failure::unreachable(what, next).because(fault)
        }
        Unreached::NotThere(_) => {
            let waited = if patience.is_zero() { String::new() } else { format!(" within {patience:?}") };
            let what = format!("PostgreSQL does not answer{waited} at {ledger}");
            let next =
                "start it, or correct --ledger or HOLDFAST_LEDGER; `pg_wait` says how long serve waits";
            Failure::unreachable(what, next).because(fault)
        }
    }
}
