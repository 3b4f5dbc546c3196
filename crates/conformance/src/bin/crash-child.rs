//! Sells until it is killed. `crash-child DIR LIFE BUYERS TURNS` prints each step before it asks and after it heard;
//! with turns to run out of, it ends by itself when all is sold.

use std::{env, io::Write, path::PathBuf, sync::Arc};

use holdfast_conformance::crash::{self, Kind, Step};
use holdfast_engine::ledger::embedded::EmbeddedLedger;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [dir, life, buyers, turns] = arguments.as_slice() else {
        panic!("usage: crash-child DIR LIFE BUYERS TURNS")
    };
    let number = |text: &String| text.parse::<u32>().expect("a whole number");
    let (dir, life, buyers, turns) = (PathBuf::from(dir), number(life), number(buyers), number(turns));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(async {
        let ledger = Arc::new(crash::open(&dir).await.expect("the books open"));
        say("open");
        let buyer = |buyer| tokio::spawn(buy(Arc::clone(&ledger), life, buyer, turns));
        let buyers: Vec<_> = (0..buyers).map(buyer).collect();
        for buyer in buyers {
            buyer.await.expect("a buyer does not panic");
        }
        ledger.shutdown().await;
    });
    say("done");
}

async fn buy(ledger: Arc<EmbeddedLedger>, life: u32, buyer: u32, turns: u32) {
    for turn in 0..turns {
        let hold = Step { life, buyer, turn, kind: Kind::Hold };
        // Every third hold is left alone, so that both sorts are there to be lost.
        if step(&ledger, hold).await && turn % 3 != 2 {
            step(&ledger, Step { kind: Kind::Confirm, ..hold }).await;
        }
    }
}

async fn step(ledger: &EmbeddedLedger, step: Step) -> bool {
    say(&format!("? {step}"));
    let yes = crash::ask(ledger, step).await.expect("the ledger answers");
    say(&format!("{} {step}", if yes { '!' } else { '-' }));
    yes
}

/// One write a line: a kill cuts between lines, not within one.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("the parent listens");
}
