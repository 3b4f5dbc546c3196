//! Redis in every sort of trouble, one after the other, in the middle of one sale on three nodes. Nothing that anybody
//! is told may be other than without Redis, nobody may notice more than a moment, and afterwards the gate is right.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use holdfast_checker::{
    History, Operation, Outcome,
    history::{Answer, Micros, Reason},
};
use holdfast_conformance::gated::Gated;
use holdfast_domain::{Ask, Command, OfferId, Pick};
use holdfast_engine::{
    gate::{Verdict, redis::Strategy},
    ledger::{Ledger as _, Outcome as Came, Reply},
};
use holdfast_rigs::{FaultProxy, Redis};
use parking_lot::Mutex;

use super::{
    as_usual, claiming, exact, gated_nodes,
    histories::{CUSTOMERS, NOTE_EPOCHS, Sale, Whose, epochs},
};
use crate::{
    postgres::{
        goods::{DEADLINE, ask_as, counted, hall, now, place, request, seat, sell},
        house::{House, settings},
    },
    size::seed,
    stalls::Stalls,
};

/// How soon after healing the gate must be right, and how long the sale may stand still.
const SOON: Duration = Duration::from_secs(2);
/// How long Redis is stopped.
const STOPPED: Duration = Duration::from_secs(5);
/// Sales to see before, during and after each trouble.
const SALES: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    KilledAndStartedEmpty,
    Flushed,
    Stopped,
    OutOfMemory,
    ReadOnly,
    /// To a replica that lacks the last of what its master was told. The last trouble: the master is out of use then.
    FailedOver,
}

const EVERY_TROUBLE: [Trouble; 6] = [
    Trouble::KilledAndStartedEmpty,
    Trouble::Flushed,
    Trouble::Stopped,
    Trouble::OutOfMemory,
    Trouble::ReadOnly,
    Trouble::FailedOver,
];

/// From when to when there was trouble, and how long the gate took to be right again.
#[derive(Debug)]
struct Episode {
    trouble: Trouble,
    from: Micros,
    healed: Micros,
    right_after: Duration,
}

impl Episode {
    /// From the first moment of the trouble until every gate was right again.
    fn lasted(&self) -> (Micros, Micros) {
        (self.from, self.healed + self.right_after.as_micros() as Micros)
    }
}

/// Two servers of which the gates know one address.
struct Rig {
    proxy: FaultProxy,
    first: Redis,
    second: Redis,
}

struct Drama<'a> {
    sale: &'a Sale,
    gate: Strategy,
    rig: Rig,
}

/// Two lines of one, which only these tests ask for: one is held throughout, the other stays free.
fn probe() -> Command {
    counted("probe", &[("taken", 1), ("free", 1)], 3600)
}

fn line(key: &str) -> Vec<Ask> {
    let offer = OfferId::new("probe").expect("an id");
    vec![Ask { offer, pick: Pick::Unit { key: key.to_owned(), qty: 1 } }]
}

const LOCK_OF_FREE: &str = "hf:{probe}:lock:1";

fn is_locked(server: &Redis) -> bool {
    server.ask(&["EXISTS", LOCK_OF_FREE]).is_ok_and(|reply| reply.integer() == Some(1))
}

