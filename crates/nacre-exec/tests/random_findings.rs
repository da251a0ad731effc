//! What `tests/random_queries` found: statements that failed where PostgreSQL 15 answers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use support::statements::TestDatabase;

/// Runs queries that count rows.
fn check_counts(cases: &[(&str, &str)]) {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for (condition, count) in cases {
        let sql = format!("select count(*) from t where {condition}");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec![(*count).to_owned()]]), "{sql}");
        assert_eq!(database.rows(&sql), [[*count]], "{sql}");
    }
}

fn check_refused(database: &TestDatabase, sql: &str) {
    let error = database.run_optimized(sql).unwrap_err();
    assert!(error.starts_with("not supported"), "{sql}: {error}");
}

/// Checks that a constant of a statement raises its error.
fn check_divided_by_zero(database: &TestDatabase, sql: &str) {
    assert_eq!(database.run_optimized(sql).unwrap_err(), "division by zero", "{sql}");
}

/// Errors were raised for rows, 22P02 and 22012, 2026-11-26: what a constant decides is not run.
#[test]
fn nothing_is_evaluated_beside_a_constant_that_decides() {
    check_counts(&[
        ("1 <= (s::integer * null::integer)", "0"),
        ("null::numeric >= n / 0.0", "0"),
        ("s::integer >= 1 or true", "50"),
        ("id / 0 = 1 and false", "0"),
        ("not (id / 0 = 1 and false)", "50"),
        ("s::integer between symmetric 1 and null::integer", "0"),
        ("s::integer = 1 and null or id = 1", "1"),
        ("(id / 0 = null::bigint) is null", "50"),
        ("case when false then id / 0 when true then 2 else id / 0 end = 2", "50"),
        ("case when true then null::integer else id end = id / 0", "0"),
        ("(true and null::boolean) = (id / 0 = 1)", "0"),
        ("id / 0 = 1 or 1 <= 2", "50"),
        ("1 * (1::smallint / null::smallint) >= id / 0", "0"),
        ("id / 0 = 1 and id > 1 + nullif(1, 1)", "0"),
    ]);
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "with recursive w (c) as (select 1 union all select c + 1 from w where c < 3 and \
               not (c / 0 = 1 and false)) select count(*) from w";
    assert_eq!(database.rows(sql), [["3"]]);
}

/// It answered 21000, 2026-11-26: PostgreSQL does not run the query beside null.
#[test]
fn subquery_of_several_rows_beside_a_constant_that_decides_is_refused() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for condition in [
        "null::float8 not between (select f from t) and 1",
        "(select f from t) = 1 and false",
        "(select f from t) = 1 or true",
    ] {
        let answer = database.run_optimized(&format!("select id from t where {condition}"));
        // Where all of the condition is decided, there is an answer without the query.
        match answer {
            Ok(rows) => assert_eq!(rows.len(), if condition.ends_with("true") { 50 } else { 0 }),
            Err(error) => assert!(error.starts_with("not supported"), "{condition}: {error}"),
        }
    }
}

/// It answered 42803, 2026-11-26: PostgreSQL finds the query again among the keys.
#[test]
fn query_that_is_a_key_of_groups_is_refused() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let query = "(select max(u.id) from t u where u.a = t.k)";
    let sql = format!("select {query} from t group by {query}");
    check_refused(&database, &sql);
}

/// They were answered, 2026-11-27: PostgreSQL computes constants first, and raises their errors.
#[test]
fn constant_that_fails_beside_one_that_decides_raises_its_error() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for rest in [
        "where null::integer = 1 % 0",
        "where 1 / 0 = 1 and false",
        "where 1 / 0 = 1 or true",
        "where id / (1 / 0) = 1 and null::boolean",
        "where id / (1 / 0) = 1 and false",
        "where (null::integer - (id - 1 / 0)) = 1",
        "where case when id > 0 then 1 / 0 else 1 end = 1 and null::boolean",
        "join t u on null::boolean where t.id / (1 / 0) = 1",
        ", (select distinct 1, 1 / 0 from t) q",
    ] {
        check_divided_by_zero(&database, &format!("select t.id from t {rest}"));
    }
    check_counts(&[
        ("false and 1 / 0 = 1", "0"),
        ("true or 1 / 0 = 1", "50"),
        ("case when false then id / (1 / 0) else 1 end = 1 and null::boolean", "0"),
        ("coalesce(1, id / (1 / 0)) = 1 and 1 = 2", "0"),
        ("(id = 2 or 1 = 1 or id / (1 / 0) = 1) and 1 = 2", "0"),
    ]);
    let sql = "select coalesce('a', s)::integer from t where null::boolean";
    let message = "invalid input syntax for type integer: \"a\"";
    assert_eq!(database.run_optimized(sql).unwrap_err(), message);
}

