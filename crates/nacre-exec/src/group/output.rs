//! From rows of groups to vectors.

use super::collected::{collected_rows, moment_bytes};
use super::keys::append_string;
use super::layout::{GroupAggregate, GroupKey, GroupPlan, StateKind};
use super::state::{OVERFLOW_BIT, exact_sum_bytes, wide};
use super::table::GroupTable;
use crate::error::{ExecError, ExecResult};
use crate::plan::AggregateFunction;
use crate::value::VectorType;
use crate::vector::{ColumnVector, VectorBatch, VectorValues};

/// Fills the first columns of `batch`, which are empty, with groups.
///
/// # Errors
/// [`ExecError::NumericOutOfRange`] for a sum beyond its limit.
pub(super) fn put_groups(
    plan: &GroupPlan,
    table: &GroupTable,
    groups: std::ops::Range<usize>,
    batch: &mut VectorBatch,
) -> ExecResult<()> {
    let mut columns = batch.columns.iter_mut();
    let mut next = || columns.next().ok_or_else(|| ExecError::internal("a group has no column"));
    for key in &plan.keys {
        put_key(plan, key, table, groups.clone(), next()?);
    }
    for aggregate in &plan.aggregates {
        put_states(plan, aggregate, table, groups.clone(), next()?)?;
        if aggregate.function.columns() == 2 {
            let out = next()?;
            let word = aggregate.word + aggregate.kind.words() - 1;
            for group in groups.clone() {
                out.values.push_int(table.row(plan, group)[word].into());
            }
        }
    }
    batch.rows = groups.len();
    Ok(())
}

fn put_key(
    plan: &GroupPlan,
    key: &GroupKey,
    table: &GroupTable,
    groups: std::ops::Range<usize>,
    out: &mut ColumnVector,
) {
    out.dictionary.clone_from(&key.info.dictionary);
    let (null_word, null_bit) = key.null_place;
    let mut text = Vec::new();
    for group in groups {
        let row = table.row(plan, group);
        let word = row[key.word];
        let is_null = row[null_word] >> null_bit & 1 == 1;
        match &mut out.values {
            VectorValues::Bool(bits) => bits.push(word == 1),
            VectorValues::Float32(values) => values.push(f64::from_bits(word) as f32),
            VectorValues::Float64(values) => values.push(f64::from_bits(word)),
            VectorValues::Code(values) => values.push(word as u32),
            VectorValues::Int128(values) => values.push(wide(&row[key.word..])),
            VectorValues::Bytes(values) => {
                let offset = key.offset_word.map_or(0, |word| row[word]);
                text.clear();
                append_string(word, row[key.word + 1], offset, &table.heap, &mut text);
                values.push(&text);
            }
            values => values.push_int((word as i64).into()),
        }
        if is_null {
            out.mark_last_null();
        }
    }
    out.fill_validity();
}

fn put_states(
    plan: &GroupPlan,
    aggregate: &GroupAggregate,
    table: &GroupTable,
    groups: std::ops::Range<usize>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let limit = aggregate.limit;
    let beyond = || ExecError::NumericOutOfRange { type_name: limit.type_name };
    let mut bytes = Vec::new();
    for group in groups {
        let state = &table.row(plan, group)[aggregate.word..];
        let has_value = match aggregate.kind {
            StateKind::Count | StateKind::Distinct(_) => {
                out.values.push_int(state[0].into());
                true
            }
            StateKind::SumNarrow | StateKind::SumWide | StateKind::DistinctSum(_) => {
                let (sum, count) = if aggregate.kind == StateKind::SumNarrow {
                    (i128::from(state[0] as i64), state[1])
                } else {
                    (wide(state), state[2])
                };
                let is_within = (limit.bounds.min()..=limit.bounds.max()).contains(&sum);
                if count & OVERFLOW_BIT != 0 || !is_within {
                    return Err(beyond());
                }
                out.values.push_int(sum);
                count > 0 || aggregate.function == AggregateFunction::CountSum
            }
            StateKind::SumFloat => {
                put_float(out, f64::from_bits(state[0]));
                state[1] > 0
            }
            StateKind::ExtremeInt { .. } => {
                match &mut out.values {
                    VectorValues::Bool(bits) => bits.push(state[0] == 1),
                    values => values.push_int(wide(state)),
                }
                state[2] > 0
            }
            StateKind::ExtremeFloat { .. } => {
                put_float(out, f64::from_bits(state[0]));
                state[1] > 0
            }
            StateKind::ExtremeBytes { .. } | StateKind::ExtremeExact { .. } => {
                let bytes = state[0] as usize..(state[0] + state[1]) as usize;
                put_bytes(out, &table.heap[bytes]);
                state[2] > 0
            }
            StateKind::Collected => {
                put_bytes(out, &table.heap[collected_rows(state)]);
                true
            }
            StateKind::Moments(_) => {
                put_bytes(out, &moment_bytes(state));
                true
            }
            StateKind::SumExact => {
                put_bytes(out, exact_sum_bytes(state, &table.heap, &mut bytes));
                state[3] > 0
            }
        };
        if !has_value {
            out.mark_last_null();
        }
    }
    out.fill_validity();
    Ok(())
}

fn put_bytes(out: &mut ColumnVector, bytes: &[u8]) {
    match &mut out.values {
        VectorValues::Bytes(values) => values.push(bytes),
        values => debug_assert!(values.vector_type() == VectorType::Bytes, "no bytes"),
    }
}

fn put_float(out: &mut ColumnVector, value: f64) {
    match &mut out.values {
        VectorValues::Float32(values) => values.push(value as f32),
        VectorValues::Float64(values) => values.push(value),
        values => debug_assert!(values.vector_type() == VectorType::Float64, "no float"),
    }
}
