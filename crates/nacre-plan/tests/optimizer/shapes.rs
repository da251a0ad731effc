//! Shapes of plans of TPC-H's joins: the selective side first, no cross products, and the same
//! plan in any order of FROM.

use super::printer::{cross_products, shape, text};
use super::random_queries::RandomSequence;
use super::tpch::tpch_tables;

/// Returns the shape of a query; all orders of FROM must have the same plan.
fn shape_of(from: &[&str], condition: &str) -> String {
    let tables = tpch_tables();
    let mut random = RandomSequence::new(1);
    let mut from = from.to_vec();
    let mut plans = Vec::new();
    for _ in 0..8 {
        let sql = format!("select 1 from {} where {condition}", from.join(", "));
        let plan = tables.optimized(&sql);
        assert_eq!(cross_products(&plan.root), 0, "{}", text(&plan));
        plans.push((text(&plan), shape(&plan)));
        random.shuffle(&mut from);
    }
    for (text, _) in &plans {
        assert_eq!(*text, plans[0].0);
    }
    plans.swap_remove(0).1
}

#[test]
fn q3_joins_customers_before_lines() {
    let shape = shape_of(
        &["customer", "orders", "lineitem"],
        "c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey \
         and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'",
    );
    assert_eq!(shape, "(lineitem * (orders * customer))");
}

#[test]
fn q5_begins_with_the_region() {
    let shape = shape_of(
        &["customer", "orders", "lineitem", "supplier", "nation", "region"],
        "c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey \
         and c_nationkey = s_nationkey and s_nationkey = n_nationkey \
         and n_regionkey = r_regionkey and r_name = 'ASIA' \
         and o_orderdate >= date '1994-01-01' \
         and o_orderdate < date '1994-01-01' + interval '1' year",
    );
    assert_eq!(shape, "((lineitem * (orders * (customer * (nation * region)))) * supplier)");
}

#[test]
fn q7_restricts_both_nations() {
    let shape = shape_of(
        &["supplier", "lineitem", "orders", "customer", "nation n1", "nation n2"],
        "s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey \
         and s_nationkey = n1.n_nationkey and c_nationkey = n2.n_nationkey \
         and ((n1.n_name = 'FRANCE' and n2.n_name = 'GERMANY') \
           or (n1.n_name = 'GERMANY' and n2.n_name = 'FRANCE')) \
         and l_shipdate between date '1995-01-01' and date '1996-12-31'",
    );
    assert_eq!(shape, "((lineitem * (supplier * nation)) * (orders * (customer * nation)))");
}

#[test]
fn q8_begins_with_the_part() {
    let shape = shape_of(
        &["part", "supplier", "lineitem", "orders", "customer", "nation n1", "nation n2", "region"],
        "p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey \
         and o_custkey = c_custkey and c_nationkey = n1.n_nationkey \
         and n1.n_regionkey = r_regionkey and r_name = 'AMERICA' \
         and s_nationkey = n2.n_nationkey \
         and o_orderdate between date '1995-01-01' and date '1996-12-31' \
         and p_type = 'ECONOMY ANODIZED STEEL'",
    );
    assert_eq!(
        shape,
        "((supplier * ((customer * (orders * (lineitem * part))) * (nation * region))) * nation)"
    );
}

#[test]
fn q9_begins_with_the_parts() {
    let shape = shape_of(
        &["part", "supplier", "lineitem", "partsupp", "orders", "nation"],
        "s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey \
         and p_partkey = l_partkey and o_orderkey = l_orderkey and s_nationkey = n_nationkey \
         and p_name like '%green%'",
    );
    assert_eq!(shape, "(orders * (lineitem * ((partsupp * part) * (supplier * nation))))");
}

#[test]
fn q10_joins_orders_of_the_quarter_first() {
    let shape = shape_of(
        &["customer", "orders", "lineitem", "nation"],
        "c_custkey = o_custkey and l_orderkey = o_orderkey \
         and o_orderdate >= date '1993-10-01' \
         and o_orderdate < date '1993-10-01' + interval '3' month \
         and l_returnflag = 'R' and c_nationkey = n_nationkey",
    );
    assert_eq!(shape, "(lineitem * ((customer * orders) * nation))");
}

#[test]
fn q19_joins_by_the_equality_of_all_branches() {
    let branch = |brand: &str, low: u32, size: u32| {
        format!(
            "(p_partkey = l_partkey and p_brand = '{brand}' \
             and p_container in ('SM CASE', 'SM BOX') \
             and l_quantity >= {low} and l_quantity <= {low} + 10 \
             and p_size between 1 and {size} and l_shipmode in ('AIR', 'AIR REG') \
             and l_shipinstruct = 'DELIVER IN PERSON')"
        )
    };
    let condition = format!(
        "{} or {} or {}",
        branch("Brand#12", 1, 5),
        branch("Brand#23", 10, 10),
        branch("Brand#34", 20, 15)
    );
    let shape = shape_of(&["lineitem", "part"], &condition);
    assert_eq!(shape, "(lineitem * part)");
    let tables = tpch_tables();
    let plan = tables.optimized(&format!("select 1 from lineitem, part where {condition}"));
    let text = text(&plan);
    assert!(text.contains("on part.p_partkey = lineitem.l_partkey"), "{text}");
    assert!(text.contains("lineitem[lineitem.l_shipmode in"), "{text}");
    assert!(text.contains("(part.p_brand = \"Brand#12\" and part.p_size <= 5 or "), "{text}");
}

#[test]
fn q21_begins_with_the_nation() {
    let shape = shape_of(
        &["supplier", "lineitem", "orders", "nation"],
        "s_suppkey = l_suppkey and o_orderkey = l_orderkey and o_orderstatus = 'F' \
         and l_receiptdate > l_commitdate and s_nationkey = n_nationkey \
         and n_name = 'SAUDI ARABIA'",
    );
    assert_eq!(shape, "(orders * (lineitem * (supplier * nation)))");
}
