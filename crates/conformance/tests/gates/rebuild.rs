//! Redis forgets, and the gate is right again.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use holdfast_domain::{Command, Currency, OfferId, PayTerms, PaymentOutcome, Reason};
use holdfast_engine::{
    clock::Clock as _,
    gate::{
        GateBooks as _, Verdict,
        redis::{Settings, Strategy},
    },
    ledger::{IdempotencyKey, Ledger as _, LedgerError, Reply},
    mint,
};
use holdfast_rigs::{FaultProxy, Redis};

use crate::shop::{SOON, Shop, by_key, hall, hall_with, now, price, request, seat, settings};

async fn shop(redis: &Redis) -> Shop {
    let shop = Shop::new(Strategy::Lua, &redis.url(), settings());
    shop.sell(hall()).await;
    shop.until_awake("hall", "A-20", 1).await;
    shop
}

fn another_node(shop: &Shop, redis: &Redis, settings: Settings) -> Shop {
    Shop::beside(shop.ledger.clone(), shop.clock.clone(), Strategy::Lua, &redis.url(), settings)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushed_in_the_middle_it_steps_aside_and_is_right_again() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    let holds = [shop.held("alice", seat("A-1")).await, shop.held("alice", seat("A-2")).await];
    shop.until_refused("bob", seat("A-1")).await;
    redis.ask(&["FLUSHALL"]).unwrap();
    shop.held("bob", seat("A-3")).await;
    shop.release(&holds[1]).await;
    shop.until_refused("bob", seat("A-1")).await;
    shop.until_refused("alice", seat("A-3")).await;
    shop.held("bob", seat("A-2")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_during_a_rebuild_is_not_lost() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    let first = shop.held("alice", seat("A-1")).await;
    let second = shop.held("alice", seat("A-2")).await;
    let extended = shop.held("alice", seat("A-3")).await;
    // Claims are read, and held up on their way to the slate.
    let held_up = shop.books.may_go_on.acquire_many(1000).await.unwrap();
    let read = shop.books.read.available_permits();
    redis.ask(&["FLUSHALL"]).unwrap();
    while shop.books.read.available_permits() == read {
        shop.gate_says("bob", seat("A-1")).await;
    }
    shop.release(&first).await;
    let booking = shop.book(&second).await;
    shop.clock.advance_ms(1000);
    shop.submit(Command::ExtendHold { hold: extended.hold.id }).await;
    shop.held("carol", seat("A-4")).await;
    drop(held_up);
    for taken in ["A-2", "A-3", "A-4"] {
        shop.until_refused("bob", seat(taken)).await;
    }
    shop.clock.advance_ms(599_500);
    for still_taken in ["A-2", "A-3"] {
        assert!(shop.gate_says("bob", seat(still_taken)).await.is_some(), "{still_taken}");
    }
    shop.held("bob", seat("A-1")).await;
    shop.submit(Command::Cancel { booking }).await;
    shop.held("bob", seat("A-2")).await;
}

/// Holds up the reading of the books in the middle of a renewal, which the slate is old enough for.
async fn in_a_renewal<'a>(shop: &'a Shop, redis: &Redis) -> tokio::sync::SemaphorePermit<'a> {
    let held_up = shop.books.may_go_on.acquire_many(1000).await.unwrap();
    let read = shop.books.read.available_permits();
    redis.ask(&["HSET", "hf:{hall}:slate", "built", "1"]).unwrap();
    let began = now();
    while shop.books.read.available_permits() == read {
        assert!(began.elapsed() < SOON, "nobody renews it");
        shop.gate_says("bob", seat("A-1")).await;
    }
    held_up
}

fn renewed_often() -> Settings {
    Settings { renew_every: Duration::from_secs(1), ..settings() }
}

