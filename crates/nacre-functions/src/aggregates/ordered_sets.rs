//! Ordered sets: percentiles and the most frequent value. Rows come in order, without nulls.

use std::sync::Arc;

use nacre_types::catalog::TypeOid;
use nacre_types::{SqlArray, SqlInterval, SqlType, SqlValue, ValueError};

use super::{AggregateContext, AggregateKernel, AggregateState, argument, mismatch};

/// Returns the kernel of an aggregate over values of that type.
pub(super) fn kernel(name: &str, argument: TypeOid) -> Option<AggregateKernel> {
    let start: super::StateStart = match name {
        "mode" => |_| Box::new(ModeState::default()),
        "percentile_disc" => |context| PercentileState::start(context, false),
        "percentile_cont" if [TypeOid::FLOAT8, TypeOid::INTERVAL].contains(&argument) => {
            |context| PercentileState::start(context, true)
        }
        _ => return None,
    };
    Some(AggregateKernel { is_ordered: true, ..AggregateKernel::of_values(start) })
}

/// The most frequent value, of several the first.
#[derive(Default)]
struct ModeState {
    best: SqlOption,
    best_count: u64,
    last: SqlOption,
    last_count: u64,
}

type SqlOption = Option<SqlValue>;

impl AggregateState for ModeState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let value = argument(row, 0)?;
        if self.last.as_ref() == Some(value) {
            self.last_count += 1;
        } else {
            (self.last, self.last_count) = (Some(value.clone()), 1);
        }
        if self.last_count > self.best_count {
            (self.best, self.best_count) = (self.last.clone(), self.last_count);
        }
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(self.best.clone().unwrap_or(SqlValue::Null))
    }
}

struct PercentileState {
    context: Arc<AggregateContext>,
    values: Vec<SqlValue>,
    is_continuous: bool,
}

impl PercentileState {
    fn start(context: &Arc<AggregateContext>, is_continuous: bool) -> Box<dyn AggregateState> {
        Box::new(Self { context: Arc::clone(context), values: Vec::new(), is_continuous })
    }

    /// Returns the value at a fraction of the rows.
    fn at(&self, fraction: f64) -> Result<SqlValue, ValueError> {
        let count = self.values.len();
        let value = |index: usize| self.values.get(index).ok_or_else(mismatch);
        if !self.is_continuous {
            let rank = (fraction * count as f64).ceil() as usize;
            return value(rank.saturating_sub(1)).cloned();
        }
        let place = fraction * (count - 1) as f64;
        let (below, above) = (value(place.floor() as usize)?, value(place.ceil() as usize)?);
        if place.floor() == place.ceil() {
            return Ok(below.clone());
        }
        let part = place - place.floor();
        match (below, above) {
            (SqlValue::Double(below), SqlValue::Double(above)) => {
                Ok(SqlValue::Double(below + part * (above - below)))
            }
            (SqlValue::Interval(below), SqlValue::Interval(above)) => {
                between(*below, *above, part).map(SqlValue::Interval)
            }
            _ => Err(mismatch()),
        }
    }
}

fn between(below: SqlInterval, above: SqlInterval, part: f64) -> Result<SqlInterval, ValueError> {
    above.subtract(below)?.multiply(part)?.sum(below)
}

/// Checks a fraction.
fn fraction_of(value: &SqlValue) -> Result<Option<f64>, ValueError> {
    match value {
        SqlValue::Null => Ok(None),
        SqlValue::Double(fraction) if (0.0..=1.0).contains(fraction) => Ok(Some(*fraction)),
        SqlValue::Double(fraction) => {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            Err(ValueError::out_of_range(message))
        }
        _ => Err(mismatch()),
    }
}

impl AggregateState for PercentileState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        self.values.push(argument(row, 0)?.clone());
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        let is_empty = self.values.is_empty();
        match argument(&self.context.direct, 0)? {
            SqlValue::Null => Ok(SqlValue::Null),
            SqlValue::Array(_) if is_empty => Ok(SqlValue::Null),
            SqlValue::Array(fractions) => {
                let own = self.context.argument_type(0)?.without_modifier();
                let mut values = Vec::with_capacity(fractions.elements().len());
                for fraction in fractions.elements() {
                    let fraction = fraction_of(fraction)?;
                    values.push(fraction.map_or(Ok(SqlValue::Null), |own| self.at(own))?);
                }
                array_like(fractions, own, values)
            }
            fraction => match fraction_of(fraction)? {
                Some(fraction) if !is_empty => self.at(fraction),
                _ => Ok(SqlValue::Null),
            },
        }
    }
}

fn array_like(
    shape: &SqlArray,
    element: SqlType,
    values: Vec<SqlValue>,
) -> Result<SqlValue, ValueError> {
    let array = SqlArray::with_dimensions(element, shape.dimensions().to_vec(), values)?;
    Ok(SqlValue::Array(Box::new(array)))
}
