//! WITH RECURSIVE, values of queries that are computed once, and functions of sets, beside a
//! PostgreSQL 15 server where its programs are.

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
use nacre_exec::lower::lower_query;
use nacre_exec::plan::PhysicalPlan;
use nacre_plan::optimizer::optimize;
use postgres::compare;
use support::pool;
use support::statements::TestDatabase;

/// Recursive statements.
const RECURSIVE: &[&str] = &[
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 20) select n from r",
    "with recursive r (n) as (select 1 union all select n + 1 from r) select n from r limit 10",
    "with recursive r (n) as (select 1 union all select n + 1 from r) select n * 2 from r limit 5",
    "with recursive r (n) as (select 1 union all select n + 1 from r) select n from r offset 3 \
     limit 4",
    "with recursive r (n) as (select 2147483645 union all select n + 1 from r) select n from r \
     limit 3",
    "with recursive r (n) as (select 2147483645 union all select n + 1 from r) select n from r \
     limit 4",
    "with recursive r (n) as (values (3), (1), (2) union all select 6 / (n - 1) from r) select n \
     from r limit 4",
    "with recursive r (n) as (values (3), (1), (2) union all select 6 / (n - 1) from r) select n \
     from r limit 5",
    "with recursive r (n) as (select 1 union select (n * 2) % 7 from r) select n from r",
    "with recursive r (n, m) as (select 1, 1 union select n, 3 - m from r) select n, m from r",
    "with recursive r as (select 1 as a, 1 as b union all select a + 1, b * 2 from r where a < 9) \
     select a, b from r",
    "with recursive r (n, s) as (select 1, 'a'::text union all select n + 1, s || 'b' from r \
     where n < 6) select n, s from r",
    "with recursive r (n) as (select 1.5 union all select n * 1.1 from r where n < 20) select n \
     from r",
    "with recursive r (n) as (values (1.0), (1.00), (2.5) union select n / 2 from r where n > \
     0.4) select count(*), sum(n) from r",
    "with recursive r (id, depth) as (select id, 0 from t where id = 1 union all select t.id, \
     r.depth + 1 from t join r on t.a = r.id % 7 and t.id > r.id where r.depth < 2) select depth, \
     count(*), min(id) from r group by depth",
    "with recursive r (a) as (select a from t where id < 5 union select t.k::integer from t join \
     r on t.a = r.a) select a from r",
    "with recursive r (a) as (select a from t where id < 9 union select k::integer from t, r \
     where t.a = r.a and k is not null) select count(*) from r",
    "with recursive r (n) as (select 1::bigint union all select max(id) from (select id from t, r \
     where t.id = r.n + 1) s having max(id) < 6) select n from r",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 3), s (m) as \
     (select n from r union all select m + 10 from s where m < 20) select m from s",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select x.n, y.n \
     from r x join r y on x.n = y.n + 1",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 50) select t.id, n \
     from t join r on t.id = r.n where t.a = 3",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select id from \
     t where id in (select n from r)",
    "with recursive c as (select a from t where id < 9) select count(*) from c",
    "with recursive c as (select a from t where id < 9 union select k from t) select count(*) \
     from c",
    "with recursive r (n) as (select 1 union all (select n + 1 from r where n < 5 order by 1 \
     limit 1)) select n from r",
    "with recursive r (n) as (select null::integer union select n from r) select n from r",
    "with recursive r (d) as (select date '2020-01-30' union all select d + 1 from r where d < \
     date '2020-02-03') select d from r",
    "with recursive r (o) as (select true union select not o from r) select o from r",
    "with recursive r (f) as (select 0::double precision union select -f from r) select count(*) \
     from r",
    "select count(*) from (with recursive r (n) as (select 1 union all select n + 1 from r where \
     n < 9) select n from r) s",
    "with recursive r (n) as (select 0 union all select row_number() over ()::integer + n from r \
     where n < 5) select n from r",
    "with recursive r (n) as (select 5 union all select 6 / (n - 3) from r) select n from r",
    "with recursive r (n) as (select 1 union all select max(j.n) + 1 from (r join t on true) as j \
     where j.n < 3) select n from r",
];

