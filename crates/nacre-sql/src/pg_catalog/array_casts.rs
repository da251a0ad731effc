//! Casts to arrays: `x::int4[]` is `nacre_int4_array(x)`, `x::numeric(8,2)[]` is
//! `nacre_numeric_array(x, 8, 2)`, and `x::varchar(3)[]` is `nacre_varchar_array(x, 3)`.
//!
//! A text is read as an array. The elements of an array are cast as values are: numbers are rounded
//! to whole ones, texts are read by PostgreSQL's syntax, and everything can be written as a text.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, StringViewArray, StringViewBuilder, new_null_array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use nacre_column::ColumnBuffer;

use super::arrays::parse_array;
use super::definitions::type_name;
use super::typed::{ARRAYS, array_field};
use crate::dml::push_syntax;
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::external;
use crate::functions::decimals_of_floats;
use crate::pg_types::PgType;
use crate::prepared::{numeric, uuid};
use crate::scan::buffer_array;
use crate::text::write_text;
use crate::types::{is_text, stored_type};

/// Digits behind the point of a float that becomes a numeric.
const FLOAT_SCALE: i8 = 10;

/// Returns the functions.
pub(super) fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    ARRAYS
        .into_iter()
        .map(|(element, name)| Arc::new(ScalarUDF::new_from_impl(ArrayCast::new(element, name))))
}

/// A cast to arrays.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayCast {
    name: &'static str,
    /// The type of the elements.
    element: &'static str,
    signature: Signature,
}

impl ArrayCast {
    fn new(element: &'static str, name: &'static str) -> Self {
        let counts = (1..=3).map(TypeSignature::Any).collect();
        Self { name, element, signature: Signature::one_of(counts, Volatility::Stable) }
    }

    /// Returns the field of the arrays; `text` is the array, where it is known.
    fn field(&self, from: &Field, text: Option<&str>, modifiers: &[i64]) -> Result<Field> {
        let mut decimal = match *modifiers {
            [precision, scale] if self.element == "numeric" => decimal(precision, scale),
            _ => None,
        };
        match from.data_type() {
            DataType::Null => {}
            data_type if is_text(data_type) => {}
            DataType::List(element) => {
                self.check(from, element.data_type())?;
                if modifiers.is_empty() && self.is_same(from) {
                    return Ok(from.clone().with_name(self.name).with_nullable(true));
                }
                if self.element == "numeric" && decimal.is_none() {
                    decimal = match element.data_type() {
                        DataType::Decimal128(_, scale) => Some(DataType::Decimal128(38, *scale)),
                        element if element.is_integer() => Some(DataType::Decimal128(38, 0)),
                        element if element.is_floating() => {
                            Some(DataType::Decimal128(38, FLOAT_SCALE))
                        }
                        _ => None,
                    };
                }
            }
            _ => return Err(self.no_cast(PgType::of_field(from).1)),
        }
        let field = array_field(self.name, self.element, text);
        Ok(match decimal {
            Some(decimal) => {
                let item = Arc::new(Field::new("item", decimal, true));
                field.with_data_type(DataType::List(item))
            }
            None => field,
        })
    }

    /// Whether arrays are already what they are cast to. Vectors are arrays that count from 0.
    fn is_same(&self, from: &Field) -> bool {
        match (PgType::of_field(from).0.name, self.element) {
            ("int2vector", "int2") | ("oidvector", "oid") => true,
            (one, other) => one == other,
        }
    }

    /// Refuses what PostgreSQL has no cast for, and arrays of arrays.
    fn check(&self, from: &Field, element: &DataType) -> Result<()> {
        if matches!(element, DataType::List(_)) {
            return Err(several_dimensions());
        }
        let is_moment = matches!(element, DataType::Date32 | DataType::Timestamp(..));
        let is_there = match self.element {
            "bool" => element.is_integer(),
            "int4" => element.is_numeric() || element == &DataType::Boolean,
            "int2" | "int8" | "float4" | "float8" | "numeric" => element.is_numeric(),
            "oid" | "xid" | "regtype" => element.is_integer(),
            "date" | "timestamp" | "timestamptz" => is_moment,
            "text" | "varchar" | "bpchar" | "name" => true,
            _ => false,
        };
        match is_there || is_text(element) || element == &DataType::Null || self.is_same(from) {
            true => Ok(()),
            false => Err(self.no_cast(PgType::of_field(from).1)),
        }
    }

