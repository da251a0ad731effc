//! Statements that are bound, lowered and run by any number of workers.

use std::sync::Arc;

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_exec::ExecResult;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::{
    PhysicalQuery, QueryOutput, StoredRelation, StoredRelations, column_sql_type, lower_query,
};
use nacre_exec::vector::ResultBatch;
use nacre_plan::algebra::QueryPlan;
use nacre_plan::binder::bind_query;
use nacre_plan::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use nacre_plan::optimizer::{ColumnStatistics, RelationStatistics, optimize};
use nacre_store::{
    ColumnDef, IsolationLevel, OpenOptions, Store, Table, TableSchema, Transaction, Value,
};
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
                table_oid: None,
            };
            (Arc::clone(table), Arc::new(definition))
        };
        let reader = store.begin(IsolationLevel::RepeatableRead);
        let tables = tables.iter().enumerate().map(definition).collect();
        Self { _store: store, tables, reader, pools: vec![pool(1), pool(3)] }
    }

    /// Makes the table `t` with so many rows, of which the first are frozen, in chunks.
    pub(crate) fn of_rows(count: i64, frozen: usize, chunk_rows: usize) -> (Self, Vec<TestRow>) {
        database_of(count, frozen, chunk_rows)
    }

    pub(crate) fn bind(&self, sql: &str) -> QueryPlan {
        self.try_bind(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn try_bind(&self, sql: &str) -> Result<QueryPlan, String> {
        let parsed = nacre_syntax::parse_statement(sql).map_err(|error| error.to_string())?;
        match parsed {
            Some(Statement::Query(query)) => bind_query(self, &ValueSettings::default(), &query)
                .map_err(|error| error.to_string()),
            _ => panic!("{sql} is no query"),
        }
    }

    /// Runs a statement that is bound with any number of workers; returns its rows, or the error's
    /// text.
    pub(crate) fn run(&self, sql: &str) -> Result<Texts, String> {
        self.run_plan(&self.bind(sql), sql)
    }

    /// As [`Self::run`], optimized; the binder may refuse it.
    pub(crate) fn run_optimized(&self, sql: &str) -> Result<Texts, String> {
        self.run_plan(&optimize(self.try_bind(sql)?, self), sql)
    }

    /// As [`Self::run`], of a statement that was bound.
    pub(crate) fn run_plan(&self, plan: &QueryPlan, sql: &str) -> Result<Texts, String> {
        let query = lower_query(plan, self, &ValueSettings::default())
            .map_err(|error| error.to_string())?;
        let mut answers = self
            .pools
            .iter()
            .map(|pool| run_query(pool, &query).map_err(|error| error.to_string()));
        let first = answers.next().unwrap();
        let is_sorted = is_ordered(sql);
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

/// Runs a query that is lowered; returns its rows as they come.
pub(crate) fn run_query(pool: &WorkerPool, query: &PhysicalQuery) -> ExecResult<Texts> {
    let mut stream = pool.execute(query.plan.clone(), QueryOptions::default())?;
    texts_of(query, &stream.collect_batches()?)
}

/// Returns the rows of an answer.
pub(crate) fn texts_of(query: &PhysicalQuery, batches: &[ResultBatch]) -> ExecResult<Texts> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.rows {
            let text =
                |output: &QueryOutput| Ok(text_of(&output.value(batch, row)?, output.sql_type));
            let texts: ExecResult<_> = query.outputs.iter().map(text).collect();
            rows.push(texts?);
        }
    }
    Ok(rows)
}

impl RelationCatalog for TestDatabase {
    fn find_relation(&self, _schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        let mut definitions = self.tables.iter().map(|(_, definition)| definition);
        definitions.find(|definition| definition.name == name).cloned()
    }
}

/// Nothing is known.
impl RelationStatistics for TestDatabase {
    fn row_count(&self, _: RelationId) -> Option<u64> {
        None
    }

    fn column(&self, _: RelationId, _: usize) -> ColumnStatistics {
        ColumnStatistics::default()
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

/// Whether ORDER BY stands outside of all parentheses.
pub(crate) fn is_ordered(sql: &str) -> bool {
    let depth = |part: &str| part.matches('(').count() - part.matches(')').count();
    sql.match_indices("order by").any(|(at, _)| depth(&sql[..at]) == 0)
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

/// A row of the table `t`.
#[derive(Clone, Debug)]
pub(crate) struct TestRow {
    pub(crate) id: i64,
    pub(crate) a: Option<i64>,
    pub(crate) k: Option<i64>,
    /// Hundredths.
    pub(crate) n: Option<i64>,
    pub(crate) s: Option<&'static str>,
    pub(crate) c: Option<&'static str>,
    /// Days from 1970-01-01.
    pub(crate) d: Option<i64>,
    pub(crate) o: Option<bool>,
    pub(crate) f: Option<f64>,
}

pub(crate) const TEXTS: [&str; 6] =
    ["apple", "banana", "a cherry of more than 12 bytes", "", "\u{e4}pfel", "a_b"];

fn test_row(id: i64) -> TestRow {
    let mut state = (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |end: i64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((state >> 33) as i64) % end
    };
    let mut or_null = |value: i64| if below(6) == 0 { None } else { Some(value) };
    let (a, k) = (or_null(id * 7 % 23 - 9), or_null(id * 5 % 11));
    let n = or_null(id * 131 % 4_001 - 1_500);
    let (s, c) = (or_null(id * 3 % 6), or_null(id * 11 % 4));
    let (d, o, f) = (or_null(id * 17 % 900 + 9_000), or_null(id % 2), or_null(id * 13 % 50));
    TestRow {
        id,
        a,
        k,
        n,
        s: s.map(|s| TEXTS[s as usize]),
        c: c.map(|c| ["x", "yy", "", "zzz"][c as usize]),
        d,
        o: o.map(|o| o == 1),
        f: f.map(|f| f as f64 / 4.0 - 3.0),
    }
}

fn stored(row: &TestRow) -> Vec<Value> {
    let int = |value: Option<i64>| value.map_or(Value::Null, Value::Int);
    let text = |value: Option<&str>| {
        value.map_or(Value::Null, |value| Value::Bytes(value.as_bytes().to_vec()))
    };
    vec![
        Value::Int(row.id),
        int(row.a),
        int(row.k),
        int(row.n),
        text(row.s),
        text(row.c),
        int(row.d),
        int(row.o.map(i64::from)),
        row.f.map_or(Value::Null, Value::Float64),
    ]
}

/// Makes the table `t` with so many rows, of which the first are frozen.
fn database_of(count: i64, frozen: usize, chunk_rows: usize) -> (TestDatabase, Vec<TestRow>) {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: name != "id",
        replicas: None,
    };
    let schema = TableSchema {
        name: "t".into(),
        columns: vec![
            column("id", ColumnType::BigInt),
            column("a", ColumnType::Integer),
            column("k", ColumnType::SmallInt),
            column("n", ColumnType::Decimal { precision: 10, scale: 2 }),
            column("s", ColumnType::Varchar { max_chars: None }),
            column("c", ColumnType::Char { chars: 5 }),
            column("d", ColumnType::Date),
            column("o", ColumnType::Boolean),
            column("f", ColumnType::Double),
        ],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let rows: Vec<TestRow> = (0..count).map(test_row).collect();
    let values: Vec<_> = rows.iter().map(stored).collect();
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table_of(&store, schema, &values, frozen, chunk_rows);
    (TestDatabase::new(store, &[table]), rows)
}
