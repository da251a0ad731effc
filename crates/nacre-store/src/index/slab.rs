//! Arenas of equal items that are named by small handles.
//!
//! Items lie in pages of at most [`PAGE_BYTES`], so growing moves at most one page, and the first
//! page is only as large as it needs to be.
//!
//! # Invariants
//! 1. A handle is below [`ITEMS_MAX`], so three bits beside it are free for its user.

/// Most items of an arena.
pub(super) const ITEMS_MAX: usize = (1 << 29) - 1;

/// Bytes of a page, about.
const PAGE_BYTES: usize = 64 << 10;

/// An arena. The handle of an item that was removed is used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    pages: Vec<Vec<T>>,
    free: Vec<u32>,
    capacity: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), free: Vec::new(), capacity: 0 }
    }
}

impl<T> Slab<T> {
    /// Items of a page, as a power of two.
    const SHIFT: u32 = (PAGE_BYTES / size_of::<T>()).ilog2();
    const MASK: usize = (1 << Self::SHIFT) - 1;

    /// Items, those that were removed included.
    fn used(&self) -> usize {
        match self.pages.last() {
            Some(last) => ((self.pages.len() - 1) << Self::SHIFT) + last.len(),
            None => 0,
        }
    }

    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.used() - self.free.len()
    }

    /// Returns the bytes that the arena takes.
    pub(super) fn bytes(&self) -> usize {
        self.capacity * size_of::<T>()
            + self.pages.capacity() * size_of::<Vec<T>>()
            + self.free.capacity() * size_of::<u32>()
    }

    /// Adds an item; the caller has seen to it that there are fewer than [`ITEMS_MAX`].
    #[inline]
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(handle) = self.free.pop() {
            *self.get_mut(handle) = item;
            return handle;
        }
        let handle = self.used();
        debug_assert!(handle < ITEMS_MAX);
        if handle & Self::MASK == 0 {
            // Only the first page grows by and by.
            let room = if handle == 0 { 0 } else { Self::MASK + 1 };
            self.pages.push(Vec::with_capacity(room));
            self.capacity += room;
        }
        if let Some(page) = self.pages.last_mut() {
            let before = page.capacity();
            page.push(item);
            self.capacity += page.capacity() - before;
        }
        handle as u32
    }

    /// Takes an item out; `empty` lies in its place.
    pub(super) fn remove(&mut self, handle: u32, empty: T) -> T {
        self.free.push(handle);
        std::mem::replace(self.get_mut(handle), empty)
    }

    #[inline]
    pub(super) fn get(&self, handle: u32) -> &T {
        &self.pages[handle as usize >> Self::SHIFT][handle as usize & Self::MASK]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: u32) -> &mut T {
        &mut self.pages[handle as usize >> Self::SHIFT][handle as usize & Self::MASK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_used_again() {
        let mut slab = Slab::default();
        let handles: Vec<u32> = (0..20_000_u64).map(|item| slab.insert(item)).collect();
        assert!(handles.iter().zip(0..).all(|(&handle, item)| *slab.get(handle) == item));
        assert_eq!(slab.remove(handles[7], 0), 7);
        assert_eq!(slab.remove(handles[9_000], 0), 9_000);
        assert_eq!(slab.len(), 19_998);
        let bytes = slab.bytes();
        assert_eq!(slab.insert(1), handles[9_000]);
        assert_eq!(slab.insert(2), handles[7]);
        assert_eq!((slab.len(), slab.bytes()), (20_000, bytes));
        assert!((20_000 * 8..20_000 * 8 + 2 * PAGE_BYTES).contains(&bytes), "{bytes}");
    }
}
