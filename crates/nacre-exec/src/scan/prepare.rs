//! What a scan knows before it reads: the chunks that may match, and how wide its columns are.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use nacre_column::{Bound, Format, Restriction, Sma, Strings, may_match};
use nacre_simd::Flavour;
use nacre_store::{AccessHint, Chunk, HotChunkRef, HotColumnRange, TableSnapshot};

use super::fetch::{DeferredColumns, place_of};
use super::filter::ScanFilter;
use super::late::{KeySet, LateFilter};
use super::morsel::{ScanMorsel, deal_morsels};
use super::predicate::{ColumnPredicate, ScanPredicate, fold_ranges};
use super::reads::BlockReads;
use super::sample::{RowSampler, ScanSample};
use super::top::{TopBound, TopCondition, TopFilter};
use crate::counters::ScanCounters;
use crate::error::ExecResult;
use crate::memory::MemoryReservation;
use crate::pipeline::{SlotId, SlotInfo};
use crate::value::{IntBounds, IntWidth, ValueClass, VectorType};
use crate::vector::{QueryDictionary, VectorRows};

/// A dictionary with more entries is read as strings: giving each of them a query-wide code costs
/// more than the views of a chunk's rows do.
const CODE_ENTRIES_MAX: usize = 4_096;

/// How an output column is read.
#[derive(Clone, Debug)]
pub(crate) struct ScanColumn {
    /// Index in the table.
    pub(crate) column: usize,
    pub(crate) vector_type: VectorType,
    /// Of whole numbers.
    pub(crate) bounds: Option<IntBounds>,
    pub(crate) is_nullable: bool,
    /// Of codes.
    pub(crate) dictionary: Option<Arc<QueryDictionary>>,
}

impl ScanColumn {
    /// Returns type, bounds, nullability and dictionary of the column.
    pub(crate) fn info(&self) -> SlotInfo {
        SlotInfo {
            vector_type: self.vector_type,
            bounds: self.bounds,
            is_nullable: self.is_nullable,
            dictionary: self.dictionary.clone(),
        }
    }
}

/// A scan of one snapshot, shared by all workers.
#[derive(Debug)]
pub(crate) struct PreparedScan {
    pub(super) snapshot: TableSnapshot,
    pub(super) frozen: Vec<Chunk>,
    pub(super) hot: Vec<HotChunkRef>,
    /// Places of the chunks among all of the table, frozen ones first.
    pub(super) places: Vec<usize>,
    /// What chooses rows by their places, for TABLESAMPLE.
    pub(super) sampler: Option<RowSampler>,
    pub(super) filters: Vec<ScanFilter>,
    /// Those of joins above, registered while the plan is cut.
    late: RwLock<Vec<Arc<LateFilter>>>,
    /// That of a top-k above, registered as these are.
    top: OnceLock<TopFilter>,
    /// Columns that a top-k above has fetched at its end.
    pub(super) deferred: Option<DeferredColumns>,
    /// Where the ids of rows go, if these are wanted.
    pub(super) row_ids: Option<SlotId>,
    /// By frozen chunk whether somebody above needs no rows of it, noted while the plan is cut.
    answered: OnceLock<Vec<bool>>,
    pub(crate) columns: Vec<ScanColumn>,
    pub(super) reads: Arc<BlockReads>,
    pub(super) flavour: Flavour,
    pub(super) vector_rows: VectorRows,
    pub(crate) counters: Arc<ScanCounters>,
    /// Memory of the columns' dictionaries.
    reservation: Mutex<MemoryReservation>,
}

