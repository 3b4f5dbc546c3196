//! Locks: one's own, for a while, on one server or on most of three. And never trusted.

use std::{sync::Arc, time::Duration};

use holdfast_engine::{
    gate::{
        Verdict,
        redis::{LockSettings, Settings, Strategy},
    },
    ledger::{LedgerError, Reply},
    pipeline::SubmitError,
};
use holdfast_rigs::Redis;

use crate::shop::{SOON, Shop, fest, hall, now, place, request, seat, settings, stock, unit_of};

fn locking() -> Settings {
    let lock = LockSettings { wait: Duration::from_millis(60), ..LockSettings::default() };
    Settings { lock, ..settings() }
}

fn servers() -> [Redis; 3] {
    [(); 3].map(|()| Redis::start().expect("a Redis"))
}

fn urls(servers: &[Redis]) -> String {
    servers.iter().map(Redis::url).collect::<Vec<_>>().join(",")
}

pub(crate) async fn shop(strategy: Strategy, urls: &str, settings: Settings) -> Shop {
    let shop = Shop::new(strategy, urls, settings);
    shop.sell(hall()).await;
    shop.sell(fest()).await;
    let began = now();
    while !is_awake(&shop).await {
        assert!(began.elapsed() < SOON, "the gate does not wake up");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    shop
}

/// Whether a second one is kept out.
async fn is_awake(shop: &Shop) -> bool {
    let pass = shop.gate.ask(&request(place("first", seat("A-20")), None)).await;
    let second = shop.gate.ask(&request(place("second", seat("A-20")), None)).await;
    let kept_out = matches!(second, Verdict::Busy);
    for verdict in [pass, second] {
        give_back(shop, verdict).await;
    }
    kept_out
}

async fn give_back(shop: &Shop, verdict: Verdict) {
    if let Verdict::Pass(pass) = verdict {
        shop.gate.settle(pass, &Err(LedgerError::Overloaded)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_at_a_time_and_only_on_the_same_unit() {
    let servers = servers();
    for (strategy, urls) in [(Strategy::Lock, servers[0].url()), (Strategy::Redlock, urls(&servers))] {
        let shop = shop(strategy, &urls, locking()).await;
        let first = shop.gate.ask(&request(place("alice", seat("A-1")), None)).await;
        match shop.try_submit(place("bob", seat("A-1"))).await {
            Err(SubmitError::Ledger(LedgerError::Overloaded)) => {}
            other => panic!("a busy lock is an overload: {other:?}"),
        }
        shop.held("carol", seat("A-2")).await;
        give_back(&shop, first).await;
        shop.held("bob", seat("A-1")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_unlocks_anothers() {
    let redis = Redis::start().unwrap();
    let shop = shop(Strategy::Lock, &redis.url(), locking()).await;
    let first = shop.gate.ask(&request(place("alice", seat("A-1")), None)).await;
    // Alice's lock runs out under her, and is Bob's when she comes to unlock it.
    assert_eq!(redis.ask(&["DEL", "hf:{hall}:lock:0"]).unwrap().integer(), Some(1));
    let second = shop.gate.ask(&request(place("bob", seat("A-1")), None)).await;
    give_back(&shop, first).await;
    let third = shop.gate.ask(&request(place("carol", seat("A-1")), None)).await;
    assert!(matches!(third, Verdict::Busy), "{third:?}");
    give_back(&shop, second).await;
    assert_eq!(redis.ask(&["EXISTS", "hf:{hall}:lock:0"]).unwrap().integer(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_renewed_so_often_and_then_runs_out() {
    let redis = Redis::start().unwrap();
    let lock = LockSettings {
        live: Duration::from_millis(900),
        renewals: 2,
        wait: Duration::from_millis(10),
        ..LockSettings::default()
    };
    let shop = shop(Strategy::Lock, &redis.url(), Settings { lock, ..settings() }).await;
    let began = now();
    let first = shop.gate.ask(&request(place("alice", seat("A-1")), None)).await;
    let taken = loop {
        match shop.gate.ask(&request(place("bob", seat("A-1")), None)).await {
            Verdict::Pass(pass) => break pass,
            Verdict::Busy => assert!(began.elapsed() < 2 * SOON, "renewed for ever"),
            other => panic!("{other:?}"),
        }
    };
    // Renewed after 300 and 600 ms, it lives to 1500.
    let lived = began.elapsed();
    assert!(lived >= Duration::from_millis(1400), "{lived:?}");
    shop.gate.settle(taken, &Err(LedgerError::Overloaded)).await;
    give_back(&shop, first).await;
}

/// Orders that name each other's units in the opposite order, over two offers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_in_a_circle() {
    let servers = servers();
    // Locks outlive the wait: in a circle nobody would be answered.
    let patient = LockSettings {
        wait: Duration::from_secs(20),
        live: Duration::from_secs(60),
        ..LockSettings::default()
    };
    for (strategy, urls) in [(Strategy::Lock, servers[0].url()), (Strategy::Redlock, urls(&servers))] {
        let shop = Arc::new(shop(strategy, &urls, Settings { lock: patient.clone(), ..settings() }).await);
        let buyers = (0..24).map(|n| {
            let shop = shop.clone();
            let mut asks =
                vec![unit_of("hall", "A-1", 1), unit_of("hall", "A-2", 1), unit_of("fest", "GA", 1)];
            asks.rotate_left(n % 3);
            tokio::spawn(async move { shop.try_submit(place(&format!("buyer-{n}"), asks)).await })
        });
        let (mut won, mut unanswered) = (0, 0);
        for buyer in buyers.collect::<Vec<_>>() {
            match buyer.await.unwrap() {
                Ok(Reply::Done(_)) => won += 1,
                Ok(_) => {}
                Err(_) => unanswered += 1,
            }
        }
        assert_eq!((won, unanswered), (1, 0), "{strategy}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_majority_is_enough_and_less_is_no_obstacle() {
    let mut servers = servers();
    let quick = Settings { timeout: Duration::from_millis(50), ..locking() };
    let shop = shop(Strategy::Redlock, &urls(&servers), quick).await;
    servers[0].kill().unwrap();
    let began = now();
    while !is_awake(&shop).await {
        assert!(began.elapsed() < SOON, "two of three are a majority");
    }
    assert!(!shop.gate.degraded().is_empty());
    servers[1].kill().unwrap();
    shop.held("alice", seat("A-3")).await;
    shop.held("bob", stock(1)).await;
    let began = now();
    shop.held("carol", seat("A-4")).await;
    assert!(began.elapsed() < Duration::from_millis(300), "{:?}", began.elapsed());
}

/// Redis forgets every lock, so that all are inside at once: the ledger still sells one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_with_one_lock_sell_once() {
    let redis = Redis::start().unwrap();
    let shop = Arc::new(shop(Strategy::Lock, &redis.url(), locking()).await);
    let mut passes = Vec::new();
    for n in 0..5 {
        let request = request(place(&format!("buyer-{n}"), seat("A-1")), None);
        match shop.gate.ask(&request).await {
            Verdict::Pass(pass) => passes.push((request, pass)),
            other => panic!("{other:?}"),
        }
        redis.ask(&["FLUSHALL"]).unwrap();
    }
    let mut won = 0;
    for (request, pass) in passes {
        let said = holdfast_engine::ledger::Ledger::execute(shop.ledger.as_ref(), request).await;
        won += usize::from(matches!(said, Ok(Reply::Done(_))));
        shop.gate.settle(pass, &said).await;
    }
    assert_eq!(won, 1);
}
