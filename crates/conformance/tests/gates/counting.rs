//! What the gates that count refuse, and what they never may.

use std::sync::Arc;

use futures::future::join_all;
use holdfast_domain::{Amendment, Command, OfferId, Refusal};
use holdfast_engine::{
    gate::redis::Strategy,
    ledger::{IdempotencyKey, Outcome, Reply},
};
use holdfast_rigs::Redis;

use crate::shop::{Shop, fest, hall, hall_with, place, request, seat, settings, stock, unit_of};

async fn seats(strategy: Strategy) -> (Redis, Shop) {
    let redis = Redis::start().expect("a Redis");
    let shop = Shop::new(strategy, &redis.url(), settings());
    shop.sell(hall()).await;
    (redis, shop)
}

async fn goods(strategy: Strategy) -> (Redis, Shop) {
    let redis = Redis::start().expect("a Redis");
    let shop = Shop::new(strategy, &redis.url(), settings());
    shop.sell(fest()).await;
    (redis, shop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taken_seat_is_refused_in_the_ledgers_words() {
    for strategy in [Strategy::Lua, Strategy::Bitmap] {
        let (_redis, shop) = seats(strategy).await;
        let alice = shop.held("alice", seat("A-7")).await;
        let refused = shop.until_refused("bob", seat("A-7")).await;
        assert_eq!(Reply::Refused(refused), shop.ledger_says("bob", seat("A-7")).await);
        shop.book(&alice).await;
        let refused = shop.until_refused("bob", seat("A-7")).await;
        assert_eq!(Reply::Refused(refused), shop.ledger_says("bob", seat("A-7")).await);
        assert_eq!(shop.gate_says("bob", seat("A-8")).await, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stock_that_is_gone_is_refused_and_what_is_left_is_not() {
    for strategy in [Strategy::Lua, Strategy::Decr, Strategy::Bitmap] {
        let (_redis, shop) = goods(strategy).await;
        shop.held("alice", stock(3)).await;
        let refused = shop.until_refused("bob", stock(3)).await;
        assert_eq!(Reply::Refused(refused), shop.ledger_says("bob", stock(3)).await);
        assert_eq!(shop.gate_says("bob", stock(2)).await, None);
        shop.held("bob", stock(2)).await;
        let refused = shop.until_refused("carol", stock(1)).await;
        assert!(matches!(refused, Refusal::SoldOut { .. }), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_over_the_limit_is_refused_for_that() {
    let (_redis, shop) = seats(Strategy::Lua).await;
    for unit in ["A-1", "A-2", "A-3", "A-4"] {
        shop.held("alice", seat(unit)).await;
    }
    let refused = shop.until_refused("alice", seat("A-9")).await;
    assert_eq!(Reply::Refused(refused), shop.ledger_says("alice", seat("A-9")).await);
    assert_eq!(shop.gate_says("bob", seat("A-9")).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_back_can_be_had_at_once() {
    for strategy in [Strategy::Lua, Strategy::Bitmap] {
        let (_redis, shop) = seats(strategy).await;
        for _ in 0..3 {
            let hold = shop.held("alice", seat("A-1")).await;
            shop.until_refused("bob", seat("A-1")).await;
            shop.release(&hold).await;
            let hold = shop.held("bob", seat("A-1")).await;
            let booking = shop.book(&hold).await;
            shop.until_refused("alice", seat("A-1")).await;
            shop.submit(Command::Cancel { booking }).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_hold_is_in_nobodys_way() {
    for strategy in [Strategy::Lua, Strategy::Bitmap] {
        let (_redis, shop) = seats(strategy).await;
        let hold = shop.held("alice", seat("A-1")).await;
        shop.until_refused("bob", seat("A-1")).await;
        shop.clock.advance_ms(599_999);
        assert!(shop.gate_says("bob", seat("A-1")).await.is_some(), "it lives to the last millisecond");
        shop.submit(Command::ExtendHold { hold: hold.hold.id }).await;
        shop.clock.advance_ms(1);
        assert!(shop.gate_says("bob", seat("A-1")).await.is_some(), "it was extended");
        shop.clock.advance_ms(599_999);
        shop.held("bob", seat("A-1")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_was_left_is_in_the_way_for_as_long_as_it_is_kept() {
    for strategy in [Strategy::Lua, Strategy::Bitmap] {
        let (_redis, shop) = seats(strategy).await;
        let [gone, back] = [shop.held("alice", seat("A-1")).await, shop.held("alice", seat("A-2")).await];
        for hold in [gone.hold.id, back.hold.id] {
            shop.submit(Command::LeaveHold { hold, keep_s: 60 }).await;
        }
        shop.until_refused("bob", seat("A-1")).await;
        shop.submit(Command::ReturnToHold { hold: back.hold.id }).await;
        shop.clock.advance_ms(59_000);
        assert!(shop.gate_says("bob", seat("A-1")).await.is_some(), "kept for a minute");
        shop.clock.advance_ms(1_000);
        shop.held("bob", seat("A-1")).await;
        let refused = shop.gate_says("bob", seat("A-2")).await.expect("she came back");
        assert_eq!(Reply::Refused(refused), shop.ledger_says("bob", seat("A-2")).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_it_gets_it_back_and_a_used_key_its_first_answer() {
    let (_redis, shop) = seats(Strategy::Lua).await;
    let first = shop.held("alice", seat("A-1")).await;
    shop.until_refused("bob", seat("A-1")).await;
    match shop.hold("alice", seat("A-1")).await {
        Reply::Done(Outcome::Held { hold, again: true }) => assert_eq!(hold.hold.id, first.hold.id),
        other => panic!("alice has it already: {other:?}"),
    }
    let key = |name: &str| IdempotencyKey { scope: "s".into(), key: name.into(), fingerprint: [0; 32] };
    let keyed = |name| request(place("bob", seat("A-1")), Some(key(name)));
    assert!(shop.gate_says_of(keyed("new")).await.is_some());
    shop.books.answered.lock().insert("used".into());
    assert!(shop.gate_says_of(keyed("used")).await.is_none(), "the ledger has the first answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_organiser_changes_holds_at_once() {
    let (_redis, shop) = goods(Strategy::Lua).await;
    let id = || OfferId::new("fest").unwrap();
    shop.held("alice", stock(5)).await;
    shop.until_refused("bob", stock(1)).await;
    let amendment = Amendment { capacities: vec![("GA".into(), 6)], ..Amendment::default() };
    shop.submit(Command::AmendOffer { offer: id(), amendment }).await;
    shop.held("bob", stock(1)).await;
    shop.until_refused("carol", stock(1)).await;
    let amendment = Amendment { capacities: vec![("GA".into(), 8)], ..Amendment::default() };
    shop.submit(Command::AmendOffer { offer: id(), amendment }).await;
    shop.submit(Command::Block { offer: id(), units: vec!["GA".into()] }).await;
    let refused = shop.until_refused("carol", stock(1)).await;
    assert_eq!(Reply::Refused(refused), shop.ledger_says("carol", stock(1)).await);
    shop.submit(Command::Unblock { offer: id(), units: vec!["GA".into()] }).await;
    shop.held("carol", stock(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_over_two_offers_is_refused_whole_and_leaves_nothing_behind() {
    let (_redis, shop) = seats(Strategy::Lua).await;
    shop.sell(fest()).await;
    shop.until_awake("fest", "GA", 5).await;
    shop.held("alice", seat("A-1")).await;
    shop.until_refused("bob", seat("A-1")).await;
    let both = || vec![unit_of("fest", "GA", 5), unit_of("hall", "A-1", 1)];
    let refused = shop.gate_says("bob", both()).await.expect("a refusal");
    assert_eq!(Reply::Refused(refused), shop.ledger_says("bob", both()).await);
    shop.held("carol", stock(5)).await;
}

/// A pass makes others wait, it does not refuse them: what is not committed is nobody's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_is_never_settled_refuses_nobody() {
    for strategy in [Strategy::Lua, Strategy::Decr] {
        let (_redis, shop) = goods(strategy).await;
        shop.until_awake("fest", "GA", 5).await;
        drop(shop.gate.ask(&request(place("alice", stock(5)), None)).await);
        assert_eq!(shop.gate_says("bob", stock(1)).await, None);
        shop.held("bob", stock(5)).await;
    }
}

/// Forty who want one seat at the same moment, alice among them, and what each is told.
async fn crowd(shop: &Arc<Shop>) -> Vec<(String, Reply)> {
    let ask = |n| {
        let holder = if n == 20 { "alice".to_owned() } else { format!("buyer-{n}") };
        let shop = Arc::clone(shop);
        tokio::spawn(async move {
            let reply = shop.hold(&holder, seat("A-7")).await;
            (holder, reply)
        })
    };
    let asked: Vec<_> = (0..40).map(ask).collect();
    join_all(asked).await.into_iter().map(|told| told.expect("an answer")).collect()
}

/// Those who ask in vain together are not asked for their names, unless holders have a limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_told_what_the_ledger_would_tell_each_of_them() {
    for (strategy, limit) in [(Strategy::Lua, None), (Strategy::Lua, Some(4)), (Strategy::Bitmap, None)] {
        let redis = Redis::start().expect("a Redis");
        let shop = Arc::new(Shop::new(strategy, &redis.url(), settings()));
        shop.sell(hall_with(limit)).await;
        let first = shop.held("alice", seat("A-7")).await;
        shop.until_refused("bob", seat("A-7")).await;
        for _ in 0..5 {
            for (holder, reply) in crowd(&shop).await {
                assert_eq!(reply, shop.ledger_says(&holder, seat("A-7")).await, "{holder}, {strategy}");
            }
        }
        shop.release(&first).await;
        let won = crowd(&shop).await.iter().filter(|(_, reply)| matches!(reply, Reply::Done(_))).count();
        assert_eq!(won, 1, "{strategy}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_sells_everything_once() {
    for strategy in [Strategy::Lua, Strategy::Decr, Strategy::Bitmap] {
        let (_redis, shop) = goods(strategy).await;
        shop.until_awake("fest", "GA", 5).await;
        let shop = Arc::new(shop);
        let buyers = (0..60).map(|n| {
            let shop = shop.clone();
            tokio::spawn(async move { shop.hold(&format!("buyer-{n}"), stock(1)).await })
        });
        let mut won = 0;
        for buyer in buyers.collect::<Vec<_>>() {
            won += usize::from(matches!(buyer.await.unwrap(), Reply::Done(_)));
        }
        assert_eq!(won, 5, "{strategy}");
    }
}

/// How often Redis ran a script so far.
fn scripts_run(redis: &Redis) -> u64 {
    let stats = redis.ask(&["INFO", "commandstats"]).unwrap();
    let lines = stats.text().expect("a text").lines();
    let scripts = lines.filter(|line| line.starts_with("cmdstat_eval"));
    let calls = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok();
    scripts.filter_map(calls).sum()
}

/// Where names are needed all the same, a crowd is not asked twice every time.
#[tokio::test]
async fn a_crowd_whose_names_are_needed_is_asked_once() {
    let run = async |limit| {
        let redis = Redis::start().expect("a Redis");
        let shop = Arc::new(Shop::new(Strategy::Lua, &redis.url(), settings()));
        shop.sell(hall_with(limit)).await;
        shop.held("alice", seat("A-7")).await;
        shop.until_refused("bob", seat("A-7")).await;
        let before = scripts_run(&redis);
        let said = async |holder: String| shop.gate_says(&holder, seat("A-7")).await;
        for _ in 0..200 {
            let asked = (0..16).map(|n| said(format!("buyer-{n}")));
            assert!(join_all(asked).await.iter().all(Option::is_some));
        }
        scripts_run(&redis) - before
    };
    let (free, limited) = (run(None).await, run(Some(4)).await);
    assert!(free > 0 && limited < free + free / 2, "{limited} scripts with a limit, {free} without");
}

/// Whatever the gate leaves in Redis ends by itself, and of offers that it does not judge it leaves nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_in_redis_for_good() {
    for strategy in [Strategy::Lua, Strategy::Decr, Strategy::Bitmap] {
        let (redis, shop) = goods(strategy).await;
        shop.sell(hall()).await;
        shop.until_awake("fest", "GA", 5).await;
        let [kept, ended] = [shop.held("alice", stock(1)).await, shop.held("alice", seat("A-1")).await];
        shop.release(&ended).await;
        shop.held("bob", seat("A-2")).await;
        shop.book(&kept).await;
        let keys = redis.ask(&["KEYS", "*"]).unwrap();
        let keys: Vec<_> = keys.items().iter().filter_map(|key| key.text()).collect();
        assert!(!keys.is_empty());
        for key in keys {
            let left = redis.ask(&["PTTL", key]).unwrap().integer();
            // A rebuild that ends meanwhile takes its lease with it.
            const GONE: i64 = -2;
            assert!(left > Some(0) || left == Some(GONE), "{strategy}: {key} has no end");
            let judged = strategy != Strategy::Decr || !key.contains("{hall}") || key.ends_with(":gone");
            assert!(judged, "{strategy}: {key} is of no use");
        }
    }
}

/// One bit decides whether anything else is looked at: a seat whose bit is not set is nobody's to refuse.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bit_that_is_not_set_passes() {
    let (redis, shop) = seats(Strategy::Bitmap).await;
    shop.held("alice", seat("A-7")).await;
    shop.until_refused("bob", seat("A-7")).await;
    let keys = redis.ask(&["KEYS", "hf:{hall}:slate:*"]).unwrap();
    for bits in keys.items().iter().filter_map(|key| key.text()) {
        redis.ask(&["SETBIT", bits, "6", "0"]).unwrap();
    }
    assert_eq!(shop.gate_says("bob", seat("A-7")).await, None);
}

/// A slate is built anew all the time; what it was made of before must not pile up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bits_of_an_old_build_are_dropped() {
    let (redis, shop) = seats(Strategy::Bitmap).await;
    shop.held("alice", seat("A-7")).await;
    for _ in 0..3 {
        shop.until_refused("bob", seat("A-7")).await;
        // Takes the slate away, and the name of its build.
        let offer = OfferId::new("hall").unwrap();
        shop.submit(Command::Block { offer, units: vec!["A-20".into()] }).await;
        shop.until_refused("bob", seat("A-7")).await;
        let offer = OfferId::new("hall").unwrap();
        shop.submit(Command::Unblock { offer, units: vec!["A-20".into()] }).await;
    }
    shop.until_refused("bob", seat("A-7")).await;
    let strings = redis.ask(&["KEYS", "hf:{hall}:slate:*"]).unwrap();
    assert_eq!(strings.items().len(), 1, "{strings:?}");
}
