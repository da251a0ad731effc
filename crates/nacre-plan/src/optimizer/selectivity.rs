//! Selectivity: the fraction of rows that a condition keeps, by statistics of its columns.
//!
//! ```text
//! k = 7                    1 / distinct values, or more if many rows have it by the quantiles
//! d >= '1994-01-01'        the part of the quantiles or bounds that it covers, of numbers and
//!                          moments
//! k in (1, 2, 3)           3 / distinct values
//! s like 'x%'              5 %
//! sum(v) > 7, a < b        by how sums and differences are spread ([`super::spread`])
//! A and B and C            the least one, times the root of the next, and so on: conditions of one
//!                          query are seldom independent
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use super::equivalence::member_of;
use super::spread::ValueSpread;
use crate::algebra::conjuncts::{columns_of, conjuncts_of, has_columns};
use crate::algebra::{ColumnId, ConstantValue, ScalarExpression, ScalarKind, TruthValue};
use crate::properties::{is_comparison, is_like};

/// Selectivities that nothing is known for.
const LIKE_SELECTIVITY: f64 = 0.05;
const EQUALITY_SELECTIVITY: f64 = 0.05;
const HALF_OPEN_SELECTIVITY: f64 = 1.0 / 3.0;
const CLOSED_SELECTIVITY: f64 = 0.1;
const OTHER_SELECTIVITY: f64 = 0.25;
/// The least selectivity, so that products stay numbers.
const SELECTIVITY_MIN: f64 = 1e-9;

const MICROS_PER_DAY: f64 = 86_400e6;

/// Statistics of a column of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ColumnProfile {
    /// At least 1.
    pub(super) distinct: f64,
    pub(super) null_fraction: f64,
    /// Least and greatest value, as [`axis_value`] has them.
    pub(super) bounds: Option<(f64, f64)>,
    /// Of a column that is computed.
    pub(super) spread: Option<ValueSpread>,
    /// Values between any two of which lie as many rows, as [`axis_value`] has them.
    pub(super) quantiles: Arc<[f64]>,
}

/// Statistics of the columns of a query.
#[derive(Debug, Default)]
pub(super) struct ColumnProfiles(HashMap<ColumnId, ColumnProfile>);

/// The values that conditions leave to a column, both ends included.
#[derive(Clone, Copy, Debug, Default)]
struct ValueRange {
    low: Option<f64>,
    high: Option<f64>,
}

impl ColumnProfiles {
    pub(super) fn set(&mut self, column: ColumnId, profile: ColumnProfile) {
        self.0.insert(column, profile);
    }

    pub(super) fn get(&self, column: ColumnId) -> Option<&ColumnProfile> {
        self.0.get(&column)
    }

    /// Returns how many values an expression has, if it is a column, perhaps of another type.
    pub(super) fn distinct(&self, expression: &ScalarExpression) -> Option<f64> {
        match &expression.kind {
            ScalarKind::Column(column) => self.get(*column).map(|profile| profile.distinct),
            ScalarKind::Cast { operand, .. } => self.distinct(operand),
            _ => None,
        }
    }

    /// Notes that a column has only a part of its values left.
    fn narrow(&mut self, column: ColumnId, part: f64) {
        if let Some(profile) = self.0.get_mut(&column) {
            profile.distinct = (profile.distinct * part).max(1.0);
        }
    }

    /// Returns which part of the rows all conditions keep, and notes which values are left.
    pub(super) fn apply(&mut self, conditions: &[&ScalarExpression]) -> f64 {
        let all = self.of_all(conditions);
        let mut by_column: BTreeMap<ColumnId, Vec<&ScalarExpression>> = BTreeMap::new();
        for condition in conditions {
            let columns = columns_of(condition);
            if let (Some(column), 1) = (columns.first(), columns.len()) {
                by_column.entry(*column).or_default().push(condition);
            }
        }
        for (column, own) in by_column {
            let part = self.of_all(&own);
            self.narrow(column, part);
        }
        all
    }

    /// Returns which part of the rows all conditions keep.
    pub(super) fn of_all(&self, conditions: &[&ScalarExpression]) -> f64 {
        let mut ranges: BTreeMap<ColumnId, ValueRange> = BTreeMap::new();
        let mut factors = Vec::new();
        for condition in conditions {
            match range_test(condition) {
                Some((column, range)) => ranges.entry(column).or_default().intersect(range),
                None => factors.push(self.of(condition)),
            }
        }
        factors.extend(ranges.iter().map(|(column, range)| self.of_range(*column, *range)));
        damped_product(factors)
    }

