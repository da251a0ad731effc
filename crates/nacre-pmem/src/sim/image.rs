//! Puts images into the pools of simulated domains, changing only the lines that differ.

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::media::{LineId, Media};
use super::pick::Image;
use super::recorder::{Changes, Recorder};
use super::registry;
use super::trace::{FileIndex, Names};
use crate::domain::Domain;
use crate::flush::CACHE_LINE_BYTES;
use crate::map::{MapMode, Mapping};

/// Files up to this size have all their space allocated, so that opening them finds no holes.
const ALLOCATED_BYTES_MAX: u64 = 4 << 20;
const PAGE_BYTES: usize = 4096;

/// Domains that show one image after the other.
pub(super) struct Replay {
    pub(super) recorder: Arc<Recorder>,
    pub(super) domains: Vec<Domain>,
    files: Vec<ImageFile>,
    /// Names that each domain has now; `None` where a check changed them.
    shown_names: Option<Vec<u64>>,
    /// Lines that may differ from their certain content.
    stale: Vec<LineId>,
    has_stale_sizes: bool,
}

/// A file of an image, mapped for as much as it can ever have.
struct ImageFile {
    file: Arc<File>,
    mapping: Mapping,
    bytes: u64,
}

impl Replay {
    pub(super) fn new(domains: Vec<Domain>) -> Replay {
        let recorder = Recorder::new();
        registry::register(&recorder, domains.iter().map(Domain::identity));
        Replay {
            recorder,
            domains,
            files: Vec::new(),
            shown_names: None,
            stale: Vec::new(),
            has_stale_sizes: true,
        }
    }

    /// Makes files for `media`, of at most `capacities` bytes each.
    pub(super) fn begin(&mut self, media: &Media, capacities: &[u64]) -> io::Result<()> {
        registry::forget_files(&self.recorder, 0);
        self.recorder.set_file_count(media.files.len());
        for (index, (content, &capacity)) in media.files.iter().zip(capacities).enumerate() {
            let is_usable = |known: &ImageFile| known.mapping.bytes() as u64 >= capacity;
            if !self.files.get(index).is_some_and(is_usable) {
                let new = ImageFile::new(capacity)?;
                match self.files.get_mut(index) {
                    Some(known) => *known = new,
                    None => self.files.push(new),
                }
            }
            let image = &mut self.files[index];
            image.fill(content.sizes[0], &content.bytes)?;
            registry::register_file(&self.recorder, &image.file, index);
        }
        self.stale.clear();
        self.shown_names = None;
        self.has_stale_sizes = true;
        Ok(())
    }

    /// Notes what a check changed.
    pub(super) fn note(&mut self, changes: Changes) {
        let known = self.files.len();
        self.stale.extend(changes.lines.into_iter().filter(|id| id.0 < known));
        if changes.has_changed_names {
            self.shown_names = None;
        }
        self.has_stale_sizes |= changes.has_changed_sizes;
    }

    /// Shows `image`; `settled` are the lines whose certain content has changed.
    pub(super) fn show(
        &mut self,
        media: &Media,
        settled: &[LineId],
        image: &Image,
    ) -> io::Result<()> {
        for (index, &bytes) in image.sizes.iter().enumerate() {
            let file = &mut self.files[index];
            let mut old = file.bytes;
            if self.has_stale_sizes {
                // A file that was cut and grown has zeros anywhere.
                file.bytes = file.file.metadata()?.len();
                old = 0;
            }
            file.resize(bytes)?;
            if old < bytes {
                // The new bytes are zeros now.
                let content = &media.files[index].bytes;
                let end = content.len().min(bytes as usize);
                let start = (old as usize) & !(CACHE_LINE_BYTES - 1);
                if start < end {
                    file.mapping.write(start, &content[start..end]);
                }
            }
        }
        self.has_stale_sizes = false;
        for &id in self.stale.iter().chain(settled) {
            self.files[id.0].put(id.1, &media.certain(id));
        }
        self.stale.clear();
        for (id, bytes) in &image.lines {
            self.files[id.0].put(id.1, bytes);
            self.stale.push(*id);
        }
        self.show_names(media, image);
        Ok(())
    }

