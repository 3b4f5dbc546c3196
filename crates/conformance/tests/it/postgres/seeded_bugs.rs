//! Mistakes that shops on PostgreSQL make, in plain SQL on the real server: each sells twice, hangs or forgets when it is
//! made, and does not when it is not. What the ledger's own tests look for is therefore there to be seen.
//!
//! A small shop of its own, without the ledger's constraints, and two clerks whose steps are interleaved by hand: the
//! same mistake shows every time.

use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use super::{goods::now, house::House};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    ReadsThenWrites,
    SkipsTheRecheckAfterTheLock,
    WritesWithoutAFence,
    LocksInTheOrderAsked,
    KeepsHalfOfAnOrder,
    KeepsTheKeyAfterTheCommit,
    WritesTheJournalAfterTheCommit,
    RefusesOnAnOldCopy,
}

const EVERY_BUG: [Bug; 8] = [
    Bug::ReadsThenWrites,
    Bug::SkipsTheRecheckAfterTheLock,
    Bug::WritesWithoutAFence,
    Bug::LocksInTheOrderAsked,
    Bug::KeepsHalfOfAnOrder,
    Bug::KeepsTheKeyAfterTheCommit,
    Bug::WritesTheJournalAfterTheCommit,
    Bug::RefusesOnAnOldCopy,
];

struct Shop {
    alice: Client,
    bob: Client,
}

async fn somebody(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.expect(sql);
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.expect(sql).get(0)
}

/// Whether the statement changed a row.
async fn changed(client: &Client, sql: &str) -> bool {
    client.execute(sql, &[]).await.expect(sql) == 1
}

const FREE: &str = "SELECT count(*) FROM seats WHERE no = 1 AND holder IS NULL";

impl Shop {
    /// Two seats, nothing sold.
    async fn fresh(&self) {
        let tables = "DROP TABLE IF EXISTS seats, keys, journal;
            CREATE TABLE seats (no bigint PRIMARY KEY, holder text, fence bigint NOT NULL DEFAULT 0);
            CREATE TABLE keys (key text PRIMARY KEY);
            CREATE TABLE journal (no bigint, holder text);
            INSERT INTO seats VALUES (1), (2)";
        run(&self.alice, tables).await;
    }

    /// Whether something went wrong, with the mistake made or not.
    async fn goes_wrong(&self, bug: Bug, made: bool) -> bool {
        self.fresh().await;
        match bug {
            Bug::ReadsThenWrites => self.read_then_write(made).await,
            Bug::SkipsTheRecheckAfterTheLock => self.lock_and_look(made).await,
            Bug::WritesWithoutAFence => self.write_late(made).await,
            Bug::LocksInTheOrderAsked => self.lock_two(made).await,
            Bug::KeepsHalfOfAnOrder => self.order_two(made).await,
            Bug::KeepsTheKeyAfterTheCommit => self.ask_again(made).await,
            Bug::WritesTheJournalAfterTheCommit => self.crash_before_the_journal(made).await,
            Bug::RefusesOnAnOldCopy => self.refuse(made).await,
        }
    }

    async fn read_then_write(&self, made: bool) -> bool {
        let guard = if made { "" } else { " AND holder IS NULL" };
        let (one, other) = (number(&self.alice, FREE).await == 1, number(&self.bob, FREE).await == 1);
        let take = |who: &str| format!("UPDATE seats SET holder = '{who}' WHERE no = 1{guard}");
        let alice = one && changed(&self.alice, &take("alice")).await;
        let bob = other && changed(&self.bob, &take("bob")).await;
        alice && bob
    }

    async fn lock_and_look(&self, made: bool) -> bool {
        let before = number(&self.bob, FREE).await == 1;
        run(&self.alice, "BEGIN; UPDATE seats SET holder = 'alice' WHERE no = 1").await;
        let bob = async {
            run(&self.bob, "BEGIN; SELECT 1 FROM seats WHERE no = 1 FOR UPDATE").await;
            let free = if made { before } else { number(&self.bob, FREE).await == 1 };
            let got = free && changed(&self.bob, "UPDATE seats SET holder = 'bob' WHERE no = 1").await;
            run(&self.bob, "COMMIT").await;
            got
        };
        let (bob, ()) = tokio::join!(bob, async { run(&self.alice, "COMMIT").await });
        bob
    }

