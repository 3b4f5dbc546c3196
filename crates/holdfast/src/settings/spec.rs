//! The table of settings: the one place that names each, says what it is for and gives its default.

use super::address;

/// One setting. Its flag and variable follow from its key.
#[derive(Debug)]
pub struct Spec {
    pub key: &'static str,
    pub heading: &'static str,
    /// What a value looks like, as shown in `--help`.
    pub value: &'static str,
    /// `None`: unset unless somebody sets it.
    pub default: Option<&'static str>,
    pub help: &'static str,
    pub shown: Shown,
    /// A value that works: the default, or what one looks like where there is none.
    pub example: &'static str,
}

/// What most people set, and `-h` shows; `--help` has all of them.
pub const COMMON: &[&str] = &[
    "listen",
    "data",
    "ledger",
    "gate",
    "strategy",
    "admin_key",
    "secure_cookies",
    "trusted_proxies",
    "stripe_secret_key",
    "log",
];

/// How much of a value may be seen, in `holdfast config`, in errors and in logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    All,
    /// An address that may carry a password.
    WithoutPassword,
    Never,
}

impl Spec {
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    pub fn variable(&self) -> String {
        format!("HOLDFAST_{}", self.key.to_ascii_uppercase())
    }

    /// The value as anybody may see it.
    pub fn show(&self, text: &str) -> String {
        match self.shown {
            Shown::All => text.to_owned(),
            Shown::WithoutPassword => address::without_password(text),
            Shown::Never => address::HIDDEN.to_owned(),
        }
    }
}

const SERVER: &str = "Server";
const REQUESTS: &str = "Requests";
const LEDGER: &str = "Ledger";
const FOLDER: &str = "Ledger in a folder";
const POSTGRES: &str = "Ledger in PostgreSQL";
const ADMISSION: &str = "Admission";
const GATE: &str = "Gate in Redis";
const PAYMENTS: &str = "Payments";
const LIVE_MAP: &str = "Live map";
const LAB: &str = "Lab";
const LOGS: &str = "Logs";

