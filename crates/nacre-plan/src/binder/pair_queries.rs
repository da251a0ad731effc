//! Queries within expressions that may fail, as rows that do not and conditions on pairs: of a row
//! that the expression is evaluated for, and a row of the query.
//!
//! ```text
//! exists (select 1 from u where u.k = t.k + 1)          u; u.k = t.k + 1
//! t.k + 1 in (select u.k * 2 from u where u.b = t.b)    u; u.b = t.b, t.k + 1 = u.k * 2
//! ```
//!
//! PostgreSQL runs such a query for each row, up to the first of its rows that decides. A join
//! takes a row's partners one after the other for conditions that may fail, up to the same.
//!
//! # Invariants
//! 1. The rows never fail but for joins of FROM, which have the same rows each time.
//! 2. Conditions that never fail are the first ones; the test comes after all of them.

use std::collections::HashSet;

use nacre_types::SqlType;

use super::subquery_joins::without_outputs;
use crate::algebra::conjuncts::{
    before_computed, conjunction, split_conjunction, with_filter, without_conditions,
};
use crate::algebra::{
    BoundSubquery, ColumnId, ComputedColumn, JoinVariant, RelationalOperator, ScalarExpression,
    ScalarKind, SetInput, SetVariant, SubqueryForm,
};
use crate::properties::{never_fails, own_query_never_fails, query_never_fails};

/// Rows of a query, and what is asked of pairs with them.
#[derive(Clone, Debug)]
pub(super) struct PairQuery {
    pub(super) root: RelationalOperator,
    pub(super) conditions: Vec<ScalarExpression>,
    /// Of IN and the like.
    pub(super) test: Option<ScalarExpression>,
}

impl PairQuery {
    /// Takes the conditions of a query out of it; `None` if what is left may fail.
    pub(super) fn of(root: RelationalOperator, test: Option<ScalarExpression>) -> Option<Self> {
        let mut query = Self { root, conditions: Vec::new(), test };
        loop {
            let root = std::mem::replace(&mut query.root, RelationalOperator::SingleRow);
            query.root =
                match root {
                    RelationalOperator::Filter { input, condition } => {
                        let mut own = Vec::new();
                        split_conjunction(condition, &mut own);
                        own.append(&mut query.conditions);
                        query.conditions = own;
                        *input
                    }
                    RelationalOperator::Compute { input, columns } => {
                        query.replace_columns(&columns)?;
                        *input
                    }
                    // DISTINCT: the same row once more decides nothing.
                    RelationalOperator::Aggregate {
                        input, aggregates, is_scalar: false, ..
                    } if aggregates.is_empty() && query.conditions.is_empty() => *input,
                    other => {
                        query.root = other;
                        break;
                    }
                };
        }
        let outer = query.root.free_columns();
        if !outer.is_empty() {
            // Conditions below the joins that other queries within have become.
            let mut own = Vec::new();
            query.root = without_conditions(query.root, &outer, &mut own);
            own.append(&mut query.conditions);
            query.conditions = own;
        }
        let is_possible = has_infallible_rows(&query.root)
            && !query.conditions.iter().chain(&query.test).any(ScalarExpression::is_volatile);
        let (mut conditions, fallible): (Vec<_>, Vec<_>) =
            query.conditions.into_iter().partition(never_fails);
        conditions.extend(fallible);
        is_possible.then_some(Self { conditions, ..query })
    }

    /// Puts what columns are computed by into the conditions; `None` if they get too large.
    fn replace_columns(&mut self, columns: &[ComputedColumn]) -> Option<()> {
        for own in self.conditions.iter_mut().chain(&mut self.test) {
            *own = before_computed(own, columns)?;
        }
        Some(())
    }

    /// Returns the query that this was made of, without what makes no difference.
    pub(super) fn into_subquery(self) -> BoundSubquery {
        let Self { root, conditions, test } = self;
        let form = test.map_or(SubqueryForm::Exists, SubqueryForm::Any);
        BoundSubquery { form, root: with_filter(root, conditions) }
    }

