//! From joins of the algebra to the nodes of a plan.
//!
//! 1. Equalities between a value of each side become keys ([`super::join_keys`]). What has another
//!    representation on both sides is brought to one first: numerics to the greater scale, `real`
//!    to `double precision`.
//! 2. Conditions on the probe side alone that never fail are decided for its rows, once each.
//! 3. Every other condition is evaluated for pairs. Those without columns are decided here.
//! 4. If a condition on pairs may fail, the left side of a semi or anti join is not built.
//!
//! ```text
//! t left join u on t.id = u.id and t.price < u.price     price of two and four digits
//! Join probe outer, 0 = 0, 1 * 100 < 3 <- [Scan t [id, price], Scan u [id, price]]
//! ```

use nacre_plan::algebra::{
    ColumnId, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind,
};

use super::aggregates::state_columns;
use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation, collect_columns};
use super::constants::without_constants;
use super::error::{LoweringError, LoweringResult};
use super::exact_joins::with_rounded_values;
use super::expressions::ExpressionLowering;
use super::fold::check_constants;
use super::form::ValueForm;
use super::join_keys::{PairConditions, SplitConditions, equality_of, is_about, split_conditions};
use super::join_sides::{lower_sides, pairing_kind};
use super::kept::is_table_kept;
use super::limits::stepped;
use super::relations::{filter, guarded_column, is_gate, pass_through};
use super::stored::StoredRelations;
use crate::expression::{ExpressionGraph, ExpressionId, ExpressionNode};
use crate::plan::{JoinKey, JoinNode, LimitNode, MapNode, PairingKind, PlanNode};
use crate::value::ScalarValue;

/// A side of a join, and what its keys are computed by.
struct KeyedSide {
    relation: LoweredRelation,
    graph: ExpressionGraph,
    keys: Vec<ExpressionId>,
}

/// Joins two operators, of whose columns `needed` are wanted.
///
/// # Errors
/// Those of its sides and conditions: what the executor has not with the same meaning.
pub(super) fn lower_join(
    relations: &dyn StoredRelations,
    variant: JoinVariant,
    sides: [&RelationalOperator; 2],
    conditions: PairConditions<'_>,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    if !sides.iter().all(|side| side.is_closed()) {
        return Err(LoweringError::not_supported("this correlated subquery"));
    }
    let mut wanted = needed.to_vec();
    conditions.all().iter().for_each(|condition| collect_columns(condition, &mut wanted));
    let [left, right] = lower_sides(relations, sides, &wanted)?;
    let PairConditions { on, above } = conditions;
    if variant == JoinVariant::Semi && is_gate(sides[1]) && left.may_fail {
        // PostgreSQL computes nothing of it if they are not true.
        let what = "conditions on values of queries alone beside what may fail";
        return Err(LoweringError::not_supported(what));
    }
    // PostgreSQL computes the other columns of a side filled up with nulls for all its rows.
    let is_guarded = left.column_may_fail && !variant.keeps_right()
        || right.column_may_fail && !variant.fills_right() && !is_only_key(variant, &right, &on);
    refuse_guarded(is_guarded)?;
    if let Some(on) = without_constants(&on)? {
        return join_lowered(variant, [left, right], PairConditions { on, above }, false);
    }
    above.into_iter().try_for_each(check_constants)?;
    // No row has a partner. PostgreSQL reads no side whose rows come out with a partner alone.
    let none = PairConditions::default();
    match variant {
        JoinVariant::Inner | JoinVariant::Semi => {
            Ok(join_lowered(variant, [left, right], none, false)?.emptied())
        }
        JoinVariant::Left | JoinVariant::Anti | JoinVariant::Single | JoinVariant::Mark(_) => {
            join_lowered(variant, [left, right.emptied()], none, false)
        }
        JoinVariant::Right => join_lowered(variant, [left.emptied(), right], none, false),
        JoinVariant::Full => join_lowered(variant, [left, right], none, true),
    }
}

