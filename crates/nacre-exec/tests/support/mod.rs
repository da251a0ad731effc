//! Tables of every kind of column, their rows, and pools.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

pub(crate) mod benchmarks;
pub(crate) mod joins;
pub(crate) mod lineitem;
pub(crate) mod statements;
pub(crate) mod tops;

use std::sync::Arc;

use nacre_column::{ColumnBuffer, ColumnType, Flavour};
use nacre_exec::ExecResult;
use nacre_exec::dispatch::{QueryOptions, WorkerPool, WorkerPoolOptions};
use nacre_exec::plan::{ColumnPredicate, PhysicalPlan, PlanNode, ScanNode};
use nacre_exec::spill::SpillSpace;
use nacre_exec::value::ScalarValue;
use nacre_exec::vector::ResultBatch;
use nacre_store::{
    ColumnDef, IsolationLevel, RowId, Store, Table, TableSchema, TableSnapshot, Value,
};

/// The columns of [`schema`].
pub(crate) const ID: usize = 0;
pub(crate) const SMALL: usize = 1;
pub(crate) const MONEY: usize = 2;
pub(crate) const WIDE: usize = 3;
pub(crate) const FLOAT: usize = 4;
pub(crate) const FLAG: usize = 5;
pub(crate) const MODE: usize = 6;
pub(crate) const TEXT: usize = 7;

pub(crate) struct SeededRandom(pub(crate) u64);

impl SeededRandom {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((u128::from(self.0 >> 32) * u128::from(end)) >> 32) as u64
    }
}

pub(crate) fn schema(name: &str) -> TableSchema {
    let column = |name: &str, column_type, is_nullable| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable,
        replicas: None,
    };
    let decimal = |precision| ColumnType::Decimal { precision, scale: 2 };
    TableSchema {
        name: name.into(),
        columns: vec![
            column("id", ColumnType::BigInt, false),
            column("small", ColumnType::Integer, true),
            column("money", decimal(15), true),
            column("wide", decimal(30), true),
            column("float", ColumnType::Double, true),
            column("flag", ColumnType::Boolean, true),
            column("mode", ColumnType::Varchar { max_chars: None }, true),
            column("text", ColumnType::Varchar { max_chars: None }, false),
        ],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    }
}

pub(crate) type Row = Vec<Value>;

/// Returns the row of an id; `seed` makes other values.
pub(crate) fn row(id: i64, seed: u64) -> Row {
    let mut random = SeededRandom(seed ^ (id as u64).wrapping_mul(0x9e37_79b9));
    (0..3).for_each(|_| {
        random.below(2);
    });
    let or_null = |random: &mut SeededRandom, value: Value| {
        if random.below(7) == 0 { Value::Null } else { value }
    };
    let small = Value::Int(random.below(40) as i64 - 10);
    let money = Value::Int(random.below(2_000_000) as i64 - 500_000);
    let wide = Value::Int128(i128::from(random.below(1 << 31)) << 40);
    let floats = [0.0, -0.0, 1.25, -3.5, f64::NAN, 1e10];
    let float = Value::Float64(floats[random.below(6) as usize]);
    let flag = Value::Int(random.below(2) as i64);
    let modes = ["AIR", "RAIL", "SHIP", "TRUCK", "a mode of more than 12 bytes"];
    let mode = Value::Bytes(modes[random.below(5) as usize].as_bytes().to_vec());
    let text = Value::Bytes(format!("the text of row {id}, {}", random.below(1_000)).into_bytes());
    vec![
        Value::Int(id),
        or_null(&mut random, small),
        or_null(&mut random, money),
        or_null(&mut random, wide),
        or_null(&mut random, float),
        or_null(&mut random, flag),
        or_null(&mut random, mode),
        text,
    ]
}

/// Returns rows as columns.
pub(crate) fn buffers(rows: &[Row]) -> Vec<ColumnBuffer> {
    let schema = schema("t");
    let mut buffers: Vec<ColumnBuffer> =
        schema.columns.iter().map(|column| ColumnBuffer::new(column.column_type)).collect();
    for row in rows {
        for (buffer, value) in buffers.iter_mut().zip(row) {
            value.as_ref().push_to(buffer);
        }
    }
    buffers
}

