//! Queries of WITH that are computed once, and LATERAL ones, beside a PostgreSQL 15 server where
//! its programs are.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

#[path = "support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;
mod support;

use nacre_exec::ExecErrorKind;
use nacre_exec::dispatch::QueryOptions;
use nacre_exec::lower::lower_query;
use nacre_exec::plan::{CommonNode, CommonScanNode, PhysicalPlan, PlanNode};
use nacre_plan::optimizer::optimize;
use postgres::compare;
use support::pool;
use support::statements::TestDatabase;

/// Rows of the table `t`, of which the first are frozen.
const ROWS: i64 = 400;
const FROZEN: usize = 300;

/// Statements with queries that are computed once.
const COMMON: &[&str] = &[
    "with c as (select a, count(*) as n from t group by a) select x.a, y.n from c x join c y on \
     x.a = y.a where x.n > 3",
    "with c as (select a, sum(k) as total from t group by a) select a, total from c where total > \
     (select avg(total) from c)",
    "with c as (select k, avg(n) as mean from t group by k) select x.k, x.mean from c x join c y \
     on x.k = y.k",
    "with c as (select max(id) as last from t) select t.id from t, c where t.id = c.last union all \
     select last from c",
    "with c as materialized (select id, a from t where id < 30) select a, id from c where id > 10",
    "with c as not materialized (select id, a from t where id < 30) select x.a from c x, c y where \
     x.id = y.id + 1",
    "with c as (select a from t group by a), d as (select a from c where a > 3) select x.a, y.a \
     from d x, d y, c where x.a = c.a",
    "with c as (select a, count(*) as n from t group by a), d as (select n, count(*) as m from c \
     group by n) select c.a, d.m from c join d on c.n = d.n join d e on e.m = d.m",
    "with c as (select id, row_number() over (order by id desc) as place from t) select x.id from \
     c x join c y on x.place = y.place + 1 where x.id < 50",
    "with c as (select id from t order by id limit 5) select x.id, y.id from c x, c y",
    "with c as (select id, s from t order by id limit 9) select s from c where id in (select \
     id from c where id > 3)",
    "with c as (select a from t where a > 100) select count(*) from c x, c y",
    "with c as (select from t group by ()) select count(*) from c x, c y",
    "with c as (select distinct s from t) select count(*) from c union all select count(s) from c",
    "with c as (select s, c, d, o, f, n from t union select s, c, d, o, f, n from t) select x.s, \
     x.c, x.d, x.o, x.f, x.n from c x join c y on x.s = y.s and x.c = y.c where x.f > 1",
    "with c (x, y) as (select a, a from t group by a) select p.x, q.y from c p join c q on p.x = \
     q.y",
    "with c as (select a, count(*) as n from t group by a) select t.id, (select n from c where \
     c.a = t.a) from t where exists (select from c where c.a = t.k) and id < 60",
    "with c as (select a, 10 / (a - a + 1) as q from t) select x.a from c x join c y on x.a = y.a \
     where x.q > 1 and x.a < 3",
    "with c as (select a, 1 / (a - a) as q from t) select x.a from c x join c y on x.a = y.a",
    "select count(*) from (with c as (select a from t group by a) select x.a from c x, c y) s",
    "with c as (select a from t group by a) select a from c order by 1 limit 2",
    "with c as (select a, id from t where id < 20) select x.id, y.id from c x left join c y on x.a \
     = y.id order by 1, 2",
];

/// LATERAL statements.
const LATERAL: &[&str] = &[
    "select t.id, x.twice from t, lateral (select t.a * 2 as twice) x where t.id < 40",
    "select t.id, x.* from t cross join lateral (select t.a + 1 as p, t.k as q) x where id < 40",
    "select o.id, l.id from t o, lateral (select i.id from t i where i.k = o.a order by i.id limit \
     2) l where o.id < 60",
    "select o.id, l.id from t o left join lateral (select i.id from t i where i.k = o.a order by \
     i.id desc limit 1) l on true where o.id < 60",
    "select o.id, l.n from t o, lateral (select count(*) as n from t i where i.k = o.a) l where \
     o.id < 60",
    "select o.id, l.total from t o left join lateral (select sum(i.a) as total from t i where i.k \
     < o.a) l on l.total > 3 where o.id < 60",
    "select o.id, l.x from t o, lateral (select o.a as x union all select o.k union all select i.a \
     from t i where i.id = o.k) l where o.id < 60",
    "select o.id, l.x from t o, lateral (values (o.a), (o.k), (7)) l (x) where o.id < 60",
    "select o.id, l.place from t o, lateral (select i.id, row_number() over (order by i.id) as \
     place from t i where i.k = o.a) l where l.id = o.id + 3",
    "select o.id, m.x from t o, lateral (select i.a from t i where i.id = o.id + 1) l, lateral \
     (select l.a + o.a as x) m where o.id < 60",
    "select o.id, l.id from t o, (t p join lateral (select i.id from t i where i.id = o.id and i.k \
     = p.k) l on true) where p.id = o.id and o.id < 30",
    "select o.id, l.a from t o left join lateral (select i.a from t i where i.id = o.id + 1 and \
     i.o) l on l.a > o.a where o.id < 60",
    "with c as (select k, count(*) as n from t group by k) select o.id, l.n from t o, lateral \
     (select c.n from c where c.k = o.a) l, c where c.k = o.k and o.id < 60",
    "select id from t o where exists (select from t i, lateral (select i.a where i.k = o.k) l \
     where l.a = o.a) and id < 100",
    "select count(*) from t o, lateral (select from t i where i.k = o.a) l where o.id < 60",
];

