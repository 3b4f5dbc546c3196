//! How a running server is told to stop: once to finish in order, twice to give up.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Exit;

/// Cancels `shutdown` at the first SIGINT or SIGTERM. A second one ends the process on the spot, which is safe:
/// whatever was acknowledged is on disk already.
pub async fn on_signal(shutdown: CancellationToken) {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals keep their usual meaning and end the process.
        return;
    };
    let mut next = async || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    next().await;
    shutdown.cancel();
    next().await;
    std::process::exit(Exit::Interrupted as i32);
}
