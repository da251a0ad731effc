//! Goes through a morsel and fills batches.
//!
//! 1. Predicates, and joins and a top-k above, leave some rows of a vector ([`super::left_rows`]).
//! 2. Rows that are few are gathered behind those of vectors before, until [`GATHERED_ROWS_MIN`]
//!    are together: the steps above cost the same for 100 rows as for 1,000.
//! 3. Rows that are many make a batch of their own, with a selection.

use std::ops::Range;
use std::sync::Arc;

use super::decode::WantedRows;
use super::fetch::place_of;
use super::frozen::FrozenMorsel;
use super::hot::HotMorsel;
use super::late::LateFilter;
use super::left_rows::{ChunkFilter, LeftRows, SelectRoom};
use super::morsel::ScanMorsel;
use super::prepare::PreparedScan;
use crate::error::ExecResult;
use crate::value::VectorType;
use crate::vector::{DENSE_PERCENT_MIN, VectorBatch, VectorValues};

/// Rows that are gathered before they are handed on, unless the morsel ends, vectors have fewer, or
/// a top-k above has not seen enough rows yet to know which ones come too late.
pub(super) const GATHERED_ROWS_MIN: usize = 2_048;

/// A vector with strings is gathered if less of it is left: a string costs more than the step from
/// row to row.
const GATHERED_STRINGS_PERCENT: usize = 75;

/// A morsel that is being read.
#[derive(Debug)]
pub(crate) struct MorselScanner {
    source: MorselSource,
    /// The chunk among those of the scan.
    chunk: usize,
    /// Rows of the chunk that the morsel ends at.
    end: usize,
    /// Filters that this chunk needs, the sharpest first.
    filters: Vec<ChunkFilter>,
    /// Those of joins above that are worth asking.
    late: Vec<Arc<LateFilter>>,
    /// The part of a vector, in hundredths, below which the rows that are left are gathered.
    gathered_percent: usize,
    /// Rows of the present vector that are left but were not handed on yet.
    pending: Option<LeftRows>,
    room: SelectRoom,
}

#[derive(Debug)]
enum MorselSource {
    Frozen(FrozenMorsel),
    Hot(HotMorsel),
}

impl MorselScanner {
    pub(crate) fn new(scan: &PreparedScan, morsel: &ScanMorsel) -> Self {
        let column_count = scan.snapshot.table().schema().columns.len();
        let is_wanted = scan.is_wanted(morsel.chunk);
        let start = if is_wanted { morsel.rows.start } else { morsel.rows.end };
        let mut late = scan.late();
        let sma = |column| scan.sma(morsel.chunk, column);
        let filters = ChunkFilter::all(scan, &late, sma);
        let place = scan.places[morsel.chunk];
        let source = match scan.frozen.get(morsel.chunk) {
            Some(chunk) => {
                MorselSource::Frozen(FrozenMorsel::new(chunk, place, column_count, start))
            }
            None => {
                let chunk = &scan.hot[morsel.chunk - scan.frozen.len()];
                MorselSource::Hot(HotMorsel::new(chunk, place, start, scan.vector_rows))
            }
        };
        let has_strings = scan.handed_on().any(|(_, one)| one.vector_type == VectorType::Bytes);
        late.retain(|filter| filter.keys.is_selective());
        Self {
            source,
            chunk: morsel.chunk,
            end: morsel.rows.end,
            filters,
            late,
            gathered_percent: if has_strings {
                GATHERED_STRINGS_PERCENT
            } else {
                DENSE_PERCENT_MIN
            },
            pending: None,
            room: SelectRoom::default(),
        }
    }

