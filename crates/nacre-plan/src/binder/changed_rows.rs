//! UPDATE and DELETE: the query for the rows that are changed, and for what their columns get.
//!
//! ```text
//! update t set a = a + 1, b = default from u where t.id = u.id
//! row id, a + 1      <- Compute <- Filter [t.id = u.id] <- Join <- Scan t [row id, id, a], Scan u
//! ```
//!
//! # Invariants
//! 1. The first output is the id of a row; it may come several times, if FROM has several partners.
//! 2. Values are of the types of their columns, brought there by assignment casts.

use std::sync::Arc;

use nacre_syntax::{
    ColumnTarget, DeleteStatement, ExpressionKind, ExpressionNode, FromItem, ObjectName,
    RelationName, RowCondition, SetAssignment, SqlName, TargetItem, UpdateStatement, WithClause,
};
use nacre_types::catalog::CastContext;
use nacre_types::{SqlType, ValueSettings};

use super::expressions::ExpressionPlace;
use super::joins::{BoundFrom, cross_join};
use super::returned_rows::other_values;
use super::row_comparisons::row_items;
use super::scope::{Scope, ScopeColumn};
use super::subqueries::BoundQuery;
use super::{Binder, bind_sharing_queries};
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    ColumnSource, ComputedColumn, JoinVariant, OutputColumn, QueryColumn, QueryPlan,
    RelationalOperator, ScalarExpression, ScalarKind, ScannedColumn,
};
use crate::definition::{RelationCatalog, RelationColumn, RelationDefinition};
use crate::error::BindError;
use crate::folding::ConstantColumns;
use crate::properties::{has_one_row_at_most, query_never_fails};

/// A statement that changes rows that are there.
#[derive(Clone, Copy, Debug)]
pub enum RowChangingStatement<'a> {
    Update(&'a UpdateStatement),
    Delete(&'a DeleteStatement),
}

impl<'a> RowChangingStatement<'a> {
    /// Returns what RETURNING asks for.
    pub(super) fn returning(self) -> &'a [TargetItem] {
        match self {
            Self::Update(update) => &update.returning,
            Self::Delete(delete) => &delete.returning,
        }
    }

    /// Whether it joins the relation to others, so that a row may be found several times.
    pub fn has_other_tables(self) -> bool {
        match self {
            Self::Update(update) => !update.from.is_empty(),
            Self::Delete(delete) => !delete.using.is_empty(),
        }
    }
}

/// What a statement changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedRows {
    pub relation: Arc<RelationDefinition>,
    /// Its first output is the id of a row, unless rows are new.
    pub query: QueryPlan,
    /// What SET names, in its order; then, if whole rows are wanted, all other columns.
    pub columns: Vec<ChangedColumn>,
    /// The outputs with what RETURNING may read of other tables; `None` for what it does not.
    pub others: Vec<Option<usize>>,
}

impl ChangedRows {
    /// Leaves out the values of other tables that RETURNING does not read.
    pub fn keep_others(&mut self, is_read: &[bool]) {
        let first = self.query.outputs.len() - self.others.len();
        let mut outputs = self.query.outputs.split_off(first).into_iter();
        for (index, other) in self.others.iter_mut().enumerate() {
            let output = outputs.next().filter(|_| is_read.get(index) == Some(&true));
            *other = output.map(|output| {
                self.query.outputs.push(output);
                self.query.outputs.len() - 1
            });
        }
    }
}

/// A column of the relation, and what it has after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedColumn {
    pub position: usize,
    /// Which output; `None` for the column's DEFAULT.
    pub output: Option<usize>,
    /// The output that says which rows have the column's DEFAULT nevertheless, if some may.
    pub is_default: Option<usize>,
}

/// What the outputs of a query for rows are.
pub(super) struct BoundChange {
    pub(super) relation: Arc<RelationDefinition>,
    pub(super) columns: Vec<ChangedColumn>,
    /// As [`ChangedRows::others`]; their outputs are the last ones.
    pub(super) others: Vec<Option<usize>>,
}

/// What the columns of an assignment get.
enum AssignedValues<'a> {
    Written(&'a [ExpressionNode]),
    OfQuery(Vec<OutputColumn>),
    /// One query a column: a query that may fail is computed as a value, for the rows that need it.
    OfQueries(Vec<ScalarExpression>),
}

impl AssignedValues<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Written(nodes) => nodes.len(),
            Self::OfQuery(outputs) => outputs.len(),
            Self::OfQueries(values) => values.len(),
        }
    }
}

