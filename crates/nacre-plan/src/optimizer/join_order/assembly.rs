//! Builds the joins of a region from steps, and gives each condition its join.

use std::collections::BTreeMap;

use nacre_syntax::SourceRange;
use nacre_types::SqlType;

use super::OrderedOperator;
use super::enumeration::JoinStep;
use super::query_graph::{GraphCondition, QueryGraph, is_hashable};
use crate::algebra::conjuncts::conjunction;
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::optimizer::equivalence::{EquivalenceMember, column_equality, equality_of};

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

/// Columns that are equal, as sets of them.
#[derive(Debug, Default)]
struct EqualMembers(BTreeMap<EquivalenceMember, EquivalenceMember>);

impl EqualMembers {
    /// Returns the one that stands for all that are equal to a member.
    fn first(&self, member: EquivalenceMember) -> EquivalenceMember {
        let mut first = member;
        while let Some(next) = self.0.get(&first) {
            first = *next;
        }
        first
    }

    fn are_equal(&self, [one, other]: [EquivalenceMember; 2]) -> bool {
        self.first(one) == self.first(other)
    }

    fn join(&mut self, [one, other]: [EquivalenceMember; 2]) {
        let (one, other) = (self.first(one), self.first(other));
        if one != other {
            self.0.insert(one.max(other), one.min(other));
        }
    }
}

/// Builds the joins of a region.
pub(super) struct RegionAssembly {
    graph: QueryGraph,
    /// Leaves, then joins; `None` once used as an input.
    nodes: Vec<Option<RelationalOperator>>,
    sets: Vec<LeafSet>,
    rows: Vec<f64>,
    /// For each node the classes of equal columns that it has columns of, and one of them: its
    /// place among the members.
    classes: Vec<BTreeMap<usize, usize>>,
    /// For each node the columns that its joins make equal.
    equal: Vec<Vec<[EquivalenceMember; 2]>>,
    /// Conditions that no join has yet.
    pending: Vec<GraphCondition>,
}

impl RegionAssembly {
    pub(super) fn new(mut graph: QueryGraph, nodes: Vec<Option<RelationalOperator>>) -> Self {
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
        Self { graph, nodes, sets, rows, classes, equal: vec![Vec::new(); count], pending }
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
        let (variant, left, right) = (JoinVariant::Inner, Box::new(left), Box::new(right));
        self.nodes.push(Some(RelationalOperator::Join { variant, left, right, condition }));
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
    /// columns, implied ones, then the rest.
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
        self.drop_known(&mut conditions, sides);
        conditions.extend(movable.into_iter().chain(fixed).map(|one| one.expression));
        conditions
    }

    /// Drops equalities of columns that others and the joins below imply: each would be a further
    /// key. Notes what the join makes equal.
    ///
    /// ```text
    /// (a join b on a.x = b.x) join c on c.x = a.x and c.x = b.x      c.x = a.x is enough
    /// ```
    fn drop_known(&mut self, conditions: &mut Vec<ScalarExpression>, sides: [usize; 2]) {
        let mut pairs: Vec<[EquivalenceMember; 2]> = Vec::new();
        for side in sides {
            pairs.append(&mut self.equal[side]);
        }
        let mut known = EqualMembers::default();
        pairs.iter().for_each(|pair| known.join(*pair));
        conditions.retain(|condition| {
            let Some(equality) = column_equality(condition) else { return true };
            let is_new = !known.are_equal(equality.members);
            if is_new {
                known.join(equality.members);
                pairs.push(equality.members);
            }
            is_new
        });
        self.equal.push(pairs);
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
