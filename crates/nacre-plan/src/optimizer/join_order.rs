//! Orders the inner joins of a plan.
//!
//! 1. Inner joins below each other are a region; what they join are its leaves, ordered first.
//! 2. Leaves get an order that does not depend on FROM ([`super::leaf_order`]).
//! 3. Parts of the [`QueryGraph`] that equalities connect are ordered exactly
//!    ([`super::enumeration`]), or greedily if they have too many trees ([`super::greedy`]).
//! 4. Parts are joined by other conditions, the smallest first, and by cross products at last.
//! 5. Each condition goes to the lowest join that has all its columns, equalities first.
//!
//! The right side of each join, also of outer ones, is the one of fewer rows.

use std::collections::BTreeMap;

use nacre_syntax::SourceRange;
use nacre_types::SqlType;

use super::conjuncts::{columns_of, conjunction, split_conjunction};
use super::enumeration::{JoinStep, cheapest_steps};
use super::equivalence::{column_equality, equality_of};
use super::estimate::RowEstimator;
use super::fallibility::may_move;
use super::greedy::GreedyOrdering;
use super::leaf_order::{leaf_label, ordered_leaves};
use super::query_graph::{GraphCondition, GraphLeaf, QueryGraph, is_hashable};
use super::statistics::RelationStatistics;
use crate::algebra::{
    ColumnId, JoinVariant, QueryColumns, RelationalOperator, ScalarExpression, ScalarKind,
};

/// Orders the joins of a plan.
pub(super) fn order_joins(
    root: RelationalOperator,
    columns: &QueryColumns,
    statistics: &dyn RelationStatistics,
) -> RelationalOperator {
    let estimator = RowEstimator::new(columns, statistics);
    JoinOrderPass { estimator, columns }.order(root).operator
}

struct JoinOrderPass<'s> {
    estimator: RowEstimator<'s>,
    columns: &'s QueryColumns,
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

