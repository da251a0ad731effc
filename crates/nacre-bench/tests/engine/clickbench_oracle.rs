//! ClickBench's shapes over 30,000 rows: what was loaded and what is answered, against the oracle.

use std::sync::Arc;

use nacre_bench::Engine;
use nacre_bench::clickbench::{QUERIES, UNORDERED, generate, sql};
use nacre_bench::workload::{Oracle, compare_approximately};

const ROWS: u64 = 30_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_the_43_shapes_equal_the_oracles() {
    let directory = tempfile::tempdir().unwrap();
    let files = [generate(ROWS, directory.path(), 2).unwrap()];
    let engine = Engine::open(&directory.path().join("database"), Some(2)).await.unwrap();
    let oracle = Oracle::for_everything(&files, 2).await.unwrap();
    let loaded = engine.create_and_load(&files[0], Arc::default()).await.unwrap();
    assert_eq!(loaded.rows, ROWS);
    let mut with_rows = 0;
    for query in &QUERIES {
        let sql = sql(query, ROWS);
        let ours = engine.query(&sql).await.unwrap();
        with_rows += u32::from(!ours.rows.is_empty());
        if UNORDERED.contains(&query.name) {
            assert_eq!(ours.rows.len(), 10, "{}", query.name);
            continue;
        }
        let theirs = oracle.query(&sql).await.unwrap();
        assert_eq!(compare_approximately(&ours, &theirs), Ok(()), "{}", query.name);
    }
    // So small a table leaves nothing to the shapes that skip rows, and not each constant is there.
    assert!(with_rows >= 36, "{with_rows} of 43 queries found rows");
}
