//! Moves conditions down to the inputs that have their columns.
//!
//! ```text
//! condition, about                 inner   left join           full join
//! WHERE: the left side             left    left                stays above
//! WHERE: the right side            right   stays above         stays above
//! WHERE: both                      join    stays above         stays above
//! ON: the left side                left    stays in the join   stays in the join
//! ON: the right side               right   right               stays in the join
//! ```
//!
//! Through Compute, Aggregate and Window (conditions on keys), Sort and set operations (into all
//! inputs), never through Limit. What may fail stays where it is ([`crate::properties`]), but for
//! computed columns of a query: PostgreSQL puts them into the conditions on the query, which become
//! its HAVING or WHERE, and computes them for the rows that are left.
//!
//! ```text
//! select x from (select a, sum(b) / sum(c) as x from t group by a) s where x > 2 and a < 3
//! Compute [x] <- Filter [sum(b) / sum(c) > 2] <- Aggregate <- Filter [a < 3]
//! ```

use std::collections::HashMap;

use super::places::{ColumnOrigins, PlaceRange};
use crate::algebra::conjuncts::{
    before_computed, columns_of, conjunction, has_columns, split_conjunction, with_computed,
    with_filter,
};
use crate::algebra::{
    ColumnId, ComputedColumn, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind,
    SetVariant,
};
use crate::control;
use crate::properties::{is_like, is_merged, may_move, never_fails};

/// Expressions in the value of a computed column that a condition is moved through.
const SUBSTITUTED_EXPRESSIONS_MAX: usize = 8;

/// Places the conditions of a plan.
pub(super) fn place_conditions(root: RelationalOperator) -> RelationalOperator {
    let pass = PlacementPass { origins: ColumnOrigins::of_plan(&root) };
    let range = PlaceRange::of_plan(&root);
    pass.place(root, range, Vec::new())
}

struct PlacementPass {
    origins: ColumnOrigins,
}

/// A condition that goes down, and the places that it has columns of.
struct PendingCondition {
    expression: ScalarExpression,
    span: PlaceRange,
}

/// A join that is taken apart, its inputs with their places.
struct OpenJoin {
    variant: JoinVariant,
    inputs: [RelationalOperator; 2],
    ranges: [PlaceRange; 2],
    condition: Option<ScalarExpression>,
}

impl PlacementPass {
    /// Places conditions of columns of this operator, and those below it.
    fn place(
        &self,
        operator: RelationalOperator,
        range: PlaceRange,
        pending: Vec<PendingCondition>,
    ) -> RelationalOperator {
        if control::is_stopped() {
            return operator;
        }
        if raises_columns(&operator) {
            return self.place_below_columns(operator, range, pending);
        }
        // What may fail has come through the columns of queries above, and goes no further.
        let is_moved = |one: &PendingCondition| may_move(&one.expression);
        let (pending, fixed): (Vec<_>, Vec<_>) = pending.into_iter().partition(is_moved);
        with_filter(self.place_moved(operator, range, pending), expressions(fixed))
    }

