//! Writes a table anew, with other columns or constraints.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::sql::sqlparser::ast::{Expr, Ident};
use futures::StreamExt;
use nacre_column::{CHUNK_ROWS, ColumnBuffer, Values};
use nacre_store::index::IndexDef;
use nacre_store::{
    Error as StoreError, ForeignKeyDef, Load, Store, Table, TableRules, TableSchema,
};

use crate::dml::{Cell, source_query};
use crate::error::{Error, Result};
use crate::from_store::from_store;
use crate::planner::Planner;
use crate::rules::{Checks, DefaultValues};
use crate::scan::StoredTable;
use crate::transaction::Turn;

/// Strings of one column of a chunk: with another value they stay below the 2^31 of a buffer.
const CHUNK_BYTES_MAX: usize = 1 << 30;

/// Where the values of a new table's column come from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// An expression over the old table.
    Expr(Box<Expr>),
    /// The column's DEFAULT.
    Default,
}

/// What a table becomes.
pub(super) struct Target {
    pub(super) schema: TableSchema,
    pub(super) rules: TableRules,
    /// Beside that of the primary key.
    pub(super) indexes: Vec<IndexDef>,
    pub(super) keys: Vec<ForeignKeyDef>,
    /// Where the columns of the old table are.
    pub(super) places: Vec<Option<usize>>,
    /// For each column of the new table.
    pub(super) origins: Vec<Origin>,
}

/// Chunks that are being filled.
struct Chunks<'a> {
    schema: &'a TableSchema,
    load: &'a Load,
    cells: Vec<Cell>,
    defaults: DefaultValues,
    checks: Option<Checks>,
    buffers: Vec<ColumnBuffer>,
    next: u64,
}

/// Writes `table` anew.
///
/// # Errors
/// 23502, 23514, 23505 for rows that do not meet the new definition; 42804, 22003 and the like for
/// values that a column cannot take; 40001. The table is as it was then.
pub(super) async fn rewrite(
    store: &Store,
    planner: &Planner,
    turn: &mut Turn,
    table: &Arc<Table>,
    target: Target,
) -> Result<()> {
    let Target { schema, rules, indexes, keys, places, origins } = target;
    // Closed to writers from here on.
    let rewriting = store
        .begin_rewrite(table, schema.clone(), rules.clone(), (indexes, &keys), places)
        .map_err(from_store)?;
    turn.require_unwritten(table)?;
    let moment = turn.latest_moment()?;
    let (mut cells, mut exprs) = (Vec::with_capacity(origins.len()), Vec::new());
    for (column, origin) in origins.into_iter().enumerate() {
        cells.push(match origin {
            Origin::Expr(expr) => {
                exprs.push(*expr);
                Cell::Output { index: exprs.len() - 1, is_literal: false }
            }
            Origin::Default => Cell::default_in(&rules, &schema, column)?,
        });
    }
    let name = Ident::with_quote('"', &table.schema().name);
    let (query, name_of_target) = source_query(&name, exprs)?;
    let source = StoredTable::new(table, &moment).map_err(from_store)?;
    let source: Arc<dyn TableProvider> = Arc::new(source);
    let mut stream = planner.start(&moment, vec![(name_of_target, source)], query).await?;
    let load = rewriting.begin_load().map_err(from_store)?;
    let computed = cells.iter().filter_map(|cell| match cell {
        Cell::Default(column) => Some(*column),
        _ => None,
    });
    let defaults = DefaultValues::in_rules(planner, &rules, computed.collect())?;
    let checks = match rules.checks.is_empty() {
        true => None,
        false => Some(Checks::compile(planner, &schema, &rules.checks)?),
    };
    let mut chunks = Chunks {
        schema: &schema,
        load: &load,
        cells,
        defaults,
        checks,
        buffers: Vec::new(),
        next: 0,
    };
    while let Some(batch) = stream.next().await {
        chunks.take(&batch?)?;
    }
    chunks.flush()?;
    load.commit().map_err(refused)?;
    rewriting.publish().map_err(from_store)
}

impl Chunks<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut drawn = self.defaults.draw(|_| batch.num_rows())?;
        for row in 0..batch.num_rows() {
            if self.is_full() {
                self.flush()?;
            }
            if self.buffers.is_empty() {
                let columns = self.schema.columns.iter();
                self.buffers = columns.map(|c| ColumnBuffer::new(c.column_type)).collect();
            }
            let columns = self.schema.columns.iter().zip(&mut self.buffers);
            for (cell, (column, buffer)) in self.cells.iter().zip(columns) {
                cell.push(Some((batch, row)), &mut drawn, column, buffer)?;
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let is_long = |buffer: &ColumnBuffer| match buffer.values() {
            Values::Bytes(values) => values.data.len() > CHUNK_BYTES_MAX,
            _ => false,
        };
        let rows = self.buffers.first().map_or(0, ColumnBuffer::len);
        rows >= CHUNK_ROWS || self.buffers.iter().any(is_long)
    }

    fn flush(&mut self) -> Result<()> {
        let buffers = std::mem::take(&mut self.buffers);
        if buffers.first().is_none_or(ColumnBuffer::is_empty) {
            return Ok(());
        }
        if let Some(checks) = &self.checks
            && let Some((_, error)) = checks.first_failure(&buffers.iter().collect::<Vec<_>>())?
        {
            return Err(violated(&error, &self.schema.name));
        }
        self.load.append_chunk(self.next, &buffers).map_err(refused)?;
        self.next += 1;
        Ok(())
    }
}

/// Words a failing row's error for all rows of a table.
fn violated(error: &Error, table: &str) -> Error {
    let name = error.message().rsplit_once(" constraint ").map_or("", |(_, name)| name);
    let message =
        format!("check constraint {name} of relation \"{table}\" is violated by some row");
    let constraint = error.origin().and_then(|origin| origin.constraint.clone());
    let worded = Error::new(error.kind(), message).with_code("23514");
    worded.of_constraint(table, &constraint.unwrap_or_default())
}

fn refused(error: StoreError) -> Error {
    match &error {
        StoreError::NullViolation { table, column } => {
            let message =
                format!("column \"{column}\" of relation \"{table}\" contains null values");
            let kind = crate::error::ErrorKind::ConstraintViolation;
            Error::new(kind, message).with_code("23502").of_column(table, column)
        }
        _ => from_store(error),
    }
}
