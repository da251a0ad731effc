//! Functions in FROM, beside a PostgreSQL 15 server where its programs are.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

#[path = "support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;
mod support;

use std::time::{Duration, Instant};

use nacre_exec::ExecErrorKind;
use nacre_exec::dispatch::QueryOptions;
use nacre_exec::plan::{PhysicalPlan, PlanNode, SeriesColumn, SeriesNode};
use nacre_exec::value::ScalarValue;
use postgres::compare;
use support::statements::{TestDatabase, texts};
use support::{pool, run};

/// Statements that are answered as PostgreSQL answers them.
const STATEMENTS: &[&str] = &[
    "select * from generate_subscripts('{1,2}'::int[], 1)",
    "select s, generate_subscripts(array[s, s, s], 1, true) from generate_series(1, 2) s",
    "select * from generate_subscripts('[0:1][3:4]={{1,2},{3,4}}'::int[], 2) with ordinality",
    "select * from generate_series(1, 5)",
    "select g from generate_series(1, 5) g",
    "select g.x from generate_series(1, 5) as g (x) where x % 2 = 1",
    "select * from generate_series(5, 1)",
    "select * from generate_series(5, 1, -2)",
    "select * from generate_series(1, 10, 4) with ordinality",
    "select x, n from generate_series(10, 1, -4) with ordinality as g (x, n) where n > 1",
    "select * from generate_series(1, null)",
    "select * from generate_series(1, null::int, 2)",
    "select * from generate_series(2147483645, 2147483647)",
    "select * from generate_series(-9223372036854775808, -9223372036854775807)",
    "select * from generate_series(9223372036854775806, 9223372036854775807)",
    "select * from generate_series(1, 7, 3::bigint)",
    "select * from generate_series(1.5, 4)",
    "select * from generate_series(1.50, 3, 0.5)",
    "select * from generate_series(1.0, -1.05, -0.5)",
    "select * from generate_series(-1.0, 1.05, 0.7)",
    "select * from generate_series(1.0, 0.5)",
    "select * from generate_series(timestamp '2020-02-27', '2020-03-02', '1 day')",
    "select * from generate_series(timestamp '2020-02-27', '2020-02-28', interval '5 hours')",
    "select * from generate_series(timestamp '2020-02-27', '2020-02-25', '-1 day 3 hours')",
    "select count(*), sum(g), min(g), max(g) from generate_series(1, 200000) g",
    "select count(*) from generate_series(1, 300) g, generate_series(1, 200) h where g = h",
    "select g, t.a from generate_series(0, 20) g left join t on t.id = g",
    "select g, count(t.id) from generate_series(-3, 12) g left join t on t.a = g group by g",
    "select g from generate_series(1, 9) g order by 1 desc limit 3",
    "select id from t where id in (select g from generate_series(3, 8) g)",
    "select g from generate_series(1, 3) g union all select a from t where id < 9",
    "select * from unnest(array[3, 1, null, 2])",
    "select u from unnest(array['a', 'b', null]) u",
    "select * from unnest(array[1.5, 2.5]) with ordinality",
    "select * from unnest(array[1, 2, 3], array['a', 'b'])",
    "select a.p, a.q, a.n from unnest(array[1, 2], array[true, false, null]) with ordinality a (p, \
     q, n)",
    "select t.id, u.x from t, unnest(array[t.a, t.k]) u (x) where t.id < 40",
    "select t.id, x, n from t, unnest(array[t.s, 'none']) with ordinality u (x, n) where t.id < 40",
    "select * from \"extract\"('year', date '2020-03-01')",
    "select l.x from \"extract\"('year', date '2020-03-01') l (x)",
    "select * from \"extract\"('year', date '2020-03-01') with ordinality",
    "select t.id, u from t, \"extract\"('year', t.d) u where t.id < 40",
    "select t.id, u.x from t left join \"extract\"('year', t.d) u (x) on true where t.id < 40",
    "with c as (select g * 2 as g from generate_series(1, 4) g) select x.g, y.g from c x, c y",
    "select * from generate_series(1, 5, 0)",
    "select * from generate_series(1.0, 2, 0.25)",
    "select * from generate_series(1.0, 'NaN')",
    "select * from generate_series(timestamp '2020-01-31', '2020-05-01', '1 month')",
    "select g from t, generate_series(1, t.a) g",
    "select * from rows from (generate_series(1, 2), generate_series(1, 3)) r",
    "select * from unnest('{1,2}'::int[])",
    "select generate_series(1, 3)",
    "select id from t where id in (select generate_series(1, (select max(a) from t)))",
    "select regexp_split_to_table(s, 'a') from t",
];

/// Statements that are not there yet, or whose answers have no form.
const REFUSED: &[&str] = &[
    "select * from unnest(array[array[1], array[2]])",
    "select * from unnest('{1,2}'::int[], '{3}'::int[])",
    "select greatest(generate_series(1, 3), id) from t",
];

#[test]
fn answers_are_those_of_postgresql() {
    let (database, rows) = TestDatabase::of_rows(200, 150, 100);
    let statements: Vec<String> = STATEMENTS.iter().map(|&sql| sql.to_owned()).collect();
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count * 5 > statements.len() * 4, "{count} have rows");
    }
    for sql in STATEMENTS {
        // Without a server, too, nothing is refused.
        let refused =
            database.run_optimized(sql).err().filter(|error| error.starts_with("not supp"));
        assert_eq!(refused, None, "{sql}");
    }
}

#[test]
fn what_is_not_there_is_not_supported() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for sql in REFUSED {
        let error = database.run_optimized(sql).expect_err(sql);
        assert!(error.starts_with("not supported: "), "{sql}: {error}");
    }
}

#[test]
fn series_have_their_rows_without_a_server() {
    let (database, _) = TestDatabase::of_rows(10, 5, 5);
    assert_eq!(
        database.rows("select count(*), sum(g) from generate_series(1, 1000000, 3) g"),
        texts(&[&["333334", "166667166667"]])
    );
}

#[test]
fn a_series_of_two_columns_counts_both() {
    let columns =
        vec![SeriesColumn { start: 5, step: -2 }, SeriesColumn { start: i128::MAX - 2, step: 1 }];
    let node = PlanNode::Series(SeriesNode { columns, rows: 3 });
    let row = |one: i128, other: i128| vec![ScalarValue::Int(one), ScalarValue::Int(other)];
    let expected = [row(5, i128::MAX - 2), row(3, i128::MAX - 1), row(1, i128::MAX)];
    assert_eq!(run(&pool(2), node).unwrap(), expected);
    let columns = vec![SeriesColumn { start: i128::MAX, step: 1 }];
    let error = run(&pool(2), PlanNode::Series(SeriesNode { columns, rows: 2 })).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Internal);
}

#[test]
fn endless_series_end_when_they_are_canceled() {
    let columns = vec![SeriesColumn { start: 0, step: 1 }];
    let root = PlanNode::Series(SeriesNode { columns, rows: u64::MAX });
    let workers = pool(2);
    let deadline = Some(Instant::now() + Duration::from_millis(200));
    let options = QueryOptions { deadline, ..QueryOptions::default() };
    let begun = Instant::now();
    let mut stream = workers.execute(PhysicalPlan { root }, options).unwrap();
    let error = loop {
        match stream.next_batch() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ExecErrorKind::DeadlineExceeded);
    assert!(begun.elapsed() < Duration::from_secs(20));
}
