//! Loads as a whole: shape, nulls, errors and their order, for any number of threads.

mod faults;
mod reference;
mod round_trip;

use crate::{
    ChunkSink, CsvOptions, Error, Loader, Progress, Result, Source, Target, TargetColumn,
    plan::Tuning,
};
use nacre_column::{ColumnBuffer, ColumnType, text::write_value};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Mutex, PoisonError},
};

pub(crate) const ALL_TYPES: [ColumnType; 15] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Decimal { precision: 15, scale: 2 },
    ColumnType::Decimal { precision: 38, scale: 10 },
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Varchar { max_chars: None },
    ColumnType::Varchar { max_chars: Some(5) },
    ColumnType::Char { chars: 4 },
    ColumnType::Bytea,
];

const TEXT: ColumnType = ColumnType::Varchar { max_chars: None };

/// Keeps the chunks of a load.
#[derive(Default)]
struct MemorySink(Mutex<BTreeMap<u64, Vec<ColumnBuffer>>>);

impl ChunkSink for MemorySink {
    type Error = Infallible;

    fn append_chunk(
        &self,
        index: u64,
        columns: &mut [ColumnBuffer],
    ) -> std::result::Result<(), Infallible> {
        let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(chunks.insert(index, columns.to_vec()).is_none(), "chunk {index} came twice");
        Ok(())
    }
}

/// Sizes so small that every limit falls everywhere.
fn tiny(segment_bytes: u64, window_bytes: usize, chunk_rows: u64) -> Tuning {
    Tuning { segment_bytes, window_bytes, chunk_rows, ..Tuning::default() }
}

fn target(columns: &[(&str, ColumnType, bool)]) -> Target {
    let column = |&(name, column_type, is_nullable): &(&str, ColumnType, bool)| TargetColumn {
        name: name.to_owned(),
        column_type,
        is_nullable,
    };
    Target {
        relation: "t".to_owned(),
        columns: columns.iter().map(column).collect(),
        fields: (0..columns.len()).collect(),
    }
}

fn text_target(columns: usize) -> Target {
    let names: Vec<String> = (0..columns).map(|index| format!("c{index}")).collect();
    target(&names.iter().map(|name| (name.as_str(), TEXT, true)).collect::<Vec<_>>())
}

/// Loads and returns the chunks in order.
fn load_chunks(
    source: Source,
    target: &Target,
    options: &CsvOptions,
    threads: usize,
    tuning: Tuning,
) -> Result<Vec<Vec<ColumnBuffer>>> {
    let progress = Progress::default();
    let sink = MemorySink::default();
    let mut loader = Loader::open_tuned(source, target.clone(), options, &progress, tuning)?;
    let rows = loader.run(threads, &progress, &sink)?;
    let chunks = sink.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(chunks.keys().copied().eq(0..chunks.len() as u64), "chunks without a gap");
    let found: usize = chunks.values().map(|columns| columns[0].len()).sum();
    assert_eq!(found as u64, rows);
    let bytes =
        |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(bytes(&progress.bytes_done), bytes(&progress.bytes_total));
    assert_eq!(bytes(&progress.rows_done), rows);
    Ok(chunks.into_values().collect())
}

/// Turns the rows of chunks into text; null is `None`.
fn rows_of(chunks: &[Vec<ColumnBuffer>]) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    for columns in chunks {
        for row in 0..columns[0].len() {
            let text = |column: &ColumnBuffer| {
                let mut out = Vec::new();
                write_value(column, row, &mut out).then(|| String::from_utf8(out).unwrap())
            };
            rows.push(columns.iter().map(text).collect());
        }
    }
    rows
}

fn load_with(
    text: &str,
    target: &Target,
    options: &CsvOptions,
) -> Result<Vec<Vec<Option<String>>>> {
    let source = Source::Bytes(text.as_bytes().to_vec());
    load_chunks(source, target, options, 2, tiny(16, 8, 3)).map(|chunks| rows_of(&chunks))
}

