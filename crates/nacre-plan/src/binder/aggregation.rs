//! Collects the aggregates of a query, and has its expressions name their results.
//!
//! After it an expression of the SELECT list, HAVING or ORDER BY has no column of FROM but those
//! that are the same for all rows of a group.

use super::Binder;
use super::scope::Scope;
use nacre_syntax::SourceRange;

use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    AggregateColumn, ColumnId, ComputedColumn, RelationalOperator, ScalarExpression, ScalarKind,
};
use crate::error::BindError;

/// The aggregates of a query under way.
pub(super) struct Aggregation<'s> {
    scope: &'s Scope,
    /// What is grouped by, and the column that has it.
    keys: Vec<BoundGroupKey>,
    having: Option<ScalarExpression>,
    aggregates: Vec<AggregateColumn>,
}

struct BoundGroupKey {
    value: ScalarExpression,
    /// `None` until somebody names it.
    column: Option<ColumnId>,
}

impl<'s> Aggregation<'s> {
    pub(super) fn new(
        groups: Vec<ScalarExpression>,
        having: Option<ScalarExpression>,
        scope: &'s Scope,
    ) -> Self {
        let keys = groups.into_iter().map(|value| BoundGroupKey { value, column: None }).collect();
        Self { scope, keys, having, aggregates: Vec::new() }
    }

    /// Whether rows are grouped, so that columns of FROM are not seen above.
    pub(super) fn is_needed<'e>(
        &self,
        mut outputs: impl Iterator<Item = &'e ScalarExpression>,
    ) -> bool {
        let is_aggregate = |one: &ScalarExpression| matches!(one.kind, ScalarKind::Aggregate(_));
        !self.keys.is_empty()
            || self.having.is_some()
            || outputs.any(|output| output.any(&is_aggregate))
    }

    /// Has an expression name the results of aggregates and the keys of groups.
    pub(super) fn collect(
        &mut self,
        expression: &mut ScalarExpression,
        binder: &mut Binder<'_>,
    ) -> Result<(), BindError> {
        if let Some(index) = self.keys.iter().position(|key| key.value == *expression) {
            let column = self.key_column(index, binder);
            expression.kind = ScalarKind::Column(column);
            return Ok(());
        }
        match &expression.kind {
            ScalarKind::Aggregate(call) => {
                let known = self.aggregates.iter().find(|one| one.call == **call);
                let column = match known {
                    Some(known) => known.column,
                    None => {
                        let column = binder.add_computed(call.function.name, expression);
                        self.aggregates.push(AggregateColumn { column, call: (**call).clone() });
                        column
                    }
                };
                expression.kind = ScalarKind::Column(column);
                Ok(())
            }
            ScalarKind::Column(column) => {
                let column = *column;
                self.require_determined(column, expression.range, false)
            }
            _ => {
                if let ScalarKind::Subquery(subquery) = &expression.kind {
                    self.collect_in_query(&subquery.root)?;
                }
                let mut children = expression.children_mut().into_iter();
                children.try_for_each(|child| self.collect(child, binder))
            }
        }
    }

    /// Checks the columns of a query within an expression; only keys that are columns are known
    /// there, as in PostgreSQL.
    fn collect_in_query(&mut self, operator: &RelationalOperator) -> Result<(), BindError> {
        for expression in operator.expressions() {
            self.collect_in_expression(expression)?;
        }
        operator.inputs().into_iter().try_for_each(|input| self.collect_in_query(input))
    }

    fn collect_in_expression(&mut self, expression: &ScalarExpression) -> Result<(), BindError> {
        if let ScalarKind::Column(column) = expression.kind {
            if self.keys.iter().any(|key| key.value.kind == expression.kind) {
                return Ok(());
            }
            return self.require_determined(column, expression.range, true);
        }
        let mut children = expression.children().into_iter();
        children.try_for_each(|child| self.collect_in_expression(child))
    }

    /// Returns the column of a key of groups.
    fn key_column(&mut self, index: usize, binder: &mut Binder<'_>) -> ColumnId {
        let key = &mut self.keys[index];
        let column = match (key.column, &key.value.kind) {
            (Some(column), _) => column,
            (None, ScalarKind::Column(column)) if !binder.is_outer_column(*column) => *column,
            (None, _) => binder.add_computed("group", &key.value),
        };
        key.column = Some(column);
        column
    }

    /// Adds a column that the groups determine by a primary key to the keys.
    ///
    /// # Errors
    /// 42803 if they do not determine it.
    fn require_determined(
        &mut self,
        column: ColumnId,
        range: SourceRange,
        is_in_query: bool,
    ) -> Result<(), BindError> {
        let is_key = |wanted: &ColumnId| {
            self.keys.iter().any(|key| key.value.kind == ScalarKind::Column(*wanted))
        };
        let owner = self.scope.tables.iter().find_map(|table| {
            let own = table.columns.iter().find(|one| one.id() == Some(column))?;
            Some((table, own))
        });
        if let Some((table, own)) = owner {
            let key = &table.primary_key;
            if key.is_empty() || !key.iter().all(is_key) {
                let (table, name) = (&table.name, &own.name);
                let message = if is_in_query {
                    format!("subquery uses ungrouped column \"{table}.{name}\" from outer query")
                } else {
                    format!(
                        "column \"{table}.{name}\" must appear in the GROUP BY clause or be used \
                         in an aggregate function"
                    )
                };
                return Err(BindError::new("42803", message, range));
            }
            let value = ScalarExpression { range, ..own.value.clone() };
            self.keys.push(BoundGroupKey { value, column: Some(column) });
        }
        Ok(())
    }

    /// Adds the grouping, and HAVING above it.
    pub(super) fn finish(
        mut self,
        input: RelationalOperator,
        binder: &mut Binder<'_>,
    ) -> Result<RelationalOperator, BindError> {
        let mut having = self.having.take();
        if let Some(having) = &mut having {
            self.collect(having, binder)?;
        }
        let mut keys = Vec::with_capacity(self.keys.len());
        let mut computed = Vec::new();
        let is_scalar = self.keys.is_empty();
        for index in 0..self.keys.len() {
            let column = self.key_column(index, binder);
            let value = &self.keys[index].value;
            if value.kind != ScalarKind::Column(column) {
                computed.push(ComputedColumn { column, value: value.clone() });
            }
            keys.push(column);
        }
        let mut aggregates = self.aggregates;
        let arguments = aggregates.iter_mut().flat_map(|one| one.call.expressions_mut());
        let values = computed.iter_mut().map(|one| &mut one.value).chain(arguments);
        let input = binder.join_subqueries(input, values.collect())?;
        let input = Box::new(with_computed(input, computed));
        let grouped = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar };
        match having {
            Some(condition) => binder.filter_rows(grouped, condition),
            None => Ok(grouped),
        }
    }
}
