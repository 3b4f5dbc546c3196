//! Offers written down in a file, in the API's own JSON: checked before anybody sends them.

use std::sync::Arc;

use holdfast_domain::Offer;

use super::offer_in::NewOffer;

/// What is wrong with a file of offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferFault {
    /// It is not the JSON of an offer, at this line and column.
    Shape { line: usize, column: usize, what: String },
    /// The offer of that number, counted from 1, cannot be sold as it is.
    Rule { number: usize, what: String },
}

/// One offer or a list of them, checked as `POST /v1/offers` would check each.
pub fn check_offers(json: &[u8]) -> Result<Vec<Arc<Offer>>, Vec<OfferFault>> {
    let (mut offers, mut faults) = (Vec::new(), Vec::new());
    for (at, offer) in parse(json).map_err(|fault| vec![shape(&fault)])?.into_iter().enumerate() {
        match offer.offer() {
            Ok(offer) => offers.push(offer),
            Err(problem) => {
                faults.push(OfferFault::Rule { number: at + 1, what: problem.detail.into_owned() })
            }
        }
    }
    if faults.is_empty() { Ok(offers) } else { Err(faults) }
}

fn parse(json: &[u8]) -> serde_json::Result<Vec<NewOffer>> {
    match json.trim_ascii_start().starts_with(b"{") {
        true => serde_json::from_slice(json).map(|offer| vec![offer]),
        false => serde_json::from_slice(json),
    }
}

fn shape(fault: &serde_json::Error) -> OfferFault {
    let text = fault.to_string();
    // serde_json ends with the place, which has fields of its own here.
    let what = text.split(" at line ").next().unwrap_or(&text).to_owned();
    OfferFault::Shape { line: fault.line(), column: fault.column(), what }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: &str = r#"{"id":"a","name":"A","kind":"stock","currency":"EUR",
        "stock":{"lines":[{"key":"GA","capacity":5,"price":1}]}}"#;

    #[test]
    fn one_or_many_are_read() {
        assert_eq!(check_offers(STOCK.as_bytes()).unwrap().len(), 1);
        assert_eq!(check_offers(format!("\n[{STOCK},{STOCK}]").as_bytes()).unwrap().len(), 2);
    }

    #[test]
    fn a_wrong_shape_is_found_where_it_stands() {
        let text = STOCK.replace("\"capacity\":5", "\"capacity\":\"five\"");
        let OfferFault::Shape { line, what, .. } = check_offers(text.as_bytes()).unwrap_err().remove(0)
        else {
            panic!()
        };
        assert_eq!((line, what.as_str()), (2, "invalid type: string \"five\", expected u32"));
    }

    #[test]
    fn every_broken_rule_names_its_offer() {
        let wrong = STOCK.replace("\"capacity\":5", "\"capacity\":0");
        let faults = check_offers(format!("[{wrong},{STOCK},{wrong}]").as_bytes()).unwrap_err();
        let numbers: Vec<usize> = faults
            .iter()
            .map(|fault| match fault {
                OfferFault::Rule { number, .. } => *number,
                OfferFault::Shape { .. } => 0,
            })
            .collect();
        assert_eq!(numbers, [1, 3]);
    }
}
