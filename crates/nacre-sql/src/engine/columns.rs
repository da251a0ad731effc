//! Answers of the executor as Arrow arrays, which clients of a session take.
//!
//! What Arrow has no type for is a text that says what it is ([`TYPE_KEY`]): a numeric whose digits
//! depend on the value, such as an average, arrays, which may have any dimensions and bounds, rows,
//! `timetz` and strings of bits.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryViewBuilder, BooleanArray, Decimal128Array, Float32Array,
    Float64Array, IntervalMonthDayNanoArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringViewBuilder, Time64MicrosecondArray,
};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalUnit, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType,
};
use nacre_exec::lower::{OutputForm, QueryOutput};
use nacre_exec::vector::ResultBatch;
use nacre_exec::vector::{BitVector, ColumnVector, VectorValues};
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlInterval, SqlType, SqlValue, TypeKind, ValueSettings};

use super::errors::from_exec;
use crate::error::{Error, ErrorKind, Result};
use crate::pg_types::{ColumnOrigin, PgType, TYPE_KEY};
use crate::types::{UTC, zoned};

/// Where an output comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputSource {
    pub(super) origin: Option<ColumnOrigin>,
    pub(super) is_nullable: bool,
}

/// Returns the fields of an answer, of which each has a source.
///
/// # Errors
/// `not supported` for types that no array has.
pub(super) fn answer_schema(
    outputs: &[QueryOutput],
    sources: &[OutputSource],
) -> Result<SchemaRef> {
    let mut fields = Vec::with_capacity(outputs.len());
    for (output, source) in outputs.iter().zip(sources) {
        let mut field = Field::new(&output.name, arrow_type(output)?, source.is_nullable);
        // Clients read names of objects as texts.
        let entry = output.sql_type.entry().filter(|_| !is_name_of_object(output.sql_type));
        if let Some(entry) = entry.filter(|entry| PgType::of_field(&field).0.name != entry.name) {
            field.metadata_mut().insert(TYPE_KEY.to_owned(), entry.name.to_owned());
        }
        fields.push(match source.origin {
            Some(origin) => origin.noted_in(field),
            None => field,
        });
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Whether texts of a type are names of objects.
fn is_name_of_object(sql_type: SqlType) -> bool {
    matches!(sql_type.kind(), TypeKind::Oid(oid) if oid != TypeOid::OID)
}

fn arrow_type(output: &QueryOutput) -> Result<DataType> {
    if let OutputForm::Decimal { digits, scale, .. } = output.form() {
        // The scale is at most 38.
        return Ok(DataType::Decimal128(digits, scale as i8));
    }
    Ok(match output.sql_type.kind() {
        TypeKind::Boolean => DataType::Boolean,
        TypeKind::SmallInt => DataType::Int16,
        TypeKind::Integer => DataType::Int32,
        TypeKind::BigInt => DataType::Int64,
        TypeKind::Real => DataType::Float32,
        TypeKind::Double => DataType::Float64,
        TypeKind::Date => DataType::Date32,
        TypeKind::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
        TypeKind::TimestampTz(_) => zoned(),
        TypeKind::Text | TypeKind::Varchar(_) | TypeKind::Bpchar(_) | TypeKind::Numeric(_) => {
            DataType::Utf8View
        }
        TypeKind::Bytea => DataType::BinaryView,
        TypeKind::Interval(..) => DataType::Interval(IntervalUnit::MonthDayNano),
        TypeKind::Time(_) => DataType::Time64(TimeUnit::Microsecond),
        TypeKind::Oid(TypeOid::OID) | TypeKind::TransactionId(_) => DataType::Int64,
        TypeKind::Uuid
        | TypeKind::Oid(_)
        | TypeKind::CatalogText(_)
        | TypeKind::Json
        | TypeKind::Name
        | TypeKind::Char
        | TypeKind::TimeTz(_)
        | TypeKind::Bit(_)
        | TypeKind::Varbit(_)
        | TypeKind::Array(_)
        | TypeKind::Record => DataType::Utf8View,
        _ => return Err(Error::not_supported(format_args!("an answer of {}", output.sql_type))),
    })
}

/// Makes the rows of an answer; `settings` are those of texts that clients are sent.
///
/// # Errors
/// `Internal` if the rows are not of the outputs.
pub(super) fn record_batch(
    schema: &SchemaRef,
    outputs: &[QueryOutput],
    batch: &ResultBatch,
    settings: &ValueSettings,
) -> Result<RecordBatch> {
    let arrays = outputs.iter().map(|output| output_array(output, batch, settings));
    let arrays = arrays.collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
        .map_err(|error| internal(error.to_string()))
}

fn internal(message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, format!("internal error in an answer: {message}"))
}

fn output_array(
    output: &QueryOutput,
    batch: &ResultBatch,
    settings: &ValueSettings,
) -> Result<ArrayRef> {
    let column = |index: usize| {
        let column = batch.columns.get(index).filter(|column| column.values.len() >= batch.rows);
        column.ok_or_else(|| internal(format_args!("column {index} is missing")))
    };
    match output.form() {
        OutputForm::Computed => computed_array(output, batch, settings),
        OutputForm::Decimal { index, digits, scale } => {
            let column = column(index)?;
            let values = whole_numbers(&column.values, batch.rows)?;
            let array = Decimal128Array::new(values.into(), null_buffer(column, batch.rows));
            let array = array.with_precision_and_scale(digits, scale as i8);
            Ok(Arc::new(array.map_err(internal)?))
        }
        OutputForm::Plain { index } => plain_array(column(index)?, output.sql_type, batch.rows),
    }
}

/// Makes an array of values that are those of the type.
fn plain_array(column: &ColumnVector, sql_type: SqlType, rows: usize) -> Result<ArrayRef> {
    let nulls = || null_buffer(column, rows);
    Ok(match (&column.values, sql_type.kind()) {
        (VectorValues::Bool(values), TypeKind::Boolean) => {
            Arc::new(BooleanArray::new(boolean_buffer(values, rows), nulls()))
        }
        (VectorValues::Float32(values), TypeKind::Real) => {
            Arc::new(Float32Array::new(values[..rows].to_vec().into(), nulls()))
        }
        (VectorValues::Float64(values), TypeKind::Double) => {
            Arc::new(Float64Array::new(values[..rows].to_vec().into(), nulls()))
        }
        (values, TypeKind::SmallInt) => number_array::<Int16Type>(values, rows, nulls())?,
        (values, TypeKind::Integer) => number_array::<Int32Type>(values, rows, nulls())?,
        (values, TypeKind::BigInt) => number_array::<Int64Type>(values, rows, nulls())?,
        (values, TypeKind::Date) => number_array::<Date32Type>(values, rows, nulls())?,
        (values, TypeKind::Timestamp(_)) => {
            number_array::<TimestampMicrosecondType>(values, rows, nulls())?
        }
        (values, TypeKind::TimestampTz(_)) => {
            let micros: Vec<i64> = whole_numbers(values, rows)?;
            let array = PrimitiveArray::<TimestampMicrosecondType>::new(micros.into(), nulls());
            Arc::new(array.with_timezone(UTC))
        }
        (VectorValues::Bytes(_) | VectorValues::Code(_), TypeKind::Bytea) => {
            let mut builder = BinaryViewBuilder::with_capacity(rows);
            each_string(column, rows, |value| {
                builder.append_option(value);
                Ok(())
            })?;
            Arc::new(builder.finish())
        }
        (VectorValues::Bytes(_) | VectorValues::Code(_), _) => {
            let mut builder = StringViewBuilder::with_capacity(rows);
            each_string(column, rows, |value| {
                let text = value.map(std::str::from_utf8).transpose().map_err(internal)?;
                builder.append_option(text);
                Ok(())
            })?;
            Arc::new(builder.finish())
        }
        (values, _) => {
            let found = values.vector_type();
            return Err(internal(format_args!("{found:?} for an output of type {sql_type}")));
        }
    })
}

/// Makes an array of what has to be computed value by value.
fn computed_array(
    output: &QueryOutput,
    batch: &ResultBatch,
    settings: &ValueSettings,
) -> Result<ArrayRef> {
    match output.sql_type.kind() {
        TypeKind::Interval(..) => {
            let intervals = computed_values(output, batch, |value| match value {
                SqlValue::Interval(interval) => arrow_interval(interval),
                other => Err(internal(format_args!("{other:?} is computed"))),
            })?;
            Ok(Arc::new(intervals.into_iter().collect::<IntervalMonthDayNanoArray>()))
        }
        TypeKind::Oid(TypeOid::OID) | TypeKind::TransactionId(_) => {
            let numbers = computed_values(output, batch, |value| match value {
                SqlValue::Oid(number) => Ok(i64::from(number)),
                other => Err(internal(format_args!("{other:?} is computed"))),
            })?;
            Ok(Arc::new(numbers.into_iter().collect::<PrimitiveArray<Int64Type>>()))
        }
        TypeKind::Time(_) => {
            let times = computed_values(output, batch, |value| match value {
                SqlValue::Time(time) => Ok(time.0),
                other => Err(internal(format_args!("{other:?} is computed"))),
            })?;
            Ok(Arc::new(times.into_iter().collect::<Time64MicrosecondArray>()))
        }
        _ => {
            let texts = computed_values(output, batch, |value| {
                let mut text = String::new();
                value.write_text(output.sql_type, settings, &mut text);
                Ok(text)
            })?;
            let mut builder = StringViewBuilder::with_capacity(batch.rows);
            texts.iter().for_each(|text| builder.append_option(text.as_deref()));
            Ok(Arc::new(builder.finish()))
        }
    }
}

/// Returns what values of an answer become; nulls stay such.
fn computed_values<T>(
    output: &QueryOutput,
    batch: &ResultBatch,
    convert: impl Fn(SqlValue) -> Result<T>,
) -> Result<Vec<Option<T>>> {
    let value = |row| match output.value(batch, row).map_err(from_exec)? {
        SqlValue::Null => Ok(None),
        value => convert(value).map(Some),
    };
    (0..batch.rows).map(value).collect()
}

fn arrow_interval(interval: SqlInterval) -> Result<IntervalMonthDayNano> {
    let SqlInterval { months, days, micros } = interval;
    let nanoseconds = micros.checked_mul(1_000);
    let nanoseconds =
        nanoseconds.ok_or_else(|| Error::not_supported("an interval of more than 292 years"))?;
    Ok(IntervalMonthDayNano { months, days, nanoseconds })
}

fn each_string(
    column: &ColumnVector,
    rows: usize,
    mut take: impl FnMut(Option<&[u8]>) -> Result<()>,
) -> Result<()> {
    let reader = column.dictionary_reader();
    for row in 0..rows {
        if column.is_null(row) {
            take(None)?;
        } else {
            column.with_bytes(row, reader.as_ref(), |value| take(Some(value)))?;
        }
    }
    Ok(())
}

fn number_array<T>(
    values: &VectorValues,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: FromWholeNumber,
{
    let values: ScalarBuffer<T::Native> = whole_numbers(values, rows)?.into();
    Ok(Arc::new(PrimitiveArray::<T>::new(values, nulls)))
}

/// Integers that are made of those of another width; the bounds of the column say that they fit.
trait FromWholeNumber: Copy {
    fn from_i16(value: i16) -> Self;
    fn from_i32(value: i32) -> Self;
    fn from_i64(value: i64) -> Self;
    fn from_i128(value: i128) -> Self;
}

macro_rules! from_whole_number {
    ($($native:ty)*) => {$(
        impl FromWholeNumber for $native {
            fn from_i16(value: i16) -> Self {
                value as Self
            }
            fn from_i32(value: i32) -> Self {
                value as Self
            }
            fn from_i64(value: i64) -> Self {
                value as Self
            }
            fn from_i128(value: i128) -> Self {
                value as Self
            }
        }
    )*};
}
from_whole_number!(i16 i32 i64 i128);

fn whole_numbers<N: FromWholeNumber>(values: &VectorValues, rows: usize) -> Result<Vec<N>> {
    Ok(match values {
        VectorValues::Int16(values) => values[..rows].iter().copied().map(N::from_i16).collect(),
        VectorValues::Int32(values) => values[..rows].iter().copied().map(N::from_i32).collect(),
        VectorValues::Int64(values) => values[..rows].iter().copied().map(N::from_i64).collect(),
        VectorValues::Int128(values) => values[..rows].iter().copied().map(N::from_i128).collect(),
        other => {
            let found = other.vector_type();
            return Err(internal(format_args!("{found:?} for whole numbers")));
        }
    })
}

fn boolean_buffer(of: &BitVector, rows: usize) -> BooleanBuffer {
    BooleanBuffer::new(Buffer::from_vec(of.words().to_vec()), 0, rows)
}

fn null_buffer(column: &ColumnVector, rows: usize) -> Option<NullBuffer> {
    let validity = column.validity.as_ref()?;
    Some(NullBuffer::new(boolean_buffer(validity, rows)))
}
