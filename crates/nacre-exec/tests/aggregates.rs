//! Aggregates and window functions that are folded from SQL values, and values of types without a
//! vector form, beside a PostgreSQL 15 server where its programs are.

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
use nacre_plan::optimizer::optimize;
use postgres::compare;
use support::pool;
use support::statements::{TestDatabase, texts};

/// Aggregates with an order of rows, of distinct values, and collections.
const ORDERED: &[&str] = &[
    "select string_agg(s, ',' order by id) from t",
    "select string_agg(s, ',' order by s desc, id) from t where id < 60",
    "select k, string_agg(s, '-' order by s nulls first, id desc) from t group by k",
    "select k, string_agg(distinct s, ',' order by s desc) from t group by k",
    "select string_agg(distinct s, ',') from t",
    "select string_agg(s, case when a > 0 then '+' end order by id) from t where id < 50",
    "select string_agg(c, ',' order by id) from t where id < 20",
    "select string_agg(s::bytea, '\\x00'::bytea order by id) from t where id < 9",
    "select string_agg(a::text, ',' order by a, id) filter (where o) from t",
    "select string_agg(s, ',' order by id) from t where false",
    "select array_agg(a order by id) from t where id < 40",
    "select array_agg(n order by n desc nulls last, id) from t where id < 40",
    "select k, array_agg(distinct a) from t group by k",
    "select array_agg(distinct a order by a desc) from t",
    "select array_agg(distinct s order by s desc nulls last) from t",
    "select array_agg(d order by id), array_agg(o order by id), array_agg(f order by id), \
     array_agg(c order by id), array_agg(s order by id), array_agg(k order by id) from t where \
     id < 12",
    "select array_agg(x order by x) from (values (interval '1 mon'), ('29 days'), ('31 days')) \
     v(x)",
    "select array_agg(array[a, k] order by id) from t where id < 10",
    "select array_agg(a order by id) from t where false",
    "select k, array_agg(id order by id) filter (where a > 3) from t group by k",
    "select json_agg(a order by id) from t where id < 20",
    "select json_agg(s order by id), json_agg(n order by id), json_agg(f order by id), \
     json_agg(d order by id), json_agg(o order by id) from t where id < 12",
    "select json_agg(x) from (values (timestamp '2020-01-02 03:04:05.5')) v(x)",
    "select json_agg(x) from (values (timestamptz '2020-01-02 03:04:05+02')) v(x)",
    "select json_agg(x) from (values ('NaN'::float8)) v(x)",
    "select json_agg(array[1, null, 3]), json_agg(array[array[1], array[2]])",
    "select json_agg(e'a\"b\\\\c\\td\\u0001') from t where id = 1",
    "select json_object_agg(id, s order by id) from t where id < 9",
    "select json_object_agg(s, a order by id) from t where s is not null and id < 20",
    "select json_object_agg(s, a) from t where s is null",
    "select sum(a order by s), count(s order by id), max(n order by id) from t",
    "select sum(distinct n), avg(distinct n), count(distinct n) from t",
    "select sum(distinct f), avg(distinct f), count(distinct f) from t",
    "select k, sum(distinct n / 3), avg(distinct a) from t group by k",
    "select variance(distinct a), stddev_pop(distinct k), var_pop(distinct n) from t",
    "select count(distinct c), min(distinct s), max(distinct d) from t",
    "select string_agg(s, ',' order by a / (id - 3)) from t",
    "select string_agg(distinct s, ',' order by id) from t",
    "select array_agg(10 / a order by id) filter (where a <> 0) from t where id < 40",
    "select string_agg(s, ',' order by 10 / a, id) filter (where a <> 0), count(distinct 10 / a) \
     filter (where a <> 0) from t",
    "select string_agg(s, ',' order by 10 / a) from t",
    "select k, string_agg(s, ',' order by id) from t group by k having string_agg(s, ',' order \
     by id) like 'a%' order by string_agg(s, ',' order by id), k",
    "select k, max(x) from (select k, o, string_agg(s, '+' order by id) as x from t group by k, \
     o) u group by k",
    "select x.k, y.k from (select k, array_agg(distinct a) as v from t group by k) x join \
     (select k, array_agg(distinct a) as v from t group by k) y on x.v = y.v and x.k < y.k + 3",
    "select array_agg(x) from (values (array[1]), (array[1, 2])) v(x)",
    "select array_agg(x) from (values (array[1]), (null)) v(x)",
    "select array_agg(x) from (values (array[1]), ('{}')) v(x)",
    "select k, (select string_agg(s, ',' order by u.id) from t u where u.a = t.a) from t where \
     id < 9",
    "select sum(x order by k), sum(x order by k desc), avg(x order by k) from (values \
     (1e16::float8, 3), (1, 2), (-1e16, 1), (1, 4)) v(x, k)",
    "select sum(x::float4 order by k), variance(x order by k) from (values (1e8::float8, 3), (1, \
     2), (-1e8, 1), (3, 4)) v(x, k)",
    "select regr_sxx(x, x order by k), regr_slope(x, y order by k), covar_pop(x, y order by k) \
     from (values (1e8::float8, 3, 0.1::float8), (1, 2, 7e8), (-1e8, 1, 3), (3, 4, 5)) v(x, k, \
     y)",
    "select min(x order by k), max(x order by k), min(x order by k desc), max(x order by k desc) \
     from (values (interval '1 mon', 2), ('30 days', 1), ('720 hours', 3)) v(x, k)",
    "select min(x order by k), max(x order by k desc) from (values (array[1.0], 2), (array[1.00], \
     1)) v(x, k)",
    "select min(x order by k), max(x order by k desc) from (values (1.0::numeric, 2), (1.00, 1), \
     (1.000, 3)) v(x, k)",
    "select json_object_agg(x, y), json_object_agg(x, y order by y) from (values (1.5::float8, \
     2::float8), (2.5, 1)) v(x, y)",
];

