//! What is computed for the rows alone that PostgreSQL asks for: below LIMIT, beside functions of
//! sets, in subqueries that may fail; and samples. Beside a PostgreSQL 15 server where its programs
//! are.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

#[path = "support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;
mod support;

use postgres::compare;
use support::statements::TestDatabase;

/// Functions of sets beside what may fail.
const SETS: &[&str] = &[
    "select a + 1, generate_series(1, 3) from t where id < 5",
    "select 10 / (id - 20), generate_series(1, 2) from t where id < 5",
    "select 10 / (id - 2), generate_series(1, 2) from t where id < 5",
    "select 10 / (id - 2), generate_series(1, id - 2) from t where id < 5",
    "select 10 / (id - 2), generate_series(1, id - 2) + 1 from t where id < 5",
    "select 10 / (id - 2), generate_series(1, id - 2) + 1 from t where id < 5 and id <> 2 \
     order by 1",
    "select 10 / (id - 2), generate_series(1, id - 2) + 1 from t where id < 5 order by id",
    "select 1 / (id % 3) as q, generate_series(1, id % 3) from t",
    "select generate_series(1, id % 3) from t order by 1 / (id % 3)",
    "select generate_series(1, id % 3) + 0 from t order by 1 / (id % 3 + 1), 1",
    "select 6 / (id - 9), generate_series(1, generate_series(1, 2)) from t where id < 4",
    "select 6 / (id - 2), generate_series(1, generate_series(1, id - 2)) from t where id < \
     4",
    "select distinct id / 2 + 1000, generate_series(1, 2) from t where id < 9",
    "select id / 2 + 1000, generate_series(1, 2) from t where id < 9 limit 3",
    "select 10 / (id - 2), generate_series(1, 2) from t limit 4",
    "select 10 / (id - 2), generate_series(1, 2) from t limit 5",
];

/// LIMIT above what may fail, and LIMIT and OFFSET of queries.
const LIMITS: &[&str] = &[
    "select id from t where 10 / (id - 5) < 100 limit 4",
    "select id from t where 10 / (id - 5) < 100 limit 6",
    "select 1::bigint union all select (select max(1 / (id - 4)) from t) limit 1",
    "select 1::bigint union all select (select max(1 / (id - 4)) from t) limit 2",
    "select 1::bigint union all select max(1 / (id - 4)) from t limit 1",
    "select 1::bigint as x union all select 1 / (id - 4) from t limit 3",
    "select 1::bigint as x union all select 1 / (id - 4) from t limit 9",
    "select x + 1 from (select 1::bigint as x union all select 1 / (id - 4) from t) s limit \
     3",
    "select t.id from t left join (select id, s from t) u on u.id = t.id where 10 / (t.id - \
     5) < 100 limit 3",
    "select id from t limit (select -1)",
    "select id from t limit -1",
    "select id from t where id < 0 limit (select -1)",
    "select id from t where id < 0 offset (select -1)",
    "select count(*) from (select id from t limit (select null::bigint)) s",
];

/// Aggregates of the query around the one that they are written in.
const OUTER_AGGREGATES: &[&str] = &[
    "select (select max(o.id) from t i where i.id = 1) from t o",
    "select (select max(o.id) from t i where i.id = 1), a from t o group by a",
    "select a, (select sum(o.n) from t i where i.id = o.a) from t o group by a",
    "select a from t o group by a having (select count(o.k) > 10 from t i where i.id = 1)",
    "select a, (select max(o.id) + count(*) from t i) from t o group by a",
    "select (select 1 from t i where i.id = max(o.id)) from t o where id < 30",
    "select (select sum(o.id + i.id) from t i) from t o where id < 3",
    "select max((select max(o.id) from t i)) from t o",
    "select 1 from t o where (select max(o.id) from t i where id = 1) > 3",
    "select (select (select max(o.id) from t j where j.id = 1) from t i where i.id = 1) \
     from t o",
    "select a, (select string_agg(o.s, ',' order by o.id) from t i where i.id = 1) from t o \
     where id < 40 group by a",
    "select id from t order by id limit (select 3)",
    "select id from t order by id limit (select count(*) from t where id < 5) offset \
     (select 2)",
    "select id from t order by id limit (select max(id) from t where id < 3) + 1",
    "select id from t order by id limit (select 1 / (min(id)) from t)",
    "select sum(n) from t, (select substring(s, 1, 2) as z from t where substring(s, 1, 5) \
     in ('apple', 'banan') intersect select s from (select substring(s, 1, 5) as s, \
     count(*) as c from t, (select a from t) q where t.a = q.a and o group by s having \
     count(*) > 10) x) v where substring(t.s, 1, 1) = substring(v.z, 1, 1) limit 100",
];

