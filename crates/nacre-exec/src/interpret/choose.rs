//! Choice between two vectors, row by row.

use crate::error::{ExecError, ExecResult};
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// Takes rows of `then` where a bit is set, else of `otherwise`.
///
/// # Errors
/// [`ExecError::Internal`] if they are of different types.
pub(super) fn choose(
    bits: &BitVector,
    then: &ColumnVector,
    otherwise: &ColumnVector,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    use VectorValues as V;
    let rows = bits.len();
    macro_rules! blend {
        ($then:expr, $otherwise:expr, $out:expr) => {{
            $out.clear();
            $out.extend(
                (0..rows).map(|row| if bits.get(row) { $then[row] } else { $otherwise[row] }),
            );
        }};
    }
    match (&then.values, &otherwise.values, &mut out.values) {
        (V::Int16(then), V::Int16(other), V::Int16(out)) => blend!(then, other, out),
        (V::Int32(then), V::Int32(other), V::Int32(out)) => blend!(then, other, out),
        (V::Int64(then), V::Int64(other), V::Int64(out)) => blend!(then, other, out),
        (V::Int128(then), V::Int128(other), V::Int128(out)) => blend!(then, other, out),
        (V::Float32(then), V::Float32(other), V::Float32(out)) => blend!(then, other, out),
        (V::Float64(then), V::Float64(other), V::Float64(out)) => blend!(then, other, out),
        (V::Bool(then), V::Bool(other), V::Bool(out)) => *out = blend_bits(bits, then, other),
        (V::Bytes(then), V::Bytes(other), V::Bytes(out)) => {
            out.clear();
            for row in 0..rows {
                let from = if bits.get(row) { then } else { other };
                from.with(row, |value| out.push(value));
            }
        }
        _ => return Err(ExecError::internal("a choice between values of different types")),
    }
    out.validity = None;
    if then.validity.is_some() || otherwise.validity.is_some() {
        let all = BitVector::filled(rows, true);
        let then = then.validity.as_ref().unwrap_or(&all);
        let otherwise = otherwise.validity.as_ref().unwrap_or(&all);
        out.validity = Some(blend_bits(bits, then, otherwise));
    }
    Ok(())
}

fn blend_bits(bits: &BitVector, then: &BitVector, otherwise: &BitVector) -> BitVector {
    let words = bits.words().iter().zip(then.words()).zip(otherwise.words());
    let words = words.map(|((bits, then), otherwise)| bits & then | !bits & otherwise);
    BitVector::from_words(words.collect(), bits.len())
}
