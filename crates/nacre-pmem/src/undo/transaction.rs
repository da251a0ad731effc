//! A transaction: what its body may do, and the steps of commit and rollback.

use std::cell::Cell;

use super::check;
use super::layout::{self, ENTRY_BYTES, HEADER_BYTES, Word};
use super::log::{self, Buffers, COMPARED_TARGETS_MAX, Target};
use super::media;
use crate::error::{Error, ErrorKind, Result};
use crate::flush::CACHE_LINE_BYTES;
use crate::set::PoolSet;

/// Changes to a pool set that take effect together or not at all.
///
/// Dropped without commit (a panic of the body), it is rolled back.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub(super) set: &'a mut PoolSet,
    id: u64,
    slot_bytes: usize,
    pub(super) buffers: Buffers,
    /// Where the segment that is not sealed yet begins in the image.
    segment_start: usize,
    /// Targets before this index are applied.
    applied: usize,
    /// Smallest range that covers the targets that are not applied.
    hull: (u64, u64),
    /// Ranges may overlap or are applied in several steps: the checksum is taken of the bytes in
    /// place.
    is_tangled: bool,
    /// Bytes were stored by `write_new` since the last fence.
    has_fresh: bool,
    is_watched: bool,
    /// The only write so far is of one word and has no entry in the image.
    is_lone: bool,
    /// Bit `i` is set if the body got a slice of the member at position `i`, which was sound then.
    pub(super) lent: Cell<u64>,
    /// Why a write was refused; then the transaction can only roll back.
    failure: Option<ErrorKind>,
    is_finished: bool,
}

/// How a range meets the targets that are not applied.
pub(super) enum Meeting {
    Apart,
    /// It is the range of the target with this index, whose new bytes begin at this position.
    Same(usize),
    Overlapping,
}

impl PoolSet {
    /// Runs `body`; all its changes take effect, durably and in all healthy members, or none does.
    ///
    /// # Errors
    /// What `body` returns, after rolling back. `TransactionTooLarge` if a write of the body was
    /// refused for that reason, even if the body goes on. `Io`, `NoReplica` if the members cannot
    /// be written; then the outcome may be open until the set is opened again, and further stores
    /// are refused. `Lost` if a page of a member that `body` got slices of was lost before `body`
    /// returned, so that it may have read garbage; nothing is changed, and a second try reads
    /// another member.
    #[inline]
    pub fn transaction<T>(
        &mut self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut transaction = Transaction::begin(self)?;
        match body(&mut transaction) {
            Ok(value) => {
                transaction.commit()?;
                Ok(value)
            }
            Err(error) => {
                transaction.rollback()?;
                Err(error)
            }
        }
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
            && !self.undo.must_be_prepared()
            && !self.undo.is_watching(offset, source.len());
        if !is_ready {
            return self.transaction(|transaction| transaction.write(offset, source));
        }
        media::prepare(self, offset, source.len())?;
        self.undo.id += 1;
        let result = store_word(self, offset, source);
        match result {
            Ok(()) => self.undo.committed_id = self.undo.id,
            Err(_) => self.undo.is_broken = true,
        }
        result
    }

    /// Returns the id of the newest committed transaction; ids grow while the set is open.
    pub fn last_committed_id(&self) -> u64 {
        self.undo.committed_id
    }
}

