//! SQL column types as the storage layers know them.
//!
//! A [`ColumnType`] fixes two things: what a value means, and its [`Physical`] class, which is all
//! that formats and kernels look at. Text and `bytea` share one physical class; that text is valid
//! UTF-8 is kept by whoever fills a [`ColumnBuffer`](crate::ColumnBuffer).

use std::fmt;

use crate::BlockError;

/// Bytes of a [`ColumnType`] on media.
pub const COLUMN_TYPE_BYTES: usize = 8;

/// Largest precision of a decimal, as in the SQL front end.
pub const DECIMAL_PRECISION_MAX: u8 = 38;

/// Largest precision whose unscaled values fit an `i64`.
pub const DECIMAL64_PRECISION_MAX: u8 = 18;

/// Names the SQL type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// `boolean`; stored as 0 and 1.
    Boolean,
    /// `smallint`, 16 bits.
    SmallInt,
    /// `integer`, 32 bits.
    Integer,
    /// `bigint`, 64 bits.
    BigInt,
    /// `decimal(precision, scale)`; stored unscaled, `1 <= precision <= 38`, `scale <= precision`.
    Decimal { precision: u8, scale: u8 },
    /// `real`, 32-bit IEEE 754.
    Real,
    /// `double precision`, 64-bit IEEE 754.
    Double,
    /// `date`; days since 1970-01-01.
    Date,
    /// `timestamp` without time zone; microseconds since 1970-01-01 00:00:00.
    Timestamp,
    /// `timestamp with time zone`; microseconds since 1970-01-01 00:00:00 UTC.
    TimestampTz,
    /// `varchar(max_chars)` or `text` (`None`); UTF-8.
    Varchar { max_chars: Option<u32> },
    /// `char(chars)`; UTF-8, stored without trailing blanks.
    Char { chars: u32 },
    /// `bytea`; any bytes.
    Bytea,
}

/// How the values of a column lie in memory before they are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Physical {
    /// Whole numbers that fit an `i64`.
    Int64,
    /// Whole numbers that need an `i128` (decimals of precision 19 to 38).
    Int128,
    /// 32-bit floats.
    Float32,
    /// 64-bit floats.
    Float64,
    /// Byte strings of any length.
    Bytes,
}

impl ColumnType {
    /// Returns the physical class that holds this type's values.
    pub fn physical(self) -> Physical {
        match self {
            Self::Boolean
            | Self::SmallInt
            | Self::Integer
            | Self::BigInt
            | Self::Date
            | Self::Timestamp
            | Self::TimestampTz => Physical::Int64,
            Self::Decimal { precision, .. } if precision <= DECIMAL64_PRECISION_MAX => {
                Physical::Int64
            }
            Self::Decimal { .. } => Physical::Int128,
            Self::Real => Physical::Float32,
            Self::Double => Physical::Float64,
            Self::Varchar { .. } | Self::Char { .. } | Self::Bytea => Physical::Bytes,
        }
    }

    /// Returns the bytes one value takes in the `plain` format, 0 for byte strings.
    pub fn plain_bytes(self) -> usize {
        match self {
            Self::Boolean => 1,
            Self::SmallInt => 2,
            Self::Integer | Self::Date | Self::Real => 4,
            Self::BigInt | Self::Timestamp | Self::TimestampTz | Self::Double => 8,
            Self::Decimal { .. } if self.physical() == Physical::Int64 => 8,
            Self::Decimal { .. } => 16,
            Self::Varchar { .. } | Self::Char { .. } | Self::Bytea => 0,
        }
    }

    /// Returns the bytes that stand for this type on media, drawn in `docs/layout.md`.
    pub fn to_bytes(self) -> [u8; COLUMN_TYPE_BYTES] {
        let (tag, precision, scale, length): (u8, u8, u8, u32) = match self {
            Self::Boolean => (1, 0, 0, 0),
            Self::SmallInt => (2, 0, 0, 0),
            Self::Integer => (3, 0, 0, 0),
            Self::BigInt => (4, 0, 0, 0),
            Self::Decimal { precision, scale } => (5, precision, scale, 0),
            Self::Real => (6, 0, 0, 0),
            Self::Double => (7, 0, 0, 0),
            Self::Date => (8, 0, 0, 0),
            Self::Timestamp => (9, 0, 0, 0),
            Self::Varchar { max_chars: Some(max_chars) } => (10, 0, 0, max_chars),
            Self::Varchar { max_chars: None } => (11, 0, 0, 0),
            Self::Char { chars } => (12, 0, 0, chars),
            Self::Bytea => (13, 0, 0, 0),
            Self::TimestampTz => (14, 0, 0, 0),
        };
        let [a, b, c, d] = length.to_le_bytes();
        [tag, precision, scale, 0, a, b, c, d]
    }

