//! Casts: between widths, to other scales, to floats; years of days; codes to strings.

use nacre_simd::Flavour;

use super::loops::map;
use super::step::ActiveRows;
use crate::error::{ExecError, ExecResult};
use crate::expression::year_of;
use crate::value::IntLimit;
use crate::vector::{ColumnVector, VectorValues};

/// Copies whole numbers to `out`, cut down or widened to its width.
///
/// # Errors
/// [`ExecError::Internal`] for other values.
pub(super) fn int_width(
    flavour: Flavour,
    input: &VectorValues,
    out: &mut VectorValues,
) -> ExecResult<()> {
    use VectorValues as V;
    macro_rules! pairs {
        ($($from:ident)*; $to:tt) => {
            match (input, out) {
                $((V::$from(values), out) => pairs!(@to values, out, $to),)*
                _ => return Err(ExecError::internal("a cast of something else than whole numbers")),
            }
        };
        (@to $values:ident, $out:ident, ($($to:ident $type:ty),*)) => {
            match $out {
                $(V::$to(out) => map(flavour, $values, out, |value| value as $type),)*
                _ => return Err(ExecError::internal("a cast to something else than whole numbers")),
            }
        };
    }
    pairs!(Int16 Int32 Int64 Int128; (Int16 i16, Int32 i32, Int64 i64, Int128 i128));
    Ok(())
}

/// Fails if a value of an active row lies outside of the limit.
///
/// # Errors
/// [`ExecError::NumericOutOfRange`].
pub(super) fn check_limit(
    input: &ColumnVector,
    limit: IntLimit,
    active: &ActiveRows<'_>,
) -> ExecResult<()> {
    let is_beyond = |row: &usize| {
        let value = input.values.int(*row).unwrap_or(0);
        value < limit.bounds.min() || limit.bounds.max() < value
    };
    let counts = |row: usize| active.contains(row) && !input.is_null(row);
    if (0..active.rows).filter(is_beyond).any(counts) {
        return Err(ExecError::NumericOutOfRange { type_name: limit.type_name });
    }
    Ok(())
}

/// Divides by `divisor`, which is above 0, rounding half away from zero.
#[inline]
fn round_div(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, value % divisor);
    if rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2) {
        quotient + value.signum()
    } else {
        quotient
    }
}

/// Divides all values, then checks those of active rows.
///
/// # Errors
/// [`ExecError::NumericOutOfRange`].
pub(super) fn round_div_all(
    input: &ColumnVector,
    divisor: i128,
    limit: Option<IntLimit>,
    active: &ActiveRows<'_>,
    out: &mut VectorValues,
) -> ExecResult<()> {
    out.clear();
    for row in 0..active.rows {
        let value = round_div(input.values.int(row).unwrap_or(0), divisor);
        if let Some(limit) = limit
            && (value < limit.bounds.min() || limit.bounds.max() < value)
            && active.contains(row)
            && !input.is_null(row)
        {
            return Err(ExecError::NumericOutOfRange { type_name: limit.type_name });
        }
        out.push_int(value);
    }
    Ok(())
}

/// Converts whole numbers to floats and divides by `divisor`.
///
/// # Errors
/// [`ExecError::Internal`] for other values.
pub(super) fn int_to_float(
    flavour: Flavour,
    input: &VectorValues,
    divisor: f64,
    out: &mut VectorValues,
) -> ExecResult<()> {
    use VectorValues as V;
    macro_rules! convert {
        ($values:expr) => {
            match out {
                V::Float64(out) if divisor == 1.0 => {
                    map(flavour, $values, out, |value| value as f64)
                }
                V::Float64(out) => map(flavour, $values, out, move |value| value as f64 / divisor),
                // Without rounding twice where the whole number has more bits than a double.
                V::Float32(out) if divisor == 1.0 => {
                    map(flavour, $values, out, |value| value as f32)
                }
                V::Float32(out) => {
                    map(flavour, $values, out, move |value| (value as f64 / divisor) as f32);
                }
                _ => return Err(ExecError::internal("a cast to something else than floats")),
            }
        };
    }
    match input {
        V::Int16(values) => convert!(values),
        V::Int32(values) => convert!(values),
        V::Int64(values) => convert!(values),
        V::Int128(values) => convert!(values),
        _ => return Err(ExecError::internal("a cast of something else than whole numbers")),
    }
    Ok(())
}

/// Widens floats, or narrows them, where a finite one that becomes infinite is an error.
///
/// # Errors
/// [`ExecError::NumericOutOfRange`].
pub(super) fn float_width(
    flavour: Flavour,
    input: &ColumnVector,
    active: &ActiveRows<'_>,
    out: &mut VectorValues,
) -> ExecResult<()> {
    use VectorValues as V;
    match (&input.values, out) {
        (V::Float32(values), V::Float64(out)) => map(flavour, values, out, f64::from),
        (V::Float64(values), V::Float32(out)) => {
            map(flavour, values, out, |value| value as f32);
            let is_beyond = |row: &usize| out[*row].is_infinite() && values[*row].is_finite();
            let counts = |row: usize| active.contains(row) && !input.is_null(row);
            if (0..active.rows).filter(is_beyond).any(counts) {
                return Err(ExecError::NumericOutOfRange { type_name: "real" });
            }
        }
        _ => return Err(ExecError::internal("a cast of floats to other values")),
    }
    Ok(())
}

/// Writes the years of days; what is no day of 32 bits, which no active row holds, gets any year.
///
/// # Errors
/// [`ExecError::Internal`] for other values.
pub(super) fn years(
    flavour: Flavour,
    input: &VectorValues,
    out: &mut VectorValues,
) -> ExecResult<()> {
    use VectorValues as V;
    macro_rules! convert {
        ($values:expr) => {
            match out {
                V::Int16(out) => map(flavour, $values, out, |day| year_of(day as i32) as i16),
                V::Int32(out) => map(flavour, $values, out, |day| year_of(day as i32)),
                _ => return Err(ExecError::internal("years of more than 32 bits")),
            }
        };
    }
    match input {
        V::Int16(days) => convert!(days),
        V::Int32(days) => convert!(days),
        V::Int64(days) => convert!(days),
        _ => return Err(ExecError::internal("years of something else than days")),
    }
    Ok(())
}

/// Looks the strings of codes up.
///
/// # Errors
/// [`ExecError::Internal`] for other values.
pub(super) fn codes_to_bytes(input: &ColumnVector, out: &mut VectorValues) -> ExecResult<()> {
    let (VectorValues::Code(_), VectorValues::Bytes(out)) = (&input.values, out) else {
        return Err(ExecError::internal("a look-up of something else than codes"));
    };
    out.clear();
    let reader = input.dictionary_reader();
    for row in 0..input.values.len() {
        input.with_bytes(row, reader.as_ref(), |value| out.push(value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_away_from_zero() {
        for (value, rounded) in [(15, 2), (14, 1), (-15, -2), (-14, -1), (5, 1), (-5, -1), (4, 0)] {
            assert_eq!(round_div(value, 10), rounded, "{value}");
        }
        assert_eq!(round_div(i128::MAX, 10), i128::MAX / 10 + 1);
    }
}
