//! GROUP BY, DISTINCT and aggregates.

use nacre_plan::algebra::{
    AggregateColumn, BoundAggregate, ColumnId, GroupingKey, RelationalOperator, ScalarExpression,
};
use nacre_plan::optimizer::determined_keys;
use nacre_types::{SqlType, TypeKind};

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::{
    DeviationKind, average_node, decimal_node, deviation_node, exact_average_node, form_key_node,
    square_node,
};
use super::expressions::{ExpressionLowering, LoweredExpression};
use super::folds::FoldedResult;
use super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use super::operators::{AggregateMeaning, aggregate_meaning};
use super::relations::{guarded_column, pass_through};
use crate::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
use crate::plan::{
    AggregateCall, AggregateFunction, AggregateNode, GroupingSetsNode, MapNode, PlanNode,
};
use crate::value::{IntLimit, ScalarValue, ValueClass};

/// Decimal digits of the greatest number of rows: sums have so many more than what they add up.
const ROW_COUNT_DIGITS: u16 = 19;

/// Decimal digits of how many of the greatest squares a sum of decimals holds; of more of them the
/// query fails with 22003.
const SQUARE_COUNT_DIGITS: u16 = 8;

/// An aggregate of the query, before it is known where its result lies.
pub(super) struct PlannedAggregate {
    pub(super) column: ColumnId,
    /// By index in the calls.
    pub(super) call: usize,
    result: PlannedResult,
    /// Of the numbers that are added up.
    scale: u16,
    /// The call that has the greatest scale that a row shows, if these differ.
    shown_scale: Option<usize>,
    /// What computes the result of the column of the call, instead of all others.
    folded: Option<FoldedResult>,
}

