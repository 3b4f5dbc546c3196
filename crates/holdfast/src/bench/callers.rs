//! What the load generator's connections ask in each scenario.

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use serde_json::{Value, json};

use super::child::Server;
use crate::{
    http::{Request, Response, Template},
    load::Caller,
};

/// Seats that nobody has yet: `offers` times `rows` times `seats`, handed out one by one.
#[derive(Debug)]
pub struct Inventory {
    /// What its offers' ids begin with.
    pub name: &'static str,
    pub offers: u32,
    pub rows: u32,
    pub seats: u32,
    next: AtomicU64,
}

impl Inventory {
    pub const fn new(name: &'static str, offers: u32, rows: u32, seats: u32) -> Self {
        Self { name, offers, rows, seats, next: AtomicU64::new(0) }
    }

    pub fn units(&self) -> u64 {
        u64::from(self.offers) * u64::from(self.rows) * u64::from(self.seats)
    }

    /// The offers as an organiser would post them.
    pub fn bodies(&self) -> impl Iterator<Item = Value> {
        let rows: Value =
            (0..self.rows).map(|row| json!({"name": format!("r{row}"), "seats": self.seats})).collect();
        (0..self.offers).map(move |offer| {
            let id = format!("{}{offer}", self.name);
            let section = json!({"name": "All", "category": "A", "price": 4500, "rows": rows});
            json!({"id": id, "name": id, "kind": "seats", "currency": "EUR", "hold_ttl_s": 86_400,
                "seats": {"sections": [section]}})
        })
    }

    /// Writes the body of a hold on unit `at`.
    fn write_hold(&self, at: u64, holder: u64, out: &mut Vec<u8>) {
        let at = at % self.units();
        let seat = at % u64::from(self.seats) + 1;
        let row = at / u64::from(self.seats) % u64::from(self.rows);
        let offer = at / (u64::from(self.seats) * u64::from(self.rows));
        out.clear();
        let name = self.name;
        let body = write!(
            out,
            r#"{{"holder":"b{holder}","lines":[{{"offer":"{name}{offer}","unit":"r{row}-{seat}"}}]}}"#
        );
        body.expect("a vector takes every write");
    }
}

/// The same request again and again.
#[derive(Debug, Clone)]
pub struct Same(pub Request);

