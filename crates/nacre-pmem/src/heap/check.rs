//! Verification of a heap's persistent state, independent of what a [`Heap`] keeps in DRAM.

use super::allocator::{Extent, Heap};
use super::class::{CLASSES, SPAN_BYTES};
use super::line::{self, Run};
use super::open;
use crate::error::{Error, ErrorKind, Result};
use crate::set::PoolSet;

/// Groups of one size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassReport {
    /// Bytes of an extent.
    pub extent_bytes: u64,
    /// Groups of this class.
    pub groups: u64,
    /// Extents that are handed out.
    pub used: u64,
    /// Extents that could be.
    pub free: u64,
}

/// What a check found on media.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapReport {
    /// Size classes, smallest first.
    pub classes: Vec<ClassReport>,
    /// Every extent that is handed out, by offset.
    pub extents: Vec<Extent>,
    /// Bytes of these extents.
    pub used_bytes: u64,
    /// Bytes in runs that belong to no group and no extent.
    pub free_run_bytes: u64,
    /// Bytes of the largest such run, neighbours taken together.
    pub largest_free_bytes: u64,
    /// The root extent.
    pub root: Option<u64>,
}

impl Heap {
    /// Reads the whole heap of `set` and verifies header, root, and every line that counts.
    ///
    /// # Errors
    /// As for [`Heap::open`]; `Corrupt` also if the root is no extent.
    pub fn check(set: &PoolSet) -> Result<HeapReport> {
        let base = open::base_of(set);
        let header = open::read_header(set, base)?;
        let first = base + header.first_span_at();
        let mut report = HeapReport {
            classes: CLASSES
                .iter()
                .map(|class| ClassReport { extent_bytes: class.extent_bytes, ..Default::default() })
                .collect(),
            root: open::read_root(set, base)?,
            ..HeapReport::default()
        };
        let mut free_in_a_row = 0;
        open::walk(set, base, header, |span, run| {
            let bytes = u64::from(run.spans()) * SPAN_BYTES;
            if matches!(run, Run::Free { .. }) {
                free_in_a_row += bytes;
                report.free_run_bytes += bytes;
                report.largest_free_bytes = report.largest_free_bytes.max(free_in_a_row);
            } else {
                free_in_a_row = 0;
                report.add(first + u64::from(span) * SPAN_BYTES, bytes, &run);
            }
        })?;
        report.used_bytes = report.extents.iter().map(|extent| extent.bytes).sum();
        report.check_root()?;
        Ok(report)
    }
}

impl HeapReport {
    fn add(&mut self, offset: u64, bytes: u64, run: &Run) {
        let Run::Group { class, bits } = run else {
            return self.extents.push(Extent { offset, bytes });
        };
        let shape = CLASSES[*class as usize];
        let class = &mut self.classes[*class as usize];
        class.groups += 1;
        for index in 0..shape.extents {
            if line::is_set(bits, index) {
                class.used += 1;
                let offset = offset + u64::from(index) * shape.extent_bytes;
                self.extents.push(Extent { offset, bytes: shape.extent_bytes });
            } else {
                class.free += 1;
            }
        }
    }

    fn check_root(&self) -> Result<()> {
        let Some(root) = self.root else { return Ok(()) };
        if self.extents.binary_search_by_key(&root, |extent| extent.offset).is_err() {
            let problem = format!("its root at offset {root} is no extent");
            return Err(Error::new(ErrorKind::Corrupt, "heap", problem, "set another root"));
        }
        Ok(())
    }
}
