//! What the physical values of an expression stand for.
//!
//! An [`ExpressionGraph`](crate::expression::ExpressionGraph) knows classes; what a whole number of
//! it is worth (a day, a decimal of two digits) is known here alone, before anything runs.
//!
//! ```text
//! numeric(15,2)  1.50        Int(150)       Numeric { scale: 2, digits: 15 }
//! date           1970-01-02  Int(1)         Date
//! char(3)        'a  '       Bytes("a")     Padded { chars: Some(3) }
//! numeric        0.333       Bytes(..)      Exact { may_fail: false }
//! interval       1 mon       Bytes(..)      Packed { has_keys: true }
//! ```

use nacre_column::ColumnType;
use nacre_types::datetime::{SqlDate, SqlTimestamp};
use nacre_types::{ExactNumeric, SqlType, SqlValue, TypeKind, ValueError};

use crate::error::{ExecError, ExecResult};
use crate::value::{
    ScalarValue, ValueClass, decode_exact, decode_packed, encode_exact, encode_packed, has_keys,
    is_packed_type,
};

/// Returns the SQL type of a stored column.
///
/// # Errors
/// None for the lengths and precisions that columns have.
pub fn column_sql_type(column_type: ColumnType) -> Result<SqlType, ValueError> {
    let length = |chars: u32| i32::try_from(chars).unwrap_or(i32::MAX);
    Ok(match column_type {
        ColumnType::Boolean => SqlType::BOOLEAN,
        ColumnType::SmallInt => SqlType::SMALLINT,
        ColumnType::Integer => SqlType::INTEGER,
        ColumnType::BigInt => SqlType::BIGINT,
        ColumnType::Decimal { precision, scale } => {
            SqlType::numeric(precision.into(), scale.into())?
        }
        ColumnType::Real => SqlType::REAL,
        ColumnType::Double => SqlType::DOUBLE,
        ColumnType::Date => SqlType::DATE,
        ColumnType::Timestamp => SqlType::TIMESTAMP,
        ColumnType::TimestampTz => SqlType::TIMESTAMPTZ,
        ColumnType::Varchar { max_chars: None } => SqlType::TEXT,
        ColumnType::Varchar { max_chars: Some(chars) } => SqlType::varchar(length(chars))?,
        ColumnType::Char { chars } => SqlType::character(length(chars))?,
        ColumnType::Bytea => SqlType::BYTEA,
    })
}

/// Most digits of a decimal here.
pub(super) const DECIMAL_DIGITS_MAX: u16 = 38;

/// What values stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    Boolean,
    /// `smallint`, `integer` or `bigint`; the SQL type beside it says which.
    Integer,
    /// Unscaled. All values have this scale, as PostgreSQL shows it, and at most so many digits.
    Numeric {
        scale: u16,
        digits: u16,
    },
    /// Numerics of any digits and scales, as bytes.
    Exact {
        /// Whether a value may stand for an error, which is raised where it is looked at.
        may_fail: bool,
    },
    Real,
    Double,
    /// `text` and `varchar`.
    Text,
    /// `bpchar` without the blanks at its end, and how long it is with them; `None` of nulls.
    Padded {
        chars: Option<u32>,
    },
    Bytea,
    /// Days from 1970-01-01.
    Date,
    /// Microseconds from 1970-01-01.
    Timestamp,
    /// Microseconds from 1970-01-01 in UTC.
    TimestampTz,
    /// Values of other types, as bytes.
    Packed {
        /// Whether they have keys, by which they are compared.
        has_keys: bool,
    },
}

