//! From relational operators to the nodes of a plan.
//!
//! An operator is lowered with the columns that those above it need, so that a scan reads no other.

use std::collections::HashSet;

use nacre_functions::catalog::FunctionEntry;
use nacre_plan::algebra::{
    AggregateColumn, BoundSortKey, ColumnId, ComputedColumn, JoinVariant, RelationalOperator,
    SampleMethod, ScalarExpression, ScalarKind, SetFunctionColumn,
};
use nacre_types::{SqlType, SqlValue};

use super::aggregates::{GroupedColumns, lower_aggregate};
use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation, RoundedValue, collect_columns};
use super::common::{checked, lower_common_scan};
use super::constant_rows::{lower_single_row, lower_values};
use super::constants::without_constants;
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::{checked_node, form_key_node};
use super::expressions::{ExpressionLowering, condition_runs};
use super::fold::{fold_constant, is_never_true};
use super::form::ValueForm;
use super::join_keys::PairConditions;
use super::joins::lower_join;
use super::limits::{RowRange, limit, lower_limit};
use super::once::{guards_once, has_once};
use super::scans::lower_scan;
use super::series::lower_series;
use super::set_operations::lower_set_operation;
use super::sets::lower_expand;
use super::stored::StoredRelations;
use super::windows::lower_windows;
use crate::expression::ExpressionId;
use crate::plan::{FilterNode, MapNode, PlanNode, SampleSeed, ScanSample, SortKey, SortNode};
use crate::value::ValueClass;

/// Most grouping sets: each has a table of groups for each worker, of up to 256 KiB.
const GROUPING_SETS_MAX: usize = 256;

/// Lowers an operator, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::NotSupported`] for what the executor has not with the same meaning.
pub(super) fn lower_relation(
    relations: &dyn StoredRelations,
    operator: &RelationalOperator,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    LoweringError::check_stopped()?;
    let mut lowered = lower_operator(relations, operator, needed)?.emptied_if_none();
    if let (Some(estimates), false) =
        (relations.estimates(), matches!(lowered.node, PlanNode::Rows(_)))
    {
        lowered.node = lowered.node.measured(estimates.rows(operator));
    }
    Ok(lowered)
}

fn lower_operator(
    relations: &dyn StoredRelations,
    operator: &RelationalOperator,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    match operator {
        RelationalOperator::SingleRow => Ok(lower_single_row()),
        RelationalOperator::Values { columns, rows } => lower_values(columns, rows, needed),
        RelationalOperator::SetOperation { variant, columns, inputs } => {
            lower_set_operation(relations, *variant, (columns, inputs), needed)
        }
        RelationalOperator::Scan { relation, columns } => {
            lower_scan(relations, relation, columns, needed, &[])
        }
        RelationalOperator::Sample { input, method, percent, seed } => {
            let sample = lower_sample(*method, percent, seed.as_ref())?;
            sampled(lower_relation(relations, input, needed)?, sample)
        }
        RelationalOperator::Series { function, arguments, column, ordinality } => {
            lower_whole_series(relations, (function, arguments), (*column, *ordinality), needed)
        }
        RelationalOperator::Expand { input, functions, ordinality } => {
            lower_expand(relations, input, functions, *ordinality, needed)
        }
        RelationalOperator::CommonScan { query, columns } => {
            lower_common_scan(relations, query, columns, needed)
        }
        RelationalOperator::Join { variant, left, right, condition } => {
            let mut conditions = PairConditions::default();
            condition.iter().for_each(|one| split_conjuncts(one, &mut conditions.on));
            lower_join(relations, *variant, [left, right], conditions, needed)
        }
        RelationalOperator::Filter { input, condition } => {
            lower_conditions(relations, (operator, input), condition, needed)
        }
        RelationalOperator::Compute { input, columns } => {
            let (computed, wanted) = computed_columns(columns, needed);
            compute(lower_relation(relations, input, &wanted)?, &computed)
        }
        RelationalOperator::Aggregate { input, keys, aggregates, is_scalar } => {
            if keys.is_empty() != *is_scalar {
                return lower_distinct_of_nothing(relations, input);
            }
            let grouped = GroupedColumns::of(input, keys, needed);
            lower_groups(relations, input, grouped, aggregates, needed)
        }
        RelationalOperator::GroupingSets { input, keys, sets, aggregates, set_column } => {
            if sets.len() > GROUPING_SETS_MAX {
                return Err(LoweringError::not_supported("this many grouping sets"));
            }
            let grouped = GroupedColumns::of_sets(keys, (sets, *set_column));
            lower_groups(relations, input, grouped, aggregates, needed)
        }
        RelationalOperator::Window { .. } => lower_windows(relations, operator, needed),
        RelationalOperator::Sort { input, keys } => lower_sort(relations, input, keys, needed),
        RelationalOperator::Limit { input, count, offset } => {
            let rows = RowRange::of(count.as_ref(), offset.as_ref())?;
            lower_limit(relations, input, needed, rows)
        }
    }
}

