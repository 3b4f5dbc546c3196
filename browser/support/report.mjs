// A report with something of everything in it, small and always the same, for the pictures to be drawn from.

const run = (strategy, more = {}) => ({
  strategy, scenario: "one_seat", buyers: 20, attempts: 20, won: 1, refused: 19, unknown: 0, violations: 0, false_refusals: 0,
  goodput_per_s: 900, p50_ms: 1.2, p95_ms: 3.4, p99_ms: 5.6, p999_ms: 7.8, kind: "strategy", verdict: "valid", saved_by: null,
  counterexample: [], attempts_per_success: 20, round_trips_per_booking: 3, fsyncs_per_booking: null, cpu_ms_per_booking: 0.4,
  load: "closed", rate_per_s: null, ...more,
});

const span = (phase, start_us, end_us) => ({ phase, start_us, end_us });

/** Twenty who read before the first of them wrote; every fifth came too late. */
function naive() {
  const lanes = Array.from({ length: 20 }, (_, at) => {
    const late = at % 5 === 4;
    const start = 100 * at;
    const phases = late
      ? [span("wait", start, 6000), span("read", 6000, 6500)]
      : [span("read", start, start + 600), span("think", start + 600, start + 4000), span("write", start + 4000, start + 4700),
        span("commit", start + 4700, start + 5200)];
    return { buyer: `buyer-${at + 1}`, outcome: late ? "refused" : "won", start_us: start, end_us: phases.at(-1).end_us, phases,
      words: late ? "read: it is taken" : "booked" };
  });
  const owners = lanes.filter((lane) => lane.outcome === "won").map((lane) => ({ holder: lane.buyer, from_us: lane.end_us, to_us: null }));
  return race("naive", lanes, owners, [{ kind: "double_sale", unit: "A-1", holders: owners.map((owner) => owner.holder),
    from_us: owners[1].from_us, to_us: 7000, words: "A-1 has 16 owners" }]);
}

function held(strategy) {
  const lanes = Array.from({ length: 20 }, (_, at) => {
    const [start_us, end_us] = [100 * at, 100 * at + 1500 + 90 * ((at * 7) % 11)];
    const outcome = at === 3 ? "won" : at === 9 ? "unknown" : "refused";
    return { buyer: `buyer-${at + 1}`, outcome, start_us, end_us, phases: [span("ask", start_us, end_us)], words: outcome };
  });
  return race(strategy, lanes, [{ holder: "buyer-4", from_us: lanes[3].end_us, to_us: null }], []);
}

const race = (strategy, lanes, owners, violations) =>
  ({ strategy, scenario: "one_seat", buyers: 20, seed: 7, unit: "A-1", lanes, owners, violations });

/** What `holdfast lab --json` writes. */
export function sampleReport() {
  const strategies = ["pessimistic", "cas", "lua", "batched", "writer"];
  const proof = ["DoubleSale: A-1 is booked by h1 and h2 at once"];
  return {
    seed: 7, version: "0", started_at: "2026-11-16T08:00:00.000Z", machine: { cores: 2, cpu: "a processor", os: "Linux" },
    servers: { postgres: "17.0", redis: null }, quick: true,
    runs: [
      ...strategies.map((name, at) => run(name, { goodput_per_s: 500 * (at + 1), p50_ms: 5 - at })),
      run("uncontended_only", { scenario: "uncontended" }),
      run("naive", { kind: "naive", verdict: "invalid", won: 16, violations: 15, counterexample: proof }),
      run("naive_lucky", { kind: "naive" }),
      run("naive_behind_unique", { kind: "naive", saved_by: "the unique index" }),
      run("null_in_unique_key", { kind: "mistake", verdict: "invalid", violations: 3, counterexample: proof }),
    ],
    races: [naive(), held("batched"), held("writer")],
    contention: strategies.flatMap((strategy, at) =>
      [5, 20, 50, 500].map((buyers) => ({ strategy, buyers, goodput_per_s: (900 * (at + 1) ** 2) / Math.sqrt(buyers) }))),
    faults: [{ strategy: "lua", fault: "redis_flushed", from_ms: 1000, to_ms: 1800, verdict: "valid",
      bins: Array.from({ length: 30 }, (_, at) => ({ at_ms: at * 100, won: 5 + (at % 4), refused: 40, failed: at > 10 && at < 14 ? 3 : 0 })) }],
    skipped: [{ strategy: "redlock", scenario: "one_seat", why: "needs three Redis servers, and redis-server is not installed" }],
  };
}
