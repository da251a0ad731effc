//! Window functions.
//!
//! Operators of which the lowest one's sort serves the others become one node. Arguments are
//! columns of a map below it.
//!
//! ```text
//! Window partition a, sum(b + 1) <- Window partition a order b, rank
//! Window [keys 0, 1; partition 1, order 1: rank; partition 1: sum 2] <- Map [a, b, b + 1]
//! ```

use nacre_plan::algebra::{
    BoundAggregate, BoundSortKey, ColumnId, RelationalOperator, ScalarExpression, ScalarKind,
    WindowColumn, WindowFrameExclusion,
};
use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use super::LEVELS_MAX;
use super::aggregates::{AggregateInput, PlannedAggregate, with_results};
use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::form_key_node;
use super::expressions::{ExpressionLowering, LoweredExpression};
use super::fold::fold_constant;
use super::form::ValueForm;
use super::levels::too_many_levels;
use super::once::has_once;
use super::operators::{WindowMeaning, window_meaning};
use super::relations::{compute, computed_columns, guarded_column, lower_relation, pass_through};
use super::stored::StoredRelations;
use super::window_frames::lower_frame;
use crate::expression::ExpressionId;
use crate::plan::{
    AggregateFunction, MapNode, PlanNode, SortKey, WindowCall, WindowFunction, WindowNode,
    WindowNumber, WindowSpecification,
};

/// A window operator with the functions that are needed.
struct NeededWindow<'o> {
    partition: &'o [ColumnId],
    order: &'o [BoundSortKey],
    functions: Vec<&'o WindowColumn>,
}

/// Lowers window operators that one sort serves, the topmost of which is `operator`.
///
/// # Errors
/// [`LoweringError::NotSupported`] for what the executor has not with the same meaning.
pub(super) fn lower_windows(
    relations: &dyn StoredRelations,
    operator: &RelationalOperator,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let (windows, below) = needed_windows(operator, needed);
    let (mut nodes, mut rest) = (Vec::new(), &windows[..]);
    let mut wanted = vec![needed.to_vec()];
    while !rest.is_empty() {
        let is_whole = |count: &usize| is_one_node(&rest[..*count]);
        let count = (1..=rest.len()).rev().find(is_whole).unwrap_or(rest.len());
        let (node, others) = rest.split_at(count);
        wanted.push(wanted_below(node, wanted.last().map_or(needed, Vec::as_slice)));
        nodes.push(node);
        rest = others;
    }
    if nodes.len() > LEVELS_MAX {
        return Err(too_many_levels());
    }
    let own = wanted.pop().unwrap_or_default();
    let (mut lowered, is_guarded) = lower_source(relations, below, [needed, &own], &windows)?;
    while let (Some(node), Some(above)) = (nodes.pop(), wanted.pop()) {
        lowered = lower_node(lowered, node, &above, is_guarded)?;
    }
    Ok(lowered)
}

