//! UNION ALL, INTERSECT and EXCEPT.
//!
//! The rows of all inputs are appended. For INTERSECT and EXCEPT two columns say which input a row
//! is of; rows are grouped by all others, and the counts of both sides say which groups are left:
//!
//! ```text
//! a intersect b        Filter [left > 0, right > 0] <- Aggregate [count left, count right]
//! a except b           Filter [left > 0, right = 0] <- ..
//! a intersect all b    Repeat [copies] <- Map [least of left and right] <- ..
//! a except all b       Repeat [copies] <- Map [left - right] <- ..
//! ```

use nacre_column::CompareOp;
use nacre_plan::algebra::{ColumnId, RelationalOperator, SetInput, SetVariant};
use nacre_types::SqlValue;

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::constant_rows::common_form;
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::{decimal_node, form_key_node, packed_node};
use super::fold::fold_constant;
use super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use super::relations::lower_relation;
use super::stored::StoredRelations;
use crate::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
use crate::plan::{
    AggregateCall, AggregateFunction, AggregateNode, AppendNode, FilterNode, MapNode, PlanNode,
    RepeatNode,
};
use crate::value::{IntLimit, ScalarValue, ValueClass};

/// An input with the places of the columns that are wanted of it.
struct LoweredInput {
    relation: LoweredRelation,
    places: Vec<InputColumn>,
}

/// A column of an input.
#[derive(Clone, Copy)]
struct InputColumn {
    index: usize,
    form: ValueForm,
    /// Whether it is null in all rows, so that it has any form of its class.
    is_null: bool,
}

/// Lowers a set operation, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::NotSupported`] for columns whose values have no common form.
pub(super) fn lower_set_operation(
    relations: &dyn StoredRelations,
    variant: SetVariant,
    (columns, inputs): (&[ColumnId], &[SetInput]),
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let is_wanted = |column: &ColumnId| variant != SetVariant::UnionAll || needed.contains(column);
    let wanted: Vec<usize> = (0..columns.len()).filter(|at| is_wanted(&columns[*at])).collect();
    let mut lowered = Vec::with_capacity(inputs.len());
    for input in inputs {
        lowered.push(lower_input(relations, input, &wanted)?);
    }
    let columns: Vec<ColumnId> = wanted.iter().map(|at| columns[*at]).collect();
    let is_any =
        |is_so: fn(&LoweredRelation) -> bool| lowered.iter().any(|one| is_so(&one.relation));
    // Rows of an input come before those of the next, that may not be asked for.
    let is_later = lowered.len() > 1 && is_any(|one| one.may_fail);
    let (row_may_fail, column_may_fail, may_fail) = (
        is_later || is_any(|one| one.row_may_fail),
        is_any(|one| one.column_may_fail || one.unmerged_column_may_fail || one.window_may_fail),
        is_any(|one| one.may_fail),
    );
    let is_stepwise = !is_any(|one| one.row_may_fail && !one.is_stepwise);
    if variant == SetVariant::UnionAll {
        let (node, columns) = append(lowered, &columns)?;
        let appended = LoweredRelation::infallible(node, columns);
        return Ok(LoweredRelation {
            row_may_fail,
            is_stepwise,
            column_may_fail,
            may_fail,
            ..appended
        });
    }
    let has_errors = lowered.iter().flat_map(|one| &one.places).any(|one| one.form.may_fail());
    let may_fail = may_fail || has_errors;
    let (node, columns) = compare(variant, lowered, &columns)?;
    let compared = LoweredRelation::infallible(node, columns);
    Ok(LoweredRelation { column_may_fail, may_fail, ..compared })
}

fn lower_input(
    relations: &dyn StoredRelations,
    input: &SetInput,
    wanted: &[usize],
) -> LoweringResult<LoweredInput> {
    let (mut own, mut needed) = (Vec::with_capacity(wanted.len()), Vec::new());
    for at in wanted {
        let column = *input.columns.get(*at).ok_or_else(|| {
            LoweringError::contradiction(format!("an input of a set operation has no column {at}"))
        })?;
        own.push(column);
        if !needed.contains(&column) {
            needed.push(column);
        }
    }
    let relation = lower_relation(relations, &input.operator, &needed)?;
    let mut places = Vec::with_capacity(own.len());
    for column in own {
        let ColumnPlace { index, form } = relation.columns.get(column)?;
        let is_null = is_null_column(&input.operator, column)?;
        places.push(InputColumn { index, form, is_null });
    }
    Ok(LoweredInput { relation, places })
}

