//! The write-ahead log stays short while the sale goes on.

use std::fs;

use holdfast_domain::{Ask, Command, Pick};

use super::bench::{Bench, offer_id, place, stock};
use crate::ledger::embedded::{Limits, Storage, verify};

#[tokio::test]
async fn a_log_that_grew_long_is_started_anew_during_the_sale() {
    let dir = tempfile::tempdir().unwrap();
    // Small commits, each looked after by upkeep, until the log has been longer than it may be.
    let bench = Bench::with(Storage::Dir(dir.path().to_owned()), Limits::default()).open_for_sale().await;
    bench.done(Command::CreateOffer { offer: stock("drop", 1_000_000) }).await;
    let log_bytes = || fs::metadata(dir.path().join("holdfast.db-wal")).unwrap().len();
    let file_bytes = || fs::metadata(dir.path().join("holdfast.db")).unwrap().len();
    let before = file_bytes();
    let mut n = 0;
    while file_bytes() == before {
        let asks = (0..20).map(|_| {
            n += 1;
            let ask = Ask { offer: offer_id("drop"), pick: Pick::Unit { key: "GA".into(), qty: 1 } };
            bench.send(place(n, &format!("buyer-{n}"), vec![ask]))
        });
        let asks: Vec<_> = asks.collect();
        for ask in asks {
            ask.await;
        }
        assert!(log_bytes() < 200_000_000, "the log only grows");
    }
    bench.ledger.shutdown().await;
    let report = verify(dir.path()).unwrap();
    assert!(report.is_clean() && report.entries == n as u64 + 3, "{report:?}");
}
