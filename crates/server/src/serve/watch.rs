//! Watching one connection's pace: when its current request began to arrive.
//!
//! hyper's own header timer starts when a connection falls idle and is made anew for every request. This one
//! starts at the request's first byte, as the contract says, and costs a request one store: a single sleep per
//! connection looks in now and then and asks [`Watch::verdict`].

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Instant,
};

/// Times are kept in microseconds since the connection was made, plus one: zero means "not now".
#[derive(Debug)]
pub(crate) struct Watch {
    opened: Instant,
    /// The first byte of a request whose head is not complete.
    head_since: AtomicU64,
    /// When something was last written, or the connection was made; not while a request is being answered.
    /// An event stream shows that it is alive, so it is never idle unless its reader is gone.
    idle_since: AtomicU64,
    /// Until when this client was told to stay away.
    away_until: AtomicU64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    LookAgain(Instant),
    /// A head has been arriving for too long.
    HeadTooSlow,
    /// Nobody has asked anything for too long.
    Idle,
}

impl Watch {
    pub(crate) fn new(now: Instant) -> Arc<Self> {
        let (head_since, idle_since, away_until) = (AtomicU64::new(0), AtomicU64::new(1), AtomicU64::new(0));
        Arc::new(Self { opened: now, head_since, idle_since, away_until })
    }

    fn stamp(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.opened).as_micros() as u64 + 1
    }

    fn instant(&self, stamp: u64) -> Instant {
        self.opened + Duration::from_micros(stamp.saturating_sub(1))
    }

    /// Asks for the time only where it matters: at the first bytes of a head.
    fn bytes_arrived(&self, now: impl FnOnce() -> Instant) {
        if self.head_since.load(Ordering::Relaxed) == 0 {
            self.head_since.store(self.stamp(now()), Ordering::Relaxed);
        }
    }

    /// The head is complete: when its first byte came. A head that came with the request before it, in one read,
    /// begins to count now.
    pub(crate) fn head_complete(&self, now: impl FnOnce() -> Instant) -> Instant {
        self.idle_since.store(0, Ordering::Relaxed);
        match self.head_since.swap(0, Ordering::Relaxed) {
            0 => now(),
            stamp => self.instant(stamp),
        }
    }

    /// The request is answered, and the answer about to be written. Bytes that arrived meanwhile were its body, or
    /// belong to the next.
    pub(crate) fn answered(&self) {
        self.head_since.store(0, Ordering::Relaxed);
    }

    /// The answer tells the client to come back, and not before then.
    pub(crate) fn sent_away(&self, until: Instant) {
        self.away_until.store(self.stamp(until), Ordering::Relaxed);
    }

    /// When a client may be heard again that was told to stay away, if it was. Asked once of every request.
    pub(crate) fn heard_again(&self) -> Option<Instant> {
        match self.away_until.load(Ordering::Relaxed) {
            0 => None,
            _ => Some(self.instant(self.away_until.swap(0, Ordering::Relaxed))),
        }
    }

    fn bytes_left(&self, now: Instant) {
        self.idle_since.store(self.stamp(now), Ordering::Relaxed);
    }

    pub(crate) fn verdict(&self, now: Instant, head: Duration, idle: Duration) -> Verdict {
        let look = |since: u64, limit: Duration| self.instant(since) + limit;
        match (self.idle_since.load(Ordering::Relaxed), self.head_since.load(Ordering::Relaxed)) {
            // A request is being answered; its body has its own deadline.
            (0, _) => Verdict::LookAgain(now + head),
            (_, since) if since > 0 && look(since, head) <= now => Verdict::HeadTooSlow,
            (_, since) if since > 0 => Verdict::LookAgain(look(since, head)),
            (since, _) if look(since, idle) <= now => Verdict::Idle,
            // A head may begin at any moment from now on.
            (since, _) => Verdict::LookAgain(look(since, idle).min(now + head)),
        }
    }
}

/// A socket that notes when bytes arrive.
#[derive(Debug)]
pub(crate) struct Watched {
    pub stream: TcpStream,
    pub watch: Arc<Watch>,
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            this.watch.bytes_arrived(Instant::now);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, buf))?;
        this.watch.bytes_left(Instant::now());
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, bufs))?;
        this.watch.bytes_left(Instant::now());
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    /// Left to the connection, which may still have something to say, and listens for a moment after.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Duration = Duration::from_secs(30);
    const IDLE: Duration = Duration::from_secs(75);

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_head_has_its_time_from_its_first_byte() {
        let opened = Instant::now();
        let watch = Watch::new(opened);
        let began = opened + seconds(60);
        watch.bytes_arrived(|| began);
        watch.bytes_arrived(|| began + seconds(29));
        assert_eq!(watch.verdict(began + seconds(29), HEAD, IDLE), Verdict::LookAgain(began + HEAD));
        assert_eq!(watch.verdict(began + HEAD, HEAD, IDLE), Verdict::HeadTooSlow);
        assert_eq!(watch.head_complete(|| began + HEAD), began);
    }

    #[test]
    fn whoever_was_sent_away_is_heard_again_once_the_time_is_up() {
        let opened = Instant::now();
        let watch = Watch::new(opened);
        assert_eq!(watch.heard_again(), None);
        watch.sent_away(opened + seconds(1));
        assert_eq!((watch.heard_again(), watch.heard_again()), (Some(opened + seconds(1)), None));
    }

    #[test]
    fn a_request_under_way_is_neither_slow_nor_idle() {
        let opened = Instant::now();
        let watch = Watch::new(opened);
        watch.bytes_arrived(|| opened);
        watch.head_complete(|| opened);
        let later = opened + seconds(600);
        assert_eq!(watch.verdict(later, HEAD, IDLE), Verdict::LookAgain(later + HEAD));
        watch.answered();
        watch.bytes_left(later);
        assert_eq!(watch.verdict(later, HEAD, IDLE), Verdict::LookAgain(later + HEAD));
        assert_eq!(watch.verdict(later + IDLE, HEAD, IDLE), Verdict::Idle);
    }
}