fn load(text: &str, columns: usize) -> Result<Vec<Vec<Option<String>>>> {
    load_with(text, &text_target(columns), &CsvOptions::default())
}

/// Writes expected rows in short: fields by blank, `-` is null, `""` is empty.
fn rows(lines: &[&str]) -> Vec<Vec<Option<String>>> {
    let field = |field: &str| match field {
        "-" => None,
        "\"\"" => Some(String::new()),
        other => Some(other.to_owned()),
    };
    lines.iter().map(|line| line.split(' ').map(field).collect()).collect()
}

fn message(result: Result<Vec<Vec<Option<String>>>>) -> String {
    result.unwrap_err().message().to_owned()
}

#[test]
fn unquoted_empty_is_null_and_quoted_empty_is_not() {
    assert_eq!(load("a,,\"\"\n,\"b\",c\n", 3).unwrap(), rows(&["a - \"\"", "- b c"]));
}

#[test]
fn last_line_may_lack_its_end() {
    assert_eq!(load("a,b\nc,d", 2).unwrap(), rows(&["a b", "c d"]));
    assert_eq!(load("a,b\nc,", 2).unwrap(), rows(&["a b", "c -"]));
    assert_eq!(load("a\n\nb\n", 1).unwrap(), rows(&["a", "-", "b"]));
    assert_eq!(load("", 1).unwrap(), rows(&[]));
    assert_eq!(load("\n", 1).unwrap(), rows(&["-"]));
}

#[test]
fn first_line_end_decides_for_the_file() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["a,\"x\r\ny\"", "c,d", "e,f"].join(end);
        let found = load(&text, 2).unwrap();
        assert_eq!(found[0][1].as_deref(), Some("x\r\ny"));
        assert_eq!(found[1..], rows(&["c d", "e f"]));
        assert_eq!(load(&(text + end), 2).unwrap(), found);
    }
    for (text, message_expected) in [
        ("a\nb\rc\n", "unquoted carriage return found in data"),
        ("a\nb\r\nc\n", "unquoted carriage return found in data"),
        ("a\r\nb\nc\r\n", "unquoted newline found in data"),
        ("a\r\nb\rc\r\n", "unquoted carriage return found in data"),
        ("a\r\nb\r", "unquoted carriage return found in data"),
        ("a\r\n\nb", "unquoted newline found in data"),
        ("a\rb\nc\r", "unquoted newline found in data"),
    ] {
        assert_eq!(message(load(text, 1)), message_expected, "{text:?}");
    }
}

#[test]
fn header_is_skipped_or_compared() {
    let options = |header| CsvOptions { header, ..CsvOptions::default() };
    let target = target(&[("a", TEXT, true), ("b,\nc", TEXT, true)]);
    let text = "a,\"b,\nc\"\n1,2\n";
    for header in [crate::Header::Yes, crate::Header::Match] {
        assert_eq!(load_with(text, &target, &options(header)).unwrap(), rows(&["1 2"]));
        assert_eq!(load_with("", &target, &options(header)).unwrap(), rows(&[]));
    }
    let matched = options(crate::Header::Match);
    for (text, expected) in [
        ("a\n", "wrong number of fields in header line: got 1, expected 2"),
        ("a,b\n", "column name mismatch in header line field 2: got \"b\", expected \"b,\nc\""),
        (
            ",b\n",
            "column name mismatch in header line field 1: got null value (\"\"), expected \"a\"",
        ),
    ] {
        assert_eq!(message(load_with(text, &target, &matched)), expected);
    }
}

#[test]
fn byte_order_mark_is_skipped() {
    assert_eq!(load("\u{feff}a,b\n", 2).unwrap(), rows(&["a b"]));
    assert_eq!(load("\u{feff}", 2).unwrap(), rows(&[]));
    let options = CsvOptions { header: crate::Header::Match, ..CsvOptions::default() };
    assert_eq!(load_with("\u{feff}c0\nx\n", &text_target(1), &options).unwrap(), rows(&["x"]));
}

