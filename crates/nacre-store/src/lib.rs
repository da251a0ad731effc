//! Tables, chunks, bulk loads and the manifest.
//!
//! A database is a directory (or, for a volatile one, nothing), and others in further memory
//! domains: the pool set of the [`manifest`], and for every load its parts, pools of blocks that
//! hold the replicas of its columns. Opening reads the manifest and nothing else; pools are mapped
//! when a scan first wants them, and scans read mapped blocks.
//!
//! This crate knows nothing of SQL, CSV or Arrow, and starts no thread that outlives a call: what
//! is lost is rebuilt, and policies are followed, by whoever calls [`Store::maintain_step`].
//!
//! # Invariants
//! 1. A load is visible wholly or not at all, whatever happens to the process.
//! 2. No byte of a block is used before its checksum was verified.
//! 3. A block can be read as long as one of its replicas is good.

#![deny(unsafe_code)]

mod access;
mod accounting;
mod alter;
mod archive;
mod backup;
#[cfg(test)]
mod backup_tests;
mod chunk;
mod codec;
#[cfg(test)]
mod crash_support;
mod decode;
mod directory;
mod domains;
mod drafts;
mod error;
mod foreign_key;
mod freeze;
mod hot;
mod id;
pub mod index;
mod key;
#[cfg(test)]
mod layout_tests;
mod load;
mod maintenance;
mod manifest;
mod members;
mod mvcc;
mod opening;
mod part;
mod part_writer;
mod places;
mod point;
mod predicate_log;
mod procedure;
mod recovery;
mod redo;
mod rules;
mod running_loads;
mod schema;
mod sequences;
mod statistics;
mod store;
mod stored_load;
mod table;
mod truncate;
mod uniqueness;
mod value;
mod views;
mod waker;

pub use access::{
    AccessChange, AccessState, BOOTSTRAP_ROLE, BOOTSTRAP_ROLE_OID, Grant, Membership, ObjectAccess,
    PUBLIC_ROLE, RoleDef, Securable,
};
pub use accounting::{ReplicaInfo, ReplicaState, WearInfo};
pub use alter::Rewrite;
pub use archive::{
    ArchiveStatus, RestoreOptions, RestoreReport, RestoreTarget, restore, restore_with,
};
pub use backup::BackupReport;
pub use chunk::{BlockHandle, BlockLocation, Chunk};
pub use error::{DuplicateKey, Error, ErrorKind, ForeignKeyViolation, Result, RowRefused};
pub use foreign_key::{ForeignKeyAction, ForeignKeyDef, RowRules, TableKeys, is_comparable};
pub use freeze::{CheckpointReport, RedoInfo};
#[doc(hidden)]
pub use hot::SingleVersion;
pub use hot::{HotChunkRef, HotColumnRange, HotCondition};
pub use id::{CommitTs, Lsn, Moment, RowId, RowPlace, TxId};
pub use load::Load;
pub use maintenance::{LostReplica, Progress, RepairReport, ScrubReport};
pub use manifest::{DatabaseId, LoadId, TableId};
pub use mvcc::{EndWatch, IsolationLevel, Savepoint, Snapshot, Transaction, TransactionInfo};
pub use nacre_column::replicated::{AccessHint, WearCause};
pub use predicate_log::{
    ColumnSet, PREDICATES_MAX, Predicate, PredicateLog, PredicateTree, RowChange, RowImage,
    TableLog, ValidationLevel, WORDS_MAX,
};
pub use procedure::{Procedure, Procedures};
pub use redo::{
    CallEffects, CallPlace, RedoBuffer, RedoLog, RedoOptions, RedoProblem, RedoReader, RedoRecord,
    changes_checksum,
};
pub use rules::{CheckRule, ColumnDefault, Identity, RULE_BYTES_MAX, TableRules};
pub use schema::{COLUMNS_MAX, ColumnDef, NAME_BYTES_MAX, TableSchema};
pub use sequences::{SEQUENCES_TABLE, Sequence, SequenceDef};
pub use statistics::{ColumnEstimates, TableStatistics};
pub use store::{MAIN_DOMAIN, OpenOptions, Store};
pub use table::{Table, TableSnapshot};
pub use value::{VALUE_BYTES_MAX, Value, ValueProblem, ValueRef};
pub use views::{VIEW_BYTES_MAX, ViewColumn, ViewDef};
