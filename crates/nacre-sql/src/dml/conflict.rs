//! INSERT ... ON CONFLICT: rows whose key is there already are left out, or change the row that
//! has it.
//!
//! 1. Each new row is looked up in the indexes that decide, through the transaction, so that the
//!    look is validated at commit.
//! 2. For DO UPDATE the rows that were found and those that were proposed become two tables of
//!    the statement, and a query over them gives the new values.
//! 3. Rows without a conflict are inserted, the others updated.
//!
//! A row that somebody committed since the snapshot, and that stands in the way only when it comes
//! to inserting, is a serialization failure, and not a duplicate.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::sql::sqlparser::ast::{
    Assignment, ConflictTarget, Expr, Ident, OnConflict as OnConflictSyntax, OnConflictAction,
    SelectItem, SetExpr,
};
use nacre_column::{ColumnBuffer, ColumnType};
use nacre_exec::lower::{GivenColumn, GivenRows, StoredColumnValues};
use nacre_ingest::Progress;
use nacre_store::index::{IndexOrigin, TableIndex};
use nacre_store::{ColumnDef, RowId, Table, TableSchema, Transaction, Value, ValueRef};

use super::cell::Cell;
use super::change::{Step, Write};
use super::defaults::is_default;
use super::found::OfferedRows;
use super::query::{self, output, row_id, select_joined};
use super::rows::{RowBatch, Rows};
use super::source::{Form, Repeated};
use super::statement::{assignments, other_columns};
use crate::engine::ConflictQuery;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::fold;
use crate::planner::Planner;
use crate::scan::{ROW_ID_COLUMN, buffer_array};
use crate::transaction::{Moment, Turn};
use crate::types::arrow_schema;

/// The rows that are there, in [`crate::names::STATEMENT_SCHEMA`].
const EXISTING: &str = "existing";

/// The rows that were proposed, as users call them, too.
const EXCLUDED: &str = "excluded";

/// Name of the column that pairs the two.
const PAIR_COLUMN: &str = "nacre pair";

/// What ON CONFLICT says.
#[derive(Debug)]
pub(super) struct OnConflict {
    /// The indexes that decide.
    arbiters: Vec<Arc<TableIndex>>,
    /// What DO UPDATE does; `None` is DO NOTHING.
    update: Option<DoUpdate>,
    /// Whether the statement says which key is meant.
    names_key: bool,
}

#[derive(Debug)]
struct DoUpdate {
    /// What the statement calls the table.
    name: Ident,
    /// The id of the row and the values that are no literals.
    items: Vec<SelectItem>,
    /// The columns that get a value, and from where.
    columns: Vec<usize>,
    cells: Vec<Cell>,
    /// Those of them that change; the others are for RETURNING.
    written: Vec<usize>,
    selection: Option<Expr>,
}

/// Rows that have a conflict, and what they are in conflict with.
struct Pairs {
    ids: Vec<RowId>,
    existing: Vec<ColumnBuffer>,
    proposed: Rows,
}

impl Pairs {
    fn new(schema: &TableSchema) -> Self {
        let buffer = |column: &ColumnDef| ColumnBuffer::new(column.column_type);
        Self {
            ids: Vec::new(),
            existing: schema.columns.iter().map(buffer).collect(),
            proposed: Rows::new((0..schema.columns.len()).collect()),
        }
    }

    /// Adds a pair.
    fn push<'v>(
        &mut self,
        schema: &TableSchema,
        (id, existing): (RowId, impl Iterator<Item = ValueRef<'v>>),
        (batch, row): (&RowBatch, usize),
    ) -> Result<()> {
        self.ids.push(id);
        existing.zip(&mut self.existing).for_each(|(value, buffer)| value.push_to(buffer));
        copy(schema, batch, row, &mut self.proposed)
    }

