//! From joins of the algebra to the nodes of a plan.
//!
//! Equalities between a value of each side become keys. What has another representation on both
//! sides is brought to one first: numerics to the greater scale, `real` to `double precision`.
//! An equality of which a side may fail, and every other condition, is evaluated for pairs.
//!
//! ```text
//! t left join u on t.id = u.id and t.price < u.price     price of two and four digits
//! Join probe outer, 0 = 0, 1 * 100 < 3 <- [Scan t [id, price], Scan u [id, price]]
//! ```

use nacre_column::CompareOp;
use nacre_plan::algebra::{ColumnId, JoinVariant, ScalarExpression, ScalarKind};

use super::aggregates::state_columns;
use super::columns::{ColumnPlace, LoweredRelation, RoundedValue, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::expressions::{ExpressionLowering, equal_forms};
use super::form::ValueForm;
use super::late::{LateValue, RowResult};
use super::operators::{OperatorMeaning, operator_meaning};
use super::relations::{guarded_column, pass_through, require_early, split_conjuncts};
use crate::expression::{ExpressionGraph, ExpressionId, ExpressionNode};
use crate::plan::{JoinKey, JoinNode, MapNode, PairingKind, PlanNode};

/// Scale of the neighbours of late values that a condition above the join may compare.
const NEIGHBOURS_SCALE: u16 = 12;

/// Joins two sides on a condition.
///
/// # Errors
/// Those of its conditions: what the executor has not with the same meaning.
pub(super) fn lower_join(
    variant: JoinVariant,
    sides: [LoweredRelation; 2],
    condition: Option<&ScalarExpression>,
) -> LoweringResult<LoweredRelation> {
    // What is computed above groups is a query of its own in PostgreSQL.
    if sides.iter().any(|side| side.column_may_fail && !side.is_grouped) {
        return Err(guarded_column());
    }
    let mut conjuncts = Vec::new();
    condition.into_iter().for_each(|condition| split_conjuncts(condition, &mut conjuncts));
    let is_grouped = sides.iter().all(|side| side.is_grouped);
    let [left, right] = if is_grouped { sides } else { with_neighbours(sides, &conjuncts)? };
    require_null_of_nulls(variant.keeps_right(), &left)?;
    require_null_of_nulls(variant.keeps_left(), &right)?;
    let (mut left_keys, mut right_keys, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut left_side = ExpressionLowering::new(&left.columns);
    let mut right_side = ExpressionLowering::new(&right.columns);
    for conjunct in conjuncts {
        match equal_keys(conjunct, (&mut left_side, &left), (&mut right_side, &right))? {
            Some((left_key, right_key)) => {
                left_keys.push(left_key);
                right_keys.push(right_key);
            }
            None => others.push(conjunct),
        }
    }
    let (left_graph, right_graph) = (left_side.graph, right_side.graph);
    let (probe, probe_keys) = with_keys(left, left_graph, &left_keys)?;
    let (build, build_keys) = with_keys(right, right_graph, &right_keys)?;
    let mut columns = probe.columns;
    columns.extend_behind(&build.columns, width(&probe.node))?;
    let mut expressions = ExpressionLowering::new(&columns).with_rows(is_grouped);
    let mut predicates = Vec::with_capacity(others.len());
    for condition in others {
        require_early(condition, &columns)?;
        predicates.push(expressions.condition_or_rows(condition)?);
    }
    let (graph, may_fail) = (expressions.graph, expressions.may_fail);
    let kind = match variant {
        JoinVariant::Inner => PairingKind::Inner,
        JoinVariant::Left => PairingKind::ProbeOuter,
        JoinVariant::Right => PairingKind::BuildOuter,
        JoinVariant::Full => PairingKind::FullOuter,
        JoinVariant::Semi | JoinVariant::Anti | JoinVariant::Single | JoinVariant::Mark(_) => {
            return Err(LoweringError::not_supported("subqueries"));
        }
    };
    let pairs = probe_keys.into_iter().zip(build_keys);
    let keys = pairs.map(|(probe, build)| JoinKey { probe, build }).collect();
    let (row_may_fail, any_may_fail) =
        (probe.row_may_fail || build.row_may_fail, probe.may_fail || build.may_fail);
    let node = JoinNode {
        kind,
        probe: probe.node,
        build: build.node,
        keys,
        probe_conditions: Vec::new(),
        graph,
        predicates,
    };
    Ok(LoweredRelation {
        node: PlanNode::Join(Box::new(node)),
        columns,
        row_may_fail: row_may_fail || may_fail,
        column_may_fail: false,
        may_fail: any_may_fail || may_fail,
        is_grouped,
    })
}

/// A side of a join, and expressions over its columns.
type JoinSide<'s, 'c> = (&'s mut ExpressionLowering<'c>, &'s LoweredRelation);

/// Returns what must be equal of both sides, if a condition is that and neither may fail.
fn equal_keys(
    condition: &ScalarExpression,
    (left, left_relation): JoinSide<'_, '_>,
    (right, right_relation): JoinSide<'_, '_>,
) -> LoweringResult<Option<(ExpressionId, ExpressionId)>> {
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return Ok(None) };
    let (Some(OperatorMeaning::Compare(CompareOp::Eq)), [first, second]) =
        (operator_meaning(operator.oid), &operands[..])
    else {
        return Ok(None);
    };
    let is_of = |expression: &ScalarExpression, relation: &LoweredRelation| {
        let mut columns: Vec<ColumnId> = Vec::new();
        collect_columns(expression, &mut columns);
        !columns.is_empty() && columns.iter().all(|column| relation.columns.get(*column).is_ok())
    };
    let (own, other) = if is_of(first, left_relation) && is_of(second, right_relation) {
        (first, second)
    } else if is_of(second, left_relation) && is_of(first, right_relation) {
        (second, first)
    } else {
        return Ok(None);
    };
    if left_relation.columns.is_late(own) || right_relation.columns.is_late(other) {
        return ordered_keys((own, left, left_relation), (other, right, right_relation));
    }
    let could_fail = (left.may_fail, right.may_fail);
    let (own, other) = (left.lower(own)?, right.lower(other)?);
    let fails = (left.may_fail, right.may_fail) != could_fail;
    (left.may_fail, right.may_fail) = could_fail;
    if fails { Ok(None) } else { equal_forms((left, own), (right, other)) }
}

/// Returns the order of late values of both sides as keys; `None` if a side has too many rows.
fn ordered_keys(
    (own, left, left_relation): (&ScalarExpression, &mut ExpressionLowering<'_>, &LoweredRelation),
    (other, right, right_relation): (
        &ScalarExpression,
        &mut ExpressionLowering<'_>,
        &LoweredRelation,
    ),
) -> LoweringResult<Option<(ExpressionId, ExpressionId)>> {
    if !left_relation.is_grouped || !right_relation.is_grouped {
        return Ok(None);
    }
    let own = LateValue::compile(own, &left_relation.columns);
    let other = LateValue::compile(other, &right_relation.columns);
    let Some((own, other)) = own.zip(other) else { return Ok(None) };
    let own = own.node(&mut left.graph, RowResult::Ordered)?;
    Ok(Some((own, other.node(&mut right.graph, RowResult::Ordered)?)))
}

/// Refuses late values of a side that an outer join fills with nulls, if they are something else.
fn require_null_of_nulls(is_filled: bool, side: &LoweredRelation) -> LoweringResult<()> {
    let is_wrong = |place: &ColumnPlace| match place {
        ColumnPlace::Late(value) => !value.is_null_of_nulls(),
        ColumnPlace::Plain { .. } => false,
    };
    if is_filled && side.columns.iter().any(|(_, place)| is_wrong(place)) {
        return Err(LoweringError::not_supported("outer joins of quotients that stand for nulls"));
    }
    Ok(())
}

/// Has sides of groups hand on the neighbours of their late values: in the scale of what a
/// condition compares them with, and in one for conditions above.
fn with_neighbours(
    sides: [LoweredRelation; 2],
    conditions: &[&ScalarExpression],
) -> LoweringResult<[LoweredRelation; 2]> {
    let [left, right] = sides;
    let left_values = compared_values(&left, &right, conditions);
    let right_values = compared_values(&right, &left, conditions);
    Ok([rounded_values(left, left_values)?, rounded_values(right, right_values)?])
}

/// A late value, and the scale of what it is compared with.
struct ComparedValue {
    kind: ScalarKind,
    value: LateValue,
    scale: u16,
}

/// Returns the late values of a side that conditions compare.
fn compared_values(
    side: &LoweredRelation,
    other: &LoweredRelation,
    conditions: &[&ScalarExpression],
) -> Vec<ComparedValue> {
    let mut compared = Vec::new();
    if !side.is_grouped {
        return compared;
    }
    for condition in conditions {
        let ScalarKind::Operator { operator, operands } = &condition.kind else { continue };
        let (Some(OperatorMeaning::Compare(_)), [first, second]) =
            (operator_meaning(operator.oid), &operands[..])
        else {
            continue;
        };
        for (late, plain) in [(first, second), (second, first)] {
            if !side.columns.is_late(late) {
                continue;
            }
            let value = LateValue::compile(late, &side.columns);
            // One that fails is computed for pairs alone; a column was computed before.
            let is_column = matches!(late.kind, ScalarKind::Column(_));
            let value = value.filter(|value| is_column || !value.may_fail());
            let plain = ExpressionLowering::new(&other.columns).lower(plain);
            if let (Some(value), Ok(plain)) = (value, plain)
                && let ValueForm::Numeric { scale, .. } = plain.form
            {
                compared.push(ComparedValue { kind: late.kind.clone(), value, scale });
            }
        }
    }
    for (column, place) in side.columns.iter() {
        if let ColumnPlace::Late(value) = place {
            let (kind, scale) = (ScalarKind::Column(*column), NEIGHBOURS_SCALE);
            compared.push(ComparedValue { kind, value: value.clone(), scale });
        }
    }
    compared
}

/// Computes neighbours behind the columns of a side.
fn rounded_values(
    side: LoweredRelation,
    values: Vec<ComparedValue>,
) -> LoweringResult<LoweredRelation> {
    if values.is_empty() {
        return Ok(side);
    }
    let mut expressions = ExpressionLowering::new(&side.columns);
    let (mut outputs, mut columns) = pass_through(&mut expressions, &side.columns)?;
    for ComparedValue { kind, value, scale } in values {
        let (floor, ceiling) = (outputs.len(), outputs.len() + 1);
        for is_up in [false, true] {
            let result = RowResult::Rounded { scale, is_up };
            outputs.push(value.node(&mut expressions.graph, result)?);
        }
        columns.add_rounded(RoundedValue { kind, scale, floor, ceiling });
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: side.node, graph, outputs }));
    Ok(LoweredRelation { node, columns, may_fail: true, ..side })
}

/// Has a side hand on its keys: as they are if they are columns, else computed behind them.
fn with_keys(
    side: LoweredRelation,
    graph: ExpressionGraph,
    keys: &[ExpressionId],
) -> LoweringResult<(LoweredRelation, Vec<usize>)> {
    let column = |key: &ExpressionId| match graph.node(*key) {
        ExpressionNode::Column { index, .. } => Some(*index),
        _ => None,
    };
    if let Some(columns) = keys.iter().map(column).collect::<Option<Vec<_>>>() {
        return Ok((side, columns));
    }
    let mut expressions = ExpressionLowering::new(&side.columns);
    expressions.graph = graph;
    let (mut outputs, columns) = pass_through(&mut expressions, &side.columns)?;
    let mut indexes = Vec::with_capacity(keys.len());
    for key in keys {
        indexes.push(outputs.len());
        outputs.push(*key);
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: side.node, graph, outputs }));
    Ok((LoweredRelation { node, columns, ..side }, indexes))
}

