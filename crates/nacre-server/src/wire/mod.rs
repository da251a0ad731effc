//! The PostgreSQL wire protocol, versions 3.0 and 3.2.
//!
//! The messages are those of the crate `pgwire`. What comes from the network is decoded here
//! ([`frontend`]): every length is checked against the frame before a byte is taken, text has to be
//! UTF-8 ([`utf8`]), and a frame has to be used up, because each of these is in a stranger's hands.
//!
//! # Invariants
//! 1. No byte sequence makes decoding panic or take memory beyond what arrived.
//! 2. A frame is at most as long as the server allows, and memory grows with what has arrived,
//!    not with what a header promises.

pub(crate) mod backend;
pub(crate) mod frames;
pub(crate) mod frontend;
mod probe;
pub(crate) mod utf8;

pub use probe::{decode_frames, decode_opening};
