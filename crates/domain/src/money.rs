//! Money: an integer of minor units in one currency, with checked arithmetic only.

use std::fmt;

use crate::text::Invalid;

/// The most one hold may cost. Large enough for anything sold by the seat, small enough that no sum of the
/// books can overflow and every JSON reader keeps the exact integer.
pub const MAX_AMOUNT: u64 = 999_999_999_999;

/// Minor units of the offer's currency: `4500` is €45.00, `4500` yen is ¥4500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Money(u64);

impl Money {
    pub const ZERO: Self = Self(0);

    pub fn new(minor: u64) -> Result<Self, Invalid> {
        if minor > MAX_AMOUNT {
            return Err(Invalid::new("price", format!("must not exceed {MAX_AMOUNT} minor units")));
        }
        Ok(Self(minor))
    }

    pub const fn minor(self) -> u64 {
        self.0
    }

    pub fn times(self, quantity: u32) -> Option<Self> {
        self.0.checked_mul(quantity.into()).and_then(|sum| Self::new(sum).ok())
    }

    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).and_then(|sum| Self::new(sum).ok())
    }
}

/// An ISO 4217 code. It knows how many decimals its people write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency([u8; 3]);

impl Currency {
    pub fn new(code: &str) -> Result<Self, Invalid> {
        let known = CODES.split_ascii_whitespace().any(|known| known == code);
        match code.as_bytes().try_into() {
            Ok(bytes) if known => Ok(Self(bytes)),
            _ => Err(Invalid::new("currency", "must be an ISO 4217 code in capitals, such as EUR")),
        }
    }

    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("codes are ASCII")
    }

    pub fn decimals(&self) -> usize {
        match self.code() {
            "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX" | "VND"
            | "VUV" | "XAF" | "XOF" | "XPF" => 0,
            "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
            _ => 2,
        }
    }

    /// `45.00 EUR`, `4500 JPY`, `4.500 KWD`.
    pub fn show(&self, amount: Money) -> String {
        let scale = 10u64.pow(self.decimals() as u32);
        let (whole, part) = (amount.0 / scale, amount.0 % scale);
        match self.decimals() {
            0 => format!("{whole} {self}"),
            decimals => format!("{whole}.{part:0decimals$} {self}"),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

const CODES: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD \
    CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD \
    HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD \
    MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG \
    QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD \
    TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_decimals_of_its_people() {
        let show = |code, minor| Currency::new(code).unwrap().show(Money::new(minor).unwrap());
        assert_eq!(show("EUR", 4500), "45.00 EUR");
        assert_eq!(show("EUR", 7), "0.07 EUR");
        assert_eq!(show("JPY", 4500), "4500 JPY");
        assert_eq!(show("KWD", 4500), "4.500 KWD");
    }

    #[test]
    fn refuses_what_is_not_money() {
        assert!(Currency::new("eur").is_err());
        assert!(Currency::new("ZZZ").is_err());
        assert!(Money::new(u64::MAX).is_err());
        let most = Money::new(MAX_AMOUNT).unwrap();
        assert_eq!(most.times(2), None);
        assert_eq!(most.plus(Money(1)), None);
        assert_eq!(Money(3).times(4), Some(Money(12)));
    }
}
