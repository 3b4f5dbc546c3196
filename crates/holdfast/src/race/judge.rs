//! Reading the journal of one unit to see whether it was ever promised to two at once.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::Course;
use crate::{
    failure::{Exit, Failure},
    http::{api::Api, escaped},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub entries: usize,
    /// How often a claim was placed while the unit had no room for it.
    pub double_bookings: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct Entry {
    kind: String,
    hold: Option<String>,
    booking: Option<String>,
}

/// The verdict on the whole history of the unit, of which there is one; `None` where the key may not read it.
pub async fn journal(api: &mut Api, course: &Course) -> Result<Option<Verdict>, Failure> {
    let path = format!("/v1/journal?offer={}&unit={}", escaped(&course.offer), escaped(&course.unit));
    match api.list::<Entry>(&path).await {
        Ok(entries) => Ok(Some(judge(&entries, 1))),
        Err(failure) if failure.exit == Exit::Refused => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Folds the entries in order, keeping the claims alive at each point.
fn judge(entries: &[Entry], capacity: u64) -> Verdict {
    let mut alive: HashSet<&str> = HashSet::new();
    let mut hold_of: HashMap<&str, &str> = HashMap::new();
    let mut double_bookings = 0;
    for entry in entries {
        match (entry.kind.as_str(), entry.hold.as_deref(), entry.booking.as_deref()) {
            ("hold_placed", Some(hold), _) => {
                double_bookings += u64::from(alive.len() as u64 >= capacity);
                alive.insert(hold);
            }
            ("hold_released" | "hold_expired", Some(hold), _) => {
                alive.remove(hold);
            }
            ("booking_confirmed", Some(hold), Some(booking)) => {
                hold_of.insert(booking, hold);
            }
            ("booking_cancelled", _, Some(booking)) => {
                alive.remove(hold_of.get(booking).copied().unwrap_or_default());
            }
            _ => {}
        }
    }
    Verdict { entries: entries.len(), double_bookings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(script: &str) -> Vec<Entry> {
        let entry = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            Entry { kind: words.next().unwrap(), hold: words.next(), booking: words.next() }
        };
        script.split(", ").map(entry).collect()
    }

    fn double_bookings(script: &str) -> u64 {
        judge(&entries(script), 1).double_bookings
    }

    #[test]
    fn one_claim_after_another_is_fine() {
        let script = "hold_placed a, hold_released a, hold_placed b, hold_expired b, hold_placed c, \
            booking_confirmed c bk, booking_cancelled c bk, hold_placed d";
        assert_eq!(double_bookings(script), 0);
    }

    #[test]
    fn two_claims_at_once_are_caught() {
        assert_eq!(double_bookings("hold_placed a, hold_placed b"), 1);
        assert_eq!(double_bookings("hold_placed a, booking_confirmed a bk, hold_placed b, hold_placed c"), 2);
        assert_eq!(judge(&entries("hold_placed a, hold_placed b, hold_placed c"), 2).double_bookings, 1);
    }
}
