//! An order of the leaves of a region that does not depend on the order of FROM.
//!
//! A leaf is told apart by the name of its relation, then by its conditions, then by what joins it
//! with which others. Leaves that agree in all of that are interchangeable.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use super::query_graph::GraphCondition;
use crate::algebra::conjuncts::{columns_of, conjuncts_of};
use crate::algebra::{
    ColumnId, ColumnSource, QueryColumns, RelationalOperator, ScalarExpression, ScalarKind,
};
use crate::control;

/// Rounds in which the signature of a leaf spreads to its neighbours.
const ROUNDS: usize = 4;

/// What a leaf is, apart from its columns' identities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeafLabel {
    relation: String,
    structure: u64,
}

/// Returns the label of a leaf by itself.
pub(super) fn leaf_label(operator: &RelationalOperator, columns: &QueryColumns) -> LeafLabel {
    let relation = first_relation(operator).unwrap_or_default();
    LeafLabel { relation, structure: operator_hash(operator, columns) }
}

/// Returns the leaves, numbered as they are in the query, in their order.
pub(super) fn ordered_leaves(
    labels: &[LeafLabel],
    conditions: &[GraphCondition],
    leaf_of: &BTreeMap<ColumnId, usize>,
    columns: &QueryColumns,
) -> Vec<usize> {
    let mut structures: Vec<u64> = labels.iter().map(|label| label.structure).collect();
    for _ in 0..ROUNDS {
        let mut joined = vec![0_u64; labels.len()];
        for condition in conditions {
            let mut touched: Vec<usize> = columns_of(&condition.expression)
                .iter()
                .filter_map(|own| leaf_of.get(own))
                .copied()
                .collect();
            touched.sort_unstable();
            touched.dedup();
            for leaf in touched {
                if control::is_stopped() {
                    break;
                }
                let naming = |column: ColumnId| {
                    let owner = leaf_of.get(&column).copied();
                    let structure = owner.and_then(|owner| structures.get(owner));
                    (owner == Some(leaf), structure.copied())
                };
                let own = expression_hash(&condition.expression, columns, &naming);
                joined[leaf] = joined[leaf].wrapping_add(own);
            }
        }
        for (structure, joined) in structures.iter_mut().zip(joined) {
            *structure = hash_of(&(*structure, joined));
        }
    }
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|one, other| {
        let key = |leaf: &usize| (&labels[*leaf].relation, structures[*leaf], *leaf);
        key(one).cmp(&key(other))
    });
    order
}

fn hash_of(value: &impl Hash) -> u64 {
    // Its keys are the same in every process.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn first_relation(operator: &RelationalOperator) -> Option<String> {
    match operator {
        RelationalOperator::Scan { relation, .. } => {
            Some(format!("{}.{}", relation.name, relation.schema))
        }
        _ => operator.inputs().filter_map(first_relation).min(),
    }
}

fn operator_hash(operator: &RelationalOperator, columns: &QueryColumns) -> u64 {
    let plain = |_: ColumnId| (true, None);
    let of = |one: &ScalarExpression| expression_hash(one, columns, &plain);
    // Of conditions and of the sides of a join the order says nothing.
    let of_all = |condition: &ScalarExpression| {
        conjuncts_of(condition).into_iter().map(of).fold(0, u64::wrapping_add)
    };
    let own = match operator {
        RelationalOperator::Scan { relation, .. } => relation.id.0,
        RelationalOperator::CommonScan { query, .. } => query.index as u64,
        RelationalOperator::Filter { condition, .. } => of_all(condition),
        RelationalOperator::Join { condition, .. } => condition.as_ref().map_or(0, of_all),
        RelationalOperator::Compute { columns, .. } => {
            columns.iter().map(|one| of(&one.value)).fold(0, u64::wrapping_add)
        }
        RelationalOperator::Values { rows, .. } => {
            let row =
                |row: &Vec<ScalarExpression>| hash_of(&row.iter().map(of).collect::<Vec<_>>());
            rows.iter().map(row).fold(0, u64::wrapping_add)
        }
        RelationalOperator::Series { arguments, .. } => {
            hash_of(&arguments.iter().map(of).collect::<Vec<_>>())
        }
        RelationalOperator::SetOperation { variant, .. } => hash_of(variant),
        _ => 0,
    };
    let inputs = operator.inputs().map(|input| operator_hash(input, columns));
    let inputs = inputs.fold(0, u64::wrapping_add);
    let mut hasher = DefaultHasher::new();
    discriminant(operator).hash(&mut hasher);
    (own, inputs).hash(&mut hasher);
    hasher.finish()
}

/// Returns a hash of what an expression computes; columns are told apart by their place in their
/// relation and by what `naming` says of them.
fn expression_hash(
    expression: &ScalarExpression,
    columns: &QueryColumns,
    naming: &dyn Fn(ColumnId) -> (bool, Option<u64>),
) -> u64 {
    let mut hasher = DefaultHasher::new();
    discriminant(&expression.kind).hash(&mut hasher);
    expression.sql_type.oid().0.hash(&mut hasher);
    match &expression.kind {
        ScalarKind::Column(column) => {
            naming(*column).hash(&mut hasher);
            match columns.get(*column).map(|column| column.source) {
                Some(ColumnSource::Relation { relation, position }) => {
                    (relation, position).hash(&mut hasher);
                }
                Some(ColumnSource::Computed | ColumnSource::RowCount) | None => {}
            }
        }
        ScalarKind::Constant(value) => format!("{:?}", value.0).hash(&mut hasher),
        ScalarKind::Parameter(number) => number.hash(&mut hasher),
        ScalarKind::Operator { operator, .. }
        | ScalarKind::IsDistinct { operator, .. }
        | ScalarKind::NullIf { operator, .. } => operator.oid.hash(&mut hasher),
        ScalarKind::Quantified { operator, is_all, .. } => {
            (operator.oid, is_all).hash(&mut hasher);
        }
        ScalarKind::Function { function, .. } => function.oid.hash(&mut hasher),
        ScalarKind::Once(reference) => reference.index.hash(&mut hasher),
        ScalarKind::Call { index, .. } => index.hash(&mut hasher),
        _ => {}
    }
    for child in expression.children() {
        expression_hash(child, columns, naming).hash(&mut hasher);
    }
    hasher.finish()
}
