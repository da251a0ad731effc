//! The open heap: taking and giving back extents.

use std::collections::{BTreeMap, BTreeSet};

use super::class::{self, CLASS_COUNT, CLASSES, SMALL_BYTES_MAX, SPAN_BYTES};
use super::free_index::FreeIndex;
use super::journal::Change;
use super::line::{self, Bits, Header, LINE_BYTES, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::prefetch;
use crate::set::PoolSet;
use crate::transaction_log::Transaction;

/// A range of the data area that the heap handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// Where it begins in the pool set, a multiple of 64.
    pub offset: u64,
    /// Bytes that may be used: what was asked for, or a little more.
    pub bytes: u64,
}

/// What a heap holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapStatistics {
    /// Bytes that the heap manages, without its own table.
    pub bytes: u64,
    /// Bytes in extents that are handed out.
    pub used_bytes: u64,
    /// Bytes in runs of spans that belong to no group and no extent.
    pub free_run_bytes: u64,
    /// Bytes of the largest such run, that is of the largest extent that can be had.
    pub largest_free_bytes: u64,
}

/// What a span belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Free,
    Group { head: u32 },
    Large { head: u32 },
}

/// Extents of one class in one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) class: u8,
    /// Extents that must not be handed out: allocated, or freed by a transaction that is not known
    /// to be committed.
    pub(super) taken: Bits,
    /// Bits of the line as the current transaction leaves it.
    pub(super) line: Bits,
    /// The transaction that wrote the line last, 0 since the heap was opened.
    changed_by: u64,
}

impl Group {
    pub(super) fn new(class: u8, bits: Bits) -> Group {
        Group { class, taken: bits, line: bits, changed_by: 0 }
    }

    pub(super) fn shape(&self) -> class::Class {
        CLASSES[self.class as usize]
    }

    fn run(&self) -> Run {
        if self.line == Bits::default() {
            return Run::Free { spans: self.shape().spans };
        }
        Run::Group { class: self.class, bits: self.line }
    }
}

/// A large extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Large {
    pub(super) spans: u32,
    /// A transaction that is not known to be committed freed it.
    pub(super) is_freed: bool,
}

/// A persistent heap in the data area of one pool set, see the [module](super).
#[derive(Debug)]
pub struct Heap {
    /// Matches `Log::watcher` as long as no other heap was opened for the set.
    pub(super) token: u64,
    /// Offset of the heap in the pool set.
    pub(super) base: u64,
    pub(super) header: Header,
    /// The root as the current transaction leaves it, 0 for none.
    pub(super) root: u64,
    /// One for each span in use.
    pub(super) spans: Vec<Span>,
    /// By first span.
    pub(super) groups: BTreeMap<u32, Group>,
    /// By first span.
    pub(super) large: BTreeMap<u32, Large>,
    /// First spans of the groups of each class that can hand out; the lowest is used first.
    pub(super) partial: [BTreeSet<u32>; CLASS_COUNT],
    pub(super) free: FreeIndex,
    pub(super) used_bytes: u64,
    /// What transaction `journal_id` changed here.
    pub(super) journal: Vec<Change>,
    pub(super) journal_id: u64,
}

/// Where an extent lies.
enum Place {
    Small { head: u32, index: u32 },
    Large { head: u32 },
}

impl Heap {
    /// Hands out an extent of at least `bytes` bytes, with any content. It is taken when `tx`
    /// commits, and free again if it does not.
    ///
    /// # Errors
    /// `HeapFull`; then nothing changed, and `tx` may go on. `Corrupt` if the table is damaged
    /// where it is needed, `Foreign` if `tx` is not of this heap's pool set, `TransactionTooLarge`.
    pub fn alloc(&mut self, tx: &mut Transaction<'_>, bytes: u64) -> Result<Extent> {
        self.enter(tx)?;
        if bytes <= SMALL_BYTES_MAX {
            self.alloc_small(tx, bytes)
        } else {
            self.alloc_large(tx, bytes)
        }
    }

