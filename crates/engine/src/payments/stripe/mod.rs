//! Stripe's REST API: the [`Provider`] for real. `call` speaks HTTP and tells the kinds of "no" apart, `shapes`
//! reads the objects, [`webhook`] recognises what Stripe sends by itself.
//!
//! Creating and confirming an intent are two calls although Stripe would take them as one: between them the intent's
//! id is journalled, so that no money is ever taken for an intent nobody can name.

mod call;
mod shapes;
pub mod webhook;

use std::{fmt, time::Duration};

use async_trait::async_trait;
use holdfast_domain::{BookingId, Currency, IntentId, Money};
use reqwest::{Client, Method, Url};

use self::shapes::{IntentShape, ListShape, RefundShape};
use super::provider::{Intent, NewIntent, Provider, ProviderError, Refund, SecretText, Step, StepKey};

/// The version of Stripe's API whose shapes are read here. Stripe keeps answering in it.
pub const API_VERSION: &str = "2024-06-20";

pub const DEFAULT_URL: &str = "https://api.stripe.com";

#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the API is; `/v1/…` is added.
    pub url: String,
    pub secret_key: SecretText,
    pub connect_timeout: Duration,
    /// Of one try.
    pub timeout: Duration,
    /// How often a call is tried again with the same key when its outcome is unknown or nothing was done.
    pub retries: u32,
    /// Before the first of those; twice as long before each later one.
    pub backoff: Duration,
}

impl Settings {
    pub fn new(secret_key: SecretText) -> Self {
        Self {
            url: DEFAULT_URL.to_owned(),
            secret_key,
            connect_timeout: Duration::from_secs(3),
            timeout: Duration::from_secs(10),
            retries: 2,
            backoff: Duration::from_millis(250),
        }
    }
}

/// Why no client can be made of the settings.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{0} is no address of an API: it must begin with https://, or http:// on this machine")]
    Address(String),
    #[error("the secret key has characters that no key has")]
    Key,
    #[error("no HTTPS client can be made")]
    Client(#[source] reqwest::Error),
}

pub struct Stripe {
    http: Client,
    url: Url,
    settings: Settings,
}

impl fmt::Debug for Stripe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stripe").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

impl Stripe {
    pub fn new(settings: Settings) -> Result<Self, SetupError> {
        let (url, is_local) = address(&settings.url)?;
        if settings.secret_key.reveal().is_empty()
            || !settings.secret_key.reveal().bytes().all(|b| b.is_ascii_graphic())
        {
            return Err(SetupError::Key);
        }
        crate::tls::install_provider();
        let mut http = Client::builder()
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("holdfast/", env!("CARGO_PKG_VERSION")));
        if is_local {
            http = http.no_proxy();
        }
        let http = http.build().map_err(SetupError::Client)?;
        Ok(Self { http, url, settings })
    }

    /// Whether anybody is there, whatever they say; if not, why. Asks for nothing and sends no key.
    pub async fn answers(&self) -> Result<(), String> {
        let asked = self.http.get(self.url.clone()).send().await;
        asked.map(drop).map_err(|fault| {
            let causes =
                std::iter::successors(Some(&fault as &dyn std::error::Error), |cause| cause.source());
            causes.last().map(ToString::to_string).unwrap_or_default()
        })
    }

    async fn intent_call(
        &self,
        path: &str,
        form: &[(&str, &str)],
        key: StepKey,
    ) -> Result<Intent, ProviderError> {
        let shape: IntentShape = self.call(Method::POST, path, form, Some(key)).await?;
        shape.try_into()
    }
}

/// The secret key travels in every call: over plain HTTP only as far as this machine.
fn address(text: &str) -> Result<(Url, bool), SetupError> {
    let refused = || SetupError::Address(text.to_owned());
    let url: Url = text.trim_end_matches('/').parse().map_err(|_| refused())?;
    let host = url.host_str().ok_or_else(refused)?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match url.scheme() {
        "https" => Ok((url, is_local)),
        "http" if is_local => Ok((url, is_local)),
        _ => Err(refused()),
    }
}

