//! From a course that no order explains to the few operations that cannot be true together.
//!
//! An operation is not removed but doubted: taken as one that may or may not have happened, at any time since it
//! was asked for. Doubt only ever allows more, so whatever still cannot be explained is a contradiction among the
//! operations that are left undoubted.

use std::collections::{BTreeSet, HashSet};

use super::{
    linear::{Course, Found, search},
    lives::NEVER,
};

/// Of each of many searches; one that is given up leaves the operations undoubted and the counterexample larger.
const TRIES: usize = 5_000;

fn contradicts(course: &Course) -> bool {
    search(course, TRIES) == Found::None
}

/// Places in the history of the operations that contradict each other.
pub(super) fn shrink(course: &Course) -> Vec<usize> {
    let mut core = up_to_the_first_contradiction(course);
    // Looks first: without them the search is quick, and those that are left say which holds matter.
    let looks = core.tasks.iter().filter(|task| task.step.is_look()).map(|task| vec![task.op]).collect();
    drop_what_can_be(&mut core, looks, doubt);
    let mut fewer = core.clone();
    let holds = core.tasks.iter().filter_map(|task| task.step.hold()).collect::<BTreeSet<_>>();
    drop_what_can_be(&mut fewer, holds.into_iter().map(|hold| of_hold(&core, hold)).collect(), remove);
    let fewer = if is_core_of(&fewer, &core) { fewer } else { core };
    fewer.tasks.iter().filter(|task| task.required).map(|task| task.op).collect()
}

fn of_hold(course: &Course, hold: u32) -> Vec<usize> {
    course.tasks.iter().filter(|task| task.step.hold() == Some(hold)).map(|task| task.op).collect()
}

/// Whether the few are a contradiction even if everything else is only in doubt. (That they are without everything else
/// is not enough: a refusal is explained by the hold that was left out.)
fn is_core_of(few: &Course, all: &Course) -> bool {
    let kept: HashSet<usize> = few.tasks.iter().map(|task| task.op).collect();
    let others: Vec<usize> = all.tasks.iter().map(|task| task.op).filter(|op| !kept.contains(op)).collect();
    let mut in_doubt = all.clone();
    doubt(&mut in_doubt, &others);
    search(&in_doubt, TRIES * 20) == Found::None
}

fn remove(course: &mut Course, operations: &[usize]) {
    course.tasks.retain(|task| !operations.contains(&task.op));
}

/// The shortest beginning of the course that is already impossible. What had not ended by then is in doubt.
fn up_to_the_first_contradiction(course: &Course) -> Course {
    let mut ends: Vec<_> = course.tasks.iter().filter(|task| task.required).map(|task| task.end).collect();
    ends.sort_unstable();
    let until = |end| {
        let mut part = course.clone();
        part.tasks.retain(|task| task.start <= end);
        let open: Vec<_> = part.tasks.iter().filter(|task| task.end > end).map(|task| task.op).collect();
        doubt(&mut part, &open);
        part
    };
    let explicable = |end: &i64| !contradicts(&until(*end));
    let first = ends.partition_point(explicable);
    until(ends[first.min(ends.len() - 1)])
}

/// Takes the operations as ones that may have happened or not. A look that may not have happened says nothing.
fn doubt(course: &mut Course, operations: &[usize]) {
    let doubted: HashSet<usize> = operations.iter().copied().collect();
    course.tasks.retain(|task| !(task.step.is_look() && doubted.contains(&task.op)));
    for task in course.tasks.iter_mut().filter(|task| doubted.contains(&task.op)) {
        (task.required, task.end, task.rank) = (false, NEVER, (NEVER, 0));
    }
}

/// Leaves out as many of the groups as leave the contradiction standing: halves of them, quarters, and so on.
fn drop_what_can_be(core: &mut Course, mut groups: Vec<Vec<usize>>, without: fn(&mut Course, &[usize])) {
    let mut chunk = groups.len().div_ceil(2).max(1);
    loop {
        let mut kept = Vec::new();
        for part in groups.chunks(chunk) {
            let mut fewer = core.clone();
            without(&mut fewer, &part.concat());
            if contradicts(&fewer) {
                *core = fewer;
            } else {
                kept.extend_from_slice(part);
            }
        }
        groups = kept;
        if chunk == 1 || groups.is_empty() {
            return;
        }
        chunk = chunk.div_ceil(2).min(groups.len());
    }
}