    fn no_cast(&self, from: u32) -> Error {
        let to = PgType::named(self.element).map_or(0, |element| element.array_oid);
        let (from, to) = (type_name(from, None), type_name(to, None));
        let message = format!("cannot cast type {from} to {to}");
        Error::new(ErrorKind::InvalidStatement, message).with_code("42846")
    }

    /// Casts arrays, or texts of arrays, to arrays of type `to`; texts have at most `chars`
    /// characters.
    fn lists(&self, array: &ArrayRef, to: &DataType, chars: Option<usize>) -> Result<ArrayRef> {
        let DataType::List(item) = to else {
            let message = format!("{} returns {to}", self.name);
            return Err(Error::new(ErrorKind::Internal, message));
        };
        let (lengths, values, nulls) = match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                let lengths: Vec<usize> = lists.offsets().lengths().collect();
                let first = lists.value_offsets().first().copied().unwrap_or(0);
                let begin = usize::try_from(first).unwrap_or(0);
                let values = lists.values().slice(begin, lengths.iter().sum());
                let values = self.elements(&values, item.data_type(), chars)?;
                (lengths, values, lists.nulls().cloned())
            }
            _ => {
                let texts = cast(array, &DataType::Utf8View)?;
                let (mut lengths, mut elements) = (Vec::with_capacity(texts.len()), Vec::new());
                for text in texts.as_string_view() {
                    let before = elements.len();
                    elements.extend(text.map(parse_array).transpose()?.unwrap_or_default());
                    lengths.push(elements.len() - before);
                }
                let elements = elements.iter().map(Option::as_deref);
                let values = self.read(elements, item.data_type(), chars)?;
                (lengths, values, texts.nulls().cloned())
            }
        };
        let offsets = OffsetBuffer::from_lengths(lengths);
        Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, nulls)?))
    }

    fn elements(&self, values: &ArrayRef, to: &DataType, chars: Option<usize>) -> Result<ArrayRef> {
        let from = values.data_type();
        if from == &DataType::Null {
            return Ok(new_null_array(to, values.len()));
        }
        if is_text(to) {
            return self.written(values, chars);
        }
        if is_text(from) {
            let texts = cast(values, &DataType::Utf8View)?;
            return self.read(texts.as_string_view().iter(), to, chars);
        }
        if let (true, DataType::Decimal128(precision, scale)) = (from.is_floating(), to) {
            return decimals_of_floats(values, *precision, *scale);
        }
        let rounded: ArrayRef = match from {
            // The cast between decimals rounds half away from zero.
            DataType::Decimal128(precision, scale) if *scale > 0 && to.is_integer() => {
                strictly(values, &DataType::Decimal128(*precision, 0))?
            }
            DataType::Float32 | DataType::Float64 if to.is_integer() => {
                let floats = cast(values, &DataType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                Arc::new(floats.unary::<_, Float64Type>(f64::round_ties_even))
            }
            _ => Arc::clone(values),
        };
        strictly(&rounded, to)
    }

    /// Writes elements as texts.
    fn written(&self, values: &ArrayRef, chars: Option<usize>) -> Result<ArrayRef> {
        let mut made = StringViewBuilder::with_capacity(values.len());
        let mut text = Vec::new();
        for row in 0..values.len() {
            if values.is_null(row) {
                made.append_null();
                continue;
            }
            text.clear();
            match values.data_type() {
                DataType::Boolean if values.as_boolean().value(row) => text.extend(b"true"),
                DataType::Boolean => text.extend(b"false"),
                _ => {
                    write_text(values, row, &mut text)?;
                }
            }
            made.append_value(self.text(&String::from_utf8_lossy(&text), chars)?);
        }
        Ok(Arc::new(made.finish()))
    }

    /// Returns a text as an element of arrays of texts.
    fn text(&self, text: &str, chars: Option<usize>) -> Result<String> {
        if self.element == "uuid" {
            return uuid(text);
        }
        let Some(chars) = chars else { return Ok(text.to_owned()) };
        let cut = text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end]);
        let is_padded = self.element == "bpchar";
        Ok(if is_padded { cut.trim_end_matches(' ') } else { cut }.to_owned())
    }

    /// Reads elements.
    fn read<'a>(
        &self,
        texts: impl Iterator<Item = Option<&'a str>>,
        to: &DataType,
        chars: Option<usize>,
    ) -> Result<ArrayRef> {
        if is_text(to) {
            let mut made = StringViewBuilder::new();
            for text in texts {
                made.append_option(text.map(|text| self.text(text, chars)).transpose()?);
            }
            return Ok(Arc::new(made.finish()));
        }
        let Some(column_type) = stored_type(to) else {
            return Err(Error::not_supported(format_args!("arrays of {}", self.element)));
        };
        let mut buffer = ColumnBuffer::new(column_type);
        for text in texts {
            match text {
                None => buffer.push_null(),
                Some(text) if self.element == "numeric" => {
                    push_syntax(&numeric(text)?, &mut buffer)?;
                }
                Some(text) => push_syntax(text, &mut buffer)?,
            }
        }
        Ok(buffer_array(&buffer)?)
    }
}

