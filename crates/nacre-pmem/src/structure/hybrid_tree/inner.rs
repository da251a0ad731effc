//! The inner nodes, in DRAM only: a B+-tree that finds the leaf of a key.
//!
//! A *twig* is a node whose children are leaves; beside each leaf it keeps which of the leaf's
//! units are in use. A *branch* has nodes as children. All of it can be rebuilt from the leaves.
//!
//! # Invariants
//! 1. Every node has at least one child, and one separator less than children.
//! 2. In key order, the leaves are the linked list in the pool.
//!
//! # Source
//! [Zarubin22 3.1.1, Fig. 3.1] inner nodes organized as a B+-tree in volatile memory.

use super::link::LeafRef;
use super::separators::{Seek, Separators};
use crate::prefetch;

/// Children of a branch. All branches of some million keys stay in the second-level cache.
const BRANCH_CHILDREN: usize = 64;
/// Leaves of a twig. Most twigs do not stay in the cache, so what a search reads is kept to few
/// lines, which are loaded together.
const TWIG_LEAVES: usize = 16;

/// A leaf, and the units of it that are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) leaf: LeafRef,
    pub(super) used: u64,
}

/// A leaf with the bounds of the keys that it may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded<'a> {
    pub(super) place: Place,
    /// Smallest possible key of this leaf; `None` for the first leaf.
    pub(super) lower: Option<&'a [u8]>,
    /// Smallest possible key of the next leaf; `None` for the last leaf.
    pub(super) upper: Option<&'a [u8]>,
}

/// The whole tree.
#[derive(Debug)]
pub(super) struct Inner {
    root: Node,
    leaf_count: usize,
}

#[derive(Debug)]
enum Node {
    Branch(Box<Branch>),
    Twig(Box<Twig>),
}

#[derive(Debug)]
struct Branch {
    separators: Separators<BRANCH_CHILDREN>,
    children: Vec<Node>,
}

#[derive(Debug)]
#[repr(C)]
struct Twig {
    separators: Separators<TWIG_LEAVES>,
    /// As many as there are separators, and one; behind them leftovers.
    leaves: [LeafRef; TWIG_LEAVES],
    /// Of the leaves.
    used: [u64; TWIG_LEAVES],
}

/// What a node becomes two nodes by: the separator and the right one.
type Grown = Option<(Box<[u8]>, Node)>;

impl Inner {
    /// A tree of one leaf.
    pub(super) fn new(place: Place) -> Inner {
        Inner { root: Node::Twig(Twig::new(place)), leaf_count: 1 }
    }

    /// Builds the tree of `first` and the leaves behind it, each with the separator before it.
    pub(super) fn bulk(first: Place, others: Vec<(Box<[u8]>, Place)>) -> Inner {
        let leaf_count = others.len() + 1;
        let mut others = others.into_iter().peekable();
        let mut nodes: Vec<(Box<[u8]>, Node)> = Vec::new();
        let mut start = (Box::default(), first);
        loop {
            let (before, place) = start;
            let mut twig = Twig::new(place);
            let mut keys = Vec::new();
            for (key, place) in others.by_ref().take(filled(TWIG_LEAVES) - 1) {
                keys.push(key);
                twig.set(keys.len(), place);
            }
            twig.separators = Separators::new(keys);
            nodes.push((before, Node::Twig(twig)));
            match others.next() {
                Some(next) => start = next,
                None => break,
            }
        }
        Inner { root: stack_branches(nodes), leaf_count }
    }

    pub(super) fn leaf_count(&self) -> usize {
        self.leaf_count
    }

    /// Returns the leaf that may hold `key`.
    #[inline]
    pub(super) fn leaf(&self, key: &[u8]) -> LeafRef {
        self.place(key).leaf
    }