/// One of both values was shown for both, 2026-11-28.
#[test]
fn lateral_queries_show_values_that_are_equal_and_look_different() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let rows = "(values (1, 1.5), (2, 1.50)) v(i, f)";
    let sql =
        format!("select i, l.x from {rows} join lateral (select distinct v.f from t) l(x) on true");
    let found = database.run_optimized(&format!("{sql} order by i"));
    assert_eq!(found, Ok(vec![vec!["1".into(), "1.5".into()], vec!["2".into(), "1.50".into()]]));
}

/// Errors of one side, 2026-11-28: constants that columns of queries in FROM bring, and those that
/// tests of constants decide, are known when a query is planned.
#[test]
fn constants_of_queries_in_from_decide_what_is_computed() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for (sql, rows) in [
        ("select case when 1 is not distinct from 3 then (select 1 / 0 from t) end", "-"),
        ("select case when 1 in (1) then null::integer end - max(1) from t where 1 / id < 2", "-"),
        ("select count(*) from (select distinct 1 / 0 from t) q where null::boolean", "0"),
        ("select count(*) from (select id, null::integer as c from t) q where 1 / 0 - c = 1", ""),
        ("select max(1 / id - c) from (select id, null::integer as c from t) q", "-"),
        ("select c from (select id, 2 as c from t) q where id = 3 and c in (1, 2)", "2"),
        (
            "select d::text::numeric * c from (values (timestamp '2024-03-01', null::int)) q(d, c)",
            "-",
        ),
        (
            "select count(q.c) from t left join (select id + 40 as i, 2 as c from t) q on i = id",
            "10",
        ),
    ] {
        match database.run_optimized(sql) {
            Ok(found) => assert_eq!(found, [[rows]], "{sql}"),
            Err(error) => assert_eq!((error.as_str(), rows), ("division by zero", ""), "{sql}"),
        }
    }
    let refused = "select (select 1 from t u where null = t.s || '' limit 1) from t group by t.n";
    let error = database.run_optimized(refused).unwrap_err();
    assert!(error.contains("uses ungrouped column"), "{error}");
}

/// They answered 22012, 2026-11-27: PostgreSQL computes no aggregate that is not read.
#[test]
fn aggregate_that_is_not_read_does_not_fail() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for (groups, count) in
        [("", "1"), ("group by id", "50"), ("group by rollup (id)", "51"), ("having true", "1")]
    {
        let sql =
            format!("select count(*) from (select max(1 / (id - id)) as m from t {groups}) q");
        assert_eq!(database.rows(&sql), [[count]], "{sql}");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec![count.to_owned()]]), "{sql}");
        let read = sql.replace("count(*)", "count(q.m)");
        assert!(database.run_optimized(&read).is_err(), "{read}");
    }
    let sql = "select count(*) from t where exists (select max(1 / (id - id)) from t)";
    assert_eq!(database.run_optimized(sql), Ok(vec![vec!["50".into()]]));
}

/// It answered 42804, 2026-11-27: a cast to a type without a modifier leaves none.
#[test]
fn cast_takes_the_modifier_of_a_type_away() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "with recursive w (c, x) as (select 0, n::numeric from t where id < 3 union all \
               select c + 1, 1.0 from w where c < 2) select count(*) from w";
    assert_eq!(database.rows(sql), [["9"]]);
    let sql = "select n::numeric, count(*) from t where n::numeric > 20 group by n order by 1";
    let plain = sql.replace("::numeric", "");
    assert_eq!(database.run_optimized(sql), database.run_optimized(&plain));
    assert!(!database.ordered_rows(sql).is_empty());
}

