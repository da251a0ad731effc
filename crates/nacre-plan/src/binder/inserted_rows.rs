//! INSERT of a query's rows: the query, with its outputs as values of columns.
//!
//! ```text
//! insert into t (b, a) select 'x', c from u      'x' is a value of b's type, c is assigned to a
//! ```

use nacre_syntax::{ConflictClause, InsertStatement, QueryBody, QueryExpression, SourceRange};
use nacre_types::{SqlType, ValueSettings};

use super::changed_rows::{BoundChange, ChangedColumn, ChangedRows};
use super::set_operations::SetOperand;
use super::subqueries::BoundQuery;
use super::{Binder, bind_sharing_queries};
use crate::algebra::OutputColumn;
use crate::algebra::conjuncts::with_computed;
use crate::definition::{RelationCatalog, RelationDefinition};
use crate::error::BindError;

/// Binds INSERT of a query; the rows have all columns of the relation, in its order. `declared` are
/// types of parameters, as for [`super::bind_parameterized`].
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what is not there yet.
pub fn bind_inserted_rows(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    insert: &InsertStatement,
    declared: &[Option<SqlType>],
) -> Result<ChangedRows, BindError> {
    let bind = |binder: &mut Binder<'_>| binder.bind_insert(insert);
    let (query, bound) = bind_sharing_queries(catalog, settings, declared, bind)?;
    require_rows_alone(insert)?;
    let BoundChange { relation, columns, others } = bound;
    Ok(ChangedRows { relation, query, columns, others })
}

/// Refuses what is computed of rows that are there or were inserted.
fn require_rows_alone(insert: &InsertStatement) -> Result<(), BindError> {
    let updates = |conflict: &ConflictClause| conflict.update.is_some();
    let what = if insert.on_conflict.as_deref().is_some_and(updates) {
        "ON CONFLICT DO UPDATE"
    } else if insert.overriding.is_some() {
        "OVERRIDING"
    } else {
        return Ok(());
    };
    Err(BindError::not_supported(what, insert.range))
}

/// Whether the rows are written out.
fn is_written(query: &QueryExpression) -> bool {
    matches!(query.body, QueryBody::Values(_))
}

impl Binder<'_> {
    fn bind_insert(
        &mut self,
        insert: &InsertStatement,
    ) -> Result<(BoundQuery, BoundChange), BindError> {
        if let Some(with) = &insert.with {
            self.bind_with(with)?;
        }
        let relation = self.find_changed_relation(&insert.table)?;
        let targets = inserted_columns(&relation, insert)?;
        let query = insert.source.as_deref().filter(|query| !is_written(query));
        let query =
            query.ok_or_else(|| BindError::not_supported("INSERT of values", insert.range))?;
        let SetOperand { root, names, values } = self.bind_untyped_query(query)?;
        require_count(&targets, insert, values.len(), query.range)?;
        let (mut outputs, mut computed) = (Vec::with_capacity(values.len()), Vec::new());
        for ((position, name), value) in targets.iter().zip(names).zip(values) {
            let value = self.assign(value, &relation.columns[*position])?;
            let sql_type = value.sql_type;
            let column = self.column_of(&name, value, &mut computed);
            outputs.push(OutputColumn { name, column, sql_type });
        }
        let column = |position: usize| ChangedColumn {
            position,
            output: targets.iter().take(outputs.len()).position(|target| *target == position),
        };
        let columns = (0..relation.columns.len()).map(column).collect();
        let bound = BoundChange { relation, columns, others: Vec::new() };
        Ok(((with_computed(root, computed), outputs), bound))
    }
}

/// Returns the positions of the columns that get the outputs.
fn inserted_columns(
    relation: &RelationDefinition,
    insert: &InsertStatement,
) -> Result<Vec<usize>, BindError> {
    if insert.columns.is_empty() {
        return Ok((0..relation.columns.len()).collect());
    }
    let mut positions = Vec::with_capacity(insert.columns.len());
    for target in &insert.columns {
        let position = relation.position_assigned(target)?;
        if positions.contains(&position) {
            let message = format!("column \"{}\" specified more than once", target.name.text);
            return Err(BindError::new("42701", message, target.name.range));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// Refuses more or fewer outputs than columns.
fn require_count(
    targets: &[usize],
    insert: &InsertStatement,
    outputs: usize,
    range: SourceRange,
) -> Result<(), BindError> {
    if outputs > targets.len() {
        let message = "INSERT has more expressions than target columns";
        return Err(BindError::new("42601", message, range));
    }
    match insert.columns.get(outputs) {
        Some(target) => {
            let message = "INSERT has more target columns than expressions";
            Err(BindError::new("42601", message, target.name.range))
        }
        None => Ok(()),
    }
}
