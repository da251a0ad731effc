//! Texts made of other values: `||`, `concat`, quoted literals.

use nacre_types::catalog::CastContext;
use nacre_types::{SqlType, SqlValue, ValueError, cast_value};

use super::arguments::{VALUE_BYTES_MAX, count_value, text, text_value, too_large};
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
    ("quote_literal(text)", ScalarKernel::sized(|values, _| text_value(quoted(text(values, 0)?)))),
    (
        "quote_literal(anyelement)",
        ScalarKernel::partial(|values, context| {
            text_value(quoted(&cast_text(values, 0, context)?))
        }),
    ),
    (
        "quote_nullable(text) quote_nullable(anyelement)",
        ScalarKernel::partial(|values, context| match values.first() {
            Some(SqlValue::Null) | None => text_value("NULL"),
            Some(_) => text_value(quoted(&cast_text(values, 0, context)?)),
        }),
    ),
    (
        "format(text,any) format(text)",
        ScalarKernel::partial(format_values).accepting(|constants| match constants.first() {
            Some(Some(SqlValue::Text(pattern))) => is_plain(pattern),
            _ => false,
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

fn type_of(index: usize, context: &KernelContext<'_>) -> Result<SqlType, ValueError> {
    let own = context.argument_types.get(index).copied();
    own.ok_or_else(|| ValueError::internal("an argument without a type"))
}

/// Returns an argument as a cast to text gives it.
fn cast_text(
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

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 3);
    if text.contains('\\') {
        out.push('E');
    }
    out.push('\'');
    for letter in text.chars() {
        if matches!(letter, '\'' | '\\') {
            out.push(letter);
        }
        out.push(letter);
    }
    out.push('\'');
    out
}

/// Whether a pattern of `format` has `%s`, `%L` and `%%` only: names need the list of keywords.
pub(super) fn is_plain(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter == '%' && !matches!(letters.next(), Some('s' | 'L' | '%')) {
            return false;
        }
    }
    true
}

pub(super) fn format_values(
    values: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let Some(SqlValue::Text(pattern)) = values.first() else { return Ok(SqlValue::Null) };
    let mut out = String::new();
    let mut letters = pattern.chars();
    let mut next = 1;
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let kind = letters.next();
        if kind == Some('%') {
            out.push('%');
            continue;
        }
        let value = values.get(next);
        let value =
            value.ok_or_else(|| ValueError::invalid_parameter("too few arguments for format()"))?;
        let text = value.to_text(type_of(next, context)?, context.settings);
        match (kind, text) {
            (Some('s'), text) => out.push_str(&text.unwrap_or_default()),
            (_, Some(text)) => out.push_str(&quoted(&text)),
            (_, None) => out.push_str("NULL"),
        }
        next += 1;
    }
    text_value(out)
}