    /// Whether PostgreSQL makes a join as those of FROM of EXISTS, if it is a condition.
    pub(super) fn is_join(&self) -> bool {
        let is_from = matches!(
            self.root,
            RelationalOperator::Scan { .. }
                | RelationalOperator::Sample { .. }
                | RelationalOperator::CommonScan { .. }
                | RelationalOperator::Values { .. }
                | RelationalOperator::Series { .. }
                | RelationalOperator::Join { .. }
        );
        is_from && self.root.free_columns().is_empty()
    }

    /// Whether the rows never fail.
    pub(super) fn has_safe_rows(&self) -> bool {
        query_never_fails(&self.root)
    }

    /// Whether PostgreSQL may make a hash table of the query, and there is no key that never fails:
    /// what has columns of both sides are equalities.
    pub(super) fn is_hashed(&self) -> bool {
        let sides = PairSides::of(&self.root);
        let mut tests = Vec::new();
        self.test.iter().for_each(|test| split_conjunction(test.clone(), &mut tests));
        let is_about_own = |one: &ScalarExpression| sides.is_inner(one);
        // Rows of IN are those of the query for all rows alike.
        let is_alone = self.test.is_none() || self.conditions.iter().all(is_about_own);
        let mut pairs = self.conditions.iter().filter(|one| !is_about_own(one)).chain(&tests);
        self.root.free_columns().is_empty()
            && is_alone
            && pairs.all(|one| sides.equal(one).is_some() && !never_fails(one))
    }

    /// Whether a key of the query's own rows may fail.
    pub(super) fn has_fallible_inner_key(&self) -> bool {
        let mut tests = self.pair_tests();
        self.inner_keys(&mut tests).into_iter().any(|key| !never_fails(key))
    }

    /// Returns the conditions that are not about the query's own rows alone, and the test.
    pub(super) fn pair_tests(&self) -> Vec<ScalarExpression> {
        let sides = PairSides::of(&self.root);
        let pairs = self.conditions.iter().filter(|one| !sides.is_inner(one));
        let mut tests: Vec<_> = pairs.cloned().collect();
        self.test.iter().for_each(|test| split_conjunction(test.clone(), &mut tests));
        tests
    }

    /// Returns the operands about the query's own rows of those tests that are equalities of keys.
    pub(super) fn inner_keys<'t>(
        &self,
        tests: &'t mut [ScalarExpression],
    ) -> Vec<&'t mut ScalarExpression> {
        let sides = PairSides::of(&self.root);
        let key = |test: &'t mut ScalarExpression| {
            let [_, inner] = sides.equal(test)?;
            match &mut test.kind {
                ScalarKind::Operator { operands, .. } => operands.get_mut(inner),
                _ => None,
            }
        };
        tests.iter_mut().filter_map(key).collect()
    }

    /// Returns what may fail of the keys about rows outside.
    pub(super) fn fallible_outer_keys(&mut self) -> Vec<&mut ScalarExpression> {
        let sides = PairSides::of(&self.root);
        let mut open: Vec<&mut ScalarExpression> =
            self.conditions.iter_mut().chain(&mut self.test).collect();
        let mut keys = Vec::new();
        while let Some(one) = open.pop() {
            let outer = sides.equal(one).map(|[outer, _]| outer);
            match (&mut one.kind, outer) {
                (ScalarKind::And(operands), _) => open.extend(operands),
                (ScalarKind::Operator { operands, .. }, Some(outer)) => {
                    keys.extend(operands.get_mut(outer).filter(|key| !never_fails(key)));
                }
                _ => {}
            }
        }
        keys
    }

    /// Returns the rows that conditions on them alone leave.
    pub(super) fn own_rows(&self) -> RelationalOperator {
        let sides = PairSides::of(&self.root);
        let own = self.conditions.iter().filter(|one| sides.is_inner(one));
        with_filter(self.root.clone(), own.cloned().collect())
    }

    /// Whether an expression has columns of rows outside alone.
    pub(super) fn is_outer(&self, expression: &ScalarExpression) -> bool {
        let mut used = HashSet::new();
        expression.collect_columns(&mut used);
        used.is_disjoint(&PairSides::of(&self.root).own)
    }

    /// Returns what all pairs must satisfy.
    pub(super) fn condition(&self) -> Option<ScalarExpression> {
        conjunction(self.conditions.iter().chain(&self.test).cloned().collect())
    }
}

