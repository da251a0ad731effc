//! Variances, covariances and regressions.
//!
//! # Source
//! Youngs and Cramer, "Some results relevant to choice of sum and sum-of-product algorithms",
//! Technometrics 13, 1971, as PostgreSQL does since version 12.

use nacre_types::catalog::TypeOid;
use nacre_types::{ExactNumeric, SqlValue, ValueError};

use super::{AggregateKernel, AggregateState, argument, mismatch};

/// Returns the kernel of an aggregate of arguments of that type.
pub(super) fn kernel(name: &str, argument: TypeOid) -> Option<AggregateKernel> {
    let is_float = matches!(argument, TypeOid::FLOAT4 | TypeOid::FLOAT8);
    macro_rules! named {
        ($state:ident: $($word:literal)*) => {
            match name {
                $($word => |_| $state::start($word),)*
                _ => return None,
            }
        };
    }
    let start: super::StateStart = if !is_float {
        named!(NumericState: "variance" "var_samp" "var_pop" "stddev" "stddev_samp" "stddev_pop")
    } else if name == "avg" || name.starts_with("var") || name.starts_with("stddev") {
        named!(SingleState: "avg" "variance" "var_samp" "var_pop" "stddev" "stddev_samp"
            "stddev_pop")
    } else {
        named!(PairState: "regr_count" "regr_sxx" "regr_syy" "regr_sxy" "regr_avgx" "regr_avgy"
            "regr_r2" "regr_slope" "regr_intercept" "covar_pop" "covar_samp" "corr")
    };
    Some(AggregateKernel::of_values(start))
}

/// Sums of pairs of floats: of the squares of what `x` and `y` are away from their means, and of
/// the products of both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairMoments {
    pub count: f64,
    pub x: f64,
    pub xx: f64,
    pub y: f64,
    pub yy: f64,
    pub xy: f64,
}

fn overflow() -> ValueError {
    ValueError::out_of_range("value out of range: overflow")
}

impl PairMoments {
    /// Adds a pair.
    ///
    /// # Errors
    /// 22003 if a sum of finite numbers is not finite.
    pub fn add(&mut self, y: f64, x: f64) -> Result<(), ValueError> {
        let before = *self;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if before.count == 0.0 {
            if !x.is_finite() {
                (self.xx, self.xy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.yy, self.xy) = (f64::NAN, f64::NAN);
            }
            return Ok(());
        }
        let (by_x, by_y) = (x * self.count - self.x, y * self.count - self.y);
        let scale = 1.0 / (self.count * before.count);
        self.xx += by_x * by_x * scale;
        self.yy += by_y * by_y * scale;
        self.xy += by_x * by_y * scale;
        let was_x_finite = !before.x.is_infinite() && !x.is_infinite();
        let was_y_finite = !before.y.is_infinite() && !y.is_infinite();
        let is_beyond = (self.x.is_infinite() || self.xx.is_infinite()) && was_x_finite
            || (self.y.is_infinite() || self.yy.is_infinite()) && was_y_finite
            || self.xy.is_infinite() && was_x_finite && was_y_finite;
        if is_beyond {
            return Err(overflow());
        }
        for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }

    /// Adds a single value as `x`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_single(&mut self, x: f64) -> Result<(), ValueError> {
        let before = *self;
        self.count += 1.0;
        self.x += x;
        if before.count == 0.0 {
            if !x.is_finite() {
                self.xx = f64::NAN;
            }
            return Ok(());
        }
        let by_x = x * self.count - self.x;
        self.xx += by_x * by_x / (self.count * before.count);
        if self.x.is_infinite() || self.xx.is_infinite() {
            if !before.x.is_infinite() && !x.is_infinite() {
                return Err(overflow());
            }
            self.xx = f64::NAN;
        }
        Ok(())
    }

    /// Adds the pairs of another state.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn merge(&mut self, other: &Self) -> Result<(), ValueError> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = *other;
            return Ok(());
        }
        let count = self.count + other.count;
        let by_x = self.x / self.count - other.x / other.count;
        let by_y = self.y / self.count - other.y / other.count;
        let weight = self.count * other.count / count;
        let sum = |one: f64, other: f64, more: f64| {
            let sum = one + other + more;
            let is_beyond = sum.is_infinite() && !one.is_infinite() && !other.is_infinite();
            if is_beyond { Err(overflow()) } else { Ok(sum) }
        };
        *self = Self {
            count,
            x: sum(self.x, other.x, 0.0)?,
            y: sum(self.y, other.y, 0.0)?,
            xx: sum(self.xx, other.xx, weight * by_x * by_x)?,
            yy: sum(self.yy, other.yy, weight * by_y * by_y)?,
            xy: sum(self.xy, other.xy, weight * by_x * by_y)?,
        };
        Ok(())
    }
}

/// Returns the value of an aggregate of single floats, by its name; `None` is null.
pub fn single_result(name: &str, moments: &PairMoments) -> Option<f64> {
    let PairMoments { count, x, xx, .. } = *moments;
    let is_population = name.ends_with("_pop");
    if name == "avg" {
        return (count > 0.0).then(|| x / count);
    }
    let divisor = if is_population { count } else { count - 1.0 };
    let variance = (divisor > 0.0).then(|| xx / divisor)?;
    Some(if name.starts_with("stddev") { variance.sqrt() } else { variance })
}

