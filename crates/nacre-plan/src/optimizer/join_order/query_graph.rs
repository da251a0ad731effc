//! The query graph of a region of inner joins: leaves, and conditions over two or more of them.
//!
//! Leaves are joined by equalities: those between columns, where a class of
//! [`crate::optimizer::equivalence`] joins each two of its leaves, and those of expressions over
//! one leaf each. All other conditions (inequalities, those over three leaves) are edges only
//! between parts that no equality joins.
//!
//! # Invariants
//! 1. The estimated rows of a set of leaves depend on the set, not on how it was joined.

use std::collections::{BTreeMap, BTreeSet};

use crate::algebra::conjuncts::has_columns;
use crate::algebra::{ColumnId, ScalarExpression, ScalarKind};
use crate::optimizer::equivalence::{EquivalenceClass, equivalence_classes};
use crate::optimizer::estimate::{ROWS_MAX, bounded_rows};
use crate::optimizer::selectivity::ColumnProfiles;

/// Leaves of a class that are joined each with each; of more, only those of similar size are.
const CLIQUE_LEAVES_MAX: usize = 16;
/// Of two leaves that several equalities join, the one with most values counts in full and each
/// further one to this part of the one before it: columns that are joined together mostly depend on
/// each other, as the parts of a foreign key do.
const FURTHER_EQUALITY: f64 = 1.0 / 3.0;
/// How many of the next larger ones a leaf of a large class is joined with.
const SIMILAR_LEAVES: usize = 4;

/// A leaf of a region.
#[derive(Clone, Debug)]
pub(super) struct GraphLeaf {
    pub(super) rows: f64,
    /// The composite primary key of a relation, and its rows without conditions.
    pub(super) composite_key: Option<(Vec<ColumnId>, f64)>,
}

/// A condition over two or more leaves.
#[derive(Clone, Debug)]
pub(super) struct GraphCondition {
    pub(super) expression: ScalarExpression,
    /// The leaves that must be joined before it is evaluated, ascending.
    pub(super) needs: Vec<usize>,
    /// False for what stays above the join where it was written.
    pub(super) is_movable: bool,
}

/// A class of equal columns, by leaves.
#[derive(Clone, Debug)]
pub(super) struct GraphClass {
    pub(super) class: EquivalenceClass,
    /// Each leaf with its column of fewest values: how many, and its place among the members.
    pub(super) leaves: BTreeMap<usize, (f64, usize)>,
}

impl GraphClass {
    fn log_values(&self) -> Vec<(usize, f64)> {
        self.leaves.iter().map(|(leaf, (distinct, _))| (*leaf, distinct.ln())).collect()
    }
}

/// Two leaves that several classes join; by a composite key there is one row of the first for each
/// of the second.
#[derive(Clone, Debug)]
struct CompositeJoin {
    leaves: [usize; 2],
    classes: Vec<usize>,
    /// What the product of the classes' selectivities is too small by, as a logarithm.
    correction: f64,
}

/// What sets of leaves of one part are estimated by: what other parts add would be left out each
/// time.
pub(super) struct PartRows {
    log_rows: Vec<(u64, f64)>,
    log_values: Vec<Vec<(u64, f64)>>,
    composites: Vec<(u64, CompositeJoin)>,
    selectivities: Vec<(u64, f64)>,
}

/// Leaves and what joins them.
#[derive(Debug)]
pub(super) struct QueryGraph {
    pub(super) leaves: Vec<GraphLeaf>,
    pub(super) conditions: Vec<GraphCondition>,
    pub(super) classes: Vec<GraphClass>,
    /// For each leaf its neighbours by equalities.
    pub(super) neighbors: Vec<BTreeSet<usize>>,
    /// Logarithms of the selectivities of conditions that are of no class, with the leaves that
    /// they need.
    pub(super) other_selectivities: Vec<(Vec<usize>, f64)>,
    /// Logarithms of the rows of leaves, and by class of the values of its leaves: a set is
    /// estimated many thousand times.
    log_rows: Vec<f64>,
    log_values: Vec<Vec<(usize, f64)>>,
    composites: Vec<CompositeJoin>,
}

