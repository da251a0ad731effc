//! `json_agg` and `json_object_agg`.

use std::fmt::Write;
use std::sync::Arc;

use nacre_types::{SqlArray, SqlType, SqlValue, TypeKind, ValueError, ValueSettings};

use super::{AggregateContext, AggregateKernel, AggregateState, argument, require_bytes};

/// `json_agg`.
pub(super) const ELEMENTS: AggregateKernel = AggregateKernel::of_rows(|context| {
    Box::new(JsonTextState { context: Arc::clone(context), text: None, is_object: false })
});

/// `json_object_agg`.
pub(super) const MEMBERS: AggregateKernel = AggregateKernel::of_rows(|context| {
    Box::new(JsonTextState { context: Arc::clone(context), text: None, is_object: true })
});

struct JsonTextState {
    context: Arc<AggregateContext>,
    /// All but the closing bracket.
    text: Option<String>,
    is_object: bool,
}

impl JsonTextState {
    fn add_member(&self, row: &[SqlValue], text: &mut String) -> Result<(), ValueError> {
        let (key, key_type) = (argument(row, 0)?, self.context.argument_type(0)?);
        if key.is_null() {
            return Err(ValueError::invalid_parameter("field name must not be null"));
        }
        if matches!(key, SqlValue::Array(_) | SqlValue::Record(_) | SqlValue::Json(_)) {
            let message = "key value must be scalar, not array, composite, or json";
            return Err(ValueError::invalid_parameter(message));
        }
        let mut plain = String::new();
        append_json(key, key_type, &self.context.settings, &mut plain)?;
        if plain.starts_with('"') {
            text.push_str(&plain);
        } else {
            append_quoted(&plain, text);
        }
        text.push_str(" : ");
        append_json(argument(row, 1)?, self.context.argument_type(1)?, &self.context.settings, text)
    }
}

impl AggregateState for JsonTextState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let is_first = self.text.is_none();
        let start = if self.is_object { "{ " } else { "[" };
        let mut text = self.text.take().unwrap_or_else(|| start.to_owned());
        if !is_first {
            text.push_str(", ");
        }
        if self.is_object {
            self.add_member(row, &mut text)?;
        } else {
            let value = argument(row, 0)?;
            if !is_first && matches!(value, SqlValue::Array(_) | SqlValue::Record(_)) {
                text.push_str("\n ");
            }
            let sql_type = self.context.argument_type(0)?;
            append_json(value, sql_type, &self.context.settings, &mut text)?;
        }
        let length = text.len();
        self.text = Some(text);
        require_bytes(length)
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        let end = if self.is_object { " }" } else { "]" };
        Ok(self.text.as_ref().map_or(SqlValue::Null, |text| SqlValue::Json(format!("{text}{end}"))))
    }
}

/// Appends a value as JSON, as `to_json` does.
fn append_json(
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
