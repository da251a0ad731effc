//! Texts made of other values: `||`, `concat`.

use nacre_types::catalog::CastContext;
use nacre_types::{SqlType, SqlValue, ValueError, cast_value};

use super::arguments::{VALUE_BYTES_MAX, count_value, text, too_large};
use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel};

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "textcat(text,text)",
        ScalarKernel::sized(|values, _| joined(text(values, 0)?, text(values, 1)?)),
    ),
    (
        "textanycat(text,anynonarray)",
        ScalarKernel::partial(|values, context| {
            joined(text(values, 0)?, &cast_text(values, 1, context)?)
        }),
    ),
    (
        "anytextcat(anynonarray,text)",
        ScalarKernel::partial(|values, context| {
            joined(&cast_text(values, 0, context)?, text(values, 1)?)
        }),
    ),
    ("concat(any)", ScalarKernel::sized(|values, context| concatenated(values, "", 0, context))),
    (
        "concat_ws(text,any)",
        ScalarKernel::sized(|values, context| match values.first() {
            Some(SqlValue::Text(between)) => concatenated(values, between, 1, context),
            _ => Ok(SqlValue::Null),
        }),
    ),
    ("num_nulls(any)", ScalarKernel::total(|values, _| Ok(nulls(values, true)))),
    ("num_nonnulls(any)", ScalarKernel::total(|values, _| Ok(nulls(values, false)))),
];

pub(super) fn nulls(values: &[SqlValue], is_wanted: bool) -> SqlValue {
    count_value(values.iter().filter(|value| value.is_null() == is_wanted).count())
}

fn joined(one: &str, other: &str) -> Result<SqlValue, ValueError> {
    if one.len() + other.len() > VALUE_BYTES_MAX {
        return Err(too_large());
    }
    Ok(SqlValue::Text(format!("{one}{other}")))
}

pub(super) fn type_of(index: usize, context: &KernelContext<'_>) -> Result<SqlType, ValueError> {
    let own = context.argument_types.get(index).copied();
    own.ok_or_else(|| ValueError::internal("an argument without a type"))
}

/// Returns an argument as a cast to text gives it.
pub(super) fn cast_text(
    values: &[SqlValue],
    index: usize,
    context: &KernelContext<'_>,
) -> Result<String, ValueError> {
    let value = values.get(index).cloned().unwrap_or(SqlValue::Null);
    let source = type_of(index, context)?;
    match cast_value(value, source, SqlType::TEXT, CastContext::Explicit, context.settings)? {
        SqlValue::Text(text) => Ok(text),
        _ => Err(ValueError::internal("a cast to text gives another value")),
    }
}

/// Joins what the output functions of values that are not null write.
pub(super) fn concatenated(
    values: &[SqlValue],
    between: &str,
    from: usize,
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let mut out = String::new();
    let mut is_first = true;
    for (index, value) in values.iter().enumerate().skip(from) {
        if value.is_null() {
            continue;
        }
        if !is_first {
            out.push_str(between);
        }
        is_first = false;
        value.write_text(type_of(index, context)?, context.settings, &mut out);
        if out.len() > VALUE_BYTES_MAX {
            return Err(too_large());
        }
    }
    Ok(SqlValue::Text(out))
}
