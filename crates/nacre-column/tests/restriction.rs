//! Restrictions against brute force: a chunk that is skipped has no match, and select finds exactly
//! the rows that match, in every type, format and flavour.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics where it stands")]

mod support;

use std::cmp::Ordering;

use nacre_column::{
    Block, ColumnBuffer, CompareOp, Constant, Flavour, Physical, Restriction, block, kernel,
    may_match,
};
use proptest::prelude::*;
use support::{TYPES, Value, formats, is_full, push, value};

const OPS: [CompareOp; 6] =
    [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];

/// PostgreSQL's order, written another way than in the crate.
fn compare(left: &Value, right: &Constant) -> Ordering {
    match (left, right) {
        (Value::Int(left), Constant::Int(right)) => left.cmp(right),
        (Value::Bytes(left), Constant::Bytes(right)) => left.as_slice().cmp(right),
        (Value::Float(left), Constant::Float(right)) => {
            let left = f64::from_bits(*left);
            if left < *right || (right.is_nan() && !left.is_nan()) {
                Ordering::Less
            } else if left > *right || (left.is_nan() && !right.is_nan()) {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        }
        _ => panic!("{left:?} and {right:?} are of different classes"),
    }
}

fn matches(value: Option<&Value>, restriction: &Restriction) -> bool {
    match (value, restriction) {
        (value, Restriction::IsNull) => value.is_none(),
        (value, Restriction::IsNotNull) => value.is_some(),
        (None, _) => false,
        (Some(value), Restriction::Compare { op, value: constant }) => {
            let ordering = compare(value, constant);
            match op {
                CompareOp::Eq => ordering.is_eq(),
                CompareOp::Ne => ordering.is_ne(),
                CompareOp::Lt => ordering.is_lt(),
                CompareOp::Le => ordering.is_le(),
                CompareOp::Gt => ordering.is_gt(),
                CompareOp::Ge => ordering.is_ge(),
            }
        }
        (Some(value), Restriction::Between { low, high }) => {
            compare(value, low).is_ge() && compare(value, high).is_le()
        }
        (Some(value), Restriction::InSet(set)) => {
            set.iter().any(|constant| compare(value, constant).is_eq())
        }
        (value, restriction) => panic!("{value:?} {restriction}"),
    }
}

/// Turns a value into a constant; some are moved a little, so that they lie between values.
fn constant(column: &ColumnBuffer, choice: u64, is_extreme: bool, shift: i8) -> Constant {
    let mut one = ColumnBuffer::new(column.column_type());
    push(&mut one, choice, is_extreme);
    match value(&one, 0) {
        Some(Value::Int(value)) => Constant::Int(value.saturating_add(shift.into())),
        Some(Value::Float(bits)) => Constant::Float(f64::from_bits(bits) + f64::from(shift) / 8.0),
        Some(Value::Bytes(mut value)) => {
            match shift {
                i8::MIN..=-1 => {
                    value.pop();
                }
                0 => {}
                _ => value.push(shift as u8),
            }
            Constant::Bytes(value)
        }
        None => panic!("a value was pushed"),
    }
}

/// Compares with brute force in every format, over several ranges of rows; in every flavour or, if
/// the tests are to be short, in one after the other.
fn check(column: &ColumnBuffer, restrictions: &[Restriction]) {
    let rows = column.len();
    let matching = |restriction: &Restriction| -> Vec<bool> {
        (0..rows).map(|row| matches(value(column, row).as_ref(), restriction)).collect()
    };
    let expected: Vec<Vec<bool>> = restrictions.iter().map(matching).collect();
    let flavours = Flavour::available();
    let mut turn = 0;
    for format in formats(column.column_type()) {
        let encoded = match format {
            Some(format) => block::encode_as(column, Flavour::active(), format),
            None => block::encode(column, Flavour::active()),
        };
        let Ok(encoded) = encoded else {
            assert_eq!(column.column_type().physical(), Physical::Int128);
            continue;
        };
        let block = Block::open(&encoded.bytes, column.column_type()).unwrap();
        for (restriction, expected) in restrictions.iter().zip(&expected) {
            if expected.contains(&true) {
                assert!(may_match(block.sma(), restriction), "{restriction} {:?}", block.sma());
            }
            turn += 1;
            let is_turn =
                |index: &usize| is_full() || index % flavours.len() == turn % flavours.len();
            for flavour in (0..flavours.len()).filter(is_turn).map(|index| flavours[index]) {
                for range in [0..rows, rows / 3..rows, rows / 7..rows / 2] {
                    let mut selection = vec![9];
                    let (start, range_rows) = (range.start, range.len());
                    kernel::select(&block, flavour, restriction, range.clone(), &mut selection)
                        .unwrap();
                    let brute: Vec<u16> = range
                        .filter(|row| expected[*row])
                        .map(|row| (row - start) as u16)
                        .collect();
                    assert_eq!(selection, brute, "{restriction} {format:?} {flavour} from {start}");
                    check_at(&block, flavour, restriction, (start, range_rows), &brute);
                }
            }
        }
    }
}

/// Selects at few and at many positions what `matching` has of them.
fn check_at(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    (start, rows): (usize, usize),
    matching: &[u16],
) {
    for step in [1, 3, 50] {
        let positions: Vec<u16> = (0..rows as u16).skip(1).step_by(step).collect();
        let mut kept = vec![9];
        let range = start..start + rows;
        kernel::select_at(block, flavour, restriction, range, &positions, &mut kept).unwrap();
        let expected: Vec<u16> =
            positions.into_iter().filter(|at| matching.binary_search(at).is_ok()).collect();
        assert_eq!(kept, expected, "{restriction} {flavour} {start}, each {step}");
    }
}

proptest! {
    #![proptest_config(support::cases(48, 400))]

    #[test]
    fn select_and_may_match_agree_with_brute_force(
        type_index in 0..TYPES.len(),
        rows in prop::collection::vec(
            (any::<u64>(), prop::bool::weighted(0.15), prop::bool::weighted(0.1)),
            0..700,
        ),
        distinct in 1_u64..300,
        constants in prop::collection::vec(
            (any::<u64>(), prop::bool::weighted(0.2), -1_i8..=1),
            0..12,
        ),
    ) {
        let mut column = ColumnBuffer::new(TYPES[type_index]);
        for (choice, is_null, is_extreme) in rows {
            if is_null {
                column.push_null();
            } else if is_extreme && distinct % 2 == 0 {
                push(&mut column, choice, true);
            } else {
                push(&mut column, choice % distinct, false);
            }
        }
        let constants: Vec<Constant> = constants
            .into_iter()
            .map(|(choice, is_extreme, shift)| {
                let choice = if is_extreme { choice } else { choice % (distinct + 3) };
                constant(&column, choice, is_extreme, shift)
            })
            .collect();
        let mut restrictions = vec![Restriction::IsNull, Restriction::IsNotNull];
        for op in OPS {
            let compare = |value: &Constant| Restriction::Compare { op, value: value.clone() };
            restrictions.extend(constants.iter().take(3).map(compare));
        }
        for ends in constants.windows(2).take(3) {
            let (low, high) = (ends[0].clone(), ends[1].clone());
            restrictions.push(Restriction::Between { low, high });
        }
        restrictions.push(Restriction::InSet(constants));
        check(&column, &restrictions);
    }

    /// One value per chunk: bounds are as sharp as they can be, so most chunks can be skipped.
    #[test]
    fn may_match_is_sharp_for_whole_numbers_of_one_value(
        stored in -20_i64..20,
        sought in -20_i128..20,
    ) {
        let mut column = ColumnBuffer::new(nacre_column::ColumnType::Integer);
        column.push_int(stored);
        let encoded = block::encode(&column, Flavour::active()).unwrap();
        for op in OPS {
            let restriction = Restriction::Compare { op, value: Constant::Int(sought) };
            let expected = matches(Some(&Value::Int(stored.into())), &restriction);
            prop_assert_eq!(may_match(&encoded.header.sma, &restriction), expected);
        }
    }
}

#[test]
fn constant_of_another_class_is_refused_by_name() {
    let mut column = ColumnBuffer::new(nacre_column::ColumnType::Integer);
    column.push_int(1);
    let encoded = block::encode(&column, Flavour::active()).unwrap();
    let block = Block::open(&encoded.bytes, column.column_type()).unwrap();
    let value = Constant::Bytes(b"x".to_vec());
    let restriction = Restriction::Compare { op: CompareOp::Eq, value };
    let error =
        kernel::select(&block, Flavour::active(), &restriction, 0..1, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "a column of type integer does not compare with 'x'");
}

#[test]
fn select_reaches_the_last_row_of_a_chunk() {
    let mut column = ColumnBuffer::new(nacre_column::ColumnType::Boolean);
    (0..65_536).for_each(|row| column.push_int(i64::from(row == 65_535)));
    let restriction = Restriction::Compare { op: CompareOp::Eq, value: Constant::Int(1) };
    let encoded = block::encode(&column, Flavour::active()).unwrap();
    let block = Block::open(&encoded.bytes, column.column_type()).unwrap();
    let mut selection = Vec::new();
    kernel::select(&block, Flavour::active(), &restriction, 0..65_536, &mut selection).unwrap();
    assert_eq!(selection, [65_535]);
}