/// What the result of an aggregate is.
#[derive(Clone, Copy)]
enum PlannedResult {
    /// The first column of the call.
    Plain(ValueForm),
    /// The quotient of its two columns.
    Average,
    /// As `Average`, of numerics of any scale.
    ExactAverage,
    /// Computed of its two columns and the sum of squares, which is another call.
    Deviation { squares: usize, kind: DeviationKind },
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
    /// Columns that follow from the keys, and that somebody wants.
    pub(super) dependents: Vec<ColumnId>,
    /// Sets of keys and the column that has their index; `None` if all keys are the only set.
    pub(super) sets: Option<(&'q [Vec<usize>], ColumnId)>,
}

impl<'q> GroupedColumns<'q> {
    /// Groups by sets of keys, and makes a column of the index of the set.
    pub(super) fn of_sets(keys: &[GroupingKey], sets: (&'q [Vec<usize>], ColumnId)) -> Self {
        Self { keys: keys.to_vec(), dependents: Vec::new(), sets: Some(sets) }
    }

    /// Takes columns that follow from others out of the keys.
    pub(super) fn of(input: &RelationalOperator, keys: &[ColumnId], needed: &[ColumnId]) -> Self {
        let (mut compared, mut dependents) = (Vec::with_capacity(keys.len()), Vec::new());
        for (column, is_determined) in keys.iter().zip(determined_keys(input, keys)) {
            if !is_determined {
                compared.push(GroupingKey { source: *column, column: *column });
            } else if needed.contains(column) {
                dependents.push(*column);
            }
        }
        Self { keys: compared, dependents, sets: None }
    }

    /// Has floats among the keys show what the first row of a group has: 0 and -0 are one key.
    fn with_shown_floats(mut self, places: &ColumnPlaces) -> LoweringResult<Self> {
        if self.sets.is_some() {
            return Ok(self);
        }
        for key in &self.keys {
            let class = places.get(key.source)?.form.class();
            let is_float = matches!(class, ValueClass::Float32 | ValueClass::Float64);
            if is_float && !self.dependents.contains(&key.column) {
                self.dependents.push(key.column);
            }
        }
        Ok(self)
    }
}

/// Where the value of a key is found.
enum KeyPlace {
    Output(ColumnPlace),
    /// It is the result of an aggregate.
    Result(PlannedAggregate),
}

/// Groups the rows of `input`. The row of no keys is there even of no rows.
///
/// # Errors
/// [`LoweringError::NotSupported`] for an aggregate that the executor has not.
pub(super) fn lower_aggregate(
    input: LoweredRelation,
    grouped: GroupedColumns<'_>,
    aggregates: &[&AggregateColumn],
) -> LoweringResult<LoweredRelation> {
    let has_guard = |one: &&AggregateColumn| {
        one.call.filter.is_some()
            || one.call.expressions().iter().any(|own| own.any(&ScalarExpression::is_guard))
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
    let GroupedColumns { keys, dependents, sets } = grouped.with_shown_floats(&places)?;
    let (mut columns, mut key_indexes) = (ColumnPlaces::default(), Vec::new());
    let mut exact_keys = Vec::new();
    for key in keys {
        let is_shown = !dependents.contains(&key.column);
        let place = lowering.add_key(&places, key, sets.is_some(), &mut key_indexes)?;
        match place {
            KeyPlace::Output(place) if is_shown => columns.add(key.column, place),
            KeyPlace::Output(_) => {}
            KeyPlace::Result(exact) => exact_keys.push(exact),
        }
    }
    let dependents = lowering.add_dependents(&places, &dependents, &mut columns, &key_indexes)?;
    let mut planned = Vec::with_capacity(aggregates.len());
    // Averages first: their sums serve as sums, too.
    let is_average = |one: &&&AggregateColumn| {
        aggregate_meaning(one.call.function.oid) == Some(AggregateMeaning::Average)
    };
    let rest = aggregates.iter().filter(|one| !is_average(one));
    for AggregateColumn { column, call } in aggregates.iter().filter(is_average).chain(rest) {
        planned.push(lowering.plan(*column, call)?);
    }
    if planned.is_empty() && key_indexes.is_empty() {
        // Of its one row nothing is needed.
        lowering.add(AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT));
    }
    let AggregateInput { expressions, outputs, calls } = lowering;
    let starts = call_starts(key_indexes.len() + dependents.len(), &calls);
    planned.extend(exact_keys);
    let calls_may_fail = calls.iter().any(|call| !call.function.never_fails());
    let may_fail = input.may_fail || expressions.may_fail || calls_may_fail;
    let map = MapNode { input: input.node, graph: expressions.graph, outputs };
    let input = PlanNode::Map(Box::new(map));
    let node = match sets {
        None => {
            let (keys, aggregates) = (key_indexes, calls);
            aggregate_node(AggregateNode { input, keys, dependents, aggregates })
        }
        Some((sets, set_column)) => {
            let index = key_indexes.len() + state_columns(&calls);
            columns.add(set_column, ColumnPlace { index, form: ValueForm::Integer });
            let (keys, sets) = (key_indexes, sets.to_vec());
            grouping_node(GroupingSetsNode { input, keys, sets, aggregates: calls })
        }
    };
    let (node, columns) = with_results(node, columns, &planned, &starts)?;
    let grouped = LoweredRelation::infallible(node, columns);
    Ok(LoweredRelation { may_fail, is_grouped: true, gives_unmerged_rows: true, ..grouped })
}

/// Adds the columns of results to those of `node`, and computes results of several columns.
pub(super) fn with_results(
    node: PlanNode,
    mut columns: ColumnPlaces,
    planned: &[PlannedAggregate],
    starts: &[usize],
) -> LoweringResult<(PlanNode, ColumnPlaces)> {
    for one in planned {
        if let Some(place) = one.place(starts) {
            columns.add(one.column, place);
        }
    }
    if planned.iter().all(|one| one.place(starts).is_some()) {
        return Ok((node, columns));
    }
    let nothing = ColumnPlaces::default();
    let mut expressions = ExpressionLowering::new(&nothing);
    let (mut outputs, mut columns) = pass_through(&mut expressions, &columns)?;
    for one in planned.iter().filter(|one| one.place(starts).is_none()) {
        outputs.push(one.node(&mut expressions.graph, starts)?);
        let form = one.computed_form();
        columns.add(one.column, ColumnPlace { index: outputs.len() - 1, form });
    }
    let graph = expressions.graph;
    Ok((PlanNode::Map(Box::new(MapNode { input: node, graph, outputs })), columns))
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
    /// Makes a result that is a column of its call.
    pub(super) fn of_column(column: ColumnId, form: ValueForm) -> Self {
        let result = PlannedResult::Plain(form);
        Self { column, call: 0, result, scale: 0, shown_scale: None, folded: None }
    }

    /// Makes a result that is computed of the only column of a call.
    pub(super) fn of_fold(column: ColumnId, call: usize, folded: FoldedResult) -> Self {
        let plain = Self::of_column(column, folded.form());
        Self { call, folded: Some(folded), ..plain }
    }

    /// Returns the form of a result that is computed.
    fn computed_form(&self) -> ValueForm {
        let exact = ValueForm::Exact { may_fail: false };
        self.folded.as_ref().map_or(exact, FoldedResult::form)
    }

    /// Returns the only call that it is made of, if no other is part of it.
    pub(super) fn sole_call(&self) -> Option<usize> {
        let is_deviation = matches!(self.result, PlannedResult::Deviation { .. });
        let is_sole = !is_deviation && self.shown_scale.is_none() && self.folded.is_none();
        is_sole.then_some(self.call)
    }

    /// Returns the place of the result, where calls begin at those columns; `None` if it is
    /// computed of several.
    fn place(&self, starts: &[usize]) -> Option<ColumnPlace> {
        match (self.result, self.shown_scale) {
            (PlannedResult::Plain(form), None) if self.folded.is_none() => {
                Some(ColumnPlace { index: starts[self.call], form })
            }
            _ => None,
        }
    }

    /// Adds the node that computes the result.
    fn node(&self, graph: &mut ExpressionGraph, starts: &[usize]) -> LoweringResult<ExpressionId> {
        let (index, scale) = (starts[self.call], self.scale);
        if let Some(folded) = &self.folded {
            return folded.node(graph, index);
        }
        let shown = match self.shown_scale {
            Some(call) => Some(graph.column(starts[call], ValueClass::Int)?),
            None => None,
        };
        let mut number = |index: usize| graph.column(index, ValueClass::Int);
        match self.result {
            PlannedResult::Plain(_) => {
                let sum = number(index)?;
                decimal_node(graph, sum, scale, shown)
            }
            PlannedResult::Average => {
                let inputs = [number(index)?, number(index + 1)?];
                average_node(graph, inputs, scale, shown)
            }
            PlannedResult::ExactAverage => {
                let count = number(index + 1)?;
                let sum = graph.column(index, ValueClass::Bytes)?;
                exact_average_node(graph, [sum, count])
            }
            PlannedResult::Deviation { squares, kind } => {
                let class = |scale: Option<u16>| match scale {
                    Some(_) => ValueClass::Int,
                    None => ValueClass::Bytes,
                };
                let sum = graph.column(index, class(kind.scale))?;
                let squares = graph.column(starts[squares], class(kind.squares_scale))?;
                let count = graph.column(index + 1, ValueClass::Int)?;
                deviation_node(graph, [sum, count, squares], kind)
            }
        }
    }
}

/// Returns the scale of squares that decimals hold; `None` if the sum of some may have too many
/// digits.
fn squares_scale(form: ValueForm, is_long: bool) -> Option<u16> {
    let (scale, digits) = match form {
        ValueForm::Integer if is_long => (0, 19),
        ValueForm::Integer => (0, 10),
        ValueForm::Numeric { scale, digits } => (scale, digits.max(scale)),
        _ => return None,
    };
    (2 * digits + SQUARE_COUNT_DIGITS <= DECIMAL_DIGITS_MAX).then_some(2 * scale)
}

fn is_extreme(meaning: AggregateMeaning) -> bool {
    matches!(meaning, AggregateMeaning::Min | AggregateMeaning::Max)
}

/// Whether packed values that are equal may look different: the last of them is the extreme.
fn has_variants(sql_type: SqlType) -> bool {
    let kind = sql_type.kind();
    matches!(kind, TypeKind::Interval(..) | TypeKind::Array(_) | TypeKind::Record)
}

/// As [`AggregateInput::function`], of numerics of any scale.
fn exact_function(
    meaning: AggregateMeaning,
    is_distinct: bool,
) -> LoweringResult<(AggregateFunction, IntLimit, PlannedResult)> {
    use AggregateFunction as Function;
    let exact = PlannedResult::Plain(ValueForm::Exact { may_fail: false });
    let count = PlannedResult::Plain(ValueForm::Integer);
    let (function, result) = match (meaning, is_distinct) {
        (AggregateMeaning::Count, false) => (Function::Count, count),
        (AggregateMeaning::Count, true) => (Function::CountDistinct, count),
        (AggregateMeaning::Min, _) => (Function::ExactMin, exact),
        (AggregateMeaning::Max, _) => (Function::ExactMax, exact),
        (AggregateMeaning::NumericSum, false) => (Function::ExactSum, exact),
        (AggregateMeaning::Average, false) => (Function::ExactState, PlannedResult::ExactAverage),
        (AggregateMeaning::Deviation { is_sample, is_root }, false) => {
            let kind = DeviationKind { scale: None, squares_scale: None, is_sample, is_root };
            (Function::ExactState, PlannedResult::Deviation { squares: 0, kind })
        }
        _ => {
            let what = "distinct sums of averages, quotients and mixed scales";
            return Err(LoweringError::not_supported(what));
        }
    };
    let is_count = meaning == AggregateMeaning::Count;
    let limit = if is_count { IntLimit::BIGINT } else { IntLimit::NUMERIC };
    Ok((function, limit, result))
}

/// Groups by keys. What is no more than a count of distinct values counts groups of these: sets of
/// values lie in the partition of their group, and here is one group.
fn aggregate_node(node: AggregateNode) -> PlanNode {
    let distinct = match &node.aggregates[..] {
        [call] if node.keys.is_empty() && call.filter.is_none() => match call.function {
            AggregateFunction::CountDistinct => call.argument,
            _ => None,
        },
        _ => None,
    };
    let Some(argument) = distinct else { return PlanNode::Aggregate(Box::new(node)) };
    let (keys, dependents) = (vec![argument], Vec::new());
    let values = AggregateNode { input: node.input, keys, dependents, aggregates: Vec::new() };
    let count = AggregateCall::new(AggregateFunction::Count, Some(0), IntLimit::BIGINT);
    PlanNode::Aggregate(Box::new(AggregateNode {
        input: PlanNode::Aggregate(Box::new(values)),
        keys: Vec::new(),
        dependents: Vec::new(),
        aggregates: vec![count],
    }))
}

/// Groups by sets. If one has all keys, as of ROLLUP and CUBE, rows are grouped by it, and these
/// fewer ones by the sets.
fn grouping_node(node: GroupingSetsNode) -> PlanNode {
    // Of rows that are collected all would be handed on, and what stands for them is not merged.
    let is_mergeable = |call: &AggregateCall| !call.function.is_distinct() && call.fold.is_none();
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
            Function::ExactState => {
                merge(Function::ExactSum, start, call.limit);
                merge(Function::CountSum, start + 1, IntLimit::BIGINT);
            }
            function => merge(function, start, call.limit),
        }
    }
    let finest = AggregateNode { input, keys, dependents: Vec::new(), aggregates: calls };
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

