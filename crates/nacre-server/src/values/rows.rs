//! Rows of a result as messages.
//!
//! Each column of a batch is looked at once ([`Cells`]): what is done for every value is a match on
//! a small enum, not a look at its type.

use nacre_sql::datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, PrimitiveArray,
    RecordBatch, StringArray, StringViewArray,
};
use nacre_sql::datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit, Schema, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use nacre_sql::{
    ColumnOrigin, Error, ErrorKind, PgType, Result, TextColumn, append_bytes, write_text,
};
use nacre_types::catalog::TypeOid;
use nacre_types::{ExactNumeric, SqlType, SqlValue, ValueSettings};
use pgwire::messages::data::{FieldDescription, RowDescription};

use super::Format;
use super::binary::{EPOCH_DAYS, EPOCH_MICROS, put_numeric};
use crate::wire::backend::{Outbox, put_value};

/// Bytes of a name that a description takes.
const NAME_BYTES_MAX: usize = 1 << 16;

const DAY_MICROS: i64 = 86_400_000_000;

/// Returns the message that describes rows; formats beyond those given are text.
pub(crate) fn description(schema: &Schema, formats: &[Format]) -> RowDescription {
    let field = |(index, field): (usize, &std::sync::Arc<_>)| {
        let (found, oid) = PgType::of_field(field);
        let size = if oid == found.oid { found.size } else { -1 };
        let mut name = field.name().replace('\0', "");
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
        let format = formats.get(index).copied().unwrap_or(Format::Text);
        let ColumnOrigin { table, column, modifier } = ColumnOrigin::of_field(field);
        // Numbers of tables are of 31 bits.
        let table = table.cast_signed();
        FieldDescription::new(name, table, column, oid, size, modifier, format.code())
    };
    RowDescription::new(schema.fields().iter().enumerate().map(field).collect())
}

/// Writes the rows `from..to` of a batch.
///
/// # Errors
/// 0A000 for a value that has no binary form here; that row is not in the outbox then.
pub(crate) fn put_rows(
    batch: &RecordBatch,
    formats: &[Format],
    (from, to): (usize, usize),
    out: &mut Outbox,
) -> Result<()> {
    let schema = batch.schema();
    let cells: Vec<Cells<'_>> = (0..batch.num_columns())
        .map(|index| {
            let format = formats.get(index).copied().unwrap_or(Format::Text);
            Cells::of(batch.column(index), schema.field(index), format)
        })
        .collect::<Result<_>>()?;
    let count = u16::try_from(cells.len()).unwrap_or(u16::MAX);
    for row in from..to {
        let mark = out.mark();
        let written = out.put_with(b'D', |body| {
            body.extend_from_slice(&count.to_be_bytes());
            cells.iter().try_for_each(|cells| put_value(body, |out| cells.put(row, out)))
        });
        if let Err(error) = written {
            out.cut(mark);
            return Err(error);
        }
    }
    Ok(())
}

