//! The tables of FROM in UPDATE and of USING in DELETE, for RETURNING.
//!
//! The query for the rows also gives all columns of these tables, behind a mark for each table.
//! Those of the rows that are changed become tables of the statement again, and RETURNING a query
//! over them and the changed rows, joined by a number.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::DataFusionError;
use datafusion::datasource::MemTable;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, ObjectName, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, TableWithJoins, Value, WildcardAdditionalOptions,
};

use super::cell::missing;
use super::query::{output_named, quoted};
use crate::error::{Error, Result};
use crate::names::fold;
use crate::relations::join_constraint;

/// Names of these tables in [`crate::names::STATEMENT_SCHEMA`]; so many can be returned from.
const TABLES: [&str; 8] =
    ["other 0", "other 1", "other 2", "other 3", "other 4", "other 5", "other 6", "other 7"];

/// Name of the column that says which rows belong together.
pub(super) const ROW_COLUMN: &str = "nacre row";

/// Returns the name of the output before the columns of a table.
fn mark(number: usize) -> String {
    format!("nacre part {number}")
}

/// The tables, by what the statement calls them.
#[derive(Debug)]
pub(super) struct Others(Vec<Ident>);

impl Others {
    /// Reads the tables.
    ///
    /// # Errors
    /// `not supported` for what has no name, more than eight, and joins with common columns.
    pub(super) fn of(tables: &[TableWithJoins]) -> Result<Self> {
        let mut names = Vec::new();
        tables.iter().try_for_each(|table| add_names(table, &mut names))?;
        if names.len() > TABLES.len() {
            let most = TABLES.len();
            return Err(Error::not_supported(format_args!(
                "RETURNING from more than {most} tables"
            )));
        }
        Ok(Self(names))
    }

    /// Returns the outputs that the query for the rows has in addition.
    pub(super) fn items(&self) -> Vec<SelectItem> {
        let mut items = Vec::with_capacity(self.0.len() * 2);
        for (number, name) in self.0.iter().enumerate() {
            let value = Expr::Value(Value::Number("0".into(), false).into());
            items.push(output_named(&mark(number), value));
            let name = ObjectName::from(quoted(name));
            items.push(SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                WildcardAdditionalOptions::default(),
            ));
        }
        items
    }
}

fn add_names(table: &TableWithJoins, names: &mut Vec<Ident>) -> Result<()> {
    add_name(&table.relation, names)?;
    for join in &table.joins {
        let Some(constraint) = join_constraint(&join.join_operator) else {
            return Err(Error::not_supported("RETURNING with this kind of join"));
        };
        if matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural) {
            return Err(Error::not_supported("RETURNING with a join by USING or NATURAL")
                .with_hint("Write ON a.x = b.x."));
        }
        add_name(&join.relation, names)?;
    }
    Ok(())
}

fn add_name(factor: &TableFactor, names: &mut Vec<Ident>) -> Result<()> {
    match (own_name(factor), factor) {
        (Some(name), _) => names.push(name),
        (None, TableFactor::NestedJoin { table_with_joins, alias: None }) => {
            add_names(table_with_joins, names)?;
        }
        _ => return Err(nameless()),
    }
    Ok(())
}

/// Returns what the statement calls one table, as it is after folding; `None` for joins and what
/// else has no name.
pub(super) fn own_name(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(quoted(&alias.name)),
        TableFactor::Table { name, alias: None, .. } => {
            name.0.last().and_then(|part| part.as_ident()).map(quoted)
        }
        _ => None,
    }
}

fn nameless() -> Error {
    Error::not_supported("RETURNING from tables without a name")
}

/// The values of the other tables for the rows that are changed.
#[derive(Debug, Default)]
pub(super) struct OtherRows {
    /// That of the batches; `None` before the query has begun.
    schema: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
    rows: u64,
}

impl OtherRows {
    /// Learns what the query gives.
    pub(super) fn begin(&mut self, outputs: &SchemaRef) {
        let first = outputs.index_of(&mark(0)).unwrap_or(outputs.fields().len());
        let mut fields = outputs.fields()[first..].to_vec();
        fields.push(Arc::new(row_field()));
        self.schema = Some(Arc::new(Schema::new(fields)));
    }