    /// Reads what [`ColumnType::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`BlockError::Field`] if no type has these bytes.
    pub fn from_bytes(bytes: [u8; COLUMN_TYPE_BYTES]) -> Result<Self, BlockError> {
        let [tag, precision, scale, _, a, b, c, d] = bytes;
        let length = u32::from_le_bytes([a, b, c, d]);
        let column_type = match tag {
            1 => Self::Boolean,
            2 => Self::SmallInt,
            3 => Self::Integer,
            4 => Self::BigInt,
            5 => Self::Decimal { precision, scale },
            6 => Self::Real,
            7 => Self::Double,
            8 => Self::Date,
            9 => Self::Timestamp,
            10 => Self::Varchar { max_chars: Some(length) },
            11 => Self::Varchar { max_chars: None },
            12 => Self::Char { chars: length },
            13 => Self::Bytea,
            14 => Self::TimestampTz,
            _ => return Err(type_field("column type tag", tag.into(), "1 to 14")),
        };
        column_type.check()?;
        if column_type.to_bytes() != bytes {
            let found = i128::from(u64::from_le_bytes(bytes));
            return Err(type_field("column type", found, "zero where unused"));
        }
        Ok(column_type)
    }

    /// Checks that a decimal's precision is 1 to 38 and its scale at most the precision.
    ///
    /// # Errors
    /// [`BlockError::Field`] if not.
    pub fn check(self) -> Result<(), BlockError> {
        let Self::Decimal { precision, scale } = self else {
            return Ok(());
        };
        if !(1..=DECIMAL_PRECISION_MAX).contains(&precision) {
            return Err(type_field("decimal precision", precision.into(), "1 to 38"));
        }
        if scale > precision {
            return Err(type_field("decimal scale", scale.into(), "at most the precision"));
        }
        Ok(())
    }

    /// Returns the least and greatest value of a whole-number type, decimals unscaled; `None` for
    /// floats and strings.
    pub fn int_range(self) -> Option<(i128, i128)> {
        match self {
            Self::Boolean => Some((0, 1)),
            Self::SmallInt => Some((i16::MIN.into(), i16::MAX.into())),
            Self::Integer | Self::Date => Some((i32::MIN.into(), i32::MAX.into())),
            Self::BigInt | Self::Timestamp | Self::TimestampTz => {
                Some((i64::MIN.into(), i64::MAX.into()))
            }
            Self::Decimal { precision, .. } => {
                let above = 10_i128.checked_pow(precision.into()).unwrap_or(i128::MAX);
                Some((1 - above, above - 1))
            }
            Self::Real | Self::Double | Self::Varchar { .. } | Self::Char { .. } | Self::Bytea => {
                None
            }
        }
    }

    /// Tells whether values of this type are UTF-8 text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Varchar { .. } | Self::Char { .. })
    }
}

fn type_field(field: &'static str, found: i128, expected: &str) -> BlockError {
    BlockError::Field { field, found, expected: expected.to_owned() }
}

impl fmt::Display for ColumnType {
    /// Writes the type as PostgreSQL's `format_type` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("boolean"),
            Self::SmallInt => f.write_str("smallint"),
            Self::Integer => f.write_str("integer"),
            Self::BigInt => f.write_str("bigint"),
            Self::Decimal { precision, scale } => write!(f, "numeric({precision},{scale})"),
            Self::Real => f.write_str("real"),
            Self::Double => f.write_str("double precision"),
            Self::Date => f.write_str("date"),
            Self::Timestamp => f.write_str("timestamp without time zone"),
            Self::TimestampTz => f.write_str("timestamp with time zone"),
            Self::Varchar { max_chars: Some(max) } => write!(f, "character varying({max})"),
            Self::Varchar { max_chars: None } => f.write_str("text"),
            Self::Char { chars } => write!(f, "character({chars})"),
            Self::Bytea => f.write_str("bytea"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_reads_back_as_written() {
        for tag in 0..=14 {
            for length in [0, 7, u32::MAX] {
                let [a, b, c, d] = length.to_le_bytes();
                for (precision, scale) in [(0, 0), (1, 0), (18, 18), (38, 2), (39, 0), (2, 3)] {
                    let bytes = [tag, precision, scale, 0, a, b, c, d];
                    if let Ok(column_type) = ColumnType::from_bytes(bytes) {
                        assert_eq!(column_type.to_bytes(), bytes);
                        assert_eq!(ColumnType::from_bytes(column_type.to_bytes()), Ok(column_type));
                    }
                }
            }
        }
    }

    #[test]
    fn impossible_types_are_refused() {
        let decimal = ColumnType::Decimal { precision: 39, scale: 0 };
        assert_eq!(
            ColumnType::from_bytes(decimal.to_bytes()).map_err(|error| error.to_string()),
            Err("header field decimal precision is 39, not 1 to 38".to_owned())
        );
        assert!(ColumnType::from_bytes([99, 0, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(ColumnType::from_bytes([3, 0, 0, 0, 1, 0, 0, 0]).is_err());
    }
}