/// Ordered sets and hypothetical rows.
const SETS: &[&str] = &[
    "select percentile_cont(0.5) within group (order by f) from t",
    "select k, percentile_cont(0.25) within group (order by f desc) from t group by k",
    "select k, percentile_disc(0.3) within group (order by a) from t group by k",
    "select percentile_disc(0.5) within group (order by s desc) from t",
    "select percentile_disc(0) within group (order by n), percentile_disc(1) within group (order \
     by n) from t",
    "select percentile_cont(array[0, 0.25, 0.5, null, 1]) within group (order by f) from t",
    "select percentile_disc(array[array[0.1, 0.2], array[0.8, 0.9]]) within group (order by d) \
     from t",
    "select percentile_cont(0.3) within group (order by x) from (values (interval '1 day'), ('1 \
     mon'), ('3 hours')) v(x)",
    "select percentile_cont(array[0.5, 0.1]) within group (order by x) from (values (interval '1 \
     day'), ('1 mon'), ('3 hours')) v(x)",
    "select percentile_cont(null) within group (order by f) from t",
    "select percentile_cont(0.5) within group (order by f) from t where false",
    "select percentile_cont(1.5) within group (order by f) from t",
    "select percentile_disc(-0.5) within group (order by f) from t where false",
    "select percentile_cont(0.5) within group (order by f) filter (where a > 4) from t",
    "select percentile_cont(0.5) within group (order by a) from t",
    "select k, mode() within group (order by a) from t group by k",
    "select mode() within group (order by s desc) from t where id < 40",
    "select mode() within group (order by s) from t where false",
    "select rank(3) within group (order by a), dense_rank(3) within group (order by a), \
     percent_rank(3) within group (order by a), cume_dist(3) within group (order by a) from t",
    "select k, rank(3) within group (order by a desc), dense_rank(3) within group (order by a \
     desc nulls last), percent_rank(3) within group (order by a desc), cume_dist(3) within group \
     (order by a desc) from t group by k",
    "select rank(3, 'b') within group (order by a, s), cume_dist(3, 'b') within group (order by \
     a desc, s) from t",
    "select rank(null) within group (order by a), rank(2.5) within group (order by a) from t",
    "select rank(3) within group (order by a), dense_rank(3) within group (order by a), \
     percent_rank(3) within group (order by a), cume_dist(3) within group (order by a) from t \
     where false",
    "select id, (select rank(3) within group (order by u.a) from t u where u.k = t.id), (select \
     cume_dist(3) within group (order by u.a) from t u where u.k = t.id) from t where id > 5 and \
     id < 15",
    "select id, (select regr_count(u.f, u.f) from t u where u.k = t.id), (select dense_rank('b') \
     within group (order by s) from t u where u.k = t.id), (select percent_rank(2) within group \
     (order by u.a) from t u where u.k = t.id) from t where id > 5 and id < 15",
    "select sum() within group (order by a) from t",
];

