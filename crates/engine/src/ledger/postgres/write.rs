//! Writing effects: one part a table, whole columns at a time, all parts in one statement.
//!
//! Locking rule: whoever writes has locked what it decides upon, in this order and each in the order of its key:
//! offers (advisory: shared by those who claim unit by unit, exclusive for those who settle whole batches), holders,
//! holds, units, and last the offers' rows, which number the entries. Nobody waits for something earlier in that
//! order while holding something later, so nobody waits in a circle.

use holdfast_domain::{Booking, BookingState, Moment, OfferId, Version};
use tokio_postgres::types::Type;

use super::{
    answers::{self, Kept},
    chains::Chain,
    effects::{ClaimChange, Effects, EntryRow, UnitChange, UnitKey},
    holds,
    parts::{self, Column, Part, columns},
    payments, rows,
    session::{Session, Sql, Trouble},
};

const INSERT_OFFERS: Sql = Sql {
    text: "INSERT INTO holdfast.offers (id, name, kind, definition, created_at, version, changed_at)
           SELECT id, name, kind, definition, holdfast.at(at), version, holdfast.at(at)
           FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[])
                AS t(id, name, kind, definition, at, version)
           ON CONFLICT DO NOTHING",
    types: &[
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
    ],
};
const INSERT_UNITS: Sql = Sql {
    text: "INSERT INTO holdfast.units (offer_id, unit_no, capacity)
           SELECT $1, n - 1, c FROM unnest($2::bigint[]) WITH ORDINALITY AS t(c, n)",
    types: &[Type::TEXT, Type::INT8_ARRAY],
};
/// A version never goes back: whoever would do that decided on a copy of other books.
const UPDATE_OFFERS: Sql = Sql {
    text: "UPDATE holdfast.offers o
           SET version = t.version, changed_at = holdfast.at(t.at),
               definition = coalesce(t.definition, o.definition), name = coalesce(t.name, o.name)
           FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[])
                AS t(id, version, at, definition, name)
           WHERE o.id = t.id AND o.version <= t.version",
    types: &[Type::TEXT_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY, Type::BYTEA_ARRAY, Type::TEXT_ARRAY],
};
/// A calendar's cell has a row from the first time that something happens to it.
const INSERT_CELLS: Sql = Sql {
    text: "INSERT INTO holdfast.units (offer_id, unit_no, capacity)
           SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) ORDER BY 1, 2
           ON CONFLICT DO NOTHING",
    types: &[Type::TEXT_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY],
};
const UPDATE_UNITS: Sql = Sql {
    text: "UPDATE holdfast.units u
           SET held = u.held + t.held, booked = u.booked + t.booked, blocked = coalesce(t.blocked, u.blocked),
               capacity = coalesce(t.capacity, u.capacity), fence = u.fence + t.times
           FROM (SELECT unnest($1::text[]) AS offer_id, unnest($2::bigint[]) AS unit_no, unnest($3::bigint[]) AS held,
                        unnest($4::bigint[]) AS booked, unnest($5::bool[]) AS blocked, unnest($6::bigint[]) AS capacity,
                        unnest($7::bigint[]) AS times) AS t
           WHERE u.offer_id = t.offer_id AND u.unit_no = t.unit_no",
    types: &[
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BOOL_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
    ],
};
const CLAIM: &[Type] = &[
    Type::TEXT_ARRAY,
    Type::INT8_ARRAY,
    Type::TEXT_ARRAY,
    Type::INT8_ARRAY,
    Type::BOOL_ARRAY,
    Type::BOOL_ARRAY,
];
/// The claims come in order. A second live claim breaks the unique index, and with it the whole transaction.
///
/// Columns that are unfolded in the list of what is selected go row by row to where they are inserted; those of a table
/// that is selected from are first gathered there, which takes a tenth of the time of the whole statement.
const INSERT_CLAIMS: Sql = Sql {
    text: "INSERT INTO holdfast.claims (offer_id, unit_no, hold_id, qty, exclusive, booked)
           SELECT unnest($1::text[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::bigint[]),
                  unnest($5::bool[]), unnest($6::bool[])",
    types: CLAIM,
};
/// The same for those who ask the index instead: what somebody else has is left out.
const TRY_CLAIMS: Sql = Sql {
    text: "INSERT INTO holdfast.claims (offer_id, unit_no, hold_id, qty, exclusive, booked)
           SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bool[], $6::bool[])
           ON CONFLICT DO NOTHING",
    types: CLAIM,
};
const BOOK_CLAIMS: Sql = Sql {
    text: "UPDATE holdfast.claims c SET booked = true
           FROM unnest($1::text[], $2::bigint[], $3::text[]) AS t(offer_id, unit_no, hold_id)
           WHERE c.offer_id = t.offer_id AND c.unit_no = t.unit_no AND c.hold_id = t.hold_id",
    types: &[Type::TEXT_ARRAY, Type::INT8_ARRAY, Type::TEXT_ARRAY],
};
const DELETE_CLAIMS: Sql = Sql {
    text: "DELETE FROM holdfast.claims c
           USING unnest($1::text[], $2::bigint[], $3::text[]) AS t(offer_id, unit_no, hold_id)
           WHERE c.offer_id = t.offer_id AND c.unit_no = t.unit_no AND c.hold_id = t.hold_id",
    types: &[Type::TEXT_ARRAY, Type::INT8_ARRAY, Type::TEXT_ARRAY],
};
/// Its offers are one text, as those of an entry are.
const PUT_BOOKINGS: Sql = Sql {
    text: "INSERT INTO holdfast.bookings AS b
               (offer_id, id, hold_id, holder, state, amount, currency, created_at, cancelled_at, version, offers, body,
                failed_at)
           SELECT offer_id, id, hold_id, holder, state, amount, currency, holdfast.at(created), holdfast.at(cancelled),
                  version, string_to_array(offers, ' '), body, holdfast.at(failed)
           FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                       $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bytea[], $13::bigint[])
                AS t(offer_id, id, hold_id, holder, state, amount, currency, created, cancelled, version, offers, body,
                     failed)
           ON CONFLICT (offer_id, id) DO UPDATE
           SET state = excluded.state, cancelled_at = excluded.cancelled_at, version = excluded.version,
               failed_at = excluded.failed_at
           WHERE b.state IN ('pending', 'confirmed') OR b.state = excluded.state",
    types: &[
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8_ARRAY,
    ],
};
/// Entries of several offers carry their lists as one text each: arrays of arrays would all have to be equally long.
/// Most have one offer, and then the lists are null. The transaction's number is asked for once.
const INSERT_ENTRIES: Sql = Sql {
    text: "INSERT INTO holdfast.journal
               (xid, chain, link, at, actor, kind, offer_id, offers, before, version, hold_id, booking_id, entry, hash)
           SELECT (SELECT pg_current_xact_id()::text::bigint), $1, link, holdfast.at(at), actor, kind, offer,
                  coalesce(string_to_array(offers, ' '), ARRAY[offer]),
                  coalesce(string_to_array(befores, ' ')::bigint[], ARRAY[before]),
                  version, hold_id, booking_id, entry, hash
           FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
                       $9::text[], $10::bigint[], $11::text[], $12::text[], $13::bytea[], $14::bytea[])
                AS t(link, at, actor, kind, offer, before, offers, befores, version, hold_id, booking_id, entry, hash)
           ORDER BY link",
    types: &[
        Type::INT8,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};

