//! Orders the inner joins of a plan.
//!
//! 1. Inner joins below each other are a region; what they join are its leaves, ordered first.
//! 2. Leaves get an order that does not depend on FROM ([`leaf_order`]).
//! 3. Parts of the [`QueryGraph`] that equalities connect are ordered exactly
//!    ([`enumeration`]), or greedily if they have too many trees ([`greedy`]).
//! 4. Parts are joined by other conditions, the smallest first, and by cross products at last.
//! 5. Each condition goes to the lowest join that has all its columns, equalities first.
//!
//! The right side of each join, also of outer ones, is the one of fewer rows.

mod assembly;
mod enumeration;
mod estimation;
mod greedy;
mod leaf_order;
mod needs;
mod query_graph;

use std::collections::BTreeMap;

use nacre_types::SqlValue;

use super::estimate::RowEstimator;
use super::statistics::RelationStatistics;
use crate::algebra::conjuncts::{columns_of, split_conjunction};
use crate::algebra::{
    ColumnId, ConstantValue, JoinVariant, QueryColumns, RelationalOperator, ScalarExpression,
    ScalarKind,
};
use crate::control;
use crate::properties::may_move;
use assembly::RegionAssembly;
use enumeration::{JoinStep, PAIRS_OF_PLAN_MAX, cheapest_steps};
use greedy::GreedyOrdering;
use leaf_order::{leaf_label, ordered_leaves};
use query_graph::{GraphCondition, GraphLeaf, QueryGraph};

/// Orders the joins of a plan.
pub(super) fn order_joins(
    root: RelationalOperator,
    columns: &QueryColumns,
    statistics: &dyn RelationStatistics,
) -> RelationalOperator {
    JoinOrderPass::new(columns, statistics).order(root).operator
}

/// Orders the joins of a plan, or estimates those of an ordered one.
pub(super) struct JoinOrderPass<'s> {
    estimator: RowEstimator<'s>,
    columns: &'s QueryColumns,
    /// Pairs of sets of leaves that may yet be enumerated.
    pairs_left: usize,
}

/// An operator that is ordered, and how many rows it is expected to have.
struct OrderedOperator {
    operator: RelationalOperator,
    rows: f64,
}

/// What a region of inner joins is made of, as it is written.
#[derive(Default)]
struct JoinRegionParts {
    leaves: Vec<RelationalOperator>,
    conditions: Vec<RegionCondition>,
}

struct RegionCondition {
    expression: ScalarExpression,
    /// The leaves below the join where it was written.
    scope: std::ops::Range<usize>,
}

impl<'s> JoinOrderPass<'s> {
    pub(super) fn new(columns: &'s QueryColumns, statistics: &'s dyn RelationStatistics) -> Self {
        let estimator = RowEstimator::new(columns, statistics);
        Self { estimator, columns, pairs_left: PAIRS_OF_PLAN_MAX }
    }

    fn order(&mut self, operator: RelationalOperator) -> OrderedOperator {
        if control::is_stopped() {
            return OrderedOperator { operator, rows: 1.0 };
        }
        match operator {
            RelationalOperator::Join { variant: JoinVariant::Inner, .. } => {
                let mut parts = JoinRegionParts::default();
                parts.take_apart(operator);
                self.order_region(parts)
            }
            RelationalOperator::Join { variant, left, right, condition } => {
                let (left, right) = (self.order(*left), self.order(*right));
                let (own, other) = (Box::new(left.operator), Box::new(right.operator));
                let operator =
                    RelationalOperator::Join { variant, left: own, right: other, condition };
                let rows = self.estimator.rows(&operator, &[left.rows, right.rows]);
                let operator = if left.rows < right.rows { exchanged(operator) } else { operator };
                OrderedOperator { operator, rows }
            }
            mut other => {
                let mut rows = Vec::new();
                for input in other.inputs_mut() {
                    let own = std::mem::replace(input, RelationalOperator::SingleRow);
                    let ordered = self.order(own);
                    *input = ordered.operator;
                    rows.push(ordered.rows);
                }
                let rows = self.estimator.rows(&other, &rows);
                OrderedOperator { operator: other, rows }
            }
        }
    }

    fn order_region(&mut self, parts: JoinRegionParts) -> OrderedOperator {
        let JoinRegionParts { leaves, conditions } = parts;
        let mut written_leaf_of = BTreeMap::new();
        for (leaf, operator) in leaves.iter().enumerate() {
            add_columns(operator, leaf, &mut written_leaf_of);
        }
        let conditions: Vec<GraphCondition> =
            conditions.into_iter().map(|one| one.with_needs(&written_leaf_of)).collect();
        let labels: Vec<_> = leaves.iter().map(|leaf| leaf_label(leaf, self.columns)).collect();
        let order = ordered_leaves(&labels, &conditions, &written_leaf_of, self.columns);
        let mut place_of = vec![0; order.len()];
        for (place, leaf) in order.iter().enumerate() {
            place_of[*leaf] = place;
        }
        let leaf_of: BTreeMap<ColumnId, usize> =
            written_leaf_of.into_iter().map(|(column, leaf)| (column, place_of[leaf])).collect();
        let conditions = conditions.into_iter().map(|mut condition| {
            condition.needs.iter_mut().for_each(|leaf| *leaf = place_of[*leaf]);
            condition.needs.sort_unstable();
            condition
        });
        let mut conditions: Vec<GraphCondition> = conditions.collect();
        // Those of the same leaves keep the order in which they are written.
        conditions.sort_by(|one, other| one.needs.cmp(&other.needs));
        let mut open: Vec<Option<RelationalOperator>> = leaves.into_iter().map(Some).collect();
        let (mut nodes, mut graph_leaves) = (Vec::new(), Vec::new());
        for leaf in order {
            let Some(operator) = open[leaf].take() else { continue };
            let ordered = self.order(operator);
            let composite_key = self.composite_key(&ordered.operator);
            graph_leaves.push(GraphLeaf { rows: ordered.rows, composite_key });
            nodes.push(Some(ordered.operator));
        }
        let find_leaf = |column: ColumnId| leaf_of.get(&column).copied();
        let graph =
            QueryGraph::new(graph_leaves, conditions, &find_leaf, self.estimator.profiles());
        let steps = join_steps(&graph, &mut self.pairs_left);
        if control::is_stopped() {
            // There may be joins without steps.
            return OrderedOperator { operator: RelationalOperator::SingleRow, rows: 1.0 };
        }
        RegionAssembly::new(graph, nodes).assemble(&steps, &find_leaf)
    }

