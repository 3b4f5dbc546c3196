//! What a booking costs beside time: round trips, flushes and processor time. Measured from outside, and absent where it
//! cannot be: of servers that are not ours, and of an embedded store whose flushes nobody counts.
//!
//! A round trip is what a network would charge for: a client that speaks after the server has spoken. It is counted by a
//! [`Relay`] on the wire, so what goes out in one breath is one trip, however many statements it holds. Relays cost time,
//! so the runs that are timed go without, and trips are counted in a run of their own.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::{JoinHandle, JoinSet},
};
use tokio_postgres::Client;

/// Passes everything on, and counts how often a client spoke after the server had.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    trips: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn before(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let trips: Arc<AtomicU64> = Arc::default();
        let accepting = tokio::spawn(accept(listener, target, Arc::clone(&trips)));
        Ok(Self { address, trips, accepting })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn trips(&self) -> u64 {
        self.trips.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Connections end with this task: the set aborts what it holds.
async fn accept(listener: TcpListener, target: SocketAddr, trips: Arc<AtomicU64>) {
    let mut lines = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let trips = Arc::clone(&trips);
        lines.spawn(async move {
            let Ok(server) = TcpStream::connect(target).await else { return };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let answered = AtomicBool::new(true);
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            let asks = pass(from_client, to_server, || {
                if answered.swap(false, Ordering::Relaxed) {
                    trips.fetch_add(1, Ordering::Relaxed);
                }
            });
            let answers = pass(from_server, to_client, || answered.store(true, Ordering::Relaxed));
            tokio::select! { () = asks => {}, () = answers => {} }
        });
        while lines.try_join_next().is_some() {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, heard: impl Fn()) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        heard();
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

/// How often PostgreSQL has flushed its log to the disk. Backends tell of it when they end, so whoever counts waits for
/// them to be gone.
pub(crate) async fn flushes(server: &Client, database: &str) -> Option<u64> {
    for _ in 0..LOOKS {
        let left = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1";
        let left: i64 = server.query_one(left, &[&database]).await.ok()?.get(0);
        if left == 0 {
            return count_flushes(server).await;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    None
}

const LOOKS: u32 = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Up to PostgreSQL 17 in `pg_stat_wal`, since then in `pg_stat_io`.
async fn count_flushes(server: &Client) -> Option<u64> {
    const SINCE_18: &str = "SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal'";
    let row = match server.query_one("SELECT wal_sync FROM pg_stat_wal", &[]).await {
        Ok(row) => row,
        Err(_) => server.query_one(SINCE_18, &[]).await.ok()?,
    };
    row.get::<_, Option<i64>>(0).map(|count| count as u64)
}

/// Processor time of this process and of every process that stands in one of these folders: those of the rigs.
pub(crate) fn cpu_time_of(folders: &[PathBuf]) -> Duration {
    let own = cpu_time(std::process::id());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let stands = |pid: &u32| {
        let stands = fs::read_link(format!("/proc/{pid}/cwd"));
        stands
            .is_ok_and(|at: PathBuf| folders.iter().any(|folder: &PathBuf| at.starts_with(Path::new(folder))))
    };
    own + pids.filter(stands).map(cpu_time).sum::<Duration>()
}

/// The processor time that a process has used, in all its threads that still live. Zero where it cannot be read:
/// it only ever explains a figure.
pub fn cpu_time(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let used_ns = |task: fs::DirEntry| {
        let schedstat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        schedstat.split(' ').next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(tasks.filter_map(used_ns).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_question_and_its_answer_are_one_trip() {
        let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let relay = Relay::before(echo.local_addr().unwrap()).await.unwrap();
        let server = tokio::spawn(async move {
            let (mut line, _) = echo.accept().await.unwrap();
            let mut bytes = [0; 8];
            for _ in 0..3 {
                line.read_exact(&mut bytes).await.unwrap();
                line.write_all(&bytes).await.unwrap();
            }
        });
        let mut client = TcpStream::connect(relay.address()).await.unwrap();
        for _ in 0..3 {
            // In two pieces: still one question.
            client.write_all(b"hold").await.unwrap();
            client.write_all(b"seat").await.unwrap();
            client.read_exact(&mut [0; 8]).await.unwrap();
        }
        server.await.unwrap();
        assert_eq!(relay.trips(), 3);
    }

    #[test]
    fn work_costs_processor_time() {
        let before = cpu_time_of(&[]);
        let sum: u64 = (0..20_000_000u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && cpu_time_of(&[]) > before);
    }
}