/// Whether a side is looked into by its one column, as `a in (select b + 1 from t)` does: as a key
/// PostgreSQL computes it for all rows, too.
fn is_only_key(variant: JoinVariant, right: &LoweredRelation, on: &[&ScalarExpression]) -> bool {
    let is_looked_into = matches!(variant, JoinVariant::Semi | JoinVariant::Anti);
    let is_column = |one: &ScalarExpression| match one.kind {
        ScalarKind::Column(column) => right.columns.get(column).is_ok(),
        _ => false,
    };
    match on {
        [one] if is_looked_into => equality_of(one).is_some_and(|two| two.iter().any(is_column)),
        _ => false,
    }
}

/// Joins two sides; without any pairs if `is_never`.
fn join_lowered(
    variant: JoinVariant,
    sides: [LoweredRelation; 2],
    conditions: PairConditions<'_>,
    is_never: bool,
) -> LoweringResult<LoweredRelation> {
    let [left, right] = fixed_side_last(variant, sides);
    let is_grouped = left.is_grouped && right.is_grouped;
    let partner_may_fail = partner_may_fail(variant, [&left, &right]);
    let [left, right] = with_rounded_values([left, right], &conditions.all())?;
    let split = split_conditions(variant, [&left, &right], conditions)?;
    let SplitConditions { graphs, keys, keys_may_fail, before, rest } = split;
    let is_key = variant.fills_right() || !keys[1].is_empty();
    let is_early = right.column_may_fail && !(is_key && before[1].is_empty());
    refuse_guarded(is_early || left.column_may_fail && !before[0].is_empty())?;
    let (left, right) = (filter(left, &before[0])?, filter(right, &before[1])?);
    // A build of the left side tests pairs behind the deciding pair, too.
    let may_build_left = may_build_left(variant, [&left, &right])
        && !keys[0].is_empty()
        && !keys_may_fail
        && !is_fallible([&left, &right], &rest.on)?;
    let kind = pairing_kind(variant, [&left.node, &right.node], may_build_left);
    let ([graph, right_graph], [keys, right_keys]) = (graphs, keys);
    let left = KeyedSide { relation: left, graph, keys };
    let right = KeyedSide { relation: right, graph: right_graph, keys: right_keys };
    let (mut probe, build) = if kind.has_probe_columns() { (left, right) } else { (right, left) };
    let key_count = probe.keys.len();
    let on = take_probe_conditions(&mut probe, rest.on)?;
    if is_never {
        let never = ExpressionNode::Constant(ScalarValue::Bool(false));
        probe.keys.push(probe.graph.add(never)?);
    }
    let (probe, mut indexes) = with_keys(probe)?;
    let probe_conditions = indexes.split_off(key_count);
    let (mut build, build_indexes) = with_keys(build)?;
    let key_pairs = indexes.into_iter().zip(build_indexes);
    let keys: Vec<_> = key_pairs.map(|(probe, build)| JoinKey { probe, build }).collect();
    if !kind.has_build_columns() && keys.is_empty() && on.is_empty() {
        build = first_row(build)?;
    }
    let both = pair_columns(&probe, &build);
    let pairs = pair_predicates(&on, &both, is_grouped)?;
    let is_error = kind == PairingKind::Single && !has_one_row(&build.node);
    let own_may_fail = keys_may_fail || pairs.may_fail || is_error || partner_may_fail;
    let unmerged_column_may_fail = probe.unmerged_column_may_fail || build.unmerged_column_may_fail;
    refuse_guarded(unmerged_column_may_fail && (keys_may_fail || pairs.may_fail))?;
    let joined = LoweredRelation {
        columns: joined_columns(variant, kind, both, [&probe, &build]),
        row_may_fail: probe.row_may_fail || build.row_may_fail || own_may_fail,
        is_stepwise: probe.is_stepwise && !build.row_may_fail && !own_may_fail,
        column_may_fail: false,
        unmerged_column_may_fail,
        window_may_fail: false,
        may_fail: probe.may_fail || build.may_fail || own_may_fail,
        is_grouped,
        gives_unmerged_rows: false,
        node: PlanNode::Join(Box::new(JoinNode {
            kind,
            probe: probe.node,
            build: build.node,
            keys,
            probe_conditions,
            graph: pairs.graph,
            predicates: pairs.predicates,
        })),
    };
    let mut joined = filter(joined, &rest.above)?;
    joined.columns.forget_rounded();
    Ok(joined)
}

