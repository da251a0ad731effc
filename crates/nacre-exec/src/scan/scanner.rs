//! Goes through a morsel and fills batches.
//!
//! 1. Rows that the snapshot does not see go first, then each predicate takes its share.
//!    Joins above may know of more rows that are not wanted ([`super::late`]); what comes too late
//!    for a top-k goes before all predicates ([`super::top`]).
//! 2. Rows that are few are gathered behind those of vectors before, until [`GATHERED_ROWS_MIN`]
//!    are together: the steps above cost the same for 100 rows as for 1,000.
//! 3. Rows that are many make a batch of their own, with a selection.

use std::sync::Arc;

use nacre_column::{VECTOR_ROWS, kernel};

use super::decode::WantedRows;
use super::fetch::place_of;
use super::filter::ScanFilter;
use super::frozen::FrozenMorsel;
use super::hot::HotMorsel;
use super::late::LateFilter;
use super::morsel::ScanMorsel;
use super::prepare::PreparedScan;
use crate::error::ExecResult;
use crate::value::VectorType;
use crate::vector::{
    BitVector, ColumnVector, DENSE_PERCENT_MIN, SelectionVector, VectorBatch, VectorValues,
};

/// Rows that are gathered before they are handed on, unless the morsel ends, or a top-k above has
/// not seen enough rows yet to know which ones come too late.
const GATHERED_ROWS_MIN: usize = 2_048;

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
    filters: Vec<usize>,
    /// Those of joins above that are worth asking.
    late: Vec<Arc<LateFilter>>,
    /// The part of a vector, in hundredths, below which the rows that are left are gathered.
    gathered_percent: usize,
    /// Keys of the present vector.
    keys: ColumnVector,
    /// Rows of the present vector that are left but were not handed on yet.
    pending: Option<LeftRows>,
    words: Vec<u64>,
    positions: Vec<u16>,
}

#[derive(Debug)]
enum MorselSource {
    Frozen(FrozenMorsel),
    Hot(HotMorsel),
}

#[derive(Debug)]
enum LeftRows {
    All,
    Some(SelectionVector),
}

impl MorselScanner {
    pub(crate) fn new(scan: &PreparedScan, morsel: &ScanMorsel) -> Self {
        let column_count = scan.snapshot.table().schema().columns.len();
        let is_wanted = scan.is_wanted(morsel.chunk);
        let start = if is_wanted { morsel.rows.start } else { morsel.rows.end };
        let mut filters: Vec<usize> = (0..scan.filters.len()).collect();
        let source = match scan.frozen.get(morsel.chunk) {
            Some(chunk) => {
                filters.retain(|index| {
                    let filter = &scan.filters[*index];
                    !filter.is_proven_by(chunk.sma(filter.predicate.column))
                });
                filters.sort_by_key(|index| scan.filters[*index].pass_rate());
                let place = scan.places[morsel.chunk];
                MorselSource::Frozen(FrozenMorsel::new(chunk, place, column_count, start))
            }
            None => {
                let chunk = &scan.hot[morsel.chunk - scan.frozen.len()];
                MorselSource::Hot(HotMorsel::new(chunk, scan.places[morsel.chunk], start))
            }
        };
        let has_strings = scan.handed_on().any(|(_, one)| one.vector_type == VectorType::Bytes);
        let late = scan.late().into_iter().filter(|filter| filter.keys.is_selective()).collect();
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
            keys: ColumnVector::default(),
            pending: None,
            words: Vec::new(),
            positions: Vec::new(),
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
        let Self { source, chunk, end, filters, late, keys, pending, words, positions, .. } = self;
        let (chunk, gathered_percent) = (*chunk, self.gathered_percent);
        begin_batch(scan, batch);
        scan.reserve_dictionaries()?;
        let morsel = match source {
            MorselSource::Frozen(morsel) => morsel,
            MorselSource::Hot(morsel) => return morsel.next(scan, chunk, *end, batch),
        };
        loop {
            let left = match pending.take() {
                Some(left) => left,
                None => {
                    let start = morsel.vector.end;
                    morsel.vector = start..(*end).min(start + VECTOR_ROWS);
                    if morsel.vector.is_empty() || scan.is_late(chunk) {
                        morsel.vector = *end..*end;
                        return Ok(batch.rows > 0);
                    }
                    scan.counters.note_rows_read(morsel.vector.len());
                    let left = left_rows(morsel, scan, filters, words, positions)?;
                    let left = match left {
                        Some(left) => wanted_rows(morsel, scan, late, (keys, positions), left)?,
                        None => None,
                    };
                    match left {
                        Some(left) => left,
                        None => continue,
                    }
                }
            };
            let rows = morsel.vector.len();
            match left {
                LeftRows::Some(left) if left.count() * 100 < rows * gathered_percent => {
                    if batch.rows + left.count() > VECTOR_ROWS {
                        *pending = Some(LeftRows::Some(left));
                        return Ok(true);
                    }
                    left.positions(positions);
                    append(morsel, scan, chunk, &WantedRows::At(positions), batch)?;
                    batch.rows += positions.len();
                    if batch.rows >= GATHERED_ROWS_MIN || scan.waits_for_bound() {
                        return Ok(true);
                    }
                }
                left if batch.rows > 0 => {
                    *pending = Some(left);
                    return Ok(true);
                }
                left => {
                    append(morsel, scan, chunk, &WantedRows::All, batch)?;
                    batch.rows = rows;
                    if let LeftRows::Some(left) = left {
                        batch.selection = Some(left);
                    }
                    return Ok(true);
                }
            }
        }
    }
}

