//! The demo's live buyers: a few dozen people who look, hold, dither, book, and now and then cancel, so that the
//! map moves. Each waits about a second between steps and keeps only a few bookings, so neither the processor nor
//! the memory notices how long the demo runs.

use std::{
    collections::VecDeque,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use holdfast_engine::{
    clock::{Clock, SystemClock},
    mint,
};
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::offers::{BUSY_ROWS, SEATS_A_ROW};
use crate::{
    failure::Failure,
    http::{Target, api::Api},
};

/// How many bookings one buyer keeps before cancelling the oldest.
const KEPT: usize = 5;
/// How far ahead appointments are looked for.
const DAYS_AHEAD: i64 = 28;

/// What the buyers have done so far.
#[derive(Debug, Default)]
pub struct Traffic {
    pub held: AtomicU64,
    pub booked: AtomicU64,
    pub cancelled: AtomicU64,
    pub refused: AtomicU64,
}

/// Lets them in; they leave when `shutdown` is cancelled.
pub fn let_in(
    buyers: u32,
    target: &Target,
    key: &str,
    traffic: &Arc<Traffic>,
    shutdown: &CancellationToken,
) -> TaskTracker {
    let tracker = TaskTracker::new();
    for number in 1..=buyers {
        let buyer = Buyer {
            name: format!("visitor-{number}"),
            visit: 0,
            api: Api::new(target.clone(), Some(key.to_owned())),
            bookings: VecDeque::new(),
            traffic: traffic.clone(),
        };
        tracker.spawn(shutdown.clone().run_until_cancelled_owned(buyer.shop()));
    }
    tracker.close();
    tracker
}

struct Buyer {
    name: String,
    visit: u64,
    api: Api,
    bookings: VecDeque<String>,
    traffic: Arc<Traffic>,
}

impl Buyer {
    async fn shop(mut self) {
        loop {
            pause(600, 3_000).await;
            // A failure here means that the server is stopping, or too busy for people who only pass the time.
            if self.visit().await.is_err() {
                pause(2_000, 5_000).await;
            }
        }
    }

    async fn visit(&mut self) -> Result<(), Failure> {
        self.visit += 1;
        let Some(wish) = self.wish().await? else { return Ok(()) };
        // A fresh name every visit: limits are per holder, and these people come back all day.
        let holder = format!("{}-{}", self.name, self.visit);
        let body = json!({"holder": holder, "lines": [wish.line]});
        let answer = self.api.call("POST", "/v1/holds", &[], Some(body.to_string().as_bytes())).await?;
        let Some(hold) = id_in(answer.status, &answer.body) else {
            self.traffic.refused.fetch_add(1, Relaxed);
            return Ok(());
        };
        self.traffic.held.fetch_add(1, Relaxed);
        pause(800, 4_000).await;
        match dice(10) {
            0..6 => self.book(&hold).await,
            6 if wish.may_abandon => Ok(()),
            _ => self.api.call("DELETE", &format!("/v1/holds/{hold}"), &[], None).await.map(drop),
        }
    }

    async fn book(&mut self, hold: &str) -> Result<(), Failure> {
        let card = any(&CARDS);
        let body =
            json!({"hold": hold, "payment": {"provider": "stripe", "payment_method": card}}).to_string();
        let headers = [("idempotency-key", hold)];
        let answer = self.api.call("POST", "/v1/bookings", &headers, Some(body.as_bytes())).await?;
        if let Some(booking) = id_in(answer.status, &answer.body) {
            self.traffic.booked.fetch_add(1, Relaxed);
            self.bookings.push_back(booking);
        }
        if self.bookings.len() > KEPT
            && let Some(oldest) = self.bookings.pop_front()
        {
            let path = format!("/v1/bookings/{oldest}/cancel");
            self.api.call("POST", &path, &[], Some(b"{}")).await?;
            self.traffic.cancelled.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    async fn wish(&mut self) -> Result<Option<Wish>, Failure> {
        let line = match dice(10) {
            0..5 => json!({"offer": "stadium", "best": {"qty": 1 + dice(4), "category": any(&CATEGORIES)}}),
            5..7 => json!({"offer": "flash", "unit": "GA", "qty": 1 + dice(2)}),
            7..9 => {
                let seat = format!("{}-{}", any(&BUSY_ROWS), 1 + dice(SEATS_A_ROW));
                // A hall is small: a hold left to run out would keep a seat from the eye for ten minutes.
                return Ok(Some(Wish { line: json!({"offer": "hall", "unit": seat}), may_abandon: false }));
            }
            _ => match self.appointment().await? {
                Some(line) => line,
                None => return Ok(None),
            },
        };
        Ok(Some(Wish { line, may_abandon: true }))
    }

    /// A free start on some day of the coming weeks.
    async fn appointment(&mut self) -> Result<Option<Value>, Failure> {
        let day = day_from_now(1 + i64::from(dice(DAYS_AHEAD as u32)));
        let path = format!("/v1/offers/dr-lee/availability?from={day}&to={day}&service=consult");
        let availability: Value = self.api.get(&path).await?;
        let free = availability["starts"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|start| start["state"] == "available");
        let starts: Vec<&Value> = free.map(|start| &start["start"]).collect();
        if starts.is_empty() {
            return Ok(None);
        }
        let start = starts[dice(starts.len() as u32) as usize];
        Ok(Some(json!({"offer": "dr-lee", "service": "consult", "start": start})))
    }
}

struct Wish {
    line: Value,
    may_abandon: bool,
}

/// What people pay with; one card in six is declined.
const CARDS: [&str; 6] = [
    "pm_card_visa",
    "pm_card_visa",
    "pm_card_mastercard",
    "pm_card_mastercard",
    "pm_card_pendingRefund",
    "pm_card_visa_chargeDeclined",
];

const CATEGORIES: [&str; 3] = ["Pitchside", "Tribune", "Upper tier"];

fn id_in(status: u16, body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer["id"].as_str().filter(|_| matches!(status, 200 | 201)).map(str::to_owned)
}

fn day_from_now(days: i64) -> String {
    let then = SystemClock::new().now().plus_ms(days * 86_400_000);
    // The date in UTC may be yesterday's in Berlin; for passing the time either will do.
    then.to_string().chars().take("2026-11-16".len()).collect()
}

/// A number below `sides`.
fn dice(sides: u32) -> u32 {
    (mint::random_bits() % u128::from(sides)) as u32
}

fn any<T: Copy>(of: &[T]) -> T {
    of[dice(of.len() as u32) as usize]
}

async fn pause(least_ms: u32, most_ms: u32) {
    let ms = least_ms + dice(most_ms - least_ms);
    tokio::time::sleep(Duration::from_millis(ms.into())).await;
}