    /// As [`Inner::leaf`], with the units of the leaf that are in use.
    #[inline]
    pub(super) fn place(&self, key: &[u8]) -> Place {
        let mut node = &self.root;
        loop {
            match node {
                Node::Branch(branch) => {
                    node = &branch.children[branch.separators.child(key)];
                    node.prefetch();
                }
                Node::Twig(twig) => {
                    let index = twig.separators.child(key);
                    return Place { leaf: twig.leaves[index], used: twig.used[index] };
                }
            }
        }
    }

    /// Returns the leaf that may hold `key`, and the units of it that are in use, to change them.
    pub(super) fn place_mut(&mut self, key: &[u8]) -> (&mut LeafRef, &mut u64) {
        let mut node = &mut self.root;
        loop {
            match node {
                Node::Branch(branch) => {
                    node = &mut branch.children[branch.separators.child(key)];
                }
                Node::Twig(twig) => {
                    let index = twig.separators.child(key);
                    return (&mut twig.leaves[index], &mut twig.used[index]);
                }
            }
        }
    }

    /// Returns the leaf that `seek` names, with its bounds.
    pub(super) fn bounded(&self, seek: Seek<'_>) -> Bounded<'_> {
        let (mut lower, mut upper) = (None, None);
        let mut node = &self.root;
        loop {
            match node {
                Node::Branch(branch) => {
                    let index = branch.separators.seek(seek, &mut lower, &mut upper);
                    node = &branch.children[index];
                }
                Node::Twig(twig) => {
                    let index = twig.separators.seek(seek, &mut lower, &mut upper);
                    let place = Place { leaf: twig.leaves[index], used: twig.used[index] };
                    return Bounded { place, lower, upper };
                }
            }
        }
    }

    /// Puts `place`, whose keys start at `separator`, behind the leaf that held them before.
    pub(super) fn insert(&mut self, separator: Box<[u8]>, place: Place) {
        self.leaf_count += 1;
        if let Some((middle, right)) = self.root.insert(separator, place) {
            let empty = Node::Branch(Box::new(Branch {
                separators: Separators::new(Vec::new()),
                children: Vec::new(),
            }));
            let left = std::mem::replace(&mut self.root, empty);
            self.root = branch(vec![middle], vec![left, right]);
        }
    }

    /// Takes out the leaf that may hold `key`; its range goes to a neighbour. The last leaf stays.
    pub(super) fn remove(&mut self, key: &[u8]) {
        if self.leaf_count == 1 {
            return;
        }
        self.leaf_count -= 1;
        self.root.remove(key);
        while let Node::Branch(branch) = &mut self.root
            && branch.children.len() == 1
            && let Some(only) = branch.children.pop()
        {
            self.root = only;
        }
    }
}

impl Node {
    /// Starts to load what a search reads.
    #[inline]
    fn prefetch(&self) {
        if let Node::Twig(twig) = self {
            prefetch::range(std::ptr::from_ref(&**twig).cast(), std::mem::offset_of!(Twig, used));
        }
    }

    /// Returns the right half if the node had to be split.
    fn insert(&mut self, separator: Box<[u8]>, place: Place) -> Grown {
        match self {
            Node::Twig(twig) => {
                let index = twig.separators.child(&separator);
                if !twig.separators.is_full() {
                    twig.insert(index, separator, place);
                    return None;
                }
                let (middle, mut right) = twig.split(split_at(index, TWIG_LEAVES));
                match separator < middle {
                    true => twig.insert(index, separator, place),
                    false => {
                        let index = right.separators.child(&separator);
                        right.insert(index, separator, place);
                    }
                }
                Some((middle, Node::Twig(right)))
            }
            Node::Branch(branch) => {
                let index = branch.separators.child(&separator);
                let (separator, node) = branch.children[index].insert(separator, place)?;
                if !branch.separators.is_full() {
                    branch.insert(index, separator, node);
                    return None;
                }
                let (middle, mut right) = branch.split(split_at(index, BRANCH_CHILDREN));
                match separator < middle {
                    true => branch.insert(index, separator, node),
                    false => {
                        let index = right.separators.child(&separator);
                        right.insert(index, separator, node);
                    }
                }
                Some((middle, Node::Branch(right)))
            }
        }
    }

