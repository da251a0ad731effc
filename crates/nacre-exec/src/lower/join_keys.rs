//! Which conditions of a join become keys, and what computes them.
//!
//! # Keys that may fail
//! PostgreSQL hashes: it computes the keys of all rows of both sides that conditions on that side
//! alone leave, in order, up to the first null. Such keys are computed here, too, above those
//! conditions. A mark join is a query that PostgreSQL runs for each row: it has no such keys, and
//! decides what may fail for pairs.
//!
//! # Keys of which nulls are equal
//! ```text
//! a is not distinct from b        a is null = b is null, coalesce(a, 0) = coalesce(b, 0)
//! ```

use nacre_column::CompareOp;
use nacre_plan::algebra::{ColumnId, JoinVariant, ScalarExpression, ScalarKind};

use super::columns::{LoweredRelation, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::expressions::{ExpressionLowering, equal_forms};
use super::form::ValueForm;
use super::operators::{OperatorMeaning, operator_meaning};
use crate::expression::{ExpressionGraph, ExpressionId, ExpressionNode};
use crate::value::{ScalarValue, ValueClass};

/// The conditions of a join.
#[derive(Default)]
pub(super) struct PairConditions<'e> {
    /// Those of ON.
    pub(super) on: Vec<&'e ScalarExpression>,
    /// Those of WHERE right above an inner join.
    pub(super) above: Vec<&'e ScalarExpression>,
}

impl<'e> PairConditions<'e> {
    /// Returns all of them.
    pub(super) fn all(&self) -> Vec<&'e ScalarExpression> {
        self.on.iter().chain(&self.above).copied().collect()
    }
}

/// The keys of a join, and the conditions that are left.
pub(super) struct SplitConditions<'e> {
    /// What the keys of the left side, and those of the right one, are computed by.
    pub(super) graphs: [ExpressionGraph; 2],
    pub(super) keys: [Vec<ExpressionId>; 2],
    pub(super) keys_may_fail: bool,
    /// Conditions on one side that leave out rows before keys are computed that may fail.
    pub(super) before: [Vec<&'e ScalarExpression>; 2],
    pub(super) rest: PairConditions<'e>,
}

/// What must be equal of both sides.
struct KeyPair {
    ids: [ExpressionId; 2],
    may_fail: [bool; 2],
}

/// Takes the keys of both sides out of conditions.
///
/// # Errors
/// Those of the keys.
pub(super) fn split_conditions<'e, 's>(
    variant: JoinVariant,
    sides: [&'s LoweredRelation; 2],
    conditions: PairConditions<'e>,
) -> LoweringResult<SplitConditions<'e>> {
    let lowering = |side: &'s LoweredRelation| {
        ExpressionLowering::new(&side.columns).above_groups(side.is_grouped)
    };
    let mut lowerings = sides.map(lowering);
    let (mut certain, mut fallible) = (Vec::new(), Vec::new());
    let mut take = |conditions: Vec<&'e ScalarExpression>| {
        let mut rest = Vec::new();
        for condition in conditions {
            if let Some(pairs) = null_safe_keys(condition, &mut lowerings, sides)? {
                certain.extend(pairs);
                continue;
            }
            match equal_keys(condition, &mut lowerings, sides)? {
                Some(pair) if pair.may_fail == [false; 2] => certain.push(pair),
                Some(pair) if is_hashed(variant) => fallible.push(pair),
                _ => rest.push(condition),
            }
        }
        Ok::<_, LoweringError>(rest)
    };
    let mut rest = PairConditions { on: take(conditions.on)?, above: take(conditions.above)? };
    let keys_may_fail = !fallible.is_empty();
    let mut before = <[Vec<_>; 2]>::default();
    if keys_may_fail {
        before = take_one_sided(variant, sides, &mut rest);
    }
    let mut keys: [Vec<ExpressionId>; 2] = Default::default();
    for pair in certain.into_iter().chain(fallible) {
        for side in [0, 1] {
            let mut key = pair.ids[side];
            if pair.may_fail[side] {
                key = guarded(&mut lowerings[side].graph, &keys[side], key)?;
            }
            keys[side].push(key);
        }
    }
    let graphs = lowerings.map(|own| own.graph);
    Ok(SplitConditions { graphs, keys, keys_may_fail, before, rest })
}

/// Whether all columns of a condition, of which there are some, are of a relation.
pub(super) fn is_about(condition: &ScalarExpression, relation: &LoweredRelation) -> bool {
    let mut columns: Vec<ColumnId> = Vec::new();
    collect_columns(condition, &mut columns);
    !columns.is_empty() && columns.iter().all(|column| relation.columns.get(*column).is_ok())
}

/// Whether PostgreSQL runs it as a join by hash, not as a subquery for each row.
fn is_hashed(variant: JoinVariant) -> bool {
    !matches!(variant, JoinVariant::Single | JoinVariant::Mark(_))
}

