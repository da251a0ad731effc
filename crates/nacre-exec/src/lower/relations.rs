//! From relational operators to the nodes of a plan.
//!
//! An operator is lowered with the columns that those above it need, so that a scan reads no other.

use std::collections::HashSet;

use nacre_column::CompareOp;
use nacre_plan::algebra::{
    BoundSortKey, ColumnId, ComputedColumn, RelationalOperator, ScalarExpression, ScalarKind,
    ScannedColumn,
};
use nacre_plan::definition::RelationDefinition;
use nacre_types::SqlValue;

use super::aggregates::lower_aggregate;
use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::expressions::ExpressionLowering;
use super::fold::fold_constant;
use super::form::ValueForm;
use super::joins::lower_join;
use super::operators::{OperatorMeaning, operator_meaning};
use super::predicates::scan_predicates;
use super::stored::StoredRelations;
use super::windows::lower_windows;
use crate::expression::ExpressionId;
use crate::plan::{FilterNode, LimitNode, MapNode, PlanNode, ScanNode, SortKey, SortNode};
use crate::value::ValueClass;

/// What LIMIT and OFFSET say.
#[derive(Clone, Copy)]
struct RowRange {
    offset: u64,
    rows_max: Option<u64>,
}

/// Lowers an operator, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::NotSupported`] for what the executor has not with the same meaning.
pub(super) fn lower_relation(
    relations: &dyn StoredRelations,
    operator: &RelationalOperator,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    match operator {
        RelationalOperator::SingleRow => {
            Err(LoweringError::not_supported("queries without a table"))
        }
        RelationalOperator::Scan { relation, columns } => {
            lower_scan(relations, relation, columns, needed, None)
        }
        RelationalOperator::Join { variant, left, right, condition } => {
            let sides = lower_sides(relations, [left, right], condition.as_ref(), needed)?;
            lower_join(*variant, sides, condition.as_ref())
        }
        RelationalOperator::Filter { input, condition } => {
            if let RelationalOperator::Scan { relation, columns } = &**input {
                return lower_scan(relations, relation, columns, needed, Some(condition));
            }
            let mut wanted = needed.to_vec();
            collect_columns(condition, &mut wanted);
            let mut conditions = Vec::new();
            split_conjuncts(condition, &mut conditions);
            let has_join = has_join(input);
            let input = lower_relation(relations, input, &wanted)?;
            if input.column_may_fail {
                return Err(guarded_column());
            }
            if has_join {
                conditions.iter().try_for_each(|one| require_early(one, &input.columns))?;
            }
            filter(input, &conditions)
        }
        RelationalOperator::Compute { input, columns } => {
            let (computed, wanted) = computed_columns(columns, needed);
            compute(lower_relation(relations, input, &wanted)?, &computed)
        }
        RelationalOperator::Aggregate { input, keys, aggregates, is_scalar } => {
            if keys.is_empty() != *is_scalar {
                return Err(LoweringError::not_supported("DISTINCT of no columns"));
            }
            let mut wanted: Vec<ColumnId> = Vec::with_capacity(keys.len());
            for key in keys {
                // DISTINCT may name a column twice.
                if !wanted.contains(key) {
                    wanted.push(*key);
                }
            }
            for aggregate in aggregates {
                let call = &aggregate.call;
                let own = call.arguments.iter().chain(&call.filter);
                own.for_each(|expression| collect_columns(expression, &mut wanted));
            }
            let input = lower_relation(relations, input, &wanted)?;
            lower_aggregate(input, keys, aggregates)
        }
        RelationalOperator::Window { .. } => lower_windows(relations, operator, needed),
        RelationalOperator::Sort { input, keys } => {
            let mut wanted = needed.to_vec();
            keys.iter().for_each(|key| collect_columns(&key.value, &mut wanted));
            sort(lower_relation(relations, input, &wanted)?, keys)
        }
        RelationalOperator::Limit { input, count, offset } => {
            let rows_max = row_count(count.as_ref())?;
            let offset = row_count(offset.as_ref())?.unwrap_or(0);
            lower_limit(relations, input, needed, RowRange { offset, rows_max })
        }
    }
}

