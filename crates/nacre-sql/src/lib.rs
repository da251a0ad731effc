//! The SQL front end: DataFusion as parser, binder, optimizer and, for now, executor over scans
//! that read Nacre's blocks where they lie.
//!
//! [`Database`] opens a store, [`Session::execute`] runs one statement. Arrow arrays are made at
//! this edge ([`scan`]); layers below know nothing of them.
//!
//! # Invariants
//! 1. A statement that Nacre does not do answers `not supported: ...`; it never half works.
//!    `support` holds the list of what reaches the planner.
//! 2. A statement sees what was committed when it began (under REPEATABLE READ and SERIALIZABLE:
//!    when its transaction began) and what its transaction did before, whatever happens meanwhile.
//! 3. Errors name the object and, where there is one, the place and the way out.

#![forbid(unsafe_code)]

mod access;
mod activity;
mod advisory_locks;
mod alter;
mod archive;
mod backup;
mod blocking;
mod cancellation;
mod catalog;
mod checkpoint;
mod coerce;
mod columns;
mod comparable;
mod constraints;
mod copy;
mod cursors;
mod database;
mod ddl;
mod dml;
mod engine;
mod engine_words;
mod equivalence_barrier;
mod error;
mod error_places;
mod explain;
mod expression_forms;
mod filter_names;
mod filter_placement;
mod from_datafusion;
mod from_ingest;
mod from_plan;
mod from_store;
mod functions;
mod housekeeping;
mod in_lists;
mod indexes;
mod join_threads;
mod lazy_logic;
mod literals;
mod maintain;
mod members;
mod memory;
mod names;
mod notices;
mod null_equality;
mod on_demand;
mod operator_syntax;
mod operators;
mod origins;
mod own_statement;
mod own_syntax;
mod parsing;
mod pg_catalog;
mod pg_types;
mod plain_forms;
mod plan_check;
mod plan_expressions;
mod planner;
mod planner_state;
mod planning;
mod planning_cost;
mod prepared;
mod privileges;
mod query_forms;
mod relations;
mod replicas;
mod restarts;
mod rewrite;
mod row_values;
mod rules;
mod scan;
mod scopes;
mod sequences;
mod served;
mod session;
mod session_functions;
mod settings;
mod short;
mod simplification;
mod single_rows;
mod split;
mod statement_io;
mod support;
mod table_as;
mod table_lock;
mod text;
mod transaction;
mod trim_syntax;
mod types;
mod unknown_literals;
mod unnest;
mod upkeep;
mod user_views;
mod views;
mod window_keys;
mod words;
mod yielding;

pub use activity::{Activity, Joined, Participant, Request};
pub use blocking::Underway;
pub use copy::ClientCopy;
pub use database::{Database, OpenOptions};
pub use datafusion;
pub use engine::EngineCounts;
pub use error::{Error, ErrorKind, Origin, Position, Result};
pub use nacre_column::ColumnType;
pub use nacre_ingest::Progress;
pub use nacre_store::{BOOTSTRAP_ROLE, LostReplica, RepairReport, RoleDef, ScrubReport, Value};
pub use notices::Notice;
pub use pg_types::{ColumnOrigin, PG_TYPES, PgType, TYPE_KEY};
pub use prepared::{ParameterType, Statement, value_text};
pub use served::ServedNote;
pub use session::Session;
pub use settings::{SessionInfo, SettingInfo};
pub use split::{SourceStatement, split_statements};
pub use statement_io::{CopyIn, CopyOut, Outcome, RowSink, StatementIo};
pub use support::STATEMENT_STACK_BYTES;
pub use text::{TextColumn, append_bytes, write_text};
pub use transaction::TransactionStatus;
