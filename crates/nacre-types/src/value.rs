//! A value of any SQL type, with its text and binary forms.
//!
//! Types that differ only in their rules for lengths share a variant: the [`SqlType`] beside a
//! value says which one is meant. `bpchar` has its own, since blanks at its end do not count.
//!
//! # Invariants
//! 1. `==` is SQL's `IS NOT DISTINCT FROM`: nulls equal each other, NaN equals NaN, -0 equals 0.
//! 2. Equal values have equal hashes and compare as equal.
//! 3. Texts are ordered by their bytes, as in the collation `C`.

mod array;
mod array_input;
mod input;
mod order;
mod output;
mod receive;
mod record;
mod send;
mod settings;
mod system;

#[cfg(test)]
mod tests;

use crate::datetime::interval::SqlInterval;
use crate::datetime::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp};
use crate::numeric::ExactNumeric;
use crate::scalar::bits::BitString;

pub use array::{ARRAY_DIMENSIONS_MAX, ArrayDimension, SqlArray};
pub use record::SqlRecord;
pub use settings::ValueSettings;
pub use system::{SystemCall, SystemCatalog};

pub(crate) use input::{apply_modifier, is_not_supported};

/// A value, or null.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum SqlValue {
    Null,
    Boolean(bool),
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    Real(f32),
    Double(f64),
    Numeric(ExactNumeric),
    /// `text`, `varchar`, `name`, `cstring` and literals of unknown type.
    Text(String),
    /// `bpchar`; with the blanks that its length asks for.
    Padded(String),
    /// `"char"`.
    Char(u8),
    Bytea(Vec<u8>),
    Uuid([u8; 16]),
    /// `json`: a text that was checked.
    Json(String),
    Date(SqlDate),
    Time(SqlTime),
    TimeTz(SqlTimeTz),
    Timestamp(SqlTimestamp),
    /// In UTC.
    TimestampTz(SqlTimestamp),
    Interval(SqlInterval),
    /// `bit` and `bit varying`.
    Bits(BitString),
    /// `oid`, types such as `regclass`, `xid`, `cid`.
    Oid(u32),
    Array(Box<SqlArray>),
    Record(Box<SqlRecord>),
}

impl SqlValue {
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