/// Which columns of pairs are those of the query.
struct PairSides {
    own: HashSet<ColumnId>,
}

impl PairSides {
    fn of(root: &RelationalOperator) -> Self {
        let mut own = HashSet::new();
        root.collect_made_columns(&mut own);
        Self { own }
    }

    /// Whether an expression has columns of the query alone.
    fn is_inner(&self, expression: &ScalarExpression) -> bool {
        let mut used = HashSet::new();
        expression.collect_columns(&mut used);
        used.is_subset(&self.own)
    }

    /// Returns the places of the operand about the row outside, and of that about the query's row,
    /// if a condition is an equality of these.
    fn equal(&self, condition: &ScalarExpression) -> Option<[usize; 2]> {
        let ScalarKind::Operator { operator, operands } = &condition.kind else { return None };
        let [first, second] = &operands[..] else { return None };
        if operator.name != "=" {
            return None;
        }
        let is_own = [first, second].map(|operand| {
            let mut used = HashSet::new();
            operand.collect_columns(&mut used);
            let is_inner = !used.is_empty() && used.is_subset(&self.own);
            let is_outer = !used.is_empty() && used.is_disjoint(&self.own);
            is_inner.then_some(true).or(is_outer.then_some(false))
        });
        match is_own {
            [Some(false), Some(true)] => Some([0, 1]),
            [Some(true), Some(false)] => Some([1, 0]),
            _ => None,
        }
    }
}

/// Whether the rows of a query never fail, or are those of joins of FROM, whose conditions alone
/// may: they have no columns of queries around.
fn has_infallible_rows(root: &RelationalOperator) -> bool {
    own_query_never_fails(root) || root.free_columns().is_empty() && has_fallible_joins(root)
}

fn has_fallible_joins(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Join { variant, left, right, .. } => {
            let is_side = |side| own_query_never_fails(side) || has_fallible_joins(side);
            *variant != JoinVariant::Single && is_side(left) && is_side(right)
        }
        _ => false,
    }
}

/// Has EXISTS of rows put together ask one part after the other, if that may fail.
pub(super) fn ask_for_parts(expression: &mut ScalarExpression) {
    let (is_negated, subquery) = match &expression.kind {
        ScalarKind::Not(inner) => match &inner.kind {
            ScalarKind::Subquery(subquery) => (true, Some(subquery)),
            _ => (false, None),
        },
        ScalarKind::Subquery(subquery) => (false, Some(subquery)),
        _ => (false, None),
    };
    let Some(inputs) = subquery.and_then(|subquery| fallible_parts(subquery)) else {
        return expression.children_mut().for_each(ask_for_parts);
    };
    let boolean = |kind| ScalarExpression::new(kind, SqlType::BOOLEAN, expression.range);
    let part = |input: SetInput| {
        let own = BoundSubquery { form: SubqueryForm::Exists, root: input.operator };
        let mut own = boolean(ScalarKind::Subquery(Box::new(own)));
        if is_negated {
            own = boolean(ScalarKind::Not(Box::new(own)));
        }
        ask_for_parts(&mut own);
        own
    };
    let parts = inputs.into_iter().map(part).collect();
    expression.kind = if is_negated { ScalarKind::And(parts) } else { ScalarKind::Or(parts) };
}

/// Returns the parts that EXISTS looks for a row in, if one of several may fail.
fn fallible_parts(subquery: &BoundSubquery) -> Option<Vec<SetInput>> {
    let is_possible =
        subquery.form == SubqueryForm::Exists && !own_query_never_fails(&subquery.root);
    let root = is_possible.then(|| without_outputs(subquery.root.clone()))?;
    match root {
        RelationalOperator::SetOperation { variant: SetVariant::UnionAll, inputs, .. } => {
            Some(inputs)
        }
        _ => None,
    }
}
