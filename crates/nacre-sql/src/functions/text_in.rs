//! Texts of columns as values of a type, by the parsers that read literals.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, new_empty_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use nacre_column::ColumnBuffer;

use crate::dml::push_syntax;
use crate::from_datafusion::external;
use crate::scan::buffer_array;
use crate::types::{is_text, stored_type, trim_blanks};

/// Reads one text as a value of a type; `None` for a type that has no texts.
pub(crate) type TextReader = fn(&str, &DataType) -> crate::error::Result<Option<ScalarValue>>;

/// Reads texts as values of `target`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TextIn {
    target: DataType,
    signature: Signature,
    read: ReadValue,
}

/// What reads a value where no column of the type would; all are the same.
#[derive(Clone, Copy, Debug)]
struct ReadValue(TextReader);

impl PartialEq for ReadValue {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ReadValue {}

impl std::hash::Hash for ReadValue {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Makes what casts texts to a type; `None` for types that others cast to.
pub(crate) fn text_in(target: &DataType, read: TextReader) -> Option<Arc<ScalarUDF>> {
    let is_read = matches!(
        target,
        DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Boolean
            | DataType::Decimal128(..)
            | DataType::Date32
            | DataType::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond)
            | DataType::Timestamp(..)
            | DataType::Interval(_)
    );
    let signature = Signature::any(1, Volatility::Stable);
    let (target, read) = (target.clone(), ReadValue(read));
    is_read.then(|| Arc::new(ScalarUDF::new_from_impl(TextIn { target, signature, read })))
}

impl TextIn {
    fn read(&self, array: &ArrayRef) -> crate::error::Result<ArrayRef> {
        let texts = cast(array, &DataType::Utf8View)?;
        let texts = texts.as_string_view();
        let is_moment = matches!(self.target, DataType::Date32 | DataType::Timestamp(..));
        let has_words =
            |text: &str| trim_blanks(text).starts_with(|one: char| one.is_ascii_alphabetic());
        let has_words = is_moment && texts.iter().flatten().any(has_words);
        // Columns have microseconds.
        let is_stored = !has_words
            && !matches!(self.target, DataType::Interval(_) | DataType::Time64(_))
            && !matches!(&self.target, DataType::Timestamp(unit, _)
                if *unit != TimeUnit::Microsecond);
        if let Some(column_type) = stored_type(&self.target).filter(|_| is_stored) {
            let mut buffer = ColumnBuffer::new(column_type);
            for text in texts {
                match text {
                    Some(text) => push_syntax(text, &mut buffer)?,
                    None => buffer.push_null(),
                }
            }
            return Ok(buffer_array(&buffer)?);
        }
        let mut values = Vec::with_capacity(texts.len());
        let null = || ScalarValue::try_from(&self.target);
        for text in texts {
            let value = text.map(|text| (self.read.0)(text, &self.target)).transpose()?;
            values.push(match value.flatten() {
                Some(value) => value,
                None => null()?,
            });
        }
        if values.is_empty() {
            Ok(new_empty_array(&self.target))
        } else {
            Ok(ScalarValue::iter_to_array(values)?)
        }
    }
}

impl ScalarUDFImpl for TextIn {
    fn name(&self) -> &str {
        "nacre_text_in"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [one] if is_text(one) => Ok(self.target.clone()),
            _ => internal_err!("{} reads texts", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(arg) = args.args.into_iter().next() else {
            return internal_err!("{} reads texts", self.name());
        };
        let is_constant = matches!(arg, ColumnarValue::Scalar(_));
        let array = arg.into_array(if is_constant { 1 } else { args.number_rows })?;
        let read = self.read(&array).map_err(external)?;
        Ok(if is_constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&read, 0)?)
        } else {
            ColumnarValue::Array(read)
        })
    }
}
