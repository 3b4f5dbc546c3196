//! All rooms, as the server sees them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use holdfast_domain::{HolderId, Moment, OfferId};
use parking_lot::{Mutex, RwLock};
use tokio::{sync::watch, task::AbortHandle, time::interval};

use super::{
    desk::{self, Desk, RoomCopy, Told, Wish},
    room::{Entry, Lottery, Mode, Plan, Room, RoomState},
    standing::{Standing, TicketState},
    store::RoomStore,
    tickets::Bearer,
    token::{Pass, Signer, Ticket},
};
use crate::{
    clock::Clock,
    ledger::{Ledger, LedgerError},
    mint,
};

#[derive(Debug, Clone)]
pub struct Settings {
    /// How often those whose turn it is are called, and how old what a node knows of a room may be.
    pub turn_every: Duration,
    /// Visitors that a node remembers as being there, for each room.
    pub presences: usize,
    /// How many of those at the front a node tells the others of.
    pub front: usize,
    /// Tickets for one room.
    pub tickets: u32,
    /// Wishes that may wait at a desk; one more hears "overloaded".
    pub queue: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            turn_every: Duration::from_secs(1),
            presences: 500_000,
            front: 1_024,
            tickets: 10_000_000,
            queue: 16_384,
        }
    }
}

/// What all desks share.
#[derive(Debug)]
pub(super) struct Shared {
    pub store: Arc<dyn RoomStore>,
    pub ledger: Arc<dyn Ledger>,
    pub clock: Arc<dyn Clock>,
    pub settings: Settings,
    /// This node's name among the others.
    pub node: String,
}

#[derive(Debug)]
pub struct Rooms {
    shared: Arc<Shared>,
    signer: Signer,
    desks: RwLock<HashMap<OfferId, Arc<Desk>>>,
    tasks: Mutex<Vec<AbortHandle>>,
}

/// Why somebody does not get what they want of a room.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Denied {
    /// No ticket, a forged one, another's, or one that is void by now.
    #[error("there is no such ticket")]
    NoTicket,
    #[error("it is not their turn yet")]
    NotYet(Standing),
    /// The ticket has been used.
    #[error("the visit is over")]
    Ended,
    #[error("nobody is let in")]
    Closed,
    /// There are no more tickets.
    #[error("there are no more tickets")]
    Full,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What everybody may know of a room: the same for all.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    pub state: RoomState,
    /// What the organiser did to it, which a state may hide: a room with nothing left may be paused as well.
    pub mode: Mode,
    pub plan: Plan,
    pub run: u32,
    pub issued: u32,
    pub serving: u32,
    pub inside: usize,
    pub admitted: u64,
    pub sellable: Option<u64>,
    pub drain_per_minute: u32,
    pub lottery: Option<Lottery>,
}

impl Board {
    fn of(room: &Room, now: Moment) -> Self {
        Self {
            state: room.state(now),
            mode: room.mode,
            plan: room.plan.clone(),
            run: room.run,
            issued: room.issued,
            serving: room.serving,
            inside: room.inside(now),
            admitted: room.admitted,
            sellable: room.sellable,
            drain_per_minute: room.drain_per_minute().round() as u32,
            lottery: room.lottery.clone(),
        }
    }
}

/// A token, and where its owner stands. `None` where there is no queue, and no token is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub token: Option<String>,
    pub standing: Option<Standing>,
    /// Given just now, not before.
    pub fresh: bool,
}

const NO_QUEUE: Given = Given { token: None, standing: None, fresh: false };

impl Rooms {
    /// Opens the rooms that there are. Needs a Tokio runtime.
    pub async fn open(
        store: Arc<dyn RoomStore>,
        ledger: Arc<dyn Ledger>,
        clock: Arc<dyn Clock>,
        secret: [u8; 32],
        settings: Settings,
    ) -> Result<Arc<Self>, LedgerError> {
        let node = format!("{:032x}", mint::random_bits());
        let shared = Arc::new(Shared { store, ledger, clock, settings, node });
        let signer = Signer::new(secret);
        let rooms = Arc::new(Self { shared, signer, desks: RwLock::default(), tasks: Mutex::default() });
        rooms.look_around().await?;
        let desks: Vec<_> = rooms.desks.read().values().cloned().collect();
        for desk in desks {
            desk.known().await?;
        }
        let watching =
            tokio::spawn(watch_for_rooms(Arc::downgrade(&rooms), rooms.shared.settings.turn_every));
        rooms.tasks.lock().push(watching.abort_handle());
        Ok(rooms)
    }

