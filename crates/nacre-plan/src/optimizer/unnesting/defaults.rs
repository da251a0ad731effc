//! Aggregates without keys have a row of no rows; grouped by what the left side asks for they have
//! none, and the left join that asks fills in the values of no rows.
//!
//! ```text
//! (select count(*) from u where u.k = t.k)     t left join (count of u group by k) on u.k = t.k,
//!                                              coalesce(count, 0)
//! ```

use nacre_functions::catalog::{AggregateKind, FunctionKind};
use nacre_syntax::SourceRange;
use nacre_types::{SqlType, SqlValue};

use super::pulling::PullingPass;
use super::{DependentJoin, has_any, new_column};
use crate::algebra::conjuncts::{conjunction, split_conjunction, with_computed, with_filter};
use crate::algebra::{
    AggregateColumn, BoundAggregate, ComputedColumn, ConstantValue, JoinVariant, QueryColumns,
    RelationalOperator, ScalarExpression, ScalarKind, TruthValue,
};

/// What stands above an aggregate without keys, the lowest first.
enum UpperOperator {
    Compute(Vec<ComputedColumn>),
    Filter(ScalarExpression),
}

impl DependentJoin {
    /// Joins an aggregate without keys by the equalities that it depends on.
    ///
    /// # Errors
    /// The join as it is, if the right side is something else.
    pub(super) fn with_defaults(
        self,
        columns: &mut QueryColumns,
    ) -> Result<RelationalOperator, Box<Self>> {
        let (mut upper, mut lowest) = (Vec::new(), self.right.clone());
        let (input, mut aggregates) = loop {
            lowest = match lowest {
                RelationalOperator::Compute { input, columns } => {
                    upper.push(UpperOperator::Compute(columns));
                    *input
                }
                RelationalOperator::Filter { input, condition } => {
                    upper.push(UpperOperator::Filter(condition));
                    *input
                }
                RelationalOperator::Sort { input, .. } => *input,
                RelationalOperator::Aggregate { input, aggregates, is_scalar: true, .. } => {
                    break (*input, aggregates);
                }
                _ => return Err(Box::new(self)),
            };
        };
        upper.reverse();
        let is_filtered = upper.iter().any(|one| matches!(one, UpperOperator::Filter(_)));
        let keeps_left = matches!(self.variant, JoinVariant::Left | JoinVariant::Single);
        if keeps_left && (is_filtered || !self.conditions.is_empty()) {
            return Err(Box::new(self));
        }
        let mut arguments = aggregates.iter().flat_map(|one| one.call.expressions());
        if arguments.any(|one| has_any(one, &self.outer)) {
            return Err(Box::new(self));
        }
        let mut pass = PullingPass { outer: &self.outer, columns };
        let mut pulled = Vec::new();
        let input = pass.pull(input, &mut pulled);
        if !input.free_columns().is_disjoint(&self.outer) {
            return Err(Box::new(self));
        }
        let Ok(equal) = pass.key_conditions(pulled) else { return Err(Box::new(self)) };
        let mut conditions = Vec::new();
        let (input, keys) = pass.with_keys(input, equal, &mut conditions);
        let defaults = take_defaults(&mut aggregates, columns);
        let grouped = RelationalOperator::Aggregate {
            input: Box::new(input),
            keys,
            aggregates,
            is_scalar: false,
        };
        let root = RelationalOperator::Join {
            variant: JoinVariant::Left,
            left: Box::new(self.left),
            right: Box::new(grouped),
            condition: conjunction(conditions),
        };
        let root = with_computed(root, defaults);
        Ok(finish(self.variant, root, upper, self.conditions, self.above))
    }
}

/// Returns the value of an aggregate of no rows, if that is not null.
fn value_of_nothing(call: &BoundAggregate) -> Option<SqlValue> {
    let kind = call.function.kind;
    let is_hypothetical =
        matches!(kind, FunctionKind::Aggregate(AggregateKind::Hypothetical { .. }));
    match call.function.name {
        "count" | "regr_count" => Some(SqlValue::BigInt(0)),
        "rank" | "dense_rank" if is_hypothetical => Some(SqlValue::BigInt(1)),
        "percent_rank" if is_hypothetical => Some(SqlValue::Double(0.0)),
        "cume_dist" if is_hypothetical => Some(SqlValue::Double(1.0)),
        _ => None,
    }
}

/// Has aggregates that have a value of no rows name other columns; returns what their columns are.
pub(super) fn take_defaults(
    aggregates: &mut [AggregateColumn],
    columns: &mut QueryColumns,
) -> Vec<ComputedColumn> {
    let mut defaults = Vec::new();
    for one in aggregates {
        let Some(default) = value_of_nothing(&one.call) else { continue };
        let (column, sql_type) = (one.column, one.call.result);
        one.column = new_column(one.call.function.name, sql_type, columns);
        let range = SourceRange::default();
        let own = ScalarExpression::new(ScalarKind::Column(one.column), sql_type, range);
        let default = ScalarKind::Constant(ConstantValue(default));
        let default = ScalarExpression::new(default, sql_type, range);
        let value =
            ScalarExpression::new(ScalarKind::Coalesce(vec![own, default]), sql_type, range);
        defaults.push(ComputedColumn { column, value });
    }
    defaults
}

/// Does above a left join, which has one partner for each row, what a join of `variant` would do
/// with `upper` on its right side.
fn finish(
    variant: JoinVariant,
    mut root: RelationalOperator,
    upper: Vec<UpperOperator>,
    conditions: Vec<ScalarExpression>,
    above: Vec<Vec<ComputedColumn>>,
) -> RelationalOperator {
    let mut filters = Vec::new();
    for operator in upper {
        match operator {
            UpperOperator::Compute(columns) => root = with_computed(root, columns),
            UpperOperator::Filter(condition) => split_conjunction(condition, &mut filters),
        }
    }
    filters.extend(conditions);
    root = match variant {
        JoinVariant::Anti => match conjunction(filters) {
            Some(all) => with_filter(root, vec![negated(is_true(all))]),
            None => with_filter(root, vec![truth(false)]),
        },
        JoinVariant::Mark(column) => {
            let value = conjunction(filters).map_or_else(|| truth(true), is_true);
            with_computed(root, vec![ComputedColumn { column, value }])
        }
        _ => with_filter(root, filters),
    };
    above.into_iter().fold(root, with_computed)
}

fn boolean(kind: ScalarKind, range: SourceRange) -> ScalarExpression {
    ScalarExpression::new(kind, SqlType::BOOLEAN, range)
}

fn truth(value: bool) -> ScalarExpression {
    let kind = ScalarKind::Constant(ConstantValue(SqlValue::Boolean(value)));
    boolean(kind, SourceRange::default())
}

fn is_true(operand: ScalarExpression) -> ScalarExpression {
    let range = operand.range;
    let operand = Box::new(operand);
    boolean(ScalarKind::IsTruth { operand, value: TruthValue::True }, range)
}

fn negated(operand: ScalarExpression) -> ScalarExpression {
    let range = operand.range;
    boolean(ScalarKind::Not(Box::new(operand)), range)
}
