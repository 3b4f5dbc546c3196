//! A report held against the usual advice, as the Markdown of docs/strategies.md: the table of strategies, and each claim
//! with the row that shows what became of it.
//!
//! The figures are the report's. The verdicts are an author's and stand here beside the question, to be read against the
//! figures whenever a new run is quoted.

use std::fmt::Write;

use super::{
    Report,
    model::{Kind, Load, Run, Verdict},
};

/// Both tables, for the crowd of fifty or what is nearest to it.
pub fn claims(report: &Report) -> String {
    let rows = Rows::of(report);
    let mut text = rows.facts();
    text += "\n\n| strategy | one seat: p50, p99 of hearing yes or no | uncontended: bookings/s | hot stock: bookings/s \
             | round trips a booking | flushes a booking |\n|---|---|---|---|---|---|\n";
    rows.strategies().for_each(|name| text += &rows.strategy(name));
    text += &format!("\n{}\n\n| claim | verdict | the row that shows it |\n|---|---|---|\n", rows.summary());
    for claim in CLAIMS {
        let shown = (claim.shown)(&rows).unwrap_or_else(|| "not measured in this run".to_owned());
        writeln!(text, "| {} | {} | {shown} |", claim.claim, claim.verdict)
            .expect("a string takes everything");
    }
    text
}

