//! Queries of TPC-H that compare and divide averages and sums, with the answers of PostgreSQL 15.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_store::{ColumnDef, OpenOptions, Store, Table, TableSchema, Value};
use support::statements::{TestDatabase, Texts, sorted, table_of};

/// 1993-06-01, in days from 1970-01-01.
const FIRST_DAY: i64 = 8_552;

const MONEY: ColumnType = ColumnType::Decimal { precision: 15, scale: 2 };

fn text(value: impl Into<String>) -> Value {
    Value::Bytes(value.into().into_bytes())
}

fn table(
    store: &Store,
    name: &str,
    columns: &[(&str, ColumnType)],
    rows: &[Vec<Value>],
) -> Arc<Table> {
    let column = |(name, column_type): &(&str, ColumnType)| ColumnDef {
        name: (*name).into(),
        column_type: *column_type,
        is_nullable: true,
        replicas: None,
    };
    let schema = TableSchema {
        name: name.into(),
        columns: columns.iter().map(column).collect(),
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    table_of(store, schema, rows, rows.len() / 2, 1_000)
}

fn small_tables(store: &Store) -> [Arc<Table>; 3] {
    use ColumnType::{Char, Integer, Varchar};
    let nations = ["GERMANY", "CANADA", "FRANCE"].into_iter().enumerate();
    let nations: Vec<_> =
        nations.map(|(key, name)| vec![Value::Int(key as i64), text(name)]).collect();
    let supplier = |key: i64| {
        let (name, address) = (format!("Supplier#{key}"), format!("address {key}"));
        vec![Value::Int(key), text(name), text(address), Value::Int(key % 3)]
    };
    let either = |is_first: bool, texts: [&str; 2]| text(texts[usize::from(!is_first)]);
    let part = |key: i64| {
        vec![
            Value::Int(key),
            either(key % 4 == 0, ["forest green", "lace"]),
            either(key % 3 == 0, ["Brand#23", "Brand#11"]),
            either(key % 2 == 0, ["MED BOX", "SM CASE"]),
        ]
    };
    let suppliers: Vec<_> = (1..=30).map(supplier).collect();
    let parts: Vec<_> = (1..=40).map(part).collect();
    let (varchar, char) = (|chars| Varchar { max_chars: Some(chars) }, |chars| Char { chars });
    [
        table(store, "nation", &[("n_nationkey", Integer), ("n_name", char(25))], &nations),
        table(
            store,
            "supplier",
            &[
                ("s_suppkey", Integer),
                ("s_name", char(25)),
                ("s_address", varchar(40)),
                ("s_nationkey", Integer),
            ],
            &suppliers,
        ),
        table(
            store,
            "part",
            &[
                ("p_partkey", Integer),
                ("p_name", varchar(55)),
                ("p_brand", char(10)),
                ("p_container", char(10)),
            ],
            &parts,
        ),
    ]
}

fn large_tables(store: &Store) -> [Arc<Table>; 2] {
    use ColumnType::{Date, Integer};
    let offer = |(part, at): (i64, i64)| {
        let numbers = [
            part,
            (part + at * 7) % 30 + 1,
            (part * 37 + at * 101) % 300 + 1,
            (part * 7_919 + at * 104_729) % 100_000,
        ];
        numbers.map(Value::Int).to_vec()
    };
    let offers: Vec<_> = (1..=40).flat_map(|part| (0..4).map(move |at| (part, at))).collect();
    let offers: Vec<_> = offers.into_iter().map(offer).collect();
    let item = |at: i64| {
        let part = (at * 13 + at / 40) % 40 + 1;
        let numbers = [
            part,
            (part + at % 4 * 7) % 30 + 1,
            (at * 7 % 50 + 1) * 100,
            at * 7_907 % 90_000 + 10_000,
            FIRST_DAY + at % 900,
        ];
        numbers.map(Value::Int).to_vec()
    };
    let items: Vec<_> = (0..3_000).map(item).collect();
    [
        table(
            store,
            "partsupp",
            &[
                ("ps_partkey", Integer),
                ("ps_suppkey", Integer),
                ("ps_availqty", Integer),
                ("ps_supplycost", MONEY),
            ],
            &offers,
        ),
        table(
            store,
            "lineitem",
            &[
                ("l_partkey", Integer),
                ("l_suppkey", Integer),
                ("l_quantity", MONEY),
                ("l_extendedprice", MONEY),
                ("l_shipdate", Date),
            ],
            &items,
        ),
    ]
}

#[test]
fn q11_q17_and_q20_have_the_answers_of_postgresql() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let tables: Vec<_> = small_tables(&store).into_iter().chain(large_tables(&store)).collect();
    let database = TestDatabase::new(store, &tables);
    for (sql, answer) in [
        (
            include_str!("../../nacre-bench/src/tpch/queries/q11.sql"),
            include_str!("answers/tpch_q11.txt"),
        ),
        (
            include_str!("../../nacre-bench/src/tpch/queries/q17.sql"),
            include_str!("answers/tpch_q17.txt"),
        ),
        (
            include_str!("../../nacre-bench/src/tpch/queries/q20.sql"),
            include_str!("answers/tpch_q20.txt"),
        ),
    ] {
        let fields = |line: &str| line.split('\t').map(str::to_owned).collect();
        let wanted: Texts = answer.lines().map(fields).collect();
        let found = database.run_optimized(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(sorted(found), sorted(wanted), "{sql}");
    }
}
