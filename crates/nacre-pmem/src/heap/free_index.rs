//! Which spans are free, in DRAM: neighbours are merged, the best fit is found in O(log n).

use std::collections::{BTreeMap, BTreeSet};

/// Free runs of spans.
#[derive(Debug, Default)]
pub(super) struct FreeIndex {
    /// First span to number of spans; no two runs touch.
    by_start: BTreeMap<u32, u32>,
    /// (number of spans, first span).
    by_size: BTreeSet<(u32, u32)>,
    spans: u64,
}

impl FreeIndex {
    /// Adds a run that no free run overlaps, and merges it with its neighbours.
    pub(super) fn add(&mut self, mut start: u32, mut spans: u32) {
        self.spans += u64::from(spans);
        if let Some((&before, &length)) = self.by_start.range(..start).next_back()
            && before + length == start
        {
            self.forget(before, length);
            start = before;
            spans += length;
        }
        if let Some(&length) = self.by_start.get(&(start + spans)) {
            self.forget(start + spans, length);
            spans += length;
        }
        self.by_start.insert(start, spans);
        self.by_size.insert((spans, start));
    }

    /// Returns the smallest run of at least `spans` spans, the first of several: (start, spans).
    pub(super) fn best_fit(&self, spans: u32) -> Option<(u32, u32)> {
        self.by_size.range((spans, 0)..).next().map(|&(length, start)| (start, length))
    }

    /// Returns the size of the run that begins at `start`, 0 if none does.
    pub(super) fn length(&self, start: u32) -> u32 {
        self.by_start.get(&start).copied().unwrap_or(0)
    }

    /// Takes the first `spans` spans of the run that begins at `start`.
    pub(super) fn take(&mut self, start: u32, spans: u32) {
        let Some(&length) = self.by_start.get(&start) else {
            debug_assert!(false, "no free run at {start}");
            return;
        };
        debug_assert!(spans <= length);
        self.forget(start, length);
        self.spans -= u64::from(spans);
        if spans < length {
            self.by_start.insert(start + spans, length - spans);
            self.by_size.insert((length - spans, start + spans));
        }
    }

    fn forget(&mut self, start: u32, spans: u32) {
        self.by_start.remove(&start);
        self.by_size.remove(&(spans, start));
    }

    /// Returns how many spans are free.
    pub(super) fn spans(&self) -> u64 {
        self.spans
    }

    /// Returns the size of the largest run.
    pub(super) fn largest(&self) -> u32 {
        self.by_size.last().map_or(0, |&(spans, _)| spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_merge_and_the_smallest_that_fits_is_taken() {
        let mut index = FreeIndex::default();
        index.add(10, 5);
        index.add(20, 3);
        index.add(15, 5);
        assert_eq!((index.best_fit(1), index.spans()), (Some((10, 13)), 13));
        index.add(30, 4);
        assert_eq!(index.best_fit(4), Some((30, 4)));
        index.take(30, 1);
        assert_eq!(index.best_fit(3), Some((31, 3)));
        assert_eq!((index.best_fit(14), index.largest(), index.spans()), (None, 13, 16));
    }
}