    /// Returns whether the node is left without a child, and has to go itself.
    fn remove(&mut self, key: &[u8]) -> bool {
        match self {
            Node::Twig(twig) => {
                let index = twig.separators.child(key);
                let count = twig.separators.count();
                if count == 0 {
                    return true;
                }
                twig.leaves.copy_within(index + 1..=count, index);
                twig.used.copy_within(index + 1..=count, index);
                twig.separators.remove(index.saturating_sub(1));
            }
            Node::Branch(branch) => {
                let index = branch.separators.child(key);
                if !branch.children[index].remove(key) {
                    return false;
                }
                if branch.separators.count() == 0 {
                    return true;
                }
                branch.children.remove(index);
                branch.separators.remove(index.saturating_sub(1));
            }
        }
        false
    }
}

impl Twig {
    /// A twig of one leaf.
    fn new(place: Place) -> Box<Twig> {
        Box::new(Twig {
            separators: Separators::new(Vec::new()),
            leaves: [place.leaf; TWIG_LEAVES],
            used: [place.used; TWIG_LEAVES],
        })
    }

    fn set(&mut self, index: usize, place: Place) {
        (self.leaves[index], self.used[index]) = (place.leaf, place.used);
    }

    fn insert(&mut self, index: usize, separator: Box<[u8]>, place: Place) {
        let count = self.separators.count();
        self.separators.insert(index, separator);
        self.leaves.copy_within(index + 1..=count, index + 2);
        self.used.copy_within(index + 1..=count, index + 2);
        self.set(index + 1, place);
    }

    fn split(&mut self, index: usize) -> (Box<[u8]>, Box<Twig>) {
        let (middle, separators) = self.separators.split_off(index);
        let (mut leaves, mut used) = (self.leaves, self.used);
        leaves.copy_within(index + 1.., 0);
        used.copy_within(index + 1.., 0);
        (middle, Box::new(Twig { separators, leaves, used }))
    }
}

impl Branch {
    fn insert(&mut self, index: usize, separator: Box<[u8]>, node: Node) {
        self.separators.insert(index, separator);
        self.children.insert(index + 1, node);
    }

