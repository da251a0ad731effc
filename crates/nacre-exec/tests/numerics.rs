//! Arithmetic on numerics of any scale, their sums and variances, beside a PostgreSQL 15 server
//! where its programs are.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

#[path = "support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;
mod support;

use postgres::compare;
use support::statements::TestDatabase;

/// Operators, on columns, results of others and constants.
const OPERATORS: &[&str] = &[
    "select id, n / a from t where a <> 0",
    "select id, n / 3, n % 7, n / 0.3, 5 / (n + 1000), a / 7.0, id / 3.00, n / id from t where id \
     > 0",
    "select id, (n - a * 1.5 + k) / 2, ((n - a - k) + id) / 2.000 from t",
    "select id, n / 3 - a / 7.0, (n / 7) * (n - 0.5), -(n / 3), +(n / 3), (n / 9) % 0.7, n % (a + \
     0.5), n / 3 + n / 7, (n / 3) / (n / 7 + 1000) from t",
    "select id, n / 1e-20, n / 1e20, n / 1e40, n / 1e-38, n * (n / 3) * 1e30, 1e37 / (n + 1000) \
     from t",
    "select id, n / 0.00000000000000000000000000000000000001, n / 3 / 7 / 11 / 13, (n / 7 - n / \
     11) * 2 from t",
    "select x / y, y / x, x % y, x * y, x + y, x - y from (values (1.0, 3), (2.5, 0.5), (-2.5, \
     0.5), (99999999999999999999.5, 0.3), (0.00000000000000000001, 7), (1e130, 3), (-7, \
     0.0000000000000000000000000000000000000001), (12345678901234567890123456789012345678, \
     9.99999999999999999999999999999999999999), (170141183460469231731687303715884105727, -1), \
     (-170141183460469231731687303715884105728, 0.1), (10000, 9999), (9999, 10000), (null, 3), \
     (3, null)) v(x, y)",
    "select x / y, y / x, x % y, x * y, x + y, x - y from (values ('NaN'::numeric, 3::numeric), \
     ('Infinity', 2), ('-Infinity', 2), ('Infinity', '-Infinity'), (-1, 'Infinity'), ('NaN', \
     'Infinity')) v(x, y)",
    "select x / y, x % y from (values (1.5, 'Infinity'::numeric), (-1.5, 'NaN'), ('-Infinity', \
     -1)) v(x, y)",
    "select n / (a - a) from t",
    "select n % (n - n) from t",
    "select n / 0 from t",
    "select (1 / (n - n)) + null::numeric from t where n is not null",
    "select null::numeric + (n / 3), (n / 3) * null::numeric, n / null::numeric from t where id < \
     4",
    "select id, x, x + 1, x * 2, 3 - x, x / 2 from (select id, n / (id - 5) as x from t where id \
     <> 5) u",
    "select count(*) from t where n / nullif(a, 0) > 1.5",
    "select id, case when a = 0 then null else n / a end from t",
    "select id, case when a = 0 then 0 else n / a - n / 3 end > 1 from t",
    "select id from t where n / 3 < a / 7.0",
    "select id from t where n / 3 between -1.5 and 2.25 and n / 7 <> 0",
    "select id, n / 3 < 1.5, n / 3 = n / 3.0, n / 4 >= n / 5, n / 2 = 0, n / 2 <> 1.25 from t",
    "select id, coalesce(n / a, 0) from t where a is null or a <> 0",
    "select id, (n * n * n * n * n) / 2 from t",
    "select id, n / 3 from t order by n / 3 desc nulls last, id",
    "select n / 8, count(*) from t group by n / 8",
    "select t.id, u.id from t join t u on t.n / 4 = u.n / 2 where t.id < 50",
    "select id, round(n / 3, 2), trunc(n / 3, 1), abs(n / 3), (n / 3)::numeric(12, 4), floor(n / \
     3) from t",
    "select id, (select sum(u.n / 3) from t u where u.k = t.id) / 7 from t where id < 20",
];

