//! Nacre's own views: what the engine knows about its indexes and replicas.
//!
//! | view | a row for each |
//! |---|---|
//! | `nacre_archive` | database that is archived: where, and how far |
//! | `nacre_columns` | column of a table: its type and replicas |
//! | `nacre_domains` | memory domain: where it is and what is written there |
//! | `nacre_replicas` | replica of a column: where it lies, in which format, whether it is whole |
//! | `nacre_indexes` | index: its columns, what it is there for, how large it is |
//! | `nacre_tables` | table: how large it is, and the replicas of its columns |
//! | `nacre_transactions` | transaction that has not ended |
//! | `nacre_wear` | domain, column and cause: bytes written since the database was opened |
//!
//! A query sees what held when it was planned. The views are in the schema `nacre_catalog` and are
//! found without it unless a table has the same name.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use nacre_column::Format;
use nacre_store::{ArchiveStatus, ColumnDef, IsolationLevel, Store, TableSchema};

/// One of the views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Archive,
    Columns,
    Domains,
    Indexes,
    Replicas,
    Tables,
    Transactions,
    Wear,
}

/// Columns that may be null: a domain may be away, its node unknown, and some bytes belong to no
/// column.
const NULLABLE: [&str; 8] = [
    "kind",
    "node",
    "path",
    "durability",
    "table_name",
    "column_name",
    "archived_until",
    "problem",
];

impl View {
    const ALL: [View; 8] = [
        View::Archive,
        View::Columns,
        View::Domains,
        View::Indexes,
        View::Replicas,
        View::Tables,
        View::Transactions,
        View::Wear,
    ];

