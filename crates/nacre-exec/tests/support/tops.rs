//! Top-k plans, and a table of frozen, hot, changed and deleted rows to run them over.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

use std::sync::Arc;

use nacre_exec::dispatch::{QueryOptions, QueryReport, WorkerPool};
use nacre_exec::plan::{LimitNode, OperatorDescription, PhysicalPlan, PlanNode, SortKey, SortNode};
use nacre_store::{IsolationLevel, Store, Table, Value};

use super::joins::{ALL, Scalars};
use super::{MODE, MONEY, Row, SMALL, TEXT, row, rows_of, scalar, table};

pub(crate) fn sort_key(column: usize, is_descending: bool, is_nulls_first: bool) -> SortKey {
    SortKey { column, is_descending, is_nulls_first }
}

/// The first rows of an order, behind an offset.
pub(crate) fn top(input: PlanNode, keys: &[SortKey], offset: u64, rows: u64) -> PlanNode {
    let (keys, rows_max) = (keys.to_vec(), Some(offset + rows));
    let input = PlanNode::Sort(Box::new(SortNode { input, keys, rows_max }));
    PlanNode::Limit(Box::new(LimitNode { input, offset, rows_max: Some(rows), late: None }))
}

/// A table of frozen chunks, hot rows, updated and deleted ones; its rows as its snapshot has them.
pub(crate) fn mixed_table(store: &Store, name: &str, seed: u64) -> (Arc<Table>, Vec<Scalars>) {
    let table = table(store, name, &[9_000..12_000, 0..9_000, 12_000..12_500], seed);
    let mut rows: Vec<Option<Row>> = (0..14_000).map(|id| Some(row(id, seed))).collect();
    let mut writer = store.begin(IsolationLevel::RepeatableRead);
    let hot: Vec<_> = rows[12_500..]
        .iter()
        .flatten()
        .map(|row| {
            let values: Vec<_> = row.iter().map(Value::as_ref).collect();
            writer.insert(&table, &values).unwrap()
        })
        .collect();
    writer.commit().unwrap();
    let mut writer = store.begin(IsolationLevel::RepeatableRead);
    for (at, id) in hot.iter().enumerate() {
        if at % 5 == 0 {
            writer.delete(&table, *id).unwrap();
            rows[12_500 + at] = None;
        } else if at % 3 == 0 {
            let new = row(12_500 + at as i64, 77);
            let changed = [SMALL, MONEY, MODE, TEXT];
            let values = changed.map(|column| (column, new[column].as_ref()));
            writer.update(&table, *id, &values).unwrap();
            for column in changed {
                rows[12_500 + at].as_mut().unwrap()[column] = new[column].clone();
            }
        }
    }
    let chunk = table.snapshot().chunks().unwrap().remove(1);
    for id in (0..9_000_u16).filter(|id| id % 7 != 3) {
        writer.delete(&table, chunk.row_id(id).unwrap()).unwrap();
        rows[usize::from(id)] = None;
    }
    writer.commit().unwrap();
    let scalars = |row: &Row| ALL.iter().map(|at| scalar(&row[*at], *at)).collect();
    (table, rows.iter().flatten().map(scalars).collect())
}

/// Runs a plan to its end; returns its rows and counters.
pub(crate) fn run_reported(pool: &WorkerPool, root: PlanNode) -> (Vec<Scalars>, QueryReport) {
    let mut stream = pool.execute(PhysicalPlan { root }, QueryOptions::default()).unwrap();
    let rows = rows_of(&stream.collect_batches().unwrap());
    (rows, stream.report())
}

/// Returns what the first top-k of a plan says of scans, behind its keys and rows.
pub(crate) fn top_facts(described: &OperatorDescription) -> Vec<(&'static str, String)> {
    if described.name == "Top-k" {
        return described.facts[2..].to_vec();
    }
    described.inputs.iter().flat_map(top_facts).collect()
}
