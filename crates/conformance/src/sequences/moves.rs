//! Moves, how they are drawn, and the commands they stand for.

use std::sync::Arc;

use holdfast_domain::{
    Actor, Amendment, Ask, BookingId, Command, Currency, HoldId, HolderId, InventoryDef, Moment, Money,
    Offer, OfferDef, OfferId, PayTerms, Pick, StockLine,
    schedule::{CalendarDef, HoursDef, Service},
    seat_plan::{RowDef, SectionDef},
};
use holdfast_engine::ledger::IdempotencyKey;
use proptest::{collection::vec, option, prelude::*};

use super::said::{Booked, Said, said};
use crate::{story_start, subject::Asked};

/// One step of a sequence. Numbers count what there is, modulo how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    Hold {
        holder: u8,
        wanted: Vec<Wanted>,
        key: Option<u8>,
        by: By,
    },
    Extend {
        hold: u8,
        by: By,
        key: Option<u8>,
    },
    Release {
        hold: u8,
        by: By,
        key: Option<u8>,
    },
    Leave {
        hold: u8,
        by: By,
        key: Option<u8>,
        keep_s: u8,
    },
    Return {
        hold: u8,
        by: By,
        key: Option<u8>,
    },
    Confirm {
        hold: u8,
        by: By,
        key: Option<u8>,
    },
    Cancel {
        booking: u8,
        by: By,
        key: Option<u8>,
    },
    Pay {
        hold: u8,
        by: By,
        key: Option<u8>,
        grace_s: u8,
    },
    /// Something is reported of a payment, rightly or wrongly.
    Report {
        booking: u8,
        said: Said,
        by: By,
        /// With the key that began the payment.
        closing: bool,
    },
    Block {
        offer: u8,
        units: Vec<u8>,
    },
    Unblock {
        offer: u8,
        units: Vec<u8>,
    },
    Amend {
        offer: u8,
        change: Change,
    },
    CreateAgain {
        offer: u8,
    },
    Tidy {
        limit: u8,
    },
    /// Sends the last command once more, its key included.
    Again,
    Tick(i64),
    Restart,
}

/// What a line of a hold asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    Seat(u8),
    Best {
        qty: u8,
        category: Option<u8>,
    },
    Stock {
        line: u8,
        qty: u8,
    },
    Slot {
        service: u8,
        five_minutes: u8,
    },
    /// A pick that the offer does not sell, or an offer that is not there.
    Wrong(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Key,
    Session(u8),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Ttl(u16),
    Limit(Option<u8>),
    Capacity {
        line: u8,
        capacity: u8,
    },
    /// Minutes from the beginning of all stories.
    Closes(Option<u16>),
    Closed(bool),
}

