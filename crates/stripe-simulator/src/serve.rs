//! Sockets: one task a connection, which can also end without an answer.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{api, simulator::Bench};

/// Parameters are small; more than this is no form.
const MOST_BYTES: usize = 256 * 1024;

/// The connection ends here, without an answer.
#[derive(Debug)]
pub(crate) struct Dropped;

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulator was told to drop this connection")
    }
}

impl std::error::Error for Dropped {}

pub(crate) async fn run(listener: TcpListener, bench: Arc<Bench>, closing: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        // A connection that failed before it began is its caller's to try again.
        let Ok((stream, _)) = accepted else { continue };
        // Answers are small and waited for.
        let _ = stream.set_nodelay(true);
        let (bench, closing) = (Arc::clone(&bench), closing.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| answer(&bench, request));
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! { () = closing.cancelled() => {}, _ = connection => {} }
        });
    }
}

async fn answer(bench: &Bench, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Dropped> {
    let (head, body) = request.into_parts();
    match Limited::new(body, MOST_BYTES).collect().await {
        Ok(body) => api::answer(bench, &head, &body.to_bytes()).await,
        Err(fault) if fault.is::<LengthLimitError>() => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            Ok(response)
        }
        Err(_) => Err(Dropped),
    }
}
