//! GROUP BY, DISTINCT and aggregates.

use nacre_plan::algebra::{AggregateColumn, BoundAggregate, ColumnId, ScalarExpression};

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::error::{LoweringError, LoweringResult};
use super::expressions::{ExpressionLowering, LoweredExpression};
use super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use super::operators::{AggregateMeaning, aggregate_meaning};
use super::relations::guarded_column;
use crate::expression::ExpressionId;
use crate::plan::{AggregateCall, AggregateFunction, AggregateNode, MapNode, PlanNode};
use crate::value::IntLimit;

/// An aggregate of the query, before it is known where its result lies.
struct PlannedAggregate {
    column: ColumnId,
    /// By index in the calls.
    call: usize,
    /// The form of the result; `None` of an average.
    form: Option<ValueForm>,
    /// Of an average.
    scale: u16,
}

/// The input of an aggregation and its calls, under way.
struct AggregateInput<'c> {
    expressions: ExpressionLowering<'c>,
    outputs: Vec<ExpressionId>,
    calls: Vec<AggregateCall>,
}

/// Groups the rows of `input`. The row of no keys is there even of no rows.
///
/// # Errors
/// [`LoweringError::NotSupported`] for an aggregate that the executor has not.
pub(super) fn lower_aggregate(
    input: LoweredRelation,
    keys: &[ColumnId],
    aggregates: &[AggregateColumn],
) -> LoweringResult<LoweredRelation> {
    if input.column_may_fail && aggregates.iter().any(|one| one.call.filter.is_some()) {
        return Err(guarded_column());
    }
    let places = input.columns;
    let mut lowering = AggregateInput {
        expressions: ExpressionLowering::new(&places),
        outputs: Vec::new(),
        calls: Vec::new(),
    };
    let mut columns = ColumnPlaces::default();
    let mut key_indexes: Vec<usize> = Vec::new();
    for column in keys {
        let (index, form) = places.plain(*column)?;
        let id = lowering.expressions.graph.column(index, form.class())?;
        let key = lowering.output(id);
        // The same column may stand in the list of DISTINCT twice.
        if !key_indexes.contains(&key) {
            columns.add(*column, ColumnPlace::Plain { index: key_indexes.len(), form });
            key_indexes.push(key);
        }
    }
    let mut planned = Vec::with_capacity(aggregates.len());
    // Averages first: their sums serve as sums, too.
    let is_average = |one: &&AggregateColumn| {
        aggregate_meaning(one.call.function.oid) == Some(AggregateMeaning::Average)
    };
    let rest = aggregates.iter().filter(|one| !is_average(one));
    for AggregateColumn { column, call } in aggregates.iter().filter(is_average).chain(rest) {
        planned.push(lowering.plan(*column, call)?);
    }
    let AggregateInput { expressions, outputs, calls } = lowering;
    let mut next = key_indexes.len();
    let mut starts = Vec::with_capacity(calls.len());
    for call in &calls {
        starts.push(next);
        next += if call.function == AggregateFunction::AverageState { 2 } else { 1 };
    }
    for PlannedAggregate { column, call, form, scale } in planned {
        let index = starts[call];
        let place = match form {
            Some(form) => ColumnPlace::Plain { index, form },
            None => ColumnPlace::Average { sum: index, count: index + 1, scale },
        };
        columns.add(column, place);
    }
    // Sums may be too large.
    let may_fail = input.may_fail || expressions.may_fail || !calls.is_empty();
    let map = MapNode { input: input.node, graph: expressions.graph, outputs };
    let node =
        AggregateNode { input: PlanNode::Map(Box::new(map)), keys: key_indexes, aggregates: calls };
    let node = PlanNode::Aggregate(Box::new(node));
    Ok(LoweredRelation { may_fail, ..LoweredRelation::infallible(node, columns) })
}

