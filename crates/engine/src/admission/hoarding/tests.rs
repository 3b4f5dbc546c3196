//! What counts, for how long, and who gives it back.

use holdfast_domain::{Currency, HolderId, Money, Placed, Version};

use super::*;
use crate::{admission::ClientNet, clock::ManualClock, ledger::Answer};

fn hoarding(per_holder: u32, per_address: u32) -> (Arc<ManualClock>, Hoarding) {
    let clock = Arc::new(ManualClock::at(Moment::from_s(1_000)));
    let settings = Settings { per_holder, per_address, ..Settings::default() };
    (clock.clone(), Hoarding::new(settings, clock, None))
}

fn visitor(holder: &str, address: &str) -> Visitor {
    let address = Some(ClientNet::of(address.parse().unwrap()));
    Visitor { holder: HolderId::new(holder).unwrap(), address }
}

fn seats(qty: u32) -> Vec<Ask> {
    vec![Ask { offer: OfferId::new("hall").unwrap(), pick: Pick::Best { qty, category: None } }]
}

async fn take(hoarding: &Hoarding, hold: u128, qty: u32, by: &Visitor) -> Result<Reserved, Excess> {
    hoarding.reserve(HoldId::from_bits(hold), &seats(qty), None, by).await
}

/// Held, and for no longer than the window.
async fn held(hoarding: &Hoarding, hold: u128, qty: u32, by: &Visitor) {
    let reserved = take(hoarding, hold, qty, by).await.unwrap();
    hoarding.remember(reserved, &until(hold, hoarding.clock.now())).await;
}

fn until(hold: u128, expires_at: Moment) -> Hold {
    let (hold, holder) = (HoldId::from_bits(hold), HolderId::new("anybody").unwrap());
    let (lines, amount, relaxed) = ([].into(), Money::ZERO, Vec::new());
    let currency = Currency::new("EUR").unwrap();
    Hold::placed(Placed { hold, holder, lines, amount, currency, expires_at, relaxed }, Version(1))
}

#[tokio::test]
async fn what_was_taken_counts_until_the_window_has_passed() {
    let (clock, hoarding) = hoarding(4, 0);
    let alice = visitor("alice", "203.0.113.1");
    held(&hoarding, 1, 3, &alice).await;
    clock.advance_ms(60_000);
    let quota = take(&hoarding, 2, 2, &alice).await.unwrap_err().quota.unwrap();
    assert_eq!((quota.burst, quota.retry_after), (4, Duration::from_secs(540)));
    held(&hoarding, 3, 1, &alice).await;
    clock.advance_ms(540_000);
    assert!(take(&hoarding, 4, 3, &alice).await.is_ok(), "the first three no longer count");
    let excess = take(&hoarding, 5, 9, &alice).await.unwrap_err();
    let over = Limit::Unconfirmed { offer: OfferId::new("hall").unwrap(), limit: 4, asked: 9 };
    assert_eq!((excess.quota, excess.over), (None, over), "more than anybody may, however long they wait");
}

#[tokio::test]
async fn what_is_still_held_counts_when_the_window_has_passed() {
    let (clock, hoarding) = hoarding(4, 0);
    let alice = visitor("alice", "203.0.113.1");
    let mut hold = until(1, Moment::from_s(1_000 + 3_600));
    hoarding.remember(take(&hoarding, 1, 3, &alice).await.unwrap(), &hold).await;
    clock.advance_ms(3_599_000);
    let quota = take(&hoarding, 2, 2, &alice).await.unwrap_err().quota.unwrap();
    assert_eq!(quota.retry_after, Duration::from_secs(1));
    hold.extend(Moment::from_s(1_000 + 7_200));
    hoarding.ends_otherwise(&hold).await;
    clock.advance_ms(3_000_000);
    assert!(take(&hoarding, 3, 2, &alice).await.is_err(), "held for longer, it counts for longer");
    hold.release(clock.now());
    hoarding.ends_otherwise(&hold).await;
    assert!(take(&hoarding, 4, 2, &alice).await.is_ok(), "let go of after the window, it counts no more");
}

#[tokio::test]
async fn a_confirm_gives_back_and_so_does_a_refusal() {
    let (_, hoarding) = hoarding(2, 3);
    let alice = visitor("alice", "203.0.113.1");
    let refused = Ok(Reply::KeyReused);
    hoarding.settle(take(&hoarding, 1, 2, &alice).await.unwrap(), &refused).await;
    held(&hoarding, 2, 2, &alice).await;
    assert!(take(&hoarding, 3, 1, &alice).await.is_err());
    hoarding.confirmed(HoldId::from_bits(2)).await;
    assert!(take(&hoarding, 4, 2, &alice).await.is_ok());
}