impl PreparedScan {
    /// Prepares a scan of `columns` of the rows that satisfy all `predicates`.
    ///
    /// # Errors
    /// That of a load of which no part tells what its chunks are.
    pub(crate) fn new(
        snapshot: &TableSnapshot,
        columns: &[usize],
        predicates: &[ColumnPredicate],
        reads: &Arc<BlockReads>,
        flavour: Flavour,
        reservation: MemoryReservation,
        counters: Arc<ScanCounters>,
    ) -> ExecResult<Self> {
        let predicates = fold_ranges(predicates);
        let all = snapshot.chunks()?;
        let chunk_count = all.len() + snapshot.hot_chunks().len();
        let frozen_count = all.len();
        let frozen = all.into_iter().enumerate();
        let frozen = frozen.filter(|(_, chunk)| may_pass(&predicates, |c| *chunk.sma(c)));
        let (mut places, frozen): (Vec<usize>, Vec<Chunk>) = frozen.unzip();
        let hot = (frozen_count..).zip(snapshot.hot_chunks());
        let hot = hot
            .filter(|(_, chunk)| chunk.rows() > 0 && may_pass(&predicates, |c| hot_sma(chunk, c)));
        let (hot_places, hot): (Vec<usize>, Vec<HotChunkRef>) =
            hot.map(|(place, chunk)| (place, chunk.clone())).unzip();
        places.extend(hot_places);
        counters.note_chunks(chunk_count, frozen.len() + hot.len());

        let columns = columns
            .iter()
            .map(|&column| {
                let class = ValueClass::of(snapshot.table().column_type(column));
                scan_column(column, class, &frozen, &hot)
            })
            .collect();
        let filters = predicates.into_iter().map(ScanFilter::new).collect();
        let (snapshot, reads) = (snapshot.clone(), Arc::clone(reads));
        Ok(Self {
            snapshot,
            frozen,
            hot,
            places,
            sampler: None,
            filters,
            late: RwLock::default(),
            top: OnceLock::new(),
            deferred: None,
            row_ids: None,
            answered: OnceLock::new(),
            columns,
            reads,
            flavour,
            vector_rows: VectorRows::default(),
            counters,
            reservation: Mutex::new(reservation),
        })
    }

    /// Has the scan read so many rows at once.
    pub(crate) fn with_vector_rows(self, vector_rows: VectorRows) -> Self {
        Self { vector_rows, ..self }
    }

    /// Has the scan hand on the ids of rows behind its columns, if they are wanted.
    pub(crate) fn with_row_ids(self, is_wanted: bool) -> Self {
        Self { row_ids: is_wanted.then_some(self.columns.len()), ..self }
    }

    /// Has the scan read a part of the rows.
    ///
    /// # Errors
    /// Those of what says which.
    pub(crate) fn sampled(self, sample: Option<&ScanSample>) -> ExecResult<Self> {
        let sampler = sample.map(ScanSample::sampler).transpose()?;
        Ok(Self { sampler, ..self })
    }

