//! One connection, from its first byte to its last.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use axum::http::Request;
use holdfast_engine::mint;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::watch::{Verdict, Watch, Watched};
use crate::{
    layers::{Arrival, Layers, Shed, bare_answer},
    problem::{Code, Problem},
};

/// The most headers, and the most bytes of them, that a request may have.
const MAX_HEADERS: usize = 64;
const MAX_HEAD_BYTES: usize = 64 * 1024;

pub(crate) struct Connection {
    layers: Arc<Layers>,
    /// Finish what is under way and take nothing new.
    closing: CancellationToken,
    /// Stop at once.
    cut_off: CancellationToken,
}

/// How a connection came to its end.
enum Ending {
    /// By agreement, by its client's leave, or by a fault of the wire.
    Closed,
    HeadTooSlow,
    CutOff,
}

impl Connection {
    pub(crate) fn new(layers: Arc<Layers>, closing: CancellationToken, cut_off: CancellationToken) -> Self {
        Self { layers, closing, cut_off }
    }

    pub(super) async fn serve(self, stream: TcpStream, peer: IpAddr) {
        let watch = Watch::new(Instant::now());
        let limits = &self.layers.app.limits;
        let service = service_fn(|request: Request<Incoming>| {
            let first_byte = watch.head_complete(Instant::now);
            let arrival = Arrival { peer, first_byte, deadline: first_byte + limits.request_timeout };
            let (layers, watch) = (&self.layers, &watch);
            async move {
                // An impatient client costs a timer here, and not the work that others need to be served: ten times as
                // many as there is room for, none of whom waits as told, would otherwise be most of what there is to do.
                if let Some(then) = watch.heard_again().filter(|then| Instant::now() < *then) {
                    // Those who were sent away together are not heard together, and not as soon as if they had waited.
                    let later = mint::wait_between(Duration::ZERO, limits.shed_pause * 3);
                    Box::pin(sleep_until(then + later)).await;
                }
                let response = layers.answer(request, arrival).await;
                if response.extensions().get::<Shed>().is_some() {
                    watch.sent_away(Instant::now() + limits.shed_pause);
                }
                watch.answered();
                Ok::<_, Infallible>(response)
            }
        });
        let io = TokioIo::new(Watched { stream, watch: Arc::clone(&watch) });
        let mut http = http1::Builder::new()
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEAD_BYTES)
            // Timed by Watch, from the first byte on.
            .header_read_timeout(None)
            .serve_connection(io, service);

        let look_in = sleep_until(Instant::now() + limits.request_timeout);
        tokio::pin!(look_in);
        let closing = self.closing.cancelled();
        let cut_off = self.cut_off.cancelled();
        tokio::pin!(closing, cut_off);
        let mut is_closing = false;
        let ending = loop {
            tokio::select! {
                biased;
                _ = &mut http => break Ending::Closed,
                () = &mut look_in => {
                    match watch.verdict(Instant::now(), limits.request_timeout, limits.idle_timeout) {
                        Verdict::LookAgain(at) => look_in.as_mut().reset(at),
                        Verdict::HeadTooSlow => break Ending::HeadTooSlow,
                        Verdict::Idle => break Ending::Closed,
                    }
                }
                () = &mut closing, if !is_closing => {
                    is_closing = true;
                    std::pin::Pin::new(&mut http).graceful_shutdown();
                }
                // Only who was asked to finish can be out of time.
                () = &mut cut_off, if is_closing => break Ending::CutOff,
            }
        };
        let stream = http.into_parts().io.into_inner().stream;
        finish(stream, ending).await;
    }
}

async fn finish(mut stream: TcpStream, ending: Ending) {
    match ending {
        Ending::CutOff => {}
        Ending::Closed => linger(stream).await,
        Ending::HeadTooSlow => {
            let problem = Problem::new(Code::RequestTimeout, "The headers did not arrive in time.");
            if stream.write_all(&bare_answer(&problem)).await.is_ok() {
                linger(stream).await;
            }
        }
    }
}

const LINGER: Duration = Duration::from_millis(500);
const MAX_LINGER_BYTES: usize = 1024 * 1024;

/// Says goodbye and listens a moment longer. Closing a socket with unread bytes resets it, and the client of a
/// body that was too long would lose the very answer that says so.
pub(super) async fn linger(mut stream: TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let drained = async {
        let mut scratch = [0; 4096];
        let mut left = MAX_LINGER_BYTES;
        while let Ok(read @ 1..) = stream.read(&mut scratch).await {
            left = left.saturating_sub(read);
            if left == 0 {
                break;
            }
        }
    };
    // Whoever keeps sending after that has had its chance to read.
    let _ = timeout(LINGER, drained).await;
}
