//! Redis in every sort of trouble: bookings go on, nobody waits, and afterwards the gate is right.

use std::time::Duration;

use holdfast_engine::gate::redis::{Settings, Strategy};
use holdfast_rigs::Redis;

use crate::shop::{SOON, Shop, hall, now, seat, settings};

/// The timeout is 50 ms. A busy machine may need ten times as much; whoever waited for Redis would wait for good.
const AT_MOST: Duration = Duration::from_millis(500);

fn quick() -> Settings {
    Settings { timeout: Duration::from_millis(50), ..settings() }
}

async fn shop(redis: &Redis) -> Shop {
    let shop = Shop::new(Strategy::Lua, &redis.url(), quick());
    shop.sell(hall()).await;
    shop.until_awake("hall", "A-20", 1).await;
    shop
}

/// Holds, releases and holds again, each answered in time; then waits until the operator is told.
async fn goes_on(shop: &Shop, unit: &str) {
    for who in ["bob", "carol"] {
        let began = now();
        let hold = shop.held(who, seat(unit)).await;
        let held = began.elapsed();
        shop.release(&hold).await;
        assert!(held < 2 * AT_MOST, "a hold took {held:?}");
        assert!(began.elapsed() - held < 2 * AT_MOST, "a release took {:?}", began.elapsed() - held);
    }
    let began = now();
    while shop.gate.degraded().is_empty() {
        assert!(began.elapsed() < SOON, "nobody is told");
        shop.gate_says("bob", seat(unit)).await;
    }
    // With the breaker open nobody waits at all.
    let began = now();
    shop.gate_says("bob", seat(unit)).await;
    assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
}

async fn is_right_again(shop: &Shop, taken: &str, free: &str) {
    shop.until_refused("dave", seat(taken)).await;
    shop.held("dave", seat(free)).await;
    let began = now();
    while !shop.gate.degraded().is_empty() {
        assert!(began.elapsed() < SOON, "the operator is told that it is well");
        shop.gate_says("bob", seat(taken)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    shop.held("alice", seat("A-1")).await;
    let free = shop.held("alice", seat("A-2")).await;
    shop.until_refused("dave", seat("A-2")).await;
    redis.pause().unwrap();
    shop.release(&free).await;
    goes_on(&shop, "A-3").await;
    let words = shop.pipeline.health().await.degraded.join(" ");
    assert!(words.contains("Redis out of reach since") && words.contains("bookings go on"), "{words}");
    redis.resume().unwrap();
    is_right_again(&shop, "A-1", "A-2").await;
}

/// What was only taken meanwhile is known again as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_while_things_are_taken() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    redis.pause().unwrap();
    shop.held("alice", seat("A-1")).await;
    redis.resume().unwrap();
    is_right_again(&shop, "A-1", "A-2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_and_started_empty() {
    let mut redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    shop.held("alice", seat("A-1")).await;
    let free = shop.held("alice", seat("A-2")).await;
    redis.kill().unwrap();
    shop.release(&free).await;
    goes_on(&shop, "A-3").await;
    redis.start_again_empty().unwrap();
    is_right_again(&shop, "A-1", "A-2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only() {
    let [redis, master] = [Redis::start().unwrap(), Redis::start().unwrap()];
    let shop = shop(&redis).await;
    shop.held("alice", seat("A-1")).await;
    let free = shop.held("alice", seat("A-2")).await;
    redis.replica_of(&master).unwrap();
    shop.release(&free).await;
    goes_on(&shop, "A-3").await;
    redis.replica_of_none().unwrap();
    is_right_again(&shop, "A-1", "A-2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn out_of_memory() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    shop.held("alice", seat("A-1")).await;
    let free = shop.held("alice", seat("A-2")).await;
    redis.config_set("maxmemory", "1").unwrap();
    shop.release(&free).await;
    goes_on(&shop, "A-3").await;
    redis.config_set("maxmemory", "0").unwrap();
    is_right_again(&shop, "A-1", "A-2").await;
}

/// What timed out may be carried out later: it changes nothing for anybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_arrive_late_do_no_harm() {
    let redis = Redis::start().unwrap();
    let shop = shop(&redis).await;
    let hold = shop.held("alice", seat("A-1")).await;
    shop.until_refused("bob", seat("A-1")).await;
    redis.pause().unwrap();
    // A pass, a claim and an end, all of which Redis only hears of when it wakes up.
    shop.gate_says("bob", seat("A-5")).await;
    let late = shop.held("bob", seat("A-6")).await;
    shop.release(&late).await;
    shop.release(&hold).await;
    redis.resume().unwrap();
    for unit in ["A-1", "A-5", "A-6"] {
        shop.held("carol", seat(unit)).await;
        shop.until_refused("dave", seat(unit)).await;
    }
}

/// A gate that never meets its Redis is no obstacle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_there() {
    let shop = Shop::new(Strategy::Lua, "redis://127.0.0.1:1", quick());
    shop.sell(hall()).await;
    let began = now();
    shop.held("alice", seat("A-1")).await;
    assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
    assert!(!shop.gate.degraded().is_empty());
}