    /// Reserves what the dictionaries of the columns take by now.
    ///
    /// # Errors
    /// [`crate::ExecError::OutOfMemory`].
    pub(super) fn reserve_dictionaries(&self) -> ExecResult<()> {
        let dictionaries = self.columns.iter().filter_map(|column| column.dictionary.as_ref());
        let bytes: usize = dictionaries.map(|dictionary| dictionary.bytes()).sum();
        if bytes == 0 {
            return Ok(());
        }
        let mut reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner);
        // Another worker may have seen more of them.
        let held = reservation.bytes();
        reservation.resize(bytes.max(held))
    }

    /// Has the scan leave out rows whose output column is none of `keys`, if that is worth it.
    pub(crate) fn add_late(&self, output: usize, keys: Arc<dyn KeySet>) {
        let Some(made) = self.columns.get(output) else { return };
        let filter = Arc::new(LateFilter::new(output, made.column, keys));
        self.late.write().unwrap_or_else(PoisonError::into_inner).push(filter);
    }

    /// Has the scan leave out rows that come too late for a top-k, by an output column.
    pub(crate) fn set_top(&self, output: usize, bound: &Arc<TopBound>) {
        // One pipeline reads a scan, and ends in one sink.
        if let Some(made) = self.columns.get(output) {
            self.top.get_or_init(|| TopFilter::new(made.column, Arc::clone(bound)));
        }
    }

    /// Returns the filter of a top-k above, and what it has rows have by now.
    pub(super) fn top(&self) -> Option<(&TopFilter, Arc<TopCondition>)> {
        let filter = self.top.get()?;
        Some((filter, filter.bound.present()?))
    }

    /// Whether a top-k above will say which rows come too late, and has not yet.
    pub(super) fn waits_for_bound(&self) -> bool {
        self.top.get().is_some_and(|top| top.bound.present().is_none())
    }

    /// Has the scan hand on the places of rows, behind its columns and their ids, instead of
    /// `outputs`, if these are any.
    pub(crate) fn deferring(self, outputs: &[usize]) -> Self {
        let places = self.columns.len() + self.row_ids.iter().len();
        let make = || DeferredColumns::new(places, outputs);
        let deferred = (!outputs.is_empty()).then(make);
        Self { deferred, ..self }
    }

    /// Returns the output columns that are handed on.
    pub(super) fn handed_on(&self) -> impl Iterator<Item = (usize, &ScanColumn)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(output, _)| !self.defers(*output))
    }

    fn defers(&self, output: usize) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.contains(output))
    }

    /// Describes the slots of the scan, with those that it leaves empty.
    pub(crate) fn slots(&self) -> Vec<SlotInfo> {
        let ids = self.row_ids.iter().map(|_| row_id_info());
        let places = self.deferred.iter().map(|_| self.place_info());
        self.columns.iter().map(ScanColumn::info).chain(ids).chain(places).collect()
    }

    /// Returns the slot of each output column: that of the places for all that are fetched.
    pub(crate) fn output_slots(&self) -> Vec<SlotId> {
        let places = self.deferred.as_ref().map_or(0, |deferred| deferred.places);
        let slot = |output| if self.defers(output) { places } else { output };
        (0..self.columns.len()).map(slot).chain(self.row_ids).collect()
    }

    /// Returns what is known of the places of rows.
    fn place_info(&self) -> SlotInfo {
        let chunks = self.frozen.len() + self.hot.len();
        long_info(IntBounds::new(0, place_of(chunks, 0).into()))
    }

    /// Returns the filters of joins above.
    pub(super) fn late(&self) -> Vec<Arc<LateFilter>> {
        self.late.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the aggregates of a column of a chunk.
    pub(super) fn sma(&self, chunk: usize, column: usize) -> Sma {
        match self.frozen.get(chunk) {
            Some(frozen) => *frozen.sma(column),
            None => hot_sma(&self.hot[chunk - self.frozen.len()], column),
        }
    }

    /// Offers each frozen chunk all of whose rows the scan would hand on; those for which `answer`
    /// is true are not read.
    pub(crate) fn answer_whole_chunks(&self, mut answer: impl FnMut(&Chunk) -> bool) {
        let is_answered = |chunk: &Chunk| self.is_whole(chunk) && answer(chunk);
        let answered: Vec<bool> = self.frozen.iter().map(is_answered).collect();
        self.counters.note_answered(answered.iter().filter(|is_answered| **is_answered).count());
        // Only one aggregation has the rows of a scan.
        self.answered.get_or_init(|| answered);
    }

    /// Whether the snapshot sees all rows of a frozen chunk, and its aggregates prove that they
    /// satisfy all predicates.
    fn is_whole(&self, chunk: &Chunk) -> bool {
        let is_proven =
            |filter: &ScanFilter| filter.is_proven_by(chunk.sma(filter.predicate.column));
        self.sampler.is_none()
            && self.filters.iter().all(is_proven)
            && self.snapshot.deleted_rows(chunk, 0..chunk.rows()).is_none()
    }

    /// Whether a chunk may have rows that somebody above wants, and that do not come too late.
    pub(super) fn is_wanted(&self, chunk: usize) -> bool {
        let answered = self.answered.get().and_then(|answered| answered.get(chunk));
        if answered.is_some_and(|is_answered| *is_answered) {
            return false;
        }
        let may_pass = |filter: &Arc<LateFilter>| {
            filter.may_pass(&self.sma(chunk, filter.rest.predicate.column))
        };
        self.late().iter().all(may_pass) && !self.is_late(chunk)
    }

    /// Whether all rows of a chunk come too late for a top-k above.
    pub(super) fn is_late(&self, chunk: usize) -> bool {
        self.top().is_some_and(|(top, wanted)| !wanted.may_pass(&self.sma(chunk, top.column)))
    }

    /// Returns the morsels: those first that a top-k above has the first rows of.
    pub(crate) fn morsels(&self, workers: usize) -> Vec<ScanMorsel> {
        let frozen = self.frozen.iter().map(Chunk::rows);
        let rows: Vec<usize> = frozen.chain(self.hot.iter().map(HotChunkRef::rows)).collect();
        let mut morsels = deal_morsels(&rows, workers, self.vector_rows);
        if let Some(top) = self.top.get() {
            let smas: Vec<Sma> = (0..rows.len()).map(|chunk| self.sma(chunk, top.column)).collect();
            morsels
                .sort_by(|left, right| top.compare_chunks(&smas[left.chunk], &smas[right.chunk]));
        }
        morsels
    }

    /// Returns a bound of the rows that the scan can hand on.
    pub(crate) fn rows_max(&self) -> u64 {
        let frozen = self.frozen.iter().map(Chunk::rows);
        frozen.chain(self.hot.iter().map(HotChunkRef::rows)).map(|rows| rows as u64).sum()
    }
}

