//! Each mode, over the same rows: numbers, NULLs, wide and dangerous text.

use std::sync::Arc;

use nacre_sql::TYPE_KEY;
use nacre_sql::datafusion::arrow::array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int32Array, ListArray, RecordBatch,
    StringArray, StringViewArray, StructArray,
};
use nacre_sql::datafusion::arrow::datatypes::{DataType, Field, Int32Type, Schema};

use super::{Mode, Style};

fn rendered(style: &Style, batches: &[RecordBatch]) -> String {
    let mut renderer = style.mode.renderer(&batches[0].schema(), style);
    let mut out = Vec::new();
    renderer.begin(&mut out).unwrap();
    for batch in batches {
        renderer.rows(&mut out, batch).unwrap();
    }
    renderer.end(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn style(mode: Mode) -> Style {
    Style { mode, ..Style::default() }
}

fn sample() -> Vec<RecordBatch> {
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(300)]));
    let texts: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a|b"), Some("\u{6771}\u{4eac}, \"x\""), Some("")]));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", texts)]).unwrap();
    vec![batch.slice(0, 2), batch.slice(2, 1)]
}

fn one_text(text: &str) -> Vec<RecordBatch> {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some(text), None]));
    vec![RecordBatch::try_from_iter([("t", texts)]).unwrap()]
}

#[test]
fn box_aligns_numbers_and_wide_characters() {
    let expected = "\
+------+-----------+
| id   | name      |
+------+-----------+
|    1 | a|b       |
| NULL | \u{6771}\u{4eac}, \"x\" |
|  300 |           |
+------+-----------+
(3 rows)
";
    assert_eq!(ascii(&rendered(&style(Mode::Box), &sample())), expected);
}

/// Replaces the lines of a box so that tests can be read.
fn ascii(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        out.push(match c {
            '\u{2500}' => '-',
            '\u{2502}' => '|',
            '\u{250c}'..='\u{253c}' => '+',
            other => other,
        });
    }
    out
}

#[test]
fn box_without_header_has_no_names_and_no_count() {
    let style = Style { has_header: false, ..style(Mode::Box) };
    let expected = "+---+\n| x |\n+---+\n";
    let batches = [one_text("x")[0].slice(0, 1)];
    assert_eq!(ascii(&rendered(&style, &batches)), expected);
}

#[test]
fn box_of_no_rows_shows_the_names() {
    let batches = [sample()[0].slice(0, 0)];
    let expected = "+----+------+\n| id | name |\n+----+------+\n+----+------+\n(0 rows)\n";
    assert_eq!(ascii(&rendered(&style(Mode::Box), &batches)), expected);
}

#[test]
fn box_shows_every_row_of_a_long_result() {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..25_000));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let text = rendered(&style(Mode::Box), &[batch]);
    assert_eq!(text.lines().count(), 25_000 + 5);
    assert!(text.ends_with("(25000 rows)\n"));
}

#[test]
fn csv_quotes_what_would_read_back_differently() {
    let expected = "id,name\n1,a|b\n,\"\u{6771}\u{4eac}, \"\"x\"\"\"\n300,\"\"\n";
    assert_eq!(rendered(&style(Mode::Csv), &sample()), expected);
    assert_eq!(rendered(&style(Mode::Csv), &one_text("a\nb")), "t\n\"a\nb\"\n\n");
    let with_null = Style { null: Some("\\N".to_owned()), ..style(Mode::Csv) };
    assert_eq!(rendered(&with_null, &one_text("\\N")), "t\n\"\\N\"\n\\N\n");
}

#[test]
fn list_line_and_markdown_keep_rows_on_their_lines() {
    assert_eq!(
        rendered(&style(Mode::List), &sample()),
        "id|name\n1|a|b\n|\u{6771}\u{4eac}, \"x\"\n300|\n"
    );
    assert_eq!(
        rendered(&style(Mode::Line), &sample()[..1]),
        "  id = 1\nname = a|b\n\n  id = NULL\nname = \u{6771}\u{4eac}, \"x\"\n"
    );
    assert_eq!(
        rendered(&style(Mode::Markdown), &sample()[..1]),
        "| id | name |\n|---:|---|\n| 1 | a\\|b |\n| NULL | \u{6771}\u{4eac}, \"x\" |\n"
    );
    for mode in [Mode::List, Mode::Line, Mode::Markdown, Mode::Box] {
        let text = rendered(&style(mode), &one_text("a\n\t\x1b[31m\u{202e}\u{85}"));
        assert!(text.contains("a\\n\\t\\x1b[31m\\u{202e}\\u{85}"), "{mode}: {text}");
    }
}

