//! SSB at scale factor 0.02: what was loaded and what is answered, against the oracle.

use std::sync::Arc;

use nacre_bench::Engine;
use nacre_bench::ssb::{QUERIES, generate};
use nacre_bench::workload::Oracle;

const SCALE_FACTOR: f64 = 0.02;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_the_13_queries_of_ssb_equal_the_oracles() {
    let directory = tempfile::tempdir().unwrap();
    let files = generate(SCALE_FACTOR, directory.path(), 2).unwrap();
    let engine = Engine::open(&directory.path().join("database"), Some(2)).await.unwrap();
    let oracle = Oracle::for_everything(&files, 2).await.unwrap();
    for file in &files {
        let loaded = engine.create_and_load(file, Arc::default()).await.unwrap();
        assert_eq!(loaded.rows, file.rows, "{}", file.table.name);
    }
    let mut with_rows = 0;
    for query in &QUERIES {
        let sql = query.sql(SCALE_FACTOR);
        let (ours, theirs) = (engine.query(&sql).await.unwrap(), oracle.query(&sql).await.unwrap());
        query.check(&ours, &theirs, "the oracle").unwrap();
        with_rows += u32::from(!ours.rows.is_empty());
    }
    // With 40 suppliers the queries on single cities may find nobody; the others find rows.
    assert!(with_rows >= 11, "{with_rows} of 13 queries found rows");
}
