//! GROUP BY, DISTINCT and aggregates.

use nacre_plan::algebra::{
    AggregateColumn, BoundAggregate, ColumnId, GroupingKey, ScalarExpression,
};

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::error::{LoweringError, LoweringResult};
use super::expressions::{ExpressionLowering, LoweredExpression, mixed_scales};
use super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use super::late::LateValue;
use super::operators::{AggregateMeaning, aggregate_meaning};
use super::relations::guarded_column;
use crate::expression::{ArithmeticOp, ExpressionId, ExpressionNode};
use crate::plan::{
    AggregateCall, AggregateFunction, AggregateNode, GroupingSetsNode, MapNode, PlanNode,
};
use crate::value::{IntLimit, ScalarValue, ValueClass};

/// An aggregate of the query, before it is known where its result lies.
pub(super) struct PlannedAggregate {
    column: ColumnId,
    /// By index in the calls.
    call: usize,
    result: PlannedResult,
    /// Of the numbers that are added up.
    scale: u16,
    /// The call that has the greatest scale that a row shows, if these differ.
    shown_scale: Option<usize>,
}

/// What the result of an aggregate is.
#[derive(Clone, Copy)]
enum PlannedResult {
    /// The first column of the call.
    Plain(ValueForm),
    /// The quotient of its two columns.
    Average,
    /// Computed of its two columns and the sum of squares, which is another call.
    Deviation { squares: usize, is_sample: bool, is_root: bool },
}

/// The input of an aggregation or of windows and its calls, under way.
pub(super) struct AggregateInput<'c> {
    pub(super) expressions: ExpressionLowering<'c>,
    pub(super) outputs: Vec<ExpressionId>,
    pub(super) calls: Vec<AggregateCall>,
}

/// What rows are grouped by.
pub(super) struct GroupedColumns<'q> {
    pub(super) keys: Vec<GroupingKey>,
    /// Sets of keys and the column that has their index; `None` if all keys are the only set.
    pub(super) sets: Option<(&'q [Vec<usize>], ColumnId)>,
}

