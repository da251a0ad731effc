//! Collects the aggregates of a query, and has its expressions name their results.
//!
//! After it an expression of the SELECT list, HAVING or ORDER BY has no column of FROM but those
//! that are the same for all rows of a group. With grouping sets it has none at all: a key has a
//! column of its own, which is null in rows of sets that are without it.

use std::collections::HashSet;

use nacre_functions::resolution::resolve_operator;
use nacre_syntax::SourceRange;
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::grouping::BoundGrouping;
use super::scope::Scope;
use super::subquery_joins::has_subquery;
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    AggregateColumn, CaseArm, ColumnId, ColumnRenaming, ColumnSource, ComputedColumn,
    ConstantValue, GroupingKey, QueryColumn, RelationalOperator, ScalarExpression, ScalarKind,
};
use crate::error::BindError;

/// The aggregates of a query under way.
pub(super) struct Aggregation<'s> {
    scope: &'s Scope,
    /// What is grouped by, and the column that has it.
    keys: Vec<BoundGroupKey>,
    /// Keys that GROUP BY has; others follow from them.
    written_keys: usize,
    /// By index in the keys; `None` if all keys are the only set.
    sets: Option<Vec<Vec<usize>>>,
    /// The column that has the index of a row's set, once somebody names it.
    set_column: Option<ColumnId>,
    has_clause: bool,
    having: Option<ScalarExpression>,
    aggregates: Vec<AggregateColumn>,
}

struct BoundGroupKey {
    value: ScalarExpression,
    /// `None` until somebody names it.
    column: Option<ColumnId>,
}

impl<'s> Aggregation<'s> {
    /// Begins with the aggregates that queries within expressions have written.
    pub(super) fn new(
        (grouping, having): (BoundGrouping, Option<ScalarExpression>),
        aggregates: Vec<AggregateColumn>,
        scope: &'s Scope,
    ) -> Self {
        let BoundGrouping { keys, sets, is_written: has_clause } = grouping;
        let written_keys = keys.len();
        let keys = keys.into_iter().map(|value| BoundGroupKey { value, column: None }).collect();
        let set_column = None;
        Self { scope, keys, written_keys, sets, set_column, has_clause, having, aggregates }
    }

