//! Greedy ordering of joins: of all pairs that an equality joins, the one with the fewest rows is
//! joined next (greedy operator ordering). For what has too many trees to try all, and for parts
//! that no equality joins.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::enumeration::JoinStep;
use super::query_graph::QueryGraph;
use crate::optimizer::estimate::bounded_rows;

/// Leaves that are joined already.
#[derive(Clone, Debug)]
struct GreedyUnit {
    /// The number of its node.
    node: usize,
    rows: f64,
    leaves: Vec<usize>,
    neighbors: BTreeSet<usize>,
    /// Classes of equal columns that it has columns of, with the fewest values of one.
    classes: BTreeMap<usize, f64>,
}

/// Two units that may be joined; the greatest is the one to join next.
#[derive(Clone, Copy, Debug)]
struct CandidateJoin {
    rows: f64,
    units: [usize; 2],
}

impl Ord for CandidateJoin {
    fn cmp(&self, other: &Self) -> Ordering {
        other.rows.total_cmp(&self.rows).then_with(|| other.units.cmp(&self.units))
    }
}

impl PartialOrd for CandidateJoin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for CandidateJoin {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for CandidateJoin {}

/// Units of a graph, joined step by step.
pub(super) struct GreedyOrdering<'g> {
    graph: &'g QueryGraph,
    /// `None` once joined into another unit.
    units: Vec<Option<GreedyUnit>>,
    /// The unit that a leaf is in.
    unit_of: Vec<Option<usize>>,
    steps: Vec<JoinStep>,
    next: usize,
}

impl<'g> GreedyOrdering<'g> {
    /// Begins with parts that are joined already: the number of the node of each, and its leaves.
    /// Steps get numbers from `next` on.
    pub(super) fn new(graph: &'g QueryGraph, parts: &[(usize, Vec<usize>)], next: usize) -> Self {
        let mut unit_of = vec![None; graph.leaves.len()];
        for (index, (_, leaves)) in parts.iter().enumerate() {
            leaves.iter().for_each(|leaf| unit_of[*leaf] = Some(index));
        }
        let unit = |(index, (node, leaves)): (usize, &(usize, Vec<usize>))| {
            let around = leaves.iter().flat_map(|leaf| &graph.neighbors[*leaf]);
            let neighbors = around.filter_map(|leaf| unit_of[*leaf]).filter(|one| *one != index);
            let rows = match &leaves[..] {
                [leaf] => graph.leaves[*leaf].rows,
                _ => graph.rows_of(&|leaf| leaves.binary_search(&leaf).is_ok()),
            };
            Some(GreedyUnit {
                node: *node,
                rows,
                leaves: leaves.clone(),
                neighbors: neighbors.collect(),
                classes: BTreeMap::new(),
            })
        };
        let mut units: Vec<Option<GreedyUnit>> = parts.iter().enumerate().map(unit).collect();
        for (class, own) in graph.classes.iter().enumerate() {
            for (leaf, (distinct, _)) in &own.leaves {
                if let Some(unit) = unit_of[*leaf].and_then(|unit| units[unit].as_mut()) {
                    let least = unit.classes.entry(class).or_insert(*distinct);
                    *least = least.min(*distinct);
                }
            }
        }
        Self { graph, units, unit_of, steps: Vec::new(), next }
    }

    /// Joins units as long as equalities join them.
    pub(super) fn join_connected(&mut self) {
        let mut candidates = BinaryHeap::new();
        for unit in 0..self.units.len() {
            self.add_candidates(unit, &mut candidates, |other| unit < other);
        }
        while let Some(CandidateJoin { units, .. }) = candidates.pop() {
            if let Some(joined) = self.join(units) {
                self.add_candidates(joined, &mut candidates, |_| true);
            }
        }
    }

    /// Joins all units: first by conditions other than equalities, then the smallest.
    pub(super) fn join_all(&mut self) {
        while let Some(units) = self.pair_of_condition().or_else(|| self.smallest_pair()) {
            if self.join(units).is_none() {
                return;
            }
        }
    }

    /// Returns the steps.
    pub(super) fn into_steps(self) -> Vec<JoinStep> {
        self.steps
    }

    fn unit(&self, index: usize) -> Option<&GreedyUnit> {
        self.units.get(index).and_then(Option::as_ref)
    }

