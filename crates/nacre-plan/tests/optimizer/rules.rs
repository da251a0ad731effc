//! Rules of the optimizer, one by one.

use nacre_plan::definition::RelationId;
use nacre_plan::optimizer::{ColumnStatistics, RelationStatistics, optimize};

use super::catalog::TestTables;
use super::printer::{common_text, text};

/// Tables of which the next is always smaller.
fn tables() -> TestTables {
    let mut tables = TestTables::default();
    tables.add("a", "k integer; x integer; y integer; s text", 0, 100_000);
    tables.add("b", "k integer; x integer; y integer; s text", 0, 1_000);
    tables.add("c", "k integer; x integer; y integer; s text", 0, 10);
    tables
}

fn assert_plan(sql: &str, expected: &str) {
    assert_eq!(text(&tables().optimized(sql)), expected, "{sql}");
}

#[test]
fn plans_of_one_input_stay_as_they_are() {
    let tables = tables();
    for sql in [
        "select x from a where x / y = 1 and x = 1 and 1 = 1",
        "select x, count(*) from a group by x having count(*) > 1",
        "select 1 where 1 = 0",
        "select * from (values (1), (2)) v (x) where x = 1 order by x",
    ] {
        assert_eq!(tables.optimized(sql), tables.bind(sql).unwrap());
    }
}

#[test]
fn conditions_go_below_what_one_input_computes() {
    assert_plan("select x, count(*) from a group by x having x > 1", "group(a[a.x > 1])");
    assert_plan(
        "select * from (select x, coalesce(s, '') as c from a) q where x = 1",
        "a[a.x = 1]",
    );
    assert_plan(
        "select * from (select x, random() as r from a) q where x = 1 and r < 1",
        "a[a.x = 1][r < 1.0]",
    );
    assert_plan("select * from (select x from a limit 3) q where x = 1", "limit(a)[a.x = 1]");
}

#[test]
fn conditions_go_to_the_side_that_they_are_about() {
    assert_plan(
        "select 1 from a join b on a.k = b.k and a.x = 1 where b.x < 2 and a.y > b.y",
        "(b[b.x < 2] * a[a.x = 1] on a.k = b.k and a.y > b.y)",
    );
    assert_plan(
        "select 1 from a left join b on a.k = b.k and a.x = 1 and b.x = 2 where a.y = 3",
        "(a[a.y = 3] left b[b.x = 2] on a.k = b.k and a.x = 1)",
    );
    assert_plan(
        "select 1 from a full join b on a.k = b.k and a.x = 1 and b.x = 2 \
         where a.y is null and b.y is null",
        "(a full b on a.k = b.k and a.x = 1 and b.x = 2)[a.y is null and b.y is null]",
    );
    assert_plan(
        "select 1 from a left join b on a.k = b.k where b.x is null",
        "(a left b on a.k = b.k)[b.x is null]",
    );
}

#[test]
fn conditions_go_into_the_inputs_of_set_operations() {
    assert_plan(
        "select * from (select x, y from a union all select k, x from b union all values (1, 2)) s \
         where s.x = 1 and s.y = 2",
        "(a[a.x = 1 and a.y = 2] + b[b.k = 1 and b.x = 2] + values(1)[column1 = 1 and column2 = \
         2])",
    );
    // Below what makes rows different, and beside what is there.
    assert_plan(
        "select * from (select x from a where y = 3 union select k from b) s where s.x > 1",
        "group((a[a.y = 3 and a.x > 1] + b[b.k > 1]))",
    );
    assert_plan(
        "select * from (select x from a except all select k from b) s where s.x > 1",
        "(a[a.x > 1] except all b[b.k > 1])",
    );
    // What may fail, and what has no columns below, stays above it.
    assert_plan(
        "select * from (select x, 1 as y from a union all select k, x from b) s \
         where 6 / s.x = 2 and s.y = 2",
        "(a[y = 2] + b[b.x = 2])[6 / x = 2]",
    );
    assert_plan(
        "select * from ((select x from a limit 3) union all select k from b) s where s.x > 1",
        "(limit(a)[a.x > 1] + b[b.k > 1])",
    );
    // Joins inside of it.
    assert_plan(
        "select * from (select a.x from a left join b on a.k = b.k where b.x = 1 \
         intersect select k from c) s, b where b.k = s.x and s.x = 2",
        "(b[b.k = 2] * ((a[a.x = 2] * b[b.x = 1] on a.k = b.k) intersect c[c.k = 2]) on b.k = x)",
    );
}