/// Returns what is known of the ids of rows.
fn row_id_info() -> SlotInfo {
    long_info(IntBounds::I64)
}

fn long_info(bounds: IntBounds) -> SlotInfo {
    SlotInfo {
        vector_type: VectorType::Int(IntWidth::I64),
        bounds: Some(bounds),
        is_nullable: false,
        dictionary: None,
    }
}

/// Whether some row of a chunk with these aggregates may satisfy all predicates.
fn may_pass(predicates: &[ColumnPredicate], sma: impl Fn(usize) -> Sma) -> bool {
    predicates.iter().all(|one| {
        let sma = sma(one.column);
        match &one.predicate {
            ScanPredicate::Restriction(restriction) => may_match(&sma, restriction),
            ScanPredicate::Strings(_) => may_match(&sma, &Restriction::IsNotNull),
        }
    })
}

/// Returns what is known of a column of a hot chunk, in the form of a block's aggregates.
fn hot_sma(chunk: &HotChunkRef, column: usize) -> Sma {
    let has_nulls = chunk.may_have_nulls(column);
    let (bounds, has_value) = match chunk.range(column) {
        HotColumnRange::Empty => (None, false),
        HotColumnRange::Within { min, max } => (Some((min, max)), true),
        HotColumnRange::WithinFloats { .. } | HotColumnRange::Unknown => (None, true),
    };
    let bound = |value| Some(Bound::Int(value));
    Sma {
        rows: u32::from(has_nulls) + u32::from(has_value),
        null_count: u32::from(has_nulls),
        min: bounds.and_then(|(min, _)| bound(min)),
        max: bounds.and_then(|(_, max)| bound(max)),
        ..Sma::empty()
    }
}

fn scan_column(
    column: usize,
    class: ValueClass,
    frozen: &[Chunk],
    hot: &[HotChunkRef],
) -> ScanColumn {
    let is_nullable = frozen.iter().any(|chunk| chunk.sma(column).null_count > 0)
        || hot.iter().any(|chunk| chunk.may_have_nulls(column));
    let mut made = ScanColumn {
        column,
        vector_type: VectorType::Bool,
        bounds: None,
        is_nullable,
        dictionary: None,
    };
    made.vector_type = match class {
        ValueClass::Bool => VectorType::Bool,
        ValueClass::Float32 => VectorType::Float32,
        ValueClass::Float64 => VectorType::Float64,
        ValueClass::Int => {
            let bounds = int_bounds(column, frozen, hot);
            made.bounds = Some(bounds);
            VectorType::Int(bounds.width())
        }
        ValueClass::Bytes if is_coded(column, frozen) => {
            made.dictionary = Some(Arc::default());
            VectorType::Code
        }
        ValueClass::Bytes => VectorType::Bytes,
    };
    made
}

/// Bounds all values of a column of whole numbers.
fn int_bounds(column: usize, frozen: &[Chunk], hot: &[HotChunkRef]) -> IntBounds {
    let frozen = frozen.iter().filter_map(|chunk| {
        let sma = chunk.sma(column);
        match (sma.min, sma.max) {
            (Some(Bound::Int(min)), Some(Bound::Int(max))) => Some(IntBounds::new(min, max)),
            _ => None,
        }
    });
    let hot = hot.iter().filter_map(|chunk| match chunk.range(column) {
        HotColumnRange::Within { min, max } => Some(IntBounds::new(min, max)),
        _ => None,
    });
    frozen.chain(hot).reduce(IntBounds::union).unwrap_or(IntBounds::of(0))
}

/// Whether a string column is read as codes: if the first, middle and last chunk have small
/// dictionaries, others likely do. Chunks that have none are right, too, and slower.
fn is_coded(column: usize, frozen: &[Chunk]) -> bool {
    let (Some(first), Some(last)) = (frozen.first(), frozen.last()) else { return false };
    [first, &frozen[frozen.len() / 2], last].into_iter().all(|chunk| {
        // A lost or damaged block is found out about, and mended, when its rows are read; perhaps
        // nobody wants them.
        let Ok(handle) = chunk.read(column, AccessHint::Sequential) else { return false };
        if handle.format().is_some_and(|format| format != Format::Dictionary) {
            return false;
        }
        let is_small = handle.block().and_then(|block| match block.strings()? {
            Strings::Dictionary(entries) => Ok(entries.len() <= CODE_ENTRIES_MAX),
            _ => Ok(false),
        });
        handle.check().is_ok() && is_small.unwrap_or(false)
    })
}
