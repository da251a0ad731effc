//! From the values of a hot chunk, as the store copies them, to vectors.

use nacre_column::{ColumnBuffer, Values};

use super::decode::append_interned;
use crate::error::{ExecError, ExecResult};
use crate::value::IntBounds;
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// Appends all values of `from` to `out`, narrowed to the query's width.
///
/// # Errors
/// [`ExecError::Internal`] if a value lies outside of `bounds`, which a chunk's bounds rule out for
/// what the snapshot sees, or is of another class.
pub(super) fn append_buffer(
    from: &ColumnBuffer,
    bounds: Option<IntBounds>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let before = out.values.len();
    match (from.values(), &mut out.values) {
        (Values::Int64(values), VectorValues::Bool(bits)) => {
            values.iter().for_each(|value| bits.push(*value != 0));
        }
        (Values::Int64(values), out) => {
            let range = value_range(values);
            check_bounds(from, range.map(|(min, max)| (min.into(), max.into())), bounds)?;
            match out {
                VectorValues::Int16(out) => out.extend(values.iter().map(|value| *value as i16)),
                VectorValues::Int32(out) => out.extend(values.iter().map(|value| *value as i32)),
                VectorValues::Int64(out) => out.extend_from_slice(values),
                VectorValues::Int128(out) => {
                    out.extend(values.iter().map(|value| i128::from(*value)));
                }
                _ => return Err(wrong_class(from)),
            }
        }
        (Values::Int128(values), out) => {
            check_bounds(from, value_range(values), bounds)?;
            values.iter().for_each(|value| out.push_int(*value));
        }
        (Values::Float32(values), VectorValues::Float32(out)) => out.extend_from_slice(values),
        (Values::Float64(values), VectorValues::Float64(out)) => out.extend_from_slice(values),
        (Values::Bytes(values), VectorValues::Bytes(out)) => {
            (0..values.len()).for_each(|row| out.push(values.get(row)));
        }
        (Values::Bytes(values), VectorValues::Code(codes)) => {
            append_interned(values, out.dictionary.as_deref(), codes);
        }
        _ => return Err(wrong_class(from)),
    }
    match from.validity() {
        Some(bits) => {
            let validity = out.validity.get_or_insert_with(|| BitVector::filled(before, true));
            validity.resize(before, true);
            validity.extend_from_words(bits.words(), bits.len());
        }
        None => out.fill_validity(),
    }
    Ok(())
}

/// Returns the least and the greatest of some numbers; `None` if there are none.
fn value_range<T: Copy + Ord>(values: &[T]) -> Option<(T, T)> {
    let first = *values.first()?;
    // In the numbers' own width, which is what the loop costs.
    let widen = |(min, max): (T, T), value: &T| (min.min(*value), max.max(*value));
    Some(values.iter().fold((first, first), widen))
}

/// Checks that the range of all values lies within bounds; null rows hold 0.
fn check_bounds(
    from: &ColumnBuffer,
    range: Option<(i128, i128)>,
    bounds: Option<IntBounds>,
) -> ExecResult<()> {
    let Some(bounds) = bounds else { return Err(wrong_class(from)) };
    let Some((min, max)) = range else { return Ok(()) };
    let has_nulls = from.validity().is_some();
    let allowed = if has_nulls { bounds.union(IntBounds::of(0)) } else { bounds };
    if allowed.contains(IntBounds::new(min, max)) {
        return Ok(());
    }
    Err(ExecError::internal(format!("a hot row holds {min} or {max}, outside of {bounds:?}")))
}

fn wrong_class(from: &ColumnBuffer) -> ExecError {
    ExecError::internal(format!("a hot column of type {} has other values", from.column_type()))
}
