//! WITH RECURSIVE: both sides hand on columns of one form, which follows from the type alone, since
//! the rows of one run are those that the next one reads.

use nacre_plan::algebra::{ColumnId, CommonQuery, RecursiveTerm};
use nacre_types::{SqlType, TypeKind};

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::common::{CommonRelation, CommonRelations};
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::{checked_node, decimal_node};
use super::expressions::ExpressionLowering;
use super::form::ValueForm;
use super::kept::with_kept_parts;
use super::relations::lower_relation;
use crate::plan::{MapNode, PlanNode, RecursionColumn, RecursionNode};
use crate::value::IntBounds;

/// Lowers a recursion, whose node is the one at `place`, and adds it to the relations.
///
/// # Errors
/// Those of its sides; [`LoweringError::NotSupported`] for types without a form.
pub(super) fn lower_recursion(
    relations: &mut CommonRelations<'_>,
    common: &CommonQuery,
    term: &RecursiveTerm,
    place: usize,
) -> LoweringResult<PlanNode> {
    let forms =
        common.types.iter().map(|own| form_of_type(*own)).collect::<LoweringResult<Vec<_>>>()?;
    let first = lower_relation(relations, &common.root, &without_repeated(&common.outputs))?;
    let first = in_forms(first, &common.outputs, &forms)?;
    // One column of a side may come twice; the recursion has its own.
    relations.common.push(Some(own_rows(&common.name, place, &forms)));
    let step = lower_relation(relations, &term.root, &without_repeated(&term.outputs))?;
    let step = in_forms(step, &term.outputs, &forms)?;
    let is_row_by_row = is_row_by_row(&step.node, place);
    if let Some(Some(own)) = relations.common.last_mut() {
        own.is_of_run = false;
        own.row_may_fail = first.may_fail || step.may_fail && !is_row_by_row;
        own.may_fail = first.may_fail || step.may_fail;
    }
    let columns = columns_of(&common.types, &forms);
    Ok(PlanNode::Recursion(Box::new(RecursionNode {
        first: first.node,
        step: with_kept_parts(step.node),
        columns,
        is_distinct: term.is_distinct,
        is_row_by_row,
    })))
}

/// Makes the relation of rows that a query is given, in columns of its own: those of a recursion
/// before, or arguments.
pub(super) fn own_rows(name: &str, place: usize, forms: &[ValueForm]) -> CommonRelation {
    let outputs: Vec<ColumnId> = (0..forms.len() as u32).map(ColumnId).collect();
    let mut columns = ColumnPlaces::default();
    for (index, form) in forms.iter().enumerate() {
        columns.add(outputs[index], ColumnPlace { index, form: *form });
    }
    CommonRelation {
        name: name.to_owned(),
        place,
        width: forms.len(),
        columns,
        outputs,
        is_grouped: false,
        row_may_fail: false,
        may_fail: false,
        is_of_run: true,
    }
}

/// Returns the columns of such rows.
pub(super) fn columns_of(types: &[SqlType], forms: &[ValueForm]) -> Vec<RecursionColumn> {
    let columns = types.iter().zip(forms);
    let columns = columns.map(|(own, form)| RecursionColumn {
        class: form.class(),
        bounds: bounds_of_type(*own),
        is_exact: matches!(form, ValueForm::Exact { .. }),
    });
    columns.collect()
}

pub(super) fn without_repeated(columns: &[ColumnId]) -> Vec<ColumnId> {
    let mut once: Vec<ColumnId> = Vec::with_capacity(columns.len());
    for column in columns {
        if !once.contains(column) {
            once.push(*column);
        }
    }
    once
}

/// Returns the form that all values of a type have.
pub(super) fn form_of_type(sql_type: SqlType) -> LoweringResult<ValueForm> {
    let unknown = || LoweringError::not_supported(format!("recursions over {sql_type}"));
    match ValueForm::of_null(sql_type).ok_or_else(unknown)? {
        ValueForm::Numeric { .. } => Ok(ValueForm::Exact { may_fail: false }),
        ValueForm::Padded { chars: None } => Err(unknown()),
        form => Ok(form),
    }
}

pub(super) fn bounds_of_type(sql_type: SqlType) -> IntBounds {
    match sql_type.kind() {
        TypeKind::SmallInt => IntBounds::I16,
        TypeKind::Integer | TypeKind::Date => IntBounds::I32,
        _ => IntBounds::I64,
    }
}

/// Has a side hand on columns in these forms; errors that values stand for are raised.
pub(super) fn in_forms(
    side: LoweredRelation,
    outputs: &[ColumnId],
    forms: &[ValueForm],
) -> LoweringResult<LoweredRelation> {
    let mut expressions = ExpressionLowering::new(&side.columns);
    let graph = &mut expressions.graph;
    let (mut ids, mut may_fail) = (Vec::with_capacity(forms.len()), side.may_fail);
    for (column, form) in outputs.iter().zip(forms) {
        let ColumnPlace { index, form: own } = side.columns.get(*column)?;
        let id = graph.column(index, own.class())?;
        ids.push(match (own, form) {
            (ValueForm::Numeric { scale, .. }, ValueForm::Exact { .. }) => {
                decimal_node(graph, id, scale, None)?
            }
            (ValueForm::Exact { may_fail: true }, ValueForm::Exact { .. }) => {
                may_fail = true;
                checked_node(graph, id)?
            }
            (own, form) if own == *form => id,
            _ => return Err(LoweringError::not_supported("recursions over this type")),
        });
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: side.node, graph, outputs: ids }));
    let columns = ColumnPlaces::default();
    Ok(LoweredRelation { node, columns, may_fail, ..side })
}

/// Whether a side makes its rows of one row of the recursion after the other.
fn is_row_by_row(node: &PlanNode, place: usize) -> bool {
    match node {
        PlanNode::Filter(filter) => is_row_by_row(&filter.input, place),
        PlanNode::Map(map) => is_row_by_row(&map.input, place),
        PlanNode::Measured(measured) => is_row_by_row(&measured.input, place),
        PlanNode::CommonScan(scan) => scan.query == place,
        _ => false,
    }
}