/// Statements with queries that are values and may fail or have several rows.
const VALUES: &[&str] = &[
    "select id from t where a = (select distinct a from t where id = 7) order by 1 limit 5",
    "select count(*) from t where a = (select a from t where id < 3)",
    "select count(*) from t where id < 0 and a = (select a from t where id < 3)",
    "select case when id > 0 then id else (select a from t) end from t where id < 9",
    "select case when id > 5 then id else (select a from t) end from t where id < 9",
    "select id, (select a from t where id = 3) from t where id < 9 limit 4",
    "select id, (select a from t) from t where id < 9 limit 4",
    "select id, (select a from t) from t where id < 0",
    "select s.x from (select id, (select a from t where id = 4) as x from t) s where s.id < 4",
    "select id from t where a between (select distinct a + 1 from t where id = 6) and (select \
     distinct a + 3 from t where id = 6)",
    "select id from t where id < 9 and a > (select 1 / (id - 4) from t where id = 4)",
    "select id from t where id < 0 and a > (select 1 / (id - 4) from t where id = 4)",
    "select coalesce(a, (select 1 / (id - 4) from t where id = 4)) from t where a is not null and \
     id < 9",
    "select count(*) from t where n > 1.5 * (select n from t where id = 11)",
    "select n / (select n from t where id = 12) from t where id < 9",
    "select count(*) from t group by a having count(*) > (select k from t where id = 5)",
    "select o.id, case when o.id > 3 then (select i.a from t i where i.id = o.id) end from t o \
     where o.id < 9",
    "select o.id, case when o.a = 3 then (select i.id from t i where i.a = o.a) end from t o \
     where o.id < 3 and o.a <> 3",
    "select o.id, (select i.s from t i where i.id = o.id) from t o where o.id < 20 order by 1 \
     limit 3",
    "select o.id, (select i.o from t i where i.id = o.id), (select i.c from t i where i.id = \
     o.id) from t o where o.id < 9 order by 1 limit 3",
    "select x from (select o.id, (select i.n from t i where i.id = o.id) as x from t o) s where \
     id < 9",
    "select x from (select o.id, (select i.id from t i where i.a = o.a) as x from t o) s where id \
     < 9",
    "select p.id, q.id from t p left join t q on p.id = q.id and q.a > (select min(a) from t) \
     where p.id < 9",
    "select p.id, q.id from t p left join t q on p.id = q.id and exists (select from t i where \
     i.k = q.a) where p.id < 20",
    "select p.id, q.id from t p left join t q on p.id = q.id and exists (select from t i where \
     i.k = p.a) where p.id < 20",
    "select p.id, q.id from t p full join t q on p.id = q.id + 1 and p.a in (select k from t \
     where id < 30) where p.id < 20 or q.id < 20",
    "values ((select max(id) from t), 1), (2, (select count(*) from t))",
    "values ((select count(*) from t), 3), (2, 1), (9, 2), (1, 1) limit 3",
    "select * from (values (1, (select min(a) from t)), (2, 3)) v (x, y) where y < 100",
    "with v as (select a, rank() over (order by a, id) as place from t) select x.place, y.a from \
     v x, v y, v z where x.place = y.place + 1 and z.place = x.place - 1 and x.place < 9",
    "with v as (select a, count(*) as m from t group by a) select x.a from v x join v y on x.m + \
     1 = y.m - 1",
    "with v as (select a, n / k as q from t where k <> 0) select x.a, y.q from v x join v y on \
     x.a = y.a where x.q > 1",
    "with v as (select a, n / (k - k) as q from t) select x.a from v x join v y on x.a = y.a",
];

