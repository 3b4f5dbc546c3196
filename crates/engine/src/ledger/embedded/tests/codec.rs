//! The encoding: whatever is written is read back the same, and whatever is read never panics.

use std::sync::Arc;

use holdfast_domain::{
    Actor, Amendment, Booking, BookingId, BookingState, Currency, Entry, Event, Hold, HoldId, HoldState,
    HolderId, IntentId, InventoryDef, Line, Moment, Money, Offer, OfferDef, OfferId, Parts, Payment,
    PaymentBegun, PaymentEvent, PaymentMethod, PaymentState, Placed, Provider, Reason, Relaxed, StockLine,
    Version,
    schedule::{CalendarDef, HoursDef, Service},
    seat_plan::{Point, RowDef, SectionDef, Shape},
    state::OfferPart,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::ledger::codec::{Interner, Writer, decode_entry, decode_parts, encode_entry, encode_parts};

fn moment() -> impl Strategy<Value = Moment> {
    any::<i64>().prop_map(Moment::from_ms)
}

fn money() -> impl Strategy<Value = Money> {
    (0..=holdfast_domain::money::MAX_AMOUNT).prop_map(|minor| Money::new(minor).unwrap())
}

fn currency() -> impl Strategy<Value = Currency> {
    select(vec!["EUR", "JPY", "KWD"]).prop_map(|code| Currency::new(code).unwrap())
}

fn offer_id() -> impl Strategy<Value = OfferId> {
    "[a-z0-9-]{1,64}".prop_map(|name| OfferId::new(&name).unwrap())
}

fn holder() -> impl Strategy<Value = HolderId> {
    "[!-~а-яé]{1,128}".prop_map(|name| HolderId::new(&name).unwrap())
}

fn hold_id() -> impl Strategy<Value = HoldId> {
    any::<u128>().prop_map(HoldId::from_bits)
}

fn booking_id() -> impl Strategy<Value = BookingId> {
    any::<u128>().prop_map(BookingId::from_bits)
}

fn actor() -> impl Strategy<Value = Actor> {
    prop_oneof![
        Just(Actor::System),
        "[!-~]{1,32}".prop_map(|prefix| Actor::Key(prefix.into())),
        holder().prop_map(Actor::Session),
    ]
}

fn line() -> impl Strategy<Value = Line> {
    let span = option::of((any::<u16>(), 0..u32::MAX / 2, 1..1000u32));
    (offer_id(), any::<u32>(), 1..=u32::MAX, money(), span).prop_map(|(offer, unit, qty, price, span)| {
        match span {
            Some((service, first, cells)) => {
                Line { offer, unit, qty, price, service: Some(service), first, cells }
            }
            None => Line { offer, unit, qty, price, service: None, first: unit, cells: 1 },
        }
    })
}

fn lines() -> impl Strategy<Value = Arc<[Line]>> {
    vec(line(), 1..5).prop_map(Into::into)
}

fn relaxed() -> impl Strategy<Value = Vec<Relaxed>> {
    vec(select(vec![Relaxed::Orphan, Relaxed::SplitRows, Relaxed::Scattered]), 0..3)
}

fn seats() -> impl Strategy<Value = InventoryDef> {
    let row = (1..50u32, any::<bool>()).prop_map(|(seats, aisle)| RowDef {
        gaps: (1..seats).take(aisle.into()).collect(),
        ..RowDef::new("", seats)
    });
    vec((money(), shape(), vec(row, 1..5)), 1..4).prop_map(|sections| {
        let section = |(at, (price, shape, mut rows)): (usize, (Money, Shape, Vec<RowDef>))| {
            rows.iter_mut().enumerate().for_each(|(n, row)| row.name = format!("{at}.{n}"));
            SectionDef { shape, ..SectionDef::new(format!("Section {at}"), "A", price, rows) }
        };
        InventoryDef::Seats(sections.into_iter().enumerate().map(section).collect())
    })
}

/// Most plans say nothing of how they lie on the map.
fn shape() -> impl Strategy<Value = Shape> {
    let point = (-10_000..=10_000, -10_000..=10_000).prop_map(|(x, y)| Point { x, y });
    let drawn =
        (option::of(point), -180..=180, -180..=180).prop_map(|(at, angle, curve)| Shape { at, angle, curve });
    prop_oneof![3 => Just(Shape::default()), 1 => drawn]
}

fn stock() -> impl Strategy<Value = InventoryDef> {
    vec((1..1_000_000_000u32, money()), 1..5).prop_map(|lines| {
        let line = |(at, (capacity, price))| StockLine { key: format!("L{at}"), capacity, price };
        InventoryDef::Stock(lines.into_iter().enumerate().map(line).collect())
    })
}

fn slots() -> impl Strategy<Value = InventoryDef> {
    (1..5u32, money(), 0..4u32).prop_map(|(capacity, price, buffers)| {
        InventoryDef::Slots(CalendarDef {
            timezone: "Europe/Berlin".into(),
            grid_minutes: 15,
            hours: vec![HoursDef {
                days: vec!["mon".into(), "fri".into()],
                from: "09:00".into(),
                to: "17:00".into(),
            }],
            closed: vec!["2026-12-25".into()],
            capacity,
            services: vec![Service {
                key: "consult".into(),
                minutes: 30,
                buffer_before_minutes: 15 * buffers,
                buffer_after_minutes: 15,
                price,
            }],
            cut: None,
        })
    })
}

fn offer() -> impl Strategy<Value = Arc<Offer>> {
    let inventory = prop_oneof![seats(), stock(), slots()];
    let window = option::of(0..i64::MAX / 2);
    (offer_id(), currency(), 1..1000u32, option::of(1..10u32), window, inventory).prop_map(
        |(id, currency, hold_ttl_s, limit_per_holder, opens, inventory)| {
            let opens_at = opens.map(Moment::from_ms);
            let closes_at = opens_at.map(|at| at.plus_ms(1));
            let name = "Night at the Hall".into();
            let def =
                OfferDef { id, name, currency, hold_ttl_s, limit_per_holder, opens_at, closes_at, inventory };
            Arc::new(Offer::new(def).unwrap())
        },
    )
}

fn amendment() -> impl Strategy<Value = Amendment> {
    (
        option::of("[a-zé ]{0,20}"),
        option::of(any::<u32>()),
        option::of(option::of(any::<u32>())),
        option::of(option::of(moment())),
        option::of(option::of(moment())),
        vec(("[A-Z]{1,4}", any::<u32>()), 0..3),
        option::of(vec("[0-9-]{10}", 0..3)),
    )
        .prop_map(|(name, hold_ttl_s, limit_per_holder, opens_at, closes_at, capacities, closed)| {
            Amendment { name, hold_ttl_s, limit_per_holder, opens_at, closes_at, capacities, closed }
        })
}

fn placed() -> impl Strategy<Value = Placed> {
    (hold_id(), holder(), lines(), money(), currency(), moment(), relaxed()).prop_map(
        |(hold, holder, lines, amount, currency, expires_at, relaxed)| Placed {
            hold,
            holder,
            lines,
            amount,
            currency,
            expires_at,
            relaxed,
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let units = || vec(any::<u32>(), 0..9);
    prop_oneof![
        offer().prop_map(|offer| Event::OfferCreated { offer }),
        (offer_id(), amendment()).prop_map(|(offer, amendment)| Event::OfferAmended { offer, amendment }),
        (offer_id(), units()).prop_map(|(offer, units)| Event::UnitsBlocked { offer, units }),
        (offer_id(), units()).prop_map(|(offer, units)| Event::UnitsUnblocked { offer, units }),
        placed().prop_map(Event::HoldPlaced),
        (hold_id(), moment()).prop_map(|(hold, expires_at)| Event::HoldExtended { hold, expires_at }),
        (hold_id(), moment()).prop_map(|(hold, expires_at)| Event::HoldLeft { hold, expires_at }),
        (hold_id(), moment()).prop_map(|(hold, expires_at)| Event::HoldReturned { hold, expires_at }),
        hold_id().prop_map(|hold| Event::HoldReleased { hold }),
        hold_id().prop_map(|hold| Event::HoldExpired { hold }),
        (booking_id(), hold_id()).prop_map(|(booking, hold)| Event::BookingConfirmed { booking, hold }),
        booking_id().prop_map(|booking| Event::BookingCancelled { booking }),
        begun().prop_map(|begun| Event::PaymentBegun(begun.into())),
        (booking_id(), payment_event()).prop_map(|(booking, event)| Event::Payment { booking, event }),
    ]
}

fn begun() -> impl Strategy<Value = PaymentBegun> {
    (booking_id(), hold_id(), option::of(method()), moment(), moment(), moment()).prop_map(
        |(booking, hold, method, expires_at, pinned_until, due_at)| PaymentBegun {
            booking,
            hold,
            method,
            expires_at,
            pinned_until,
            due_at,
        },
    )
}

fn method() -> impl Strategy<Value = PaymentMethod> {
    "[!-~]{1,30}".prop_map(|name| PaymentMethod::new(&name).unwrap())
}

fn intent() -> impl Strategy<Value = IntentId> {
    "[!-~]{1,30}".prop_map(|name| IntentId::new(&name).unwrap())
}

fn reason() -> impl Strategy<Value = Reason> {
    any::<String>().prop_map(|text| Reason::new(&text))
}

fn payment_state() -> impl Strategy<Value = PaymentState> {
    select(&PaymentState::ALL[..])
}

fn payment_event() -> impl Strategy<Value = PaymentEvent> {
    prop_oneof![
        (intent(), moment()).prop_map(|(intent, due_at)| PaymentEvent::IntentNoted { intent, due_at }),
        (payment_state(), moment()).prop_map(|(to, due_at)| PaymentEvent::Moved { to, due_at }),
        moment().prop_map(|due_at| PaymentEvent::Deferred { due_at }),
        money().prop_map(|amount| PaymentEvent::Captured { amount }),
        reason().prop_map(|why| PaymentEvent::Failed { why }),
        reason().prop_map(|why| PaymentEvent::BookingFailed { why }),
        Just(PaymentEvent::Retaken),
        moment().prop_map(|due_at| PaymentEvent::RefundBegun { due_at }),
        Just(PaymentEvent::Refunded),
        (money(), reason()).prop_map(|(captured, why)| PaymentEvent::Parked { captured, why }),
    ]
}

fn payment() -> impl Strategy<Value = Payment> {
    let names = (option::of(method()), option::of(intent()), option::of(reason()));
    (payment_state(), names, any::<u32>(), option::of(moment()), money(), money()).prop_map(
        |(state, (method, intent, why), attempts, due_at, captured, refunded)| Payment {
            provider: Provider::Stripe,
            state,
            method,
            intent,
            attempts,
            due_at,
            captured,
            refunded,
            why,
        },
    )
}

fn entry() -> impl Strategy<Value = Entry> {
    (any::<u64>(), moment(), actor(), event()).prop_map(|(seq, at, actor, event)| Entry {
        seq,
        at,
        actor,
        event,
    })
}

fn hold() -> impl Strategy<Value = Hold> {
    let state = prop_oneof![
        Just(HoldState::Active),
        booking_id().prop_map(|booking| HoldState::Booked { booking }),
        moment().prop_map(|at| HoldState::Released { at }),
        moment().prop_map(|at| HoldState::Expired { at }),
        (booking_id(), moment())
            .prop_map(|(booking, pinned_until)| HoldState::Paying { booking, pinned_until }),
    ];
    (placed(), state, option::of(moment()), any::<(u8, u8)>(), any::<u64>()).prop_map(
        |(placed, state, returns_to, (extensions, payments), version)| Hold {
            id: placed.hold,
            holder: placed.holder,
            state,
            lines: placed.lines,
            amount: placed.amount,
            currency: placed.currency,
            expires_at: placed.expires_at,
            returns_to,
            extensions,
            payments,
            relaxed: placed.relaxed,
            version: Version(version),
        },
    )
}

fn booking() -> impl Strategy<Value = Booking> {
    let state = prop_oneof![
        Just(BookingState::Pending),
        Just(BookingState::Confirmed),
        moment().prop_map(|at| BookingState::Cancelled { at }),
        moment().prop_map(|at| BookingState::Failed { at }),
    ];
    let payment = option::of(payment().prop_map(Box::new));
    (booking_id(), placed(), state, payment, moment(), any::<u64>()).prop_map(
        |(id, placed, state, payment, created_at, version)| Booking {
            id,
            hold: placed.hold,
            holder: placed.holder,
            state,
            lines: placed.lines,
            amount: placed.amount,
            currency: placed.currency,
            payment,
            created_at,
            version: Version(version),
        },
    )
}

fn parts() -> impl Strategy<Value = Parts> {
    let part = (offer(), moment(), any::<u64>(), vec(any::<u32>(), 0..5)).prop_map(
        |(offer, created_at, version, blocked)| OfferPart {
            offer,
            created_at,
            version: Version(version),
            blocked,
        },
    );
    (any::<u64>(), vec(part, 0..4), vec(hold(), 0..6), vec(booking(), 0..6)).prop_map(
        |(version, offers, holds, bookings)| Parts { version: Version(version), offers, holds, bookings },
    )
}

fn encoded(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_entry(&mut bytes, entry.seq, entry.at, &entry.actor, &entry.event);
    bytes
}

/// Books that were written before plans could be drawn.
#[test]
fn a_plain_plan_has_the_bytes_it_always_had() {
    let plan = |shape| {
        let section = SectionDef::new("Stalls", "A", Money::new(4500).unwrap(), [RowDef::new("A", 20)]);
        let def = OfferDef {
            id: OfferId::new("hall").unwrap(),
            name: "Hall".into(),
            currency: Currency::new("EUR").unwrap(),
            hold_ttl_s: 600,
            limit_per_holder: None,
            opens_at: None,
            closes_at: None,
            inventory: InventoryDef::Seats(vec![SectionDef { shape, ..section }]),
        };
        let mut bytes = Vec::new();
        Writer(&mut bytes).offer_def(&def);
        bytes
    };
    let plain = b"\x04hall\x04HallEUR\xd8\x04\0\0\0\0\x01\x06Stalls\x01A\x94\x23\x01\x01A\x14";
    assert_eq!(plan(Shape::default()), plain);
    let drawn = plan(Shape { at: Some(Point { x: 3, y: -2 }), angle: 0, curve: 30 });
    assert_eq!(drawn[plain.len()..], *b"\x01\x06\x03\0\x3c\0");
}

proptest! {
    #[test]
    fn entries_survive(entry in entry()) {
        let bytes = encoded(&entry);
        let back = decode_entry(&bytes, &mut Interner::default()).unwrap();
        prop_assert_eq!(&back, &entry);
        prop_assert_eq!(encoded(&back), bytes);
    }

    #[test]
    fn checkpoints_survive(parts in parts()) {
        let bytes = encode_parts(&parts);
        let back = decode_parts(&bytes).unwrap();
        prop_assert_eq!(&back, &parts);
        prop_assert_eq!(encode_parts(&back), bytes);
    }

    #[test]
    fn damaged_bytes_are_a_fault_not_a_panic(entry in entry(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = encoded(&entry);
        let at = at.index(bytes.len());
        prop_assert!(decode_entry(&bytes[..at], &mut Interner::default()).is_err());
        bytes[at] = to;
        if let Ok(other) = decode_entry(&bytes, &mut Interner::default()) {
            prop_assert_eq!(encoded(&other), bytes);
        }
    }

    #[test]
    fn any_bytes_are_a_fault_not_a_panic(bytes in vec(any::<u8>(), 0..300)) {
        drop(decode_entry(&bytes, &mut Interner::default()));
        drop(decode_parts(&bytes));
    }
}
