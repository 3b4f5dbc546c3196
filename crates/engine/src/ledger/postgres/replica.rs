//! The node's own copy of the books: the pure model's state, kept level with the journal in PostgreSQL.
//!
//! ```text
//! load: offers, holds, bookings ─► State      follow: journal rows not seen yet ─► apply_as
//! ```
//! Decisions are made on the copy and become true in PostgreSQL. A yes stands only if the claim's transaction
//! commits under the locks or guards of its strategy; a no is given only by a copy that has followed the journal
//! after the question arrived. So a copy that lags costs a second look, never a wrong answer.
//!
//! Entries of one offer follow each other: each names the version that the offer had before. An entry is applied
//! when that is the copy's version, and skipped when the copy is past it.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use holdfast_domain::{
    Entry, Event, Moment, OfferId, OfferPart, Parts, State, Version, apply_as, hold::MEMORY_MS,
};
use parking_lot::Mutex;
use tokio_postgres::{Row, types::Type};

use super::{
    answers::Kept,
    chains::Chains,
    heard::Heard,
    rows,
    session::{Session, Sql, Trouble},
};
use crate::{
    clock::Clock,
    ledger::{
        Change,
        changes::Touched,
        codec::{self, Interner},
        embedded::instant_now,
        views::Snapshots,
    },
};

/// Whose clock decides.
#[derive(Debug, Clone)]
pub enum Time {
    /// PostgreSQL's, read after the locks are held: all nodes live in one time.
    Database,
    /// A clock that a script moves.
    Given(Arc<dyn Clock>),
}

impl Time {
    /// The time, PostgreSQL's clock showing `clock`.
    fn of(&self, clock: Moment) -> Moment {
        match self {
            Self::Database => clock,
            Self::Given(given) => given.now(),
        }
    }
}

/// Beyond this many unseen entries, loading anew is quicker than following.
const MOST_FOLLOWED: i64 = 50_000;

