//! One crew of connections working in a closed loop for a stretch of time.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures::future::BoxFuture;

use super::{
    latency::{Latency, stopwatch},
    rounds::Worker,
};
use crate::{
    http::{Connection, Response, Target},
    machine,
};

/// What one connection asks, again and again.
pub trait Caller: Send + 'static {
    /// Replaces `out` with the next request.
    fn write(&mut self, out: &mut Vec<u8>);

    /// Looks at the answer, for callers whose next request depends on it.
    fn read(&mut self, _response: &Response<'_>) {}
}

/// What came of a stretch of work.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub statuses: BTreeMap<u16, u64>,
    /// Those of them that came when the time was up and hardly anybody was left at work: no part of the rate.
    pub late: BTreeMap<u16, u64>,
    /// Connections that broke; the work went on with a new one.
    pub lost: u64,
    pub elapsed: Duration,
    pub latency: Latency,
    /// Processor time that the server used meanwhile, and that this process used.
    pub server_cpu: Duration,
    pub own_cpu: Duration,
}

impl Tally {
    pub fn with_status(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or_default()
    }

    /// Answers of that status a second.
    pub fn rate(&self, status: u16) -> f64 {
        let late = self.late.get(&status).copied().unwrap_or_default();
        self.with_status(status).saturating_sub(late) as f64 / self.elapsed.as_secs_f64()
    }

    pub fn add(&mut self, other: &Self) {
        let sums = [(&mut self.statuses, &other.statuses), (&mut self.late, &other.late)];
        for (sums, counts) in sums {
            for (&status, count) in counts {
                *sums.entry(status).or_default() += count;
            }
        }
        self.lost += other.lost;
        self.elapsed += other.elapsed;
        self.latency.add(&other.latency);
        self.server_cpu += other.server_cpu;
        self.own_cpu += other.own_cpu;
    }
}

/// Connections and what each asks, kept between stretches so that none of them pays for connecting.
pub struct Crew {
    target: Target,
    server_pid: u32,
    members: Vec<Member>,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a crew of {} at {}", self.members.len(), self.target)
    }
}

struct Member {
    connection: Connection,
    caller: Box<dyn Caller>,
}

impl Crew {
    pub async fn assemble(
        target: &Target,
        server_pid: u32,
        callers: impl IntoIterator<Item = Box<dyn Caller>>,
    ) -> io::Result<Self> {
        let mut members = Vec::new();
        for caller in callers {
            members.push(Member { connection: Connection::open(target).await?, caller });
        }
        Ok(Self { target: target.clone(), server_pid, members })
    }

    /// Everyone asks, as fast as answers come, until the time is up; whatever is under way then is waited for.
    async fn shifts(&mut self, stretch: Duration) -> io::Result<Tally> {
        let tally = Arc::new(Mutex::new(Tally { elapsed: stretch, ..Tally::default() }));
        let (server_cpu, own_cpu) = self.cpu_times();
        let until = stopwatch() + stretch;
        let shifts: Vec<_> = self
            .members
            .drain(..)
            .map(|member| tokio::spawn(shift(member, self.target.clone(), until, tally.clone())))
            .collect();
        for shift in shifts {
            self.members.push(shift.await.map_err(io::Error::other)??);
        }
        let mut tally = std::mem::take(&mut *tally.lock().expect("no shift panics while counting"));
        let (server_later, own_later) = self.cpu_times();
        (tally.server_cpu, tally.own_cpu) =
            (server_later.saturating_sub(server_cpu), own_later.saturating_sub(own_cpu));
        Ok(tally)
    }

    fn cpu_times(&self) -> (Duration, Duration) {
        (machine::cpu_time(self.server_pid), machine::cpu_time(std::process::id()))
    }
}

impl Worker for Crew {
    fn work(&mut self, stretch: Duration) -> BoxFuture<'_, io::Result<Tally>> {
        Box::pin(self.shifts(stretch))
    }
}

async fn shift(
    mut member: Member,
    target: Target,
    until: Instant,
    tally: Arc<Mutex<Tally>>,
) -> io::Result<Member> {
    let mut request = Vec::new();
    let mut sent = stopwatch();
    while sent < until {
        member.caller.write(&mut request);
        match member.connection.exchange(&request).await {
            Ok(response) => {
                member.caller.read(&response);
                let (status, answered) = (response.status, stopwatch());
                // One thread runs all shifts, so this lock is never waited for.
                let mut tally = tally.lock().expect("no shift panics while counting");
                *tally.statuses.entry(status).or_default() += 1;
                tally.latency.record(answered - sent);
                if answered > until {
                    *tally.late.entry(status).or_default() += 1;
                }
                sent = answered;
            }
            Err(_) => {
                tally.lock().expect("no shift panics while counting").lost += 1;
                member.connection = Connection::open(&target).await?;
                sent = stopwatch();
            }
        }
    }
    Ok(member)
}
