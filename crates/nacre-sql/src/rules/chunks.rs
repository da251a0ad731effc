//! The rules of a table, for the chunks of a COPY.

use std::sync::Arc;

use nacre_column::ColumnBuffer;
use nacre_ingest::ChunkRules;
use nacre_store::{Error as StoreError, RowRefused, Table, TableSchema};

use super::checks::Checks;
use super::defaults::DefaultValues;
use crate::dml::Cell;
use crate::error::Error;
use crate::planner::Planner;

/// Compiled rules of the table that a COPY loads.
pub(crate) struct CopyRules {
    schema: Arc<TableSchema>,
    checks: Option<Checks>,
    defaults: DefaultValues,
    /// The columns that the file does not have, with a default.
    filled: Vec<(usize, Cell)>,
}

impl CopyRules {
    /// Compiles the rules of a table; `None` if none of them concerns the load. `columns` are those
    /// that the file has, `None` is all.
    ///
    /// # Errors
    /// Those of the planner.
    pub(crate) fn of(
        planner: &Planner,
        table: &Table,
        columns: Option<&[usize]>,
    ) -> crate::error::Result<Option<Self>> {
        let checks = Checks::of(planner, table)?;
        let rules = table.rules();
        let mut filled = Vec::new();
        for &column in rules.defaults.keys() {
            if columns.is_some_and(|columns| !columns.contains(&column)) {
                filled.push((column, Cell::default_of(table, column)?));
            }
        }
        if checks.is_none() && filled.is_empty() {
            return Ok(None);
        }
        let computed = filled.iter().filter(|(_, cell)| matches!(cell, Cell::Default(_)));
        let computed = computed.map(|(column, _)| *column).collect();
        let defaults = DefaultValues::of(planner, table, computed)?;
        Ok(Some(Self { schema: table.schema(), checks, defaults, filled }))
    }

    fn fill(&self, columns: &mut [ColumnBuffer]) -> crate::error::Result<()> {
        let rows = columns.first().map_or(0, ColumnBuffer::len);
        let mut drawn = self.defaults.draw(|_| rows)?;
        for (column, cell) in &self.filled {
            let (definition, buffer) = (&self.schema.columns[*column], &mut columns[*column]);
            buffer.clear();
            for _ in 0..rows {
                cell.push(None, &mut drawn, definition, buffer)?;
            }
        }
        Ok(())
    }

    fn check(&self, columns: &[ColumnBuffer]) -> crate::error::Result<Option<(usize, Error)>> {
        match &self.checks {
            Some(checks) => checks.first_failure(&columns.iter().collect::<Vec<_>>()),
            None => Ok(None),
        }
    }
}

impl ChunkRules for CopyRules {
    fn fills(&self, column: usize) -> bool {
        self.filled.iter().any(|(filled, _)| *filled == column)
    }

    fn apply(&self, index: u64, columns: &mut [ColumnBuffer]) -> Result<(), StoreError> {
        self.fill(columns).map_err(|error| refused(error, None))?;
        match self.check(columns).map_err(|error| refused(error, None))? {
            None => Ok(()),
            Some((row, error)) => Err(refused(error, Some((index, row as u32)))),
        }
    }
}

fn refused(error: Error, loaded_at: Option<(u64, u32)>) -> StoreError {
    StoreError::RowRefused(Box::new(RowRefused { reason: Box::new(error), loaded_at }))
}