impl ValueForm {
    /// Returns the form of a stored column; `None` if that is not of the type.
    pub(super) fn of_column(column_type: ColumnType, sql_type: SqlType) -> Option<Self> {
        let is_length =
            |chars: Option<u32>, length: Option<usize>| chars.map(|chars| chars as usize) == length;
        Some(match (column_type, sql_type.kind()) {
            (ColumnType::Boolean, TypeKind::Boolean) => Self::Boolean,
            (ColumnType::SmallInt, TypeKind::SmallInt)
            | (ColumnType::Integer, TypeKind::Integer)
            | (ColumnType::BigInt, TypeKind::BigInt) => Self::Integer,
            (ColumnType::Decimal { precision, scale }, TypeKind::Numeric(Some(modifier)))
                if modifier == (precision.into(), scale.into()) =>
            {
                Self::Numeric { scale: scale.into(), digits: precision.into() }
            }
            (ColumnType::Real, TypeKind::Real) => Self::Real,
            (ColumnType::Double, TypeKind::Double) => Self::Double,
            (ColumnType::Date, TypeKind::Date) => Self::Date,
            (ColumnType::Timestamp, TypeKind::Timestamp(None | Some(6))) => Self::Timestamp,
            (ColumnType::TimestampTz, TypeKind::TimestampTz(None | Some(6))) => Self::TimestampTz,
            (ColumnType::Varchar { max_chars: None }, TypeKind::Text) => Self::Text,
            (ColumnType::Varchar { max_chars }, TypeKind::Varchar(length))
                if is_length(max_chars, length) =>
            {
                Self::Text
            }
            (ColumnType::Char { chars }, TypeKind::Bpchar(length))
                if is_length(Some(chars), length) =>
            {
                Self::Padded { chars: Some(chars) }
            }
            (ColumnType::Bytea, TypeKind::Bytea) => Self::Bytea,
            _ => return None,
        })
    }

    /// Returns a constant with its form; `None` if the executor cannot represent the value.
    pub(super) fn of_constant(value: &SqlValue, sql_type: SqlType) -> Option<(ScalarValue, Self)> {
        let int = |value: i128| ScalarValue::Int(value);
        Some(match (value, sql_type.kind()) {
            (SqlValue::Null, _) => {
                let form = Self::of_null(sql_type)?;
                (ScalarValue::Null(form.class()), form)
            }
            (SqlValue::Boolean(value), TypeKind::Boolean) => {
                (ScalarValue::Bool(*value), Self::Boolean)
            }
            (SqlValue::SmallInt(value), TypeKind::SmallInt) => {
                (int((*value).into()), Self::Integer)
            }
            (SqlValue::Integer(value), TypeKind::Integer) => (int((*value).into()), Self::Integer),
            (SqlValue::BigInt(value), TypeKind::BigInt) => (int((*value).into()), Self::Integer),
            (SqlValue::Real(value), TypeKind::Real) => (ScalarValue::Float32(*value), Self::Real),
            (SqlValue::Double(value), TypeKind::Double) => {
                (ScalarValue::Float64(*value), Self::Double)
            }
            (SqlValue::Numeric(value), TypeKind::Numeric(_)) => numeric_constant(value),
            (SqlValue::Text(text), TypeKind::Text | TypeKind::Varchar(_)) => {
                (ScalarValue::Bytes(text.as_bytes().to_vec()), Self::Text)
            }
            (SqlValue::Text(text) | SqlValue::Padded(text), TypeKind::Bpchar(_)) => {
                let chars = u32::try_from(text.chars().count()).ok()?;
                let text = text.trim_end_matches(' ');
                let form = Self::Padded { chars: Some(chars) };
                (ScalarValue::Bytes(text.as_bytes().to_vec()), form)
            }
            (SqlValue::Bytea(value), TypeKind::Bytea) => {
                (ScalarValue::Bytes(value.clone()), Self::Bytea)
            }
            (SqlValue::Date(date), TypeKind::Date) => {
                (int(date.to_unix_days()?.into()), Self::Date)
            }
            (SqlValue::Timestamp(moment), TypeKind::Timestamp(_)) => {
                (int(moment.to_unix_micros()?.into()), Self::Timestamp)
            }
            (SqlValue::TimestampTz(moment), TypeKind::TimestampTz(_)) => {
                (int(moment.to_unix_micros()?.into()), Self::TimestampTz)
            }
            (value, _) => {
                let form = Self::of_packed(sql_type)?;
                let mut bytes = Vec::new();
                encode_packed(value, &mut bytes);
                (ScalarValue::Bytes(bytes), form)
            }
        })
    }

