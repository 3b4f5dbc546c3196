//! The table of settings: the one place that names each, says what it is for and gives its default.

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
    /// Never shown, wherever it came from.
    pub secret: bool,
}

impl Spec {
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    pub fn variable(&self) -> String {
        format!("HOLDFAST_{}", self.key.to_ascii_uppercase())
    }
}

const SERVER: &str = "Server";
const REQUESTS: &str = "Requests";
const LEDGER: &str = "Ledger";
const LIVE_MAP: &str = "Live map";
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
    secret(
        SERVER,
        "admin_key",
        "KEY",
        "An API key with the role admin; better in HOLDFAST_ADMIN_KEY than as a flag",
    ),
    setting(
        SERVER,
        "strategy",
        "NAME",
        "writer",
        "How units are claimed: writer, a single writer with group commit",
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
    setting(LEDGER, "max_batch", "N", "512", "Commands decided and committed together"),
    setting(
        LEDGER,
        "gather",
        "DURATION",
        "1ms",
        "How long a batch may wait to become as large as the last one",
    ),
    setting(
        LEDGER,
        "urgent_queue",
        "N",
        "8192",
        "Waiting confirmations, extensions, releases and cancellations",
    ),
    setting(LEDGER, "ordinary_queue", "N", "8192", "Waiting holds and organisers' commands"),
    setting(LEDGER, "read_queue", "N", "8192", "Waiting reads"),
    setting(LEDGER, "tidy_slice", "N", "256", "Expiries written down per batch while there is other work"),
    setting(LEDGER, "idle_tidy_slice", "N", "1024", "The same while there is none"),
    setting(LEDGER, "upkeep_slice", "DURATION", "4ms", "How long one slice of filling the tables may take"),
    setting(
        LEDGER,
        "max_tables_lag",
        "N",
        "500000",
        "Entries that the tables may be behind before commands pay for them",
    ),
    setting(
        LEDGER,
        "max_unfiled_answers",
        "N",
        "200000",
        "Kept answers not yet filed before commands pay for filing them",
    ),
    setting(LEDGER, "answers_kept", "DURATION", "7d", "How long the answers to idempotency keys are kept"),
    setting(
        LEDGER,
        "checkpoint_every",
        "N",
        "1000000",
        "Journal entries from one checkpoint to the next; 0 for none",
    ),
    setting(
        LEDGER,
        "max_file",
        "SIZE",
        "0",
        "The most the file may grow to before selling stops; 0 for the whole disk",
    ),
    setting(
        LEDGER,
        "change_backlog",
        "N",
        "1024",
        "Batches that a slow listener may be behind before it loses some",
    ),
    setting(LEDGER, "max_page", "N", "1000", "Rows on one page of a list, whatever is asked for"),
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
    Spec { key, heading, value, default: Some(default), help, secret: false }
}

const fn secret(heading: &'static str, key: &'static str, value: &'static str, help: &'static str) -> Spec {
    Spec { key, heading, value, default: None, help, secret: true }
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
