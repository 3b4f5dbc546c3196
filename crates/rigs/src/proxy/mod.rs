//! A TCP proxy that misbehaves on request. It stands before a server, and what it does to the bytes can be changed at
//! any moment, for connections that exist and for those to come.
//!
//! It knows nothing of what passes: a request is what the client sends, a reply what the server sends. Each connection
//! is a [line](mod@line); the proxy owns the listener, the present [`Mode`] and the counts.

mod line;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// What happens to bytes and connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: as if the proxy were not there.
    Pass,
    /// Everything arrives this much later, in both directions.
    Delay(Duration),
    /// Nothing arrives until the mode changes; then all of it does. A partition that heals.
    Stall,
    /// Nothing arrives, ever, and nobody is told. A connection that lost bytes stays silent when the mode changes.
    Swallow,
    /// Every connection is reset, old or new.
    Close,
    /// Every connection passes this many more bytes, both directions together, and is cut in the middle of whatever
    /// that is.
    CutAfter(u64),
    /// The server gets the request and does what it says, and the client never hears of it: a lost commit reply.
    LoseReplies {
        /// What a request must contain, `COMMIT` for instance; empty: any request.
        to: Vec<u8>,
        /// What the client sees instead.
        then: Loss,
        /// How many requests this happens to, over all connections; later ones pass.
        times: u64,
    },
}

impl Mode {
    /// The reply to the next request that contains `to` is lost, and its connection with it.
    pub fn lose_reply_to(to: impl Into<Vec<u8>>) -> Self {
        Self::LoseReplies { to: to.into(), then: Loss::Cut, times: 1 }
    }
}

/// What a client sees of a reply that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The connection ends as the first byte of the reply arrives from the server: whatever was asked is done.
    Cut,
    /// Silence, from that reply on; requests still pass.
    Silence,
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were ever accepted, those that were reset at once included.
    pub accepted: u64,
    /// Connections that exist now.
    pub open: u64,
    /// Replies that were lost by [`Mode::LoseReplies`].
    pub lost: u64,
}

/// A mode and how often it may still strike; made anew each time a mode is set.
#[derive(Debug, Clone)]
struct Order {
    mode: Mode,
    /// Which order this is, so that a connection knows when to begin counting anew.
    number: u64,
    strikes: Arc<AtomicU64>,
}

impl Order {
    fn new(mode: Mode, number: u64) -> Self {
        let times = if let Mode::LoseReplies { times, .. } = &mode { *times } else { 0 };
        Self { mode, number, strikes: Arc::new(AtomicU64::new(times)) }
    }

    /// Takes one of the strikes that are left, if any is.
    fn strike(&self) -> bool {
        self.strikes.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// The proxy. Dropped, it closes every connection and its port.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    order: watch::Sender<Order>,
    target: watch::Sender<SocketAddr>,
    counts: watch::Receiver<Counts>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    /// Begins to pass everything on to `target`. Runs on the runtime it is started on.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (order, orders) = watch::channel(Order::new(Mode::Pass, 0));
        let (target, targets) = watch::channel(target);
        let (counting, counts) = watch::channel(Counts::default());
        let accepting = tokio::spawn(accept(listener, targets, orders, Arc::new(counting)));
        Ok(Self { address, order, target, counts, accepting })
    }

    /// Passes everything on to another server from now on. Every connection is reset, as when an address moves to
    /// whoever took over.
    pub fn lead_to(&self, target: SocketAddr) {
        self.target.send_replace(target);
    }

    /// Where clients should connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what happens from now on. Bytes that are under way in a delay still arrive.
    pub fn set(&self, mode: Mode) {
        self.order.send_modify(|order| *order = Order::new(mode, order.number + 1));
    }

    pub fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Waits until something has happened: `proxy.until(|counts| counts.lost == 1).await`.
    pub async fn until(&self, happened: impl FnMut(&Counts) -> bool) -> Counts {
        let mut counts = self.counts.clone();
        // The counting side lives as long as the task that we hold: then there is nothing more to wait for.
        counts.wait_for(happened).await.map_or_else(|_| self.counts(), |counts| *counts)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Connections end with this task: the set aborts what it holds.
async fn accept(
    listener: TcpListener,
    targets: watch::Receiver<SocketAddr>,
    orders: watch::Receiver<Order>,
    counts: Arc<watch::Sender<Counts>>,
) {
    let mut lines = JoinSet::new();
    loop {
        // What accept complains of (a client that left, no file handles) passes; the next client may fare better.
        let Ok((client, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        while lines.try_join_next().is_some() {}
        counts.send_modify(|counts| {
            counts.accepted += 1;
            counts.open += 1;
        });
        lines.spawn(connection(client, targets.clone(), orders.clone(), Open(Arc::clone(&counts))));
    }
}

/// A connection that is counted as open for as long as this lives.
struct Open(Arc<watch::Sender<Counts>>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|counts| counts.open -= 1);
    }
}

async fn connection(
    mut client: TcpStream,
    mut targets: watch::Receiver<SocketAddr>,
    orders: watch::Receiver<Order>,
    open: Open,
) {
    let closed = orders.borrow().mode == Mode::Close;
    let target = *targets.borrow_and_update();
    let server = if closed { None } else { TcpStream::connect(target).await.ok() };
    let Some(mut server) = server else {
        // As a machine without a listener would.
        let _ = client.set_zero_linger();
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ended = tokio::select! {
        ended = line::run(&mut client, &mut server, orders, &open.0) => ended,
        _ = targets.changed() => Err(io::ErrorKind::ConnectionReset.into()),
    };
    // A reset is passed on as one. What was cut ends in order, so that the bytes before the cut arrive.
    if ended.is_err_and(|fault| fault.kind() == io::ErrorKind::ConnectionReset) {
        let _ = (client.set_zero_linger(), server.set_zero_linger());
    }
}
