//! The state of simulated media after a prefix of a trace: what is certain and what is open.

use std::collections::BTreeMap;

use super::Store;
use super::line::{Line, LineBytes, Op};
use super::pick::{Image, mix};
use super::trace::{Base, Event, FileIndex, How, Names, Trace};
use crate::flush::CACHE_LINE_BYTES;
use crate::granularity::Granularity;

/// A line of a file.
pub(super) type LineId = (FileIndex, u32);

const LINE_BYTES: u64 = CACHE_LINE_BYTES as u64;

/// Simulated media.
#[derive(Clone)]
pub(super) struct Media {
    pub(super) files: Vec<FileMedia>,
    pub(super) domains: Vec<DomainMedia>,
    /// Lines with stores that may be lost.
    pub(super) open: BTreeMap<LineId, Line>,
    granularities: Vec<Granularity>,
    /// Flushes by thread that wait for a fence, with the number of their event.
    flushed: BTreeMap<u32, Vec<(LineId, usize)>>,
    /// Lines by thread with streaming stores that wait for a fence.
    streamed: BTreeMap<u32, Vec<LineId>>,
    /// Lines whose certain content changed since it was asked for.
    settled: Vec<LineId>,
    /// Of all that is certain, by comparison with the base.
    hash: u64,
}

/// One file.
#[derive(Clone)]
pub(super) struct FileMedia {
    /// Certain content, whole lines; stale where the line is open. What follows is zeros.
    pub(super) bytes: Vec<u8>,
    /// Sizes that it may have; the first is certain unless a later one was reached.
    pub(super) sizes: Vec<u64>,
    granularity: Granularity,
}

/// The names of one domain.
#[derive(Clone)]
pub(super) struct DomainMedia {
    names: Names,
    /// Changes that may be lost from any one on.
    pub(super) pending: Vec<Event>,
    /// Counts changes that became certain.
    version: u64,
}

impl Media {
    pub(super) fn new(base: &Base, granularities: &[Granularity]) -> Media {
        let file = |(bytes, &size): (&Vec<u8>, _)| FileMedia::new(bytes, size);
        let mut files: Vec<FileMedia> = base.files.iter().zip(&base.sizes).map(file).collect();
        for (domain, names) in base.names.iter().enumerate() {
            for &file in names.values() {
                files[file].granularity = granularities[domain];
            }
        }
        let domain =
            |names: &Names| DomainMedia { names: names.clone(), pending: Vec::new(), version: 0 };
        Media {
            files,
            domains: base.names.iter().map(domain).collect(),
            open: BTreeMap::new(),
            granularities: granularities.to_vec(),
            flushed: BTreeMap::new(),
            streamed: BTreeMap::new(),
            settled: Vec::new(),
            hash: 0,
        }
    }

    /// Returns the media after the process was killed: every store is there to be read, and what
    /// was not durable is not. The kernel waited for streaming stores, but for no flush.
    pub(super) fn killed(&self) -> Media {
        let mut media = self.clone();
        let threads: Vec<u32> = media.streamed.keys().copied().collect();
        media.flushed.clear();
        threads.into_iter().for_each(|thread| media.fence(thread));
        // The events of the next process are counted from 0 again.
        media.open.values_mut().for_each(Line::date_back);
        media.settled.clear();
        media
    }

