//! `layered`: how often one holder may ask, before anything else is looked at.

use std::time::Duration;

use holdfast_engine::{
    gate::redis::{RateSettings, Settings, Strategy},
    pipeline::SubmitError,
};
use holdfast_rigs::Redis;

use crate::shop::{Shop, hall, place, seat, settings};

fn three_in_a_row() -> Settings {
    let rate = RateSettings { burst: 3, per_second: 1, local_holders: 2 };
    Settings { rate, ..settings() }
}

/// How many of so many in a row are let through.
async fn let_through(shop: &Shop, holder: &str, times: usize) -> usize {
    let mut through = 0;
    for _ in 0..times {
        match shop.try_submit(place(holder, seat("A-1"))).await {
            Ok(_) => through += 1,
            Err(SubmitError::TooMany(quota)) => {
                assert_eq!((quota.burst, quota.window), (3, Duration::from_secs(3)));
                assert!(quota.retry_after <= Duration::from_secs(1), "{quota:?}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    through
}

/// Asks as somebody else each time, so that nobody's bucket fills.
async fn until_awake(shop: &Shop) {
    let mut n = 0;
    while !shop.gate.degraded().is_empty() {
        n += 1;
        drop(shop.try_submit(place(&format!("waker-{n}"), seat("A-2"))).await);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_and_no_more_on_all_nodes_together() {
    let redis = Redis::start().unwrap();
    let shop = Shop::new(Strategy::Layered, &redis.url(), three_in_a_row());
    shop.sell(hall()).await;
    let other = Shop::beside(
        shop.ledger.clone(),
        shop.clock.clone(),
        Strategy::Layered,
        &redis.url(),
        three_in_a_row(),
    );
    until_awake(&shop).await;
    until_awake(&other).await;
    assert_eq!(let_through(&shop, "alice", 2).await, 2);
    assert_eq!(let_through(&other, "alice", 5).await, 1);
    assert_eq!(let_through(&shop, "bob", 5).await, 3, "everybody has a bucket of their own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_each_node_counts_by_itself() {
    let shop = Shop::new(Strategy::Layered, "redis://127.0.0.1:1", three_in_a_row());
    shop.sell(hall()).await;
    assert_eq!(let_through(&shop, "alice", 5).await, 3);
    assert_eq!(let_through(&shop, "bob", 5).await, 3);
    assert_eq!(let_through(&shop, "carol", 5).await, 5, "more than it may remember");
}
