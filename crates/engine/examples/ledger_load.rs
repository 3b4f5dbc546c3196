//! Measures the embedded ledger alone: tasks that send commands as fast as they are answered.
//!
//! ```text
//! cargo run --release -p holdfast-engine --example ledger_load -- <mode> [count] [tasks] [dir]
//! ```
//! Modes: `holds` places unkeyed holds, `keyed` the same with an idempotency key each, `refusals` asks for one taken
//! seat, `tables` places holds and then times a clean shutdown, `open` times the opening of a `dir` that an earlier
//! run left behind. Prints rates, latencies and CPU time, which on a busy machine says more than the clock. A `dir`
//! that is named is kept, as a crash would leave it.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use holdfast_domain::{
    Actor, Ask, Command, Currency, HolderId, InventoryDef, Money, Offer, OfferDef, OfferId, Pick,
    seat_plan::{RowDef, SectionDef},
};
use holdfast_engine::{
    clock::SystemClock,
    ledger::{
        Answer, IdempotencyKey, Ledger, Outcome, Reply, Request,
        embedded::{EmbeddedLedger, Settings, Storage},
    },
    mint,
};

const OFFERS: u64 = 20;
const ROW: u64 = 40;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Holds,
    Keyed,
    Refusals,
    Tables,
    Open,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut args = std::env::args().skip(1);
    let mode = match args.next().as_deref() {
        Some("keyed") => Mode::Keyed,
        Some("refusals") => Mode::Refusals,
        Some("tables") => Mode::Tables,
        Some("open") => Mode::Open,
        _ => Mode::Holds,
    };
    let count: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(500_000);
    let tasks: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(256);
    let temporary = std::env::temp_dir().join(format!("ledger-load-{}", std::process::id()));
    let named: Option<PathBuf> = args.next().map(PathBuf::from);
    let dir = named.clone().unwrap_or(temporary);

    let (began, cpu) = (now(), process_cpu());
    let ledger = Arc::new(open(&dir));
    println!("ready after               {:>10.2?}, CPU {:.2?}", began.elapsed(), process_cpu() - cpu);
    if mode != Mode::Open {
        measure(&ledger, mode, count, tasks).await;
    }
    if mode == Mode::Tables {
        let (began, cpu) = (now(), process_cpu());
        ledger.shutdown().await;
        println!("shutdown, tables filled   {:>10.2?}, CPU {:.2?}", began.elapsed(), process_cpu() - cpu);
    }
    drop(ledger);
    let sizes =
        dir.read_dir().expect("the folder").flatten().map(|file| file.metadata().map_or(0, |m| m.len()));
    println!("on disk                   {:>10.1} MB", sizes.sum::<u64>() as f64 / 1e6);
    if named.is_none() {
        std::fs::remove_dir_all(&dir).expect("the folder goes");
    }
}

async fn measure(ledger: &Arc<EmbeddedLedger>, mode: Mode, count: u64, tasks: u64) {
    for n in 0..OFFERS {
        send(ledger, Command::CreateOffer { offer: hall(n, count.div_ceil(OFFERS)) }, None).await;
    }
    if mode == Mode::Refusals {
        send(ledger, place(0, "first"), None).await;
    }
    let (began, cpu, writer) = (now(), process_cpu(), writer_cpu());
    let latencies = run(ledger, mode, count, tasks).await;
    let (elapsed, cpu, writer) = (began.elapsed(), process_cpu() - cpu, writer_cpu() - writer);
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    let each = |cpu: Duration| cpu.as_secs_f64() * 1e6 / count as f64;
    println!("{count} commands, {tasks} tasks  {elapsed:>10.2?}");
    println!("rate                      {:>10.0} /s", count as f64 / elapsed.as_secs_f64());
    println!("CPU per command           {:>10.2} µs, of which the writer {:.2}", each(cpu), each(writer));
    println!("latency p50 p99 max       {:>10} {} {} µs", at(0.5), at(0.99), at(1.0));
}

#[expect(clippy::disallowed_methods, reason = "this program measures")]
fn now() -> Instant {
    Instant::now()
}

