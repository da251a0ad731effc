//! How values are spread about their mean, for conditions on aggregates and between columns.
//!
//! Values of a column lie evenly between its bounds, those of different columns do not depend on
//! each other. Rows fall into groups as by chance, so that their number in a group has about
//! Poisson's distribution: of `n` rows a group, with values of mean `m` and variance `v`, a sum has
//! the mean `n m` and the variance `n (v + m m)`. What comes out is taken for normal.
//!
//! ```text
//! sum(quantity) > 300           4 rows of 1 to 50: mean 102, deviation 59: 0.04 % of the groups
//! quantity < 0.2 * avg(other)   means 25.5 and 5.1, deviations 14 and 0.5: 7 % of the rows
//! ```

/// The least part, since the tails of what is stored are thicker than those of the distribution.
const PART_MIN: f64 = 1e-5;

/// The mean of values, and their variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ValueSpread {
    mean: f64,
    variance: f64,
}

impl ValueSpread {
    /// Returns the spread of a constant.
    pub(super) fn of_constant(value: f64) -> Self {
        Self { mean: value, variance: 0.0 }
    }

    /// Returns the spread of values between bounds.
    pub(super) fn of_bounds((low, high): (f64, f64)) -> Self {
        Self { mean: (low + high) / 2.0, variance: (high - low).powi(2) / 12.0 }
    }

    /// Returns how an aggregate of groups of `rows` rows is spread, whose argument is spread like
    /// that.
    pub(super) fn of_aggregate(name: &str, rows: f64, argument: Option<Self>) -> Option<Self> {
        match name {
            "count" => Some(Self { mean: rows, variance: rows }),
            "sum" => {
                let argument = argument?;
                Some(Self { mean: rows * argument.mean, variance: rows * argument.square() })
            }
            "avg" => {
                let Self { mean, variance } = argument?;
                Some(Self { mean, variance: variance / rows })
            }
            _ => None,
        }
    }

    /// Returns the mean of squares.
    fn square(self) -> f64 {
        self.variance + self.mean * self.mean
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { mean: self.mean + other.mean, variance: self.variance + other.variance }
    }

    pub(super) fn negated(self) -> Self {
        Self { mean: -self.mean, ..self }
    }

    pub(super) fn times(self, other: Self) -> Self {
        let mean = self.mean * other.mean;
        Self { mean, variance: (self.square() * other.square() - mean * mean).max(0.0) }
    }

    /// Returns one by a constant; `None` for other values.
    pub(super) fn inverse(self) -> Option<Self> {
        let inverse = 1.0 / self.mean;
        (self.variance == 0.0 && inverse.is_finite()).then(|| Self::of_constant(inverse))
    }

    /// Returns which part of the values lies within limits; `None` of values that do not differ, or
    /// of which too little is known.
    pub(super) fn part(self, low: Option<f64>, high: Option<f64>) -> Option<f64> {
        let deviation = self.variance.sqrt();
        if !(self.mean.is_finite() && deviation.is_finite() && deviation > 0.0) {
            return None;
        }
        let above = |limit: f64| part_above((limit - self.mean) / deviation);
        let from = low.map_or(1.0, above);
        let to = high.map_or(0.0, above);
        Some((from - to).max(PART_MIN))
    }
}

/// Returns which part of a standard normal distribution lies above a value: Abramowitz and Stegun,
/// "Handbook of mathematical functions", 26.2.17, which is off by 7.5e-8 at most.
fn part_above(value: f64) -> f64 {
    if value < 0.0 {
        return 1.0 - part_above(-value);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * value);
    let terms = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let sum = terms.into_iter().fold(0.0, |sum, term| (sum + term) * t);
    let density = (-value * value / 2.0).exp() / std::f64::consts::TAU.sqrt();
    (density * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() < 1e-4
    }

    #[test]
    fn parts_are_those_of_the_normal_distribution() {
        for (value, wanted) in [(0.0, 0.5), (1.0, 0.158_655), (-1.0, 0.841_345), (3.0, 0.001_35)] {
            assert!((part_above(value) - wanted).abs() < 1e-6, "{value}");
        }
        assert_eq!((part_above(1e9), part_above(-1e9)), (0.0, 1.0));
    }

    #[test]
    fn sums_of_many_rows_are_seldom_far_from_their_mean() {
        let quantity = ValueSpread::of_bounds((1.0, 50.0));
        // Orders of 4 rows.
        let sum = ValueSpread::of_aggregate("sum", 4.0, Some(quantity)).unwrap();
        assert!(is_near(sum.part(Some(102.0), None).unwrap(), 0.5));
        let many = sum.part(Some(300.0), None).unwrap();
        assert!((2e-4..6e-4).contains(&many), "{many}");
        assert_eq!(sum.part(Some(1e6), None), Some(PART_MIN));
        assert_eq!(sum.part(Some(5.0), Some(4.0)), Some(PART_MIN));
        let count = ValueSpread::of_aggregate("count", 100.0, None).unwrap();
        assert!(is_near(count.part(None, Some(90.0)).unwrap(), 0.158_655));
        let average = ValueSpread::of_aggregate("avg", 30.0, Some(quantity)).unwrap();
        let fifth = average.times(ValueSpread::of_constant(0.2));
        let less = quantity.plus(fifth.negated()).part(None, Some(0.0)).unwrap();
        assert!((0.07..0.08).contains(&less), "{less}");
        assert_eq!(ValueSpread::of_aggregate("sum", 4.0, None), None);
        assert_eq!(ValueSpread::of_aggregate("max", 4.0, Some(quantity)), None);
    }

    #[test]
    fn products_and_quotients_keep_mean_and_variance() {
        let values = ValueSpread::of_bounds((0.0, 12.0));
        assert_eq!(values, ValueSpread { mean: 6.0, variance: 12.0 });
        let third = ValueSpread::of_constant(3.0).inverse().unwrap();
        let found = values.times(third);
        assert!(is_near(found.mean, 2.0) && is_near(found.variance, 12.0 / 9.0), "{found:?}");
        // 48 * 48 - 36 * 36.
        assert!(is_near(values.times(values).variance, 1_008.0));
        assert_eq!(values.inverse(), None);
        assert_eq!(ValueSpread::of_constant(0.0).inverse(), None);
        assert_eq!(ValueSpread::of_constant(7.0).part(Some(1.0), None), None);
        assert_eq!(ValueSpread::of_bounds((-1e300, 1e300)).part(Some(1.0), None), None);
    }
}
