//! Pool sets: a master pool and its replicas, byte-identical after every commit.
//!
//! A set `NAME` has a member file `NAME.<index>` in any of the domains it is opened with. One good
//! member serves reads; every store goes to all live members before it is acknowledged.
//!
//! # Invariants
//! 1. Every good member holds every acknowledged byte; good members of an open set differ only
//!    in regions that are durably marked in the intent map of each.
//! 2. A member that missed a store has a lower epoch than one that did not, durably, before that
//!    store is acknowledged.
//! 3. Nothing is written through a set opened read-only.
//! 4. Opening may be interrupted at any point and repeated.
//!
//! # Durability
//! `update`, `update_batch`, `publish_u64` and `drain` return when what was written is durable in
//! all members that are live then.
//!
//! # Concurrency
//! One writer: stores take `&mut PoolSet`, and the files are locked against other openers.
//!
//! # Source
//! [Zarubin22 3.2.1], [DaMoN18 3] replication inside one machine. Differs: epochs and a
//! write-intent map, since the papers leave open how replicas are found and joined again.
mod copy;
mod damage;
mod engine;
mod epoch;
mod grow;
mod header;
mod inspect;
mod intent;
pub(crate) mod member;
mod membership;
mod open;
mod options;
pub(crate) mod placement;
mod pool_set;
mod prefetch;
mod read;
mod rebuild;
mod scrub;
mod survey;

pub use damage::DamagedRange;
pub use header::DATA_OFFSET;
pub use inspect::Verdict;
pub use member::{MemberCondition, MemberState};
pub use options::PoolSetOptions;
pub use placement::Placement;
pub use pool_set::PoolSet;
pub use rebuild::{RebuildProgress, spawn_rebuild};
pub use scrub::ScrubReport;
