//! The redo log: append, persist, replay, truncate.
//!
//! 1. [`RedoLog::append`] gives the group of a transaction its position, behind all that came
//!    before, and lays it out in memory. Whoever calls it in the order of commits has the log in
//!    that order. Where there is no room it is made first, so that a full device is an error of
//!    this transaction alone and of nothing else.
//! 2. [`RedoLog::persist`] returns when everything up to a position is durable. The first caller
//!    stores all groups that are laid out by then, with one ordered persist; others wait for the
//!    end of its turn ([`Turns`]) and find theirs durable, or one of them stores the next lot. So
//!    a device that takes long gets few and large lots without anybody waiting on purpose.
//!
//! # Invariants
//! 1. Positions only grow, without gaps: a group begins where the one before ends.
//! 2. Everything below `durable` is durable in all good members of its segment.
//! 3. After a failed persist nothing more is appended: what was stored is in doubt.
//! 4. Behind all other groups the last segment has allocated room for the last group of a
//!    checkpoint ([`RESERVE_BYTES`]), so that the log can be shortened on a full device if no row
//!    is hot.
//! # Durability
//! `append` promises nothing, `persist` what it says. A commit that does not wait for `persist` is
//! lost with the process until the next one or [`RedoLog::flush`].
//! # Concurrency
//! All calls from any thread. Latch order: a turn, `writer`, then `pending`. A persist holds
//! `writer` while it waits for the device; groups are appended meanwhile. Those whose groups are
//! stored wait for no latch: they would get it one by one, and behind the next lot.
//! # Source
//! [Muehlbauer16 2.2.7] a commit appends its records inside the short critical section;
//! [Muehlbauer16 2.4] group commit. Differs: groups are checksummed and the log is replicated,
//! because media faults are in scope.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nacre_pmem::{Access, Domain};

use super::archived::{Piece, copy_piece};
use super::group::{GROUP_ALIGN, GroupStart, group_bytes, pack, put_group};
use super::record::{RedoBuffer, RedoRecord};
use super::replay::{GroupRecords, visit_records};
use super::segment::{SEGMENT_HEADER_BYTES, Segment, State, remove_files};
use super::turns::Turns;
use crate::error::{Error, ErrorKind, Result};
use crate::id::{CommitTs, Lsn, Moment, now_micros};
use crate::manifest::DatabaseId;
use crate::members::{self, allocate_some};

/// Size of the data area of a full segment if nothing else is asked for.
const SEGMENT_BYTES_DEFAULT: u64 = 64 << 20;

/// First size of the first segment: a small database stays small.
const FIRST_BYTES: u64 = 1 << 20;

/// Room that is left for the last groups of checkpoints: of 128 bytes each.
const RESERVE_BYTES: u64 = 16 << 10;

/// Steps in which a segment grows at least, so that not each commit makes room on a full device.
const STEP_BYTES: u64 = 64 << 10;

/// Groups that are laid out at most before somebody must store them.
const PENDING_BYTES_MAX: usize = 4 << 20;

/// What the notes call the log.
const WHAT: &str = "redo log";

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedoOptions {
    /// Size of a segment; a larger group gets a larger one.
    pub segment_bytes: u64,
    /// Whether groups are compressed by LZ4 where that makes them smaller.
    pub is_compressed: bool,
}

impl RedoOptions {
    /// Returns options whose segments are short enough that the log has about `checkpoint_bytes`
    /// after a checkpoint: it ends with the last segment, which has two members.
    pub(crate) fn for_checkpoints(self, checkpoint_bytes: u64) -> Self {
        let segment_bytes = (checkpoint_bytes / 2).max(FIRST_BYTES);
        match checkpoint_bytes {
            0 => self,
            _ => Self { segment_bytes: self.segment_bytes.min(segment_bytes), ..self },
        }
    }

    /// Returns the room that is left for checkpoints.
    fn reserve_bytes(self) -> u64 {
        RESERVE_BYTES.min(self.segment_bytes / 4 / GROUP_ALIGN * GROUP_ALIGN)
    }
}

impl Default for RedoOptions {
    fn default() -> Self {
        Self { segment_bytes: SEGMENT_BYTES_DEFAULT, is_compressed: false }
    }
}

