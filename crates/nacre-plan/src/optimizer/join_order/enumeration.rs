//! Exact ordering of joins: all trees without cross products, by DPccp.
//!
//! A pair is a connected set of leaves and a connected set beside it that an equality joins it
//! with. DPccp names each pair once, those of a set's parts before those of the set.
//!
//! The cost of a tree is the sum of the rows of its joins and of their smaller inputs, of which
//! hash tables are built.
//!
//! # Source
//! Moerkotte, Neumann: VLDB 2006, figures 4 to 8.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::query_graph::QueryGraph;
use crate::control;

/// A tree is cheaper only below this part of another's cost: of two that cost the same but for
/// rounding the first one stays, whatever a row more or less makes of the last digits.
const CHEAPER_BELOW: f64 = 1.0 - 1e-9;

/// Pairs that are enumerated: 12 leaves in a chain have 286, 11 joined each with each 86,526.
const PAIRS_MAX: usize = 100_000;
/// Pairs of all parts of a plan.
pub(super) const PAIRS_OF_PLAN_MAX: usize = 4 * PAIRS_MAX;
/// Leaves that fit in a set.
const LEAVES_MAX: usize = 64;

/// A join of two nodes: the leaves have the first numbers, each step has the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct JoinStep {
    pub(super) left: usize,
    pub(super) right: usize,
    /// Rows that are expected of it.
    pub(super) rows: f64,
}

/// A set of leaves, a bit for each.
type LeafBits = u64;

/// Connected sets of leaves of a part of a graph, and pairs of them.
struct PairEnumeration {
    neighbors: Vec<LeafBits>,
    pairs: Vec<(LeafBits, LeafBits)>,
    pairs_max: usize,
}

/// Spreads the bits of a set: the standard hash takes most of the time of an enumeration.
#[derive(Default)]
struct LeafBitsHasher(u64);

impl Hasher for LeafBitsHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, bits: u64) {
        // Fibonacci hashing; a table looks at the top bits and at low ones.
        let product = (self.0 ^ bits).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ (product >> 32);
    }
}

type TreeTable = HashMap<LeafBits, CheapestTree, BuildHasherDefault<LeafBitsHasher>>;

/// The cheapest tree of a set of leaves.
#[derive(Clone, Copy, Debug)]
struct CheapestTree {
    cost: f64,
    rows: f64,
    /// Its inputs; none for a leaf.
    inputs: Option<(LeafBits, LeafBits)>,
}

/// Returns the pairs of a graph of at most [`LEAVES_MAX`] leaves, in the order in which they are to
/// be joined; `None` if there are more than `pairs_max`.
fn enumerate_pairs(
    neighbors: Vec<LeafBits>,
    pairs_max: usize,
) -> Option<Vec<(LeafBits, LeafBits)>> {
    if clique_pairs(&neighbors).is_some_and(|pairs| pairs > pairs_max as u128) {
        return None;
    }
    let count = neighbors.len();
    let mut enumeration = PairEnumeration { neighbors, pairs: Vec::new(), pairs_max };
    for start in (0..count).rev() {
        enumeration.add_complements(bit(start))?;
        enumeration.grow(bit(start), up_to(start), None)?;
    }
    Some(enumeration.pairs)
}

/// Returns how many pairs leaves have that are joined each with each: half of the ways to put each
/// of them into one of two sets or into none, without those where a set is empty. `None` if they
/// are not.
fn clique_pairs(neighbors: &[LeafBits]) -> Option<u128> {
    let count = neighbors.len() as u32;
    let is_clique = neighbors.iter().all(|around| around.count_ones() + 1 == count);
    is_clique.then(|| (3_u128.pow(count) + 1 - 2_u128.pow(count + 1)) / 2)
}

fn bit(leaf: usize) -> LeafBits {
    1 << leaf
}

/// Returns the leaves up to this one.
fn up_to(leaf: usize) -> LeafBits {
    LeafBits::MAX >> (LeafBits::BITS as usize - 1 - leaf)
}

