//! What each of the 35 queries of TPC-H and SSB logs as read: if another transaction changes the
//! answer and commits, a serializable transaction that has read it does not.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nacre_column::{ColumnType, Restriction};
use nacre_exec::ScanPredicate;
use nacre_exec::dispatch::WorkerPool;
use nacre_exec::lower::{PhysicalQuery, StoredRelation, StoredRelations, lower_query};
use nacre_exec::plan::{ColumnPredicate, ScanNode};
use nacre_plan::algebra::QueryPlan;
use nacre_plan::definition::RelationId;
use nacre_plan::optimizer::optimize;
use nacre_store::{
    ColumnDef, ErrorKind, IsolationLevel, OpenOptions, RowId, Store, Table, TableSchema,
    Transaction, Value,
};
use nacre_types::ValueSettings;
use support::benchmarks::{SSB_QUERIES, TPCH_QUERIES, ssb_tables, tpch_tables};
use support::statements::{TestDatabase, Texts, run_query, sorted, table_of};
use support::{SeededRandom, pool};

/// Changes of one row that are tried until one changes the answer.
const TRIES: usize = 24;

/// The tables as a transaction sees them.
struct TransactionView<'a> {
    database: &'a TestDatabase,
    transaction: &'a Transaction,
}

impl StoredRelations for TransactionView<'_> {
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation> {
        let mut tables = self.database.tables.iter();
        let (table, definition) = tables.find(|(_, one)| one.id == relation)?;
        let columns = (0..definition.columns.len()).collect();
        Some(StoredRelation { snapshot: self.transaction.table_snapshot(table), columns })
    }
}

/// A benchmark's tables, and one that no query reads.
struct Benchmark {
    store: Store,
    database: TestDatabase,
    unread: Arc<Table>,
    pool: WorkerPool,
}

/// The rows of a table with what leads to them.
type StoredRows = Vec<(RowId, Vec<Value>)>;

/// How often what happened, by what was read.
#[derive(Debug, Default)]
struct Tally {
    /// Changes of answers.
    changed: usize,
    /// Changes of rows that changed no answer, and whether there was a conflict all the same.
    unchanged: usize,
    refused: usize,
}

impl Benchmark {
    fn of(tables: fn(&Store) -> Vec<Arc<Table>>, workers: usize) -> Self {
        let store = Store::open(OpenOptions::default()).unwrap();
        let database = TestDatabase::new(store.clone(), &tables(&store));
        let column = ColumnDef {
            name: "n".into(),
            column_type: ColumnType::Integer,
            is_nullable: true,
            replicas: None,
        };
        let schema = TableSchema {
            name: "unread".into(),
            columns: vec![column],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        };
        let unread = table_of(&store, schema, &[vec![Value::Int(0)]], 1, 1);
        Self { store, database, unread, pool: pool(workers) }
    }

    fn lower(&self, plan: &QueryPlan, transaction: &Transaction) -> PhysicalQuery {
        let view = TransactionView { database: &self.database, transaction };
        lower_query(plan, &view, &ValueSettings::default()).unwrap()
    }

    /// Returns the rows of a query in any order.
    fn answer(&self, query: &PhysicalQuery) -> Texts {
        sorted(run_query(&self.pool, query).unwrap())
    }

    /// Returns the rows of a table that satisfy restrictions.
    fn rows(&self, table: &Arc<Table>, restrictions: &[(usize, Restriction)]) -> StoredRows {
        let columns: Vec<usize> = (0..table.schema().columns.len()).collect();
        let mut rows = Vec::new();
        let mut transaction = self.store.begin(IsolationLevel::RepeatableRead);
        let scanned = transaction.scan(table, restrictions, &columns, |row, values| {
            rows.push((row, values.iter().map(|value| value.to_value()).collect()));
        });
        scanned.unwrap();
        rows
    }

