//! The answers that the TPC publishes for scale factor 1.
//!
//! They are independent of DataFusion and of us, but rounded: numbers are given with two decimals.
//! So this check is the coarse one and the oracle's is the exact one.
//!
//! # Source
//! TPC-H 3.0.1, section 4.2.2.10 and the answer files of the TPC-H tools, in the crate `tpchgen`.

use tpchgen::q_and_a::answers_sf1;

use crate::workload::{Answer, Cell, Difference, Query};

/// Half a unit of the second decimal, and a little more for the published ones' own rounding.
const TOLERANCE: f64 = 0.0051;

/// The same for sums, which were published from binary floats: section 2.1.3.5 allows 100 dollars.
const TOLERANCE_SUM: f64 = 100.0;

/// Magnitude from which a number is a sum over so many rows that [`TOLERANCE_SUM`] applies.
const SUM_MIN: f64 = 1e5;

/// Columns that the crate gives cut off, as (query, column from 0): only their beginning counts.
const CUT_COLUMNS: [(u32, usize); 1] = [(11, 0)];

/// Compares an answer for scale factor 1 with the published one.
///
/// Rows must come in the published order; it has no ties.
///
/// # Errors
/// The first difference.
pub fn compare_with_published(query: &Query, ours: &Answer) -> Result<(), Difference> {
    let published = published_rows(query);
    if published.len() != ours.rows.len() {
        return Err(Difference::Rows { ours: ours.rows.len(), theirs: published.len() });
    }
    for (row, (ours_row, theirs_row)) in ours.rows.iter().zip(&published).enumerate() {
        if ours_row.len() != theirs_row.len() {
            return Err(Difference::Columns { ours: ours_row.len(), theirs: theirs_row.len() });
        }
        for (column, (cell, text)) in ours_row.iter().zip(theirs_row).enumerate() {
            let is_cut = CUT_COLUMNS.contains(&(query.number, column));
            let is_equal = match is_cut {
                true => cell.to_string().starts_with(text),
                false => is_as_published(cell, text),
            };
            if !is_equal {
                return Err(Difference::Value {
                    row: row + 1,
                    column: ours.columns[column].clone(),
                    ours: cell.to_string(),
                    theirs: (*text).to_owned(),
                    is_sorted: false,
                });
            }
        }
    }
    Ok(())
}

/// Returns the published cells, without the blanks around them.
fn published_rows(query: &Query) -> Vec<Vec<&'static str>> {
    let number = i32::try_from(query.number).unwrap_or_default();
    let lines = answers_sf1::answer(number).unwrap_or_default().lines();
    let rows = lines.filter(|line| !line.trim().is_empty()).skip(1);
    rows.map(|line| line.split('|').map(str::trim).collect()).collect()
}

fn is_as_published(cell: &Cell, text: &str) -> bool {
    match (cell.as_f64(), text.parse::<f64>()) {
        (Some(ours), Ok(theirs)) => {
            let tolerance = if theirs.abs() < SUM_MIN { TOLERANCE } else { TOLERANCE_SUM };
            (ours - theirs).abs() <= tolerance
        }
        _ => cell.to_string().trim() == text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch::QUERIES;

    #[test]
    fn every_query_has_a_published_answer() {
        let rows: Vec<_> = QUERIES.iter().map(|query| published_rows(query).len()).collect();
        let expected =
            [4, 100, 10, 5, 5, 1, 4, 2, 175, 20, 1048, 2, 42, 1, 1, 18_314, 1, 57, 1, 186, 100, 7];
        assert_eq!(rows, expected);
    }

    #[test]
    fn numbers_may_differ_by_rounding_and_text_may_not_differ() {
        assert!(is_as_published(&Cell::number(25_522_005, 6), "25.52"));
        assert!(!is_as_published(&Cell::number(2553, 2), "25.52"));
        assert!(is_as_published(&Cell::Text("JAPAN".into()), "JAPAN"));
        assert!(!is_as_published(&Cell::Text("JAPAN".into()), "JAPAN2"));
        assert!(is_as_published(&Cell::Date(9_194), "1995-03-05"));
        assert!(is_as_published(&Cell::Text("17".into()), "17"));
    }
}
