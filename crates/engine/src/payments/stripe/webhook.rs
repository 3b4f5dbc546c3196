//! What Stripe sends by itself. A webhook is a hint, never a fact: its signature says that Stripe sent it, and then
//! the object is fetched.

use hmac::{Hmac, KeyInit, Mac};
use holdfast_domain::{BookingId, IntentId, Moment};
use serde_json::Value;
use sha2::Sha256;

use crate::payments::provider::SecretText;

/// How old a signature may be: whoever recorded one cannot send it again next week.
pub const TOLERANCE_S: u32 = 300;

/// An event that concerns somebody's payment, or nobody's of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Empty where it has no name.
    pub event: String,
    pub kind: String,
    /// The booking whose payment moved; `None` for everything that does not say so.
    pub booking: Option<BookingId>,
    /// The payment that moved, as the provider calls it; one of ours if we know it.
    pub intent: Option<IntentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadWebhook {
    #[error("Stripe-Signature: missing, or not of the form t=…,v1=…")]
    Malformed,
    #[error("Stripe-Signature: signed with none of the webhook secrets in force")]
    Forged,
    #[error("Stripe-Signature: its time is more than {TOLERANCE_S} s from now")]
    Stale,
    #[error("the body is no event")]
    NoEvent,
}

/// Checks the signature over the raw body against every secret in force, then reads the event.
pub fn recognise(
    signature: &str,
    body: &[u8],
    secrets: &[SecretText],
    now: Moment,
) -> Result<Hint, BadWebhook> {
    let signed = Signed::parse(signature)?;
    // Forged before stale: whoever cannot sign learns nothing about our clock.
    if !secrets.iter().any(|secret| signed.is_by(secret, body)) {
        return Err(BadWebhook::Forged);
    }
    let age_ms = now.ms_since(Moment::from_ms(signed.at_s.saturating_mul(1000)));
    if age_ms.unsigned_abs() > u64::from(TOLERANCE_S) * 1000 {
        return Err(BadWebhook::Stale);
    }
    read(body)
}

struct Signed<'a> {
    at_s: i64,
    /// The time as it was written, which is what was signed.
    at: &'a str,
    signatures: Vec<[u8; 32]>,
}

impl<'a> Signed<'a> {
    fn parse(header: &'a str) -> Result<Self, BadWebhook> {
        let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
        let at = parts().find_map(|(name, value)| (name == "t").then_some(value));
        let at = at.ok_or(BadWebhook::Malformed)?;
        let at_s = at.parse().map_err(|_| BadWebhook::Malformed)?;
        // Several while a secret is being replaced; other schemes than v1 are for tests only.
        let signatures: Vec<_> = parts()
            .filter(|(name, _)| *name == "v1")
            .filter_map(|(_, hexadecimal)| bytes(hexadecimal))
            .collect();
        if signatures.is_empty() {
            return Err(BadWebhook::Malformed);
        }
        Ok(Self { at_s, at, signatures })
    }

    fn is_by(&self, secret: &SecretText, body: &[u8]) -> bool {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes())
            .expect("HMAC takes keys of any length");
        mac.update(self.at.as_bytes());
        mac.update(b".");
        mac.update(body);
        // Compares in constant time.
        self.signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
    }
}