/// Statements with functions of sets.
const SETS: &[&str] = &[
    "select id, generate_series(1, 3) from t where id < 5",
    "select id, generate_series(1, a) from t where id < 30",
    "select id, generate_series(1, 3) from t order by id limit 4",
    "select g from (select 1, generate_series(1, 2) as g from t order by 1 limit 3) s order by 1",
    "select id, generate_series(1, 3) as g from t where id < 9 order by g desc, id limit 4",
    "select id, generate_series(1, 3) from t where id > 4 order by id fetch first 2 rows with ties",
    "select generate_series(1, 3), generate_series(1, 2), 7",
    "select generate_series(1, 3) + 10 * generate_series(1, 2)",
    "select generate_series(1, generate_series(1, 3))",
    "select distinct generate_series(1, a) from t where id < 30",
    "select a, generate_series(1, count(*)) from t where a is not null and id < 30 group by a",
    "select generate_series(1, 3) as g, count(*) from t where id < 9 group by 1",
    "select generate_series(1::bigint, 9, 4), generate_series(5, 1, -2)",
    "select generate_series(1, 2, 0)",
    "select generate_series(1.5, 4, 1.25), generate_series(3.0, 1)",
    "select generate_series(2147483646, 2147483647)",
    "select id, generate_series(1, 3) from t limit 5",
    "select unnest(string_to_array(s, 'a')) from t where id < 30",
    "select id, x from t, unnest(string_to_array(s, 'a')) with ordinality u (x, place) where id < \
     30 and place > 1",
    "select id, x from t, string_to_table(s, 'a') x where id < 30",
    "select string_to_table('a,b,,c', ',', ''), string_to_table('xyz', null)",
    "select t.id, g from t, generate_series(1, t.a) g where t.id < 30",
    "select t.id, g, n from t, generate_series(t.a, t.a + 2) with ordinality as s (g, n) where \
     t.id < 30",
    "select t.id, g from t left join lateral generate_series(1, t.a) g on true where t.id < 30",
    "select t.id, g from t left join lateral generate_series(1, t.a) g on g > 2 where t.id < 30",
    "select p.id, g from t p join t q on p.id = q.a, generate_series(q.a, 7) g where p.id < 5",
    "select * from rows from (generate_series(1, 3), string_to_table('a,b', ',')) with ordinality",
    "select * from rows from (generate_series(1, 2), generate_series(5, 7)) as r (x, y)",
    "select g from generate_series(timestamp '2020-01-31', timestamp '2020-06-30', interval '1 \
     month') g",
    "select g from generate_series(timestamp '2020-03-31', timestamp '2020-01-01', interval '-1 \
     month 1 day') g",
    "select t.id, g from t, generate_series(d::timestamp, d::timestamp + interval '3 months', \
     interval '1 month 2 days') g where t.id < 9",
    "select sum(g) from generate_series(1, 3) g, generate_series(1, g) h",
    "select id, (select sum(g) from generate_series(1, t.a) g) from t where id < 30",
    "select id from t where exists (select from generate_series(1, t.a) g where g = 3) and id < 60",
    "select g from (select generate_series(1, 9) as g) s where g % 2 = 0",
    "select count(*) from (select id, generate_series(1, 3) as g from t) s where id < 5",
    "with recursive r (n) as (select 1 union all select n + generate_series(1, 2) from r where n \
     < 4) select n from r",
];

/// Statements that are refused: PostgreSQL computes less, or more.
const REFUSED: &[&str] = &[
    "with recursive r (n) as (select 1 union all select n + 1 from r) select x.n from r x, r y \
     limit 3",
    "with recursive r (n) as (values (3), (1), (2) union all select 6 / (n - 1) from r) select n \
     from r union all select n from r limit 4",
    "with recursive r (n) as (select 1 union all select n + 1 from r) select case when id < 0 \
     then (select max(n) from r) end from t",
    "select t.id from t left join (select (select max(1 / (id - 4)) from t) as v, id from t) s on \
     s.id = -t.id and s.v > 0 limit 1",
    "values (1), ((select max(1 / (id - 4)) from t)) limit 1",
    "select s.x from (with c as (select 3) select 1 / (id - 4) as x, id from t) s join t on t.id = \
     s.id and t.id < 3",
];

