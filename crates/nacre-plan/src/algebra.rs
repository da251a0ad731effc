//! Relational algebra: what a query computes, not how.
//!
//! Every value that an operator makes has a [`ColumnId`] of its own, so that operators may change
//! places without renumbering.

mod columns;
mod common;
pub(crate) mod conjuncts;
mod free_columns;
mod relational;
mod renaming;
mod scalar;
mod windows;

pub use columns::{ColumnId, ColumnSource, QueryColumn, QueryColumns};
pub use common::{CommonForm, CommonQuery, CommonReference, RecursiveTerm};
pub use free_columns::ColumnFlags;
pub use relational::{
    AggregateColumn, BoundSortKey, ComputedColumn, GroupingKey, JoinVariant, OutputColumn,
    QueryPlan, RelationalOperator, SampleMethod, ScannedColumn, SetFunctionColumn, SetInput,
    SetVariant,
};
pub use renaming::ColumnRenaming;
pub use scalar::{
    BoundAggregate, BoundSubquery, CaseArm, CastStep, ConstantValue, OnceReference,
    ScalarExpression, ScalarKind, SubqueryForm, TruthValue,
};
pub use windows::{
    BoundWindowCall, BoundWindowFrame, WindowColumn, WindowFrameEdge, WindowFrameExclusion,
    WindowFrameUnit,
};