/// Aggregates of numbers, truth values, bits and other types.
const NUMBERS: &[&str] = &[
    "select sum(f), avg(f), min(f), max(f) from t",
    "select k, sum(f), avg(f) from t group by k",
    "select k, sum(f) filter (where o), avg(f) filter (where o) from t group by k",
    "select sum(f), avg(f), variance(f), corr(f, f) from t where false",
    "select sum(x), avg(x) from (values (1.5::float4), (2.25), (null), (1e7)) v(x)",
    "select variance(x), var_pop(x), stddev(x), stddev_pop(x) from (values (1.5::float8), \
     (2.25), (null), (7)) v(x)",
    "select variance(x), var_samp(x), var_pop(x), stddev_samp(x) from (values (1.5::float8)) \
     v(x)",
    "select variance(x), stddev_samp(x) from (values (1.5::float4), (4)) v(x)",
    "select sum(x), avg(x), var_pop(x) from (values ('inf'::float8), (1)) v(x)",
    "select sum(x) from (values ('inf'::float8), ('-inf')) v(x)",
    "select sum(x) from (values (1e308::float8), (1e308)) v(x)",
    "select avg(x) from (values (1e200::float8), (-1e200)) v(x)",
    "select variance(x) from (values (1e200::float8), (-1e200)) v(x)",
    "select covar_pop(y, x), covar_samp(y, x), corr(y, x), regr_slope(y, x), regr_intercept(y, \
     x), regr_r2(y, x), regr_count(y, x), regr_avgx(y, x), regr_avgy(y, x), regr_sxx(y, x), \
     regr_syy(y, x), regr_sxy(y, x) from (values (1::float8, 2::float8), (2, 5), (4, 7), (null, \
     1), (3, null)) v(y, x)",
    "select covar_pop(y, x), covar_samp(y, x), corr(y, x), regr_slope(y, x), regr_intercept(y, \
     x), regr_r2(y, x), regr_count(y, x) from (values (1::float8, 2::float8)) v(y, x)",
    "select corr(y, x), regr_r2(y, x), regr_slope(y, x) from (values (1::float8, 2::float8), (1, \
     3)) v(y, x)",
    "select regr_count(a, k), covar_pop(a, k) is null from t",
    "select k, regr_count(f, f), regr_avgx(f, f) from t group by k",
    "select bool_and(o), bool_or(o), every(a > -100) from t",
    "select k, bool_and(a > 0), bool_or(a > 8) from t group by k",
    "select bit_and(a), bit_or(a), bit_xor(a), bit_and(k), bit_or(id), bit_xor(id) from t",
    "select k, bit_xor(a) from t group by k",
    "select bit_and(x), bit_or(x), bit_xor(x) from (values (b'1010'), (b'0110'), (null)) v(x)",
    "select bit_or(x) from (values (b'1010'::varbit::bit(4)), (b'0110')) v(x)",
    "select sum(x), avg(x), min(x), max(x) from (values (interval '1 mon'), ('29 days'), ('30 \
     days 1 second'), (null)) v(x)",
    "select sum(x), avg(x) from (values (interval '1 mon')) v(x) where false",
    "select min(x), max(x) from (values (time '10:00'), ('09:00'), (null)) v(x)",
    "select min(x), max(x) from (values (timetz '10:00+02'), ('09:00+00'), (null)) v(x)",
    "select min(x), max(x) from (values (array[1, 2]), (array[1]), ('{}'), (null)) v(x)",
    "select min(x), max(x) from (values (26::oid), (25)) v(x)",
    "select min(c), max(c), min(s), max(s), min(d), max(d) from t",
    "select count(distinct x), count(x) from (values (interval '1 mon'), ('30 days'), (null), \
     ('1 day')) v(x)",
    "select k, a, sum(f), string_agg(s, ',' order by id) from t where id < 50 group by rollup(k, \
     a)",
    "select k, o, array_agg(id order by id), avg(f) from t where id < 50 group by cube(k, o)",
    "select k, o, sum(f), regr_avgx(f, f) from t group by grouping sets ((k), (o), ())",
    "select o, string_agg(distinct s, ',') from t group by grouping sets ((o), ())",
    "select count(distinct a, k) from t",
    "select regr_count(y, x), regr_count(y, x) filter (where x > 1) from (values (1e200::float8, \
     1::float8), (-1e200, 2), (null, 3), (1e308, null)) t(y, x)",
    "select k, regr_count(f, f), regr_count(f, a) from t group by rollup (k)",
    "select sum(x), sum(x) filter (where false), avg(x), min(x) from (values ('-0'::float8)) v(x)",
    "select sum(x) from (values ('-0'::float8), ('-0')) v(x)",
    "select sum(x) from (values ('-0'::float8), ('0')) v(x)",
    "select sum(case when id = 1 then '-0'::float8 end) from t",
    "select min(x), max(x), min(y), max(y) from (values (interval '1 mon', array[1.0]), ('30 \
     days', array[1.00])) v(x, y)",
    "select min(x), max(x), min(y), max(y) from (values (interval '30 days', array[1.00]), ('1 \
     mon', array[1.0])) v(x, y)",
    "select min(interval '1 mon'), min(interval '30 days'), max(array[1.0]), max(array[1.00])",
    "select interval '1 mon', count(*) from t group by interval '1 mon'",
    "select min(x) from (values ('{}'::json)) v(x)",
    "select count(distinct x) from (values ('{}'::json)) v(x)",
];