/// A column of a batch and how its values are written.
enum Cells<'a> {
    Boolean(&'a BooleanArray, Format),
    Int16(&'a PrimitiveArray<Int16Type>, Format),
    Int32(&'a PrimitiveArray<Int32Type>, Format),
    Int64(&'a PrimitiveArray<Int64Type>, Format),
    Float64(&'a PrimitiveArray<Float64Type>),
    Text(&'a StringViewArray),
    Utf8(&'a StringArray),
    Bytes(&'a BinaryViewArray),
    Binary(&'a BinaryArray),
    /// Any other type as text.
    Other(TextColumn<'a>),
    /// Any other type in its binary form.
    OtherBinary(&'a ArrayRef, PgType),
}

impl<'a> Cells<'a> {
    fn of(
        array: &'a ArrayRef,
        field: &nacre_sql::datafusion::arrow::datatypes::Field,
        format: Format,
    ) -> Result<Self> {
        let (pg_type, _) = PgType::of_field(field);
        let is_named = PgType::of_arrow(array.data_type()) != pg_type;
        Ok(match (array.data_type(), format) {
            (DataType::Utf8View, _) if has_text_form(pg_type) => Self::Text(array.as_string_view()),
            (DataType::Utf8, _) if has_text_form(pg_type) => Self::Utf8(array.as_string()),
            (_, Format::Binary) if is_named => Self::OtherBinary(array, pg_type),
            (DataType::Boolean, _) => Self::Boolean(array.as_boolean(), format),
            (DataType::Int16, _) => Self::Int16(array.as_primitive(), format),
            (DataType::Int32, _) => Self::Int32(array.as_primitive(), format),
            (DataType::Int64, _) => Self::Int64(array.as_primitive(), format),
            (DataType::Float64, Format::Binary) => Self::Float64(array.as_primitive()),
            (DataType::BinaryView, Format::Binary) => Self::Bytes(array.as_binary_view()),
            (DataType::Binary, Format::Binary) => Self::Binary(array.as_binary()),
            (_, Format::Text) => Self::Other(TextColumn::new(array)),
            (_, Format::Binary) => Self::OtherBinary(array, pg_type),
        })
    }

    /// Appends a value; false if it is null.
    fn put(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        macro_rules! integer {
            ($array:expr, $format:expr) => {{
                if $array.is_null(row) {
                    return Ok(false);
                }
                match $format {
                    Format::Text => {
                        let mut digits = itoa::Buffer::new();
                        out.extend_from_slice(digits.format($array.value(row)).as_bytes());
                    }
                    Format::Binary => out.extend_from_slice(&$array.value(row).to_be_bytes()),
                }
            }};
        }
        macro_rules! plain {
            ($array:expr) => {{
                if $array.is_null(row) {
                    return Ok(false);
                }
                append_bytes($array.value(row).as_ref(), out)?;
            }};
        }
        match self {
            Self::Boolean(array, _) if array.is_null(row) => return Ok(false),
            Self::Boolean(array, Format::Text) => {
                out.push(if array.value(row) { b't' } else { b'f' });
            }
            Self::Boolean(array, Format::Binary) => out.push(u8::from(array.value(row))),
            Self::Int16(array, format) => integer!(array, format),
            Self::Int32(array, format) => integer!(array, format),
            Self::Int64(array, format) => integer!(array, format),
            Self::Float64(array) if array.is_null(row) => return Ok(false),
            Self::Float64(array) => out.extend_from_slice(&array.value(row).to_be_bytes()),
            Self::Text(array) => plain!(array),
            Self::Utf8(array) => plain!(array),
            Self::Bytes(array) => plain!(array),
            Self::Binary(array) => plain!(array),
            Self::Other(column) => return column.put(row, out),
            Self::OtherBinary(array, pg_type) => return put_binary(array, *pg_type, row, out),
        }
        Ok(true)
    }
}

/// Whether the binary form of a type is its text.
fn has_text_form(pg_type: PgType) -> bool {
    matches!(
        pg_type.name,
        "text"
            | "varchar"
            | "bpchar"
            | "name"
            | "char"
            | "unknown"
            | "json"
            | "xml"
            | "pg_node_tree"
    )
}

/// Appends the binary form of a value; false if it is null.
fn put_binary(array: &ArrayRef, pg_type: PgType, row: usize, out: &mut Vec<u8>) -> Result<bool> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Ok(false);
    }
    if let DataType::List(element) = array.data_type() {
        let (element, _) = PgType::of_field(element);
        let element = if element.name == "text" { pg_type } else { element };
        put_array(&array.as_list::<i32>().value(row), element, out)?;
        return Ok(true);
    }
    match pg_type.name {
        "oid" | "regclass" | "regtype" | "regproc" | "xid" => {
            let number = integer(array, row).and_then(|number| u32::try_from(number).ok());
            let number = number.ok_or_else(|| no_binary(pg_type))?;
            out.extend_from_slice(&number.to_be_bytes());
        }
        "int2" => put_integer::<i16>(array, row, out).ok_or_else(|| no_binary(pg_type))?,
        "int4" => put_integer::<i32>(array, row, out).ok_or_else(|| no_binary(pg_type))?,
        "int8" => put_integer::<i64>(array, row, out).ok_or_else(|| no_binary(pg_type))?,
        "float4" => {
            out.extend_from_slice(&array.as_primitive::<Float32Type>().value(row).to_be_bytes());
        }
        "numeric" => put_decimal(array, row, out).ok_or_else(|| no_binary(pg_type))?,
        "date" => {
            let days = array.as_primitive::<Date32Type>().value(row).checked_sub(EPOCH_DAYS);
            // The least and the greatest number would be read as infinite.
            let days = days.filter(|days| !matches!(*days, i32::MIN | i32::MAX));
            out.extend_from_slice(&days.ok_or_else(|| out_of_range("date"))?.to_be_bytes());
        }
        "timestamp" | "timestamptz" => {
            let micros = micros(array, row).and_then(|micros| micros.checked_sub(EPOCH_MICROS));
            let micros = micros.filter(|micros| !matches!(*micros, i64::MIN | i64::MAX));
            out.extend_from_slice(&micros.ok_or_else(|| out_of_range("timestamp"))?.to_be_bytes());
        }
        "time" => {
            let micros = time_micros(array, row).ok_or_else(|| no_binary(pg_type))?;
            out.extend_from_slice(&micros.to_be_bytes());
        }
        "interval" => put_interval(array, row, out).ok_or_else(|| no_binary(pg_type))?,
        "bytea" => match array.data_type() {
            DataType::LargeBinary => out.extend_from_slice(array.as_binary::<i64>().value(row)),
            _ => return Err(no_binary(pg_type)),
        },
        "uuid" => put_uuid(array, row, out).ok_or_else(|| no_binary(pg_type))?,
        name if has_text_form(pg_type) || name == "bool" => return write_text(array, row, out),
        _ => put_parsed(array, pg_type, row, out).ok_or_else(|| no_binary(pg_type))?,
    }
    Ok(true)
}

/// Appends the binary form of a text that is a value of any type of PostgreSQL's catalog, such as
/// an array.
fn put_parsed(array: &ArrayRef, pg_type: PgType, row: usize, out: &mut Vec<u8>) -> Option<()> {
    let text = array.as_string_view_opt()?.value(row);
    let sql_type = SqlType::new(TypeOid(pg_type.oid));
    SqlValue::parse(text, sql_type, &ValueSettings::default()).ok()?.send(out);
    Some(())
}

fn out_of_range(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{what} out of range")).with_code("22008")
}

fn no_binary(pg_type: PgType) -> Error {
    let what = format_args!("the binary form of a value of type {}", pg_type.name);
    Error::not_supported(what).with_hint("Ask for it in text.")
}

/// Returns an integer of any width.
fn integer(array: &ArrayRef, row: usize) -> Option<i64> {
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => i64::try_from(array.as_primitive::<UInt64Type>().value(row)).ok()?,
        _ => return None,
    })
}

/// Numbers that are sent as they are, the most significant byte first.
trait Wire: TryFrom<i64> {
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! wire {
    ($($number:ty)*) => {$(
        impl Wire for $number {
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}
wire!(i16 i32 i64);

fn put_integer<T: Wire>(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Option<()> {
    T::try_from(integer(array, row)?).ok().map(|number| number.put(out))
}

fn put_decimal(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Option<()> {
    let (unscaled, scale) = match array.data_type() {
        DataType::Decimal128(_, scale) => {
            (array.as_primitive::<Decimal128Type>().value(row), u8::try_from(*scale).ok()?)
        }
        DataType::UInt64 => (array.as_primitive::<UInt64Type>().value(row).into(), 0),
        // One whose digits depend on the value.
        DataType::Utf8View => {
            let text = array.as_string_view().value(row);
            ExactNumeric::parse(text, None).ok()?.send(out);
            return Some(());
        }
        _ => return None,
    };
    put_numeric(unscaled, scale, out);
    Some(())
}

/// Returns the microseconds of a timestamp since 1970-01-01.
fn micros(array: &ArrayRef, row: usize) -> Option<i64> {
    let DataType::Timestamp(unit, _) = array.data_type() else { return None };
    Some(match unit {
        TimeUnit::Second => {
            array.as_primitive::<TimestampSecondType>().value(row).checked_mul(1_000_000)?
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().value(row).checked_mul(1_000)?
        }
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => {
            array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000)
        }
    })
}

fn time_micros(array: &ArrayRef, row: usize) -> Option<i64> {
    Some(match array.data_type() {
        DataType::Time64(TimeUnit::Microsecond) => {
            array.as_primitive::<Time64MicrosecondType>().value(row)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            array.as_primitive::<Time64NanosecondType>().value(row).div_euclid(1_000)
        }
        _ => return None,
    })
}

fn put_interval(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Option<()> {
    let (micros, days, months) = match array.data_type() {
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            (value.nanoseconds.div_euclid(1_000), value.days, value.months)
        }
        DataType::Duration(unit) => {
            let micros = duration_micros(array, *unit, row)?;
            (micros % DAY_MICROS, i32::try_from(micros / DAY_MICROS).ok()?, 0)
        }
        _ => return None,
    };
    out.extend_from_slice(&micros.to_be_bytes());
    out.extend_from_slice(&days.to_be_bytes());
    out.extend_from_slice(&months.to_be_bytes());
    Some(())
}

/// Returns the microseconds of a time that passed.
fn duration_micros(array: &ArrayRef, unit: TimeUnit, row: usize) -> Option<i64> {
    match unit {
        TimeUnit::Second => {
            array.as_primitive::<DurationSecondType>().value(row).checked_mul(1_000_000)
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<DurationMillisecondType>().value(row).checked_mul(1_000)
        }
        TimeUnit::Microsecond => Some(array.as_primitive::<DurationMicrosecondType>().value(row)),
        TimeUnit::Nanosecond => {
            Some(array.as_primitive::<DurationNanosecondType>().value(row).div_euclid(1_000))
        }
    }
}

/// Appends the bytes of a UUID that is a text.
fn put_uuid(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Option<()> {
    let text = array.as_string_view_opt()?.value(row).replace('-', "");
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let bytes = (0..16).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok());
    out.extend(bytes.collect::<Option<Vec<u8>>>()?);
    Some(())
}

/// Appends an array of one dimension.
fn put_array(values: &ArrayRef, element: PgType, out: &mut Vec<u8>) -> Result<()> {
    let count = i32::try_from(values.len()).map_err(|_| no_binary(element))?;
    let dimensions = i32::from(count > 0);
    let has_nulls = i32::from(values.null_count() > 0);
    out.extend_from_slice(&dimensions.to_be_bytes());
    out.extend_from_slice(&has_nulls.to_be_bytes());
    out.extend_from_slice(&element.oid.to_be_bytes());
    if count > 0 {
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&1_i32.to_be_bytes());
    }
    (0..values.len()).try_for_each(|row| {
        put_value(out, |out| match values.data_type() {
            DataType::Boolean if values.is_valid(row) => {
                out.push(u8::from(values.as_boolean().value(row)));
                Ok(true)
            }
            DataType::Float64 if values.is_valid(row) => {
                let value = values.as_primitive::<Float64Type>().value(row);
                out.extend_from_slice(&value.to_be_bytes());
                Ok(true)
            }
            _ => put_binary(values, element, row, out),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nacre_sql::TYPE_KEY;
    use nacre_sql::datafusion::arrow::array::{
        Date32Array, Decimal128Array, DurationSecondArray, Int32Array, Int64Array, ListArray,
        TimestampMicrosecondArray, UInt32Array,
    };
    use nacre_sql::datafusion::arrow::datatypes::{Field, Int32Type as I32};

    use super::*;

    fn cell(array: ArrayRef, format: Format) -> Option<Vec<u8>> {
        let field = Field::new("a", array.data_type().clone(), true);
        named_cell(array, &field, format)
    }

    fn named_cell(array: ArrayRef, field: &Field, format: Format) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let cells = Cells::of(&array, field, format).unwrap();
        cells.put(0, &mut out).unwrap().then_some(out)
    }

    #[test]
    fn binary_values_are_those_of_postgresql() {
        let int: ArrayRef = Arc::new(Int32Array::from(vec![Some(-2)]));
        assert_eq!(cell(int.clone(), Format::Binary).unwrap(), (-2_i32).to_be_bytes());
        assert_eq!(cell(int, Format::Text).unwrap(), b"-2");
        let null: ArrayRef = Arc::new(Int64Array::from(vec![None]));
        assert_eq!(cell(null, Format::Binary), None);
        let instant: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![EPOCH_MICROS + 5]));
        assert_eq!(cell(instant, Format::Binary).unwrap(), 5_i64.to_be_bytes());
        let decimal = Decimal128Array::from(vec![-1]).with_precision_and_scale(9, 4).unwrap();
        let digits = [0, 1, 0xff, 0xff, 0x40, 0, 0, 4, 0, 1];
        assert_eq!(cell(Arc::new(decimal), Format::Binary).unwrap(), digits);
        let field = Field::new("avg", DataType::Utf8View, true)
            .with_metadata([(TYPE_KEY.to_owned(), "numeric".to_owned())].into());
        let text: ArrayRef = Arc::new(StringViewArray::from(vec!["-0.0001"]));
        assert_eq!(named_cell(Arc::clone(&text), &field, Format::Binary).unwrap(), digits);
        assert_eq!(named_cell(text, &field, Format::Text).unwrap(), b"-0.0001");
    }

    #[test]
    fn times_that_passed_are_intervals() {
        let passed: ArrayRef = Arc::new(DurationSecondArray::from(vec![90_000]));
        let mut expected = 3_600_000_000_i64.to_be_bytes().to_vec();
        expected.extend([0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(cell(passed, Format::Binary).unwrap(), expected);
    }

    #[test]
    fn days_out_of_all_calendars_are_no_other_days() {
        let days: ArrayRef =
            Arc::new(Date32Array::from(vec![i32::MIN, i32::MIN + EPOCH_DAYS, 3_000_000]));
        let field = Field::new("a", DataType::Date32, true);
        let cells = Cells::of(&days, &field, Format::Binary).unwrap();
        let mut out = Vec::new();
        for row in [0, 1] {
            assert_eq!(cells.put(row, &mut out).unwrap_err().sqlstate(), "22008");
        }
        assert!(cells.put(2, &mut out).unwrap());
        assert_eq!(out, (3_000_000 - EPOCH_DAYS).to_be_bytes());
    }

    #[test]
    fn field_metadata_decides_the_binary_form() {
        let oid = Field::new("oid", DataType::UInt32, false)
            .with_metadata([(TYPE_KEY.to_owned(), "oid".to_owned())].into());
        let array: ArrayRef = Arc::new(UInt32Array::from(vec![16_384]));
        assert_eq!(named_cell(array, &oid, Format::Binary).unwrap(), 16_384_u32.to_be_bytes());
    }

    #[test]
    fn texts_of_arrays_are_arrays_of_any_dimensions() {
        let field = |name: &str| {
            Field::new("a", DataType::Utf8View, true)
                .with_metadata([(TYPE_KEY.to_owned(), name.to_owned())].into())
        };
        let text = |text: &str| -> ArrayRef { Arc::new(StringViewArray::from(vec![text])) };
        let matrix = text("[0:1][1:1]={{7},{NULL}}");
        let words = [2, 1, 23, 2, 0, 1, 1, 4, 7, -1];
        let expected: Vec<u8> = words.iter().flat_map(|word| i32::to_be_bytes(*word)).collect();
        let found = named_cell(Arc::clone(&matrix), &field("_int4"), Format::Binary);
        assert_eq!(found.unwrap(), expected);
        let found = named_cell(matrix, &field("_int4"), Format::Text).unwrap();
        assert_eq!(found, b"[0:1][1:1]={{7},{NULL}}");
        // Unlike that of a text, the binary form of an array of texts is not its text.
        let found = named_cell(text("{a}"), &field("_text"), Format::Binary).unwrap();
        assert_eq!(found.len(), 25);
        let bits = named_cell(text("101"), &field("varbit"), Format::Binary).unwrap();
        assert_eq!(bits, [0, 0, 0, 3, 0b1010_0000]);
        let schema = Schema::new(vec![field("_text")]);
        assert_eq!(description(&schema, &[]).fields[0].type_id, 1009);
        let record = text("(1,a)");
        let field = field("record");
        let cells = Cells::of(&record, &field, Format::Binary).unwrap();
        assert_eq!(cells.put(0, &mut Vec::new()).unwrap_err().sqlstate(), "0A000");
    }

    #[test]
    fn list_is_an_array_of_one_dimension() {
        let rows = vec![Some(vec![Some(1), None])];
        let array: ArrayRef = Arc::new(ListArray::from_iter_primitive::<I32, _, _>(rows));
        let mut expected = Vec::new();
        for word in [1, 1, 23, 2, 1, 4, 1, -1] {
            expected.extend_from_slice(&i32::to_be_bytes(word));
        }
        assert_eq!(cell(array, Format::Binary).unwrap(), expected);
    }
}
