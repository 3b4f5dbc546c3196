//! Talking to PostgreSQL: pooled connections, bounded waiting, and faults sorted by what they leave unknown.
//!
//! Four pools. A small one is kept for those who already have something at stake (confirm, extend, release,
//! cancel, whoever looks after a payment, and the API keys they all show), so that a rush of holds cannot keep them
//! waiting for a connection. A smaller one is for the copy and
//! for gates: whoever has a connection may be waiting for the copy, so the copy must never wait for one of theirs, and a
//! gate that waits with the crowd cannot keep it away. And the batches have their own, for a connection lives on the
//! thread where it was made.
//!
//! A session that is dropped inside a transaction, or that owes an answer, is closed and never handed back: whatever was
//! cancelled on it can surprise nobody, and nobody stands in line behind it. A server that is still at work on the answer
//! is told that nobody waits for it: outside a transaction nothing else would end that.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::{Object, Pool, Runtime};
use futures::TryStreamExt as _;
use tokio::{runtime::Handle, time::timeout};
use tokio_postgres::{
    CancelToken, Row,
    error::{Severity, SqlState},
    types::{ToSql, Type},
};

use super::dial::{self, Dial};
use crate::ledger::LedgerError;

/// For the copy: one to follow the journal, one to load it anew. And one for what gates ask.
const FOLLOWING: usize = 3;

/// From a connection that says nothing for so long, nothing will come. It may have to read a large table before it says
/// the first word.
const SILENCE: Duration = Duration::from_secs(60);

/// A statement and the types of its arguments: said here, so that nothing has to be asked of the server first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sql {
    pub(super) text: &'static str,
    pub(super) types: &'static [Type],
}

pub(super) type Args<'a> = &'a [&'a (dyn ToSql + Sync)];

/// What went wrong, by what it means for the request.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Trouble {
    /// Rolled back for a reason that may be gone at the next attempt: a deadlock, a lost race, a unique key.
    #[error("{0}")]
    Lost(Arc<str>),
    /// Rolled back after somebody else had the offers for as long as one waits.
    #[error("{0}")]
    Busy(Arc<str>),
    /// PostgreSQL itself said no, and rolled back. Nothing happened, and nothing can until this heals.
    #[error("{0}")]
    Refused(Arc<str>),
    /// The same, because it takes no writes at all: it is full, or read-only.
    #[error("{0}")]
    Unwritable(Arc<str>),
    /// Nobody answers. Nothing happened, unless a commit was under way.
    #[error("{0}")]
    Down(Arc<str>),
    /// The connection went away while a commit was under way.
    #[error("{0}")]
    Unknown(Arc<str>),
}

impl Trouble {
    pub(super) fn lost(why: &str) -> Self {
        Self::Lost(why.into())
    }

    /// The same trouble, met while the offers were waited for.
    pub(super) fn while_locking(self) -> Self {
        match self {
            Self::Lost(why) => Self::Busy(why),
            other => other,
        }
    }

    /// The same trouble, met while a commit was under way.
    pub(super) fn during_commit(self) -> Self {
        match self {
            Self::Down(why) => Self::Unknown(why),
            other => other,
        }
    }
}

impl From<Trouble> for LedgerError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Lost(_) | Trouble::Busy(_) => Self::Overloaded,
            Trouble::Refused(why) | Trouble::Unwritable(why) | Trouble::Down(why) => Self::Unavailable(why),
            Trouble::Unknown(why) => Self::OutcomeUnknown(why),
        }
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        let retry = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::LOCK_NOT_AVAILABLE,
            // Where several wait for one row, the statement's limit comes before the lock's.
            SqlState::QUERY_CANCELED,
            SqlState::UNIQUE_VIOLATION,
            SqlState::CHECK_VIOLATION,
            SqlState::IN_FAILED_SQL_TRANSACTION,
            // What a batch counted on is no longer so: see `parts`.
            SqlState::DIVISION_BY_ZERO,
        ];
        let unwritable = [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::DISK_FULL, SqlState::IO_ERROR];
        match error.as_db_error() {
            Some(said) if retry.contains(said.code()) => Self::Lost(told(&error)),
            // What is worse than an error ends the connection, and leaves open what became of a commit.
            Some(said) if said.parsed_severity() != Some(Severity::Error) => Self::Down(told(&error)),
            Some(said) if unwritable.contains(said.code()) => Self::Unwritable(told(&error)),
            Some(_) => Self::Refused(told(&error)),
            None => Self::Down(told(&error)),
        }
    }
}

