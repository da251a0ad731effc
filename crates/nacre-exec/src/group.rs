//! Groups and aggregates.
//!
//! 1. Each worker keeps a [`table::GroupTable`] of a size that stays in its L2 cache: the groups
//!    that come often are found there. Keys of a small known domain, such as codes, find their
//!    group by an array, others by a hash table; without keys there is one group.
//! 2. A table that is full is emptied into 64 overflow partitions by the hash of the keys.
//! 3. Partitions are merged as morsels of the next pipeline, each by one worker, into a table that
//!    holds all its groups.
//! 4. If memory is used up, a worker writes its partitions to a file ([`spilled`]). When one has
//!    done so, all partitions go to files in the end; a partition whose groups do not fit in memory
//!    is split by further bits of the hash. Rows that a group has collected are sorted and folded
//!    in files if they are many ([`folded`]).
//! 5. Grouping sets have tables of their own each, and take the same batches ([`sets`]).
//! 6. Without keys, a chunk all of whose rows are aggregated need not be read if its stored
//!    aggregates tell its share ([`stored`]).
//!
//! # Layout
//! A group is a row of 64-bit words, the same in tables and overflow pages; strings lie in the
//! page's heap and are named by offsets, so that a page may go to a file.
//!
//! | words | meaning |
//! |---|---|
//! | 1 | hash of the keys |
//! | 1 or 2 a key | the value; of a string its length, bytes 0 to 4, then 4 to 12 or a hash |
//! | 1 for 64 keys | which keys are null |
//! | 1 a string key | its offset in the heap, if it has more than 12 bytes |
//! | 1 to 3 an aggregate | its state |
//!
//! # Source
//! [Muehlbauer16 section 6.4.3] aggregation in two phases, fixed-size thread-local tables for heavy
//! hitters, flushed to overflow partitions. Differs: up to eight groups of a small domain are
//! added up in registers, by masks.

mod collected;
mod direct;
mod distinct;
mod folded;
mod keys;
mod layout;
mod merge;
mod output;
mod partition;
mod reduction;
mod sets;
mod sink;
mod source;
mod spilled;
mod state;
mod stored;
mod table;
mod update;

pub(crate) use keys::{equal_words, float_word, hash_words};
pub(crate) use layout::{GroupInputRows, GroupPlan};
pub(crate) use sets::{GroupingSetsSink, GroupingSetsSource, grouping_columns};
pub(crate) use sink::GroupSink;
pub(crate) use source::GroupSource;
