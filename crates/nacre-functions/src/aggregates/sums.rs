//! `count`, `sum` and `avg`.

use nacre_types::catalog::TypeOid;
use nacre_types::{NumericSum, SqlInterval, SqlValue, ValueError};

use super::{AggregateKernel, AggregateState, argument, mismatch};

/// Returns the kernel of an aggregate of arguments of that type.
pub(super) fn kernel(name: &str, argument: Option<TypeOid>) -> Option<AggregateKernel> {
    let start: super::StateStart = match (name, argument) {
        ("count", None) => {
            let start: super::StateStart = |_| Box::new(RowCount(0));
            return Some(AggregateKernel {
                takes_nulls: true,
                ..AggregateKernel::of_values(start)
            });
        }
        ("count", Some(_)) => |_| Box::new(RowCount(0)),
        ("sum", Some(TypeOid::INT2 | TypeOid::INT4)) => |_| Box::new(BigintSum(None)),
        ("sum", Some(TypeOid::INT8 | TypeOid::NUMERIC)) => |_| NumberState::start(false),
        ("avg", Some(TypeOid::INT2 | TypeOid::INT4 | TypeOid::INT8 | TypeOid::NUMERIC)) => {
            |_| NumberState::start(true)
        }
        ("sum", Some(TypeOid::FLOAT4 | TypeOid::FLOAT8)) => |_| Box::new(FloatSum(SqlValue::Null)),
        ("sum", Some(TypeOid::INTERVAL)) => |_| IntervalState::start(false),
        ("avg", Some(TypeOid::INTERVAL)) => |_| IntervalState::start(true),
        _ => return None,
    };
    Some(AggregateKernel::of_values(start))
}

struct RowCount(i64);

impl AggregateState for RowCount {
    fn add(&mut self, _: &[SqlValue]) -> Result<(), ValueError> {
        self.0 += 1;
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(SqlValue::BigInt(self.0))
    }
}

/// A sum of `smallint` or `integer`.
struct BigintSum(Option<i64>);

impl AggregateState for BigintSum {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let value = match argument(row, 0)? {
            SqlValue::SmallInt(value) => (*value).into(),
            SqlValue::Integer(value) => (*value).into(),
            _ => return Err(mismatch()),
        };
        let sum = self.0.unwrap_or(0).checked_add(value);
        self.0 = Some(sum.ok_or_else(|| ValueError::range_of("bigint"))?);
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(self.0.map_or(SqlValue::Null, SqlValue::BigInt))
    }
}

/// An exact sum, or an average.
struct NumberState {
    sum: NumericSum,
    is_average: bool,
}

impl NumberState {
    fn start(is_average: bool) -> Box<dyn AggregateState> {
        Box::new(Self { sum: NumericSum::default(), is_average })
    }
}

impl AggregateState for NumberState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        match argument(row, 0)? {
            SqlValue::SmallInt(value) => self.sum.add_scaled((*value).into(), 0),
            SqlValue::Integer(value) => self.sum.add_scaled((*value).into(), 0),
            SqlValue::BigInt(value) => self.sum.add_scaled((*value).into(), 0),
            SqlValue::Numeric(value) => self.sum.add(value),
            _ => return Err(mismatch()),
        }
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        let value = if self.is_average { self.sum.average() } else { self.sum.sum() };
        Ok(value?.map_or(SqlValue::Null, SqlValue::Numeric))
    }
}

/// A sum of floats in their own type.
struct FloatSum(SqlValue);

impl AggregateState for FloatSum {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let overflow = || ValueError::out_of_range("value out of range: overflow");
        self.0 = match (&self.0, argument(row, 0)?) {
            (SqlValue::Null, value) => value.clone(),
            (SqlValue::Real(one), SqlValue::Real(other)) => {
                let sum = one + other;
                if sum.is_infinite() && one.is_finite() && other.is_finite() {
                    return Err(overflow());
                }
                SqlValue::Real(sum)
            }
            (SqlValue::Double(one), SqlValue::Double(other)) => {
                let sum = one + other;
                if sum.is_infinite() && one.is_finite() && other.is_finite() {
                    return Err(overflow());
                }
                SqlValue::Double(sum)
            }
            _ => return Err(mismatch()),
        };
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(self.0.clone())
    }
}

struct IntervalState {
    sum: SqlInterval,
    count: u64,
    is_average: bool,
}

impl IntervalState {
    fn start(is_average: bool) -> Box<dyn AggregateState> {
        Box::new(Self { sum: SqlInterval::default(), count: 0, is_average })
    }
}

impl AggregateState for IntervalState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let SqlValue::Interval(value) = argument(row, 0)? else { return Err(mismatch()) };
        self.sum = self.sum.sum(*value)?;
        self.count += 1;
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        match self.count {
            0 => Ok(SqlValue::Null),
            count if self.is_average => self.sum.divide(count as f64).map(SqlValue::Interval),
            _ => Ok(SqlValue::Interval(self.sum)),
        }
    }
}