/// Returns the columns that are wanted below windows, if `above` are wanted of their results.
fn wanted_below(windows: &[NeededWindow<'_>], above: &[ColumnId]) -> Vec<ColumnId> {
    let is_result = |column: &ColumnId| {
        windows.iter().flat_map(|one| &one.functions).any(|own| own.column == *column)
    };
    let mut wanted: Vec<ColumnId> =
        above.iter().copied().filter(|column| !is_result(column)).collect();
    for column in windows.iter().flat_map(NeededWindow::columns) {
        if !wanted.contains(&column) {
            wanted.push(column);
        }
    }
    wanted
}

/// Lowers what windows read, the columns `wanted`; of these and their results `above` are. Returns
/// whether functions may read a column that may fail and that PostgreSQL computes for fewer rows:
/// their keys are computed for all.
fn lower_source(
    relations: &dyn StoredRelations,
    source: &RelationalOperator,
    [above, wanted]: [&[ColumnId]; 2],
    windows: &[NeededWindow<'_>],
) -> LoweringResult<(LoweredRelation, bool)> {
    let mut read = Vec::new();
    let calls = windows.iter().flat_map(|one| &one.functions);
    calls.flat_map(|one| one.call.expressions()).for_each(|one| collect_columns(one, &mut read));
    if let RelationalOperator::Compute { input, columns } = source {
        let is_read = columns.iter().any(|one| read.contains(&one.column));
        let (computed, own) = computed_columns(columns, wanted);
        let input = lower_relation(relations, input, &own)?;
        let is_input_guarded = input.column_may_fail;
        let mut lowered = compute(input, &computed)?;
        let is_guarded = is_input_guarded || is_read && lowered.column_may_fail;
        if !is_input_guarded && !computed.iter().any(|one| above.contains(&one.column)) {
            // Conditions on partitions leave out rows before.
            let may_fail = std::mem::take(&mut lowered.column_may_fail);
            lowered.window_may_fail |= is_read && may_fail;
            lowered.unmerged_column_may_fail |= !is_read && may_fail;
        }
        return Ok((lowered, is_guarded));
    }
    let source = lower_relation(relations, source, wanted)?;
    let is_guarded = source.column_may_fail;
    Ok((source, is_guarded))
}

/// Returns the window operators from `operator` down, those without a needed function left out, and
/// what is below all.
fn needed_windows<'o>(
    mut operator: &'o RelationalOperator,
    needed: &[ColumnId],
) -> (Vec<NeededWindow<'o>>, &'o RelationalOperator) {
    let mut wanted = needed.to_vec();
    let mut windows: Vec<NeededWindow<'o>> = Vec::new();
    while let RelationalOperator::Window { input, partition, order, functions } = operator {
        let functions: Vec<&WindowColumn> =
            functions.iter().filter(|one| wanted.contains(&one.column)).collect();
        if !functions.is_empty() {
            let window = NeededWindow { partition, order, functions };
            wanted.extend(window.columns());
            windows.push(window);
        }
        operator = input;
    }
    (windows, operator)
}

/// Whether the sort of the last window serves all, and none reads results of others.
fn is_one_node(windows: &[NeededWindow<'_>]) -> bool {
    let Some((last, others)) = windows.split_last() else { return true };
    let reads = |one: &NeededWindow<'_>| {
        let columns = one.columns();
        let results = windows.iter().flat_map(|other| &other.functions);
        results.into_iter().any(|result| columns.contains(&result.column))
    };
    others.iter().all(|one| last.serves(one)) && !windows.iter().any(reads)
}

impl NeededWindow<'_> {
    /// Returns the columns that it reads.
    fn columns(&self) -> Vec<ColumnId> {
        let mut columns = self.partition.to_vec();
        self.order.iter().for_each(|key| collect_columns(&key.value, &mut columns));
        let calls = self.functions.iter().flat_map(|one| one.call.expressions());
        calls.for_each(|expression| collect_columns(expression, &mut columns));
        columns
    }

    /// Returns the keys that rows are sorted by; any direction is right for a partition.
    fn keys(&self) -> Vec<(Option<ColumnId>, bool, bool)> {
        let partition = self.partition.iter().map(|column| (Some(*column), false, false));
        let order = self.order.iter().map(|key| {
            let column = match key.value.kind {
                ScalarKind::Column(column) => Some(column),
                _ => None,
            };
            (column, key.is_descending, key.nulls_first)
        });
        partition.chain(order).collect()
    }

    /// Whether rows that are sorted for this window are so for another one.
    fn serves(&self, other: &Self) -> bool {
        let (own, others) = (self.keys(), other.keys());
        let count = other.partition.len();
        let is_known =
            |column: &ColumnId| own[..count].iter().any(|(key, ..)| *key == Some(*column));
        own.len() >= others.len()
            && other.partition.iter().all(is_known)
            && own[count..].iter().zip(&others[count..]).all(|(own, other)| own == other)
    }
}