#[test]
fn answers_are_those_of_postgresql() {
    let (database, rows) = TestDatabase::of_rows(ROWS, FROZEN, 200);
    let statements = COMMON.iter().chain(LATERAL);
    let statements: Vec<String> = statements.map(|&sql| sql.to_owned()).collect();
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count * 4 > statements.len() * 3, "{count} have rows");
    }
    for sql in &statements {
        // Without a server, too, nothing is refused.
        let refused = database.run_optimized(sql).err();
        let refused = refused.filter(|error| error.starts_with("not supported"));
        assert_eq!(refused, None, "{sql}");
    }
}

#[test]
fn lateral_queries_that_may_end_before_they_fail_are_not_supported() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for sql in [
        "select l.x from t o, lateral (select i.id from t i where 1 / i.a > o.a limit 2) l (x)",
        "select l.x from t o, lateral (select i.id from t i where i.k = o.a limit o.id) l (x)",
    ] {
        let error = database.run_optimized(sql).expect_err(sql);
        assert!(error.starts_with("not supported: "), "{sql}: {error}");
    }
}

/// Returns how many nodes of a plan there are that `is_so`.
fn count_nodes(node: &nacre_exec::plan::OperatorDescription, name: &str) -> usize {
    let below: usize = node.inputs.iter().map(|input| count_nodes(input, name)).sum();
    below + usize::from(node.name == name)
}

#[test]
fn what_is_read_twice_is_computed_once() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for (sql, scans, readers) in [
        ("with c as (select a, count(*) from t group by a) select 1 from c x, c y", 1, 2),
        ("with c as (select a, count(*) from t group by a) select 1 from c", 1, 0),
        ("with c as materialized (select a from t) select 1 from c", 1, 1),
        ("with c as (select a from t where a > 3) select 1 from c x, c y", 2, 0),
        ("with c as materialized (select a from t where a > 3) select 1 from c x, c y", 1, 2),
        ("with c as not materialized (select distinct a from t) select 1 from c x, c y", 2, 0),
        ("with c as not materialized (select a from t limit 3) select 1 from c x, c y", 1, 2),
        ("with c as (select distinct a from t), d as (select a from c x) select 1 from c, d", 1, 2),
        ("with c as materialized (select a from t), d as (select 1) select 1 from d", 0, 0),
    ] {
        let plan = optimize(database.bind(sql), &database);
        let root = lower_query(&plan, &database, &nacre_types::ValueSettings::default())
            .unwrap()
            .plan
            .root
            .describe();
        let found = (count_nodes(&root, "Scan"), count_nodes(&root, "Common rows"));
        assert_eq!(found, (scans, readers), "{sql}");
    }
    // What is not read where it stands is not computed, so that it does not fail.
    for sql in [
        "with c as materialized (select 1 / (id - id) as q from t) select * from c where false",
        "with c as materialized (select 1 / (id - id) as q from t) select * from c limit 0",
        "with c as (select 1 / (id - id) as q from t) select 1 from c x, c y where 1 = 0",
        "with c as (select 1 / (id - id) as q from t), d as (select q from c union all select q \
         from c) select 1 from d x, d y where 1 = 0",
    ] {
        assert_eq!(database.run_optimized(sql), Ok(Vec::new()), "{sql}");
    }
}

/// Reads all of a large table twice.
const KEPT: &str = "with c as materialized (select a, s, n from t) select count(*) from c x";

#[test]
fn kept_rows_count_against_the_budget() {
    let (database, _) = TestDatabase::of_rows(40_000, 30_000, 10_000);
    let plan = optimize(database.bind(KEPT), &database);
    let plan = lower_query(&plan, &database, &nacre_types::ValueSettings::default()).unwrap().plan;
    let options = QueryOptions { memory_bytes_max: 64 << 10, ..QueryOptions::default() };
    let workers = pool(2);
    let mut stream = workers.execute(plan, QueryOptions::default()).unwrap();
    assert_eq!(stream.collect_batches().unwrap()[0].rows, 1);
    let sql = KEPT.replace("count(*)", "count(a), count(s), count(n)");
    let plan = optimize(database.bind(&sql), &database);
    let plan = lower_query(&plan, &database, &nacre_types::ValueSettings::default()).unwrap().plan;
    let mut stream = workers.execute(plan, options).unwrap();
    let error = stream.collect_batches().unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::OutOfMemory);
}

#[test]
fn reading_what_is_not_computed_is_our_error() {
    let scan = CommonScanNode {
        is_of_run: false,
        query: 0,
        name: "c".to_owned(),
        width: 1,
        rows_expected: 1.0,
        has_one_row: false,
    };
    let queries = vec![PlanNode::CommonScan(scan.clone())];
    let node = CommonNode { queries, input: PlanNode::CommonScan(scan) };
    let plan = PhysicalPlan { root: PlanNode::Common(Box::new(node)) };
    let error = pool(1).execute(plan, QueryOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Internal);
}
