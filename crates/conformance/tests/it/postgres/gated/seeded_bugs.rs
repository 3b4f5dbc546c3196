//! Mistakes that shops with Redis make, made in the gates' own scripts or beside them, on real servers: each is found,
//! by the checker where it can be seen in what customers are told, and what was not broken is not blamed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use holdfast_checker::{
    Anomaly, Call, Claim, Evidence, History, Operation, Outcome, Verdict,
    history::{Answer, Micros, Reason, UnitInfo},
    judge,
};
use holdfast_conformance::{
    gated::{Before, Gated, IsWhole, Said},
    histories::tolerate_the_slowest_commit,
    live::{Live, postgres_without_sweep},
    story::Story,
    story_start,
};
use holdfast_domain::Command;
use holdfast_engine::{
    gate::{Pass, Verdict as Told, redis::Strategy},
    ledger::{Ledger as _, LedgerError, Outcome as Came, Reply},
};
use holdfast_rigs::{FaultProxy, Mode, Redis};
use parking_lot::Mutex;
use tokio::{
    runtime::Runtime,
    task::{JoinHandle, JoinSet},
};
use tokio_postgres::{Client, NoTls};

use super::{
    claiming, exact,
    forger::{Forger, Mistake},
    gated_nodes,
    histories::{CUSTOMERS, Sale, Whose, without_stale_refusals},
    unhurried,
};
use crate::postgres::{
    goods::{confirm, hall, held, now, place, request, seat, sell},
    house::{House, settings},
};

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime")
}

/// What was found in a run, in words; nothing if nothing was.
type Found = Option<String>;

/// The mistake is found, and without it nothing is.
fn must_be_found(bug: &str, mistakes: &[Mistake], look: impl Fn(&[Mistake]) -> Found) {
    assert_eq!(look(&[]), None, "{bug}: found without having been made");
    let found = look(mistakes).unwrap_or_else(|| panic!("{bug}: not found"));
    println!("{bug}: {}", found.lines().take(2).collect::<Vec<_>>().join(" "));
}

fn wrongs(verdict: &Verdict, history: &History, of: &[Anomaly]) -> Found {
    assert!(!matches!(verdict, Verdict::Unknown(..)), "{verdict}");
    let named = of.iter().any(|anomaly| verdict.shows(*anomaly));
    assert!(verdict.is_valid() || named, "another mistake than the one made: {}", verdict.tell(history));
    (!verdict.is_valid()).then(|| verdict.tell(history))
}

/// A crowd before three nodes, as in the histories, and what the checker says of what they were told.
fn crowd_before(gate: Strategy) -> impl Fn(&[Mistake]) -> Found {
    move |mistakes| {
        let (house, redis, runtime) = (House::quick(), Redis::start().expect("a Redis"), runtime());
        let forger = runtime.block_on(Forger::before(&redis, mistakes));
        let sale = Sale::open(&house, gate, &forger.url(), Whose::Fast, unhurried());
        sale.crowd.run_for(Duration::from_secs(5), CUSTOMERS, 100, 7);
        let mut history = sale.crowd.history().expect("the ending");
        tolerate_the_slowest_commit(&mut history);
        let (history, _) = without_stale_refusals(history, &[]);
        // A false refusal that only the reads around it give away is told as an order that does not exist.
        let refusals = [Anomaly::FalseRefusal, Anomaly::NotLinearizable];
        wrongs(&judge(&history, Evidence::ALL), &history, &refusals)
    }
}

#[test]
fn an_end_that_is_not_wiped_out_is_found() {
    must_be_found(
        "what was given back stays on the slate",
        &[("  erase(ARGV[i])\n", "")],
        crowd_before(Strategy::Lua),
    );
}

#[test]
fn a_slate_without_expiry_is_found() {
    must_be_found(
        "what has expired stays on the slate",
        &[("for _, hold in ipairs(ended) do erase(hold) end", "")],
        crowd_before(Strategy::Lua),
    );
}

