//! Order, equality and hashes of values.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{SqlArray, SqlValue};

impl SqlValue {
    /// Compares two values of one type as PostgreSQL's btree does; `None` if one is null, the types
    /// differ or have no order (`json`).
    ///
    /// Inside arrays and records nulls equal each other and come last.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Boolean(one), Self::Boolean(other)) => one.cmp(other),
            (Self::SmallInt(one), Self::SmallInt(other)) => one.cmp(other),
            (Self::Integer(one), Self::Integer(other)) => one.cmp(other),
            (Self::BigInt(one), Self::BigInt(other)) => one.cmp(other),
            (Self::Real(one), Self::Real(other)) => compare_floats((*one).into(), (*other).into()),
            (Self::Double(one), Self::Double(other)) => compare_floats(*one, *other),
            (Self::Numeric(one), Self::Numeric(other)) => one.cmp(other),
            (Self::Text(one), Self::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
            (Self::Padded(one), Self::Padded(other)) => unpadded(one).cmp(unpadded(other)),
            (Self::Char(one), Self::Char(other)) => one.cmp(other),
            (Self::Bytea(one), Self::Bytea(other)) => one.cmp(other),
            (Self::Uuid(one), Self::Uuid(other)) => one.cmp(other),
            (Self::Date(one), Self::Date(other)) => one.cmp(other),
            (Self::Time(one), Self::Time(other)) => one.cmp(other),
            (Self::TimeTz(one), Self::TimeTz(other)) => one.cmp(other),
            (Self::Timestamp(one), Self::Timestamp(other)) => one.cmp(other),
            (Self::TimestampTz(one), Self::TimestampTz(other)) => one.cmp(other),
            (Self::Interval(one), Self::Interval(other)) => one.cmp(other),
            (Self::Bits(one), Self::Bits(other)) => one.cmp(other),
            (Self::Oid(one), Self::Oid(other)) => one.cmp(other),
            (Self::Array(one), Self::Array(other)) => return compare_arrays(one, other),
            (Self::Record(one), Self::Record(other)) => {
                let one = one.fields().iter().map(|(_, value)| value);
                let other = other.fields().iter().map(|(_, value)| value);
                return compare_lists(one, other);
            }
            _ => return None,
        })
    }
}

/// Compares floats: NaN is the greatest and equals itself, -0 equals 0.
pub(crate) fn compare_floats(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

fn unpadded(text: &str) -> &[u8] {
    text.trim_end_matches(' ').as_bytes()
}

/// Compares elements first, then shapes.
fn compare_arrays(one: &SqlArray, other: &SqlArray) -> Option<Ordering> {
    let by_elements = compare_lists(one.elements().iter(), other.elements().iter())?;
    let bounds = |array: &SqlArray| -> Vec<i32> {
        array.dimensions().iter().map(|dimension| dimension.lower_bound).collect()
    };
    let lengths = |array: &SqlArray| -> Vec<usize> {
        array.dimensions().iter().map(|dimension| dimension.length).collect()
    };
    let by_count = one.dimensions().len().cmp(&other.dimensions().len());
    let by_length = || lengths(one).cmp(&lengths(other));
    let by_bound = || bounds(one).cmp(&bounds(other));
    Some(by_elements.then(by_count).then_with(by_length).then_with(by_bound))
}

fn compare_lists<'a>(
    mut one: impl Iterator<Item = &'a SqlValue>,
    mut other: impl Iterator<Item = &'a SqlValue>,
) -> Option<Ordering> {
    loop {
        let order = match (one.next(), other.next()) {
            (None, None) => return Some(Ordering::Equal),
            (None, Some(_)) => return Some(Ordering::Less),
            (Some(_), None) => return Some(Ordering::Greater),
            (Some(one), Some(other)) => match (one.is_null(), other.is_null()) {
                (false, false) => one.compare(other)?,
                (one, other) => one.cmp(&other),
            },
        };
        if order != Ordering::Equal {
            return Some(order);
        }
    }
}

impl PartialEq for SqlValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Json(one), Self::Json(other)) => one == other,
            _ => self.compare(other) == Some(Ordering::Equal),
        }
    }
}

impl Eq for SqlValue {}

impl Hash for SqlValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null => {}
            Self::Boolean(value) => value.hash(state),
            Self::SmallInt(value) => value.hash(state),
            Self::Integer(value) => value.hash(state),
            Self::BigInt(value) => value.hash(state),
            Self::Real(value) => float_bits((*value).into()).hash(state),
            Self::Double(value) => float_bits(*value).hash(state),
            Self::Numeric(value) => value.hash(state),
            Self::Text(value) | Self::Json(value) => value.hash(state),
            Self::Padded(value) => unpadded(value).hash(state),
            Self::Char(value) => value.hash(state),
            Self::Bytea(value) => value.hash(state),
            Self::Uuid(value) => value.hash(state),
            Self::Date(value) => value.hash(state),
            Self::Time(value) => value.hash(state),
            Self::TimeTz(value) => value.hash(state),
            Self::Timestamp(value) | Self::TimestampTz(value) => value.hash(state),
            Self::Interval(value) => value.hash(state),
            Self::Bits(value) => value.hash(state),
            Self::Oid(value) => value.hash(state),
            Self::Array(array) => {
                array.dimensions().hash(state);
                array.elements().hash(state);
            }
            Self::Record(record) => {
                record.fields().iter().for_each(|(_, value)| value.hash(state));
            }
        }
    }
}

/// Returns the same bits for values that are equal.
fn float_bits(value: f64) -> u64 {
    match value {
        0.0 => 0,
        value if value.is_nan() => f64::NAN.to_bits(),
        value => value.to_bits(),
    }
}