fn lowest(set: LeafBits) -> usize {
    set.trailing_zeros() as usize
}

/// The leaves of a set, ascending.
struct SetMembers(LeafBits);

impl Iterator for SetMembers {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let first = (self.0 != 0).then(|| lowest(self.0))?;
        self.0 &= self.0 - 1;
        Some(first)
    }
}

impl DoubleEndedIterator for SetMembers {
    fn next_back(&mut self) -> Option<usize> {
        let last = self.0.checked_ilog2()? as usize;
        self.0 &= !bit(last);
        Some(last)
    }
}

impl PairEnumeration {
    fn neighbors_of(&self, set: LeafBits, excluded: LeafBits) -> LeafBits {
        SetMembers(set).fold(0, |all, leaf| all | self.neighbors[leaf]) & !set & !excluded
    }

    /// Names all connected sets that extend `set` without `excluded`: as the second of a pair with
    /// `first`, or as the first of pairs.
    fn grow(&mut self, set: LeafBits, excluded: LeafBits, first: Option<LeafBits>) -> Option<()> {
        let around = self.neighbors_of(set, excluded);
        for added in subsets(around) {
            match first {
                Some(first) => self.add_pair(first, set | added)?,
                None => self.add_complements(set | added)?,
            }
        }
        for added in subsets(around) {
            self.grow(set | added, excluded | around, first)?;
        }
        Some(())
    }

    /// Names all pairs of which `set` is the first.
    fn add_complements(&mut self, set: LeafBits) -> Option<()> {
        let excluded = up_to(lowest(set)) | set;
        let around = self.neighbors_of(set, excluded);
        for start in SetMembers(around).rev() {
            self.add_pair(set, bit(start))?;
            self.grow(bit(start), excluded | (up_to(start) & around), Some(set))?;
        }
        Some(())
    }

    fn add_pair(&mut self, first: LeafBits, second: LeafBits) -> Option<()> {
        self.pairs.push((first, second));
        (self.pairs.len() <= self.pairs_max && !control::is_stopped()).then_some(())
    }
}

/// Returns all subsets but the empty one, each after its own subsets.
fn subsets(set: LeafBits) -> impl Iterator<Item = LeafBits> {
    let mut next = set & set.wrapping_neg();
    std::iter::from_fn(move || {
        let own = next;
        next = next.wrapping_sub(set) & set;
        (own != 0).then_some(own)
    })
}

/// Returns the cheapest tree of connected leaves as steps, whose numbers begin at `next`; `None` if
/// there are more trees than `pairs_left` allows, from which it takes its pairs.
pub(super) fn cheapest_steps(
    graph: &QueryGraph,
    part: &[usize],
    next: usize,
    pairs_left: &mut usize,
) -> Option<Vec<JoinStep>> {
    if part.len() > LEAVES_MAX {
        return None;
    }
    let local = |leaf: &usize| part.binary_search(leaf).ok();
    let bits = |leaf: &usize| {
        graph.neighbors[*leaf].iter().filter_map(local).fold(0, |all, own| all | bit(own))
    };
    let pairs_max = PAIRS_MAX.min(*pairs_left);
    let pairs = enumerate_pairs(part.iter().map(bits).collect(), pairs_max)?;
    *pairs_left -= pairs.len();
    let mut trees = TreeTable::default();
    // By leaf of the graph; 0 for those of other parts.
    let mut bit_of = vec![0; graph.leaves.len()];
    for (own, leaf) in part.iter().enumerate() {
        bit_of[*leaf] = bit(own);
        let rows = graph.leaves[*leaf].rows;
        trees.insert(bit(own), CheapestTree { cost: 0.0, rows, inputs: None });
    }
    let part_rows = graph.part_rows(&bit_of);
    for (one, other) in pairs {
        if control::is_stopped() {
            return None;
        }
        let (Some(left), Some(right)) = (trees.get(&one), trees.get(&other)) else { continue };
        let inputs_cost = left.cost + right.cost + left.rows.min(right.rows);
        let set = one | other;
        let known = trees.get(&set);
        let rows = known.map(|tree| tree.rows);
        let rows = rows.unwrap_or_else(|| part_rows.rows_of(set));
        let cost = inputs_cost + rows;
        if known.is_none_or(|known| cost < known.cost * CHEAPER_BELOW) {
            trees.insert(set, CheapestTree { cost, rows, inputs: Some((one, other)) });
        }
    }
    let mut steps = Vec::new();
    let all = up_to(part.len() - 1);
    add_steps(&trees, all, part, next, &mut steps)?;
    Some(steps)
}

