//! Where rooms are kept: the port, and the file beside an embedded ledger.
//!
//! A room is changed by one at a time, whoever asks: what `work` does to it is kept whole or not at all.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use holdfast_domain::OfferId;
use parking_lot::Mutex;
use rusqlite::Connection;

use super::{
    room::{Kept, Place, Room},
    tickets::{Bearer, Tickets},
    token::Ticket,
};
use crate::{ledger::LedgerError, private_file};

/// Changes a room and the tickets of those whom it is about, given the places at the front of every node's queue, as far
/// as none of them can be missing. May be called again when another was first.
pub type Work<'a> = &'a mut (dyn FnMut(&mut Option<Room>, &mut Tickets, &[Place]) + Send);

/// Which writing of a room it is: another one after every change that was kept.
pub type Edition = i64;

/// A room as it is kept.
#[derive(Debug, Clone)]
pub struct Found {
    pub room: Room,
    pub edition: Edition,
}

/// Those who wait at this node, the first of them.
#[derive(Debug, Clone, Copy)]
pub struct Front<'a> {
    pub node: &'a str,
    pub places: &'a [Place],
    /// Whether that is all of them.
    pub complete: bool,
    /// Whether the others are to be told: they have not heard just this a moment ago.
    pub is_news: bool,
}

impl Front<'_> {
    /// Up to which place nobody who waits here is missing.
    pub fn horizon(&self) -> Place {
        self.places.last().copied().filter(|_| !self.complete).unwrap_or(Place::MAX)
    }
}

#[async_trait]
pub trait RoomStore: Send + Sync + std::fmt::Debug {
    /// Every offer that has a room, and which writing of it there is now: one question, however many rooms there are.
    async fn editions(&self) -> Result<Vec<(OfferId, Edition)>, LedgerError>;

    /// The room as it is. In nobody's way.
    async fn look(&self, offer: &OfferId) -> Result<Option<Found>, LedgerError>;

    /// Lets `work` change the offer's room and the tickets of these, and returns the room as it is then.
    async fn change(
        &self,
        offer: &OfferId,
        front: Front<'_>,
        bearers: &[Bearer],
        work: Work<'_>,
    ) -> Result<Option<Found>, LedgerError>;

    /// Forgets whose ticket is which, when there is nothing to queue for any more. A token is still what it was.
    async fn retire(&self, offer: &OfferId) -> Result<(), LedgerError>;
}

