//! Nodes of the radix tree, and the arenas that they lie in.

use crate::index::row_set::RowSet;
use crate::index::short::Short;
use crate::index::slab::Slab;

/// Bits of a name for the place in the arena.
const PLACE_BITS: u32 = 29;

/// Marks a slot of a [`Node48`] byte that leads nowhere.
const NO_SLOT: u8 = 255;

/// Names a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeRef(u32);

/// What a name leads to. The order is that of the sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Leaf,
    Node4,
    Node16,
    Node48,
    Node256,
    None,
}

impl NodeRef {
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) fn new(kind: Kind, place: u32) -> Self {
        Self((kind as u32) << PLACE_BITS | place)
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match self.0 >> PLACE_BITS {
            0 => Kind::Leaf,
            1 => Kind::Node4,
            2 => Kind::Node16,
            3 => Kind::Node48,
            4 => Kind::Node256,
            _ => Kind::None,
        }
    }

    #[inline]
    pub(super) fn place(self) -> u32 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }

    #[inline]
    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl Kind {
    /// Returns the most children that a node can have.
    pub(super) fn room(self) -> usize {
        match self {
            Self::Node4 => 4,
            Self::Node16 => 16,
            Self::Node48 => 48,
            Self::Node256 => 256,
            Self::Leaf | Self::None => 0,
        }
    }

    /// Returns the next larger size of an inner node.
    pub(super) fn larger(self) -> Self {
        match self {
            Self::Node4 => Self::Node16,
            Self::Node16 => Self::Node48,
            _ => Self::Node256,
        }
    }

    /// Returns the size that a node with `count` children is better off with; some room is left, so
    /// that a node at the limit does not change its size again and again.
    pub(super) fn shrunk(self, count: usize) -> Self {
        match (self, count) {
            (Self::Node256, ..=40) => Self::Node48,
            (Self::Node48, ..=12) => Self::Node16,
            (Self::Node16, ..=3) => Self::Node4,
            _ => self,
        }
    }
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) rows: RowSet,
    /// What the way to the leaf does not tell of the key.
    pub(super) suffix: Short,
}

/// What every inner node has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// What all keys below have in common here.
    pub(super) prefix: Short,
    /// The leaf of the key that ends after the prefix.
    pub(super) own: NodeRef,
    /// Children, without `own`.
    pub(super) count: u16,
}

impl Header {
    pub(super) fn new(prefix: Short) -> Self {
        Self { prefix, own: NodeRef::NONE, count: 0 }
    }
}

/// An inner node.
pub(super) trait Inner {
    fn header(&self) -> &Header;

    fn header_mut(&mut self) -> &mut Header;

    /// Returns the child at `byte`, or none.
    fn find(&self, byte: u8) -> NodeRef;

    /// Adds a child; there is room and none at `byte` yet.
    fn add(&mut self, byte: u8, child: NodeRef);

    /// Puts another child in the place of that at `byte`.
    fn replace(&mut self, byte: u8, child: NodeRef);

    /// Takes the child at `byte` out.
    fn remove(&mut self, byte: u8);

    /// Returns the first child at `byte` or above.
    fn at_or_above(&self, byte: u8) -> Option<(u8, NodeRef)>;

    /// Returns the last child at `byte` or below.
    fn at_or_below(&self, byte: u8) -> Option<(u8, NodeRef)>;
}

/// Up to `N` children in the order of their bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sorted<const N: usize> {
    header: Header,
    bytes: [u8; N],
    children: [NodeRef; N],
}

/// Up to 48 children, found by a table of all bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node48 {
    header: Header,
    slots: [u8; 256],
    children: [NodeRef; 48],
}

/// A child for each byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node256 {
    header: Header,
    children: [NodeRef; 256],
}

impl<const N: usize> Sorted<N> {
    pub(super) fn new(header: Header) -> Self {
        Self { header, bytes: [0; N], children: [NodeRef::NONE; N] }
    }

    /// Returns the bytes of the children that are there.
    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.header.count).min(N)]
    }

    /// Returns the position of `byte`. All `N` bytes are compared, which becomes one instruction.
    #[inline]
    fn position(&self, byte: u8) -> Option<usize> {
        let equal = (0..N).fold(0_u32, |mask, at| mask | u32::from(self.bytes[at] == byte) << at);
        let found = equal & ((1 << self.header.count) - 1);
        (found != 0).then(|| found.trailing_zeros() as usize)
    }
}

impl<const N: usize> Inner for Sorted<N> {
    #[inline]
    fn header(&self) -> &Header {
        &self.header
    }

    fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    #[inline]
    fn find(&self, byte: u8) -> NodeRef {
        self.position(byte).map_or(NodeRef::NONE, |position| self.children[position])
    }

    fn add(&mut self, byte: u8, child: NodeRef) {
        let count = usize::from(self.header.count);
        let position = self.bytes().partition_point(|&there| there < byte);
        self.bytes.copy_within(position..count, position + 1);
        self.children.copy_within(position..count, position + 1);
        self.bytes[position] = byte;
        self.children[position] = child;
        self.header.count += 1;
    }

    fn replace(&mut self, byte: u8, child: NodeRef) {
        if let Some(position) = self.position(byte) {
            self.children[position] = child;
        }
    }

    fn remove(&mut self, byte: u8) {
        if let Some(position) = self.position(byte) {
            let count = usize::from(self.header.count);
            self.bytes.copy_within(position + 1..count, position);
            self.children.copy_within(position + 1..count, position);
            self.header.count -= 1;
        }
    }

    fn at_or_above(&self, byte: u8) -> Option<(u8, NodeRef)> {
        let position = self.bytes().partition_point(|&there| there < byte);
        self.bytes().get(position).map(|&there| (there, self.children[position]))
    }

    fn at_or_below(&self, byte: u8) -> Option<(u8, NodeRef)> {
        let position = self.bytes().partition_point(|&there| there <= byte).checked_sub(1)?;
        Some((self.bytes[position], self.children[position]))
    }
}

impl Node48 {
    fn new(header: Header) -> Self {
        Self { header, slots: [NO_SLOT; 256], children: [NodeRef::NONE; 48] }
    }

    fn child(&self, byte: u8) -> Option<(u8, NodeRef)> {
        let child = self.find(byte);
        (!child.is_none()).then_some((byte, child))
    }
}

impl Inner for Node48 {
    #[inline]
    fn header(&self) -> &Header {
        &self.header
    }

    fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    #[inline]
    fn find(&self, byte: u8) -> NodeRef {
        let slot = usize::from(self.slots[usize::from(byte)]);
        self.children.get(slot).copied().unwrap_or(NodeRef::NONE)
    }

    fn add(&mut self, byte: u8, child: NodeRef) {
        if let Some(slot) = self.children.iter().position(|there| there.is_none()) {
            self.slots[usize::from(byte)] = slot as u8;
            self.children[slot] = child;
            self.header.count += 1;
        }
    }

    fn replace(&mut self, byte: u8, child: NodeRef) {
        let slot = usize::from(self.slots[usize::from(byte)]);
        if let Some(there) = self.children.get_mut(slot) {
            *there = child;
        }
    }

    fn remove(&mut self, byte: u8) {
        self.replace(byte, NodeRef::NONE);
        self.slots[usize::from(byte)] = NO_SLOT;
        self.header.count -= 1;
    }

    fn at_or_above(&self, byte: u8) -> Option<(u8, NodeRef)> {
        (byte..=u8::MAX).find_map(|byte| self.child(byte))
    }

    fn at_or_below(&self, byte: u8) -> Option<(u8, NodeRef)> {
        (0..=byte).rev().find_map(|byte| self.child(byte))
    }
}

impl Node256 {
    fn new(header: Header) -> Self {
        Self { header, children: [NodeRef::NONE; 256] }
    }

    fn child(&self, byte: u8) -> Option<(u8, NodeRef)> {
        let child = self.find(byte);
        (!child.is_none()).then_some((byte, child))
    }
}

impl Inner for Node256 {
    #[inline]
    fn header(&self) -> &Header {
        &self.header
    }

    fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    #[inline]
    fn find(&self, byte: u8) -> NodeRef {
        self.children[usize::from(byte)]
    }

    fn add(&mut self, byte: u8, child: NodeRef) {
        self.children[usize::from(byte)] = child;
        self.header.count += 1;
    }

    fn replace(&mut self, byte: u8, child: NodeRef) {
        self.children[usize::from(byte)] = child;
    }

    fn remove(&mut self, byte: u8) {
        self.children[usize::from(byte)] = NodeRef::NONE;
        self.header.count -= 1;
    }

    fn at_or_above(&self, byte: u8) -> Option<(u8, NodeRef)> {
        (byte..=u8::MAX).find_map(|byte| self.child(byte))
    }

    fn at_or_below(&self, byte: u8) -> Option<(u8, NodeRef)> {
        (0..=byte).rev().find_map(|byte| self.child(byte))
    }
}

/// All nodes of a tree.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) leaves: Slab<Leaf>,
    pub(super) node4: Slab<Sorted<4>>,
    pub(super) node16: Slab<Sorted<16>>,
    pub(super) node48: Slab<Node48>,
    pub(super) node256: Slab<Node256>,
}

