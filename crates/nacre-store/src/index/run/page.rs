//! Pages of a run: leaves with entries, inner nodes with children.
//!
//! A page is written once. Its keys have their common beginning once, and behind it what tells
//! them apart.
//!
//! # Invariants
//! 1. Keys ascend; entries of one key ascend by their rows.
//! 2. A child's separator is above all keys before it, or equal to the last of them, and not above
//!    its own first key. That of the first child is never looked at.
//! 3. [`Page::parse`] takes any bytes: what it returns stays inside of them.
//! # Layout
//! Drawn in `docs/layout.md`, section "Page of a run"; a test compares.

use std::cmp::Ordering;

use crate::id::RowId;

/// Bytes before the common beginning of the keys.
pub(crate) const PAGE_HEADER_BYTES: usize = 32;

/// Bytes of an entry of a leaf but for its key: where the key ends, and the row.
const ENTRY_BYTES: usize = 4 + 8;

/// Bytes of a child but for its separator: where that ends, and where the page is.
const CHILD_BYTES: usize = 4 + 4 + 8 + 8;

/// Bytes from which on a page is full: some 250 keys of a number.
pub(super) const PAGE_BYTES: usize = 4_096;

/// Longest page: long ones have one key, or two separators.
pub(super) const PAGE_BYTES_MAX: usize = 256 << 20;

/// Alignment of pages.
pub(super) const PAGE_ALIGN: u64 = 64;

/// Where a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageRef {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    /// Leaves are numbered from 0 and so are inner nodes.
    pub(crate) number: u64,
}

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct PageBuilder {
    /// 0 for leaves.
    level: u16,
    keys: Vec<u8>,
    ends: Vec<u32>,
    /// Of a leaf.
    rows: Vec<RowId>,
    /// Of an inner node.
    children: Vec<PageRef>,
    /// Bytes that all keys begin with.
    common: usize,
}

/// Bytes that two strings begin with.
pub(super) fn common_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

impl PageBuilder {
    pub(super) fn new(level: u16) -> Self {
        Self { level, ..Self::default() }
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the last key.
    pub(super) fn last_key(&self) -> &[u8] {
        match self.ends.len() {
            0 => &[],
            1 => &self.keys,
            count => &self.keys[self.ends[count - 2] as usize..],
        }
    }

    /// Whether a key would make the page longer than it is to be. One key has room in any leaf,
    /// and two children in any inner node.
    pub(super) fn is_full_for(&self, key: &[u8]) -> bool {
        let least = if self.level == 0 { 1 } else { 2 };
        if self.count() < least {
            return false;
        }
        let common = self.common.min(common_bytes(self.last_key(), key));
        let item = if self.level == 0 { ENTRY_BYTES } else { CHILD_BYTES };
        let count = self.count() + 1;
        let keys = self.keys.len() + key.len() - count * common;
        PAGE_HEADER_BYTES + common + count * item + keys > PAGE_BYTES
    }

    fn push_key(&mut self, key: &[u8]) {
        self.common = match self.count() {
            0 => key.len(),
            _ => self.common.min(common_bytes(self.last_key(), key)),
        };
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len() as u32);
    }

    pub(super) fn push_row(&mut self, key: &[u8], row: RowId) {
        self.push_key(key);
        self.rows.push(row);
    }

    pub(super) fn push_child(&mut self, separator: &[u8], child: PageRef) {
        self.push_key(separator);
        self.children.push(child);
    }

