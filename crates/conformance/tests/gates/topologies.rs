//! A Cluster of three masters, and a master that Sentinels name.

use std::time::Duration;

use holdfast_domain::{Ask, Offer};
use holdfast_engine::gate::redis::Strategy;
use holdfast_rigs::{RedisCluster, Sentinel};

use crate::shop::{SOON, Shop, now, seats_named, settings, unit_of};

/// Halls enough that each master has some.
const HALLS: usize = 6;

fn a_hall(n: usize) -> Offer {
    seats_named(&format!("hall-{n}"))
}

fn in_hall(n: usize, unit: &str) -> Vec<Ask> {
    vec![unit_of(&format!("hall-{n}"), unit, 1)]
}

/// One order over halls on all masters.
fn everywhere(unit: &str) -> Vec<Ask> {
    (0..HALLS).flat_map(|n| in_hall(n, unit)).collect()
}

async fn three_masters() -> RedisCluster {
    tokio::task::spawn_blocking(|| RedisCluster::start(3).expect("a Cluster")).await.expect("no panic")
}

async fn shop_of_halls(strategy: Strategy, cluster: &RedisCluster) -> Shop {
    let shop = Shop::new(strategy, &cluster.urls().join(","), settings());
    for n in 0..HALLS {
        shop.sell(a_hall(n)).await;
    }
    shop
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_judge_and_lock_runs_on_a_cluster() {
    for strategy in [Strategy::Lua, Strategy::Bitmap, Strategy::Layered] {
        let cluster = three_masters().await;
        let shop = shop_of_halls(strategy, &cluster).await;
        for n in 0..HALLS {
            shop.until_awake(&format!("hall-{n}"), "A-1", 1).await;
        }
        let hold = shop.held("alice", everywhere("A-1")).await;
        shop.until_refused("bob", in_hall(3, "A-1")).await;
        assert!(shop.gate_says("bob", everywhere("A-1")).await.is_some());
        shop.release(&hold).await;
        shop.held("carol", everywhere("A-1")).await;
    }
    let cluster = three_masters().await;
    let shop = shop_of_halls(Strategy::Lock, &cluster).await;
    shop.held("dave", everywhere("A-1")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_one_master_its_halls_are_sold_without_a_gate() {
    let mut cluster = three_masters().await;
    let shop = shop_of_halls(Strategy::Lua, &cluster).await;
    for n in 0..HALLS {
        shop.until_awake(&format!("hall-{n}"), "A-1", 1).await;
    }
    cluster.node_mut(0).kill().expect("it ends");
    for n in 0..HALLS {
        let began = now();
        shop.held("erin", in_hall(n, "A-2")).await;
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
}

/// One that was switched off says neither yes nor no, and the others know the master.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_that_says_nothing_is_not_waited_for() {
    let group = tokio::task::spawn_blocking(|| Sentinel::start().expect("sentinels")).await.unwrap();
    group.sentinels()[0].pause().expect("it stops");
    let hosts: Vec<_> = group.addresses().iter().map(ToString::to_string).collect();
    let address = format!("redis+sentinel://{}/{}", hosts.join(","), group.master_name());
    let shop = Shop::new(Strategy::Lua, &address, settings());
    shop.sell(a_hall(0)).await;
    shop.held("alice", in_hall(0, "A-1")).await;
    shop.until_refused("bob", in_hall(0, "A-1")).await;
    group.sentinels()[0].resume().expect("it goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_loses_speed_only() {
    let group = tokio::task::spawn_blocking(|| Sentinel::start().expect("sentinels")).await.unwrap();
    let hosts: Vec<_> = group.addresses().iter().map(ToString::to_string).collect();
    let address = format!("redis+sentinel://{}/{}", hosts.join(","), group.master_name());
    let shop = Shop::new(Strategy::Lua, &address, settings());
    shop.sell(a_hall(0)).await;
    let taken = in_hall(0, "A-1");
    shop.held("alice", taken.clone()).await;
    shop.until_refused("bob", taken.clone()).await;
    let free = shop.held("alice", in_hall(0, "A-2")).await;

    let taking_over = tokio::task::spawn_blocking(move || {
        let mut group = group;
        group.kill_master().expect("a successor");
        group
    });
    // While nobody is master the sale goes on.
    shop.release(&free).await;
    let mut sold = 0;
    while !taking_over.is_finished() {
        let began = now();
        let hold = shop.held("carol", in_hall(0, "A-3")).await;
        shop.release(&hold).await;
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        sold += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(sold > 0);
    let _group = taking_over.await.unwrap();
    let healed = now();
    while shop.gate_says("bob", taken.clone()).await.is_none() {
        assert!(healed.elapsed() < SOON, "not right again {SOON:?} after the takeover");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    shop.held("bob", in_hall(0, "A-2")).await;
}