/// Lowers a filter: conditions without columns are decided here, but for those that queries say.
fn lower_conditions(
    relations: &dyn StoredRelations,
    (operator, input): (&RelationalOperator, &RelationalOperator),
    condition: &ScalarExpression,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let mut conditions = Vec::new();
    split_conjuncts(condition, &mut conditions);
    if is_gate(operator) && has_once(condition) {
        for one in &conditions {
            if is_never_true(one)? {
                return Ok(lower_single_row().emptied());
            }
        }
        return filter(lower_single_row(), &conditions);
    }
    match without_constants(&conditions)? {
        Some(conditions) => lower_filter(relations, input, conditions, needed),
        None => Ok(lower_relation(relations, input, needed)?.emptied()),
    }
}

/// Lowers a sort; without keys it says that all columns are computed for all rows.
fn lower_sort(
    relations: &dyn StoredRelations,
    input: &RelationalOperator,
    keys: &[BoundSortKey],
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    if keys.is_empty() {
        let lowered = checked(lower_relation(relations, input, needed)?)?;
        return Ok(LoweredRelation {
            column_may_fail: false,
            unmerged_column_may_fail: false,
            window_may_fail: false,
            ..lowered
        });
    }
    let mut wanted = needed.to_vec();
    keys.iter().for_each(|key| collect_columns(&key.value, &mut wanted));
    sort(lower_relation(relations, input, &wanted)?, keys)
}

/// Has a scan read a part of its rows. What says which may be no part of a hundred.
fn sampled(mut table: LoweredRelation, sample: ScanSample) -> LoweringResult<LoweredRelation> {
    let PlanNode::Scan(scan) = &mut table.node else {
        return Err(LoweringError::contradiction("a sample of no table"));
    };
    scan.sample = Some(sample);
    Ok(LoweredRelation { may_fail: true, ..table })
}

/// Lowers what TABLESAMPLE says.
fn lower_sample(
    method: SampleMethod,
    percent: &ScalarExpression,
    seed: Option<&ScalarExpression>,
) -> LoweringResult<ScanSample> {
    let unknown = || LoweringError::not_supported("samples that are no constants");
    let percent = match fold_constant(percent)? {
        Some(SqlValue::Real(percent)) => Some(percent),
        Some(SqlValue::Null) => None,
        _ => return Err(unknown()),
    };
    let seed = match seed.map(fold_constant).transpose()? {
        None => SampleSeed::Random,
        Some(Some(SqlValue::Double(seed))) => SampleSeed::Repeatable(Some(seed)),
        Some(Some(SqlValue::Null)) => SampleSeed::Repeatable(None),
        Some(_) => return Err(unknown()),
    };
    Ok(ScanSample { is_of_blocks: method == SampleMethod::System, percent, seed })
}

