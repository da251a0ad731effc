//! Columns of every type for the tests of this crate, and a model to compare blocks with.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod probe;

use nacre_column::{ColumnBuffer, ColumnType, Format, Physical, Values};
use proptest::prelude::ProptestConfig;

pub(crate) const TEXT: ColumnType = ColumnType::Varchar { max_chars: None };

/// One type of each kind, and decimals on both sides of the limit of 64 bits.
pub(crate) const TYPES: [ColumnType; 16] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Decimal { precision: 4, scale: 1 },
    ColumnType::Decimal { precision: 18, scale: 2 },
    ColumnType::Decimal { precision: 38, scale: 10 },
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Varchar { max_chars: Some(40) },
    TEXT,
    ColumnType::Char { chars: 3 },
    ColumnType::Bytea,
];

/// Lengths around words, groups, vectors and chunks.
pub(crate) const LENGTHS: [usize; 11] = [0, 1, 63, 64, 65, 511, 512, 513, 8_192, 65_535, 65_536];

/// Returns the formats that can hold `column_type`; `None` is the one that encoding chooses.
pub(crate) fn formats(column_type: ColumnType) -> Vec<Option<Format>> {
    let empty = ColumnBuffer::new(column_type);
    let possible = Format::ALL.into_iter().filter(|format| {
        nacre_column::block::encode_as(&empty, nacre_column::Flavour::Scalar, *format).is_ok()
    });
    possible.map(Some).chain([None]).collect()
}

/// Tells whether the tests are to go through everything, which takes minutes, and not through a
/// fixed sample of it.
pub(crate) fn is_full() -> bool {
    std::env::var_os("NACRE_TEST_FULL").is_some_and(|value| value == "1")
}

/// Returns `short` cases for a property, `full` if [`is_full`].
pub(crate) fn cases(short: u32, full: u32) -> ProptestConfig {
    let cases = if is_full() { full } else { short };
    ProptestConfig { cases, max_shrink_iters: 200, failure_persistence: None, ..Default::default() }
}

/// Numbers that look random and repeat from run to run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ mixed >> 32
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// How the values of a column are spread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    /// All rows have one value.
    Constant,
    /// A few values that lie close together, over and over.
    Few,
    /// Values from the whole range of the type, its extremes among them.
    Extreme,
}

pub(crate) const SPREADS: [Spread; 3] = [Spread::Constant, Spread::Few, Spread::Extreme];

/// Makes a column; every row with `row % nulls_every == 1` is null, none if that is 0.
pub(crate) fn column(
    column_type: ColumnType,
    rows: usize,
    spread: Spread,
    nulls_every: usize,
) -> ColumnBuffer {
    let mut random = Random(rows as u64 + nulls_every as u64 * 31);
    let mut column = ColumnBuffer::new(column_type);
    for row in 0..rows {
        if nulls_every > 0 && row % nulls_every == 1 % nulls_every {
            column.push_null();
        } else {
            let choice = match spread {
                Spread::Constant => 3,
                Spread::Few => random.below(7) as u64,
                Spread::Extreme => random.next(),
            };
            push(&mut column, choice, matches!(spread, Spread::Extreme));
        }
    }
    column
}

/// Appends a value: `choice` itself, or if `is_extreme` one chosen from the whole range.
pub(crate) fn push(column: &mut ColumnBuffer, choice: u64, is_extreme: bool) {
    let column_type = column.column_type();
    if let Some((min, max)) = column_type.int_range() {
        let value = match (is_extreme, choice % 5) {
            (false, _) => (i128::from(choice) - 2).clamp(min, max),
            (true, 0) => min,
            (true, 1) => max,
            _ => (i128::from(choice).wrapping_mul(0x0123_4567_89ab_cdef_1122_3344_5566_7789))
                .clamp(min, max),
        };
        match column_type.physical() {
            Physical::Int128 => column.push_int128(value),
            _ => column.push_int(value as i64),
        }
        return;
    }
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN, f64::MAX];
    let float = match is_extreme {
        true => *special.get(choice as usize % 20).unwrap_or(&f64::from_bits(choice)),
        false => choice as f64 / 4.0 - 1.0,
    };
    match column_type.physical() {
        Physical::Float32 => column.push_float32(float as f32),
        Physical::Float64 => column.push_float64(float),
        _ => column.push_bytes(string(choice, is_extreme).as_bytes()),
    }
}

fn string(choice: u64, is_extreme: bool) -> String {
    match (is_extreme, choice % 4) {
        (false, 0) => String::new(),
        (false, _) => format!("value \u{e9} {choice}"),
        // 30 equal bytes first, so that bounds are truncated.
        (true, 0) => format!("{:-<30}{}", "", choice % 9),
        (true, 1) => "\u{1f41a}".repeat(choice as usize % 7),
        (true, _) => format!("{choice:x}"),
    }
}

/// A value as the tests compare it: floats by their bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i128),
    Float(u64),
    Bytes(Vec<u8>),
}

/// Returns the value in `row` of `column`, `None` if it is null.
pub(crate) fn value(column: &ColumnBuffer, row: usize) -> Option<Value> {
    if column.is_null(row) {
        return None;
    }
    Some(match column.values() {
        Values::Int64(values) => Value::Int(values[row].into()),
        Values::Int128(values) => Value::Int(values[row]),
        Values::Float32(values) => Value::Float(f64::from(values[row]).to_bits()),
        Values::Float64(values) => Value::Float(values[row].to_bits()),
        Values::Bytes(values) => Value::Bytes(values.get(row).to_vec()),
    })
}
