//! How much memory an operator may hold before it spills.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::file::SpillWriter;
use super::space::SpillSpace;
use crate::control::QueryControl;
use crate::counters::SpillReport;
use crate::error::ExecResult;
use crate::memory::{MemoryBudget, MemoryReservation};
use crate::pipeline::StageContext;

/// Largest piece that is written or read at once: a disk is at its full speed with these.
const PIECE_BYTES_MAX: usize = 256 << 10;

/// Least piece, for tiny budgets.
const PIECE_BYTES_MIN: usize = 4 << 10;

/// Pieces that a query's memory has at least, if they need not be the least ones.
const PIECES: usize = 64;

/// Most runs or blocks that are merged at once.
const WIDTH_MAX: usize = 256;

/// What the operators of a query that may spill share.
#[derive(Debug)]
pub(crate) struct QuerySpill {
    space: Arc<SpillSpace>,
    /// Operators of the query that may spill and have not ended.
    operators: AtomicUsize,
}

/// Figures of an operator.
#[derive(Debug, Default)]
pub(super) struct SpillCounters {
    bytes: AtomicU64,
    files: AtomicU64,
}

/// The way of one operator to temporary files.
#[derive(Debug)]
pub(crate) struct OperatorSpill {
    query: Arc<QuerySpill>,
    budget: Arc<MemoryBudget>,
    control: Arc<QueryControl>,
    workers: usize,
    counters: Arc<SpillCounters>,
}

impl QuerySpill {
    pub(crate) fn new(space: &Arc<SpillSpace>) -> Arc<Self> {
        Arc::new(Self { space: Arc::clone(space), operators: AtomicUsize::new(0) })
    }

    /// Returns the same for another run of the query.
    pub(crate) fn renewed(&self) -> Arc<Self> {
        Self::new(&self.space)
    }
}

