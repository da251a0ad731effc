//! What was encoded decodes to itself: every type, format, flavour and length, with and without
//! nulls, whole, in part and row by row.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics where it stands")]

mod support;

use std::ops::Range;

use nacre_column::{
    Block, BlockError, ByteValues, ColumnBuffer, ColumnType, Flavour, Format, Physical,
    PointReader, PointValue, Strings, Values, block,
};
use proptest::prelude::*;
use support::{
    LENGTHS, Random, SPREADS, Spread, TYPES, Value, column, formats, is_full, push, value,
};

/// Decodes these rows in every way that the column has; compares those that are not null.
fn check_rows(column: &ColumnBuffer, block: &Block<'_>, flavour: Flavour, rows: Range<usize>) {
    let wanted: Vec<usize> = rows.clone().filter(|row| !column.is_null(*row)).collect();
    match column.values() {
        Values::Int64(values) => {
            let mut decoded = vec![7];
            block.decode_i64(flavour, rows.clone(), &mut decoded).unwrap();
            assert_eq!(decoded.len(), rows.len() + 1);
            assert!(wanted.iter().all(|row| decoded[row - rows.start + 1] == values[*row]));
            check_narrow(values, block, flavour, &rows, &wanted);
        }
        Values::Int128(values) => {
            let mut decoded = Vec::new();
            block.decode_i128(flavour, rows.clone(), &mut decoded).unwrap();
            assert!(wanted.iter().all(|row| decoded[row - rows.start] == values[*row]));
        }
        Values::Float32(values) => {
            let mut decoded = Vec::new();
            block.decode_f32(flavour, rows.clone(), &mut decoded).unwrap();
            let bits = |row: usize| decoded[row - rows.start].to_bits();
            assert!(wanted.iter().all(|row| bits(*row) == values[*row].to_bits()));
        }
        Values::Float64(values) => {
            let mut decoded = Vec::new();
            block.decode_f64(flavour, rows.clone(), &mut decoded).unwrap();
            let bits = |row: usize| decoded[row - rows.start].to_bits();
            assert!(wanted.iter().all(|row| bits(*row) == values[*row].to_bits()));
        }
        Values::Bytes(values) => match block.strings().unwrap() {
            Strings::Plain(strings) => {
                assert!(wanted.iter().all(|row| strings.get(*row).unwrap() == values.get(*row)));
            }
            Strings::Dictionary(entries) => {
                let mut codes = Vec::new();
                block.decode_codes(flavour, rows.clone(), &mut codes).unwrap();
                let entry = |row: usize| entries.get(codes[row - rows.start] as usize).unwrap();
                assert!(wanted.iter().all(|row| entry(*row) == values.get(*row)));
            }
            Strings::Encoded => {
                let mut decoded = ByteValues::default();
                block.decode_bytes(flavour, rows.clone(), &mut decoded).unwrap();
                assert_eq!(decoded.len(), rows.len());
                let found = |row: usize| decoded.get(row - rows.start);
                assert!(wanted.iter().all(|row| found(*row) == values.get(*row)));
            }
        },
    }
}

/// Decodes to each narrower type that the block's values allow, and to `i128`.
fn check_narrow(
    values: &[i64],
    block: &Block<'_>,
    flavour: Flavour,
    rows: &Range<usize>,
    wanted: &[usize],
) {
    let of_type = block.column_type().int_range().unwrap();
    let of_values = block.int_range().unwrap_or((0, 0));
    let fits = |min: i128, max: i128| min <= of_values.0 && of_values.1 <= max;
    macro_rules! check {
        ($type:ty, $decode:ident, $fits:expr) => {
            let mut decoded: Vec<$type> = Vec::new();
            let result = block.$decode(flavour, rows.clone(), &mut decoded);
            assert_eq!(result.is_ok(), $fits, "{} {}", block.column_type(), stringify!($decode));
            if $fits {
                let decoded = |row: usize| i128::from(decoded[row - rows.start]);
                assert!(wanted.iter().all(|row| decoded(*row) == i128::from(values[*row])));
            }
        };
    }
    check!(bool, decode_bool, of_type == (0, 1));
    check!(i16, decode_i16, fits(i16::MIN.into(), i16::MAX.into()));
    check!(i32, decode_i32, fits(i32::MIN.into(), i32::MAX.into()));
    check!(i128, decode_i128, true);
}

