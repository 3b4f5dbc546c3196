//! From the text of a story to its steps. Knows the shape of a line, not what its words mean.

use std::collections::BTreeMap;

use super::Fault;

/// One line: a verb, its words, its `name=value` options, and what should come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub line: usize,
    pub text: String,
    pub verb: String,
    pub words: Vec<String>,
    pub options: Vec<(String, String)>,
    /// `None`: it must succeed, in whatever words.
    pub expected: Option<Expected>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub code: String,
    pub facts: BTreeMap<String, String>,
}

impl Step {
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The word at that place, or a fault that says which one is missing.
    pub(super) fn word(&self, at: usize, meaning: &str) -> Result<&str, Fault> {
        self.words.get(at).map(String::as_str).ok_or_else(|| Fault::at(self, format!("missing: {meaning}")))
    }
}

pub(super) fn steps(text: &str) -> Result<Vec<Step>, Fault> {
    let numbered = (1..).zip(text.lines());
    let told = numbered.map(|(line, text)| (line, without_comment(text).trim()));
    told.filter(|(_, text)| !text.is_empty()).map(|(line, text)| step(line, text)).collect()
}

fn without_comment(line: &str) -> &str {
    line.find('#').map_or(line, |at| &line[..at])
}

fn step(line: usize, text: &str) -> Result<Step, Fault> {
    let (told, answer) = match text.split_once("->") {
        Some((told, answer)) => (told, Some(answer)),
        None => (text, None),
    };
    let (mut words, options) = words_and_options(told);
    let verb = if words.is_empty() { String::new() } else { words.remove(0) };
    let step = Step { line, text: text.to_owned(), verb, words, options, expected: None };
    if step.verb.is_empty() {
        return Err(Fault::at(&step, "a line begins with a verb"));
    }
    let expected = answer.map(expected).transpose().map_err(|what| Fault::at(&step, what))?;
    Ok(Step { expected, ..step })
}

fn expected(answer: &str) -> Result<Expected, &'static str> {
    let (words, facts) = words_and_options(answer);
    match <[String; 1]>::try_from(words) {
        Ok([code]) => Ok(Expected { code, facts: facts.into_iter().collect() }),
        Err(_) => Err("after -> stand one code and facts in the form name=value"),
    }
}

fn words_and_options(text: &str) -> (Vec<String>, Vec<(String, String)>) {
    let mut words = Vec::new();
    let mut options = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some((name, value)) => options.push((name.to_owned(), value.to_owned())),
            None => words.push(word.to_owned()),
        }
    }
    (words, options)
}
