//! Bad input: which fault is reported, where, and that the first in the file wins.

use super::*;
use crate::{ErrorKind, Location};
use std::sync::atomic::Ordering;

/// Loads into `(a integer not null, b varchar(3), c numeric(4,2))`.
fn fail(text: &[u8]) -> Error {
    let target = target(&[
        ("a", ColumnType::Integer, false),
        ("b", ColumnType::Varchar { max_chars: Some(3) }, true),
        ("c", ColumnType::Decimal { precision: 4, scale: 2 }, true),
    ]);
    let mut errors: Vec<Error> = [(1, tiny(7, 5, 2)), (3, tiny(16, 64, 1)), (2, Tuning::default())]
        .into_iter()
        .map(|(threads, tuning)| {
            let options = CsvOptions::default();
            let source = Source::Bytes(text.to_vec());
            load_chunks(source, &target, &options, threads, tuning).unwrap_err()
        })
        .collect();
    for error in &errors[1..] {
        assert_eq!(error.to_string(), errors[0].to_string());
    }
    errors.remove(0)
}

fn place(error: &Error) -> (u64, u64, Option<&str>, Option<&str>) {
    let location = error.location().unwrap();
    let Location { line, byte_offset, column, text, .. } = location;
    (*line, *byte_offset, column.as_deref(), text.as_deref())
}

#[test]
fn field_faults_name_line_byte_column_text_and_type() {
    for (text, kind, message, found) in [
        (
            "1,a,1\nx,b,2\n",
            ErrorKind::InvalidText,
            "invalid input syntax for type integer: \"x\"",
            (2, 6, Some("a"), Some("x")),
        ),
        (
            "1,a,1\n2,\"b\n\"\"cd\",2\n",
            ErrorKind::TooLong,
            "value too long for type character varying(3)",
            (2, 8, Some("b"), Some("b\\n\"cd")),
        ),
        (
            "1,\"\n\n\",1\n2,b,100\n",
            ErrorKind::NumberOutOfRange,
            "numeric field overflow",
            (4, 13, Some("c"), Some("100")),
        ),
        (
            "99999999999,,\n",
            ErrorKind::NumberOutOfRange,
            "value \"99999999999\" is out of range for type integer",
            (1, 0, Some("a"), Some("99999999999")),
        ),
        (
            "1,,\n,b,2\n",
            ErrorKind::NotNullViolation,
            "null value in column \"a\" of relation \"t\" violates not-null constraint",
            (2, 4, Some("a"), Some("")),
        ),
    ] {
        let error = fail(text.as_bytes());
        assert_eq!((error.kind(), error.message()), (kind, message));
        assert_eq!(place(&error), found, "{message}");
    }
    let error = fail(b"1,a,100\n");
    let location = error.location().unwrap();
    assert_eq!(location.expected, Some(ColumnType::Decimal { precision: 4, scale: 2 }));
    assert_eq!((location.file.as_str(), location.relation.as_str()), ("STDIN", "t"));
    assert!(error.detail().unwrap().ends_with("less than 10^2."));
}

#[test]
fn rows_of_the_wrong_shape_are_refused() {
    for (text, message, found) in [
        ("1,a,1\n2,b,2,3\n", "extra data after last expected column", (2, 12, None, None)),
        ("1,a,1\n2,b\n", "missing data for column \"c\"", (2, 9, Some("c"), Some(""))),
        ("1,a,1\n\n2,b,2\n", "missing data for column \"b\"", (2, 6, Some("b"), Some(""))),
        ("1,a,1\n2,\"b,2\n3,c,3\n", "unterminated CSV quoted field", (2, 8, None, None)),
        ("1,a,1\n2,b,2\"", "unterminated CSV quoted field", (2, 11, None, None)),
    ] {
        let error = fail(text.as_bytes());
        assert_eq!((error.kind(), error.message()), (ErrorKind::BadCopyFormat, message));
        assert_eq!(place(&error), found, "{text:?}");
    }
    let context = |text: &[u8]| fail(text).location().unwrap().to_string();
    assert_eq!(context(b"1,a,1\n2,b\n3,c,3\n"), "COPY t, line 2: \"2,b\"");
    assert_eq!(context(b"1,a,1\r\n,b,2\r\n"), "COPY t, line 2: \",b,2\"");
    assert_eq!(context(b"1,a,1\nx,b,2\n"), "COPY t, line 2, column a: \"x\"");
}

