//! Limits on how often and how much, counted by two nodes in one Redis, and by each alone when Redis is gone.

use std::{sync::Arc, time::Duration};

use holdfast_domain::{Actor, Command, HoldId, HolderId};
use holdfast_engine::{
    admission::{
        ClientNet, Rate, RateLimiter, Visitor,
        hoarding::{self, Hoarding},
    },
    clock::{Clock, SystemClock},
    gate::redis::{SharedRedis, Strategy},
    ledger::{Ledger, Outcome, Reply},
    mint,
    pipeline::{Limits, Pipeline, SubmitError},
};
use holdfast_rigs::Redis;

use crate::shop::{Shop, hall, place, seat, settings};

fn shared(url: &str) -> SharedRedis {
    SharedRedis::keep(url, &settings(), false, Arc::new(SystemClock::new())).unwrap()
}

/// What two nodes have of it.
struct Node {
    limiter: RateLimiter,
    pipeline: Pipeline,
}

impl Node {
    fn new(ledger: Arc<dyn Ledger>, clock: Arc<dyn Clock>, url: &str) -> Self {
        let redis = shared(url);
        let window = Duration::from_secs(60);
        let limits = hoarding::Settings { per_holder: 2, per_address: 3, window, ..Default::default() };
        let hoarding = Hoarding::new(limits, clock, Some(redis.clone()));
        let pipeline = Pipeline::new(ledger, Limits::default()).with_hoarding(Arc::new(hoarding));
        Self { limiter: RateLimiter::new(Some(redis), 100), pipeline }
    }

    /// Holds a seat for a browser; its hold, or the policy that forbids it.
    async fn hold(&self, name: &str, unit: &str) -> Result<HoldId, &'static str> {
        let visitor = visitor(name);
        let actor = Actor::Session(visitor.holder.clone());
        let command = place(name, seat(unit));
        match self.pipeline.submit_for(Some(visitor), command, actor, None, None).await {
            Ok(Reply::Done(Outcome::Held { hold, .. })) => Ok(hold.hold.id),
            Err(SubmitError::TooMany(quota)) => Err(quota.policy),
            other => panic!("{other:?}"),
        }
    }
}

fn visitor(name: &str) -> Visitor {
    let address = Some(ClientNet::of("203.0.113.7".parse().unwrap()));
    Visitor { holder: HolderId::new(name).unwrap(), address }
}

/// Until the node has found its Redis: a limiter that has is one whose count the other node sees.
async fn until_shared(one: &RateLimiter, other: &RateLimiter) {
    let once = Rate { burst: 1, window: Duration::from_secs(3600) };
    for n in 0.. {
        let who = format!("probe-{n}");
        let first = one.admit("probe", &once, &who).await;
        if first.is_ok() && other.admit("probe", &once, &who).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn two_nodes(redis: &Redis) -> [Node; 2] {
    let shop = Shop::new(Strategy::Lua, "redis://127.0.0.1:1", settings());
    shop.sell(hall()).await;
    let nodes = [(); 2].map(|()| Node::new(shop.ledger.clone(), shop.clock.clone(), &redis.url()));
    until_shared(&nodes[0].limiter, &nodes[1].limiter).await;
    until_shared(&nodes[1].limiter, &nodes[0].limiter).await;
    nodes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_count_together() {
    let redis = Redis::start().unwrap();
    let nodes = two_nodes(&redis).await;
    let thrice = Rate { burst: 3, window: Duration::from_secs(3600) };
    let mut through = 0;
    for n in 0..8 {
        through += usize::from(nodes[n % 2].limiter.admit("address", &thrice, "203.0.113.7").await.is_ok());
    }
    assert_eq!(through, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hoarder_is_one_to_all_nodes_and_its_share_comes_back_when_it_buys() {
    let redis = Redis::start().unwrap();
    let [one, other] = two_nodes(&redis).await;
    let first = one.hold("alice", "A-1").await.unwrap();
    other.hold("alice", "A-2").await.unwrap();
    assert_eq!(one.hold("alice", "A-3").await, Err("unconfirmed-by-holder"));
    one.hold("bob", "A-3").await.unwrap();
    assert_eq!(other.hold("carol", "A-4").await, Err("unconfirmed-by-address"), "three at one address");
    let booking = mint::booking_id();
    let bought = other
        .pipeline
        .submit(Command::Confirm { booking, hold: first }, Actor::Key("till".into()), None)
        .await;
    assert!(matches!(bought, Ok(Reply::Done(Outcome::Confirmed(_)))), "{bought:?}");
    other.hold("alice", "A-4").await.unwrap();
}

/// Placed at one node it counts for as long as it is held, and let go of at the other for the window only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_for_longer_than_the_window_counts_for_longer() {
    let redis = Redis::start().unwrap();
    let [one, other] = two_nodes(&redis).await;
    let hold = one.hold("alice", "A-1").await.unwrap();
    let counts_for_s = || {
        let keys = redis.ask(&["KEYS", "hf:hoard:until:*"]).unwrap();
        let left = |key: &str| redis.ask(&["TTL", key]).unwrap().integer().unwrap();
        keys.items().iter().filter_map(|key| key.text()).map(left).max().unwrap()
    };
    assert!(counts_for_s() > 500, "ten minutes, as long as it is held: {}", counts_for_s());
    let release = Command::ReleaseHold { hold };
    other.pipeline.submit(release, Actor::Key("till".into()), None).await.unwrap();
    assert!(counts_for_s() <= 60, "the window and no longer: {}", counts_for_s());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_redis_gone_each_node_counts_by_itself() {
    let mut redis = Redis::start().unwrap();
    let [one, other] = two_nodes(&redis).await;
    redis.kill().unwrap();
    // All at one address, which may have three: counted together, bob's second would be one too many.
    for (node, name, units) in
        [(&one, "alice", ["A-1", "A-2", "A-3"]), (&other, "bob", ["A-4", "A-5", "A-6"])]
    {
        node.hold(name, units[0]).await.unwrap();
        node.hold(name, units[1]).await.unwrap();
        assert_eq!(node.hold(name, units[2]).await, Err("unconfirmed-by-holder"));
    }
}
