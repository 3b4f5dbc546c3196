//! Raw settings become checked ones. Nothing after this point parses or doubts a setting.

use std::{fmt, net::SocketAddr, ops::RangeInclusive, time::Duration};

use holdfast_engine::{
    ledger::{embedded, postgres},
    outbox::live_map,
    pipeline,
    strategy::Strategy,
};
use tracing_subscriber::EnvFilter;

use super::{Admission, Books, Fault, Gate, Payments, Raw, address::HIDDEN, sources::Source, spec};

#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: SocketAddr,
    pub books: Books,
    pub strategy: Strategy,
    pub gate: Option<Gate>,
    pub admin_key: Option<Secret>,
    /// `None`: one a processor core.
    pub threads: Option<usize>,
    pub allowed_origins: Vec<String>,
    pub secure_cookies: bool,
    pub leave_keep: Duration,
    pub server: holdfast_server::Limits,
    pub pipeline: pipeline::Limits,
    pub embedded: embedded::Limits,
    pub postgres: postgres::Limits,
    /// How long a starting server waits for PostgreSQL.
    pub pg_wait: Duration,
    pub live_map: live_map::Settings,
    pub admission: Admission,
    /// `None`: nothing is paid through a provider.
    pub payments: Option<Payments>,
    /// `None`: nothing is at `/lab`.
    pub lab: Option<holdfast_lab::shelf::Limits>,
    pub log: String,
    pub log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// A text that never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Settings {
    pub fn check(raw: &Raw) -> Result<Self, Vec<Fault>> {
        let mut read = Reader::of(raw);
        let books = read.books();
        let strategy = read.strategy(&books);
        let settings = Self {
            listen: read.address("listen"),
            strategy,
            gate: read.gate(strategy),
            books,
            admin_key: read.admin_key(),
            threads: Some(read.count("threads", 0..=1024)).filter(|&threads| threads > 0),
            allowed_origins: read.origins("allowed_origins"),
            secure_cookies: read.flag("secure_cookies"),
            leave_keep: read.duration("leave_keep", Duration::ZERO..=DAY),
            server: read.server(),
            pipeline: pipeline::Limits {
                max_in_flight: read.count("max_in_flight", 1..=1_000_000),
                deadline: read.duration("deadline", MS..=HOUR),
            },
            embedded: read.embedded(),
            postgres: read.postgres(),
            pg_wait: read.duration("pg_wait", Duration::ZERO..=DAY),
            live_map: read.live_map(),
            admission: read.admission(),
            payments: read.payments(),
            lab: read.lab(),
            log: read.filter("log"),
            log_format: match read.one_of("log_format", &["text", "json"]) {
                "json" => LogFormat::Json,
                _ => LogFormat::Text,
            },
        };
        settings.refuse_open_door(&mut read);
        read.done(settings)
    }

    /// The same settings with another admin key, for servers that a command runs for itself.
    #[must_use]
    pub fn with_admin_key(self, key: &str) -> Self {
        Self { admin_key: Some(Secret(key.to_owned())), ..self }
    }

    /// What the HTTP server needs of them.
    pub fn for_server(&self, session_secret: [u8; 32]) -> holdfast_server::Settings {
        let settings = holdfast_server::Settings {
            secure_cookies: self.secure_cookies,
            allowed_origins: self.allowed_origins.clone(),
            leave_keep: self.leave_keep,
            limits: self.server.clone(),
            rates: self.admission.rates.clone(),
            proxies: self.admission.proxies.clone(),
            ..holdfast_server::Settings::new(session_secret)
        };
        match &self.admin_key {
            Some(key) => settings.with_admin_key(key.expose()),
            None => settings,
        }
    }

    /// A server that strangers can reach and nobody can administer is a mistake, whoever made it.
    fn refuse_open_door(&self, read: &mut Reader<'_>) {
        if !self.listen.ip().is_loopback() && self.admin_key.is_none() {
            let rule = format!(
                "{} can be reached from other machines, and without an admin key the first to arrive would meet a \
                 server that nobody owns; set HOLDFAST_ADMIN_KEY, or listen on 127.0.0.1",
                self.listen
            );
            read.fault("listen", rule);
        }
    }
}

pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const DAY: Duration = Duration::from_secs(86_400);
pub(super) const MANY: usize = 1_000_000;

/// Reads values one by one and remembers every fault. A value at fault reads as its default, which is never
/// used: one fault is enough for [`Settings::check`] to fail.
pub(super) struct Reader<'a> {
    raw: &'a Raw,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    pub(super) fn of(raw: &'a Raw) -> Self {
        Self { raw, faults: raw.faults.clone() }
    }

    /// What was read, unless anything was at fault.
    pub(super) fn done<T>(self, read: T) -> Result<T, Vec<Fault>> {
        if self.faults.is_empty() { Ok(read) } else { Err(self.faults) }
    }
}

/// The groups of settings, as the parts of the program want them.
impl Reader<'_> {
    fn server(&mut self) -> holdfast_server::Limits {
        holdfast_server::Limits {
            max_connections: self.count("max_connections", 1..=MANY),
            max_requests: self.count("max_requests", 1..=MANY),
            max_streams: self.count("max_streams", 0..=MANY),
            request_timeout: self.duration("request_timeout", SECOND..=HOUR),
            idle_timeout: self.duration("idle_timeout", SECOND..=HOUR),
            shed_pause: self.duration("shed_pause", Duration::ZERO..=10 * SECOND),
            shutdown_grace: self.duration("shutdown_grace", MS..=HOUR),
            max_body_bytes: self.size("max_body", 1024..=64 << 20),
            max_admin_body_bytes: self.size("max_admin_body", 1024..=1 << 30),
            stream_keep_alive: self.duration("stream_keep_alive", SECOND..=HOUR),
        }
    }

    fn embedded(&mut self) -> embedded::Limits {
        embedded::Limits {
            max_batch: self.count("max_batch", 1..=100_000),
            gather: self.duration("gather", Duration::ZERO..=SECOND),
            urgent_queue: self.count("urgent_queue", 1..=MANY),
            ordinary_queue: self.count("ordinary_queue", 1..=MANY),
            read_queue: self.count("read_queue", 1..=MANY),
            tidy_slice: self.count("tidy_slice", 0..=MANY),
            idle_tidy_slice: self.count("idle_tidy_slice", 0..=MANY),
            upkeep_slice: self.duration("upkeep_slice", MS..=SECOND),
            max_tables_lag: self.count("max_tables_lag", 1000..=1_000_000_000) as u64,
            max_unfiled_answers: self.count("max_unfiled_answers", 1..=100_000_000),
            answers_kept: self.duration("answers_kept", HOUR..=365 * DAY),
            checkpoint_every: Some(self.count("checkpoint_every", 0..=1_000_000_000) as u64)
                .filter(|&every| every > 0),
            max_file_bytes: Some(self.size("max_file", 0..=1 << 50) as u64).filter(|&bytes| bytes > 0),
            change_backlog: self.count("change_backlog", 1..=MANY),
            max_page: self.count("max_page", 1..=100_000),
        }
    }

    fn lab(&mut self) -> Option<holdfast_lab::shelf::Limits> {
        let (races, reports) = (self.count("lab_races", 1..=1000), self.count("lab_reports", 1..=100));
        self.flag("lab").then_some(holdfast_lab::shelf::Limits { races, reports })
    }

    fn live_map(&mut self) -> live_map::Settings {
        live_map::Settings {
            interval: self.duration("map_interval", MS..=HOUR),
            interval_per_thousand: self.duration("map_interval_per_thousand", MS..=HOUR),
            remembered: self.count("map_remembered", 1..=100_000_000),
            lag: self.count("map_lag", 1..=MANY),
            linger: self.duration("map_linger", MS..=DAY),
        }
    }
}