/// Has the side of an inner join be built whose table is kept.
fn fixed_side_last(
    variant: JoinVariant,
    [left, right]: [LoweredRelation; 2],
) -> [LoweredRelation; 2] {
    let is_swapped = variant == JoinVariant::Inner && is_table_kept(&right.node, &left.node);
    if is_swapped { [right, left] } else { [left, right] }
}

/// Whether the left side may be built as far as both sides are concerned.
fn may_build_left(variant: JoinVariant, [left, right]: [&LoweredRelation; 2]) -> bool {
    matches!(variant, JoinVariant::Semi | JoinVariant::Anti)
        && !is_table_kept(&left.node, &right.node)
}

/// Conditions on pairs, lowered.
struct PairPredicates {
    graph: ExpressionGraph,
    predicates: Vec<ExpressionId>,
    may_fail: bool,
}

fn pair_predicates(
    on: &[&ScalarExpression],
    both: &ColumnPlaces,
    is_grouped: bool,
) -> LoweringResult<PairPredicates> {
    let mut expressions = ExpressionLowering::new(both).above_groups(is_grouped);
    let mut predicates = Vec::with_capacity(on.len());
    for condition in on {
        predicates.push(expressions.condition(condition)?);
    }
    Ok(PairPredicates { graph: expressions.graph, predicates, may_fail: expressions.may_fail })
}

/// Whether conditions on pairs may fail.
fn is_fallible(
    [left, right]: [&LoweredRelation; 2],
    conditions: &[&ScalarExpression],
) -> LoweringResult<bool> {
    let both = pair_columns(left, right);
    let is_grouped = left.is_grouped && right.is_grouped;
    let mut expressions = ExpressionLowering::new(&both).above_groups(is_grouped);
    for condition in conditions {
        expressions.condition(condition)?;
    }
    Ok(expressions.may_fail)
}

fn refuse_guarded(is_guarded: bool) -> LoweringResult<()> {
    if is_guarded { Err(guarded_column()) } else { Ok(()) }
}

/// Whether the side may fail of which rows of the other one may need no partner: a LIMIT may have
/// enough of them.
fn partner_may_fail(variant: JoinVariant, [left, right]: [&LoweredRelation; 2]) -> bool {
    variant.keeps_left() && right.may_fail || variant.keeps_right() && left.may_fail
}

/// Takes out the conditions on the probe side alone that never fail: they are computed beside its
/// keys.
fn take_probe_conditions<'e>(
    probe: &mut KeyedSide,
    conditions: Vec<&'e ScalarExpression>,
) -> LoweringResult<Vec<&'e ScalarExpression>> {
    let relation = &probe.relation;
    let mut expressions =
        ExpressionLowering::new(&relation.columns).above_groups(relation.is_grouped);
    expressions.graph = std::mem::take(&mut probe.graph);
    let mut rest = Vec::new();
    for condition in conditions {
        if is_about(condition, &probe.relation) {
            expressions.may_fail = false;
            let id = expressions.condition(condition)?;
            if !expressions.may_fail {
                probe.keys.push(id);
                continue;
            }
        }
        rest.push(condition);
    }
    probe.graph = expressions.graph;
    Ok(rest)
}

/// Has a side hand on its keys: as they are if they are columns, else computed behind them.
fn with_keys(side: KeyedSide) -> LoweringResult<(LoweredRelation, Vec<usize>)> {
    let KeyedSide { relation, graph, keys } = side;
    let column = |key: &ExpressionId| match graph.node(*key) {
        ExpressionNode::Column { index, .. } => Some(*index),
        _ => None,
    };
    if let Some(columns) = keys.iter().map(column).collect::<Option<Vec<_>>>() {
        return Ok((relation, columns));
    }
    let mut expressions = ExpressionLowering::new(&relation.columns);
    expressions.graph = graph;
    let (mut outputs, columns) = pass_through(&mut expressions, &relation.columns)?;
    let mut indexes = Vec::with_capacity(keys.len());
    for key in keys {
        indexes.push(outputs.len());
        outputs.push(key);
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: relation.node, graph, outputs }));
    Ok((LoweredRelation { node, columns, ..relation }, indexes))
}