    /// Finds the rooms that another node has opened, and what other nodes did to those that are known.
    async fn look_around(&self) -> Result<(), LedgerError> {
        for (offer, edition) in self.shared.store.editions().await? {
            self.desk_for(&offer).hear_of(edition);
        }
        Ok(())
    }

    /// Whether no offer has a room.
    pub fn is_empty(&self) -> bool {
        self.desks.read().is_empty()
    }

    fn desk(&self, offer: &OfferId) -> Option<Arc<Desk>> {
        self.desks.read().get(offer).cloned()
    }

    fn desk_for(&self, offer: &OfferId) -> Arc<Desk> {
        if let Some(desk) = self.desk(offer) {
            return desk;
        }
        let mut desks = self.desks.write();
        if let Some(desk) = desks.get(offer) {
            return Arc::clone(desk);
        }
        let (desk, inbox) = Desk::open(offer.clone(), &self.shared);
        let working = tokio::spawn(desk::work(Arc::clone(&desk), inbox, Arc::clone(&self.shared)));
        self.tasks.lock().push(working.abort_handle());
        desks.insert(offer.clone(), Arc::clone(&desk));
        desk
    }

    /// The organiser's plan for the room; there is one from now on.
    pub async fn plan(&self, offer: &OfferId, plan: Plan) -> Result<Board, LedgerError> {
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(&mint::random_bits().to_le_bytes());
        seed[16..].copy_from_slice(&mint::random_bits().to_le_bytes());
        let desk = self.desk_for(offer);
        desk.ask(Wish::Plan(plan, seed)).await?;
        let gone = || LedgerError::Unavailable("the waiting room cannot be read".into());
        self.board(offer).await?.ok_or_else(gone)
    }

    /// Pauses, resumes or opens the room to all; `None` where there is none.
    pub async fn set_mode(&self, offer: &OfferId, mode: Mode) -> Result<Option<Board>, LedgerError> {
        let Some(desk) = self.desk(offer) else { return Ok(None) };
        desk.ask(Wish::Mode(mode)).await?;
        self.board(offer).await
    }

    /// `None` where there is no room.
    pub async fn board(&self, offer: &OfferId) -> Result<Option<Board>, LedgerError> {
        let Some(desk) = self.desk(offer) else { return Ok(None) };
        Ok(desk.known().await?.map(|copy| Board::of(&copy.room, self.shared.clock.now())))
    }

    /// Lets the room take its turn now.
    pub async fn turn(&self, offer: &OfferId) -> Result<(), LedgerError> {
        match self.desk(offer) {
            Some(desk) => desk.ask(Wish::Turn).await.map(drop),
            None => Ok(()),
        }
    }

    /// The desk and its room, if holds have to pass by it.
    async fn gating(&self, offer: &OfferId) -> Result<Option<(Arc<Desk>, Arc<RoomCopy>)>, LedgerError> {
        let Some(desk) = self.desk(offer) else { return Ok(None) };
        let copy = desk.known().await?;
        let now = self.shared.clock.now();
        Ok(copy.filter(|copy| !copy.room.state(now).lets_everybody_in()).map(|copy| (desk, copy)))
    }

    /// The ticket among these tokens that is this holder's, for the room as it is.
    fn ticket<'a>(
        &self,
        desk: &Desk,
        copy: &RoomCopy,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Option<Ticket> {
        let mine = |token| self.signer.read_ticket(token, &desk.offer, holder);
        // The copy may be a moment old, so a number that it has not heard of yet may be good. Of several the newest is.
        let of_this_run = tokens.into_iter().filter_map(mine).filter(|ticket| ticket.run == copy.room.run);
        of_this_run.max_by_key(|ticket| ticket.number)
    }

