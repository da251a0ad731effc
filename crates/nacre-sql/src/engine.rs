//! Queries that Nacre's own road takes: parsed, bound, optimized,
//! lowered and run without DataFusion.
//!
//! A query runs whole in one engine, here if every part of it is supported, else in DataFusion
//! (decision 0018). The setting `nacre.engine` chooses: `auto`, or one of both for every query.
//!
//! 1. [`compile`] makes a [`CompiledQuery`] of a text, over what [`relations`] finds at a moment;
//!    joins are ordered by what [`statistics`] says of tables. Catalogs are tables whose rows are
//!    made then; they show of views what [`view_columns`] binds.
//!    [`parameters`] are constants by then: a statement is bound with their types, and lowered for
//!    the values of each execution, so that scans skip blocks.
//! 2. [`pool`] has the workers of the database and counts what each engine ran.
//! 3. [`rows`] hands rows on as they come; [`columns`] makes Arrow arrays of them.
//! 4. [`explain`] words a plan.
//! 5. Changes of rows are queries, too ([`row_changes`]), and so is what is computed of the rows
//!    that these found ([`given_rows`]): RETURNING, ON CONFLICT DO UPDATE.
//!
//! # Invariants
//! 1. Once a query has begun to run it stays with its engine: its errors are the statement's.
//! 2. What a query reads is noted for validation at every execution.

mod columns;
mod compile;
mod conflict_rows;
mod errors;
mod explain;
mod given_rows;
mod parameters;
mod pool;
mod relations;
mod returned_rows;
mod row_changes;
mod rows;
mod statistics;
mod view_columns;

pub(crate) use compile::{
    CompiledQuery, EngineOffer, OfferedStatement, ParsedQuery, compile, compile_at_once,
    require_meaning,
};
pub(crate) use conflict_rows::ConflictQuery;
pub(crate) use errors::from_exec;
pub(crate) use explain::ExplainedChange;
pub(crate) use parameters::QueryParameters;
pub use pool::EngineCounts;
pub(crate) use pool::EnginePool;
pub(crate) use returned_rows::ReturningQuery;
pub(crate) use row_changes::{
    ChangeForm, ChangeQueries, ChangedBatch, ChangedRowStream, CompiledChange, GivenStatement,
    MeasuredChange, OfferedChange, RepeatedIds,
};
pub(crate) use view_columns::view_types;
