//! The tables, the connections and the few statements that every mistaken shop shares.

use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use holdfast_checker::history::{Claim, Ending, KeptBooking, KeptHold, KeptState};
use holdfast_engine::{
    gate::redis::{self as gate, Authority},
    ledger::postgres::Dial,
};
use redis::aio::MultiplexedConnection;
use tokio::time::sleep;

use super::Fault;
use crate::{shop::AskAbout, shop::AskHold, watch::Watch};

/// Connections of a shop; more buyers than that wait their turn.
const CONNECTIONS: usize = 64;

const LOCK_TRIES: u32 = 1_000;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

const TABLES: &str = "
    CREATE TABLE seats (seat int PRIMARY KEY, left_over int NOT NULL);
    CREATE TABLE bookings (
        hold int NOT NULL, seat int NOT NULL, qty int NOT NULL, holder int NOT NULL,
        status text NOT NULL DEFAULT 'held' CHECK (status IN ('held', 'confirmed', 'released', 'expired')),
        expires_at timestamptz NOT NULL,
        cancelled_at timestamptz,
        PRIMARY KEY (hold, seat)
    );";

#[derive(Debug)]
pub(crate) struct Till {
    pool: Pool,
    redis: Option<MultiplexedConnection>,
    /// Before every key in Redis.
    prefix: String,
    pub(super) hold_ttl: Duration,
}

/// A fresh shop: its own schema in the database, its own prefix in Redis.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub url: &'a str,
    pub redis: Option<&'a str>,
    pub authority: Option<&'a Authority>,
    pub name: String,
}

impl Till {
    pub(crate) async fn open(
        place: &Place<'_>,
        constraints: &str,
        units: &[u32],
        hold_ttl: Duration,
    ) -> Result<Self, Fault> {
        let mut dial = Dial::to(place.url)?;
        dial.config_mut().options(format!("-c search_path={}", place.name));
        let pool =
            Pool::builder(dial.manager()).max_size(CONNECTIONS).build().expect("a pool needs no timeouts");
        let redis = match place.redis {
            Some(address) => Some(gate::connect(address, place.authority).await?),
            None => None,
        };
        let till = Self { pool, redis, prefix: place.name.clone(), hold_ttl };
        let client = till.client().await?;
        let schema = format!("CREATE SCHEMA {0}; SET search_path = {0}; {TABLES} {constraints}", place.name);
        client.batch_execute(&schema).await?;
        for (seat, left) in (0i32..).zip(units) {
            client.execute("INSERT INTO seats VALUES ($1, $2)", &[&seat, &(*left as i32)]).await?;
        }
        drop(client);
        till.warm_up().await?;
        Ok(till)
    }

    /// Connects before the doors open: what is raced for is a seat, not a connection.
    async fn warm_up(&self) -> Result<(), Fault> {
        let clients = futures::future::try_join_all((0..CONNECTIONS).map(|_| self.client())).await?;
        drop(clients);
        Ok(())
    }

    pub(crate) async fn client(&self) -> Result<Object, Fault> {
        Ok(self.pool.get().await?)
    }

    pub(crate) fn redis(&self) -> MultiplexedConnection {
        self.redis.clone().expect("a way that needs Redis is only opened with it")
    }

    pub(crate) fn key(&self, of: &str) -> String {
        format!("{}:{of}", self.prefix)
    }

    /// Writes the booking, whatever is there already, in the client's transaction.
    pub(crate) async fn insert(&self, client: &Object, ask: &AskHold) -> Result<i64, Fault> {
        let ttl = self.hold_ttl.as_secs_f64();
        let statement = client
            .prepare_cached(
                "INSERT INTO bookings (hold, seat, qty, holder, expires_at)
                 VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 second')
                 RETURNING (extract(epoch FROM expires_at) * 1000000)::bigint",
            )
            .await?;
        let mut expires_at = 0;
        for Claim { unit, qty } in &ask.claims {
            let (hold, seat, qty, holder) = (ask.hold as i32, *unit as i32, *qty as i32, ask.holder as i32);
            let row = client.query_one(&statement, &[&hold, &seat, &qty, &holder, &ttl]).await?;
            expires_at = row.get(0);
        }
        Ok(expires_at)
    }

    /// How many of each unit asked for are left, as far as this client sees.
    pub(crate) async fn left(&self, client: &Object, ask: &AskHold) -> Result<Vec<i32>, Fault> {
        let statement = client.prepare_cached("SELECT left_over FROM seats WHERE seat = $1").await?;
        let mut left = Vec::new();
        for claim in &ask.claims {
            left.push(client.query_one(&statement, &[&(claim.unit as i32)]).await?.get(0));
        }
        Ok(left)
    }

