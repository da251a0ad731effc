//! Makes outer joins inner ones, or those of one side, where a condition above refuses the rows
//! that they fill up with nulls.
//!
//! ```text
//! a left join b ... where b.x = 1            a join b
//! a full join b ... where a.x > 0            a left join b
//! a left join (b left join c ...) on a.x = c.y    a left join (b join c)
//! ```

use super::conjuncts::{ColumnOrigins, PlaceRange, conjuncts_of};
use super::null_logic::possible_outcomes;
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression};

/// Simplifies the outer joins of a plan.
pub(super) fn simplify_outer_joins(root: &mut RelationalOperator) {
    let origins = ColumnOrigins::of_plan(root);
    let range = PlaceRange::of_plan(root);
    OuterJoinPass { origins }.simplify(root, range, &[]);
}

struct OuterJoinPass {
    origins: ColumnOrigins,
}

impl OuterJoinPass {
    /// Simplifies the joins of an operator, of whose rows only those are wanted for which all
    /// `required` are true.
    fn simplify(
        &self,
        operator: &mut RelationalOperator,
        range: PlaceRange,
        required: &[&ScalarExpression],
    ) {
        match operator {
            RelationalOperator::SingleRow | RelationalOperator::Scan { .. } => {}
            RelationalOperator::Filter { input, condition } => {
                let mut all = required.to_vec();
                all.extend(conjuncts_of(condition));
                self.simplify(input, range.input(), &all);
            }
            RelationalOperator::Compute { input, .. } | RelationalOperator::Sort { input, .. } => {
                // Conditions on computed columns are not known below.
                let kept = self.about(required, range.input());
                self.simplify(input, range.input(), &kept);
            }
            RelationalOperator::Aggregate { input, keys, .. } => {
                let is_key = |column: ColumnId| keys.contains(&column);
                let kept: Vec<_> =
                    required.iter().filter(|one| is_about(one, &is_key)).copied().collect();
                self.simplify(input, range.input(), &kept);
            }
            RelationalOperator::Limit { input, .. } => self.simplify(input, range.input(), &[]),
            RelationalOperator::Join { variant, left, right, condition } => {
                let [left_range, right_range] = range.sides(left);
                if variant.keeps_left() && self.refuses_nulls(required, right_range) {
                    *variant = without_left(*variant);
                }
                if variant.keeps_right() && self.refuses_nulls(required, left_range) {
                    *variant = without_right(*variant);
                }
                let own: Vec<_> = condition.as_ref().map(conjuncts_of).unwrap_or_default();
                let below = |is_kept: bool, is_filled: bool, side: PlaceRange| {
                    // Rows of a side that is filled up are wanted for what they keep away.
                    let above = if is_filled { &[][..] } else { required };
                    let own = if is_kept { &[][..] } else { &own[..] };
                    let all: Vec<_> = above.iter().chain(own).copied().collect();
                    self.touching(&all, side)
                };
                let for_left = below(variant.keeps_left(), variant.keeps_right(), left_range);
                let for_right = below(variant.keeps_right(), variant.keeps_left(), right_range);
                self.simplify(left, left_range, &for_left);
                self.simplify(right, right_range, &for_right);
            }
        }
    }

    /// Whether rows whose columns of these places are all null are not wanted.
    fn refuses_nulls(&self, required: &[&ScalarExpression], range: PlaceRange) -> bool {
        let is_null = |column: ColumnId| self.origins.is_within(column, range);
        required.iter().any(|condition| !possible_outcomes(condition, &is_null).can_be_true)
    }

    /// Returns the conditions all of whose columns come from these places.
    fn about<'c>(
        &self,
        conditions: &[&'c ScalarExpression],
        range: PlaceRange,
    ) -> Vec<&'c ScalarExpression> {
        let is_about = |one: &&&ScalarExpression| self.origins.are_within(one, range);
        conditions.iter().filter(is_about).copied().collect()
    }

    /// Returns the conditions that have a column from these places.
    fn touching<'c>(
        &self,
        conditions: &[&'c ScalarExpression],
        range: PlaceRange,
    ) -> Vec<&'c ScalarExpression> {
        let is_within = |one: &ScalarExpression| match one.kind {
            crate::algebra::ScalarKind::Column(column) => self.origins.is_within(column, range),
            _ => false,
        };
        conditions.iter().filter(|condition| condition.any(&is_within)).copied().collect()
    }
}

fn is_about(condition: &ScalarExpression, is_known: &dyn Fn(ColumnId) -> bool) -> bool {
    match condition.kind {
        crate::algebra::ScalarKind::Column(column) => is_known(column),
        _ => condition.children().into_iter().all(|child| is_about(child, is_known)),
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