impl Caller for Same {
    fn write(&mut self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// A hold on the next free seat, each for another holder.
#[derive(Debug)]
pub struct FreshHolds {
    template: Template,
    from: Arc<Inventory>,
    body: Vec<u8>,
}

impl FreshHolds {
    pub fn new(server: &Server, from: &Arc<Inventory>) -> Self {
        Self { template: holds(server), from: from.clone(), body: Vec::new() }
    }
}

impl Caller for FreshHolds {
    fn write(&mut self, out: &mut Vec<u8>) {
        let at = self.from.next.fetch_add(1, Relaxed);
        self.from.write_hold(at, at, &mut self.body);
        self.template.write(&self.body, out);
    }
}

/// The same, with an idempotency key, whose answer is kept.
#[derive(Debug)]
pub struct KeyedHolds {
    fresh: FreshHolds,
    target: crate::http::Target,
    bearer: String,
}

impl KeyedHolds {
    pub fn new(server: &Server, from: &Arc<Inventory>) -> Self {
        Self { fresh: FreshHolds::new(server, from), target: server.target.clone(), bearer: server.bearer() }
    }
}

impl Caller for KeyedHolds {
    fn write(&mut self, out: &mut Vec<u8>) {
        let at = self.fresh.from.next.fetch_add(1, Relaxed);
        self.fresh.from.write_hold(at, at, &mut self.fresh.body);
        let key = format!("key-{at}");
        let headers = [("authorization", self.bearer.as_str()), ("idempotency-key", key.as_str())];
        Template::new("POST", &self.target, "/v1/holds", &headers).write(&self.fresh.body, out);
    }
}

/// A hold on one seat that somebody has, each time by another holder.
#[derive(Debug)]
pub struct TakenSeat {
    template: Template,
    on: Arc<Inventory>,
    number: u64,
    body: Vec<u8>,
}

impl TakenSeat {
    pub fn new(server: &Server, on: &Arc<Inventory>, number: u64) -> Self {
        Self { template: holds(server), on: on.clone(), number: number << 40, body: Vec::new() }
    }
}

impl Caller for TakenSeat {
    fn write(&mut self, out: &mut Vec<u8>) {
        self.number += 1;
        self.on.write_hold(0, self.number, &mut self.body);
        self.template.write(&self.body, out);
    }
}

/// One more of a line of stock that never runs out, each time for another holder.
#[derive(Debug)]
pub struct HotStock {
    template: Template,
    number: u64,
    body: Vec<u8>,
}

impl HotStock {
    pub fn offer() -> Value {
        json!({"id": "hot", "name": "hot", "kind": "stock", "currency": "EUR", "hold_ttl_s": 86_400,
            "stock": {"lines": [{"key": "GA", "capacity": 100_000_000, "price": 3000}]}})
    }

    pub fn new(server: &Server, number: u64) -> Self {
        Self { template: holds(server), number: number << 40, body: Vec::new() }
    }
}

impl Caller for HotStock {
    fn write(&mut self, out: &mut Vec<u8>) {
        self.number += 1;
        self.body.clear();
        let number = self.number;
        let body =
            write!(self.body, r#"{{"holder":"b{number}","lines":[{{"offer":"hot","unit":"GA","qty":1}}]}}"#);
        body.expect("a vector takes every write");
        self.template.write(&self.body, out);
    }
}

/// Come back later.
const BUSY: u16 = 503;

/// Holds a seat, gives it back, holds another, for ever: works on any number of seats. Each connection has seats
/// of its own, so none is refused.
#[derive(Debug)]
pub struct Cycle {
    template: Template,
    among: Arc<Inventory>,
    target: crate::http::Target,
    bearer: String,
    number: u64,
    of: u64,
    turn: u64,
    held: Option<String>,
    body: Vec<u8>,
}

impl Cycle {
    /// Connection `number` of `of`.
    pub fn new(server: &Server, among: &Arc<Inventory>, number: u64, of: u64) -> Self {
        Self {
            template: holds(server),
            among: among.clone(),
            target: server.target.clone(),
            bearer: server.bearer(),
            number,
            of,
            turn: 0,
            held: None,
            body: Vec::new(),
        }
    }

    /// Jumps about the seats of this connection, so that neighbours in time are not neighbours in memory.
    fn next_unit(&mut self) -> u64 {
        self.turn = self.turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let own = self.among.units() / self.of;
        (self.turn >> 33) % own * self.of + self.number
    }
}

impl Caller for Cycle {
    fn write(&mut self, out: &mut Vec<u8>) {
        match &self.held {
            Some(hold) => {
                let path = format!("/v1/holds/{hold}");
                let delete = Request::bare("DELETE", &self.target, &path, &[("authorization", &self.bearer)]);
                out.clear();
                out.extend_from_slice(delete.as_bytes());
            }
            None => {
                let unit = self.next_unit();
                self.among.write_hold(unit, self.number, &mut self.body);
                self.template.write(&self.body, out);
            }
        }
    }

    fn read(&mut self, response: &Response<'_>) {
        // What a busy server did not take back is given back again.
        if response.status == BUSY {
            return;
        }
        self.held = (response.status == 201).then(|| id_of(response.body)).flatten();
    }
}

fn holds(server: &Server) -> Template {
    Template::new("POST", &server.target, "/v1/holds", &[("authorization", &server.bearer())])
}

/// The `id` of an answer, without parsing the rest of it.
fn id_of(body: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"\"id\":\"";
    let from = body.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let until = from + body[from..].iter().position(|&byte| byte == b'"')?;
    String::from_utf8(body[from..until].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_a_name_of_its_own() {
        let inventory = Inventory::new("x", 2, 3, 4);
        let mut bodies = std::collections::HashSet::new();
        for at in 0..inventory.units() {
            let mut body = Vec::new();
            inventory.write_hold(at, 0, &mut body);
            bodies.insert(body);
        }
        assert_eq!(bodies.len(), 24);
        assert!(bodies.contains(br#"{"holder":"b0","lines":[{"offer":"x1","unit":"r2-4"}]}"#.as_slice()));
    }

    #[test]
    fn finds_the_id_of_a_hold() {
        assert_eq!(id_of(br#"{"id":"hold_abc","holder":"x"}"#).as_deref(), Some("hold_abc"));
        assert_eq!(id_of(b"{}"), None);
    }
}