/// The open redo log of a database.
#[derive(Debug)]
pub struct RedoLog {
    database: DatabaseId,
    options: RedoOptions,
    /// Position up to which everything is durable. Written by whoever holds `writer`, read by all.
    durable: AtomicU64,
    turns: Turns,
    writer: Mutex<Writer>,
    pending: Mutex<Pending>,
}

/// Where groups are stored.
#[derive(Debug)]
struct Writer {
    access: Access,
    /// The main one first.
    domains: Vec<Domain>,
    /// Those before the last, oldest first.
    sealed: Vec<Sealed>,
    last: Segment,
    /// The buffer that is not laid out into.
    spare: Vec<u8>,
    notes: Vec<String>,
}

/// A segment that takes no more groups.
#[derive(Debug)]
struct Sealed {
    number: u64,
    first: Lsn,
    end: Lsn,
    /// Until it was replayed.
    segment: Option<Segment>,
}

/// Groups that are laid out and not stored.
#[derive(Debug)]
struct Pending {
    groups: Vec<u8>,
    /// Position behind them.
    end: Lsn,
    /// Position up to which there is room.
    room_end: Lsn,
    last_commit: CommitTs,
    /// Time of the last group or moment, in microseconds since 1970.
    last_time: u64,
    /// Why nothing more is taken.
    failure: Option<String>,
    scratch: Vec<u8>,
}

impl RedoLog {
    /// Creates an empty log in `domains`, the main one first.
    ///
    /// # Errors
    /// No space, I/O; [`RedoLog::create`] may be called again.
    pub fn create(
        domains: &[Domain],
        database: DatabaseId,
        options: RedoOptions,
    ) -> Result<RedoLog> {
        remove_files(domains, |_| true)?;
        let mut notes = Vec::new();
        let bytes = options.segment_bytes.min(FIRST_BYTES) + options.reserve_bytes();
        let bytes = bytes + SEGMENT_HEADER_BYTES;
        let last = Segment::create(1, Lsn(0), database, domains, bytes, &mut notes)?;
        Ok(RedoLog::with(domains, Access::ReadWrite, database, options, Vec::new(), last, notes))
    }

    /// Opens the log whose oldest segment is `oldest`. With `access` for writing what a crash left
    /// is tidied up, and files of other segments are removed.
    ///
    /// # Errors
    /// [`Error::RedoDamaged`] if acknowledged groups are gone from all members; it says which.
    pub fn open(
        domains: &[Domain],
        access: Access,
        database: DatabaseId,
        oldest: u64,
        options: RedoOptions,
    ) -> Result<RedoLog> {
        let (mut sealed, mut notes): (Vec<Sealed>, Vec<String>) = Default::default();
        let (mut number, mut first) = (oldest, None);
        let (mut last_commit, mut last_time) = (CommitTs::default(), 0);
        let last = loop {
            let mut opened = Segment::open(number, first, database, domains, access)?;
            notes.append(&mut opened.notes);
            last_commit = opened.last_commit.unwrap_or(last_commit);
            last_time = opened.last_time.max(last_time);
            let segment = opened.segment;
            match segment.state {
                State::Sealed(end) => {
                    let first = segment.first;
                    sealed.push(Sealed { number, first, end, segment: Some(segment) });
                }
                State::Open | State::Closed(_) => break segment,
            }
            first = sealed.last().map(|sealed| sealed.end);
            number += 1;
        };
        if access == Access::ReadWrite {
            remove_files(domains, |other| other < oldest || other > number)?;
        }
        let log = RedoLog::with(domains, access, database, options, sealed, last, notes);
        {
            let mut pending = log.pending();
            (pending.last_commit, pending.last_time) = (last_commit, last_time);
        }
        Ok(log)
    }

    fn with(
        domains: &[Domain],
        access: Access,
        database: DatabaseId,
        options: RedoOptions,
        sealed: Vec<Sealed>,
        last: Segment,
        notes: Vec<String>,
    ) -> RedoLog {
        let end = last.end;
        let domains = domains.to_vec();
        RedoLog {
            database,
            options,
            durable: AtomicU64::new(end.0),
            turns: Turns::default(),
            writer: Mutex::new(Writer { access, domains, sealed, last, spare: Vec::new(), notes }),
            pending: Mutex::new(Pending {
                groups: Vec::new(),
                end,
                // The first group takes the slow path, which opens the segment.
                room_end: end,
                last_commit: CommitTs::default(),
                last_time: 0,
                failure: None,
                scratch: Vec::new(),
            }),
        }
    }