struct Claim {
    claim: &'static str,
    verdict: &'static str,
    shown: fn(&Rows<'_>) -> Option<String>,
}

const CLAIMS: &[Claim] = &[
    Claim {
        claim: "Checking first and taking afterwards sells a seat twice",
        verdict: "confirmed",
        shown: |rows| {
            let naive = rows.one_seat("naive")?;
            let quiet = match rows.uncontended("naive")?.verdict {
                Verdict::Invalid => "even uncontended it showed",
                _ => "in a quiet hall it goes unnoticed: uncontended, none seen",
            };
            Some(format!("`naive` one_seat: {}; {quiet}", winners(naive)))
        },
    },
    Claim {
        claim: "A unique index is the last line of defence",
        verdict: "confirmed",
        shown: |rows| {
            let saved = rows.mistake("naive_with_constraint")?;
            Some(format!("`naive_with_constraint`: won {}; {}", saved.won, saved.saved_by.as_ref()?))
        },
    },
    Claim {
        claim: "A unique partial index suffices, no lock service is needed",
        verdict: "confirmed",
        shown: |rows| {
            let (unique, lock) = (rows.uncontended("unique")?, rows.uncontended("lock")?);
            let won = rows.one_seat("unique")?.won;
            let (unique, lock) = (goodput(unique), goodput(lock));
            Some(format!(
                "`unique` one_seat: {won} won, and {unique} bookings/s uncontended beside {lock} of `lock`"
            ))
        },
    },
    Claim {
        claim: "… if it is the right index",
        verdict: "confirmed",
        shown: |rows| {
            let (holder, null) = (rows.mistake("holder_in_unique_key")?, rows.mistake("null_in_unique_key")?);
            Some(format!(
                "`holder_in_unique_key`: {}; `null_in_unique_key`: {}",
                winners(holder),
                winners(null)
            ))
        },
    },
    Claim {
        claim: "`SELECT … FOR UPDATE` is correct",
        verdict: "it depends",
        shown: |rows| {
            let won = rows.one_seat("pessimistic")?.won;
            let absent = winners(rows.mistake("for_update_on_absent_rows")?);
            Some(format!(
                "`pessimistic` one_seat: {won} won. On rows that are not there it locks nothing: \
                 `for_update_on_absent_rows`, {absent}"
            ))
        },
    },
    Claim {
        claim: "`FOR UPDATE` blocks, a Redis lock fails fast",
        verdict: "it depends",
        shown: |rows| {
            let p50 = |run: Option<&Run>| run.map(|run| ms(run.p50_ms));
            let seat = (p50(rows.one_seat("pessimistic"))?, p50(rows.one_seat("lock"))?);
            let stock = (p50(rows.hot_stock("lock"))?, p50(rows.hot_stock("pessimistic"))?);
            Some(format!(
                "one_seat p50: `pessimistic` {}, `lock` {}. A lock that waits and tries again, as it must where there is \
                 more than one thing to sell, is another matter: hot_stock p50 {} beside {}",
                seat.0, seat.1, stock.0, stock.1
            ))
        },
    },
    Claim {
        claim: "Row locks in PostgreSQL cannot scale to several application servers, a Redis lock can",
        verdict: "refuted",
        shown: |rows| {
            let [pessimistic, lock] = ["pessimistic", "lock"].map(|name| rows.uncontended(name).map(goodput));
            Some(format!(
                "`pessimistic` ran on two nodes like everybody else; what limits both is the one database they write to: \
                 {} and {} bookings/s",
                pessimistic?, lock?
            ))
        },
    },
    Claim {
        claim: "The atomic `UPDATE` beats `FOR UPDATE`",
        verdict: "it depends",
        shown: |rows| {
            let quiet = (rows.uncontended("atomic")?, rows.uncontended("pessimistic")?);
            let race = (rows.one_seat("atomic")?, rows.one_seat("pessimistic")?);
            Some(format!(
                "uncontended {} beside {} bookings/s, one_seat p50 {} beside {}. \"No lock is held\" is not so: an \
                 `UPDATE` locks its row, and the next one waits for it",
                goodput(quiet.0),
                goodput(quiet.1),
                ms(race.0.p50_ms),
                ms(race.1.p50_ms)
            ))
        },
    },
    Claim {
        claim: "Optimistic versions scale better",
        verdict: "refuted, on one hot thing",
        shown: |rows| {
            let (cas, pessimistic) = (rows.hot_stock("cas")?, rows.hot_stock("pessimistic")?);
            let quiet = (rows.uncontended("cas")?, rows.uncontended("pessimistic")?);
            Some(format!(
                "`cas` hot_stock: {} bookings/s, {} attempts a hold, p50 {}; `pessimistic` {}. Where nobody is in the way \
                 they are alike: {} and {}",
                goodput(cas),
                cas.attempts_per_success.map_or("–".to_owned(), |each| format!("{each:.1}")),
                ms(cas.p50_ms),
                goodput(pessimistic),
                goodput(quiet.0),
                goodput(quiet.1)
            ))
        },
    },
    Claim {
        claim: "Sort the seats, or deadlock",
        verdict: "confirmed",
        shown: |rows| {
            rows.run("batched", "multi_seat")?;
            Some(
                "multi_seat in opposing orders: all strategies sort, all held; unsorted locks are among the seeded bugs \
                 of [testing.md](testing.md)"
                    .to_owned(),
            )
        },
    },
    Claim {
        claim: "A lock must be released by its owner only",
        verdict: "confirmed",
        shown: |rows| {
            let won = rows.mistake("del_without_owner_check")?.won;
            Some(format!("`del_without_owner_check`: {won} buyers have the one seat"))
        },
    },
    Claim {
        claim: "Redis prevents the race, the database is only the second belt",
        verdict: "refuted",
        shown: |rows| {
            let won = rows.mistake("lock_released_before_commit")?.won;
            let held = rows.fault("lock", "fault_lock_holder_paused")?;
            Some(format!(
                "`lock_released_before_commit`: {won} buyers have the seat, every one of them had the lock. `lock` in \
                 `fault_lock_holder_paused` {held}: what a late holder writes is refused by the unit's version"
            ))
        },
    },
    Claim {
        claim: "Redlock is safer than one Redis",
        verdict: "it depends",
        shown: |rows| {
            let (redlock, lock) = (rows.uncontended("redlock")?, rows.uncontended("lock")?);
            let (redlock, lock) = (trips(redlock)?, trips(lock)?);
            Some(format!(
                "the same winners as `lock`, for {redlock} round trips instead of {lock}; neither is trusted here"
            ))
        },
    },
    Claim {
        claim: "A bit in Redis spares the database",
        verdict: "it depends",
        shown: |rows| {
            let race = (rows.one_seat("bitmap")?, rows.one_seat("unique")?);
            let quiet = (rows.uncontended("bitmap")?, rows.uncontended("unique")?);
            Some(format!(
                "`bitmap` one_seat p50 {} beside {} of `unique`, for {} round trips a booking instead of {}: it pays for \
                 the refused, not for those who buy",
                ms(race.0.p50_ms),
                ms(race.1.p50_ms),
                trips(quiet.0)?,
                trips(quiet.1)?
            ))
        },
    },
    Claim {
        claim: "`DECR` gives ultra-high throughput",
        verdict: "refuted, for what is sold",
        shown: |rows| {
            let (decr, atomic) = (goodput(rows.hot_stock("decr")?), goodput(rows.hot_stock("atomic")?));
            Some(format!(
                "`decr` hot_stock: {decr} bookings/s, `atomic` without Redis {atomic}: the yes is still a commit"
            ))
        },
    },
    Claim {
        claim: "Forgetting to give back leaks stock",
        verdict: "confirmed",
        shown: |rows| {
            let leaked = rows.mistake("decr_without_compensation")?;
            (leaked.false_refusals > 0)
                .then(|| "`decr_without_compensation`: a false refusal with stock on the shelf".to_owned())
        },
    },
    Claim {
        claim: "Rate limit, then Lua, then versions is what scales",
        verdict: "it depends",
        shown: |rows| {
            let (layered, batched) =
                (goodput(rows.hot_stock("layered")?), goodput(rows.hot_stock("batched")?));
            Some(format!(
                "`layered` hot_stock: {layered} bookings/s; its versions behind the gate lose on one hot line what the gate \
                 saved. `batched` {batched}"
            ))
        },
    },
    Claim {
        claim: "A sweeper gives expired seats back",
        verdict: "refuted, as the only means",
        shown: |rows| {
            let late = rows.mistake("expiry_by_sweeper_only")?;
            let broke = late.verdict == Verdict::Invalid;
            broke.then(|| "`expiry_by_sweeper_only`: a hold confirmed after its end".to_owned())
        },
    },
    Claim {
        claim: "An idempotency key makes retries safe",
        verdict: "confirmed",
        shown: |rows| {
            let storm = rows.run("batched", "retry_storm")?;
            let (holds, requests) = (storm.won, storm.attempts);
            Some(format!(
                "retry_storm: five times the same request at once, {holds} holds for {requests} requests, in every strategy{}",
                rows.killed()
            ))
        },
    },
    Claim {
        claim: "SQLite's one writer is the bottleneck",
        verdict: "refuted",
        shown: |rows| {
            let [writer, batched, atomic] =
                ["writer", "batched", "atomic"].map(|name| rows.uncontended(name).map(goodput));
            Some(format!(
                "`writer`: {} bookings/s, the fastest of all; grouping commits is what counts, in PostgreSQL too \
                 (`batched` {}, `atomic` {})",
                writer?, batched?, atomic?
            ))
        },
    },
    Claim {
        claim: "A queue before the offer tames the spike",
        verdict: "confirmed",
        shown: |rows| {
            let (queue, atomic) = (rows.one_seat("queue")?.p99_ms, rows.one_seat("atomic")?.p99_ms);
            Some(format!("`queue` one_seat p99 {}, `atomic`, which it uses, {}", ms(queue), ms(atomic)))
        },
    },
];

/// The rows of one crowd.
struct Rows<'a> {
    report: &'a Report,
    buyers: u32,
}

