//! The tree itself: points, and how it changes.

use super::node::{Header, Inner, Kind, Leaf, NodeRef, Nodes};
use crate::id::RowId;
use crate::index::row_set::{Removed, RowLists, RowSet, Rows};
use crate::index::short::{Short, Strings};
use crate::index::{IndexFull, KEYS_MAX};

/// An adaptive radix tree from key bytes to rows.
#[derive(Debug)]
pub struct ArtIndex {
    pub(super) root: NodeRef,
    pub(super) nodes: Nodes,
    pub(super) strings: Strings,
    pub(super) lists: RowLists,
    rows: usize,
}

/// The place that names a node: the root's, or that of a child.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Root,
    Child(NodeRef, u8),
}

impl Default for ArtIndex {
    fn default() -> Self {
        Self {
            root: NodeRef::NONE,
            nodes: Nodes::default(),
            strings: Strings::default(),
            lists: RowLists::default(),
            rows: 0,
        }
    }
}

impl ArtIndex {
    /// Returns an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> usize {
        self.nodes.leaves.len()
    }

    /// Returns the bytes of memory that the index takes.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes() + self.strings.bytes() + self.lists.bytes()
    }

    /// Returns the rows of `key`.
    pub fn get(&self, key: &[u8]) -> Rows<'_> {
        let (mut at, mut rest) = (self.root, key);
        loop {
            let place = at.place();
            at = match at.kind() {
                Kind::Node4 => self.step(self.nodes.node4.get(place), &mut rest),
                Kind::Node16 => self.step(self.nodes.node16.get(place), &mut rest),
                Kind::Node48 => self.step(self.nodes.node48.get(place), &mut rest),
                Kind::Node256 => self.step(self.nodes.node256.get(place), &mut rest),
                Kind::None => return Rows::none(),
                Kind::Leaf => {
                    let leaf = self.nodes.leaf(at);
                    return match self.strings.is(&leaf.suffix, rest) {
                        true => self.lists.rows(leaf.rows),
                        false => Rows::none(),
                    };
                }
            };
        }
    }

    /// Returns the node below `node` on the way to `rest`, and takes off `rest` what is passed.
    #[inline]
    fn step(&self, node: &impl Inner, rest: &mut &[u8]) -> NodeRef {
        let header = node.header();
        let Some(after) = self.strings.strip(&header.prefix, rest) else {
            return NodeRef::NONE;
        };
        match after.split_first() {
            None => {
                *rest = after;
                header.own
            }
            Some((&byte, tail)) => {
                *rest = tail;
                node.find(byte)
            }
        }
    }

    /// Adds `row` to the rows of `key`; `false` if it was there.
    ///
    /// # Errors
    /// [`IndexFull`]; then nothing has changed.
    pub fn insert(&mut self, key: &[u8], row: RowId) -> Result<bool, IndexFull> {
        if self.keys() >= KEYS_MAX {
            return Err(IndexFull);
        }
        let is_new = self.insert_below(Slot::Root, self.root, key, row);
        self.rows += usize::from(is_new);
        Ok(is_new)
    }

    fn insert_below(&mut self, slot: Slot, node: NodeRef, key: &[u8], row: RowId) -> bool {
        let (mut slot, mut at, mut rest) = (slot, node, key);
        while let Some(node) = self.nodes.inner(at) {
            let header = *node.header();
            let prefix = self.strings.get(&header.prefix);
            let common = common_bytes(prefix, rest);
            if common < prefix.len() {
                self.split_prefix((slot, at), common, rest, row);
                return true;
            }
            let Some((&byte, tail)) = rest[common..].split_first() else {
                if !header.own.is_none() {
                    return self.add_row(header.own, row);
                }
                let leaf = self.new_leaf(&[], row);
                self.set_own(at, leaf);
                return true;
            };
            let child = node.find(byte);
            if child.is_none() {
                let leaf = self.new_leaf(tail, row);
                self.add_child((slot, at), byte, leaf);
                return true;
            }
            (slot, at, rest) = (Slot::Child(at, byte), child, tail);
        }
        if at.is_none() {
            let leaf = self.new_leaf(rest, row);
            self.set(slot, leaf);
            return true;
        }
        let leaf = self.nodes.leaf(at);
        if self.strings.is(&leaf.suffix, rest) {
            return self.add_row(at, row);
        }
        let suffix = self.strings.get(&leaf.suffix);
        let common = common_bytes(suffix, rest);
        self.split_leaf((slot, at), common, rest, row);
        true
    }

    /// Puts an inner node over a leaf, because another key goes the same way for `common` bytes.
    fn split_leaf(&mut self, (slot, at): (Slot, NodeRef), common: usize, rest: &[u8], row: RowId) {
        let leaf = *self.nodes.leaf(at);
        let suffix = self.strings.get(&leaf.suffix).to_vec();
        let prefix = self.strings.insert(&[&suffix[..common]]);
        let parent = self.nodes.insert(Kind::Node4, Header::new(prefix));
        let whole = suffix.len().min(common + 1);
        self.nodes.leaf_mut(at).suffix = self.strings.cut(leaf.suffix, whole);
        self.hang(parent, suffix.get(common).copied(), at);
        self.hang_new(parent, &rest[common..], row);
        self.set(slot, parent);
    }

    /// Puts an inner node over another one, because a key leaves its prefix after `common` bytes.
    fn split_prefix(
        &mut self,
        (slot, at): (Slot, NodeRef),
        common: usize,
        rest: &[u8],
        row: RowId,
    ) {
        let Some(node) = self.nodes.inner(at) else {
            return;
        };
        let old = node.header().prefix;
        let whole = self.strings.get(&old).to_vec();
        let prefix = self.strings.insert(&[&whole[..common]]);
        let parent = self.nodes.insert(Kind::Node4, Header::new(prefix));
        let cut = self.strings.cut(old, common + 1);
        self.set_prefix(at, cut);
        self.hang(parent, Some(whole[common]), at);
        self.hang_new(parent, &rest[common..], row);
        self.set(slot, parent);
    }

    /// Hangs a leaf for `rest` below a node with room.
    fn hang_new(&mut self, parent: NodeRef, rest: &[u8], row: RowId) {
        let (byte, tail) = match rest.split_first() {
            Some((&byte, tail)) => (Some(byte), tail),
            None => (None, rest),
        };
        let leaf = self.new_leaf(tail, row);
        self.hang(parent, byte, leaf);
    }

    /// Hangs a node below one with room, at `byte` or as its own leaf.
    fn hang(&mut self, parent: NodeRef, byte: Option<u8>, child: NodeRef) {
        if let Some(node) = self.nodes.inner_mut(parent) {
            match byte {
                Some(byte) => node.add(byte, child),
                None => node.header_mut().own = child,
            }
        }
    }

    fn new_leaf(&mut self, suffix: &[u8], row: RowId) -> NodeRef {
        let suffix = self.strings.insert(&[suffix]);
        self.nodes.insert_leaf(Leaf { rows: RowSet::one(row), suffix })
    }

    fn add_row(&mut self, leaf: NodeRef, row: RowId) -> bool {
        self.lists.insert(&mut self.nodes.leaf_mut(leaf).rows, row)
    }

    /// Adds a child, to a larger copy of the node if it is full.
    fn add_child(&mut self, (slot, at): (Slot, NodeRef), byte: u8, child: NodeRef) {
        let count = self.nodes.inner(at).map_or(0, |node| node.header().count);
        let at = match usize::from(count) < at.kind().room() {
            true => at,
            false => self.resize((slot, at), at.kind().larger()),
        };
        self.hang(at, Some(byte), child);
    }

    /// Replaces an inner node by one of another size.
    fn resize(&mut self, (slot, at): (Slot, NodeRef), kind: Kind) -> NodeRef {
        let Some(node) = self.nodes.inner(at) else {
            return at;
        };
        let header = *node.header();
        let mut children = Vec::with_capacity(header.count.into());
        let mut from = Some(0);
        while let Some((byte, child)) = from.and_then(|from| node.at_or_above(from)) {
            children.push((byte, child));
            from = byte.checked_add(1);
        }
        let copy = self.nodes.insert(kind, header);
        children.iter().for_each(|&(byte, child)| self.hang(copy, Some(byte), child));
        self.nodes.remove(at);
        self.set(slot, copy);
        copy
    }

    fn set(&mut self, slot: Slot, node: NodeRef) {
        match slot {
            Slot::Root => self.root = node,
            Slot::Child(parent, byte) => {
                if let Some(parent) = self.nodes.inner_mut(parent) {
                    parent.replace(byte, node);
                }
            }
        }
    }

    fn set_own(&mut self, node: NodeRef, leaf: NodeRef) {
        if let Some(node) = self.nodes.inner_mut(node) {
            node.header_mut().own = leaf;
        }
    }

    fn set_prefix(&mut self, node: NodeRef, prefix: Short) {
        if let Some(node) = self.nodes.inner_mut(node) {
            node.header_mut().prefix = prefix;
        }
    }

    /// Takes `row` out of the rows of `key`; `false` if it was not there.
    pub fn remove(&mut self, key: &[u8], row: RowId) -> bool {
        let (mut slot, mut at, mut rest) = (Slot::Root, self.root, key);
        // The inner node above `at`, its slot, and the byte of `at`, if it is not its own leaf.
        let mut above = None;
        while let Some(node) = self.nodes.inner(at) {
            let header = node.header();
            let Some(after) = self.strings.strip(&header.prefix, rest) else {
                return false;
            };
            let inner = (slot, at);
            match after.split_first() {
                None => {
                    (at, rest) = (header.own, after);
                    above = Some((inner, None));
                }
                Some((&byte, tail)) => {
                    slot = Slot::Child(at, byte);
                    (at, rest) = (node.find(byte), tail);
                    above = Some((inner, Some(byte)));
                }
            }
        }
        if at.is_none() || self.strings.get(&self.nodes.leaf(at).suffix) != rest {
            return false;
        }
        match self.lists.remove(&mut self.nodes.leaf_mut(at).rows, row) {
            Removed::No => return false,
            Removed::Yes => {}
            Removed::Last => self.remove_leaf(at, above),
        }
        self.rows -= 1;
        true
    }

    fn remove_leaf(&mut self, leaf: NodeRef, above: Option<((Slot, NodeRef), Option<u8>)>) {
        let empty = Leaf { rows: RowSet::one(RowId(0)), suffix: Short::default() };
        let gone = self.nodes.leaves.remove(leaf.place(), empty);
        self.strings.remove(gone.suffix);
        let Some(((slot, parent), byte)) = above else {
            self.root = NodeRef::NONE;
            return;
        };
        match byte {
            None => self.set_own(parent, NodeRef::NONE),
            Some(byte) => {
                if let Some(node) = self.nodes.inner_mut(parent) {
                    node.remove(byte);
                }
            }
        }
        self.shrink(slot, parent);
    }

    /// Gives an inner node that lost a child a smaller size, or its place to its only child.
    fn shrink(&mut self, slot: Slot, at: NodeRef) {
        let Some(node) = self.nodes.inner(at) else {
            return;
        };
        let header = *node.header();
        let only = match (header.count, header.own.is_none()) {
            (0, _) => Some((None, header.own)),
            (1, true) => node.at_or_above(0).map(|(byte, child)| (Some(byte), child)),
            _ => None,
        };
        let Some((byte, child)) = only else {
            let kind = at.kind().shrunk(header.count.into());
            if kind != at.kind() {
                self.resize((slot, at), kind);
            }
            return;
        };
        let prefix = self.strings.get(&header.prefix).to_vec();
        let front = [&prefix[..], byte.as_slice()];
        match self.nodes.inner(child).map(|node| node.header().prefix) {
            Some(old) => {
                let longer = self.strings.extend_front(&front, old);
                self.set_prefix(child, longer);
            }
            None => {
                let old = self.nodes.leaf(child).suffix;
                self.nodes.leaf_mut(child).suffix = self.strings.extend_front(&front, old);
            }
        }
        self.strings.remove(header.prefix);
        self.nodes.remove(at);
        self.set(slot, child);
    }
}

/// Returns how many bytes `a` and `b` have in common at their beginning.
#[inline]
fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
