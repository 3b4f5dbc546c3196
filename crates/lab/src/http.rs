//! One request to a server of ours, on a connection of its own, so that nobody's answer depends on what became of
//! somebody else's.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::{net::TcpStream, time::timeout};

/// How long an answer may take; a server that has been killed says so at once.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    body: Bytes,
}

impl Reply {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// What became of a request that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Nobody has heard it.
    NotSent,
    /// Whether it was heard, nobody knows.
    NoAnswer,
}

#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub method: Method,
    pub path: &'a str,
    pub admin_key: &'a str,
    pub idempotency_key: Option<String>,
    pub body: Option<serde_json::Value>,
}

/// Asks the server at `address`, as in `127.0.0.1:8080`.
pub(crate) async fn ask(address: &str, ask: Ask<'_>) -> Result<Reply, Lost> {
    let connecting = timeout(PATIENCE, TcpStream::connect(address)).await;
    let stream = connecting.ok().and_then(Result::ok).ok_or(Lost::NotSent)?;
    let _ = stream.set_nodelay(true);
    let mut request = Request::builder()
        .method(ask.method)
        .uri(ask.path)
        .header(header::HOST, address)
        .header(header::AUTHORIZATION, format!("Bearer {}", ask.admin_key));
    if let Some(key) = ask.idempotency_key {
        request = request.header("idempotency-key", key);
    }
    if ask.body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    let body = ask.body.map_or_else(Bytes::new, |body| body.to_string().into());
    let request = request.body(Full::new(body)).map_err(|_| Lost::NotSent)?;
    let answered = timeout(PATIENCE, exchange(stream, request)).await;
    answered.ok().and_then(Result::ok).ok_or(Lost::NoAnswer)
}

async fn exchange(stream: TcpStream, request: Request<Full<Bytes>>) -> hyper::Result<Reply> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with its sender; what goes wrong with it, the sender hears.
    tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    Ok(Reply { status, body })
}