    fn name(self) -> &'static str {
        match self {
            View::Archive => "nacre_archive",
            View::Columns => "nacre_columns",
            View::Domains => "nacre_domains",
            View::Indexes => "nacre_indexes",
            View::Replicas => "nacre_replicas",
            View::Tables => "nacre_tables",
            View::Transactions => "nacre_transactions",
            View::Wear => "nacre_wear",
        }
    }

    fn schema(self) -> SchemaRef {
        let field = |(name, data_type): &(&str, DataType)| {
            Field::new(*name, data_type.clone(), NULLABLE.contains(name))
        };
        Arc::new(Schema::new(self.fields().iter().map(field).collect::<Vec<_>>()))
    }

    fn fields(self) -> &'static [(&'static str, DataType)] {
        match self {
            View::Archive => &[
                ("directory", DataType::Utf8View),
                ("archived_lsn", DataType::Int64),
                ("end_lsn", DataType::Int64),
                ("archived_until", DataType::Timestamp(TimeUnit::Microsecond, None)),
                ("problem", DataType::Utf8View),
            ],
            View::Columns => &[
                ("table_name", DataType::Utf8View),
                ("column_name", DataType::Utf8View),
                ("position", DataType::Int32),
                ("data_type", DataType::Utf8View),
                ("is_nullable", DataType::Boolean),
                ("replicas", DataType::Utf8View),
                ("has_own_replicas", DataType::Boolean),
            ],
            View::Domains => &[
                ("domain", DataType::Utf8View),
                ("path", DataType::Utf8View),
                ("kind", DataType::Utf8View),
                ("durability", DataType::Utf8View),
            ],
            View::Indexes => &[
                ("table_name", DataType::Utf8View),
                ("index_name", DataType::Utf8View),
                ("columns", DataType::Utf8View),
                ("is_unique", DataType::Boolean),
                ("kind", DataType::Utf8View),
                ("origin", DataType::Utf8View),
                ("entries", DataType::Int64),
                ("bytes", DataType::Int64),
            ],
            View::Replicas => &[
                ("table_name", DataType::Utf8View),
                ("column_name", DataType::Utf8View),
                ("replica", DataType::Int32),
                ("domain", DataType::Utf8View),
                ("kind", DataType::Utf8View),
                ("node", DataType::Int32),
                ("formats", DataType::Utf8View),
                ("bytes", DataType::Int64),
                ("state", DataType::Utf8View),
                ("reads", DataType::Int64),
            ],
            View::Tables => &[
                ("table_name", DataType::Utf8View),
                ("columns", DataType::Int32),
                ("rows", DataType::Int64),
                ("bytes", DataType::Int64),
                ("replicas", DataType::Utf8View),
            ],
            View::Transactions => &[
                ("transaction", DataType::Int64),
                ("isolation_level", DataType::Utf8View),
                ("snapshot", DataType::Int64),
                ("commits_since", DataType::Int64),
                ("age_seconds", DataType::Float64),
            ],
            View::Wear => &[
                ("domain", DataType::Utf8View),
                ("table_name", DataType::Utf8View),
                ("column_name", DataType::Utf8View),
                ("cause", DataType::Utf8View),
                ("bytes", DataType::Int64),
            ],
        }
    }

    fn columns(self, store: &Store) -> Vec<ArrayRef> {
        match self {
            View::Archive => archive_columns(store),
            View::Columns => column_columns(store),
            View::Domains => domain_columns(store),
            View::Tables => table_columns(store),
            View::Indexes => {
                let rows = store.indexes();
                vec![
                    texts(rows.iter().map(|row| Some(row.table.as_str()))),
                    texts(rows.iter().map(|row| Some(row.definition.name.as_str()))),
                    texts(rows.iter().map(|row| Some(row.columns.join(", ")))),
                    Arc::new(BooleanArray::from_iter(
                        rows.iter().map(|row| Some(row.definition.is_unique)),
                    )),
                    texts(rows.iter().map(|row| Some(row.definition.kind.to_string()))),
                    texts(rows.iter().map(|row| Some(row.definition.origin.to_string()))),
                    numbers(rows.iter().map(|row| row.entries as u64)),
                    numbers(rows.iter().map(|row| row.bytes as u64)),
                ]
            }
            View::Replicas => {
                let rows = store.replicas();
                vec![
                    texts(rows.iter().map(|row| Some(row.table.as_str()))),
                    texts(rows.iter().map(|row| Some(row.column.as_str()))),
                    Arc::new(Int32Array::from_iter_values(
                        rows.iter().map(|row| i32::from(row.replica)),
                    )),
                    texts(rows.iter().map(|row| Some(row.domain.as_str()))),
                    texts(rows.iter().map(|row| row.kind.map(|kind| kind.to_string()))),
                    Arc::new(Int32Array::from_iter(
                        rows.iter().map(|row| row.node.map(|node| node as i32)),
                    )),
                    texts(rows.iter().map(|row| Some(names(&row.formats)))),
                    numbers(rows.iter().map(|row| row.bytes)),
                    texts(rows.iter().map(|row| Some(row.state.to_string()))),
                    numbers(rows.iter().map(|row| row.reads)),
                ]
            }
            View::Transactions => {
                let rows = store.transactions();
                let last = store.last_commit();
                vec![
                    // Ids of transactions begin at 2^63.
                    numbers(rows.iter().map(|row| row.tx.0 & i64::MAX as u64)),
                    texts(rows.iter().map(|row| Some(row.level.to_string()))),
                    numbers(rows.iter().map(|row| row.start.0)),
                    numbers(rows.iter().map(|row| last.0.saturating_sub(row.start.0))),
                    Arc::new(Float64Array::from_iter_values(
                        rows.iter().map(|row| row.age.as_secs_f64()),
                    )),
                ]
            }
            View::Wear => {
                let rows = store.wear();
                vec![
                    texts(rows.iter().map(|row| Some(row.domain.as_str()))),
                    texts(rows.iter().map(|row| row.table.as_deref())),
                    texts(rows.iter().map(|row| row.column.as_deref())),
                    texts(rows.iter().map(|row| Some(row.cause.to_string()))),
                    numbers(rows.iter().map(|row| row.bytes)),
                ]
            }
        }
    }
}

fn archive_columns(store: &Store) -> Vec<ArrayRef> {
    let rows: Vec<ArchiveStatus> = store.archive_status().into_iter().collect();
    let time = |row: &ArchiveStatus| (row.time > 0).then_some(row.time as i64);
    vec![
        texts(rows.iter().map(|row| Some(row.directory.display().to_string()))),
        numbers(rows.iter().map(|row| row.archived.0)),
        numbers(rows.iter().map(|row| row.end.0)),
        Arc::new(TimestampMicrosecondArray::from_iter(rows.iter().map(time))),
        texts(rows.iter().map(|row| row.problem.as_deref())),
    ]
}

