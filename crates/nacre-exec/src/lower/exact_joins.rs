//! Conditions of joins that compare a decimal of one side with a numeric of any scale of the other
//! one: that is rounded for each row of its side, so that pairs compare whole numbers.

use nacre_column::CompareOp;
use nacre_plan::algebra::{ScalarExpression, ScalarKind};

use super::columns::{LoweredRelation, RoundedValue};
use super::error::LoweringResult;
use super::exact_nodes::rounded_node;
use super::expressions::ExpressionLowering;
use super::form::ValueForm;
use super::join_keys::is_about;
use super::operators::{OperatorMeaning, operator_meaning};
use super::relations::pass_through;
use crate::plan::{MapNode, PlanNode};
use crate::value::RoundedTo;

/// Has both sides of a join hand on what its conditions compare rounded.
///
/// # Errors
/// None for sides with columns that are there.
pub(super) fn with_rounded_values(
    [left, right]: [LoweredRelation; 2],
    conditions: &[&ScalarExpression],
) -> LoweringResult<[LoweredRelation; 2]> {
    let of_left = compared_values([&left, &right], conditions);
    let of_right = compared_values([&right, &left], conditions);
    Ok([add_rounded(left, &of_left)?, add_rounded(right, &of_right)?])
}

/// Returns the expressions on the first side that conditions compare with decimals of the other
/// one, and the scales of these decimals. Expressions that may fail are computed for pairs.
fn compared_values<'e>(
    [side, other]: [&LoweredRelation; 2],
    conditions: &[&'e ScalarExpression],
) -> Vec<(&'e ScalarExpression, u16)> {
    let mut compared = Vec::new();
    for condition in conditions {
        let ScalarKind::Operator { operator, operands } = &condition.kind else { continue };
        let (Some(OperatorMeaning::Compare(op)), [first, second]) =
            (operator_meaning(operator.oid), &operands[..])
        else {
            continue;
        };
        // Equalities are keys.
        if op == CompareOp::Eq {
            continue;
        }
        for (exact, decimal) in [(first, second), (second, first)] {
            if !(is_about(exact, side) && is_about(decimal, other)) {
                continue;
            }
            let mut expressions =
                ExpressionLowering::new(&side.columns).above_groups(side.is_grouped);
            let own = expressions.lower(exact);
            let decimal = ExpressionLowering::new(&other.columns).lower(decimal);
            if let (Ok(own), Ok(decimal)) = (own, decimal)
                && own.form == (ValueForm::Exact { may_fail: false })
                && !expressions.may_fail
                && let ValueForm::Numeric { scale, .. } = decimal.form
            {
                compared.push((exact, scale));
            }
        }
    }
    compared
}

/// Computes rounded values behind the columns of a side.
fn add_rounded(
    side: LoweredRelation,
    values: &[(&ScalarExpression, u16)],
) -> LoweringResult<LoweredRelation> {
    if values.is_empty() {
        return Ok(side);
    }
    let mut expressions = ExpressionLowering::new(&side.columns).above_groups(side.is_grouped);
    let (mut outputs, mut columns) = pass_through(&mut expressions, &side.columns)?;
    for (value, scale) in values {
        let (floor, ceiling) = (outputs.len(), outputs.len() + 1);
        let exact = expressions.lower(value)?.id;
        for target in [RoundedTo::Floor, RoundedTo::Ceiling] {
            outputs.push(rounded_node(&mut expressions.graph, exact, *scale, target)?);
        }
        let (kind, scale) = (value.kind.clone(), *scale);
        columns.add_rounded(RoundedValue { kind, scale, floor, ceiling });
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: side.node, graph, outputs }));
    Ok(LoweredRelation { node, columns, gives_unmerged_rows: false, ..side })
}