    /// Gives the group of a transaction its place in the log and returns the position behind it.
    /// Commit timestamps must grow from call to call.
    ///
    /// # Errors
    /// No space, [`Error::TransactionTooLarge`]: nothing of the group is in the log, and the next
    /// one may fit. [`Error::RedoFailed`] after a failed persist.
    pub fn append(&self, commit: CommitTs, records: &RedoBuffer) -> Result<Lsn> {
        let durable = self.durable();
        let mut pending = self.pending();
        let is_full = pending.groups.len() >= PENDING_BYTES_MAX;
        if !is_full && let Some(end) = pending.put(commit, durable, records, self.options)? {
            return Ok(end);
        }
        drop(pending);
        self.append_slowly(commit, records)
    }

    /// Stores what is laid out, makes room, and appends.
    #[cold]
    #[inline(never)]
    fn append_slowly(&self, commit: CommitTs, records: &RedoBuffer) -> Result<Lsn> {
        let mut writer = self.writer();
        let mut pending = self.pending();
        if let Some(end) = pending.put(commit, self.durable(), records, self.options)? {
            return Ok(end);
        }
        self.store(&mut writer, &mut pending)?;
        let needed = pending.needed_bytes(records, self.options)?;
        let made = writer.make_room(self.database, self.options, needed);
        pending.room_end = writer.room_end(self.options);
        let reserve = match made {
            Err(error) if !records.ends_checkpoint() || error.kind() != ErrorKind::NoSpace => {
                return Err(error);
            }
            // The last group of a checkpoint may use the reserve.
            Err(error) if writer.last.room_end().0 - writer.last.end.0 < needed => {
                return Err(error);
            }
            Err(_) => std::mem::replace(&mut pending.room_end, writer.last.room_end()),
            Ok(()) => pending.room_end,
        };
        let end = pending.put(commit, self.durable(), records, self.options);
        pending.room_end = reserve;
        let missing = || Error::Internal { reason: "a segment has no room after all".into() };
        end?.ok_or_else(missing)
    }

    /// Begins a new segment if the last one is larger than segments are to be, or half full: the
    /// groups in it keep it from being removed by the checkpoint that begins. Without space for a
    /// new one the last one stays.
    ///
    /// # Errors
    /// As for [`RedoLog::append`], but no space.
    pub(crate) fn begin_segment(&self) -> Result<()> {
        let mut writer = self.writer();
        let mut pending = self.pending();
        let (used, bytes) = (pending.end.0 - writer.last.first.0, writer.last_bytes());
        let largest = self.options.segment_bytes + self.options.reserve_bytes();
        if used == 0 || (bytes <= largest && used <= bytes / 2) {
            return Ok(());
        }
        self.store(&mut writer, &mut pending)?;
        let wanted = bytes.saturating_sub(self.options.reserve_bytes());
        let wanted = wanted.min(self.options.segment_bytes);
        match writer.add_segment(self.database, self.options, (wanted, 0)) {
            Err(error) if error.kind() == ErrorKind::NoSpace => {}
            added => added?,
        }
        pending.room_end = writer.room_end(self.options);
        Ok(())
    }

    /// Returns when everything before `lsn` is durable.
    ///
    /// # Errors
    /// [`Error::RedoFailed`] if it cannot be: whether it is there after a restart is open.
    pub fn persist(&self, lsn: Lsn) -> Result<()> {
        let is_durable = || self.durable() >= lsn;
        if is_durable() {
            return Ok(());
        }
        // Who had the turn before may have stored it.
        let Some(_turn) = self.turns.take_unless(is_durable) else {
            return Ok(());
        };
        let mut writer = self.writer();
        let mut pending = self.pending();
        if let Some(reason) = &pending.failure {
            return Err(Error::RedoFailed { reason: reason.clone() });
        }
        let spare = std::mem::take(&mut writer.spare);
        let groups = std::mem::replace(&mut pending.groups, spare);
        drop(pending);
        let stored = writer.store(&groups);
        self.note_stored(&mut writer, groups, stored.err(), None)
    }

    /// Returns when everything that was appended is durable.
    ///
    /// # Errors
    /// As for [`RedoLog::persist`].
    pub fn flush(&self) -> Result<()> {
        let end = self.pending().end;
        self.persist(end)
    }