/// Columns of a table by their place, from 1.
fn column_columns(store: &Store) -> Vec<ArrayRef> {
    let schemas: Vec<_> = store.tables().iter().map(|table| table.schema()).collect();
    let rows: Vec<_> = schemas
        .iter()
        .flat_map(|schema| {
            (1..).zip(&schema.columns).map(move |(place, column)| (schema, place, column))
        })
        .collect();
    let policy = |schema: &TableSchema, column: &ColumnDef| {
        column.replicas.clone().or_else(|| schema.replicas.clone()).unwrap_or_default()
    };
    vec![
        texts(rows.iter().map(|(schema, _, _)| Some(schema.name.as_str()))),
        texts(rows.iter().map(|(_, _, column)| Some(column.name.as_str()))),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|(_, place, _)| *place))),
        texts(rows.iter().map(|(_, _, column)| Some(column.column_type.to_string()))),
        Arc::new(
            rows.iter().map(|(_, _, column)| Some(column.is_nullable)).collect::<BooleanArray>(),
        ),
        texts(rows.iter().map(|(schema, _, column)| Some(policy(schema, column).to_string()))),
        Arc::new(
            rows.iter()
                .map(|(_, _, column)| Some(column.replicas.is_some()))
                .collect::<BooleanArray>(),
        ),
    ]
}

/// Domains that are there, and those that are missing.
fn domain_columns(store: &Store) -> Vec<ArrayRef> {
    let path = |path: Option<&Path>| path.map(|path| path.display().to_string());
    let present = store.domains().into_iter().map(|domain| {
        let (kind, durability) = (domain.kind().to_string(), domain.durability().to_string());
        (domain.name().to_owned(), path(domain.path()), kind, Some(durability))
    });
    let missing = store.missing_domains().into_iter().map(|name| {
        let place = path(store.domain_path(&name).as_deref());
        (name, place, "missing".to_owned(), None)
    });
    let rows: Vec<_> = present.chain(missing).collect();
    vec![
        texts(rows.iter().map(|row| Some(row.0.as_str()))),
        texts(rows.iter().map(|row| row.1.as_deref())),
        texts(rows.iter().map(|row| Some(row.2.as_str()))),
        texts(rows.iter().map(|row| row.3.as_deref())),
    ]
}

fn table_columns(store: &Store) -> Vec<ArrayRef> {
    let now = store.begin(IsolationLevel::RepeatableRead);
    let rows: Vec<_> =
        store.tables().iter().map(|table| (table.schema(), now.table_snapshot(table))).collect();
    let policy = |schema: &TableSchema| schema.replicas.clone().unwrap_or_default().to_string();
    let columns = |schema: &TableSchema| i32::try_from(schema.columns.len()).unwrap_or(i32::MAX);
    vec![
        texts(rows.iter().map(|(schema, _)| Some(schema.name.as_str()))),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|(schema, _)| columns(schema)))),
        numbers(rows.iter().map(|(_, snapshot)| snapshot.rows())),
        numbers(rows.iter().map(|(_, snapshot)| snapshot.pool_bytes())),
        texts(rows.iter().map(|(schema, _)| Some(policy(schema)))),
    ]
}

fn names(formats: &[Format]) -> String {
    formats.iter().map(Format::to_string).collect::<Vec<_>>().join(", ")
}

fn texts<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(values.collect::<StringViewArray>())
}

/// Counts of bytes and reads stay far below the largest `bigint`.
fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(|value| value.min(i64::MAX as u64) as i64)))
}

/// One view over one database.
#[derive(Debug)]
struct ViewTable {
    store: Store,
    view: View,
}

#[async_trait]
impl TableProvider for ViewTable {
    fn schema(&self) -> SchemaRef {
        self.view.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.view.schema();
        let batch = RecordBatch::try_new(Arc::clone(&schema), self.view.columns(&self.store))?;
        let plan = MemorySourceConfig::try_new_exec(&[vec![batch]], schema, projection.cloned())?;
        Ok(plan)
    }
}

/// Returns the names of the views with their columns.
pub(crate) fn system_views() -> impl Iterator<Item = (&'static str, SchemaRef)> {
    View::ALL.into_iter().map(|view| (view.name(), view.schema()))
}

/// Returns the columns of the view of that name, as they are now.
pub(crate) fn system_view_columns(name: &str, store: &Store) -> Option<Vec<ArrayRef>> {
    let view = View::ALL.into_iter().find(|view| view.name() == name)?;
    Some(view.columns(store))
}

/// The schema of the views.
#[derive(Debug)]
pub(crate) struct SystemSchema {
    store: Store,
}

impl SystemSchema {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// Returns the view called `name`.
    pub(crate) fn view(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        let view = View::ALL.into_iter().find(|view| view.name() == name)?;
        Some(Arc::new(ViewTable { store: self.store.clone(), view }))
    }
}

#[async_trait]
impl SchemaProvider for SystemSchema {
    fn table_names(&self) -> Vec<String> {
        View::ALL.iter().map(|view| view.name().to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        Ok(self.view(name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.view(name).is_some()
    }
}