/// Returns how many columns a node hands on.
fn width(node: &PlanNode) -> usize {
    match node {
        PlanNode::Scan(scan) => scan.columns.len(),
        PlanNode::Filter(filter) => width(&filter.input),
        PlanNode::Map(map) => map.outputs.len(),
        PlanNode::Join(join) => {
            let of =
                |side: &PlanNode, is_handed_on: bool| if is_handed_on { width(side) } else { 0 };
            let mark = usize::from(join.kind == PairingKind::Mark);
            of(&join.probe, join.kind.has_probe_columns())
                + of(&join.build, join.kind.has_build_columns())
                + mark
        }
        PlanNode::Empty(classes) => classes.len(),
        PlanNode::Aggregate(aggregate) => {
            aggregate.keys.len() + state_columns(&aggregate.aggregates)
        }
        PlanNode::GroupingSets(grouping) => {
            grouping.keys.len() + state_columns(&grouping.aggregates) + 1
        }
        PlanNode::Window(window) => width(&window.input) + window.added_width(),
        PlanNode::Sort(sort) => width(&sort.input),
        PlanNode::Limit(limit) => width(&limit.input),
        PlanNode::Rows(rows) => rows.columns.len(),
        PlanNode::Append(append) => append.inputs.first().map_or(0, width),
        PlanNode::Repeat(repeat) => width(&repeat.input),
    }
}
