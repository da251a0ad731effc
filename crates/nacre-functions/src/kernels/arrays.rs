//! Arrays: shapes, searches, texts made of elements.

use nacre_types::SqlValue;

use super::ScalarKernel;
use super::arguments::{array, count_value, int4, text, text_value};
use super::registry::KernelRow;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "array_ndims(anyarray)",
        ScalarKernel::total(|values, _| {
            let count = array(values, 0)?.dimensions().len();
            Ok(if count == 0 { SqlValue::Null } else { count_value(count) })
        }),
    ),
    (
        "array_length(anyarray,int4)",
        ScalarKernel::total(|values, _| {
            let dimension = usize::try_from(int4(values, 1)?).ok().and_then(|at| at.checked_sub(1));
            let own = array(values, 0)?.dimensions();
            let dimension = dimension.and_then(|at| own.get(at));
            Ok(dimension.map_or(SqlValue::Null, |dimension| count_value(dimension.length)))
        }),
    ),
    (
        "array_lower(anyarray,int4)",
        ScalarKernel::total(|values, _| {
            let dimension = usize::try_from(int4(values, 1)?).ok().and_then(|at| at.checked_sub(1));
            let own = array(values, 0)?.dimensions();
            let dimension = dimension.and_then(|at| own.get(at));
            Ok(dimension
                .map_or(SqlValue::Null, |dimension| SqlValue::Integer(dimension.lower_bound)))
        }),
    ),
    (
        "array_upper(anyarray,int4)",
        ScalarKernel::total(|values, _| {
            let dimension = usize::try_from(int4(values, 1)?).ok().and_then(|at| at.checked_sub(1));
            let own = array(values, 0)?.dimensions();
            Ok(dimension.and_then(|at| own.get(at)).map_or(SqlValue::Null, |dimension| {
                // Bounds fit 32 bits.
                let last = i64::from(dimension.lower_bound) + dimension.length as i64 - 1;
                SqlValue::Integer(last as i32)
            }))
        }),
    ),
    (
        "cardinality(anyarray)",
        ScalarKernel::total(|values, _| Ok(count_value(array(values, 0)?.elements().len()))),
    ),
    (
        "array_to_string(anyarray,text)",
        ScalarKernel::partial(|values, context| {
            let (array, between) = (array(values, 0)?, text(values, 1)?);
            let parts = array.elements().iter();
            let parts =
                parts.filter_map(|part| part.to_text(array.element_type(), context.settings));
            text_value(parts.collect::<Vec<_>>().join(between))
        }),
    ),
];
