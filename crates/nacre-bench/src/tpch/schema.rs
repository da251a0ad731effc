//! The eight tables of TPC-H.
//!
//! # Source
//! TPC-H 3.0.1, section 1.4.1. "identifier" is `bigint` for order keys, which leave 32 bits at
//! scale factor 300, and `integer` for the others.

use std::fmt::Write;

use datafusion::arrow::datatypes::{DataType, Field, Schema};

/// SQL type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    BigInt,
    Integer,
    /// `decimal(15,2)`, the only decimal type of TPC-H.
    Decimal,
    Date,
    Char(u32),
    Varchar(u32),
}

use ColumnKind::{BigInt, Char, Date, Decimal, Integer, Varchar};

/// A column; none of TPC-H is nullable.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
    pub primary_key: &'static [&'static str],
    /// CSV bytes at scale factor 1, roughly; decides into how many parts generation is cut.
    pub(crate) csv_bytes: u64,
}

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

/// The tables, in an order in which referenced ones come first.
pub static TABLES: [Table; 8] = [
    Table {
        name: "region",
        columns: &[
            column("r_regionkey", Integer),
            column("r_name", Char(25)),
            column("r_comment", Varchar(152)),
        ],
        primary_key: &["r_regionkey"],
        csv_bytes: 400,
    },
    Table {
        name: "nation",
        columns: &[
            column("n_nationkey", Integer),
            column("n_name", Char(25)),
            column("n_regionkey", Integer),
            column("n_comment", Varchar(152)),
        ],
        primary_key: &["n_nationkey"],
        csv_bytes: 2_200,
    },
    Table {
        name: "supplier",
        columns: &[
            column("s_suppkey", Integer),
            column("s_name", Char(25)),
            column("s_address", Varchar(40)),
            column("s_nationkey", Integer),
            column("s_phone", Char(15)),
            column("s_acctbal", Decimal),
            column("s_comment", Varchar(101)),
        ],
        primary_key: &["s_suppkey"],
        csv_bytes: 1_400_000,
    },
    Table {
        name: "customer",
        columns: &[
            column("c_custkey", Integer),
            column("c_name", Varchar(25)),
            column("c_address", Varchar(40)),
            column("c_nationkey", Integer),
            column("c_phone", Char(15)),
            column("c_acctbal", Decimal),
            column("c_mktsegment", Char(10)),
            column("c_comment", Varchar(117)),
        ],
        primary_key: &["c_custkey"],
        csv_bytes: 24_000_000,
    },
    Table {
        name: "part",
        columns: &[
            column("p_partkey", Integer),
            column("p_name", Varchar(55)),
            column("p_mfgr", Char(25)),
            column("p_brand", Char(10)),
            column("p_type", Varchar(25)),
            column("p_size", Integer),
            column("p_container", Char(10)),
            column("p_retailprice", Decimal),
            column("p_comment", Varchar(23)),
        ],
        primary_key: &["p_partkey"],
        csv_bytes: 24_000_000,
    },
    Table {
        name: "partsupp",
        columns: &[
            column("ps_partkey", Integer),
            column("ps_suppkey", Integer),
            column("ps_availqty", Integer),
            column("ps_supplycost", Decimal),
            column("ps_comment", Varchar(199)),
        ],
        primary_key: &["ps_partkey", "ps_suppkey"],
        csv_bytes: 119_000_000,
    },
    Table {
        name: "orders",
        columns: &[
            column("o_orderkey", BigInt),
            column("o_custkey", Integer),
            column("o_orderstatus", Char(1)),
            column("o_totalprice", Decimal),
            column("o_orderdate", Date),
            column("o_orderpriority", Char(15)),
            column("o_clerk", Char(15)),
            column("o_shippriority", Integer),
            column("o_comment", Varchar(79)),
        ],
        primary_key: &["o_orderkey"],
        csv_bytes: 172_000_000,
    },
    Table {
        name: "lineitem",
        columns: &[
            column("l_orderkey", BigInt),
            column("l_partkey", Integer),
            column("l_suppkey", Integer),
            column("l_linenumber", Integer),
            column("l_quantity", Decimal),
            column("l_extendedprice", Decimal),
            column("l_discount", Decimal),
            column("l_tax", Decimal),
            column("l_returnflag", Char(1)),
            column("l_linestatus", Char(1)),
            column("l_shipdate", Date),
            column("l_commitdate", Date),
            column("l_receiptdate", Date),
            column("l_shipinstruct", Char(25)),
            column("l_shipmode", Char(10)),
            column("l_comment", Varchar(44)),
        ],
        primary_key: &["l_orderkey", "l_linenumber"],
        csv_bytes: 754_000_000,
    },
];

/// Returns the table of that name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

impl ColumnKind {
    fn sql(self) -> String {
        match self {
            BigInt => "bigint".into(),
            Integer => "integer".into(),
            Decimal => "decimal(15,2)".into(),
            Date => "date".into(),
            Char(chars) => format!("char({chars})"),
            Varchar(chars) => format!("varchar({chars})"),
        }
    }

    fn arrow(self) -> DataType {
        match self {
            BigInt => DataType::Int64,
            Integer => DataType::Int32,
            Decimal => DataType::Decimal128(15, 2),
            Date => DataType::Date32,
            Char(_) | Varchar(_) => DataType::Utf8View,
        }
    }
}

impl Table {
    /// Returns the `CREATE TABLE` statement, for a table that is called `name`.
    pub fn create_statement(&self, name: &str) -> String {
        self.create_statement_with(name, true)
    }

    /// Returns the `CREATE TABLE` statement without its primary key.
    pub fn create_statement_without_key(&self, name: &str) -> String {
        self.create_statement_with(name, false)
    }

    fn create_statement_with(&self, name: &str, has_key: bool) -> String {
        let mut sql = format!("CREATE TABLE {name} (\n");
        for (index, column) in self.columns.iter().enumerate() {
            let separator = if index == 0 { "" } else { ",\n" };
            // Writing to a string cannot fail.
            let _ = write!(sql, "{separator}    {} {} NOT NULL", column.name, column.kind.sql());
        }
        if has_key {
            let _ = write!(sql, ",\n    PRIMARY KEY ({})", self.primary_key.join(", "));
        }
        sql.push_str("\n)");
        sql
    }

    /// Returns the schema with which Arrow's CSV reader reads this table.
    pub fn arrow_schema(&self) -> Schema {
        let field = |column: &Column| Field::new(column.name, column.kind.arrow(), false);
        Schema::new(self.columns.iter().map(field).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn create_statement_reads_like_the_specification() {
        let region = table("region").unwrap();
        assert_eq!(
            region.create_statement("region2"),
            "CREATE TABLE region2 (\n    r_regionkey integer NOT NULL,\n    \
             r_name char(25) NOT NULL,\n    r_comment varchar(152) NOT NULL,\n    \
             PRIMARY KEY (r_regionkey)\n)"
        );
        assert!(!region.create_statement_without_key("r").contains("PRIMARY"));
    }

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