impl Nodes {
    /// Returns the bytes that the nodes take.
    pub(super) fn bytes(&self) -> usize {
        self.leaves.bytes()
            + self.node4.bytes()
            + self.node16.bytes()
            + self.node48.bytes()
            + self.node256.bytes()
    }

    /// Adds a leaf.
    pub(super) fn insert_leaf(&mut self, leaf: Leaf) -> NodeRef {
        NodeRef::new(Kind::Leaf, self.leaves.insert(leaf))
    }

    /// Adds an inner node without children.
    pub(super) fn insert(&mut self, kind: Kind, header: Header) -> NodeRef {
        let header = Header { count: 0, ..header };
        let place = match kind {
            Kind::Node48 => self.node48.insert(Node48::new(header)),
            Kind::Node256 => self.node256.insert(Node256::new(header)),
            Kind::Node16 => self.node16.insert(Sorted::new(header)),
            Kind::Node4 | Kind::Leaf | Kind::None => self.node4.insert(Sorted::new(header)),
        };
        NodeRef::new(kind, place)
    }

    /// Frees an inner node.
    pub(super) fn remove(&mut self, node: NodeRef) {
        let (place, header) = (node.place(), Header::new(Short::default()));
        match node.kind() {
            Kind::Node4 => drop(self.node4.remove(place, Sorted::new(header))),
            Kind::Node16 => drop(self.node16.remove(place, Sorted::new(header))),
            Kind::Node48 => drop(self.node48.remove(place, Node48::new(header))),
            Kind::Node256 => drop(self.node256.remove(place, Node256::new(header))),
            Kind::Leaf | Kind::None => {}
        }
    }

    /// Returns an inner node, or nothing for a leaf.
    #[inline]
    pub(super) fn inner(&self, node: NodeRef) -> Option<&dyn Inner> {
        let place = node.place();
        Some(match node.kind() {
            Kind::Node4 => self.node4.get(place),
            Kind::Node16 => self.node16.get(place),
            Kind::Node48 => self.node48.get(place),
            Kind::Node256 => self.node256.get(place),
            Kind::Leaf | Kind::None => return None,
        })
    }

    /// As [`Nodes::inner`], to change it.
    #[inline]
    pub(super) fn inner_mut(&mut self, node: NodeRef) -> Option<&mut dyn Inner> {
        let place = node.place();
        Some(match node.kind() {
            Kind::Node4 => self.node4.get_mut(place),
            Kind::Node16 => self.node16.get_mut(place),
            Kind::Node48 => self.node48.get_mut(place),
            Kind::Node256 => self.node256.get_mut(place),
            Kind::Leaf | Kind::None => return None,
        })
    }

    #[inline]
    pub(super) fn leaf(&self, node: NodeRef) -> &Leaf {
        self.leaves.get(node.place())
    }

    #[inline]
    pub(super) fn leaf_mut(&mut self, node: NodeRef) -> &mut Leaf {
        self.leaves.get_mut(node.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_finds_its_children_in_order() {
        let mut nodes = Nodes::default();
        for kind in [Kind::Node4, Kind::Node16, Kind::Node48, Kind::Node256] {
            let name = nodes.insert(kind, Header::new(Short::default()));
            let node = nodes.inner_mut(name).unwrap();
            let bytes: Vec<u8> = (0..kind.room()).map(|at| (at * 37 + 255) as u8).collect();
            for &byte in &bytes {
                assert!(node.find(byte).is_none());
                node.add(byte, NodeRef::new(Kind::Leaf, byte.into()));
            }
            assert_eq!(usize::from(node.header().count), kind.room());
            let mut sorted = bytes.clone();
            sorted.sort_unstable();
            for byte in 0..=255 {
                let above = sorted.iter().find(|&&there| there >= byte);
                let below = sorted.iter().rfind(|&&there| there <= byte);
                assert_eq!(node.at_or_above(byte).map(|found| found.0), above.copied());
                assert_eq!(node.at_or_below(byte).map(|found| found.0), below.copied());
                assert_eq!(!node.find(byte).is_none(), bytes.contains(&byte));
            }
            for &byte in &bytes {
                node.replace(byte, NodeRef::new(Kind::Leaf, 7));
                assert_eq!(node.find(byte).place(), 7);
                node.remove(byte);
                assert!(node.find(byte).is_none());
            }
            assert_eq!(node.at_or_above(0), None);
            assert_eq!(node.at_or_below(255), None);
        }
    }
}
