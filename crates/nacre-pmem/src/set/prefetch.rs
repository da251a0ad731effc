//! Prefetch of bytes that will be stored to. Changes nothing but time.

use crate::prefetch;
use crate::set::engine::NEAR_BYTES_MAX;
use crate::set::member::Member;
use crate::set::pool_set::PoolSet;

impl PoolSet {
    /// Starts to load the line at `offset` in every live member, to be written.
    #[inline]
    pub(crate) fn prefetch_for_write(&self, offset: u64) {
        for member in self.members.iter().filter(|member| member.is_live()) {
            if let Member { pool: Some(pool), .. } = member {
                prefetch::line_for_write(pool.base().wrapping_add(offset as usize));
            }
        }
    }

    /// Starts to load the lines that [`PoolSet::write_near`] of these bytes will store to; the
    /// range lies in the set.
    #[inline]
    pub(crate) fn prefetch_near(&self, offset: u64, bytes: usize) {
        if let Some(engine) = self.engine.as_ref().filter(|_| bytes <= NEAR_BYTES_MAX) {
            engine.prefetch_near(offset, bytes);
        }
    }

    /// Starts to load the lines that a transaction will store these bytes to; the range lies in the
    /// set.
    #[inline]
    pub(crate) fn prefetch_transactional(&self, offset: u64, bytes: usize) {
        if let Some(engine) = &self.engine {
            engine.prefetch_transactional(offset, bytes);
        }
    }

    /// Starts to load the line at `offset` in the serving member, to be written.
    #[inline]
    pub(crate) fn prefetch_serving(&self, offset: u64) {
        if let Some(Member { pool: Some(pool), .. }) = self.members.get(self.serving_position()) {
            prefetch::line_for_write(pool.base().wrapping_add(offset as usize));
        }
    }
}
