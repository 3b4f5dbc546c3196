//! From a course that no order explains to the few operations that cannot be true together.
//!
//! An operation is not removed but doubted: taken as one that may or may not have happened, at any time since it
//! was asked for. Doubt only ever allows more, so whatever still cannot be explained is a contradiction among the
//! operations that are left undoubted.

use super::{
    linear::{Course, Found, search},
    lives::NEVER,
};

/// Of each of many searches; one that is given up leaves the operations undoubted and the counterexample larger.
const TRIES: usize = 2_000;

fn contradicts(course: &Course) -> bool {
    search(course, TRIES) == Found::None
}

/// Places in the history of the operations that contradict each other; doubting any one of them resolves it.
pub(super) fn shrink(course: &Course) -> Vec<usize> {
    let mut core = up_to_the_first_contradiction(course);
    let mut chunk = core.tasks.len().div_ceil(2);
    loop {
        doubt_chunks(&mut core, chunk);
        if chunk <= 1 {
            break;
        }
        chunk = chunk.div_ceil(2);
    }
    core.tasks.iter().filter(|task| task.required).map(|task| task.op).collect()
}

/// The shortest beginning of the course that is already impossible. What had not ended by then is in doubt.
fn up_to_the_first_contradiction(course: &Course) -> Course {
    let mut ends: Vec<_> = course.tasks.iter().filter(|task| task.required).map(|task| task.end).collect();
    ends.sort_unstable();
    let until = |end| {
        let mut part = course.clone();
        part.tasks.retain(|task| task.start <= end);
        for task in part.tasks.iter_mut().filter(|task| task.end > end) {
            (task.required, task.end) = (false, NEVER);
        }
        part
    };
    let explicable = |end: &i64| !contradicts(&until(*end));
    let first = ends.partition_point(explicable);
    until(ends[first.min(ends.len() - 1)])
}

fn doubt_chunks(core: &mut Course, chunk: usize) {
    let required: Vec<usize> = (0..core.tasks.len()).filter(|&at| core.tasks[at].required).collect();
    for part in required.chunks(chunk) {
        let kept: Vec<_> = part.iter().map(|&at| (at, core.tasks[at].end)).collect();
        for &at in part {
            (core.tasks[at].required, core.tasks[at].end) = (false, NEVER);
        }
        if !contradicts(core) {
            kept.into_iter()
                .for_each(|(at, end)| (core.tasks[at].required, core.tasks[at].end) = (true, end));
        }
    }
}
