//! What statistics tell of a column of several chunks.

use nacre_column::{BlockStatistics, Bound, DistinctSketch, QUANTILES, Sma};

use super::quantile_points::{QuantilePoint, compact, replace_by_parts};

/// Merged aggregates and statistics of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnSummary {
    pub(super) rows: u64,
    pub(super) nulls: u64,
    /// Least and greatest number, both of the same kind.
    pub(super) bounds: Option<(Bound, Bound)>,
    /// Whether values are there of which no bounds are known.
    pub(super) has_unbounded: bool,
    pub(super) distinct: DistinctSketch,
    /// Values that the sketch and `string_bytes` are of.
    pub(super) sketched_values: u64,
    pub(super) string_bytes: u64,
    pub(super) points: Vec<QuantilePoint>,
}

impl ColumnSummary {
    /// Adds a block, or values of which no block was made; then the aggregates have no bounds.
    pub(super) fn add_block(&mut self, sma: &Sma, statistics: Option<&BlockStatistics>) {
        self.rows += u64::from(sma.rows);
        self.nulls += u64::from(sma.null_count);
        let values = sma.rows - sma.null_count;
        if values == 0 {
            return;
        }
        let bounds = number_bounds(sma);
        match bounds {
            Some((min, max)) => self.widen(min, max),
            None => self.has_unbounded = true,
        }
        let mut quantiles: &[f32] = &[];
        if let Some(own) = statistics {
            self.distinct.merge(&own.distinct);
            self.sketched_values += u64::from(values);
            self.string_bytes += u64::from(own.string_bytes);
            quantiles = &own.quantiles;
        }
        self.add_points(bounds, quantiles, f64::from(values));
    }

    /// Adds what another summary of the column tells.
    pub(super) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.nulls += other.nulls;
        if let Some((min, max)) = other.bounds {
            self.widen(min, max);
        }
        self.has_unbounded |= other.has_unbounded;
        self.distinct.merge(&other.distinct);
        self.sketched_values += other.sketched_values;
        self.string_bytes += other.string_bytes;
        self.points.extend_from_slice(&other.points);
        compact(&mut self.points);
    }

    /// Describes the distribution by as few points as it takes.
    pub(super) fn compact_points(&mut self) {
        replace_by_parts(&mut self.points);
    }

    /// Widens the bounds to those of more values.
    pub(super) fn widen(&mut self, min: Bound, max: Bound) {
        self.bounds = Some(match (self.bounds, (min, max)) {
            (Some((Bound::Int(low), Bound::Int(high))), (Bound::Int(min), Bound::Int(max))) => {
                (Bound::Int(low.min(min)), Bound::Int(high.max(max)))
            }
            (
                Some((Bound::Float(low), Bound::Float(high))),
                (Bound::Float(min), Bound::Float(max)),
            ) => (Bound::Float(low.min(min)), Bound::Float(high.max(max))),
            // The first ones: all values of a column are of one kind.
            _ => (min, max),
        });
    }

    /// Adds so many values, spread evenly between bounds.
    pub(super) fn spread(&mut self, min: Bound, max: Bound, values: f64) {
        self.add_points(Some((min, max)), &[], values);
    }

    /// Adds how the values of a block are distributed: by its quantiles, or evenly between its
    /// bounds.
    fn add_points(&mut self, bounds: Option<(Bound, Bound)>, quantiles: &[f32], values: f64) {
        let ends = bounds.map(|(min, max)| (as_number(min), as_number(max)));
        let of_sample = quantiles.first().zip(quantiles.last());
        let of_sample = of_sample.map(|(first, last)| (f64::from(*first), f64::from(*last)));
        let Some((low, high)) = ends.or(of_sample).filter(|(low, high)| low <= high) else {
            return;
        };
        let part = if quantiles.is_empty() { values } else { values / (QUANTILES + 1) as f64 };
        let end = |value: f64| QuantilePoint { value, rows: part / 2.0 };
        let inner = |value: &f32| QuantilePoint {
            // A quantile is rounded.
            value: f64::from(*value).clamp(low, high),
            rows: part,
        };
        self.points.push(end(low));
        self.points.extend(quantiles.iter().map(inner));
        self.points.push(end(high));
        compact(&mut self.points);
    }
}

/// Returns the bounds of a block of numbers; `None` of strings.
fn number_bounds(sma: &Sma) -> Option<(Bound, Bound)> {
    match (sma.min?, sma.max?) {
        (Bound::Bytes { .. }, _) | (_, Bound::Bytes { .. }) => None,
        bounds => Some(bounds),
    }
}

/// Returns a number; bounds of strings do not come here.
fn as_number(bound: Bound) -> f64 {
    match bound {
        Bound::Int(value) => value as f64,
        Bound::Float(value) => value.clamp(f64::MIN, f64::MAX),
        Bound::Bytes { .. } => 0.0,
    }
}
