//! SQL values of types without a vector form, as bytes that are compared as the values are.
//!
//! # Layout
//!
//! | bytes | meaning |
//! |---|---|
//! | any | the key: equal for equal values, and in their order; none of types without an order |
//! | any | the value's binary form, as on the wire |
//! | 4 | length of the binary form, big-endian |
//!
//! A key ends itself: no key is the beginning of another one of its type. So keys stand one behind
//! the other, and are inverted for the other direction.
//!
//! | value | key |
//! |---|---|
//! | integers, dates, times | big-endian, the sign inverted |
//! | `interval` | 16 bytes of its length in microseconds |
//! | floats | bits, inverted below zero, -0 as 0; NaN is the greatest |
//! | texts, byte strings, numerics | bytes, each 0 followed by 255; then two zeros |
//! | arrays | for each element 1 and its key, or 2 for null; 0; dimensions, lengths, lower bounds |
//!
//! ```text
//! interval '1 mon'   key of 30 days, months 1        interval '30 days'   the same key, days 30
//! ```

use nacre_types::{SqlArray, SqlType, SqlValue, TypeKind, ValueError};

use super::exact::{encode_exact, exact_key};

const LENGTH_BYTES: usize = 4;

const END_OF_LIST: u8 = 0;
const VALUE_IN_LIST: u8 = 1;
const NULL_IN_LIST: u8 = 2;

/// How values are sorted by one of several keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyDirection {
    pub(crate) is_descending: bool,
    pub(crate) is_nulls_first: bool,
}

/// Whether values of a type are packed: those that vectors do not have otherwise.
pub(crate) fn is_packed_type(sql_type: SqlType) -> bool {
    match sql_type.kind() {
        TypeKind::Time(_)
        | TypeKind::TimeTz(_)
        | TypeKind::Interval(..)
        | TypeKind::Uuid
        | TypeKind::Json
        | TypeKind::Bit(_)
        | TypeKind::Varbit(_)
        | TypeKind::Name
        | TypeKind::Char
        | TypeKind::Oid(_)
        | TypeKind::TransactionId(_)
        | TypeKind::CatalogText(_)
        // The binder makes rows of types that have keys.
        | TypeKind::Record => true,
        TypeKind::Array(element) => is_element_type(element),
        _ => false,
    }
}

fn is_element_type(sql_type: SqlType) -> bool {
    match sql_type.kind() {
        TypeKind::Boolean
        | TypeKind::SmallInt
        | TypeKind::Integer
        | TypeKind::BigInt
        | TypeKind::Real
        | TypeKind::Double
        | TypeKind::Numeric(_)
        | TypeKind::Text
        | TypeKind::Varchar(_)
        | TypeKind::Bpchar(_)
        | TypeKind::Bytea
        | TypeKind::Date
        | TypeKind::Timestamp(_)
        | TypeKind::TimestampTz(_) => true,
        TypeKind::Array(_) => false,
        _ => is_packed_type(sql_type),
    }
}

/// Whether values of a type have keys.
pub(crate) fn has_keys(sql_type: SqlType) -> bool {
    match sql_type.kind() {
        TypeKind::Json => false,
        TypeKind::Array(element) => has_keys(element),
        _ => is_packed_type(sql_type) || is_element_type(sql_type),
    }
}

/// Appends a value that is not null.
pub(crate) fn encode_packed(value: &SqlValue, out: &mut Vec<u8>) {
    append_key(value, out);
    let start = out.len();
    value.send(out);
    // A value has less than 2^30 bytes.
    let length = (out.len() - start) as u32;
    out.extend_from_slice(&length.to_be_bytes());
}

/// Returns the key and the binary form.
fn split_packed(bytes: &[u8]) -> Result<(&[u8], &[u8]), ValueError> {
    let parts = bytes.split_last_chunk::<LENGTH_BYTES>().and_then(|(rest, length)| {
        let start = rest.len().checked_sub(u32::from_be_bytes(*length) as usize)?;
        Some(rest.split_at(start))
    });
    parts.ok_or_else(malformed)
}

/// Returns what is equal for equal values, and in their order.
///
/// # Errors
/// XX000 if the bytes are no packed value.
pub(crate) fn packed_key(bytes: &[u8]) -> Result<&[u8], ValueError> {
    split_packed(bytes).map(|(key, _)| key)
}

/// Returns the value.
///
/// # Errors
/// XX000 if the bytes are no packed value of that type.
pub(crate) fn decode_packed(bytes: &[u8], sql_type: SqlType) -> Result<SqlValue, ValueError> {
    SqlValue::receive(split_packed(bytes)?.1, sql_type.without_modifier())
}

#[cold]
fn malformed() -> ValueError {
    ValueError::internal("a packed value is malformed")
}