/// Lowers a series: one that is not counted as a set of a single row.
fn lower_whole_series(
    relations: &dyn StoredRelations,
    (function, arguments): (&'static FunctionEntry, &[ScalarExpression]),
    (column, ordinality): (ColumnId, Option<ColumnId>),
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    match lower_series(function, arguments, [Some(column), ordinality], needed) {
        Err(LoweringError::NotSupported { .. }) => {
            let (result, arguments) = (SqlType::new(function.result), arguments.to_vec());
            let set = SetFunctionColumn { column, function, arguments, result };
            let input = RelationalOperator::SingleRow;
            lower_expand(relations, &input, &[set], ordinality, needed)
        }
        counted => counted,
    }
}

/// Lowers DISTINCT of rows without columns: all are equal, so that one is left if there are any.
fn lower_distinct_of_nothing(
    relations: &dyn StoredRelations,
    input: &RelationalOperator,
) -> LoweringResult<LoweredRelation> {
    let input = lower_relation(relations, input, &[])?;
    if input.may_fail {
        return Err(LoweringError::not_supported("DISTINCT of no columns of what may fail"));
    }
    Ok(limit(input, RowRange::first()))
}

/// Lowers groups and their input, of which keys and what is aggregated are wanted: aggregates that
/// are not needed are left out.
fn lower_groups(
    relations: &dyn StoredRelations,
    input: &RelationalOperator,
    grouped: GroupedColumns<'_>,
    aggregates: &[AggregateColumn],
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let mut wanted: Vec<ColumnId> = Vec::with_capacity(grouped.keys.len());
    let sources = grouped.keys.iter().map(|key| key.source);
    for source in sources.chain(grouped.dependents.iter().copied()) {
        // DISTINCT may name a column twice.
        if !wanted.contains(&source) {
            wanted.push(source);
        }
    }
    // PostgreSQL does not compute the others, either.
    let aggregates: Vec<_> = aggregates.iter().filter(|one| needed.contains(&one.column)).collect();
    for aggregate in &aggregates {
        let own = aggregate.call.expressions().into_iter();
        own.for_each(|expression| collect_columns(expression, &mut wanted));
    }
    let input = lower_relation(relations, input, &wanted)?;
    lower_aggregate(input, grouped, &aggregates)
}

/// Lowers conditions, which have columns, above `input`.
fn lower_filter(
    relations: &dyn StoredRelations,
    input: &RelationalOperator,
    conditions: Vec<&ScalarExpression>,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    match input {
        RelationalOperator::Scan { relation, columns } => {
            return lower_scan(relations, relation, columns, needed, &conditions);
        }
        RelationalOperator::Join { variant: JoinVariant::Inner, left, right, condition } => {
            let mut all = PairConditions { on: Vec::new(), above: conditions };
            condition.iter().for_each(|one| split_conjuncts(one, &mut all.on));
            let mut lowered =
                lower_join(relations, JoinVariant::Inner, [left, right], all, needed)?;
            if let (Some(estimates), PlanNode::Filter(filter)) =
                (relations.estimates(), &mut lowered.node)
            {
                let join = std::mem::replace(&mut filter.input, PlanNode::none());
                filter.input = join.measured(estimates.rows(input));
            }
            return Ok(lowered);
        }
        _ => {}
    }
    let mut wanted = needed.to_vec();
    conditions.iter().for_each(|one| collect_columns(one, &mut wanted));
    let (has_join, query) = (has_join(input), input);
    let input = lower_relation(relations, query, &wanted)?;
    let is_above = || conditions.iter().all(|one| is_above_windows(one, query));
    // The optimizer has moved conditions on a query of groups into it if there is a join.
    if (input.column_may_fail || input.window_may_fail) && !(has_windows(query) && is_above())
        || input.unmerged_column_may_fail && !has_join && !is_above()
    {
        return Err(guarded_column());
    }
    filter(input, &conditions)
}

/// Whether an operator is a row if conditions are true, else none.
pub(super) fn is_gate(operator: &RelationalOperator) -> bool {
    matches!(operator, RelationalOperator::Filter { input, .. }
        if **input == RelationalOperator::SingleRow)
}

/// Whether PostgreSQL decides a condition above the windows of a query, or above its volatile
/// columns: the condition has a volatile column, a result of a window, a column computed above
/// windows, or a column of rows by which not all windows are partitioned.
fn is_above_windows(condition: &ScalarExpression, mut query: &RelationalOperator) -> bool {
    let (mut windows, mut volatile) = (Vec::new(), HashSet::new());
    let mut computed = Vec::new();
    loop {
        query = match query {
            RelationalOperator::Compute { input, columns } if windows.is_empty() => {
                let of_query = columns.iter().filter(|one| one.value.is_volatile());
                volatile.extend(of_query.map(|one| one.column));
                computed.extend(columns.iter().map(|one| one.column));
                input
            }
            RelationalOperator::Filter { input, .. } if windows.is_empty() => input,
            RelationalOperator::Window { input, partition, .. } => {
                windows.push((partition, query.own_columns()));
                input
            }
            _ => break,
        };
    }
    let mut rows = HashSet::new();
    query.collect_made_columns(&mut rows);
    let is_above = |column: &ColumnId| {
        volatile.contains(column)
            || !windows.is_empty() && computed.contains(column)
            || windows.iter().any(|(partition, results)| {
                results.contains(column) || rows.contains(column) && !partition.contains(column)
            })
    };
    condition.any(&|one| matches!(&one.kind, ScalarKind::Column(column) if is_above(column)))
}

/// Whether a query has windows.
fn has_windows(query: &RelationalOperator) -> bool {
    match query {
        RelationalOperator::Compute { input, .. } | RelationalOperator::Filter { input, .. } => {
            has_windows(input)
        }
        other => matches!(other, RelationalOperator::Window { .. }),
    }
}

fn has_join(operator: &RelationalOperator) -> bool {
    matches!(operator, RelationalOperator::Join { .. }) || operator.inputs().any(has_join)
}

/// The error for a computed column that may fail and that PostgreSQL computes for fewer rows.
pub(super) fn guarded_column() -> LoweringError {
    LoweringError::not_supported("columns of queries in FROM that may fail, and conditions on them")
}

/// Takes AND apart, from left to right.
pub(super) fn split_conjuncts<'e>(
    condition: &'e ScalarExpression,
    into: &mut Vec<&'e ScalarExpression>,
) {
    match &condition.kind {
        ScalarKind::And(operands) => {
            operands.iter().for_each(|operand| split_conjuncts(operand, into));
        }
        _ => into.push(condition),
    }
}