/// The server's own words, which the client's error keeps to itself.
fn told(error: &tokio_postgres::Error) -> Arc<str> {
    match error.as_db_error() {
        Some(told) => format!("PostgreSQL says: {}", told.message()).into(),
        None => format!("PostgreSQL is out of reach: {}", dial::told(error)).into(),
    }
}

#[derive(Debug, Clone)]
pub struct Connecting {
    /// `postgres://user@host:port/database`, with `sslmode` and `sslrootcert` where they are wanted.
    pub url: String,
    /// Connections for holds, lists and upkeep.
    pub connections: usize,
    /// Connections kept for whoever has something at stake.
    pub urgent_connections: usize,
    /// How long to wait for a connection, and for a new one to be made.
    pub connect_timeout: Duration,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long a statement may wait for somebody else's lock.
    pub lock_timeout: Duration,
    /// How long a transaction may hear nothing from the node that began it.
    pub idle_timeout: Duration,
    /// Keep prepared statements, which a pooler that hands out connections by transaction may lose; `None` finds out.
    pub prepared_statements: Option<bool>,
}

impl Connecting {
    pub fn to(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections: 16,
            urgent_connections: 4,
            connect_timeout: Duration::from_secs(1),
            statement_timeout: Duration::from_secs(3),
            lock_timeout: Duration::from_secs(2),
            idle_timeout: Duration::from_secs(5),
            prepared_statements: None,
        }
    }

    /// The most that one node opens with so many batches under way.
    pub const fn most(&self, batches: usize) -> usize {
        self.connections + self.urgent_connections + FOLLOWING + settling(batches)
    }
}

/// One for each batch under way, and one for the sweep.
const fn settling(batches: usize) -> usize {
    batches + 1
}

#[derive(Debug, Clone)]
pub(super) struct Sessions {
    ordinary: Pool,
    urgent: Pool,
    following: Pool,
    settling: Pool,
    dial: Arc<Dial>,
    begin: Arc<str>,
    connect_timeout: Duration,
    statement_timeout: Duration,
    /// Whether statements are prepared once and kept.
    prepared: Arc<AtomicBool>,
    /// It was not said whether they should be.
    finds_out: bool,
}

