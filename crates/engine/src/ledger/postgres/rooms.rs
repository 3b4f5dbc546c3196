//! Waiting rooms that all nodes share: one row a room, changed by one node at a time. When it was last changed tells one
//! writing of it from another, so that a room that rests is not read again and again.

use async_trait::async_trait;
use holdfast_domain::OfferId;
use tokio_postgres::{Row, types::Type};

use super::{
    PostgresLedger,
    session::{Session, Sql, Trouble},
};
use crate::{
    admission::waiting_room::{
        Kept, Place, Room, Ticket,
        store::{Edition, Found, Front, RoomStore, Work},
        tickets::{Bearer, Tickets},
    },
    ledger::LedgerError,
};

const EDITIONS: Sql = Sql {
    text: "SELECT offer_id, (extract(epoch FROM changed_at) * 1000000)::int8 FROM holdfast.rooms",
    types: &[],
};
const LOOK: Sql = Sql {
    text: "SELECT doc, visits, used, (extract(epoch FROM changed_at) * 1000000)::int8
           FROM holdfast.rooms WHERE offer_id = $1",
    types: &[Type::TEXT],
};
/// Locking rule: the room's row, first of all and until the commit; everything else of the room is touched only under it.
const TAKE: Sql = Sql {
    text: "SELECT doc, visits, used, (extract(epoch FROM changed_at) * 1000000)::int8
           FROM holdfast.rooms WHERE offer_id = $1 FOR UPDATE",
    types: &[Type::TEXT],
};
const MAKE: Sql = Sql {
    text: "INSERT INTO holdfast.rooms (offer_id, doc, visits, used) VALUES ($1, $2, $3, $4)
           ON CONFLICT (offer_id) DO NOTHING RETURNING (extract(epoch FROM changed_at) * 1000000)::int8",
    types: &[Type::TEXT, Type::TEXT, Type::BYTEA, Type::BYTEA],
};
const PUT: Sql = Sql {
    text: "UPDATE holdfast.rooms SET doc = $2, visits = $3, used = $4, changed_at = clock_timestamp()
           WHERE offer_id = $1 RETURNING (extract(epoch FROM changed_at) * 1000000)::int8",
    types: &[Type::TEXT, Type::TEXT, Type::BYTEA, Type::BYTEA],
};
const TELL: Sql = Sql {
    text: "INSERT INTO holdfast.room_fronts VALUES ($1, $2, $3, clock_timestamp())
           ON CONFLICT (offer_id, node) DO UPDATE SET places = excluded.places, seen_at = excluded.seen_at",
    types: &[Type::TEXT, Type::TEXT, Type::BYTEA],
};
/// A node that says nothing for a few seconds has gone, and its visitors with it; they come back through another. What was
/// said at a time that is yet to come was said before the clock was set back: a node that is there says it again.
const HEAR: Sql = Sql {
    text: "SELECT places FROM holdfast.room_fronts
           WHERE offer_id = $1 AND node <> $2 AND seen_at > clock_timestamp() - interval '4 seconds'
             AND seen_at < clock_timestamp() + interval '4 seconds'",
    types: &[Type::TEXT, Type::TEXT],
};
const FORGET: Sql = Sql {
    text: "DELETE FROM holdfast.room_fronts WHERE offer_id = $1 AND seen_at < clock_timestamp() - interval '1 hour'",
    types: &[Type::TEXT],
};
/// Whose ticket is which. Under the room's row, as all of it: two nodes that a session asks at once give it one.
const FIND: Sql = Sql {
    text: "SELECT bearer, run, number FROM holdfast.room_tickets WHERE offer_id = $1 AND bearer = ANY ($2)",
    types: &[Type::TEXT, Type::BYTEA_ARRAY],
};
const GIVE: Sql = Sql {
    text: "INSERT INTO holdfast.room_tickets (offer_id, bearer, run, number)
           SELECT $1, given.* FROM unnest($2, $3, $4) AS given
           ON CONFLICT (offer_id, bearer) DO UPDATE SET run = excluded.run, number = excluded.number",
    types: &[Type::TEXT, Type::BYTEA_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY],
};
const VOID: Sql = Sql {
    text: "DELETE FROM holdfast.room_tickets WHERE offer_id = $1 AND run < $2",
    types: &[Type::TEXT, Type::INT8],
};

const RETIRE: Sql = Sql {
    text: "DELETE FROM holdfast.room_tickets WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM holdfast.room_tickets WHERE offer_id = $1 LIMIT $2))",
    types: &[Type::TEXT, Type::INT8],
};
/// Tickets forgotten at once.
const RETIRE_SLICE: i64 = 10_000;

/// How often a change is tried that lost a race.
const ATTEMPTS: usize = 4;

#[async_trait]
impl RoomStore for PostgresLedger {
    async fn editions(&self) -> Result<Vec<(OfferId, Edition)>, LedgerError> {
        let rows = self.books.sessions.ordinary().await?.rows(&EDITIONS, &[]).await?;
        Ok(rows.iter().filter_map(|row| Some((OfferId::new(row.get(0)).ok()?, row.get(1)))).collect())
    }

    async fn look(&self, offer: &OfferId) -> Result<Option<Found>, LedgerError> {
        let rows = self.books.sessions.ordinary().await?.rows(&LOOK, &[&offer.as_str()]).await?;
        Ok(rows.first().map(|row| found(offer, row)).transpose()?.map(|(_, found)| found))
    }

    async fn retire(&self, offer: &OfferId) -> Result<(), LedgerError> {
        let session = self.books.sessions.ordinary().await?;
        while session.change(&RETIRE, &[&offer.as_str(), &RETIRE_SLICE]).await? == RETIRE_SLICE as u64 {}
        Ok(())
    }