#[test]
fn end_mark_ends_inline_data_and_is_data_in_a_file() {
    assert_eq!(load("a\n\\.\nb\n", 1).unwrap(), rows(&["a"]));
    assert_eq!(load("a\r\n\\.\r\nb", 1).unwrap(), rows(&["a"]));
    assert_eq!(load("\\.", 1).unwrap(), rows(&[]));
    assert_eq!(load("\"x\n\\.\ny\"\n\\.x\n\\.", 1).unwrap()[1..], rows(&["\\.x"]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, "a\n\\.\nb\n").unwrap();
    let options = CsvOptions::default();
    let source = || Source::File(path.clone());
    let chunks = load_chunks(source(), &text_target(1), &options, 1, tiny(4, 4, 2)).unwrap();
    assert_eq!(rows_of(&chunks), rows(&["a", "\\.", "b"]));
    std::fs::write(&path, "a\nb\n\\.\n").unwrap();
    let text = CsvOptions::text();
    let chunks = load_chunks(source(), &text_target(1), &text, 1, tiny(4, 4, 2)).unwrap();
    assert_eq!(rows_of(&chunks), rows(&["a", "b"]));
}

#[test]
fn null_string_and_force_options_are_obeyed() {
    let force = |name: &str| crate::Force::Columns(vec![name.to_owned()]);
    let options = CsvOptions {
        null: "NULL".to_owned(),
        force_null: force("c0"),
        force_not_null: force("c1"),
        ..CsvOptions::default()
    };
    let text = "NULL,NULL,NULL\n\"NULL\",\"NULL\",\"NULL\"\n,,\n";
    let found = load_with(text, &text_target(3), &options).unwrap();
    assert_eq!(found, rows(&["- NULL -", "- NULL NULL", "\"\" \"\" \"\""]));
}

#[test]
fn escape_other_than_quote_is_obeyed() {
    let options = CsvOptions { quote: b'\'', escape: b'\\', ..CsvOptions::default() };
    let text = "'a\\'b','c\\\\'\n\\x,'d\\n\ne'\n'\\\\\\',',x\n";
    let found = load_with(text, &text_target(2), &options).unwrap();
    assert_eq!(found[0], [Some("a'b".to_owned()), Some("c\\".to_owned())]);
    assert_eq!(found[1], [Some("\\x".to_owned()), Some("d\\n\ne".to_owned())]);
    assert_eq!(found[2], [Some("\\',".to_owned()), Some("x".to_owned())]);
}

#[test]
fn text_format_is_read() {
    let text = "a\\tb\t\\N\n\\\\N\tx\\\ny\n\\x41\tend\\";
    let found = load_with(text, &text_target(2), &CsvOptions::text()).unwrap();
    assert_eq!(found[0], [Some("a\tb".to_owned()), None]);
    assert_eq!(found[1], [Some("\\N".to_owned()), Some("x\ny".to_owned())]);
    assert_eq!(found[2], [Some("A".to_owned()), Some("end".to_owned())]);
}

#[test]
fn column_list_orders_fields_and_leaves_the_rest_null() {
    let mut target = text_target(3);
    target.fields = vec![2, 0];
    let found = load_with("x,y\n", &target, &CsvOptions::default()).unwrap();
    assert_eq!(found, rows(&["y - x"]));
}

#[test]
fn chunks_are_the_same_for_any_number_of_threads() {
    let text: String = (0..5_000).map(|i| format!("{i},\"a\n{i}\",{}\n", i % 7)).collect();
    let options = CsvOptions::default();
    let load = |threads, tuning| {
        let source = Source::Bytes(text.clone().into_bytes());
        load_chunks(source, &text_target(3), &options, threads, tuning).unwrap()
    };
    let tuning = Tuning { chunk_bytes_max: 900, ..tiny(100, 64, 77) };
    let one = load(1, tuning);
    assert!(one.iter().any(|chunk| chunk[0].len() < 77) && one.len() > 5_000 / 77);
    for threads in 2..5 {
        assert_eq!(load(threads, tuning), one);
    }
    let whole = load(2, Tuning::default());
    assert_eq!(whole.len(), 1);
    assert_eq!(rows_of(&whole), rows_of(&one));
}

#[test]
fn rows_are_located_by_chunk_and_row() {
    let text = "h,\"x\ny\"\na,b\n\"c\nd\",e\nf,g\n";
    let options = CsvOptions { header: crate::Header::Yes, ..CsvOptions::default() };
    let progress = Progress::default();
    let source = Source::Bytes(text.as_bytes().to_vec());
    let tuning = tiny(3, 4, 2);
    let mut loader =
        Loader::open_tuned(source, text_target(2), &options, &progress, tuning).unwrap();
    loader.run(2, &progress, &MemorySink::default()).unwrap();
    let place = |chunk, row| {
        let location = loader.locate(chunk, row).unwrap();
        (location.line, location.byte_offset)
    };
    assert_eq!([place(0, 0), place(0, 1), place(1, 0)], [(3, 8), (4, 12), (6, 20)]);
    assert_eq!(loader.locate(2, 0).unwrap_err().kind(), crate::ErrorKind::Internal);
}

#[test]
fn sink_error_ends_the_load() {
    #[derive(Debug)]
    struct Full;
    impl std::fmt::Display for Full {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("no space left")
        }
    }
    impl std::error::Error for Full {}
    struct FullSink;
    impl ChunkSink for FullSink {
        type Error = Full;
        fn append_chunk(
            &self,
            index: u64,
            _: &mut [ColumnBuffer],
        ) -> std::result::Result<(), Full> {
            if index == 3 { Err(Full) } else { Ok(()) }
        }
    }
    let progress = Progress::default();
    let source = Source::Bytes(b"a\n".repeat(1_000));
    let options = CsvOptions::default();
    let tuning = tiny(16, 16, 10);
    let mut loader =
        Loader::open_tuned(source, text_target(1), &options, &progress, tuning).unwrap();
    let error: Error = loader.run(3, &progress, &FullSink).unwrap_err();
    assert_eq!((error.kind(), error.message()), (crate::ErrorKind::Store, "no space left"));
}

