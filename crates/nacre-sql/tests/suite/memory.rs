//! Queries that want more memory than there is.

use futures::TryStreamExt;
use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::{Database, Error, ErrorKind, OpenOptions, Outcome, Session, StatementIo};

async fn run(session: &Session, sql: &str) -> Result<usize, Error> {
    match session.execute(sql, StatementIo::default()).await? {
        Outcome::Command { .. } => Ok(0),
        Outcome::Rows { stream, .. } => {
            let batches: Vec<RecordBatch> = stream.try_collect().await?;
            Ok(batches.iter().map(RecordBatch::num_rows).sum())
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn query_that_wants_too_much_fails_alone() {
    let query_memory_bytes = Some(4 << 20);
    let database = Database::open(OpenOptions { query_memory_bytes, ..OpenOptions::default() });
    let session = database.unwrap().session();
    run(&session, "create table t (a integer, b text)").await.unwrap();
    let insert = "insert into t select n, repeat('x', 100) from generate_series(1, 50000) g(n)";
    run(&session, insert).await.unwrap();
    let join = "select count(*) from t a join t b on a.b = b.b and a.a = b.a + 1";
    let error = run(&session, join).await.unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::OutOfMemory, "53200"), "{error}");
    assert_eq!(run(&session, "select a from t where a < 10").await, Ok(9));
}
