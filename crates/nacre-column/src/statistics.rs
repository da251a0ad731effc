//! Statistics of a block's values for planners of queries: estimates, unlike the aggregates, and
//! not needed to read the block.
//!
//! ```text
//! distinct        a sketch of how many different values there are
//! string bytes    of strings that are not null, for their average length
//! quantiles       of numbers: 15 values that part a sample of 256 rows into 16 equal parts
//! ```
//!
//! # Cost
//! One pass over the values. Strings of a dictionary are hashed once each; whole numbers that lie
//! close together set bits of a bitmap, and those that are there are hashed.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Statistics of a block"; a test compares.

use crate::block::{Block, EncodedBlock};
use crate::buffer::{Bitmap, ByteValues};
use crate::hash::{hash_number, hash_string, hash_wide};
use crate::sketch::{DistinctSketch, SketchBuilder};
use crate::{BlockError, Bound, ColumnBuffer, ColumnType, Sma, Strings, Values};

/// Values that part a block's rows into equal parts.
pub const QUANTILES: usize = 15;

/// Rows that are sorted to find them: the rank of a quantile is off by about 3 % of the rows.
const SAMPLE_ROWS: usize = 256;

/// Whole numbers this far apart at most are collected in a bitmap, of 8 KiB.
const BITMAP_VALUES: usize = 1 << 16;

/// Bytes of statistics on media before the sketch.
const HEAD_BYTES: usize = 8;

/// What stands for a column without statistics.
const NO_SKETCH: u8 = u8::MAX;

/// Statistics of the values of one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockStatistics {
    pub distinct: DistinctSketch,
    /// Bytes of all strings; 0 for other columns.
    pub string_bytes: u32,
    /// [`QUANTILES`] values of a column of numbers as they are stored, ascending; none if all rows
    /// are null, and for booleans and strings.
    pub quantiles: Vec<f32>,
}

impl BlockStatistics {
    /// Collects statistics of a column from its values and its block.
    pub fn of_encoded(column: &ColumnBuffer, encoded: &EncodedBlock) -> Self {
        let opened = Block::open(&encoded.bytes, column.column_type());
        let distinct = opened.and_then(|block| distinct_of_dictionary(&block)).ok().flatten();
        Self::new(column, &encoded.header.sma, distinct)
    }

    /// Collects statistics of values of which no block was made.
    pub fn of_values(column: &ColumnBuffer) -> Self {
        Self::new(column, &Sma::empty(), None)
    }

    fn new(column: &ColumnBuffer, sma: &Sma, distinct: Option<DistinctSketch>) -> Self {
        let string_bytes = match column.values() {
            Values::Bytes(values) => values.data.len() as u32,
            _ => 0,
        };
        let distinct = distinct.unwrap_or_else(|| distinct_of_values(column, sma));
        Self { distinct, string_bytes, quantiles: quantiles_of(column) }
    }

    /// Appends the bytes that stand for the statistics on media.
    pub fn write(&self, out: &mut Vec<u8>) {
        let sketch = self.distinct.to_bytes();
        out.push((sketch.len() / 8) as u8);
        out.push(self.quantiles.len() as u8);
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.string_bytes.to_le_bytes());
        out.extend_from_slice(&sketch);
        self.quantiles.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }

    /// Appends the bytes that stand for statistics that are not known.
    pub fn write_unknown(out: &mut Vec<u8>) {
        out.push(NO_SKETCH);
        out.extend_from_slice(&[0; HEAD_BYTES - 1]);
    }

    /// Takes the statistics of one column from the front of `bytes`: the outer `None` if no
    /// statistics have these bytes, the inner one if they are not known.
    pub fn read(bytes: &mut &[u8]) -> Option<Option<Self>> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [words, quantiles, 0, 0, string_bytes @ ..] = *head else { return None };
        let string_bytes = u32::from_le_bytes(string_bytes);
        if words == NO_SKETCH {
            *bytes = rest;
            return (quantiles == 0 && string_bytes == 0).then_some(None);
        }
        if quantiles != 0 && usize::from(quantiles) != QUANTILES {
            return None;
        }
        let (sketch, rest) = rest.split_at_checked(usize::from(words) * 8)?;
        let (values, rest) = rest.split_at_checked(usize::from(quantiles) * 4)?;
        let distinct = DistinctSketch::from_bytes(sketch)?;
        let values = values.as_chunks::<4>().0.iter();
        let quantiles: Vec<f32> = values.map(|value| f32::from_le_bytes(*value)).collect();
        let is_sound = quantiles.iter().all(|value| value.is_finite()) && quantiles.is_sorted();
        *bytes = rest;
        is_sound.then_some(Some(Self { distinct, string_bytes, quantiles }))
    }
}