/// Window functions.
const WINDOWS: &[&str] = &[
    "select id, sum(f) over (order by id), avg(f) over (order by id) from t where id < 60",
    "select id, sum(f) over (partition by k order by id rows 2 preceding) from t where id < 60",
    "select id, min(f) over w, max(f) over w, sum(f) over w from t where id < 60 window w as \
     (partition by k order by f, id rows between 1 preceding and 2 following exclude current \
     row)",
    "select id, sum(n / 3) over (order by id), avg(n / 3) over (partition by k), max(n / 3) over \
     (order by id rows 1 preceding) from t where id < 60",
    "select id, string_agg(s, ',') over (order by id rows between 2 preceding and 1 following \
     exclude ties) from t where id < 60",
    "select id, array_agg(a) over (partition by k order by id), array_agg(a) filter (where o) \
     over (partition by k order by id desc) from t where id < 60",
    "select id, array_agg(id) over (order by k, id groups between 1 preceding and current row \
     exclude group) from t where id < 40",
    "select id, bool_and(o) over (order by id rows 3 preceding), bit_or(a) over (order by id \
     rows 3 preceding), every(a > 0) over (partition by k) from t where id < 60",
    "select id, stddev(a) over (order by id rows 5 preceding), variance(n) over (partition by k \
     order by id) from t where id < 60",
    "select id, count(s) over w, count(*) filter (where o) over w, sum(a) filter (where o) over \
     w from t where id < 60 window w as (partition by k order by id range between unbounded \
     preceding and current row exclude ties)",
    "select id, json_agg(a) over (order by id rows 1 preceding) from t where id < 20",
    "select x, json_object_agg(a, a) over (order by x) from (select id as x, a from t) u \
     where a < 3",
    "select min(x) over (order by k), max(x) over (order by k) from (values (interval '1 mon', 1), \
     ('30 days', 2), ('720 hours', 3)) v(x, k)",
    "select id, lag(s, 2, 'none') over (order by id), lead(n, 1, 0.5) over (order by id), lag(d, \
     1, date '2000-01-01') over (order by id), nth_value(s, 2) over (order by id) from t where \
     id < 40",
    "select x, rank() over (order by x), sum(x) over (order by x), lag(x) over (order by x), \
     first_value(x) over (order by x desc) from (values (interval '1 mon'), ('30 days'), ('1 \
     day')) v(x) order by 1, 2",
    "select id, sum(f) over (order by f range between 1.5 preceding and 0.25 following) from t \
     where id < 60",
    "select id, count(*) over (order by d range between '1 mon' preceding and '15 days' \
     following), sum(a) over (order by d desc range between current row and '2 mons -1 day' \
     following) from t",
    "select id, count(*) over (order by d + interval '5 hours' range between '1 mon 1 hour' \
     preceding and '1 mon' preceding) from t",
    "select id, count(*) over (order by d range '400000 years' preceding) from t",
    "select id, max(n / 7) over (partition by k) from t where id < 60",
    "select id, avg(f) over (partition by k) from t where id < 0",
    "select id, percentile_disc(0.5) within group (order by a) over () from t",
    "select id, string_agg(distinct s, ',') over () from t",
    "select id, string_agg(s, ',' order by id) over () from t",
];