/// The same where each concerns one offer and no booking, and all are of one moment, as in a rush for seats: half the columns.
/// They come in order.
const INSERT_PLAIN_ENTRIES: Sql = Sql {
    text: "INSERT INTO holdfast.journal
               (xid, chain, link, at, actor, kind, offer_id, offers, before, version, hold_id, entry, hash)
           SELECT (SELECT pg_current_xact_id()::text::bigint), $1, link, holdfast.at($2), actor, kind, offer,
                  ARRAY[offer], ARRAY[before], before + 1, hold_id, entry, hash
           FROM (SELECT unnest($3::bigint[]) AS link, unnest($4::text[]) AS actor, unnest($5::text[]) AS kind,
                        unnest($6::text[]) AS offer, unnest($7::bigint[]) AS before, unnest($8::text[]) AS hold_id,
                        unnest($9::bytea[]) AS entry, unnest($10::bytea[]) AS hash) AS t",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};

/// Which of the tables the strategy has already written by its way of claiming.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) units: bool,
    pub(super) claims: bool,
}

/// Writes everything that the strategy has not; returns the chain's new head.
pub(super) async fn rows(
    session: &Session,
    effects: &Effects,
    kept: &[Kept],
    chain: Chain,
    now: Moment,
    done: Done,
) -> Result<Chain, Trouble> {
    let (chain_after, linked) = link(effects, chain);
    ahead(session, effects, done).await?;
    parts::write(session, &parts_of(effects, kept, chain, &linked, now, done)).await?;
    Ok(chain_after)
}