/// Returns a side whose first row decides: whether there is one.
fn first_row(side: LoweredRelation) -> LoweringResult<LoweredRelation> {
    let side = stepped(side)?;
    let node = LimitNode { input: side.node, offset: 0, rows_max: Some(1), late: None };
    Ok(LoweredRelation { node: PlanNode::Limit(Box::new(node)), ..side }.emptied_if_none())
}

/// Whether an operator has one row at most.
fn has_one_row(node: &PlanNode) -> bool {
    match node {
        PlanNode::Filter(filter) => has_one_row(&filter.input),
        PlanNode::Map(map) => has_one_row(&map.input),
        PlanNode::Aggregate(aggregate) => aggregate.keys.is_empty(),
        PlanNode::Sort(sort) => has_one_row(&sort.input),
        PlanNode::Stepped(stepped) => has_one_row(&stepped.input),
        PlanNode::Limit(limit) => {
            limit.rows_max.is_some_and(|rows| rows <= 1) || has_one_row(&limit.input)
        }
        PlanNode::Window(window) => has_one_row(&window.input),
        PlanNode::Measured(measured) => has_one_row(&measured.input),
        PlanNode::Kept(kept) => has_one_row(&kept.input),
        PlanNode::Rows(rows) => rows.rows <= 1,
        PlanNode::Series(series) => series.rows <= 1,
        PlanNode::CommonScan(scan) => scan.has_one_row,
        PlanNode::Common(common) => has_one_row(&common.input),
        PlanNode::Once(_) => true,
        PlanNode::Scan(_)
        | PlanNode::Recursion(_)
        | PlanNode::Called(_)
        | PlanNode::Join(_)
        | PlanNode::GroupingSets(_)
        | PlanNode::Append(_)
        | PlanNode::Repeat(_)
        | PlanNode::Expand(_) => false,
    }
}

/// Returns where the columns of both sides are in a pair.
fn pair_columns(probe: &LoweredRelation, build: &LoweredRelation) -> ColumnPlaces {
    let mut columns = probe.columns.clone();
    columns.extend_behind(&build.columns, width(&probe.node));
    columns
}

/// Returns where the columns are that a join hands on; `both` are those of pairs.
fn joined_columns(
    variant: JoinVariant,
    kind: PairingKind,
    both: ColumnPlaces,
    [probe, build]: [&LoweredRelation; 2],
) -> ColumnPlaces {
    let mut columns = match (kind.has_probe_columns(), kind.has_build_columns()) {
        (true, true) => both,
        (true, false) => probe.columns.clone(),
        (false, _) => build.columns.clone(),
    };
    if let JoinVariant::Mark(column) = variant {
        let (index, form) = (width(&probe.node), ValueForm::Boolean);
        columns.add(column, ColumnPlace { index, form });
    }
    columns
}

/// Returns how many columns a node hands on.
pub(super) fn width(node: &PlanNode) -> usize {
    match node {
        PlanNode::Scan(scan) => scan.width(),
        PlanNode::Measured(measured) => width(&measured.input),
        PlanNode::Kept(kept) => width(&kept.input),
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
        PlanNode::Aggregate(aggregate) => {
            let keys = aggregate.keys.len() + aggregate.dependents.len();
            keys + state_columns(&aggregate.aggregates)
        }
        PlanNode::GroupingSets(grouping) => {
            grouping.keys.len() + state_columns(&grouping.aggregates) + 1
        }
        PlanNode::Window(window) => width(&window.input) + window.added_width(),
        PlanNode::Sort(sort) => width(&sort.input),
        PlanNode::Stepped(stepped) => width(&stepped.input),
        PlanNode::Limit(limit) => width(&limit.input),
        PlanNode::Rows(rows) => rows.columns.len(),
        PlanNode::Series(series) => series.columns.len(),
        PlanNode::CommonScan(scan) => scan.width,
        PlanNode::Common(common) => width(&common.input),
        PlanNode::Once(_) => 1,
        PlanNode::Called(called) => called.outputs.len(),
        PlanNode::Recursion(recursion) => recursion.columns.len(),
        PlanNode::Append(append) => append.inputs.first().map_or(0, width),
        PlanNode::Repeat(repeat) => width(&repeat.input),
        PlanNode::Expand(expand) => {
            width(&expand.input) + expand.sets.len() + usize::from(expand.has_ordinality)
        }
    }
}
