//! Replicated columns: the same values in several places and formats.
//!
//! [`choose`] says which replica a reader takes, [`Wear`] what the replicas cost their media.
//! What files hold them is known above.
//!
//! # Source
//! [Zarubin22 4.2] polymorphic compressed replication.

mod choose;
mod wear;

pub use choose::{AccessHint, Candidate, choose};
pub use wear::{Wear, WearCause};