impl Drama<'_> {
    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.sale.crowd.runtime.block_on(future)
    }

    /// Waits for so many more bookings.
    fn sells(&self) {
        let (began, before) = (now(), self.sale.crowd.recorder.booked());
        while self.sale.crowd.recorder.booked() < before + SALES {
            assert!(began.elapsed() < 10 * SOON, "nothing is sold");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether this node's gate refuses what is taken, and nothing else; or, with locks, really has them.
    fn is_right(&self, node: &Gated, server: &Redis) -> bool {
        if !node.gate().degraded().is_empty() {
            return false;
        }
        if self.gate != Strategy::Lock {
            let says = |key| self.wait(node.gate_says("stranger", line(key)));
            return matches!(says("taken"), Verdict::Refuse(_)) && matches!(says("free"), Verdict::Pass(_));
        }
        let verdict = self.wait(node.gate().ask(&request(place("stranger", line("free")), None)));
        let locked = is_locked(server);
        if let Verdict::Pass(pass) = verdict {
            self.wait(node.gate().settle(pass, &Ok(Reply::KeyReused)));
        }
        locked && !is_locked(server)
    }

    /// How long it takes until every node's gate is right.
    fn until_right(&self, server: &Redis) -> Duration {
        let began = now();
        for node in &self.sale.nodes {
            while !self.is_right(node, server) {
                let degraded = node.gate().degraded();
                assert!(began.elapsed() < 5 * SOON, "{}: not right again: {degraded:?}", self.gate);
                thread::sleep(Duration::from_millis(2));
            }
        }
        began.elapsed()
    }

    fn strike(&mut self, trouble: Trouble) -> Episode {
        let from = self.sale.crowd.clock.now_us();
        match trouble {
            Trouble::KilledAndStartedEmpty => {
                self.rig.first.kill().expect("killed");
                self.sells();
                self.rig.first.start_again_empty().expect("started again");
            }
            Trouble::Flushed => drop(self.rig.first.ask(&["FLUSHALL"]).expect("flushed")),
            Trouble::Stopped => {
                let began = now();
                self.rig.first.pause().expect("stopped");
                while began.elapsed() < STOPPED {
                    self.sells();
                }
                self.rig.first.resume().expect("resumed");
            }
            Trouble::OutOfMemory => {
                self.rig.first.config_set("maxmemory", "1").expect("full");
                self.sells();
                self.rig.first.config_set("maxmemory", "0").expect("room again");
            }
            Trouble::ReadOnly => {
                self.rig.first.replica_of(&self.rig.second).expect("a replica");
                self.sells();
                self.rig.first.replica_of_none().expect("a master");
            }
            Trouble::FailedOver => self.fail_over(),
        }
        let healed = self.sale.crowd.clock.now_us();
        let server = if trouble == Trouble::FailedOver { &self.rig.second } else { &self.rig.first };
        Episode { trouble, from, healed, right_after: self.until_right(server) }
    }

    /// The replica is cut off while the sale goes on, and then everybody is led to it. Whoever had a lock has it still,
    /// and so has somebody else: the ledger must give the unit to one of them.
    fn fail_over(&self) {
        let Rig { proxy, first, second } = &self.rig;
        second.replica_of(first).expect("a replica");
        second.replica_of_none().expect("cut off");
        self.sells();
        if self.gate != Strategy::Lock {
            return proxy.lead_to(second.address());
        }
        let nodes = &self.sale.nodes;
        // On a busy machine a gate may step aside once: then nothing is locked.
        let lock = |node: &Gated, holder, server: &Redis| {
            let began = now();
            loop {
                let request = request(place(holder, line("free")), None);
                let verdict = self.wait(node.gate().ask(&request));
                match verdict {
                    Verdict::Pass(pass) if is_locked(server) => return (request, pass),
                    Verdict::Pass(pass) => self.wait(node.gate().settle(pass, &Ok(Reply::KeyReused))),
                    other => panic!("{other:?}"),
                }
                assert!(began.elapsed() < 5 * SOON, "{holder} gets no lock");
            }
        };
        let one = lock(&nodes[0], "one", first);
        assert!(!is_locked(second), "the first has the lock where the replica has not");
        proxy.lead_to(second.address());
        self.until_right(second);
        // Two have the lock at once.
        let other = lock(&nodes[1], "other", second);
        let both = [(&nodes[0], one), (&nodes[1], other)].map(|(node, (request, pass))| async move {
            let said = node.books().execute(request).await;
            node.gate().settle(pass, &said).await;
            said.expect("an answer")
        });
        let told = self.wait(futures::future::join_all(both));
        let held: Vec<_> = told.iter().filter_map(crate::postgres::goods::held).collect();
        println!("lock: two holders at once, {} of them has it", held.len());
        assert_eq!(held.len(), 1, "{told:?}");
        let release = request(Command::ReleaseHold { hold: held[0] }, None);
        let released = self.wait(nodes[2].execute(release)).expect("an answer");
        assert!(matches!(released, Reply::Done(Came::Released(_))), "{released:?}");
    }
}

fn is_booking(operation: &Operation) -> bool {
    matches!(operation.outcome, Outcome::Ok(Answer::Confirmed { .. }))
}

/// What a caller would see as a 5xx.
fn is_error(operation: &Operation) -> bool {
    match &operation.outcome {
        Outcome::Unknown => true,
        Outcome::Fail(Reason::Other(code)) => matches!(code.as_str(), "overloaded" | "unavailable"),
        _ => false,
    }
}

/// The longest time from one booking to the next.
fn longest_gap(history: &History) -> Duration {
    let mut ends: Vec<_> = history.operations.iter().filter(|op| is_booking(op)).map(|op| op.end).collect();
    ends.sort_unstable();
    let gap = ends.windows(2).map(|two| two[1] - two[0]).max().expect("bookings");
    Duration::from_micros(gap as u64)
}

fn tell(gate: Strategy, history: &History, episodes: &[Episode]) {
    for Episode { trouble, from, healed, right_after } in episodes {
        let during = |op: &&Operation| op.end >= *from && op.start <= *healed;
        let (all, booked, errors) = history.operations.iter().filter(during).fold((0, 0, 0), |sums, op| {
            (sums.0 + 1, sums.1 + u32::from(is_booking(op)), sums.2 + u32::from(is_error(op)))
        });
        let lasted = Duration::from_micros((healed - from) as u64);
        println!(
            "{gate}, {trouble:?}: lasted {lasted:.1?}; {all} answers, {booked} bookings, {errors} errors; right again \
             after {right_after:.0?}"
        );
    }
}

/// More claimed than there is, by PostgreSQL's own rows.
const OVERSOLD: &str = "SELECT count(*) FROM (
    SELECT 1 FROM holdfast.claims c JOIN holdfast.units u USING (offer_id, unit_no)
    GROUP BY offer_id, unit_no, u.capacity, u.held, u.booked
    HAVING sum(c.qty) > u.capacity OR sum(c.qty) <> u.held + u.booked) wrong";