/// Adds the steps of a tree, inputs first; returns the number of its node.
fn add_steps(
    trees: &TreeTable,
    set: LeafBits,
    part: &[usize],
    next: usize,
    steps: &mut Vec<JoinStep>,
) -> Option<usize> {
    let tree = trees.get(&set)?;
    match tree.inputs {
        None => Some(part[lowest(set)]),
        Some((one, other)) => {
            let left = add_steps(trees, one, part, next, steps)?;
            let right = add_steps(trees, other, part, next, steps)?;
            steps.push(JoinStep { left, right, rows: tree.rows });
            Some(next + steps.len() - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_connected(neighbors: &[LeafBits], set: LeafBits) -> bool {
        let mut seen = bit(lowest(set));
        loop {
            let more = SetMembers(seen).fold(seen, |all, leaf| all | (neighbors[leaf] & set));
            if more == seen {
                return seen == set;
            }
            seen = more;
        }
    }

    #[test]
    fn each_pair_is_named_once_and_after_those_of_its_parts() {
        let mut state = 7_u64;
        for _ in 0..200 {
            let count = 2 + (state >> 33) as usize % 6;
            let mut neighbors = vec![0; count];
            for one in 0..count {
                for other in 0..one {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if state >> 62 != 0 {
                        neighbors[one] |= bit(other);
                        neighbors[other] |= bit(one);
                    }
                }
            }
            let pairs = enumerate_pairs(neighbors.clone(), usize::MAX).unwrap();
            let mut joined: Vec<LeafBits> = (0..count).map(bit).collect();
            let mut named = std::collections::HashSet::new();
            for (one, other) in &pairs {
                assert!(joined.contains(one) && joined.contains(other));
                assert!(named.insert((*one.min(other), *one.max(other))));
                joined.push(one | other);
            }
            let all = up_to(count - 1);
            let mut expected = 0;
            for one in 1..=all {
                for other in 1..one {
                    let are_sets = one & other == 0
                        && is_connected(&neighbors, one)
                        && is_connected(&neighbors, other);
                    let are_joined = SetMembers(one).any(|leaf| neighbors[leaf] & other != 0);
                    expected += usize::from(are_sets && are_joined);
                }
            }
            assert_eq!(pairs.len(), expected);
        }
    }

    #[test]
    fn cliques_have_the_known_number_of_pairs() {
        let clique = |count: usize| {
            let all = up_to(count - 1);
            (0..count).map(|leaf| all & !bit(leaf)).collect::<Vec<_>>()
        };
        assert_eq!(enumerate_pairs(clique(10), PAIRS_MAX).unwrap().len(), 28_501);
        assert_eq!(enumerate_pairs(clique(11), PAIRS_MAX).unwrap().len(), 86_526);
        assert_eq!(clique_pairs(&clique(11)), Some(86_526));
        assert_eq!(clique_pairs(&clique(12)), Some(261_625));
        assert_eq!(clique_pairs(&[0b10, 0b101, 0b10]), None);
        assert!(enumerate_pairs(clique(12), PAIRS_MAX).is_none());
        assert!(enumerate_pairs(clique(64), PAIRS_MAX).is_none());
    }
}