impl QueryGraph {
    /// Makes the graph of leaves in their final order; `leaf_of` says which one has a column.
    pub(super) fn new(
        leaves: Vec<GraphLeaf>,
        conditions: Vec<GraphCondition>,
        leaf_of: &dyn Fn(ColumnId) -> Option<usize>,
        profiles: &ColumnProfiles,
    ) -> Self {
        let movable = conditions.iter().filter(|one| one.is_movable);
        let classes = equivalence_classes(movable.map(|one| &one.expression));
        let classes = classes.into_iter().map(|class| {
            let mut own: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
            for (place, (member, _)) in class.members.iter().enumerate() {
                let Some(leaf) = leaf_of(member.column) else { continue };
                let distinct = profiles.get(member.column).map(|profile| profile.distinct);
                let distinct = distinct.unwrap_or(leaves[leaf].rows).max(1.0);
                let known = own.entry(leaf).or_insert((distinct, place));
                if distinct < known.0 {
                    *known = (distinct, place);
                }
            }
            GraphClass { class, leaves: own }
        });
        let mut classes: Vec<GraphClass> = classes.collect();
        // The order of conditions has no influence on sums of logarithms.
        classes.sort_by(|one, other| one.leaves.keys().cmp(other.leaves.keys()));
        let mut graph = Self {
            neighbors: vec![BTreeSet::new(); leaves.len()],
            other_selectivities: Vec::new(),
            log_rows: leaves.iter().map(|leaf| leaf.rows.ln()).collect(),
            log_values: classes.iter().map(GraphClass::log_values).collect(),
            composites: Vec::new(),
            leaves,
            conditions,
            classes,
        };
        graph.connect_classes();
        graph.connect_conditions(leaf_of, profiles);
        graph.find_composites(leaf_of);
        graph.find_shared_classes();
        graph
    }

    fn connect(&mut self, one: usize, other: usize) {
        self.neighbors[one].insert(other);
        self.neighbors[other].insert(one);
    }

    fn connect_classes(&mut self) {
        for index in 0..self.classes.len() {
            let mut own: Vec<usize> = self.classes[index].leaves.keys().copied().collect();
            let reach = if own.len() > CLIQUE_LEAVES_MAX { SIMILAR_LEAVES } else { own.len() };
            let rows = |leaf: &usize| self.leaves[*leaf].rows;
            own.sort_by(|one, other| rows(one).total_cmp(&rows(other)).then(one.cmp(other)));
            for (place, one) in own.iter().enumerate() {
                for other in own[place + 1..].iter().take(reach) {
                    self.connect(*one, *other);
                }
            }
        }
    }

    fn connect_conditions(
        &mut self,
        leaf_of: &dyn Fn(ColumnId) -> Option<usize>,
        profiles: &ColumnProfiles,
    ) {
        let mut edges = Vec::new();
        for condition in &self.conditions {
            if crate::optimizer::equivalence::column_equality(&condition.expression).is_some()
                && condition.is_movable
            {
                continue;
            }
            let selectivity = profiles.of(&condition.expression).ln();
            self.other_selectivities.push((condition.needs.clone(), selectivity));
            if let ([one, other], true) = (&condition.needs[..], condition.is_movable)
                && is_hashable(&condition.expression, leaf_of)
            {
                edges.push((*one, *other));
            }
        }
        self.other_selectivities
            .sort_by(|(one, first), (other, second)| one.cmp(other).then(first.total_cmp(second)));
        edges.into_iter().for_each(|(one, other)| self.connect(one, other));
    }