/// Any move; restarts only where the ledger keeps its books on disk.
pub fn a_move(with_restarts: bool) -> impl Strategy<Value = Move> {
    let key = || option::weighted(0.3, 0u8..6);
    let by = || prop_oneof![3 => Just(By::Key), 1 => (0u8..3).prop_map(By::Session)];
    let change = prop_oneof![
        (0u16..700).prop_map(Change::Ttl),
        option::of(0u8..5).prop_map(Change::Limit),
        (0u8..3, 0u8..8).prop_map(|(line, capacity)| Change::Capacity { line, capacity }),
        option::of(0u16..60).prop_map(Change::Closes),
        any::<bool>().prop_map(Change::Closed),
    ];
    let tick = prop_oneof![
        4 => Just(1i64),
        4 => Just(999),
        4 => 1_000i64..61_000,
        4 => Just(60_000),
        3 => Just(300_000),
        2 => Just(600_000),
        1 => Just(90_000_000),
    ];
    prop_oneof![
        12 => (0u8..3, several_wanted(), key(), by())
            .prop_map(|(holder, wanted, key, by)| Move::Hold { holder, wanted, key, by }),
        2 => (0u8..12, by(), key()).prop_map(|(hold, by, key)| Move::Extend { hold, by, key }),
        3 => (0u8..12, by(), key()).prop_map(|(hold, by, key)| Move::Release { hold, by, key }),
        3 => (0u8..12, by(), key(), 0u8..90)
            .prop_map(|(hold, by, key, keep_s)| Move::Leave { hold, by, key, keep_s }),
        2 => (0u8..12, by(), key()).prop_map(|(hold, by, key)| Move::Return { hold, by, key }),
        5 => (0u8..12, by(), key()).prop_map(|(hold, by, key)| Move::Confirm { hold, by, key }),
        2 => (0u8..12, by(), key()).prop_map(|(booking, by, key)| Move::Cancel { booking, by, key }),
        5 => (0u8..12, by(), key(), 0u8..90)
            .prop_map(|(hold, by, key, grace_s)| Move::Pay { hold, by, key, grace_s }),
        12 => (0u8..12, said(), by(), any::<bool>())
            .prop_map(|(booking, said, by, closing)| Move::Report { booking, said, by, closing }),
        1 => (0u8..3, vec(0u8..9, 0..4)).prop_map(|(offer, units)| Move::Block { offer, units }),
        1 => (0u8..3, vec(0u8..9, 0..4)).prop_map(|(offer, units)| Move::Unblock { offer, units }),
        1 => (0u8..4, change).prop_map(|(offer, change)| Move::Amend { offer, change }),
        1 => (0u8..3).prop_map(|offer| Move::CreateAgain { offer }),
        1 => (0u8..5).prop_map(|limit| Move::Tidy { limit }),
        2 => Just(Move::Again),
        5 => tick.prop_map(Move::Tick),
        1 => Just(if with_restarts { Move::Restart } else { Move::Tick(60_000) }),
    ]
}

/// Mostly what can be had: one to three lines, now and then none.
fn several_wanted() -> impl Strategy<Value = Vec<Wanted>> {
    prop_oneof![10 => vec(wanted(), 1..2), 8 => vec(wanted(), 2..4), 1 => Just(Vec::new())]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let seldom = |common: std::ops::Range<u8>, rare: u8| prop_oneof![12 => common, 1 => Just(rare)];
    let best = (1u8..4, option::weighted(0.4, seldom(0..2, 2)));
    let slot =
        (seldom(0..2, 2), prop_oneof![10 => (0u8..14).prop_map(|quarter| 6 + quarter * 3), 1 => 0u8..50]);
    prop_oneof![
        12 => seldom(0..8, 8).prop_map(Wanted::Seat),
        4 => best.prop_map(|(qty, category)| Wanted::Best { qty, category }),
        6 => (seldom(0..2, 2), seldom(1..4, 0)).prop_map(|(line, qty)| Wanted::Stock { line, qty }),
        6 => slot.prop_map(|(service, five_minutes)| Wanted::Slot { service, five_minutes }),
        1 => (0u8..4).prop_map(Wanted::Wrong),
    ]
}

/// Which sequence it is: its offers and keys are its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    pub(super) sequence: u64,
}

const KINDS: [&str; 3] = ["hall", "fest", "calendar"];

impl Scope {
    fn offer(&self, at: u8) -> OfferId {
        let kind = KINDS.get(at as usize).copied().unwrap_or("missing");
        OfferId::new(&format!("{kind}-{}", self.sequence)).expect("a valid id")
    }
}

pub(super) fn offer_ids(scope: &Scope) -> Vec<OfferId> {
    (0..3).map(|at| scope.offer(at)).collect()
}

/// The three offers of a sequence: eight seats in two categories, two lines of stock, a morning's calendar.
pub(super) fn offers(scope: &Scope) -> Vec<Command> {
    (0..3).map(|at| Command::CreateOffer { offer: Arc::new(offer(scope, at)) }).collect()
}

fn price(minor: u64) -> Money {
    Money::new(minor).expect("a small price")
}

