//! Ways to scan: whatever the rows of vectors, and whether scans or filters above them decide
//! conditions, answers are the same.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use nacre_column::{CHUNK_ROWS, ColumnType};
use nacre_exec::dispatch::{QueryOptions, QueryReport, WorkerPool};
use nacre_exec::lower::{PhysicalQuery, StoredRelation, StoredRelations, lower_query};
use nacre_exec::plan::OperatorDescription;
use nacre_exec::vector::VectorRows;
use nacre_plan::definition::RelationId;
use nacre_plan::optimizer::optimize;
use nacre_store::{ColumnDef, OpenOptions, Store, TableSchema, Value};
use nacre_types::ValueSettings;
use support::statements::{TestDatabase, Texts, is_ordered, sorted, table_of, text_of};
use support::{SeededRandom, pool};

/// A whole chunk, a part of one, and hot rows.
const ROWS: i64 = 74_000;
const FROZEN_ROWS: usize = 70_000;

/// Of 8,192 values the sum fits 32 bits, of 65,536 it does not.
const VALUE_MAX: i64 = 250_000;

/// A way to scan.
#[derive(Clone, Copy, Debug)]
struct ScanWay {
    restricts_scans: bool,
    vector_rows: usize,
}

const PLAIN: ScanWay = ScanWay { restricts_scans: true, vector_rows: 8_192 };

/// The tables of a database, for scans that decide conditions or not.
struct RestrictedRelations<'d> {
    database: &'d TestDatabase,
    restricts_scans: bool,
}

impl StoredRelations for RestrictedRelations<'_> {
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation> {
        self.database.stored_relation(relation)
    }

    fn restricts_scans(&self) -> bool {
        self.restricts_scans
    }
}

