//! The search for an order, and the list of what is still to be explained.

use std::collections::HashSet;

use super::{
    Course, Step,
    unit::{Mark, Unit, mix},
};
use crate::{checker::lives::NEVER, history::Micros};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Order,
    None,
    /// Neither, within the effort a unit is worth.
    GaveUp,
}

/// Tries that each operation of a course is worth, on top of those for knots of concurrent ones.
const TRIES_PER_TASK: usize = 64;

/// First with changes in the order of their rank, which is nearly always the true one; where that leads nowhere,
/// in any order.
pub(crate) fn search(course: &Course, tries_for_knots: usize) -> Found {
    match Search::new(course, true).run(tries_for_knots) {
        Found::Order => Found::Order,
        Found::None | Found::GaveUp => Search::new(course, false).run(tries_for_knots),
    }
}

struct Search<'c> {
    course: &'c Course,
    /// Of the changes that are known to have happened, only the first in rank is tried.
    by_rank: bool,
    unit: Unit,
    todo: Todo,
    /// All moments at which a hold may expire, and whose they are, sorted.
    expiries: Vec<(Micros, u32)>,
    /// States, with what was explained by then, from which no order was found.
    hopeless: HashSet<(u64, u64)>,
    explained: u64,
    required: usize,
    path: Vec<Taken>,
}

/// A task put into the order, and how to take it out again.
struct Taken {
    task: usize,
    mark: Mark,
    /// It changed nothing and so was free to take: nothing is gained by trying others in its place.
    free: bool,
}

/// The order in which candidates are tried: each task's rank, and its number where ranks are equal.
type Rank = ((Micros, u32), usize);

enum Choice {
    Free(usize),
    Try(usize),
    Nothing,
}

impl<'c> Search<'c> {
    fn new(course: &'c Course, by_rank: bool) -> Self {
        let windows = course.tasks.iter().filter_map(|task| match task.step {
            Step::Place { hold, lo, hi } | Step::Extend { hold, lo, hi } => Some([(lo, hold), (hi, hold)]),
            _ => None,
        });
        let mut expiries: Vec<_> = windows.flatten().filter(|(at, _)| *at != NEVER).collect();
        expiries.sort_unstable();
        expiries.dedup();
        Self {
            course,
            by_rank,
            unit: Unit::new(course.capacity, &course.quantities),
            todo: Todo::new(course),
            expiries,
            hopeless: HashSet::new(),
            explained: 0,
            required: course.tasks.iter().filter(|task| task.required).count(),
            path: Vec::with_capacity(course.tasks.len()),
        }
    }

    fn run(&mut self, tries_for_knots: usize) -> Found {
        let mut tries = tries_for_knots + TRIES_PER_TASK * self.course.tasks.len();
        let mut tried = None;
        while self.required > 0 {
            if tries == 0 {
                return Found::GaveUp;
            }
            tries -= 1;
            match self.choose(tried) {
                Choice::Free(task) => {
                    self.push(task, true);
                    tried = None;
                }
                Choice::Try(task) => {
                    let rank = (self.course.tasks[task].rank, task);
                    tried = if self.push(task, false) { None } else { Some(rank) };
                }
                Choice::Nothing => match self.go_back() {
                    Some(last) => tried = Some(last),
                    None => return Found::None,
                },
            }
        }
        Found::Order
    }

    /// What is right and changes nothing as things are; else, of those that had begun before the first one left must end, the next
    /// in rank after the one tried last.
    fn choose(&self, tried: Option<Rank>) -> Choice {
        let mut next: Option<Rank> = None;
        let mut first_change: Option<Rank> = None;
        for task in self.todo.candidates() {
            let at = &self.course.tasks[task];
            if tried.is_none() && self.is_free(task) {
                return Choice::Free(task);
            }
            let rank = (at.rank, task);
            let best = match self.by_rank && at.required && !at.step.is_look() {
                true => &mut first_change,
                false if tried.is_none_or(|tried| rank > tried) => &mut next,
                false => continue,
            };
            if best.is_none_or(|best| rank < best) {
                *best = Some(rank);
            }
        }
        let untried = first_change.filter(|change| tried.is_none_or(|tried| *change > tried));
        match [next, untried].into_iter().flatten().min() {
            Some((_, task)) => Choice::Try(task),
            None => Choice::Nothing,
        }
    }

    fn is_free(&self, task: usize) -> bool {
        let at = &self.course.tasks[task];
        self.unit.is_unchanged_by(at.step) && !self.something_ends_before(at.start)
    }

