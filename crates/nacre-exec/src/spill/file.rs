//! Files of one writer and any number of readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::share::SpillCounters;
use super::space::{SpillHandle, SpillSpace};
use crate::error::ExecResult;

/// A file without a name.
#[derive(Debug)]
pub(super) struct SpillFile {
    space: Arc<SpillSpace>,
    handle: Box<dyn SpillHandle>,
    counters: Arc<SpillCounters>,
    /// Bytes of the limit that it has taken; written by its writer, read when it is dropped.
    bytes: AtomicU64,
}

/// A part of a file, which lives as long as there is one.
#[derive(Clone, Debug)]
pub(crate) struct SpillExtent {
    file: Arc<SpillFile>,
    offset: u64,
    bytes: usize,
}

/// Appends to a file of its own.
#[derive(Debug)]
pub(crate) struct SpillWriter {
    file: Arc<SpillFile>,
    /// Bytes that are not in the file yet.
    buffer: Vec<u8>,
    flushed: u64,
    piece_bytes: usize,
}

impl SpillFile {
    pub(super) fn new(
        space: &Arc<SpillSpace>,
        handle: Box<dyn SpillHandle>,
        counters: &Arc<SpillCounters>,
    ) -> Self {
        counters.note_file();
        let (space, counters) = (Arc::clone(space), Arc::clone(counters));
        Self { space, handle, counters, bytes: AtomicU64::new(0) }
    }

    fn write(&self, bytes: &[u8], offset: u64) -> ExecResult<()> {
        self.space.take_bytes(bytes.len() as u64)?;
        // ORDERING: see the field.
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let written = self.handle.write_at(bytes, offset);
        written.map_err(|error| self.space.failed("write", error))?;
        self.counters.note_bytes(bytes.len());
        Ok(())
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.give_back(*self.bytes.get_mut());
        self.space.note_closed();
    }
}

impl SpillExtent {
    /// Replaces `out` by its bytes.
    ///
    /// # Errors
    /// [`crate::ExecError::SpillFailed`].
    pub(crate) fn read(&self, out: &mut Vec<u8>) -> ExecResult<()> {
        out.clear();
        out.resize(self.bytes, 0);
        let read = self.file.handle.read_at(out, self.offset);
        read.map_err(|error| self.file.space.failed("read", error))
    }

    /// Returns its bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl SpillWriter {
    pub(super) fn new(file: Arc<SpillFile>, piece_bytes: usize) -> Self {
        Self { file, buffer: Vec::new(), flushed: 0, piece_bytes }
    }

    /// Appends bytes, which an extent names that begins and ends at [`SpillWriter::position`].
    ///
    /// # Errors
    /// [`crate::ExecError::DiskFull`], [`crate::ExecError::SpillFailed`].
    pub(crate) fn put(&mut self, bytes: &[u8]) -> ExecResult<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < self.piece_bytes {
            return Ok(());
        }
        self.write_buffer()
    }

    /// Returns where the next byte goes.
    pub(crate) fn position(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Returns the extent from `start` to the end; it can be read after [`SpillWriter::flush`].
    pub(crate) fn extent_from(&self, start: u64) -> SpillExtent {
        let bytes = (self.position() - start) as usize;
        SpillExtent { file: Arc::clone(&self.file), offset: start, bytes }
    }

    /// Writes what is left, and gives its memory back.
    ///
    /// # Errors
    /// As [`SpillWriter::put`].
    pub(crate) fn flush(&mut self) -> ExecResult<()> {
        self.write_buffer()?;
        self.buffer = Vec::new();
        Ok(())
    }

    fn write_buffer(&mut self) -> ExecResult<()> {
        self.file.write(&self.buffer, self.flushed)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