    /// Has a transaction read a query, then another one change a row of a table, if possible one
    /// that changes the answer, and commit; the first one commits last.
    fn change_under(&self, plan: &QueryPlan, read: &TableRead, random: &mut SeededRandom) -> Fate {
        let mut reader = self.store.begin(IsolationLevel::Serializable);
        let query = self.lower(plan, &reader);
        let before = self.answer(&query);
        let root = &query.plan.root;
        root.for_each_scan(&mut |scan| {
            reader.log_predicate(scan.snapshot.table(), scan.logged_predicate());
        });
        // One that only reads is never refused.
        reader.insert(&self.unread, &[Value::Int(1).as_ref()]).unwrap();
        let all = self.rows(&read.table, &[]);
        let read_rows = self.rows(&read.table, &read.restrictions);
        let mut is_changed = false;
        for left in (0..TRIES).rev() {
            let mut writer = self.store.begin(IsolationLevel::RepeatableRead);
            let sets = [&all, if read_rows.is_empty() { &all } else { &read_rows }];
            change_row(&mut writer, read, sets, random);
            is_changed = self.answer(&self.lower(plan, &writer)) != before;
            if is_changed || left == 0 {
                writer.commit().unwrap();
                break;
            }
            writer.rollback();
        }
        let refused = reader.commit().err();
        let is_refused = refused.map(|error| error.kind() == ErrorKind::SerializationConflict);
        Fate { is_changed, is_refused: is_refused.unwrap_or(false) }
    }
}

/// Whether an answer changed, and whether who has read it could not commit.
struct Fate {
    is_changed: bool,
    is_refused: bool,
}

/// A table and the columns that a query reads.
struct TableRead {
    table: Arc<Table>,
    columns: Vec<usize>,
    /// Of the first scan of the table.
    restrictions: Vec<(usize, Restriction)>,
}

/// Changes a column of a row, deletes a row or inserts one like others: any rows, or those that
/// satisfy the restrictions of a scan.
fn change_row(
    writer: &mut Transaction,
    read: &TableRead,
    sets: [&StoredRows; 2],
    random: &mut SeededRandom,
) {
    let mut pick = |end: usize| random.below(end as u64) as usize;
    let rows = sets[pick(2)];
    let (row, values) = &rows[pick(rows.len())];
    let others = sets[pick(2)];
    let (_, other) = &others[pick(others.len())];
    let column = read.columns[pick(read.columns.len())];
    match pick(4) {
        0 => writer.delete(&read.table, *row).unwrap(),
        1 => {
            let mut values: Vec<_> = values.iter().map(Value::as_ref).collect();
            values[column] = other[column].as_ref();
            writer.insert(&read.table, &values).unwrap();
        }
        _ => {
            let change = (column, other[column].as_ref());
            writer.update(&read.table, *row, &[change]).unwrap();
        }
    }
}

/// Returns the restrictions that rows of a scan satisfy.
fn restrictions(scan: &ScanNode) -> Vec<(usize, Restriction)> {
    let restriction = |own: &ColumnPredicate| match &own.predicate {
        ScanPredicate::Restriction(restriction) => Some((own.column, restriction.clone())),
        _ => None,
    };
    scan.predicates.iter().filter_map(restriction).collect()
}

/// Returns the tables and columns that a query names, whatever its plan says.
fn tables_of(benchmark: &Benchmark, sql: &str, query: &PhysicalQuery) -> Vec<TableRead> {
    let sql = sql.to_lowercase();
    let is_of_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let names: BTreeSet<&str> = sql.split(|one| !is_of_name(one)).collect();
    let mut restricted = BTreeMap::new();
    query.plan.root.for_each_scan(&mut |scan| {
        let table = scan.snapshot.table().schema().name.clone();
        restricted.entry(table).or_insert_with(|| restrictions(scan));
    });
    let named = benchmark.database.tables.iter().map(|(table, _)| table);
    let named = named.filter(|table| names.contains(table.schema().name.as_str()));
    let read = |table: &Arc<Table>| {
        let schema = table.schema();
        let columns = schema.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| names.contains(column.name.as_str()));
        TableRead {
            table: Arc::clone(table),
            columns: columns.map(|(index, _)| index).collect(),
            restrictions: restricted.get(&schema.name).cloned().unwrap_or_default(),
        }
    };
    named.map(read).filter(|read| !read.columns.is_empty()).collect()
}