/// Writes everything and commits in the same breath; `written` hears when only the commit is waited for.
pub(super) async fn all_and_commit(
    session: &mut Session,
    effects: &Effects,
    kept: &[Kept],
    chain: Chain,
    now: Moment,
    written: impl FnOnce(),
) -> Result<Chain, Trouble> {
    let (chain_after, linked) = link(effects, chain);
    ahead(session, effects, Done::default()).await?;
    let parts = parts_of(effects, kept, chain, &linked, now, Done::default());
    parts::write_and_commit(session, &parts, written).await?;
    Ok(chain_after)
}

/// What other writes depend on.
async fn ahead(session: &Session, effects: &Effects, done: Done) -> Result<(), Trouble> {
    offers(session, effects).await?;
    if !done.claims {
        // Before new ones are inserted: a seat changes hands within one transaction.
        delete_claims(session, effects).await?;
    }
    if !done.units {
        cells(session, effects).await?;
    }
    Ok(())
}

fn parts_of<'a>(
    effects: &'a Effects,
    kept: &'a [Kept],
    chain: Chain,
    linked: &'a Linked,
    now: Moment,
    done: Done,
) -> Vec<Part<'a>> {
    let parts = [
        units(effects).filter(|_| !done.units),
        new_claims(effects).filter(|_| !done.claims),
        changed_claims(effects, &BOOK_CLAIMS, ClaimChange::Booked),
        holds::fresh(effects),
        holds::placed(effects),
        holds::changed(effects),
        bookings(effects),
        payments::put(effects),
        answers::given(kept, now),
        answers::closed(kept),
        entries(effects, chain.id, linked),
        update_offers(effects),
    ];
    parts.into_iter().flatten().collect()
}

pub(super) async fn commit(session: &mut Session) -> Result<(), Trouble> {
    session.send_commit().await?;
    session.ended();
    Ok(())
}

/// The entries as the chain has them.
#[derive(Debug, Default)]
struct Linked {
    links: Vec<i64>,
    bytes: Vec<Vec<u8>>,
    hashes: Vec<Vec<u8>>,
}

fn link(effects: &Effects, chain: Chain) -> (Chain, Linked) {
    let (mut at, mut linked) = (chain, Linked::default());
    for entry in &effects.entries {
        let bytes = entry.bytes();
        at = at.then(&bytes);
        linked.links.push(at.link);
        linked.hashes.push(at.hash.to_vec());
        linked.bytes.push(bytes);
    }
    (at, linked)
}

async fn offers(session: &Session, effects: &Effects) -> Result<(), Trouble> {
    let created: Vec<_> = effects.offers.values().filter(|offer| offer.created).collect();
    if created.is_empty() {
        return Ok(());
    }
    let offers: Vec<_> = created.iter().filter_map(|change| change.definition.as_deref()).collect();
    let ids: Vec<_> = offers.iter().map(|offer| offer.id().as_str()).collect();
    let names: Vec<_> = offers.iter().map(|offer| offer.def().name.as_str()).collect();
    let kinds: Vec<_> = offers.iter().map(|offer| offer.kind().as_str()).collect();
    let definitions: Vec<_> = offers.iter().map(|offer| rows::definition(offer)).collect();
    let at: Vec<_> = created.iter().map(|change| change.at.ms()).collect();
    let versions: Vec<_> = created.iter().map(|change| change.version.0 as i64).collect();
    let inserted =
        session.change(&INSERT_OFFERS, &[&ids, &names, &kinds, &definitions, &at, &versions]).await?;
    if inserted != ids.len() as u64 {
        return Err(Trouble::lost("another node made this offer first"));
    }
    for offer in offers {
        let capacities: Vec<_> =
            (0..offer.dense_units()).map(|unit| i64::from(offer.capacity(unit))).collect();
        if !capacities.is_empty() {
            session.change(&INSERT_UNITS, &[&offer.id().as_str(), &capacities]).await?;
        }
    }
    Ok(())
}

fn update_offers(effects: &Effects) -> Option<Part<'_>> {
    let (ids, changes): (Vec<_>, Vec<_>) = effects.offers.iter().map(|(id, of)| (id.as_str(), of)).unzip();
    let versions: Vec<_> = changes.iter().map(|change| change.version.0 as i64).collect();
    let at: Vec<_> = changes.iter().map(|change| change.at.ms()).collect();
    let definitions = sparse(changes.iter().map(|change| change.definition.as_deref().map(rows::definition)));
    let names = sparse(
        changes.iter().map(|change| change.definition.as_deref().map(|offer| offer.def().name.as_str())),
    );
    let rows = ids.len();
    let columns = columns![ids, versions, at, definitions, names];
    Part::of(rows, &UPDATE_OFFERS, columns, "an offer is missing, or further than it should be")
}

