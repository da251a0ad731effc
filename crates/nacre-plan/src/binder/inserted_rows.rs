//! INSERT: the query for the new rows, with its outputs as values of columns.
//!
//! ```text
//! insert into t (b, a) select 'x', c from u      'x' is a value of b's type, c is assigned to a
//! insert into t values (1, default), (2, 3)      outputs 1, null, true and 2, 3, false
//! ```
//!
//! # Invariants
//! 1. Rows that are written out come in their order: numbers are drawn for them so.

use std::sync::Arc;

use nacre_syntax::{
    ColumnTarget, ExpressionKind, ExpressionNode, InsertStatement, OverridingKind, QueryBody,
    QueryExpression, SourceRange,
};
use nacre_types::{SqlType, SqlValue, ValueSettings};

use super::changed_rows::{BoundChange, ChangedColumn, ChangedRows};
use super::expressions::ExpressionPlace;
use super::scope::Scope;
use super::select::BoundTarget;
use super::set_operations::SetOperand;
use super::subqueries::BoundQuery;
use super::subquery_joins::has_subquery;
use super::values::{RowNeed, plain_core, sorted_by_number};
use super::{Binder, bind_sharing_queries};
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    ColumnId, ComputedColumn, OutputColumn, RelationalOperator, ScalarExpression,
};
use crate::definition::{RelationCatalog, RelationColumn, RelationDefinition};
use crate::error::BindError;

/// Rows that are written out and come in order without being sorted.
const UNSORTED_ROWS_MAX: usize = 50_000;

/// Binds INSERT; the rows have all columns of the relation, in its order. `declared` are
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
    let bind = |binder: &mut Binder<'_>| {
        binder.bind_change(insert.with.as_ref(), |binder| binder.bind_insert(insert))
    };
    let (query, bound) = bind_sharing_queries(catalog, settings, declared, bind)?;
    if insert.overriding == Some(OverridingKind::User) {
        return Err(BindError::not_supported("OVERRIDING USER VALUE", insert.range));
    }
    let BoundChange { relation, columns, others } = bound;
    Ok(ChangedRows { relation, query, columns, others })
}

/// Returns the rows that are written out, if a query is nothing else.
fn written_rows(query: &QueryExpression) -> Option<&[Vec<ExpressionNode>]> {
    let is_bare = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locks.is_empty();
    match &query.body {
        QueryBody::Values(rows) if is_bare => Some(rows),
        _ => None,
    }
}

