//! Adds conditions that follow from others within a region of inner joins.
//!
//! ```text
//! a.k = b.k and a.k < 5                            b.k < 5
//! a.k = b.k and a.k in (1, 2)                      b.k in (1, 2)
//! (a.x = 1 and b.y = 2) or (a.x = 3 and b.y = 4)   a.x = 1 or a.x = 3; b.y = 2 or b.y = 4
//! ```
//!
//! Added conditions are implied by the others, so they never change the rows.

use std::collections::{BTreeSet, HashMap};

use super::equivalence::{
    EquivalenceClass, EquivalenceMember, column_equality, equivalence_classes, member_of,
};
use super::places::{ColumnOrigins, PlaceRange};
use crate::algebra::conjuncts::{
    columns_of, conjunction, conjuncts_of, disjunction, disjuncts_of, has_columns, with_filter,
};
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::control;
use crate::properties::{is_comparison, may_move};

/// Conditions added to one region, and the expressions that they are made of.
const ADDED_MAX: usize = 1_000;
const ADDED_EXPRESSIONS_MAX: usize = 20_000;

/// Adds derived conditions above each region of a plan.
pub(super) fn derive_conditions(root: &mut RelationalOperator) {
    let origins = ColumnOrigins::of_plan(root);
    let range = PlaceRange::of_plan(root);
    derive_below(root, range, &origins);
}

fn derive_below(operator: &mut RelationalOperator, range: PlaceRange, origins: &ColumnOrigins) {
    if control::is_stopped() {
        return;
    }
    let mut region = JoinRegion::default();
    region.collect(operator, range);
    let derived = if region.leaves.len() < 2 { Vec::new() } else { region.derive(origins) };
    derive_in_leaves(operator, range, origins);
    if !derived.is_empty() {
        let input = std::mem::replace(operator, RelationalOperator::SingleRow);
        *operator = with_filter(input, derived);
    }
}

/// Goes on with the regions below the leaves of a region.
fn derive_in_leaves(operator: &mut RelationalOperator, range: PlaceRange, origins: &ColumnOrigins) {
    match operator {
        RelationalOperator::Filter { input, .. } => {
            derive_in_leaves(input, range.input(), origins);
        }
        RelationalOperator::Join { variant, left, right, .. } => {
            let [left_range, right_range] = range.sides(right);
            let next = match variant {
                JoinVariant::Inner => derive_in_leaves,
                _ => derive_below,
            };
            next(left, left_range, origins);
            next(right, right_range, origins);
        }
        other => {
            let ranges = range.inputs(other);
            for (input, range) in other.inputs_mut().zip(ranges) {
                derive_below(input, range, origins);
            }
        }
    }
}

/// Inner joins and filters, with what they join and all their conditions.
#[derive(Default)]
struct JoinRegion<'p> {
    leaves: Vec<PlaceRange>,
    conditions: Vec<&'p ScalarExpression>,
}

impl<'p> JoinRegion<'p> {
    fn collect(&mut self, operator: &'p RelationalOperator, range: PlaceRange) {
        match operator {
            RelationalOperator::Filter { input, condition } => {
                self.collect(input, range.input());
                self.conditions.extend(conjuncts_of(condition));
            }
            RelationalOperator::Join { variant: JoinVariant::Inner, left, right, condition } => {
                let [left_range, right_range] = range.sides(right);
                self.collect(left, left_range);
                self.collect(right, right_range);
                self.conditions.extend(condition.iter().flat_map(conjuncts_of));
            }
            _ => self.leaves.push(range),
        }
    }

    /// Returns the conditions that follow.
    fn derive(&self, origins: &ColumnOrigins) -> Vec<ScalarExpression> {
        let mut derived = DerivedConditions::default();
        for condition in &self.conditions {
            derived.note(condition);
        }
        let classes = equivalence_classes(self.conditions.iter().copied());
        let mut class_of: HashMap<EquivalenceMember, usize> = HashMap::new();
        for (index, class) in classes.iter().enumerate() {
            class_of.extend(class.members.iter().map(|(member, _)| (*member, index)));
        }
        let conditions = self.conditions.iter().filter(|condition| may_move(condition));
        for condition in conditions {
            if control::is_stopped() {
                break;
            }
            if matches!(condition.kind, ScalarKind::Or(_)) {
                self.derive_branches(condition, origins, &mut derived);
            }
            let Some(member) = sole_member(condition) else { continue };
            let Some(class) = class_of.get(&member).and_then(|index| classes.get(*index)) else {
                continue;
            };
            spread(condition, member, class, &mut derived);
        }
        derived.added
    }

