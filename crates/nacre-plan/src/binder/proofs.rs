//! Sums, differences and products of whole numbers that cannot leave their type: of narrower types,
//! and of what counts rows.
//!
//! ```text
//! bigint + integer constant      may fail
//! rank() over (...) + 1          no rank comes near the largest bigint
//! integer::bigint * integer      has 62 bits
//! ```

use nacre_functions::catalog::FunctionEntry;
use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use super::Binder;
use crate::algebra::conjuncts::has_columns;
use crate::algebra::{ColumnSource, ConstantValue, ScalarExpression, ScalarKind};
use crate::properties::never_fails;

/// More rows than a query can have: a thousand million in a second, for 36 years.
const ROWS_MAX: i128 = 1 << 60;

/// Functions that count rows.
const COUNTING_FUNCTIONS: [&str; 5] = ["count", "row_number", "rank", "dense_rank", "ntile"];

/// The one of them that is null for a null.
const NULLABLE_COUNT: &str = "ntile";

/// The least and the greatest value that an expression may have.
#[derive(Clone, Copy, Debug)]
struct ProvenRange {
    least: i128,
    greatest: i128,
}

impl Binder<'_> {
    /// Says of an operator on whole numbers that it cannot fail, if that is so.
    pub(super) fn proven(&self, expression: ScalarExpression) -> ScalarExpression {
        let Some(limit) = range_of_type(expression.sql_type.oid()) else { return expression };
        let is_safe = has_columns_or_calls(&expression)
            && expression.children().all(|one| never_fails(one) || counts_rows(one))
            && self.result_range(&expression).is_some_and(|range| range.is_within(limit));
        if !is_safe {
            return expression;
        }
        let (sql_type, range) = (expression.sql_type, expression.range);
        ScalarExpression::new(ScalarKind::Proven(Box::new(expression)), sql_type, range)
    }

    /// Returns what an operator gives if its type had no limits.
    fn result_range(&self, expression: &ScalarExpression) -> Option<ProvenRange> {
        let ScalarKind::Operator { operator, operands } = &expression.kind else { return None };
        let [left, right] = &operands[..] else { return None };
        let (left, right) = (self.value_range(left)?, self.value_range(right)?);
        match operator.name {
            "+" => left.combined(right, i128::checked_add),
            "-" => left.combined(right, i128::checked_sub),
            "*" => left.combined(right, i128::checked_mul),
            _ => None,
        }
    }

    /// Returns the range of whole numbers.
    fn value_range(&self, expression: &ScalarExpression) -> Option<ProvenRange> {
        let own = match &expression.kind {
            ScalarKind::Constant(ConstantValue(value)) => match value {
                SqlValue::SmallInt(value) => Some(ProvenRange::of((*value).into())),
                SqlValue::Integer(value) => Some(ProvenRange::of((*value).into())),
                SqlValue::BigInt(value) => Some(ProvenRange::of((*value).into())),
                _ => None,
            },
            ScalarKind::Column(column) => {
                let source = self.columns.get(*column).map(|column| column.source);
                (source == Some(ColumnSource::RowCount)).then_some(ProvenRange::COUNT)
            }
            // Others round, or have numbers that are none of these.
            ScalarKind::Cast { operand, .. }
                if [expression, operand].iter().all(|one| is_whole(one.sql_type.oid())) =>
            {
                self.value_range(operand)
            }
            ScalarKind::Proven(inner) => self.result_range(inner),
            _ => counts_rows(expression).then_some(ProvenRange::COUNT),
        };
        own.or_else(|| range_of_type(expression.sql_type.oid()))
    }
}

impl ProvenRange {
    const COUNT: Self = Self { least: 0, greatest: ROWS_MAX };

    fn of(value: i128) -> Self {
        Self { least: value, greatest: value }
    }

    fn is_within(self, other: Self) -> bool {
        other.least <= self.least && self.greatest <= other.greatest
    }

    /// Returns the range of results of both: extremes come of extremes.
    fn combined(self, other: Self, apply: fn(i128, i128) -> Option<i128>) -> Option<Self> {
        let mut all = Vec::with_capacity(4);
        for one in [self.least, self.greatest] {
            for two in [other.least, other.greatest] {
                all.push(apply(one, two)?);
            }
        }
        Some(Self { least: *all.iter().min()?, greatest: *all.iter().max()? })
    }
}

/// Whether an expression is a call that counts rows.
pub(super) fn counts_rows(expression: &ScalarExpression) -> bool {
    let is_counting = |function: &FunctionEntry| COUNTING_FUNCTIONS.contains(&function.name);
    match &expression.kind {
        ScalarKind::Aggregate(call) => is_counting(call.function),
        ScalarKind::Window { call, .. } => is_counting(call.function),
        _ => false,
    }
}

/// Whether an expression is a call that counts rows and is never null.
pub(super) fn is_row_count(expression: &ScalarExpression) -> bool {
    let is_total = |function: &FunctionEntry| function.name != NULLABLE_COUNT;
    match &expression.kind {
        ScalarKind::Aggregate(call) => counts_rows(expression) && is_total(call.function),
        ScalarKind::Window { call, .. } => counts_rows(expression) && is_total(call.function),
        _ => false,
    }
}

/// Whether a value is not known before the query runs.
fn has_columns_or_calls(expression: &ScalarExpression) -> bool {
    has_columns(expression) || expression.any(&counts_rows)
}

fn is_whole(oid: TypeOid) -> bool {
    range_of_type(oid).is_some()
}

fn range_of_type(oid: TypeOid) -> Option<ProvenRange> {
    let range =
        |least: i64, greatest: i64| ProvenRange { least: least.into(), greatest: greatest.into() };
    match oid {
        TypeOid::INT2 => Some(range(i16::MIN.into(), i16::MAX.into())),
        TypeOid::INT4 => Some(range(i32::MIN.into(), i32::MAX.into())),
        TypeOid::INT8 => Some(range(i64::MIN, i64::MAX)),
        _ => None,
    }
}