/// Arrays of queries, slices, and VARIADIC.
const ARRAYS: &[&str] = &[
    "select array_length(array(select id from t where id < 5), 1)",
    "select array_to_string(array(select id from t where id < 5 order by id desc), ',')",
    "select array_to_string(array(select id from t where id < 0), ','), \
     cardinality(array(select id from t where id < 0))",
    "select id, array_to_string(array(select i.id from t i where i.a = t.a order by i.id), \
     ',') from t where id < 20",
    "select id from t where id = any (array(select a from t where a > 3))",
    "select array_to_string((array[[1,2,3],[4,5,6],[7,8,9]])[2:3][1:2], ',')",
    "select array_to_string((array[[1,2,3],[4,5,6]])[2:2], ','), \
     array_ndims((array[[1,2,3],[4,5,6]])[2:2])",
    "select cardinality((array[[1,2,3],[4,5,6]])[3:4][1:2]), \
     cardinality((array[1,2,3])[1:2][1:1])",
    "select concat(variadic array[1, null, 3]), concat_ws(',', variadic array['a', null, \
     'b']), format('%s-%s', variadic array[1, 2])",
    "select num_nulls(variadic array[1, null, 3]), num_nonnulls(variadic array[1, null]), \
     concat(variadic null::int[]) is null",
    "select concat(variadic 3)",
    "select concat_ws(s, variadic string_to_array(s, 'a')) from t where id < 9",
];

/// Subqueries that may fail, and those about pairs of rows.
const SUBQUERIES: &[&str] = &[
    "select id from t where exists (select 1 / (id - 3) from t) and id < 3",
    "select id, (select 10 / (u.id - 7) from t u where u.id = t.id + 1) from t where id < 5",
    "select id, (select 10 / (u.id - 7) from t u where u.id = t.id + 1) from t where id < 9",
    "select id, case when id < 5 then (select 10 / (u.id - 7) from t u where u.id = t.id + \
     1) end from t where id < 9",
    "select id, (select sum(10 / (u.id - 7)) from t u where u.id < t.id) from t where id < \
     7",
    "select id, (select sum(10 / (u.id - 7)) from t u where u.a = t.a and u.id < 7) from t \
     where id < 50",
    "select id from t where (select 10 / (u.id - 70) from t u where u.id = t.id + 1) < 0 \
     and id < 9",
    "select id, (select u.n * 1.5 from t u where u.id = t.id + 1) + 1 from t where id < 9",
    "select id, (select u.s || '!' from t u where u.id = t.id) from t where id < 9",
    "select id, upper((select u.s || left(u.s, -(u.id / 100)::int) from t u where u.id = \
     t.id)) from t where id < 9",
    "select id from t where a in (select 10 / (id - 1000) from t) and id < 50",
    "select id from t where a in (select 10 / (id - 100) from t) and id < 50",
    "select id from t where a not in (select 10 / (id - 1000) from t where id < 3) and id < \
     50",
    "select id, a in (select 10 / (id - 1000) from t) from t where id < 10",
    "select id from t where exists (select 1 from t where 10 / (id - 1000) < 5) and id < 4",
    "select id, exists (select 1 from t where 10 / (id - 100) < 5) from t where id < 4",
    "select count(*) from t where (select max(1 / (id + 1)) from t) > 3",
    "select count(*) from t where (select max(1 / (id + 1)) from t) > 0",
    "select count(*) from t where (select max(1 / (id - 3)) from t) > 0",
    "select id from t where (select 2 from t where id = 3) = 2 and id < 3",
    "select id from t where (select 2 from t) = 2 and id < 3",
    "select p.id, q.id from t p left join t q on q.id = p.id + 1 and exists (select from t \
     i where i.a = p.a and i.k = q.k) where p.id < 30",
    "select p.id, q.id from t p left join t q on q.a = (select max(i.a) from t i where i.id \
     < p.id and i.k = q.k) where p.id < 20 and (q.id is null or q.id < 60)",
    "select p.id, q.id from t p full join t q on p.id = q.id and p.a in (select i.a from t \
     i where i.k = q.k) where p.id < 20 or q.id < 20",
    "select id from t where a in (select a from t where k = (select k from t where id = 8)) \
     and id < 100",
    "select id from t where exists (select from t u where u.a = t.a and u.k = (select k \
     from t where id = 8)) and id < 100",
    "select id from t where a in (select a from t where k = (select k from t)) and id < 100",
];

