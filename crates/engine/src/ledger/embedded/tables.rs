//! The tables that people and tools can read, filled behind the journal.
//!
//! The writer advances them in bounded slices when it has nothing better to do, or when they have fallen too far
//! behind. They are never read to decide anything and can be rebuilt from the journal. A slice's commit is not
//! flushed by itself: whatever a crash loses of it is projected again.

use std::sync::Arc;

use holdfast_domain::{
    Entry, Event, Hold, HoldId, Inventory, Line, Moment, Offer, OfferId, Placed, State, UnitNo,
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    codec::{self, Interner},
    error::StoreError,
    journal::{Batch, Hash, Link},
    reads::{Asker, tell},
};
use crate::ledger::LedgerError;

/// How far the tables have followed, and who waits for them.
#[derive(Debug)]
pub(super) struct Tables {
    at: Link,
    /// Who wants to be told when that entry is shown.
    waiting: Vec<(u64, Asker<()>)>,
    interner: Interner,
}

impl Tables {
    pub(super) fn open(from: &Connection, head: Link) -> Result<Self, StoreError> {
        let at = projected(from).map_err(StoreError::while_("reading how far the tables are"))?;
        if at.seq > head.seq {
            return Err(StoreError::Corrupt("the tables are ahead of the journal".into()));
        }
        Ok(Self { at, waiting: Vec::new(), interner: Interner::default() })
    }

    /// How many entries up to `head` the tables do not show yet.
    pub(super) const fn lag(&self, head: Link) -> u64 {
        head.seq.saturating_sub(self.at.seq)
    }