/// Reads a text as an array of a type of arrays.
///
/// # Errors
/// 22P02 and the like.
pub(crate) fn read_array(text: &str, list: &DataType) -> Result<ScalarValue> {
    let element = match list {
        DataType::List(item) => PgType::of_arrow(item.data_type()).name,
        _ => "text",
    };
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec![text]));
    let lists = ArrayCast::new(element, "array").lists(&texts, list, None)?;
    Ok(ScalarValue::try_from_array(&lists, 0)?)
}

/// Returns the type of decimals of so many digits; `None` if there are none.
fn decimal(precision: i64, scale: i64) -> Option<DataType> {
    let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(scale).ok()?);
    Some(DataType::Decimal128(precision, scale))
}

/// Returns the error for an array of arrays.
pub(super) fn several_dimensions() -> Error {
    Error::not_supported("arrays of more than one dimension")
}

/// Casts values; those that do not fit are an error.
fn strictly(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(values, to, &options)?)
}

/// Returns a modifier of the type, such as a length.
fn modifier(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int64(value) => *value,
        _ => None,
    }
}

impl ScalarUDFImpl for ArrayCast {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> datafusion::common::Result<DataType> {
        let from = types.first().cloned().unwrap_or(DataType::Null);
        let field = self.field(&Field::new("", from, true), None, &[]).map_err(external)?;
        Ok(field.data_type().clone())
    }

    fn return_field_from_args(
        &self,
        args: ReturnFieldArgs<'_>,
    ) -> datafusion::common::Result<FieldRef> {
        let null = Field::new("", DataType::Null, true);
        let from = args.arg_fields.first().map_or(&null, |field| field.as_ref());
        let literal = args.scalar_arguments.first().copied().flatten();
        let text = literal.and_then(|value| value.try_as_str().flatten());
        let modifiers: Vec<i64> = args
            .scalar_arguments
            .iter()
            .skip(1)
            .filter_map(|value| value.and_then(modifier))
            .collect();
        Ok(Arc::new(self.field(from, text, &modifiers).map_err(external)?))
    }