/// Makes the node of windows, the last of which has all keys; `above` are the columns that are
/// wanted of it.
fn lower_node(
    input: LoweredRelation,
    windows: &[NeededWindow<'_>],
    above: &[ColumnId],
    is_source_guarded: bool,
) -> LoweringResult<LoweredRelation> {
    let mut functions = windows.iter().flat_map(|one| &one.functions);
    let is_guarded = |one: &&WindowColumn| {
        let mut expressions = one.call.expressions().into_iter();
        one.call.filter.is_some() || expressions.any(|own| own.any(&ScalarExpression::is_guard))
    };
    if is_source_guarded && functions.any(is_guarded) {
        return Err(guarded_column());
    }
    let own = wanted_below(windows, above);
    let mut places = ColumnPlaces::default();
    for (column, place) in input.columns.iter().filter(|(column, _)| own.contains(column)) {
        places.add(*column, *place);
    }
    let mut expressions = ExpressionLowering::new(&places);
    let (mut outputs, columns) = pass_through(&mut expressions, &places)?;
    let keys = sort_keys(windows, &columns, &mut expressions, &mut outputs)?;
    let calls = Vec::new();
    let mut lowering =
        WindowLowering { input: AggregateInput { expressions, outputs, calls }, may_fail: false };
    let mut specifications = Vec::with_capacity(windows.len());
    // Where results lie behind the columns of the input.
    let (mut results, mut starts, mut width) = (Vec::new(), Vec::new(), 0);
    for window in windows.iter().rev() {
        let mut calls = Vec::with_capacity(window.functions.len());
        for one in &window.functions {
            let frame = lower_frame(&one.frame, window.order, &columns)?;
            let (function, mut result) = lowering.function(one)?;
            result.call = starts.len();
            starts.push(width);
            width += function.width();
            calls.push(WindowCall { function, frame });
            results.push(result);
        }
        let (partition_keys, order_keys) = (window.partition.len(), window.order.len());
        specifications.push(WindowSpecification { partition_keys, order_keys, calls });
    }
    let WindowLowering { input: AggregateInput { expressions, outputs, .. }, may_fail } = lowering;
    starts.iter_mut().for_each(|start| *start += outputs.len());
    let may_fail = may_fail || expressions.may_fail;
    let map = MapNode { input: input.node, graph: expressions.graph, outputs };
    let input_node = PlanNode::Map(Box::new(map));
    let node = WindowNode { input: input_node, keys, windows: specifications };
    let node = PlanNode::Window(Box::new(node));
    let (node, columns) = with_results(node, columns, &results, &starts)?;
    Ok(LoweredRelation {
        node,
        columns,
        // PostgreSQL evaluates functions row by row, as far as a LIMIT above wants.
        row_may_fail: input.row_may_fail || may_fail,
        is_stepwise: !(input.row_may_fail || may_fail),
        column_may_fail: input.column_may_fail,
        window_may_fail: input.window_may_fail || may_fail,
        // Sums may be too large.
        may_fail: true,
        unmerged_column_may_fail: input.unmerged_column_may_fail,
        is_grouped: input.is_grouped,
        gives_unmerged_rows: true,
    })
}

/// Returns the keys that rows are sorted by, which the last window has.
fn sort_keys(
    windows: &[NeededWindow<'_>],
    columns: &ColumnPlaces,
    expressions: &mut ExpressionLowering<'_>,
    outputs: &mut Vec<ExpressionId>,
) -> LoweringResult<Vec<SortKey>> {
    let mut keys = Vec::new();
    for (column, is_descending, is_nulls_first) in
        windows.last().map_or(Vec::new(), NeededWindow::keys)
    {
        let column = column.ok_or_else(|| LoweringError::contradiction("a key is no column"))?;
        let ColumnPlace { index: mut column, form } = columns.get(column)?;
        if form.has_key_node() {
            expressions.may_fail |= form.may_fail();
            let key = form_key_node(&mut expressions.graph, outputs[column], form)?;
            column = outputs.len();
            outputs.push(key);
        }
        keys.push(SortKey { column, is_descending, is_nulls_first });
    }
    Ok(keys)
}

/// Whether an aggregate has a value for all rows, unless they are huge.
fn is_total(call: &BoundAggregate) -> bool {
    let is_exact = |one: &ScalarExpression| {
        let types = [TypeOid::INT2, TypeOid::INT4, TypeOid::INT8, TypeOid::NUMERIC];
        types.contains(&one.sql_type.oid())
    };
    match call.function.name {
        "count" | "min" | "max" | "bool_and" | "bool_or" | "every" | "string_agg"
        | "regr_count" => true,
        "array_agg" => call.arguments.iter().all(|one| one.sql_type.element().is_none()),
        "sum" | "avg" | "variance" | "var_samp" | "var_pop" | "stddev" | "stddev_samp"
        | "stddev_pop" | "bit_and" | "bit_or" | "bit_xor" | "json_agg" => {
            call.arguments.iter().all(is_exact)
        }
        _ => false,
    }
}

/// Refuses values of queries in a function of which PostgreSQL evaluates the arguments for the rows
/// of its frames, or for those that it shows, alone: there may be none.
fn refuse_skipped_queries(one: &WindowColumn) -> LoweringResult<()> {
    use WindowMeaning as M;
    let is_of_single_rows = matches!(
        window_meaning(one.call.function.oid),
        Some(M::Shift { .. } | M::FirstValue | M::LastValue | M::NthValue)
    );
    let skips_rows = is_of_single_rows
        || !one.frame.offsets().is_empty()
        || one.frame.exclusion != WindowFrameExclusion::Nothing;
    if skips_rows && one.call.expressions().into_iter().any(has_once) {
        let what = "values of queries in window functions that skip rows";
        return Err(LoweringError::not_supported(what));
    }
    Ok(())
}

/// The functions of a node, under way.
struct WindowLowering<'c> {
    /// The columns below the node.
    input: AggregateInput<'c>,
    /// Whether a function may refuse an argument.
    may_fail: bool,
}

impl WindowLowering<'_> {
    /// Returns a function and what its result is.
    fn function(
        &mut self,
        one: &WindowColumn,
    ) -> LoweringResult<(WindowFunction, PlannedAggregate)> {
        let call = &one.call;
        refuse_skipped_queries(one)?;
        let plain = |form: ValueForm| PlannedAggregate::of_column(one.column, form);
        let Some(meaning) = window_meaning(call.function.oid) else {
            return self.aggregate(one);
        };
        Ok(match (meaning, &call.arguments[..]) {
            (WindowMeaning::RowNumber, []) => {
                (WindowFunction::RowNumber, plain(ValueForm::Integer))
            }
            (WindowMeaning::Rank, []) => (WindowFunction::Rank, plain(ValueForm::Integer)),
            (WindowMeaning::DenseRank, []) => {
                (WindowFunction::DenseRank, plain(ValueForm::Integer))
            }
            (WindowMeaning::PercentRank, []) => {
                (WindowFunction::PercentRank, plain(ValueForm::Double))
            }
            (WindowMeaning::CumeDist, []) => (WindowFunction::CumeDist, plain(ValueForm::Double)),
            (WindowMeaning::Ntile, [buckets]) => {
                let buckets = self.positive_number(buckets)?;
                (WindowFunction::Ntile { buckets }, plain(ValueForm::Integer))
            }
            (WindowMeaning::Shift { is_lead }, [argument, others @ ..]) if others.len() <= 2 => {
                let argument = self.input.expressions.lower_column(argument)?;
                let distance = match others.first() {
                    Some(distance) => self.number(distance)?,
                    None => WindowNumber::Constant(Some(1)),
                };
                let default = match others.get(1) {
                    Some(default) => Some(self.input.expressions.lower_column(default)?),
                    None => None,
                };
                let (argument, default, form) = match default {
                    Some(default) => {
                        let expressions = &mut self.input.expressions;
                        let ([own, other], form) = expressions.in_one_column(argument, default)?;
                        (own, Some(other), form)
                    }
                    None => (argument.id, None, argument.form),
                };
                let argument = self.input.output(argument);
                let default = default.map(|default| self.input.output(default));
                (WindowFunction::Shift { argument, distance, is_lead, default }, plain(form))
            }
            (WindowMeaning::FirstValue, [argument]) => {
                let LoweredExpression { id, form, .. } =
                    self.input.expressions.lower_column(argument)?;
                let argument = self.input.output(id);
                (WindowFunction::FirstValue { argument }, plain(form))
            }
            (WindowMeaning::LastValue, [argument]) => {
                let LoweredExpression { id, form, .. } =
                    self.input.expressions.lower_column(argument)?;
                let argument = self.input.output(id);
                (WindowFunction::LastValue { argument }, plain(form))
            }
            (WindowMeaning::NthValue, [argument, position]) => {
                let LoweredExpression { id, form, .. } =
                    self.input.expressions.lower_column(argument)?;
                let argument = self.input.output(id);
                let position = self.positive_number(position)?;
                (WindowFunction::NthValue { argument, position }, plain(form))
            }
            _ => return Err(LoweringError::contradiction("a window function of other arguments")),
        })
    }

    fn aggregate(
        &mut self,
        one: &WindowColumn,
    ) -> LoweringResult<(WindowFunction, PlannedAggregate)> {
        let call = one.call.clone();
        let aggregate = BoundAggregate {
            function: call.function,
            arguments: call.arguments,
            is_distinct: false,
            order_by: Vec::new(),
            filter: call.filter,
            result: call.result,
        };
        let may_fail = self.input.expressions.may_fail;
        let planned = match self.input.plan_state(one.column, &aggregate) {
            Err(error @ LoweringError::Contradiction { .. }) => return Err(error),
            planned => planned.ok(),
        };
        let own = planned.as_ref().and_then(PlannedAggregate::sole_call);
        let own = own.map(|own| self.input.calls[own].clone());
        let has_window = |function: AggregateFunction| {
            use AggregateFunction as Function;
            !matches!(
                function,
                Function::ExactMin
                    | Function::ExactMax
                    | Function::ExactSum
                    | Function::ExactState
                    | Function::Collect
                    | Function::Moments(_)
            )
        };
        if let (Some(own), Some(planned)) = (own.filter(|own| has_window(own.function)), planned) {
            return Ok((WindowFunction::Aggregate(own), planned));
        }
        self.input.expressions.may_fail = may_fail;
        self.may_fail |= !is_total(&aggregate);
        let (fold, planned) = self.input.plan_window_fold(one.column, &aggregate)?;
        Ok((WindowFunction::Fold(fold), planned))
    }

    /// Lowers a whole number: a constant, or a column below.
    fn number(&mut self, expression: &ScalarExpression) -> LoweringResult<WindowNumber> {
        match fold_constant(expression)? {
            Some(SqlValue::Integer(value)) => {
                return Ok(WindowNumber::Constant(Some(value.into())));
            }
            Some(SqlValue::Null) => return Ok(WindowNumber::Constant(None)),
            _ => {}
        }
        let lowered = self.input.expressions.lower(expression)?;
        if lowered.form != ValueForm::Integer {
            return Err(LoweringError::contradiction("a window function's number is none"));
        }
        Ok(WindowNumber::Column(self.input.output(lowered.id)))
    }

    /// As [`Self::number`], of one that is refused when it is not positive.
    fn positive_number(&mut self, expression: &ScalarExpression) -> LoweringResult<WindowNumber> {
        let number = self.number(expression)?;
        if !matches!(number, WindowNumber::Constant(None | Some(1..))) {
            self.may_fail = true;
        }
        Ok(number)
    }
}
