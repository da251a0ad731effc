//! RETURNING: the query for what a statement answers of the rows that it changes.
//!
//! ```text
//! delete from t using u where t.id = u.id returning t.*, u.b
//! a, b, u.b      <- Scan of the changed rows [a, b, u.b]
//! ```
//!
//! # Invariants
//! 1. The changed rows are a relation with the columns of the one that is changed, then one for
//!    each value of [`other_values`], in their order.
//! 2. Queries of WITH are bound anew, so that these may not have volatile values.

use std::collections::HashSet;
use std::sync::Arc;

use nacre_syntax::{
    InsertStatement, ObjectName, SourceRange, SqlName, TableAlias, TargetItem, WithClause,
};
use nacre_types::{SqlType, ValueSettings};

use super::changed_rows::{ChangeClauses, RowChangingStatement};
use super::conflict_rows::EXCLUDED;
use super::expressions::ExpressionPlace;
use super::joins::BoundFrom;
use super::scope::{Scope, ScopeColumn};
use super::subqueries::BoundQuery;
use super::{Binder, bind_sharing_queries};
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    ColumnId, OutputColumn, QueryPlan, RelationalOperator, ScalarExpression, ScalarKind,
    ScannedColumn,
};
use crate::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use crate::error::BindError;
use crate::folding::ConstantColumns;

/// A statement that may have RETURNING.
#[derive(Clone, Copy, Debug)]
pub enum ReturningStatement<'a> {
    Insert(&'a InsertStatement),
    Change(RowChangingStatement<'a>),
}

/// What RETURNING answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnedRows {
    pub query: QueryPlan,
    /// The changed rows.
    pub relation: Arc<RelationDefinition>,
    /// Which of their columns are read.
    pub is_read: Vec<bool>,
}

/// The parts of a statement that RETURNING sees.
struct ReturningClauses<'a> {
    with: Option<&'a WithClause>,
    table: &'a ObjectName,
    alias: Option<&'a SqlName>,
    change: Option<ChangeClauses<'a>>,
    /// Whether ON CONFLICT can name rows that were proposed.
    has_proposed: bool,
    items: &'a [TargetItem],
}

impl<'a> ReturningClauses<'a> {
    fn of(statement: ReturningStatement<'a>) -> Self {
        match statement {
            ReturningStatement::Insert(insert) => Self {
                with: insert.with.as_ref(),
                table: &insert.table,
                alias: insert.alias.as_ref(),
                change: None,
                has_proposed: insert.on_conflict.is_some(),
                items: &insert.returning,
            },
            ReturningStatement::Change(change) => {
                let (clauses, items) = (ChangeClauses::of(change), change.returning());
                let (with, table) = (clauses.with, &clauses.table.name);
                let (alias, change) = (clauses.alias, Some(clauses));
                Self { with, table, alias, change, has_proposed: false, items }
            }
        }
    }
}

/// Binds RETURNING; `None` without one. The changed rows have the number `rows`. `declared` are
/// types of parameters, as for [`super::bind_parameterized`].
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what is not there yet.
pub fn bind_returned_rows(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    statement: ReturningStatement<'_>,
    rows: RelationId,
    declared: &[Option<SqlType>],
) -> Result<Option<ReturnedRows>, BindError> {
    let clauses = ReturningClauses::of(statement);
    let Some(first) = clauses.items.first() else { return Ok(None) };
    let bind = |binder: &mut Binder<'_>| {
        binder.bind_change(clauses.with, |binder| binder.bind_returned_items(&clauses, rows))
    };
    let (query, relation) = bind_sharing_queries(catalog, settings, declared, bind)?;
    let is_volatile = |one: &ScalarExpression| one.is_volatile();
    if query.common.iter().any(|common| common.root.any_expression(&is_volatile)) {
        let what = "RETURNING with volatile queries of WITH";
        return Err(BindError::not_supported(what, range_of(first)));
    }
    let is_read = read_positions(&query, rows, relation.columns.len());
    Ok(Some(ReturnedRows { query, relation, is_read }))
}

/// Returns the values that RETURNING may name beside the columns of the changed relation `own`, as
/// names that stand for them.
pub(super) fn other_values<'s>(scope: &'s Scope, own: &Scope) -> Vec<&'s ScopeColumn> {
    let all = scope.tables.iter().flat_map(|table| &table.columns).chain(&scope.columns);
    let mut others: Vec<&ScopeColumn> = Vec::new();
    for column in all {
        let known = own.columns.iter().chain(others.iter().copied());
        if !known.map(|one| &one.value.kind).any(|kind| *kind == column.value.kind) {
            others.push(column);
        }
    }
    others
}

