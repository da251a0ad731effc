//! Byte strings that are sorted by keys of their own, in files.

use std::sync::Arc;

use super::run::SortRun;
use super::spilled::{RunSpill, SpilledMerge, SpilledRun};
use crate::error::ExecResult;
use crate::memory::MemoryReservation;
use crate::spill::{OperatorSpill, SpillWriter};
use crate::value::VectorType;
use crate::vector::{ColumnVector, ResultBatch, VectorValues};

/// Bytes that come between two looks at memory.
const BYTES_BETWEEN_LOOKS: usize = 64 << 10;

/// Most bytes of a run: offsets have 32 bits.
const RUN_BYTES_MAX: usize = 256 << 20;

/// Sorts byte strings; those of equal keys stay as they came.
#[derive(Debug)]
pub(crate) struct ByteStringSort {
    spill: RunSpill,
    operator: &'static str,
    writer: SpillWriter,
    open: SortRun,
    /// The strings of `open`.
    strings: ColumnVector,
    /// Bytes that came since the last look at memory.
    bytes: usize,
    count: u64,
    runs: Vec<SpilledRun>,
    reservation: MemoryReservation,
}

impl ByteStringSort {
    /// Makes it without strings, for `operator`.
    ///
    /// # Errors
    /// Those of files.
    pub(crate) fn new(spill: &Arc<OperatorSpill>, operator: &'static str) -> ExecResult<Self> {
        let strings = ColumnVector::new(VectorType::Bytes);
        Ok(Self {
            writer: spill.create()?,
            reservation: spill.reservation(operator),
            spill: RunSpill::of_columns(Arc::clone(spill), vec![strings.clone()]),
            operator,
            open: SortRun::default(),
            strings,
            bytes: 0,
            count: 0,
            runs: Vec::new(),
        })
    }

    /// Adds a string.
    ///
    /// # Errors
    /// Those of files.
    pub(crate) fn push(&mut self, key: &[u8], string: &[u8]) -> ExecResult<()> {
        let count = self.count;
        self.open.push_row(self.open.len(), |out| {
            out.extend_from_slice(key);
            out.extend_from_slice(&count.to_be_bytes());
        });
        if let VectorValues::Bytes(strings) = &mut self.strings.values {
            strings.push(string);
        }
        self.count += 1;
        self.bytes += SortRun::ENTRY_BYTES + key.len() + string.len();
        if self.bytes < BYTES_BETWEEN_LOOKS {
            return Ok(());
        }
        self.bytes = 0;
        let bytes = self.open.bytes() + self.strings.bytes();
        if bytes <= RUN_BYTES_MAX && self.spill.operator.hold(&mut self.reservation, bytes) {
            return Ok(());
        }
        self.end_run()
    }

    fn end_run(&mut self) -> ExecResult<()> {
        let mut run = std::mem::take(&mut self.open);
        if run.len() > 0 {
            let empty = ColumnVector::new(VectorType::Bytes);
            let columns = vec![std::mem::replace(&mut self.strings, empty)];
            run.push_batch(ResultBatch { columns, rows: run.len() });
            run.sort();
            self.runs.push(self.spill.write(&[run], &mut self.writer)?);
        }
        self.reservation.resize(0)
    }

    /// Begins to hand the strings on, in order, as the only column of a merge.
    ///
    /// # Errors
    /// Those of files and of memory.
    pub(crate) fn finish(mut self) -> ExecResult<SpilledMerge> {
        self.end_run()?;
        let runs = self.spill.merge_many(std::mem::take(&mut self.runs))?;
        self.spill.merge(&runs, self.operator)
    }
}
