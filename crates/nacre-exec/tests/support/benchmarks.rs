//! The tables and queries of TPC-H and SSB, with few rows: keys fit together, and texts are those
//! that the queries ask for.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_store::{ColumnDef, Store, Table, TableSchema, Value};

use super::SeededRandom;
use super::statements::table_of;

/// Chunks of a table that are frozen; the rest of its rows is hot.
const CHUNKS: usize = 3;

/// 1992-01-01, in days from 1970-01-01.
const FIRST_DAY: i64 = 8_035;

/// 1995-06-17.
const CURRENT_DAY: i64 = 9_298;

const SUPPLIERS: i64 = 40;
const PARTS: i64 = 240;
const CUSTOMERS: i64 = 150;
const ORDERS: i64 = 900;
/// Of SSB.
const YEARS: i64 = 7;
const LINEORDERS: i64 = 4_000;

const MONEY: ColumnType = ColumnType::Decimal { precision: 15, scale: 2 };
const INT: ColumnType = ColumnType::Integer;
const BIG: ColumnType = ColumnType::BigInt;
const DATE: ColumnType = ColumnType::Date;

/// Makes the rows of a table one by one.
type RowOf<'a> = &'a mut dyn FnMut(i64) -> Vec<Value>;

const fn chars(chars: u32) -> ColumnType {
    ColumnType::Char { chars }
}

const fn varchar(chars: u32) -> ColumnType {
    ColumnType::Varchar { max_chars: Some(chars) }
}

fn text(value: impl Into<String>) -> Value {
    Value::Bytes(value.into().into_bytes())
}

fn int(value: i64) -> Value {
    Value::Int(value)
}

fn pick(random: &mut SeededRandom, texts: &[&str]) -> Value {
    text(texts[random.below(texts.len() as u64) as usize])
}

fn make(
    store: &Store,
    name: &str,
    columns: &[(&str, ColumnType)],
    keys: impl IntoIterator<Item = i64>,
    row: RowOf<'_>,
) -> Arc<Table> {
    let rows: Vec<_> = keys.into_iter().map(row).collect();
    table(store, name, columns, &rows)
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
        is_nullable: false,
        replicas: None,
    };
    let schema = TableSchema {
        name: name.into(),
        columns: columns.iter().map(column).collect(),
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    // All but a few rows are frozen.
    let frozen = rows.len() - rows.len() / 20;
    table_of(store, schema, rows, frozen, frozen.div_ceil(CHUNKS))
}

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// With their regions; those that queries name come first.
const NATIONS: [(&str, i64); 10] = [
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("SAUDI ARABIA", 4),
    ("INDIA", 2),
    ("CHINA", 2),
    ("JAPAN", 2),
    ("KENYA", 0),
    ("PERU", 1),
];

fn phone(key: i64) -> Value {
    text(format!("{}-555-{key:07}", 10 + key % 25))
}

/// The supplier at a place among the four of a part.
fn supplier_of(part: i64, place: i64) -> i64 {
    (part + place * (SUPPLIERS / 4 + 1)) % SUPPLIERS + 1
}

/// Makes the tables of TPC-H, with the columns that queries read.
pub(crate) fn tpch_tables(store: &Store) -> Vec<Arc<Table>> {
    let mut tables = small_tables(store);
    tables.extend(partners(store));
    tables.extend(orders(store));
    tables
}

fn small_tables(store: &Store) -> Vec<Arc<Table>> {
    let mut random = SeededRandom(11);
    let region =
        make(store, "region", &[("r_regionkey", INT), ("r_name", chars(25))], 0..5, &mut |key| {
            vec![int(key), text(REGIONS[key as usize])]
        });
    let nation = make(
        store,
        "nation",
        &[("n_nationkey", INT), ("n_name", chars(25)), ("n_regionkey", INT)],
        0..10,
        &mut |key| {
            let (name, region) = NATIONS[key as usize];
            vec![int(key), text(name), int(region)]
        },
    );
    let supplier = make(
        store,
        "supplier",
        &[
            ("s_suppkey", INT),
            ("s_name", chars(25)),
            ("s_address", varchar(40)),
            ("s_nationkey", INT),
            ("s_phone", chars(15)),
            ("s_acctbal", MONEY),
            ("s_comment", varchar(101)),
        ],
        1..=SUPPLIERS,
        &mut |key| {
            let comment = if key % 9 == 0 { "Customer has Complaints" } else { "as agreed" };
            let balance = random.below(1_000_000) as i64 - 99_999;
            vec![
                int(key),
                text(format!("Supplier#{key:09}")),
                text(format!("address {key}")),
                int(key % 10),
                phone(key),
                int(balance),
                text(comment),
            ]
        },
    );
    vec![region, nation, supplier]
}

