//! The eight tables of TPC-H.
//!
//! # Source
//! TPC-H 3.0.1, section 1.4.1. "identifier" is `bigint` for order keys, which leave 32 bits at
//! scale factor 300, and `integer` for the others. None of the columns is nullable.

use crate::workload::ColumnKind::{BigInt, Char, Date, Decimal, Integer, Varchar};
use crate::workload::{Column, Table};

/// The tables, in an order in which referenced ones come first.
pub static TABLES: [Table; 8] = [
    Table {
        name: "region",
        columns: &[
            Column::new("r_regionkey", Integer),
            Column::new("r_name", Char(25)),
            Column::new("r_comment", Varchar(152)),
        ],
        primary_key: &["r_regionkey"],
        csv_bytes: 400,
    },
    Table {
        name: "nation",
        columns: &[
            Column::new("n_nationkey", Integer),
            Column::new("n_name", Char(25)),
            Column::new("n_regionkey", Integer),
            Column::new("n_comment", Varchar(152)),
        ],
        primary_key: &["n_nationkey"],
        csv_bytes: 2_200,
    },
    Table {
        name: "supplier",
        columns: &[
            Column::new("s_suppkey", Integer),
            Column::new("s_name", Char(25)),
            Column::new("s_address", Varchar(40)),
            Column::new("s_nationkey", Integer),
            Column::new("s_phone", Char(15)),
            Column::new("s_acctbal", Decimal),
            Column::new("s_comment", Varchar(101)),
        ],
        primary_key: &["s_suppkey"],
        csv_bytes: 1_400_000,
    },
    Table {
        name: "customer",
        columns: &[
            Column::new("c_custkey", Integer),
            Column::new("c_name", Varchar(25)),
            Column::new("c_address", Varchar(40)),
            Column::new("c_nationkey", Integer),
            Column::new("c_phone", Char(15)),
            Column::new("c_acctbal", Decimal),
            Column::new("c_mktsegment", Char(10)),
            Column::new("c_comment", Varchar(117)),
        ],
        primary_key: &["c_custkey"],
        csv_bytes: 24_000_000,
    },
    Table {
        name: "part",
        columns: &[
            Column::new("p_partkey", Integer),
            Column::new("p_name", Varchar(55)),
            Column::new("p_mfgr", Char(25)),
            Column::new("p_brand", Char(10)),
            Column::new("p_type", Varchar(25)),
            Column::new("p_size", Integer),
            Column::new("p_container", Char(10)),
            Column::new("p_retailprice", Decimal),
            Column::new("p_comment", Varchar(23)),
        ],
        primary_key: &["p_partkey"],
        csv_bytes: 24_000_000,
    },
    Table {
        name: "partsupp",
        columns: &[
            Column::new("ps_partkey", Integer),
            Column::new("ps_suppkey", Integer),
            Column::new("ps_availqty", Integer),
            Column::new("ps_supplycost", Decimal),
            Column::new("ps_comment", Varchar(199)),
        ],
        primary_key: &["ps_partkey", "ps_suppkey"],
        csv_bytes: 119_000_000,
    },
    Table {
        name: "orders",
        columns: &[
            Column::new("o_orderkey", BigInt),
            Column::new("o_custkey", Integer),
            Column::new("o_orderstatus", Char(1)),
            Column::new("o_totalprice", Decimal),
            Column::new("o_orderdate", Date),
            Column::new("o_orderpriority", Char(15)),
            Column::new("o_clerk", Char(15)),
            Column::new("o_shippriority", Integer),
            Column::new("o_comment", Varchar(79)),
        ],
        primary_key: &["o_orderkey"],
        csv_bytes: 172_000_000,
    },
    Table {
        name: "lineitem",
        columns: &[
            Column::new("l_orderkey", BigInt),
            Column::new("l_partkey", Integer),
            Column::new("l_suppkey", Integer),
            Column::new("l_linenumber", Integer),
            Column::new("l_quantity", Decimal),
            Column::new("l_extendedprice", Decimal),
            Column::new("l_discount", Decimal),
            Column::new("l_tax", Decimal),
            Column::new("l_returnflag", Char(1)),
            Column::new("l_linestatus", Char(1)),
            Column::new("l_shipdate", Date),
            Column::new("l_commitdate", Date),
            Column::new("l_receiptdate", Date),
            Column::new("l_shipinstruct", Char(25)),
            Column::new("l_shipmode", Char(10)),
            Column::new("l_comment", Varchar(44)),
        ],
        primary_key: &["l_orderkey", "l_linenumber"],
        csv_bytes: 754_000_000,
    },
];

/// Returns the table of that name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_61_columns_and_every_key_is_one() {
        assert_eq!(TABLES.iter().map(|table| table.columns.len()).sum::<usize>(), 61);
        for table in &TABLES {
            for key in table.primary_key {
                assert!(table.columns.iter().any(|column| column.name == *key), "{key}");
            }
        }
    }
}
