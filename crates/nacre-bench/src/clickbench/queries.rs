//! The 43 queries, numbered from Q0 as ClickBench does.

use std::borrow::Cow;

use crate::workload::{Query, query};

/// Rows of the original table.
const ORIGINAL_ROWS: u64 = 100_000_000;

/// What a group has at least in Q27 and Q28 of the original table, as the texts have it.
const ORIGINAL_GROUP_ROWS: u64 = 100_000;

/// Names of the queries without an order, of which any rows are a right answer.
pub const UNORDERED: [&str; 1] = ["Q17"];

/// The queries, Q0 first.
pub static QUERIES: [Query; 43] = [
    query!(1, "Q0", "q00.sql", &[]),
    query!(2, "Q1", "q01.sql", &[]),
    query!(3, "Q2", "q02.sql", &[]),
    query!(4, "Q3", "q03.sql", &[]),
    query!(5, "Q4", "q04.sql", &[]),
    query!(6, "Q5", "q05.sql", &[]),
    query!(7, "Q6", "q06.sql", &[]),
    query!(8, "Q7", "q07.sql", &[1, 0]),
    query!(9, "Q8", "q08.sql", &[1, 0]),
    query!(10, "Q9", "q09.sql", &[2, 0]),
    query!(11, "Q10", "q10.sql", &[1, 0]),
    query!(12, "Q11", "q11.sql", &[2, 0, 1]),
    query!(13, "Q12", "q12.sql", &[1, 0]),
    query!(14, "Q13", "q13.sql", &[1, 0]),
    query!(15, "Q14", "q14.sql", &[2, 0, 1]),
    query!(16, "Q15", "q15.sql", &[1, 0]),
    query!(17, "Q16", "q16.sql", &[2, 0, 1]),
    query!(18, "Q17", "q17.sql", &[]),
    query!(19, "Q18", "q18.sql", &[3, 0, 1, 2]),
    query!(20, "Q19", "q19.sql", &[]),
    query!(21, "Q20", "q20.sql", &[]),
    query!(22, "Q21", "q21.sql", &[2, 0]),
    query!(23, "Q22", "q22.sql", &[3, 0]),
    query!(24, "Q23", "q23.sql", &[1, 0]),
    query!(25, "Q24", "q24.sql", &[]),
    query!(26, "Q25", "q25.sql", &[0]),
    query!(27, "Q26", "q26.sql", &[]),
    query!(28, "Q27", "q27.sql", &[1, 0]),
    query!(29, "Q28", "q28.sql", &[1, 0]),
    query!(30, "Q29", "q29.sql", &[]),
    query!(31, "Q30", "q30.sql", &[2, 0, 1]),
    query!(32, "Q31", "q31.sql", &[2, 0, 1]),
    query!(33, "Q32", "q32.sql", &[2, 0, 1]),
    query!(34, "Q33", "q33.sql", &[1, 0]),
    query!(35, "Q34", "q34.sql", &[2, 1]),
    query!(36, "Q35", "q35.sql", &[4, 0]),
    query!(37, "Q36", "q36.sql", &[1, 0]),
    query!(38, "Q37", "q37.sql", &[1, 0]),
    query!(39, "Q38", "q38.sql", &[1, 0]),
    query!(40, "Q39", "q39.sql", &[5, 0, 1, 2, 3, 4]),
    query!(41, "Q40", "q40.sql", &[2, 0, 1]),
    query!(42, "Q41", "q41.sql", &[2, 0, 1]),
    query!(43, "Q42", "q42.sql", &[0]),
];

/// Returns a query's text for a table of so many rows.
pub fn sql(query: &Query, rows: u64) -> Cow<'static, str> {
    let text = query.sql(1.0);
    let bound = ORIGINAL_GROUP_ROWS.to_string();
    if text.contains(&bound) {
        let scaled = rows / (ORIGINAL_ROWS / ORIGINAL_GROUP_ROWS);
        Cow::Owned(text.replace(&bound, &scaled.to_string()))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_named_from_0_to_42_and_hold_one_statement() {
        for (index, query) in QUERIES.iter().enumerate() {
            assert_eq!(query.name, format!("Q{index}"));
            assert_eq!(query.number as usize, index + 1);
            assert!(!query.sql(1.0).contains(';'), "{}", query.name);
        }
    }

    #[test]
    fn bounds_of_groups_are_a_thousandth_of_the_rows() {
        let of = |index: usize, rows| sql(&QUERIES[index], rows);
        for index in [27, 28] {
            assert!(of(index, 10_000_000).contains("count(*) > 10000\n"));
            assert!(of(index, ORIGINAL_ROWS).contains("count(*) > 100000\n"));
        }
        assert!(matches!(of(0, 1_000), Cow::Borrowed(_)));
    }
}
