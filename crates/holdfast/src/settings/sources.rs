//! Gathering raw settings: flags over variables over the file over defaults, each remembered with its source.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    env, fmt, fs,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use toml::Spanned;

use super::{
    Books, Fault,
    spec::{self, Spec},
    table::SPECS,
};
use crate::failure::Failure;

/// Every setting as text, with where it came from.
#[derive(Debug)]
pub struct Raw {
    given: BTreeMap<&'static str, Given>,
    /// What is wrong with the file's own words; told together with values that are wrong.
    pub faults: Vec<Fault>,
    /// Variables that look like settings and are none.
    pub strangers: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// `None` for a setting without a default that nobody set.
    pub text: Option<String>,
    pub source: Source,
}

impl Given {
    fn default_of(key: &str) -> Self {
        let default = spec::find(key).and_then(|spec| spec.default);
        Self { text: default.map(str::to_owned), source: Source::Default }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag(String),
    Variable(String),
    File { path: PathBuf, line: usize },
    Default,
}

impl Source {
    /// How near to the command it was said: what is nearer counts.
    const fn nearness(&self) -> u8 {
        match self {
            Self::Flag(_) => 3,
            Self::Variable(_) => 2,
            Self::File { .. } => 1,
            Self::Default => 0,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Variable(name) => f.write_str(name),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// All settings as flags, for commands that start a server or look at what one would use.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub config: Option<PathBuf>,
    pub given: BTreeMap<&'static str, String>,
}

/// The settings that every command working on the books takes.
#[derive(Debug, Clone, Args)]
pub struct BooksArgs {
    /// The data folder [env: HOLDFAST_DATA] [default: ./holdfast-data]
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// The PostgreSQL that holds the books, instead of a folder [env: HOLDFAST_LEDGER]
    #[arg(long, value_name = "postgres://…")]
    pub ledger: Option<String>,
    /// A TOML file of settings [env: HOLDFAST_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl BooksArgs {
    pub fn books(&self) -> Result<Books, Failure> {
        let given = [("data", &self.data), ("ledger", &self.ledger)];
        let given = given.into_iter().filter_map(|(key, text)| Some((key, text.clone()?))).collect();
        Ok(Books::check(&Flags { config: self.config.clone(), given }.gather()?)?)
    }
}

impl Flags {
    pub fn gather(&self) -> Result<Raw, Failure> {
        Raw::gather(self, &environment())
    }
}

/// The variables as they stand now. A value that is not Unicode is passed on mangled, to be refused by name.
pub fn environment() -> BTreeMap<String, String> {
    let named = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    env::vars_os().filter_map(named).filter(|(name, _)| name.starts_with("HOLDFAST_")).collect()
}

impl Raw {
    pub fn gather(flags: &Flags, environment: &BTreeMap<String, String>) -> Result<Self, Failure> {
        let config = flags.config.clone().or_else(|| environment.get("HOLDFAST_CONFIG").map(PathBuf::from));
        let (file, faults) = config.as_deref().map(read_file).transpose()?.unwrap_or_default();
        let pick = |spec: &'static Spec| {
            let by_flag = flags.given.get(spec.key).map(|text| (text, Source::Flag(spec.flag())));
            let variable = spec.variable();
            let by_variable = environment.get(&variable).filter(|text| !text.is_empty());
            let by_variable = by_variable.map(|text| (text, Source::Variable(variable)));
            let by_file = file.get(spec.key).map(|(text, source)| (text, source.clone()));
            let given = match by_flag.or(by_variable).or(by_file) {
                Some((text, source)) => Given { text: Some(text.clone()), source },
                None => Given::default_of(spec.key),
            };
            (spec.key, given)
        };
        let mut given = SPECS.iter().map(pick).collect();
        settle_place(&mut given);
        Ok(Self { given, faults, strangers: strangers(environment) })
    }

    /// The same settings as if nobody had set this one.
    #[must_use]
    pub fn without(mut self, key: &'static str) -> Self {
        self.given.insert(key, Given::default_of(key));
        self
    }

    pub fn get(&self, key: &str) -> &Given {
        &self.given[key]
    }
}

/// The books are in one place. Of two that are named the nearer to the command counts, as with any setting; two
/// named equally near are both left, to be refused. The strategy, where nobody names one, follows the place.
fn settle_place(given: &mut BTreeMap<&'static str, Given>) {
    let near = |key: &str| given[key].source.nearness();
    let unset = Given { text: None, source: Source::Default };
    match near("ledger").cmp(&near("data")) {
        Ordering::Greater => given.insert("data", unset),
        Ordering::Less => given.insert("ledger", unset),
        Ordering::Equal => None,
    };
    let default = if given["ledger"].text.is_some() { "batched" } else { "writer" };
    let strategy = given.get_mut("strategy").expect("every setting is there");
    strategy.text.get_or_insert_with(|| default.to_owned());
}

/// Variables of ours that are not settings: what the client commands read, and the name of the file itself.
const OTHER_VARIABLES: &[&str] = &["HOLDFAST_CONFIG", "HOLDFAST_URL", "HOLDFAST_KEY"];
/// How those begin that tell the tests and their tools how much to do.
const OF_TESTS: &str = "HOLDFAST_TEST_";

fn strangers(environment: &BTreeMap<String, String>) -> Vec<String> {
    let known = |name: &str| {
        name.starts_with(OF_TESTS)
            || OTHER_VARIABLES.contains(&name)
            || SPECS.iter().any(|spec| spec.variable() == name)
    };
    environment.keys().filter(|name| !known(name)).cloned().collect()
}

type FromFile = BTreeMap<&'static str, (String, Source)>;

/// What the file sets, and what it says that is no setting.
fn read_file(path: &Path) -> Result<(FromFile, Vec<Fault>), Failure> {
    let text = fs::read_to_string(path).map_err(|fault| {
        let what = format!("the settings file {} cannot be read", path.display());
        Failure::usage(
            what,
            "check --config or HOLDFAST_CONFIG; `holdfast config --default` prints a file to start from",
        )
        .because(fault)
    })?;
    Ok(parse_file(path, &text)?)
}

/// A file that is no TOML sets nothing, and nothing else can be said of it.
fn parse_file(path: &Path, text: &str) -> Result<(FromFile, Vec<Fault>), Vec<Fault>> {
    let line_of = |offset: usize| text[..offset].matches('\n').count() + 1;
    let at = |offset: usize| format!("{}:{}", path.display(), line_of(offset));
    let table: BTreeMap<Spanned<String>, Spanned<toml::Value>> = toml::from_str(text).map_err(|fault| {
        let offset = fault.span().map_or(0, |span| span.start);
        vec![Fault { at: at(offset), rule: fault.message().to_owned() }]
    })?;
    let mut faults = Vec::new();
    let mut settings = FromFile::new();
    for (key, value) in table {
        let here = key.span().start;
        let source = Source::File { path: path.to_owned(), line: line_of(here) };
        match (spec::find(key.get_ref()), as_text(value.get_ref())) {
            (Some(spec), Some(text)) => {
                settings.insert(spec.key, (text, source));
            }
            (Some(spec), None) => {
                let rule = format!("{} must be a text, a number, true or false", spec.key);
                faults.push(Fault { at: at(here), rule });
            }
            (None, _) => faults.push(Fault { at: at(here), rule: unknown(key.get_ref()) }),
        }
    }
    Ok((settings, faults))
}

fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn unknown(key: &str) -> String {
    let near = SPECS.iter().find(|spec| spec.key.contains(key) || key.contains(spec.key));
    match near {
        Some(spec) => format!("there is no setting {key:?}; did you mean {}?", spec.key),
        None => format!("there is no setting {key:?}"),
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("A TOML file of settings [env: HOLDFAST_CONFIG]");
        SPECS.iter().fold(command.arg(config), |command, spec| command.arg(flag_of(spec)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag_of(spec: &'static Spec) -> Arg {
    let default = spec.default.map(|default| format!(" [default: {default}]")).unwrap_or_default();
    // A flag that is only named is meant: `--lab` is `--lab true`.
    let bare = spec.value == "BOOL";
    Arg::new(spec.key)
        .long(spec.flag())
        .num_args(if bare { 0..=1 } else { 1..=1 })
        .default_missing_value("true")
        .value_name(spec.value)
        .action(ArgAction::Set)
        .help(format!("{} [env: {}]{default}", spec.help, spec.variable()))
        .help_heading(spec.heading)
        .hide_short_help(!spec::COMMON.contains(&spec.key))
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |spec: &Spec| Some((spec.key, matches.get_one::<String>(spec.key)?.clone()));
        Ok(Self {
            config: matches.get_one::<PathBuf>("config").cloned(),
            given: SPECS.iter().filter_map(given).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn in_file(text: &str) -> (tempfile::TempDir, Flags) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("holdfast.toml");
        fs::write(&path, text).unwrap();
        (dir, Flags { config: Some(path), ..Flags::default() })
    }

    #[test]
    fn flags_beat_variables_beat_the_file_beats_defaults() {
        let (_dir, mut flags) = in_file("threads = 1\nmax_in_flight = 1\nlisten = \"127.0.0.1:1\"\n");
        let environment = variables(&[("HOLDFAST_THREADS", "2"), ("HOLDFAST_MAX_IN_FLIGHT", "2")]);
        flags.given.insert("threads", "3".into());
        let raw = Raw::gather(&flags, &environment).unwrap();
        let shown = |key: &str| {
            let given = raw.get(key);
            let source = given.source.to_string();
            format!("{} {}", given.text.as_deref().unwrap(), source.rsplit('/').next().unwrap())
        };
        assert_eq!(shown("threads"), "3 --threads");
        assert_eq!(shown("max_in_flight"), "2 HOLDFAST_MAX_IN_FLIGHT");
        assert_eq!(shown("listen"), "127.0.0.1:1 holdfast.toml:3");
        assert_eq!(shown("deadline"), "5s default");
    }

    #[test]
    fn the_nearer_of_two_places_counts() {
        let environment = variables(&[("HOLDFAST_LEDGER", "postgres://h/db")]);
        let mut flags = Flags::default();
        let value =
            |flags: &Flags, key: &str| Raw::gather(flags, &environment).unwrap().get(key).text.clone();
        assert_eq!(value(&flags, "data"), None);
        assert_eq!(value(&flags, "strategy").as_deref(), Some("batched"));
        flags.given.insert("data", "here".into());
        assert_eq!(value(&flags, "ledger"), None);
        assert_eq!(value(&flags, "strategy").as_deref(), Some("writer"));
    }

    #[test]
    fn every_fault_of_the_file_is_named_with_its_line() {
        let path = Path::new("holdfast.toml");
        let (_, faults) = parse_file(path, "max_in_fligh = 1\n\nthreads = [1]\nnonsense = 1\n").unwrap();
        let shown: Vec<_> = faults.iter().map(|fault| format!("{}: {}", fault.at, fault.rule)).collect();
        assert_eq!(
            shown,
            [
                "holdfast.toml:1: there is no setting \"max_in_fligh\"; did you mean max_in_flight?",
                "holdfast.toml:4: there is no setting \"nonsense\"",
                "holdfast.toml:3: threads must be a text, a number, true or false",
            ]
        );
        assert_eq!(parse_file(path, "listen = ").unwrap_err()[0].at, "holdfast.toml:1");
    }

    #[test]
    fn a_misspelt_variable_is_noticed() {
        let raw = Raw::gather(
            &Flags::default(),
            &variables(&[("HOLDFAST_LISTE", "x"), ("HOLDFAST_KEY", "k"), ("HOLDFAST_TEST_SEED", "1")]),
        )
        .unwrap();
        assert_eq!(raw.strangers, ["HOLDFAST_LISTE"]);
    }
}