    fn find_composites(&mut self, leaf_of: &dyn Fn(ColumnId) -> Option<usize>) {
        let mut class_of: BTreeMap<ColumnId, usize> = BTreeMap::new();
        for (index, class) in self.classes.iter().enumerate() {
            class_of.extend(class.class.members.iter().map(|(member, _)| (member.column, index)));
        }
        for (leaf, own) in self.leaves.iter().enumerate() {
            let Some((key, rows)) = &own.composite_key else { continue };
            let classes: Option<Vec<usize>> =
                key.iter().map(|column| class_of.get(column).copied()).collect();
            let Some(mut classes) = classes else { continue };
            classes.sort_unstable();
            classes.dedup();
            let Some(first) = classes.first().map(|index| &self.classes[*index]) else { continue };
            for other in first.leaves.keys().filter(|other| **other != leaf) {
                let has_all = classes.iter().all(|index| {
                    let class = &self.classes[*index];
                    class.leaves.contains_key(other) && class.leaves.contains_key(&leaf)
                });
                let values: f64 = classes
                    .iter()
                    .map(|index| {
                        let class = &self.classes[*index];
                        let count = |leaf: &usize| class.leaves.get(leaf).map_or(1.0, |own| own.0);
                        count(&leaf).max(count(other)).ln()
                    })
                    .sum();
                let correction = values - rows.ln();
                let is_wanted = has_all && classes.len() > 1 && correction > 0.0;
                if is_wanted && leaf_of(key[0]) == Some(leaf) {
                    let leaves = [leaf, *other];
                    self.composites.push(CompositeJoin {
                        leaves,
                        classes: classes.clone(),
                        correction,
                    });
                }
            }
        }
    }

    /// Finds leaves without a composite key that several classes join.
    fn find_shared_classes(&mut self) {
        let mut shared: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
        for (index, class) in self.classes.iter().enumerate() {
            let own: Vec<usize> = class.leaves.keys().copied().collect();
            if own.len() > CLIQUE_LEAVES_MAX {
                continue;
            }
            for (place, one) in own.iter().enumerate() {
                for other in &own[place + 1..] {
                    shared.entry([*one, *other]).or_default().push(index);
                }
            }
        }
        shared.retain(|[one, other], classes| {
            let is_known = |known: &CompositeJoin| {
                known.leaves == [*one, *other] || known.leaves == [*other, *one]
            };
            classes.len() > 1 && !self.composites.iter().any(is_known)
        });
        for (leaves, classes) in shared {
            let values_of = |index: &usize| {
                let own = leaves.map(|leaf| self.classes[*index].leaves[&leaf].0);
                own[0].max(own[1]).ln()
            };
            let mut values: Vec<f64> = classes.iter().map(values_of).collect();
            values.sort_by(|one, other| other.total_cmp(one));
            let parts = std::iter::successors(Some(1.0), |part| Some(part * FURTHER_EQUALITY));
            let correction = values.iter().zip(parts).map(|(all, part)| all * (1.0 - part)).sum();
            self.composites.push(CompositeJoin { leaves, classes, correction });
        }
    }

    /// Returns the rows of a set of leaves, joined by all conditions over them.
    pub(super) fn rows_of(&self, set: &dyn Fn(usize) -> bool) -> f64 {
        let own = self.log_rows.iter().enumerate().filter(|(leaf, _)| set(*leaf));
        let mut total: f64 = own.map(|(_, rows)| rows).sum();
        for values in &self.log_values {
            let own = values.iter().filter(|(leaf, _)| set(*leaf));
            total -= class_divisor(own.map(|(_, values)| *values));
        }
        let mut corrected: Vec<&[usize]> = Vec::new();
        for composite in &self.composites {
            let is_new = !corrected.contains(&&composite.classes[..]);
            if is_new && composite.leaves.iter().all(|leaf| set(*leaf)) {
                total += composite.correction;
                corrected.push(&composite.classes);
            }
        }
        for (needs, selectivity) in &self.other_selectivities {
            if needs.iter().all(|leaf| set(*leaf)) {
                total += selectivity;
            }
        }
        bounded_rows(total.min(ROWS_MAX.ln()).exp())
    }