    fn split(&mut self, index: usize) -> (Box<[u8]>, Box<Branch>) {
        let (middle, separators) = self.separators.split_off(index);
        let children = self.children.split_off(index + 1);
        (middle, Box::new(Branch { separators, children }))
    }
}

/// Returns the separator by which a node full with `children` is split before an insert at `index`.
/// Behind all others, keys probably ascend: then the left node stays nearly full.
fn split_at(index: usize, children: usize) -> usize {
    if index == children - 1 { filled(children) } else { children / 2 - 1 }
}

/// Returns how many of its `children` a node gets when the tree is built at once; the rest is for
/// inserts.
const fn filled(children: usize) -> usize {
    children * 7 / 8
}

fn branch(keys: Vec<Box<[u8]>>, children: Vec<Node>) -> Node {
    Node::Branch(Box::new(Branch { separators: Separators::new(keys), children }))
}

/// Puts branches over `nodes`, each of which comes with the separator before it.
fn stack_branches(mut nodes: Vec<(Box<[u8]>, Node)>) -> Node {
    while nodes.len() > 1 {
        let mut above = Vec::with_capacity(nodes.len() / filled(BRANCH_CHILDREN) + 1);
        let mut rest = nodes.into_iter();
        while let Some((before, first)) = rest.next() {
            let (mut keys, mut children) = (Vec::new(), vec![first]);
            for (key, node) in rest.by_ref().take(filled(BRANCH_CHILDREN) - 1) {
                keys.push(key);
                children.push(node);
            }
            above.push((before, branch(keys, children)));
        }
        nodes = above;
    }
    let root = nodes.pop();
    assert!(root.is_some(), "there is one node at least");
    root.map_or_else(|| branch(Vec::new(), Vec::new()), |(_, node)| node)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn place(number: u64) -> Place {
        Place { leaf: LeafRef::new(number * 64 + 64, 0), used: number }
    }

    /// A tree, and what it must agree with: the leaf by its smallest key.
    struct Model {
        inner: Inner,
        leaves: BTreeMap<Vec<u8>, Place>,
    }

    impl Model {
        fn check(&self, key: &[u8]) {
            let mut up_to = self.leaves.range(..=key.to_vec()).rev();
            let (lower, expected) = up_to.next().unwrap();
            let upper = self.leaves.range(key.to_vec()..).find(|(k, _)| k[..] > *key);
            assert_eq!(self.inner.leaf(key), expected.leaf, "{key:?}");
            let bounded = self.inner.bounded(Seek::Of(key));
            assert_eq!(bounded.place, *expected);
            assert_eq!(bounded.upper, upper.map(|(key, _)| &key[..]));
            assert_eq!(bounded.lower.unwrap_or_default(), lower);
            let before = bounded.lower.map(|lower| self.inner.bounded(Seek::Below(lower)).place);
            assert_eq!(before, up_to.next().map(|(_, place)| *place));
        }
    }

    fn grown(keys: impl Iterator<Item = Vec<u8>>) -> Model {
        let mut model =
            Model { inner: Inner::new(place(0)), leaves: BTreeMap::from([(vec![], place(0))]) };
        for (number, key) in keys.enumerate() {
            model.inner.insert(key.clone().into(), place(number as u64 + 1));
            model.leaves.insert(key, place(number as u64 + 1));
        }
        model
    }

    fn orders() -> Vec<Vec<Vec<u8>>> {
        let number = |i: u32| format!("{:05}", i).into_bytes();
        let up: Vec<Vec<u8>> = (0..5000).map(number).collect();
        let down: Vec<Vec<u8>> = (0..5000).rev().map(number).collect();
        let mixed = (0..5000).map(|i| number(i * 1237 % 5000)).collect();
        vec![up, down, mixed]
    }

    #[test]
    fn inserted_leaves_are_found_in_every_order() {
        for keys in orders() {
            let model = grown(keys.iter().cloned());
            for key in &keys {
                model.check(key);
                model.check(&[key, &b"+"[..]].concat());
                model.check(&key[..3]);
            }
        }
    }

    #[test]
    fn tree_built_at_once_is_the_tree_that_grew() {
        for count in [0, 1, 55, 56, 57, 3000, 3200] {
            let others: Vec<(Box<[u8]>, Place)> =
                (1..=count).map(|i| (format!("{i:05}").into_bytes().into(), place(i))).collect();
            let leaves = others.iter().map(|(key, place)| (key.to_vec(), *place));
            let leaves = leaves.chain([(vec![], place(0))]).collect();
            let model = Model { inner: Inner::bulk(place(0), others), leaves };
            assert_eq!(model.inner.leaf_count(), count as usize + 1);
            for key in model.leaves.keys() {
                model.check(key);
            }
        }
    }

    #[test]
    fn removed_leaves_leave_their_range_to_a_neighbour() {
        for keys in orders() {
            let mut model = grown(keys.iter().cloned());
            for (count, key) in keys.iter().enumerate().filter(|(i, _)| i % 7 != 0) {
                let gone = model.inner.leaf(key);
                model.inner.remove(key);
                assert_ne!(model.inner.leaf(key), gone);
                if count % 50 == 1 {
                    let places = model.inner.leaf_count();
                    assert_eq!(places, keys.len() + 1 - (count - count / 7));
                }
            }
            for key in &keys {
                model.inner.remove(key);
            }
            assert!(matches!(model.inner.root, Node::Twig(_)) || model.inner.leaf_count() > 1);
            while model.inner.leaf_count() > 1 {
                model.inner.remove(b"");
            }
            assert!(model.inner.bounded(Seek::Last).lower.is_none());
        }
    }
}
