//! Persistent memory: mapped pools, replicated pool sets, atomic updates, structures.
//!
//! A [`Domain`] is a place for bytes: a directory, or plain DRAM. It holds *pools*, which are
//! mapped files. What makes a store durable differs by domain, so it is probed when the domain is
//! opened and hidden behind three verbs: `flush` starts write-back, `drain` waits, `persist` does
//! both.
//!
//! | kind | probed by | durable after | survives |
//! |---|---|---|---|
//! | `pmem` | `MAP_SYNC` accepted | cache-line flush + fence | process crash, power cut |
//! | `shm` | tmpfs or ramfs | the same code path, so it emulates `pmem` | process crash |
//! | `file` | anything else | `msync`, `fsync` | process crash, power cut |
//! | `dram` | no path | never | nothing |
//!
//! A [`Pool`] is one file, updated in place or read; a [`PoolAppender`] builds an immutable one
//! from many threads. A [`PoolSet`] keeps up to eight byte-identical members ([`set`]) by a
//! replication mechanism ([`replicate`]) that is chosen for each update ([`switch`]);
//! [`transaction_log`] changes several places as one, [`heap`] hands out extents, [`structure`] has
//! a column store and a tree.
//!
//! ```
//! use nacre_pmem::{Access, Domain, PoolSet, PoolSetOptions};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path();
//! let domains = [Domain::create("a", &path.join("a"))?, Domain::create("b", &path.join("b"))?];
//! let mut set = PoolSet::create("accounts", &domains, &PoolSetOptions::new(1 << 20))?;
//! let (from, to) = (set.data_offset(), set.data_offset() + 4096);
//! set.update(from, &100u64.to_le_bytes())?; // durable in both members
//! set.transaction(|tx| {
//!     tx.write(from, &70u64.to_le_bytes())?;
//!     tx.write(to, &30u64.to_le_bytes())
//! })?; // both or neither, whatever happens
//! set.close()?;
//!
//! domains[0].remove_pool("accounts.0")?; // the first member is lost
//! let set = PoolSet::open("accounts", &domains, Access::ReadOnly)?;
//! assert_eq!((set.load_u64(from)?, set.load_u64(to)?), (70, 30));
//! # Ok(()) }
//! ```
//!
//! # Invariants
//! 1. Nothing outside this crate issues a flush, a fence, `msync` or `fsync` for a pool.
//! 2. A probe or a failed call leaves no file behind.
//! 3. Space behind a writable mapping is allocated before it is mapped: a full disk is an error
//!    value, never SIGBUS. SIGXFSZ is ignored once a writable domain exists ([`signal`]).
//! 4. A pool has one writer, and so has a pool set; bytes handed out are not changed behind a
//!    reader's back.
//! 5. What breaks behind a mapping (a truncated file, failed memory) is an error value for those
//!    who used it, never the end of the process ([`fault`]).
//! 6. Every choice (kind, granularity, instructions, mechanism) can be forced by [`Settings`] or a
//!    `NACRE_` variable; what the machine cannot do is an error at open.
//!
//! Not here: formats, tables, SQL, any knowledge of what the bytes mean. See
//! `docs/persistent-memory.md`, and [`sim`] for how crashes are tested.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod append;
mod clock;
mod directory;
mod domain;
mod durability;
mod error;
pub mod fault;
mod flush;
mod granularity;
pub mod heap;
mod large_page;
mod lock;
mod map;
mod numa;
mod pool;
pub mod prefetch;
mod probe;
pub mod replicate;
pub mod set;
mod settings;
pub mod signal;
pub mod sim;
mod space;
mod stream;
pub mod structure;
pub mod switch;
mod sysfs;
pub mod transaction_log;

pub use append::PoolAppender;
pub use clock::coarse_time;
pub use domain::{Access, Domain};
pub use durability::Durability;
pub use error::{Error, ErrorKind, Result, SpaceShortage};
pub use flush::{CACHE_LINE_BYTES, FlushFlavour};
pub use granularity::{DomainKind, Granularity};
pub use large_page::LargePages;
pub use lock::DirectoryLock;
pub use numa::current_node;
pub use pool::{Pool, PoolSlice};
pub use set::{MemberCondition, MemberState, PoolSet, PoolSetOptions, Verdict};
pub use settings::Settings;
pub use stream::StreamFlavour;

// Offsets are `u64` on media and `usize` in memory; casts between them rely on this.
const _: () = assert!(usize::BITS == 64, "nacre-pmem needs a 64-bit address space");