    /// Lays the page out, and begins the next one; `run` is whose page it is.
    pub(super) fn take(&mut self, run: u64, number: u64) -> Vec<u8> {
        let mut page = vec![0; PAGE_HEADER_BYTES];
        page[8..10].copy_from_slice(&self.level.to_le_bytes());
        page[12..16].copy_from_slice(&(self.count() as u32).to_le_bytes());
        page[16..20].copy_from_slice(&(self.common as u32).to_le_bytes());
        page[24..32].copy_from_slice(&number.to_le_bytes());
        page.extend_from_slice(&self.keys[..self.common]);
        let mut end = 0;
        let mut start = 0;
        for (item, &key_end) in self.ends.iter().enumerate() {
            end += key_end as usize - start - self.common;
            start = key_end as usize;
            page.extend_from_slice(&(end as u32).to_le_bytes());
            match self.children.get(item) {
                Some(child) => {
                    page.extend_from_slice(&child.bytes.to_le_bytes());
                    page.extend_from_slice(&child.offset.to_le_bytes());
                    page.extend_from_slice(&child.number.to_le_bytes());
                }
                None => page.extend_from_slice(&self.rows[item].0.to_le_bytes()),
            }
        }
        let mut start = 0;
        for &key_end in &self.ends {
            page.extend_from_slice(&self.keys[start + self.common..key_end as usize]);
            start = key_end as usize;
        }
        let bytes = page.len() as u32;
        page[4..8].copy_from_slice(&bytes.to_le_bytes());
        let crc = page_crc32c(run, &page);
        page[..4].copy_from_slice(&crc.to_le_bytes());
        self.keys.clear();
        self.ends.clear();
        self.rows.clear();
        self.children.clear();
        page
    }
}

/// Returns the checksum that a page of a run must have.
fn page_crc32c(run: u64, page: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&run.to_le_bytes()), &page[4..])
}

/// Whether these are the bytes that were written for page `number` of a level of `run`.
pub(super) fn is_intact(run: u64, (level, number): (u16, u64), page: &[u8]) -> bool {
    page.len() >= PAGE_HEADER_BYTES
        && page[..4] == page_crc32c(run, page).to_le_bytes()
        && page[8..10] == level.to_le_bytes()
        && page[24..32] == number.to_le_bytes()
}

/// A page that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    count: usize,
    common: &'a [u8],
    items: &'a [u8],
    item_bytes: usize,
    keys: &'a [u8],
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

impl<'a> Page<'a> {
    /// Reads a leaf, or an inner node; `None` if its sizes cannot be right.
    pub(super) fn parse(bytes: &'a [u8], is_leaf: bool) -> Option<Self> {
        if bytes.len() < PAGE_HEADER_BYTES || bytes.len() > PAGE_BYTES_MAX {
            return None;
        }
        let (count, common) = (u32_at(bytes, 12) as usize, u32_at(bytes, 16) as usize);
        let item_bytes = if is_leaf { ENTRY_BYTES } else { CHILD_BYTES };
        let (common, rest) = bytes[PAGE_HEADER_BYTES..].split_at_checked(common)?;
        let (items, keys) = rest.split_at_checked(count.checked_mul(item_bytes)?)?;
        (is_leaf || count > 0).then_some(Self { count, common, items, item_bytes, keys })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns what a key has behind the common beginning.
    #[inline]
    fn rest(&self, item: usize) -> &'a [u8] {
        let at = item * self.item_bytes;
        let start = match item {
            0 => 0,
            _ => u32_at(self.items, at - self.item_bytes) as usize,
        };
        // Bytes that nobody wrote may name any range.
        self.keys.get(start..u32_at(self.items, at) as usize).unwrap_or_default()
    }

