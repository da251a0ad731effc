//! Aggregate and project on every format in every flavour, against the values themselves.
#![allow(clippy::unwrap_used, reason = "a failed test panics where it stands")]

mod support;

use nacre_column::kernel::{self, Aggregate};
use nacre_column::{
    Block, BlockError, BlockErrorKind, ColumnBuffer, ColumnType, Constant, Flavour, Restriction,
    block,
};
use support::{LENGTHS, Random, formats};

/// Widths around those where lanes, sums and formats change.
const WIDTHS: [u32; 10] = [0, 1, 8, 16, 24, 25, 32, 33, 48, 64];

/// How often a row is null: never, at random, in long stretches, always.
const NULLS: [fn(u64, usize) -> bool; 4] =
    [|_, _| false, |random, _| random.is_multiple_of(5), |_, row| row % 700 > 300, |_, _| true];

fn column(
    column_type: ColumnType,
    width: u32,
    rows: usize,
    is_null: fn(u64, usize) -> bool,
) -> (ColumnBuffer, Vec<Option<i128>>) {
    let mut random = Random(u64::from(width) + 1);
    let mut column = ColumnBuffer::new(column_type);
    let mut values = Vec::with_capacity(rows);
    let (least, greatest) = column_type.int_range().unwrap();
    let base = least.max(-(1 << width.saturating_sub(1)));
    for row in 0..rows {
        let next = random.next();
        // Mostly narrow values, so that groups have widths of their own.
        let key = next.unbounded_shr(64 - width) & if row % 300 < 200 { 0xff } else { u64::MAX };
        let value = (base + i128::from(key)).min(greatest);
        if is_null(next, row) {
            column.push_null();
            values.push(None);
        } else if column_type.int_range().unwrap().1 > i64::MAX.into() {
            column.push_int128(value);
            values.push(Some(value));
        } else {
            column.push_int(value as i64);
            values.push(Some(value));
        }
    }
    (column, values)
}

fn expected<'v>(values: impl Iterator<Item = &'v Option<i128>> + Clone) -> Aggregate {
    let valid = values.filter_map(|value| *value);
    Aggregate {
        count: valid.clone().count() as u64,
        sum: Some(valid.clone().sum()),
        min: valid.clone().min(),
        max: valid.max(),
    }
}

fn check(column: &ColumnBuffer, values: &[Option<i128>]) {
    let rows = values.len();
    let mut random = Random(rows as u64);
    for format in formats(column.column_type()) {
        let encoded = match format {
            Some(format) => block::encode_as(column, Flavour::active(), format),
            None => block::encode(column, Flavour::active()),
        };
        let Ok(encoded) = encoded else { continue };
        let block = Block::open(&encoded.bytes, column.column_type()).unwrap();
        for range in [0..rows, rows / 3..rows, rows / 7 / 64 * 64..rows / 2, rows / 2..rows / 2] {
            let count = if range.is_empty() { 0 } else { 150 };
            let positions: Vec<u16> =
                (0..count).map(|_| random.below(range.len()) as u16).collect();
            let at = |position: &u16| &values[range.start + usize::from(*position)];
            for flavour in Flavour::available() {
                let what = format!("{format:?} {flavour} {range:?} of {}", column.column_type());
                let all = kernel::aggregate(&block, flavour, range.clone()).unwrap();
                assert_eq!(all, expected(values[range.clone()].iter()), "{what}");
                assert_eq!(kernel::sum(&block, flavour, range.clone()).unwrap(), all.sum, "{what}");
                let some = kernel::aggregate_selected(&block, flavour, range.clone(), &positions);
                assert_eq!(some.unwrap(), expected(positions.iter().map(at)), "{what}");
                let mut selection = Vec::new();
                for (low, high) in [(-20, 200), (0, i128::MAX), (1 << 40, 1 << 50)] {
                    let between =
                        Restriction::Between { low: Constant::Int(low), high: Constant::Int(high) };
                    let rows = range.clone();
                    kernel::select(&block, flavour, &between, rows, &mut selection).unwrap();
                    let is_between = |value: &Option<i128>| {
                        value.is_some_and(|value| low <= value && value <= high)
                    };
                    let found = range.clone().filter(|row| is_between(&values[*row]));
                    let found = found.map(|row| (row - range.start) as u16);
                    assert!(found.eq(selection.iter().copied()), "{what}: {between}");
                }
                let mut projected = vec![7];
                match kernel::project(&block, flavour, range.clone(), &positions, &mut projected) {
                    Ok(()) => {
                        assert_eq!(projected.len(), 1 + positions.len(), "{what}");
                        for (found, position) in projected[1..].iter().zip(&positions) {
                            let expected = at(position).unwrap_or((*found).into());
                            assert_eq!(i128::from(*found), expected, "{what}");
                        }
                    }
                    Err(error) => assert_eq!(error.kind(), BlockErrorKind::Misuse, "{what}"),
                }
            }
        }
    }
}

