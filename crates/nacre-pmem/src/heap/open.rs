//! Creating and opening a heap, and the walk over its table.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::allocator::{Group, Heap, Large, Span};
use super::class::{CLASSES, SPAN_BYTES};
use super::free_index::FreeIndex;
use super::line::{self, Header, HeaderFault, LINE_BYTES, ROOT_AT, ROOT_BYTES, Run, TABLE_AT};
use crate::error::{Error, ErrorKind, Result};
use crate::set::PoolSet;

/// Lines of the table for each span at creation.
const GROWTH: u64 = 16;
/// Lines of the table at least: 16 MiB of spans for 64 KiB of table.
const SPANS_MAX_LEAST: u64 = 1024;

impl Heap {
    /// Makes the data area of `set` an empty heap that can grow to 16 times its size, 16 MiB at
    /// least. Until it returns, the data area holds no heap, or one without extents.
    ///
    /// # Errors
    /// `AlreadyExists` if there is a heap with a root or an extent, and as for [`Heap::open`] if
    /// one is there that cannot be read; `HeapFull` if the data area is too small for a heap; as
    /// for [`PoolSet::update`].
    pub fn create(set: &mut PoolSet) -> Result<Heap> {
        let area = set.end_offset().saturating_sub(base_of(set));
        let bytes_max = (area / SPAN_BYTES * GROWTH).max(SPANS_MAX_LEAST) * SPAN_BYTES;
        Heap::create_bounded(set, bytes_max)
    }

    /// As [`Heap::create`], for a heap that grows to `bytes_max` bytes at most.
    ///
    /// # Errors
    /// As for [`Heap::create`].
    pub fn create_bounded(set: &mut PoolSet, bytes_max: u64) -> Result<Heap> {
        let base = base_of(set);
        let spans_max = u32::try_from(bytes_max.div_ceil(SPAN_BYTES)).unwrap_or(u32::MAX);
        let spans = spans_in(set, base, spans_max);
        if spans == 0 {
            let bytes = set.end_offset() - set.data_offset();
            return Err(Error::new(
                ErrorKind::HeapFull,
                "heap",
                format!(
                    "a data area of {bytes} bytes has no room for a table of {spans_max} spans"
                ),
                "create a larger pool set, or bound the heap",
            ));
        }
        refuse_existing(set, base)?;
        let header = Header { spans, spans_max };
        set.publish_u64(base, 0)?;
        set.write(line_offset(base, 0), &Run::Free { spans }.encode(0))?;
        set.write(base + ROOT_AT, &line::encode_root(0))?;
        let (magic, rest) = header.encode_apart();
        set.write(base + size_of_val(&magic) as u64, &rest)?;
        // PERSIST: table, root and header are durable before the magic number makes them a heap.
        set.publish_u64(base, magic)?;
        Heap::open(set)
    }

    /// Opens the heap of `set`, reading its whole table. What is damaged in one member is read
    /// from another and repaired.
    ///
    /// # Errors
    /// `Foreign` if the data area is no heap, `TooNew`, `Corrupt` naming span and offset.
    pub fn open(set: &mut PoolSet) -> Result<Heap> {
        static TOKEN: AtomicU64 = AtomicU64::new(1);
        let base = base_of(set);
        let header = read_header(set, base)?;
        let root = read_root(set, base)?.unwrap_or(0);
        let mut heap = Heap {
            token: TOKEN.fetch_add(1, Ordering::SeqCst),
            base,
            header,
            root,
            spans: vec![Span::Free; header.spans as usize],
            groups: BTreeMap::new(),
            large: BTreeMap::new(),
            partial: Default::default(),
            free: FreeIndex::default(),
            used_bytes: 0,
            journal: Vec::new(),
            journal_id: 0,
        };
        walk(set, base, header, |span, run| heap.take_over(span, run))?;
        if set.has_damaged_ranges() && set.is_writable() {
            // Who reads there meets the damage again if this fails.
            let _ = set.repair_damaged();
        }
        set.log.watcher = heap.token;
        Ok(heap)
    }

    fn take_over(&mut self, head: u32, run: Run) {
        let spans = run.spans();
        let mark = match run {
            Run::Free { .. } => return self.free.add(head, spans),
            Run::Large { .. } => {
                self.large.insert(head, Large { spans, is_freed: false });
                self.used_bytes += u64::from(spans) * SPAN_BYTES;
                Span::Large { head }
            }
            Run::Group { class, bits } => {
                let shape = CLASSES[class as usize];
                let count: u32 = bits.iter().map(|word| word.count_ones()).sum();
                self.used_bytes += u64::from(count) * shape.extent_bytes;
                if count < shape.extents {
                    self.partial[class as usize].insert(head);
                }
                self.groups.insert(head, Group::new(class, bits));
                Span::Group { head }
            }
        };
        self.spans[head as usize..][..spans as usize].fill(mark);
    }
}