/// Subqueries whose conditions may fail for pairs of rows.
const PAIRS: &[&str] = &[
    "select id from t where exists (select from t u where u.id = t.id + 1 and u.k > 3)",
    "select id from t where not exists (select from t u where u.id = t.id + 1 and u.k > 3)",
    "select id from t where exists (select from t u where u.a = t.a and 10 / (u.id + 1) > t.k)",
    "select id from t where exists (select from t u where u.id > t.id * 2 and u.k = t.k)",
    "select id from t where exists (select from t u where u.id = 10 / (t.id - 20)) and id < 30",
    "select id from t where exists (select from t u where u.id = 10 / (t.id - 20)) and id <> 20",
    "select id from t where exists (select from t u where u.id < 0 and u.id = 10 / (t.id - 20))",
    "select id from t where not exists (select from t u where u.id = t.id + 1 and exists (select \
     from t v where v.id = u.id + 1 and v.k > 4))",
    "select id from t where exists (select from t u where u.k = t.k and exists (select from t v \
     where v.a = u.a and v.id = u.id + 23))",
    "select id from t where id + 1 in (select id from t where k > 3)",
    "select id from t where id + 1 not in (select id from t where k > 3)",
    "select id from t where id + 1 not in (select a from t)",
    "select id from t where id + 1 not in (select a from t where id < 0)",
    "select id from t where 10 / (id - 20) in (select a from t where id < 0)",
    "select id from t where 10 / (id - 20) not in (select a from t where id < 0)",
    "select id from t where 10 / (id - 20) not in (select a from t where a is not null)",
    "select id, id + 1 in (select u.id from t u where u.k = t.k) from t where id < 50",
    "select id, id + 1 in (select u.a from t u where u.k = t.k) from t where id < 50",
    "select id, id + 1 not in (select u.a from t u where u.k > t.k and u.id < 30) from t",
    "select id, id + 1 in (select id from t where k > 3) from t",
    "select id, id + 1 in (select a from t) from t where id < 30",
    "select id, exists (select from t u where u.id = t.id + 1 and u.k > 3) from t",
    "select id, exists (select from t u where u.id = 10 / (t.id - 20)) from t where id < 30",
    "select id, exists (select from t u where u.id = 10 / (t.id - 20)) from t where id < 20",
    "select id, exists (select from t u where u.id < 0 and u.id = 10 / (t.id - 20)) from t",
    "select id, case when id <> 20 then exists (select from t u where u.id = 10 / (t.id - 20)) \
     end from t where id < 30",
    "select id, case when id <> 20 then 10 / (id - 20) in (select u.a from t u where u.k = t.k) \
     end from t",
    "select id from t where id = 20 or 10 / (id - 20) in (select a from t where k < 5)",
    "select id from t where id = 20 or 10 / (id - 20) not in (select a from t where a > 2)",
    "select id, (id + 1, k) in (select u.id, u.k + u.id - u.id from t u where u.a <> t.a) from t",
    "select id, (id - 1, a) not in (select u.id, u.id - u.k from t u where u.k <> t.k) from t \
     where id < 90",
    "select id from t where a > any (select u.id - 50 from t u where u.k = t.k) and id < 60",
    "select id from t where a > all (select u.id - 50 from t u where u.k = t.k) and id < 60",
    "select id from t where id < 9 and a > any (select u.id - 9 from t u where u.id < 20)",
    "select id from t where not exists (select from t u where u.id = t.a union all select from t \
     u where u.id = t.id + 300)",
    "select id from t where id < 50 and exists (select from t u where u.id = t.a union all select \
     from t u where u.id = t.id * 9)",
    "select id from t where a in (select u.a from t u left join t v on u.id = v.id + 100 where \
     (v.k = 1 or t.k > 3))",
    "select id from t where id not in (select u.a from t u left join t v on u.id = v.id + 100 \
     where (v.k = 1 or t.k > 3) and u.a > 0)",
    "select p.id, q.id from t p left join t q on q.id = p.id + 1 and exists (select from t i \
     where i.a = p.a and i.id = q.id + 2) where p.id < 90",
    "select id from t where id not in (select row_number() over (order by u.id) from t u where \
     u.k = t.k) and id < 40",
    "select id from (select id, row_number() over (order by id * 7, id) as r from t) s where r = 5",
    "select id, (select u.id + t.id from t u where u.k = t.k order by abs(u.id - t.id * 3), u.id \
     limit 1) from t where id < 60",
    "select count(*) from t x join t y on x.id = y.id + 1 and x.id * 2 > 100 and y.k > 2",
];