/// Arrays that are made and taken apart.
const ARRAYS: &[&str] = &[
    "select array[a, k], array[n, 1.5, a], array[s, 'x', null] from t where id < 20",
    "select array[array[a, 1], array[2, k]], array[[a], [k]] from t where id < 20",
    "select array[]::int[], array['1', a::text]::int[], array[[1, 2], [3, 4]]::text[]",
    "select x[2:3], x[:2], x[2:], x[:], x[3:2], x[0:9], x[null:2], ('{}'::int[])[1:2], x[a:k] \
     from t, (values (array[7, 8, 9])) v(x) where id < 20",
    "select make_interval(days => a, mins => k::int), make_interval(1, months => 2), \
     make_interval(secs => f), make_interval(), make_date(month => 2, day => 3, year => 2020) \
     from t where id < 20",
    "select array[a, k][1], (array[a, k])[2], (array[a, k])[3], (array[a, k])[null], (array[[1, \
     a]])[1][2], (array[[1, a]])[1] from t where id < 20",
    "select x[1], v.x[2], x[k], x[a::bigint] from t, (values (array[7, 8, 9])) v(x) where id < \
     20",
    "select id from t where a = any (array[1, k + 0, 3])",
    "select id from t where a = any (x) from (select array[1, 2] as x) u",
    "select id, a = any (x), a <> all (x), a > all (x), a < any (x), a >= any (x), a <= all (x) \
     from t, (values (array[1, 4]), (array[null, 3]), ('{}'), (null)) v(x) where id < 30",
    "select id from t, (select array_agg(distinct k) as x from t) u where t.a = any (u.x)",
    "select s = any (x) from t, (values (array['apple', null])) v(x) where id < 20",
    "select x = array[1, 2], x || 3, array_length(x, 1) from (values (array[1, 2])) v(x)",
    "select (a, k) = (3, 4), (a, k) <> (3, 4), (a, k) < (3, 4), (a, s) >= (k, 'b'), (a, k, id) \
     <= (3, 4, 7), (a, k) > (id, null) from t where id < 60",
    "select (a, k) is null, (a, k) is not null, (a, k) is distinct from (3, null), (a, k) is not \
     distinct from (a, k) from t where id < 60",
    "select id from t where (a, k) in ((3, 4), (-2, 5), (k, a)) or (a, k) not in ((a, k), (1, \
     null))",
    "select t.id, u.id from t, t u where (t.a, t.k) = (u.k, u.a) and t.id < 40 and u.id < 40",
    "select array[array[a], case when id > 3 then array[a] else array[a, k] end] from t",
    "select (a, k) = (3, 4), (a, k) <> (3, 4), (a, k) < (3, 4), (a, s) >= (k, 'b'), (a, k, id) \
     <= (3, 4, 7), (a, k) > (id, null) from t where id < 60",
    "select (a, k) is null, (a, k) is not null, (a, k) is distinct from (3, null), (a, k) is not \
     distinct from (a, k) from t where id < 60",
    "select id from t where (a, k) in ((3, 4), (-2, 5), (k, a)) or (a, k) not in ((a, k), (1, \
     null))",
    "select t.id, u.id from t, t u where (t.a, t.k) = (u.k, u.a) and t.id < 40 and u.id < 40",
    "select array[array[a], case when id > 200 then array[a] end] from t where a is null",
    "select id from t where s = any (array[]::text[]) or s <> all (array[upper(s), 'x'])",
    "select array[]",
    "select array[1, 'x']",
    "select (1)[1]",
    "select a = any (s) from t",
    "select b'101', x'1f', b'1' < b'10'",
    "select b'102'",
];

