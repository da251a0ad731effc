//! Plans of queries within expressions: no join of them is dependent.

use super::catalog::TestTables;
use super::printer::{shape, text};
use super::tpch::tpch_tables;

/// Tables whose column `k` is never null, each ten times the next one.
fn tables() -> TestTables {
    let mut tables = TestTables::default();
    tables.add("a", "k integer!; x integer; y integer", 1, 100_000);
    tables.add("b", "k integer!; x integer; y integer", 1, 10_000);
    tables.add("c", "k integer!; x integer; y integer", 1, 1_000);
    tables
}

fn assert_plan(sql: &str, expected: &str) {
    assert_eq!(text(&tables().optimized(sql)), expected, "{sql}");
}

#[test]
fn tests_of_existence_are_semi_and_anti_joins() {
    assert_plan(
        "select 1 from a where exists (select * from b where b.x = a.x and b.y < a.y)",
        "(a semi b on b.x = a.x and b.y < a.y)",
    );
    assert_plan(
        "select 1 from a where not exists (select 1 / x from b where b.k = a.k)",
        "(a anti b on b.k = a.k)",
    );
    assert_plan(
        "select 1 from a where k in (select x from b where b.y = 1)",
        "(a semi b[b.y = 1] on a.k = b.x)",
    );
    assert_plan(
        "select 1 from a where a.x = 1 or exists (select 1 from b where b.k = a.k)",
        "(a mark b on b.k = a.k)[(a.x = 1 or exists)]",
    );
}

#[test]
fn not_in_looks_for_nulls_where_there_may_be_some() {
    assert_plan("select 1 from a where k not in (select k from b)", "(a anti b on a.k = b.k)");
    assert_plan(
        "select 1 from a where k not in (select x from b)",
        "((a anti b[b.x is null]) anti b on a.k = b.x)",
    );
    assert_plan(
        "select 1 from a where x not in (select k from b where b.y = a.y)",
        "((a anti b on a.x is null and b.y = a.y) anti b on a.x = b.k and b.y = a.y)",
    );
}

#[test]
fn what_may_fail_is_decided_for_pairs() {
    // A join as those of FROM, above the other conditions.
    assert_plan(
        "select 1 from a where exists (select 1 from b where b.k = a.k + 1 and b.y = a.y) \
         and (a.x = 1 or exists (select 1 from c where c.k = a.k))",
        "((a mark c on c.k = a.k)[(a.x = 1 or exists)] semi b on b.y = a.y and b.k = a.k + 1)",
    );
    assert_plan(
        "select 1 from a where k + 1 in (select x from b where b.y = 1)",
        "(a semi b[b.y = 1] on a.k + 1 = b.x)",
    );
    // Queries that PostgreSQL runs for each row.
    assert_plan(
        "select 1 from a where k + 1 in (select k from b where b.y = a.y)",
        "(a mark b on b.y = a.y and a.k + 1 = b.k)[exists]",
    );
    let sql =
        "select 1 from a where k + 1 not in (select x * 2 from b where b.y = a.y and b.x > 7)";
    let plan = text(&tables().optimized(sql));
    let joins = "((a mark b[b.x > 7] on b.y = a.y and a.k + 1 = b.x * 2) mark b[b.x > 7] \
                 on not exists and b.y = a.y and b.x * 2 is null)[not Case";
    assert!(plan.starts_with(joins), "{plan}");
    // The conditions below a query that is joined to another one within.
    assert_plan(
        "select 1 from a where exists (select 1 from b where b.y = a.y \
         and exists (select 1 from c where c.k = b.k + 1))",
        "(a semi (b semi c on c.k = b.k + 1) on b.y = a.y)",
    );
    // Rows put together are asked one after the other.
    assert_plan(
        "select 1 from a where not exists (select 1 from b where b.k = a.k \
         union all select 1 from b where b.x = a.x and b.y < a.y * 2)",
        "((a anti b on b.k = a.k) anti b on b.x = a.x and b.y < a.y * 2)",
    );
    // Keys that may fail look into a hash table.
    assert_plan(
        "select exists (select 1 from b where b.k = a.k + 1) from a",
        "(a mark b on b.k = key)",
    );
}

#[test]
fn joins_whose_conditions_may_fail_stay_above_others() {
    assert_plan(
        "select 1 from a, b where a.k = b.k and exists (select 1 from c where c.k = b.x + 1)",
        "((a * b on a.k = b.k) semi c on c.k = b.x + 1)",
    );
}

#[test]
fn counts_are_never_null() {
    assert_plan(
        "select 1 from a where k not in (select count(*) from b where b.y = a.y group by b.x)",
        "(a anti group(b) on a.k = count and b.y = a.y)",
    );
    assert_plan(
        "select 1 from a where x not in (select row_number() over (order by k) from b)",
        "((a anti window(b) on a.x is null) anti window(b) on a.x = row_number)",
    );
}

#[test]
fn scalar_queries_are_groups_that_are_joined() {
    assert_plan("select 1 from a where x > (select max(x) from b)", "(a * group(b) on a.x > max)");
    assert_plan(
        "select 1 from a where x > (select max(x) from b where b.y = a.y)",
        "(a * group(b) on b.y = a.y and a.x > max)",
    );
    assert_plan(
        "select (select count(*) from b where b.y = a.y) from a",
        "(a left group(b) on b.y = a.y)",
    );
    assert_plan("select (select x from b where b.k = a.x) from a", "(a left b on b.k = a.x)");
    assert_plan("select (select x from b where b.y = a.x) from a", "(a single b on b.y = a.x)");
    assert_plan(
        "select 1 from a where x > (select max(x) from b where b.y < a.y)",
        "(a * (group((group(a) * b on b.y < a.y)) * group(a) \
         on not a.y is distinct from a.y) on a.x > max and not a.y is distinct from a.y)",
    );
    assert_plan(
        "select (select x from b where b.y = a.y order by x limit 1) from a",
        "(a left window((group(a) * b \
         on b.y = a.y))[row_number > 0 and row_number <= 1] on not a.y is distinct from a.y)",
    );
}

#[test]
fn queries_of_tpc_h_are_ordered_with_the_others() {
    let tables = tpch_tables();
    let shape_of = |sql: &str| shape(&tables.optimized(sql));
    // Q17
    assert_eq!(
        shape_of(
            "select sum(l_extendedprice) from lineitem, part where p_partkey = l_partkey \
             and p_brand = 'Brand#23' and p_container = 'MED BOX' and l_quantity < \
             (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)"
        ),
        "(lineitem * (lineitem * part))"
    );
    // Q18
    assert_eq!(
        shape_of(
            "select c_name, sum(l_quantity) from customer, orders, lineitem where o_orderkey in \
             (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 300) \
             and c_custkey = o_custkey and o_orderkey = l_orderkey group by c_name"
        ),
        "(lineitem * (customer * (orders semi lineitem)))"
    );
    // Q21
    assert_eq!(
        shape_of(
            "select s_name, count(*) from supplier, lineitem l1, orders, nation \
             where s_suppkey = l1.l_suppkey and o_orderkey = l1.l_orderkey \
             and o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate \
             and exists (select * from lineitem l2 where l2.l_orderkey = l1.l_orderkey \
               and l2.l_suppkey <> l1.l_suppkey) \
             and not exists (select * from lineitem l3 where l3.l_orderkey = l1.l_orderkey \
               and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate) \
             and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' group by s_name"
        ),
        "(((orders * (lineitem * (supplier * nation))) semi lineitem) anti lineitem)"
    );
}