/// Conditions on columns of queries in FROM that may fail: they become conditions of these queries.
const COLUMNS: &[&str] = &[
    "select a, r from (select a, 100 / a as r, row_number() over (order by a) as n from t) \
     q where n < 3 and r > 2",
    "select a, r from (select a, 100 / a as r, row_number() over (partition by a order by \
     a) as n from t) q where n < 3 and r > 2",
    "select a, r from (select a, 100 / a as r, row_number() over (partition by 100/a order \
     by a) as n from t) q where n < 3 and r > 2",
    "select a, r from (select a, 100 / a as r from t except select a, id / a from t) q \
     where r > 2",
    "select a, r from (select a, 100 / a as r from t intersect all select a, 100 / a from \
     t) q where r > 2",
    "select a, r from (select a, count(*)/sum(a) as r from t group by rollup(a)) q where r \
     > 2 or a = 0",
    "select a, y from (select a, x+1/x y from (select a, sum(id)/count(*) x from t where id \
     > 0 group by a) p) q where y > 1",
    "select a, y from (select a, x+1/x y from (select a, sum(id)/count(*) x from t group by \
     a) p where x > 0) q where y > 1",
    "select a, y from (select a, x+1/x y from (select a, sum(id)/count(*) x from t group by \
     a having count(*) > 0) p where x > 0) q where y > 1",
    "select q.a, t.id from (select a, sum(id)/count(*) as c from t group by a) q join t on \
     t.a = q.a where q.c > 1 and t.id < 4",
    "select q.a, t.id from (select a, sum(id)/count(*) as c from t group by a) q join t on \
     t.a = q.c",
    "select q.a, t.id from (select a, sum(id)/count(*) as c from t group by a) q left join \
     t on t.a = q.c and q.c > 1",
    "select q.a, t.id from t left join (select a, sum(id)/count(*) as c from t group by a) \
     q on t.a = q.c and q.c > 1",
    "select q.a, t.id from t left join (select a, sum(id)/count(*) as c from t group by a) \
     q on t.a = q.a where q.c > 1 or q.c is null",
    "select q.a, t.id from t left join (select a, sum(id)/count(*) as c from t group by a) \
     q on t.a = q.a where coalesce(q.c, 0) < t.id",
    "select t.id from t where exists (select 1 from (select a, sum(id)/count(*) as c from t \
     group by a) q where q.c > t.id)",
    "select t.id from t where t.id in (select c from (select a, sum(id)/count(*) as c from \
     t group by a) q where q.c > 1)",
    "select t.id from t where t.a > (select avg(c) from (select a, sum(id)/count(*) as c \
     from t group by a) q where q.c > t.id)",
    "with q as (select a, sum(id)/count(*) as c from t group by a) select * from q where c \
     > 2",
    "with q as (select a, sum(id)/count(*) as c from t group by a) select * from q x join q \
     y on x.c > y.c and x.c > 2",
    "with q as (select a, sum(id)/count(*) as c from t group by a) select * from q x join q \
     y on x.c = y.c where x.c > 2 and y.c > 3",
    "select * from (select a, sum(id)/count(*) as c from t group by a) q where c > (select \
     avg(id) from t)",
    "select * from (select a, sum(id)/count(*) as c from t group by a) q where a in (select \
     id from t) and c > 1",
    "select * from (select a, sum(id)/count(*) as c from t group by a) q where c in (select \
     id from t)",
    "select * from (select a, sum(id)/count(*) as c from t group by a) q where c between 1 \
     and 3 or 1/c > 0",
    "select * from (select a, sum(id)/count(*) as c from t group by a order by c) q where c \
     between 1 and 3 or 1/c > 0",
    "select * from (select a, sum(id)/count(*) as c from t group by a order by c limit 2) q \
     where c between 1 and 3 or 1/c > 0",
    "select * from (select a, sum(id)/count(*) as c, rank() over (order by \
     sum(id)/count(*)) r from t group by a) q where r < 3",
    "select * from (select a, sum(id)/count(*) as c, rank() over (order by \
     sum(id)/count(*)) r from t group by a) q where r < 3 and c > 0",
    "select max(c) from (select a, sum(id)/count(*) as c from t group by a) q where c > 0",
    "select generate_series(1, c) from (select a, (sum(id)/count(*))::int as c from t group \
     by a) q where c > 0",
    "select * from (select distinct a, 10/(a+1) x from t) q where x > 0 and a > 0",
    "select * from (select distinct on (a) a, 10/(a+1) x from t order by a, id) q where x > \
     0 and a > 0",
    "select count(*) from (select 1.0, max(1) from t where 1 % id < 1 union all select 1.0, 1 \
     from t) q(x, y)",
    "select sum(x) from (select 1.0, max(1) from t where 1 % id < 1 union all select 1.0, 1 from \
     t) q(x, y)",
    "select count(*) from (select id, a from t union all select k, a from t intersect all select \
     id, a from t) q",
    "select count(*) from (select a from t union all values (1), (2)) q",
];