    /// Gives an extent back when `tx` commits.
    ///
    /// # Errors
    /// `DoubleFree` if no extent that is allocated begins at `offset`, `Corrupt` if the table is
    /// damaged there, `IsRoot` if it is the root and `tx` has not moved or cleared that by
    /// [`Heap::set_root`]; then nothing changed. As for [`Heap::alloc`].
    pub fn free(&mut self, tx: &mut Transaction<'_>, offset: u64) -> Result<()> {
        self.enter(tx)?;
        if offset == self.root && offset != 0 {
            return Err(is_root(offset));
        }
        match self.place(offset)? {
            Place::Small { head, index } => {
                let mut group = self.group(tx.pool_set(), head)?;
                if !line::is_set(&group.line, index) {
                    return Err(not_allocated(offset, "it was freed before"));
                }
                line::clear_bit(&mut group.line, index);
                self.write_line(tx, head, &group.run())?;
                self.used_bytes -= group.shape().extent_bytes;
                self.put_group(head, group);
                self.journal.push(Change::FreedSmall { head, index });
            }
            Place::Large { head } => {
                let spans = match self.large.get(&head) {
                    Some(large) if !large.is_freed => large.spans,
                    _ => return Err(not_allocated(offset, "it was freed before")),
                };
                self.write_line(tx, head, &Run::Free { spans })?;
                self.large.insert(head, Large { spans, is_freed: true });
                self.used_bytes -= u64::from(spans) * SPAN_BYTES;
                self.journal.push(Change::FreedLarge { head });
            }
        }
        Ok(())
    }

    /// Starts to load what freeing the extent at `offset` will read and write. Any offset will do.
    #[inline]
    pub(crate) fn prefetch_free(&self, set: &PoolSet, offset: u64) {
        let first = self.base + self.header.first_span_at();
        let span = offset.wrapping_sub(first) / SPAN_BYTES;
        if let Some(entry) = self.spans.get(span as usize) {
            prefetch::line(std::ptr::from_ref(entry).cast());
            // The line of the run, if the extent lies in its first span.
            set.prefetch_for_write(self.line_offset(span as u32));
        }
    }

    /// Returns how many bytes may be used of the extent at `offset`. An extent whose freeing was
    /// only just committed may still be found.
    ///
    /// # Errors
    /// `DoubleFree` if no extent begins there, `Foreign`.
    pub fn bytes_of(&self, set: &PoolSet, offset: u64) -> Result<u64> {
        self.check_owner(set)?;
        match self.place(offset)? {
            Place::Small { head, index } => match self.groups.get(&head) {
                Some(group) if line::is_set(&group.taken, index) => Ok(group.shape().extent_bytes),
                _ => Err(not_allocated(offset, "it is free")),
            },
            Place::Large { head } => match self.large.get(&head) {
                Some(large) => Ok(u64::from(large.spans) * SPAN_BYTES),
                None => Err(not_allocated(offset, "it is free")),
            },
        }
    }

    /// Returns the root extent's offset.
    ///
    /// # Errors
    /// `Corrupt` if its checksum is wrong, `Foreign`.
    pub fn root(&self, set: &PoolSet) -> Result<Option<u64>> {
        self.check_owner(set)?;
        super::open::read_root(set, self.base)
    }

    /// Makes an extent the root when `tx` commits; 0 for none.
    ///
    /// # Errors
    /// `DoubleFree` if no extent begins at `offset` that is allocated and that `tx` did not free,
    /// as for [`Heap::alloc`].
    pub fn set_root(&mut self, tx: &mut Transaction<'_>, offset: u64) -> Result<()> {
        self.enter(tx)?;
        if offset != 0 {
            self.check_allocated(offset)?;
        }
        tx.write(self.base + line::ROOT_AT, &line::encode_root(offset))?;
        let old = std::mem::replace(&mut self.root, offset);
        self.journal.push(Change::MovedRoot { old });
        Ok(())
    }

    /// Refuses what is no extent as the current transaction leaves it.
    fn check_allocated(&self, offset: u64) -> Result<()> {
        let is_allocated = match self.place(offset)? {
            Place::Small { head, index } => {
                self.groups.get(&head).is_some_and(|group| line::is_set(&group.line, index))
            }
            Place::Large { head } => self.large.get(&head).is_some_and(|large| !large.is_freed),
        };
        match is_allocated {
            true => Ok(()),
            false => Err(not_allocated(offset, "it is free")),
        }
    }