#[test]
fn faults_in_one_row_come_in_the_order_of_postgres() {
    // Too many fields before a wrong value, a wrong value before a missing field or a null.
    assert_eq!(fail(b"x,a,1,2\n").message(), "extra data after last expected column");
    assert_eq!(fail(b"x,a\n").message(), "invalid input syntax for type integer: \"x\"");
    assert_eq!(fail(b",abcd,1\n").message(), "value too long for type character varying(3)");
    // Broken bytes before anything else in the row, but not before an earlier row.
    let message = "invalid byte sequence for encoding \"UTF8\": 0xff";
    assert_eq!(fail(b"x,a\xff,1,2\n").message(), message);
    assert_eq!(
        fail(b"x,a,1\n1,\xff,1\n").message(),
        "invalid input syntax for type integer: \"x\""
    );
}

#[test]
fn broken_utf8_and_zero_bytes_are_refused_in_any_column() {
    for (text, shown, offset) in [
        (&b"1,a,1\n2,\xe2\x28\xa1,2\n"[..], "0xe2 0x28 0xa1", 8),
        (b"1,a,1\n2\xc0,b,2\n", "0xc0 0x2c", 7),
        (b"1,a,1\n2,b\0,2\n", "0x00", 9),
        (b"1,a,1\n2,b,2\xf0\x9f", "0xf0 0x9f 0x0a", 11),
    ] {
        let error = fail(text);
        assert_eq!(error.kind(), ErrorKind::InvalidByteSequence);
        let message = format!("invalid byte sequence for encoding \"UTF8\": {shown}");
        assert_eq!((error.message(), place(&error).1), (message.as_str(), offset));
    }
}

#[test]
fn first_fault_in_the_file_wins_whatever_the_threads() {
    let mut text: Vec<u8> = (0..4_000).flat_map(|i| format!("{i},a,1\n").into_bytes()).collect();
    let spoil = |text: &mut Vec<u8>, line: usize, with: &[u8]| {
        let start = text.split(|b| *b == b'\n').take(line - 1).map(|l| l.len() + 1).sum::<usize>();
        text[start..start + with.len()].copy_from_slice(with);
    };
    for (line, with) in [(3_900, b"x"), (3_000, b"y"), (2_000, b"\xff"), (1_500, b"z")] {
        spoil(&mut text, line, with);
        for _ in 0..3 {
            assert_eq!(place(&fail(&text)).0, line as u64);
        }
    }
}

#[test]
fn null_in_an_absent_column_is_refused_only_if_there_is_a_row() {
    let mut target = target(&[("a", TEXT, true), ("b", TEXT, false)]);
    target.fields = vec![0];
    let options = CsvOptions::default();
    assert_eq!(load_with("", &target, &options).unwrap(), rows(&[]));
    let expected = "null value in column \"b\" of relation \"t\" violates not-null constraint";
    assert_eq!(message(load_with("x\n", &target, &options)), expected);
}

#[test]
fn column_lists_and_force_lists_must_fit_the_table() {
    let fail = |fields: &[usize], option: &str, name: &str| {
        let target = Target { fields: fields.to_vec(), ..text_target(2) };
        let force = crate::Force::Columns(vec![name.to_owned()]);
        let mut options = CsvOptions::default();
        match option {
            "null" => options.force_null = force,
            "not null" => options.force_not_null = force,
            "quote" => options.force_quote = force,
            _ => {}
        }
        message(load_with("a,b\n", &target, &options))
    };
    assert_eq!(fail(&[0, 0], "", ""), "column \"c0\" specified more than once");
    assert_eq!(fail(&[0, 2], "", ""), "column number 3 of relation \"t\" does not exist");
    assert_eq!(fail(&[], "", ""), "not supported: COPY without a column");
    assert_eq!(fail(&[0], "null", "x"), "column \"x\" of relation \"t\" does not exist");
    let expected = "FORCE_NOT_NULL column \"c1\" not referenced by COPY";
    assert_eq!(fail(&[0], "not null", "c1"), expected);
    assert_eq!(fail(&[0, 1], "quote", "c1"), "COPY FORCE_QUOTE cannot be used with COPY FROM");
}

