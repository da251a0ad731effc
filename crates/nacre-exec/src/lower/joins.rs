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

use super::columns::{ColumnPlace, LoweredRelation, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::expressions::{ExpressionLowering, equal_forms};
use super::operators::{OperatorMeaning, operator_meaning};
use super::relations::{guarded_column, pass_through, require_early, split_conjuncts};
use crate::expression::{ExpressionGraph, ExpressionId, ExpressionNode};
use crate::plan::{AggregateFunction, JoinKey, JoinNode, MapNode, PairingKind, PlanNode};

/// Joins two sides on a condition.
///
/// # Errors
/// Those of its conditions: what the executor has not with the same meaning.
pub(super) fn lower_join(
    variant: JoinVariant,
    sides: [LoweredRelation; 2],
    condition: Option<&ScalarExpression>,
) -> LoweringResult<LoweredRelation> {
    let [left, right] = sides;
    if left.column_may_fail || right.column_may_fail {
        return Err(guarded_column());
    }
    let mut conjuncts = Vec::new();
    condition.into_iter().for_each(|condition| split_conjuncts(condition, &mut conjuncts));
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
    let offset = width(&probe.node);
    for (column, place) in build.columns.iter() {
        let place = match place {
            ColumnPlace::Plain { index, form } => {
                ColumnPlace::Plain { index: index + offset, form }
            }
            ColumnPlace::Average { sum, count, scale } => {
                ColumnPlace::Average { sum: sum + offset, count: count + offset, scale }
            }
        };
        columns.add(column, place);
    }
    let mut expressions = ExpressionLowering::new(&columns);
    let mut predicates = Vec::with_capacity(others.len());
    for condition in others {
        require_early(condition, &columns)?;
        predicates.push(expressions.condition(condition)?);
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
    let node = JoinNode { kind, probe: probe.node, build: build.node, keys, graph, predicates };
    Ok(LoweredRelation {
        node: PlanNode::Join(Box::new(node)),
        columns,
        row_may_fail: row_may_fail || may_fail,
        column_may_fail: false,
        may_fail: any_may_fail || may_fail,
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
    let could_fail = (left.may_fail, right.may_fail);
    let (own, other) = (left.lower(own)?, right.lower(other)?);
    let fails = (left.may_fail, right.may_fail) != could_fail;
    (left.may_fail, right.may_fail) = could_fail;
    if fails { Ok(None) } else { equal_forms((left, own), (right, other)) }
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
        PlanNode::Join(join) => match join.kind {
            PairingKind::Semi | PairingKind::Anti => width(&join.probe),
            _ => width(&join.probe) + width(&join.build),
        },
        PlanNode::Aggregate(aggregate) => {
            let columns = aggregate.aggregates.iter().map(|call| match call.function {
                AggregateFunction::AverageState => 2,
                _ => 1,
            });
            aggregate.keys.len() + columns.sum::<usize>()
        }
        PlanNode::Window(window) => width(&window.input) + window.added_width(),
        PlanNode::Sort(sort) => width(&sort.input),
        PlanNode::Limit(limit) => width(&limit.input),
    }
}