    /// Stores what is laid out while nothing can be appended.
    fn store(&self, writer: &mut Writer, pending: &mut Pending) -> Result<()> {
        if let Some(reason) = &pending.failure {
            return Err(Error::RedoFailed { reason: reason.clone() });
        }
        let groups = std::mem::take(&mut pending.groups);
        let stored = writer.store(&groups);
        self.note_stored(writer, groups, stored.err(), Some(pending))
    }

    /// Notes that groups are durable, or why they may not be.
    fn note_stored(
        &self,
        writer: &mut Writer,
        mut groups: Vec<u8>,
        failure: Option<Error>,
        pending: Option<&mut Pending>,
    ) -> Result<()> {
        let Some(error) = failure else {
            // ORDERING: Release pairs with Acquire in `durable`; whoever reads it knows that the
            // groups are durable.
            self.durable.store(writer.last.end.0, Ordering::Release);
            groups.clear();
            // The buffer of a large transaction is not kept.
            groups.shrink_to(PENDING_BYTES_MAX);
            match pending {
                Some(pending) => pending.groups = groups,
                None => writer.spare = groups,
            }
            return Ok(());
        };
        let reason = error.to_string();
        match pending {
            Some(pending) => pending.failure = Some(reason.clone()),
            None => self.pending().failure = Some(reason.clone()),
        }
        Err(Error::RedoFailed { reason })
    }

