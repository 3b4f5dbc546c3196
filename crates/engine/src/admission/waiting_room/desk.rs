//! The desk of one room at one node: gathers what visitors want and does all of it in one change of the room, as a ledger
//! gathers commands into one commit. While one change is under way the next ones gather, so a rush of any size is
//! answered at the pace of the store.
//!
//! ```text
//!            somebody wants something, or is there; it is time to draw
//! resting ◄───────────────────────────────────────────────────────────► serving: a change every turn
//!    │ nobody is there, and the others have been told so
//!    └─ another node has changed the room: it is read, and nobody is kept from it
//! ```
//! Of a room that rests nothing is taken and nothing written, however many of them there are: what ends by itself (a call,
//! a visit, the wait for the opening) ends by the clock, whoever looks.

use std::{sync::Arc, time::Duration};

use holdfast_domain::{Inventory, Moment, OfferId};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    order::Order,
    presence::{self, Presence},
    room::{Entry, Mode, Place, Plan, Room},
    rooms::Shared,
    store::{Edition, Found, Front},
    tickets::{Bearer, Tickets},
    token::Ticket,
};
use crate::ledger::{LedgerError, OfferView};

/// Wishes that one change takes along.
const MAX_BATCH: usize = 1024;
/// What the others heard so lately need not be told again. They believe it for some seconds.
const JUST_TOLD: Duration = Duration::from_millis(500);
/// While a room rests, every so many turns somebody looks what is left to sell: only whoever looks at the board wants to
/// know. Every turn while somebody follows.
const LEISURE: u32 = 5;
/// And every so many, whether the sale is over.
const RETIREMENT: u32 = 3_600;
/// From the close of an offer until nobody can want a ticket for it, unless it was a mistake.
const OVER_MS: i64 = 24 * 3600 * 1000;

/// What somebody wants of the room.
#[derive(Debug, Clone)]
pub(super) enum Wish {
    Join(Bearer),
    Enter(Ticket),
    /// To be out; with the ticket that came along, if one did.
    Leave(Bearer, Option<Ticket>),
    /// To be out, if in: who waits still waits.
    Bought(Bearer, Option<Ticket>),
    Plan(Plan, [u8; 32]),
    Mode(Mode),
    /// Only that the room takes its turn.
    Turn,
}