    /// Places conditions that may move.
    fn place_moved(
        &self,
        operator: RelationalOperator,
        range: PlaceRange,
        pending: Vec<PendingCondition>,
    ) -> RelationalOperator {
        match operator {
            RelationalOperator::Filter { input, condition } => {
                let (moved, kept) = self.with_own(condition, pending, may_move);
                if let RelationalOperator::Scan { .. } = *input {
                    // What is the same for all rows comes first, what may fail last, for the
                    // fewest rows.
                    let is_constant =
                        |one: &ScalarExpression| !has_columns(one) && never_fails(one);
                    let (mut all, kept): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_constant);
                    all.extend(expressions(moved).into_iter().chain(kept));
                    return with_filter(*input, all);
                }
                with_filter(self.place(*input, range.input(), moved), kept)
            }
            RelationalOperator::Join { variant, left, right, condition } => {
                let ranges = range.sides(&right);
                let inputs = [*left, *right];
                self.place_at_join(OpenJoin { variant, inputs, ranges, condition }, pending)
            }
            RelationalOperator::Compute { input, columns } => {
                let (moved, kept) = self.through_compute(pending, &columns, may_move);
                let input = Box::new(self.place(*input, range.input(), moved));
                with_filter(RelationalOperator::Compute { input, columns }, kept)
            }
            RelationalOperator::Aggregate { input, keys, aggregates, is_scalar } => {
                let (moved, kept) = split_by_keys(pending, &keys, &input);
                let input = Box::new(self.place(*input, range.input(), moved));
                let operator = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar };
                with_filter(operator, expressions(kept))
            }
            RelationalOperator::Window { input, partition, order, functions } => {
                // The others would see fewer rows of a partition.
                let (moved, kept) = split_by_keys(pending, &partition, &input);
                let input = Box::new(self.place(*input, range.input(), moved));
                let operator = RelationalOperator::Window { input, partition, order, functions };
                with_filter(operator, expressions(kept))
            }
            RelationalOperator::GroupingSets { input, keys, sets, aggregates, set_column } => {
                // A key is null in rows of some sets: conditions on it stay above.
                let input = Box::new(self.place(*input, range.input(), Vec::new()));
                let operator =
                    RelationalOperator::GroupingSets { input, keys, sets, aggregates, set_column };
                with_filter(operator, expressions(pending))
            }
            RelationalOperator::Sort { input, keys } => {
                let input = Box::new(self.place(*input, range.input(), pending));
                RelationalOperator::Sort { input, keys }
            }
            RelationalOperator::Limit { input, count, offset } => {
                let input = Box::new(self.place(*input, range.input(), Vec::new()));
                let limited = RelationalOperator::Limit { input, count, offset };
                with_filter(limited, expressions(pending))
            }
            other => self.place_at_set_operation(other, range, pending),
        }
    }

    /// Places conditions on a query below its columns that may fail, also such as may fail then.
    fn place_below_columns(
        &self,
        operator: RelationalOperator,
        range: PlaceRange,
        pending: Vec<PendingCondition>,
    ) -> RelationalOperator {
        match operator {
            RelationalOperator::Filter { input, condition } => {
                let (moved, kept) = self.with_own(condition, pending, is_of_query);
                with_filter(self.place(*input, range.input(), moved), kept)
            }
            RelationalOperator::Compute { input, columns } => {
                let (raised, columns): (Vec<_>, Vec<_>) =
                    columns.into_iter().partition(|one| !never_fails(&one.value));
                let (mut moved, mut above) = (Vec::new(), Vec::new());
                for PendingCondition { expression, .. } in pending {
                    let below = before_computed(&expression, &raised);
                    match below.filter(|below| is_of_query(&expression) && is_of_query(below)) {
                        Some(below) => moved.push(below),
                        None => above.push(expression),
                    }
                }
                let passes = if raises_columns(&input) { is_of_query } else { may_move };
                let (moved, fixed) = self.through_compute(self.pending(moved), &columns, passes);
                let input = self.place(*input, range.input(), moved);
                let below = with_filter(with_computed(input, columns), fixed);
                with_filter(with_computed(below, raised), above)
            }
            other => self.place_moved(other, range, pending),
        }
    }

    /// Splits the conjuncts of a filter. Returns the conditions that move down, its own before the
    /// pending ones, and the conjuncts of the filter that stay.
    fn with_own(
        &self,
        condition: ScalarExpression,
        mut pending: Vec<PendingCondition>,
        passes: fn(&ScalarExpression) -> bool,
    ) -> (Vec<PendingCondition>, Vec<ScalarExpression>) {
        let mut own = Vec::new();
        split_conjunction(condition, &mut own);
        let (moved, kept): (Vec<_>, Vec<_>) = own.into_iter().partition(passes);
        let mut moved = self.pending(moved);
        moved.append(&mut pending);
        (moved, kept)
    }

    /// Splits conditions above computed columns. Returns those that move down, with the columns'
    /// expressions in their place, and those that stay above.
    fn through_compute(
        &self,
        pending: Vec<PendingCondition>,
        columns: &[ComputedColumn],
        passes: fn(&ScalarExpression) -> bool,
    ) -> (Vec<PendingCondition>, Vec<ScalarExpression>) {
        let (mut moved, mut kept) = (Vec::new(), Vec::new());
        for PendingCondition { expression, .. } in pending {
            match below_compute(&expression, columns) {
                Some(below) if passes(&below) => moved.push(below),
                _ => kept.push(expression),
            }
        }
        (self.pending(moved), kept)
    }

    /// Gives each input of a set operation the conditions on what it hands on, if it is one; leaves
    /// keep theirs above them. Rows that are equal must satisfy them
    /// alike, if rows of one input are compared with those of another.
    fn place_at_set_operation(
        &self,
        mut operator: RelationalOperator,
        range: PlaceRange,
        pending: Vec<PendingCondition>,
    ) -> RelationalOperator {
        if let RelationalOperator::Expand { .. } = operator {
            return self.place_at_sets(operator, range, pending);
        }
        let ranges = range.inputs(&operator);
        let RelationalOperator::SetOperation { variant, columns, inputs } = &mut operator else {
            return with_filter(operator, expressions(pending));
        };
        let is_union = *variant == SetVariant::UnionAll;
        let (moved, kept): (Vec<_>, Vec<_>) = expressions(pending)
            .into_iter()
            .partition(|one| is_union || is_about_keys(one, columns));
        for (input, range) in inputs.iter_mut().zip(ranges) {
            let own: HashMap<ColumnId, ColumnId> =
                columns.iter().copied().zip(input.columns.iter().copied()).collect();
            let mut conditions = moved.clone();
            conditions.iter_mut().for_each(|condition| condition.rename(&own));
            let below = std::mem::replace(&mut input.operator, RelationalOperator::SingleRow);
            input.operator = self.place(below, range, self.pending(conditions));
        }
        with_filter(operator, kept)
    }

    /// Gives the input of functions of sets the conditions on its own columns.
    fn place_at_sets(
        &self,
        mut operator: RelationalOperator,
        range: PlaceRange,
        pending: Vec<PendingCondition>,
    ) -> RelationalOperator {
        let own = operator.own_columns();
        let (kept, mut moved): (Vec<_>, Vec<_>) = pending
            .into_iter()
            .partition(|one| columns_of(&one.expression).iter().any(|one| own.contains(one)));
        for input in operator.inputs_mut() {
            let below = std::mem::replace(input, RelationalOperator::SingleRow);
            *input = self.place(below, range.input(), std::mem::take(&mut moved));
        }
        with_filter(operator, expressions(kept))
    }

    fn place_at_join(&self, join: OpenJoin, pending: Vec<PendingCondition>) -> RelationalOperator {
        let OpenJoin { variant, inputs, ranges, condition } = join;
        let mut sides = [Vec::new(), Vec::new()];
        let (mut joined, mut above) = (Vec::new(), Vec::new());
        let mut own = Vec::new();
        condition.into_iter().for_each(|condition| split_conjunction(condition, &mut own));
        let is_kept = [variant.keeps_left(), variant.keeps_right()];
        let side_of =
            |one: &PendingCondition| ranges.iter().position(|range| one.span.is_within(*range));
        for condition in self.pending(own) {
            // Without a partner, a row of a side that is kept comes out all the same.
            match side_of(&condition).filter(|_| may_move(&condition.expression)) {
                Some(side) if !is_kept[side] => sides[side].push(condition),
                _ => joined.push(condition.expression),
            }
        }
        for condition in pending {
            // A side is padded with nulls if the join keeps all rows of the other side.
            match side_of(&condition) {
                Some(side) if !is_kept[1 - side] => sides[side].push(condition),
                None if variant == JoinVariant::Inner => joined.push(condition.expression),
                _ => above.push(condition.expression),
            }
        }
        let [left, right] = inputs;
        let [for_left, for_right] = sides;
        let left = Box::new(self.place(left, ranges[0], for_left));
        let right = Box::new(self.place(right, ranges[1], for_right));
        let condition = conjunction(joined);
        with_filter(RelationalOperator::Join { variant, left, right, condition }, above)
    }

    fn pending(&self, conditions: Vec<ScalarExpression>) -> Vec<PendingCondition> {
        let pending = |expression: ScalarExpression| {
            let span = self.origins.span(&expression);
            PendingCondition { expression, span }
        };
        conditions.into_iter().map(pending).collect()
    }
}

