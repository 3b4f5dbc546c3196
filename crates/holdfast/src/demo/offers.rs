//! What the demo sells, as an organiser would post it.

use serde_json::{Value, json};

/// The seat that the printed curl line asks for. Row A belongs to visitors.
pub(super) const CURL_SEAT: &str = "A-12";

/// Rows of the hall that live buyers shop in. A and B are for visitors, G and H for races.
pub(super) const BUSY_ROWS: [&str; 4] = ["C", "D", "E", "F"];
pub(super) const SEATS_A_ROW: u32 = 20;

const SECTIONS: u32 = 64;
const ROWS_A_SECTION: u32 = 16;

pub(super) fn all() -> [Value; 4] {
    [hall(), stadium(), practitioner(), flash_sale()]
}

fn hall() -> Value {
    let row = |name: &&str| json!({"name": name, "seats": SEATS_A_ROW, "gaps": [5, 15]});
    let rows = |names: &[&str]| names.iter().map(row).collect::<Value>();
    json!({
        "id": "hall", "name": "Night at the Hall", "kind": "seats", "currency": "EUR", "hold_ttl_s": 600,
        "limit_per_holder": 6,
        "seats": {"sections": [
            {"name": "Stalls", "category": "A", "price": 4500, "rows": rows(&["A", "B", "C", "D"])},
            {"name": "Circle", "category": "B", "price": 2900, "rows": rows(&["E", "F", "G", "H"])},
        ]},
    })
}

/// 64 sections of 16 rows of 20: 20,480 seats. Row `107C` is row C of section 107.
fn stadium() -> Value {
    let section = |number: u32| {
        let (category, price) = match number {
            0..16 => ("Pitchside", 12_500),
            16..40 => ("Tribune", 7_900),
            _ => ("Upper tier", 3_900),
        };
        let name = (101 + number).to_string();
        let letters = ('A'..='Z').take(ROWS_A_SECTION as usize);
        let rows: Value = letters.map(|row| json!({"name": format!("{name}{row}"), "seats": 20})).collect();
        json!({"name": name, "category": category, "price": price, "rows": rows})
    };
    json!({
        "id": "stadium", "name": "The Final", "kind": "seats", "currency": "EUR", "hold_ttl_s": 120,
        "limit_per_holder": 8, "seats": {"sections": (0..SECTIONS).map(section).collect::<Value>()},
    })
}

fn practitioner() -> Value {
    json!({
        "id": "dr-lee", "name": "Appointments with Dr Lee", "kind": "slots", "currency": "EUR", "hold_ttl_s": 300,
        "slots": {
            "timezone": "Europe/Berlin", "grid_minutes": 15, "capacity": 1,
            "hours": [
                {"days": ["mon", "tue", "wed", "thu"], "from": "09:00", "to": "17:00"},
                {"days": ["fri"], "from": "09:00", "to": "13:00"},
            ],
            "services": [
                {"key": "consult", "minutes": 30, "buffer_after_minutes": 15, "price": 8000},
                {"key": "follow-up", "minutes": 15, "buffer_after_minutes": 0, "price": 4000},
            ],
        },
    })
}

fn flash_sale() -> Value {
    json!({
        "id": "flash", "name": "Flash sale", "kind": "stock", "currency": "EUR", "hold_ttl_s": 120,
        "limit_per_holder": 4, "stock": {"lines": [{"key": "GA", "capacity": 500, "price": 3000}]},
    })
}

#[cfg(test)]
mod tests {
    use holdfast_server::check_offers;

    use super::*;

    #[test]
    fn every_offer_can_be_put_on_sale() {
        let offers = check_offers(serde_json::to_string(&all()).unwrap().as_bytes()).unwrap();
        let units: Vec<u32> = offers.iter().map(|offer| offer.dense_units()).collect();
        assert_eq!(units, [160, 20_480, 0, 1]);
    }

    #[test]
    fn the_seat_in_the_curl_line_is_out_of_the_buyers_reach() {
        let (row, _) = CURL_SEAT.split_once('-').unwrap();
        assert!(!BUSY_ROWS.contains(&row));
    }
}
