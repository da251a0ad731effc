//! Which rows of a vector are left.
//!
//! 1. Rows that the snapshot does not see go first, and what comes too late for a top-k above
//!    ([`super::top`]). Then each predicate takes its share, and joins above may know of more rows
//!    that are not wanted ([`super::late`]).
//! 2. Rows are bits while they are many. Once they are few, they are positions, and what comes
//!    next looks at these alone. How few depends on that: a range of numbers is compared with all
//!    packed keys of a vector in the time that fetching a twelfth of them takes.

use std::sync::Arc;

use nacre_column::{Sma, kernel};

use super::decode::WantedRows;
use super::filter::ScanFilter;
use super::frozen::FrozenMorsel;
use super::late::LateFilter;
use super::predicate::{ColumnPredicate, int_range};
use super::prepare::PreparedScan;
use crate::error::ExecResult;
use crate::vector::{BitVector, ColumnVector, DENSE_PERCENT_MIN, SelectionVector};

/// Rows of a hundred below which a range of numbers is compared with those alone (bench `tpch`).
const RANGE_PERCENT_MIN: usize = 8;

/// The rows of a vector that are left, at least one.
#[derive(Debug)]
pub(super) enum LeftRows {
    All,
    /// At least [`RANGE_PERCENT_MIN`] of a hundred.
    Many(SelectionVector),
    /// Positions, ascending.
    Few(Vec<u16>),
}

/// A filter that a chunk needs.
#[derive(Debug)]
pub(super) enum ChunkFilter {
    /// By index in the scan.
    Predicate(usize),
    /// The range of the keys of a join above.
    KeyRange(Arc<LateFilter>),
}

impl ChunkFilter {
    /// Returns the filters that a chunk with these aggregates needs, the sharpest first.
    pub(super) fn all(
        scan: &PreparedScan,
        late: &[Arc<LateFilter>],
        sma: impl Fn(usize) -> Sma,
    ) -> Vec<Self> {
        let predicates = (0..scan.filters.len()).map(Self::Predicate);
        let ranges = late.iter().map(|filter| Self::KeyRange(Arc::clone(filter)));
        let mut filters: Vec<Self> = predicates.chain(ranges).collect();
        filters.retain(|filter| {
            let filter = filter.of(scan);
            filter.is_some_and(|one| !one.is_proven_by(&sma(one.predicate.column)))
        });
        // Other workers count rows meanwhile: each rate is read once.
        filters.sort_by_cached_key(|filter| filter.of(scan).map(ScanFilter::pass_rate));
        filters
    }

    /// Returns the filter if it is evaluated on hot rows: hints about keys that are not there are,
    /// others are not.
    pub(super) fn of_hot_rows<'f>(&'f self, scan: &'f PreparedScan) -> Option<&'f ScanFilter> {
        let is_range = matches!(self, Self::KeyRange(_));
        self.of(scan).filter(|filter| is_range || !filter.predicate.is_hint)
    }

    fn of<'f>(&'f self, scan: &'f PreparedScan) -> Option<&'f ScanFilter> {
        match self {
            Self::Predicate(index) => scan.filters.get(*index),
            Self::KeyRange(late) => late.range(),
        }
    }
}

/// Buffers that are kept from vector to vector.
#[derive(Debug, Default)]
pub(super) struct SelectRoom {
    words: Vec<u64>,
    positions: Vec<Vec<u16>>,
    /// Keys for joins above.
    keys: ColumnVector,
}

impl SelectRoom {
    /// Returns the rows of the present vector that filters leave; `None` if they leave none.
    ///
    /// # Errors
    /// That of a block without a good replica.
    pub(super) fn select(
        &mut self,
        morsel: &mut FrozenMorsel,
        scan: &PreparedScan,
        filters: &[ChunkFilter],
        late: &[Arc<LateFilter>],
    ) -> ExecResult<Option<LeftRows>> {
        let rows = morsel.vector.len();
        let mut left = match morsel.visible(scan) {
            Some(bits) => self.left_of(bits),
            None => Some(LeftRows::All),
        };
        if let Some((top, wanted)) = scan.top()
            && !top.rest.is_resting()
        {
            let Some(before) = left else { return Ok(None) };
            let count = before.count(rows);
            morsel.select_wanted(scan, top.column, &wanted, &mut self.words)?;
            let bits = BitVector::from_words(std::mem::take(&mut self.words), rows);
            left = self.and(before, bits);
            top.rest.note(count, left.as_ref().map_or(0, |left| left.count(rows)));
        }
        for filter in filters {
            let Some(before) = left else { return Ok(None) };
            let Some(filter) = filter.of(scan).filter(|filter| !filter.is_resting()) else {
                left = Some(before);
                continue;
            };
            let count = before.count(rows);
            let before = match int_range(&filter.predicate.predicate) {
                Some(_) => before,
                None => self.few_below(DENSE_PERCENT_MIN, before, rows),
            };
            left = self.narrow(morsel, scan, &filter.predicate, before)?;
            filter.note(count, left.as_ref().map_or(0, |left| left.count(rows)));
        }
        for filter in late {
            let Some(before) = left else { return Ok(None) };
            if filter.rest.is_resting() {
                left = Some(before);
                continue;
            }
            let count = before.count(rows);
            let before = self.few_below(DENSE_PERCENT_MIN, before, rows);
            left = self.narrow_by_keys(morsel, scan, filter, before)?;
            filter.rest.note(count, left.as_ref().map_or(0, |left| left.count(rows)));
        }
        Ok(left)
    }

