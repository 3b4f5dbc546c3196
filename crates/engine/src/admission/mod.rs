//! Admission: who may ask at all, how often, how much, and when it is their turn.
//!
//! ```text
//! request ─► rate limit ─► waiting room ─► hoarding ─► gate ─► ledger
//!            how often     whose turn      how much    (never a yes from here)
//! ```
//! Everything here may only turn somebody away, with a time to come back (429: it is you). Nothing here is needed for a
//! seat to be sold once: with all of it gone, the ledger still answers the same. It is shared by all nodes where there
//! is something to share it through, and each node's own where there is not.
//!
//! Called by the server, around a command. Deliberately absent: HTTP, and any knowledge of who deserves a ticket.

mod address;
mod fading;
pub mod hoarding;
mod places;
mod rate_limit;
pub mod waiting_room;

pub use address::ClientNet;
pub use places::{Place, Places, Rank};
pub use rate_limit::{Rate, RateLimiter};

use holdfast_domain::HolderId;

/// Someone without a key: a browser's session, and where it speaks from as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub holder: HolderId,
    pub address: Option<ClientNet>,
}
