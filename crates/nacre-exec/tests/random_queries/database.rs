//! The tables in a store, and queries that the own engine runs over them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_column::Flavour;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::{
    LoweringError, PhysicalQuery, StoredRelation, StoredRelations, column_sql_type, lower_query,
};
use nacre_exec::{ExecError, ExecErrorKind};
use nacre_plan::BindError;
use nacre_plan::algebra::QueryPlan;
use nacre_plan::binder::bind_query;
use nacre_plan::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use nacre_plan::optimizer::{ColumnStatistics, RelationStatistics, optimize};
use nacre_store::{
    ColumnDef, IsolationLevel, OpenOptions, Store, Table, TableSchema, Transaction, Value,
};
use nacre_syntax::Statement;
use nacre_types::ValueSettings;

use super::compare::QueryAnswer;
use super::schema::{RandomTable, random_value};
use super::support::statements::{table_of, text_of};
use super::support::{SeededRandom, pool, pool_with};

/// Least memory of a query that has little.
const LITTLE_MEMORY: u64 = 256 << 10;

const RUN_TIME_MAX: Duration = Duration::from_secs(10);

/// Ways to run a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunVariant {
    /// One worker.
    Plain,
    FourWorkers,
    ScalarFlavour,
    Sse42Flavour,
    LittleMemory,
    /// The bound plan, not optimized.
    NotOptimized,
    /// Statistics that have nothing to do with the rows, and so another order of joins.
    WrongStatistics,
}

impl RunVariant {
    /// All but the plain one.
    pub(crate) const OTHERS: [Self; 6] = [
        Self::FourWorkers,
        Self::ScalarFlavour,
        Self::Sse42Flavour,
        Self::LittleMemory,
        Self::NotOptimized,
        Self::WrongStatistics,
    ];
}

/// A store with random tables.
pub(crate) struct RandomDatabase {
    _store: Store,
    tables: Vec<(Arc<Table>, Arc<RelationDefinition>)>,
    reader: Transaction,
    plain: WorkerPool,
    four: WorkerPool,
    scalar: WorkerPool,
    sse42: WorkerPool,
}

impl RandomDatabase {
    /// Makes the tables; rows of some are updated or deleted then.
    pub(crate) fn new(tables: &[RandomTable], random: &mut SeededRandom) -> Self {
        let store = Store::open(OpenOptions::default()).unwrap();
        let made = tables.iter().enumerate().map(|(index, random_table)| {
            let table = make_table(&store, random_table);
            change_rows(&store, &table, random_table, random);
            (table, Arc::new(definition(index, random_table)))
        });
        let tables = made.collect();
        let reader = store.begin(IsolationLevel::RepeatableRead);
        let flavour = |one: Flavour| if one <= Flavour::active() { one } else { Flavour::Scalar };
        let (plain, four) = (pool(1), pool(4));
        let scalar = pool_with(1, Flavour::Scalar);
        let sse42 = pool_with(1, flavour(Flavour::ALL[1]));
        Self { _store: store, tables, reader, plain, four, scalar, sse42 }
    }

    /// Returns the rows of a table.
    pub(crate) fn rows(&mut self, table: usize) -> Vec<Vec<Value>> {
        let table = Arc::clone(&self.tables[table].0);
        let columns: Vec<_> = (0..table.schema().columns.len()).collect();
        let mut rows = Vec::new();
        let add = |_, values: &[nacre_store::ValueRef<'_>]| {
            rows.push(values.iter().map(|value| value.to_value()).collect());
        };
        self.reader.scan(&table, &[], &columns, add).unwrap();
        rows
    }

    /// Runs a query.
    pub(crate) fn answer(&self, sql: &str, variant: RunVariant) -> QueryAnswer {
        let run = AssertUnwindSafe(|| self.try_answer(sql, variant));
        match catch_unwind(run) {
            Ok(Ok(rows)) => QueryAnswer::Rows(rows),
            Ok(Err(failed)) => failed,
            Err(_) => QueryAnswer::Broken { reason: "panic".to_owned() },
        }
    }

    fn try_answer(
        &self,
        sql: &str,
        variant: RunVariant,
    ) -> Result<Vec<Vec<Option<String>>>, QueryAnswer> {
        let plan = self.bind(sql)?;
        let plan = match variant {
            RunVariant::NotOptimized => plan,
            RunVariant::WrongStatistics => optimize(plan, &WrongStatistics),
            _ => optimize(plan, self),
        };
        let query = lower_query(&plan, self, &ValueSettings::default()).map_err(lowering_answer)?;
        let pool = match variant {
            RunVariant::FourWorkers => &self.four,
            RunVariant::ScalarFlavour => &self.scalar,
            RunVariant::Sse42Flavour => &self.sse42,
            _ => &self.plain,
        };
        let mut options = QueryOptions {
            deadline: Some(Instant::now() + RUN_TIME_MAX),
            ..QueryOptions::default()
        };
        if variant == RunVariant::LittleMemory {
            options.memory_bytes_max = LITTLE_MEMORY;
        }
        collect(&query, pool, options).map_err(exec_answer)
    }

    fn bind(&self, sql: &str) -> Result<QueryPlan, QueryAnswer> {
        let parsed = nacre_syntax::parse_statement(sql).map_err(|error| QueryAnswer::Error {
            state: "42601".to_owned(),
            message: error.to_string(),
        })?;
        let Some(Statement::Query(query)) = parsed else { panic!("{sql} is no query") };
        bind_query(self, &ValueSettings::default(), &query).map_err(bind_answer)
    }
}