    /// Returns which part of the rows a condition keeps.
    pub(super) fn of(&self, condition: &ScalarExpression) -> f64 {
        let selectivity = match &condition.kind {
            ScalarKind::And(_) => self.of_all(&conjuncts_of(condition)),
            ScalarKind::Or(operands) => {
                let none: f64 = operands.iter().map(|operand| 1.0 - self.of(operand)).product();
                1.0 - none
            }
            ScalarKind::Not(operand) => 1.0 - self.of(operand),
            ScalarKind::Constant(ConstantValue(SqlValue::Boolean(true))) => 1.0,
            ScalarKind::Constant(_) => SELECTIVITY_MIN,
            ScalarKind::Column(_) => 0.5,
            ScalarKind::IsNull(operand) => self.null_fraction(operand),
            ScalarKind::IsTruth { operand, value: TruthValue::True } => self.of(operand),
            ScalarKind::IsTruth { operand, value: TruthValue::False } => 1.0 - self.of(operand),
            ScalarKind::IsTruth { operand, value: TruthValue::Unknown } => {
                self.null_fraction(operand)
            }
            ScalarKind::IsDistinct { operands, .. } => 1.0 - self.of_equality(operands),
            ScalarKind::Operator { operator, operands } if is_like(operator) => {
                let is_negated = operator.name.starts_with('!') && operands.len() == 2;
                if is_negated { 1.0 - LIKE_SELECTIVITY } else { LIKE_SELECTIVITY }
            }
            ScalarKind::Operator { operator, operands } if is_comparison(operator) => {
                match (operator.name, range_test(condition)) {
                    ("=", _) => self.of_equality(operands),
                    ("<>", _) => 1.0 - self.of_equality(operands),
                    (_, Some((column, range))) => self.of_range(column, range),
                    (name, None) => self.of_order(name, operands),
                }
            }
            ScalarKind::Quantified { operator, operand, elements, is_all } => {
                let one = self.distinct(operand).map_or(EQUALITY_SELECTIVITY, |count| 1.0 / count);
                let any = (one * elements.len() as f64).min(1.0);
                match (operator.name, is_all) {
                    ("=", false) => any,
                    ("<>", true) => 1.0 - any,
                    _ => OTHER_SELECTIVITY,
                }
            }
            _ => OTHER_SELECTIVITY,
        };
        bounded(selectivity)
    }

    /// Returns which part of the pairs of two expressions is equal.
    pub(super) fn of_equality(&self, operands: &[ScalarExpression]) -> f64 {
        let [left, right] = operands else { return EQUALITY_SELECTIVITY };
        let counts = [left, right].map(|one| self.distinct(one));
        let count = match counts {
            [Some(left), Some(right)] => left.max(right),
            [Some(count), None] | [None, Some(count)] => count,
            [None, None] => return EQUALITY_SELECTIVITY,
        };
        let of_constant = |column: &ScalarExpression, constant: &ScalarExpression| {
            let profile = member_of(column).and_then(|member| self.get(member.column))?;
            Some((profile, axis_value(constant)?))
        };
        let Some((profile, value)) = of_constant(left, right).or_else(|| of_constant(right, left))
        else {
            return bounded(1.0 / count);
        };
        if profile.bounds.is_some_and(|(low, high)| !(low..=high).contains(&value)) {
            return SELECTIVITY_MIN;
        }
        let repeated = part_up_to(&profile.quantiles, value, true)
            - part_up_to(&profile.quantiles, value, false);
        bounded((1.0 / count).max(repeated * (1.0 - profile.null_fraction)))
    }

    /// Returns which part of the pairs of two expressions is in an order.
    fn of_order(&self, name: &str, operands: &[ScalarExpression]) -> f64 {
        let part = || {
            let [left, right] = operands else { return None };
            let (left, right) = (self.spread(left)?, self.spread(right)?);
            let difference = left.plus(right.negated());
            match name {
                "<" | "<=" => difference.part(None, Some(0.0)),
                ">" | ">=" => difference.part(Some(0.0), None),
                _ => None,
            }
        };
        part().unwrap_or(HALF_OPEN_SELECTIVITY)
    }

