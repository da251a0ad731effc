//! Plans of TPC-H beside rows that are not frozen.
//!
//! A table of which one row is hot had no statistics for the planner: it knew neither bounds nor
//! how many values of a key there are, and Q18 took two to three times as long after one insert.

use std::collections::BTreeSet;
use std::sync::Arc;

use nacre_bench::Engine;
use nacre_bench::tpch::{QUERIES, generate};

const SCALE_FACTOR: f64 = 0.01;

/// Returns the plans of the 22 queries without what they say of hot chunks.
async fn plans(engine: &Engine) -> Vec<(u32, String)> {
    let mut plans = Vec::new();
    for query in &QUERIES {
        let sql = format!("EXPLAIN (COSTS OFF) {}", query.sql(SCALE_FACTOR));
        let answer = engine.query(&sql).await.unwrap();
        let lines = answer.rows.iter().map(|row| format!("{row:?}"));
        let plan = lines.collect::<Vec<_>>().join("\n").replace(", hot chunks=1", "");
        plans.push((query.number, plan));
    }
    plans
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_inserted_row_changes_no_plan_of_tpch() {
    let directory = tempfile::tempdir().unwrap();
    let files = generate(SCALE_FACTOR, directory.path(), 2).unwrap();
    // One thread, since hot rows are a task for another one.
    let engine = Engine::open(&directory.path().join("database"), Some(1)).await.unwrap();
    for file in &files {
        engine.create_and_load(file, Arc::default()).await.unwrap();
    }
    let before = plans(&engine).await;
    // Copies of rows under a key that the TPC leaves out: no bound moves.
    for (table, key, filter) in [
        ("orders", "o_orderkey", "o_orderkey = 1"),
        ("lineitem", "l_orderkey", "l_orderkey = 1 AND l_linenumber = 1"),
    ] {
        let file = files.iter().find(|file| file.table.name == table).unwrap();
        let names = file.table.columns.iter().map(|column| column.name);
        let values: Vec<_> = names.map(|name| if name == key { "9" } else { name }).collect();
        let values = values.join(", ");
        let sql = format!("INSERT INTO {table} SELECT {values} FROM {table} WHERE {filter}");
        engine.query(&sql).await.unwrap();
    }
    let after = plans(&engine).await;
    let changed: BTreeSet<u32> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before.1 != after.1)
        .map(|(before, _)| before.0)
        .collect();
    assert!(changed.is_empty(), "plans changed of queries {changed:?}");
}
