//! Damage under each of the 35 queries as a client sees it: the same answer, and replicas that are
//! written again, as long as one is good; else an error that names the block, while others answer.

use std::fs::OpenOptions as FileOptions;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use nacre_bench::workload::{Query, Table};
use nacre_sql::ErrorKind;
use nacre_store::BlockLocation;

use crate::workloads::LoadedWorkload;

/// Flips a bit in the middle of a block.
fn flip(location: &BlockLocation) {
    let path = location.pool_path.as_ref().unwrap();
    let file = FileOptions::new().read(true).write(true).open(path).unwrap();
    let (at, mut byte) = (location.offset + location.bytes / 2, [0]);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

/// Returns where the replicas of a column lie, by chunk.
fn locations(workload: &LoadedWorkload, table: &Table, column: usize) -> Vec<Vec<BlockLocation>> {
    let table = workload.engine.database().store().table(table.name).unwrap();
    let chunks = table.snapshot().chunks().unwrap();
    chunks.iter().map(|chunk| chunk.locations(column)).collect()
}

/// Damages a replica of all blocks that a query reads.
async fn lose_replica(workload: &LoadedWorkload, query: &Query, replica: u8) {
    let database = workload.engine.database();
    let wanted = workload.engine.query(&workload.sql(query)).await.unwrap();
    for (table, columns) in workload.columns(query) {
        for column in columns {
            let all = locations(workload, table, column).into_iter().flatten();
            all.filter(|one| one.replica == replica).for_each(|location| flip(&location));
        }
    }
    workload.assert_answer(query, &wanted, "a replica is damaged").await;
    let scrubbed = database.scrub(&mut |_| ControlFlow::Continue(())).unwrap();
    let repaired = database.repair(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(repaired.is_whole(), "{}: {repaired:?}", query.name);
    // Those that the thread in the background has not written before.
    assert!(repaired.blocks as usize <= scrubbed.lost.len(), "{scrubbed:?} {repaired:?}");
    workload.assert_answer(query, &wanted, "replicas are written again").await;
    let lost = "SELECT count(*) FROM nacre_replicas WHERE state <> 'good'";
    assert_eq!(workload.engine.line(lost).await.unwrap(), "0", "{}", query.name);
}

/// Damages all replicas of one block after the other, until the query wants one; returns whether
/// it did.
async fn lose_block(workload: &LoadedWorkload, query: &Query) -> bool {
    let wanted = workload.engine.query(&workload.sql(query)).await.unwrap();
    for (table, columns) in workload.columns(query).into_iter().rev() {
        for column in columns {
            let chunks = locations(workload, table, column);
            let chunk = query.number as usize % chunks.len();
            chunks[chunk].iter().for_each(flip);
            let outcome = workload.engine.try_query(&workload.sql(query)).await.unwrap();
            let is_wanted = outcome.is_err();
            if let Err(error) = outcome {
                let name = table.columns[column].name;
                let code = (error.kind(), error.sqlstate());
                assert_eq!(code, (ErrorKind::DataCorrupted, "XX001"), "{}: {error}", query.name);
                let names = format!("table \"{}\", column \"{name}\", chunk {chunk}: ", table.name);
                assert!(error.message().starts_with(&names), "{}: {error}", query.name);
                assert_others_answer(workload, table, column).await;
            }
            chunks[chunk].iter().for_each(flip);
            workload.assert_answer(query, &wanted, "the block is whole again").await;
            if is_wanted {
                return true;
            }
        }
    }
    false
}

/// Asks for another column of the table, and for another table.
async fn assert_others_answer(workload: &LoadedWorkload, table: &Table, column: usize) {
    let other = table.columns[(column + 1) % table.columns.len()].name;
    let unread = workload.tables.iter().find(|one| one.name != table.name).unwrap();
    for (table, column) in [(table.name, other), (unread.name, unread.columns[0].name)] {
        let sql = format!("SELECT count(*) FROM {table} WHERE {column} = {column}");
        assert_ne!(workload.engine.line(&sql).await.unwrap(), "0", "{sql}");
    }
}

async fn damage(workload: &LoadedWorkload) {
    for query in workload.queries {
        let before = workload.engine.database().engine_counts().nacre;
        lose_replica(workload, query, (query.number % 2) as u8).await;
        assert!(lose_block(workload, query).await, "{}: no block is wanted", query.name);
        assert!(workload.engine.database().engine_counts().nacre > before, "{}", query.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_of_tpch_survives_one_loss_and_names_the_other() {
    let directory = tempfile::tempdir().unwrap();
    damage(&LoadedWorkload::tpch(directory.path()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_of_ssb_survives_one_loss_and_names_the_other() {
    let directory = tempfile::tempdir().unwrap();
    damage(&LoadedWorkload::ssb(directory.path()).await).await;
}
