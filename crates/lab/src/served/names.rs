//! Numbers for what the server names. A history numbers its things; here the names are the server's, so each name that is
//! met gets a number of the one who asked: the first its own, any further one (which must not be) the next.

use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<String, u32>,
    names: HashMap<u32, String>,
    /// By whoever asks, the first number that is theirs to use.
    firsts: HashMap<u32, u32>,
    used: HashSet<u32>,
}

impl Names {
    /// What `asker` asks for may be numbered from `first` on.
    pub(super) fn may_use(&mut self, asker: u32, first: u32) {
        self.firsts.entry(asker).or_insert(first);
    }

    /// The number of this name; `None` of somebody who never asked.
    pub(super) fn number(&mut self, name: &str, asker: u32) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let first = *self.firsts.get(&asker)?;
        let number = (first..).find(|number| !self.used.contains(number))?;
        self.used.insert(number);
        self.numbers.insert(name.to_owned(), number);
        self.names.insert(number, name.to_owned());
        Some(number)
    }

    pub(super) fn name(&self, number: u32) -> Option<String> {
        self.names.get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_one_number_and_a_second_name_is_another() {
        let mut names = Names::default();
        names.may_use(3, 24);
        names.may_use(3, 25);
        assert_eq!(names.number("hold_a", 3), Some(24));
        assert_eq!(names.number("hold_a", 3), Some(24));
        assert_eq!(names.number("hold_b", 3), Some(25));
        assert_eq!(names.number("hold_c", 4), None);
        assert_eq!(names.name(24).as_deref(), Some("hold_a"));
    }
}
