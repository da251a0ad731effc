//! Columns like those of TPC-H's lineitem, and plans for Q1 and Q6 over them.

#![allow(dead_code, reason = "each binary uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

use std::collections::BTreeMap;
use std::sync::Arc;

use nacre_column::{CHUNK_ROWS, ColumnBuffer, ColumnType, CompareOp, Constant, Restriction};
use nacre_exec::ExecResult;
use nacre_exec::expression::{ArithmeticOp, ExpressionGraph};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, ColumnPredicate, MapNode, PhysicalPlan,
    PlanNode, ScanNode, SortKey, SortNode,
};
use nacre_exec::value::{IntLimit, ScalarValue, ValueClass};
use nacre_exec::vector::ResultBatch;
use nacre_store::{ColumnDef, OpenOptions, Store, Table, TableSchema, TableSnapshot};

/// 1992-01-02 and 1998-12-01, counted from 1970-01-01.
const SHIP_DATES: std::ops::RangeInclusive<i64> = 8_036..=10_561;

/// 1995-06-17.
const CURRENT_DATE: i64 = 9_298;

/// The columns, as they are stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineItem {
    pub(crate) quantity: Vec<i64>,
    pub(crate) price: Vec<i64>,
    pub(crate) discount: Vec<i64>,
    pub(crate) tax: Vec<i64>,
    pub(crate) return_flag: Vec<u8>,
    pub(crate) line_status: Vec<u8>,
    pub(crate) ship_date: Vec<i64>,
}

struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, end: u64) -> i64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (((self.0 >> 32) * end) >> 32) as i64
    }
}

impl LineItem {
    pub(crate) fn generate(rows: usize, seed: u64) -> Self {
        let mut random = SeededRandom(seed);
        let mut this = Self::default();
        for _ in 0..rows {
            let quantity = 1 + random.below(50);
            let ship_date = SHIP_DATES.start() + random.below(2_526);
            let flag = if ship_date + 1 + random.below(30) <= CURRENT_DATE {
                b"RA"[random.below(2) as usize]
            } else {
                b'N'
            };
            this.quantity.push(quantity * 100);
            this.price.push(quantity * (90_000 + random.below(119_900)));
            this.discount.push(random.below(11));
            this.tax.push(random.below(9));
            this.return_flag.push(flag);
            this.line_status.push(if ship_date > CURRENT_DATE { b'O' } else { b'F' });
            this.ship_date.push(ship_date);
        }
        this
    }

    pub(crate) fn rows(&self) -> usize {
        self.quantity.len()
    }

    pub(crate) fn schema() -> TableSchema {
        let money = ColumnType::Decimal { precision: 15, scale: 2 };
        let flag = ColumnType::Char { chars: 1 };
        let column = |name: &str, column_type| ColumnDef {
            name: name.into(),
            column_type,
            is_nullable: false,
            replicas: None,
        };
        TableSchema {
            name: "lineitem".into(),
            columns: vec![
                column("l_quantity", money),
                column("l_extendedprice", money),
                column("l_discount", money),
                column("l_tax", money),
                column("l_returnflag", flag),
                column("l_linestatus", flag),
                column("l_shipdate", ColumnType::Date),
            ],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        }
    }

    /// Returns the columns of some rows.
    pub(crate) fn buffers(&self, rows: std::ops::Range<usize>) -> Vec<ColumnBuffer> {
        let schema = Self::schema();
        let mut buffers: Vec<ColumnBuffer> =
            schema.columns.iter().map(|column| ColumnBuffer::new(column.column_type)).collect();
        for (at, values) in
            [&self.quantity, &self.price, &self.discount, &self.tax].into_iter().enumerate()
        {
            buffers[at].push_ints(&values[rows.clone()]);
        }
        for row in rows.clone() {
            buffers[4].push_bytes(&[self.return_flag[row]]);
            buffers[5].push_bytes(&[self.line_status[row]]);
        }
        buffers[6].push_ints(&self.ship_date[rows]);
        buffers
    }

    /// Loads a table of a store in DRAM.
    pub(crate) fn load(&self) -> (Store, Arc<Table>) {
        let store = Store::open(OpenOptions::default()).unwrap();
        let table = self.load_into(&store);
        (store, table)
    }

    pub(crate) fn load_into(&self, store: &Store) -> Arc<Table> {
        let table = store.create_table(Self::schema()).unwrap();
        let load = store.begin_load(&table).unwrap();
        for (index, start) in (0..self.rows()).step_by(CHUNK_ROWS).enumerate() {
            let rows = start..self.rows().min(start + CHUNK_ROWS);
            load.append_chunk(index as u64, &self.buffers(rows)).unwrap();
        }
        load.commit().unwrap();
        table
    }
}

fn compare(column: usize, op: CompareOp, value: i128) -> ColumnPredicate {
    let value = Constant::Int(value);
    ColumnPredicate::restriction(column, Restriction::Compare { op, value })
}

