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

/// Values at fractions of the rows.
struct PercentileState {
    context: Arc<AggregateContext>,
    is_continuous: bool,
    /// The number of all rows.
    count: usize,
    /// Rows that came.
    seen: usize,
    /// Rows whose values are kept, ascending.
    places: Vec<usize>,
    /// Of those of `places` that came.
    values: Vec<SqlValue>,
}

impl PercentileState {
    fn start(context: &Arc<AggregateContext>, is_continuous: bool) -> Box<dyn AggregateState> {
        let (context, places, values) = (Arc::clone(context), Vec::new(), Vec::new());
        Box::new(Self { context, is_continuous, count: 0, seen: 0, places, values })
    }

    /// Returns the rows that the value at a fraction is of or between, and how far it is from the
    /// first.
    fn places_of(&self, fraction: f64) -> (usize, usize, f64) {
        if !self.is_continuous {
            let rank = (fraction * self.count as f64).ceil() as usize;
            let place = rank.saturating_sub(1);
            return (place, place, 0.0);
        }
        let place = fraction * self.count.saturating_sub(1) as f64;
        (place.floor() as usize, place.ceil() as usize, place - place.floor())
    }

    /// Returns the value at a fraction of the rows.
    fn at(&self, fraction: f64) -> Result<SqlValue, ValueError> {
        let value = |place: usize| {
            let index = self.places.binary_search(&place).map_err(|_| mismatch())?;
            self.values.get(index).ok_or_else(mismatch)
        };
        let (below, above, part) = self.places_of(fraction);
        let (below, above) = (value(below)?, value(above)?);
        if part == 0.0 {
            return Ok(below.clone());
        }
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
    fn expect(&mut self, rows: u64) {
        self.count = rows as usize;
        let fractions = match self.context.direct.first() {
            Some(SqlValue::Array(fractions)) => fractions.elements(),
            Some(fraction) => std::slice::from_ref(fraction),
            None => &[],
        };
        // One that is none is refused when the value is asked for.
        let fractions = fractions.iter().filter_map(|one| fraction_of(one).ok().flatten());
        let places = fractions.map(|fraction| self.places_of(fraction));
        self.places = places.flat_map(|(below, above, _)| [below, above]).collect();
        self.places.sort_unstable();
        self.places.dedup();
    }

    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        if self.places.get(self.values.len()) == Some(&self.seen) {
            self.values.push(argument(row, 0)?.clone());
        }
        self.seen += 1;
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        let is_empty = self.count == 0;
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
