//! The linked list of leaves: walked when the tree is opened and when it is checked.

use super::inner::Place;
use super::leaf::Leaf;
use super::link::{LeafRef, Link};
use super::separators;
use super::tree::with_whole_leaf;
use crate::error::Result;
use crate::prefetch;
use crate::set::PoolSet;

/// What the list holds.
pub(super) struct LeafList {
    pub(super) first: Place,
    /// The leaves behind the first, each with the separator before it.
    pub(super) others: Vec<(Box<[u8]>, Place)>,
    /// Live entries.
    pub(super) count: u64,
    /// Empty leaves: the link that names it, the leaf, and its own next word.
    pub(super) empty: Vec<(Link, LeafRef, u64)>,
}

/// What is taken from one leaf.
struct Seen {
    first: Box<[u8]>,
    last: Box<[u8]>,
    used: u64,
    count: u64,
}

impl LeafList {
    /// Walks the list that `head` begins, which `link` names.
    ///
    /// # Errors
    /// `Corrupt` naming the leaf, if it is damaged, or the list is out of order or has no end.
    pub(super) fn read(set: &PoolSet, link: Link, head: LeafRef) -> Result<LeafList> {
        let mut places: Vec<(Box<[u8]>, Place)> = Vec::new();
        let (mut count, mut empty) = (0, Vec::new());
        let (mut link, mut last) = (link, Box::<[u8]>::default());
        let mut walk = Walk::new(set, head)?;
        while let Some(leaf) = walk.next(set)? {
            let seen = with_whole_leaf(set, leaf, |bytes| read_leaf(bytes, leaf))??;
            let Some(seen) = seen else {
                empty.push((link, leaf, walk.next_word()));
                continue;
            };
            if !places.is_empty() && seen.first <= last {
                return Err(leaf.corrupt("its keys are not above those of the leaf before it"));
            }
            let separator = separators::shortest(&last, &seen.first);
            places.push((separator, Place { leaf, used: seen.used }));
            (link, last) = (Link::behind(leaf), seen.last);
            count += seen.count;
        }
        let mut places = places.into_iter();
        let first = match places.next() {
            Some((_, place)) => place,
            // A tree without keys keeps its last leaf.
            None => Place { leaf: empty.pop().map_or(head, |(_, leaf, _)| leaf), used: 0 },
        };
        Ok(LeafList { first, others: places.collect(), count, empty })
    }
}

fn read_leaf(bytes: Leaf<'_>, leaf: LeafRef) -> Result<Option<Seen>> {
    let summary = bytes.summary().map_err(|damage| damage.at(leaf))?;
    Ok(summary.map(|summary| Seen {
        first: summary.first.into(),
        last: summary.last.into(),
        used: summary.used,
        count: summary.count,
    }))
}

/// A walk along the list that ends whatever the bytes are.
pub(super) struct Walk {
    next: Option<LeafRef>,
    /// Leaves that the data area has room for.
    rest: u64,
}

impl Walk {
    pub(super) fn new(set: &PoolSet, head: LeafRef) -> Result<Walk> {
        check_inside(set, head, head)?;
        Ok(Walk { next: Some(head), rest: (set.end_offset() - set.data_offset()) / LeafRef::MIN })
    }

    /// Returns the next leaf, whose first line and link have been checked, and starts to load the
    /// one behind it.
    pub(super) fn next(&mut self, set: &PoolSet) -> Result<Option<LeafRef>> {
        let Some(leaf) = self.next.take() else { return Ok(None) };
        if self.rest == 0 {
            return Err(leaf.corrupt("the list of leaves has no end"));
        }
        self.rest -= 1;
        let word = with_whole_leaf(set, leaf, |bytes| {
            bytes.whole_line()?;
            bytes.next_word(leaf)
        })?;
        let word = word.map_err(|damage| damage.at(leaf))?;
        if word != 0 {
            let next = LeafRef::from_word(word);
            let next = next.ok_or_else(|| leaf.corrupt(format!("next leaf {word:#x} is none")))?;
            check_inside(set, leaf, next)?;
            let bytes = set.read(next.offset(), next.bytes())?;
            prefetch::range(bytes.as_ptr(), bytes.len());
            self.next = Some(next);
        }
        Ok(Some(leaf))
    }

    /// Returns the word that names the leaf behind the one returned last.
    pub(super) fn next_word(&self) -> u64 {
        self.next.map_or(0, LeafRef::word)
    }
}

/// Checks that `next`, which `leaf` names, lies in the data area.
fn check_inside(set: &PoolSet, leaf: LeafRef, next: LeafRef) -> Result<()> {
    let end = next.offset().checked_add(next.bytes());
    if next.offset() < set.data_offset() || end.is_none_or(|end| end > set.end_offset()) {
        let problem = format!("leaf at offset {} lies outside the data area", next.offset());
        return Err(leaf.corrupt(problem));
    }
    Ok(())
}
