//! The waiting room: fifty thousand people arrive at ten, and are let in fairly.
//!
//! ```text
//! visitor ─► rooms ─► room      pure: who is called, who is inside
//!              │  └─► order     which place a ticket has: by number or by lot
//!              ├─► presence     who is there; each node's own
//!              ├─► token        tickets and passes, signed and bound to a session
//!              ├─► tickets      which one a session has: never two that are good
//!              └─► store        one row a room, shared by all nodes
//! ```
//! One desk a room and node gathers what visitors want (join, enter, leave), takes the room, lets all of it happen in one
//! change, calls those whose turn it is, and puts the room back. Everything a waiting visitor asks is answered from the
//! copy that this leaves behind, so a crowd that asks costs no writes.
//!
//! Never in the way of a read, of a key, or of the books: the room bounds who may ask for a hold, not what is sold.

mod bits;
mod desk;
pub mod order;
mod presence;
mod room;
mod rooms;
mod standing;
pub mod store;
#[cfg(test)]
mod tests;
pub mod tickets;
mod token;

pub use order::Order;
pub use presence::Presence;
pub use room::{Entry, Kept, Lottery, Method, Mode, Number, Place, Plan, Room, RoomState, Visit};
pub use rooms::{Board, Denied, Following, Given, Rooms, Settings};
pub use standing::{Standing, TicketState};
pub use token::{Pass, Signer, Ticket};