/// Joins with equalities that may fail and are no keys: they are decided for pairs of rows.
const JOINS: &[&str] = &[
    "select count(*) from t x join t y on x.id = y.id where y.a + 1 = y.k",
    "select count(*) from t x, t y where y.a + 1 = y.k",
    "select count(*) from t x, t y where x.id = y.id and y.a - 1 = y.a",
    "select count(*) from t x, t y where (y.a - 1, 1) = (y.a, 1)",
    "select count(*) from t x, t y where y.a - 1 = y.a",
    "select count(*) from t x, t y where x.a + y.a = y.k",
    "select count(*) from t x, t y where x.id = y.id and x.a + y.a = y.k",
    "select count(*) from t x, t y, t z where x.id = y.id and z.id = y.id and x.a + y.a = z.a",
    "select count(*) from t x, t y, t z where x.id = y.id and x.a + y.a = z.id",
    "select count(*) from t x left join t y on x.id = y.id where x.a + 1 = coalesce(y.a, 1)",
    "select count(*) from t x left join t y on x.id = y.id and x.a + y.a = y.k",
    "select count(*) from t x left join t y on x.id = y.id + x.a",
    "select count(*) from t x full join t y on x.id = y.id + 1",
    "select count(*) from t x, t y where x.a::text::int = y.a",
    "select count(*) from t x, t y where x.a / y.k = 3",
    "select count(*) from t x, t y where x.a / y.k = x.id",
    "select count(*) from t x, t y where x.id = y.id and x.a / y.k = x.id",
    "select x.id from t x, t y where x.id = y.id + 1 and x.id > 2",
];

/// Subqueries about rows around them below full and right joins, and beside LIMIT.
const CORRELATED: &[&str] = &[
    "select t.id, (select count(*) from (select u.id from t u where u.a > t.a) x full join \
     (select v.id from t v where v.k > t.k) y on x.id = y.id) from t",
    "select t.id, (select count(x.id) from (select u.id from t u where u.a > t.a) x full \
     join t y on x.id = y.id) from t",
    "select t.id, (select count(x.id) from t x right join (select v.id from t v where v.k > \
     t.k) y on x.id = y.id) from t",
    "select t.id, (select count(x.id) from (select u.id from t u where u.a > t.a) x right \
     join t y on x.id = y.id) from t",
    "select t.id, (select count(x.id) from (select u.id from t u where u.a > t.a) x left \
     join t y on x.id = y.id) from t",
    "select t.id, (select count(y.id) from t x left join (select u.id from t u where u.a > \
     t.a) y on x.id = y.id) from t",
    "select t.id, (select count(y.id) from t x full join t y on x.id = y.id where x.a = \
     t.a) from t",
    "select t.id from t where exists (select 1 from (select u.id from t u where u.a > t.a) \
     x full join (select v.id from t v where v.k < t.k) y on x.id = y.id where x.id is \
     null)",
    "select t.id, (select t.n from t u order by t.n limit 1) from t",
    "select t.id, (select t.n * t.n from t u order by t.n limit 1) from t",
    "select q.id, (select q.x from t u order by q.x limit 1) from (select id, 'a'::text as x \
     from t offset 0) q",
    "select q.id, (select q.x from t u order by q.x limit 1) from (select id, 'a'::text as x \
     from t order by id offset 2) q",
    "select q.id from (select id, 'a'::text as x from t order by id offset 2) q where q.x is \
     distinct from (select q.x from t u order by q.x limit 1)",
    "select q.id from t, (select id, 'a'::text as x from t order by id offset 2) q where q.x \
     is distinct from (select q.x from t u order by q.x limit 1)",
    "select t.id, (select max(coalesce(x.id, y.id)) from (select u.id, u.k from t u where \
     u.a > t.a) x full join (select v.id, v.k from t v where v.k < t.k) y using (k)) from t \
     where id < 40",
    "select t.id, (select max(x.id) from (select u.id, u.k from t u where u.a > t.a) x full \
     join (values (t.k), (3)) y(k) using (k)) from t where id < 40",
    "select t.id, (select string_agg(x.id::text, ',' order by x.id) from (select u.id, u.k \
     from t u where u.k = t.k) x right join (select v.id, v.k from t v where v.a = t.a) y \
     on x.id = y.id) from t where id < 60",
    "select t.id, (select max(u.id) from t u where u.a < q.a) from t join (select a, id \
     from t order by id desc limit 20) q on t.id = q.id",
    "select q.id, (select count(*) from t u where u.a < q.a) from (select a, id from t \
     order by id desc limit 20) q",
    "select q.id, (select max(u.id) from t u where u.a < q.a limit 1) from \
     (select a, id from t order by id desc limit 20 offset 3) q",
    "select q.id from (select a, id from t order by id desc limit 20 offset 3) q where \
     exists (select from t u where u.a < q.a and u.id > q.id)",
    "select q.id from (select distinct on (a) a, id, k from t order by a, id) q where \
     (select count(*) from t u where u.a < q.a or u.k > q.k) > 40",
];

