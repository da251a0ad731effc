//! LATERAL: items of FROM that see those before them.
//!
//! Such an item is the right side of a dependent join, which the optimizer makes independent
//! (`optimizer::unnesting`).
//!
//! # Invariants
//! 1. It is evaluated for all rows of the left side that conditions on that side leave. What may
//!    fail of it does so for each of these, as in PostgreSQL, unless a LIMIT within ends it before,
//!    or the join has another condition than `true`, for whose pairs alone outputs are computed.
//! 2. Columns and conditions above what sees nothing of the left side make a plain join, as in
//!    PostgreSQL; it may fail as one.

use std::collections::HashSet;

use nacre_syntax::{FromItem, QueryExpression, SourceRange};
use nacre_types::SqlValue;

use super::Binder;
use super::scope::{Scope, ScopeColumn};
use crate::algebra::conjuncts::{conjuncts_of, has_columns};
use crate::algebra::{ColumnId, RelationalOperator, ScalarExpression, ScalarKind};
use crate::error::BindError;
use crate::properties::{may_move, never_fails, query_never_fails};

/// What an item of FROM may see of the others. Most items see nothing: names and columns are
/// collected when one looks, since those of hundreds of tables are many.
#[derive(Clone, Copy)]
pub(super) struct FromPlace<'p> {
    /// The place of the join that the item is the right side of.
    around: Option<&'p FromPlace<'p>>,
    /// What the items before it, or the left side, make visible.
    left: Option<&'p Scope>,
    /// Tables around the query that none of its items can name.
    hidden: &'p [String],
}

impl<'p> FromPlace<'p> {
    /// Makes the place of an item behind those that make `left` visible.
    pub(super) fn of_item(left: Option<&'p Scope>, hidden: &'p [String]) -> Self {
        Self { around: None, left, hidden }
    }

    /// Returns the place of the right side of a join whose left side makes `left` visible.
    pub(super) fn behind(&'p self, left: &'p Scope) -> Self {
        Self { around: Some(self), left: Some(left), hidden: self.hidden }
    }

    /// Returns the tables that an item here cannot name, unless it is LATERAL.
    pub(super) fn out_of_reach(&self) -> Vec<String> {
        let own = self.left.iter().flat_map(|scope| &scope.tables);
        let mut names: Vec<String> = own.map(|table| table.name.clone()).collect();
        match self.around {
            Some(around) => names.extend(around.out_of_reach()),
            None => names.extend_from_slice(self.hidden),
        }
        names
    }

    /// Returns what the items before one here make visible.
    pub(super) fn before(&self) -> Scope {
        let Some(around) = self.around else { return self.left.cloned().unwrap_or_default() };
        let mut before = around.before();
        if let Some(left) = self.left {
            before.tables.extend_from_slice(&left.tables);
            before.columns.extend_from_slice(&left.columns);
        }
        before
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
    let has_no_error = match condition {
        // Its outputs are computed for the pairs that are left.
        Some(condition) if !is_true(condition) => {
            never_fails(condition) && has_infallible_outputs(right)
        }
        _ => true,
    };
    let is_steady = || !right.any_expression(&|one| one.is_volatile_call());
    let ends_with_errors =
        || !has_dependent_limit(right) || query_never_fails(below_outputs(right));
    let is_possible = is_plain_join(right)
        || has_no_error && is_steady() && ends_with_errors()
        || condition.is_none() && is_expanded_row(right);
    match is_possible {
        true => Ok(()),
        false => Err(BindError::not_supported("LATERAL queries that may fail", range)),
    }
}

/// Refuses a condition that may fail above a right side that has columns of the left one and may
/// fail: PostgreSQL evaluates it first, for the rows of the tables that it is about.
///
/// # Errors
/// 0A000.
pub(super) fn require_later_conditions(root: &RelationalOperator) -> Result<(), BindError> {
    require_later(root, None)
}

/// `fallible` is where such a condition stands above.
fn require_later(
    operator: &RelationalOperator,
    fallible: Option<SourceRange>,
) -> Result<(), BindError> {
    let fallible = match operator {
        RelationalOperator::Filter { condition, .. } => {
            let own = conjuncts_of(condition).into_iter().find(|one| !may_move(one));
            fallible.or(own.filter(|one| has_columns(one)).map(|one| one.range))
        }
        RelationalOperator::Join { right, .. } => {
            let is_dependent = || !is_plain_join(right) && !query_never_fails(right);
            if let Some(range) = fallible
                && is_dependent()
                && !right.free_columns().is_empty()
            {
                let what = "conditions that may fail above LATERAL queries that may";
                return Err(BindError::not_supported(what, range));
            }
            fallible
        }
        RelationalOperator::Compute { .. }
        | RelationalOperator::Sort { .. }
        | RelationalOperator::SetOperation { .. } => fallible,
        _ => None,
    };
    operator.inputs().try_for_each(|input| require_later(input, fallible))
}

/// Whether rows of a query about the left side are chosen by their number: it may end before it
/// fails.
fn has_dependent_limit(operator: &RelationalOperator) -> bool {
    matches!(operator, RelationalOperator::Limit { .. }) && !operator.free_columns().is_empty()
        || operator.inputs().any(has_dependent_limit)
}

/// Returns the input of the columns that are computed at the top.
fn below_outputs(operator: &RelationalOperator) -> &RelationalOperator {
    match operator {
        RelationalOperator::Compute { input, .. } => below_outputs(input),
        other => other,
    }
}

/// Whether the columns that are computed at the top never fail.
fn has_infallible_outputs(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Compute { input, columns } => {
            columns.iter().all(|one| never_fails(&one.value)) && has_infallible_outputs(input)
        }
        _ => true,
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
    if free.is_empty() {
        return Ok(());
    }
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
