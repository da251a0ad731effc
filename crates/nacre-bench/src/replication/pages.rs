//! Which pages the pools are really mapped with, as the kernel tells.

use std::path::{Path, PathBuf};

use super::options::PageSize;
use crate::error::{Error, Result};

const SMAPS: &str = "/proc/self/smaps";

/// Bytes of a large page.
const LARGE_BYTES: usize = 2 << 20;

/// Share of large pages from which a set counts as mapped with them: the first and last part of a
/// file need not fill one, and headers may be protected apart.
const LARGE_SHARE_MIN: f64 = 0.9;

/// Returns the share of the files' mapped bytes that large pages map; `None` if none are mapped.
pub(super) fn large_share(files: &[PathBuf]) -> Result<Option<f64>> {
    let path = Path::new(SMAPS);
    let smaps = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    Ok(share_of(&smaps, files))
}

/// Whether a share of large pages is what a page size asks for.
pub(super) fn is_as_asked(share: Option<f64>, pages: PageSize) -> bool {
    match (share, pages) {
        (None, _) => false,
        (Some(share), PageSize::Large) => share >= LARGE_SHARE_MIN,
        (Some(share), PageSize::Small) => share == 0.0,
    }
}

fn share_of(smaps: &str, files: &[PathBuf]) -> Option<f64> {
    let (mut mapped_kib, mut large_kib) = (0_u64, 0_u64);
    let mut is_ours = false;
    for line in smaps.lines() {
        if let Some(path) = mapped_file(line) {
            is_ours = files.iter().any(|file| file.as_os_str() == path);
        } else if is_header(line) {
            is_ours = false;
        } else if is_ours {
            if let Some(kib) = field_kib(line, &["Rss:"]) {
                mapped_kib += kib;
            }
            if let Some(kib) = field_kib(line, &["ShmemPmdMapped:", "FilePmdMapped:"]) {
                large_kib += kib;
            }
        }
    }
    (mapped_kib > 0).then(|| large_kib as f64 / mapped_kib as f64)
}

/// Whether a line begins a mapping: `START-END PERMISSIONS OFFSET DEVICE INODE [PATH]`.
fn is_header(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|word| word.contains('-'))
}

/// Returns the path in a line that begins a mapping of a file.
fn mapped_file(line: &str) -> Option<&str> {
    if !is_header(line) {
        return None;
    }
    line.find('/').map(|at| &line[at..])
}

fn field_kib(line: &str, names: &[&str]) -> Option<u64> {
    let name = names.iter().find(|name| line.starts_with(**name))?;
    line[name.len()..].trim().trim_end_matches("kB").trim().parse().ok()
}

/// Asks the kernel to map files with the pages that are asked for, whoever mapped them: the same
/// call for all contestants.
pub(super) fn set_pages(files: &[PathBuf], pages: PageSize) -> Result<()> {
    for (start, end) in mapped_ranges(files)? {
        match pages {
            PageSize::Large => {
                let (start, end) = (start.next_multiple_of(LARGE_BYTES), end & !(LARGE_BYTES - 1));
                advise(start, end, libc::MADV_HUGEPAGE);
                advise(start, end, libc::MADV_COLLAPSE);
            }
            PageSize::Small => advise(start, end, libc::MADV_NOHUGEPAGE),
        }
    }
    Ok(())
}

/// Lets the kernel find and map a page for every address of files.
pub(super) fn populate(files: &[PathBuf]) -> Result<()> {
    let ranges = mapped_ranges(files)?;
    ranges.into_iter().for_each(|(start, end)| advise(start, end, libc::MADV_POPULATE_WRITE));
    Ok(())
}

/// Returns the addresses where files are mapped.
fn mapped_ranges(files: &[PathBuf]) -> Result<Vec<(usize, usize)>> {
    let path = Path::new("/proc/self/maps");
    let maps = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    let is_ours = |line: &&str| {
        mapped_file(line).is_some_and(|mapped| files.iter().any(|file| file.as_os_str() == mapped))
    };
    Ok(maps.lines().filter(is_ours).filter_map(range).collect())
}

fn range(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

/// Advises the kernel about a range; what came of it is read from `smaps` afterwards.
#[allow(unsafe_code, reason = "advice about mappings of other owners")]
fn advise(start: usize, end: usize, advice: libc::c_int) {
    if start < end {
        // SAFETY: the range is mapped by this process (it was just read from its list of mappings,
        // and nobody unmaps pools meanwhile); none of the advices changes a byte or an address.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, advice) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_counts_only_mappings_of_the_files() {
        let smaps = "\
7f00-7f01 rw-s 00000000 00:19 2 /dev/shm/a.0
Size: 4096 kB
Rss:                4096 kB
ShmemPmdMapped:     2048 kB
7f02-7f03 rw-s 00000000 00:19 3 /dev/shm/b.0
Rss:                4096 kB
ShmemPmdMapped:     4096 kB
7f04-7f05 rw-p 00000000 00:00 0
Rss:                9999 kB
";
        let share = share_of(smaps, &["/dev/shm/a.0".into()]);
        assert_eq!(share, Some(0.5));
        assert!(!is_as_asked(share, PageSize::Large) && !is_as_asked(share, PageSize::Small));
        assert_eq!(share_of(smaps, &["/dev/shm/c".into()]), None);
        assert!(is_as_asked(share_of(smaps, &["/dev/shm/b.0".into()]), PageSize::Large));
    }
}