impl SpillCounters {
    pub(super) fn note_file(&self) {
        // ORDERING: figures; nothing depends on their order.
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_bytes(&self, bytes: usize) {
        // ORDERING: as above.
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for OperatorSpill {
    fn drop(&mut self) {
        // ORDERING: as in `new`. A recursion makes its operators again for each step.
        self.query.operators.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OperatorSpill {
    /// Lets an operator of a query spill; `None` if the query has no temporary files.
    pub(crate) fn new(context: &StageContext) -> Option<Arc<Self>> {
        let query = context.spill.as_ref()?;
        // ORDERING: shares may be of a count that is not the newest.
        query.operators.fetch_add(1, Ordering::Relaxed);
        Some(Arc::new(Self {
            query: Arc::clone(query),
            budget: Arc::clone(&context.budget),
            control: Arc::clone(&context.control),
            workers: context.workers,
            counters: Arc::default(),
        }))
    }

    /// Makes the reservation of one worker `bytes` large; false, and as it was, if the operator
    /// has to spill.
    pub(crate) fn hold(&self, reservation: &mut MemoryReservation, bytes: usize) -> bool {
        let more = bytes.saturating_sub(reservation.bytes()) as u64;
        let is_tight = self.budget.bytes_used() + more > self.budget.bytes_max() / 2;
        if more > 0 && is_tight && bytes > self.worker_bytes() {
            return false;
        }
        reservation.resize(bytes).is_ok()
    }

    /// As [`OperatorSpill::hold`], of a reservation that all workers share.
    pub(crate) fn hold_shared(&self, reservation: &mut MemoryReservation, bytes: usize) -> bool {
        let is_tight = self.budget.bytes_used() + bytes as u64 > self.budget.bytes_max() / 2;
        if is_tight && bytes > self.worker_bytes() * self.workers {
            return false;
        }
        reservation.resize(bytes).is_ok()
    }

    /// Returns how many workers share the operator.
    pub(crate) fn workers(&self) -> usize {
        self.workers.max(1)
    }

    /// Returns the bytes that one worker may hold however little is left.
    pub(crate) fn worker_bytes(&self) -> usize {
        // ORDERING: as in `new`.
        let operators = self.query.operators.load(Ordering::Relaxed).max(1);
        self.budget.bytes_max() as usize / (2 * operators * self.workers)
    }

    /// Returns the bytes that are written and read at once.
    pub(crate) fn piece_bytes(&self) -> usize {
        (self.budget.bytes_max() as usize / PIECES).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
    }

    /// Returns how many runs are merged at once: each takes up to two pieces of memory, together a
    /// quarter of the query's.
    pub(crate) fn merge_width(&self) -> usize {
        (self.budget.bytes_max() as usize / 8 / self.piece_bytes()).clamp(2, WIDTH_MAX)
    }

    /// Reserves what one worker collects while it splits what is in a file; less if there is less,
    /// as blocks may be small. Returns the bytes.
    ///
    /// # Errors
    /// [`crate::ExecError::OutOfMemory`] if there is not even the least.
    pub(crate) fn hold_split(&self, reservation: &mut MemoryReservation) -> ExecResult<usize> {
        let piece = self.piece_bytes();
        let share = self.worker_bytes();
        let mut bytes = (share / 4).clamp(2 * piece, 64 * piece).min(share).max(PIECE_BYTES_MIN);
        while let Err(error) = reservation.resize(bytes) {
            bytes /= 2;
            if bytes < PIECE_BYTES_MIN {
                return Err(error);
            }
        }
        Ok(bytes)
    }

    /// Makes a file.
    ///
    /// # Errors
    /// [`crate::ExecError::DiskFull`], [`crate::ExecError::SpillFailed`].
    pub(crate) fn create(&self) -> ExecResult<SpillWriter> {
        let file = self.query.space.create(&self.counters)?;
        Ok(SpillWriter::new(file, self.piece_bytes()))
    }

    /// Fails if the query is to end; asked once a piece.
    ///
    /// # Errors
    /// As [`QueryControl::check`].
    pub(crate) fn check(&self) -> ExecResult<()> {
        self.control.check()
    }

    pub(crate) fn control(&self) -> &QueryControl {
        &self.control
    }

    /// Makes an empty reservation.
    pub(crate) fn reservation(&self, operator: &'static str) -> MemoryReservation {
        self.budget.reservation(operator)
    }

    /// Returns what was written so far.
    pub(crate) fn report(&self) -> SpillReport {
        // ORDERING: figures.
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SpillReport { bytes: get(&self.counters.bytes), files: get(&self.counters.files) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn context(workers: usize) -> StageContext {
        let space = SpillSpace::open(Path::new("/not/there"), "a setting", 100);
        StageContext {
            filters_keys: true,
            vector_rows: Default::default(),
            workers,
            flavour: nacre_simd::Flavour::active(),
            budget: MemoryBudget::new("memory", 1 << 20),
            reads: Arc::default(),
            control: Arc::default(),
            spill: Some(QuerySpill::new(&space)),
            is_sliced: false,
            measured: None,
        }
    }

    #[test]
    fn operators_that_end_give_their_share_to_others() {
        let context = context(2);
        let first = OperatorSpill::new(&context).unwrap();
        let second = OperatorSpill::new(&context).unwrap();
        assert_eq!(first.worker_bytes(), 1 << 17);
        drop(second);
        // As in the steps of a recursion.
        (0..100).for_each(|_| drop(OperatorSpill::new(&context)));
        assert_eq!(first.worker_bytes(), 1 << 18);
    }

    #[test]
    fn splits_take_their_share_or_what_is_left() {
        let hold = |spill: &OperatorSpill| {
            let mut held = spill.reservation("join");
            spill.hold_split(&mut held).map(|bytes| {
                assert_eq!(bytes, held.bytes());
                held
            })
        };
        let many = OperatorSpill::new(&context(64)).unwrap();
        let held: Vec<_> = (0..64).map(|_| hold(&many).unwrap()).collect();
        assert!(held.iter().all(|one| one.bytes() == 1 << 13));
        let few = OperatorSpill::new(&context(2)).unwrap();
        let mut others = few.reservation("scan");
        others.resize((1 << 20) - (44 << 10)).unwrap();
        let held: Vec<_> = (0..3).map(|_| hold(&few)).collect();
        let bytes: Vec<_> = held.iter().flatten().map(MemoryReservation::bytes).collect();
        assert_eq!(bytes, [32 << 10, 8 << 10, 4 << 10]);
        assert!(hold(&few).is_err());
    }
}