fn change_all(
    tables: fn(&Store) -> Vec<Arc<Table>>,
    queries: &[(&str, &str)],
    workers: usize,
) -> Tally {
    let mut all = Tally::default();
    for (number, (name, sql)) in queries.iter().enumerate() {
        // Others have changed the tables of the query before.
        let benchmark = Benchmark::of(tables, workers);
        let plan = optimize(benchmark.database.bind(sql), &benchmark.database);
        let now = benchmark.store.begin(IsolationLevel::RepeatableRead);
        let reads = tables_of(&benchmark, sql, &benchmark.lower(&plan, &now));
        drop(now);
        let mut random = SeededRandom(number as u64 + 1);
        let mut changed = 0;
        for read in &reads {
            let table = &read.table.schema().name;
            let Fate { is_changed, is_refused } = benchmark.change_under(&plan, read, &mut random);
            assert!(!is_changed || is_refused, "{name}: a change of {table} was missed");
            changed += usize::from(is_changed);
            all.unchanged += usize::from(!is_changed);
            all.refused += usize::from(!is_changed && is_refused);
        }
        assert!(changed > 0, "{name}: no change of a row has changed the answer");
        all.changed += changed;
    }
    println!("{all:?}");
    all
}

#[test]
fn changes_of_answers_to_tpch_are_conflicts() {
    let all = change_all(tpch_tables, &TPCH_QUERIES, 2);
    // What was not read does not matter.
    assert!(all.refused < all.unchanged, "{all:?}");
}

#[test]
fn changes_of_answers_to_ssb_are_conflicts() {
    change_all(ssb_tables, &SSB_QUERIES, 2);
}

/// Operators that the benchmarks have not, and queries that end before all is read.
const OTHERS: [(&str, &str); 12] = [
    ("limit", "select l_orderkey, l_partkey from lineitem where l_quantity < 30 limit 900"),
    ("offset", "select o_orderkey from orders where o_orderstatus = 'F' limit 20 offset 400"),
    (
        "exists",
        "select r_name, exists (select from nation where n_regionkey = r_regionkey and n_name \
         like 'C%') from region",
    ),
    (
        "called query",
        "select c_custkey, case when c_acctbal > 0 then (select max(o_totalprice) from orders \
         where o_custkey = c_custkey) end from customer where c_nationkey < 4",
    ),
    (
        "value that may not be asked for",
        "select case when s_acctbal > 5000 then (select max(1 / (n_nationkey + 1)) from nation) \
         end from supplier",
    ),
    (
        "recursion",
        "with recursive r as (select 1::bigint as n union all select n + 1 from r where n < \
         (select max(n_nationkey) from nation)) select count(*) from r, region where r_regionkey \
         = n",
    ),
    (
        "window",
        "select n_name, rank() over (partition by n_regionkey order by n_nationkey) from nation",
    ),
    (
        "grouping sets",
        "select n_regionkey, n_nationkey % 2, count(*) from nation, supplier where s_nationkey = \
         n_nationkey group by cube (n_regionkey, n_nationkey % 2)",
    ),
    (
        "set operations",
        "select c_nationkey from customer where c_acctbal > 5000 except all select s_nationkey \
         from supplier",
    ),
    (
        "outer join",
        "select p_partkey, s_name from part full join supplier on p_partkey = s_suppkey and \
         s_acctbal > 5000 where p_size = 15 or s_nationkey = 3",
    ),
    (
        "common query",
        "with c as materialized (select l_suppkey, sum(l_tax) as t from lineitem where l_shipmode \
         = 'AIR' group by l_suppkey) select a.l_suppkey, a.t from c a, c b where a.l_suppkey = \
         b.l_suppkey + 1",
    ),
    (
        "anti join",
        "select o_orderkey from orders where o_orderdate < date '1994-01-01' and not exists \
         (select from lineitem where l_orderkey = o_orderkey and l_returnflag = 'A')",
    ),
];

/// With one worker the rows before a limit are the same ones.
#[test]
fn changes_of_answers_to_other_queries_are_conflicts() {
    change_all(tpch_tables, &OTHERS, 1);
}