/// However long it takes, and for every judge: the old slate is believed, and follows what happens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_makes_the_gate_step_aside_for_nobody() {
    for strategy in [Strategy::Lua, Strategy::Bitmap] {
        let redis = Redis::start().unwrap();
        let shop = Shop::new(strategy, &redis.url(), renewed_often());
        shop.sell(hall_with(None)).await;
        shop.held("alice", seat("A-1")).await;
        shop.until_refused("bob", seat("A-1")).await;
        let held_up = in_a_renewal(&shop, &redis).await;
        for _ in 0..20 {
            assert!(shop.gate_says("bob", seat("A-1")).await.is_some(), "{strategy}: it stepped aside");
        }
        shop.held("alice", seat("A-2")).await;
        assert!(shop.gate_says("bob", seat("A-2")).await.is_some(), "{strategy}: news reach the old slate");
        drop(held_up);
        let began = now();
        while redis.ask(&["HGET", "hf:{hall}:slate", "built"]).unwrap().text() == Some("1") {
            assert!(began.elapsed() < SOON, "the renewal comes to an end");
            assert!(shop.gate_says("bob", seat("A-1")).await.is_some(), "{strategy}: it stepped aside");
        }
        for taken in ["A-1", "A-2"] {
            assert!(shop.gate_says("bob", seat(taken)).await.is_some(), "{strategy}: {taken} was lost");
        }
        assert_eq!(redis.ask(&["EXISTS", "hf:{hall}:slate:next"]).unwrap().integer(), Some(0));
    }
}

/// The books were read before it ended, and so the new slate has it; but it hears of the end too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ends_during_a_renewal_is_refused_neither_before_nor_after_it() {
    let redis = Redis::start().unwrap();
    let shop = Shop::new(Strategy::Lua, &redis.url(), renewed_often());
    shop.sell(hall()).await;
    let released = shop.held("alice", seat("A-1")).await;
    let cancelled = shop.held("alice", seat("A-2")).await;
    let cancelled = shop.book(&cancelled).await;
    shop.until_refused("bob", seat("A-2")).await;
    let held_up = in_a_renewal(&shop, &redis).await;
    shop.release(&released).await;
    shop.submit(Command::Cancel { booking: cancelled }).await;
    // Longer than an end is remembered.
    redis.ask(&["DEL", "hf:{hall}:gone"]).unwrap();
    let free = async || {
        for unit in ["A-1", "A-2"] {
            assert_eq!(shop.gate_says("bob", seat(unit)).await, None, "{unit} is free");
        }
    };
    free().await;
    drop(held_up);
    let began = now();
    while redis.ask(&["HGET", "hf:{hall}:slate", "built"]).unwrap().text() == Some("1") {
        assert!(began.elapsed() < SOON, "the renewal comes to an end");
        free().await;
    }
    free().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_rebuilds_while_the_others_wait() {
    let redis = Redis::start().unwrap();
    let first = shop(&redis).await;
    let taken = first.held("alice", seat("A-1")).await;
    let nodes: Vec<_> = (0..3).map(|_| another_node(&first, &redis, settings())).collect();
    for node in &nodes {
        node.until_refused("bob", seat("A-1")).await;
    }
    redis.ask(&["FLUSHALL"]).unwrap();
    let readings =
        |nodes: &[Shop]| nodes.iter().map(|node| node.books.read.available_permits()).sum::<usize>();
    let before = readings(&nodes);
    // The reading takes as long as all of them need to find that they want one.
    let held_up = join_all(nodes.iter().map(|node| node.books.may_go_on.acquire_many(1000))).await;
    while readings(&nodes) == before {
        join_all(nodes.iter().map(|node| node.gate_says("bob", seat("A-1")))).await;
    }
    join_all(nodes.iter().map(|node| node.gate_says("bob", seat("A-1")))).await;
    drop(held_up);
    join_all(nodes.iter().map(|node| node.until_refused("bob", seat("A-1")))).await;
    // Those who waited find what they wanted, and do not build it once more over everybody's heads.
    let began = now();
    while began.elapsed() < Duration::from_millis(300) {
        join_all(nodes.iter().map(|node| node.gate_says("bob", seat("A-1")))).await;
    }
    assert_eq!(readings(&nodes) - before, 1, "one of them reads the books");
    // Released on one node, it is free on every other.
    first.release(&taken).await;
    nodes[2].held("carol", seat("A-1")).await;
    nodes[0].until_refused("bob", seat("A-1")).await;
}

