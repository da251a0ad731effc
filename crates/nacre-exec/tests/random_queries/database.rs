//! The tables in a store, and queries that the own engine runs over them.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_column::Flavour;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::{
    LoweringError, PhysicalQuery, StoredRelation, StoredRelations, column_sql_type, lower_query,
};
use nacre_exec::spill::SpillSpace;
use nacre_exec::vector::VectorRows;
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
use super::support::{SeededRandom, pool, pool_with, spilling_pool};

/// Memory of a query over large tables that has little.
const LITTLE_MEMORY: u64 = 4 << 20;

/// Memory of a query over small tables that has little: some need more than the least of it.
const TINY_MEMORY: [u64; 3] = [32 << 10, 64 << 10, 256 << 10];

/// Rows of vectors beside those that scans have else.
const VECTOR_ROWS: [usize; 4] = [256, 1_024, 65_536, 16_384];

const RUN_TIME_MAX: Duration = Duration::from_secs(10);

/// Rows of an answer: joins of everything with everything have more than memory has room for.
pub(super) const ANSWER_ROWS_MAX: usize = 300_000;

/// Ways to run a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunVariant {
    /// One worker.
    Plain,
    FourWorkers,
    /// One worker of another SIMD flavour.
    OtherFlavour(Flavour),
    /// So many bytes, and temporary files.
    LittleMemory {
        is_parallel: bool,
        bytes: u64,
    },
    /// Conditions are decided by filters above the scans.
    DecodedConditions,
    /// Scans with vectors of so many rows.
    VectorRows(usize),
    /// The bound plan, not optimized.
    NotOptimized,
    /// Nothing is known about the tables.
    NoStatistics,
    /// Statistics that have nothing to do with the rows, and so another order of joins.
    WrongStatistics {
        seed: u64,
    },
}

impl RunVariant {
    /// Returns what reports call it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::LittleMemory { is_parallel: true, .. } => "little memory, four workers".into(),
            Self::LittleMemory { .. } => "little memory".into(),
            Self::WrongStatistics { .. } => "wrong statistics".into(),
            other => format!("{other:?}"),
        }
    }
}

/// A store with random tables.
pub(crate) struct RandomDatabase {
    _store: Store,
    tables: Vec<(Arc<Table>, Arc<RelationDefinition>)>,
    is_large: bool,
    reader: Transaction,
    plain: WorkerPool,
    four: WorkerPool,
    flavoured: Vec<(Flavour, WorkerPool)>,
    spilling: [WorkerPool; 2],
    _directory: tempfile::TempDir,
    /// Runs that wrote temporary files.
    spilled: Cell<usize>,
}

impl RandomDatabase {
    /// Makes the tables; rows of some are updated or deleted then.
    pub(crate) fn new(tables: &[RandomTable], random: &mut SeededRandom) -> Self {
        let store = Store::open(OpenOptions::default()).unwrap();
        let is_large = tables.iter().any(|table| table.rows.len() > 100);
        let made = tables.iter().enumerate().map(|(index, random_table)| {
            let table = make_table(&store, random_table);
            change_rows(&store, &table, random_table, random);
            (table, Arc::new(definition(index, random_table)))
        });
        let tables = made.collect();
        let reader = store.begin(IsolationLevel::RepeatableRead);
        let others = Flavour::available().into_iter().filter(|one| *one != Flavour::active());
        let flavoured = others.map(|one| (one, pool_with(1, one))).collect();
        let directory = tempfile::tempdir().unwrap();
        let space = SpillSpace::open(directory.path(), "the limit of files", 4 << 30);
        Self {
            _store: store,
            tables,
            is_large,
            reader,
            plain: pool(1),
            four: pool(4),
            flavoured,
            spilling: [spilling_pool(1, &space), spilling_pool(4, &space)],
            _directory: directory,
            spilled: Cell::new(0),
        }
    }

    /// Returns all variants but the plain one, for a query.
    pub(crate) fn variants(&self, query: u64) -> Vec<RunVariant> {
        let tiny = TINY_MEMORY[(query % TINY_MEMORY.len() as u64) as usize];
        let bytes = if self.is_large { LITTLE_MEMORY } else { tiny };
        let flavours = self.flavoured.iter().map(|(one, _)| RunVariant::OtherFlavour(*one));
        let mut all: Vec<_> = flavours.collect();
        all.extend([
            RunVariant::FourWorkers,
            RunVariant::LittleMemory { is_parallel: false, bytes },
            RunVariant::DecodedConditions,
            RunVariant::NotOptimized,
            RunVariant::WrongStatistics { seed: query },
            RunVariant::VectorRows(VECTOR_ROWS[(query % 4) as usize]),
            RunVariant::LittleMemory { is_parallel: true, bytes },
            RunVariant::NoStatistics,
            RunVariant::WrongStatistics { seed: query + 1 },
        ]);
        all
    }

