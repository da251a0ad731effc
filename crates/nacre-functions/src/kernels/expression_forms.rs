//! What the grammar has instead of functions: ARRAY, ROW, subscripts, ANY and ALL of an array, and
//! VARIADIC before one.
//!
//! Each is an entry like those of the catalog, of an OID that `pg_proc` does not have, so that all
//! that calls functions has it, too. A call by name does not find it.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::LazyLock;

use nacre_types::catalog::TypeOid;
use nacre_types::{ArrayDimension, SqlArray, SqlRecord, SqlType, SqlValue, ValueError};

use super::arguments::array;
use super::concatenation::{concatenated, nulls};
use super::quoting::format_values;
use super::{KernelContext, ScalarKernel, compare_values};
use crate::catalog::{FunctionEntry, FunctionKind, FunctionVolatility};

/// OIDs from here on are none of PostgreSQL's for a long time to come.
const FIRST_OID: u32 = 0xff00_0000;

/// `anyarray`.
const ANY_ARRAY: TypeOid = TypeOid(2277);

/// Symbols of comparisons.
const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

const FORMS: [(&str, ScalarKernel); 24] = [
    ("row", ScalarKernel::total(row_of)),
    ("field", ScalarKernel::total(|values, _| Ok(field_of(values)))),
    ("letter", ScalarKernel::total(|values, _| Ok(letter_of(values)))),
    ("array", ScalarKernel::total(|values, context| array_of(values.to_vec(), context))),
    ("array of arrays", ScalarKernel::partial(array_of_arrays)),
    ("subscript", ScalarKernel::total(|values, _| element_at(values))),
    ("slice", ScalarKernel::partial(|values, _| slice_of(values))),
    ("any =", ScalarKernel::total(|values, context| any_of(values, context, Ordering::is_eq))),
    ("any <>", ScalarKernel::total(|values, context| any_of(values, context, Ordering::is_ne))),
    ("any <", ScalarKernel::total(|values, context| any_of(values, context, Ordering::is_lt))),
    ("any <=", ScalarKernel::total(|values, context| any_of(values, context, Ordering::is_le))),
    ("any >", ScalarKernel::total(|values, context| any_of(values, context, Ordering::is_gt))),
    ("any >=", ScalarKernel::total(|values, context| any_of(values, context, Ordering::is_ge))),
    ("all =", ScalarKernel::total(|values, context| all_of(values, context, Ordering::is_eq))),
    ("all <>", ScalarKernel::total(|values, context| all_of(values, context, Ordering::is_ne))),
    ("all <", ScalarKernel::total(|values, context| all_of(values, context, Ordering::is_lt))),
    ("all <=", ScalarKernel::total(|values, context| all_of(values, context, Ordering::is_le))),
    ("all >", ScalarKernel::total(|values, context| all_of(values, context, Ordering::is_gt))),
    ("all >=", ScalarKernel::total(|values, context| all_of(values, context, Ordering::is_ge))),
    ("variadic concat", ScalarKernel::sized(concat_elements)),
    ("variadic concat_ws", ScalarKernel::sized(concat_elements)),
    ("variadic format", ScalarKernel::partial(format_elements)),
    ("variadic num_nulls", ScalarKernel::total(|values, _| null_elements(values, true))),
    ("variadic num_nonnulls", ScalarKernel::total(|values, _| null_elements(values, false))),
];

static ENTRIES: LazyLock<Vec<FunctionEntry>> = LazyLock::new(|| {
    let entry = |(oid, (name, _)): (u32, &(&'static str, ScalarKernel))| FunctionEntry {
        oid,
        name,
        kind: FunctionKind::Function,
        variadic_element: None,
        default_count: 0,
        returns_set: false,
        is_strict: false,
        volatility: FunctionVolatility::Immutable,
        result: ANY_ARRAY,
        arguments: Vec::new(),
        all_arguments: Vec::new(),
        modes: "",
        argument_names: Vec::new(),
    };
    (FIRST_OID..).zip(&FORMS).map(entry).collect()
});

fn form(name: &str) -> Option<&'static FunctionEntry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// Returns what makes an array of elements, or of arrays of one dimension less.
pub fn array_form(is_of_arrays: bool) -> Option<&'static FunctionEntry> {
    form(if is_of_arrays { "array of arrays" } else { "array" })
}

/// Returns what makes a row of values.
pub fn row_form() -> Option<&'static FunctionEntry> {
    form("row")
}

/// Returns what takes a field of a row, by its number from 0.
pub fn field_form() -> Option<&'static FunctionEntry> {
    form("field")
}

/// Returns what takes a byte of a name, by its place from 0.
pub fn letter_form() -> Option<&'static FunctionEntry> {
    form("letter")
}

