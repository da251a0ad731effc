//! `json_agg` and `json_object_agg`.

use std::sync::Arc;

use nacre_types::{SqlValue, ValueError};

use crate::kernels::{append_json, append_json_key};

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
        append_json_key(key, key_type, &self.context.settings, text)?;
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
