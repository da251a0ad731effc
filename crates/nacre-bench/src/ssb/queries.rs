//! The 13 queries, in four flights.
//!
//! # Source
//! SSB revision 3, section 3.

use crate::workload::{Query, query};

/// The queries, Q1.1 first.
pub static QUERIES: [Query; 13] = [
    query!(1, "Q1.1", "q1_1.sql", &[]),
    query!(2, "Q1.2", "q1_2.sql", &[]),
    query!(3, "Q1.3", "q1_3.sql", &[]),
    query!(4, "Q2.1", "q2_1.sql", &[1, 2]),
    query!(5, "Q2.2", "q2_2.sql", &[1, 2]),
    query!(6, "Q2.3", "q2_3.sql", &[1, 2]),
    query!(7, "Q3.1", "q3_1.sql", &[2, 3]),
    query!(8, "Q3.2", "q3_2.sql", &[2, 3]),
    query!(9, "Q3.3", "q3_3.sql", &[2, 3]),
    query!(10, "Q3.4", "q3_4.sql", &[2, 3]),
    query!(11, "Q4.1", "q4_1.sql", &[0, 1]),
    query!(12, "Q4.2", "q4_2.sql", &[0, 1, 2]),
    query!(13, "Q4.3", "q4_3.sql", &[0, 1, 2]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_numbered_from_1_to_13_and_hold_one_statement() {
        for (query, number) in QUERIES.iter().zip(1..) {
            assert_eq!(query.number, number);
            assert!(!query.sql(1.0).contains(';'), "{}", query.name);
        }
    }
}