fn partners(store: &Store) -> Vec<Arc<Table>> {
    let mut random = SeededRandom(12);
    let customer = make(
        store,
        "customer",
        &[
            ("c_custkey", INT),
            ("c_name", varchar(25)),
            ("c_address", varchar(40)),
            ("c_nationkey", INT),
            ("c_phone", chars(15)),
            ("c_acctbal", MONEY),
            ("c_mktsegment", chars(10)),
            ("c_comment", varchar(117)),
        ],
        1..=CUSTOMERS,
        &mut |key| {
            let balance = random.below(1_000_000) as i64 - 99_999;
            vec![
                int(key),
                text(format!("Customer#{key:09}")),
                text(format!("street {key}")),
                int(key % 10),
                phone(key),
                int(balance),
                pick(&mut random, &["BUILDING", "MACHINERY", "FURNITURE"]),
                text(format!("comment {key}")),
            ]
        },
    );
    let part = make(
        store,
        "part",
        &[
            ("p_partkey", INT),
            ("p_name", varchar(55)),
            ("p_mfgr", chars(25)),
            ("p_brand", chars(10)),
            ("p_type", varchar(25)),
            ("p_size", INT),
            ("p_container", chars(10)),
        ],
        1..=PARTS,
        &mut |key| part(key, &mut random),
    );
    let partsupp = make(
        store,
        "partsupp",
        &[("ps_partkey", INT), ("ps_suppkey", INT), ("ps_availqty", INT), ("ps_supplycost", MONEY)],
        0..PARTS * 4,
        &mut |place| {
            let part = place / 4 + 1;
            let (quantity, cost) = (random.below(9_999) as i64 + 1, random.below(100_000) as i64);
            vec![int(part), int(supplier_of(part, place % 4)), int(quantity), int(cost)]
        },
    );
    vec![customer, part, partsupp]
}

fn part(key: i64, random: &mut SeededRandom) -> Vec<Value> {
    let types = ["ECONOMY ANODIZED STEEL", "PROMO BRUSHED BRASS", "MEDIUM POLISHED TIN"];
    vec![
        int(key),
        pick(random, &["forest green lace", "pale green sky", "blue almond"]),
        text(format!("Manufacturer#{}", key % 5 + 1)),
        pick(random, &["Brand#12", "Brand#23", "Brand#34", "Brand#45"]),
        pick(random, &types),
        pick_size(random),
        pick(random, &["SM CASE", "MED BOX", "MED BAG", "LG BOX"]),
    ]
}

/// Sizes that Q2, Q16 and Q19 ask for.
fn pick_size(random: &mut SeededRandom) -> Value {
    let sizes = [1, 3, 5, 9, 14, 15, 19, 23, 36, 45, 49];
    int(sizes[random.below(sizes.len() as u64) as usize])
}

fn orders(store: &Store) -> Vec<Arc<Table>> {
    let mut random = SeededRandom(13);
    let mut items = Vec::new();
    let orders = make(
        store,
        "orders",
        &[
            ("o_orderkey", BIG),
            ("o_custkey", INT),
            ("o_orderstatus", chars(1)),
            ("o_totalprice", MONEY),
            ("o_orderdate", DATE),
            ("o_orderpriority", chars(15)),
            ("o_shippriority", INT),
            ("o_comment", varchar(79)),
        ],
        1..=ORDERS,
        &mut |key| {
            let day = FIRST_DAY + random.below(2_400) as i64;
            items.extend((1..=1 + key % 7).map(|line| line_item(key, line, day, &mut random)));
            // A third of the customers has no orders.
            let customer = random.below(CUSTOMERS as u64 / 3) as i64 * 3 + key % 2 + 1;
            let status = if day < CURRENT_DAY { "F" } else { "O" };
            let comment = if key % 8 == 0 { "special care requests" } else { "as usual" };
            vec![
                int(key),
                int(customer),
                text(status),
                int(random.below(50_000_000) as i64),
                int(day),
                pick(&mut random, &["1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"]),
                int(0),
                text(comment),
            ]
        },
    );
    let columns = [
        ("l_orderkey", BIG),
        ("l_partkey", INT),
        ("l_suppkey", INT),
        ("l_quantity", MONEY),
        ("l_extendedprice", MONEY),
        ("l_discount", MONEY),
        ("l_tax", MONEY),
        ("l_returnflag", chars(1)),
        ("l_linestatus", chars(1)),
        ("l_shipdate", DATE),
        ("l_commitdate", DATE),
        ("l_receiptdate", DATE),
        ("l_shipinstruct", chars(25)),
        ("l_shipmode", chars(10)),
    ];
    vec![orders, table(store, "lineitem", &columns, &items)]
}