/// Takes the conditions on one side out that leave out rows of it.
fn take_one_sided<'e>(
    variant: JoinVariant,
    [left, right]: [&LoweredRelation; 2],
    rest: &mut PairConditions<'e>,
) -> [Vec<&'e ScalarExpression>; 2] {
    let mut taken = <[Vec<_>; 2]>::default();
    for conditions in [&mut rest.on, &mut rest.above] {
        conditions.retain(|condition| {
            let is_of_left = !variant.keeps_left() && is_about(condition, left);
            let is_of_right = !variant.keeps_right() && is_about(condition, right);
            let side = match (is_of_left, is_of_right) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => return true,
            };
            taken[side].push(*condition);
            false
        });
    }
    taken
}

/// Computes a key where none of the keys before it is null.
fn guarded(
    graph: &mut ExpressionGraph,
    before: &[ExpressionId],
    key: ExpressionId,
) -> LoweringResult<ExpressionId> {
    let mut guarded = key;
    for earlier in before {
        let is_null = graph.add(ExpressionNode::IsNull { input: *earlier })?;
        let none = graph.add(ExpressionNode::Constant(ScalarValue::Null(graph.class(key))))?;
        let node = ExpressionNode::Case { condition: is_null, then: none, otherwise: guarded };
        guarded = graph.add(node)?;
    }
    Ok(guarded)
}

/// Returns what must be equal, if a condition is that.
pub(super) fn equality_of(condition: &ScalarExpression) -> Option<&[ScalarExpression; 2]> {
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return None };
    let is_equal = operator_meaning(operator.oid) == Some(OperatorMeaning::Compare(CompareOp::Eq));
    operands.first_chunk().filter(|_| is_equal)
}

/// Returns which operand of an equality is about the left relation, and which about the right one.
fn about_sides<'e>(
    [first, second]: [&'e ScalarExpression; 2],
    [left, right]: [&LoweredRelation; 2],
) -> Option<[&'e ScalarExpression; 2]> {
    if is_about(first, left) && is_about(second, right) {
        return Some([first, second]);
    }
    (is_about(second, left) && is_about(first, right)).then_some([second, first])
}

/// Returns what must be equal of both sides, if a condition is that.
fn equal_keys(
    condition: &ScalarExpression,
    [left, right]: &mut [ExpressionLowering<'_>; 2],
    sides: [&LoweredRelation; 2],
) -> LoweringResult<Option<KeyPair>> {
    let Some([first, second]) = equality_of(condition) else { return Ok(None) };
    let Some([own, other]) = about_sides([first, second], sides) else { return Ok(None) };
    (left.may_fail, right.may_fail) = (false, false);
    let (own, other) = (left.lower(own)?, right.lower(other)?);
    let ids = equal_forms((left, own), (right, other))?;
    let may_fail = [left.may_fail, right.may_fail];
    Ok(ids.map(|(left, right)| KeyPair { ids: [left, right], may_fail }))
}

/// Returns what must be equal of both sides, if a condition is that and nulls count as equal.
fn null_safe_keys(
    condition: &ScalarExpression,
    [left, right]: &mut [ExpressionLowering<'_>; 2],
    sides: [&LoweredRelation; 2],
) -> LoweringResult<Option<[KeyPair; 2]>> {
    let ScalarKind::Not(negated) = &condition.kind else { return Ok(None) };
    let ScalarKind::IsDistinct { operands, .. } = &negated.kind else { return Ok(None) };
    let Some([own, other]) =
        operands.first_chunk().and_then(|[first, second]| about_sides([first, second], sides))
    else {
        return Ok(None);
    };
    (left.may_fail, right.may_fail) = (false, false);
    let (own, other) = (left.lower(own)?, right.lower(other)?);
    let is_exact = |form: ValueForm| matches!(form, ValueForm::Exact { .. });
    // The key of an exact value that no decimal of the other side is, is null.
    if is_exact(own.form) != is_exact(other.form) {
        return Ok(None);
    }
    let ids = equal_forms((left, own), (right, other))?;
    let Some((own, other)) = ids.filter(|_| !left.may_fail && !right.may_fail) else {
        return Ok(None);
    };
    let own = null_and_value(&mut left.graph, own)?;
    let other = null_and_value(&mut right.graph, other)?;
    let pair = |at: usize| KeyPair { ids: [own[at], other[at]], may_fail: [false; 2] };
    Ok(Some([pair(1), pair(0)]))
}

/// Returns whether a value is null, and the value or, if it is null, some other.
fn null_and_value(
    graph: &mut ExpressionGraph,
    value: ExpressionId,
) -> LoweringResult<[ExpressionId; 2]> {
    let condition = graph.add(ExpressionNode::IsNull { input: value })?;
    let some = match graph.class(value) {
        ValueClass::Bool => ScalarValue::Bool(false),
        ValueClass::Int => ScalarValue::Int(0),
        ValueClass::Float32 => ScalarValue::Float32(0.0),
        ValueClass::Float64 => ScalarValue::Float64(0.0),
        ValueClass::Bytes => ScalarValue::Bytes(Vec::new()),
    };
    let then = graph.add(ExpressionNode::Constant(some))?;
    let node = ExpressionNode::Case { condition, then, otherwise: value };
    Ok([condition, graph.add(node)?])
}