impl<'a> Rows<'a> {
    fn of(report: &'a Report) -> Self {
        let seats = report.runs.iter().filter(|run| run.scenario == "one_seat").map(|run| run.buyers);
        let buyers = seats.min_by_key(|buyers| buyers.abs_diff(50)).unwrap_or(50);
        Self { report, buyers }
    }

    /// At this crowd's size, where there is one of it.
    fn run(&self, strategy: &str, scenario: &str) -> Option<&'a Run> {
        let named =
            |run: &&Run| run.strategy == strategy && run.scenario == scenario && run.load == Load::Closed;
        self.report.runs.iter().filter(named).min_by_key(|run| run.buyers.abs_diff(self.buyers))
    }

    fn one_seat(&self, strategy: &str) -> Option<&'a Run> {
        self.run(strategy, "one_seat")
    }

    fn uncontended(&self, strategy: &str) -> Option<&'a Run> {
        self.run(strategy, "uncontended")
    }

    fn hot_stock(&self, strategy: &str) -> Option<&'a Run> {
        self.run(strategy, "hot_stock")
    }

    fn mistake(&self, name: &str) -> Option<&'a Run> {
        let named = |run: &&Run| run.strategy == name && run.scenario.starts_with("mistake_");
        self.report.runs.iter().find(named)
    }

    fn fault(&self, strategy: &str, fault: &str) -> Option<&'static str> {
        let found =
            self.report.faults.iter().find(|found| found.strategy == strategy && found.fault == fault)?;
        Some(match found.verdict {
            Verdict::Valid => "held all the same",
            Verdict::Invalid => "broke",
            Verdict::Unknown => "proved nothing",
        })
    }

    /// What became of those who had no answer when a server was killed.
    fn killed(&self) -> String {
        let killed = self.report.runs.iter().filter(|run| run.scenario == "fault_server_killed");
        let (held, all) = killed
            .clone()
            .fold((0, 0), |(held, all), run| (held + u32::from(run.verdict == Verdict::Valid), all + 1));
        let in_doubt: u64 = killed.map(|run| run.unknown).sum();
        if all == 0 {
            return String::new();
        }
        format!(
            ". `fault_server_killed`: {in_doubt} requests without an answer, asked again with their keys; {held} of {all} \
             strategies held"
        )
    }

    fn strategies(&self) -> impl Iterator<Item = &'a str> {
        let seat =
            self.report.runs.iter().filter(|run| run.scenario == "one_seat" && run.kind == Kind::Strategy);
        let at = self.buyers;
        seat.filter(move |run| run.buyers == at).map(|run| run.strategy.as_str())
    }

    fn strategy(&self, name: &str) -> String {
        let dash = || "–".to_owned();
        let seat =
            self.one_seat(name).map_or_else(dash, |run| format!("{}, {}", ms(run.p50_ms), ms(run.p99_ms)));
        let quiet = self.uncontended(name);
        let per_booking = |figure: Option<f64>| figure.map_or_else(dash, |figure| format!("{figure:.1}"));
        format!(
            "| `{name}` | {seat} | {} | {} | {} | {} |\n",
            quiet.map_or_else(dash, goodput),
            self.hot_stock(name).map_or_else(dash, goodput),
            per_booking(quiet.and_then(|run| run.round_trips_per_booking)),
            per_booking(quiet.and_then(|run| run.fsyncs_per_booking)),
        )
    }

    /// Which run this is.
    fn facts(&self) -> String {
        let Report { seed, started_at, machine, servers, took_s, .. } = self.report;
        let server = |version: &Option<String>| version.clone().unwrap_or_else(|| "none".to_owned());
        format!(
            "Seed {seed}, {started_at}, {} cores ({}), PostgreSQL {}, Redis {}, {} buyers, {took_s:.0} s in all.",
            machine.cores,
            machine.cpu,
            server(&servers.postgres),
            server(&servers.redis),
            self.buyers
        )
    }

    fn summary(&self) -> String {
        let strategies = self.report.runs.iter().filter(|run| run.kind == Kind::Strategy);
        let seats = strategies.clone().filter(|run| run.scenario == "one_seat");
        let several = seats.filter(|run| run.won != 1).count();
        let (all, broke) = strategies
            .fold((0, 0), |(all, broke), run| (all + 1, broke + u32::from(run.verdict == Verdict::Invalid)));
        let winners = match several {
            0 => "Every strategy had exactly one winner of the one seat".to_owned(),
            several => format!("{several} races for the one seat had not exactly one winner"),
        };
        let naive = self.one_seat("naive").map(|run| format!(" `naive` sold the seat {} times.", run.won));
        let naive = naive.unwrap_or_default();
        format!("{winners}, and of {all} runs of the server's strategies {broke} broke a promise.{naive}")
    }
}

