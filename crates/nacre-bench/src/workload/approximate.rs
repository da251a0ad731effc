//! Compares answers of engines whose types differ.
//!
//! Averages are exact numbers in one engine and floats in another, a day may be a timestamp, and
//! `char(n)` is filled up with blanks in some. So numbers are compared by value to
//! [`RELATIVE_TOLERANCE`], days as timestamps, texts without blanks at their end, and rows as a
//! set that keeps duplicates. A float that was rounded to as many digits behind the point as an
//! exact number has may be off by one in the last of them: 1.025 rounds up as an exact number and
//! down as the float next to it.
//!
//! # Invariants
//! 1. What is exact in both engines is compared as closely as what is not: differences below the
//!    tolerance are not found here. [`super::compare`] finds them.

use std::cmp::Ordering;

use crate::workload::{Answer, Cell, Difference};

/// Relative difference of numbers that is called equal: six digits.
const RELATIVE_TOLERANCE: f64 = 1e-6;

/// Difference of small numbers that is called equal: the fewest digits behind the point that an
/// engine gives a quotient are six, and it may cut off the others.
const ABSOLUTE_TOLERANCE: f64 = 1e-6;

/// Significant digits by which rows are sorted, fewer than the tolerance's, so that equal rows come
/// in the same order.
const SORTED_DIGITS: usize = 4;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Compares Nacre's answer with that of another engine, whatever the order of rows.
///
/// # Errors
/// The first difference.
pub fn compare_approximately(ours: &Answer, theirs: &Answer) -> Result<(), Difference> {
    if ours.columns.len() != theirs.columns.len() {
        return Err(Difference::Columns { ours: ours.columns.len(), theirs: theirs.columns.len() });
    }
    if ours.rows.len() != theirs.rows.len() {
        return Err(Difference::Rows { ours: ours.rows.len(), theirs: theirs.rows.len() });
    }
    let (our_rows, their_rows) = (sorted(&ours.rows), sorted(&theirs.rows));
    for (row, (our_row, their_row)) in our_rows.iter().zip(&their_rows).enumerate() {
        for (column, (ours_cell, theirs_cell)) in our_row.iter().zip(their_row.iter()).enumerate() {
            if !is_close(ours_cell, theirs_cell) {
                return Err(Difference::Value {
                    row: row + 1,
                    column: ours.columns[column].clone(),
                    ours: ours_cell.to_string(),
                    theirs: theirs_cell.to_string(),
                    is_sorted: true,
                });
            }
        }
    }
    Ok(())
}

/// Sorts rows by what is no number, then by numbers with few digits.
fn sorted(rows: &[Vec<Cell>]) -> Vec<&Vec<Cell>> {
    let mut keyed: Vec<_> = rows.iter().map(|row| (AnswerSortKey::of(row), row)).collect();
    keyed.sort_by(|(a, _), (b, _)| a.total_order(b));
    keyed.into_iter().map(|(_, row)| row).collect()
}

/// What a row is sorted by.
struct AnswerSortKey {
    texts: Vec<String>,
    numbers: Vec<f64>,
}

impl AnswerSortKey {
    fn of(row: &[Cell]) -> Self {
        let mut key = Self { texts: Vec::new(), numbers: Vec::new() };
        for cell in row {
            match (cell.as_f64(), microseconds(cell)) {
                (Some(number), _) => key.numbers.push(rounded(number)),
                (None, Some(time)) => key.texts.push(time.to_string()),
                (None, None) => key.texts.push(cell.to_string().trim_end().to_owned()),
            }
        }
        key
    }

    fn total_order(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.iter().zip(&other.numbers).map(|(a, b)| a.total_cmp(b));
        self.texts.cmp(&other.texts).then(numbers.fold(Ordering::Equal, Ordering::then))
    }
}

fn rounded(number: f64) -> f64 {
    // What was written as a number is read as one; zero has one sign.
    format!("{number:.SORTED_DIGITS$e}").parse().unwrap_or(number) + 0.0
}

fn is_close(ours: &Cell, theirs: &Cell) -> bool {
    if let (Some(a), Some(b)) = (ours.as_f64(), theirs.as_f64()) {
        let tolerance = ABSOLUTE_TOLERANCE.max(RELATIVE_TOLERANCE * a.abs().max(b.abs()));
        let is_near = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance;
        return is_near || is_other_rounding(ours, theirs) || is_other_rounding(theirs, ours);
    }
    match (ours, theirs) {
        (Cell::Text(a), Cell::Text(b)) => a.trim_end() == b.trim_end(),
        _ => match (microseconds(ours), microseconds(theirs)) {
            (Some(a), Some(b)) => a == b,
            _ => ours.total_order(theirs).is_eq(),
        },
    }
}

