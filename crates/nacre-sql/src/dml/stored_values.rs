//! Answers of the executor as values of a table's columns.
//!
//! The binder has brought them into the types of the columns; what remains are the bounds of what
//! can be stored: years 1 to 9999, and the longest value.

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_exec::lower::{OutputForm, QueryOutput};
use nacre_exec::vector::{ColumnVector, ResultBatch, VectorValues};
use nacre_types::{SqlValue, ValueSettings};

use super::assign::{check_length, push_date, push_syntax, push_timestamp};
use super::rows::{require_room, string_bytes};
use crate::engine::from_exec;
use crate::error::{Error, ErrorKind, Result};

/// Appends the values that an output has in `rows` of a batch to the buffer of a column of its
/// type.
///
/// # Errors
/// 22008 and the like for what no column stores; those that values stand for.
pub(super) fn append_stored_values(
    (output, batch): (&QueryOutput, &ResultBatch),
    rows: &[u32],
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    let column = |index: usize| {
        let column = batch.columns.get(index).filter(|column| column.values.len() >= batch.rows);
        column.ok_or_else(|| mismatch(output, buffer.column_type()))
    };
    match (output.form(), buffer.column_type()) {
        (OutputForm::Decimal { index, scale, .. }, ColumnType::Decimal { scale: own, .. })
            if scale == own =>
        {
            append_decimals(output, column(index)?, rows, buffer)
        }
        (OutputForm::Plain { index }, ColumnType::Decimal { .. }) => {
            let found = column(index)?.values.vector_type();
            Err(internal(format_args!("{found:?} for a numeric")))
        }
        (OutputForm::Plain { index }, _) => append_plain(output, column(index)?, rows, buffer),
        _ => append_texts(output, batch, rows, buffer),
    }
}

fn append_decimals(
    output: &QueryOutput,
    column: &ColumnVector,
    rows: &[u32],
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    let is_wide = buffer.column_type().physical() == nacre_column::Physical::Int128;
    append_each(column, rows, buffer, |row, buffer| {
        let value = int_of(output, column, row, buffer)?;
        match i64::try_from(value) {
            Ok(value) => buffer.push_int(value),
            Err(_) if is_wide => buffer.push_int128(value),
            Err(_) => return Err(mismatch(output, buffer.column_type())),
        }
        Ok(())
    })
}

/// Appends values that lie as the column's type has them.
fn append_plain(
    output: &QueryOutput,
    column: &ColumnVector,
    rows: &[u32],
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    let column_type = buffer.column_type();
    let reader = column.dictionary_reader();
    append_each(column, rows, buffer, |row, buffer| {
        match (&column.values, column_type) {
            (VectorValues::Bool(values), ColumnType::Boolean) => {
                buffer.push_int(values.get(row).into());
            }
            // There is one NaN; that of arithmetic may have a sign, which comparisons look at.
            (VectorValues::Float32(values), ColumnType::Real) => {
                let value = values[row];
                buffer.push_float32(if value.is_nan() { f32::NAN } else { value });
            }
            (VectorValues::Float64(values), ColumnType::Double) => {
                let value = values[row];
                buffer.push_float64(if value.is_nan() { f64::NAN } else { value });
            }
            (VectorValues::Bytes(_) | VectorValues::Code(_), _)
                if column_type.is_text() || column_type == ColumnType::Bytea =>
            {
                let bytes = string_bytes(buffer);
                return column.with_bytes(row, reader.as_ref(), |value| {
                    check_length(value)?;
                    require_room(bytes + value.len())?;
                    buffer.push_bytes(value);
                    Ok(())
                });
            }
            (_, ColumnType::Date) => push_date(whole(output, column, row, buffer)?, buffer)?,
            (_, ColumnType::Timestamp | ColumnType::TimestampTz) => {
                push_timestamp(Some(whole(output, column, row, buffer)?), buffer)?;
            }
            (_, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt) => {
                let value = whole(output, column, row, buffer)?;
                buffer.push_int(value);
            }
            _ => return Err(mismatch(output, column_type)),
        }
        Ok(())
    })
}

/// Appends values of other forms by their texts.
fn append_texts(
    output: &QueryOutput,
    batch: &ResultBatch,
    rows: &[u32],
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    let (settings, mut text) = (ValueSettings::default(), String::new());
    for row in rows {
        match output.value(batch, *row as usize).map_err(from_exec)? {
            SqlValue::Null => buffer.push_null(),
            value => {
                text.clear();
                value.write_text(output.sql_type, &settings, &mut text);
                push_syntax(&text, buffer)?;
            }
        }
    }
    Ok(())
}

/// Calls `append` for each row whose value is not null.
fn append_each(
    column: &ColumnVector,
    rows: &[u32],
    buffer: &mut ColumnBuffer,
    mut append: impl FnMut(usize, &mut ColumnBuffer) -> Result<()>,
) -> Result<()> {
    for row in rows {
        let row = *row as usize;
        if column.is_null(row) {
            buffer.push_null();
        } else {
            append(row, buffer)?;
        }
    }
    Ok(())
}

fn int_of(
    output: &QueryOutput,
    column: &ColumnVector,
    row: usize,
    buffer: &ColumnBuffer,
) -> Result<i128> {
    column.values.int(row).ok_or_else(|| mismatch(output, buffer.column_type()))
}

fn whole(
    output: &QueryOutput,
    column: &ColumnVector,
    row: usize,
    buffer: &ColumnBuffer,
) -> Result<i64> {
    let value = i64::try_from(int_of(output, column, row, buffer)?);
    value.map_err(|_| mismatch(output, buffer.column_type()))
}

fn mismatch(output: &QueryOutput, column_type: ColumnType) -> Error {
    internal(format_args!(
        "an output of type {} for a column of type {column_type}",
        output.sql_type
    ))
}

fn internal(message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, format!("internal error in a change of rows: {message}"))
}
