//! `array_agg` and `string_agg`.

use std::sync::Arc;

use nacre_types::catalog::TypeOid;
use nacre_types::{ArrayDimension, SqlArray, SqlType, SqlValue, ValueError};

use super::{AggregateContext, AggregateKernel, AggregateState, argument, mismatch, require_bytes};

/// `anyarray`.
pub(super) const ANY_ARRAY: TypeOid = TypeOid(2277);

/// `array_agg` of values that are no arrays.
pub(super) const ELEMENTS: AggregateKernel = AggregateKernel::of_rows(|context| {
    Box::new(ElementState { context: Arc::clone(context), elements: Vec::new() })
});

/// `array_agg` of arrays.
pub(super) const ARRAYS: AggregateKernel = AggregateKernel::of_rows(|_| {
    Box::new(NestedArrayState { first: None, count: 0, elements: Vec::new() })
});

/// `string_agg`.
pub(super) const STRINGS: AggregateKernel = AggregateKernel::of_rows(|context| {
    let is_text = context.result_type != SqlType::BYTEA;
    Box::new(StringState { bytes: None, is_text })
});

struct ElementState {
    context: Arc<AggregateContext>,
    elements: Vec<SqlValue>,
}

impl AggregateState for ElementState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        self.elements.push(argument(row, 0)?.clone());
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        self.array_of(self.elements.clone())
    }

    fn last_value(&mut self) -> Result<SqlValue, ValueError> {
        let elements = std::mem::take(&mut self.elements);
        self.array_of(elements)
    }
}

impl ElementState {
    fn array_of(&self, elements: Vec<SqlValue>) -> Result<SqlValue, ValueError> {
        if elements.is_empty() {
            return Ok(SqlValue::Null);
        }
        let element = self.context.argument_type(0)?.without_modifier();
        let dimensions = vec![ArrayDimension { length: elements.len(), lower_bound: 1 }];
        let array = SqlArray::with_dimensions(element, dimensions, elements)?;
        Ok(SqlValue::Array(Box::new(array)))
    }
}

/// Arrays of one shape become an array of one dimension more.
struct NestedArrayState {
    /// The first array.
    first: Option<SqlArray>,
    count: usize,
    elements: Vec<SqlValue>,
}

impl AggregateState for NestedArrayState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let array = match argument(row, 0)? {
            SqlValue::Array(array) => array,
            SqlValue::Null => {
                return Err(ValueError::null_not_allowed("cannot accumulate null arrays"));
            }
            _ => return Err(mismatch()),
        };
        let refuse =
            |what: &str| Err(ValueError::array_subscript(format!("cannot accumulate {what}")));
        if array.dimensions().is_empty() {
            return refuse("empty arrays");
        }
        match &self.first {
            Some(first) if first.dimensions() != array.dimensions() => {
                return refuse("arrays of different dimensionality");
            }
            Some(_) => {}
            None => self.first = Some((**array).clone()),
        }
        self.count += 1;
        self.elements.extend_from_slice(array.elements());
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        self.array_of(self.elements.clone())
    }

    fn last_value(&mut self) -> Result<SqlValue, ValueError> {
        let elements = std::mem::take(&mut self.elements);
        self.array_of(elements)
    }
}

impl NestedArrayState {
    fn array_of(&self, elements: Vec<SqlValue>) -> Result<SqlValue, ValueError> {
        let Some(first) = &self.first else { return Ok(SqlValue::Null) };
        let mut dimensions = vec![ArrayDimension { length: self.count, lower_bound: 1 }];
        dimensions.extend_from_slice(first.dimensions());
        let array = SqlArray::with_dimensions(first.element_type(), dimensions, elements)?;
        Ok(SqlValue::Array(Box::new(array)))
    }
}

struct StringState {
    bytes: Option<Vec<u8>>,
    is_text: bool,
}

fn string_bytes(value: &SqlValue) -> Result<Option<&[u8]>, ValueError> {
    match value {
        SqlValue::Null => Ok(None),
        SqlValue::Text(text) | SqlValue::Padded(text) => Ok(Some(text.as_bytes())),
        SqlValue::Bytea(bytes) => Ok(Some(bytes)),
        _ => Err(mismatch()),
    }
}

impl AggregateState for StringState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let Some(value) = string_bytes(argument(row, 0)?)? else { return Ok(()) };
        match &mut self.bytes {
            Some(bytes) => {
                bytes.extend_from_slice(string_bytes(argument(row, 1)?)?.unwrap_or_default());
                bytes.extend_from_slice(value);
            }
            None => self.bytes = Some(value.to_vec()),
        }
        require_bytes(self.bytes.as_ref().map_or(0, Vec::len))
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        let Some(bytes) = self.bytes.clone() else { return Ok(SqlValue::Null) };
        if !self.is_text {
            return Ok(SqlValue::Bytea(bytes));
        }
        String::from_utf8(bytes).map(SqlValue::Text).map_err(|_| mismatch())
    }
}