fn open(dir: &std::path::Path) -> EmbeddedLedger {
    let words = |outcome: &Outcome| match outcome {
        Outcome::Held { hold, .. } => Answer {
            status: 201,
            body: Bytes::from(format!(
                "{{\"id\":\"{}\",\"holder\":\"{}\",\"state\":\"active\",\"lines\":[],\"amount\":4500}}",
                hold.hold.id, hold.hold.holder
            )),
        },
        _ => Answer { status: 200, body: Bytes::new() },
    };
    let storage = Storage::Dir(dir.to_owned());
    EmbeddedLedger::open(Settings::new(storage, Arc::new(SystemClock::new()), Arc::new(words)))
        .expect("opens")
}

fn hall(n: u64, seats: u64) -> Arc<Offer> {
    let rows = (0..seats.div_ceil(ROW)).map(|row| RowDef::new(format!("R{row}"), ROW as u32));
    let section = SectionDef::new("Stalls", "A", Money::new(4500).expect("a price"), rows);
    let def = OfferDef {
        id: OfferId::new(&format!("hall-{n}")).expect("a name"),
        name: format!("Hall {n}"),
        currency: Currency::new("EUR").expect("a currency"),
        hold_ttl_s: 3600,
        limit_per_holder: None,
        opens_at: None,
        closes_at: None,
        inventory: InventoryDef::Seats(vec![section]),
    };
    Arc::new(Offer::new(def).expect("an offer"))
}

fn place(n: u64, holder: &str) -> Command {
    let (offer, seat) = (n % OFFERS, n / OFFERS);
    let key = format!("R{}-{}", seat / ROW, seat % ROW + 1);
    let offer = OfferId::new(&format!("hall-{offer}")).expect("a name");
    Command::PlaceHold {
        hold: mint::hold_id(),
        holder: HolderId::new(holder).expect("a holder"),
        asks: vec![Ask { offer, pick: Pick::Unit { key, qty: 1 } }],
    }
}

async fn send(ledger: &EmbeddedLedger, command: Command, key: Option<IdempotencyKey>) -> Reply {
    let deadline = now() + Duration::from_secs(30);
    let request = Request { command, actor: Actor::Key("hf_load".into()), key, wording: None, deadline };
    ledger.execute(request).await.expect("the ledger answers")
}

async fn run(ledger: &Arc<EmbeddedLedger>, mode: Mode, count: u64, tasks: u64) -> Vec<u32> {
    let next = Arc::new(AtomicU64::new(0));
    let buyers: Vec<_> =
        (0..tasks).map(|_| tokio::spawn(buy(Arc::clone(ledger), mode, count, Arc::clone(&next)))).collect();
    let mut latencies = Vec::with_capacity(count as usize);
    for buyer in buyers {
        latencies.extend(buyer.await.expect("a buyer finishes"));
    }
    latencies.sort_unstable();
    latencies
}

async fn buy(ledger: Arc<EmbeddedLedger>, mode: Mode, count: u64, next: Arc<AtomicU64>) -> Vec<u32> {
    let mut latencies = Vec::new();
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= count {
            return latencies;
        }
        let key = (mode == Mode::Keyed).then(|| IdempotencyKey {
            scope: "key:hf_load".into(),
            key: format!("{:032x}", mint::random_bits()),
            fingerprint: [7; 32],
        });
        let seat = if mode == Mode::Refusals { 0 } else { n };
        let began = now();
        let reply = send(&ledger, place(seat, &format!("buyer-{n}")), key).await;
        latencies.push(began.elapsed().as_micros() as u32);
        assert_eq!(matches!(reply, Reply::Done(_)), mode != Mode::Refusals, "{reply:?}");
    }
}

/// CPU time of the thread that owns the ledger.
fn writer_cpu() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    stats.filter(|stat| stat.contains("(ledger-writer)")).map(|stat| cpu_of(&stat)).sum()
}

fn process_cpu() -> Duration {
    std::fs::read_to_string("/proc/self/stat").map_or(Duration::ZERO, |stat| cpu_of(&stat))
}

/// User and system time from a line of `/proc/…/stat`, in the kernel's ticks of 10 ms.
fn cpu_of(stat: &str) -> Duration {
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ');
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