    pub(super) const fn has_waiters(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Tells `who` once the tables show everything up to `head`.
    pub(super) fn tell_when(&mut self, head: Link, who: Asker<()>) {
        if head.seq <= self.at.seq {
            return tell(who, Ok(()));
        }
        self.waiting.push((head.seq, who));
    }

    /// Projects entries until there are none left or `enough` says so, in the open transaction; returns how far
    /// it came, for [`Tables::advanced`].
    pub(super) fn advance(
        &mut self,
        to: &Connection,
        state: &State,
        mut enough: impl FnMut(u64) -> bool,
    ) -> Result<Link, StoreError> {
        let doing = StoreError::while_("filling the tables");
        let first = self.at.seq;
        let mut at = self.at;
        while !enough(at.seq - first) {
            let Some(row) = Batch::holding(to, at.seq + 1).map_err(doing)? else { break };
            at = self.project_row(to, state, &row, at, |seq| enough(seq - first))?;
        }
        set_projected(to, at).map_err(doing)?;
        Ok(at)
    }

    /// The transaction was committed.
    pub(super) fn advanced(&mut self, at: Link) {
        self.at = at;
        for (_, who) in self.waiting.extract_if(.., |(seq, _)| *seq <= at.seq) {
            tell(who, Ok(()));
        }
    }

    /// Whoever waits for the tables will not see them soon.
    pub(super) fn disappoint(&mut self, why: &LedgerError) {
        for (_, who) in self.waiting.drain(..) {
            tell(who, Err(why.clone()));
        }
    }

    fn project_row(
        &mut self,
        to: &Connection,
        state: &State,
        row: &Batch,
        mut at: Link,
        mut enough: impl FnMut(u64) -> bool,
    ) -> Result<Link, StoreError> {
        let done = (at.seq + 1 - row.first_seq) as usize;
        for bytes in row.entries().skip(done) {
            let seq = at.seq + 1;
            let malformed = |fault| StoreError::Corrupt(format!("journal entry {seq}: {fault}"));
            let bytes = bytes.map_err(malformed)?;
            let entry = codec::decode_entry(bytes, &mut self.interner).map_err(malformed)?;
            at = at.then(bytes);
            project(to, state, &entry, at.hash).map_err(StoreError::while_("filling the tables"))?;
            if enough(at.seq) {
                break;
            }
        }
        Ok(at)
    }
}

fn projected(from: &Connection) -> rusqlite::Result<Link> {
    let sql = "SELECT s.value, h.value FROM meta s, meta h WHERE s.name = 'projected_seq' AND h.name = 'projected_hash'";
    let found = from.query_row(sql, [], |row| Ok(Link { seq: row.get(0)?, hash: row.get(1)? }));
    Ok(found.optional()?.unwrap_or(Link::GENESIS))
}

fn set_projected(to: &Connection, at: Link) -> rusqlite::Result<()> {
    let mut set = to
        .prepare_cached("INSERT OR REPLACE INTO meta VALUES ('projected_seq', ?1), ('projected_hash', ?2)")?;
    set.execute((at.seq, at.hash))?;
    Ok(())
}

/// What an entry is about, in names.
#[derive(Default)]
struct About {
    units: Vec<(OfferId, String)>,
    hold: Option<(HoldId, i64)>,
    booking: Option<String>,
    before: Option<&'static str>,
    after: Option<&'static str>,
}

impl About {
    fn turning(mut self, before: &'static str, after: &'static str) -> Self {
        (self.before, self.after) = (Some(before), Some(after));
        self
    }
}

/// Shows one entry in the tables. `state` may be ahead of the entry: of a hold it gives what never changes, its
/// lines and its holder; of an offer, the names of its units.
fn project(to: &Connection, state: &State, entry: &Entry, hash: Hash) -> rusqlite::Result<()> {
    let at = entry.at.ms();
    let about = match &entry.event {
        Event::OfferCreated { offer } => {
            insert_offer(to, entry.seq, at, offer)?;
            let about = About { units: vec![(offer.id().clone(), String::new())], ..About::default() };
            About { after: Some("on_sale"), ..about }
        }
        Event::OfferAmended { offer, .. } => {
            update_offer(to, state, offer)?;
            let about = About { units: vec![(offer.clone(), String::new())], ..About::default() };
            about.turning("on_sale", "on_sale")
        }
        Event::UnitsBlocked { offer, units } => of_units(state, offer, units).turning("available", "blocked"),
        Event::UnitsUnblocked { offer, units } => {
            of_units(state, offer, units).turning("blocked", "available")
        }
        Event::HoldPlaced(placed) => {
            insert_hold(to, state, entry.seq, at, placed)?;
            let hold = Some((placed.hold, entry.seq as i64));
            About { units: of_lines(state, &placed.lines), hold, ..About::default() }
                .turning("available", "held")
        }
        Event::HoldExtended { hold, expires_at } => {
            execute(
                to,
                "UPDATE holds SET expires_ms = ?2, extensions = extensions + 1 WHERE id = ?1",
                (hold.to_string(), expires_at.ms()),
            )?;
            of_hold(to, state, *hold)?.turning("held", "held")
        }
        Event::HoldReleased { hold } => {
            end_hold(to, state, *hold, "released", at)?.turning("held", "available")
        }
        Event::HoldExpired { hold } => {
            end_hold(to, state, *hold, "expired", at)?.turning("held", "available")
        }
        Event::BookingConfirmed { booking, hold } => {
            let about = end_hold(to, state, *hold, "booked", at)?.turning("held", "booked");
            if let (Some((_, hold_seq)), Some(hold)) = (about.hold, state.hold(*hold, Moment::MIN)) {
                insert_booking(to, entry.seq, at, &booking.to_string(), hold, hold_seq)?;
            }
            About { booking: Some(booking.to_string()), ..about }
        }
        Event::BookingCancelled { booking } => {
            let id = booking.to_string();
            execute(
                to,
                "UPDATE bookings SET state = 'cancelled', cancelled_seq = ?2, cancelled_ms = ?3 WHERE id = ?1",
                (&id, entry.seq, at),
            )?;
            let mut about = About { booking: Some(id), ..About::default() }.turning("booked", "available");
            if let Some(booking) = state.booking(*booking) {
                about.units = of_lines(state, &booking.lines);
                about.hold = hold_seq(to, booking.hold)?.map(|seq| (booking.hold, seq));
            }
            about
        }
    };
    insert_entry(to, entry, &about, hash)
}

fn execute(to: &Connection, sql: &str, with: impl rusqlite::Params) -> rusqlite::Result<()> {
    to.prepare_cached(sql)?.execute(with).map(drop)
}

fn of_units(state: &State, offer: &OfferId, units: &[UnitNo]) -> About {
    let keys = state.offer(offer).map(|at| units.iter().map(|&unit| (offer.clone(), at.offer().key(unit))));
    About { units: keys.into_iter().flatten().collect(), ..About::default() }
}

fn of_lines(state: &State, lines: &[Line]) -> Vec<(OfferId, String)> {
    let keys = |line: &Line| {
        let offer = state.offer(&line.offer).map(|at| Arc::clone(at.offer()));
        let id = line.offer.clone();
        line.units().filter_map(move |unit| Some((id.clone(), offer.as_ref()?.key(unit))))
    };
    lines.iter().flat_map(keys).collect()
}

fn of_hold(to: &Connection, state: &State, id: HoldId) -> rusqlite::Result<About> {
    let units = state.hold(id, Moment::MIN).map(|hold| of_lines(state, &hold.lines)).unwrap_or_default();
    let hold = hold_seq(to, id)?.map(|seq| (id, seq));
    Ok(About { units, hold, ..About::default() })
}

fn hold_seq(from: &Connection, id: HoldId) -> rusqlite::Result<Option<i64>> {
    let mut select = from.prepare_cached("SELECT seq FROM holds WHERE id = ?1")?;
    select.query_row([id.to_string()], |row| row.get(0)).optional()
}

fn end_hold(to: &Connection, state: &State, id: HoldId, ended: &str, at_ms: i64) -> rusqlite::Result<About> {
    let about = of_hold(to, state, id)?;
    if let Some((_, seq)) = about.hold {
        execute(to, "UPDATE holds SET state = ?2, ended_ms = ?3 WHERE seq = ?1", (seq, ended, at_ms))?;
    }
    Ok(about)
}

fn insert_offer(to: &Connection, seq: u64, at_ms: i64, offer: &Offer) -> rusqlite::Result<()> {
    let def = offer.def();
    execute(
        to,
        "INSERT INTO offers (seq, id, name, kind, currency, hold_ttl_s, limit_per_holder, created_ms, opens_ms, closes_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        (
            seq,
            def.id.as_str(),
            &def.name,
            offer.kind().as_str(),
            def.currency.code(),
            def.hold_ttl_s,
            def.limit_per_holder,
            at_ms,
            def.opens_at.map(Moment::ms),
            def.closes_at.map(Moment::ms),
        ),
    )
}

