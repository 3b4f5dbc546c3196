//! Those who ask at the same moment share a trip to Redis, and each hears what was so after it asked.

use std::time::Duration;

use futures::future::join_all;
use holdfast_engine::gate::redis::{LockSettings, Settings, Strategy};
use holdfast_rigs::{FaultProxy, Mode, Redis};

use crate::shop::{SOON, Shop, hall, now, seat, settings};

/// Long enough to do something while a question is under way.
const FAR: Duration = Duration::from_millis(100);

/// A node that is far from Redis, behind a proxy that is not slow yet, and one beside it on the same books.
async fn far_and_near(redis: &Redis) -> (FaultProxy, Shop, Shop) {
    let (timeout, pass_live) = (7 * FAR, Duration::from_secs(60));
    let lock = LockSettings { live: pass_live, ..LockSettings::default() };
    let patient = Settings { timeout, pass_live, lock, ..settings() };
    let proxy = FaultProxy::start(redis.address()).await.expect("a proxy");
    let far = Shop::new(Strategy::Lua, &format!("redis://{}", proxy.address()), patient.clone());
    far.sell(hall()).await;
    let near = Shop::beside(far.ledger.clone(), far.clock.clone(), Strategy::Lua, &redis.url(), patient);
    for shop in [&far, &near] {
        shop.until_awake("hall", "A-20", 1).await;
    }
    (proxy, far, near)
}

fn scripts(redis: &Redis) -> u64 {
    let stats = redis.ask(&["INFO", "commandstats"]).expect("an answer");
    let calls = stats.text().and_then(|text| text.split("cmdstat_evalsha:calls=").nth(1)?.split(',').next());
    calls.map_or(0, |calls| calls.parse().expect("a number"))
}

fn forget_scripts(redis: &Redis) {
    redis.ask(&["CONFIG", "RESETSTAT"]).expect("an answer");
}

/// Waits until Redis has been asked so often.
async fn until_asked(redis: &Redis, times: u64) {
    let began = now();
    while scripts(redis) < times {
        assert!(began.elapsed() < SOON, "nobody asks Redis");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_shares_its_trips() {
    for strategy in [Strategy::Lua, Strategy::Bitmap] {
        let redis = Redis::start().unwrap();
        let shop = Shop::new(strategy, &redis.url(), settings());
        shop.sell(hall()).await;
        shop.held("alice", seat("A-1")).await;
        let alone = shop.until_refused("bob", seat("A-1")).await;
        forget_scripts(&redis);
        let crowd: Vec<_> = (0..64).map(|n| format!("bob-{n}")).collect();
        let told = join_all(crowd.iter().map(|who| shop.gate_says(who, seat("A-1")))).await;
        assert!(told.iter().all(|told| *told == Some(alone.clone())), "{strategy}: {told:?}");
        assert!(scripts(&redis) < 16, "{strategy}: {} scripts for 64 questions", scripts(&redis));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_a_crowd_hears_its_own_answer() {
    let redis = Redis::start().unwrap();
    let shop = Shop::new(Strategy::Lua, &redis.url(), settings());
    shop.sell(hall()).await;
    for unit in ["A-1", "A-2", "A-3", "A-4"] {
        shop.held("alice", seat(unit)).await;
    }
    shop.held("eve", seat("A-5")).await;
    shop.until_refused("bob", seat("A-5")).await;
    let asks = [("alice", "A-1"), ("bob", "A-1"), ("alice", "A-5"), ("bob", "A-5"), ("carol", "A-9")];
    let told = join_all(asks.map(|(who, unit)| shop.gate_says(who, seat(unit)))).await;
    let codes: Vec<_> = told.iter().map(|told| told.as_ref().map(|refusal| refusal.code())).collect();
    // Alice's own, and taken for Bob; beyond Alice's limit, and taken for Bob; free.
    assert_eq!(codes, [None, Some("unit_taken"), Some("limit_reached"), Some("unit_taken"), None]);
}

/// An answer that was read before the question came is nobody's to share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_released_while_a_trip_is_under_way_is_not_refused_to_the_next() {
    let redis = Redis::start().unwrap();
    let (proxy, far, near) = far_and_near(&redis).await;
    let hold = near.held("alice", seat("A-1")).await;
    far.until_refused("bob", seat("A-1")).await;
    proxy.set(Mode::Delay(FAR));
    forget_scripts(&redis);
    let bob = far.gate_says("bob", seat("A-1"));
    let carol = async {
        until_asked(&redis, 1).await;
        near.release(&hold).await;
        far.gate_says("carol", seat("A-1")).await
    };
    let (bob, carol) = tokio::join!(bob, carol);
    assert!(bob.is_some(), "bob asked before the release");
    assert_eq!(carol, None, "carol asked after it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_gives_up_leaves_nothing_behind() {
    let redis = Redis::start().unwrap();
    let (proxy, far, near) = far_and_near(&redis).await;
    proxy.set(Mode::Delay(FAR));
    forget_scripts(&redis);
    let gave_up = tokio::time::timeout(Duration::from_millis(1), far.gate_says("bob", seat("A-7"))).await;
    assert!(gave_up.is_err(), "Redis is further away than that");
    // The question, and what gives the pass back.
    until_asked(&redis, 2).await;
    let began = now();
    let free = near.held("carol", seat("A-7")).await;
    assert!(began.elapsed() < SOON);
    near.release(&free).await;
    let passes = redis.ask(&["ZCARD", "hf:{hall}:passing"]).unwrap();
    assert_eq!(passes.integer(), Some(0), "passes that nobody settles");
}
