//! Names and identifiers.
//!
//! Two sorts: names chosen by people ([`OfferId`], [`HolderId`]), checked once when parsed and trusted ever
//! after; and identifiers minted outside the domain ([`HoldId`], [`BookingId`]) from 128 random bits, so that
//! knowing one says nothing about any other.

use std::{fmt, str::FromStr, sync::Arc};

use crate::text::{self, Invalid};

/// The public name of an offer: `[a-z0-9-]{1,64}`. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferId(Arc<str>);

impl OfferId {
    pub fn new(name: &str) -> Result<Self, Invalid> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
            return Err(Invalid::new("id", "must be 1 to 64 characters of a-z, 0-9 and -"));
        }
        Ok(Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who claims: an opaque string of 1 to 128 visible characters. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HolderId(Arc<str>);

impl HolderId {
    pub fn new(name: &str) -> Result<Self, Invalid> {
        // The usual case, recognised without a copy: every character is a visible one already.
        if !name.is_empty() && name.len() <= 128 && name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(Self(name.into()));
        }
        Ok(Self(text::visible("holder", name, 128)?.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! shown_as_its_text {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    )*};
}
shown_as_its_text!(OfferId, HolderId);

macro_rules! minted_id {
    ($name:ident, $prefix:literal, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Two halves, the higher first: as one number it would be padded to 16 bytes wherever it is kept.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u64; 2]);

        impl $name {
            /// From random bits; the domain itself never rolls dice.
            pub const fn from_bits(bits: u128) -> Self {
                Self([(bits >> 64) as u64, bits as u64])
            }

            pub const fn bits(self) -> u128 {
                (self.0[0] as u128) << 64 | self.0[1] as u128
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut digits = [0; DIGITS];
                f.write_str($prefix)?;
                f.write_str(base32(self.bits(), &mut digits))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                text.strip_prefix($prefix).and_then(from_base32).map(Self::from_bits).ok_or(NotAnId)
            }
        }
    };
}
minted_id!(HoldId, "hold_", "A hold's public identifier, `hold_` and 26 characters.");
minted_id!(BookingId, "bk_", "A booking's public identifier, `bk_` and 26 characters.");

/// The text is not an identifier of this sort. To a caller that is the same as one that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnId;

/// 26 characters of five bits each hold 128 bits; the first carries only three.
const DIGITS: usize = 26;
/// Crockford's alphabet in lower case: no i, l, o or u to misread.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn base32(mut bits: u128, digits: &mut [u8; DIGITS]) -> &str {
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(bits & 31) as usize];
        bits >>= 5;
    }
    std::str::from_utf8(digits).expect("the alphabet is ASCII")
}

fn from_base32(text: &str) -> Option<u128> {
    if text.len() != DIGITS || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0u128, |bits, byte| {
        let digit = ALPHABET.iter().position(|&c| c == byte)?;
        Some(bits << 5 | digit as u128)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_their_own_text() {
        for bits in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
            let id = HoldId::from_bits(bits);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn other_text_is_no_id() {
        for text in [
            "",
            "hold_",
            "hold_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "bk_00000000000000000000000000",
            "hold_é0000000000000000000000000",
        ] {
            assert_eq!(text.parse::<HoldId>(), Err(NotAnId), "{text}");
        }
    }

    #[test]
    fn names_are_checked() {
        assert!(OfferId::new("night-2").is_ok());
        for bad in ["", "Night", "a b", &"a".repeat(65), "ä"] {
            assert!(OfferId::new(bad).is_err(), "{bad}");
        }
        assert!(HolderId::new("алиса").is_ok());
        for bad in ["", "a b", "a\u{202e}b", "a\nb", &"a".repeat(129)] {
            assert!(HolderId::new(bad).is_err(), "{bad:?}");
        }
    }
}
