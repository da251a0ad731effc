//! TPC-H at scale factor 0.01: what was loaded and what is answered, against the oracle.

use std::sync::Arc;

use nacre_bench::Engine;
use nacre_bench::tpch::{QUERIES, generate};
use nacre_bench::workload::{CsvFile, Oracle, compare};

const SCALE_FACTOR: f64 = 0.01;

async fn loaded(files: &[CsvFile], directory: &std::path::Path) -> Engine {
    let engine = Engine::open(directory, Some(2)).await.unwrap();
    for file in files {
        let loaded = engine.create_and_load(file, Arc::default()).await.unwrap();
        assert_eq!(loaded.rows, file.rows, "{}", file.table.name);
    }
    engine
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_and_answers_to_the_22_queries_equal_the_oracles_also_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let files = generate(SCALE_FACTOR, directory.path(), 2).unwrap();
    let database = directory.path().join("database");
    let oracle = Oracle::for_everything(&files, 2).await.unwrap();
    let engine = loaded(&files, &database).await;

    for file in &files {
        let table = file.table;
        let sql = format!("SELECT * FROM {} ORDER BY {}", table.name, table.primary_key.join(", "));
        let (ours, theirs) = (engine.query(&sql).await.unwrap(), oracle.query(&sql).await.unwrap());
        assert_eq!(ours.columns, theirs.columns);
        assert_eq!(ours.rows.len() as u64, file.rows);
        assert_eq!(compare(&ours, &theirs, &[]), Ok(()), "{}", table.name);
    }

    let mut answers = Vec::new();
    for query in &QUERIES {
        let sql = query.sql(SCALE_FACTOR);
        let (ours, theirs) = (engine.query(&sql).await.unwrap(), oracle.query(&sql).await.unwrap());
        assert_eq!(compare(&ours, &theirs, query.order_by), Ok(()), "Q{}", query.number);
        answers.push(ours);
    }
    drop(engine);

    let engine = Engine::open(&database, Some(1)).await.unwrap();
    for (query, before) in QUERIES.iter().zip(&answers) {
        let after = engine.query(&query.sql(SCALE_FACTOR)).await.unwrap();
        assert_eq!(compare(&after, before, query.order_by), Ok(()), "Q{}", query.number);
    }
}
