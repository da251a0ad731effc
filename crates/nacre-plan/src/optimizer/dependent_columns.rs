//! Which columns follow from others: rows that are equal in the one are equal in the other.
//!
//! ```text
//! GROUP BY c_custkey, c_name, n_name       c_custkey is the key of customer, so that c_name and
//!                                          c_nationkey follow; this is the key of nation
//! ```
//!
//! | operator | what follows |
//! |---|---|
//! | scan | all columns from those of the primary key |
//! | condition | columns that are equal from each other; what equals a constant from nothing |
//! | new columns | each from the columns of its expression |
//! | groups | aggregates from the keys |
//! | other side of an outer join | only what follows from columns that are null in no other row |
//!
//! Null is equal to null here, as it is in groups.

use std::collections::HashSet;

use nacre_functions::catalog::FunctionVolatility;
use nacre_types::catalog::TypeOid;

use super::equivalence::column_equality;
use crate::algebra::conjuncts::conjuncts_of;
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::properties::{is_comparison, is_total};

/// Keys that are looked at: each takes time linear in the size of the query.
const KEYS_MAX: usize = 64;

/// Types of which equal values cannot be told apart.
const EXACT_TYPES: [TypeOid; 9] = [
    TypeOid::BOOL,
    TypeOid::INT2,
    TypeOid::INT4,
    TypeOid::INT8,
    TypeOid::TEXT,
    TypeOid::VARCHAR,
    TypeOid::DATE,
    TypeOid::TIMESTAMP,
    TypeOid::TIMESTAMPTZ,
];

/// What follows from columns.
#[derive(Debug)]
struct ColumnDependency {
    from: Vec<ColumnId>,
    to: Vec<ColumnId>,
    /// Whether it holds also when rows are added in which all these columns are null.
    survives_nulls: bool,
}

/// Returns, for each of the keys that the rows of `input` are grouped by, whether it follows from
/// those of which this is not said. There is one such key at least.
pub fn determined_keys(input: &RelationalOperator, keys: &[ColumnId]) -> Vec<bool> {
    let mut determined = vec![false; keys.len()];
    if keys.len() < 2 {
        return determined;
    }
    let mut dependencies = Vec::new();
    collect(input, &mut dependencies);
    let targets: HashSet<ColumnId> =
        dependencies.iter().flat_map(|one| one.to.iter().copied()).collect();
    // The first of equal columns stays.
    let candidates = (0..keys.len()).rev().filter(|index| targets.contains(&keys[*index]));
    for index in candidates.take(KEYS_MAX) {
        let others = keys.iter().zip(&determined).enumerate();
        let others = others.filter(|(other, (_, is_out))| *other != index && !**is_out);
        let others: HashSet<ColumnId> = others.map(|(_, (key, _))| *key).collect();
        let is_left = !others.is_empty() && !others.contains(&keys[index]);
        determined[index] = is_left && closure(others, &dependencies).contains(&keys[index]);
    }
    determined
}

/// Returns the keys from which all others follow.
pub(super) fn determining_keys(input: &RelationalOperator, keys: &[ColumnId]) -> Vec<ColumnId> {
    let determined = determined_keys(input, keys);
    let left = keys.iter().zip(determined).filter(|(_, is_determined)| !is_determined);
    left.map(|(key, _)| *key).collect()
}

/// Returns the columns that follow from `columns`, these among them.
fn closure(mut columns: HashSet<ColumnId>, dependencies: &[ColumnDependency]) -> HashSet<ColumnId> {
    let mut open: Vec<&ColumnDependency> = dependencies.iter().collect();
    loop {
        let before = open.len();
        open.retain(|one| {
            let holds = one.from.iter().all(|column| columns.contains(column));
            if holds {
                columns.extend(&one.to);
            }
            !holds
        });
        if open.len() == before {
            return columns;
        }
    }
}