fn offer(scope: &Scope, at: u8) -> Offer {
    let section =
        |category: &str, row: &str| SectionDef::new(category, category, price(1000), [RowDef::new(row, 4)]);
    let stock = |key: &str, capacity| StockLine { key: key.to_owned(), capacity, price: price(500) };
    let service = |key: &str, minutes, before, after| Service {
        key: key.to_owned(),
        minutes,
        buffer_before_minutes: before,
        buffer_after_minutes: after,
        price: price(2000),
    };
    let inventory = match at {
        0 => InventoryDef::Seats(vec![section("front", "A"), section("back", "B")]),
        1 => InventoryDef::Stock(vec![stock("GA", 5), stock("VIP", 2)]),
        _ => InventoryDef::Slots(CalendarDef {
            timezone: "Europe/Berlin".to_owned(),
            grid_minutes: 15,
            hours: vec![HoursDef {
                days: vec!["mon".to_owned(), "tue".to_owned()],
                from: "09:00".to_owned(),
                to: "12:00".to_owned(),
            }],
            closed: vec![],
            capacity: 2,
            services: vec![service("short", 15, 0, 0), service("long", 45, 15, 30)],
            cut: None,
        }),
    };
    let def = OfferDef {
        id: scope.offer(at),
        name: KINDS[at as usize % 3].to_owned(),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s: [600, 60, 300][at as usize % 3],
        limit_per_holder: (at == 0).then_some(4),
        opens_at: None,
        closes_at: None,
        inventory,
    };
    Offer::new(def).expect("a valid offer")
}

fn holder(at: u8) -> HolderId {
    HolderId::new(["alice", "bob", "carol"][at as usize % 3]).expect("a valid holder")
}

fn actor(by: By) -> Actor {
    match by {
        By::Key => Actor::Key(Arc::from("test")),
        By::Session(at) => Actor::Session(holder(at)),
    }
}

impl Move {
    /// The command it stands for, given what the sequence has made so far. `minted` and the number below it are
    /// fresh.
    pub(super) fn ask(
        &self,
        scope: &Scope,
        minted: u128,
        holds: &[HoldId],
        bookings: &[Booked],
        now: Moment,
    ) -> Asked {
        let a_hold = |at: &u8| holds.get(*at as usize % holds.len().max(1)).copied();
        let a_hold = |at: &u8| a_hold(at).unwrap_or(HoldId::from_bits(minted - 1));
        let booked = |at: &u8| bookings.get(*at as usize % bookings.len().max(1));
        let a_booking = |at: &u8| booked(at).map_or(BookingId::from_bits(minted - 1), |booked| booked.id);
        let units = |offer: &u8, units: &[u8]| units.iter().map(|at| unit_key(*offer, *at)).collect();
        let (command, by, key) = match self {
            Self::Hold { holder: who, wanted, key, by } => {
                let asks = wanted.iter().map(|wanted| wanted.ask(scope)).collect();
                let hold = HoldId::from_bits(minted);
                (Command::PlaceHold { hold, holder: holder(*who), asks }, *by, *key)
            }
            Self::Extend { hold, by, key } => (Command::ExtendHold { hold: a_hold(hold) }, *by, *key),
            Self::Release { hold, by, key } => (Command::ReleaseHold { hold: a_hold(hold) }, *by, *key),
            Self::Leave { hold, by, key, keep_s } => {
                (Command::LeaveHold { hold: a_hold(hold), keep_s: (*keep_s).into() }, *by, *key)
            }
            Self::Return { hold, by, key } => (Command::ReturnToHold { hold: a_hold(hold) }, *by, *key),
            Self::Confirm { hold, by, key } => {
                (Command::Confirm { booking: BookingId::from_bits(minted), hold: a_hold(hold) }, *by, *key)
            }
            Self::Cancel { booking, by, key } => (Command::Cancel { booking: a_booking(booking) }, *by, *key),
            Self::Pay { hold, by, key, grace_s } => {
                let terms = PayTerms { pin_s: 120, grace_s: (*grace_s).into(), look_s: 30 };
                let (booking, hold) = (BookingId::from_bits(minted), a_hold(hold));
                (Command::BeginPayment { booking, hold, method: None, terms }, *by, *key)
            }
            Self::Report { booking: at, said, by, closing } => {
                let price = booked(at).map_or(price(1000), |booked| booked.price);
                let command = said.command(a_booking(at), price, now);
                let key = booked(at).and_then(|booked| booked.key.clone()).filter(|_| *closing);
                return Asked { command, actor: actor(*by), key };
            }
            Self::Block { offer, units: at } => {
                (Command::Block { offer: scope.offer(*offer), units: units(offer, at) }, By::Key, None)
            }
            Self::Unblock { offer, units: at } => {
                (Command::Unblock { offer: scope.offer(*offer), units: units(offer, at) }, By::Key, None)
            }
            Self::Amend { offer, change } => {
                let amendment = change.amendment();
                (Command::AmendOffer { offer: scope.offer(*offer), amendment }, By::Key, None)
            }
            Self::CreateAgain { offer: at } => {
                (Command::CreateOffer { offer: Arc::new(offer(scope, *at)) }, By::Key, None)
            }
            Self::Tidy { limit } => (Command::Tidy { limit: (*limit).into() }, By::Key, None),
            Self::Again | Self::Tick(_) | Self::Restart => unreachable!("made without asking anew"),
        };
        let key = key.map(|name| self.key(scope, name));
        Asked { command, actor: actor(by), key }
    }