/// Sums, means, extremes and variances.
const AGGREGATES: &[&str] = &[
    "select k, sum((n - a * 1.5 + k) / 2), avg(n / 7), min(n / 7), max(n / 7), sum(n / 7 - 0.1) \
     from t group by k",
    "select id / 3, sum(n / 3), avg(n / 3), count(n / 3), sum(n / 3 + id / 1000.0) from t group by \
     id / 3",
    "select sum(n / 3 * 1e30), sum(n / 3 * 1e60), sum(n / 1e30), avg(n / 3 * 1e30) from t",
    "select k, sum(n / 3 * 1e33), sum(n / 3e-25) from t group by k",
    "select k, sum(case when id % 9 = 0 then 'NaN'::numeric else n / 3 end), sum(case when id % \
     9 = 0 then 'Infinity'::numeric else n / 3 end), sum(case when id % 9 = 0 then '-Infinity' \
     when id % 9 = 1 then 'Infinity'::numeric else n / 3 end) from t group by k",
    "select sum(x), avg(x), sum(x / 3), avg(x / 3) from (values (1e37::numeric), (9e37), (-1e38), \
     (0.5)) v(x)",
    "select sum(x), avg(x) from (values (170141183460469231731687303715884105727.0 / 1), (1.5), \
     (-170141183460469231731687303715884105727)) v(x)",
    "select sum(x / 7) from (values (1.0), (null), (2.50), (-3.5000)) v(x)",
    "select sum(n / 3), avg(n / 3), min(n / 3), variance(n / 3) from t where false",
    "select k, sum(n / 3) from t where false group by k",
    "select sum(n / a) from t",
    "select sum(n / a) filter (where a <> 0), avg(n / a) filter (where a > 2) from t",
    "select k, o, sum(n / 3), avg(n / 3) from t group by rollup (k, o)",
    "select stddev_samp(a), stddev_pop(a), var_samp(a), var_pop(a), variance(k), stddev(id), \
     stddev(n), var_pop(n) from t",
    "select k, stddev_samp(a), stddev_pop(a), var_samp(a), var_pop(a), variance(k), stddev(id), \
     stddev(n), var_pop(n), stddev_samp(n / 3), var_pop(n / 7) from t group by k",
    "select id / 2, stddev_samp(a), var_pop(a), stddev(n), stddev_samp(n / 3) from t group by id / \
     2",
    "select id, stddev_samp(a), var_pop(a), stddev(n), stddev_pop(n / 3) from t group by id",
    "select stddev_samp(x), var_samp(x), stddev_pop(x), var_pop(x) from (values \
     (9223372036854775807), (-9223372036854775808), (5), (null)) v(x)",
    "select stddev_samp(x), var_samp(x), stddev_pop(x), var_pop(x) from (values (1e37::numeric), \
     (-1e37), (0.00000000000000000001)) v(x)",
    "select stddev_samp(x), var_pop(x) from (values (0.0001), (0.0002), (0.0004)) v(x)",
    "select stddev_samp(x), var_pop(x) from (values (3.00), (3.0), (3)) v(x)",
    "select stddev_samp(x), var_pop(x) from (values (100000000.5), (100000000.25), \
     (100000000.75)) v(x)",
    "select k, a, mean, stdev, cov from (select k, a, mean, stdev, case mean when 0 then null else \
     stdev / mean end as cov from (select k, a, stddev_samp(id) * 1.000 as stdev, avg(id) as mean \
     from t group by k, a) u where case mean when 0 then 0 else stdev / mean end > 0.1) w",
    "select sum(distinct n / 3), count(distinct n / 3), avg(distinct n / 3) from t",
    "select id, sum(n / 3) over (order by id), avg(n / 7) over (partition by k) from t",
];

fn check(statements: &[&str], least: usize) {
    let (database, rows) = TestDatabase::of_rows(100, 70, 40);
    let statements: Vec<String> = statements.iter().map(|&one| one.to_owned()).collect();
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count >= least, "only {count} statements have rows");
    }
}

#[test]
fn results_have_the_digits_of_postgresql() {
    check(OPERATORS, OPERATORS.len() - 4);
}

#[test]
fn sums_means_and_variances_have_the_digits_of_postgresql() {
    check(AGGREGATES, AGGREGATES.len() - 2);
}
