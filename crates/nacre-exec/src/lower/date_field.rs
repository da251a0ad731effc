//! `extract` of fields of dates and timestamps that are whole numbers, computed vector by vector.

use nacre_functions::catalog::FunctionEntry;
use nacre_types::SqlValue;
use nacre_types::datetime::{DatetimeField, SqlDate, SqlTimestamp};

use crate::error::{ExecError, ExecResult};
use crate::expression::{ForeignCall, ForeignFunction};
use crate::value::{IntBounds, ValueClass};
use crate::vector::{ColumnVector, VectorValues};

/// `extract(field from date)`.
pub(super) const EXTRACT_FROM_DATE: u32 = 6199;

/// `extract(field from timestamp)`.
const EXTRACT_FROM_TIMESTAMP: u32 = 6202;

/// A field of the values of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WholeField {
    field: DatetimeField,
    is_timestamp: bool,
}

impl WholeField {
    /// Returns what `extract` with this field computes; `None` of other functions, of fields that
    /// are not known, and of those with digits behind the point.
    pub(super) fn of_call(function: &FunctionEntry, field: &SqlValue) -> Option<Self> {
        let is_timestamp = match function.oid {
            EXTRACT_FROM_DATE => false,
            EXTRACT_FROM_TIMESTAMP => true,
            _ => return None,
        };
        let SqlValue::Text(name) = field else { return None };
        let whole = Self { field: DatetimeField::from_name(name)?, is_timestamp };
        whole.of(0).map(|_| whole)
    }

    /// Returns the function of vectors.
    pub(super) fn function(self) -> ForeignFunction {
        let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| self.fill(call, out);
        ForeignFunction::new("extract", kernel, ValueClass::Int, IntBounds::I32, true)
    }

    /// Returns the field of days or microseconds from 1970-01-01.
    fn of(self, value: i64) -> Option<i64> {
        if self.is_timestamp {
            SqlTimestamp::from_unix_micros(value).ok()?.whole_field(self.field)
        } else {
            SqlDate::from_unix_days(value).ok()?.whole_field(self.field)
        }
    }

    fn fill(self, call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
        let ([column], VectorValues::Int32(fields)) = (&call.arguments[..], &mut out.values) else {
            return Err(ExecError::internal("a field of what is no date"));
        };
        fields.reserve(call.rows);
        for row in 0..call.rows {
            let value = column.values.int(row).and_then(|value| i64::try_from(value).ok());
            // Values are finite; of a null it is not looked at.
            let field = value.and_then(|value| self.of(value)).unwrap_or(0);
            fields.push(field as i32);
        }
        out.validity.clone_from(&column.validity);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_days_and_of_moments() {
        let field = |field, is_timestamp, value| WholeField { field, is_timestamp }.of(value);
        // 2024-02-29
        assert_eq!(field(DatetimeField::Month, false, 19_782), Some(2));
        assert_eq!(field(DatetimeField::DayOfYear, false, 19_782), Some(60));
        assert_eq!(field(DatetimeField::Hour, false, 19_782), None);
        // The last microsecond of 1969
        assert_eq!(field(DatetimeField::Minute, true, -1), Some(59));
        assert_eq!(field(DatetimeField::Hour, true, -1), Some(23));
        assert_eq!(field(DatetimeField::Year, true, -1), Some(1969));
        assert_eq!(field(DatetimeField::Second, true, -1), None);
    }
}
