//! The journal: the append-only record of every change, for administrators.

use axum::{extract::State, http::Uri, response::Response};
use holdfast_engine::ledger::Role;

use super::private;
use crate::{
    app::{Shared, json},
    auth::Caller,
    problem::Problem,
    wire::{
        self, List,
        journal::JournalEntry,
        query::{self, JournalQuery},
    },
};

/// Read the journal.
///
/// Every change of state in order, with who caused it and its place in the hash chain.
#[utoipa::path(get, path = "/v1/journal", tag = "Journal", operation_id = "readJournal", params(JournalQuery),
    responses((status = 200, description = "A page of entries.", body = List<JournalEntry<'_>>)))]
pub(crate) async fn read(State(app): State<Shared>, caller: Caller, uri: Uri) -> Result<Response, Problem> {
    caller.require(Role::Admin)?;
    let (filter, page) = query::parse::<JournalQuery>(&uri)?.request()?;
    let page = app.ledger().journal(filter, page).await?;
    let data = page.data.iter().map(JournalEntry::of).collect();
    Ok(private(json(wire::json(&List { data, next: page.next }))))
}