    /// Returns the form of a null of a type.
    pub(super) fn of_null(sql_type: SqlType) -> Option<Self> {
        Some(match sql_type.kind() {
            TypeKind::Boolean => Self::Boolean,
            TypeKind::SmallInt | TypeKind::Integer | TypeKind::BigInt => Self::Integer,
            TypeKind::Numeric(Some((precision, scale))) => {
                let (digits, scale) = (precision.try_into().ok()?, scale.try_into().ok()?);
                Self::Numeric { scale, digits }
            }
            TypeKind::Numeric(None) => Self::Numeric { scale: 0, digits: 1 },
            TypeKind::Real => Self::Real,
            TypeKind::Double => Self::Double,
            TypeKind::Text | TypeKind::Varchar(_) => Self::Text,
            TypeKind::Bpchar(length) => {
                Self::Padded { chars: length.and_then(|chars| chars.try_into().ok()) }
            }
            TypeKind::Bytea => Self::Bytea,
            TypeKind::Date => Self::Date,
            TypeKind::Timestamp(_) => Self::Timestamp,
            TypeKind::TimestampTz(_) => Self::TimestampTz,
            _ => return Self::of_packed(sql_type),
        })
    }

    /// Returns the form of a type whose values are packed.
    fn of_packed(sql_type: SqlType) -> Option<Self> {
        is_packed_type(sql_type).then(|| Self::Packed { has_keys: has_keys(sql_type) })
    }

    /// Whether values are compared by keys that are a part of them.
    pub(super) fn has_key_node(self) -> bool {
        matches!(self, Self::Exact { .. } | Self::Packed { .. })
    }

    /// Returns the class of the values.
    pub(super) fn class(self) -> ValueClass {
        match self {
            Self::Boolean => ValueClass::Bool,
            Self::Integer
            | Self::Numeric { .. }
            | Self::Date
            | Self::Timestamp
            | Self::TimestampTz => ValueClass::Int,
            Self::Real => ValueClass::Float32,
            Self::Double => ValueClass::Float64,
            Self::Text
            | Self::Padded { .. }
            | Self::Bytea
            | Self::Exact { .. }
            | Self::Packed { .. } => ValueClass::Bytes,
        }
    }

    /// Whether a value may stand for an error.
    pub(super) fn may_fail(self) -> bool {
        self == Self::Exact { may_fail: true }
    }

    /// Returns the SQL value that a physical one stands for.
    ///
    /// # Errors
    /// The error that the value stands for; [`ExecError::Internal`] if it is not of this form.
    pub(super) fn decode(self, value: ScalarValue, sql_type: SqlType) -> ExecResult<SqlValue> {
        let decoded = match (self, value) {
            (_, ScalarValue::Null(_)) => Some(SqlValue::Null),
            (Self::Boolean, ScalarValue::Bool(value)) => Some(SqlValue::Boolean(value)),
            (Self::Real, ScalarValue::Float32(value)) => Some(SqlValue::Real(value)),
            (Self::Double, ScalarValue::Float64(value)) => Some(SqlValue::Double(value)),
            (_, ScalarValue::Int(value)) => self.decode_int(value, sql_type),
            (Self::Bytea, ScalarValue::Bytes(bytes)) => Some(SqlValue::Bytea(bytes)),
            (Self::Packed { .. }, ScalarValue::Bytes(bytes)) => {
                Some(decode_packed(&bytes, sql_type).map_err(ExecError::of_value)?)
            }
            (Self::Exact { .. }, ScalarValue::Bytes(bytes)) => {
                Some(SqlValue::Numeric(decode_exact(&bytes).map_err(ExecError::of_value)?))
            }
            (Self::Text, ScalarValue::Bytes(bytes)) => {
                String::from_utf8(bytes).ok().map(SqlValue::Text)
            }
            (Self::Padded { chars }, ScalarValue::Bytes(bytes)) => {
                String::from_utf8(bytes).ok().map(|mut text| {
                    let missing =
                        (chars.unwrap_or(0) as usize).saturating_sub(text.chars().count());
                    text.extend(std::iter::repeat_n(' ', missing));
                    SqlValue::Padded(text)
                })
            }
            _ => None,
        };
        decoded.ok_or_else(|| ExecError::internal(format!("a value is no {sql_type}")))
    }

