//! Modes `json` and `jsonlines`: objects, one a row.
//!
//! Numbers are JSON numbers with every digit they have, decimals included; floats that JSON has no
//! number for are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. Arrays, lists and structs
//! nest.
//! Everything else is the string that the other modes show. Two columns of one name give an object
//! with that name twice.

use std::fmt::Write as _;
use std::io::{self, Write};

use nacre_sql::datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use nacre_sql::datafusion::arrow::datatypes::{DataType, Field, Schema};
use nacre_sql::{PgType, TYPE_KEY};
use nacre_types::catalog::TypeOid;
use nacre_types::{ArrayDimension, SqlArray, SqlType, SqlValue, TypeKind, ValueSettings};

use super::mode::{Renderer, column_names, is_number};
use crate::cli::value::ColumnText;

/// How the objects of a result set are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One array.
    Array,
    /// One object a line, no commas.
    Lines,
}

/// Renders a result set as JSON.
pub(super) struct JsonRenderer {
    /// Names with quotes and the colon after them.
    keys: Vec<String>,
    layout: Layout,
    is_first: bool,
}

impl JsonRenderer {
    pub(super) fn new(schema: &Schema, layout: Layout) -> Self {
        Self { keys: keys(&column_names(schema)), layout, is_first: true }
    }
}

impl Renderer for JsonRenderer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.layout == Layout::Array { out.write_all(b"[") } else { Ok(()) }
    }

    fn rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let values: io::Result<Vec<_>> =
            columns.map(|(field, array)| JsonColumn::of(field, array)).collect();
        let values = values?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            text.clear();
            if self.layout == Layout::Array && !self.is_first {
                text.push_str(",\n");
            }
            self.is_first = false;
            push_object(&self.keys, &values, row, &mut text);
            text.push_str(if self.layout == Layout::Lines { "\n" } else { "" });
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.layout == Layout::Array { out.write_all(b"]\n") } else { Ok(()) }
    }
}

/// Writes the values of one column as JSON.
struct JsonColumn<'a> {
    text: ColumnText<'a>,
    shape: Shape<'a>,
}

enum Shape<'a> {
    /// The text is a JSON number, or `true` or `false`.
    Bare,
    /// The text is a JSON number, or a name that needs quotes.
    Float,
    Quoted,
    /// The text is an array of this type.
    Array(SqlType),
    /// The lists' elements, row by row.
    List(Box<dyn Fn(usize) -> ArrayRef + 'a>),
    Object(Vec<String>, Vec<JsonColumn<'a>>),
}

impl<'a> JsonColumn<'a> {
    fn of(field: &Field, array: &'a ArrayRef) -> io::Result<Self> {
        let column = Self::new(array)?;
        if let (Shape::Quoted, Some(sql_type)) = (&column.shape, array_type(field)) {
            return Ok(Self { shape: Shape::Array(sql_type), ..column });
        }
        // Numbers that came as texts may be `NaN`.
        let is_text = matches!(column.shape, Shape::Quoted) && is_number(field);
        Ok(if is_text { Self { shape: Shape::Float, ..column } } else { column })
    }

    fn new(array: &'a ArrayRef) -> io::Result<Self> {
        let shape = match array.data_type() {
            DataType::Boolean => Shape::Bare,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Shape::Float,
            other if other.is_numeric() => Shape::Bare,
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                Shape::List(Box::new(|row| lists.value(row)))
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                Shape::List(Box::new(|row| lists.value(row)))
            }
            DataType::FixedSizeList(..) => {
                let lists = array.as_fixed_size_list();
                Shape::List(Box::new(|row| lists.value(row)))
            }
            DataType::Struct(_) => object_shape(array.as_struct())?,
            _ => Shape::Quoted,
        };
        Ok(Self { text: ColumnText::new(array).map_err(io::Error::other)?, shape })
    }

    fn write(&self, row: usize, out: &mut String) {
        if self.text.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.shape {
            Shape::Bare => self.text.write(row, out),
            Shape::Float => {
                let start = out.len();
                self.text.write(row, out);
                if out[start..].ends_with(|c: char| !c.is_ascii_digit()) {
                    out.insert(start, '"');
                    out.push('"');
                }
            }
            Shape::Quoted => {
                let mut text = String::new();
                self.text.write(row, &mut text);
                push_string(&text, out);
            }
            Shape::Array(sql_type) => {
                let mut text = String::new();
                self.text.write(row, &mut text);
                match SqlValue::parse(&text, *sql_type, &ValueSettings::default()) {
                    Ok(SqlValue::Array(array)) => push_array(&array, out),
                    _ => push_string(&text, out),
                }
            }
            Shape::List(elements) => push_list(&elements(row), out),
            Shape::Object(keys, values) => push_object(keys, values, row, out),
        }
    }
}