    /// Takes rows of a batch of the query.
    pub(super) fn push(&mut self, batch: &RecordBatch, kept: Vec<u32>) -> Result<()> {
        let Some(schema) = self.schema.clone() else { return Err(missing()) };
        let first = batch.num_columns() + 1 - schema.fields().len();
        let columns: Vec<usize> = (first..batch.num_columns()).collect();
        let part = batch.project(&columns).map_err(DataFusionError::from)?;
        let count = kept.len() as u64;
        let kept = UInt32Array::from(kept);
        let mut arrays: Vec<ArrayRef> = part
            .columns()
            .iter()
            .map(|column| take(column, &kept, None))
            .collect::<std::result::Result<_, _>>()
            .map_err(DataFusionError::from)?;
        arrays.push(Arc::new(UInt64Array::from_iter_values(self.rows..self.rows + count)));
        self.rows += count;
        self.batches.push(RecordBatch::try_new(schema, arrays).map_err(DataFusionError::from)?);
        Ok(())
    }
}

impl OtherRows {
    /// Takes the rows of another one, which come behind.
    pub(super) fn append(&mut self, other: Self) -> Result<()> {
        for batch in other.batches {
            let count = batch.num_rows() as u64;
            let mut arrays = batch.columns().to_vec();
            arrays.pop();
            arrays.push(Arc::new(UInt64Array::from_iter_values(self.rows..self.rows + count)));
            self.rows += count;
            let batch = RecordBatch::try_new(batch.schema(), arrays);
            self.batches.push(batch.map_err(DataFusionError::from)?);
        }
        Ok(())
    }
}

/// Returns the field of [`ROW_COLUMN`].
pub(super) fn row_field() -> Field {
    Field::new(ROW_COLUMN, DataType::UInt64, false)
}

/// One of the other tables, ready for the query of RETURNING.
pub(super) struct OtherTable {
    pub(super) table: &'static str,
    pub(super) name: Ident,
    pub(super) columns: Vec<String>,
    pub(super) provider: Arc<dyn TableProvider>,
}

/// Makes tables of the rows.
pub(super) fn tables(others: &Others, rows: &OtherRows) -> Result<Vec<OtherTable>> {
    let Some(schema) = &rows.schema else { return Err(missing()) };
    let place = |name: &str| schema.index_of(name).map_err(DataFusionError::from);
    let mut made = Vec::with_capacity(others.0.len());
    for (number, name) in others.0.iter().enumerate() {
        let begin = place(&mark(number))? + 1;
        let end = match number + 1 < others.0.len() {
            true => place(&mark(number + 1))?,
            false => schema.fields().len() - 1,
        };
        let row = schema.fields().len() - 1;
        let columns: Vec<usize> = (begin..end).chain([row]).collect();
        let projected: SchemaRef =
            Arc::new(schema.project(&columns).map_err(DataFusionError::from)?);
        let batches: std::result::Result<Vec<RecordBatch>, _> =
            rows.batches.iter().map(|batch| batch.project(&columns)).collect();
        let batches = batches.map_err(DataFusionError::from)?;
        let names = projected.fields()[..end - begin].iter().map(|field| field.name().clone());
        made.push(OtherTable {
            table: TABLES[number],
            name: name.clone(),
            columns: names.collect(),
            provider: Arc::new(MemTable::try_new(Arc::clone(&projected), vec![batches])?),
        });
    }
    Ok(made)
}

/// Replaces `*` and `table.*` by the columns that they stand for: those of the changed table, then
/// those of the others, which come first in MERGE.
pub(super) fn expand(
    items: Vec<SelectItem>,
    name: &Ident,
    columns: &[String],
    (others, is_merge): (&[OtherTable], bool),
) -> Vec<SelectItem> {
    let mut all: Vec<(&Ident, &[String])> = std::iter::once((name, columns))
        .chain(others.iter().map(|other| (&other.name, other.columns.as_slice())))
        .collect();
    if is_merge {
        all.rotate_left(1);
    }
    let listed = |wanted: Option<String>| {
        let tables = all
            .iter()
            .filter(move |(name, _)| wanted.as_ref().is_none_or(|wanted| fold(name) == *wanted));
        let items = tables.flat_map(|(name, columns)| {
            columns.iter().map(|column| super::query::column(name, column))
        });
        items.collect::<Vec<_>>()
    };
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match &item {
            SelectItem::Wildcard(options) if options.to_string().is_empty() => {
                expanded.extend(listed(None));
            }
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) if options.to_string().is_empty() && name.0.len() == 1 => {
                let ident = name.0.first().and_then(|part| part.as_ident());
                match ident.map(|ident| listed(Some(fold(ident)))) {
                    Some(columns) if !columns.is_empty() => expanded.extend(columns),
                    _ => expanded.push(item),
                }
            }
            _ => expanded.push(item),
        }
    }
    expanded
}
