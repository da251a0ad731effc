//! Replication mechanisms: how an update reaches every member of a pool set.
//!
//! A mechanism is a path through the template of building blocks; every legal path exists, is
//! generated from the same generic code, and is named by its blocks joined with `+`:
//!
//! | block | what it changes |
//! |---|---|
//! | `PMDK` | nothing: flush and fence the master, then copy, flush, fence each replica |
//! | `MOVNT` | replicas are written by non-temporal stores |
//! | `SF` | flushes are asynchronous: a single fence at the end |
//! | `SCA` | one AVX-512 scatter stores a piece in all replicas |
//! | `Threads` | a worker for each replica copies, flushes and fences |
//! | `Trs` | to a threshold, `Threads` gives way to `SF+PF`, to 64 bytes to `SF+SCA+PF` |
//! | `PF` | lines that will be stored through the cache are prefetched for writing |
//! | `POST` | the master is flushed after the replicas, not before |
//! | `SM` | with `MOVNT`: the master is written by non-temporal stores too; not in the papers |
//!
//! [`routines`] gives the code of a mechanism for a flush flavour and a number of replicas;
//! [`Targets`] says where the members are.
//!
//! # Invariants
//! 1. After `write` and `drain` of the same mechanism the bytes are durable in every member.
//! 2. `write` stores to `offset .. offset + bytes` of each member and nowhere else.
//! 3. A fence is executed where the flush flavour or a non-temporal store needs it, nowhere else.
//!
//! # Source
//! [Zarubin22 3.2.1] building blocks and template (Fig. 3.5); [DaMoN18 4]. Differs: replicas are
//! copied from the caller's bytes, not from the master, so nothing is read back after a flush; the
//! master is stored by the mechanism too, so that a scatter's address vector and the prefetches
//! come before the first store; `PF` prefetches all lines of an update, to 512 bytes, and those of
//! the master too, since all members' lines then arrive at once and no store waits with a flush
//! behind it; `SM` is ours ("stream the master"): from some hundred bytes on
//! it is quicker to write the master past the cache than to write it back, as libpmem does too.

mod block;
mod large;
mod mechanism;
mod piece;
mod routines;
mod targets;
mod worker;

pub use mechanism::{Mechanism, UnknownMechanism};
pub use routines::{Cached, Routines, routines};
pub use targets::{REPLICA_COUNT_MAX, Targets};
pub use worker::THRESHOLD_BYTES;
