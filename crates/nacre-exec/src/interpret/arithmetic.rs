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

/// Whole numbers whose arithmetic wraps.
trait WrappingNumber: Copy + Default {
    fn cut(value: i128) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn values(values: &VectorValues) -> Option<&[Self]>;
}

macro_rules! wrapping_number {
    ($($variant:ident $type:ty),*) => {
        $(impl WrappingNumber for $type {
            #[inline(always)]
            fn cut(value: i128) -> Self {
                value as Self
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn values(values: &VectorValues) -> Option<&[Self]> {
                match values {
                    VectorValues::$variant(values) => Some(values),
                    _ => None,
                }
            }
        })*
    };
}

wrapping_number!(Int16 i16, Int32 i32, Int64 i64, Int128 i128);

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
    match out {
        VectorValues::Int16(out) => wrapping(flavour, op, left, right, out),
        VectorValues::Int32(out) => wrapping(flavour, op, left, right, out),
        VectorValues::Int64(out) => wrapping(flavour, op, left, right, out),
        VectorValues::Int128(out) => wrapping(flavour, op, left, right, out),
        _ => Err(wrong_width()),
    }
}

fn wrapping<T: WrappingNumber>(
    flavour: Flavour,
    op: ArithmeticOp,
    left: IntSide<'_>,
    right: IntSide<'_>,
    out: &mut Vec<T>,
) -> ExecResult<()> {
    use ArithmeticOp::{Add, Subtract};
    match (left, right) {
        (IntSide::Vector(left), IntSide::Vector(right)) => {
            let (left, right) = (T::values(&left.values), T::values(&right.values));
            let (left, right) = left.zip(right).ok_or_else(wrong_width)?;
            match op {
                Add => zip(flavour, left, right, out, T::plus),
                Subtract => zip(flavour, left, right, out, T::minus),
                _ => zip(flavour, left, right, out, T::times),
            }
        }
        (IntSide::Vector(left), IntSide::Constant(right)) => {
            let left = T::values(&left.values).ok_or_else(wrong_width)?;
            let right = T::cut(right);
            match op {
                Add => map(flavour, left, out, move |left| left.plus(right)),
                Subtract => map(flavour, left, out, move |left| left.minus(right)),
                _ => map(flavour, left, out, move |left| left.times(right)),
            }
        }
        (IntSide::Constant(left), IntSide::Vector(right)) => {
            let right = T::values(&right.values).ok_or_else(wrong_width)?;
            let left = T::cut(left);
            match op {
                Add => map(flavour, right, out, move |right| left.plus(right)),
                Subtract => map(flavour, right, out, move |right| left.minus(right)),
                _ => map(flavour, right, out, move |right| left.times(right)),
            }
        }
        (IntSide::Constant(_), IntSide::Constant(_)) => return Err(wrong_width()),
    }
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
        ($left:expr, $right:expr, $out:expr, $name:literal) => {{
            let (l, r, out) = ($left, $right, $out);
            match op {
                ArithmeticOp::Add => zip(flavour, l, r, out, |l, r| l + r),
                ArithmeticOp::Subtract => zip(flavour, l, r, out, |l, r| l - r),
                ArithmeticOp::Multiply => zip(flavour, l, r, out, |l, r| l * r),
                _ => zip(flavour, l, r, out, |l, r| l / r),
            }
            let is_by_zero = |row: usize| op == ArithmeticOp::Divide && r[row] == 0.0;
            let is_suspect = |row: &usize| !out[*row].is_finite() || is_by_zero(*row);
            let counts =
                |row: &usize| active.contains(*row) && !left.is_null(*row) && !right.is_null(*row);
            for row in (0..out.len()).filter(is_suspect).filter(counts) {
                // NaN divided by zero is NaN, as in PostgreSQL.
                if is_by_zero(row) && !l[row].is_nan() {
                    return Err(ExecError::DivisionByZero);
                }
                if out[row].is_infinite() && !l[row].is_infinite() && !r[row].is_infinite() {
                    return Err(ExecError::NumericOutOfRange { type_name: $name });
                }
            }
        }};
    }
    match (&left.values, &right.values, out) {
        (V::Float32(l), V::Float32(r), V::Float32(out)) => compute!(l, r, out, "real"),
        (V::Float64(l), V::Float64(r), V::Float64(out)) => {
            compute!(l, r, out, "double precision");
        }
        _ => return Err(ExecError::internal("float arithmetic on other values")),
    }
    Ok(())
}