    /// Replaces `out` by a key.
    pub(super) fn key_into(&self, item: usize, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.common);
        out.extend_from_slice(self.rest(item));
    }

    /// Returns the row of an entry of a leaf.
    #[inline]
    pub(super) fn row(&self, item: usize) -> RowId {
        RowId(u64_at(self.items, item * self.item_bytes + 4))
    }

    /// Returns a child of an inner node.
    pub(super) fn child(&self, item: usize) -> PageRef {
        let at = item * self.item_bytes + 4;
        PageRef {
            bytes: u32_at(self.items, at),
            offset: u64_at(self.items, at + 4),
            number: u64_at(self.items, at + 12),
        }
    }

    /// Returns how many keys come before `key`; with `or_equal` those too that equal it.
    pub(super) fn count_below(&self, key: &[u8], or_equal: bool) -> usize {
        let shared = self.common.len().min(key.len());
        match self.common[..shared].cmp(&key[..shared]) {
            Ordering::Less => self.count,
            Ordering::Greater => 0,
            // All keys of the page are longer, and so above.
            Ordering::Equal if shared < self.common.len() => 0,
            Ordering::Equal => {
                let rest = &key[shared..];
                let is_below = |item: usize| match self.rest(item).cmp(rest) {
                    Ordering::Less => true,
                    Ordering::Equal => or_equal,
                    Ordering::Greater => false,
                };
                let (mut low, mut high) = (0, self.count);
                while low < high {
                    let middle = low + (high - low) / 2;
                    match is_below(middle) {
                        true => low = middle + 1,
                        false => high = middle,
                    }
                }
                low
            }
        }
    }

    /// Whether an entry has this key.
    #[inline]
    pub(super) fn has_key(&self, item: usize, key: &[u8]) -> bool {
        key.strip_prefix(self.common).is_some_and(|rest| rest == self.rest(item))
    }
}

/// Returns the bytes of a leaf, for tests.
#[cfg(test)]
pub(crate) fn leaf_bytes(run: super::RunId, number: u64, entries: &[(&[u8], RowId)]) -> Vec<u8> {
    let mut leaf = PageBuilder::new(0);
    entries.iter().for_each(|(key, row)| leaf.push_row(key, *row));
    leaf.take(run.0, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(keys: &[&[u8]]) -> Vec<u8> {
        let mut builder = PageBuilder::new(0);
        for (row, key) in keys.iter().enumerate() {
            builder.push_row(key, RowId(row as u64));
        }
        builder.take(7, 3)
    }

    #[test]
    fn keys_come_back_and_are_found() {
        let keys: [&[u8]; 6] = [b"", b"a", b"ab", b"ab", b"b\0", b"b\xff"];
        for start in 0..keys.len() {
            for end in start + 1..=keys.len() {
                let some = &keys[start..end];
                let bytes = leaf(some);
                assert!(is_intact(7, (0, 3), &bytes) && !is_intact(8, (0, 3), &bytes));
                let page = Page::parse(&bytes, true).unwrap();
                let mut key = Vec::new();
                for (item, expected) in some.iter().enumerate() {
                    page.key_into(item, &mut key);
                    assert_eq!((&key[..], page.row(item)), (*expected, RowId(item as u64)));
                    assert!(page.has_key(item, expected));
                }
                for probe in keys.iter().chain([&b"aa"[..], b"c", b"abc"].iter()) {
                    let below = some.iter().filter(|key| key < &probe).count();
                    let up_to = some.iter().filter(|key| key <= &probe).count();
                    assert_eq!(page.count_below(probe, false), below, "{some:?} {probe:?}");
                    assert_eq!(page.count_below(probe, true), up_to, "{some:?} {probe:?}");
                }
            }
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let mut bytes = leaf(&[b"one", b"three", b"two"]);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_intact(7, (0, 3), &bytes), "bit {bit}");
            // Whatever the bytes are, reading them ends.
            if let Some(page) = Page::parse(&bytes, true) {
                let mut key = Vec::new();
                (0..page.count()).for_each(|item| page.key_into(item, &mut key));
                page.count_below(b"three", true);
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for end in 0..bytes.len() {
            assert!(!is_intact(7, (0, 3), &bytes[..end]), "cut at {end}");
        }
    }

    #[test]
    fn children_come_back() {
        let mut builder = PageBuilder::new(1);
        let child = |number| PageRef { offset: 64 * number, bytes: 4_000, number };
        for number in 0..5 {
            builder.push_child(&[b'k', number], child(u64::from(number)));
        }
        let bytes = builder.take(1, 0);
        assert!(is_intact(1, (1, 0), &bytes));
        let page = Page::parse(&bytes, false).unwrap();
        assert!((0..5).all(|number| page.child(number) == child(number as u64)));
    }
}
