//! Which queries of WITH are computed once, and what reads them.
//!
//! A query is bound with the text of each query of WITH in the place of its name first. If names
//! are found that PostgreSQL computes once, it is bound a second time, and these are read as
//! tables. What can only be bound the first way stays so.
//!
//! ```text
//! read once                            in the place of its name, unless MATERIALIZED
//! read more often                      computed once, unless NOT MATERIALIZED
//! conditions on a table alone          in the place of its name: they are cheap
//! random values, LIMIT                 computed once if read more often: its rows may differ
//! columns of queries around it,
//! ORDER BY without LIMIT               in the place of its name
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use nacre_syntax::{CommonTable, SourceRange};

use super::recursion::reads_open_recursion;
use super::subqueries::BoundQuery;
use super::{Binder, COLUMNS_MAX};
use crate::algebra::{
    ColumnId, ColumnSource, CommonForm, CommonQuery, CommonReference, OutputColumn, QueryColumn,
    RelationalOperator, ScannedColumn,
};
use crate::error::BindError;
use crate::properties::{fails_at_once, has_exactly_one_row, never_fails, query_never_fails};

/// Identifies a query of WITH by where its name stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WithPlace {
    /// The view whose text it is of.
    view: Option<Rc<(String, String)>>,
    start: u32,
}

/// How queries of WITH are read.
#[derive(Clone, Debug, Default)]
pub(super) struct CommonUses(BTreeMap<WithPlace, CommonUse>);

#[derive(Clone, Debug, Default)]
struct CommonUse {
    /// Where it is read, each place once.
    sites: BTreeSet<u32>,
    is_materialized: Option<bool>,
    may_differ: bool,
    is_cheap: bool,
}

/// A query that is computed once, as references to it need it.
#[derive(Clone, Debug)]
pub(super) struct SharedQuery {
    pub(super) reference: CommonReference,
    pub(super) outputs: Vec<OutputColumn>,
}

impl CommonUses {
    /// Notes a query of WITH.
    pub(super) fn note_query(
        &mut self,
        place: WithPlace,
        table: &CommonTable,
        root: &RelationalOperator,
        may_differ: bool,
    ) {
        let own = self.0.entry(place).or_default();
        own.is_materialized = table.is_materialized;
        (own.may_differ, own.is_cheap) = (may_differ, is_cheap(root));
    }

    /// Notes that a query of WITH is read.
    pub(super) fn note_reference(&mut self, place: WithPlace, range: SourceRange) {
        self.0.entry(place).or_default().sites.insert(range.start);
    }

    /// Returns the queries to be computed once.
    pub(super) fn shared(&self) -> BTreeSet<WithPlace> {
        let is_shared = |own: &CommonUse| match own.sites.len() {
            0 => false,
            1 => own.is_materialized == Some(true),
            _ if own.may_differ => true,
            _ => own.is_materialized.unwrap_or(!own.is_cheap),
        };
        self.0.iter().filter(|(_, own)| is_shared(own)).map(|(place, _)| place.clone()).collect()
    }
}

impl Binder<'_> {
    pub(super) fn with_place(&self, table: &CommonTable) -> WithPlace {
        WithPlace { view: self.view.clone(), start: table.name.range.start }
    }

    /// Has a query be computed once; `None` if it is not wanted so, or has columns of queries
    /// around it.
    pub(super) fn share_query(
        &mut self,
        table: &CommonTable,
        bound: &BoundQuery,
    ) -> Option<SharedQuery> {
        let (root, outputs) = bound;
        // What is computed once comes in no order.
        let is_ordered = matches!(root, RelationalOperator::Sort { .. });
        if is_ordered
            || !self.shared.contains(&self.with_place(table))
            || !root.free_columns().is_empty()
            || reads_open_recursion(root)
        {
            return None;
        }
        if table.is_materialized == Some(false) && root.any_expression(&fails_at_once) {
            // PostgreSQL computes only what is read of it.
            let what = "NOT MATERIALIZED queries with constants that fail, if they are read twice \
                        and may differ";
            let error = BindError::not_supported(what, table.name.range);
            self.unshared.get_or_insert(error);
        }
        let reference = CommonReference {
            index: self.common_queries.len(),
            may_fail: !query_never_fails(root),
            is_whole: false,
            has_one_row: has_exactly_one_row(root),
            key: key_of(root, outputs),
            rows_expected: None,
        };
        self.common_queries.push(CommonQuery {
            name: table.name.text.clone(),
            root: root.clone(),
            outputs: outputs.iter().map(|output| output.column).collect(),
            types: outputs.iter().map(|output| output.sql_type).collect(),
            form: CommonForm::Rows,
        });
        Some(SharedQuery { reference, outputs: outputs.clone() })
    }

    /// Reads a query that is computed once.
    pub(super) fn read_shared(
        &mut self,
        shared: &SharedQuery,
        range: SourceRange,
    ) -> Result<BoundQuery, BindError> {
        if self.columns.len() + shared.outputs.len() > COLUMNS_MAX {
            return Err(self.too_many_columns(range));
        }
        let (mut columns, mut outputs) = (Vec::new(), Vec::new());
        for (position, output) in shared.outputs.iter().enumerate() {
            let computed = self.columns.get(output.column);
            let column = QueryColumn {
                name: output.name.as_str().into(),
                sql_type: output.sql_type,
                is_nullable: computed.is_none_or(|column| column.is_nullable),
                source: computed.map_or(ColumnSource::Computed, |column| column.source),
            };
            let column = self.columns.add(column);
            columns.push(ScannedColumn { position, column });
            outputs.push(OutputColumn { column, ..output.clone() });
        }
        let query = shared.reference.clone();
        Ok((RelationalOperator::CommonScan { query, columns }, outputs))
    }
}

/// Whether a query is rows of a table, or written out, and infallible conditions on them.
fn is_cheap(root: &RelationalOperator) -> bool {
    match root {
        RelationalOperator::Scan { .. }
        | RelationalOperator::CommonScan { .. }
        | RelationalOperator::SingleRow
        | RelationalOperator::Values { .. } => true,
        RelationalOperator::Filter { input, condition } => {
            never_fails(condition) && is_cheap(input)
        }
        RelationalOperator::Compute { input, columns } => {
            columns.iter().all(|one| never_fails(&one.value)) && is_cheap(input)
        }
        _ => false,
    }
}

/// Returns the positions of outputs that are the keys of groups.
fn key_of(root: &RelationalOperator, outputs: &[OutputColumn]) -> Option<Vec<usize>> {
    match root {
        RelationalOperator::Filter { input, .. }
        | RelationalOperator::Compute { input, .. }
        | RelationalOperator::Window { input, .. }
        | RelationalOperator::Limit { input, .. }
        | RelationalOperator::Sort { input, .. } => key_of(input, outputs),
        RelationalOperator::Aggregate { keys, is_scalar: false, .. } => {
            let position = |key: &ColumnId| outputs.iter().position(|output| output.column == *key);
            keys.iter().map(position).collect()
        }
        _ => None,
    }
}