/// It answered 42803, 2026-11-27.
#[test]
fn query_in_grouping_is_refused() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let query = "(select max(u.id) from t u where u.a = t.k)";
    let sql = format!("select grouping({query}) from t group by rollup ({query}, s)");
    check_refused(&database, &sql);
}

/// It answered 22012, 2026-11-27: an outer join that nothing is read of is not run.
#[test]
fn outer_join_of_which_nothing_is_read_does_not_fail() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let side = "(select k, max(1 / (id - 4)) as m from t group by k) s on s.k = t.k";
    let sql = format!("select count(*), max(q.id) from (select t.id from t left join {side}) q");
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["50".into(), "49".into()]]), "{sql}");
    let read = sql.replace("select t.id", "select t.id + coalesce(s.m, 0) as id");
    assert!(database.run_optimized(&read).is_err(), "{read}");
}

/// It answered 21000, 2026-11-27: the frame of the only row is empty.
#[test]
fn query_in_a_window_function_that_skips_rows_is_refused() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for call in [
        "last_value((select k from t)) over (order by c rows between 2 preceding and 1 preceding)",
        "lag((select k from t)) over (order by v.c)",
        "sum((select k from t)) over (order by v.c rows between 2 preceding and 1 preceding)",
        "max((select k from t)) over (order by v.c rows unbounded preceding exclude current row)",
    ] {
        check_refused(&database, &format!("select {call} from (values (1)) v (c)"));
    }
}

/// It answered 21000, 2026-11-27: one row is left of HAVING without aggregates, of any rows.
#[test]
fn rows_below_having_without_aggregates_are_not_made() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for below in ["(select k from t) = 1", "1 / (v.id - v.id) = 1"] {
        let query = format!("select 1 from t v where {below} having t.o");
        let sql = format!("select count(*) from t where ({query}) = 1 or ({query}) is null");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["50".to_owned()]]), "{sql}");
    }
    check_divided_by_zero(&database, "select 1 from t where k / (1 / 0) = 1 having true");
}

/// It answered 21000, 2026-11-27: PostgreSQL computes constants before values of queries.
#[test]
fn query_beside_a_constant_that_is_not_true_is_not_run() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for rest in ["between 1 and null::integer", "= 1 and 1 = 2"] {
        let sql = format!("select count(*) from t where (select k from t) {rest}");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["0".to_owned()]]), "{sql}");
    }
}

/// It answered 22012, 2026-11-27: PostgreSQL does not plan a query whose value is not read.
#[test]
fn query_whose_value_is_not_read_is_not_planned() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for value in ["(select 1 from t u where 1 % 0 < 1)", "(select sum(1 / 0) from t u)"] {
        let sql = format!("select count(q.id) from (select id, {value} as n from t) q");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["50".to_owned()]]), "{sql}");
        check_divided_by_zero(&database, &format!("select id, {value} from t"));
    }
}

/// It answered 22012, 2026-11-27: PostgreSQL plans no query whose answer a constant decides.
#[test]
fn query_that_a_constant_decides_is_not_planned() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for condition in [
        "'a' >= all (select 'a'::text from t v where v.f = (1::real / 0::real))",
        "id in (select v.id from t v where v.f = (1::real / 0::real))",
        "exists (select v.id from t v where v.f = (1::real / 0::real))",
        "(select v.id from t v where v.f = (1::real / 0::real)) = 1",
    ] {
        let sql = format!("select count(*) from t where {condition} or true");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["50".to_owned()]]), "{sql}");
        check_divided_by_zero(&database, &format!("select id from t where {condition} or id = 3"));
    }
}

/// It answered 22012, 2026-11-28: PostgreSQL makes no rows below aggregates that are not read.
#[test]
fn rows_below_aggregates_that_are_not_read_are_not_made() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for below in ["1 / (v.id - v.id) = 1", "(select k from t) = 1"] {
        let sql = format!("select 7 from (select sum(1), max(id) from t v where {below}) q");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["7".to_owned()]]), "{sql}");
    }
    for below in ["1 / (1 / 0) = 1", "true group by id / (id - id)", "true having 1 / 0 > sum(1)"] {
        let sql = format!("select 7 from (select sum(id) from t v where {below}) q");
        check_divided_by_zero(&database, &sql);
    }
}

