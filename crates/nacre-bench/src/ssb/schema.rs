//! The five tables of SSB.
//!
//! # Source
//! SSB revision 3, section 2. Money is in cents, which are integers; flags are 0 or 1. The
//! dimension of days is called `dates`, because `date` is a type.

use crate::workload::ColumnKind::{BigInt, Char, Integer, Varchar};
use crate::workload::{Column, Table};

/// The tables, in an order in which referenced ones come first.
pub static TABLES: [Table; 5] = [
    Table {
        name: "dates",
        columns: &[
            Column::new("d_datekey", Integer),
            Column::new("d_date", Varchar(18)),
            Column::new("d_dayofweek", Varchar(9)),
            Column::new("d_month", Varchar(9)),
            Column::new("d_year", Integer),
            Column::new("d_yearmonthnum", Integer),
            Column::new("d_yearmonth", Char(7)),
            Column::new("d_daynuminweek", Integer),
            Column::new("d_daynuminmonth", Integer),
            Column::new("d_daynuminyear", Integer),
            Column::new("d_monthnuminyear", Integer),
            Column::new("d_weeknuminyear", Integer),
            Column::new("d_sellingseason", Varchar(12)),
            Column::new("d_lastdayinweekfl", Integer),
            Column::new("d_lastdayinmonthfl", Integer),
            Column::new("d_holidayfl", Integer),
            Column::new("d_weekdayfl", Integer),
        ],
        primary_key: &["d_datekey"],
        csv_bytes: 0,
    },
    Table {
        name: "supplier",
        columns: &[
            Column::new("s_suppkey", Integer),
            Column::new("s_name", Char(25)),
            Column::new("s_address", Varchar(25)),
            Column::new("s_city", Char(10)),
            Column::new("s_nation", Char(15)),
            Column::new("s_region", Char(12)),
            Column::new("s_phone", Char(15)),
        ],
        primary_key: &["s_suppkey"],
        csv_bytes: 180_000,
    },
    Table {
        name: "customer",
        columns: &[
            Column::new("c_custkey", Integer),
            Column::new("c_name", Varchar(25)),
            Column::new("c_address", Varchar(25)),
            Column::new("c_city", Char(10)),
            Column::new("c_nation", Char(15)),
            Column::new("c_region", Char(12)),
            Column::new("c_phone", Char(15)),
            Column::new("c_mktsegment", Char(10)),
        ],
        primary_key: &["c_custkey"],
        csv_bytes: 2_900_000,
    },
    Table {
        name: "part",
        columns: &[
            Column::new("p_partkey", Integer),
            Column::new("p_name", Varchar(22)),
            Column::new("p_mfgr", Char(6)),
            Column::new("p_category", Char(7)),
            Column::new("p_brand1", Char(9)),
            Column::new("p_color", Varchar(11)),
            Column::new("p_type", Varchar(25)),
            Column::new("p_size", Integer),
            Column::new("p_container", Char(10)),
        ],
        primary_key: &["p_partkey"],
        csv_bytes: 17_000_000,
    },
    Table {
        name: "lineorder",
        columns: &[
            Column::new("lo_orderkey", BigInt),
            Column::new("lo_linenumber", Integer),
            Column::new("lo_custkey", Integer),
            Column::new("lo_partkey", Integer),
            Column::new("lo_suppkey", Integer),
            Column::new("lo_orderdate", Integer),
            Column::new("lo_orderpriority", Char(15)),
            Column::new("lo_shippriority", Char(1)),
            Column::new("lo_quantity", Integer),
            Column::new("lo_extendedprice", Integer),
            Column::new("lo_ordtotalprice", Integer),
            Column::new("lo_discount", Integer),
            Column::new("lo_revenue", Integer),
            Column::new("lo_supplycost", Integer),
            Column::new("lo_tax", Integer),
            Column::new("lo_commitdate", Integer),
            Column::new("lo_shipmode", Char(10)),
        ],
        primary_key: &["lo_orderkey", "lo_linenumber"],
        csv_bytes: 610_000_000,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_58_columns_and_every_key_is_one() {
        assert_eq!(TABLES.iter().map(|table| table.columns.len()).sum::<usize>(), 58);
        for table in &TABLES {
            for key in table.primary_key {
                assert!(table.columns.iter().any(|column| column.name == *key), "{key}");
            }
        }
    }
}
