//! Statistics of tables for the optimizer: bounds of columns from the aggregates of chunks, and how
//! many different strings there are from the dictionaries of some blocks.

use nacre_column::replicated::AccessHint;
use nacre_column::{Bound, ColumnType, Physical, StringValues, Strings};
use nacre_plan::optimizer::ColumnStatistics;
use nacre_store::{Chunk, HotChunkRef, HotColumnRange, TableSnapshot};
use nacre_types::datetime::{SqlDate, SqlTimestamp};
use nacre_types::{ExactNumeric, SqlValue};

/// A block whose strings come again that often has about all strings of its column.
const REPEATS_MIN: usize = 8;

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
        let is_text = column_type.physical() == Physical::Bytes;
        let distinct_count = if is_text { self.distinct_strings(column) } else { None };
        ColumnStatistics { bounds, null_fraction, distinct_count }
    }

    /// Estimates how many different strings a column has, by the dictionaries of its first block,
    /// its last one, and one between; `None` if one of these has none.
    ///
    /// ```text
    /// few strings that come again often, from the same range in all blocks    those of a block
    /// else                                                                    new ones in each
    /// ```
    fn distinct_strings(&self, column: usize) -> Option<u64> {
        let last = self.frozen.len().checked_sub(1)?;
        let mut looked_at = vec![0, last / 2, last];
        looked_at.dedup();
        let mut counts = Vec::with_capacity(looked_at.len());
        let (mut range, mut is_closed) = (None::<StringRange>, true);
        for chunk in looked_at.iter().map(|index| &self.frozen[*index]) {
            let handle = chunk.read(column, AccessHint::Sequential).ok()?;
            let strings = handle.block().ok()?.strings().ok()?;
            let Strings::Dictionary(entries) = strings else { return None };
            let own = StringRange::of(&entries)?;
            is_closed &= entries.len() * REPEATS_MIN <= chunk.rows();
            is_closed &= range.as_ref().is_none_or(|first| first.overlaps(&own));
            range.get_or_insert(own);
            counts.push(entries.len());
        }
        let (sum, most): (usize, usize) = (counts.iter().sum(), *counts.iter().max()?);
        let count = if is_closed { most } else { sum * self.frozen.len() / counts.len() };
        u64::try_from(count).ok()
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

/// The least and the greatest string of a dictionary.
struct StringRange {
    min: Vec<u8>,
    max: Vec<u8>,
}

impl StringRange {
    /// Returns the range of a dictionary's strings, which ascend; `None` if it cannot be read.
    fn of(entries: &StringValues<'_>) -> Option<Self> {
        let last = entries.len().checked_sub(1)?;
        Some(Self { min: entries.get(0).ok()?.to_vec(), max: entries.get(last).ok()?.to_vec() })
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
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
