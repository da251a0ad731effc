//! Relational algebra: what a query computes, not how.
//!
//! Every value that an operator makes has a [`ColumnId`] of its own, so that operators may change
//! places without renumbering.

mod columns;
mod relational;
mod scalar;

pub use columns::{ColumnId, ColumnSource, QueryColumn, QueryColumns};
pub use relational::{
    AggregateColumn, BoundSortKey, ComputedColumn, GroupingKey, JoinVariant, OutputColumn,
    QueryPlan, RelationalOperator, ScannedColumn,
};
pub use scalar::{
    BoundAggregate, CaseArm, CastStep, ConstantValue, ScalarExpression, ScalarKind, TruthValue,
};