    /// Takes them apart so that no row comes twice: the first pairs of all rows, then the second
    /// ones, and so on.
    fn rounds(self, schema: &TableSchema) -> Result<Vec<Self>> {
        let mut ids: Vec<u64> = self.ids.iter().map(|id| id.0).collect();
        ids.sort_unstable();
        if ids.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(vec![self]);
        }
        let mut counts: HashMap<RowId, usize> = HashMap::new();
        let (mut rounds, mut pair) = (Vec::new(), 0);
        for batch in self.proposed.batches() {
            for row in 0..batch.len() {
                let id = self.ids[pair];
                let round = counts.entry(id).or_default();
                if *round == rounds.len() {
                    rounds.push(Self::new(schema));
                }
                let existing = self.existing.iter().map(|buffer| ValueRef::of(buffer, pair));
                rounds[*round].push(schema, (id, existing), (batch, row))?;
                (*round, pair) = (*round + 1, pair + 1);
            }
        }
        Ok(rounds)
    }

    /// Returns them as the query of Nacre's own engine reads them.
    fn given_rows(&self, table: &Table, query: &ConflictQuery) -> GivenRows {
        let (schema, count) = (table.schema(), self.ids.len());
        let (width, batches) = (schema.columns.len(), self.proposed.batches());
        let mut columns = Vec::with_capacity(2 * width + 1);
        for position in 0..2 * width {
            if !query.reads(position) {
                columns.push(GivenColumn::Unread);
                continue;
            }
            let place = position % width;
            let column_type = schema.columns[place].column_type;
            let values = match self.existing.get(position) {
                Some(buffer) => {
                    let values = (0..count).map(|row| ValueRef::of(buffer, row));
                    StoredColumnValues::of(column_type, values)
                }
                None => {
                    let values = batches.iter().flat_map(|batch| {
                        let buffer = &batch.columns[place];
                        (0..batch.len()).map(move |row| ValueRef::of(buffer, row))
                    });
                    StoredColumnValues::of(column_type, values)
                }
            };
            columns.push(GivenColumn::Stored(values));
        }
        // All 64 bits of an id count.
        let ids = self.ids.iter().map(|id| ValueRef::Int(id.0 as i64));
        columns.push(GivenColumn::Stored(StoredColumnValues::of(ColumnType::BigInt, ids)));
        GivenRows::new(count, columns)
    }
}

impl OnConflict {
    /// Whether rows that are there may be changed.
    pub(super) fn updates(&self) -> bool {
        self.update.is_some()
    }

    /// Whether columns of the table are read: those of the key that is named, or more.
    pub(super) fn reads(&self) -> bool {
        self.names_key || self.updates()
    }

    /// Reads the clause.
    ///
    /// # Errors
    /// 42P10 if no unique index is meant, 42704 if no constraint has the name; those of SET.
    pub(super) fn of(
        table: &Arc<Table>,
        name: &Ident,
        syntax: OnConflictSyntax,
        returns: bool,
    ) -> Result<Self> {
        let schema = table.schema();
        let arbiters = arbiters(table, &schema, syntax.conflict_target.as_ref())?;
        let names_key = syntax.conflict_target.is_some();
        let update = match syntax.action {
            OnConflictAction::DoNothing => None,
            OnConflictAction::DoUpdate(_) if syntax.conflict_target.is_none() => {
                let message =
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(Error::new(ErrorKind::Syntax, message)
                    .with_hint("For example, ON CONFLICT (column_name)."));
            }
            OnConflictAction::DoUpdate(update) => {
                Some(DoUpdate::new(table, name, update.assignments, update.selection, returns)?)
            }
        };
        Ok(Self { arbiters, update, names_key })
    }