    fn decode_int(self, value: i128, sql_type: SqlType) -> Option<SqlValue> {
        Some(match (self, sql_type.kind()) {
            (Self::Integer, TypeKind::SmallInt) => SqlValue::SmallInt(value.try_into().ok()?),
            (Self::Integer, TypeKind::Integer) => SqlValue::Integer(value.try_into().ok()?),
            (Self::Integer, TypeKind::BigInt) => SqlValue::BigInt(value.try_into().ok()?),
            (Self::Numeric { scale, .. }, _) => {
                SqlValue::Numeric(ExactNumeric::from_scaled(value, scale).ok()?)
            }
            (Self::Date, _) => {
                SqlValue::Date(SqlDate::from_unix_days(value.try_into().ok()?).ok()?)
            }
            (Self::Timestamp, _) => SqlValue::Timestamp(unix_timestamp(value)?),
            (Self::TimestampTz, _) => SqlValue::TimestampTz(unix_timestamp(value)?),
            _ => return None,
        })
    }
}

fn unix_timestamp(micros: i128) -> Option<SqlTimestamp> {
    SqlTimestamp::from_unix_micros(micros.try_into().ok()?).ok()
}

fn numeric_constant(value: &ExactNumeric) -> (ScalarValue, ValueForm) {
    if let Some((unscaled, scale)) = value.to_scaled() {
        let digits = count_digits(unscaled).max(scale);
        if digits <= DECIMAL_DIGITS_MAX {
            return (ScalarValue::Int(unscaled), ValueForm::Numeric { scale, digits });
        }
    }
    let mut bytes = Vec::new();
    encode_exact(value, &mut bytes);
    (ScalarValue::Bytes(bytes), ValueForm::Exact { may_fail: false })
}

/// Returns the digits of a whole number, at least one.
fn count_digits(value: i128) -> u16 {
    value.unsigned_abs().checked_ilog10().map_or(1, |log| log as u16 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_columns_of_other_types_have_no_form() {
        let money = ColumnType::Decimal { precision: 15, scale: 2 };
        let numeric = |precision, scale| SqlType::numeric(precision, scale).unwrap();
        let form = ValueForm::of_column(money, numeric(15, 2));
        assert_eq!(form, Some(ValueForm::Numeric { scale: 2, digits: 15 }));
        assert_eq!(ValueForm::of_column(money, numeric(15, 3)), None);
        assert_eq!(ValueForm::of_column(money, SqlType::NUMERIC), None);
        assert_eq!(ValueForm::of_column(ColumnType::Integer, SqlType::BIGINT), None);
        let letters = ColumnType::Varchar { max_chars: Some(3) };
        assert_eq!(ValueForm::of_column(letters, SqlType::varchar(4).unwrap()), None);
        assert_eq!(ValueForm::of_column(letters, SqlType::TEXT), None);
    }

    #[test]
    fn characters_get_their_blanks_back() {
        let form = ValueForm::Padded { chars: Some(4) };
        let value = form.decode(ScalarValue::Bytes("\u{e4}b".into()), SqlType::BPCHAR).unwrap();
        assert!(matches!(value, SqlValue::Padded(text) if text == "\u{e4}b  "));
        let constant = SqlValue::Padded("ab  ".to_owned());
        let (value, _) = ValueForm::of_constant(&constant, SqlType::BPCHAR).unwrap();
        assert_eq!(value, ScalarValue::Bytes("ab".into()));
    }

    #[test]
    fn decimals_beyond_38_digits_are_bytes_and_infinite_dates_no_constants() {
        let is_exact = |value| {
            let constant = ValueForm::of_constant(&SqlValue::Numeric(value), SqlType::NUMERIC);
            matches!(constant, Some((_, ValueForm::Exact { may_fail: false })))
        };
        assert!(is_exact(ExactNumeric::from(10_i128.pow(38))));
        assert!(!is_exact(ExactNumeric::from(10_i128.pow(38) - 1)));
        assert!(is_exact(ExactNumeric::from_scaled(1, 39).unwrap()));
        assert!(is_exact(ExactNumeric::NAN));
        let infinite = SqlValue::Date(SqlDate::INFINITY);
        assert!(ValueForm::of_constant(&infinite, SqlType::DATE).is_none());
    }
}