/// It answered 22012, 2026-11-28: a condition without columns is computed behind those in front.
#[test]
fn condition_without_columns_is_computed_behind_another_one() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let first = ["1 = (select 2)", "exists (select 1 from t where id < 0)"];
    let second = [
        "exists (select 1 from t v where 1 / (v.id - v.id) = 1)",
        "1 in (select 1 / (v.id - v.id) from t v)",
        "(select id from t) = 1",
    ];
    for (first, second) in first.iter().flat_map(|first| second.iter().map(move |one| (first, one)))
    {
        let sql = format!("select count(*) from t where {first} and {second}");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["0".to_owned()]]), "{sql}");
    }
    for second in &second[..2] {
        let first = "not exists (select 1 from t where id < 0)";
        let sql = format!("select count(*) from t where {first} and {second}");
        check_divided_by_zero(&database, &sql);
    }
}

/// It answered 22012, 2026-11-28: a cast of a constant that does not fail is nothing in the way of
/// null.
#[test]
fn null_decides_beside_constants_that_do_not_fail() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for zero in ["0::smallint", "(-0)::smallint", "+(0::bigint)::integer"] {
        let sql = format!("select count((id % {zero}) % (id * (null::integer % 1))) from t");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["0".to_owned()]]), "{sql}");
        check_divided_by_zero(&database, &format!("select (id % {zero}) % (id * 1) from t"));
    }
}

/// It ended with XX000, 2026-11-28: windows are computed before queries look for their values.
#[test]
fn queries_look_for_values_of_windows() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for (value, wanted) in [
        ("row_number() over (order by id) in (select id from t v where id < 4)", 3),
        ("row_number() over (order by id) not in (select id from t v where id < 4)", 47),
        ("sum((select count(*) from t v where v.id = t.id)) over () = all (select 50)", 50),
        ("exists (select 1 from t v where v.id = t.id) and count(*) over () > any (select 1)", 50),
    ] {
        let sql = format!("select count(*) from (select {value} as found from t) q where found");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec![wanted.to_string()]]), "{sql}");
    }
}

/// It answered 22012, 2026-11-28: COALESCE of a cast constant asks for nothing else.
#[test]
fn nothing_is_asked_for_behind_a_cast_constant() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let query = "(select 'b'::char(3) from t v where v.id - 1 / 0 > 1)";
    let sql = format!("select count(coalesce('a'::char(3), {query})) from t");
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["50".to_owned()]]), "{sql}");
    check_divided_by_zero(&database, &format!("select coalesce(null::char(3), {query}) from t"));
}

/// -1 came in front of -1.00009, 2026-11-28: where digits of numerics without a scale are zero.
#[test]
fn numerics_below_zero_are_in_order() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let rows = "(values (0.000000), (-0.000090), (-0.000001), (-1.5), (99999999)) v(x)";
    let value = "x - 1 - round(x, -1)";
    let sql = format!("select {value} from {rows} order by 1");
    let expected = ["-2.5", "-2", "-1.000090", "-1.000001", "-1.000000"];
    assert_eq!(database.run_optimized(&sql), Ok(expected.map(|one| vec![one.into()]).to_vec()));
    let sql = format!("select count(*) from {rows} where {value} < -1.00005");
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["3".into()]]));
}

/// It answered 42803, 2026-11-28: folding takes a name out of an aggregate of the query around.
#[test]
fn names_that_folding_takes_out_of_aggregates_are_grouped() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let value = "max((select 1 from t w where v.a > 3 and false))";
    let query = |more: &str| format!("select (select {value}{more} from t u limit 1) from t v");
    assert_eq!(database.run_optimized(&query("")), Ok(vec![vec!["-".into()]]));
    let ungrouped = "subquery uses ungrouped column \"v.a\" from outer query";
    assert_eq!(database.run_optimized(&query(" + v.a")).unwrap_err(), ungrouped);
}

/// It answered 22012, 2026-11-28: only what stood as a constant in VALUES was one.
#[test]
fn constant_expressions_in_a_row_of_values_decide_case() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let value = "case 1 when v.c then 1 / (v.b - 5) else 7 end";
    for values in
        ["(values (5, (-2))) v(b, c)", "(select 1) q(x), lateral (values (5, x - 2)) v(b, c)"]
    {
        let sql = format!("select {value} from {values}");
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["7".into()]]), "{sql}");
    }
}