    /// Returns a place where what is shown is not `image`: something stored without a hook.
    pub(super) fn difference(&self, media: &Media, image: &Image) -> Option<(FileIndex, usize)> {
        let open: BTreeMap<LineId, _> = image.lines.iter().copied().collect();
        for (index, &bytes) in image.sizes.iter().enumerate() {
            let bytes = media.files[index].bytes.len().min(bytes as usize);
            for line in 0..bytes.div_ceil(CACHE_LINE_BYTES) {
                let id = (index, line as u32);
                let expected = open.get(&id).copied().unwrap_or_else(|| media.certain(id));
                let start = line * CACHE_LINE_BYTES;
                let end = (start + CACHE_LINE_BYTES).min(bytes);
                if self.files[index].mapping.read(start..end) != &expected[..end - start] {
                    return Some((index, start));
                }
            }
        }
        None
    }

    fn show_names(&mut self, media: &Media, image: &Image) {
        let domains = media.domains.iter().zip(&image.names);
        let versions = domains.clone().map(|(domain, &count)| domain.names_version(count));
        let versions: Vec<u64> = versions.collect();
        if self.shown_names.as_ref() == Some(&versions) {
            return;
        }
        registry::forget_files(&self.recorder, self.files.len());
        self.recorder.set_file_count(self.files.len());
        for ((media, &count), domain) in domains.zip(&self.domains) {
            let names: Names = media.names(count);
            let pools = names.into_iter().map(|(name, file)| (name, self.files[file].file.clone()));
            domain.set_memory_files(pools.collect());
        }
        self.shown_names = Some(versions);
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        registry::unregister(&self.recorder);
    }
}

impl ImageFile {
    fn new(capacity: u64) -> io::Result<ImageFile> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("nacre-crash-image", flags)?);
        file.set_len(capacity)?;
        let mapping = Mapping::new(file.as_fd(), 0, capacity, MapMode::Write)?;
        file.set_len(0)?;
        Ok(ImageFile { file: Arc::new(file), mapping, bytes: 0 })
    }

    /// Makes the file hold `content` and zeros up to `bytes`.
    fn fill(&mut self, bytes: u64, content: &[u8]) -> io::Result<()> {
        let content = &content[..content.len().min(bytes as usize)];
        if bytes > ALLOCATED_BYTES_MAX || self.bytes > ALLOCATED_BYTES_MAX {
            self.resize(0)?;
        }
        let old = self.bytes.min(bytes) as usize;
        self.resize(bytes)?;
        self.mapping.write(0, content);
        if content.len() < old {
            self.mapping.write(content.len(), &vec![0; old - content.len()]);
        }
        Ok(())
    }

    fn resize(&mut self, bytes: u64) -> io::Result<()> {
        if bytes == self.bytes {
            return Ok(());
        }
        self.file.set_len(bytes)?;
        if (1..=ALLOCATED_BYTES_MAX).contains(&bytes) {
            let flags = rustix::fs::FallocateFlags::empty();
            rustix::fs::fallocate(&self.file, flags, 0, bytes)?;
            // A page that was never touched is a hole, too.
            for page in (0..bytes as usize).step_by(PAGE_BYTES) {
                black_box(self.mapping.read(page..page + 1));
            }
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Puts a line there, as far as the file has it.
    fn put(&mut self, line: u32, bytes: &[u8]) {
        let start = line as usize * CACHE_LINE_BYTES;
        let end = (start + CACHE_LINE_BYTES).min(self.bytes as usize);
        if start < end {
            self.mapping.write(start, &bytes[..end - start]);
        }
    }
}
