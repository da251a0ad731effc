//! Every format against a reference that knows nothing of formats: each flavour, width of 0 to 64
//! bits and length around a word, a group and a chunk.
//!
//! By default long columns take a fixed sample of the widths and formats; with `NACRE_TEST_FULL=1`
//! all of them do (use a release build: it takes more than five minutes).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics where it stands")]

mod support;

use std::ops::Range;

use nacre_column::{
    Block, BlockError, ByteValues, ColumnBuffer, ColumnType, CompareOp, Constant, Flavour, Format,
    Restriction, block, kernel,
};
use support::{Random, TEXT, formats, is_full};

const SHORT: [usize; 8] = [0, 1, 63, 64, 65, 127, 128, 129];

const LONG: [usize; 2] = [65_535, 65_536];

/// Widths at which lanes, bytes and words end.
const WIDTHS_SAMPLED: [u32; 12] = [0, 1, 7, 8, 13, 16, 17, 31, 32, 33, 63, 64];

/// Returns keys of at most `width` bits, one of which has them all: noise, runs, ascending, or few
/// that are large among small ones.
fn keys(width: u32, rows: usize, pattern: usize) -> Vec<u64> {
    let mut random = Random(rows as u64 ^ u64::from(width) << 32 ^ (pattern as u64) << 50);
    let greatest = u64::MAX.unbounded_shr(64 - width);
    let mut run = (0, 0);
    let mut key = |row: usize| match pattern % 4 {
        0 => random.next() & greatest,
        1 => {
            if run.1 == 0 {
                run = (random.next() & greatest, 1 + random.below(40));
            }
            run.1 -= 1;
            run.0
        }
        2 => (greatest as f64 / (rows + 1) as f64 * row as f64) as u64 & greatest,
        _ if random.below(20) == 0 => random.next() & greatest,
        _ => random.next() & greatest & 7,
    };
    let mut keys: Vec<u64> = (0..rows).map(&mut key).collect();
    if let Some(last) = keys.last_mut() {
        *last = greatest;
        let middle = rows / 2;
        keys[middle] = if rows > 1 { 0 } else { greatest };
    }
    keys
}

/// Returns the values: the least is `i64::MIN` where the width leaves no other choice.
fn values(keys: &[u64], width: u32) -> Vec<i64> {
    let base = if width > 60 { i64::MIN } else { -1_000_000_007 };
    keys.iter().map(|key| base.wrapping_add(*key as i64)).collect()
}

fn ranges(rows: usize) -> [Range<usize>; 3] {
    [0..rows, rows / 3..rows - rows / 9, rows.saturating_sub(1)..rows]
}

/// Encodes `values` in `format` and flavour after flavour; compares everything that can be asked.
fn check_ints(values: &[i64], format: Format, flavours: &[Flavour]) {
    let mut column = ColumnBuffer::new(ColumnType::BigInt);
    values.iter().for_each(|value| column.push_int(*value));
    let expected = block::encode_as(&column, Flavour::Scalar, format).unwrap();
    for flavour in flavours.iter().copied() {
        let what = format!("{format} {flavour} {} rows", values.len());
        assert!(block::encode_as(&column, flavour, format).unwrap() == expected, "{what}");
        let block = Block::open(&expected.bytes, ColumnType::BigInt).unwrap();
        for rows in ranges(values.len()) {
            let mut decoded = vec![7];
            block.decode_i64(flavour, rows.clone(), &mut decoded).unwrap();
            assert!(decoded[1..] == values[rows.clone()], "{what} {rows:?}");
            check_select(&block, flavour, values, rows, &what);
        }
    }
    let block = Block::open(&expected.bytes, ColumnType::BigInt).unwrap();
    block.verify().unwrap();
    for row in (0..values.len()).step_by(1 + values.len() / 50) {
        match block.get_int(row) {
            Ok(found) => assert_eq!(found, Some(values[row].into()), "{format} row {row}"),
            Err(error) => assert!(!format.is_random_access(), "{format} row {row}: {error}"),
        }
        assert_eq!(block.get_int(row).is_ok(), format.is_random_access());
    }
}

/// Selects what is at most the value in the middle, and what is equal to it.
fn check_select(
    block: &Block<'_>,
    flavour: Flavour,
    values: &[i64],
    rows: Range<usize>,
    what: &str,
) {
    let Some(middle) = values.get(values.len() / 3) else {
        return;
    };
    for op in [CompareOp::Le, CompareOp::Eq] {
        let value = Constant::Int((*middle).into());
        let mut selection = Vec::new();
        let restriction = Restriction::Compare { op, value };
        kernel::select(block, flavour, &restriction, rows.clone(), &mut selection).unwrap();
        let matches =
            |value: i64| if op == CompareOp::Eq { value == *middle } else { value <= *middle };
        let found = selection.iter().map(|position| usize::from(*position));
        let expected = (0..rows.len()).filter(|row| matches(values[rows.start + row]));
        assert!(found.eq(expected), "{what} {rows:?} {restriction}");
    }
}

