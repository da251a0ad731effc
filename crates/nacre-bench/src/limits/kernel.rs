//! The kernels, and what a run of one gives.

use super::{TpchArrays, q01, q06, q09, q13, q14, q17, q18, q19};
use crate::workload::{Answer, Cell};

/// Digits behind the point that quotients are given with.
pub(super) const QUOTIENT_DIGITS: i8 = 12;

/// A hand-written query.
#[derive(Debug)]
pub(crate) struct QueryKernel {
    /// The query's number in TPC-H.
    pub(crate) query: u32,
    /// Answers the query with a number of threads.
    pub(crate) run: fn(&TpchArrays, usize) -> KernelRun,
}

/// What a run of a kernel gives.
#[derive(Debug)]
pub(crate) struct KernelRun {
    pub(crate) answer: Answer,
    /// Rows of the largest table that is scanned.
    pub(crate) rows: u64,
    /// What is read of the arrays and indexes; not what the kernel itself makes.
    pub(crate) bytes: u64,
}

/// The kernels, by query.
pub(crate) static KERNELS: [QueryKernel; 8] = [
    QueryKernel { query: 1, run: q01::run },
    QueryKernel { query: 6, run: q06::run },
    QueryKernel { query: 9, run: q09::run },
    QueryKernel { query: 13, run: q13::run },
    QueryKernel { query: 14, run: q14::run },
    QueryKernel { query: 17, run: q17::run },
    QueryKernel { query: 18, run: q18::run },
    QueryKernel { query: 19, run: q19::run },
];

impl KernelRun {
    pub(super) fn new(columns: &[&str], rows: Vec<Vec<Cell>>) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { answer: Answer { columns, rows }, rows: 0, bytes: 0 }
    }

    /// Says how much was read.
    pub(super) fn reading(mut self, rows: usize, bytes: u64) -> Self {
        (self.rows, self.bytes) = (rows as u64, bytes);
        self
    }
}

/// Returns `dividend / divisor`, where the dividend has `scale` digits behind the point; `NULL` for
/// nothing by nothing.
pub(super) fn quotient(dividend: i128, scale: u32, divisor: i128) -> Cell {
    let power = 10_i128.pow(u32::from(QUOTIENT_DIGITS.unsigned_abs()) - scale);
    match (dividend * power).checked_div(divisor) {
        Some(unscaled) => Cell::number(unscaled, QUOTIENT_DIGITS),
        None => Cell::Null,
    }
}

/// Returns the text of bytes that the generator made, which are ASCII.
pub(super) fn text(bytes: &[u8]) -> Cell {
    Cell::Text(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Interrupt;
    use crate::tpch::{QUERIES, UNUSED_COLUMNS, generate};
    use crate::workload::Oracle;

    const SCALE_FACTOR: f64 = 0.01;

    #[test]
    fn quotients_have_all_their_digits() {
        assert_eq!(quotient(100, 2, 3).to_string(), "0.333333333333");
        assert!(matches!(quotient(0, 2, 0), Cell::Null));
    }

    #[tokio::test]
    async fn kernels_answer_as_the_oracle_with_any_number_of_threads() {
        let directory = tempfile::tempdir().unwrap();
        let files = generate(SCALE_FACTOR, directory.path(), 2).unwrap();
        let oracle = Oracle::without(&files, 2, &UNUSED_COLUMNS).await.unwrap();
        let arrays = TpchArrays::generate(SCALE_FACTOR, &Interrupt::default()).unwrap();
        for kernel in &KERNELS {
            let query = &QUERIES[kernel.query as usize - 1];
            let theirs = oracle.query(&query.sql(SCALE_FACTOR)).await.unwrap();
            for threads in [1, 3] {
                let run = (kernel.run)(&arrays, threads);
                query.check(&run.answer, &theirs, "the oracle").unwrap();
                assert!(run.rows > 0 && run.bytes > run.rows, "{}", query.name);
            }
        }
    }
}
