//! One connection through the proxy: two pumps, one a direction. A pump reads, asks the present order what becomes of
//! the bytes, and puts them on a short queue with the time they are due; another half writes them when it has come, so
//! that a delay delays everything alike and slows nothing down.

use std::{
    io,
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use super::{Counts, Loss, Mode, Order};

const CHUNK: usize = 16 << 10;
/// Chunks under way in one direction; beyond that the sender has to wait, as with any full window.
const UNDER_WAY: usize = 256;

/// What is said to end a connection; the bytes that were due before it are written first.
enum Parcel {
    Bytes { due: Instant, bytes: Vec<u8> },
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Reply,
}

/// What both directions know of their connection.
struct Line<'a> {
    counts: &'a watch::Sender<Counts>,
    /// Never held across an await; both directions run in one task.
    course: Mutex<Course>,
}

/// How a connection has gone so far.
#[derive(Debug, Default)]
struct Course {
    /// The number of the last order to cut, and how many bytes passed under it.
    passed: (u64, u64),
    replies: Replies,
    /// Bytes were swallowed: the connection is never whole again.
    torn: bool,
    client_ended: bool,
    /// The server ended and the client was not told.
    server_ended: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Replies {
    #[default]
    Passing,
    /// A request was seen whose reply is to be lost.
    Losing(Loss),
    /// It was; no other follows.
    Lost,
}

/// Runs until both sides have said all, or the connection is cut.
pub(super) async fn run(
    client: &mut TcpStream,
    server: &mut TcpStream,
    orders: watch::Receiver<Order>,
    counts: &Arc<watch::Sender<Counts>>,
) -> io::Result<()> {
    let line = Line { counts, course: Mutex::default() };
    let mut until_closed = orders.clone();
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = pump(from_client, to_server, Direction::Request, &line, orders.clone());
    let replies = pump(from_server, to_client, Direction::Reply, &line, orders);
    tokio::select! {
        ended = async { tokio::try_join!(requests, replies) } => ended.map(drop),
        _ = until_closed.wait_for(|order| order.mode == Mode::Close) => Err(io::ErrorKind::ConnectionReset.into()),
    }
}

async fn pump(
    from: ReadHalf<'_>,
    to: WriteHalf<'_>,
    direction: Direction,
    line: &Line<'_>,
    orders: watch::Receiver<Order>,
) -> io::Result<()> {
    let (queue, parcels) = mpsc::channel(UNDER_WAY);
    tokio::try_join!(read(from, queue, direction, line, orders), write(to, parcels)).map(drop)
}

async fn read(
    mut from: ReadHalf<'_>,
    queue: mpsc::Sender<Parcel>,
    direction: Direction,
    line: &Line<'_>,
    mut orders: watch::Receiver<Order>,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut seen = Vec::new();
    loop {
        let length = from.read(&mut buffer).await?;
        let arrived = Instant::now();
        // A partition keeps what it was given; an end is not told either.
        let passing = orders.wait_for(|order| order.mode != Mode::Stall).await;
        let order = passing.map_err(|_| cut())?.clone();
        if length == 0 {
            return line.ended(direction).await;
        }
        let bytes = &buffer[..length];
        if direction == Direction::Request {
            line.look_for_trigger(&order, &mut seen, bytes);
        }
        let (parcels, further) = match line.judge(&order, direction, bytes, arrived) {
            ControlFlow::Continue(parcels) => (parcels, true),
            ControlFlow::Break(parcels) => (parcels, false),
        };
        for parcel in parcels {
            queue.send(parcel).await.map_err(|_| cut())?;
        }
        if !further {
            // The writing half cuts when it has come to it.
            return std::future::pending().await;
        }
    }
}

async fn write(mut to: WriteHalf<'_>, mut parcels: mpsc::Receiver<Parcel>) -> io::Result<()> {
    while let Some(parcel) = parcels.recv().await {
        match parcel {
            Parcel::Bytes { due, bytes } => {
                sleep_until(due).await;
                to.write_all(&bytes).await?;
            }
            Parcel::Cut => {
                to.shutdown().await?;
                return Err(cut());
            }
        }
    }
    to.shutdown().await
}

impl Line<'_> {
    /// What becomes of these bytes; a break ends the connection after its last parcel.
    fn judge(
        &self,
        order: &Order,
        direction: Direction,
        bytes: &[u8],
        now: Instant,
    ) -> ControlFlow<Vec<Parcel>, Vec<Parcel>> {
        if self.course().torn {
            return ControlFlow::Continue(Vec::new());
        }
        if direction == Direction::Reply
            && let Some(loss) = self.loss()
        {
            return match loss {
                Loss::Cut => ControlFlow::Break(vec![Parcel::Cut]),
                Loss::Silence => ControlFlow::Continue(Vec::new()),
            };
        }
        let parcel = |due, bytes: &[u8]| Parcel::Bytes { due, bytes: bytes.to_vec() };
        match &order.mode {
            Mode::Pass | Mode::Stall | Mode::LoseReplies { .. } => {
                ControlFlow::Continue(vec![parcel(now, bytes)])
            }
            Mode::Delay(delay) => ControlFlow::Continue(vec![parcel(now + *delay, bytes)]),
            Mode::Swallow => {
                self.course().torn = true;
                ControlFlow::Continue(Vec::new())
            }
            Mode::Close => ControlFlow::Break(vec![Parcel::Cut]),
            Mode::CutAfter(limit) => {
                let allowed = self.allowance(order.number, *limit, bytes.len());
                let first = parcel(now, &bytes[..allowed]);
                if allowed < bytes.len() {
                    ControlFlow::Break(vec![first, Parcel::Cut])
                } else {
                    ControlFlow::Continue(vec![first])
                }
            }
        }
    }