/// LATERAL queries that may fail.
const LATERAL: &[&str] = &[
    "select t.id, l.x from t, lateral (select 100 / (u.id + 1) as x from t u where 100 / (u.id + \
     1) >= t.id) l where t.id < 50",
    "select t.id, l.x from t, lateral (select 100 / u.id as x from t u where u.id <> 0 and u.id \
     < t.id) l where t.id < 50",
    "select t.id, l.x from t, lateral (select 100 / (u.id - 5) as x from t u where u.id < t.id) \
     l where t.id < 50",
    "select t.id, l.x from t, lateral (select sum(100 / u.id) as x from t u where u.id <> 0 and \
     u.id < t.id) l where t.id < 50",
    "select t.id, l.x from t left join lateral (select u.id as x from t u where 100 / (u.id + 1) \
     > t.id) l on l.x > 5 where t.id < 50",
    "select t.id, l.x from t left join lateral (select (select v.id from t v where v.id = u.id) \
     as x from t u where u.id < t.id) l on true where t.id < 20",
    "select t.id, l.x from t, lateral (select (select v.id from t v where v.k = u.k) as x from t \
     u where u.id < t.id) l where t.id < 20",
    "select t.id, l.x from (select id from t where id > 7 and id < 20) t, lateral (select 10 / \
     (t.id - 7) as x) l",
];

/// Queries within EXISTS, IN and ALL that may fail, and rows that LIMIT chooses.
const TESTED: &[&str] = &[
    "select id from t where a in (select sum(10 / (u.id - 7)) from t u where u.k = t.k group by \
     u.a)",
    "select id from t where a in (select sum(10 / (u.id + 7)) from t u where u.k = t.k group by \
     u.a)",
    "select id, exists (select from t u where u.id + 1 = t.id) from t",
    "select id, t.id in (select u.id * 3 + 1 from t u) from t",
    "select id, (k, id) not in (select b.k, b.id / 5 from t b where b.a <> t.a) from t",
    "select q.x, t.id from t left join (select id / 5 as x, a from t) q on q.a = t.k and q.x > 3",
    "select x from (select id % 7 as x, a from t) q where a > 3 and 10 / (x + 1) > 2",
    "select id, t.id + 1 in (select u.id * 3 + 1 from t u where u.k > 2) from t",
    "select id, t.id not in (select nullif(u.id, 3) * 3 from t u where u.k > 2) from t",
    "select id, exists (select sum(10 / (u.id + 1)) from t u where u.id > t.id group by u.k \
     having sum(10 / (u.id + 1)) > 2) from t",
    "select id, id <= all (select u.id from t u order by 1 desc limit 2) from t",
    "select id, id not in (select nullif(u.id, 1) from t u order by 1 limit 5) from t",
    "select id from t where id not in (select nullif(u.id, 1) from t u order by 1 limit 5)",
    "select id from t where id not in (select nullif(u.id, 1) from t u order by 1 nulls first \
     limit 5)",
    "select id from t where exists (select 1 from t u where u.id = t.a union select 10 / (u.id + \
     t.id + 1) from t u where u.k = t.k)",
    "select id, case when id > 2 then id in (select 10 / (u.id + t.id - 1) from t u where u.id < \
     9 union all select 3) end from t",
    "select id, nullif(min(abs(id)) over (), 1) from t",
    "select q.s, t.id from (select id, sum(abs(id)) over (partition by id % 3) as s from t) q \
     join t on q.id = t.id where q.s > 1",
];

