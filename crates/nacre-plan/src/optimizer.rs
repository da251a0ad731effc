//! Makes a plan with joins or set operations cheaper: the same outputs and the same bag of rows, by
//! passes in a fixed order, each run once but for the first part of pass 0.
//!
//! 0. [`unread_parts`] leaves out outer joins and rows of groups that nothing is read of;
//!    [`merging`] computes columns that may fail for fewer rows.
//! 1. [`unnesting`] makes dependent joins independent. If one may fail, [`placement`] comes before,
//!    too: its right side is evaluated for the rows that conditions leave.
//! 2. [`outer_joins`] makes outer joins inner ones where a condition refuses the rows filled up;
//!    then [`unread_parts`] looks at those that are left.
//! 3. [`factoring`] takes what all branches of an OR share out of it.
//! 4. [`derivation`] adds conditions that follow from equalities, and from the branches of an OR.
//! 5. [`placement`] moves conditions down to the relations that they are about.
//! 6. [`reducers`] moves semi and anti joins to the inputs of which they leave few rows.
//! 7. [`join_order`] orders inner joins by [`estimate`]d rows, and gives each join its build side.
//!
//! Queries that are computed once come before what reads them. Passes 0 to 5 go backwards, so that
//! such a query learns which of its rows are wanted ([`common_conditions`]). The others go
//! forwards, so that what reads it knows how many rows it has ([`common`]). For EXPLAIN,
//! [`RowEstimates`] has the rows that were expected of each operator.
//!
//! # Invariants
//! 1. A plan without joins, set operations and queries that are computed once is returned
//!    unchanged, but for what nothing reads, for columns that may fail and for conditions above
//!    others than relations.
//! 2. A condition that may fail, that is volatile, or that has no columns never moves past a join:
//!    no row reaches it that did not in the query as it is written ([`crate::properties`]).
//!    Conjuncts are evaluated in order, each for rows for which the ones before it are true; of a
//!    join's condition fallible ones are the last.
//! 3. The right input of a join is the one to build a hash table of: the smaller one by estimate.
//! 4. The order of FROM has no influence on the order of inner joins.
//! 5. Each pass returns early, with anything, once [`crate::control`] says that planning is to end.
//! # Source
//! Moerkotte, Neumann: "Analysis of two existing and one new dynamic programming algorithm", VLDB
//! 2006 (DPccp); Fegaras: "A new heuristic for optimizing large queries", DEXA 1998 (greedy).

mod common;
mod common_conditions;
mod dependent_columns;
mod derivation;
mod equivalence;
mod estimate;
mod factoring;
mod join_order;
mod merging;
mod null_logic;
mod outer_joins;
mod placement;
mod places;
mod reducers;
mod row_estimates;
mod selectivity;
mod spread;
mod statistics;
mod unnesting;
mod unread_parts;

pub use dependent_columns::determined_keys;
pub use row_estimates::RowEstimates;
pub use statistics::{ColumnStatistics, RelationStatistics};

use unnesting::UnnestingRule;

use crate::algebra::conjuncts::with_filter;
use crate::algebra::{
    ColumnId, CommonForm, CommonQuery, QueryColumns, QueryPlan, RelationalOperator,
    ScalarExpression,
};
use crate::properties::query_never_fails;

/// Returns a plan that computes the same and is expected to be cheaper.
pub fn optimize(plan: QueryPlan, statistics: &dyn RelationStatistics) -> QueryPlan {
    let QueryPlan { mut columns, mut common, root, outputs, parameters } = plan;
    let read: Vec<_> = outputs.iter().map(|output| output.column).collect();
    let rule = UnnestingRule::AnyRows;
    let mut root = rewrite_operator(root, &read, &[], &mut columns, rule);
    let mut wanted = vec![Vec::new(); common.len()];
    for (index, wanted) in wanted.iter_mut().enumerate().rev() {
        let (before, readers) = common.split_at_mut(index + 1);
        if let Some(query) = before.last_mut() {
            *wanted = rewrite_common(query, index, (&root, readers), &mut columns);
        }
    }
    let mut expected = Vec::with_capacity(common.len());
    for (query, wanted) in common.iter_mut().zip(&wanted) {
        common::set_expected_rows(&mut query.root, &expected);
        order_operator(&mut query.root, &mut columns, statistics);
        expected.push(common::expected_rows(query, wanted, &columns, statistics));
        if let Some(term) = query.form.term_mut() {
            common::set_expected_rows(&mut term.root, &expected);
            order_operator(&mut term.root, &mut columns, statistics);
        }
    }
    common::set_expected_rows(&mut root, &expected);
    order_operator(&mut root, &mut columns, statistics);
    QueryPlan { columns, common, root, outputs, parameters }
}

