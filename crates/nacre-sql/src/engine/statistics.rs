//! Statistics of tables for the optimizer: bounds of columns from the aggregates of chunks.

use nacre_column::{Bound, ColumnType};
use nacre_plan::optimizer::ColumnStatistics;
use nacre_store::{Chunk, HotChunkRef, HotColumnRange, TableSnapshot};
use nacre_types::datetime::{SqlDate, SqlTimestamp};
use nacre_types::{ExactNumeric, SqlValue};

/// The chunks of a table, looked up once for a query.
#[derive(Debug)]
pub(super) struct TableChunkStatistics {
    frozen: Vec<Chunk>,
    hot: Vec<HotChunkRef>,
}

impl TableChunkStatistics {
    /// Looks chunks up; without those of loads that cannot be opened, which are errors when they
    /// are read.
    pub(super) fn of(snapshot: &TableSnapshot) -> Self {
        let frozen = snapshot.chunks().unwrap_or_default();
        Self { frozen, hot: snapshot.hot_chunks().to_vec() }
    }

    /// Returns the statistics of a column of a type.
    pub(super) fn column(&self, column: usize, column_type: ColumnType) -> ColumnStatistics {
        let smas = || self.frozen.iter().map(|chunk| chunk.sma(column));
        let rows: u64 = smas().map(|sma| u64::from(sma.rows)).sum();
        let nulls: u64 = smas().map(|sma| u64::from(sma.null_count)).sum();
        let null_fraction = (rows > 0).then(|| nulls as f64 / rows as f64);
        let bounds = self.int_bounds(column).and_then(|(min, max)| {
            Some((sql_value(min, column_type)?, sql_value(max, column_type)?))
        });
        ColumnStatistics { bounds, null_fraction, distinct_count: None }
    }

    /// Returns the least and the greatest stored number; `None` if it is not known of a chunk.
    fn int_bounds(&self, column: usize) -> Option<(i128, i128)> {
        let mut bounds: Option<(i128, i128)> = None;
        let mut widen = |min: i128, max: i128| {
            let (low, high) = bounds.unwrap_or((min, max));
            bounds = Some((low.min(min), high.max(max)));
        };
        for sma in self.frozen.iter().map(|chunk| chunk.sma(column)) {
            match (sma.min, sma.max) {
                (Some(Bound::Int(min)), Some(Bound::Int(max))) => widen(min, max),
                _ if sma.null_count == sma.rows => {}
                _ => return None,
            }
        }
        for chunk in &self.hot {
            match chunk.range(column) {
                HotColumnRange::Within { min, max } => widen(min, max),
                HotColumnRange::Empty => {}
                HotColumnRange::Unknown => return None,
            }
        }
        bounds
    }
}

/// Returns what a stored number stands for.
fn sql_value(value: i128, column_type: ColumnType) -> Option<SqlValue> {
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
