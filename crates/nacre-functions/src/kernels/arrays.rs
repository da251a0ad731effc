//! Arrays: shapes, searches, elements at the ends, texts of elements.
//!
//! Of more than one dimension only the shape is here.

use nacre_types::{ArrayDimension, SqlArray, SqlType, SqlValue, ValueError};

use super::arguments::{array, count_value, int4, text, text_value};
use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel};

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
    ("string_to_array(text,text)", ScalarKernel::total(|values, _| Ok(parts_of(values, None)))),
    (
        "string_to_array(text,text,text)",
        ScalarKernel::total(|values, _| Ok(parts_of(values, values.get(2)))),
    ),
    (
        "array_append(anycompatiblearray,anycompatible)",
        ScalarKernel::partial(|values, context| with_element(values, 0, 1, context)),
    ),
    (
        "array_prepend(anycompatible,anycompatiblearray)",
        ScalarKernel::partial(|values, context| with_element(values, 1, 0, context)),
    ),
    (
        "array_cat(anycompatiblearray,anycompatiblearray)",
        ScalarKernel::partial(|values, _| joined(values)),
    ),
    (
        "array_position(anycompatiblearray,anycompatible)",
        ScalarKernel::partial(|values, _| {
            let Some((array, wanted)) = searched(values)? else { return Ok(SqlValue::Null) };
            let place = array.elements().iter().position(|element| element == wanted);
            let low = array.dimensions().first().map_or(1, |dimension| dimension.lower_bound);
            // Subscripts fit 32 bits.
            let subscript = |place: usize| SqlValue::Integer(low + place as i32);
            Ok(place.map_or(SqlValue::Null, subscript))
        }),
    ),
    (
        "array_positions(anycompatiblearray,anycompatible)",
        ScalarKernel::partial(|values, _| {
            let Some((array, wanted)) = searched(values)? else { return Ok(SqlValue::Null) };
            let found = (low_of(array)..).zip(array.elements());
            let places = found.filter(|(_, element)| *element == wanted);
            let places = places.map(|(subscript, _)| SqlValue::Integer(subscript)).collect();
            Ok(SqlValue::Array(Box::new(SqlArray::from_elements(SqlType::INTEGER, places))))
        }),
    ),
    (
        "array_replace(anycompatiblearray,anycompatible,anycompatible)",
        ScalarKernel::partial(|values, _| {
            let [SqlValue::Array(array), from, to] = values else { return Ok(SqlValue::Null) };
            let replaced = |one: &SqlValue| if one == from { to.clone() } else { one.clone() };
            let elements = array.elements().iter().map(replaced).collect();
            let dimensions = array.dimensions().to_vec();
            let made = SqlArray::with_dimensions(array.element_type(), dimensions, elements)?;
            Ok(SqlValue::Array(Box::new(made)))
        }),
    ),
    (
        "trim_array(anyarray,int4)",
        ScalarKernel::partial(|values, _| {
            let (array, count) = (array(values, 0)?, int4(values, 1)?);
            if array.dimensions().len() > 1 {
                return Err(many_dimensions());
            }
            let own = array.elements();
            let count = usize::try_from(count).ok().filter(|count| *count <= own.len());
            let kept = count.map(|count| &own[..own.len() - count]).ok_or_else(|| {
                let most = own.len();
                let message = format!("number of elements to trim must be between 0 and {most}");
                ValueError::array_subscript(message)
            })?;
            Ok(SqlValue::Array(Box::new(SqlArray::from_elements(
                array.element_type(),
                kept.to_vec(),
            ))))
        }),
    ),
    (
        "array_remove(anycompatiblearray,anycompatible)",
        ScalarKernel::partial(|values, _| {
            let Some((array, wanted)) = searched(values)? else { return Ok(SqlValue::Null) };
            if !array.elements().contains(wanted) {
                return Ok(values[0].clone());
            }
            let kept = array.elements().iter().filter(|element| *element != wanted).cloned();
            shaped(array, kept.collect(), low_of(array))
        }),
    ),
];

/// Splits a text into elements; those that equal the third argument are null.
fn parts_of(values: &[SqlValue], null: Option<&SqlValue>) -> SqlValue {
    let [SqlValue::Text(text), between, ..] = values else { return SqlValue::Null };
    let element = |part: &str| match null {
        Some(SqlValue::Text(null)) if null == part => SqlValue::Null,
        _ => SqlValue::Text(part.to_owned()),
    };
    let parts: Vec<SqlValue> = match between {
        _ if text.is_empty() => Vec::new(),
        SqlValue::Text(between) if between.is_empty() => vec![element(text)],
        SqlValue::Text(between) => text.split(between.as_str()).map(element).collect(),
        // Without a separator each character is an element.
        _ => text.chars().map(|one| element(one.encode_utf8(&mut [0; 4]))).collect(),
    };
    SqlValue::Array(Box::new(SqlArray::from_elements(SqlType::TEXT, parts)))
}

fn low_of(array: &SqlArray) -> i32 {
    array.dimensions().first().map_or(1, |dimension| dimension.lower_bound)
}

fn many_dimensions() -> ValueError {
    ValueError::not_supported("this function of arrays of more than one dimension")
}

/// Makes an array of one dimension with the type of another.
fn shaped(
    array: &SqlArray,
    elements: Vec<SqlValue>,
    lower_bound: i32,
) -> Result<SqlValue, ValueError> {
    let dimensions = vec![ArrayDimension { length: elements.len(), lower_bound }];
    let made = SqlArray::with_dimensions(array.element_type(), dimensions, elements)?;
    Ok(SqlValue::Array(Box::new(made)))
}

/// Returns an array and the element that is searched in it; `None` of a null array.
fn searched(values: &[SqlValue]) -> Result<Option<(&SqlArray, &SqlValue)>, ValueError> {
    match values {
        [SqlValue::Array(array), _] if array.dimensions().len() > 1 => Err(many_dimensions()),
        [SqlValue::Array(array), wanted] => Ok(Some((array, wanted))),
        _ => Ok(None),
    }
}

/// Adds an element behind or before those of an array; a null array has none.
fn with_element(
    values: &[SqlValue],
    array_index: usize,
    element_index: usize,
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let element = values.get(element_index).cloned().unwrap_or(SqlValue::Null);
    let Some(SqlValue::Array(array)) = values.get(array_index) else {
        let element_type = context.argument_types.get(array_index).and_then(|own| own.element());
        let element_type =
            element_type.ok_or_else(|| ValueError::internal("an array without elements"))?;
        let made = SqlArray::from_elements(element_type, vec![element]);
        return Ok(SqlValue::Array(Box::new(made)));
    };
    if array.dimensions().len() > 1 {
        return Err(many_dimensions());
    }
    let mut elements = array.elements().to_vec();
    let is_first = element_index < array_index;
    elements.insert(if is_first { 0 } else { elements.len() }, element);
    shaped(array, elements, low_of(array))
}

fn joined(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    match values {
        [SqlValue::Array(one), SqlValue::Array(other)] => {
            if one.dimensions().len() > 1 || other.dimensions().len() > 1 {
                return Err(many_dimensions());
            }
            if one.elements().is_empty() {
                return Ok(values[1].clone());
            }
            shaped(one, [one.elements(), other.elements()].concat(), low_of(one))
        }
        [SqlValue::Null, other] => Ok(other.clone()),
        [one, _] => Ok(one.clone()),
        _ => Err(ValueError::internal("other than two arrays")),
    }
}
