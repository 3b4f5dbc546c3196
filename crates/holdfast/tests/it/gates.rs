//! Nodes behind a gate in Redis: it may make refusals quick, and may vanish without anybody losing a sale.

use std::{
    io::{BufRead, BufReader},
    thread,
};

use holdfast_rigs::Redis;

use crate::support::{Server, database, holdfast, postgres, run};

fn node(ledger: &str, gate: &str, strategy: &str) -> Server {
    let serve = ["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--ledger", ledger];
    Server::start(holdfast(&serve).args(["--gate", gate, "--strategy", strategy]))
}

#[test]
fn every_strategy_behind_a_gate_sells_each_seat_once() {
    let servers: Vec<Redis> = (0..3).map(|_| Redis::start().unwrap()).collect();
    let one = servers[0].url();
    let all = servers.iter().map(Redis::url).collect::<Vec<_>>().join(",");
    for strategy in ["batched", "lua", "decr", "bitmap", "lock", "redlock", "layered"] {
        let ledger = database(&format!("gate_{strategy}"));
        let gate = if strategy == "redlock" { &all } else { &one };
        let nodes = [node(&ledger, gate, strategy).with_hall(), node(&ledger, gate, strategy)];
        let won: usize = thread::scope(|scope| {
            let buyer = |number: usize| {
                let held = nodes[number % 2].hold(&format!("buyer-{number}"), "A-1");
                // A lock that stays busy says so; everybody else is told who was first.
                assert!([201, 409, 503].contains(&held.status), "{strategy}: {}", held.body);
                usize::from(held.status == 201)
            };
            let buyers: Vec<_> = (0..24).map(|number| scope.spawn(move || buyer(number))).collect();
            buyers.into_iter().map(|buyer| buyer.join().unwrap()).sum()
        });
        assert_eq!(won, 1, "{strategy}");
        assert_eq!(nodes[0].hold("late", "A-1").json()["code"], "unit_taken", "{strategy}");
        assert_eq!(nodes[1].hold("other", "A-2").status, 201, "{strategy}");
        run(&["verify", "--ledger", &ledger]).expect(0);
        servers.iter().for_each(|server| drop(server.ask(&["FLUSHALL"]).unwrap()));
    }
}

#[test]
fn a_gate_that_is_gone_costs_no_sale() {
    let mut redis = Redis::start().unwrap();
    let ledger = database("gate_gone");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--ledger", &ledger, "--gate", &redis.url()];
    let (server, errors) = Server::start_with_log(&mut holdfast(&serve));
    // Kept to the end: a server whose log nobody can read any more is another story.
    let mut log = BufReader::new(errors).lines().map(Result::unwrap);
    let mut before_ready = Vec::new();
    let ready =
        log.by_ref().inspect(|line| before_ready.push(line.clone())).find(|line| line.contains("ready"));
    let ready = ready.unwrap();
    let chatter = |line: &String| ["refinery", "tokio_postgres"].iter().any(|of| line.contains(of));
    assert!(!before_ready.iter().any(chatter), "{before_ready:#?}");
    assert!(ready.contains("gate=lua at redis://") && ready.contains("strategy=batched"), "{ready}");
    let server = server.with_hall();
    assert_eq!(server.hold("alice", "A-1").status, 201);
    redis.kill().unwrap();
    assert_eq!(server.hold("bob", "A-2").status, 201);
    assert_eq!(server.hold("bob", "A-1").json()["code"], "unit_taken");
    assert_eq!(server.get("/readyz").status, 200, "a gate that is down only makes things slower");
    let lost = log.find(|line| line.contains("Redis is out of reach")).unwrap();
    assert!(lost.contains("WARN") && lost.contains("server=127.0.0.1:"), "{lost}");
    let metrics = server.get("/metrics").body;
    assert!(
        metrics.contains("holdfast_gate_up{server=\"127.0.0.1:") && metrics.contains("\"} 0\n"),
        "{metrics}"
    );
    assert!(metrics.contains("holdfast_ledger_up 1\n"), "{metrics}");
    redis.start_again_empty().unwrap();
    assert_eq!(server.hold("bob", "A-1").json()["code"], "unit_taken");
    assert_eq!(server.hold("bob", "A-3").status, 201);
    let mut since = Vec::new();
    let back =
        log.by_ref().inspect(|line| since.push(line.clone())).find(|line| line.contains("Redis is back"));
    assert!(back.is_some_and(|line| line.contains("INFO")));
    assert!(!since.iter().any(|line| line.contains("out of reach")), "a loss is said once: {since:#?}");
    let metrics = server.get("/metrics").body;
    let up = metrics.lines().find(|line| line.starts_with("holdfast_gate_up")).unwrap_or_default();
    assert!(up.ends_with(" 1"), "{up}");
    assert!(
        metrics.contains("holdfast_ledger_queue{"),
        "counted from before the ledger was opened: {metrics}"
    );
}

#[test]
fn too_few_servers_for_a_majority_are_refused() {
    let refused = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--strategy",
        "redlock",
        "--gate",
        "redis://:hunter2@127.0.0.1:1",
    ];
    let ledger = database("gate_few");
    let told = run(&[&refused[..], &["--ledger", &ledger]].concat()).expect(2).err;
    assert!(told.contains("a majority needs three") && !told.contains("hunter2"), "{told}");
    let schema = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'holdfast%'";
    assert!(postgres().ask("gate_few", schema).unwrap().is_empty(), "refused before anything is migrated");
    let doctor = ["doctor", "--strategy", "redlock", "--gate", "redis://127.0.0.1:1", "--ledger", &ledger];
    assert!(run(&doctor).expect(2).err.contains("a majority needs three"));
}