/// One value at a time.
impl Reader<'_> {
    pub(super) fn fault(&mut self, key: &'static str, rule: impl Into<String>) {
        let given = self.raw.get(key);
        let text = given.text.as_deref().unwrap_or_default();
        let shown = spec::find(key).map(|spec| spec.show(text)).unwrap_or_default();
        let fault = Fault { at: format!("{key} = {shown:?} ({})", given.source), rule: rule.into() };
        // A setting that counts for both kinds of books is read for each.
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// What somebody set, be it empty.
    pub(super) fn given(&self, key: &str) -> Option<String> {
        let given = self.raw.get(key);
        given.text.clone().filter(|_| given.source != Source::Default)
    }

    pub(super) fn text(&mut self, key: &'static str) -> String {
        match self.raw.get(key).text.as_deref() {
            Some(text) if !text.trim().is_empty() => text.to_owned(),
            _ => {
                self.fault(key, "must not be empty");
                String::new()
            }
        }
    }

    pub(super) fn parsed<T>(&mut self, key: &'static str, parse: impl Fn(&str) -> Result<T, String>) -> T {
        let text = self.text(key);
        parse(&text).unwrap_or_else(|rule| {
            if !text.is_empty() {
                self.fault(key, rule);
            }
            let default =
                spec::find(key).and_then(|spec| spec.default).expect("a setting that is read has a default");
            parse(default).expect("defaults are valid: a test reads them all")
        })
    }

    fn address(&mut self, key: &'static str) -> SocketAddr {
        self.parsed(key, |text| {
            text.parse()
                .map_err(|_| "must be an address and a port, such as 127.0.0.1:8080 or [::1]:8080".into())
        })
    }

    pub(super) fn count(&mut self, key: &'static str, range: RangeInclusive<usize>) -> usize {
        self.parsed(key, |text| {
            let number = text.replace('_', "").parse().ok().filter(|number| range.contains(number));
            number.ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
        })
    }

    pub(super) fn duration(&mut self, key: &'static str, range: RangeInclusive<Duration>) -> Duration {
        self.parsed(key, |text| {
            let duration = duration(text).filter(|duration| range.contains(duration));
            duration.ok_or_else(|| {
                format!(
                    "must be a duration from {:?} to {:?}, such as 200ms, 5s, 10m or 7d",
                    range.start(),
                    range.end()
                )
            })
        })
    }

    fn size(&mut self, key: &'static str, range: RangeInclusive<usize>) -> usize {
        self.parsed(key, |text| {
            let bytes = size(text).filter(|bytes| range.contains(bytes));
            bytes.ok_or_else(|| {
                format!(
                    "must be a size from {} to {} bytes, such as 64KiB or 8MiB",
                    range.start(),
                    range.end()
                )
            })
        })
    }

    fn filter(&mut self, key: &'static str) -> String {
        self.parsed(key, |text| match EnvFilter::try_new(text) {
            Ok(_) => Ok(text.to_owned()),
            Err(fault) => Err(format!("is no log filter: {fault}")),
        })
    }

    fn origins(&mut self, key: &'static str) -> Vec<String> {
        let text = self.raw.get(key).text.clone().unwrap_or_default();
        let origins: Vec<String> = text.split(',').map(|origin| origin.trim().to_owned()).collect();
        let origins: Vec<String> = origins.into_iter().filter(|origin| !origin.is_empty()).collect();
        if origins.iter().any(|origin| !is_origin(origin)) {
            self.fault(key, "must be origins with commas between them, such as https://tickets.example");
        }
        origins
    }

    pub(super) fn flag(&mut self, key: &'static str) -> bool {
        self.one_of(key, &["false", "true"]) == "true"
    }

    pub(super) fn one_of(&mut self, key: &'static str, words: &[&'static str]) -> &'static str {
        self.parsed(key, |text| {
            let word = words.iter().copied().find(|&word| word == text);
            word.ok_or_else(|| format!("must be {}", words.join(" or ")))
        })
    }

    fn admin_key(&mut self) -> Option<Secret> {
        let text = self.raw.get("admin_key").text.clone()?;
        if text.is_empty() || text.len() > 255 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.fault("admin_key", "must be 1 to 255 visible ASCII characters, no spaces");
        }
        Some(Secret(text))
    }
}

