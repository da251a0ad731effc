//! Transactions of several sessions, and of statements that do not run to their end.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures::StreamExt;
use nacre_sql::{ErrorKind, Outcome, Progress, StatementIo, TransactionStatus};

use crate::support::{Answer, Connection};

fn tag(answer: Answer) -> String {
    match answer {
        Answer::Tag(tag) => tag,
        Answer::Rows(_, rows) => panic!("{rows:?}"),
    }
}

/// A database with `t (id integer, v integer)` of `rows` rows, and two sessions.
fn pair(rows: usize) -> (Connection, Connection) {
    let one = Connection::open(None);
    one.ok("create table t (id integer, v integer)");
    one.ok(&format!("insert into t select n, 0 from generate_series(1, {rows}) as g (n)"));
    let two = one.another();
    (one, two)
}

#[test]
fn command_tags_are_those_of_postgresql() {
    let (db, _) = pair(3);
    assert_eq!(tag(db.ok("insert into t values (4, 4), (5, 5)")), "INSERT 0 2");
    assert_eq!(tag(db.ok("update t set v = 1 where id > 3")), "UPDATE 2");
    assert_eq!(tag(db.ok("delete from t where id > 4")), "DELETE 1");
    assert_eq!(tag(db.ok("truncate t")), "TRUNCATE TABLE");
    let tags = [
        ("begin", "BEGIN"),
        ("savepoint s", "SAVEPOINT"),
        ("rollback to s", "ROLLBACK"),
        ("release s", "RELEASE"),
        ("commit", "COMMIT"),
        ("start transaction", "START TRANSACTION"),
        ("rollback", "ROLLBACK"),
        ("set session characteristics as transaction read write", "SET"),
    ];
    for (sql, expected) in tags {
        assert_eq!(tag(db.ok(sql)), expected, "{sql}");
    }
}

#[test]
fn errors_carry_postgresqls_codes() {
    let (one, two) = pair(3);
    one.ok("create table k (a integer not null, b varchar(2))");
    let codes = [
        ("insert into k (b) values ('x')", "23502"),
        ("insert into k values (1, 'xyz')", "22001"),
        ("insert into k values ('x', 'x')", "22P02"),
        ("insert into k values (3000000000, 'x')", "22003"),
        ("insert into k values (true, 'x')", "42804"),
        ("insert into k values (1, 'x', 2)", "42601"),
        ("update k set zz = 1", "42703"),
        ("insert into k (a, a) values (1, 2)", "42701"),
        ("rollback to s", "25P01"),
        ("set default_transaction_isolation = 'x'", "22023"),
    ];
    for (sql, code) in codes {
        assert_eq!(one.error(sql).sqlstate(), code, "{sql}");
    }
    let error = one.error("insert into k (b) values ('x')");
    assert_eq!(error.detail(), Some("Failing row contains (null, x)."));
    one.ok("begin");
    assert_eq!(one.error("rollback to nowhere").sqlstate(), "3B001");
    assert_eq!(one.error("select 1").sqlstate(), "25P02");
    one.ok("rollback");
    one.ok("begin read only");
    assert_eq!(one.error("delete from t").sqlstate(), "25006");
    one.ok("rollback");
    one.ok("begin");
    one.ok("update t set v = 1 where id = 1");
    let error = two.error("update t set v = 2 where id = 1");
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::SerializationFailure, "40001"));
    assert!(error.message().contains("\"t\""), "{error}");
    one.ok("commit");
}

#[test]
fn sum_stays_the_same_however_transfers_interleave() {
    const ACCOUNTS: usize = 4;
    let (one, two) = pair(ACCOUNTS);
    one.ok("update t set v = 100");
    let sessions = [one, two];
    // A fixed schedule: each step is the next statement of one of the two sessions.
    let transfer = |step: usize| {
        let (from, to) = (1 + step % ACCOUNTS, 1 + (step * 3 + 1) % ACCOUNTS);
        [
            "begin".to_owned(),
            format!("update t set v = v - 7 where id = {from}"),
            format!("update t set v = v + 7 where id = {to}"),
            "commit".to_owned(),
        ]
    };
    let (mut places, mut done, mut refused) = ([(0, 0); 2], 0, 0);
    let mut bits = 0x9e37_79b9_u32;
    while done < 40 {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let who = (bits >> 31) as usize;
        let (step, at) = places[who];
        match sessions[who].run(&transfer(step * 2 + who)[at]) {
            Ok(_) if at == 3 => (places[who], done) = ((step + 1, 0), done + 1),
            Ok(_) => places[who].1 += 1,
            Err(error) => {
                assert_eq!(error.sqlstate(), "40001", "{error}");
                sessions[who].ok("rollback");
                // Another transfer, so that the two do not go on refusing each other.
                (places[who], done, refused) = ((step + 1, 0), done + 1, refused + 1);
            }
        }
        if at == 3 {
            assert_eq!(sessions[0].another().rows("select sum(v) from t"), ["400"]);
        }
    }
    assert!(refused > 0 && refused < 40, "{refused} of 40 were refused");
}

