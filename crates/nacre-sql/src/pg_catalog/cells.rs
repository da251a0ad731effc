//! Values of the catalogs, and the columns that they are put into.
//!
//! Rows of a catalog name only what they say; what they do not say is 0 in a column of numbers,
//! false in one of booleans, and null in any other.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, Int64Builder, ListBuilder, RecordBatch, StringViewArray, StringViewBuilder,
    TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Field, Float64Type, Int64Type, Schema, SchemaRef, TimeUnit,
};
use datafusion::common::Result;

use crate::pg_types::{PgType, TYPE_KEY};
use crate::types::{trim_blanks, zoned};

/// A value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Cell {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Cell>),
}

/// A row: what some of its columns hold.
pub(super) type Row = Vec<(&'static str, Cell)>;

/// A column: its name, and its type in the notation of the lists of columns.
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) type_name: &'a str,
}

impl Cell {
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Text(text) => trim_blanks(text).parse().ok(),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn is_int(&self) -> bool {
        matches!(self, Self::Int(_))
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the value as PostgreSQL writes it; `None` for null.
    pub(super) fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(value) => if *value { "t" } else { "f" }.to_owned(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(cells) => {
                let cells = cells.iter().map(|one| one.shown().unwrap_or("NULL".to_owned()));
                format!("{{{}}}", cells.collect::<Vec<_>>().join(","))
            }
        })
    }

    /// Returns a value of an array.
    pub(super) fn of(array: &ArrayRef, row: usize) -> Result<Self> {
        if array.is_null(row) {
            return Ok(Self::Null);
        }
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean().value(row)),
            DataType::Float32 | DataType::Float64 => {
                let one = cast(&array.slice(row, 1), &DataType::Float64)?;
                Self::Float(one.as_primitive::<Float64Type>().value(0))
            }
            DataType::Utf8View => Self::Text(array.as_string_view().value(row).to_owned()),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row).to_owned()),
            DataType::List(_) => {
                let values = array.as_list::<i32>().value(row);
                let cells = (0..values.len()).map(|place| Self::of(&values, place));
                Self::List(cells.collect::<Result<_>>()?)
            }
            data_type if data_type.is_integer() => {
                let one = cast(&array.slice(row, 1), &DataType::Int64)?;
                Self::Int(one.as_primitive::<Int64Type>().value(0))
            }
            _ => {
                let mut text = Vec::new();
                let written = crate::text::write_text(array, row, &mut text);
                written.map_err(|error| {
                    datafusion::common::DataFusionError::External(Box::new(error))
                })?;
                Self::Text(String::from_utf8_lossy(&text).into_owned())
            }
        })
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Cell {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Cell>> From<Vec<T>> for Cell {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// Reads a list of columns.
pub(super) fn columns(list: &'static str) -> impl Iterator<Item = Column<'static>> {
    list.split(',').filter_map(|one| {
        let (name, type_name) = one.trim().split_once(' ')?;
        Some(Column { name, type_name })
    })
}

/// Returns the field of a column.
pub(super) fn field(name: &str, type_name: &str) -> Field {
    let data_type = data_type(type_name);
    let field = Field::new(name, data_type.clone(), true);
    let element = type_name.strip_prefix('_').unwrap_or(type_name);
    let is_told = PgType::of_arrow(&data_type).name == type_name;
    match PgType::named(element) {
        Some(_) if !is_told => {
            field.with_metadata([(TYPE_KEY.to_owned(), element.to_owned())].into())
        }
        _ => field,
    }
}

/// Returns the Arrow type that stands for a type.
pub(super) fn data_type(type_name: &str) -> DataType {
    let list = |element| DataType::List(Arc::new(Field::new("item", element, true)));
    match type_name {
        "bool" => DataType::Boolean,
        "int2" => DataType::Int16,
        "int4" => DataType::Int32,
        "int8" | "oid" | "xid" | "cid" | "xid8" | "regproc" | "regtype" | "regclass" => {
            DataType::Int64
        }
        "float4" => DataType::Float32,
        "float8" => DataType::Float64,
        "timestamptz" => zoned(),
        "int2vector" => list(DataType::Int64),
        "oidvector" => list(DataType::Int64),
        _ => match type_name.strip_prefix('_') {
            Some("int2" | "oid" | "regtype" | "int4" | "int8") => list(DataType::Int64),
            Some(_) => list(DataType::Utf8View),
            None => DataType::Utf8View,
        },
    }
}

/// Puts rows into the columns of a list.
pub(super) fn batch(list: &'static str, has_zeros: bool, rows: &[Row]) -> Result<RecordBatch> {
    let schema = schema(list);
    let arrays = schema.fields().iter().map(|field| {
        let cells = rows.iter().map(|row| {
            let said = row.iter().find(|(name, _)| name == field.name());
            match said {
                Some((_, cell)) => cell.clone(),
                None if has_zeros => zero(field.data_type()),
                None => Cell::Null,
            }
        });
        array(field.data_type(), &cells.collect::<Vec<_>>())
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(schema, arrays)?)
}

/// Returns the schema of a list of columns.
pub(super) fn schema(list: &'static str) -> SchemaRef {
    let fields = columns(list).map(|column| field(column.name, column.type_name));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn zero(data_type: &DataType) -> Cell {
    match data_type {
        DataType::Boolean => Cell::Bool(false),
        data_type if data_type.is_integer() => Cell::Int(0),
        DataType::Float32 | DataType::Float64 => Cell::Float(0.0),
        _ => Cell::Null,
    }
}

/// Makes an array of cells; those that are not of its type are null.
pub(super) fn array(data_type: &DataType, cells: &[Cell]) -> Result<ArrayRef> {
    let ints = || cells.iter().map(Cell::int);
    let floats = || {
        cells.iter().map(|cell| match cell {
            Cell::Float(value) => Some(*value),
            Cell::Int(value) => Some(*value as f64),
            _ => None,
        })
    };
    Ok(match data_type {
        DataType::Boolean => {
            Arc::new(BooleanArray::from_iter(cells.iter().map(|cell| match cell {
                Cell::Bool(value) => Some(*value),
                _ => None,
            })))
        }
        DataType::Int16 => Arc::new(Int16Array::from_iter(
            ints().map(|value| value.and_then(|value| i16::try_from(value).ok())),
        )),
        DataType::Int32 => Arc::new(Int32Array::from_iter(
            ints().map(|value| value.and_then(|value| i32::try_from(value).ok())),
        )),
        DataType::Int64 => Arc::new(Int64Array::from_iter(ints())),
        // Microseconds, unless they are written as text.
        DataType::Timestamp(TimeUnit::Microsecond, zone) if cells.iter().any(Cell::is_int) => {
            Arc::new(TimestampMicrosecondArray::from_iter(ints()).with_timezone_opt(zone.clone()))
        }
        DataType::Float32 => {
            Arc::new(Float32Array::from_iter(floats().map(|value| value.map(|one| one as f32))))
        }
        DataType::Float64 => Arc::new(Float64Array::from_iter(floats())),
        DataType::Utf8View => Arc::new(cells.iter().map(Cell::shown).collect::<StringViewArray>()),
        DataType::List(element) if element.data_type() == &DataType::Int64 => {
            let mut lists = ListBuilder::new(Int64Builder::new());
            for cell in cells {
                let Cell::List(values) = cell else {
                    lists.append_null();
                    continue;
                };
                values.iter().for_each(|one| lists.values().append_option(one.int()));
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        DataType::List(element) if element.data_type() == &DataType::Utf8View => {
            let mut lists = ListBuilder::new(StringViewBuilder::new());
            for cell in cells {
                let Cell::List(values) = cell else {
                    lists.append_null();
                    continue;
                };
                values.iter().for_each(|one| lists.values().append_option(one.shown()));
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        DataType::List(element) => {
            let texts = DataType::List(Arc::new(Field::new("item", DataType::Utf8View, true)));
            let wanted = DataType::List(Arc::clone(element));
            cast(&array(&texts, cells)?, &wanted)?
        }
        other if cells.iter().all(Cell::is_null) => new_null_array(other, cells.len()),
        other => {
            let texts: ArrayRef =
                Arc::new(cells.iter().map(Cell::shown).collect::<StringViewArray>());
            cast(&texts, other)?
        }
    })
}
