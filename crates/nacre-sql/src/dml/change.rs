//! What a statement is to change.

use std::sync::Arc;

use datafusion::execution::SendableRecordBatchStream;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{Ident, SelectItem};
use nacre_store::{Error as StoreError, Store, Table, TableSchema};

use super::cell::Cell;
use super::conflict::OnConflict;
use super::found::OfferedRows;
use super::merge::MergeClause;
use super::others::Others;
use super::rows::Rows;
use crate::engine::{EnginePool, GivenStatement, OfferedChange};
use crate::error::{Error, Result};
use crate::from_store::from_store;
use crate::planner::Planner;
use crate::privileges::Rights;
use crate::transaction::Moment;

/// A statement that changes rows of a table.
#[derive(Debug)]
pub(crate) struct Change {
    pub(super) table: Arc<Table>,
    /// The table's definition that the statement was read with.
    pub(super) schema: Arc<TableSchema>,
    pub(super) source: Source,
    pub(super) write: Write,
    pub(super) returning: Option<Returning>,
    /// What an INSERT does about keys that are there already.
    pub(super) on_conflict: Option<OnConflict>,
    /// `INSERT` and so on, as errors name it.
    pub(crate) verb: &'static str,
    /// What of the table whoever runs it has to be allowed.
    pub(super) rights: Rights,
}

/// Where the rows come from.
#[derive(Debug)]
pub(super) enum Source {
    /// Lists of a value for each column; the query computes those that are no literals, in one row.
    Values {
        lists: Vec<Vec<Cell>>,
        query: Option<ParsedStatement>,
        /// As of [`Source::Found`].
        offered: Option<OfferedRows>,
    },
    /// New rows: `targets` are the columns that the outputs of the query are for, and `literals`
    /// says which outputs are texts in quotes.
    Query {
        query: ParsedStatement,
        targets: Vec<usize>,
        is_listed: bool,
        literals: Vec<bool>,
        /// As of [`Source::Found`].
        offered: Option<OfferedRows>,
    },
    /// Rows that are there: the first output is the row's id. `columns` of the table get a value
    /// each.
    Found {
        query: ParsedStatement,
        columns: Vec<usize>,
        cells: Vec<Cell>,
        /// For the engine that is asked first.
        offered: Option<OfferedRows>,
    },
    /// Pairs of a row, or none, and what it is merged with; see [`super::merge`].
    Merged {
        query: ParsedStatement,
        clauses: Vec<MergeClause>,
        check: Option<ParsedStatement>,
        /// As of [`Source::Found`].
        offered: Option<OfferedRows>,
    },
}

impl Source {
    /// Returns what is offered to Nacre's own engine, and whether whole rows are wanted.
    pub(super) fn offered(&self, schema: &TableSchema) -> Option<(&OfferedRows, bool)> {
        match self {
            Self::Query { offered, .. }
            | Self::Values { offered, .. }
            | Self::Merged { offered, .. } => Some((offered.as_ref()?, true)),
            Self::Found { offered, columns, .. } => {
                Some((offered.as_ref()?, columns.len() == schema.columns.len()))
            }
        }
    }
}

/// What is done with rows of a table.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) table: Arc<Table>,
    pub(crate) write: Write,
    pub(crate) rows: Rows,
}

/// What is done with each row.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Insert,
    /// Rows of which no key of these constraints was there a moment ago.
    InsertUnlessRaced(Vec<String>),
    /// The columns of the table that change.
    Update(Vec<usize>),
    Delete,
}

/// What RETURNING asks for, and what it calls the table.
#[derive(Debug)]
pub(super) struct Returning {
    pub(super) items: Vec<SelectItem>,
    pub(super) name: Ident,
    /// The tables of FROM or USING.
    pub(super) others: Option<Others>,
    /// Why DataFusion cannot return from these.
    pub(super) refused: Option<Error>,
    /// Whether `merge_action()` has a meaning, and `*` begins with the columns of the source.
    pub(super) is_merge: bool,
}

/// What a statement that changed rows answers.
pub(crate) struct Answer {
    pub(crate) tag: String,
    pub(crate) rows: Option<SendableRecordBatchStream>,
}

impl Change {
    /// Has Nacre's own engine find the rows that are changed, if it can.
    #[must_use]
    pub(crate) fn offered(mut self, given: GivenStatement<'_>, pool: &Arc<EnginePool>) -> Self {
        let is_of_literals = matches!(self.source, Source::Values { query: None, .. })
            && self.returning.is_none()
            && self.on_conflict.is_none();
        if is_of_literals {
            // They need no engine.
            return self;
        }
        let (Source::Found { offered, .. }
        | Source::Query { offered, .. }
        | Source::Values { offered, .. }
        | Source::Merged { offered, .. }) = &mut self.source;
        *offered = OfferedChange::of(given).map(|change| OfferedRows::new(change, pool));
        self
    }

    /// Checks that the names of tables and columns still mean at a moment what they meant when the
    /// statement was read.
    ///
    /// # Errors
    /// 40001.
    pub(super) fn require_names(&self, store: &Store, moment: &Moment) -> Result<()> {
        let found = store.table_at(&self.schema.name, moment.snapshot());
        let is_same = |table: &Arc<Table>| {
            Arc::ptr_eq(table, &self.table) && Arc::ptr_eq(&table.schema(), &self.schema)
        };
        if found.as_ref().is_ok_and(is_same) {
            return Ok(());
        }
        let table = self.schema.name.clone();
        Err(from_store(StoreError::DefinitionChanged { table }))
    }

    /// Checks that somebody may make the change.
    ///
    /// # Errors
    /// 42501.
    pub(super) fn require(&self, planner: &Planner) -> Result<()> {
        let acting = planner.acting();
        acting.require_table(planner.store(), &self.table, self.rights)
    }
}

impl Returning {
    /// Returns the outputs that the query for the rows has for RETURNING of other tables.
    pub(super) fn items_of_others(&self) -> Vec<SelectItem> {
        self.others.as_ref().map(Others::items).unwrap_or_default()
    }
}