#[test]
fn conditions_are_decided_below_columns_of_queries_that_may_fail() {
    assert_plan(
        "select * from (select k, 6 / count(*) as v, count(*) as c from a group by k) s \
         where s.v > 2 and s.k = 1 and s.c < 5",
        "group(a[a.k = 1])[count < 5][6 / count > 2]",
    );
    assert_plan(
        "select * from (select x, y / x as v from a union all select k, x / k from b) s \
         where s.v > 1",
        "(a[a.y / a.x > 1] + b[b.x / b.k > 1])",
    );
}

#[test]
fn set_operations_of_one_kind_are_one_operator() {
    let tables = tables();
    let text_of = |sql: &str| text(&tables.bind(sql).unwrap());
    assert_eq!(
        text_of("select x from a union all select x from b union all select x from c"),
        "(a + b + c)"
    );
    assert_eq!(
        text_of("select x from a union all select x from b union select x from c"),
        "group((a + b + c))"
    );
    assert_eq!(
        text_of("select x from a union select x from b union all select x from c"),
        "(group((a + b)) + c)"
    );
    assert_eq!(
        text_of("select x from a union select x from b union select x + 0.5 from c"),
        "group((group((a + b)) + c))"
    );
}

#[test]
fn outer_joins_of_which_nothing_is_read_are_left_out() {
    let mut tables = tables();
    tables.add("d", "id integer; x integer; y integer", 1, 500);
    for sql in [
        "select a.x from a left join d on a.k = d.id",
        "select a.x from a left join d on d.id = a.k and 1 / d.x > a.y",
        "select a.x from d right join a on d.id = a.k",
        "select a.x from a left join d on a.k = d.id left join d e on d.x = e.id",
        "select a.x from a left join (select x, count(*) from b group by x) s on s.x = a.k",
        "select a.x from a left join lateral (select max(x) from b where b.k = a.k) s on true",
        "select q.x from (select a.x, d.y + 1 as y from a left join d on a.k = d.id) q",
    ] {
        assert_eq!(text(&tables.optimized(sql)), "a", "{sql}");
    }
    for (sql, expected) in [
        ("select a.x from a left join d on a.k = d.x", "(a left d on a.k = d.x)"),
        ("select a.x from a left join d on a.k <= d.id", "(a left d on a.k <= d.id)"),
        ("select a.x, d.x from a left join d on a.k = d.id", "(a left d on a.k = d.id)"),
        (
            "select a.x from a left join d on a.k = d.id where d.x is null",
            "(a left d on a.k = d.id)[d.x is null]",
        ),
        ("select a.x from a full join d on a.k = d.id", "(a full d on a.k = d.id)"),
        ("select a.x from a full join d on a.k = d.id where a.x > 0", "a[a.x > 0]"),
        ("select a.x from a join d on a.k = d.id", "(a * d on a.k = d.id)"),
    ] {
        assert_eq!(text(&tables.optimized(sql)), expected, "{sql}");
    }
}

#[test]
fn conditions_that_refuse_nulls_make_outer_joins_inner() {
    assert_plan(
        "select 1 from a left join b on a.k = b.k where b.x = 1",
        "(a * b[b.x = 1] on a.k = b.k)",
    );
    assert_plan(
        "select 1 from a left join b on a.k = b.k where b.x = 1 or b.y > a.y",
        "(a * b on a.k = b.k and (b.x = 1 or b.y > a.y))",
    );
    assert_plan(
        "select 1 from a left join b on a.k = b.k where not (b.x is null)",
        "(a * b[not b.x is null] on a.k = b.k)",
    );
    assert_plan(
        "select 1 from a full join b on a.k = b.k where a.x > 0",
        "(a[a.x > 0] left b on a.k = b.k)",
    );
    assert_plan(
        "select 1 from a full join b on a.k = b.k where b.x > 0",
        "(a right b[b.x > 0] on a.k = b.k)",
    );
    assert_plan(
        "select 1 from a full join b on a.k = b.k where a.x = b.x",
        "(a * b on a.k = b.k and a.x = b.x)",
    );
    // The upper join refuses what the lower one fills up.
    assert_plan(
        "select 1 from a left join (b left join c on b.k = c.k) on a.x = c.x",
        "(a left (b * c on b.k = c.k) on a.x = c.x)",
    );
}

#[test]
fn conditions_that_accept_nulls_leave_outer_joins() {
    for condition in ["coalesce(b.x, 1) = 1", "b.x is not distinct from 1", "(b.x = 1) is not true"]
    {
        let plan = tables()
            .optimized(&format!("select 1 from a left join b on a.k = b.k where {condition}"));
        assert!(text(&plan).starts_with("(a left b"), "{}", text(&plan));
    }
}