/// Opens the block and compares it with the column it was made of, in every flavour.
fn check(column: &ColumnBuffer, format: Option<Format>) {
    let flavours = Flavour::available();
    let encode = |flavour| match format {
        Some(format) => block::encode_as(column, flavour, format),
        None => block::encode(column, flavour),
    };
    let encoded = encode(Flavour::Scalar);
    if column.column_type().physical() == Physical::Int128
        && matches!(encoded, Err(BlockError::WrongFormat { .. }))
    {
        return; // The values are too far apart for keys of 64 bits.
    }
    let encoded = encoded.unwrap();
    assert!(encoded.bytes.len().is_multiple_of(64));
    let block = Block::open(&encoded.bytes, column.column_type()).unwrap();
    block.verify().unwrap();
    assert_eq!(block.header(), &encoded.header);
    assert_eq!(block.rows(), column.len());
    assert_eq!(block.null_count(), column.null_count());
    assert!(format.is_none_or(|format| block.format() == format));
    for flavour in flavours {
        assert_eq!(encode(flavour).unwrap(), encoded, "{flavour}");
        for rows in ranges(column.len()) {
            check_rows(column, &block, flavour, rows);
        }
    }
    let mut random = Random(column.len() as u64);
    for row in (0..column.len().min(40)).map(|_| random.below(column.len())) {
        if block.format().is_random_access() {
            assert_eq!(get(&block, row), value(column, row), "row {row}");
            assert_eq!(point(&block, row), value(column, row), "row {row}");
        } else if !column.is_null(row) {
            let error = match block.column_type().physical() {
                Physical::Int64 | Physical::Int128 => block.get_int(row).unwrap_err(),
                Physical::Float32 | Physical::Float64 => block.get_float(row).unwrap_err(),
                Physical::Bytes => block.get_bytes(row).unwrap_err(),
            };
            assert!(matches!(error, BlockError::SequentialOnly { .. }), "{error}");
        }
        assert_eq!(block.is_null(row).unwrap(), column.is_null(row));
    }
    assert_eq!(PointReader::new(&block).is_some(), block.format().is_random_access());
    assert!(block.is_null(column.len()).is_err());
    assert!(block.is_null(usize::MAX).is_err());
}

fn ranges(rows: usize) -> Vec<Range<usize>> {
    let middle = rows / 3;
    vec![0..rows, 0..0, rows..rows, middle..rows, middle..middle + rows / 2]
}

fn get(block: &Block<'_>, row: usize) -> Option<Value> {
    match block.column_type().physical() {
        Physical::Int64 | Physical::Int128 => block.get_int(row).unwrap().map(Value::Int),
        Physical::Float32 | Physical::Float64 => {
            block.get_float(row).unwrap().map(|value| Value::Float(value.to_bits()))
        }
        Physical::Bytes => block.get_bytes(row).unwrap().map(|value| Value::Bytes(value.to_vec())),
    }
}

/// As `get`, by what is kept of the header, with text before that of the row.
fn point(block: &Block<'_>, row: usize) -> Option<Value> {
    let mut text = b"before".to_vec();
    let reader = PointReader::new(block).unwrap();
    assert!(reader.offset(row) < block.bytes().len());
    let found = match reader.value(block.bytes(), row, &mut text).unwrap() {
        PointValue::Null => return None,
        PointValue::Int(value) => Value::Int(value.into()),
        PointValue::Int128(value) => Value::Int(value),
        PointValue::Float32(value) => Value::Float(f64::from(value).to_bits()),
        PointValue::Float64(value) => Value::Float(value.to_bits()),
        PointValue::Bytes { start, end } => Value::Bytes(text[start..end].to_vec()),
    };
    assert!(text.starts_with(b"before"));
    Some(found)
}

#[test]
fn every_type_format_flavour_and_length_round_trips() {
    let mut turn = 0;
    for column_type in TYPES {
        for rows in LENGTHS {
            for spread in SPREADS {
                // Long columns take one of these each, so that the test stays short.
                let nulls: &[usize] = match spread {
                    _ if rows <= 1_000 || is_full() => &[0, 1, 5],
                    Spread::Constant => &[1],
                    Spread::Few => &[5],
                    Spread::Extreme => &[0],
                };
                for nulls_every in nulls.iter().copied() {
                    let column = column(column_type, rows, spread, nulls_every);
                    let formats = formats(column_type);
                    // And one format after the other.
                    turn += 1;
                    let all = rows <= 100 || is_full();
                    let some = [formats[turn % formats.len()]];
                    for format in if all { &formats[..] } else { &some } {
                        check(&column, *format);
                    }
                }
            }
        }
    }
}

