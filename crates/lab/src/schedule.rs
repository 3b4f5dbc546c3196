//! Who asks for what, when, and what they do with it: a pure function of the scenario, the number of buyers and the
//! seed. One seed, one schedule; how the requests then fall into each other's way is the machine's doing.
//!
//! Everything is numbered here: a hold carries the number of the request that asked for it, a holder the number of the
//! visit, so that histories of two runs can be laid side by side.

use std::time::Duration;

use holdfast_checker::history::{Claim, HoldRef, HolderRef, UnitInfo, UnitRef};

use crate::{Dice, Scenario};

/// What is on sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goods {
    /// A row of that many seats.
    Seats(u32),
    /// That many of one thing.
    Stock(u32),
}

impl Goods {
    pub(crate) fn units(self) -> Vec<UnitInfo> {
        match self {
            Self::Seats(seats) => {
                (1..=seats).map(|seat| UnitInfo { name: format!("A-{seat}"), capacity: 1 }).collect()
            }
            Self::Stock(capacity) => vec![UnitInfo { name: "GA".to_owned(), capacity }],
        }
    }
}

/// What becomes of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Confirm,
    Release,
    /// Left to expire.
    Abandon,
}

/// When a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// While nobody knows what came of it, with one key.
    WhenInDoubt,
    /// Every sending at once, with one key.
    AtOnce,
    /// When the shop has too much to do; each time as a new request.
    WhenBusy,
}

/// One purchase, begun and ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub holder: HolderRef,
    /// Of a closed loop: how long after the visit before. Of an open one: how long after the beginning.
    pub after: Duration,
    pub claims: Vec<Claim>,
    /// When the request is sent again, and how often in all.
    pub again: Again,
    pub sends: u32,
    /// The number of the first hold that is asked for; each sending has its own.
    pub hold: HoldRef,
    pub thinks: Duration,
    pub then: Then,
}

impl Visit {
    /// The key of the request for a hold, where it has one.
    pub(crate) fn hold_key(&self) -> Option<u32> {
        matches!(self.again, Again::WhenInDoubt | Again::AtOnce).then_some(2 * self.holder)
    }

    /// The key of the confirmation: another intention, so another key.
    pub(crate) fn confirm_key(&self) -> Option<u32> {
        (self.again == Again::WhenInDoubt).then_some(2 * self.holder + 1)
    }

