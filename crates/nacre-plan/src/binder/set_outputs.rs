//! Functions of sets among the outputs of SELECT, and what stands beside them.
//!
//! PostgreSQL sorts first if no key has a set, so that LIMIT takes the first values of a row. What
//! stands beside sets and may fail is computed where PostgreSQL does so:
//!
//! ```text
//! select 1 / a, unnest(x)              for each row, also of an empty set
//! select 1 / a, f(unnest(x))           for each value
//! select 1 / a, unnest(f(unnest(x)))   for each value of the inner set
//! ... order by a                       for each row, before the sort
//! ```
//!
//! # Source
//! PostgreSQL 15, `split_pathtarget_at_srfs` and `make_sort_input_target`.

use nacre_syntax::{DistinctClause, QueryExpression, RowLimit, SelectCore};
use nacre_types::SqlType;

use super::Binder;
use super::first_rows::value_of;
use super::ordering::{BoundSortItem, SortValue};
use super::select::BoundTarget;
use crate::algebra::{RelationalOperator, ScalarExpression, ScalarKind};
use crate::error::BindError;
use crate::properties::never_fails;

impl Binder<'_> {
    /// Expands the functions of sets among the outputs and keys of a SELECT.
    pub(super) fn expand_outputs(
        &mut self,
        (core, query): (&SelectCore, &QueryExpression),
        mut root: RelationalOperator,
        targets: &mut [BoundTarget],
        order: &mut Vec<BoundSortItem>,
    ) -> Result<RelationalOperator, BindError> {
        let has_order = core.distinct == DistinctClause::All && !order.is_empty();
        let has_ties = matches!(query.limit, Some(RowLimit::WithTies(_)));
        let has_late_keys = order.iter().any(|item| has_sets(value_of(&item.value, targets)));
        let is_sorted_first = has_order && !has_late_keys;
        let wants_places = has_order && !has_ties;
        let values = targets.iter_mut().map(|target| &mut target.value);
        let values = values.chain(order.iter_mut().filter_map(BoundSortItem::hidden_mut));
        let (sets, beside): (Vec<_>, Vec<_>) = values.partition(|value| has_sets(value));
        if sets.is_empty() {
            return Ok(root);
        }
        if matches!(core.distinct, DistinctClause::On(_)) {
            return Err(BindError::not_supported("sets below DISTINCT ON", core.range));
        }
        let mut beside: Vec<_> = beside.into_iter().filter(|value| !never_fails(value)).collect();
        let is_above = !is_sorted_first && are_sets_within(&sets);
        if let Some(value) = beside.iter().find(|value| !is_above && value.is_volatile()) {
            let what = "random values beside functions of sets";
            return Err(BindError::not_supported(what, value.range));
        }
        if is_above {
            beside.clear();
        } else if is_sorted_first {
            root = self.compute_values(root, std::mem::take(&mut beside));
        }
        let mut places = Vec::new();
        if wants_places && is_sorted_first {
            // The sets of rows with equal keys follow one another.
            let (numbered, number) = self.with_row_numbers(root, query.range)?;
            root = numbered;
            places.push(number);
        }
        let (root, inner) = self.expand_sets(root, sets, beside, wants_places)?;
        places.extend(inner);
        for column in places {
            let kind = ScalarKind::Column(column);
            let value = ScalarExpression::new(kind, SqlType::BIGINT, query.range);
            let (value, range) = (SortValue::Hidden(Box::new(value)), query.range);
            let (is_descending, nulls_first) = (false, false);
            order.push(BoundSortItem { value, range, is_descending, nulls_first });
        }
        Ok(root)
    }
}

pub(super) fn has_sets(expression: &ScalarExpression) -> bool {
    set_depth(expression) > 0
}

/// Returns how deep functions of sets are nested.
fn set_depth(expression: &ScalarExpression) -> usize {
    let inner = expression.children().map(set_depth).max().unwrap_or(0);
    inner + usize::from(is_set(expression))
}

fn is_set(expression: &ScalarExpression) -> bool {
    match &expression.kind {
        ScalarKind::Function { function, .. } => function.returns_set,
        _ => false,
    }
}

/// Whether one of the sets that are nested deepest is part of an expression: that is computed above
/// all sets, and so is what stands beside it.
fn are_sets_within(values: &[&mut ScalarExpression]) -> bool {
    let deepest = values.iter().map(|value| set_depth(value)).max();
    values.iter().any(|value| Some(set_depth(value)) == deepest && !is_set(value))
}