/// What is measured here is how soon things happen: these sales do not slow each other down.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn show(gate: Strategy) {
    let _alone = ONE_AT_A_TIME.lock();
    let stalls = Stalls::watch();
    let (house, seed) = (House::quick(), seed(&format!("a sale behind {gate} with Redis in trouble")));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime for the proxy");
    let [first, second] = [(); 2].map(|()| Redis::start().expect("a Redis"));
    let proxy = runtime.block_on(FaultProxy::start(first.address())).expect("a proxy");
    let address = format!("redis://{}", proxy.address());
    let sale = Sale::open(&house, gate, &address, Whose::PostgreSql, as_usual());
    sale.rows(&house, NOTE_EPOCHS);
    let mut drama = Drama { sale: &sale, gate, rig: Rig { proxy, first, second } };
    for command in [probe(), place("owner", line("taken"))] {
        let reply = drama.wait(sale.nodes[0].execute(request(command, None)));
        assert!(matches!(reply, Ok(Reply::Done(_))), "{reply:?}");
    }
    let over = AtomicBool::new(false);
    let mut episodes = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| sale.crowd.run_while(CUSTOMERS, seed, &|| !over.load(Ordering::Relaxed)));
        // Whatever goes wrong here, the crowd must be sent home, or it would be waited for.
        let _sent_home = SentHome(&over);
        drama.until_right(&drama.rig.first);
        for trouble in EVERY_TROUBLE {
            drama.sells();
            episodes.push(drama.strike(trouble));
        }
        drama.sells();
    });
    let troubles: Vec<_> = episodes.iter().map(Episode::lasted).chain(epochs(&sale, &house)).collect();
    let what = format!("{gate} with Redis in trouble");
    tell(gate, &sale.crowd.recorder.history(None), &episodes);
    let history = sale.judged_but_for(&house, &what, seed, &troubles);
    let operations = history.operations.len();
    let errors = history.operations.iter().filter(|op| is_error(op)).count();
    let gap = longest_gap(&history);
    println!("{gate}: {errors} errors of {operations}; the longest time without a booking {gap:.0?}");
    assert_eq!(episodes.len(), EVERY_TROUBLE.len());
    assert!(errors * 100 < operations, "{gate}: {errors} errors of {operations}");
    let soon = SOON + stalls.longest();
    assert!(gap <= soon, "{gate}: {gap:?} without a booking");
    for Episode { trouble, right_after, .. } in &episodes {
        assert!(*right_after <= soon, "{gate}, {trouble:?}: right again after {right_after:?}");
    }
    assert_eq!(sale.rows(&house, OVERSOLD), "0", "{gate}: sold more than there is");
}

struct SentHome<'a>(&'a AtomicBool);

impl Drop for SentHome<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn redis_in_trouble_behind_lua_costs_speed_only() {
    show(Strategy::Lua);
}

#[test]
fn redis_in_trouble_behind_decr_costs_speed_only() {
    show(Strategy::Decr);
}

#[test]
fn redis_in_trouble_behind_lock_costs_speed_only() {
    show(Strategy::Lock);
}

/// It is PostgreSQL that says nothing, and the gate that needs it for what it says: nobody waits for longer than for the
/// ledger itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_postgresql_keeps_nobody_waiting_at_the_gate() {
    let (house, redis) = tokio::task::block_in_place(|| (House::quick(), Redis::start().expect("a Redis")));
    let books = settings(&house.emptied("books"), claiming(Strategy::Lua));
    // Whoever asks reads the offer anew, and has a key that the books must be asked about.
    let node = gated_nodes(books, 1, Strategy::Lua, &redis.url(), exact()).await.remove(0);
    sell(&*node, hall(600)).await;
    let alice = ask_as(&*node, "alice", place("alice", vec![seat("A-1")])).await;
    assert!(matches!(alice, Ok(Reply::Done(_))), "{alice:?}");
    let began = now();
    while !matches!(node.gate_says("bob", vec![seat("A-1")]).await, Verdict::Refuse(_)) {
        assert!(began.elapsed() < 5 * SOON, "the gate does not wake up");
    }
    let stalls = Stalls::watch();
    house.server.pause().expect("paused");
    let began = now();
    let keys: Vec<_> = (0..20).map(|n| format!("k{n}")).collect();
    let asks = keys.iter().map(|key| ask_as(&*node, key, place("bob", vec![seat("A-1")])));
    let told = futures::future::join_all(asks).await;
    let waited = began.elapsed();
    house.server.resume().expect("resumed");
    println!("all answered within {waited:?}");
    assert!(told.iter().all(Result::is_err), "{told:?}");
    assert!(waited < DEADLINE + Duration::from_millis(1500) + stalls.longest(), "{waited:?}");
}
