//! Columns of single rows, read when it is known which rows are wanted.
//!
//! A scan below a top-k that keeps few rows hands on the places of rows instead of columns that
//! nothing below the top-k reads; joins and groups between carry the places. What is kept is
//! fetched here, from the same snapshot and by the reader of the scan's own vectors, so that a
//! damaged block is read from another replica as there.
//!
//! # Layout
//! A place: the chunk among those of the scan, then 16 bits with the row in it.

use nacre_column::VECTOR_ROWS;

use super::convert::append_buffer;
use super::decode::WantedRows;
use super::frozen::FrozenMorsel;
use super::prepare::PreparedScan;
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::pipeline::SlotId;
use crate::vector::{ColumnVector, VectorValues, require_string_room};

/// Bits of the row in a place.
const ROW_BITS: u32 = 16;

/// What a scan does not hand on.
#[derive(Debug)]
pub(super) struct DeferredColumns {
    /// By output.
    is_deferred: Vec<bool>,
    /// Where the places of rows go.
    pub(super) places: SlotId,
}

impl DeferredColumns {
    /// Has the places of rows go to a slot behind those of all columns, instead of `outputs`.
    pub(super) fn new(places: SlotId, outputs: &[usize]) -> Self {
        let is_deferred = (0..places).map(|output| outputs.contains(&output)).collect();
        Self { is_deferred, places }
    }

    pub(super) fn contains(&self, output: usize) -> bool {
        self.is_deferred[output]
    }
}

/// Returns the place of a row.
pub(super) fn place_of(chunk: usize, row: usize) -> i64 {
    (chunk as i64) << ROW_BITS | row as i64
}

/// Fetches `outputs` of the rows at `places`; the columns have the rows in the order of these. A
/// place that is null is that of a row of nulls.
///
/// ```text
/// places 7, 65_538, 3, 7, null     chunk 0: rows 3 and 7 of its first vector; chunk 1: row 2
/// ```
///
/// # Errors
/// That of a block without a good replica; those of `control`; 54000 for strings beyond 4 GiB.
pub(crate) fn fetch_rows(
    scan: &PreparedScan,
    outputs: &[usize],
    places: &ColumnVector,
    control: &QueryControl,
) -> ExecResult<Vec<ColumnVector>> {
    let VectorValues::Int64(values) = &places.values else {
        return Err(ExecError::internal("rows to fetch without their places"));
    };
    let own = |row: usize| Some(values[row]).filter(|_| !places.is_null(row));
    let mut sorted: Vec<i64> = (0..values.len()).filter_map(own).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut columns: Vec<ColumnVector> = outputs.iter().map(|one| empty(scan, *one)).collect();
    for rows in sorted.chunk_by(|left, right| left >> ROW_BITS == right >> ROW_BITS) {
        control.check()?;
        let chunk = (rows[0] >> ROW_BITS) as usize;
        let rows: Vec<usize> = rows.iter().map(|place| (place & 0xffff) as usize).collect();
        if chunk < scan.frozen.len() {
            fetch_frozen(scan, chunk, &rows, outputs, &mut columns)?;
        } else {
            fetch_hot(scan, chunk, &rows, outputs, &mut columns)?;
        }
        for column in &columns {
            if let VectorValues::Bytes(strings) = &column.values {
                require_string_room(strings.heap().len(), 0)?;
            }
        }
    }
    scan.reserve_dictionaries()?;
    if (0..values.len()).any(|row| places.is_null(row)) {
        for column in &mut columns {
            column.values.push_default();
            column.mark_last_null();
        }
    }
    // That row of nulls is the last one.
    let nulls = sorted.len();
    let rank = |place: i64| sorted.binary_search(&place).unwrap_or(nulls);
    let rank_at = |row: usize| own(row).map_or(nulls, rank) as u16;
    let ranks: Vec<u16> = (0..values.len()).map(rank_at).collect();
    Ok(columns.iter().map(|column| column.gathered(&ranks)).collect())
}

fn empty(scan: &PreparedScan, output: usize) -> ColumnVector {
    let made = &scan.columns[output];
    let mut column = ColumnVector::new(made.vector_type);
    column.dictionary.clone_from(&made.dictionary);
    column
}

/// Appends ascending rows of a frozen chunk, vector by vector.
fn fetch_frozen(
    scan: &PreparedScan,
    chunk: usize,
    rows: &[usize],
    outputs: &[usize],
    columns: &mut [ColumnVector],
) -> ExecResult<()> {
    let (frozen, place) = (&scan.frozen[chunk], scan.places[chunk]);
    let column_count = scan.snapshot.table().schema().columns.len();
    let mut morsel = FrozenMorsel::new(frozen, place, column_count, 0);
    for some in rows.chunk_by(|left, right| left / VECTOR_ROWS == right / VECTOR_ROWS) {
        let start = some[0] / VECTOR_ROWS * VECTOR_ROWS;
        morsel.vector = start..frozen.rows().min(start + VECTOR_ROWS);
        let positions: Vec<u16> = some.iter().map(|row| (row - start) as u16).collect();
        for (output, column) in outputs.iter().zip(&mut *columns) {
            morsel.append(scan, *output, &WantedRows::At(&positions), column)?;
        }
    }
    Ok(())
}

/// Appends rows of a hot chunk, as the snapshot sees them.
fn fetch_hot(
    scan: &PreparedScan,
    chunk: usize,
    rows: &[usize],
    outputs: &[usize],
    columns: &mut [ColumnVector],
) -> ExecResult<()> {
    let hot = &scan.hot[chunk - scan.frozen.len()];
    let stored: Vec<usize> = outputs.iter().map(|output| scan.columns[*output].column).collect();
    for row in rows {
        let (buffers, found) = hot.read(*row..row + 1, &stored);
        if found.len() != 1 {
            return Err(ExecError::internal("a row that the snapshot saw is not there"));
        }
        for ((output, buffer), column) in outputs.iter().zip(&buffers).zip(&mut *columns) {
            append_buffer(buffer, scan.columns[*output].bounds, column)?;
        }
    }
    Ok(())
}