#[test]
fn rows_of_a_query_end_with_the_next_statement_of_its_block() {
    let (db, other) = pair(100_000);
    db.ok("begin");
    let session = Arc::clone(db.session());
    let cut = db.runtime().block_on(async move {
        let sql = "select id from t";
        let outcome = session.execute(sql, StatementIo::default()).await.unwrap();
        let Outcome::Rows { mut stream, .. } = outcome else { panic!("no rows") };
        assert!(stream.next().await.unwrap().unwrap().num_rows() > 0);
        session.execute("delete from t", StatementIo::default()).await.unwrap();
        let error = stream.next().await.unwrap().unwrap_err();
        assert!(stream.next().await.is_none());
        nacre_sql::Error::from(error)
    });
    assert_eq!(cut.sqlstate(), "24000");
    // The block itself is not hurt.
    assert_eq!(db.rows("select count(*) from t"), ["0"]);
    db.ok("rollback");
    // Outside a block a query keeps its snapshot, whatever happens.
    let (session, deleter) = (Arc::clone(db.session()), Arc::clone(other.session()));
    let rows = db.runtime().block_on(async move {
        let sql = "select id from t";
        let outcome = session.execute(sql, StatementIo::default()).await.unwrap();
        let Outcome::Rows { mut stream, .. } = outcome else { panic!("no rows") };
        deleter.execute("delete from t", StatementIo::default()).await.unwrap();
        let mut rows = 0;
        while let Some(batch) = stream.next().await {
            rows += batch.unwrap().num_rows();
        }
        rows
    });
    assert_eq!(rows, 100_000);
    assert_eq!(db.rows("select count(*) from t"), ["0"]);
}

#[test]
fn statement_that_was_cancelled_has_changed_nothing() {
    let (db, _) = pair(20_000);
    let cancelled = || {
        let progress = Arc::new(Progress::default());
        progress.cancel();
        StatementIo { progress: Some(progress), ..StatementIo::default() }
    };
    let error = db.run_with("update t set v = 1", cancelled()).unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Cancelled, "57014"));
    assert_eq!(db.rows("select sum(v) from t"), ["0"]);
    db.ok("begin");
    assert!(db.run_with("insert into t values (0, 1)", cancelled()).is_err());
    assert_eq!(db.session().transaction_status(), TransactionStatus::Failed);
    assert_eq!(tag(db.ok("commit")), "ROLLBACK");
    assert_eq!(db.rows("select sum(v), count(*) from t"), ["0|20000"]);
}

#[test]
fn statement_whose_future_is_dropped_leaves_its_block_failed() {
    let (db, _) = pair(10);
    db.ok("begin");
    db.ok("savepoint s");
    assert_eq!(db.session().transaction_status(), TransactionStatus::Open);
    let session = Arc::clone(db.session());
    db.runtime().block_on(async move {
        // Counting so far takes seconds, so it is not done when it is first polled.
        let sql = "update t set v = (select count(*) from generate_series(1, 1000000000) as g (n) \
                   where n % 7 = 3)";
        let statement = session.execute(sql, StatementIo::default());
        // Polled once, then left alone.
        let mut statement = Box::pin(statement);
        let is_pending =
            poll_fn(|context| Poll::Ready(statement.as_mut().poll(context).is_pending()));
        assert!(is_pending.await);
    });
    assert_eq!(db.session().transaction_status(), TransactionStatus::Failed);
    assert_eq!(db.error("select 1").sqlstate(), "25P02");
    db.ok("rollback to s");
    assert_eq!(db.session().transaction_status(), TransactionStatus::Open);
    assert_eq!(db.rows("select sum(v) from t"), ["0"]);
    db.ok("commit");
    assert_eq!(db.session().transaction_status(), TransactionStatus::Idle);
}

#[test]
fn block_that_is_open_when_its_session_ends_is_rolled_back() {
    let (one, two) = pair(1);
    two.ok("begin");
    two.ok("update t set v = 5");
    assert_eq!(one.error("update t set v = 6").sqlstate(), "40001");
    drop(two);
    assert_eq!(tag(one.ok("update t set v = v + 1")), "UPDATE 1");
    assert_eq!(one.rows("select v from t"), ["1"]);
}

