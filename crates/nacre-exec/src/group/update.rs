//! Adds the values of a batch to the states of their groups, one aggregate after the other.

use nacre_simd::Flavour;

use super::collected::{add_moment, collect_rows};
use super::layout::{GroupAggregate, GroupPlan, StateKind};
use super::state::{add_exact, add_sum, take_bytes, take_exact, take_float, take_int};
use super::table::GroupTable;
use crate::error::{ExecError, ExecResult};
use crate::interpret::{GroupSums, count_ones, sum_masked};
use crate::value::decode_exact;
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// Groups that are added up by masks at once.
const MASKS_MAX: usize = 8;

/// Calls `each` for the rows whose bit is set, ascending; for all if there are no bits.
#[inline]
pub(super) fn for_each_row(rows: usize, bits: Option<&BitVector>, mut each: impl FnMut(usize)) {
    let Some(bits) = bits else { return (0..rows).for_each(each) };
    for (index, word) in bits.words().iter().enumerate() {
        let mut rest = *word;
        while rest != 0 {
            each(index * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// A mask for each group, and how many rows it has.
#[derive(Debug, Default)]
pub(super) struct GroupMasks {
    pub(super) words: Vec<Vec<u64>>,
    counts: Vec<u64>,
}

impl GroupMasks {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.counts.clear();
    }

    pub(super) fn push(&mut self, flavour: Flavour, words: Vec<u64>) {
        self.counts.push(count_ones(flavour, &words));
        self.words.push(words);
    }

    /// Returns the masks without rows whose bit in `kept` is clear.
    pub(super) fn narrowed(&self, flavour: Flavour, kept: &BitVector) -> Self {
        let mut narrowed = Self::default();
        for words in &self.words {
            let words = words.iter().zip(kept.words()).map(|(word, kept)| word & kept).collect();
            narrowed.push(flavour, words);
        }
        narrowed
    }
}

/// Adds counts and sums of whole numbers by a mask for each group; false if the aggregate is of
/// another kind or its sums are not proved to fit.
pub(super) fn by_masks(
    plan: &GroupPlan,
    flavour: Flavour,
    aggregate: &GroupAggregate,
    column: Option<&ColumnVector>,
    masks: &GroupMasks,
    table: &mut GroupTable,
) -> bool {
    let kind = aggregate.kind;
    let mut state = |group: usize, sum: i64| {
        let start = group * plan.row_words + aggregate.word;
        let state = &mut table.rows[start..start + kind.words()];
        match kind {
            StateKind::Count => state[0] += masks.counts[group],
            _ => add_sum(kind, state, sum.into(), masks.counts[group]),
        }
    };
    let is_sum = matches!(kind, StateKind::SumNarrow | StateKind::SumWide);
    if kind == StateKind::Count {
        (0..masks.words.len()).for_each(|group| state(group, 0));
        return true;
    }
    if !(is_sum && aggregate.is_vector_sum_proven) {
        return false;
    }
    for (chunk, masks) in masks.words.chunks(MASKS_MAX).enumerate() {
        let words: Vec<&[u64]> = masks.iter().map(Vec::as_slice).collect();
        let narrow = aggregate.is_vector_sum_narrow;
        let sums: GroupSums = match column.map(|column| &column.values) {
            Some(VectorValues::Int16(values)) => sum_masked(flavour, values, &words, narrow),
            Some(VectorValues::Int32(values)) => sum_masked(flavour, values, &words, narrow),
            Some(VectorValues::Int64(values)) => sum_masked(flavour, values, &words, narrow),
            _ => return false,
        };
        (0..masks.len()).for_each(|at| state(chunk * MASKS_MAX + at, sums[at]));
    }
    true
}

/// Adds the values of active rows, whose groups `group` tells.
///
/// # Errors
/// 22003 of a sum of numerics of any scale that has too many digits.
pub(super) fn by_rows(
    plan: &GroupPlan,
    aggregate: &GroupAggregate,
    column: Option<&ColumnVector>,
    (rows, active): (usize, Option<&BitVector>),
    group: impl Fn(usize) -> usize,
    table: &mut GroupTable,
) -> ExecResult<()> {
    let GroupTable { rows: words, heap, .. } = table;
    let kind = aggregate.kind;
    let state = |row: usize| {
        let start = group(row) * plan.row_words + aggregate.word;
        start..start + kind.words()
    };
    macro_rules! each_value {
        ($values:expr, $value:ident, $state:ident => $work:expr) => {
            for_each_row(rows, active, |row| {
                let $value = $values[row];
                let $state = &mut words[state(row)];
                $work;
            })
        };
    }
    let Some(column) = column.filter(|_| kind != StateKind::Count) else {
        for_each_row(rows, active, |row| words[state(row).start] += 1);
        return Ok(());
    };
    match (kind, &column.values) {
        (StateKind::SumNarrow | StateKind::SumWide, values) => {
            sum_by_rows(kind, values, rows, active, words, state);
        }
        (StateKind::SumFloat, VectorValues::Float32(values)) => {
            each_value!(values, value, state => add_float(state, value.into()));
        }
        (StateKind::SumFloat, VectorValues::Float64(values)) => {
            each_value!(values, value, state => add_float(state, value));
        }
        (StateKind::ExtremeFloat { is_max }, VectorValues::Float32(values)) => {
            each_value!(values, value, state => take_float(is_max, state, value.into()));
        }
        (StateKind::ExtremeFloat { is_max }, VectorValues::Float64(values)) => {
            each_value!(values, value, state => take_float(is_max, state, value));
        }
        (StateKind::ExtremeInt { is_max }, VectorValues::Bool(values)) => {
            for_each_row(rows, active, |row| {
                take_int(is_max, &mut words[state(row)], values.get(row).into());
            });
        }
        (StateKind::ExtremeInt { is_max }, values) => for_each_row(rows, active, |row| {
            take_int(is_max, &mut words[state(row)], values.int(row).unwrap_or(0));
        }),
        (StateKind::ExtremeBytes { is_max }, _) => {
            let reader = column.dictionary_reader();
            for_each_row(rows, active, |row| {
                let state = &mut words[state(row)];
                column.with_bytes(row, reader.as_ref(), |value| {
                    take_bytes(is_max, state, heap, value);
                });
            });
        }
        _ => return bytes_by_rows(kind, column, (rows, active), (words, heap), state),
    }
    Ok(())
}

/// Adds byte strings of active rows, such as numerics of any scale, to states, which `state` tells.
fn bytes_by_rows(
    kind: StateKind,
    column: &ColumnVector,
    (rows, active): (usize, Option<&BitVector>),
    (words, heap): (&mut [u64], &mut Vec<u8>),
    state: impl Fn(usize) -> std::ops::Range<usize>,
) -> ExecResult<()> {
    let reader = column.dictionary_reader();
    let mut outcome = Ok(());
    for_each_row(rows, active, |row| {
        if outcome.is_ok() {
            let state = &mut words[state(row)];
            outcome = column.with_bytes(row, reader.as_ref(), |value| match kind {
                StateKind::ExtremeExact { is_max } => take_exact(is_max, state, heap, value),
                StateKind::Collected => collect_rows(state, heap, value),
                StateKind::Moments(kind) => add_moment(kind, state, value),
                StateKind::SumExact => {
                    let value = decode_exact(value).map_err(ExecError::of_value)?;
                    add_exact(state, heap, &value, 1)
                }
                _ => Err(ExecError::internal("an aggregate over other values")),
            });
        }
    });
    outcome
}

/// Adds whole numbers of active rows to the words of sums, which `state` tells.
#[inline]
fn sum_by_rows(
    kind: StateKind,
    values: &VectorValues,
    rows: usize,
    active: Option<&BitVector>,
    words: &mut [u64],
    state: impl Fn(usize) -> std::ops::Range<usize>,
) {
    let mut add = |row: usize, value: i128| add_sum(kind, &mut words[state(row)], value, 1);
    match values {
        VectorValues::Int16(values) => {
            for_each_row(rows, active, |row| add(row, values[row].into()));
        }
        VectorValues::Int32(values) => {
            for_each_row(rows, active, |row| add(row, values[row].into()));
        }
        VectorValues::Int64(values) => {
            for_each_row(rows, active, |row| add(row, values[row].into()));
        }
        values => for_each_row(rows, active, |row| add(row, values.int(row).unwrap_or(0))),
    }
}

#[inline]
fn add_float(state: &mut [u64], value: f64) {
    state[0] = (f64::from_bits(state[0]) + value).to_bits();
    state[1] += 1;
}
