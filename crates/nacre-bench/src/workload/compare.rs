//! Compares two engines' answers to one query, exactly.
//!
//! 1. Rows are compared in the order in which they came.
//! 2. If that fails, both answers are sorted by all columns and compared again, and the values of
//!    the `ORDER BY` columns must be the same row by row: so only rows that `ORDER BY` calls equal
//!    may have changed places.
//!
//! Quotients of decimals are compared at the digits that both engines give, where the last one may
//! be rounded by one engine and cut off by the other. Sums and products are exact.
//!
//! Floats may differ by [`FLOAT_TOLERANCE`] of their size, because sums depend on the order of
//! addition; TPC-H and SSB have none. Rows that tie where `LIMIT` cuts may truly differ between two
//! right answers; with TPC-H's queries and data that does not happen.

use std::cmp::Ordering;
use std::fmt;

use crate::workload::{Answer, Cell};

/// Fewest digits behind the point of a quotient in any engine.
const QUOTIENT_DIGITS_MIN: u8 = 6;

/// Most digits of a sum or product of TPC-H and SSB, which all engines give the same digits.
const EXACT_DIGITS_MAX: u8 = 6;

/// Relative difference of floats that is still called equal.
const FLOAT_TOLERANCE: f64 = 1e-9;

/// How two answers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The numbers of columns.
    Columns { ours: usize, theirs: usize },
    /// The numbers of rows.
    Rows { ours: usize, theirs: usize },
    /// A value; the row counts from 1, in the order of the answer, or sorted by all columns.
    Value { row: usize, column: String, ours: String, theirs: String, is_sorted: bool },
}

/// Two answers that should be equal and are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What was asked, such as `Q7`.
    pub subject: String,
    /// Whom Nacre's answer was compared with.
    pub reference: String,
    pub difference: Difference,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, reference, difference } = self;
        match difference {
            Difference::Columns { ours, theirs } => {
                write!(f, "{subject}: Nacre answers {ours} columns, {reference} {theirs}")
            }
            Difference::Rows { ours, theirs } => {
                write!(f, "{subject}: Nacre answers {ours} rows, {reference} {theirs}")
            }
            Difference::Value { row, column, ours, theirs, is_sorted } => {
                let sorted = if *is_sorted { " (rows sorted)" } else { "" };
                write!(
                    f,
                    "{subject}, row {row}{sorted}, column {column}: Nacre answers {ours}, \
                     {reference} {theirs}"
                )
            }
        }
    }
}

impl std::error::Error for Mismatch {}

/// Compares Nacre's answer with a reference that is ordered by the columns `order_by`.
///
/// # Errors
/// The first difference.
pub fn compare(ours: &Answer, theirs: &Answer, order_by: &[usize]) -> Result<(), Difference> {
    if ours.columns.len() != theirs.columns.len() {
        return Err(Difference::Columns { ours: ours.columns.len(), theirs: theirs.columns.len() });
    }
    if ours.rows.len() != theirs.rows.len() {
        return Err(Difference::Rows { ours: ours.rows.len(), theirs: theirs.rows.len() });
    }
    let all: Vec<usize> = (0..ours.columns.len()).collect();
    let in_order = compare_rows(ours, &ours.rows, &theirs.rows, &all, false);
    if in_order.is_ok() {
        return in_order;
    }
    compare_rows(ours, &ours.rows, &theirs.rows, order_by, false)?;
    compare_rows(ours, &sorted(&ours.rows), &sorted(&theirs.rows), &all, true)
}

fn compare_rows(
    answer: &Answer,
    ours: &[Vec<Cell>],
    theirs: &[Vec<Cell>],
    columns: &[usize],
    is_sorted: bool,
) -> Result<(), Difference> {
    for (row, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        for &column in columns {
            let (ours, theirs) = (&ours[column], &theirs[column]);
            if !is_equal(ours, theirs) {
                return Err(Difference::Value {
                    row: row + 1,
                    column: answer.columns[column].clone(),
                    ours: ours.to_string(),
                    theirs: theirs.to_string(),
                    is_sorted,
                });
            }
        }
    }
    Ok(())
}

fn sorted(rows: &[Vec<Cell>]) -> Vec<Vec<Cell>> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| {
        let cells = a.iter().zip(b).map(|(a, b)| a.total_order(b));
        cells.fold(Ordering::Equal, Ordering::then)
    });
    rows
}

fn is_equal(ours: &Cell, theirs: &Cell) -> bool {
    match (ours, theirs) {
        (Cell::Float(a), Cell::Float(b)) => {
            a == b
                || (a.is_nan() && b.is_nan())
                || (a - b).abs() <= FLOAT_TOLERANCE * a.abs().max(b.abs())
        }
        (
            &Cell::Number { unscaled: a, scale: a_scale, digits: a_digits },
            &Cell::Number { unscaled: b, scale: b_scale, digits: b_digits },
        ) if is_quotient(a_digits, b_digits) => {
            let digits = a_digits.min(b_digits);
            match (at_digits(a, a_scale, digits), at_digits(b, b_scale, digits)) {
                (Some(a), Some(b)) => a.abs_diff(b) <= 1,
                _ => ours.total_order(theirs).is_eq(),
            }
        }
        _ => ours.total_order(theirs).is_eq(),
    }
}