/// It answered 22003, 2026-11-28: null below OR decides a condition that NOT stands around.
#[test]
fn nulls_decide_below_not() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let count = |condition: &str| {
        database.run_optimized(&format!("select count(*) from t where {condition}"))
    };
    let fails = "1 / (id - 5) > 0";
    for (condition, found) in [
        (format!("not ({fails} or null)"), "0"),
        (format!("not (not (not ({fails} or null) and id > 3) and id > 3)"), "4"),
        ("not (id > 3 and null)".to_owned(), "4"),
        ("not (not (id > 3 or null) or id > 9)".to_owned(), "6"),
    ] {
        assert_eq!(count(&condition), Ok(vec![vec![found.into()]]), "{condition}");
    }
    check_divided_by_zero(&database, &format!("select 1 from t where not ({fails} and null)"));
}

/// It answered 22012, 2026-11-28: PostgreSQL keeps columns of queries in FROM apart from grouping
/// sets, so that their constants are computed for rows.
#[test]
fn constants_of_queries_below_grouping_sets_are_no_constants() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "select c, count(*) from (select 1 as c, a from t where a > 1000) q \
               where 1 / (c - 1) > a group by rollup(c)";
    assert_eq!(database.run_optimized(sql), Ok(vec![vec!["-".into(), "0".into()]]));
    check_divided_by_zero(&database, &sql.replace("rollup(c)", "c"));
}

/// It answered 22012, 2026-11-28: queries within an unread query of WITH are not planned.
#[test]
fn unread_queries_of_with_are_not_planned() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "with w as (select a from t where a in (select 1 from \
               (select id from t where id + 1 > 1) x, t y where 1 / 0 <> 1)) select 1";
    assert_eq!(database.run_optimized(sql), Ok(vec![vec!["1".into()]]));
    check_divided_by_zero(&database, &format!("{sql} from w"));
}

/// It answered 22012, 2026-11-28: a query within outputs hid that their query has groups.
#[test]
fn constants_beside_queries_in_outputs_of_groups_are_none_outside() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let value = "(select max(u.id) from t u where u.d < t.d)";
    let sql = format!("select 1 / c from (select 0, {value} from t group by d having false) q(c)");
    assert_eq!(database.run_optimized(&sql), Ok(Vec::new()));
    check_divided_by_zero(&database, &sql.replace("group by d having false", "where false"));
}

/// It had rows, 2026-11-28: null decides a condition, which took a name out of it that PostgreSQL
/// does not find among the groups.
#[test]
fn names_that_nulls_take_out_of_conditions_are_grouped() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let query = |value: &str| {
        let within = format!("select max(1) from t u where u.id < null and u.id < {value}");
        database.run_optimized(&format!("select ({within}) from t v group by v.a, abs(v.id)"))
    };
    let ungrouped = "subquery uses ungrouped column \"v.id\" from outer query";
    assert_eq!(query("abs(v.id)").unwrap_err(), ungrouped);
    let deep = "null + (select max(w.a) from (select v.id as a from t) w)";
    assert_eq!(query(&format!("({deep})")).unwrap_err(), ungrouped);
    assert!(query("abs(v.a)").is_ok());
}

/// It answered 22012, 2026-11-28: a condition makes a left join of a full one, whose right side is
/// not read.
#[test]
fn full_joins_with_a_condition_above_may_be_left_out() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let query = "(select max(1 / (id - 3)) from t) q(m)";
    let sql = format!("select count(*) from t full join {query} on t.id = m where t.id < 5");
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["5".into()]]));
    check_divided_by_zero(&database, &sql.replace(" where t.id < 5", ""));
    let query = "(select 1 / (id - 3) from t except select 7) q(m)";
    let sql = format!("select count(*) from t full join {query} on t.id = m where t.id < 5");
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["5".into()]]));
    check_divided_by_zero(&database, &sql.replace("except", "except all"));
}