    /// Calls `visit` with the groups from a position on, in order, until it breaks off. Done before
    /// [`RedoLog::replay`] or [`RedoLog::release`].
    ///
    /// # Errors
    /// [`Error::RedoDamaged`]; those of `visit`.
    pub(crate) fn visit(
        &self,
        from: Lsn,
        visit: &mut dyn FnMut(GroupRecords<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let writer = self.writer();
        let sealed = writer.sealed.iter().filter(|sealed| sealed.end > from);
        let segments = sealed.filter_map(|sealed| sealed.segment.as_ref());
        for segment in segments.chain([&writer.last]) {
            if visit_records(segment, from, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Unmaps the segments before the last.
    pub(crate) fn release(&self) {
        self.writer().sealed.iter_mut().for_each(|sealed| drop(sealed.segment.take()));
    }

    /// Calls `apply` with every record of the log in order. Done once, before the first append; a
    /// second time gives the records of the last segment only.
    ///
    /// # Errors
    /// [`Error::RedoDamaged`]; those of `apply`.
    pub fn replay(
        &self,
        apply: &mut dyn FnMut(CommitTs, RedoRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        self.visit(Lsn(0), &mut |mut group| {
            let commit = group.commit;
            while let Some(record) = group.next_record()? {
                apply(commit, record)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.release();
        Ok(())
    }

    /// Calls `put` with the groups between two positions, up to [`PIECE_BYTES`] or one group at a
    /// time; those before `to` are durable. Others append meanwhile, but while a piece of the last
    /// segment is copied. One at a time, and not beside [`RedoLog::repair`].
    ///
    /// # Errors
    /// [`Error::RedoDamaged`]; those of `put`; [`Error::Internal`] if the log begins later.
    pub(crate) fn copy_groups(
        &self,
        from: Lsn,
        to: Lsn,
        put: &mut dyn FnMut(Piece<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut at = from;
        while at < to {
            let mut writer = self.writer();
            let Writer { sealed, last, domains, .. } = &mut *writer;
            if let Some(found) = sealed.iter_mut().find(|sealed| sealed.end > at) {
                let (number, first, end) = (found.number, found.first, found.end);
                let (kept, domains) = (found.segment.take(), domains.clone());
                drop(writer);
                let segment = match kept {
                    Some(segment) => segment,
                    // What is wrong with it is mended by those who open it for writing.
                    None => {
                        let access = Access::ReadOnly;
                        Segment::open(number, Some(first), self.database, &domains, access)?.segment
                    }
                };
                while at < end.min(to) {
                    at = copy_piece(&segment, at, end.min(to), put)?;
                }
                continue;
            }
            let mut groups = Vec::new();
            let (number, first, start) = (last.number, last.first, at);
            at = copy_piece(last, at, last.end.min(to), &mut |piece| {
                groups.extend_from_slice(piece.groups);
                Ok(())
            })?;
            drop(writer);
            put(Piece { number, first, start, groups: &groups })?;
        }
        Ok(())
    }

    /// Returns the commit timestamp of the last group, 0 if there is none.
    pub fn last_commit(&self) -> CommitTs {
        self.pending().last_commit
    }

    /// Returns where the log is now; groups that come later are of later moments.
    pub fn moment(&self) -> Moment {
        let mut pending = self.pending();
        pending.last_time = now_micros().max(pending.last_time);
        Moment { commit: pending.last_commit, lsn: pending.end, time: pending.last_time }
    }

    /// Returns the position behind the last group.
    pub fn end(&self) -> Lsn {
        self.pending().end
    }

    /// Returns the position up to which everything is durable.
    #[inline]
    pub fn durable(&self) -> Lsn {
        // ORDERING: Acquire pairs with Release in `note_stored`.
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Returns the position of the first group that is there.
    pub fn start(&self) -> Lsn {
        let writer = self.writer();
        writer.sealed.first().map_or(writer.last.first, |sealed| sealed.first)
    }

    /// Returns the number of the oldest segment that has groups from `lsn` on.
    pub fn segment_at(&self, lsn: Lsn) -> u64 {
        let writer = self.writer();
        let found = writer.sealed.iter().find(|sealed| sealed.end > lsn);
        found.map_or(writer.last.number, |sealed| sealed.number)
    }

    /// Removes the segments before number `oldest`, which the next opening must name.
    ///
    /// # Errors
    /// I/O; the files that stay are removed by the next opening.
    pub fn truncate(&self, oldest: u64) -> Result<()> {
        let mut writer = self.writer();
        writer.sealed.retain(|sealed| sealed.number >= oldest);
        let oldest = oldest.min(writer.last.number);
        remove_files(&writer.domains, |number| number < oldest)
    }

    /// Follows a change of domains, rebuilds members that are missing, stale or damaged, and
    /// gives each further domain a member; `are_all_here` says that no further domain is absent.
    pub fn repair(&self, domains: &[Domain], are_all_here: bool) {
        let mut writer = self.writer();
        writer.domains = domains.to_vec();
        let Writer { sealed, last, notes, access, .. } = &mut *writer;
        let Some((main, further)) = domains.split_first() else {
            return;
        };
        for sealed in sealed.iter_mut() {
            let opened = match sealed.segment.take() {
                Some(segment) => Ok(segment),
                None => Segment::open(
                    sealed.number,
                    Some(sealed.first),
                    self.database,
                    domains,
                    *access,
                )
                .map(|opened| opened.segment),
            };
            match opened {
                Ok(mut segment) => {
                    note_all(notes, mend(&mut segment, *access, main, further, are_all_here));
                    sealed.segment = Some(segment);
                }
                Err(error) => note_all(notes, vec![error.to_string()]),
            }
        }
        note_all(notes, mend(last, *access, main, further, are_all_here));
    }

    /// Compares the members of the last segment byte by byte and returns what is wrong; commits
    /// wait meanwhile. [`RedoLog::repair`] rebuilds members that are left out.
    pub fn scrub(&self) -> Vec<String> {
        members::scrub(&mut self.writer().last.set)
    }

    /// Returns what to tell the user.
    pub fn notes(&self) -> Vec<String> {
        self.writer().notes.clone()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RedoLog {
    fn drop(&mut self) {
        // What fails here is found by the next opening, as after a crash.
        let is_durable = self.flush().is_ok();
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if is_durable && writer.access == Access::ReadWrite && writer.last.state == State::Open {
            let _ = writer.last.publish(State::Closed(writer.last.end));
        }
    }
}

impl Pending {
    /// Appends a group if there is room for it; returns the position behind it.
    fn put(
        &mut self,
        commit: CommitTs,
        durable: Lsn,
        records: &RedoBuffer,
        options: RedoOptions,
    ) -> Result<Option<Lsn>> {
        if let Some(reason) = &self.failure {
            return Err(Error::RedoFailed { reason: reason.clone() });
        }
        if commit <= self.last_commit {
            let reason = format!("commit {} after {}", commit.0, self.last_commit.0);
            return Err(Error::Internal { reason });
        }
        let Pending { groups, end, room_end, last_commit, last_time, scratch, .. } = self;
        let stored = pack(records.bytes(), options.is_compressed, scratch)?;
        let behind = Lsn(end.0 + group_bytes(stored.len()));
        if behind > *room_end {
            return Ok(None);
        }
        *last_time = now_micros().max(*last_time);
        let start = GroupStart { lsn: *end, commit, durable, time: *last_time };
        put_group(groups, start, stored, records.bytes().len());
        (*end, *last_commit) = (behind, commit);
        Ok(Some(behind))
    }

    /// Returns the bytes of a group.
    fn needed_bytes(&mut self, records: &RedoBuffer, options: RedoOptions) -> Result<u64> {
        let stored = pack(records.bytes(), options.is_compressed, &mut self.scratch)?;
        Ok(group_bytes(stored.len()))
    }
}

impl Writer {
    /// Makes groups durable behind all others.
    fn store(&mut self, groups: &[u8]) -> Result<()> {
        if groups.is_empty() {
            return Ok(());
        }
        let copies = self.last.set.copy_count();
        self.last.append(groups)?;
        if self.last.set.copy_count() < copies {
            let left_behind = members::left_behind(&self.last.set, WHAT);
            note_all(&mut self.notes, left_behind);
        }
        Ok(())
    }

    /// Returns the position up to which groups of commits fit.
    fn room_end(&self, options: RedoOptions) -> Lsn {
        let end = self.last.room_end().0.saturating_sub(options.reserve_bytes());
        Lsn(end.max(self.last.end.0))
    }

    /// Returns the bytes of groups that the last segment has room for in all.
    fn last_bytes(&self) -> u64 {
        self.last.room_end().0 - self.last.first.0
    }

    /// Makes room in the last segment for a group of `needed` bytes and, behind it, the reserve.
    fn make_room(&mut self, database: DatabaseId, options: RedoOptions, needed: u64) -> Result<()> {
        if self.last.state != State::Open {
            self.last.publish(State::Open)?;
        }
        // A mapping outlives its file: groups in removed files would be gone with the process.
        self.last.set.drop_lost()?;
        if self.room_end(options).0 - self.last.end.0 >= needed {
            return Ok(());
        }
        let used = self.last.end.0 - self.last.first.0;
        if used + needed > options.segment_bytes {
            let wanted = options.segment_bytes.max(needed);
            return self.add_segment(database, options, (wanted, needed));
        }
        let (now, reserve) = (self.last_bytes(), options.reserve_bytes());
        let limit = options.segment_bytes + reserve;
        let least = used + needed + reserve;
        let wanted = (2 * now).clamp(least, limit);
        let least = (least.max(now) + STEP_BYTES).min(limit);
        let set = &mut self.last.set;
        allocate_some((wanted - now, least - now), |growth| {
            Ok(set.grow(now + growth + SEGMENT_HEADER_BYTES)?)
        })
    }

    /// Seals the last segment and begins another one with room for `wanted` bytes of groups, or, on
    /// a full device, for a group of `needed` bytes at least.
    fn add_segment(
        &mut self,
        database: DatabaseId,
        options: RedoOptions,
        (wanted, needed): (u64, u64),
    ) -> Result<()> {
        let (number, end) = (self.last.number + 1, self.last.end);
        let reserve = options.reserve_bytes() + SEGMENT_HEADER_BYTES;
        let wanted = wanted + reserve;
        let least = needed.max(STEP_BYTES.min(options.segment_bytes)) + reserve;
        let Self { domains, notes, .. } = self;
        let next = allocate_some((wanted, least), |bytes| {
            Segment::create(number, end, database, domains, bytes, notes)
        })?;
        // PERSIST: the next segment is durable (above), and so are all groups of this one.
        self.last.publish(State::Sealed(end))?;
        let full = std::mem::replace(&mut self.last, next);
        self.sealed.push(Sealed { number: full.number, first: full.first, end, segment: None });
        // If it is not closed properly the next opening compares its members again.
        let _ = full.set.close();
        Ok(())
    }
}

/// Rebuilds the members of a segment, or says which cannot be used.
fn mend(
    segment: &mut Segment,
    access: Access,
    main: &Domain,
    further: &[Domain],
    are_all_here: bool,
) -> Vec<String> {
    match access {
        Access::ReadWrite => members::repair(&mut segment.set, WHAT, main, further, are_all_here),
        Access::ReadOnly => members::unusable(&segment.set, WHAT, are_all_here),
    }
}

fn note_all(notes: &mut Vec<String>, new: Vec<String>) {
    for note in new {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}
