//! What a transaction still has to check.
//!
//! # Invariants
//! 1. What was checked is dropped, unless a savepoint was taken before: going back to it may undo
//!    what made the check succeed.

use std::sync::Arc;

use super::links::ForeignKey;
use crate::id::RowId;
use crate::value::Value;

/// Something that a write brought about.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A row of the child has other values in its referring columns than before, if it was there.
    Refers { key: Arc<ForeignKey>, row: RowId },
    /// A row of the parent had `old` in its referenced columns, and is gone or has `new` there.
    Lost { key: Arc<ForeignKey>, old: Vec<Value>, new: Option<Vec<Value>> },
}

/// Events in their order.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    events: Vec<Event>,
    /// So many of them have been checked.
    checked: usize,
    /// Whether a savepoint was taken while there were events.
    is_marked: bool,
}

/// How long a queue was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueMark {
    events: usize,
    checked: usize,
}

impl Queue {
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.checked = 0;
        self.is_marked = false;
    }

    /// Whether all was checked.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.checked == self.events.len()
    }

    /// Returns the events from `start` on.
    pub(super) fn since(&self, start: usize) -> Vec<Event> {
        self.events[start.min(self.events.len())..].to_vec()
    }

    pub(super) fn checked(&self) -> usize {
        self.checked
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Notes that all was checked.
    pub(super) fn settle(&mut self) {
        if !self.is_marked {
            self.events.clear();
        }
        self.checked = self.events.len();
    }

    pub(crate) fn mark(&mut self) -> QueueMark {
        self.is_marked |= !self.events.is_empty();
        QueueMark { events: self.events.len(), checked: self.checked }
    }

    pub(crate) fn back_to(&mut self, mark: QueueMark) {
        self.events.truncate(mark.events);
        self.checked = mark.checked.min(self.events.len());
    }
}