fn int_formats() -> Vec<Format> {
    formats(ColumnType::BigInt).into_iter().flatten().collect()
}

#[test]
fn integers_of_every_width_come_back_from_every_format() {
    for width in 0..=64 {
        for (turn, rows) in SHORT.into_iter().enumerate() {
            let patterns = if is_full() { 0..4 } else { turn..turn + 1 };
            for pattern in patterns {
                let values = values(&keys(width, rows, pattern + width as usize), width);
                for format in int_formats() {
                    check_ints(&values, format, &Flavour::available());
                }
            }
        }
    }
}

#[test]
fn whole_chunks_of_integers_come_back_from_every_format() {
    let widths: Vec<u32> = if is_full() { (0..=64).collect() } else { WIDTHS_SAMPLED.to_vec() };
    let formats = int_formats();
    let mut turn = 0;
    for width in widths {
        for rows in LONG {
            let values = values(&keys(width, rows, width as usize), width);
            for format in &formats {
                // Each format meets a third of the widths, at one of the lengths.
                turn += 1;
                if is_full() {
                    check_ints(&values, *format, &Flavour::available());
                } else if turn % 6 == 0 {
                    check_ints(&values, *format, &[Flavour::active()]);
                }
            }
            turn += 1;
        }
    }
}

/// Strings of one kind each: like each other, all different, long, with every byte.
fn strings(rows: usize, kind: usize) -> ByteValues {
    let mut random = Random(rows as u64 + kind as u64 * 77);
    let mut values = ByteValues::default();
    for row in 0..rows {
        match kind {
            0 => values
                .push(["", "carefully", "fin\u{e4}l deposits", "s"][random.below(4)].as_bytes()),
            1 => values.push(format!("Customer#{row:09}").as_bytes()),
            2 => values.push("haggle ".repeat(random.below(60)).as_bytes()),
            _ => {
                values.push(char::from(random.next() as u8).to_string().repeat(row % 4).as_bytes())
            }
        }
    }
    values
}

fn check_strings(values: &ByteValues, format: Format, flavours: &[Flavour]) {
    let mut column = ColumnBuffer::new(TEXT);
    (0..values.len()).for_each(|row| column.push_bytes(values.get(row)));
    let expected = block::encode_as(&column, Flavour::Scalar, format).unwrap();
    let block = Block::open(&expected.bytes, TEXT).unwrap();
    block.verify().unwrap();
    for flavour in flavours.iter().copied() {
        assert!(block::encode_as(&column, flavour, format).unwrap() == expected, "{format}");
        for rows in ranges(values.len()) {
            let mut decoded = ByteValues::default();
            block.decode_bytes(flavour, rows.clone(), &mut decoded).unwrap();
            assert_eq!(decoded.len(), rows.len());
            let is_same = |(index, row)| decoded.get(index) == values.get(row);
            assert!(rows.clone().enumerate().all(is_same), "{format} {flavour} {rows:?}");
            let constant = values.data.get(..5).unwrap_or_default().to_vec();
            let mut selection = Vec::new();
            let value = Constant::Bytes(constant.clone());
            let restriction = Restriction::Compare { op: CompareOp::Ge, value };
            kernel::select(&block, flavour, &restriction, rows.clone(), &mut selection).unwrap();
            let found = selection.iter().map(|position| usize::from(*position));
            let matches = |row: &usize| values.get(rows.start + row) >= constant.as_slice();
            assert!(found.eq((0..rows.len()).filter(matches)), "{format} {flavour} {rows:?}");
        }
    }
    for row in (0..values.len()).step_by(1 + values.len() / 50) {
        match block.get_bytes(row) {
            Ok(found) => assert_eq!(found.as_deref(), Some(values.get(row)), "{format} row {row}"),
            Err(BlockError::SequentialOnly { .. }) => assert!(!format.is_random_access()),
            Err(error) => panic!("{format} row {row}: {error}"),
        }
    }
}

#[test]
fn strings_come_back_from_every_format() {
    for kind in 0..4 {
        for rows in SHORT {
            let values = strings(rows, kind);
            for format in formats(TEXT).into_iter().flatten() {
                check_strings(&values, format, &Flavour::available());
            }
        }
    }
}

#[test]
fn whole_chunks_of_strings_come_back_from_every_format() {
    for (turn, format) in formats(TEXT).into_iter().flatten().enumerate() {
        for kind in 0..4 {
            if is_full() {
                for rows in LONG {
                    check_strings(&strings(rows, kind), format, &Flavour::available());
                }
            } else if kind == turn % 4 {
                let values = strings(LONG[turn % 2], kind);
                check_strings(&values, format, &[Flavour::active()]);
            }
        }
    }
}
