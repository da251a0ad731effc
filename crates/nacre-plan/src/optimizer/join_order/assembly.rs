//! Builds the joins of a region from steps, and gives each condition its join.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use nacre_syntax::SourceRange;
use nacre_types::SqlType;

use super::OrderedOperator;
use super::enumeration::JoinStep;
use super::needs::LeafNeeds;
use super::query_graph::{GraphCondition, QueryGraph, is_hashable};
use crate::algebra::conjuncts::conjunction;
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::optimizer::equivalence::{EquivalenceMember, column_equality, equality_of};
use crate::properties::constant_of;

/// Columns that joins make equal, as sets of them. Joins below different ones have no columns in
/// common, so that one table serves all.
#[derive(Debug, Default)]
struct EqualMembers(HashMap<EquivalenceMember, EquivalenceMember>);

impl EqualMembers {
    /// Returns the one that stands for all that are equal to a member.
    fn first(&mut self, mut member: EquivalenceMember) -> EquivalenceMember {
        while let Some(next) = self.0.get(&member).copied() {
            if let Some(after) = self.0.get(&next).copied() {
                self.0.insert(member, after);
            }
            member = next;
        }
        member
    }

    /// Makes two members equal, unless they are.
    fn join(&mut self, [one, other]: [EquivalenceMember; 2]) -> bool {
        let (one, other) = (self.first(one), self.first(other));
        if one != other {
            self.0.insert(one.max(other), one.min(other));
        }
        one != other
    }
}

/// Builds the joins of a region.
pub(super) struct RegionAssembly {
    graph: QueryGraph,
    /// Leaves, then joins; `None` once used as an input.
    nodes: Vec<Option<RelationalOperator>>,
    /// For each node its first leaf.
    first_leaves: Vec<usize>,
    rows: Vec<f64>,
    /// For each node the classes of equal columns that it has columns of, and one of them: its
    /// place among the members.
    classes: Vec<BTreeMap<usize, usize>>,
    /// The class of a member; of several the first.
    class_of: HashMap<EquivalenceMember, usize>,
    equal: EqualMembers,
    /// Conditions; `None` once a join has them.
    pending: Vec<Option<GraphCondition>>,
    needs: LeafNeeds,
}

impl RegionAssembly {
    pub(super) fn new(mut graph: QueryGraph, nodes: Vec<Option<RelationalOperator>>) -> Self {
        let count = nodes.len();
        let rows = graph.leaves.iter().map(|leaf| leaf.rows).collect();
        let (mut classes, mut class_of) = (vec![BTreeMap::new(); count], HashMap::new());
        for (index, class) in graph.classes.iter().enumerate() {
            for (leaf, (_, place)) in &class.leaves {
                classes[*leaf].insert(index, *place);
            }
            class_of.extend(class.class.members.iter().map(|(member, _)| (*member, index)));
        }
        let sets = graph.conditions.iter().map(|condition| &condition.needs[..]);
        let needs = LeafNeeds::new(sets, &Some, count);
        let pending = std::mem::take(&mut graph.conditions).into_iter().map(Some).collect();
        let (first_leaves, equal) = ((0..count).collect(), EqualMembers::default());
        Self { graph, nodes, first_leaves, rows, classes, class_of, equal, pending, needs }
    }

    pub(super) fn assemble(
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
        let conditions = self.conditions_of_join(sides, leaf_of);
        // Of two of the same size, the one with the first leaf is on the left.
        let first = |side: usize| self.first_leaves[side];
        let is_exchanged = match self.rows[step.left].total_cmp(&self.rows[step.right]) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => first(step.left) > first(step.right),
            std::cmp::Ordering::Greater => false,
        };
        let (left, right) = if is_exchanged { (other, one) } else { (one, other) };
        let condition = conjunction(conditions);
        let (variant, left, right) = (JoinVariant::Inner, Box::new(left), Box::new(right));
        self.nodes.push(Some(RelationalOperator::Join { variant, left, right, condition }));
        self.first_leaves.push(self.first_leaves[step.left].min(self.first_leaves[step.right]));
        self.rows.push(step.rows);
        let [one, other] = sides.map(|side| std::mem::take(&mut self.classes[side]));
        let (mut classes, few) = if one.len() < other.len() { (other, one) } else { (one, other) };
        for (class, place) in few {
            classes.entry(class).or_insert(place);
        }
        self.classes.push(classes);
    }

    /// Returns the conditions that a join is the first to have all leaves of: equalities of
    /// columns, implied ones, then the rest.
    fn conditions_of_join(
        &mut self,
        sides: [usize; 2],
        leaf_of: &dyn Fn(ColumnId) -> Option<usize>,
    ) -> Vec<ScalarExpression> {
        let whole = self.needs.join(sides).whole;
        let ready = whole.into_iter().filter_map(|index| self.pending[index].take());
        let is_equality = |one: &GraphCondition| {
            let is_one = column_equality(&one.expression).is_some();
            one.is_movable && (is_one || is_hashable(&one.expression, leaf_of))
        };
        let (equalities, others): (Vec<_>, Vec<_>) = ready.partition(is_equality);
        let is_early =
            |one: &GraphCondition| one.is_movable || constant_of(&one.expression).is_some();
        let (early, late): (Vec<_>, Vec<_>) = others.into_iter().partition(is_early);
        let mut conditions: Vec<ScalarExpression> =
            equalities.into_iter().map(|one| one.expression).collect();
        let implied = self.implied_equalities(&conditions, sides);
        conditions.extend(implied);
        self.drop_known(&mut conditions);
        conditions.extend(early.into_iter().chain(late).map(|one| one.expression));
        conditions
    }

    /// Drops equalities of columns that others and the joins below imply: each would be a further
    /// key. Notes what the join makes equal.
    ///
    /// ```text
    /// (a join b on a.x = b.x) join c on c.x = a.x and c.x = b.x      c.x = a.x is enough
    /// ```
    fn drop_known(&mut self, conditions: &mut Vec<ScalarExpression>) {
        conditions.retain(|condition| match column_equality(condition) {
            Some(equality) => self.equal.join(equality.members),
            None => true,
        });
    }

    /// Returns an equality of each class that both sides have columns of and no condition is about.
    fn implied_equalities(
        &self,
        conditions: &[ScalarExpression],
        sides: [usize; 2],
    ) -> Vec<ScalarExpression> {
        let mut implied = Vec::new();
        let stated = conditions.iter().filter_map(column_equality);
        let stated: BTreeSet<usize> = stated
            .filter_map(|equality| self.class_of.get(&equality.members[0]).copied())
            .collect();
        let [one, other] = sides.map(|side| &self.classes[side]);
        let is_one_smaller = one.len() <= other.len();
        for index in if is_one_smaller { one.keys() } else { other.keys() } {
            let (Some(left), Some(right)) = (one.get(index), other.get(index)) else { continue };
            let members = &self.graph.classes[*index].class.members;
            if stated.contains(index) {
                continue;
            }
            let (Some((member, left)), Some((_, right))) =
                (members.get(*left), members.get(*right))
            else {
                continue;
            };
            let Some(operator) = equality_of(member.compared_as) else { continue };
            // Of other precisions it may be more than the executor compares.
            if left.sql_type != right.sql_type {
                continue;
            }
            let operands = vec![left.clone(), right.clone()];
            let kind = ScalarKind::Operator { operator, operands };
            implied.push(ScalarExpression::new(kind, SqlType::BOOLEAN, SourceRange::default()));
        }
        implied
    }
}
