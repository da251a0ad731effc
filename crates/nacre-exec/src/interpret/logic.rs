//! Three-valued logic on words of bits.
//!
//! ```text
//! left   true  true  true  null   null  false
//! right  true  null  false null   false false
//! and    true  null  false null   false false
//! or     true  true  true  null   null  false
//! ```

use crate::error::{ExecError, ExecResult};
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// Returns the truth values of a vector.
///
/// # Errors
/// [`ExecError::Internal`] for other values.
pub(super) fn truth(vector: &ColumnVector) -> ExecResult<&BitVector> {
    match &vector.values {
        VectorValues::Bool(bits) => Ok(bits),
        _ => Err(ExecError::internal("a condition that is no truth value")),
    }
}

/// Returns a bit for each row that is true.
///
/// # Errors
/// As [`truth`].
pub(crate) fn true_bits(vector: &ColumnVector) -> ExecResult<BitVector> {
    let mut bits = truth(vector)?.clone();
    if let Some(validity) = &vector.validity {
        bits.and_with(validity);
    }
    Ok(bits)
}

/// Returns a bit for each row that is false.
///
/// # Errors
/// As [`truth`].
pub(super) fn false_bits(vector: &ColumnVector) -> ExecResult<BitVector> {
    let mut bits = not(truth(vector)?);
    if let Some(validity) = &vector.validity {
        bits.and_with(validity);
    }
    Ok(bits)
}

/// Negates all bits.
pub(super) fn not(bits: &BitVector) -> BitVector {
    let mut bits = bits.clone();
    bits.change_words(|words| words.iter_mut().for_each(|word| *word = !*word));
    bits
}

fn or_with(bits: &mut BitVector, other: &BitVector) {
    bits.change_words(|words| {
        words.iter_mut().zip(other.words()).for_each(|(word, other)| *word |= other);
    });
}

/// Computes AND, or OR of all rows.
///
/// # Errors
/// As [`truth`].
pub(super) fn combine(
    left: &ColumnVector,
    right: &ColumnVector,
    is_and: bool,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let (left_true, right_true) = (true_bits(left)?, true_bits(right)?);
    let mut is_true = left_true;
    if is_and {
        is_true.and_with(&right_true);
    } else {
        or_with(&mut is_true, &right_true);
    }
    out.validity = None;
    if left.validity.is_some() || right.validity.is_some() {
        let mut known = false_bits(left)?;
        if is_and {
            or_with(&mut known, &false_bits(right)?);
        } else {
            known.and_with(&false_bits(right)?);
        }
        or_with(&mut known, &is_true);
        out.validity = Some(known);
    }
    out.values = VectorValues::Bool(is_true);
    Ok(())
}
