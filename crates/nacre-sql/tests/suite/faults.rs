//! Damage on media as a user sees it: what fails, what is named, what still answers.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nacre_sql::ErrorKind;

use crate::support::{Answer, Connection};

/// A database of two tables, one of them with two chunks.
fn make(directory: &Path) {
    let connection = Connection::open(Some(&directory.join("db")));
    for (table, rows) in [("t", 70_000), ("other", 10)] {
        let csv: String = (0..rows).map(|row| format!("{row},text {row}\n")).collect();
        let path = directory.join("in.csv");
        fs::write(&path, csv).unwrap();
        connection.ok(&format!(
            "create table {table} (k integer primary key, v text) \
             with (replicas = 'auto')"
        ));
        connection.ok(&format!("copy {table} from '{}' csv", path.display()));
    }
}

/// Flips a bit in the middle of the block of `column` of chunk `chunk` of table `t`.
fn flip(directory: &Path, chunk: usize, column: usize) {
    let connection = Connection::open(Some(&directory.join("db")));
    let table = connection.database.store().table("t").unwrap();
    let location = table.snapshot().chunks().unwrap()[chunk].locations(column).remove(0);
    let file = OpenOptions::new().read(true).write(true).open(location.pool_path.unwrap()).unwrap();
    let mut byte = [0];
    let offset = location.offset + location.bytes / 2;
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 4], offset).unwrap();
}

#[test]
fn query_over_a_damaged_block_names_table_column_and_chunk() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    flip(directory.path(), 1, 1);
    let connection = Connection::open(Some(&directory.path().join("db")));
    let error = connection.error("select max(length(v)) from t");
    assert_eq!(error.kind(), ErrorKind::DataCorrupted);
    assert_eq!(error.sqlstate(), "XX001");
    assert!(
        error.message().starts_with(
            "table \"t\", column \"v\", chunk 1: replica 0 in domain main: checksum 0x"
        ),
        "{}",
        error.message()
    );
    assert!(error.hint().unwrap().starts_with("Other columns and chunks"), "{error:?}");
    // Other columns, other chunks and other tables answer.
    assert_eq!(connection.rows("select sum(k) from t"), ["2449965000"]);
    assert_eq!(connection.rows("select v from t where k = 5"), ["text 5"]);
    assert_eq!(connection.rows("select max(v) from other where k < 9"), ["text 8"]);
    // The bit flipped back, everything answers.
    drop(connection);
    flip(directory.path(), 1, 1);
    let connection = Connection::open(Some(&directory.path().join("db")));
    assert_eq!(connection.rows("select max(length(v)) from t"), ["10"]);
}

#[test]
fn missing_pool_fails_only_queries_over_its_table() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let connection = Connection::open(Some(&directory.path().join("db")));
    let path = connection.database.store().table("t").unwrap().snapshot().chunks().unwrap()[0]
        .locations(0)
        .remove(0)
        .pool_path
        .unwrap();
    drop(connection);
    fs::remove_file(path).unwrap();
    let connection = Connection::open(Some(&directory.path().join("db")));
    let error = connection.error("select * from t");
    assert!(error.message().contains("load-"), "{}", error.message());
    assert!(error.hint().unwrap().starts_with("No row of this table"), "{error:?}");
    assert_eq!(connection.rows("select count(*) from other"), ["10"]);
}