    /// Whether letting time pass until `start` would end what has not ended yet.
    fn something_ends_before(&self, start: Micros) -> bool {
        let passed = self.expiries[self.epoch(self.unit.now())..].iter().take_while(|(at, _)| *at <= start);
        passed.into_iter().any(|(_, hold)| self.unit.may_still_end(*hold))
    }

    /// How many expiries lie behind that moment: all that matters about it.
    fn epoch(&self, at: Micros) -> usize {
        self.expiries.partition_point(|(expiry, _)| *expiry <= at)
    }

    /// Puts the task next into the order, unless its answer would be wrong there or nothing can come of it.
    fn push(&mut self, task: usize, free: bool) -> bool {
        let at = &self.course.tasks[task];
        let mark = self.unit.mark();
        let end = at.end.min(self.todo.first_end());
        if !self.unit.take(at.step, at.start, end) {
            self.unit.back_to(mark);
            return false;
        }
        self.explained ^= mix(task as u64);
        if !free && self.hopeless.contains(&self.key()) {
            self.explained ^= mix(task as u64);
            self.unit.back_to(mark);
            return false;
        }
        self.todo.lift(task);
        self.required -= usize::from(at.required);
        self.path.push(Taken { task, mark, free });
        true
    }

    fn key(&self) -> (u64, u64) {
        (self.explained, self.unit.hash() ^ mix(self.epoch(self.unit.now()) as u64))
    }

    /// Nothing is right here: back to the last real choice, and what was tried there.
    fn go_back(&mut self) -> Option<Rank> {
        loop {
            self.hopeless.insert(self.key());
            let Taken { task, mark, free } = self.path.pop()?;
            self.unit.back_to(mark);
            self.explained ^= mix(task as u64);
            self.todo.put_back(task);
            self.required += usize::from(self.course.tasks[task].required);
            if !free {
                return Some((self.course.tasks[task].rank, task));
            }
        }
    }
}

/// What is still to be explained: beginnings and ends in the order of time, in a list from which a task can be lifted
/// and put back in the reverse order.
struct Todo {
    next: Vec<u32>,
    prev: Vec<u32>,
    ends: Vec<Micros>,
}

/// Node 0 is the list's own; the beginning of task `i` is `2i + 1`, its end `2i + 2`.
impl Todo {
    fn new(course: &Course) -> Self {
        let mut nodes: Vec<(Micros, bool, u32)> = Vec::with_capacity(course.tasks.len() * 2);
        for (at, task) in (0u32..).zip(&course.tasks) {
            nodes.push((task.start, false, 2 * at + 1));
            if task.required {
                nodes.push((task.end, true, 2 * at + 2));
            }
        }
        // `false` sorts first: what begins as another ends is concurrent with it.
        nodes.sort_unstable();
        let size = course.tasks.len() * 2 + 1;
        let ends = course.tasks.iter().map(|task| task.end).collect();
        let mut todo = Self { next: vec![0; size], prev: vec![0; size], ends };
        let mut last = 0;
        for (_, _, node) in nodes {
            (todo.next[last as usize], todo.prev[node as usize]) = (node, last);
            last = node;
        }
        (todo.next[last as usize], todo.prev[0]) = (0, last);
        todo
    }

    /// What had begun before the first of all ends.
    fn candidates(&self) -> impl Iterator<Item = usize> {
        let begun = |node: u32| (node % 2 == 1).then_some(node);
        std::iter::successors(begun(self.next[0]), move |node| begun(self.next[*node as usize]))
            .map(|node| (node as usize - 1) / 2)
    }

    fn first_end(&self) -> Micros {
        let mut node = self.next[0];
        while node % 2 == 1 {
            node = self.next[node as usize];
        }
        if node == 0 { NEVER } else { self.ends[(node as usize - 2) / 2] }
    }

    fn lift(&mut self, task: usize) {
        for node in self.nodes(task) {
            let (prev, next) = (self.prev[node], self.next[node]);
            self.next[prev as usize] = next;
            self.prev[next as usize] = prev;
        }
    }

    fn put_back(&mut self, task: usize) {
        for node in self.nodes(task).rev() {
            let (prev, next) = (self.prev[node], self.next[node]);
            self.next[prev as usize] = node as u32;
            self.prev[next as usize] = node as u32;
        }
    }

    /// The task's nodes in the list: an end only where there is one.
    fn nodes(&self, task: usize) -> std::ops::RangeInclusive<usize> {
        let begin = 2 * task + 1;
        if self.ends[task] == NEVER { begin..=begin } else { begin..=begin + 1 }
    }
}