fn line_item(order: i64, line: i64, day: i64, random: &mut SeededRandom) -> Vec<Value> {
    let mut below = |end: u64| random.below(end) as i64;
    let part = below(PARTS as u64) + 1;
    let supplier = supplier_of(part, line % 4);
    // Q18 wants orders of more than 300.
    let quantity = if order % 28 == 6 { 50 } else { below(50) + 1 };
    let (ship, commit) = (day + 1 + below(121), day + 30 + below(61));
    let receipt = ship + 1 + below(30);
    let (price, discount, tax) = (quantity * (90_000 + below(110_000)), below(11), below(9));
    let status = if ship > CURRENT_DAY { "O" } else { "F" };
    let flag = if receipt > CURRENT_DAY { "N" } else { ["R", "A"][below(2) as usize] };
    vec![
        int(order),
        int(part),
        int(supplier),
        int(quantity * 100),
        int(price),
        int(discount),
        int(tax),
        text(flag),
        text(status),
        int(ship),
        int(commit),
        int(receipt),
        pick(random, &["DELIVER IN PERSON", "COLLECT COD"]),
        pick(random, &["MAIL", "SHIP", "AIR", "AIR REG"]),
    ]
}

/// Cities with their nations and regions.
const CITIES: [(&str, &str, &str); 5] = [
    ("UNITED KI1", "UNITED KINGDOM", "EUROPE"),
    ("UNITED KI5", "UNITED KINGDOM", "EUROPE"),
    ("UNITED ST3", "UNITED STATES", "AMERICA"),
    ("CHINA    2", "CHINA", "ASIA"),
    ("PERU     7", "PERU", "AMERICA"),
];

fn place_of(key: i64) -> Vec<Value> {
    let (city, nation, region) = CITIES[key as usize % CITIES.len()];
    vec![int(key), text(city), text(nation), text(region)]
}