/// Cuts the pool of a table to `bytes_left` of its size; returns its path and what it held.
fn cut(
    connection: &Connection,
    table: &str,
    bytes_left: impl Fn(u64) -> u64,
) -> (PathBuf, Vec<u8>) {
    let table = connection.database.store().table(table).unwrap();
    let path = table.snapshot().chunks().unwrap()[0].locations(0).remove(0).pool_path.unwrap();
    let whole = fs::read(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(bytes_left(whole.len() as u64)).unwrap();
    (path, whole)
}

fn sorted(connection: &Connection, query: &str) -> Vec<String> {
    let mut rows = connection.rows(query);
    rows.sort();
    rows
}

/// All forms in which values come out of a block, and operators that hold them for long.
const QUERIES: [&str; 7] = [
    "select * from t",
    "select max(length(v)) from t",
    "select sum(d) from t",
    "select count(*) from t where v like '%7%' and d > 5",
    "select a.v from t a join t b on a.k = b.k order by a.d desc, a.k limit 3",
    "select count(*) from (select distinct v from t) s",
    "select k from t order by v desc",
];

#[test]
fn queries_over_a_pool_that_is_cut_fail_and_others_answer() {
    let directory = tempfile::tempdir().unwrap();
    let connection = Connection::open(Some(&directory.path().join("db")));
    let path = directory.path().join("in.csv");
    for (table, rows) in [("t", 70_000), ("other", 10)] {
        let row = |row: u64| format!("{row},text {row},{}\n", (row * 7919 % 10_007) as f64 / 7.0);
        fs::write(&path, (0..rows).map(row).collect::<String>()).unwrap();
        let columns = "k integer primary key, v text, d double precision";
        connection.ok(&format!("create table {table} ({columns}) with (replicas = 'auto')"));
        connection.ok(&format!("copy {table} from '{}' csv", path.display()));
    }
    let answers = QUERIES.map(|query| sorted(&connection, query));
    for bytes_left in [|_| 0_u64, |_| 4_096, |_| 4_097, |bytes| bytes / 2] {
        let (path, whole) = cut(&connection, "t", bytes_left);
        for query in QUERIES {
            let error = connection.error(query);
            assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Io, "58030"), "{error:?}");
            let text = error.message();
            assert!(text.starts_with("table \"t\", column \""), "{query}: {text}");
            for part in [", chunk ", path.to_str().unwrap(), "lost ", "offset ", "truncated"] {
                assert!(text.contains(part), "{query}: {text}");
            }
        }
        assert_eq!(connection.rows("select max(v) from other where k < 9"), ["text 8"]);
        fs::write(&path, &whole).unwrap();
        for (query, answer) in QUERIES.iter().zip(&answers) {
            assert!(&sorted(&connection, query) == answer, "repaired: {query}");
        }
    }
}

#[test]
fn pool_that_is_cut_again_and_again_gives_answers_or_errors() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let connection = Connection::open(Some(&directory.path().join("db")));
    let queries = ["select v from t", "select sum(length(v)) from t", "select sum(k) from t"];
    let answers = queries.map(|query| sorted(&connection, query));
    let (path, whole) = cut(&connection, "t", |bytes| bytes);
    let is_over = AtomicBool::new(false);
    let (mut answered, mut failed) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            for round in 0.. {
                if is_over.load(Ordering::Acquire) {
                    break;
                }
                let bytes = whole.len() as u64 * (round % 10) / 10;
                file.set_len(bytes).unwrap();
                std::thread::sleep(Duration::from_millis(round % 5));
                // Back in one step, so that no moment shows the size without the bytes.
                file.write_all_at(&whole, 0).unwrap();
                std::thread::sleep(Duration::from_millis(10 + round % 7));
            }
        });
        for _ in 0..20 {
            for (query, answer) in queries.iter().zip(&answers) {
                match connection.run(query) {
                    Ok(Answer::Rows(_, rows)) => {
                        // A file that shrinks and grows under a query may read as zeros.
                        assert_eq!(rows.len(), answer.len());
                        answered += 1;
                    }
                    Ok(answer) => panic!("{answer:?}"),
                    Err(error) => {
                        let kinds = [ErrorKind::Io, ErrorKind::DataCorrupted];
                        assert!(kinds.contains(&error.kind()), "{error:?}");
                        failed += 1;
                    }
                }
                assert_eq!(connection.rows("select count(v) from other"), ["10"]);
            }
        }
        is_over.store(true, Ordering::Release);
    });
    println!("{answered} answers, {failed} errors");
    fs::write(&path, &whole).unwrap();
    for (query, answer) in queries.iter().zip(&answers) {
        assert!(&sorted(&connection, query) == answer, "repaired: {query}");
    }
}

#[test]
fn foreign_directories_and_second_writers_are_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path());
    let database = directory.path().join("db");
    let first = Connection::open(Some(&database));
    let error = Connection::try_open(Some(&database)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.message().contains(&std::process::id().to_string()), "{}", error.message());
    drop(first);
    let error = Connection::try_open(Some(directory.path())).err().unwrap();
    assert!(error.message().contains("is not a Nacre database"), "{}", error.message());
}
