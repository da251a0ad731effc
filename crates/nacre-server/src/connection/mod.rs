//! One connection: from its first byte to its last.
//!
//! [`startup`] agrees on who talks to whom, [`authentication`] asks for a proof, [`serving`]
//! answers message by message, [`simple`] and [`extended`] run what the client says, [`portal`]
//! keeps what was bound and not fetched to its end, [`copy`] moves rows of COPY, [`watch`] waits
//! for the client, [`work`] waits for statements while it listens for reasons to give them up, and
//! [`logging`] logs it. [`rest`] starts and ends the
//! threads of sessions, [`thread_wait`] is how they wait.
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
mod rest;
mod serving;
mod simple;
mod startup;
mod thread_wait;
mod watch;
mod work;

pub(crate) use openings::Openings;
pub(crate) use rest::{release_memory, start};
pub(crate) use serving::Shared;
pub(crate) use startup::{SHUTTING_DOWN, dismiss};
pub(crate) use watch::Watchers;