/// Returns what takes an element of an array by its subscripts.
pub fn subscript_form() -> Option<&'static FunctionEntry> {
    form("subscript")
}

/// Returns what takes the elements of an array between two subscripts.
pub fn slice_form() -> Option<&'static FunctionEntry> {
    form("slice")
}

/// Returns what compares a value with the elements of an array, by the symbol of an operator.
pub fn quantified_form(symbol: &str, is_all: bool) -> Option<&'static FunctionEntry> {
    let symbol = COMPARISONS.into_iter().find(|own| *own == symbol)?;
    form(&format!("{} {symbol}", if is_all { "all" } else { "any" }))
}

/// Returns what calls a function of any number of arguments of any type with the elements of an
/// array for its last ones; `None` of other functions.
pub fn variadic_form(name: &str) -> Option<&'static FunctionEntry> {
    form(&format!("variadic {name}"))
}

/// Returns the kernel of a form.
pub(super) fn form_kernel(oid: u32) -> Option<ScalarKernel> {
    let index = oid.checked_sub(FIRST_OID)?;
    FORMS.get(index as usize).map(|(_, kernel)| *kernel)
}

fn row_of(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let types = context.argument_types.iter().map(|own| own.without_modifier());
    let fields = types.zip(values.iter().cloned()).collect();
    Ok(SqlValue::Record(Box::new(SqlRecord::new(fields))))
}

fn array_of(elements: Vec<SqlValue>, context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let array = SqlArray::from_elements(element_type(context)?, elements);
    Ok(SqlValue::Array(Box::new(array)))
}

fn element_type(context: &KernelContext<'_>) -> Result<SqlType, ValueError> {
    let element = context.result_type.element();
    element.ok_or_else(|| ValueError::internal("an array of no elements' type"))
}

/// Puts arrays of one shape together; null and empty ones are as nothing, but only among
/// themselves.
fn array_of_arrays(
    values: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let refuse = || {
        let message =
            "multidimensional arrays must have array expressions with matching dimensions";
        ValueError::array_subscript(message)
    };
    let (mut shape, mut elements): (Option<&[ArrayDimension]>, Vec<SqlValue>) = (None, Vec::new());
    let mut has_empty = false;
    for (index, value) in values.iter().enumerate() {
        if value.is_null() {
            has_empty = true;
            continue;
        }
        let own = array(values, index)?;
        if own.dimensions().is_empty() {
            has_empty = true;
            continue;
        }
        if shape.is_some_and(|shape| shape != own.dimensions()) {
            return Err(refuse());
        }
        shape = Some(own.dimensions());
        elements.extend_from_slice(own.elements());
    }
    let Some(shape) = shape else { return array_of(Vec::new(), context) };
    if has_empty {
        return Err(refuse());
    }
    let mut dimensions = vec![ArrayDimension { length: values.len(), lower_bound: 1 }];
    dimensions.extend_from_slice(shape);
    let made = SqlArray::with_dimensions(element_type(context)?, dimensions, elements)?;
    Ok(SqlValue::Array(Box::new(made)))
}

/// Returns the element at subscripts; null outside of the array.
fn element_at(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    if values.iter().any(SqlValue::is_null) {
        return Ok(SqlValue::Null);
    }
    let own = array(values, 0)?;
    let subscripts = values.get(1..).unwrap_or_default();
    if subscripts.len() != own.dimensions().len() {
        return Ok(SqlValue::Null);
    }
    let mut place = 0;
    for (subscript, dimension) in subscripts.iter().zip(own.dimensions()) {
        let SqlValue::Integer(subscript) = subscript else {
            return Err(ValueError::internal("a subscript of another type"));
        };
        let offset = i64::from(*subscript) - i64::from(dimension.lower_bound);
        match usize::try_from(offset) {
            Ok(offset) if offset < dimension.length => place = place * dimension.length + offset,
            _ => return Ok(SqlValue::Null),
        }
    }
    Ok(own.elements().get(place).cloned().unwrap_or(SqlValue::Null))
}

