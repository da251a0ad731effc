//! The tables of TPC-H with statistics of scale factor 1.

use super::catalog::TestTables;

pub(crate) fn tpch_tables() -> TestTables {
    let mut tables = TestTables::default();
    tables.add("region", "r_regionkey integer!; r_name character(25)!", 1, 5);
    tables.add(
        "nation",
        "n_nationkey integer!; n_name character(25)!; n_regionkey integer!",
        1,
        25,
    );
    tables.add(
        "supplier",
        "s_suppkey integer!; s_name character(25)!; s_nationkey integer!; \
         s_acctbal numeric(15,2)!",
        1,
        10_000,
    );
    tables.add(
        "customer",
        "c_custkey integer!; c_name varchar(25)!; c_nationkey integer!; \
         c_mktsegment character(10)!",
        1,
        150_000,
    );
    tables.add(
        "part",
        "p_partkey integer!; p_name varchar(55)!; p_brand character(10)!; p_type varchar(25)!; \
         p_size integer!; p_container character(10)!",
        1,
        200_000,
    );
    tables.add(
        "partsupp",
        "ps_partkey integer!; ps_suppkey integer!; ps_supplycost numeric(15,2)!",
        2,
        800_000,
    );
    tables.add(
        "orders",
        "o_orderkey integer!; o_custkey integer!; o_orderstatus character(1)!; o_orderdate date!",
        1,
        1_500_000,
    );
    tables.add(
        "lineitem",
        "l_orderkey integer!; l_linenumber integer!; l_partkey integer!; l_suppkey integer!; \
         l_quantity numeric(15,2)!; l_extendedprice numeric(15,2)!; l_discount numeric(15,2)!; \
         l_returnflag character(1)!; l_shipdate date!; l_commitdate date!; l_receiptdate date!; \
         l_shipinstruct character(25)!; l_shipmode character(10)!",
        2,
        6_001_215,
    );
    describe_columns(&mut tables);
    tables
}

fn describe_columns(tables: &mut TestTables) {
    let dates = |low, high| Some((low, high));
    for (column, distinct, bounds) in [
        ("r_name", 5, None),
        ("n_name", 25, None),
        ("n_regionkey", 5, None),
        ("s_nationkey", 25, None),
        ("c_nationkey", 25, None),
        ("c_mktsegment", 5, None),
        ("p_brand", 25, None),
        ("p_type", 150, None),
        ("p_size", 50, Some(("1", "50"))),
        ("p_container", 40, None),
        ("ps_partkey", 200_000, None),
        ("ps_suppkey", 10_000, None),
        ("o_custkey", 100_000, None),
        ("o_orderstatus", 3, None),
        ("o_orderdate", 2_406, dates("1992-01-01", "1998-08-02")),
        ("l_orderkey", 1_500_000, None),
        ("l_partkey", 200_000, None),
        ("l_suppkey", 10_000, None),
        ("l_quantity", 50, Some(("1", "50"))),
        ("l_returnflag", 3, None),
        ("l_shipdate", 2_526, dates("1992-01-02", "1998-12-01")),
        ("l_commitdate", 2_466, dates("1992-01-31", "1998-10-31")),
        ("l_receiptdate", 2_554, dates("1992-01-04", "1998-12-31")),
        ("l_shipinstruct", 4, None),
        ("l_shipmode", 7, None),
    ] {
        tables.describe(column, distinct, bounds);
    }
}