    /// Adds a key, whose index is added to `key_indexes`; numerics of any scale are shown by a
    /// result.
    fn add_key(
        &mut self,
        places: &ColumnPlaces,
        key: GroupingKey,
        has_sets: bool,
        key_indexes: &mut Vec<usize>,
    ) -> LoweringResult<KeyPlace> {
        let ColumnPlace { index, form } = places.get(key.source)?;
        if form.has_key_node() {
            if has_sets {
                return Err(LoweringError::not_supported("grouping sets by quotients"));
            }
            let exact = self.exact_key(key, ColumnPlace { index, form }, key_indexes)?;
            return Ok(KeyPlace::Result(exact));
        }
        let id = self.expressions.graph.column(index, form.class())?;
        let own = self.output(id);
        // The same column may stand in the list of DISTINCT twice.
        let known = key_indexes.iter().position(|known| *known == own).filter(|_| !has_sets);
        let index = known.unwrap_or_else(|| {
            key_indexes.push(own);
            key_indexes.len() - 1
        });
        Ok(KeyPlace::Output(ColumnPlace { index, form }))
    }

    /// Adds columns that follow from the keys, whose places are added to `columns`; returns their
    /// indexes.
    fn add_dependents(
        &mut self,
        places: &ColumnPlaces,
        dependents: &[ColumnId],
        columns: &mut ColumnPlaces,
        key_indexes: &[usize],
    ) -> LoweringResult<Vec<usize>> {
        let mut indexes = Vec::with_capacity(dependents.len());
        for column in dependents {
            let ColumnPlace { index, form } = places.get(*column)?;
            let id = self.expressions.graph.column(index, form.class())?;
            columns.add(*column, ColumnPlace { index: key_indexes.len() + indexes.len(), form });
            indexes.push(self.output(id));
        }
        Ok(indexes)
    }

