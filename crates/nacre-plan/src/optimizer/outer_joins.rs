//! Makes outer joins inner ones, or those of one side, where a condition above refuses the rows
//! that they fill up with nulls.
//!
//! ```text
//! a left join b ... where b.x = 1            a join b
//! a full join b ... where a.x > 0            a left join b
//! a left join (b left join c ...) on a.x = c.y    a left join (b join c)
//! ```

use std::cell::Cell;

use super::null_logic::possible_outcomes;
use super::places::{ColumnOrigins, PlaceRange};
use crate::algebra::conjuncts::{before_computed, conjuncts_of};
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::control;

/// Simplifies the outer joins of a plan; returns whether there was such a join.
pub(super) fn simplify_outer_joins(root: &mut RelationalOperator) -> bool {
    let (origins, is_changed) = (ColumnOrigins::of_plan(root), Cell::new(false));
    let range = PlaceRange::of_plan(root);
    let pass = OuterJoinPass { origins, is_changed };
    pass.simplify(root, range, &[]);
    pass.is_changed.get()
}

struct OuterJoinPass {
    origins: ColumnOrigins,
    is_changed: Cell<bool>,
}

/// A condition that is true for all rows that are wanted, and the places that it has columns of.
#[derive(Clone, Copy)]
struct RequiredCondition<'p> {
    condition: &'p ScalarExpression,
    span: PlaceRange,
}

impl OuterJoinPass {
    /// Simplifies the joins of an operator, of whose rows only those are wanted for which all
    /// `required` are true.
    fn simplify(
        &self,
        operator: &mut RelationalOperator,
        range: PlaceRange,
        required: &[RequiredCondition<'_>],
    ) {
        if control::is_stopped() {
            return;
        }
        match operator {
            RelationalOperator::Filter { input, condition } => {
                let mut all = required.to_vec();
                all.extend(self.conditions(condition));
                self.simplify(input, range.input(), &all);
            }
            RelationalOperator::Compute { input, columns } => {
                let below: Vec<ScalarExpression> = required
                    .iter()
                    .filter_map(|one| before_computed(one.condition, columns))
                    .collect();
                let all: Vec<_> = below.iter().flat_map(|one| self.conditions(one)).collect();
                self.simplify(input, range.input(), &all);
            }
            RelationalOperator::Sort { input, .. } => {
                self.simplify(input, range.input(), required);
            }
            RelationalOperator::Aggregate { input, keys, .. }
            | RelationalOperator::Window { input, partition: keys, .. } => {
                let is_other = |one: &ScalarExpression| match &one.kind {
                    ScalarKind::Column(column) => !keys.contains(column),
                    _ => false,
                };
                let is_known = |one: &&RequiredCondition<'_>| !one.condition.any(&is_other);
                let kept: Vec<_> = required.iter().filter(is_known).copied().collect();
                self.simplify(input, range.input(), &kept);
            }
            RelationalOperator::Join { variant, left, right, condition } => {
                let [left_range, right_range] = range.sides(right);
                self.simplify_join(variant, [left_range, right_range], required);
                let own: Vec<_> =
                    condition.iter().flat_map(|condition| self.conditions(condition)).collect();
                let below = |is_kept: bool, is_filled: bool, side: PlaceRange| {
                    // Rows of a side that is filled up are wanted for what they keep away.
                    let above = if is_filled { &[][..] } else { required };
                    let own = if is_kept { &[][..] } else { &own[..] };
                    let all = above.iter().chain(own).copied();
                    all.filter(|one| one.span.may_touch(side)).collect::<Vec<_>>()
                };
                let for_left = below(variant.keeps_left(), variant.keeps_right(), left_range);
                let for_right = below(variant.keeps_right(), variant.keeps_left(), right_range);
                self.simplify(left, left_range, &for_left);
                self.simplify(right, right_range, &for_right);
            }
            // Other rows of the inputs matter, too.
            _ => {
                let ranges = range.inputs(operator);
                for (input, range) in operator.inputs_mut().zip(ranges) {
                    self.simplify(input, range, &[]);
                }
            }
        }
    }

    /// Has a join keep no rows that the `required` conditions refuse.
    fn simplify_join(
        &self,
        variant: &mut JoinVariant,
        [left, right]: [PlaceRange; 2],
        required: &[RequiredCondition<'_>],
    ) {
        let written = *variant;
        let is_outer = matches!(written, JoinVariant::Left | JoinVariant::Full);
        if is_outer && self.refuses_nulls(required, right) {
            *variant = without_left(*variant);
        }
        if variant.keeps_right() && self.refuses_nulls(required, left) {
            *variant = without_right(*variant);
        }
        if *variant != written {
            self.is_changed.set(true);
        }
    }

    fn conditions<'p>(&self, condition: &'p ScalarExpression) -> Vec<RequiredCondition<'p>> {
        let required = |condition| {
            let span = self.origins.span(condition);
            RequiredCondition { condition, span }
        };
        conjuncts_of(condition).into_iter().map(required).collect()
    }

    /// Whether rows whose columns of these places are all null are not wanted.
    fn refuses_nulls(&self, required: &[RequiredCondition<'_>], range: PlaceRange) -> bool {
        let is_null = |column: ColumnId| self.origins.is_within(column, range);
        let mut about = required.iter().filter(|one| one.span.may_touch(range));
        about.any(|one| !possible_outcomes(one.condition, &is_null).can_be_true)
    }
}

/// Returns the join that does not keep rows of the left side without a partner.
fn without_left(variant: JoinVariant) -> JoinVariant {
    if variant.keeps_right() { JoinVariant::Right } else { JoinVariant::Inner }
}

/// Returns the join that does not keep rows of the right side without a partner.
fn without_right(variant: JoinVariant) -> JoinVariant {
    if variant.keeps_left() { JoinVariant::Left } else { JoinVariant::Inner }
}
