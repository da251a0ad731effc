//! The rules of tables whose rows foreign keys change.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use nacre_column::ColumnBuffer;
use nacre_store::{
    Error as StoreError, Result as StoreResult, RowRefused, RowRules, Table, TableId, Value,
    ValueRef,
};

use super::checks::Checks;
use super::defaults::DefaultValues;
use crate::dml::Cell;
use crate::error::{Error, Result};
use crate::planner::Planner;

/// Evaluates rules for a statement; those of a table are compiled when its first row comes.
pub(crate) struct ActionRules<'a> {
    planner: &'a Planner,
    checks: BTreeMap<TableId, Option<Checks>>,
}

impl<'a> ActionRules<'a> {
    pub(crate) fn new(planner: &'a Planner) -> Self {
        Self { planner, checks: BTreeMap::new() }
    }

    fn defaults_of(&self, table: &Arc<Table>, columns: &[usize]) -> Result<Vec<Value>> {
        let (schema, rules) = (table.schema(), table.rules());
        let cell = |column: &usize| match rules.defaults.contains_key(column) {
            true => Cell::default_of(table, *column),
            false => Ok(Cell::Null),
        };
        let cells = columns.iter().map(cell).collect::<Result<Vec<Cell>>>()?;
        let computed =
            columns.iter().zip(&cells).filter(|(_, cell)| matches!(cell, Cell::Default(_)));
        let computed = computed.map(|(column, _)| *column).collect();
        let mut drawn = DefaultValues::of(self.planner, table, computed)?.draw(|_| 1)?;
        let mut values = Vec::with_capacity(columns.len());
        for (&column, cell) in columns.iter().zip(&cells) {
            let definition = &schema.columns[column];
            let mut buffer = ColumnBuffer::new(definition.column_type);
            cell.push(None, &mut drawn, definition, &mut buffer)?;
            values.push(ValueRef::of(&buffer, 0).to_value());
        }
        Ok(values)
    }

    fn check_values(&mut self, table: &Arc<Table>, values: &[Value]) -> Result<()> {
        let checks = match self.checks.entry(table.id()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(Checks::of(self.planner, table)?),
        };
        let Some(checks) = checks else { return Ok(()) };
        let schema = table.schema();
        let mut buffers = Vec::with_capacity(values.len());
        for (definition, value) in schema.columns.iter().zip(values) {
            let mut buffer = ColumnBuffer::new(definition.column_type);
            value.as_ref().push_to(&mut buffer);
            buffers.push(buffer);
        }
        let failed = checks.first_failure(&buffers.iter().collect::<Vec<_>>())?;
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl RowRules for ActionRules<'_> {
    fn defaults(&mut self, table: &Arc<Table>, columns: &[usize]) -> StoreResult<Vec<Value>> {
        self.defaults_of(table, columns).map_err(refused)
    }

    fn check(&mut self, table: &Arc<Table>, values: &[Value]) -> StoreResult<()> {
        self.check_values(table, values).map_err(refused)
    }
}

fn refused(error: Error) -> StoreError {
    StoreError::RowRefused(Box::new(RowRefused { reason: Box::new(error), loaded_at: None }))
}
