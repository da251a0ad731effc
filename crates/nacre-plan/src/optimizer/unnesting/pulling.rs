//! Takes conditions about columns of the left side of a dependent join out of its right side.

use std::collections::HashSet;

use super::{DependentJoin, has_any, new_column};
use crate::algebra::conjuncts::{conjunction, split_conjunction, with_computed, with_filter};
use crate::algebra::{
    ColumnId, ComputedColumn, JoinVariant, QueryColumns, RelationalOperator, ScalarExpression,
    ScalarKind,
};
use crate::properties::{is_comparison, is_one_to_one};

impl DependentJoin {
    /// Has conditions of the right side about columns of the left one be conditions of the join.
    pub(super) fn pull_conditions(&mut self, columns: &mut QueryColumns) {
        let mut pass = PullingPass { outer: &self.outer, columns };
        let right = std::mem::replace(&mut self.right, RelationalOperator::SingleRow);
        self.right = pass.pull(right, &mut self.conditions);
    }
}

pub(super) struct PullingPass<'p> {
    pub(super) outer: &'p HashSet<ColumnId>,
    pub(super) columns: &'p mut QueryColumns,
}

/// A column of the right side that is equal to an expression of the left one.
pub(super) struct PulledKey {
    pub(super) outer: ScalarExpression,
    pub(super) inner: ScalarExpression,
    condition: ScalarExpression,
    is_inner_first: bool,
}

impl PullingPass<'_> {
    /// Moves the conditions of an operator that have outer columns to `pulled`; all columns of
    /// these that are not outer are handed on by the operator that is returned.
    pub(super) fn pull(
        &mut self,
        operator: RelationalOperator,
        pulled: &mut Vec<ScalarExpression>,
    ) -> RelationalOperator {
        match operator {
            RelationalOperator::Filter { input, condition } => {
                let input = self.pull(*input, pulled);
                with_filter(input, self.split(Some(condition), pulled))
            }
            RelationalOperator::Compute { input, columns } => {
                let input = Box::new(self.pull(*input, pulled));
                RelationalOperator::Compute { input, columns }
            }
            // Rows of a query within an expression have no order.
            RelationalOperator::Sort { input, .. } => self.pull(*input, pulled),
            RelationalOperator::Join { variant, left, right, condition } => {
                let (mut left, mut right, mut condition) = (left, right, condition);
                if !variant.keeps_right() {
                    left = Box::new(self.pull(*left, pulled));
                }
                if matches!(variant, JoinVariant::Inner | JoinVariant::Right) {
                    right = Box::new(self.pull(*right, pulled));
                }
                if variant == JoinVariant::Inner {
                    condition = conjunction(self.split(condition, pulled));
                }
                RelationalOperator::Join { variant, left, right, condition }
            }
            RelationalOperator::Aggregate { input, mut keys, aggregates, is_scalar: false } => {
                let mut own = Vec::new();
                let input = self.pull(*input, &mut own);
                let input = match self.key_conditions(own) {
                    Ok(equal) => {
                        let (input, added) = self.with_keys(input, equal, pulled);
                        let added = added.into_iter().filter(|key| !keys.contains(key));
                        let added: Vec<_> = added.collect();
                        keys.extend(added);
                        input
                    }
                    Err(conditions) => with_filter(input, conditions),
                };
                let input = Box::new(input);
                RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: false }
            }
            other => other,
        }
    }

    /// Moves the conjuncts that have outer columns to `pulled`; returns the others.
    fn split(
        &self,
        condition: Option<ScalarExpression>,
        pulled: &mut Vec<ScalarExpression>,
    ) -> Vec<ScalarExpression> {
        let mut own = Vec::new();
        condition.into_iter().for_each(|one| split_conjunction(one, &mut own));
        let (dependent, kept): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|one| has_any(one, self.outer));
        pulled.extend(dependent);
        kept
    }

    /// Returns conditions as equalities of an outer and an inner expression; as they are if one is
    /// something else.
    pub(super) fn key_conditions(
        &self,
        conditions: Vec<ScalarExpression>,
    ) -> Result<Vec<PulledKey>, Vec<ScalarExpression>> {
        let keys: Option<Vec<PulledKey>> =
            conditions.iter().map(|one| self.key_condition(one)).collect();
        keys.ok_or(conditions)
    }

    fn key_condition(&self, condition: &ScalarExpression) -> Option<PulledKey> {
        let ScalarKind::Operator { operator, operands } = &condition.kind else { return None };
        let [first, second] = &operands[..] else { return None };
        if operator.name != "=" || !is_comparison(operator) || !is_one_to_one(operator) {
            return None;
        }
        let is_outer = |one: &ScalarExpression| {
            let mut own = HashSet::new();
            one.collect_columns(&mut own);
            !own.is_empty() && own.is_subset(self.outer)
        };
        let is_inner_first = match (is_outer(first), is_outer(second)) {
            (true, false) if !has_any(second, self.outer) => false,
            (false, true) if !has_any(first, self.outer) => true,
            _ => return None,
        };
        let (inner, outer) = if is_inner_first { (first, second) } else { (second, first) };
        Some(PulledKey {
            outer: outer.clone(),
            inner: inner.clone(),
            condition: condition.clone(),
            is_inner_first,
        })
    }

    /// Adds the inner sides of equalities as columns, and the equalities with these to `pulled`.
    pub(super) fn with_keys(
        &mut self,
        input: RelationalOperator,
        equal: Vec<PulledKey>,
        pulled: &mut Vec<ScalarExpression>,
    ) -> (RelationalOperator, Vec<ColumnId>) {
        let (mut keys, mut computed) = (Vec::new(), Vec::new());
        for PulledKey { outer, inner, condition, is_inner_first } in equal {
            let (sql_type, range) = (inner.sql_type, inner.range);
            let column = match inner.kind {
                ScalarKind::Column(column) => column,
                _ => {
                    let column = new_column("key", sql_type, self.columns);
                    computed.push(ComputedColumn { column, value: inner });
                    column
                }
            };
            if !keys.contains(&column) {
                keys.push(column);
            }
            let own = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
            let operands = if is_inner_first { vec![own, outer] } else { vec![outer, own] };
            let ScalarKind::Operator { operator, .. } = condition.kind else { continue };
            let kind = ScalarKind::Operator { operator, operands };
            pulled.push(ScalarExpression { kind, ..condition });
        }
        (with_computed(input, computed), keys)
    }
}
