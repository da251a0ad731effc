//! What the body of a transaction reads, and the refusal to commit what it made of garbage.
//!
//! Words are checked when they are loaded. A slice may lose a page while the body uses it, so the
//! members that slices were taken of must still be sound at the commit. What the transaction wrote
//! itself is laid over a copy.

use super::transaction::{Meeting, Transaction};
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Pool;
use crate::set::PoolSet;
use crate::set::member::Member;

impl Transaction<'_> {
    /// Returns the pool set as it is without the writes of this transaction. For offsets and sizes,
    /// and for ranges that this transaction does not write.
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

    /// Returns a range as this transaction sees it: a copy if it wrote there.
    ///
    /// # Errors
    /// `OutOfRange`; `Lost` if no good member has the range.
    #[inline]
    pub fn read(&mut self, offset: u64, bytes: u64) -> Result<&[u8]> {
        let is_apart = matches!(self.meet(offset, bytes as usize), Meeting::Apart);
        // Whether a member that lost pages loses more of them cannot be told at the commit.
        if !is_apart || self.set.serving_pool()?.is_faulted() {
            return self.read_copy(offset, bytes);
        }
        let found = self.set.read(offset, bytes)?;
        *self.lent.get_mut() |= bit(self.set.serving_position());
        Ok(found)
    }

    #[cold]
    #[inline(never)]
    fn read_copy(&mut self, offset: u64, bytes: u64) -> Result<&[u8]> {
        let mut copy = self.set.read_with(offset, bytes, <[u8]>::to_vec)?;
        for target in &self.buffers.targets {
            let (start, end) = (target.offset, target.offset + target.bytes as u64);
            let (from, to) = (start.max(offset), end.min(offset + bytes));
            if from < to {
                let new = &self.buffers.image[target.at..][..target.bytes];
                copy[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&new[(from - start) as usize..(to - start) as usize]);
            }
        }
        self.buffers.copy = copy;
        Ok(&self.buffers.copy)
    }

    /// Loads an aligned word as this transaction sees it.
    ///
    /// # Errors
    /// As for [`Transaction::read`], `NotAligned`.
    #[inline]
    pub fn load_u64(&mut self, offset: u64) -> Result<u64> {
        let word = self.set.load_u64(offset)?;
        match self.meet(offset, 8) {
            Meeting::Apart => Ok(word),
            _ => self.load_copy(offset),
        }
    }

    #[cold]
    fn load_copy(&mut self, offset: u64) -> Result<u64> {
        let mut word = [0; 8];
        word.copy_from_slice(self.read_copy(offset, 8)?);
        Ok(u64::from_le_bytes(word))
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
        self.finish();
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