/// Evaluates what decides on the rows of the present vector; `None` if none is left.
fn left_rows(
    morsel: &mut FrozenMorsel,
    scan: &PreparedScan,
    filters: &[usize],
    words: &mut Vec<u64>,
    positions: &mut Vec<u16>,
) -> ExecResult<Option<LeftRows>> {
    let rows = morsel.vector.len();
    let left = morsel.visible(scan);
    let count = left.as_ref().map_or(rows, BitVector::count_ones);
    let mut left = DecidedRows { rows, left, count };
    if let Some((top, wanted)) = scan.top()
        && !top.rest.is_resting()
    {
        morsel.select_wanted(scan, top.column, &wanted, words)?;
        left.keep(&top.rest, words);
    }
    for &filter in filters {
        let filtering = &scan.filters[filter];
        if left.count == 0 {
            return Ok(None);
        }
        if filtering.is_resting() {
            continue;
        }
        match &left.left {
            Some(few) if left.count * 100 < rows * DENSE_PERCENT_MIN => {
                kernel::positions(few.words(), positions);
                morsel.select_few(scan, filter, positions, words)?;
            }
            _ => morsel.select(scan, filter, words)?,
        }
        left.keep(filtering, words);
    }
    Ok(match left {
        DecidedRows { count: 0, .. } => None,
        DecidedRows { left: Some(bits), count, .. } if count < rows => {
            Some(LeftRows::Some(SelectionVector::new(bits)))
        }
        _ => Some(LeftRows::All),
    })
}

/// The rows of a vector that are left by what was decided so far.
struct DecidedRows {
    rows: usize,
    /// `None` if all.
    left: Option<BitVector>,
    count: usize,
}

impl DecidedRows {
    /// Keeps the rows that a filter has chosen, and notes how many of those before these are.
    fn keep(&mut self, filter: &ScanFilter, chosen: &mut Vec<u64>) {
        let mut bits = BitVector::from_words(std::mem::take(chosen), self.rows);
        if let Some(before) = self.left.take() {
            bits.and_with(&before);
            *chosen = before.into_words();
        }
        let passed = bits.count_ones();
        filter.note(self.count, passed);
        (self.left, self.count) = (Some(bits), passed);
    }
}

/// Empties a batch for rows of a scan.
fn begin_batch(scan: &PreparedScan, batch: &mut VectorBatch) {
    for (column, made) in batch.columns.iter_mut().zip(&scan.columns) {
        column.clear();
        column.dictionary.clone_from(&made.dictionary);
    }
    if let Some(deferred) = scan.deferred.get() {
        batch.columns[deferred.places].clear();
    }
    (batch.rows, batch.selection) = (0, None);
}

/// Leaves the rows that joins above may want; `None` if there is none.
fn wanted_rows(
    morsel: &mut FrozenMorsel,
    scan: &PreparedScan,
    late: &[Arc<LateFilter>],
    (keys, positions): (&mut ColumnVector, &mut Vec<u16>),
    mut left: LeftRows,
) -> ExecResult<Option<LeftRows>> {
    let rows = morsel.vector.len();
    for filter in late {
        let before = match &left {
            LeftRows::All => rows,
            LeftRows::Some(left) => left.count(),
        };
        if filter.rest.is_resting() {
            continue;
        }
        let wanted = scan.columns[filter.output].vector_type;
        if keys.values.vector_type() != wanted {
            *keys = ColumnVector::new(wanted);
        }
        keys.clear();
        let bits = match &left {
            // The keys of few rows are fetched one by one.
            LeftRows::Some(left) if before * 100 < rows * DENSE_PERCENT_MIN => {
                left.positions(positions);
                morsel.append(scan, filter.output, &WantedRows::At(positions), keys)?;
                let found = filter.keys.select(keys);
                let mut bits = BitVector::filled(rows, false);
                found.for_each_one(|at| bits.set(usize::from(positions[at]), true));
                bits
            }
            left => {
                morsel.append(scan, filter.output, &WantedRows::All, keys)?;
                let mut bits = filter.keys.select(keys);
                if let LeftRows::Some(left) = left {
                    bits.and_with(left.bits());
                }
                bits
            }
        };
        let selection = SelectionVector::new(bits);
        filter.rest.note(before, selection.count());
        if selection.count() == 0 {
            return Ok(None);
        }
        if selection.count() < before {
            left = LeftRows::Some(selection);
        }
    }
    Ok(Some(left))
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
    if let Some(deferred) = scan.deferred.get()
        && let VectorValues::Int64(places) = &mut batch.columns[deferred.places].values
    {
        let start = morsel.vector.start;
        match wanted {
            WantedRows::All => {
                places.extend(morsel.vector.clone().map(|row| place_of(chunk, row)));
            }
            WantedRows::At(positions) => {
                let rows = positions.iter().map(|at| start + usize::from(*at));
                places.extend(rows.map(|row| place_of(chunk, row)));
            }
        }
    }
    Ok(())
}