/// Whether columns of so many digits behind the point are quotients.
fn is_quotient(ours: u8, theirs: u8) -> bool {
    let fewer = ours.min(theirs);
    if ours == theirs { fewer > EXACT_DIGITS_MAX } else { fewer >= QUOTIENT_DIGITS_MIN }
}

/// Returns `unscaled / 10^scale` in units of `10^-digits`, cut off; `None` beyond 128 bits.
fn at_digits(unscaled: i128, scale: u8, digits: u8) -> Option<i128> {
    let power = 10_i128.checked_pow(scale.abs_diff(digits).into())?;
    if digits >= scale { unscaled.checked_mul(power) } else { Some(unscaled / power) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[(i128, &str)]) -> Answer {
        let row = |(number, text): &(i128, &str)| {
            vec![Cell::number(*number, 2), Cell::Text((*text).into())]
        };
        Answer { columns: vec!["n".into(), "t".into()], rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn same_values_of_another_scale_are_equal() {
        let other_scale = Answer {
            rows: vec![vec![Cell::number(15_000, 4), Cell::Text("a".into())]],
            ..answer(&[])
        };
        assert_eq!(compare(&answer(&[(150, "a")]), &other_scale, &[0]), Ok(()));
    }

    #[test]
    fn last_digit_of_a_quotient_may_be_rounded() {
        let quotient = |unscaled| Cell::number(unscaled, 10);
        assert!(is_equal(&quotient(154_865_458_123), &quotient(154_865_458_122)));
        assert!(is_equal(&quotient(154_865_458_120), &quotient(154_865_458_119)));
        assert!(!is_equal(&quotient(154_865_458_123), &quotient(154_865_458_121)));
        assert!(!is_equal(&Cell::number(151, 2), &Cell::number(150, 2)));
    }

    #[test]
    fn quotients_are_compared_at_the_digits_that_both_have() {
        let ten_digits = Cell::number(344_358_904, 10);
        assert!(is_equal(&ten_digits, &Cell::number(3_443_589, 8)));
        assert!(is_equal(&Cell::number(3_443_590, 8), &ten_digits));
        assert!(!is_equal(&ten_digits, &Cell::number(3_443_591, 8)));
        // Zeros at the end are digits that the column has.
        assert!(is_equal(&Cell::number(100_000_001, 10), &Cell::number(1_000_000, 8)));
        assert!(!is_equal(&Cell::number(100_000_200, 10), &Cell::number(1_000_000, 8)));
        assert!(is_equal(
            &Cell::number(3_484_060_542_857_143, 10),
            &Cell::number(348_406_054_285, 6)
        ));
        // Sums and products are compared exactly, whatever their digits.
        assert!(!is_equal(&Cell::number(1_500_001, 6), &Cell::number(1_500_000, 6)));
        assert!(!is_equal(&Cell::number(1_500_001, 6), &Cell::number(150, 2)));
        assert!(is_equal(&Cell::number(1_500_000, 6), &Cell::number(150, 2)));
    }

    #[test]
    fn rows_that_tie_may_change_places_and_others_may_not() {
        let reference = answer(&[(1, "a"), (1, "b"), (2, "c")]);
        let tied = answer(&[(1, "b"), (1, "a"), (2, "c")]);
        let moved = answer(&[(1, "a"), (2, "c"), (1, "b")]);
        assert_eq!(compare(&tied, &reference, &[0]), Ok(()));
        let difference = compare(&moved, &reference, &[0]).unwrap_err();
        let (column, ours, theirs) = ("n".into(), "0.02".into(), "0.01".into());
        let expected = Difference::Value { row: 2, column, ours, theirs, is_sorted: false };
        assert_eq!(difference, expected);
        assert_eq!(compare(&moved, &reference, &[]), Ok(()));
    }

    #[test]
    fn last_digit_of_a_decimal_counts() {
        let (ours, theirs) =
            (answer(&[(100_000_000_000_001, "a")]), answer(&[(100_000_000_000_000, "a")]));
        let difference = compare(&ours, &theirs, &[]).unwrap_err();
        let mismatch =
            Mismatch { subject: "Q1".into(), reference: "the oracle".into(), difference };
        assert_eq!(
            mismatch.to_string(),
            "Q1, row 1 (rows sorted), column n: Nacre answers 1000000000000.01, the oracle \
             1000000000000"
        );
    }

    #[test]
    fn missing_row_and_duplicate_row_are_seen() {
        let reference = answer(&[(1, "a"), (2, "b")]);
        let short = compare(&answer(&[(1, "a")]), &reference, &[0]);
        assert_eq!(short, Err(Difference::Rows { ours: 1, theirs: 2 }));
        assert!(compare(&answer(&[(1, "a"), (1, "a")]), &reference, &[]).is_err());
    }

    #[test]
    fn null_is_equal_to_null_only_and_floats_may_differ_in_the_last_bits() {
        assert!(is_equal(&Cell::Null, &Cell::Null));
        assert!(!is_equal(&Cell::Null, &Cell::number(0, 0)));
        assert!(is_equal(&Cell::Float(0.1 + 0.2), &Cell::Float(0.3)));
        assert!(!is_equal(&Cell::Float(0.3), &Cell::Float(0.300_001)));
        assert!(!is_equal(&Cell::Float(1.0), &Cell::number(1, 0)));
    }
}