/// A dump from yesterday: under the same epoch, with claims that ended long ago.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_memory_is_not_believed() {
    let mut redis = Redis::options().persistent().start().unwrap();
    let shop = shop(&redis).await;
    let hold = shop.held("alice", seat("A-1")).await;
    let booking = shop.book(&hold).await;
    shop.until_refused("bob", seat("A-1")).await;
    redis.kill().unwrap();
    shop.submit(Command::Cancel { booking }).await;
    redis.start_again().unwrap();
    shop.held("carol", seat("A-2")).await;
    shop.until_refused("bob", seat("A-2")).await;
    shop.held("bob", seat("A-1")).await;
}

/// After a failover and back the master is the process it was, with slates of its own mark; but they were another's
/// meanwhile, and what ended then they were not told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_was_a_replica_meanwhile_is_not_believed() {
    let [redis, other] = [(); 2].map(|()| Redis::start().unwrap());
    tokio::task::block_in_place(|| other.replica_of(&redis).unwrap());
    let has_the_slate = |server: &Redis| {
        server.ask(&["HEXISTS", "hf:{hall}:slate", "mark"]).is_ok_and(|reply| reply.integer() == Some(1))
    };
    let shop = Shop::new(Strategy::Lua, &redis.url(), Settings { renew_every: 100 * SOON, ..settings() });
    shop.sell(hall()).await;
    let hold = shop.held("alice", seat("A-1")).await.hold.id;
    shop.until_refused("bob", seat("A-1")).await;
    let refused = now();
    while !has_the_slate(&other) {
        assert!(refused.elapsed() < SOON, "the replica follows");
    }
    tokio::task::block_in_place(|| {
        other.replica_of_none().unwrap();
        redis.replica_of(&other).unwrap();
    });
    shop.ledger.execute(request(Command::ReleaseHold { hold }, None)).await.unwrap();
    redis.replica_of_none().unwrap();
    assert!(has_the_slate(&redis), "it came back");
    let back = now();
    while !matches!(shop.hold("bob", seat("A-1")).await, Reply::Done(_)) {
        assert!(back.elapsed() < SOON, "still refused after {SOON:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    shop.until_refused("carol", seat("A-1")).await;
}

/// A node that cannot reach Redis ends the epoch, so that the others stop refusing what it released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_redis_did_not_hear_of_is_heard_of_soon() {
    let redis = Redis::start().unwrap();
    let cut_off = Redis::start().unwrap();
    let node = shop(&redis).await;
    let hold = node.held("alice", seat("A-1")).await;
    node.until_refused("bob", seat("A-1")).await;
    // The other node's Redis stops before the release: that it is another one does not matter here.
    let other = another_node(&node, &cut_off, settings());
    other.until_refused("bob", seat("A-1")).await;
    cut_off.pause().unwrap();
    other.release(&hold).await;
    let released = now();
    while node.gate_says("bob", seat("A-1")).await.is_some() {
        assert!(released.elapsed() < SOON, "still refused after {SOON:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    node.held("bob", seat("A-1")).await;
    cut_off.resume().unwrap();
}

/// As in a planned failover: one node has moved and built its slate there, the other still reports to the old master,
/// which says yes to everything. When it moves, nobody knows what was lost, but that something may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_moves_to_another_master_counts_on_nothing_that_the_old_one_heard() {
    let [old, new] = [(); 2].map(|()| Redis::start().unwrap());
    // Nothing is built anew for being old.
    let lasting = Settings { renew_every: 100 * SOON, ..settings() };
    let node = Shop::new(Strategy::Lua, &new.url(), lasting.clone());
    node.sell(hall()).await;
    let hold = node.held("alice", seat("A-1")).await;
    node.until_refused("bob", seat("A-1")).await;
    let proxy = FaultProxy::start(old.address()).await.unwrap();
    let address = format!("redis://{}", proxy.address());
    let late = Shop::beside(node.ledger.clone(), node.clock.clone(), Strategy::Lua, &address, lasting);
    late.until_refused("bob", seat("A-1")).await;
    let epoch = node.ledger.epoch().await.unwrap();
    late.release(&hold).await;
    assert_eq!(late.gate_says("bob", seat("A-1")).await, None, "the old master has heard of it");
    assert!(node.gate_says("bob", seat("A-1")).await.is_some(), "the new one has not");
    assert_eq!(node.ledger.epoch().await.unwrap(), epoch, "to meet a server is no move");

    proxy.lead_to(new.address());
    let moved = now();
    while node.gate_says("bob", seat("A-1")).await.is_some() {
        assert!(moved.elapsed() < SOON, "still refused after {SOON:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    node.held("bob", seat("A-1")).await;
    for one in [&node, &late] {
        one.until_refused("carol", seat("A-1")).await;
    }
}

/// Committed, but the answer was lost: nobody has heard that it is free, and yet it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_of_unknown_outcome_keeps_nobody_out() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    let hold = shop.held("alice", seat("A-1")).await;
    shop.until_refused("bob", seat("A-1")).await;
    let release = || request(Command::ReleaseHold { hold: hold.hold.id }, None);
    let Verdict::Pass(pass) = shop.gate.ask(&release()).await else { panic!("a release is never refused") };
    shop.ledger.execute(release()).await.unwrap();
    shop.gate.settle(pass, &Err(LedgerError::OutcomeUnknown("the reply was lost".into()))).await;
    shop.held("bob", seat("A-1")).await;
    shop.until_refused("carol", seat("A-1")).await;
}

/// The node that committed it died before it could tell Redis. Whoever asked it asks another, and that one knows only
/// that it was done before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_nobody_reported_is_reported_with_its_retry() {
    let redis = Redis::start().unwrap();
    // Nothing is built anew meanwhile.
    let lasting = Settings { renew_every: 100 * SOON, ..settings() };
    let node = Shop::new(Strategy::Lua, &redis.url(), lasting.clone());
    node.sell(hall()).await;
    let other = another_node(&node, &redis, lasting);
    let released = node.held("alice", seat("A-1")).await.hold.id;
    let sold = node.held("alice", seat("A-2")).await;
    let cancelled = node.book(&sold).await;
    let offer = OfferId::new("hall").unwrap();
    node.submit(Command::Block { offer: offer.clone(), units: vec!["A-3".into()] }).await;
    let ends = [
        ("A-1", Command::ReleaseHold { hold: released }),
        ("A-2", Command::Cancel { booking: cancelled }),
        ("A-3", Command::Unblock { offer, units: vec!["A-3".into()] }),
    ];
    for (unit, command) in ends {
        other.until_refused("bob", seat(unit)).await;
        let key = IdempotencyKey { scope: "s".into(), key: unit.into(), fingerprint: [7; 32] };
        node.ledger.execute(request(command.clone(), Some(key.clone()))).await.unwrap();
        assert!(other.gate_says("bob", seat(unit)).await.is_some(), "nobody has told Redis of {unit}");
        let again = other.pipeline.submit(command, by_key(), Some(key)).await;
        assert!(matches!(again, Ok(Reply::Replayed(_))), "{again:?}");
        assert_eq!(other.gate_says("bob", seat(unit)).await, None, "{unit} is free");
        other.held("bob", seat(unit)).await;
    }
}

/// Built while a hold is being paid, the slate has it for as long as it is pinned; once the payment has failed, it ends
/// at its own time again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_payment_keeps_nobody_out_for_longer() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    let (hold, booking) = (shop.held("alice", seat("A-1")).await.hold.id, mint::booking_id());
    let terms = PayTerms { pin_s: 3_600, grace_s: 0, look_s: 30 };
    shop.submit(Command::BeginPayment { booking, hold, method: None, terms }).await;
    redis.ask(&["FLUSHALL"]).unwrap();
    shop.until_refused("bob", seat("A-1")).await;
    let declined = || PaymentOutcome::Declined { reason: Reason::new("insufficient_funds") };
    let due_at = shop.clock.now().plus_s(30);
    shop.submit(Command::SettlePayment { booking, intent: None, outcome: declined(), due_at }).await;
    assert!(shop.gate_says("bob", seat("A-1")).await.is_some(), "it is still hers");
    // With another card it is sold after all.
    let other = shop.held("alice", seat("A-2")).await.hold.id;
    let booking = mint::booking_id();
    shop.submit(Command::BeginPayment { booking, hold: other, method: None, terms }).await;
    shop.submit(Command::SettlePayment { booking, intent: None, outcome: declined(), due_at }).await;
    let booking = mint::booking_id();
    shop.submit(Command::BeginPayment { booking, hold: other, method: None, terms }).await;
    let paid = PaymentOutcome::Succeeded { amount: price(4500), currency: Currency::new("EUR").unwrap() };
    shop.submit(Command::SettlePayment { booking, intent: None, outcome: paid, due_at }).await;
    shop.clock.advance_ms(600_000);
    shop.held("bob", seat("A-1")).await;
    assert!(shop.gate_says("bob", seat("A-2")).await.is_some(), "it is booked");
}

