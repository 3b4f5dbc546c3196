//! Limits on how often and how much, counted by two nodes in one Redis, and by each alone when Redis is gone.

use std::{sync::Arc, time::Duration};

use holdfast_domain::{Actor, Command, HoldId, HolderId, PayTerms};
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

use crate::shop::{SOON, Shop, hall, now, place, seat, settings};

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

/// What stands in the only key that begins like this.
fn only_key(redis: &Redis, beginning: &str) -> String {
    let keys = redis.ask(&["KEYS", &format!("{beginning}*")]).unwrap();
    match keys.items() {
        [one] => one.text().unwrap().to_owned(),
        others => panic!("{others:?}"),
    }
}

/// As after a failover to a server whose clock is an hour behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_a_clock_ahead_has_filled_is_empty() {
    let redis = Redis::start().unwrap();
    let [one, other] = two_nodes(&redis).await;
    redis.ask(&["FLUSHALL"]).unwrap();
    let thrice = Rate { burst: 3, window: Duration::from_secs(3600) };
    one.limiter.admit("address", &thrice, "203.0.113.7").await.unwrap();
    let key = only_key(&redis, "hf:rate:");
    let full_in_an_hour = (SystemClock::new().now().ms() + 2 * 3_600_000) * 1000;
    redis.ask(&["SET", &key, &full_in_an_hour.to_string(), "PX", "7200000"]).unwrap();
    let mut through = 0;
    for n in 0..8 {
        let node = [&one, &other][n % 2];
        through += usize::from(node.limiter.admit("address", &thrice, "203.0.113.7").await.is_ok());
    }
    assert_eq!(through, 3);
}

/// What was counted by a clock that was ahead counts for as long as it would have by this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_clock_ahead_has_counted_counts_no_longer_for_it() {
    const AHEAD_MS: i64 = 3_600_000;
    let redis = Redis::start().unwrap();
    let [one, other] = two_nodes(&redis).await;
    let clock = SystemClock::new();
    let hoarding = Hoarding::new(
        hoarding::Settings { per_holder: 2, per_address: 0, ..Default::default() },
        Arc::new(SystemClock::new()),
        Some(shared(&redis.url())),
    );
    drop((one, other));
    let (alice, wants) = (visitor("alice"), seat("A-1"));
    while redis.ask(&["KEYS", "hf:hoard:until:*"]).unwrap().items().is_empty() {
        hoarding.reserve(mint::hold_id(), &wants, None, &alice).await.ok();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let key = only_key(&redis, "hf:hoard:until:");
    let ends = || {
        let entries = redis.ask(&["ZRANGE", &key, "0", "-1", "WITHSCORES"]).unwrap();
        let text: Vec<_> = entries.items().iter().map(|item| item.text().unwrap().to_owned()).collect();
        text.chunks(2).map(|pair| (pair[0].clone(), pair[1].parse::<i64>().unwrap())).collect::<Vec<_>>()
    };
    // The server before this one was ahead: all that it wrote is.
    for (name, score) in ends() {
        let by_it = if score < 0 { score - AHEAD_MS } else { score + AHEAD_MS };
        redis.ask(&["ZADD", &key, &by_it.to_string(), &name]).unwrap();
    }
    hoarding.reserve(mint::hold_id(), &wants, None, &alice).await.unwrap();
    let refused = hoarding.reserve(mint::hold_id(), &wants, None, &alice).await.unwrap_err();
    let wait = refused.quota.unwrap().retry_after;
    assert!(wait <= Duration::from_secs(600), "the window and no longer: {wait:?}");
    let latest = ends().iter().map(|(_, end)| *end).max().unwrap();
    // A second, by which this clock and that of Redis may be apart.
    assert!(latest <= clock.now().ms() + 601_000, "{latest}");
}

/// A browser that hangs up while the ledger is asked: what it holds is counted, and given back when it is bought.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_up_is_no_way_around_the_count() {
    let shop = Shop::new(Strategy::Lua, "redis://127.0.0.1:1", settings());
    shop.sell(hall()).await;
    let limits = hoarding::Settings { per_holder: 1, per_address: 0, ..Default::default() };
    let hoarding = Arc::new(Hoarding::new(limits, shop.clock.clone(), None));
    let pipeline = Pipeline::new(shop.ledger.clone(), Limits::default()).with_hoarding(hoarding.clone());
    let actor = Actor::Session(visitor("alice").holder);
    let command = place("alice", seat("A-1"));
    let Command::PlaceHold { hold, .. } = command else { unreachable!() };
    {
        let asked = pipeline.submit_for(Some(visitor("alice")), command, actor.clone(), None, None);
        let mut asked = std::pin::pin!(asked);
        assert!(futures::poll!(&mut asked).is_pending(), "the ledger has not answered yet");
        let began = now();
        while !matches!(shop.ledger.hold(hold).await, Ok(Some(_))) {
            assert!(began.elapsed() < SOON, "it is never held");
            tokio::task::yield_now().await;
        }
        // Committed, and whoever asked hears nothing of it any more.
    }
    let began = now();
    while !hoarding.counts(hold) {
        assert!(began.elapsed() < SOON, "nobody counts what it holds");
        tokio::task::yield_now().await;
    }
    let confirm = Command::Confirm { booking: mint::booking_id(), hold };
    let bought = pipeline.submit(confirm, Actor::Key("till".into()), None).await;
    assert!(matches!(bought, Ok(Reply::Done(Outcome::Confirmed(_)))), "{bought:?}");
    let next = place("alice", seat("A-2"));
    let held = pipeline.submit_for(Some(visitor("alice")), next, actor, None, None).await;
    assert!(matches!(held, Ok(Reply::Done(Outcome::Held { .. }))), "{held:?}");
}

/// While it is paid a hold outlives its end, and is as much out of everybody's reach.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_paid_counts_for_as_long_as_it_is_pinned() {
    let shop = Shop::new(Strategy::Lua, "redis://127.0.0.1:1", settings());
    shop.sell(hall()).await;
    let limits = hoarding::Settings { per_holder: 1, per_address: 0, ..Default::default() };
    let hoarding = Arc::new(Hoarding::new(limits, shop.clock.clone(), None));
    let pipeline = Pipeline::new(shop.ledger.clone(), Limits::default()).with_hoarding(hoarding);
    let actor = Actor::Session(visitor("alice").holder);
    let wish = |unit: &str| {
        let command = place("alice", seat(unit));
        pipeline.submit_for(Some(visitor("alice")), command, actor.clone(), None, None)
    };
    let Ok(Reply::Done(Outcome::Held { hold, .. })) = wish("A-1").await else { panic!("not held") };
    let terms = PayTerms { pin_s: 900, grace_s: 0, look_s: 600 };
    let (booking, hold) = (mint::booking_id(), hold.hold.id);
    let begin = Command::BeginPayment { booking, hold, method: None, terms };
    let begun = pipeline.submit(begin, actor.clone(), None).await;
    assert!(matches!(begun, Ok(Reply::Done(Outcome::PaymentBegun(_)))), "{begun:?}");
    shop.clock.advance_ms(1_400_000);
    let refused = wish("A-2").await;
    assert!(matches!(refused, Err(SubmitError::TooMany(_))), "{refused:?}");
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
