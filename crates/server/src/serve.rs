//! Sockets: accepting them, bounding them, and letting go of them in order.
//!
//! ```text
//! accept ─► connection ─► layers            until told to stop
//! stop: no new connections, no new requests, event streams end; answers under way finish
//! grace over: what is left is cut off
//! ```

mod connection;
mod watch;

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use connection::Connection;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{interval, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{info, warn};

use crate::{
    app::{App, Parts},
    layers::{Layers, bare_answer},
    problem::Problem,
    router, telemetry,
};

/// Serves until `shutdown` is cancelled and what was under way has ended.
pub async fn run(listener: TcpListener, parts: Parts, shutdown: CancellationToken) {
    let app = Arc::new(App::new(parts, shutdown.clone()));
    let layers = Arc::new(Layers::new(Arc::clone(&app), router::router(Arc::clone(&app))));
    let background = [
        tokio::spawn(Arc::clone(&app.live_map).run()).abort_handle(),
        tokio::spawn(keep_metrics(Arc::clone(&app))).abort_handle(),
    ];
    let server = Server {
        places: Arc::new(Semaphore::new(app.limits.max_connections)),
        turned_away: Arc::new(Semaphore::new(MAX_TURNED_AWAY)),
        connections: TaskTracker::new(),
        cut_off: CancellationToken::new(),
        layers,
    };
    server.accept(listener, &shutdown).await;
    server.drain(app.limits.shutdown_grace).await;
    background.iter().for_each(|task| task.abort());
}

async fn keep_metrics(app: Arc<App>) {
    let mut tick = interval(telemetry::UPKEEP_INTERVAL);
    loop {
        tick.tick().await;
        app.metrics.run_upkeep();
    }
}

/// How many connections that found no place are told so at once; more are just closed.
const MAX_TURNED_AWAY: usize = 256;
/// How long accepting rests when the machine has no more sockets to give.
const ACCEPT_REST: Duration = Duration::from_millis(50);

struct Server {
    places: Arc<Semaphore>,
    turned_away: Arc<Semaphore>,
    connections: TaskTracker,
    cut_off: CancellationToken,
    layers: Arc<Layers>,
}

impl Server {
    async fn accept(&self, listener: TcpListener, shutdown: &CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => self.welcome(stream, peer.ip(), shutdown),
                    Err(error) => rest(&error).await,
                },
            }
        }
    }

    fn welcome(&self, stream: TcpStream, peer: IpAddr, shutdown: &CancellationToken) {
        // Answers are small and written whole: waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => {
                let connection =
                    Connection::new(Arc::clone(&self.layers), shutdown.clone(), self.cut_off.clone());
                self.connections.spawn(async move {
                    connection.serve(stream, peer).await;
                    drop(place);
                });
            }
            Err(_) => self.turn_away(stream),
        }
    }

    fn turn_away(&self, mut stream: TcpStream) {
        let Ok(place) = Arc::clone(&self.turned_away).try_acquire_owned() else { return };
        self.connections.spawn(async move {
            let answer = bare_answer(&Problem::overloaded());
            if stream.write_all(&answer).await.is_ok() {
                connection::linger(stream).await;
            }
            drop(place);
        });
    }

    async fn drain(&self, grace: Duration) {
        self.connections.close();
        info!(connections = self.connections.len(), "no longer accepting; finishing what is under way");
        if timeout(grace, self.connections.wait()).await.is_err() {
            warn!(connections = self.connections.len(), "out of patience; cutting off what is left");
            self.cut_off.cancel();
            self.connections.wait().await;
        }
    }
}

/// A client that vanished before it was accepted is its own affair; running out of sockets is ours.
async fn rest(error: &io::Error) {
    let its_own =
        [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionRefused];
    if !its_own.contains(&error.kind()) {
        warn!(%error, "cannot accept connections");
        sleep(ACCEPT_REST).await;
    }
}