fn object_shape(array: &StructArray) -> io::Result<Shape<'_>> {
    let names: Vec<String> = array.fields().iter().map(|field| field.name().clone()).collect();
    let values: io::Result<Vec<_>> = array.columns().iter().map(JsonColumn::new).collect();
    Ok(Shape::Object(keys(&names), values?))
}

fn keys(names: &[String]) -> Vec<String> {
    let key = |name: &String| {
        let mut key = String::new();
        push_string(name, &mut key);
        key.push(':');
        key
    };
    names.iter().map(key).collect()
}

fn push_object(keys: &[String], values: &[JsonColumn<'_>], row: usize, out: &mut String) {
    out.push('{');
    for (index, (key, value)) in keys.iter().zip(values).enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        out.push_str(key);
        value.write(row, out);
    }
    out.push('}');
}

/// Returns the type of arrays that come as texts.
fn array_type(field: &Field) -> Option<SqlType> {
    field.metadata().get(TYPE_KEY)?;
    let sql_type = SqlType::new(TypeOid(PgType::of_field(field).1));
    matches!(sql_type.kind(), TypeKind::Array(_)).then_some(sql_type)
}

/// Appends an array, an inner one for each element of an outer dimension.
fn push_array(array: &SqlArray, out: &mut String) {
    push_dimension(array.elements(), array.dimensions(), array.element_type(), out);
}

fn push_dimension(
    elements: &[SqlValue],
    dimensions: &[ArrayDimension],
    element_type: SqlType,
    out: &mut String,
) {
    out.push('[');
    match dimensions {
        [outer, inner @ ..] if !inner.is_empty() => {
            let length = (elements.len() / outer.length.max(1)).max(1);
            for (index, part) in elements.chunks(length).enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                push_dimension(part, inner, element_type, out);
            }
        }
        _ => {
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                push_element(element, element_type, out);
            }
        }
    }
    out.push(']');
}

fn push_element(element: &SqlValue, element_type: SqlType, out: &mut String) {
    let text = element.to_text(element_type, &ValueSettings::default());
    let Some(text) = text else { return out.push_str("null") };
    match element_type.kind() {
        TypeKind::Boolean => out.push_str(if text == "t" { "true" } else { "false" }),
        TypeKind::SmallInt
        | TypeKind::Integer
        | TypeKind::BigInt
        | TypeKind::Real
        | TypeKind::Double
        | TypeKind::Numeric(_)
            if text.ends_with(|one: char| one.is_ascii_digit()) =>
        {
            out.push_str(&text);
        }
        _ => push_string(&text, out),
    }
}

fn push_list(elements: &ArrayRef, out: &mut String) {
    // A list whose elements have no text form is shown as null; the planner makes no such lists.
    let Ok(values) = JsonColumn::new(elements) else {
        out.push_str("null");
        return;
    };
    out.push('[');
    for row in 0..elements.len() {
        out.push_str(if row > 0 { "," } else { "" });
        values.write(row, out);
    }
    out.push(']');
}

/// Appends a JSON string.
fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if u32::from(c) < 0x20 || c == '\u{7f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