    /// How long to wait after a sending before the next: longer each time where the shop seems to be away, and where it is
    /// only busy not all at the same moment.
    pub(crate) fn pause_after(&self, sending: u32) -> Duration {
        match self.again {
            Again::WhenInDoubt => 25 * MS * (1 << sending.min(5)),
            Again::WhenBusy => {
                let spread = u64::from(self.hold + sending).wrapping_mul(0x9e37_79b9) % 100;
                Duration::from_millis(20 + spread)
            }
            Again::Never | Again::AtOnce => Duration::ZERO,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schedule {
    pub goods: Goods,
    /// In seconds: how long a hold lasts.
    pub hold_ttl_s: u32,
    /// What each buyer does, one visit after the other; of an open loop, one visit each.
    pub buyers: Vec<Vec<Visit>>,
    /// Requests a second, of an open loop.
    pub rate_per_s: Option<f64>,
}

/// How much work a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Purchases one after the other, where nobody is in the way.
    pub visits: u32,
    /// Of an open loop: requests a second, and for how long.
    pub rate_per_s: f64,
    pub open_for: Duration,
}

const TTL_S: u32 = 600;
/// How often a request without an answer is sent in all: with its pauses, for three seconds.
const SENDS_IN_DOUBT: u32 = 8;
/// How often a busy shop is asked in all.
const SENDS_WHEN_BUSY: u32 = 6;
/// As much as the slowest strategy sells in a few seconds: a stock that nobody sells out puts nothing to the test.
const MOST_STOCK: u32 = 50;
const MS: Duration = Duration::from_millis(1);

impl Schedule {
    pub(crate) fn of(scenario: Scenario, buyers: u32, seed: u64, size: Size) -> Self {
        let mut made = Making { dice: Dice::from_seed(seed ^ (u64::from(buyers) << 32)), visits: 0, sent: 0 };
        match scenario {
            Scenario::OneSeat => made.one_seat(buyers),
            Scenario::Uncontended => made.uncontended(buyers, size.visits),
            Scenario::HotStock => made.hot_stock(buyers),
            Scenario::MultiSeat => made.multi_seat(buyers),
            Scenario::HoldThinkPay => made.hold_think_pay(buyers),
            Scenario::RetryStorm => made.retry_storm(buyers),
            Scenario::OpenUncontended => made.open_loop(size),
        }
    }

    /// A sale that goes on for so long, for something to happen in the middle of it: everybody asks for one seat after
    /// the other, mostly gives it back, and asks again with the same key where there was no answer. Nobody pauses for
    /// longer than `pause` milliseconds.
    pub(crate) fn long_sale(buyers: u32, seed: u64, lasts: Duration, pause: u64) -> Self {
        let mut made = Making { dice: Dice::from_seed(seed), visits: 0, sent: 0 };
        // On average a visit is twice half a pause, and about as long for the answers it waits for.
        let visits = (lasts.as_millis() as u64 / (2 * pause)) as u32;
        // So many that half of them are left in the end, should every visit win.
        let seats = (buyers * visits / 8).max(buyers * 4);
        let buyer = |made: &mut Making| {
            let visit = |made: &mut Making| {
                let unit = made.dice.below(seats.into()) as u32;
                let then = if made.dice.below(16) == 0 { Then::Confirm } else { Then::Release };
                let (after, thinks) = (made.up_to_ms(pause), made.up_to_ms(pause));
                let claims = vec![Claim { unit, qty: 1 }];
                Visit { after, thinks, then, ..made.visit(claims, Again::WhenInDoubt, SENDS_IN_DOUBT) }
            };
            (0..visits).map(|_| visit(made)).collect()
        };
        let all = (0..buyers).map(|_| buyer(&mut made)).collect();
        closed(Goods::Seats(seats), TTL_S, all)
    }
}

struct Making {
    dice: Dice,
    visits: u32,
    sent: u32,
}

impl Making {
    fn visit(&mut self, claims: Vec<Claim>, again: Again, sends: u32) -> Visit {
        let (holder, hold) = (self.visits, self.sent);
        self.visits += 1;
        self.sent += sends;
        let (after, thinks) = (Duration::ZERO, Duration::ZERO);
        Visit { holder, after, claims, again, sends, hold, thinks, then: Then::Confirm }
    }

    fn one(&mut self, unit: UnitRef) -> Visit {
        self.visit(vec![Claim { unit, qty: 1 }], Again::Never, 1)
    }

    fn up_to_ms(&mut self, bound: u64) -> Duration {
        Duration::from_micros(self.dice.below(bound * 1000))
    }

    /// All within a millisecond of each other, as after an announcement.
    fn one_seat(&mut self, buyers: u32) -> Schedule {
        let buyer = |made: &mut Self| {
            let after = made.up_to_ms(1);
            vec![Visit { after, ..made.one(0) }]
        };
        let buyers = (0..buyers).map(|_| buyer(self)).collect();
        closed(Goods::Seats(1), TTL_S, buyers)
    }

    fn uncontended(&mut self, buyers: u32, visits: u32) -> Schedule {
        let all = (0..buyers).map(|buyer| (0..visits).map(|at| self.one(buyer * visits + at)).collect());
        let all = all.collect();
        closed(Goods::Seats(buyers * visits), TTL_S, all)
    }

    /// Twice as many purchases as there is stock, or more. Who is told that there is too much to do comes back.
    fn hot_stock(&mut self, buyers: u32) -> Schedule {
        let visit =
            |made: &mut Self| made.visit(vec![Claim { unit: 0, qty: 1 }], Again::WhenBusy, SENDS_WHEN_BUSY);
        let buyer = |made: &mut Self| (0..2).map(|_| visit(made)).collect();
        let all = (0..buyers).map(|_| buyer(self)).collect();
        closed(Goods::Stock(buyers.min(MOST_STOCK)), TTL_S, all)
    }

    /// Neighbours in a ring want each other's seats in the other order. Half give back what they got.
    fn multi_seat(&mut self, buyers: u32) -> Schedule {
        let seats = (buyers / 4).clamp(4, 64);
        let buyer = |made: &mut Self| {
            let visit = |made: &mut Self| {
                let first = made.dice.below(seats.into()) as u32;
                let many = 2 + made.dice.below(2) as u32;
                let mut claims: Vec<_> =
                    (0..many).map(|at| Claim { unit: (first + at) % seats, qty: 1 }).collect();
                if made.dice.below(2) == 0 {
                    claims.reverse();
                }
                let then = if made.dice.below(2) == 0 { Then::Release } else { Then::Confirm };
                Visit { thinks: made.up_to_ms(2), then, ..made.visit(claims, Again::Never, 1) }
            };
            (0..2).map(|_| visit(made)).collect()
        };
        let all = (0..buyers).map(|_| buyer(self)).collect();
        closed(Goods::Seats(seats), TTL_S, all)
    }

    /// Holds of a second. A third pays in time, a third leaves, a third comes back when the hold is over; everybody
    /// tries again after a while.
    fn hold_think_pay(&mut self, buyers: u32) -> Schedule {
        let seats = (buyers / 4).max(2);
        let buyer = |made: &mut Self| {
            let visit = |made: &mut Self, round: u64| {
                let unit = made.dice.below(seats.into()) as u32;
                let (thinks, then) = match made.dice.below(3) {
                    0 => (made.up_to_ms(300), Then::Confirm),
                    1 => (Duration::ZERO, Then::Abandon),
                    _ => (1300 * MS + made.up_to_ms(200), Then::Confirm),
                };
                let after = made.up_to_ms(100) + Duration::from_millis(round * 350);
                Visit { after, thinks, then, ..made.one(unit) }
            };
            (0..4).map(|round| visit(made, round)).collect()
        };
        let all = (0..buyers).map(|_| buyer(self)).collect();
        closed(Goods::Seats(seats), 1, all)
    }

    fn retry_storm(&mut self, buyers: u32) -> Schedule {
        let buyer = |made: &mut Self, at: u32| {
            let after = made.up_to_ms(5);
            vec![Visit { after, ..made.visit(vec![Claim { unit: at, qty: 1 }], Again::AtOnce, 5) }]
        };
        let all = (0..buyers).map(|at| buyer(self, at)).collect();
        closed(Goods::Seats(buyers), TTL_S, all)
    }

    /// Arrivals as a crowd has them: independent of each other, and of the answers.
    fn open_loop(&mut self, size: Size) -> Schedule {
        let mut at = Duration::ZERO;
        let mut buyers = Vec::new();
        while at < size.open_for {
            let uniform = (self.dice.below(1 << 53) as f64 + 1.0) / (1u64 << 53) as f64;
            at += Duration::from_secs_f64(-uniform.ln() / size.rate_per_s);
            buyers.push(vec![Visit { after: at, ..self.one(buyers.len() as u32) }]);
        }
        let schedule = closed(Goods::Seats(buyers.len() as u32), TTL_S, buyers);
        Schedule { rate_per_s: Some(size.rate_per_s), ..schedule }
    }
}

fn closed(goods: Goods, hold_ttl_s: u32, buyers: Vec<Vec<Visit>>) -> Schedule {
    Schedule { goods, hold_ttl_s, buyers, rate_per_s: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { visits: 3, rate_per_s: 100.0, open_for: Duration::from_secs(1) };

    #[test]
    fn one_seed_is_one_schedule() {
        for scenario in Scenario::EVERY.iter().chain(Scenario::ONCE) {
            let of = |seed| Schedule::of(*scenario, 20, seed, SIZE);
            assert_eq!(of(7), of(7), "{scenario}");
            let rolls_dice = !matches!(scenario, Scenario::Uncontended | Scenario::HotStock);
            assert_eq!(of(7) != of(8), rolls_dice, "{scenario}");
        }
    }

    #[test]
    fn every_request_has_a_number_of_its_own() {
        for scenario in Scenario::EVERY.iter().chain(Scenario::ONCE) {
            let schedule = Schedule::of(*scenario, 20, 7, SIZE);
            let visits = schedule.buyers.iter().flatten();
            let mut holds: Vec<_> =
                visits.flat_map(|visit| (0..visit.sends).map(|at| visit.hold + at)).collect();
            holds.sort_unstable();
            assert!(holds.iter().copied().eq(0..holds.len() as u32), "{scenario}");
            let units = schedule.goods.units().len() as u32;
            assert!(schedule.buyers.iter().flatten().flat_map(|visit| &visit.claims).all(|c| c.unit < units));
        }
    }

    #[test]
    fn a_purchase_in_doubt_has_a_key_for_each_intention() {
        let schedule = Schedule::long_sale(4, 7, Duration::from_millis(200), 20);
        let visits: Vec<&Visit> = schedule.buyers.iter().flatten().collect();
        let keys = visits.iter().flat_map(|visit| [visit.hold_key().unwrap(), visit.confirm_key().unwrap()]);
        let mut keys: Vec<u32> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 2 * visits.len());
        let patience: Duration = (0..visits[0].sends - 1).map(|at| visits[0].pause_after(at)).sum();
        assert!((2..=4).contains(&patience.as_secs()), "{patience:?}");
    }

    #[test]
    fn an_open_loop_asks_at_its_rate() {
        let schedule = Schedule::of(Scenario::OpenUncontended, 1, 7, SIZE);
        assert!((70..=130).contains(&schedule.buyers.len()), "{}", schedule.buyers.len());
    }
}
