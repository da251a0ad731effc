//! Persistent heap: extents handed out of a pool set's data area, inside transactions.
//!
//! 1. The area is cut into spans of 16 KiB. A persistent table has one line (64 bytes) per span.
//! 2. Spans form runs; the line of a run's first span describes the whole run: free, a *group* of
//!    equal extents of one size class with a bitmap, or one large extent. The lines of the other
//!    spans of a run mean nothing, so the table is a sequence of runs and a run of any length costs
//!    one line to take and one to give back.
//! 3. Up to 32 KiB an extent comes from a group: 32 classes, multiples of 64 bytes, 8 up to 512 and
//!    then 4 per doubling (at most 20 % more than was asked for, above 512). Above, it is a run of
//!    spans, best fit.
//! 4. What is free is indexed in DRAM, rebuilt from the table when the heap is opened: 4 MiB of
//!    lines for 1 GiB. Neighbouring free runs are one in the index; on media they become one when
//!    an extent or group is cut out of them.
//! 5. Every change of the table is a write of the caller's
//!    [`Transaction`](crate::transaction_log::Transaction), one line for a small extent. So a crash
//!    at any point leaks nothing and frees nothing twice: if the transaction that links the extent
//!    commits, it is taken; if not, it is free.
//! 6. What a transaction freed is handed out again only after it committed: `write_new` into it has
//!    no entry in the log if it is large. What it allocated is given back when it does not commit,
//!    at the next call.
//!
//! # Invariants
//! 1. Runs are contiguous from span 0 to the last one; no run is empty.
//! 2. No group is without an extent, no bit of a bitmap lies behind the group's last extent.
//! 3. The root is 0 or an allocated extent.
//! 4. A `Heap` knows the only state that its pool set's transactions lead to: opening a second one
//!    for the same set ends the first, whose calls then fail.
//!
//! # Layout
//! At the first multiple of 4096 in the data area; words are little-endian.
//!
//! | offset | bytes | field | meaning |
//! |---|---|---|---|
//! | 0 | 8 | magic | `NACREHEP` |
//! | 8 | 4 | version | 1 |
//! | 12 | 4 | crc | CRC-32C of bytes 16..64 of the header |
//! | 16 | 4 | spans | in use |
//! | 20 | 4 | spans at most | lines of the table; bounds `grow` |
//! | 24 | 8 | first | offset of span 0 from the heap's start |
//! | 64 | 8 | root | offset of the root extent; 0: none |
//! | 72 | 4 | crc | CRC-32C of the root's 8 bytes |
//! | 4096 | 64 each | table | a line per span |
//!
//! A line of the table, if it begins a run:
//!
//! | offset | bytes | field | meaning |
//! |---|---|---|---|
//! | 0 | 1 | kind | 1 free, 2 group, 3 large extent |
//! | 1 | 1 | class | of a group |
//! | 4 | 4 | spans | of the run |
//! | 8 | 48 | bitmap | of a group: bit `i` is set if extent `i` is allocated |
//! | 56 | 4 | crc | CRC-32C of bytes 0..56, seeded with the number of the span |
//!
//! # Bounds
//! The table is made for 16 times the spans of the creation, 1024 (16 MiB) at least, unless
//! [`Heap::create_bounded`] says otherwise: 64 bytes per span, so 0.4 % of the largest size. A
//! grown pool set is used up to that.
//!
//! # Source
//! [Zarubin22 2.1.3] asks for a persistent allocator without fixing one; classes, runs and a
//! bitmap per group are as in PMDK's `libpmemobj`. Differs: no chunk headers between the data, no
//! per-thread arenas (one writer), and no redo log of its own: the transaction log serves.
mod allocator;
mod check;
mod class;
mod free_index;
mod journal;
mod line;
mod open;

pub use allocator::{Extent, Heap, HeapStatistics};
pub use check::{ClassReport, HeapReport};