/// Appends the key of a value or null among keys to sort by.
pub(crate) fn append_sort_key(value: &SqlValue, direction: KeyDirection, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(if direction.is_nulls_first { 0 } else { 2 });
        return;
    }
    out.push(1);
    let start = out.len();
    append_key(value, out);
    if direction.is_descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Appends the key of a value that is not null.
pub(crate) fn append_key(value: &SqlValue, out: &mut Vec<u8>) {
    match value {
        SqlValue::Null | SqlValue::Json(_) => {}
        SqlValue::Boolean(value) => out.push(u8::from(*value)),
        SqlValue::SmallInt(value) => append_int((*value).into(), out),
        SqlValue::Integer(value) => append_int((*value).into(), out),
        SqlValue::BigInt(value) => append_int(*value, out),
        SqlValue::Real(value) => append_float((*value).into(), out),
        SqlValue::Double(value) => append_float(*value, out),
        SqlValue::Numeric(value) => {
            let mut bytes = Vec::new();
            encode_exact(value, &mut bytes);
            // A numeric that was just encoded stands for no error.
            append_bytes(exact_key(&bytes).unwrap_or_default(), out);
        }
        SqlValue::Text(text) => append_bytes(text.as_bytes(), out),
        SqlValue::Padded(text) => append_bytes(text.trim_end_matches(' ').as_bytes(), out),
        SqlValue::Char(byte) => out.push(*byte),
        SqlValue::Bytea(bytes) => append_bytes(bytes, out),
        SqlValue::Uuid(uuid) => out.extend_from_slice(uuid),
        SqlValue::Date(date) => append_int(date.0.into(), out),
        SqlValue::Time(time) => append_int(time.0, out),
        SqlValue::TimeTz(time) => {
            append_int(time.utc_micros(), out);
            append_int((-time.seconds_east).into(), out);
        }
        SqlValue::Timestamp(moment) | SqlValue::TimestampTz(moment) => append_int(moment.0, out),
        SqlValue::Interval(interval) => {
            let micros = interval.span_micros() ^ i128::MIN;
            out.extend_from_slice(&micros.to_be_bytes());
        }
        SqlValue::Bits(bits) => {
            out.extend(bits.bits().iter().map(|bit| VALUE_IN_LIST + u8::from(*bit)));
            out.push(END_OF_LIST);
        }
        SqlValue::Oid(oid) => out.extend_from_slice(&oid.to_be_bytes()),
        SqlValue::Array(array) => append_array(array, out),
        SqlValue::Record(record) => {
            append_list(record.fields().iter().map(|(_, field)| field), out);
        }
        _ => {}
    }
}

fn append_int(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value ^ i64::MIN).to_be_bytes());
}

fn append_float(value: f64, out: &mut Vec<u8>) {
    let bits = match value {
        0.0 => 0,
        value if value.is_nan() => f64::NAN.abs().to_bits(),
        value => value.to_bits(),
    };
    let ordered = if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) };
    out.extend_from_slice(&ordered.to_be_bytes());
}

fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(u8::MAX);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn append_list<'v>(values: impl Iterator<Item = &'v SqlValue>, out: &mut Vec<u8>) {
    for value in values {
        if value.is_null() {
            out.push(NULL_IN_LIST);
        } else {
            out.push(VALUE_IN_LIST);
            append_key(value, out);
        }
    }
    out.push(END_OF_LIST);
}

fn append_array(array: &SqlArray, out: &mut Vec<u8>) {
    append_list(array.elements().iter(), out);
    // At most 6.
    out.push(array.dimensions().len() as u8);
    for dimension in array.dimensions() {
        append_int(dimension.length as i64, out);
    }
    for dimension in array.dimensions() {
        append_int(dimension.lower_bound.into(), out);
    }
}

#[cfg(test)]
mod tests {
    use nacre_types::datetime::{SqlDate, SqlTime, SqlTimeTz};
    use nacre_types::{BitString, ExactNumeric, SqlInterval};
    use proptest::prelude::*;

    use super::*;

