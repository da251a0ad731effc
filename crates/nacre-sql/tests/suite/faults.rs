//! Damage on media as a user sees it: what fails, what is named, what still answers.

use std::fs::{self, OpenOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nacre_sql::ErrorKind;
use nacre_store::BlockLocation;

use crate::support::{Answer, Connection};

/// One replica: what is damaged is lost.
const ONE: &str = "auto";
/// Two replicas, as without a policy.
const TWO: &str = "auto, auto";

/// A database of two tables, one of them with two chunks.
fn make(directory: &Path, replicas: &str) {
    let connection = Connection::open(Some(&directory.join("db")));
    for (table, rows) in [("t", 70_000), ("other", 10)] {
        let csv: String = (0..rows).map(|row| format!("{row},text {row}\n")).collect();
        let path = directory.join("in.csv");
        fs::write(&path, csv).unwrap();
        let columns = "k integer primary key, v text";
        connection.ok(&format!("create table {table} ({columns}) with (replicas = '{replicas}')"));
        connection.ok(&format!("copy {table} from '{}' csv", path.display()));
    }
}

/// Returns where the replicas of a block of table `t` lie.
fn locations(connection: &Connection, chunk: usize, column: usize) -> Vec<BlockLocation> {
    let table = connection.database.store().table("t").unwrap();
    table.snapshot().chunks().unwrap()[chunk].locations(column)
}

/// Ends what loops beside a test, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Returns the files of replica `replica` of table `t`.
fn files(connection: &Connection, replica: u8) -> Vec<PathBuf> {
    let all = locations(connection, 0, 0).into_iter().chain(locations(connection, 0, 1));
    let of_replica = all.filter(|location| location.replica == replica);
    let mut paths: Vec<PathBuf> = of_replica.map(|block| block.pool_path.unwrap()).collect();
    paths.dedup();
    assert!(!paths.is_empty());
    paths
}

/// Flips a bit in the middle of a block.
fn flip_at(location: &BlockLocation) {
    let path = location.pool_path.as_ref().unwrap();
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    let offset = location.offset + location.bytes / 2;
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 4], offset).unwrap();
}

/// Flips a bit in the block of `column` of chunk `chunk` of table `t`, in its only replica.
fn flip(directory: &Path, chunk: usize, column: usize) {
    let connection = Connection::open(Some(&directory.join("db")));
    let locations = locations(&connection, chunk, column);
    assert_eq!(locations.len(), 1);
    flip_at(&locations[0]);
}

#[test]
fn query_over_a_damaged_block_names_table_column_and_chunk() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), ONE);
    flip(directory.path(), 1, 1);
    let connection = Connection::open(Some(&directory.path().join("db")));
    let error = connection.error("select max(length(v)) from t");
    assert_eq!(error.kind(), ErrorKind::DataCorrupted);
    assert_eq!(error.sqlstate(), "XX001");
    let message = error.message();
    assert!(message.starts_with("table \"t\", column \"v\", chunk 1: "), "{message}");
    assert!(message.contains("checksum 0x"), "{message}");
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

const LOST: &str = "select count(*) from nacre_replicas where state <> 'good'";

/// Waits until the thread in the background has written what was lost.
fn wait_until_whole(connection: &Connection) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while connection.rows(LOST) != ["0"] {
        assert!(Instant::now() < deadline, "{:?}", connection.rows("select * from nacre_replicas"));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn damaged_replica_is_noticed_by_nobody_and_written_again() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), TWO);
    let database = directory.path().join("db");
    let connection = Connection::open(Some(&database));
    let before = locations(&connection, 1, 1);
    assert_eq!(before.len(), 2);
    drop(connection);
    for location in &before {
        flip_at(location);
        let connection = Connection::open(Some(&database));
        // Twice: the first query may read the other replica anyway.
        for _ in 0..2 {
            assert_eq!(connection.rows("select max(length(v)) from t"), ["10"]);
        }
        // Whatever the queries noticed, a scrub notices.
        connection.database.scrub(&mut |_| ControlFlow::Continue(())).unwrap();
        wait_until_whole(&connection);
        let repaired = "select sum(bytes) > 0 from nacre_wear where cause = 'repair'";
        assert_eq!(connection.rows(repaired), ["t"]);
        drop(connection);
        let connection = Connection::open(Some(&database));
        let report = connection.database.scrub(&mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.is_whole() && report.blocks >= 8, "{report:?}");
    }
}

#[test]
fn missing_pool_fails_only_queries_over_its_table() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), ONE);
    let connection = Connection::open(Some(&directory.path().join("db")));
    let paths = files(&connection, 0);
    drop(connection);
    paths.iter().for_each(|path| fs::remove_file(path).unwrap());
    let connection = Connection::open(Some(&directory.path().join("db")));
    let error = connection.error("select * from t");
    assert!(error.message().contains("load-"), "{}", error.message());
    assert!(error.hint().unwrap().starts_with("No row of this table"), "{error:?}");
    assert_eq!(connection.rows("select count(*) from other"), ["10"]);
}

