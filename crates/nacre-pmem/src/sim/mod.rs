//! Crash simulation: records what code does to media and reopens every state a crash could leave.
//!
//! 1. The primitives that store, flush, fence and ask the kernel call the hooks of [`hooks`].
//!    Without the feature `sim` these are empty and vanish.
//! 2. An [`Explorer`] makes *simulated domains*: memory files with the plan of a domain of the
//!    asked granularity. A recorder turns what happens to their pools into a trace of events.
//! 3. For every crash point, which is a prefix of the trace, the model of the media (`media`) says
//!    which contents each line can have; the explorer makes images of all combinations or of a
//!    seeded sample, puts each into pools, and runs the caller's check on them: reopen, recover,
//!    compare with what was acknowledged.
//! 4. Now and then the check itself is recorded and cut short in the same way (a crash while
//!    recovering). It may begin with what a killed process left: all stores can be read, but those
//!    that were not durable are not, and may be lost by the crash that follows. So a recovery that
//!    believes what it reads has to make it durable.
//!
//! # What a crash can leave
//! 1. A line (64 bytes) holds the state after some prefix of the ordinary stores to it, since any
//!    line may be evicted at any time. The store after that prefix may be torn: any subset of its
//!    8-byte words.
//! 2. A line whose flush was followed by a fence of the same thread holds at least the state at
//!    the flush. All flush instructions are treated alike, as the weakest of them.
//! 3. Of a non-temporal store, and of what went through the kernel (`pwrite`), any subset of words
//!    is there, until the next fence of its thread or a synchronisation of the file. A word has its
//!    stores in their order all the same, whatever their kind: caches are coherent.
//! 4. At page granularity ordinary stores behave like those through the kernel; `msync` and `fsync`
//!    end that for the pages they cover.
//! 5. At byte granularity (persistent caches) ordinary stores are durable in their order; only the
//!    last may be torn.
//! 6. Lines are independent of each other, within a pool and across replicas.
//! 7. Names made, changed and removed in a domain are durable in their order; those since the last
//!    synchronisation of the directory may be missing from any point on. The size of a file is one
//!    of those that it had since its last `fsync`.
//!
//! Bytes of one word are never torn, so a structure that relies on single stores below a word is
//! not refuted here.
//!
//! # Source
//! The rules follow PMDK's pmreorder and the x86 manuals; sampling where combinations are too many
//! follows neither: it is seeded, and always has the extreme images.
//! # See
//! `tests/sim/`

#[cfg(feature = "sim")]
mod explorer;
mod hooks;
#[cfg(feature = "sim")]
mod image;
#[cfg(feature = "sim")]
mod line;
#[cfg(feature = "sim")]
mod media;
#[cfg(feature = "sim")]
mod pick;
#[cfg(feature = "sim")]
mod recorder;
#[cfg(feature = "sim")]
mod registry;
#[cfg(feature = "sim")]
mod report;
#[cfg(feature = "sim")]
mod trace;

pub(crate) use hooks::*;

#[cfg(feature = "sim")]
pub use explorer::Explorer;
#[cfg(feature = "sim")]
pub use recorder::{Crash, Marks};
#[cfg(feature = "sim")]
pub use report::{Outcome, Report, Violation};
#[cfg(feature = "sim")]
pub use trace::Plant;