/// Rows whose columns get values.
pub(super) struct AssignedRows<'s> {
    pub(super) relation: Arc<RelationDefinition>,
    /// The output that is the id of a row.
    pub(super) id: OutputColumn,
    /// The columns of the relation.
    pub(super) own: &'s Scope,
    /// What RETURNING may read of other tables.
    pub(super) others: Vec<&'s ScopeColumn>,
    pub(super) has_whole_rows: bool,
}

/// A column, and the expression that it gets; `None` for its DEFAULT.
pub(super) struct BoundAssignment {
    pub(super) position: usize,
    pub(super) value: Option<ScalarExpression>,
}

/// The parts of UPDATE and DELETE.
pub(super) struct ChangeClauses<'a> {
    pub(super) with: Option<&'a WithClause>,
    pub(super) table: &'a RelationName,
    pub(super) alias: Option<&'a SqlName>,
    pub(super) from: &'a [FromItem],
    condition: Option<&'a RowCondition>,
    assignments: &'a [SetAssignment],
    has_returning: bool,
}

impl<'a> ChangeClauses<'a> {
    pub(super) fn of(change: RowChangingStatement<'a>) -> Self {
        match change {
            RowChangingStatement::Update(update) => Self {
                with: update.with.as_ref(),
                table: &update.table,
                alias: update.alias.as_ref(),
                from: &update.from,
                condition: update.condition.as_ref(),
                assignments: &update.assignments,
                has_returning: !update.returning.is_empty(),
            },
            RowChangingStatement::Delete(delete) => Self {
                with: delete.with.as_ref(),
                table: &delete.table,
                alias: delete.alias.as_ref(),
                from: &delete.using,
                condition: delete.condition.as_ref(),
                assignments: &[],
                has_returning: !delete.returning.is_empty(),
            },
        }
    }
}

/// Binds UPDATE or DELETE; `has_whole_rows` has the query give the columns that SET does not name.
/// `declared` are types of parameters, as for [`super::bind_parameterized`].
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what is not there yet.
pub fn bind_changed_rows(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    change: RowChangingStatement<'_>,
    has_whole_rows: bool,
    declared: &[Option<SqlType>],
) -> Result<ChangedRows, BindError> {
    let clauses = ChangeClauses::of(change);
    let bind = |binder: &mut Binder<'_>| {
        binder.bind_change(clauses.with, |binder| {
            binder.bind_change_clauses(&clauses, has_whole_rows)
        })
    };
    let (query, bound) = bind_sharing_queries(catalog, settings, declared, bind)?;
    let BoundChange { relation, columns, others } = bound;
    Ok(ChangedRows { relation, query, columns, others })
}

