//! Records: rows without a declared type.

use super::SqlValue;
use super::settings::ValueSettings;
use crate::input_text::is_space;
use crate::types::sql_type::SqlType;

/// A record.
#[derive(Clone, Debug, Default)]
pub struct SqlRecord {
    fields: Vec<(SqlType, SqlValue)>,
}

impl SqlRecord {
    /// Makes a record of its fields.
    pub fn new(fields: Vec<(SqlType, SqlValue)>) -> Self {
        Self { fields }
    }

    pub fn fields(&self) -> &[(SqlType, SqlValue)] {
        &self.fields
    }

    /// Appends the text: fields in parentheses, nulls empty, quotes where needed.
    pub(super) fn write(&self, settings: &ValueSettings, out: &mut String) {
        let mut text = String::new();
        out.push('(');
        for (index, (sql_type, value)) in self.fields.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            if value.is_null() {
                continue;
            }
            text.clear();
            value.write_text(*sql_type, settings, &mut text);
            write_field(&text, out);
        }
        out.push(')');
    }
}

fn write_field(text: &str, out: &mut String) {
    let is_special = |one: char| matches!(one, '"' | '\\' | '(' | ')' | ',') || is_space(one);
    if !text.is_empty() && !text.contains(is_special) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for one in text.chars() {
        if matches!(one, '"' | '\\') {
            out.push(one);
        }
        out.push(one);
    }
    out.push('"');
}
