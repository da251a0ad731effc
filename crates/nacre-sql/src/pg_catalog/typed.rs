//! Values of types that only clients know, and the types of arrays.
//!
//! `'{1,2}'::int4[]`, and a list that a client binds, is `nacre_int4_array('{1,2}')`: a list of
//! 32-bit integers ([`super::array_casts`]). A `json` or `varchar` is a text that is called so.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::ValueRef;

use super::arrays::parse_array;
use super::cells::Cell;
use super::functions::{Call, Definition, Returns, define};
use crate::dml::push_syntax;
use crate::error::Result;
use crate::pg_types::{PgType, TYPE_KEY};
use crate::prepared::{numeric, uuid, value_text};
use crate::types::zoned;

/// Types of elements, and the functions that make arrays of them.
pub(super) const ARRAYS: [(&str, &str); 20] = [
    ("bool", "nacre_bool_array"),
    ("int2", "nacre_int2_array"),
    ("int4", "nacre_int4_array"),
    ("int8", "nacre_int8_array"),
    ("oid", "nacre_oid_array"),
    ("xid", "nacre_xid_array"),
    ("regtype", "nacre_regtype_array"),
    ("float4", "nacre_float4_array"),
    ("float8", "nacre_float8_array"),
    ("numeric", "nacre_numeric_array"),
    ("date", "nacre_date_array"),
    ("timestamp", "nacre_timestamp_array"),
    ("timestamptz", "nacre_timestamptz_array"),
    ("text", "nacre_text_array"),
    ("varchar", "nacre_varchar_array"),
    ("bpchar", "nacre_bpchar_array"),
    ("name", "nacre_name_array"),
    ("char", "nacre_char_array"),
    ("json", "nacre_json_array"),
    ("uuid", "nacre_uuid_array"),
];

/// Types whose values are texts, and the functions that call a text so.
const TEXTS: [(&str, &str); 6] = [
    ("varchar", "nacre_varchar"),
    ("bpchar", "nacre_bpchar"),
    ("name", "nacre_name"),
    ("char", "nacre_char"),
    ("json", "nacre_json"),
    ("uuid", "nacre_uuid"),
];

/// The function that calls a value that is kept as text a text.
pub(super) const AS_TEXT: &str = "nacre_text";

/// Returns the functions.
pub(super) fn functions() -> impl Iterator<Item = Definition> {
    TEXTS
        .into_iter()
        .chain([("text", AS_TEXT)])
        .map(|(type_name, name)| define(name, (1, 1), Returns::Named(type_name), text_of))
}

/// Returns the function that makes arrays of a type; `None` if there are no such arrays.
pub(crate) fn array_function(element: PgType) -> Option<&'static str> {
    ARRAYS.iter().find(|(known, _)| *known == element.name).map(|(_, function)| *function)
}

/// Returns the function that calls a text a value of a type; `None` for other types.
pub(crate) fn text_function(type_name: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == type_name).map(|(_, function)| *function)
}

/// Whether a function returns the text of a type.
pub(super) fn is_text_function(name: &str) -> bool {
    TEXTS.iter().any(|(_, known)| *known == name)
}

/// Returns the type of the elements of the arrays that a function makes.
pub(super) fn element_of(function: &str) -> Option<PgType> {
    let found = ARRAYS.iter().find(|(_, known)| *known == function)?;
    PgType::named(found.0)
}

/// Reads an array of one dimension and returns its elements as they are written; `None` is null.
///
/// # Errors
/// 22P02 and the like.
pub(crate) fn array_elements(text: &str, element: PgType) -> Result<Vec<Option<String>>> {
    let elements = parse_array(text)?.into_iter();
    elements.map(|one| one.map(|text| written(&text, element)).transpose()).collect()
}

/// Reads a value and returns it as it is written.
fn written(text: &str, pg_type: PgType) -> Result<String> {
    match pg_type.name {
        "numeric" => return numeric(text),
        "uuid" => return uuid(text),
        _ => {}
    }
    match pg_type.parameter() {
        None | Some(ColumnType::Varchar { .. }) => Ok(text.to_owned()),
        Some(column) => {
            let mut buffer = ColumnBuffer::new(column);
            push_syntax(text, &mut buffer)?;
            value_text(column, &ValueRef::of(&buffer, 0).to_value())
        }
    }
}

fn text_of(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let Some(text) = args[0].shown() else { return Ok(Cell::Null) };
    Ok(if call.name == "nacre_uuid" { uuid(&text)? } else { text }.into())
}

/// Returns the field of arrays of a type; `text` is the array, where it is known.
pub(super) fn array_field(name: &str, element: &str, text: Option<&str>) -> Field {
    let data_type = match element {
        "bool" => DataType::Boolean,
        "int2" => DataType::Int16,
        "int4" => DataType::Int32,
        "int8" | "oid" | "xid" | "regtype" => DataType::Int64,
        "float4" => DataType::Float32,
        "float8" => DataType::Float64,
        "numeric" => DataType::Decimal128(38, scale_of(text)),
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => zoned(),
        _ => DataType::Utf8View,
    };
    let is_told = PgType::of_arrow(&data_type).name == element;
    let item = Arc::new(Field::new("item", data_type, true));
    let field = Field::new(name, DataType::List(item), true);
    match is_told {
        true => field,
        false => field.with_metadata([(TYPE_KEY.to_owned(), element.to_owned())].into()),
    }
}

/// Returns the most digits behind the point of numbers in an array.
fn scale_of(text: Option<&str>) -> i8 {
    let Some(text) = text else { return 18 };
    let numbers = PgType::named("numeric").map(|numeric| array_elements(text, numeric));
    let Some(Ok(numbers)) = numbers else { return 18 };
    let scales = numbers
        .iter()
        .flatten()
        .map(|number| number.split_once('.').map_or(0, |(_, fraction)| fraction.len()));
    scales.max().and_then(|scale| i8::try_from(scale).ok()).unwrap_or(0)
}