/// Taken by whoever asks, refused when too much was taken, and never put back: stock that nobody has is sold out.
#[test]
fn missing_compensation_after_decr_is_found() {
    let never_put_back =
        ("local function give_back(hold)\n", "local function give_back(hold)\n  if true then return end\n");
    let refuse_at_once = (
        "return full_of(claim.units, cap) or { WAIT }",
        "return full_of(claim.units, cap) or { FULL, claim.units[1], 0, 1 }",
    );
    must_be_found(
        "decr without compensation",
        &[never_put_back, refuse_at_once],
        crowd_before(Strategy::Decr),
    );
}

/// A story of its own, told behind the gate.
fn story_behind(gate: Strategy, text: &'static str) -> impl Fn(&[Mistake]) -> Found {
    move |mistakes| {
        let (house, redis, runtime) = (House::quick(), Redis::start().expect("a Redis"), runtime());
        let forger = runtime.block_on(Forger::before(&redis, mistakes));
        let (url, addresses) = (house.emptied("story"), forger.url());
        let looked_at = Arc::new(redis);
        let mut subject = Live::open_awake(
            story_start(),
            Box::new(move |runtime, clock| {
                let books = postgres_without_sweep(&url, claiming(gate), Some(true), runtime, clock)?;
                let redis = Arc::clone(&looked_at);
                let awake: IsWhole = Arc::new(move |offer| {
                    let whole = redis.ask(&["HEXISTS", &format!("hf:{{{offer}}}:slate"), "mark"]);
                    whole.is_ok_and(|whole| whole.integer() == Some(1))
                });
                let before = Before {
                    strategy: gate,
                    addresses: addresses.clone(),
                    settings: exact(),
                    clock: clock.clone(),
                    awake: Some(awake),
                    said: Arc::new(Said::default()),
                };
                let _inside = runtime.enter();
                Ok(Box::new(Gated::open(Arc::new(books), before).expect("the gate opens")))
            }),
        );
        let story = Story::parse("seeded.story", text).expect("a story");
        story.run(&mut subject).err().map(|fault| fault.to_string())
    }
}

#[test]
fn a_gate_that_hides_ones_own_hold_is_found() {
    const OWN: &str = "if redis.call('HEXISTS', slate, 'o:' .. claim.units[i] .. ':' .. claim.holder) == 1 then return { UNJUDGED } end";
    must_be_found(
        "refuses what the holder has already",
        &[(OWN, ""), ("if own[i] then found[(i - 1) % #holders + 1] = true end", "")],
        story_behind(
            Strategy::Lua,
            "offer hall seats A:2\nhold h1 alice A-1 -> held\nhold h2 bob A-1 -> unit_taken\nhold h3 alice A-1 -> held\n",
        ),
    );
}

/// A crowd that asks without names is told whose the seat is, and whoever that is must not be refused with the rest.
#[test]
fn a_crowd_that_hides_ones_own_hold_is_found() {
    let look = |mistakes: &[Mistake]| {
        let (house, redis, runtime) = (House::quick(), Redis::start().expect("a Redis"), runtime());
        runtime.block_on(async {
            let forger = Forger::before(&redis, mistakes).await;
            let books = settings(&house.emptied("books"), claiming(Strategy::Lua));
            let node = gated_nodes(books, 1, Strategy::Lua, &forger.url(), exact()).await.remove(0);
            sell(&*node, hall(600)).await;
            until_refused(&node, "A-1").await;
            let mut refused = 0;
            for _ in 0..5 {
                let mut crowd = JoinSet::new();
                for n in 0..40 {
                    let (node, own) = (Arc::clone(&node), n == 20);
                    let holder = if own { "early-bird".to_owned() } else { format!("buyer-{n}") };
                    crowd.spawn(async move {
                        let told = node.gate_says(&holder, vec![seat("A-1")]).await;
                        own && matches!(told, Told::Refuse(_))
                    });
                }
                refused += crowd.join_all().await.into_iter().filter(|&hidden| hidden).count();
            }
            (refused > 0).then(|| format!("the holder of a seat was refused it {refused} times of 5"))
        })
    };
    must_be_found("a crowd is told the same, whoever asks", &[("owners[#owners + 1] = owner", "")], look);
}