    /// Fills the first columns of `batch` with the next rows that are left; false at the end.
    ///
    /// # Errors
    /// That of a block without a good replica.
    pub(crate) fn next(
        &mut self,
        scan: &PreparedScan,
        batch: &mut VectorBatch,
    ) -> ExecResult<bool> {
        let Self { source, chunk, end, filters, late, pending, room, .. } = self;
        let (chunk, gathered_percent, vector_rows) =
            (*chunk, self.gathered_percent, scan.vector_rows.get());
        begin_batch(scan, batch);
        scan.reserve_dictionaries()?;
        let morsel = match source {
            MorselSource::Frozen(morsel) => morsel,
            MorselSource::Hot(morsel) => {
                return morsel.next(scan, (chunk, *end), filters, late, batch);
            }
        };
        loop {
            let left = match pending.take() {
                Some(left) => left,
                None => {
                    let start = morsel.vector.end;
                    morsel.vector = start..(*end).min(start + vector_rows);
                    if morsel.vector.is_empty() || scan.is_late(chunk) {
                        morsel.vector = *end..*end;
                        return Ok(batch.rows > 0);
                    }
                    scan.counters.note_rows_read(morsel.vector.len());
                    let Some(left) = room.select(morsel, scan, filters, late)? else { continue };
                    left
                }
            };
            let rows = morsel.vector.len();
            let left = room.few_below(gathered_percent, left, rows);
            let is_full = match &left {
                LeftRows::Few(left) => batch.rows + left.len() > vector_rows,
                LeftRows::All | LeftRows::Many(_) => batch.rows > 0,
            };
            if is_full {
                *pending = Some(left);
                return Ok(true);
            }
            let selection = match left {
                LeftRows::Few(left) => {
                    append(morsel, scan, chunk, &WantedRows::At(&left), batch)?;
                    batch.rows += left.len();
                    room.give_back(left);
                    let is_little = batch.rows < GATHERED_ROWS_MIN.min(vector_rows);
                    if is_little && !scan.waits_for_bound() {
                        continue;
                    }
                    return Ok(true);
                }
                LeftRows::Many(left) => Some(left),
                LeftRows::All => None,
            };
            append(morsel, scan, chunk, &WantedRows::All, batch)?;
            (batch.rows, batch.selection) = (rows, selection);
            return Ok(true);
        }
    }
}

/// Empties a batch for rows of a scan.
fn begin_batch(scan: &PreparedScan, batch: &mut VectorBatch) {
    for (column, made) in batch.columns.iter_mut().zip(&scan.columns) {
        column.clear();
        column.dictionary.clone_from(&made.dictionary);
    }
    let places = scan.deferred.as_ref().map(|deferred| deferred.places);
    scan.row_ids.into_iter().chain(places).for_each(|slot| batch.columns[slot].clear());
    (batch.rows, batch.selection) = (0, None);
}

fn append(
    morsel: &mut FrozenMorsel,
    scan: &PreparedScan,
    chunk: usize,
    wanted: &WantedRows<'_>,
    batch: &mut VectorBatch,
) -> ExecResult<()> {
    for (output, _) in scan.handed_on() {
        morsel.append(scan, output, wanted, &mut batch.columns[output])?;
    }
    if let Some(slot) = scan.row_ids {
        let first = morsel.first_row_id()?;
        let ids = &mut batch.columns[slot].values;
        append_rows_as(ids, &morsel.vector, wanted, |row| first | row as i64);
    }
    if let Some(deferred) = &scan.deferred {
        let places = &mut batch.columns[deferred.places].values;
        append_rows_as(places, &morsel.vector, wanted, |row| place_of(chunk, row));
    }
    Ok(())
}

/// Appends what stands for each wanted row of a vector, whole numbers of 64 bits.
fn append_rows_as(
    values: &mut VectorValues,
    vector: &Range<usize>,
    wanted: &WantedRows<'_>,
    number: impl Fn(usize) -> i64,
) {
    let VectorValues::Int64(values) = values else { return };
    match wanted {
        WantedRows::All => values.extend(vector.clone().map(number)),
        WantedRows::At(positions) => {
            values.extend(positions.iter().map(|at| number(vector.start + usize::from(*at))));
        }
    }
}
