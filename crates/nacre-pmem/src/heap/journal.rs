//! What the running transaction changed in the heap's DRAM, until its outcome is known.

use super::allocator::{Heap, Span};
use super::class::SPAN_BYTES;
use super::line::{self, Bits};
use crate::set::PoolSet;

/// A change that a rollback reverses. What was freed stays taken until the commit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    TookSmall { head: u32, index: u32 },
    TookLarge { head: u32 },
    FreedSmall { head: u32, index: u32 },
    FreedLarge { head: u32 },
    MovedRoot { old: u64 },
}

impl Heap {
    /// Follows the outcome of the transaction that the journal belongs to, unless it still runs.
    pub(super) fn resolve(&mut self, set: &PoolSet) {
        if self.journal.is_empty() {
            return;
        }
        let Some(is_committed) = set.log.outcome(self.journal_id) else {
            return;
        };
        let mut journal = std::mem::take(&mut self.journal);
        if is_committed {
            journal.iter().for_each(|change| self.complete(change));
        } else {
            journal.iter().rev().for_each(|change| self.reverse(change));
        }
        journal.clear();
        self.journal = journal;
    }

    /// Hands what was freed to later transactions.
    fn complete(&mut self, change: &Change) {
        match *change {
            Change::FreedSmall { head, index } => self.release_small(head, index),
            Change::FreedLarge { head } => self.release_large(head),
            Change::TookSmall { .. } | Change::TookLarge { .. } | Change::MovedRoot { .. } => {}
        }
    }

    fn reverse(&mut self, change: &Change) {
        match *change {
            Change::MovedRoot { old } => self.root = old,
            Change::TookSmall { head, index } => {
                if let Some(group) = self.groups.get_mut(&head) {
                    line::clear_bit(&mut group.line, index);
                    self.used_bytes -= group.shape().extent_bytes;
                }
                self.release_small(head, index);
            }
            Change::TookLarge { head } => {
                if let Some(large) = self.large.get(&head) {
                    self.used_bytes -= u64::from(large.spans) * SPAN_BYTES;
                }
                self.release_large(head);
            }
            Change::FreedSmall { head, index } => {
                if let Some(group) = self.groups.get_mut(&head) {
                    line::set_bit(&mut group.line, index);
                    self.used_bytes += group.shape().extent_bytes;
                }
            }
            Change::FreedLarge { head } => {
                if let Some(large) = self.large.get_mut(&head) {
                    large.is_freed = false;
                    self.used_bytes += u64::from(large.spans) * SPAN_BYTES;
                }
            }
        }
    }

    /// Makes an extent available, and the spans of its group if it was the last one.
    fn release_small(&mut self, head: u32, index: u32) {
        let Some(group) = self.groups.get_mut(&head) else {
            debug_assert!(false, "no group at span {head}");
            return;
        };
        line::clear_bit(&mut group.taken, index);
        let (class, spans) = (group.class as usize, group.shape().spans);
        if group.taken == Bits::default() {
            self.groups.remove(&head);
            self.partial[class].remove(&head);
            self.release_spans(head, spans);
        } else {
            self.partial[class].insert(head);
        }
    }

    fn release_large(&mut self, head: u32) {
        if let Some(large) = self.large.remove(&head) {
            self.release_spans(head, large.spans);
        }
    }

    fn release_spans(&mut self, head: u32, spans: u32) {
        self.spans[head as usize..][..spans as usize].fill(Span::Free);
        self.free.add(head, spans);
    }
}
