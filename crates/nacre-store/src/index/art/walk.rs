//! Walking the tree in the order of the keys, in both directions.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

use nacre_pmem::structure::KeyBounds;

use super::node::{Inner, Kind, NodeRef};
use super::tree::ArtIndex;
use crate::index::row_set::Rows;

/// Place in a node before the first child: that of its own leaf. The child of byte `b` is at
/// `b + 1`.
const OWN: i16 = 0;

/// Place in a node of its last child.
const LAST: i16 = 256;

/// The order in which keys are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

/// A node on the way from the root to where the walk is.
#[derive(Debug)]
struct Frame {
    node: NodeRef,
    /// The place in the node to look at next.
    place: i16,
    /// Bytes of the key down to and with the node's prefix; to a leaf, without its suffix.
    key_bytes: usize,
}

struct Walk<'a> {
    index: &'a ArtIndex,
    direction: Direction,
    frames: &'a mut Vec<Frame>,
    key: &'a mut Vec<u8>,
}

/// Memory that one walk leaves to the next one.
#[derive(Debug, Default)]
pub(in crate::index) struct WalkRoom {
    frames: Vec<Frame>,
    key: Vec<u8>,
}

impl WalkRoom {
    /// Gives back memory beyond some bytes.
    pub(in crate::index) fn shrink(&mut self, kept_bytes: usize) {
        self.frames.clear();
        self.frames.shrink_to(kept_bytes / size_of::<Frame>());
        self.key.clear();
        self.key.shrink_to(kept_bytes);
    }
}

impl ArtIndex {
    /// Calls `visit` with each key within `bounds` and its rows, until it breaks.
    pub fn range(
        &self,
        bounds: KeyBounds<'_>,
        direction: Direction,
        visit: impl FnMut(&[u8], Rows<'_>) -> ControlFlow<()>,
    ) {
        self.range_in(&mut WalkRoom::default(), bounds, direction, visit);
    }

    /// As [`ArtIndex::range`], in memory that is there.
    pub(in crate::index) fn range_in(
        &self,
        room: &mut WalkRoom,
        bounds: KeyBounds<'_>,
        direction: Direction,
        mut visit: impl FnMut(&[u8], Rows<'_>) -> ControlFlow<()>,
    ) {
        let (from, to) = match direction {
            Direction::Ascending => bounds,
            Direction::Descending => (bounds.1, bounds.0),
        };
        let WalkRoom { frames, key } = room;
        frames.clear();
        key.clear();
        let mut walk = Walk { index: self, direction, frames, key };
        match from {
            Bound::Unbounded => walk.push(self.root),
            Bound::Included(key) | Bound::Excluded(key) => walk.seek(key),
        }
        let mut excluded = match from {
            Bound::Excluded(key) => Some(key),
            _ => None,
        };
        while let Some(rows) = walk.next() {
            // Only the first key can be this one.
            if excluded.take() == Some(walk.key.as_slice()) {
                continue;
            }
            if walk.is_past(to) || visit(walk.key, rows).is_break() {
                return;
            }
        }
    }
}

impl<'a> Walk<'a> {
    /// Goes down to `node`, of which everything is to be visited.
    fn push(&mut self, node: NodeRef) {
        let first = match self.direction {
            Direction::Ascending => OWN,
            Direction::Descending => LAST,
        };
        self.push_at(node, first);
    }

    fn push_at(&mut self, node: NodeRef, place: i16) {
        if node.is_none() {
            return;
        }
        let index = self.index;
        if let Some(inner) = index.nodes.inner(node) {
            self.key.extend_from_slice(index.strings.get(&inner.header().prefix));
        }
        self.frames.push(Frame { node, place, key_bytes: self.key.len() });
    }

    /// Goes to the first key that is `key` or past it, in the direction of the walk.
    fn seek(&mut self, key: &[u8]) {
        let (index, mut at, mut rest) = (self.index, self.index.root, key);
        while let Some(node) = index.nodes.inner(at) {
            let prefix = index.strings.get(&node.header().prefix);
            let Some(after) = rest.strip_prefix(prefix) else {
                if self.is_wanted(prefix.cmp(rest)) {
                    self.push(at);
                }
                return;
            };
            let Some((&byte, tail)) = after.split_first() else {
                // Only the node's own leaf is not past the key.
                match self.direction {
                    Direction::Ascending => self.push(at),
                    Direction::Descending => self.push_at(at, OWN),
                }
                return;
            };
            self.push_at(at, place_after(i16::from(byte) + 1, self.direction));
            self.key.push(byte);
            (at, rest) = (node.find(byte), tail);
        }
        if at.kind() == Kind::Leaf {
            let suffix = index.strings.get(&index.nodes.leaf(at).suffix);
            if self.is_wanted(suffix.cmp(rest)) {
                self.push(at);
            }
        }
    }

    /// Whether keys that compare so with the first wanted key are to be visited.
    fn is_wanted(&self, order: Ordering) -> bool {
        match self.direction {
            Direction::Ascending => order.is_ge(),
            Direction::Descending => order.is_le(),
        }
    }

    /// Whether the key is past the end `to`.
    fn is_past(&self, to: Bound<&[u8]>) -> bool {
        let (Bound::Included(end) | Bound::Excluded(end)) = to else {
            return false;
        };
        let order = self.key.as_slice().cmp(end);
        let past = match self.direction {
            Direction::Ascending => Ordering::Greater,
            Direction::Descending => Ordering::Less,
        };
        order == past || order.is_eq() && matches!(to, Bound::Excluded(_))
    }

    /// Returns the rows of the next key, which `key` is then.
    fn next(&mut self) -> Option<Rows<'a>> {
        let index = self.index;
        loop {
            let frame = self.frames.last_mut()?;
            self.key.truncate(frame.key_bytes);
            let Some(node) = index.nodes.inner(frame.node) else {
                let leaf = frame.node;
                self.frames.pop();
                return Some(self.enter_leaf(leaf));
            };
            let Some((place, child)) = find(node, frame.place, self.direction) else {
                self.frames.pop();
                continue;
            };
            frame.place = place_after(place, self.direction);
            if place != OWN {
                self.key.push((place - 1) as u8);
            }
            // Most children are leaves, and do not need a frame.
            if child.kind() == Kind::Leaf {
                return Some(self.enter_leaf(child));
            }
            self.push(child);
        }
    }

    fn enter_leaf(&mut self, leaf: NodeRef) -> Rows<'a> {
        let leaf = self.index.nodes.leaf(leaf);
        self.key.extend_from_slice(self.index.strings.get(&leaf.suffix));
        self.index.lists.rows(leaf.rows)
    }
}

/// Returns the place that comes after `place`.
fn place_after(place: i16, direction: Direction) -> i16 {
    match direction {
        Direction::Ascending => place + 1,
        Direction::Descending => place - 1,
    }
}

/// Returns the child at `place` or the next one that is there.
fn find(node: &dyn Inner, place: i16, direction: Direction) -> Option<(i16, NodeRef)> {
    let own = Some((OWN, node.header().own)).filter(|(_, leaf)| !leaf.is_none());
    let at = |(byte, child)| (i16::from(byte) + 1, child);
    match direction {
        Direction::Ascending => {
            let above = |place: i16| u8::try_from(place - 1).ok().and_then(|b| node.at_or_above(b));
            match place {
                OWN => own.or_else(|| node.at_or_above(0).map(at)),
                _ => above(place).map(at),
            }
        }
        Direction::Descending => {
            let below = u8::try_from(place - 1).ok().and_then(|b| node.at_or_below(b));
            below.map(at).or(own.filter(|_| place >= OWN))
        }
    }
}