/// Whether a column is null in all rows, as one that is computed by NULL.
fn is_null_column(operator: &RelationalOperator, column: ColumnId) -> LoweringResult<bool> {
    let is_null = |value| Ok(matches!(fold_constant(value)?, Some(SqlValue::Null)));
    match operator {
        RelationalOperator::Compute { input, columns } => {
            match columns.iter().find(|one| one.column == column) {
                Some(one) => is_null(&one.value),
                None => is_null_column(input, column),
            }
        }
        RelationalOperator::Filter { input, .. }
        | RelationalOperator::Sort { input, .. }
        | RelationalOperator::Limit { input, .. } => is_null_column(input, column),
        RelationalOperator::Values { columns, rows } => {
            let position = columns.iter().position(|own| *own == column);
            for value in rows.iter().filter_map(|row| row.get(position?)) {
                if !is_null(value)? {
                    return Ok(false);
                }
            }
            Ok(position.is_some())
        }
        RelationalOperator::Aggregate { input, keys, .. } if keys.contains(&column) => {
            is_null_column(input, column)
        }
        RelationalOperator::SetOperation { columns, inputs, .. } => {
            let position = columns.iter().position(|own| *own == column);
            for input in inputs {
                let own = position.and_then(|position| input.columns.get(position));
                match own {
                    Some(own) if is_null_column(&input.operator, *own)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(position.is_some())
        }
        _ => Ok(false),
    }
}

/// Puts the rows of all inputs one above the other.
fn append(
    inputs: Vec<LoweredInput>,
    columns: &[ColumnId],
) -> LoweringResult<(PlanNode, ColumnPlaces)> {
    let mut places = ColumnPlaces::default();
    let mut forms = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let own: Vec<InputColumn> = inputs.iter().map(|input| input.places[index]).collect();
        forms.push(form_of_all(&own)?);
        places.add(*column, ColumnPlace { index, form: forms[index] });
    }
    let mut nodes = Vec::with_capacity(inputs.len());
    for LoweredInput { relation, places } in inputs {
        let (mut graph, mut outputs) = (ExpressionGraph::default(), Vec::new());
        for (column, form) in places.into_iter().zip(&forms) {
            outputs.push(in_form(&mut graph, column, *form)?);
        }
        nodes.push(map(relation.node, graph, outputs));
    }
    Ok((PlanNode::Append(AppendNode { inputs: nodes }), places))
}

/// Adds the values of a column of an input, in the form that all inputs have.
fn in_form(
    graph: &mut ExpressionGraph,
    column: InputColumn,
    form: ValueForm,
) -> LoweringResult<ExpressionId> {
    let value = graph.column(column.index, column.form.class())?;
    match (column.form, form) {
        (_, ValueForm::Exact { .. } | ValueForm::Packed { .. }) if column.is_null => {
            let null = ScalarValue::Null(ValueClass::Bytes);
            Ok(graph.add(ExpressionNode::Constant(null))?)
        }
        (ValueForm::Numeric { scale, .. }, ValueForm::Exact { .. }) => {
            decimal_node(graph, value, scale, None)
        }
        (own, ValueForm::Packed { .. }) => packed_node(graph, value, own),
        _ => Ok(value),
    }
}

/// Returns the form of a column that has the values of a column of each input.
fn form_of_all(inputs: &[InputColumn]) -> LoweringResult<ValueForm> {
    let mut common = None;
    for column in inputs.iter().filter(|one| !one.is_null) {
        common = Some(common_form(common, column.form)?);
    }
    let first = inputs.first().map(|first| first.form);
    common.or(first).ok_or_else(|| LoweringError::contradiction("a set operation of nothing"))
}

/// Groups equal rows of both inputs, and keeps or repeats groups by their counts. Of equal numerics
/// of any scale the one of the left side is shown that has the least.
fn compare(
    variant: SetVariant,
    inputs: Vec<LoweredInput>,
    columns: &[ColumnId],
) -> LoweringResult<(PlanNode, ColumnPlaces)> {
    let Ok([left, right]) = <[LoweredInput; 2]>::try_from(inputs) else {
        return Err(LoweringError::contradiction("a set operation without two sides"));
    };
    let is_except = matches!(variant, SetVariant::Except | SetVariant::ExceptAll);
    let width = columns.len();
    let count = |filter| AggregateCall {
        filter: Some(filter),
        ..AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT)
    };
    let mut aggregates = vec![count(width), count(width + 1)];
    let (mut places, mut forms) = (ColumnPlaces::default(), Vec::with_capacity(width));
    for (key, column) in columns.iter().enumerate() {
        let form = compared_form(left.places[key], right.places[key], is_except)?;
        forms.push(form);
        let mut index = key;
        if form.has_key_node() {
            index = width + aggregates.len();
            let (function, limit) = (AggregateFunction::Min, IntLimit::NUMERIC);
            let shown = AggregateCall::new(function, Some(index), limit);
            aggregates.push(AggregateCall { filter: Some(width), ..shown });
        }
        let form = match form {
            ValueForm::Exact { .. } => ValueForm::Exact { may_fail: false },
            form => form,
        };
        places.add(*column, ColumnPlace { index, form });
    }
    let inputs = vec![side(left, &forms, true)?, side(right, &forms, false)?];
    let groups = PlanNode::Aggregate(Box::new(AggregateNode {
        dependents: Vec::new(),
        input: PlanNode::Append(AppendNode { inputs }),
        keys: (0..width).collect(),
        aggregates,
    }));
    let mut graph = ExpressionGraph::default();
    let left = graph.column(width, ValueClass::Int)?;
    let right = graph.column(width + 1, ValueClass::Int)?;
    if let SetVariant::Intersect | SetVariant::Except = variant {
        let zero = graph.int(0)?;
        let op = if is_except { CompareOp::Eq } else { CompareOp::Gt };
        let has_left = graph.compare(CompareOp::Gt, left, zero)?;
        let predicates = vec![has_left, graph.compare(op, right, zero)?];
        let node = FilterNode { input: groups, graph, predicates };
        return Ok((PlanNode::Filter(Box::new(node)), places));
    }
    let copies = if is_except {
        graph.arithmetic(ArithmeticOp::Subtract, left, right, IntLimit::BIGINT)?
    } else {
        let condition = graph.compare(CompareOp::Lt, left, right)?;
        graph.add(ExpressionNode::Case { condition, then: left, otherwise: right })?
    };
    let (mut outputs, mut repeated) = (Vec::with_capacity(width + 1), ColumnPlaces::default());
    for (column, ColumnPlace { index, form }) in places.iter() {
        repeated.add(*column, ColumnPlace { index: outputs.len(), form: *form });
        outputs.push(graph.column(*index, form.class())?);
    }
    outputs.push(copies);
    let input = map(groups, graph, outputs);
    Ok((PlanNode::Repeat(Box::new(RepeatNode { input, count: width })), repeated))
}

