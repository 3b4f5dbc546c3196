//! Every story, told to every subject.

use std::path::Path;

use holdfast_conformance::{
    live::Live,
    model::Model,
    story::{self, Story},
    story_start,
    subject::Subject,
};
use holdfast_domain::Moment;
use holdfast_engine::ledger::embedded::Storage;

pub(crate) const START: Moment = story_start();

fn every_story() -> Vec<Story> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("stories");
    let stories = story::read_all(&folder).expect("the stories can be read");
    let unreadable: Vec<_> = stories.iter().filter_map(|story| story.as_ref().err()).collect();
    assert!(unreadable.is_empty(), "{}", unreadable.iter().map(|f| format!("\n{f}")).collect::<String>());
    stories.into_iter().flatten().collect()
}

/// All stories are told before any failure is reported, so that one look shows all of them.
pub(crate) fn tell_all(mut subject: impl FnMut() -> Box<dyn Subject>) {
    let told = every_story();
    let failed: Vec<_> = told.iter().filter_map(|story| story.run(subject().as_mut()).err()).collect();
    let report: String = failed.iter().map(|fault| format!("\n{fault}")).collect();
    assert!(failed.is_empty(), "{} of {} stories went otherwise:{report}", failed.len(), told.len());
}

#[test]
fn the_model_tells_every_story() {
    tell_all(|| Box::new(Model::at(START)));
}

#[test]
fn the_embedded_ledger_tells_every_story() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = 0;
    tell_all(|| {
        told += 1;
        Box::new(Live::embedded(Storage::Dir(folder.path().join(told.to_string())), START))
    });
}

#[test]
fn a_story_that_goes_otherwise_names_the_line_and_both_answers() {
    let text = "offer hall seats A:1\n\nhold h1 alice A-1\nhold h2 bob A-1   -> held   # wrong\n";
    let fault = Story::parse("wrong.story", text).unwrap().run(&mut Model::at(START)).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "wrong.story:4: hold h2 bob A-1   -> held\n    expected held\n    answered unit_taken conflicts=A-1:held"
    );
}

#[test]
fn a_story_that_cannot_be_read_names_the_line() {
    let fault = Story::parse("wrong.story", "offer hall seats A:1\nhold -> held and more").unwrap_err();
    assert_eq!((fault.line, fault.file.as_str()), (2, "wrong.story"));
    let fault = Story::parse("wrong.story", "sell hall").unwrap().run(&mut Model::at(START)).unwrap_err();
    assert_eq!(fault.what, "no such verb: sell");
}