/// Whether an operator, perhaps below filters, computes columns that may fail, of a query on which
/// conditions become its own: not of one with windows, functions of sets, an order or a limit.
fn raises_columns(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Filter { input, .. } => raises_columns(input),
        RelationalOperator::Compute { input, columns } => {
            takes_conditions(input) && columns.iter().any(|one| !never_fails(&one.value))
        }
        _ => false,
    }
}

fn takes_conditions(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Filter { input, .. } | RelationalOperator::Compute { input, .. } => {
            takes_conditions(input)
        }
        RelationalOperator::Aggregate { .. } | RelationalOperator::GroupingSets { .. } => true,
        other => is_merged(other),
    }
}

/// Whether PostgreSQL makes a condition on a query in FROM one of that query.
fn is_of_query(condition: &ScalarExpression) -> bool {
    let is_once = |one: &ScalarExpression| matches!(one.kind, ScalarKind::Once(_));
    may_move(condition)
        || has_columns(condition) && !condition.is_volatile() && !condition.any(&is_once)
}

fn expressions(conditions: Vec<PendingCondition>) -> Vec<ScalarExpression> {
    conditions.into_iter().map(|one| one.expression).collect()
}

/// Returns what a condition is before columns are computed.
fn below_compute(
    condition: &ScalarExpression,
    columns: &[ComputedColumn],
) -> Option<ScalarExpression> {
    let used = columns_of(condition);
    let computed: Vec<&ComputedColumn> =
        columns.iter().filter(|one| used.contains(&one.column)).collect();
    let is_cheap = |one: &&ComputedColumn| {
        never_fails(&one.value) && one.value.count() <= SUBSTITUTED_EXPRESSIONS_MAX
    };
    if !computed.iter().all(is_cheap) {
        return None;
    }
    before_computed(condition, columns)
}