    /// Adds a numeric of any scale, or a packed value, to the keys. Of equal numerics the least
    /// scale is shown.
    fn exact_key(
        &mut self,
        key: GroupingKey,
        place: ColumnPlace,
        key_indexes: &mut Vec<usize>,
    ) -> LoweringResult<PlannedAggregate> {
        let ColumnPlace { index, form } = place;
        let value = self.expressions.graph.column(index, ValueClass::Bytes)?;
        let id = form_key_node(&mut self.expressions.graph, value, form)?;
        // It raises the errors that values stand for.
        self.expressions.may_fail |= matches!(form, ValueForm::Exact { .. });
        let id = self.output(id);
        key_indexes.push(id);
        let value = self.output(value);
        let function = AggregateFunction::Min;
        let call = self.add(AggregateCall::new(function, Some(value), IntLimit::NUMERIC));
        let form = match form {
            ValueForm::Exact { .. } => ValueForm::Exact { may_fail: false },
            form => form,
        };
        Ok(PlannedAggregate { call, ..PlannedAggregate::of_column(key.column, form) })
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
        let may_fail = self.expressions.may_fail;
        match self.plan_state(column, call) {
            Err(LoweringError::NotSupported { .. }) => {}
            planned => return planned,
        }
        self.expressions.may_fail = may_fail;
        self.plan_fold(column, call)
    }