/// Conditions without columns on values of queries.
const GATES: &[&str] = &[
    "select count(*) from t a left join t b on (select true from t where id = 1) where a.id < 9",
    "select count(*), count(b.id) from t a left join t b on (select false from t where id = 1)",
    "select count(*), count(b.id) from t a left join t b on a.id = b.id and (select false from t \
     where id = 1)",
    "select count(*), count(b.id) from t a full join t b on a.id = b.id and (select false from t \
     where id = 1)",
    "select count(*), count(b.id) from t a join t b on a.id = b.id and (select true from t where \
     id = 1)",
    "select count(*) from t having (select true from t where id = 1)",
    "select count(*), count(b.id) from t a left join t b on a.id = b.id and (select true from t)",
    "select count(*) from (select * from t where false) a left join t b on (select true from t)",
];

/// Queries within aggregates that have FILTER.
const FILTERED: &[&str] = &[
    "select sum((select u.a from t u where u.id = t.id)) filter (where t.id < 50) from t",
    "select k, max((select 100 / (u.id - 7) from t u where u.id = t.id)) filter (where t.id <> 7) \
     from t group by k",
    "select k, max((select 100 / (u.id - 7) from t u where u.id = t.id)) filter (where t.id < 9) \
     from t group by k",
    "select max((select u.id from t u where u.k = t.k)) filter (where t.id < 0) from t",
    "select max((select u.id from t u where u.k = t.k)) filter (where t.id < 9) from t",
    "select string_agg(id::text, ',' order by (select u.a from t u where u.id = t.id), id) filter \
     (where id < 30) from t",
    "select count(*) filter (where exists (select from t u where u.a = t.k)), count((select 1 \
     where t.a > 3)) filter (where exists (select from t u where u.a = t.k)) from t",
    "select id, sum((select u.a from t u where u.id = t.id)) filter (where t.id < 50) over \
     (partition by k) from t",
    "select id, count((select 1 / (u.id - 7) from t u where u.id = t.id)) filter (where t.id > 7) \
     over (order by id) from t",
    "select count(distinct t.a in (select u.k from t u where u.id < t.id)) filter (where t.id > \
     90) from t",
];

/// Characters of several lengths in one column.
const CHARACTERS: &[&str] = &[
    "select c, x || '|', octet_length(x), x = 'ab', x < 'b' from (values (1, 'ab'::char(2)), (2, \
     ''::char(3)), (3, null::char(4)), (4, 'b'::char(5))) v(c, x) order by x, c",
    "select octet_length(x), x from (select 'a'::char(2) as x from t where id < 3 union all \
     select 'a'::char(4) union all select null) q",
    "select x from (select 'a'::char(2) as x from t union select 'a'::char(4) union select \
     'b'::char(1)) q",
    "select id, case when id > 2 then 'a'::char(2) else 'bcd'::char(5) end as x, \
     octet_length(case when id > 2 then 'a'::char(2) else 'bcd'::char(5) end) from t",
    "select v.id, w.id from (values (1, 'a'::char(2)), (2, 'b'::char(3))) v(id, c) join (values \
     (1, 'a'::char(5)), (3, 'b'::char(4))) w(id, c) on v.c = w.c",
    "select v.id, w.id from (values (1, 'a'::char(2)), (2, 'b'::char(3))) v(id, c) join (values \
     (1, 'a'::char(5)), (3, 'b'::char(5))) w(id, c) on v.c = w.c",
    "select count(*), max(octet_length(c)) from (values ('a'::char(2)), \
     ('a'::char(3)), ('b'::char(2))) v(c) where c in ('a', 'b') group by c",
    "select coalesce(nullif('a'::char(2), c), 'x'::char(7)) || '|' from (values ('a'::char(2)), \
     ('b'::char(3))) v(c)",
];

