//! Aggregates: what folds the rows of a group into a value.
//!
//! 1. [`aggregate_kernel`] finds what folds the calls of an aggregate.
//! 2. The caller starts a state for a group and adds the arguments of each row: those of an ordered
//!    set in its order, direct ones left out.
//! 3. The state tells its value whenever it is asked, also of no rows.
//!
//! # Invariants
//! 1. A kernel gives PostgreSQL's value or SQLSTATE, or it is not here. Sums of floats are added in
//!    the order of the rows.
//! # See
//! `nacre-exec/tests/aggregates.rs` compares every kernel with a PostgreSQL 15 server.

mod collections;
mod extremes;
mod json;
mod moments;
mod ordered_sets;
mod sums;
mod truth;

use std::fmt;
use std::sync::Arc;

use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue, ValueError, ValueSettings};

use crate::catalog::{AggregateKind, FunctionEntry, FunctionKind};
use crate::kernels::KernelContext;

pub use moments::{NumericMoments, PairMoments, pair_result, single_result};

/// PostgreSQL's 1 GiB less one.
const VALUE_BYTES_MAX: usize = 0x3fff_ffff;

/// What a call of an aggregate knows beside its rows.
#[derive(Clone, Debug)]
pub struct AggregateContext {
    /// The types of the arguments of rows.
    pub argument_types: Vec<SqlType>,
    pub result_type: SqlType,
    /// The direct arguments of an ordered set.
    pub direct: Vec<SqlValue>,
    pub settings: Arc<ValueSettings>,
}

/// The rows of a group under way.
pub trait AggregateState: Send {
    /// Says how many rows are added, before the first is. Ordered sets ask for it: they keep no
    /// more rows than their values are computed of.
    fn expect(&mut self, _rows: u64) {}

    /// Adds the arguments of a row.
    ///
    /// # Errors
    /// PostgreSQL's.
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError>;

    /// Returns the value of the rows so far.
    ///
    /// # Errors
    /// PostgreSQL's.
    fn value(&self) -> Result<SqlValue, ValueError>;

    /// As [`Self::value`], of a state that is not used again and may give away what it has.
    ///
    /// # Errors
    /// PostgreSQL's.
    fn last_value(&mut self) -> Result<SqlValue, ValueError> {
        self.value()
    }
}

/// Begins a group.
pub type StateStart = fn(&Arc<AggregateContext>) -> Box<dyn AggregateState>;

/// What folds the calls of an aggregate.
#[derive(Clone, Copy)]
pub struct AggregateKernel {
    pub start: StateStart,
    /// Whether rows with null arguments are added, too.
    pub takes_nulls: bool,
    /// Whether the value depends on the order of the rows.
    pub is_ordered: bool,
    /// Whether the state grows with the rows.
    pub keeps_rows: bool,
}

impl fmt::Debug for AggregateKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AggregateKernel").field("takes_nulls", &self.takes_nulls).finish()
    }
}

impl AggregateKernel {
    /// Makes a kernel of values that are not null, in any order.
    const fn of_values(start: StateStart) -> Self {
        Self { start, takes_nulls: false, is_ordered: false, keeps_rows: false }
    }

    /// Makes a kernel of all rows, in their order.
    const fn of_rows(start: StateStart) -> Self {
        Self { start, takes_nulls: true, is_ordered: true, keeps_rows: true }
    }
}

impl AggregateContext {
    /// Returns what comparisons of arguments know.
    fn kernel_context(&self) -> KernelContext<'_> {
        KernelContext {
            argument_types: &self.argument_types,
            result_type: self.result_type,
            settings: &self.settings,
        }
    }

    fn argument_type(&self, index: usize) -> Result<SqlType, ValueError> {
        let found = self.argument_types.get(index).copied();
        found.ok_or_else(|| ValueError::internal("an aggregate of fewer arguments"))
    }
}

/// Returns what folds the calls of an aggregate; `None` of one that is not here.
///
/// ```text
/// string_agg(text, text)   ('a', ','), ('b', ';')   a;b
/// ```
pub fn aggregate_kernel(function: &FunctionEntry) -> Option<AggregateKernel> {
    let argument = function.arguments.first().copied();
    match function.kind {
        FunctionKind::Aggregate(AggregateKind::Normal) => {}
        FunctionKind::Aggregate(AggregateKind::OrderedSet { .. }) => {
            return ordered_sets::kernel(function.name, *function.arguments.last()?);
        }
        _ => return None,
    }
    let is_comparable = argument != Some(TypeOid::JSON);
    match function.name {
        "min" if is_comparable => Some(extremes::MIN),
        "max" if is_comparable => Some(extremes::MAX),
        "array_agg" if argument == Some(collections::ANY_ARRAY) => Some(collections::ARRAYS),
        "array_agg" => Some(collections::ELEMENTS),
        "string_agg" => Some(collections::STRINGS),
        "json_agg" => Some(json::ELEMENTS),
        "json_object_agg" => Some(json::MEMBERS),
        _ => sums::kernel(function.name, argument)
            .or_else(|| moments::kernel(function.name, argument?))
            .or_else(|| truth::kernel(function.name)),
    }
}

/// Returns an argument of a row.
fn argument(row: &[SqlValue], index: usize) -> Result<&SqlValue, ValueError> {
    row.get(index).ok_or_else(|| ValueError::internal("a row of fewer arguments"))
}

/// Checks how long a value is.
///
/// # Errors
/// 54000 beyond what a value may have.
pub fn require_bytes(length: usize) -> Result<(), ValueError> {
    if length > VALUE_BYTES_MAX {
        return Err(ValueError::limit_exceeded("requested length too large"));
    }
    Ok(())
}

#[cold]
fn mismatch() -> ValueError {
    ValueError::internal("an argument of an aggregate has another type")
}