/// Whether a float was rounded to the digits of an exact number, and to a neighbour of it.
fn is_other_rounding(exact: &Cell, float: &Cell) -> bool {
    match (exact, float) {
        (Cell::Number { digits, .. }, Cell::Float(float)) if *digits > 0 => {
            let unit = 10_f64.powi(i32::from(*digits));
            let scaled = (exact.as_f64().unwrap_or(f64::NAN) * unit, float * unit);
            (scaled.1 - scaled.1.round()).abs() <= RELATIVE_TOLERANCE
                && (scaled.0 - scaled.1).abs() <= 1.0 + RELATIVE_TOLERANCE
        }
        _ => false,
    }
}

/// Returns a day or a timestamp as microseconds since 1970.
fn microseconds(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Date(days) => Some(i64::from(*days) * DAY),
        Cell::Timestamp(time) => Some(*time),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: Vec<Vec<Cell>>) -> Answer {
        let columns = rows.first().map_or(0, Vec::len);
        Answer { columns: vec!["c".into(); columns], rows }
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    #[test]
    fn numbers_of_other_types_are_equal_to_six_digits() {
        let ours = answer(vec![vec![Cell::number(15_154_823, 4), Cell::Date(1)]]);
        let theirs = answer(vec![vec![Cell::Float(1_515.482_301), Cell::Timestamp(DAY)]]);
        assert_eq!(compare_approximately(&ours, &theirs), Ok(()));
        let theirs = answer(vec![vec![Cell::Float(1_515.49), Cell::Timestamp(DAY)]]);
        assert!(compare_approximately(&ours, &theirs).is_err());
        let theirs = answer(vec![vec![Cell::Float(1_515.482_3), Cell::Timestamp(DAY + 1)]]);
        assert!(compare_approximately(&ours, &theirs).is_err());
    }

    #[test]
    fn quotient_may_be_cut_off_after_six_digits() {
        let ours = Cell::number(50_081_339, 9);
        assert!(is_close(&ours, &Cell::number(50_081, 6)));
        assert!(!is_close(&ours, &Cell::number(50_083, 6)));
    }

    #[test]
    fn rows_are_a_set_with_duplicates() {
        let row = |name: &str, number: f64| vec![Cell::Float(number), text(name)];
        let ours = answer(vec![row("a", 1.0), row("b", 2.0), row("a  ", 1.000_000_1)]);
        let theirs = answer(vec![row("b", 2.0), row("a", 1.0), row("a", 1.0)]);
        assert_eq!(compare_approximately(&ours, &theirs), Ok(()));
        let theirs = answer(vec![row("b", 2.0), row("b", 2.0), row("a", 1.0)]);
        assert!(compare_approximately(&ours, &theirs).is_err());
        let rows = compare_approximately(&ours, &answer(vec![row("a", 1.0)]));
        assert_eq!(rows, Err(Difference::Rows { ours: 3, theirs: 1 }));
    }

    #[test]
    fn rounded_float_may_be_off_by_one_in_the_last_digit() {
        assert!(is_close(&Cell::number(103, 2), &Cell::Float(1.02)));
        assert!(!is_close(&Cell::number(104, 2), &Cell::Float(1.02)));
        // Not rounded, and whole numbers.
        assert!(!is_close(&Cell::number(103, 2), &Cell::Float(1.0251)));
        assert!(!is_close(&Cell::number(5, 0), &Cell::Float(6.0)));
    }

    #[test]
    fn nulls_are_equal_to_nulls_only() {
        assert!(is_close(&Cell::Null, &Cell::Null));
        for other in [Cell::number(0, 0), text(""), Cell::Boolean(false)] {
            assert!(!is_close(&Cell::Null, &other));
        }
    }

    #[test]
    fn noise_of_one_number_does_not_change_the_order_by_the_next() {
        let ours = vec![
            vec![Cell::Float(0.1 + 0.2), Cell::number(5, 0)],
            vec![Cell::Float(0.3), Cell::number(3, 0)],
        ];
        let theirs = vec![
            vec![Cell::Float(0.3), Cell::number(5, 0)],
            vec![Cell::Float(0.3), Cell::number(3, 0)],
        ];
        assert_eq!(compare_approximately(&answer(ours), &answer(theirs)), Ok(()));
    }
}
