//! Memory domains, mapped pools and durability.
//!
//! A [`Domain`] is a place for bytes: a directory, or plain DRAM. It holds *pools*, which are
//! mapped files. What makes a store durable differs by domain, so it is probed when the domain is
//! opened and then hidden behind three verbs: `flush` starts write-back, `drain` waits for it,
//! `persist` does both.
//!
//! | kind | probed by | durable after | survives |
//! |---|---|---|---|
//! | `pmem` | `MAP_SYNC` accepted | cache-line flush + fence | process crash, power cut |
//! | `shm` | tmpfs or ramfs | the same code path, so it emulates `pmem` | process crash |
//! | `file` | anything else | `msync`, `fsync` | process crash, power cut |
//! | `dram` | no path | never | nothing |
//!
//! A [`Pool`] is updated in place or read; a [`PoolAppender`] builds an immutable pool from many
//! threads; a [`PoolSlice`] is an owned range of a mapped pool that keeps the mapping alive.
//!
//! ```
//! use nacre_pmem::{Access, Domain, DirectoryLock};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("db");
//! let domain = Domain::create("main", &path)?;
//! let _lock = DirectoryLock::exclusive(&path)?;
//!
//! let blocks = domain.append_pool("blocks")?;
//! let offset = blocks.append(b"immutable bytes", 64)?;
//! blocks.finish()?; // bytes and directory entry are durable
//!
//! let mut root = domain.create_pool("root", 4096)?;
//! root.write(8, &offset.to_le_bytes())?;
//! root.persist(8, 8)?;
//! root.publish_u64(0, 1)?; // one 8-byte store makes the rest reachable
//!
//! let blocks = std::sync::Arc::new(domain.open_pool("blocks", Access::ReadOnly)?);
//! let slice = blocks.whole(offset, 15)?;
//! assert_eq!(&*slice, b"immutable bytes");
//! println!("{}: {}, {}", domain.kind(), domain.granularity(), domain.durability());
//! # Ok(()) }
//! ```
//!
//! # Invariants
//! 1. Nothing outside this crate issues a flush, a fence, `msync` or `fsync` for a pool.
//! 2. A probe or a failed call leaves no file behind.
//! 3. Space behind a writable mapping is allocated before it is mapped: a full disk is an error
//!    value, never SIGBUS. SIGXFSZ is ignored once a writable domain exists ([`signal`]).
//! 4. A pool has one writer: a [`Pool`] opened for writing, or a [`PoolAppender`], in the process
//!    that holds the exclusive [`DirectoryLock`]. Bytes handed out by [`Pool::read`] are not
//!    changed behind the reader's back as long as that holds.
//! 5. What breaks behind a mapping (a truncated file, a hole on a full device, failed memory) is an
//!    error value for those who used it, never the end of the process ([`fault`]).
//! 6. Every choice (kind, granularity, flush and streaming instructions) can be forced by
//!    [`Settings`] or a `NACRE_` variable; what the machine cannot do is an error at open.
//!
//! Not here: checksums, formats, tables, threads, SQL, any knowledge of what the bytes mean.
//! Pool sets keep replicas of a pool: see [`set`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod append;
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
mod pool;
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
pub mod undo;

pub use append::PoolAppender;
pub use domain::{Access, Domain};
pub use durability::Durability;
pub use error::{Error, ErrorKind, Result};
pub use flush::{CACHE_LINE_BYTES, FlushFlavour};
pub use granularity::{DomainKind, Granularity};
pub use large_page::LargePages;
pub use lock::DirectoryLock;
pub use pool::{Pool, PoolSlice};
pub use set::{MemberCondition, MemberState, PoolSet, PoolSetOptions, Verdict};
pub use settings::Settings;
pub use stream::StreamFlavour;

// Offsets are `u64` on media and `usize` in memory; casts between them rely on this.
const _: () = assert!(usize::BITS == 64, "nacre-pmem needs a 64-bit address space");