fn bytes(hexadecimal: &str) -> Option<[u8; 32]> {
    let digits = hexadecimal.as_bytes();
    if digits.len() != 64 || !hexadecimal.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

fn read(body: &[u8]) -> Result<Hint, BadWebhook> {
    // Whatever is signed and an object is an event, of which as much is read as is there.
    let event: Value = serde_json::from_slice(body).map_err(|_| BadWebhook::NoEvent)?;
    if !event.is_object() {
        return Err(BadWebhook::NoEvent);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &event["data"]["object"];
    let booking = object["metadata"]["booking"].as_str().and_then(|text| text.parse().ok());
    let kind = text(&event["type"]);
    // A charge and a refund name their payment.
    let itself = || object["id"].as_str().filter(|_| kind.starts_with("payment_intent."));
    let named = object["payment_intent"].as_str().or_else(itself);
    let intent = named.and_then(|text| IntentId::new(text).ok());
    Ok(Hint { event: text(&event["id"]), kind, booking, intent })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":{"metadata":
        {"booking":"bk_00000000000000000000000001"}}}}"#;
    const NOW: Moment = Moment::from_s(1_800_000_000);

    fn secret(text: &str) -> SecretText {
        SecretText::new(text)
    }

    fn signed(by: &str, at_s: i64) -> String {
        holdfast_stripe_simulator::sign(by, BODY, at_s)
    }

    fn recognised(header: &str, secrets: &[&str]) -> Result<Hint, BadWebhook> {
        let secrets: Vec<_> = secrets.iter().map(|text| secret(text)).collect();
        recognise(header, BODY, &secrets, NOW)
    }

    #[test]
    fn a_signed_event_names_its_booking() {
        let hint = recognised(&signed("new", 1_800_000_000), &["old", "new"]).unwrap();
        assert_eq!((hint.event.as_str(), hint.kind.as_str()), ("evt_1", "payment_intent.succeeded"));
        assert_eq!(hint.booking, Some(BookingId::from_bits(1)));
    }

    #[test]
    fn forged_stale_and_malformed_are_told_apart() {
        assert_eq!(recognised(&signed("other", 1_800_000_000), &["old"]), Err(BadWebhook::Forged));
        assert_eq!(recognised(&signed("old", 1_800_000_000), &[]), Err(BadWebhook::Forged));
        assert_eq!(recognised(&signed("old", 1_800_000_000 - 301), &["old"]), Err(BadWebhook::Stale));
        assert!(recognised(&signed("old", 1_800_000_000 - 300), &["old"]).is_ok());
        let moved = signed("old", 1_799_999_000).replace("t=1799999000", "t=1800000000");
        assert_eq!(recognised(&moved, &["old"]), Err(BadWebhook::Forged));
        for bad in ["", "t=1", "v1=00", "t=x,v1=00", "t=1800000000,v0=00", "nonsense"] {
            assert_eq!(recognised(bad, &["old"]), Err(BadWebhook::Malformed), "{bad}");
        }
    }

    #[test]
    fn one_good_signature_among_several_is_enough() {
        let good = signed("new", 1_800_000_000);
        let both = good.replace(",v1=", &format!(",v1={},v1=", "0".repeat(64)));
        assert!(recognised(&both, &["new"]).is_ok());
    }

    #[test]
    fn a_changed_body_is_forged() {
        let header = signed("s", 1_800_000_000);
        let changed = [BODY, b" "].concat();
        assert_eq!(recognise(&header, &changed, &[secret("s")], NOW), Err(BadWebhook::Forged));
    }

    #[test]
    fn events_of_others_are_nobodys() {
        for body in [
            &br#"{"id":"evt_1","type":"customer.created"}"#[..],
            br#"{"id":"e","type":"t","data":{"object":{"metadata":[]}}}"#,
            br#"{"type":"t","data":null}"#,
            br#"{"id":null,"data":{"object":null}}"#,
            b"{}",
        ] {
            let Hint { booking, intent, .. } = read(body).unwrap();
            assert_eq!((booking, intent), (None, None));
        }
        assert_eq!(read(b"[]"), Err(BadWebhook::NoEvent));
    }

    #[test]
    fn an_event_names_the_payment_it_is_about() {
        for (kind, object, intent) in [
            ("payment_intent.succeeded", r#"{"id":"pi_1"}"#, Some("pi_1")),
            ("refund.updated", r#"{"id":"re_1","payment_intent":"pi_1","metadata":{}}"#, Some("pi_1")),
            ("customer.created", r#"{"id":"cus_1"}"#, None),
        ] {
            let hint =
                read(format!(r#"{{"type":"{kind}","data":{{"object":{object}}}}}"#).as_bytes()).unwrap();
            assert_eq!(hint.intent.as_ref().map(IntentId::as_str), intent);
        }
    }
}
