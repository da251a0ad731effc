//! Conditions with many constants: look-ups in sets answer as comparisons with each constant do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use support::statements::{TestDatabase, Texts};

/// More constants than those from which on a set is made.
const PADDING_COUNT: usize = 130;

/// Returns the truth value of a condition for each row, and which rows a filter and its opposite
/// leave.
fn answers(database: &TestDatabase, condition: &str) -> [Result<Texts, String>; 6] {
    let values = format!("select id, ({condition}) from t order by id");
    let kept = format!("select id from t where {condition} order by id");
    let others = format!("select id from t where not ({condition}) order by id");
    let run = |sql: &str| [database.run(sql), database.run_optimized(sql)];
    let [values, kept, others] = [run(&values), run(&kept), run(&others)];
    [values, kept, others].into_iter().flatten().collect::<Vec<_>>().try_into().unwrap()
}

/// Checks that a list answers the same with constants that no value is equal to.
fn check_lists(cases: &[(&str, &str, &[&str])]) {
    let (database, _) = TestDatabase::of_rows(120, 70, 30);
    for (value, padding, lists) in cases {
        for list in *lists {
            for word in ["in", "not in"] {
                let many: Vec<_> =
                    (0..PADDING_COUNT).map(|n| padding.replace('#', &n.to_string())).collect();
                let short = format!("{value} {word} ({list})");
                let long = format!("{value} {word} ({}, {list})", many.join(", "));
                let expected = answers(&database, &short);
                assert!(expected[0].is_ok(), "{short}: {expected:?}");
                assert_eq!(answers(&database, &long), expected, "{short}");
                // In the middle of the others.
                let long = format!("{value} {word} ({0}, {list}, {0})", many.join(", "));
                assert_eq!(answers(&database, &long), expected, "{short}");
            }
        }
    }
}

/// It took 8 seconds for 100,000 constants of two types, 2026-11-28.
#[test]
fn values_are_among_constants_of_any_types() {
    check_lists(&[
        ("id", "1000#", &["1, 2, 50", "1, 2.0, 3.5", "7.00", "1, null", "2.5, null::numeric"]),
        ("id + a", "1000#", &["1, 2, 50", "1, 2.0, 3.5", "7.00, 9", "1, null", "3::smallint, 4"]),
        ("a", "1000#.5", &["1, 2, 3", "-1.0, -2.000", "null, 3", "'nan'::numeric, 4", "1e40, 5"]),
        (
            "n",
            "1000#",
            &["1.5, 2.75", "-15.00, -13.690, 1.31", "1.315, 1.31", "null, 2.62", "1e30"],
        ),
        ("n / 4", "1000#", &["0.3275, 1", "0.32750000000000000000, 0.655", "null, -3.75"]),
        ("f", "1000#", &["0, -3, 1.25", "'-0', 2", "'nan', 'infinity'", "null, 1", "-0.0"]),
        ("f * 0", "1000#", &["0, 1", "'-0', 1", "null::float8, 0"]),
        ("s", "'x#'", &["'apple', 'a_b'", "'', 'banana'", "null, 'apple'", "'apple ', 'A_B'"]),
        ("s || c", "'x#'", &["'applex', 'a_byy'", "'', 'banana'", "null, 'apple'"]),
        ("c", "'x#'", &["'x', 'yy   '", "'', 'zzz'", "null, '  '"]),
        ("d", "'2090-01-01'::date + #", &["'1995-01-01', '1996-02-28'", "null, '1995-06-07'"]),
        ("d", "'2090-01-01'::timestamp", &["'1995-01-01', timestamp '1996-02-28 12:00'"]),
        ("o", "null", &["true, null", "false, null"]),
    ]);
}

/// It took 16 seconds for 100,000 pairs, 2026-11-28.
#[test]
fn rows_are_among_constant_rows() {
    check_lists(&[
        (
            "(id, a)",
            "(1000#, 1000#)",
            &[
                "(1, -2), (3, 12)",
                "(1, -2), (3, null)",
                "(1, null), (null, 5), (null, null)",
                "(null, 3), (null, null::integer), (4, 5)",
                "(1, -2.0), (2, 5), (3.5, 12), (3.0, 12.00)",
            ],
        ),
        (
            "(a, k)",
            "(1000#, 1000#)",
            &[
                "(-2, 5), (5, 10), (12, 4)",
                "(-2, null), (null, 5)",
                "(null, 5), (null, 6), (12, 4)",
                "(5, 10.5), (5.5, 10), (5, 10)",
            ],
        ),
        (
            "(k, n, s)",
            "(1000#, 1000#, 'x#')",
            &[
                "(5, 1.31, 'apple'), (5, null, ''), (1, -15, 'apple')",
                "(null, null, 'banana'), (null, 2.62, null)",
                "(5, 2.625, null), (null, 2.625, ''), (5, 1.310, 'a_b')",
            ],
        ),
        (
            "(f, o, id)",
            "(1000#, true, 1000#)",
            &["(0, true, 4), ('-0', false, 12)", "(null, false, 9)"],
        ),
        ("(c, d)", "('x#', '2090-01-01')", &["('x', '1995-01-01'), (null, '1995-06-07')"]),
        ("(id + 1, k)", "(1000#, 1000#)", &["(2, 5), (7, null), (9, 3)"]),
        ("(k, id + 1)", "(1000#, 1000#)", &["(5, 2), (null, 7), (3, 9)"]),
    ]);
}