#[test]
fn arrays_that_come_as_texts_nest_in_json() {
    let field = |name: &str, type_name: &str| {
        Field::new(name, DataType::Utf8View, true)
            .with_metadata([(TYPE_KEY.to_owned(), type_name.to_owned())].into())
    };
    let schema =
        Schema::new(vec![field("n", "_numeric"), field("t", "_text"), field("b", "_bool")]);
    let texts = |rows: [&str; 2]| -> ArrayRef { Arc::new(StringViewArray::from(rows.to_vec())) };
    let columns = vec![
        texts(["{{1.50,NaN},{NULL,-3}}", "{}"]),
        texts(["{a,\"1,\\\"2\"}", "[2:2]={NULL}"]),
        texts(["{t,f}", "{t}"]),
    ];
    let batches = [RecordBatch::try_new(Arc::new(schema), columns).unwrap()];
    let first = "{\"n\":[[1.50,\"NaN\"],[null,-3]],\"t\":[\"a\",\"1,\\\"2\"],\"b\":[true,false]}";
    let second = "{\"n\":[],\"t\":[null],\"b\":[true]}";
    assert_eq!(rendered(&style(Mode::JsonLines), &batches), format!("{first}\n{second}\n"));
}

#[test]
fn json_keeps_numbers_as_numbers() {
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1e300, f64::NAN]));
    let decimals = Decimal128Array::from(vec![12_345_678_901_234_567_890_i128, -5])
        .with_precision_and_scale(38, 2)
        .unwrap();
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["\"\\\n\x01", "x"]));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        Some(vec![]),
    ]);
    let field = Arc::new(Field::new("a\"b", ids.data_type().clone(), true));
    let structs = StructArray::from(vec![(field, Arc::clone(&ids))]);
    let batch = RecordBatch::try_from_iter([
        ("i", ids),
        ("f", floats),
        ("d", Arc::new(decimals) as ArrayRef),
        ("t", texts),
        ("l", Arc::new(lists) as ArrayRef),
        ("s", Arc::new(structs) as ArrayRef),
    ])
    .unwrap();
    let first = "{\"i\":1,\"f\":1e+300,\"d\":123456789012345678.90,\
                 \"t\":\"\\\"\\\\\\n\\u0001\",\"l\":[1,null],\"s\":{\"a\\\"b\":1}}";
    let second =
        "{\"i\":null,\"f\":\"NaN\",\"d\":-0.05,\"t\":\"x\",\"l\":[],\"s\":{\"a\\\"b\":null}}";
    let batches = [batch];
    assert_eq!(rendered(&style(Mode::Json), &batches), format!("[{first},\n{second}]\n"));
    assert_eq!(rendered(&style(Mode::JsonLines), &batches), format!("{first}\n{second}\n"));
    let parsed: serde_json::Value =
        serde_json::from_str(&rendered(&style(Mode::Json), &batches)).unwrap();
    assert_eq!(parsed[1]["f"], "NaN");
    let none = [batches[0].slice(0, 0)];
    assert_eq!(rendered(&style(Mode::Json), &none), "[]\n");
}

#[test]
fn null_text_can_be_chosen() {
    let style = Style { null: Some("-".to_owned()), ..style(Mode::List) };
    assert_eq!(rendered(&style, &one_text("x")), "t\nx\n-\n");
}

#[test]
fn mode_names_read_back() {
    for name in Mode::names() {
        assert_eq!(name.parse::<Mode>().unwrap().to_string(), name);
    }
    assert_eq!("NDJSON".parse::<Mode>(), Ok(Mode::JsonLines));
    assert!("html".parse::<Mode>().unwrap_err().contains("box, csv"));
}