/// Splits conditions into those about keys alone and others. Those about keys that may fail are
/// others: these would be computed for the condition and for the keys.
fn split_by_keys(
    pending: Vec<PendingCondition>,
    keys: &[ColumnId],
    input: &RelationalOperator,
) -> (Vec<PendingCondition>, Vec<PendingCondition>) {
    let may_fail = |condition: &ScalarExpression| {
        let RelationalOperator::Compute { columns, .. } = input else { return false };
        let used = columns_of(condition);
        columns.iter().any(|one| used.contains(&one.column) && !never_fails(&one.value))
    };
    let is_moved =
        |one: &PendingCondition| is_about_keys(&one.expression, keys) && !may_fail(&one.expression);
    pending.into_iter().partition(is_moved)
}

/// Whether a condition is the same for all rows of a group or partition. LIKE on padded strings is
/// not: they may be equal and of different lengths.
fn is_about_keys(condition: &ScalarExpression, keys: &[ColumnId]) -> bool {
    let is_other = |one: &ScalarExpression| match &one.kind {
        ScalarKind::Column(column) => !keys.contains(column),
        ScalarKind::Operator { operator, .. } => {
            is_like(operator) && operator.left != Some(operator.right)
        }
        _ => false,
    };
    !condition.any(&is_other)
}