const OFFERS: Sql = Sql {
    text: "SELECT definition, holdfast.ms(created_at), version FROM holdfast.offers ORDER BY place",
    types: &[],
};
/// When the last entry was written.
const LATEST: Sql = Sql { text: "SELECT holdfast.ms(max(changed_at)) FROM holdfast.offers", types: &[] };
const BLOCKED: Sql = Sql {
    text: "SELECT offer_id, array_agg(unit_no) FROM holdfast.units WHERE blocked GROUP BY offer_id",
    types: &[],
};
/// What [`rows::hold`] reads.
macro_rules! holds {
    ($from:literal) => {
        concat!(
            "SELECT id, holder, state, amount, currency, holdfast.ms(expires_at), extensions, holdfast.ms(ended_at),
                    booking_id, version, body, payments, holdfast.ms(pinned_until), holdfast.ms(returns_to)
             FROM ",
            $from
        )
    };
}
/// Holds that came to nothing stay in the table for good, so no part of this reads the table through.
/// - Those that came to nothing lately are found by when they ended. `< 'infinity'` is always true; it tells a planner that
///   does not know the argument that they are few.
/// - Those that are booked are found by their booking, and known for as long as it is.
/// - Those that are open, being paid for or not, are found by their claims that are not booked. There are no more of these
///   than there is on sale, and each lies in the offer that its hold is filed under.
const HOLDS: Sql = Sql {
    text: holds!(
        "(SELECT * FROM holdfast.holds
          WHERE state <> 'active' AND state <> 'booked' AND ended_at > holdfast.at($1) AND ended_at < 'infinity'
          UNION ALL
          SELECT booked.* FROM holdfast.bookings AS b
          CROSS JOIN LATERAL (SELECT * FROM holdfast.holds
                              WHERE offer_id = b.offer_id AND id = b.hold_id AND booking_id = b.id AND state = 'booked'
                              LIMIT 1) AS booked
          UNION ALL
          SELECT open.* FROM (SELECT DISTINCT offer_id, hold_id FROM holdfast.claims WHERE NOT booked) AS live
          CROSS JOIN LATERAL (SELECT * FROM holdfast.holds
                              WHERE offer_id = live.offer_id AND id = live.hold_id AND state IN ('active', 'paying')
                              LIMIT 1) AS open) AS known"
    ),
    types: &[Type::INT8],
};
const ALL_HOLDS: Sql = Sql { text: holds!("holdfast.holds"), types: &[] };
const BOOKINGS: Sql = Sql {
    text: "SELECT b.id, b.hold_id, b.holder, b.amount, b.currency, holdfast.ms(b.created_at),
                  holdfast.ms(b.cancelled_at), b.version, b.body, b.state, holdfast.ms(b.failed_at),
                  p.state, p.method, p.intent, p.attempts, holdfast.ms(p.due_at), p.captured, p.refunded, p.why
           FROM holdfast.bookings b
           LEFT JOIN holdfast.payments p ON p.offer_id = b.offer_id AND p.booking_id = b.id",
    types: &[],
};
/// What is new is found by the index over transactions: the order within says so to a planner that knows nothing of the
/// arguments. Asked for in the journal's own order at once, it walks the whole journal and throws nearly all of it away;
/// and so it does for a list of transactions, unless each is looked for by itself (`OFFSET 0` keeps the planner from
/// joining them), with a plan that was made while the journal was short.
///
/// Of what can be seen, nothing was written by a transaction that is yet to come, but for a journal that was restored from
/// a server that had counted further: those entries were loaded with the rest.
const UNSEEN: Sql = Sql {
    text: "WITH own AS MATERIALIZED (SELECT * FROM unnest($3::bigint[], $4::bigint[]) AS own(chain, link))
           SELECT seq, offers, before, version, entry FROM (
               (SELECT late.* FROM unnest($5::bigint[]) AS open(xid)
                CROSS JOIN LATERAL (
                    SELECT seq, offers, before, version, entry FROM holdfast.journal j
                    WHERE xid = open.xid
                      AND NOT EXISTS (SELECT FROM own WHERE own.chain = j.chain AND own.link >= j.link)
                    OFFSET 0) AS late)
               UNION ALL
               (SELECT seq, offers, before, version, entry FROM holdfast.journal j
                WHERE xid >= $1 AND xid < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
                  AND NOT EXISTS (SELECT FROM own WHERE own.chain = j.chain AND own.link >= j.link)
                ORDER BY xid LIMIT $2)) AS new
           ORDER BY seq",
    types: &[Type::INT8, Type::INT8, Type::INT8_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY],
};

/// Which transactions had ended when the journal was last read: all before `next`, but for those in `open`. One that stays
/// open for hours costs a probe of the index, not the reading of everything since.
#[derive(Debug, Clone)]
pub(super) struct Horizon {
    next: i64,
    open: Vec<i64>,
}

#[derive(Debug)]
pub(super) struct Replica {
    pub(super) state: State,
    pub(super) snapshots: Mutex<Snapshots>,
    horizon: Horizon,
    /// When the server began that the copy is known to agree with.
    pub(super) server: i64,
    time: Heard,
    /// When it was last known to be level.
    level_at: Instant,
    interner: Interner,
    /// What the last batches of this node answered to keys, by batch.
    answered: VecDeque<Vec<Kept>>,
}

/// Unseen entries, read and not yet applied.
#[derive(Debug)]
pub(super) struct Unseen {
    horizon: Horizon,
    /// When the server began that told them.
    pub(super) server: i64,
    /// PostgreSQL's clock when they were read.
    pub(super) clock: Moment,
    rows: Vec<Row>,
}

/// The copy cannot be brought level entry by entry.
#[derive(Debug)]
pub(super) struct TooFarBehind;

impl Replica {
    /// Loads what may still be asked for, in one view of the database.
    pub(super) async fn load(session: &mut Session, time: &Time) -> Result<Self, Trouble> {
        begin_view(session).await?;
        let Now { horizon, clock, server } = now(session).await?;
        let now = time.of(clock);
        let latest = session.rows(&LATEST, &[]).await?;
        let latest = latest.first().and_then(|row| row.get::<_, Option<i64>>(0)).map(Moment::from_ms);
        let mut interner = Interner::default();
        let parts = read_parts(session, Some(now.plus_ms(-MEMORY_MS)), &mut interner).await?;
        session.send_commit().await?;
        session.ended();
        let snapshots = Mutex::default();
        Ok(Self {
            state: State::from_parts(parts),
            snapshots,
            horizon,
            server,
            time: Heard::beginning(time, now, latest),
            level_at: instant_now(),
            interner,
            answered: VecDeque::new(),
        })
    }