    /// Sets what is left to what was calculated from an earlier reading.
    pub(crate) async fn set_left(&self, client: &Object, ask: &AskHold, left: &[i32]) -> Result<(), Fault> {
        let statement = client.prepare_cached("UPDATE seats SET left_over = $2 WHERE seat = $1").await?;
        for (claim, left) in ask.claims.iter().zip(left) {
            client.execute(&statement, &[&(claim.unit as i32), &(left - claim.qty as i32)]).await?;
        }
        Ok(())
    }

    pub(super) async fn confirm_while_it_lasts(&self, ask: &AskAbout) -> Result<bool, Fault> {
        self.confirm_where(ask, "AND expires_at > clock_timestamp()").await
    }

    pub(super) async fn confirm_where(&self, ask: &AskAbout, and: &str) -> Result<bool, Fault> {
        let confirm =
            format!("UPDATE bookings SET status = 'confirmed' WHERE hold = $1 AND status = 'held' {and}");
        let client = self.client().await?;
        let statement = client.prepare_cached(&confirm).await?;
        Ok(client.execute(&statement, &[&(ask.hold as i32)]).await? > 0)
    }

    pub(super) async fn release(&self, ask: &AskAbout) -> Result<bool, Fault> {
        let client = self.client().await?;
        let statement = client
            .prepare_cached(
                "WITH freed AS (
                     UPDATE bookings SET status = 'released', cancelled_at = clock_timestamp()
                     WHERE hold = $1 AND status = 'held' RETURNING seat, qty)
                 UPDATE seats SET left_over = left_over + freed.qty FROM freed WHERE seats.seat = freed.seat",
            )
            .await?;
        Ok(client.execute(&statement, &[&(ask.hold as i32)]).await? > 0)
    }

    /// Tries for the lock again and again, for two seconds or so; whether it is ours now.
    pub(crate) async fn lock(&self, key: &str, owner: u32, live: Duration) -> Result<bool, Fault> {
        for _ in 0..LOCK_TRIES {
            if self.try_lock(key, owner, live).await? {
                return Ok(true);
            }
            sleep(BETWEEN_TRIES).await;
        }
        Ok(false)
    }

    /// `SET key owner NX PX`.
    async fn try_lock(&self, key: &str, owner: u32, live: Duration) -> Result<bool, Fault> {
        let mut redis = self.redis();
        let mut set = redis::cmd("SET");
        set.arg(self.key(key)).arg(owner).arg("NX").arg("PX").arg(live.as_millis() as u64);
        let said: Option<String> = set.query_async(&mut redis).await?;
        Ok(said.is_some())
    }

    /// Releases the lock if it is still ours, as it should be done.
    pub(crate) async fn unlock(&self, key: &str, owner: u32) -> Result<(), Fault> {
        const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";
        let mut redis = self.redis();
        let mut eval = redis::cmd("EVAL");
        eval.arg(RELEASE).arg(1).arg(self.key(key)).arg(owner);
        Ok(eval.query_async(&mut redis).await?)
    }

    pub(crate) async fn ending(&self, watch: &Watch) -> Result<Ending, Fault> {
        let client = self.client().await?;
        let rows = client
            .query(
                "SELECT hold, seat, qty, status, (extract(epoch FROM expires_at) * 1000000)::bigint
                 FROM bookings ORDER BY hold, seat",
                &[],
            )
            .await?;
        let mut holds: Vec<KeptHold> = Vec::new();
        for row in rows {
            let hold = row.get::<_, i32>(0) as u32;
            let claim = Claim { unit: row.get::<_, i32>(1) as u32, qty: row.get::<_, i32>(2) as u32 };
            let state = match row.get::<_, &str>(3) {
                "held" => KeptState::Active,
                "confirmed" => KeptState::Booked,
                "released" => KeptState::Released,
                _ => KeptState::Expired,
            };
            match holds.last_mut().filter(|last| last.hold == hold) {
                Some(last) => last.claims.push(claim),
                None => holds.push(KeptHold { hold, claims: vec![claim], expires_at: row.get(4), state }),
            }
        }
        let booked = holds.iter().filter(|kept| kept.state == KeptState::Booked);
        let bookings = booked.map(|kept| KeptBooking {
            booking: kept.hold,
            hold: kept.hold,
            claims: kept.claims.clone(),
            cancelled: false,
        });
        let bookings = bookings.collect();
        // Its own sums are not looked at: lost updates make them wrong, and the bookings say all there is to say.
        Ok(Ending { at: watch.now_us(), holds, bookings, units: Vec::new() })
    }
}
