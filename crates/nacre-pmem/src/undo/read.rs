//! What the body of a transaction reads, and the refusal to commit what it made of garbage.
//!
//! Words are checked when they are loaded. A slice may lose a page while the body uses it, so the
//! members that slices were taken of must still be sound at the commit.

use super::transaction::{Meeting, Transaction};
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Pool;
use crate::set::PoolSet;
use crate::set::member::Member;

impl Transaction<'_> {
    /// Returns the pool set as it is without the writes of this transaction that are not applied
    /// yet. For offsets and sizes, and for ranges that this transaction does not write.
    pub fn set(&self) -> &PoolSet {
        let sound = |(position, member): (usize, &Member)| match &member.pool {
            Some(pool) if !pool.is_faulted() => bit(position),
            _ => 0,
        };
        let lent = self.set.members.iter().enumerate().map(sound).fold(0, std::ops::BitOr::bitor);
        self.lent.set(self.lent.get() | lent);
        self.set
    }

    /// As [`Transaction::set`], for callers that keep no slice of it.
    #[inline]
    pub(crate) fn pool_set(&self) -> &PoolSet {
        self.set
    }

    /// Returns a range as this transaction sees it. If it wrote there since the last such read,
    /// this costs a fence.
    ///
    /// # Errors
    /// `OutOfRange`; `Lost` if no good member has the range; as for [`PoolSet::drain`].
    #[inline]
    pub fn read(&mut self, offset: u64, bytes: u64) -> Result<&[u8]> {
        if !matches!(self.meet(offset, bytes as usize), Meeting::Apart) {
            self.apply()?;
        }
        if self.set.serving_pool()?.is_faulted() {
            return self.read_copy(offset, bytes);
        }
        let found = self.set.read(offset, bytes)?;
        *self.lent.get_mut() |= bit(self.set.serving_position());
        Ok(found)
    }

    /// Reads a member that lost pages, when there is no better one: whether it loses more of them
    /// cannot be told at the commit.
    #[cold]
    #[inline(never)]
    fn read_copy(&mut self, offset: u64, bytes: u64) -> Result<&[u8]> {
        self.buffers.copy = self.set.read_with(offset, bytes, <[u8]>::to_vec)?;
        Ok(&self.buffers.copy)
    }

    /// Loads an aligned word as this transaction sees it.
    ///
    /// # Errors
    /// As for [`Transaction::read`], `NotAligned`.
    #[inline]
    pub fn load_u64(&mut self, offset: u64) -> Result<u64> {
        if !matches!(self.meet(offset, 8), Meeting::Apart) {
            self.apply()?;
        }
        self.set.load_u64(offset)
    }

    /// Rolls back if a member that the body had slices of lost pages since.
    pub(super) fn check_lent(&mut self) -> Result<()> {
        let lent = self.lent.get();
        let is_lost = |(position, member): (usize, &Member)| {
            lent & bit(position) != 0 && member.pool.as_ref().is_none_or(Pool::is_faulted)
        };
        match self.set.members.iter().enumerate().any(is_lost) {
            true => self.refuse_lost(),
            false => Ok(()),
        }
    }

    #[cold]
    fn refuse_lost(&mut self) -> Result<()> {
        self.rollback()?;
        Err(Error::new(
            ErrorKind::Lost,
            "transaction",
            "a member lost a page while the body read from it, so nothing was committed",
            "repeat the transaction: it reads from another member, if one is good",
        ))
    }
}

/// Returns the bit of a member in `Transaction::lent`; there are far less than 64.
#[inline(always)]
fn bit(position: usize) -> u64 {
    1 << (position % 64)
}