/// Values of types without a vector form.
const TYPES: &[&str] = &[
    "select interval '1 mon', time '10:00', timetz '10:00+02', '{}'::json, b'101', array[1, 2]",
    "select x from (values (interval '1 mon'), ('30 days'), (null)) v(x)",
    "select x, count(*) from (values (interval '30 days'), (null), ('1 day'), (null), ('30 \
     days')) v(x) group by x",
    "select distinct x from (values (array[1, 2]), (array[1, 2]), (array[2, 1])) v(x)",
    "select x from (values (interval '2 days'), ('30 days'), ('1 mon 1 second'), (null)) v(x) \
     order by 1 desc",
    "select x from (values (array[1, 2]), (array[1]), (array[0, 9]), (null), ('{}')) v(x) order \
     by 1",
    "select x from (values (array[1, null]), (array[1, 2])) v(x) order by 1 desc",
    "select x from (values (uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), \
     ('00000000-9c0b-4ef8-bb6d-6bb9bd380a11')) v(x) order by 1",
    "select x < y, x = y, x >= y from (values (interval '1 mon', interval '30 days'), ('1 day', \
     '25 hours'), (null, '1 day')) v(x, y)",
    "select x < y, x <> y, x is distinct from y from (values (array[1, 2], array[1, 3]), \
     (array[1], null), (array[1.0]::int[], array[1])) v(x, y)",
    "select x = y, x < y from (values (array[1.0, 2.00], array[1.00, 2.0])) v(x, y)",
    "select v.x, w.y from (values (interval '1 mon'), ('1 day')) v(x) join (values (interval '30 \
     days'), ('24 hours'), ('2 days')) w(y) on x = y",
    "select v.x, w.y from (values (time '10:00'), (null)) v(x) left join (values (time '10:00')) \
     w(y) on x = y",
    "select x from (values (interval '1 mon')) v(x) union all select y from (values (interval '1 \
     day'), (null)) w(y)",
    "select x from (values (time '10:00'), ('11:00')) v(x) union select y from (values (time \
     '10:00')) w(y)",
    "select x from (values (array[1, 2]), (array[3])) v(x) except select y from (values \
     (array[3])) w(y)",
    "select x from (values (time '10:00'), ('11:00'), ('11:00')) v(x) intersect all select y \
     from (values (time '11:00'), ('11:00')) w(y)",
    "select case when a > 0 then interval '1 day' else interval '2 hours' * a end from t where \
     id < 20",
    "select coalesce(case when a > 0 then interval '1 day' end, interval '1 second') from t \
     where id < 20",
    "select nullif(x, interval '30 days') from (values (interval '1 mon'), ('1 day')) v(x)",
    "select d - d + interval '1 day', d + interval '1 mon' from t where id < 20",
    "select interval '1 day' * a, a * interval '1 hour', -(interval '1 day' * a) from t where id \
     < 20",
    "select k, max(interval '1 day' * a), sum(interval '1 day' * a) from t group by k",
    "select interval '1 day' * a, count(*) from t group by 1",
    "select count(*) from t where interval '1 day' * a > interval '49 hours'",
    "select count(*) from t x, t y where x.id < 50 and y.id < 50 and interval '1 day' * x.a = \
     interval '24 hours' * y.a",
    "select id, interval '1 hour' * a from t where id < 50 order by 2 desc nulls last, 1",
    "select x in (interval '30 days', interval '2 days') from (values (interval '1 mon'), ('1 \
     day')) v(x)",
    "select greatest(x, interval '2 days') from (values (interval '1 mon'), ('1 day')) v(x)",
    "select '{\"a\": 1}'::json, x from (values ('[1]'::json), (null)) v(x)",
    "select x from (values ('[1]'::json)) v(x) order by 1",
    "select distinct x from (values ('[1]'::json)) v(x)",
    "select x from (values ('[1]'::json)) v(x) union select '[1]'::json",
    "select x from (values (timetz '10:00+02'), ('09:00+01'), ('08:00+00')) v(x) order by 1",
    "select x from (values (b'101'), (b'011')) v(x) order by 1",
    "select a::text::interval from t where id = 3",
    "select coalesce(c, 'x'), case when a > 0 then c else 'y' end, (array[c])[1] from t where id \
     < 20",
    "select coalesce(c, 'x') as x, count(*) from t group by 1",
    "select coalesce(c, 'x') = 'x', coalesce(c, 'x') = c, coalesce(c, 'x') < 'y ', coalesce(c, \
     'x') like 'x%', coalesce(c, 'x') || '|' from t where id < 20",
    "select id from t where coalesce(c, 'x') in ('x', 'yy') order by coalesce(c, 'x') desc, id",
    "select t.id, u.id from t, t u where coalesce(t.c, 'x') = u.c and t.id < 9 and u.id < 9",
    "select sum(distinct case when o then n else 0 end) from t",
];