pub const SPECS: &[Spec] = &[
    setting(
        SERVER,
        "listen",
        "ADDRESS",
        "127.0.0.1:8080",
        "Where to listen; a public address needs an admin key",
    ),
    setting(
        SERVER,
        "data",
        "DIR",
        "./holdfast-data",
        "The folder that holds everything; one process at a time",
    ),
    address(
        SERVER,
        "ledger",
        "postgres://…",
        "postgres://holdfast@localhost/holdfast",
        "The PostgreSQL that holds everything, for any number of nodes; instead of --data",
    ),
    address(
        SERVER,
        "gate",
        "redis://…",
        "redis://localhost:6379",
        "The Redis that refuses before PostgreSQL is asked; several with commas between them",
    ),
    optional(
        SERVER,
        "strategy",
        "NAME",
        "batched",
        "How units are claimed [default: writer with --data, batched with --ledger]",
    ),
    secret(
        SERVER,
        "admin_key",
        "KEY",
        "as-long-as-you-like",
        "An API key with the role admin; better in HOLDFAST_ADMIN_KEY than as a flag",
    ),
    setting(SERVER, "threads", "N", "0", "Threads that serve requests; 0 for one a processor core"),
    setting(
        SERVER,
        "allowed_origins",
        "URL,URL",
        "",
        "Sites besides this one whose pages may post with a visitor's session",
    ),
    setting(
        SERVER,
        "secure_cookies",
        "BOOL",
        "false",
        "Send session cookies over https only; turn on behind TLS",
    ),
    setting(
        SERVER,
        "leave_keep",
        "DURATION",
        "60s",
        "How long a hold is kept for a buyer whose page has gone away; 0s to keep it as long as any",
    ),
    setting(REQUESTS, "max_connections", "N", "16384", "Open connections; one more is told to come back"),
    setting(
        REQUESTS,
        "max_requests",
        "N",
        "8192",
        "Requests under way at once; one more hears 503 overloaded",
    ),
    setting(
        REQUESTS,
        "max_in_flight",
        "N",
        "4096",
        "Commands waiting for the ledger; one more hears 503 overloaded",
    ),
    setting(
        REQUESTS,
        "deadline",
        "DURATION",
        "5s",
        "A command not begun within this time is dropped unstarted",
    ),
    setting(
        REQUESTS,
        "request_timeout",
        "DURATION",
        "30s",
        "Headers and body must be complete this long after the first byte",
    ),
    setting(
        REQUESTS,
        "idle_timeout",
        "DURATION",
        "75s",
        "A connection on which nothing is asked is closed after this time",
    ),
    setting(
        REQUESTS,
        "shed_pause",
        "DURATION",
        "1s",
        "How long who is told to come back should wait; the impatient wait up to four times that",
    ),
    setting(
        REQUESTS,
        "shutdown_grace",
        "DURATION",
        "10s",
        "How long answers under way may take once told to stop",
    ),
    setting(REQUESTS, "max_body", "SIZE", "64KiB", "The longest body of a caller's request"),
    setting(
        REQUESTS,
        "max_admin_body",
        "SIZE",
        "8MiB",
        "The longest body of an administrator's request, such as a seat plan",
    ),
    setting(
        ADMISSION,
        "trusted_proxies",
        "NET,NET",
        "none",
        "Proxies that are believed about a client's address, such as 10.0.0.0/8,::1; or none",
    ),
    setting(ADMISSION, "trusted_hops", "N", "0", "Or: how many proxies stand before this server"),
    setting(
        ADMISSION,
        "rate_per_address",
        "N/TIME",
        "1000/10s",
        "Changes that one address may ask for; or off",
    ),
    setting(
        ADMISSION,
        "rate_tickets_per_address",
        "N/TIME",
        "60/10s",
        "Of those, new tickets of waiting rooms; or off",
    ),
    setting(ADMISSION, "rate_per_holder", "N/TIME", "60/10s", "Changes that one session may ask for; or off"),
    setting(ADMISSION, "rate_per_key", "N/TIME", "off", "Changes that one API key may ask for; or off"),
    setting(
        ADMISSION,
        "unconfirmed_per_holder",
        "N",
        "60",
        "Units of an offer that a session may hold unconfirmed within the window; 0 for any",
    ),
    setting(
        ADMISSION,
        "unconfirmed_per_address",
        "N",
        "600",
        "The same for all sessions at one address; 0 for any",
    ),
    setting(
        ADMISSION,
        "unconfirmed_share_per_address",
        "PERCENT",
        "10",
        "The most of an offer that one address may hold unconfirmed, but 20 units in any case; 0 for any",
    ),
    setting(
        ADMISSION,
        "unconfirmed_window",
        "DURATION",
        "10m",
        "How long an unconfirmed hold counts against whoever placed it, at least; it counts while it lasts",
    ),
    setting(
        ADMISSION,
        "room_turn_every",
        "DURATION",
        "1s",
        "How often a waiting room calls the next; what a node knows of it is as old at most",
    ),
    setting(
        ADMISSION,
        "room_presences",
        "N",
        "500000",
        "Waiting visitors that a node remembers as being there",
    ),
    setting(
        ADMISSION,
        "room_front",
        "N",
        "1024",
        "How many at the front of its queue a node tells the others of",
    ),
    setting(ADMISSION, "room_tickets", "N", "10000000", "Tickets for one waiting room"),
    setting(
        ADMISSION,
        "room_queue",
        "N",
        "16384",
        "Requests that may wait at a room; one more hears overloaded",
    ),
    setting(ADMISSION, "callers_remembered", "N", "100000", "Callers that a node counts by itself"),
    setting(LEDGER, "max_batch", "N", "512", "Commands decided and committed together"),
    setting(LEDGER, "answers_kept", "DURATION", "7d", "How long the answers to idempotency keys are kept"),
    setting(
        LEDGER,
        "change_backlog",
        "N",
        "1024",
        "Batches that a slow listener may be behind before it loses some",
    ),
    setting(LEDGER, "max_page", "N", "1000", "Rows on one page of a list, whatever is asked for"),
    setting(
        FOLDER,
        "gather",
        "DURATION",
        "1ms",
        "How long a batch may wait to become as large as the last one",
    ),
    setting(
        FOLDER,
        "urgent_queue",
        "N",
        "8192",
        "Waiting confirmations, extensions, releases and cancellations",
    ),
    setting(FOLDER, "ordinary_queue", "N", "8192", "Waiting holds and organisers' commands"),
    setting(FOLDER, "read_queue", "N", "8192", "Waiting reads"),
    setting(FOLDER, "tidy_slice", "N", "256", "Expiries written down per batch while there is other work"),
    setting(FOLDER, "idle_tidy_slice", "N", "1024", "The same while there is none"),
    setting(FOLDER, "upkeep_slice", "DURATION", "4ms", "How long one slice of filling the tables may take"),
    setting(
        FOLDER,
        "max_tables_lag",
        "N",
        "500000",
        "Entries that the tables may be behind before commands pay for them",
    ),
    setting(
        FOLDER,
        "max_unfiled_answers",
        "N",
        "200000",
        "Kept answers not yet filed before commands pay for filing them",
    ),
    setting(
        FOLDER,
        "checkpoint_every",
        "N",
        "1000000",
        "Journal entries from one checkpoint to the next; 0 for none",
    ),
    setting(
        FOLDER,
        "max_file",
        "SIZE",
        "0",
        "The most the file may grow to before selling stops; 0 for the whole disk",
    ),
    setting(
        POSTGRES,
        "pg_wait",
        "DURATION",
        "30s",
        "How long a starting server waits for a PostgreSQL that is not there yet",
    ),
    setting(POSTGRES, "pg_connections", "N", "16", "Connections of one node for holds, lists and upkeep"),
    setting(
        POSTGRES,
        "pg_urgent_connections",
        "N",
        "4",
        "Connections kept for confirmations, extensions, releases and cancellations",
    ),
    setting(
        POSTGRES,
        "pg_connect_timeout",
        "DURATION",
        "1s",
        "How long to wait for a free connection, and for a new one to be made",
    ),
    setting(POSTGRES, "pg_statement_timeout", "DURATION", "3s", "How long one statement may take"),
    setting(
        POSTGRES,
        "pg_lock_timeout",
        "DURATION",
        "2s",
        "How long a statement may wait for another's lock",
    ),
    setting(
        POSTGRES,
        "pg_idle_timeout",
        "DURATION",
        "5s",
        "How long a transaction may hear nothing from its node before PostgreSQL ends it",
    ),
    setting(
        POSTGRES,
        "pg_prepared_statements",
        "auto|true|false",
        "auto",
        "Keep statements prepared; auto finds out whether a pooler that works by transaction forgets them",
    ),
    setting(POSTGRES, "pg_batches", "N", "2", "Batches of one node under way at once"),
    setting(POSTGRES, "pg_queue", "N", "8192", "Commands waiting in each lane"),
    setting(
        POSTGRES,
        "pg_attempts",
        "N",
        "10",
        "How often a transaction that lost a race is tried before 503 overloaded",
    ),
    setting(
        POSTGRES,
        "pg_workers_per_offer",
        "N",
        "4",
        "Of the strategy queue: commands of one offer in the database at once",
    ),
    setting(
        POSTGRES,
        "pg_queue_per_offer",
        "N",
        "1024",
        "Of the strategy queue: commands in an offer's line",
    ),
    setting(
        POSTGRES,
        "pg_follow_every",
        "DURATION",
        "100ms",
        "How often the journal is followed when nobody asks",
    ),
    setting(
        POSTGRES,
        "pg_max_read_age",
        "DURATION",
        "5s",
        "How old availability may be while PostgreSQL is out of reach",
    ),
    setting(
        POSTGRES,
        "pg_read_patience",
        "DURATION",
        "2s",
        "How long a reader waits for the node's copy of the books",
    ),
    setting(
        POSTGRES,
        "pg_tidy_every",
        "DURATION",
        "500ms",
        "How often expired holds are written down; no promise depends on it; 0s for never",
    ),
    setting(POSTGRES, "pg_tidy_slice", "N", "512", "Expiries written down at once"),
    optional(
        GATE,
        "gate_ca",
        "FILE",
        "/etc/ssl/certs/ca-certificates.crt",
        "Who vouches for rediss:// servers, as PEM [default: the authorities that this machine trusts]",
    ),
    setting(
        GATE,
        "gate_timeout",
        "DURATION",
        "50ms",
        "How long one question may take before PostgreSQL is asked",
    ),
    setting(
        GATE,
        "gate_connect_timeout",
        "DURATION",
        "500ms",
        "How long making a connection may take; nobody waits",
    ),
    setting(GATE, "gate_failures", "N", "3", "Failures in a row after which Redis is left alone"),
    setting(GATE, "gate_trials", "N", "8", "Requests that may try at once when Redis seems to be back"),
    setting(
        GATE,
        "gate_watch_every",
        "DURATION",
        "250ms",
        "How often the servers and the epoch are looked at",
    ),
    setting(GATE, "gate_epoch_believed", "DURATION", "3s", "How long the epoch last read is believed"),
    setting(
        GATE,
        "gate_pass_wait",
        "DURATION",
        "40ms",
        "How long a request waits for others who want the same",
    ),
    setting(GATE, "gate_pass_live", "DURATION", "2s", "How long a request under way is remembered"),
    setting(GATE, "gate_end_remembered", "DURATION", "60s", "How long the end of a claim is remembered"),
    setting(GATE, "gate_clock_slack", "DURATION", "100ms", "The most that the clocks of nodes may differ"),
    setting(GATE, "gate_rebuild_lease", "DURATION", "10s", "How long one node may take to rebuild an offer"),
    setting(GATE, "gate_rebuilds_at_once", "N", "2", "Offers that one node rebuilds at the same time"),
    setting(
        GATE,
        "gate_renew_every",
        "DURATION",
        "20s",
        "How often what Redis knows is read anew from the books",
    ),
    setting(GATE, "gate_slate_kept", "DURATION", "1d", "How long Redis keeps what nobody asks for"),
    setting(
        GATE,
        "gate_check_one_in",
        "N",
        "256",
        "One refusal in so many is checked with the ledger; 0 for none",
    ),
    setting(GATE, "gate_check_gap", "DURATION", "20ms", "The least time between two such checks on a node"),
    setting(GATE, "gate_offer_believed", "DURATION", "1s", "How long what is known of an offer is believed"),
    setting(GATE, "gate_lock_live", "DURATION", "2s", "lock, redlock: how long a lock lives unless renewed"),
    setting(GATE, "gate_lock_renewals", "N", "5", "lock, redlock: how often it may be renewed"),
    setting(GATE, "gate_lock_wait", "DURATION", "500ms", "lock, redlock: how long to try for a busy lock"),
    setting(
        GATE,
        "gate_lock_pause_min",
        "DURATION",
        "2ms",
        "lock, redlock: the shortest pause between tries",
    ),
    setting(
        GATE,
        "gate_lock_pause_max",
        "DURATION",
        "20ms",
        "lock, redlock: the longest pause between tries",
    ),
    setting(
        GATE,
        "gate_lock_drift",
        "PERCENT",
        "1",
        "redlock: by how much of a lock's life clocks may be apart",
    ),
    setting(
        GATE,
        "gate_rate_burst",
        "N",
        "40",
        "layered: requests of one holder in a row after a quiet time",
    ),
    setting(
        GATE,
        "gate_rate_per_second",
        "N",
        "20",
        "layered: requests of one holder a second in the long run",
    ),
    setting(
        GATE,
        "gate_rate_holders",
        "N",
        "100000",
        "layered: holders a node remembers while Redis is away",
    ),
    secret(
        PAYMENTS,
        "stripe_secret_key",
        "KEY",
        "sk_test_123",
        "Stripe's secret key, sk_…; with it bookings can be paid by card. Best in the variable",
    ),
    secret(
        PAYMENTS,
        "stripe_webhook_secret",
        "SECRET",
        "whsec_123",
        "What Stripe signs webhooks with, whsec_…; several with commas while one is replaced",
    ),
    optional(
        PAYMENTS,
        "stripe_publishable_key",
        "KEY",
        "pk_test_123",
        "Stripe's publishable key, pk_…: the shop's pages then show Stripe's own card form",
    ),
    setting(PAYMENTS, "stripe_url", "URL", "https://api.stripe.com", "Where Stripe's API is; /v1/… is added"),
    setting(PAYMENTS, "stripe_connect_timeout", "DURATION", "3s", "How long making a connection may take"),
    setting(PAYMENTS, "stripe_timeout", "DURATION", "10s", "How long Stripe may take to answer one try"),
    setting(
        PAYMENTS,
        "stripe_retries",
        "N",
        "2",
        "How often an unanswered call is tried again, with the same key",
    ),
    setting(
        PAYMENTS,
        "stripe_backoff",
        "DURATION",
        "250ms",
        "The pause before the first of those; twice as long each time",
    ),
    setting(
        PAYMENTS,
        "pay_pin_s",
        "SECONDS",
        "300",
        "How long a hold may outlive its expiry while it is being paid",
    ),
    setting(
        PAYMENTS,
        "pay_grace",
        "DURATION",
        "2m",
        "The first payment of a hold extends it to at least this long; never beyond its time to live",
    ),
    setting(
        PAYMENTS,
        "pay_look",
        "DURATION",
        "60s",
        "When another looks after a payment whose request was cut short",
    ),
    setting(
        PAYMENTS,
        "pay_poll",
        "DURATION",
        "1s",
        "How often payments are looked for that somebody must look at",
    ),
    setting(
        PAYMENTS,
        "pay_first_wait",
        "DURATION",
        "2s",
        "How soon a payment that moved nowhere is looked at again; twice as long each time",
    ),
    setting(PAYMENTS, "pay_longest_wait", "DURATION", "10m", "And at least this often"),
    setting(PAYMENTS, "pay_refund_tries", "N", "24", "How often a refund is tried before a person must look"),
    setting(PAYMENTS, "pay_at_once", "N", "16", "Payments that one node looks after at once"),
    setting(
        PAYMENTS,
        "pay_lease",
        "DURATION",
        "60s",
        "How long other nodes leave alone what one looks after",
    ),
    setting(LIVE_MAP, "max_streams", "N", "10000", "Open event streams"),
    setting(
        LIVE_MAP,
        "stream_keep_alive",
        "DURATION",
        "15s",
        "How often a stream with nothing to say shows that it is alive",
    ),
    setting(LIVE_MAP, "map_interval", "DURATION", "100ms", "At most one frame an offer in this time"),
    setting(
        LIVE_MAP,
        "map_interval_per_thousand",
        "DURATION",
        "200ms",
        "And this much longer for every thousand viewers",
    ),
    setting(
        LIVE_MAP,
        "map_remembered",
        "N",
        "65536",
        "Changes remembered for each watched offer, for those who come back",
    ),
    setting(
        LIVE_MAP,
        "map_lag",
        "N",
        "64",
        "Frames a viewer may lag behind before it is told to start again",
    ),
    setting(LIVE_MAP, "map_linger", "DURATION", "5m", "How long an offer nobody watches is still followed"),
    setting(
        LAB,
        "lab",
        "BOOL",
        "true",
        "Show races and reports that an admin's key left at /lab; the demo always does",
    ),
    setting(LAB, "lab_races", "N", "32", "Races whose pictures are kept, in memory; the oldest goes first"),
    setting(LAB, "lab_reports", "N", "4", "The same for whole reports"),
    setting(
        LOGS,
        "log",
        "FILTER",
        "info",
        "What to log: error, warn, info, debug, or a filter such as holdfast_server=debug",
    ),
    setting(LOGS, "log_format", "text|json", "text", "How a log line is written, on standard error"),
];

const fn setting(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: Some(default), help, shown: Shown::All, example: default }
}

const fn optional(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    example: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: None, help, shown: Shown::All, example }
}

const fn address(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    example: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: None, help, shown: Shown::WithoutPassword, example }
}

const fn secret(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    example: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: None, help, shown: Shown::Never, example }
}

pub fn find(key: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_explained_on_one_line() {
        for (at, spec) in SPECS.iter().enumerate() {
            assert!(SPECS[..at].iter().all(|earlier| earlier.key != spec.key), "{} stands twice", spec.key);
            assert!(spec.help.len() <= 100 && !spec.help.ends_with('.'), "{}: {}", spec.key, spec.help);
        }
    }
}
