//! Which blocks a query read, and how closely it looks at them.
//!
//! A lost page is noticed at the vector that wanted it. Some changes tell nobody: a file that
//! another program cuts and grows again reads as zeros, and one that it writes to as something
//! else. A first run of a query notes the blocks that it opens and looks at their files once, at
//! the end. Replicas that changed are reported, and the query runs again; that run is careful: it
//! looks at the file after every vector, a system call each, so every vector that it hands on is
//! what was verified.

use std::sync::{Mutex, PoisonError};

use nacre_store::{BlockHandle, Chunk, Error};

/// The blocks that one run of a query opened.
#[derive(Debug, Default)]
pub(crate) struct BlockReads {
    is_careful: bool,
    noted: Mutex<NotedBlocks>,
}

#[derive(Debug, Default)]
struct NotedBlocks {
    /// One block of every mapping of a pool.
    mappings: Vec<BlockHandle>,
    /// `None` where a block was given up.
    blocks: Vec<Option<NotedBlock>>,
}

#[derive(Debug)]
struct NotedBlock {
    chunk: Chunk,
    column: usize,
    handle: BlockHandle,
}

/// The place of a note.
#[derive(Debug)]
pub(super) struct BlockNote(usize);

impl BlockReads {
    /// Makes the notes of a run that looks at files after every vector.
    pub(crate) fn careful() -> Self {
        Self { is_careful: true, ..Self::default() }
    }

    /// Returns an error if what was just read from `handle` is not what was verified, as far as
    /// this run looks.
    pub(super) fn check(&self, handle: &BlockHandle) -> Result<(), Error> {
        if self.is_careful { handle.check_file() } else { handle.check() }
    }

    /// Notes that the query reads `column` of `chunk` from `handle`.
    pub(super) fn note(&self, chunk: &Chunk, column: usize, handle: &BlockHandle) -> BlockNote {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        // Scans go through a pool chunk by chunk, so the last one is the likely one.
        if !noted.mappings.iter().rev().any(|mapping| mapping.same_mapping(handle)) {
            noted.mappings.push(handle.note());
        }
        let block = NotedBlock { chunk: chunk.clone(), column, handle: handle.note() };
        noted.blocks.push(Some(block));
        BlockNote(noted.blocks.len() - 1)
    }

    /// Takes back a note of a block that is given up, unless values were taken from it and its
    /// file was changed: then they may be wrong without anything having told.
    pub(super) fn forget(&self, note: BlockNote, handle: &BlockHandle, was_read: bool) {
        if was_read && !self.is_careful && !handle.is_as_mapped() {
            return;
        }
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.blocks[note.0] = None;
    }

    /// Looks at the files of all blocks, reports those that are not what they were, and returns
    /// the first of them as an error. A careful run has nothing to look back for.
    ///
    /// # Errors
    /// [`Error::Lost`] or [`Error::Damaged`]: run the query again, carefully.
    pub(crate) fn look_back(&self) -> Result<(), Error> {
        if self.is_careful {
            return Ok(());
        }
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        // What a file lost is noted; whether it concerns a block is asked next.
        let is_changed = |mapping: &BlockHandle| mapping.is_faulted() || !mapping.is_as_mapped();
        if !noted.mappings.iter().any(is_changed) {
            return Ok(());
        }
        let mut first = Ok(());
        for block in noted.blocks.iter().flatten() {
            if let Err(error) = block.handle.check_file() {
                block.chunk.report_lost(block.column, &block.handle);
                first = first.and(Err(error));
            }
        }
        first
    }
}