#[test]
fn missing_replica_is_written_again() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), TWO);
    for replica in [0, 1] {
        let connection = Connection::open(Some(&directory.path().join("db")));
        let paths = files(&connection, replica);
        drop(connection);
        paths.iter().for_each(|path| fs::remove_file(path).unwrap());
        let connection = Connection::open(Some(&directory.path().join("db")));
        assert_eq!(connection.rows("select sum(k), max(v) from t"), ["2449965000|text 9999"]);
        wait_until_whole(&connection);
    }
}

/// Cuts the only pool of a table to `bytes_left` of its size; returns its path and what it held.
fn cut(connection: &Connection, bytes_left: impl Fn(u64) -> u64) -> (PathBuf, Vec<u8>) {
    let paths = files(connection, 0);
    assert_eq!(paths.len(), 1);
    let whole = fs::read(&paths[0]).unwrap();
    let file = OpenOptions::new().write(true).open(&paths[0]).unwrap();
    file.set_len(bytes_left(whole.len() as u64)).unwrap();
    (paths[0].clone(), whole)
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
    "select round(sum(d)) from t",
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
        connection.ok(&format!("create table {table} ({columns}) with (replicas = '{ONE}')"));
        connection.ok(&format!("copy {table} from '{}' csv", path.display()));
    }
    let answers = QUERIES.map(|query| sorted(&connection, query));
    for bytes_left in [|_| 0_u64, |_| 4_096, |_| 4_097, |bytes| bytes / 2] {
        let (path, whole) = cut(&connection, bytes_left);
        for query in QUERIES {
            let error = connection.error(query);
            let code = (error.kind(), error.sqlstate());
            assert_eq!(code, (ErrorKind::DataCorrupted, "XX001"), "{error:?}");
            assert!(error.message().contains("able \"t\""), "{query}: {error}");
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
    make(directory.path(), ONE);
    let connection = Connection::open(Some(&directory.path().join("db")));
    let queries = ["select v from t", "select sum(length(v)) from t", "select sum(k) from t"];
    let answers = queries.map(|query| sorted(&connection, query));
    let (path, whole) = cut(&connection, |bytes| bytes);
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
        let over = Over(&is_over);
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
        drop(over);
    });
    println!("{answered} answers, {failed} errors");
    fs::write(&path, &whole).unwrap();
    for (query, answer) in queries.iter().zip(&answers) {
        assert!(&sorted(&connection, query) == answer, "repaired: {query}");
    }
}

#[test]
fn replica_that_is_cut_and_overwritten_again_and_again_is_noticed_by_nobody() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), TWO);
    let connection = Connection::open(Some(&directory.path().join("db")));
    let queries = ["select v from t", "select sum(length(v)) from t", "select sum(k) from t"];
    let answers = queries.map(|query| sorted(&connection, query));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let saboteur = scope.spawn(|| {
            let mut round = 0_u64;
            while !is_over.load(Ordering::Acquire) {
                // Repairs go to other files, so these are looked up each time.
                for path in files(&connection, 1) {
                    // It may have been replaced meanwhile.
                    let Ok(file) = OpenOptions::new().write(true).open(&path) else { continue };
                    let bytes = file.metadata().unwrap().len();
                    match round % 3 {
                        0 => file.set_len(bytes * (round % 10) / 10).unwrap(),
                        1 => file.write_all_at(&[0x5a; 4096], bytes / 2).unwrap(),
                        _ => {
                            file.set_len(bytes / 3).unwrap();
                            file.set_len(bytes).unwrap();
                        }
                    }
                    round += 1;
                }
                std::thread::sleep(Duration::from_millis(7));
            }
        });
        let over = Over(&is_over);
        for _ in 0..12 {
            for (query, answer) in queries.iter().zip(&answers) {
                assert!(&sorted(&connection, query) == answer, "{query}");
            }
        }
        drop(over);
        saboteur.join().unwrap();
    });
    connection.database.scrub(&mut |_| ControlFlow::Continue(())).unwrap();
    wait_until_whole(&connection);
}

#[test]
fn foreign_directories_and_second_writers_are_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    make(directory.path(), TWO);
    let database = directory.path().join("db");
    let first = Connection::open(Some(&database));
    let error = Connection::try_open(Some(&database)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.message().contains(&std::process::id().to_string()), "{}", error.message());
    drop(first);
    let error = Connection::try_open(Some(directory.path())).err().unwrap();
    assert!(error.message().contains("is not a Nacre database"), "{}", error.message());
}