    fn add_candidates(
        &self,
        index: usize,
        candidates: &mut BinaryHeap<CandidateJoin>,
        is_wanted: impl Fn(usize) -> bool,
    ) {
        let Some(unit) = self.unit(index) else { return };
        for other in unit.neighbors.iter().copied().filter(|other| is_wanted(*other)) {
            let units = [index.min(other), index.max(other)];
            candidates.push(CandidateJoin { rows: self.rows_by_classes(units), units });
        }
    }

    /// Returns the rows of two units, joined by the equalities of columns.
    fn rows_by_classes(&self, units: [usize; 2]) -> f64 {
        let [Some(one), Some(other)] = units.map(|unit| self.unit(unit)) else {
            return f64::INFINITY;
        };
        let mut rows = one.rows.ln() + other.rows.ln();
        let is_smaller = one.classes.len() <= other.classes.len();
        let (few, many) = if is_smaller { (one, other) } else { (other, one) };
        for (class, distinct) in &few.classes {
            if let Some(others) = many.classes.get(class) {
                rows -= distinct.max(*others).ln();
            }
        }
        bounded_rows(rows.exp())
    }

    /// Returns the rows of two units, joined by all conditions.
    fn rows_together(&self, units: [usize; 2]) -> f64 {
        let [Some(one), Some(other)] = units.map(|unit| self.unit(unit)) else {
            return f64::INFINITY;
        };
        let is_of_both = |leaf: &usize| {
            one.leaves.binary_search(leaf).is_ok() || other.leaves.binary_search(leaf).is_ok()
        };
        let mut rows = self.rows_by_classes(units).ln();
        for (needs, selectivity) in &self.graph.other_selectivities {
            let is_new = ![one, other]
                .iter()
                .any(|unit| needs.iter().all(|leaf| unit.leaves.binary_search(leaf).is_ok()));
            if is_new && needs.iter().all(is_of_both) {
                rows += selectivity;
            }
        }
        bounded_rows(rows.exp())
    }

    /// Joins two units and returns the new one; `None` if one was joined before.
    fn join(&mut self, units: [usize; 2]) -> Option<usize> {
        let [one, other] = units;
        if self.unit(one).is_none() || self.unit(other).is_none() {
            return None;
        }
        let rows = self.rows_together(units);
        let right = self.units.get_mut(other)?.take()?;
        let mut joined = self.units.get_mut(one)?.take()?;
        let index = self.units.len();
        self.steps.push(JoinStep { left: joined.node, right: right.node, rows });
        joined.node = self.next;
        self.next += 1;
        joined.rows = rows;
        joined.leaves.extend(right.leaves);
        joined.leaves.sort_unstable();
        joined.neighbors.extend(right.neighbors);
        joined.neighbors.remove(&one);
        joined.neighbors.remove(&other);
        for (class, distinct) in right.classes {
            let least = joined.classes.entry(class).or_insert(distinct);
            *least = least.min(distinct);
        }
        joined.leaves.iter().for_each(|leaf| self.unit_of[*leaf] = Some(index));
        for neighbor in &joined.neighbors {
            if let Some(neighbor) = self.units.get_mut(*neighbor).and_then(Option::as_mut) {
                neighbor.neighbors.remove(&one);
                neighbor.neighbors.remove(&other);
                neighbor.neighbors.insert(index);
            }
        }
        self.units.push(Some(joined));
        Some(index)
    }

    /// Returns the two units with the fewest rows that a condition needs and no others.
    fn pair_of_condition(&self) -> Option<[usize; 2]> {
        let mut best: Option<CandidateJoin> = None;
        for condition in &self.graph.conditions {
            let needed: BTreeSet<usize> =
                condition.needs.iter().filter_map(|leaf| self.unit_of[*leaf]).collect();
            if let (Some(one), Some(other), 2) = (needed.first(), needed.last(), needed.len()) {
                let units = [*one, *other];
                let candidate = CandidateJoin { rows: self.rows_by_classes(units), units };
                best = Some(best.map_or(candidate, |best| best.max(candidate)));
            }
        }
        best.map(|best| best.units)
    }

    fn smallest_pair(&self) -> Option<[usize; 2]> {
        let mut open: Vec<(usize, f64)> = self
            .units
            .iter()
            .enumerate()
            .filter_map(|(index, unit)| unit.as_ref().map(|unit| (index, unit.rows)))
            .collect();
        open.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
        match &open[..] {
            [(one, _), (other, _), ..] => Some([*one, *other]),
            _ => None,
        }
    }
}