    /// Returns what sets of leaves of a part are estimated by; `bit_of` has the bit of each leaf in
    /// these sets, 0 for leaves of other parts.
    pub(super) fn part_rows(&self, bit_of: &[u64]) -> PartRows {
        let bits = |leaves: &[usize]| {
            let mut own = leaves.iter().map(|leaf| bit_of[*leaf]);
            own.try_fold(0, |all, bit| (bit != 0).then_some(all | bit))
        };
        let own_bits = |values: &Vec<(usize, f64)>| {
            let own = values.iter().map(|(leaf, value)| (bit_of[*leaf], *value));
            own.filter(|(bit, _)| *bit != 0).collect::<Vec<_>>()
        };
        let log_rows = self.log_rows.iter().enumerate().map(|(leaf, rows)| (bit_of[leaf], *rows));
        let composites = self.composites.iter();
        let selectivities = self.other_selectivities.iter();
        PartRows {
            log_rows: log_rows.filter(|(bit, _)| *bit != 0).collect(),
            log_values: self.log_values.iter().map(own_bits).filter(|own| own.len() > 1).collect(),
            composites: composites
                .filter_map(|one| Some((bits(&one.leaves)?, one.clone())))
                .collect(),
            selectivities: selectivities
                .filter_map(|(needs, selectivity)| Some((bits(needs)?, *selectivity)))
                .collect(),
        }
    }

    /// Returns the leaves in parts that equalities join, each ascending.
    pub(super) fn connected_parts(&self) -> Vec<Vec<usize>> {
        let mut part_of: Vec<Option<usize>> = vec![None; self.leaves.len()];
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for start in 0..self.leaves.len() {
            if part_of[start].is_some() {
                continue;
            }
            let (mut part, mut open) = (Vec::new(), vec![start]);
            part_of[start] = Some(parts.len());
            while let Some(leaf) = open.pop() {
                part.push(leaf);
                for next in &self.neighbors[leaf] {
                    if part_of[*next].is_none() {
                        part_of[*next] = Some(parts.len());
                        open.push(*next);
                    }
                }
            }
            part.sort_unstable();
            parts.push(part);
        }
        parts
    }
}

impl PartRows {
    /// Returns the rows of a set of leaves, joined by all conditions over them: as
    /// [`QueryGraph::rows_of`] does.
    pub(super) fn rows_of(&self, set: u64) -> f64 {
        let of_set = |own: &&(u64, f64)| own.0 & set != 0;
        let mut total: f64 = self.log_rows.iter().filter(of_set).map(|own| own.1).sum();
        for values in &self.log_values {
            total -= class_divisor(values.iter().filter(of_set).map(|own| own.1));
        }
        let mut corrected: Vec<&[usize]> = Vec::new();
        for (leaves, composite) in &self.composites {
            if leaves & !set == 0 && !corrected.contains(&&composite.classes[..]) {
                total += composite.correction;
                corrected.push(&composite.classes);
            }
        }
        let whole = self.selectivities.iter().filter(|(leaves, _)| leaves & !set == 0);
        whole.for_each(|(_, selectivity)| total += selectivity);
        bounded_rows(total.min(ROWS_MAX.ln()).exp())
    }
}

/// Returns the logarithm of what equalities divide the product of rows by: the values of all leaves
/// of a class but of the one with the fewest.
fn class_divisor(log_values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut least) = (0.0, f64::INFINITY);
    for values in log_values {
        sum += values;
        least = least.min(values);
    }
    if least.is_finite() { sum - least } else { 0.0 }
}

/// Whether a condition is an equality of two expressions, each over one leaf.
pub(super) fn is_hashable(
    condition: &ScalarExpression,
    leaf_of: &dyn Fn(ColumnId) -> Option<usize>,
) -> bool {
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return false };
    let sole_leaf = |one: &ScalarExpression| {
        let leaves: BTreeSet<Option<usize>> =
            crate::algebra::conjuncts::columns_of(one).into_iter().map(leaf_of).collect();
        if leaves.len() == 1 { leaves.first().copied().flatten() } else { None }
    };
    match &operands[..] {
        [left, right] if operator.name == "=" && has_columns(left) && has_columns(right) => {
            match (sole_leaf(left), sole_leaf(right)) {
                (Some(left), Some(right)) => left != right,
                _ => false,
            }
        }
        _ => false,
    }
}
