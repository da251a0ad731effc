//! Values as JSON.

use std::fmt::Write;

use nacre_types::{SqlArray, SqlType, SqlValue, TypeKind, ValueError, ValueSettings};

use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel};

pub(super) const KERNELS: &[KernelRow] = &[
    ("json_build_object(any) json_build_object()", ScalarKernel::partial(object_of)),
    ("json_build_array(any) json_build_array()", ScalarKernel::partial(array_of)),
];

fn object_of(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    if !values.len().is_multiple_of(2) {
        let message = "argument list must have even number of elements";
        let hint = "The arguments of json_build_object() must consist of alternating keys and \
                    values.";
        return Err(ValueError::invalid_parameter(message).with_hint(hint));
    }
    let mut text = String::from("{");
    let pairs = values.chunks_exact(2).zip(context.argument_types.chunks_exact(2));
    for (index, (pair, types)) in pairs.enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        if pair[0].is_null() {
            let message = format!("argument {} cannot be null", index * 2 + 1);
            let hint = "Object keys should be text.";
            return Err(ValueError::invalid_parameter(message).with_hint(hint));
        }
        append_json_key(&pair[0], types[0], context.settings, &mut text)?;
        text.push_str(" : ");
        append_json(&pair[1], types[1], context.settings, &mut text)?;
    }
    text.push('}');
    Ok(SqlValue::Json(text))
}

fn array_of(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let mut text = String::from("[");
    for (index, (value, sql_type)) in values.iter().zip(context.argument_types).enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        append_json(value, *sql_type, context.settings, &mut text)?;
    }
    text.push(']');
    Ok(SqlValue::Json(text))
}

/// Appends the key of a member, in quotes.
///
/// # Errors
/// 22023 for values that are no scalars.
pub(crate) fn append_json_key(
    key: &SqlValue,
    key_type: SqlType,
    settings: &ValueSettings,
    out: &mut String,
) -> Result<(), ValueError> {
    if matches!(key, SqlValue::Array(_) | SqlValue::Record(_) | SqlValue::Json(_)) {
        let message = "key value must be scalar, not array, composite, or json";
        return Err(ValueError::invalid_parameter(message));
    }
    let mut plain = String::new();
    append_json(key, key_type, settings, &mut plain)?;
    if plain.starts_with('"') {
        out.push_str(&plain);
    } else {
        append_quoted(&plain, out);
    }
    Ok(())
}

/// Appends a value as JSON, as `to_json` does.
///
/// # Errors
/// 0A000 for rows.
pub(crate) fn append_json(
    value: &SqlValue,
    sql_type: SqlType,
    settings: &ValueSettings,
    out: &mut String,
) -> Result<(), ValueError> {
    let mut text = String::new();
    match value {
        SqlValue::Null => out.push_str("null"),
        SqlValue::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        SqlValue::Json(text) => out.push_str(text),
        SqlValue::Array(array) => return append_array(array, 0, &mut 0, settings, out),
        SqlValue::Record(_) => return Err(ValueError::not_supported("rows as json")),
        SqlValue::SmallInt(_)
        | SqlValue::Integer(_)
        | SqlValue::BigInt(_)
        | SqlValue::Real(_)
        | SqlValue::Double(_)
        | SqlValue::Numeric(_) => {
            value.write_text(sql_type, settings, &mut text);
            if text.contains(['N', 'I']) {
                append_quoted(&text, out);
            } else {
                out.push_str(&text);
            }
        }
        SqlValue::Timestamp(_) | SqlValue::TimestampTz(_) => {
            value.write_text(sql_type, settings, &mut text);
            append_quoted(&moment_of(&text, sql_type), out);
        }
        _ => {
            value.write_text(sql_type, settings, &mut text);
            append_quoted(&text, out);
        }
    }
    Ok(())
}

/// Returns a timestamp in the form of XML Schema.
fn moment_of(text: &str, sql_type: SqlType) -> String {
    let mut moment = text.replacen(' ', "T", 1);
    if matches!(sql_type.kind(), TypeKind::TimestampTz(_)) && moment.contains('T') {
        let (plain, era) = match moment.strip_suffix(" BC") {
            Some(plain) => (plain.to_owned(), " BC"),
            None => (moment.clone(), ""),
        };
        // The offset has minutes even if they are zero.
        let hours_only = plain.len() >= 3 && plain.as_bytes()[plain.len() - 3] != b':';
        let minutes = if hours_only { ":00" } else { "" };
        moment = format!("{plain}{minutes}{era}");
    }
    moment
}

/// Appends the elements of a dimension.
fn append_array(
    array: &SqlArray,
    dimension: usize,
    next: &mut usize,
    settings: &ValueSettings,
    out: &mut String,
) -> Result<(), ValueError> {
    let length = array.dimensions().get(dimension).map_or(0, |own| own.length);
    out.push('[');
    for index in 0..length {
        if index > 0 {
            out.push(',');
        }
        if dimension + 1 < array.dimensions().len() {
            append_array(array, dimension + 1, next, settings, out)?;
            continue;
        }
        let element = array.elements().get(*next).unwrap_or(&SqlValue::Null);
        append_json(element, array.element_type(), settings, out)?;
        *next += 1;
    }
    out.push(']');
    Ok(())
}

/// Appends a text in quotes.
fn append_quoted(text: &str, out: &mut String) {
    out.push('"');
    for one in text.chars() {
        match one {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            one if one < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(one));
            }
            one => out.push(one),
        }
    }
    out.push('"');
}
