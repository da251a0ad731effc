//! The check of a whole tree.

use std::cell::RefCell;
use std::collections::HashMap;

use super::entry::{Reference, Stored};
use super::leaf::Leaf;
use super::link::LeafRef;
use super::list::Walk;
use super::separators::Seek;
use super::tree::{HybridTree, State};
use crate::error::Result;
use crate::heap::Heap;

/// What [`HybridTree::check`] has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSummary {
    /// Live entries.
    pub keys: u64,
    /// Leaves in the list.
    pub leaves: u64,
    /// Bytes of these leaves.
    pub leaf_bytes: u64,
    /// Values in extents of their own.
    pub long_values: u64,
    /// Bytes of these values.
    pub long_value_bytes: u64,
}

/// First and last key of a leaf.
type Ends = Option<(Vec<u8>, Vec<u8>)>;

/// What a leaf holds.
struct Content {
    ends: Ends,
    keys: u64,
    used: u64,
    references: Vec<Reference>,
}

impl HybridTree {
    /// Reads everything: each entry's checksum and fingerprint, the order of all keys, the links
    /// between the leaves, what the inner nodes know of them, each long value, and that the heap
    /// counts the extent of each leaf and long value once. Writers wait meanwhile.
    ///
    /// # Errors
    /// `Corrupt` naming the leaf and what is wrong with it, `Lost` if no member has its bytes; as
    /// for [`Heap::check`](crate::heap::Heap::check).
    pub fn check(&self) -> Result<TreeSummary> {
        let state = self.read();
        let report = Heap::check(&state.set)?;
        // Each leaf takes its extent out of here.
        let mut extents: HashMap<u64, u64> =
            report.extents.iter().map(|extent| (extent.offset, extent.bytes)).collect();
        extents.remove(&state.header);
        let mut summary = TreeSummary::default();
        let mut last: Option<Vec<u8>> = None;
        let mut walk = Walk::new(&state.set, state.head()?)?;
        while let Some(leaf) = walk.next(&state.set)? {
            match extents.remove(&leaf.offset()) {
                Some(bytes) if bytes >= leaf.bytes() => {}
                Some(bytes) => {
                    let problem = format!("its extent has {bytes} bytes, not {}", leaf.bytes());
                    return Err(leaf.corrupt(problem));
                }
                None => return Err(leaf.corrupt("it has no extent, or is in the list twice")),
            }
            let Content { ends, keys, references, .. } = state.check_leaf(leaf)?;
            if let Some((first, end)) = ends {
                if last.is_some_and(|last| last >= first) {
                    return Err(leaf.corrupt("its keys are not above those of the leaf before it"));
                }
                last = Some(end);
            }
            summary.long_value_bytes += state.check_values(leaf, &references, &mut extents)?;
            summary.long_values += references.len() as u64;
            summary.keys += keys;
            summary.leaves += 1;
            summary.leaf_bytes += leaf.bytes();
        }
        if let Some((offset, bytes)) = extents.into_iter().next() {
            let problem = format!("an extent of {bytes} bytes at offset {offset} belongs to none");
            let problem = problem + " of the leaves from here on, and to none of their values";
            return Err(state.head()?.corrupt(problem));
        }
        if summary.keys != state.count {
            let problem = format!("the list has {} keys, but {}", summary.keys, state.count);
            return Err(state.head()?.corrupt(problem + " were counted"));
        }
        Ok(summary)
    }
}

impl State {
    /// Checks one leaf, but not its long values.
    fn check_leaf(&self, leaf: LeafRef) -> Result<Content> {
        let content = self.with_leaf(leaf, |bytes| read_leaf(bytes, leaf))??;
        if let Some((first, last)) = &content.ends {
            for key in [first, last] {
                let place = self.inner.bounded(Seek::Of(key)).place;
                if place.leaf != leaf {
                    return Err(leaf.corrupt("the inner nodes name another leaf for its keys"));
                }
                let used = content.used;
                if place.used != used {
                    let problem = format!("its units in use are {used:#x}, not {:#x}", place.used);
                    return Err(leaf.corrupt(problem));
                }
            }
        }
        Ok(content)
    }

    /// Checks the values that a leaf refers to, takes their extents out of `extents`, and returns
    /// their bytes.
    fn check_values(
        &self,
        leaf: LeafRef,
        references: &[Reference],
        extents: &mut HashMap<u64, u64>,
    ) -> Result<u64> {
        let copy = RefCell::new(Vec::new());
        let mut sum = 0;
        for reference in references {
            let bytes = u64::from(reference.bytes);
            if extents.remove(&reference.offset).is_none_or(|extent| extent < bytes) {
                let problem = format!("value of {bytes} bytes at offset {}", reference.offset);
                return Err(leaf.corrupt(problem + " has no extent, or one that is not its own"));
            }
            self.copy_extent(leaf, *reference, &copy)?;
            sum += bytes;
        }
        Ok(sum)
    }
}

fn read_leaf(bytes: Leaf<'_>, leaf: LeafRef) -> Result<Content> {
    let (entries, used) = bytes.sorted().map_err(|damage| damage.at(leaf))?;
    if entries.windows(2).any(|pair| pair[0].key() == pair[1].key()) {
        return Err(leaf.corrupt("it has two entries of one key"));
    }
    let ends = entries.first().zip(entries.last());
    let ends = ends.map(|(first, last)| (first.key().to_vec(), last.key().to_vec()));
    let references = entries.iter().filter_map(|entry| match entry.value() {
        Stored::Extent(reference) => Some(reference),
        Stored::Inline(_) => None,
    });
    let references = references.collect();
    Ok(Content { ends, keys: entries.len() as u64, used, references })
}