    /// Returns what the heap holds.
    ///
    /// # Errors
    /// `Foreign`.
    pub fn statistics(&mut self, set: &PoolSet) -> Result<HeapStatistics> {
        self.check_owner(set)?;
        self.resolve(set);
        Ok(HeapStatistics {
            bytes: self.spans.len() as u64 * SPAN_BYTES,
            used_bytes: self.used_bytes,
            free_run_bytes: self.free.spans() * SPAN_BYTES,
            largest_free_bytes: u64::from(self.free.largest()) * SPAN_BYTES,
        })
    }

    /// Takes what the pool set grew by into use, up to the bound of the heap's creation. Returns
    /// how many bytes that is.
    ///
    /// # Errors
    /// `Foreign`, as for [`PoolSet::transaction`].
    pub fn grow(&mut self, set: &mut PoolSet) -> Result<u64> {
        self.check_owner(set)?;
        self.resolve(set);
        let old = self.header.spans;
        let spans = super::open::spans_in(set, self.base, self.header.spans_max);
        if spans <= old {
            return Ok(0);
        }
        let header = Header { spans, ..self.header };
        let added = Run::Free { spans: spans - old }.encode(old);
        let (base, at) = (self.base, self.line_offset(old));
        set.transaction(|tx| {
            tx.write(at, &added)?;
            tx.write(base, &header.encode())
        })?;
        self.header = header;
        self.spans.resize(spans as usize, Span::Free);
        self.free.add(old, spans - old);
        Ok(u64::from(spans - old) * SPAN_BYTES)
    }

    /// Starts the heap's part in a transaction.
    fn enter(&mut self, tx: &mut Transaction<'_>) -> Result<()> {
        self.check_owner(tx.pool_set())?;
        if tx.id() != self.journal_id {
            self.resolve(tx.pool_set());
            self.journal_id = tx.id();
            tx.watch();
        }
        Ok(())
    }

    fn check_owner(&self, set: &PoolSet) -> Result<()> {
        if set.log.watcher != self.token {
            return Err(Error::new(
                ErrorKind::Foreign,
                "heap",
                "the pool set is not the one it was opened for, or its heap was opened again",
                "use the heap that was opened last for this pool set",
            ));
        }
        Ok(())
    }

    fn alloc_small(&mut self, tx: &mut Transaction<'_>, bytes: u64) -> Result<Extent> {
        let class = class::class_of(bytes);
        let shape = CLASSES[class];
        let (head, mut group, is_new) = match self.partial[class].first() {
            Some(&head) => (head, self.group(tx.pool_set(), head)?, false),
            None => {
                let head = self.fit(bytes, shape.spans)?;
                (head, Group::new(class as u8, Bits::default()), true)
            }
        };
        let Some(index) = line::first_clear(&group.taken, shape.extents) else {
            return Err(self.damaged(head, "a group said to have room has none"));
        };
        line::set_bit(&mut group.taken, index);
        line::set_bit(&mut group.line, index);
        if is_new {
            self.cut(tx, head, &group.run())?;
            self.spans[head as usize..][..shape.spans as usize].fill(Span::Group { head });
            self.partial[class].insert(head);
        } else {
            self.write_line(tx, head, &group.run())?;
        }
        if line::first_clear(&group.taken, shape.extents).is_none() {
            self.partial[class].remove(&head);
        }
        self.used_bytes += shape.extent_bytes;
        self.put_group(head, group);
        self.journal.push(Change::TookSmall { head, index });
        let offset = self.span_offset(head) + u64::from(index) * shape.extent_bytes;
        Ok(Extent { offset, bytes: shape.extent_bytes })
    }

    fn alloc_large(&mut self, tx: &mut Transaction<'_>, bytes: u64) -> Result<Extent> {
        let spans = u32::try_from(class::large_spans(bytes)).unwrap_or(u32::MAX);
        let head = self.fit(bytes, spans)?;
        self.cut(tx, head, &Run::Large { spans })?;
        self.spans[head as usize..][..spans as usize].fill(Span::Large { head });
        self.large.insert(head, Large { spans, is_freed: false });
        let bytes = u64::from(spans) * SPAN_BYTES;
        self.used_bytes += bytes;
        self.journal.push(Change::TookLarge { head });
        Ok(Extent { offset: self.span_offset(head), bytes })
    }

