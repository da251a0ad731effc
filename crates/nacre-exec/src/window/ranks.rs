//! Functions of a row's place in its partition.

use super::partition::{PartitionView, append_null};
use crate::error::{ExecError, ExecResult};
use crate::plan::{WindowFunction, WindowNumber};
use crate::vector::{ColumnVector, VectorValues};

/// Appends row numbers and ranks.
pub(super) fn evaluate_rank(
    function: &WindowFunction,
    view: &PartitionView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let rows = view.rows();
    view.for_each_row(|row| {
        let peers = view.peers.peers_of(row);
        match (function, &mut out.values) {
            (WindowFunction::PercentRank, VectorValues::Float64(values)) => {
                let others = (rows - 1) as f64;
                values.push(if rows > 1 { f64::from(peers.start) / others } else { 0.0 });
            }
            (WindowFunction::CumeDist, VectorValues::Float64(values)) => {
                values.push(f64::from(peers.end) / rows as f64);
            }
            (WindowFunction::RowNumber, values) => values.push_int(row as i128 + 1),
            (WindowFunction::Rank, values) => values.push_int(i128::from(peers.start) + 1),
            (_, values) => values.push_int(i128::from(view.peers.group_of[row]) + 1),
        }
        Ok(())
    })
}

/// Appends the numbers of buckets of as equal sizes as can be, larger ones first. The first row
/// whose number of buckets is not null decides, as in PostgreSQL.
///
/// # Errors
/// 22014 if that is not positive.
pub(super) fn evaluate_ntile(
    buckets: WindowNumber,
    view: &PartitionView<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let mut open: Option<OpenBucket> = None;
    view.for_each_row(|row| {
        if open.is_none() {
            let count = view.number(buckets, row)?;
            open = count.map(|count| OpenBucket::new(count, view.rows())).transpose()?;
        }
        match &mut open {
            Some(bucket) => out.values.push_int(bucket.next().into()),
            None => append_null(out),
        }
        Ok(())
    })
}

/// The bucket of the present row.
#[derive(Debug)]
pub(super) struct OpenBucket {
    number: i64,
    rows: i64,
    rows_max: i64,
    /// Buckets up to this one have a row more.
    larger: i64,
}

impl OpenBucket {
    /// Begins to divide a partition of so many rows by `count`.
    ///
    /// # Errors
    /// 22014 if that is not positive.
    pub(super) fn new(count: i64, rows: usize) -> ExecResult<Self> {
        if count <= 0 {
            let message = "argument of ntile must be greater than zero".to_owned();
            return Err(ExecError::Function { sqlstate: "22014", message });
        }
        let (each, larger) = (rows as i64 / count, rows as i64 % count);
        let rows_max = if each == 0 { 1 } else { each + i64::from(larger > 0) };
        let larger = if each == 0 { 0 } else { larger };
        Ok(Self { number: 1, rows: 0, rows_max, larger })
    }

    /// Returns the bucket of the next row.
    pub(super) fn next(&mut self) -> i64 {
        self.rows += 1;
        if self.rows > self.rows_max {
            if self.larger > 0 && self.number == self.larger {
                self.larger = 0;
                self.rows_max -= 1;
            }
            self.number += 1;
            self.rows = 1;
        }
        self.number
    }
}