impl Wish {
    /// Whose ticket it is about, where that is to be looked up.
    const fn bearer(&self) -> Option<Bearer> {
        match self {
            Self::Join(bearer) | Self::Leave(bearer, _) | Self::Bought(bearer, _) => Some(*bearer),
            Self::Enter(_) | Self::Plan(..) | Self::Mode(_) | Self::Turn => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Joined {
        ticket: Ticket,
        /// Given just now, not before.
        fresh: bool,
    },
    Entry(Entry),
    /// Whoever had this ticket is away.
    Left(Ticket),
    /// The ticket is of another run of the room.
    Void,
    /// There are no more tickets.
    Full,
    NoRoom,
    Done,
}

#[derive(Debug)]
struct Letter {
    wish: Wish,
    reply: oneshot::Sender<Result<Told, LedgerError>>,
}

/// A room as it was a moment ago, and the order of its tickets.
#[derive(Debug)]
pub(super) struct RoomCopy {
    pub room: Room,
    pub order: Arc<Order>,
}

#[derive(Debug)]
pub(super) struct Desk {
    pub offer: OfferId,
    inbox: mpsc::Sender<Letter>,
    pub copy: watch::Sender<Option<Arc<RoomCopy>>>,
    pub presence: Mutex<Presence>,
    /// Which writing of the room the copy is of.
    edition: Mutex<Option<Edition>>,
    /// Who waits here, as the others were last told, and when.
    told: Mutex<Option<(Vec<Place>, Instant)>>,
    /// There is another edition than the one that is known here.
    stirred: Notify,
}

impl Desk {
    /// Opens the desk; whoever has the receiver must [`work`].
    pub(super) fn open(offer: OfferId, shared: &Shared) -> (Arc<Self>, Inbox) {
        let (inbox, letters) = mpsc::channel(shared.settings.queue);
        let presence = Mutex::new(Presence::new(shared.settings.presences));
        let desk = Self {
            offer,
            inbox,
            copy: watch::Sender::new(None),
            presence,
            edition: Mutex::default(),
            told: Mutex::default(),
            stirred: Notify::new(),
        };
        (Arc::new(desk), Inbox(letters))
    }

    /// This is the writing of the room that there is.
    pub(super) fn hear_of(&self, edition: Edition) {
        if *self.edition.lock() != Some(edition) {
            self.stirred.notify_one();
        }
    }

    pub(super) async fn ask(&self, wish: Wish) -> Result<Told, LedgerError> {
        let (reply, answer) = oneshot::channel();
        self.inbox.try_send(Letter { wish, reply }).map_err(|_| LedgerError::Overloaded)?;
        answer.await.unwrap_or_else(|_| Err(LedgerError::Unavailable("the waiting room has closed".into())))
    }

    /// The room as this node knows it, looked up if it never was.
    pub(super) async fn known(&self) -> Result<Option<Arc<RoomCopy>>, LedgerError> {
        let copy = self.copy.borrow().clone();
        match copy {
            Some(copy) => Ok(Some(copy)),
            None => self.ask(Wish::Turn).await.map(|_| self.copy.borrow().clone()),
        }
    }

    async fn serve(&self, shared: &Shared, letters: Vec<Letter>) {
        let now = shared.clock.now();
        let before = self.copy.borrow().clone();
        let most = shared.settings.front;
        let places = self.front(before.as_deref(), most, now);
        let (is_news, may_call) = (self.is_news(&places), self.presence.lock().is_warm(now));
        let front = Front { node: &shared.node, places: &places, complete: places.len() < most, is_news };
        let sellable = sellable(&shared.ledger.offer(&self.offer).await, before.as_deref());
        let bearers: Vec<Bearer> = letters.iter().filter_map(|letter| letter.wish.bearer()).collect();
        let mut order = before.map(|copy| (copy.room.run, Arc::clone(&copy.order)));
        let mut told = Vec::with_capacity(letters.len());
        let changed = shared
            .store
            .change(&self.offer, front, &bearers, &mut |room, tickets, present| {
                told.clear();
                // Whoever joins from now on was not there at the opening.
                if let Some(room) = room {
                    room.draw(now);
                }
                let most = shared.settings.tickets;
                for letter in &letters {
                    told.push(grant(&letter.wish, room, tickets, &mut order, most, now));
                }
                if let Some(room) = room {
                    room.turn(if may_call { present } else { &[] }, sellable, now);
                }
            })
            .await;
        match changed {
            Ok(found) => {
                if is_news && found.is_some() {
                    *self.told.lock() = Some((places, Instant::now()));
                }
                self.publish(found, order, now);
                letters.into_iter().zip(told).for_each(|(letter, told)| drop(letter.reply.send(Ok(told))));
            }
            Err(fault) => {
                tracing::warn!(offer = %self.offer, %fault, "the waiting room stands still");
                letters.into_iter().for_each(|letter| drop(letter.reply.send(Err(fault.clone()))));
            }
        }
    }

    fn front(&self, copy: Option<&RoomCopy>, most: usize, now: Moment) -> Vec<Place> {
        let Some(RoomCopy { room, order }) = copy else { return Vec::new() };
        if **order == Order::Undrawn {
            return Vec::new();
        }
        let waits = |place| room.visit(place).is_none_or(|visit| visit.until <= now) && !room.is_used(place);
        self.presence.lock().front(most, now, waits)
    }

    /// Whether the others are to be told who waits here. That nobody does they need to hear once.
    fn is_news(&self, places: &[Place]) -> bool {
        self.told
            .lock()
            .as_ref()
            .is_none_or(|(told, at)| told != places || (!places.is_empty() && at.elapsed() >= JUST_TOLD))
    }

    /// Whether the room is to take its turn though nobody asks: somebody is there, the others believe so, or it is time to
    /// draw.
    fn has_work(&self, now: Moment) -> bool {
        let Some(copy) = self.copy.borrow().clone() else { return true };
        let counts_here = || self.told.lock().as_ref().is_some_and(|(told, _)| !told.is_empty());
        copy.room.is_to_be_drawn(now) || self.presence.lock().has_anybody(now) || counts_here()
    }

    /// Reads what another node did to the room.
    async fn look(&self, shared: &Shared) {
        let mut found = match shared.store.look(&self.offer).await {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(fault) => {
                return tracing::debug!(offer = %self.offer, %fault, "cannot look at the waiting room");
            }
        };
        let before = self.copy.borrow().clone();
        let view = shared.ledger.offer(&self.offer).await;
        found.room.sellable = sellable(&view, before.as_deref());
        let order = before.map(|copy| (copy.room.run, Arc::clone(&copy.order)));
        self.publish(Some(found), order, shared.clock.now());
    }

    /// Another turn in which nobody wants anything: the copy is kept true, from memory.
    async fn rest(&self, shared: &Shared, rested: u32) {
        let followed = self.copy.receiver_count() > 0;
        let Some(copy) = self.copy.borrow().clone() else { return };
        if !followed && !rested.is_multiple_of(LEISURE) {
            return;
        }
        let (now, view) = (shared.clock.now(), shared.ledger.offer(&self.offer).await);
        let sellable = sellable(&view, Some(&copy));
        if sellable == copy.room.sellable {
            self.measure(&copy.room, now);
            // What those who follow are told depends on the time as well.
            self.copy.send_modify(|_| {});
        } else {
            let (mut room, order) = (copy.room.clone(), Arc::clone(&copy.order));
            room.sellable = sellable;
            self.measure(&room, now);
            self.copy.send_replace(Some(Arc::new(RoomCopy { room, order })));
        }
        let closed_at = view.ok().flatten().and_then(|view| view.offer.def().closes_at);
        let is_over = closed_at.is_some_and(|closed_at| now.ms_since(closed_at) >= OVER_MS);
        if is_over
            && rested.is_multiple_of(RETIREMENT)
            && let Err(fault) = shared.store.retire(&self.offer).await
        {
            tracing::debug!(offer = %self.offer, %fault, "old tickets are forgotten another time");
        }
    }

    fn publish(&self, found: Option<Found>, known: Option<(u32, Arc<Order>)>, now: Moment) {
        let Some(Found { room, edition }) = found else { return };
        *self.edition.lock() = Some(edition);
        let same = |(run, order): &(u32, Arc<Order>)| *run == room.run && order.is_of(&room);
        let order = known.filter(same).map_or_else(|| Arc::new(Order::of(&room)), |(_, order)| order);
        match self.copy.borrow().as_deref() {
            // Loaded: nobody has asked here yet, so nobody can be passed over yet.
            None if room.issued > 0 => self.presence.lock().wait_until(now.plus_ms(presence::WARM_UP_MS)),
            Some(before) if before.room.run != room.run => {
                self.presence.lock().clear();
            }
            Some(before) if *before.order == Order::Undrawn && *order != Order::Undrawn => {
                self.presence.lock().draw(&order);
            }
            _ => {}
        }
        self.measure(&room, now);
        self.copy.send_replace(Some(Arc::new(RoomCopy { room, order })));
    }

    fn measure(&self, room: &Room, now: Moment) {
        let set = |name: &'static str, value: f64| {
            metrics::gauge!(name, "offer" => self.offer.to_string()).set(value)
        };
        set("holdfast_room_issued", f64::from(room.issued));
        set("holdfast_room_serving", f64::from(room.serving));
        set("holdfast_room_admitted", room.admitted as f64);
        set("holdfast_room_inside", room.inside(now) as f64);
        set("holdfast_room_called", (room.active() - room.inside(now)) as f64);
        set("holdfast_room_present", self.presence.lock().len() as f64);
        set("holdfast_room_drain_per_minute", room.drain_per_minute());
    }
}

/// What is free or may yet come free. A calendar is not counted: it has no end.
fn sellable(view: &Result<Option<OfferView>, LedgerError>, copy: Option<&RoomCopy>) -> Option<u64> {
    match view {
        Ok(Some(view)) if !matches!(view.offer.inventory(), Inventory::Slots(_)) => {
            Some(view.counts.available + view.counts.held)
        }
        Ok(_) => None,
        // As it was: the ledger that cannot be read sells nothing either.
        Err(_) => copy.and_then(|copy| copy.room.sellable),
    }
}

/// The order of the room as it is now, worked out at most once for each draw.
fn order_of<'a>(room: &Room, known: &'a mut Option<(u32, Arc<Order>)>) -> &'a Order {
    if known.as_ref().is_none_or(|(run, order)| *run != room.run || !order.is_of(room)) {
        *known = Some((room.run, Arc::new(Order::of(room))));
    }
    &known.as_ref().expect("made just now").1
}

