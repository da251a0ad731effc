//! COPY as a whole: where faults are reported, what cancelling leaves, STDIN and STDOUT, types.

use std::fs;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use nacre_sql::{CopyIn, CopyOut, ErrorKind, Progress, StatementIo};

use crate::support::{Answer, Connection};

#[test]
fn bad_field_is_reported_with_line_column_and_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.csv");
    fs::write(&path, "a,b\n1,x\n2,y\nthree,z\n").unwrap();
    let connection = Connection::open(None);
    connection.ok("create table t (a integer, b text)");
    let error = connection.error(&format!("copy t from '{}' (format csv, header)", path.display()));
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(error.message(), "invalid input syntax for type integer: \"three\"");
    assert_eq!(error.context(), Some("COPY t, line 4, column a: \"three\""));
    assert_eq!(connection.rows("select count(*) from t"), ["0"]);
}

#[test]
fn repeated_key_is_reported_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.csv");
    fs::write(&path, "7,a\n8,\"two\nlines\"\n9,b\n8,c\n").unwrap();
    let connection = Connection::open(None);
    connection.ok("create table t (a integer primary key, b text)");
    let error = connection.error(&format!("copy t from '{}' csv", path.display()));
    assert_eq!(error.kind(), ErrorKind::ConstraintViolation);
    assert_eq!(error.detail(), Some("Key (a)=(8) already exists."));
    assert!(error.context().unwrap().contains("line 5"), "{:?}", error.context());
    assert_eq!(connection.rows("select count(*) from t"), ["0"]);
}

#[test]
fn csv_file_loaded_without_a_format_gets_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.csv");
    fs::write(&path, "1,x\n").unwrap();
    let connection = Connection::open(None);
    connection.ok("create table t (a integer, b text)");
    let error = connection.error(&format!("copy t from '{}'", path.display()));
    assert!(error.hint().unwrap().contains("FORMAT csv"), "{error:?}");
}

#[test]
fn cancelled_load_leaves_the_table_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.csv");
    fs::write(&path, "1\n2\n").unwrap();
    let connection = Connection::open(None);
    connection.ok("create table t (a integer)");
    let progress = Arc::new(Progress::default());
    progress.cancel();
    let io = StatementIo { progress: Some(progress), ..StatementIo::default() };
    let sql = format!("copy t from '{}' csv", path.display());
    let error = connection.run_with(&sql, io).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(connection.rows("select count(*) from t"), ["0"]);
}

/// Collects what is written.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn stdin_and_stdout_carry_the_same_rows() {
    let connection = Connection::open(None);
    connection.ok("create table t (a integer, b text)");
    let data = "a,b\n1,\"x,\"\"y\"\n2,\n3,\"\"\n";
    let io = StatementIo {
        copy_in: Some(CopyIn::Reader(Box::new(Cursor::new(data)))),
        ..StatementIo::default()
    };
    let answer = connection.run_with("copy t from stdin (format csv, header)", io).unwrap();
    assert!(matches!(answer, Answer::Tag(tag) if tag == "COPY 3"));
    let sink = Sink::default();
    let io = StatementIo {
        copy_out: Some(CopyOut::Writer(Box::new(sink.clone()))),
        ..StatementIo::default()
    };
    connection
        .run_with("copy (select * from t order by a) to stdout (format csv, header)", io)
        .unwrap();
    assert_eq!(String::from_utf8(sink.0.lock().unwrap().clone()).unwrap(), data);
    let error = connection.error("copy t from stdin");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}

#[test]
fn failed_unload_keeps_the_file_that_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.csv");
    fs::write(&path, "precious\n").unwrap();
    let connection = Connection::open(None);
    connection.ok("create table t (a integer)");
    fs::write(directory.path().join("in.csv"), "0\n").unwrap();
    connection.ok(&format!("copy t from '{}/in.csv' csv", directory.path().display()));
    let error =
        connection.error(&format!("copy (select 1 / a from t) to '{}' csv", path.display()));
    assert_eq!(error.message(), "division by zero");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious\n");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no partial file is left");
    connection.ok(&format!("copy t to '{}' csv header", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\n0\n");
}

#[test]
fn rows_are_in_file_order_whatever_the_number_of_chunks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.csv");
    let csv: String = (0..200_000).map(|row| format!("{row},text {}\n", row % 1_000)).collect();
    fs::write(&path, csv).unwrap();
    let connection = Connection::open(Some(&directory.path().join("db")));
    connection.ok("create table t (a integer primary key, b text)");
    let answer = connection.ok(&format!("copy t from '{}' csv", path.display()));
    assert!(matches!(answer, Answer::Tag(tag) if tag == "COPY 200000"));
    assert_eq!(
        connection.rows("select count(*), min(a), max(a), sum(a), count(distinct b) from t"),
        ["200000|0|199999|19999900000|1000"]
    );
    let table = connection.database.store().table("t").unwrap();
    let chunks = table.snapshot().chunks().unwrap();
    let rows: Vec<usize> = chunks.iter().map(|chunk| chunk.rows()).collect();
    assert_eq!(rows, [65_536, 65_536, 65_536, 3_392]);
}

#[test]
fn result_columns_are_named_as_postgresql_names_them() {
    let connection = Connection::open(None);
    connection.ok("create table t (a integer, b text)");
    let header = |query: &str| {
        let sink = Sink::default();
        let io = StatementIo {
            copy_out: Some(CopyOut::Writer(Box::new(sink.clone()))),
            ..StatementIo::default()
        };
        let copy = format!("copy ({query}) to stdout (format csv, header)");
        connection.run_with(&copy, io).unwrap();
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(header("select 1.005, count(*), sum(a) from t"), "?column?,count,sum");
    assert_eq!(header("select t.a, b as \"B\", upper(b) from t"), "a,B,upper");
    assert_eq!(header("select *, a + 1 from t"), "a,b,?column?");
    assert_eq!(header("select a + 1 from t union all select 2"), "?column?");
}