/// It answered 22012, 2026-11-28: what may fail was evaluated for rows of the left side that a
/// condition leaves out.
#[test]
fn lateral_queries_are_evaluated_for_rows_that_conditions_leave() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let query = "lateral (select 0 union select 1 / v.id from t u) l(c)";
    let sql =
        format!("select count(*) from t v left join t w on v.id = w.id, {query} where v.id > 0");
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["50".into()]]));
    check_divided_by_zero(&database, &sql.replace("v.id > 0", "v.id > -1"));
    let refused = database.run_optimized(&sql.replace("v.id > 0", "v.id - 1 > -1")).unwrap_err();
    assert_eq!(refused, "not supported: conditions that may fail above LATERAL queries that may");
}

/// It answered 22012, 2026-11-28: PostgreSQL does not plan a query of groups below a condition that
/// is never true.
#[test]
fn unread_queries_of_groups_are_not_planned() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let constant = "(select min(id) from t where 1 / 0 = 1)";
    let sql = format!(
        "select count(*) from (select {constant}, sum(1) from t) q(m) where 0 is null \
         group by rollup(m)"
    );
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["0".into()]]));
    check_divided_by_zero(&database, &sql.replace("0 is null", "0 is not null"));
}

/// It answered 22012, 2026-11-28: PostgreSQL plans no query whose value no output reads.
#[test]
fn unread_queries_in_outputs_are_not_planned() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "select count(*) from (select id, (select max(id) from t where 0 < 1 / 0) from t) q";
    assert_eq!(database.run_optimized(sql), Ok(vec![vec!["50".into()]]));
    check_divided_by_zero(&database, &sql.replace("count(*)", "*"));
    check_divided_by_zero(&database, &format!("{} where false", sql.replace("count(*)", "*")));
}

/// The sign was lost, 2026-11-28: a group shows the value of a row, and 0 and -0 are one group.
#[test]
fn groups_show_negative_zeros() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let zero = "-2 * (id - 3)::float8";
    for sql in [
        format!("select ({zero})::text from t where id = 3 group by {zero}"),
        format!("select z::text from (select distinct {zero} as z from t where id = 3) q"),
    ] {
        assert_eq!(database.run_optimized(&sql), Ok(vec![vec!["-0".into()]]), "{sql}");
    }
    let both =
        format!("select count(*) from (select {zero} z from t where id = 3 union select 0) q");
    assert_eq!(database.run_optimized(&both), Ok(vec![vec!["1".into()]]));
}

/// It had no rows, 2026-11-28: a query that is a condition is computed beside a series without
/// rows, too.
#[test]
fn series_without_rows_are_read() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "select 1 from generate_series(3, 2) g(c) group by c having (select true from t)";
    let error = database.run_optimized(sql).unwrap_err();
    assert_eq!(error, "more than one row returned by a subquery used as an expression");
}

/// It was an internal error, 2026-11-28.
#[test]
fn aggregates_of_an_outer_query_do_not_nest() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "select (select 1 having every(bool_and((select v.id > 0)))) from t v";
    let error = database.run_optimized(sql).unwrap_err();
    assert_eq!(error, "aggregate function calls cannot be nested");
}

/// It had rows, 2026-11-28: nothing reads the outputs of EXISTS, whose names are grouped all the
/// same.
#[test]
fn names_in_outputs_of_exists_are_grouped() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "select (select 1 where exists (select (select 2 from t u where u.id = abs(v.id)) \
               from t w)) from t v group by abs(1)";
    let error = database.run_optimized(sql).unwrap_err();
    assert_eq!(error, "subquery uses ungrouped column \"v.id\" from outer query");
}

/// It was an internal error, 2026-11-28: the rows of a build side are kept, not the table of a full
/// join.
#[test]
fn rows_of_full_joins_are_kept_in_called_queries() {
    let (database, rows) = TestDatabase::of_rows(50, 30, 20);
    let windows = "(select nth_value(v.id, 2) over (order by u.a desc, u.id), \
                   row_number() over (order by u.id) from t u where false) x(c, d)";
    let sql = format!(
        "select count(*) from t v where 1 in (select 1 from (values (0.0, 2::bigint)) w(c, d) \
         full join {windows} on w.d = x.d, t y group by x.c)"
    );
    assert_eq!(database.run_optimized(&sql), Ok(vec![vec![rows.len().to_string()]]));
}
