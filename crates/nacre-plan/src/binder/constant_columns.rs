//! Columns of queries in FROM that are constants: expressions of the query around these have the
//! constants in their place, once names and types are checked, as in PostgreSQL.

use std::collections::HashSet;

use nacre_syntax::SourceRange;
use nacre_types::SqlValue;

use super::Binder;
use super::scope::Scope;
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::folding::{ConstantColumns, constant_columns, decide_nulls, fold_expression};

impl Binder<'_> {
    /// Folds an expression over the rows of the present FROM.
    pub(super) fn fold(&mut self, expression: &mut ScalarExpression) {
        self.fold_noting_names(expression, |_| {});
    }

    /// Folds a condition of rows.
    pub(super) fn fold_condition(&mut self, condition: &mut ScalarExpression) {
        self.fold_noting_names(condition, decide_nulls);
    }

    /// Folds an expression, then calls `decide`; notes the names that both remove.
    fn fold_noting_names(
        &mut self,
        expression: &mut ScalarExpression,
        decide: fn(&mut ScalarExpression),
    ) {
        // Queries around this one look at its names.
        let is_within = !self.outer_scopes.is_empty();
        let (mut named, mut kept) = (Vec::new(), Vec::new());
        if is_within {
            collect_names(expression, &mut named);
        }
        match self.constants.last() {
            Some(Some(known)) => fold_expression(expression, known),
            _ => fold_expression(expression, &ConstantColumns::new()),
        }
        decide(expression);
        if is_within && !named.is_empty() {
            collect_names(expression, &mut kept);
            let kept: HashSet<ColumnId> = kept.into_iter().map(|(_, column)| column).collect();
            named.retain(|(_, column)| !kept.contains(column));
            self.folded_names.extend(named);
        }
    }

    /// Folds the condition of a join, which sees the constants of both sides; then forgets those of
    /// a side that it fills up with nulls.
    pub(super) fn fold_join_condition(
        &mut self,
        variant: JoinVariant,
        mut condition: Option<ScalarExpression>,
        [left, right]: [&RelationalOperator; 2],
    ) -> Option<ScalarExpression> {
        condition.iter_mut().for_each(|condition| self.fold_condition(condition));
        if variant.keeps_right() {
            self.forget_constants(left);
        }
        if variant.keeps_left() {
            self.forget_constants(right);
        }
        condition
    }

    /// Notes the names of outer columns in a query whose outputs are not read.
    pub(super) fn note_unread_names(&mut self, root: &RelationalOperator) {
        let mut named = Vec::new();
        collect_names_of_query(root, &mut named);
        named.retain(|(_, column)| self.is_outer_column(*column));
        self.folded_names.extend(named);
    }

    /// Returns the columns that folding has taken out of a part of the text, and where they stood.
    pub(super) fn folded_names(&self, part: SourceRange) -> Vec<(SourceRange, ColumnId)> {
        let is_in = |range: SourceRange| part.start <= range.start && range.end <= part.end;
        self.folded_names.iter().filter(|(range, _)| is_in(*range)).copied().collect()
    }

    /// Notes the constants among the columns of a query in FROM.
    pub(super) fn note_constants(&mut self, root: &RelationalOperator) {
        if let Some(Some(known)) = self.constants.last_mut() {
            let unmerged = &self.unmerged_columns;
            let columns = constant_columns(root).into_iter();
            known.extend(columns.filter(|(column, _)| !unmerged.contains(column)));
        }
    }

    /// Has rows of nulls stand for the only query in FROM below a constant condition that is not
    /// true, if PostgreSQL does not merge that query: it does not plan it, so that no constant of
    /// it fails.
    pub(super) fn leave_out_unread_query(&self, root: &mut RelationalOperator, scope: &Scope) {
        let RelationalOperator::Filter { input, condition } = root else { return };
        let is_false = matches!(&condition.kind, ScalarKind::Constant(value)
            if value.0 != SqlValue::Boolean(true));
        let [table] = &scope.tables[..] else { return };
        let columns = table.columns.iter().chain(&scope.columns);
        let mut values: Vec<&ScalarExpression> = Vec::new();
        for column in columns.map(|one| &one.value) {
            if !values.iter().any(|known| known.kind == column.kind) {
                values.push(column);
            }
        }
        let unmerged = |value: &&ScalarExpression| match &value.kind {
            ScalarKind::Column(column) if self.unmerged_columns.contains(column) => Some(*column),
            _ => None,
        };
        let columns: Vec<_> = values.iter().filter_map(unmerged).collect();
        if !is_false || columns.is_empty() || columns.len() < values.len() {
            return;
        }
        let of_nulls = |value: &ScalarExpression| {
            ScalarExpression::constant(SqlValue::Null, value.sql_type, value.range)
        };
        let rows = vec![values.into_iter().map(of_nulls).collect()];
        **input = RelationalOperator::Values { columns, rows };
    }

    fn forget_constants(&mut self, side: &RelationalOperator) {
        let known = self.constants.last_mut().and_then(Option::as_mut);
        let Some(known) = known.filter(|known| !known.is_empty()) else { return };
        let mut made = HashSet::new();
        side.collect_made_columns(&mut made);
        known.retain(|column, _| !made.contains(column));
    }
}

fn collect_names(expression: &ScalarExpression, into: &mut Vec<(SourceRange, ColumnId)>) {
    match &expression.kind {
        ScalarKind::Column(column) => into.push((expression.range, *column)),
        ScalarKind::Subquery(subquery) => collect_names_of_query(&subquery.root, into),
        _ => {}
    }
    expression.children().for_each(|child| collect_names(child, into));
}

fn collect_names_of_query(operator: &RelationalOperator, into: &mut Vec<(SourceRange, ColumnId)>) {
    operator.expressions().into_iter().for_each(|one| collect_names(one, into));
    operator.inputs().for_each(|input| collect_names_of_query(input, into));
}
