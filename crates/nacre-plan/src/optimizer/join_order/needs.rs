//! Which sets of leaves are in one part, while parts of a region are joined.
//!
//! # Invariants
//! 1. A set is listed by each part that has some of its leaves and not all.

use std::collections::BTreeSet;

/// What a join of two parts does to sets of leaves, ascending.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JoinedNeeds {
    /// Sets that it is the first to have all leaves of.
    pub(super) whole: Vec<usize>,
    /// Sets that are spread over it and one other part from now on.
    pub(super) halved: Vec<usize>,
}

/// Sets of leaves, and the parts that have leaves of them.
pub(super) struct LeafNeeds {
    /// How many parts each set is spread over.
    parts_left: Vec<usize>,
    /// For each part the sets that it has leaves of, and not all.
    open: Vec<BTreeSet<usize>>,
}

impl LeafNeeds {
    /// Notes sets of leaves; `part_of` says which one of so many parts has a leaf. Leaves of none
    /// keep their sets from ever being whole.
    pub(super) fn new<'n>(
        sets: impl Iterator<Item = &'n [usize]>,
        part_of: &dyn Fn(usize) -> Option<usize>,
        part_count: usize,
    ) -> Self {
        let (mut parts_left, mut open) = (Vec::new(), vec![BTreeSet::new(); part_count]);
        for (index, set) in sets.enumerate() {
            let parts: BTreeSet<Option<usize>> = set.iter().map(|leaf| part_of(*leaf)).collect();
            parts_left.push(parts.len());
            if parts.len() > 1 {
                parts.into_iter().flatten().for_each(|part| {
                    open[part].insert(index);
                });
            }
        }
        Self { parts_left, open }
    }

    /// Joins two parts to a further one, which has the next number.
    pub(super) fn join(&mut self, parts: [usize; 2]) -> JoinedNeeds {
        let [one, other] = parts.map(|part| std::mem::take(&mut self.open[part]));
        let (mut joined, few) = if one.len() < other.len() { (other, one) } else { (one, other) };
        let mut needs = JoinedNeeds::default();
        for set in few {
            if joined.insert(set) {
                continue;
            }
            self.parts_left[set] -= 1;
            match self.parts_left[set] {
                1 => {
                    joined.remove(&set);
                    needs.whole.push(set);
                }
                2 => needs.halved.push(set),
                _ => {}
            }
        }
        self.open.push(joined);
        needs
    }

    /// Returns the sets that are spread over two parts.
    pub(super) fn halved(&self) -> Vec<usize> {
        (0..self.parts_left.len()).filter(|set| self.parts_left[*set] == 2).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_whole_with_the_join_that_has_its_last_leaf() {
        let sets: [&[usize]; 4] = [&[0, 1], &[0, 2, 3], &[1, 2], &[3, 4]];
        let part_of = |leaf: usize| (leaf < 4).then_some(leaf);
        let mut needs = LeafNeeds::new(sets.into_iter(), &part_of, 4);
        assert_eq!(needs.halved(), [0, 2, 3]);
        assert_eq!(needs.join([2, 3]), JoinedNeeds { whole: vec![], halved: vec![1] });
        assert_eq!(needs.join([0, 4]), JoinedNeeds { whole: vec![1], halved: vec![] });
        // No part has leaf 4.
        assert_eq!(needs.join([1, 5]), JoinedNeeds { whole: vec![0, 2], halved: vec![] });
        assert_eq!(needs.halved(), [3]);
    }
}
