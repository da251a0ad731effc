//! Joins with late values: averages and quotients of groups, which no vector has.
//!
//! Two sides of groups are compared row by row. Beside a side of plain rows the late values of the
//! other one hand on their neighbours: the decimals of the scale of what they are compared with
//! between which they lie.

use nacre_plan::algebra::{JoinVariant, ScalarExpression, ScalarKind};

use super::columns::{ColumnPlace, LoweredRelation, RoundedValue};
use super::error::{LoweringError, LoweringResult};
use super::expressions::ExpressionLowering;
use super::form::ValueForm;
use super::late::{LateValue, RowResult};
use super::operators::{OperatorMeaning, operator_meaning};
use super::relations::pass_through;
use crate::plan::{MapNode, PlanNode};

/// Scale of the neighbours of late values that a condition above the join may compare.
const NEIGHBOURS_SCALE: u16 = 12;

/// Makes sides that can be joined on conditions.
///
/// # Errors
/// [`LoweringError::NotSupported`] for late values that an outer join would change.
pub(super) fn comparable_sides(
    variant: JoinVariant,
    sides: [LoweredRelation; 2],
    conditions: &[&ScalarExpression],
) -> LoweringResult<[LoweredRelation; 2]> {
    let is_grouped = sides.iter().all(|side| side.is_grouped);
    let [mut left, mut right] =
        if is_grouped { sides } else { with_neighbours(sides, conditions)? };
    for (is_filled, side) in [
        (variant.keeps_right(), &mut left),
        (variant.keeps_left() && variant.has_right(), &mut right),
    ] {
        if is_filled {
            require_null_of_nulls(side)?;
            side.columns.fill_with_nulls();
        }
    }
    Ok([left, right])
}

/// Refuses late values of a side that an outer join fills with nulls, if they are something else.
fn require_null_of_nulls(side: &LoweredRelation) -> LoweringResult<()> {
    let is_wrong = |place: &ColumnPlace| match place {
        ColumnPlace::Late(value) => !value.is_null_of_nulls(),
        ColumnPlace::Plain { .. } => false,
    };
    if side.columns.iter().any(|(_, place)| is_wrong(place)) {
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
        let is_null_of_nulls = value.is_null_of_nulls();
        columns.add_rounded(RoundedValue { kind, scale, is_null_of_nulls, floor, ceiling });
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: side.node, graph, outputs }));
    Ok(LoweredRelation { node, columns, may_fail: true, ..side })
}
