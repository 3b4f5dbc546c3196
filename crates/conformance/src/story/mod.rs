//! Stories: a small script language in which the behaviour of a sale is written down, read by people and run
//! against every [`Subject`].
//!
//! ```text
//! offer hall seats A:2                    an offer and its options; later items belong to the last one named
//! hold h1 alice A-1            -> held    a hold gets a name, a holder and what it asks for
//! hold h2 bob   A-1            -> unit_taken conflicts=A-1:held
//! tick 601s                               time passes only when told to
//! confirm h1                   -> hold_expired
//! ```
//! A line without `->` must succeed. After the arrow stand the code of the answer and any facts about it; facts
//! not named are not compared. The words are explained in `docs/testing.md`.

mod offers;
mod parse;
mod pay;
mod run;
mod words;

use std::{fmt, fs, io, path::Path};

pub use parse::{Expected, Step};
pub use words::Words;

use crate::subject::Subject;

#[derive(Debug, Clone)]
pub struct Story {
    /// Where it came from, for messages.
    pub file: String,
    pub steps: Vec<Step>,
}

/// A line of a story that could not be read, or that did not go as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub file: String,
    pub line: usize,
    pub text: String,
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)?;
        self.what.lines().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl Story {
    pub fn parse(file: &str, text: &str) -> Result<Self, Fault> {
        let steps = parse::steps(text).map_err(|fault| fault.in_file(file))?;
        Ok(Self { file: file.to_owned(), steps })
    }

    /// Tells the story to the subject, up to the first line that goes otherwise.
    pub fn run(&self, subject: &mut dyn Subject) -> Result<(), Fault> {
        run::run(&self.steps, subject).map_err(|fault| fault.in_file(&self.file))
    }
}

impl Fault {
    fn at(step: &Step, what: impl Into<String>) -> Self {
        Self { file: String::new(), line: step.line, text: step.text.clone(), what: what.into() }
    }

    fn in_file(self, file: &str) -> Self {
        Self { file: file.to_owned(), ..self }
    }
}

/// Every story of a folder, in the order of their names.
pub fn read_all(folder: &Path) -> io::Result<Vec<Result<Story, Fault>>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "story"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Story::parse(&name, &fs::read_to_string(path)?))
    };
    paths.iter().map(read).collect()
}
