//! Comparisons: bits for the rows where they hold.

use std::cmp::Ordering;

use nacre_column::{CompareOp, compare_floats};
use nacre_simd::{Flavour, Lane};

use super::arithmetic::IntSide;
use super::loops::{EQUAL, GREATER, LESS, RightSide, compare};
use crate::error::{ExecError, ExecResult};
use crate::scan::StringPredicate;
use crate::vector::{BitVector, ColumnVector, DictionaryReaders, VectorValues};

/// Compares whole numbers of one width.
///
/// # Errors
/// [`ExecError::Internal`] if the widths differ.
pub(super) fn ints(
    flavour: Flavour,
    op: CompareOp,
    left: &ColumnVector,
    right: IntSide<'_>,
    out: &mut BitVector,
) -> ExecResult<()> {
    use VectorValues as V;
    let rows = left.values.len();
    let mut words = std::mem::take(out).into_words();
    macro_rules! widths {
        ($($variant:ident $type:ty),*) => {
            match (&left.values, right) {
                $(
                    (V::$variant(left), IntSide::Vector(right)) => {
                        let V::$variant(right) = &right.values else { return Err(wrong_types()) };
                        lanes(flavour, op, left, RightSide::Values(right), &mut words);
                    }
                    (V::$variant(left), IntSide::Constant(constant)) => {
                        let right = RightSide::Constant(constant as $type);
                        lanes(flavour, op, left, right, &mut words);
                    }
                )*
                (V::Int128(left), right) => {
                    let right = |row: usize| match right {
                        IntSide::Vector(right) => right.values.int(row).unwrap_or(0),
                        IntSide::Constant(constant) => constant,
                    };
                    return each(rows, &mut words, out, |row| op.holds(left[row].cmp(&right(row))));
                }
                _ => return Err(wrong_types()),
            }
        };
    }
    widths!(Int16 i16, Int32 i32, Int64 i64);
    *out = BitVector::from_words(words, rows);
    Ok(())
}

fn lanes<T: Lane>(
    flavour: Flavour,
    op: CompareOp,
    left: &[T],
    right: RightSide<'_, T>,
    words: &mut Vec<u64>,
) {
    match op {
        CompareOp::Eq => compare::<T, EQUAL>(flavour, left, right, false, words),
        CompareOp::Ne => compare::<T, EQUAL>(flavour, left, right, true, words),
        CompareOp::Gt => compare::<T, GREATER>(flavour, left, right, false, words),
        CompareOp::Le => compare::<T, GREATER>(flavour, left, right, true, words),
        CompareOp::Lt => compare::<T, LESS>(flavour, left, right, false, words),
        CompareOp::Ge => compare::<T, LESS>(flavour, left, right, true, words),
    }
}

fn each(
    rows: usize,
    words: &mut Vec<u64>,
    out: &mut BitVector,
    holds: impl Fn(usize) -> bool,
) -> ExecResult<()> {
    words.clear();
    words.extend((0..rows).step_by(64).map(|start| {
        let bit = |row: usize| u64::from(holds(row)) << (row - start);
        (start..rows.min(start + 64)).map(bit).fold(0, |word, bit| word | bit)
    }));
    *out = BitVector::from_words(std::mem::take(words), rows);
    Ok(())
}

/// Compares truth values, floats or strings.
///
/// # Errors
/// [`ExecError::Internal`] if they are of different classes.
pub(super) fn others(
    op: CompareOp,
    left: &ColumnVector,
    right: &ColumnVector,
    out: &mut BitVector,
) -> ExecResult<()> {
    use VectorValues as V;
    let rows = left.values.len();
    let mut words = std::mem::take(out).into_words();
    match (&left.values, &right.values) {
        (V::Bool(left), V::Bool(right)) => {
            each(rows, &mut words, out, |row| op.holds(left.get(row).cmp(&right.get(row))))
        }
        (V::Float32(left), V::Float32(right)) => each(rows, &mut words, out, |row| {
            op.holds(compare_floats(left[row].into(), right[row].into()))
        }),
        (V::Float64(left), V::Float64(right)) => {
            each(rows, &mut words, out, |row| op.holds(compare_floats(left[row], right[row])))
        }
        (V::Code(_) | V::Bytes(_), V::Code(_) | V::Bytes(_)) => {
            let dictionaries = [left.dictionary.as_ref(), right.dictionary.as_ref()];
            let readers = DictionaryReaders::new(&dictionaries);
            each(rows, &mut words, out, |row| {
                let order: Ordering = left.with_bytes(row, readers.of(0), |left| {
                    right.with_bytes(row, readers.of(1), |right| left.cmp(right))
                });
                op.holds(order)
            })
        }
        _ => Err(wrong_types()),
    }
}

/// Tests strings.
///
/// # Errors
/// [`ExecError::Internal`] if the values are no strings.
pub(super) fn strings(
    predicate: &StringPredicate,
    input: &ColumnVector,
    out: &mut BitVector,
) -> ExecResult<()> {
    let (rows, test) = (input.values.len(), predicate.test());
    let mut words = std::mem::take(out).into_words();
    let reader = input.dictionary_reader();
    match &input.values {
        VectorValues::Code(codes) => {
            let Some(reader) = reader.as_ref() else { return Err(wrong_types()) };
            if reader.len() > rows {
                return each(rows, &mut words, out, |row| test(reader.get(codes[row])));
            }
            let holds: Vec<bool> =
                (0..reader.len()).map(|code| test(reader.get(code as u32))).collect();
            // Codes of null rows are unspecified.
            let holds = |row: usize| holds.get(codes[row] as usize).copied().unwrap_or(false);
            each(rows, &mut words, out, holds)
        }
        VectorValues::Bytes(strings) if let Some(short) = predicate.short_strings() => {
            let views = strings.views();
            let holds = |row: usize| {
                let own = views[row].word();
                short.words.iter().fold(false, |found, word| found | (own == *word))
                    != short.is_negated
            };
            each(rows, &mut words, out, holds)
        }
        VectorValues::Bytes(strings) => {
            each(rows, &mut words, out, |row| strings.with(row, |value| test(value)))
        }
        _ => Err(wrong_types()),
    }
}

fn wrong_types() -> ExecError {
    ExecError::internal("a comparison of values of different types")
}