/// Leaves the rows for which conditions are true.
///
/// # Errors
/// Those of the conditions.
pub(super) fn filter(
    input: LoweredRelation,
    conditions: &[&ScalarExpression],
) -> LoweringResult<LoweredRelation> {
    if conditions.is_empty() {
        return Ok(input);
    }
    let mut expressions = ExpressionLowering::new(&input.columns).above_groups(input.is_grouped);
    let mut predicates = Vec::with_capacity(conditions.len());
    for run in condition_runs(conditions, true)? {
        if let Some(tests) = expressions.run_of_tests(&run, true)? {
            predicates.extend(tests);
            continue;
        }
        for condition in &conditions[run.range] {
            predicates.push(expressions.condition(condition)?);
        }
    }
    let (graph, may_fail) = (expressions.graph, expressions.may_fail);
    if may_fail && input.unmerged_column_may_fail {
        return Err(guarded_column());
    }
    let row_may_fail = may_fail && rows_may_fail(&input, conditions)?;
    let node = FilterNode { input: input.node, graph, predicates };
    Ok(LoweredRelation {
        node: PlanNode::Filter(Box::new(node)),
        columns: input.columns,
        row_may_fail: input.row_may_fail || row_may_fail,
        is_stepwise: input.is_stepwise,
        column_may_fail: false,
        unmerged_column_may_fail: input.unmerged_column_may_fail,
        window_may_fail: input.window_may_fail,
        may_fail: input.may_fail || may_fail,
        is_grouped: input.is_grouped,
        gives_unmerged_rows: input.gives_unmerged_rows,
    })
}