const FILE: &str = "rooms.db";
/// In a file of its own: a rush at the door must not stand in the way of the books.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS rooms
    (offer TEXT PRIMARY KEY, doc TEXT NOT NULL, visits BLOB NOT NULL, used BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tickets
    (offer TEXT NOT NULL, bearer BLOB NOT NULL, run INTEGER NOT NULL, number INTEGER NOT NULL,
     PRIMARY KEY (offer, bearer)) STRICT, WITHOUT ROWID";
const LOAD: &str = "SELECT offer, doc, visits, used FROM rooms";
const SAVE: &str = "INSERT INTO rooms VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (offer) DO UPDATE SET doc = ?2, visits = ?3, used = ?4";
const FIND: &str = "SELECT run, number FROM tickets WHERE offer = ?1 AND bearer = ?2";
const GIVE: &str = "INSERT INTO tickets VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (offer, bearer) DO UPDATE SET run = ?3, number = ?4";
const VOID: &str = "DELETE FROM tickets WHERE offer = ?1 AND run < ?2";
const RETIRE: &str = "DELETE FROM tickets WHERE offer = ?1";

/// Rooms of one process, in a file beside its books or in memory.
#[derive(Debug)]
pub struct FileStore {
    rooms: tokio::sync::Mutex<HashMap<OfferId, Found>>,
    connection: Arc<Mutex<Connection>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the waiting rooms in {} cannot be used: {why}; move the file away to begin with none", place.display())]
pub struct CannotKeep {
    place: PathBuf,
    why: String,
}

impl FileStore {
    /// In this folder, which must be there and be ours.
    pub fn open(folder: &Path) -> Result<Self, CannotKeep> {
        let place = folder.join(FILE);
        private_file::make(&place);
        let opened = Connection::open(&place).and_then(|connection| {
            connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "full")?;
            Ok(connection)
        });
        opened.and_then(Self::on).map_err(|why| CannotKeep { place, why: why.to_string() })
    }

    /// Gone with the process.
    pub fn in_memory() -> Self {
        let opened = Connection::open_in_memory().and_then(Self::on);
        opened.expect("memory can be had")
    }

    fn on(connection: Connection) -> rusqlite::Result<Self> {
        connection.execute_batch(SCHEMA)?;
        let mut rooms = HashMap::new();
        {
            let mut load = connection.prepare(LOAD)?;
            let mut rows = load.query([])?;
            while let Some(row) = rows.next()? {
                let kept = Kept { doc: row.get(1)?, visits: row.get(2)?, used: row.get(3)? };
                let offer = OfferId::new(&row.get::<_, String>(0)?).ok();
                match offer.clone().zip(Room::unfold(&kept)) {
                    Some((offer, room)) => drop(rooms.insert(offer, Found { room, edition: 1 })),
                    None => tracing::error!(?offer, "a waiting room cannot be read and is left out"),
                }
            }
        }
        Ok(Self { rooms: rooms.into(), connection: Arc::new(Mutex::new(connection)) })
    }

    /// Asks the file something, off the threads that serve.
    async fn with_file<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let connection = Arc::clone(&self.connection);
        let why = match tokio::task::spawn_blocking(move || ask(&mut connection.lock())).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(fault)) => fault.to_string(),
            Err(fault) => fault.to_string(),
        };
        Err(LedgerError::Unavailable(format!("the waiting room's file cannot be used: {why}").into()))
    }

    async fn tickets(&self, offer: &OfferId, bearers: &[Bearer]) -> Result<Tickets, LedgerError> {
        if bearers.is_empty() {
            return Ok(Tickets::default());
        }
        let (offer, bearers) = (offer.to_string(), bearers.to_vec());
        let find = move |connection: &mut Connection| {
            let mut find = connection.prepare_cached(FIND)?;
            let mut known = Vec::new();
            for bearer in bearers {
                let mut rows = find.query((&offer, bearer.0))?;
                if let Some(row) = rows.next()? {
                    known.push((bearer, Ticket { run: row.get(0)?, number: row.get(1)? }));
                }
            }
            Ok(Tickets::new(known))
        };
        self.with_file(find).await
    }

    /// The room and what tickets were given for it, both or neither.
    async fn save(
        &self,
        offer: &OfferId,
        room: &Room,
        tickets: &Tickets,
        is_new_run: bool,
    ) -> Result<(), LedgerError> {
        let (name, kept, run) = (offer.to_string(), room.keep(), room.run);
        let given: Vec<_> = tickets.given().collect();
        let save = move |connection: &mut Connection| {
            let change = connection.transaction()?;
            change.execute(SAVE, (&name, kept.doc, kept.visits, kept.used))?;
            for (bearer, ticket) in given {
                change.prepare_cached(GIVE)?.execute((&name, bearer.0, ticket.run, ticket.number))?;
            }
            if is_new_run {
                change.execute(VOID, (&name, run))?;
            }
            change.commit()
        };
        self.with_file(save).await
    }
}

#[async_trait]
impl RoomStore for FileStore {
    async fn editions(&self) -> Result<Vec<(OfferId, Edition)>, LedgerError> {
        let rooms = self.rooms.lock().await;
        Ok(rooms.iter().map(|(offer, found)| (offer.clone(), found.edition)).collect())
    }

    async fn look(&self, offer: &OfferId) -> Result<Option<Found>, LedgerError> {
        Ok(self.rooms.lock().await.get(offer).cloned())
    }

    async fn change(
        &self,
        offer: &OfferId,
        front: Front<'_>,
        bearers: &[Bearer],
        work: Work<'_>,
    ) -> Result<Option<Found>, LedgerError> {
        let mut rooms = self.rooms.lock().await;
        let mut tickets = self.tickets(offer, bearers).await?;
        let before = rooms.get(offer).cloned();
        let edition = before.as_ref().map_or(0, |before| before.edition);
        let before = before.map(|before| before.room);
        let mut room = before.clone();
        work(&mut room, &mut tickets, front.places);
        let Some(room) = room else { return Ok(None) };
        if before.as_ref() == Some(&room) {
            return Ok(Some(Found { room, edition }));
        }
        let is_new_run = before.is_some_and(|before| before.run != room.run);
        self.save(offer, &room, &tickets, is_new_run).await?;
        let found = Found { room, edition: edition + 1 };
        rooms.insert(offer.clone(), found.clone());
        Ok(Some(found))
    }

    async fn retire(&self, offer: &OfferId) -> Result<(), LedgerError> {
        let name = offer.to_string();
        self.with_file(move |connection| connection.execute(RETIRE, (name,)).map(drop)).await
    }
}