/// Sketches the strings of a dictionary; `None` for other blocks.
fn distinct_of_dictionary(block: &Block<'_>) -> Result<Option<DistinctSketch>, BlockError> {
    let header = block.header();
    let is_text = block.column_type().physical() == crate::Physical::Bytes;
    // A dictionary for nulls only holds the empty string, which is no value.
    if !is_text || header.null_count == header.rows {
        return Ok(None);
    }
    let Strings::Dictionary(entries) = block.strings()? else { return Ok(None) };
    let mut builder = SketchBuilder::new();
    for entry in 0..entries.len() {
        builder.add(hash_string(entries.get(entry)?));
    }
    Ok(Some(builder.finish()))
}

fn distinct_of_values(column: &ColumnBuffer, sma: &Sma) -> DistinctSketch {
    let mut builder = SketchBuilder::new();
    let validity = column.validity();
    match column.values() {
        Values::Int64(values) => match narrow_base(sma) {
            Some(base) => add_narrow(&mut builder, values, validity, base),
            None => for_each_value(values, validity, |value| {
                builder.add(hash_number(value as u64));
            }),
        },
        Values::Int128(values) => for_each_value(values, validity, |value| {
            builder.add(hash_wide(value as u128));
        }),
        Values::Float32(values) => for_each_value(values, validity, |value| {
            builder.add(hash_float(value.into()));
        }),
        Values::Float64(values) => for_each_value(values, validity, |value| {
            builder.add(hash_float(value));
        }),
        Values::Bytes(values) => add_strings(&mut builder, values, validity),
    }
    builder.finish()
}

/// Calls `on_value` for each value that is not null.
#[inline]
fn for_each_value<T: Copy>(values: &[T], validity: Option<&Bitmap>, mut on_value: impl FnMut(T)) {
    let Some(bits) = validity else {
        values.iter().for_each(|value| on_value(*value));
        return;
    };
    for (values, word) in values.chunks(64).zip(bits.words()) {
        for (bit, value) in values.iter().enumerate() {
            if word >> bit & 1 == 1 {
                on_value(*value);
            }
        }
    }
}

/// Returns the least of whole numbers if they lie close together.
fn narrow_base(sma: &Sma) -> Option<i64> {
    let (Some(Bound::Int(min)), Some(Bound::Int(max))) = (sma.min, sma.max) else { return None };
    let spread = max.checked_sub(min)?;
    (spread < BITMAP_VALUES as i128).then_some(i64::try_from(min).ok()?)
}

/// Adds whole numbers, each once, that are less than [`BITMAP_VALUES`] above `base`.
fn add_narrow(builder: &mut SketchBuilder, values: &[i64], validity: Option<&Bitmap>, base: i64) {
    let mut seen = vec![0_u64; BITMAP_VALUES / 64];
    for_each_value(values, validity, |value| {
        let offset = value.wrapping_sub(base) as usize % BITMAP_VALUES;
        seen[offset / 64] |= 1 << (offset % 64);
    });
    for (word, bits) in seen.into_iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            let offset = word * 64 + left.trailing_zeros() as usize;
            builder.add(hash_number(base.wrapping_add(offset as i64) as u64));
            left &= left - 1;
        }
    }
}