impl<'a> Transaction<'a> {
    #[inline]
    fn begin(set: &'a mut PoolSet) -> Result<Transaction<'a>> {
        if set.undo.must_be_prepared() || !set.is_writable() {
            prepare_begin(set)?;
        }
        set.undo.id += 1;
        set.undo.is_running = true;
        let id = set.undo.id;
        let buffers = std::mem::take(&mut set.undo.spare);
        let slot_bytes = log::slot_bytes(set);
        Ok(Transaction {
            set,
            id,
            slot_bytes,
            buffers,
            segment_start: 0,
            applied: 0,
            hull: (u64::MAX, 0),
            is_tangled: false,
            has_fresh: false,
            is_watched: false,
            is_lone: false,
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
        match self.meet(offset, source.len()) {
            Meeting::Apart if self.may_be_lone(offset, source.len()) => {
                self.is_lone = true;
                self.note(offset, source);
                return Ok(());
            }
            Meeting::Apart => {}
            Meeting::Overlapping => self.is_tangled = true,
            Meeting::Same(at) => {
                self.buffers.new[at..at + source.len()].copy_from_slice(source);
                return Ok(());
            }
        }
        self.append(offset, source)
    }

    /// Stores bytes at once that nothing durable refers to yet, as in an extent that this
    /// transaction allocated. A rollback leaves them there.
    ///
    /// # Errors
    /// `OutOfRange`; as for [`PoolSet::drain`].
    #[inline]
    pub fn write_new(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.check(offset, source.len())?;
        if !matches!(self.meet(offset, source.len()), Meeting::Apart) {
            // In order with the write that is not applied yet.
            return self.write(offset, source);
        }
        if self.segment_start == 0 && self.set.undo.is_watching(offset, source.len()) {
            // The extent was freed by the transaction before, which wrote to it.
            log::settle(self.set, offset)?;
        }
        self.has_fresh = true;
        media::store(self.set, offset, source)
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
            format!("{bytes} more bytes after {used} do not fit the undo log of {slot_bytes}"),
            "split the transaction, or create the pool set with a larger undo log",
        )
    }

    /// Finds out how a range meets the targets that are not applied.
    #[inline]
    pub(super) fn meet(&self, offset: u64, bytes: usize) -> Meeting {
        if offset >= self.hull.1 || offset.saturating_add(bytes as u64) <= self.hull.0 {
            return Meeting::Apart;
        }
        self.meet_any(offset, bytes)
    }

    fn meet_any(&self, offset: u64, bytes: usize) -> Meeting {
        let pending = &self.buffers.targets[self.applied..];
        if pending.len() > COMPARED_TARGETS_MAX {
            return Meeting::Overlapping;
        }
        let (mut at, mut meeting) = (0, Meeting::Apart);
        for target in pending {
            if target.overlaps(offset, bytes) {
                // A second overlap: the later write wins, so the earlier must not be changed.
                meeting = match meeting {
                    Meeting::Apart if target.offset == offset && target.bytes == bytes => {
                        Meeting::Same(at)
                    }
                    _ => return Meeting::Overlapping,
                };
            }
            at += target.bytes;
        }
        meeting
    }

    #[inline]
    fn append(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        if source.is_empty() {
            return Ok(());
        }
        self.log_lone()?;
        self.log(offset, source.len())?;
        self.note(offset, source);
        Ok(())
    }

    /// Whether a first write may do without the log.
    #[inline]
    fn may_be_lone(&self, offset: u64, bytes: usize) -> bool {
        self.buffers.targets.is_empty() && is_word(self.set, offset, bytes)
    }

    /// Logs the lone write, if there is one: it will not stay alone.
    #[inline]
    fn log_lone(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_lone) {
            let Target { offset, bytes } = self.buffers.targets[0];
            self.log(offset, bytes)?;
        }
        Ok(())
    }

    /// Keeps the new bytes of a range until they are applied.
    #[inline]
    fn note(&mut self, offset: u64, source: &[u8]) {
        self.buffers.new.extend_from_slice(source);
        self.buffers.targets.push(Target { offset, bytes: source.len() });
        self.hull.0 = self.hull.0.min(offset);
        self.hull.1 = self.hull.1.max(offset + source.len() as u64);
    }

    /// Copies the old bytes of a range to the image.
    #[inline]
    fn log(&mut self, offset: u64, bytes: usize) -> Result<()> {
        let is_first = self.buffers.image.len() == self.segment_start;
        let header = if is_first { HEADER_BYTES } else { 0 };
        let needed = header + ENTRY_BYTES + bytes.next_multiple_of(8);
        if self.buffers.image.len() + needed > self.slot_bytes {
            return Err(self.refuse_size(needed));
        }
        let pool = self.set.serving_pool()?;
        let old = pool.read(offset, bytes as u64)?;
        let image = &mut self.buffers.image;
        if is_first {
            image.extend_from_slice(&[0; HEADER_BYTES]);
        }
        let start = image.len();
        layout::push_entry(image, offset, old);
        if pool.is_faulted() && pool.check_range(offset, bytes as u64).is_err() {
            // The page was lost under the copy: another member has the old bytes.
            let old = self.set.read_with(offset, bytes as u64, <[u8]>::to_vec)?;
            image.truncate(start);
            layout::push_entry(image, offset, &old);
        }
        Ok(())
    }

    /// Seals what is logged so far, makes it durable, and stores the new bytes in place.
    pub(super) fn apply(&mut self) -> Result<()> {
        self.try_apply().inspect_err(|error| {
            self.failure = Some(error.kind());
            self.set.undo.is_broken = true;
        })?;
        self.buffers.new.clear();
        Ok(())
    }

    #[inline]
    fn try_apply(&mut self) -> Result<()> {
        self.log_lone()?;
        if self.buffers.image.len() > self.segment_start {
            let start = self.segment_start;
            if start == 0 {
                self.set.undo.sequence += 1;
            } else {
                self.is_tangled = true;
            }
            let sequence = self.set.undo.sequence;
            layout::seal(&mut self.buffers.image, start, sequence, Word::Open);
            let at = log::slot_offset(self.set, sequence) + start as u64;
            let end = self.buffers.image.len();
            if start == 0 {
                // Whole lines are streamed quicker. What is zero is no further segment.
                self.buffers.image.resize(end.next_multiple_of(CACHE_LINE_BYTES), 0);
            }
            media::store(self.set, at, &self.buffers.image[start..])?;
            self.buffers.image.truncate(end);
            self.segment_start = end;
        } else if !self.has_fresh {
            return Ok(());
        }
        // PERSIST: the old bytes of all pending ranges and the bytes of `write_new` are durable in
        // every member; from here on the ranges may change, and this slot outranks the other.
        media::fence(self.set)?;
        self.has_fresh = false;
        let mut at = 0;
        for target in &self.buffers.targets[self.applied..] {
            media::store(self.set, target.offset, &self.buffers.new[at..at + target.bytes])?;
            at += target.bytes;
        }
        self.applied = self.buffers.targets.len();
        self.hull = (u64::MAX, 0);
        Ok(())
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        if let Some(kind) = self.failure {
            return self.refuse_commit(kind);
        }
        if self.lent.get() != 0 {
            self.check_lent()?;
        }
        if self.is_lone {
            return self.commit_lone();
        }
        // Bytes of a segment that was applied before are not in `new` any more.
        self.is_tangled |= self.applied > 0;
        self.try_apply().inspect_err(|_| self.set.undo.is_broken = true)?;
        if !self.buffers.targets.is_empty() {
            self.acknowledge().inspect_err(|_| self.set.undo.is_broken = true)?;
        }
        self.finish_committed();
        Ok(())
    }

    #[inline]
    fn finish_committed(&mut self) {
        self.set.undo.committed_id = self.id;
        if self.is_watched {
            self.set.undo.watched_id = self.id;
        }
        self.finish();
    }

    /// Commits a write that is atomic by itself, without the log.
    #[inline]
    fn commit_lone(&mut self) -> Result<()> {
        let result = self.store_lone();
        match result {
            Ok(()) => self.finish_committed(),
            Err(_) => self.set.undo.is_broken = true,
        }
        result
    }

    #[inline]
    fn store_lone(&mut self) -> Result<()> {
        let Target { offset, bytes } = self.buffers.targets[0];
        if self.set.undo.is_watching(offset, bytes) {
            // Recovery would miss the old word, and take the transaction before for unfinished.
            log::settle(self.set, offset)?;
        }
        if self.has_fresh {
            // PERSIST: the bytes of `write_new` are durable before a word can refer to them.
            media::fence(self.set)?;
        }
        store_word(self.set, offset, &self.buffers.new[..bytes])
    }

    /// Stores the commit word and makes it durable together with the ranges.
    #[inline]
    fn acknowledge(&mut self) -> Result<()> {
        let sequence = self.set.undo.sequence;
        let start = layout::start_sum(sequence);
        let sum = if self.is_tangled {
            self.buffers.targets.iter().try_fold(start, |sum, target| {
                let add = |bytes: &[u8]| check::add(sum, bytes);
                self.set.read_with(target.offset, target.bytes as u64, add)
            })?
        } else {
            let mut new = &self.buffers.new[..];
            self.buffers.targets.iter().fold(start, |sum, target| {
                let (bytes, rest) = new.split_at(target.bytes);
                new = rest;
                check::add(sum, bytes)
            })
        };
        let word = Word::Committed(sum).encode(sequence).to_le_bytes();
        media::store(self.set, log::slot_offset(self.set, sequence), &word)?;
        // PERSIST: the new bytes and the commit word are durable in every member; the transaction
        // is acknowledged.
        media::fence(self.set)?;
        self.set.undo.leave_unsettled(&mut self.buffers.targets);
        Ok(())
    }

    #[cold]
    fn refuse_commit(&mut self, kind: ErrorKind) -> Result<()> {
        self.rollback()?;
        Err(Error::new(
            kind,
            "transaction",
            "its body went on after a refused write, so nothing was committed",
            "let the body return the error of the write",
        ))
    }

    #[cold]
    pub(super) fn rollback(&mut self) -> Result<()> {
        let result = if self.segment_start > 0 && !self.set.undo.is_broken {
            self.restore().inspect_err(|_| self.set.undo.is_broken = true)
        } else {
            Ok(())
        };
        self.finish();
        result
    }

    /// Stores the old bytes of what was applied, newest first, and retires the slot.
    fn restore(&mut self) -> Result<()> {
        let image = std::mem::take(&mut self.buffers.image);
        let mut start = 0;
        let mut entries = Vec::new();
        while start < self.segment_start {
            let end = start + layout::segment_bytes(&image, start);
            // The image is this transaction's own, so its entries fit.
            let _ = layout::push_entries(&image[start + HEADER_BYTES..end], &mut entries);
            start = end;
        }
        for entry in entries.iter().rev() {
            media::store(self.set, entry.offset, entry.old)?;
        }
        // PERSIST: the old bytes are durable in place; the slot may be retired.
        media::fence(self.set)?;
        log::retire(self.set)
    }

    /// Gives the buffers back for the next transaction.
    #[inline]
    fn finish(&mut self) {
        self.is_finished = true;
        self.set.undo.is_running = false;
        let mut buffers = std::mem::take(&mut self.buffers);
        buffers.image.clear();
        buffers.new.clear();
        buffers.targets.clear();
        self.set.undo.spare = buffers;
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
    media::store_word(set, offset, source)?;
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
            // A failure marks the log as broken, which the next call reports.
            let _ = self.rollback();
        }
    }
}
