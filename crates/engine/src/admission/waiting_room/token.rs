//! Tickets and passes: signed words that say which place somebody has, so that the room need not remember who.
//!
//! ```text
//! t.hall.1.4711.<signature>                  ticket 4711 of run 1
//! p.hall.1.4711.1794765600000.<signature>    whoever has it is inside until then
//! ```
//! The signature is also over the session that the token was given to, which the token does not name: in another
//! browser it is no token at all. Whether a pass still counts is the room's to say; leaving ends it at once.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use holdfast_domain::{HolderId, Moment, OfferId};
use sha2::Sha256;

use super::room::Number;

#[derive(Clone)]
pub struct Signer([u8; 32]);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub run: u32,
    pub number: Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    pub ticket: Ticket,
    pub until: Moment,
}

impl Signer {
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    pub fn ticket(&self, offer: &OfferId, ticket: Ticket, holder: &HolderId) -> String {
        self.sign(format!("t.{offer}.{}.{}", ticket.run, ticket.number), holder)
    }

    pub fn pass(&self, offer: &OfferId, pass: Pass, holder: &HolderId) -> String {
        let Pass { ticket, until } = pass;
        self.sign(format!("p.{offer}.{}.{}.{}", ticket.run, ticket.number, until.ms()), holder)
    }

    /// The ticket for this offer that was given to this holder, if that is what it is.
    pub fn read_ticket(&self, token: &str, offer: &OfferId, holder: &HolderId) -> Option<Ticket> {
        let mut words = self.verified(token, holder)?.strip_prefix("t.")?.split('.');
        let ticket = ticket_in(&mut words, offer)?;
        words.next().is_none().then_some(ticket)
    }

    pub fn read_pass(&self, token: &str, offer: &OfferId, holder: &HolderId) -> Option<Pass> {
        let mut words = self.verified(token, holder)?.strip_prefix("p.")?.split('.');
        let ticket = ticket_in(&mut words, offer)?;
        let until = Moment::from_ms(words.next()?.parse().ok()?);
        words.next().is_none().then_some(Pass { ticket, until })
    }

    fn sign(&self, words: String, holder: &HolderId) -> String {
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.mac(&words, holder).finalize().into_bytes());
        words + "." + &signature
    }

    fn verified<'a>(&self, token: &'a str, holder: &HolderId) -> Option<&'a str> {
        let (words, signature) = token.rsplit_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.mac(words, holder).verify_slice(&signature).ok()?;
        Some(words)
    }

    fn mac(&self, words: &str, holder: &HolderId) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length of key will do");
        // Named, so that nothing else signed with this secret can pass for it.
        for part in ["queue", words, holder.as_str()] {
            mac.update(part.as_bytes());
            mac.update(&[0]);
        }
        mac
    }
}

fn ticket_in<'a>(words: &mut impl Iterator<Item = &'a str>, offer: &OfferId) -> Option<Ticket> {
    if words.next()? != offer.as_str() {
        return None;
    }
    Some(Ticket { run: words.next()?.parse().ok()?, number: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> (Signer, OfferId, HolderId) {
        (Signer::new([7; 32]), OfferId::new("hall").unwrap(), HolderId::new("session_a").unwrap())
    }

    #[test]
    fn a_token_is_good_for_its_own_holder_and_offer_only() {
        let (signer, hall, alice) = names();
        let ticket = Ticket { run: 1, number: 4711 };
        let token = signer.ticket(&hall, ticket, &alice);
        assert_eq!(signer.read_ticket(&token, &hall, &alice), Some(ticket));
        let bob = HolderId::new("session_b").unwrap();
        assert_eq!(signer.read_ticket(&token, &hall, &bob), None, "shared");
        assert_eq!(signer.read_ticket(&token, &OfferId::new("annex").unwrap(), &alice), None);
        assert_eq!(Signer::new([8; 32]).read_ticket(&token, &hall, &alice), None, "of another server");
        assert_eq!(signer.read_pass(&token, &hall, &alice), None, "a ticket is no pass");
        let forged = token.replace("4711", "1");
        assert_eq!(signer.read_ticket(&forged, &hall, &alice), None);
    }

    #[test]
    fn nonsense_is_no_token() {
        let (signer, hall, alice) = names();
        let pass = Pass { ticket: Ticket { run: 1, number: 2 }, until: Moment::from_ms(3) };
        let token = signer.pass(&hall, pass, &alice);
        assert_eq!(signer.read_pass(&token, &hall, &alice), Some(pass));
        for cut in 0..token.len() {
            assert_eq!(signer.read_pass(&token[..cut], &hall, &alice), None, "{cut}");
        }
        for nonsense in ["", ".", "t.hall.1.1", "p.hall.1.1.1.", "p.hall.x.y.z.AAAA"] {
            assert_eq!(signer.read_pass(nonsense, &hall, &alice), None, "{nonsense}");
        }
    }
}