/// Returns the form in which values of both sides are compared and handed on. Those of EXCEPT are
/// of the left side, so that numerics of the right one may get more digits.
fn compared_form(
    left: InputColumn,
    right: InputColumn,
    is_except: bool,
) -> LoweringResult<ValueForm> {
    let (own, other) = (left.form, right.form);
    match (own, other) {
        _ if right.is_null => Ok(own),
        _ if left.is_null => Ok(other),
        (
            ValueForm::Numeric { scale, digits },
            ValueForm::Numeric { scale: other_scale, digits: other_digits },
        ) if is_except
            && other_scale < scale
            && other_digits + (scale - other_scale) <= DECIMAL_DIGITS_MAX =>
        {
            Ok(ValueForm::Numeric { scale, digits })
        }
        _ => common_form(Some(own), other),
    }
}

/// Has a side hand on its columns in these forms, whether it is the left and the right one, and
/// numerics of any scale as they are shown.
fn side(input: LoweredInput, forms: &[ValueForm], is_left: bool) -> LoweringResult<PlanNode> {
    let LoweredInput { relation, places } = input;
    let (mut graph, mut outputs, mut shown) = (ExpressionGraph::default(), Vec::new(), Vec::new());
    for (column, form) in places.iter().zip(forms) {
        let value = in_form(&mut graph, *column, *form)?;
        let more = match (column.form, form) {
            (ValueForm::Numeric { scale: own, .. }, ValueForm::Numeric { scale, .. }) => {
                scale.saturating_sub(own)
            }
            _ => 0,
        };
        outputs.push(if form.has_key_node() {
            shown.push(value);
            form_key_node(&mut graph, value, *form)?
        } else if more == 0 || column.is_null {
            value
        } else {
            // Scales are at most 38, and the digits fit.
            let (digits, limit) = (more as i8, IntLimit::NUMERIC);
            graph.add(ExpressionNode::Rescale { input: value, digits, limit })?
        });
    }
    for is_of_side in [is_left, !is_left] {
        outputs.push(graph.add(ExpressionNode::Constant(ScalarValue::Bool(is_of_side)))?);
    }
    outputs.extend(shown);
    Ok(map(relation.node, graph, outputs))
}

fn map(input: PlanNode, graph: ExpressionGraph, outputs: Vec<ExpressionId>) -> PlanNode {
    PlanNode::Map(Box::new(MapNode { input, graph, outputs }))
}