/// Rewrites a common query, which the root of the plan and later ones read; returns the conditions
/// that are true for the rows that are wanted of it.
fn rewrite_common(
    query: &mut CommonQuery,
    index: usize,
    (root, later): (&RelationalOperator, &[CommonQuery]),
    columns: &mut QueryColumns,
) -> Vec<ScalarExpression> {
    let terms = later.iter().filter_map(|reader| reader.form.term()).map(|term| &term.root);
    let readers = later.iter().map(|reader| &reader.root).chain(terms).chain([root]);
    let wanted = common_conditions::wanted_rows(query, index, readers);
    let rule = match query.form {
        CommonForm::Call(_) => UnnestingRule::RowsAlone,
        _ => UnnestingRule::AnyRows,
    };
    let own = std::mem::replace(&mut query.root, RelationalOperator::SingleRow);
    query.root = rewrite_operator(own, &query.outputs, &wanted, columns, rule);
    if let Some(term) = query.form.term_mut() {
        let own = std::mem::replace(&mut term.root, RelationalOperator::SingleRow);
        let (outputs, rule) = (&term.outputs, UnnestingRule::AnyRows);
        term.root = rewrite_operator(own, outputs, &[], columns, rule);
    }
    wanted
}

/// Runs passes 0 to 5, which need no statistics. The rows for which the conditions `wanted` are
/// true suffice.
fn rewrite_operator(
    mut root: RelationalOperator,
    outputs: &[ColumnId],
    wanted: &[ScalarExpression],
    columns: &mut QueryColumns,
    rule: UnnestingRule,
) -> RelationalOperator {
    unread_parts::remove_unread_parts(&mut root, outputs);
    let mut root = merging::merge_columns(with_filter(root, wanted.to_vec()));
    if has_several_inputs(&root) {
        if has_fallible_dependent(&root) {
            root = placement::place_conditions(root);
        }
        unnesting::unnest(&mut root, columns, rule);
        if outer_joins::simplify_outer_joins(&mut root) {
            // Full joins have become such as nothing may be read of.
            unread_parts::remove_unread_parts(&mut root, outputs);
        }
        factoring::factor_conditions(&mut root);
        derivation::derive_conditions(&mut root);
    } else if !has_filter_above(&root) {
        return root;
    }
    placement::place_conditions(root)
}

/// Orders joins by the rows that are expected: passes 6 and 7.
fn order_operator(
    root: &mut RelationalOperator,
    columns: &mut QueryColumns,
    statistics: &dyn RelationStatistics,
) {
    if has_several_inputs(root) {
        let own = std::mem::replace(root, RelationalOperator::SingleRow);
        let own = reducers::place_reducers(own, columns, statistics);
        *root = join_order::order_joins(own, columns, statistics);
    }
}

fn has_several_inputs(operator: &RelationalOperator) -> bool {
    let mut inputs = operator.inputs();
    let Some(first) = inputs.next() else { return false };
    inputs.next().is_some() || has_several_inputs(first)
}

/// Whether the right side of a join has columns of the left one and may fail.
fn has_fallible_dependent(operator: &RelationalOperator) -> bool {
    let is_one = match operator {
        RelationalOperator::Join { right, .. } => {
            !query_never_fails(right) && !right.free_columns().is_empty()
        }
        _ => false,
    };
    is_one || operator.inputs().any(has_fallible_dependent)
}

/// Whether a condition stands above another operator than a relation.
fn has_filter_above(operator: &RelationalOperator) -> bool {
    let is_above = match operator {
        RelationalOperator::Filter { input, .. } => {
            !matches!(**input, RelationalOperator::Scan { .. })
        }
        _ => false,
    };
    is_above || operator.inputs().any(has_filter_above)
}