impl AggregateInput<'_> {
    /// Returns the index of an expression among the columns that are aggregated.
    fn output(&mut self, id: ExpressionId) -> usize {
        let known = self.outputs.iter().position(|own| *own == id);
        known.unwrap_or_else(|| {
            self.outputs.push(id);
            self.outputs.len() - 1
        })
    }

    fn plan(
        &mut self,
        column: ColumnId,
        call: &BoundAggregate,
    ) -> LoweringResult<PlannedAggregate> {
        let name = call.function.name;
        let unknown = |what: &str| LoweringError::not_supported(format!("{what} {name}"));
        let meaning = aggregate_meaning(call.function.oid).ok_or_else(|| unknown("aggregate"))?;
        if !call.order_by.is_empty() {
            return Err(unknown("ORDER BY in"));
        }
        let filter = match &call.filter {
            Some(filter) => Some(self.expressions.condition(filter)?),
            None => None,
        };
        let argument = match &call.arguments[..] {
            [] => None,
            [argument] => Some(self.argument(argument, filter)?),
            _ => return Err(unknown("more arguments of")),
        };
        let filter = filter.map(|filter| self.output(filter));
        let (function, limit, form) = self.function(meaning, argument, call.is_distinct)?;
        let scale = match argument.map(|argument| argument.form) {
            Some(ValueForm::Numeric { scale, .. }) => scale,
            _ => 0,
        };
        let argument = argument.map(|argument| self.output(argument.id));
        let call = self.add(AggregateCall { function, argument, filter, limit });
        Ok(PlannedAggregate { column, call, form, scale })
    }

    /// Lowers an argument, which is computed for no row that the filter leaves out: the executor
    /// aggregates columns, so one that may fail is null there.
    fn argument(
        &mut self,
        argument: &ScalarExpression,
        filter: Option<ExpressionId>,
    ) -> LoweringResult<LoweredExpression> {
        let failed_before = std::mem::take(&mut self.expressions.may_fail);
        let lowered = self.expressions.lower(argument)?;
        let may_fail = self.expressions.may_fail;
        self.expressions.may_fail |= failed_before;
        match filter {
            Some(filter) if may_fail => self.expressions.where_true(filter, lowered),
            _ => Ok(lowered),
        }
    }

    /// Returns what the executor computes, and the form of the result; `None` of an average.
    fn function(
        &self,
        meaning: AggregateMeaning,
        argument: Option<LoweredExpression>,
        is_distinct: bool,
    ) -> LoweringResult<(AggregateFunction, IntLimit, Option<ValueForm>)> {
        use AggregateFunction as Function;
        let form = argument.map(|argument| argument.form);
        let numeric = |scale| ValueForm::Numeric { scale, digits: DECIMAL_DIGITS_MAX };
        let (count, big) = (ValueForm::Integer, IntLimit::BIGINT);
        Ok(match (meaning, form) {
            (AggregateMeaning::CountRows, None) if !is_distinct => {
                (Function::CountRows, big, Some(count))
            }
            (AggregateMeaning::Count, Some(_)) => {
                let function = if is_distinct { Function::CountDistinct } else { Function::Count };
                (function, big, Some(count))
            }
            (AggregateMeaning::Min, Some(form)) => (Function::Min, IntLimit::NUMERIC, Some(form)),
            (AggregateMeaning::Max, Some(form)) => (Function::Max, IntLimit::NUMERIC, Some(form)),
            _ if is_distinct => {
                return Err(LoweringError::not_supported("sums and averages of distinct values"));
            }
            (AggregateMeaning::IntegerSum, Some(ValueForm::Integer)) => {
                (Function::Sum, big, Some(ValueForm::Integer))
            }
            (AggregateMeaning::NumericSum, Some(ValueForm::Integer)) => {
                (Function::Sum, IntLimit::NUMERIC, Some(numeric(0)))
            }
            (AggregateMeaning::NumericSum, Some(ValueForm::Numeric { scale, .. })) => {
                (Function::Sum, IntLimit::NUMERIC, Some(numeric(scale)))
            }
            (AggregateMeaning::Average, Some(ValueForm::Integer | ValueForm::Numeric { .. })) => {
                (Function::AverageState, IntLimit::NUMERIC, None)
            }
            _ => return Err(LoweringError::contradiction("an aggregate of another type")),
        })
    }

    /// Adds a call unless an equal one is there, and returns its index.
    fn add(&mut self, call: AggregateCall) -> usize {
        let AggregateCall { function, argument, filter, limit } = call;
        let is_same = |own: &AggregateCall| {
            let serves = own.function == function
                || (own.function, function)
                    == (AggregateFunction::AverageState, AggregateFunction::Sum);
            serves && (own.argument, own.filter, own.limit) == (argument, filter, limit)
        };
        let known = self.calls.iter().position(is_same);
        known.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        })
    }
}