    /// Alice's lease ran out while she was busy, and Bob took the seat. Then she writes.
    async fn write_late(&self, made: bool) -> bool {
        let seen = number(&self.alice, "SELECT fence FROM seats WHERE no = 1").await;
        run(&self.bob, "UPDATE seats SET holder = 'bob', fence = fence + 1 WHERE no = 1").await;
        let guard = if made { String::new() } else { format!(" AND fence = {seen}") };
        changed(
            &self.alice,
            &format!("UPDATE seats SET holder = 'alice', fence = fence + 1 WHERE no = 1{guard}"),
        )
        .await
    }

    async fn lock_two(&self, made: bool) -> bool {
        let lock = |no: i64| format!("SELECT 1 FROM seats WHERE no = {no} FOR UPDATE");
        let begin = "BEGIN; SET LOCAL deadlock_timeout = '50ms'; SET LOCAL lock_timeout = '5s'";
        run(&self.alice, begin).await;
        run(&self.bob, begin).await;
        run(&self.alice, &lock(1)).await;
        // In the order asked, Bob can have his first lock before Alice asks for her second.
        let order: &[i64] = if made { &[1] } else { &[1, 2] };
        if made {
            run(&self.bob, &lock(2)).await;
        }
        let alice = async {
            let done = self.alice.batch_execute(&lock(2)).await;
            run(&self.alice, "ROLLBACK").await;
            done.is_err()
        };
        let bob = async {
            let mut failed = false;
            for no in order {
                failed |= self.bob.batch_execute(&lock(*no)).await.is_err();
            }
            run(&self.bob, "ROLLBACK").await;
            failed
        };
        let (bob, alice) = tokio::join!(bob, alice);
        alice || bob
    }

    async fn order_two(&self, made: bool) -> bool {
        run(&self.bob, "UPDATE seats SET holder = 'bob' WHERE no = 2").await;
        if !made {
            run(&self.alice, "BEGIN").await;
        }
        let take = |no: i64| format!("UPDATE seats SET holder = 'alice' WHERE no = {no} AND holder IS NULL");
        let all = changed(&self.alice, &take(1)).await && changed(&self.alice, &take(2)).await;
        assert!(!all, "the second seat is Bob's");
        if !made {
            run(&self.alice, "ROLLBACK").await;
        }
        number(&self.bob, FREE).await == 0
    }

    /// The clerk dies after the effect; whoever asked sends the same key again. Each effect takes a seat.
    async fn ask_again(&self, made: bool) -> bool {
        let effect = "UPDATE seats SET holder = 'alice'
            WHERE no = (SELECT min(no) FROM seats WHERE holder IS NULL)";
        let keep = "INSERT INTO keys VALUES ('k')";
        match made {
            true => run(&self.alice, effect).await,
            false => run(&self.alice, &format!("BEGIN; {keep}; {effect}; COMMIT")).await,
        }
        if number(&self.bob, "SELECT count(*) FROM keys").await == 0 {
            run(&self.bob, &format!("BEGIN; {keep}; {effect}; COMMIT")).await;
        }
        number(&self.bob, "SELECT count(*) FROM seats WHERE holder IS NOT NULL").await > 1
    }

    async fn crash_before_the_journal(&self, made: bool) -> bool {
        let effect = "UPDATE seats SET holder = 'alice' WHERE no = 1";
        match made {
            true => run(&self.alice, effect).await,
            false => {
                run(
                    &self.alice,
                    &format!("BEGIN; {effect}; INSERT INTO journal VALUES (1, 'alice'); COMMIT"),
                )
                .await;
            }
        }
        let unexplained = "SELECT count(*) FROM seats s WHERE holder IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.no = s.no AND j.holder = s.holder)";
        number(&self.bob, unexplained).await > 0
    }

    async fn refuse(&self, made: bool) -> bool {
        run(&self.alice, "UPDATE seats SET holder = 'alice' WHERE no = 1").await;
        let copy_says_free = number(&self.bob, FREE).await == 1;
        run(&self.alice, "UPDATE seats SET holder = NULL WHERE no = 1").await;
        let free = copy_says_free || (!made && number(&self.bob, FREE).await == 1);
        !free
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_seeded_bug_shows_and_without_it_nothing_does() {
    let house = House::quick();
    let url = house.emptied("shop");
    let shop = Shop { alice: somebody(&url).await, bob: somebody(&url).await };
    let began = now();
    for bug in EVERY_BUG {
        assert!(!shop.goes_wrong(bug, false).await, "{bug:?}: goes wrong without being made");
        assert!(shop.goes_wrong(bug, true).await, "{bug:?}: not seen");
        println!("{bug:?}: seen");
    }
    assert!(began.elapsed() < Duration::from_secs(60));
}