impl Sessions {
    /// Connections are made when they are needed; `batches` is how many may be under way at once.
    pub(super) fn new(connecting: &Connecting, batches: usize) -> Result<Self, Trouble> {
        let mut dial = Dial::to(&connecting.url)
            .map_err(|fault| Trouble::Down(format!("the address: {fault}").into()))?;
        let config = dial.config_mut();
        config.connect_timeout(connecting.connect_timeout).application_name("holdfast");
        // Whoever waits for a long answer sends nothing: without this nobody would notice that the other side has gone.
        config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3);
        let Connecting { statement_timeout, lock_timeout, idle_timeout, .. } = connecting;
        let (statement, lock) = (statement_timeout.as_millis(), lock_timeout.as_millis());
        let idle = idle_timeout.as_millis();
        Ok(Self {
            ordinary: pool(&dial, connecting.connections, connecting)?,
            urgent: pool(&dial, connecting.urgent_connections, connecting)?,
            following: pool(&dial, FOLLOWING, connecting)?,
            settling: pool(&dial, settling(batches), connecting)?,
            // All of this is said in each transaction and not once in the session, which a pooler may hand to somebody
            // else.
            // - READ COMMITTED, whatever the role's default is: what is looked at after a lock was waited for must be as
            //   new as the lock.
            // - The idle timeout is for a node that vanished or was stopped with the locks of offers: PostgreSQL itself
            //   ends its transaction.
            // - Generic plans: every statement finds its rows by key whatever its arguments are, and planning some of
            //   them anew took longer than running them.
            // - No parallel workers: a generic plan expects many rows and would start workers for a few.
            // - No sequential or bitmap scans: a plan that was made while a table was new and empty would go on reading
            //   it through, for as long as nobody tells PostgreSQL that it has grown.
            begin: format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = {statement}; \
                 SET LOCAL lock_timeout = {lock}; SET LOCAL idle_in_transaction_session_timeout = {idle}; \
                 SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL max_parallel_workers_per_gather = 0; \
                 SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"
            )
            .into(),
            dial: Arc::new(dial),
            connect_timeout: connecting.connect_timeout,
            statement_timeout: connecting.statement_timeout,
            prepared: Arc::new(connecting.prepared_statements.unwrap_or(false).into()),
            finds_out: connecting.prepared_statements.is_none(),
        })
    }

    /// Keeps statements prepared from now on, where they are found again and nobody said otherwise.
    pub(super) async fn find_out(&self) -> Result<(), Trouble> {
        if self.finds_out {
            let kept = self.finds_again().await?;
            self.prepared.store(kept, Ordering::Relaxed);
            if !kept {
                tracing::info!(
                    "PostgreSQL is behind a pooler that forgets prepared statements: none are kept \
                     (pg_prepared_statements = true or false settles it)"
                );
            }
        }
        Ok(())
    }

    /// Prepares a statement on one connection, lets another one begin a transaction, and looks for the statement: a pooler
    /// that hands out its connections by transaction has just given that one away.
    async fn finds_again(&self) -> Result<bool, Trouble> {
        let (one, mut other) = (self.ordinary().await?, self.urgent().await?);
        let statement = one.bounded(one.client().prepare("SELECT 1")).await?;
        other.begin().await?;
        let found = one.bounded(one.client().query(&statement, &[])).await.is_ok();
        other.roll_back().await;
        Ok(found)
    }

    /// A pooler came in between later, or was lucky before.
    fn noticed(&self, fault: &tokio_postgres::Error) {
        let forgotten = [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT];
        let is_forgotten = fault.code().is_some_and(|code| forgotten.contains(code));
        if self.finds_out && is_forgotten && self.prepared.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                "a prepared statement was not found again, as behind a pooler: none are kept any more"
            );
        }
    }

    fn keeps_prepared(&self) -> bool {
        self.prepared.load(Ordering::Relaxed)
    }

    pub(super) async fn ordinary(&self) -> Result<Session, Trouble> {
        self.take(&self.ordinary).await
    }

    pub(super) async fn urgent(&self) -> Result<Session, Trouble> {
        self.take(&self.urgent).await
    }

    /// Only for bringing the copy level, and for the short questions of gates.
    pub(super) async fn following(&self) -> Result<Session, Trouble> {
        self.take(&self.following).await
    }

    /// Only for batches.
    pub(super) async fn settling(&self) -> Result<Session, Trouble> {
        self.take(&self.settling).await
    }

    /// Nobody waits any more for what this connection was asked.
    fn call_off(&self, asked: CancelToken) {
        let (dial, patience) = (Arc::clone(&self.dial), self.connect_timeout);
        if let Ok(runtime) = Handle::try_current() {
            // A server that cannot be told is most likely not at work either.
            runtime.spawn(async move { drop(timeout(patience, dial.cancel(asked)).await) });
        }
    }

    async fn take(&self, pool: &Pool) -> Result<Session, Trouble> {
        let object = pool.get().await.map_err(|why| match why {
            deadpool_postgres::PoolError::Backend(error) => Trouble::Down(told(&error)),
            deadpool_postgres::PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => {
                Trouble::lost("every connection to PostgreSQL is busy")
            }
            other => Trouble::Down(format!("no connection to PostgreSQL: {other}").into()),
        })?;
        Ok(Session { object: Some(object), begun: false, owed: AtomicUsize::new(0), of: self.clone() })
    }
}

fn pool(dial: &Dial, size: usize, connecting: &Connecting) -> Result<Pool, Trouble> {
    Pool::builder(dial.manager())
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(connecting.connect_timeout))
        .create_timeout(Some(connecting.connect_timeout))
        .recycle_timeout(Some(connecting.connect_timeout))
        .build()
        .map_err(|why| Trouble::Down(why.to_string().into()))
}

/// A connection while somebody uses it.
#[derive(Debug)]
pub(super) struct Session {
    /// `None` only once it is dropped.
    object: Option<Object>,
    begun: bool,
    /// How many answers it owes: it may be at work on one that nobody waits for any more.
    owed: AtomicUsize,
    of: Sessions,
}

impl Session {
    fn client(&self) -> &Object {
        self.object.as_ref().expect("a session has its connection until it is dropped")
    }

    pub(super) fn client_mut(&mut self) -> &mut tokio_postgres::Client {
        self.object.as_mut().expect("a session has its connection until it is dropped")
    }

    pub(super) async fn rows(&self, sql: &Sql, args: Args<'_>) -> Result<Vec<Row>, Trouble> {
        self.ask(sql.text, sql.types, args).await
    }

    /// The same for a statement that was put together.
    pub(super) async fn ask(&self, text: &str, types: &[Type], args: Args<'_>) -> Result<Vec<Row>, Trouble> {
        self.bounded(async {
            if self.of.keeps_prepared() {
                let statement = self.client().prepare_typed_cached(text, types).await?;
                return self.client().query(&statement, args).await;
            }
            self.client().query_typed(text, &typed(types, args)).await
        })
        .await
    }

