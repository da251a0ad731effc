//! Copies of hot chunks without versions: what everybody sees of them.
//!
//! A chunk that holds no version looks the same to every snapshot that there is, and to all that
//! are to come until somebody writes to it. Its rows can be copied a few at a time, with the latch
//! given to others in between; the count of its writes tells whether the copy is good.

use std::ops::Range;

use nacre_column::ColumnBuffer;

use crate::hot::chunk::HotChunk;
use crate::hot::rows::HotRows;

/// Rows that are copied before the latch is given to others.
const COPIED_ROWS: usize = 1_024;

/// A chunk as it was when it held no version.
#[derive(Debug)]
pub(crate) struct Settled {
    writes: u64,
    /// A set bit means that the row exists.
    live: Vec<u64>,
}

impl Settled {
    /// Returns how many rows exist.
    pub(crate) fn rows(&self) -> usize {
        self.live.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns which rows exist.
    pub(crate) fn into_live(self) -> Vec<u64> {
        self.live
    }

    /// Returns the runs of rows that exist among `rows`.
    fn runs(&self, rows: Range<usize>) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for row in rows.filter(|row| is_set(&self.live, *row)) {
            match runs.last_mut() {
                Some(run) if run.end == row => run.end = row + 1,
                _ => runs.push(row..row + 1),
            }
        }
        runs
    }
}

fn is_set(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

impl HotChunk {
    /// Returns what the chunk holds if it holds no version and is not frozen.
    pub(crate) fn settled(&self) -> Option<Settled> {
        self.with(|rows| {
            let is_settled = rows.versions.is_empty() && !rows.is_sealed();
            is_settled.then(|| {
                let mut live = vec![0_u64; rows.len().div_ceil(64)];
                let there = (0..rows.len()).filter(|row| !rows.is_deleted(*row));
                there.for_each(|row| live[row / 64] |= 1 << (row % 64));
                Settled { writes: rows.writes(), live }
            })
        })
    }

    /// Whether nobody wrote to the chunk since.
    pub(crate) fn is_still(&self, settled: &Settled) -> bool {
        self.with(|rows| is_same(rows, settled))
    }

    /// Copies all columns of the rows that exist; `None` if somebody writes meanwhile.
    pub(crate) fn copy(&self, settled: &Settled) -> Option<Vec<ColumnBuffer>> {
        let mut buffers: Vec<ColumnBuffer> =
            self.types().iter().copied().map(ColumnBuffer::new).collect();
        let rows = settled.live.len() * 64;
        for start in (0..rows).step_by(COPIED_ROWS) {
            let runs = settled.runs(start..(start + COPIED_ROWS).min(rows));
            let is_copied = self.with(|rows| {
                let is_good = is_same(rows, settled);
                if is_good {
                    for (column, buffer) in buffers.iter_mut().enumerate() {
                        let values = rows.column(column);
                        runs.iter().for_each(|run| values.copy_to(run.clone(), buffer));
                    }
                }
                is_good
            });
            if !is_copied {
                return None;
            }
        }
        Some(buffers)
    }

    /// Lets nobody write to the chunk any more, unless somebody has since.
    pub(crate) fn seal(&self, settled: &Settled) -> bool {
        self.change(|rows| {
            let is_good = is_same(rows, settled);
            if is_good {
                rows.set_sealed(true);
            }
            is_good
        })
    }

    /// Takes [`HotChunk::seal`] back.
    pub(crate) fn unseal(&self) {
        self.change(|rows| rows.set_sealed(false));
    }
}

fn is_same(rows: &HotRows, settled: &Settled) -> bool {
    rows.versions.is_empty() && !rows.is_sealed() && rows.writes() == settled.writes
}
