//! The parallel loader against a plain reader that goes through the text byte by byte.

use super::*;
use proptest::prelude::*;

/// Reads CSV as PostgreSQL's documentation and source describe it, one byte at a time.
struct Reference<'a> {
    text: &'a [u8],
    options: &'a CsvOptions,
    columns: usize,
}

type Rows = Vec<Vec<Option<String>>>;

impl Reference<'_> {
    fn read(&self) -> std::result::Result<Rows, String> {
        let mut rows = Vec::new();
        let mut rest = self.text;
        let mut line_end: Option<&[u8]> = None;
        while !rest.is_empty() {
            let bytes = self.line_bytes(rest, &mut line_end)?;
            let (line, tail) = rest.split_at(bytes);
            rest = tail.strip_prefix(line_end.unwrap_or(b"")).unwrap_or(tail);
            rows.push(self.fields(line)?);
        }
        Ok(rows)
    }

    /// Returns where the line ends; a line end of another kind is a fault.
    fn line_bytes(
        &self,
        rest: &[u8],
        line_end: &mut Option<&[u8]>,
    ) -> std::result::Result<usize, String> {
        let CsvOptions { quote, escape, .. } = *self.options;
        let (mut is_quoted, mut was_escape) = (false, false);
        for (index, &byte) in rest.iter().enumerate() {
            if escape != quote {
                if is_quoted && byte == escape {
                    was_escape = !was_escape;
                }
                if byte == quote && !was_escape {
                    is_quoted = !is_quoted;
                }
                if byte != escape {
                    was_escape = false;
                }
            } else if byte == quote {
                is_quoted = !is_quoted;
            }
            if is_quoted || !matches!(byte, b'\r' | b'\n') {
                continue;
            }
            let here: &[u8] = match rest[index..] {
                [b'\r', b'\n', ..] if *line_end != Some(b"\r") => b"\r\n",
                [b'\r', ..] => b"\r",
                _ => b"\n",
            };
            let expected = *line_end.get_or_insert(here);
            if here == expected {
                return Ok(index);
            }
            let name = if byte == b'\r' { "carriage return" } else { "newline" };
            return Err(format!("unquoted {name} found in data"));
        }
        Ok(rest.len())
    }

    fn fields(&self, line: &[u8]) -> std::result::Result<Vec<Option<String>>, String> {
        let CsvOptions { quote, escape, delimiter, .. } = *self.options;
        let mut fields = Vec::new();
        let mut bytes = line.iter().copied().peekable();
        loop {
            let (mut value, mut saw_quote, mut has_more) = (Vec::new(), false, false);
            while let Some(byte) = bytes.next() {
                if byte == delimiter {
                    has_more = true;
                    break;
                }
                if byte != quote {
                    value.push(byte);
                    continue;
                }
                saw_quote = true;
                loop {
                    let byte = bytes.next().ok_or("unterminated CSV quoted field")?;
                    let next = bytes.peek().copied();
                    if byte == escape && (next == Some(quote) || next == Some(escape)) {
                        value.extend(bytes.next());
                    } else if byte == quote {
                        break;
                    } else {
                        value.push(byte);
                    }
                }
            }
            let is_null = !saw_quote && value == self.options.null.as_bytes();
            fields.push((!is_null).then(|| String::from_utf8(value).unwrap()));
            if !has_more {
                break;
            }
        }
        match fields.len() {
            n if n > self.columns => Err("extra data after last expected column".to_owned()),
            n if n < self.columns => Err(format!("missing data for column \"c{n}\"")),
            _ => Ok(fields),
        }
    }
}

fn options() -> impl Strategy<Value = CsvOptions> {
    let bytes = prop_oneof![
        Just((b',', b'"', b'"')),
        Just((b',', b'"', b'\\')),
        Just((b'a', b'\\', b'\\')),
        Just((b',', b'"', b'a')),
    ];
    let null = prop_oneof![Just(""), Just("b"), Just("bb")];
    (bytes, null).prop_map(|((delimiter, quote, escape), null)| CsvOptions {
        delimiter,
        quote,
        escape,
        null: null.to_owned(),
        ..CsvOptions::default()
    })
}

fn text() -> impl Strategy<Value = String> {
    let well_formed = "((b{0,3}|\"[ab,\n\"]{0,3}\"),(b{0,3}|\"\n\"\"b\")\n){0,30}";
    prop_oneof![
        "[ab,\"\\\\\n]{0,200}",
        "[ab,\"\r\n]{0,60}",
        "(b{0,3}\n){0,40}",
        "(b{0,3},b?\r\n){0,40}",
        well_formed,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(600)))]

    #[test]
    fn loader_agrees_with_the_plain_reader(
        text in text(),
        options in options(),
        columns in 1usize..4,
        threads in 1usize..4,
        (segment, window, chunk_rows, chunk_bytes) in (1u64..90, 1usize..90, 1u64..9, 1u64..400),
    ) {
        // Marks and byte order marks have tests of their own.
        prop_assume!(!text.contains("\\."));
        let reference = Reference { text: text.as_bytes(), options: &options, columns };
        let tuning = Tuning { chunk_bytes_max: chunk_bytes, ..tiny(segment, window, chunk_rows) };
        let source = Source::Bytes(text.clone().into_bytes());
        let found = load_chunks(source, &text_target(columns), &options, threads, tuning)
            .map(|chunks| rows_of(&chunks))
            .map_err(|error| error.message().to_owned());
        prop_assert_eq!(found, reference.read());
    }

    #[test]
    fn any_bytes_are_loaded_or_refused(
        bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(&b",\"\n\r\\.0-"[..])], 0..300),
        segment in 1u64..90,
        window in 1usize..90,
        is_text in any::<bool>(),
    ) {
        let columns = [("a", ColumnType::Integer, true), ("b", TEXT, true)];
        let options = if is_text { CsvOptions::text() } else { CsvOptions::default() };
        let load = |threads| {
            let source = Source::Bytes(bytes.clone());
            let tuning = tiny(segment, window, 3);
            load_chunks(source, &target(&columns), &options, threads, tuning)
                .map_err(|error| {
                    assert_ne!(error.kind(), crate::ErrorKind::Internal, "{error}");
                    error.to_string()
                })
        };
        prop_assert_eq!(load(1), load(3));
    }
}