    /// How many of `length` bytes may still pass under this order.
    fn allowance(&self, number: u64, limit: u64, length: usize) -> usize {
        let passed = &mut self.course().passed;
        if passed.0 != number {
            *passed = (number, 0);
        }
        let left = usize::try_from(limit - passed.1).unwrap_or(usize::MAX);
        let allowed = length.min(left);
        passed.1 += allowed as u64;
        allowed
    }

    /// Looks for the trigger in what the client sent, also across the borders of what was read at once. Before the
    /// request is passed on: its reply must not be quicker.
    fn look_for_trigger(&self, order: &Order, seen: &mut Vec<u8>, bytes: &[u8]) {
        let Mode::LoseReplies { to, then, .. } = &order.mode else {
            seen.clear();
            return;
        };
        seen.extend_from_slice(bytes);
        let found = to.is_empty() || seen.windows(to.len()).any(|window| window == to);
        // Keep only what could be the beginning of a trigger.
        seen.drain(..seen.len().saturating_sub(to.len().saturating_sub(1)));
        let replies = &mut self.course().replies;
        if found && *replies == Replies::Passing && order.strike() {
            *replies = Replies::Losing(*then);
        }
    }

    /// Whether this reply is lost; counted when its first bytes are.
    fn loss(&self) -> Option<Loss> {
        let replies = &mut self.course().replies;
        match *replies {
            Replies::Passing => None,
            Replies::Lost => Some(Loss::Silence),
            Replies::Losing(loss) => {
                *replies = Replies::Lost;
                self.counts.send_modify(|counts| counts.lost += 1);
                Some(loss)
            }
        }
    }

    /// One side said all, and the other is told, unless it must not hear. When neither has anything left to say the
    /// connection is over.
    async fn ended(&self, direction: Direction) -> io::Result<()> {
        match direction {
            Direction::Request => {
                let mut course = self.course();
                course.client_ended = true;
                if course.torn || course.server_ended { Err(cut()) } else { Ok(()) }
            }
            Direction::Reply if self.may_tell_client() => Ok(()),
            Direction::Reply => std::future::pending().await,
        }
    }

    fn may_tell_client(&self) -> bool {
        let mut course = self.course();
        let silent = matches!(course.replies, Replies::Lost | Replies::Losing(Loss::Silence));
        course.server_ended = true;
        course.client_ended || !(course.torn || silent)
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cut() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}
