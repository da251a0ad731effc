//! Columns that are fetched at the end of a top-k: operators below it carry the places of rows.
//!
//! 1. The top-k says which outputs of which scans are fetched, before its input is opened.
//! 2. Such a scan fills one slot with places, which is the slot of all these outputs.
//! 3. Maps hand slots on; a join and a group carry a slot once, however many columns it is.
//!
//! ```text
//! Scan [id, name, phone]: slots 0, 3, 3       name and phone are slot 3, the places of rows
//! Join: columns 0, 1, 2 are slots 0, 1, 1     and are copied once
//! ```

use std::sync::Arc;

use crate::error::{ExecError, ExecResult};
use crate::pipeline::SlotId;
use crate::plan::{FetchedColumn, FetchedScan, ScanNode};
use crate::scan::PreparedScan;

/// Scans that hand on the places of rows.
#[derive(Debug, Default)]
pub(super) struct DeferredScans(Vec<DeferredScan>);

#[derive(Debug)]
struct DeferredScan {
    node: ScanAddress,
    outputs: Vec<usize>,
    /// Set when it is opened.
    opened: Option<Arc<PreparedScan>>,
}

/// Tells the scans of one plan apart, which stays where it is while its stages are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScanAddress(usize);

impl ScanAddress {
    fn of(node: &ScanNode) -> Self {
        Self(std::ptr::from_ref(node).addr())
    }
}

impl DeferredScans {
    /// Has scans defer columns when they are opened.
    pub(super) fn begin(&mut self, scans: &[FetchedScan<'_>]) {
        self.0.extend(scans.iter().map(|one| {
            let outputs = one.columns.iter().map(|FetchedColumn { output, .. }| *output).collect();
            DeferredScan { node: ScanAddress::of(one.scan), outputs, opened: None }
        }));
    }

    /// Returns the outputs that a scan defers.
    pub(super) fn outputs(&self, node: &ScanNode) -> &[usize] {
        let node = ScanAddress::of(node);
        self.0.iter().find(|one| one.node == node).map_or(&[], |one| &one.outputs)
    }

    /// Notes that a scan was opened.
    pub(super) fn note_opened(&mut self, node: &ScanNode, scan: &Arc<PreparedScan>) {
        let node = ScanAddress::of(node);
        if let Some(one) = self.0.iter_mut().find(|one| one.node == node) {
            one.opened = Some(Arc::clone(scan));
        }
    }

    /// Returns the last `count` scans, which have been opened, and forgets them.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if one has not.
    pub(super) fn end(&mut self, count: usize) -> ExecResult<Vec<Arc<PreparedScan>>> {
        let first = self.0.len().saturating_sub(count);
        let missing = || ExecError::internal("a scan with columns to fetch was not opened");
        self.0.drain(first..).map(|one| one.opened.ok_or_else(missing)).collect()
    }
}

/// The first column of each slot.
#[derive(Debug)]
pub(super) struct KeptColumns {
    pub(super) kept: Vec<usize>,
    /// By column: its place, or that of the one before, in `kept`.
    pub(super) places: Vec<usize>,
}

impl KeptColumns {
    /// Chooses among `columns`, whose slots are `slots`.
    pub(super) fn of(columns: &[usize], slots: &[SlotId]) -> Self {
        let (mut kept, mut places) = (Vec::<usize>::new(), Vec::with_capacity(columns.len()));
        for column in columns {
            let slot = slots.get(*column);
            let known = kept.iter().position(|own| slots.get(*own) == slot);
            places.push(known.unwrap_or(kept.len()));
            if known.is_none() {
                kept.push(*column);
            }
        }
        Self { kept, places }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_one_slot_are_kept_once() {
        let KeptColumns { kept, places } = KeptColumns::of(&[3, 1, 2, 0, 1], &[7, 5, 7, 5]);
        assert_eq!((kept, places), (vec![3, 2], vec![0, 0, 1, 1, 0]));
    }
}