    /// Returns how many runs wrote temporary files.
    pub(crate) fn spilled(&self) -> usize {
        self.spilled.get()
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

    fn try_answer(&self, sql: &str, variant: RunVariant) -> Result<TextRows, QueryAnswer> {
        let plan = self.bind(sql)?;
        let plan = match variant {
            RunVariant::NotOptimized => plan,
            RunVariant::NoStatistics => optimize(plan, &NoStatistics),
            RunVariant::WrongStatistics { seed } => optimize(plan, &WrongStatistics { seed }),
            _ => optimize(plan, self),
        };
        let settings = ValueSettings::default();
        let query = match variant {
            RunVariant::DecodedConditions => {
                lower_query(&plan, &DecodedConditions(self), &settings)
            }
            _ => lower_query(&plan, self, &settings),
        };
        let query = query.map_err(lowering_answer)?;
        let mut options = QueryOptions {
            deadline: Some(Instant::now() + RUN_TIME_MAX),
            ..QueryOptions::default()
        };
        let pool = match variant {
            RunVariant::FourWorkers => &self.four,
            RunVariant::OtherFlavour(flavour) => {
                let found = self.flavoured.iter().find(|(one, _)| *one == flavour);
                &found.expect("a flavour of this machine").1
            }
            RunVariant::LittleMemory { is_parallel, bytes } => {
                options.memory_bytes_max = bytes;
                &self.spilling[usize::from(is_parallel)]
            }
            RunVariant::VectorRows(rows) => {
                options.vector_rows = VectorRows::new(rows).expect("a size of vectors");
                &self.four
            }
            _ => &self.plain,
        };
        let (rows, has_spilled) = collect(&query, pool, options).map_err(exec_answer)?;
        if rows.len() > ANSWER_ROWS_MAX {
            return Err(QueryAnswer::Unanswered);
        }
        self.spilled.set(self.spilled.get() + usize::from(has_spilled));
        Ok(rows)
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
        LoweringError::ConstantFails { error } => {
            QueryAnswer::Error { state: error.sql_state().to_owned(), message: error.to_string() }
        }
        error => QueryAnswer::Broken { reason: error.to_string() },
    }
}

fn exec_answer(error: ExecError) -> QueryAnswer {
    let state = match (&error, error.kind()) {
        (ExecError::Function { sqlstate, .. }, _) => (*sqlstate).to_owned(),
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

/// Values as texts, by row; `None` is null.
type TextRows = Vec<Vec<Option<String>>>;

/// Returns the rows of a query, as far as an answer may have, and whether it wrote temporary files.
fn collect(
    query: &PhysicalQuery,
    pool: &WorkerPool,
    options: QueryOptions,
) -> Result<(TextRows, bool), ExecError> {
    let mut rows = Vec::new();
    let mut stream = pool.execute(query.plan.clone(), options)?;
    while let Some(batch) = stream.next_batch()? {
        if rows.len() > ANSWER_ROWS_MAX {
            break;
        }
        for row in 0..batch.rows {
            let mut texts = Vec::new();
            for output in &query.outputs {
                let value = output.value(&batch, row)?;
                texts.push((!value.is_null()).then(|| text_of(&value, output.sql_type)));
            }
            rows.push(texts);
        }
    }
    let report = stream.report();
    let has_spilled = report.pipelines.iter().flatten().any(|one| one.spilled_bytes > 0);
    Ok((rows, has_spilled))
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
        table_oid: None,
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

/// The same tables, whose scans decide no conditions.
struct DecodedConditions<'d>(&'d RandomDatabase);

impl StoredRelations for DecodedConditions<'_> {
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation> {
        self.0.stored_relation(relation)
    }

    fn restricts_scans(&self) -> bool {
        false
    }
}

/// Knows nothing.
struct NoStatistics;

impl RelationStatistics for NoStatistics {
    fn row_count(&self, _: RelationId) -> Option<u64> {
        None
    }

    fn column(&self, _: RelationId, _: usize) -> ColumnStatistics {
        ColumnStatistics::default()
    }
}

/// Says that the tables are of very different sizes.
struct WrongStatistics {
    seed: u64,
}

impl RelationStatistics for WrongStatistics {
    fn row_count(&self, relation: RelationId) -> Option<u64> {
        Some(10_u64.pow(((relation.0 + self.seed) * 5 % 7) as u32))
    }

    fn column(&self, relation: RelationId, column: usize) -> ColumnStatistics {
        let mixed = relation.0 * 31 + column as u64 * 17 + self.seed * 7;
        ColumnStatistics { distinct_count: Some(1 + mixed % 100), ..ColumnStatistics::default() }
    }
}