fn add_strings(builder: &mut SketchBuilder, values: &ByteValues, validity: Option<&Bitmap>) {
    for row in 0..values.len() {
        if validity.is_none_or(|bits| bits.get(row)) {
            builder.add(hash_string(values.get(row)));
        }
    }
}

/// Hashes a float: equal ones have the same hash, and NaN is one value.
#[inline]
fn hash_float(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    hash_number(value.to_bits())
}

/// Returns the quantiles of numbers, by a sample.
fn quantiles_of(column: &ColumnBuffer) -> Vec<f32> {
    if column.column_type() == ColumnType::Boolean || column.is_empty() {
        return Vec::new();
    }
    let at = |row: usize| -> Option<f64> {
        let number = match column.values() {
            Values::Int64(values) => values[row] as f64,
            Values::Int128(values) => values[row] as f64,
            Values::Float32(values) => values[row].into(),
            Values::Float64(values) => values[row],
            Values::Bytes(_) => return None,
        };
        (!number.is_nan() && !column.is_null(row)).then_some(number)
    };
    let step = column.len().div_ceil(SAMPLE_ROWS);
    // One row of each `step`, at random, so that no period of the values is followed.
    let rows = (0..column.len()).step_by(step);
    let rows = rows.map(|row| row + (hash_number(row as u64) >> 32) as usize % step);
    let sampled = rows.filter(|row| *row < column.len()).filter_map(at);
    let finite = |value: f64| (value as f32).clamp(f32::MIN, f32::MAX);
    let mut sample: Vec<f32> = sampled.map(finite).collect();
    if sample.is_empty() {
        return Vec::new();
    }
    sample.sort_unstable_by(f32::total_cmp);
    (1..=QUANTILES).map(|part| sample[part * sample.len() / (QUANTILES + 1)]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Flavour, block};

    fn numbers(column_type: ColumnType, values: impl IntoIterator<Item = i64>) -> ColumnBuffer {
        let mut column = ColumnBuffer::new(column_type);
        values.into_iter().for_each(|value| column.push_int(value));
        column
    }

    fn statistics_of(column: &ColumnBuffer) -> BlockStatistics {
        let encoded = block::encode(column, Flavour::active()).unwrap();
        BlockStatistics::of_encoded(column, &encoded)
    }

    fn column_of(column_type: ColumnType, value: impl Fn(u64) -> Option<u64>) -> ColumnBuffer {
        let mut column = ColumnBuffer::new(column_type);
        for row in 0..5_000 {
            let Some(value) = value(row) else {
                column.push_null();
                continue;
            };
            match column_type.physical() {
                crate::Physical::Float32 => column.push_float32(value as f32),
                crate::Physical::Float64 => column.push_float64(value as f64),
                crate::Physical::Bytes => column.push_bytes(value.to_string().as_bytes()),
                _ => column.push_int(value as i64),
            }
        }
        column
    }

    const TYPES: [ColumnType; 7] = [
        ColumnType::Integer,
        ColumnType::BigInt,
        ColumnType::Decimal { precision: 38, scale: 2 },
        ColumnType::Real,
        ColumnType::Double,
        ColumnType::Varchar { max_chars: None },
        ColumnType::Bytea,
    ];

    /// A bitmap, a dictionary and the bare values tell the same.
    #[test]
    fn every_way_to_a_sketch_gives_the_same() {
        let flavour = Flavour::active();
        for column_type in TYPES {
            for (count, factor) in [(7, 1), (7, 100_000), (3_000, 1), (3_000, 5_000)] {
                for null_every in [u64::MAX, 3] {
                    let value =
                        |row: u64| (row % null_every != 1).then_some(row % count * factor + 1);
                    let column = column_of(column_type, value);
                    let distinct: BTreeSet<u64> = (0..5_000).filter_map(value).collect();
                    let bare = BlockStatistics::of_values(&column);
                    assert_eq!(statistics_of(&column), bare, "{column_type}, {count} values");
                    for format in crate::Format::ALL {
                        let Ok(encoded) = block::encode_as(&column, flavour, format) else {
                            continue;
                        };
                        let found = BlockStatistics::of_encoded(&column, &encoded);
                        assert_eq!(found, bare, "{column_type} in {format}");
                    }
                    let estimate = bare.distinct.estimate();
                    let error = estimate / distinct.len() as f64 - 1.0;
                    assert!(error.abs() < 0.26, "{column_type}, {count} values: {estimate}");
                }
            }
        }
    }

    #[test]
    fn nulls_and_signs_of_zero_are_no_values() {
        for column_type in TYPES {
            let nulls = column_of(column_type, |_| None);
            assert_eq!(statistics_of(&nulls), BlockStatistics::default(), "{column_type}");
        }
        let mut floats = ColumnBuffer::new(ColumnType::Double);
        [0.0, -0.0, f64::NAN, -f64::NAN].into_iter().for_each(|value| floats.push_float64(value));
        assert_eq!(statistics_of(&floats).distinct.estimate(), 2.0);
        let empty = statistics_of(&ColumnBuffer::new(ColumnType::Varchar { max_chars: None }));
        assert_eq!(empty, BlockStatistics::default());
    }

    #[test]
    fn quantiles_part_the_rows() {
        let uniform = statistics_of(&numbers(ColumnType::Integer, 0..65_536)).quantiles;
        assert_eq!(uniform.len(), QUANTILES);
        for (part, value) in (1..).zip(&uniform) {
            let wanted = part as f32 * 4_096.0;
            assert!((value - wanted).abs() < 1_024.0, "part {part}: {value}");
        }
        // One row in ten is far out: the others are told apart nevertheless.
        let skewed = (0..65_536).map(|row| if row % 10 == 3 { 1 << 40 } else { row % 1_000 });
        let skewed = statistics_of(&numbers(ColumnType::BigInt, skewed)).quantiles;
        assert!((300.0..700.0).contains(&skewed[7]), "{skewed:?}");
        assert_eq!(skewed[14], (1_u64 << 40) as f32);
        // A period that divides the distance of rows in the sample.
        let periodic = (0..65_536).map(|row| row % 256);
        let periodic = statistics_of(&numbers(ColumnType::Integer, periodic)).quantiles;
        assert!((80.0..176.0).contains(&periodic[7]), "{periodic:?}");
        assert!(statistics_of(&numbers(ColumnType::Boolean, [0, 1, 1])).quantiles.is_empty());
        let one = statistics_of(&numbers(ColumnType::Date, [7]));
        assert_eq!(one.quantiles, [7.0; QUANTILES]);
        let mut huge = ColumnBuffer::new(ColumnType::Double);
        huge.push_float64(f64::INFINITY);
        assert_eq!(statistics_of(&huge).quantiles, [f32::MAX; QUANTILES]);
    }

    #[test]
    fn statistics_read_back_as_written_and_every_cut_is_noticed() {
        let strings = column_of(ColumnType::Varchar { max_chars: None }, Some);
        let few = column_of(ColumnType::Integer, |row| Some(row % 3));
        for column in [strings, few] {
            let statistics = statistics_of(&column);
            let mut bytes = Vec::new();
            statistics.write(&mut bytes);
            BlockStatistics::write_unknown(&mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(BlockStatistics::read(&mut rest), Some(Some(statistics)));
            assert_eq!(BlockStatistics::read(&mut rest), Some(None));
            assert!(rest.is_empty());
            for end in 0..bytes.len() - HEAD_BYTES {
                assert_eq!(BlockStatistics::read(&mut &bytes[..end]), None, "cut at {end}");
            }
        }
    }

    #[test]
    fn strings_have_an_average_length() {
        let column = column_of(ColumnType::Varchar { max_chars: None }, |row| {
            (row % 2 == 0).then_some(100 + row % 800)
        });
        assert_eq!(statistics_of(&column).string_bytes, 2_500 * 3);
    }
}