fn bind_answer(error: BindError) -> QueryAnswer {
    match error.sql_state {
        "0A000" => QueryAnswer::NotSupported(error.to_string()),
        state => QueryAnswer::Error { state: state.to_owned(), message: error.to_string() },
    }
}

fn lowering_answer(error: LoweringError) -> QueryAnswer {
    match error {
        LoweringError::NotSupported { what } => QueryAnswer::NotSupported(what),
        error => QueryAnswer::Broken { reason: error.to_string() },
    }
}

fn exec_answer(error: ExecError) -> QueryAnswer {
    let state = match (&error, error.kind()) {
        (ExecError::Function { sqlstate, .. }, _) => String::from_utf8_lossy(sqlstate).into_owned(),
        // Of more than 38 digits: PostgreSQL has the number.
        (ExecError::NumericOutOfRange { type_name: "numeric" }, _) => {
            return QueryAnswer::Unanswered;
        }
        (_, ExecErrorKind::NumericOutOfRange) => "22003".to_owned(),
        (_, ExecErrorKind::DivisionByZero) => "22012".to_owned(),
        (_, ExecErrorKind::Cardinality) => "21000".to_owned(),
        (_, ExecErrorKind::OutOfMemory | ExecErrorKind::DeadlineExceeded) => {
            return QueryAnswer::Unanswered;
        }
        _ => return QueryAnswer::Broken { reason: error.to_string() },
    };
    QueryAnswer::Error { state, message: error.to_string() }
}

fn collect(
    query: &PhysicalQuery,
    pool: &WorkerPool,
    options: QueryOptions,
) -> Result<Vec<Vec<Option<String>>>, ExecError> {
    let mut rows = Vec::new();
    for batch in pool.execute(query.plan.clone(), options)?.collect_batches()? {
        for row in 0..batch.rows {
            let mut texts = Vec::new();
            for output in &query.outputs {
                let value = output.value(&batch, row)?;
                texts.push((!value.is_null()).then(|| text_of(&value, output.sql_type)));
            }
            rows.push(texts);
        }
    }
    Ok(rows)
}

fn make_table(store: &Store, table: &RandomTable) -> Arc<Table> {
    let columns = table.columns.iter().map(|column| ColumnDef {
        name: column.name.into(),
        column_type: column.column_type,
        is_nullable: column.is_nullable,
        replicas: None,
    });
    let schema = TableSchema {
        name: table.name.into(),
        columns: columns.collect(),
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let chunk_rows = 1 + table.rows.len() / 3;
    table_of(store, schema, &table.rows, table.frozen_rows, chunk_rows)
}

/// Updates some rows, frozen and hot ones, and deletes others.
fn change_rows(store: &Store, table: &Arc<Table>, made: &RandomTable, random: &mut SeededRandom) {
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    let mut found = Vec::new();
    transaction.scan(table, &[], &[], |row, _| found.push(row)).unwrap();
    for row in found.into_iter().filter(|_| made.name != "single") {
        match random.below(12) {
            0 => transaction.delete(table, row).unwrap(),
            1 | 2 => {
                let column = 1 + random.below(made.columns.len() as u64 - 1) as usize;
                let value = random_value(&made.columns[column], random);
                transaction.update(table, row, &[(column, value.as_ref())]).unwrap();
            }
            _ => {}
        }
    }
    transaction.commit().unwrap();
}

fn definition(index: usize, table: &RandomTable) -> RelationDefinition {
    let columns = table.columns.iter().map(|column| RelationColumn {
        name: column.name.to_owned(),
        sql_type: column_sql_type(column.column_type).unwrap(),
        is_nullable: column.is_nullable,
    });
    RelationDefinition {
        id: RelationId(7 + index as u64),
        schema: "public".to_owned(),
        name: table.name.to_owned(),
        columns: columns.collect(),
        primary_key: if table.has_key { vec![0] } else { Vec::new() },
    }
}

impl RelationCatalog for RandomDatabase {
    fn find_relation(&self, _schema: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        let mut definitions = self.tables.iter().map(|(_, definition)| definition);
        definitions.find(|definition| definition.name == name).cloned()
    }
}

impl RelationStatistics for RandomDatabase {
    fn row_count(&self, relation: RelationId) -> Option<u64> {
        let (table, _) = self.tables.iter().find(|(_, one)| one.id == relation)?;
        Some(self.reader.table_snapshot(table).rows())
    }

    fn column(&self, _: RelationId, _: usize) -> ColumnStatistics {
        ColumnStatistics::default()
    }
}

impl StoredRelations for RandomDatabase {
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation> {
        let (table, definition) = self.tables.iter().find(|(_, one)| one.id == relation)?;
        let columns = (0..definition.columns.len()).collect();
        Some(StoredRelation { snapshot: self.reader.table_snapshot(table), columns })
    }
}

/// Says that the tables are of very different sizes.
struct WrongStatistics;

impl RelationStatistics for WrongStatistics {
    fn row_count(&self, relation: RelationId) -> Option<u64> {
        Some(10_u64.pow((relation.0 * 5 % 7) as u32))
    }

    fn column(&self, relation: RelationId, column: usize) -> ColumnStatistics {
        let distinct_count = Some(1 + (relation.0 * 31 + column as u64 * 17) % 100);
        ColumnStatistics { distinct_count, ..ColumnStatistics::default() }
    }
}
