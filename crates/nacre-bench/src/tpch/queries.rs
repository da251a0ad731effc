//! The 22 queries, with the substitution values of the specification's validation runs.
//!
//! # Source
//! TPC-H 3.0.1, section 2.4. Differs: Q15 is its variant with a common table expression, not a
//! view; the row limits of section 2.1.2.9 are `LIMIT` clauses.

use crate::workload::{Query, query};

macro_rules! tpch {
    ($number:literal, $file:literal, $order_by:expr) => {
        query!($number, concat!("Q", $number), $file, $order_by)
    };
}

/// Columns that none of the queries reads, and that take much room.
pub const UNUSED_COLUMNS: [&str; 4] = ["l_comment", "ps_comment", "p_comment", "o_clerk"];

/// The queries, Q1 first.
pub static QUERIES: [Query; 22] = [
    tpch!(1, "q01.sql", &[0, 1]),
    tpch!(2, "q02.sql", &[0, 2, 1, 3]),
    tpch!(3, "q03.sql", &[1, 2]),
    tpch!(4, "q04.sql", &[0]),
    tpch!(5, "q05.sql", &[1]),
    tpch!(6, "q06.sql", &[]),
    tpch!(7, "q07.sql", &[0, 1, 2]),
    tpch!(8, "q08.sql", &[0]),
    tpch!(9, "q09.sql", &[0, 1]),
    tpch!(10, "q10.sql", &[2]),
    // The specification divides Q11's fraction by the scale factor.
    tpch!(11, "q11.sql", &[1]).divided_by_scale("0.0001"),
    tpch!(12, "q12.sql", &[0]),
    tpch!(13, "q13.sql", &[1, 0]),
    tpch!(14, "q14.sql", &[]),
    tpch!(15, "q15.sql", &[0]),
    tpch!(16, "q16.sql", &[3, 0, 1, 2]),
    tpch!(17, "q17.sql", &[]),
    tpch!(18, "q18.sql", &[4, 3]),
    tpch!(19, "q19.sql", &[]),
    tpch!(20, "q20.sql", &[0]),
    tpch!(21, "q21.sql", &[1, 0]),
    tpch!(22, "q22.sql", &[0]),
];

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn queries_are_numbered_from_1_to_22_and_hold_one_statement() {
        for (query, number) in QUERIES.iter().zip(1..) {
            assert_eq!(query.number, number);
            assert_eq!(query.name, format!("Q{number}"));
            assert!(!query.sql(1.0).contains(';'), "Q{number}");
        }
    }

    #[test]
    fn fraction_of_q11_grows_as_the_scale_factor_shrinks() {
        let q11 = &QUERIES[10];
        assert!(q11.sql(1.0).contains("* 0.0001\n"));
        assert!(q11.sql(0.01).contains("* 0.0100000000\n"));
        assert!(matches!(QUERIES[0].sql(0.01), Cow::Borrowed(_)));
    }
}