fn update_offer(to: &Connection, state: &State, id: &OfferId) -> rusqlite::Result<()> {
    let Some(offer) = state.offer(id) else { return Ok(()) };
    let def = offer.offer().def();
    execute(
        to,
        "UPDATE offers SET name = ?2, hold_ttl_s = ?3, limit_per_holder = ?4, opens_ms = ?5, closes_ms = ?6 WHERE id = ?1",
        (
            id.as_str(),
            &def.name,
            def.hold_ttl_s,
            def.limit_per_holder,
            def.opens_at.map(Moment::ms),
            def.closes_at.map(Moment::ms),
        ),
    )
}

fn insert_hold(
    to: &Connection,
    state: &State,
    seq: u64,
    at_ms: i64,
    placed: &Placed,
) -> rusqlite::Result<()> {
    execute(
        to,
        "INSERT INTO holds (seq, id, holder, state, amount, currency, placed_ms, expires_ms)
         VALUES (?1, ?2, ?3, 'active', ?4, ?5, ?6, ?7)",
        (
            seq,
            placed.hold.to_string(),
            placed.holder.as_str(),
            placed.amount.minor(),
            placed.currency.code(),
            at_ms,
            placed.expires_at.ms(),
        ),
    )?;
    for (n, line) in placed.lines.iter().enumerate() {
        let Some(offer) = state.offer(&line.offer) else { continue };
        let offer = offer.offer();
        execute(
            to,
            "INSERT INTO hold_lines VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                seq,
                n,
                line.offer.as_str(),
                offer.key(line.unit),
                line.qty,
                line.price.minor(),
                service_of(offer, line),
            ),
        )?;
    }
    Ok(())
}

fn service_of<'a>(offer: &'a Offer, line: &Line) -> Option<&'a str> {
    let Inventory::Slots(calendar) = offer.inventory() else { return None };
    calendar.services().get(usize::from(line.service?)).map(|service| service.key.as_str())
}

fn insert_booking(
    to: &Connection,
    seq: u64,
    at_ms: i64,
    id: &str,
    hold: &Hold,
    hold_seq: i64,
) -> rusqlite::Result<()> {
    execute(
        to,
        "INSERT INTO bookings (seq, id, hold, hold_seq, holder, state, amount, currency, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, 'confirmed', ?6, ?7, ?8)",
        (
            seq,
            id,
            hold.id.to_string(),
            hold_seq,
            hold.holder.as_str(),
            hold.amount.minor(),
            hold.currency.code(),
            at_ms,
        ),
    )?;
    hold.lines.iter().try_for_each(|line| {
        execute(to, "INSERT OR IGNORE INTO booking_offers VALUES (?1, ?2)", (line.offer.as_str(), seq))
    })
}

fn insert_entry(to: &Connection, entry: &Entry, about: &About, hash: Hash) -> rusqlite::Result<()> {
    let keys: Vec<&str> =
        about.units.iter().map(|(_, key)| key.as_str()).filter(|key| !key.is_empty()).collect();
    execute(
        to,
        "INSERT INTO journal (seq, at_ms, actor, kind, offer, units, hold, hold_seq, booking, before, after, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        (
            entry.seq,
            entry.at.ms(),
            entry.actor.to_string(),
            entry.event.kind(),
            about.units.first().map(|(offer, _)| offer.as_str()),
            keys.join(" "),
            about.hold.map(|(id, _)| id.to_string()),
            about.hold.map(|(_, seq)| seq),
            &about.booking,
            about.before,
            about.after,
            hash,
        ),
    )?;
    let mut last: Option<&OfferId> = None;
    for (offer, unit) in &about.units {
        if last != Some(offer) {
            execute(to, "INSERT OR IGNORE INTO journal_offers VALUES (?1, ?2)", (offer.as_str(), entry.seq))?;
            last = Some(offer);
        }
        if !unit.is_empty() {
            let unit = (unit, offer.as_str(), entry.seq);
            execute(to, "INSERT OR IGNORE INTO journal_units VALUES (?1, ?2, ?3)", unit)?;
        }
    }
    Ok(())
}