    /// A batch looks for the answers of its keys before it has the copy: what was answered by batches that had it meanwhile
    /// is here. Found out by the unique index alone, a key that is used for two offers at once would cost the copy.
    pub(super) fn recent_answers(&self) -> impl Iterator<Item = &Kept> {
        self.answered.iter().flatten()
    }

    /// Keeps the answers of a batch for the others that are under way.
    pub(super) fn remember(&mut self, kept: Vec<Kept>, batches: usize) {
        self.answered.push_back(kept);
        while self.answered.len() > batches {
            self.answered.pop_front();
        }
    }

    /// Reads what the journal has beyond the horizon, but for what the node itself wrote and its copy has applied. Ask
    /// from inside a transaction to see its own view.
    pub(super) async fn unseen(session: &Session, beyond: &Horizon, own: &Chains) -> Result<Unseen, Trouble> {
        let (most, (chains, links)) = (MOST_FOLLOWED + 1, own.seen());
        // The horizon first: what settles between the two statements is read twice rather than never.
        let (Now { horizon, clock, server }, rows) = futures::future::try_join(
            now(session),
            session.rows(&UNSEEN, &[&beyond.next, &most, &chains, &links, &beyond.open]),
        )
        .await?;
        Ok(Unseen { horizon, server, clock, rows })
    }

    pub(super) const fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Whether it knows of later transactions than the server that was asked.
    pub(super) const fn is_beyond(&self, unseen: &Unseen) -> bool {
        self.horizon.next > unseen.horizon.next
    }

    /// Applies what it has not seen; says what that changed, for the live map.
    pub(super) fn follow(&mut self, unseen: &Unseen) -> Result<Vec<Change>, TooFarBehind> {
        if unseen.rows.len() as i64 > MOST_FOLLOWED {
            return Err(TooFarBehind);
        }
        let mut touched = Touched::default();
        for row in &unseen.rows {
            self.follow_row(row, &mut touched)?;
        }
        // Two looks may arrive in the wrong order. (Numbers that went back for good are another server's: see the feed.)
        if unseen.horizon.next >= self.horizon.next {
            self.horizon = unseen.horizon.clone();
        }
        Ok(touched.changes(&self.state))
    }

    fn follow_row(&mut self, row: &Row, touched: &mut Touched) -> Result<(), TooFarBehind> {
        let (offers, before): (Vec<&str>, Vec<i64>) = (row.get(1), row.get(2));
        let version = rows::version(row, 3);
        let mut level = true;
        for (offer, before) in offers.into_iter().zip(before) {
            let at = self.version_of(offer);
            if at >= version {
                return Ok(());
            }
            level &= at.0 == before as u64;
        }
        if !level {
            return Err(TooFarBehind);
        }
        let entry: Entry = codec::decode_entry(row.get(4), &mut self.interner).map_err(|fault| {
            tracing::error!(%fault, seq = row.get::<_, i64>(0), "an entry of the journal cannot be read");
            TooFarBehind
        })?;
        self.apply(&entry.event, entry.at, version, touched);
        Ok(())
    }

    /// Applies one entry whose turn it is.
    pub(super) fn apply(&mut self, event: &Event, at: Moment, version: Version, touched: &mut Touched) {
        touched.note(&self.state, event);
        apply_as(&mut self.state, event, at, version);
        self.time.reach(at);
    }

    /// Hears PostgreSQL's clock, and says what time it is.
    pub(super) fn hear(&mut self, time: &Time, clock: Moment) -> Moment {
        let now = self.time.exactly(time, clock);
        self.time.reach(now);
        self.level_at = instant_now();
        now
    }

    /// What time it is, PostgreSQL's clock having just shown `clock`.
    pub(super) fn exactly(&self, time: &Time, clock: Moment) -> Moment {
        self.time.exactly(time, clock)
    }

    /// About what time it is, for a first look; the last look asks PostgreSQL.
    pub(super) fn about_now(&self, time: &Time) -> Moment {
        self.time.about_now(time)
    }

