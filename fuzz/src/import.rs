//! Files that people import: offers as JSON, seat plans and stock lists as CSV.

use holdfast_domain::{Offer, seat_plan::SeatPlan};
use holdfast_server::{Sheet, check_offers, parse_sheet};

/// Offers that are accepted are accepted again as they were written down.
pub(crate) fn offers_file(data: &[u8]) {
    match check_offers(data) {
        Ok(offers) => offers.iter().for_each(|offer| {
            assert_eq!(Offer::new(offer.def().clone()).as_ref(), Ok(&**offer));
        }),
        Err(faults) => assert!(!faults.is_empty(), "a refusal has a reason"),
    }
}

/// A sheet that is accepted is made of rows and lines that the domain accepts; one that is not says on which
/// line of the file it fails.
pub(crate) fn sheet(data: &[u8]) {
    match parse_sheet(data, 2) {
        Ok(Sheet::Seats(sections)) => {
            for mut section in sections {
                section.rows.truncate(1);
                assert!(SeatPlan::new(&mut [section]).is_ok());
            }
        }
        Ok(Sheet::Stock(lines)) => assert!(lines.iter().all(|line| line.capacity > 0)),
        Err(faults) => {
            let lines = data.iter().filter(|&&byte| byte == b'\n' || byte == b'\r').count() as u64 + 1;
            assert!(!faults.is_empty());
            assert!(faults.iter().all(|fault| (1..=lines).contains(&fault.line) && !fault.what.is_empty()));
        }
    }
}