/// Lowers both sides of a join, of whose columns those of the condition are wanted, too.
fn lower_sides(
    relations: &dyn StoredRelations,
    sides: [&RelationalOperator; 2],
    condition: Option<&ScalarExpression>,
    needed: &[ColumnId],
) -> LoweringResult<[LoweredRelation; 2]> {
    let mut wanted = needed.to_vec();
    condition.into_iter().for_each(|condition| collect_columns(condition, &mut wanted));
    let of_side = |side: &RelationalOperator| {
        let mut all = HashSet::new();
        collect_outputs(side, &mut all);
        let own = wanted.iter().copied().filter(|column| all.contains(column));
        lower_relation(relations, side, &own.collect::<Vec<_>>())
    };
    let [left, right] = sides;
    Ok([of_side(left)?, of_side(right)?])
}

/// Reads the columns that are needed, and decides what a scan can of a condition.
fn lower_scan(
    relations: &dyn StoredRelations,
    relation: &RelationDefinition,
    scanned: &[ScannedColumn],
    needed: &[ColumnId],
    condition: Option<&ScalarExpression>,
) -> LoweringResult<LoweredRelation> {
    let name = &relation.name;
    let stored = relations.stored_relation(relation.id).ok_or_else(|| {
        LoweringError::not_supported(format!("relation {name}, which is no table"))
    })?;
    let schema = stored.snapshot.table().schema();
    // Places in the table, of the columns that are stored as their type says.
    let mut places = ColumnPlaces::default();
    for ScannedColumn { position, column } in scanned {
        let definition = relation.columns.get(*position);
        let index = stored.columns.get(*position).copied();
        let own = index.and_then(|index| schema.columns.get(index));
        let (Some(definition), Some(index), Some(own)) = (definition, index, own) else {
            return Err(LoweringError::contradiction(format!("{name} has no column {position}")));
        };
        match ValueForm::of_column(own.column_type, definition.sql_type) {
            Some(form) => places.add(*column, ColumnPlace::Plain { index, form }),
            None if needed.contains(column) => {
                let sql_type = definition.sql_type;
                let what = format!("columns of type {sql_type} that are {}", own.column_type);
                return Err(LoweringError::not_supported(what));
            }
            None => {}
        }
    }
    let (mut predicates, mut conditions, mut wanted) = (Vec::new(), Vec::new(), needed.to_vec());
    let mut conjuncts = Vec::new();
    condition.into_iter().for_each(|condition| split_conjuncts(condition, &mut conjuncts));
    for conjunct in conjuncts {
        match scan_predicates(conjunct, &places)? {
            Some(restrictions) => predicates.extend(restrictions),
            None => {
                collect_columns(conjunct, &mut wanted);
                conditions.push(conjunct);
            }
        }
    }
    let (mut indexes, mut columns) = (Vec::new(), ColumnPlaces::default());
    for column in wanted {
        let Ok((index, form)) = places.plain(column) else {
            return Err(LoweringError::not_supported(format!("this type of a column of {name}")));
        };
        columns.add(column, ColumnPlace::Plain { index: indexes.len(), form });
        indexes.push(index);
    }
    let scan = ScanNode { snapshot: stored.snapshot, columns: indexes, predicates };
    let node = PlanNode::Scan(scan);
    let (row_may_fail, column_may_fail, may_fail) = (false, false, false);
    let scanned = LoweredRelation { node, columns, row_may_fail, column_may_fail, may_fail };
    filter(scanned, &conditions)
}

/// Adds the columns that an operator hands on.
fn collect_outputs(operator: &RelationalOperator, into: &mut HashSet<ColumnId>) {
    into.extend(operator.own_columns());
    match operator {
        RelationalOperator::Aggregate { keys, .. } => into.extend(keys),
        _ => operator.inputs().into_iter().for_each(|input| collect_outputs(input, into)),
    }
}