    /// Whether rows are grouped, so that columns of FROM are not seen above.
    pub(super) fn is_needed<'e>(
        &self,
        mut outputs: impl Iterator<Item = &'e ScalarExpression>,
    ) -> bool {
        let is_of_groups = |one: &ScalarExpression| {
            matches!(one.kind, ScalarKind::Aggregate(_) | ScalarKind::Grouping(_))
        };
        let is_written = self.has_clause || self.having.is_some() || !self.aggregates.is_empty();
        is_written || outputs.any(|output| output.any(&is_of_groups))
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
            ScalarKind::Grouping(_) => self.collect_grouping(expression, binder),
            ScalarKind::Column(column) => {
                let (column, range) = (*column, expression.range);
                if let Some(index) = self.determined_key(column, range, false)? {
                    expression.kind = ScalarKind::Column(self.key_column(index, binder));
                }
                Ok(())
            }
            _ => {
                let range = expression.range;
                if let ScalarKind::Subquery(subquery) = &mut expression.kind {
                    self.collect_in_query(&mut subquery.root, range, binder)?;
                }
                let mut children = expression.children_mut();
                children.try_for_each(|child| self.collect(child, binder))
            }
        }
    }

    /// Has a query within an expression name the keys of groups; only those that are columns are
    /// known there, as in PostgreSQL.
    fn collect_in_query(
        &mut self,
        root: &mut RelationalOperator,
        range: SourceRange,
        binder: &mut Binder<'_>,
    ) -> Result<(), BindError> {
        let mut outer = binder.folded_names(range);
        collect_outer(root, &root.free_columns(), &mut outer);
        outer.sort_unstable_by_key(|(range, column)| (range.start, *column));
        let mut renaming = ColumnRenaming::new();
        for (range, column) in outer {
            let is_it = |key: &BoundGroupKey| key.value.kind == ScalarKind::Column(column);
            let index = match self.keys.iter().position(is_it) {
                Some(index) => Some(index),
                None => self.determined_key(column, range, true)?,
            };
            if let Some(index) = index {
                renaming.insert(column, self.key_column(index, binder));
            }
        }
        root.rename(&renaming);
        Ok(())
    }

    /// Has GROUPING be the bits that say which of its arguments a row's set is without, the first
    /// argument's being the highest.
    fn collect_grouping(
        &mut self,
        expression: &mut ScalarExpression,
        binder: &mut Binder<'_>,
    ) -> Result<(), BindError> {
        let ScalarKind::Grouping(arguments) = &expression.kind else { return Ok(()) };
        let mut wanted = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let written = &self.keys[..self.written_keys];
            let key = written.iter().position(|key| key.value == *argument);
            wanted.push(key.ok_or_else(|| {
                if has_subquery(argument) {
                    // PostgreSQL finds a key again that is such a query.
                    return BindError::not_supported("subqueries in GROUPING", argument.range);
                }
                let message = "arguments to GROUPING must be grouping expressions of the \
                               associated query level";
                BindError::new("42803", message, argument.range)
            })?);
        }
        let range = expression.range;
        let integer = |value: i32| {
            let kind = ScalarKind::Constant(ConstantValue(SqlValue::Integer(value)));
            ScalarExpression::new(kind, SqlType::INTEGER, range)
        };
        let Some(sets) = self.sets.clone() else {
            *expression = integer(0);
            return Ok(());
        };
        let set_column = self.set_column(binder);
        let equal = resolve_operator("=", &[TypeOid::INT4, TypeOid::INT4]);
        let equal = equal.map_err(|_| BindError::not_supported("GROUPING", range))?;
        let arm = |(index, set): (i32, &Vec<usize>)| {
            let bits = |bits: i32, key: &usize| bits << 1 | i32::from(!set.contains(key));
            let column = ScalarKind::Column(set_column);
            let column = ScalarExpression::new(column, SqlType::INTEGER, range);
            let (operator, operands) = (equal.entry, vec![column, integer(index)]);
            let condition = ScalarKind::Operator { operator, operands };
            let condition = ScalarExpression::new(condition, SqlType::BOOLEAN, range);
            CaseArm { condition, result: integer(wanted.iter().fold(0, bits)) }
        };
        let arms = (0..).zip(&sets).map(arm).collect();
        expression.kind = ScalarKind::Case { arms, otherwise: None };
        Ok(())
    }

    fn set_column(&mut self, binder: &mut Binder<'_>) -> ColumnId {
        *self.set_column.get_or_insert_with(|| {
            binder.columns.add(QueryColumn {
                name: "grouping set".into(),
                sql_type: SqlType::INTEGER,
                is_nullable: false,
                source: ColumnSource::Computed,
            })
        })
    }

    /// Returns the column of a key of groups.
    fn key_column(&mut self, index: usize, binder: &mut Binder<'_>) -> ColumnId {
        let key = &mut self.keys[index];
        let column = match (key.column, &key.value.kind) {
            (Some(column), _) => column,
            (None, ScalarKind::Column(column))
                if self.sets.is_none() && !binder.is_outer_column(*column) =>
            {
                *column
            }
            (None, _) => binder.add_computed("group", &key.value),
        };
        key.column = Some(column);
        column
    }

    /// Adds a column that the groups determine by a primary key to the keys, and returns its
    /// index; `None` for one that is not of FROM.
    ///
    /// # Errors
    /// 42803 if they do not determine it.
    fn determined_key(
        &mut self,
        column: ColumnId,
        range: SourceRange,
        is_in_query: bool,
    ) -> Result<Option<usize>, BindError> {
        let is_in_all_sets =
            |index: usize| self.sets.iter().flatten().all(|set| set.contains(&index));
        let is_key = |wanted: &ColumnId| {
            let mut keys = self.keys.iter().enumerate();
            keys.any(|(index, key)| {
                key.value.kind == ScalarKind::Column(*wanted) && is_in_all_sets(index)
            })
        };
        let owner = self.scope.tables.iter().find_map(|table| {
            let own = table.columns.iter().find(|one| one.id() == Some(column))?;
            Some((table, own))
        });
        let Some((table, own)) = owner else { return Ok(None) };
        let key = &table.primary_key;
        if key.is_empty() || !key.iter().all(is_key) {
            // PostgreSQL finds a key again that is such a query.
            if self.keys.iter().any(|key| has_subquery(&key.value)) {
                return Err(BindError::not_supported("subqueries in GROUP BY", range));
            }
            let (table, name) = (&table.name, &own.name);
            let message = if is_in_query {
                format!("subquery uses ungrouped column \"{table}.{name}\" from outer query")
            } else {
                format!(
                    "column \"{table}.{name}\" must appear in the GROUP BY clause or be used in \
                     an aggregate function"
                )
            };
            return Err(BindError::new("42803", message, range));
        }
        let index = self.keys.len();
        let value = ScalarExpression { range, ..own.value.clone() };
        self.keys.push(BoundGroupKey { value, column: None });
        self.sets.iter_mut().flatten().for_each(|set| set.push(index));
        Ok(Some(index))
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
        for index in 0..self.keys.len() {
            let column = self.key_column(index, binder);
            let value = &self.keys[index].value;
            let source = match value.kind {
                ScalarKind::Column(source) if !binder.is_outer_column(source) => source,
                _ if self.sets.is_none() => column,
                _ => binder.add_computed("group", value),
            };
            if value.kind != ScalarKind::Column(source) {
                computed.push(ComputedColumn { column: source, value: value.clone() });
            }
            keys.push(GroupingKey { source, column });
        }
        let sets = self.sets.take().map(|sets| (sets, self.set_column(binder)));
        let mut aggregates = self.aggregates;
        let arguments = aggregates.iter_mut().flat_map(|one| one.call.expressions_mut());
        let values = computed.iter_mut().map(|one| &mut one.value).chain(arguments);
        let input = binder.join_subqueries(input, values.collect())?;
        let keys_of_sets = computed.iter_mut().map(|one| &mut one.value).collect();
        let (input, _) = binder.expand_sets(input, keys_of_sets, Vec::new(), false)?;
        let input = Box::new(with_computed(input, computed));
        let grouped = match sets {
            Some((sets, set_column)) => {
                RelationalOperator::GroupingSets { input, keys, sets, aggregates, set_column }
            }
            None => {
                let is_scalar = keys.is_empty();
                let keys = keys.into_iter().map(|key| key.column).collect();
                RelationalOperator::Aggregate { input, keys, aggregates, is_scalar }
            }
        };
        match having {
            Some(condition) => binder.filter_rows(grouped, condition),
            None => Ok(grouped),
        }
    }
}

/// Adds where expressions of a query have columns of the queries around it.
fn collect_outer(
    operator: &RelationalOperator,
    free: &HashSet<ColumnId>,
    into: &mut Vec<(SourceRange, ColumnId)>,
) {
    let mut open = operator.expressions();
    while let Some(expression) = open.pop() {
        if let ScalarKind::Column(column) = expression.kind
            && free.contains(&column)
        {
            into.push((expression.range, column));
        }
        open.extend(expression.children());
    }
    operator.inputs().for_each(|input| collect_outer(input, free, into));
}