    /// Returns where a run of `spans` free spans begins.
    fn fit(&self, bytes: u64, spans: u32) -> Result<u32> {
        self.free.best_fit(spans).map(|(start, _)| start).ok_or_else(|| {
            let (free, largest) = (self.free.spans(), self.free.largest());
            Error::new(
                ErrorKind::HeapFull,
                "heap",
                format!(
                    "no {bytes} bytes in a row: {} bytes are free, {} in a row",
                    free * SPAN_BYTES,
                    u64::from(largest) * SPAN_BYTES
                ),
                "grow the pool set, then the heap (`HybridTree::grow` does both), or free extents",
            )
        })
    }

    /// Writes `run` to the front of the free run that begins at `head`, and the line of what
    /// remains.
    fn cut(&mut self, tx: &mut Transaction<'_>, head: u32, run: &Run) -> Result<()> {
        let spans = run.spans();
        let length = self.free.length(head);
        self.write_line(tx, head, run)?;
        if spans < length {
            self.write_line(tx, head + spans, &Run::Free { spans: length - spans })?;
        }
        self.free.take(head, spans);
        Ok(())
    }

    fn write_line(&self, tx: &mut Transaction<'_>, span: u32, run: &Run) -> Result<()> {
        tx.write(self.line_offset(span), &run.encode(span))
    }

    /// Returns a group, after comparing it with its line if the current transaction has not
    /// changed that.
    fn group(&self, set: &PoolSet, head: u32) -> Result<Group> {
        let Some(group) = self.groups.get(&head) else {
            return Err(self.damaged(head, "no group begins here"));
        };
        if group.changed_by != self.journal_id {
            let expected = group.run().encode(head);
            let check = |found: &[u8]| if found == expected { Ok(()) } else { Err(()) };
            set.read_verified(self.line_offset(head), LINE_BYTES as u64, check)?
                .map_err(|()| self.damaged(head, "its line changed behind the heap's back"))?;
        }
        Ok(*group)
    }

    fn put_group(&mut self, head: u32, group: Group) {
        self.groups.insert(head, Group { changed_by: self.journal_id, ..group });
    }

    fn place(&self, offset: u64) -> Result<Place> {
        let first = self.base + self.header.first_span_at();
        let span = offset.checked_sub(first).map(|bytes| bytes / SPAN_BYTES);
        match span.and_then(|span| self.spans.get(span as usize)) {
            None => Err(not_allocated(offset, "it lies outside of the heap")),
            Some(Span::Free) => Err(not_allocated(offset, "it is free")),
            Some(&Span::Large { head }) if offset == self.span_offset(head) => {
                Ok(Place::Large { head })
            }
            Some(Span::Large { .. }) => Err(not_allocated(offset, "it is inside of an extent")),
            Some(&Span::Group { head }) => {
                let Some(shape) = self.groups.get(&head).map(Group::shape) else {
                    return Err(self.damaged(head, "no group begins here"));
                };
                let bytes = offset - self.span_offset(head);
                let index = bytes / shape.extent_bytes;
                if !bytes.is_multiple_of(shape.extent_bytes) || index >= u64::from(shape.extents) {
                    return Err(not_allocated(offset, "no extent begins there"));
                }
                Ok(Place::Small { head, index: index as u32 })
            }
        }
    }

    fn damaged(&self, span: u32, problem: &str) -> Error {
        super::open::damaged(self.base, span, problem)
    }

    fn line_offset(&self, span: u32) -> u64 {
        super::open::line_offset(self.base, span)
    }

    pub(super) fn span_offset(&self, span: u32) -> u64 {
        self.base + self.header.first_span_at() + u64::from(span) * SPAN_BYTES
    }
}

fn not_allocated(offset: u64, problem: &str) -> Error {
    Error::new(
        ErrorKind::DoubleFree,
        "heap",
        format!("no allocated extent begins at offset {offset}: {problem}"),
        "correct the caller; nothing was changed",
    )
}

fn is_root(offset: u64) -> Error {
    Error::new(
        ErrorKind::IsRoot,
        "heap",
        format!("the extent at offset {offset} is the root"),
        "clear or move the root first, in the same transaction",
    )
}