    /// Returns the columns of a composite primary key, and the rows of its relation.
    fn composite_key(&self, leaf: &RelationalOperator) -> Option<(Vec<ColumnId>, f64)> {
        match leaf {
            RelationalOperator::Scan { relation, columns } if relation.primary_key.len() > 1 => {
                let column_at = |position: &usize| {
                    let scanned = columns.iter().find(|one| one.position == *position);
                    scanned.map(|one| one.column)
                };
                let key: Option<Vec<_>> = relation.primary_key.iter().map(column_at).collect();
                key.map(|key| (key, self.estimator.relation_rows(relation)))
            }
            RelationalOperator::Filter { input, .. } => self.composite_key(input),
            _ => None,
        }
    }
}

impl JoinRegionParts {
    fn take_apart(&mut self, operator: RelationalOperator) {
        match operator {
            RelationalOperator::Join { variant: JoinVariant::Inner, left, right, condition } => {
                let start = self.leaves.len();
                self.take_apart(*left);
                self.take_apart(*right);
                let mut own = Vec::new();
                condition.into_iter().for_each(|one| split_conjunction(one, &mut own));
                let scope = start..self.leaves.len();
                let own = own.into_iter().filter(|one| !is_always_true(one));
                self.conditions.extend(
                    own.map(|expression| RegionCondition { expression, scope: scope.clone() }),
                );
            }
            leaf => self.leaves.push(leaf),
        }
    }
}

impl RegionCondition {
    fn with_needs(self, leaf_of: &BTreeMap<ColumnId, usize>) -> GraphCondition {
        let Self { expression, scope } = self;
        let is_movable = may_move(&expression);
        let mut needs: Vec<usize> = if is_movable {
            columns_of(&expression).iter().filter_map(|own| leaf_of.get(own)).copied().collect()
        } else {
            scope.clone().collect()
        };
        needs.sort_unstable();
        needs.dedup();
        if needs.len() < 2 {
            needs = scope.collect();
        }
        GraphCondition { expression, needs, is_movable }
    }
}

/// Whether it is the condition of `ON true`.
fn is_always_true(condition: &ScalarExpression) -> bool {
    matches!(condition.kind, ScalarKind::Constant(ConstantValue(SqlValue::Boolean(true))))
}

fn add_columns(
    operator: &RelationalOperator,
    leaf: usize,
    leaf_of: &mut BTreeMap<ColumnId, usize>,
) {
    leaf_of.extend(operator.own_columns().into_iter().map(|column| (column, leaf)));
    operator.inputs().for_each(|input| add_columns(input, leaf, leaf_of));
}

/// Returns the joins of all leaves of a graph, inputs first.
fn join_steps(graph: &QueryGraph, pairs_left: &mut usize) -> Vec<JoinStep> {
    let count = graph.leaves.len();
    let mut steps: Vec<JoinStep> = Vec::new();
    let mut parts = Vec::new();
    for part in graph.connected_parts() {
        let next = count + steps.len();
        let own = match &part[..] {
            [_] => Vec::new(),
            _ => cheapest_steps(graph, &part, next, pairs_left).unwrap_or_else(|| {
                let alone: Vec<_> = part.iter().map(|leaf| (*leaf, vec![*leaf])).collect();
                let mut greedy = GreedyOrdering::new(graph, &alone, next);
                greedy.join_connected();
                greedy.into_steps()
            }),
        };
        steps.extend(own);
        if control::is_stopped() {
            return steps;
        }
        let node = if part.len() > 1 { count + steps.len() - 1 } else { part[0] };
        parts.push((node, part));
    }
    let mut greedy = GreedyOrdering::new(graph, &parts, count + steps.len());
    greedy.join_all();
    steps.extend(greedy.into_steps());
    steps
}

/// Returns a join of the same rows with its sides exchanged.
fn exchanged(operator: RelationalOperator) -> RelationalOperator {
    match operator {
        RelationalOperator::Join { variant, left, right, condition } => {
            let variant = match variant {
                JoinVariant::Left => JoinVariant::Right,
                JoinVariant::Right => JoinVariant::Left,
                JoinVariant::Inner | JoinVariant::Full => variant,
                // Their right side is the one that is looked into.
                JoinVariant::Semi
                | JoinVariant::Anti
                | JoinVariant::Single
                | JoinVariant::Mark(_) => {
                    return RelationalOperator::Join { variant, left, right, condition };
                }
            };
            RelationalOperator::Join { variant, left: right, right: left, condition }
        }
        other => other,
    }
}
