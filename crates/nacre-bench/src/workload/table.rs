//! Tables of a workload: what Nacre creates, and how Arrow reads the CSV files.

use std::fmt::Write;

use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};

/// SQL type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    BigInt,
    Integer,
    SmallInt,
    /// `decimal(15,2)`.
    Decimal,
    Date,
    /// Without a time zone.
    Timestamp,
    Char(u32),
    Varchar(u32),
    Text,
}

/// A column; none of the workloads has nullable ones.
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
    /// Its columns; none if the table has no key.
    pub primary_key: &'static [&'static str],
    /// CSV bytes at scale factor 1, roughly; decides into how many parts generation is cut.
    pub(crate) csv_bytes: u64,
}

impl Column {
    pub(crate) const fn new(name: &'static str, kind: ColumnKind) -> Self {
        Self { name, kind }
    }
}

impl ColumnKind {
    /// Whether its values are strings.
    pub fn is_string(self) -> bool {
        matches!(self, Self::Char(_) | Self::Varchar(_) | Self::Text)
    }

    fn sql(self) -> String {
        match self {
            Self::BigInt => "bigint".into(),
            Self::Integer => "integer".into(),
            Self::SmallInt => "smallint".into(),
            Self::Decimal => "decimal(15,2)".into(),
            Self::Date => "date".into(),
            Self::Timestamp => "timestamp".into(),
            Self::Char(chars) => format!("char({chars})"),
            Self::Varchar(chars) => format!("varchar({chars})"),
            Self::Text => "text".into(),
        }
    }

    fn arrow(self) -> DataType {
        match self {
            Self::BigInt => DataType::Int64,
            Self::Integer => DataType::Int32,
            Self::SmallInt => DataType::Int16,
            Self::Decimal => DataType::Decimal128(15, 2),
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Char(_) | Self::Varchar(_) | Self::Text => DataType::Utf8View,
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

    /// Returns the `CREATE TABLE` statement with a replication policy for all of its columns.
    pub fn create_statement_with_replicas(&self, name: &str, policy: &str) -> String {
        format!("{} WITH (replicas = '{policy}')", self.create_statement(name))
    }

    fn create_statement_with(&self, name: &str, has_key: bool) -> String {
        let mut sql = format!("CREATE TABLE {name} (\n");
        for (index, column) in self.columns.iter().enumerate() {
            let separator = if index == 0 { "" } else { ",\n" };
            // Writing to a string cannot fail.
            let _ = write!(sql, "{separator}    {} {} NOT NULL", column.name, column.kind.sql());
        }
        if has_key && !self.primary_key.is_empty() {
            let _ = write!(sql, ",\n    PRIMARY KEY ({})", self.primary_key.join(", "));
        }
        sql.push_str("\n)");
        sql
    }

    /// Returns the schema with which Arrow's CSV reader reads this table.
    pub fn arrow_schema(&self) -> Schema {
        // The reader makes nulls of empty texts.
        let is_nullable = |column: &Column| column.kind == ColumnKind::Text;
        let field =
            |column: &Column| Field::new(column.name, column.kind.arrow(), is_nullable(column));
        Schema::new(self.columns.iter().map(field).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SHELVES: Table = Table {
        name: "shelves",
        columns: &[
            Column::new("s_key", ColumnKind::Integer),
            Column::new("s_name", ColumnKind::Char(25)),
            Column::new("s_comment", ColumnKind::Varchar(152)),
        ],
        primary_key: &["s_key"],
        csv_bytes: 400,
    };

    #[test]
    fn table_without_a_key_is_created_without_one() {
        static KEYLESS: Table = Table {
            name: "t",
            columns: &[Column::new("a", ColumnKind::Timestamp), Column::new("b", ColumnKind::Text)],
            primary_key: &[],
            csv_bytes: 1,
        };
        let expected = "CREATE TABLE t (\n    a timestamp NOT NULL,\n    b text NOT NULL\n)";
        assert_eq!(KEYLESS.create_statement("t"), expected);
    }

    #[test]
    fn create_statement_names_types_and_key() {
        let expected = "CREATE TABLE shelves2 (\n    s_key integer NOT NULL,\n    \
             s_name char(25) NOT NULL,\n    s_comment varchar(152) NOT NULL,\n    \
             PRIMARY KEY (s_key)\n)";
        assert_eq!(SHELVES.create_statement("shelves2"), expected);
        assert!(!SHELVES.create_statement_without_key("r").contains("PRIMARY"));
        let replicated = SHELVES.create_statement_with_replicas("shelves2", "auto, plain");
        assert_eq!(replicated, format!("{expected} WITH (replicas = 'auto, plain')"));
    }
}