#[test]
fn constant_column_takes_no_bytes_for_values() {
    let column = column(ColumnType::BigInt, 65_536, Spread::Constant, 0);
    let encoded = block::encode(&column, Flavour::active()).unwrap();
    assert_eq!(encoded.bytes.len(), block::HEADER_BYTES);
    assert_eq!(encoded.header.width, 0);
}

#[test]
fn nulls_do_not_widen_the_packed_values() {
    let mut column = ColumnBuffer::new(ColumnType::Timestamp);
    for row in 0..1_000 {
        if row % 3 == 0 {
            column.push_null();
        } else {
            column.push_int(1_700_000_000_000_000 + row);
        }
    }
    let encoded = block::encode(&column, Flavour::active()).unwrap();
    assert_eq!((encoded.header.format, encoded.header.width), (Format::StaticBp, 10));
}

#[test]
fn whole_range_of_bigint_is_plain_and_can_be_packed() {
    let mut column = ColumnBuffer::new(ColumnType::BigInt);
    let mut random = Random(1);
    let mut sum = i128::from(i64::MIN) + i128::from(i64::MAX);
    [i64::MIN, i64::MAX].into_iter().for_each(|value| column.push_int(value));
    for _ in 0..2_000 {
        let value = random.next() as i64;
        sum += i128::from(value);
        column.push_int(value);
    }
    let encoded = block::encode(&column, Flavour::active()).unwrap();
    assert_eq!(encoded.header.format, Format::Plain);
    let encoded = block::encode_as(&column, Flavour::active(), Format::StaticBp).unwrap();
    assert_eq!(encoded.header.width, 64);
    assert_eq!(encoded.header.sma.sum, Some(sum));
}

#[test]
fn one_more_row_than_a_chunk_is_refused() {
    let mut column = column(ColumnType::Boolean, 65_536, Spread::Few, 0);
    column.push_int(1);
    let error = block::encode(&column, Flavour::active()).unwrap_err();
    assert_eq!(error.to_string(), "65537 rows are more than the 65536 of a block");
}

#[test]
fn rows_outside_of_the_block_are_refused() {
    let column = column(ColumnType::Integer, 10, Spread::Few, 0);
    let encoded = block::encode(&column, Flavour::active()).unwrap();
    let block = Block::open(&encoded.bytes, ColumnType::Integer).unwrap();
    let mut out = Vec::new();
    let error = block.decode_i32(Flavour::active(), 4..11, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "rows 4 to 11 asked for, the block has 10");
    let reader = PointReader::new(&block).unwrap();
    let error = reader.value(&encoded.bytes, 10, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "rows 10 to 11 asked for, the block has 10");
    let error = reader.value(&encoded.bytes[64..], 1, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, BlockError::Length { .. }), "{error}");
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let reversed = block.decode_i32(Flavour::active(), 5..4, &mut out);
    assert!(reversed.is_err());
    assert!(out.is_empty());
}

#[test]
fn strings_choose_the_smaller_format() {
    let mut few = ColumnBuffer::new(support::TEXT);
    let mut unique = ColumnBuffer::new(support::TEXT);
    for row in 0..5_000 {
        few.push_bytes(format!("a long enough name {}", row % 10).as_bytes());
        unique.push_bytes(format!("name {row}").as_bytes());
    }
    let format = |column| block::encode(column, Flavour::active()).unwrap().header.format;
    assert_eq!(format(&few), Format::Dictionary);
    assert_eq!(format(&unique), Format::Plain);
}

proptest! {
    #![proptest_config(support::cases(32, 256))]

    /// Random values, nulls and lengths; the values are `choice` or spread over the whole range.
    #[test]
    fn random_columns_round_trip(
        type_index in 0..TYPES.len(),
        rows in prop::collection::vec(
            (any::<u64>(), prop::bool::weighted(0.1), prop::bool::weighted(0.1)),
            0..1_500,
        ),
        distinct in 1_u64..2_000,
    ) {
        let mut column = ColumnBuffer::new(TYPES[type_index]);
        for (choice, is_null, is_extreme) in rows {
            if is_null {
                column.push_null();
            } else if is_extreme {
                push(&mut column, choice, true);
            } else {
                push(&mut column, choice % distinct, false);
            }
        }
        for format in formats(TYPES[type_index]) {
            check(&column, format);
        }
    }
}
