//! ON CONFLICT DO UPDATE: the query for what rows get that stand in the way of new ones.
//!
//! ```text
//! insert into t values (1, 2) on conflict (a) do update set b = t.b + excluded.b where t.b > 0
//! row id, b + b      <- Compute <- Filter [b > 0] <- Scan of pairs [a, b, a, b, row id]
//! ```
//!
//! # Invariants
//! 1. The pairs are a relation with the columns of the one that is changed, of rows that are there,
//!    then those of the rows that were proposed, then the ids of the former.
//! 2. The first output is the id of a row.

use std::sync::Arc;

use nacre_syntax::{ConflictUpdate, InsertStatement, SqlName};
use nacre_types::{SqlType, ValueSettings};

use super::changed_rows::{AssignedRows, BoundChange, ChangedColumn};
use super::joins::cross_join;
use super::returned_rows::read_positions;
use super::subqueries::BoundQuery;
use super::{Binder, bind_sharing_queries};
use crate::algebra::{OutputColumn, QueryPlan, RelationalOperator, ScannedColumn};
use crate::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use crate::error::BindError;

/// What the rows that were proposed are called.
pub(super) const EXCLUDED: &str = "excluded";

/// What ON CONFLICT DO UPDATE does.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictRows {
    /// Its first output is the id of a row.
    pub query: QueryPlan,
    /// What SET names, in its order; then, if whole rows are wanted, all other columns.
    pub columns: Vec<ChangedColumn>,
    /// Which columns of the pairs are read.
    pub is_read: Vec<bool>,
}

/// Binds ON CONFLICT DO UPDATE; `None` without one. The pairs have the number `pairs`;
/// `has_whole_rows` has the query give the columns that SET does not name. `declared` are types of
/// parameters, as for [`super::bind_parameterized`].
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what is not there yet.
pub fn bind_conflict_rows(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    insert: &InsertStatement,
    (pairs, has_whole_rows): (RelationId, bool),
    declared: &[Option<SqlType>],
) -> Result<Option<ConflictRows>, BindError> {
    let update = insert.on_conflict.as_deref().and_then(|conflict| conflict.update.as_ref());
    let Some(update) = update else { return Ok(None) };
    let bind = |binder: &mut Binder<'_>| {
        binder.bind_change(insert.with.as_ref(), |binder| {
            binder.bind_conflict_update((insert, update), pairs, has_whole_rows)
        })
    };
    let (query, (columns, width)) = bind_sharing_queries(catalog, settings, declared, bind)?;
    let is_read = read_positions(&query, pairs, width);
    Ok(Some(ConflictRows { query, columns, is_read }))
}

impl Binder<'_> {
    fn bind_conflict_update(
        &mut self,
        (insert, update): (&InsertStatement, &ConflictUpdate),
        pairs: RelationId,
        has_whole_rows: bool,
    ) -> Result<(BoundQuery, (Vec<ChangedColumn>, usize)), BindError> {
        let range = insert.table.range;
        let relation = self.find_changed_relation(&insert.table)?;
        let target = self.scan_target(&relation, &insert.table, insert.alias.as_ref())?;
        let (scan, own) = target.clone();
        let name = SqlName { text: EXCLUDED.to_owned(), range };
        let unnamed = RelationDefinition { schema: String::new(), ..(*relation).clone() };
        let proposed = self.scan_relation(&Arc::new(unnamed), &name, None, range)?;
        let (_, scope) = cross_join(target, proposed, range)?;
        let (mut root, scope, definition) =
            self.scan_changed_rows((scan, scope), &own, pairs, range)?;
        let mut definition = (*definition).clone();
        let column = self.add_query_column("row id", SqlType::BIGINT, range)?;
        let id = OutputColumn { name: "row id".to_owned(), column, sql_type: SqlType::BIGINT };
        if let RelationalOperator::Scan { relation, columns } = &mut root {
            columns.push(ScannedColumn { position: definition.columns.len(), column });
            let (name, sql_type) = (id.name.clone(), id.sql_type);
            definition.columns.push(RelationColumn { name, sql_type, is_nullable: false });
            *relation = Arc::new(definition.clone());
        }
        if let Some(condition) = &update.condition {
            root = self.bind_row_condition(root, &scope, condition)?;
        }
        let others = Vec::new();
        let rows = AssignedRows { relation, id, own: &own, others, has_whole_rows };
        let (query, bound) = self.bind_assignments(rows, (root, &scope), &update.assignments)?;
        let BoundChange { columns, .. } = bound;
        Ok((query, (columns, definition.columns.len())))
    }
}