/// The news that a booking was cancelled arrives three times, as after a timeout, and is counted three times: then there
/// is less on the slate than is claimed, and the gate lets people through who should hear no. The ledger tells them, so
/// nothing is sold twice; but a gate that does not refuse is none.
#[test]
fn a_blind_count_on_release_is_found() {
    let look = |mistakes: &[Mistake]| {
        let (house, redis, runtime) = (House::quick(), Redis::start().expect("a Redis"), runtime());
        runtime.block_on(async {
            let forger = Forger::before(&redis, mistakes).await;
            let books = settings(&house.emptied("books"), claiming(Strategy::Lua));
            let node = gated_nodes(books, 1, Strategy::Lua, &forger.url(), exact()).await.remove(0);
            sell(&*node, hall(600)).await;
            until_refused(&node, "J-20").await;
            let ask = |command: Command| {
                let node = Arc::clone(&node);
                async move { node.execute(request(command, None)).await }
            };
            let hold =
                held(&ask(place("alice", vec![seat("A-1")])).await.expect("an answer")).expect("a hold");
            let booked = ask(confirm(hold)).await;
            let Ok(Reply::Done(Came::Confirmed(view))) = booked else { panic!("{booked:?}") };
            let cancelled = ask(Command::Cancel { booking: view.booking.id }).await;
            for _ in 0..2 {
                node.gate().settle(Pass::freely(), &cancelled).await;
            }
            assert!(held(&ask(place("bob", vec![seat("A-1")])).await.expect("an answer")).is_some());
            let told = node.gate_says("carol", vec![seat("A-1")]).await;
            (!matches!(told, Told::Refuse(_))).then(|| "a seat that is held is not refused".to_owned())
        })
    };
    must_be_found("release not idempotent", &[("    redis.call('HDEL', slate, 'x:' .. hold)\n", "")], look);
}

/// Until the gate is awake: it refuses a seat that somebody has.
async fn until_refused(node: &Gated, key: &str) {
    let reply = node.execute(request(place("early-bird", vec![seat(key)]), None)).await;
    assert!(matches!(reply, Ok(Reply::Done(_))), "{reply:?}");
    until_gate_refuses(node, key).await;
}