    /// Whether somebody who joins has no need of a new ticket: one of theirs is good, or there is no queue.
    pub async fn has_ticket<'a>(
        &self,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<bool, LedgerError> {
        let Some((desk, copy)) = self.gating(offer).await? else { return Ok(true) };
        let Some(ticket) = self.ticket(&desk, &copy, holder, tokens) else { return Ok(false) };
        let standing = Standing::of(&copy.room, &copy.order, ticket.number, self.shared.clock.now());
        Ok(standing.state != TicketState::Ended)
    }

    /// Joins the queue. Who has a ticket keeps it, also one who has lost the token.
    pub async fn join<'a>(
        &self,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<Given, Denied> {
        let Some((desk, copy)) = self.gating(offer).await? else { return Ok(NO_QUEUE) };
        let now = self.shared.clock.now();
        if copy.room.state(now) == RoomState::Closed {
            return Err(Denied::Closed);
        }
        if let Some(ticket) = self.ticket(&desk, &copy, holder, tokens) {
            let standing = Standing::of(&copy.room, &copy.order, ticket.number, now);
            if standing.state != TicketState::Ended {
                let token = Some(self.signer.ticket(offer, ticket, holder));
                return Ok(Given { token, standing: Some(self.saw(&desk, standing)), fresh: false });
            }
        }
        let (ticket, fresh) = match desk.ask(Wish::Join(Bearer::of(holder))).await? {
            Told::Joined { ticket, fresh } => (ticket, fresh),
            Told::Full => return Err(Denied::Full),
            _ => return Ok(NO_QUEUE),
        };
        let copy = desk.known().await?.unwrap_or(copy);
        let standing = self.saw(&desk, Standing::of(&copy.room, &copy.order, ticket.number, now));
        Ok(Given { token: Some(self.signer.ticket(offer, ticket, holder)), standing: Some(standing), fresh })
    }

    /// Notes that somebody is there.
    fn saw(&self, desk: &Desk, standing: Standing) -> Standing {
        if standing.state == TicketState::Waiting {
            desk.presence.lock().seen(standing.presence(), standing.present_until(self.shared.clock.now()));
        }
        standing
    }

    /// Where the owner of a ticket stands; `None` where there is no queue.
    pub async fn standing<'a>(
        &self,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<Standing>, Denied> {
        let Some((desk, copy)) = self.gating(offer).await? else { return Ok(None) };
        let ticket = self.ticket(&desk, &copy, holder, tokens).ok_or(Denied::NoTicket)?;
        let now = self.shared.clock.now();
        Ok(Some(self.saw(&desk, Standing::of(&copy.room, &copy.order, ticket.number, now))))
    }

    /// The same, whenever it may have changed; who follows is there. `None` where there is no queue.
    pub async fn follow<'a>(
        self: &Arc<Self>,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<Following>, Denied> {
        let Some((desk, copy)) = self.gating(offer).await? else { return Ok(None) };
        let ticket = self.ticket(&desk, &copy, holder, tokens).ok_or(Denied::NoTicket)?;
        let changes = desk.copy.subscribe();
        Ok(Some(Following { rooms: Arc::clone(self), desk, changes, ticket, told: None }))
    }

    /// Exchanges the ticket of somebody whose turn it is for a pass.
    pub async fn enter<'a>(
        &self,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<Given, Denied> {
        let Some((desk, copy)) = self.gating(offer).await? else { return Ok(NO_QUEUE) };
        let ticket = self.ticket(&desk, &copy, holder, tokens).ok_or(Denied::NoTicket)?;
        let told = desk.ask(Wish::Enter(ticket)).await?;
        let copy = desk.known().await?.unwrap_or(copy);
        let now = self.shared.clock.now();
        let standing = Standing::of(&copy.room, &copy.order, ticket.number, now);
        match told {
            Told::Entry(Entry::Inside { until }) => {
                let token = Some(self.signer.pass(offer, Pass { ticket, until }, holder));
                Ok(Given { token, standing: Some(standing), fresh: true })
            }
            Told::Entry(Entry::NotYet) => match copy.room.state(now) {
                RoomState::Closed => Err(Denied::Closed),
                _ => Err(Denied::NotYet(self.saw(&desk, standing))),
            },
            Told::Entry(Entry::Used) => Err(Denied::Ended),
            _ => Err(Denied::NoTicket),
        }
    }

