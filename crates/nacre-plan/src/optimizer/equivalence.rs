//! Columns that inner equalities make equal.

use std::collections::HashMap;

use nacre_functions::catalog::{OperatorEntry, operators_named};
use nacre_functions::coercion::CoercionPathway;
use nacre_types::catalog::TypeOid;

use crate::algebra::{CastStep, ColumnId, ScalarExpression, ScalarKind};
use crate::properties::is_comparison;

/// A column, and the type that it is compared as: its own or one of the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EquivalenceMember {
    pub(super) column: ColumnId,
    pub(super) compared_as: TypeOid,
}

/// Columns that are equal in all rows of a region of inner joins.
#[derive(Clone, Debug)]
pub(super) struct EquivalenceClass {
    /// Each with an expression of it, in the order in which they were found.
    pub(super) members: Vec<(EquivalenceMember, ScalarExpression)>,
}

/// Returns the column that an expression is.
pub(super) fn member_of(expression: &ScalarExpression) -> Option<EquivalenceMember> {
    let compared_as = expression.sql_type.oid();
    match &expression.kind {
        ScalarKind::Column(column) => Some(EquivalenceMember { column: *column, compared_as }),
        ScalarKind::Cast { operand, method: CastStep::Type(CoercionPathway::Same) } => {
            match operand.kind {
                ScalarKind::Column(column) => Some(EquivalenceMember { column, compared_as }),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A condition that two columns are equal, by the equality of one type.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnEquality<'e> {
    pub(super) operands: [&'e ScalarExpression; 2],
    pub(super) members: [EquivalenceMember; 2],
}

/// Returns the equality that a condition is.
pub(super) fn column_equality(condition: &ScalarExpression) -> Option<ColumnEquality<'_>> {
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return None };
    let [left, right] = &operands[..] else { return None };
    let is_of_one_type = operator.left == Some(operator.right);
    if operator.name != "=" || !is_of_one_type || !is_comparison(operator) {
        return None;
    }
    let members = [member_of(left)?, member_of(right)?];
    let is_compared = members.iter().all(|one| one.compared_as == operator.right);
    let operands = [left, right];
    (is_compared && members[0] != members[1]).then_some(ColumnEquality { operands, members })
}

/// Returns the equality of a type.
pub(super) fn equality_of(oid: TypeOid) -> Option<&'static OperatorEntry> {
    operators_named("=").find(|entry| entry.left == Some(oid) && entry.right == oid)
}

/// Returns the classes of columns that conditions make equal, in the order of the conditions.
pub(super) fn equivalence_classes<'e>(
    conditions: impl Iterator<Item = &'e ScalarExpression>,
) -> Vec<EquivalenceClass> {
    let mut classes: Vec<Option<EquivalenceClass>> = Vec::new();
    let mut class_of: HashMap<EquivalenceMember, usize> = HashMap::new();
    for equality in conditions.filter_map(column_equality) {
        let [left, right] = equality.members;
        let own = |index: usize| (equality.members[index], equality.operands[index].clone());
        match (class_of.get(&left).copied(), class_of.get(&right).copied()) {
            (None, None) => {
                class_of.extend([(left, classes.len()), (right, classes.len())]);
                let members = vec![own(0), own(1)];
                classes.push(Some(EquivalenceClass { members }));
            }
            (Some(class), None) => {
                class_of.insert(right, class);
                classes[class].iter_mut().for_each(|one| one.members.push(own(1)));
            }
            (None, Some(class)) => {
                class_of.insert(left, class);
                classes[class].iter_mut().for_each(|one| one.members.push(own(0)));
            }
            (Some(one), Some(other)) if one != other => {
                let (kept, gone) = (one.min(other), one.max(other));
                let moved = classes[gone].take().map(|class| class.members).unwrap_or_default();
                moved.iter().for_each(|(member, _)| {
                    class_of.insert(*member, kept);
                });
                classes[kept].iter_mut().for_each(|class| class.members.extend(moved.clone()));
            }
            (Some(_), Some(_)) => {}
        }
    }
    classes.into_iter().flatten().collect()
}