impl Binder<'_> {
    fn bind_insert(
        &mut self,
        insert: &InsertStatement,
    ) -> Result<(BoundQuery, BoundChange), BindError> {
        let relation = self.find_changed_relation(&insert.table)?;
        let targets = inserted_columns(&relation, &insert.columns)?;
        let Some(query) = insert.source.as_deref() else {
            return Ok(all_defaults(relation));
        };
        if let Some(rows) = written_rows(query) {
            return self.bind_written_rows(relation, &targets, (insert, query), rows);
        }
        let SetOperand { root, names, values } = self.bind_untyped_query(query)?;
        require_count(&targets, &insert.columns, values.len(), query.range)?;
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
            is_default: None,
        };
        let columns = (0..relation.columns.len()).map(column).collect();
        let bound = BoundChange { relation, columns, others: Vec::new() };
        Ok(((with_computed(root, computed), outputs), bound))
    }

    /// Binds rows that are written out.
    fn bind_written_rows(
        &mut self,
        relation: Arc<RelationDefinition>,
        targets: &[usize],
        (insert, query): (&InsertStatement, &QueryExpression),
        written: &[Vec<ExpressionNode>],
    ) -> Result<(BoundQuery, BoundChange), BindError> {
        let width = written.first().map_or(0, Vec::len);
        let range =
            written.first().and_then(|row| row.first()).map_or(insert.range, |one| one.range);
        require_count(targets, &insert.columns, width, range)?;
        let mut cells = Vec::with_capacity(written.len());
        for row in written {
            if row.len() != width {
                let start = row.first().map_or(insert.range, |first| first.range);
                let message = "VALUES lists must all be the same length";
                return Err(BindError::new("42601", message, start));
            }
            cells.push(self.bind_written_row(&relation, targets, row, written.len() == 1)?);
        }
        let (mut outputs, mut kinds) = (Vec::new(), Vec::new());
        let mut columns: Vec<ChangedColumn> = (0..relation.columns.len())
            .map(|position| ChangedColumn { position, output: None, is_default: None })
            .collect();
        for (place, position) in targets.iter().take(width).enumerate() {
            let defaults = cells.iter().filter(|row| row[place].is_none()).count();
            let RelationColumn { name, sql_type, .. } = &relation.columns[*position];
            if defaults == cells.len() {
                continue;
            }
            columns[*position].output = Some(outputs.len());
            outputs.push(self.output_of_values(name, *sql_type, range)?);
            kinds.push(WrittenOutput::Values(place, *sql_type));
            if defaults > 0 {
                columns[*position].is_default = Some(outputs.len());
                outputs.push(self.output_of_values("is default", SqlType::BOOLEAN, range)?);
                kinds.push(WrittenOutput::Defaults(place));
            }
        }
        let rows =
            cells.iter().map(|row| kinds.iter().map(|kind| kind.value(row, range)).collect());
        let rows: Vec<Vec<ScalarExpression>> = rows.collect();
        let root = match <[_; 1]>::try_from(rows) {
            Ok([row]) => self.single_row(&outputs, row, query)?,
            Err(rows) => self.rows_in_order(&outputs, rows, range)?,
        };
        let bound = BoundChange { relation, columns, others: Vec::new() };
        Ok(((root, outputs), bound))
    }

    /// Binds the values of a row; `None` for DEFAULT.
    fn bind_written_row(
        &mut self,
        relation: &RelationDefinition,
        targets: &[usize],
        row: &[ExpressionNode],
        is_single: bool,
    ) -> Result<Vec<Option<ScalarExpression>>, BindError> {
        let nothing = Scope { out_of_reach: self.out_of_reach.clone(), ..Scope::default() };
        let place = ExpressionPlace::new(&nothing, "VALUES");
        let place = if is_single { place.with_sets() } else { place };
        let bind = |(position, node): (&usize, &ExpressionNode)| {
            if node.kind == ExpressionKind::Default {
                return Ok(None);
            }
            let bound = self.bind(node, place)?;
            let mut value = self.assign(bound, &relation.columns[*position])?;
            self.fold(&mut value);
            Ok(Some(value))
        };
        targets.iter().zip(row).map(bind).collect()
    }

    fn output_of_values(
        &mut self,
        name: &str,
        sql_type: SqlType,
        range: SourceRange,
    ) -> Result<OutputColumn, BindError> {
        let column = self.add_query_column(name, sql_type, range)?;
        Ok(OutputColumn { name: name.to_owned(), column, sql_type })
    }

    /// Makes a row of expressions, or several if there are sets among them.
    fn single_row(
        &mut self,
        outputs: &[OutputColumn],
        mut row: Vec<ScalarExpression>,
        query: &QueryExpression,
    ) -> Result<RelationalOperator, BindError> {
        let root = RelationalOperator::SingleRow;
        let root = self.join_subqueries(root, row.iter_mut().collect())?;
        let target = |(value, output): (ScalarExpression, &OutputColumn)| BoundTarget {
            name: output.name.clone(),
            value,
        };
        let mut targets: Vec<BoundTarget> = row.into_iter().zip(outputs).map(target).collect();
        let core = plain_core(query.range);
        let root = self.expand_outputs((&core, query), root, &mut targets, &mut Vec::new())?;
        let computed = outputs
            .iter()
            .zip(targets)
            .map(|(output, target)| ComputedColumn { column: output.column, value: target.value });
        Ok(with_computed(root, computed.collect()))
    }

    /// Makes rows of expressions, which come in their order.
    fn rows_in_order(
        &mut self,
        outputs: &[OutputColumn],
        mut rows: Vec<Vec<ScalarExpression>>,
        range: SourceRange,
    ) -> Result<RelationalOperator, BindError> {
        let mut columns: Vec<ColumnId> = outputs.iter().map(|output| output.column).collect();
        if rows.iter().flatten().any(has_subquery) {
            return self.join_rows(columns, rows, range, RowNeed::All);
        }
        if rows.len() <= UNSORTED_ROWS_MAX {
            return Ok(RelationalOperator::Values { columns, rows });
        }
        let number = self.add_query_column("number", SqlType::BIGINT, range)?;
        columns.push(number);
        for (number, row) in (0_i64..).zip(&mut rows) {
            row.push(ScalarExpression::constant(SqlValue::BigInt(number), SqlType::BIGINT, range));
        }
        Ok(sorted_by_number(RelationalOperator::Values { columns, rows }, number, range))
    }
}

/// An output of rows that are written out.
#[derive(Clone, Copy)]
enum WrittenOutput {
    /// What stands at a place of each row; null for DEFAULT.
    Values(usize, SqlType),
    /// Whether DEFAULT does.
    Defaults(usize),
}

impl WrittenOutput {
    fn value(self, row: &[Option<ScalarExpression>], range: SourceRange) -> ScalarExpression {
        match self {
            Self::Values(place, sql_type) => {
                let null = || ScalarExpression::constant(SqlValue::Null, sql_type, range);
                row[place].clone().unwrap_or_else(null)
            }
            Self::Defaults(place) => {
                let is_default = SqlValue::Boolean(row[place].is_none());
                ScalarExpression::constant(is_default, SqlType::BOOLEAN, range)
            }
        }
    }
}

/// Returns the query for one row of defaults.
fn all_defaults(relation: Arc<RelationDefinition>) -> (BoundQuery, BoundChange) {
    let column = |position: usize| ChangedColumn { position, output: None, is_default: None };
    let columns = (0..relation.columns.len()).map(column).collect();
    let bound = BoundChange { relation, columns, others: Vec::new() };
    ((RelationalOperator::SingleRow, Vec::new()), bound)
}

/// Returns the positions of the columns that get the outputs.
pub(super) fn inserted_columns(
    relation: &RelationDefinition,
    names: &[ColumnTarget],
) -> Result<Vec<usize>, BindError> {
    if names.is_empty() {
        return Ok((0..relation.columns.len()).collect());
    }
    let mut positions = Vec::with_capacity(names.len());
    for target in names {
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
pub(super) fn require_count(
    targets: &[usize],
    names: &[ColumnTarget],
    outputs: usize,
    range: SourceRange,
) -> Result<(), BindError> {
    if outputs > targets.len() {
        let message = "INSERT has more expressions than target columns";
        return Err(BindError::new("42601", message, range));
    }
    match names.get(outputs) {
        Some(target) => {
            let message = "INSERT has more target columns than expressions";
            Err(BindError::new("42601", message, target.name.range))
        }
        None => Ok(()),
    }
}
