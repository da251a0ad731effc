//! Runs: the persistent part of a hybrid index.
//!
//! A run is an immutable tree with an entry for each row of some loads. Its leaves lie in a file of
//! the main domain, as the blocks of the loads do; its inner nodes lie there too, and are copied to
//! DRAM as searches come by. Nothing is read, or rebuilt, when the database is opened.
//!
//! 1. Maintenance writes a run for loads that none covers (`build.rs`), and makes one of several
//!    (`merge.rs`), so that a search looks into few.
//! 2. One record of the manifest publishes a run and takes out those that it replaces.
//! 3. A run is derived from the loads: one that is lost or damaged is left out, its loads are
//!    searched as those without a run are, and another one is written.
//!
//! # Invariants
//! 1. A run covers a load whole: of every row that somebody may see it has the entry. It may have
//!    entries of rows that nobody sees any more.
//! 2. Entries ascend by key and row; nothing of a run changes once it is published.
//! # Source
//! [Zarubin22 3.1.1, Fig. 3.1] leaves in NVRAM, inner nodes in DRAM. Differs: leaves are written
//! once, sorted, since frozen rows do not change; `docs/decisions/0015-runs-of-hybrid-indexes.md`
//! says why not `nacre_pmem`'s tree.

mod build;
#[cfg(test)]
mod crash_tests;
mod cursor;
mod file;
mod merge;
mod page;
mod record;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use build::{Joined, Workshop, build, join};
pub(crate) use cursor::RunCursor;
pub(crate) use file::{Run, RunDamage};
#[cfg(test)]
pub(crate) use page::{PageRef, leaf_bytes};
#[cfg(test)]
pub(crate) use record::header as run_header;
pub(crate) use record::{
    LOADS_MAX, RunId, RunOwner, RunRecord, file_name as run_file_name,
    is_file_name as is_run_file_name,
};
