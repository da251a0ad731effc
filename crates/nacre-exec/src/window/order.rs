//! The rows of a window node in order, and where partitions and groups of peers begin.

use std::ops::Range;

use nacre_column::VECTOR_ROWS;

use super::plan::WindowPlan;
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::sort::{KeyPart, RunMerge, SortRun};

/// Least rows of a morsel, so that many small partitions cost no more than one.
pub(super) const MORSEL_ROWS: usize = VECTOR_ROWS;

/// Rows between two looks at whether the query is to end.
pub(super) const CHECK_ROWS: usize = 65_536;

/// Where a row is.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortedRowPlace {
    pub(super) run: u32,
    pub(super) row: u32,
}

/// All rows.
#[derive(Debug)]
pub(super) struct SortedOrder {
    pub(super) rows: Vec<SortedRowPlace>,
    /// Leading key parts that a row has in common with the one before; 0 for the first.
    common_parts: Vec<u16>,
    /// Whole partitions, together all rows.
    pub(super) morsels: Vec<Range<usize>>,
    _reservation: MemoryReservation,
}

/// Sorted runs and the order of their rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderedRows<'r> {
    pub(super) runs: &'r [SortRun],
    pub(super) order: &'r SortedOrder,
}

impl SortedOrder {
    /// Bytes of a row.
    pub(super) const ROW_BYTES: usize = size_of::<SortedRowPlace>() + size_of::<u16>();

    /// Merges sorted runs.
    ///
    /// # Errors
    /// Those of memory and of the query's control.
    pub(super) fn new(
        plan: &WindowPlan,
        runs: &[SortRun],
        control: &QueryControl,
        mut reservation: MemoryReservation,
    ) -> ExecResult<Self> {
        let count: usize = runs.iter().map(SortRun::len).sum();
        reservation.resize(count * Self::ROW_BYTES)?;
        if count > u32::MAX as usize || plan.parts.len() > usize::from(u16::MAX) {
            // Rows of a partition have numbers of 32 bits.
            return Err(ExecError::OutOfMemory {
                operator: "window".into(),
                setting: "the number of its rows",
                bytes: count as u64,
                bytes_max: u32::MAX.into(),
            });
        }
        let (mut rows, mut common_parts) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut morsels: Vec<Range<usize>> = Vec::new();
        let mut merge = RunMerge::new(runs);
        let mut before: &[u8] = &[];
        while let Some(head) = merge.pop(runs) {
            let at = rows.len();
            if at % CHECK_ROWS == CHECK_ROWS - 1 {
                control.check()?;
            }
            let key = runs[head.run].key_at(head.row);
            let common = if at == 0 { 0 } else { KeyPart::common_parts(&plan.parts, before, key) };
            before = key;
            match morsels.last_mut() {
                Some(last) if common >= plan.unit_keys || last.len() < MORSEL_ROWS => {
                    last.end += 1;
                }
                _ => morsels.push(at..at + 1),
            }
            common_parts.push(common as u16);
            rows.push(SortedRowPlace { run: head.run as u32, row: head.row as u32 });
        }
        Ok(Self { rows, common_parts, morsels, _reservation: reservation })
    }

    /// Returns the end of the rows after `start` that are equal to it in the first `keys` keys, at
    /// most `end`.
    pub(super) fn end_of_equal(&self, start: usize, end: usize, keys: usize) -> usize {
        let others = self.common_parts[start + 1..end].iter();
        let equal = others.take_while(|common| usize::from(**common) >= keys).count();
        start + 1 + equal
    }

    /// Returns how many key parts a row has in common with the one before.
    pub(super) fn common_parts(&self, row: usize) -> usize {
        self.common_parts[row].into()
    }

    /// Whether a row is equal to the one before in the first `keys` keys.
    pub(super) fn is_equal_to_last(&self, row: usize, keys: usize) -> bool {
        usize::from(self.common_parts[row]) >= keys
    }
}