#[test]
#[should_panic(expected = "broken sink")]
fn panic_in_a_worker_stops_all() {
    struct BrokenSink;
    impl ChunkSink for BrokenSink {
        type Error = Infallible;
        fn append_chunk(
            &self,
            _: u64,
            _: &mut [ColumnBuffer],
        ) -> std::result::Result<(), Infallible> {
            panic!("broken sink");
        }
    }
    let progress = Progress::default();
    let source = Source::Bytes(b"a\n".repeat(1_000));
    let tuning = tiny(16, 16, 10);
    let options = CsvOptions::default();
    let mut loader =
        Loader::open_tuned(source, text_target(1), &options, &progress, tuning).unwrap();
    let _ = loader.run(1, &progress, &BrokenSink);
}

/// Once lost the first byte of a row: a chunk cut for its bytes began where the cut was noticed,
/// which can be segments after the end of its predecessor's last row.
#[test]
fn chunk_cut_for_its_bytes_begins_after_the_last_row_that_ended() {
    let text = "bb,\r\nb,b\r\nb,\r\nb,b\r\nbb,b\r\nbb,b\r\n";
    let tuning = Tuning { chunk_bytes_max: 6, ..tiny(1, 1, 6) };
    let source = Source::Bytes(text.as_bytes().to_vec());
    let options = CsvOptions::default();
    let chunks = load_chunks(source, &text_target(2), &options, 1, tuning).unwrap();
    assert_eq!(rows_of(&chunks), rows(&["bb -", "b b", "b -", "b b", "bb b", "bb b"]));
}
