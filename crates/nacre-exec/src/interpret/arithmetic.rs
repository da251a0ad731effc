//! Sums, differences and products; quotients and remainders.
//!
//! Without a limit, bounds have proved that nothing overflows: whole vectors, wrapping, in the
//! width of the result. With one, the active rows are computed one by one in 128 bits.

use nacre_simd::Flavour;

use super::loops::{map, zip};
use super::step::ActiveRows;
use crate::error::{ExecError, ExecResult};
use crate::expression::ArithmeticOp;
use crate::value::IntLimit;
use crate::vector::{ColumnVector, VectorValues};

/// A side of arithmetic, looked up.
#[derive(Clone, Copy)]
pub(super) enum IntSide<'v> {
    Vector(&'v ColumnVector),
    Constant(i128),
}

impl IntSide<'_> {
    #[inline]
    fn int(self, row: usize) -> i128 {
        match self {
            Self::Vector(vector) => vector.values.int(row).unwrap_or(0),
            Self::Constant(value) => value,
        }
    }

    fn is_null(self, row: usize) -> bool {
        match self {
            Self::Vector(vector) => vector.is_null(row),
            Self::Constant(_) => false,
        }
    }
}

/// Computes `left op right`, both of `out`'s width, where nothing overflows.
///
/// # Errors
/// [`ExecError::Internal`] if the widths differ.
pub(super) fn proven(
    flavour: Flavour,
    op: ArithmeticOp,
    left: IntSide<'_>,
    right: IntSide<'_>,
    out: &mut VectorValues,
) -> ExecResult<()> {
    use VectorValues as V;
    macro_rules! widths {
        ($($variant:ident $type:ty),*) => {
            match (left, right, out) {
                $(
                    (IntSide::Vector(l), IntSide::Vector(r), V::$variant(out)) => {
                        let (V::$variant(l), V::$variant(r)) = (&l.values, &r.values) else {
                            return Err(wrong_width());
                        };
                        match op {
                            ArithmeticOp::Add => zip(flavour, l, r, out, |a: $type, b: $type| a.wrapping_add(b)),
                            ArithmeticOp::Subtract => zip(flavour, l, r, out, |a: $type, b: $type| a.wrapping_sub(b)),
                            _ => zip(flavour, l, r, out, |a: $type, b: $type| a.wrapping_mul(b)),
                        }
                    }
                    (IntSide::Vector(l), IntSide::Constant(c), V::$variant(out)) => {
                        let V::$variant(l) = &l.values else { return Err(wrong_width()) };
                        let c = c as $type;
                        match op {
                            ArithmeticOp::Add => map(flavour, l, out, move |a: $type| a.wrapping_add(c)),
                            ArithmeticOp::Subtract => map(flavour, l, out, move |a: $type| a.wrapping_sub(c)),
                            _ => map(flavour, l, out, move |a: $type| a.wrapping_mul(c)),
                        }
                    }
                    (IntSide::Constant(c), IntSide::Vector(r), V::$variant(out)) => {
                        let V::$variant(r) = &r.values else { return Err(wrong_width()) };
                        let c = c as $type;
                        match op {
                            ArithmeticOp::Add => map(flavour, r, out, move |b: $type| c.wrapping_add(b)),
                            ArithmeticOp::Subtract => map(flavour, r, out, move |b: $type| c.wrapping_sub(b)),
                            _ => map(flavour, r, out, move |b: $type| c.wrapping_mul(b)),
                        }
                    }
                )*
                _ => return Err(wrong_width()),
            }
        };
    }
    widths!(Int16 i16, Int32 i32, Int64 i64, Int128 i128);
    Ok(())
}

fn wrong_width() -> ExecError {
    ExecError::internal("arithmetic on whole numbers of different widths")
}

/// Computes `left op right` for the active rows that are not null, and checks each result.
///
/// # Errors
/// [`ExecError::NumericOutOfRange`], [`ExecError::DivisionByZero`].
pub(super) fn checked(
    op: ArithmeticOp,
    left: IntSide<'_>,
    right: IntSide<'_>,
    limit: IntLimit,
    active: &ActiveRows<'_>,
    out: &mut VectorValues,
) -> ExecResult<()> {
    out.clear();
    let beyond = || ExecError::NumericOutOfRange { type_name: limit.type_name };
    for row in 0..active.rows {
        if !active.contains(row) || left.is_null(row) || right.is_null(row) {
            out.push_int(0);
            continue;
        }
        let (left, right) = (left.int(row), right.int(row));
        let exact = match op {
            ArithmeticOp::Add => left.checked_add(right),
            ArithmeticOp::Subtract => left.checked_sub(right),
            ArithmeticOp::Multiply => left.checked_mul(right),
            _ if right == 0 => return Err(ExecError::DivisionByZero),
            ArithmeticOp::Divide => left.checked_div(right),
            // The least number has no remainder that overflows but by -1, and that is 0.
            ArithmeticOp::Remainder => Some(left.wrapping_rem(right)),
        };
        let is_within = |value: &i128| (limit.bounds.min()..=limit.bounds.max()).contains(value);
        out.push_int(exact.filter(is_within).ok_or_else(beyond)?);
    }
    Ok(())
}

/// Computes `left op right` on floats; a result that is infinite though no input is, is an error.
///
/// # Errors
/// [`ExecError::NumericOutOfRange`], [`ExecError::DivisionByZero`].
pub(super) fn floats(
    flavour: Flavour,
    op: ArithmeticOp,
    left: &ColumnVector,
    right: &ColumnVector,
    active: &ActiveRows<'_>,
    out: &mut VectorValues,
) -> ExecResult<()> {
    use VectorValues as V;
    macro_rules! compute {
        ($left:expr, $right:expr, $out:expr, $type:ty, $name:literal) => {{
            match op {
                ArithmeticOp::Add => zip(flavour, $left, $right, $out, |a: $type, b: $type| a + b),
                ArithmeticOp::Subtract => {
                    zip(flavour, $left, $right, $out, |a: $type, b: $type| a - b)
                }
                ArithmeticOp::Multiply => {
                    zip(flavour, $left, $right, $out, |a: $type, b: $type| a * b)
                }
                _ => zip(flavour, $left, $right, $out, |a: $type, b: $type| a / b),
            }
            let is_suspect = |at: usize| {
                !$out[at].is_finite() || op == ArithmeticOp::Divide && $right[at] == 0.0
            };
            if (0..$out.len()).any(is_suspect) {
                for row in (0..$out.len()).filter(|row| is_suspect(*row)) {
                    if !active.contains(row) || left.is_null(row) || right.is_null(row) {
                        continue;
                    }
                    // NaN divided by zero is NaN, as in PostgreSQL.
                    if op == ArithmeticOp::Divide && $right[row] == 0.0 && !$left[row].is_nan() {
                        return Err(ExecError::DivisionByZero);
                    }
                    if $out[row].is_infinite()
                        && !$left[row].is_infinite()
                        && !$right[row].is_infinite()
                    {
                        return Err(ExecError::NumericOutOfRange { type_name: $name });
                    }
                }
            }
        }};
    }
    match (&left.values, &right.values, out) {
        (V::Float32(l), V::Float32(r), V::Float32(out)) => compute!(l, r, out, f32, "real"),
        (V::Float64(l), V::Float64(r), V::Float64(out)) => {
            compute!(l, r, out, f64, "double precision")
        }
        _ => return Err(ExecError::internal("float arithmetic on other values")),
    }
    Ok(())
}
