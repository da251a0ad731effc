//! Adds the values of a batch to the states of their groups, one aggregate after the other.

use nacre_simd::Flavour;

use super::layout::{GroupAggregate, GroupPlan, StateKind};
use super::state::{add_sum, take_bytes, take_float, take_int};
use super::table::GroupTable;
use crate::error::ExecResult;
use crate::interpret::{Sums, sum_masked};
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

/// Adds counts and sums of whole numbers by a mask for each group; false if the aggregate is of
/// another kind or its sums are not proved to fit.
pub(super) fn by_masks(
    plan: &GroupPlan,
    flavour: Flavour,
    aggregate: &GroupAggregate,
    column: Option<&ColumnVector>,
    masks: &[Vec<u64>],
    table: &mut GroupTable,
) -> bool {
    let is_sum = matches!(aggregate.kind, StateKind::SumNarrow | StateKind::SumWide);
    if aggregate.kind != StateKind::Count && !(is_sum && aggregate.is_vector_sum_proven) {
        return false;
    }
    for (chunk, masks) in masks.chunks(MASKS_MAX).enumerate() {
        let words: Vec<&[u64]> = masks.iter().map(Vec::as_slice).collect();
        let narrow = aggregate.is_vector_sum_narrow;
        let sums: Sums = match column.map(|column| &column.values) {
            _ if !is_sum => Sums::default(),
            Some(VectorValues::Int16(values)) => sum_masked(flavour, values, &words, narrow),
            Some(VectorValues::Int32(values)) => sum_masked(flavour, values, &words, narrow),
            Some(VectorValues::Int64(values)) => sum_masked(flavour, values, &words, narrow),
            _ => return false,
        };
        for (at, (mask, sum)) in masks.iter().zip(sums).enumerate() {
            let count: u64 = mask.iter().map(|word| u64::from(word.count_ones())).sum();
            let start = (chunk * MASKS_MAX + at) * plan.row_words + aggregate.word;
            let state = &mut table.rows[start..start + aggregate.kind.words()];
            if is_sum {
                add_sum(aggregate.kind, state, sum.into(), count);
            } else {
                state[0] += count;
            }
        }
    }
    true
}

/// Adds the values of active rows, whose groups `group` tells.
///
/// # Errors
/// None now; those of functions of others later.
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
        (StateKind::SumNarrow | StateKind::SumWide, VectorValues::Int16(values)) => {
            each_value!(values, value, state => add_sum(kind, state, value.into(), 1));
        }
        (StateKind::SumNarrow | StateKind::SumWide, VectorValues::Int32(values)) => {
            each_value!(values, value, state => add_sum(kind, state, value.into(), 1));
        }
        (StateKind::SumNarrow | StateKind::SumWide, VectorValues::Int64(values)) => {
            each_value!(values, value, state => add_sum(kind, state, value.into(), 1));
        }
        (StateKind::SumNarrow | StateKind::SumWide, VectorValues::Int128(values)) => {
            each_value!(values, value, state => add_sum(kind, state, value, 1));
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
        _ => debug_assert!(false, "an aggregate over other values"),
    }
    Ok(())
}

#[inline]
fn add_float(state: &mut [u64], value: f64) {
    state[0] = (f64::from_bits(state[0]) + value).to_bits();
    state[1] += 1;
}