    /// Adds the parts of an OR that are about one leaf alone.
    fn derive_branches(
        &self,
        condition: &ScalarExpression,
        origins: &ColumnOrigins,
        derived: &mut DerivedConditions<'_>,
    ) {
        let branches: Vec<Vec<&ScalarExpression>> =
            disjuncts_of(condition).into_iter().map(conjuncts_of).collect();
        let Some(first) = branches.first() else { return };
        let touched = |leaf: &&PlaceRange| first.iter().any(|one| origins.are_within(one, **leaf));
        for leaf in self.leaves.iter().filter(touched) {
            if origins.are_within(condition, *leaf) {
                return;
            }
            let own_part = |branch: &Vec<&ScalarExpression>| {
                let own =
                    branch.iter().filter(|one| has_columns(one) && origins.are_within(one, *leaf));
                conjunction(own.map(|one| (*one).clone()).collect())
            };
            let parts: Option<Vec<ScalarExpression>> = branches.iter().map(own_part).collect();
            if let Some(condition) = parts.and_then(disjunction) {
                derived.add(condition);
            }
        }
    }
}

/// Adds a condition on a column for the columns that are equal to it.
fn spread(
    condition: &ScalarExpression,
    member: EquivalenceMember,
    class: &EquivalenceClass,
    derived: &mut DerivedConditions<'_>,
) {
    for (other, expression) in &class.members {
        if *other != member
            && let Some(condition) = with_member(condition, member, expression)
        {
            derived.add(condition);
        }
    }
}

/// Returns the column of a condition that has only one, always compared as one type.
fn sole_member(condition: &ScalarExpression) -> Option<EquivalenceMember> {
    if column_equality(condition).is_some() {
        return None;
    }
    let mut found = None;
    let is_sole = find_sole_member(condition, &mut found);
    found.filter(|_| is_sole)
}

fn find_sole_member(condition: &ScalarExpression, found: &mut Option<EquivalenceMember>) -> bool {
    match member_of(condition) {
        Some(member) => *found.get_or_insert(member) == member,
        None => condition.children().all(|child| find_sole_member(child, found)),
    }
}

/// Returns a condition with another column in place of its only one. `None` if it tells apart what
/// is equal: it must have its columns in comparisons only.
fn with_member(
    condition: &ScalarExpression,
    member: EquivalenceMember,
    other: &ScalarExpression,
) -> Option<ScalarExpression> {
    let replace = |all: &[ScalarExpression]| -> Option<Vec<ScalarExpression>> {
        all.iter().map(|one| with_member(one, member, other)).collect()
    };
    let operand_of = |one: &ScalarExpression| match member_of(one) {
        Some(own) => (own == member).then(|| other.clone()),
        None => (!has_columns(one)).then(|| one.clone()),
    };
    let kind = match &condition.kind {
        ScalarKind::And(operands) => ScalarKind::And(replace(operands)?),
        ScalarKind::Or(operands) => ScalarKind::Or(replace(operands)?),
        ScalarKind::Not(operand) => ScalarKind::Not(Box::new(with_member(operand, member, other)?)),
        ScalarKind::Operator { operator, operands } if is_comparison(operator) => {
            let operands: Option<Vec<_>> = operands.iter().map(operand_of).collect();
            ScalarKind::Operator { operator, operands: operands? }
        }
        ScalarKind::Quantified { operator, operand, elements, is_all }
            if is_comparison(operator) && !elements.iter().any(has_columns) =>
        {
            let (operand, elements) = (Box::new(operand_of(operand)?), elements.clone());
            ScalarKind::Quantified { operator, operand, elements, is_all: *is_all }
        }
        _ => return None,
    };
    Some(ScalarExpression { kind, ..condition.clone() })
}

/// Conditions to be added, none twice and none that is there.
#[derive(Default)]
struct DerivedConditions<'p> {
    added: Vec<ScalarExpression>,
    expressions: usize,
    known: HashMap<BTreeSet<ColumnId>, KnownConditions<'p>>,
}

/// Conditions on the same columns.
#[derive(Default)]
struct KnownConditions<'p> {
    written: Vec<&'p ScalarExpression>,
    added: Vec<usize>,
}

impl<'p> DerivedConditions<'p> {
    fn note(&mut self, condition: &'p ScalarExpression) {
        self.known.entry(columns_of(condition)).or_default().written.push(condition);
    }

    fn add(&mut self, condition: ScalarExpression) {
        let size = condition.count();
        let is_too_much = self.added.len() >= ADDED_MAX
            || self.expressions.saturating_add(size) > ADDED_EXPRESSIONS_MAX;
        if is_too_much {
            return;
        }
        let known = self.known.entry(columns_of(&condition)).or_default();
        let is_added = known.added.iter().any(|index| self.added[*index] == condition);
        if is_added || known.written.contains(&&condition) {
            return;
        }
        known.added.push(self.added.len());
        self.expressions += size;
        self.added.push(condition);
    }
}