    /// Sorts new rows into those that are inserted and those that update others; `own` has the
    /// query for these in the engine that found the rows, unless that is DataFusion.
    ///
    /// # Errors
    /// 21000 if two of them meet the same row; those of the assignments.
    pub(super) async fn steps(
        &self,
        planner: &Planner,
        turn: &mut Turn,
        moment: &Arc<Moment>,
        table: &Arc<Table>,
        (rows, own): (Rows, Option<(&OfferedRows, &ConflictQuery)>),
        progress: &Progress,
    ) -> Result<Vec<Step>> {
        let schema = table.schema();
        let mut hold = turn.lend()?;
        let sorted = self.sort(hold.transaction(), table, &schema, &rows);
        turn.restore(hold);
        let (inserted, pairs) = sorted?;
        let step = |write, rows| Step { table: Arc::clone(table), write, rows };
        let mut steps = vec![step(Write::InsertUnlessRaced(self.names()), inserted)];
        let Some(update) = self.update.as_ref().filter(|_| !pairs.ids.is_empty()) else {
            return Ok(steps);
        };
        let mut updates = Vec::new();
        match own {
            Some((offered, query)) => {
                let rounds = pairs.rounds(&schema)?;
                let (mut changed, is_single) = (HashSet::new(), rounds.len() == 1);
                for pairs in rounds {
                    // Whether its condition is true is not asked any more.
                    if pairs.ids.iter().any(|id| changed.contains(id)) {
                        return Err(changed_twice());
                    }
                    let given = (query, pairs.given_rows(table, query));
                    let updated = offered.updated(planner, moment, table, given, progress).await?;
                    let ids = updated.batches().iter().flat_map(|batch| &batch.ids);
                    changed.extend(ids.filter(|_| !is_single).copied());
                    updates.push(updated);
                }
            }
            None => updates.push(update.rows(planner, moment, table, pairs, progress).await?),
        }
        for updated in updates {
            updated.check_nulls(&schema)?;
            updated.check(planner, table)?;
            steps.push(step(Write::Update(update.written.clone()), updated));
        }
        Ok(steps)
    }

    /// Returns the names of the constraints that decide.
    fn names(&self) -> Vec<String> {
        self.arbiters.iter().map(|index| index.definition().name.clone()).collect()
    }

    fn sort(
        &self,
        transaction: &mut Transaction,
        table: &Arc<Table>,
        schema: &TableSchema,
        rows: &Rows,
    ) -> Result<(Rows, Pairs)> {
        let all: Vec<usize> = (0..schema.columns.len()).collect();
        let (mut inserted, mut pairs) = (Rows::new(all.clone()), Pairs::new(schema));
        let mut own: HashSet<(usize, Vec<u8>)> = HashSet::new();
        for batch in rows.batches() {
            for row in 0..batch.len() {
                let keys = self.keys(batch, row);
                let mut found: Option<(RowId, Vec<Value>)> = None;
                for (place, key, _) in &keys {
                    let on_row = |id: RowId, values: &[ValueRef<'_>]| {
                        found = Some((id, values.iter().map(|value| value.to_value()).collect()));
                    };
                    let index = &self.arbiters[*place];
                    transaction.lookup(table, index, key, &all, on_row).map_err(from_store)?;
                    if found.is_some() {
                        break;
                    }
                }
                if let Some((id, values)) = found {
                    if self.update.is_some() {
                        let existing = values.iter().map(Value::as_ref);
                        pairs.push(schema, (id, existing), (batch, row))?;
                    }
                    continue;
                }
                let marks = keys.into_iter().map(|(place, _, mark)| (place, mark));
                let marks: Vec<(usize, Vec<u8>)> = marks.collect();
                if marks.iter().any(|mark| own.contains(mark)) {
                    match self.update {
                        None => continue,
                        Some(_) => return Err(changed_twice()),
                    }
                }
                own.extend(marks);
                copy(schema, batch, row, &mut inserted)?;
            }
        }
        Ok((inserted, pairs))
    }