/// Statements as those of TPC-DS that are hard.
const BENCHMARK: &[&str] = &[
    "with v as (select a, k, st, mean, case mean when 0 then null else st / mean end as cov from \
     (select a, k, stddev_samp(id) * 1.000 as st, avg(id) as mean from t group by a, k) s where \
     case mean when 0 then 0 else st / mean end > 0.1) select x.a, x.k, x.mean, x.cov, y.cov from \
     v x, v y where x.a = y.a and x.k = 1 and y.k = 1 + 1",
    "with v as (select a, k, sum(n) as total, avg(sum(n)) over (partition by a) as mean, rank() \
     over (partition by a order by k) as rn from t group by a, k), w as (select v.a, v.k, v.mean, \
     v.total, p.total as before, q.total as after from v, v p, v q where v.a = p.a and v.a = q.a \
     and v.rn = p.rn + 1 and v.rn = q.rn - 1) select * from w where k = 3 and mean > 0 and case \
     when mean > 0 then abs(total - mean) / mean else null end > 0.1 order by total - mean, 1, 2, \
     3 limit 100",
    "with r as (select a, sum(n) as revenue from t where k between (select distinct k + 1 from t \
     where id = 6) and (select distinct k + 3 from t where id = 6) group by a), s as (select \
     cast(round(revenue / 50) as int) as segment from r) select segment, count(*) as m, segment * \
     50 as base from s group by segment order by segment nulls first, m nulls first, base limit \
     100",
    "select p.s, count(*) as m from t p, t q where p.id = q.a and q.k = (select distinct k from t \
     where id = 8) and p.n > 0.2 * (select avg(j.n) from t j where j.a = p.a) group by p.s having \
     count(*) >= 1 order by m nulls first, p.s nulls first limit 100",
];

#[test]
fn answers_are_those_of_postgresql() {
    let (database, rows) = TestDatabase::of_rows(400, 300, 200);
    let statements = RECURSIVE.iter().chain(VALUES).chain(SETS).chain(BENCHMARK);
    let statements: Vec<String> = statements.map(|&sql| sql.to_owned()).collect();
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count * 3 > statements.len() * 2, "{count} have rows");
    }
    for sql in &statements {
        // Without a server, too, nothing is refused.
        let refused = database.run_optimized(sql).err();
        let refused = refused.filter(|error| error.starts_with("not supported"));
        assert_eq!(refused, None, "{sql}");
    }
}

#[test]
fn what_postgresql_computes_for_other_rows_is_refused() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let many = vec!["((select max(id) from t))"; 201].join(", ");
    let many = format!("values {many}");
    for sql in REFUSED.iter().copied().chain([many.as_str()]) {
        let error = database.run_optimized(sql).expect_err(sql);
        assert!(error.starts_with("not supported"), "{sql}: {error}");
    }
}

#[test]
fn rows_of_values_keep_their_order() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let rows: Vec<String> = (0..40).map(|n| format!("({n}, (select count(*) from t))")).collect();
    let answer = database.run_optimized(&format!("values {}", rows.join(", "))).unwrap();
    let expected: Vec<Vec<String>> = (0..40).map(|n| vec![n.to_string(), "50".into()]).collect();
    assert_eq!(answer, expected);
}

/// It had (1, 1) three times, 2026-11-26: rows with equal keys come one after the other.
#[test]
fn sets_of_rows_with_equal_keys_stay_together() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "select a, generate_series(1, 2) from (select 0 as a from t) s order by 1 limit 3";
    let expected = [["0", "1"], ["0", "2"], ["0", "1"]];
    assert_eq!(database.run_optimized(sql).unwrap(), expected);
}

/// Never ends.
const ENDLESS: &str = "with recursive r (n) as (select 1 union all select n % 1000 + 1 from r) \
                       select count(*) from r";

fn plan_of(database: &TestDatabase, sql: &str) -> PhysicalPlan {
    let plan = optimize(database.bind(sql), database);
    lower_query(&plan, database, &nacre_types::ValueSettings::default()).unwrap().plan
}

