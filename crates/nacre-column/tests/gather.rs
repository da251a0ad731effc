//! Gathers of every output and predicates on strings, in every format and flavour, against whole
//! vectors decoded and compared one by one.
#![allow(clippy::unwrap_used, reason = "a failed test panics where it stands")]

mod support;

use nacre_column::kernel::{self, EntrySet};
use nacre_column::{
    Block, BlockError, ByteValues, ColumnBuffer, ColumnType, Flavour, Format, Physical, block,
};
use support::{Random, SPREADS, TYPES, Value, column, formats, value};

const LENGTHS: [usize; 5] = [1, 64, 513, 8_192, 20_000];

/// Positions in any order, some of them twice.
fn positions(rows: usize) -> Vec<u16> {
    let mut random = Random(rows as u64);
    (0..rows.min(300)).map(|_| random.below(rows) as u16).collect()
}

fn ints<T: Copy + Into<i128>>(values: &[T]) -> Vec<Value> {
    values.iter().map(|value| Value::Int((*value).into())).collect()
}

/// Gathers into the narrowest output that the block allows, and into all wider ones.
fn gathered(block: &Block<'_>, flavour: Flavour, start: usize, at: &[u16]) -> Vec<Vec<Value>> {
    let rows = start..block.rows();
    let mut all = Vec::new();
    macro_rules! gather {
        ($project:path, $type:ty, $convert:expr) => {{
            let mut out: Vec<$type> = Vec::new();
            match $project(block, flavour, rows.clone(), at, &mut out) {
                Ok(()) => all.push($convert(out.as_slice())),
                Err(error) => assert!(matches!(error, BlockError::WrongOutput { .. }), "{error}"),
            }
        }};
    }
    match block.column_type().physical() {
        Physical::Int64 | Physical::Int128 => {
            gather!(kernel::project_i16, i16, ints);
            gather!(kernel::project_i32, i32, ints);
            gather!(kernel::project, i64, ints);
            gather!(kernel::project_i128, i128, ints);
        }
        Physical::Float32 => gather!(kernel::project_f32, f32, |values: &[f32]| {
            values.iter().map(|value| Value::Float(f64::from(*value).to_bits())).collect()
        }),
        Physical::Float64 => gather!(kernel::project_f64, f64, |values: &[f64]| {
            values.iter().map(|value| Value::Float(value.to_bits())).collect()
        }),
        Physical::Bytes => {
            let mut out = ByteValues::default();
            kernel::project_bytes(block, flavour, rows.clone(), at, &mut out).unwrap();
            all.push((0..out.len()).map(|row| Value::Bytes(out.get(row).to_vec())).collect());
            gather!(kernel::project_codes, u32, |codes: &[u32]| {
                let nacre_column::Strings::Dictionary(entries) = block.strings().unwrap() else {
                    panic!("codes of no dictionary")
                };
                let entry = |code: &u32| entries.get(*code as usize).unwrap().to_vec();
                codes.iter().map(|code| Value::Bytes(entry(code))).collect()
            });
        }
    }
    all
}

fn check(column: &ColumnBuffer, format: Option<Format>) {
    let encoded = match format {
        Some(format) => block::encode_as(column, Flavour::active(), format),
        None => block::encode(column, Flavour::active()),
    };
    // Values too far apart for keys of 64 bits.
    let Ok(encoded) = encoded else { return };
    let block = Block::open(&encoded.bytes, column.column_type()).unwrap();
    for start in [0, column.len() / 3] {
        let at = positions(column.len() - start);
        for flavour in Flavour::available() {
            let outputs = gathered(&block, flavour, start, &at);
            assert!(!outputs.is_empty());
            for output in outputs {
                assert_eq!(output.len(), at.len());
                for (position, found) in at.iter().zip(output) {
                    let expected = value(column, start + usize::from(*position));
                    // NaN has many spellings; nulls are unspecified.
                    let is_nan = |value: &Value| match value {
                        Value::Float(bits) => f64::from_bits(*bits).is_nan(),
                        _ => false,
                    };
                    assert!(
                        expected.as_ref().is_none_or(
                            |expected| *expected == found || is_nan(expected) && is_nan(&found)
                        ),
                        "{format:?} {flavour}: {found:?}, not {expected:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn gathers_agree_with_the_values_in_every_format_and_output() {
    for column_type in TYPES {
        for format in formats(column_type) {
            for rows in LENGTHS {
                for spread in SPREADS {
                    check(&column(column_type, rows, spread, rows % 2 * 5), format);
                }
            }
        }
    }
}

#[test]
fn predicates_on_strings_hold_for_the_rows_whose_string_satisfies_them() {
    let column_type = ColumnType::Varchar { max_chars: None };
    let holds = |value: &[u8]| value.len().is_multiple_of(3) || value.ends_with(b"4");
    for format in formats(column_type) {
        for (rows, nulls) in [(1, 0), (700, 4), (20_000, 0)] {
            let column = column(column_type, rows, support::Spread::Few, nulls);
            let Ok(encoded) = (match format {
                Some(format) => block::encode_as(&column, Flavour::active(), format),
                None => block::encode(&column, Flavour::active()),
            }) else {
                continue;
            };
            let block = Block::open(&encoded.bytes, column_type).unwrap();
            let set = EntrySet::new(&block, &holds).unwrap();
            assert_eq!(set.is_some(), block.format() == Format::Dictionary);
            for flavour in Flavour::available() {
                for range in [0..rows, rows / 3..rows] {
                    let mut bits = Vec::new();
                    let check = |bits: &[u64]| {
                        for (at, row) in range.clone().enumerate() {
                            let expected = match value(&column, row) {
                                Some(Value::Bytes(value)) => holds(&value),
                                _ => false,
                            };
                            assert_eq!(bits[at / 64] >> (at % 64) & 1 == 1, expected, "row {row}");
                        }
                        let count: u32 = bits.iter().map(|word| word.count_ones()).sum();
                        assert!(count as usize <= range.len());
                    };
                    let positions: Vec<u16> = (0..range.len() as u16).step_by(3).collect();
                    let check_at = |kept: &[u16], bits: &[u64]| {
                        let is_set = |at: usize| bits[at / 64] >> (at % 64) & 1 == 1;
                        let expected = positions.iter().filter(|at| is_set(usize::from(**at)));
                        assert!(kept.iter().eq(expected), "{kept:?}");
                    };
                    let (rows, mut kept) = (range.clone(), vec![9]);
                    kernel::select_strings(&block, flavour, &holds, rows.clone(), &mut bits)
                        .unwrap();
                    check(&bits);
                    let at = (rows.clone(), positions.as_slice());
                    kernel::select_strings_at(&block, flavour, &holds, at.0, at.1, &mut kept)
                        .unwrap();
                    check_at(&kept, &bits);
                    if let Some(set) = &set {
                        set.select(&block, flavour, rows.clone(), &mut bits).unwrap();
                        check(&bits);
                        set.select_at(&block, flavour, rows, &positions, &mut kept).unwrap();
                        check_at(&kept, &bits);
                    }
                }
            }
        }
    }
}