/// Whether expressions that may fail do so for a row that a LIMIT above would have left out. What
/// is computed once fails with the first row.
fn rows_may_fail(
    input: &LoweredRelation,
    expressions: &[&ScalarExpression],
) -> LoweringResult<bool> {
    if !expressions.iter().any(|one| has_once(one))
        || expressions.iter().any(|one| guards_once(one))
    {
        return Ok(true);
    }
    let lowering = ExpressionLowering::new(&input.columns).above_groups(input.is_grouped);
    let mut lowering = lowering.allowing_once();
    for expression in expressions {
        lowering.lower_column(expression)?;
    }
    Ok(lowering.may_fail)
}

/// Returns the computed columns that are needed, and the columns that they and `needed` are of.
pub(super) fn computed_columns<'c>(
    columns: &'c [ComputedColumn],
    needed: &[ColumnId],
) -> (Vec<&'c ComputedColumn>, Vec<ColumnId>) {
    let kept: Vec<_> = columns.iter().filter(|one| needed.contains(&one.column)).collect();
    let is_computed = |column: &&ColumnId| columns.iter().any(|one| one.column == **column);
    let mut wanted: Vec<_> = needed.iter().filter(|column| !is_computed(column)).copied().collect();
    kept.iter().for_each(|one| collect_columns(&one.value, &mut wanted));
    (kept, wanted)
}

/// Appends columns. Those of groups and windows raise their errors here: PostgreSQL computes the
/// columns of a query with either, which it does not merge into the outer one. It does not merge
/// those with a volatile column, either.
pub(super) fn compute(
    input: LoweredRelation,
    computed: &[&ComputedColumn],
) -> LoweringResult<LoweredRelation> {
    if computed.is_empty() {
        return Ok(input);
    }
    if input.column_may_fail
        && computed.iter().any(|one| one.value.any(&ScalarExpression::is_guard))
    {
        return Err(guarded_column());
    }
    let is_unmerged = input.gives_unmerged_rows;
    let is_merged = !is_unmerged && !computed.iter().any(|one| one.value.is_volatile());
    let mut expressions = ExpressionLowering::new(&input.columns).above_groups(input.is_grouped);
    let (mut outputs, mut columns) = pass_through(&mut expressions, &input.columns)?;
    for ComputedColumn { column, value } in computed {
        let mut lowered = expressions.lower_column(value)?;
        if is_unmerged {
            lowered = expressions.checked(lowered)?;
        }
        outputs.push(lowered.id);
        columns.add(*column, ColumnPlace { index: outputs.len() - 1, form: lowered.form });
    }
    let (graph, may_fail) = (expressions.graph, expressions.may_fail);
    let values: Vec<_> = computed.iter().map(|one| &one.value).collect();
    let row_may_fail = may_fail && rows_may_fail(&input, &values)?;
    let node = MapNode { input: input.node, graph, outputs };
    Ok(LoweredRelation {
        node: PlanNode::Map(Box::new(node)),
        columns,
        row_may_fail: input.row_may_fail || row_may_fail,
        is_stepwise: input.is_stepwise,
        column_may_fail: input.column_may_fail || may_fail && is_merged,
        unmerged_column_may_fail: input.unmerged_column_may_fail || may_fail && !is_merged,
        window_may_fail: input.window_may_fail,
        may_fail: input.may_fail || may_fail,
        is_grouped: input.is_grouped,
        gives_unmerged_rows: false,
    })
}

/// Returns the outputs that hand on columns, and their places there.
pub(super) fn pass_through(
    expressions: &mut ExpressionLowering<'_>,
    input: &ColumnPlaces,
) -> LoweringResult<(Vec<ExpressionId>, ColumnPlaces)> {
    let (mut outputs, mut columns) = (Vec::new(), ColumnPlaces::default());
    for (column, ColumnPlace { index, form }) in input.iter() {
        let index = pass(expressions, &mut outputs, *index, form.class())?;
        columns.add(*column, ColumnPlace { index, form: *form });
    }
    for value in input.rounded() {
        let mut number = |index| pass(expressions, &mut outputs, index, ValueClass::Int);
        let (floor, ceiling) = (number(value.floor)?, number(value.ceiling)?);
        columns.add_rounded(RoundedValue { floor, ceiling, ..value.clone() });
    }
    Ok((outputs, columns))
}

