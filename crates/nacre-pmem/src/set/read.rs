//! Reads that the serving member answers, and another one if it lost the bytes.
//!
//! A page that is lost reads as garbage and leaves a flag, so every read looks at the flag of its
//! pool after it touched the bytes: one load. What follows is out of line.

use crate::error::Result;
use crate::pool::Pool;
use crate::set::pool_set::PoolSet;

/// The smallest page that may be lost by itself.
const PAGE_BYTES: usize = 4096;

impl PoolSet {
    /// Returns a range as the serving member has it, after touching each page of it: if one was
    /// lost, the range of another member.
    ///
    /// A page may still be lost while the slice is in use, and then reads as garbage: whoever must
    /// know calls [`PoolSet::check`] after use, or [`PoolSet::read_with`] instead of this.
    ///
    /// # Errors
    /// `OutOfRange`; `Lost` or `NoReplica` if no good member has the range.
    #[inline]
    pub fn read(&self, offset: u64, bytes: u64) -> Result<&[u8]> {
        self.read_checked(offset, bytes, |pool| {
            let found = pool.read(offset, bytes)?;
            touch(found);
            Ok(found)
        })
    }

    /// Loads an aligned word.
    ///
    /// # Errors
    /// `NotAligned`, as for [`PoolSet::read`].
    #[inline]
    pub fn load_u64(&self, offset: u64) -> Result<u64> {
        self.read_checked(offset, 8, |pool| pool.load_u64(offset))
    }

    /// Calls `f` with a range as the serving member has it, and again with that of another member
    /// if pages of it were lost meanwhile: `f` must bear garbage, and its result is then dropped.
    ///
    /// # Errors
    /// As for [`PoolSet::read`].
    #[inline]
    pub fn read_with<T>(&self, offset: u64, bytes: u64, f: impl Fn(&[u8]) -> T) -> Result<T> {
        self.read_checked(offset, bytes, |pool| Ok(f(pool.read(offset, bytes)?)))
    }

    /// Returns what `f` makes of the range in a member that did not lose it up to then.
    #[inline]
    fn read_checked<'a, T>(
        &'a self,
        offset: u64,
        bytes: u64,
        f: impl Fn(&'a Pool) -> Result<T>,
    ) -> Result<T> {
        self.check_range(offset, bytes)?;
        let pool = self.serving_pool()?;
        let result = f(pool)?;
        match pool.is_faulted() {
            false => Ok(result),
            true => self.read_faulted(offset, bytes, pool, result, f),
        }
    }

    /// Keeps `result` if `pool` lost other pages only, else asks the other members.
    #[cold]
    #[inline(never)]
    fn read_faulted<'a, T>(
        &'a self,
        offset: u64,
        bytes: u64,
        pool: &Pool,
        result: T,
        f: impl Fn(&'a Pool) -> Result<T>,
    ) -> Result<T> {
        let Err(error) = pool.check_range(offset, bytes) else {
            return Ok(result);
        };
        // One that lost nothing serves from now on, if there is one.
        let serving = self.serving_pool()?;
        let good = self.members.iter().filter(|member| member.is_good());
        let others = good.filter_map(|member| member.pool.as_ref());
        for pool in std::iter::once(serving).chain(others) {
            let result = f(pool)?;
            if pool.check_range(offset, bytes).is_ok() {
                return Ok(result);
            }
        }
        Err(error)
    }
}

/// Loads a byte of each page of a slice, so that pages which are gone are found now.
#[inline]
fn touch(bytes: &[u8]) {
    let Some(first) = bytes.first() else { return };
    touch_byte(first);
    let to_next = PAGE_BYTES - bytes.as_ptr().addr() % PAGE_BYTES;
    if to_next < bytes.len() {
        bytes[to_next..].iter().step_by(PAGE_BYTES).for_each(touch_byte);
    }
}

#[inline(always)]
fn touch_byte(byte: &u8) {
    // SAFETY: a reference may be read. Volatile, since its value is of no use.
    let _ = unsafe { std::ptr::read_volatile(byte) };
}
