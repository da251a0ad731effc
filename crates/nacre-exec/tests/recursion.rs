//! WITH RECURSIVE and values of queries that are computed once, beside a PostgreSQL 15 server where
//! its programs are.

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
    "with recursive r (n, s) as (select 1, 'a'::text union all select n + 1, s || 'b' from r where \
     n < 6) select n, s from r",
    "with recursive r (n) as (select 1.5 union all select n * 1.1 from r where n < 20) select n \
     from r",
    "with recursive r (n) as (values (1.0), (1.00), (2.5) union select n / 2 from r where n > 0.4) \
     select count(*), sum(n) from r",
    "with recursive r (id, depth) as (select id, 0 from t where id = 1 union all select t.id, \
     r.depth + 1 from t join r on t.a = r.id % 7 and t.id > r.id where r.depth < 2) select depth, \
     count(*), min(id) from r group by depth",
    "with recursive r (a) as (select a from t where id < 5 union select t.k::integer from t join r \
     on t.a = r.a) select a from r",
    "with recursive r (a) as (select a from t where id < 9 union select k::integer from t, r where \
     t.a = r.a and k is not null) select count(*) from r",
    "with recursive r (n) as (select 1::bigint union all select max(id) from (select id from t, r \
     where t.id = r.n + 1) s having max(id) < 6) select n from r",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 3), s (m) as (select \
     n from r union all select m + 10 from s where m < 20) select m from s",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select x.n, y.n \
     from r x join r y on x.n = y.n + 1",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 50) select t.id, n \
     from t join r on t.id = r.n where t.a = 3",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select id from t \
     where id in (select n from r)",
    "with recursive c as (select a from t where id < 9) select count(*) from c",
    "with recursive c as (select a from t where id < 9 union select k from t) select count(*) from \
     c",
    "with recursive r (n) as (select 1 union all (select n + 1 from r where n < 5 order by 1 limit \
     1)) select n from r",
    "with recursive r (n) as (select null::integer union select n from r) select n from r",
    "with recursive r (d) as (select date '2020-01-30' union all select d + 1 from r where d < date \
     '2020-02-03') select d from r",
    "with recursive r (o) as (select true union select not o from r) select o from r",
    "with recursive r (f) as (select 0::double precision union select -f from r) select count(*) \
     from r",
    "select count(*) from (with recursive r (n) as (select 1 union all select n + 1 from r where n \
     < 9) select n from r) s",
    "with recursive r (n) as (select 0 union all select row_number() over ()::integer + n from r \
     where n < 5) select n from r",
    "with recursive r (n) as (select 1 union all select 10 / (n - 3) from r) select n from r",
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
    "select o.id, case when o.a = 3 then (select i.id from t i where i.a = o.a) end from t o where \
     o.id < 3 and o.a <> 3",
    "select o.id, (select i.s from t i where i.id = o.id) from t o where o.id < 20 order by 1 limit \
     3",
    "select o.id, (select i.o from t i where i.id = o.id), (select i.c from t i where i.id = o.id) \
     from t o where o.id < 9 order by 1 limit 3",
    "select x from (select o.id, (select i.n from t i where i.id = o.id) as x from t o) s where id \
     < 9",
    "select x from (select o.id, (select i.id from t i where i.a = o.a) as x from t o) s where id \
     < 9",
    "select p.id, q.id from t p left join t q on p.id = q.id and q.a > (select min(a) from t) where \
     p.id < 9",
    "select p.id, q.id from t p left join t q on p.id = q.id and exists (select from t i where i.k \
     = q.a) where p.id < 20",
    "select p.id, q.id from t p left join t q on p.id = q.id and exists (select from t i where i.k \
     = p.a) where p.id < 20",
    "select p.id, q.id from t p full join t q on p.id = q.id + 1 and p.a in (select k from t where \
     id < 30) where p.id < 20 or q.id < 20",
    "values ((select max(id) from t), 1), (2, (select count(*) from t))",
    "select * from (values (1, (select min(a) from t)), (2, 3)) v (x, y) where y < 100",
    "with v as (select a, rank() over (order by a, id) as place from t) select x.place, y.a from v \
     x, v y, v z where x.place = y.place + 1 and z.place = x.place - 1 and x.place < 9",
    "with v as (select a, count(*) as m from t group by a) select x.a from v x join v y on x.m + 1 \
     = y.m - 1",
    "with v as (select a, n / k as q from t where k <> 0) select x.a, y.q from v x join v y on x.a \
     = y.a where x.q > 1",
    "with v as (select a, n / (k - k) as q from t) select x.a from v x join v y on x.a = y.a",
];

#[test]
fn answers_are_those_of_postgresql() {
    let (database, rows) = TestDatabase::of_rows(400, 300, 200);
    let statements = RECURSIVE.iter().chain(VALUES);
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

/// Never ends.
const ENDLESS: &str = "with recursive r (n) as (select 1 union all select n % 1000 + 1 from r) select count(*) from r";

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