/// Returns the elements between two subscripts of each dimension, as far as they are there;
/// dimensions without subscripts are there as a whole.
fn slice_of(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    if values.iter().any(SqlValue::is_null) {
        return Ok(SqlValue::Null);
    }
    let own = array(values, 0)?;
    let subscripts: Vec<i32> = values[1..]
        .iter()
        .map(|subscript| match subscript {
            SqlValue::Integer(subscript) => Ok(*subscript),
            _ => Err(ValueError::internal("a subscript of another type")),
        })
        .collect::<Result<_, _>>()?;
    let (bounds, _) = subscripts.as_chunks::<2>();
    let mut parts = Vec::with_capacity(own.dimensions().len());
    for (index, dimension) in own.dimensions().iter().enumerate() {
        let [low, high] = bounds.get(index).copied().unwrap_or([i32::MIN, i32::MAX]);
        let offset = |subscript: i32| i64::from(subscript) - i64::from(dimension.lower_bound);
        let start = offset(low).max(0);
        let end = (offset(high) + 1).min(dimension.length as i64);
        // Both lie within the array if there is anything between.
        parts.push(if start < end { start as usize..end as usize } else { 0..0 });
    }
    let is_empty = bounds.len() > parts.len() || parts.iter().any(Range::is_empty);
    if is_empty || parts.is_empty() {
        let empty = SqlArray::from_elements(own.element_type(), Vec::new());
        return Ok(SqlValue::Array(Box::new(empty)));
    }
    let mut places = vec![0];
    for (dimension, part) in own.dimensions().iter().zip(&parts) {
        let within = |place: &usize| {
            let start = place * dimension.length;
            part.clone().map(move |at| start + at)
        };
        places = places.iter().flat_map(within).collect();
    }
    let elements = places.into_iter().filter_map(|place| own.elements().get(place).cloned());
    let dimensions = parts.iter().map(|part| ArrayDimension { length: part.len(), lower_bound: 1 });
    let made =
        SqlArray::with_dimensions(own.element_type(), dimensions.collect(), elements.collect())?;
    Ok(SqlValue::Array(Box::new(made)))
}

/// Joins the elements of the last argument; those before it are what is put between them.
fn concat_elements(
    values: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let between = match values {
        [_] => "",
        [SqlValue::Text(between), _] => between,
        _ => return Ok(SqlValue::Null),
    };
    match values.last() {
        Some(SqlValue::Array(own)) => {
            let types = vec![own.element_type(); own.elements().len()];
            let context = KernelContext { argument_types: &types, ..*context };
            concatenated(own.elements(), between, 0, &context)
        }
        _ => Ok(SqlValue::Null),
    }
}

/// Returns a byte of a `name`, which has 64 of them: those behind the text are zeros.
fn letter_of(values: &[SqlValue]) -> SqlValue {
    let [SqlValue::Text(name), SqlValue::Integer(place @ 0..64)] = values else {
        return SqlValue::Null;
    };
    SqlValue::Char(name.as_bytes().get(*place as usize).copied().unwrap_or(0))
}

fn field_of(values: &[SqlValue]) -> SqlValue {
    let [SqlValue::Record(record), SqlValue::Integer(number)] = values else {
        return SqlValue::Null;
    };
    let field = usize::try_from(*number).ok().and_then(|number| record.fields().get(number));
    field.map_or(SqlValue::Null, |(_, value)| value.clone())
}

/// Formats the elements of an array; a null one has none.
fn format_elements(
    values: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let [pattern, source] = values else {
        return Err(ValueError::internal("a format with other than one array"));
    };
    let (mut arguments, mut types) = (vec![pattern.clone()], vec![SqlType::TEXT]);
    if let SqlValue::Array(own) = source {
        arguments.extend_from_slice(own.elements());
        types.resize(arguments.len(), own.element_type());
    }
    format_values(&arguments, &KernelContext { argument_types: &types, ..*context })
}

fn null_elements(values: &[SqlValue], is_wanted: bool) -> Result<SqlValue, ValueError> {
    match values {
        [SqlValue::Array(own)] => Ok(nulls(own.elements(), is_wanted)),
        _ => Ok(SqlValue::Null),
    }
}

/// Compares a value with all elements of an array up to one for which the comparison is `decisive`.
fn quantified(
    values: &[SqlValue],
    context: &KernelContext<'_>,
    decisive: bool,
    holds: fn(Ordering) -> bool,
) -> Result<SqlValue, ValueError> {
    let [operand, source] = values else {
        return Err(ValueError::internal("a comparison with other than one array"));
    };
    if source.is_null() {
        return Ok(SqlValue::Null);
    }
    let elements = array(values, 1)?.elements();
    let mut result = SqlValue::Boolean(!decisive);
    for element in elements {
        if operand.is_null() || element.is_null() {
            result = SqlValue::Null;
        } else if holds(compare_values(operand, element, context)?) == decisive {
            return Ok(SqlValue::Boolean(decisive));
        }
    }
    Ok(result)
}

fn any_of(
    values: &[SqlValue],
    context: &KernelContext<'_>,
    holds: fn(Ordering) -> bool,
) -> Result<SqlValue, ValueError> {
    quantified(values, context, true, holds)
}

fn all_of(
    values: &[SqlValue],
    context: &KernelContext<'_>,
    holds: fn(Ordering) -> bool,
) -> Result<SqlValue, ValueError> {
    quantified(values, context, false, holds)
}