    /// Returns the keys of a row without nulls: the arbiter, the key, and bytes that are the same
    /// for the same key.
    fn keys<'a>(
        &self,
        batch: &'a RowBatch,
        row: usize,
    ) -> Vec<(usize, Vec<ValueRef<'a>>, Vec<u8>)> {
        let mut keys = Vec::with_capacity(self.arbiters.len());
        for (place, index) in self.arbiters.iter().enumerate() {
            let columns = &index.definition().columns;
            let value = |&column: &usize| ValueRef::of(&batch.columns[column], row);
            let key: Vec<ValueRef<'a>> = columns.iter().map(value).collect();
            if !key.iter().any(|value| value.is_null()) {
                let mark = mark(&key);
                keys.push((place, key, mark));
            }
        }
        keys
    }
}

/// Returns bytes that two keys have in common exactly if they are equal.
fn mark(key: &[ValueRef<'_>]) -> Vec<u8> {
    let mut mark = Vec::new();
    let double = |value: f64, mark: &mut Vec<u8>| {
        // All NaNs are one key, and both zeros.
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        mark.extend_from_slice(&value.to_bits().to_le_bytes());
    };
    for value in key {
        match value {
            ValueRef::Null => {}
            ValueRef::Int(value) => mark.extend_from_slice(&value.to_le_bytes()),
            ValueRef::Int128(value) => mark.extend_from_slice(&value.to_le_bytes()),
            ValueRef::Float32(value) => double((*value).into(), &mut mark),
            ValueRef::Float64(value) => double(*value, &mut mark),
            ValueRef::Bytes(value) => {
                mark.extend_from_slice(&(value.len() as u64).to_le_bytes());
                mark.extend_from_slice(value);
            }
        }
    }
    mark
}

/// Copies a row with all columns of the table.
fn copy(schema: &TableSchema, batch: &RowBatch, row: usize, to: &mut Rows) -> Result<()> {
    to.push(schema, None, |place, _, buffer| {
        ValueRef::of(&batch.columns[place], row).push_to(buffer);
        Ok(())
    })
}

/// Refuses to change one row twice.
fn changed_twice() -> Error {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    Error::new(ErrorKind::InvalidStatement, message).with_code("21000").with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate \
         constrained values.",
    )
}

fn arbiters(
    table: &Arc<Table>,
    schema: &TableSchema,
    target: Option<&ConflictTarget>,
) -> Result<Vec<Arc<TableIndex>>> {
    let mut unique = table.indexes();
    unique.retain(|index| index.definition().is_unique);
    match target {
        None => Ok(unique),
        Some(ConflictTarget::Columns(names)) => {
            let mut wanted = Vec::with_capacity(names.len());
            for name in names {
                let name = fold(name);
                let column = schema.column_index(&name).ok_or_else(|| {
                    Error::undefined_column(format!("column \"{name}\" does not exist"))
                })?;
                wanted.push(column);
            }
            wanted.sort_unstable();
            wanted.dedup();
            unique.retain(|index| {
                let mut columns = index.definition().columns.clone();
                columns.sort_unstable();
                columns == wanted
            });
            if unique.is_empty() {
                let message = "there is no unique or exclusion constraint matching the ON CONFLICT \
                               specification";
                return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P10"));
            }
            Ok(unique)
        }
        Some(ConflictTarget::OnConstraint(name)) => {
            let ident = name.0.first().and_then(|part| part.as_ident()).map(fold);
            let ident = ident.unwrap_or_else(|| name.to_string());
            // A unique index that no constraint made does not count.
            unique.retain(|index| {
                let definition = index.definition();
                definition.name == ident && definition.origin != IndexOrigin::Statement
            });
            if unique.is_empty() {
                let table = &schema.name;
                let message =
                    format!("constraint \"{ident}\" for table \"{table}\" does not exist");
                return Err(Error::new(ErrorKind::UndefinedObject, message));
            }
            Ok(unique)
        }
    }
}

