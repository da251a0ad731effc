//! Sums, differences and products of whole numbers, which are refused where they do not fit, and
//! the bits of two. [`crate::operators`] puts these in the place of the operators.
//!
//! A batch is computed without a branch: results wrap around, and what tells whether one did is
//! gathered beside them. Only a batch with such a result is looked at again, since it may belong to
//! a row that is null.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Int16Type, Int32Type, Int64Type};
use datafusion::logical_expr::Volatility;

use super::scalar::{Body, Definition};
use crate::error::{Error, ErrorKind, Result};
use crate::types::type_name;

/// Makes what adds.
pub(super) fn sum() -> Definition {
    let body: Body = |args, _, _| {
        by_width(args, i16::overflowing_add, i32::overflowing_add, i64::overflowing_add)
    };
    definition("nacre_sum", body)
}

/// Makes what subtracts.
pub(super) fn difference() -> Definition {
    let body: Body = |args, _, _| {
        by_width(args, i16::overflowing_sub, i32::overflowing_sub, i64::overflowing_sub)
    };
    definition("nacre_difference", body)
}

/// Makes what multiplies.
pub(super) fn product() -> Definition {
    let body: Body = |args, _, _| {
        by_width(args, i16::overflowing_mul, i32::overflowing_mul, i64::overflowing_mul)
    };
    definition("nacre_product", body)
}

/// Makes what takes the bits that both have.
pub(super) fn bit_and() -> Definition {
    let body: Body = |args, _, _| {
        by_width(args, |a, b| (a & b, false), |a, b| (a & b, false), |a, b| (a & b, false))
    };
    definition("nacre_bit_and", body)
}

/// Makes what takes the bits that one of them has.
pub(super) fn bit_or() -> Definition {
    let body: Body = |args, _, _| {
        by_width(args, |a, b| (a | b, false), |a, b| (a | b, false), |a, b| (a | b, false))
    };
    definition("nacre_bit_or", body)
}

/// Makes what takes the bits that only one of them has.
pub(super) fn bit_xor() -> Definition {
    let body: Body = |args, _, _| {
        by_width(args, |a, b| (a ^ b, false), |a, b| (a ^ b, false), |a, b| (a ^ b, false))
    };
    definition("nacre_bit_xor", body)
}

/// Whether values of a type are whole numbers that these take.
pub(crate) fn is_whole(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int16 | DataType::Int32 | DataType::Int64)
}

fn definition(name: &'static str, body: Body) -> Definition {
    Definition {
        name,
        takes: |types| match types {
            [one, other] if is_whole(one) && is_whole(other) => {
                let is_wider = one.primitive_width() < other.primitive_width();
                let wider = if is_wider { other } else { one };
                Some(vec![wider.clone(); 2])
            }
            _ => None,
        },
        returns: |types, _| types.first().cloned().unwrap_or(DataType::Int64),
        volatility: Volatility::Immutable,
        body,
    }
}

fn by_width(
    args: &[ArrayRef],
    small: impl Fn(i16, i16) -> (i16, bool),
    middle: impl Fn(i32, i32) -> (i32, bool),
    large: impl Fn(i64, i64) -> (i64, bool),
) -> Result<ArrayRef> {
    match args[0].data_type() {
        DataType::Int16 => computed::<Int16Type>(args, small),
        DataType::Int32 => computed::<Int32Type>(args, middle),
        _ => computed::<Int64Type>(args, large),
    }
}

/// Computes a batch; `op` also says whether its result wrapped around.
fn computed<T: ArrowPrimitiveType>(
    args: &[ArrayRef],
    op: impl Fn(T::Native, T::Native) -> (T::Native, bool),
) -> Result<ArrayRef> {
    let (left, right) = (args[0].as_primitive::<T>(), args[1].as_primitive::<T>());
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let pairs = || left.values().iter().zip(right.values());
    let mut has_wrapped = false;
    let values: Vec<T::Native> = pairs()
        .map(|(one, other)| {
            let (value, is_beyond) = op(*one, *other);
            has_wrapped |= is_beyond;
            value
        })
        .collect();
    if has_wrapped {
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        if pairs().enumerate().any(|(row, (one, other))| !is_null(row) && op(*one, *other).1) {
            let message = format!("{} out of range", type_name(&T::DATA_TYPE));
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22003"));
        }
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int16Array, Int32Array, Int64Array};

    use super::*;

    fn call(definition: &Definition, left: ArrayRef, right: ArrayRef) -> Result<ArrayRef> {
        let (rows, data_type) = (left.len(), left.data_type().clone());
        (definition.body)(&[left, right], rows, &data_type)
    }

    #[test]
    fn results_that_fit_are_exact_at_each_width() {
        let small: [ArrayRef; 2] = [
            Arc::new(Int16Array::from(vec![Some(-181), None, Some(7)])),
            Arc::new(Int16Array::from(vec![Some(181), Some(1), None])),
        ];
        let [left, right] = small;
        let product = call(&product(), left, right).unwrap();
        assert_eq!(
            product.as_primitive::<Int16Type>(),
            &Int16Array::from(vec![Some(-32_761), None, None])
        );
        let ends: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MIN]));
        let ones: ArrayRef = Arc::new(Int64Array::from(vec![-1, 1]));
        let sums = call(&sum(), ends, ones).unwrap();
        assert_eq!(sums.as_primitive::<Int64Type>().values(), &[i64::MAX - 1, i64::MIN + 1]);
    }

    #[test]
    fn results_that_do_not_fit_are_refused() {
        let of = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![1, value])) };
        for (definition, left, right) in
            [(sum(), i32::MAX, 1), (difference(), i32::MIN, 1), (product(), 1 << 16, 1 << 15)]
        {
            let error = call(&definition, of(left), of(right)).unwrap_err();
            assert_eq!(error.message(), "integer out of range", "{}", definition.name);
        }
        let least: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN]));
        let minus: ArrayRef = Arc::new(Int64Array::from(vec![-1]));
        let error = call(&product(), least, minus).unwrap_err();
        assert_eq!(error.message(), "bigint out of range");
    }

    #[test]
    fn what_lies_under_a_null_does_not_count() {
        let nulls = NullBuffer::from(vec![false, true]);
        let left = Int32Array::new(vec![i32::MAX, 1].into(), Some(nulls));
        let right: ArrayRef = Arc::new(Int32Array::from(vec![1, 1]));
        let sums = call(&sum(), Arc::new(left), right).unwrap();
        assert_eq!(sums.as_primitive::<Int32Type>(), &Int32Array::from(vec![None, Some(2)]));
    }
}