/// Statements that are refused: PostgreSQL computes less, or more.
const REFUSED: &[&str] = &[
    "select id, (select i.id from t i order by i.id limit o.k) from t o",
    "select id from t where 1 / (id + 1) > 0 and (select max(1 / (id + 1)) from t) > 3",
    "select t.id from t left join (select 1 / (id - 4) as v, id from t) s on s.id = -t.id and \
     s.v > 0 limit 1",
    "select id from t tablesample bernoulli ((select 5))",
];

#[test]
fn answers_are_those_of_postgresql() {
    let (database, rows) = TestDatabase::of_rows(400, 300, 200);
    let all = [
        SETS,
        LIMITS,
        OUTER_AGGREGATES,
        ARRAYS,
        SUBQUERIES,
        PAIRS,
        COLUMNS,
        JOINS,
        CORRELATED,
        LATERAL,
        TESTED,
        GATES,
        FILTERED,
        CHARACTERS,
    ]
    .concat();
    let statements: Vec<String> = all.iter().map(|&sql| sql.to_owned()).collect();
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count * 2 > statements.len(), "{count} have rows");
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
    for sql in REFUSED {
        let error = database.run_optimized(sql).expect_err(sql);
        assert!(error.starts_with("not supported"), "{sql}: {error}");
    }
}

/// The rows before an error are there, frozen or not, whatever vector it is in.
#[test]
fn an_error_comes_behind_all_rows_before_it() {
    let (database, _) = TestDatabase::of_rows(20_000, 17_000, 9_000);
    for failing in [1, 8_191, 8_192, 9_000, 17_001, 19_999] {
        let sql = |count| format!("select id from t where 1 / (id - {failing}) < 2 limit {count}");
        // All rows but the one that fails are wanted.
        let rows = database.run_optimized(&sql(failing)).unwrap();
        assert_eq!(rows.len(), failing, "{failing}");
        let error = database.run_optimized(&sql(failing + 1)).unwrap_err();
        assert_eq!(error, "division by zero", "{failing}");
    }
}

#[test]
fn samples_are_a_part_of_the_rows() {
    let (database, _) = TestDatabase::of_rows(20_000, 15_000, 5_000);
    let count = |sql: &str| -> usize {
        database.run_optimized(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).len()
    };
    for method in ["bernoulli", "system"] {
        let half = count(&format!("select id from t tablesample {method} (50) repeatable (3)"));
        assert!((7_000..13_000).contains(&half), "{method}: {half}");
        assert_eq!(count(&format!("select id from t tablesample {method} (100)")), 20_000);
        assert_eq!(count(&format!("select id from t tablesample {method} (0)")), 0);
    }
}

#[test]
fn a_seed_says_which_rows_a_sample_has() {
    let (database, _) = TestDatabase::of_rows(20_000, 15_000, 5_000);
    let ids = |seed: &str, condition: &str| {
        let sql = format!(
            "select id from t tablesample bernoulli (10) repeatable ({seed}) where {condition} \
             order by id"
        );
        database.run_optimized(&sql).unwrap()
    };
    assert_eq!(ids("1.5", "true"), ids("1.5", "true"));
    assert_ne!(ids("1.5", "true"), ids("2.5", "true"));
    // Conditions leave out rows of the sample, also where they leave out chunks.
    let late: Vec<_> = ids("1.5", "true").into_iter().filter(|row| row[0].len() == 5).collect();
    assert_eq!(ids("1.5", "id >= 10000"), late);
}

#[test]
fn impossible_samples_are_errors() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for (sample, message) in [
        ("bernoulli (101)", "sample percentage must be between 0 and 100"),
        ("system (-0.5)", "sample percentage must be between 0 and 100"),
        ("bernoulli (null)", "TABLESAMPLE parameter cannot be null"),
        ("system (5) repeatable (null)", "TABLESAMPLE REPEATABLE parameter cannot be null"),
        ("heap (5)", "tablesample method heap does not exist"),
        ("system (5, 6)", "tablesample method system requires 1 argument, not 2"),
        ("system (date '2024-01-01')", "argument of TABLESAMPLE must be type real, not type date"),
    ] {
        let sql = format!("select id from t tablesample {sample}");
        assert_eq!(database.run_optimized(&sql).unwrap_err(), message, "{sql}");
    }
}
