//! LATERAL: items of FROM that see those before them.
//!
//! Such an item is the right side of a dependent join, which the optimizer makes independent
//! (`optimizer::unnesting`).
//!
//! # Invariants
//! 1. It is evaluated for other rows than PostgreSQL does, so that nothing in it may fail. Columns
//!    at its top are computed for the rows of the join alone: they may, unless the join has another
//!    condition than `true`.
//! 2. Columns and conditions above what sees nothing of the left side make a plain join, as in
//!    PostgreSQL; it may fail as one.

use std::collections::HashSet;

use nacre_syntax::{FromItem, QueryExpression, SourceRange};
use nacre_types::SqlValue;

use super::Binder;
use super::scope::{Scope, ScopeColumn};
use crate::algebra::{ColumnId, RelationalOperator, ScalarExpression, ScalarKind};
use crate::error::BindError;
use crate::properties::{never_fails, query_never_fails};

/// What an item of FROM may see of the others.
pub(super) struct FromPlace {
    /// Tables that it cannot name, unless it is LATERAL.
    pub(super) out_of_reach: Vec<String>,
    /// The items before it.
    pub(super) before: Scope,
}

impl FromPlace {
    /// Returns the place of the right side of a join whose left side makes `left` visible.
    pub(super) fn behind(&self, left: &Scope) -> Self {
        let mut before = self.before.clone();
        before.tables.extend(left.tables.iter().cloned());
        before.columns.extend(left.columns.iter().cloned());
        let names = left.tables.iter().map(|table| table.name.clone());
        let out_of_reach = names.chain(self.out_of_reach.clone()).collect();
        Self { out_of_reach, before }
    }
}

impl Binder<'_> {
    /// Binds a query in FROM that sees the items before it.
    pub(super) fn bind_lateral_table(
        &mut self,
        query: &QueryExpression,
        item: &FromItem,
        before: &Scope,
    ) -> Result<(RelationalOperator, Scope), BindError> {
        self.push_outer_scope(before, "FROM clause of their own query level", false);
        let out_of_reach = std::mem::take(&mut self.out_of_reach);
        let bound = self.bind_derived_table(query, item, &[]);
        self.out_of_reach = out_of_reach;
        self.outer_scopes.pop();
        bound
    }
}

/// Refuses a right side that has columns of the left one and may fail.
///
/// # Errors
/// 0A000 for such a side.
pub(super) fn require_lateral(
    right: &RelationalOperator,
    condition: Option<&ScalarExpression>,
    range: SourceRange,
) -> Result<(), BindError> {
    if right.free_columns().is_empty() {
        return Ok(());
    }
    let is_possible = is_plain_join(right)
        || match condition {
            Some(condition) if !is_true(condition) => {
                never_fails(condition) && query_never_fails(right)
            }
            // All of its rows are wanted, and with them their outputs.
            _ => below_outputs(right).is_some_and(query_never_fails),
        };
    match is_possible {
        true => Ok(()),
        false if condition.is_none() && is_expanded_row(right) => Ok(()),
        false => Err(BindError::not_supported("LATERAL queries that may fail", range)),
    }
}

fn is_true(condition: &ScalarExpression) -> bool {
    match &condition.kind {
        ScalarKind::Constant(value) => matches!(value.0, SqlValue::Boolean(true)),
        _ => false,
    }
}

/// Whether a right side is sets of the columns of a row of the left one.
fn is_expanded_row(right: &RelationalOperator) -> bool {
    matches!(right, RelationalOperator::Expand { input, .. }
        if **input == RelationalOperator::SingleRow)
}

/// Whether a right side is columns and conditions above an operator without columns of the left
/// side.
fn is_plain_join(right: &RelationalOperator) -> bool {
    let is_steady = || !right.expressions().into_iter().any(|one| one.is_volatile());
    match right {
        RelationalOperator::Compute { input, .. } | RelationalOperator::Filter { input, .. } => {
            is_steady() && is_plain_join(input)
        }
        other => other.free_columns().is_empty(),
    }
}

/// Returns what is below the columns that are computed at the top; `None` if one is volatile.
fn below_outputs(operator: &RelationalOperator) -> Option<&RelationalOperator> {
    match operator {
        RelationalOperator::Compute { input, columns } => {
            let is_steady = columns.iter().all(|one| !one.value.is_volatile());
            is_steady.then_some(())?;
            below_outputs(input)
        }
        other => Some(other),
    }
}

/// Refuses columns of a left side whose rows the join may leave out.
///
/// # Errors
/// 42P10 names the table.
pub(super) fn require_independent(
    right: &RelationalOperator,
    left: &Scope,
    range: SourceRange,
) -> Result<(), BindError> {
    let free = right.free_columns();
    let is_seen = |columns: &[ScopeColumn]| columns.iter().any(|column| is_in(&free, column));
    let Some(table) = left.tables.iter().find(|table| is_seen(&table.columns)) else {
        return Ok(());
    };
    let message = format!("invalid reference to FROM-clause entry for table \"{}\"", table.name);
    let detail = "The combining JOIN type must be INNER or LEFT for a LATERAL reference.";
    Err(BindError::new("42P10", message, range).with_detail(detail))
}

fn is_in(free: &HashSet<ColumnId>, column: &ScopeColumn) -> bool {
    let mut own = HashSet::new();
    column.value.collect_columns(&mut own);
    !own.is_disjoint(free)
}
