//! Growing of all members together.
//!
//! 1. The file of each live member grows; the new bytes are zeros. If one has no room for them the
//!    others give theirs back.
//! 2. If the regions of the intent map become larger, all of them are marked, which is right for
//!    either size.
//! 3. The headers say the new size. A crash before leaves bytes that nothing names, which opening
//!    tolerates and the next growing uses; a crash between leaves both sizes, and the larger
//!    counts, since all files have it.

use crate::error::{Error, ErrorKind, Result};
use crate::set::intent::{IntentMap, region_bytes};
use crate::set::member::Member;
use crate::set::pool_set::PoolSet;

/// Bytes looked at together when bytes of an interrupted growing are used again.
const ZERO_BYTES: u64 = 64 << 10;

impl PoolSet {
    /// Extends the data area to `data_bytes` bytes in every member; new bytes are zeros. A set that
    /// is large enough stays as it is.
    ///
    /// # Errors
    /// `NoSpace`, `OutOfMemory`, `ReadOnly`, `NoReplica`, `Io`; the set is as before.
    pub fn grow(&mut self, data_bytes: u64) -> Result<()> {
        self.check_writable()?;
        if data_bytes <= self.identity.data_bytes {
            return Ok(());
        }
        self.choose_serving()?;
        self.drop_lost()?;
        let Some(end) = self.data_offset().checked_add(data_bytes) else {
            return Err(Error::new(
                ErrorKind::NoSpace,
                self.object(),
                format!("cannot grow to {data_bytes} bytes"),
                "ask for less",
            ));
        };
        self.drain()?;
        // Mappings are replaced, so their addresses go first.
        self.engine = None;
        let grown = self.grow_files(end);
        self.refresh();
        grown?;
        if !self.is_raised {
            self.raise_epoch()?;
        }
        let region_bytes = region_bytes(end);
        if region_bytes != self.identity.region_bytes {
            self.intents.fill();
            self.write_all_intents()?;
            self.intents = IntentMap::new(region_bytes);
            self.intents.fill();
        }
        self.identity.region_bytes = region_bytes;
        self.identity.data_bytes = data_bytes;
        self.end_offset = end;
        self.settle_headers()
    }

    /// Members that fail are left behind; if there is no room, that is an error.
    fn grow_files(&mut self, end: u64) -> Result<()> {
        let mut failed = Vec::new();
        let old = self.end_offset;
        for position in 0..self.members.len() {
            let member = &mut self.members[position];
            if !member.is_live() {
                continue;
            }
            match grow_member(member, old, end) {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Lost | ErrorKind::Io) => {
                    failed.push((position, error));
                }
                Err(error) => {
                    self.members[..position].iter_mut().for_each(|member| shrink(member, old));
                    return Err(error);
                }
            }
        }
        self.drop_failed(failed)
    }
}

/// Gives back the room that a member took, so that the others may have it. What stays is used by
/// the next growing.
fn shrink(member: &mut Member, bytes: u64) {
    if member.is_live()
        && let Ok(pool) = member.mapped_mut()
    {
        // The error to report is the one before.
        let _ = pool.shrink(bytes);
    }
}

fn grow_member(member: &mut Member, old: u64, end: u64) -> Result<()> {
    let pool = member.mapped_mut()?;
    let named_by_nothing = pool.bytes().min(end);
    pool.grow(end)?;
    let mut offset = old;
    while offset < named_by_nothing {
        let bytes = ZERO_BYTES.min(named_by_nothing - offset);
        if pool.read(offset, bytes)?.iter().any(|&byte| byte != 0) {
            pool.write(offset, &vec![0; bytes as usize])?;
            pool.flush(offset, bytes)?;
        }
        offset += bytes;
    }
    // PERSIST: the new bytes are zeros in this member before its header names them.
    pool.drain()
}