/// Makes sure that the cells of calendars have rows, before anybody updates or locks them.
pub(super) async fn cells(session: &Session, effects: &Effects) -> Result<(), Trouble> {
    if effects.cells.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = effects.cells.keys().map(|(offer, _)| offer.as_str()).collect();
    let numbers: Vec<_> = effects.cells.keys().map(|(_, unit)| i64::from(*unit)).collect();
    let capacities: Vec<_> = effects.cells.values().map(|capacity| i64::from(*capacity)).collect();
    session.change(&INSERT_CELLS, &[&ids, &numbers, &capacities]).await.map(drop)
}

fn units(effects: &Effects) -> Option<Part<'_>> {
    let (keys, changes): (Vec<&UnitKey>, Vec<&UnitChange>) = effects.units.iter().unzip();
    let ids: Vec<_> = keys.iter().map(|(offer, _)| offer.as_str()).collect();
    let numbers: Vec<_> = keys.iter().map(|(_, unit)| i64::from(*unit)).collect();
    let held: Vec<_> = changes.iter().map(|change| change.held).collect();
    let booked: Vec<_> = changes.iter().map(|change| change.booked).collect();
    let blocked = sparse(changes.iter().map(|change| change.blocked));
    let capacities = sparse(changes.iter().map(|change| change.capacity.map(i64::from)));
    let times: Vec<_> = changes.iter().map(|change| change.times).collect();
    let columns = columns![ids, numbers, held, booked, blocked, capacities, times];
    Part::of(keys.len(), &UPDATE_UNITS, columns, "a unit is missing")
}

fn new_claims(effects: &Effects) -> Option<Part<'_>> {
    let (rows, columns) = claim_columns(effects);
    Part::inserting(rows, &INSERT_CLAIMS, columns)
}

/// The claims that are new: how many, and column by column.
fn claim_columns(effects: &Effects) -> (usize, Vec<Column<'_>>) {
    let (mut ids, mut units, mut holds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut quantities, mut exclusives, mut bookeds) = (Vec::new(), Vec::new(), Vec::new());
    for ((offer, unit, hold), change) in &effects.claims {
        let ClaimChange::Taken { qty, exclusive, booked } = change else { continue };
        ids.push(offer.as_str());
        units.push(i64::from(*unit));
        holds.push(hold.to_string());
        quantities.push(i64::from(*qty));
        exclusives.push(*exclusive);
        bookeds.push(*booked);
    }
    (ids.len(), columns![ids, units, holds, quantities, exclusives, bookeds])
}

/// Inserts the claims that are new, where nobody else has one.
pub(super) async fn try_claims(session: &Session, effects: &Effects) -> Result<(), Trouble> {
    let (rows, columns) = claim_columns(effects);
    parts::write(session, Part::of(rows, &TRY_CLAIMS, columns, "somebody else has a live claim").as_slice())
        .await
}

/// Deletes the claims that ended.
pub(super) async fn delete_claims(session: &Session, effects: &Effects) -> Result<(), Trouble> {
    parts::write(session, changed_claims(effects, &DELETE_CLAIMS, ClaimChange::Gone).as_slice()).await
}

fn changed_claims<'a>(effects: &'a Effects, sql: &'static Sql, which: ClaimChange) -> Option<Part<'a>> {
    let those = || effects.claims.iter().filter(|(_, change)| **change == which).map(|(key, _)| key);
    let ids: Vec<_> = those().map(|(offer, ..)| offer.as_str()).collect();
    let units: Vec<_> = those().map(|(_, unit, _)| i64::from(*unit)).collect();
    let holds: Vec<_> = those().map(|(.., hold)| hold.to_string()).collect();
    Part::of(ids.len(), sql, columns![ids, units, holds], "a claim is missing")
}

