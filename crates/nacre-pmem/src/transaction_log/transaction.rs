//! A transaction: what its body may do, and the steps of commit.

use std::cell::Cell;

use super::layout::{self, ENTRY_BYTES, HEADER_BYTES};
use super::log::{self, Buffers, COMPARED_TARGETS_MAX, Target};
use super::media;
use crate::error::{Error, ErrorKind, Result};
use crate::flush::CACHE_LINE_BYTES;
use crate::set::PoolSet;

/// Fresh bytes up to this many go through the log: a few more of its lines cost less than the
/// fence that they need otherwise.
const LOGGED_FRESH_BYTES_MAX: usize = 256;

/// Changes to a pool set that take effect together or not at all.
///
/// Dropped without commit (a panic of the body), it leaves no trace.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub(super) set: &'a mut PoolSet,
    id: u64,
    slot_bytes: usize,
    pub(super) buffers: Buffers,
    /// Smallest range that covers the targets.
    hull: (u64, u64),
    /// Bytes were stored by `write_new` since the last fence.
    has_fresh: bool,
    is_watched: bool,
    /// Bit `i` is set if the body got a slice of the member at position `i`, which was sound then.
    pub(super) lent: Cell<u64>,
    /// Why a write was refused; then the transaction can only roll back.
    failure: Option<ErrorKind>,
    is_finished: bool,
}

/// How a range meets the targets.
pub(super) enum Meeting {
    Apart,
    /// It is the range of the target whose new bytes begin at this position of the image.
    Same(usize),
    Overlapping,
}

