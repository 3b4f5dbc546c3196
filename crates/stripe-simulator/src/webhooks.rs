//! Webhooks: events sent to the merchant, signed; late, twice and out of order on request, and again after a
//! failure, as Stripe does. Without an address they are kept for whoever takes them.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::Full;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    net::TcpStream,
    sync::{Notify, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::time::Time;

/// How webhooks reach the merchant.
#[derive(Debug, Clone)]
pub struct Deliveries {
    /// `http://…` to post to; without one, [`Simulator::take_webhooks`](crate::Simulator::take_webhooks) has them.
    pub url: Option<String>,
    /// How often each is sent.
    pub copies: usize,
    /// How long each waits before it is sent.
    pub delay: Duration,
    /// What waits together leaves in reverse.
    pub reordered: bool,
    /// How often a delivery that was not answered with 2xx is tried again, each time after twice the time.
    pub retries: u32,
    pub retry_after: Duration,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self {
            url: None,
            copies: 1,
            delay: Duration::ZERO,
            reordered: false,
            retries: 8,
            retry_after: Duration::from_secs(1),
        }
    }
}

/// A webhook ready to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The event's type.
    pub kind: String,
    pub body: Bytes,
    /// The `Stripe-Signature` header.
    pub signature: String,
}

/// The `Stripe-Signature` of a body at a time: HMAC-SHA-256 over the time, a dot and the body.
pub fn sign(secret: &str, body: &[u8], at_s: i64) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(format!("{at_s}.").as_bytes());
    mac.update(body);
    let bytes = mac.finalize().into_bytes();
    let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={at_s},v1={hexadecimal}")
}

/// Events on their way out. Bounded: when nobody takes them the oldest are forgotten.
#[derive(Debug)]
pub(crate) struct Outgoing {
    waiting: Mutex<VecDeque<Value>>,
    came: Notify,
    secret: String,
}

const MOST_WAITING: usize = 10_000;
const AT_ONCE: usize = 16;
const PATIENCE: Duration = Duration::from_secs(10);

impl Outgoing {
    pub(crate) fn new(secret: String) -> Self {
        Self { waiting: Mutex::default(), came: Notify::new(), secret }
    }

    pub(crate) fn add(&self, events: Vec<Value>) {
        if events.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        waiting.extend(events);
        while waiting.len() > MOST_WAITING {
            waiting.pop_front();
        }
        self.came.notify_one();
    }

    pub(crate) fn take(&self, now_ms: i64) -> Vec<Delivery> {
        let events = std::mem::take(&mut *self.waiting.lock());
        events.iter().map(|event| self.delivery(event, now_ms)).collect()
    }

    fn delivery(&self, event: &Value, now_ms: i64) -> Delivery {
        let body = Bytes::from(format!("{event:#}"));
        let signature = sign(&self.secret, &body, now_ms / 1000);
        Delivery { kind: event["type"].as_str().unwrap_or_default().to_owned(), body, signature }
    }

    /// Sends what comes until told to stop.
    pub(crate) async fn deliver(
        self: Arc<Self>,
        settings: Deliveries,
        url: Uri,
        time: Arc<Time>,
        closing: CancellationToken,
    ) {
        let at_once = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            tokio::select! {
                () = closing.cancelled() => return,
                () = self.came.notified() => {}
            }
            sleep(settings.delay).await;
            let mut events: Vec<Value> = std::mem::take(&mut *self.waiting.lock()).into();
            if settings.reordered {
                events.reverse();
            }
            for event in events.iter().flat_map(|event| std::iter::repeat_n(event, settings.copies)) {
                let permit = Arc::clone(&at_once).acquire_owned().await.expect("never closed");
                let (outgoing, time, event) = (Arc::clone(&self), Arc::clone(&time), event.clone());
                let (settings, url, closing) = (settings.clone(), url.clone(), closing.clone());
                tokio::spawn(async move {
                    let send = outgoing.insist(&event, &settings, &url, &time);
                    tokio::select! { () = closing.cancelled() => {}, () = send => {} }
                    drop(permit);
                });
            }
        }
    }

    async fn insist(&self, event: &Value, settings: &Deliveries, url: &Uri, time: &Time) {
        for attempt in 0..=settings.retries {
            // Signed anew each time: an old signature would be refused for its age.
            let delivery = self.delivery(event, time.now_ms());
            if timeout(PATIENCE, post(url, delivery))
                .await
                .is_ok_and(|posted| posted.is_ok_and(|heard| heard))
            {
                return;
            }
            sleep(settings.retry_after * 2_u32.saturating_pow(attempt)).await;
        }
    }
}

/// Whether it was answered with 2xx.
async fn post(url: &Uri, delivery: Delivery) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    let host = url.host().ok_or("an address without a host")?;
    let stream = TcpStream::connect((host, url.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let authority = url.authority().ok_or("an address without an authority")?;
    let request = Request::post(url.path_and_query().map_or("/", |path| path.as_str()))
        .header(header::HOST, authority.as_str())
        .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
        .header(header::USER_AGENT, "Stripe/1.0 (simulated)")
        .header("Stripe-Signature", delivery.signature)
        .body(Full::new(delivery.body))?;
    let status = sender.send_request(request).await.map(|response| response.status());
    connection.abort();
    Ok(status?.is_success())
}