    /// For what may take long by its nature: as long as rows arrive, and a good while for the first.
    pub(super) async fn rows_patiently(&self, sql: &Sql, args: Args<'_>) -> Result<Vec<Row>, Trouble> {
        // The rows that are still to come are one more answer, until the last has arrived.
        self.owed.fetch_add(1, Ordering::Relaxed);
        let asked = self.client().query_typed_raw(sql.text, typed(sql.types, args));
        let mut arriving = std::pin::pin!(self.unless_silent(SILENCE, asked).await?);
        let mut rows = Vec::new();
        while let Some(row) = self.unless_silent(SILENCE, arriving.try_next()).await? {
            rows.push(row);
        }
        self.owed.fetch_sub(1, Ordering::Relaxed);
        Ok(rows)
    }

    /// How many rows the statement changed.
    pub(super) async fn change(&self, sql: &Sql, args: Args<'_>) -> Result<u64, Trouble> {
        self.bounded(async {
            if self.of.keeps_prepared() {
                let statement = self.client().prepare_typed_cached(sql.text, sql.types).await?;
                return self.client().execute(&statement, args).await;
            }
            self.client().execute_typed(sql.text, &typed(sql.types, args)).await
        })
        .await
    }

    pub(super) async fn begin(&mut self) -> Result<(), Trouble> {
        self.begins();
        let begin = Arc::clone(&self.of.begin);
        self.run(&begin).await
    }

    /// Begins with these statements in the same breath.
    pub(super) async fn begin_with(&mut self, statements: &str) -> Result<(), Trouble> {
        self.begins();
        self.run(&self.beginning_with(statements)).await
    }

    /// What to [`run`](Self::run) in order to begin with these statements.
    pub(super) fn beginning_with(&self, statements: &str) -> String {
        format!("{}; {statements}", self.of.begin)
    }

    /// From here on it is inside a transaction.
    pub(super) const fn begins(&mut self) {
        self.begun = true;
    }

    /// Makes these known to PostgreSQL. What is sent in one breath must arrive in the order it was sent, and a
    /// statement that first has to be made known comes late.
    pub(super) async fn know(&self, statements: &[(&str, &[Type])]) -> Result<(), Trouble> {
        if self.of.keeps_prepared() {
            for (text, types) in statements {
                self.bounded(self.client().prepare_typed_cached(text, types)).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn run(&self, statements: &str) -> Result<(), Trouble> {
        self.bounded(self.client().batch_execute(statements)).await
    }

    /// For what may take long by its nature.
    pub(super) async fn run_patiently(&self, statements: &str, patience: Duration) -> Result<(), Trouble> {
        self.unless_silent(patience, self.client().batch_execute(statements)).await
    }

    /// Ends the transaction. Only once all its statements are known to have succeeded: after a failed one a COMMIT
    /// quietly rolls back.
    pub(super) async fn send_commit(&self) -> Result<(), Trouble> {
        self.run("COMMIT").await.map_err(Trouble::during_commit)
    }

    /// The transaction is over, and the session may be used again.
    pub(super) const fn ended(&mut self) {
        self.begun = false;
    }

    /// Gives the transaction up, and goes on without one.
    pub(super) async fn give_up(&mut self) -> Result<(), Trouble> {
        self.run("ROLLBACK").await?;
        self.ended();
        Ok(())
    }

    /// Gives the transaction up. A session in which that fails is closed.
    pub(super) async fn roll_back(mut self) {
        drop(self.give_up().await);
    }

    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Trouble> {
        // The server's own limit comes first; this one is for a server that says nothing at all.
        self.unless_silent(self.of.statement_timeout + Duration::from_millis(500), work).await
    }

    async fn unless_silent<T>(
        &self,
        silence: Duration,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Trouble> {
        // Owed from here on, also to whoever leaves without waiting for it.
        self.owed.fetch_add(1, Ordering::Relaxed);
        let Ok(done) = timeout(silence, work).await else {
            return Err(Trouble::Down("PostgreSQL does not answer".into()));
        };
        self.owed.fetch_sub(1, Ordering::Relaxed);
        Ok(done.inspect_err(|fault| self.of.noticed(fault))?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(object) = self.object.take()
            && (self.begun || *self.owed.get_mut() > 0)
        {
            // Inside one the server has its own limits, and a COMMIT that waits for a standby must not be talked out of it.
            if !self.begun {
                self.of.call_off(object.cancel_token());
            }
            drop(Object::take(object));
        }
    }
}

fn typed<'a>(types: &[Type], args: Args<'a>) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    args.iter().copied().zip(types.iter().cloned()).collect()
}