/// Lets one wish happen.
fn grant(
    wish: &Wish,
    kept: &mut Option<Room>,
    tickets: &mut Tickets,
    order: &mut Option<(u32, Arc<Order>)>,
    most: u32,
    now: Moment,
) -> Told {
    if let (Wish::Plan(plan, seed), None) = (wish, &*kept) {
        *kept = Some(Room::new(plan.clone(), *seed, now));
        return Told::Done;
    }
    let Some(room) = kept else { return Told::NoRoom };
    let mut place_of = |room: &Room, ticket: &Ticket| {
        (ticket.run == room.run && ticket.number <= room.issued)
            .then(|| order_of(room, order).place(ticket.number))
    };
    // Of all that a session ever had the newest is good, if any: it was given when the one before was over.
    let run = room.run;
    let newest = |bearer: Bearer, sent: Option<Ticket>, tickets: &Tickets| {
        let own = tickets.of(bearer).into_iter().chain(sent);
        own.filter(|ticket| ticket.run == run).max_by_key(|ticket| ticket.number)
    };
    match wish {
        Wish::Join(bearer) => {
            if let Some(ticket) = newest(*bearer, None, tickets) {
                let place = place_of(room, &ticket).flatten();
                if !place.is_some_and(|place| room.is_over(place, now)) {
                    return Told::Joined { ticket, fresh: false };
                }
            }
            let Some(number) = room.join(most) else { return Told::Full };
            let ticket = Ticket { run, number };
            tickets.give(*bearer, ticket);
            Told::Joined { ticket, fresh: true }
        }
        Wish::Enter(ticket) => match place_of(room, ticket) {
            Some(Some(place)) => Told::Entry(room.enter(place, now)),
            Some(None) => Told::Entry(Entry::NotYet),
            None => Told::Void,
        },
        Wish::Leave(bearer, sent) | Wish::Bought(bearer, sent) => {
            let Some(ticket) = newest(*bearer, *sent, tickets) else { return Told::Done };
            let stays = |room: &Room, place| {
                matches!(wish, Wish::Bought(..)) && room.visit(place).is_none_or(|visit| !visit.entered)
            };
            match place_of(room, &ticket) {
                Some(Some(place)) if stays(room, place) => return Told::Done,
                Some(Some(place)) => room.leave(place),
                // Before the draw a ticket cannot be given up, only be left lying: whoever comes back has the same lot.
                Some(None) if matches!(wish, Wish::Leave(..)) => {}
                Some(None) => return Told::Done,
                None => return Told::Void,
            }
            Told::Left(ticket)
        }
        Wish::Plan(plan, seed) => {
            room.replan(plan.clone(), *seed, now);
            Told::Done
        }
        Wish::Mode(mode) => {
            room.mode = *mode;
            Told::Done
        }
        Wish::Turn => Told::Done,
    }
}

#[derive(Debug)]
pub(super) struct Inbox(mpsc::Receiver<Letter>);

/// Serves the desk for as long as there is one.
pub(super) async fn work(desk: Arc<Desk>, mut inbox: Inbox, shared: Arc<Shared>) {
    let mut tick = interval(shared.settings.turn_every.max(Duration::from_millis(10)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut rested = 0;
    loop {
        let mut letters = Vec::new();
        let has_work = || desk.has_work(shared.clock.now());
        tokio::select! {
            received = inbox.0.recv_many(&mut letters, MAX_BATCH) => if received == 0 { return },
            () = desk.stirred.notified() => {
                // Whoever takes turns sees the room anyway.
                if !has_work() {
                    desk.look(&shared).await;
                }
                continue;
            }
            _ = tick.tick() => if !has_work() {
                desk.rest(&shared, rested).await;
                rested = rested.wrapping_add(1);
                continue;
            },
        }
        rested = 0;
        desk.serve(&shared, letters).await;
    }
}