    /// Whether these are the versions that the copy has come to.
    pub(super) fn is_level_with(&self, versions: &[(String, Version)]) -> bool {
        versions.iter().all(|(offer, version)| self.version_of(offer) == *version)
    }

    /// How long ago the copy was last known to be level.
    pub(super) fn age(&self) -> Duration {
        self.level_at.elapsed()
    }

    /// The version of an offer in this copy; zero where there is none.
    pub(super) fn version_of(&self, offer: &str) -> Version {
        // Names in the journal were checked when their offer was made; a name that is none has no version.
        let id = OfferId::new(offer).ok();
        id.and_then(|id| self.state.offer(&id)).map_or(Version(0), |offer| offer.version())
    }
}

/// Begins a transaction in which all statements see the same, for whoever reads whole tables. Nobody waits for it, so
/// that may take long.
pub(super) async fn begin_view(session: &mut Session) -> Result<(), Trouble> {
    const VIEW: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; \
                        SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '1h'; \
                        SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on";
    session.begin().await?;
    session.run(VIEW).await
}

/// Offers, bookings, and the holds that are open, booked, or came to nothing after `ended`; all there ever were where that
/// is `None`.
pub(super) async fn read_parts(
    session: &Session,
    ended: Option<Moment>,
    interner: &mut Interner,
) -> Result<Parts, Trouble> {
    // One after another: who stands behind a long answer hears nothing, and would take that for silence.
    let offers = session.rows_patiently(&OFFERS, &[]).await?;
    let blocked = session.rows_patiently(&BLOCKED, &[]).await?;
    let holds = match ended.map(Moment::ms) {
        Some(ended) => session.rows_patiently(&HOLDS, &[&ended]).await?,
        None => session.rows_patiently(&ALL_HOLDS, &[]).await?,
    };
    let bookings = session.rows_patiently(&BOOKINGS, &[]).await?;
    Ok(Parts {
        version: Version(0),
        offers: offer_parts(&offers, &blocked, interner)?,
        holds: holds.iter().map(|row| rows::hold(row, interner)).collect::<Result<_, _>>()?,
        bookings: bookings.iter().map(|row| rows::booking(row, interner)).collect::<Result<_, _>>()?,
    })
}

/// What PostgreSQL says of this moment.
struct Now {
    horizon: Horizon,
    clock: Moment,
    /// When this server began.
    server: i64,
}

async fn now(session: &Session) -> Result<Now, Trouble> {
    /// A snapshot does not count the very transaction that takes it among the open ones.
    const NOW: Sql = Sql {
        text: "SELECT pg_snapshot_xmax(now)::text::bigint,
                      ARRAY(SELECT pg_snapshot_xip(now)::text::bigint
                            UNION ALL SELECT own::text::bigint WHERE own IS NOT NULL),
                      holdfast.ms(clock_timestamp()), holdfast.ms(pg_postmaster_start_time())
               FROM pg_current_snapshot() now, pg_current_xact_id_if_assigned() own",
        types: &[],
    };
    let rows = session.rows(&NOW, &[]).await?;
    let row = rows.first().ok_or_else(|| Trouble::Down("PostgreSQL tells no time".into()))?;
    let horizon = Horizon { next: row.get(0), open: row.get(1) };
    Ok(Now { horizon, clock: Moment::from_ms(row.get(2)), server: row.get(3) })
}

fn offer_parts(offers: &[Row], blocked: &[Row], interner: &mut Interner) -> Result<Vec<OfferPart>, Trouble> {
    let mut blocked: HashMap<&str, Vec<i64>> = blocked.iter().map(|row| (row.get(0), row.get(1))).collect();
    let part = |row: &Row| {
        let offer = rows::offer(row.get(0), interner)?;
        let mut blocked = blocked.remove(offer.id().as_str()).unwrap_or_default();
        blocked.sort_unstable();
        Ok(OfferPart {
            created_at: Moment::from_ms(row.get(1)),
            version: rows::version(row, 2),
            blocked: blocked.into_iter().map(|unit| unit as u32).collect(),
            offer: Arc::clone(&offer),
        })
    };
    offers.iter().map(part).collect()
}
