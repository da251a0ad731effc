//! Memory that one transaction leaves to the next one of its thread.
//!
//! A short transaction would spend a good part of its time on making and growing these buffers.

use std::cell::RefCell;

use crate::foreign_key::Queue;
use crate::index::SearchRoom;
use crate::mvcc::undo::UndoBuffer;
use crate::predicate_log::PredicateLog;
use crate::redo::RedoBuffer;
use crate::value::RowCopy;

/// Buffers that a thread keeps at most: few have more transactions at once.
const SPARES_MAX: usize = 16;

/// Bytes of redo records and of keys up to which a buffer is kept.
const KEPT_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// Buffers that nobody uses.
    #[expect(clippy::vec_box, reason = "they come and go as boxes")]
    static SPARES: RefCell<Vec<Box<Scratch>>> = const { RefCell::new(Vec::new()) };
}

/// What a transaction gathers until it ends.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What it changed.
    pub(super) undo: UndoBuffer,
    /// What the redo log gets at commit.
    pub(super) redo: RedoBuffer,
    /// What a SERIALIZABLE transaction has read.
    pub(super) reads: PredicateLog,
    /// Foreign keys that are still to be checked.
    pub(super) queue: Queue,
    /// Room for keys and searches.
    pub(crate) room: SearchRoom,
    /// Room for a row that moves.
    pub(super) moved: RowCopy,
}

impl Scratch {
    /// Returns empty buffers.
    pub(super) fn take() -> Box<Self> {
        let spare = SPARES.try_with(|spares| spares.try_borrow_mut().ok()?.pop());
        spare.ok().flatten().unwrap_or_default()
    }

    /// Leaves the buffers to the next transaction of this thread; none of the changes is needed.
    pub(super) fn give_back(mut self: Box<Self>) {
        self.undo.clear();
        self.redo.clear(KEPT_BYTES_MAX);
        self.reads.clear();
        self.queue.clear();
        self.room.shrink(KEPT_BYTES_MAX);
        self.moved.shrink(KEPT_BYTES_MAX);
        // While a thread ends there is nobody to leave them to.
        let _ = SPARES.try_with(|spares| {
            if let Ok(mut spares) = spares.try_borrow_mut()
                && spares.len() < SPARES_MAX
            {
                spares.push(self);
            }
        });
    }
}