/// sum(l_extendedprice * l_discount) of one year, 5 to 7 percent, less than 24 pieces.
pub(crate) fn q6_plan(snapshot: &TableSnapshot) -> ExecResult<PhysicalPlan> {
    let scan = PlanNode::Scan(ScanNode {
        snapshot: snapshot.clone(),
        columns: vec![1, 2],
        predicates: vec![
            compare(6, CompareOp::Ge, 8_766),
            compare(6, CompareOp::Lt, 9_131),
            compare(2, CompareOp::Ge, 5),
            compare(2, CompareOp::Le, 7),
            compare(0, CompareOp::Lt, 2_400),
        ],
        has_row_ids: false,
        sample: None,
    });
    let mut graph = ExpressionGraph::default();
    let price = graph.column(0, ValueClass::Int)?;
    let discount = graph.column(1, ValueClass::Int)?;
    let product = graph.arithmetic(ArithmeticOp::Multiply, price, discount, IntLimit::NUMERIC)?;
    let map = PlanNode::Map(Box::new(MapNode { input: scan, graph, outputs: vec![product] }));
    let sum = AggregateCall::new(AggregateFunction::Sum, Some(0), IntLimit::NUMERIC);
    let node = AggregateNode {
        input: map,
        keys: Vec::new(),
        dependents: Vec::new(),
        aggregates: vec![sum],
    };
    Ok(PhysicalPlan { root: PlanNode::Aggregate(Box::new(node)) })
}

pub(crate) fn q6_reference(items: &LineItem) -> Vec<Vec<i128>> {
    let mut sum = 0_i64;
    for row in 0..items.rows() {
        if (8_766..9_131).contains(&items.ship_date[row])
            && (5..=7).contains(&items.discount[row])
            && items.quantity[row] < 2_400
        {
            sum += items.price[row] * items.discount[row];
        }
    }
    vec![vec![sum.into()]]
}

/// The pricing summary: flag, status, five sums as in SQL (three with counts for averages), count.
pub(crate) fn q1_plan(snapshot: &TableSnapshot) -> ExecResult<PhysicalPlan> {
    let scan = PlanNode::Scan(ScanNode {
        snapshot: snapshot.clone(),
        columns: vec![4, 5, 0, 1, 2, 3],
        predicates: vec![compare(6, CompareOp::Le, 10_471)],
        has_row_ids: false,
        sample: None,
    });
    let mut graph = ExpressionGraph::default();
    let flag = graph.column(0, ValueClass::Bytes)?;
    let status = graph.column(1, ValueClass::Bytes)?;
    let quantity = graph.column(2, ValueClass::Int)?;
    let price = graph.column(3, ValueClass::Int)?;
    let discount = graph.column(4, ValueClass::Int)?;
    let tax = graph.column(5, ValueClass::Int)?;
    let limit = IntLimit::NUMERIC;
    let hundred = graph.int(100)?;
    let kept = graph.arithmetic(ArithmeticOp::Subtract, hundred, discount, limit)?;
    let discounted = graph.arithmetic(ArithmeticOp::Multiply, price, kept, limit)?;
    let taxed = graph.arithmetic(ArithmeticOp::Add, hundred, tax, limit)?;
    let charge = graph.arithmetic(ArithmeticOp::Multiply, discounted, taxed, limit)?;
    let outputs = vec![flag, status, quantity, price, discounted, charge, discount];
    let map = PlanNode::Map(Box::new(MapNode { input: scan, graph, outputs }));
    let call = |function, column| AggregateCall::new(function, Some(column), limit);
    let node = AggregateNode {
        input: map,
        keys: vec![0, 1],
        dependents: Vec::new(),
        aggregates: vec![
            call(AggregateFunction::AverageState, 2),
            call(AggregateFunction::AverageState, 3),
            call(AggregateFunction::Sum, 4),
            call(AggregateFunction::Sum, 5),
            call(AggregateFunction::AverageState, 6),
            AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT),
        ],
    };
    let key = |column| SortKey { column, is_descending: false, is_nulls_first: false };
    let input = PlanNode::Aggregate(Box::new(node));
    let sort = SortNode { input, keys: vec![key(0), key(1)], rows_max: None };
    Ok(PhysicalPlan { root: PlanNode::Sort(Box::new(sort)) })
}

pub(crate) fn q1_reference(items: &LineItem) -> Vec<Vec<i128>> {
    let mut groups: BTreeMap<(u8, u8), [i64; 6]> = BTreeMap::new();
    let mut states = vec![[0_i64; 6]; 1 << 10];
    let place = |row: usize| {
        (usize::from(items.return_flag[row] & 31) << 5) | usize::from(items.line_status[row] & 31)
    };
    for row in 0..items.rows() {
        if items.ship_date[row] > 10_471 {
            continue;
        }
        let discounted = items.price[row] * (100 - items.discount[row]);
        let state = &mut states[place(row)];
        state[0] += items.quantity[row];
        state[1] += items.price[row];
        state[2] += discounted;
        state[3] += discounted * (100 + items.tax[row]);
        state[4] += items.discount[row];
        state[5] += 1;
    }
    for (at, state) in states.iter().enumerate().filter(|(_, state)| state[5] > 0) {
        groups.insert(((at >> 5) as u8 | 64, at as u8 & 31 | 64), *state);
    }
    let rows = groups.into_iter().map(
        |((flag, status), [quantity, price, discounted, charge, discount, count])| {
            [
                flag.into(),
                status.into(),
                quantity,
                count,
                price,
                count,
                discounted,
                charge,
                discount,
                count,
                count,
            ]
            .map(i128::from)
            .to_vec()
        },
    );
    rows.collect()
}

/// Returns the rows of an answer, strings as their first byte.
pub(crate) fn numbers(batches: &[ResultBatch]) -> Vec<Vec<i128>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.rows {
            let number = |value: ScalarValue| match value {
                ScalarValue::Int(value) => value,
                ScalarValue::Bool(value) => value.into(),
                ScalarValue::Bytes(value) => value.first().copied().unwrap_or(0).into(),
                other => panic!("{other:?} is no number"),
            };
            rows.push(batch.columns.iter().map(|column| number(column.scalar(row))).collect());
        }
    }
    rows
}