    /// Returns a buffer for positions.
    pub(super) fn take_positions(&mut self) -> Vec<u16> {
        self.positions.pop().unwrap_or_default()
    }

    /// Takes a buffer for positions back.
    pub(super) fn give_back(&mut self, positions: Vec<u16>) {
        self.positions.push(positions);
    }

    /// Evaluates a predicate on the rows that are left.
    fn narrow(
        &mut self,
        morsel: &mut FrozenMorsel,
        scan: &PreparedScan,
        predicate: &ColumnPredicate,
        left: LeftRows,
    ) -> ExecResult<Option<LeftRows>> {
        if let LeftRows::Few(positions) = left {
            let mut kept = self.take_positions();
            morsel.select_at(scan, predicate, &positions, &mut kept)?;
            self.give_back(positions);
            return Ok(self.few(kept));
        }
        morsel.select(scan, predicate, &mut self.words)?;
        let bits = BitVector::from_words(std::mem::take(&mut self.words), morsel.vector.len());
        Ok(self.and(left, bits))
    }

    /// Leaves the rows that a join above may want.
    fn narrow_by_keys(
        &mut self,
        morsel: &mut FrozenMorsel,
        scan: &PreparedScan,
        filter: &LateFilter,
        left: LeftRows,
    ) -> ExecResult<Option<LeftRows>> {
        let wanted = scan.columns[filter.output].vector_type;
        if self.keys.values.vector_type() != wanted {
            self.keys = ColumnVector::new(wanted);
        }
        self.keys.clear();
        let LeftRows::Few(mut positions) = left else {
            morsel.append(scan, filter.output, &WantedRows::All, &mut self.keys)?;
            let bits = filter.keys.select(&self.keys);
            return Ok(self.and(left, bits));
        };
        morsel.append(scan, filter.output, &WantedRows::At(&positions), &mut self.keys)?;
        let found = filter.keys.select(&self.keys);
        let mut end = 0;
        found.for_each_one(|at| {
            positions[end] = positions[at];
            end += 1;
        });
        positions.truncate(end);
        Ok(self.few(positions))
    }

    /// Returns what both leave.
    fn and(&mut self, left: LeftRows, mut bits: BitVector) -> Option<LeftRows> {
        match left {
            LeftRows::All => {}
            LeftRows::Many(left) => bits.and_with(left.bits()),
            LeftRows::Few(mut positions) => {
                positions.retain(|at| bits.get(usize::from(*at)));
                self.words = bits.into_words();
                return self.few(positions);
            }
        }
        self.left_of(bits)
    }

    /// Returns what is left by these bits.
    fn left_of(&mut self, bits: BitVector) -> Option<LeftRows> {
        let rows = bits.len();
        let many = SelectionVector::new(bits);
        let count = many.count();
        if count > 0 && count < rows && count * 100 >= rows * RANGE_PERCENT_MIN {
            return Some(LeftRows::Many(many));
        }
        let left = if count == rows {
            Some(LeftRows::All)
        } else {
            let mut positions = self.take_positions();
            kernel::positions(many.bits().words(), &mut positions);
            self.few(positions)
        };
        self.words = many.into_bits().into_words();
        left
    }

    /// Returns positions if fewer than `percent` of a hundred rows are left.
    pub(super) fn few_below(&mut self, percent: usize, left: LeftRows, rows: usize) -> LeftRows {
        match left {
            LeftRows::Many(many) if many.count() * 100 < rows * percent => {
                let mut positions = self.take_positions();
                many.positions(&mut positions);
                LeftRows::Few(positions)
            }
            left => left,
        }
    }

    fn few(&mut self, positions: Vec<u16>) -> Option<LeftRows> {
        if positions.is_empty() {
            self.give_back(positions);
            return None;
        }
        Some(LeftRows::Few(positions))
    }
}

impl LeftRows {
    fn count(&self, rows: usize) -> usize {
        match self {
            Self::All => rows,
            Self::Many(selection) => selection.count(),
            Self::Few(positions) => positions.len(),
        }
    }
}