impl JoinOrderPass<'_> {
    fn order(&mut self, operator: RelationalOperator) -> OrderedOperator {
        match operator {
            RelationalOperator::Join { variant: JoinVariant::Inner, .. } => {
                let mut parts = JoinRegionParts::default();
                parts.take_apart(operator);
                self.order_region(parts)
            }
            RelationalOperator::Join { variant, left, right, condition } => {
                let (left, right) = (self.order(*left), self.order(*right));
                let operator = oriented(variant, left.operator, right.operator, condition);
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
        let steps = join_steps(&graph);
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
                let own = own.into_iter();
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

fn add_columns(
    operator: &RelationalOperator,
    leaf: usize,
    leaf_of: &mut BTreeMap<ColumnId, usize>,
) {
    leaf_of.extend(operator.own_columns().into_iter().map(|column| (column, leaf)));
    operator.inputs().into_iter().for_each(|input| add_columns(input, leaf, leaf_of));
}

/// Returns the joins of all leaves of a graph, inputs first.
fn join_steps(graph: &QueryGraph) -> Vec<JoinStep> {
    let count = graph.leaves.len();
    let mut steps: Vec<JoinStep> = Vec::new();
    let mut parts = Vec::new();
    for part in graph.connected_parts() {
        let next = count + steps.len();
        let own = match &part[..] {
            [_] => Vec::new(),
            _ => cheapest_steps(graph, &part, next).unwrap_or_else(|| {
                let alone: Vec<_> = part.iter().map(|leaf| (*leaf, vec![*leaf])).collect();
                let mut greedy = GreedyOrdering::new(graph, &alone, next);
                greedy.join_connected();
                greedy.into_steps()
            }),
        };
        steps.extend(own);
        let node = if part.len() > 1 { count + steps.len() - 1 } else { part[0] };
        parts.push((node, part));
    }
    let mut greedy = GreedyOrdering::new(graph, &parts, count + steps.len());
    greedy.join_all();
    steps.extend(greedy.into_steps());
    steps
}

/// A set of leaves of any number.
#[derive(Clone, Debug)]
struct LeafSet(Vec<u64>);

impl LeafSet {
    fn of_leaf(leaf: usize, count: usize) -> Self {
        let mut words = vec![0; count.div_ceil(64)];
        words[leaf / 64] |= 1 << (leaf % 64);
        Self(words)
    }

    fn union(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| one | other).collect())
    }

    fn contains(&self, leaf: usize) -> bool {
        self.0[leaf / 64] >> (leaf % 64) & 1 != 0
    }
}

/// Builds the joins of a region.
struct RegionAssembly {
    graph: QueryGraph,
    /// Leaves, then joins; `None` for those that are an input already.
    nodes: Vec<Option<RelationalOperator>>,
    sets: Vec<LeafSet>,
    rows: Vec<f64>,
    /// For each node the classes of equal columns that it has columns of, and one of them: its
    /// place among the members.
    classes: Vec<BTreeMap<usize, usize>>,
    /// Conditions that no join has yet.
    pending: Vec<GraphCondition>,
}

impl RegionAssembly {
    fn new(mut graph: QueryGraph, nodes: Vec<Option<RelationalOperator>>) -> Self {
        let count = nodes.len();
        let sets = (0..count).map(|leaf| LeafSet::of_leaf(leaf, count)).collect();
        let rows = graph.leaves.iter().map(|leaf| leaf.rows).collect();
        let mut classes = vec![BTreeMap::new(); count];
        for (index, class) in graph.classes.iter().enumerate() {
            for (leaf, (_, place)) in &class.leaves {
                classes[*leaf].insert(index, *place);
            }
        }
        let pending = std::mem::take(&mut graph.conditions);
        Self { graph, nodes, sets, rows, classes, pending }
    }

    fn assemble(
        mut self,
        steps: &[JoinStep],
        leaf_of: &dyn Fn(ColumnId) -> Option<usize>,
    ) -> OrderedOperator {
        for step in steps {
            self.add_join(*step, leaf_of);
        }
        let operator = self.nodes.pop().flatten().unwrap_or(RelationalOperator::SingleRow);
        OrderedOperator { operator, rows: self.rows.last().copied().unwrap_or(1.0) }
    }

    fn add_join(&mut self, step: JoinStep, leaf_of: &dyn Fn(ColumnId) -> Option<usize>) {
        let sides = [step.left, step.right];
        let (Some(one), Some(other)) =
            (self.nodes[step.left].take(), self.nodes[step.right].take())
        else {
            return;
        };
        let set = self.sets[step.left].union(&self.sets[step.right]);
        let rows = step.rows;
        let conditions = self.conditions_of_join(&set, sides, leaf_of);
        // Of two of the same size, the one with the first leaf is on the left.
        let first =
            |side: usize| (0..self.graph.leaves.len()).find(|leaf| self.sets[side].contains(*leaf));
        let is_exchanged = match self.rows[step.left].total_cmp(&self.rows[step.right]) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => first(step.left) > first(step.right),
            std::cmp::Ordering::Greater => false,
        };
        let (left, right) = if is_exchanged { (other, one) } else { (one, other) };
        let condition = conjunction(conditions);
        self.nodes.push(Some(oriented(JoinVariant::Inner, left, right, condition)));
        self.sets.push(set);
        self.rows.push(rows);
        let [one, other] = sides.map(|side| std::mem::take(&mut self.classes[side]));
        let (mut classes, few) = if one.len() < other.len() { (other, one) } else { (one, other) };
        for (class, place) in few {
            classes.entry(class).or_insert(place);
        }
        self.classes.push(classes);
    }

    /// Returns the conditions that a join is the first to have all leaves of: equalities of
    /// columns, those that follow from others, then the rest.
    fn conditions_of_join(
        &mut self,
        set: &LeafSet,
        sides: [usize; 2],
        leaf_of: &dyn Fn(ColumnId) -> Option<usize>,
    ) -> Vec<ScalarExpression> {
        let pending = std::mem::take(&mut self.pending);
        let is_ready = |one: &GraphCondition| one.needs.iter().all(|leaf| set.contains(*leaf));
        let (ready, pending): (Vec<_>, Vec<_>) = pending.into_iter().partition(is_ready);
        self.pending = pending;
        let is_equality = |one: &GraphCondition| {
            let is_one = column_equality(&one.expression).is_some();
            one.is_movable && (is_one || is_hashable(&one.expression, leaf_of))
        };
        let (equalities, others): (Vec<_>, Vec<_>) = ready.into_iter().partition(is_equality);
        let (movable, fixed): (Vec<_>, Vec<_>) = others.into_iter().partition(|one| one.is_movable);
        let mut conditions: Vec<ScalarExpression> =
            equalities.into_iter().map(|one| one.expression).collect();
        let implied = self.implied_equalities(&conditions, sides);
        conditions.extend(implied);
        conditions.extend(movable.into_iter().chain(fixed).map(|one| one.expression));
        conditions
    }

    /// Returns an equality of each class that both sides have columns of and no condition is about.
    fn implied_equalities(
        &self,
        conditions: &[ScalarExpression],
        sides: [usize; 2],
    ) -> Vec<ScalarExpression> {
        let mut implied = Vec::new();
        let stated: Vec<_> = conditions.iter().filter_map(column_equality).collect();
        let [one, other] = sides.map(|side| &self.classes[side]);
        let is_one_smaller = one.len() <= other.len();
        for index in if is_one_smaller { one.keys() } else { other.keys() } {
            let (Some(left), Some(right)) = (one.get(index), other.get(index)) else { continue };
            let members = &self.graph.classes[*index].class.members;
            let is_of_class = |member| members.iter().any(|(own, _)| *own == member);
            if stated.iter().any(|equality| is_of_class(equality.members[0])) {
                continue;
            }
            let (Some((member, left)), Some((_, right))) =
                (members.get(*left), members.get(*right))
            else {
                continue;
            };
            let Some(operator) = equality_of(member.compared_as) else { continue };
            let operands = vec![left.clone(), right.clone()];
            let kind = ScalarKind::Operator { operator, operands };
            implied.push(ScalarExpression::new(kind, SqlType::BOOLEAN, SourceRange::default()));
        }
        implied
    }
}

fn oriented(
    variant: JoinVariant,
    left: RelationalOperator,
    right: RelationalOperator,
    condition: Option<ScalarExpression>,
) -> RelationalOperator {
    RelationalOperator::Join { variant, left: Box::new(left), right: Box::new(right), condition }
}

/// Returns a join of the same rows with its sides exchanged.
fn exchanged(operator: RelationalOperator) -> RelationalOperator {
    match operator {
        RelationalOperator::Join { variant, left, right, condition } => {
            let variant = match variant {
                JoinVariant::Left => JoinVariant::Right,
                JoinVariant::Right => JoinVariant::Left,
                JoinVariant::Inner | JoinVariant::Full => variant,
            };
            RelationalOperator::Join { variant, left: right, right: left, condition }
        }
        other => other,
    }
}