    fn packed(value: &SqlValue) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_packed(value, &mut bytes);
        bytes
    }

    fn any_interval() -> impl Strategy<Value = SqlValue> {
        (-2_i32..3, -35_i32..65, prop_oneof![Just(0), -3_i64..3, any::<i64>()]).prop_map(
            |(months, days, micros)| SqlValue::Interval(SqlInterval { months, days, micros }),
        )
    }

    fn any_float() -> impl Strategy<Value = SqlValue> {
        let special = prop_oneof![Just(f64::NAN), Just(-f64::NAN), Just(0.0), Just(-0.0)];
        prop_oneof![special, any::<f64>(), (-3_i32..3).prop_map(f64::from)]
            .prop_map(SqlValue::Double)
    }

    fn any_numeric() -> impl Strategy<Value = SqlValue> {
        (-300_i128..300, 0_u16..4)
            .prop_map(|(unscaled, scale)| ExactNumeric::from_scaled(unscaled, scale).unwrap())
            .prop_map(SqlValue::Numeric)
    }

    fn any_text() -> impl Strategy<Value = SqlValue> {
        let one = prop_oneof![Just('\u{1}'), Just('a'), Just('\u{ff}')];
        prop::collection::vec(one, 0..4).prop_map(|text| SqlValue::Text(text.into_iter().collect()))
    }

    fn any_bytes() -> impl Strategy<Value = SqlValue> {
        let one = prop_oneof![Just(0), Just(1), Just(u8::MAX)];
        prop::collection::vec(one, 0..4).prop_map(SqlValue::Bytea)
    }

    fn any_time_tz() -> impl Strategy<Value = SqlValue> {
        (0_i64..4, -2_i32..3).prop_map(|(hours, zone)| {
            let (time, seconds_east) = (SqlTime(hours * 3_600_000_000), zone * 3_600);
            SqlValue::TimeTz(SqlTimeTz { time, seconds_east })
        })
    }

    fn any_bits() -> impl Strategy<Value = SqlValue> {
        prop::collection::vec(any::<bool>(), 0..4)
            .prop_map(|bits| SqlValue::Bits(BitString::new(bits)))
    }

    /// Two values of one type.
    fn any_pair() -> impl Strategy<Value = (SqlType, SqlValue, SqlValue)> {
        fn pairs(
            sql_type: SqlType,
            value: impl Strategy<Value = SqlValue> + Clone + 'static,
        ) -> BoxedStrategy<(SqlType, SqlValue, SqlValue)> {
            (value.clone(), value).prop_map(move |(one, other)| (sql_type, one, other)).boxed()
        }
        fn arrays(
            element: SqlType,
            value: impl Strategy<Value = SqlValue> + Clone + 'static,
        ) -> BoxedStrategy<(SqlType, SqlValue, SqlValue)> {
            let elements = prop::collection::vec(prop_oneof![Just(SqlValue::Null), value], 0..4);
            let array = elements.prop_map(move |elements| {
                SqlValue::Array(Box::new(SqlArray::from_elements(element, elements)))
            });
            pairs(element.array().unwrap(), array.boxed())
        }
        let date = (-2_i32..3).prop_map(|days| SqlValue::Date(SqlDate(days)));
        prop_oneof![
            pairs(SqlType::INTERVAL, any_interval().boxed()),
            pairs(SqlType::DOUBLE, any_float().boxed()),
            pairs(SqlType::NUMERIC, any_numeric().boxed()),
            pairs(SqlType::TEXT, any_text().boxed()),
            pairs(SqlType::BYTEA, any_bytes().boxed()),
            pairs(SqlType::TIMETZ, any_time_tz().boxed()),
            pairs(SqlType::VARBIT, any_bits().boxed()),
            pairs(SqlType::DATE, date.boxed()),
            arrays(SqlType::INTERVAL, any_interval().boxed()),
            arrays(SqlType::NUMERIC, any_numeric().boxed()),
            arrays(SqlType::TEXT, any_text().boxed()),
            arrays(SqlType::BYTEA, any_bytes().boxed()),
            arrays(SqlType::DOUBLE, any_float().boxed()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn keys_have_the_order_of_values((_, one, other) in any_pair()) {
            let (left, right) = (packed(&one), packed(&other));
            let order = packed_key(&left).unwrap().cmp(packed_key(&right).unwrap());
            prop_assert_eq!(Some(order), one.compare(&other));
        }

        #[test]
        fn sort_keys_stand_one_behind_the_other(
            (_, one, other) in any_pair(),
            is_descending in any::<bool>(),
            is_nulls_first in any::<bool>(),
        ) {
            let direction = KeyDirection { is_descending, is_nulls_first };
            let key = |first: &SqlValue, second: &SqlValue| {
                let mut key = Vec::new();
                append_sort_key(first, direction, &mut key);
                append_sort_key(second, direction, &mut key);
                key
            };
            let order = one.compare(&other).unwrap();
            let wanted = if is_descending { order.reverse() } else { order };
            let null = &SqlValue::Null;
            prop_assert_eq!(key(&one, null).cmp(&key(&other, null)), wanted);
            prop_assert_eq!(key(null, &one).cmp(&key(null, &other)), wanted);
            prop_assert_eq!(key(&one, null) < key(&one, &other), is_nulls_first);
        }

        #[test]
        fn values_come_back_as_they_are_written((sql_type, value, _) in any_pair()) {
            let decoded = decode_packed(&packed(&value), sql_type).unwrap();
            prop_assert_eq!(format!("{decoded:?}"), format!("{value:?}"));
        }
    }
}