#[tokio::test]
async fn many_accounts_at_one_address_share_its_limit() {
    let (_, hoarding) = hoarding(10, 5);
    for account in 0..5 {
        let one = visitor(&format!("account-{account}"), "2001:db8::1");
        assert!(take(&hoarding, account, 1, &one).await.is_ok());
    }
    let sixth = visitor("account-6", "2001:db8::6");
    assert_eq!(take(&hoarding, 6, 1, &sixth).await.unwrap_err().policy, "unconfirmed-by-address");
    assert!(take(&hoarding, 7, 1, &visitor("bob", "2001:db8:0:1::1")).await.is_ok());
    assert!(
        take(&hoarding, 8, 5, &sixth).await.is_err(),
        "and a refusal took nothing from the account either"
    );
}

/// One of several copies of alice's request, which has a key.
async fn copy(hoarding: &Hoarding, hold: u128) -> Reserved {
    let key = IdempotencyKey { scope: "alice".into(), key: "k".into(), fingerprint: [1; 32] };
    let alice = visitor("alice", "203.0.113.1");
    hoarding.reserve(HoldId::from_bits(hold), &seats(2), Some(&key), &alice).await.unwrap()
}

fn replayed(status: u16) -> Result<Reply, SubmitError> {
    Ok(Reply::Replayed(Answer { status, body: Default::default() }))
}

/// Both are on their way, and it is the second that the ledger takes first.
#[tokio::test]
async fn two_copies_of_a_request_count_once_whichever_of_them_holds() {
    let alice = visitor("alice", "203.0.113.1");
    for (told, sooner) in [(replayed(201), false), (Err(LedgerError::Overloaded.into()), true)] {
        let (_, hoarding) = hoarding(2, 0);
        let (first, second) = (copy(&hoarding, 1).await, copy(&hoarding, 2).await);
        let held = until(2, hoarding.clock.now());
        if sooner {
            hoarding.settle(first, &told).await;
            hoarding.remember(second, &held).await;
        } else {
            hoarding.remember(second, &held).await;
            hoarding.settle(first, &told).await;
        }
        assert!(take(&hoarding, 3, 1, &alice).await.is_err(), "held, and counted: {told:?}");
        hoarding.confirmed(HoldId::from_bits(2)).await;
        assert!(take(&hoarding, 4, 2, &alice).await.is_ok(), "and given back when it is bought: {told:?}");
    }
}

#[tokio::test]
async fn a_no_that_is_told_again_counts_for_nothing() {
    let (_, hoarding) = hoarding(2, 0);
    hoarding.settle(copy(&hoarding, 1).await, &replayed(409)).await;
    assert!(take(&hoarding, 2, 2, &visitor("alice", "203.0.113.1")).await.is_ok());
}

#[tokio::test]
async fn a_retry_with_its_key_counts_once() {
    let (_, hoarding) = hoarding(2, 0);
    let alice = visitor("alice", "203.0.113.1");
    let key = IdempotencyKey { scope: "alice".into(), key: "k".into(), fingerprint: [1; 32] };
    for hold in 1..4 {
        let again = hoarding.reserve(HoldId::from_bits(hold), &seats(2), Some(&key), &alice).await;
        assert!(again.is_ok(), "{hold}");
    }
    assert!(take(&hoarding, 9, 1, &alice).await.is_err());
}

/// As when each node forgets the oldest, and a crowd of those who came once does not shut out who comes next.
#[tokio::test]
async fn those_whose_time_is_over_make_room_for_the_next() {
    let clock = Arc::new(ManualClock::at(Moment::from_s(1_000)));
    let settings = Settings { per_holder: 1, per_address: 0, remembered: 100, ..Settings::default() };
    let hoarding = Hoarding::new(settings, clock.clone(), None);
    for one in 0..100 {
        let crowd = visitor(&format!("one-{one}"), "203.0.113.1");
        held(&hoarding, one, 1, &crowd).await;
    }
    let late = visitor("late", "203.0.113.1");
    for hold in [200, 201] {
        assert!(take(&hoarding, hold, 1, &late).await.is_ok(), "uncounted: there is no room to remember it");
    }
    clock.advance_ms(600_000);
    held(&hoarding, 300, 1, &late).await;
    assert!(take(&hoarding, 301, 1, &late).await.is_err(), "counted again");
    hoarding.confirmed(HoldId::from_bits(300)).await;
    assert!(take(&hoarding, 302, 1, &late).await.is_ok(), "and what it bought is known");
}
