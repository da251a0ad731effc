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
