//! Idempotency keys: the first answer to a key is every later one, as long as the request is the same.

use std::collections::{HashMap, VecDeque};

use crate::{
    answer::{Answer, Refused},
    form::Form,
};

/// What makes two requests with one key the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub path: String,
    pub form: Form,
}

#[derive(Debug)]
struct Kept {
    request: Request,
    /// `None` while the first is under way.
    answer: Option<Answer>,
}

/// Stripe forgets keys after a day; here the oldest go beyond this many.
const MOST_KEYS: usize = 200_000;

#[derive(Debug, Default)]
pub(crate) struct Keys {
    kept: HashMap<String, Kept>,
    order: VecDeque<String>,
}

impl Keys {
    /// The earlier answer, if there is one; otherwise the key is taken until [`Keys::end`].
    pub(crate) fn begin(&mut self, key: &str, request: &Request) -> Result<Option<Answer>, Refused> {
        let Some(kept) = self.kept.get(key) else {
            self.kept.insert(key.to_owned(), Kept { request: request.clone(), answer: None });
            self.order.push_back(key.to_owned());
            if self.order.len() > MOST_KEYS {
                let oldest = self.order.pop_front();
                oldest.iter().for_each(|key| drop(self.kept.remove(key)));
            }
            return Ok(None);
        };
        if kept.request != *request {
            return Err(Refused::key_reused(key));
        }
        kept.answer.clone().map(Some).ok_or_else(|| Refused::key_in_use(key))
    }

    /// Keeps the answer, or frees the key where the request was turned away before any work.
    pub(crate) fn end(&mut self, key: &str, answer: &Answer) {
        match self.kept.get_mut(key) {
            Some(kept) if answer.kept => kept.answer = Some(answer.clone()),
            _ => drop(self.kept.remove(key)),
        }
    }
}