#[test]
fn what_may_fail_stays_above_all_joins() {
    assert_plan(
        "select 1 from a, b where a.x / a.y = 1 and a.k = b.k and b.x = 1",
        "(a * b[b.x = 1] on a.k = b.k)[a.x / a.y = 1]",
    );
    assert_plan(
        "select 1 from a, b where random() < 0.5 and a.k = b.k and now() is null",
        "(a * b on a.k = b.k)[random() < 0.5 and now() is null]",
    );
    assert_plan(
        "select 1 from a, b where random() < 0.5 and a.k = b.k and 1 = 0",
        "(a * b)[false]",
    );
    // Where it was written, with all that is joined there.
    assert_plan(
        "select 1 from a join (b join c on b.k = c.k and b.x / c.x = 1) on a.k = b.k",
        "(a * (b * c on b.k = c.k and b.x / c.x = 1) on a.k = b.k)",
    );
}

#[test]
fn divisions_by_constants_move() {
    assert_plan(
        "select 1 from a left join b on a.k = b.k where a.x % -1::smallint = 0 and a.y / 2 = 1",
        "(a[a.x % -1 = 0 and a.y / 2 = 1] left b on a.k = b.k)",
    );
    // The opposite of the least number, and zero.
    for divisor in ["a.x / -1", "a.x / 0", "a.x % 0"] {
        let sql = format!("select 1 from a left join b on a.k = b.k where {divisor} = 1");
        assert_plan(&sql, &format!("(a left b on a.k = b.k)[{divisor} = 1]"));
    }
}

#[test]
fn conditions_on_keys_that_never_fail_go_below_groups() {
    assert_plan(
        "select a.x, count(*) from a join b on a.k = b.k group by a.x \
         having a.x > 1 and count(*) > 2",
        "group((a[a.x > 1] * b on a.k = b.k))[count > 2]",
    );
    assert_plan(
        "select a.x + 1, count(*) from a join b on a.k = b.k group by a.x + 1 \
         having a.x + 1 > 1",
        "group((a * b on a.k = b.k))[group > 1]",
    );
    assert_plan(
        "select count(*) from a join b on a.k = b.k having 1 = 0",
        "group((a * b on a.k = b.k))[false]",
    );
}

#[test]
fn conditions_on_partitions_go_below_windows() {
    assert_plan(
        "select 1 from (select a.x as x, a.y, rank() over (partition by a.x order by a.y) as r \
         from a join b on a.k = b.k) q where x > 1 and y > 2 and r < 3",
        "window((a[a.x > 1] * b on a.k = b.k))[a.y > 2 and rank < 3]",
    );
    assert_plan(
        "select 1 from (select a.x as x, count(*) over (order by a.x) as n \
         from a join b on a.k = b.k) q where x > 1",
        "window((a * b on a.k = b.k))[a.x > 1]",
    );
    // A row without a partner is one of its partition.
    assert_plan(
        "select 1 from (select a.x as x, b.x as y, count(*) over (partition by a.x) as n \
         from a left join b on a.k = b.k) q where y > 1",
        "window((a left b on a.k = b.k))[b.x > 1]",
    );
}

#[test]
fn constants_spread_over_equal_columns() {
    assert_plan(
        "select 1 from a, b where a.k = b.k and a.k = 5",
        "(a[a.k = 5] * b[b.k = 5] on a.k = b.k)",
    );
    assert_plan(
        "select 1 from a join b on a.k = b.k where a.k in (1, 2) and b.k < 7",
        "(a[a.k in (1, 2) and a.k < 7] * b[b.k < 7 and b.k in (1, 2)] on a.k = b.k)",
    );
    // A row of the right side may be missing.
    assert_plan(
        "select 1 from a left join b on a.k = b.k where a.k = 5",
        "(b right a[a.k = 5] on a.k = b.k)",
    );
}

#[test]
fn branches_give_conditions_of_one_table() {
    assert_plan(
        "select 1 from a, b where a.k = b.k and ((a.x = 1 and b.x = 2) or (a.x = 3 and b.x = 4))",
        "(a[(a.x = 1 or a.x = 3)] * b[(b.x = 2 or b.x = 4)] \
         on a.k = b.k and (a.x = 1 and b.x = 2 or a.x = 3 and b.x = 4))",
    );
    assert_plan(
        "select 1 from a, b where (a.k = b.k and a.x = 1) or (b.x = 2 and a.k = b.k)",
        "(a * b on a.k = b.k and (a.x = 1 or b.x = 2))",
    );
    assert_plan(
        "select 1 from a, b where (a.k = b.k and a.x = 1) or a.k = b.k",
        "(a * b on a.k = b.k)",
    );
    // What may fail stays in its branches, which guard it.
    assert_plan(
        "select 1 from a, b where a.k = b.k \
         and ((a.y <> 0 and a.x / a.y = b.x) or (a.y > 1 and a.x / a.y = b.x))",
        "(a * b on a.k = b.k)[(a.y <> 0 and a.x / a.y = b.x or a.y > 1 and a.x / a.y = b.x)]",
    );
}