#[test]
fn conditions_joined_by_words_are_looked_up_together() {
    let (database, _) = TestDatabase::of_rows(120, 70, 30);
    let many = |word: &str, test: &str| {
        let all: Vec<_> = (0..PADDING_COUNT).map(|n| test.replace('#', &n.to_string())).collect();
        all.join(&format!(" {word} "))
    };
    for (test, short, word) in [
        ("a = 1000#", "a = 3 or a = 5 or a is null", "or"),
        ("a <> 1000#", "a <> 3 and a <> 5 and a = a", "and"),
        ("a = 1000#", "a = 3 or null", "or"),
        ("(a = 1000# and k = 1000#)", "(a = 5 and k = 10) or id = 1", "or"),
        ("(a <> 1000# or k <> 1000#)", "(a <> 5 or k <> 10) and id > 1", "and"),
        ("a = 1000#", "1 / (id - 5) = 1 or id = 5", "or"),
        ("id = 1000#", "1 / (id - 5) = 1 or id = 5", "or"),
        ("a = 1000#", "1 / (id - 5) = 1 or 1 = 1", "or"),
    ] {
        let long = many(word, test);
        let expected = answers(&database, short);
        for long in [
            format!("{long} {word} {short}"),
            format!("{short} {word} {long}"),
            format!("{long} {word} {short} {word} {long}"),
        ] {
            assert_eq!(answers(&database, &long), expected, "{short} {word} {test}");
        }
    }
}

/// A value that fails is computed for the rows that reach it.
#[test]
fn second_value_of_a_row_fails_where_the_first_is_equal() {
    let (database, _) = TestDatabase::of_rows(120, 70, 30);
    let many: Vec<_> = (0..PADDING_COUNT).map(|n| format!("(1000{n}, 1)")).collect();
    let sql = |more: &str| {
        let many = many.join(", ");
        format!("select count(*) from t where (id, 10 / (id - 5)) in ({many}{more})")
    };
    assert_eq!(database.rows(&sql(", (7, 5), (8, 1)")), [["1"]]);
    assert_eq!(database.run_optimized(&sql(", (5, 1)")).unwrap_err(), "division by zero");
}

#[test]
fn constants_that_fail_raise_their_errors() {
    let (database, _) = TestDatabase::of_rows(120, 70, 30);
    let many: Vec<_> = (0..PADDING_COUNT).map(|n| format!("1000{n}")).collect();
    let many = many.join(", ");
    for condition in [format!("id in ({many}, 1 / 0)"), format!("a not in ({many}, 1.5 / 0)")] {
        let sql = format!("select id from t where {condition}");
        assert_eq!(database.run_optimized(&sql).unwrap_err(), "division by zero", "{sql}");
    }
}

/// 20,000 expressions were refused, and the memory of a program had one vector for each,
/// 2026-11-28.
#[test]
fn values_are_among_many_expressions() {
    const COUNT: i64 = 12_000;
    let (database, rows) = TestDatabase::of_rows(120, 70, 30);
    let list = |value: &str, from: i64| {
        let all: Vec<_> = (0..COUNT).map(|n| format!("{value} + {}", from + n)).collect();
        all.join(", ")
    };
    let is_near = |value: Option<i64>, id: i64, from: i64| {
        value.map(|value| (from..from + COUNT).contains(&(id - value)))
    };
    let (near_a, near_k) = (list("a", 30), list("k", 50));
    let sql = format!(
        "select id, id in ({near_a}), id not in ({near_k}, null) from t \
         where id in ({near_a}) and 10 / (id - 3) <> 5 and id not in ({near_k}) is not true"
    );
    let truth = |value: Option<bool>| match value {
        Some(true) => "t",
        Some(false) => "f",
        None => "-",
    };
    let mut expected = Texts::new();
    for row in &rows {
        let (a, k) = (is_near(row.a, row.id, 30), is_near(row.k, row.id, 50));
        if a == Some(true) && row.id != 3 && row.id != 5 && k != Some(false) {
            let is_not_near = if k == Some(true) { Some(false) } else { None };
            expected.push(vec![
                row.id.to_string(),
                truth(a).to_owned(),
                truth(is_not_near).to_owned(),
            ]);
        }
    }
    assert!(!expected.is_empty());
    expected.sort_unstable();
    assert_eq!(database.rows(&sql), expected);
    let mut optimized = database.run_optimized(&sql).unwrap();
    optimized.sort_unstable();
    assert_eq!(optimized, expected);
    // Of rows that are found before, the last element is not computed.
    let sql = |id| format!("select id from t where id in ({near_a}, 10 / (id - {id}))");
    assert!(database.run_optimized(&sql(40)).is_ok());
    assert_eq!(database.run_optimized(&sql(20)).unwrap_err(), "division by zero");
}
