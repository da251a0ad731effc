//! Values of more than 512 bytes: each lies in an extent of its own, to which the entry refers.
//!
//! Every change is one transaction: the new value is streamed to a new extent, which nothing
//! refers to yet and which therefore needs no entry in the log; then entry or reference change, and
//! the old extent is given back. A crash leaves the old value or the new one, and each in its
//! extent. The next update probably takes the extent that this one gave back.

use super::entry::{self, CRC_OFFSET, INLINE_BYTES_MAX, Reference, Stored};
use super::first_line::Live;
use super::leaf::{Damage, Hit};
use super::link::LeafRef;
use super::tree::State;
use super::write::Spot;
use crate::error::Result;
use crate::flush::CACHE_LINE_BYTES;
use crate::heap::Heap;
use crate::transaction_log::Transaction;

/// Bytes of a new extent that are loaded ahead; past that the processor has enough to do.
const PREFETCHED_BYTES_MAX: usize = 4096;

impl State {
    /// Gives `key` a new value, where that or the old one lies in an extent of its own.
    ///
    /// # Errors
    /// `HeapFull` if there is no room for the new value beside the old one, `Corrupt`; as for
    /// [`PoolSet::transaction`](crate::PoolSet::transaction). The tree is as before.
    pub(super) fn replace_extent(
        &mut self,
        key: &[u8],
        value: &[u8],
        fingerprint: u8,
        live: Live,
        hit: Option<Hit>,
    ) -> Result<()> {
        let leaf = self.inner.leaf(key);
        let old = match hit {
            Some(hit) if hit.is_in_extent() => {
                let reference = self.reference(leaf, hit.slot)?;
                if value.len() > INLINE_BYTES_MAX {
                    return self.exchange(leaf, hit.slot, key, value, reference);
                }
                Some(reference)
            }
            _ => None,
        };
        let bytes = entry::entry_bytes(key.len(), value.len());
        let Spot { leaf, slot, live, hit } = self.spot(key, bytes, fingerprint, live, hit)?;
        let heap = &mut self.heap;
        self.set.transaction(|tx| {
            let stored = match value.len() > INLINE_BYTES_MAX {
                true => Stored::Extent(put(heap, tx, value)?),
                false => Stored::Inline(value),
            };
            let mut buffer = vec![0; bytes];
            entry::encode(&mut buffer, key, stored);
            // Free units, and the fingerprint of a slot that is not live, mean nothing.
            tx.write_new(leaf.slot_offset(slot), &buffer)?;
            tx.write_new(leaf.fingerprint_offset(slot), &[fingerprint])?;
            tx.write(leaf.offset(), &live.word().to_le_bytes())?;
            old.map_or(Ok(()), |old| heap.free(tx, old.offset))
        })?;
        self.note_entry(key, slot, bytes, hit);
        Ok(())
    }

    /// Replaces a value in an extent by another one.
    fn exchange(
        &mut self,
        leaf: LeafRef,
        slot: usize,
        key: &[u8],
        value: &[u8],
        old: Reference,
    ) -> Result<()> {
        self.heap.prefetch_free(&self.set, old.offset);
        let heap = &mut self.heap;
        self.set.transaction(|tx| {
            let new = put(heap, tx, value)?;
            let offset = leaf.slot_offset(slot) + CRC_OFFSET as u64;
            tx.write(offset, &entry::exchanged(key, new))?;
            heap.free(tx, old.offset)
        })
    }

    /// Takes the entry in `slot` of `leaf` out, whose publish word becomes `live`.
    ///
    /// # Errors
    /// As for [`State::replace_extent`].
    pub(super) fn delete_extent(&mut self, leaf: LeafRef, slot: usize, live: Live) -> Result<()> {
        let reference = self.reference(leaf, slot)?;
        let heap = &mut self.heap;
        self.set.transaction(|tx| {
            tx.write(leaf.offset(), &live.word().to_le_bytes())?;
            heap.free(tx, reference.offset)
        })
    }

    /// Returns the reference of the entry in `slot`, checked.
    fn reference(&self, leaf: LeafRef, slot: usize) -> Result<Reference> {
        self.with_whole_leaf(leaf, |bytes| match bytes.intact_entry(slot)?.value() {
            Stored::Extent(reference) => Ok(reference),
            Stored::Inline(_) => Err(Damage::Sizes(slot)),
        })
    }
}

/// Copies `value` to a new extent.
fn put(heap: &mut Heap, tx: &mut Transaction<'_>, value: &[u8]) -> Result<Reference> {
    let offset = heap.alloc(tx, value.len() as u64)?.offset;
    // The first lines come while the checksum is computed.
    for line in (0..value.len().min(PREFETCHED_BYTES_MAX)).step_by(CACHE_LINE_BYTES) {
        tx.pool_set().prefetch_serving(offset + line as u64);
    }
    let reference = Reference::new(offset, value);
    tx.write_new(offset, value)?;
    Ok(reference)
}