/// How old the slate is that a node finds, it cannot know. It asks with its first use, and no slate becomes older than
/// it may by nodes that leave it to each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_finds_an_old_slate_renews_it_at_once() {
    let redis = Redis::start().unwrap();
    let first = shop(&redis).await;
    let hold = first.held("alice", seat("A-1")).await.hold.id;
    first.until_refused("bob", seat("A-1")).await;
    // Behind everybody's back, and longer ago than a slate may be old.
    first.ledger.execute(request(Command::ReleaseHold { hold }, None)).await.unwrap();
    redis.ask(&["HSET", "hf:{hall}:slate", "built", "1"]).unwrap();
    let other = another_node(&first, &redis, Settings { renew_every: 100 * SOON, ..settings() });
    let began = now();
    while !matches!(other.hold("bob", seat("A-1")).await, Reply::Done(_)) {
        assert!(began.elapsed() < SOON, "refused for as long as a slate may be old");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// It was just built when the doubt came, which may be about the one before it. But it may be about this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_about_a_young_slate_is_not_forgotten() {
    let redis = Redis::start().unwrap();
    let settings = Settings { check_one_in: 2, renew_every: 100 * SOON, ..settings() };
    let shop = Shop::new(Strategy::Lua, &redis.url(), settings);
    shop.sell(hall()).await;
    let hold = shop.held("alice", seat("A-1")).await.hold.id;
    shop.until_refused("bob", seat("A-1")).await;
    let stay_young = || {
        let just_built = "local now = redis.call('TIME') \
                          return redis.call('HSET', KEYS[1], 'built', now[1] * 1000 + math.floor(now[2] / 1000))";
        redis.ask(&["EVAL", just_built, "1", "hf:{hall}:slate"]).unwrap();
    };
    stay_young();
    let read = shop.books.read.available_permits();
    // Behind the gate's back.
    shop.ledger.execute(request(Command::ReleaseHold { hold }, None)).await.unwrap();
    let began = now();
    while !matches!(shop.hold("bob", seat("A-1")).await, Reply::Done(_)) {
        assert!(began.elapsed() < SOON, "nobody checks");
        stay_young();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // The doubt is on its way in the background, and is over before all of these.
    for _ in 0..50 {
        stay_young();
        shop.gate_says("carol", seat("A-2")).await;
    }
    assert_eq!(shop.books.read.available_permits(), read, "it is too young");
    redis.ask(&["HSET", "hf:{hall}:slate", "built", "1"]).unwrap();
    let began = now();
    while shop.books.read.available_permits() == read {
        assert!(began.elapsed() < SOON, "the doubt is forgotten");
        shop.gate_says("carol", seat("A-2")).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whatever put a wrong claim on the slate, it does not last: a check finds it, or the next renewal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_claim_does_not_last() {
    let checked = Settings { check_one_in: 4, ..settings() };
    let renewed = Settings { renew_every: Duration::from_secs(1), ..settings() };
    for settings in [checked, renewed] {
        let redis = Redis::start().unwrap();
        let shop = Arc::new(Shop::new(Strategy::Lua, &redis.url(), settings));
        shop.sell(hall()).await;
        let hold = shop.held("alice", seat("A-1")).await;
        let began = now();
        while shop.gate_says("bob", seat("A-1")).await.is_none() {
            assert!(began.elapsed() < SOON);
        }
        // Behind the gate's back.
        let release = Command::ReleaseHold { hold: hold.hold.id };
        shop.ledger.execute(request(release, None)).await.unwrap();
        let began = now();
        while !matches!(shop.hold("bob", seat("A-1")).await, Reply::Done(_)) {
            assert!(began.elapsed() < 2 * SOON, "refused for good");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