    /// Adds an aggregate whose state the executor has.
    ///
    /// # Errors
    /// [`LoweringError::NotSupported`] for others.
    pub(super) fn plan_state(
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
        if is_extreme(meaning) && call.arguments.iter().any(|one| has_variants(one.sql_type)) {
            return Err(unknown("values that are equal and look different in"));
        }
        let argument = match &call.arguments[..] {
            [] => None,
            [argument] => Some(self.argument(argument, filter, meaning, call.is_distinct)?),
            _ => return Err(unknown("more arguments of")),
        };
        let filter = filter.map(|filter| self.output(filter));
        let (function, limit, result) = self.function(meaning, argument, call.is_distinct)?;
        let scale = match argument.map(|argument| argument.form) {
            Some(ValueForm::Numeric { scale, .. }) => scale,
            _ => 0,
        };
        let shown_scale = match argument {
            Some(argument) => self.shown_scale(meaning, argument, filter)?,
            None => None,
        };
        let result = match (result, argument) {
            (PlannedResult::Deviation { kind, .. }, Some(argument)) => {
                let is_long = call.arguments.iter().any(|one| one.sql_type == SqlType::BIGINT);
                let squares_scale = squares_scale(argument.form, is_long);
                let squares = self.squares(argument, squares_scale, filter)?;
                PlannedResult::Deviation { squares, kind: DeviationKind { squares_scale, ..kind } }
            }
            (result, _) => result,
        };
        let argument = argument.map(|argument| self.output(argument.id));
        let call =
            self.add(AggregateCall { filter, ..AggregateCall::new(function, argument, limit) });
        Ok(PlannedAggregate { column, call, result, scale, shown_scale, folded: None })
    }

    /// Returns the call that adds up squares, as decimals of `scale` or as numerics of any.
    fn squares(
        &mut self,
        argument: LoweredExpression,
        scale: Option<u16>,
        filter: Option<usize>,
    ) -> LoweringResult<usize> {
        let (op, limit) = (ArithmeticOp::Multiply, IntLimit::NUMERIC);
        let graph = &mut self.expressions.graph;
        if scale.is_none() {
            let exact = match argument.form {
                ValueForm::Exact { .. } => argument.id,
                ValueForm::Numeric { scale, .. } => decimal_node(graph, argument.id, scale, None)?,
                _ => decimal_node(graph, argument.id, 0, None)?,
            };
            let square = square_node(graph, exact)?;
            let (function, argument) = (AggregateFunction::ExactSum, Some(self.output(square)));
            return Ok(
                self.add(AggregateCall { filter, ..AggregateCall::new(function, argument, limit) })
            );
        }
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
        Ok(self.add(AggregateCall { filter, ..AggregateCall::new(function, argument, limit) }))
    }

    /// Returns the call for the greatest scale of numbers that are added up, if it is not always
    /// the same.
    fn shown_scale(
        &mut self,
        meaning: AggregateMeaning,
        argument: LoweredExpression,
        filter: Option<usize>,
    ) -> LoweringResult<Option<usize>> {
        let Some(scale) = argument.shown_scale else { return Ok(None) };
        if meaning == AggregateMeaning::Count {
            return Ok(None);
        }
        let graph = &mut self.expressions.graph;
        // The scale of a null does not count.
        let condition = graph.add(ExpressionNode::IsNull { input: argument.id })?;
        let then = graph.add(ExpressionNode::Constant(ScalarValue::Null(ValueClass::Int)))?;
        let shown = graph.add(ExpressionNode::Case { condition, then, otherwise: scale })?;
        let argument = Some(self.output(shown));
        let (function, limit) = (AggregateFunction::Max, IntLimit::NUMERIC);
        Ok(Some(
            self.add(AggregateCall { filter, ..AggregateCall::new(function, argument, limit) }),
        ))
    }