/// Groups the rows of `input`. The row of no keys is there even of no rows.
///
/// # Errors
/// [`LoweringError::NotSupported`] for an aggregate that the executor has not.
pub(super) fn lower_aggregate(
    input: LoweredRelation,
    grouped: GroupedColumns<'_>,
    aggregates: &[AggregateColumn],
) -> LoweringResult<LoweredRelation> {
    let has_guard = |one: &AggregateColumn| {
        one.call.filter.is_some()
            || one.call.arguments.iter().any(|own| own.any(&ScalarExpression::is_guard))
    };
    if input.column_may_fail && aggregates.iter().any(has_guard) {
        return Err(guarded_column());
    }
    let places = input.columns;
    let mut lowering = AggregateInput {
        expressions: ExpressionLowering::new(&places),
        outputs: Vec::new(),
        calls: Vec::new(),
    };
    let GroupedColumns { keys, sets } = grouped;
    let mut columns = ColumnPlaces::default();
    let mut key_indexes: Vec<usize> = Vec::new();
    for key in keys {
        let (index, form) = places.plain(key.source)?;
        let id = lowering.expressions.graph.column(index, form.class())?;
        let own = lowering.output(id);
        // The same column may stand in the list of DISTINCT twice.
        let known = key_indexes.iter().position(|known| *known == own).filter(|_| sets.is_none());
        let index = known.unwrap_or_else(|| {
            key_indexes.push(own);
            key_indexes.len() - 1
        });
        columns.add(key.column, ColumnPlace::Plain { index, form });
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
    let starts = call_starts(key_indexes.len(), &calls);
    planned.into_iter().for_each(|one| columns.add(one.column, one.place(&starts)));
    // Sums may be too large.
    let may_fail = input.may_fail || expressions.may_fail || !calls.is_empty();
    let map = MapNode { input: input.node, graph: expressions.graph, outputs };
    let input = PlanNode::Map(Box::new(map));
    let node = match sets {
        None => {
            let node = AggregateNode { input, keys: key_indexes, aggregates: calls };
            PlanNode::Aggregate(Box::new(node))
        }
        Some((sets, set_column)) => {
            let index = key_indexes.len() + state_columns(&calls);
            columns.add(set_column, ColumnPlace::Plain { index, form: ValueForm::Integer });
            let (keys, sets) = (key_indexes, sets.to_vec());
            grouping_node(GroupingSetsNode { input, keys, sets, aggregates: calls })
        }
    };
    let grouped = LoweredRelation::infallible(node, columns);
    Ok(LoweredRelation { may_fail, is_grouped: true, ..grouped })
}

/// Returns how many columns calls make.
pub(super) fn state_columns(calls: &[AggregateCall]) -> usize {
    calls.iter().map(|call| call.function.columns()).sum()
}

/// Returns the first column of each call, behind the keys.
fn call_starts(keys: usize, calls: &[AggregateCall]) -> Vec<usize> {
    (0..calls.len()).map(|index| keys + state_columns(&calls[..index])).collect()
}

impl PlannedAggregate {
    /// Returns the only call that it is made of, if no other is part of it.
    pub(super) fn sole_call(&self) -> Option<usize> {
        let is_deviation = matches!(self.result, PlannedResult::Deviation { .. });
        (!is_deviation && self.shown_scale.is_none()).then_some(self.call)
    }

    /// Returns the place of the result, where calls begin at those columns.
    pub(super) fn place(&self, starts: &[usize]) -> ColumnPlace {
        let (index, scale) = (starts[self.call], self.scale);
        match (self.result, self.shown_scale.map(|call| starts[call])) {
            (PlannedResult::Plain(form), None) => ColumnPlace::Plain { index, form },
            (PlannedResult::Plain(_), shown) => {
                ColumnPlace::Late(LateValue::sum(index, scale, shown))
            }
            (PlannedResult::Average, shown) => {
                ColumnPlace::Late(LateValue::average(index, index + 1, scale, shown))
            }
            (PlannedResult::Deviation { squares, is_sample, is_root }, _) => {
                let columns = [index, index + 1, starts[squares]];
                ColumnPlace::Late(LateValue::deviation(columns, scale, is_sample, is_root))
            }
        }
    }
}

/// Groups by sets. If one has all keys, as of ROLLUP and CUBE, rows are grouped by it, and these
/// fewer ones by the sets.
fn grouping_node(node: GroupingSetsNode) -> PlanNode {
    let is_mergeable = |call: &AggregateCall| !call.function.is_distinct();
    let has_finest = node.sets.iter().any(|set| set.len() == node.keys.len());
    if node.sets.len() < 2 || !has_finest || !node.aggregates.iter().all(is_mergeable) {
        return PlanNode::GroupingSets(Box::new(node));
    }
    let GroupingSetsNode { input, keys, sets, aggregates: calls } = node;
    let key_count = keys.len();
    let mut merged = Vec::with_capacity(calls.len());
    for (call, start) in calls.iter().zip(call_starts(key_count, &calls)) {
        use AggregateFunction as Function;
        let mut merge = |function, column, limit| {
            merged.push(AggregateCall::new(function, Some(column), limit));
        };
        match call.function {
            Function::CountRows | Function::Count => {
                merge(Function::CountSum, start, IntLimit::BIGINT);
            }
            Function::AverageState => {
                merge(Function::Sum, start, call.limit);
                merge(Function::CountSum, start + 1, IntLimit::BIGINT);
            }
            function => merge(function, start, call.limit),
        }
    }
    let finest = AggregateNode { input, keys, aggregates: calls };
    PlanNode::GroupingSets(Box::new(GroupingSetsNode {
        input: PlanNode::Aggregate(Box::new(finest)),
        keys: (0..key_count).collect(),
        sets,
        aggregates: merged,
    }))
}

impl AggregateInput<'_> {
    /// Returns the index of an expression among the columns that are aggregated.
    pub(super) fn output(&mut self, id: ExpressionId) -> usize {
        let known = self.outputs.iter().position(|own| *own == id);
        known.unwrap_or_else(|| {
            self.outputs.push(id);
            self.outputs.len() - 1
        })
    }

    /// Adds an aggregate.
    ///
    /// # Errors
    /// [`LoweringError::NotSupported`] for one that the executor has not.
    pub(super) fn plan(
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
        let (function, limit, result) = self.function(meaning, argument, call.is_distinct)?;
        let scale = match argument.map(|argument| argument.form) {
            Some(ValueForm::Numeric { scale, .. }) => scale,
            _ => 0,
        };
        let shown_scale = match argument {
            Some(argument) => self.shown_scale(meaning, argument, filter, call.is_distinct)?,
            None => None,
        };
        let result = match (result, argument) {
            (PlannedResult::Deviation { is_sample, is_root, .. }, Some(argument)) => {
                let squares = self.squares(argument, filter)?;
                PlannedResult::Deviation { squares, is_sample, is_root }
            }
            (result, _) => result,
        };
        let argument = argument.map(|argument| self.output(argument.id));
        let call = self.add(AggregateCall { function, argument, filter, limit });
        Ok(PlannedAggregate { column, call, result, scale, shown_scale })
    }

    /// Returns the call that adds up squares.
    fn squares(
        &mut self,
        argument: LoweredExpression,
        filter: Option<usize>,
    ) -> LoweringResult<usize> {
        let (op, limit) = (ArithmeticOp::Multiply, IntLimit::NUMERIC);
        let graph = &mut self.expressions.graph;
        let square = graph.arithmetic(op, argument.id, argument.id, limit)?;
        let square = match filter.map(|filter| self.outputs[filter]) {
            // A square may have too many digits, but not of a row that is left out.
            Some(condition) => {
                let otherwise = ExpressionNode::Constant(ScalarValue::Null(ValueClass::Int));
                let otherwise = graph.add(otherwise)?;
                graph.add(ExpressionNode::Case { condition, then: square, otherwise })?
            }
            None => square,
        };
        let (function, argument) = (AggregateFunction::Sum, Some(self.output(square)));
        Ok(self.add(AggregateCall { function, argument, filter, limit }))
    }

    /// Returns the call for the greatest scale of numbers that are added up, if it is not always
    /// the same.
    fn shown_scale(
        &mut self,
        meaning: AggregateMeaning,
        argument: LoweredExpression,
        filter: Option<usize>,
        is_distinct: bool,
    ) -> LoweringResult<Option<usize>> {
        let Some(scale) = argument.shown_scale else { return Ok(None) };
        match meaning {
            // Which of equal values of several scales is the distinct one is not defined.
            AggregateMeaning::NumericSum | AggregateMeaning::Average if !is_distinct => {}
            AggregateMeaning::Count | AggregateMeaning::CountRows => return Ok(None),
            _ => return Err(mixed_scales()),
        }
        let graph = &mut self.expressions.graph;
        // The scale of a null does not count.
        let condition = graph.add(ExpressionNode::IsNull { input: argument.id })?;
        let then = graph.add(ExpressionNode::Constant(ScalarValue::Null(ValueClass::Int)))?;
        let shown = graph.add(ExpressionNode::Case { condition, then, otherwise: scale })?;
        let argument = Some(self.output(shown));
        let (function, limit) = (AggregateFunction::Max, IntLimit::NUMERIC);
        Ok(Some(self.add(AggregateCall { function, argument, filter, limit })))
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

    /// Returns what the executor computes, and what becomes of it.
    fn function(
        &self,
        meaning: AggregateMeaning,
        argument: Option<LoweredExpression>,
        is_distinct: bool,
    ) -> LoweringResult<(AggregateFunction, IntLimit, PlannedResult)> {
        use AggregateFunction as Function;
        use PlannedResult::Plain;
        let form = argument.map(|argument| argument.form);
        let numeric = |scale| ValueForm::Numeric { scale, digits: DECIMAL_DIGITS_MAX };
        let sum = if is_distinct { Function::DistinctState } else { Function::Sum };
        let state = if is_distinct { Function::DistinctState } else { Function::AverageState };
        let (count, big) = (ValueForm::Integer, IntLimit::BIGINT);
        Ok(match (meaning, form) {
            (AggregateMeaning::CountRows, None) if !is_distinct => {
                (Function::CountRows, big, Plain(count))
            }
            (AggregateMeaning::Count, Some(_)) => {
                let function = if is_distinct { Function::CountDistinct } else { Function::Count };
                (function, big, Plain(count))
            }
            (AggregateMeaning::Min, Some(form)) => (Function::Min, IntLimit::NUMERIC, Plain(form)),
            (AggregateMeaning::Max, Some(form)) => (Function::Max, IntLimit::NUMERIC, Plain(form)),
            (AggregateMeaning::IntegerSum, Some(ValueForm::Integer)) => {
                (sum, big, Plain(ValueForm::Integer))
            }
            (AggregateMeaning::NumericSum, Some(ValueForm::Integer)) => {
                (sum, IntLimit::NUMERIC, Plain(numeric(0)))
            }
            (AggregateMeaning::NumericSum, Some(ValueForm::Numeric { scale, .. })) => {
                (sum, IntLimit::NUMERIC, Plain(numeric(scale)))
            }
            (AggregateMeaning::Average, Some(ValueForm::Integer | ValueForm::Numeric { .. })) => {
                (state, IntLimit::NUMERIC, PlannedResult::Average)
            }
            (
                AggregateMeaning::Deviation { is_sample, is_root },
                Some(ValueForm::Integer | ValueForm::Numeric { .. }),
            ) if !is_distinct => {
                let result = PlannedResult::Deviation { squares: 0, is_sample, is_root };
                (Function::AverageState, IntLimit::NUMERIC, result)
            }
            (AggregateMeaning::Deviation { .. }, _) if is_distinct => {
                return Err(LoweringError::not_supported("variances of distinct values"));
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
