//! Takes conjuncts that all branches of an OR have out of it, so that they can be conditions of
//! joins (TPC-H Q19).
//!
//! ```text
//! (a.k = b.k and X) or (a.k = b.k and Y)    a.k = b.k and (X or Y)
//! (A and X) or A                            A
//! ```
//!
//! Both forms are equal in three-valued logic. A conjunct that may fail stays in its branches,
//! where others may guard it.

use crate::algebra::conjuncts::{
    conjunction, conjuncts_of, disjunction, disjuncts_of, split_conjunction,
};
use crate::algebra::{JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::control;
use crate::properties::may_move;

/// Conjuncts that are compared with each other for one condition.
const COMPARISONS_MAX: usize = 10_000;

/// Factors the conditions of filters and inner joins.
pub(super) fn factor_conditions(operator: &mut RelationalOperator) {
    if control::is_stopped() {
        return;
    }
    match operator {
        RelationalOperator::Filter { condition, .. }
        | RelationalOperator::Join {
            variant: JoinVariant::Inner,
            condition: Some(condition),
            ..
        } => factor_condition(condition),
        _ => {}
    }
    operator.inputs_mut().for_each(factor_conditions);
}

fn factor_condition(condition: &mut ScalarExpression) {
    let is_factored = |one: &&ScalarExpression| factor_disjunction(one).is_some();
    if !conjuncts_of(condition).iter().any(is_factored) {
        return;
    }
    let mut conjuncts = Vec::new();
    split_conjunction(condition.clone(), &mut conjuncts);
    let mut factored = Vec::with_capacity(conjuncts.len());
    for conjunct in conjuncts {
        match factor_disjunction(&conjunct) {
            Some(parts) => factored.extend(parts),
            None => factored.push(conjunct),
        }
    }
    if let Some(all) = conjunction(factored) {
        *condition = all;
    }
}

/// Returns the conjuncts that an OR is equal to; `None` if its branches have none in common.
fn factor_disjunction(condition: &ScalarExpression) -> Option<Vec<ScalarExpression>> {
    if !matches!(condition.kind, ScalarKind::Or(_)) {
        return None;
    }
    let branches: Vec<Vec<&ScalarExpression>> =
        disjuncts_of(condition).into_iter().map(conjuncts_of).collect();
    let (first, others) = branches.split_first()?;
    let count: usize = others.iter().map(Vec::len).sum();
    if count.saturating_mul(first.len()) > COMPARISONS_MAX {
        return None;
    }
    let is_everywhere = |one: &&&ScalarExpression| others.iter().all(|other| other.contains(one));
    let common: Vec<&ScalarExpression> =
        first.iter().filter(is_everywhere).filter(|one| may_move(one)).copied().collect();
    if common.is_empty() {
        return None;
    }
    let mut parts: Vec<ScalarExpression> = common.iter().map(|one| (*one).clone()).collect();
    let mut rests = Vec::with_capacity(branches.len());
    for branch in &branches {
        let rest = branch.iter().filter(|one| !common.contains(one));
        match conjunction(rest.map(|one| (*one).clone()).collect()) {
            Some(rest) => rests.push(rest),
            // A branch of nothing else is true wherever the common part is.
            None => return Some(parts),
        }
    }
    parts.extend(disjunction(rests));
    Some(parts)
}