    /// Applies the event of number `number`.
    pub(super) fn apply(&mut self, trace: &Trace, number: usize) {
        match &trace.events[number] {
            Event::Store { file, offset, bytes, how, thread } => {
                self.store(*file, *offset, &trace.bytes[bytes.clone()], *how, (*thread, number));
            }
            Event::Flush { file, range, thread } => {
                let first = (range.start / LINE_BYTES) as u32;
                let last = ((range.end - 1) / LINE_BYTES) as u32;
                let lines = self.open.range((*file, first)..=(*file, last)).map(|(id, _)| *id);
                let flushed = self.flushed.entry(*thread).or_default();
                flushed.extend(lines.map(|id| (id, number)));
            }
            Event::Fence { thread } => self.fence(*thread),
            Event::Sync { file, range } => {
                let page_bytes = rustix::param::page_size() as u64;
                let first = range.start / page_bytes * page_bytes;
                let end = range.end.next_multiple_of(page_bytes);
                self.synchronise(*file, first, end);
            }
            Event::FileSynced { file } => {
                self.synchronise(*file, 0, u64::from(u32::MAX) * LINE_BYTES);
                let sizes = &mut self.files[*file].sizes;
                sizes.drain(..sizes.len() - 1);
            }
            Event::Resized { file, bytes } => self.files[*file].resize(*bytes),
            Event::Created { domain, file, .. } => {
                self.files[*file].granularity = self.granularities[*domain];
                self.domains[*domain].pending.push(trace.events[number].clone());
            }
            Event::Renamed { domain, .. } | Event::Removed { domain, .. } => {
                self.domains[*domain].pending.push(trace.events[number].clone());
            }
            Event::DirectorySynced { domain } => self.domains[*domain].synchronise(),
            // Whoever notes something has executed its last store.
            Event::Mark(_) | Event::Recovered => self.settle_ordered(),
        }
    }

    /// Makes room for all files that the trace will create.
    pub(super) fn expect_files(&mut self, file_count: usize) {
        let missing = file_count.saturating_sub(self.files.len());
        let empty = || FileMedia::new(&[], 0);
        self.files.extend(std::iter::repeat_with(empty).take(missing));
    }

    /// Returns files and names as `image` has them.
    pub(super) fn base_with(&self, image: &Image) -> Base {
        let mut files: Vec<Vec<u8>> = self.files.iter().map(|file| file.bytes.clone()).collect();
        for (id, bytes) in &image.lines {
            let start = id.1 as usize * CACHE_LINE_BYTES;
            files[id.0][start..start + CACHE_LINE_BYTES].copy_from_slice(bytes);
        }
        for (file, &bytes) in files.iter_mut().zip(&image.sizes) {
            file.truncate(bytes as usize);
        }
        let domains = self.domains.iter().zip(&image.names);
        let names = domains.map(|(domain, &count)| domain.names(count)).collect();
        Base { files, sizes: image.sizes.clone(), names }
    }

    /// Returns the lines whose certain content changed since the last call.
    pub(super) fn take_settled(&mut self) -> Vec<LineId> {
        std::mem::take(&mut self.settled)
    }

    /// Returns the certain content of a line.
    pub(super) fn certain(&self, id: LineId) -> LineBytes {
        self.files[id.0].line(id.1)
    }

    /// Returns the hash of what is certain.
    pub(super) fn hash(&self) -> u64 {
        self.domains.iter().fold(self.hash, |hash, domain| hash ^ mix(domain.version))
    }

    /// Returns how the content of a line changes the hash.
    pub(super) fn line_hash(id: LineId, bytes: &LineBytes) -> u64 {
        let start = mix((id.0 as u64) << 32 | u64::from(id.1));
        bytes.chunks_exact(8).fold(start, |hash, word| {
            let mut value = [0; 8];
            value.copy_from_slice(word);
            mix(hash ^ u64::from_le_bytes(value))
        })
    }

    fn store(
        &mut self,
        file: FileIndex,
        offset: u64,
        source: &[u8],
        how: How,
        (thread, event): (u32, usize),
    ) {
        let granularity = self.files[file].granularity;
        self.settle_ordered();
        self.files[file].reserve(offset + source.len() as u64);
        let is_streamed = how == How::Stored(Store::NonTemporal);
        let is_ordered = how == How::Stored(Store::Temporal) && granularity != Granularity::Page;
        let mut at = 0;
        while at < source.len() {
            let position = offset + at as u64;
            let start = (position % LINE_BYTES) as usize;
            let end = CACHE_LINE_BYTES.min(start + source.len() - at);
            let mut bytes = [0; CACHE_LINE_BYTES];
            bytes[start..end].copy_from_slice(&source[at..at + end - start]);
            let id = (file, (position / LINE_BYTES) as u32);
            let files = &self.files;
            let line = self.open.entry(id).or_insert_with(|| Line::new(files[file].line(id.1)));
            let is_durable = false;
            line.add(Op { start, end, bytes, is_ordered, is_streamed, is_durable, thread, event });
            if line.is_settled() {
                self.open.remove(&id);
            } else if is_streamed && granularity != Granularity::Page {
                self.streamed.entry(thread).or_default().push(id);
            }
            at += end - start;
        }
    }