    /// A key is used again by other moves, rightly and wrongly: the fingerprint is that of the move.
    fn key(&self, scope: &Scope, name: u8) -> IdempotencyKey {
        let mut fingerprint = [0; 32];
        let words = format!("{self:?}");
        words
            .bytes()
            .enumerate()
            .for_each(|(at, byte)| fingerprint[at % 32] ^= byte.rotate_left(at as u32 / 32));
        let (whose, name) = (name % 2, name / 2);
        IdempotencyKey {
            scope: format!("caller-{whose}"),
            key: format!("{}-{name}", scope.sequence),
            fingerprint,
        }
    }
}

/// The key of a unit of that offer; some numbers are of units that it does not have.
fn unit_key(offer: u8, at: u8) -> String {
    match offer % 3 {
        0 => format!("{}-{}", ["A", "B", "C"][at as usize / 4 % 3], at % 4 + 1),
        1 => ["GA", "VIP", "none"][at as usize % 3].to_owned(),
        _ => format!("2026-11-16T{:02}:{:02}Z", 8 + at / 4, at % 4 * 15),
    }
}

impl Wanted {
    fn ask(&self, scope: &Scope) -> Ask {
        let (offer, pick) = match self {
            Self::Seat(at) => (0, Pick::Unit { key: unit_key(0, *at), qty: 1 }),
            Self::Best { qty, category } => {
                let category = category.map(|at| ["front", "back", "none"][at as usize % 3].to_owned());
                (0, Pick::Best { qty: (*qty).into(), category })
            }
            Self::Stock { line, qty } => (1, Pick::Unit { key: unit_key(1, *line), qty: (*qty).into() }),
            Self::Slot { service, five_minutes } => {
                let service = ["short", "long", "none"][*service as usize % 3].to_owned();
                // From 2026-11-16T07:30Z, half an hour before the calendar opens.
                let start = story_start().plus_s(13 * 3600 + 1800 + u32::from(*five_minutes) * 300);
                (2, Pick::Slot { service, start: Ok(start) })
            }
            Self::Wrong(at) => (*at, Pick::Unit { key: "2026-11-16T08:00Z".to_owned(), qty: 2 }),
        };
        Ask { offer: scope.offer(offer), pick }
    }
}

impl Change {
    fn amendment(&self) -> Amendment {
        let mut amendment = Amendment::default();
        match self {
            Self::Ttl(s) => amendment.hold_ttl_s = Some((*s).into()),
            Self::Limit(limit) => amendment.limit_per_holder = Some(limit.map(u32::from)),
            Self::Capacity { line, capacity } => {
                amendment.capacities = vec![(unit_key(1, *line), (*capacity).into())];
            }
            Self::Closes(minutes) => {
                let at = minutes.map(|minutes| story_start().plus_s(u32::from(minutes) * 60));
                amendment.closes_at = Some(at);
            }
            Self::Closed(closed) => {
                amendment.closed = Some(if *closed { vec!["2026-11-16".to_owned()] } else { vec![] });
            }
        }
        amendment
    }
}