/// `200ms`, `5s`, `10m`, `2h`, `7d`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let unit_ms = match &text[digits..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit_ms).map(Duration::from_millis)
}

/// `512`, `64KiB`, `8MiB`, `1GiB`.
fn size(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: usize = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']))
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::settings::Flags;

    pub(in crate::settings) fn check(given: &[(&'static str, &str)]) -> Result<Settings, Vec<Fault>> {
        let given = given.iter().map(|&(key, text)| (key, text.to_owned())).collect();
        Settings::check(&Raw::gather(&Flags { config: None, given }, &BTreeMap::new()).unwrap())
    }

    #[test]
    fn the_documented_defaults_are_those_of_the_code() {
        let settings = check(&[]).unwrap();
        assert_eq!(format!("{:?}", settings.pipeline), format!("{:?}", pipeline::Limits::default()));
        assert_eq!(format!("{:?}", settings.server), format!("{:?}", holdfast_server::Limits::default()));
        assert_eq!(format!("{:?}", settings.embedded), format!("{:?}", embedded::Limits::default()));
        assert_eq!(format!("{:?}", settings.postgres), format!("{:?}", postgres::Limits::default()));
        let url = "postgres://h/db";
        let Books::Postgres(connecting) = check(&[("ledger", url)]).unwrap().books else {
            panic!("no ledger")
        };
        assert_eq!(format!("{connecting:?}"), format!("{:?}", postgres::Connecting::to(url)));
        assert_eq!(format!("{:?}", settings.live_map), format!("{:?}", live_map::Settings::default()));
        assert_eq!(format!("{:?}", settings.admission), format!("{:?}", Admission::default()));
    }

    #[test]
    fn all_faults_are_reported_together() {
        let faults = check(&[
            ("listen", "localhost"),
            ("max_in_flight", "0"),
            ("deadline", "5"),
            ("admin_key", "a b"),
            ("log_format", "xml"),
            ("data", " "),
            ("max_batch", "many"),
        ])
        .unwrap_err();
        let mut keys: Vec<_> = faults.iter().map(|fault| fault.at.split(' ').next().unwrap()).collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            ["admin_key", "data", "deadline", "listen", "log_format", "max_batch", "max_in_flight"]
        );
        assert!(faults.iter().all(|fault| !fault.at.contains("a b")), "a secret is never repeated");
    }

    #[test]
    fn a_public_address_needs_an_admin_key() {
        let faults = check(&[("listen", "0.0.0.0:8080")]).unwrap_err();
        assert!(faults[0].rule.contains("HOLDFAST_ADMIN_KEY"), "{faults:?}");
        assert!(check(&[("listen", "0.0.0.0:8080"), ("admin_key", "correct-horse-battery")]).is_ok());
        assert!(check(&[("listen", "[::1]:8080")]).is_ok());
    }

    #[test]
    fn other_sites_are_named_by_origin() {
        let origins =
            check(&[("allowed_origins", "https://a.example, http://b.example:81")]).unwrap().allowed_origins;
        assert_eq!(origins, ["https://a.example", "http://b.example:81"]);
        assert!(check(&[("allowed_origins", "a.example")]).is_err());
        assert!(check(&[("allowed_origins", "https://a.example/")]).is_err());
    }

    #[test]
    fn sizes_are_counted_in_1024s() {
        assert_eq!(["512", "64KiB", "8MiB"].map(size), [Some(512), Some(65_536), Some(8 << 20)]);
        assert_eq!(["", "KiB", "64kb", "99999999999GiB"].map(size), [None; 4]);
    }

    #[test]
    fn durations_carry_their_unit() {
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("7d"), Some(Duration::from_secs(7 * 86_400)));
        for bad in ["5", "s", "5 s", "-1s", "1w", "99999999999999999999d", "18446744073709551615d"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