    /// Persistent caches: all earlier stores are durable when the next one is executed.
    fn settle_ordered(&mut self) {
        if !self.granularities.contains(&Granularity::Byte) {
            return;
        }
        let ids: Vec<LineId> = self.open.keys().copied().collect();
        for id in ids {
            if self.files[id.0].granularity == Granularity::Byte {
                self.settle(id, |op| op.is_ordered);
            }
        }
    }

    fn fence(&mut self, thread: u32) {
        for (id, flushed) in self.flushed.remove(&thread).unwrap_or_default() {
            self.settle(id, |op| op.is_ordered && op.event <= flushed);
        }
        for id in self.streamed.remove(&thread).unwrap_or_default() {
            self.settle(id, |op| op.is_streamed && op.thread == thread);
        }
    }

    fn synchronise(&mut self, file: FileIndex, start: u64, end: u64) {
        let lines = (start / LINE_BYTES) as u32..end.div_ceil(LINE_BYTES) as u32;
        let range = (file, lines.start)..(file, lines.end);
        let ids: Vec<LineId> = self.open.range(range).map(|(id, _)| *id).collect();
        for id in ids {
            self.settle(id, |_| true);
        }
    }

    fn settle(&mut self, id: LineId, is_durable: impl Fn(&Op) -> bool) {
        let Some(line) = self.open.get_mut(&id) else {
            return;
        };
        line.settle(is_durable);
        if line.is_settled() {
            let bytes = line.whole();
            self.open.remove(&id);
            self.hash ^= Media::line_hash(id, &self.certain(id)) ^ Media::line_hash(id, &bytes);
            let start = id.1 as usize * CACHE_LINE_BYTES;
            self.files[id.0].bytes[start..start + CACHE_LINE_BYTES].copy_from_slice(&bytes);
            self.settled.push(id);
        }
    }
}

impl FileMedia {
    fn new(bytes: &[u8], size: u64) -> FileMedia {
        let granularity = Granularity::CacheLine;
        let mut file = FileMedia { bytes: bytes.to_vec(), sizes: vec![size], granularity };
        file.reserve(bytes.len() as u64);
        file
    }

    /// Returns the certain content of a line; zeros where nothing was stored.
    fn line(&self, line: u32) -> LineBytes {
        let start = line as usize * CACHE_LINE_BYTES;
        let mut bytes = [0; CACHE_LINE_BYTES];
        if let Some(stored) = self.bytes.get(start..start + CACHE_LINE_BYTES) {
            bytes.copy_from_slice(stored);
        }
        bytes
    }

    fn reserve(&mut self, end: u64) {
        let end = end.next_multiple_of(LINE_BYTES);
        if end > self.bytes.len() as u64 {
            self.bytes.resize(end as usize, 0);
        }
    }

    fn resize(&mut self, bytes: u64) {
        if self.sizes.last() != Some(&bytes) {
            self.sizes.push(bytes);
        }
    }
}

impl DomainMedia {
    /// Returns the names with the first `count` pending changes.
    pub(super) fn names(&self, count: usize) -> Names {
        let mut names = self.names.clone();
        for event in &self.pending[..count] {
            match event {
                Event::Created { name, file, .. } => {
                    names.insert(name.clone(), *file);
                }
                Event::Renamed { from, to, .. } => {
                    if let Some(file) = names.remove(from) {
                        names.insert(to.clone(), file);
                    }
                }
                Event::Removed { name, .. } => {
                    names.remove(name);
                }
                _ => {}
            }
        }
        names
    }

    /// Identifies the names with the first `count` pending changes.
    pub(super) fn names_version(&self, count: usize) -> u64 {
        self.version + count as u64
    }

    fn synchronise(&mut self) {
        self.names = self.names(self.pending.len());
        self.version += self.pending.len() as u64;
        self.pending.clear();
    }
}