    /// Gives up the ticket, and the place inside. Before a draw the ticket stays in it, for whoever comes back.
    pub async fn leave<'a>(
        &self,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Denied> {
        self.go_out(offer, holder, tokens, Wish::Leave).await
    }

    async fn go_out<'a>(
        &self,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
        wish: fn(Bearer, Option<Ticket>) -> Wish,
    ) -> Result<(), Denied> {
        let Some(desk) = self.desk(offer) else { return Ok(()) };
        let Some(copy) = desk.known().await? else { return Ok(()) };
        let sent = self.ticket(&desk, &copy, holder, tokens);
        if let Told::Left(ticket) = desk.ask(wish(Bearer::of(holder), sent)).await? {
            let known_by = desk.known().await?.and_then(|copy| copy.order.place(ticket.number));
            desk.presence.lock().gone(known_by.unwrap_or(ticket.number));
        }
        Ok(())
    }

    /// Whether a browser may hold units of this offer now; if it needs a pass to, with which one.
    pub async fn admit<'a>(
        &self,
        offer: &OfferId,
        holder: &HolderId,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<Pass>, Denied> {
        let Some((desk, copy)) = self.gating(offer).await? else { return Ok(None) };
        let now = self.shared.clock.now();
        let mine = |token| self.signer.read_pass(token, &desk.offer, holder);
        let pass = tokens.into_iter().filter_map(mine).find(|pass| pass.ticket.run == copy.room.run);
        let Some(pass) = pass else {
            return Err(match copy.room.state(now) {
                RoomState::Closed => Denied::Closed,
                _ => Denied::NoTicket,
            });
        };
        let place = copy.order.place(pass.ticket.number).ok_or(Denied::NoTicket)?;
        // Another node may have let them in a moment ago, so a pass of ours is believed until this node has looked.
        let unheard = copy.room.visit(place).is_none_or(|visit| !visit.entered) && !copy.room.is_used(place);
        match now < pass.until && (copy.room.admits(place, now) || unheard) {
            true => Ok(Some(pass)),
            false => Err(Denied::Ended),
        }
    }

    /// Who has bought makes room for the next; who bought while they waited goes on waiting. Nobody's token is needed:
    /// the bank may be the first to say so.
    pub async fn bought(&self, offer: &OfferId, holder: &HolderId) -> Result<(), Denied> {
        match self.gating(offer).await? {
            Some(_) => self.go_out(offer, holder, [], Wish::Bought).await,
            None => Ok(()),
        }
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        self.tasks.lock().iter().for_each(AbortHandle::abort);
    }
}

async fn watch_for_rooms(rooms: std::sync::Weak<Rooms>, every: Duration) {
    let mut tick = interval(every.max(Duration::from_millis(100)));
    loop {
        tick.tick().await;
        let Some(rooms) = rooms.upgrade() else { return };
        if let Err(fault) = rooms.look_around().await {
            tracing::debug!(%fault, "cannot look for waiting rooms");
        }
    }
}

/// Somebody who waits and listens.
#[derive(Debug)]
pub struct Following {
    rooms: Arc<Rooms>,
    desk: Arc<Desk>,
    changes: watch::Receiver<Option<Arc<RoomCopy>>>,
    ticket: Ticket,
    told: Option<Standing>,
}

impl Following {
    /// Where they stand, as soon as that is another place than they were told; `None` when the room is no more.
    pub async fn next(&mut self) -> Option<Standing> {
        loop {
            let copy = self.changes.borrow_and_update().clone()?;
            if copy.room.run != self.ticket.run {
                return None;
            }
            let now = self.rooms.shared.clock.now();
            let standing = Standing::of(&copy.room, &copy.order, self.ticket.number, now);
            let standing = self.rooms.saw(&self.desk, standing);
            if self.told.as_ref() != Some(&standing) {
                self.told = Some(standing.clone());
                return Some(standing);
            }
            self.changes.changed().await.ok()?;
        }
    }
}