#[test]
fn every_width_and_nulls_agree_with_the_values() {
    for width in WIDTHS {
        for is_null in NULLS {
            let (column, values) = column(ColumnType::BigInt, width, 1_400, is_null);
            check(&column, &values);
        }
    }
}

#[test]
fn every_length_agrees_with_the_values() {
    for (index, rows) in LENGTHS.into_iter().enumerate() {
        let (column, values) = column(ColumnType::BigInt, 13, rows, NULLS[index % 2]);
        check(&column, &values);
    }
}

#[test]
fn every_type_agrees_with_the_values() {
    let wide = ColumnType::Decimal { precision: 30, scale: 2 };
    let types = [
        (ColumnType::Boolean, 1),
        (ColumnType::SmallInt, 16),
        (ColumnType::Integer, 32),
        (ColumnType::Date, 20),
        (ColumnType::Decimal { precision: 12, scale: 2 }, 38),
        (wide, 60),
    ];
    for (column_type, width) in types {
        for is_null in NULLS {
            let (column, values) = column(column_type, width, 1_100, is_null);
            check(&column, &values);
        }
    }
}

/// Long enough for tables of entries, short runs and long ones.
#[test]
fn repeats_and_few_distinct_values_agree_with_the_values() {
    let mut random = Random(9);
    for (width, distinct, run_max) in [(20, 40, 9), (64, 300, 3), (33, 3, 700), (7, 100, 1)] {
        let numbers: Vec<i64> =
            (0..distinct).map(|_| random.next().unbounded_shr(64 - width) as i64).collect();
        let mut column = ColumnBuffer::new(ColumnType::BigInt);
        let mut values = Vec::new();
        while values.len() < 5_000 {
            let value = numbers[random.below(distinct)];
            for _ in 0..=random.below(run_max) {
                column.push_int(value);
                values.push(Some(value.into()));
            }
        }
        check(&column, &values);
    }
}

#[test]
fn greatest_sums_of_a_chunk_do_not_overflow() {
    for value in [i64::MIN, i64::MAX] {
        let mut column = ColumnBuffer::new(ColumnType::BigInt);
        // One other value, so that keys need all 64 bits.
        column.push_int(!value);
        (1..65_536).for_each(|_| column.push_int(value));
        let values: Vec<Option<i128>> =
            (0..65_536).map(|row| Some(if row == 0 { !value } else { value }.into())).collect();
        check(&column, &values);
    }
}

#[test]
fn what_is_no_whole_number_and_what_is_outside_is_refused() {
    let (column, _) = column(ColumnType::Integer, 8, 100, NULLS[0]);
    let encoded = block::encode(&column, Flavour::active()).unwrap();
    let block = Block::open(&encoded.bytes, ColumnType::Integer).unwrap();
    let flavour = Flavour::active();
    let mut out = Vec::new();
    let outside = kernel::project(&block, flavour, 10..20, &[3, 10], &mut out);
    assert!(matches!(outside, Err(BlockError::RowRange { start: 20, .. })), "{outside:?}");
    assert!(matches!(
        kernel::aggregate(&block, flavour, 90..101),
        Err(BlockError::RowRange { start: 90, end: 101, rows: 100 })
    ));

    let mut floats = ColumnBuffer::new(ColumnType::Double);
    floats.push_float64(1.0);
    let encoded = block::encode(&floats, flavour).unwrap();
    let block = Block::open(&encoded.bytes, ColumnType::Double).unwrap();
    assert!(matches!(
        kernel::aggregate(&block, flavour, 0..1),
        Err(BlockError::WrongOutput { .. })
    ));
    assert!(matches!(
        kernel::project(&block, flavour, 0..1, &[0], &mut out),
        Err(BlockError::WrongOutput { .. })
    ));
}
