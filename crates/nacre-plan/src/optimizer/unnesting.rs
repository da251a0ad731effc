//! Makes dependent joins independent, so that no query is run row by row.
//!
//! From the bottom up, by the first way that works:
//! 1. [`pulling`]: conditions about columns of the left side become conditions of the join. Below
//!    GROUP BY an equality does if what the left side is equal to becomes a key, too.
//! 2. [`defaults`]: an aggregate without keys becomes one with keys, joined so that rows of the
//!    left side without a group get the values of no rows.
//! 3. [`outputs`]: outputs that are computed from columns of the left side are computed above.
//! 4. [`pushing`]: the right side is evaluated for all combinations of values that its columns of
//!    the left side have (the domain), and joined to the left side by these.
//!
//! ```text
//! exists (u where u.k = t.k)                 t semi join u on u.k = t.k
//! (select sum(x) from u where u.k = t.k)     t left join (u group by k) on u.k = t.k
//! (select sum(x) from u where u.k < t.k)     t left join (distinct t.k join u on u.k < t.k
//!                                              group by t.k) on the same t.k
//! ```
//!
//! # Invariants
//! 1. What no way is known for stays dependent: grouping sets of dependent rows, and left sides
//!    whose rows may be others each time that they are computed.
//! 2. Only queries that never fail, but in conditions of their joins, are joined to expressions, so
//!    they may be evaluated for more rows. Those that are called may fail: they are evaluated for
//!    domains alone. Conditions of a join that may fail are its last ones.
//! # Source
//! Neumann, Kemper: "Unnesting arbitrary queries", BTW 2015; Neumann: "Improving unnesting of
//! complex queries", BTW 2025.

mod defaults;
mod lookalikes;
mod outputs;
mod pulling;
mod pushing;

use std::collections::HashSet;

use crate::algebra::conjuncts::{conjunction, split_conjunction, with_computed, with_filter};
use crate::algebra::{
    ColumnId, ColumnSource, ComputedColumn, JoinVariant, QueryColumn, QueryColumns,
    RelationalOperator, ScalarExpression,
};
use crate::control;
use crate::properties::never_fails;
use nacre_types::SqlType;

/// For which rows right sides are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnnestingRule {
    /// Also for such as the left side does not have.
    AnyRows,
    /// For those of the left side alone, since right sides may fail.
    RowsAlone,
}

/// Makes the dependent joins of a plan independent.
pub(super) fn unnest(
    root: &mut RelationalOperator,
    columns: &mut QueryColumns,
    rule: UnnestingRule,
) {
    if control::is_stopped() {
        return;
    }
    root.inputs_mut().for_each(|input| unnest(input, columns, rule));
    let RelationalOperator::Join { variant, left, right, condition } = root else { return };
    let free = right.free_columns();
    if free.is_empty() {
        return;
    }
    let mut outer = HashSet::new();
    left.collect_made_columns(&mut outer);
    outer.retain(|column| free.contains(column));
    if outer.is_empty() {
        return;
    }
    let mut conditions = Vec::new();
    condition.take().into_iter().for_each(|one| split_conjunction(one, &mut conditions));
    let take =
        |side: &mut RelationalOperator| std::mem::replace(side, RelationalOperator::SingleRow);
    let join = DependentJoin {
        variant: *variant,
        left: take(left),
        right: take(right),
        conditions,
        above: Vec::new(),
        outer,
    };
    *root = match rule {
        UnnestingRule::AnyRows => join.unnested(columns),
        UnnestingRule::RowsAlone => join.over_domain(columns, rule),
    };
}

/// Whether an operator is sets of values for one row, perhaps with columns computed of these.
fn is_expanded_row(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Expand { input, .. } => **input == RelationalOperator::SingleRow,
        RelationalOperator::Compute { input, .. } => {
            matches!(**input, RelationalOperator::Expand { .. }) && is_expanded_row(input)
        }
        _ => false,
    }
}

/// Has sets of values for one row be those for each row of `rows`.
fn expanded_rows(operator: RelationalOperator, rows: RelationalOperator) -> RelationalOperator {
    match operator {
        RelationalOperator::Expand { functions, ordinality, .. } => {
            RelationalOperator::Expand { input: Box::new(rows), functions, ordinality }
        }
        RelationalOperator::Compute { input, columns } => {
            RelationalOperator::Compute { input: Box::new(expanded_rows(*input, rows)), columns }
        }
        other => other,
    }
}

/// A join whose right side has columns of the left one.
struct DependentJoin {
    variant: JoinVariant,
    left: RelationalOperator,
    right: RelationalOperator,
    conditions: Vec<ScalarExpression>,
    /// Columns to be computed above the join, the lowest first.
    above: Vec<Vec<ComputedColumn>>,
    /// Columns of the left side that the right one has.
    outer: HashSet<ColumnId>,
}

impl DependentJoin {
    fn unnested(mut self, columns: &mut QueryColumns) -> RelationalOperator {
        if self.variant == JoinVariant::Inner && is_expanded_row(&self.right) {
            let expanded = expanded_rows(self.right, self.left);
            return with_filter(expanded, self.conditions);
        }
        self.pull_conditions(columns);
        if !self.is_dependent() {
            return self.into_join();
        }
        self.take_outputs_out(columns);
        if !self.is_dependent() {
            return self.into_join();
        }
        match self.with_defaults(columns) {
            Ok(root) => root,
            Err(join) => join.over_domain(columns, UnnestingRule::AnyRows),
        }
    }

    fn is_dependent(&self) -> bool {
        !self.right.free_columns().is_disjoint(&self.outer)
    }

    fn into_join(self) -> RelationalOperator {
        let Self { variant, left, right, conditions, above, .. } = self;
        let (left, right) = (Box::new(left), Box::new(right));
        let (mut conditions, fallible): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(never_fails);
        conditions.extend(fallible);
        let condition = conjunction(conditions);
        let join = RelationalOperator::Join { variant, left, right, condition };
        above.into_iter().fold(join, with_computed)
    }
}

/// Adds a column that an operator is to make.
fn new_column(name: &str, sql_type: SqlType, columns: &mut QueryColumns) -> ColumnId {
    let (name, source) = (name.into(), ColumnSource::Computed);
    columns.add(QueryColumn { name, sql_type, is_nullable: true, source })
}

/// Whether an expression has one of these columns.
fn has_any(expression: &ScalarExpression, columns: &HashSet<ColumnId>) -> bool {
    let mut own = HashSet::new();
    expression.collect_columns(&mut own);
    !own.is_disjoint(columns)
}