async fn until_gate_refuses(node: &Gated, key: &str) {
    let began = now();
    while !matches!(node.gate_says("stranger", vec![seat(key)]).await, Told::Refuse(_)) {
        assert!(began.elapsed() < Duration::from_secs(5), "the gate does not wake up");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// One node cannot tell Redis of a release. The epoch ends, and the other node must stop believing the slate. Nothing is
/// checked on the side here: that would find the mistake too, now and then.
#[test]
fn a_stale_epoch_is_found() {
    let look = |mistakes: &[Mistake]| {
        let (house, redis, runtime) = (House::quick(), Redis::start().expect("a Redis"), runtime());
        runtime.block_on(async {
            let forger = Forger::before(&redis, mistakes).await;
            let proxy = FaultProxy::start(redis.address()).await.expect("a proxy");
            let books = settings(&house.emptied("books"), claiming(Strategy::Lua));
            let near = gated_nodes(books.clone(), 1, Strategy::Lua, &forger.url(), exact()).await.remove(0);
            let cut_off = format!("redis://{}", proxy.address());
            let far = gated_nodes(books, 1, Strategy::Lua, &cut_off, exact()).await.remove(0);
            sell(&*near, hall(600)).await;
            until_refused(&near, "J-20").await;
            until_refused(&far, "J-19").await;
            let ask = |node: &Arc<Gated>, command: Command| {
                let node = Arc::clone(node);
                async move { node.execute(request(command, None)).await.expect("an answer") }
            };
            let Reply::Done(Came::Held { hold, .. }) = ask(&far, place("alice", vec![seat("A-1")])).await
            else {
                panic!("not held");
            };
            until_gate_refuses(&near, "A-1").await;
            proxy.set(Mode::Close);
            ask(&far, Command::ReleaseHold { hold: hold.hold.id }).await;
            let released = now();
            // The bound that is promised for this: one look at the epoch, and two seconds at most.
            loop {
                match ask(&near, place("bob", vec![seat("A-1")])).await {
                    Reply::Done(_) => return None,
                    Reply::Refused(_) if released.elapsed() < Duration::from_secs(2) => {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    Reply::Refused(refusal) => {
                        return Some(format!("2 s after the release: {}", refusal.code()));
                    }
                    other => panic!("{other:?}"),
                }
            }
        })
    };
    must_be_found("an old epoch is believed", &[("if about[1] ~= mark then", "if not about[1] then")], look);
}

/// A shop that trusts its locks: it reads who has the seat, and then writes.
struct Trusting {
    gate: Arc<Gated>,
    clients: Vec<Client>,
    began: std::time::Instant,
    operations: Mutex<Vec<Operation>>,
    fenced: bool,
}

const SEATS: u32 = 40;
const BUYERS: u32 = 6;

impl Trusting {
    fn us(&self) -> Micros {
        self.began.elapsed().as_micros() as Micros
    }

    async fn buy(&self, buyer: u32, no: u32) {
        let start = self.us();
        let command = place(&format!("buyer-{buyer}"), vec![seat(&name(no))]);
        let outcome = match self.gate.gate().ask(&request(command, None)).await {
            Told::Pass(pass) => {
                let got = self.take(&self.clients[buyer as usize], buyer, no).await;
                self.gate.gate().settle(pass, &Err(LedgerError::Overloaded)).await;
                match got {
                    true => self.held(buyer, no),
                    false => Outcome::Fail(Reason::Taken(vec![no])),
                }
            }
            _ => Outcome::Fail(Reason::Other("overloaded".to_owned())),
        };
        let hold = Some(no * BUYERS + buyer);
        let call = Call::Hold { holder: buyer, claims: vec![Claim { unit: no, qty: 1 }], key: None, hold };
        let operation = Operation { process: buyer, start, end: self.us(), call, outcome, version: None };
        self.operations.lock().push(operation);
    }

    fn held(&self, buyer: u32, no: u32) -> Outcome {
        let (claims, expires_at) = (vec![Claim { unit: no, qty: 1 }], Micros::MAX / 2);
        Outcome::Ok(Answer::Held {
            hold: no * BUYERS + buyer,
            holder: buyer,
            claims,
            expires_at,
            again: false,
        })
    }

    /// With a fence, only if nobody has written since it was read.
    async fn take(&self, client: &Client, buyer: u32, no: u32) -> bool {
        let seen = client.query_one(&format!("SELECT holder, fence FROM seats WHERE no = {no}"), &[]).await;
        let seen = seen.expect("a row");
        if seen.get::<_, Option<i64>>(0).is_some() {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        let fence = seen.get::<_, i64>(1);
        let guard = if self.fenced { format!(" AND fence = {fence}") } else { String::new() };
        let write = format!("UPDATE seats SET holder = {buyer}, fence = fence + 1 WHERE no = {no}{guard}");
        client.execute(&write, &[]).await.expect("an answer") == 1
    }

    fn history(&self) -> History {
        let units = (0..SEATS).map(|no| UnitInfo { name: name(no), capacity: 1 }).collect();
        let mut operations = self.operations.lock().clone();
        operations.sort_by_key(|operation| (operation.start, operation.end));
        History { tolerance_us: 0, units, operations, ending: None }
    }
}

fn name(no: u32) -> String {
    format!("{}-{}", char::from(b'A' + (no / 20) as u8), no % 20 + 1)
}

/// Everybody goes for every seat, under the real lock. What the checker says of what they were told.
fn trusting_shop(mistakes: &[Mistake], fenced: bool, forgets: bool) -> Found {
    let (house, redis, runtime) = (House::quick(), Arc::new(Redis::start().expect("a Redis")), runtime());
    runtime.block_on(async {
        let forger = Forger::before(&redis, mistakes).await;
        let url = house.emptied("books");
        let books = settings(&url, claiming(Strategy::Lock));
        // On a busy machine a gate steps aside, and whoever trusts it is alone: that is not the mistake looked for here.
        let gate = gated_nodes(books, 1, Strategy::Lock, &forger.url(), exact()).await.remove(0);
        sell(&*gate, hall(600)).await;
        let mut clients = Vec::new();
        for _ in 0..BUYERS {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
            tokio::spawn(connection);
            clients.push(client);
        }
        let table = format!(
            "CREATE TABLE seats (no bigint PRIMARY KEY, holder bigint, fence bigint NOT NULL DEFAULT 0);
             INSERT INTO seats SELECT generate_series(0, {})",
            SEATS - 1
        );
        clients[0].batch_execute(&table).await.expect("a table");
        let began = now();
        while !gate.gate().degraded().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(5), "the gate does not wake up");
            gate.gate_says("waker", vec![seat("J-20")]).await;
        }
        let shop = Arc::new(Trusting { gate, clients, began, operations: Mutex::default(), fenced });
        let over = Arc::new(AtomicBool::new(false));
        let forgetting = forgets.then(|| forget_again_and_again(&redis, &over));
        let mut buyers = JoinSet::new();
        for buyer in 0..BUYERS {
            let shop = Arc::clone(&shop);
            buyers.spawn(async move {
                for no in 0..SEATS {
                    shop.buy(buyer, no).await;
                }
            });
        }
        buyers.join_all().await;
        over.store(true, Ordering::Relaxed);
        if let Some(forgetting) = forgetting {
            forgetting.await.expect("no panic");
        }
        let history = shop.history();
        let evidence = Evidence { win: true, conflict: true, expiry: false };
        let sold_twice = [Anomaly::DoubleSale, Anomaly::Oversell, Anomaly::StolenHold];
        wrongs(&judge(&history, evidence), &history, &sold_twice)
    })
}

/// Whoever had a lock goes on, and somebody else gets it: as after a failover to a replica that lags.
fn forget_again_and_again(redis: &Arc<Redis>, over: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (redis, over) = (Arc::clone(redis), Arc::clone(over));
    tokio::task::spawn_blocking(move || {
        while !over.load(Ordering::Relaxed) {
            redis.ask(&["FLUSHALL"]).expect("it forgets");
        }
    })
}

#[test]
fn a_lock_that_anybody_can_release_is_found() {
    const OWN: &str = "if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end";
    must_be_found("release without owner check", &[(OWN, "redis.call('DEL', KEYS[i])")], |mistakes| {
        trusting_shop(mistakes, false, false)
    });
}

/// The lock itself is as it should be; whoever trusts it sells twice as soon as Redis forgets.
#[test]
fn a_lock_without_a_fence_is_found() {
    assert_eq!(trusting_shop(&[], true, true), None, "fenced, it sells once whatever Redis forgets");
    let found = trusting_shop(&[], false, true).expect("a lock without a fence");
    println!("a lock without a fence: {}", found.lines().take(2).collect::<Vec<_>>().join(" "));
}

/// Two orders of two seats in opposite order, each keeping the first lock while it waits for the second.
#[test]
fn locks_in_the_order_asked_are_found() {
    let redis = Redis::start().expect("a Redis");
    let free = |key: &str| {
        let taken = redis.ask(&["SET", key, "somebody", "NX", "PX", "5000"]).expect("an answer");
        taken.text() == Some("OK")
    };
    let stuck = |orders: [[&str; 2]; 2]| {
        redis.ask(&["FLUSHALL"]).expect("it forgets");
        let [one, other] = orders;
        // Each takes what it wants first, and then asks for the second for as long as it has patience.
        let first = [free(one[0]), free(other[0])];
        let second = [first[0] && free(one[1]), first[1] && free(other[1])];
        !second[0] && !second[1]
    };
    assert!(stuck([["a", "b"], ["b", "a"]]), "in the order asked they wait for each other");
    assert!(!stuck([["a", "b"], ["a", "b"]]), "in one order somebody gets through");
}