    fn invoke_with_args(
        &self,
        args: ScalarFunctionArgs,
    ) -> datafusion::common::Result<ColumnarValue> {
        let are_scalars = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if are_scalars { 1 } else { args.number_rows };
        let from = args.arg_fields.first();
        let is_kept = args.args.len() == 1 && from.is_some_and(|from| self.is_same(from));
        let to = args.return_field.data_type();
        let mut values = args.args.into_iter();
        let Some(value) = values.next() else {
            let message = format!("{} without a value", self.name);
            return Err(DataFusionError::Internal(message));
        };
        let chars = values.next().and_then(|chars| match chars {
            ColumnarValue::Scalar(chars) => usize::try_from(modifier(&chars)?).ok(),
            ColumnarValue::Array(_) => None,
        });
        let array = value.into_array(rows)?;
        let lists = match is_kept && array.data_type() == to {
            true => array,
            false => self.lists(&array, to, chars).map_err(external)?,
        };
        Ok(match are_scalars {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&lists, 0)?),
            false => ColumnarValue::Array(lists),
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::StringArray;

    use super::*;

    /// Casts a text to arrays of one type, these to arrays of another, and writes them.
    fn cast_by(steps: &[(&'static str, &[i64])], text: &str) -> Result<String> {
        let mut array: ArrayRef = Arc::new(StringArray::from(vec![Some(text), None]));
        let mut field = Field::new("x", DataType::Utf8, true);
        for &(element, modifiers) in steps {
            let made = ArrayCast::new(element, "made");
            let known = (field.data_type() == &DataType::Utf8).then_some(text);
            field = made.field(&field, known, modifiers)?;
            let chars = modifiers.first().and_then(|chars| usize::try_from(*chars).ok());
            array = made.lists(&array, field.data_type(), chars)?;
            assert!(array.is_valid(0) && array.is_null(1));
        }
        let mut text = Vec::new();
        write_text(&array, 0, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn elements_are_cast_as_values_are() {
        for (from, to, text, expected) in [
            ("int2", "int4", "{1000,NULL}", "{1000,NULL}"),
            ("numeric", "int4", "{1.5,2.5,-2.5}", "{2,3,-3}"),
            ("float8", "int8", "{1.5,2.5,-2.5}", "{2,2,-2}"),
            ("bool", "text", "{t,f}", "{true,false}"),
            ("bool", "int4", "{t,f}", "{1,0}"),
            ("int4", "bool", "{2,0}", "{t,f}"),
            ("int4", "numeric", "{1,2}", "{1,2}"),
            ("text", "int4", "{1,\" 2 \"}", "{1,2}"),
            ("text", "date", "{2026-01-01}", "{2026-01-01}"),
            ("date", "timestamp", "{2026-01-01}", "{\"2026-01-01 00:00:00\"}"),
            ("timestamp", "date", "{2026-01-01 10:00:00}", "{2026-01-01}"),
            ("float8", "text", "{1e20,0.5}", "{1e+20,0.5}"),
            ("int4", "text", "{}", "{}"),
        ] {
            let steps: [(_, &[i64]); 2] = [(from, &[]), (to, &[])];
            let made = cast_by(&steps, text).unwrap();
            assert_eq!(made, expected, "{from} to {to}");
        }
    }

    #[test]
    fn lengths_and_digits_of_types_are_kept() {
        let read = |element, modifiers: &[i64], text| cast_by(&[(element, modifiers)], text);
        assert_eq!(read("numeric", &[8, 2], "{1.5,2.005}").unwrap(), "{1.50,2.01}");
        let steps: [(_, &[i64]); 2] = [("numeric", &[]), ("numeric", &[8, 2])];
        assert_eq!(cast_by(&steps, "{1.555}").unwrap(), "{1.56}");
        assert_eq!(
            read("varchar", &[2], "{abc,\u{e4},\u{f6}\u{fc}\u{df}}").unwrap(),
            "{ab,\u{e4},\u{f6}\u{fc}}"
        );
        assert_eq!(read("bpchar", &[3], "{abcd,\"a  \"}").unwrap(), "{abc,a}");
        assert_eq!(read("numeric", &[3, 2], "{12.5}").unwrap_err().sqlstate(), "22003");
    }

    #[test]
    fn what_has_no_cast_is_refused() {
        for (from, to, text, code) in [
            ("int4", "int2", "{70000}", "22003"),
            ("date", "int4", "{2026-01-01}", "42846"),
            ("bool", "int2", "{t}", "42846"),
            ("int4", "uuid", "{1}", "42846"),
            ("text", "int4", "{x}", "22P02"),
        ] {
            let steps: [(_, &[i64]); 2] = [(from, &[]), (to, &[])];
            let error = cast_by(&steps, text).unwrap_err();
            assert_eq!(error.sqlstate(), code, "{from} to {to}: {}", error.message());
        }
    }
}
