//! Aggregate: count, sum, least and greatest of a block's values, worked out on the encoded values.
//!
//! 1. Packed keys are unpacked in registers and never stored; plain values are read in the lanes
//!    that they have; the keys of other formats are decoded in runs that stay in the L1 cache.
//! 2. The answer on keys becomes that on values: `count` times the base is added.
//!
//! The aggregates of a whole block are in its [`Sma`](crate::Sma) as well: callers ask that first.
//!
//! ```text
//! block        10 12 null 17 12        bit-packed: base 10, keys 0 2 2 7 2
//! rows 1..4    count 2, sum 29 (keys 9 + 2 * 10), min 12, max 17
//! ```
//!
//! # Source
//! [Zarubin22 section 4.2] aggregate on formats. Differs: sums are exact, in 128 bits.

use std::ops::Range;

use nacre_simd::Flavour;

use super::aggregate::wide_ints;
use super::numbers::{plain_range, with_plain};
use super::project::project_any;
use super::select::{clear_tail, valid_words};
use super::totals::{Totals, Wanted, totals};
use crate::format::integer::Key;
use crate::format::keys::Keys;
use crate::format::lanes::NARROW_WIDTH_MAX;
use crate::{Block, BlockError, Physical};

/// Aggregates of the values of some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// Rows that are not null.
    pub count: u64,
    /// `None` if it overflows, which takes decimals of more than 18 digits.
    pub sum: Option<i128>,
    /// `None` if all rows are null.
    pub min: Option<i128>,
    /// `None` if all rows are null.
    pub max: Option<i128>,
}

impl Aggregate {
    fn new(count: usize, base: i128, totals: Totals) -> Self {
        let value = |key: u64| (count > 0).then(|| base.wrapping_add(key.into()));
        let of_base = base.checked_mul(count as i128);
        Self {
            count: count as u64,
            sum: of_base.and_then(|sum| sum.checked_add(totals.sum.try_into().ok()?)),
            min: value(totals.min),
            max: value(totals.max),
        }
    }
}

/// Aggregates the rows `rows` of a block of whole numbers.
///
/// # Errors
/// [`BlockError::RowRange`]; [`BlockError::WrongOutput`] unless the column is of whole numbers.
pub fn aggregate(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
) -> Result<Aggregate, BlockError> {
    fold(block, flavour, Wanted::All, rows)
}

/// Returns the sum of the values of the rows `rows` of a block of whole numbers, null rows left
/// out; `None` if it overflows. Costs less than [`aggregate`].
///
/// # Errors
/// As [`aggregate`].
pub fn sum(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
) -> Result<Option<i128>, BlockError> {
    Ok(fold(block, flavour, Wanted::Sum, rows)?.sum)
}

/// Aggregates the rows of `rows` at these positions, counted from `rows.start`, as
/// [`select`](super::select()) finds them. A position that comes twice counts twice.
///
/// # Errors
/// As [`aggregate`]; [`BlockError::RowRange`] if a position is outside of `rows`.
pub fn aggregate_selected(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
) -> Result<Aggregate, BlockError> {
    check_type(block)?;
    let words: Option<Vec<u64>> = (block.null_count() > 0).then(|| {
        let is_valid = |position: &u16| {
            let row = rows.start + usize::from(*position);
            block.validity_word(row / 64) >> (row % 64) & 1
        };
        let word = |positions: &[u16]| {
            positions.iter().rev().fold(0, |word, position| word << 1 | is_valid(position))
        };
        positions.chunks(64).map(word).collect()
    });
    if block.column_type().physical() == Physical::Int128 {
        let mut values: Vec<i128> = Vec::with_capacity(positions.len());
        project_any(block, flavour, rows, positions, &mut values)?;
        return Ok(of_wide(&values, words));
    }
    let mut values: Vec<i64> = Vec::with_capacity(positions.len());
    project_any(block, flavour, rows, positions, &mut values)?;
    let count = words.as_ref().map_or(positions.len(), |words| count_ones(words));
    let keys: Vec<u64> = values.iter().map(|value| *value as u64 ^ 1 << 63).collect();
    let totals = totals(flavour, Wanted::All, keys.as_slice(), words.as_deref());
    Ok(Aggregate::new(count, i64::MIN.into(), totals))
}

fn check_type(block: &Block<'_>) -> Result<(), BlockError> {
    match block.column_type().int_range() {
        Some(_) => Ok(()),
        None => Err(block.wrong_output("i128")),
    }
}

fn count_ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

fn fold(
    block: &Block<'_>,
    flavour: Flavour,
    wanted: Wanted,
    rows: Range<usize>,
) -> Result<Aggregate, BlockError> {
    block.check_rows(&rows)?;
    check_type(block)?;
    let words: Option<Vec<u64>> = (block.null_count() > 0).then(|| {
        let mut words: Vec<u64> = valid_words(block, &rows).collect();
        clear_tail(&mut words, rows.len());
        words
    });
    let count = words.as_ref().map_or(rows.len(), |words| count_ones(words));
    let Some(keys) = block.keys() else {
        let bytes_each = block.column_type().plain_bytes();
        if bytes_each > 8 {
            let mut values: Vec<i128> = Vec::with_capacity(rows.len());
            block.decode_i128(flavour, rows, &mut values)?;
            return Ok(of_wide(&values, words));
        }
        let totals = with_plain!(block.plain_bytes_of(rows, bytes_each), bytes_each, numbers => {
            totals(flavour, wanted, numbers, words.as_deref())
        });
        return Ok(Aggregate::new(count, plain_range(bytes_each).0, totals));
    };
    let width = usize::from(block.header().width);
    let totals = match words {
        None => keys.totals(flavour, wanted, width, rows),
        Some(_) if width <= NARROW_WIDTH_MAX => masked::<u32>(block, keys, flavour, wanted, rows),
        Some(_) => masked::<u64>(block, keys, flavour, wanted, rows),
    };
    Ok(Aggregate::new(count, block.header().base, totals))
}

/// Works out the totals of the keys of these rows that are not null.
fn masked<K: Key>(
    block: &Block<'_>,
    keys: &Keys<'_>,
    flavour: Flavour,
    wanted: Wanted,
    rows: Range<usize>,
) -> Totals {
    let mut all = Totals::NONE;
    let mut words = Vec::new();
    let mut row = rows.start;
    keys.for_each_run::<K>(flavour, rows, |keys| {
        words.clear();
        words.extend(valid_words(block, &(row..row + keys.len())));
        all = all.and(totals(flavour, wanted, keys, Some(&words)));
        row += keys.len();
    });
    all
}

/// Aggregates numbers of more than 64 bits, without those whose bit in `words` is clear.
fn of_wide(values: &[i128], words: Option<Vec<u64>>) -> Aggregate {
    let is_valid = |row: usize| words.as_ref().is_none_or(|w| w[row / 64] >> (row % 64) & 1 == 1);
    let valid = values.iter().enumerate().filter(|(row, _)| is_valid(*row));
    let valid: Vec<i128> = valid.map(|(_, value)| *value).collect();
    let aggregates = wide_ints(&valid, None);
    Aggregate {
        count: valid.len() as u64,
        sum: aggregates.sum,
        min: aggregates.range.map(|(min, _)| min),
        max: aggregates.range.map(|(_, max)| max),
    }
}
