//! Greedy ordering of joins: of all pairs that an equality joins, the one with the fewest rows is
//! joined next (greedy operator ordering). For what has too many trees to try all, and for parts
//! that no equality joins.
//!
//! Candidates wait in a heap; a join adds those of the new unit with its neighbours. The rows of a
//! unit come from those of its inputs and from the conditions that it is the first to have all
//! leaves of.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::enumeration::JoinStep;
use super::needs::{JoinedNeeds, LeafNeeds};
use super::query_graph::QueryGraph;
use crate::control;
use crate::optimizer::estimate::bounded_rows;

/// Leaves that are joined already.
#[derive(Clone, Debug)]
struct GreedyUnit {
    /// The number of its node.
    node: usize,
    rows: f64,
    log_rows: f64,
    /// Units that a candidate join joins it with, or whose leaves have since been joined into
    /// others.
    neighbors: Vec<usize>,
    /// Classes of equal columns that it has columns of, with the fewest values of one.
    classes: BTreeMap<usize, f64>,
}

/// A unit that a join has made.
struct JoinedUnit {
    index: usize,
    /// Conditions that it needs one other unit for from now on.
    halved: Vec<usize>,
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
    /// The unit that each one was joined into, or itself.
    joined_into: Vec<usize>,
    /// The first unit that a leaf was in.
    unit_of: Vec<Option<usize>>,
    /// The conditions of the graph's `other_selectivities`.
    needs: LeafNeeds,
    candidates: BinaryHeap<CandidateJoin>,
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
                log_rows: rows.ln(),
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
        let sets = graph.other_selectivities.iter().map(|(needs, _)| &needs[..]);
        let needs = LeafNeeds::new(sets, &|leaf| unit_of[leaf], units.len());
        let joined_into = (0..units.len()).collect();
        let (candidates, steps) = (BinaryHeap::new(), Vec::new());
        Self { graph, units, joined_into, unit_of, needs, candidates, steps, next }
    }

    /// Joins units as long as equalities join them.
    pub(super) fn join_connected(&mut self) {
        (0..self.units.len()).for_each(|unit| self.add_candidates(unit));
        self.join_candidates(&mut |_, _| {});
    }

    /// Joins all units: first by conditions other than equalities, then the smallest.
    pub(super) fn join_all(&mut self) {
        self.add_partners(self.needs.halved());
        (0..self.units.len()).for_each(|unit| self.add_candidates(unit));
        let mut open: BTreeSet<(u64, usize)> =
            (0..self.units.len()).filter_map(|unit| self.size_key(unit)).collect();
        loop {
            self.join_candidates(&mut |ordering, joined| {
                ordering.add_partners(joined.halved);
                open.extend(ordering.size_key(joined.index));
            });
            let mut smallest = || {
                while let Some((_, unit)) = open.pop_first() {
                    if self.unit(unit).is_some() {
                        return Some(unit);
                    }
                }
                None
            };
            let (Some(one), Some(other)) = (smallest(), smallest()) else { return };
            let Some(JoinedUnit { index, halved }) = self.join([one, other]) else { return };
            self.add_partners(halved);
            self.add_candidates(index);
            open.extend(self.size_key(index));
            if control::is_stopped() {
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

    /// Returns what orders units by their rows; those are positive, so that their bits ascend with
    /// them.
    fn size_key(&self, index: usize) -> Option<(u64, usize)> {
        self.unit(index).map(|unit| (unit.rows.to_bits(), index))
    }

    /// Returns the unit that another has been joined into.
    fn unit_now(&mut self, mut index: usize) -> usize {
        while self.joined_into[index] != index {
            let next = self.joined_into[self.joined_into[index]];
            self.joined_into[index] = next;
            index = next;
        }
        index
    }

    /// Joins candidates, the one of fewest rows first, and tells `note` of each new unit before its
    /// own candidates are added.
    fn join_candidates(&mut self, note: &mut dyn FnMut(&mut Self, JoinedUnit)) {
        while let Some(CandidateJoin { units, .. }) = self.candidates.pop() {
            if let Some(joined) = self.join(units) {
                let index = joined.index;
                note(self, joined);
                self.add_candidates(index);
            }
            if control::is_stopped() {
                return;
            }
        }
    }

    /// Adds the joins of a unit with its neighbours.
    fn add_candidates(&mut self, index: usize) {
        let Some(unit) = self.units.get_mut(index).and_then(Option::as_mut) else { return };
        let mut neighbors = std::mem::take(&mut unit.neighbors);
        neighbors.iter_mut().for_each(|one| *one = self.unit_now(*one));
        neighbors.sort_unstable();
        neighbors.dedup();
        neighbors.retain(|one| *one != index);
        for other in &neighbors {
            let units = [index.min(*other), index.max(*other)];
            let rows = bounded_rows(self.log_rows_by_classes(units).exp());
            self.candidates.push(CandidateJoin { rows, units });
        }
        if let Some(unit) = self.units.get_mut(index).and_then(Option::as_mut) {
            unit.neighbors = neighbors;
        }
    }

    /// Makes units neighbours that a condition needs, and no others.
    fn add_partners(&mut self, halved: Vec<usize>) {
        for set in halved {
            let graph = self.graph;
            let first_units: Vec<Option<usize>> =
                graph.other_selectivities[set].0.iter().map(|leaf| self.unit_of[*leaf]).collect();
            let units: BTreeSet<usize> =
                first_units.into_iter().flatten().map(|unit| self.unit_now(unit)).collect();
            let (Some(one), Some(other)) = (units.first(), units.last()) else { continue };
            for (unit, neighbor) in [(*one, *other), (*other, *one)] {
                if let Some(unit) = self.units.get_mut(unit).and_then(Option::as_mut) {
                    unit.neighbors.push(neighbor);
                }
            }
        }
    }

    /// Returns the logarithm of the rows of two units, joined by the equalities of columns.
    fn log_rows_by_classes(&self, units: [usize; 2]) -> f64 {
        let [Some(one), Some(other)] = units.map(|unit| self.unit(unit)) else {
            return f64::INFINITY;
        };
        let mut rows = one.log_rows + other.log_rows;
        let is_smaller = one.classes.len() <= other.classes.len();
        let (few, many) = if is_smaller { (one, other) } else { (other, one) };
        for (class, distinct) in &few.classes {
            if let Some(others) = many.classes.get(class) {
                rows -= distinct.max(*others).ln();
            }
        }
        rows
    }

    /// Joins two units; `None` if one was joined before.
    fn join(&mut self, units: [usize; 2]) -> Option<JoinedUnit> {
        let [one, other] = units;
        self.unit(one)?;
        self.unit(other)?;
        let mut rows = bounded_rows(self.log_rows_by_classes(units).exp()).ln();
        let JoinedNeeds { whole, halved } = self.needs.join(units);
        for set in whole {
            rows += self.graph.other_selectivities[set].1;
        }
        let rows = bounded_rows(rows.exp());
        let right = self.units.get_mut(other)?.take()?;
        let left = self.units.get_mut(one)?.take()?;
        let index = self.units.len();
        self.steps.push(JoinStep { left: left.node, right: right.node, rows });
        let is_more = left.classes.len() >= right.classes.len();
        let (mut joined, few) = if is_more { (left, right) } else { (right, left) };
        joined.node = self.next;
        self.next += 1;
        joined.rows = rows;
        joined.log_rows = rows.ln();
        joined.neighbors.extend(few.neighbors);
        for (class, distinct) in few.classes {
            let least = joined.classes.entry(class).or_insert(distinct);
            *least = least.min(distinct);
        }
        self.joined_into[one] = index;
        self.joined_into[other] = index;
        self.joined_into.push(index);
        self.units.push(Some(joined));
        Some(JoinedUnit { index, halved })
    }
}