    /// Returns how the values of an expression are spread, on the axis of [`axis_value`].
    pub(super) fn spread(&self, expression: &ScalarExpression) -> Option<ValueSpread> {
        if let Some(value) = axis_value(expression) {
            return Some(ValueSpread::of_constant(value));
        }
        match &expression.kind {
            ScalarKind::Column(column) => {
                let profile = self.get(*column)?;
                profile.spread.or_else(|| profile.bounds.map(ValueSpread::of_bounds))
            }
            ScalarKind::Cast { operand, .. } => self.spread(operand),
            ScalarKind::Operator { operator, operands } => match &operands[..] {
                [operand] if operator.name == "-" => Some(self.spread(operand)?.negated()),
                // Days between dates, and numbers of days, are on another axis.
                [left, right] if is_number(left) && is_number(right) => {
                    let (left, right) = (self.spread(left)?, self.spread(right)?);
                    match operator.name {
                        "+" => Some(left.plus(right)),
                        "-" => Some(left.plus(right.negated())),
                        "*" => Some(left.times(right)),
                        "/" => Some(left.times(right.inverse()?)),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn null_fraction(&self, operand: &ScalarExpression) -> f64 {
        let column = columns_of(operand).first().copied();
        column.and_then(|column| self.get(column)).map_or(0.01, |profile| profile.null_fraction)
    }

    fn of_range(&self, column: ColumnId, range: ValueRange) -> f64 {
        let default = match (range.low, range.high) {
            (Some(_), Some(_)) => CLOSED_SELECTIVITY,
            _ => HALF_OPEN_SELECTIVITY,
        };
        let Some(profile) = self.get(column) else { return default };
        let spread = profile.spread.filter(|_| profile.bounds.is_none());
        if let Some(part) = spread.and_then(|spread| spread.part(range.low, range.high)) {
            return bounded(part.max(1.0 / profile.distinct));
        }
        let Some((low, high)) = profile.bounds else { return default };
        let is_within = |value: f64| (low..=high).contains(&value);
        let quantiles = &profile.quantiles;
        let covered = match high - low {
            _ if quantiles.len() > 1 => {
                let to = range.high.map_or(1.0, |value| part_up_to(quantiles, value, true));
                to - range.low.map_or(0.0, |value| part_up_to(quantiles, value, false))
            }
            width if width > 0.0 => {
                let from = range.low.map_or(low, |value| value.max(low));
                let to = range.high.map_or(high, |value| value.min(high));
                (to - from) / width
            }
            _ => {
                let is_in = range.low.is_none_or(|value| value <= low)
                    && range.high.is_none_or(|value| value >= high);
                f64::from(u8::from(is_in && is_within(low)))
            }
        };
        bounded(covered.max(1.0 / profile.distinct) * (1.0 - profile.null_fraction))
    }
}

impl ValueRange {
    fn intersect(&mut self, other: Self) {
        let merge = |own: Option<f64>, other: Option<f64>, choose: fn(f64, f64) -> f64| match own {
            Some(own) => Some(other.map_or(own, |other| choose(own, other))),
            None => other,
        };
        self.low = merge(self.low, other.low, f64::max);
        self.high = merge(self.high, other.high, f64::min);
    }
}

/// Returns the values that a comparison of a column with a constant leaves.
fn range_test(condition: &ScalarExpression) -> Option<(ColumnId, ValueRange)> {
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return None };
    let [left, right] = &operands[..] else { return None };
    if !is_comparison(operator) || has_columns(left) == has_columns(right) {
        return None;
    }
    let is_exchanged = has_columns(right);
    let (column, value) = if is_exchanged { (right, left) } else { (left, right) };
    let column = plain_column(column)?;
    let value = axis_value(value)?;
    let (is_upper, is_included) = match operator.name {
        "<" => (!is_exchanged, false),
        "<=" => (!is_exchanged, true),
        ">" => (is_exchanged, false),
        ">=" => (is_exchanged, true),
        _ => return None,
    };
    let (low, high) = match (is_upper, is_included) {
        (true, true) => (None, Some(value)),
        (true, false) => (None, Some(value.next_down())),
        (false, true) => (Some(value), None),
        (false, false) => (Some(value.next_up()), None),
    };
    Some((column, ValueRange { low, high }))
}

fn is_number(expression: &ScalarExpression) -> bool {
    matches!(
        expression.sql_type.oid(),
        TypeOid::INT2
            | TypeOid::INT4
            | TypeOid::INT8
            | TypeOid::FLOAT4
            | TypeOid::FLOAT8
            | TypeOid::NUMERIC
    )
}

/// Returns the part of the rows that are below a value, or at most it, by quantiles.
///
/// ```text
/// 0 1 1 1 5    below 1: 1/4    at most 1: 3/4    below 3: 7/8
/// ```
fn part_up_to(quantiles: &[f64], value: f64, is_included: bool) -> f64 {
    let is_before = |own: &f64| if is_included { *own <= value } else { *own < value };
    let before = quantiles.partition_point(is_before);
    let parts = quantiles.len().saturating_sub(1).max(1) as f64;
    match (before.checked_sub(1).and_then(|last| quantiles.get(last)), quantiles.get(before)) {
        (Some(from), Some(to)) => {
            let inner = if to > from { (value - from) / (to - from) } else { 0.0 };
            (before as f64 - 1.0 + inner.clamp(0.0, 1.0)) / parts
        }
        (None, _) => 0.0,
        (_, None) => 1.0,
    }
}

/// Returns the column that an expression is, perhaps of another type.
fn plain_column(expression: &ScalarExpression) -> Option<ColumnId> {
    match &expression.kind {
        ScalarKind::Column(column) => Some(*column),
        ScalarKind::Cast { operand, .. } => plain_column(operand),
        _ => None,
    }
}

/// Returns a constant as a number: moments in microseconds, about so for sums with intervals.
pub(super) fn axis_value(expression: &ScalarExpression) -> Option<f64> {
    let value = match &expression.kind {
        ScalarKind::Constant(value) => return axis_of_value(&value.0),
        ScalarKind::Cast { operand, .. } => axis_value(operand),
        ScalarKind::Operator { operator, operands } => match &operands[..] {
            [operand] if operator.name == "-" => Some(-axis_value(operand)?),
            [left, right] => {
                let (left, right) = (axis_value(left)?, axis_value(right)?);
                match operator.name {
                    "+" => Some(left + right),
                    "-" => Some(left - right),
                    "*" => Some(left * right),
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    };
    value.filter(|value| value.is_finite())
}

/// Returns a value as a number, if its type has an order that distances make sense in.
pub(super) fn axis_of_value(value: &SqlValue) -> Option<f64> {
    let number = match value {
        SqlValue::SmallInt(value) => f64::from(*value),
        SqlValue::Integer(value) => f64::from(*value),
        SqlValue::BigInt(value) => *value as f64,
        SqlValue::Real(value) => f64::from(*value),
        SqlValue::Double(value) => *value,
        SqlValue::Numeric(value) => value.to_f64().ok()?,
        SqlValue::Date(date) => f64::from(date.0) * MICROS_PER_DAY,
        SqlValue::Timestamp(moment) | SqlValue::TimestampTz(moment) => moment.0 as f64,
        SqlValue::Interval(interval) => interval.span_micros() as f64,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// Returns a selectivity of at least the least one and at most 1.
pub(super) fn bounded(selectivity: f64) -> f64 {
    if selectivity.is_nan() { 1.0 } else { selectivity.clamp(SELECTIVITY_MIN, 1.0) }
}

/// Returns the product of the least factor, the root of the next, and so on.
pub(super) fn damped_product(mut factors: Vec<f64>) -> f64 {
    factors.sort_by(f64::total_cmp);
    let (mut product, mut exponent) = (1.0, 1.0);
    for factor in factors {
        product *= bounded(factor).powf(exponent);
        exponent /= 2.0;
    }
    bounded(product)
}

#[cfg(test)]
mod tests {
    use nacre_functions::catalog::operators_named;
    use nacre_syntax::SourceRange;
    use nacre_types::SqlType;

    use super::*;

    fn number(value: i32) -> ScalarExpression {
        let kind = ScalarKind::Constant(ConstantValue(SqlValue::Integer(value)));
        ScalarExpression::new(kind, SqlType::INTEGER, SourceRange::default())
    }

    fn column(id: u32) -> ScalarExpression {
        let kind = ScalarKind::Column(ColumnId(id));
        ScalarExpression::new(kind, SqlType::INTEGER, SourceRange::default())
    }

    fn compare(left: ScalarExpression, name: &str, right: ScalarExpression) -> ScalarExpression {
        let is_own = |oid: TypeOid| oid == TypeOid::INT4;
        let mut all = operators_named(name);
        let operator = all.find(|one| one.left.is_some_and(is_own) && is_own(one.right)).unwrap();
        let kind = ScalarKind::Operator { operator, operands: vec![left, right] };
        ScalarExpression::new(kind, SqlType::BOOLEAN, SourceRange::default())
    }

    fn profiles(distinct: f64, bounds: Option<(f64, f64)>) -> ColumnProfiles {
        let mut profiles = ColumnProfiles::default();
        let (spread, quantiles) = (None, Arc::default());
        let profile = ColumnProfile { distinct, null_fraction: 0.0, bounds, spread, quantiles };
        profiles.set(ColumnId(0), profile);
        profiles
    }

    #[test]
    fn ranges_are_parts_of_the_bounds() {
        let profiles = profiles(101.0, Some((0.0, 100.0)));
        let below = compare(column(0), "<", number(25));
        let above = compare(number(20), "<=", column(0));
        let is_near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-6;
        assert!(is_near(profiles.of(&below), 0.25));
        assert!(is_near(profiles.of(&above), 0.8));
        // Two bounds of one column are one range.
        assert!(is_near(profiles.of_all(&[&below, &above]), 0.05));
        assert!(is_near(profiles.of(&compare(column(0), "=", number(3))), 1.0 / 101.0));
        assert!(profiles.of(&compare(column(0), "=", number(101))) < 1e-6);
        assert!(is_near(profiles.of(&compare(column(0), "<", number(-5))), 1.0 / 101.0));
    }

    #[test]
    fn quantiles_tell_of_skew_and_gaps() {
        let quantiles = [0.0, 1.0, 1.0, 1.0, 5.0];
        let is_near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-6;
        for (value, below, at_most) in [
            (-1.0, 0.0, 0.0),
            (0.0, 0.0, 0.0),
            (0.5, 0.125, 0.125),
            (1.0, 0.25, 0.75),
            (3.0, 0.875, 0.875),
            (5.0, 1.0, 1.0),
            (6.0, 1.0, 1.0),
        ] {
            assert!(is_near(part_up_to(&quantiles, value, false), below), "below {value}");
            assert!(is_near(part_up_to(&quantiles, value, true), at_most), "at most {value}");
        }
        let mut profiles = profiles(100.0, Some((0.0, 5.0)));
        let quantiles: Arc<[f64]> = quantiles.into();
        let profile = profiles.get(ColumnId(0)).unwrap().clone();
        profiles.set(ColumnId(0), ColumnProfile { quantiles, ..profile });
        let one = |name: &str, value: i32| profiles.of(&compare(column(0), name, number(value)));
        assert!(is_near(one("=", 1), 0.5) && is_near(one("=", 2), 0.01));
        assert!(is_near(one(">", 1), 0.25) && is_near(one(">=", 1), 0.75));
        assert!(is_near(one("<", 1), 0.25) && is_near(one("<=", 1), 0.75));
        let (low, high) = (compare(column(0), ">", number(1)), compare(column(0), "<", number(3)));
        assert!(is_near(profiles.of_all(&[&low, &high]), 0.125));
        assert_eq!(part_up_to(&[], 1.0, true), 0.0);
    }

    #[test]
    fn conditions_on_a_column_leave_it_fewer_values() {
        let mut profiles = profiles(1_000.0, Some((0.0, 1_000.0)));
        let below = compare(column(0), "<", number(100));
        profiles.apply(&[&below]);
        assert!((profiles.get(ColumnId(0)).unwrap().distinct - 100.0).abs() < 1e-6);
        profiles.apply(&[&compare(column(0), "=", number(1))]);
        assert!(profiles.get(ColumnId(0)).unwrap().distinct >= 1.0);
    }

    #[test]
    fn selectivities_are_numbers_above_zero() {
        let odd = [(1.0, None), (1.0, Some((5.0, 5.0))), (1e18, Some((-1e300, 1e300)))];
        for (distinct, bounds) in odd {
            let profiles = profiles(distinct, bounds);
            for name in ["=", "<>", "<", "<=", ">", ">="] {
                for value in [i32::MIN, 0, 5, i32::MAX] {
                    let found = profiles.of(&compare(column(0), name, number(value)));
                    assert!((SELECTIVITY_MIN..=1.0).contains(&found), "{name} {value}: {found}");
                }
                let found = profiles.of(&compare(column(0), name, column(1)));
                assert!((SELECTIVITY_MIN..=1.0).contains(&found), "{name}: {found}");
            }
        }
        assert_eq!(bounded(f64::NAN), 1.0);
        assert_eq!(damped_product(vec![0.0; 100]), SELECTIVITY_MIN);
        assert_eq!(damped_product(Vec::new()), 1.0);
    }
}