/// Has a column of the input among the outputs; returns its place there.
fn pass(
    expressions: &mut ExpressionLowering<'_>,
    outputs: &mut Vec<ExpressionId>,
    index: usize,
    class: ValueClass,
) -> LoweringResult<usize> {
    let id = expressions.graph.column(index, class)?;
    let known = outputs.iter().position(|own| *own == id);
    Ok(known.unwrap_or_else(|| {
        outputs.push(id);
        outputs.len() - 1
    }))
}

/// Has the input hand on the keys of numerics of any scale, and raises the errors that values of
/// columns stand for. Returns the places of all keys.
fn ordered_keys(
    input: LoweredRelation,
    keys: &[ColumnId],
) -> LoweringResult<(LoweredRelation, Vec<usize>)> {
    let mut indexes = Vec::with_capacity(keys.len());
    for key in keys {
        indexes.push(input.columns.get(*key)?);
    }
    if input.columns.iter().all(|(_, place)| !place.form.has_key_node()) {
        return Ok((input, indexes.into_iter().map(|place| place.index).collect()));
    }
    let mut expressions = ExpressionLowering::new(&input.columns);
    let (mut outputs, mut columns) = (Vec::new(), ColumnPlaces::default());
    for (column, ColumnPlace { index, form }) in input.columns.iter() {
        let mut id = expressions.graph.column(*index, form.class())?;
        let mut form = *form;
        if form.may_fail() {
            id = checked_node(&mut expressions.graph, id)?;
            form = ValueForm::Exact { may_fail: false };
        }
        outputs.push(id);
        columns.add(*column, ColumnPlace { index: outputs.len() - 1, form });
    }
    let mut places = Vec::with_capacity(keys.len());
    for (key, ColumnPlace { index, form }) in keys.iter().zip(indexes) {
        places.push(match form {
            form if form.has_key_node() => {
                let value = expressions.graph.column(index, form.class())?;
                outputs.push(form_key_node(&mut expressions.graph, value, form)?);
                outputs.len() - 1
            }
            _ => columns.get(*key)?.index,
        });
    }
    let may_fail = input.may_fail || input.columns.iter().any(|(_, place)| place.form.may_fail());
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: input.node, graph, outputs }));
    Ok((LoweredRelation { node, columns, may_fail, gives_unmerged_rows: false, ..input }, places))
}

fn sort(input: LoweredRelation, keys: &[BoundSortKey]) -> LoweringResult<LoweredRelation> {
    let mut sorted_columns = Vec::with_capacity(keys.len());
    for key in keys {
        let ScalarKind::Column(column) = key.value.kind else {
            return Err(LoweringError::contradiction("a sort by what is no column"));
        };
        sorted_columns.push(column);
    }
    let (input, indexes) = ordered_keys(input, &sorted_columns)?;
    let mut sort_keys: Vec<SortKey> = Vec::with_capacity(keys.len());
    for (BoundSortKey { is_descending, nulls_first, .. }, index) in keys.iter().zip(indexes) {
        // Equal in the first one, rows are equal in a second one, too.
        if sort_keys.iter().all(|key| key.column != index) {
            let (is_descending, is_nulls_first) = (*is_descending, *nulls_first);
            sort_keys.push(SortKey { column: index, is_descending, is_nulls_first });
        }
    }
    let node = SortNode { input: input.node, keys: sort_keys, rows_max: None };
    // With an order it is a query of its own in PostgreSQL, which computes all columns.
    Ok(LoweredRelation {
        may_fail: input.may_fail,
        is_grouped: input.is_grouped,
        ..LoweredRelation::infallible(PlanNode::Sort(Box::new(node)), input.columns)
    })
}
