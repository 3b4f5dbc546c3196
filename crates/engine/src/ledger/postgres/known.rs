//! Whether a key was answered before, for everybody who asks at once.
//!
//! A gate asks this of every key that it is about to refuse, and in a rush those are most of them. All who wait share one
//! look, on one connection: asked one by one they would stand in line with the claims for a connection, and a gate that
//! does not hear in time sends the crowd to the ledger, just when there is most of it.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::{
    Books,
    answers::{Digested, Given},
    session::Trouble,
};

/// Keys looked up at once.
const MOST: usize = 1024;

#[derive(Debug)]
pub(super) struct Question {
    key: Digested,
    to: oneshot::Sender<Result<bool, Trouble>>,
}

#[derive(Debug)]
pub(super) struct Known(mpsc::Sender<Question>);

/// Where the questions arrive; [`run`] answers them.
pub(super) type Questions = mpsc::Receiver<Question>;

impl Known {
    pub(super) fn new(bound: usize) -> (Self, Questions) {
        let (ask, questions) = mpsc::channel(bound);
        (Self(ask), questions)
    }

    /// Whether this key had an answer at some moment after this call.
    pub(super) async fn is(&self, key: Digested) -> Result<bool, Trouble> {
        let (to, answer) = oneshot::channel();
        let gone = || Trouble::Down("the ledger is shutting down".into());
        self.0.send(Question { key, to }).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// Answers until nobody can ask any more.
pub(super) async fn run(books: Arc<Books>, mut questions: Questions) {
    let mut asked = Vec::new();
    while questions.recv_many(&mut asked, MOST).await > 0 {
        let found = look(&books, &asked).await;
        for Question { key, to } in asked.drain(..) {
            let is_known = found.as_ref().map(|given| given.has(&key));
            drop(to.send(is_known.map_err(Clone::clone)));
        }
    }
}

async fn look(books: &Books, asked: &[Question]) -> Result<Given, Trouble> {
    let keys: Vec<Digested> = asked.iter().map(|question| question.key).collect();
    Given::find(&books.sessions.following().await?, &keys).await
}
