//! Series of numbers.

/// Hands on rows of whole numbers: those at a place from 0 on are `start + place * step`.
#[derive(Clone, Debug)]
pub struct SeriesNode {
    pub columns: Vec<SeriesColumn>,
    pub rows: u64,
}

/// A column of a series; its values have 64 bits, or 128 as those of decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesColumn {
    pub start: i128,
    pub step: i128,
}

impl SeriesColumn {
    /// Returns the value at a place; `None` past 128 bits.
    pub fn value(self, place: u64) -> Option<i128> {
        self.step.checked_mul(place.into())?.checked_add(self.start)
    }
}