/// Makes a table with a chunk for each range of ids.
pub(crate) fn table(
    store: &Store,
    name: &str,
    chunks: &[std::ops::Range<i64>],
    seed: u64,
) -> Arc<Table> {
    let table = store.create_table(schema(name)).unwrap();
    let load = store.begin_load(&table).unwrap();
    for (index, ids) in chunks.iter().enumerate() {
        let rows: Vec<Row> = ids.clone().map(|id| row(id, seed)).collect();
        load.append_chunk(index as u64, &buffers(&rows)).unwrap();
    }
    load.commit().unwrap();
    table
}

/// Inserts rows in a transaction.
pub(crate) fn insert(store: &Store, table: &Arc<Table>, rows: &[Row]) -> Vec<RowId> {
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    let ids = rows
        .iter()
        .map(|row| {
            let values: Vec<_> = row.iter().map(Value::as_ref).collect();
            transaction.insert(table, &values).unwrap()
        })
        .collect();
    transaction.commit().unwrap();
    ids
}

pub(crate) fn pool_with(threads: usize, flavour: Flavour) -> WorkerPool {
    let (is_pinned, memory_bytes_max, spill) = (false, 1 << 30, None);
    let options = WorkerPoolOptions { threads, is_pinned, memory_bytes_max, flavour, spill };
    WorkerPool::new(&options).unwrap()
}

/// Makes a pool whose queries spill to `space`.
pub(crate) fn spilling_pool(threads: usize, space: &Arc<SpillSpace>) -> WorkerPool {
    let (is_pinned, memory_bytes_max, flavour) = (false, 1 << 30, Flavour::active());
    let spill = Some(Arc::clone(space));
    let options = WorkerPoolOptions { threads, is_pinned, memory_bytes_max, flavour, spill };
    WorkerPool::new(&options).unwrap()
}

pub(crate) fn pool(threads: usize) -> WorkerPool {
    pool_with(threads, Flavour::active())
}

pub(crate) fn run(pool: &WorkerPool, root: PlanNode) -> ExecResult<Vec<Vec<ScalarValue>>> {
    let plan = PhysicalPlan { root };
    let mut stream = pool.execute(plan, QueryOptions::default())?;
    Ok(rows_of(&stream.collect_batches()?))
}

pub(crate) fn rows_of(batches: &[ResultBatch]) -> Vec<Vec<ScalarValue>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.rows {
            rows.push(batch.columns.iter().map(|column| column.scalar(row)).collect());
        }
    }
    rows
}

pub(crate) fn scan(
    snapshot: &TableSnapshot,
    columns: &[usize],
    predicates: Vec<ColumnPredicate>,
) -> PlanNode {
    PlanNode::Scan(ScanNode {
        snapshot: snapshot.clone(),
        columns: columns.to_vec(),
        predicates,
        has_row_ids: false,
        sample: None,
    })
}

/// Orders and compares values by what they print as.
pub(crate) fn key(row: &[ScalarValue]) -> String {
    row.iter().map(|value| format!("{value:?}|")).collect()
}

pub(crate) fn sorted(mut rows: Vec<Vec<ScalarValue>>) -> Vec<String> {
    let mut keys: Vec<String> = rows.drain(..).map(|row| key(&row)).collect();
    keys.sort_unstable();
    keys
}

/// Returns a value of a table as a plan hands it on.
pub(crate) fn scalar(value: &Value, column: usize) -> ScalarValue {
    use nacre_exec::value::ValueClass;
    let class = ValueClass::of(schema("t").columns[column].column_type);
    match value {
        Value::Null => ScalarValue::Null(class),
        Value::Int(value) if class == ValueClass::Bool => ScalarValue::Bool(*value == 1),
        Value::Int(value) => ScalarValue::Int((*value).into()),
        Value::Int128(value) => ScalarValue::Int(*value),
        Value::Float32(value) => ScalarValue::Float32(*value),
        Value::Float64(value) => ScalarValue::Float64(*value),
        Value::Bytes(value) => ScalarValue::Bytes(value.clone()),
    }
}