    /// Lowers an argument, which is computed for no row that the filter leaves out: the executor
    /// aggregates columns, so one that may fail is null there.
    fn argument(
        &mut self,
        argument: &ScalarExpression,
        filter: Option<ExpressionId>,
        meaning: AggregateMeaning,
        is_distinct: bool,
    ) -> LoweringResult<LoweredExpression> {
        let failed_before = std::mem::take(&mut self.expressions.may_fail);
        let lowered = self.expressions.lower(argument)?;
        let mut lowered = self.expressions.checked(lowered)?;
        let is_sum = matches!(meaning, AggregateMeaning::NumericSum | AggregateMeaning::Average);
        let has_digits = (is_sum && !is_distinct) || meaning == AggregateMeaning::Count;
        let sums_up = is_sum || matches!(meaning, AggregateMeaning::Deviation { .. });
        let is_wide_sum = sums_up && !is_distinct && self.expressions.is_wide(lowered);
        if is_wide_sum || lowered.shown_scale.is_some() && !has_digits {
            lowered = self.expressions.exact(lowered)?;
        }
        if meaning == AggregateMeaning::Count && is_distinct {
            let graph = &mut self.expressions.graph;
            lowered.id = form_key_node(graph, lowered.id, lowered.form)?;
        }
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
        let numeric = |scale, digits| {
            let digits = DECIMAL_DIGITS_MAX.min(digits + ROW_COUNT_DIGITS);
            ValueForm::Numeric { scale, digits }
        };
        if let Some(ValueForm::Exact { .. }) = form {
            return exact_function(meaning, is_distinct);
        }
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
            (
                AggregateMeaning::Min | AggregateMeaning::Max,
                Some(ValueForm::Packed { has_keys: false }),
            ) => return Err(LoweringError::not_supported("extremes of values without an order")),
            (AggregateMeaning::Min, Some(form)) => (Function::Min, IntLimit::NUMERIC, Plain(form)),
            (AggregateMeaning::Max, Some(form)) => (Function::Max, IntLimit::NUMERIC, Plain(form)),
            (AggregateMeaning::IntegerSum, Some(ValueForm::Integer)) => {
                (sum, big, Plain(ValueForm::Integer))
            }
            (AggregateMeaning::NumericSum, Some(ValueForm::Integer)) => {
                (sum, IntLimit::NUMERIC, Plain(numeric(0, ROW_COUNT_DIGITS)))
            }
            (AggregateMeaning::NumericSum, Some(ValueForm::Numeric { scale, digits })) => {
                (sum, IntLimit::NUMERIC, Plain(numeric(scale, digits)))
            }
            (AggregateMeaning::Average, Some(ValueForm::Integer | ValueForm::Numeric { .. })) => {
                (state, IntLimit::NUMERIC, PlannedResult::Average)
            }
            (
                AggregateMeaning::Deviation { is_sample, is_root },
                Some(form @ (ValueForm::Integer | ValueForm::Numeric { .. })),
            ) if !is_distinct => {
                let scale = match form {
                    ValueForm::Numeric { scale, .. } => scale,
                    _ => 0,
                };
                let kind =
                    DeviationKind { scale: Some(scale), squares_scale: None, is_sample, is_root };
                let result = PlannedResult::Deviation { squares: 0, kind };
                (Function::AverageState, IntLimit::NUMERIC, result)
            }
            (AggregateMeaning::Deviation { .. }, _) if is_distinct => {
                return Err(LoweringError::not_supported("variances of distinct values"));
            }
            _ => return Err(LoweringError::contradiction("an aggregate of another type")),
        })
    }

    /// Adds a call unless an equal one is there, and returns its index.
    pub(super) fn add(&mut self, call: AggregateCall) -> usize {
        let AggregateCall { function, argument, filter, limit, .. } = call;
        let is_same = |own: &AggregateCall| {
            use AggregateFunction as Function;
            let serves = own.function == function
                || matches!(
                    (own.function, function),
                    (Function::AverageState, Function::Sum)
                        | (Function::ExactState, Function::ExactSum)
                );
            serves && (own.argument, own.filter, own.limit) == (argument, filter, limit)
        };
        let known = self.calls.iter().position(is_same);
        known.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        })
    }
}
