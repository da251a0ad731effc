//! Bytes that a reader's own checksum finds wrong in one member and right in another.
//!
//! A reader shares the set with others, so it goes on with the member whose bytes are right and
//! notes the range. Whoever has the set for itself next repairs it, from that member:
//! [`PoolSet::repair_damaged`], which [`PoolSet::scrub_step`] begins with.
//!
//! # Concurrency
//! Readers of any thread note ranges under a lock that they only take when they found damage; the
//! flag spares everybody else the lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::set::pool_set::PoolSet;

/// Ranges that are noted at most, all parts of a leaf in 7 members for instance; what is found
/// beyond that is found again by a later read.
const RANGES_MAX: usize = 512;

/// A range that a reader found damaged in one member and whole in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedRange {
    /// Number of the member whose bytes are damaged.
    pub index: u32,
    /// Number of a member whose bytes were whole.
    pub whole_index: u32,
    /// Where the range begins.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
}

/// What readers noted.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    has_ranges: AtomicBool,
    ranges: Mutex<Vec<DamagedRange>>,
}

impl Damage {
    fn note(&self, range: DamagedRange) {
        let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        if ranges.len() < RANGES_MAX && !ranges.contains(&range) {
            ranges.push(range);
        }
        self.has_ranges.store(true, Ordering::SeqCst);
    }

    fn take(&mut self) -> Vec<DamagedRange> {
        *self.has_ranges.get_mut() = false;
        std::mem::take(self.ranges.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PoolSet {
    /// As [`PoolSet::read_with`], for an `f` that can tell whether any byte of the range is
    /// damaged: on its error it is called with the range of the other good members, each once,
    /// until it returns none. The members before that one are noted as damaged there, and their
    /// range is replaced by that of this one later (see [`PoolSet::repair_damaged`]): so `f` must
    /// not be content with a part. If all are damaged, its first error is returned within.
    ///
    /// # Errors
    /// As for [`PoolSet::read_with`].
    #[inline]
    pub fn read_verified<T, E>(
        &self,
        offset: u64,
        bytes: u64,
        f: impl Fn(&[u8]) -> std::result::Result<T, E>,
    ) -> Result<std::result::Result<T, E>> {
        match self.read_with(offset, bytes, &f)? {
            Ok(value) => Ok(Ok(value)),
            Err(error) => self.read_elsewhere(offset, bytes, error, f),
        }
    }

    #[cold]
    #[inline(never)]
    fn read_elsewhere<T, E>(
        &self,
        offset: u64,
        bytes: u64,
        error: E,
        f: impl Fn(&[u8]) -> std::result::Result<T, E>,
    ) -> Result<std::result::Result<T, E>> {
        let mut damaged = Vec::new();
        for index in self.good_members() {
            let pool = self.members[self.position(index)?].mapped()?;
            let found = f(pool.read(offset, bytes)?);
            match found {
                _ if pool.check_range(offset, bytes).is_err() => {}
                Err(_) => damaged.push(index),
                Ok(value) => {
                    for damaged in damaged {
                        let whole_index = index;
                        let range = DamagedRange { index: damaged, whole_index, offset, bytes };
                        self.note_damage(range);
                    }
                    return Ok(Ok(value));
                }
            }
        }
        Ok(Err(error))
    }

    /// Returns the bytes of a range as a good member has them, `None` if it lost pages of it.
    ///
    /// # Errors
    /// As for [`PoolSet::read_member`].
    pub(crate) fn copy_of_member(
        &self,
        index: u32,
        offset: u64,
        bytes: u64,
    ) -> Result<Option<Vec<u8>>> {
        let copy = self.read_member(index, offset, bytes)?.to_vec();
        let pool = self.members[self.position(index)?].mapped()?;
        Ok(pool.check_range(offset, bytes).is_ok().then_some(copy))
    }

    /// Notes a range of which every byte is known to be whole in the member that it names.
    #[cold]
    pub(crate) fn note_damage(&self, range: DamagedRange) {
        self.damage.note(range);
    }

    /// Returns what readers found damaged and nobody repaired so far.
    pub fn damaged_ranges(&self) -> Vec<DamagedRange> {
        self.damage.ranges.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether readers found damage that nobody repaired so far.
    #[inline]
    pub fn has_damaged_ranges(&self) -> bool {
        // ORDERING: Relaxed, a hint; who acts on it takes the lock or has the set for itself.
        self.damage.has_ranges.load(Ordering::Relaxed)
    }

    /// Repairs what readers found damaged: the range becomes that of the member where it was
    /// whole. Returns what was repaired.
    ///
    /// # Errors
    /// `ReadOnly`, `NoReplica`. What is left is found again by a later read.
    pub fn repair_damaged(&mut self) -> Result<Vec<DamagedRange>> {
        self.check_writable()?;
        let mut repaired = Vec::new();
        for range in self.damage.take() {
            let DamagedRange { index, whole_index, offset, bytes } = range;
            let (Ok(target), Ok(whole)) = (self.position(index), self.position(whole_index)) else {
                continue;
            };
            if !self.members[target].is_good() || !self.members[whole].is_good() {
                continue;
            }
            self.prepare(offset, bytes)?;
            if self.copy_from(whole, target, &[(offset, offset + bytes)])? {
                repaired.push(range);
            }
        }
        Ok(repaired)
    }
}