impl Binder<'_> {
    fn bind_returned_items(
        &mut self,
        clauses: &ReturningClauses<'_>,
        rows: RelationId,
    ) -> Result<(BoundQuery, Arc<RelationDefinition>), BindError> {
        let relation = self.find_changed_relation(clauses.table)?;
        let (target, range) = (clauses.table, clauses.table.range);
        let target = self.scan_target(&relation, target, clauses.alias)?;
        let own = target.1.clone();
        let (scan, scope) = match &clauses.change {
            Some(change) => {
                let scan = target.0.clone();
                (scan, self.bind_beside_target(target, change.from)?.1)
            }
            None => target,
        };
        let (root, mut scope, relation) =
            self.scan_changed_rows((scan, scope), &own, rows, range)?;
        scope.out_of_reach.extend(clauses.has_proposed.then(|| EXCLUDED.to_owned()));
        // What FROM says of constants is said of other columns.
        self.constants.pop();
        self.constants.push(Some(ConstantColumns::new()));
        let place = ExpressionPlace::new(&scope, "RETURNING");
        let mut targets = self.bind_target_items(clauses.items, place)?;
        for target in &mut targets {
            target.value = self.settle(target.value.clone())?;
        }
        let values = targets.iter_mut().map(|target| &mut target.value).collect();
        let root = self.join_subqueries(root, values)?;
        let (mut outputs, mut computed) = (Vec::with_capacity(targets.len()), Vec::new());
        for target in targets {
            let sql_type = target.value.sql_type;
            let column = self.column_of(&target.name, target.value, &mut computed);
            outputs.push(OutputColumn { name: target.name, column, sql_type });
        }
        Ok(((with_computed(root, computed), outputs), relation))
    }

    /// Makes the scan of the relation that a statement changes.
    pub(super) fn scan_target(
        &mut self,
        relation: &Arc<RelationDefinition>,
        table: &ObjectName,
        alias: Option<&SqlName>,
    ) -> Result<BoundFrom, BindError> {
        let alias = alias.map(|name| TableAlias {
            name: Some(name.clone()),
            columns: Vec::new(),
            definitions: Vec::new(),
        });
        let name = SqlName { text: relation.name.clone(), range: table.range };
        self.scan_relation(relation, &name, alias.as_ref(), table.range)
    }

    /// Has a scan of the changed rows give what `scan` does, and all that `scope` names.
    pub(super) fn scan_changed_rows(
        &mut self,
        (mut scan, mut scope): BoundFrom,
        own: &Scope,
        rows: RelationId,
        range: SourceRange,
    ) -> Result<(RelationalOperator, Scope, Arc<RelationDefinition>), BindError> {
        let RelationalOperator::Scan { relation, columns } = &mut scan else {
            return Err(BindError::not_supported("RETURNING of what is no table", range));
        };
        let mut definition = RelationDefinition { id: rows, ..(**relation).clone() };
        let mut found: Vec<(ScalarKind, ScalarExpression)> = Vec::new();
        for ScopeColumn { name, value } in other_values(&scope, own) {
            let sql_type = value.sql_type;
            let column = self.add_query_column(name, sql_type, range)?;
            columns.push(ScannedColumn { position: definition.columns.len(), column });
            let name = name.to_string();
            definition.columns.push(RelationColumn { name, sql_type, is_nullable: true });
            let read = ScalarExpression { kind: ScalarKind::Column(column), ..value.clone() };
            found.push((value.kind.clone(), read));
        }
        let tables = scope.tables.iter_mut().flat_map(|table| &mut table.columns);
        for column in tables.chain(&mut scope.columns) {
            if let Some((_, read)) = found.iter().find(|(kind, _)| *kind == column.value.kind) {
                column.value = read.clone();
            }
        }
        let definition = Arc::new(definition);
        *relation = Arc::clone(&definition);
        Ok((scan, scope, definition))
    }
}

fn range_of(item: &TargetItem) -> SourceRange {
    match item {
        TargetItem::Star(range) => *range,
        TargetItem::Value { value, .. } => value.range,
    }
}

/// Returns which of the `width` columns of a relation a query reads.
pub(super) fn read_positions(query: &QueryPlan, rows: RelationId, width: usize) -> Vec<bool> {
    let mut is_read = vec![false; width];
    let mut used: HashSet<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    query.root.collect_used_columns(&mut used);
    note_read(&query.root, rows, &used, &mut is_read);
    is_read
}

/// Notes the positions of the columns of a relation that are among the `used` ones.
fn note_read(
    operator: &RelationalOperator,
    rows: RelationId,
    used: &HashSet<ColumnId>,
    is_read: &mut [bool],
) {
    if let RelationalOperator::Scan { relation, columns } = operator
        && relation.id == rows
    {
        for one in columns.iter().filter(|one| used.contains(&one.column)) {
            if let Some(is_read) = is_read.get_mut(one.position) {
                *is_read = true;
            }
        }
    }
    operator.inputs().for_each(|input| note_read(input, rows, used, is_read));
}
