//! Keeping the copy level with the journal, for everybody at once.
//!
//! ```text
//! "is that still so?" ─┐
//! "is that still so?" ─┼─► one look at the journal, begun after all of them asked ─► "yes, now it is level"
//! every 100 ms ────────┘
//! ```
//! A thousand who ask at the same moment cost one query. The journal is asked rather than announced: `NOTIFY` takes
//! a lock that all committing transactions of the database share, and does not pass a pooler.
//!
//! A look that panics, over an entry that nobody thought of, costs the copy and is told as a failure; the next one begins
//! with a new copy. Without looks the node would refuse nobody and read nothing, and could not say why.

use std::{sync::Arc, time::Duration};

use tokio::sync::{mpsc, oneshot};

use super::{
    Books,
    own_thread::unless_it_panics,
    replica::{Replica, Unseen},
    rows,
    session::{Session, Sql, Trouble},
};

const VERSIONS: Sql = Sql { text: "SELECT id, version FROM holdfast.offers", types: &[] };

type Asker = oneshot::Sender<Result<(), Trouble>>;

#[derive(Debug, Clone)]
pub(super) struct Feed(mpsc::Sender<Asker>);

/// Where the questions arrive; [`run`] answers them.
pub(super) type Questions = mpsc::Receiver<Asker>;

impl Feed {
    pub(super) fn new(bound: usize) -> (Self, Questions) {
        let (ask, questions) = mpsc::channel(bound);
        (Self(ask), questions)
    }

    /// Returns once the copy has followed a look at the journal that began after this call.
    pub(super) async fn level(&self) -> Result<(), Trouble> {
        let (to, answer) = oneshot::channel();
        let gone = || Trouble::Down("the ledger is shutting down".into());
        self.0.send(to).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// Follows the journal until nobody can ask any more.
pub(super) async fn run(books: Arc<Books>, mut questions: Questions, every: Duration) {
    loop {
        let mut askers: Vec<Asker> = Vec::new();
        match tokio::time::timeout(every, questions.recv()).await {
            Ok(Some(asker)) => askers.push(asker),
            Ok(None) => return,
            Err(_) => {}
        }
        while let Ok(asker) = questions.try_recv() {
            askers.push(asker);
        }
        let looked = unless_it_panics(look(&books)).await;
        books.condition.looked(looked.as_ref().err());
        for asker in askers {
            drop(asker.send(looked.clone()));
        }
    }
}

/// One look: what the journal has that the copy has not.
async fn look(books: &Books) -> Result<(), Trouble> {
    let (horizon, server) = {
        let copy = books.loaded().await?;
        (copy.horizon().clone(), copy.server)
    };
    let session = books.sessions.following().await?;
    let unseen = Replica::unseen(&session, &horizon, &books.chains).await?;
    if unseen.server != server {
        return look_at_all(books, &session, &unseen).await;
    }
    drop(session);
    books.follow(&unseen).await
}

/// Another server answers than before, or the same one after a restart. It may have less than was committed, a standby
/// that was behind or the backup of yesterday, and may count its transactions from an earlier one: a copy that is not
/// level with it in everything is loaded anew.
async fn look_at_all(books: &Books, session: &Session, unseen: &Unseen) -> Result<(), Trouble> {
    let mut copy = books.writable().await?;
    books.follow_with(&mut copy, unseen)?;
    let versions = session.rows(&VERSIONS, &[]).await?;
    let versions: Vec<_> = versions.iter().map(|row| (row.get(0), rows::version(row, 1))).collect();
    let all = copy.state.offers().count() == versions.len() && copy.is_level_with(&versions);
    books.discard_unless(all && !copy.is_beyond(unseen), &mut copy)?;
    copy.server = unseen.server;
    Ok(())
}