/// Rows as values.
const ROWS: &[&str] = &[
    "select count(distinct (a, k)), count((a, k)), count(distinct row(s)) from t",
    "select (a, s), row(n, d, null, o), row() from t where id < 20",
    "select (k, o), count(*) from t group by (k, o), (k, o) order by (k, o)",
    "select id from t order by (k, s) desc, id",
    "select distinct (k, o) from t",
    "select array_agg((a, s) order by id) from t where id < 9",
    "select x from (select (a, 'x') as x from t where id < 9) u order by 1",
    "select mode() within group (order by (k, o)), percentile_disc(0.5) within group (order by (k, \
     s)) from t",
    "select id, lag((a, k)) over (order by id), rank() over (order by (k, o)) from t where id < 30",
];

/// Every aggregate with every order, condition and grouping.
fn all_clauses() -> Vec<String> {
    let aggregates = [
        "string_agg(s, '-' {})",
        "array_agg(a {})",
        "array_agg(n {})",
        "array_agg(d {})",
        "json_agg(c {})",
        "count(a {})",
        "sum(n {})",
        "min(s {})",
        "bit_xor(a {})",
        "bool_or(o {})",
        "sum(f {})",
    ];
    let orders = [
        "order by id",
        "order by k desc nulls last, id",
        "order by s nulls first, id desc",
        "order by f, a desc, id",
        "order by c, d desc nulls first, id",
    ];
    let mut statements = Vec::new();
    for aggregate in aggregates {
        for order in orders {
            let call = aggregate.replace("{}", order);
            for filter in ["", " filter (where a > 0)"] {
                for keys in ["k", "o", "rollup (k, o)"] {
                    let names = if keys.len() == 1 { keys } else { "k, o" };
                    let sql = format!("select {names}, {call}{filter} from t group by {keys}");
                    statements.push(sql);
                }
            }
        }
    }
    statements
}

/// Every aggregate over every frame.
fn all_frames() -> Vec<String> {
    let aggregates = [
        "string_agg(s, '-')",
        "array_agg(a)",
        "sum(f)",
        "max(n / 3)",
        "bool_and(o)",
        "count(*) filter (where o)",
        "stddev_pop(a)",
    ];
    let edges = [
        "unbounded preceding and current row",
        "2 preceding and 1 following",
        "current row and unbounded following",
        "3 preceding and 2 preceding",
        "1 following and 3 following",
    ];
    let mut statements = Vec::new();
    for aggregate in aggregates {
        for unit in ["rows", "range", "groups"] {
            for edge in edges {
                for exclusion in ["", " exclude current row", " exclude group", " exclude ties"] {
                    statements.push(format!(
                        "select id, {aggregate} over (partition by k order by id {unit} between \
                         {edge}{exclusion}) from t where id < 40"
                    ));
                }
            }
        }
    }
    statements
}

/// Statements that PostgreSQL answers and Nacre does not.
const REFUSED: &[&str] = &[
    "select count(distinct row(array['{}'::json])) from t",
    "select row(array['{}'::json])",
    "select ('[1]'::jsonb)[0]",
];