#[test]
fn an_endless_recursion_is_cancelled() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let statements = [
        ENDLESS,
        "with recursive r (n) as (select 1 union all select n % 1000 + 1 from r) select count(*) \
         from r x, r y",
    ];
    for sql in statements {
        let workers = pool(2);
        let mut stream = workers.execute(plan_of(&database, sql), QueryOptions::default()).unwrap();
        let control = stream.control();
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                control.cancel();
            });
            assert_eq!(stream.collect_batches().unwrap_err().kind(), ExecErrorKind::Canceled);
        });
        assert!(start.elapsed() < Duration::from_secs(30), "{sql}");
    }
}

/// Neither the number of its steps nor one step alone holds up other queries.
#[test]
fn queries_do_not_wait_for_an_endless_recursion() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let statements = [
        ENDLESS,
        "with recursive r (n) as (select 1 union all select n + 1 from r, generate_series(1, \
         100000000000) a where a + n < 0) select count(*) from r",
    ];
    for sql in statements {
        let workers = pool(1);
        // If the other query had to wait for its end, this one would fail, and not answer.
        let deadline = Some(Instant::now() + Duration::from_secs(60));
        let options = QueryOptions { deadline, ..QueryOptions::default() };
        let mut endless = workers.execute(plan_of(&database, sql), options).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        for _ in 0..3 {
            let short = plan_of(&database, "select count(*) from t where id >= 0");
            let mut stream = workers.execute(short, QueryOptions::default()).unwrap();
            assert_eq!(stream.collect_batches().unwrap().len(), 1);
        }
        assert!(endless.try_next_batch().expect(sql).is_none(), "{sql}");
    }
}

/// As in PostgreSQL, which makes no more rows of a recursion than are asked for.
#[test]
fn endless_recursions_of_which_few_rows_are_wanted_end() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let endless = "with recursive r (n) as (select 1 union all select n + 1 from r)";
    for (query, wanted) in [
        ("select count(*) from t where id < 7", "7"),
        ("select count(*) from t where false and id in (select n from r)", "0"),
        ("select count(*) from (select n from r limit 10) s", "10"),
        ("select max(n) from (select n from r where n > 20 limit 10) s", "30"),
        ("select sum(n) from (select n from r offset 5 fetch first 2 rows only) s", "13"),
        ("select (select n from r offset 4 limit 1)", "5"),
        ("select max(m) from (select n * 2 as m from r limit 4) s", "8"),
        ("select max(n) from (select 0 as n union all select n from r limit 9) s", "8"),
        ("select count(*) from t where exists (select from r) and id < 3", "3"),
        ("select count(*) from t where id in (select n from r limit 6)", "6"),
    ] {
        let sql = format!("{endless} {query}");
        let plan = optimize(database.bind(&sql), &database);
        let settings = nacre_types::ValueSettings::default();
        let query = lower_query(&plan, &database, &settings).unwrap_or_else(|error| {
            panic!("{sql}: {error}");
        });
        let workers = pool(2);
        let deadline = Some(Instant::now() + Duration::from_secs(20));
        let options = QueryOptions { deadline, ..QueryOptions::default() };
        let mut stream = workers.execute(query.plan, options).unwrap();
        let batches = stream.collect_batches().unwrap_or_else(|error| panic!("{sql}: {error}"));
        let batch = batches.first().expect(&sql);
        let value = query.outputs[0].value(batch, 0).unwrap();
        let text = support::statements::text_of(&value, query.outputs[0].sql_type);
        assert_eq!(text, wanted, "{sql}");
    }
}

#[test]
fn rows_of_a_recursion_count_against_the_budget() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for sql in [
        "with recursive r (n) as (select 1 union all select x.n + 1 from r x, t) select count(*) \
         from r",
        "with recursive r (n) as (select 1 union select n + 1 from r) select count(*) from r",
        "with recursive r (n) as (select 1 union all select n % 9 + 1 from r) select count(*) from \
         r x, r y",
    ] {
        let options = QueryOptions { memory_bytes_max: 1 << 20, ..QueryOptions::default() };
        let workers = pool(1);
        let mut stream = workers.execute(plan_of(&database, sql), options).unwrap();
        let error = stream.collect_batches().unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{sql}");
    }
}