/// Returns the value of an aggregate of pairs, by its name; `None` is null.
pub fn pair_result(name: &str, moments: &PairMoments) -> Option<f64> {
    let PairMoments { count, x, xx, y, yy, xy } = *moments;
    if count < 1.0 {
        return None;
    }
    match name {
        "regr_sxx" => Some(xx),
        "regr_syy" => Some(yy),
        "regr_sxy" => Some(xy),
        "regr_avgx" => Some(x / count),
        "regr_avgy" => Some(y / count),
        "covar_pop" => Some(xy / count),
        "covar_samp" => (count > 1.0).then(|| xy / (count - 1.0)),
        "corr" => (xx != 0.0 && yy != 0.0).then(|| xy / (xx * yy).sqrt()),
        "regr_r2" if xx == 0.0 => None,
        "regr_r2" if yy == 0.0 => Some(1.0),
        "regr_r2" => Some((xy * xy) / (xx * yy)),
        "regr_slope" => (xx != 0.0).then(|| xy / xx),
        "regr_intercept" => (xx != 0.0).then(|| (y - x * xy / xx) / count),
        _ => None,
    }
}

fn float(row: &[SqlValue], index: usize) -> Result<f64, ValueError> {
    match argument(row, index)? {
        SqlValue::Real(value) => Ok((*value).into()),
        SqlValue::Double(value) => Ok(*value),
        _ => Err(mismatch()),
    }
}

struct SingleState {
    name: &'static str,
    moments: PairMoments,
}

impl SingleState {
    fn start(name: &'static str) -> Box<dyn AggregateState> {
        Box::new(Self { name, moments: PairMoments::default() })
    }
}

impl AggregateState for SingleState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        self.moments.add_single(float(row, 0)?)
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(single_result(self.name, &self.moments).map_or(SqlValue::Null, SqlValue::Double))
    }
}

struct PairState {
    name: &'static str,
    moments: PairMoments,
}

impl PairState {
    fn start(name: &'static str) -> Box<dyn AggregateState> {
        Box::new(Self { name, moments: PairMoments::default() })
    }
}

impl AggregateState for PairState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        if self.name == "regr_count" {
            self.moments.count += 1.0;
            return Ok(());
        }
        self.moments.add(float(row, 0)?, float(row, 1)?)
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        if self.name == "regr_count" {
            return Ok(SqlValue::BigInt(self.moments.count as i64));
        }
        Ok(pair_result(self.name, &self.moments).map_or(SqlValue::Null, SqlValue::Double))
    }
}

/// Exact sums of numbers and of their squares.
#[derive(Clone, Debug)]
pub struct NumericMoments {
    pub count: u64,
    pub sum: ExactNumeric,
    pub squares: ExactNumeric,
}

impl NumericMoments {
    /// Returns the variance, or its root; `None` of too few values.
    ///
    /// # Errors
    /// 22003 of what has too many digits.
    pub fn deviation(
        &self,
        is_sample: bool,
        is_root: bool,
    ) -> Result<Option<ExactNumeric>, ValueError> {
        if self.count <= u64::from(is_sample) {
            return Ok(None);
        }
        let divisor = ExactNumeric::from(if is_sample { self.count - 1 } else { self.count });
        let count = ExactNumeric::from(self.count);
        let squared = self.sum.multiply(&self.sum)?;
        let above = count.multiply(&self.squares)?.subtract(&squared)?;
        if above.is_zero() {
            return Ok(Some(ExactNumeric::ZERO));
        }
        let variance = above.divide(&count.multiply(&divisor)?)?;
        match variance.scale().filter(|_| is_root) {
            Some(scale) => variance.square_root(scale).map(Some),
            None => Ok(Some(variance)),
        }
    }
}

struct NumericState {
    name: &'static str,
    moments: NumericMoments,
}

impl NumericState {
    fn start(name: &'static str) -> Box<dyn AggregateState> {
        let (sum, squares) = (ExactNumeric::ZERO, ExactNumeric::ZERO);
        Box::new(Self { name, moments: NumericMoments { count: 0, sum, squares } })
    }
}

impl AggregateState for NumericState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let value = match argument(row, 0)? {
            SqlValue::SmallInt(value) => ExactNumeric::from(i64::from(*value)),
            SqlValue::Integer(value) => ExactNumeric::from(i64::from(*value)),
            SqlValue::BigInt(value) => ExactNumeric::from(*value),
            SqlValue::Numeric(value) => value.clone(),
            _ => return Err(mismatch()),
        };
        self.moments.count += 1;
        self.moments.sum = self.moments.sum.add(&value)?;
        self.moments.squares = self.moments.squares.add(&value.multiply(&value)?)?;
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        let is_sample = !self.name.ends_with("_pop");
        let value = self.moments.deviation(is_sample, self.name.starts_with("stddev"))?;
        Ok(value.map_or(SqlValue::Null, SqlValue::Numeric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_moments_are_those_of_all_pairs() {
        let pairs: Vec<(f64, f64)> =
            (0..40).map(|at| (f64::from(at * 7 % 11), f64::from(at * 5 % 13))).collect();
        let of = |pairs: &[(f64, f64)]| {
            let mut moments = PairMoments::default();
            pairs.iter().for_each(|(y, x)| moments.add(*y, *x).unwrap());
            moments
        };
        let all = of(&pairs);
        for cut in 0..=pairs.len() {
            let (first, second) = pairs.split_at(cut);
            let mut merged = of(first);
            merged.merge(&of(second)).unwrap();
            for (one, other) in [(merged.xx, all.xx), (merged.yy, all.yy), (merged.xy, all.xy)] {
                assert!((one - other).abs() < 1e-9 * other.abs().max(1.0), "{cut}: {one} {other}");
            }
            assert_eq!((merged.count, merged.x, merged.y), (all.count, all.x, all.y));
        }
    }
}