#[async_trait]
impl Provider for Stripe {
    async fn create(&self, new: &NewIntent, key: StepKey) -> Result<Intent, ProviderError> {
        let amount = to_stripe(new.amount, new.currency).to_string();
        let currency = new.currency.code().to_ascii_lowercase();
        let (booking, hold) = (new.booking.to_string(), new.hold.to_string());
        let mut form = vec![
            ("amount", amount.as_str()),
            ("currency", &currency),
            ("metadata[booking]", &booking),
            ("metadata[hold]", &hold),
            ("automatic_payment_methods[enabled]", "true"),
        ];
        if let Some(method) = &new.payment_method {
            // The server confirms: a method that sends the buyer elsewhere would have nowhere to come back to.
            form.push(("automatic_payment_methods[allow_redirects]", "never"));
            form.push(("payment_method", method));
        }
        self.intent_call("payment_intents", &form, key).await
    }

    async fn confirm(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.intent_call(&format!("payment_intents/{intent}/confirm"), &[], key).await
    }

    async fn retrieve(&self, intent: &IntentId) -> Result<Intent, ProviderError> {
        let shape: IntentShape =
            self.call(Method::GET, &format!("payment_intents/{intent}"), &[], None).await?;
        shape.try_into()
    }

    async fn cancel(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        let form = [("cancellation_reason", "abandoned")];
        self.intent_call(&format!("payment_intents/{intent}/cancel"), &form, key).await
    }

    async fn capture(&self, intent: &IntentId, key: StepKey) -> Result<Intent, ProviderError> {
        self.intent_call(&format!("payment_intents/{intent}/capture"), &[], key).await
    }

    async fn refund(
        &self,
        intent: &IntentId,
        booking: BookingId,
        key: StepKey,
    ) -> Result<Refund, ProviderError> {
        debug_assert_eq!(key.step, Step::Refund);
        let booking = booking.to_string();
        let form = [("payment_intent", intent.as_str()), ("metadata[booking]", &booking)];
        let shape: RefundShape = self.call(Method::POST, "refunds", &form, Some(key)).await?;
        shape.try_into()
    }

    async fn refunds(&self, intent: &IntentId) -> Result<Vec<Refund>, ProviderError> {
        let form = [("payment_intent", intent.as_str()), ("limit", "100")];
        let found = self.find::<ListShape<RefundShape>>(Method::GET, "refunds", &form, None).await?;
        // Where there is no list there is nothing on it: the key of a refund keeps it from being made twice.
        let Ok(list) = found else { return Ok(Vec::new()) };
        list.data.into_iter().map(Refund::try_from).collect()
    }
}

/// What Stripe calls an amount. Two currencies have no decimals in the world and two in Stripe's API, from the time
/// when they had some.
fn to_stripe(amount: Money, currency: Currency) -> u64 {
    amount.minor() * stripe_scale(currency.code())
}

fn stripe_scale(currency: &str) -> u64 {
    match currency {
        "ISK" | "UGX" => 100,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_leaves_this_machine_encrypted_only() {
        for good in
            ["https://api.stripe.com", "http://127.0.0.1:12111", "http://localhost:1", "http://[::1]:1/"]
        {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in ["http://api.stripe.com", "ftp://127.0.0.1", "api.stripe.com", "", "http://10.0.0.1"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nothing_shows_the_key() {
        let settings = Settings::new(SecretText::new("sk_test_hidden"));
        let shown = format!("{settings:?} {:?}", Stripe::new(settings.clone()).unwrap());
        assert!(!shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn amounts_are_what_stripe_calls_them() {
        let amount = |code, minor| to_stripe(Money::new(minor).unwrap(), Currency::new(code).unwrap());
        assert_eq!((amount("EUR", 4500), amount("JPY", 4500), amount("ISK", 45)), (4500, 4500, 4500));
    }
}
