//! Joins: the build side is collected in a table, the probe side streams through it.
//!
//! 1. Each worker materializes its rows of the build side in chunks of its own ([`chunk`]), with
//!    the words of their keys ([`keys`]).
//! 2. When all are there, a table of exactly the right size is made, and its links are set by all
//!    workers at once, 65,536 rows a morsel ([`table`]). A single whole-number key whose values are
//!    dense finds its rows by an array, others by a hash table with tags.
//! 3. The probe is a source that wraps the pipeline below it ([`probe`]): a vector of that pipeline
//!    goes through with a selection if each row has one partner at most, else as vectors of pairs
//!    ([`pairs`]).
//! 4. Rows of the build side that come out alone, without a partner or because they have one, are
//!    the source of one more stage, with the same steps and the same sink ([`remainder`]).
//! 5. If the build side does not fit in memory, both sides go to files by the hash of their keys,
//!    and one more stage joins partition after partition ([`spilled`]).
//! 6. If rows of the probe side without a partner are not wanted, its scan leaves out those whose
//!    key the table cannot have ([`reduce`]).
//!
//! # Invariants
//! 1. All strings of keys are codes of the build side's dictionary, so that keys are equal if and
//!    only if their words are.
//! 2. Row `n` of a table is row `n % 8192` of chunk `n / 8192`: all chunks but the last are full.
//!
//! # Concurrency
//! Links are atomic words, set by compare-and-swap while the table is made; a stage ends before the
//! next one begins, which publishes them. The probe takes no lock but that of dictionaries.
//!
//! # Source
//! [Muehlbauer16 section 6.4.3] a build in two phases, pointers set by compare-and-swap, tags.
//! Differs: equal keys hang on a list of their own, so that a chain is as long as there are
//! different keys in it; a dense key needs no hash.

mod build;
mod chunk;
mod column;
mod key_bits;
mod keys;
mod pairs;
mod parts;
mod plan;
mod probe;
mod reduce;
mod remainder;
mod residual;
mod spilled;
mod table;

pub(crate) use build::{JoinBuildSink, JoinTableSink, JoinTableSource};
pub(crate) use plan::{JoinPlan, JoinSide};
pub(crate) use probe::JoinProbeSource;
pub(crate) use reduce::JoinKeySet;
pub(crate) use remainder::RemainderSource;
pub(crate) use spilled::SpilledJoinSource;