impl Binder<'_> {
    /// Binds a statement that changes rows, behind its WITH.
    pub(super) fn bind_change<T>(
        &mut self,
        with: Option<&WithClause>,
        bind: impl FnOnce(&mut Self) -> Result<T, BindError>,
    ) -> Result<T, BindError> {
        if let Some(with) = with {
            self.bind_with(with)?;
        }
        self.outer_aggregates.push(Vec::new());
        self.constants.push(Some(ConstantColumns::new()));
        let bound = bind(self);
        self.constants.pop();
        self.outer_aggregates.pop();
        bound
    }

    fn bind_change_clauses(
        &mut self,
        clauses: &ChangeClauses<'_>,
        has_whole_rows: bool,
    ) -> Result<(BoundQuery, BoundChange), BindError> {
        let relation = self.find_changed_relation(&clauses.table.name)?;
        let table = &clauses.table.name;
        let (target, id) = self.scan_with_row_ids(&relation, table, clauses.alias)?;
        let own = target.1.clone();
        let (mut root, scope) = self.bind_beside_target(target, clauses.from)?;
        match clauses.condition {
            Some(RowCondition::Where(condition)) => {
                root = self.bind_row_condition(root, &scope, condition)?;
            }
            Some(RowCondition::CurrentOf(name)) => {
                return Err(BindError::not_supported("WHERE CURRENT OF", name.range));
            }
            None => {}
        }
        let others = if clauses.has_returning { other_values(&scope, &own) } else { Vec::new() };
        let assigned = AssignedRows { relation, id, own: &own, others, has_whole_rows };
        self.bind_assignments(assigned, (root, &scope), clauses.assignments)
    }

    /// Keeps the rows for which a condition is true.
    pub(super) fn bind_row_condition(
        &mut self,
        root: RelationalOperator,
        scope: &Scope,
        condition: &ExpressionNode,
    ) -> Result<RelationalOperator, BindError> {
        let condition = self.bind(condition, ExpressionPlace::new(scope, "WHERE"))?;
        let condition = self.coerce_to_boolean(condition, "WHERE")?;
        self.filter_rows(root, condition)
    }

    /// Computes what the columns of rows get, and what else is wanted of them.
    pub(super) fn bind_assignments(
        &mut self,
        rows: AssignedRows<'_>,
        (root, scope): (RelationalOperator, &Scope),
        assignments: &[SetAssignment],
    ) -> Result<(BoundQuery, BoundChange), BindError> {
        let AssignedRows { relation, id, own, others, has_whole_rows } = rows;
        let (mut bound, mut queries) = (Vec::new(), Vec::new());
        for assignment in assignments {
            self.bind_assignment((&relation, scope), assignment, &mut bound, &mut queries)?;
        }
        let root = queries.into_iter().fold(root, |root, query| {
            let variant = match has_one_row_at_most(&query) {
                true => JoinVariant::Left,
                false => JoinVariant::Single,
            };
            let (left, right) = (Box::new(root), Box::new(query));
            RelationalOperator::Join { variant, left, right, condition: None }
        });
        let values = bound.iter_mut().filter_map(|one| one.value.as_mut()).collect();
        let root = self.join_subqueries(root, values)?;
        let (mut outputs, mut columns) = (vec![id], Vec::with_capacity(bound.len()));
        let mut computed: Vec<ComputedColumn> = Vec::new();
        for BoundAssignment { position, value } in bound {
            let output = value.map(|value| {
                let (name, sql_type) = (relation.columns[position].name.clone(), value.sql_type);
                let column = self.column_of(&name, value, &mut computed);
                outputs.push(OutputColumn { name, column, sql_type });
                outputs.len() - 1
            });
            columns.push(ChangedColumn { position, output, is_default: None });
        }
        if has_whole_rows {
            for (position, column) in own.columns.iter().enumerate() {
                if columns.iter().any(|one| one.position == position) {
                    continue;
                }
                let output = Some(outputs.len());
                columns.push(ChangedColumn { position, output, is_default: None });
                outputs.extend(output_of(column));
            }
        }
        let others = others.into_iter().map(|ScopeColumn { name, value }| {
            let sql_type = value.sql_type;
            let column = self.column_of(name, value.clone(), &mut computed);
            outputs.push(OutputColumn { name: name.to_string(), column, sql_type });
            Some(outputs.len() - 1)
        });
        let others = others.collect();
        let bound = BoundChange { relation, columns, others };
        Ok(((with_computed(root, computed), outputs), bound))
    }

    /// Finds the relation that a statement changes. What its rights are is asked elsewhere.
    pub(super) fn find_changed_relation(
        &self,
        table: &ObjectName,
    ) -> Result<Arc<RelationDefinition>, BindError> {
        let range = table.range;
        let (schema, name) = match &table.parts[..] {
            [name] if self.is_common_query(&name.text) => {
                let message = format!(
                    "relation \"{}\" cannot be the target of a modifying statement",
                    name.text
                );
                return Err(BindError::new("42809", message, range));
            }
            [name] => (None, name),
            [schema, name] => (Some(schema.text.as_str()), name),
            _ => return Err(BindError::not_supported("names of three parts", range)),
        };
        let found = self.catalog.find_relation_of_view(schema, &name.text);
        found.ok_or_else(|| BindError::not_supported("changes of what is no table", range))
    }

    /// Makes the scan of the relation, and the output that is the id of a row.
    pub(super) fn scan_with_row_ids(
        &mut self,
        relation: &Arc<RelationDefinition>,
        table: &ObjectName,
        alias: Option<&SqlName>,
    ) -> Result<(BoundFrom, OutputColumn), BindError> {
        let (mut scan, scope) = self.scan_target(relation, table, alias)?;
        let column = self.columns.add(QueryColumn {
            name: "row id".into(),
            sql_type: SqlType::BIGINT,
            is_nullable: false,
            source: ColumnSource::Computed,
        });
        if let RelationalOperator::Scan { relation, columns } = &mut scan {
            columns.push(ScannedColumn { position: relation.row_id_position(), column });
        }
        let id = OutputColumn { name: "row id".to_owned(), column, sql_type: SqlType::BIGINT };
        Ok(((scan, scope), id))
    }

    /// Adds the items of FROM or USING, which cannot name the relation that is changed.
    pub(super) fn bind_beside_target(
        &mut self,
        target: BoundFrom,
        from: &[FromItem],
    ) -> Result<BoundFrom, BindError> {
        let Some(first) = from.first() else { return Ok(target) };
        let outer = self.out_of_reach.len();
        self.out_of_reach.extend(target.1.tables.iter().map(|table| table.name.clone()));
        let bound = self.bind_from(from);
        self.out_of_reach.truncate(outer);
        cross_join(target, bound?, first.range)
    }

    /// Binds what an assignment gives to one column, or to several; adds to `queries` the one that
    /// does.
    pub(super) fn bind_assignment(
        &mut self,
        (relation, scope): (&RelationDefinition, &Scope),
        assignment: &SetAssignment,
        bound: &mut Vec<BoundAssignment>,
        queries: &mut Vec<RelationalOperator>,
    ) -> Result<(), BindError> {
        let SetAssignment { targets, is_row, value } = assignment;
        let values = match (row_items(value), &value.kind) {
            _ if !is_row => AssignedValues::Written(std::slice::from_ref(value)),
            (Some(items), _) => AssignedValues::Written(items),
            (None, ExpressionKind::Subquery(query)) => {
                let place = ExpressionPlace::new(scope, "UPDATE");
                let (root, outputs) = self.bind_inner_query(query, place)?;
                if query_never_fails(&root) {
                    queries.push(root);
                    AssignedValues::OfQuery(outputs)
                } else {
                    let values = self.bind_other_outputs(query, place, (root, outputs))?;
                    AssignedValues::OfQueries(values)
                }
            }
            _ => {
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or \
                               ROW() expression";
                return Err(BindError::new("0A000", message, value.range));
            }
        };
        if values.len() != targets.len() {
            let message = "number of columns does not match number of values";
            return Err(BindError::new("42601", message, value.range));
        }
        for (index, target) in targets.iter().enumerate() {
            let (name, position) = (&target.name, relation.position_assigned(target)?);
            let column = &relation.columns[position];
            let value = match &values {
                AssignedValues::Written(nodes) => {
                    self.bind_assigned_value(column, &nodes[index], scope)?
                }
                AssignedValues::OfQueries(values) => {
                    Some(self.assign(values[index].clone(), column)?)
                }
                AssignedValues::OfQuery(outputs) => {
                    let output = &outputs[index];
                    self.columns.make_nullable(output.column);
                    let kind = ScalarKind::Column(output.column);
                    let read = ScalarExpression::new(kind, output.sql_type, value.range);
                    Some(self.assign(read, column)?)
                }
            };
            if bound.iter().any(|one| one.position == position) {
                let message = format!("multiple assignments to same column \"{}\"", name.text);
                return Err(BindError::new("42601", message, name.range));
            }
            bound.push(BoundAssignment { position, value });
        }
        Ok(())
    }

    fn bind_assigned_value(
        &mut self,
        column: &RelationColumn,
        value: &ExpressionNode,
        scope: &Scope,
    ) -> Result<Option<ScalarExpression>, BindError> {
        if value.kind == ExpressionKind::Default {
            return Ok(None);
        }
        let bound = self.bind(value, ExpressionPlace::new(scope, "UPDATE"))?;
        self.assign(bound, column).map(Some)
    }

    /// Returns an expression as a value of a column.
    ///
    /// # Errors
    /// 42804 if there is no cast for it; those of reading a literal.
    pub(super) fn assign(
        &mut self,
        value: ScalarExpression,
        column: &RelationColumn,
    ) -> Result<ScalarExpression, BindError> {
        let (source, range) = (value.sql_type, value.range);
        let coerced = self.coerce(value, column.sql_type, CastContext::Assignment, range);
        coerced.map_err(|error| match error.sql_state {
            "42846" => {
                let (name, target) = (&column.name, column.sql_type.without_modifier());
                let message = format!(
                    "column \"{name}\" is of type {target} but expression is of type {source}"
                );
                let hint = "You will need to rewrite or cast the expression.";
                BindError::new("42804", message, range).with_hint(hint)
            }
            _ => error,
        })
    }
}

impl RelationDefinition {
    /// Returns the position of a column that a statement assigns to.
    ///
    /// # Errors
    /// 42703; `not supported` for a part of a column.
    pub(super) fn position_assigned(&self, target: &ColumnTarget) -> Result<usize, BindError> {
        let name = &target.name;
        if !target.steps.is_empty() {
            return Err(BindError::not_supported("assignments to parts of columns", name.range));
        }
        let position = self.columns.iter().position(|own| own.name == name.text);
        position.ok_or_else(|| {
            let (column, table) = (&name.text, &self.name);
            let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
            BindError::new("42703", message, name.range)
        })
    }
}

/// Returns a column of the changed relation as an output.
fn output_of(column: &ScopeColumn) -> Option<OutputColumn> {
    let sql_type = column.value.sql_type;
    Some(OutputColumn { name: column.name.to_string(), column: column.id()?, sql_type })
}
