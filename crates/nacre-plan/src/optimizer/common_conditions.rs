//! Which rows of a query that is computed once are wanted: those for which the conditions of one of
//! its readers are true.
//!
//! ```text
//! with c as (select k, x, sum(v) as s from t group by k, x)
//! select * from c a join c b on a.k = b.k where a.x = 1 and a.s > 5 and b.x = 2
//! c is computed for the rows of t with x = 1 or x = 2
//! ```
//!
//! Conditions are taken column by column, and only of columns on which all readers have some: what
//! is about one column goes down through groups and joins. The readers keep theirs.
//!
//! # Invariants
//! 1. Conditions never fail, have the same value each time, and ask for no other common query.
//! 2. A query with volatile functions is computed whole: each row may change something.

use crate::algebra::conjuncts::{columns_of, conjunction, conjuncts_of, disjunction};
use crate::algebra::{
    ColumnId, ColumnRenaming, CommonForm, CommonQuery, RelationalOperator, ScalarExpression,
    ScalarKind, ScannedColumn,
};
use crate::properties::may_move;

/// Expressions of the conditions on a column.
const EXPRESSIONS_MAX: usize = 1_000;

/// A place where a common query is read, with the conditions directly above it.
struct RestrictedReference<'p> {
    columns: &'p [ScannedColumn],
    conditions: Vec<&'p ScalarExpression>,
}

/// Returns conditions that are true for all rows that anything reads of the common query `index`.
pub(super) fn wanted_rows<'p>(
    query: &CommonQuery,
    index: usize,
    readers: impl Iterator<Item = &'p RelationalOperator>,
) -> Vec<ScalarExpression> {
    if query.form != CommonForm::Rows
        || query.root.any_expression(&ScalarExpression::is_volatile_call)
    {
        return Vec::new();
    }
    let mut references = Vec::new();
    readers.for_each(|reader| collect_references(reader, index, Vec::new(), &mut references));
    let outputs = query.outputs.iter().enumerate();
    outputs.filter_map(|(position, output)| wanted_values(&references, position, *output)).collect()
}

fn collect_references<'p>(
    operator: &'p RelationalOperator,
    index: usize,
    mut conditions: Vec<&'p ScalarExpression>,
    into: &mut Vec<RestrictedReference<'p>>,
) {
    match operator {
        RelationalOperator::CommonScan { query, columns } if query.index == index => {
            into.push(RestrictedReference { columns, conditions });
        }
        RelationalOperator::Filter { input, condition } => {
            conditions.extend(conjuncts_of(condition));
            collect_references(input, index, conditions, into);
        }
        _ => {
            for input in operator.inputs() {
                collect_references(input, index, Vec::new(), into);
            }
        }
    }
}

/// Returns the condition on an output, which `column` stands for, if each reference has one.
fn wanted_values(
    references: &[RestrictedReference<'_>],
    position: usize,
    column: ColumnId,
) -> Option<ScalarExpression> {
    let mut branches: Vec<ScalarExpression> = Vec::new();
    let mut count = 0;
    for reference in references {
        let branch = reference.condition_on(position, column)?;
        if !branches.contains(&branch) {
            count += branch.count();
            branches.push(branch);
        }
        if count > EXPRESSIONS_MAX {
            return None;
        }
    }
    disjunction(branches)
}

impl RestrictedReference<'_> {
    /// Returns the conditions on an output alone, which `column` stands for.
    fn condition_on(&self, position: usize, column: ColumnId) -> Option<ScalarExpression> {
        let own = self.columns.iter().find(|one| one.position == position)?.column;
        let is_taken = |one: &&&ScalarExpression| {
            columns_of(one).iter().eq([&own]) && may_move(one) && !one.any(&reads_common_query)
        };
        let taken = self.conditions.iter().filter(is_taken);
        let renaming = ColumnRenaming::from([(own, column)]);
        let renamed = taken.map(|condition| {
            let mut condition = (*condition).clone();
            condition.rename(&renaming);
            condition
        });
        conjunction(renamed.collect())
    }
}

fn reads_common_query(expression: &ScalarExpression) -> bool {
    matches!(expression.kind, ScalarKind::Once(_) | ScalarKind::Call { .. })
}
