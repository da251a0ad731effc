//! Statistics of tables for the optimizer, from what the store keeps.

use nacre_column::{Bound, ColumnType};
use nacre_plan::optimizer::ColumnStatistics;
use nacre_store::{ColumnEstimates, TableSnapshot, TableStatistics};
use nacre_types::datetime::{SqlDate, SqlTimestamp};
use nacre_types::{ExactNumeric, SqlValue};

const MICROS_PER_DAY: f64 = 86_400e6;

/// Statistics of a table, looked up once for a query.
#[derive(Debug)]
pub(super) struct StoredTableStatistics {
    columns: TableStatistics,
    rows: u64,
}

impl StoredTableStatistics {
    pub(super) fn of(snapshot: &TableSnapshot) -> Self {
        Self { columns: snapshot.statistics(), rows: snapshot.rows() }
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the statistics of a column of a type.
    pub(super) fn column(&self, column: usize, column_type: ColumnType) -> ColumnStatistics {
        let ColumnEstimates { bounds, null_fraction, distinct, quantiles, .. } =
            self.columns.column(column);
        let bounds = bounds.and_then(|(min, max)| {
            Some((sql_value(min, column_type)?, sql_value(max, column_type)?))
        });
        let axis = StoredAxis::of(column_type);
        ColumnStatistics {
            bounds,
            null_fraction,
            distinct_count: distinct.map(|count| count.round() as u64),
            quantiles: quantiles.into_iter().map(|value| axis.number(value)).collect(),
        }
    }
}

/// How stored numbers become those of the optimizer.
struct StoredAxis {
    origin: f64,
    unit: f64,
}

impl StoredAxis {
    fn of(column_type: ColumnType) -> Self {
        let since_unix_epoch = SqlTimestamp::UNIX_EPOCH.0 as f64;
        let (origin, unit) = match column_type {
            ColumnType::Decimal { scale, .. } => (0.0, 10_f64.powi(-i32::from(scale))),
            ColumnType::Date => (since_unix_epoch, MICROS_PER_DAY),
            ColumnType::Timestamp | ColumnType::TimestampTz => (since_unix_epoch, 1.0),
            _ => (0.0, 1.0),
        };
        Self { origin, unit }
    }

    fn number(&self, stored: f64) -> f64 {
        self.origin + stored * self.unit
    }
}

/// Returns what a stored number stands for.
fn sql_value(bound: Bound, column_type: ColumnType) -> Option<SqlValue> {
    let value = match (bound, column_type) {
        (Bound::Int(value), _) => value,
        (Bound::Float(value), ColumnType::Real) => return Some(SqlValue::Real(value as f32)),
        (Bound::Float(value), _) => return Some(SqlValue::Double(value)),
        (Bound::Bytes { .. }, _) => return None,
    };
    Some(match column_type {
        ColumnType::Boolean => SqlValue::Boolean(value != 0),
        ColumnType::SmallInt => SqlValue::SmallInt(value.try_into().ok()?),
        ColumnType::Integer => SqlValue::Integer(value.try_into().ok()?),
        ColumnType::BigInt => SqlValue::BigInt(value.try_into().ok()?),
        ColumnType::Decimal { scale, .. } => {
            SqlValue::Numeric(ExactNumeric::from_scaled(value, scale.into()).ok()?)
        }
        ColumnType::Date => SqlValue::Date(SqlDate::from_unix_days(value.try_into().ok()?).ok()?),
        ColumnType::Timestamp => {
            SqlValue::Timestamp(SqlTimestamp::from_unix_micros(value.try_into().ok()?).ok()?)
        }
        ColumnType::TimestampTz => {
            SqlValue::TimestampTz(SqlTimestamp::from_unix_micros(value.try_into().ok()?).ok()?)
        }
        _ => return None,
    })
}
