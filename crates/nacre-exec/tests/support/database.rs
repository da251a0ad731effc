//! Tables that statements name, and statements from their text to their answer.

use std::sync::Arc;

use nacre_column::ColumnBuffer;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::{StoredRelation, StoredRelations, column_sql_type, lower_query};
use nacre_plan::algebra::QueryPlan;
use nacre_plan::binder::bind_query;
use nacre_plan::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use nacre_store::{IsolationLevel, Store, Table, TableSchema, Transaction, Value};
use nacre_syntax::Statement;
use nacre_types::{SqlType, SqlValue, ValueSettings};

use super::pool;

/// A store with tables, which statements name.
pub(crate) struct TestDatabase {
    _store: Store,
    pub(crate) tables: Vec<(Arc<Table>, Arc<RelationDefinition>)>,
    /// Statements see what was committed when it began.
    reader: Transaction,
    pools: Vec<WorkerPool>,
}

/// Rows of an answer, as texts; a null is `-`.
pub(crate) type Texts = Vec<Vec<String>>;

impl TestDatabase {
    pub(crate) fn new(store: Store, tables: &[Arc<Table>]) -> Self {
        let definition = |(index, table): (usize, &Arc<Table>)| {
            let schema = table.schema();
            let columns = schema.columns.iter().map(|column| RelationColumn {
                name: column.name.clone(),
                sql_type: column_sql_type(column.column_type).unwrap(),
                is_nullable: column.is_nullable,
            });
            let definition = RelationDefinition {
                id: RelationId(7 + index as u64),
                schema: "public".to_owned(),
                name: schema.name.clone(),
                columns: columns.collect(),
                primary_key: Vec::new(),
            };
            (Arc::clone(table), Arc::new(definition))
        };
        let reader = store.begin(IsolationLevel::RepeatableRead);
        let tables = tables.iter().enumerate().map(definition).collect();
        Self { _store: store, tables, reader, pools: vec![pool(1), pool(3)] }
    }

    pub(crate) fn bind(&self, sql: &str) -> QueryPlan {
        match nacre_syntax::parse_statement(sql).unwrap() {
            Some(Statement::Query(query)) => {
                bind_query(self, &ValueSettings::default(), &query).unwrap()
            }
            _ => panic!("{sql} is no query"),
        }
    }

    /// Runs a statement with any number of workers; returns its rows, or the error's text.
    pub(crate) fn run(&self, sql: &str) -> Result<Texts, String> {
        self.run_plan(&self.bind(sql), sql)
    }

    /// As [`Self::run`], of a statement that was bound.
    pub(crate) fn run_plan(&self, plan: &QueryPlan, sql: &str) -> Result<Texts, String> {
        let query = lower_query(plan, self).map_err(|error| error.to_string())?;
        let mut answers = self.pools.iter().map(|pool| {
            let mut stream = pool
                .execute(query.plan.clone(), QueryOptions::default())
                .map_err(|error| error.to_string())?;
            let batches = stream.collect_batches().map_err(|error| error.to_string())?;
            let mut rows = Vec::new();
            for batch in &batches {
                for row in 0..batch.rows {
                    let text = |output: &nacre_exec::lower::QueryOutput| {
                        text_of(&output.value(batch, row).unwrap(), output.sql_type)
                    };
                    rows.push(query.outputs.iter().map(text).collect());
                }
            }
            Ok::<Texts, String>(rows)
        });
        let first = answers.next().unwrap();
        let is_sorted = sql.contains("order by");
        for other in answers {
            match (&first, other) {
                (Ok(first), Ok(other)) if is_sorted => assert_eq!(*first, other, "{sql}"),
                // Any rows are right.
                (Ok(first), Ok(other)) if sql.contains("limit") => {
                    assert_eq!(first.len(), other.len(), "{sql}");
                }
                (Ok(first), Ok(other)) => {
                    assert_eq!(sorted(first.clone()), sorted(other), "{sql}");
                }
                (first, other) => assert_eq!(*first, other, "{sql}"),
            }
        }
        first
    }

    /// Runs a statement that succeeds; rows come in an order of their own.
    pub(crate) fn rows(&self, sql: &str) -> Texts {
        sorted(self.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}")))
    }

    pub(crate) fn ordered_rows(&self, sql: &str) -> Texts {
        self.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

impl RelationCatalog for TestDatabase {
    fn find_relation(&self, _schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        let mut definitions = self.tables.iter().map(|(_, definition)| definition);
        definitions.find(|definition| definition.name == name).cloned()
    }
}

impl StoredRelations for TestDatabase {
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation> {
        let (table, definition) = self.tables.iter().find(|(_, one)| one.id == relation)?;
        let columns = (0..definition.columns.len()).collect();
        Some(StoredRelation { snapshot: self.reader.table_snapshot(table), columns })
    }
}

pub(crate) fn text_of(value: &SqlValue, sql_type: SqlType) -> String {
    if value.is_null() {
        return "-".to_owned();
    }
    let mut text = String::new();
    value.write_text(sql_type, &ValueSettings::default(), &mut text);
    text
}

pub(crate) fn sorted(mut rows: Texts) -> Texts {
    rows.sort_unstable();
    rows
}

pub(crate) fn texts(rows: &[&[&str]]) -> Texts {
    rows.iter().map(|row| row.iter().map(|&one| one.to_owned()).collect()).collect()
}

/// Makes a table of which the first rows are frozen, in chunks of that many, and the rest hot.
pub(crate) fn table_of(
    store: &Store,
    schema: TableSchema,
    rows: &[Vec<Value>],
    frozen: usize,
    chunk_rows: usize,
) -> Arc<Table> {
    let types: Vec<_> = schema.columns.iter().map(|column| column.column_type).collect();
    let table = store.create_table(schema).unwrap();
    let load = store.begin_load(&table).unwrap();
    for (index, chunk) in rows[..frozen].chunks(chunk_rows).enumerate() {
        let mut buffers: Vec<_> = types.iter().map(|one| ColumnBuffer::new(*one)).collect();
        for row in chunk {
            for (buffer, value) in buffers.iter_mut().zip(row) {
                value.as_ref().push_to(buffer);
            }
        }
        load.append_chunk(index as u64, &buffers).unwrap();
    }
    load.commit().unwrap();
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    for row in &rows[frozen..] {
        let values: Vec<_> = row.iter().map(Value::as_ref).collect();
        transaction.insert(&table, &values).unwrap();
    }
    transaction.commit().unwrap();
    table
}