fn has_join(operator: &RelationalOperator) -> bool {
    matches!(operator, RelationalOperator::Join { .. })
        || operator.inputs().into_iter().any(has_join)
}

/// Refuses conditions above or of a join that would be decided only for each pair of rows: constant
/// ones, and equalities of values that may fail, which are no keys.
pub(super) fn require_early(
    condition: &ScalarExpression,
    columns: &ColumnPlaces,
) -> LoweringResult<()> {
    let mut own = Vec::new();
    collect_columns(condition, &mut own);
    if own.is_empty() {
        return Err(LoweringError::not_supported("conditions without columns over joins"));
    }
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return Ok(()) };
    if operator_meaning(operator.oid) != Some(OperatorMeaning::Compare(CompareOp::Eq)) {
        return Ok(());
    }
    let mut expressions = ExpressionLowering::new(columns);
    for operand in operands {
        let mut own = Vec::new();
        collect_columns(operand, &mut own);
        if own.is_empty() {
            return Ok(());
        }
        expressions.lower(operand)?;
    }
    if expressions.may_fail {
        return Err(LoweringError::not_supported("joins on expressions that may fail"));
    }
    Ok(())
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

fn filter(
    input: LoweredRelation,
    conditions: &[&ScalarExpression],
) -> LoweringResult<LoweredRelation> {
    if conditions.is_empty() {
        return Ok(input);
    }
    let mut expressions = ExpressionLowering::new(&input.columns);
    let mut predicates = Vec::with_capacity(conditions.len());
    for condition in conditions {
        predicates.push(expressions.condition(condition)?);
    }
    let (graph, may_fail) = (expressions.graph, expressions.may_fail);
    let node = FilterNode { input: input.node, graph, predicates };
    Ok(LoweredRelation {
        node: PlanNode::Filter(Box::new(node)),
        columns: input.columns,
        row_may_fail: input.row_may_fail || may_fail,
        column_may_fail: false,
        may_fail: input.may_fail || may_fail,
    })
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

/// Appends columns.
pub(super) fn compute(
    input: LoweredRelation,
    computed: &[&ComputedColumn],
) -> LoweringResult<LoweredRelation> {
    if computed.is_empty() {
        return Ok(input);
    }
    if input.column_may_fail && computed.iter().any(|one| one.value.any(&is_guard)) {
        return Err(guarded_column());
    }
    let mut expressions = ExpressionLowering::new(&input.columns);
    let (mut outputs, mut columns) = pass_through(&mut expressions, &input.columns)?;
    for ComputedColumn { column, value } in computed {
        let lowered = expressions.lower(value)?;
        columns.add(*column, ColumnPlace::Plain { index: outputs.len(), form: lowered.form });
        outputs.push(lowered.id);
    }
    let (graph, may_fail) = (expressions.graph, expressions.may_fail);
    let node = MapNode { input: input.node, graph, outputs };
    Ok(LoweredRelation {
        node: PlanNode::Map(Box::new(node)),
        columns,
        row_may_fail: input.row_may_fail || may_fail,
        column_may_fail: input.column_may_fail || may_fail,
        may_fail: input.may_fail || may_fail,
    })
}

/// Whether an expression computes parts of it for some rows only.
pub(super) fn is_guard(expression: &ScalarExpression) -> bool {
    matches!(
        expression.kind,
        ScalarKind::Case { .. }
            | ScalarKind::Coalesce(_)
            | ScalarKind::And(_)
            | ScalarKind::Or(_)
            | ScalarKind::NullIf { .. }
            | ScalarKind::Quantified { .. }
    )
}

/// Returns the outputs that hand on columns, and their places there.
pub(super) fn pass_through(
    expressions: &mut ExpressionLowering<'_>,
    input: &ColumnPlaces,
) -> LoweringResult<(Vec<ExpressionId>, ColumnPlaces)> {
    let (mut outputs, mut columns) = (Vec::new(), ColumnPlaces::default());
    for (column, place) in input.iter() {
        let index = outputs.len();
        let place = match place {
            ColumnPlace::Plain { index: own, form } => {
                outputs.push(expressions.graph.column(own, form.class())?);
                ColumnPlace::Plain { index, form }
            }
            ColumnPlace::Average { sum, count, scale } => {
                outputs.push(expressions.graph.column(sum, ValueClass::Int)?);
                outputs.push(expressions.graph.column(count, ValueClass::Int)?);
                ColumnPlace::Average { sum: index, count: index + 1, scale }
            }
        };
        columns.add(column, place);
    }
    Ok((outputs, columns))
}

fn sort(input: LoweredRelation, keys: &[BoundSortKey]) -> LoweringResult<LoweredRelation> {
    let mut sort_keys: Vec<SortKey> = Vec::with_capacity(keys.len());
    for BoundSortKey { value, is_descending, nulls_first } in keys {
        let ScalarKind::Column(column) = value.kind else {
            return Err(LoweringError::contradiction("a sort by what is no column"));
        };
        let (index, _) = input.columns.plain(column)?;
        // Equal in the first one, rows are equal in a second one, too.
        if sort_keys.iter().all(|key| key.column != index) {
            let (is_descending, is_nulls_first) = (*is_descending, *nulls_first);
            sort_keys.push(SortKey { column: index, is_descending, is_nulls_first });
        }
    }
    let node = SortNode { input: input.node, keys: sort_keys, rows_max: None };
    Ok(LoweredRelation {
        node: PlanNode::Sort(Box::new(node)),
        columns: input.columns,
        row_may_fail: false,
        // With an order it is a query of its own in PostgreSQL.
        column_may_fail: false,
        may_fail: input.may_fail,
    })
}

/// Lowers LIMIT above `operator`. PostgreSQL computes no more rows than it hands out, the executor
/// whole vectors: what may fail is computed above the LIMIT, or refused.
fn lower_limit(
    relations: &dyn StoredRelations,
    operator: &RelationalOperator,
    needed: &[ColumnId],
    rows: RowRange,
) -> LoweringResult<LoweredRelation> {
    let unknown = || LoweringError::not_supported("LIMIT over expressions that may fail");
    if rows.rows_max == Some(0) && has_join(operator) {
        return Err(LoweringError::not_supported("LIMIT 0 over joins"));
    }
    let input = lower_relation(relations, operator, needed)?;
    if rows.rows_max == Some(0) && input.may_fail {
        return Err(unknown());
    }
    if rows.rows_max.is_none() || !input.row_may_fail {
        return Ok(limit(input, rows));
    }
    // Rows before the offset are computed in PostgreSQL.
    let (0, RelationalOperator::Compute { input, columns }) = (rows.offset, operator) else {
        return Err(unknown());
    };
    let (computed, wanted) = computed_columns(columns, needed);
    let below = lower_relation(relations, input, &wanted)?;
    if below.row_may_fail {
        return Err(unknown());
    }
    compute(limit(below, rows), &computed)
}

fn limit(mut input: LoweredRelation, rows: RowRange) -> LoweredRelation {
    let RowRange { offset, rows_max } = rows;
    if let (PlanNode::Sort(sort), Some(count)) = (&mut input.node, rows_max) {
        sort.rows_max = offset.checked_add(count);
    }
    let node = LimitNode { input: input.node, offset, rows_max };
    LoweredRelation { node: PlanNode::Limit(Box::new(node)), ..input }
}

/// Returns the number of LIMIT or OFFSET; `None` without one, or for a null.
fn row_count(expression: Option<&ScalarExpression>) -> LoweringResult<Option<u64>> {
    let Some(expression) = expression else { return Ok(None) };
    match fold_constant(expression)? {
        Some(SqlValue::Null) => Ok(None),
        Some(SqlValue::BigInt(count)) => match u64::try_from(count) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(LoweringError::not_supported("a negative LIMIT or OFFSET")),
        },
        _ => Err(LoweringError::not_supported("a LIMIT or OFFSET that is no constant")),
    }
}