/// Adds what holds in the rows that an operator hands on.
fn collect(operator: &RelationalOperator, into: &mut Vec<ColumnDependency>) {
    let before = into.len();
    match operator {
        RelationalOperator::Scan { relation, columns } => {
            let column_at = |place: &usize| {
                columns.iter().find(|one| one.position == *place).map(|one| one.column)
            };
            let key: Option<Vec<_>> = relation.primary_key.iter().map(column_at).collect();
            if let Some(from) = key.filter(|key| !key.is_empty()) {
                let to = columns.iter().map(|one| one.column).collect();
                into.push(ColumnDependency { from, to, survives_nulls: true });
            }
        }
        RelationalOperator::Filter { input, condition } => {
            collect(input, into);
            of_condition(condition, into);
        }
        RelationalOperator::Compute { input, columns } => {
            collect(input, into);
            for one in columns.iter().filter(|one| is_dependent(&one.value)) {
                let mut from = HashSet::new();
                one.value.collect_columns(&mut from);
                let (from, to) = (from.into_iter().collect(), vec![one.column]);
                into.push(ColumnDependency { from, to, survives_nulls: false });
            }
        }
        RelationalOperator::Aggregate { input, keys, aggregates, .. } => {
            collect(input, into);
            let to = aggregates.iter().map(|one| one.column).collect();
            into.push(ColumnDependency { from: keys.clone(), to, survives_nulls: false });
        }
        RelationalOperator::Join { variant, left, right, condition } => {
            collect(left, into);
            if variant.keeps_right() {
                retain_surviving(into, before);
            }
            let right_side = into.len();
            if variant.has_right() {
                collect(right, into);
            }
            if variant.keeps_left() {
                retain_surviving(into, right_side);
            }
            if *variant == JoinVariant::Inner
                && let Some(condition) = condition
            {
                of_condition(condition, into);
            }
        }
        RelationalOperator::Window { input, .. }
        | RelationalOperator::Expand { input, .. }
        | RelationalOperator::Sample { input, .. }
        | RelationalOperator::Sort { input, .. }
        | RelationalOperator::Limit { input, .. } => collect(input, into),
        RelationalOperator::SingleRow
        | RelationalOperator::Values { .. }
        | RelationalOperator::GroupingSets { .. }
        | RelationalOperator::SetOperation { .. }
        | RelationalOperator::CommonScan { .. }
        | RelationalOperator::Series { .. } => {}
    }
}

/// Drops what does not hold beside rows of nulls.
fn retain_surviving(dependencies: &mut Vec<ColumnDependency>, from: usize) {
    let mut index = 0;
    dependencies.retain(|one| {
        index += 1;
        index <= from || one.survives_nulls
    });
}

/// Adds what holds in rows for which a condition is true.
fn of_condition(condition: &ScalarExpression, into: &mut Vec<ColumnDependency>) {
    for one in conjuncts_of(condition) {
        if let Some(equality) = column_equality(one) {
            let [left, right] = equality.members.map(|member| member.column);
            for (from, to) in [(left, right), (right, left)] {
                let (from, to) = (vec![from], vec![to]);
                into.push(ColumnDependency { from, to, survives_nulls: true });
            }
        } else if let Some(column) = constant_column(one) {
            let (from, to) = (Vec::new(), vec![column]);
            into.push(ColumnDependency { from, to, survives_nulls: false });
        }
    }
}

/// Returns the column that a condition says to be equal to a constant.
fn constant_column(condition: &ScalarExpression) -> Option<ColumnId> {
    let ScalarKind::Operator { operator, operands } = &condition.kind else { return None };
    match &operands[..] {
        [ScalarExpression { kind: ScalarKind::Column(column), .. }, other]
        | [other, ScalarExpression { kind: ScalarKind::Column(column), .. }]
            if operator.name == "="
                && is_comparison(operator)
                && matches!(other.kind, ScalarKind::Constant(_)) =>
        {
            Some(*column)
        }
        _ => None,
    }
}

/// Whether an expression has one value for equal columns, and never fails: then nobody sees whether
/// it is evaluated.
fn is_dependent(expression: &ScalarExpression) -> bool {
    let has_choice = |one: &ScalarExpression| match &one.kind {
        ScalarKind::Column(_) => !EXACT_TYPES.contains(&one.sql_type.oid()),
        ScalarKind::Function { function, .. } => {
            function.volatility == FunctionVolatility::Volatile
        }
        ScalarKind::Subquery(_) => true,
        _ => false,
    };
    is_total(expression) && !expression.any(&has_choice)
}