    async fn change(
        &self,
        offer: &OfferId,
        front: Front<'_>,
        bearers: &[Bearer],
        work: Work<'_>,
    ) -> Result<Option<Found>, LedgerError> {
        let mut attempt = 1;
        loop {
            let mut session = self.books.sessions.ordinary().await?;
            session.begin().await?;
            match change(&session, offer, front, bearers, work).await {
                Ok(found) => {
                    session.send_commit().await?;
                    session.ended();
                    return Ok(found);
                }
                Err(Trouble::Lost(_)) if attempt < ATTEMPTS => attempt += 1,
                Err(trouble) => return Err(trouble.into()),
            }
        }
    }
}

async fn change(
    session: &Session,
    offer: &OfferId,
    front: Front<'_>,
    bearers: &[Bearer],
    work: Work<'_>,
) -> Result<Option<Found>, Trouble> {
    let taken = session.rows(&TAKE, &[&offer.as_str()]).await?;
    let (before, room) = taken.first().map(|row| found(offer, row)).transpose()?.unzip();
    let (mut room, mut edition) = room.map(|Found { room, edition }| (room, edition)).unzip();
    let present = match before {
        Some(_) => fronts(session, offer, front).await?,
        None => front.places.to_vec(),
    };
    let mut tickets = find(session, offer, bearers).await?;
    let run_before = room.as_ref().map(|room| room.run);
    work(&mut room, &mut tickets, &present);
    let after = room.as_ref().map(Room::keep);
    if let Some(Kept { doc, visits, used }) = after.as_ref().filter(|_| after != before) {
        let sql = if before.is_some() { &PUT } else { &MAKE };
        let written = session.rows(sql, &[&offer.as_str(), doc, visits, used]).await?;
        let lost = || Trouble::lost("another node has made the room");
        edition = Some(written.first().ok_or_else(lost)?.get(0));
    }
    give(session, offer, &tickets).await?;
    if let (Some(before), Some(room)) = (run_before, &room)
        && before != room.run
    {
        session.change(&VOID, &[&offer.as_str(), &i64::from(room.run)]).await?;
    }
    Ok(room.zip(edition).map(|(room, edition)| Found { room, edition }))
}

/// A row of a room, as it lies there and as it is read.
fn found(offer: &OfferId, row: &Row) -> Result<(Kept, Found), Trouble> {
    let kept = Kept { doc: row.get(0), visits: row.get(1), used: row.get(2) };
    let unreadable = || Trouble::Down(format!("the waiting room of {offer} cannot be read").into());
    let room = Room::unfold(&kept).ok_or_else(unreadable)?;
    Ok((kept, Found { room, edition: row.get(3) }))
}

async fn find(session: &Session, offer: &OfferId, bearers: &[Bearer]) -> Result<Tickets, Trouble> {
    if bearers.is_empty() {
        return Ok(Tickets::default());
    }
    let wanted: Vec<&[u8]> = bearers.iter().map(|bearer| bearer.0.as_slice()).collect();
    let rows = session.rows(&FIND, &[&offer.as_str(), &wanted]).await?;
    let known = rows.iter().filter_map(|row| {
        let bearer = Bearer(row.get::<_, &[u8]>(0).try_into().ok()?);
        let number = |at| u32::try_from(row.get::<_, i64>(at)).ok();
        Some((bearer, Ticket { run: number(1)?, number: number(2)? }))
    });
    Ok(Tickets::new(known))
}

async fn give(session: &Session, offer: &OfferId, tickets: &Tickets) -> Result<(), Trouble> {
    let given: Vec<_> = tickets.given().collect();
    if given.is_empty() {
        return Ok(());
    }
    let bearers: Vec<&[u8]> = given.iter().map(|(bearer, _)| bearer.0.as_slice()).collect();
    let runs: Vec<i64> = given.iter().map(|(_, ticket)| ticket.run.into()).collect();
    let numbers: Vec<i64> = given.iter().map(|(_, ticket)| ticket.number.into()).collect();
    session.change(&GIVE, &[&offer.as_str(), &bearers, &runs, &numbers]).await?;
    Ok(())
}

/// Tells the others who waits here, and hears who waits there: all of them in the order of their places, as far as every
/// node has told. Beyond that somebody may stand whom only another node knows, and who comes first.
///
/// Behind its places a node writes one that nobody has, if there are no more of them.
async fn fronts(session: &Session, offer: &OfferId, front: Front<'_>) -> Result<Vec<Place>, Trouble> {
    let offer = offer.as_str();
    let end = front.complete.then_some(Place::MAX);
    let own: Vec<u8> = front.places.iter().copied().chain(end).flat_map(Place::to_be_bytes).collect();
    if front.is_news {
        session.change(&TELL, &[&offer, &front.node, &own]).await?;
    }
    let others = session.rows(&HEAR, &[&offer, &front.node]).await?;
    if front.is_news && others.is_empty() {
        session.change(&FORGET, &[&offer]).await?;
    }
    let (mut present, mut horizon) = (front.places.to_vec(), front.horizon());
    for row in &others {
        let (places, _) = row.get::<_, &[u8]>(0).as_chunks::<4>();
        let places = places.iter().map(|place| Place::from_be_bytes(*place));
        horizon = places.clone().next_back().map_or(horizon, |last| last.min(horizon));
        present.extend(places);
    }
    present.retain(|place| *place <= horizon && *place < Place::MAX);
    present.sort_unstable();
    present.dedup();
    Ok(present)
}