/// Makes the tables of SSB, with the columns that queries read.
pub(crate) fn ssb_tables(store: &Store) -> Vec<Arc<Table>> {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"];
    let months = months.into_iter().chain(["Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]);
    let months: Vec<_> = months.collect();
    let date = |day: i64| {
        let (year, in_year) = (1992 + day / 336, day % 336);
        (year, in_year / 28, in_year % 28)
    };
    let key = |day: i64| {
        let (year, month, day) = date(day);
        year * 10_000 + (month + 1) * 100 + day + 1
    };
    let days = YEARS * 336;
    let columns = [
        ("d_datekey", INT),
        ("d_year", INT),
        ("d_yearmonthnum", INT),
        ("d_yearmonth", chars(7)),
        ("d_weeknuminyear", INT),
    ];
    let dates = make(store, "dates", &columns, 0..days, &mut |day| {
        let (year, month, in_month) = date(day);
        vec![
            int(key(day)),
            int(year),
            int(year * 100 + month + 1),
            text(format!("{}{year}", months[month as usize])),
            int((month * 28 + in_month) / 7 + 1),
        ]
    });
    let columns = ["key", "city", "nation", "region"];
    let place = |name: &str, prefix: &str, key: &str, rows: i64| {
        let names = columns.map(|column| format!("{prefix}_{column}"));
        let columns = [
            (key, INT),
            (names[1].as_str(), chars(10)),
            (names[2].as_str(), chars(15)),
            (names[3].as_str(), chars(12)),
        ];
        make(store, name, &columns, 1..=rows, &mut place_of)
    };
    let supplier = place("supplier", "s", "s_suppkey", SUPPLIERS);
    let customer = place("customer", "c", "c_custkey", CUSTOMERS);
    let columns = [
        ("p_partkey", INT),
        ("p_mfgr", chars(6)),
        ("p_category", chars(7)),
        ("p_brand1", chars(9)),
    ];
    let part = make(store, "part", &columns, 1..=PARTS, &mut |key| {
        let category = ["11", "12", "14", "22", "31"][key as usize % 5];
        let brand = if category == "22" { 20 + key % 12 } else { key % 40 + 1 };
        let maker = &category[..1];
        vec![
            int(key),
            text(format!("MFGR#{maker}")),
            text(format!("MFGR#{category}")),
            text(format!("MFGR#{category}{brand}")),
        ]
    });
    vec![dates, supplier, customer, part, lineorder(store, days, &key)]
}

fn lineorder(store: &Store, days: i64, key: &dyn Fn(i64) -> i64) -> Arc<Table> {
    let mut random = SeededRandom(14);
    let columns = [
        ("lo_orderkey", BIG),
        ("lo_custkey", INT),
        ("lo_partkey", INT),
        ("lo_suppkey", INT),
        ("lo_orderdate", INT),
        ("lo_quantity", INT),
        ("lo_extendedprice", INT),
        ("lo_discount", INT),
        ("lo_revenue", INT),
        ("lo_supplycost", INT),
    ];
    make(store, "lineorder", &columns, 1..=LINEORDERS, &mut |order| {
        let mut below = |end: i64| random.below(end as u64) as i64;
        let numbers = [
            order,
            below(CUSTOMERS) + 1,
            below(PARTS) + 1,
            below(SUPPLIERS) + 1,
            key(below(days)),
            below(50) + 1,
            below(1_000_000),
            below(11),
            below(1_000_000),
            below(60_000),
        ];
        numbers.map(Value::Int).to_vec()
    })
}

macro_rules! query {
    ($name:literal, $path:literal) => {
        ($name, include_str!(concat!("../../../nacre-bench/src/", $path)))
    };
}

/// The 22 queries.
pub(crate) const TPCH_QUERIES: [(&str, &str); 22] = [
    query!("Q1", "tpch/queries/q01.sql"),
    query!("Q2", "tpch/queries/q02.sql"),
    query!("Q3", "tpch/queries/q03.sql"),
    query!("Q4", "tpch/queries/q04.sql"),
    query!("Q5", "tpch/queries/q05.sql"),
    query!("Q6", "tpch/queries/q06.sql"),
    query!("Q7", "tpch/queries/q07.sql"),
    query!("Q8", "tpch/queries/q08.sql"),
    query!("Q9", "tpch/queries/q09.sql"),
    query!("Q10", "tpch/queries/q10.sql"),
    query!("Q11", "tpch/queries/q11.sql"),
    query!("Q12", "tpch/queries/q12.sql"),
    query!("Q13", "tpch/queries/q13.sql"),
    query!("Q14", "tpch/queries/q14.sql"),
    query!("Q15", "tpch/queries/q15.sql"),
    query!("Q16", "tpch/queries/q16.sql"),
    query!("Q17", "tpch/queries/q17.sql"),
    query!("Q18", "tpch/queries/q18.sql"),
    query!("Q19", "tpch/queries/q19.sql"),
    query!("Q20", "tpch/queries/q20.sql"),
    query!("Q21", "tpch/queries/q21.sql"),
    query!("Q22", "tpch/queries/q22.sql"),
];

/// The 13 queries.
pub(crate) const SSB_QUERIES: [(&str, &str); 13] = [
    query!("Q1.1", "ssb/queries/q1_1.sql"),
    query!("Q1.2", "ssb/queries/q1_2.sql"),
    query!("Q1.3", "ssb/queries/q1_3.sql"),
    query!("Q2.1", "ssb/queries/q2_1.sql"),
    query!("Q2.2", "ssb/queries/q2_2.sql"),
    query!("Q2.3", "ssb/queries/q2_3.sql"),
    query!("Q3.1", "ssb/queries/q3_1.sql"),
    query!("Q3.2", "ssb/queries/q3_2.sql"),
    query!("Q3.3", "ssb/queries/q3_3.sql"),
    query!("Q3.4", "ssb/queries/q3_4.sql"),
    query!("Q4.1", "ssb/queries/q4_1.sql"),
    query!("Q4.2", "ssb/queries/q4_2.sql"),
    query!("Q4.3", "ssb/queries/q4_3.sql"),
];