/// Makes a table `t` of many rows, and `u` of few, the keys of which are unique.
fn test_database() -> TestDatabase {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: name != "id",
        replicas: None,
    };
    let schema = |name: &str| TableSchema {
        name: name.into(),
        columns: vec![
            column("id", ColumnType::BigInt),
            column("g", ColumnType::SmallInt),
            column("v", ColumnType::Integer),
            column("n", ColumnType::Decimal { precision: 10, scale: 2 }),
            column("mode", ColumnType::Varchar { max_chars: None }),
            column("text", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let row = |id: i64| {
        let mut random = SeededRandom((id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..3).for_each(|_| {
            random.below(2);
        });
        let modes = ["AIR", "RAIL", "SHIP", "a mode of more than 12 bytes"];
        let mode = modes[random.below(4) as usize].as_bytes().to_vec();
        let mut number = |end: i64| random.below(end as u64) as i64;
        let or_null =
            |value: Value, one_of: i64| if id % one_of == 5 { Value::Null } else { value };
        vec![
            Value::Int(id),
            Value::Int(number(5)),
            Value::Int(VALUE_MAX - number(100)),
            or_null(Value::Int(number(400_000) - 100_000), 9),
            or_null(Value::Bytes(mode), 11),
            Value::Bytes(format!("the text {} of row {id}", number(1_000)).into_bytes()),
        ]
    };
    let store = Store::open(OpenOptions::default()).unwrap();
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    let table = table_of(&store, schema("t"), &rows, FROZEN_ROWS, CHUNK_ROWS);
    let few: Vec<_> = (0..3_000).map(|id| row(id * 17)).collect();
    let few = table_of(&store, schema("u"), &few, 2_900, 1_000);
    let mut writer = store.begin(nacre_store::IsolationLevel::RepeatableRead);
    let chunk = table.snapshot().chunks().unwrap().remove(0);
    for at in (0..CHUNK_ROWS).filter(|at| at % 1_000 < 30) {
        writer.delete(&table, chunk.row_id(at as u16).unwrap()).unwrap();
    }
    writer.commit().unwrap();
    TestDatabase::new(store, &[table, few])
}

fn lowered(database: &TestDatabase, sql: &str, restricts_scans: bool) -> PhysicalQuery {
    let relations = RestrictedRelations { database, restricts_scans };
    let plan = optimize(database.bind(sql), database);
    lower_query(&plan, &relations, &ValueSettings::default())
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Returns the rows of a statement, and what was counted.
fn run(
    database: &TestDatabase,
    pool: &WorkerPool,
    sql: &str,
    way: ScanWay,
) -> (Texts, QueryReport) {
    let query = lowered(database, sql, way.restricts_scans);
    let vector_rows = VectorRows::new(way.vector_rows).unwrap();
    let options = QueryOptions { vector_rows, ..QueryOptions::default() };
    let mut stream = pool.execute(query.plan, options).unwrap();
    let mut rows = Vec::new();
    for batch in stream.collect_batches().unwrap_or_else(|error| panic!("{sql}: {error}")) {
        for row in 0..batch.rows {
            let text =
                |value, output: &nacre_exec::lower::QueryOutput| text_of(&value, output.sql_type);
            let outputs = query.outputs.iter();
            rows.push(outputs.map(|one| text(one.value(&batch, row).unwrap(), one)).collect());
        }
    }
    (if is_ordered(sql) { rows } else { sorted(rows) }, stream.report())
}

/// Statements whose rows or groups are few: all answers are compared as texts.
const STATEMENTS: &[&str] = &[
    "select g, count(*), sum(v), min(v), max(id), avg(n) from t group by g",
    "select sum(v), count(n), sum(n) from t",
    "select count(*), sum(v) from t where n between -100 and 50.005 and mode <> 'AIR'",
    "select id, text from t where text like '%17 of%' and n > 1500 order by id",
    "select mode, count(*) from t where mode in ('SHIP', 'a mode of more than 12 bytes') \
     and not (text like 'the text 1%') and id > 100 group by mode",
    "select count(*), max(text) from t where n is null and mode is not null",
    "select count(*), sum(t.v + u.v) from t join u on t.id = u.id where t.n > 0 and u.g < 3",
    "select u.g, count(*), min(t.text), max(u.text) from t join u on t.id = u.id + 1 group by u.g",
    "select count(t.id), count(u.id) from u right join t on t.id = u.id",
    "select count(t.id), count(u.id), sum(u.v) from t full join u on t.id = u.id and t.n < u.n",
    "select count(*) from t where exists (select from u where u.id = t.id and u.n > 0) \
     and t.g in (1, 4)",
    "select count(*) from u where not exists (select from t where u.id = t.id and t.n > u.n)",
    "select count(*), count(distinct v) from (select v from t where g = 2 union select g from u) a",
    "select id, row_number() over (partition by g order by id) from t where id % 5000 = 33 \
     and id < 60000 order by id",
    "select count(*) from t where 100 / (g + 1) > 30 and g > 0 and id between 3000 and 68000",
];

#[test]
fn answers_are_the_same_whatever_vectors_have_and_who_decides_conditions() {
    let database = test_database();
    let pools = [pool(1), pool(3)];
    for sql in STATEMENTS {
        let (expected, _) = run(&database, &pools[0], sql, PLAIN);
        assert!(!expected.is_empty(), "{sql}");
        for (index, vector_rows) in [256, 1_024, 4_096, 8_192, 16_384, 65_536].iter().enumerate() {
            for restricts_scans in [true, false] {
                let way = ScanWay { restricts_scans, vector_rows: *vector_rows };
                let (rows, _) = run(&database, &pools[index % 2], sql, way);
                assert!(rows == expected, "{sql}, {way:?}: {rows:?}\nnot {expected:?}");
            }
        }
    }
}

/// Returns the names of the operators of a plan of one input each, and the facts of its scan.
fn chain(mut operator: OperatorDescription) -> (Vec<&'static str>, String) {
    let mut names = vec![operator.name];
    while let Some(input) = operator.inputs.pop() {
        names.push(input.name);
        operator = input;
    }
    (names, format!("{:?}", operator.facts))
}

#[test]
fn conditions_that_scans_do_not_decide_are_filters_in_their_order() {
    let database = test_database();
    let sql = "select id from t where 100 / g > 30 and g > 0 and mode like 'A%'";
    let plan = |restricts| chain(lowered(&database, sql, restricts).plan.root.describe());
    let (restricted, facts) = plan(true);
    assert_eq!(restricted, ["Filter", "Scan"]);
    assert!(facts.contains("restrictions"), "{facts}");
    let (plain, facts) = plan(false);
    assert_eq!(plain, ["Filter", "Filter", "Scan"]);
    assert!(!facts.contains("restrictions"), "{facts}");
}

#[test]
fn chunks_are_left_out_only_by_what_scans_decide() {
    let database = test_database();
    let sql = "select sum(id + v) from t where id > 65535";
    let read = |restricts_scans| {
        let way = ScanWay { restricts_scans, ..PLAIN };
        let (_, report) = run(&database, &pool(1), sql, way);
        (report.scans[0].chunks_pruned, report.scans[0].rows_read)
    };
    assert_eq!(read(true), (1, ROWS as u64 - CHUNK_ROWS as u64));
    assert_eq!(read(false), (0, ROWS as u64));
}
