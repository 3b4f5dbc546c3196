//! One call to Stripe, tried again where that is safe, and its failure told apart.
//!
//! Every change carries its step's `Idempotency-Key`, so trying again can do nothing twice. Stripe files the first
//! outcome under the key, a 500 included: such an answer comes back marked as replayed, and no further try with
//! that key can change it.

use std::time::Duration;

use reqwest::{Method, Response, StatusCode, header};
use serde::de::DeserializeOwned;
use tokio::time::sleep;
use tracing::debug;

use super::{API_VERSION, Stripe, shapes::ErrorShape};
use crate::payments::provider::{ProviderError, StepKey};

/// No object that is read here comes near this size.
const MOST_BYTES: usize = 1024 * 1024;
/// How long Stripe may tell us to wait, in seconds: beyond it the question is put down and taken up later.
const LONGEST_WAIT_S: u64 = 60;

/// What became of one try.
enum Tried<T> {
    Done(T),
    /// For good, as far as this key goes.
    Failed(ProviderError),
    /// The same, because there is no such thing.
    Absent(ProviderError),
    /// Worth another try with the same key.
    Again(ProviderError),
}

impl Stripe {
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        form: &[(&str, &str)],
        key: Option<StepKey>,
    ) -> Result<T, ProviderError> {
        self.find(method, path, form, key).await?
    }

    /// The same, where that there is none may be an answer: the inner fault.
    pub(super) async fn find<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        form: &[(&str, &str)],
        key: Option<StepKey>,
    ) -> Result<Result<T, ProviderError>, ProviderError> {
        let mut wait = self.settings.backoff;
        let mut unknown = None;
        for attempt in 0..=self.settings.retries {
            let fault = match self.attempt(&method, path, form, key).await {
                Tried::Done(object) => return Ok(Ok(object)),
                Tried::Failed(fault) => return Err(worse(unknown, fault)),
                Tried::Absent(fault) => return Ok(Err(worse(unknown, fault))),
                Tried::Again(fault) => fault,
            };
            debug!(%method, path, attempt, %fault, "the payment provider failed to answer");
            if matches!(fault, ProviderError::Unknown { .. }) {
                unknown = Some(fault.clone());
            }
            if attempt == self.settings.retries {
                return Err(worse(unknown, fault));
            }
            sleep(wait).await;
            wait *= 2;
        }
        unreachable!("the last attempt returns")
    }

    async fn attempt<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        form: &[(&str, &str)],
        key: Option<StepKey>,
    ) -> Tried<T> {
        let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut url = self.url.clone();
        url.set_path(&format!("{}/v1/{path}", self.url.path().trim_end_matches('/')));
        if *method == Method::GET && !encoded.is_empty() {
            url.set_query(Some(&encoded));
        }
        let mut request = self
            .http
            .request(method.clone(), url)
            .bearer_auth(self.settings.secret_key.reveal())
            .header("stripe-version", API_VERSION);
        if let Some(key) = key {
            request = request.header("idempotency-key", key.to_string());
        }
        if *method == Method::POST {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(encoded);
        }
        match request.send().await {
            Ok(response) => read(response).await,
            Err(fault) => Tried::Again(unsent_or_unknown(&fault)),
        }
    }
}

/// A try that may have done something is not undone by a later one that did nothing.
fn worse(unknown: Option<ProviderError>, last: ProviderError) -> ProviderError {
    match (&unknown, &last) {
        (Some(_), ProviderError::NotDone { .. }) => unknown.expect("matched"),
        _ => last,
    }
}

fn unsent_or_unknown(fault: &reqwest::Error) -> ProviderError {
    let why = said(fault);
    // Without a connection nothing was sent.
    match fault.is_connect() {
        true => ProviderError::NotDone { why, retry_after: None },
        false => ProviderError::unknown(why),
    }
}

/// The fault and its causes in one line. Addresses are left out; keys are in none of it.
fn said(fault: &reqwest::Error) -> String {
    let mut text = if fault.is_timeout() { "no answer in time".to_owned() } else { "no answer".to_owned() };
    let mut cause = std::error::Error::source(fault);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

async fn read<T: DeserializeOwned>(response: Response) -> Tried<T> {
    let status = response.status();
    let replayed = response.headers().contains_key("idempotent-replayed");
    let retry_after = retry_after(&response);
    let body = match body(response).await {
        Ok(body) => body,
        // It was answered, so it was done or refused; only which one is lost.
        Err(why) => return Tried::Again(ProviderError::unknown(why)),
    };
    if status.is_success() {
        return match serde_json::from_slice(&body) {
            Ok(object) => Tried::Done(object),
            Err(fault) => {
                Tried::Failed(ProviderError::unknown(format!("an answer of another shape: {fault}")))
            }
        };
    }
    match classify(status, &ErrorShape::read(&body), replayed, retry_after) {
        Tried::Failed(fault) if status == StatusCode::NOT_FOUND => Tried::Absent(fault),
        tried => tried,
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|fault| said(&fault))? {
        if body.len() + chunk.len() > MOST_BYTES {
            return Err("an answer larger than any object".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: u64 = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds.min(LONGEST_WAIT_S)))
}

fn classify<T>(
    status: StatusCode,
    error: &ErrorShape,
    replayed: bool,
    retry_after: Option<Duration>,
) -> Tried<T> {
    let why = error.said(status);
    match (status, error.code.as_deref()) {
        (StatusCode::PAYMENT_REQUIRED, _) => Tried::Failed(match error.decline() {
            Some(decline) => ProviderError::Declined(decline),
            None => ProviderError::unknown(why),
        }),
        // The object is further on than we thought: looking at it says where.
        (_, Some("payment_intent_unexpected_state" | "charge_already_refunded")) => {
            Tried::Failed(ProviderError::unknown(why))
        }
        (StatusCode::CONFLICT, _) => Tried::Again(ProviderError::unknown(why)),
        (StatusCode::TOO_MANY_REQUESTS, _) => Tried::Again(ProviderError::NotDone { why, retry_after }),
        // Our key is wrong or may not do this: an operator can mend that, so the booking is not given up.
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => {
            Tried::Failed(ProviderError::NotDone { why, retry_after })
        }
        _ if error.kind == "idempotency_error" => Tried::Failed(ProviderError::unknown(why)),
        _ if status.is_server_error() && replayed => {
            Tried::Failed(ProviderError::Unknown { why, filed: true })
        }
        _ if status.is_server_error() => Tried::Again(ProviderError::unknown(why)),
        _ if status.is_client_error() && !error.kind.is_empty() => {
            Tried::Failed(ProviderError::Refused { why })
        }
        _ => Tried::Failed(ProviderError::unknown(why)),
    }
}