impl DoUpdate {
    fn new(
        table: &Table,
        name: &Ident,
        list: Vec<Assignment>,
        selection: Option<Expr>,
        returns: bool,
    ) -> Result<Self> {
        let schema = table.schema();
        let mut items = vec![row_id(name)];
        let (mut columns, mut cells) = (Vec::new(), Vec::new());
        for (target, expr) in assignments(&schema, list)? {
            columns.push(target);
            if is_default(&expr) {
                cells.push(Cell::default_of(table, target)?);
                continue;
            }
            let literal = Cell::literal(&expr, schema.columns[target].column_type);
            cells.push(literal.unwrap_or_else(|| {
                items.push(output(items.len(), expr));
                Cell::Output { index: items.len() - 1, is_literal: false }
            }));
        }
        let written = columns.clone();
        // Constraints look at whole rows, after the change.
        if returns || !table.rules().checks.is_empty() {
            other_columns(&schema, name, &mut items, (&mut columns, &mut cells));
        }
        Ok(Self { name: name.clone(), items, columns, cells, written, selection })
    }

    /// Computes the new values of the rows that are there.
    async fn rows(
        &self,
        planner: &Planner,
        moment: &Arc<Moment>,
        table: &Table,
        pairs: Pairs,
        progress: &Progress,
    ) -> Result<Rows> {
        let schema = table.schema();
        let count = pairs.ids.len() as u64;
        let ids: ArrayRef =
            Arc::new(UInt64Array::from_iter_values(pairs.ids.iter().map(|id| id.0)));
        let existing = vec![(pairs.existing.iter().collect::<Vec<_>>(), 0..count)];
        let existing = paired(&schema, existing, Some(ids))?;
        let mut begin = 0;
        let mut proposed = Vec::new();
        for batch in pairs.proposed.batches() {
            let end = begin + batch.len() as u64;
            proposed.push((batch.columns.iter().collect::<Vec<_>>(), begin..end));
            begin = end;
        }
        let proposed = paired(&schema, proposed, None)?;
        let excluded = Ident::with_quote('"', EXCLUDED);
        let (items, existing_name) = (self.items.clone(), (EXISTING, &self.name));
        let joined = [(EXCLUDED, &excluded)];
        let mut query = select_joined(items, existing_name, &joined, PAIR_COLUMN)?;
        if let SetExpr::Select(body) = query.body.as_mut() {
            body.selection = self.selection.clone();
        }
        let tables = vec![(EXISTING, existing), (EXCLUDED, proposed)];
        let stream = planner.start(moment, tables, query::statement(query, None)?).await?;
        let mut form = Form::new(planner, table, &schema, self.cells.clone(), true)?;
        form.repeated = Repeated::Refused(changed_twice);
        form.collect(stream, Rows::new(self.columns.clone()), progress).await
    }
}

/// Makes a table of rows with the number of the pair that each belongs to, and perhaps their ids.
fn paired(
    schema: &TableSchema,
    batches: Vec<(Vec<&ColumnBuffer>, std::ops::Range<u64>)>,
    ids: Option<ArrayRef>,
) -> Result<Arc<dyn TableProvider>> {
    let mut fields: Vec<Field> =
        arrow_schema(schema).fields().iter().map(|field| field.as_ref().clone()).collect();
    fields.push(Field::new(PAIR_COLUMN, DataType::UInt64, false));
    if ids.is_some() {
        fields.push(Field::new(ROW_ID_COLUMN, DataType::UInt64, false));
    }
    let schema = Arc::new(Schema::new(fields));
    let mut made = Vec::with_capacity(batches.len());
    for (columns, numbers) in batches {
        let mut arrays: Vec<ArrayRef> = columns
            .into_iter()
            .map(buffer_array)
            .collect::<std::result::Result<_, _>>()
            .map_err(datafusion::common::DataFusionError::from)?;
        arrays.push(Arc::new(UInt64Array::from_iter_values(numbers)));
        arrays.extend(ids.clone());
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)
            .map_err(datafusion::common::DataFusionError::from)?;
        made.push(batch);
    }
    Ok(Arc::new(MemTable::try_new(schema, vec![made])?))
}