#[test]
fn rows_longer_than_the_limit_are_refused() {
    let tuning =
        |chunk_bytes_max| Tuning { chunk_bytes_max, row_bytes_max: 100, ..tiny(10, 8, 1_000) };
    let target = text_target(1);
    let options = CsvOptions::default();
    for bytes in [105, 300] {
        let text = format!("a\nb\n{}\nc\n", "x".repeat(bytes));
        for threads in 1..4 {
            for chunk_bytes_max in [5, 1_000] {
                let source = Source::Bytes(text.clone().into_bytes());
                let tuning = tuning(chunk_bytes_max);
                let error = load_chunks(source, &target, &options, threads, tuning).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
                assert_eq!(place(&error), (3, 4, None, None));
            }
        }
    }
    let source = Source::Bytes("x".repeat(99).into_bytes());
    assert!(load_chunks(source, &target, &options, 1, tuning(5)).is_ok());
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let target = text_target(1);
    let open = |path: &std::path::Path| {
        let source = Source::File(path.to_owned());
        load_chunks(source, &target, &CsvOptions::default(), 2, tiny(16, 16, 4))
    };
    let missing = directory.path().join("missing.csv");
    let error = open(&missing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UndefinedFile);
    assert!(error.message().starts_with(&format!("could not open file \"{}\"", missing.display())));
    let error = open(directory.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IsDirectory);
    assert_eq!(error.message(), format!("\"{}\" is a directory", directory.path().display()));
    let empty = directory.path().join("empty.csv");
    std::fs::write(&empty, "").unwrap();
    assert!(open(&empty).unwrap().is_empty());
    // A file that the kernel makes up has size 0 and content all the same.
    let lines = std::fs::read_to_string("/proc/self/limits").unwrap().lines().count();
    assert_eq!(rows_of(&open(std::path::Path::new("/proc/self/limits")).unwrap()).len(), lines);
}

#[test]
fn named_pipe_is_read_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let target = text_target(1);
    std::thread::scope(|scope| {
        scope.spawn(|| std::fs::write(&path, b"a\n".repeat(100_000)).unwrap());
        let source = Source::File(path.clone());
        let options = CsvOptions::default();
        let chunks = load_chunks(source, &target, &options, 2, Tuning::default()).unwrap();
        assert_eq!(chunks.iter().map(|chunk| chunk[0].len()).sum::<usize>(), 100_000);
    });
}

/// Changes the file once the first chunk is there.
struct ChangingSink<F: Fn() + Sync>(F);

impl<F: Fn() + Sync> ChunkSink for ChangingSink<F> {
    type Error = Infallible;

    fn append_chunk(
        &self,
        index: u64,
        _: &mut [ColumnBuffer],
    ) -> std::result::Result<(), Infallible> {
        if index == 0 {
            (self.0)();
        }
        Ok(())
    }
}

#[test]
fn file_that_shrinks_or_grows_while_it_is_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    for bytes_then in [0, 100, 3_999, 4_001, 8_000] {
        std::fs::write(&path, b"a,b\n".repeat(1_000)).unwrap();
        let progress = Progress::default();
        let source = Source::File(path.clone());
        let options = CsvOptions::default();
        let tuning = tiny(64, 64, 10);
        let mut loader =
            Loader::open_tuned(source, text_target(2), &options, &progress, tuning).unwrap();
        let sink = ChangingSink(|| {
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(bytes_then).unwrap();
        });
        let error = loader.run(2, &progress, &sink).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileChanged, "{bytes_then}: {error}");
    }
}

#[test]
fn cancelled_load_stops() {
    let progress = Progress::default();
    let source = Source::Bytes(b"a\n".repeat(10_000));
    let options = CsvOptions::default();
    let tuning = tiny(64, 64, 10);
    let mut loader =
        Loader::open_tuned(source, text_target(1), &options, &progress, tuning).unwrap();
    let error = loader.run(2, &progress, &ChangingSink(|| progress.cancel())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(progress.rows_done.load(Ordering::Relaxed) < 10_000);
}