fn bookings(effects: &Effects) -> Option<Part<'_>> {
    let bookings: Vec<&Booking> = effects.bookings.values().collect();
    let of = || bookings.iter();
    let columns = columns![
        of().map(|booking| rows::home(&booking.lines).as_str()).collect::<Vec<_>>(),
        of().map(|booking| booking.id.to_string()).collect::<Vec<_>>(),
        of().map(|booking| booking.hold.to_string()).collect::<Vec<_>>(),
        of().map(|booking| booking.holder.as_str()).collect::<Vec<_>>(),
        of().map(|booking| booking.state.as_str()).collect::<Vec<_>>(),
        of().map(|booking| booking.amount.minor() as i64).collect::<Vec<_>>(),
        of().map(|booking| booking.currency.code()).collect::<Vec<_>>(),
        of().map(|booking| booking.created_at.ms()).collect::<Vec<_>>(),
        sparse(of().map(|booking| match booking.state {
            BookingState::Cancelled { at } => Some(at.ms()),
            _ => None,
        })),
        of().map(|booking| booking.version.0 as i64).collect::<Vec<_>>(),
        of().map(|booking| spaced(rows::offers_of(&booking.lines).iter())).collect::<Vec<_>>(),
        of().map(|booking| rows::booking_body(booking)).collect::<Vec<_>>(),
        sparse(of().map(|booking| match booking.state {
            BookingState::Failed { at } => Some(at.ms()),
            _ => None,
        })),
    ];
    Part::of(bookings.len(), &PUT_BOOKINGS, columns, "a booking is cancelled already")
}

fn entries<'a>(effects: &'a Effects, chain: i64, linked: &'a Linked) -> Option<Part<'a>> {
    let of = &effects.entries;
    // All of them or none: those of two statements would not be numbered in the order of the chain.
    match of.iter().map(EntryRow::plain).collect::<Option<Vec<_>>>() {
        Some(plain) if of.iter().all(|entry| entry.at == of[0].at) => {
            plain_entries(of, &plain, chain, linked)
        }
        _ => all_entries(of, chain, linked),
    }
}

fn plain_entries<'a>(
    of: &'a [EntryRow],
    plain: &[(&'a OfferId, Version)],
    chain: i64,
    linked: &'a Linked,
) -> Option<Part<'a>> {
    let at = of.first()?.at.ms();
    let actors: Vec<_> = of.iter().map(|entry| entry.actor.to_string()).collect();
    let kinds: Vec<_> = of.iter().map(|entry| entry.event.kind()).collect();
    let offers: Vec<_> = plain.iter().map(|(offer, _)| offer.as_str()).collect();
    let before: Vec<_> = plain.iter().map(|(_, before)| before.0 as i64).collect();
    let holds: Vec<_> = of.iter().map(|entry| entry.hold.map(|hold| hold.to_string())).collect();
    let Linked { links, bytes, hashes } = linked;
    let columns = columns![chain, at, links, actors, kinds, offers, before, holds, bytes, hashes];
    Part::inserting(of.len(), &INSERT_PLAIN_ENTRIES, columns)
}

fn all_entries<'a>(of: &'a [EntryRow], chain: i64, linked: &'a Linked) -> Option<Part<'a>> {
    let several = |entry: &&EntryRow| entry.offers.len() > 1;
    let at: Vec<_> = of.iter().map(|entry| entry.at.ms()).collect();
    let actors: Vec<_> = of.iter().map(|entry| entry.actor.to_string()).collect();
    let kinds: Vec<_> = of.iter().map(|entry| entry.event.kind()).collect();
    let offer: Vec<_> = of.iter().map(|entry| entry.offers.first().map(|offer| offer.as_str())).collect();
    let before: Vec<_> =
        of.iter().map(|entry| entry.before.first().map(|version| version.0 as i64)).collect();
    let offers =
        sparse(of.iter().map(|entry| Some(entry).filter(several).map(|entry| spaced(entry.offers.iter()))));
    let befores = sparse(of.iter().map(|entry| {
        Some(entry).filter(several).map(|entry| spaced(entry.before.iter().map(|version| version.0)))
    }));
    let versions: Vec<_> = of.iter().map(|entry| entry.version.0 as i64).collect();
    let holds: Vec<_> = of.iter().map(|entry| entry.hold.map(|hold| hold.to_string())).collect();
    let bookings = sparse(of.iter().map(|entry| entry.booking.map(|booking| booking.to_string())));
    let Linked { links, bytes, hashes } = linked;
    let columns = columns![
        chain, links, at, actors, kinds, offer, before, offers, befores, versions, holds, bookings, bytes,
        hashes,
    ];
    Part::inserting(of.len(), &INSERT_ENTRIES, columns)
}

/// A column in which most batches have nothing at all. Then it is sent without rows, and `unnest` fills it up with nulls.
pub(super) fn sparse<T>(column: impl Iterator<Item = Option<T>>) -> Vec<Option<T>> {
    let column: Vec<Option<T>> = column.collect();
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

/// All of them in one text.
fn spaced<T: ToString>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}