#[test]
fn committed_changes_are_there_after_a_restart_and_others_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let rows = || Connection::open(Some(directory.path())).rows("select * from t order by id");
    {
        let db = Connection::open(Some(directory.path()));
        db.ok("create table t (id integer, v text)");
        db.ok("insert into t values (1, 'a'), (2, 'b'), (3, null)");
        db.ok("begin");
        db.ok("update t set v = 'B' where id = 2");
        db.ok("delete from t where id = 1");
        db.ok("commit");
        db.ok("begin");
        db.ok("insert into t values (4, 'lost')");
    }
    assert_eq!(rows(), ["2|B", "3|NULL"]);
    assert_eq!(rows(), ["2|B", "3|NULL"]);
}

#[test]
fn read_committed_updates_of_one_row_all_happen() {
    const CLIENTS: usize = 3;
    const UPDATES: usize = 20;
    let (one, _) = pair(1);
    one.ok("create table k (id integer primary key, v integer)");
    one.ok("insert into k values (1, 0)");
    // By a scan, by the index, and by ON CONFLICT.
    let statements = [
        "update t set v = v + 1",
        "update k set v = v + 1 where id = 1",
        "insert into k values (1, 0) on conflict (id) do update set v = k.v + 1",
    ];
    for sql in statements {
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                let session = one.another();
                scope.spawn(move || {
                    session.ok("set default_transaction_isolation = 'read committed'");
                    (0..UPDATES).for_each(|_| drop(session.ok(sql)));
                });
            }
        });
    }
    assert_eq!(one.rows("select v from t"), [(CLIENTS * UPDATES).to_string()]);
    assert_eq!(one.rows("select v from k"), [(2 * CLIENTS * UPDATES).to_string()]);
}

#[test]
fn backups_and_checkpoints_keep_what_is_committed() {
    let directory = tempfile::tempdir().unwrap();
    let (database, copy) = (directory.path().join("db"), directory.path().join("copy"));
    let backup = format!("backup database to '{}'", copy.display());
    let expected = ["1|a", "2|B"];
    {
        let db = Connection::open(Some(&database));
        db.ok("create table t (id integer primary key, v text)");
        db.ok("insert into t values (1, 'a'), (2, 'b'), (3, 'c')");
        assert_eq!(tag(db.ok("checkpoint")), "CHECKPOINT");
        db.ok("update t set v = 'B' where id = 2");
        db.ok("delete from t where id = 3");
        assert_eq!(tag(db.ok(&backup)), "BACKUP DATABASE");
        assert_eq!(db.error(&backup).sqlstate(), "42000");
        db.ok("begin");
        assert_eq!(db.error(&backup).kind(), ErrorKind::NotSupported);
        db.ok("rollback");
        db.ok("checkpoint");
        assert_eq!(db.rows("select * from t order by id"), expected);
    }
    for directory in [&database, &copy] {
        let db = Connection::open(Some(directory));
        assert_eq!(db.rows("select * from t order by id"), expected);
        db.ok("insert into t values (3, 'again')");
        assert_eq!(db.rows("select count(*) from t"), ["3"]);
    }
}

#[test]
fn archives_are_begun_shown_and_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (database, place) = (directory.path().join("db"), directory.path().join("archive"));
    let begin = format!("archive database to '{}'", place.display());
    let all =
        "select archived_lsn = end_lsn, archived_until is not null, problem from nacre_archive";
    {
        let db = Connection::open(Some(&database));
        db.ok("create table t (id integer primary key)");
        assert_eq!(db.rows("select * from nacre_archive"), [""; 0]);
        assert_eq!(tag(db.ok(&begin)), "ARCHIVE DATABASE");
        db.ok("insert into t values (1), (2)");
        // A checkpoint archives what it truncates.
        db.ok("checkpoint");
        assert_eq!(db.rows(all).len(), 1);
        assert_eq!(db.rows("select problem is null from nacre_archive"), ["t"]);
        let error = db.error(&begin);
        assert!(error.message().contains("name an empty directory"), "{error}");
        db.ok("begin");
        assert_eq!(db.error("archive database off").kind(), ErrorKind::Syntax);
        db.ok("rollback");
    }
    let db = Connection::open(Some(&database));
    let expected = place.display().to_string();
    assert_eq!(db.rows("select directory from nacre_archive"), [expected.as_str()]);
    db.ok("archive database off");
    assert_eq!(db.rows("select * from nacre_archive"), [""; 0]);
}