/// Refuses to replace a heap that holds something.
fn refuse_existing(set: &PoolSet, base: u64) -> Result<()> {
    let is_none = |error: &Error| matches!(error.kind(), ErrorKind::Foreign);
    match Heap::check(set) {
        Err(error) if is_none(&error) => Ok(()),
        Ok(report) if report.root.is_none() && report.extents.is_empty() => Ok(()),
        Err(error) => Err(error),
        Ok(report) => Err(Error::new(
            ErrorKind::AlreadyExists,
            "heap",
            format!("one with {} extents begins at offset {base}", report.extents.len()),
            "open it, or create another pool set",
        )),
    }
}

/// Returns where the heap of a pool set begins.
pub(super) fn base_of(set: &PoolSet) -> u64 {
    set.data_offset().next_multiple_of(4096)
}

/// Returns how many spans of a heap lie in the pool set.
pub(super) fn spans_in(set: &PoolSet, base: u64, spans_max: u32) -> u32 {
    let first = base + Header { spans: 0, spans_max }.first_span_at();
    let spans = set.end_offset().saturating_sub(first) / SPAN_BYTES;
    spans.min(u64::from(spans_max)) as u32
}

/// Returns the offset of the line of a span.
pub(super) fn line_offset(base: u64, span: u32) -> u64 {
    base + TABLE_AT + u64::from(span) * LINE_BYTES as u64
}

pub(super) fn read_header(set: &PoolSet, base: u64) -> Result<Header> {
    if base + TABLE_AT > set.end_offset() {
        return Err(refuse_header(base, HeaderFault::NoHeap));
    }
    let header = set
        .read_verified(base, LINE_BYTES as u64, Header::decode)?
        .map_err(|fault| refuse_header(base, fault))?;
    if header.spans > spans_in(set, base, header.spans_max) {
        let problem = format!("its {} spans do not fit the data area", header.spans);
        return Err(Error::new(ErrorKind::Corrupt, "heap", problem, "restore the pool set"));
    }
    Ok(header)
}

fn refuse_header(base: u64, fault: HeaderFault) -> Error {
    let (kind, problem, remedy) = match fault {
        HeaderFault::NoHeap => {
            (ErrorKind::Foreign, "no heap begins".to_string(), "create one, or name its pool set")
        }
        HeaderFault::TooNew(version) => (
            ErrorKind::TooNew,
            format!("a heap of version {version} begins, this is version {}", line::VERSION),
            "use the newer version of this software",
        ),
        HeaderFault::Damaged => (
            ErrorKind::Corrupt,
            "a heap with a wrong header checksum begins".to_string(),
            "restore the pool set from a copy",
        ),
    };
    Error::new(kind, "heap", format!("{problem} at offset {base}"), remedy)
}

pub(super) fn read_root(set: &PoolSet, base: u64) -> Result<Option<u64>> {
    let offset = base + ROOT_AT;
    let decode = |bytes: &[u8]| line::decode_root(bytes).ok_or(());
    let root = set.read_verified(offset, ROOT_BYTES as u64, decode)?.map_err(|()| {
        let problem = format!("the root at offset {offset} does not match its checksum");
        Error::new(ErrorKind::Corrupt, "heap", problem, "restore the pool set from a copy")
    })?;
    Ok((root != 0).then_some(root))
}

/// Calls `visit` with the first span and the description of every run.
pub(super) fn walk(
    set: &PoolSet,
    base: u64,
    header: Header,
    mut visit: impl FnMut(u32, Run),
) -> Result<()> {
    let mut span = 0;
    while span < header.spans {
        let decode = |line: &[u8]| Run::decode(line, span).ok_or(());
        let run = set
            .read_verified(line_offset(base, span), LINE_BYTES as u64, decode)?
            .map_err(|()| damaged(base, span, "its line does not match its checksum"))?;
        if run.spans() > header.spans - span {
            return Err(damaged(base, span, "its run ends behind the heap"));
        }
        visit(span, run);
        span += run.spans();
    }
    Ok(())
}

/// Returns the error for a damaged line of the table.
pub(super) fn damaged(base: u64, span: u32, problem: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "heap",
        format!("span {span} (line at offset {}): {problem}", line_offset(base, span)),
        "rebuild the replica, or restore the pool set from a copy",
    )
}
