//! Makes a plan with joins or set operations cheaper: the same outputs and the same bag of rows, by
//! passes in a fixed order, each run once.
//!
//! 0. [`unread_joins`] leaves out outer joins that nothing is read of; [`merging`] computes columns
//!    that may fail for fewer rows.
//! 1. [`unnesting`] makes dependent joins independent.
//! 2. [`outer_joins`] makes outer joins inner ones where a condition refuses the rows filled up.
//! 3. [`factoring`] takes what all branches of an OR share out of it.
//! 4. [`derivation`] adds conditions that follow from equalities, and from the branches of an OR.
//! 5. [`placement`] moves conditions down to the relations that they are about.
//! 6. [`reducers`] moves semi and anti joins to the inputs of which they leave few rows.
//! 7. [`join_order`] orders inner joins by [`estimate`]d rows, and gives each join its build side.
//!
//! Queries that are computed once ([`common`]) go first, so that what reads them knows their rows.
//! For EXPLAIN, [`RowEstimates`] says what was expected of each operator.
//!
//! # Invariants
//! 1. A plan without joins and set operations is returned unchanged, but for columns that may fail.
//! 2. A condition that may fail, that is volatile, or that has no columns never moves past a join:
//!    no row reaches it that did not in the query as it is written ([`crate::properties`]).
//!    Conjuncts are evaluated in order, each for rows for which the ones before it are true; of a
//!    join's condition fallible ones are the last.
//! 3. The right input of a join is the one to build a hash table of: the smaller one by estimate.
//! 4. The order of FROM has no influence on the order of inner joins.
//! # Source
//! Moerkotte, Neumann: "Analysis of two existing and one new dynamic programming algorithm", VLDB
//! 2006 (DPccp); Fegaras: "A new heuristic for optimizing large queries", DEXA 1998 (greedy).

mod common;
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
mod unread_joins;

pub use dependent_columns::determined_keys;
pub use row_estimates::RowEstimates;
pub use statistics::{ColumnStatistics, RelationStatistics};

use unnesting::UnnestingRule;

use crate::algebra::{CommonForm, QueryColumns, QueryPlan, RelationalOperator};

/// Returns a plan that computes the same and is expected to be cheaper.
pub fn optimize(plan: QueryPlan, statistics: &dyn RelationStatistics) -> QueryPlan {
    let QueryPlan { mut columns, mut common, mut root, outputs, parameters } = plan;
    let mut expected = Vec::with_capacity(common.len());
    for query in &mut common {
        let mut own = std::mem::replace(&mut query.root, RelationalOperator::SingleRow);
        common::set_expected_rows(&mut own, &expected);
        unread_joins::remove_unread_joins(&mut own, &query.outputs);
        let rule = match query.form {
            CommonForm::Call(_) => UnnestingRule::RowsAlone,
            _ => UnnestingRule::AnyRows,
        };
        query.root = optimize_operator(own, &mut columns, statistics, rule);
        expected.push(common::expected_rows(&query.root, &columns, statistics));
        if let Some(term) = query.form.term_mut() {
            let mut own = std::mem::replace(&mut term.root, RelationalOperator::SingleRow);
            common::set_expected_rows(&mut own, &expected);
            unread_joins::remove_unread_joins(&mut own, &term.outputs);
            term.root = optimize_operator(own, &mut columns, statistics, UnnestingRule::AnyRows);
        }
    }
    common::set_expected_rows(&mut root, &expected);
    let read: Vec<_> = outputs.iter().map(|output| output.column).collect();
    unread_joins::remove_unread_joins(&mut root, &read);
    let root = optimize_operator(root, &mut columns, statistics, UnnestingRule::AnyRows);
    QueryPlan { columns, common, root, outputs, parameters }
}

fn optimize_operator(
    root: RelationalOperator,
    columns: &mut QueryColumns,
    statistics: &dyn RelationStatistics,
    rule: UnnestingRule,
) -> RelationalOperator {
    let mut root = merging::merge_columns(root);
    if !has_several_inputs(&root) {
        return root;
    }
    unnesting::unnest(&mut root, columns, rule);
    outer_joins::simplify_outer_joins(&mut root);
    factoring::factor_conditions(&mut root);
    derivation::derive_conditions(&mut root);
    let root = placement::place_conditions(root);
    let root = reducers::place_reducers(root, columns, statistics);
    join_order::order_joins(root, columns, statistics)
}

fn has_several_inputs(operator: &RelationalOperator) -> bool {
    let inputs = operator.inputs();
    inputs.len() > 1 || inputs.into_iter().any(has_several_inputs)
}
