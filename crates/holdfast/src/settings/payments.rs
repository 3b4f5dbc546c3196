//! Settings of payments: who is asked, with which secrets, and how patiently.

use std::time::Duration;

use holdfast_domain::{PayTerms, payment::MAX_PIN_S};
use holdfast_engine::payments::{
    provider::SecretText,
    saga,
    stripe::{self, Stripe},
};

use holdfast_server::Checkout;

use super::check::{DAY, HOUR, MANY, MS, Reader, SECOND};

/// How to be paid. There is one where a secret key is.
#[derive(Debug, Clone)]
pub struct Payments {
    pub stripe: stripe::Settings,
    pub webhook_secrets: Vec<SecretText>,
    pub checkout: Checkout,
    pub saga: saga::Settings,
}

impl Reader<'_> {
    pub(super) fn payments(&mut self) -> Option<Payments> {
        // Read in any case: a setting at fault is at fault whether it is in use or not.
        let saga = self.saga();
        let stripe = self.stripe();
        let webhook_secrets = self.secrets("stripe_webhook_secret");
        let checkout = self.checkout();
        if self.given("stripe_secret_key").is_none() {
            if !webhook_secrets.is_empty() {
                self.fault("stripe_webhook_secret", "needs HOLDFAST_STRIPE_SECRET_KEY beside it");
            }
            return None;
        }
        if let Err(fault) = Stripe::new(stripe.clone()) {
            let key = match fault {
                stripe::SetupError::Key => "stripe_secret_key",
                _ => "stripe_url",
            };
            self.fault(key, fault.to_string());
        }
        Some(Payments { stripe, webhook_secrets, checkout, saga })
    }

    fn stripe(&mut self) -> stripe::Settings {
        let key = SecretText::new(self.given("stripe_secret_key").unwrap_or_default());
        stripe::Settings {
            url: self.text("stripe_url"),
            secret_key: key,
            connect_timeout: self.duration("stripe_connect_timeout", MS..=HOUR),
            timeout: self.duration("stripe_timeout", MS..=HOUR),
            retries: self.count("stripe_retries", 0..=10) as u32,
            backoff: self.duration("stripe_backoff", MS..=HOUR),
        }
    }

    /// With a publishable key the shop's pages show Stripe's own form. Without one they offer test cards where the
    /// secret key moves nobody's money, and otherwise take no cards.
    fn checkout(&mut self) -> Checkout {
        let publishable = self.given("stripe_publishable_key").filter(|key| !key.is_empty());
        let secret = self.given("stripe_secret_key").unwrap_or_default();
        match publishable {
            Some(key) if key.starts_with("pk_") && key.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Checkout::StripeElement { publishable_key: key }
            }
            Some(_) => {
                self.fault("stripe_publishable_key", "must be Stripe's publishable key, pk_…");
                Checkout::Elsewhere
            }
            None if secret.starts_with("sk_test_") => Checkout::TestCards,
            None => Checkout::Elsewhere,
        }
    }

    fn saga(&mut self) -> saga::Settings {
        saga::Settings {
            terms: PayTerms {
                pin_s: self.count("pay_pin_s", 0..=MAX_PIN_S as usize) as u32,
                grace_s: self.duration("pay_grace", Duration::ZERO..=DAY).as_secs() as u32,
                look_s: self.duration("pay_look", SECOND..=HOUR).as_secs() as u32,
            },
            first_wait: self.duration("pay_first_wait", MS..=DAY),
            longest_wait: self.duration("pay_longest_wait", MS..=DAY),
            refund_tries: self.count("pay_refund_tries", 1..=1000) as u32,
            poll: self.duration("pay_poll", MS..=HOUR),
            at_once: self.count("pay_at_once", 1..=MANY),
            lease: self.duration("pay_lease", SECOND..=HOUR),
        }
    }

    /// Texts with commas between them, none of which is ever shown.
    fn secrets(&mut self, key: &'static str) -> Vec<SecretText> {
        let text = self.given(key).unwrap_or_default();
        let secrets: Vec<&str> = text.split(',').map(str::trim).filter(|secret| !secret.is_empty()).collect();
        if secrets.iter().any(|secret| !secret.bytes().all(|byte| byte.is_ascii_graphic())) {
            self.fault(key, "must be secrets of visible ASCII characters, with commas between them");
        }
        secrets.into_iter().map(SecretText::new).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::check::tests::check, Checkout};

    #[test]
    fn the_documented_defaults_are_those_of_the_code() {
        let settings = check(&[("stripe_secret_key", "sk_test_1")]).unwrap().payments.unwrap();
        let stripe = super::stripe::Settings::new(super::SecretText::new("sk_test_1"));
        assert_eq!(format!("{:?}", settings.stripe), format!("{stripe:?}"));
        assert_eq!(format!("{:?}", settings.saga), format!("{:?}", super::saga::Settings::default()));
    }

    #[test]
    fn without_a_key_there_are_no_payments() {
        assert!(check(&[]).unwrap().payments.is_none());
        assert!(check(&[("stripe_webhook_secret", "whsec_1")]).is_err());
    }

    #[test]
    fn the_shop_takes_cards_as_the_keys_allow() {
        let checkout =
            |given: &[(&'static str, &str)]| check(given).map(|all| all.payments.unwrap().checkout);
        let test = ("stripe_secret_key", "sk_test_1");
        assert_eq!(checkout(&[test]).unwrap(), Checkout::TestCards);
        assert_eq!(checkout(&[("stripe_secret_key", "sk_live_1")]).unwrap(), Checkout::Elsewhere);
        let element = Checkout::StripeElement { publishable_key: "pk_test_1".into() };
        assert_eq!(checkout(&[test, ("stripe_publishable_key", "pk_test_1")]).unwrap(), element);
        assert!(checkout(&[test, ("stripe_publishable_key", "sk_test_1")]).is_err());
    }

    #[test]
    fn several_secrets_may_sign_and_none_is_repeated() {
        let given = [("stripe_secret_key", "sk_live_hidden"), ("stripe_webhook_secret", "whsec_a, whsec_b")];
        let settings = check(&given).unwrap();
        assert_eq!(settings.payments.as_ref().unwrap().webhook_secrets.len(), 2);
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hidden") && !shown.contains("whsec_"), "{shown}");
        let faults = check(&[("stripe_secret_key", "sk live hidden"), ("stripe_url", "http://far.example")]);
        let faults = faults.unwrap_err();
        assert!(faults.iter().all(|fault| !format!("{fault:?}").contains("hidden")), "{faults:?}");
    }
}
