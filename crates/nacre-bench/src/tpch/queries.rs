//! The 22 queries, with the substitution values of the specification's validation runs.
//!
//! # Source
//! TPC-H 3.0.1, section 2.4. Differs: Q15 is its variant with a common table expression, not a
//! view; the row limits of section 2.1.2.9 are `LIMIT` clauses.

use std::borrow::Cow;

/// One query.
#[derive(Debug)]
pub struct Query {
    /// 1 to 22.
    pub number: u32,
    sql: &'static str,
    /// Output columns (0-based) by which the answer is ordered, most significant first.
    pub order_by: &'static [usize],
}

macro_rules! query {
    ($number:literal, $file:literal, $order_by:expr) => {
        Query {
            number: $number,
            sql: include_str!(concat!("queries/", $file)),
            order_by: $order_by,
        }
    };
}

/// The queries, Q1 first.
pub static QUERIES: [Query; 22] = [
    query!(1, "q01.sql", &[0, 1]),
    query!(2, "q02.sql", &[0, 2, 1, 3]),
    query!(3, "q03.sql", &[1, 2]),
    query!(4, "q04.sql", &[0]),
    query!(5, "q05.sql", &[1]),
    query!(6, "q06.sql", &[]),
    query!(7, "q07.sql", &[0, 1, 2]),
    query!(8, "q08.sql", &[0]),
    query!(9, "q09.sql", &[0, 1]),
    query!(10, "q10.sql", &[2]),
    query!(11, "q11.sql", &[1]),
    query!(12, "q12.sql", &[0]),
    query!(13, "q13.sql", &[1, 0]),
    query!(14, "q14.sql", &[]),
    query!(15, "q15.sql", &[0]),
    query!(16, "q16.sql", &[3, 0, 1, 2]),
    query!(17, "q17.sql", &[]),
    query!(18, "q18.sql", &[4, 3]),
    query!(19, "q19.sql", &[]),
    query!(20, "q20.sql", &[0]),
    query!(21, "q21.sql", &[1, 0]),
    query!(22, "q22.sql", &[0]),
];

/// Q11's fraction at scale factor 1; the specification divides it by the scale factor.
const Q11_FRACTION: f64 = 0.0001;

impl Query {
    /// Returns the text for data of a scale factor; only Q11 depends on it.
    pub fn sql(&self, scale_factor: f64) -> Cow<'static, str> {
        if self.number != 11 || scale_factor == 1.0 {
            return Cow::Borrowed(self.sql);
        }
        let fraction = format!("{:.10}", Q11_FRACTION / scale_factor);
        Cow::Owned(self.sql.replace(&Q11_FRACTION.to_string(), &fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_numbered_from_1_to_22_and_hold_one_statement() {
        for (query, number) in QUERIES.iter().zip(1..) {
            assert_eq!(query.number, number);
            assert!(!query.sql.contains(';'), "Q{number}");
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
