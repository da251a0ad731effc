//! Collects the aggregates of a query, and has its expressions name their results.
//!
//! After it an expression of the SELECT list, HAVING or ORDER BY has no column of FROM but those
//! that are the same for all rows of a group.

use super::Binder;
use super::scope::Scope;
use super::select::with_computed;
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
            ScalarKind::Column(column) => self.require_determined(*column, expression),
            _ => {
                let mut children = expression.children_mut().into_iter();
                children.try_for_each(|child| self.collect(child, binder))
            }
        }
    }

    /// Returns the column of a key of groups.
    fn key_column(&mut self, index: usize, binder: &mut Binder<'_>) -> ColumnId {
        let key = &mut self.keys[index];
        let column = match (key.column, &key.value.kind) {
            (Some(column), _) => column,
            (None, ScalarKind::Column(column)) => *column,
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
        expression: &ScalarExpression,
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
                let message = format!(
                    "column \"{}.{}\" must appear in the GROUP BY clause or be used in an \
                     aggregate function",
                    table.name, own.name
                );
                return Err(BindError::new("42803", message, expression.range));
            }
            let value = expression.clone();
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
            if !matches!(value.kind, ScalarKind::Column(_)) {
                computed.push(ComputedColumn { column, value: value.clone() });
            }
            keys.push(column);
        }
        let input = Box::new(with_computed(input, computed));
        let aggregates = self.aggregates;
        let grouped = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar };
        Ok(match having {
            Some(condition) => RelationalOperator::Filter { input: Box::new(grouped), condition },
            None => grouped,
        })
    }
}