fn winners(run: &Run) -> String {
    format!("{} of {} won", run.won, run.buyers)
}

fn goodput(run: &Run) -> String {
    let whole = format!("{:.0}", run.goodput_per_s);
    match whole.len() {
        4.. => format!("{},{}", &whole[..whole.len() - 3], &whole[whole.len() - 3..]),
        _ => whole,
    }
}

fn trips(run: &Run) -> Option<String> {
    run.round_trips_per_booking.map(|trips| format!("{trips:.1}"))
}

fn ms(ms: f64) -> String {
    if ms >= 1000.0 { format!("{:.2} s", ms / 1000.0) } else { format!("{ms:.1} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(strategy: &str, scenario: &str, buyers: u32, kind: Kind) -> Run {
        Run {
            strategy: strategy.to_owned(),
            scenario: scenario.to_owned(),
            buyers,
            attempts: buyers.into(),
            won: 1,
            refused: 0,
            unknown: 0,
            violations: 0,
            false_refusals: 0,
            goodput_per_s: 8152.4,
            p50_ms: 5.91,
            p95_ms: 6.0,
            p99_ms: 1850.0,
            p999_ms: 1850.0,
            kind,
            verdict: Verdict::Valid,
            saved_by: None,
            counterexample: vec![],
            attempts_per_success: None,
            round_trips_per_booking: Some(15.02),
            fsyncs_per_booking: None,
            cpu_ms_per_booking: None,
            load: Load::Closed,
            rate_per_s: None,
            cut: false,
        }
    }

    #[test]
    fn the_tables_quote_the_crowd_of_fifty_and_say_what_is_missing() {
        let names = ["atomic", "queue"];
        let runs = names.iter().flat_map(|name| {
            let of = |scenario, buyers| run(name, scenario, buyers, Kind::Strategy);
            [of("one_seat", 5), of("one_seat", 50), of("uncontended", 50), of("hot_stock", 50)]
        });
        let naive = Run { won: 50, ..run("naive", "one_seat", 50, Kind::Naive) };
        let report = Report { runs: runs.chain([naive]).collect(), ..Report::default() };
        let text = claims(&report);
        assert!(text.contains("| `queue` | 5.9 ms, 1.85 s | 8,152 | 8,152 | 15.0 | – |"), "{text}");
        assert!(text.contains("`queue` one_seat p99 1.85 s, `atomic`, which it uses, 1.85 s"), "{text}");
        assert!(text.contains(
            "of 8 runs of the server's strategies 0 broke a promise. `naive` sold the seat 50 times."
        ));
        assert!(text.contains("| Redlock is safer than one Redis | it depends | not measured in this run |"));
        assert_eq!(text.matches("`atomic` | 5.9").count(), 1, "one row a strategy");
    }
}
