//! One connection: from its first byte to its last.
//!
//! [`startup`] agrees on who talks to whom, [`authentication`] asks for a proof, [`serving`]
//! answers message by message, [`simple`] and [`extended`] run what the client says, [`portal`]
//! keeps what was bound and not fetched to its end, [`copy`] moves rows of COPY, [`watch`] waits
//! for the client, [`work`] waits for statements while it listens for reasons to give them up, and
//! [`logging`] says what is logged of all that.
//!
//! # Invariants
//! 1. An answer is sent before the connection waits for the client.
//! 2. After an error in the extended protocol nothing runs until the client has said Sync.

mod authentication;
mod copy;
mod extended;
mod logging;
mod openings;
mod portal;
mod serving;
mod simple;
mod startup;
mod watch;
mod work;

pub(crate) use openings::Openings;
pub(crate) use serving::{Shared, start};
pub(crate) use startup::{SHUTTING_DOWN, dismiss};
pub(crate) use watch::Watchers;
