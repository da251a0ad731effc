//! Casts to numbers, booleans and OIDs.

use super::convert::no_conversion;
use crate::error::ValueError;
use crate::numeric::ExactNumeric;
use crate::types::sql_type::{SqlType, TypeKind};
use crate::value::SqlValue;

pub(super) fn convert(
    value: SqlValue,
    source: SqlType,
    target: SqlType,
) -> Result<SqlValue, ValueError> {
    let refused = || no_conversion(source, target);
    Ok(match target.kind() {
        TypeKind::Boolean => match value {
            SqlValue::Integer(value) => SqlValue::Boolean(value != 0),
            _ => return Err(refused()),
        },
        TypeKind::SmallInt => match value {
            SqlValue::Numeric(value) => SqlValue::SmallInt(value.to_i16()?),
            value => {
                let whole = whole_of(&value, "smallint")?.ok_or_else(refused)?;
                SqlValue::SmallInt(whole.try_into().map_err(|_| ValueError::range_of("smallint"))?)
            }
        },
        TypeKind::Integer => match value {
            SqlValue::Numeric(value) => SqlValue::Integer(value.to_i32()?),
            SqlValue::Boolean(value) => SqlValue::Integer(value.into()),
            SqlValue::Char(byte) => SqlValue::Integer(byte.cast_signed().into()),
            SqlValue::Bits(bits) => {
                SqlValue::Integer(bits_value(bits.bits(), 32, "integer")? as u32 as i32)
            }
            SqlValue::Oid(oid) => SqlValue::Integer(oid.cast_signed()),
            value => {
                let whole = whole_of(&value, "integer")?.ok_or_else(refused)?;
                SqlValue::Integer(whole.try_into().map_err(|_| ValueError::range_of("integer"))?)
            }
        },
        TypeKind::BigInt => match value {
            SqlValue::Numeric(value) => SqlValue::BigInt(value.to_i64()?),
            SqlValue::Bits(bits) => {
                SqlValue::BigInt(bits_value(bits.bits(), 64, "bigint")?.cast_signed())
            }
            SqlValue::Oid(oid) => SqlValue::BigInt(oid.into()),
            value => SqlValue::BigInt(whole_of(&value, "bigint")?.ok_or_else(refused)?),
        },
        TypeKind::Real => SqlValue::Real(real_of(&value)?.ok_or_else(refused)?),
        TypeKind::Double => SqlValue::Double(double_of(&value)?.ok_or_else(refused)?),
        TypeKind::Numeric(_) => SqlValue::Numeric(match value {
            SqlValue::SmallInt(value) => value.into(),
            SqlValue::Integer(value) => value.into(),
            SqlValue::BigInt(value) => value.into(),
            SqlValue::Real(value) => value.into(),
            SqlValue::Double(value) => ExactNumeric::from(value),
            _ => return Err(refused()),
        }),
        TypeKind::Oid(_) | TypeKind::TransactionId(_) => SqlValue::Oid(match value {
            SqlValue::Oid(oid) => oid,
            SqlValue::SmallInt(value) => i32::from(value).cast_unsigned(),
            SqlValue::Integer(value) => value.cast_unsigned(),
            SqlValue::BigInt(value) => {
                u32::try_from(value).map_err(|_| ValueError::range_of("OID"))?
            }
            _ => return Err(refused()),
        }),
        _ => return Err(refused()),
    })
}

/// Returns the whole number of an integer or float, which is rounded half to even; `None` for
/// other values.
fn whole_of(value: &SqlValue, type_name: &str) -> Result<Option<i64>, ValueError> {
    let rounded = |value: f64| {
        let value = value.round_ties_even();
        // 2^63 is the first double beyond; NaN is in no range.
        if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
            Ok(Some(value as i64))
        } else {
            Err(ValueError::range_of(type_name))
        }
    };
    match value {
        SqlValue::SmallInt(value) => Ok(Some((*value).into())),
        SqlValue::Integer(value) => Ok(Some((*value).into())),
        SqlValue::BigInt(value) => Ok(Some(*value)),
        SqlValue::Real(value) => rounded((*value).into()),
        SqlValue::Double(value) => rounded(*value),
        _ => Ok(None),
    }
}

fn double_of(value: &SqlValue) -> Result<Option<f64>, ValueError> {
    Ok(Some(match value {
        SqlValue::SmallInt(value) => (*value).into(),
        SqlValue::Integer(value) => (*value).into(),
        SqlValue::BigInt(value) => *value as f64,
        SqlValue::Real(value) => (*value).into(),
        SqlValue::Numeric(value) => value.to_f64()?,
        _ => return Ok(None),
    }))
}

fn real_of(value: &SqlValue) -> Result<Option<f32>, ValueError> {
    Ok(Some(match value {
        SqlValue::SmallInt(value) => (*value).into(),
        SqlValue::Integer(value) => *value as f32,
        SqlValue::BigInt(value) => *value as f32,
        SqlValue::Numeric(value) => value.to_f32()?,
        SqlValue::Double(value) => {
            let real = *value as f32;
            if real.is_infinite() && !value.is_infinite() {
                return Err(ValueError::out_of_range("value out of range: overflow"));
            }
            if real == 0.0 && *value != 0.0 {
                return Err(ValueError::out_of_range("value out of range: underflow"));
            }
            real
        }
        _ => return Ok(None),
    }))
}

/// Returns the number that bits are.
fn bits_value(bits: &[bool], width: usize, type_name: &str) -> Result<u64, ValueError> {
    if bits.len() <= width {
        Ok(bits.iter().fold(0, |value, bit| value << 1 | u64::from(*bit)))
    } else {
        Err(ValueError::range_of(type_name))
    }
}