#[test]
fn equal_columns_join_without_a_condition_of_their_own() {
    // b and c are joined first, by what follows from both conditions.
    assert_plan(
        "select 1 from a, b, c where a.k = b.k and a.k = c.k and b.x = 1",
        "(a * (b[b.x = 1] * c on b.k = c.k) on a.k = b.k)",
    );
}

#[test]
fn the_smaller_side_is_on_the_right() {
    assert_plan("select 1 from c join a on a.k = c.k", "(a * c on a.k = c.k)");
    assert_plan("select 1 from c left join a on a.k = c.k", "(a right c on a.k = c.k)");
    assert_plan("select 1 from c right join a on a.k = c.k", "(a left c on a.k = c.k)");
    assert_plan("select 1 from c full join a on a.k = c.k", "(a full c on a.k = c.k)");
}

#[test]
fn cross_products_come_last() {
    assert_plan("select 1 from a, c, b where a.k = b.k", "((a * b on a.k = b.k) * c)");
    assert_plan("select 1 from a, c, b", "(a * (b * c))");
    assert_plan("select 1 from a join b on true", "(a * b)");
    // A comparison joins parts before a cross product does.
    assert_plan("select 1 from a, c, b where a.x < b.x", "((a * b on a.x < b.x) * c)");
    assert_plan(
        "select 1 from a, c, b where a.x + b.x = c.x and a.k = b.k",
        "((a * b on a.k = b.k) * c)[a.x + b.x = c.x]",
    );
}

/// Knows nothing, or only what cannot be.
struct UselessStatistics(Option<u64>);

impl RelationStatistics for UselessStatistics {
    fn row_count(&self, _: RelationId) -> Option<u64> {
        self.0
    }

    fn column(&self, _: RelationId, _: usize) -> ColumnStatistics {
        let null_fraction = self.0.map(|_| f64::NAN);
        ColumnStatistics { null_fraction, distinct_count: self.0, ..ColumnStatistics::default() }
    }
}

#[test]
fn conditions_find_their_place_without_statistics() {
    let plan = tables().bind("select 1 from a, b, c where a.k = b.k and b.x = c.x and c.y = 1");
    for rows in [None, Some(0), Some(u64::MAX)] {
        let plan = optimize(plan.clone().unwrap(), &UselessStatistics(rows));
        let text = text(&plan);
        for part in ["c[c.y = 1]", "on a.k = b.k", "on b.x = c.x"] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn common_queries_have_the_rows_that_a_reader_wants() {
    let grouped = "with q as (select x, y, count(*) as n from a group by x, y)";
    let joined = "select 1 from q l join q r on l.n < r.n where";
    for (sql, expected) in [
        (
            format!("{grouped} {joined} l.y = 1 and l.n > 2 and r.y = 3"),
            "group(a[(a.y = 1 or a.y = 3)])",
        ),
        (
            format!("{grouped} {joined} l.y = 1 and l.y < 5 and r.y < 5 and r.y = 1"),
            "group(a[(a.y = 1 and a.y < 5 or a.y < 5 and a.y = 1)])",
        ),
        (format!("{grouped} {joined} l.y = 1 and r.y = 1"), "group(a[a.y = 1])"),
        // Conditions on other columns, on both, none, and one that may fail.
        (format!("{grouped} {joined} l.y = 1 and r.x = 3"), "group(a)"),
        (format!("{grouped} {joined} l.y = l.x and r.y = r.x"), "group(a)"),
        (format!("{grouped} {joined} l.y = 1"), "group(a)"),
        (format!("{grouped} {joined} l.y = 1 and 1 / r.y = 0"), "group(a)"),
        // Readers are also the queries after it.
        (
            format!(
                "{grouped}, p as (select x from q where y = 4 group by x) \
                 select 1 from p l join p r on l.x = r.x and l.x = 7 \
                 join q on q.x = l.x and q.y = 5"
            ),
            "group(a[a.x = 7 and (a.y = 4 or a.y = 5)])",
        ),
        (
            "with q as (select x, y from a where random() > 0.5) \
             select 1 from q l join q r on l.x = r.x where l.y = 1 and r.y = 1"
                .to_owned(),
            "a[random() > 0.5]",
        ),
    ] {
        assert_eq!(common_text(&tables().optimized(&sql), 0), expected, "{sql}");
    }
}