#[test]
fn what_would_be_wrong_is_refused() {
    let (database, _) = TestDatabase::of_rows(10, 7, 4);
    for sql in REFUSED {
        let error = database.run_optimized(sql).unwrap_err();
        assert!(error.contains("not supported"), "{sql}: {error}");
    }
    // As in PostgreSQL.
    let error = database.run_optimized("select row(array['{}'::json]) < row(array['{ }'::json])");
    let message = "could not identify a comparison function for type json";
    assert_eq!(error.unwrap_err(), message);
}

fn check(statements: &[&str], least: usize) {
    check_all(statements.iter().map(|&one| one.to_owned()).collect(), least);
}

fn check_all(statements: Vec<String>, least: usize) {
    let (database, rows) = TestDatabase::of_rows(100, 70, 40);
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count >= least, "only {count} statements have rows");
    }
}

#[test]
fn rows_are_folded_in_their_order_as_in_postgresql() {
    check(ORDERED, ORDERED.len() - 9);
}

#[test]
fn ordered_sets_are_those_of_postgresql() {
    check(SETS, SETS.len() - 4);
}

#[test]
fn numbers_are_aggregated_as_in_postgresql() {
    check(NUMBERS, NUMBERS.len() - 6);
}

#[test]
fn aggregates_over_windows_are_those_of_postgresql() {
    check(WINDOWS, WINDOWS.len() - 5);
}

#[test]
fn values_without_vectors_are_those_of_postgresql() {
    check(TYPES, TYPES.len() - 6);
}

#[test]
fn arrays_are_made_and_taken_apart_as_in_postgresql() {
    check(ARRAYS, 10);
}

#[test]
fn rows_are_values_as_in_postgresql() {
    check(ROWS, ROWS.len());
}

#[test]
fn orders_conditions_and_groups_go_together_as_in_postgresql() {
    let statements = all_clauses();
    let count = statements.len();
    check_all(statements, count);
}

#[test]
fn aggregates_see_the_rows_of_every_frame_as_in_postgresql() {
    let statements = all_frames();
    let count = statements.len();
    check_all(statements, count);
}

#[test]
fn workers_collect_the_rows_of_many_groups() {
    let (database, rows) = TestDatabase::of_rows(30_000, 25_000, 6_000);
    let sql = "select count(*), sum(length(x)) from (select string_agg(s, ',' order by id) as x \
               from t group by id / 4) u";
    let length = |chunk: &[support::statements::TestRow]| {
        let texts: Vec<&str> = chunk.iter().filter_map(|row| row.s).collect();
        (!texts.is_empty()).then(|| texts.join(",").chars().count())
    };
    let groups = rows.chunks(4);
    let (count, sum) = (groups.len(), groups.filter_map(length).sum::<usize>());
    let wanted = [count.to_string(), sum.to_string()];
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    assert_eq!(database.rows(sql), texts(&[&wanted]));
}

#[test]
fn values_that_are_folded_count_against_the_budget() {
    let (database, _) = TestDatabase::of_rows(30_000, 25_000, 6_000);
    let run = |sql: &str| {
        let plan = optimize(database.bind(sql), &database);
        let settings = nacre_types::ValueSettings::default();
        let plan = lower_query(&plan, &database, &settings).unwrap().plan;
        let options = QueryOptions { memory_bytes_max: 4 << 20, ..QueryOptions::default() };
        pool(2).execute(plan, options).unwrap().collect_batches().map(drop)
    };
    run("select array_agg(id order by id) is null from t where id < 1000").unwrap();
    let error = run("select array_agg(id order by id) is null from t").unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::OutOfMemory);
    assert!(error.to_string().contains("expression"), "{error}");
}

#[test]
fn collected_rows_count_against_the_budget() {
    let (database, _) = TestDatabase::of_rows(30_000, 25_000, 6_000);
    let sql = "select length(string_agg(s, ',' order by id)) from t";
    let plan = optimize(database.bind(sql), &database);
    let plan = lower_query(&plan, &database, &nacre_types::ValueSettings::default()).unwrap().plan;
    let options = QueryOptions { memory_bytes_max: 256 << 10, ..QueryOptions::default() };
    let workers = pool(2);
    let mut stream = workers.execute(plan, options).unwrap();
    assert_eq!(stream.collect_batches().unwrap_err().kind(), ExecErrorKind::OutOfMemory);
}