impl PoolSet {
    /// Runs `body`; all its changes take effect, durably and in all healthy members, or none does.
    ///
    /// # Errors
    /// What `body` returns, and nothing is changed. `TransactionTooLarge` if a write of the body
    /// was refused for that reason, even if the body goes on. `Io`, `NoReplica` if the members
    /// cannot be written; then the outcome may be open until the set is opened again, and further
    /// stores are refused. `Lost` if a page of a member that `body` got slices of was lost before
    /// `body` returned, so that it may have read garbage; nothing is changed, and a second try
    /// reads another member.
    #[inline]
    pub fn transaction<T>(
        &mut self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut transaction = Transaction::begin(self)?;
        let value = body(&mut transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Replaces a range in a transaction of its own: after a crash all of it is new, or none is.
    /// Durable on return. Cheapest for an aligned word of 4 or 8 bytes.
    ///
    /// # Errors
    /// As for [`Transaction::write`] and [`PoolSet::transaction`].
    #[inline]
    pub fn replace(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        let is_ready = is_word(self, offset, source.len())
            && offset >= self.data_offset()
            && !self.log.must_be_prepared()
            && !self.log.speaks_of(offset, source.len());
        if !is_ready {
            return self.transaction(|transaction| transaction.write(offset, source));
        }
        media::prepare(self, offset, source.len())?;
        self.log.id += 1;
        let result = store_word(self, offset, source);
        match result {
            Ok(()) => self.log.committed_id = self.log.id,
            Err(_) => self.log.is_broken = true,
        }
        result
    }

    /// Returns the id of the newest committed transaction; ids grow while the set is open.
    pub fn last_committed_id(&self) -> u64 {
        self.log.committed_id
    }
}

impl<'a> Transaction<'a> {
    #[inline]
    fn begin(set: &'a mut PoolSet) -> Result<Transaction<'a>> {
        if set.log.must_be_prepared() || !set.is_writable() {
            prepare_begin(set)?;
        }
        set.log.id += 1;
        set.log.is_running = true;
        let id = set.log.id;
        let mut buffers = std::mem::take(&mut set.log.spare);
        buffers.image.clear();
        buffers.image.resize(HEADER_BYTES, 0);
        buffers.targets.clear();
        let slot_bytes = log::slot_bytes(set);
        Ok(Transaction {
            set,
            id,
            slot_bytes,
            buffers,
            hull: (u64::MAX, 0),
            has_fresh: false,
            is_watched: false,
            lent: Cell::new(0),
            failure: None,
            is_finished: false,
        })
    }

    /// Returns the id of this transaction; if it commits, [`PoolSet::last_committed_id`] is the
    /// same until the next one does.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Replaces a range when the transaction commits.
    ///
    /// # Errors
    /// `OutOfRange`, `TransactionTooLarge`; then the transaction will be rolled back.
    #[inline]
    pub fn write(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.check(offset, source.len())?;
        if let Meeting::Same(at) = self.meet(offset, source.len()) {
            self.buffers.image[at..at + source.len()].copy_from_slice(source);
            return Ok(());
        }
        if source.is_empty() {
            return Ok(());
        }
        if !self.has_room(source.len()) {
            return Err(self.refuse_size(source.len()));
        }
        self.set.prefetch_transactional(offset, source.len());
        let at = layout::push_entry(&mut self.buffers.image, offset, source);
        self.buffers.targets.push(Target { offset, bytes: source.len(), at });
        self.hull.0 = self.hull.0.min(offset);
        self.hull.1 = self.hull.1.max(offset + source.len() as u64);
        Ok(())
    }

    /// Writes bytes that nothing durable refers to yet, as in an extent that this transaction
    /// allocated. Many of them are stored at once, and a rollback leaves them there.
    ///
    /// # Errors
    /// `OutOfRange`; as for [`PoolSet::drain`].
    #[inline]
    pub fn write_new(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.check(offset, source.len())?;
        let is_logged = source.len() <= LOGGED_FRESH_BYTES_MAX && self.has_room(source.len());
        if is_logged || !matches!(self.meet(offset, source.len()), Meeting::Apart) {
            // The latter in order with the write that it meets.
            return self.write(offset, source);
        }
        if self.set.log.speaks_of(offset, source.len()) {
            // The extent was freed by a transaction before, which wrote to it.
            log::settle(self.set)?;
        }
        self.has_fresh = true;
        media::store_unlogged(self.set, offset, source)
            .inspect_err(|error| self.failure = Some(error.kind()))
    }

    /// Makes the outcome of this transaction known by `Log::outcome`.
    #[inline]
    pub(crate) fn watch(&mut self) {
        self.is_watched = true;
    }

    #[inline]
    fn check(&mut self, offset: u64, bytes: usize) -> Result<()> {
        let end = offset.checked_add(bytes as u64);
        if offset < self.set.data_offset() || end.is_none_or(|end| end > self.set.end_offset()) {
            return Err(self.refuse_range(offset, bytes));
        }
        Ok(())
    }

    /// Whether the record takes an entry of `bytes` bytes.
    #[inline]
    fn has_room(&self, bytes: usize) -> bool {
        // Neither is near the largest number: an image fits a slot, a slice fits memory.
        self.buffers.image.len() + ENTRY_BYTES + bytes.next_multiple_of(8) <= self.slot_bytes
    }

    #[cold]
    fn refuse_range(&mut self, offset: u64, bytes: usize) -> Error {
        self.failure = Some(ErrorKind::OutOfRange);
        let (start, end) = (self.set.data_offset(), self.set.end_offset());
        Error::new(
            ErrorKind::OutOfRange,
            "transaction",
            format!("writes {bytes} bytes at offset {offset}, the data area is {start}..{end}"),
            "",
        )
    }

    #[cold]
    fn refuse_size(&mut self, bytes: usize) -> Error {
        self.failure = Some(ErrorKind::TransactionTooLarge);
        let (used, slot_bytes) = (self.buffers.image.len(), self.slot_bytes);
        Error::new(
            ErrorKind::TransactionTooLarge,
            "transaction",
            format!("{bytes} more bytes after {used} do not fit the log's slot of {slot_bytes}"),
            "split the transaction, or create the pool set with a larger log",
        )
    }

    /// Finds out how a range meets the targets.
    #[inline]
    pub(super) fn meet(&self, offset: u64, bytes: usize) -> Meeting {
        if offset >= self.hull.1 || offset.saturating_add(bytes as u64) <= self.hull.0 {
            return Meeting::Apart;
        }
        self.meet_any(offset, bytes)
    }

    fn meet_any(&self, offset: u64, bytes: usize) -> Meeting {
        let targets = &self.buffers.targets;
        if targets.len() > COMPARED_TARGETS_MAX {
            return Meeting::Overlapping;
        }
        let mut meeting = Meeting::Apart;
        for target in targets.iter().filter(|target| target.overlaps(offset, bytes)) {
            // A second overlap: the later write wins, so the earlier must not be changed.
            meeting = match meeting {
                Meeting::Apart if target.offset == offset && target.bytes == bytes => {
                    Meeting::Same(target.at)
                }
                _ => return Meeting::Overlapping,
            };
        }
        meeting
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        if let Some(kind) = self.failure {
            return Err(self.refuse_commit(kind));
        }
        if self.lent.get() != 0 {
            self.check_lent()?;
        }
        self.store().inspect_err(|_| self.set.log.is_broken = true)?;
        self.set.log.committed_id = self.id;
        if self.is_watched {
            self.set.log.watched_id = self.id;
        }
        self.finish();
        Ok(())
    }

    #[inline]
    fn store(&mut self) -> Result<()> {
        if self.has_fresh {
            // PERSIST: the bytes of `write_new` are durable before a record or word refers to them.
            media::fence(self.set)?;
        }
        match self.buffers.targets[..] {
            [] => Ok(()),
            [Target { offset, bytes, at }]
                if is_word(self.set, offset, bytes) && !self.set.log.speaks_of(offset, bytes) =>
            {
                store_word(self.set, offset, &self.buffers.image[at..at + bytes])
            }
            _ => self.store_record(),
        }
    }

    /// Stores the record, which commits, and then the new bytes in place.
    #[inline]
    fn store_record(&mut self) -> Result<()> {
        log::follow(self.set)?;
        let Buffers { image, targets, .. } = &mut self.buffers;
        self.set.log.sequence += 1;
        let sequence = self.set.log.sequence;
        layout::seal(image, sequence);
        // Whole lines are streamed quicker.
        image.resize(image.len().next_multiple_of(CACHE_LINE_BYTES).min(self.slot_bytes), 0);
        media::store(self.set, log::slot_offset(self.set, sequence), image)?;
        // PERSIST: the record is durable in every member, and what the one before it wrote in
        // place; the transaction is acknowledged, and the slot of the one before may be used again.
        media::fence(self.set)?;
        for target in targets.iter() {
            media::store(self.set, target.offset, &image[target.at..target.at + target.bytes])?;
        }
        self.set.log.note_live(targets);
        Ok(())
    }

    #[cold]
    fn refuse_commit(&mut self, kind: ErrorKind) -> Error {
        self.finish();
        Error::new(
            kind,
            "transaction",
            "its body went on after a refused write, so nothing was committed",
            "let the body return the error of the write",
        )
    }

    /// Gives the buffers back for the next transaction.
    #[inline]
    pub(super) fn finish(&mut self) {
        self.is_finished = true;
        self.set.log.is_running = false;
        self.set.log.spare = std::mem::take(&mut self.buffers);
    }
}

/// Whether a write is atomic by itself: one store instruction into an aligned word, in each member.
#[inline(always)]
fn is_word(set: &PoolSet, offset: u64, bytes: usize) -> bool {
    matches!(bytes, 4 | 8)
        && offset.is_multiple_of(bytes as u64)
        && set.stores_words_whole()
        && log::has_log(set)
}

/// Stores a word that is a transaction by itself.
#[inline(always)]
fn store_word(set: &mut PoolSet, offset: u64, source: &[u8]) -> Result<()> {
    media::store_unlogged(set, offset, source)?;
    // PERSIST: the word is durable in every member; the transaction is acknowledged.
    media::fence(set)
}

#[cold]
fn prepare_begin(set: &mut PoolSet) -> Result<()> {
    if !set.is_writable() {
        let problem = "it was opened read-only";
        return Err(Error::new(ErrorKind::ReadOnly, set.object(), problem, "open it for writing"));
    }
    log::prepare(set)
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.finish();
        }
    }
}
