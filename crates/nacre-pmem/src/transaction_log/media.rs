//! The only way of this module to the members: stores that do not settle, and fences.

use crate::error::Result;
use crate::set::PoolSet;

/// Stores `source` in every member and starts its write-back.
#[inline]
pub(super) fn store(set: &mut PoolSet, offset: u64, source: &[u8]) -> Result<()> {
    #[cfg(test)]
    trace::note(trace::Event::Store { offset, bytes: source.to_vec() });
    set.prepare(offset, source.len() as u64)?;
    set.store_in_transaction(offset, source)
}

/// As [`store`] for what no record speaks of, a word that is a whole transaction or bytes that
/// nothing refers to yet: written as any update is.
#[inline]
pub(super) fn store_unlogged(set: &mut PoolSet, offset: u64, source: &[u8]) -> Result<()> {
    #[cfg(test)]
    trace::note(trace::Event::Store { offset, bytes: source.to_vec() });
    set.prepare(offset, source.len() as u64)?;
    set.store(offset, source)
}

/// Checks a range and makes the intent to store into it durable; nothing else is changed.
#[inline(always)]
pub(super) fn prepare(set: &mut PoolSet, offset: u64, bytes: usize) -> Result<()> {
    set.prepare(offset, bytes as u64)
}

/// Waits until everything stored is durable in every healthy member.
#[inline]
pub(super) fn fence(set: &mut PoolSet) -> Result<()> {
    #[cfg(test)]
    trace::note(trace::Event::Fence);
    // PERSIST: callers say what must be durable here and what becomes reachable after it.
    set.drain()
}

/// What transactions did to the members of the pool sets of this thread, for tests.
#[cfg(test)]
pub(crate) mod trace {
    use std::cell::RefCell;

    /// A store, the same in every member, or a fence.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) enum Event {
        Store { offset: u64, bytes: Vec<u8> },
        Fence,
    }

    thread_local! {
        static EVENTS: RefCell<Option<Vec<Event>>> = const { RefCell::new(None) };
    }

    pub(crate) fn note(event: Event) {
        EVENTS.with_borrow_mut(|events| {
            if let Some(events) = events {
                events.push(event);
            }
        });
    }

    /// Returns what `body` did.
    pub(crate) fn of(body: impl FnOnce()) -> Vec<Event> {
        EVENTS.set(Some(Vec::new()));
        body();
        EVENTS.take().unwrap_or_default()
    }

    /// Returns how many fences `body` waited for.
    pub(crate) fn fences(body: impl FnOnce()) -> usize {
        of(body).iter().filter(|event| **event == Event::Fence).count()
    }
}
